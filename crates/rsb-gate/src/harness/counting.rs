//! Counts the instructions of one iteration of a case with Valgrind. Other load does not change
//! them, so processes may run in parallel.
//!
//! A process with more iterations executes more instructions. The difference, divided by the
//! additional iterations, excludes set-up and harness. The harness executes exactly the requested
//! iterations, because its clock advances by a fixed step on each read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rsb_engine::measure::interrupt;
use rsb_model::{CaseId, Obstacle, Reason};

use super::executables::run_to_success;
use super::{Benches, Executables, clock};

/// Minimum number of instructions of the iterations by which two processes differ, so that other
/// differences between the processes are negligible.
const ENOUGH: f64 = 1e7;
/// Maximum number of iterations of a process. Odd, as Criterion requires.
const MOST: u64 = 2_000_001;
/// Time limit of a process.
const LIMIT: Duration = Duration::from_secs(30);
/// Counts of both sides that differ by less than this fraction are not repeated.
const CLOSE: f64 = 0.01;
/// Counts of one side that differ by more than this fraction are not of the same work.
const VARIES: f64 = 0.01;

/// Counts by case: the instructions of an iteration on each side, or why there are none.
pub(crate) type InstructionCounts = BTreeMap<CaseId, Result<[f64; 2], Reason>>;

/// Counts the instructions of `cases` on both `sides`, for at most `time`. Leaves out cases whose
/// harness chooses the number of iterations itself.
///
/// # Errors
/// If Valgrind is not installed, a side is a command, or there is no temporary directory.
pub(crate) fn count_instructions(
    sides: &[Arc<Benches>; 2],
    cases: &[CaseId],
    time: Duration,
) -> Result<InstructionCounts, Reason> {
    let scratch = tempfile::Builder::new().prefix("rusty-stack-bench-").tempdir();
    let scratch = scratch.map_err(|error| {
        failure("benchmarks", &format!("cannot create a temporary directory: {error}"))
    })?;
    let count = Counting {
        valgrind: find_valgrind()?,
        scratch: scratch.path().to_owned(),
        until: Instant::now() + time,
    };
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
    let differ_much = |id: &&CaseId| match (&first[*id], &second[*id]) {
        (Ok(one), Ok(other)) => differ(one.instructions, other.instructions, CLOSE),
        _ => false,
    };
    let differing: Vec<&CaseId> = cases.iter().filter(differ_much).collect();
    let those_of = |counts: &Counts| -> Counts {
        differing.iter().map(|&id| (id.clone(), counts[id].clone())).collect()
    };
    let second_again = count.repeat(after, &those_of(&second));
    let first_again = count.repeat(before, &those_of(&first));
    let conclude = |id: &CaseId| {
        let [one, other] = [first[id].clone()?, second[id].clone()?];
        for (known, again) in [(one, first_again.get(id)), (other, second_again.get(id))] {
            check_repeat(id, known, again)?;
        }
        check_clock_reads(id, [one, other])?;
        Ok([one.instructions, other.instructions])
    };
    Ok(cases.iter().map(|id| (id.clone(), conclude(id))).collect())
}

/// Checks that counting a case `again` confirms the `known` count.
fn check_repeat(
    id: &CaseId,
    known: Count,
    again: Option<&Result<Count, Reason>>,
) -> Result<(), Reason> {
    let Some(again) = again.cloned().transpose()? else { return Ok(()) };
    let [one, other] = [known.instructions, again.instructions];
    if differ(one, other, VARIES) {
        let why = format!(
            "two counts of one build differ by more than 1 %: {one:.0} and {other:.0} instructions \
             (threads, or work that depends on the time?)"
        );
        return Err(failure(id.as_str(), &why));
    }
    Ok(())
}

/// Checks that both sides read the clock equally often. If not, they may have executed different
/// numbers of iterations.
fn check_clock_reads(id: &CaseId, counts: [Count; 2]) -> Result<(), Reason> {
    let [one, other] = counts.map(|count| count.clock_reads);
    if one != other {
        let why = format!(
            "its clock reads differ ({one} before the change, {other} after it), so the numbers \
             of iterations may differ too"
        );
        return Err(failure(id.as_str(), &why));
    }
    Ok(())
}

/// Count of a case on one side.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Count {
    /// Iterations of the longer process.
    iterations: u64,
    /// Instructions per iteration.
    instructions: f64,
    /// Number of clock reads in the longer process.
    clock_reads: u64,
}

/// Counts of one process.
#[derive(Debug, Clone, Copy)]
struct Total {
    instructions: u64,
    clock_reads: u64,
}

impl Count {
    /// Derives the count from the `totals` of a process with one iteration and one with
    /// `iterations`.
    fn of(id: &CaseId, iterations: u64, totals: [Total; 2]) -> Result<Self, Reason> {
        let [one, many] = totals.map(|total| total.instructions);
        if many <= one {
            let why = format!("{iterations} iterations execute no more instructions than one");
            return Err(failure(id.as_str(), &why));
        }
        let instructions = (many - one) as f64 / (iterations - 1) as f64;
        Ok(Self { iterations, instructions, clock_reads: totals[1].clock_reads })
    }
}

