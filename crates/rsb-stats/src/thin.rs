//! Reduction of long series to a drawable length that keeps every visible extreme in place.

/// Returns the positions, in ascending order, of at most `most` values (at least 4) that plot like
/// all of `values`: the first, the last, and the minimum and maximum of each of equally wide
/// buckets. If there are at most `most` values, all are kept. Values that are not finite are left
/// out.
pub fn thin(values: &[f64], most: usize) -> Vec<usize> {
    if values.len() <= most {
        return (0..values.len()).filter(|&at| is_finite_at(values, at)).collect();
    }
    let buckets = (most.max(4) - 2) / 2;
    let mut kept = Vec::with_capacity(2 * buckets + 2);
    kept.extend((0..values.len()).find(|&at| is_finite_at(values, at)));
    for bucket in 0..buckets {
        let [from, to] = [bucket, bucket + 1].map(|edge| edge * values.len() / buckets);
        kept.extend(extremes(values, from, to).into_iter().flatten());
    }
    kept.extend((0..values.len()).rfind(|&at| is_finite_at(values, at)));
    kept.sort_unstable();
    kept.dedup();
    kept
}

fn is_finite_at(values: &[f64], at: usize) -> bool {
    values.get(at).is_some_and(|value| value.is_finite())
}

/// Returns the positions of the minimum and the maximum of `values[from..to]`, the first of equal
/// ones.
fn extremes(values: &[f64], from: usize, to: usize) -> Option<[usize; 2]> {
    let bucket =
        values.get(from..to)?.iter().copied().enumerate().filter(|(_, value)| value.is_finite());
    let mut found: Option<[(usize, f64); 2]> = None;
    for (at, value) in bucket {
        let [low, high] = found.get_or_insert([(at, value); 2]);
        if value < low.1 {
            *low = (at, value);
        }
        if value > high.1 {
            *high = (at, value);
        }
    }
    found.map(|ends| ends.map(|(at, _)| from + at))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_short_stays_and_what_is_no_number_goes() {
        assert_eq!(thin(&[], 4), Vec::<usize>::new());
        assert_eq!(thin(&[1.0, f64::NAN, 3.0], 4), [0, 2]);
        assert_eq!(thin(&[f64::NAN; 9], 4), Vec::<usize>::new());
        assert_eq!(thin(&[1.0, 1.0, 9.0, 1.0, -3.0, 1.0], 4), [0, 2, 4, 5]);
    }

    proptest! {
        #[test]
        fn every_extreme_stays_where_it_is(
            values in prop::collection::vec(prop_oneof![9 => -1e3..1e3, 1 => Just(f64::NAN)], 0..500),
            most in 4_usize..60,
        ) {
            let kept = thin(&values, most);
            prop_assert!(kept.len() <= most && kept.windows(2).all(|pair| pair[0] < pair[1]));
            let finite: Vec<usize> = (0..values.len()).filter(|at| values[*at].is_finite()).collect();
            prop_assert_eq!((kept.first(), kept.last()), (finite.first(), finite.last()));
            // Holds for each bucket, and therefore for the whole.
            let buckets = if values.len() <= most { 1 } else { (most - 2) / 2 };
            for bucket in 0..buckets {
                let range = bucket * values.len() / buckets..(bucket + 1) * values.len() / buckets;
                let all = finite.iter().filter(|at| range.contains(at)).map(|at| values[*at]);
                let ends = (all.clone().reduce(f64::min), all.reduce(f64::max));
                let left = kept.iter().filter(|at| range.contains(at)).map(|at| values[*at]);
                prop_assert_eq!((left.clone().reduce(f64::min), left.reduce(f64::max)), ends);
            }
        }
    }
}
