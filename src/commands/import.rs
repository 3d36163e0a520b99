//! Takes in what another tool has measured, as a run of its own.

use anyhow::anyhow;
use rsb_store::import::{self, Format};
use rsb_store::{Store, new_run_id};

use super::settings;
use crate::cli::ImportArgs;
use crate::exit::{Ended, Exit, Trouble};
use crate::show;

/// The verb `import`.
///
/// # Errors
/// When the file cannot be read as what it is said to be, or the results cannot be kept.
pub fn run(args: &ImportArgs) -> Ended {
    let (_, folders) = settings::load(&args.places)?;
    let format: Option<Format> = args
        .format
        .as_deref()
        .map(str::parse)
        .transpose()
        .map_err(|error| Trouble::usage(anyhow!("--format: {error}")))?;
    let mut run = import::import(&args.file, format).map_err(Trouble::usage)?;
    run.run_id = new_run_id(run.started, None);
    let store = Store::open_for_writing(&folders.results).map_err(Trouble::usage)?;
    let mut journal = store.begin(&run)?;
    run.run_id = journal.run_id().clone();
    let path = journal.finish(&run)?;
    let counts = run.counts();
    show::text(&format!(
        "{} cases taken in ({} skipped, {} failed) as {}",
        counts.measured,
        counts.skipped,
        counts.failed,
        path.display()
    ))?;
    Ok(if counts.measured == 0 { Exit::Nothing } else { Exit::Pass })
}
