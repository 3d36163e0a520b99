//! Collectives over several GPUs by NCCL or RCCL, loaded at run time: one process drives every GPU, and one call begins on
//! all of them.

use std::ffi::{CStr, c_int, c_void};
use std::rc::Rc;

use nccl_sys::{Loaded, NCCL_SUM, Nccl, Unavailable, nccl_type, ncclComm_t, ncclResult_t, stream_t};
use rsb_model::{Dtype, Reason};

use super::core::Core;
use super::lacking;
use super::launch::allocation;
use rsb_device::device::{Buffer, DeviceError, Kernel};
use rsb_device::operation::{Collective, CollectiveKind};

const fn data_type(dtype: Dtype) -> Option<c_int> {
    match dtype {
        Dtype::F16 => Some(nccl_type::FLOAT16),
        Dtype::F32 => Some(nccl_type::FLOAT32),
        Dtype::F64 => Some(nccl_type::FLOAT64),
        Dtype::Bf16 => Some(nccl_type::BFLOAT16),
        _ => None,
    }
}

/// One GPU's part.
struct Member {
    core: Rc<Core>,
    communicator: ncclComm_t,
    send: *mut c_void,
    receive: *mut c_void,
    _buffers: [Buffer; 2],
}

/// A collective over the GPUs of its members, bound.
pub(super) struct LibraryCollective {
    api: Nccl,
    name: &'static str,
    members: Vec<Member>,
    call: Collective,
    data_type: c_int,
}

