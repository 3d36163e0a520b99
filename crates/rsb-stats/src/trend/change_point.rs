//! Points where the level of a series changed: binary segmentation on ranks, each split proved by permutation.
//!
//! Ranks make one wild point count as one point. A level must hold for five points, so a spike is never a level.
//! The chance of a split is that of the best split among all positions in shuffled points, so that looking everywhere
//! is paid for.

use rsb_model::Timestamp;
use rsb_model::record::ChangePoint;

use super::line::Line;
use super::{days_between, percent_change};
use crate::estimate::median;
use crate::hypothesis::ranks;
use crate::rng::Rng;

/// Fewest points of a level.
const MIN_SEGMENT: usize = 5;

/// How often points are shuffled to prove a split.
const PERMUTATIONS: usize = 499;

/// Chance below which a split is a change.
const SIGNIFICANT: f64 = 0.01;

/// Every change of level in `points`, which are in order of time. None where `line` tells the series better than
/// levels do: a steady climb is a trend, not a staircase.
pub(super) fn find(points: &[(Timestamp, f64)], line: Option<Line>) -> Vec<ChangePoint> {
    let values: Vec<f64> = points.iter().map(|&(_, value)| value).collect();
    let mut splits = Vec::new();
    let mut pending = vec![(0, values.len())];
    while let Some((from, to)) = pending.pop() {
        let Some(segment) = values.get(from..to) else { continue };
        if let Some((length, p_value)) = split(segment) {
            splits.push((from + length, p_value));
            pending.extend([(from, from + length), (from + length, to)]);
        }
    }
    splits.sort_by_key(|&(index, _)| index);
    if splits.is_empty() || line.is_some_and(|line| line_is_better(line, points, &values, &splits)) {
        return Vec::new();
    }
    changes(points, &values, &splits)
}

/// The changes at `splits`, each with the medians of the levels on both sides.
fn changes(points: &[(Timestamp, f64)], values: &[f64], splits: &[(usize, f64)]) -> Vec<ChangePoint> {
    let levels: Vec<Option<f64>> = segments(values, splits).map(median).collect();
    let sides = levels.iter().zip(levels.iter().skip(1));
    splits
        .iter()
        .zip(sides)
        .filter_map(|(&(index, p_value), (&before, &after))| {
            let (before, after) = (before?, after?);
            let change_percent = percent_change(before, after).filter(|percent| *percent != 0.0)?;
            let timestamp = points.get(index)?.0;
            Some(ChangePoint { index, timestamp, before, after, change_percent, p_value })
        })
        .collect()
}

/// `values` cut at `splits`.
fn segments<'a>(values: &'a [f64], splits: &[(usize, f64)]) -> impl Iterator<Item = &'a [f64]> {
    let starts = std::iter::once(0).chain(splits.iter().map(|&(index, _)| index));
    let ends: Vec<usize> = splits.iter().map(|&(index, _)| index).chain([values.len()]).collect();
    starts.collect::<Vec<_>>().into_iter().zip(ends).filter_map(|(from, to)| values.get(from..to))
}

/// Length of the first part and chance of the best split of `values`, when it is a change.
fn split(values: &[f64]) -> Option<(usize, f64)> {
    if values.len() < 2 * MIN_SEGMENT {
        return None;
    }
    let (mut ranks, _) = ranks(values);
    let (length, distance) = farthest(&ranks)?;
    let mut rng = Rng::new(values.len() as u64);
    let allowed = (SIGNIFICANT * (PERMUTATIONS + 1) as f64) as usize;
    let mut as_far = 0;
    for _ in 0..PERMUTATIONS {
        rng.shuffle(&mut ranks);
        as_far += usize::from(farthest(&ranks).is_some_and(|(_, shuffled)| shuffled >= distance));
        if as_far >= allowed {
            return None;
        }
    }
    Some((length, (as_far + 1) as f64 / (PERMUTATIONS + 1) as f64))
}

/// The split whose parts differ most in rank, as the length of its first part, with the Mann-Whitney z of it.
fn farthest(ranks: &[f64]) -> Option<(usize, f64)> {
    let n = ranks.len() as f64;
    let mut sum = 0.0;
    let mut best: Option<(usize, f64)> = None;
    for (rank, length) in ranks.iter().zip(1_usize..) {
        sum += rank;
        if length < MIN_SEGMENT || ranks.len() - length < MIN_SEGMENT {
            continue;
        }
        let k = length as f64;
        let z = (sum - k * (n + 1.0) / 2.0).abs() / (k * (n - k) * (n + 1.0) / 12.0).sqrt();
        if best.is_none_or(|(_, farthest)| z > farthest) {
            best = Some((length, z));
        }
    }
    best
}

/// Whether the line describes the points better than the levels between `splits`, by the Bayesian information
/// criterion on absolute distances, which a spike does not rule.
fn line_is_better(line: Line, points: &[(Timestamp, f64)], values: &[f64], splits: &[(usize, f64)]) -> bool {
    let Some(&(begin, _)) = points.first() else { return false };
    let n = values.len() as f64;
    let from_line: f64 = points.iter().map(|&(time, value)| (value - line.at(days_between(begin, time))).abs()).sum();
    let around = |level: &[f64]| median(level).map_or(0.0, |center| level.iter().map(|v| (v - center).abs()).sum());
    let from_levels: f64 = segments(values, splits).map(around).sum();
    let criterion = |distance: f64, parameters: usize| 2.0 * n * (distance / n).ln() + parameters as f64 * n.ln();
    criterion(from_line, 2) <= criterion(from_levels, 2 * splits.len() + 1)
}
