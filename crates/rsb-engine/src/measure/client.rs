//! The client side of a worker: starts it, sends requests, waits with a time limit, and reports its
//! death as a reason.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, ErrorKind, Read as _, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rsb_model::protocol::{PCI_ADDRESS, Request, Response, SLOWDOWN};
use rsb_model::shown::shorten;
use rsb_model::telemetry::GpuTelemetry;
use rsb_model::{BenchmarkType, Case, DeviceType, Fields, Reason};
use rsb_probe::ProbeOptions;
use rsb_probe::energy::CpuPowerWatch;

use super::{interrupt, telemetry};
use crate::judged;
use crate::worker_command::WorkerCommand;

/// Lines of a worker's error output that are kept for a failure message.
const KEPT_LINES: usize = 12;
/// Maximum length of a line of a worker's error output; a longer one is kept in parts.
const MAX_ERROR_LINE_BYTES: u64 = 4 << 10;
/// Maximum length of a worker's response. All of it is in memory at once.
const MAX_RESPONSE_BYTES: u64 = 64 << 20;
/// Maximum number of characters of an unexpected response that are shown.
const SHOWN_CHARACTERS: usize = 200;
/// Interval between checks for Ctrl-C while waiting.
const GLANCE: Duration = Duration::from_millis(100);

/// Why a worker produced no result for a case.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkerError {
    /// The case cannot run here.
    Skipped(Reason),
    /// The case or the worker failed.
    Failed(Reason),
    /// The device was available when the case was planned and cannot be opened now.
    Gone(Reason),
    /// The user pressed Ctrl-C.
    Interrupted,
}

/// Returns the command that starts the worker of `case`. Framework cases use a separate worker
/// program, in the directory of the program of `command`.
fn worker_of<'a>(
    command: &'a WorkerCommand,
    case: &Case,
) -> Result<Cow<'a, WorkerCommand>, Reason> {
    if case.benchmark_type == BenchmarkType::ComponentSpecific {
        let mut worker = crate::python_worker::command(&command.program, &case.benchmark)?;
        worker.environment.extend(for_framework(command, case));
        return Ok(Cow::Owned(worker));
    }
    let benchmark = rsb_workloads::find(&case.benchmark);
    let Some((name, value)) = benchmark.and_then(|benchmark| benchmark.environment(&case.params))
    else {
        return Ok(Cow::Borrowed(command));
    };
    let mut worker = command.clone();
    worker.environment.push((name, Some(value.to_owned())));
    Ok(Cow::Owned(worker))
}

/// Returns the variables of `command` that are passed to the worker of a framework: an injected
/// slowdown, and the GPU that the case is planned on. The worker makes that GPU the first visible
/// one (`python/rusty_stack_bench/workloads/gpus.py`).
fn for_framework(command: &WorkerCommand, case: &Case) -> Vec<(&'static str, Option<String>)> {
    let slowed = command.environment.iter().filter(|(name, _)| *name == SLOWDOWN);
    let mut passed: Vec<_> = slowed.cloned().collect();
    let planned = case.device.device().and_then(|device| command.pci_address(device));
    // `None` removes a value inherited from the parent's environment.
    passed.push((PCI_ADDRESS, planned.map(str::to_owned)));
    passed
}

/// A worker with its case prepared.
pub struct Worker {
    child: Child,
    /// Dropped to tell the worker to exit.
    stdin: Option<ChildStdin>,
    lines: Receiver<std::io::Result<String>>,
    stderr: Stderr,
    case: Case,
    limit: Duration,
    deadline: Instant,
    watch: Option<telemetry::TelemetryWatch>,
    /// PCI address of the GPU that runs the case, as its runtime reports it.
    pci_address: Option<String>,
    /// Power of the CPUs, if they report it and run the case.
    cpu: Option<CpuPowerWatch>,
}

/// Results of a worker at its end.
pub struct Finished {
    /// Fields of the case, including the readings of the GPU's sensors.
    pub fields: Fields,
    /// Telemetry of the GPU, if it has sensors.
    pub telemetry: Option<GpuTelemetry>,
}

