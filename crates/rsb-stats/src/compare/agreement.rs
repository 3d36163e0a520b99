//! Evidence from the other cases on a difference of minima. If two minima differ as little as those
//! of most cases, both sides had an undisturbed process, however slow their other processes were.

use super::Shift;
use super::estimate::Estimate;
use crate::noise_model::{ChangeCluster, NoiseModel};

/// Largest difference between two undisturbed sides, estimated from all cases. It only narrows the
/// intervals of changes within the threshold, so it never makes a case Regressed or Improved.
pub(super) struct Agreement {
    common: ChangeCluster,
    reach: f64,
}

impl Agreement {
    pub(super) fn of(estimates: &[Option<Estimate>], level: f64, shift: Shift) -> Option<Self> {
        let minima =
            estimates.iter().flatten().filter(|estimate| estimate.law == NoiseModel::Minimum);
        let common = ChangeCluster::of(&minima.map(|estimate| estimate.worse).collect::<Vec<_>>())?;
        let error = (common.deviation.powi(2) + shift.variance).sqrt();
        Some(Self {
            common,
            reach: NoiseModel::Normal.exceeded_with(level, common.degrees_of_freedom) * error,
        })
    }

    /// Returns the interval `own` of `estimate`, narrowed if the change is within `limits` and in
    /// the cluster of the other cases' changes.
    pub(super) fn narrow(
        &self,
        estimate: &Estimate,
        own: [f64; 2],
        [better, worse]: [f64; 2],
    ) -> [f64; 2] {
        let change = estimate.worse;
        if estimate.law != NoiseModel::Minimum
            || change <= better
            || change >= worse
            || !self.common.holds(change)
        {
            return own;
        }
        let [low, high] = own;
        [low.max(change - self.reach), high.min(change + self.reach)]
    }
}
