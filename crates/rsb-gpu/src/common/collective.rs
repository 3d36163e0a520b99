//! Collectives over several GPUs by NCCL or RCCL, loaded at run time. One process drives every GPU:
//! either one thread starts a call on all of them as a group, or one thread per GPU calls the
//! library.

mod rank;
mod threads;

use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::rc::Rc;
use std::sync::Arc;

use nccl_sys::{Loaded, Nccl, Unavailable, nccl_type, ncclComm_t, stream_t};
use rsb_model::{Dtype, Reason};

use rank::{Group, RankPart, check, function};
use threads::RankThreads;

use super::core::Core;
use super::lacking;
use super::launch::allocation;
use super::side::SideStream;
use rsb_device::device::{Buffer, DeviceError, Kernel};
use rsb_device::operation::{Collective, CollectiveLane, CollectiveLauncher};

const fn data_type(dtype: Dtype) -> Option<c_int> {
    match dtype {
        Dtype::F16 => Some(nccl_type::FLOAT16),
        Dtype::F32 => Some(nccl_type::FLOAT32),
        Dtype::F64 => Some(nccl_type::FLOAT64),
        Dtype::Bf16 => Some(nccl_type::BFLOAT16),
        _ => None,
    }
}

/// Connected GPUs, each with its rank: a clique in NCCL's terms. Connecting takes long, so a clique
/// is kept for the next collective.
pub(super) struct Clique {
    api: Arc<Nccl>,
    members: Vec<Member>,
}

/// A GPU of a clique.
struct Member {
    core: Rc<Core>,
    communicator: ncclComm_t,
    /// Stream for work that runs concurrently with the GPU's other work.
    side: SideStream,
}

/// A collective over the GPUs of a clique, bound to its buffers.
pub(super) struct LibraryCollective {
    /// Calling threads, if each GPU has one. Declared first, so that they end before the data they
    /// use is dropped.
    threads: Option<RankThreads>,
    clique: Rc<Clique>,
    name: &'static str,
    lane: CollectiveLane,
    /// Arguments of each GPU.
    parts: Vec<RankPart>,
    _buffers: Vec<(Buffer, Buffer)>,
}

/// The most recently used clique, if any.
pub(super) type LastClique = RefCell<Option<Rc<Clique>>>;