impl Worker {
    /// Starts a worker and has it prepare `case`. `limit` applies to the worker's whole lifetime.
    ///
    /// # Errors
    /// If the worker cannot start, cannot run the case here, or fails.
    pub fn start(
        command: &WorkerCommand,
        case: &Case,
        limit: Duration,
    ) -> Result<(Self, DeviceType), WorkerError> {
        let command = worker_of(command, case).map_err(WorkerError::Skipped)?;
        Self::spawn_and_prepare(&command, case, limit, |_| true)
    }

    /// Does the same as [`start`](Self::start), with the worker run by `tool`; `args` precede the
    /// worker's command line. The tool's own output is ignored.
    ///
    /// # Errors
    /// Same as for [`start`](Self::start).
    pub fn start_under(
        tool: &Path,
        mut args: Vec<String>,
        command: &WorkerCommand,
        case: &Case,
        limit: Duration,
    ) -> Result<(Self, DeviceType), WorkerError> {
        let worker = worker_of(command, case).map_err(WorkerError::Skipped)?.into_owned();
        args.push(worker.program.display().to_string());
        args.extend(worker.args);
        let command = WorkerCommand { program: tool.to_owned(), args, ..worker };
        // A response is a JSON object, so all other lines are output of the tool.
        Self::spawn_and_prepare(&command, case, limit, |line| line.starts_with('{'))
    }

    fn spawn_and_prepare(
        command: &WorkerCommand,
        case: &Case,
        limit: Duration,
        is_heard: fn(&str) -> bool,
    ) -> Result<(Self, DeviceType), WorkerError> {
        let mut worker = Self::spawn(command, case, limit, is_heard).map_err(|error| {
            let program = command.program.display();
            WorkerError::Failed(Reason::new(
                "worker process",
                format!("cannot start {program}: {error}"),
                "check that the program can be executed",
            ))
        })?;
        match worker.ask(&Request::Prepare { case: case.clone() })? {
            Response::Ready { device_type, pci_address } => {
                worker.watch = pci_address.as_deref().and_then(telemetry::TelemetryWatch::begin);
                worker.pci_address = pci_address;
                let here = (device_type == DeviceType::Cpu).then(ProbeOptions::here);
                worker.cpu = here.and_then(|options| CpuPowerWatch::begin(&options).ok());
                Ok((worker, device_type))
            }
            other => Err(worker.unexpected_response(&other)),
        }
    }

    fn spawn(
        command: &WorkerCommand,
        case: &Case,
        limit: Duration,
        is_heard: fn(&str) -> bool,
    ) -> std::io::Result<Self> {
        let mut starting = Command::new(&command.program);
        judged::isolate(&mut starting);
        for (name, value) in &command.environment {
            match value {
                Some(value) => starting.env(name, value),
                None => starting.env_remove(name),
            };
        }
        if let Some(directory) = &command.directory {
            starting.current_dir(directory);
        }
        let mut child = starting
            .args(&command.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0) // Ctrl-C is for the measuring process; whatever the worker starts dies with its group.
            .spawn()?;
        let stdin = Some(child.stdin.take().ok_or_else(no_stream)?);
        let stdout = child.stdout.take().ok_or_else(no_stream)?;
        let errors = child.stderr.take().ok_or_else(no_stream)?;
        let (sender, lines) = channel();
        let mut stdout = BufReader::new(stdout);
        let answers = std::iter::from_fn(move || read_response(&mut stdout).transpose());
        let mut answers =
            answers.filter(move |line| line.as_ref().map_or(true, |line| is_heard(line)));
        std::thread::spawn(move || answers.try_for_each(|line| sender.send(line)));
        let stderr = Stderr::read(errors);
        Ok(Self {
            child,
            stdin,
            lines,
            stderr,
            case: case.clone(),
            limit,
            deadline: Instant::now() + limit,
            watch: None,
            pci_address: None,
            cpu: None,
        })
    }

    /// Returns the PCI address of the GPU that runs the case, if it is a GPU and reports it.
    pub fn pci_address(&self) -> Option<&str> {
        self.pci_address.as_deref()
    }

