//! Common parts of the CPU kernels: memory, threads and errors.

use std::rc::Rc;

use rsb_model::{Dtype, Reason};

use crate::memory::Memory;
use crate::span::Span;
use crate::thread_pool::ThreadPool;
use rsb_device::convert::HalfFormat;
use rsb_device::device::{DeviceError, Kernel};

/// Memory and threads of a kernel.
pub(crate) struct Bound {
    pub(crate) memories: Vec<Rc<Memory>>,
    pub(crate) pool: Rc<ThreadPool>,
}

impl Bound {
    /// Returns buffer `index`, or an empty span. The memory lives as long as `self`.
    pub(crate) fn span(&self, index: usize) -> Span {
        self.memories.get(index).map_or(Span::EMPTY, |memory| Span::of(memory))
    }
}

/// A kernel as a closure that owns its [`Bound`].
pub(crate) struct CpuKernel {
    work: Box<dyn FnMut() -> Result<(), DeviceError>>,
    provider: String,
}

impl CpuKernel {
    pub(crate) fn new(
        provider: impl Into<String>,
        work: impl FnMut() -> Result<(), DeviceError> + 'static,
    ) -> Self {
        Self { work: Box::new(work), provider: provider.into() }
    }

    /// Creates a kernel of this crate, which cannot fail once it is bound.
    pub(crate) fn native(mut work: impl FnMut() + 'static) -> Self {
        Self::new(native_name(), move || {
            work();
            Ok(())
        })
    }
}

impl Kernel for CpuKernel {
    fn launch(&mut self) -> Result<(), DeviceError> {
        (self.work)()
    }

    fn provider(&self) -> String {
        self.provider.clone()
    }

    fn sums_in(&self) -> Option<Dtype> {
        if self.provider == rsb_gemm::F16_SUMS { Some(Dtype::F16) } else { None }
    }
}

/// Returns the name of the widest instruction set that the kernels use on this CPU.
fn native_name() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f")
            && std::arch::is_x86_feature_detected!("avx512bw")
        {
            return "native-avx512";
        }
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
        {
            return "native-avx2";
        }
    }
    "native"
}

pub(crate) fn unsupported_error(
    what: impl Into<String>,
    why: impl Into<String>,
    cure: &str,
) -> DeviceError {
    DeviceError::Unsupported(Reason::new(what, why, cure))
}

/// Returns the 16-bit format of `dtype`, or `None` for f32.
///
/// # Errors
/// If `dtype` is not computed in f32.
pub(crate) fn format_of(operation: &str, dtype: Dtype) -> Result<Option<HalfFormat>, DeviceError> {
    match dtype {
        Dtype::F32 => Ok(None),
        Dtype::F16 => Ok(Some(HalfFormat::F16)),
        Dtype::Bf16 => Ok(Some(HalfFormat::Bf16)),
        other => Err(no_kernel(operation, other, "f32, f16 and bf16")),
    }
}

/// Returns the error for a data type without a kernel.
pub(crate) fn no_kernel(operation: &str, dtype: Dtype, there_are: &str) -> DeviceError {
    unsupported_error(
        format!("{operation} of {dtype}"),
        format!("the CPU has kernels for {there_are}"),
        "choose one of these data types",
    )
}
