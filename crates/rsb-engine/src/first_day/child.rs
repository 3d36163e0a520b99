//! First-day tasks in a child process, because a compiler or a driver may crash or hang: compiling
//! one module, or testing verification with mutants on one device. The child is this program with
//! [`ARGUMENT`]. It writes its answer to a file, because vendors' libraries print to both streams.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use rsb_device::compiler::{Job, Level};
use rsb_device::reference::mutation;
use rsb_device::{Device, DeviceError, Operation, Options, Registry};
use rsb_model::{DeviceRef, Reason};
use rsb_workloads::Breadth;
use serde::Serialize;
use serde::de::DeserializeOwned;
use timed_child::Stderr;

use super::evidence::OperationMutants;

/// First argument of such a child, followed by the task and the path of the answer file.
pub(crate) const ARGUMENT: &str = "__first-day";

const COMPILE: &str = "compile";
const MUTATE: &str = "mutate";

/// Maximum size of an operation for mutants, in bytes of its buffers.
const LARGEST: u64 = 16 << 20;

/// Performs the task named by `arguments`, which follow [`ARGUMENT`].
pub(crate) fn answer(backends: &Registry, mut arguments: impl Iterator<Item = String>) -> ExitCode {
    let (task, file) = (arguments.next().unwrap_or_default(), arguments.next().unwrap_or_default());
    let rest: Vec<String> = arguments.collect();
    let written = match (task.as_str(), rest.as_slice()) {
        (COMPILE, [device, arch, source, code]) => {
            write(&file, &compile(backends, device, arch, source, code))
        }
        (MUTATE, [device, seconds]) => {
            let time = Duration::from_secs(seconds.parse().unwrap_or(0));
            write(&file, &mutate(backends, device, time))
        }
        _ => return ExitCode::FAILURE,
    };
    if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn write(file: &str, answer: &impl Serialize) -> std::io::Result<()> {
    std::fs::write(file, serde_json::to_vec(answer)?)
}

/// Runs `task` with `arguments` in a child of `program`.
///
/// # Errors
/// The child's error; or how the child ended, if it crashed or took longer than `limit`.
fn ask<T: DeserializeOwned>(
    program: &Path,
    task: &str,
    arguments: &[&str],
    limit: Duration,
) -> Result<T, Reason> {
    let what = format!("{task} {}", arguments.first().copied().unwrap_or_default());
    let dir = tempfile::tempdir().map_err(|error| {
        failure_of(&what, format!("cannot create a temporary directory: {error}"))
    })?;
    let file = dir.path().join("answer.json");
    let mut command = Command::new(program);
    command.args([ARGUMENT, task]).arg(&file).args(arguments).env("AMD_COMGR_CACHE", "0");
    let ended = timed_child::run(&mut command, Stderr::Keep, limit).map_err(|error| {
        failure_of(&what, format!("cannot start {}: {error}", program.display()))
    })?;
    // An answer counts even if the driver hangs during shutdown.
    if let Ok(bytes) = std::fs::read(&file) {
        let answer: Result<Result<T, Reason>, _> = serde_json::from_slice(&bytes);
        return answer
            .map_err(|error| failure_of(&what, format!("cannot parse its response: {error}")))?;
    }
    let last = ended.stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let why = match ended.status {
        Some(status) => {
            format!("the process exited unexpectedly ({status}): {last}").trim_end().to_owned()
        }
        None => format!("it did not end within {} s", limit.as_secs()),
    };
    Err(failure_of(&what, why))
}

fn failure_of(task: &str, why: String) -> Reason {
    Reason::new(task, why, "run the vendor's own tool; if it fails too, reinstall the driver")
}

/// Compiles the module `source` for `arch` into the file `code`, in a child of `program`.
///
/// # Errors
/// If it does not compile, or the compiler crashes or hangs.
pub(super) fn compile_in_child(
    program: &Path,
    device: DeviceRef,
    arch: &str,
    source: &str,
    code: &Path,
    limit: Duration,
) -> Result<(), Reason> {
    let (device, code) = (device.to_string(), code.display().to_string());
    ask(program, COMPILE, &[&device, arch, source, &code], limit)
}

fn compile(
    backends: &Registry,
    device: &str,
    arch: &str,
    source: &str,
    code: &str,
) -> Result<(), Reason> {
    let device: DeviceRef = device.parse().map_err(|error| wrong_device(device, &error))?;
    let object = backends.compiler(device.backend)?.compile(&Job::cold(source, arch, Level::O3))?;
    std::fs::write(code, object.bytes).map_err(|error| {
        Reason::new(
            source,
            format!("cannot write the compiled code: {error}"),
            "set TMPDIR to a writable directory with free space",
        )
    })
}

fn wrong_device(device: &str, error: &rsb_model::ids::ParseIdError) -> Reason {
    Reason::new(
        format!("device {device}"),
        error.to_string(),
        "name a backend and a position, such as rocm:0",
    )
}

/// Tests verification on `device` with mutants of one operation of each kind and type, in a child
/// of `program`.
///
/// # Errors
/// If the device cannot be opened, or the driver crashes or hangs.
pub(super) fn mutants(
    program: &Path,
    device: DeviceRef,
    limit: Duration,
) -> Result<Vec<OperationMutants>, Reason> {
    // The child stops before its time limit, so that its results can be used.
    let seconds = (limit * 3 / 4).as_secs().to_string();
    ask(program, MUTATE, &[&device.to_string(), &seconds], limit)
}

fn mutate(
    backends: &Registry,
    device: &str,
    time: Duration,
) -> Result<Vec<OperationMutants>, Reason> {
    let until = Instant::now() + time;
    let device = backends.open(device)?;
    Ok(mutants_of(&*device, survivors, || Instant::now() < until))
}

/// Function that tests verification with the mutants of one operation. Returns the number of
/// mutants tested and the accepted ones.
pub(super) type Survivors = fn(&dyn Device, &Operation) -> Result<OperationMutants, DeviceError>;

/// Tests verification with mutants of each of [`operations`] on `device`, while `has_time` returns
/// `true`.
pub(super) fn mutants_of(
    device: &dyn Device,
    survivors: Survivors,
    has_time: impl Fn() -> bool,
) -> Vec<OperationMutants> {
    let mut found = Vec::new();
    for operation in operations(device) {
        let dtype = operation.dtype().map(|dtype| format!(" {dtype}")).unwrap_or_default();
        let name = format!("{}{dtype}", operation.name());
        if !has_time() {
            let late =
                Reason::new(name.as_str(), "the check ran out of time", "run it with --check 5");
            found.push(OperationMutants {
                operation: name,
                skipped: Some(late),
                ..OperationMutants::default()
            });
            continue;
        }
        found.push(match survivors(device, &operation) {
            Ok(outcome) => OperationMutants { operation: name, ..outcome },
            Err(DeviceError::Unsupported(reason)) => OperationMutants {
                operation: name,
                skipped: Some(reason),
                ..OperationMutants::default()
            },
            Err(DeviceError::Failed(reason)) => OperationMutants {
                operation: name,
                failed: Some(reason),
                ..OperationMutants::default()
            },
        });
    }
    found
}

/// Returns the smallest operation of each kind and data type among the quick cases.
fn operations(device: &dyn Device) -> Vec<Operation> {
    let mut smallest: BTreeMap<(String, String), Operation> = BTreeMap::new();
    for benchmark in rsb_workloads::all() {
        let cases = rsb_workloads::cases(*benchmark, device.info(), Breadth::Quick, &[])
            .unwrap_or_default();
        for case in cases.into_iter().filter_map(Result::ok) {
            let Ok(operation) = benchmark.operation(&case.params) else { continue };
            let works_on_data = operation.buffers().iter().any(|buffer| buffer.bytes() > 0)
                && !matches!(
                    operation,
                    Operation::Launch(_) | Operation::Allocate(_) | Operation::Churn(_)
                );
            if !works_on_data || operation.footprint_bytes() > LARGEST {
                continue;
            }
            let dtype = operation.dtype().map(|dtype| dtype.to_string()).unwrap_or_default();
            let key = (operation.name().to_owned(), dtype);
            let is_smaller = smallest
                .get(&key)
                .is_none_or(|known| operation.footprint_bytes() < known.footprint_bytes());
            if is_smaller {
                smallest.insert(key, operation);
            }
        }
    }
    smallest.into_values().collect()
}

/// Tests verification with the mutants of `operation` on `device`, with one seed.
fn survivors(device: &dyn Device, operation: &Operation) -> Result<OperationMutants, DeviceError> {
    const SEED: u64 = 1;
    let report = mutation::survivors(device, operation, &Options::default(), SEED)?;
    let survived = report.survived.iter().map(ToString::to_string).collect();
    Ok(OperationMutants { tried: report.tried.len(), survived, ..OperationMutants::default() })
}