    /// Runs exactly `iters` iterations and returns their time in nanoseconds by the device's clock.
    ///
    /// # Errors
    /// If the worker fails or the time limit is exceeded.
    pub fn sample(&mut self, iters: u64) -> Result<f64, WorkerError> {
        if let Some(cpu) = &mut self.cpu {
            cpu.glance();
        }
        match self.ask(&Request::Sample { iters })? {
            Response::Sampled { time_ns } => Ok(time_ns),
            other => Err(self.unexpected_response(&other)),
        }
    }

    /// Runs exactly `iters` iterations and returns the number of instructions; `None` if Valgrind
    /// counts them and writes the count to its log.
    ///
    /// # Errors
    /// If nothing can count them, the worker fails, or the time limit is exceeded.
    pub fn count(&mut self, iters: u64) -> Result<Option<u64>, WorkerError> {
        let response = self.ask(&Request::Count { iters });
        // A worker treats an unknown request as the end of its input.
        if matches!(response, Err(WorkerError::Failed(_))) && has_left(&mut self.child) {
            let why = "the program was built before `--metric instructions` was added";
            return Err(WorkerError::Failed(Reason::new(
                "instructions",
                why,
                "compare with a later revision",
            )));
        }
        match response? {
            Response::Counted { instructions } => Ok(instructions),
            other => Err(self.unexpected_response(&other)),
        }
    }

    /// Tells the worker to exit, and waits until it has.
    ///
    /// # Errors
    /// If the worker fails, or the time limit is exceeded.
    pub fn leave(mut self) -> Result<(), WorkerError> {
        self.stdin = None;
        loop {
            if interrupt::is_requested() {
                return Err(WorkerError::Interrupted);
            }
            let left = self.deadline.saturating_duration_since(Instant::now());
            match wait_until(left.min(GLANCE), || self.child.try_wait().ok().flatten()) {
                Some(status) if status.success() => return Ok(()),
                Some(_) => return Err(self.death_error()),
                None if left.is_zero() => return Err(self.too_slow()),
                None => {}
            }
        }
    }

    /// Returns the case's fields, given the time of one iteration in nanoseconds.
    ///
    /// # Errors
    /// If the worker fails or rejects the time as impossible.
    pub fn finish(mut self, time_ns: f64) -> Result<Finished, WorkerError> {
        // Telemetry ends before this request, because later readings do not belong to the case.
        let telemetry = self.watch.take().map(telemetry::TelemetryWatch::end);
        let watts = self.cpu.take().and_then(CpuPowerWatch::end);
        match self.ask(&Request::Finish { time_ns })? {
            Response::Finished { mut fields } => {
                if let Some(telemetry) = &telemetry {
                    telemetry::add_fields(&mut fields, telemetry);
                }
                if let Some(watts) = watts {
                    fields.set(telemetry::CPU_POWER, watts);
                }
                if let Some(address) = self.pci_address.take() {
                    fields.set("pci_address", address);
                }
                Ok(Finished { fields, telemetry })
            }
            other => Err(self.unexpected_response(&other)),
        }
    }

    fn ask(&mut self, request: &Request) -> Result<Response, WorkerError> {
        let written =
            serde_json::to_string(request).map_err(std::io::Error::from).and_then(|mut line| {
                line.push('\n');
                self.stdin.as_mut().map_or(Ok(()), |stdin| stdin.write_all(line.as_bytes()))
            });
        if written.is_err() {
            return Err(self.death_error());
        }
        match self.wait()? {
            Response::Skipped { reason } => Err(WorkerError::Skipped(reason)),
            Response::Failed { .. } if interrupt::is_requested() => Err(WorkerError::Interrupted),
            Response::Failed { reason } => Err(WorkerError::Failed(reason)),
            Response::Gone { reason } => Err(WorkerError::Gone(reason)),
            response => Ok(response),
        }
    }

