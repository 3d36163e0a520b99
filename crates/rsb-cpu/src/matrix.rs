//! Products of matrices by kernels of our own: f32, f16, bf16 and i8, by the widest units that the
//! CPU has.
//!
//! The way of Goto and of BLIS: blocks of B and of A are packed into panels that lie in the second
//! cache, a panel of B stays in the first, and tiles of C in registers. Threads divide C, and each
//! packs what it needs itself.
#![allow(unsafe_code)]
// A function without a CPU's instructions takes part in one that is compiled for them only by
// becoming a part of it.
#![allow(clippy::inline_always)]

#[cfg(target_arch = "x86_64")]
pub(crate) mod amx;
mod block;
mod few;
#[cfg(target_arch = "x86_64")]
mod fp16;
mod pack;
mod share;
mod tile;
mod unit;
mod way;

use std::sync::Mutex;

use rsb_device::convert::HalfFormat;
use rsb_device::device::DeviceError;
use rsb_device::operation::Gemm;
use rsb_model::Dtype;

use super::gemm::Product;
use super::kernels::sixteen;
use super::thread_pool::ThreadPool;
use pack::Source;
use share::Part;
use way::GemmKernel;
pub(super) use way::{NAMES, SHORT_SUMS, check};

/// A product that is ready to run.
pub(super) struct PreparedGemm {
    product: Product,
    way: GemmKernel,
    /// What each thread does, and where.
    work: Vec<(Vec<Part>, Mutex<Scratch>)>,
}

impl PreparedGemm {
    /// The product by `name`, one of [`NAMES`], on so many threads.
    ///
    /// # Errors
    /// When that cannot do it, or there is no memory for what is packed.
    pub(super) fn new(name: &str, product: Product, threads: usize) -> Result<Self, DeviceError> {
        let way = way::find(name, &product.op).map_err(DeviceError::Unsupported)?;
        Self::by(way, product, threads)
    }

    fn by(way: GemmKernel, product: Product, threads: usize) -> Result<Self, DeviceError> {
        let op = &product.op;
        let mut work = Vec::new();
        for parts in share::parts(op, threads, way.tile) {
            let (rows, columns) = parts.iter().fold((0, 0), |(rows, columns), part| {
                (part.rows.len().max(rows), part.columns.len().max(columns))
            });
            let Some(scratch) = Scratch::new(&way, op, rows, columns) else {
                return Err(super::refused_memory(op.k.saturating_mul(4 * op.m.max(op.n))));
            };
            work.push((parts, Mutex::new(scratch)));
        }
        Ok(Self { product, way, work })
    }

    /// Which units do it.
    pub(super) fn name(&self) -> &'static str {
        self.way.name
    }

    /// Does it on the threads of `pool`, which are as many as it was made ready for.
    ///
    /// # Safety
    /// The matrices must be as large as the operation says and outlive the call, and C must overlap
    /// neither A nor B and be nobody else's.
    pub(super) unsafe fn run(&self, pool: &ThreadPool) {
        pool.each(|index| {
            let Some((parts, room)) = self.work.get(index) else { return };
            let Ok(mut room) = room.lock() else { return };
            for part in parts {
                // SAFETY: parts lie within the matrices and those of C are disjoint; the way was
                // found on this CPU; the rest is the promise of the caller.
                unsafe {
                    let sums = self
                        .way
                        .few
                        .filter(|_| room.are_few)
                        .map_or(self.way.block, |few| few.sums);
                    sums(&Task::new(&self.product, part), &mut room);
                    finish(&self.product, part, &room);
                }
            }
        });
    }
}

/// Memory of a thread's own.
struct Scratch {
    /// Whether all parts that it is for have few rows, so that B is not packed.
    are_few: bool,
    a: Vec<Line>,
    b: Vec<Line>,
    /// Sums that are not C yet, row by row, where C holds something else than plain sums of 32
    /// bits.
    sums: Vec<Line>,
    /// A tile that C has not all rows or columns of.
    tile: Vec<Line>,
    /// What each column of a panel of B begins with.
    begin: Vec<Line>,
}

/// A cache line of words.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[allow(dead_code)] [u32; 16]);

/// Room for so many words, or nothing where there is none.
fn lines(words: usize) -> Option<Vec<Line>> {
    let mut lines = Vec::new();
    let count = words.div_ceil(16);
    lines.try_reserve_exact(count).ok()?;
    super::memory::in_huge_pages(lines.spare_capacity_mut());
    lines.resize(count, Line([0; 16]));
    Some(lines)
}

/// Whether the widest units here do a product of several rows without packing B, whose columns lie
/// along the depth, and it is not so small that starting takes longest.
pub(super) fn reads_once(op: &Gemm) -> bool {
    let rows = op.m as usize;
    op.transpose_b
        && rows > 1
        && op.n * op.k >= 1 << 16
        && way::find(NAMES[0], op).is_ok_and(|way| way.few.is_some_and(|few| few.is_for(rows, op)))
}

