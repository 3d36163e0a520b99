//! Counts the work of one iteration of a case: instructions and estimated cycles with Valgrind,
//! heap allocations with a preloaded library. Other load on the machine does not change the counts,
//! so processes may run in parallel.
//!
//! A process with more iterations does more work. The difference, divided by the additional
//! iterations, excludes set-up and harness. The harness executes exactly the requested iterations,
//! because its clock advances by a fixed step on each read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rsb_engine::measure::interrupt;
use rsb_model::{CaseId, Obstacle, Reason};
use rsb_stats::Policy;

use super::executables::run_to_success;
use super::heap::{self, HeapCounts};
use super::metric::{ALLOCATED_BYTES, ALLOCATIONS, ESTIMATED_CYCLES, INSTRUCTIONS, PEAK_HEAP};
use super::{Benches, CountedMetric, Executables, clock};

/// Minimum number of instructions in the additional iterations of the longer process, so that other
/// differences between the two processes are negligible.
const ENOUGH: f64 = 1e7;
/// Maximum number of iterations of a process. Odd, as Criterion requires.
const MOST: u64 = 2_000_001;
/// Number of iterations of a process whose allocations are counted. Odd. A few are enough, and slow
/// cases then end within the [limit](LIMIT).
const HEAP_ITERATIONS: u64 = 11;
/// Maximum number of concurrent processes whose allocations are counted, because each needs as much
/// memory as the benchmark. Valgrind processes are limited only by the number of CPUs.
const HEAP_PROCESSES: usize = 4;
/// Why allocations are not counted.
const OWN_ALLOCATOR: &str = "it does not use glibc's malloc (but jemalloc, for example), so its allocations cannot be counted";
/// Time limit of a process.
const LIMIT: Duration = Duration::from_secs(30);
/// File to which Valgrind writes its counts.
const LOG: &str = "valgrind.log";
/// Relative difference up to which two counts are considered equal. If the sides differ by more,
/// each is counted again; if two counts of one side differ by more, the case has no count.
const VARIES: f64 = 0.01;

/// Values of an iteration, by the field of a result.
pub(crate) type CountedValues = BTreeMap<&'static str, f64>;
/// Counts by case: the values of each side, or why there are none.
pub(crate) type CaseCounts = BTreeMap<CaseId, Result<[CountedValues; 2], Reason>>;

/// Counts `metrics`, which belong [together](super::COUNTED_TOGETHER), of `cases` on both `sides`
/// until a deadline. Leaves out cases whose harness chooses the number of iterations itself.
///
/// # Errors
/// If Valgrind is needed and not installed, a side is a command, or there is no temporary
/// directory.
pub(crate) fn count_cases(
    sides: &[Arc<Benches>; 2],
    metrics: &[CountedMetric],
    cases: &[CaseId],
    until: Instant,
) -> Result<CaseCounts, Reason> {
    let scratch = tempfile::Builder::new().prefix("rusty-stack-bench-").tempdir();
    let scratch = scratch.map_err(|error| {
        failure("benchmarks", &format!("cannot create a temporary directory: {error}"))
    })?;
    let count =
        Counting { counter: Counter::of(metrics)?, scratch: scratch.path().to_owned(), until };
    let [Some(before), Some(after)] = sides.each_ref().map(|side| side.executables()) else {
        return Err(failure(
            "--bench",
            "its command cannot be run for a fixed number of iterations",
        ));
    };
    let can_be_counted = |id: &&CaseId| before.can_execute(id) && after.can_execute(id);
    let cases: Vec<CaseId> = cases.iter().filter(can_be_counted).cloned().collect();
    // Both sides appear at the same path, so they are counted one after the other.
    let first = count.begin(before, &cases);
    let second = count.repeat(after, &first);
    let differ = |id: &&CaseId| match (&first[*id], &second[*id]) {
        (Ok(one), Ok(other)) => first_difference(one, other).is_some(),
        _ => false,
    };
    let differing: Vec<&CaseId> = cases.iter().filter(differ).collect();
    let those_of = |counts: &Counts| -> Counts {
        differing.iter().map(|&id| (id.clone(), counts[id].clone())).collect()
    };
    let second_again = count.repeat(after, &those_of(&second));
    let first_again = count.repeat(before, &those_of(&first));
    let conclude = |id: &CaseId| {
        let counts = [first[id].clone()?, second[id].clone()?];
        for (known, again) in counts.iter().zip([first_again.get(id), second_again.get(id)]) {
            check_repeat(id, known, again)?;
        }
        check_clock_reads(id, &counts)?;
        Ok(counts.map(|count| count.values))
    };
    Ok(cases.iter().map(|id| (id.clone(), conclude(id))).collect())
}

