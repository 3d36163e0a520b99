//! Operations on tensors: element-wise, reductions, normalizations, convolutions, matrix products.

use rsb_model::{Dtype, Reason};
use serde::{Deserialize, Serialize};

use super::{BufferSpec, Options, Role, named};
use crate::error::DeviceError;

/// `y = f(x)` or `y = f(x, z)`. What a whole number cannot hold is the nearest that it can.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Elementwise {
    /// The function.
    pub op: ElementwiseOp,
    /// Type of an element.
    pub dtype: Dtype,
    /// Elements in each buffer.
    pub elements: u64,
}

/// The function of an [`Elementwise`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ElementwiseOp {
    /// x + z.
    Add,
    /// x · z.
    Multiply,
    /// max(x, 0).
    Relu,
    /// ½x·(1 + tanh(√(2/π)·(x + 0.044715x³))): the tanh form of GELU, as transformers use it.
    Gelu,
    /// 1 / (1 + e⁻ˣ).
    Sigmoid,
}

named!(
    ElementwiseOp,
    "element-wise operation",
    Add = "add",
    Multiply = "multiply",
    Relu = "relu",
    Gelu = "gelu",
    Sigmoid = "sigmoid"
);

impl ElementwiseOp {
    /// One or two.
    pub const fn inputs(self) -> usize {
        match self {
            Self::Add | Self::Multiply => 2,
            Self::Relu | Self::Gelu | Self::Sigmoid => 1,
        }
    }

    /// As the formula is usually written with one exponential: x / (1 + e^(−2u)) for GELU.
    pub(super) const fn flops_per_element(self) -> f64 {
        match self {
            Self::Add | Self::Multiply | Self::Relu => 1.0,
            Self::Sigmoid => 4.0,
            Self::Gelu => 8.0,
        }
    }
}

/// All elements to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reduce {
    /// The function.
    pub op: ReduceOp,
    /// Type of an element.
    pub dtype: Dtype,
    /// Elements of the input.
    pub elements: u64,
}

/// The function of a [`Reduce`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReduceOp {
    /// Σx.
    Sum,
    /// The largest.
    Max,
    /// Σx / n.
    Mean,
    /// Position of the largest.
    Argmax,
}

named!(ReduceOp, "reduction", Sum = "sum", Max = "max", Mean = "mean", Argmax = "argmax");

impl Reduce {
    /// A word for a position. Sums of 16-bit elements overflow their own type, so the result is at
    /// least f32.
    pub(super) const fn output(&self) -> BufferSpec {
        match (self.op, self.dtype) {
            (ReduceOp::Argmax, _) => BufferSpec::word(Role::Output),
            (_, Dtype::F64) => BufferSpec::new(Role::Output, Dtype::F64, 1),
            _ => BufferSpec::new(Role::Output, Dtype::F32, 1),
        }
    }
}

/// Along each row of a matrix of `rows` by `columns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Normalize {
    /// The function.
    pub op: NormalizeOp,
    /// Type of an element.
    pub dtype: Dtype,
    /// Rows, each on its own.
    pub rows: u64,
    /// Elements of a row.
    pub columns: u64,
}

/// The function of a [`Normalize`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NormalizeOp {
    /// eˣ / Σeˣ, with the largest taken out first.
    Softmax,
    /// (x − mean) / √(variance + 10⁻⁵) · gain + bias. Gain and bias are the second and third
    /// buffer.
    LayerNorm,
    /// x / √(mean of x² + 10⁻⁵) · gain. The gain is the second buffer.
    RmsNorm,
}

named!(
    NormalizeOp,
    "normalization",
    Softmax = "softmax",
    LayerNorm = "layer-norm",
    RmsNorm = "rms-norm"
);

impl NormalizeOp {
    /// The matrix, and rows of as many columns that each row is multiplied by or gets added.
    pub const fn inputs(self) -> usize {
        match self {
            Self::Softmax => 1,
            Self::RmsNorm => 2,
            Self::LayerNorm => 3,
        }
    }

