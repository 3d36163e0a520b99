//! Functions and constants of OpenCL 1.2 that this crate uses, resolved from the loader at run
//! time. The cl3 crate is not used, since it takes the library path only from an environment
//! variable and does not report which function is missing.
// Names are those of the C interface, so that its documentation can be searched.
#![allow(non_snake_case)]

use std::ffi::{c_char, c_void};

use libloading::Library;

/// A status code: zero, or a negative error.
pub(super) type Status = i32;
/// An opaque handle of the driver.
pub(super) type Object = *mut c_void;

/// Defines the function table and the function that fills it from C prototypes.
macro_rules! functions {
    ($( fn $name:ident($($argument:ident: $type:ty),* $(,)?) -> $result:ty; )*) => {
        /// Table of functions, each `None` if missing.
        pub(super) struct Api {
            $( pub(super) $name: Option<unsafe extern "C" fn($($argument: $type),*) -> $result>, )*
        }

        impl Api {
            /// Resolves every function.
            pub(super) fn resolve(library: &'static Library) -> Self {
                Self {
                    // SAFETY: the type is the documented prototype of the function with this name.
                    $( $name: unsafe { library.get(stringify!($name).as_bytes()) }.ok().map(|found| *found), )*
                }
            }
        }
    };
}

functions! {
    fn clGetPlatformIDs(entries: u32, platforms: *mut Object, count: *mut u32) -> Status;
    fn clGetPlatformInfo(platform: Object, name: u32, size: usize, value: *mut c_void, needed: *mut usize) -> Status;
    fn clGetDeviceIDs(platform: Object, kind: u64, entries: u32, devices: *mut Object, count: *mut u32) -> Status;
    fn clGetDeviceInfo(device: Object, name: u32, size: usize, value: *mut c_void, needed: *mut usize) -> Status;
    fn clCreateContext(
        properties: *const isize, count: u32, devices: *const Object, notify: *mut c_void, data: *mut c_void,
        status: *mut Status,
    ) -> Object;
    fn clReleaseContext(context: Object) -> Status;
    fn clCreateCommandQueue(context: Object, device: Object, properties: u64, status: *mut Status) -> Object;
    fn clReleaseCommandQueue(queue: Object) -> Status;
    fn clCreateBuffer(context: Object, flags: u64, size: usize, host: *mut c_void, status: *mut Status) -> Object;
    fn clReleaseMemObject(memory: Object) -> Status;
    fn clEnqueueReadBuffer(
        queue: Object, buffer: Object, blocking: u32, offset: usize, size: usize, to: *mut c_void, waits: u32,
        wait_list: *const Object, event: *mut Object,
    ) -> Status;
    fn clEnqueueWriteBuffer(
        queue: Object, buffer: Object, blocking: u32, offset: usize, size: usize, from: *const c_void, waits: u32,
        wait_list: *const Object, event: *mut Object,
    ) -> Status;
    fn clEnqueueCopyBuffer(
        queue: Object, from: Object, to: Object, from_offset: usize, to_offset: usize, size: usize, waits: u32,
        wait_list: *const Object, event: *mut Object,
    ) -> Status;
    fn clEnqueueFillBuffer(
        queue: Object, buffer: Object, pattern: *const c_void, pattern_size: usize, offset: usize, size: usize,
        waits: u32, wait_list: *const Object, event: *mut Object,
    ) -> Status;
    fn clEnqueueMapBuffer(
        queue: Object, buffer: Object, blocking: u32, flags: u64, offset: usize, size: usize, waits: u32,
        wait_list: *const Object, event: *mut Object, status: *mut Status,
    ) -> *mut c_void;
    fn clEnqueueUnmapMemObject(
        queue: Object, memory: Object, mapped: *mut c_void, waits: u32, wait_list: *const Object, event: *mut Object,
    ) -> Status;
    fn clCreateProgramWithSource(
        context: Object, count: u32, texts: *const *const c_char, lengths: *const usize, status: *mut Status,
    ) -> Object;
    fn clBuildProgram(
        program: Object, devices: u32, list: *const Object, options: *const c_char, notify: *mut c_void,
        data: *mut c_void,
    ) -> Status;
    fn clGetProgramBuildInfo(
        program: Object, device: Object, name: u32, size: usize, value: *mut c_void, needed: *mut usize,
    ) -> Status;
    fn clReleaseProgram(program: Object) -> Status;
    fn clCreateKernel(program: Object, name: *const c_char, status: *mut Status) -> Object;
    fn clReleaseKernel(kernel: Object) -> Status;
    fn clSetKernelArg(kernel: Object, index: u32, size: usize, value: *const c_void) -> Status;
    fn clGetKernelWorkGroupInfo(
        kernel: Object, device: Object, name: u32, size: usize, value: *mut c_void, needed: *mut usize,
    ) -> Status;
    fn clEnqueueNDRangeKernel(
        queue: Object, kernel: Object, dimensions: u32, offset: *const usize, global: *const usize,
        local: *const usize, waits: u32, wait_list: *const Object, event: *mut Object,
    ) -> Status;
    fn clGetEventProfilingInfo(
        event: Object, name: u32, size: usize, value: *mut c_void, needed: *mut usize,
    ) -> Status;
    fn clReleaseEvent(event: Object) -> Status;
    fn clFlush(queue: Object) -> Status;
    fn clFinish(queue: Object) -> Status;
}

