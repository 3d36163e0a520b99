//! The noise model: the variation between fresh processes, which every verdict depends on.
//!
//! Two to five replicates are too few to estimate the spread of a single case, so each case uses
//! the other cases as well (empirical Bayes, after Smyth, 2004): its scale is shrunk towards the
//! typical scale, more strongly the more the cases agree. Without replicates, the spread is
//! estimated from the ratios of all cases together.
//!
//! The scale is the variance of normal values, or the mean excess over the minimum of a side
//! ([`crate::minimum`]). Both estimates vary around the true scale as χ² over its degrees of
//! freedom, so they are shrunk in the same way.

use std::collections::BTreeMap;

use crate::distribution::f_quantile;
use crate::estimate::{MAD_TO_SIGMA, quantile_of_sorted, sorted, std_dev};

/// Minimum number of cases for an estimate from all cases together; quartiles of fewer cases are
/// too uncertain.
pub const MIN_CASES: usize = 10;

/// Smallest spread used (0.1 %): a clock that returns the same count twice does not prove a smaller
/// one.
const FLOOR: f64 = 0.001;

/// Candidate degrees of freedom of the scale that all cases share. A larger number would assume
/// that all cases have the same noise.
const PRIOR_DEGREES_OF_FREEDOM: [f64; 9] = [16.0, 12.0, 8.0, 6.0, 4.0, 3.0, 2.0, 1.0, 0.5];

/// Probability level of the limit on a case's scale: a scale above this quantile shows that the
/// case is noisier than the others, so it keeps its own scale.
const SURPRISE: f64 = 0.99;

/// Maximum degrees of freedom of a spread that is estimated from ratios only. Cases differ in
/// noise, so the tails are heavy.
const UNREPLICATED_DEGREES_OF_FREEDOM: f64 = 8.0;

/// Number of robust standard deviations around the center within which ratios contribute to the
/// spread; cases beyond may have changed.
const REACH: f64 = 2.5;

/// Standard deviation of normal values within [`REACH`], relative to that of all values: √(1 −
/// 2cφ(c) / (2Φ(c) − 1)).
const WITHIN_REACH: f64 = 0.954_6;

/// Distribution of a case's values from process to process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoiseModel {
    /// Normal around their mean; the scale is their variance.
    Normal,
    /// Above a minimum; the scale is the mean excess over it.
    Minimum,
}

/// Spread of the logarithms of a case's values from process to process, with its degrees of
/// freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProcessSpread {
    /// Noise model of the scale.
    pub law: NoiseModel,
    /// The scale.
    pub scale: f64,
    /// Degrees of freedom.
    pub degrees_of_freedom: f64,
}

/// Evidence of one pair of sides on the spread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Residual {
    /// Noise model of the scale.
    pub law: NoiseModel,
    /// Scale times `degrees_of_freedom`. For normal values: squared deviations of the logarithms
    /// from their center, scaled so that dividing by `degrees_of_freedom` gives the variance of one
    /// value that explains the variation of the center.
    pub sum: f64,
    /// Degrees of freedom: 0 if each side has one value.
    pub degrees_of_freedom: f64,
    /// Difference of the centers.
    pub difference: f64,
}

/// Maximum degrees of freedom that past runs of a case may add to its variance estimate. Limited
/// because machines change.
const PAST_DEGREES_OF_FREEDOM: f64 = 24.0;

impl Residual {
    /// Shrinks the scale towards that of the case's own `past`, unless the case is now noisier than
    /// chance explains.
    pub(crate) fn moderated_towards(self, past: &Self, limits: &mut SurpriseLimits) -> Self {
        let Some(common) = past.scale() else { return self };
        let lent = past.degrees_of_freedom.min(PAST_DEGREES_OF_FREEDOM);
        let is_usual =
            self.scale().is_none_or(|own| own <= common * limits.of(self.degrees_of_freedom, lent));
        if !is_usual {
            return self;
        }
        Self {
            sum: self.sum + lent * common,
            degrees_of_freedom: self.degrees_of_freedom + lent,
            ..self
        }
    }

    fn scale(&self) -> Option<f64> {
        (self.degrees_of_freedom > 0.0)
            .then(|| (self.sum / self.degrees_of_freedom).max(self.law.smallest()))
    }
}

impl NoiseModel {
    /// Returns the lower limit of the scale.
    fn smallest(self) -> f64 {
        match self {
            Self::Normal => FLOOR * FLOOR,
            Self::Minimum => FLOOR,
        }
    }
}

