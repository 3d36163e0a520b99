//! Implementation of the common driver trait with the CUDA driver API. GPU addresses are integers
//! in this API, and each direction of copies has a separate function.

use std::ffi::{CStr, c_int, c_void};
use std::rc::Rc;
use std::sync::atomic::AtomicPtr;

use cuda_sys::{
    CUdeviceptr, EVENT_DEFAULT, STREAM_NON_BLOCKING, error, func_attribute, stream_capture,
};
use rsb_model::{BackendId, Reason};

use super::blas::{self, Blas};
use super::compile::CudaCompiler;
use super::runtime::Runtime;
use super::{blas_lt, info};
use crate::common::{
    Activation, BlasLibrary, BlasOffer, Copy, CopyDirection, Core, DeviceProperties, Driver,
    FunctionNeed, Handle, Image, KernelLaunch, ThreadLaunch, Toolchain,
};
use crate::common::{call, done, in_thread, made, number};
use nccl_sys::{Loaded, Unavailable};
use rsb_device::device::DeviceError;

/// Result of a call that creates an object.
type HandleResult = Result<Handle, DeviceError>;
type UnitResult = Result<(), DeviceError>;

/// Pinned memory without special flags.
const HOST_ALLOC_DEFAULT: u32 = 0;

/// Converts a GPU address to the driver's type.
fn place(pointer: *const c_void) -> CUdeviceptr {
    pointer.addr() as CUdeviceptr
}

impl Driver for Runtime {
    fn backend(&self) -> BackendId {
        BackendId::Cuda
    }

