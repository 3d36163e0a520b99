//! Sorting with little code: the library's sort is compiled again for every type and every order, 6 kB each; so is `collect` into
//! a map or a set, which sorts first.

use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Sorts `items` by `compare`; what is equal keeps its order.
pub fn by<T>(items: &mut Vec<T>, mut compare: impl FnMut(&T, &T) -> Ordering) {
    let order = places(items.len(), &mut |a, b| match (items.get(a), items.get(b)) {
        (Some(a), Some(b)) => compare(a, b),
        _ => Ordering::Equal,
    });
    let mut taken: Vec<Option<T>> = items.drain(..).map(Some).collect();
    items.extend(order.into_iter().filter_map(|place| taken.get_mut(place)?.take()));
}

/// Sorts `items` by what `key` says of each; what is equal keeps its order.
pub fn by_key<T, K: Ord>(items: &mut Vec<T>, mut key: impl FnMut(&T) -> K) {
    by(items, |a, b| key(a).cmp(&key(b)));
}

/// Sorts `values`, and NaN by its sign at either end.
#[inline(never)]
pub fn numbers(values: &mut [f64]) {
    values.sort_unstable_by(f64::total_cmp);
}

/// Each of `items` once, in order; of equal ones the first.
pub fn distinct<T: Ord>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut all: Vec<T> = items.into_iter().collect();
    by(&mut all, Ord::cmp);
    all.dedup();
    all
}

/// A map of `pairs`; of those with equal keys the last.
pub fn map<K: Ord, V>(pairs: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut map = BTreeMap::new();
    for (key, value) in pairs {
        map.insert(key, value);
    }
    map
}

/// The places of `count` items in the order of `compare`. The one sort that all of them share.
#[inline(never)]
fn places(count: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| compare(a, b));
    order
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_sorts_as_the_library_does(items in prop::collection::vec((0_u8..5, any::<u8>()), 0..60)) {
            let (mut ours, mut theirs) = (items.clone(), items);
            super::by(&mut ours, |a, b| b.0.cmp(&a.0));
            theirs.sort_by_key(|item| std::cmp::Reverse(item.0));
            prop_assert_eq!(&ours, &theirs);
            super::by_key(&mut ours, |item| item.1);
            theirs.sort_by_key(|item| item.1);
            prop_assert_eq!(&ours, &theirs);
            let set: BTreeSet<_> = theirs.iter().copied().collect();
            prop_assert_eq!(super::distinct(ours.iter().copied()), set.into_iter().collect::<Vec<_>>());
            prop_assert_eq!(super::map(ours), theirs.into_iter().collect::<BTreeMap<_, _>>());
        }
    }
}
