//! `doctor --baseline`: measures a short run, saves it as a baseline, and compares it with the one
//! saved before the software changed.

use rsb_app::installation::{self as app, InstalledBaseline};
use rsb_app::{ProjectContext, measure, project};
use rsb_catalog::installation;
use rsb_model::RunStatus;
use rsb_report::comparison::Detail;
use rsb_report::{GateFormat, Style};

use crate::cli::DoctorArgs;
use crate::commands::{interrupt, measuring};
use crate::exit::{CliError, CliResult, Exit};
use crate::{console, show};

/// Measures a run, compares it, saves it as a baseline and shows the result.
pub(super) fn establish(args: &DoctorArgs, style: Style) -> CliResult {
    let project = ProjectContext::open(&args.places.paths())?;
    let (plan, settings) = app::plan(&project)?;
    interrupt::listen();
    let store = project::open_results(&project.directories.results, &mut console::tell)?;
    let finished = measuring::with_progress(|listener| {
        measure::measure(&plan, installation::NAME, &settings, &store, listener)
    })?;
    if finished.status == RunStatus::Interrupted {
        console::say("interrupted: no baseline was saved; measure again");
        return Ok(Exit::Interrupted);
    }
    let installed = app::establish(&project, &store, finished, &mut console::tell)?;
    tell(&installed, args.json, style)?;
    Ok(installed.exit)
}

fn tell(installed: &InstalledBaseline, json: bool, style: Style) -> Result<(), CliError> {
    let InstalledBaseline { document, stays, .. } = installed;
    if json {
        return Ok(show::json(document)?);
    }
    show::text(&rsb_report::installation::text(document, style))?;
    if let Some(comparison) = &document.comparison {
        show::text(&rsb_report::gate::write(comparison, GateFormat::Text, style, Detail::Full)?)?;
    }
    let file = document.baseline_file.as_deref().unwrap_or_default();
    let (run, name) = (&document.run_id, installation::NAME);
    Ok(show::text(&match (*stays, &document.comparison) {
        (true, _) => {
            format!(
                "\nThe software is unchanged since {file}, so that baseline is kept; \
                 `baseline save {name} --run {run}` replaces it."
            )
        }
        (false, None) => format!(
            "\nSaved as {file}. Run `doctor --baseline` again after the installation to compare."
        ),
        (false, Some(_)) => {
            format!("\nSaved as {file}, replacing the previous baseline; its run is kept.")
        }
    })?)
}