    fn wait(&mut self) -> Result<Response, WorkerError> {
        loop {
            if interrupt::is_requested() {
                return Err(WorkerError::Interrupted);
            }
            let left = self.deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left.min(GLANCE)) {
                Ok(Ok(line)) => {
                    return serde_json::from_str(&line).map_err(|error| {
                        let line = shorten(&line, SHOWN_CHARACTERS);
                        WorkerError::Failed(Reason::new(
                            self.what(),
                            format!("cannot parse its worker's response `{line}`: {error}"),
                            "report this as a bug",
                        ))
                    });
                }
                Ok(Err(error)) => return Err(self.unreadable(&error)),
                Err(RecvTimeoutError::Disconnected) => return Err(self.death_error()),
                Err(RecvTimeoutError::Timeout) if left.is_zero() => return Err(self.too_slow()),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn what(&self) -> String {
        format!("case {}", self.case.id)
    }

    fn too_slow(&mut self) -> WorkerError {
        self.kill();
        let why =
            format!("it did not end within {} s{}", self.limit.as_secs_f64(), self.last_words());
        WorkerError::Failed(Reason::new(
            self.what(),
            why,
            "choose a smaller size, or a longer limit with --timeout",
        ))
    }

    fn death_error(&mut self) -> WorkerError {
        let ended = self.wait_briefly();
        self.kill_group(); // Whatever it started has lost its master.
        if ended.is_some_and(was_stopped_with_this_program) {
            return WorkerError::Interrupted;
        }
        let why = match ended {
            Some(status) => format!("its process {}{}", describe(status), self.last_words()),
            None => format!("its process stopped answering{}", self.last_words()),
        };
        WorkerError::Failed(Reason::new(
            self.what(),
            why,
            "run only this case with --replicates 1 and RSB_LOG=debug for details",
        ))
    }

    fn unreadable(&mut self, error: &std::io::Error) -> WorkerError {
        self.kill();
        WorkerError::Failed(Reason::new(
            self.what(),
            format!("cannot read its worker's response: {error}{}", self.last_words()),
            "let the worker print to standard error, or report this as a bug",
        ))
    }

    fn unexpected_response(&self, response: &Response) -> WorkerError {
        WorkerError::Failed(Reason::new(
            self.what(),
            format!("its worker sent an unexpected response: {response:?}"),
            "report this as a bug",
        ))
    }

    /// Returns the exit status, if the process ends within a second.
    fn wait_briefly(&mut self) -> Option<ExitStatus> {
        wait_until(Duration::from_secs(1), || self.child.try_wait().ok().flatten())
    }

    fn last_words(&self) -> String {
        let lines = self.stderr.last_lines();
        if lines.is_empty() {
            String::new()
        } else {
            format!("; its last lines: {}", lines.join(" | "))
        }
    }

    fn kill(&mut self) {
        if let Ok(Some(_)) = self.child.try_wait() {
            return;
        }
        self.kill_group();
        let _ = self.child.wait();
    }

    fn kill_group(&self) {
        let group = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw);
        if let Some(group) = group {
            // Killing the group fails if it has already ended; ignored.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

fn no_stream() -> std::io::Error {
    std::io::Error::other("cannot open its standard streams")
}

/// Returns whether a worker has exited on its own, with success.
fn has_left(child: &mut Child) -> bool {
    child.try_wait().is_ok_and(|ended| ended.is_some_and(|how| how.success()))
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The last lines of a worker's error output, read while it runs.
struct Stderr {
    lines: Arc<Mutex<VecDeque<String>>>,
    reader: JoinHandle<()>,
}

impl Stderr {
    fn read(errors: ChildStderr) -> Self {
        let lines = Arc::new(Mutex::new(VecDeque::new()));
        let kept = Arc::clone(&lines);
        let reader = std::thread::spawn(move || keep_last_lines(BufReader::new(errors), &kept));
        Self { lines, reader }
    }

    /// Returns the lines after the worker's death. Waits up to a second for the reader to finish,
    /// in case a child of the worker holds the pipe open.
    fn last_lines(&self) -> Vec<String> {
        wait_until(Duration::from_secs(1), || self.reader.is_finished().then_some(()));
        self.lines.lock().map(|lines| lines.iter().cloned().collect()).unwrap_or_default()
    }
}

/// Calls `ask` repeatedly for up to `limit`, and returns its first result.
fn wait_until<T>(limit: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let until = Instant::now() + limit;
    loop {
        match ask() {
            None if Instant::now() < until => std::thread::sleep(Duration::from_millis(2)),
            answer => return answer,
        }
    }
}

/// Reads the next line of a worker's standard output; `None` at the end.
///
/// # Errors
/// If it cannot be read, is longer than [`MAX_RESPONSE_BYTES`], or is not UTF-8.
fn read_response(stdout: &mut impl BufRead) -> std::io::Result<Option<String>> {
    let mut line = read_line(stdout, MAX_RESPONSE_BYTES)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.ends_with(b"\n") {
        line.pop();
    } else if line.len() as u64 == MAX_RESPONSE_BYTES {
        let why = format!("a line is longer than {} MiB", MAX_RESPONSE_BYTES >> 20);
        return Err(std::io::Error::new(ErrorKind::InvalidData, why));
    }
    let line = String::from_utf8(line);
    line.map(Some).map_err(|error| std::io::Error::new(ErrorKind::InvalidData, error))
}

/// Reads up to and including the next newline, but at most `limit` bytes; none at the end.
fn read_line(pipe: &mut impl BufRead, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut line = Vec::new();
    pipe.take(limit).read_until(b'\n', &mut line)?;
    Ok(line)
}

fn keep_last_lines(mut errors: impl BufRead, kept: &Mutex<VecDeque<String>>) {
    while let Ok(line) = read_line(&mut errors, MAX_ERROR_LINE_BYTES)
        && !line.is_empty()
    {
        // Not every library prints UTF-8.
        let line = String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned();
        tracing::debug!(target: "worker", "{line}");
        if let Ok(mut kept) = kept.lock() {
            if kept.len() == KEPT_LINES {
                kept.pop_front();
            }
            kept.push_back(line);
        }
    }
}

/// Returns whether the worker was ended by a signal that also stops this program. A scheduler sends
/// it to every process of a job, and the worker may end before this program handles its own signal.
fn was_stopped_with_this_program(status: ExitStatus) -> bool {
    let is_stop = [rustix::process::Signal::INT, rustix::process::Signal::TERM]
        .map(|signal| Some(signal.as_raw()));
    is_stop.contains(&status.signal())
        && wait_until(Duration::from_secs(1), || interrupt::is_requested().then_some(())).is_some()
}

fn describe(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("was killed by signal {signal}{}", signal_name(signal)),
        (None, Some(code)) => format!("ended with exit code {code}"),
        (None, None) => "ended".to_owned(),
    }
}

const fn signal_name(signal: i32) -> &'static str {
    match signal {
        4 => " (SIGILL)",
        6 => " (SIGABRT)",
        7 => " (SIGBUS)",
        8 => " (SIGFPE)",
        9 => " (SIGKILL; the system may have run out of memory)",
        11 => " (SIGSEGV)",
        15 => " (SIGTERM)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_model::{CaseId, Params};

    fn shell(script: &str) -> WorkerCommand {
        WorkerCommand {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), script.into()],
            environment: vec![],
            directory: None,
            pci_addresses: vec![],
        }
    }

    fn failure(script: &str, limit: Duration) -> Reason {
        let case = Case {
            id: CaseId::from_segments(&["cpu_performance", "gemm"]),
            benchmark: "gemm".into(),
            benchmark_type: BenchmarkType::CpuPerformance,
            device: rsb_model::DeviceRef::CPU.into(),
            params: Params::new(),
        };
        match Worker::start(&shell(script), &case, limit) {
            Err(WorkerError::Failed(reason)) => reason,
            Err(other) => panic!("{other:?}"),
            Ok(_) => panic!("the worker must not start"),
        }
    }

    #[test]
    fn every_way_to_die_names_the_case_and_what_happened() {
        let long = Duration::from_mins(1);
        for (script, expected) in [
            ("kill -SEGV $$", "SIGSEGV"),
            ("kill -BUS $$", "SIGBUS"),
            ("kill -KILL $$", "SIGKILL"),
            ("echo last words >&2; exit 7", "exit code 7; its last lines: last words"),
            ("read x; echo chatter; exec sleep 60", "chatter"),
        ] {
            let reason = failure(script, long);
            assert!(reason.why.contains(expected), "{script}: {reason}");
            assert!(reason.what.contains("cpu_performance/gemm"));
            assert!(!reason.cure.is_empty());
        }
    }

    #[test]
    fn a_worker_that_hangs_is_ended_with_its_children() {
        let reason = failure("sleep 600 & sleep 600", Duration::from_millis(200));
        assert!(reason.why.contains("did not end within 0.2 s"), "{reason}");
        assert!(reason.cure.contains("--timeout"));
    }

    #[test]
    fn a_worker_that_ignores_sigterm_is_ended_at_its_limit() {
        let reason = failure("trap '' TERM; sleep 600", Duration::from_millis(200));
        assert!(reason.why.contains("did not end within 0.2 s"), "{reason}");
    }

    #[test]
    fn a_worker_that_closes_its_pipes_is_ended_at_once() {
        let reason = failure("exec <&- >&-; exec sleep 600", Duration::from_mins(10));
        assert!(reason.why.contains("stopped answering"), "{reason}");
    }

    #[test]
    fn a_worker_that_prints_a_line_without_end_is_ended_at_64_mib() {
        let script = "head -c 70000000 /dev/zero; exec sleep 600";
        let reason = failure(script, Duration::from_mins(10));
        assert!(reason.why.contains("a line is longer than 64 MiB"), "{reason}");
        assert!(reason.cure.contains("standard error"), "{reason}");
    }

    #[test]
    fn long_error_output_that_is_not_text_leaves_the_last_words() {
        let script = "head -c 3000000 /dev/zero | tr '\\0' '\\377' >&2; echo >&2; \
                      echo last words >&2; exit 7";
        let reason = failure(script, Duration::from_mins(1));
        assert!(reason.why.ends_with(" | last words"), "{reason}");
        let most = KEPT_LINES * 3 * MAX_ERROR_LINE_BYTES as usize;
        assert!(reason.why.len() < 2 * most, "{} bytes are kept", reason.why.len());
    }

    #[test]
    fn the_worker_of_a_framework_is_told_which_gpu_it_must_be() {
        let devices = [gpu(0, "0000:03:00.0"), gpu(3, "0000:c3:00.0"), gpu(4, "")];
        let command = shell("").with_slowdown(Some("vllm=2".into())).planned_on(&devices);
        for (device, address) in
            [("rocm:3", Some("0000:c3:00.0")), ("rocm:4", None), ("rocm:7", None), ("cpu:0", None)]
        {
            let case = Case {
                id: CaseId::from_segments(&["component_specific", "vllm", device]),
                benchmark: "vllm".into(),
                benchmark_type: BenchmarkType::ComponentSpecific,
                device: device.parse().unwrap(),
                params: Params::new(),
            };
            let expected =
                [(SLOWDOWN, Some("vllm=2".to_owned())), (PCI_ADDRESS, address.map(str::to_owned))];
            assert_eq!(for_framework(&command, &case), expected, "{device}");
        }
    }

    fn gpu(index: u32, address: &str) -> rsb_model::RunDevice {
        rsb_model::RunDevice {
            device: rsb_model::DeviceRef { backend: rsb_model::BackendId::Rocm, index },
            name: "MI210".into(),
            device_type: DeviceType::Gpu,
            pci_address: (!address.is_empty()).then(|| address.to_owned()),
            driver: None,
        }
    }

    #[test]
    fn a_program_that_is_not_there_is_a_reason() {
        let command = WorkerCommand::of("/nonexistent/worker".into());
        let case = Case {
            id: CaseId::from_segments(&["a"]),
            benchmark: "a".into(),
            benchmark_type: BenchmarkType::CpuPerformance,
            device: rsb_model::DeviceRef::CPU.into(),
            params: Params::new(),
        };
        assert!(matches!(
            Worker::start(&command, &case, Duration::from_secs(1)),
            Err(WorkerError::Failed(_))
        ));
    }
}
