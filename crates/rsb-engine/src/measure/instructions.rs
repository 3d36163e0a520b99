//! Instructions per iteration, a metric with much less noise than time. Counted once, after the
//! samples.
//!
//! The CPU's counters are used, or Valgrind if they are unavailable. Valgrind simulates a different
//! CPU, so only counts of the same source are comparable.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rsb_model::record::INSTRUCTIONS_NOT_COUNTED;
use rsb_model::{BenchmarkResult, BenchmarkType, Case, Outcome, Reason};
use serde_json::json;

use super::assemble;
use super::client::{Worker, WorkerError};
use super::settings::Settings;
use crate::worker_command::WorkerCommand;

/// Minimum number of instructions to count at once, so that the few hundred around the iterations
/// are negligible. The number of iterations does not depend on a clock, so the same program always
/// counts the same work.
const MIN_INSTRUCTIONS: u64 = 10_000_000;
/// Number of counts of which the minimum is used, because the counters include interrupts.
const TRIES: usize = 3;

/// Source of instruction counts.
#[derive(Debug, Clone, PartialEq, Eq)]
enum InstructionCounter {
    /// CPU performance counters.
    Perf,
    /// Callgrind of the Valgrind at this path.
    Callgrind(PathBuf),
}

impl InstructionCounter {
    fn here() -> Result<Self, Reason> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let valgrind = std::env::split_paths(&path)
            .map(|dir| dir.join("valgrind"))
            .find(|file| file.is_file());
        Self::of(
            rsb_cpu::instructions::check_counters(),
            valgrind.filter(|_| cfg!(target_arch = "x86_64")),
        )
    }

    fn of(counters: Result<(), Reason>, valgrind: Option<PathBuf>) -> Result<Self, Reason> {
        match (counters, valgrind) {
            (Ok(()), _) => Ok(Self::Perf),
            (Err(_), Some(valgrind)) => Ok(Self::Callgrind(valgrind)),
            (Err(reason), None) => {
                let valgrind = if cfg!(target_arch = "x86_64") {
                    "is not installed"
                } else {
                    "is supported on x86-64 only"
                };
                let why = format!("{}, and Valgrind {valgrind}", reason.why);
                Err(Reason::new(
                    "instructions",
                    why,
                    format!("install valgrind, or {}", reason.cure),
                ))
            }
        }
    }

    const fn source(&self) -> &'static str {
        match self {
            Self::Perf => "perf",
            Self::Callgrind(_) => "callgrind",
        }
    }

    /// Returns the instructions of one iteration of `case`, counted in fresh workers that may run
    /// for `limit` each.
    fn count(
        &self,
        command: &WorkerCommand,
        case: &Case,
        limit: Duration,
    ) -> Result<f64, WorkerError> {
        let mut iters = 1;
        loop {
            let total = self.total(command, case, iters, limit)?;
            if total >= MIN_INSTRUCTIONS {
                return Ok(total as f64 / iters as f64);
            }
            iters *= 1 + 4 * MIN_INSTRUCTIONS / total; // Of few iterations most may be what surrounds them.
        }
    }

    /// Returns the instructions of `iters` iterations (above zero), after one warm-up iteration.
    fn total(
        &self,
        command: &WorkerCommand,
        case: &Case,
        iters: u64,
        limit: Duration,
    ) -> Result<u64, WorkerError> {
        match self {
            Self::Perf => {
                let (mut worker, _) = Worker::start(command, case, limit)?;
                worker.sample(1)?;
                let counts: Vec<Option<u64>> =
                    (0..TRIES).map(|_| worker.count(iters)).collect::<Result<_, _>>()?;
                let least = counts.into_iter().flatten().min().filter(|least| *least > 0);
                least.ok_or_else(|| callgrind_error("its worker counted no instructions"))
            }
            Self::Callgrind(valgrind) => {
                let log = tempfile::NamedTempFile::new()
                    .map_err(|error| callgrind_error(&error.to_string()))?;
                let (mut worker, _) =
                    Worker::start(&under(valgrind, log.path(), command), case, limit)?;
                worker.sample(1)?;
                worker.count(iters)?;
                worker.leave()?;
                let text = std::fs::read_to_string(log.path()).unwrap_or_default();
                parse_instruction_count(&text)
                    .ok_or_else(|| callgrind_error("Valgrind reported no count"))
            }
        }
    }
}

fn callgrind_error(why: &str) -> WorkerError {
    WorkerError::Failed(Reason::new(
        "instructions",
        why,
        "check the output of `valgrind --tool=callgrind true`",
    ))
}