/// Status codes with a separate description or fix.
pub(super) mod status {
    use super::Status;

    pub(in crate::opencl) const SUCCESS: Status = 0;
    pub(in crate::opencl) const DEVICE_NOT_FOUND: Status = -1;
    pub(in crate::opencl) const DEVICE_NOT_AVAILABLE: Status = -2;
    pub(in crate::opencl) const MEM_OBJECT_ALLOCATION_FAILURE: Status = -4;
    pub(in crate::opencl) const OUT_OF_RESOURCES: Status = -5;
    pub(in crate::opencl) const OUT_OF_HOST_MEMORY: Status = -6;
    pub(in crate::opencl) const INVALID_WORK_GROUP_SIZE: Status = -54;
    pub(in crate::opencl) const INVALID_BUFFER_SIZE: Status = -61;
    pub(in crate::opencl) const PLATFORM_NOT_FOUND: Status = -1001;
}

/// Names of queried properties of platforms, devices, kernels and events.
pub(super) mod ask {
    pub(in crate::opencl) const PLATFORM_NAME: u32 = 0x0902;
    pub(in crate::opencl) const DEVICE_TYPE: u32 = 0x1000;
    pub(in crate::opencl) const DEVICE_VENDOR_ID: u32 = 0x1001;
    pub(in crate::opencl) const DEVICE_MAX_COMPUTE_UNITS: u32 = 0x1002;
    pub(in crate::opencl) const DEVICE_MAX_WORK_GROUP_SIZE: u32 = 0x1004;
    pub(in crate::opencl) const DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT: u32 = 0x100A;
    pub(in crate::opencl) const DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE: u32 = 0x100B;
    pub(in crate::opencl) const DEVICE_MAX_CLOCK_FREQUENCY: u32 = 0x100C;
    pub(in crate::opencl) const DEVICE_MAX_MEM_ALLOC_SIZE: u32 = 0x1010;
    pub(in crate::opencl) const DEVICE_GLOBAL_MEM_CACHE_SIZE: u32 = 0x101E;
    pub(in crate::opencl) const DEVICE_GLOBAL_MEM_SIZE: u32 = 0x101F;
    pub(in crate::opencl) const DEVICE_NAME: u32 = 0x102B;
    pub(in crate::opencl) const DRIVER_VERSION: u32 = 0x102D;
    pub(in crate::opencl) const DEVICE_EXTENSIONS: u32 = 0x1030;
    pub(in crate::opencl) const DEVICE_PREFERRED_VECTOR_WIDTH_HALF: u32 = 0x1034;
    /// Extension `cl_khr_pci_bus_info`: four 32-bit numbers.
    pub(in crate::opencl) const DEVICE_PCI_BUS_INFO: u32 = 0x410F;
    /// Extension `cl_nv_device_attribute_query`: 32-bit numbers. The slot number encodes the device
    /// and the function.
    pub(in crate::opencl) const DEVICE_PCI_BUS_ID_NV: u32 = 0x4008;
    pub(in crate::opencl) const DEVICE_PCI_SLOT_ID_NV: u32 = 0x4009;
    pub(in crate::opencl) const DEVICE_PCI_DOMAIN_ID_NV: u32 = 0x400A;
    /// Extension `cl_amd_device_attribute_query`: 24 bytes that begin with a type. For the type PCI
    /// Express, they contain the address.
    pub(in crate::opencl) const DEVICE_TOPOLOGY_AMD: u32 = 0x4037;
    pub(in crate::opencl) const PROGRAM_BUILD_LOG: u32 = 0x1183;
    pub(in crate::opencl) const KERNEL_WORK_GROUP_SIZE: u32 = 0x11B0;
    pub(in crate::opencl) const PROFILING_COMMAND_START: u32 = 0x1282;
    pub(in crate::opencl) const PROFILING_COMMAND_END: u32 = 0x1283;
}

/// Flags.
pub(super) mod flag {
    pub(in crate::opencl) const TYPE_CPU: u64 = 1 << 1;
    pub(in crate::opencl) const TYPE_ALL: u64 = 0xFFFF_FFFF;
    pub(in crate::opencl) const QUEUE_PROFILING: u64 = 1 << 1;
    pub(in crate::opencl) const MEM_READ_WRITE: u64 = 1 << 0;
    pub(in crate::opencl) const MEM_ALLOC_HOST_PTR: u64 = 1 << 4;
    pub(in crate::opencl) const MAP_READ_WRITE: u64 = 1 << 0 | 1 << 1;
    pub(in crate::opencl) const BLOCKING: u32 = 1;
    pub(in crate::opencl) const NOT_BLOCKING: u32 = 0;
}
