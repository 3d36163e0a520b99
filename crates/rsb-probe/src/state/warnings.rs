//! Warnings about likely disturbances of measurements, each with a remedy.

use rsb_model::MachineState;

use super::counters::Counters;
use crate::host::{Host, count_list, read_line};

/// Temperature at which most CPUs slow down, or are about to.
const HOT_C: f64 = 90.0;
/// Percentage of stolen time above which a median visibly changes.
const STEAL_PERCENT: f64 = 1.0;

/// Facts from a sample that only the warnings use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct WarningInputs {
    /// Number of threads of the machine, for comparison with its load average.
    pub(super) threads: u32,
    pub(super) on_battery: bool,
}

impl WarningInputs {
    pub(super) fn read(host: &Host) -> Self {
        let online = host.line("/sys/devices/system/cpu/online").as_deref().and_then(count_list);
        let threads = online.unwrap_or_else(|| {
            let usable = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
            u32::try_from(usable).unwrap_or(u32::MAX)
        });
        Self { threads, on_battery: on_battery(host) }
    }
}

/// Returns whether there is a power supply that provides no power.
fn on_battery(host: &Host) -> bool {
    let Some(supplies) = host.path("/sys/class/power_supply") else { return false };
    let plugs: Vec<bool> = host
        .entries("/sys/class/power_supply")
        .into_iter()
        .map(|name| supplies.join(name))
        .filter(|supply| read_line(&supply.join("type")).is_some_and(|kind| kind == "Mains"))
        .filter_map(|supply| Some(read_line(&supply.join("online"))? == "1"))
        .collect();
    !plugs.is_empty() && plugs.iter().all(|has_current| !has_current)
}

/// Returns the warnings before a measurement, when nothing else should run.
pub(super) fn now(moment: &MachineState, seen: &WarningInputs) -> Vec<String> {
    let threads = f64::from(seen.threads.max(1));
    let mut found = Vec::new();
    if let Some(load) = moment.load_average.filter(|load| *load > 0.5 * threads) {
        found.push(format!(
            "the load average is {load:.1} on {}: other work runs or has just ended, and results \
             will be noisy; stop it, or wait a minute",
            count(u64::from(seen.threads), "thread", "threads")
        ));
    }
    found.extend(steal(moment, "since boot"));
    found.extend(standing(moment, seen));
    found
}

/// Returns the warnings after a measurement, whose own work is part of the load.
pub(super) fn between(
    moment: &MachineState,
    passed: &Counters,
    seen: &WarningInputs,
) -> Vec<String> {
    let threads = f64::from(seen.threads.max(1));
    let mut found = Vec::new();
    if let Some(load) = moment.load_average.filter(|load| *load > 1.25 * threads + 1.0) {
        found.push(format!(
            "the load average reached {load:.1} on {}, more than the benchmark makes: other work \
             ran, and results are noisy; stop it and measure again",
            count(u64::from(seen.threads), "thread", "threads")
        ));
    }
    found.extend(steal(moment, "during the measurement"));
    if let Some(events) = moment.throttle_events.filter(|events| *events > 0) {
        found.push(format!(
            "heat throttled the CPU {} during the measurement; improve the cooling or let it cool \
             down, and measure again",
            count(events, "time", "times")
        ));
    }
    if let Some(events) = passed.held_back.filter(|events| *events > 0) {
        found.push(format!(
            "the control group used up its CPU quota {} and was throttled; raise its limit \
             (cpu.max), or measure with fewer threads",
            count(events, "time", "times")
        ));
    }
    found.extend(standing(moment, seen));
    found
}

fn steal(moment: &MachineState, when: &str) -> Option<String> {
    let percent = moment.steal_percent.filter(|percent| *percent > STEAL_PERCENT)?;
    Some(format!(
        "the hypervisor gave {percent:.1} % of the CPU time to other guests {when}: results are \
         noisy; use a dedicated machine, or more replicates"
    ))
}

/// Returns the warnings that are the same before and after a measurement.
fn standing(moment: &MachineState, seen: &WarningInputs) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(governor) =
        moment.governor.as_deref().filter(|name| !matches!(*name, "performance" | "userspace"))
    {
        found.push(format!(
            "the frequency governor is {governor}: the clock follows the load; keep it high with \
             `cpupower frequency-set -g performance`"
        ));
    }
    if let Some(celsius) = moment.temperature_c.filter(|celsius| *celsius >= HOT_C) {
        found.push(format!(
            "the hottest sensor reads {celsius:.0} °C: the machine may throttle; let it cool, or \
             improve the cooling"
        ));
    }
    if seen.on_battery {
        found.push(
            "the machine runs on its battery, which lowers its clocks; plug it in".to_owned(),
        );
    }
    found
}

fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
