//! The subset of RCCL and NCCL that the program uses: collectives over the GPUs of one process,
//! called by one thread or by one thread per GPU. Calls are queued until every GPU has made its
//! call.
#![allow(clippy::missing_safety_doc)]

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use half::{bf16, f16};
use nccl_sys::ncclComm_t;
use rsb_model::Dtype;

use super::handle;
use crate::element::Element;
use crate::gpu::{Route, Vendor};
use crate::launch::Launch;
use crate::orders::Fault;
use crate::state::{State, here, with};

/// `ncclResult_t`.
type Status = c_int;

const SUCCESS: Status = 0;
const SYSTEM_ERROR: Status = 2;
const INTERNAL_ERROR: Status = 3;
const INVALID_ARGUMENT: Status = 4;
const INVALID_USAGE: Status = 5;

/// Type of a call, made by one GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    AllReduce,
    AllGather,
    ReduceScatter,
    Broadcast { root: usize },
    Send { to: usize },
    Receive { from: usize },
}

impl Call {
    /// Returns the name used in faults, after the library's prefix.
    const fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all_reduce",
            Self::AllGather => "all_gather",
            Self::ReduceScatter => "reduce_scatter",
            Self::Broadcast { .. } => "broadcast",
            Self::Send { .. } | Self::Receive { .. } => "send_receive",
        }
    }
}

/// Call of one GPU, with its arguments.
#[derive(Debug, Clone, Copy)]
struct Part {
    call: Call,
    rank: usize,
    /// Send and receive addresses.
    ends: [u64; 2],
    count: usize,
    data_type: c_int,
    stream: usize,
}

/// GPUs by rank, with the pending calls or groups of calls of each GPU, which wait for the calls of
/// the remaining GPUs.
#[derive(Debug)]
struct Communicator {
    gpus: Vec<usize>,
    waiting: Vec<VecDeque<Vec<Part>>>,
}

static TOGETHER: Mutex<Communicator> =
    Mutex::new(Communicator { gpus: Vec::new(), waiting: Vec::new() });

/// Number of collective calls made in this process.
static CALLS: AtomicU64 = AtomicU64::new(0);

/// A thread's open group: its nesting depth, and the calls queued in it.
struct Group {
    depth: u32,
    parts: Vec<Part>,
}

thread_local! {
    static GROUP: RefCell<Group> = const { RefCell::new(Group { depth: 0, parts: Vec::new() }) };
}

