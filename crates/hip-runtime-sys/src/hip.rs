//! The functions of `libamdhip64` that are used, their types and constants. Values are the same
//! from ROCm 5.2 to 7.2.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::search::{RocmLibrary, RocmPaths};
use crate::{PropertiesR0000, PropertiesR0600, Unavailable, function_table};

/// A status; 0 is success. See [`error`].
pub type hipError_t = c_int;

/// Makes the opaque types behind handles.
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
    /// A queue of work.
    hipStream_t = ihipStream_t;
    /// A mark in a queue.
    hipEvent_t = ihipEvent_t;
    /// A loaded code object.
    hipModule_t = ihipModule_t;
    /// A kernel of a module.
    hipFunction_t = ihipModuleSymbol_t;
    /// A graph of work.
    hipGraph_t = ihipGraph;
    /// A graph ready to be launched.
    hipGraphExec_t = hipGraphExec;
}

/// Values of [`hipError_t`].
pub mod error {
    use super::hipError_t;

    /// All is well.
    pub const SUCCESS: hipError_t = 0;
    /// An argument is not acceptable.
    pub const INVALID_VALUE: hipError_t = 1;
    /// Memory is used up.
    pub const OUT_OF_MEMORY: hipError_t = 2;
    /// `hipInit` was not called or failed.
    pub const NOT_INITIALIZED: hipError_t = 3;
    /// Grid or block are not possible.
    pub const INVALID_CONFIGURATION: hipError_t = 9;
    /// The driver is older than the runtime needs.
    pub const INSUFFICIENT_DRIVER: hipError_t = 35;
    /// The module has no code for the device.
    pub const INVALID_DEVICE_FUNCTION: hipError_t = 98;
    /// There is no device.
    pub const NO_DEVICE: hipError_t = 100;
    /// There is no such device; ROCm 5 and 6 also say it where there is none at all.
    pub const INVALID_DEVICE: hipError_t = 101;
    /// A code object cannot be read.
    pub const INVALID_IMAGE: hipError_t = 200;
    /// A code object is for another device.
    pub const NO_BINARY_FOR_GPU: hipError_t = 209;
    /// Memory had an error that cannot be corrected.
    pub const ECC_NOT_CORRECTABLE: hipError_t = 214;
    /// These two devices cannot reach each other.
    pub const PEER_ACCESS_UNSUPPORTED: hipError_t = 217;
    /// A name was not found.
    pub const NOT_FOUND: hipError_t = 500;
    /// Work is not done yet.
    pub const NOT_READY: hipError_t = 600;
    /// A kernel touched memory that is not its own.
    pub const ILLEGAL_ADDRESS: hipError_t = 700;
    /// A kernel needs more registers or shared memory than there are.
    pub const LAUNCH_OUT_OF_RESOURCES: hipError_t = 701;
    /// A kernel ran too long.
    pub const LAUNCH_TIMEOUT: hipError_t = 702;
    /// Peer access is already on, which is no fault.
    pub const PEER_ACCESS_ALREADY_ENABLED: hipError_t = 704;
    /// A kernel failed.
    pub const LAUNCH_FAILURE: hipError_t = 719;
    /// The runtime or the device cannot do it.
    pub const NOT_SUPPORTED: hipError_t = 801;
    /// Nobody knows.
    pub const UNKNOWN: hipError_t = 999;
}

/// Numbers of device attributes.
pub mod attribute {
    use std::ffi::c_int;

    /// Highest clock of the compute units, in kHz.
    pub const CLOCK_RATE: c_int = 5;
    /// Whether memory is that of the host.
    pub const INTEGRATED: c_int = 16;
    /// Size of the second-level cache in bytes.
    pub const L2_CACHE_SIZE: c_int = 19;
    /// Threads in a block at most.
    pub const MAX_THREADS_PER_BLOCK: c_int = 56;
    /// Threads resident on a compute unit at most.
    pub const MAX_THREADS_PER_MULTIPROCESSOR: c_int = 57;
    /// Width of the memory bus in bits.
    pub const MEMORY_BUS_WIDTH: c_int = 59;
    /// Highest clock of the memory, in kHz.
    pub const MEMORY_CLOCK_RATE: c_int = 60;
    /// Compute units.
    pub const MULTIPROCESSOR_COUNT: c_int = 63;
    /// Whether the GPU shares the host's memory and page tables
    /// (`hipDeviceAttributePageableMemoryAccessUsesHostPageTables`).
    pub const USES_HOST_PAGE_TABLES: c_int = 66;
    /// Bus number.
    pub const PCI_BUS_ID: c_int = 67;
    /// Device number on the bus.
    pub const PCI_DEVICE_ID: c_int = 68;
    /// Domain number.
    pub const PCI_DOMAIN_ID: c_int = 69;
    /// Shared memory of a block at most, in bytes.
    pub const MAX_SHARED_MEMORY_PER_BLOCK: c_int = 74;
    /// Threads of a wavefront.
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
    /// As the pointers tell.
    pub const DEFAULT: c_int = 4;
}