/// Returns the spread of each case; `None` if there is no evidence on it.
pub fn spreads(residuals: &[Residual]) -> Vec<Option<ProcessSpread>> {
    let mut priors =
        [NoiseModel::Normal, NoiseModel::Minimum].map(|law| (law, Prior::of(residuals, law)));
    let unreplicated = from_ratios(residuals);
    let mut found = Vec::with_capacity(residuals.len());
    for residual in residuals {
        let prior = priors
            .iter_mut()
            .find(|(law, _)| *law == residual.law)
            .and_then(|(_, prior)| prior.as_mut());
        let Residual { law, degrees_of_freedom, .. } = *residual;
        found.push(match (residual.scale(), prior) {
            (Some(own), None) => Some(ProcessSpread { law, scale: own, degrees_of_freedom }),
            (Some(own), Some(prior)) => Some(prior.moderate(own, degrees_of_freedom)),
            (None, Some(prior)) => Some(ProcessSpread {
                law,
                scale: prior.scale,
                degrees_of_freedom: prior.degrees_of_freedom,
            }),
            (None, None) => unreplicated,
        });
    }
    found
}

/// Cached limits on the ratio of two estimates of the same scale, by the degrees of freedom of
/// both. There are few distinct combinations, and each limit costs an inversion of the F
/// distribution.
#[derive(Debug, Default)]
pub(crate) struct SurpriseLimits(BTreeMap<(u64, u64), f64>);

impl SurpriseLimits {
    fn of(&mut self, own: f64, lent: f64) -> f64 {
        *self
            .0
            .entry((own.to_bits(), lent.to_bits()))
            .or_insert_with(|| f_quantile(SURPRISE, own, lent))
    }
}

/// Common scale of the cases under one noise model; it counts as much as an estimate with
/// `degrees_of_freedom`.
struct Prior {
    law: NoiseModel,
    scale: f64,
    degrees_of_freedom: f64,
    limits: SurpriseLimits,
}

impl Prior {
    /// Fits the prior to the quartiles of the cases' scales, so that up to a quarter of them may
    /// have any scale. Under the model, a scale over the common one has an F distribution: the
    /// farther the quartiles are apart, the less the cases agree, and the less weight the common
    /// scale gets.
    fn of(residuals: &[Residual], law: NoiseModel) -> Option<Self> {
        let alike: Vec<&Residual> =
            residuals.iter().filter(|residual| residual.law == law).collect();
        let own = commonest_degrees_of_freedom(&alike)?;
        let same =
            alike.iter().filter(|residual| residual.degrees_of_freedom.to_bits() == own.to_bits());
        let scales = sorted(&same.filter_map(|residual| residual.scale()).collect::<Vec<_>>());
        if scales.len() < MIN_CASES {
            return None;
        }
        let observed = quantile_of_sorted(&scales, 0.75)? / quantile_of_sorted(&scales, 0.25)?;
        let lent = PRIOR_DEGREES_OF_FREEDOM
            .into_iter()
            .find(|&prior| f_quantile(0.75, own, prior) / f_quantile(0.25, own, prior) >= observed);
        let lent = lent.or(PRIOR_DEGREES_OF_FREEDOM.last().copied())?;
        let typical = quantile_of_sorted(&scales, 0.5)? / f_quantile(0.5, own, lent);
        Some(Self {
            law,
            scale: typical.max(law.smallest()),
            degrees_of_freedom: lent,
            limits: SurpriseLimits::default(),
        })
    }

    fn moderate(&mut self, own: f64, degrees_of_freedom: f64) -> ProcessSpread {
        let (law, common, lent) = (self.law, self.scale, self.degrees_of_freedom);
        if own > common * self.limits.of(degrees_of_freedom, lent) {
            return ProcessSpread { law, scale: own, degrees_of_freedom };
        }
        let together = degrees_of_freedom + lent;
        ProcessSpread {
            law,
            scale: (degrees_of_freedom * own + lent * common) / together,
            degrees_of_freedom: together,
        }
    }
}

/// Returns the most frequent number of degrees of freedom above 0, the larger one of a tie.
fn commonest_degrees_of_freedom(residuals: &[&Residual]) -> Option<f64> {
    // The bit patterns of positive numbers sort like the numbers.
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    for residual in residuals.iter().filter(|residual| residual.degrees_of_freedom > 0.0) {
        *counts.entry(residual.degrees_of_freedom.to_bits()).or_default() += 1;
    }
    counts
        .into_iter()
        .max_by_key(|&(degrees_of_freedom, count)| (count, degrees_of_freedom))
        .map(|(degrees_of_freedom, _)| f64::from_bits(degrees_of_freedom))
}

