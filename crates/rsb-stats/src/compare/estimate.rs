//! Estimate of the change of one pair, as a logarithm (larger is worse), with its error.

use rsb_model::Better;

use super::{Pair, Shift, Side, orient};
use crate::distribution::{least_above, least_exceeded_with, t_above, t_exceeded_with};
use crate::estimate::sorted;
use crate::minimum::{expected_least, mean_excess};
use crate::noise_model::{NoiseModel, ProcessSpread, Residual};
use crate::trimmed::{Cut, Trimmed, trimmed_mean};

/// Location of a pair's baseline, and the difference between its sides.
#[derive(Debug, Clone, Copy)]
pub(super) struct Center {
    pub(super) baseline: f64,
    pub(super) residual: Residual,
    /// Gap between the smallest and the second smallest value of the faster side.
    alone: f64,
}

impl Center {
    /// Estimates the center from the ratios of the pair if it was measured interleaved, otherwise
    /// from the processes of each side under `law`.
    pub(super) fn of(pair: &Pair, law: NoiseModel) -> Self {
        let ratios = pair.ratios.as_ref().map(|ratios| {
            ratios.iter().map(|ratio| orient(*ratio, pair.better)).collect::<Vec<_>>()
        });
        let sides = [&pair.baseline, &pair.current].map(|side| logs(side, pair.better));
        let neighbors = ratios.and_then(|ratios| Self::of_neighbors(&sides, &ratios));
        neighbors.unwrap_or_else(|| match law {
            NoiseModel::Normal => Self::of_means(&sides),
            NoiseModel::Minimum => Self::of_leasts(&sides),
        })
    }

    /// Estimates the change from ratios. A disturbance that affects both processes of a pair
    /// cancels in their ratio. A disturbance of one process makes the ratio too low as often as too
    /// high, so both ends are trimmed.
    fn of_neighbors([before, _]: &[Vec<f64>; 2], ratios: &[f64]) -> Option<Self> {
        let cut = Cut::both_ends(ratios.len());
        let ratio = trimmed_mean(ratios, cut)?;
        let residual = Residual {
            law: NoiseModel::Normal,
            // Both values contribute to the variance of a ratio: half of it is the variance of one
            // value.
            sum: ratio.sum_of_squares / cut.kept_share() / 2.0,
            degrees_of_freedom: ratio.kept - 1.0,
            difference: ratio.mean,
        };
        Some(Self {
            baseline: trimmed_mean(before, Cut::slow_half(before.len()))?.mean,
            residual,
            alone: 0.0,
        })
    }

    /// Estimates the change from the mean of the faster half of each side.
    fn of_means(sides: &[Vec<f64>; 2]) -> Self {
        let cut = Cut::slow_half(fewest(sides));
        let blank = Trimmed { mean: f64::NAN, sum_of_squares: 0.0, kept: 1.0 }; // Never empty.
        let [before, after] = sides.each_ref().map(|side| trimmed_mean(side, cut).unwrap_or(blank));
        let residual = Residual {
            law: NoiseModel::Normal,
            sum: (before.sum_of_squares + after.sum_of_squares) / cut.kept_share(),
            degrees_of_freedom: before.kept + after.kept - 2.0,
            difference: after.mean - before.mean,
        };
        Self { baseline: before.mean, residual, alone: 0.0 }
    }

    /// Estimates the change from the minimum of each side.
    fn of_leasts(sides: &[Vec<f64>; 2]) -> Self {
        let [before, after] = sides;
        let fewest = fewest(sides);
        // Sides are never empty.
        let [baseline, current] =
            [before, after].map(|side| expected_least(side, fewest).unwrap_or(f64::NAN));
        let excess = mean_excess(&[before, after]);
        let faster = if current < baseline { after } else { before };
        let second =
            faster.get(1..).and_then(|rest| expected_least(rest, fewest.saturating_sub(1)));
        let residual = Residual {
            law: NoiseModel::Minimum,
            sum: excess.map_or(0.0, |excess| excess.mean * excess.degrees_of_freedom),
            degrees_of_freedom: excess.map_or(0.0, |excess| excess.degrees_of_freedom),
            difference: current - baseline,
        };
        Self {
            baseline,
            residual,
            alone: second.map_or(0.0, |second| second - baseline.min(current)),
        }
    }

    pub(super) fn less(mut self, shift: Shift) -> Self {
        self.residual.difference -= shift.log;
        self
    }
}

