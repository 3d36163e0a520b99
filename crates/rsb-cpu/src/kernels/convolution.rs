//! Convolution as GEMM: the patches under the kernel become the columns of a matrix, image by image
//! and group by group. 1 × 1 kernels need no patches. f32 is multiplied by the `gemm` crate, f16 and
//! bf16 by `rsb-gemm`.

use rsb_gemm::PreparedGemm;
use rsb_model::Dtype;

use super::gemm::{Product, native, native_product, plain_product};
use crate::kernel::{Bound, CpuKernel, format_of, unsupported_error};
use crate::memory::Memory;
use crate::span::Span;
use crate::thread_pool::ThreadPool;
use rsb_device::device::DeviceError;
use rsb_device::operation::{Convolution, Gemm, OutputWidth};

pub(super) fn kernel(op: &Convolution, bound: Bound) -> Result<CpuKernel, DeviceError> {
    let format = format_of("convolution", op.dtype)?;
    let Some((rows, columns)) = op.output_size() else {
        return Err(unsupported_error(
            "convolution of this shape",
            "the kernel does not fit the input, or the groups do not divide the channels",
            "choose a smaller kernel, more padding, or other groups",
        ));
    };
    let shape = Shape::new(op, rows as usize, columns as usize);
    let patches = Memory::new_zeroed(shape.patch_bytes()).ok_or_else(|| {
        unsupported_error(
            "convolution of this shape",
            "not enough memory for its patches",
            "choose a smaller shape",
        )
    })?;
    // f16 and bf16 use `rsb-gemm`, since the `gemm` crate lacks 16-bit types on some CPUs.
    let native = match format {
        Some(_) => Some(native("native", shape.product(), &bound.pool)?),
        None => None,
    };
    let provider = native.as_ref().map_or("gemm", PreparedGemm::name);
    let (input, weights, output) = (bound.span(0), bound.span(1), bound.span(2));
    Ok(CpuKernel::new(provider, move || {
        let spans = [input, weights, output, Span::of(&patches)];
        for image in 0..shape.batch {
            for group in 0..shape.groups {
                // SAFETY: `bound` keeps the three buffers alive, and the closure the patches; all
                // are distinct and have the sizes of the shape, and nothing else uses them during a
                // launch. 16-bit elements are moved as integers.
                unsafe {
                    if let Some(native) = &native {
                        let product = operands::<u16>(&shape, &bound, spans, image, group);
                        native_product(native, &product, &bound.pool);
                    } else {
                        let product = operands::<f32>(&shape, &bound, spans, image, group);
                        plain_product(&product, &bound.pool);
                    }
                }
            }
        }
        Ok(())
    }))
}

/// Dimensions of a convolution, per group if they depend on it.
#[derive(Debug, Clone, Copy)]
struct Shape {
    dtype: Dtype,
    batch: usize,
    groups: usize,
    in_channels: usize,
    out_channels: usize,
    height: usize,
    width: usize,
    kernel: (usize, usize),
    stride: usize,
    padding: usize,
    dilation: usize,
    out: (usize, usize),
}

impl Shape {
    fn new(op: &Convolution, rows: usize, columns: usize) -> Self {
        Self {
            dtype: op.dtype,
            batch: op.batch as usize,
            groups: op.groups as usize,
            in_channels: (op.in_channels / op.groups) as usize,
            out_channels: (op.out_channels / op.groups) as usize,
            height: op.height as usize,
            width: op.width as usize,
            kernel: (op.kernel_height as usize, op.kernel_width as usize),
            stride: op.stride as usize,
            padding: op.padding as usize,
            dilation: op.dilation as usize,
            out: (rows, columns),
        }
    }

    /// Returns the number of rows of the patch matrix.
    fn taps(&self) -> usize {
        self.in_channels * self.kernel.0 * self.kernel.1
    }

    /// Returns the number of columns of the patch matrix.
    fn points(&self) -> usize {
        self.out.0 * self.out.1
    }

    /// Returns whether the input itself is the patch matrix.
    fn is_pointwise(&self) -> bool {
        self.kernel == (1, 1) && self.stride == 1 && self.padding == 0
    }

