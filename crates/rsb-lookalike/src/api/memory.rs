//! Memory of cards and of the host.

use std::ffi::{c_int, c_uint, c_void};

use hip_runtime_sys::{error, hipError_t, hipStream_t, memcpy};

use super::{handle, put};
use crate::card::{MEMORY_BYTES, Route};
use crate::heap::Home;
use crate::orders::Fault;
use crate::state::{State, answer, current};
use crate::task::Task;

fn out_of_memory_ordered(state: &State) -> bool {
    let from = |fault: &Fault| matches!(fault, Fault::OutOfMemory(which) if state.allocations >= *which);
    state.orders.as_ref().is_ok_and(|orders| orders.faults.iter().any(from))
}

fn allocate(state: &mut State, bytes: usize, home: Home) -> Result<usize, hipError_t> {
    let card = current();
    state.sound(card)?;
    if home != Home::Pinned {
        state.allocations += 1;
        if out_of_memory_ordered(state) || bytes as u64 > state.free_bytes(card) {
            return Err(error::OUT_OF_MEMORY);
        }
    }
    state.heap.give(bytes, home).ok_or(error::OUT_OF_MEMORY)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipMemGetInfo(free: *mut usize, total: *mut usize) -> hipError_t {
    answer(|state| {
        state.sound(current())?;
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        // SAFETY: the caller gives room for one each, or null.
        unsafe {
            put(free, size(state.free_bytes(current())))?;
            put(total, size(MEMORY_BYTES))
        }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipMalloc(pointer: *mut *mut c_void, bytes: usize) -> hipError_t {
    answer(|state| {
        let address = allocate(state, bytes, Home::Card(current()))?;
        // SAFETY: the caller gives room for one, or null.
        unsafe { put(pointer, address as *mut c_void) }
    })
}

fn free(pointer: *mut c_void) -> hipError_t {
    let taken = |state: &mut State| pointer.is_null() || state.heap.take(handle(pointer));
    answer(|state| if taken(state) { Ok(()) } else { Err(error::INVALID_VALUE) })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipFree(pointer: *mut c_void) -> hipError_t {
    free(pointer)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipHostMalloc(pointer: *mut *mut c_void, bytes: usize, _: c_uint) -> hipError_t {
    answer(|state| {
        let address = allocate(state, bytes, Home::Pinned)?;
        // SAFETY: the caller gives room for one, or null.
        unsafe { put(pointer, address as *mut c_void) }
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipHostFree(pointer: *mut c_void) -> hipError_t {
    free(pointer)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipMallocManaged(pointer: *mut *mut c_void, bytes: usize, _: c_uint) -> hipError_t {
    answer(|state| {
        let address = allocate(state, bytes, Home::Managed(current()))?;
        // SAFETY: the caller gives room for one, or null.
        unsafe { put(pointer, address as *mut c_void) }
    })
}

/// Checks that a copy is what its kind says, as far as the host's end can be told, and stays within our blocks.
fn copy(state: &State, to: usize, from: usize, bytes: usize, kind: c_int) -> Result<Task, hipError_t> {
    let on_card = |address| {
        let home = state.heap.find(address, bytes).map(|block| block.home);
        matches!(home, Some(Home::Card(_) | Home::Managed(_)))
    };
    let right = match kind {
        memcpy::HOST_TO_DEVICE => on_card(to),
        memcpy::DEVICE_TO_HOST => on_card(from),
        memcpy::DEVICE_TO_DEVICE => on_card(to) && on_card(from),
        memcpy::DEFAULT => on_card(to) || on_card(from),
        _ => false,
    };
    if !right {
        return Err(error::INVALID_VALUE);
    }
    Ok(Task::Copy { to, from, bytes, route: state.route(to, from)? })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipMemcpy(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: c_int,
) -> hipError_t {
    answer(|state| {
        let task = copy(state, handle(to), handle(from.cast_mut()), bytes, kind)?;
        state.hand_over(0, task)?;
        state.wait(0)
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipMemcpyAsync(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: c_int,
    stream: hipStream_t,
) -> hipError_t {
    answer(|state| {
        let task = copy(state, handle(to), handle(from.cast_mut()), bytes, kind)?;
        state.hand_over(handle(stream), task)
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipMemsetAsync(
    to: *mut c_void,
    value: c_int,
    bytes: usize,
    stream: hipStream_t,
) -> hipError_t {
    answer(|state| {
        if state.heap.find(handle(to), bytes).is_none() {
            return Err(error::INVALID_VALUE);
        }
        state.hand_over(handle(stream), Task::Fill { to: handle(to), value: value as u8, bytes })
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipMemcpyPeerAsync(
    to: *mut c_void,
    to_device: c_int,
    from: *const c_void,
    from_device: c_int,
    bytes: usize,
    stream: hipStream_t,
) -> hipError_t {
    answer(|state| {
        let (to, from) = (handle(to), handle(from.cast_mut()));
        let on = |address, device: c_int| {
            let home = state.heap.find(address, bytes).map(|block| block.home);
            home == usize::try_from(device).ok().map(Home::Card)
        };
        if !on(to, to_device) || !on(from, from_device) {
            return Err(error::INVALID_VALUE);
        }
        let route = if to_device == from_device { Route::Card } else { Route::Peer };
        state.hand_over(handle(stream), Task::Copy { to, from, bytes, route })
    })
}
