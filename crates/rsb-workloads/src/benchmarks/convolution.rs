//! 2-D convolution, from layers of well-known image models to depthwise and dilated ones.

use rsb_device::operation::Convolution as ConvolutionOperation;
use rsb_device::{Device, DeviceInfo, Operation};
use rsb_model::shape::format_shape;
use rsb_model::{Fields, Params, Reason};

use super::{axis, dtype, grid, is_cpu, number, shape, thread_counts};
use crate::axis::{AxisInfo, AxisKind, CACHE, DTYPE, THREADS};
use crate::benchmark::{
    Benchmark, BenchmarkGroup, BenchmarkInfo, Breadth, Failure, Grid, PrepareResult,
};
use crate::plausibility::Compute;
use crate::timed::{PreparedCase, Timed};

/// 2-D convolution benchmark.
pub(super) struct ConvolutionBenchmark;

const AXES: &[AxisInfo] = &[
    DTYPE,
    AxisInfo::value(
        "shape",
        "images x channels x rows x columns of the input",
        AxisKind::Shape(4, "1x64x56x56"),
    ),
    AxisInfo::value(
        "kernel",
        "channels of the output x rows x columns of the kernel",
        AxisKind::Shape(3, "64x3x3"),
    ),
    AxisInfo::with_default("stride", "step between output points", "1", AxisKind::Count),
    AxisInfo::with_default("padding", "zeros around the input", "0", AxisKind::CountOrZero),
    AxisInfo::with_default("dilation", "step between the taps of the kernel", "1", AxisKind::Count),
    AxisInfo::with_default("groups", "number of channel groups", "1", AxisKind::Count),
    CACHE,
    THREADS,
];

