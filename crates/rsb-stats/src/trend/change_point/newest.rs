//! Test of the newest points against the level before them, if they are too few to confirm a new
//! level.
//!
//! A few points are judged by the rule of [`crate::history`]: by rank among the points before, and
//! beyond the outermost of these by an exponential tail. In a series with occasional outliers, the
//! next outlier therefore raises no suspicion. If there are enough points for a level but it is not
//! confirmed yet, their mean is judged.

use super::DetectedChange;
use super::segments::Sums;
use crate::distribution::t_above;
use crate::estimate::{mean, median, quantile, std_dev};
use crate::history::edge::{Edge, Looks};
use crate::history::{LEVEL, Rule};
use crate::trend::settings::TrendSettings;

/// Maximum number of preceding points that the newest are compared with.
const BEFORE: usize = 50;

/// Returns the newest points that least fit the level since `level_from` (`tame` is `values`
/// without outliers), if their p-value is below the limit. The p-value is corrected for both
/// directions and for the number of tested lengths.
pub(super) fn find_suspected_change(
    values: &[f64],
    tame: &[f64],
    level_from: usize,
    correlation: f64,
    settings: &TrendSettings,
) -> Option<DetectedChange> {
    let (level, tame_level) = (values.get(level_from..)?, tame.get(level_from..)?);
    // A small change needs more than the minimum number of points to be confirmed, so up to twice
    // as many are tested.
    let looks = 2 * settings.min_size.max(2) - 1;
    let fewest = settings.min_data_points.max(4);
    // The correlation is estimated without the newest points: an unconfirmed change would increase
    // it.
    let quiet = tame_level.len().saturating_sub(looks).max(fewest).min(tame_level.len());
    let alike = correlation.min(correlation_of(&tame_level[..quiet]));
    let of_last = |points: usize| {
        let middle = level.len().checked_sub(points).filter(|before| before + 1 >= fewest)?;
        let p_value = if points < settings.min_size {
            let (before, last) = (&level[middle.saturating_sub(BEFORE)..middle], &level[middle..]);
            let plain = by_rank(before, last, alike)?;
            // Skewed noise has an exponential tail on a logarithmic scale.
            match (logarithms(before), logarithms(last)) {
                (Some(before), Some(last)) => plain.max(by_rank(&before, &last, alike)?),
                _ => plain,
            }
        } else {
            by_mean(&tame_level[..middle], &tame_level[middle..], alike)
        };
        Some((points, p_value))
    };
    let (points, p_value) = (1..=looks).filter_map(of_last).min_by(|a, b| a.1.total_cmp(&b.1))?;
    let p_value = (p_value * 2.0 * looks as f64).min(1.0);
    if p_value > settings.change_chance() {
        return None;
    }
    let (before, last) = level.split_at_checked(level.len() - points)?;
    let strongest = DetectedChange {
        index: 0,
        before: median(before)?,
        after: median(last)?,
        points,
        p_value,
        part: None,
    };
    // The most significant points may begin with some that still belong to the previous level.
    let points =
        values.len() - super::first_new(values, values.len() - strongest.points, &strongest);
    Some(DetectedChange { index: values.len() - points, points, ..strongest })
}

/// Returns the autocorrelation of neighbors, corrected as in [`super::correlation`].
fn correlation_of(values: &[f64]) -> f64 {
    let center = mean(values).unwrap_or(0.0);
    let rest: Vec<f64> = values.iter().map(|value| value - center).collect();
    super::correlation(&Sums::new(rest), &[])
}

/// Returns the one-sided p-value of the mean of `last` after the points `before`.
fn by_mean(before: &[f64], last: &[f64], correlation: f64) -> f64 {
    let (Some(level), Some(now), Some(spread)) = (mean(before), mean(last), std_dev(before)) else {
        return 1.0;
    };
    let inflation = (1.0 + correlation) / (1.0 - correlation);
    let error = spread * (inflation * (1.0 / before.len() as f64 + 1.0 / last.len() as f64)).sqrt();
    if error > 1e-12 * level.abs() {
        t_above((now - level).abs() / error, before.len() as f64 - 1.0)
    } else {
        1.0
    }
}

/// Returns the logarithms of `values`; `None` if some are not positive.
fn logarithms(values: &[f64]) -> Option<Vec<f64>> {
    values.iter().map(|value| Some(value.ln()).filter(|_| *value > 0.0)).collect()
}

/// Returns the one-sided p-value of all points of `last` together, by rank.
fn by_rank(before: &[f64], last: &[f64], correlation: f64) -> Option<f64> {
    let (level, now) = (median(before)?, median(last)?);
    let sign = if now >= level { 1.0 } else { -1.0 };
    let turned =
        |values: &[f64]| values.iter().map(|value| sign * (value - level)).collect::<Vec<f64>>();
    let (seen, mut now_seen) = (turned(before), turned(last));
    now_seen.sort_unstable_by(|a, b| b.total_cmp(a));
    // Value that more than half of the points reach.
    let reached = *now_seen.get(last.len() / 2)?;
    if reached <= 0.0 {
        return None;
    }
    // Correlated neighbors count as fewer points.
    let looks =
        (last.len() as f64 * (1.0 - correlation) / (1.0 + correlation)).round().max(1.0) as usize;
    let distances: Vec<f64> = seen.iter().map(|value| value.abs()).collect();
    let noise = quantile(&distances, Rule::DEFAULT.share)?;
    let ranked =
        Edge::new(seen.clone(), Rule::DEFAULT.slower * noise).chance(Looks::new(looks), reached);
    let few = if before.len() < LEVEL { by_student(&seen, reached) } else { 0.0 };
    Some(if ranked.is_nan() { 1.0 } else { ranked.max(few) })
}

/// Returns the probability that the next point is at `reached` or beyond, by Student's t, because
/// the tail cannot be estimated from few points.
fn by_student(seen: &[f64], reached: f64) -> f64 {
    let n = seen.len() as f64;
    let (Some(center), Some(spread)) = (mean(seen), std_dev(seen)) else { return 1.0 };
    let error = spread * (1.0 + 1.0 / n).sqrt();
    if error > 0.0 { t_above((reached - center) / error, n - 1.0) } else { 0.0 }
}
