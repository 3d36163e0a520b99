//! What a card's sensors say. Of a card of several parts, what the whole card says counts; where only the parts speak,
//! the hottest, the fastest and the sum of all.

use runtime_loading::Unavailable;

use crate::devices::{LevelZero, ask, lacking, list};
use crate::structures::{engine_group, frequency_domain, memory_location, temperature_sensor};
use crate::table::{zes_device_handle_t, zes_engine_handle_t, zes_pwr_handle_t};
use crate::{SUCCESS, ze_result_t, zes_freq_state_t};

/// What a card's sensors say now. What they do not say is none; what they say is not judged here.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Readings {
    /// The hottest place of the chip, in °C.
    pub chip_celsius: Option<f64>,
    /// The hottest place of the memory, in °C.
    pub memory_celsius: Option<f64>,
    /// The hottest place of the device, in °C.
    pub device_celsius: Option<f64>,
    /// Energy in microjoules, and when, in microseconds.
    pub energy: Option<Counter>,
    /// Time at work, and when, in the same unit.
    pub activity: Option<Counter>,
    /// Clock of the chip.
    pub chip_mhz: Option<f64>,
    /// Clock of the memory.
    pub memory_mhz: Option<f64>,
    /// Memory in use and in all, in bytes.
    pub memory_bytes: Option<(u64, u64)>,
    /// What holds the chip's clock back, see [`reasons`].
    pub held_back: Option<u32>,
}

/// Something that grows, and when it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counter {
    /// So much.
    pub amount: u64,
    /// At this time, from a beginning of its own.
    pub at: u64,
}

/// The words for `held_back`: `zes_freq_throttle_reason_flag_t`. That somebody chose a range of clocks is no reason.
pub fn reasons(held_back: u32) -> Vec<String> {
    const REASONS: [(u32, &str); 9] = [
        (0, "average power cap"),
        (1, "burst power cap"),
        (2, "current limit"),
        (3, "temperature limit"),
        (4, "alert of the power supply"),
        (6, "range of clocks set by the hardware"),
        (7, "voltage"),
        (8, "temperature"),
        (9, "power"),
    ];
    const SOFTWARE_RANGE: u32 = 1 << 5;
    let counts = held_back & !SOFTWARE_RANGE;
    let set = (0..u32::BITS).filter(|bit| counts >> bit & 1 == 1);
    set.map(|bit| match REASONS.iter().find(|(known, _)| *known == bit) {
        Some((_, reason)) => (*reason).to_owned(),
        None => format!("throttle bit {bit}"),
    })
    .collect()
}

impl LevelZero {
    /// Reads the card at `address` on the bus, such as `0000:03:00.0`.
    ///
    /// # Errors
    /// When sysman has not started, or shows no such card.
    pub fn read(&self, address: &str) -> Result<Readings, Unavailable> {
        self.sensors_work()?;
        let functions = &self.functions;
        for (name, is_missing) in [
            ("zesDriverGet", functions.zesDriverGet.is_none()),
            ("zesDeviceGet", functions.zesDeviceGet.is_none()),
            ("zesDevicePciGetProperties", functions.zesDevicePciGetProperties.is_none()),
        ] {
            if is_missing {
                return Err(lacking(name, functions));
            }
        }
        let is_it = |device: &zes_device_handle_t| {
            self.address(*device).is_some_and(|place| place.to_string().eq_ignore_ascii_case(address))
        };
        let device = self.handles().into_iter().find(is_it).ok_or_else(|| {
            let why = "Level Zero shows no such card".to_owned();
            Unavailable::new(
                format!("sensors at {address}"),
                why,
                "check with `sycl-ls` or `xpu-smi` that the card works",
            )
        })?;
        Ok(self.readings(device))
    }