    /// Softmax: compare, subtract, exponential, add, divide. Layer norm: two sums, difference,
    /// square, and three to finish. RMS norm: square, sum, and two to finish.
    pub(super) const fn flops_per_element(self) -> f64 {
        match self {
            Self::Softmax => 5.0,
            Self::LayerNorm => 7.0,
            Self::RmsNorm => 4.0,
        }
    }
}

impl Normalize {
    /// Of the whole matrix.
    pub const fn elements(&self) -> u64 {
        self.rows.saturating_mul(self.columns)
    }

    pub(super) fn buffers(&self) -> Vec<BufferSpec> {
        let mut all = vec![BufferSpec::new(Role::Input, self.dtype, self.elements())];
        all.resize(self.op.inputs(), BufferSpec::new(Role::Input, self.dtype, self.columns));
        all.push(BufferSpec::new(Role::Output, self.dtype, self.elements()));
        all
    }
}

/// 2-D convolution (cross-correlation, as every framework has it): input NCHW, weights (out, in /
/// groups, height, width).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Convolution {
    /// Type of an element.
    pub dtype: Dtype,
    /// Images.
    pub batch: u64,
    /// Channels of the input.
    pub in_channels: u64,
    /// Channels of the output.
    pub out_channels: u64,
    /// Rows of the input.
    pub height: u64,
    /// Columns of the input.
    pub width: u64,
    /// Rows of the kernel.
    pub kernel_height: u64,
    /// Columns of the kernel.
    pub kernel_width: u64,
    /// Step between output points, both ways.
    pub stride: u64,
    /// Zeros around the input, both ways.
    pub padding: u64,
    /// Step between taps, both ways.
    pub dilation: u64,
    /// Groups of channels that do not mix.
    pub groups: u64,
}

impl Convolution {
    /// Rows and columns of the output; `None` when the kernel does not fit, the groups do not
    /// divide the channels, or a size is zero.
    pub fn output_size(&self) -> Option<(u64, u64)> {
        let sizes = [
            self.batch,
            self.in_channels,
            self.out_channels,
            self.stride,
            self.dilation,
            self.groups,
        ];
        let kernels = [self.kernel_height, self.kernel_width, self.height, self.width];
        if sizes.contains(&0) || kernels.contains(&0) {
            return None;
        }
        if !self.in_channels.is_multiple_of(self.groups)
            || !self.out_channels.is_multiple_of(self.groups)
        {
            return None;
        }
        let rows = self.output_length(self.height, self.kernel_height)?;
        let columns = self.output_length(self.width, self.kernel_width)?;
        Some((rows, columns))
    }

    fn output_length(&self, size: u64, kernel: u64) -> Option<u64> {
        let padded = self.padding.checked_mul(2)?.checked_add(size)?;
        let reach = (kernel - 1).checked_mul(self.dilation)?.checked_add(1)?;
        Some(padded.checked_sub(reach)? / self.stride + 1)
    }

    /// Terms in the sum of one output element.
    pub fn terms(&self) -> u64 {
        (self.in_channels / self.groups.max(1)) * self.kernel_height * self.kernel_width
    }

    /// Elements of the output; zero when it is impossible.
    pub fn output_elements(&self) -> u64 {
        self.output_size()
            .map_or(0, |(rows, columns)| product(&[self.batch, self.out_channels, rows, columns]))
    }

    pub(super) fn buffers(&self) -> Vec<BufferSpec> {
        let input = product(&[self.batch, self.in_channels, self.height, self.width]);
        vec![
            BufferSpec::new(Role::Input, self.dtype, input),
            BufferSpec::new(Role::Input, self.dtype, product(&[self.out_channels, self.terms()])),
            BufferSpec::new(Role::Output, self.dtype, self.output_elements()),
        ]
    }

    pub(super) fn flops(&self) -> f64 {
        2.0 * self.output_elements() as f64 * self.terms() as f64
    }
}

