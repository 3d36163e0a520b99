//! Change points of the level of a series, and suspected changes of its newest points.
//!
//! Outliers are first moved towards their neighbors (`hampel`). The series is then divided into
//! levels so that the sum of squares plus a penalty for each change is minimal
//! (`optimal_partitioning`; for long series, at the positions that `screen` selects). The
//! penalty is the critical value of the best split of a series without a change (`significance`),
//! in units of the long-run variance: (1 + ρ) / (1 − ρ) times the variance, for a lag-1
//! autocorrelation ρ. It starts with the variance of the whole series, as if nothing had changed,
//! and is estimated again around the levels found until these no longer change. Each change must
//! then be significant under autoregressive noise of first order, estimated with and without the
//! change (`likelihood_ratio`), and the order of the values must matter (`permutation_test`).

mod hampel;
mod likelihood_ratio;
mod newest;
mod optimal_partitioning;
mod permutation_test;
mod screen;
mod segments;
mod significance;
mod two_levels;

use rsb_model::record::LevelPart;

use super::monotone::middle;
use super::settings::{ChangeMethod, TrendSettings};
use crate::estimate::{MAD_TO_SIGMA, mean, median};
use likelihood_ratio::ChangeCriterion;
use segments::{Sums, ends};
pub use two_levels::LevelPair;

/// Largest autocorrelation that is attributed to noise. If it is larger, the level itself varies
/// slowly, and the series is divided into levels accordingly.
///
/// Chosen on the tuning half of the Turing Change Point Dataset, on which 0.75 to 0.85 give similar
/// results (docs/trend-study.md).
pub(super) const MOST_CORRELATION: f64 = 0.8;

/// Maximum number of noise estimates. Levels nearly always stop changing after two or three.
const ROUNDS: usize = 10;

/// Number of tests of a series with two levels: one for each level, and one for the share of points
/// at the upper level.
const PARTS: f64 = 3.0;

/// Largest p-value of one of several changes, in a permutation test of the points from the previous
/// change to the next. The series as a whole has already been found to change.
const LOCAL_CHANCE: f64 = 0.01;

/// Bias of the estimated correlation because levels are fitted to the noise, times the number of
/// points, for up to one change. Each further change adds half as much.
const FIT_BIAS: f64 = 5.0;

/// Variance below which values of unit size count as constant.
const NO_VARIANCE: f64 = 1e-24;

/// A change of level. The level is the median of its points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DetectedChange {
    /// Position of the first point of the new level.
    pub index: usize,
    /// Level before.
    pub before: f64,
    /// Level after.
    pub after: f64,
    /// Number of points at the new level.
    pub points: usize,
    /// Probability that such points occur anywhere in a series without a change.
    pub p_value: f64,
    /// Level, or share of the levels, that changed, if the series alternates between two levels.
    pub part: Option<LevelPart>,
}

/// Levels detected in a series.
#[derive(Debug, Clone, PartialEq)]
pub struct DetectedChanges {
    /// Changes in order; each new level has at least [`TrendSettings::min_size`] points.
    pub confirmed: Vec<DetectedChange>,
    /// The newest points that do not fit the level before them, if they are too few for a confirmed
    /// change.
    pub suspected: Option<DetectedChange>,
    /// Probability that a series without a change looks as changed as this one; 1 if there are too
    /// few points.
    pub chance: f64,
    /// Autocorrelation at lag 1 around the levels, from 0 to 0.8.
    pub correlation: f64,
    /// The two levels that the points since the last change alternate between.
    pub two_levels: Option<LevelPair>,
}

impl DetectedChanges {
    /// No changes, for a series with a single level.
    const NONE: Self = Self {
        confirmed: Vec::new(),
        suspected: None,
        chance: 1.0,
        correlation: 0.0,
        two_levels: None,
    };
}

/// Detects the changes of level in `values`, which are finite and in order of time.
pub fn detect(values: &[f64], settings: &TrendSettings) -> DetectedChanges {
    let min_size = settings.min_size.max(2);
    if settings.method == ChangeMethod::Off || values.len() < settings.min_data_points.max(min_size)
    {
        return DetectedChanges::NONE;
    }
    match LevelPair::find(values) {
        Some(levels) => in_two_levels(values, levels, settings),
        None => in_one_level(values, settings),
    }
}

