//! Operations on tensors: element-wise, reductions, normalizations, convolutions, matrix products.

use rsb_model::{Dtype, Reason};
use serde::{Deserialize, Serialize};

use super::{BufferSpec, Options, Role, named};
use crate::error::DeviceError;

/// `y = f(x)` or `y = f(x, z)`. Integer types saturate and round to the nearest value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Elementwise {
    /// The function.
    pub op: ElementwiseOp,
    /// Type of an element.
    pub dtype: Dtype,
    /// Elements in each buffer.
    pub elements: u64,
}

rsb_model::named_enum! {
    serde
    /// The function of an [`Elementwise`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum ElementwiseOp {
        /// x + z.
        Add = "add",
        /// x · z.
        Multiply = "multiply",
        /// max(x, 0).
        Relu = "relu",
        /// ½x·(1 + tanh(√(2/π)·(x + 0.044715x³))): the tanh form of GELU, as transformers use it.
        Gelu = "gelu",
        /// 1 / (1 + e⁻ˣ).
        Sigmoid = "sigmoid",
    }
}

named!(ElementwiseOp, "element-wise operation");

impl ElementwiseOp {
    /// Returns the number of inputs, one or two.
    pub const fn inputs(self) -> usize {
        match self {
            Self::Add | Self::Multiply => 2,
            Self::Relu | Self::Gelu | Self::Sigmoid => 1,
        }
    }

    /// Returns the operations of the usual formula with one exponential: x / (1 + e^(−2u)) for
    /// GELU.
    pub(super) const fn flops_per_element(self) -> f64 {
        match self {
            Self::Add | Self::Multiply | Self::Relu => 1.0,
            Self::Sigmoid => 4.0,
            Self::Gelu => 8.0,
        }
    }
}

/// Reduction of all elements to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reduce {
    /// The function.
    pub op: ReduceOp,
    /// Type of an element.
    pub dtype: Dtype,
    /// Elements of the input.
    pub elements: u64,
}

rsb_model::named_enum! {
    serde
    /// The function of a [`Reduce`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum ReduceOp {
        /// Σx.
        Sum = "sum",
        /// Largest element.
        Max = "max",
        /// Σx / n.
        Mean = "mean",
        /// Position of the largest element.
        Argmax = "argmax",
    }
}

named!(ReduceOp, "reduction");

impl Reduce {
    /// Returns the output buffer: a word for a position, otherwise at least f32, since sums of
    /// 16-bit elements overflow their own type.
    pub(super) const fn output(&self) -> BufferSpec {
        match (self.op, self.dtype) {
            (ReduceOp::Argmax, _) => BufferSpec::word(Role::Output),
            (_, Dtype::F64) => BufferSpec::new(Role::Output, Dtype::F64, 1),
            _ => BufferSpec::new(Role::Output, Dtype::F32, 1),
        }
    }
}

/// Normalization along each row of a matrix of `rows` by `columns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Normalize {
    /// The function.
    pub op: NormalizeOp,
    /// Type of an element.
    pub dtype: Dtype,
    /// Rows, normalized independently.
    pub rows: u64,
    /// Elements of a row.
    pub columns: u64,
}

rsb_model::named_enum! {
    serde
    /// The function of a [`Normalize`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum NormalizeOp {
        /// eˣ / Σeˣ, after subtracting the largest element.
        Softmax = "softmax",
        /// (x − mean) / √(variance + 10⁻⁵) · gain + bias. Gain and bias are the second and third
        /// buffer.
        LayerNorm = "layer-norm",
        /// x / √(mean of x² + 10⁻⁵) · gain. The gain is the second buffer.
        RmsNorm = "rms-norm",
    }
}

named!(NormalizeOp, "normalization");

impl NormalizeOp {
    /// Returns the number of inputs: the matrix, and the gain and bias rows with one element per
    /// column.
    pub const fn inputs(self) -> usize {
        match self {
            Self::Softmax => 1,
            Self::RmsNorm => 2,
            Self::LayerNorm => 3,
        }
    }

    /// Returns the operations per element. Softmax: compare, subtract, exponential, add, divide.
    /// Layer norm: two sums, difference, square, and three to finish. RMS norm: square, sum, and
    /// two to finish.
    pub(super) const fn flops_per_element(self) -> f64 {
        match self {
            Self::Softmax => 5.0,
            Self::LayerNorm => 7.0,
            Self::RmsNorm => 4.0,
        }
    }
}

impl Normalize {
    /// Returns the number of elements of the whole matrix.
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

/// 2-D convolution (cross-correlation, as in every framework): input NCHW, weights (out, in /
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
    /// Step between output points, in both dimensions.
    pub stride: u64,
    /// Zeros added on each side of the input, in both dimensions.
    pub padding: u64,
    /// Step between kernel elements, in both dimensions.
    pub dilation: u64,
    /// Groups of channels that are convolved separately.
    pub groups: u64,
}

