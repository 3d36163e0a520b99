//! RCCL as far as the program asks it: sums over the GPUs of one process. Calls of a group are kept until it ends.
#![allow(clippy::missing_safety_doc)]

use std::ffi::{c_char, c_int, c_void};
use std::sync::{Mutex, PoisonError};

use half::{bf16, f16};
use hip_runtime_sys::hipStream_t;
use rsb_model::Dtype;

use super::handle;
use crate::element::Element;
use crate::gpu::{Route, Vendor};
use crate::launch::Launch;
use crate::orders::Fault;
use crate::state::{State, with};

/// `ncclResult_t`.
type Status = c_int;

const SUCCESS: Status = 0;
const SYSTEM_ERROR: Status = 2;
const INTERNAL_ERROR: Status = 3;
const INVALID_ARGUMENT: Status = 4;
const INVALID_USAGE: Status = 5;

/// The name that orders use.
const NAME: &str = "rccl_all_reduce";

/// One GPU's part of a sum.
#[derive(Debug, Clone, Copy)]
struct Part {
    rank: usize,
    send: u64,
    receive: u64,
    count: usize,
    data_type: c_int,
    stream: usize,
}

/// GPUs that work together, each by its rank; and what they were asked since the group began.
#[derive(Debug, Default)]
struct Together {
    gpus: Vec<usize>,
    parts: Vec<Part>,
    in_group: bool,
}

static TOGETHER: Mutex<Together> = Mutex::new(Together { gpus: Vec::new(), parts: Vec::new(), in_group: false });

fn together<T>(call: impl FnOnce(&mut Together) -> T) -> T {
    call(&mut TOGETHER.lock().unwrap_or_else(PoisonError::into_inner))
}