/// Detects the changes of a series that has one level at a time.
fn in_one_level(values: &[f64], settings: &TrendSettings) -> DetectedChanges {
    let tame = without_outliers(values, settings);
    let mut found = find_steps(values, &tame, settings.change_chance(), settings);
    let level_from = found.confirmed.last().map_or(0, |change| change.index);
    found.suspected =
        newest::find_suspected_change(values, &tame, level_from, found.correlation, settings);
    if level_from > 0 {
        found.two_levels = values.get(level_from..).and_then(LevelPair::find);
    }
    found
}

/// Returns `values` with outliers moved towards their neighbors.
pub(super) fn without_outliers(values: &[f64], settings: &TrendSettings) -> Vec<f64> {
    hampel::clip_outliers(values, settings.min_size.max(2))
}

/// Compares the newest points with the whole series before them, ignoring other changes.
pub(super) fn suspected_alone(values: &[f64], settings: &TrendSettings) -> Option<DetectedChange> {
    if settings.method == ChangeMethod::Off || LevelPair::find(values).is_some() {
        return None;
    }
    newest::find_suspected_change(values, &without_outliers(values, settings), 0, 0.0, settings)
}

/// A change of one level, or of the share of the levels, in a series with two levels.
struct PartChange {
    /// Earliest possible position of the change: directly after the last point before it that
    /// belongs to the same part.
    from: usize,
    change: DetectedChange,
}

/// Detects the changes of a series that alternates between two levels: changes of each level, from
/// its own points, and changes of the share of points at the upper level.
fn in_two_levels(values: &[f64], levels: LevelPair, settings: &TrendSettings) -> DetectedChanges {
    let mut found = DetectedChanges::NONE;
    let bar = settings.change_chance() / 2.0;
    let mut changes = Vec::new();
    for (part, upper) in [(LevelPart::Lower, false), (LevelPart::Upper, true)] {
        let positions = levels.positions(upper);
        let own: Vec<f64> = positions.iter().map(|&at| values[at]).collect();
        let tame = without_outliers(&own, settings);
        let of_part = find_steps(&own, &tame, bar, settings);
        let level_from = of_part.confirmed.last().map_or(0, |change| change.index);
        let suspected =
            newest::find_suspected_change(&own, &tame, level_from, of_part.correlation, settings);
        let confirmed = of_part.confirmed.into_iter();
        changes.extend(confirmed.map(|change| place_in_series(change, &positions, part)));
        let suspected = suspected.map(|change| place_in_series(change, &positions, part).change);
        found.suspected = [found.suspected, suspected]
            .into_iter()
            .flatten()
            .min_by(|a, b| a.p_value.total_cmp(&b.p_value));
        found.chance = found.chance.min(PARTS * of_part.chance);
        found.correlation = found.correlation.max(of_part.correlation);
    }
    let shares: Vec<f64> =
        levels.is_upper.iter().map(|&is_upper| f64::from(u8::from(is_upper))).collect();
    let of_share = find_steps(&shares, &shares, bar, settings);
    found.chance = found.chance.min(PARTS * of_share.chance);
    found.correlation = found.correlation.max(of_share.correlation);
    changes.extend(of_share_in(values, &of_share.confirmed));
    changes.sort_by_key(|one| one.change.index);
    // Changes of several parts that may have occurred at the same time count as one: the most
    // significant of them.
    let apart = settings.min_size.max(2);
    changes.dedup_by(|next, kept| {
        let is_same = next.from < kept.change.index + apart;
        if is_same && next.change.p_value < kept.change.p_value {
            std::mem::swap(next, kept);
        }
        is_same
    });
    found.confirmed = changes.into_iter().map(|one| one.change).collect();
    let level_from = found.confirmed.last().map_or(0, |change| change.index);
    found.two_levels = Some(levels.since(values, level_from));
    found
}

/// Converts `change` of one part, whose points have `positions` in the series, to a change of the
/// series.
fn place_in_series(change: DetectedChange, positions: &[usize], part: LevelPart) -> PartChange {
    PartChange {
        from: change.index.checked_sub(1).map_or(0, |before| positions[before] + 1),
        change: DetectedChange { index: positions[change.index], part: Some(part), ..change },
    }
}

