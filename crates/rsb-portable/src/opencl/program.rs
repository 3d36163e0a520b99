//! OpenCL programs. Each is compiled by the device's driver from one source file for one data type.
//! Drivers cache the results themselves.

use std::ffi::{CString, c_char};
use std::rc::Rc;

use rsb_model::{Dtype, Reason};

use super::api::{Object, ask};
use super::core::Core;
use super::platform::Presence;
use super::runtime::{ClError, Runtime, call, create};
use crate::portable::{Module, unsupported_error};
use rsb_device::device::DeviceError;

/// A built program.
pub(super) struct Program {
    core: Rc<Core>,
    object: Object,
}

macro_rules! source {
    ($file:literal) => {
        concat!(
            include_str!("../../kernels/opencl/prelude.cl"),
            include_str!(concat!("../../kernels/opencl/", $file))
        )
    };
}

/// Returns the whole source, including the prelude.
pub(super) const fn source(module: Module) -> &'static str {
    match module {
        Module::Memory => source!("memory.cl"),
        Module::Elementwise => source!("elementwise.cl"),
        Module::Reduce => source!("reduce.cl"),
        Module::Normalize => source!("normalize.cl"),
        Module::Convolution => source!("convolution.cl"),
        Module::Gemm => source!("gemm.cl"),
        Module::Quantized => source!("quantized.cl"),
        Module::Peak => source!("peak.cl"),
    }
}

impl Program {
    /// Builds `module` for `dtype`.
    pub(super) fn build(
        core: &Rc<Core>,
        module: Module,
        dtype: Dtype,
    ) -> Result<Rc<Self>, DeviceError> {
        check_type(core, module, dtype)?;
        let text = source(module);
        let (pointer, length): (*const c_char, usize) = (text.as_ptr().cast(), text.len());
        // SAFETY: the context is live; one source is passed with its length.
        let object = unsafe {
            create!(
                core.runtime,
                clCreateProgramWithSource(core.context, 1, &raw const pointer, &raw const length)
            )
        }?;
        let program = Self { core: Rc::clone(core), object };
        let options = CString::new(options(core, dtype)).unwrap_or_default();
        let (device, none) = (core.device, std::ptr::null_mut());
        // SAFETY: the program is live, there is one device, the options are null-terminated, and no
        // callback is passed.
        let built = unsafe {
            call!(
                core.runtime,
                clBuildProgram(object, 1, &raw const device, options.as_ptr(), none, none)
            )
        };
        match built {
            Ok(()) => Ok(Rc::new(program)),
            Err(error) => Err(DeviceError::Failed(Reason::new(
                format!("compilation of {}.cl for {dtype}", module.stem()),
                format!("{}: {}", Reason::from(error).why, first_lines(&program.log())),
                "update the driver; if it is up to date, report this with the message above",
            ))),
        }
    }

    /// Returns the compiler's output.
    fn log(&self) -> String {
        let core = &self.core;
        let log = Runtime::text(|size, value, needed| {
            let name = ask::PROGRAM_BUILD_LOG;
            // SAFETY: the program and the device are live, and the pointer is null or to a buffer
            // of the given size.
            unsafe {
                call!(
                    core.runtime,
                    clGetProgramBuildInfo(self.object, core.device, name, size, value, needed)
                )
            }
        });
        log.unwrap_or_default()
    }

    /// Creates an instance of the kernel `name`, which has separate arguments.
    pub(super) fn kernel(self: &Rc<Self>, name: &str) -> Result<Kernel, DeviceError> {
        let text = CString::new(name).unwrap_or_default();
        // SAFETY: the program is built, and the name is null-terminated.
        let object =
            unsafe { create!(self.core.runtime, clCreateKernel(self.object, text.as_ptr())) }?;
        Ok(Kernel { program: Rc::clone(self), object })
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: the program was created by clCreateProgramWithSource, and nothing else releases
        // it.
        let _ = unsafe { call!(self.core.runtime, clReleaseProgram(self.object)) };
    }
}

/// A kernel, which keeps its program alive.
pub(super) struct Kernel {
    program: Rc<Program>,
    pub(super) object: Object,
}

impl Kernel {
    pub(super) fn core(&self) -> &Rc<Core> {
        &self.program.core
    }

    /// Returns the maximum number of work-items per group for this kernel on its device.
    pub(super) fn most_items(&self) -> Result<usize, ClError> {
        let core = self.core();
        let (mut most, name) = (0_usize, ask::KERNEL_WORK_GROUP_SIZE);
        let value = (&raw mut most).cast();
        // SAFETY: the kernel and the device are live, and the pointer is to a live variable of the
        // given size.
        unsafe {
            call!(
                core.runtime,
                clGetKernelWorkGroupInfo(
                    self.object,
                    core.device,
                    name,
                    size_of::<usize>(),
                    value,
                    std::ptr::null_mut()
                )
            )
        }?;
        Ok(most)
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        // SAFETY: the kernel was created by clCreateKernel, and nothing else releases it.
        let _ = unsafe { call!(self.core().runtime, clReleaseKernel(self.object)) };
    }
}

/// Checks that the device supports arithmetic in `dtype`. Every device can load and store f16, but
/// f16 and f64 arithmetic are extensions.
fn check_type(core: &Core, module: Module, dtype: Dtype) -> Result<(), DeviceError> {
    let extension = match dtype {
        Dtype::F64 if core.limits.f64 == Presence::No => "cl_khr_fp64",
        Dtype::F16 if core.limits.f16 == Presence::No && module == Module::Peak => "cl_khr_fp16",
        _ => return Ok(()),
    };
    Err(unsupported_error(
        &format!("arithmetic in {dtype}"),
        format!("this device lacks {extension}"),
        "choose another data type, or another device",
    ))
}

fn options(core: &Core, dtype: Dtype) -> String {
    let [f64, f32, f16] = core.limits.widths;
    let width = match dtype {
        Dtype::F64 => f64,
        Dtype::F16 => f16,
        _ => f32,
    };
    format!("-cl-std=CL1.2 -DRSB_{} -DRSB_WIDTH={width}", dtype.as_str().to_ascii_uppercase())
}

fn first_lines(log: &str) -> String {
    log.lines().filter(|line| !line.trim().is_empty()).take(4).collect::<Vec<_>>().join(" / ")
}
