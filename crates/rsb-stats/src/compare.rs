//! Verdicts on many cases at once, from one value per fresh process.
//!
//! All computation is on the logarithm of the values, oriented so that larger is worse. A change Δ
//! is reported as the relative change of the value itself in its bad direction: current / baseline
//! − 1 for a time, and 1 − current / baseline for a throughput. Δ = 10 % means that a time grew by
//! a tenth, or that a throughput fell by a tenth.

mod agreement;
mod corrected_levels;
mod estimate;
mod median_check;
mod rank_test;
mod run_variance;
mod side;

use std::collections::BTreeMap;

use rsb_model::{Better, ReasonCode, Unit, Verdict};

use self::agreement::Agreement;
pub(crate) use self::corrected_levels::Clear;
use self::corrected_levels::{CorrectedLevel, corrected_levels};
use self::estimate::{Center, Estimate, past};
pub use self::side::{Side, SideFacts};
use crate::conclusion::{CaseConclusion, Doubt, Evidence};
use crate::noise_model::{NoiseModel, SurpriseLimits, spreads};

/// Largest change that is reported.
pub(crate) const LARGEST: f64 = 1e9;

/// Minimum number of cases for which choosing one noise model for all of them does not affect the
/// coverage of the intervals, as measured by the `blind_spots` example of this crate.
const FREE_CHOICE: usize = 20;

/// Divisor of alpha for twenty interim analyses: twenty tests at 0.75 % each have an overall error
/// rate of 5 % (Pocock, 1977).
const LOOKS: f64 = 20.0 / 3.0;

/// One metric of one case on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// The baseline.
    pub baseline: Side,
    /// The side that is judged.
    pub current: Side,
    /// Logarithms of current over baseline, one per pair, if the n-th process of one side was
    /// measured next to the n-th of the other. Disturbances of the machine that affect both cancel
    /// in the ratio.
    pub ratios: Option<Vec<f64>>,
    /// Unit of the metric.
    pub unit: Unit,
    /// Direction in which the metric improves.
    pub better: Better,
    /// The threshold T as a fraction: 0.1 is 10 %.
    pub threshold: f64,
}

/// A conclusion, with the data for the checks that may withdraw its verdict.
struct Candidate<'a> {
    pair: &'a Pair,
    found: &'a CaseConclusion,
    /// Change common to all cases, caused by the machine.
    shift: Shift,
    /// Spread of the median changes of all cases with a single baseline process; `None` if there
    /// are too few such cases.
    median_scatter: Option<f64>,
}

/// A check of a verdict; returns a doubt if the verdict must be withdrawn.
type Check = fn(&Candidate<'_>) -> Option<Doubt>;

/// All checks, in order; the first doubt is reported.
const CHECKS: [Check; 2] = [median_check::doubt, rank_test::doubt];

/// Error rates of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ErrorRates {
    /// Two-sided error rate of the intervals: 0.05 gives 95 %. For Regressed, it is the error rate
    /// over all pairs together.
    pub alpha: f64,
    /// Probability that a detectable change is not called Regressed.
    pub miss: f64,
}

impl ErrorRates {
    /// Intervals of 95 %, and a 5 % probability of missing a detectable change.
    pub const USUAL: Self = Self { alpha: 0.05, miss: 0.05 };
}

/// Judges every pair by its change Δ, the interval [lo, hi] of Δ and the threshold T:
///
/// | Δ and interval | verdict |
/// |---|---|
/// | Δ ≥ T and lo > T/2 | Regressed |
/// | Δ ≤ −T and hi < −T/2 | Improved |
/// | otherwise Δ < T and hi < 1.5 T | Unchanged |
/// | anything else | Inconclusive |
///
/// If the sides were measured separately and the median is worse by at least T, and by more than
/// the variation of the baseline explains, a result of Unchanged or Improved becomes Inconclusive:
/// the change Δ depends on the least disturbed samples, which do not show most of these slowdowns.
///
/// For Regressed, lo is corrected over all pairs with Holm's method: the probability of one or more
/// false alarms among all of them is below `alpha`.
pub fn compare(pairs: &[Pair], rates: ErrorRates) -> Vec<CaseConclusion> {
    compare_less(pairs, rates, Shift::default())
}

/// Mean change of all cases that is caused by the machine, as a logarithm (larger is worse), with
/// its variance.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Shift {
    /// The change.
    pub log: f64,
    /// Its variance.
    pub variance: f64,
}

