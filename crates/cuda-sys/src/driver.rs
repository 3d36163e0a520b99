//! The functions of `libcuda` that are used, their types and constants, as `cuda.h` has them.
//! Functions that changed carry the number of their version in their name; a driver keeps the old
//! ones.

use std::ffi::{c_char, c_int, c_uchar, c_uint, c_void};

use runtime_loading::{Unavailable, function_table};

use crate::handles;
use crate::search::{CudaLibrary, CudaPaths};

/// A status; 0 is success. See [`error`].
pub type CUresult = c_int;
/// A device.
pub type CUdevice = c_int;
/// An address on a device.
pub type CUdeviceptr = u64;

handles! {
    /// What a process has on a device.
    CUcontext = CUctx_st;
    /// A queue of work.
    CUstream = CUstream_st;
    /// A mark in a queue.
    CUevent = CUevent_st;
    /// Loaded code.
    CUmodule = CUmod_st;
    /// A kernel of a module.
    CUfunction = CUfunc_st;
    /// A graph of work.
    CUgraph = CUgraph_st;
    /// A graph ready to be launched.
    CUgraphExec = CUgraphExec_st;
}

/// Values of [`CUresult`].
pub mod error {
    use super::CUresult;

    /// All is well.
    pub const SUCCESS: CUresult = 0;
    /// An argument is not acceptable.
    pub const INVALID_VALUE: CUresult = 1;
    /// Memory is used up.
    pub const OUT_OF_MEMORY: CUresult = 2;
    /// `cuInit` was not called or failed.
    pub const NOT_INITIALIZED: CUresult = 3;
    /// The library is a stub that only serves to link against.
    pub const STUB_LIBRARY: CUresult = 34;
    /// Another process has the device for itself.
    pub const DEVICE_UNAVAILABLE: CUresult = 46;
    /// There is no device.
    pub const NO_DEVICE: CUresult = 100;
    /// There is no such device.
    pub const INVALID_DEVICE: CUresult = 101;
    /// Code cannot be read.
    pub const INVALID_IMAGE: CUresult = 200;
    /// Code is for another device.
    pub const NO_BINARY_FOR_GPU: CUresult = 209;
    /// Memory had an error that cannot be corrected.
    pub const ECC_UNCORRECTABLE: CUresult = 214;
    /// These two devices cannot reach each other.
    pub const PEER_ACCESS_UNSUPPORTED: CUresult = 217;
    /// A name was not found.
    pub const NOT_FOUND: CUresult = 500;
    /// Work is not done yet.
    pub const NOT_READY: CUresult = 600;
    /// A kernel touched memory that is not its own.
    pub const ILLEGAL_ADDRESS: CUresult = 700;
    /// A kernel needs more registers or shared memory than there are.
    pub const LAUNCH_OUT_OF_RESOURCES: CUresult = 701;
    /// A kernel ran too long.
    pub const LAUNCH_TIMEOUT: CUresult = 702;
    /// Peer access is already on, which is no fault.
    pub const PEER_ACCESS_ALREADY_ENABLED: CUresult = 704;
    /// A kernel failed.
    pub const LAUNCH_FAILED: CUresult = 719;
    /// The device or the driver cannot do it.
    pub const NOT_SUPPORTED: CUresult = 801;
    /// The services that the driver needs are not running.
    pub const SYSTEM_NOT_READY: CUresult = 802;
    /// The library and the module of the kernel are of two versions.
    pub const SYSTEM_DRIVER_MISMATCH: CUresult = 803;
    /// The compatibility package does not go with this device.
    pub const COMPAT_NOT_SUPPORTED_ON_DEVICE: CUresult = 804;
    /// Nobody knows.
    pub const UNKNOWN: CUresult = 999;
}

/// Numbers of device attributes.
pub mod attribute {
    use std::ffi::c_int;

