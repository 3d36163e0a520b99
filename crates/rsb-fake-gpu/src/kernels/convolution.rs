//! 2-D convolution of NCHW tensors: adds a shifted and scaled input plane to the output for each
//! kernel element.

use super::{FakeKernel, twin};
use crate::element::Element;
use crate::launch::{KernelError, Launch, Work, by_float};

pub(super) const TWINS: &[FakeKernel] =
    &[twin("rsb_convolution", 16, |launch| by_float!(launch, convolution))];

/// Sizes, in the order of the parameters.
struct Sizes {
    batch: usize,
    in_channels: usize,
    out_channels: usize,
    height: usize,
    width: usize,
    kernel_height: usize,
    kernel_width: usize,
    out_height: usize,
    out_width: usize,
    stride: usize,
    padding: usize,
    dilation: usize,
    groups: usize,
}

impl Sizes {
    fn of(launch: &Launch<'_>) -> Self {
        Self {
            batch: launch.size(3),
            in_channels: launch.size(4),
            out_channels: launch.size(5),
            height: launch.size(6),
            width: launch.size(7),
            kernel_height: launch.size(8),
            kernel_width: launch.size(9),
            out_height: launch.size(10),
            out_width: launch.size(11),
            stride: launch.size(12),
            padding: launch.size(13),
            dilation: launch.size(14),
            groups: launch.size(15).max(1),
        }
    }

    /// Returns the input index along one axis of `length` elements that kernel element `tap` reads
    /// for output index `out`; `None` in the padding.
    fn source(&self, out: usize, tap: usize, length: usize) -> Option<usize> {
        (out * self.stride + tap * self.dilation)
            .checked_sub(self.padding)
            .filter(|&at| at < length)
    }
}

fn product(sizes: &[usize]) -> usize {
    sizes.iter().fold(1, |all, &size| all.saturating_mul(size))
}

fn convolution<T: Element>(launch: &mut Launch<'_>) -> Result<Work, KernelError> {
    let s = Sizes::of(launch);
    let (plane, out_plane, taps) =
        (s.height * s.width, s.out_height * s.out_width, s.kernel_height * s.kernel_width);
    let (in_group, out_group) = (s.in_channels / s.groups, (s.out_channels / s.groups).max(1));
    let x: &[T] = launch.input(0, product(&[s.batch, s.in_channels, plane]))?;
    let w: &[T] = launch.input(1, product(&[s.out_channels, in_group, taps]))?;
    let y: &mut [T] = launch.output(2, product(&[s.batch, s.out_channels, out_plane]))?;
    let x: Vec<f64> = x.iter().map(|x| x.get()).collect();
    let mut sums = vec![0.0; out_plane];
    for (index, y) in y.chunks_mut(out_plane.max(1)).enumerate() {
        let (image, channel) = (index / s.out_channels, index % s.out_channels);
        sums.fill(0.0);
        for c in 0..in_group {
            let from = (image * s.in_channels + channel / out_group * in_group + c) * plane;
            let plane = x.get(from..from + plane).unwrap_or_default();
            let taps_from = (channel * in_group + c) * taps;
            add_plane(&s, plane, w.get(taps_from..taps_from + taps).unwrap_or_default(), &mut sums);
        }
        y.iter_mut().zip(&sums).for_each(|(y, &sum)| *y = T::put(sum));
    }
    let flops = 2.0 * product(&[s.batch, s.out_channels, out_plane, in_group, taps]) as f64;
    Ok(Work::vector(launch.dtype(), flops))
}

/// Adds the contribution of one input plane, for all kernel elements.
fn add_plane<T: Element>(s: &Sizes, plane: &[f64], taps: &[T], sums: &mut [f64]) {
    for (tap, weight) in taps.iter().enumerate() {
        let (tap_row, tap_column, weight) =
            (tap / s.kernel_width, tap % s.kernel_width, weight.get());
        for (out_row, sums) in sums.chunks_mut(s.out_width.max(1)).enumerate() {
            let Some(row) = s.source(out_row, tap_row, s.height) else { continue };
            let line = plane.get(row * s.width..(row + 1) * s.width).unwrap_or_default();
            for (out_column, sum) in sums.iter_mut().enumerate() {
                if let Some(x) =
                    s.source(out_column, tap_column, s.width).and_then(|column| line.get(column))
                {
                    *sum += x * weight;
                }
            }
        }
    }
}
