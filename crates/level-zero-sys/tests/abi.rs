//! The binary interface against the public headers: sizes, places and numbers are what a C program compiled with
//! `ze_api.h` and `zes_api.h` of Level Zero 1.17 prints on x86-64 Linux. Names on the left are the headers'.

use std::mem::offset_of;

use level_zero_sys::{
    Functions, Structure, engine_group, frequency_domain, memory_location, temperature_sensor, ze_device_properties_t,
    ze_pci_ext_properties_t, zes_device_properties_t, zes_energy_counter_t, zes_engine_properties_t,
    zes_engine_stats_t, zes_freq_properties_t, zes_freq_state_t, zes_mem_properties_t, zes_mem_state_t,
    zes_pci_properties_t, zes_power_properties_t, zes_temp_properties_t,
};

/// Size of a structure, the places of its fields, and the number that tells its type.
macro_rules! layout {
    ($($structure:ident = $size:literal { $($field:ident: $place:literal),* $(,)? })*) => {$(
        assert_eq!(size_of::<$structure>(), $size, stringify!($structure));
        $(assert_eq!(
            offset_of!($structure, $field), $place, "{}.{}", stringify!($structure), stringify!($field)
        );)*
    )*};
}

#[test]
fn structures_stand_as_in_the_headers() {
    layout! {
        ze_device_properties_t = 368 {
            stype: 0, pNext: 8, r#type: 16, vendorId: 20, deviceId: 24, flags: 28, subdeviceId: 32, coreClockRate: 36,
            maxMemAllocSize: 40, maxHardwareContexts: 48, maxCommandQueuePriority: 52, numThreadsPerEU: 56,
            physicalEUSimdWidth: 60, numEUsPerSubslice: 64, numSubslicesPerSlice: 68, numSlices: 72,
            timerResolution: 80, timestampValidBits: 88, kernelTimestampValidBits: 92, uuid: 96, name: 112,
        }
        ze_pci_ext_properties_t = 48 { stype: 0, pNext: 8, address: 16, maxSpeed: 32 }
        zes_device_properties_t = 776 {
            stype: 0, pNext: 8, core: 16, numSubdevices: 384, serialNumber: 388, boardNumber: 452, brandName: 516,
            modelName: 580, vendorName: 644, driverVersion: 708,
        }
        zes_pci_properties_t = 56 {
            stype: 0, pNext: 8, address: 16, maxSpeed: 32, haveBandwidthCounters: 48, havePacketCounters: 49,
            haveReplayCounters: 50,
        }
        zes_temp_properties_t = 48 {
            stype: 0, pNext: 8, r#type: 16, onSubdevice: 20, subdeviceId: 24, maxTemperature: 32,
            isCriticalTempSupported: 40, isThreshold1Supported: 41, isThreshold2Supported: 42,
        }
        zes_power_properties_t = 40 {
            stype: 0, pNext: 8, onSubdevice: 16, subdeviceId: 20, canControl: 24, isEnergyThresholdSupported: 25,
            defaultLimit: 28, minLimit: 32, maxLimit: 36,
        }
        zes_energy_counter_t = 16 { energy: 0, timestamp: 8 }
        zes_freq_properties_t = 48 {
            stype: 0, pNext: 8, r#type: 16, onSubdevice: 20, subdeviceId: 24, canControl: 28,
            isThrottleEventSupported: 29, min: 32, max: 40,
        }
        zes_freq_state_t = 64 {
            stype: 0, pNext: 8, currentVoltage: 16, request: 24, tdp: 32, efficient: 40, actual: 48,
            throttleReasons: 56,
        }
        zes_engine_properties_t = 32 { stype: 0, pNext: 8, r#type: 16, onSubdevice: 20, subdeviceId: 24 }
        zes_engine_stats_t = 16 { activeTime: 0, timestamp: 8 }
        zes_mem_properties_t = 48 {
            stype: 0, pNext: 8, r#type: 16, onSubdevice: 20, subdeviceId: 24, location: 28, physicalSize: 32,
            busWidth: 40, numChannels: 44,
        }
        zes_mem_state_t = 40 { stype: 0, pNext: 8, health: 16, free: 24, size: 32 }
    }
}

#[test]
fn each_structure_tells_its_type() {
    for (ours, header) in [
        (ze_device_properties_t::empty().stype, 0x3),
        (ze_pci_ext_properties_t::empty().stype, 0x1_0008),
        (zes_device_properties_t::empty().stype, 0x1),
        (zes_pci_properties_t::empty().stype, 0x2),
        (zes_engine_properties_t::empty().stype, 0x5),
        (zes_freq_properties_t::empty().stype, 0x9),
        (zes_mem_properties_t::empty().stype, 0xb),
        (zes_power_properties_t::empty().stype, 0xd),
        (zes_temp_properties_t::empty().stype, 0x14),
        (zes_freq_state_t::empty().stype, 0x1b),
        (zes_mem_state_t::empty().stype, 0x1e),
    ] {
        assert_eq!(ours, header);
    }
    assert!(zes_freq_state_t::empty().pNext.is_null());
}

#[test]
fn kinds_have_the_numbers_of_the_headers() {
    assert_eq!([temperature_sensor::GLOBAL, temperature_sensor::GPU, temperature_sensor::MEMORY], [0, 1, 2]);
    assert_eq!([frequency_domain::GPU, frequency_domain::MEMORY], [0, 1]);
    let groups = [engine_group::ALL, engine_group::COMPUTE_ALL, engine_group::DRAW_AND_COMPUTE_ALL];
    assert_eq!(groups, [0, 1, 11]);
    assert_eq!(memory_location::DEVICE, 1);
}

#[test]
fn numbers_of_arguments() {
    for (name, expected) in [
        ("zesInit", 1),
        ("zesDriverGet", 2),
        ("zesDeviceGet", 3),
        ("zesDeviceGetProperties", 2),
        ("zesDevicePciGetProperties", 2),
        ("zesDeviceGetCardPowerDomain", 2),
        ("zesDeviceEnumMemoryModules", 3),
        ("zesTemperatureGetState", 2),
        ("zeInit", 1),
        ("zeDriverGet", 2),
        ("zeDeviceGet", 3),
        ("zeDevicePciGetPropertiesExt", 2),
    ] {
        assert!(Functions::FUNCTIONS.contains(&(name, expected)), "{name}");
    }
    assert_eq!(Functions::FUNCTIONS.len(), 26);
}