/// Collects the counts of `cases`, whose [harness counts
/// them](Executables::counts_itself), until a deadline. Runs one process of each executable, and
/// another one if the sides differ.
pub(crate) fn count_by_harness(
    sides: &[Arc<Benches>; 2],
    cases: &[CaseId],
    until: Instant,
) -> CaseCounts {
    let [Some(before), Some(after)] = sides.each_ref().map(|side| side.executables()) else {
        return CaseCounts::new();
    };
    let count = |side: &Executables, cases: &[CaseId]| -> Counts {
        let counts = side.count_by_harness(cases, until);
        let is_over = Instant::now() >= until;
        let reason = |reason| if is_over { out_of_budget() } else { reason };
        let each = counts.into_iter();
        each.map(|(id, count)| (id, count.map(Count::of_harness).map_err(reason))).collect()
    };
    let [first, second] = [before, after].map(|side| count(side, cases));
    let is_different = |id: &&CaseId| match (first.get(*id), second.get(*id)) {
        (Some(Ok(one)), Some(Ok(other))) => first_difference(one, other).is_some(),
        _ => false,
    };
    let differing: Vec<CaseId> = cases.iter().filter(is_different).cloned().collect();
    let again = [after, before].map(|side| count(side, &differing));
    let mut joined = CaseCounts::new();
    for id in cases {
        let (Some(one), Some(other)) = (first.get(id), second.get(id)) else { continue };
        let conclude = || {
            let counts = [one.clone()?, other.clone()?];
            for (known, again) in counts.iter().zip([again[1].get(id), again[0].get(id)]) {
                check_repeat(id, known, again)?;
            }
            Ok(counts.map(|count| count.values))
        };
        joined.insert(id.clone(), conclude());
    }
    joined
}

/// Checks that counting a case `again` confirms the `known` count.
fn check_repeat(
    id: &CaseId,
    known: &Count,
    again: Option<&Result<Count, Reason>>,
) -> Result<(), Reason> {
    let Some(again) = again.cloned().transpose()? else { return Ok(()) };
    if let Some(name) = first_difference(known, &again) {
        let why = format!(
            "two counts of one build differ by more than 1 %: {:.0} and {:.0} {} (threads, or work \
             that depends on the time?)",
            known.value(name),
            again.value(name),
            name.replace('_', " ")
        );
        return Err(failure(id.as_str(), &why));
    }
    Ok(())
}

/// Checks that both sides read the clock equally often. If not, they may have executed different
/// numbers of iterations.
fn check_clock_reads(id: &CaseId, counts: &[Count; 2]) -> Result<(), Reason> {
    let [one, other] = counts.each_ref().map(|count| count.clock_reads);
    if one != other {
        let why = format!(
            "its clock reads differ ({one} before the change, {other} after it), so the numbers \
             of iterations may differ too"
        );
        return Err(failure(id.as_str(), &why));
    }
    Ok(())
}

/// Returns the field of the first values that differ by more than [`VARIES`] and by more than the
/// smallest change that counts.
fn first_difference(one: &Count, other: &Count) -> Option<&'static str> {
    let policy = Policy::default();
    for (&name, &value) in &one.values {
        let other = other.value(name);
        if (value - other).abs() > policy.floor(name).max(VARIES * value.min(other)) {
            return Some(name);
        }
    }
    None
}

/// Count of a case on one side.
#[derive(Debug, Clone, PartialEq)]
struct Count {
    /// Iterations of the longer process.
    iterations: u64,
    /// Values of an iteration.
    values: CountedValues,
    /// Number of clock reads in the longer process.
    clock_reads: u64,
}

/// Counts of one process.
#[derive(Debug, Clone, Default)]
struct Total {
    /// Amounts that grow with each iteration, by the field of a result.
    amounts: BTreeMap<&'static str, u64>,
    /// Its allocations, if they were counted.
    heap: Option<HeapCounts>,
    clock_reads: u64,
}