/// Compares like [`compare`], after subtracting `shift` from every change.
pub fn compare_less(pairs: &[Pair], rates: ErrorRates, shift: Shift) -> Vec<CaseConclusion> {
    let is_paired = pairs.iter().all(|pair| pair.ratios.is_some());
    // Paired measurements are judged repeatedly while they continue, so alpha is divided for the
    // interim analyses. In other comparisons the noise model is chosen from the data that it is
    // then applied to. With many cases this hardly affects the error rate; with few cases alpha is
    // halved, because two models are tried.
    let few = if pairs.len() < FREE_CHOICE { 2.0 } else { 1.0 };
    let looks = if is_paired { LOOKS } else { few };
    let rates = ErrorRates { alpha: rates.alpha / looks, ..rates };
    let shift = Shift { variance: shift.variance + run_variance::run_variance(pairs), ..shift };
    let [normal, least] = [NoiseModel::Normal, NoiseModel::Minimum]
        .map(|law| Estimates::of(pairs, law, rates.alpha, shift));
    let estimates = if least.reach < normal.reach { least } else { normal };
    let levels = corrected_levels(pairs, &estimates.each, rates.alpha);
    let mut judging = Judging {
        own: Factor::new(rates.alpha / 2.0),
        strictest: estimates.strictest,
        miss: Factor::new(rates.miss),
        agreement: Agreement::of(&estimates.each, rates.alpha / 2.0, shift),
    };
    let median_scatter = median_check::scatter(pairs);
    let each = pairs.iter().zip(estimates.centers).zip(estimates.each).zip(levels);
    each.map(|(((pair, center), estimate), level)| {
        let found = judging.finding(pair, center, estimate, level);
        let candidate = Candidate { pair, found: &found, shift, median_scatter };
        match CHECKS.iter().find_map(|check| check(&candidate)) {
            Some(doubt) => found.with_doubt(doubt),
            None => found,
        }
    })
    .collect()
}

/// The estimates of all pairs under one noise model.
struct Estimates {
    centers: Vec<Center>,
    each: Vec<Option<Estimate>>,
    strictest: Factor,
    /// Geometric mean of the half-widths of the intervals corrected over all pairs. The noise model
    /// with the smaller mean is used for all pairs; making this choice only once hardly increases
    /// the error rate.
    reach: f64,
}

impl Estimates {
    fn of(pairs: &[Pair], law: NoiseModel, alpha: f64, shift: Shift) -> Self {
        let centers: Vec<Center> =
            pairs.iter().map(|pair| Center::of(pair, law).less(shift)).collect();
        let mut limits = SurpriseLimits::default();
        let mut residuals = Vec::with_capacity(pairs.len());
        for (pair, center) in pairs.iter().zip(&centers) {
            residuals.push(match past(pair, law) {
                Some(past) if pair.ratios.is_none() => {
                    center.residual.moderated_towards(&past, &mut limits)
                }
                _ => center.residual,
            });
        }
        let each: Vec<Option<Estimate>> = pairs
            .iter()
            .zip(&centers)
            .zip(spreads(&residuals))
            .map(|((pair, center), spread)| {
                spread.map(|spread| Estimate::new(pair, center, spread, shift))
            })
            .collect();
        let questions = each.iter().flatten().count().max(1) as f64;
        let mut strictest = Factor::new(alpha / 2.0 / questions);
        let reaches = each.iter().flatten().map(|one| (strictest.of(one) * one.error).ln());
        let reach = (reaches.sum::<f64>() / questions).exp();
        Self { centers, each, strictest, reach }
    }
}

/// Half-width of an interval at a one-sided `level`, in standard errors, cached by noise model and
/// degrees of freedom: few combinations are distinct, and each may cost an inversion.
struct Factor {
    level: f64,
    known: BTreeMap<(NoiseModel, u64), f64>,
}

impl Factor {
    const fn new(level: f64) -> Self {
        Self { level, known: BTreeMap::new() }
    }

    fn of(&mut self, estimate: &Estimate) -> f64 {
        let (level, law, degrees_of_freedom) =
            (self.level, estimate.law, estimate.degrees_of_freedom);
        *self
            .known
            .entry((law, degrees_of_freedom.to_bits()))
            .or_insert_with(|| law.exceeded_with(level, degrees_of_freedom))
    }
}

/// Parameters that turn an estimate into a conclusion: the half-widths for the interval, for the
/// first step of Holm's correction and for the miss rate, and the agreement between cases.
struct Judging {
    own: Factor,
    strictest: Factor,
    miss: Factor,
    agreement: Option<Agreement>,
}