    /// Threads in a block at most.
    pub const MAX_THREADS_PER_BLOCK: c_int = 1;
    /// Shared memory of a block, in bytes.
    pub const MAX_SHARED_MEMORY_PER_BLOCK: c_int = 8;
    /// Threads of a warp.
    pub const WARP_SIZE: c_int = 10;
    /// Highest clock of the multiprocessors, in kHz.
    pub const CLOCK_RATE: c_int = 13;
    /// Multiprocessors.
    pub const MULTIPROCESSOR_COUNT: c_int = 16;
    /// Whether memory is that of the host.
    pub const INTEGRATED: c_int = 18;
    /// Whether memory corrects errors.
    pub const ECC_ENABLED: c_int = 32;
    /// Highest clock of the memory, in kHz.
    pub const MEMORY_CLOCK_RATE: c_int = 36;
    /// Width of the memory bus in bits.
    pub const MEMORY_BUS_WIDTH: c_int = 37;
    /// Size of the second-level cache in bytes.
    pub const L2_CACHE_SIZE: c_int = 38;
    /// Threads resident on a multiprocessor at most.
    pub const MAX_THREADS_PER_MULTIPROCESSOR: c_int = 39;
    /// First number of the compute capability.
    pub const COMPUTE_CAPABILITY_MAJOR: c_int = 75;
    /// Second number of the compute capability.
    pub const COMPUTE_CAPABILITY_MINOR: c_int = 76;
    /// Whether memory can be shared with the host page by page.
    pub const MANAGED_MEMORY: c_int = 83;
    /// Whether the GPU reads pageable memory through the host's page tables, as over NVLink-C2C
    /// (`PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES`).
    pub const USES_HOST_PAGE_TABLES: c_int = 100;
}

/// What other threads may do while a stream is captured.
pub mod stream_capture {
    use std::ffi::c_int;

    /// Nothing that is not safe.
    pub const GLOBAL: c_int = 0;
    /// Whatever they like.
    pub const THREAD_LOCAL: c_int = 1;
}

/// What a kernel needs.
pub mod func_attribute {
    use std::ffi::c_int;

    /// Static shared memory in bytes.
    pub const SHARED_SIZE_BYTES: c_int = 1;
    /// Registers of a thread.
    pub const NUM_REGS: c_int = 4;
}

/// A stream that does not wait for the default one.
pub const STREAM_NON_BLOCKING: c_uint = 1;
/// An event that keeps its time.
pub const EVENT_DEFAULT: c_uint = 0;
/// Managed memory that every stream may use.
pub const MEM_ATTACH_GLOBAL: c_uint = 1;

