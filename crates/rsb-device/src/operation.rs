//! Operations that a device can run, as data: one point of one operation with its sizes and types.
//!
//! Every backend turns an [`Operation`] into its own kernel; the f64 reference computes the
//! expected result.

mod attention;
mod collective;
mod host;
mod layout;
mod quantized;
mod rows;
mod tensor;
mod traffic;

pub use attention::Attention;
pub use collective::{
    Collective, CollectiveKind, CollectiveLane, CollectiveLauncher, CollectivePart, Placement,
};
pub use host::{HostMemory, Launch, LaunchMode, Transfer, TransferDirection};
pub use layout::MatrixLayout;
pub use quantized::{QuantizedProduct, pack_weights};
pub use rows::{Gather, Rearrange};
pub use tensor::{
    Accumulation, Convolution, Elementwise, ElementwiseOp, Epilogue, Gemm, Init, Normalize,
    NormalizeOp, OutputWidth, PeakArithmetic, Reduce, ReduceOp,
};
pub use traffic::{Allocate, Churn, MemoryStream, PointerChase, Stores, StreamPattern, Touch};

use rsb_model::Dtype;
use serde::{Deserialize, Serialize};

/// The factor s of [`StreamPattern::Write`] and [`StreamPattern::Triad`], as in the STREAM
/// benchmark.
pub const STREAM_SCALAR: f64 = 3.0;

/// Value that layer norm and RMS norm add under the square root.
pub const LAYER_NORM_EPSILON: f64 = 1e-5;

/// One point of one operation. Sizes are in elements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "operation")]
pub enum Operation {
    /// Memory traffic, after the STREAM benchmark.
    Stream(MemoryStream),
    /// Dependent reads along a random cycle, which measure memory latency.
    PointerChase(PointerChase),
    /// `y = f(x)` or `y = f(x, z)`, element by element.
    Elementwise(Elementwise),
    /// Reduction of all elements to one.
    Reduce(Reduce),
    /// Softmax, layer norm or RMS norm along rows.
    Normalize(Normalize),
    /// Attention of queries to keys and values, in one kernel.
    Attention(Attention),
    /// Rows moved to the order that attention needs.
    Rearrange(Rearrange),
    /// Rows of a table, selected by indices.
    Gather(Gather),
    /// 2-D convolution, NCHW.
    Convolution(Convolution),
    /// C ← epilogue(alpha·op(A)·op(B) + beta·C), row-major, batched.
    Gemm(Gemm),
    /// Matrix product with low-bit weights.
    Quantized(QuantizedProduct),
    /// Independent multiply-adds in registers, which measure the peak arithmetic rate.
    PeakArithmetic(PeakArithmetic),
    /// Memory allocated from the system and freed.
    Allocate(Allocate),
    /// Many allocations of many sizes, freed and replaced at random.
    Churn(Churn),
    /// Bytes copied between host and device, or within the device.
    Transfer(Transfer),
    /// Empty kernels.
    Launch(Launch),
}

/// Use of a buffer by a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Read only. Filled before the first launch.
    Input,
    /// Written only. No result may depend on its previous contents.
    Output,
    /// Read and written. Filled before the first launch.
    InOut,
}

/// One buffer of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferSpec {
    /// Use by the kernel.
    pub role: Role,
    /// Type of an element.
    pub dtype: Dtype,
    /// Number of elements.
    pub elements: u64,
}

impl BufferSpec {
    /// Creates a spec for `elements` of `dtype`.
    pub const fn new(role: Role, dtype: Dtype, elements: u64) -> Self {
        Self { role, dtype, elements }
    }

    /// Creates a spec for one unsigned 64-bit little-endian word, stored as eight `i8`: a checksum,
    /// an index, a position.
    pub const fn word(role: Role) -> Self {
        Self::new(role, Dtype::I8, 8)
    }

    /// Returns the size in bytes. Saturates if no device has that much memory.
    pub const fn bytes(&self) -> u64 {
        if self.elements > u64::MAX / 64 { u64::MAX } else { self.dtype.bytes(self.elements) }
    }
}

