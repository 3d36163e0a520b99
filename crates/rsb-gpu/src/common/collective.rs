//! Collectives over several GPUs by NCCL or RCCL, loaded at run time: one process drives every GPU, and one call begins on
//! all of them.

use std::cell::RefCell;
use std::ffi::{CStr, c_int, c_void};
use std::rc::Rc;

use nccl_sys::{Loaded, NCCL_SUM, Nccl, Unavailable, nccl_type, ncclComm_t, ncclResult_t, stream_t};
use rsb_model::{Dtype, Reason};

use super::core::Core;
use super::lacking;
use super::launch::allocation;
use super::side::SideStream;
use rsb_device::device::{Buffer, DeviceError, Kernel};
use rsb_device::operation::{Collective, CollectiveKind, CollectiveLane};

const fn data_type(dtype: Dtype) -> Option<c_int> {
    match dtype {
        Dtype::F16 => Some(nccl_type::FLOAT16),
        Dtype::F32 => Some(nccl_type::FLOAT32),
        Dtype::F64 => Some(nccl_type::FLOAT64),
        Dtype::Bf16 => Some(nccl_type::BFLOAT16),
        _ => None,
    }
}

/// GPUs that work together, each with its place among them: what NCCL calls a clique. Connecting them takes long, so that they stay connected for
/// the next collective.
pub(super) struct Clique {
    api: Nccl,
    members: Vec<Member>,
}

/// One GPU of a clique.
struct Member {
    core: Rc<Core>,
    communicator: ncclComm_t,
    /// For what goes on beside the GPU's other work.
    side: SideStream,
}

/// A collective over the GPUs of a clique, bound.
pub(super) struct LibraryCollective {
    clique: Rc<Clique>,
    name: &'static str,
    call: Collective,
    data_type: c_int,
    /// Where each GPU sends from and receives to.
    ends: Vec<[*mut c_void; 2]>,
    _buffers: Vec<(Buffer, Buffer)>,
}

/// The clique that worked last, if there was one.
pub(super) type LastClique = RefCell<Option<Rc<Clique>>>;

