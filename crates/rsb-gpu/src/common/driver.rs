//! The calls of a runtime that everything else is made of. Handles and addresses are plain pointers
//! here; who owns them, and when they are given back, is the matter of the modules beside this one.

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

/// A GPU as planning and opening need it.
pub(crate) struct DeviceProperties {
    pub(crate) info: DeviceInfo,
    /// What kernels are compiled for, such as `gfx90a` or `sm_90`.
    pub(crate) arch: String,
    pub(crate) max_threads_per_unit: u32,
    /// Whether copies from and to the host cross PCI Express.
    pub(crate) is_on_pcie: bool,
}

/// Makes a GPU the current one of the thread that calls it.
pub(crate) type Activation = Box<dyn FnOnce() -> Result<(), DeviceError> + Send>;

/// One launch of a kernel. `arguments` holds the address of the value of each parameter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KernelLaunch {
    pub(crate) function: Handle,
    pub(crate) grid: u32,
    pub(crate) block: u32,
    pub(crate) arguments: *mut *mut c_void,
    pub(crate) stream: Handle,
}

// SAFETY: these are handles and addresses, which any thread may give the runtime; who calls
// `Driver::launcher` promises that they live.
unsafe impl Send for KernelLaunch {}

impl KernelLaunch {
    /// Returns `self`, so that a closure captures the struct (`Send`) and not its raw pointers.
    pub(crate) const fn whole(self) -> Self {
        self
    }
}

/// Starts a kernel once in the thread that calls it, whose current GPU is the kernel's.
pub(crate) type ThreadLaunch = Box<dyn FnMut() -> Result<(), DeviceError> + Send>;

/// What the two ends of a copy are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopyDirection {
    HostToDevice,
    DeviceToHost,
    DeviceToDevice,
}

/// A copy of `bytes` bytes. An end on the device is its address there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Copy {
    pub(crate) to: *mut c_void,
    pub(crate) from: *const c_void,
    pub(crate) bytes: usize,
    pub(crate) ends: CopyDirection,
}

/// What a kernel needs, as the runtime tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FunctionNeed {
    Registers,
    SharedBytes,
}

/// A runtime. Whatever makes something works on the GPU that was activated last in this thread.
///
/// Handles and addresses must come from the same runtime and be live; memory must be as long as is
/// said, and stay until the stream has passed the work. Who calls an unsafe function promises that.
#[allow(clippy::missing_safety_doc, reason = "said once for all of them above")]
pub(crate) trait Driver {
    fn backend(&self) -> BackendId;

    /// How copies name it: `hip`.
    fn name(&self) -> &'static str;

    /// Its vendor's number among those of PCI devices: `0x1002`.
    fn vendor(&self) -> &'static str;

    /// How many devices there are, at least one.
    fn device_count(&self) -> Result<u32, Reason>;

    /// What device `ordinal` is.
    fn facts(&self, ordinal: c_int) -> Result<DeviceProperties, Reason>;

    /// Makes device `ordinal` the current one of this thread.
    fn activate(&self, ordinal: c_int) -> Result<(), DeviceError>;

    /// What does so in another thread, which ends before this runtime is given back.
    fn activation(&self, ordinal: c_int) -> Result<Activation, DeviceError>;

    /// Its compiler, loaded.
    fn toolchain(&self) -> Result<Box<dyn Toolchain>, Reason>;

    /// What its libraries of matrix products can do, the preferred one first.
    fn blas_offers(&self) -> [BlasOffer; 2];

    /// Loads the library at `index` of these for a GPU.
    fn open_blas(&self, index: usize, core: &Rc<Core>) -> Result<Rc<dyn BlasLibrary>, DeviceError>;

    /// The name of its library of collectives, and what loads it.
    fn collective_library(&self) -> (&'static str, fn() -> Result<Loaded, Unavailable>);

    fn create_stream(&self) -> Result<Handle, DeviceError>;
    unsafe fn destroy_stream(&self, stream: Handle) -> Result<(), DeviceError>;
    unsafe fn synchronize(&self, stream: Handle) -> Result<(), DeviceError>;

    fn create_event(&self) -> Result<Handle, DeviceError>;
    unsafe fn destroy_event(&self, event: Handle) -> Result<(), DeviceError>;
    unsafe fn record(&self, event: Handle, stream: Handle) -> Result<(), DeviceError>;
    /// Lets `stream` wait for an event that was recorded in another stream of its device.
    unsafe fn wait(&self, stream: Handle, event: Handle) -> Result<(), DeviceError>;
    unsafe fn elapsed_ms(&self, from: Handle, to: Handle) -> Result<f32, DeviceError>;

    /// Bytes of memory that are free on the current GPU.
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
    /// From the memory of device `ordinals[1]` to that of `ordinals[0]`.
    unsafe fn copy_peer(
        &self,
        copy: Copy,
        ordinals: [c_int; 2],
        stream: Handle,
    ) -> Result<(), DeviceError>;
    /// Lets device `ordinal` reach the memory of `peer`; false where the hardware cannot.
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