    fn name(&self) -> &'static str {
        "cuda"
    }

    fn vendor(&self) -> &'static str {
        "0x10de"
    }

    fn device_count(&self) -> Result<u32, Reason> {
        self.count()
    }

    fn facts(&self, ordinal: c_int) -> Result<DeviceProperties, Reason> {
        info::read(self, ordinal)
    }

    fn activate(&self, ordinal: c_int) -> UnitResult {
        Ok(self.make_current(ordinal)?)
    }

    fn activation(&self, ordinal: c_int) -> Result<Activation, DeviceError> {
        let set = self.api.cuCtxSetCurrent.ok_or_else(|| self.missing("cuCtxSetCurrent"))?;
        let context = AtomicPtr::new(self.context(ordinal)?);
        // SAFETY: the context is live until the runtime is dropped, and the thread ends before
        // that.
        Ok(Box::new(move || in_thread("cuCtxSetCurrent", unsafe { set(context.into_inner()) })))
    }

    fn toolchain(&self) -> Result<Box<dyn Toolchain>, Reason> {
        Ok(Box::new(CudaCompiler::load_for(self.version().map(|(major, _)| major))?))
    }

    fn blas_offers(&self) -> [BlasOffer; 2] {
        [blas::OFFER, blas_lt::OFFER]
    }

    fn open_blas(&self, index: usize, core: &Rc<Core>) -> Result<Rc<dyn BlasLibrary>, DeviceError> {
        let major = self.version().map(|(major, _)| major);
        if index == 1 {
            return Ok(blas_lt::open(core, major)?);
        }
        Ok(Blas::open(core, major)?)
    }

    fn collective_library(&self) -> (&'static str, fn() -> Result<Loaded, Unavailable>) {
        ("nccl", cuda_sys::nccl)
    }

    fn create_stream(&self) -> HandleResult {
        made!(self, |stream| cuStreamCreate(stream, STREAM_NON_BLOCKING))
    }

    unsafe fn destroy_stream(&self, stream: Handle) -> UnitResult {
        done!(self, cuStreamDestroy_v2(stream.cast()))
    }

    unsafe fn synchronize(&self, stream: Handle) -> UnitResult {
        done!(self, cuStreamSynchronize(stream.cast()))
    }

    fn create_event(&self) -> HandleResult {
        made!(self, |event| cuEventCreate(event, EVENT_DEFAULT))
    }

    unsafe fn destroy_event(&self, event: Handle) -> UnitResult {
        done!(self, cuEventDestroy_v2(event.cast()))
    }

    unsafe fn record(&self, event: Handle, stream: Handle) -> UnitResult {
        done!(self, cuEventRecord(event.cast(), stream.cast()))
    }

    unsafe fn wait(&self, stream: Handle, event: Handle) -> UnitResult {
        done!(self, cuStreamWaitEvent(stream.cast(), event.cast(), 0))
    }

    unsafe fn elapsed_ms(&self, from: Handle, to: Handle) -> Result<f32, DeviceError> {
        let mut milliseconds = 0.0_f32;
        // SAFETY: the pointer refers to a live variable; the caller guarantees the events.
        unsafe { call!(self, cuEventElapsedTime(&raw mut milliseconds, from.cast(), to.cast())) }?;
        Ok(milliseconds)
    }

    fn free_bytes(&self) -> Result<u64, DeviceError> {
        Ok(info::free_bytes(self)?)
    }

    fn allocate(&self, bytes: usize) -> HandleResult {
        let mut address: CUdeviceptr = 0;
        // SAFETY: the pointer refers to a live variable of this type.
        unsafe { call!(self, cuMemAlloc_v2(&raw mut address, bytes)) }?;
        Ok(std::ptr::without_provenance_mut(address as usize))
    }

    unsafe fn free(&self, address: *mut c_void) -> UnitResult {
        done!(self, cuMemFree_v2(place(address)))
    }

    unsafe fn zero(&self, address: *mut c_void, bytes: usize, stream: Handle) -> UnitResult {
        done!(self, cuMemsetD8Async(place(address), 0, bytes, stream.cast()))
    }

    fn allocate_host(&self, bytes: usize) -> HandleResult {
        made!(self, |pointer| cuMemHostAlloc(pointer, bytes, HOST_ALLOC_DEFAULT))
    }

    unsafe fn free_host(&self, pointer: *mut c_void) -> UnitResult {
        done!(self, cuMemFreeHost(pointer))
    }

    unsafe fn copy(&self, copy: Copy, stream: Handle) -> UnitResult {
        let Copy { to, from, bytes, ends } = copy;
        let stream = stream.cast();
        match ends {
            CopyDirection::HostToDevice => {
                done!(self, cuMemcpyHtoDAsync_v2(place(to), from, bytes, stream))
            }
            CopyDirection::DeviceToHost => {
                done!(self, cuMemcpyDtoHAsync_v2(to, place(from), bytes, stream))
            }
            CopyDirection::DeviceToDevice => {
                done!(self, cuMemcpyDtoDAsync_v2(place(to), place(from), bytes, stream))
            }
        }
    }

    unsafe fn copy_peer(&self, copy: Copy, [to, from]: [c_int; 2], stream: Handle) -> UnitResult {
        let (target, source) = (self.context(to)?, self.context(from)?);
        let (to, from) = (place(copy.to), place(copy.from));
        done!(self, cuMemcpyPeerAsync(to, target, from, source, copy.bytes, stream.cast()))
    }

    fn enable_peer(&self, ordinal: c_int, peer: c_int) -> Result<bool, DeviceError> {
        let (own, other) = (self.device(ordinal)?, self.device(peer)?);
        if number!(self, |can| cuDeviceCanAccessPeer(can, own, other))? == 0 {
            return Ok(false);
        }
        let context = self.context(peer)?;
        self.make_current(ordinal)?;
        // SAFETY: the context is live; zero is the only valid flag.
        match unsafe { call!(self, cuCtxEnablePeerAccess(context, 0)) } {
            Ok(()) => Ok(true),
            Err(failed) if failed.code() == Some(error::PEER_ACCESS_ALREADY_ENABLED) => Ok(true),
            Err(failed) => Err(failed.into()),
        }
    }

    fn load_module(&self, code: Image<'_>) -> HandleResult {
        // The image is as long as its headers specify, and the driver copies it.
        made!(self, |module| cuModuleLoadData(module, code.as_ptr()))
    }

    unsafe fn unload_module(&self, module: Handle) -> UnitResult {
        done!(self, cuModuleUnload(module.cast()))
    }

    unsafe fn function(&self, module: Handle, name: &CStr) -> HandleResult {
        made!(self, |function| cuModuleGetFunction(function, module.cast(), name.as_ptr()))
    }

    unsafe fn launch(&self, launch: KernelLaunch) -> UnitResult {
        let KernelLaunch { function, grid, block, arguments, stream } = launch;
        let extra = std::ptr::null_mut();
        let (function, stream) = (function.cast(), stream.cast());
        done!(self, cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, stream, arguments, extra))
    }

    unsafe fn launcher(&self, launch: KernelLaunch) -> Result<ThreadLaunch, DeviceError> {
        let call = self.api.cuLaunchKernel.ok_or_else(|| self.missing("cuLaunchKernel"))?;
        Ok(Box::new(move || {
            let KernelLaunch { function, grid, block, arguments, stream } = launch.whole();
            let extra = std::ptr::null_mut();
            let (function, stream) = (function.cast(), stream.cast());
            // SAFETY: the caller of `launcher` guarantees that the handles and arguments outlive
            // this closure.
            let status =
                unsafe { call(function, grid, 1, 1, block, 1, 1, 0, stream, arguments, extra) };
            in_thread("cuLaunchKernel", status)
        }))
    }

    unsafe fn blocks_per_unit(&self, function: Handle, block: u32) -> Result<u32, DeviceError> {
        let size = c_int::try_from(block).unwrap_or(c_int::MAX);
        let blocks = number!(self, |blocks| cuOccupancyMaxActiveBlocksPerMultiprocessor(
            blocks,
            function.cast(),
            size,
            0
        ))?;
        Ok(u32::try_from(blocks).unwrap_or(0))
    }

    unsafe fn function_need(&self, function: Handle, need: FunctionNeed) -> Option<u32> {
        let attribute = match need {
            FunctionNeed::Registers => func_attribute::NUM_REGS,
            FunctionNeed::SharedBytes => func_attribute::SHARED_SIZE_BYTES,
        };
        u32::try_from(
            number!(self, |value| cuFuncGetAttribute(value, attribute, function.cast())).ok()?,
        )
        .ok()
    }

    unsafe fn begin_capture(&self, stream: Handle) -> UnitResult {
        done!(self, cuStreamBeginCapture_v2(stream.cast(), stream_capture::THREAD_LOCAL))
    }

    unsafe fn end_capture(&self, stream: Handle) -> HandleResult {
        made!(self, |graph| cuStreamEndCapture(stream.cast(), graph))
    }

    unsafe fn instantiate(&self, graph: Handle) -> HandleResult {
        made!(self, |ready| cuGraphInstantiateWithFlags(ready, graph.cast(), 0))
    }

    unsafe fn launch_graph(&self, executable: Handle, stream: Handle) -> UnitResult {
        done!(self, cuGraphLaunch(executable.cast(), stream.cast()))
    }

    unsafe fn destroy_graph(&self, graph: Handle) -> UnitResult {
        done!(self, cuGraphDestroy(graph.cast()))
    }

    unsafe fn destroy_executable(&self, executable: Handle) -> UnitResult {
        done!(self, cuGraphExecDestroy(executable.cast()))
    }
}