    fn readings(&self, device: zes_device_handle_t) -> Readings {
        let temperatures = self.temperatures(device);
        let hottest = |wanted: u32| {
            let of_kind = temperatures.iter().filter(|(kind, _)| *kind == wanted).map(|(_, celsius)| *celsius);
            of_kind.reduce(f64::max)
        };
        let clocks = self.clocks(device);
        let fastest = |wanted: u32| {
            let of_kind = clocks.iter().filter(|(kind, _)| *kind == wanted).map(|(_, state)| state.actual);
            of_kind.reduce(f64::max)
        };
        let of_chip = clocks.iter().filter(|(kind, _)| *kind == frequency_domain::GPU);
        Readings {
            chip_celsius: hottest(temperature_sensor::GPU),
            memory_celsius: hottest(temperature_sensor::MEMORY),
            device_celsius: hottest(temperature_sensor::GLOBAL),
            energy: self.energy(device),
            activity: self.activity(device),
            chip_mhz: fastest(frequency_domain::GPU),
            memory_mhz: fastest(frequency_domain::MEMORY),
            memory_bytes: self.memory(device),
            held_back: of_chip.map(|(_, state)| state.throttleReasons).reduce(|all, reasons| all | reasons),
        }
    }

    /// Kind and figure of each sensor that answers.
    fn temperatures(&self, device: zes_device_handle_t) -> Vec<(u32, f64)> {
        let functions = &self.functions;
        let sensors = handles(functions.zesDeviceEnumTemperatureSensors, device);
        let told = sensors.into_iter().filter_map(|sensor| {
            let kind = ask(functions.zesTemperatureGetProperties, sensor)?.r#type;
            Some((kind, ask(functions.zesTemperatureGetState, sensor)?))
        });
        told.collect()
    }

    /// Kind and state of each clock that answers.
    fn clocks(&self, device: zes_device_handle_t) -> Vec<(u32, zes_freq_state_t)> {
        let functions = &self.functions;
        let clocks = handles(functions.zesDeviceEnumFrequencyDomains, device);
        let told = clocks.into_iter().filter_map(|clock| {
            let kind = ask(functions.zesFrequencyGetProperties, clock)?.r#type;
            Some((kind, ask(functions.zesFrequencyGetState, clock)?))
        });
        told.collect()
    }

    /// Of the whole card; parts of it are not added up, as some count the same energy twice.
    fn energy(&self, device: zes_device_handle_t) -> Option<Counter> {
        let functions = &self.functions;
        let domain = self.card_domain(device).or_else(|| {
            let domains = handles(functions.zesDeviceEnumPowerDomains, device);
            let is_whole = |domain: &zes_pwr_handle_t| {
                ask(functions.zesPowerGetProperties, *domain).is_some_and(|domain| domain.onSubdevice == 0)
            };
            domains.into_iter().find(is_whole)
        })?;
        let counter = ask(functions.zesPowerGetEnergyCounter, domain)?;
        Some(Counter { amount: counter.energy, at: counter.timestamp })
    }

    fn card_domain(&self, device: zes_device_handle_t) -> Option<zes_pwr_handle_t> {
        let get = self.functions.zesDeviceGetCardPowerDomain?;
        let mut domain: zes_pwr_handle_t = std::ptr::null_mut();
        // SAFETY: the device is one that was just listed; the pointer is to a live handle.
        let is_there = unsafe { get(device, &raw mut domain) } == SUCCESS;
        (is_there && !domain.is_null()).then_some(domain)
    }

