//! Agreement of change points with those marked by several people: the two measures of van den Burg
//! and Williams ("An Evaluation of Change Point Detection Algorithms", 2020), implemented from
//! their definitions.

use std::collections::BTreeSet;

/// Maximum distance of a found point from a marked point that it matches.
const MARGIN: usize = 5;

/// Returns how well the `found` segments cover those of each annotator (best overlap, weighted by
/// length), averaged over the annotators. `n` is the length of the series.
pub(super) fn covering(annotations: &[Vec<usize>], found: &[usize], n: usize) -> f64 {
    let ours = segments(found, n);
    let mut total = 0.0;
    for marked in annotations {
        let mut covered = 0.0;
        for (from, to) in segments(marked, n) {
            let overlaps = ours.iter().map(|&(begin, end)| {
                let common = to.min(end).saturating_sub(from.max(begin));
                common as f64 / ((to - from) + (end - begin) - common) as f64
            });
            covered += (to - from) as f64 * overlaps.fold(0.0, f64::max);
        }
        total += covered / n as f64;
    }
    total / annotations.len() as f64
}

/// Returns the harmonic mean of precision, against the points of all annotators together, and
/// recall, averaged over the annotators. Point 0 is added to every list.
pub(super) fn f1(annotations: &[Vec<usize>], found: &[usize]) -> f64 {
    let with_first =
        |points: &[usize]| points.iter().copied().chain([0]).collect::<BTreeSet<usize>>();
    let ours = with_first(found);
    let marked: Vec<BTreeSet<usize>> =
        annotations.iter().map(|points| with_first(points)).collect();
    let union: BTreeSet<usize> = marked.iter().flatten().copied().collect();
    let precision = hits(&union, &ours) as f64 / ours.len() as f64;
    let recalls = marked.iter().map(|points| hits(points, &ours) as f64 / points.len() as f64);
    let recall = recalls.sum::<f64>() / marked.len() as f64;
    2.0 * precision * recall / (precision + recall)
}

/// Returns how many of `marked` have a point of `found` within the margin. Each takes the nearest
/// one, and each found point is used once.
fn hits(marked: &BTreeSet<usize>, found: &BTreeSet<usize>) -> usize {
    let mut free = found.clone();
    let mut hits = 0;
    for mark in marked {
        let near = free.iter().copied().filter(|point| point.abs_diff(*mark) <= MARGIN);
        if let Some(point) = near.min_by_key(|point| (point.abs_diff(*mark), *point)) {
            free.remove(&point);
            hits += 1;
        }
    }
    hits
}

fn segments(points: &[usize], n: usize) -> Vec<(usize, usize)> {
    let inner: BTreeSet<usize> =
        points.iter().copied().filter(|point| (1..n).contains(point)).collect();
    let ends: Vec<usize> = std::iter::once(0).chain(inner).chain([n]).collect();
    ends.windows(2).map(|pair| (pair[0], pair[1])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reproduces the examples in the documentation of `TCPDBench`'s `metrics.py`.
    #[test]
    fn measures_are_those_of_the_benchmark() {
        let near =
            |ours: f64, theirs: f64| assert!((ours - theirs).abs() < 1e-12, "{ours} {theirs}");
        near(f1(&[vec![10, 20], vec![11, 20], vec![10], vec![0, 5]], &[10, 20]), 1.0);
        near(f1(&[vec![], vec![10], vec![50]], &[10]), 0.909_090_909_090_909_1);
        near(f1(&[vec![], vec![10], vec![50]], &[]), 0.8);
        near(
            covering(&[vec![10, 20], vec![10], vec![0, 5]], &[10, 20], 45),
            0.796_296_296_296_296_3,
        );
        near(covering(&[vec![], vec![10], vec![40]], &[10], 45), 0.795_414_462_081_128_6);
        near(covering(&[vec![], vec![10], vec![40]], &[], 45), 0.818_930_041_152_263_4);
    }
}
