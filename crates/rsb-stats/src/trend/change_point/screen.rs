//! Candidate change points for series that are too long to try all positions.

use super::segments::Sums;

/// Difference between two neighboring windows, in standard errors of independent noise, from which
/// a position is a candidate.
const WORTH_A_LOOK: f64 = 2.8;

/// Maximum number of candidates.
const MOST: usize = 5000;

/// Returns 0, the end, and the positions where two neighboring windows of some width differ more
/// than at any position nearby (moving sums at dyadic widths; Eichinger and Kirch, Bernoulli 24,
/// 2018).
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
        // Finds the local maxima block by block: the maximum of a block is compared with its
        // neighborhood, which may extend into the blocks next to it.
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
