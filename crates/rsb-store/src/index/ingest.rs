//! Parallel reading of many run files, consumed in order.

use std::panic::resume_unwind;
use std::thread;

use rayon::prelude::*;

/// Number of items processed in parallel while the previous ones are consumed.
const AT_ONCE: usize = 64;

/// Applies `work` to each of `items` on all CPUs and passes the results to `take`, in order. `take`
/// runs while the next items are processed.
///
/// # Errors
/// The first error of `take`.
pub(super) fn in_order<I: Sync, T: Send, E>(
    items: &[I],
    work: impl Fn(&I) -> T + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let work_on = |chunk: &[I]| -> Vec<T> {
        // For a single item, such as after a run, no thread is started.
        if let [only] = chunk { vec![work(only)] } else { chunk.par_iter().map(&work).collect() }
    };
    let mut chunks = items.chunks(AT_ONCE);
    let mut ready = chunks.next().map(work_on);
    while let Some(done) = ready {
        let work_on = &work_on;
        ready = thread::scope(|scope| {
            let working = chunks.next().map(|next| scope.spawn(move || work_on(next)));
            done.into_iter().try_for_each(&mut take)?;
            Ok(working.map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))))
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_come_in_the_order_of_the_items_and_an_error_ends_it() {
        for count in [0_usize, 1, 2, AT_ONCE, AT_ONCE + 1, 5 * AT_ONCE] {
            let items: Vec<usize> = (0..count).collect();
            let mut taken = Vec::new();
            let done: Result<(), ()> = in_order(
                &items,
                |item| item * 2,
                |double| {
                    taken.push(double);
                    Ok(())
                },
            );
            assert_eq!(done, Ok(()));
            assert_eq!(taken, items.iter().map(|item| item * 2).collect::<Vec<_>>());
        }
        let items: Vec<usize> = (0..10 * AT_ONCE).collect();
        let mut taken = 0;
        let failed = in_order(
            &items,
            |item| *item,
            |item| {
                taken += 1;
                if item == 70 { Err("full") } else { Ok(()) }
            },
        );
        assert_eq!((failed, taken), (Err("full"), 71));
    }
}
