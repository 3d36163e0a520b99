//! Types shared by all kernels: tile and block sizes, tasks and scratch memory.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use rsb_device::operation::Gemm;
use rsb_model::Dtype;

use crate::micro_kernel::{MicroKernel, NC};
use crate::pack::{PackSource, Packing};
use crate::partition::OutputBlock;
use crate::simd::MAX_LANES;

/// Maximum rows for which vector kernels leave B unpacked if B is transposed (each column
/// contiguous along the depth), since packing would take longest.
pub(super) const MAX_SKINNY_ROWS: usize = 48;
/// Same limit for kernels with matrix tiles.
const MAX_SKINNY_ROWS_OF_TILES: usize = 128;
/// Same limit if B is not transposed (rows contiguous).
const MAX_SKINNY_ROWS_ACROSS: usize = 10;

/// Addresses of the matrices of a product, at the positions of [`Gemm::layouts`].
#[derive(Debug, Clone, Copy)]
pub struct Matrices {
    /// The first element of A.
    pub a: *const c_void,
    /// The first element of B.
    pub b: *const c_void,
    /// The first element of C.
    pub c: *mut c_void,
}

// SAFETY: holds only addresses; the unsafe functions that dereference them state the requirements.
unsafe impl Send for Matrices {}
// SAFETY: as above.
unsafe impl Sync for Matrices {}

