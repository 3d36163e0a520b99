//! Compares two sides.

use anyhow::anyhow;
use rsb_gate::gate::{self, Judge, SideName};
use rsb_model::{ComparisonResult, Run};

use crate::AppError;

/// Two sides, and the result of comparing them.
pub struct ComparedSides {
    /// The runs of the baseline.
    pub baseline: Vec<Run>,
    /// The runs compared with it.
    pub current: Vec<Run>,
    /// The verdicts.
    pub result: ComparisonResult,
}

/// Compares `baseline` with `current`, as the user named them.
///
/// # Errors
/// If a side cannot be read, or both are the same.
pub fn compare_sides(
    judge: &Judge,
    baseline: &str,
    current: &[String],
) -> Result<ComparedSides, AppError> {
    let [baseline, current] = judge.name_sides(&[baseline.to_owned()], current)?;
    let baseline = judge.place(SideName::Baseline, judge.sides(&baseline)?)?;
    let current = judge.place(SideName::Current, judge.current(&current)?)?;
    if let Some(why) = gate::is_itself(&baseline, &current, &judge.directories) {
        return Err(AppError::usage(anyhow!("{why}, or name two runs")));
    }
    judge.check(&baseline, &current)?;
    let result = judge.judge(&baseline, &current);
    Ok(ComparedSides { baseline, current, result })
}
