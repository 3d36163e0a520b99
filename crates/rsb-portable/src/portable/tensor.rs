//! Plans of tensor operations.

use rsb_model::{DeviceType, Dtype};

use super::{
    Argument, DeviceError, GROUP, Module, PACK, Plan, Planner, Step, Work, unsupported_error,
};
use rsb_device::held::convolution_sizes;
use rsb_device::operation::{
    Convolution, Elementwise, ElementwiseOp, Gemm, LAYER_NORM_EPSILON, Normalize, NormalizeOp,
    QuantizedProduct, Rearrange, Reduce, ReduceOp,
};

use Argument::{Buffer, Count, Number, Scratch};

/// Rows and columns of C per group of the tiled kernel.
const TILE: u64 = 64;

/// Rows of quantized weights per group.
const WEIGHT_ROWS: u64 = 8;

/// Maximum rows of C for which the naive kernel is used instead of the tiled one.
const FEW_ROWS: u64 = 4;

/// Rows of C in a strip, the part that a work-item of the CPU kernel computes.
const STRIP_ROWS: u64 = 4;

/// Columns of C in a strip.
const STRIP_COLUMNS: u64 = 16;

pub(super) fn elementwise(op: &Elementwise) -> Plan {
    let kernel = match op.op {
        ElementwiseOp::Add => "rsb_add",
        ElementwiseOp::Multiply => "rsb_multiply",
        ElementwiseOp::Relu => "rsb_relu",
        ElementwiseOp::Gelu => "rsb_gelu",
        ElementwiseOp::Sigmoid => "rsb_sigmoid",
    };
    let packs = op.dtype.bytes(op.elements).div_ceil(PACK);
    let mut arguments: Vec<Argument> = (0..=op.op.inputs()).map(Buffer).collect();
    arguments.push(Count(packs));
    Plan::of(
        Module::Elementwise,
        op.dtype,
        vec![Step { kernel, arguments, work: Work::Items(packs) }],
    )
}

pub(super) fn convolution(op: &Convolution) -> Result<Plan, DeviceError> {
    let sizes = convolution_sizes(op)?;
    let arguments = (0..3).map(Buffer).chain(sizes.into_iter().map(Count)).collect();
    let step =
        Step { kernel: "rsb_convolution", arguments, work: Work::Items(op.output_elements()) };
    Ok(Plan::of(Module::Convolution, op.dtype, vec![step]))
}