/// Returns `command` run by `valgrind`, which writes its count to `log` at the end. Instrumentation
/// is off until the worker starts counting.
fn under(valgrind: &Path, log: &Path, command: &WorkerCommand) -> WorkerCommand {
    let mut args = ["--command-line-only=yes", "--tool=callgrind", "--instr-atstart=no"]
        .map(str::to_owned)
        .to_vec();
    args.push("--callgrind-out-file=/dev/null".to_owned());
    args.push(format!("--log-file={}", log.display()));
    args.push(command.program.display().to_string());
    args.extend(command.args.iter().cloned());
    WorkerCommand { program: valgrind.to_owned(), args, ..command.clone() }
}

/// Parses the total of callgrind's output: `==7== Collected : 4042`.
fn parse_instruction_count(log: &str) -> Option<u64> {
    let total = log.lines().rev().find_map(|line| line.split_once("Collected :"))?.1;
    total.split_whitespace().next()?.parse().ok().filter(|total| *total > 0)
}

/// Returns whether this program, not a library, performs the work of `result` on a CPU.
pub fn is_own_work(result: &BenchmarkResult) -> bool {
    let provider = result.fields().and_then(|fields| fields.text("provider"));
    result.benchmark_type == BenchmarkType::CpuPerformance
        && provider
            .is_some_and(|name| name == "gemm" || name == "allocator" || name.starts_with("native"))
}

/// Returns whether to count the instructions of `result`. Not with a cold cache, because flushing
/// would dominate the count, and not with several threads, because their spinning would be counted.
fn is_counted(result: &BenchmarkResult) -> bool {
    let Some(fields) = result.fields() else { return false };
    let is_cold = fields.text("cache") == Some("cold");
    let is_alone = fields.number("threads").is_none_or(|threads| threads <= 1.0);
    result.outcome == Outcome::Measured && is_own_work(result) && is_alone && !is_cold
}

/// A pass that counts instructions, within a time limit.
pub struct InstructionPass<'a> {
    counter: Result<InstructionCounter, Reason>,
    settings: &'a Settings,
    until: Instant,
    cases: usize,
    others: usize,
}

impl<'a> InstructionPass<'a> {
    /// Starts a pass that may take up to `left`.
    pub fn begin(settings: &'a Settings, left: Duration) -> Self {
        let until = Instant::now() + left;
        Self { counter: InstructionCounter::here(), settings, until, cases: 0, others: 0 }
    }

    /// Adds the instructions of one iteration of `case`, counted in a worker of `command`, to
    /// `result`, or a note with the reason if that fails. Returns `false` if instructions are not
    /// counted for this kind of case.
    ///
    /// # Errors
    /// If the user requests a stop.
    pub fn add(
        &mut self,
        command: &WorkerCommand,
        case: &Case,
        result: &mut BenchmarkResult,
    ) -> Result<bool, WorkerError> {
        if !is_counted(result) {
            self.others += 1;
            return Ok(false);
        }
        self.cases += 1;
        match self.count(command, case) {
            Ok((count, source)) => {
                if let Some(fields) = result.results.first_mut() {
                    fields.set("instructions", count);
                    fields.set("instructions_source", source);
                }
            }
            Err(WorkerError::Interrupted) => return Err(WorkerError::Interrupted),
            Err(
                WorkerError::Skipped(reason)
                | WorkerError::Failed(reason)
                | WorkerError::Gone(reason),
            ) => {
                assemble::note(
                    &mut result.metadata,
                    &format!("its instructions were not counted: {reason}"),
                );
                result.metadata.insert(INSTRUCTIONS_NOT_COUNTED.into(), json!(reason));
            }
        }
        Ok(true)
    }

