//! Selection of the best description of a series: levels, a line, or a climb between two levels.
//!
//! The selection uses absolute distances, which a spike does not dominate, and the Bayesian
//! information criterion. A line has two parameters; a climb has two levels and two positions;
//! levels have their values and the positions between them.

use super::change_point::DetectedChange;
use super::line;
use super::monotone::theil_sen;
use crate::estimate::{mean, median};

/// Maximum number of points that are used; longer series are thinned by a stride.
const POINTS: usize = 240;

/// Number of positions at which a climb may begin or end.
const PLACES: usize = 24;

/// Best description of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum BestShape {
    Levels,
    Line,
    Climb { from: usize, to: usize, before: f64, after: f64 },
}

/// Selects the best description of `values`, in which `changes` were found, and returns whether
/// levels fit better than a line. A climb takes more than `min_size` points; a shorter one is a
/// step. Because a drift in noise resembles a step, levels and climbs must also fit `tame`, which
/// is `values` without outliers, better than a line by at least `margin` in squares.
pub(super) fn best_shape(
    values: &[f64],
    tame: &[f64],
    changes: &[DetectedChange],
    min_size: usize,
    margin: f64,
) -> (BestShape, bool) {
    let stride = values.len().div_ceil(POINTS).max(1);
    let thin = Thinned { stride, values: values.iter().copied().step_by(stride).collect() };
    let by_levels = thin.criterion(thin.around_levels(changes), 2 * changes.len() + 1);
    let by_line = thin.criterion(thin.around_line(), 2);
    let squares_by_line = squares_around_line(tame);
    let beats_line = |squares: f64, parameters: usize| {
        let n = tame.len() as f64;
        n * (squares_by_line / squares.max(f64::MIN_POSITIVE)).ln()
            - (parameters as f64 - 2.0) * n.ln()
            >= margin
    };
    let has_levels = by_levels < by_line
        && beats_line(squares_around_levels(tame, changes), 2 * changes.len() + 1);
    let climb =
        thin.climb(min_size).filter(|(_, climb)| beats_line(squares_around_climb(tame, *climb), 4));
    let by_climb = climb.map_or(f64::INFINITY, |(distance, _)| thin.criterion(distance, 4));
    let best = match climb {
        Some((_, climb)) if by_climb < by_line && !(has_levels && by_levels <= by_climb) => climb,
        _ if has_levels => BestShape::Levels,
        _ => BestShape::Line,
    };
    (best, has_levels)
}

/// Returns the sum of squares around the least-squares line.
fn squares_around_line(values: &[f64]) -> f64 {
    let x: Vec<f64> = (0..values.len()).map(|at| at as f64).collect();
    let line = line::fit(&x, values);
    let rest = x.iter().zip(values).map(|(x, value)| value - line.map_or(0.0, |line| line.at(*x)));
    squares(&rest.collect::<Vec<f64>>())
}

/// Returns the sum of squares around the means between `changes`.
fn squares_around_levels(values: &[f64], changes: &[DetectedChange]) -> f64 {
    let ends = changes.iter().map(|change| change.index).chain([values.len()]);
    let mut from = 0;
    let mut all = 0.0;
    for to in ends {
        all += squares(values.get(from..to).unwrap_or_default());
        from = to;
    }
    all
}

/// Returns the sum of squares around a climb.
fn squares_around_climb(values: &[f64], climb: BestShape) -> f64 {
    let BestShape::Climb { from, to, before, after } = climb else { return f64::INFINITY };
    values
        .iter()
        .enumerate()
        .map(|(at, value)| (value - climbing(at, from..to, before, after)).powi(2))
        .sum()
}

/// Returns the value at position `at` of a climb from `before` to `after`.
fn climbing(at: usize, climb: std::ops::Range<usize>, before: f64, after: f64) -> f64 {
    let share = (at as f64 - climb.start as f64 + 1.0) / (climb.len() + 1) as f64;
    before + (after - before) * share.clamp(0.0, 1.0)
}

/// Returns the sum of squares around the mean.
fn squares(values: &[f64]) -> f64 {
    let center = mean(values).unwrap_or(0.0);
    values.iter().map(|value| (value - center).powi(2)).sum()
}

struct Thinned {
    stride: usize,
    values: Vec<f64>,
}

impl Thinned {
    fn criterion(&self, distance: f64, parameters: usize) -> f64 {
        let n = self.values.len() as f64;
        2.0 * n * (distance / n).max(f64::MIN_POSITIVE).ln() + parameters as f64 * n.ln()
    }

    fn around_levels(&self, changes: &[DetectedChange]) -> f64 {
        let ends = changes
            .iter()
            .map(|change| change.index.div_ceil(self.stride))
            .chain([self.values.len()]);
        let mut from = 0;
        let mut distance = 0.0;
        for to in ends {
            distance += self.values.get(from..to).map_or(0.0, around);
            from = to;
        }
        distance
    }

    fn around_line(&self) -> f64 {
        let x: Vec<f64> = (0..self.values.len()).map(|at| at as f64).collect();
        let Some(slope) = theil_sen(&x, &self.values) else { return f64::INFINITY };
        around(
            &x.iter().zip(&self.values).map(|(x, value)| value - slope * x).collect::<Vec<f64>>(),
        )
    }

    /// Returns the best climb, and the sum of the distances of the points from it.
    fn climb(&self, min_size: usize) -> Option<(f64, BestShape)> {
        let n = self.values.len();
        let shortest = min_size.div_ceil(self.stride).max(2);
        let mut sides = Vec::new();
        for place in (1..PLACES).map(|step| step * n / PLACES).filter(|at| *at >= shortest) {
            let (before, after) = self.values.split_at(place);
            if let (Some(before), Some(after)) = (median(before), median(after)) {
                sides.push((place, before, after));
            }
        }
        let pairs = sides.iter().flat_map(|a| sides.iter().map(move |b| (a, b)));
        let climbs =
            pairs.filter(|(a, b)| b.0 > a.0 + shortest && n - b.0 >= shortest).map(|(a, b)| {
                let (from, to, before, after) = (a.0, b.0, a.1, b.2);
                let distance: f64 = self
                    .values
                    .iter()
                    .enumerate()
                    .map(|(at, value)| (value - climbing(at, from..to, before, after)).abs())
                    .sum();
                let climb = BestShape::Climb {
                    from: from * self.stride,
                    to: to * self.stride,
                    before,
                    after,
                };
                (distance, climb)
            });
        climbs.min_by(|a, b| a.0.total_cmp(&b.0))
    }
}

/// Returns the sum of the distances of `values` from their median.
fn around(values: &[f64]) -> f64 {
    median(values).map_or(0.0, |center| values.iter().map(|value| (value - center).abs()).sum())
}
