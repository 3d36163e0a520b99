//! Level Zero of Intel's oneAPI (`libze_loader`): which devices there are, and what their sensors say (sysman), loaded
//! at run time. Nothing is linked: a library or a function that is missing is a value, [`Unavailable`].
//!
//! The layouts are checked against the headers of version 1.17 (`tests/abi.rs`). No card of Intel's was at hand when
//! this was written: what a real driver answers has not been seen, only what a software look-alike does.
// The names are those of the C interface, so that its documentation can be searched for them.
#![allow(unsafe_code, non_snake_case, non_camel_case_types)]

mod devices;
mod sensors;
mod structures;
mod table;

pub use devices::{Device, LevelZero, VENDOR_INTEL};
pub use runtime_loading::{Lack, Unavailable};
pub use sensors::{Counter, Readings, reasons};
pub use structures::{
    Structure, engine_group, frequency_domain, memory_location, temperature_sensor, ze_device_properties_t,
    ze_pci_ext_properties_t, zes_device_properties_t, zes_energy_counter_t, zes_engine_properties_t,
    zes_engine_stats_t, zes_freq_properties_t, zes_freq_state_t, zes_mem_properties_t, zes_mem_state_t,
    zes_pci_address_t, zes_pci_properties_t, zes_power_properties_t, zes_temp_properties_t,
};
pub use table::{
    Functions, ze_device_handle_t, ze_driver_handle_t, ze_result_t, zes_device_handle_t, zes_driver_handle_t,
    zes_engine_handle_t, zes_freq_handle_t, zes_mem_handle_t, zes_pwr_handle_t, zes_temp_handle_t,
};

/// The status of a call that did what it was asked.
pub const SUCCESS: ze_result_t = 0;

/// The variable that names the loader's file.
pub const VARIABLE: &str = "RSB_LEVEL_ZERO_LIBRARY";

/// What to install where the loader or Intel's driver behind it is missing.
pub const CURE: &str = "install Level Zero's loader and Intel's driver for it (Debian: libze1 and \
                        libze-intel-gpu1; Intel's packages: level-zero and intel-level-zero-gpu)";