    fn count(
        &self,
        command: &WorkerCommand,
        case: &Case,
    ) -> Result<(f64, &'static str), WorkerError> {
        let counter =
            self.counter.as_ref().map_err(|reason| WorkerError::Skipped(reason.clone()))?;
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let cure = "raise `suite_seconds` under [time_limits], or choose fewer cases";
            let why = "the run's time limit expired before this case";
            return Err(WorkerError::Skipped(Reason::new("instructions", why, cure)));
        }
        let limit = self.settings.limit_of(case).min(left);
        counter.count(command, case, limit).map(|count| (count, counter.source()))
    }

    /// Returns a summary for the user. The reason why a case could not be counted is in its result.
    pub fn summary(&self) -> String {
        let Self { cases, others, .. } = self;
        let kinds = "instructions are counted for this program's own CPU work on one thread with \
                     warm caches";
        match &self.counter {
            Ok(counter) => {
                format!("{kinds}: {cases} cases counted by {}; {others} others", counter.source())
            }
            Err(reason) => format!(
                "{kinds}: none of {cases} cases was counted, because no counter is available: \
                 {reason}"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_model::{CaseId, Params};

    /// Returns a worker that runs the shell code `of_count` when it is asked to count. The code can
    /// use the number of iterations (`iters`) and the number of the request (`tries`).
    fn worker(of_count: &str) -> WorkerCommand {
        let script = format!(
            r#"while read line; do iters=${{line##*:}}; iters=${{iters%?}}; case $line in
            *prepare*) echo '{{"answer":"ready","device_type":"cpu"}}';;
            *sample*) echo '{{"answer":"sampled","time_ns":1.0}}';;
            *count*) tries=$((tries + 1)); {of_count};;
            esac; done"#
        );
        WorkerCommand {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), script],
            environment: vec![],
            directory: None,
            pci_addresses: vec![],
        }
    }

    fn case() -> Case {
        Case {
            id: CaseId::from_segments(&["cpu_performance", "tensor-ops"]),
            benchmark: "tensor-ops".into(),
            benchmark_type: BenchmarkType::CpuPerformance,
            device: rsb_model::DeviceRef::CPU.into(),
            params: Params::new(),
        }
    }

    fn why(error: WorkerError) -> String {
        match error {
            WorkerError::Skipped(reason)
            | WorkerError::Failed(reason)
            | WorkerError::Gone(reason) => reason.to_string(),
            WorkerError::Interrupted => panic!("the count must not be interrupted"),
        }
    }

    #[test]
    fn the_least_count_of_enough_iterations_is_the_figure() {
        // 300 instructions around the iterations; every count except the second one is far too
        // high.
        let counts = r#"more=$(((tries - 2) * (tries - 2) * 90000000 + 300))
            echo "{\"answer\":\"counted\",\"instructions\":$((iters * 1000 + more))}""#;
        let count = InstructionCounter::Perf
            .count(&worker(counts), &case(), Duration::from_mins(1))
            .unwrap();
        assert!((count - 1000.0).abs() < 0.1, "{count}");
    }

    #[test]
    fn what_cannot_count_says_why() {
        let refuses =
            r#"echo '{"answer":"skipped","reason":{"what":"w","why":"none here","cure":"c"}}'"#;
        for (of_count, expected) in [
            (refuses, "none here"),
            (r#"echo '{"answer":"counted"}'"#, "counted no instructions"),
            ("exit 0", "before `--metric instructions`"),
            ("exit 7", "exit code 7"),
        ] {
            let count =
                InstructionCounter::Perf.count(&worker(of_count), &case(), Duration::from_mins(1));
            let why = why(count.unwrap_err());
            assert!(why.contains(expected), "{of_count}: {why}");
        }
    }

    /// Uses a fake Valgrind that writes the worker's standard error to the log.
    #[test]
    fn what_valgrind_tells_at_the_end_is_the_figure() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let valgrind = dir.path().join("valgrind");
        let script = "#!/bin/sh\n\
            while :; do case $1 in --log-file=*) log=${1#*=};; --*) ;; *) break;; esac; shift; \
            done\n\
            \"$@\" 2> \"$log\"\n";
        std::fs::write(&valgrind, script).unwrap();
        std::fs::set_permissions(&valgrind, std::fs::Permissions::from_mode(0o755)).unwrap();
        let counter = InstructionCounter::Callgrind(valgrind);
        assert_eq!(count_with(&counter, "$((iters * 2000))"), Ok(2000.0));
        assert_eq!(
            count_with(&counter, "$((iters * 20000000))"),
            Ok(2e7),
            "the count is per iteration"
        );
        assert!(why(count_with(&counter, "0").unwrap_err()).contains("no count"));
    }

    /// Counts with a worker that writes this count to standard error.
    fn count_with(counter: &InstructionCounter, told: &str) -> Result<f64, WorkerError> {
        let of_count =
            format!(r#"echo "==7== Collected : {told}" >&2; echo '{{"answer":"counted"}}'"#);
        counter.count(&worker(&of_count), &case(), Duration::from_mins(1))
    }

    #[test]
    fn counters_come_first_and_without_any_it_is_said_what_helps() {
        let refusal =
            Reason::new("instruction counters", "the kernel refuses", "use another kernel");
        let valgrind = Some(PathBuf::from("/usr/bin/valgrind"));
        assert_eq!(InstructionCounter::of(Ok(()), valgrind.clone()), Ok(InstructionCounter::Perf));
        let counter = InstructionCounter::of(Err(refusal.clone()), valgrind).unwrap();
        assert_eq!(counter.source(), "callgrind");
        let reason = InstructionCounter::of(Err(refusal), None).unwrap_err().to_string();
        for part in ["the kernel refuses", "Valgrind is", "install valgrind", "use another kernel"]
        {
            assert!(reason.contains(part), "{reason}");
        }
    }

    #[test]
    fn the_count_is_read_from_the_log() {
        for (log, expected) in [
            ("==7== Events    : Ir\n==7== Collected : 4042\n", Some(4042)),
            ("==7== Collected : 12 34\n", Some(12)),
            ("==7== Collected : 0\n", None),
            ("==7== Collected : many\n", None),
            ("valgrind: no such tool\n", None),
        ] {
            assert_eq!(parse_instruction_count(log), expected, "{log}");
        }
    }
}
