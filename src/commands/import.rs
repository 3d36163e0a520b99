//! `import`: imports the results of another tool as a new run, or the runs of another directory.

use anyhow::anyhow;
use rsb_app::{ProjectContext, import};
use rsb_report::number::format_count;
use rsb_store::MergedFile;

use crate::cli::ImportArgs;
use crate::exit::{CliError, CliResult, Exit};
use crate::{console, show};

/// Runs the subcommand `import`.
///
/// # Errors
/// If the file is not of the given format, or the results cannot be stored.
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
            "nothing imported: the run {} already has these results",
            imported.run.run_id
        ))?;
        return Ok(exit);
    }
    for line in import::failures(&imported.run, &project.directories) {
        console::say(&line);
    }
    show::text(&format!(
        "{} imported ({} skipped, {} failed) as {}",
        format_count(counts.measured, "case", "cases"),
        counts.skipped,
        counts.failed,
        imported.path.display()
    ))?;
    Ok(exit)
}

/// Numbers of merged files, by outcome.
#[derive(Default)]
struct MergeCounts {
    taken: usize,
    duplicates: usize,
    left_out: usize,
}

/// Imports the runs of a directory or of a Parquet file. Each run is acknowledged once it is on
/// disk.
fn merge(args: &ImportArgs, project: &ProjectContext) -> CliResult {
    if args.format.is_some() {
        return Err(CliError::usage(anyhow!(
            "--format applies to a file of another tool; leave it out for runs of this program"
        )));
    }
    let mut counts = MergeCounts::default();
    let mut shown = Ok(());
    import::merge(project, &args.file, &mut console::tell, |file| {
        let result = acknowledge(file, &mut counts);
        shown = std::mem::replace(&mut shown, Ok(())).and(result);
    })?;
    shown?;
    if counts.taken + counts.duplicates + counts.left_out == 0 {
        return Err(CliError::usage(anyhow!(
            "no run in {}; name a results directory (with `runs/`), a directory of run files, or a \
             file of `export --format parquet`",
            args.file.display()
        )));
    }
    show::text(&format!(
        "{} imported, {} already stored, {} left out",
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
            return show::text(&format!("imported: {run_id}"));
        }
        MergedFile::Duplicate { path, of } => {
            counts.duplicates += 1;
            console::say(&format!(
                "note: `{}` is a duplicate of the stored run {of}, and is not imported",
                path.display()
            ));
        }
        MergedFile::Conflict { path, run_id } => {
            counts.left_out += 1;
            console::say(&format!(
                "left out `{}`: another stored run has the id {run_id}; import it into another \
                 directory with --results-dir",
                path.display()
            ));
        }
        MergedFile::Unreadable(error) => {
            counts.left_out += 1;
            console::say(&format!("left out: {error}"));
        }
        MergedFile::ClockWentBack { first, second } => console::say(&format!(
            "note: the clock went back between the runs {first} and {second}: the second was \
             measured later but has an earlier time; runs are ordered by time"
        )),
    }
    Ok(())
}