impl Judging {
    fn finding(
        &mut self,
        pair: &Pair,
        center: Center,
        estimate: Option<Estimate>,
        level: CorrectedLevel,
    ) -> CaseConclusion {
        let worse = center.residual.difference;
        let [baseline, current] =
            [center.baseline, center.baseline + worse].map(|log| orient(log, pair.better).exp());
        let change = change_of_log(worse, pair.better);
        let found = CaseConclusion::too_few(Evidence::Sides, baseline, current, change);
        let Some(estimate) = estimate else { return found };
        let limits =
            [-pair.threshold, pair.threshold].map(|change| log_of_change(change, pair.better));
        let own = estimate.interval(self.own.of(&estimate), limits);
        let together = self
            .agreement
            .as_ref()
            .map_or(own, |agreement| agreement.narrow(&estimate, own, limits));
        let interval = together.map(|end| change_of_log(end, pair.better));
        let (verdict, reason) = judge(change, interval, level.clear, pair.threshold);
        let corrected_low = (change >= pair.threshold).then(|| {
            let reach = estimate.law.exceeded_with(level.level, estimate.degrees_of_freedom);
            let [low, _] = estimate.interval(reach, limits);
            change_of_log(low, pair.better)
        });
        let detectable = Some(self.detectable(&estimate, pair));
        CaseConclusion {
            interval: Some(interval),
            corrected_low,
            detectable,
            verdict,
            reason,
            ..found
        }
    }

    /// Returns the smallest true change that is called Regressed with at most the allowed
    /// probability of a miss. The estimate must reach T, and exceed T/2 by the half-width of the
    /// corrected interval.
    fn detectable(&mut self, estimate: &Estimate, pair: &Pair) -> f64 {
        let half = log_of_change(pair.threshold / 2.0, pair.better);
        let whole = log_of_change(pair.threshold, pair.better);
        let clear = half + self.strictest.of(estimate) * estimate.error;
        let needed = clear.max(whole) + self.miss.of(estimate) * estimate.error;
        change_of_log(needed, pair.better)
    }
}

/// Applies the table of [`compare`] to a change; `clear` states whether the corrected low end of
/// the change is above T/2.
pub(crate) fn judge(
    change: f64,
    [low, high]: [f64; 2],
    clear: Clear,
    threshold: f64,
) -> (Verdict, ReasonCode) {
    if change >= threshold && clear == Clear::AboveHalf {
        (Verdict::Regressed, ReasonCode::AboveThreshold)
    } else if change <= -threshold && high < -threshold / 2.0 {
        (Verdict::Improved, ReasonCode::BetterThanThreshold)
    } else if change < threshold && high < 1.5 * threshold {
        let moved = low > 0.0 || high < 0.0;
        (
            Verdict::Unchanged,
            if moved { ReasonCode::BelowThreshold } else { ReasonCode::WithinNoise },
        )
    } else {
        (Verdict::Inconclusive, ReasonCode::TooNoisy)
    }
}

/// Orients a logarithm, or a difference of logarithms, so that larger is worse. The function is its
/// own inverse.
pub(crate) fn orient(difference: f64, better: Better) -> f64 {
    match better {
        Better::Lower => difference,
        Better::Higher => -difference,
    }
}

/// Converts an oriented difference of logarithms to a change Δ, clamped to ±[`LARGEST`] because
/// JSON has no infinity.
pub(crate) fn change_of_log(worse: f64, better: Better) -> f64 {
    let change = match better {
        Better::Lower => worse.exp_m1(),
        Better::Higher => -(-worse).exp_m1(),
    };
    change.clamp(-LARGEST, LARGEST)
}

