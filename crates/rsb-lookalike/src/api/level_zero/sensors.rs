//! Sensors: for each kind a function that lists them, one that tells what each is, and one that reads it.

use std::ffi::c_int;

use level_zero_sys::{
    engine_group, frequency_domain, memory_location, temperature_sensor, zes_device_handle_t, zes_energy_counter_t,
    zes_engine_handle_t, zes_engine_properties_t, zes_engine_stats_t, zes_freq_handle_t, zes_freq_properties_t,
    zes_freq_state_t, zes_mem_handle_t, zes_mem_properties_t, zes_mem_state_t, zes_power_properties_t,
    zes_pwr_handle_t, zes_temp_handle_t, zes_temp_properties_t,
};

use super::{Kind, answer, fill, handle_of, parts, put, tell};
use crate::sysman::{INVALID_HANDLE, MEMORY_BYTES, Status};

const TEMPERATURES: [u32; 3] = [temperature_sensor::GLOBAL, temperature_sensor::GPU, temperature_sensor::MEMORY];
const CLOCKS: [u32; 2] = [frequency_domain::GPU, frequency_domain::MEMORY];
/// A narrow group comes first, so that who takes the first one is found out.
const ENGINES: [u32; 2] = [engine_group::COMPUTE_ALL, engine_group::ALL];

/// Lists `number` of `kind` on a card.
///
/// # Safety
/// `count` must be null or point to a number, and `to` be null or have room for so many.
unsafe fn list<T>(
    device: zes_device_handle_t,
    (kind, number): (Kind, usize),
    (count, to): (*mut u32, *mut *mut T),
) -> c_int {
    answer(|sysman| {
        let (card, _) = parts(sysman, Kind::Device, device)?;
        let all: Vec<*mut T> = (0..number).map(|which| handle_of(kind, card, which)).collect();
        // SAFETY: by the promise of the caller.
        unsafe { tell(count, to, &all) }
    })
}