/// Binds `call` to the buffers of each pair, with the library `name`. Reuses the most recent clique
/// if it has the same GPUs.
pub(super) fn kernel(
    name: &'static str,
    load: fn() -> Result<Loaded, Unavailable>,
    last: &LastClique,
    call: &Collective,
    pairs: &[(Buffer, Buffer)],
) -> Result<LibraryCollective, DeviceError> {
    if call.launcher == CollectiveLauncher::Threads && call.lane == CollectiveLane::Beside {
        return Err(unsupported_error(
            call,
            name,
            "launcher=threads cannot overlap collectives with other work".to_owned(),
        ));
    }
    let data_type = data_type(call.dtype).ok_or_else(|| {
        unsupported_error(
            call,
            name,
            format!("this program does not use the library for {}", call.dtype),
        )
    })?;
    let (mut cores, mut ends) = (Vec::new(), Vec::new());
    for (rank, (send, receive)) in (0..).zip(pairs) {
        let (from, to) = (allocation(Some(send))?, allocation(Some(receive))?);
        let [sent_at, received_at] = call.places(rank).map(|elements| call.dtype.bytes(elements));
        let fits = send.bytes() >= sent_at + call.dtype.bytes(call.elements_sent())
            && receive.bytes() >= received_at + call.dtype.bytes(call.elements_received());
        if to.core().ordinal != from.core().ordinal || !fits || pairs.len() as u64 != call.devices {
            return Err(unsupported_error(
                call,
                name,
                "the buffers of a pair are too small or not on the same GPU".to_owned(),
            ));
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
    let parts = clique.parts(call, data_type, &ends);
    let threads = match call.launcher {
        CollectiveLauncher::OneThread => None,
        CollectiveLauncher::Threads => Some(clique.threads(&parts)?),
    };
    Ok(LibraryCollective {
        clique,
        name,
        lane: call.lane,
        parts,
        threads,
        _buffers: pairs.to_vec(),
    })
}

fn unsupported_error(call: &Collective, name: &str, why: String) -> DeviceError {
    let what = format!("{} by {name}", call.kind);
    DeviceError::Unsupported(Reason::new(what, why, "choose f64, f32, f16 or bf16"))
}

impl Clique {
    fn connect(
        load: fn() -> Result<Loaded, Unavailable>,
        cores: Vec<Rc<Core>>,
    ) -> Result<Self, DeviceError> {
        let library = load().map_err(|missing| {
            let cure = format!(
                "{}; our own all-reduce needs no library (communication_backend=ring)",
                missing.cure
            );
            lacking(Unavailable { cure, ..missing })
        })?;
        let api = Arc::new(Nccl::of(library));
        let devices: Vec<c_int> = cores.iter().map(|core| core.ordinal).collect();
        let mut communicators: Vec<ncclComm_t> = vec![std::ptr::null_mut(); devices.len()];
        let mut clique = Self { api, members: Vec::new() };
        let connect = function(&clique.api, clique.api.ncclCommInitAll, "ncclCommInitAll")?;
        // SAFETY: both pointers refer to as many live elements as the count passed.
        let status =
            unsafe { connect(communicators.as_mut_ptr(), number(devices.len()), devices.as_ptr()) };
        check(&clique.api, "ncclCommInitAll", status)?;
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

    /// Returns the arguments of each GPU for `call` with its send and receive addresses.
    fn parts(
        &self,
        call: &Collective,
        data_type: c_int,
        ends: &[[*mut c_void; 2]],
    ) -> Vec<RankPart> {
        let ranks = self.members.len();
        let mut parts = Vec::with_capacity(ranks);
        for (rank, (member, &ends)) in self.members.iter().zip(ends).enumerate() {
            parts.push(RankPart {
                call: *call,
                data_type,
                ends,
                place: [rank, ranks],
                communicator: member.communicator,
                stream: member.stream(call.lane),
            });
        }
        parts
    }

    /// Starts a thread for each of `parts`, with its GPU current.
    fn threads(&self, parts: &[RankPart]) -> Result<RankThreads, DeviceError> {
        let mut threads = RankThreads::default();
        for (member, part) in self.members.iter().zip(parts) {
            let activation = member.core.driver.activation(member.core.ordinal)?;
            threads.start(Arc::clone(&self.api), *part, activation)?;
        }
        Ok(threads)
    }
}

impl Member {
    fn stream(&self, lane: CollectiveLane) -> stream_t {
        match lane {
            CollectiveLane::InLine => self.core.stream,
            CollectiveLane::Beside => self.side.stream,
        }
    }
}

fn number(rank: usize) -> c_int {
    c_int::try_from(rank).unwrap_or(c_int::MAX)
}

impl LibraryCollective {
    /// Launches on all GPUs in one group, from this thread.
    fn launch_group(&self) -> Result<(), DeviceError> {
        let api = &*self.clique.api;
        if self.lane == CollectiveLane::Beside {
            self.clique.members.iter().try_for_each(|member| member.side.leave())?;
        }
        let group = Group::begin(api)?;
        for (member, part) in self.clique.members.iter().zip(&self.parts) {
            member.core.activate()?;
            // SAFETY: `kernel` checked that both buffers are large enough for the call and on the
            // GPU of the communicator; `self` keeps the buffers, the communicator and the stream
            // alive.
            unsafe { part.enqueue(api) }?;
        }
        group.end()
    }
}

impl Kernel for LibraryCollective {
    fn launch(&mut self) -> Result<(), DeviceError> {
        self.launch_times(1)
    }

    fn launch_times(&mut self, times: u64) -> Result<(), DeviceError> {
        match &self.threads {
            Some(threads) => threads.launch(times),
            None => (0..times).try_for_each(|_| self.launch_group()),
        }
    }

    fn join(&mut self) -> Result<(), DeviceError> {
        match self.lane {
            CollectiveLane::InLine => Ok(()),
            CollectiveLane::Beside => {
                self.clique.members.iter().try_for_each(|member| member.side.come_back())
            }
        }
    }

    fn provider(&self) -> String {
        self.name.to_owned()
    }
}

impl Drop for LibraryCollective {
    fn drop(&mut self) {
        // Wait for the library, which may still be using the buffers.
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
            // SAFETY: ncclCommInitAll created the communicator, which is destroyed only here.
            let _ = unsafe { destroy(member.communicator) };
        }
    }
}
