//! `baseline`: saves, lists, shows and remeasures baselines, and accepts regressions into them.

use rsb_app::ProjectContext;
use rsb_app::baseline::refresh::Refresh;
use rsb_app::baseline::{self, accept, refresh};
use rsb_app::log::LogOptions;
use rsb_engine::machine;
use rsb_report::Style;
use rsb_store::Store;

use super::{interrupt, measuring};
use crate::cli::{AcceptArgs, BaselineVerb, Places, RefreshArgs};
use crate::exit::{CliError, CliResult, Exit};
use crate::{console, show};

/// Runs the subcommand `baseline`.
///
/// # Errors
/// If a run or baseline cannot be read, or the directory cannot be written.
pub fn run(verb: &BaselineVerb, style: Style) -> CliResult {
    match verb {
        BaselineVerb::Save { name, run, places } => save(name.as_deref(), run, places),
        BaselineVerb::List { json, places } => list(places, *json, style),
        BaselineVerb::Show { name, here, json, places } => {
            show_one(name, *here, places, *json, style)
        }
        BaselineVerb::Refresh(args) => remeasure(args, style),
        BaselineVerb::Accept(args) => accept_regression(args, style),
    }
}

fn save(name: Option<&str>, named: &[String], places: &Places) -> CliResult {
    let project = ProjectContext::open(&places.paths())?;
    let saved = baseline::save(&project, name, named, &mut console::tell)?;
    show::text(&saved.text(&project.directories))?;
    Ok(Exit::Pass)
}

fn list(places: &Places, json: bool, style: Style) -> CliResult {
    let rows =
        baseline::rows(&ProjectContext::open(&places.paths())?.directories, &mut console::tell);
    let text = if json {
        rsb_report::document("baselines", &rows)?
    } else {
        rsb_report::list::baselines(&rows, style)
    };
    show::text(&text)?;
    Ok(Exit::Pass)
}

fn show_one(name: &str, only_here: bool, places: &Places, json: bool, style: Style) -> CliResult {
    let baseline =
        baseline::find(name, only_here, &ProjectContext::open(&places.paths())?.directories)?;
    if json {
        show::json(&baseline)?;
        return Ok(Exit::Pass);
    }
    for run in &baseline.clone().into_runs() {
        show::text(&rsb_report::run::text(run, style))?;
    }
    if !baseline.accepted.is_empty() {
        show::text(&format!(
            "\nAccepted regressions\n\n{}",
            baseline::accepted_table(&baseline.accepted, style)
        ))?;
    }
    Ok(Exit::Pass)
}

fn remeasure(args: &RefreshArgs, style: Style) -> CliResult {
    let project = ProjectContext::open(&args.places.paths())?;
    let policy = project.policy(None, &mut console::tell)?;
    let environment = machine::environment();
    let wanted = refresh::baseline_files(&args.name, &project.directories, &environment)?;
    let store = Store::open_for_writing(&project.directories.results).map_err(CliError::usage)?;
    let log = LogOptions::default().place(&project.config, &store)?;
    interrupt::listen();
    let mut worst = Exit::Pass;
    for path in wanted {
        let refresh = Refresh::new(&path, &environment, &project.config)?;
        let measured =
            measuring::with_progress(|listener| refresh.measure(&store, &log, listener))?;
        let Some(new) = measured else { return Ok(Exit::Interrupted) };
        show::text(&refresh.change_text(&new.run, &policy, style)?)?;
        if let Some(objection) = refresh.objection(&new)
            && (!args.force || new.run.counts().measured == 0)
        {
            console::say(&format!(
                "{objection}\n{} is not changed; the run {} is stored",
                path.display(),
                new.run.run_id
            ));
            worst = Exit::Failure;
            continue;
        }
        refresh.replace(&new.run)?;
        show::text(&format!(
            "\nreplaced {}\nCommit it. The old baseline is only in git; `git diff` shows the \
             changes.",
            path.display()
        ))?;
        baseline::keep_program_or_warn(std::slice::from_ref(&new.run), &mut console::tell);
        refresh.note_new_cases(&project, &mut console::tell)?;
    }
    Ok(worst)
}

fn accept_regression(args: &AcceptArgs, style: Style) -> CliResult {
    let request = accept::AcceptRequest {
        id: &args.id,
        because: &args.because,
        from: args.from.as_deref(),
        baseline: args.baseline.as_deref(),
        threshold: args.threshold,
    };
    let changed = accept::accept(&args.places.paths(), &request, &mut console::tell)?;
    show::text(&format!(
        "{}\nwritten to {}\nCommit it: later runs are judged against these values.",
        baseline::accepted_table(&changed.accepted, style),
        changed.path.display()
    ))?;
    Ok(Exit::Pass)
}
