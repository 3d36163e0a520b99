//! One kernel for each operation, bound to its memory and its thread pool.
#![allow(unsafe_code)]

mod attention;
mod chase;
mod convolution;
mod elementwise;
mod maths;
mod normalize;
mod peak;
mod quantized;
mod rearrange;
mod reduce;
pub(crate) mod sixteen;
mod span;
mod stream;
mod vector;
mod whole;

use std::rc::Rc;

use rsb_model::{Dtype, Reason};

use super::memory::Memory;
use super::thread_pool::ThreadPool;
use super::{gemm, heap};
use rsb_device::convert::HalfFormat;
use rsb_device::device::{DeviceError, Kernel, Options};
use rsb_device::operation::Operation;
pub(super) use span::Span;
pub(super) use stream::evict;

/// What every kernel is bound to.
pub(super) struct Bound {
    memories: Vec<Rc<Memory>>,
    pub(super) pool: Rc<ThreadPool>,
}

impl Bound {
    /// Buffer `index`. The kernel that asks keeps `self`, and with it the memory.
    pub(super) fn span(&self, index: usize) -> Span {
        self.memories.get(index).map_or(Span::EMPTY, |memory| Span::of(memory))
    }
}

/// A kernel as a closure over what it is bound to.
pub(super) struct CpuKernel {
    work: Box<dyn FnMut() -> Result<(), DeviceError>>,
    provider: String,
}

impl CpuKernel {
    pub(super) fn new(
        provider: impl Into<String>,
        work: impl FnMut() -> Result<(), DeviceError> + 'static,
    ) -> Self {
        Self { work: Box::new(work), provider: provider.into() }
    }

    /// One of our own kernels, which cannot fail once it is bound.
    pub(super) fn native(mut work: impl FnMut() + 'static) -> Self {
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
        if self.provider == crate::matrix::SHORT_SUMS { Some(Dtype::F16) } else { None }
    }
}

/// Binds the kernel of `operation`.
pub(super) fn prepare(
    operation: &Operation,
    options: &Options,
    memories: Vec<Rc<Memory>>,
    pool: Rc<ThreadPool>,
) -> Result<Box<dyn Kernel>, DeviceError> {
    let bound = Bound { memories, pool };
    if let (Some(provider), false) = (&options.provider, matches!(operation, Operation::Gemm(_))) {
        return Err(unsupported_error(
            format!("{} by {provider}", operation.name()),
            "on the CPU only matrix products have a choice of providers",
            "leave the provider out",
        ));
    }
    let kernel = match operation {
        Operation::Stream(op) => stream::kernel(op, bound)?,
        Operation::PointerChase(op) => chase::kernel(op, bound),
        Operation::Elementwise(op) => elementwise::kernel(op, bound)?,
        Operation::Reduce(op) => reduce::kernel(op, bound)?,
        Operation::Normalize(op) => normalize::kernel(op, bound)?,
        Operation::Attention(op) => attention::kernel(*op, bound)?,
        Operation::Rearrange(op) => rearrange::kernel(*op, bound)?,
        Operation::Gather(op) => rearrange::gather(*op, bound)?,
        Operation::Convolution(op) => convolution::kernel(op, bound)?,
        Operation::Gemm(op) => gemm::kernel(op, options, bound)?,
        Operation::Quantized(op) => quantized::kernel(*op, bound)?,
        Operation::PeakArithmetic(op) => peak::kernel(op, bound)?,
        Operation::Allocate(op) => heap::allocate_kernel(*op),
        Operation::Churn(op) => heap::churn_kernel(*op, bound)?,
        Operation::Transfer(_) | Operation::Launch(_) => {
            return Err(unsupported_error(
                operation.name(),
                "the CPU works in its own memory and has no launches",
                "measure it on a GPU, with --backend rocm",
            ));
        }
    };
    Ok(Box::new(kernel))
}

/// The widest version that the kernels choose here.
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

pub(super) fn unsupported_error(
    what: impl Into<String>,
    why: impl Into<String>,
    cure: &str,
) -> DeviceError {
    DeviceError::Unsupported(Reason::new(what, why, cure))
}

/// How numbers of 16 bits lie in memory, or nothing for f32: the types that are computed in f32.
pub(super) fn format_of(operation: &str, dtype: Dtype) -> Result<Option<HalfFormat>, DeviceError> {
    match dtype {
        Dtype::F32 => Ok(None),
        Dtype::F16 => Ok(Some(HalfFormat::F16)),
        Dtype::Bf16 => Ok(Some(HalfFormat::Bf16)),
        other => Err(no_kernel(operation, other, "f32, f16 and bf16")),
    }
}

/// For the data types that an operation has no kernel for.
pub(super) fn no_kernel(operation: &str, dtype: Dtype, there_are: &str) -> DeviceError {
    unsupported_error(
        format!("{operation} of {dtype}"),
        format!("the CPU has kernels for {there_are}"),
        "choose one of these data types",
    )
}
