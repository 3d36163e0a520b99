//! What the cases together tell about a difference of minima. That two minima differ as little as
//! those of most cases do is evidence that both sides had an undisturbed process, however far off
//! their other processes lie.

use super::Shift;
use super::estimate::Estimate;
use crate::noise_model::{ChangeCluster, NoiseModel};

/// How near to each other two undisturbed sides lie. It narrows the interval of a change within the
/// threshold, so it never makes one Regressed or Improved.
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

    /// The interval of `estimate`, which is `own`, when its change lies within the `limits` and
    /// among the others'.
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
