//! Implementation of the common driver trait with the HIP runtime.

use std::ffi::{CStr, c_int, c_void};
use std::rc::Rc;

use hip_runtime_sys::stream_capture;
use hip_runtime_sys::{
    EVENT_DEFAULT, HOST_MALLOC_DEFAULT, STREAM_NON_BLOCKING, error, func_attribute, memcpy,
};
use rsb_model::{BackendId, Reason};

use super::blas::{self, Blas, Kernels};
use super::blas_lt;
use super::compile::HipCompiler;
use super::info;
use super::runtime::Runtime;
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

/// AMD's PCI vendor ID, as in sysfs.
pub(super) const VENDOR: &str = "0x1002";

const fn kind(ends: CopyDirection) -> c_int {
    match ends {
        CopyDirection::HostToDevice => memcpy::HOST_TO_DEVICE,
        CopyDirection::DeviceToHost => memcpy::DEVICE_TO_HOST,
        CopyDirection::DeviceToDevice => memcpy::DEVICE_TO_DEVICE,
    }
}

impl Driver for Runtime {
    fn backend(&self) -> BackendId {
        BackendId::Rocm
    }

    fn name(&self) -> &'static str {
        "hip"
    }

    fn vendor(&self) -> &'static str {
        VENDOR
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
        let set = self.api.hipSetDevice.ok_or_else(|| self.missing("hipSetDevice"))?;
        // SAFETY: the function takes no pointers; an invalid device number returns an error status.
        Ok(Box::new(move || in_thread("hipSetDevice", unsafe { set(ordinal) })))
    }

    fn toolchain(&self) -> Result<Box<dyn Toolchain>, Reason> {
        Ok(Box::new(HipCompiler::load()?))
    }

    fn blas_offers(&self) -> [BlasOffer; 2] {
        [blas::OFFER, blas_lt::OFFER]
    }

    fn open_blas(&self, index: usize, core: &Rc<Core>) -> Result<Rc<dyn BlasLibrary>, DeviceError> {
        if index == 1 {
            return Ok(blas_lt::open(core)?);
        }
        let kernels = if self.is_fake_gpu() { Kernels::Inside } else { Kernels::InFiles };
        Ok(Blas::open(core, kernels)?)
    }

    fn collective_library(&self) -> (&'static str, fn() -> Result<Loaded, Unavailable>) {
        ("rccl", hip_runtime_sys::rccl)
    }

    fn create_stream(&self) -> HandleResult {
        made!(self, |stream| hipStreamCreateWithFlags(stream, STREAM_NON_BLOCKING))
    }

    unsafe fn destroy_stream(&self, stream: Handle) -> UnitResult {
        done!(self, hipStreamDestroy(stream.cast()))
    }

    unsafe fn synchronize(&self, stream: Handle) -> UnitResult {
        done!(self, hipStreamSynchronize(stream.cast()))
    }

    fn create_event(&self) -> HandleResult {
        made!(self, |event| hipEventCreateWithFlags(event, EVENT_DEFAULT))
    }

    unsafe fn destroy_event(&self, event: Handle) -> UnitResult {
        done!(self, hipEventDestroy(event.cast()))
    }

    unsafe fn record(&self, event: Handle, stream: Handle) -> UnitResult {
        done!(self, hipEventRecord(event.cast(), stream.cast()))
    }

    unsafe fn wait(&self, stream: Handle, event: Handle) -> UnitResult {
        done!(self, hipStreamWaitEvent(stream.cast(), event.cast(), 0))
    }

    unsafe fn elapsed_ms(&self, from: Handle, to: Handle) -> Result<f32, DeviceError> {
        let mut milliseconds = 0.0_f32;
        // SAFETY: the pointer refers to a live variable; the caller guarantees the events.
        unsafe { call!(self, hipEventElapsedTime(&raw mut milliseconds, from.cast(), to.cast())) }?;
        Ok(milliseconds)
    }

    fn free_bytes(&self) -> Result<u64, DeviceError> {
        Ok(info::free_bytes(self)?)
    }

    fn allocate(&self, bytes: usize) -> HandleResult {
        made!(self, |address| hipMalloc(address, bytes))
    }

    unsafe fn free(&self, address: *mut c_void) -> UnitResult {
        done!(self, hipFree(address))
    }

    unsafe fn zero(&self, address: *mut c_void, bytes: usize, stream: Handle) -> UnitResult {
        done!(self, hipMemsetAsync(address, 0, bytes, stream.cast()))
    }

    fn allocate_host(&self, bytes: usize) -> HandleResult {
        made!(self, |pointer| hipHostMalloc(pointer, bytes, HOST_MALLOC_DEFAULT))
    }

    unsafe fn free_host(&self, pointer: *mut c_void) -> UnitResult {
        done!(self, hipHostFree(pointer))
    }

    unsafe fn copy(&self, copy: Copy, stream: Handle) -> UnitResult {
        let Copy { to, from, bytes, ends } = copy;
        done!(self, hipMemcpyAsync(to, from, bytes, kind(ends), stream.cast()))
    }

    unsafe fn copy_peer(&self, copy: Copy, [to, from]: [c_int; 2], stream: Handle) -> UnitResult {
        done!(self, hipMemcpyPeerAsync(copy.to, to, copy.from, from, copy.bytes, stream.cast()))
    }

    fn enable_peer(&self, ordinal: c_int, peer: c_int) -> Result<bool, DeviceError> {
        if number!(self, |can| hipDeviceCanAccessPeer(can, ordinal, peer))? == 0 {
            return Ok(false);
        }
        self.make_current(ordinal)?;
        // SAFETY: the function takes no pointers; zero is the only valid flag.
        match unsafe { call!(self, hipDeviceEnablePeerAccess(peer, 0)) } {
            Ok(()) => Ok(true),
            Err(failed) if failed.code() == Some(error::PEER_ACCESS_ALREADY_ENABLED) => Ok(true),
            Err(failed) => Err(failed.into()),
        }
    }

    fn load_module(&self, code: Image<'_>) -> HandleResult {
        // The image is as long as its headers specify, and the runtime copies it.
        made!(self, |module| hipModuleLoadData(module, code.as_ptr()))
    }

    unsafe fn unload_module(&self, module: Handle) -> UnitResult {
        done!(self, hipModuleUnload(module.cast()))
    }

    unsafe fn function(&self, module: Handle, name: &CStr) -> HandleResult {
        made!(self, |function| hipModuleGetFunction(function, module.cast(), name.as_ptr()))
    }

    unsafe fn launch(&self, launch: KernelLaunch) -> UnitResult {
        let KernelLaunch { function, grid, block, arguments, stream } = launch;
        let extra = std::ptr::null_mut();
        let (function, stream) = (function.cast(), stream.cast());
        done!(
            self,
            hipModuleLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, stream, arguments, extra)
        )
    }

    unsafe fn launcher(&self, launch: KernelLaunch) -> Result<ThreadLaunch, DeviceError> {
        let call =
            self.api.hipModuleLaunchKernel.ok_or_else(|| self.missing("hipModuleLaunchKernel"))?;
        Ok(Box::new(move || {
            let KernelLaunch { function, grid, block, arguments, stream } = launch.whole();
            let extra = std::ptr::null_mut();
            let (function, stream) = (function.cast(), stream.cast());
            // SAFETY: the caller of `launcher` guarantees that the handles and arguments outlive
            // this closure.
            let status =
                unsafe { call(function, grid, 1, 1, block, 1, 1, 0, stream, arguments, extra) };
            in_thread("hipModuleLaunchKernel", status)
        }))
    }

    unsafe fn blocks_per_unit(&self, function: Handle, block: u32) -> Result<u32, DeviceError> {
        let size = c_int::try_from(block).unwrap_or(c_int::MAX);
        let blocks = number!(self, |blocks| hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
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
            number!(self, |value| hipFuncGetAttribute(value, attribute, function.cast())).ok()?,
        )
        .ok()
    }

    unsafe fn begin_capture(&self, stream: Handle) -> UnitResult {
        done!(self, hipStreamBeginCapture(stream.cast(), stream_capture::THREAD_LOCAL))
    }

    unsafe fn end_capture(&self, stream: Handle) -> HandleResult {
        made!(self, |graph| hipStreamEndCapture(stream.cast(), graph))
    }

    unsafe fn instantiate(&self, graph: Handle) -> HandleResult {
        let (node, log) = (std::ptr::null_mut(), std::ptr::null_mut());
        // Node and log may be null, and are only written on failure.
        made!(self, |ready| hipGraphInstantiate(ready, graph.cast(), node, log, 0))
    }

    unsafe fn launch_graph(&self, executable: Handle, stream: Handle) -> UnitResult {
        done!(self, hipGraphLaunch(executable.cast(), stream.cast()))
    }

    unsafe fn destroy_graph(&self, graph: Handle) -> UnitResult {
        done!(self, hipGraphDestroy(graph.cast()))
    }

    unsafe fn destroy_executable(&self, executable: Handle) -> UnitResult {
        done!(self, hipGraphExecDestroy(executable.cast()))
    }
}