/// Input, kernel, stride, padding, dilation and groups.
type Layer = [&'static str; 6];

const QUICK: &[Layer] = &[
    ["1x64x56x56", "64x3x3", "1", "1", "1", "1"],
    ["1x256x14x14", "1024x1x1", "1", "0", "1", "1"],
];

/// First layer and four stages of `ResNet`, a depthwise and a dilated layer.
const STANDARD: &[Layer] = &[
    ["1x3x224x224", "64x7x7", "2", "3", "1", "1"],
    ["1x128x28x28", "128x3x3", "1", "1", "1", "1"],
    ["1x256x14x14", "256x3x3", "1", "1", "1", "1"],
    ["1x512x7x7", "512x3x3", "1", "1", "1", "1"],
    ["1x128x56x56", "128x3x3", "1", "1", "1", "128"],
    ["1x64x56x56", "64x3x3", "1", "2", "2", "1"],
];

const FULL: &[Layer] = &[
    ["8x64x56x56", "64x3x3", "1", "1", "1", "1"],
    ["8x3x224x224", "64x7x7", "2", "3", "1", "1"],
    ["1x64x56x56", "128x3x3", "2", "1", "1", "1"],
    ["1x64x56x56", "256x1x1", "1", "0", "1", "1"],
    ["1x256x56x56", "512x1x1", "2", "0", "1", "1"],
    ["1x32x112x112", "32x3x3", "1", "1", "1", "32"],
    ["1x256x56x56", "256x3x3", "1", "1", "1", "32"],
    ["1x96x27x27", "256x5x5", "1", "2", "1", "2"],
    ["1x256x32x32", "256x3x3", "1", "4", "4", "1"],
];

impl Benchmark for ConvolutionBenchmark {
    fn info(&self) -> BenchmarkInfo {
        BenchmarkInfo {
            name: "convolution",
            about: "2-D convolution: layers of image models, depthwise, dilated",
            axes: AXES,
            group: Some(BenchmarkGroup::Compute),
            ..BenchmarkInfo::DEFAULT
        }
    }

    fn grids(&self, breadth: Breadth, device: &DeviceInfo) -> Vec<Grid> {
        let (f32, half) = ([axis("dtype", &["f32"])], [axis("dtype", &["f16", "bf16"])]);
        let mut grids: Vec<Grid> = QUICK.iter().map(|layer| of_layer(layer, &f32)).collect();
        if breadth >= Breadth::Standard {
            grids.extend(STANDARD.iter().map(|layer| of_layer(layer, &f32)));
            let further: &[Layer] = if is_cpu(device) { &[] } else { STANDARD };
            grids.extend(QUICK.iter().chain(further).map(|layer| of_layer(layer, &half)));
        }
        if breadth == Breadth::Full {
            grids.extend(FULL.iter().map(|layer| of_layer(layer, &f32)));
            let every = QUICK.iter().chain(STANDARD);
            let cold = [axis("dtype", &["f32"]), axis("cache", &["cold"])];
            grids.extend(every.clone().map(|layer| of_layer(layer, &cold)));
            grids.extend(every.clone().map(|layer| of_layer(layer, &half)));
            if is_cpu(device) {
                let threaded = [axis("dtype", &["f32"]), ("threads", thread_counts(device))];
                grids.extend(every.map(|layer| of_layer(layer, &threaded)));
            }
        }
        grids
    }

    fn operation(&self, params: &Params) -> Result<Operation, Reason> {
        let [batch, in_channels, height, width] = shape(params, "shape")?;
        let [out_channels, kernel_height, kernel_width] = shape(params, "kernel")?;
        let operation = ConvolutionOperation {
            dtype: dtype(params)?,
            batch,
            in_channels,
            out_channels,
            height,
            width,
            kernel_height,
            kernel_width,
            stride: number(params, "stride")?,
            padding: number(params, "padding")?,
            dilation: number(params, "dilation")?,
            groups: number(params, "groups")?,
        };
        if operation.output_size().is_none() {
            return Err(Reason::new(
                "convolution of this shape",
                "the kernel does not fit the padded input, or the groups do not divide the \
                 channels",
                "choose a smaller kernel or dilation, more padding, or other groups",
            ));
        }
        Ok(Operation::Convolution(operation))
    }

    fn prepare<'d>(&self, params: &Params, device: &'d dyn Device) -> PrepareResult<'d> {
        let operation = self.operation(params).map_err(Failure::Skipped)?;
        let timed = Timed::from_params(device, operation, params)?;
        Ok(PreparedCase::new_boxed(timed, |timed, time_ns| {
            let Operation::Convolution(op) = timed.operation.clone() else {
                return Ok(Fields::new());
            };
            let mut fields = timed.common_fields();
            let (rows, columns) = op.output_size().unwrap_or_default();
            fields.set("batch_size", op.batch);
            fields
                .set("input_shape", format_shape(&[op.batch, op.in_channels, op.height, op.width]));
            let weights =
                [op.out_channels, op.in_channels / op.groups, op.kernel_height, op.kernel_width];
            fields.set("weight_shape", format_shape(&weights));
            fields.set("output_shape", format_shape(&[op.batch, op.out_channels, rows, columns]));
            for (name, value) in [
                ("stride", op.stride),
                ("padding", op.padding),
                ("dilation", op.dilation),
                ("groups", op.groups),
            ] {
                fields.set(name, value);
            }
            fields.extend(Compute::measure(timed, time_ns)?.fields());
            Ok(fields)
        }))
    }
}

/// Returns a grid of one layer and the axes in `further`.
fn of_layer(layer: &Layer, further: &[(&'static str, Vec<String>)]) -> Grid {
    let [shape, kernel, stride, padding, dilation, groups] = *layer;
    let mut grid = grid([
        axis("shape", &[shape]),
        axis("kernel", &[kernel]),
        axis("stride", &[stride]),
        axis("padding", &[padding]),
        axis("dilation", &[dilation]),
        axis("groups", &[groups]),
    ]);
    grid.extend(further.iter().cloned());
    grid
}