/// One set of communicators at a time: their handles are the ranks from 1 on.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommInitAll(to: *mut *mut c_void, count: c_int, devices: *const c_int) -> Status {
    let Some(count) = usize::try_from(count).ok().filter(|&count| count > 0 && !to.is_null()) else {
        return INVALID_ARGUMENT;
    };
    let gpus: Vec<usize> = if devices.is_null() {
        (0..count).collect()
    } else {
        // SAFETY: the caller gives as many devices as it says.
        let devices = unsafe { std::slice::from_raw_parts(devices, count) };
        devices.iter().map(|&device| usize::try_from(device).unwrap_or(usize::MAX)).collect()
    };
    if !with(Vendor::Amd, |state| gpus.iter().all(|&gpu| state.sound(gpu).is_ok())) {
        return SYSTEM_ERROR;
    }
    together(|all| *all = Together { gpus, ..Together::default() });
    for rank in 0..count {
        // SAFETY: the caller gives room for as many as it says.
        unsafe { to.add(rank).write((rank + 1) as *mut c_void) };
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclCommDestroy(communicator: *mut c_void) -> Status {
    together(|all| if (1..=all.gpus.len()).contains(&handle(communicator)) { SUCCESS } else { INVALID_ARGUMENT })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclGroupStart() -> Status {
    together(|all| {
        all.in_group = true;
        all.parts.clear();
    });
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclGroupEnd() -> Status {
    together(|all| {
        if !std::mem::take(&mut all.in_group) {
            return INVALID_USAGE;
        }
        let mut parts = std::mem::take(&mut all.parts);
        parts.sort_by_key(|part| part.rank);
        let is_whole = parts.iter().map(|part| part.rank).eq(0..all.gpus.len());
        match parts.first() {
            None => SUCCESS,
            Some(first)
                if is_whole
                    && parts.iter().all(|part| (part.count, part.data_type) == (first.count, first.data_type)) =>
            {
                with(Vendor::Amd, |state| reduce(state, &all.gpus, &parts)).err().unwrap_or(SUCCESS)
            }
            Some(_) => INVALID_USAGE,
        }
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclAllReduce(
    send: *const c_void,
    receive: *mut c_void,
    count: usize,
    data_type: c_int,
    operation: c_int,
    communicator: *mut c_void,
    stream: hipStream_t,
) -> Status {
    together(|all| {
        let rank = handle(communicator).checked_sub(1).filter(|&rank| rank < all.gpus.len());
        let Some(rank) = rank.filter(|_| operation == 0) else { return INVALID_ARGUMENT };
        // Alone, one GPU would wait for the others for ever.
        if !all.in_group {
            return INVALID_USAGE;
        }
        let (send, receive) = (handle(send) as u64, handle(receive) as u64);
        all.parts.push(Part { rank, send, receive, count, data_type, stream: handle(stream) });
        SUCCESS
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclGetErrorString(status: Status) -> *const c_char {
    let text = match status {
        SUCCESS => c"no error",
        SYSTEM_ERROR => c"unhandled system error",
        INTERNAL_ERROR => c"internal error",
        INVALID_ARGUMENT => c"invalid argument",
        INVALID_USAGE => c"invalid usage",
        _ => c"unknown result code",
    };
    text.as_ptr()
}

fn reduce(state: &mut State, gpus: &[usize], parts: &[Part]) -> Result<(), Status> {
    let data_type = parts.first().map_or(-1, |part| part.data_type);
    match data_type {
        6 => sum::<f16>(state, gpus, parts, Dtype::F16),
        7 => sum::<f32>(state, gpus, parts, Dtype::F32),
        8 => sum::<f64>(state, gpus, parts, Dtype::F64),
        9 => sum::<bf16>(state, gpus, parts, Dtype::Bf16),
        _ => Err(INVALID_ARGUMENT),
    }
}

fn sum<T: Element>(state: &mut State, gpus: &[usize], parts: &[Part], dtype: Dtype) -> Result<(), Status> {
    let count = parts.first().map_or(0, |part| part.count);
    let mut sums = vec![0.0; count];
    let mut written = Vec::new();
    for (&gpu, part) in gpus.iter().zip(parts) {
        state.sound(gpu).map_err(|_| SYSTEM_ERROR)?;
        let arguments = [part.send];
        let mut launch = Launch::new(&state.heap, gpu, dtype, &arguments);
        let own: &[T] = launch.input(0, count).map_err(|_| INVALID_ARGUMENT)?;
        sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += own.get());
    }
    let is_spoiled = |fault: &Fault| matches!(fault, Fault::Wrong(name) if NAME.starts_with(name.as_str()));
    if state.orders.as_ref().is_ok_and(|orders| orders.faults.iter().any(is_spoiled)) {
        sums.iter_mut().take(1).for_each(|sum| *sum += 1.0);
    }
    for (&gpu, part) in gpus.iter().zip(parts) {
        let arguments = [part.receive];
        let mut launch = Launch::new(&state.heap, gpu, dtype, &arguments);
        let result: &mut [T] = launch.output(0, count).map_err(|_| INVALID_ARGUMENT)?;
        result.iter_mut().zip(&sums).for_each(|(to, &sum)| *to = T::put(sum));
        written.extend(launch.touched.iter().map(|one| one.block));
    }
    for block in written {
        state.heap.written(block);
    }
    pass_time(state, parts, dtype.bytes(count as u64))
}

/// Every link carries 2 (n − 1) / n of the bytes, and all GPUs are done at once.
fn pass_time(state: &mut State, parts: &[Part], bytes: u64) -> Result<(), Status> {
    let others = parts.len() as u64 - 1;
    let cost = state.model.copy_ns(2 * others * bytes / parts.len() as u64, Route::Peer);
    let mut begin: f64 = 0.0;
    for part in parts {
        let busy_until = state.stream(part.stream).map_err(|_| INVALID_ARGUMENT)?.busy_until;
        begin = begin.max(state.clock.begin(busy_until));
    }
    let end = begin + state.clock.scattered(cost);
    for part in parts {
        state.stream(part.stream).map_err(|_| INTERNAL_ERROR)?.busy_until = end;
    }
    Ok(())
}