impl Convolution {
    /// Returns the rows and columns of the output; `None` if the kernel does not fit, the groups do
    /// not divide the channels, or a size is zero.
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

    /// Returns the number of terms in the sum of one output element.
    pub fn terms(&self) -> u64 {
        (self.in_channels / self.groups.max(1)) * self.kernel_height * self.kernel_width
    }

    /// Returns the number of elements of the output; zero if the sizes are invalid.
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

/// C ← epilogue(alpha·op(A)·op(B) + beta·C) for each of `batch` consecutive matrices, all
/// row-major. op(A) is m×k, op(B) is k×n, C is m×n. [`Gemm::layouts`] returns their positions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Gemm {
    /// Type of an element of A and B. By default C is f32 for bf16, i32 for i8 and bf16 for fp8, as
    /// in every library that supports these types.
    pub dtype: Dtype,
    /// Rows of C.
    pub m: u64,
    /// Columns of C.
    pub n: u64,
    /// Length of the sums.
    pub k: u64,
    /// Products in one launch.
    pub batch: u64,
    /// Elements from one row of A, as stored, to the next; `None` if there are no gaps. At least
    /// the length of a row.
    pub ld_a: Option<u64>,
    /// As `ld_a`, for B.
    pub ld_b: Option<u64>,
    /// As `ld_a`, for C.
    pub ld_c: Option<u64>,
    /// Elements from one matrix of A to the next; `None` if there are no gaps. At least the size of
    /// a matrix.
    pub stride_a: Option<u64>,
    /// As `stride_a`, for B.
    pub stride_b: Option<u64>,
    /// As `stride_a`, for C.
    pub stride_c: Option<u64>,
    /// Whether A is stored as k×m.
    pub transpose_a: bool,
    /// Whether B is stored as n×k.
    pub transpose_b: bool,
    /// Scale factor of the product.
    pub alpha: f64,
    /// Scale factor of C. If zero, C is not read.
    pub beta: f64,
    /// Width of an element of C: wide, or that of the inputs.
    pub stored: OutputWidth,
    /// Operation on each element before it is stored.
    pub epilogue: Epilogue,
    /// Precision of sums of fp8 products.
    pub accumulation: Accumulation,
    /// Initial contents of A, B and C.
    pub init: Init,
}

rsb_model::named_enum! {
    serde
    /// Width of the elements of a product.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum OutputWidth {
        /// Default of libraries: f32 for bf16, i32 for i8, bf16 for fp8, otherwise the input type.
        Wide = "wide",
        /// The input type, so that the next operation can use the result.
        AsInputs = "as-inputs",
    }
}

named!(OutputWidth, "output width");

rsb_model::named_enum! {
    serde
    /// Operation that a library applies to an element of a product before storing it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Epilogue {
        /// No operation.
        None = "none",
        /// Adds the bias of the element's column.
        Bias = "bias",
        /// Adds the bias, and applies [`ElementwiseOp::Gelu`] to the sum.
        Gelu = "gelu",
    }
}

named!(Epilogue, "epilogue");

rsb_model::named_enum! {
    serde
    /// How a library accumulates fp8 products.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Accumulation {
        /// In f32: partial sums of the matrix unit are added to f32 sums at intervals.
        Full = "full",
        /// Only in the matrix unit, at its lower precision.
        Fast = "fast",
    }
}

named!(Accumulation, "accumulation");

rsb_model::named_enum! {
    serde
    /// Contents of the matrices of a product. GPUs run at higher clocks if fewer bits change.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Init {
        /// Random numbers.
        Random = "random",
        /// Sines and cosines of the position.
        Trigonometric = "trigonometric",
        /// The same number everywhere.
        Constant = "constant",
    }
}

named!(Init, "type of input");