/// Counts of the cases of one side.
type Counts = BTreeMap<CaseId, Result<Count, Reason>>;

/// A counter with a deadline.
struct Counting {
    valgrind: PathBuf,
    scratch: PathBuf,
    until: Instant,
}

impl Counting {
    /// Counts `cases` of `side`, each with as many iterations as it needs.
    fn begin(&self, side: &Executables, cases: &[CaseId]) -> Counts {
        let each = cases.iter().map(|id| {
            (id.clone(), move || {
                let few = [self.total(side, id, 1)?, self.total(side, id, 3)?];
                let each = few[1].instructions.saturating_sub(few[0].instructions) as f64 / 2.0;
                match iterations_for(each) {
                    3 => Count::of(id, 3, few),
                    many => Count::of(id, many, [few[0], self.total(side, id, many)?]),
                }
            })
        });
        on_all_cpus(&each.collect::<Vec<_>>())
    }

    /// Counts the cases of `known` on `side` with the same iterations. Failures keep their reason.
    fn repeat(&self, side: &Executables, known: &Counts) -> Counts {
        let each = known.iter().map(|(id, count)| {
            (id.clone(), move || {
                let many = count.clone()?.iterations;
                Count::of(id, many, [self.total(side, id, 1)?, self.total(side, id, many)?])
            })
        });
        on_all_cpus(&each.collect::<Vec<_>>())
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
        let log = home.path().join("valgrind.log");
        let mut counted = under_valgrind(&self.valgrind, &log, &command);
        if let Err(why) = run_to_success(&mut counted, LIMIT.min(left)) {
            // The end of the budget also ends the process.
            let is_over = Instant::now() >= self.until;
            return Err(if is_over { out_of_budget() } else { fail(&why) });
        }
        let clock_reads = clock::reads(home.path()).ok_or_else(|| {
            fail("its executable is statically linked, so no clock can be preloaded")
        })?;
        let log = std::fs::read_to_string(log).unwrap_or_default();
        let instructions = parse_total(&log).ok_or_else(|| fail("Valgrind reports no count"))?;
        Ok(Total { instructions, clock_reads })
    }
}

/// Runs `tasks`, as many at once as there are CPUs, and returns their results by case.
fn on_all_cpus<T: Send>(tasks: &[(CaseId, impl Fn() -> T + Sync)]) -> BTreeMap<CaseId, T> {
    let next = AtomicUsize::new(0);
    let returned = Mutex::new(BTreeMap::new());
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..cpus.min(tasks.len()) {
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
    Reason::new(what, why, "judge it by time: leave out `--decide-by`, or `--metric` of `gate`")
}

/// Returns the reason why a case was not counted before the budget ran out.
fn out_of_budget() -> Reason {
    let why = "the budget ran out before they were counted";
    Reason::new("instructions", why, "allow more time with `--budget`").of(Obstacle::NotReached)
}

/// Returns the path of Valgrind.
///
/// # Errors
/// If it is not in `PATH`.
pub(crate) fn find_valgrind() -> Result<PathBuf, Reason> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let programs = std::env::split_paths(&path).map(|directory| directory.join("valgrind"));
    programs.into_iter().find(|program| program.is_file()).ok_or_else(|| {
        Reason::new(
            "instructions",
            "Valgrind is needed to count them, and is not in PATH",
            "install valgrind",
        )
    })
}

/// Returns how many iterations of `each` instructions execute [`ENOUGH`] together. Odd.
fn iterations_for(each: f64) -> u64 {
    let half = (ENOUGH / each.max(1.0) / 2.0).ceil();
    (2 * half as u64 + 1).clamp(3, MOST)
}

/// Returns whether `one` and `other` differ by more than this `fraction`.
fn differ(one: f64, other: f64, fraction: f64) -> bool {
    (one - other).abs() > fraction * one.min(other)
}

/// Returns `command` under `valgrind`, which writes its counts to `log`.
fn under_valgrind(valgrind: &Path, log: &Path, command: &Command) -> Command {
    let mut counted = Command::new(valgrind);
    counted.args(["--command-line-only=yes", "--tool=cachegrind", "--cache-sim=no"]);
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

/// Parses the total in a log of cachegrind, `==7== I   refs:      1,234`. A process that forks has
/// several totals; its own is the last.
fn parse_total(log: &str) -> Option<u64> {
    let counts = log.lines().rev().filter_map(|line| line.split_once("refs:"));
    let (_, total) = counts.into_iter().find(|(before, _)| before.trim_end().ends_with(" I"))?;
    total.trim().replace(',', "").parse().ok().filter(|total| *total > 0)
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
            assert_eq!(parse_total(log), expected, "{log}");
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
        let counted = under_valgrind(Path::new("/bin/valgrind"), Path::new("/tmp/log"), &command);
        assert_eq!(counted.get_program(), "/bin/valgrind");
        let args: Vec<_> = counted.get_args().skip(5).collect();
        assert_eq!(args, ["/bin/bench", "--bench", "a b"]);
        assert!(counted.get_envs().eq(command.get_envs()));
        assert_eq!(counted.get_current_dir(), command.get_current_dir());
    }
}