impl Total {
    fn instructions(&self) -> u64 {
        self.amounts.get(INSTRUCTIONS).copied().unwrap_or_default()
    }
}

impl Count {
    /// Derives the count of one iteration from the totals of two processes: `one` executed one
    /// iteration, `many` executed `iterations`.
    fn of(id: &CaseId, iterations: u64, one: &Total, many: &Total) -> Result<Self, Reason> {
        let mut values = CountedValues::new();
        for (&name, &before) in &one.amounts {
            let after = many.amounts.get(name).copied().unwrap_or_default();
            if name == INSTRUCTIONS && after <= before {
                let why = format!("{iterations} iterations execute no more instructions than one");
                return Err(failure(id.as_str(), &why));
            }
            values.insert(name, after.saturating_sub(before) as f64 / (iterations - 1) as f64);
        }
        if let (Some(one), Some(many)) = (&one.heap, &many.heap) {
            values.insert(PEAK_HEAP, HeapCounts::peak_of_iterations(one, many) as f64);
        }
        Ok(Self { iterations, values, clock_reads: many.clock_reads })
    }

    /// Returns a count of `values` that the harness of a case printed.
    fn of_harness(values: CountedValues) -> Self {
        Self { iterations: 1, values, clock_reads: 0 }
    }

    fn value(&self, name: &str) -> f64 {
        self.values.get(name).copied().unwrap_or_default()
    }
}

/// Counts of the cases of one side.
type Counts = BTreeMap<CaseId, Result<Count, Reason>>;

/// Program or library that counts.
#[derive(Debug)]
enum Counter {
    /// Valgrind's tool cachegrind.
    Cachegrind {
        /// Valgrind.
        program: PathBuf,
        simulates_caches: bool,
    },
    /// The preloaded counter of allocations.
    Heap,
}

impl Counter {
    /// Returns the counter of `metrics`.
    fn of(metrics: &[CountedMetric]) -> Result<Self, Reason> {
        if !metrics.iter().any(|metric| metric.needs_valgrind()) {
            return Ok(Self::Heap);
        }
        let simulates_caches = metrics.contains(&CountedMetric::EstimatedCycles);
        Ok(Self::Cachegrind { program: find_valgrind()?, simulates_caches })
    }

    /// Returns the maximum number of processes at the same time.
    fn processes(&self) -> usize {
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        match self {
            Self::Cachegrind { .. } => cpus,
            Self::Heap => cpus.min(HEAP_PROCESSES),
        }
    }

    /// Makes the process of `command` store its counts in `home`.
    fn prepare(&self, mut command: Command, home: &Path) -> Result<Command, &'static str> {
        match self {
            Self::Cachegrind { program, simulates_caches } => {
                Ok(under_valgrind(program, &home.join(LOG), *simulates_caches, &command))
            }
            Self::Heap if heap::preload(&mut command, home) => Ok(command),
            Self::Heap => Err(
                "the library that counts allocations cannot be written, or was not compiled (no C compiler)",
            ),
        }
    }

    /// Reads the counts that a process stored in `home`.
    fn read(&self, home: &Path) -> Result<Total, &'static str> {
        let clock_reads = clock::reads(home)
            .ok_or("its executable is statically linked, so no clock can be preloaded")?;
        match self {
            Self::Cachegrind { simulates_caches, .. } => {
                let log = std::fs::read_to_string(home.join(LOG)).unwrap_or_default();
                let amounts =
                    parse_amounts(&log, *simulates_caches).ok_or("Valgrind reports no count")?;
                Ok(Total { amounts, heap: None, clock_reads })
            }
            Self::Heap => {
                let counts = heap::counts(home)
                    .ok_or("its process wrote no counts; it must use only glibc's malloc, exit normally, and read \
                     the clock less than 65,536 times")?;
                if counts.own == 0 {
                    return Err(OWN_ALLOCATOR);
                }
                let amounts = [(ALLOCATIONS, counts.allocations), (ALLOCATED_BYTES, counts.bytes)];
                Ok(Total { amounts: amounts.into(), heap: Some(counts), clock_reads })
            }
        }
    }
}

/// A counter with a deadline.
struct Counting {
    counter: Counter,
    scratch: PathBuf,
    until: Instant,
}