/// Implementation choices for an operation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// CPU threads; `None` for one. Ignored by GPUs.
    pub threads: Option<u32>,
    /// Library to use (`gemm`, `openblas`, `mkl`, `onednn`, `rocblas`); `None` for the device's
    /// choice.
    pub provider: Option<String>,
    /// Number of the library's algorithms to time in order to use the fastest; `None` for the
    /// library's first choice.
    pub algorithms: Option<u32>,
    /// Threads in a block of a GPU kernel; `None` for the kernel's default.
    pub block_size: Option<u32>,
}

impl Operation {
    /// Returns the buffers of the operation, in the order that a device expects.
    pub fn buffers(&self) -> Vec<BufferSpec> {
        match self {
            Self::Stream(stream) => stream.buffers(),
            Self::PointerChase(chase) => {
                vec![
                    BufferSpec::new(Role::Input, Dtype::I8, chase.bytes()),
                    BufferSpec::word(Role::InOut),
                ]
            }
            Self::Elementwise(op) => {
                let mut all =
                    vec![BufferSpec::new(Role::Input, op.dtype, op.elements); op.op.inputs()];
                all.push(BufferSpec::new(Role::Output, op.dtype, op.elements));
                all
            }
            Self::Reduce(op) => {
                vec![BufferSpec::new(Role::Input, op.dtype, op.elements), op.output()]
            }
            Self::Normalize(op) => op.buffers(),
            Self::Attention(op) => op.buffers(),
            Self::Rearrange(op) => op.buffers(),
            Self::Gather(op) => op.buffers(),
            Self::Convolution(op) => op.buffers(),
            Self::Gemm(op) => op.buffers(),
            Self::Quantized(op) => op.buffers(),
            Self::PeakArithmetic(op) => vec![BufferSpec::new(Role::Output, op.result_dtype(), 1)],
            Self::Allocate(_) | Self::Launch(_) => Vec::new(),
            Self::Transfer(op) => op.buffers(),
            Self::Churn(_) => vec![BufferSpec::new(Role::Output, Dtype::F64, 2)],
        }
    }

    /// Returns the bytes of memory that the operation uses, including all its buffers.
    pub fn footprint_bytes(&self) -> u64 {
        self.buffers()
            .iter()
            .fold(self.hidden_bytes(), |sum, buffer| sum.saturating_add(buffer.bytes()))
    }

    /// Returns the bytes of memory used in addition to the buffers.
    fn hidden_bytes(&self) -> u64 {
        match self {
            Self::Allocate(allocate) => allocate.bytes,
            Self::Churn(churn) => churn.live_bytes.saturating_mul(2),
            _ => 0,
        }
    }

    /// Returns the arithmetic operations of one launch: a multiply-add counts as two, a
    /// transcendental function as one.
    pub fn flops(&self) -> f64 {
        match self {
            Self::Stream(stream) => match stream.pattern {
                StreamPattern::Triad => 2.0 * stream.elements as f64,
                StreamPattern::ReadWrite => stream.elements as f64,
                StreamPattern::Read | StreamPattern::Write | StreamPattern::Copy => 0.0,
            },
            Self::Elementwise(op) => op.op.flops_per_element() * op.elements as f64,
            Self::Reduce(op) => op.elements as f64,
            Self::Normalize(op) => op.op.flops_per_element() * op.elements() as f64,
            Self::Attention(op) => op.flops(),
            Self::Convolution(op) => op.flops(),
            Self::Gemm(op) => op.flops(),
            Self::Quantized(op) => op.flops(),
            Self::PeakArithmetic(op) => op.operations as f64,
            // A complex product takes four multiplications and two additions for two elements.
            Self::Rearrange(op) if op.rotary => 3.0 * op.elements() as f64,
            Self::PointerChase(_)
            | Self::Rearrange(_)
            | Self::Gather(_)
            | Self::Allocate(_)
            | Self::Churn(_)
            | Self::Transfer(_)
            | Self::Launch(_) => 0.0,
        }
    }

