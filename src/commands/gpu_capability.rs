//! What the GPUs here can do: from files alone, so that it works before anything is installed.
//! Nothing is measured and nothing is stored.

use rsb_app::gpu_capability::describe;
use rsb_model::Timestamp;
use rsb_report::Style;

use crate::cli::ProbeArgs;
use crate::exit::{CliError, CliResult, Exit};
use crate::show;

/// The verb `gpu-capability`.
///
/// # Errors
/// When the directory named is not there.
pub fn run(args: &ProbeArgs, style: Style) -> CliResult {
    let options = args.options();
    options.check().map_err(CliError::usage)?;
    let run = describe(&options, Timestamp::now());
    if args.json {
        // As a file of a run, so that whatever reads runs takes it.
        show::text(&rsb_store::sealed_text(&run)?)?;
    } else {
        show::text(&rsb_report::capability::text(&run, style))?;
    }
    Ok(if run.counts().measured > 0 { Exit::Pass } else { Exit::Nothing })
}
