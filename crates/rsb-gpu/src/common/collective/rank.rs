//! The part of one GPU in a collective, as the library is asked for it.

use std::ffi::{CStr, c_int, c_void};

use nccl_sys::{NCCL_SUM, Nccl, Unavailable, ncclComm_t, ncclResult_t, stream_t};
use rsb_model::Reason;

use super::lacking;
use rsb_device::device::DeviceError;
use rsb_device::operation::{Collective, CollectiveKind};

/// What one GPU is asked.
#[derive(Clone, Copy)]
pub(super) struct RankPart {
    pub(super) call: Collective,
    pub(super) data_type: c_int,
    /// Where it sends from and receives to.
    pub(super) ends: [*mut c_void; 2],
    /// Its rank, and how many there are.
    pub(super) place: [usize; 2],
    pub(super) communicator: ncclComm_t,
    pub(super) stream: stream_t,
}

// SAFETY: these are addresses and handles of a GPU, which any thread may give the library; who
// calls `enqueue` promises that they live.
unsafe impl Send for RankPart {}

impl RankPart {
    /// Whether it is several calls, which the library wants in a group.
    pub(super) const fn is_several(&self) -> bool {
        matches!(self.call.kind, CollectiveKind::SendReceive | CollectiveKind::AllToAll)
    }

    /// Puts the part into its stream, whose GPU is the current one of this thread.
    ///
    /// # Safety
    /// Both buffers hold as much as the call says, on the GPU of the communicator, and live with it
    /// and the stream until the stream has passed this.
    pub(super) unsafe fn enqueue(&self, api: &Nccl) -> Result<(), DeviceError> {
        let ([send, receive], communicator, kind, stream) =
            (self.ends, self.communicator, self.data_type, self.stream);
        let [rank, ranks] = self.place;
        match self.call.kind {
            CollectiveKind::AllReduce => {
                let call = function(api, api.ncclAllReduce, "ncclAllReduce")?;
                let count = to_usize(self.call.elements);
                // SAFETY: the caller promises what it needs. The same holds of every call below.
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
                // SAFETY: as above; the parts of all ranks lie within the buffers.
                unsafe { self.exchange(api, [peer, peer], to_usize(self.call.part()), at) }
            }),
        }
    }

    /// `count` elements to one GPU, and as many from another one, `at` bytes from where each end
    /// begins.
    ///
    /// # Safety
    /// As of `enqueue`, and the elements lie within the buffers.
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
        // SAFETY: the caller promises what it needs.
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

/// Calls for several GPUs, or several for one, which the library begins together. It is closed on
/// every path: the library would add every later call of this thread to a group that is left open.
pub(super) struct Group<'a> {
    api: &'a Nccl,
    end: Option<unsafe extern "C" fn() -> ncclResult_t>,
}

impl<'a> Group<'a> {
    /// Begins one for this thread.
    ///
    /// # Errors
    /// When the library lacks a function, or refuses.
    pub(super) fn begin(api: &'a Nccl) -> Result<Self, DeviceError> {
        let begin = function(api, api.ncclGroupStart, "ncclGroupStart")?;
        let end = function(api, api.ncclGroupEnd, "ncclGroupEnd")?;
        // SAFETY: it takes nothing.
        check(api, "ncclGroupStart", unsafe { begin() })?;
        Ok(Self { api, end: Some(end) })
    }

    /// Starts what was put into it.
    ///
    /// # Errors
    /// When the library refuses.
    pub(super) fn end(mut self) -> Result<(), DeviceError> {
        let Some(end) = self.end.take() else { return Ok(()) };
        // SAFETY: it takes nothing; the group was begun and not ended.
        check(self.api, "ncclGroupEnd", unsafe { end() })
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        if let Some(end) = self.end.take() {
            // SAFETY: as in `end`. The error that led here is the one to report.
            let _ = unsafe { end() };
        }
    }
}

/// The function, where the library has it.
pub(super) fn function<F>(api: &Nccl, function: Option<F>, name: &str) -> Result<F, DeviceError> {
    function.ok_or_else(|| lacking(Unavailable::symbol(name, api.loaded().path())))
}

/// The status of a call in words, unless it is success.
pub(super) fn check(api: &Nccl, call: &str, status: ncclResult_t) -> Result<(), DeviceError> {
    if status == 0 {
        return Ok(());
    }
    // SAFETY: it takes any number and gives a static text or null.
    let text = api.ncclGetErrorString.map(|function| unsafe { function(status) });
    let text = match text.filter(|text| !text.is_null()) {
        // SAFETY: the text is static and ends with a zero.
        Some(text) => format!("{} ({status})", unsafe { CStr::from_ptr(text) }.to_string_lossy()),
        None => format!("status {status}"),
    };
    // RCCL wants that variable of an MI300 whose firmware is old or does not tell its version.
    let cure = "set NCCL_DEBUG=INFO to see more, or choose algorithm=auto; for RCCL on an MI300 \
                set \
                HSA_NO_SCRATCH_RECLAIM=1";
    Err(DeviceError::Failed(Reason::new(call, text, cure)))
}

fn number(rank: usize) -> c_int {
    c_int::try_from(rank).unwrap_or(c_int::MAX)
}