/// Returns `changes` of the share of points at the upper of two levels, with the means of `values`
/// before and after.
fn of_share_in(values: &[f64], changes: &[DetectedChange]) -> Vec<PartChange> {
    let starts: Vec<usize> = changes.iter().map(|change| change.index).collect();
    let ends = ends(&starts, values.len());
    let levels: Vec<f64> =
        ends.windows(2).map(|pair| mean(&values[pair[0]..pair[1]]).unwrap_or(f64::NAN)).collect();
    let mut found = Vec::with_capacity(changes.len());
    for (at, change) in changes.iter().enumerate() {
        found.push(PartChange {
            from: change.index,
            change: DetectedChange {
                before: levels[at],
                after: levels[at + 1],
                part: Some(LevelPart::Share),
                ..*change
            },
        });
    }
    found
}

/// Detects changes in `tame`, which is `values` without outliers, and keeps them if the permutation
/// test on `values` has a p-value of at most `chance`.
fn find_steps(
    values: &[f64],
    tame: &[f64],
    chance: f64,
    settings: &TrendSettings,
) -> DetectedChanges {
    let mut found = DetectedChanges::NONE;
    let min_size = settings.min_size.max(2);
    let Some(sums) = normalized_sums(tame) else { return found };
    let bar = ChangeCriterion { min_size, chance };
    let mut cut = cut(&sums, bar, settings.method);
    let starts: Vec<usize> = cut.iter().map(|&(start, _)| start).collect();
    found.correlation = correlation(&sums, &starts);
    found.chance = likelihood_ratio::best_chance(&sums, bar);
    if !cut.is_empty() {
        let cautious = cautious(found.correlation, values.len(), cut.len());
        found.chance = permutation_test::p_value(values, cautious, min_size);
        if found.chance > chance {
            return found;
        }
        lasting(values, &mut cut, cautious, min_size);
    }
    found.confirmed = build_changes(values, &cut);
    if found.confirmed.last().is_some_and(|last| !stands(values, last, min_size)) {
        found.confirmed.pop();
    }
    found
}

/// Removes the changes of `cut` that are not significant: random orders of the points between the
/// neighboring changes often show them as well.
fn lasting(values: &[f64], cut: &mut Vec<(usize, f64)>, correlation: f64, min_size: usize) {
    if cut.len() < 2 {
        return;
    }
    loop {
        let ends = ends(&cut.iter().map(|&(start, _)| start).collect::<Vec<_>>(), values.len());
        let chance = |at: usize| {
            permutation_test::p_value(&values[ends[at]..ends[at + 2]], correlation, min_size)
        };
        let chances: Vec<f64> = (0..cut.len()).map(chance).collect();
        let Some((at, worst)) = chances.into_iter().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))
        else {
            return;
        };
        if worst <= LOCAL_CHANCE {
            return;
        }
        cut.remove(at);
    }
}

/// Returns the sums of values without outliers, centered at 0 and scaled to unit size. `None` if
/// all values are equal.
fn normalized_sums(tame: &[f64]) -> Option<Sums> {
    let center = middle(tame.to_vec())?;
    let size = tame.iter().map(|value| (value - center).abs()).fold(0.0, f64::max);
    // Equal values that differ by rounding only have no change.
    let is_flat = size <= 1e-12 * center.abs();
    (!is_flat && size.is_finite())
        .then(|| Sums::new(tame.iter().map(|value| (value - center) / size).collect()))
}

/// Returns the starts of the levels, except the first, each with the logarithm of its p-value.
fn cut(sums: &Sums, bar: ChangeCriterion, method: ChangeMethod) -> Vec<(usize, f64)> {
    let n = sums.len();
    if n < 2 * bar.min_size {
        return Vec::new();
    }
    let is_exact = match method {
        ChangeMethod::Exact => true,
        ChangeMethod::Auto => n <= TrendSettings::EXACT_UP_TO,
        ChangeMethod::Screened | ChangeMethod::Off => false,
    };
    let positions =
        if is_exact { (0..=n).collect() } else { screen::candidates(sums, bar.min_size) };
    let z = significance::critical_value(bar.chance, n, bar.min_size);
    let mut found: Vec<(usize, f64)> = Vec::new();
    let mut long_run = sums.scatter(0, n) / (n - 1) as f64;
    for round in 0..=ROUNDS {
        let starts = optimal_partitioning::segment_starts(
            sums,
            &positions,
            bar.min_size,
            z * z * long_run.max(NO_VARIANCE),
        );
        let again = likelihood_ratio::confirm_starts(sums, starts, bar);
        let is_same = again.iter().map(|cut| cut.0).eq(found.iter().map(|cut| cut.0));
        found = again;
        if found.is_empty() || (is_same && round > 0) {
            break;
        }
        let starts: Vec<usize> = found.iter().map(|cut| cut.0).collect();
        let variance = sums.residual(&starts).squares / (n - starts.len() - 1) as f64;
        let rho = correlation(sums, &starts);
        long_run = variance * (1.0 + rho) / (1.0 - rho);
    }
    found
}