/// C ← epilogue(alpha·op(A)·op(B) + beta·C) for each of `batch` matrices that follow one another in
/// memory, all row-major. op(A) is m×k, op(B) is k×n, C is m×n.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Gemm {
    /// Type of an element. With bf16, C is f32, with i8 it is i32 and with fp8 bf16, as in every
    /// library that has them.
    pub dtype: Dtype,
    /// Rows of C.
    pub m: u64,
    /// Columns of C.
    pub n: u64,
    /// Length of the sums.
    pub k: u64,
    /// Products in one launch.
    pub batch: u64,
    /// Elements from one matrix of B to the next, where there is room between them: at least k·n.
    pub stride_b: Option<u64>,
    /// Whether A is stored as k×m.
    pub transpose_a: bool,
    /// Whether B is stored as n×k.
    pub transpose_b: bool,
    /// Factor of the product.
    pub alpha: f64,
    /// Factor of C. With zero, C is not read.
    pub beta: f64,
    /// How wide an element of C is.
    pub stored: OutputWidth,
    /// What is done with each element before it is stored.
    pub epilogue: Epilogue,
    /// How precisely products of fp8 are summed.
    pub accumulation: Accumulation,
    /// What A, B and C are filled with.
    pub init: Init,
}

/// How wide the elements of a product are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutputWidth {
    /// As libraries have it by default: bf16 as f32, i8 as i32, fp8 as bf16, all else as the
    /// inputs.
    Wide,
    /// As the inputs, so that the next operation can go on with it.
    AsInputs,
}

named!(OutputWidth, "width of a result", Wide = "wide", AsInputs = "as-inputs");

/// What a library does with an element of a product before it stores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Epilogue {
    /// Nothing.
    None,
    /// Adds the element of its column in a vector.
    Bias,
    /// Adds it, and takes [`ElementwiseOp::Gelu`] of the sum.
    Gelu,
}

named!(Epilogue, "epilogue", None = "none", Bias = "bias", Gelu = "gelu");

/// How a library sums products of fp8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Accumulation {
    /// In f32: sums of the matrix unit are promoted from time to time.
    Full,
    /// In the matrix unit alone.
    Fast,
}

named!(Accumulation, "accumulation", Full = "full", Fast = "fast");

/// What the matrices of a product hold. GPUs run at higher clocks where fewer bits change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Init {
    /// Numbers at random.
    Random,
    /// Sines and cosines of the position.
    Trigonometric,
    /// One number everywhere.
    Constant,
}

named!(
    Init,
    "kind of input",
    Random = "random",
    Trigonometric = "trigonometric",
    Constant = "constant"
);

impl Gemm {
    /// One plain product: no transposes, alpha 1, beta 0.
    pub const fn new(dtype: Dtype, m: u64, n: u64, k: u64) -> Self {
        Self {
            dtype,
            m,
            n,
            k,
            batch: 1,
            stride_b: None,
            transpose_a: false,
            transpose_b: false,
            alpha: 1.0,
            beta: 0.0,
            stored: OutputWidth::Wide,
            epilogue: Epilogue::None,
            accumulation: Accumulation::Full,
            init: Init::Random,
        }
    }

    /// Largest error that sums left to the matrix unit add to the result, over its largest value.
    /// Hopper adds 32 products of fp8 at a time to a sum of about 14 bits and truncates it
    /// ([DeepSeek-V3](https://arxiv.org/abs/2412.19437), section 3.3.2, which measured 2 % at k =
    /// 4096).
    pub fn accumulation_error(&self) -> f64 {
        match self.accumulation {
            Accumulation::Full => 0.0,
            Accumulation::Fast => ((self.k as f64 / 32.0).ceil() * 2.0_f64.powi(-13)).min(0.05),
        }
    }

    /// Type of an element of C.
    pub const fn output_dtype(&self) -> Dtype {
        match (self.stored, self.dtype) {
            // tf32 is a way to multiply numbers that are f32 in memory.
            (OutputWidth::Wide, Dtype::Bf16) | (_, Dtype::Tf32) => Dtype::F32,
            (OutputWidth::Wide, Dtype::I8) => Dtype::I32,
            (OutputWidth::Wide, Dtype::Fp8) => Dtype::Bf16,
            (_, other) => other,
        }
    }