impl Counting {
    /// Counts `cases` of `side`, each with as many iterations as it needs.
    fn begin(&self, side: &Executables, cases: &[CaseId]) -> Counts {
        let each = cases.iter().map(|id| {
            (id.clone(), move || match self.counter {
                Counter::Cachegrind { .. } => self.count_enough(side, id),
                Counter::Heap if side.has_own_allocator(id) => {
                    Err(failure(id.as_str(), OWN_ALLOCATOR))
                }
                Counter::Heap => self.count(side, id, HEAP_ITERATIONS),
            })
        });
        in_parallel(&each.collect::<Vec<_>>(), self.counter.processes())
    }

    /// Counts the cases of `known` on `side` with the same iterations. Cases that failed before
    /// keep their reason.
    fn repeat(&self, side: &Executables, known: &Counts) -> Counts {
        let each = known.iter().map(|(id, count)| {
            (id.clone(), move || self.count(side, id, count.clone()?.iterations))
        });
        in_parallel(&each.collect::<Vec<_>>(), self.counter.processes())
    }

    /// Counts two processes of the case `id`: one with a single iteration, and one with
    /// `iterations`.
    fn count(&self, side: &Executables, id: &CaseId, iterations: u64) -> Result<Count, Reason> {
        let one = self.total(side, id, 1)?;
        Count::of(id, iterations, &one, &self.total(side, id, iterations)?)
    }

    /// Counts two processes of the case `id`: one with a single iteration, and one with enough
    /// iterations for [`ENOUGH`] instructions.
    fn count_enough(&self, side: &Executables, id: &CaseId) -> Result<Count, Reason> {
        let [one, three] = [self.total(side, id, 1)?, self.total(side, id, 3)?];
        let each = three.instructions().saturating_sub(one.instructions()) as f64 / 2.0;
        match iterations_for(each) {
            3 => Count::of(id, 3, &one, &three),
            many => Count::of(id, many, &one, &self.total(side, id, many)?),
        }
    }

    /// Counts a process that executes `iterations` of the case `id`.
    fn total(&self, side: &Executables, id: &CaseId, iterations: u64) -> Result<Total, Reason> {
        let fail = |why: &str| failure(id.as_str(), why);
        let left = self.until.saturating_duration_since(Instant::now());
        if interrupt::is_requested() {
            return Err(fail("interrupted"));
        }
        if left.is_zero() {
            return Err(out_of_budget());
        }
        let home = tempfile::tempdir_in(&self.scratch)
            .map_err(|error| fail(&format!("cannot create a temporary directory: {error}")))?;
        let command = side.command_to_execute(id, iterations, home.path())?;
        let mut command = self.counter.prepare(command, home.path()).map_err(fail)?;
        if let Err(why) = run_to_success(&mut command, LIMIT.min(left)) {
            // The end of the budget also ends the process.
            let is_over = Instant::now() >= self.until;
            return Err(if is_over { out_of_budget() } else { fail(&why) });
        }
        self.counter.read(home.path()).map_err(fail)
    }
}

/// Runs `tasks`, at most `limit` at the same time, and returns their results by case.
fn in_parallel<T: Send>(
    tasks: &[(CaseId, impl Fn() -> T + Sync)],
    limit: usize,
) -> BTreeMap<CaseId, T> {
    let next = AtomicUsize::new(0);
    let returned = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..limit.min(tasks.len()) {
            scope.spawn(|| {
                while let Some((id, task)) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = task();
                    let mut returned = returned.lock().unwrap_or_else(PoisonError::into_inner);
                    returned.insert(id.clone(), result);
                }
            });
        }
    });
    returned.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn failure(what: &str, why: &str) -> Reason {
    Reason::new(what, why, "omit `--decide-by` or `--metric` to judge it by time")
}

/// Returns the reason for a case that was not counted before the budget ran out.
fn out_of_budget() -> Reason {
    let why = "it ran out before the case was counted";
    Reason::new("budget", why, "allow more time with `--budget`").of(Obstacle::NotReached)
}

/// Returns the path of Valgrind.
///
/// # Errors
/// If it is not in `PATH`.
pub(crate) fn find_valgrind() -> Result<PathBuf, Reason> {
    find_program("valgrind").ok_or_else(|| {
        Reason::new(
            "counts",
            "Valgrind counts instructions and cycles, and is not in PATH",
            "install valgrind (`apt-get install valgrind`)",
        )
    })
}

