//! Takes in what another tool has measured, as a run of its own.

use anyhow::anyhow;
use rsb_app::{ProjectContext, import};
use rsb_report::number::format_count;
use rsb_store::MergedFile;

use crate::cli::ImportArgs;
use crate::exit::{CliError, CliResult, Exit};
use crate::{console, show};

/// The verb `import`.
///
/// # Errors
/// When the file cannot be read as what it is said to be, or the results cannot be kept.
pub fn run(args: &ImportArgs) -> CliResult {
    let project = ProjectContext::open(&args.places.paths())?;
    if args.file.is_dir() || import::is_parquet(&args.file) {
        return merge(args, &project);
    }
    let imported = import::import(&project, &args.file, args.format.as_deref())?;
    let counts = imported.run.counts();
    let exit = if counts.measured == 0 { Exit::Nothing } else { Exit::Pass };
    if !imported.is_new {
        show::text(&format!(
            "nothing was taken in: the run {} holds these results already",
            imported.run.run_id
        ))?;
        return Ok(exit);
    }
    for line in import::failures(&imported.run) {
        console::say(&line);
    }
    show::text(&format!(
        "{} taken in ({} skipped, {} failed) as {}",
        format_count(counts.measured, "case", "cases"),
        counts.skipped,
        counts.failed,
        imported.path.display()
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

/// Takes in the runs of a directory or a file of Parquet. Each is acknowledged once it is on disk.
fn merge(args: &ImportArgs, project: &ProjectContext) -> CliResult {
    if args.format.is_some() {
        return Err(CliError::usage(anyhow!(
            "--format is of a file of another tool; a directory holds runs of this program, whose \
             format is known"
        )));
    }
    let mut counts = MergeCounts::default();
    let mut shown = Ok(());
    import::merge(project, &args.file, &mut console::tell, |file| {
        let said = acknowledge(file, &mut counts);
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
