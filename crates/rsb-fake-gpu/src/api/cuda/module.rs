//! Code objects, kernels and their launches.

use std::ffi::{c_char, c_int, c_uint, c_void};

use cuda_sys::{CUfunction, CUmodule, CUresult, CUstream};

use super::{handle, in_context, put, put_handle};
use crate::ops::{Geometry, Limits};

/// Shared memory per block that a kernel can use without opting in to more.
pub(super) const SHARED_BYTES: c_int = 48 << 10;

/// Launch limits from the table of compute capabilities in the CUDA programming guide; unchanged
/// since compute capability 5.0.
const LIMITS: Limits = Limits {
    grid: [i32::MAX as u32, 65_535, 65_535],
    threads: u64::MAX,
    block: [1024, 1024, 64],
    shared_bytes: SHARED_BYTES.cast_unsigned(),
};

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuModuleLoadData(
    module: *mut CUmodule,
    image: *const c_void,
) -> CUresult {
    // SAFETY: the C interface requires `image` to be null or a complete code object, and `module`
    // to be null or valid for a write.
    in_context(|state| unsafe { put_handle(module, state.load_image(image)?) })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuModuleUnload(module: CUmodule) -> CUresult {
    in_context(|state| state.modules.remove(handle(module)).map(drop))
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuModuleGetFunction(
    function: *mut CUfunction,
    module: CUmodule,
    name: *const c_char,
) -> CUresult {
    // SAFETY: the C interface requires `name` to be null or zero-terminated, and `function` to be
    // null or valid for a write.
    in_context(|state| unsafe { put_handle(function, state.kernel(handle(module), name)?) })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuLaunchKernel(
    function: CUfunction,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared_bytes: c_uint,
    stream: CUstream,
    parameters: *mut *mut c_void,
    _extra: *mut *mut c_void,
) -> CUresult {
    let geometry = Geometry {
        grid: [grid_x, grid_y, grid_z],
        block: [block_x, block_y, block_z],
        shared_bytes,
    };
    // SAFETY: the C interface requires `parameters` to be null or an array with one pointer per
    // kernel parameter; every parameter of these kernels has 8 bytes.
    in_context(|state| unsafe {
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
pub(crate) unsafe extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    blocks: *mut c_int,
    function: CUfunction,
    block_size: c_int,
    shared_bytes: usize,
) -> CUresult {
    // SAFETY: the C interface requires this output pointer to be null or valid for a write.
    in_context(|state| unsafe {
        put(blocks, state.resident_blocks(handle(function), block_size, shared_bytes)?)
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuFuncGetAttribute(
    value: *mut c_int,
    number: c_int,
    function: CUfunction,
) -> CUresult {
    // SAFETY: the C interface requires this output pointer to be null or valid for a write.
    in_context(|state| unsafe { put(value, state.function_attribute(handle(function), number)?) })
}
