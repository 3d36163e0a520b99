//! Plans of operations on tensors.

use super::{
    Argument, DeviceError, LaunchPlan, Planner, SHARING_BLOCKS_PER_UNIT, provider,
    unsupported_error,
};
use rsb_device::held::convolution_sizes;
use rsb_device::operation::{
    Attention, Convolution, Elementwise, ElementwiseOp, Gemm, LAYER_NORM_EPSILON, Normalize,
    NormalizeOp, QuantizedProduct, Rearrange, Reduce, ReduceOp,
};
use rsb_model::Dtype;

use Argument::{Buffer, Count, Counter, Number, Scratch};

/// Rows and columns of C per block of the tiled kernel.
const TILE: u64 = 64;

/// Largest number of rows of A for which low-bit weights are dequantized in registers: every four
/// rows need another pass over the weights.
const FEW_ROWS: u64 = 16;

/// Rows of low-bit weights per block.
const WEIGHT_ROWS: u64 = 8;

/// Largest head dimension: shared memory holds two tiles of it.
const WIDEST_HEAD: u64 = 128;

impl Planner<'_> {
    pub(super) fn elementwise(&self, op: &Elementwise) -> Result<LaunchPlan, DeviceError> {
        let stem = match op.op {
            ElementwiseOp::Add => "rsb_add",
            ElementwiseOp::Multiply => "rsb_multiply",
            ElementwiseOp::Relu => "rsb_relu",
            ElementwiseOp::Gelu => "rsb_gelu",
            ElementwiseOp::Sigmoid => "rsb_sigmoid",
        };
        let mut arguments: Vec<Argument> = (0..=op.op.inputs()).map(Buffer).collect();
        arguments.push(Count(op.elements));
        self.plan_strided(stem, Some(op.dtype), arguments, op.dtype.bytes(op.elements).div_ceil(16))
    }

    pub(super) fn reduce(&self, op: Reduce) -> Result<LaunchPlan, DeviceError> {
        let words = Scratch { bytes_per_block: 8 };
        let (stem, second) = match op.op {
            ReduceOp::Sum => ("rsb_sum", Number(1.0)),
            ReduceOp::Mean => ("rsb_sum", Number(1.0 / op.elements.max(1) as f64)),
            ReduceOp::Max => ("rsb_max", words),
            ReduceOp::Argmax => ("rsb_argmax", words),
        };
        let arguments = vec![Buffer(0), Count(op.elements), second, words, Counter, Buffer(1)];
        self.plan_strided(stem, Some(op.dtype), arguments, op.dtype.bytes(op.elements).div_ceil(16))
    }

    pub(super) fn normalize(&self, op: &Normalize) -> Result<LaunchPlan, DeviceError> {
        let stem = match op.op {
            NormalizeOp::Softmax => "rsb_softmax",
            NormalizeOp::LayerNorm => "rsb_layer_norm",
            NormalizeOp::RmsNorm => "rsb_rms_norm",
        };
        let mut arguments: Vec<Argument> = (0..=op.op.inputs()).map(Buffer).collect();
        arguments.extend([Count(op.rows), Count(op.columns)]);
        if op.op != NormalizeOp::Softmax {
            arguments.push(Number(LAYER_NORM_EPSILON));
        }
        // One block per row, up to the number that the GPU can hold; blocks loop over the remaining
        // rows.
        let most = u64::from(self.gpu.units.max(1) * 4 * SHARING_BLOCKS_PER_UNIT);
        self.exactly(stem, Some(op.dtype), arguments, op.rows.clamp(1, most) as u32)
    }

    pub(super) fn attention(&self, op: &Attention) -> Result<LaunchPlan, DeviceError> {
        op.check()?;
        if op.head_dim > WIDEST_HEAD {
            return Err(unsupported_error(
                &format!("fused attention with heads of {}", op.head_dim),
                format!("shared memory has space for heads of at most {WIDEST_HEAD}"),
                "choose attention=staged, or shorter heads",
            ));
        }
        let heads = op.batch * op.kv_heads;
        let group = op.heads / op.kv_heads;
        let sizes = [
            heads,
            group,
            op.queries,
            op.positions,
            op.capacity,
            op.head_dim,
            u64::from(op.causal),
        ];
        let mut arguments: Vec<Argument> =
            (0..4).map(Buffer).chain(sizes.into_iter().map(Count)).collect();
        arguments.push(Number(1.0 / (op.head_dim as f64).sqrt()));
        // A tile has 128 bytes of scores per row. With a single query, most of it would be unused.
        let side = if op.dtype == Dtype::F64 { 16 } else { 32 };
        let tiles = heads.saturating_mul(op.rows_of_keys().div_ceil(side));
        let (stem, blocks) = if op.queries == 1 {
            ("rsb_attention_row", op.rows())
        } else {
            ("rsb_attention", tiles)
        };
        self.exactly(stem, Some(op.dtype), arguments, blocks.min(1 << 30) as u32)
    }

    pub(super) fn quantized_product(
        &self,
        op: &QuantizedProduct,
    ) -> Result<LaunchPlan, DeviceError> {
        op.check()?;
        let sizes = [op.m, op.n, op.k, op.group, op.weights.bits()];
        let arguments = (0..4).map(Buffer).chain(sizes.into_iter().map(Count)).collect();
        let (stem, blocks) = if op.m <= FEW_ROWS {
            ("rsb_quantized_rows", op.n.div_ceil(WEIGHT_ROWS))
        } else {
            ("rsb_quantized_tiled", op.m.div_ceil(TILE).saturating_mul(op.n.div_ceil(TILE)))
        };
        self.exactly(stem, Some(op.dtype), arguments, blocks.min(1 << 30) as u32)
    }

    pub(super) fn rearrange(&self, op: &Rearrange) -> Result<LaunchPlan, DeviceError> {
        if !op.fits() {
            return Err(unsupported_error(
                "rearrange",
                "its rows exceed the capacity, or have an odd length and cannot be rotated",
                "choose a larger capacity, or an even row length",
            ));
        }
        let sizes = [op.batch, op.rows, op.columns, op.width, op.capacity, op.position];
        let arguments =
            (0..=op.y_index()).map(Buffer).chain(sizes.into_iter().map(Count)).collect();
        let (stem, each) = if op.rotary { ("rsb_rotate", 2) } else { ("rsb_rearrange", 1) };
        self.plan_strided(stem, Some(op.dtype), arguments, op.elements() / each)
    }

    pub(super) fn convolution(&self, op: &Convolution) -> Result<LaunchPlan, DeviceError> {
        let sizes = convolution_sizes(op)?;
        let arguments = (0..3).map(Buffer).chain(sizes.into_iter().map(Count)).collect();
        self.plan_strided("rsb_convolution", Some(op.dtype), arguments, op.output_elements())
    }

    /// Plans the tiled kernel, unless the naive one is requested or both sides of C are shorter
    /// than a quarter of a tile. Results narrower than the default have a separate kernel.
    pub(super) fn gemm(&self, op: &Gemm) -> Result<LaunchPlan, DeviceError> {
        op.check_plain(self.options, "the kernels of this program")?;
        op.check_packed("the kernels of this program").map_err(DeviceError::Unsupported)?;
        let naive = match self.options.provider.as_deref() {
            Some("native-naive") => true,
            None | Some("native") => op.m.max(op.n) < TILE / 4,
            Some(other) => {
                return Err(provider(
                    other,
                    "gemm",
                    "rocblas, hipblaslt, cublas or cublaslt, native and native-naive",
                ));
            }
        };
        let mut arguments: Vec<Argument> = (0..3).map(Buffer).collect();
        arguments.extend([op.m, op.n, op.k, op.batch, op.stride_b()].map(Count));
        arguments.extend([op.transpose_a, op.transpose_b].map(|flag| Count(u64::from(flag))));
        arguments.extend([op.alpha, op.beta].map(Number));
        if op.is_narrowed() {
            if naive && self.options.provider.is_some() {
                return Err(provider(
                    "native-naive",
                    "gemm with a narrow result",
                    "rocblas or cublas, and native",
                ));
            }
            return self.exactly("rsb_gemm_narrow", Some(op.dtype), arguments, tiles(op));
        }
        if naive {
            let elements = op.m.saturating_mul(op.n).saturating_mul(op.batch);
            return self.plan_strided("rsb_gemm_naive", Some(op.dtype), arguments, elements);
        }
        self.exactly("rsb_gemm_tiled", Some(op.dtype), arguments, tiles(op))
    }
}

/// Returns the number of blocks that cover all of C.
fn tiles(op: &Gemm) -> u32 {
    let tiles = op.m.div_ceil(TILE).saturating_mul(op.n.div_ceil(TILE)).saturating_mul(op.batch);
    u32::try_from(tiles).unwrap_or(1 << 30).min(1 << 30)
}
