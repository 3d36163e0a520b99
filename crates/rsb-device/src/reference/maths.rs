//! Single elements and rows in f64. Operands are functions of the position in their buffer.

use crate::operation::{
    Convolution, ElementwiseOp, Epilogue, Gemm, LAYER_NORM_EPSILON, NormalizeOp, Rearrange,
};

/// Returns f(x) or f(x, z).
pub fn elementwise(op: ElementwiseOp, x: f64, z: f64) -> f64 {
    match op {
        ElementwiseOp::Add => x + z,
        ElementwiseOp::Multiply => x * z,
        ElementwiseOp::Relu => x.max(0.0),
        ElementwiseOp::Gelu => {
            let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3));
            0.5 * x * (1.0 + inner.tanh())
        }
        ElementwiseOp::Sigmoid => 1.0 / (1.0 + (-x).exp()),
    }
}

/// Returns the softmax of one row.
pub fn softmax_row(row: &[f64]) -> Vec<f64> {
    let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = row.iter().map(|value| (value - largest).exp()).collect();
    let total: f64 = powers.iter().sum();
    powers.iter().map(|power| power / total).collect()
}

/// Returns the attention result for one query: the visible values, weighted by the softmax of the
/// query's products with their keys.
pub fn attended_row(query: &[f64], keys: &[f64], values: &[f64]) -> Vec<f64> {
    let width = query.len().max(1);
    let mut scores = Vec::with_capacity(keys.len() / width);
    for key in keys.chunks_exact(width) {
        let product = query.iter().zip(key).map(|(query, key)| query * key).sum::<f64>();
        scores.push(product / (width as f64).sqrt());
    }
    let mut row = vec![0.0; query.len()];
    for (share, value) in softmax_row(&scores).iter().zip(values.chunks_exact(width)) {
        row.iter_mut().zip(value).for_each(|(sum, value)| *sum += share * value);
    }
    row
}

/// Normalizes one row of a matrix with `op`, with the gain and bias that `op` uses.
pub fn normalized_row(op: NormalizeOp, row: &[f64], gain: &[f64], bias: &[f64]) -> Vec<f64> {
    match op {
        NormalizeOp::Softmax => softmax_row(row),
        NormalizeOp::LayerNorm => layer_norm_row(row, gain, bias),
        NormalizeOp::RmsNorm => {
            let mean = row.iter().map(|value| value * value).sum::<f64>() / row.len() as f64;
            let scale = 1.0 / (mean + LAYER_NORM_EPSILON).sqrt();
            row.iter().zip(gain).map(|(value, gain)| value * scale * gain).collect()
        }
    }
}

/// Returns element `at` of `y` after a rearrangement, or `None` if it is unchanged.
pub fn rearranged_element(
    op: &Rearrange,
    x: impl Fn(u64) -> f64,
    angles: impl Fn(u64) -> f64,
    at: u64,
) -> Option<f64> {
    let from = op.source(at)?;
    if !op.rotary {
        return Some(x(from));
    }
    let (within, row) = (from % op.width, from / (op.width * op.columns) % op.rows);
    let odd = within % 2;
    let (first, angle) = (from - odd, row * op.width + within - odd);
    let (cosine, sine) = (angles(angle), angles(angle + 1));
    Some(if odd == 0 {
        x(first) * cosine - x(first + 1) * sine
    } else {
        x(first) * sine + x(first + 1) * cosine
    })
}

/// Returns the layer norm of one row.
fn layer_norm_row(row: &[f64], gain: &[f64], bias: &[f64]) -> Vec<f64> {
    let count = row.len() as f64;
    let mean = row.iter().sum::<f64>() / count;
    let variance = row.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    let scale = 1.0 / (variance + LAYER_NORM_EPSILON).sqrt();
    row.iter()
        .zip(gain)
        .zip(bias)
        .map(|((value, gain), bias)| (value - mean) * scale * gain + bias)
        .collect()
}

/// Returns element `index` of C, counted over the whole batch without gaps, before the epilogue.
/// `c` returns the previous contents of C.
pub fn gemm_element(
    gemm: &Gemm,
    a: impl Fn(u64) -> f64,
    b: impl Fn(u64) -> f64,
    c: impl Fn(u64) -> f64,
    index: u64,
) -> f64 {
    let (batch, within) = (index / (gemm.m * gemm.n), index % (gemm.m * gemm.n));
    let (row, column) = (within / gemm.n, within % gemm.n);
    let [of_a, of_b, of_c] = gemm.layouts();
    let sum: f64 = (0..gemm.k)
        .map(|term| {
            let [i, p] = if gemm.transpose_a { [term, row] } else { [row, term] };
            let [q, j] = if gemm.transpose_b { [column, term] } else { [term, column] };
            a(of_a.position(batch, i, p)) * b(of_b.position(batch, q, j))
        })
        .sum();
    let old = if gemm.reads_c() { gemm.beta * c(of_c.position(batch, row, column)) } else { 0.0 };
    gemm.alpha * sum + old
}

/// Applies `epilogue` to an element `x` in a column with bias `bias`.
pub fn with_epilogue(epilogue: Epilogue, x: f64, bias: f64) -> f64 {
    match epilogue {
        Epilogue::None => x,
        Epilogue::Bias => x + bias,
        Epilogue::Gelu => elementwise(ElementwiseOp::Gelu, x + bias, 0.0),
    }
}

/// Position of an element in a convolution's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConvolutionPoint {
    /// Index of the image.
    pub image: u64,
    /// Output channel.
    pub channel: u64,
    /// Output row.
    pub row: u64,
    /// Output column.
    pub column: u64,
}

impl ConvolutionPoint {
    /// Returns the point of element `index` of an output with rows and columns `size`.
    pub fn of(index: u64, convolution: &Convolution, size: (u64, u64)) -> Self {
        let (rows, columns) = size;
        let (rest, column) = (index / columns, index % columns);
        let (rest, row) = (rest / rows, rest % rows);
        Self {
            image: rest / convolution.out_channels,
            channel: rest % convolution.out_channels,
            row,
            column,
        }
    }
}

/// Returns one element of a convolution's output.
pub fn convolution_element(
    op: &Convolution,
    input: impl Fn(u64) -> f64,
    weight: impl Fn(u64) -> f64,
    point: ConvolutionPoint,
) -> f64 {
    let channels = op.in_channels / op.groups;
    let first_channel = point.channel / (op.out_channels / op.groups) * channels;
    let mut sum = 0.0;
    for channel in 0..channels {
        for tap_row in 0..op.kernel_height {
            for tap_column in 0..op.kernel_width {
                let y = (point.row * op.stride + tap_row * op.dilation).checked_sub(op.padding);
                let x =
                    (point.column * op.stride + tap_column * op.dilation).checked_sub(op.padding);
                let (Some(y), Some(x)) = (y, x) else { continue };
                if y >= op.height || x >= op.width {
                    continue;
                }
                let at = ((point.image * op.in_channels + first_channel + channel) * op.height + y)
                    * op.width
                    + x;
                let tap = ((point.channel * channels + channel) * op.kernel_height + tap_row)
                    * op.kernel_width;
                sum += input(at) * weight(tap + tap_column);
            }
        }
    }
    sum
}
