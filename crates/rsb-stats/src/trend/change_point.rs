//! Points where the level of a series changed, and what the newest points raise a suspicion of.
//!
//! Outliers are first brought back towards their neighbors ([`hampel`]). Then the series is cut into
//! levels so that the sum of squares plus a penalty for each change is least
//! ([`optimal_partitioning`]; of long series, at the positions that [`screen`] selects). The penalty
//! is what the best split of a series without a change reaches with the allowed chance
//! ([`significance`]), in units of the long-run variance: (1 + ρ) / (1 − ρ) times the variance if
//! neighbors resemble each other by ρ. It begins with the variance of the whole series, as if nothing
//! had changed, and is estimated again around the levels found until these stay. Each change must
//! then be significant if noise is a first-order autoregression that is estimated with it and without
//! it ([`likelihood_ratio`]), and the order of the values must matter ([`permutation_test`]).

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

/// Neighbors that resemble each other more than this are no noise: their level wanders, and is cut
/// where it does.
///
/// Chosen on the tuning half of the Turing Change Point Dataset, where 0.75 to 0.85 do alike
/// (docs/trend-study.md).
pub(super) const MOST_CORRELATION: f64 = 0.8;

/// How often the noise is estimated anew at most. Levels nearly always stay after two or three.
const ROUNDS: usize = 10;

/// Both levels and their share are looked at.
const PARTS: f64 = 3.0;

/// Chance of one of several changes in a random order of the points between its neighbors, at most.
/// That the series changed at all is known by then.
const LOCAL_CHANCE: f64 = 0.01;

/// How much the correlation is underestimated because levels were fitted to the noise, times the
/// number of points, for up to one change. Each further change adds half as much.
const FIT_BIAS: f64 = 5.0;

/// Variance that no figure of unit size can be told from none.
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
    /// Points that stand at the new level.
    pub points: usize,
    /// Chance that the points look like this somewhere, where nothing changed.
    pub p_value: f64,
    /// What changed, if the series alternates between two levels.
    pub part: Option<LevelPart>,
}

/// What is known of the levels of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct DetectedChanges {
    /// In order; each new level stands for at least [`TrendSettings::min_size`] points.
    pub confirmed: Vec<DetectedChange>,
    /// The newest points, where they are fewer and do not fit the level before them.
    pub suspected: Option<DetectedChange>,
    /// Chance that a series without a change looks as changed as this one; 1 for too few points.
    pub chance: f64,
    /// How alike neighbors are around the levels: autocorrelation at lag 1, from 0 to 0.8.
    pub correlation: f64,
    /// The two levels that the points since the last change alternate between.
    pub two_levels: Option<LevelPair>,
}

impl DetectedChanges {
    /// One level.
    const NONE: Self = Self {
        confirmed: Vec::new(),
        suspected: None,
        chance: 1.0,
        correlation: 0.0,
        two_levels: None,
    };
}

/// The changes of level in `values`, which are finite and in order of time.
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

/// The changes of a series whose points stand around one level at a time.
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

/// `values` with outliers brought back to what their neighbors do.
pub(super) fn without_outliers(values: &[f64], settings: &TrendSettings) -> Vec<f64> {
    hampel::clip_outliers(values, settings.min_size.max(2))
}

/// The newest points against the whole series before them, as if nothing else had changed.
pub(super) fn suspected_alone(values: &[f64], settings: &TrendSettings) -> Option<DetectedChange> {
    if settings.method == ChangeMethod::Off || LevelPair::find(values).is_some() {
        return None;
    }
    newest::find_suspected_change(values, &without_outliers(values, settings), 0, 0.0, settings)
}

/// A change of one part of two levels.
struct PartChange {
    /// The earliest position of it: behind the last point of the part that is as before.
    from: usize,
    change: DetectedChange,
}

/// The changes of a series that alternates between two levels: of each level among its own points,
/// and of the share of points at the upper one.
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
    // Parts that may have changed at once are one change, that of the part with the most to tell.
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

/// `change` of one part, whose points have `positions` in the series, as a change of the series.
fn place_in_series(change: DetectedChange, positions: &[usize], part: LevelPart) -> PartChange {
    PartChange {
        from: change.index.checked_sub(1).map_or(0, |before| positions[before] + 1),
        change: DetectedChange { index: positions[change.index], part: Some(part), ..change },
    }
}

/// `changes` of the share of points at the upper of two levels, with the means of `values` before
/// and after.
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

/// The changes in `values` that are found in `tame`, which is `values` without outliers, and that
/// are as rare as `chance` in a random order of `values`.
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

/// Leaves those changes of `cut` that a random order of the points between their neighbors seldom
/// has.
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

/// The sums of values without outliers, about 0 and of unit size. `None` where there is one level
/// and nothing else.
fn normalized_sums(tame: &[f64]) -> Option<Sums> {
    let center = middle(tame.to_vec())?;
    let size = tame.iter().map(|value| (value - center).abs()).fold(0.0, f64::max);
    // What rounding does to equal figures is no change of them.
    let is_flat = size <= 1e-12 * center.abs();
    (!is_flat && size.is_finite())
        .then(|| Sums::new(tame.iter().map(|value| (value - center) / size).collect()))
}

/// Where levels begin, the first one left out, each with the logarithm of its chance.
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

/// How alike neighbors are around the levels that begin at `starts`. That their mean was taken out
/// makes them less so, by (1 + 3 ρ) / m for levels of m points (Kendall, 1954), which is put back.
fn correlation(sums: &Sums, starts: &[usize]) -> f64 {
    let share = (starts.len() + 1) as f64 / sums.len() as f64;
    let seen = sums.residual(starts).correlation(1.0);
    if seen > 0.0 {
        ((seen + share) / (1.0 - 3.0 * share).max(0.2)).min(MOST_CORRELATION)
    } else {
        0.0
    }
}

/// Returns the `correlation` of `n` points around `changes` + 1 levels plus its standard error and
/// the bias of the fit: a value that is too low takes the wandering of noise for a change. 0 stays
/// 0.
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

/// Whether enough points stand at the newest level. A few wild points at the end draw a point
/// before them in, to be as many as a level needs.
fn stands(values: &[f64], last: &DetectedChange, min_size: usize) -> bool {
    values.len() - first_new(values, last.index, last) >= min_size
}

/// The position of the first point since `from` that lies nearer to the level after `change` than
/// to that before it.
fn first_new(values: &[f64], from: usize, change: &DetectedChange) -> usize {
    let since = values.get(from..).unwrap_or_default();
    let first =
        since.iter().position(|value| (value - change.after).abs() < (value - change.before).abs());
    from + first.unwrap_or(since.len())
}

/// Variance of independent noise, from how far neighbors differ: a change of level is one
/// difference of many.
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
