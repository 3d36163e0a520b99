//! What the functions write to: the structures of `ze_api.h` and `zes_api.h`, field by field, and their numbers.

use std::ffi::c_void;

/// What a function fills in.
///
/// # Safety
/// The layout must be that of the C structure whose pointer the function takes.
pub unsafe trait Structure: Copy {
    /// As the caller must hand it over: zeros, with the number that tells its type where it has one.
    fn empty() -> Self;
}

/// Makes structures that begin with the number of their type and a pointer to extensions.
macro_rules! structures {
    ($($(#[$doc:meta])* $name:ident = $number:literal { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[repr(C)]
        #[derive(Debug, Clone, Copy)]
        pub struct $name {
            /// Which structure this is.
            pub stype: u32,
            /// Extensions; none are used.
            pub pNext: *mut c_void,
            $($(#[$field_doc])* pub $field: $type,)*
        }

        // SAFETY: the fields are those of the header, in its order; `tests/abi.rs` checks where they stand.
        unsafe impl Structure for $name {
            fn empty() -> Self {
                // SAFETY: whole numbers, figures, arrays of them and null pointers may all be zero.
                let zeros: Self = unsafe { std::mem::zeroed() };
                Self { stype: $number, ..zeros }
            }
        }
    )*};
}

structures! {
    /// What the core interface knows of a device.
    ze_device_properties_t = 0x3 {
        /// 1 is a GPU.
        r#type: u32,
        /// Number of the maker on the PCI bus.
        vendorId: u32,
        /// Number of the model.
        deviceId: u32,
        /// Bit 0: it is a part of the processor.
        flags: u32,
        /// Which part of a device.
        subdeviceId: u32,
        /// MHz.
        coreClockRate: u32,
        /// Bytes of the largest allocation.
        maxMemAllocSize: u64,
        /// Contexts in hardware.
        maxHardwareContexts: u32,
        /// Highest priority of a queue.
        maxCommandQueuePriority: u32,
        /// Threads of an execution unit.
        numThreadsPerEU: u32,
        /// Lanes of an execution unit.
        physicalEUSimdWidth: u32,
        /// Execution units of a sub-slice.
        numEUsPerSubslice: u32,
        /// Sub-slices of a slice.
        numSubslicesPerSlice: u32,
        /// Slices.
        numSlices: u32,
        /// Of the device's clock.
        timerResolution: u64,
        /// Of a time stamp.
        timestampValidBits: u32,
        /// Of a kernel's time stamp.
        kernelTimestampValidBits: u32,
        /// Unique in the world.
        uuid: [u8; 16],
        /// Marketing name, ended by a zero.
        name: [u8; 256],
    }

    /// Where the core interface says that a device sits.
    ze_pci_ext_properties_t = 0x0001_0008 {
        /// The place.
        address: zes_pci_address_t,
        /// Generation, lanes, bytes a second.
        maxSpeed: zes_pci_speed_t,
    }

    /// What sysman knows of a device.
    zes_device_properties_t = 0x1 {
        /// As the core interface has it.
        core: ze_device_properties_t,
        /// Parts that can be addressed alone.
        numSubdevices: u32,
        /// Serial number of the chip.
        serialNumber: [u8; 64],
        /// Number of the board.
        boardNumber: [u8; 64],
        /// Brand.
        brandName: [u8; 64],
        /// Model.
        modelName: [u8; 64],
        /// Maker.
        vendorName: [u8; 64],
        /// Of the kernel's driver.
        driverVersion: [u8; 64],
    }

    /// Where sysman says that a device sits.
    zes_pci_properties_t = 0x2 {
        /// The place.
        address: zes_pci_address_t,
        /// The link at its best.
        maxSpeed: zes_pci_speed_t,
        /// Whether it counts bytes.
        haveBandwidthCounters: u8,
        /// Whether it counts packets.
        havePacketCounters: u8,
        /// Whether it counts what was sent again.
        haveReplayCounters: u8,
    }

    /// What a sensor of temperature measures.
    zes_temp_properties_t = 0x14 {
        /// See [`temperature_sensor`].
        r#type: u32,
        /// Whether it is on a part of the device.
        onSubdevice: u8,
        /// Which part.
        subdeviceId: u32,
        /// °C that it can show.
        maxTemperature: f64,
        /// Whether it can report that it is too hot.
        isCriticalTempSupported: u8,
        /// Whether a first threshold can be set.
        isThreshold1Supported: u8,
        /// Whether a second one can.
        isThreshold2Supported: u8,
    }

    /// What a domain of power is.
    zes_power_properties_t = 0xd {
        /// Whether it is a part of the device.
        onSubdevice: u8,
        /// Which part.
        subdeviceId: u32,
        /// Whether limits can be set.
        canControl: u8,
        /// Whether a threshold of energy can be set.
        isEnergyThresholdSupported: u8,
        /// Milliwatts.
        defaultLimit: i32,
        /// Milliwatts.
        minLimit: i32,
        /// Milliwatts.
        maxLimit: i32,
    }

    /// What a clock drives.
    zes_freq_properties_t = 0x9 {
        /// See [`frequency_domain`].
        r#type: u32,
        /// Whether it is on a part of the device.
        onSubdevice: u8,
        /// Which part.
        subdeviceId: u32,
        /// Whether it can be set.
        canControl: u8,
        /// Whether it reports that it is held back.
        isThrottleEventSupported: u8,
        /// MHz.
        min: f64,
        /// MHz.
        max: f64,
    }

    /// How a clock is now; what is negative is not known.
    zes_freq_state_t = 0x1b {
        /// Volts.
        currentVoltage: f64,
        /// MHz asked for.
        request: f64,
        /// MHz that power allows.
        tdp: f64,
        /// MHz that are most efficient.
        efficient: f64,
        /// MHz.
        actual: f64,
        /// What holds it back, a bit for each reason.
        throttleReasons: u32,
    }

    /// What engines a group holds.
    zes_engine_properties_t = 0x5 {
        /// See [`engine_group`].
        r#type: u32,
        /// Whether it is on a part of the device.
        onSubdevice: u8,
        /// Which part.
        subdeviceId: u32,
    }

    /// What a module of memory is.
    zes_mem_properties_t = 0xb {
        /// Kind of memory.
        r#type: u32,
        /// Whether it is on a part of the device.
        onSubdevice: u8,
        /// Which part.
        subdeviceId: u32,
        /// See [`memory_location`].
        location: u32,
        /// Bytes as built.
        physicalSize: u64,
        /// Bits.
        busWidth: i32,
        /// Channels.
        numChannels: i32,
    }

    /// How a module of memory is now.
    zes_mem_state_t = 0x1e {
        /// Whether it is sound.
        health: u32,
        /// Bytes.
        free: u64,
        /// Bytes.
        size: u64,
    }
}

/// A place on the PCI bus.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct zes_pci_address_t {
    /// Domain.
    pub domain: u32,
    /// Bus.
    pub bus: u32,
    /// Device.
    pub device: u32,
    /// Function.
    pub function: u32,
}

impl std::fmt::Display for zes_pci_address_t {
    /// As the kernel writes it: `0000:03:00.0`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:04x}:{:02x}:{:02x}.{:x}", self.domain, self.bus, self.device, self.function)
    }
}

/// A link of the PCI bus.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct zes_pci_speed_t {
    /// Generation.
    pub r#gen: i32,
    /// Lanes.
    pub width: i32,
    /// Bytes a second.
    pub maxBandwidth: i64,
}

