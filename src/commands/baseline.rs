//! Saves, lists and shows baselines, measures them again, and accepts regressions into them.

mod accept;
mod refresh;

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use rsb_engine::{machine_lock, recorder};
use rsb_gate::{Directories, gate};
use rsb_model::{Field, Fingerprint, Outcome, Run, RunId, Timestamp};
use rsb_report::number::format_count;
use rsb_report::{BaselineRow, Cell, Column, Style, Table, Tone, format_percent, format_quantity};
use rsb_store::{Accepted, Baseline, Baselines, PAST_RUNS, Programs, Store, programs};

use super::settings;
use crate::cli::BaselineVerb;
use crate::exit::{CliError, CliResult, Exit};
use crate::{console, show};

/// The verb `baseline`.
///
/// # Errors
/// When a run or baseline cannot be read, or the directory cannot be written.
pub fn run(verb: &BaselineVerb, style: Style) -> CliResult {
    match verb {
        BaselineVerb::Save { name, run, places } => {
            save(name.as_deref(), run, &settings::load(places)?.1)
        }
        BaselineVerb::List { json, places } => list(&settings::load(places)?.1, *json, style),
        BaselineVerb::Show { name, here, json, places } => {
            let directories = settings::load(places)?.1;
            show_one(name, *here, &directories, *json, style)
        }
        BaselineVerb::Refresh(args) => refresh::run(args, style),
        BaselineVerb::Accept(args) => accept::run(args, style),
    }
}

fn save(name: Option<&str>, named: &[String], directories: &Directories) -> CliResult {
    let store = gate::open(directories, &mut console::tell)?;
    if let Some(name) = name {
        refuse_run_id(name, &store)?;
    }
    let runs: Vec<Run> = match named {
        // What is missing without a run is no verdict.
        [] => vec![gate::latest(&store).map_err(|problem| CliError::usage(problem.error))?],
        named => named
            .iter()
            .map(|text| store.run(text).map_err(CliError::usage))
            .collect::<Result<_, _>>()?,
    };
    let ((name, cases), path) = save_runs(name, &runs, &store, directories)?;
    show::text(&format!(
        "saved {name} ({} measured) as {}\nCommit it. `rusty-stack-bench run`, then \
         `rusty-stack-bench gate`, judges later code by it.",
        format_count(cases, "case", "cases"),
        path.display()
    ))?;
    Ok(Exit::Pass)
}

/// A baseline with the id of a run as its name would be taken for that run, whatever it holds.
fn refuse_run_id(name: &str, store: &Store) -> Result<(), CliError> {
    let is_stored = store.runs().map_err(CliError::usage)?.iter().any(|run| run.run_id.0 == name);
    if is_stored || rsb_store::begins_as_run_id(name) {
        return Err(CliError::usage(anyhow!(
            "`{name}` is a run id and cannot be the name of a baseline; save that run with \
             `rusty-stack-bench baseline save --run {name}`, and put a name after `save` if the \
             suite's is not wanted"
        )));
    }
    Ok(())
}

/// Saves `runs` as a baseline of their machine, and says what it cannot do: its name and how many
/// cases, and its file.
pub(super) fn save_runs(
    name: Option<&str>,
    runs: &[Run],
    store: &Store,
    directories: &Directories,
) -> Result<((String, usize), PathBuf), CliError> {
    if let Some(run) = runs.iter().find(|run| run.is_interrupted()) {
        return Err(CliError::usage(anyhow!(
            "the run {} was interrupted, and cases are missing from it; measure a whole one",
            run.run_id
        )));
    }
    let suite = runs.first().map_or("quick", |run| run.suite.as_str());
    let baseline =
        Baseline::new(name.unwrap_or(suite), Timestamp::now(), runs).map_err(CliError::usage)?;
    let earlier = runs.first().map_or(Ok(Vec::new()), |run| store.runs_before(run, PAST_RUNS));
    let baseline = baseline.with_past(&earlier.map_err(CliError::usage)?);
    let cases = baseline.contents().cases;
    if cases == 0 {
        return Err(CliError::usage(anyhow!(
            "nothing was measured in that run; a baseline needs at least one measured case"
        )));
    }
    for sentence in machine_lock::shared_run_warnings(runs) {
        console::say(&format!("warning: {sentence}"));
    }
    let path = Baselines::new(&directories.baselines).save(&baseline).map_err(CliError::usage)?;
    if baseline.commit.is_none() && runs.iter().any(|run| run.environment.git.is_some()) {
        console::say(
            "warning: it records no revision, since the tree was changed or the runs are of \
             several commits: a fresh checkout \
             cannot build what made it; commit, measure and save again",
        );
    }
    keep_program_or_warn(runs);
    let failed =
        runs.iter().flat_map(|run| &run.benchmarks).filter(|case| case.outcome == Outcome::Failed);
    for case in failed {
        console::say(&format!(
            "warning: {} failed in it: until a baseline has it, it has no verdict",
            case.benchmark_id
        ));
    }
    Ok(((baseline.name, cases), path))
}

