//! Heap benchmarks: the cost of large blocks, and the memory held after many replacements.
//!
//! They measure the global allocator of the program.

#![allow(unsafe_code)]

use std::hint::black_box;
use std::rc::Rc;

use crate::kernel::{Bound, CpuKernel, unsupported_error};
use crate::memory::refused_memory;
use rsb_device::device::DeviceError;
use rsb_device::operation::{Allocate, Churn, Touch};

pub(super) fn allocate_kernel(op: Allocate) -> CpuKernel {
    CpuKernel::new("allocator", move || {
        let bytes = op.bytes as usize;
        let mut block = Vec::<u8>::new();
        block.try_reserve_exact(bytes).map_err(|_| refused_memory(op.bytes))?;
        if op.touch == Touch::Written {
            block.resize(bytes, 1);
        }
        // Prevents the compiler from removing an unused allocation.
        black_box(block.as_mut_ptr());
        Ok(())
    })
}

pub(super) fn churn_kernel(op: Churn, bound: Bound) -> Result<CpuKernel, DeviceError> {
    let result = bound.span(0);
    let steps: Rc<[_]> = op.steps().collect();
    let mut slots: Vec<Vec<u8>> = vec![Vec::new(); op.slots()];
    give_back_what_is_free();
    let Some(before) = resident_bytes() else {
        return Err(unsupported_error(
            "memory-fragmentation",
            "this system does not report the memory of a process",
            "run it on Linux with /proc mounted",
        ));
    };
    Ok(CpuKernel::new("allocator", move || {
        let _keeps_the_buffer = &bound;
        for step in steps.iter() {
            let Some(slot) = slots.get_mut(step.slot) else { continue };
            // The old block is freed first, as in a program that replaces a tensor.
            *slot = Vec::new();
            slot.try_reserve_exact(step.bytes).map_err(|_| refused_memory(step.bytes as u64))?;
            touch_pages(slot);
        }
        let live: usize = slots.iter().map(Vec::capacity).sum();
        let held = resident_bytes().unwrap_or(0).saturating_sub(before);
        for slot in &mut slots {
            *slot = Vec::new();
        }
        // SAFETY: the result is a buffer of two f64, kept by `bound`, and only this thread uses it.
        let result = unsafe { result.slice_mut::<f64>(&(0..2)) };
        result.copy_from_slice(&[held as f64, live as f64]);
        Ok(())
    }))
}

/// Writes to every page of a block; untouched pages would not be resident.
fn touch_pages(block: &mut Vec<u8>) {
    const PAGE: usize = 4096;
    for byte in block.spare_capacity_mut().iter_mut().step_by(PAGE) {
        byte.write(1);
    }
    black_box(block.as_mut_ptr());
}

/// Returns the resident memory of this process in bytes.
#[cfg(target_os = "linux")]
fn resident_bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

#[cfg(not(target_os = "linux"))]
fn resident_bytes() -> Option<u64> {
    None
}

/// Makes the C library release free pages, if it supports that, so that earlier allocations are not
/// counted.
fn give_back_what_is_free() {
    #[cfg(target_os = "linux")]
    {
        type Trim = unsafe extern "C" fn(usize) -> std::ffi::c_int;
        let program = libloading::os::unix::Library::this();
        // SAFETY: `malloc_trim` has this signature in every C library that provides it, and any
        // argument is valid.
        unsafe {
            if let Ok(trim) = program.get::<Trim>(b"malloc_trim\0") {
                trim(0);
            }
        }
    }
}
