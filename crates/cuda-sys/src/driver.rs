//! Functions, types and constants of `libcuda` that this project uses, as declared in `cuda.h`.
//! Functions whose prototype changed have a version number in their name, and drivers keep the old
//! versions.

use std::ffi::{c_char, c_int, c_uchar, c_uint, c_void};

use runtime_loading::{Unavailable, function_table};

use crate::handles;
use crate::search::{CudaLibrary, CudaPaths};

/// A status code; 0 is success. See [`error`].
pub type CUresult = c_int;
/// A device handle.
pub type CUdevice = c_int;
/// A device memory address.
pub type CUdeviceptr = u64;

handles! {
    /// A context: the state of a process on a device.
    CUcontext = CUctx_st;
    /// A stream (queue of work).
    CUstream = CUstream_st;
    /// An event (marker in a stream).
    CUevent = CUevent_st;
    /// A loaded code module.
    CUmodule = CUmod_st;
    /// A kernel of a module.
    CUfunction = CUfunc_st;
    /// A graph of work.
    CUgraph = CUgraph_st;
    /// An instantiated graph, ready to launch.
    CUgraphExec = CUgraphExec_st;
}

/// Values of [`CUresult`].
pub mod error {
    use super::CUresult;

    /// Success.
    pub const SUCCESS: CUresult = 0;
    /// An argument is invalid.
    pub const INVALID_VALUE: CUresult = 1;
    /// Out of memory.
    pub const OUT_OF_MEMORY: CUresult = 2;
    /// `cuInit` was not called or failed.
    pub const NOT_INITIALIZED: CUresult = 3;
    /// The library is a stub for linking only.
    pub const STUB_LIBRARY: CUresult = 34;
    /// Another process uses the device exclusively.
    pub const DEVICE_UNAVAILABLE: CUresult = 46;
    /// No device was found.
    pub const NO_DEVICE: CUresult = 100;
    /// The device ordinal is invalid.
    pub const INVALID_DEVICE: CUresult = 101;
    /// The code image cannot be read.
    pub const INVALID_IMAGE: CUresult = 200;
    /// The code image has no code for this device.
    pub const NO_BINARY_FOR_GPU: CUresult = 209;
    /// Uncorrectable memory error.
    pub const ECC_UNCORRECTABLE: CUresult = 214;
    /// Peer access between these two devices is not supported.
    pub const PEER_ACCESS_UNSUPPORTED: CUresult = 217;
    /// The named symbol was not found.
    pub const NOT_FOUND: CUresult = 500;
    /// The work has not completed yet.
    pub const NOT_READY: CUresult = 600;
    /// A kernel accessed an invalid address.
    pub const ILLEGAL_ADDRESS: CUresult = 700;
    /// A kernel needs more registers or shared memory than available.
    pub const LAUNCH_OUT_OF_RESOURCES: CUresult = 701;
    /// A kernel ran too long.
    pub const LAUNCH_TIMEOUT: CUresult = 702;
    /// Peer access is already enabled; harmless.
    pub const PEER_ACCESS_ALREADY_ENABLED: CUresult = 704;
    /// A kernel failed.
    pub const LAUNCH_FAILED: CUresult = 719;
    /// The device or the driver does not support the operation.
    pub const NOT_SUPPORTED: CUresult = 801;
    /// The services that the driver needs are not running.
    pub const SYSTEM_NOT_READY: CUresult = 802;
    /// The driver library and the kernel module have different versions.
    pub const SYSTEM_DRIVER_MISMATCH: CUresult = 803;
    /// The compatibility package does not support this device.
    pub const COMPAT_NOT_SUPPORTED_ON_DEVICE: CUresult = 804;
    /// Unknown error.
    pub const UNKNOWN: CUresult = 999;
}

/// Numbers of device attributes.
pub mod attribute {
    use std::ffi::c_int;

