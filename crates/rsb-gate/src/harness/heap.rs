//! The counter of heap allocations that is preloaded into benchmarks, `preloaded_heap.c`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use super::clock;

/// The library; empty if it could not be compiled.
static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/preloaded_heap.so"));

/// File in which the library stores its counts.
const COUNTS: &str = "heap-counts";

/// Heap allocations of one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HeapCounts {
    /// Allocations that the executable itself requested from the C library.
    pub(super) own: u64,
    /// All allocations.
    pub(super) allocations: u64,
    /// Bytes of all allocations.
    pub(super) bytes: u64,
    /// Spans between two reads of the clock with at least one allocation, by their number.
    spans: BTreeMap<u64, HeapSpan>,
}

/// Heap allocations between two reads of the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct HeapSpan {
    allocations: u64,
    /// Bytes by which the heap grew from the start of the span to its peak.
    peak: u64,
}

impl HeapCounts {
    /// Parses the file that the library wrote.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines().map(|line| {
            let numbers: Result<Vec<u64>, _> = line.split(' ').map(str::parse).collect();
            <[u64; 3]>::try_from(numbers.ok()?).ok()
        });
        let [own, allocations, bytes] = lines.next()??;
        let spans = lines.map(|line| {
            let [number, allocations, peak] = line?;
            Some((number, HeapSpan { allocations, peak }))
        });
        Some(Self { own, allocations, bytes, spans: spans.collect::<Option<_>>()? })
    }

    /// Returns the bytes by which one iteration makes the heap grow at its peak, from a process
    /// with `one` iteration and one with `many`. Spans with more allocations in the latter contain
    /// the iterations; a span that only `many` has is one of its iterations.
    pub(super) fn peak_of_iteration(one: &Self, many: &Self) -> u64 {
        let peaks = many.spans.iter().filter_map(|(number, span)| match one.spans.get(number) {
            Some(known) if known.allocations < span.allocations => Some(known.peak),
            Some(_) => None,
            None => Some(span.peak),
        });
        peaks.max().unwrap_or(0)
    }
}

/// Makes the process of `command` count its allocations, with its files in `home`. Spans need a
/// [clock](clock::preload) that advances in steps. Returns false if the library was not compiled or
/// cannot be written.
pub(super) fn preload(command: &mut Command, home: &Path) -> bool {
    let library = home.join("preloaded_heap.so");
    if LIBRARY.is_empty() || std::fs::write(&library, LIBRARY).is_err() {
        return false;
    }
    clock::add_library(command, library);
    command.env("RSB_HEAP_COUNTS", home.join(COUNTS));
    true
}

/// Returns the counts of the process with its files in `home`; `None` if it stored none.
pub(super) fn counts(home: &Path) -> Option<HeapCounts> {
    HeapCounts::parse(&std::fs::read_to_string(home.join(COUNTS)).ok()?)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::harness::clock::ClockRate;

    /// Allocates as often as its argument says, between two reads of the clock.
    const PROGRAM: &str = r"
#include <stdlib.h>
#include <time.h>

int main(int count, char **words)
{
    struct timespec now;
    void *aligned;

    free(malloc(1000000));
    clock_gettime(CLOCK_MONOTONIC, &now);
    for (int at = 0; at < atoi(words[1]); at++) {
        void *block = realloc(calloc(10, 100), 2000);
        if (posix_memalign(&aligned, 64, 500) != 0)
            return 1;
        free(aligned);
        free(block);
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 0;
}
";

    #[test]
    fn allocations_of_a_process_are_counted() {
        let home = tempfile::tempdir().unwrap();
        let [source, program] = ["program.c", "program"].map(|name| home.path().join(name));
        std::fs::write(&source, PROGRAM).unwrap();
        let compiled = Command::new("cc").arg("-O0").arg(&source).arg("-o").arg(&program).status();
        if LIBRARY.is_empty() || !compiled.is_ok_and(|status| status.success()) {
            return;
        }
        let [one, three] = ["1", "3"].map(|iterations| {
            let mut command = Command::new(&program);
            command.arg(iterations);
            let rate = ClockRate::Steps(Duration::from_nanos(100));
            assert!(clock::preload(&mut command, rate, home.path()));
            assert!(preload(&mut command, home.path()));
            assert!(command.status().unwrap().success());
            counts(home.path()).unwrap()
        });
        assert_eq!((one.own, three.own - one.own), (4, 6));
        assert_eq!((three.allocations - one.allocations, three.bytes - one.bytes), (6, 7000));
        let peak = HeapCounts::peak_of_iteration(&one, &three);
        assert!((2500..2700).contains(&peak), "{peak}");
    }

    #[test]
    fn iterations_run_in_the_spans_that_grow() {
        let one = HeapCounts::parse("40 50 6000\n0 30 5000\n3 2 100\n5 1 700\n").unwrap();
        for (text, peak) in [
            // Set-up in span 0 is the same in both processes.
            ("60 70 9000\n0 30 5000\n3 22 900\n5 1 700\n", 100),
            ("60 70 9000\n0 30 5000\n3 22 900\n5 11 700\n", 700),
            ("60 70 9000\n0 30 5000\n3 2 100\n5 1 700\n7 9 300\n", 300),
            ("40 50 6000\n0 30 5000\n3 2 100\n5 1 700\n", 0),
        ] {
            let many = HeapCounts::parse(text).unwrap();
            assert_eq!(HeapCounts::peak_of_iteration(&one, &many), peak, "{text}");
        }
        for wrong in ["", "1 2\n", "1 2 3\n4 5\n", "1 2 -3\n"] {
            assert_eq!(HeapCounts::parse(wrong), None, "{wrong}");
        }
    }
}
