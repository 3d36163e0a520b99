//! Compares two sides, for a look, textbook statistics included; with `--check`, for a verdict.

use anyhow::anyhow;
use rsb_report::Style;

use super::judge::{self, Judge};
use crate::cli::CompareArgs;
use crate::exit::{Ended, Exit, Trouble};

/// The verb `compare`.
///
/// # Errors
/// When a side cannot be read.
pub fn run(args: &CompareArgs, style: Style) -> Ended {
    let judge = Judge::load(&args.judge)?;
    let baseline = judge.sides(std::slice::from_ref(&args.baseline))?;
    let current = judge.current(args.current.as_slice())?;
    if let Some(why) = judge::is_itself(&baseline, &current) {
        return Err(Trouble::usage(anyhow!("{why}, or name two")));
    }
    let result = judge.judge(&baseline, &current);
    judge.keep(&result);
    // For a reader only: what is kept, and what decides, is the verdict without them.
    judge.print(&rsb_stats::with_statistics(result.clone(), &baseline, &current), style)?;
    Ok(if args.check { judge::exit_of(&result) } else { Exit::Pass })
}
