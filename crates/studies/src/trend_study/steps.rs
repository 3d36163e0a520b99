//! Steps in noisy series that grow run by run, and after how many points each step is detected.

use std::fmt::Write as _;

use rsb_stats::rng::Rng;

use super::noise::format_share;
use super::trend_of;

const BEFORE: usize = 100;

/// Maximum distance of a detected change from the true position.
const NEAR: usize = 3;

const MOST: usize = 12;

/// A step, and the number of points within which it should be detected.
struct Aim {
    step: f64,
    cv: f64,
    within: usize,
}

const AIMS: [Aim; 4] = [
    Aim { step: 0.10, cv: 0.02, within: 3 },
    Aim { step: 0.10, cv: 0.05, within: 8 },
    Aim { step: 0.05, cv: 0.02, within: 6 },
    Aim { step: -0.10, cv: 0.02, within: 3 },
];

/// Returns the number of points at the new level until the step was first suspected or confirmed,
/// and until it was first confirmed.
fn detection_delays(rng: &mut Rng, aim: &Aim) -> [Option<usize>; 2] {
    let mut values = Vec::with_capacity(BEFORE + MOST);
    for at in 0..BEFORE + MOST {
        let level = if at < BEFORE { 100.0 } else { 100.0 * (1.0 + aim.step) };
        values.push(level * (1.0 + aim.cv * rng.normal()));
    }
    let mut first = [None; 2];
    for after in 1..=MOST {
        let found = trend_of(&values[..BEFORE + after]);
        let confirmed = found.change_points.iter().any(|change| is_near(change.index));
        let suspected = found.suspected.iter().any(|change| is_near(change.index));
        for (slot, is_seen) in first.iter_mut().zip([confirmed || suspected, confirmed]) {
            if slot.is_none() && is_seen {
                *slot = Some(after);
            }
        }
    }
    first
}

fn is_near(index: usize) -> bool {
    index.abs_diff(BEFORE) <= NEAR
}

/// Returns the table of how many steps are detected in time.
pub(super) fn table(count: usize) -> String {
    let mut text = format!(
        "A step after {BEFORE} points, in {count} seeded series of normal noise each; seen means \
         suspected or confirmed, within {NEAR} points of its position.\n\n| step | CV | aim | seen \
         within | confirmed within 8 | confirmed within {MOST} |\n|---|---|---|---|---|---|\n"
    );
    for aim in &AIMS {
        let mut rng = Rng::new(11);
        let all: Vec<[Option<usize>; 2]> =
            (0..count).map(|_| detection_delays(&mut rng, aim)).collect();
        let _ = writeln!(
            text,
            "| {:+.0} % | {:.0} % | {} points | {} | {} | {} |",
            100.0 * aim.step,
            100.0 * aim.cv,
            aim.within,
            share_within(&all, 0, aim.within),
            share_within(&all, 1, 8),
            share_within(&all, 1, MOST)
        );
    }
    text
}

/// Formats the share of series detected within `within` points.
fn share_within(all: &[[Option<usize>; 2]], which: usize, within: usize) -> String {
    let seen = all.iter().filter(|first| first[which].is_some_and(|after| after <= within));
    format_share(seen.count(), all.len())
}
