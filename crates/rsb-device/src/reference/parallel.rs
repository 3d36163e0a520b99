//! Parallel computation of expensive reference elements, on every CPU that this process may use,
//! while nothing is timed. Whole arrays are filled and compared by one thread: with several threads
//! this was slower, since the chunks of a single thread stay in its second-level cache, and buffers
//! for many chunks must first be cleared.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Largest number of threads. More threads would be limited by memory.
const MOST_THREADS: usize = 16;

/// Returns the number of threads to use.
pub(super) fn threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS)
}

/// Returns the result of `make` for each of `pieces`, in order.
pub(super) fn each<P: Sync, T: Send>(pieces: &[P], make: impl Fn(&P) -> T + Sync) -> Vec<T> {
    let threads = threads().min(pieces.len());
    if threads < 2 {
        return pieces.iter().map(make).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = pieces.get(index) else { return done };
            done.push((index, make(piece)));
        }
    };
    let mut all: Vec<(usize, T)> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads)
            .filter_map(|_| thread::Builder::new().spawn_scoped(scope, work).ok())
            .collect();
        let mut all = work();
        for other in others {
            match other.join() {
                Ok(done) => all.extend(done),
                // Propagates the panic.
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    });
    all.sort_unstable_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_and_each_piece_is_done_once() {
        for count in [0, 1, 2, 3, 1000] {
            let pieces: Vec<u64> = (0..count).collect();
            assert_eq!(
                each(&pieces, |piece| piece * piece),
                pieces.iter().map(|piece| piece * piece).collect::<Vec<_>>()
            );
        }
    }

    #[test]
    #[should_panic(expected = "piece 7")]
    fn the_panic_of_a_piece_is_not_lost() {
        each(&[3; 100].map(|one| one + 4), |piece| assert!(*piece != 7, "piece {piece}"));
    }
}
