//! Takes in what another tool has measured, as a run of its own.

use std::path::Path;

use anyhow::anyhow;
use rsb_model::{BenchmarkResult, Outcome, Run};
use rsb_report::number::format_count;
use rsb_store::import::{self, Format};
use rsb_store::{MergedFile, Store, new_run_id};

use super::settings;
use crate::cli::ImportArgs;
use crate::exit::{CliError, CliResult, Exit};
use crate::{console, show};

/// The verb `import`.
///
/// # Errors
/// When the file cannot be read as what it is said to be, or the results cannot be kept.
pub fn run(args: &ImportArgs) -> CliResult {
    let (_, directories) = settings::load(&args.places)?;
    if args.file.is_dir() {
        return merge(args, &args.file, &directories.results);
    }
    if is_parquet(&args.file) {
        let runs = tempfile::tempdir()?;
        unpack(&args.file, runs.path())?;
        return merge(args, runs.path(), &directories.results);
    }
    let format: Option<Format> = args
        .format
        .as_deref()
        .map(str::parse)
        .transpose()
        .map_err(|error| CliError::usage(anyhow!("--format: {error}")))?;
    let mut run = import::import(&args.file, format).map_err(CliError::usage)?;
    run.run_id = new_run_id(run.started, None);
    let store = Store::open_for_writing(&directories.results).map_err(CliError::usage)?;
    let counts = run.counts();
    let exit = if counts.measured == 0 { Exit::Nothing } else { Exit::Pass };
    let taken = store.take_in(&run)?;
    run.run_id = taken.run_id;
    if !taken.is_new {
        show::text(&format!(
            "nothing was taken in: the run {} holds these results already",
            run.run_id
        ))?;
        return Ok(exit);
    }
    for line in failures(&run) {
        console::say(&line);
    }
    show::text(&format!(
        "{} taken in ({} skipped, {} failed) as {}",
        format_count(counts.measured, "case", "cases"),
        counts.skipped,
        counts.failed,
        taken.path.display()
    ))?;
    Ok(exit)
}

/// How many files came to what.
#[derive(Default)]
struct MergeCounts {
    taken: usize,
    duplicates: usize,
    left_out: usize,
}

/// Takes in the runs of a directory. Each is acknowledged once it is on disk.
fn merge(args: &ImportArgs, dir: &Path, results: &Path) -> CliResult {
    if args.format.is_some() {
        return Err(CliError::usage(anyhow!(
            "--format is of a file of another tool; a directory holds runs of this program, whose \
             format is known"
        )));
    }
    let store = Store::open_for_writing(results).map_err(CliError::usage)?;
    for note in rsb_store::notes(&store.notices()) {
        console::say(&format!("note: {note}"));
    }
    let mut counts = MergeCounts::default();
    let mut shown = Ok(());
    store.merge(dir, |file| {
        let said = acknowledge(&file, &mut counts);
        shown = std::mem::replace(&mut shown, Ok(())).and(said);
    })?;
    shown?;
    if counts.taken + counts.duplicates + counts.left_out == 0 {
        return Err(CliError::usage(anyhow!(
            "there is no run in {}; name a directory of results, which holds `runs/`, one of run \
             files, or a file of \
             `export --format parquet`",
            args.file.display()
        )));
    }
    show::text(&format!(
        "{} taken in, {} known, {} left out",
        format_count(counts.taken, "run", "runs"),
        counts.duplicates,
        counts.left_out
    ))?;
    Ok(if counts.left_out > 0 { Exit::Failure } else { Exit::Pass })
}

/// Whether the file begins as Parquet does.
fn is_parquet(path: &Path) -> bool {
    use std::io::Read as _;
    let mut begin = [0; 4];
    // A pipe would lack what is read of it here.
    path.is_file()
        && rsb_store::open(path).and_then(|mut file| file.read_exact(&mut begin)).is_ok()
        && begin == *b"PAR1"
}

/// Writes each run of a file of Parquet into `dir`.
#[cfg(feature = "parquet")]
fn unpack(path: &Path, dir: &Path) -> Result<(), CliError> {
    let runs = rsb_store::parquet_file::read_parquet(path).map_err(CliError::usage)?;
    let between = Store::open_for_writing(dir)?;
    for run in &runs {
        between.rewrite(run)?;
    }
    Ok(())
}

#[cfg(not(feature = "parquet"))]
fn unpack(path: &Path, _: &Path) -> Result<(), CliError> {
    Err(CliError::usage(anyhow!(
        "`{}` is Parquet, which this build does not read: `cargo install --path . --features \
         parquet` builds one that does",
        path.display()
    )))
}

fn acknowledge(file: &MergedFile, counts: &mut MergeCounts) -> std::io::Result<()> {
    match file {
        MergedFile::Taken { run_id, .. } => {
            counts.taken += 1;
            return show::text(&format!("taken in: {run_id}"));
        }
        MergedFile::Duplicate { path, of } => {
            counts.duplicates += 1;
            console::say(&format!(
                "note: `{}` holds what the run {of} here holds: it is not taken in twice",
                path.display()
            ));
        }
        MergedFile::Conflict { path, run_id } => {
            counts.left_out += 1;
            console::say(&format!(
                "left out `{}`: another run here has the id {run_id}; take it into another \
                 directory with --results-dir",
                path.display()
            ));
        }
        MergedFile::Unreadable(error) => {
            counts.left_out += 1;
            console::say(&format!("left out: {error}"));
        }
        MergedFile::ClockWentBack { first, second } => console::say(&format!(
            "note: the clock went back between the runs {first} and {second}, which was measured \
             after it; both lie by the \
             times that they have"
        )),
    }
    Ok(())
}

/// Failed cases that are named where there are more.
const SHOWN: usize = 20;

/// A line for each case that failed, with its reason.
fn failures(run: &Run) -> Vec<String> {
    let failed: Vec<&BenchmarkResult> =
        run.benchmarks.iter().filter(|case| case.outcome == Outcome::Failed).collect();
    let mut lines = Vec::new();
    for case in failed.iter().take(SHOWN) {
        let why = case.reason.as_ref().map_or_else(String::new, |why| format!(": {why}"));
        lines.push(format!("failed: {}{why}", case.benchmark_id));
    }
    let more = failed.len().saturating_sub(SHOWN);
    if more > 0 {
        lines.push(format!("and {more} more; `rusty-stack-bench report {}` shows all", run.run_id));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_named_with_its_reason() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("hyperfine.json");
        let broken: Vec<String> =
            (0..22).map(|n| format!(r#"{{"command": "c{n}", "times": ["x"]}}"#)).collect();
        let text = format!(
            r#"{{"results": [{{"command": "good", "times": [0.1]}}, {}]}}"#,
            broken.join(", ")
        );
        std::fs::write(&path, text).unwrap();
        let lines = failures(&import::import(&path, None).unwrap());
        assert_eq!(lines.len(), SHOWN + 1);
        assert!(lines[0].starts_with("failed: cpu_performance/hyperfine/c0: "), "{lines:?}");
        assert!(
            lines[0].contains("`times`") && lines[SHOWN].starts_with("and 2 more"),
            "{lines:?}"
        );
    }
}
