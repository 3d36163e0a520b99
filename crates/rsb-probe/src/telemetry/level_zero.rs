//! Sensors of Intel's cards, by Level Zero. Power and load are counters there: a figure is the difference of two
//! readings, which therefore lie at least [`WINDOW`] apart.
//!
//! No card of Intel's was at hand when this was written: it has seen the interface's description and a software
//! look-alike, no real driver.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use level_zero_sys::{Counter, LevelZero, Readings, Unavailable, reasons};
use rsb_model::telemetry::{GpuSample, Temperatures};

use super::{SAMPLE_LIMIT, metrics};
use crate::gpu::details;
use crate::host::read_line;
use crate::level_zero::{Device, INTEL, LevelZero as Answer, here, is_named};
use crate::limit::Pending;

/// Drivers refresh the counters each millisecond or so: over this time that is an error of a few percent.
const WINDOW: Duration = Duration::from_millis(50);

/// More than any card of Intel's draws; the largest of their data sheets says 600 W.
const MOST_WATTS: f64 = 1000.0;

/// Counters of active time and of time are not read at the same moment.
const MOST_BUSY: f64 = 1.01;

/// A card whose sensors Level Zero reads, and what they said last.
#[derive(Debug, Clone)]
pub(super) struct Sensors {
    address: String,
    before: Arc<Mutex<Option<Before>>>,
}

/// What was read before.
#[derive(Debug, Clone, Copy)]
struct Before {
    readings: Readings,
    rates: Option<Rates>,
    taken: Instant,
}

/// What grew how fast between two readings.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Rates {
    watts: Option<f64>,
    busy_percent: Option<f64>,
}

impl PartialEq for Sensors {
    fn eq(&self, other: &Self) -> bool {
        self.address == other.address
    }
}

impl Eq for Sensors {}

impl Sensors {
    /// Those of the card of Intel's at `address`, where Level Zero reads them. Its drivers are started in a child first;
    /// one that hangs later all the same has no sensors.
    pub(super) fn at(address: &str) -> Option<Self> {
        let folder = Path::new("/sys/bus/pci/devices").join(address);
        let is_wanted = is_named() || read_line(&folder.join("vendor")).as_deref() == Some(INTEL);
        // To ask would wake a card that sleeps.
        if !is_wanted || details::asleep(&folder) == Some(true) {
            return None;
        }
        let Answer::Here(seen) = here()? else { return None };
        let is_it = |device: &Device| {
            device.sensors.is_ok() && device.address.as_ref().is_some_and(|known| known.eq_ignore_ascii_case(address))
        };
        if !seen.devices.iter().any(is_it) {
            return None;
        }
        let asked = address.to_owned();
        let asking = Pending::start(move |report| report(read(&asked)));
        let first = asking.latest(Instant::now() + SAMPLE_LIMIT)?.ok()?;
        let before = Before { readings: first, rates: None, taken: Instant::now() };
        Some(Self { address: address.to_owned(), before: Arc::new(Mutex::new(Some(before))) })
    }

    /// What they say now. The first sample waits until there is something to take a difference from.
    pub(super) fn sample(&self) -> GpuSample {
        let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Before { rates: None, taken, .. }) = &*before {
            std::thread::sleep(WINDOW.saturating_sub(taken.elapsed()));
        }
        let now = match read(&self.address) {
            Ok(now) => now,
            Err(missing) => return GpuSample { absent: vec![missing.to_string()], ..GpuSample::default() },
        };
        let rates = match *before {
            Some(Before { rates: Some(rates), taken, .. }) if taken.elapsed() < WINDOW => rates,
            earlier => {
                let rates = earlier.map(|earlier| Rates::between(&earlier.readings, &now)).unwrap_or_default();
                *before = Some(Before { readings: now, rates: Some(rates), taken: Instant::now() });
                rates
            }
        };
        of(now, rates)
    }
}

/// Reads the card at `address`. The library is loaded into this process once.
fn read(address: &str) -> Result<Readings, Unavailable> {
    static OPEN: OnceLock<Result<LevelZero, Unavailable>> = OnceLock::new();
    OPEN.get_or_init(LevelZero::open).as_ref().map_err(Clone::clone)?.read(address)
}

impl Rates {
    /// A counter that goes back, stands still in time, or grows faster than can be tells nothing.
    fn between(before: &Readings, now: &Readings) -> Self {
        // Microjoules over microseconds.
        let watts = growth(before.energy, now.energy).filter(|watts| *watts <= MOST_WATTS);
        let busy = growth(before.activity, now.activity).filter(|share| *share <= MOST_BUSY);
        Self { watts: watts.and_then(metrics::watts), busy_percent: busy.map(|share| share.min(1.0) * 100.0) }
    }
}

