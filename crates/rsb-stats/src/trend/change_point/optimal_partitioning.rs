//! Optimal partitioning: the segmentation that minimizes the sum of squares around the levels plus
//! a penalty for each change.

use super::segments::Sums;

/// Number of positions in one pass of the inner loop, whose values stay in registers.
const LANES: usize = 8;

/// Returns the starts of the levels of the best segmentation, except the first. Levels begin only
/// at `positions`, which are ascending, from 0 to the number of points, and have at least
/// `min_size` points each.
///
/// Optimal partitioning (Jackson and others, IEEE Signal Processing Letters 12, 2005): exact; for n
/// positions it takes n²/2 steps. Pruning (Killick and others, 2012) has no benefit if few changes
/// are found, which is the usual case here.
pub(super) fn segment_starts(
    sums: &Sums,
    positions: &[usize],
    min_size: usize,
    penalty: f64,
) -> Vec<usize> {
    let count = positions.len();
    // Minimum cost of the points before each position, without the constant sum of their squares;
    // infinite if no level can begin there.
    let mut open = vec![f64::INFINITY; count];
    let mut sum = vec![0.0; count];
    let mut from = vec![0_usize; count];
    // If every position is a candidate, all levels share one list of inverse lengths, the longest
    // first.
    let n = sums.len();
    let inverses: Vec<f64> = (0..n).map(|at| 1.0 / (n - at) as f64).collect();
    let is_every = count == n + 1;
    let mut some = Vec::new();
    for (slot, &position) in sum.iter_mut().zip(positions) {
        *slot = sums.sum(position);
    }
    if let Some(first) = open.first_mut() {
        *first = 0.0;
    }
    let mut reach = 0;
    for end in 1..count {
        let position = positions[end];
        while reach < end && positions[reach] + min_size <= position {
            reach += 1;
        }
        let inverse = if is_every {
            &inverses[n - end..]
        } else {
            some.clear();
            some.extend(positions[..reach].iter().map(|&begin| inverses[n - (position - begin)]));
            &some
        };
        let Some((least, at)) = minimum(&open[..reach], &sum[..reach], inverse, sum[end]) else {
            continue;
        };
        from[end] = at;
        open[end] = least + penalty;
    }
    let mut starts = Vec::new();
    let mut at = count - 1;
    while at > 0 {
        at = from[at];
        if at > 0 {
            starts.push(positions[at]);
        }
    }
    starts.reverse();
    starts
}

/// Returns the minimum of `open − (total − sum)² · inverse`, and its position; `None` if no value
/// is finite.
fn minimum(open: &[f64], sum: &[f64], inverse: &[f64], total: f64) -> Option<(f64, usize)> {
    let cost = |open: f64, sum: f64, inverse: f64| {
        let rise = total - sum;
        open - rise * rise * inverse
    };
    // Each lane keeps its own minimum and the number of its chunk. The number is a float, so that
    // both are selected with the same mask.
    let (mut least, mut chunk_of) = ([f64::INFINITY; LANES], [0.0; LANES]);
    let mut chunk = 0.0;
    let (opens, rest) = open.as_chunks::<LANES>();
    let (sums, _) = sum.as_chunks::<LANES>();
    let (inverses, _) = inverse.as_chunks::<LANES>();
    for ((open, sum), inverse) in opens.iter().zip(sums).zip(inverses) {
        for lane in 0..LANES {
            let cost = cost(open[lane], sum[lane], inverse[lane]);
            let is_less = cost < least[lane];
            least[lane] = if is_less { cost } else { least[lane] };
            chunk_of[lane] = if is_less { chunk } else { chunk_of[lane] };
        }
        chunk += 1.0;
    }
    let whole = (0..LANES).map(|lane| (least[lane], chunk_of[lane] as usize * LANES + lane));
    let from = open.len() - rest.len();
    let others = (from..open.len()).map(|at| (cost(open[at], sum[at], inverse[at]), at));
    whole.chain(others).filter(|(cost, _)| cost.is_finite()).min_by(|a, b| a.0.total_cmp(&b.0))
}
