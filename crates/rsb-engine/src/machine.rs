//! The machine: devices of every backend, sensors, environment.

use std::path::Path;

use rsb_catalog::plan::Plan;
use rsb_catalog::selection::Machine;
use rsb_device::{Absence, DeviceInfo};
use rsb_model::{BackendId, Environment, Reason};
use rsb_probe::ProbeOptions;

use crate::measure;

/// Returns the available devices, and for the other backends why they have none.
pub fn here() -> Machine {
    let sensors = rsb_probe::telemetry::gpus(&ProbeOptions::here());
    let mut machine = with(|_| true);
    machine.sensors = sensors.into_iter().filter_map(|gpu| gpu.pci_address).collect();
    let absent = rsb_catalog::suites::absent_backends();
    machine
        .missing
        .extend(absent.into_iter().filter(|(id, _)| !rsb_catalog::backends::has_backend(*id)));
    machine
}

/// Returns only the CPU, for host workloads; no driver is loaded.
pub fn host() -> Machine {
    with(|id| id == BackendId::Cpu)
}

fn with(is_wanted: impl Fn(BackendId) -> bool) -> Machine {
    let readiness = crate::python_worker::readiness;
    let mut machine = Machine {
        devices: Vec::new(),
        missing: Vec::new(),
        broken: Vec::new(),
        sensors: Vec::new(),
        readiness,
    };
    for (backend, answer) in every_backend(is_wanted) {
        match answer {
            Ok(devices) => machine.devices.extend(devices),
            Err(Absence::Missing(reason)) => machine.missing.push((backend, reason)),
            Err(Absence::Broken(reason)) => {
                machine.missing.push((backend, reason));
                machine.broken.push(backend);
            }
        }
    }
    machine
}

/// Queries each wanted backend of this build for its devices. Each is queried in a child process,
/// all concurrently, because loading drivers is slow.
fn every_backend(
    is_wanted: impl Fn(BackendId) -> bool,
) -> Vec<(BackendId, Result<Vec<DeviceInfo>, Absence>)> {
    let known = rsb_catalog::backends::backends().into_iter().map(|backend| backend.id());
    let known: Vec<BackendId> = known.filter(|id| is_wanted(*id)).collect();
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            known.into_iter().map(|id| (id, scope.spawn(move || devices_of(id)))).collect();
        let mut answers = Vec::new();
        for (id, thread) in threads {
            let found = thread.join().unwrap_or_else(|_| {
                let what = format!("devices of {id}");
                Err(Reason::new(what, "the query panicked", "report this as a bug").into())
            });
            answers.push((id, found));
        }
        answers
    })
}

fn devices_of(id: BackendId) -> Result<Vec<DeviceInfo>, Absence> {
    let found = rsb_catalog::backends::backends().into_iter().find(|backend| backend.id() == id);
    found.map_or(Ok(Vec::new()), |backend| measure::devices_of(&*backend))
}

/// Returns the machine, its software, the commit of the current directory, and the current load.
pub fn environment() -> Environment {
    let mut environment = rsb_probe::environment(&ProbeOptions::default());
    environment.git = rsb_probe::git(Path::new("."));
    environment.state = Some(rsb_probe::state());
    environment
}

/// Returns the environment as [`environment`] does, with the drivers of the devices of `plan`.
pub fn environment_for(plan: &Plan) -> Environment {
    Environment { drivers: plan.drivers(), ..environment() }
}

/// Returns the environment as [`environment`] does, for comparison with that of an earlier run.
/// Includes the drivers of all devices if the earlier run lists any.
pub fn environment_beside(earlier: &Environment) -> Environment {
    if earlier.drivers.is_empty() {
        return environment();
    }
    environment_for(&Plan { devices: here().devices, ..Plan::default() })
}