/// Function that computes the sums of a block of C.
pub(super) type GemmFn = unsafe fn(&GemmTask<'_>, &mut Scratch);

/// A kernel for one data type and one instruction set.
#[derive(Clone, Copy)]
pub(super) struct GemmKernel {
    /// Provider name including the instruction set.
    pub(super) name: &'static str,
    /// GEMM loop with packed panels.
    pub(super) blocked: GemmFn,
    /// Kernel for few rows, if there is one for the instruction set.
    pub(super) skinny: Option<SkinnyGemm>,
    /// Rows of a tile.
    pub(super) mr: usize,
    /// Columns of a tile.
    pub(super) nr: usize,
    /// Rows of a block of A.
    mc: usize,
    /// Words in the depth of a block.
    kc: usize,
    /// Elements of A per word.
    group: usize,
    /// Depth is padded to a multiple of this number of words.
    step: usize,
}

impl GemmKernel {
    pub(super) const fn new<M: MicroKernel>(
        name: &'static str,
        blocked: GemmFn,
        skinny: Option<SkinnyGemm>,
    ) -> Self {
        Self {
            name,
            blocked,
            skinny,
            mr: M::MR,
            nr: M::NR,
            mc: M::MC,
            kc: M::KC,
            group: <M::A as Packing>::GROUP,
            step: M::STEP,
        }
    }

    /// Returns the number of words for `depth` elements, rounded up to whole steps.
    fn words(&self, depth: usize) -> usize {
        depth.div_ceil(self.group).next_multiple_of(self.step)
    }
}

/// A kernel for products with few rows that reads B without packing it.
#[derive(Clone, Copy)]
pub(super) struct SkinnyGemm {
    pub(super) run: GemmFn,
    /// Elements of A per word.
    group: usize,
    /// Maximum rows for which it is faster if B is transposed.
    max_rows: usize,
}

impl SkinnyGemm {
    /// Creates a kernel that uses vector instructions.
    pub(super) const fn of_vectors(run: GemmFn, group: usize) -> Self {
        Self { run, group, max_rows: MAX_SKINNY_ROWS }
    }

    /// Creates a kernel that uses matrix tiles, which is faster up to more rows.
    pub(super) const fn of_tiles(run: GemmFn, group: usize) -> Self {
        Self { run, group, max_rows: MAX_SKINNY_ROWS_OF_TILES }
    }

    /// Returns whether a product with `rows` rows is faster without packing B.
    pub(super) fn is_faster(&self, rows: usize, op: &Gemm) -> bool {
        rows <= if op.transpose_b { self.max_rows } else { MAX_SKINNY_ROWS_ACROSS }
    }
}

/// Returns the scratch words reserved for a row of A with `words` words. The padding is zero.
pub(super) fn padded_words(words: usize) -> usize {
    words.next_multiple_of(MAX_LANES)
}

/// Scratch memory of one thread.
pub(super) struct Scratch {
    /// Whether all blocks of this thread have few rows, so that B is not packed.
    pub(super) is_skinny: bool,
    /// Packed panels of A.
    pub(super) a: Vec<CacheLine>,
    /// Packed panels of B.
    pub(super) b: Vec<CacheLine>,
    /// Row-major sums, used if they are not written directly to C.
    pub(super) sums: Vec<CacheLine>,
    /// Buffer for partial tiles at the edge of C.
    pub(super) tile: Vec<CacheLine>,
    /// Initial sums for each column of a panel of B.
    pub(super) initial: Vec<CacheLine>,
}

impl Scratch {
    /// Allocates scratch memory for blocks of up to `rows` × `columns`. Returns `None` if the
    /// allocation fails.
    pub(super) fn new(kernel: &GemmKernel, op: &Gemm, rows: usize, columns: usize) -> Option<Self> {
        let depth = op.k as usize;
        let words = kernel.words(depth).min(kernel.kc);
        let panels = |block: usize, count: usize, tile: usize| {
            lines(block.min(count.next_multiple_of(tile)).next_multiple_of(tile) * words)
        };
        let skinny = kernel.skinny.filter(|skinny| skinny.is_faster(rows, op));
        Some(Self {
            is_skinny: skinny.is_some(),
            a: match skinny {
                Some(skinny) => lines(
                    rows.next_multiple_of(kernel.mr) * padded_words(depth.div_ceil(skinny.group)),
                ),
                None => panels(kernel.mc, rows, kernel.mr),
            }?,
            b: if skinny.is_some() { lines(0) } else { panels(NC, columns, kernel.nr) }?,
            sums: lines(if writes_sums(op) { 0 } else { rows * columns })?,
            tile: lines(kernel.mr * kernel.nr)?,
            initial: lines(kernel.nr)?,
        })
    }
}

/// A cache line of 16 words.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct CacheLine(#[allow(dead_code)] pub(super) [u32; 16]);

/// Allocates `words` zeros, rounded up to whole cache lines. Returns `None` if the allocation
/// fails.
fn lines(words: usize) -> Option<Vec<CacheLine>> {
    let mut lines = Vec::new();
    let count = words.div_ceil(16);
    lines.try_reserve_exact(count).ok()?;
    advise_huge_pages(lines.spare_capacity_mut());
    lines.resize(count, CacheLine([0; 16]));
    Some(lines)
}

/// Requests huge pages for `memory` if it is large enough. The system may refuse.
fn advise_huge_pages<T>(memory: &mut [MaybeUninit<T>]) {
    #[cfg(target_os = "linux")]
    {
        use rustix::mm::{Advice, madvise};
        const PAGE: usize = 4096;
        const HUGE_PAGE: usize = 2 << 20;
        if size_of_val(memory) < HUGE_PAGE {
            return;
        }
        let start = memory.as_mut_ptr().cast::<u8>();
        let skipped = start.align_offset(PAGE);
        let bytes = (size_of_val(memory) - skipped) / PAGE * PAGE;
        // SAFETY: the range covers whole pages inside the allocation; the advice changes only their
        // page size.
        let _ =
            unsafe { madvise(start.wrapping_add(skipped).cast(), bytes, Advice::LinuxHugepage) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}

/// Returns whether C stores plain sums, so that kernels write to it directly.
pub(super) fn writes_sums(op: &Gemm) -> bool {
    (op.alpha, op.beta) == (1.0, 0.0) && matches!(op.output_dtype(), Dtype::F32 | Dtype::I32)
}

/// One block of C to compute.
pub(super) struct GemmTask<'p> {
    pub(super) block: &'p OutputBlock,
    pub(super) op: Gemm,
    /// First byte of A and B of this batch.
    a: *const u8,
    b: *const u8,
    /// First sum of the block in C.
    pub(super) c: *mut u32,
    /// Words between rows of C.
    pub(super) stride: usize,
}

impl<'p> GemmTask<'p> {
    /// Creates the task for `block`.
    ///
    /// # Safety
    /// The matrices have the dimensions of `op`, and `block` is within C.
    pub(super) unsafe fn new(op: &Gemm, matrices: &Matrices, block: &'p OutputBlock) -> Self {
        let (op, batch) = (*op, block.batch as u64);
        let width = op.dtype.bytes(1);
        let [a, b, c] = op.layouts();
        let first = c.position(batch, block.rows.start as u64, block.columns.start as u64);
        // SAFETY: the caller guarantees that the block is within this batch.
        unsafe {
            Self {
                block,
                op,
                a: matrices.a.cast::<u8>().add((a.position(batch, 0, 0) * width) as usize),
                b: matrices.b.cast::<u8>().add((b.position(batch, 0, 0) * width) as usize),
                c: matrices.c.cast::<u32>().wrapping_add(first as usize),
                stride: c.leading as usize,
            }
        }
    }

    /// Returns the rows of A as lanes.
    pub(super) fn a<E>(&self) -> PackSource<E> {
        let [layout, _, _] = self.op.layouts();
        let leading = layout.leading as usize;
        let (lane, step) = if self.op.transpose_a { (1, leading) } else { (leading, 1) };
        PackSource { start: self.a.cast(), lane, step, depth: self.op.k as usize }
    }

    /// Returns the columns of B as lanes.
    pub(super) fn b<E>(&self) -> PackSource<E> {
        let [_, layout, _] = self.op.layouts();
        let leading = layout.leading as usize;
        let (lane, step) = if self.op.transpose_b { (leading, 1) } else { (1, leading) };
        PackSource { start: self.b.cast(), lane, step, depth: self.op.k as usize }
    }
}
