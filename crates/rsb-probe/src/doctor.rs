//! Examination of a machine: whether every GPU has a driver, is accessible and healthy, and is
//! supported by the software.
//!
//! This module only reads files to collect facts. The rules that judge the facts are pure
//! ([`findings`]).

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::sync::Arc;
use std::time::Instant;

use rsb_model::finding::Finding;

use crate::gpu::intel;
use crate::gpu::{details, sysfs_gpu};
use crate::host::Host;
use crate::limit::Pending;
use crate::{HANG_LIMIT, ProbeOptions, environment_of};

mod access;
mod facts;
mod libraries;
mod linker;
mod rules;

pub use crate::gpu::intel::IntelSensors;
pub use facts::{Access, DeviceFile, DoctorInput, HostFacts, Library, Remnant, Stale};
pub use rules::{findings, limits};

/// Environment variables that affect which GPUs and which ROCm programs use.
const VARIABLES: [&str; 5] = [
    "ROCM_PATH",
    "HSA_OVERRIDE_GFX_VERSION",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "CUDA_VISIBLE_DEVICES",
];

/// Examines this machine, or the given tree. Returns the most severe findings first.
pub fn examine(options: &ProbeOptions) -> Vec<Finding> {
    findings(&facts(options))
}

/// Gathers the facts to judge.
pub fn facts(options: &ProbeOptions) -> DoctorInput {
    facts_of(&Arc::new(Host::of(options)))
}

fn facts_of(host: &Arc<Host>) -> DoctorInput {
    let deadline = Instant::now() + HANG_LIMIT;
    let bus = Arc::clone(host);
    let sensors = Pending::start(move |report| report(intel_sensors(&bus)));
    let (own, tree) = (Arc::clone(host), Arc::clone(host));
    let software = Pending::start(move |report| {
        if own.is_whole() {
            report(host_facts(&own));
        }
    });
    let trees = Pending::start(move |report| {
        let has_kfd = has_entries(&tree, "/sys/class/kfd/kfd/topology/nodes");
        let has_drm =
            has_entries(&tree, "/sys/class/drm") || has_entries(&tree, "/sys/bus/pci/devices");
        report((has_kfd, has_drm));
    });
    let environment = environment_of(host, HANG_LIMIT);
    let (has_kfd, has_drm) = trees.latest(deadline).unwrap_or_default();
    let installations = environment.rocm_installations;
    let host = software.latest(deadline).map(|found| HostFacts { installations, ..found });
    let intel_sensors = sensors.latest(deadline).unwrap_or_default();
    DoctorInput {
        gpus: environment.gpus,
        unread_gpus: environment.unread_gpus,
        has_kfd,
        has_drm,
        host,
        intel_sensors,
    }
}

fn has_entries(host: &Host, dir: &str) -> bool {
    !host.entries(dir).is_empty()
}

/// Reads the sensors of GPUs with the drivers i915 and xe. Skips sleeping GPUs and GPUs with
/// another driver. Also skips virtual functions, because their sensors are those of the physical
/// function.
fn intel_sensors(host: &Host) -> Vec<IntelSensors> {
    let mut found = Vec::new();
    for dir in sysfs_gpu::dirs(host) {
        let is_driven = matches!(sysfs_gpu::driver(&dir).as_deref(), Some("i915" | "xe"));
        let is_virtual = sysfs_gpu::is_virtual(&dir) == Some(true);
        if !is_driven || is_virtual || details::asleep(&dir) == Some(true) {
            continue;
        }
        let place = sysfs_gpu::address(&dir).unwrap_or_else(|| sysfs_gpu::place(&dir));
        found.push(intel::sensors(&dir, details::monitor(&dir).as_deref(), place));
    }
    found
}

/// Returns all host facts except the ROCm installations, which the probe has read already.
fn host_facts(host: &Host) -> HostFacts {
    let cache = linker::read(host);
    let mut variables = BTreeMap::new();
    for name in VARIABLES {
        if let Some(value) = host.variable(name).and_then(OsStr::to_str) {
            variables.insert(name.to_owned(), value.to_owned());
        }
    }
    HostFacts {
        user: access::user(host),
        devices: access::devices(host),
        libraries: libraries::find(host, &cache),
        installations: Vec::new(),
        remnants: libraries::remnants(host),
        stale: linker::stale(host, &cache),
        variables,
    }
}

#[cfg(test)]
mod tests;
