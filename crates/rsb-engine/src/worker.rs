//! The worker side: prepares one case, takes samples on request, and exits.

use std::io::{BufRead, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;

use rsb_catalog::backends::registry;
use rsb_catalog::custom;
use rsb_cpu::bind_near;
use rsb_cpu::instructions::{self, InstructionCount};
use rsb_device::{Device, Registry};
use rsb_model::protocol::{Request, Response};
use rsb_model::{Case, Reason};
use rsb_probe::ProbeOptions;
use rsb_workloads::Failure;

use crate::measure::inject;
use crate::memory_profile;

/// Runs this process as a child of this program if its arguments request that: as a worker, or to
/// query devices or a compiler. Returns `None` otherwise.
pub fn as_child() -> Option<ExitCode> {
    as_child_of(&registry())
}

/// Does the same as [`as_child`] with the given backends.
pub fn as_child_of(backends: &Registry) -> Option<ExitCode> {
    let mut arguments =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    match arguments.next()?.as_str() {
        rsb_model::protocol::WORKER_ARGUMENT => Some(serve(backends)),
        rsb_device::child::ARGUMENT => {
            die_with_parent();
            let answered =
                rsb_device::child::answer(backends, &arguments.next().unwrap_or_default());
            Some(if answered.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        rsb_device::child::COMPILES_ARGUMENT => {
            die_with_parent();
            let backend = arguments.next().unwrap_or_default();
            let answered =
                rsb_device::child::answer_compiles(backends, &backend, arguments.next().as_deref());
            Some(if answered.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        crate::first_day::CHILD_ARGUMENT => {
            die_with_parent();
            Some(crate::first_day::as_child(backends, arguments))
        }
        _ => None,
    }
}

/// Makes the system kill this process when its parent dies for any reason.
fn die_with_parent() {
    // If the system does not support this, a worker still exits at the end of its input.
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
}

/// Serves one case on standard input and output.
pub fn serve(backends: &Registry) -> ExitCode {
    die_with_parent();
    let Ok(mut answers) = private_stdout() else { return ExitCode::FAILURE };
    let mut requests = std::io::stdin()
        .lock()
        .lines()
        .map_while(Result::ok)
        .map_while(|line| serde_json::from_str(&line).ok());
    let Some(Request::Prepare { case }) = requests.next() else { return ExitCode::FAILURE };
    let mut answer = |response: Response| -> std::io::Result<()> {
        let mut line = serde_json::to_string(&response)?;
        line.push('\n');
        answers.write_all(line.as_bytes())
    };
    // Write errors are ignored, because they mean that the parent process has gone.
    let device = match open(&case, backends) {
        Ok(device) => device,
        Err(reason) => {
            let _ = answer(reason);
            return ExitCode::SUCCESS;
        }
    };
    let _ = match converse(&case, &*device, backends, &mut requests, &mut answer) {
        Ok(()) => Ok(()),
        Err(Failure::Skipped(reason)) => answer(Response::Skipped { reason }),
        Err(Failure::Failed(reason)) => answer(Response::Failed { reason }),
    };
    ExitCode::SUCCESS
}

/// Opens the device of `case`, or returns the response to send. Cases are planned on available
/// devices, so a device that cannot be opened has disappeared, unless this build lacks the backend.
fn open(case: &Case, backends: &Registry) -> Result<Box<dyn Device>, Response> {
    backends.open(&case.device.to_string()).map_err(|reason| match case.device.backend() {
        Some(backend) if backends.find(backend).is_some() => Response::Gone { reason },
        _ => Response::Skipped { reason },
    })
}

fn converse(
    case: &Case,
    device: &dyn Device,
    backends: &Registry,
    requests: &mut dyn Iterator<Item = Request>,
    answer: &mut dyn FnMut(Response) -> std::io::Result<()>,
) -> Result<(), Failure> {
    let benchmark = custom::find(&case.benchmark).map_err(Failure::Failed)?;
    // Bind the thread before any allocation: pinned memory is placed on the NUMA node of the thread
    // that allocates it.
    let numa_node = device
        .pci_address()
        .and_then(|address| bind_near(&ProbeOptions::here().pci_device(&address)));
    let mut prepared = benchmark.prepare_with(&case.params, device, backends)?;
    let device_type = prepared.device_type().unwrap_or(device.info().device_type);
    let mut ledger = memory_profile::Ledger::of(device);
    answer(Response::Ready { device_type, pci_address: device.pci_address() })
        .map_err(|error| unread_answer(&error))?;
    for request in requests {
        match request {
            Request::Sample { iters } => {
                let time_ns = ledger.around(iters, || prepared.sample(iters))?;
                answer(Response::Sampled { time_ns: inject::slow_down(&case.id, time_ns) })
                    .map_err(|error| unread_answer(&error))?;
            }
            Request::Count { iters } => {
                let iters = inject::more_work(&case.id, iters);
                let counted = instructions::count_instructions(|| prepared.sample(iters));
                let (worked, count) = counted.map_err(Failure::Skipped)?;
                worked?;
                let instructions = match count {
                    InstructionCount::Counted(count) => Some(count),
                    InstructionCount::ByValgrind => None,
                };
                answer(Response::Counted { instructions })
                    .map_err(|error| unread_answer(&error))?;
            }
            Request::Finish { time_ns } => {
                let mut fields = prepared.fields(time_ns)?;
                fields.extend(ledger.fields());
                if let Some(node) = numa_node {
                    fields.set("numa_node", node);
                }
                return answer(Response::Finished { fields })
                    .map_err(|error| unread_answer(&error));
            }
            Request::Prepare { .. } => break,
        }
    }
    Ok(())
}

fn unread_answer(error: &std::io::Error) -> Failure {
    Failure::Failed(Reason::new(
        "worker",
        format!("cannot send a response: {error}"),
        "start it with `run`",
    ))
}

/// Returns the original standard output for responses only, and redirects the output of libraries
/// to standard error.
fn private_stdout() -> std::io::Result<std::fs::File> {
    let own = std::io::stdout().as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdout(std::io::stderr())?;
    Ok(own.into())
}
