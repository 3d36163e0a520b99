//! The part of one GPU in a collective, as a library call.

use std::ffi::{CStr, c_int, c_void};

use nccl_sys::{NCCL_SUM, Nccl, Unavailable, ncclComm_t, ncclResult_t, stream_t};
use rsb_model::Reason;

use super::lacking;
use rsb_device::device::DeviceError;
use rsb_device::operation::{Collective, CollectiveKind};

/// Arguments of one GPU.
#[derive(Clone, Copy)]
pub(super) struct RankPart {
    pub(super) call: Collective,
    pub(super) data_type: c_int,
    /// Addresses of the send buffer and the receive buffer.
    pub(super) ends: [*mut c_void; 2],
    /// Rank of the GPU, and the number of ranks.
    pub(super) place: [usize; 2],
    pub(super) communicator: ncclComm_t,
    pub(super) stream: stream_t,
}

// SAFETY: the struct contains addresses and handles of a GPU, which the library accepts from any
// thread; the caller of `enqueue` guarantees that they are live.
unsafe impl Send for RankPart {}

impl RankPart {
    /// Returns whether the collective takes several calls, which the library requires in a group.
    pub(super) const fn is_several(&self) -> bool {
        matches!(self.call.kind, CollectiveKind::SendReceive | CollectiveKind::AllToAll)
    }

    /// Enqueues the calls of one GPU, which must be current in this thread, in its stream.
    ///
    /// # Safety
    /// Both buffers must be large enough for the call and on the GPU of the communicator. They, the
    /// communicator and the stream must stay valid until the stream has completed this work.
    pub(super) unsafe fn enqueue(&self, api: &Nccl) -> Result<(), DeviceError> {
        let ([send, receive], communicator, kind, stream) =
            (self.ends, self.communicator, self.data_type, self.stream);
        let [rank, ranks] = self.place;
        match self.call.kind {
            CollectiveKind::AllReduce => {
                let call = function(api, api.ncclAllReduce, "ncclAllReduce")?;
                let count = to_usize(self.call.elements);
                // SAFETY: guaranteed by the caller. The same applies to every call below.
                let status =
                    unsafe { call(send, receive, count, kind, NCCL_SUM, communicator, stream) };
                check(api, "ncclAllReduce", status)
            }
            CollectiveKind::AllGather => {
                let call = function(api, api.ncclAllGather, "ncclAllGather")?;
                // SAFETY: as above.
                let status = unsafe {
                    call(send, receive, to_usize(self.call.part()), kind, communicator, stream)
                };
                check(api, "ncclAllGather", status)
            }
            CollectiveKind::ReduceScatter => {
                let call = function(api, api.ncclReduceScatter, "ncclReduceScatter")?;
                let count = to_usize(self.call.part());
                // SAFETY: as above.
                let status =
                    unsafe { call(send, receive, count, kind, NCCL_SUM, communicator, stream) };
                check(api, "ncclReduceScatter", status)
            }
            CollectiveKind::Broadcast => {
                let call = function(api, api.ncclBroadcast, "ncclBroadcast")?;
                let count = to_usize(self.call.elements);
                // SAFETY: as above.
                let status = unsafe { call(send, receive, count, kind, 0, communicator, stream) };
                check(api, "ncclBroadcast", status)
            }
            CollectiveKind::SendReceive => {
                let [next, before] = [rank + 1, rank + ranks - 1].map(|peer| peer % ranks);
                // SAFETY: as above.
                unsafe { self.exchange(api, [next, before], to_usize(self.call.elements), 0) }
            }
            CollectiveKind::AllToAll => (0..ranks).try_for_each(|peer| {
                let at = to_usize(self.call.dtype.bytes(peer as u64 * self.call.part()));
                // SAFETY: as above; the parts of all ranks are within the buffers.
                unsafe { self.exchange(api, [peer, peer], to_usize(self.call.part()), at) }
            }),
        }
    }

