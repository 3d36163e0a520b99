//! What tells a series best: levels, a line, or a climb between two levels.
//!
//! Told by absolute distances, which a spike does not rule, and the Bayesian information criterion for what each has to
//! say: a line two figures, a climb two levels and two places, levels themselves and the places between.

use super::change::DetectedChange;
use super::monotone::theil_sen;
use crate::estimate::median;

/// Points that are looked at; of longer series every so many-th.
const POINTS: usize = 240;

/// Places where a climb may begin or end.
const PLACES: usize = 24;

/// What tells a series best.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum BestTold {
    Levels,
    Line,
    Climb { from: usize, to: usize, before: f64, after: f64 },
}

/// What tells `values` best, and whether levels tell them better than a line, where `changes` were found in them. A climb
/// takes more than `min_size` points: what takes fewer is a step.
pub(super) fn best_told(values: &[f64], changes: &[DetectedChange], min_size: usize) -> (BestTold, bool) {
    let stride = values.len().div_ceil(POINTS).max(1);
    let thin = Thinned { stride, values: values.iter().copied().step_by(stride).collect() };
    let by_levels = thin.criterion(thin.around_levels(changes), 2 * changes.len() + 1);
    let by_line = thin.criterion(thin.around_line(), 2);
    let climb = thin.climb(min_size);
    let by_climb = climb.map_or(f64::INFINITY, |(distance, _)| thin.criterion(distance, 4));
    let best = match climb {
        _ if by_line <= by_levels && by_line <= by_climb => BestTold::Line,
        Some((_, climb)) if by_climb < by_levels => climb,
        _ => BestTold::Levels,
    };
    (best, by_levels < by_line)
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
        let ends = changes.iter().map(|change| change.index.div_ceil(self.stride)).chain([self.values.len()]);
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
        around(&x.iter().zip(&self.values).map(|(x, value)| value - slope * x).collect::<Vec<f64>>())
    }

    /// The best climb, and how far the points lie from it.
    fn climb(&self, min_size: usize) -> Option<(f64, BestTold)> {
        let n = self.values.len();
        let shortest = min_size.div_ceil(self.stride).max(2);
        let places: Vec<usize> = (1..PLACES).map(|step| step * n / PLACES).filter(|at| *at >= shortest).collect();
        let side = |place: &usize| {
            let (before, after) = self.values.split_at(*place);
            Some((*place, median(before)?, median(after)?))
        };
        let sides: Vec<(usize, f64, f64)> = places.iter().filter_map(side).collect();
        let pairs = sides.iter().flat_map(|a| sides.iter().map(move |b| (a, b)));
        let climbs = pairs.filter(|(a, b)| b.0 > a.0 + shortest && n - b.0 >= shortest).map(|(a, b)| {
            let (from, to, before, after) = (a.0, b.0, a.1, b.2);
            let expected = |at: usize| {
                let share = (at as f64 - from as f64 + 1.0) / (to - from + 1) as f64;
                before + (after - before) * share.clamp(0.0, 1.0)
            };
            let distance: f64 = self.values.iter().enumerate().map(|(at, value)| (value - expected(at)).abs()).sum();
            let told = BestTold::Climb { from: from * self.stride, to: to * self.stride, before, after };
            (distance, told)
        });
        climbs.min_by(|a, b| a.0.total_cmp(&b.0))
    }
}

/// How far `values` lie from their median, all together.
fn around(values: &[f64]) -> f64 {
    median(values).map_or(0.0, |center| values.iter().map(|value| (value - center).abs()).sum())
}