fn together<T>(call: impl FnOnce(&mut Communicator) -> T) -> T {
    call(&mut TOGETHER.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Creates a communicator for each GPU, replacing all previous ones. A handle is the rank plus 1.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommInitAll(
    to: *mut ncclComm_t,
    count: c_int,
    devices: *const c_int,
) -> Status {
    let Some(count) = usize::try_from(count).ok().filter(|&count| count > 0 && !to.is_null())
    else {
        return INVALID_ARGUMENT;
    };
    let gpus: Vec<usize> = if devices.is_null() {
        (0..count).collect()
    } else {
        // SAFETY: the C interface requires `devices` to point to `count` numbers if it is not null.
        let devices = unsafe { std::slice::from_raw_parts(devices, count) };
        devices.iter().map(|&device| usize::try_from(device).unwrap_or(usize::MAX)).collect()
    };
    if !with(here(), |state| gpus.iter().all(|&gpu| state.sound(gpu).is_ok())) {
        return SYSTEM_ERROR;
    }
    together(|all| *all = Communicator { gpus, waiting: vec![VecDeque::new(); count] });
    for rank in 0..count {
        // SAFETY: the C interface requires `to` to have space for `count` communicators.
        unsafe { to.add(rank).write((rank + 1) as ncclComm_t) };
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclCommDestroy(communicator: ncclComm_t) -> Status {
    together(|all| {
        if (1..=all.gpus.len()).contains(&handle(communicator)) {
            SUCCESS
        } else {
            INVALID_ARGUMENT
        }
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclGroupStart() -> Status {
    with(here(), |state| state.note("group start"));
    GROUP.with_borrow_mut(|group| group.depth += 1);
    SUCCESS
}

/// Ends a group. Groups may be nested: calls start at the end of the outermost group.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclGroupEnd() -> Status {
    with(here(), |state| state.note("group end"));
    let ended = GROUP.with_borrow_mut(|group| {
        group.depth = group.depth.checked_sub(1)?;
        Some(if group.depth == 0 { std::mem::take(&mut group.parts) } else { Vec::new() })
    });
    ended.map_or(INVALID_USAGE, |parts| together(|all| all.ask(parts)))
}

/// Queues a call until this thread's group ends, or makes it immediately outside a group.
fn ask(communicator: ncclComm_t, part: Part) -> Status {
    let call = CALLS.fetch_add(1, Ordering::Relaxed) + 1;
    if with(here(), |state| {
        state.orders.as_ref().is_ok_and(|orders| orders.faults.contains(&Fault::Collective(call)))
    }) {
        return INTERNAL_ERROR;
    }
    let ranks = together(|all| all.gpus.len());
    let Some(rank) = handle(communicator).checked_sub(1).filter(|&rank| rank < ranks) else {
        return INVALID_ARGUMENT;
    };
    let part = Part { rank, ..part };
    let is_kept = GROUP.with_borrow_mut(|group| {
        if group.depth > 0 {
            group.parts.push(part);
        }
        group.depth > 0
    });
    if is_kept { SUCCESS } else { together(|all| all.ask(vec![part])) }
}

impl Communicator {
    /// Queues each GPU's calls. While every GPU has a pending call, runs the oldest call of each.
    fn ask(&mut self, parts: Vec<Part>) -> Status {
        let mut of_each: Vec<Vec<Part>> = vec![Vec::new(); self.gpus.len()];
        for part in parts {
            match of_each.get_mut(part.rank) {
                Some(own) => own.push(part),
                None => return INVALID_ARGUMENT,
            }
        }
        for (waiting, own) in
            self.waiting.iter_mut().zip(of_each).filter(|(_, own)| !own.is_empty())
        {
            waiting.push_back(own);
        }
        while self.waiting.iter().all(|waiting| !waiting.is_empty()) && !self.waiting.is_empty() {
            let parts = self.waiting.iter_mut().filter_map(VecDeque::pop_front).flatten().collect();
            if let Err(status) = with(here(), |state| run(state, &self.gpus, parts)) {
                return status;
            }
        }
        SUCCESS
    }
}

fn part(
    call: Call,
    ends: [*const c_void; 2],
    (count, data_type): (usize, c_int),
    stream: *mut c_void,
) -> Part {
    Part {
        call,
        rank: 0,
        ends: ends.map(|end| handle(end) as u64),
        count,
        data_type,
        stream: handle(stream),
    }
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclAllReduce(
    send: *const c_void,
    receive: *mut c_void,
    count: usize,
    data_type: c_int,
    operation: c_int,
    communicator: ncclComm_t,
    stream: *mut c_void,
) -> Status {
    let part = part(Call::AllReduce, [send, receive], (count, data_type), stream);
    if operation == 0 { ask(communicator, part) } else { INVALID_ARGUMENT }
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclAllGather(
    send: *const c_void,
    receive: *mut c_void,
    count: usize,
    data_type: c_int,
    communicator: ncclComm_t,
    stream: *mut c_void,
) -> Status {
    ask(communicator, part(Call::AllGather, [send, receive], (count, data_type), stream))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclReduceScatter(
    send: *const c_void,
    receive: *mut c_void,
    count: usize,
    data_type: c_int,
    operation: c_int,
    communicator: ncclComm_t,
    stream: *mut c_void,
) -> Status {
    let part = part(Call::ReduceScatter, [send, receive], (count, data_type), stream);
    if operation == 0 { ask(communicator, part) } else { INVALID_ARGUMENT }
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclBroadcast(
    send: *const c_void,
    receive: *mut c_void,
    count: usize,
    data_type: c_int,
    root: c_int,
    communicator: ncclComm_t,
    stream: *mut c_void,
) -> Status {
    let Ok(root) = usize::try_from(root) else { return INVALID_ARGUMENT };
    ask(communicator, part(Call::Broadcast { root }, [send, receive], (count, data_type), stream))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclSend(
    send: *const c_void,
    count: usize,
    data_type: c_int,
    peer: c_int,
    communicator: ncclComm_t,
    stream: *mut c_void,
) -> Status {
    let Ok(to) = usize::try_from(peer) else { return INVALID_ARGUMENT };
    ask(communicator, part(Call::Send { to }, [send, send], (count, data_type), stream))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclRecv(
    receive: *mut c_void,
    count: usize,
    data_type: c_int,
    peer: c_int,
    communicator: ncclComm_t,
    stream: *mut c_void,
) -> Status {
    let Ok(from) = usize::try_from(peer) else { return INVALID_ARGUMENT };
    ask(communicator, part(Call::Receive { from }, [receive, receive], (count, data_type), stream))
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

fn run(state: &mut State, gpus: &[usize], mut parts: Vec<Part>) -> Result<(), Status> {
    parts.sort_by_key(|part| part.rank);
    match parts.first().map(|part| part.data_type) {
        None => Ok(()),
        Some(6) => exchange::<f16>(state, gpus, &parts, Dtype::F16),
        Some(7) => exchange::<f32>(state, gpus, &parts, Dtype::F32),
        Some(8) => exchange::<f64>(state, gpus, &parts, Dtype::F64),
        Some(9) => exchange::<bf16>(state, gpus, &parts, Dtype::Bf16),
        Some(_) => Err(INVALID_ARGUMENT),
    }
}

/// Runs the calls of all GPUs. All inputs are read before any output is written, so that in-place
/// calls work.
fn exchange<T: Element>(
    state: &mut State,
    gpus: &[usize],
    parts: &[Part],
    dtype: Dtype,
) -> Result<(), Status> {
    for &gpu in gpus {
        state.sound(gpu).map_err(|_| SYSTEM_ERROR)?;
    }
    let sent = read_inputs::<T>(state, gpus, parts, dtype)?;
    let mut received = compute_outputs(gpus.len(), parts, &sent)?;
    let library = if state.model.vendor == Vendor::Amd { "rccl_" } else { "nccl_" };
    let is_spoiled = state.orders.as_ref().is_ok_and(|orders| {
        orders.faults.iter().any(|fault| {
            let Fault::Wrong(name) = fault else { return false };
            parts
                .iter()
                .any(|part| format!("{library}{}", part.call.name()).starts_with(name.as_str()))
        })
    });
    if is_spoiled {
        // The injected fault changes the last element on the last GPU.
        received
            .iter_mut()
            .rev()
            .find_map(|(_, numbers)| numbers.last_mut())
            .into_iter()
            .for_each(|last| *last += 1.0);
    }
    let mut written = Vec::new();
    for (part, numbers) in &received {
        let arguments = [part.ends[1]];
        let mut launch = Launch::new(&state.heap, gpu_of(gpus, part.rank)?, dtype, &arguments);
        let result: &mut [T] = launch.output(0, numbers.len()).map_err(|_| INVALID_ARGUMENT)?;
        result.iter_mut().zip(numbers).for_each(|(to, &number)| *to = T::put(number));
        written.extend(launch.touched.iter().map(|one| one.block));
    }
    for block in written {
        state.heap.mark_written(block);
    }
    pass_time(state, gpus.len(), parts, dtype)
}

fn gpu_of(gpus: &[usize], rank: usize) -> Result<usize, Status> {
    gpus.get(rank).copied().ok_or(INVALID_ARGUMENT)
}

/// Returns the data that each call sends; empty for receives.
fn read_inputs<T: Element>(
    state: &State,
    gpus: &[usize],
    parts: &[Part],
    dtype: Dtype,
) -> Result<Vec<Vec<f64>>, Status> {
    parts.iter().map(|part| read_input::<T>(state, gpus, part, dtype)).collect()
}

fn read_input<T: Element>(
    state: &State,
    gpus: &[usize],
    part: &Part,
    dtype: Dtype,
) -> Result<Vec<f64>, Status> {
    let gpu = gpu_of(gpus, part.rank)?;
    let count = match part.call {
        Call::Receive { .. } => return Ok(Vec::new()),
        Call::ReduceScatter => part.count * gpus.len(),
        _ => part.count,
    };
    let arguments = [part.ends[0]];
    let mut launch = Launch::new(&state.heap, gpu, dtype, &arguments);
    let own: &[T] = launch.input(0, count).map_err(|_| INVALID_ARGUMENT)?;
    Ok(own.iter().map(|&element| element.get()).collect())
}

/// Returns the received data of each call that receives any.
fn compute_outputs(
    ranks: usize,
    parts: &[Part],
    sent: &[Vec<f64>],
) -> Result<Vec<(Part, Vec<f64>)>, Status> {
    let Some(first) = parts.first() else { return Ok(Vec::new()) };
    if matches!(first.call, Call::Send { .. } | Call::Receive { .. }) {
        return match_sends(parts, sent);
    }
    let is_whole = parts.iter().map(|part| part.rank).eq(0..ranks);
    if !is_whole || parts.iter().any(|part| (part.call, part.count) != (first.call, first.count)) {
        return Err(INVALID_USAGE);
    }
    let result = match first.call {
        Call::AllReduce | Call::ReduceScatter => add_up(sent),
        Call::Broadcast { root } => sent.get(root).cloned().ok_or(INVALID_ARGUMENT)?,
        _ => sent.concat(),
    };
    let mut outputs = Vec::with_capacity(parts.len());
    for part in parts {
        let own = match part.call {
            Call::ReduceScatter => {
                result.iter().skip(part.rank * part.count).take(part.count).copied().collect()
            }
            _ => result.clone(),
        };
        outputs.push((*part, own));
    }
    Ok(outputs)
}

fn add_up(sent: &[Vec<f64>]) -> Vec<f64> {
    let mut sums = vec![0.0; sent.first().map_or(0, Vec::len)];
    for own in sent {
        sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
    }
    sums
}

/// Matches sends and receives: the first receive of a GPU from a peer gets the peer's first send to
/// this GPU, and so on.
fn match_sends(parts: &[Part], sent: &[Vec<f64>]) -> Result<Vec<(Part, Vec<f64>)>, Status> {
    let mut waiting: Vec<(&Part, &Vec<f64>)> =
        parts.iter().zip(sent).filter(|(part, _)| matches!(part.call, Call::Send { .. })).collect();
    let mut found = Vec::new();
    for part in parts {
        let Call::Receive { from } = part.call else { continue };
        let place = waiting.iter().position(|(sender, _)| {
            sender.rank == from
                && sender.call == Call::Send { to: part.rank }
                && sender.count == part.count
        });
        let place = place.ok_or(INVALID_USAGE)?;
        found.push((*part, waiting.remove(place).1.clone()));
    }
    if waiting.is_empty() { Ok(found) } else { Err(INVALID_USAGE) }
}

/// Advances the time of all streams to the common end, which the link with the most data
/// determines.
fn pass_time(state: &mut State, ranks: usize, parts: &[Part], dtype: Dtype) -> Result<(), Status> {
    let mut most = 0_u64;
    for rank in 0..ranks {
        let own = parts.iter().filter(|part| part.rank == rank);
        most = most.max(own.map(|part| elements_on_link(part, ranks as u64)).sum::<u64>());
    }
    let cost = state.model.copy_ns(dtype.bytes(most), Route::Peer);
    let mut begin: f64 = 0.0;
    for part in parts {
        let busy_until = state.stream(part.stream).map_err(|_| INVALID_ARGUMENT)?.busy_until;
        begin = begin.max(state.clock.begin(busy_until));
    }
    let end = begin + state.clock.add_jitter(cost);
    for part in parts {
        state.stream(part.stream).map_err(|_| INTERNAL_ERROR)?.busy_until = end;
    }
    Ok(())
}

/// Returns the number of elements that a call transfers over the link of its GPU.
fn elements_on_link(part: &Part, ranks: u64) -> u64 {
    let count = part.count as u64;
    match part.call {
        Call::AllReduce => 2 * (ranks - 1) * count / ranks,
        Call::AllGather | Call::ReduceScatter => (ranks - 1) * count,
        Call::Broadcast { .. } => count,
        Call::Send { to } => {
            if to == part.rank {
                0
            } else {
                count
            }
        }
        Call::Receive { .. } => 0,
    }
}