function_table! {
    /// What is used of the driver.
    pub struct Cuda {
        /// Starts the driver.
        fn cuInit(flags: c_uint) -> CUresult;
        /// The newest CUDA that the driver can do: 12080 is 12.8.
        fn cuDriverGetVersion(version: *mut c_int) -> CUresult;
        /// The name of a status; static.
        fn cuGetErrorName(status: CUresult, text: *mut *const c_char) -> CUresult;
        /// A status in words; static.
        fn cuGetErrorString(status: CUresult, text: *mut *const c_char) -> CUresult;
        /// How many devices there are.
        fn cuDeviceGetCount(count: *mut c_int) -> CUresult;
        /// The device at a position.
        fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int) -> CUresult;
        /// Its name.
        fn cuDeviceGetName(name: *mut c_char, length: c_int, device: CUdevice) -> CUresult;
        /// An attribute of it.
        fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: CUdevice) -> CUresult;
        /// Its address on the bus.
        fn cuDeviceGetPCIBusId(text: *mut c_char, length: c_int, device: CUdevice) -> CUresult;
        /// The context that all of a process shares.
        fn cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice) -> CUresult;
        /// Gives it back.
        fn cuDevicePrimaryCtxRelease_v2(device: CUdevice) -> CUresult;
        /// Makes a context the current one of this thread.
        fn cuCtxSetCurrent(context: CUcontext) -> CUresult;
        /// Free and total memory of the current device.
        fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> CUresult;
        /// Memory of the device.
        fn cuMemAlloc_v2(address: *mut CUdeviceptr, bytes: usize) -> CUresult;
        /// Memory that moves between device and host by itself.
        fn cuMemAllocManaged(address: *mut CUdeviceptr, bytes: usize, flags: c_uint) -> CUresult;
        /// Gives memory of the device back.
        fn cuMemFree_v2(address: CUdeviceptr) -> CUresult;
        /// Pinned memory of the host.
        fn cuMemHostAlloc(pointer: *mut *mut c_void, bytes: usize, flags: c_uint) -> CUresult;
        /// Gives it back.
        fn cuMemFreeHost(pointer: *mut c_void) -> CUresult;
        /// Sets bytes.
        fn cuMemsetD8Async(address: CUdeviceptr, value: c_uchar, count: usize, stream: CUstream) -> CUresult;
        /// Host to device.
        fn cuMemcpyHtoDAsync_v2(
            to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream,
        ) -> CUresult;
        /// Device to host.
        fn cuMemcpyDtoHAsync_v2(
            to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream,
        ) -> CUresult;
        /// Within a device.
        fn cuMemcpyDtoDAsync_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream) -> CUresult;
        /// From device to device.
        fn cuMemcpyPeerAsync(
            to: CUdeviceptr, to_context: CUcontext, from: CUdeviceptr, from_context: CUcontext, bytes: usize,
            stream: CUstream,
        ) -> CUresult;
        /// Whether a device can reach the memory of another.
        fn cuDeviceCanAccessPeer(can: *mut c_int, device: CUdevice, peer: CUdevice) -> CUresult;
        /// Lets the current context reach it.
        fn cuCtxEnablePeerAccess(peer: CUcontext, flags: c_uint) -> CUresult;
        /// A queue of work.
        fn cuStreamCreate(stream: *mut CUstream, flags: c_uint) -> CUresult;
        /// Gives it back.
        fn cuStreamDestroy_v2(stream: CUstream) -> CUresult;
        /// Waits for it.
        fn cuStreamSynchronize(stream: CUstream) -> CUresult;
        /// Lets a queue wait for a mark in another one; no flags.
        fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint) -> CUresult;
        /// A mark.
        fn cuEventCreate(event: *mut CUevent, flags: c_uint) -> CUresult;
        /// Puts it into a queue.
        fn cuEventRecord(event: CUevent, stream: CUstream) -> CUresult;
        /// Milliseconds between two marks that have passed.
        fn cuEventElapsedTime(milliseconds: *mut f32, from: CUevent, to: CUevent) -> CUresult;
        /// Gives it back.
        fn cuEventDestroy_v2(event: CUevent) -> CUresult;
        /// Loads code, which is copied.
        fn cuModuleLoadData(module: *mut CUmodule, image: *const c_void) -> CUresult;
        /// A kernel of it.
        fn cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char) -> CUresult;
        /// Gives it back.
        fn cuModuleUnload(module: CUmodule) -> CUresult;
        /// What a kernel needs.
        fn cuFuncGetAttribute(value: *mut c_int, attribute: c_int, function: CUfunction) -> CUresult;
        /// Starts a kernel.
        fn cuLaunchKernel(
            function: CUfunction, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint,
            block_z: c_uint, shared: c_uint, stream: CUstream, parameters: *mut *mut c_void,
            extra: *mut *mut c_void,
        ) -> CUresult;
        /// How many blocks a multiprocessor holds.
        fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
            blocks: *mut c_int, function: CUfunction, block: c_int, dynamic_shared: usize,
        ) -> CUresult;
        /// Records what is put into a queue instead of running it.
        fn cuStreamBeginCapture_v2(stream: CUstream, mode: c_int) -> CUresult;
        /// Ends that.
        fn cuStreamEndCapture(stream: CUstream, graph: *mut CUgraph) -> CUresult;
        /// Makes a graph ready.
        fn cuGraphInstantiateWithFlags(executable: *mut CUgraphExec, graph: CUgraph, flags: u64) -> CUresult;
        /// Starts it.
        fn cuGraphLaunch(executable: CUgraphExec, stream: CUstream) -> CUresult;
        /// Gives a graph back.
        fn cuGraphDestroy(graph: CUgraph) -> CUresult;
        /// Gives a ready graph back.
        fn cuGraphExecDestroy(executable: CUgraphExec) -> CUresult;
    }
}

/// The driver's library.
const LIBRARY: CudaLibrary = CudaLibrary {
    name: "NVIDIA's driver (libcuda)",
    files: &["libcuda.so.1", "libcuda.so"],
    variable: "RSB_CUDA_LIBRARY",
    symbol: "cuInit",
    cure: "install NVIDIA's driver (Debian: nvidia-driver; Ubuntu: `ubuntu-drivers install`); in a \
           container pass the \
           GPU on (`--gpus all`)",
};

impl Cuda {
    /// Loads the driver from where this process finds it.
    ///
    /// # Errors
    /// When there is none.
    pub fn load() -> Result<Self, Unavailable> {
        Self::load_from(&CudaPaths::here())
    }

    /// Loads the driver from `places`. It belongs to the system: no directory of a toolkit is
    /// looked into.
    ///
    /// # Errors
    /// When there is none.
    pub fn load_from(places: &CudaPaths) -> Result<Self, Unavailable> {
        let driver = Self::resolve(LIBRARY.find(&places.of_the_system())?);
        if driver.cuInit.is_none() {
            return Err(Unavailable::symbol("cuInit", driver.loaded.path()));
        }
        Ok(driver)
    }
}
