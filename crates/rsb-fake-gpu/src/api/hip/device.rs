//! Initialization, and properties of a GPU.

use std::ffi::{c_char, c_int, c_uint};

use hip_runtime_sys::{PropertiesR0000, PropertiesR0600, attribute, hipError_t};

use super::{answer, put, put_text, whole};
use crate::gpu::{MEMORY_BYTES, Vendor};
use crate::ops::{bus, place};
use crate::orders::Place;
use crate::state::{State, make_current, with};
use crate::status;

fn full_arch(state: &State) -> String {
    format!("{}{}", state.model.arch, state.model.features)
}

/// Writes `text` to a text field of the device properties, truncated to fit.
fn fill(room: &mut [c_char; 256], text: &str) {
    for (to, byte) in room.iter_mut().zip(text.bytes().take(255)) {
        *to = c_char::from_ne_bytes([byte]);
    }
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipInit(_flags: c_uint) -> hipError_t {
    answer(|state| {
        state.abort_if_ordered(Place::Init, "hipInit");
        if state.gpu_count()? == 0 { Err(status::NO_DEVICE) } else { Ok(()) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipGetDeviceCount(count: *mut c_int) -> hipError_t {
    answer(|state| {
        let gpus = state.gpu_count()?;
        // SAFETY: the C interface requires this output pointer to be null or valid for a write.
        unsafe { put(count, c_int::try_from(gpus).unwrap_or(0)) }?;
        if gpus == 0 { Err(status::NO_DEVICE) } else { Ok(()) }
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipSetDevice(device: c_int) -> hipError_t {
    answer(|state| {
        make_current(state.index(device)?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipDeviceGetAttribute(
    value: *mut c_int,
    number: c_int,
    device: c_int,
) -> hipError_t {
    answer(|state| {
        let index = state.index(device)?;
        let model = state.model;
        let found = match number {
            attribute::CLOCK_RATE => whole(model.mhz * 1000),
            attribute::INTEGRATED | attribute::PCI_DEVICE_ID | attribute::PCI_DOMAIN_ID => 0,
            attribute::L2_CACHE_SIZE => c_int::try_from(model.l2_bytes).unwrap_or(c_int::MAX),
            attribute::MAX_THREADS_PER_BLOCK => 1024,
            attribute::MAX_THREADS_PER_MULTIPROCESSOR => 2048,
            attribute::MEMORY_BUS_WIDTH => whole(model.bus_bits),
            attribute::MEMORY_CLOCK_RATE => whole(model.memory_mhz * 1000),
            attribute::MULTIPROCESSOR_COUNT => whole(model.units),
            attribute::PCI_BUS_ID => bus(index),
            attribute::MAX_SHARED_MEMORY_PER_BLOCK => 65_536,
            attribute::WARP_SIZE => whole(model.wavefront),
            _ => return Err(status::INVALID_VALUE),
        };
        // SAFETY: the C interface requires this output pointer to be null or valid for a write.
        unsafe { put(value, found) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipDeviceGetPCIBusId(
    text: *mut c_char,
    length: c_int,
    device: c_int,
) -> hipError_t {
    answer(|state| {
        let place = place(state.index(device)?);
        // SAFETY: the C interface requires `text` to be null or valid for writes of `length` bytes.
        unsafe { put_text(text, usize::try_from(length).unwrap_or(0), &place) }
    })
}

/// Fills the fields that both layouts of the device properties have.
macro_rules! fill_properties {
    ($properties:expr, $state:expr, $index:expr) => {{
        let model = $state.model;
        fill(&mut $properties.name, &$state.name());
        fill(&mut $properties.gcnArchName, &full_arch($state));
        $properties.totalGlobalMem = usize::try_from(MEMORY_BYTES).unwrap_or(usize::MAX);
        $properties.warpSize = whole(model.wavefront);
        $properties.clockRate = whole(model.mhz * 1000);
        $properties.major = 9;
        $properties.multiProcessorCount = whole(model.units);
        $properties.integrated = 0;
        $properties.pciBusID = bus($index);
        $properties.memoryClockRate = whole(model.memory_mhz * 1000);
        $properties.memoryBusWidth = whole(model.bus_bits);
        $properties.l2CacheSize = c_int::try_from(model.l2_bytes).unwrap_or(c_int::MAX);
    }};
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipGetDevicePropertiesR0600(
    to: *mut PropertiesR0600,
    device: c_int,
) -> hipError_t {
    answer(|state| {
        let index = state.index(device)?;
        let mut properties = PropertiesR0600::default();
        fill_properties!(properties, state, index);
        // SAFETY: the C interface requires `to` to be null or valid for a write of this layout.
        unsafe { put(to, properties) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipGetDeviceProperties(
    to: *mut PropertiesR0000,
    device: c_int,
) -> hipError_t {
    answer(|state| {
        let index = state.index(device)?;
        let mut properties = PropertiesR0000::default();
        fill_properties!(properties, state, index);
        // SAFETY: the C interface requires `to` to be null or valid for a write of this layout.
        unsafe { put(to, properties) }
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipGetErrorString(status: hipError_t) -> *const c_char {
    let text = match status {
        status::NOT_INITIALIZED => with(Vendor::Amd, |state| state.mistake()),
        status::NO_DEVICE => c"no ROCm-capable device is detected",
        other => status::text(other),
    };
    text.as_ptr()
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipDeviceCanAccessPeer(
    can: *mut c_int,
    device: c_int,
    peer: c_int,
) -> hipError_t {
    answer(|state| {
        let reaches = state.reaches(device, peer)?;
        // SAFETY: the C interface requires this output pointer to be null or valid for a write.
        unsafe { put(can, c_int::from(reaches)) }
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipDeviceEnablePeerAccess(peer: c_int, _flags: c_uint) -> hipError_t {
    answer(|state| {
        let peer = state.index(peer)?;
        state.enable_peer(peer)
    })
}