/// A baseline is good without its program: where it cannot be kept, that is said.
fn keep_program_or_warn(runs: &[Run]) {
    if let Err(error) = keep_program(runs) {
        console::say(&format!(
            "warning: this program is not kept ({error}): the gate cannot measure it beside a \
             later one"
        ));
    }
}

/// Keeps this program in the user's cache directory when it measured one of `runs`.
fn keep_program(runs: &[Run]) -> std::io::Result<()> {
    let Some(hash) = recorder::program_hash() else { return Ok(()) };
    let own: Vec<&RunId> = runs
        .iter()
        .filter(|run| run.program.as_ref() == Some(&hash))
        .map(|run| &run.run_id)
        .collect();
    if own.is_empty() {
        return Ok(());
    }
    Programs::of_user()?.keep(Path::new(programs::RUNNING), &hash, &own)
}

fn list(directories: &Directories, json: bool, style: Style) -> CliResult {
    let rows = rows(directories);
    let text = if json {
        rsb_report::document("baselines", &rows)?
    } else {
        rsb_report::list::baselines(&rows, style)
    };
    show::text(&text)?;
    Ok(Exit::Pass)
}

/// Every saved baseline; one that cannot be read is said.
pub(super) fn rows(directories: &Directories) -> Vec<BaselineRow> {
    let mut rows = Vec::new();
    for info in Baselines::new(&directories.baselines).list() {
        match info.contents {
            Ok(contents) => rows.push(BaselineRow {
                name: info.name,
                created: contents.created,
                commit: contents.commit,
                machine: info.slug,
                cases: contents.cases,
                replicates: contents.replicates,
            }),
            Err(problem) => console::say(&format!("warning: {}: {problem}", info.path.display())),
        }
    }
    rows
}

fn show_one(
    name: &str,
    only_here: bool,
    directories: &Directories,
    json: bool,
    style: Style,
) -> CliResult {
    let baselines = Baselines::new(&directories.baselines);
    let baseline = if only_here {
        let here = this_machine();
        let path = baselines.path_of(&here, name);
        if !path.is_file() {
            let slug = here.slug();
            return Err(CliError::no_verdict(anyhow!(
                "no baseline `{name}` was saved for this machine ({slug})"
            )));
        }
        Baseline::read(&path).map_err(CliError::usage)?
    } else if gate::is_path(name) {
        Baseline::read(Path::new(name)).map_err(CliError::usage)?
    } else {
        baselines.load(name, Some(&this_machine())).map_err(CliError::usage)?
    };
    if json {
        show::json(&baseline)?;
    } else {
        for run in &baseline.clone().into_runs() {
            show::text(&rsb_report::run::text(run, style))?;
        }
        if !baseline.accepted.is_empty() {
            show::text(&format!(
                "\nAccepted regressions\n\n{}",
                accepted_table(&baseline.accepted, style)
            ))?;
        }
    }
    Ok(Exit::Pass)
}

fn this_machine() -> Fingerprint {
    Fingerprint::of(&rsb_probe::environment(&rsb_probe::ProbeOptions::default()))
}

/// What was accepted, when, by whom and why.
fn accepted_table(all: &[Accepted], style: Style) -> String {
    let mut table = Table::new([
        Column::elided("case"),
        Column::left("metric"),
        Column::right("before"),
        Column::right("accepted"),
        Column::right("change"),
        Column::left("on"),
        Column::left("by").optional(),
        Column::left("from run").optional(),
    ]);
    for each in all {
        let unit =
            each.metric.as_deref().and_then(Field::find).map_or("", |field| field.unit.symbol());
        let [old, new] = [each.old_value, each.new_value]
            .map(|value| value.map_or_else(String::new, |value| format_quantity(value, unit)));
        table.push([
            Cell::from(&each.id),
            Cell::from(each.metric.as_deref().unwrap_or_default()),
            Cell::from(old),
            Cell::from(new),
            Cell::from(each.change_percent.map_or_else(String::new, format_percent)),
            Cell::from(each.when.strftime("%Y-%m-%d").to_string()),
            Cell::from(each.by.as_deref().unwrap_or_default()),
            Cell::with_tone(each.from.as_deref().unwrap_or_default(), Tone::Dim),
        ]);
        table.note(format!("because {}", each.because));
    }
    table.text(style)
}