/// Returns the path of the program `name`, if it is in `PATH`.
pub(super) fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut programs = std::env::split_paths(&path).map(|directory| directory.join(name));
    programs.find(|program| program.is_file())
}

/// Returns the number of iterations, of `each` instructions, that together execute [`ENOUGH`]
/// instructions. Always odd.
fn iterations_for(each: f64) -> u64 {
    let half = (ENOUGH / each.max(1.0) / 2.0).ceil();
    (2 * half as u64 + 1).clamp(3, MOST)
}

/// Returns `command` under `valgrind`, which writes its counts to `log`.
fn under_valgrind(
    valgrind: &Path,
    log: &Path,
    simulates_caches: bool,
    command: &Command,
) -> Command {
    let mut counted = Command::new(valgrind);
    counted.args(["--command-line-only=yes", "--tool=cachegrind"]);
    counted.arg(if simulates_caches { "--cache-sim=yes" } else { "--cache-sim=no" });
    counted.arg("--cachegrind-out-file=/dev/null");
    counted.arg(format!("--log-file={}", log.display()));
    counted.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => counted.env(name, value),
            None => counted.env_remove(name),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        counted.current_dir(directory);
    }
    counted
}

/// Parses the totals in a log of cachegrind, by the field of a result.
fn parse_amounts(log: &str, simulates_caches: bool) -> Option<BTreeMap<&'static str, u64>> {
    let instructions = parse_count(log, ["I", "refs"]).filter(|count| *count > 0)?;
    let mut amounts = BTreeMap::from([(INSTRUCTIONS, instructions)]);
    if simulates_caches {
        amounts.insert(ESTIMATED_CYCLES, estimate_cycles(log)?);
    }
    Some(amounts)
}

/// Estimates the cycles from a log of cachegrind with simulated caches, as gungraun does: an access
/// takes 1 cycle in the first-level cache, 5 in the last-level cache and 35 in memory
/// (I. Turner-Trauring, "CI for performance: Reliable benchmarking in noisy environments", 2020,
/// <https://pythonspeed.com/articles/consistent-benchmarking-in-ci/>).
fn estimate_cycles(log: &str) -> Option<u64> {
    let accesses = parse_count(log, ["I", "refs"])? + parse_count(log, ["D", "refs"])?;
    let missed_first = parse_count(log, ["I1", "misses"])? + parse_count(log, ["D1", "misses"])?;
    let in_memory = parse_count(log, ["LL", "misses"])?;
    let in_last_level = missed_first.saturating_sub(in_memory);
    Some(accesses.saturating_sub(missed_first) + 5 * in_last_level + 35 * in_memory)
}

