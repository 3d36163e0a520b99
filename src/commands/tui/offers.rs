//! What each stage offers to run: suites, benchmarks and components, with where each can run and why not.

use rsb_device::DeviceInfo;
use rsb_engine::plan::Machine;
use rsb_engine::{frameworks, suites};
use rsb_model::{BackendId, DeviceType, Suite};
use rsb_report::CaseRow;
use rsb_tui::{Offer, OfferKind, Stage};

use crate::commands::list;
use crate::config::CustomSection;

/// Where each suite stands; the first of a stage is what Enter runs.
const SUITES: [(Stage, Suite); 8] = [
    (Stage::PreInstallation, Suite::Quick),
    (Stage::PreInstallation, Suite::PreInstallation),
    (Stage::PreInstallation, Suite::CpuPerformance),
    (Stage::PreInstallation, Suite::Full),
    (Stage::PreInstallation, Suite::Custom),
    (Stage::Components, Suite::Component),
    (Stage::GpuPerformance, Suite::GpuPerformance),
    (Stage::GpuPerformance, Suite::HardwareAcceleration),
];

/// Everything that can be started on `machine`, or could. `custom` are the entries of the suite that
/// the configuration describes.
pub(super) fn offers(machine: &Machine, custom: &[CustomSection]) -> Vec<Offer> {
    let rows = list::rows(machine);
    let mut offers: Vec<Offer> = SUITES
        .into_iter()
        .filter(|(_, suite)| !custom.is_empty() || *suite != Suite::Custom)
        .map(|(stage, suite)| of_suite((stage, suite), custom, machine, &rows))
        .collect();
    for benchmark in rsb_workloads::known() {
        let own = |row: &&CaseRow| row.benchmark == benchmark.name();
        let offer = |stage, rows| Offer {
            stage,
            kind: OfferKind::Benchmark,
            name: benchmark.name().to_owned(),
            about: benchmark.about().to_owned(),
            rows,
        };
        offers.push(offer(Stage::PreInstallation, rows.iter().filter(own).cloned().collect()));
        if suites::benchmarks(Suite::GpuPerformance).contains(&benchmark.name()) {
            let on_gpus = rows.iter().filter(own).filter(|row| row.backend != BackendId::Cpu.as_str());
            offers.push(offer(Stage::GpuPerformance, on_gpus.cloned().collect()));
        }
    }
    offers.extend(frameworks::all().iter().map(|component| Offer {
        stage: Stage::Components,
        kind: OfferKind::Benchmark,
        name: component.name.to_owned(),
        about: component.about.to_owned(),
        rows: rows.iter().filter(|row| row.benchmark == component.name).cloned().collect(),
    }));
    offers
}

fn of_suite((stage, suite): (Stage, Suite), custom: &[CustomSection], machine: &Machine, rows: &[CaseRow]) -> Offer {
    let components = suites::components(suite);
    let benchmarks: Vec<&str> = match suite {
        Suite::Custom => custom.iter().map(|entry| entry.benchmark.as_str()).collect(),
        suite => suites::benchmarks(suite),
    };
    let is_in = |row: &&CaseRow| {
        let name = row.benchmark.as_str();
        components.contains(&name) || benchmarks.contains(&name) && wants(suite, row, machine)
    };
    Offer {
        stage,
        kind: OfferKind::Suite,
        name: suite.as_str().to_owned(),
        about: suite.about().to_owned(),
        rows: rows.iter().filter(is_in).cloned().collect(),
    }
}

/// Whether `suite` runs on what a row is about.
fn wants(suite: Suite, row: &CaseRow, machine: &Machine) -> bool {
    // A component needs no backend of its own.
    let Ok(backend) = row.backend.parse::<BackendId>() else { return true };
    let mut devices = machine.devices.iter().filter(|device: &&DeviceInfo| device.device.backend == backend).peekable();
    if devices.peek().is_none() {
        return suite.wants(backend, if backend == BackendId::Cpu { DeviceType::Cpu } else { DeviceType::Gpu });
    }
    devices.any(|device| suite.wants(backend, device.device_type))
}
