//! Element-wise operations, reductions, softmax and layer norm: operations between the matrix
//! products of a model.

use rsb_device::operation::{Elementwise, ElementwiseOp, Normalize, NormalizeOp, Reduce, ReduceOp};
use rsb_device::{Device, DeviceInfo, Operation};
use rsb_model::unit::gigabytes_per_second;
use rsb_model::{DeviceType, Dtype, Params, Reason};

use super::{dtype, is_by_vendor, is_cpu, shape, text_grid, threaded};
use crate::axis::{AxisInfo, AxisKind, CACHE, DTYPE, THREADS};
use crate::benchmark::{
    Benchmark, BenchmarkGroup, BenchmarkInfo, Breadth, Failure, Grid, PrepareResult,
};
use crate::plausibility::{check_bandwidth, set_note};
use crate::timed::{PreparedCase, Timed};

/// Memory-bound operations.
pub(super) struct TensorOps;

const OPERATIONS: &[&str] = &[
    "add",
    "multiply",
    "relu",
    "gelu",
    "sigmoid",
    "sum",
    "max",
    "mean",
    "argmax",
    "softmax",
    "layer-norm",
];

const AXES: &[AxisInfo] = &[
    AxisInfo::value(
        "operation",
        "element-wise operation, full reduction, or row-wise operation",
        AxisKind::Choice(OPERATIONS),
    ),
    DTYPE,
    AxisInfo::value("shape", "rows x columns of the input", AxisKind::Shape(2, "4096x1024")),
    CACHE,
    THREADS,
];

/// Operations whose result an integer without a scale can represent.
const OF_WHOLE: &[&str] = &["add", "relu", "sum", "mean", "max", "argmax"];

/// 32 MiB of f32. This exceeds the caches of most machines, so other programs in a shared cache do
/// not matter.
const LARGE: &str = "8192x1024";

/// Shape for software that emulates a GPU, which takes a hundred times as long for row-wise
/// operations.
const LARGE_FOR_SOFTWARE: &str = "1024x1024";

impl Benchmark for TensorOps {
    fn info(&self) -> BenchmarkInfo {
        BenchmarkInfo {
            name: "tensor-ops",
            about: "Element-wise operations, reductions, softmax and layer norm",
            axes: AXES,
            group: Some(BenchmarkGroup::Compute),
            ..BenchmarkInfo::DEFAULT
        }
    }

    fn grids(&self, breadth: Breadth, device: &DeviceInfo) -> Vec<Grid> {
        let is_software = device.device_type != DeviceType::Gpu && !is_cpu(device);
        let large = if is_software { LARGE_FOR_SOFTWARE } else { LARGE };
        let of = |text: String| text_grid(AXES, &text);
        let some = "operation=add,relu,gelu,sum,max,softmax,layer-norm";
        let mut grids = vec![of(format!("{some} dtype=f32 shape={large}"))];
        if breadth == Breadth::Quick {
            return grids;
        }
        let every = OPERATIONS.join(",");
        grids.push(of(format!("operation={every} dtype=f32 shape=32x1024,{large}")));
        grids.push(of(format!("operation=relu,gelu,softmax dtype=f16,bf16 shape={large}")));
        let has_whole = is_cpu(device) || is_by_vendor(device);
        if has_whole {
            grids.push(of(format!("operation=add,relu,sum,max dtype=i8 shape={large}")));
            grids.push(of(format!("operation=add,sum dtype=i4 shape={large}")));
        }
        if is_cpu(device) {
            let on_all = of(format!("operation=gelu,sum dtype=f32 shape={large}"));
            grids.push(threaded(on_all, device));
        }
        if breadth == Breadth::Full {
            let shapes = format!("shape=1x1024,32x768,128x3072,1024x1024,{large},16384x4096");
            let types = "dtype=f32,f16,bf16";
            grids.push(of(format!("operation={every} {types} {shapes}")));
            if has_whole {
                let whole = OF_WHOLE.join(",");
                grids.push(of(format!("operation={whole} dtype=i8,i4 {shapes}")));
            }
            grids.push(of(format!("operation={every} {types} {shapes} cache=cold")));
            grids.push(threaded(of(format!("operation={every} dtype=f32 {shapes}")), device));
        }
        grids
    }

    fn operation(&self, params: &Params) -> Result<Operation, Reason> {
        let (dtype, [rows, columns]) = (dtype(params)?, shape(params, "shape")?);
        let elements = rows.saturating_mul(columns);
        let name = params.text("operation").unwrap_or_default();
        if matches!(dtype, Dtype::I8 | Dtype::I4)
            && OPERATIONS.contains(&name)
            && !OF_WHOLE.contains(&name)
        {
            return Err(Reason::new(
                format!("{name} of {dtype}"),
                "an integer cannot hold its result without a scale",
                format!("choose one of {}, or f32, f16 or bf16", OF_WHOLE.join(", ")),
            ));
        }
        if let Ok(op) = name.parse::<ElementwiseOp>() {
            return Ok(Operation::Elementwise(Elementwise { op, dtype, elements }));
        }
        if let Ok(op) = name.parse::<ReduceOp>() {
            return Ok(Operation::Reduce(Reduce { op, dtype, elements }));
        }
        match name.parse::<NormalizeOp>() {
            Ok(op) => Ok(Operation::Normalize(Normalize { op, dtype, rows, columns })),
            Err(_) => Err(Reason::new(
                format!("operation `{name}`"),
                "this benchmark does not support it",
                format!("choose one of {}", OPERATIONS.join(", ")),
            )),
        }
    }

    fn prepare<'d>(&self, params: &Params, device: &'d dyn Device) -> PrepareResult<'d> {
        let operation = self.operation(params).map_err(Failure::Skipped)?;
        let input = params.text("shape").unwrap_or_default().to_owned();
        let timed = Timed::from_params(device, operation, params)?;
        Ok(PreparedCase::new_boxed(timed, move |timed, time_ns| {
            let rate = gigabytes_per_second(timed.operation.bytes_moved(), time_ns);
            let note =
                check_bandwidth(rate, &timed.operation, timed.device.info(), timed.threads())?;
            let output = match timed.operation {
                Operation::Reduce(_) => "1".to_owned(),
                _ => input.clone(),
            };
            let mut fields = timed
                .common_fields()
                .with("input_shape", input.clone())
                .with("output_shape", output);
            fields.set("time_us", time_ns / 1e3);
            fields.set("throughput_gb_s", rate);
            if let Some(intensity) = timed.operation.arithmetic_intensity() {
                fields.set("arithmetic_intensity", intensity);
            }
            set_note(&mut fields, note.as_deref());
            Ok(fields)
        }))
    }
}