impl Scratch {
    fn new(way: &GemmKernel, op: &Gemm, rows: usize, columns: usize) -> Option<Self> {
        let depth = op.k as usize;
        let words = way.words(depth).min(way.depth);
        let (tile_rows, tile_columns) = way.tile;
        let room = |most: usize, count: usize, tile: usize| {
            lines(most.min(count.next_multiple_of(tile)).next_multiple_of(tile) * words)
        };
        let few = way.few.filter(|few| few.is_for(rows, op));
        Some(Self {
            are_few: few.is_some(),
            a: match few {
                Some(few) => lines(
                    rows.next_multiple_of(tile_rows) * few::padded_words(depth.div_ceil(few.group)),
                ),
                None => room(way.rows, rows, tile_rows),
            }?,
            b: if few.is_some() { lines(0) } else { room(block::COLUMNS, columns, tile_columns) }?,
            sums: lines(if is_direct(op) { 0 } else { rows * columns })?,
            tile: lines(tile_rows * tile_columns)?,
            begin: lines(tile_columns)?,
        })
    }
}

/// Whether sums are what C holds.
fn is_direct(op: &Gemm) -> bool {
    (op.alpha, op.beta) == (1.0, 0.0) && matches!(op.output_dtype(), Dtype::F32 | Dtype::I32)
}

/// What a way has to do: the sums of a part of C.
struct Task<'p> {
    part: &'p Part,
    op: Gemm,
    /// Bytes at which the matrices of the batch begin.
    a: *const u8,
    b: *const u8,
    /// Where the first sum of the part goes in C, and words from row to row.
    c: *mut u32,
    stride: usize,
}

impl<'p> Task<'p> {
    /// # Safety
    /// As [`Ready::run`].
    unsafe fn new(product: &Product, part: &'p Part) -> Self {
        let op = product.op;
        let width = op.dtype.bytes(1) as usize;
        let (m, n, k) = (op.m as usize, op.n as usize, op.k as usize);
        // SAFETY: the batch has this part, by the promise of the caller.
        unsafe {
            Self {
                part,
                op,
                a: product.a.start::<u8>().add(part.batch * m * k * width),
                b: product.b.start::<u8>().add(part.batch * op.stride_b() as usize * width),
                c: product
                    .c
                    .start::<u32>()
                    .wrapping_add(part.batch * m * n + part.rows.start * n + part.columns.start),
                stride: n,
            }
        }
    }

    /// Rows of A as lanes.
    fn a<E>(&self) -> Source<E> {
        let (m, k) = (self.op.m as usize, self.op.k as usize);
        let (lane, step) = if self.op.transpose_a { (1, m) } else { (k, 1) };
        Source { start: self.a.cast(), lane, step, depth: k }
    }

    /// Columns of B as lanes.
    fn b<E>(&self) -> Source<E> {
        let (n, k) = (self.op.n as usize, self.op.k as usize);
        let (lane, step) = if self.op.transpose_b { (k, 1) } else { (1, n) };
        Source { start: self.b.cast(), lane, step, depth: k }
    }
}

/// Makes C of sums that are not C yet: α times them plus β times what was there, in the type of C.
///
/// # Safety
/// As [`Ready::run`], for a part that this thread alone works on.
unsafe fn finish(product: &Product, part: &Part, room: &Scratch) {
    let op = product.op;
    if is_direct(&op) {
        return;
    }
    let (m, n) = (op.m as usize, op.n as usize);
    let columns = part.columns.len();
    for (index, row) in part.rows.clone().enumerate() {
        let first = part.batch * m * n + row * n + part.columns.start;
        let elements = first..first + columns;
        // SAFETY: the room holds as many sums, as any bits are numbers; this row of C is within it
        // and nobody else's.
        unsafe {
            let sums = room.sums.as_ptr().cast::<u32>().add(index * columns);
            let (as_floats, as_integers) = (
                std::slice::from_raw_parts(sums.cast::<f32>(), columns),
                std::slice::from_raw_parts(sums.cast::<i32>(), columns),
            );
            match op.output_dtype() {
                Dtype::F32 => combine(&op, product.c.slice_mut::<f32>(&elements), as_floats),
                Dtype::F16 => combine_wide(
                    &op,
                    HalfFormat::F16,
                    product.c.slice_mut::<u16>(&elements),
                    as_floats,
                ),
                Dtype::Bf16 => combine_wide(
                    &op,
                    HalfFormat::Bf16,
                    product.c.slice_mut::<u16>(&elements),
                    as_floats,
                ),
                _ => {
                    for (c, sum) in
                        product.c.slice_mut::<i32>(&elements).iter_mut().zip(as_integers)
                    {
                        let old = if op.reads_c() { op.beta * f64::from(*c) } else { 0.0 };
                        *c = (op.alpha * f64::from(*sum) + old) as i32;
                    }
                }
            }
        }
    }
}

