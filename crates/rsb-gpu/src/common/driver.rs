//! Runtime calls that the other modules are built on. Handles and addresses are plain pointers
//! here; the other modules manage their ownership and lifetime.

use std::ffi::{CStr, c_int, c_void};
use std::rc::Rc;

use rsb_model::{BackendId, Reason};

use super::blas::{BlasLibrary, BlasOffer};
use super::compile::Toolchain;
use super::core::Core;
use super::image::Image;
use nccl_sys::{Loaded, Unavailable};
use rsb_device::device::{DeviceError, DeviceInfo};

/// A stream, an event, a module, a function or a graph.
pub(crate) type Handle = *mut c_void;

/// Properties of a GPU that planning and opening need.
pub(crate) struct DeviceProperties {
    pub(crate) info: DeviceInfo,
    /// Target architecture of kernels, such as `gfx90a` or `sm_90`.
    pub(crate) arch: String,
    pub(crate) max_threads_per_unit: u32,
    /// Whether copies between host and device cross PCI Express.
    pub(crate) is_on_pcie: bool,
}

/// A closure that makes a GPU current in the calling thread.
pub(crate) type Activation = Box<dyn FnOnce() -> Result<(), DeviceError> + Send>;

/// One launch of a kernel. `arguments` contains the address of each parameter's value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KernelLaunch {
    pub(crate) function: Handle,
    pub(crate) grid: u32,
    pub(crate) block: u32,
    pub(crate) arguments: *mut *mut c_void,
    pub(crate) stream: Handle,
}

// SAFETY: the struct contains handles and addresses, which the runtime accepts from any thread; the
// caller of `Driver::launcher` guarantees that they are live.
unsafe impl Send for KernelLaunch {}

impl KernelLaunch {
    /// Returns `self`. A closure that calls this function captures the struct, which is `Send`, and
    /// not its raw pointers.
    pub(crate) const fn whole(self) -> Self {
        self
    }
}

/// A closure that launches a kernel once from the calling thread, in which the kernel's GPU must be
/// current.
pub(crate) type ThreadLaunch = Box<dyn FnMut() -> Result<(), DeviceError> + Send>;

/// Source and destination of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopyDirection {
    HostToDevice,
    DeviceToHost,
    DeviceToDevice,
}

/// A copy of `bytes` bytes. Pointers to GPU memory are device addresses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Copy {
    pub(crate) to: *mut c_void,
    pub(crate) from: *const c_void,
    pub(crate) bytes: usize,
    pub(crate) ends: CopyDirection,
}

/// A kernel resource that the runtime reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FunctionNeed {
    Registers,
    SharedBytes,
}

/// A runtime. Functions that create an object do so on the GPU that was last activated in this
/// thread.
///
/// Callers of unsafe functions guarantee that handles and addresses come from the same runtime and
/// are live, and that memory has the length passed and stays valid until the stream has completed
/// the work.
#[allow(
    clippy::missing_safety_doc,
    reason = "the trait documents the requirements of all functions"
)]
pub(crate) trait Driver {
    fn backend(&self) -> BackendId;

    /// Returns the runtime's name as part of the provider of copies: `hip`.
    fn name(&self) -> &'static str;

    /// Returns the vendor's PCI ID: `0x1002`.
    fn vendor(&self) -> &'static str;

    /// Returns the number of devices, at least one.
    fn device_count(&self) -> Result<u32, Reason>;

    /// Returns the properties of device `ordinal`.
    fn facts(&self, ordinal: c_int) -> Result<DeviceProperties, Reason>;

    /// Makes device `ordinal` current in this thread.
    fn activate(&self, ordinal: c_int) -> Result<(), DeviceError>;

    /// Returns a closure that activates the device in another thread, which must end before this
    /// runtime is dropped.
    fn activation(&self, ordinal: c_int) -> Result<Activation, DeviceError>;

    /// Loads the runtime compiler.
    fn toolchain(&self) -> Result<Box<dyn Toolchain>, Reason>;

