//! Baselines: saves, lists and finds them. The modules below refresh and change them.

pub mod accept;
pub mod refresh;

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use rsb_engine::{Event, Listener, machine_lock, recorder};
use rsb_gate::suggest::{measure_again, shell_quote};
use rsb_gate::{Directories, gate};
use rsb_model::{Field, Fingerprint, Outcome, Run, RunId, Timestamp};
use rsb_report::number::format_count;
use rsb_report::{BaselineRow, Cell, Column, Style, Table, Tone, format_percent, format_quantity};
use rsb_store::{Accepted, Baseline, Baselines, PAST_RUNS, Programs, Store, programs};

use crate::{AppError, ProjectContext};

/// A baseline that was saved.
#[derive(Debug, Clone)]
pub struct SavedBaseline {
    /// Its name.
    pub name: String,
    /// How many measured cases it has.
    pub cases: usize,
    /// Its file.
    pub path: PathBuf,
    /// Subcommands that measure the baseline's cases again and judge the results against it.
    pub next: [String; 2],
}

impl SavedBaseline {
    /// Formats the message about the saved baseline, with commands that use `directories`.
    pub fn text(&self, directories: &Directories) -> String {
        let [measure, gate] = self.next.each_ref().map(|next| directories.command(next));
        format!(
            "saved {} ({} measured) as {}\nCommit it. `{measure}`, then `{gate}`, judges later \
             code by it.",
            self.name,
            format_count(self.cases, "case", "cases"),
            self.path.display()
        )
    }
}

/// Saves the runs in `named`, by default the latest run, as the baseline `name`, by default the
/// name of their suite.
///
/// # Errors
/// If a run cannot be read or cannot form a baseline, or the directory cannot be written.
pub fn save(
    project: &ProjectContext,
    name: Option<&str>,
    named: &[String],
    listener: &mut Listener<'_>,
) -> Result<SavedBaseline, AppError> {
    let store = project.store(listener)?;
    if let Some(name) = name {
        refuse_run_id(name, &store, &project.directories)?;
    }
    let runs: Vec<Run> = match named {
        // Here, a missing run is a usage error, not a missing verdict.
        [] => vec![gate::latest(&store).map_err(|problem| AppError::usage(problem.error))?],
        named => named
            .iter()
            .map(|text| store.run(text).map_err(AppError::usage))
            .collect::<Result<_, _>>()?,
    };
    save_runs(name, &runs, &store, &project.directories, listener)
}

/// Refuses the id of a run as a name, because the baseline would be mistaken for that run.
fn refuse_run_id(name: &str, store: &Store, directories: &Directories) -> Result<(), AppError> {
    let is_stored = store.runs().map_err(AppError::usage)?.iter().any(|run| run.run_id.0 == name);
    if is_stored || rsb_store::begins_as_run_id(name) {
        let save = directories.command(&format!("baseline save --run {}", shell_quote(name)));
        return Err(AppError::usage(anyhow!(
            "`{name}` is a run id and cannot be the name of a baseline; save that run with \
             `{save}`; to use a name other than the suite's, put it after `save`"
        )));
    }
    Ok(())
}

/// Saves `runs` as a baseline of their machine, and warns of its limitations.
///
/// # Errors
/// If the runs cannot form a baseline, or the directory cannot be written.
pub fn save_runs(
    name: Option<&str>,
    runs: &[Run],
    store: &Store,
    directories: &Directories,
    listener: &mut Listener<'_>,
) -> Result<SavedBaseline, AppError> {
    if let Some(run) = runs.iter().find(|run| run.is_interrupted()) {
        return Err(AppError::usage(anyhow!(
            "the run {} was interrupted and lacks cases; measure a complete run",
            run.run_id
        )));
    }
    let suite = runs.first().map_or("quick", |run| run.suite.as_str());
    let baseline =
        Baseline::new(name.unwrap_or(suite), Timestamp::now(), runs).map_err(AppError::usage)?;
    let earlier = runs.first().map_or(Ok(Vec::new()), |run| store.runs_before(run, PAST_RUNS));
    let baseline = baseline.with_past(&earlier.map_err(AppError::usage)?);
    let cases = baseline.contents().cases;
    if cases == 0 {
        return Err(AppError::usage(anyhow!(
            "nothing was measured in that run; a baseline needs at least one measured case"
        )));
    }
    for sentence in machine_lock::shared_run_warnings(runs) {
        listener(&Event::warning(sentence));
    }
    let path = Baselines::new(&directories.baselines).save(&baseline).map_err(AppError::usage)?;
    if baseline.commit.is_none() && runs.iter().any(|run| run.environment.git.is_some()) {
        listener(&Event::warning(
            "the baseline records no revision, because the tree had changes or the runs are of \
             several commits, so a fresh checkout cannot build its program; commit, measure and \
             save again",
        ));
    }
    keep_program_or_warn(runs, listener);
    let failed =
        runs.iter().flat_map(|run| &run.benchmarks).filter(|case| case.outcome == Outcome::Failed);
    for case in failed {
        listener(&Event::warning(format!(
            "{} failed in this run and has no verdict until a baseline includes it",
            case.benchmark_id
        )));
    }
    let gate = if baseline.name == suite {
        "gate".to_owned()
    } else {
        format!("gate --baseline {}", shell_quote(&baseline.name))
    };
    let next = [runs.last().map_or_else(|| "run".to_owned(), measure_again), gate];
    Ok(SavedBaseline { name: baseline.name, cases, path, next })
}

/// Keeps this program for later comparisons if it measured one of `runs`. A baseline is valid
/// without its program, so a failure is only a warning.
pub fn keep_program_or_warn(runs: &[Run], listener: &mut Listener<'_>) {
    if let Err(error) = keep_program(runs) {
        listener(&Event::warning(format!(
            "this program was not kept ({error}), so the gate cannot measure it interleaved with a \
             later one"
        )));
    }
}

/// Keeps this program in the user's cache directory if it measured one of `runs`.
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

/// Returns every saved baseline, and warns of those that cannot be read.
pub fn rows(directories: &Directories, listener: &mut Listener<'_>) -> Vec<BaselineRow> {
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
            Err(problem) => {
                listener(&Event::warning(format!("{}: {problem}", info.path.display())));
            }
        }
    }
    rows
}

/// Returns the baseline `name`, a file or a name; with `only_here`, only one of this machine.
///
/// # Errors
/// If it does not exist or cannot be read.
pub fn find(name: &str, only_here: bool, directories: &Directories) -> Result<Baseline, AppError> {
    let baselines = Baselines::new(&directories.baselines);
    if only_here {
        let here = this_machine();
        let path = baselines.path_of(&here, name);
        if !path.is_file() {
            let slug = here.slug();
            return Err(AppError::no_verdict(anyhow!(
                "no baseline `{name}` was saved for this machine ({slug})"
            )));
        }
        return Baseline::read(&path).map_err(AppError::usage);
    }
    if rsb_store::names_file(Path::new(name)) {
        return Baseline::read(Path::new(name)).map_err(AppError::usage);
    }
    baselines.load(name, Some(&this_machine())).map_err(AppError::usage)
}

fn this_machine() -> Fingerprint {
    Fingerprint::of(&rsb_probe::environment(&rsb_probe::ProbeOptions::default()))
}

/// Formats the accepted regressions: value, date, author and reason.
pub fn accepted_table(all: &[Accepted], style: Style) -> String {
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