    /// Maximum number of threads per block.
    pub const MAX_THREADS_PER_BLOCK: c_int = 1;
    /// Maximum shared memory per block, in bytes.
    pub const MAX_SHARED_MEMORY_PER_BLOCK: c_int = 8;
    /// Threads per warp.
    pub const WARP_SIZE: c_int = 10;
    /// Maximum clock of the multiprocessors, in kHz.
    pub const CLOCK_RATE: c_int = 13;
    /// Number of multiprocessors.
    pub const MULTIPROCESSOR_COUNT: c_int = 16;
    /// Whether the GPU is integrated and uses host memory.
    pub const INTEGRATED: c_int = 18;
    /// Whether ECC is enabled.
    pub const ECC_ENABLED: c_int = 32;
    /// Maximum memory clock, in kHz.
    pub const MEMORY_CLOCK_RATE: c_int = 36;
    /// Memory bus width in bits.
    pub const MEMORY_BUS_WIDTH: c_int = 37;
    /// Size of the L2 cache in bytes.
    pub const L2_CACHE_SIZE: c_int = 38;
    /// Maximum number of resident threads per multiprocessor.
    pub const MAX_THREADS_PER_MULTIPROCESSOR: c_int = 39;
    /// Major version of the compute capability.
    pub const COMPUTE_CAPABILITY_MAJOR: c_int = 75;
    /// Minor version of the compute capability.
    pub const COMPUTE_CAPABILITY_MINOR: c_int = 76;
    /// Whether the device supports managed memory.
    pub const MANAGED_MEMORY: c_int = 83;
    /// Whether the GPU reads pageable memory through the host's page tables, as over NVLink-C2C
    /// (`PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES`).
    pub const USES_HOST_PAGE_TABLES: c_int = 100;
}

/// Capture modes: which calls are allowed while a stream is captured.
pub mod stream_capture {
    use std::ffi::c_int;

    /// Unsafe calls are forbidden in all threads.
    pub const GLOBAL: c_int = 0;
    /// Unsafe calls are forbidden only in the capturing thread.
    pub const THREAD_LOCAL: c_int = 1;
}

/// Attributes of a kernel.
pub mod func_attribute {
    use std::ffi::c_int;

    /// Static shared memory, in bytes.
    pub const SHARED_SIZE_BYTES: c_int = 1;
    /// Registers per thread.
    pub const NUM_REGS: c_int = 4;
}

/// Stream flag: does not synchronize with the default stream.
pub const STREAM_NON_BLOCKING: c_uint = 1;
/// Event flag: default, with timing.
pub const EVENT_DEFAULT: c_uint = 0;
/// Managed memory flag: accessible from every stream.
pub const MEM_ATTACH_GLOBAL: c_uint = 1;

