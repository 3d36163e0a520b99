//! CPU GEMM for f32, f16, bf16 and i8, using the widest vector or matrix units of the CPU.
//!
//! The loop structure follows Goto and BLIS: blocks of A (MC × KC) and B (KC × NC) are packed into
//! panels that stay in cache, and a microkernel keeps a tile of C (MR × NR) in registers. C is
//! divided among threads, and each thread packs the blocks it needs. Products with few rows read B
//! without packing it.
//!
//! Modules from bottom to top: [`convert`], `simd` (vector units), `pack` (panels), `micro_kernel`
//! (tiles), `amx` and `fp16` (specialized microkernels), `blocked` and `skinny` (loops), `dispatch`
//! (kernel table).
//!
//! ```
//! use rsb_device::operation::Gemm;
//! use rsb_gemm::{Matrices, PreparedGemm};
//! use rsb_model::Dtype;
//!
//! let (a, b, mut c) = ([1.0_f32, 2.0, 3.0, 4.0], [0.0_f32, 1.0, 1.0, 0.0], [0.0_f32; 4]);
//! let prepared = PreparedGemm::new("native", Gemm::new(Dtype::F32, 2, 2, 2), 1)?;
//! let matrices =
//!     Matrices { a: a.as_ptr().cast(), b: b.as_ptr().cast(), c: c.as_mut_ptr().cast() };
//! // SAFETY: three matrices of 2 × 2, and C is used nowhere else.
//! unsafe { prepared.compute(0, &matrices) };
//! assert_eq!(c, [2.0, 1.0, 4.0, 3.0]);
//! # Ok::<(), rsb_gemm::GemmError>(())
//! ```
#![allow(unsafe_code)]
// A function without target features is compiled with a CPU's instructions only if it is inlined
// into a function that enables them.
#![allow(clippy::inline_always)]

#[cfg(target_arch = "x86_64")]
pub mod amx;
mod blocked;
pub mod convert;
mod dispatch;
mod epilogue;
#[cfg(target_arch = "x86_64")]
mod fp16;
mod kernel;
mod micro_kernel;
mod pack;
mod partition;
mod simd;
mod skinny;

use std::sync::Mutex;

use rsb_device::operation::Gemm;
use rsb_model::Reason;

pub use dispatch::{F16_SUMS, PROVIDERS, check, reads_b_once};
pub use kernel::Matrices;

use kernel::{GemmKernel, GemmTask, Scratch};
use partition::{OutputBlock, partition};

/// Reason why a product cannot be prepared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GemmError {
    /// The provider has no kernel for the product on this CPU.
    #[error("{0}")]
    Unsupported(Reason),
    /// Memory for packed panels and sums could not be allocated.
    #[error("not enough memory to pack {bytes} bytes")]
    OutOfMemory {
        /// Size of the larger of A and B, in bytes, with f32 elements.
        bytes: u64,
    },
}

/// A product with its kernel, its partition among threads, and the scratch memory of each thread.
pub struct PreparedGemm {
    op: Gemm,
    kernel: GemmKernel,
    /// Work of each thread.
    work: Vec<ThreadWork>,
}

/// The blocks of C that one thread computes.
struct ThreadWork {
    blocks: Vec<OutputBlock>,
    scratch: Mutex<Scratch>,
}

impl PreparedGemm {
    /// Prepares `op` with kernel provider `provider`, one of [`PROVIDERS`], for `threads` threads.
    ///
    /// # Errors
    /// If the provider has no kernel for `op` on this CPU, or if memory for packing A and B cannot
    /// be allocated.
    pub fn new(provider: &str, op: Gemm, threads: usize) -> Result<Self, GemmError> {
        let kernel = dispatch::find(provider, &op).map_err(GemmError::Unsupported)?;
        Self::with_kernel(kernel, op, threads)
    }

    fn with_kernel(kernel: GemmKernel, op: Gemm, threads: usize) -> Result<Self, GemmError> {
        let mut work = Vec::new();
        for blocks in partition(&op, threads, kernel.mr, kernel.nr) {
            let (mut rows, mut columns) = (0, 0);
            for block in &blocks {
                rows = block.rows.len().max(rows);
                columns = block.columns.len().max(columns);
            }
            let Some(scratch) = Scratch::new(&kernel, &op, rows, columns) else {
                let bytes = op.k.saturating_mul(4 * op.m.max(op.n));
                return Err(GemmError::OutOfMemory { bytes });
            };
            work.push(ThreadWork { blocks, scratch: Mutex::new(scratch) });
        }
        Ok(Self { op, kernel, work })
    }

    /// Returns the name of the kernel, such as `native-avx512`.
    pub fn name(&self) -> &'static str {
        self.kernel.name
    }

    /// Computes the blocks of C assigned to `thread`, a number below the thread count passed to
    /// [`Self::new`]. C is complete when the calls of all threads have returned.
    ///
    /// # Safety
    /// The matrices have the layouts of the operation, which passes [`Gemm::check_layouts`], and
    /// outlive the call. C overlaps neither A nor B, and nothing else uses it until all threads
    /// have returned.
    pub unsafe fn compute(&self, thread: usize, matrices: &Matrices) {
        let Some(work) = self.work.get(thread) else { return };
        let Ok(mut scratch) = work.scratch.lock() else { return };
        let run = match self.kernel.skinny {
            Some(skinny) if scratch.is_skinny => skinny.run,
            _ => self.kernel.blocked,
        };
        for block in &work.blocks {
            // SAFETY: blocks are within the matrices and disjoint; dispatch checked that this CPU
            // supports the kernel; the caller guarantees the rest.
            unsafe {
                run(&GemmTask::new(&self.op, matrices, block), &mut scratch);
                epilogue::finish(&self.op, matrices, block, &scratch);
            }
        }
    }
}

#[cfg(test)]
mod tests;
