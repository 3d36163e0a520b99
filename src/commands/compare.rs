//! Compares two sides, for a look, textbook statistics included; with `--check`, for a verdict.

use anyhow::anyhow;
use rsb_gate::gate::{self, Judge, JudgedSides, SideName};
use rsb_model::{ComparisonResult, Run};
use rsb_report::{GateFormat, Style, charts};

use super::{chart, judge, settings};
use crate::cli::CompareArgs;
use crate::exit::{CliError, CliResult, Exit};
use crate::show;

/// The verb `compare`.
///
/// # Errors
/// When a side cannot be read.
pub fn run(args: &CompareArgs, style: Style) -> CliResult {
    let judge = judge::load(&args.judge)?;
    let ComparedSides { baseline, current, result } =
        compare_sides(&judge, &args.baseline, args.current.as_slice())?;
    judge::keep(&judge, &result);
    // For a reader only: what is kept, and what decides, is the verdict without them.
    let exit = if args.check { judge::exit_of(&result) } else { Exit::Pass };
    let shown = rsb_stats::with_statistics(result, &baseline, &current);
    if judge::format(&args.judge) == GateFormat::Text {
        let (config, _) = settings::load(&args.judge.places)?;
        let picture =
            chart::at_a_glance(charts::comparison(&shown).as_slice(), &config.charts, style)?;
        if !picture.is_empty() {
            show::text(&picture)?;
            show::text("")?;
        }
    }
    let exit = judge::deliver(&args.judge, &shown, None, style, exit);
    let request = judge::request(
        &judge,
        &args.judge,
        std::slice::from_ref(&args.baseline),
        args.current.as_slice(),
    );
    judge::advise(&shown, &JudgedSides::of(&baseline, &current), &request);
    Ok(exit)
}

/// Two sides and what comes of comparing them.
pub(super) struct ComparedSides {
    baseline: Vec<Run>,
    current: Vec<Run>,
    /// The verdicts.
    pub(super) result: ComparisonResult,
}

/// Compares `baseline` with `current`, as the verb takes them.
pub(super) fn compare_sides(
    judge: &Judge,
    baseline: &str,
    current: &[String],
) -> Result<ComparedSides, CliError> {
    let baseline = judge.place(SideName::Baseline, judge.sides(&[baseline.to_owned()])?);
    let current = judge.place(SideName::Current, judge.current(current)?);
    if let Some(why) = gate::is_itself(&baseline, &current) {
        return Err(CliError::usage(anyhow!("{why}, or name two")));
    }
    judge.check(&baseline, &current)?;
    let result = judge.judge(&baseline, &current);
    Ok(ComparedSides { baseline, current, result })
}