    fn patch_bytes(&self) -> usize {
        if self.is_pointwise() {
            0
        } else {
            let element = self.dtype.bytes(1) as usize;
            self.taps().saturating_mul(self.points()).saturating_mul(element)
        }
    }

    /// Returns the product of the weights of one group and its patches.
    fn product(&self) -> Gemm {
        let [m, n, k] = [self.out_channels, self.points(), self.taps()].map(|size| size as u64);
        Gemm { stored: OutputWidth::AsInputs, ..Gemm::new(self.dtype, m, n, k) }
    }
}

/// Returns the product for one group of one image, after filling the patches.
///
/// # Safety
/// The spans (input, weights, output, patches) are distinct, have the sizes of the shape in
/// elements of `T`, and outlive the call, and nothing else uses them.
unsafe fn operands<T: Copy + Default>(
    shape: &Shape,
    bound: &Bound,
    spans: [Span; 4],
    image: usize,
    group: usize,
) -> Product {
    let [input, weights, output, patches] = spans;
    let index = image * shape.groups + group;
    let plane = shape.in_channels * shape.height * shape.width;
    let part = index * plane..(index + 1) * plane;
    let columns = if shape.is_pointwise() {
        input.from::<T>(part.start)
    } else {
        let pool: &ThreadPool = &bound.pool;
        let all_taps = shape.taps();
        pool.each(|thread| {
            let taps = pool.share(thread, all_taps, 1);
            let share = taps.start * shape.points()..taps.end * shape.points();
            // SAFETY: guaranteed by the caller; shares are disjoint.
            let (source, target) =
                unsafe { (input.slice::<T>(&part), patches.slice_mut::<T>(&share)) };
            for (tap, row) in taps.zip(target.chunks_exact_mut(shape.points())) {
                gather(shape, source, tap, row);
            }
        });
        patches
    };
    let (m, n, k) = (shape.out_channels, shape.points(), shape.taps());
    Product {
        op: shape.product(),
        a: weights.from::<T>(group * m * k),
        b: columns,
        c: output.from::<T>(index * m * n),
    }
}

/// Fills one row of the patch matrix: the inputs of kernel tap `tap` at each output point.
fn gather<T: Copy + Default>(shape: &Shape, input: &[T], tap: usize, row: &mut [T]) {
    let (tap, tap_column) = (tap / shape.kernel.1, tap % shape.kernel.1);
    let (channel, tap_row) = (tap / shape.kernel.0, tap % shape.kernel.0);
    let plane = shape.height * shape.width;
    let plane = input.get(channel * plane..(channel + 1) * plane).unwrap_or_default();
    for (y, points) in row.chunks_exact_mut(shape.out.1).enumerate() {
        let line = (y * shape.stride + tap_row * shape.dilation)
            .checked_sub(shape.padding)
            .filter(|&line| line < shape.height)
            .and_then(|line| plane.get(line * shape.width..(line + 1) * shape.width));
        match line {
            None => points.fill(T::default()),
            Some(line) => gather_line(shape, line, tap_column * shape.dilation, points),
        }
    }
}

/// Copies the part of one input line that a tap reads, `offset` to the right of each point, with
/// zeros beyond its ends.
fn gather_line<T: Copy + Default>(shape: &Shape, line: &[T], offset: usize, points: &mut [T]) {
    if shape.stride == 1 {
        // The line consists of zeros, a plain copy of inputs, and zeros.
        let before = shape.padding.saturating_sub(offset).min(points.len());
        let first = (offset + before).saturating_sub(shape.padding);
        let inside = line.len().saturating_sub(first).min(points.len() - before);
        let (zeros, rest) = points.split_at_mut(before);
        let (middle, after) = rest.split_at_mut(inside);
        zeros.fill(T::default());
        middle.copy_from_slice(line.get(first..first + inside).unwrap_or_default());
        after.fill(T::default());
        return;
    }
    for (x, point) in points.iter_mut().enumerate() {
        let column = (x * shape.stride + offset).checked_sub(shape.padding);
        *point = column.and_then(|column| line.get(column)).copied().unwrap_or_default();
    }
}
