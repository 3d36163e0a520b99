//! Steps in the middle of short series, and how many are confirmed.

use std::fmt::Write as _;

use rsb_stats::rng::Rng;

use super::noise::format_share;
use super::trend_of;

const SIDE: usize = 20;

/// Maximum distance of a detected change from the true position.
const NEAR: usize = 3;

/// Points on each side of a change in a two-level series.
const TWO_LEVEL_SIDE: usize = 50;

/// A change in a series that alternates between two levels.
struct TwoLevelChange {
    name: &'static str,
    /// Share of runs at the upper level, before and after the change.
    shares: [f64; 2],
    /// Factor of both levels after the change.
    factor: f64,
}

const TWO_LEVEL_CHANGES: [TwoLevelChange; 4] = [
    TwoLevelChange { name: "share 0.1 to 0.6", shares: [0.1, 0.6], factor: 1.0 },
    TwoLevelChange { name: "share 0.3 to 0.7", shares: [0.3, 0.7], factor: 1.0 },
    TwoLevelChange { name: "share 0.3, both levels +5 %", shares: [0.3, 0.3], factor: 1.05 },
    TwoLevelChange { name: "share 0.3, both levels +10 %", shares: [0.3, 0.3], factor: 1.1 },
];

/// Returns whether `values` have a confirmed change anywhere, and whether they have one within
/// `near` points of the middle.
fn detects_change(values: &[f64], near: usize) -> [bool; 2] {
    let changes = trend_of(values).change_points;
    let is_near = changes.iter().any(|change| change.index.abs_diff(values.len() / 2) <= near);
    [!changes.is_empty(), is_near]
}

/// Returns the table of how many steps of each size are confirmed at each noise level.
pub(super) fn table(count: usize) -> String {
    let mut text = format!(
        "A step after {SIDE} points with {SIDE} after it, in {count} seeded series of normal noise \
         each.\n\n| step | CV | confirmed | confirmed within {NEAR} points of its position \
         |\n|---|---|---|---|\n"
    );
    let grid = [1.0, 3.0, 8.0].into_iter().flat_map(|cv| [5.0, 10.0, 20.0].map(|step| (step, cv)));
    for (step, cv) in grid.chain([(10.0, 2.0)]) {
        let mut rng = Rng::new(17);
        let mut all = Vec::with_capacity(count);
        for _ in 0..count {
            let mut values = Vec::with_capacity(2 * SIDE);
            for at in 0..2 * SIDE {
                let level = if at < SIDE { 100.0 } else { 100.0 + step };
                values.push(level * (1.0 + cv / 100.0 * rng.normal()));
            }
            all.push(detects_change(&values, NEAR));
        }
        let [confirmed, placed] = [0, 1].map(|which| share_of(&all, which));
        let _ = writeln!(text, "| +{step} % | {cv} % | {confirmed} | {placed} |");
    }
    let _ = writeln!(
        text,
        "\nA change of a series that alternates between two levels (1 and 1.3, CV 1 %), after \
         {TWO_LEVEL_SIDE} points with {TWO_LEVEL_SIDE} after it.\n\n| change | confirmed | \
         confirmed within 5 points of its position |\n|---|---|---|"
    );
    for change in &TWO_LEVEL_CHANGES {
        let mut rng = Rng::new(19);
        let mut all = Vec::with_capacity(count);
        for _ in 0..count {
            let mut values = Vec::with_capacity(2 * TWO_LEVEL_SIDE);
            for at in 0..2 * TWO_LEVEL_SIDE {
                let is_after = at >= TWO_LEVEL_SIDE;
                let share = change.shares[usize::from(is_after)];
                let level = if rng.uniform() < share { 130.0 } else { 100.0 };
                let factor = if is_after { change.factor } else { 1.0 };
                values.push(level * factor * (1.0 + 0.01 * rng.normal()));
            }
            all.push(detects_change(&values, 5));
        }
        let [confirmed, placed] = [0, 1].map(|which| share_of(&all, which));
        let _ = writeln!(text, "| {} | {confirmed} | {placed} |", change.name);
    }
    text
}

/// Formats the share of series whose flag at index `which` is set.
fn share_of(all: &[[bool; 2]], which: usize) -> String {
    format_share(all.iter().filter(|one| one[which]).count(), all.len())
}
