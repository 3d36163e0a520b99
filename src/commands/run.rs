//! `run`: measures a suite or named benchmarks.

use rsb_catalog::frameworks;
use rsb_report::Style;

use super::measuring;
use crate::cli::{self, MeasureArgs, RunArgs};
use crate::exit::CliResult;

/// Runs the subcommand of one benchmark, or `all`.
///
/// # Errors
/// As for [`run`].
pub fn benchmark(name: &str, args: &MeasureArgs, style: Style) -> CliResult {
    let names = if name == cli::ALL {
        let native = rsb_workloads::all().iter().map(|benchmark| benchmark.name());
        native
            .chain(frameworks::all_and_models().map(|component| component.name))
            .map(str::to_owned)
            .collect()
    } else {
        vec![name.to_owned()]
    };
    run(&RunArgs { names, measure: args.clone(), ..RunArgs::default() }, style)
}

/// Runs the subcommand `run`.
///
/// # Errors
/// If the arguments or the configuration are invalid, or the results cannot be stored.
pub fn run(args: &RunArgs, style: Style) -> CliResult {
    measuring::run(args, style)
}
