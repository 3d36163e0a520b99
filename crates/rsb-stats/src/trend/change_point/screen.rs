//! Positions that may be a change, for series too long to try them all.

use super::segments::Sums;

/// What windows must differ by to be looked at, in standard errors of independent noise.
const WORTH_A_LOOK: f64 = 2.8;

/// Most positions that are looked at.
const MOST: usize = 5000;

/// Positions where two neighboring windows of some width differ more than at any position nearby,
/// with 0 and the end (moving sums at dyadic widths; Eichinger and Kirch, Bernoulli 24, 2018).
pub(super) fn candidates(sums: &Sums, min_size: usize) -> Vec<usize> {
    let n = sums.len();
    let noise = super::variance_of_steps(sums.values()).max(super::NO_VARIANCE);
    let mut found: Vec<(f64, usize)> = Vec::new();
    let mut width = min_size;
    while 2 * width <= n {
        let scale = (width as f64 / (2.0 * noise)).sqrt();
        let difference =
            |at: usize| (sums.mean(at, at + width) - sums.mean(at - width, at)).abs() * scale;
        let all: Vec<f64> = (width..=n - width).map(difference).collect();
        let near = (width / 2).max(1);
        // The largest of each window of positions, by blocks: the ends of a block are compared with
        // its neighbors'.
        for (block, part) in all.chunks(near).enumerate() {
            let begin = block * near;
            let Some((at, &z)) = part.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)) else {
                continue;
            };
            let at = begin + at;
            let around = &all[at.saturating_sub(near)..(at + near + 1).min(all.len())];
            if z >= WORTH_A_LOOK && around.iter().all(|other| *other <= z) {
                found.push((z, at + width));
            }
        }
        width *= 2;
    }
    if found.len() > MOST {
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        found.truncate(MOST);
    }
    let mut positions: Vec<usize> = found.into_iter().map(|(_, at)| at).chain([0, n]).collect();
    positions.sort_unstable();
    positions.dedup();
    positions
}
