//! Kernel dispatcher: one kernel per operation, bound to its memory and its thread pool.
#![allow(unsafe_code)]

mod attention;
mod chase;
mod convolution;
mod elementwise;
mod gemm;
mod heap;
mod maths;
mod normalize;
mod peak;
mod quantized;
mod rearrange;
mod reduce;
mod stream;
mod vector;
mod whole;

use std::rc::Rc;

use crate::kernel::{Bound, unsupported_error};
use crate::memory::Memory;
use crate::thread_pool::ThreadPool;
use rsb_device::device::{DeviceError, Kernel, Options};
use rsb_device::operation::Operation;
pub(super) use stream::evict;

/// Returns the kernel of `operation`, bound to `memories` and `pool`.
///
/// # Errors
/// If the CPU has no kernel for the operation, or if the kernel cannot allocate memory.
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
            "on the CPU, only matrix products have providers to choose from",
            "omit the provider",
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
                "the CPU has no separate memory to transfer to and no kernel launches",
                "measure it on a GPU, with --backend rocm",
            ));
        }
    };
    Ok(Box::new(kernel))
}
