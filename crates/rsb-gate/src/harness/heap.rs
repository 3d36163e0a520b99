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
    /// Number of spans between two reads of the clock.
    span_count: u64,
    /// Spans with at least one allocation, by their number.
    spans: BTreeMap<u64, HeapSpan>,
}

/// Heap allocations between two reads of the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct HeapSpan {
    allocations: u64,
    /// Bytes in use at the start of the span.
    start: u64,
    /// Highest number of bytes in use during the span.
    peak: u64,
}

impl HeapCounts {
    /// Parses the file that the library wrote.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines().map(|line| {
            let numbers: Result<Vec<u64>, _> = line.split(' ').map(str::parse).collect();
            <[u64; 4]>::try_from(numbers.ok()?).ok()
        });
        let [own, allocations, bytes, span_count] = lines.next()??;
        if span_count == 0 {
            return None;
        }
        let spans = lines.map(|line| {
            let [number, allocations, start, peak] = line?;
            (number < span_count).then_some((number, HeapSpan { allocations, start, peak }))
        });
        Some(Self { own, allocations, bytes, span_count, spans: spans.collect::<Option<_>>()? })
    }

    /// Returns the bytes by which iterations make the heap grow at its peak, given a process with
    /// `one` iteration and one with `many`. Both begin and end with the same spans, before and
    /// after the iterations. Between these, `many` has the spans of the additional iterations, with
    /// the inputs that the harness prepares for them.
    pub(super) fn peak_of_iterations(one: &Self, many: &Self) -> u64 {
        let allocations = |counts: &Self, number: u64| {
            counts.spans.get(&number).map_or(0, |span| span.allocations)
        };
        let is_equal = |in_one, in_many| allocations(one, in_one) == allocations(many, in_many);
        let [last_of_one, last_of_many] = [one, many].map(|counts| counts.span_count - 1);
        let shorter = one.span_count.min(many.span_count);
        let before = (0..shorter).take_while(|&at| is_equal(at, at)).count() as u64;
        let after = (0..shorter - before)
            .take_while(|&at| is_equal(last_of_one - at, last_of_many - at))
            .count() as u64;
        let mut spans = many.spans.range(before..many.span_count - after).map(|(_, span)| span);
        let Some(start) = spans.next() else { return 0 };
        let peak = spans.map(|span| span.peak).fold(start.peak, u64::max);
        peak.saturating_sub(start.start)
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
            eprintln!("skipped: no C compiler, or a C library other than glibc");
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
        let peak = HeapCounts::peak_of_iterations(&one, &three);
        assert!((2500..2700).contains(&peak), "{peak}");
    }

    /// Parses the counts of a process with `spans`: number, allocations, bytes at start and peak.
    fn process(span_count: u64, spans: &[[u64; 4]]) -> HeapCounts {
        let mut text = format!("40 50 6000 {span_count}\n");
        for [number, allocations, start, peak] in spans {
            text.push_str(&[number, allocations, start, peak].map(u64::to_string).join(" "));
            text.push('\n');
        }
        HeapCounts::parse(&text).unwrap()
    }

    #[test]
    fn iterations_are_the_spans_between_those_of_both_processes() {
        const SET_UP: [u64; 4] = [0, 30, 0, 5000];
        let iterations = process(7, &[SET_UP, [3, 2, 400, 500], [5, 1, 400, 9000]]);
        let inputs =
            process(5, &[SET_UP, [1, 1, 400, 1400], [2, 1, 1400, 1900], [4, 3, 400, 9000]]);
        for (name, one, many, peak) in [
            (
                "one span grows",
                &iterations,
                process(7, &[SET_UP, [3, 22, 400, 600], [5, 1, 400, 9000]]),
                200,
            ),
            (
                "further batches, each with its inputs",
                &inputs,
                process(
                    9,
                    &[
                        SET_UP,
                        [1, 1, 400, 1400],
                        [2, 1, 1400, 1900],
                        [3, 1, 400, 1400],
                        [4, 1, 1400, 1900],
                        [5, 1, 400, 1400],
                        [6, 1, 1400, 1900],
                        // A span of another case, after a different number of clock reads.
                        [8, 3, 400, 9000],
                    ],
                ),
                1500,
            ),
            ("nothing", &iterations, iterations.clone(), 0),
        ] {
            assert_eq!(HeapCounts::peak_of_iterations(one, &many), peak, "{name}");
        }
        for wrong in
            ["", "1 2\n", "1 2 3 0\n", "1 2 3 9\n4 5\n", "1 2 -3 9\n", "1 2 3 9\n9 1 1 1\n"]
        {
            assert_eq!(HeapCounts::parse(wrong), None, "{wrong}");
        }
    }
}