/// Energy used so far.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct zes_energy_counter_t {
    /// Microjoules.
    pub energy: u64,
    /// Microseconds from a beginning of its own.
    pub timestamp: u64,
}

/// Time at work so far, in units of the driver's own.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct zes_engine_stats_t {
    /// At work.
    pub activeTime: u64,
    /// In all.
    pub timestamp: u64,
}

/// Structures without a number, and plain figures.
macro_rules! plain {
    ($($type:ty),*) => {$(
        // SAFETY: the layout is that of the header, see `tests/abi.rs`.
        unsafe impl Structure for $type {
            fn empty() -> Self {
                Self::default()
            }
        }
    )*};
}

plain!(f64, zes_energy_counter_t, zes_engine_stats_t);

/// What a sensor of temperature is on: `zes_temp_sensors_t`.
pub mod temperature_sensor {
    /// The highest of the device.
    pub const GLOBAL: u32 = 0;
    /// The highest of the chip.
    pub const GPU: u32 = 1;
    /// The highest of the memory.
    pub const MEMORY: u32 = 2;
}

/// What a clock drives: `zes_freq_domain_t`.
pub mod frequency_domain {
    /// The chip.
    pub const GPU: u32 = 0;
    /// The memory.
    pub const MEMORY: u32 = 1;
}

/// What engines a group holds: `zes_engine_group_t`.
pub mod engine_group {
    /// All.
    pub const ALL: u32 = 0;
    /// All that compute.
    pub const COMPUTE_ALL: u32 = 1;
    /// All that draw and compute.
    pub const DRAW_AND_COMPUTE_ALL: u32 = 11;
}

/// Where memory is: `zes_mem_loc_t`.
pub mod memory_location {
    /// On the device.
    pub const DEVICE: u32 = 1;
}
