//! Code objects, kernels and their launches.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::Arc;

use hip_runtime_sys::{error, func_attribute, hipError_t, hipFunction_t, hipModule_t, hipStream_t};

use super::{handle, put};
use crate::image::Image;
use crate::kernels;
use crate::state::{answer, current};
use crate::task::Task;

/// What every kernel is said to need. A real compiler would tell.
const REGISTERS: c_int = 40;
const SHARED_BYTES: c_int = 2048;

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipModuleLoadData(module: *mut hipModule_t, image: *const c_void) -> hipError_t {
    answer(|state| {
        state.sound(current())?;
        // SAFETY: the caller gives a whole code object; those of this look-alike say how long they are.
        let image = unsafe { Image::read(image.cast()) }.ok_or(error::INVALID_IMAGE)?;
        if image.arch != state.model.arch {
            return Err(error::NO_BINARY_FOR_GPU);
        }
        let made = state.modules.add(image);
        // SAFETY: the caller gives room for one, or null.
        unsafe { put(module, made as hipModule_t) }
    })
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
    answer(|state| {
        if name.is_null() {
            return Err(error::INVALID_VALUE);
        }
        // SAFETY: the caller gives a text that ends with a zero.
        let symbol = unsafe { CStr::from_ptr(name) }.to_str().map_err(|_| error::NOT_FOUND)?;
        let image = state.modules.get(handle(module))?;
        let Some((twin, _)) = kernels::find(symbol) else {
            eprintln!("rsb-lookalike: {symbol} has no twin in crates/rsb-lookalike/src/kernels");
            return Err(error::NOT_FOUND);
        };
        if !image.holds(symbol, twin.stem) {
            return Err(error::NOT_FOUND);
        }
        let made = state.functions.add(Arc::from(symbol));
        // SAFETY: the caller gives room for one, or null.
        unsafe { put(function, made as hipFunction_t) }
    })
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
    answer(|state| {
        let symbol = Arc::clone(state.functions.get(handle(function))?);
        let (twin, _) = kernels::find(&symbol).ok_or(error::NOT_FOUND)?;
        let threads = [block_x, block_y, block_z].iter().fold(1_u64, |all, &size| all.saturating_mul(u64::from(size)));
        if threads == 0 || threads > 1024 || [grid_x, grid_y, grid_z].contains(&0) || shared_bytes > 65_536 {
            return Err(error::INVALID_CONFIGURATION);
        }
        if parameters.is_null() && twin.parameters > 0 {
            return Err(error::INVALID_VALUE);
        }
        let argument = |index: usize| {
            // SAFETY: there is one pointer for each parameter of the kernel, to its 8 bytes, by the caller's promise.
            unsafe { (*parameters.add(index)).cast::<u64>().read_unaligned() }
        };
        let arguments = (0..twin.parameters).map(argument).collect();
        state.hand_over(handle(stream), Task::Kernel { symbol, arguments })
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
    blocks: *mut c_int,
    function: hipFunction_t,
    block_size: c_int,
    shared_bytes: usize,
) -> hipError_t {
    answer(|state| {
        state.functions.get(handle(function))?;
        let wavefront = state.model.wavefront.cast_signed();
        if !(1..=1024).contains(&block_size) {
            return Err(error::INVALID_VALUE);
        }
        // 2048 threads of whole wavefronts, 32 blocks, 64 KiB to share. So few registers never limit.
        let threads = (block_size + wavefront - 1) / wavefront * wavefront;
        let shared = c_int::try_from(shared_bytes).unwrap_or(c_int::MAX).saturating_add(SHARED_BYTES);
        let resident = (2048 / threads).min(65_536 / shared).min(32);
        // SAFETY: the caller gives room for one, or null.
        unsafe { put(blocks, resident) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipFuncGetAttribute(
    value: *mut c_int,
    number: c_int,
    function: hipFunction_t,
) -> hipError_t {
    answer(|state| {
        state.functions.get(handle(function))?;
        let found = match number {
            func_attribute::MAX_THREADS_PER_BLOCK => 1024,
            func_attribute::SHARED_SIZE_BYTES => SHARED_BYTES,
            func_attribute::LOCAL_SIZE_BYTES => 0,
            func_attribute::NUM_REGS => REGISTERS,
            _ => return Err(error::INVALID_VALUE),
        };
        // SAFETY: the caller gives room for one, or null.
        unsafe { put(value, found) }
    })
}
