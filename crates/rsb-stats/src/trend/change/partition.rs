//! The segmentation of least cost: squares around the levels, and a penalty for each change.

use super::levels::Sums;

/// Positions of one pass of the inner loop; its figures stay in registers.
const LANES: usize = 8;

/// Where the levels of the best segmentation begin, the first one left out. Levels begin at some of `positions` only, which
/// are ascending, from 0 to the number of points, and have at least `min_size` points each.
///
/// Optimal partitioning (Jackson and others, IEEE Signal Processing Letters 12, 2005): exact, in half of the square of the
/// positions. Pruning (Killick and others, 2012) saves nothing where few changes are found, which is the rule here.
pub(super) fn among(sums: &Sums, positions: &[usize], min_size: usize, penalty: f64) -> Vec<usize> {
    let count = positions.len();
    // Of a beginning: what stands before it, less its squares; infinite where no level can begin.
    let mut open = vec![f64::INFINITY; count];
    let mut sum = vec![0.0; count];
    let mut from = vec![0_usize; count];
    let place: Vec<f64> = positions.iter().map(|&position| position as f64).collect();
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
        let Some((least, at)) = minimum(&open[..reach], &sum[..reach], &place[..reach], sum[end], place[end]) else {
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

/// The least of `open − (total − sum)² / (end − place)`, and where; `None` where nothing is finite.
fn minimum(open: &[f64], sum: &[f64], place: &[f64], total: f64, end: f64) -> Option<(f64, usize)> {
    let cost = |open: f64, sum: f64, place: f64| {
        let rise = total - sum;
        open - rise * rise / (end - place)
    };
    let mut least = f64::INFINITY;
    let mut chunk_of_least = 0;
    let chunks = open.chunks(LANES).zip(sum.chunks(LANES)).zip(place.chunks(LANES)).enumerate();
    for (chunk, ((open, sum), place)) in chunks {
        let mut lanes = [f64::INFINITY; LANES];
        for (lane, ((open, sum), place)) in lanes.iter_mut().zip(open.iter().zip(sum).zip(place)) {
            *lane = cost(*open, *sum, *place);
        }
        let lowest = lanes.iter().fold(f64::INFINITY, |a, &b| if b < a { b } else { a });
        if lowest < least {
            least = lowest;
            chunk_of_least = chunk;
        }
    }
    if !least.is_finite() {
        return None;
    }
    let begin = chunk_of_least * LANES;
    let at = (begin..open.len()).find(|&at| cost(open[at], sum[at], place[at]) <= least)?;
    Some((least, at))
}