/// Returns the spread for sides with one value each, from the log ratios of all cases. No shift is
/// subtracted from the ratios themselves. The variance of a ratio is twice that of a value.
fn from_ratios(residuals: &[Residual]) -> Option<ProcessSpread> {
    let single = residuals.iter().filter(|residual| residual.degrees_of_freedom <= 0.0);
    let common =
        ChangeCluster::of(&single.map(|residual| residual.difference).collect::<Vec<_>>())?;
    Some(ProcessSpread {
        law: NoiseModel::Normal,
        scale: common.deviation.powi(2) / 2.0,
        degrees_of_freedom: common.degrees_of_freedom,
    })
}

/// Cluster that contains most of the cases' changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangeCluster {
    center: f64,
    /// Standard deviation of the changes in the cluster.
    pub deviation: f64,
    /// Degrees of freedom of the deviation.
    pub degrees_of_freedom: f64,
}

impl ChangeCluster {
    /// Finds the cluster of `changes`; `None` for fewer than [`MIN_CASES`].
    ///
    /// The first estimate is the smallest median absolute deviation around any center: half the
    /// length of the shortest interval that contains half of the changes. Deviations around zero
    /// would accept a suite that regressed as a whole as noise, and deviations around the median a
    /// suite of which a third regressed. With the shortest interval, up to half of the cases may
    /// have changed. The final estimate is the standard deviation of all changes near that center,
    /// which uses more of them.
    pub fn of(changes: &[f64]) -> Option<Self> {
        let changes = sorted(changes);
        let n = changes.len();
        if n < MIN_CASES {
            return None;
        }
        let halves = changes.iter().zip(changes.iter().skip(n / 2));
        let (low, high) = halves.min_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)))?;
        let small_sample = 1.0 + 5.0 / (n - 1) as f64; // Rousseeuw and Leroy (1987): the shortest half is short by chance.
        let deviation = (high - low) / 2.0 * MAD_TO_SIGMA * small_sample;
        let center = f64::midpoint(*low, *high);
        let near: Vec<f64> =
            changes.into_iter().filter(|one| (one - center).abs() <= REACH * deviation).collect();
        let degrees_of_freedom = ((near.len() - 1) as f64).min(UNREPLICATED_DEGREES_OF_FREEDOM);
        let deviation = (std_dev(&near)? / WITHIN_REACH).max(FLOOR * std::f64::consts::SQRT_2);
        Some(Self { center, deviation, degrees_of_freedom })
    }

    /// Returns whether a case's change is within the cluster.
    pub fn holds(&self, change: f64) -> bool {
        (change - self.center).abs() <= self.reach()
    }

    /// Returns the largest distance from the center at which a change still counts as noise.
    pub fn reach(&self) -> f64 {
        REACH * self.deviation
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// Builds a case of three values per side, whose spread from process to process is `sigma`.
    fn replicated_residual(rng: &mut Rng, sigma: f64) -> Residual {
        let (before, after) = (simulate_side(rng, sigma), simulate_side(rng, sigma));
        Residual {
            law: NoiseModel::Normal,
            sum: before.1 + after.1,
            degrees_of_freedom: 4.0,
            difference: after.0 - before.0,
        }
    }

    /// Returns the mean of three values, and the sum of their squared deviations.
    fn simulate_side(rng: &mut Rng, sigma: f64) -> (f64, f64) {
        let values = [0; 3].map(|_| sigma * rng.normal());
        let mean = values.iter().sum::<f64>() / 3.0;
        (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>())
    }

    fn single(difference: f64) -> Residual {
        Residual { law: NoiseModel::Normal, sum: 0.0, degrees_of_freedom: 0.0, difference }
    }

    #[test]
    fn cases_that_are_alike_lend_each_other_what_they_know() {
        let mut rng = Rng::new(3);
        let residuals: Vec<Residual> =
            (0..200).map(|_| replicated_residual(&mut rng, 0.02)).collect();
        let found: Vec<ProcessSpread> = spreads(&residuals).into_iter().flatten().collect();
        let near =
            found.iter().filter(|spread| (0.015..0.03).contains(&spread.scale.sqrt())).count();
        assert!(near >= 190, "only {near} of {} estimates are near 2 %", found.len());
        assert!(found.iter().filter(|spread| spread.degrees_of_freedom > 10.0).count() >= 190);
    }

    #[test]
    fn a_noisy_case_keeps_its_own_spread() {
        let mut rng = Rng::new(4);
        let mut residuals: Vec<Residual> =
            (0..30).map(|_| replicated_residual(&mut rng, 0.01)).collect();
        residuals.push(Residual {
            law: NoiseModel::Normal,
            sum: 4.0 * 0.2 * 0.2,
            degrees_of_freedom: 4.0,
            difference: 0.3,
        });
        let noisy = spreads(&residuals).pop().flatten().unwrap();
        assert!(
            (noisy.scale - 0.04).abs() < 1e-9 && (noisy.degrees_of_freedom - 4.0).abs() < 1e-9,
            "{noisy:?}"
        );
    }

    #[test]
    fn a_case_is_moderated_towards_its_own_past_unless_it_is_noisier_now() {
        let mut limits = SurpriseLimits::default();
        let past = residual_of(0.0001, 12.0);
        for (own, past, scale, degrees_of_freedom) in [
            (residual_of(0.0002, 4.0), past, 0.000_125, 16.0),
            (residual_of(0.01, 4.0), past, 0.01, 4.0),
            (single(0.1), past, 0.0001, 12.0),
            (
                residual_of(0.0001, 4.0),
                residual_of(0.0001, 500.0),
                0.0001,
                4.0 + PAST_DEGREES_OF_FREEDOM,
            ),
        ] {
            let found = own.moderated_towards(&past, &mut limits);
            assert!((found.scale().unwrap() / scale - 1.0).abs() < 1e-9);
            assert!((found.degrees_of_freedom - degrees_of_freedom).abs() < 1e-9);
        }
    }

    fn residual_of(scale: f64, degrees_of_freedom: f64) -> Residual {
        Residual {
            law: NoiseModel::Normal,
            sum: scale * degrees_of_freedom,
            degrees_of_freedom,
            difference: 0.1,
        }
    }

    #[test]
    fn few_cases_have_only_their_own() {
        let residual = Residual {
            law: NoiseModel::Normal,
            sum: 0.0004,
            degrees_of_freedom: 4.0,
            difference: 0.0,
        };
        assert_eq!(
            spreads(&[residual; 9]),
            [Some(ProcessSpread {
                law: NoiseModel::Normal,
                scale: 0.0001,
                degrees_of_freedom: 4.0
            }); 9]
        );
        assert_eq!(spreads(&[single(0.1); 9]), [None; 9]);
    }

    #[test]
    fn ratios_tell_the_spread_whatever_part_of_up_to_half_changed() {
        for changed in [0, 1, 12, 18, 40] {
            let mut rng = Rng::new(5);
            let mut residuals = Vec::new();
            for at in 0..40 {
                let shift = if at < changed { 0.3 } else { 0.0 };
                residuals.push(single(shift + 0.02 * std::f64::consts::SQRT_2 * rng.normal()));
            }
            let spread = spreads(&residuals)[0].unwrap();
            assert!((0.01..0.04).contains(&spread.scale.sqrt()), "{changed} changed: {spread:?}");
        }
    }

    #[test]
    fn each_law_borrows_from_its_own() {
        let mut rng = Rng::new(6);
        let mut residuals: Vec<Residual> =
            (0..30).map(|_| replicated_residual(&mut rng, 0.02)).collect();
        let minima: Vec<Residual> = (0..30)
            .map(|at| Residual {
                law: NoiseModel::Minimum,
                sum: 4.0 * 0.01 * (1.0 + at as f64 / 30.0),
                ..residuals[at]
            })
            .collect();
        residuals.extend(minima);
        let found: Vec<ProcessSpread> = spreads(&residuals).into_iter().flatten().collect();
        assert!(
            found[..30]
                .iter()
                .all(|spread| spread.law == NoiseModel::Normal && spread.scale < 0.002),
            "{found:?}"
        );
        assert!(
            found[30..].iter().all(|spread| {
                spread.law == NoiseModel::Minimum && (0.01..0.02).contains(&spread.scale)
            }),
            "{found:?}"
        );
        assert!(found[31].degrees_of_freedom > 10.0, "{found:?}");
    }

    #[test]
    fn ratios_that_agree_exactly_are_not_believed_to_the_last_digit() {
        let spread = spreads(&[single(0.0); 20])[7].unwrap();
        assert!((spread.scale.sqrt() - FLOOR).abs() < 1e-12);
    }
}