    /// Returns the capabilities of the matrix product libraries, the preferred one first.
    fn blas_offers(&self) -> [BlasOffer; 2];

    /// Loads the library at `index` of [`Driver::blas_offers`] for a GPU.
    fn open_blas(&self, index: usize, core: &Rc<Core>) -> Result<Rc<dyn BlasLibrary>, DeviceError>;

    /// Returns the name of the collective library, and the function that loads it.
    fn collective_library(&self) -> (&'static str, fn() -> Result<Loaded, Unavailable>);

    fn create_stream(&self) -> Result<Handle, DeviceError>;
    unsafe fn destroy_stream(&self, stream: Handle) -> Result<(), DeviceError>;
    unsafe fn synchronize(&self, stream: Handle) -> Result<(), DeviceError>;

    fn create_event(&self) -> Result<Handle, DeviceError>;
    unsafe fn destroy_event(&self, event: Handle) -> Result<(), DeviceError>;
    unsafe fn record(&self, event: Handle, stream: Handle) -> Result<(), DeviceError>;
    /// Makes `stream` wait for an event recorded in another stream of the same device.
    unsafe fn wait(&self, stream: Handle, event: Handle) -> Result<(), DeviceError>;
    unsafe fn elapsed_ms(&self, from: Handle, to: Handle) -> Result<f32, DeviceError>;

    /// Returns the bytes of free memory on the current GPU.
    fn free_bytes(&self) -> Result<u64, DeviceError>;

    fn allocate(&self, bytes: usize) -> Result<*mut c_void, DeviceError>;
    unsafe fn free(&self, address: *mut c_void) -> Result<(), DeviceError>;
    unsafe fn zero(
        &self,
        address: *mut c_void,
        bytes: usize,
        stream: Handle,
    ) -> Result<(), DeviceError>;
    fn allocate_host(&self, bytes: usize) -> Result<*mut c_void, DeviceError>;
    unsafe fn free_host(&self, pointer: *mut c_void) -> Result<(), DeviceError>;

    unsafe fn copy(&self, copy: Copy, stream: Handle) -> Result<(), DeviceError>;
    /// Copies from the memory of device `ordinals[1]` to that of `ordinals[0]`.
    unsafe fn copy_peer(
        &self,
        copy: Copy,
        ordinals: [c_int; 2],
        stream: Handle,
    ) -> Result<(), DeviceError>;
    /// Lets device `ordinal` access the memory of `peer`. Returns false if the hardware does not
    /// support it.
    fn enable_peer(&self, ordinal: c_int, peer: c_int) -> Result<bool, DeviceError>;

    /// Loads code, which the runtime copies.
    fn load_module(&self, code: Image<'_>) -> Result<Handle, DeviceError>;
    unsafe fn unload_module(&self, module: Handle) -> Result<(), DeviceError>;
    unsafe fn function(&self, module: Handle, name: &CStr) -> Result<Handle, DeviceError>;
    unsafe fn launch(&self, launch: KernelLaunch) -> Result<(), DeviceError>;
    /// Returns a closure that launches the kernel from another thread. Drop it before the kernel
    /// and its arguments.
    unsafe fn launcher(&self, launch: KernelLaunch) -> Result<ThreadLaunch, DeviceError>;
    unsafe fn blocks_per_unit(&self, function: Handle, block: u32) -> Result<u32, DeviceError>;
    unsafe fn function_need(&self, function: Handle, need: FunctionNeed) -> Option<u32>;

    unsafe fn begin_capture(&self, stream: Handle) -> Result<(), DeviceError>;
    unsafe fn end_capture(&self, stream: Handle) -> Result<Handle, DeviceError>;
    unsafe fn instantiate(&self, graph: Handle) -> Result<Handle, DeviceError>;
    unsafe fn launch_graph(&self, executable: Handle, stream: Handle) -> Result<(), DeviceError>;
    unsafe fn destroy_graph(&self, graph: Handle) -> Result<(), DeviceError>;
    unsafe fn destroy_executable(&self, executable: Handle) -> Result<(), DeviceError>;
}