/// The kind of sensor at `which`.
fn kind_at(kinds: &[u32], which: usize) -> Result<u32, Status> {
    kinds.get(which).copied().ok_or(INVALID_HANDLE)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn zesDeviceEnumTemperatureSensors(
    device: zes_device_handle_t,
    count: *mut u32,
    sensors: *mut zes_temp_handle_t,
) -> c_int {
    // SAFETY: the caller gives a count, and room for so many, or null.
    unsafe { list(device, (Kind::Temperature, TEMPERATURES.len()), (count, sensors)) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn zesTemperatureGetProperties(
    sensor: zes_temp_handle_t,
    to: *mut zes_temp_properties_t,
) -> c_int {
    answer(|sysman| {
        let (_, which) = parts(sysman, Kind::Temperature, sensor)?;
        let kind = kind_at(&TEMPERATURES, which)?;
        // SAFETY: the caller gives one, or null.
        unsafe { fill(to, |to| to.r#type = kind) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn zesTemperatureGetState(sensor: zes_temp_handle_t, to: *mut f64) -> c_int {
    answer(|sysman| {
        let (card, which) = parts(sysman, Kind::Temperature, sensor)?;
        let celsius = sysman.celsius(card, which)?;
        // SAFETY: the caller gives one, or null.
        unsafe { put(to, celsius) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn zesDeviceGetCardPowerDomain(
    device: zes_device_handle_t,
    domain: *mut zes_pwr_handle_t,
) -> c_int {
    answer(|sysman| {
        let (card, _) = parts(sysman, Kind::Device, device)?;
        // SAFETY: the caller gives room for one, or null.
        unsafe { put(domain, handle_of(Kind::Power, card, 0)) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn zesDeviceEnumPowerDomains(
    device: zes_device_handle_t,
    count: *mut u32,
    domains: *mut zes_pwr_handle_t,
) -> c_int {
    // SAFETY: the caller gives a count, and room for so many, or null.
    unsafe { list(device, (Kind::Power, 1), (count, domains)) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn zesPowerGetProperties(
    domain: zes_pwr_handle_t,
    to: *mut zes_power_properties_t,
) -> c_int {
    answer(|sysman| {
        parts(sysman, Kind::Power, domain)?;
        // SAFETY: the caller gives one, or null.
        unsafe { fill(to, |to| to.defaultLimit = 225_000) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn zesPowerGetEnergyCounter(
    domain: zes_pwr_handle_t,
    to: *mut zes_energy_counter_t,
) -> c_int {
    answer(|sysman| {
        let (card, _) = parts(sysman, Kind::Power, domain)?;
        let (energy, timestamp) = sysman.energy(card)?;
        // SAFETY: the caller gives one, or null.
        unsafe { put(to, zes_energy_counter_t { energy, timestamp }) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn zesDeviceEnumFrequencyDomains(
    device: zes_device_handle_t,
    count: *mut u32,
    clocks: *mut zes_freq_handle_t,
) -> c_int {
    // SAFETY: the caller gives a count, and room for so many, or null.
    unsafe { list(device, (Kind::Clock, CLOCKS.len()), (count, clocks)) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn zesFrequencyGetProperties(
    clock: zes_freq_handle_t,
    to: *mut zes_freq_properties_t,
) -> c_int {
    answer(|sysman| {
        let (_, which) = parts(sysman, Kind::Clock, clock)?;
        let kind = kind_at(&CLOCKS, which)?;
        // SAFETY: the caller gives one, or null.
        unsafe { fill(to, |to| to.r#type = kind) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn zesFrequencyGetState(clock: zes_freq_handle_t, to: *mut zes_freq_state_t) -> c_int {
    answer(|sysman| {
        let (card, which) = parts(sysman, Kind::Clock, clock)?;
        let (mhz, reasons) = sysman.clock(card, which)?;
        // SAFETY: the caller gives one, or null.
        unsafe { fill(to, |to| (to.actual, to.throttleReasons) = (mhz, reasons)) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn zesDeviceEnumEngineGroups(
    device: zes_device_handle_t,
    count: *mut u32,
    groups: *mut zes_engine_handle_t,
) -> c_int {
    // SAFETY: the caller gives a count, and room for so many, or null.
    unsafe { list(device, (Kind::Engines, ENGINES.len()), (count, groups)) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn zesEngineGetProperties(
    group: zes_engine_handle_t,
    to: *mut zes_engine_properties_t,
) -> c_int {
    answer(|sysman| {
        let (_, which) = parts(sysman, Kind::Engines, group)?;
        let kind = kind_at(&ENGINES, which)?;
        // SAFETY: the caller gives one, or null.
        unsafe { fill(to, |to| to.r#type = kind) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn zesEngineGetActivity(group: zes_engine_handle_t, to: *mut zes_engine_stats_t) -> c_int {
    answer(|sysman| {
        let (card, which) = parts(sysman, Kind::Engines, group)?;
        let (active, timestamp) = sysman.activity(card)?;
        // Of the narrow group nothing is at work.
        let activeTime = if kind_at(&ENGINES, which)? == engine_group::ALL { active } else { 0 };
        // SAFETY: the caller gives one, or null.
        unsafe { put(to, zes_engine_stats_t { activeTime, timestamp }) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn zesDeviceEnumMemoryModules(
    device: zes_device_handle_t,
    count: *mut u32,
    modules: *mut zes_mem_handle_t,
) -> c_int {
    // SAFETY: the caller gives a count, and room for so many, or null.
    unsafe { list(device, (Kind::Memory, 1), (count, modules)) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn zesMemoryGetProperties(
    module: zes_mem_handle_t,
    to: *mut zes_mem_properties_t,
) -> c_int {
    answer(|sysman| {
        parts(sysman, Kind::Memory, module)?;
        // SAFETY: the caller gives one, or null.
        unsafe { fill(to, |to| to.location = memory_location::DEVICE) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn zesMemoryGetState(module: zes_mem_handle_t, to: *mut zes_mem_state_t) -> c_int {
    answer(|sysman| {
        let (card, _) = parts(sysman, Kind::Memory, module)?;
        let free = sysman.free(card)?;
        // SAFETY: the caller gives one, or null.
        unsafe { fill(to, |to| (to.free, to.size) = (free, MEMORY_BYTES)) }
    })
}
