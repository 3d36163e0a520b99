//! Sums over several GPUs by RCCL, loaded at run time: one process drives every GPU, and one call begins on all of
//! them.

use std::ffi::{CStr, c_int};
use std::rc::Rc;

use hip_runtime_sys::{NCCL_SUM, Rccl, Unavailable, nccl_type, ncclComm_t, ncclResult_t};
use rsb_model::{Dtype, Reason};

use crate::common::{Core, allocation, lacking};
use rsb_device::device::{Buffer, DeviceError, Kernel};

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
    send: Buffer,
    receive: Buffer,
}

/// A sum over the GPUs of its members, bound.
pub(super) struct AllReduce {
    api: Rccl,
    members: Vec<Member>,
    elements: usize,
    data_type: c_int,
}

/// Binds the sum of the first buffer of each pair, which ends in the second of each.
pub(super) fn kernel(dtype: Dtype, elements: u64, pairs: &[(Buffer, Buffer)]) -> Result<AllReduce, DeviceError> {
    let api = Rccl::load().map_err(|missing| {
        let cure = format!("{}, or choose provider=ring", missing.cure);
        lacking(Unavailable { cure, ..missing })
    })?;
    let unsupported = |why: String| {
        let cure = "choose f64, f32, f16 or bf16, or provider=ring";
        DeviceError::Unsupported(Reason::new("all-reduce by rccl", why, cure))
    };
    let data_type = data_type(dtype).ok_or_else(|| unsupported(format!("it is not asked for sums of {dtype}")))?;
    let bytes = dtype.bytes(elements);
    let elements = usize::try_from(elements).map_err(|_| unsupported(format!("{elements} elements")))?;
    let mut all = AllReduce { api, members: Vec::new(), elements, data_type };
    for (send, receive) in pairs {
        let core = Rc::clone(allocation(Some(send))?.core());
        let is_here = allocation(Some(receive))?.core().ordinal == core.ordinal;
        if !is_here || send.bytes().min(receive.bytes()) < bytes {
            return Err(unsupported("a pair of buffers does not lie on one GPU, or is too small".to_owned()));
        }
        let (send, receive) = (send.clone(), receive.clone());
        all.members.push(Member { core, communicator: std::ptr::null_mut(), send, receive });
    }
    all.connect()?;
    Ok(all)
}

impl AllReduce {
    fn connect(&mut self) -> Result<(), DeviceError> {
        let devices: Vec<c_int> = self.members.iter().map(|member| member.core.ordinal).collect();
        let mut communicators: Vec<ncclComm_t> = vec![std::ptr::null_mut(); devices.len()];
        let count = c_int::try_from(devices.len()).unwrap_or(c_int::MAX);
        let connect = self.function(self.api.ncclCommInitAll, "ncclCommInitAll")?;
        // SAFETY: both pointers are to as many live elements as `count` says.
        self.check("ncclCommInitAll", unsafe { connect(communicators.as_mut_ptr(), count, devices.as_ptr()) })?;
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
        let cure = "set NCCL_DEBUG=INFO to see more, or choose provider=ring";
        Err(DeviceError::Failed(Reason::new(call, text, cure)))
    }
}

impl Kernel for AllReduce {
    fn launch(&mut self) -> Result<(), DeviceError> {
        let begin = self.function(self.api.ncclGroupStart, "ncclGroupStart")?;
        let sum = self.function(self.api.ncclAllReduce, "ncclAllReduce")?;
        let end = self.function(self.api.ncclGroupEnd, "ncclGroupEnd")?;
        // SAFETY: it takes nothing.
        self.check("ncclGroupStart", unsafe { begin() })?;
        for Member { core, communicator, send, receive } in &self.members {
            core.activate()?;
            let (send, receive) = (allocation(Some(send))?.address(), allocation(Some(receive))?.address());
            let stream = core.stream.cast();
            // SAFETY: both buffers hold as many elements of this type, as `kernel` has checked, on the GPU of the
            // communicator, whose stream lives as long as the core.
            let status = unsafe { sum(send, receive, self.elements, self.data_type, NCCL_SUM, *communicator, stream) };
            self.check("ncclAllReduce", status)?;
        }
        // SAFETY: it takes nothing.
        self.check("ncclGroupEnd", unsafe { end() })
    }

    fn provider(&self) -> String {
        "rccl".to_owned()
    }
}

impl Drop for AllReduce {
    fn drop(&mut self) {
        let Some(destroy) = self.api.ncclCommDestroy else { return };
        for member in self.members.iter().filter(|member| !member.communicator.is_null()) {
            let _ = member.core.activate();
            // SAFETY: it was made by ncclCommInitAll, and nobody else gives it back.
            let _ = unsafe { destroy(member.communicator) };
        }
    }
}