/// Binds `call` to the buffers of each pair, by the library that was found under `name`.
pub(super) fn kernel(
    (name, library): (&'static str, Result<Loaded, Unavailable>),
    call: &Collective,
    pairs: &[(Buffer, Buffer)],
) -> Result<LibraryCollective, DeviceError> {
    let api = Nccl::of(library.map_err(|missing| {
        let cure = format!("{}, or choose communication_backend=ring, which has all-reduce alone", missing.cure);
        lacking(Unavailable { cure, ..missing })
    })?);
    let unsupported = |why: String| {
        let what = format!("{} by {name}", call.kind);
        DeviceError::Unsupported(Reason::new(what, why, "choose f64, f32, f16 or bf16"))
    };
    let data_type =
        data_type(call.dtype).ok_or_else(|| unsupported(format!("it is not asked for {} here", call.dtype)))?;
    let mut all = LibraryCollective { api, name, members: Vec::new(), call: *call, data_type };
    for (rank, (send, receive)) in (0..).zip(pairs) {
        let (from, to) = (allocation(Some(send))?, allocation(Some(receive))?);
        let [sent_at, received_at] = call.places(rank).map(|elements| call.dtype.bytes(elements));
        let fits = send.bytes() >= sent_at + call.dtype.bytes(call.sent())
            && receive.bytes() >= received_at + call.dtype.bytes(call.received());
        if to.core().ordinal != from.core().ordinal || !fits || pairs.len() as u64 != call.devices {
            return Err(unsupported("a pair of buffers does not lie on one GPU, or is too small".to_owned()));
        }
        all.members.push(Member {
            core: Rc::clone(from.core()),
            communicator: std::ptr::null_mut(),
            send: from.address().wrapping_byte_add(sent_at as usize),
            receive: to.address().wrapping_byte_add(received_at as usize),
            _buffers: [send.clone(), receive.clone()],
        });
    }
    all.connect()?;
    Ok(all)
}

impl LibraryCollective {
    fn connect(&mut self) -> Result<(), DeviceError> {
        let devices: Vec<c_int> = self.members.iter().map(|member| member.core.ordinal).collect();
        let mut communicators: Vec<ncclComm_t> = vec![std::ptr::null_mut(); devices.len()];
        let connect = self.function(self.api.ncclCommInitAll, "ncclCommInitAll")?;
        // SAFETY: both pointers are to as many live elements as is said.
        let status = unsafe { connect(communicators.as_mut_ptr(), number(devices.len()), devices.as_ptr()) };
        self.check("ncclCommInitAll", status)?;
        for (member, communicator) in self.members.iter_mut().zip(communicators) {
            member.communicator = communicator;
        }
        Ok(())
    }

    fn function<F>(&self, function: Option<F>, name: &str) -> Result<F, DeviceError> {
        function.ok_or_else(|| lacking(Unavailable::symbol(name, self.api.loaded().path())))
    }

    fn check(&self, call: &str, status: ncclResult_t) -> Result<(), DeviceError> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: it takes any number and gives a static text or null.
        let text = self.api.ncclGetErrorString.map(|function| unsafe { function(status) });
        let text = match text.filter(|text| !text.is_null()) {
            // SAFETY: the text is static and ends with a zero.
            Some(text) => format!("{} ({status})", unsafe { CStr::from_ptr(text) }.to_string_lossy()),
            None => format!("status {status}"),
        };
        let cure = "set NCCL_DEBUG=INFO to see more, or choose algorithm=auto";
        Err(DeviceError::Failed(Reason::new(call, text, cure)))
    }

    /// Puts the part of the GPU `rank` into its stream, between the beginning and the end of a group.
    fn enqueue(&self, rank: usize, member: &Member) -> Result<(), DeviceError> {
        let Member { core, communicator, send, receive, .. } = member;
        let (send, receive, communicator, kind) = (*send, *receive, *communicator, self.data_type);
        let stream: stream_t = core.stream;
        let (api, count) = (&self.api, |elements: u64| usize::try_from(elements).unwrap_or(usize::MAX));
        core.activate()?;
        match self.call.kind {
            CollectiveKind::AllReduce => {
                let call = self.function(api.ncclAllReduce, "ncclAllReduce")?;
                let count = count(self.call.elements);
                // SAFETY: both buffers hold as much as `Collective` says, as `kernel` has checked, on the GPU of the
                // communicator, whose stream lives as long as the core. The same holds of every call below.
                let status = unsafe { call(send, receive, count, kind, NCCL_SUM, communicator, stream) };
                self.check("ncclAllReduce", status)
            }
            CollectiveKind::AllGather => {
                let call = self.function(api.ncclAllGather, "ncclAllGather")?;
                // SAFETY: as above.
                let status = unsafe { call(send, receive, count(self.call.part()), kind, communicator, stream) };
                self.check("ncclAllGather", status)
            }
            CollectiveKind::ReduceScatter => {
                let call = self.function(api.ncclReduceScatter, "ncclReduceScatter")?;
                let count = count(self.call.part());
                // SAFETY: as above.
                let status = unsafe { call(send, receive, count, kind, NCCL_SUM, communicator, stream) };
                self.check("ncclReduceScatter", status)
            }
            CollectiveKind::Broadcast => {
                let call = self.function(api.ncclBroadcast, "ncclBroadcast")?;
                let count = count(self.call.elements);
                // SAFETY: as above.
                let status = unsafe { call(send, receive, count, kind, 0, communicator, stream) };
                self.check("ncclBroadcast", status)
            }
            CollectiveKind::SendReceive => {
                let (next, before) = (rank + 1, rank + self.members.len() - 1);
                let [next, before] = [next, before].map(|peer| peer % self.members.len());
                self.exchange(member, [next, before], count(self.call.elements), [send, receive])
            }
            CollectiveKind::AllToAll => (0..self.members.len()).try_for_each(|peer| {
                let at = count(self.call.dtype.bytes(peer as u64 * self.call.part()));
                let ends = [send, receive].map(|end| end.wrapping_byte_add(at));
                self.exchange(member, [peer, peer], count(self.call.part()), ends)
            }),
        }
    }

    /// `count` elements from `send` to one GPU, and as many from another one to `receive`.
    fn exchange(
        &self,
        member: &Member,
        [to, from]: [usize; 2],
        count: usize,
        [send, receive]: [*mut c_void; 2],
    ) -> Result<(), DeviceError> {
        let (kind, communicator, stream) = (self.data_type, member.communicator, member.core.stream);
        let call = self.function(self.api.ncclSend, "ncclSend")?;
        // SAFETY: as in `enqueue`.
        self.check("ncclSend", unsafe { call(send, count, kind, number(to), communicator, stream) })?;
        let call = self.function(self.api.ncclRecv, "ncclRecv")?;
        // SAFETY: as in `enqueue`.
        self.check("ncclRecv", unsafe { call(receive, count, kind, number(from), communicator, stream) })
    }
}

fn number(rank: usize) -> c_int {
    c_int::try_from(rank).unwrap_or(c_int::MAX)
}

impl Kernel for LibraryCollective {
    fn launch(&mut self) -> Result<(), DeviceError> {
        let begin = self.function(self.api.ncclGroupStart, "ncclGroupStart")?;
        let end = self.function(self.api.ncclGroupEnd, "ncclGroupEnd")?;
        // SAFETY: it takes nothing.
        self.check("ncclGroupStart", unsafe { begin() })?;
        for (rank, member) in self.members.iter().enumerate() {
            self.enqueue(rank, member)?;
        }
        // SAFETY: it takes nothing.
        self.check("ncclGroupEnd", unsafe { end() })
    }

    fn provider(&self) -> String {
        self.name.to_owned()
    }
}

impl Drop for LibraryCollective {
    fn drop(&mut self) {
        let Some(destroy) = self.api.ncclCommDestroy else { return };
        for member in self.members.iter().filter(|member| !member.communicator.is_null()) {
            let _ = member.core.activate();
            // SAFETY: it was made by ncclCommInitAll, and nobody else gives it back.
            let _ = unsafe { destroy(member.communicator) };
        }
    }
}
