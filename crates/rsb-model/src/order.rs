//! Sorting with little code: the library's sort is compiled again for every type and every order, 6 kB each.

use std::cmp::Ordering;

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

/// The places of `count` items in the order of `compare`. The one sort that all of them share.
#[inline(never)]
fn places(count: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| compare(a, b));
    order
}

#[cfg(test)]
mod tests {
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
            prop_assert_eq!(ours, theirs);
        }
    }
}