/// Converts a change to a difference of logarithms, the inverse of [`change_of_log`]. Infinite if a
/// throughput falls by 100 % or more.
pub(crate) fn log_of_change(change: f64, better: Better) -> f64 {
    match better {
        Better::Lower => change.ln_1p(),
        Better::Higher if change >= 1.0 => f64::INFINITY,
        Better::Higher => -(-change).ln_1p(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn pair(baseline: &[f64], current: &[f64], better: Better) -> Pair {
        Pair {
            baseline: Side::new(baseline.to_vec()).unwrap(),
            current: Side::new(current.to_vec()).unwrap(),
            ratios: None,
            unit: Unit::Milliseconds,
            better,
            threshold: 0.1,
        }
    }

    fn one(baseline: &[f64], current: &[f64], better: Better) -> CaseConclusion {
        compare(&[pair(baseline, current, better)], ErrorRates::USUAL).remove(0)
    }

    #[test]
    fn the_change_is_that_of_the_value_in_its_bad_direction() {
        let (before, after) = ([100.0, 101.0, 99.0], [125.0, 126.0, 124.0]);
        for (baseline, current, better, change, verdict) in [
            (before, after, Better::Lower, 0.25, Verdict::Regressed),
            (after, before, Better::Lower, -0.2, Verdict::Improved),
            (after, before, Better::Higher, 0.2, Verdict::Regressed),
            (before, after, Better::Higher, -0.25, Verdict::Improved),
        ] {
            let found = one(&baseline, &current, better);
            let [low, high] = found.interval.unwrap();
            assert!(
                (found.change - change).abs() < 1e-3 && low < change && change < high,
                "{found:?}"
            );
            assert_eq!(found.verdict, verdict);
        }
    }

    #[test]
    fn unclear_changes_are_inconclusive_and_not_green() {
        for (current, reason) in [
            ([105.0, 140.0, 112.0], ReasonCode::TooNoisy),
            ([80.0, 130.0, 105.0], ReasonCode::TooNoisy),
            ([100.0, 100.5, 99.0], ReasonCode::WithinNoise),
        ] {
            assert_eq!(
                one(&[100.0, 101.0, 99.0], &current, Better::Lower).reason,
                reason,
                "{current:?}"
            );
        }
    }

    #[test]
    fn a_clear_change_stays_clear_among_many_cases_and_a_doubtful_one_does_not() {
        assert_eq!(judge_slow_case(30, 1.3).verdict, Verdict::Regressed);
        assert_eq!(judge_slow_case(30, 1.15).verdict, Verdict::Regressed);
        let doubtful = judge_slow_case(3000, 1.12);
        assert_eq!(
            (doubtful.verdict, doubtful.reason),
            (Verdict::Inconclusive, ReasonCode::TooNoisy)
        );
        assert!(
            doubtful.corrected_low.unwrap() <= 0.05 && doubtful.interval.unwrap()[0] > 0.05,
            "{doubtful:?}"
        );
    }

    /// Returns the conclusion for the last of `cases`, which became slower by `factor`.
    fn judge_slow_case(cases: usize, factor: f64) -> CaseConclusion {
        let mut pairs: Vec<Pair> = (1..cases)
            .map(|at| pair(&wobbling_side(at), &wobbling_side(at + 3), Better::Lower))
            .collect();
        let slow = wobbling_side(3).map(|value| value * factor);
        pairs.push(pair(&wobbling_side(0), &slow, Better::Lower));
        compare(&pairs, ErrorRates::USUAL).pop().unwrap()
    }

    fn wobbling_side(at: usize) -> [f64; 3] {
        [100.0 * wobble(at), 100.0 * wobble(at + 5), 100.0 * wobble(at + 9)]
    }

    /// Returns a factor within 2 % of 1.
    fn wobble(at: usize) -> f64 {
        1.0 + 0.02 * ((at * 7 % 13) as f64 / 6.0 - 1.0)
    }

    #[test]
    fn what_drifts_together_is_clear_in_pairs_alone() {
        let drifting = [100.0, 140.0, 90.0, 120.0, 170.0];
        let apart = pair(&drifting, &drifting.map(|value| value * 1.15), Better::Lower);
        let beside = Pair { ratios: Some(vec![1.15_f64.ln(); 5]), ..apart.clone() };
        assert_eq!(compare(&[apart], ErrorRates::USUAL)[0].verdict, Verdict::Inconclusive);
        let found = compare(&[beside], ErrorRates::USUAL).remove(0);
        assert_eq!(found.verdict, Verdict::Regressed);
        assert!((found.current / found.baseline - 1.15).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn disturbed_processes_do_not_decide() {
        let quiet = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8, 101.5, 98.5, 100.0];
        let mut disturbed = quiet;
        for slow in &mut disturbed[..4] {
            *slow *= 1.5;
        }
        let found = one(&quiet, &disturbed, Better::Lower);
        assert_eq!(found.verdict, Verdict::Unchanged, "{found:?}");
        let rates = disturbed.map(|time| 1e4 / time);
        assert_eq!(
            one(&quiet.map(|time| 1e4 / time), &rates, Better::Higher).verdict,
            Verdict::Unchanged
        );
    }

    #[test]
    fn one_fast_process_is_no_evidence() {
        let quiet: Vec<Pair> = (0..12)
            .map(|at| {
                let level = 100.0 + f64::from(at);
                pair(
                    &[level, level * 1.001, level * 1.4],
                    &[level * 1.0005, level * 1.002, level * 1.7],
                    Better::Lower,
                )
            })
            .collect();
        let (usual, lucky) = ([100.0, 100.2, 100.3], [78.0, 100.1, 100.2]);
        for (baseline, current, expected) in [
            (lucky, usual, Verdict::Inconclusive),
            // Not slower, and not clearly faster.
            (usual, lucky, Verdict::Unchanged),
            (usual, [78.0, 78.1, 140.0], Verdict::Improved),
            ([78.0, 78.1, 140.0], usual, Verdict::Regressed),
        ] {
            let found = judge_last(&quiet, pair(&baseline, &current, Better::Lower));
            assert_eq!(found.verdict, expected, "{baseline:?} {current:?}");
        }
    }

    /// Returns the conclusion for `last` among `others`.
    fn judge_last(others: &[Pair], last: Pair) -> CaseConclusion {
        let pairs = [others, &[last]].concat();
        compare(&pairs, ErrorRates::USUAL).pop().unwrap()
    }

    #[test]
    fn leasts_that_agree_are_unchanged_however_far_off_the_others_lie() {
        let quiet: Vec<Pair> = (0..11)
            .map(|at| {
                let level = 100.0 + f64::from(at);
                let after = level * (1.0 + 0.001 * f64::from(at % 4));
                pair(
                    &[level, level * 1.01, level * 1.02],
                    &[after, after * 1.01, after * 1.4],
                    Better::Lower,
                )
            })
            .collect();
        let baseline = [100.0, 150.0, 180.0];
        let found = judge_last(&quiet, pair(&baseline, &[100.3, 140.0, 170.0], Better::Lower));
        assert_eq!(found.verdict, Verdict::Unchanged, "{found:?}");
        assert!(found.interval.unwrap()[1] < 0.05 && found.detectable.unwrap() > 0.3, "{found:?}");
        for changed in [[106.0, 140.0, 170.0], [120.0, 140.0, 170.0], [80.0, 140.0, 170.0]] {
            let found = judge_last(&quiet, pair(&baseline, &changed, Better::Lower));
            assert_eq!(found.verdict, Verdict::Inconclusive, "{found:?}");
        }
    }

    #[test]
    fn sides_that_mean_nothing_are_refused() {
        for values in [vec![], vec![0.0], vec![-1.0], vec![f64::NAN], vec![1.0, f64::INFINITY]] {
            assert_eq!(Side::new(values), None);
        }
        assert!(compare(&[], ErrorRates::USUAL).is_empty());
    }

    #[test]
    fn values_that_do_not_vary_are_judged_by_the_smallest_spread_that_is_believed() {
        assert_eq!(one(&[100.0; 3], &[100.0; 3], Better::Lower).verdict, Verdict::Unchanged);
        assert_eq!(one(&[100.0; 3], &[120.0; 3], Better::Lower).verdict, Verdict::Regressed);
        assert_eq!(one(&[100.0; 2], &[120.0], Better::Lower).verdict, Verdict::Regressed);
        assert_eq!(one(&[100.0], &[120.0], Better::Lower).reason, ReasonCode::TooFewSamples);
        let wide = one(&[1e-300, 1e300], &[1.0], Better::Lower);
        assert!(wide.interval.unwrap().iter().all(|end| end.is_finite()), "{wide:?}");
    }

    /// In a simulation with the same spread, the detectable change is found as often as the miss
    /// rate allows.
    #[test]
    fn a_detectable_change_is_found_as_often_as_promised() {
        let mut random = Rng::new(7);
        let unchanged = simulate_cases(&mut random, 1.0);
        let detectable = unchanged.iter().filter_map(|each| each.detectable).sum::<f64>()
            / unchanged.len() as f64;
        assert!((0.1..0.2).contains(&detectable), "{detectable}");
        let found = simulate_cases(&mut random, 1.0 + detectable);
        let regressed = found.iter().filter(|each| each.verdict == Verdict::Regressed).count();
        assert!(regressed as f64 > 0.95 * found.len() as f64, "{regressed} of {}", found.len());
        let half = simulate_cases(&mut random, 1.05);
        assert!(half.iter().all(|each| each.verdict != Verdict::Regressed));
    }

    /// Returns conclusions for 400 cases that became slower by `factor`.
    fn simulate_cases(random: &mut Rng, factor: f64) -> Vec<CaseConclusion> {
        let mut pairs = Vec::new();
        for _ in 0..400 {
            let baseline = simulate_side(random, 1.0);
            let current = simulate_side(random, factor);
            pairs.push(pair(&baseline, &current, Better::Lower));
        }
        compare(&pairs, ErrorRates::USUAL)
    }

    /// Returns eight values that scatter by 2 % around `100 × factor`.
    fn simulate_side(random: &mut Rng, factor: f64) -> Vec<f64> {
        (0..8).map(|_| 100.0 * factor * (0.02 * random.normal()).exp()).collect()
    }
}
