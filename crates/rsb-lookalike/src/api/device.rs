//! Initialisation, and what a card is.

use std::ffi::{CString, c_char, c_int, c_uint};
use std::sync::OnceLock;

use hip_runtime_sys::{PropertiesR0000, PropertiesR0600, attribute, error, hipError_t};

use super::{put, put_text};
use crate::card::MEMORY_BYTES;
use crate::orders::Place;
use crate::state::{State, answer, current, make_current, more, with};

/// ROCm 6.4.
const VERSION: c_int = 60_400_000;

fn index(state: &State, device: c_int) -> Result<usize, hipError_t> {
    usize::try_from(device).ok().filter(|&index| index < state.cards.len()).ok_or(error::INVALID_DEVICE)
}

fn name(state: &State) -> String {
    format!("software look-alike of {} (no hardware)", state.model.arch)
}

fn full_arch(state: &State) -> String {
    format!("{}{}", state.model.arch, state.model.features)
}

/// Room for a text of properties.
fn fill(room: &mut [c_char; 256], text: &str) {
    for (to, byte) in room.iter_mut().zip(text.bytes().take(255)) {
        *to = c_char::from_ne_bytes([byte]);
    }
}

fn whole(value: u32) -> c_int {
    c_int::try_from(value).unwrap_or(c_int::MAX)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipInit(_flags: c_uint) -> hipError_t {
    if with(|state| state.orders.as_ref().is_ok_and(|orders| orders.aborts(Place::Init))) {
        eprintln!("rsb-lookalike: hipInit ends the process, as ordered");
        std::process::abort();
    }
    answer(|state| match &state.orders {
        Err(_) => Err(error::NOT_INITIALIZED),
        Ok(orders) if orders.cards == 0 || orders.vanished() => Err(error::NO_DEVICE),
        Ok(_) => Ok(()),
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipRuntimeGetVersion(version: *mut c_int) -> hipError_t {
    // SAFETY: the caller gives room for one, or null.
    answer(|_| unsafe { put(version, VERSION) })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipGetDeviceCount(count: *mut c_int) -> hipError_t {
    answer(|state| {
        let cards = match &state.orders {
            Err(_) => return Err(error::NOT_INITIALIZED),
            Ok(orders) if orders.vanished() => 0,
            Ok(orders) => orders.cards,
        };
        // SAFETY: the caller gives room for one, or null.
        unsafe { put(count, c_int::try_from(cards).unwrap_or(0)) }?;
        if cards == 0 { Err(error::NO_DEVICE) } else { Ok(()) }
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipSetDevice(device: c_int) -> hipError_t {
    answer(|state| {
        make_current(index(state, device)?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipDeviceGetAttribute(value: *mut c_int, number: c_int, device: c_int) -> hipError_t {
    answer(|state| {
        let index = index(state, device)?;
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
            _ => return Err(error::INVALID_VALUE),
        };
        // SAFETY: the caller gives room for one, or null.
        unsafe { put(value, found) }
    })
}

/// Bus number of a card.
fn bus(index: usize) -> c_int {
    c_int::try_from(index + 1).unwrap_or(0)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipDeviceGetName(text: *mut c_char, length: c_int, device: c_int) -> hipError_t {
    answer(|state| {
        index(state, device)?;
        // SAFETY: the caller gives room for so many bytes, or null.
        unsafe { put_text(text, usize::try_from(length).unwrap_or(0), &name(state)) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipDeviceGetPCIBusId(text: *mut c_char, length: c_int, device: c_int) -> hipError_t {
    answer(|state| {
        let place = format!("0000:{:02x}:00.0", bus(index(state, device)?));
        // SAFETY: the caller gives room for so many bytes, or null.
        unsafe { put_text(text, usize::try_from(length).unwrap_or(0), &place) }
    })
}

/// Fills the fields that both layouts have.
macro_rules! fill_properties {
    ($properties:expr, $state:expr, $index:expr) => {{
        let model = $state.model;
        fill(&mut $properties.name, &name($state));
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
pub(crate) unsafe extern "C" fn hipGetDevicePropertiesR0600(to: *mut PropertiesR0600, device: c_int) -> hipError_t {
    answer(|state| {
        let index = index(state, device)?;
        let mut properties = PropertiesR0600::default();
        fill_properties!(properties, state, index);
        // SAFETY: the caller gives room for one in this layout, or null.
        unsafe { put(to, properties) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipGetDeviceProperties(to: *mut PropertiesR0000, device: c_int) -> hipError_t {
    answer(|state| {
        let index = index(state, device)?;
        let mut properties = PropertiesR0000::default();
        fill_properties!(properties, state, index);
        // SAFETY: the caller gives room for one in this layout, or null.
        unsafe { put(to, properties) }
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipGetErrorString(status: hipError_t) -> *const c_char {
    /// What was not understood of the orders; it lives as long as the process.
    static MISTAKE: OnceLock<CString> = OnceLock::new();
    let text = match status {
        error::SUCCESS => c"no error",
        error::INVALID_VALUE => c"invalid argument",
        error::OUT_OF_MEMORY => c"out of memory",
        error::NOT_INITIALIZED => {
            let mistake = || with(|state| state.orders.as_ref().err().cloned()).unwrap_or_default();
            MISTAKE.get_or_init(|| CString::new(mistake()).unwrap_or_default()).as_c_str()
        }
        error::INVALID_CONFIGURATION => c"invalid configuration argument",
        error::NO_DEVICE => c"no ROCm-capable device is detected",
        error::INVALID_DEVICE => c"invalid device ordinal",
        error::INVALID_IMAGE => c"device kernel image is invalid",
        error::NO_BINARY_FOR_GPU => c"no kernel image is available for execution on the device",
        error::PEER_ACCESS_UNSUPPORTED => c"peer access is not supported between these two devices",
        error::NOT_FOUND => c"named symbol not found",
        error::ILLEGAL_ADDRESS => c"an illegal memory access was encountered",
        error::PEER_ACCESS_ALREADY_ENABLED => c"peer access is already enabled",
        error::LAUNCH_FAILURE => c"unspecified launch failure",
        error::NOT_SUPPORTED => c"operation not supported",
        error::NOT_READY => c"device not ready",
        more::INVALID_HANDLE => c"invalid resource handle",
        more::CAPTURE_UNSUPPORTED => c"operation not permitted when stream is capturing",
        more::CAPTURE_ILLEGAL => c"operation failed due to a previous error during capture",
        _ => c"unknown error",
    };
    text.as_ptr()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipDeviceSynchronize() -> hipError_t {
    answer(|state| state.wait_for_card(current()))
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) -> hipError_t {
    answer(|state| {
        let others = index(state, device)? != index(state, peer)?;
        // SAFETY: the caller gives room for one, or null.
        unsafe { put(can, c_int::from(others)) }
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipDeviceEnablePeerAccess(peer: c_int, _flags: c_uint) -> hipError_t {
    answer(|state| {
        let peer = index(state, peer)?;
        if peer == current() {
            return Err(error::INVALID_DEVICE);
        }
        if state.sound(current())?.peers.insert(peer) { Ok(()) } else { Err(error::PEER_ACCESS_ALREADY_ENABLED) }
    })
}