/// Returns the autocorrelation at lag 1 around the levels that begin at `starts`. Subtracting the
/// mean of a level of m points reduces the estimate by (1 + 3 ρ) / m (Kendall, 1954); the result is
/// corrected for this.
fn correlation(sums: &Sums, starts: &[usize]) -> f64 {
    let share = (starts.len() + 1) as f64 / sums.len() as f64;
    let seen = sums.residual(starts).correlation(1.0);
    if seen > 0.0 {
        ((seen + share) / (1.0 - 3.0 * share).max(0.2)).min(MOST_CORRELATION)
    } else {
        0.0
    }
}

/// Returns the `correlation` of `n` points around `changes` + 1 levels, increased by its standard
/// error and the bias of the fit. If the value were too low, slowly varying noise would look like a
/// change. A correlation of 0 stays 0.
pub(super) fn cautious(correlation: f64, n: usize, changes: usize) -> f64 {
    if correlation <= 0.0 {
        return 0.0;
    }
    let n = n as f64;
    let bias = FIT_BIAS * (changes.max(1) + 1) as f64 / 2.0;
    (correlation + (1.0 - correlation * correlation) / n.sqrt() + bias / n).min(MOST_CORRELATION)
}

fn build_changes(values: &[f64], cut: &[(usize, f64)]) -> Vec<DetectedChange> {
    let starts: Vec<usize> = cut.iter().map(|&(start, _)| start).collect();
    let ends = ends(&starts, values.len());
    let levels: Vec<f64> = ends
        .windows(2)
        .map(|pair| values.get(pair[0]..pair[1]).and_then(median).unwrap_or(f64::NAN))
        .collect();
    let sides = levels.windows(2).zip(ends.windows(2).skip(1));
    let changes =
        cut.iter().zip(sides).map(|(&(index, ln_chance), (levels, ends))| DetectedChange {
            index,
            before: levels[0],
            after: levels[1],
            points: ends[1] - ends[0],
            p_value: ln_chance.exp(),
            part: None,
        });
    changes.collect()
}

/// Returns whether there are enough points at the newest level. A few outliers at the end may
/// include a preceding point to reach the minimum size of a level.
fn stands(values: &[f64], last: &DetectedChange, min_size: usize) -> bool {
    values.len() - first_new(values, last.index, last) >= min_size
}

/// Returns the position of the first point since `from` that is nearer to the level after `change`
/// than to the one before it.
fn first_new(values: &[f64], from: usize, change: &DetectedChange) -> usize {
    let since = values.get(from..).unwrap_or_default();
    let first =
        since.iter().position(|value| (value - change.after).abs() < (value - change.before).abs());
    from + first.unwrap_or(since.len())
}

/// Estimates the variance of independent noise from the differences of neighbors, only one of which
/// is affected by a change of level.
fn variance_of_steps(values: &[f64]) -> f64 {
    let steps: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    let sigma = middle(steps.clone()).unwrap_or(0.0) * MAD_TO_SIGMA / std::f64::consts::SQRT_2;
    if sigma > 0.0 {
        sigma * sigma
    } else {
        steps.iter().map(|step| step * step).sum::<f64>() / 2.0 / values.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_margin_of_a_correlation_grows_with_the_levels_fitted() {
        // Standard error (1 − 0.3²) / √400 = 0.0455; bias 5 / 400 for one change, 2.5 / 400 more
        // for each further one.
        let error = 0.91 / 20.0;
        for (changes, bias) in [(0, 0.0125), (1, 0.0125), (2, 0.01875), (5, 0.0375)] {
            let margin = cautious(0.3, 400, changes) - 0.3;
            assert!((margin - error - bias).abs() < 1e-12, "{changes} changes: {margin}");
        }
        assert!(cautious(0.0, 400, 5).abs() < 1e-12);
        assert!((cautious(0.7, 20, 1) - MOST_CORRELATION).abs() < 1e-12);
    }
}