/// Parses the count called `name` in a log of cachegrind, such as `==7== I   refs:      1,234`. A
/// process that forks prints several of them; the last one is its own.
fn parse_count(log: &str, name: [&str; 2]) -> Option<u64> {
    let count = log.lines().rev().find_map(|line| {
        let (before, count) = line.split_once(':')?;
        before.split_whitespace().skip(1).eq(name).then_some(count)
    })?;
    count.split_whitespace().next()?.replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_the_last_count_of_instructions() {
        for (log, expected) in [
            ("==7== \n==7== I   refs:      1,648,076\n", Some(1_648_076)),
            ("==9== I   refs:      12\n==7== I refs:        34\n", Some(34)),
            ("==7== I   refs:      0\n", None),
            ("==7== D   refs:      55\n", None),
            ("valgrind: no such tool\n", None),
        ] {
            let expected = expected.map(|count| BTreeMap::from([(INSTRUCTIONS, count)]));
            assert_eq!(parse_amounts(log, false), expected, "{log}");
        }
    }

    #[test]
    fn cycles_are_estimated_from_hits_and_misses() {
        const LOG: &str = "\
==7== I   refs:      130,003
==7== I1  misses:      1,091
==7== LLi misses:      1,072
==7== I1  miss rate:    0.84%
==7== LLi miss rate:    0.82%
==7==
==7== D   refs:       40,087  (29,821 rd   + 10,266 wr)
==7== D1  misses:      1,494  ( 1,157 rd   +    337 wr)
==7== LLd misses:      1,330  ( 1,019 rd   +    311 wr)
==7== D1  miss rate:     3.7% (   3.9%     +    3.3%  )
==7==
==7== LL refs:         2,585  ( 2,248 rd   +    337 wr)
==7== LL misses:       2,402  ( 2,091 rd   +    311 wr)
==7== LL miss rate:      1.4% (   1.3%     +    3.0%  )
";
        // 167,505 hits of the first level, 183 of the last level and 2,402 accesses to memory.
        let cycles = 167_505 + 5 * 183 + 35 * 2402;
        let expected = BTreeMap::from([(INSTRUCTIONS, 130_003), (ESTIMATED_CYCLES, cycles)]);
        assert_eq!(parse_amounts(LOG, true), Some(expected));
        assert_eq!(parse_amounts("==7== I   refs:      12\n", true), None);
    }

    fn total(amounts: &[(&'static str, u64)], heap: Option<&str>) -> Total {
        let heap = heap.map(|text| HeapCounts::parse(text).unwrap());
        Total { amounts: amounts.iter().copied().collect(), heap, clock_reads: 8 }
    }

    #[test]
    fn an_iteration_is_the_difference_of_two_processes() {
        let id: CaseId = "parse/a".parse().unwrap();
        let one = total(&[(INSTRUCTIONS, 1000), (ESTIMATED_CYCLES, 5000)], None);
        let many = total(&[(INSTRUCTIONS, 1500), (ESTIMATED_CYCLES, 5700)], None);
        let count = Count::of(&id, 11, &one, &many).unwrap();
        let expected = [(INSTRUCTIONS, 50.0), (ESTIMATED_CYCLES, 70.0)];
        assert_eq!(count.values, CountedValues::from(expected));
        assert!(Count::of(&id, 11, &one, &one).is_err(), "iterations execute something");

        let one = total(&[(ALLOCATIONS, 40)], Some("40 40 900 9\n0 38 0 500\n3 2 100 150\n"));
        let many = total(&[(ALLOCATIONS, 60)], Some("60 60 1900 9\n0 38 0 500\n3 22 100 200\n"));
        let count = Count::of(&id, 11, &one, &many).unwrap();
        assert_eq!(count.values, CountedValues::from([(ALLOCATIONS, 2.0), (PEAK_HEAP, 100.0)]));
        let none = Count::of(&id, 11, &one, &one).unwrap();
        assert_eq!(none.values, CountedValues::from([(ALLOCATIONS, 0.0), (PEAK_HEAP, 0.0)]));
    }

    #[test]
    fn counts_differ_by_more_than_a_percent_and_the_floor() {
        let count = |name, value| Count {
            iterations: 11,
            values: CountedValues::from([(name, value)]),
            clock_reads: 8,
        };
        for (name, one, other, differs) in [
            (INSTRUCTIONS, 1000.0, 1009.0, false),
            (INSTRUCTIONS, 1000.0, 1011.0, true),
            (ALLOCATIONS, 0.0, 0.1, false),
            (ALLOCATIONS, 0.0, 1.0, true),
            (PEAK_HEAP, 1e6, 0.98e6, true),
        ] {
            let found = first_difference(&count(name, one), &count(name, other));
            assert_eq!(found, differs.then_some(name), "{name} {one} {other}");
        }
    }

    #[test]
    fn cheap_iterations_are_many_and_odd() {
        for (each, expected) in [(1e9, 3), (5e6, 3), (1e6, 11), (50.0, 200_001), (0.0, MOST)] {
            assert_eq!(iterations_for(each), expected, "{each}");
        }
    }

    #[test]
    fn a_command_keeps_its_arguments_variables_and_directory_under_valgrind() {
        let mut command = Command::new("/bin/bench");
        command
            .args(["--bench", "a b"])
            .env("SEED", "1")
            .env_remove("GH_TOKEN")
            .current_dir("/tmp");
        let [valgrind, log] = ["/bin/valgrind", "/tmp/log"].map(Path::new);
        let counted = under_valgrind(valgrind, log, false, &command);
        assert_eq!(counted.get_program(), "/bin/valgrind");
        let args: Vec<_> = counted.get_args().skip(5).collect();
        assert_eq!(args, ["/bin/bench", "--bench", "a b"]);
        assert!(counted.get_envs().eq(command.get_envs()));
        assert_eq!(counted.get_current_dir(), command.get_current_dir());
    }
}
