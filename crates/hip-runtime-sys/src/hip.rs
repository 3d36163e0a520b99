//! The functions of `libamdhip64` that this project uses, with their types and constants. Values
//! are the same from ROCm 5.2 to 7.2.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::search::{RocmLibrary, RocmPaths};
use crate::{PropertiesR0000, PropertiesR0600, Unavailable, function_table};

/// A status code; 0 is success. See [`error`].
pub type hipError_t = c_int;

/// Defines the opaque types behind handles.
macro_rules! handles {
    ($($(#[$doc:meta])* $handle:ident = $opaque:ident;)*) => {$(
        #[doc(hidden)]
        #[repr(C)]
        pub struct $opaque { _private: [u8; 0] }
        $(#[$doc])*
        pub type $handle = *mut $opaque;
    )*};
}

handles! {
    /// A stream (queue of work).
    hipStream_t = ihipStream_t;
    /// An event (marker in a stream).
    hipEvent_t = ihipEvent_t;
    /// A loaded code object.
    hipModule_t = ihipModule_t;
    /// A kernel of a module.
    hipFunction_t = ihipModuleSymbol_t;
    /// A graph of work.
    hipGraph_t = ihipGraph;
    /// An instantiated graph, ready to launch.
    hipGraphExec_t = hipGraphExec;
}

/// Values of [`hipError_t`].
pub mod error {
    use super::hipError_t;

    /// Success.
    pub const SUCCESS: hipError_t = 0;
    /// An argument is invalid.
    pub const INVALID_VALUE: hipError_t = 1;
    /// Out of memory.
    pub const OUT_OF_MEMORY: hipError_t = 2;
    /// `hipInit` was not called or failed.
    pub const NOT_INITIALIZED: hipError_t = 3;
    /// The grid or block size is invalid.
    pub const INVALID_CONFIGURATION: hipError_t = 9;
    /// The driver is too old for the runtime.
    pub const INSUFFICIENT_DRIVER: hipError_t = 35;
    /// The module has no code for the device.
    pub const INVALID_DEVICE_FUNCTION: hipError_t = 98;
    /// No device was found.
    pub const NO_DEVICE: hipError_t = 100;
    /// The device ordinal is invalid. ROCm 5 and 6 also return this if there is no device.
    pub const INVALID_DEVICE: hipError_t = 101;
    /// The code object cannot be read.
    pub const INVALID_IMAGE: hipError_t = 200;
    /// The code object has no code for this device.
    pub const NO_BINARY_FOR_GPU: hipError_t = 209;
    /// Uncorrectable memory error.
    pub const ECC_NOT_CORRECTABLE: hipError_t = 214;
    /// Peer access between these two devices is not supported.
    pub const PEER_ACCESS_UNSUPPORTED: hipError_t = 217;
    /// The named symbol was not found.
    pub const NOT_FOUND: hipError_t = 500;
    /// The work has not completed yet.
    pub const NOT_READY: hipError_t = 600;
    /// A kernel accessed an invalid address.
    pub const ILLEGAL_ADDRESS: hipError_t = 700;
    /// A kernel needs more registers or shared memory than available.
    pub const LAUNCH_OUT_OF_RESOURCES: hipError_t = 701;
    /// A kernel ran too long.
    pub const LAUNCH_TIMEOUT: hipError_t = 702;
    /// Peer access is already enabled; harmless.
    pub const PEER_ACCESS_ALREADY_ENABLED: hipError_t = 704;
    /// A kernel failed.
    pub const LAUNCH_FAILURE: hipError_t = 719;
    /// The runtime or the device does not support the operation.
    pub const NOT_SUPPORTED: hipError_t = 801;
    /// Unknown error.
    pub const UNKNOWN: hipError_t = 999;
}

/// Numbers of device attributes.
pub mod attribute {
    use std::ffi::c_int;

    /// Maximum clock of the compute units, in kHz.
    pub const CLOCK_RATE: c_int = 5;
    /// Whether the GPU is integrated and uses host memory.
    pub const INTEGRATED: c_int = 16;
    /// Size of the L2 cache in bytes.
    pub const L2_CACHE_SIZE: c_int = 19;
    /// Maximum number of threads per block.
    pub const MAX_THREADS_PER_BLOCK: c_int = 56;
    /// Maximum number of resident threads per compute unit.
    pub const MAX_THREADS_PER_MULTIPROCESSOR: c_int = 57;
    /// Memory bus width in bits.
    pub const MEMORY_BUS_WIDTH: c_int = 59;
    /// Maximum memory clock, in kHz.
    pub const MEMORY_CLOCK_RATE: c_int = 60;
    /// Number of compute units.
    pub const MULTIPROCESSOR_COUNT: c_int = 63;
    /// Whether the GPU shares the host's memory and page tables
    /// (`hipDeviceAttributePageableMemoryAccessUsesHostPageTables`).
    pub const USES_HOST_PAGE_TABLES: c_int = 66;
    /// PCI bus number.
    pub const PCI_BUS_ID: c_int = 67;
    /// PCI device number.
    pub const PCI_DEVICE_ID: c_int = 68;
    /// PCI domain number.
    pub const PCI_DOMAIN_ID: c_int = 69;
    /// Maximum shared memory per block, in bytes.
    pub const MAX_SHARED_MEMORY_PER_BLOCK: c_int = 74;
    /// Threads per wavefront.
    pub const WARP_SIZE: c_int = 87;
}

/// Directions of a copy.
pub mod memcpy {
    use std::ffi::c_int;

    /// Host to device.
    pub const HOST_TO_DEVICE: c_int = 1;
    /// Device to host.
    pub const DEVICE_TO_HOST: c_int = 2;
    /// Device to device.
    pub const DEVICE_TO_DEVICE: c_int = 3;
    /// Direction inferred from the pointers.
    pub const DEFAULT: c_int = 4;
}

/// Capture modes: which calls are allowed while a stream is captured.
pub mod stream_capture {
    use std::ffi::c_int;

    /// Unsafe calls are forbidden in all threads.
    pub const GLOBAL: c_int = 0;
    /// Unsafe calls are forbidden only in the capturing thread.
    pub const THREAD_LOCAL: c_int = 1;
    /// Unsafe calls are allowed in all threads.
    pub const RELAXED: c_int = 2;
}

/// Numbers of attributes of a kernel.
pub mod func_attribute {
    use std::ffi::c_int;

    /// Maximum number of threads per block.
    pub const MAX_THREADS_PER_BLOCK: c_int = 0;
    /// Static shared memory, in bytes.
    pub const SHARED_SIZE_BYTES: c_int = 1;
    /// Scratch memory per thread, in bytes.
    pub const LOCAL_SIZE_BYTES: c_int = 3;
    /// Registers per thread.
    pub const NUM_REGS: c_int = 4;
}

/// Launch limits that every device supports.
pub mod dim {
    /// Maximum number of blocks along x that every device supports.
    pub const MAX_GRID_X: u32 = i32::MAX as u32;
    /// Maximum number of blocks along y and z that every device supports.
    pub const MAX_GRID_YZ: u32 = 65_535;
}

/// Flag of `hipStreamCreateWithFlags`: does not synchronize with the null stream.
pub const STREAM_NON_BLOCKING: c_uint = 1;
/// Flag of `hipEventCreateWithFlags`: with timing, without blocking synchronization.
pub const EVENT_DEFAULT: c_uint = 0;
/// Flag of `hipHostMalloc`: default.
pub const HOST_MALLOC_DEFAULT: c_uint = 0;
/// Flag of `hipMallocManaged`: accessible from every stream.
pub const MEM_ATTACH_GLOBAL: c_uint = 1;

function_table! {
    /// The HIP runtime functions that this project uses.
    pub struct Hip {
        /// Initializes the runtime.
        fn hipInit(flags: c_uint) -> hipError_t;
        /// Returns the number of devices.
        fn hipGetDeviceCount(count: *mut c_int) -> hipError_t;
        /// Makes a device current in this thread.
        fn hipSetDevice(device: c_int) -> hipError_t;
        /// Returns an attribute of a device; see [`attribute`].
        fn hipDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int) -> hipError_t;
        /// Returns the PCI address of a device, as text.
        fn hipDeviceGetPCIBusId(text: *mut c_char, length: c_int, device: c_int) -> hipError_t;
        /// Returns device properties in the layout of ROCm 6 and 7.
        fn hipGetDevicePropertiesR0600(properties: *mut PropertiesR0600, device: c_int) -> hipError_t;
        /// Returns device properties in the layout of ROCm 5.
        fn hipGetDeviceProperties(properties: *mut PropertiesR0000, device: c_int) -> hipError_t;
        /// Returns the description of a status, as a static string.
        fn hipGetErrorString(status: hipError_t) -> *const c_char;
        /// Returns the free and total memory of the current device, in bytes.
        fn hipMemGetInfo(free: *mut usize, total: *mut usize) -> hipError_t;
        /// Allocates device memory.
        fn hipMalloc(pointer: *mut *mut c_void, bytes: usize) -> hipError_t;
        /// Frees device memory.
        fn hipFree(pointer: *mut c_void) -> hipError_t;
        /// Allocates pinned host memory.
        fn hipHostMalloc(pointer: *mut *mut c_void, bytes: usize, flags: c_uint) -> hipError_t;
        /// Frees pinned host memory.
        fn hipHostFree(pointer: *mut c_void) -> hipError_t;
        /// Allocates managed memory, which host and device share.
        fn hipMallocManaged(pointer: *mut *mut c_void, bytes: usize, flags: c_uint) -> hipError_t;
        /// Copies memory and waits for the copy to finish.
        fn hipMemcpy(to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int) -> hipError_t;
        /// Copies memory asynchronously in a stream.
        fn hipMemcpyAsync(
            to: *mut c_void,
            from: *const c_void,
            bytes: usize,
            kind: c_int,
            stream: hipStream_t,
        ) -> hipError_t;
        /// Fills memory with a byte value, asynchronously in a stream.
        fn hipMemsetAsync(to: *mut c_void, value: c_int, bytes: usize, stream: hipStream_t) -> hipError_t;
        /// Copies from one device to another, asynchronously in a stream.
        fn hipMemcpyPeerAsync(
            to: *mut c_void,
            to_device: c_int,
            from: *const c_void,
            from_device: c_int,
            bytes: usize,
            stream: hipStream_t,
        ) -> hipError_t;
        /// Returns whether a device can access the memory of another.
        fn hipDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) -> hipError_t;
        /// Enables access from the current device to the memory of another.
        fn hipDeviceEnablePeerAccess(peer: c_int, flags: c_uint) -> hipError_t;
        /// Creates a stream.
        fn hipStreamCreateWithFlags(stream: *mut hipStream_t, flags: c_uint) -> hipError_t;
        /// Destroys a stream.
        fn hipStreamDestroy(stream: hipStream_t) -> hipError_t;
        /// Waits for all work of a stream.
        fn hipStreamSynchronize(stream: hipStream_t) -> hipError_t;
        /// Makes a stream wait for an event of another stream; `flags` must be 0.
        fn hipStreamWaitEvent(stream: hipStream_t, event: hipEvent_t, flags: c_uint) -> hipError_t;
        /// Starts to capture the work submitted to a stream instead of running it; see
        /// [`stream_capture`].
        fn hipStreamBeginCapture(stream: hipStream_t, mode: c_int) -> hipError_t;
        /// Ends the capture and returns the graph.
        fn hipStreamEndCapture(stream: hipStream_t, graph: *mut hipGraph_t) -> hipError_t;
        /// Instantiates a graph. The error node and the error log are written only on failure and
        /// may be null.
        fn hipGraphInstantiate(
            executable: *mut hipGraphExec_t,
            graph: hipGraph_t,
            node: *mut *mut c_void,
            log: *mut c_char,
            log_bytes: usize,
        ) -> hipError_t;
        /// Launches an instantiated graph in a stream.
        fn hipGraphLaunch(executable: hipGraphExec_t, stream: hipStream_t) -> hipError_t;
        /// Destroys an instantiated graph.
        fn hipGraphExecDestroy(executable: hipGraphExec_t) -> hipError_t;
        /// Destroys a graph.
        fn hipGraphDestroy(graph: hipGraph_t) -> hipError_t;
        /// Creates an event.
        fn hipEventCreateWithFlags(event: *mut hipEvent_t, flags: c_uint) -> hipError_t;
        /// Destroys an event.
        fn hipEventDestroy(event: hipEvent_t) -> hipError_t;
        /// Records an event in a stream.
        fn hipEventRecord(event: hipEvent_t, stream: hipStream_t) -> hipError_t;
        /// Returns the milliseconds between two completed events.
        fn hipEventElapsedTime(milliseconds: *mut f32, from: hipEvent_t, to: hipEvent_t) -> hipError_t;
        /// Loads a code object from memory.
        fn hipModuleLoadData(module: *mut hipModule_t, image: *const c_void) -> hipError_t;
        /// Unloads a module.
        fn hipModuleUnload(module: hipModule_t) -> hipError_t;
        /// Returns a kernel of a module by name.
        fn hipModuleGetFunction(function: *mut hipFunction_t, module: hipModule_t, name: *const c_char) -> hipError_t;
        /// Launches a kernel; `parameters` points to one pointer per parameter.
        fn hipModuleLaunchKernel(
            function: hipFunction_t,
            grid_x: c_uint,
            grid_y: c_uint,
            grid_z: c_uint,
            block_x: c_uint,
            block_y: c_uint,
            block_z: c_uint,
            shared_bytes: c_uint,
            stream: hipStream_t,
            parameters: *mut *mut c_void,
            extra: *mut *mut c_void,
        ) -> hipError_t;
        /// Returns how many blocks of a kernel fit on a compute unit at once.
        fn hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
            blocks: *mut c_int,
            function: hipFunction_t,
            block_size: c_int,
            shared_bytes: usize,
        ) -> hipError_t;
        /// Returns an attribute of a kernel; see [`func_attribute`].
        fn hipFuncGetAttribute(value: *mut c_int, attribute: c_int, function: hipFunction_t) -> hipError_t;
    }
}

/// The library, under its names in ROCm 7, 6 and 5.
pub(crate) const LIBRARY: RocmLibrary = RocmLibrary {
    name: "the HIP runtime (libamdhip64)",
    files: &["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"],
    variable: "RSB_HIP_LIBRARY",
    cure: "install ROCm (Debian and Ubuntu: libamdhip64), or set ROCM_PATH or RSB_HIP_LIBRARY",
};

impl Hip {
    /// Loads the library from the search path of this process.
    ///
    /// # Errors
    /// If the library cannot be loaded.
    pub fn load() -> Result<Self, Unavailable> {
        Self::load_from(&RocmPaths::here(&LIBRARY))
    }

    /// Loads the library from `places`.
    ///
    /// # Errors
    /// If the library cannot be loaded, or the file found is not the HIP runtime.
    pub fn load_from(places: &RocmPaths) -> Result<Self, Unavailable> {
        let hip = Self::resolve(LIBRARY.find(places)?);
        if hip.hipGetDeviceCount.is_none() {
            return Err(Unavailable::symbol("hipGetDeviceCount", hip.loaded.path()));
        }
        Ok(hip)
    }
}
