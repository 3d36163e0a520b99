//! The two layouts of device properties. ROCm 6 renamed the function when it changed the struct, so
//! that each name has one layout for good. Only what is used has a name; the rest is reserved and
//! keeps the offsets right.

use std::ffi::{CStr, c_char, c_int};

/// The layout behind `hipGetDevicePropertiesR0600` (ROCm 6 and 7): 1472 bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PropertiesR0600 {
    /// Marketing name.
    pub name: [c_char; 256],
    _uuid_and_luid: [u8; 32],
    /// Memory in bytes.
    pub totalGlobalMem: usize,
    _limits: [u8; 12],
    /// Threads of a wavefront.
    pub warpSize: c_int,
    _sizes: [u8; 36],
    /// Highest clock of the compute units, in kHz.
    pub clockRate: c_int,
    _constants: [u8; 8],
    /// First number of the architecture.
    pub major: c_int,
    _textures: [u8; 24],
    /// Compute units.
    pub multiProcessorCount: c_int,
    _timeout: [u8; 4],
    /// Whether memory is that of the host.
    pub integrated: c_int,
    _surfaces: [u8; 184],
    /// Bus number.
    pub pciBusID: c_int,
    _place: [u8; 20],
    /// Highest clock of the memory, in kHz.
    pub memoryClockRate: c_int,
    /// Width of the memory bus in bits.
    pub memoryBusWidth: c_int,
    /// Size of the second-level cache in bytes.
    pub l2CacheSize: c_int,
    _more: [u8; 540],
    /// Architecture and its features, such as `gfx90a:sramecc+:xnack-`.
    pub gcnArchName: [c_char; 256],
    _rest: [u8; 56],
}

/// The layout behind `hipGetDeviceProperties` in ROCm 5: 792 bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PropertiesR0000 {
    /// Marketing name.
    pub name: [c_char; 256],
    /// Memory in bytes.
    pub totalGlobalMem: usize,
    _limits: [u8; 12],
    /// Threads of a wavefront.
    pub warpSize: c_int,
    _sizes: [u8; 28],
    /// Highest clock of the compute units, in kHz.
    pub clockRate: c_int,
    /// Highest clock of the memory, in kHz.
    pub memoryClockRate: c_int,
    /// Width of the memory bus in bits.
    pub memoryBusWidth: c_int,
    _constants: [u8; 8],
    /// First number of the architecture.
    pub major: c_int,
    _minor: [u8; 4],
    /// Compute units.
    pub multiProcessorCount: c_int,
    /// Size of the second-level cache in bytes.
    pub l2CacheSize: c_int,
    _modes: [u8; 24],
    /// Bus number.
    pub pciBusID: c_int,
    _place: [u8; 24],
    /// Architecture and its features, such as `gfx90a:sramecc+:xnack-`.
    pub gcnArchName: [c_char; 256],
    /// Whether memory is that of the host.
    pub integrated: c_int,
    _rest: [u8; 136],
}

impl Default for PropertiesR0600 {
    fn default() -> Self {
        // SAFETY: every field is a number or an array of numbers, for which all zeros is a value.
        unsafe { std::mem::zeroed() }
    }
}

impl Default for PropertiesR0000 {
    fn default() -> Self {
        // SAFETY: every field is a number or an array of numbers, for which all zeros is a value.
        unsafe { std::mem::zeroed() }
    }
}

/// The text in a C array, up to its zero or its end.
pub fn text(array: &[c_char]) -> String {
    let bytes: Vec<u8> = array.iter().map(|&c| c.to_ne_bytes()[0]).chain([0]).collect();
    CStr::from_bytes_until_nul(&bytes)
        .map(|text| text.to_string_lossy().trim().to_owned())
        .unwrap_or_default()
}