    /// Whether C is narrower than a product of this type usually is.
    pub fn is_narrowed(&self) -> bool {
        self.output_dtype() != (Self { stored: OutputWidth::Wide, ..*self }).output_dtype()
    }

    /// Elements from one matrix of B to the next.
    pub fn stride_b(&self) -> u64 {
        self.stride_b.unwrap_or(product(&[self.k, self.n]))
    }

    /// Whether C is read.
    pub fn reads_c(&self) -> bool {
        self.beta != 0.0
    }

    /// Which of its buffers is C, the last: behind A, B and, where there is one, the bias of n
    /// elements.
    pub fn c_index(&self) -> usize {
        if self.epilogue == Epilogue::None { 2 } else { 3 }
    }

    pub(super) fn buffers(&self) -> Vec<BufferSpec> {
        let role = if self.reads_c() { Role::InOut } else { Role::Output };
        let mut all = vec![
            BufferSpec::new(Role::Input, self.dtype, product(&[self.batch, self.m, self.k])),
            BufferSpec::new(Role::Input, self.dtype, product(&[self.batch, self.stride_b()])),
        ];
        if self.epilogue != Epilogue::None {
            all.push(BufferSpec::new(Role::Input, self.output_dtype(), self.n));
        }
        all.push(BufferSpec::new(
            role,
            self.output_dtype(),
            product(&[self.batch, self.m, self.n]),
        ));
        all
    }

    /// Refuses epilogues, algorithm searches and fast accumulation, for a provider (`who`) that
    /// supports only plain products.
    ///
    /// # Errors
    /// When there is an epilogue, several algorithms are to be tried, or sums are to be fast.
    pub fn check_plain(&self, options: &Options, who: &str) -> Result<(), DeviceError> {
        if self.accumulation == Accumulation::Fast {
            let cure = "choose provider=cublaslt on an NVIDIA GPU, or accumulation=full";
            return Err(DeviceError::Unsupported(Reason::new(
                "accumulation=fast",
                format!("{who} have one way"),
                cure,
            )));
        }
        let (what, why) = match (self.epilogue, options.algorithms) {
            (Epilogue::None, None) => return Ok(()),
            (Epilogue::None, Some(_)) => ("several algorithms of gemm".to_owned(), "have one"),
            (epilogue, _) => (format!("gemm with epilogue {epilogue}"), "make the product alone"),
        };
        let cure = "choose provider=hipblaslt or cublaslt on a GPU that has it, or leave it out";
        Err(DeviceError::Unsupported(Reason::new(what, format!("{who} {why}"), cure)))
    }

    /// The product alone, as is customary.
    pub(super) fn flops(&self) -> f64 {
        2.0 * self.batch as f64 * self.m as f64 * self.n as f64 * self.k as f64
    }
}

/// Multiply-adds of random operands in registers, in as many independent chains as keep every unit
/// busy. The one output is 1 where every chain ended as it should; on a CPU, plus the largest
/// relative error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeakArithmetic {
    /// Type of an element.
    pub dtype: Dtype,
    /// Operations in one launch over all threads, a multiple of [`PeakArithmetic::UNIT`].
    pub operations: u64,
}

impl PeakArithmetic {
    /// What one indivisible piece of work is a multiple of, for any width of vector.
    pub const UNIT: u64 = 2 * 12 * 16 * 64;

    /// Type of the one output: f32 where nothing else is made of the type itself.
    pub const fn result_dtype(&self) -> Dtype {
        match self.dtype {
            Dtype::Tf32 | Dtype::Fp8 | Dtype::Bf8 | Dtype::Fp6 | Dtype::Fp4 | Dtype::I4 => {
                Dtype::F32
            }
            other => other,
        }
    }
}

/// Saturates, so that an absurd size is refused for want of memory instead of overflowing.
pub(super) fn product(sizes: &[u64]) -> u64 {
    sizes.iter().fold(1, |all, &size| all.saturating_mul(size))
}
