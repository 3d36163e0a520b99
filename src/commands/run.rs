//! Measures a suite or the benchmarks named.

use rsb_catalog::frameworks;
use rsb_report::Style;

use super::measuring;
use crate::cli::{self, MeasureArgs, RunArgs};
use crate::exit::CliResult;

/// The verb of one benchmark, or `all`.
///
/// # Errors
/// As [`run`].
pub fn benchmark(name: &str, args: &MeasureArgs, style: Style) -> CliResult {
    let names = if name == cli::ALL {
        let native = rsb_workloads::all().iter().map(|benchmark| benchmark.name());
        native
            .chain(frameworks::all().iter().map(|component| component.name))
            .map(str::to_owned)
            .collect()
    } else {
        vec![name.to_owned()]
    };
    run(&RunArgs { names, measure: args.clone(), ..RunArgs::default() }, style)
}

/// The verb `run`.
///
/// # Errors
/// When the arguments or the configuration are invalid, or the results cannot be kept.
pub fn run(args: &RunArgs, style: Style) -> CliResult {
    measuring::run(args, style)
}
