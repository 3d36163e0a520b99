//! The near end of a worker: starts it, asks, waits with a limit, and turns its death into a
//! reason.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rsb_model::protocol::{PCI_ADDRESS, Request, Response, SLOWDOWN};
use rsb_model::telemetry::GpuTelemetry;
use rsb_model::{BenchmarkType, Case, DeviceType, Fields, Reason};
use rsb_probe::ProbeOptions;
use rsb_probe::energy::CpuPowerWatch;

use super::{interrupt, telemetry};
use crate::judged;
use crate::worker_command::WorkerCommand;

/// Lines of a worker's error output that are kept for its failure.
const KEPT_LINES: usize = 12;
/// How often a wait looks for Ctrl-C.
const GLANCE: Duration = Duration::from_millis(100);

/// Why a case has no figures.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkerError {
    /// It cannot run here.
    Skipped(Reason),
    /// It broke.
    Failed(Reason),
    /// Its device was there when it was planned and cannot be opened now.
    Gone(Reason),
    /// Somebody pressed Ctrl-C.
    Interrupted,
}

/// The worker of `case`: frameworks have one of their own, beside the program of `command`.
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

/// What `command` passes on to the worker of a framework: a slow-down on purpose, and which GPU the
/// case is planned on. The worker itself makes that GPU the first one visible
/// (`python/rusty_stack_bench/workloads/gpus.py`).
fn for_framework(command: &WorkerCommand, case: &Case) -> Vec<(&'static str, Option<String>)> {
    let slowed = command.environment.iter().filter(|(name, _)| *name == SLOWDOWN);
    let mut passed: Vec<_> = slowed.cloned().collect();
    let planned = case.device.device().and_then(|device| command.pci_address(device));
    // None removes what another program may have left there.
    passed.push((PCI_ADDRESS, planned.map(str::to_owned)));
    passed
}

/// A worker with its case prepared.
pub struct Worker {
    child: Child,
    /// Until it is to leave.
    stdin: Option<ChildStdin>,
    lines: Receiver<std::io::Result<String>>,
    stderr: Stderr,
    case: Case,
    limit: Duration,
    deadline: Instant,
    watch: Option<telemetry::TelemetryWatch>,
    /// Address on the bus of the GPU that it works on, as its runtime reports it.
    pci_address: Option<String>,
    /// Of the CPUs, where they tell their power and do the work.
    cpu: Option<CpuPowerWatch>,
}

/// What a worker leaves behind.
pub struct Finished {
    /// The fields of its case, with what the GPU's sensors said.
    pub fields: Fields,
    /// How the GPU was, where there is one with sensors.
    pub telemetry: Option<GpuTelemetry>,
}

impl Worker {
    /// Starts a worker and has it prepare `case`; everything together may take `limit`.
    ///
    /// # Errors
    /// When it cannot start, cannot run the case here, or breaks.
    pub fn start(
        command: &WorkerCommand,
        case: &Case,
        limit: Duration,
    ) -> Result<(Self, DeviceType), WorkerError> {
        let command = worker_of(command, case).map_err(WorkerError::Skipped)?;
        Self::spawn_and_prepare(&command, case, limit, |_| true)
    }

    /// As [`start`](Self::start), run by a tool with these arguments before those of the worker.
    /// What the tool says itself is not heard.
    ///
    /// # Errors
    /// As [`start`](Self::start).
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
        // An answer is an object.
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
        let answers = BufReader::new(stdout).lines();
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

    /// Address on the bus of the GPU that it works on, if it is one and reports it.
    pub fn pci_address(&self) -> Option<&str> {
        self.pci_address.as_deref()
    }

    /// Runs exactly `iters` iterations; nanoseconds by the device's clock.
    ///
    /// # Errors
    /// When the worker breaks or the time is up.
    pub fn sample(&mut self, iters: u64) -> Result<f64, WorkerError> {
        if let Some(cpu) = &mut self.cpu {
            cpu.glance();
        }
        match self.ask(&Request::Sample { iters })? {
            Response::Sampled { time_ns } => Ok(time_ns),
            other => Err(self.unexpected_response(&other)),
        }
    }

