//! `gpu-capability`: shows the capabilities of the GPUs. Reads files only, so that it works before
//! anything is installed; measures and stores nothing.

use rsb_app::gpu_capability::describe;
use rsb_model::Timestamp;
use rsb_report::Style;

use crate::cli::ProbeArgs;
use crate::exit::{CliError, CliResult, Exit};
use crate::show;

/// Runs the subcommand `gpu-capability`.
///
/// # Errors
/// If the given directory does not exist.
pub fn run(args: &ProbeArgs, style: Style) -> CliResult {
    let options = args.options();
    options.check().map_err(CliError::usage)?;
    let run = describe(&options, Timestamp::now());
    if args.json {
        // In the format of a run file, so that programs that read runs can read it.
        show::text(&rsb_store::sealed_text(&run)?)?;
    } else {
        show::text(&rsb_report::capability::text(&run, style))?;
    }
    Ok(if run.counts().measured > 0 { Exit::Pass } else { Exit::Nothing })
}