/// C ← α·sums + β·C, without reading C where β is zero.
fn combine(op: &Gemm, c: &mut [f32], sums: &[f32]) {
    let (alpha, beta) = (op.alpha as f32, op.beta as f32);
    if op.reads_c() {
        c.iter_mut().zip(sums).for_each(|(c, sum)| *c = alpha * sum + beta * *c);
    } else {
        c.iter_mut().zip(sums).for_each(|(c, sum)| *c = alpha * sum);
    }
}

/// The same of a C of 16 bits.
fn combine_wide(op: &Gemm, format: HalfFormat, c: &mut [u16], sums: &[f32]) {
    let mut wide = [0.0; sixteen::BLOCK];
    for (c, sums) in c.chunks_mut(sixteen::BLOCK).zip(sums.chunks(sixteen::BLOCK)) {
        let wide = &mut wide[..c.len()];
        if op.reads_c() {
            sixteen::widen(format, c, wide);
        }
        combine(op, wide, sums);
        sixteen::narrow(format, wide, c);
    }
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::super::kernels::Span;
    use super::*;

    /// A·B of small whole numbers, which every type holds and sums exactly.
    fn check(way: GemmKernel, op: Gemm) {
        let (mut a, mut b) = (numbers(op.m * op.k, 5), numbers(op.k * op.n, 3));
        let pool = ThreadPool::new(2).unwrap();
        let mut c = vec![0_u32; (op.m * op.n) as usize];
        macro_rules! run {
            ($make:expr) => {{
                let (mut a, mut b) = (
                    a.iter().map($make).collect::<Vec<_>>(),
                    b.iter().map($make).collect::<Vec<_>>(),
                );
                let product = Product {
                    op,
                    a: Span::of_slice(&mut a),
                    b: Span::of_slice(&mut b),
                    c: Span::of_slice(&mut c),
                };
                let ready = PreparedGemm::by(way, product, 2).unwrap();
                // SAFETY: matrices of these sizes, which outlive the call, and C is nobody else's.
                unsafe { ready.run(&pool) };
            }};
        }
        match op.dtype {
            Dtype::F16 => run!(|x: &f64| f16::from_f64(*x)),
            Dtype::Bf16 => run!(|x: &f64| bf16::from_f64(*x)),
            Dtype::I8 => run!(|x: &f64| *x as i8),
            _ => run!(|x: &f64| *x as f32),
        }
        for (matrix, is_turned, rows, columns) in
            [(&mut a, op.transpose_a, op.m, op.k), (&mut b, op.transpose_b, op.k, op.n)]
        {
            if is_turned {
                *matrix = (0..rows * columns)
                    .map(|index| matrix[(index % columns * rows + index / columns) as usize])
                    .collect();
            }
        }
        for index in 0..c.len() {
            let (row, column) = (index / op.n as usize, index % op.n as usize);
            let right: f64 = (0..op.k as usize)
                .map(|k| a[row * op.k as usize + k] * b[k * op.n as usize + column])
                .sum();
            let found = match op.output_dtype() {
                Dtype::I32 => f64::from(c[index].cast_signed()),
                // Two in a word.
                Dtype::F16 => f16::from_bits((c[index / 2] >> (16 * (index % 2))) as u16).to_f64(),
                _ => f64::from(f32::from_bits(c[index])),
            };
            let step = if op.output_dtype() == Dtype::F16 { right.abs() / 1024.0 } else { 0.0 };
            assert!(
                (found - right).abs() < 0.5 + step,
                "{} {op:?}: {found} is not {right} at {row}, {column}",
                way.name
            );
        }
    }

    fn numbers(count: u64, factor: u64) -> Vec<f64> {
        (0..count).map(|index| ((index * factor + index / 7) % 7) as f64 - 3.0).collect()
    }

    /// Also those that no name leads to here, since the CPU has wider ones.
    #[test]
    fn every_way_that_this_cpu_has_makes_the_same_products() {
        let mut names = Vec::new();
        for (way, dtype) in way::here() {
            for (m, n, k) in
                [(1, 40, 70), (7, 133, 37), (61, 80, 65), (20, 70, 256), (160, 100, 2300)]
            {
                for (transpose_a, transpose_b) in
                    [(false, false), (false, true), (true, false), (true, true)]
                {
                    check(way, Gemm { transpose_a, transpose_b, ..Gemm::new(dtype, m, n, k) });
                }
            }
            names.push((way.name, dtype));
        }
        for dtype in [Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::I8] {
            assert!(names.contains(&("native", dtype)), "plain code runs everywhere: {names:?}");
        }
    }
}
