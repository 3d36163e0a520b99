//! The two layouts of device properties. ROCm 6 changed the struct and renamed the function, so the
//! layout is determined by the function name. Only fields in use have names here; the rest are
//! reserved bytes that preserve the offsets.

use std::ffi::{CStr, c_char, c_int};

/// Layout returned by `hipGetDevicePropertiesR0600` (ROCm 6 and 7): 1472 bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PropertiesR0600 {
    /// Marketing name.
    pub name: [c_char; 256],
    _uuid_and_luid: [u8; 32],
    /// Memory in bytes.
    pub totalGlobalMem: usize,
    _limits: [u8; 12],
    /// Threads per wavefront.
    pub warpSize: c_int,
    _sizes: [u8; 36],
    /// Maximum clock of the compute units, in kHz.
    pub clockRate: c_int,
    _constants: [u8; 8],
    /// Major version of the architecture.
    pub major: c_int,
    _textures: [u8; 24],
    /// Number of compute units.
    pub multiProcessorCount: c_int,
    _timeout: [u8; 4],
    /// Whether the GPU is integrated and uses host memory.
    pub integrated: c_int,
    _surfaces: [u8; 184],
    /// PCI bus number.
    pub pciBusID: c_int,
    _place: [u8; 20],
    /// Maximum memory clock, in kHz.
    pub memoryClockRate: c_int,
    /// Memory bus width in bits.
    pub memoryBusWidth: c_int,
    /// Size of the L2 cache in bytes.
    pub l2CacheSize: c_int,
    _more: [u8; 540],
    /// Architecture and its features, such as `gfx90a:sramecc+:xnack-`.
    pub gcnArchName: [c_char; 256],
    _rest: [u8; 56],
}

/// Layout returned by `hipGetDeviceProperties` in ROCm 5: 792 bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PropertiesR0000 {
    /// Marketing name.
    pub name: [c_char; 256],
    /// Memory in bytes.
    pub totalGlobalMem: usize,
    _limits: [u8; 12],
    /// Threads per wavefront.
    pub warpSize: c_int,
    _sizes: [u8; 28],
    /// Maximum clock of the compute units, in kHz.
    pub clockRate: c_int,
    /// Maximum memory clock, in kHz.
    pub memoryClockRate: c_int,
    /// Memory bus width in bits.
    pub memoryBusWidth: c_int,
    _constants: [u8; 8],
    /// Major version of the architecture.
    pub major: c_int,
    _minor: [u8; 4],
    /// Number of compute units.
    pub multiProcessorCount: c_int,
    /// Size of the L2 cache in bytes.
    pub l2CacheSize: c_int,
    _modes: [u8; 24],
    /// PCI bus number.
    pub pciBusID: c_int,
    _place: [u8; 24],
    /// Architecture and its features, such as `gfx90a:sramecc+:xnack-`.
    pub gcnArchName: [c_char; 256],
    /// Whether the GPU is integrated and uses host memory.
    pub integrated: c_int,
    _rest: [u8; 136],
}

impl Default for PropertiesR0600 {
    fn default() -> Self {
        // SAFETY: every field is a number or an array of numbers, for which all zeros is a valid
        // value.
        unsafe { std::mem::zeroed() }
    }
}

impl Default for PropertiesR0000 {
    fn default() -> Self {
        // SAFETY: every field is a number or an array of numbers, for which all zeros is a valid
        // value.
        unsafe { std::mem::zeroed() }
    }
}

/// Returns the text in a C array, without surrounding white space. The text ends at the first zero
/// or at the end of the array.
pub fn text(array: &[c_char]) -> String {
    let bytes: Vec<u8> = array.iter().map(|&c| c.to_ne_bytes()[0]).chain([0]).collect();
    CStr::from_bytes_until_nul(&bytes)
        .map(|text| text.to_string_lossy().trim().to_owned())
        .unwrap_or_default()
}