    /// Runs exactly `iters` iterations and counts their instructions; none where Valgrind counts
    /// them.
    ///
    /// # Errors
    /// When nothing counts, the worker breaks, or the time is up.
    pub fn count(&mut self, iters: u64) -> Result<Option<u64>, WorkerError> {
        let asked = self.ask(&Request::Count { iters });
        // What a worker does not understand it takes for the end.
        if matches!(asked, Err(WorkerError::Failed(_))) && has_left(&mut self.child) {
            let why = "its program cannot count them: it was built before `--metric instructions`";
            return Err(WorkerError::Failed(Reason::new(
                "instructions",
                why,
                "compare with a later revision",
            )));
        }
        match asked? {
            Response::Counted { instructions } => Ok(instructions),
            other => Err(self.unexpected_response(&other)),
        }
    }

    /// Lets the worker leave, and waits until it has.
    ///
    /// # Errors
    /// When it breaks, or the time is up.
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

    /// The case's fields, given the time of one iteration.
    ///
    /// # Errors
    /// When the worker breaks or refuses the figure as impossible.
    pub fn finish(mut self, time_ns: f64) -> Result<Finished, WorkerError> {
        // What is measured beside the case does not belong to it.
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
        let asked =
            serde_json::to_string(request).map_err(std::io::Error::from).and_then(|mut line| {
                line.push('\n');
                self.stdin.as_mut().map_or(Ok(()), |stdin| stdin.write_all(line.as_bytes()))
            });
        if asked.is_err() {
            return Err(self.death_error());
        }
        match self.wait()? {
            Response::Skipped { reason } => Err(WorkerError::Skipped(reason)),
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
                        WorkerError::Failed(Reason::new(
                            self.what(),
                            format!("its worker said `{line}`: {error}"),
                            "report this as a bug",
                        ))
                    });
                }
                Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => return Err(self.death_error()),
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
        let why = match ended {
            Some(status) => format!("its process {}{}", describe(status), self.last_words()),
            None => format!("its process stopped answering{}", self.last_words()),
        };
        WorkerError::Failed(Reason::new(
            self.what(),
            why,
            "run it alone with --replicates 1 and RSB_LOG=debug to see more",
        ))
    }

    fn unexpected_response(&self, response: &Response) -> WorkerError {
        WorkerError::Failed(Reason::new(
            self.what(),
            format!("its worker answered out of turn: {response:?}"),
            "report this as a bug",
        ))
    }

    /// The exit status, when the process ends within a second.
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
            // It may have ended in between: then there is nothing to kill.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

fn no_stream() -> std::io::Error {
    std::io::Error::other("its streams cannot be opened")
}

/// Whether a worker has ended by itself, and well.
fn has_left(child: &mut Child) -> bool {
    child.try_wait().is_ok_and(|ended| ended.is_some_and(|how| how.success()))
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The last lines of a worker's error output, read while it lives.
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

    /// Asked after the worker's death: what it wrote may still be on its way, unless a child of it
    /// holds the pipe open.
    fn last_lines(&self) -> Vec<String> {
        wait_until(Duration::from_secs(1), || self.reader.is_finished().then_some(()));
        self.lines.lock().map(|lines| lines.iter().cloned().collect()).unwrap_or_default()
    }
}

/// What `ask` gives, asked again and again for `limit` at most.
fn wait_until<T>(limit: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let until = Instant::now() + limit;
    loop {
        match ask() {
            None if Instant::now() < until => std::thread::sleep(Duration::from_millis(2)),
            answer => return answer,
        }
    }
}

fn keep_last_lines(errors: impl BufRead, kept: &Mutex<VecDeque<String>>) {
    for line in errors.lines().map_while(Result::ok) {
        tracing::debug!(target: "worker", "{line}");
        if let Ok(mut kept) = kept.lock() {
            if kept.len() == KEPT_LINES {
                kept.pop_front();
            }
            kept.push_back(line);
        }
    }
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
            Ok(_) => panic!("it started"),
        }
    }

    #[test]
    fn every_way_to_die_names_the_case_and_what_happened() {
        let long = Duration::from_mins(1);
        for (script, expected) in [
            ("kill -SEGV $$", "SIGSEGV"),
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