impl Planner<'_> {
    pub(super) fn reduce(&self, op: Reduce) -> Plan {
        let (share, groups) = self.shares(op.dtype.bytes(op.elements).div_ceil(PACK));
        let (n, share, partials) = (Count(op.elements), Count(share), Count(u64::from(groups)));
        let room = u64::from(groups) * 8;
        let (kernels, first, last, scratch) = match op.op {
            ReduceOp::Sum => {
                let last = vec![Scratch(0), Buffer(1), partials, Number(1.0)];
                (["rsb_sum", "rsb_sum_end"], vec![Buffer(0), Scratch(0), n, share], last, 1)
            }
            ReduceOp::Mean => {
                let factor = 1.0 / op.elements.max(1) as f64;
                let last = vec![Scratch(0), Buffer(1), partials, Number(factor)];
                (["rsb_sum", "rsb_sum_end"], vec![Buffer(0), Scratch(0), n, share], last, 1)
            }
            ReduceOp::Max => {
                let last = vec![Scratch(0), Buffer(1), partials];
                (["rsb_max", "rsb_max_end"], vec![Buffer(0), Scratch(0), n, share], last, 1)
            }
            ReduceOp::Argmax => {
                let first = vec![Buffer(0), Scratch(0), Scratch(1), n, share];
                (
                    ["rsb_argmax", "rsb_argmax_end"],
                    first,
                    vec![Scratch(0), Scratch(1), Buffer(1), partials],
                    2,
                )
            }
        };
        let [kernel, end] = kernels;
        let steps = vec![
            Step { kernel, arguments: first, work: Work::Groups(groups) },
            Step { kernel: end, arguments: last, work: Work::Groups(1) },
        ];
        Plan { scratch: vec![room; scratch], ..Plan::of(Module::Reduce, op.dtype, steps) }
    }

    pub(super) fn rearrange(&self, op: &Rearrange) -> Result<Plan, DeviceError> {
        if !op.fits() {
            return Err(unsupported_error(
                "rearrange",
                "its rows exceed the capacity, or have an odd length and cannot be rotated",
                "choose a larger capacity, or an even row length",
            ));
        }
        self.check_rows("rearrange", op.dtype, op.width)?;
        let sizes = [op.batch, op.rows, op.columns, op.width, op.capacity, op.position];
        let arguments =
            (0..=op.y_index()).map(Buffer).chain(sizes.into_iter().map(Count)).collect();
        let (kernel, each) = if op.rotary { ("rsb_rotate", 2) } else { ("rsb_rearrange", 1) };
        let step = Step { kernel, arguments, work: Work::Items(op.elements() / each) };
        Ok(Plan::of(Module::Memory, op.dtype, vec![step]))
    }

    /// Plans one group per row. If there are more rows than groups, each group processes several
    /// rows.
    pub(super) fn normalize(&self, op: &Normalize) -> Result<Plan, DeviceError> {
        self.check_rows(op.op.as_str(), op.dtype, op.columns)?;
        let kernel = match op.op {
            NormalizeOp::Softmax => "rsb_softmax",
            NormalizeOp::LayerNorm => "rsb_layer_norm",
            NormalizeOp::RmsNorm => "rsb_rms_norm",
        };
        let mut arguments: Vec<Argument> = (0..=op.op.inputs()).map(Buffer).collect();
        arguments.extend([Count(op.rows), Count(op.columns)]);
        if op.op != NormalizeOp::Softmax {
            arguments.push(Number(LAYER_NORM_EPSILON));
        }
        let groups = op.rows.clamp(1, u64::from(self.target.most_groups)) as u32;
        Ok(Plan::of(
            Module::Normalize,
            op.dtype,
            vec![Step { kernel, arguments, work: Work::Groups(groups) }],
        ))
    }

    /// Plans one group per [`WEIGHT_ROWS`] rows of weights. If there are more blocks than groups,
    /// each group processes several.
    pub(super) fn quantized_product(&self, op: &QuantizedProduct) -> Result<Plan, DeviceError> {
        op.check()?;
        self.check_rows("a product with quantized weights", op.dtype, op.n)?;
        let sizes = [op.m, op.n, op.k, op.group, op.weights.bits()];
        let arguments = (0..4).map(Buffer).chain(sizes.into_iter().map(Count)).collect();
        let groups = op.n.div_ceil(WEIGHT_ROWS).min(u64::from(self.target.most_groups)) as u32;
        let step = Step { kernel: "rsb_quantized", arguments, work: Work::Groups(groups) };
        Ok(Plan::of(Module::Quantized, op.dtype, vec![step]))
    }

    /// Plans the tiled kernel, or the strip kernel on a CPU, unless the naive one is requested or C
    /// is small.
    pub(super) fn gemm(&self, op: &Gemm) -> Result<Plan, DeviceError> {
        op.check_plain(self.options, "the kernels of this backend")?;
        op.check_layouts()
            .and_then(|()| op.check_packed("the kernels of this backend"))
            .map_err(DeviceError::Unsupported)?;
        if op.dtype == Dtype::I8 && [op.alpha, op.beta].iter().any(|factor| factor.fract() != 0.0) {
            return Err(unsupported_error(
                "gemm of i8",
                "its sums are integers, but alpha or beta is not",
                "choose integers for alpha and beta",
            ));
        }
        if op.is_narrowed() {
            return Err(unsupported_error(
                &format!("gemm of {} with a result in {}", op.dtype, op.dtype),
                "the kernels of this backend store these products in a wider data type",
                "choose f16 or f32",
            ));
        }
        let mut arguments: Vec<Argument> = (0..3).map(Buffer).collect();
        arguments.extend([op.m, op.n, op.k, op.batch, op.stride_b()].map(Count));
        arguments.extend([op.transpose_a, op.transpose_b].map(|flag| Count(u64::from(flag))));
        arguments.extend([op.alpha, op.beta].map(Number));
        let provider = self.options.provider.as_deref();
        let whole_rows = op.output_dtype().bytes(op.n).is_multiple_of(self.target.store_bytes);
        // With few rows, most of a tile would be empty. The naive kernel reads B efficiently in
        // this case, since adjacent work-items read adjacent columns.
        let flat =
            op.m <= FEW_ROWS && !op.transpose_b && self.target.device_type != DeviceType::Cpu;
        let small = op.m.max(op.n) < TILE / 4 || flat;
        let naive = provider == Some("native-naive")
            || !whole_rows
            || (small && provider != Some("native-tiled"));
        let strips_suit =
            self.target.device_type == DeviceType::Cpu && provider != Some("native-tiled");
        let elements = op.m.saturating_mul(op.n).saturating_mul(op.batch);
        let strips =
            op.m.div_ceil(STRIP_ROWS)
                .saturating_mul(op.n.div_ceil(STRIP_COLUMNS))
                .saturating_mul(op.batch);
        let tiles =
            op.m.div_ceil(TILE).saturating_mul(op.n.div_ceil(TILE)).saturating_mul(op.batch);
        let (kernel, work, provider) = match (naive, strips_suit) {
            (true, _) => ("rsb_gemm_naive", Work::Items(elements), "native-naive"),
            (false, true) => ("rsb_gemm_strips", Work::Items(strips), "native"),
            (false, false) => {
                let groups = tiles.min(u64::from(self.target.most_groups)) as u32;
                ("rsb_gemm_tiled", Work::Groups(groups), "native")
            }
        };
        let step = Step { kernel, arguments, work };
        Ok(Plan { provider, ..Plan::of(Module::Gemm, op.dtype, vec![step]) })
    }
}

/// The kernels assume this relation between tile and group size: 16 elements of C per work-item.
const _: () = assert!(GROUP as u64 == TILE * TILE / 16);
