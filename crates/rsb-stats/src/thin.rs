//! Reduction of a long series to a length that can be drawn, keeping every visible extreme in
//! place.

/// Returns the positions, in ascending order, of at most `most` values (at least 5) that plot like
/// all of `values`: the first, the last, and the minimum, median and maximum of each of equally
/// wide buckets. If there are at most `most` values, all are kept. Values that are not finite are left
/// out.
pub fn thin(values: &[f64], most: usize) -> Vec<usize> {
    if values.len() <= most {
        return (0..values.len()).filter(|&at| is_finite_at(values, at)).collect();
    }
    let buckets = (most.max(5) - 2) / 3;
    let mut kept = Vec::with_capacity(3 * buckets + 2);
    kept.extend((0..values.len()).find(|&at| is_finite_at(values, at)));
    for bucket in 0..buckets {
        let [from, to] = [bucket, bucket + 1].map(|edge| edge * values.len() / buckets);
        kept.extend(quantiles(values, from, to).into_iter().flatten());
    }
    kept.extend((0..values.len()).rfind(|&at| is_finite_at(values, at)));
    kept.sort_unstable();
    kept.dedup();
    kept
}

fn is_finite_at(values: &[f64], at: usize) -> bool {
    values.get(at).is_some_and(|value| value.is_finite())
}

/// Returns the positions of the minimum, the lower median and the maximum of `values[from..to]`, the
/// first of equal ones.
fn quantiles(values: &[f64], from: usize, to: usize) -> Option<[usize; 3]> {
    let bucket = values.get(from..to)?.iter().copied().enumerate();
    let mut sorted: Vec<(usize, f64)> = bucket.filter(|(_, value)| value.is_finite()).collect();
    if sorted.is_empty() {
        return None;
    }
    let middle = (sorted.len() - 1) / 2;
    let order = |a: &(usize, f64), b: &(usize, f64)| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0));
    let (below, median, above) = sorted.select_nth_unstable_by(middle, order);
    let low = below.iter().min_by(|a, b| order(a, b)).unwrap_or(median);
    // Of equal maxima, the first.
    let highest = above.iter().map(|(_, value)| *value).fold(median.1, f64::max);
    let high = above.iter().filter(|(_, value)| *value >= highest).min_by_key(|(at, _)| *at);
    Some([low, median, high.unwrap_or(median)].map(|(at, _)| from + at))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_short_stays_and_what_is_no_number_goes() {
        assert_eq!(thin(&[], 5), Vec::<usize>::new());
        assert_eq!(thin(&[1.0, f64::NAN, 3.0], 5), [0, 2]);
        assert_eq!(thin(&[f64::NAN; 9], 5), Vec::<usize>::new());
        assert_eq!(thin(&[1.0, 2.0, 9.0, 3.0, -3.0, 1.0], 5), [0, 2, 4, 5]);
        // The median is kept as well: here 2.
        assert_eq!(thin(&[1.0, 9.0, 3.0, 2.0, -3.0, 1.0], 5), [0, 1, 4, 5]);
    }

    proptest! {
        #[test]
        fn every_extreme_stays_where_it_is(
            values in prop::collection::vec(prop_oneof![9 => -1e3..1e3, 1 => Just(f64::NAN)], 0..500),
            most in 5_usize..60,
        ) {
            let kept = thin(&values, most);
            prop_assert!(kept.len() <= most && kept.windows(2).all(|pair| pair[0] < pair[1]));
            let finite: Vec<usize> = (0..values.len()).filter(|at| values[*at].is_finite()).collect();
            prop_assert_eq!((kept.first(), kept.last()), (finite.first(), finite.last()));
            // If every bucket keeps its extremes, the whole series does.
            let buckets = if values.len() <= most { 1 } else { (most - 2) / 3 };
            for bucket in 0..buckets {
                let range = bucket * values.len() / buckets..(bucket + 1) * values.len() / buckets;
                let all = finite.iter().filter(|at| range.contains(at)).map(|at| values[*at]);
                let ends = (all.clone().reduce(f64::min), all.reduce(f64::max));
                let left = kept.iter().filter(|at| range.contains(at)).map(|at| values[*at]);
                prop_assert_eq!((left.clone().reduce(f64::min), left.clone().reduce(f64::max)), ends);
                let mut sorted: Vec<f64> =
                    finite.iter().filter(|at| range.contains(at)).map(|at| values[*at]).collect();
                sorted.sort_by(f64::total_cmp);
                let median = sorted.get(sorted.len().saturating_sub(1) / 2);
                prop_assert!(median.is_none_or(|median| left.clone().any(|value| value.total_cmp(median).is_eq())));
            }
        }
    }
}