/// Binds `call` to the buffers of each pair, by the library of the name, on the clique that worked last where it is the same.
pub(super) fn kernel(
    (name, load): (&'static str, fn() -> Result<Loaded, Unavailable>),
    last: &LastClique,
    call: &Collective,
    pairs: &[(Buffer, Buffer)],
) -> Result<LibraryCollective, DeviceError> {
    let unsupported = |why: String| {
        let what = format!("{} by {name}", call.kind);
        DeviceError::Unsupported(Reason::new(what, why, "choose f64, f32, f16 or bf16"))
    };
    let data_type =
        data_type(call.dtype).ok_or_else(|| unsupported(format!("it is not asked for {} here", call.dtype)))?;
    let (mut cores, mut ends) = (Vec::new(), Vec::new());
    for (rank, (send, receive)) in (0..).zip(pairs) {
        let (from, to) = (allocation(Some(send))?, allocation(Some(receive))?);
        let [sent_at, received_at] = call.places(rank).map(|elements| call.dtype.bytes(elements));
        let fits = send.bytes() >= sent_at + call.dtype.bytes(call.sent())
            && receive.bytes() >= received_at + call.dtype.bytes(call.received());
        if to.core().ordinal != from.core().ordinal || !fits || pairs.len() as u64 != call.devices {
            return Err(unsupported("a pair of buffers does not lie on one GPU, or is too small".to_owned()));
        }
        cores.push(Rc::clone(from.core()));
        ends.push([
            from.address().wrapping_byte_add(sent_at as usize),
            to.address().wrapping_byte_add(received_at as usize),
        ]);
    }
    let known = last.borrow().clone().filter(|clique| clique.is_of(&cores));
    let clique = match known {
        Some(clique) => clique,
        None => last.borrow_mut().insert(Rc::new(Clique::connect(load, cores)?)).clone(),
    };
    Ok(LibraryCollective { clique, name, call: *call, data_type, ends, _buffers: pairs.to_vec() })
}

impl Clique {
    fn connect(load: fn() -> Result<Loaded, Unavailable>, cores: Vec<Rc<Core>>) -> Result<Self, DeviceError> {
        let api = Nccl::of(load().map_err(|missing| {
            let cure = format!("{}; our own all-reduce needs none (communication_backend=ring)", missing.cure);
            lacking(Unavailable { cure, ..missing })
        })?);
        let devices: Vec<c_int> = cores.iter().map(|core| core.ordinal).collect();
        let mut communicators: Vec<ncclComm_t> = vec![std::ptr::null_mut(); devices.len()];
        let mut clique = Self { api, members: Vec::new() };
        let connect = clique.function(clique.api.ncclCommInitAll, "ncclCommInitAll")?;
        // SAFETY: both pointers are to as many live elements as is said.
        let status = unsafe { connect(communicators.as_mut_ptr(), number(devices.len()), devices.as_ptr()) };
        clique.check("ncclCommInitAll", status)?;
        for (core, communicator) in cores.into_iter().zip(communicators) {
            let side = SideStream::new(&core)?;
            clique.members.push(Member { core, communicator, side });
        }
        Ok(clique)
    }

    fn is_of(&self, cores: &[Rc<Core>]) -> bool {
        let own = self.members.iter().map(|member| Rc::as_ptr(&member.core));
        own.eq(cores.iter().map(Rc::as_ptr))
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
        // RCCL wants that variable of an MI300 whose firmware is old or does not tell its version.
        let cure = "set NCCL_DEBUG=INFO to see more, or choose algorithm=auto; for RCCL on an MI300 set \
                    HSA_NO_SCRATCH_RECLAIM=1";
        Err(DeviceError::Failed(Reason::new(call, text, cure)))
    }
}

impl LibraryCollective {
    /// The stream that `member` works in.
    fn stream(&self, member: &Member) -> stream_t {
        match self.call.lane {
            CollectiveLane::InLine => member.core.stream,
            CollectiveLane::Beside => member.side.stream,
        }
    }

    /// Puts the part of the GPU `rank` into its stream, between the beginning and the end of a group.
    fn enqueue(&self, rank: usize, member: &Member, ends: [*mut c_void; 2]) -> Result<(), DeviceError> {
        let ([send, receive], communicator, kind) = (ends, member.communicator, self.data_type);
        let (stream, clique) = (self.stream(member), &self.clique);
        let (api, count) = (&clique.api, |elements: u64| usize::try_from(elements).unwrap_or(usize::MAX));
        let ranks = clique.members.len();
        member.core.activate()?;
        match self.call.kind {
            CollectiveKind::AllReduce => {
                let call = clique.function(api.ncclAllReduce, "ncclAllReduce")?;
                let count = count(self.call.elements);
                // SAFETY: both buffers hold as much as `Collective` says, as `kernel` has checked, on the GPU of the
                // communicator, whose stream lives as long as the core. The same holds of every call below.
                let status = unsafe { call(send, receive, count, kind, NCCL_SUM, communicator, stream) };
                clique.check("ncclAllReduce", status)
            }
            CollectiveKind::AllGather => {
                let call = clique.function(api.ncclAllGather, "ncclAllGather")?;
                // SAFETY: as above.
                let status = unsafe { call(send, receive, count(self.call.part()), kind, communicator, stream) };
                clique.check("ncclAllGather", status)
            }
            CollectiveKind::ReduceScatter => {
                let call = clique.function(api.ncclReduceScatter, "ncclReduceScatter")?;
                let count = count(self.call.part());
                // SAFETY: as above.
                let status = unsafe { call(send, receive, count, kind, NCCL_SUM, communicator, stream) };
                clique.check("ncclReduceScatter", status)
            }
            CollectiveKind::Broadcast => {
                let call = clique.function(api.ncclBroadcast, "ncclBroadcast")?;
                let count = count(self.call.elements);
                // SAFETY: as above.
                let status = unsafe { call(send, receive, count, kind, 0, communicator, stream) };
                clique.check("ncclBroadcast", status)
            }
            CollectiveKind::SendReceive => {
                let [next, before] = [rank + 1, rank + ranks - 1].map(|peer| peer % ranks);
                self.exchange(member, [next, before], count(self.call.elements), [send, receive])
            }
            CollectiveKind::AllToAll => (0..ranks).try_for_each(|peer| {
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
        let (kind, communicator, stream) = (self.data_type, member.communicator, self.stream(member));
        let clique = &self.clique;
        let call = clique.function(clique.api.ncclSend, "ncclSend")?;
        // SAFETY: as in `enqueue`.
        clique.check("ncclSend", unsafe { call(send, count, kind, number(to), communicator, stream) })?;
        let call = clique.function(clique.api.ncclRecv, "ncclRecv")?;
        // SAFETY: as in `enqueue`.
        clique.check("ncclRecv", unsafe { call(receive, count, kind, number(from), communicator, stream) })
    }
}

fn number(rank: usize) -> c_int {
    c_int::try_from(rank).unwrap_or(c_int::MAX)
}

impl Kernel for LibraryCollective {
    fn launch(&mut self) -> Result<(), DeviceError> {
        let clique = &self.clique;
        let begin = clique.function(clique.api.ncclGroupStart, "ncclGroupStart")?;
        let end = clique.function(clique.api.ncclGroupEnd, "ncclGroupEnd")?;
        if self.call.lane == CollectiveLane::Beside {
            clique.members.iter().try_for_each(|member| member.side.leave())?;
        }
        // SAFETY: it takes nothing.
        clique.check("ncclGroupStart", unsafe { begin() })?;
        for (rank, (member, ends)) in clique.members.iter().zip(&self.ends).enumerate() {
            self.enqueue(rank, member, *ends)?;
        }
        // SAFETY: it takes nothing.
        clique.check("ncclGroupEnd", unsafe { end() })
    }

    fn join(&mut self) -> Result<(), DeviceError> {
        match self.call.lane {
            CollectiveLane::InLine => Ok(()),
            CollectiveLane::Beside => self.clique.members.iter().try_for_each(|member| member.side.come_back()),
        }
    }

    fn provider(&self) -> String {
        self.name.to_owned()
    }
}

impl Drop for LibraryCollective {
    fn drop(&mut self) {
        // The library may still be at work on the buffers.
        for member in &self.clique.members {
            let _ = member.core.synchronize();
            let _ = member.side.synchronize();
        }
    }
}

impl Drop for Clique {
    fn drop(&mut self) {
        let Some(destroy) = self.api.ncclCommDestroy else { return };
        for member in self.members.iter().filter(|member| !member.communicator.is_null()) {
            let _ = member.core.activate();
            // SAFETY: it was made by ncclCommInitAll, and nobody else gives it back.
            let _ = unsafe { destroy(member.communicator) };
        }
    }
}