/// Returns the residual of the case's earlier runs, treated as additional sides of the comparison.
/// `None` if they have no degrees of freedom.
pub(super) fn past(pair: &Pair, law: NoiseModel) -> Option<Residual> {
    let runs: Vec<Vec<f64>> =
        pair.baseline.past().iter().map(|run| turned_logs(run, pair.better)).collect();
    let blank = Residual { law, sum: 0.0, degrees_of_freedom: 0.0, difference: 0.0 };
    let found = match law {
        NoiseModel::Normal => runs.iter().fold(blank, |known, run| {
            let cut = Cut::slow_half(run.len());
            let Some(found) = trimmed_mean(run, cut) else { return known };
            Residual {
                sum: known.sum + found.sum_of_squares / cut.kept_share(),
                degrees_of_freedom: known.degrees_of_freedom + found.kept - 1.0,
                ..known
            }
        }),
        NoiseModel::Minimum => {
            let excess = mean_excess(&runs.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
            Residual {
                sum: excess.mean * excess.degrees_of_freedom,
                degrees_of_freedom: excess.degrees_of_freedom,
                ..blank
            }
        }
    };
    (found.degrees_of_freedom > 0.0).then_some(found)
}

/// Returns the number of processes of the smaller side. Both sides are reduced to this number,
/// because more values have a lower minimum and a lower mean of the faster half.
fn fewest(sides: &[Vec<f64>; 2]) -> usize {
    sides.iter().map(Vec::len).min().unwrap_or_default()
}

/// Returns the logarithms of a side in ascending order, larger being worse.
fn logs(side: &Side, better: Better) -> Vec<f64> {
    turned_logs(side.replicates(), better)
}

fn turned_logs(values: &[f64], better: Better) -> Vec<f64> {
    sorted(&values.iter().map(|value| orient(value.ln(), better)).collect::<Vec<_>>())
}

/// A change with its error.
#[derive(Debug, Clone, Copy)]
pub(super) struct Estimate {
    pub(super) worse: f64,
    /// Standard error of normal values, or scale of a difference of minima.
    pub(super) error: f64,
    pub(super) degrees_of_freedom: f64,
    pub(super) law: NoiseModel,
    /// Part of the change that rests on a single process: the gap to the second smallest value.
    alone: f64,
}

impl Estimate {
    pub(super) fn new(pair: &Pair, center: &Center, spread: ProcessSpread, shift: Shift) -> Self {
        let [before, after] =
            [&pair.baseline, &pair.current].map(|side| side.replicates().len() as f64);
        let variance = match spread.law {
            NoiseModel::Normal => spread.scale * (1.0 / before + 1.0 / after),
            NoiseModel::Minimum => (spread.scale / before.min(after)).powi(2),
        };
        Self {
            worse: center.residual.difference,
            error: (variance + shift.variance).sqrt(),
            degrees_of_freedom: spread.degrees_of_freedom,
            law: spread.law,
            alone: center.alone,
        }
    }

    /// Returns the probability of a change at least this large if the true change is `limit`. One
    /// process that was fast by chance must not be enough, so the second smallest value of the
    /// faster side is used: it must show the change as well.
    pub(super) fn chance_above(&self, limit: f64) -> f64 {
        self.law.above((self.worse - self.alone - limit) / self.error, self.degrees_of_freedom)
    }

    /// Returns the interval that extends `reach` standard errors to each side. If the change
    /// reaches the threshold, the end nearer to zero is computed from the second smallest value of
    /// the faster side.
    pub(super) fn interval(&self, reach: f64, [better, worse]: [f64; 2]) -> [f64; 2] {
        let reach = reach * self.error;
        let below = if self.worse >= worse { self.alone } else { 0.0 };
        let above = if self.worse <= better { self.alone } else { 0.0 };
        [self.worse - reach - below, self.worse + reach + above]
    }
}

impl NoiseModel {
    fn above(self, x: f64, degrees_of_freedom: f64) -> f64 {
        match self {
            Self::Normal => t_above(x, degrees_of_freedom),
            Self::Minimum => least_above(x, degrees_of_freedom),
        }
    }

    /// Returns the number of standard errors by which the estimate exceeds the true value with
    /// probability `p`.
    pub(super) fn exceeded_with(self, p: f64, degrees_of_freedom: f64) -> f64 {
        match self {
            Self::Normal => t_exceeded_with(p, degrees_of_freedom),
            Self::Minimum => least_exceeded_with(p, degrees_of_freedom),
        }
    }
}