    /// Of the widest group of engines that the card has.
    fn activity(&self, device: zes_device_handle_t) -> Option<Counter> {
        let functions = &self.functions;
        let groups: Vec<Group<zes_engine_handle_t>> = handles(functions.zesDeviceEnumEngineGroups, device)
            .into_iter()
            .filter_map(|handle| {
                let properties = ask(functions.zesEngineGetProperties, handle)?;
                Some(Group { handle, kind: properties.r#type, is_part: properties.onSubdevice != 0 })
            })
            .collect();
        let stats = widest(&groups).into_iter().map(|group| ask(functions.zesEngineGetActivity, group));
        let (amount, at) = sum(stats.map(|stats| stats.map(|stats| (stats.activeTime, stats.timestamp))))?;
        Some(Counter { amount, at })
    }

    /// Of all modules on the device.
    fn memory(&self, device: zes_device_handle_t) -> Option<(u64, u64)> {
        let functions = &self.functions;
        let modules = handles(functions.zesDeviceEnumMemoryModules, device);
        let own = modules.into_iter().filter(|module| {
            ask(functions.zesMemoryGetProperties, *module)
                .is_some_and(|module| module.location == memory_location::DEVICE)
        });
        sum(own.map(|module| {
            let state = ask(functions.zesMemoryGetState, module)?;
            Some((state.size.checked_sub(state.free)?, state.size))
        }))
    }
}

/// A group of engines.
struct Group<T> {
    handle: T,
    kind: u32,
    is_part: bool,
}

/// The groups of the widest kind: that of the whole card, or those of its parts where there is none of the whole.
fn widest<T: Copy>(groups: &[Group<T>]) -> Vec<T> {
    const WIDEST_FIRST: [u32; 3] = [engine_group::ALL, engine_group::DRAW_AND_COMPUTE_ALL, engine_group::COMPUTE_ALL];
    let of = |wanted: u32, is_part: bool| {
        let fits = groups.iter().filter(|group| group.kind == wanted && group.is_part == is_part);
        fits.map(|group| group.handle).collect::<Vec<T>>()
    };
    let each = WIDEST_FIRST.into_iter().flat_map(|kind| [of(kind, false), of(kind, true)]);
    each.into_iter().find(|groups| !groups.is_empty()).unwrap_or_default()
}

/// The sum of pairs. One that is silent leaves none: it would jump when that one speaks again.
fn sum(pairs: impl Iterator<Item = Option<(u64, u64)>>) -> Option<(u64, u64)> {
    pairs.reduce(|all, one| {
        let ((first, second), (more, also)) = (all?, one?);
        Some((first.checked_add(more)?, second.checked_add(also)?))
    })?
}

/// Everything of a kind that `device` has.
fn handles<T>(
    function: Option<unsafe extern "C" fn(zes_device_handle_t, *mut u32, *mut *mut T) -> ze_result_t>,
    device: zes_device_handle_t,
) -> Vec<*mut T> {
    let Some(function) = function else { return Vec::new() };
    // SAFETY: the device is one that was just listed; `list` gives a live count, and null or room for so many handles.
    list(|count, to| unsafe { function(device, count, to) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_clocks_that_somebody_chose_holds_nothing_back() {
        assert!(reasons(0).is_empty() && reasons(1 << 5).is_empty());
        assert_eq!(reasons(1 | 1 << 3 | 1 << 5), ["average power cap", "temperature limit"]);
        assert_eq!(reasons(1 << 12), ["throttle bit 12"], "a bit that came later is told by its number");
    }

    #[test]
    fn the_whole_card_goes_before_its_parts_and_all_engines_before_some() {
        let group = |handle: u8, kind: u32, is_part: bool| Group { handle, kind, is_part };
        let (all, compute) = (engine_group::ALL, engine_group::COMPUTE_ALL);
        let parts = [group(1, compute, false), group(2, all, true), group(3, all, true)];
        assert_eq!(widest(&parts), [2, 3]);
        assert_eq!(widest(&[group(1, all, true), group(2, all, false)]), [2]);
        assert_eq!(widest(&[group(1, 5, false), group(2, compute, true)]), [2]);
        assert_eq!(widest(&[group(1, 5, false)]), []);
    }

    #[test]
    fn a_sum_is_of_all_or_of_none() {
        assert_eq!(sum([Some((1, 10)), Some((2, 20))].into_iter()), Some((3, 30)));
        assert_eq!(sum([Some((1, 10)), None].into_iter()), None);
        assert_eq!(sum([Some((u64::MAX, 1)), Some((1, 1))].into_iter()), None);
        assert_eq!(sum(std::iter::empty()), None);
    }
}