    /// Returns the bytes that one launch requests, counted as STREAM does: each input read once,
    /// each output written once, regardless of caches.
    pub fn bytes_moved(&self) -> f64 {
        match self {
            Self::PointerChase(chase) => chase.accesses as f64 * 8.0,
            Self::Attention(op) => op.bytes_moved(),
            Self::Rearrange(op) => {
                2.0 * op.dtype.bytes(op.elements()) as f64 + op.dtype.bytes(op.angles()) as f64
            }
            Self::Gather(op) => 2.0 * op.dtype.bytes(op.elements()) as f64 + 8.0 * op.rows as f64,
            Self::Transfer(op) => op.bytes_moved(),
            Self::PeakArithmetic(_) | Self::Allocate(_) | Self::Churn(_) | Self::Launch(_) => 0.0,
            // Gaps between rows and matrices are not read.
            Self::Gemm(op) if !op.is_packed() => Self::Gemm(op.without_gaps()).bytes_moved(),
            _ => self
                .buffers()
                .iter()
                .map(|buffer| {
                    buffer.bytes() as f64 * if buffer.role == Role::InOut { 2.0 } else { 1.0 }
                })
                .sum(),
        }
    }

    /// Returns the operations per byte moved; `None` if nothing is moved.
    pub fn arithmetic_intensity(&self) -> Option<f64> {
        let bytes = self.bytes_moved();
        (bytes > 0.0).then(|| self.flops() / bytes)
    }

    /// Returns the type of the elements, if the operation has any.
    pub fn dtype(&self) -> Option<Dtype> {
        match self {
            Self::Stream(op) => Some(op.dtype),
            Self::Elementwise(op) => Some(op.dtype),
            Self::Reduce(op) => Some(op.dtype),
            Self::Normalize(op) => Some(op.dtype),
            Self::Attention(op) => Some(op.dtype),
            Self::Rearrange(op) => Some(op.dtype),
            Self::Gather(op) => Some(op.dtype),
            Self::Convolution(op) => Some(op.dtype),
            Self::Gemm(op) => Some(op.dtype),
            Self::Quantized(op) => Some(op.dtype),
            Self::PeakArithmetic(op) => Some(op.dtype),
            Self::PointerChase(_)
            | Self::Allocate(_)
            | Self::Churn(_)
            | Self::Transfer(_)
            | Self::Launch(_) => None,
        }
    }

    /// Returns a short name for messages: `copy`, `gelu`, `gemm`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Stream(op) => op.pattern.as_str(),
            Self::PointerChase(_) => "pointer-chase",
            Self::Elementwise(op) => op.op.as_str(),
            Self::Reduce(op) => op.op.as_str(),
            Self::Normalize(op) => op.op.as_str(),
            Self::Attention(_) => "attention",
            Self::Rearrange(_) => "rearrange",
            Self::Gather(_) => "gather",
            Self::Convolution(_) => "convolution",
            Self::Gemm(_) => "gemm",
            Self::Quantized(_) => "quantized-product",
            Self::PeakArithmetic(_) => "compute-peak",
            Self::Allocate(_) => "allocate",
            Self::Churn(_) => "churn",
            Self::Transfer(op) => op.direction.as_str(),
            Self::Launch(_) => "launch",
        }
    }
}

/// Implements `FromStr` for a named enum; an error calls its values `$what`.
macro_rules! named {
    ($type:ident, $what:literal) => {
        impl std::str::FromStr for $type {
            type Err = crate::operation::UnknownName;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::find(text).ok_or_else(|| crate::operation::UnknownName {
                    text: text.to_owned(),
                    what: $what,
                    valid: Self::NAMES.join(" "),
                })
            }
        }
    };
}
pub(crate) use named;

/// Error for a text that is not one of the valid names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} `{text}`; expected one of: {valid}")]
pub struct UnknownName {
    pub(crate) text: String,
    pub(crate) what: &'static str,
    pub(crate) valid: String,
}

#[cfg(test)]
mod tests;
