//! The functions, each as the headers have it and each optional.

use std::ffi::c_int;

use runtime_loading::function_table;

use crate::structures::{
    ze_device_properties_t, ze_pci_ext_properties_t, zes_device_properties_t, zes_energy_counter_t,
    zes_engine_properties_t, zes_engine_stats_t, zes_freq_properties_t, zes_freq_state_t, zes_mem_properties_t,
    zes_mem_state_t, zes_pci_properties_t, zes_power_properties_t, zes_temp_properties_t,
};

/// A status; 0 is success.
pub type ze_result_t = c_int;

/// Makes the opaque types behind handles.
macro_rules! handles {
    ($($(#[$doc:meta])* $handle:ident = $opaque:ident;)*) => {$(
        #[doc(hidden)]
        #[repr(C)]
        pub struct $opaque { _private: [u8; 0] }
        $(#[$doc])*
        pub type $handle = *mut $opaque;
    )*};
}

handles! {
    /// A driver, by the core interface.
    ze_driver_handle_t = ze_driver;
    /// A device, by the core interface.
    ze_device_handle_t = ze_device;
    /// A driver, by sysman.
    zes_driver_handle_t = zes_driver;
    /// A device, by sysman.
    zes_device_handle_t = zes_device;
    /// A sensor of temperature.
    zes_temp_handle_t = zes_temp;
    /// A domain of power.
    zes_pwr_handle_t = zes_pwr;
    /// A clock.
    zes_freq_handle_t = zes_freq;
    /// A group of engines.
    zes_engine_handle_t = zes_engine;
    /// A module of memory.
    zes_mem_handle_t = zes_mem;
}

function_table! {
    /// What is used of Level Zero. A function that lists writes how many there are; given room, it fills it.
    pub struct Functions {
        /// Starts sysman.
        fn zesInit(flags: u32) -> ze_result_t;
        /// Lists its drivers.
        fn zesDriverGet(count: *mut u32, drivers: *mut zes_driver_handle_t) -> ze_result_t;
        /// Lists a driver's devices.
        fn zesDeviceGet(driver: zes_driver_handle_t, count: *mut u32, devices: *mut zes_device_handle_t) -> ze_result_t;
        /// What a device is.
        fn zesDeviceGetProperties(device: zes_device_handle_t, to: *mut zes_device_properties_t) -> ze_result_t;
        /// Where it sits.
        fn zesDevicePciGetProperties(device: zes_device_handle_t, to: *mut zes_pci_properties_t) -> ze_result_t;
        /// Lists its sensors of temperature.
        fn zesDeviceEnumTemperatureSensors(device: zes_device_handle_t, count: *mut u32, sensors: *mut zes_temp_handle_t) -> ze_result_t;
        /// What one measures.
        fn zesTemperatureGetProperties(sensor: zes_temp_handle_t, to: *mut zes_temp_properties_t) -> ze_result_t;
        /// °C.
        fn zesTemperatureGetState(sensor: zes_temp_handle_t, celsius: *mut f64) -> ze_result_t;
        /// The domain of power that is the whole card.
        fn zesDeviceGetCardPowerDomain(device: zes_device_handle_t, domain: *mut zes_pwr_handle_t) -> ze_result_t;
        /// Lists its domains of power.
        fn zesDeviceEnumPowerDomains(device: zes_device_handle_t, count: *mut u32, domains: *mut zes_pwr_handle_t) -> ze_result_t;
        /// What one is.
        fn zesPowerGetProperties(domain: zes_pwr_handle_t, to: *mut zes_power_properties_t) -> ze_result_t;
        /// Energy used so far.
        fn zesPowerGetEnergyCounter(domain: zes_pwr_handle_t, to: *mut zes_energy_counter_t) -> ze_result_t;
        /// Lists its clocks.
        fn zesDeviceEnumFrequencyDomains(device: zes_device_handle_t, count: *mut u32, clocks: *mut zes_freq_handle_t) -> ze_result_t;
        /// What one drives.
        fn zesFrequencyGetProperties(clock: zes_freq_handle_t, to: *mut zes_freq_properties_t) -> ze_result_t;
        /// How it is now.
        fn zesFrequencyGetState(clock: zes_freq_handle_t, to: *mut zes_freq_state_t) -> ze_result_t;
        /// Lists its groups of engines.
        fn zesDeviceEnumEngineGroups(device: zes_device_handle_t, count: *mut u32, groups: *mut zes_engine_handle_t) -> ze_result_t;
        /// What one holds.
        fn zesEngineGetProperties(group: zes_engine_handle_t, to: *mut zes_engine_properties_t) -> ze_result_t;
        /// Time at work so far.
        fn zesEngineGetActivity(group: zes_engine_handle_t, to: *mut zes_engine_stats_t) -> ze_result_t;
        /// Lists its modules of memory.
        fn zesDeviceEnumMemoryModules(device: zes_device_handle_t, count: *mut u32, modules: *mut zes_mem_handle_t) -> ze_result_t;
        /// What one is.
        fn zesMemoryGetProperties(module: zes_mem_handle_t, to: *mut zes_mem_properties_t) -> ze_result_t;
        /// How it is now.
        fn zesMemoryGetState(module: zes_mem_handle_t, to: *mut zes_mem_state_t) -> ze_result_t;
        /// Starts the core interface.
        fn zeInit(flags: u32) -> ze_result_t;
        /// Lists its drivers.
        fn zeDriverGet(count: *mut u32, drivers: *mut ze_driver_handle_t) -> ze_result_t;
        /// Lists a driver's devices.
        fn zeDeviceGet(driver: ze_driver_handle_t, count: *mut u32, devices: *mut ze_device_handle_t) -> ze_result_t;
        /// What a device is.
        fn zeDeviceGetProperties(device: ze_device_handle_t, to: *mut ze_device_properties_t) -> ze_result_t;
        /// Where it sits.
        fn zeDevicePciGetPropertiesExt(device: ze_device_handle_t, to: *mut ze_pci_ext_properties_t) -> ze_result_t;
    }
}

impl Functions {
    /// The functions of a library.
    pub(crate) fn of(loaded: runtime_loading::Loaded) -> Self {
        Self::resolve(loaded)
    }
}