function_table! {
    /// The driver functions that this project uses.
    pub struct Cuda {
        /// Initializes the driver.
        fn cuInit(flags: c_uint) -> CUresult;
        /// Returns the newest CUDA version that the driver supports: 12080 is 12.8.
        fn cuDriverGetVersion(version: *mut c_int) -> CUresult;
        /// Returns the name of a status, as a static string.
        fn cuGetErrorName(status: CUresult, text: *mut *const c_char) -> CUresult;
        /// Returns the description of a status, as a static string.
        fn cuGetErrorString(status: CUresult, text: *mut *const c_char) -> CUresult;
        /// Returns the number of devices.
        fn cuDeviceGetCount(count: *mut c_int) -> CUresult;
        /// Returns the device with an ordinal.
        fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int) -> CUresult;
        /// Returns the name of a device.
        fn cuDeviceGetName(name: *mut c_char, length: c_int, device: CUdevice) -> CUresult;
        /// Returns an attribute of a device; see [`attribute`].
        fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: CUdevice) -> CUresult;
        /// Returns the PCI address of a device.
        fn cuDeviceGetPCIBusId(text: *mut c_char, length: c_int, device: CUdevice) -> CUresult;
        /// Retains the primary context, which all users of a device in a process share.
        fn cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice) -> CUresult;
        /// Releases the primary context.
        fn cuDevicePrimaryCtxRelease_v2(device: CUdevice) -> CUresult;
        /// Makes a context current in this thread.
        fn cuCtxSetCurrent(context: CUcontext) -> CUresult;
        /// Returns the free and total memory of the current device, in bytes.
        fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> CUresult;
        /// Allocates device memory.
        fn cuMemAlloc_v2(address: *mut CUdeviceptr, bytes: usize) -> CUresult;
        /// Allocates managed memory, which migrates between device and host on demand.
        fn cuMemAllocManaged(address: *mut CUdeviceptr, bytes: usize, flags: c_uint) -> CUresult;
        /// Frees device memory.
        fn cuMemFree_v2(address: CUdeviceptr) -> CUresult;
        /// Allocates pinned host memory.
        fn cuMemHostAlloc(pointer: *mut *mut c_void, bytes: usize, flags: c_uint) -> CUresult;
        /// Frees pinned host memory.
        fn cuMemFreeHost(pointer: *mut c_void) -> CUresult;
        /// Fills device memory with a byte value.
        fn cuMemsetD8Async(address: CUdeviceptr, value: c_uchar, count: usize, stream: CUstream) -> CUresult;
        /// Copies from host to device.
        fn cuMemcpyHtoDAsync_v2(
            to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream,
        ) -> CUresult;
        /// Copies from device to host.
        fn cuMemcpyDtoHAsync_v2(
            to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream,
        ) -> CUresult;
        /// Copies within a device.
        fn cuMemcpyDtoDAsync_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream) -> CUresult;
        /// Copies from one device to another.
        fn cuMemcpyPeerAsync(
            to: CUdeviceptr, to_context: CUcontext, from: CUdeviceptr, from_context: CUcontext, bytes: usize,
            stream: CUstream,
        ) -> CUresult;
        /// Returns whether a device can access the memory of another.
        fn cuDeviceCanAccessPeer(can: *mut c_int, device: CUdevice, peer: CUdevice) -> CUresult;
        /// Enables access from the current context to a peer context.
        fn cuCtxEnablePeerAccess(peer: CUcontext, flags: c_uint) -> CUresult;
        /// Creates a stream.
        fn cuStreamCreate(stream: *mut CUstream, flags: c_uint) -> CUresult;
        /// Destroys a stream.
        fn cuStreamDestroy_v2(stream: CUstream) -> CUresult;
        /// Waits for all work of a stream.
        fn cuStreamSynchronize(stream: CUstream) -> CUresult;
        /// Makes a stream wait for an event of another stream; `flags` must be 0.
        fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint) -> CUresult;
        /// Creates an event.
        fn cuEventCreate(event: *mut CUevent, flags: c_uint) -> CUresult;
        /// Records an event in a stream.
        fn cuEventRecord(event: CUevent, stream: CUstream) -> CUresult;
        /// Returns the milliseconds between two completed events.
        fn cuEventElapsedTime(milliseconds: *mut f32, from: CUevent, to: CUevent) -> CUresult;
        /// Destroys an event.
        fn cuEventDestroy_v2(event: CUevent) -> CUresult;
        /// Loads a module; the image is copied.
        fn cuModuleLoadData(module: *mut CUmodule, image: *const c_void) -> CUresult;
        /// Returns a kernel of a module by name.
        fn cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char) -> CUresult;
        /// Unloads a module.
        fn cuModuleUnload(module: CUmodule) -> CUresult;
        /// Returns an attribute of a kernel; see [`func_attribute`].
        fn cuFuncGetAttribute(value: *mut c_int, attribute: c_int, function: CUfunction) -> CUresult;
        /// Launches a kernel.
        fn cuLaunchKernel(
            function: CUfunction, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint,
            block_z: c_uint, shared: c_uint, stream: CUstream, parameters: *mut *mut c_void,
            extra: *mut *mut c_void,
        ) -> CUresult;
        /// Returns how many blocks of a kernel fit on a multiprocessor at once.
        fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
            blocks: *mut c_int, function: CUfunction, block: c_int, dynamic_shared: usize,
        ) -> CUresult;
        /// Starts to capture the work submitted to a stream instead of running it.
        fn cuStreamBeginCapture_v2(stream: CUstream, mode: c_int) -> CUresult;
        /// Ends the capture and returns the graph.
        fn cuStreamEndCapture(stream: CUstream, graph: *mut CUgraph) -> CUresult;
        /// Instantiates a graph.
        fn cuGraphInstantiateWithFlags(executable: *mut CUgraphExec, graph: CUgraph, flags: u64) -> CUresult;
        /// Launches an instantiated graph.
        fn cuGraphLaunch(executable: CUgraphExec, stream: CUstream) -> CUresult;
        /// Destroys a graph.
        fn cuGraphDestroy(graph: CUgraph) -> CUresult;
        /// Destroys an instantiated graph.
        fn cuGraphExecDestroy(executable: CUgraphExec) -> CUresult;
    }
}

/// The driver library.
const LIBRARY: CudaLibrary = CudaLibrary {
    name: "NVIDIA's driver (libcuda)",
    files: &["libcuda.so.1", "libcuda.so"],
    variable: "RSB_CUDA_LIBRARY",
    symbol: "cuInit",
    cure: "install NVIDIA's driver (Debian: nvidia-driver; Ubuntu: `ubuntu-drivers install`); in a \
           container, pass the GPU through (`--gpus all`)",
};

impl Cuda {
    /// Loads the driver from the search path of this process.
    ///
    /// # Errors
    /// If no driver can be loaded.
    pub fn load() -> Result<Self, Unavailable> {
        Self::load_from(&CudaPaths::here())
    }

    /// Loads the driver from `places`. The driver belongs to the system, so directories of toolkits
    /// are not searched.
    ///
    /// # Errors
    /// If no driver can be loaded.
    pub fn load_from(places: &CudaPaths) -> Result<Self, Unavailable> {
        let driver = Self::resolve(LIBRARY.find(&places.of_the_system())?);
        if driver.cuInit.is_none() {
            return Err(Unavailable::symbol("cuInit", driver.loaded.path()));
        }
        Ok(driver)
    }
}
