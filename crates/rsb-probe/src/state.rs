//! Load, temperature and throttling of the machine, at one moment or over an interval.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rsb_model::MachineState;

use crate::host::Host;
use crate::limit::Pending;
use crate::{cpu, plausible};

mod counters;
mod heat;
mod warnings;

use counters::Counters;
use warnings::WarningInputs;

/// Time limit for sensors. Those of disks and GPUs answer within milliseconds or hang.
const SENSOR_LIMIT: Duration = Duration::from_millis(500);

/// State of the machine at one moment, for [`state_between`].
#[derive(Debug, Clone, PartialEq)]
pub struct StateSample {
    /// Clocks, load and temperature at that moment; steal and throttling since boot.
    moment: MachineState,
    counters: Counters,
    seen: WarningInputs,
}

impl StateSample {
    /// Returns whether the machine has a power supply that provides no power.
    pub const fn is_on_battery(&self) -> bool {
        self.seen.on_battery
    }

    /// Returns the average number of runnable tasks over the last minute.
    pub const fn load_average(&self) -> Option<f64> {
        self.moment.load_average
    }
}

/// Reads the current state of the machine.
pub fn sample() -> StateSample {
    sample_of(&Arc::new(Host::here()), SENSOR_LIMIT)
}

/// Returns the current state of the machine; steal and throttling are those since boot.
///
/// The load includes that of this process, so call it before measuring.
pub fn state() -> MachineState {
    let sample = sample();
    MachineState { warnings: warnings::now(&sample.moment, &sample.seen), ..sample.moment }
}

/// Returns the state of the machine between two samples: clocks and load at the end, the higher of
/// the two temperatures, and steal and throttling during the interval.
pub fn state_between(before: &StateSample, after: &StateSample) -> MachineState {
    let passed = after.counters.since(&before.counters);
    let moment = MachineState {
        steal_percent: passed.steal_percent(),
        throttle_events: passed.throttled,
        temperature_c: hotter(before.moment.temperature_c, after.moment.temperature_c),
        ..after.moment.clone()
    };
    MachineState { warnings: warnings::between(&moment, &passed, &after.seen), ..moment }
}

fn hotter(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    [one, other].into_iter().flatten().reduce(f64::max)
}

fn sample_of(host: &Arc<Host>, limit: Duration) -> StateSample {
    let own = Arc::clone(host);
    let heat = Pending::start(move |report| heat::read(&own, report));
    let counters = Counters::read(host);
    let cpufreq = format!("/sys/devices/system/cpu/cpu{}/cpufreq", cpu::first_usable(host));
    let khz: Option<f64> = host.number(&format!("{cpufreq}/scaling_cur_freq"));
    let moment = MachineState {
        load_average: load_average(host),
        governor: host.line(&format!("{cpufreq}/scaling_governor")),
        mhz: khz
            .and_then(|khz| plausible::megahertz(khz / 1e3))
            .or_else(|| cpu::mhz_in_cpuinfo(host)),
        steal_percent: counters.steal_percent(),
        throttle_events: counters.throttled,
        temperature_c: heat.latest(Instant::now() + limit),
        warnings: Vec::new(),
    };
    StateSample { moment, counters, seen: WarningInputs::read(host) }
}

/// Returns the number of tasks that are currently running or runnable, including this thread;
/// `None` without `/proc`.
pub fn runnable_tasks() -> Option<u32> {
    let line = Host::here().line("/proc/loadavg")?;
    let (runnable, _) = line.split_whitespace().nth(3)?.split_once('/')?;
    runnable.parse().ok()
}

fn load_average(host: &Host) -> Option<f64> {
    let load: f64 = host.line("/proc/loadavg")?.split(' ').next()?.parse().ok()?;
    (load.is_finite() && load >= 0.0).then_some(load)
}

#[cfg(test)]
mod tests;
