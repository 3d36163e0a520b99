//! Offers of each stage: suites, benchmarks and components, with the backends they can run on or
//! the reasons why not.

use rsb_catalog::plan::{Machine, Plan};
use rsb_catalog::{frameworks, selection, suites};
use rsb_device::DeviceInfo;
use rsb_model::{BackendId, Case, DeviceType, Profile, Suite};
use rsb_report::CaseRow;
use rsb_tui::{Offer, OfferKind, RunSelection, Stage};

use crate::config::CustomSection;
use crate::list;

/// Backend in the rows of components, which choose their device themselves.
const ANYWHERE: &str = "any";

/// Stage of each suite; Enter runs the first one of a stage.
const SUITES: [(Stage, Suite); 8] = [
    (Stage::Measure, Suite::Quick),
    (Stage::Measure, Suite::PreInstallation),
    (Stage::Measure, Suite::CpuPerformance),
    (Stage::Measure, Suite::Full),
    (Stage::Measure, Suite::Custom),
    (Stage::Components, Suite::Component),
    (Stage::GpuPerformance, Suite::GpuPerformance),
    (Stage::GpuPerformance, Suite::HardwareAcceleration),
];

/// Returns everything that can, or could, be started on `machine`. `custom` are the configured
/// entries of the suite `custom`. `planned` returns the plan of an offer, and the profile.
pub(super) fn offers(
    machine: &Machine,
    custom: &[CustomSection],
    planned: impl Fn(&RunSelection) -> Option<(Plan, Profile)>,
) -> Vec<Offer> {
    let rows = list::rows(machine);
    let offer = |stage, kind, (name, about): (&str, &str), rows: Vec<CaseRow>| {
        let (name, about) = (name.to_owned(), about.to_owned());
        let offer = Offer { stage, kind, name, about, rows, cases: 0, profile: Profile::Quick };
        match planned(&offer.run_selection()) {
            Some((plan, profile)) => with_plan(offer, &plan, profile),
            None => offer,
        }
    };
    let mut offers: Vec<Offer> = SUITES
        .into_iter()
        .filter(|(_, suite)| !custom.is_empty() || *suite != Suite::Custom)
        .map(|(stage, suite)| {
            let own = rows_of_suite(suite, custom, machine, &rows);
            offer(stage, OfferKind::Suite, (suite.as_str(), suite.about()), own)
        })
        .collect();
    for benchmark in rsb_workloads::all_benchmarks() {
        let words = (benchmark.name(), benchmark.info().about);
        let own: Vec<CaseRow> =
            rows.iter().filter(|row| row.benchmark == benchmark.name()).cloned().collect();
        let mut on_gpus = own.clone();
        offers.push(offer(Stage::Measure, OfferKind::Benchmark, words, own));
        if suites::benchmarks(Suite::GpuPerformance).contains(&benchmark.name()) {
            on_gpus.retain(|row| row.backend != BackendId::Cpu.as_str());
            offers.push(offer(Stage::GpuPerformance, OfferKind::Benchmark, words, on_gpus));
        }
    }
    offers.extend(frameworks::all_and_models().map(|component| {
        let own = rows.iter().filter(|row| row.benchmark == component.name).cloned().collect();
        offer(Stage::Components, OfferKind::Benchmark, (component.name, component.about), own)
    }));
    offers
}

/// Sets the counts of `offer` to those of `plan`.
fn with_plan(mut offer: Offer, plan: &Plan, profile: Profile) -> Offer {
    for row in &mut offer.rows {
        row.cases = plan.cases.iter().filter(|case| is_case_of(case, &row.benchmark, row)).count();
        if row.cases == 0 && row.missing.is_none() {
            let mut without = plan.without_figures();
            let found = without.find(|(case, ..)| {
                is_case_of(case, &row.benchmark, row) || is_case_of(case, selection::ALL, row)
            });
            row.missing = found.map(|(_, _, reason)| reason.clone());
        }
    }
    (offer.cases, offer.profile) = (plan.cases.len(), profile);
    offer
}

/// Returns whether `case` is of `benchmark` and on the backend of `row`.
fn is_case_of(case: &Case, benchmark: &str, row: &CaseRow) -> bool {
    let backend = case.device.backend().map(BackendId::as_str);
    case.benchmark == benchmark
        && (row.backend == ANYWHERE || backend == Some(row.backend.as_str()))
}

/// Returns the rows of the benchmarks and components of `suite`.
fn rows_of_suite(
    suite: Suite,
    custom: &[CustomSection],
    machine: &Machine,
    rows: &[CaseRow],
) -> Vec<CaseRow> {
    let components = suites::components(suite);
    let benchmarks: Vec<&str> = match suite {
        Suite::Custom => custom.iter().map(|entry| entry.benchmark.as_str()).collect(),
        suite => suites::benchmarks(suite),
    };
    let mut found = Vec::new();
    for row in rows {
        let name = row.benchmark.as_str();
        if components.contains(&name) || benchmarks.contains(&name) && wants(suite, row, machine) {
            found.push(row.clone());
        }
    }
    found
}

/// Returns whether `suite` runs on the backend of a row.
fn wants(suite: Suite, row: &CaseRow, machine: &Machine) -> bool {
    // A component has no backend of its own.
    let Ok(backend) = row.backend.parse::<BackendId>() else { return true };
    let mut devices = machine
        .devices
        .iter()
        .filter(|device: &&DeviceInfo| device.device.backend == backend)
        .peekable();
    if devices.peek().is_none() {
        return suite.wants(
            backend,
            if backend == BackendId::Cpu { DeviceType::Cpu } else { DeviceType::Gpu },
        );
    }
    devices.any(|device| suite.wants(backend, device.device_type))
}

#[cfg(test)]
mod tests {
    use rsb_catalog::plan::{self, Selection};
    use rsb_model::{DeviceRef, Reason};

    use super::*;

    fn machine() -> Machine {
        let device = DeviceInfo {
            units: 2,
            usable_memory_bytes: 8 << 30,
            ..DeviceInfo::new(DeviceRef::CPU, "test", DeviceType::Cpu)
        };
        Machine {
            devices: vec![device],
            missing: vec![(
                BackendId::Rocm,
                Reason::new("backend rocm", "no driver", "install one"),
            )],
            broken: Vec::new(),
            sensors: Vec::new(),
            readiness: |name| Err(Reason::new(name, "it is not installed", "install it")),
        }
    }

    #[test]
    fn an_offer_counts_the_cases_of_its_plan() {
        let machine = machine();
        let planned = |wish: &RunSelection| {
            let selection = Selection {
                names: wish.names.clone(),
                ..Selection::new(wish.suite.unwrap_or(Suite::Quick), Profile::Quick)
            };
            Some((plan::plan(&selection, &machine).ok()?, Profile::Quick))
        };
        let offers = offers(&machine, &[], planned);
        let quick = offers.iter().find(|offer| offer.name == "quick").unwrap();
        let (plan, _) = planned(&quick.run_selection()).unwrap();
        let listed: usize = quick.rows.iter().map(|row| row.cases).sum();
        assert_eq!((quick.cases, listed), (plan.cases.len(), plan.cases.len()));
        for offer in offers.iter().filter(|offer| offer.stage == Stage::Measure) {
            assert_eq!(
                offer.rows.iter().map(|row| row.cases).sum::<usize>(),
                offer.cases,
                "{}",
                offer.name
            );
        }
    }
}