impl Gemm {
    /// Creates one plain product: no transposes, alpha 1, beta 0.
    pub const fn new(dtype: Dtype, m: u64, n: u64, k: u64) -> Self {
        Self {
            dtype,
            m,
            n,
            k,
            batch: 1,
            ld_a: None,
            ld_b: None,
            ld_c: None,
            stride_a: None,
            stride_b: None,
            stride_c: None,
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

    /// Returns the largest error of accumulation in the matrix unit, relative to the largest value
    /// of the result. Hopper adds 32 products of fp8 at a time to a sum of about 14 bits and
    /// truncates the sum ([DeepSeek-V3](https://arxiv.org/abs/2412.19437), section 3.3.2; the error
    /// measured there is 2 % at k = 4096).
    pub fn accumulation_error(&self) -> f64 {
        match self.accumulation {
            Accumulation::Full => 0.0,
            Accumulation::Fast => ((self.k as f64 / 32.0).ceil() * 2.0_f64.powi(-13)).min(0.05),
        }
    }

    /// Returns the type of an element of C.
    pub const fn output_dtype(&self) -> Dtype {
        match (self.stored, self.dtype) {
            // tf32 is f32 in memory; only the multiplication differs.
            (OutputWidth::Wide, Dtype::Bf16) | (_, Dtype::Tf32) => Dtype::F32,
            (OutputWidth::Wide, Dtype::I8) => Dtype::I32,
            (OutputWidth::Wide, Dtype::Fp8) => Dtype::Bf16,
            (_, other) => other,
        }
    }

    /// Returns whether C is narrower than the default for this type.
    pub fn is_narrowed(&self) -> bool {
        self.output_dtype() != (Self { stored: OutputWidth::Wide, ..*self }).output_dtype()
    }

    /// Returns the number of elements from one matrix of B to the next.
    pub fn stride_b(&self) -> u64 {
        let [_, b, _] = self.layouts();
        b.stride
    }

    /// Returns whether C is read.
    pub fn reads_c(&self) -> bool {
        self.beta != 0.0
    }

    /// Returns the index of C among the buffers, the last: after A, B and, with an epilogue, the
    /// bias of n elements.
    pub fn c_index(&self) -> usize {
        if self.epilogue == Epilogue::None { 2 } else { 3 }
    }

    pub(super) fn buffers(&self) -> Vec<BufferSpec> {
        let role = if self.reads_c() { Role::InOut } else { Role::Output };
        let [a, b, c] = self.layouts().map(|layout| product(&[self.batch, layout.stride]));
        let mut all = vec![
            BufferSpec::new(Role::Input, self.dtype, a),
            BufferSpec::new(Role::Input, self.dtype, b),
        ];
        if self.epilogue != Epilogue::None {
            all.push(BufferSpec::new(Role::Input, self.output_dtype(), self.n));
        }
        all.push(BufferSpec::new(role, self.output_dtype(), c));
        all
    }

    /// Rejects epilogues, algorithm searches and fast accumulation, for a provider (`who`) that
    /// supports only plain products.
    ///
    /// # Errors
    /// If there is an epilogue, several algorithms are to be tried, or accumulation is fast.
    pub fn check_plain(&self, options: &Options, who: &str) -> Result<(), DeviceError> {
        if self.accumulation == Accumulation::Fast {
            let cure = "choose provider=cublaslt on an NVIDIA GPU, or accumulation=full";
            return Err(DeviceError::Unsupported(Reason::new(
                "accumulation=fast",
                format!("{who} have only one accumulation mode"),
                cure,
            )));
        }
        let (what, why) = match (self.epilogue, options.algorithms) {
            (Epilogue::None, None) => return Ok(()),
            (Epilogue::None, Some(_)) => {
                ("gemm with several algorithms".to_owned(), "have only one algorithm")
            }
            (epilogue, _) => (format!("gemm with epilogue {epilogue}"), "do not support epilogues"),
        };
        let cure = "choose provider=hipblaslt or cublaslt on a GPU that supports it, or omit the \
                    option";
        Err(DeviceError::Unsupported(Reason::new(what, format!("{who} {why}"), cure)))
    }

    /// Returns the operations of the product only, as is customary.
    pub(super) fn flops(&self) -> f64 {
        2.0 * self.batch as f64 * self.m as f64 * self.n as f64 * self.k as f64
    }
}

/// Multiply-adds of random operands in registers, in enough independent chains to keep every unit
/// busy. The single output element is 1 if every chain ended with the expected value. On a CPU, it
/// is 1 plus the largest relative error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeakArithmetic {
    /// Type of an element.
    pub dtype: Dtype,
    /// Operations per launch over all threads, a multiple of [`PeakArithmetic::UNIT`].
    pub operations: u64,
}

impl PeakArithmetic {
    /// Granularity of `operations`, valid for any vector width.
    pub const UNIT: u64 = 2 * 12 * 16 * 64;

    /// Returns the type of the output element: f32 if the data type cannot store results.
    pub const fn result_dtype(&self) -> Dtype {
        match self.dtype {
            Dtype::Tf32 | Dtype::Fp8 | Dtype::Bf8 | Dtype::Fp6 | Dtype::Fp4 | Dtype::I4 => {
                Dtype::F32
            }
            other => other,
        }
    }
}

/// Multiplies sizes and saturates, so that an absurd size is rejected as too large.
pub(super) fn product(sizes: &[u64]) -> u64 {
    sizes.iter().fold(1, |all, &size| all.saturating_mul(size))
}
