//! Points where the level of a series changed, and what the newest points raise a suspicion of.
//!
//! Outliers are first brought back to what their neighbors do ([`clip`]). Then the series is cut into levels, the cut that
//! is best for its squares at a penalty for each change ([`partition`]). The penalty is what the best split of a series
//! without a change reaches with the allowed chance, in units of the long-run variance: the variance of a mean of many
//! points times their number, which is (1 + ρ) / (1 − ρ) of the variance where neighbors resemble each other by ρ. It
//! begins with the variance of the whole series, as if nothing had changed, and is estimated anew around the levels
//! found until these stay. Each change must then be significant where noise is a first-order autoregression that is
//! estimated with it and without it ([`confirm`]).

mod chance;
mod clip;
mod confirm;
mod levels;
mod newest;
mod partition;
mod screen;

use super::monotone::middle;
use super::settings::{ChangeMethod, TrendSettings};
use crate::estimate::{MAD_TO_SIGMA, median};
use confirm::Bar;
use levels::{Sums, ends};

/// Neighbors that resemble each other more than this are no noise: their level wanders, and is cut where it does.
///
/// Chosen on the tuning half of the Turing Change Point Dataset, where 0.75 to 0.85 do alike (docs/trend-study.md).
pub(super) const MOST_CORRELATION: f64 = 0.8;

/// How often the noise is estimated anew at most. Levels nearly always stay after two or three.
const ROUNDS: usize = 10;

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
}

/// What is known of the levels of a series.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DetectedChanges {
    /// In order; each new level stands for at least [`TrendSettings::min_size`] points.
    pub confirmed: Vec<DetectedChange>,
    /// The newest points, where they are fewer and do not fit the level before them.
    pub suspected: Option<DetectedChange>,
    /// Chance of the best split of the whole series where nothing changed; 1 for too few points.
    pub best_chance: f64,
    /// How alike neighbors are around the levels: autocorrelation at lag 1, from 0 to 0.8.
    pub correlation: f64,
}

/// The changes of level in `values`, which are finite and in order of time.
pub fn detect(values: &[f64], settings: &TrendSettings) -> DetectedChanges {
    let min_size = settings.min_size.max(2);
    let mut found = DetectedChanges { best_chance: 1.0, ..DetectedChanges::default() };
    if settings.method == ChangeMethod::Off || values.len() < settings.min_data_points.max(min_size) {
        return found;
    }
    let tame = clip::clipped(values, min_size);
    if let Some(sums) = prepared(&tame) {
        let bar = Bar { min_size, chance: settings.change_chance() };
        let cut = cut(&sums, bar, settings.method);
        let starts: Vec<usize> = cut.iter().map(|&(start, _)| start).collect();
        found.correlation = correlation(&sums, &starts);
        found.best_chance = confirm::best_chance(&sums, bar);
        found.confirmed = told(values, &cut);
        if found.confirmed.last().is_some_and(|last| !stands(values, last, min_size)) {
            found.confirmed.pop();
        }
    }
    let level_from = found.confirmed.last().map_or(0, |change| change.index);
    found.suspected = newest::suspected(values, &tame, level_from, found.correlation, settings);
    found
}

/// The sums of values without outliers, about 0 and of unit size. `None` where there is one level and nothing else.
fn prepared(tame: &[f64]) -> Option<Sums> {
    let center = middle(tame.to_vec())?;
    let size = tame.iter().map(|value| (value - center).abs()).fold(0.0, f64::max);
    // What rounding does to equal figures is no change of them.
    let is_flat = size <= 1e-12 * center.abs();
    (!is_flat && size.is_finite()).then(|| Sums::new(tame.iter().map(|value| (value - center) / size).collect()))
}

/// Where levels begin, the first one left out, each with the logarithm of its chance.
fn cut(sums: &Sums, bar: Bar, method: ChangeMethod) -> Vec<(usize, f64)> {
    let n = sums.len();
    if n < 2 * bar.min_size {
        return Vec::new();
    }
    let is_exact = match method {
        ChangeMethod::Exact => true,
        ChangeMethod::Auto => n <= TrendSettings::EXACT_UP_TO,
        ChangeMethod::Screened | ChangeMethod::Off => false,
    };
    let positions = if is_exact { (0..=n).collect() } else { screen::candidates(sums, bar.min_size) };
    let z = chance::critical(bar.chance, n, bar.min_size);
    let mut found: Vec<(usize, f64)> = Vec::new();
    let mut long_run = sums.scatter(0, n) / (n - 1) as f64;
    for round in 0..=ROUNDS {
        let starts = partition::among(sums, &positions, bar.min_size, z * z * long_run.max(NO_VARIANCE));
        let again = confirm::confirmed(sums, starts, bar);
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

/// How alike neighbors are around the levels that begin at `starts`. That their mean was taken out makes them less so,
/// by (1 + 3 ρ) / m for levels of m points (Kendall, 1954), which is put back.
fn correlation(sums: &Sums, starts: &[usize]) -> f64 {
    let share = (starts.len() + 1) as f64 / sums.len() as f64;
    let seen = sums.residual(starts).correlation(1.0);
    if seen > 0.0 { ((seen + share) / (1.0 - 3.0 * share).max(0.2)).min(MOST_CORRELATION) } else { 0.0 }
}

fn told(values: &[f64], cut: &[(usize, f64)]) -> Vec<DetectedChange> {
    let starts: Vec<usize> = cut.iter().map(|&(start, _)| start).collect();
    let ends = ends(&starts, values.len());
    let level = |pair: &[usize]| values.get(pair[0]..pair[1]).and_then(median).unwrap_or(f64::NAN);
    let levels: Vec<f64> = ends.windows(2).map(level).collect();
    let sides = levels.windows(2).zip(ends.windows(2).skip(1));
    let changes = cut.iter().zip(sides).map(|(&(index, ln_chance), (levels, ends))| DetectedChange {
        index,
        before: levels[0],
        after: levels[1],
        points: ends[1] - ends[0],
        p_value: ln_chance.exp(),
    });
    changes.collect()
}

/// Whether enough points stand at the newest level. A few wild points at the end draw a point before them in, to be as
/// many as a level needs.
fn stands(values: &[f64], last: &DetectedChange, min_size: usize) -> bool {
    values.len() - first_new(values, last.index, last) >= min_size
}

/// The position of the first point since `from` that lies nearer to the level after `change` than to that before it.
fn first_new(values: &[f64], from: usize, change: &DetectedChange) -> usize {
    let is_new = |value: &f64| (value - change.after).abs() < (value - change.before).abs();
    let since = values.get(from..).unwrap_or_default();
    from + since.iter().position(is_new).unwrap_or(since.len())
}

/// Variance of independent noise, from how far neighbors differ: a change of level is one difference of many.
fn variance_of_steps(values: &[f64]) -> f64 {
    let steps: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    let sigma = middle(steps.clone()).unwrap_or(0.0) * MAD_TO_SIGMA / std::f64::consts::SQRT_2;
    if sigma > 0.0 {
        sigma * sigma
    } else {
        steps.iter().map(|step| step * step).sum::<f64>() / 2.0 / values.len() as f64
    }
}
