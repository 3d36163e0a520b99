//! `doctor --baseline`: measures a short run, compares it with the baseline saved before the
//! software changed, and replaces that baseline if the verdict is a pass.

use rsb_app::installation::{self as app, BaselineUpdate, InstalledBaseline};
use rsb_app::log::LogOptions;
use rsb_app::{ProjectContext, measure, project};
use rsb_catalog::installation;
use rsb_gate::suggest::shell_quote;
use rsb_model::RunStatus;
use rsb_report::comparison::Detail;
use rsb_report::{GateFormat, Style};

use crate::cli::DoctorArgs;
use crate::commands::{interrupt, measuring};
use crate::exit::{CliError, CliResult, Exit};
use crate::{console, show};

/// Measures a run, compares it, saves it if it becomes the baseline, and shows the result.
pub(super) fn establish(args: &DoctorArgs, style: Style) -> CliResult {
    let project = ProjectContext::open(&args.places.paths())?;
    let (plan, settings) = app::plan(&project)?;
    interrupt::listen();
    let store = project::open_results(&project.directories.results, &mut console::tell)?;
    let log = LogOptions::default().place(&project.config, &store)?;
    let finished = measuring::with_progress(|listener| {
        measure::measure(&plan, installation::NAME, &settings, &store, &log, listener)
    })?;
    if finished.status == RunStatus::Interrupted {
        console::say("interrupted: no baseline was saved; measure again");
        return Ok(Exit::Interrupted);
    }
    let installed = app::establish(&project, &store, finished, &mut console::tell)?;
    if args.json {
        show::json(&installed.document)?;
    } else {
        show_text(&installed, &project.directories.arguments, style)?;
    }
    Ok(installed.exit)
}

/// Shows the values, the comparison, the changed software and the baseline. `places` are the
/// arguments that name the paths of the project again.
fn show_text(installed: &InstalledBaseline, places: &str, style: Style) -> Result<(), CliError> {
    let document = &installed.document;
    show::text(&rsb_report::installation::text(document, style))?;
    if let Some(comparison) = &document.comparison {
        show::text(&rsb_report::gate::write(comparison, GateFormat::Text, style, Detail::Full)?)?;
    }
    let changes = rsb_report::installation::software_changes(document, style);
    if !changes.is_empty() {
        show::text(&format!("\n{changes}"))?;
    }
    Ok(show::text(&format!("\n{}", baseline_sentence(installed, places)))?)
}

/// Returns the sentence that names the run that is the baseline now, and the command that changes
/// that.
fn baseline_sentence(installed: &InstalledBaseline, places: &str) -> String {
    let document = &installed.document;
    let file = document.baseline_file.as_deref().unwrap_or_default();
    let comparison = document.comparison.as_ref();
    let earlier = comparison.map_or("", |comparison| comparison.baseline_run_id.as_str());
    let save_earlier = save_command(earlier, places);
    let save_this = save_command(&document.run_id.0, places);
    match installed.update {
        BaselineUpdate::Created => format!(
            "Saved as {file}. Run `doctor --baseline` again after the installation to compare."
        ),
        BaselineUpdate::Replaced => {
            format!("Saved as {file}, replacing run {earlier}; `{save_earlier}` restores that.")
        }
        BaselineUpdate::KeptSameSoftware => {
            let unchanged = if document.software_changes.is_empty() {
                "The software is unchanged"
            } else {
                "The major and minor versions of driver, ROCm, CUDA, Python and frameworks are \
                 unchanged"
            };
            format!(
                "{unchanged} since run {earlier}, so that baseline is kept in {file}; \
                 `{save_this}` replaces it."
            )
        }
        BaselineUpdate::KeptWithoutPass => format!(
            "Without a pass, the baseline of run {earlier} is kept in {file}, and the next \
             `doctor --baseline` compares with it again; `{save_this}` replaces it."
        ),
    }
}

/// Returns the command that saves `runs`, ids joined by commas, as the installation baseline.
fn save_command(runs: &str, places: &str) -> String {
    let runs = runs.split(',').map(shell_quote).collect::<Vec<_>>().join(" --run ");
    format!("rusty-stack-bench baseline save {} --run {runs}{places}", installation::NAME)
}