/// What other threads may do while a stream is captured.
pub mod stream_capture {
    use std::ffi::c_int;

    /// Nothing that is not safe.
    pub const GLOBAL: c_int = 0;
    /// Whatever they like.
    pub const THREAD_LOCAL: c_int = 1;
    /// Even this thread may.
    pub const RELAXED: c_int = 2;
}

/// Numbers of attributes of a kernel.
pub mod func_attribute {
    use std::ffi::c_int;

    /// Threads in a block at most.
    pub const MAX_THREADS_PER_BLOCK: c_int = 0;
    /// Static shared memory in bytes.
    pub const SHARED_SIZE_BYTES: c_int = 1;
    /// Scratch memory of a thread in bytes.
    pub const LOCAL_SIZE_BYTES: c_int = 3;
    /// Registers of a thread.
    pub const NUM_REGS: c_int = 4;
}

/// Limits of a launch that every device has.
pub mod dim {
    /// Blocks along x that every device takes.
    pub const MAX_GRID_X: u32 = i32::MAX as u32;
    /// Blocks along y and z that every device takes.
    pub const MAX_GRID_YZ: u32 = 65_535;
}

/// Flag of `hipStreamCreateWithFlags`: no order with the null stream.
pub const STREAM_NON_BLOCKING: c_uint = 1;
/// Flag of `hipEventCreateWithFlags`: with time, without blocking.
pub const EVENT_DEFAULT: c_uint = 0;
/// Flag of `hipHostMalloc`.
pub const HOST_MALLOC_DEFAULT: c_uint = 0;
/// Flag of `hipMallocManaged`: every stream may use it.
pub const MEM_ATTACH_GLOBAL: c_uint = 1;