    /// Sends `count` elements to one GPU and receives as many from another, at byte offset `at` of
    /// both buffers.
    ///
    /// # Safety
    /// As for `enqueue`, and the elements must be within the buffers.
    unsafe fn exchange(
        &self,
        api: &Nccl,
        [to, from]: [usize; 2],
        count: usize,
        at: usize,
    ) -> Result<(), DeviceError> {
        let [send, receive] = self.ends.map(|end| end.wrapping_byte_add(at));
        let (kind, communicator, stream) = (self.data_type, self.communicator, self.stream);
        let call = function(api, api.ncclSend, "ncclSend")?;
        // SAFETY: guaranteed by the caller.
        check(api, "ncclSend", unsafe {
            call(send, count, kind, number(to), communicator, stream)
        })?;
        let call = function(api, api.ncclRecv, "ncclRecv")?;
        // SAFETY: as above.
        check(api, "ncclRecv", unsafe {
            call(receive, count, kind, number(from), communicator, stream)
        })
    }
}

fn to_usize(elements: u64) -> usize {
    usize::try_from(elements).unwrap_or(usize::MAX)
}

/// Calls for several GPUs, or several calls for one, which the library starts together. A group is
/// closed even after errors: otherwise the library would add all later calls of this thread to it.
pub(super) struct Group<'a> {
    api: &'a Nccl,
    end: Option<unsafe extern "C" fn() -> ncclResult_t>,
}

impl<'a> Group<'a> {
    /// Begins a group for this thread.
    ///
    /// # Errors
    /// If the library lacks the function, or returns an error.
    pub(super) fn begin(api: &'a Nccl) -> Result<Self, DeviceError> {
        let begin = function(api, api.ncclGroupStart, "ncclGroupStart")?;
        let end = function(api, api.ncclGroupEnd, "ncclGroupEnd")?;
        // SAFETY: `ncclGroupStart` has no parameters.
        check(api, "ncclGroupStart", unsafe { begin() })?;
        Ok(Self { api, end: Some(end) })
    }

    /// Ends the group and starts its calls.
    ///
    /// # Errors
    /// If the library returns an error.
    pub(super) fn end(mut self) -> Result<(), DeviceError> {
        let Some(end) = self.end.take() else { return Ok(()) };
        // SAFETY: `ncclGroupEnd` has no parameters, and the group is open.
        check(self.api, "ncclGroupEnd", unsafe { end() })
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        if let Some(end) = self.end.take() {
            // SAFETY: as in `end`. The status is ignored, since the error that interrupted the
            // group is reported.
            let _ = unsafe { end() };
        }
    }
}

/// Returns the function, if the library has it.
pub(super) fn function<F>(api: &Nccl, function: Option<F>, name: &str) -> Result<F, DeviceError> {
    function.ok_or_else(|| lacking(Unavailable::symbol(name, api.loaded().path())))
}

/// Converts the status of a call to an error with the library's text, unless the call succeeded.
pub(super) fn check(api: &Nccl, call: &str, status: ncclResult_t) -> Result<(), DeviceError> {
    if status == 0 {
        return Ok(());
    }
    // SAFETY: the function accepts any number and returns a static string or null.
    let text = api.ncclGetErrorString.map(|function| unsafe { function(status) });
    let text = match text.filter(|text| !text.is_null()) {
        // SAFETY: the string is static and null-terminated.
        Some(text) => format!("{} ({status})", unsafe { CStr::from_ptr(text) }.to_string_lossy()),
        None => format!("status {status}"),
    };
    // RCCL requires HSA_NO_SCRATCH_RECLAIM on an MI300 whose firmware is old or does not report its
    // version.
    let cure = "set NCCL_DEBUG=INFO for details, or choose algorithm=auto; for RCCL on an MI300, \
                set HSA_NO_SCRATCH_RECLAIM=1";
    Err(DeviceError::Failed(Reason::new(call, text, cure)))
}

fn number(rank: usize) -> c_int {
    c_int::try_from(rank).unwrap_or(c_int::MAX)
}
