//! Code objects, kernels and their launches.

use std::ffi::{c_char, c_int, c_uint, c_void};

use hip_runtime_sys::{hipError_t, hipFunction_t, hipModule_t, hipStream_t};

use super::{answer, handle, put, put_handle};
use crate::ops::{Geometry, Limits};

/// Launch limits. Each side of a block may have up to 1024 threads, and only the number of threads
/// limits the grid.
const LIMITS: Limits = Limits {
    grid: [u32::MAX; 3],
    threads: u32::MAX as u64,
    block: [1024; 3],
    shared_bytes: 65_536,
};

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipModuleLoadData(
    module: *mut hipModule_t,
    image: *const c_void,
) -> hipError_t {
    // SAFETY: the C interface requires `image` to be null or a complete code object, and `module`
    // to be null or valid for a write.
    answer(|state| unsafe { put_handle(module, state.load_image(image)?) })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipModuleUnload(module: hipModule_t) -> hipError_t {
    answer(|state| state.modules.remove(handle(module)).map(drop))
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipModuleGetFunction(
    function: *mut hipFunction_t,
    module: hipModule_t,
    name: *const c_char,
) -> hipError_t {
    // SAFETY: the C interface requires `name` to be null or zero-terminated, and `function` to be
    // null or valid for a write.
    answer(|state| unsafe { put_handle(function, state.kernel(handle(module), name)?) })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipModuleLaunchKernel(
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
    _extra: *mut *mut c_void,
) -> hipError_t {
    let geometry = Geometry {
        grid: [grid_x, grid_y, grid_z],
        block: [block_x, block_y, block_z],
        shared_bytes,
    };
    // SAFETY: the C interface requires `parameters` to be null or an array with one pointer per
    // kernel parameter; every parameter of these kernels has 8 bytes.
    answer(|state| unsafe {
        state.launch_kernel(
            handle(function),
            geometry,
            &LIMITS,
            handle(stream),
            parameters.cast_const(),
        )
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
    blocks: *mut c_int,
    function: hipFunction_t,
    block_size: c_int,
    shared_bytes: usize,
) -> hipError_t {
    // SAFETY: the C interface requires this output pointer to be null or valid for a write.
    answer(|state| unsafe {
        put(blocks, state.resident_blocks(handle(function), block_size, shared_bytes)?)
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipFuncGetAttribute(
    value: *mut c_int,
    number: c_int,
    function: hipFunction_t,
) -> hipError_t {
    // SAFETY: the C interface requires this output pointer to be null or valid for a write.
    answer(|state| unsafe { put(value, state.function_attribute(handle(function), number)?) })
}