function_table! {
    /// What is used of the HIP runtime.
    pub struct Hip {
        /// Initializes the runtime.
        fn hipInit(flags: c_uint) -> hipError_t;
        /// How many devices there are.
        fn hipGetDeviceCount(count: *mut c_int) -> hipError_t;
        /// Makes a device the current one of this thread.
        fn hipSetDevice(device: c_int) -> hipError_t;
        /// One number about a device; see [`attribute`].
        fn hipDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int) -> hipError_t;
        /// Its place on the bus, as text.
        fn hipDeviceGetPCIBusId(text: *mut c_char, length: c_int, device: c_int) -> hipError_t;
        /// Properties in the layout of ROCm 6 and 7.
        fn hipGetDevicePropertiesR0600(properties: *mut PropertiesR0600, device: c_int) -> hipError_t;
        /// Properties in the layout of ROCm 5.
        fn hipGetDeviceProperties(properties: *mut PropertiesR0000, device: c_int) -> hipError_t;
        /// Text for a status; static.
        fn hipGetErrorString(status: hipError_t) -> *const c_char;
        /// Free and total memory of the current device.
        fn hipMemGetInfo(free: *mut usize, total: *mut usize) -> hipError_t;
        /// Device memory.
        fn hipMalloc(pointer: *mut *mut c_void, bytes: usize) -> hipError_t;
        /// Gives device memory back.
        fn hipFree(pointer: *mut c_void) -> hipError_t;
        /// Pinned host memory.
        fn hipHostMalloc(pointer: *mut *mut c_void, bytes: usize, flags: c_uint) -> hipError_t;
        /// Gives pinned host memory back.
        fn hipHostFree(pointer: *mut c_void) -> hipError_t;
        /// Memory that host and device share.
        fn hipMallocManaged(pointer: *mut *mut c_void, bytes: usize, flags: c_uint) -> hipError_t;
        /// Copies and waits.
        fn hipMemcpy(to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int) -> hipError_t;
        /// Copies in a stream.
        fn hipMemcpyAsync(
            to: *mut c_void,
            from: *const c_void,
            bytes: usize,
            kind: c_int,
            stream: hipStream_t,
        ) -> hipError_t;
        /// Fills in a stream.
        fn hipMemsetAsync(to: *mut c_void, value: c_int, bytes: usize, stream: hipStream_t) -> hipError_t;
        /// Copies from one device to another in a stream.
        fn hipMemcpyPeerAsync(
            to: *mut c_void,
            to_device: c_int,
            from: *const c_void,
            from_device: c_int,
            bytes: usize,
            stream: hipStream_t,
        ) -> hipError_t;
        /// Whether a device can reach the memory of another.
        fn hipDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) -> hipError_t;
        /// Lets the current device reach the memory of another.
        fn hipDeviceEnablePeerAccess(peer: c_int, flags: c_uint) -> hipError_t;
        /// A queue of work.
        fn hipStreamCreateWithFlags(stream: *mut hipStream_t, flags: c_uint) -> hipError_t;
        /// Ends a queue.
        fn hipStreamDestroy(stream: hipStream_t) -> hipError_t;
        /// Waits for a queue.
        fn hipStreamSynchronize(stream: hipStream_t) -> hipError_t;
        /// Lets a queue wait for a mark in another one; no flags.
        fn hipStreamWaitEvent(stream: hipStream_t, event: hipEvent_t, flags: c_uint) -> hipError_t;
        /// From here on work is recorded instead of run; see [`stream_capture`].
        fn hipStreamBeginCapture(stream: hipStream_t, mode: c_int) -> hipError_t;
        /// Ends the recording.
        fn hipStreamEndCapture(stream: hipStream_t, graph: *mut hipGraph_t) -> hipError_t;
        /// Makes a graph ready to be launched. Node and log are only written on failure and may be
        /// null.
        fn hipGraphInstantiate(
            executable: *mut hipGraphExec_t,
            graph: hipGraph_t,
            node: *mut *mut c_void,
            log: *mut c_char,
            log_bytes: usize,
        ) -> hipError_t;
        /// Launches a graph in a stream.
        fn hipGraphLaunch(executable: hipGraphExec_t, stream: hipStream_t) -> hipError_t;
        /// Gives it back.
        fn hipGraphExecDestroy(executable: hipGraphExec_t) -> hipError_t;
        /// Gives it back.
        fn hipGraphDestroy(graph: hipGraph_t) -> hipError_t;
        /// A mark.
        fn hipEventCreateWithFlags(event: *mut hipEvent_t, flags: c_uint) -> hipError_t;
        /// Gives a mark back.
        fn hipEventDestroy(event: hipEvent_t) -> hipError_t;
        /// Puts the mark at the end of a stream.
        fn hipEventRecord(event: hipEvent_t, stream: hipStream_t) -> hipError_t;
        /// Milliseconds between two marks that were passed.
        fn hipEventElapsedTime(milliseconds: *mut f32, from: hipEvent_t, to: hipEvent_t) -> hipError_t;
        /// Loads a code object from memory.
        fn hipModuleLoadData(module: *mut hipModule_t, image: *const c_void) -> hipError_t;
        /// Gives it back.
        fn hipModuleUnload(module: hipModule_t) -> hipError_t;
        /// A kernel by its name.
        fn hipModuleGetFunction(function: *mut hipFunction_t, module: hipModule_t, name: *const c_char) -> hipError_t;
        /// Launches a kernel; `parameters` points to one pointer for each parameter.
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
        /// Blocks of a kernel that fit on a compute unit at once.
        fn hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
            blocks: *mut c_int,
            function: hipFunction_t,
            block_size: c_int,
            shared_bytes: usize,
        ) -> hipError_t;
        /// One number about a kernel; see [`func_attribute`].
        fn hipFuncGetAttribute(value: *mut c_int, attribute: c_int, function: hipFunction_t) -> hipError_t;
    }
}

/// The library, by its names of ROCm 7, 6 and 5.
pub(crate) const LIBRARY: RocmLibrary = RocmLibrary {
    name: "the HIP runtime (libamdhip64)",
    files: &["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"],
    variable: "RSB_HIP_LIBRARY",
    cure: "install ROCm (Debian and Ubuntu: libamdhip64), or set ROCM_PATH or RSB_HIP_LIBRARY",
};

impl Hip {
    /// Loads the library from where this process finds it.
    ///
    /// # Errors
    /// When there is none.
    pub fn load() -> Result<Self, Unavailable> {
        Self::load_from(&RocmPaths::here(&LIBRARY))
    }

    /// Loads the library from `places`.
    ///
    /// # Errors
    /// When there is none, or what is there is not the HIP runtime.
    pub fn load_from(places: &RocmPaths) -> Result<Self, Unavailable> {
        let hip = Self::resolve(LIBRARY.find(places)?);
        if hip.hipGetDeviceCount.is_none() {
            return Err(Unavailable::symbol("hipGetDeviceCount", hip.loaded.path()));
        }
        Ok(hip)
    }
}