fn growth(before: Option<Counter>, now: Option<Counter>) -> Option<f64> {
    let (before, now) = (before?, now?);
    let time = now.at.checked_sub(before.at).filter(|time| *time > 0)?;
    Some(now.amount.checked_sub(before.amount)? as f64 / time as f64)
}

fn of(readings: Readings, rates: Rates) -> GpuSample {
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    // A driver that may not tell says that all is free, and something always is in use.
    let used = readings.memory_bytes.map(|(used, _)| used).filter(|used| *used > 0);
    let hottest = readings.chip_celsius.and_then(metrics::celsius);
    GpuSample {
        temperature_c: Temperatures {
            edge: None,
            junction: hottest.or_else(|| readings.device_celsius.and_then(metrics::celsius)),
            memory: readings.memory_celsius.and_then(metrics::celsius),
        },
        power_w: rates.watts,
        sclk_mhz: readings.chip_mhz.and_then(metrics::megahertz),
        mclk_mhz: readings.memory_mhz.and_then(metrics::megahertz),
        utilization_percent: rates.busy_percent,
        vram_used_mb: used.map(megabytes),
        vram_total_mb: readings.memory_bytes.map(|(_, total)| megabytes(total)).filter(|total| *total > 0.0),
        throttle_reasons: readings.held_back.map(reasons),
        ..GpuSample::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(energy: (u64, u64), activity: (u64, u64)) -> Readings {
        let counter = |(amount, at)| Some(Counter { amount, at });
        Readings { energy: counter(energy), activity: counter(activity), ..Readings::default() }
    }

    #[test]
    fn power_and_load_are_differences() {
        let rates = Rates::between(&counted((1_000_000, 500), (10, 1000)), &counted((16_000_000, 100_500), (85, 1100)));
        assert_eq!(rates, Rates { watts: Some(150.0), busy_percent: Some(75.0) });
    }

    #[test]
    fn counters_that_lie_tell_nothing() {
        let before = counted((1000, 1000), (1000, 1000));
        for (now, what) in [
            (counted((999, 2000), (999, 2000)), "they went back"),
            (counted((2000, 1000), (1500, 1000)), "time stood still"),
            (counted((2000, 900), (1500, 900)), "time went back"),
            (counted((1_002_000, 2000), (3000, 2000)), "1001 W, and twice as long as there was time"),
            (Readings::default(), "they fell silent"),
        ] {
            assert_eq!(Rates::between(&before, &now), Rates::default(), "{what}");
        }
        let still = Rates::between(&before, &counted((1000, 2000), (1000, 2000)));
        assert_eq!(still, Rates { watts: None, busy_percent: Some(0.0) }, "idle is a load, but no card draws nothing");
        let over = Rates::between(&before, &counted((1000, 2000), (2005, 2000)));
        assert_eq!(over.busy_percent, Some(100.0));
    }

    #[test]
    fn readings_become_a_sample_and_what_cannot_be_is_absent() {
        let readings = Readings {
            chip_celsius: Some(61.0),
            memory_celsius: Some(-273.15),
            device_celsius: Some(70.0),
            chip_mhz: Some(2400.0),
            memory_mhz: Some(-1.0),
            memory_bytes: Some((2_000_000_000, 16_000_000_000)),
            held_back: Some(1),
            ..Readings::default()
        };
        let sample = of(readings, Rates { watts: Some(190.0), busy_percent: Some(98.0) });
        assert_eq!(sample.temperature_c, Temperatures { edge: None, junction: Some(61.0), memory: None });
        assert_eq!((sample.power_w, sample.utilization_percent), (Some(190.0), Some(98.0)));
        assert_eq!((sample.sclk_mhz, sample.mclk_mhz), (Some(2400.0), None));
        assert_eq!((sample.vram_used_mb, sample.vram_total_mb), (Some(2000.0), Some(16_000.0)));
        assert_eq!(sample.throttle_reasons, Some(vec!["average power cap".to_owned()]));
        assert_eq!(of(Readings::default(), Rates::default()), GpuSample::default(), "it does not tell");
    }

    #[test]
    fn the_device_speaks_for_a_chip_that_is_silent_and_free_memory_is_never_all() {
        let readings = Readings {
            chip_celsius: Some(0.0),
            device_celsius: Some(70.0),
            memory_bytes: Some((0, 8_000_000)),
            ..Readings::default()
        };
        let sample = of(readings, Rates::default());
        assert_eq!(sample.temperature_c.junction, Some(70.0));
        assert_eq!((sample.vram_used_mb, sample.vram_total_mb), (None, Some(8.0)));
    }
}
