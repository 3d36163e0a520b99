//! Code shared by the AMD and NVIDIA backends: one set of kernels, compiled at run time, planned,
//! launched and timed in the same way. Each backend is a `driver::Driver`: the calls of its
//! runtime, its compiler and its matrix product libraries.
//!
//! `plan` selects kernels from the table in [`catalog`] without accessing a device.
#![allow(unsafe_code)]

mod blas;
mod blas_lt;
mod cache;
mod calls;
pub mod catalog;
mod collective;
mod compile;
mod core;
mod device;
mod driver;
mod image;
mod launch;
mod launches;
pub(crate) mod link;
mod matrix;
mod memory;
mod module;
mod plan;
mod side;
mod stream;
mod transfer;

pub(crate) use blas::{BlasLibrary, BlasOffer, Product, Side};
pub(crate) use blas_lt::{LtBlas, LtCalls, LtNumbers, Plan, lt_calls};
pub(crate) use calls::{CallError, call, done, in_thread, made, number};
pub use compile::{Compiled, Source};
pub(crate) use compile::{Rtc, Toolchain, choose, file_identity, job as compile_job};
pub(crate) use core::Core;
pub use device::GpuDevice;
pub(crate) use driver::{
    Activation, Copy, CopyDirection, DeviceProperties, Driver, FunctionNeed, Handle, KernelLaunch,
    ThreadLaunch,
};
pub(crate) use image::Image;
pub use matrix::{matrix_dtypes, sparse_dtypes};

use rsb_model::{BackendId, Reason};
use runtime_loading::{MissingPart, Unavailable};
use std::io::Write as _;

use rsb_device::device::{Device, DeviceError, DeviceInfo};

/// Symbol that only the library of a fake GPU exports.
pub(crate) const FAKE_GPU: &str = "rsb_fake_gpu";

/// Lists the devices of a GPU backend from its initialized runtime. Skips GPUs that do not respond,
/// because they are lost or used exclusively by another program. If none responds, returns the
/// reason of the first one.
pub(crate) fn devices(driver: &dyn Driver) -> Result<Vec<DeviceInfo>, Reason> {
    let (mut found, mut mute) = (Vec::new(), Vec::new());
    for index in 0..driver.device_count()? {
        match driver.facts(ordinal(driver.backend(), index)?) {
            Ok(facts) => found.push(facts.info),
            Err(reason) => {
                // Errors are ignored, since standard error may be closed.
                let _ = writeln!(
                    std::io::stderr(),
                    "device {}:{index} is skipped: {reason}",
                    driver.backend()
                );
                mute.push(reason);
            }
        }
    }
    match mute.into_iter().next() {
        Some(reason) if found.is_empty() => Err(reason),
        _ => Ok(found),
    }
}

/// Opens the GPU at `index`.
pub(crate) fn open(driver: std::rc::Rc<dyn Driver>, index: u32) -> Result<Box<dyn Device>, Reason> {
    let (backend, count) = (driver.backend(), driver.device_count()?);
    if index >= count {
        return Err(Reason::new(
            format!("device {backend}:{index}"),
            format!("the devices here are {backend}:0 to {backend}:{}", count - 1),
            "choose one of them",
        ));
    }
    Ok(Box::new(GpuDevice::open(driver, ordinal(backend, index)?)?))
}

fn ordinal(backend: BackendId, index: u32) -> Result<i32, Reason> {
    i32::try_from(index).map_err(|_| {
        Reason::new(
            format!("device {backend}:{index}"),
            "the index is too large",
            "choose a smaller index",
        )
    })
}

/// Converts a missing library or function to the program's error type.
pub(crate) fn unavailable(missing: Unavailable) -> Reason {
    Reason::new(missing.what, missing.why, missing.cure)
}

/// Converts a missing part to an error: unsupported if a library is missing, failed if a library
/// lacks a function.
pub(crate) fn lacking(missing: Unavailable) -> DeviceError {
    match missing.lack {
        MissingPart::Library => DeviceError::Unsupported(unavailable(missing)),
        MissingPart::Function => DeviceError::Failed(unavailable(missing)),
    }
}

/// Returns the reason of a failed call, unsupported or failed.
pub(crate) fn reason(failed: DeviceError) -> Reason {
    match failed {
        DeviceError::Unsupported(reason) | DeviceError::Failed(reason) => reason,
    }
}
