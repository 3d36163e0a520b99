//! The same operation in every data type: its speedup over f32, measured in the same case, and its
//! accuracy.

use rsb_device::operation::{Convolution, Gemm, Normalize, NormalizeOp};
use rsb_device::random::{Distribution, Values};
use rsb_device::{Device, DeviceInfo, Operation, convert};
use rsb_model::architecture::{ARCHITECTURES, Architecture, Engine};
use rsb_model::shape::format_shape;
use rsb_model::unit::gigabytes_per_second;
use rsb_model::{DeviceType, Dtype, Fields, Params, Reason};

use super::{axis, dtype, grid, is_by_vendor, is_cpu, number, text_grid};
use crate::axis::{AxisInfo, AxisKind, DTYPE, PROVIDER, THREADS};
use crate::benchmark::{
    Benchmark, BenchmarkGroup, BenchmarkInfo, Breadth, Failure, Grid, PrepareResult,
};
use crate::plausibility::{Compute, check_bandwidth, set_note};
use crate::timed::{PreparedCase, SEED, Timed};

/// Comparison of data types.
pub(super) struct Precision;

const AXES: &[AxisInfo] = &[
    AxisInfo::value(
        "operation",
        "matmul, convolution (3x3) or layer-norm",
        AxisKind::Choice(&["matmul", "convolution", "layer-norm"]),
    ),
    DTYPE,
    AxisInfo::value(
        "n",
        "matmul: sides of the matrices; convolution: 8 times the channels; layer-norm: rows and \
         columns",
        AxisKind::Count,
    ),
    AxisInfo::with_default(
        "over",
        "data type used as the reference for the speedup",
        "f32",
        AxisKind::Dtype,
    ),
    PROVIDER,
    THREADS,
];

/// Rows and columns of an image.
const IMAGE: u64 = 28;

/// Number of input values used to compute the rounding error of a type.
const LOOKED_AT: usize = 1 << 14;

impl Benchmark for Precision {
    fn info(&self) -> BenchmarkInfo {
        BenchmarkInfo {
            name: "precision",
            about: "The same operation in each data type: speedup over f32 or another, and \
                    accuracy",
            axes: AXES,
            group: Some(BenchmarkGroup::Compute),
            ..BenchmarkInfo::DEFAULT
        }
    }

    fn grids(&self, breadth: Breadth, device: &DeviceInfo) -> Vec<Grid> {
        let types: &[&str] = if is_cpu(device) {
            &["f64", "f32", "f16", "bf16"]
        } else {
            &["f64", "f32", "tf32", "f16", "bf16", "fp8", "i8", "i4"]
        };
        let size = if device.device_type == DeviceType::Gpu { "4096" } else { "512" };
        let by_library = is_by_vendor(device);
        let glance: &[&str] = match (is_cpu(device), by_library) {
            (true, _) => &["f16"],
            (_, true) => &["f16", "bf16", "i8"],
            _ => &["f16", "bf16"],
        };
        let mut grids = vec![grid_of(&["matmul"], glance, size)];
        if breadth >= Breadth::Standard {
            if is_cpu(device) {
                grids.push(grid_of(&["matmul"], &["i8"], size));
                // Uses one provider for every type. The speedup would otherwise depend on how well
                // a library supports each type.
                let mut ours = grid_of(&["matmul"], &["f16", "bf16", "i8"], size);
                ours.push(axis("provider", &["native"]));
                grids.push(ours);
            }
            grids.push(grid_of(&["matmul", "convolution", "layer-norm"], types, size));
        }
        if breadth >= Breadth::Standard && !is_cpu(device) {
            // For the speedup and error of narrower types compared with the types that most models
            // use.
            let over = format!("operation=matmul dtype=fp8,i8 n={size} over=f16,bf16");
            grids.push(text_grid(AXES, &over));
        }
        if breadth == Breadth::Full {
            grids.push(grid_of(&["matmul", "convolution", "layer-norm"], types, "1024"));
        }
        grids
    }

    fn operation(&self, params: &Params) -> Result<Operation, Reason> {
        let (dtype, size): (Dtype, u64) = (dtype(params)?, number(params, "n")?);
        let name = params.text("operation").unwrap_or_default();
        if dtype == Dtype::I8 && name != "matmul" {
            return Err(Reason::new(
                format!("data type {dtype} in {name}"),
                "its sums are 32-bit integers, which only matrix products can store",
                "choose operation=matmul for i8",
            ));
        }
        if name != "matmul" && params.text("provider").is_some_and(|provider| provider != "auto") {
            return Err(Reason::new(
                format!("{name} with a provider"),
                "only matrix products have providers to choose from",
                "omit the provider, or choose operation=matmul",
            ));
        }
        if size < 8 {
            return Err(Reason::new(
                format!("size {size}"),
                "a convolution uses an eighth of the size as channels",
                "choose 8 or more",
            ));
        }
        Ok(operation(name, dtype, size, over(params)?))
    }

    fn prepare<'d>(&self, params: &Params, device: &'d dyn Device) -> PrepareResult<'d> {
        let operation = self.operation(params).map_err(Failure::Skipped)?;
        let size: u64 = number(params, "n").map_err(Failure::Skipped)?;
        let name = params.text("operation").unwrap_or_default().to_owned();
        let types = [dtype(params), over(params)];
        for dtype in types {
            check_type(&name, dtype.map_err(Failure::Skipped)?, device.info())
                .map_err(Failure::Skipped)?;
        }
        let over = over(params).map_err(Failure::Skipped)?;
        let timed = Timed::from_params(device, operation, params)?;
        Ok(PreparedCase::new_boxed(timed, move |timed, time_ns| {
            fields(timed, time_ns, &name, size, over)
        }))
    }
}

fn grid_of(operations: &[&str], types: &[&str], size: &str) -> Grid {
    grid([axis("operation", operations), axis("dtype", types), axis("n", &[size])])
}

/// Returns the type that the speedup refers to: f32 for cases of older records, which lack the
/// axis.
fn over(params: &Params) -> Result<Dtype, Reason> {
    if params.text("over").is_some() { number(params, "over") } else { Ok(Dtype::F32) }
}

/// Rejects types in which no kernel or library here computes whole operations; the reason depends
/// on the GPU.
fn check_type(name: &str, dtype: Dtype, info: &DeviceInfo) -> Result<(), Reason> {
    let own = info.arch.as_deref().and_then(|arch| Architecture::find(arch).ok());
    // Only vendors' libraries provide products of tf32 and fp8, if the GPU has instructions for
    // them.
    let by_library = name == "matmul" && is_by_vendor(info);
    let is_made = !matches!(dtype, Dtype::Tf32 | Dtype::Fp8 | Dtype::I4)
        || (by_library
            && dtype != Dtype::I4
            && own.is_none_or(|known| has_instructions(known, dtype)));
    if convert::is_known(dtype) && dtype != Dtype::I32 && is_made {
        return Ok(());
    }
    let (why, cure) = match own {
        Some(known) if has_instructions(known, dtype) => (
            format!(
                "{} has instructions for it, but no library or kernel that this program uses \
                 supports that operation in it",
                known.target
            ),
            format!(
                "measure the unit with tensor-core --axis dtype={dtype}, or choose f16, bf16 or i8 \
                 for whole products"
            ),
        ),
        Some(known) => {
            let others: Vec<&str> = ARCHITECTURES
                .iter()
                .filter(|known| has_instructions(known, dtype))
                .map(|known| known.target)
                .collect();
            let there = if others.is_empty() {
                "no known architecture".to_owned()
            } else {
                others.join(", ")
            };
            (
                format!("{} has no instructions for it; supported by: {there}", known.target),
                "choose f16, bf16 or i8".to_owned(),
            )
        }
        None => (
            "no kernel of this program computes in it, so results could not be verified".to_owned(),
            "choose f64, f32, f16, bf16 or i8; tensor-core shows the data types that the GPU's \
             units support"
                .to_owned(),
        ),
    };
    Err(Reason::new(format!("data type {dtype} in {name}"), why, cure))
}

/// Returns whether a unit of the architecture computes in `dtype`.
fn has_instructions(known: &Architecture, dtype: Dtype) -> bool {
    [Engine::Matrix, Engine::Vector]
        .into_iter()
        .any(|engine| known.per_clock_per_cu(dtype, engine).is_some())
}

/// Returns the operation in `dtype`, to be compared with the one in `other`. If either is fp8, both
/// store B as n×k, since most GPUs support no other products of fp8.
fn operation(name: &str, dtype: Dtype, size: u64, other: Dtype) -> Operation {
    match name {
        "convolution" => Operation::Convolution(Convolution {
            dtype,
            batch: 1,
            in_channels: size / 8,
            out_channels: size / 8,
            height: IMAGE,
            width: IMAGE,
            kernel_height: 3,
            kernel_width: 3,
            stride: 1,
            padding: 1,
            dilation: 1,
            groups: 1,
        }),
        "layer-norm" => Operation::Normalize(Normalize {
            op: NormalizeOp::LayerNorm,
            dtype,
            rows: size,
            columns: size,
        }),
        _ => {
            let transpose_b = [dtype, other].contains(&Dtype::Fp8);
            Operation::Gemm(Gemm { transpose_b, ..Gemm::new(dtype, size, size, size) })
        }
    }
}

fn fields(
    timed: &mut Timed<'_>,
    time_ns: f64,
    name: &str,
    size: u64,
    over: Dtype,
) -> Result<Fields, Failure> {
    let dtype = timed.operation.dtype().unwrap_or(Dtype::F32);
    let mut fields = timed.common_fields().with("operation", name);
    let input = match name {
        "convolution" => format_shape(&[1, size / 8, IMAGE, IMAGE]),
        _ => format_shape(&[size, size]),
    };
    fields.set("input_shape", input);
    if name == "layer-norm" {
        let rate = gigabytes_per_second(timed.operation.bytes_moved(), time_ns);
        let note = check_bandwidth(rate, &timed.operation, timed.device.info(), timed.threads())?;
        set_note(&mut fields, note.as_deref());
        fields.set("time_ms", time_ns / 1e6);
        fields.set("throughput_gb_s", rate);
    } else {
        fields.extend(Compute::measure(timed, time_ns)?.fields());
    }
    fields.set("input_error", input_error(dtype));
    let (reference_ns, reference_error) = reference(timed, time_ns, name, size, over)?;
    fields.set("speedup", reference_ns / time_ns);
    fields.set("speedup_over", over.as_str());
    fields.set("reference_accuracy_error", reference_error);
    Ok(fields)
}

/// Returns the time and error of the operation in the reference type: the fastest of several
/// samples of the same length as those of the case.
fn reference(
    timed: &Timed<'_>,
    time_ns: f64,
    name: &str,
    size: u64,
    over: Dtype,
) -> Result<(f64, f64), Failure> {
    const SAMPLES: u32 = 7;
    const SAMPLE_NS: f64 = 2e7;
    let dtype = timed.operation.dtype().unwrap_or(Dtype::F32);
    if dtype == over {
        return Ok((time_ns, timed.accuracy.error));
    }
    let mut beside =
        Timed::prepare(timed.device, operation(name, over, size, dtype), timed.options.clone())?;
    let iters = (SAMPLE_NS / time_ns).clamp(1.0, 1000.0) as u64;
    let mut best = f64::INFINITY;
    for _ in 0..SAMPLES {
        best = best.min(beside.sample(iters)? / iters as f64);
    }
    Ok((best, beside.accuracy.error))
}

/// Returns the rounding error of the inputs in this type before any computation: max|rounded −
/// exact| / max|exact|.
fn input_error(dtype: Dtype) -> f64 {
    let values = Values::new(SEED, 0, Distribution::Signed);
    let mut exact = vec![0.0; LOOKED_AT];
    // Inputs have 24 significant bits unless they are f64.
    convert::rounded_values(
        if dtype == Dtype::F64 { Dtype::F64 } else { Dtype::F32 },
        &values,
        0,
        &mut exact,
    );
    let mut kept = vec![0.0; LOOKED_AT];
    convert::rounded_values(dtype, &values, 0, &mut kept);
    // An integer represents a multiple of 1/127.
    let unit = if dtype == Dtype::I8 { 127.0 } else { 1.0 };
    let differences = kept.iter().zip(&exact).map(|(kept, exact)| (kept / unit - exact).abs());
    let largest = exact.iter().fold(0.0_f64, |largest, exact| largest.max(exact.abs()));
    differences.fold(0.0, f64::max) / largest.max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_device::scripted::{Clock, Script, ScriptedDevice};

    #[test]
    fn a_speed_up_may_be_over_any_type() {
        let clock = Clock::Function(Box::new(|_, operation: &Operation| match operation.dtype() {
            Some(Dtype::Bf16) => 300_000.0,
            _ => 900_000.0,
        }));
        let device = ScriptedDevice::new(Script::with_clock(clock));
        let mut prepared =
            Precision.prepare(&params("matmul", "bf16").with("over", "f16"), &device).unwrap();
        let time = prepared.sample(4).unwrap() / 4.0;
        let fields = prepared.fields(time).unwrap();
        assert_eq!(
            (fields.number("speedup"), fields.text("speedup_over")),
            (Some(3.0), Some("f16"))
        );
        assert!(fields.number("reference_accuracy_error").is_some_and(|error| error < 0.1));
    }

    fn params(operation: &str, dtype: &str) -> Params {
        Params::new()
            .with("operation", operation)
            .with("dtype", dtype)
            .with("n", "16")
            .with("threads", "1")
    }

    #[test]
    fn the_speed_up_is_over_f32_measured_beside() {
        // Operations in f16 take half the time.
        let clock = Clock::Function(Box::new(|_, operation: &Operation| match operation.dtype() {
            Some(Dtype::F16) => 500_000.0,
            _ => 1_000_000.0,
        }));
        let device = ScriptedDevice::new(Script::with_clock(clock));
        for operation in ["matmul", "convolution", "layer-norm"] {
            for (dtype, speedup) in [("f16", 2.0), ("f32", 1.0), ("f64", 1.0)] {
                let mut prepared = Precision.prepare(&params(operation, dtype), &device).unwrap();
                let time = prepared.sample(4).unwrap() / 4.0;
                let fields = prepared.fields(time).unwrap();
                assert_eq!(fields.number("speedup"), Some(speedup), "{operation} {dtype}");
                assert_eq!(fields.text("operation"), Some(operation));
                assert!(fields.number("accuracy_error").is_some_and(|error| error < 0.1));
            }
        }
    }

    #[test]
    fn narrower_types_lose_more_of_the_inputs() {
        let lost = [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::I8].map(input_error);
        assert_eq!(lost[..2], [0.0, 0.0]);
        assert!(lost[2] > 1e-5 && lost[3] > 4.0 * lost[2], "{lost:?}");
        assert!((lost[4] - 0.5 / 127.0).abs() < 1e-4, "{lost:?}");
    }

    #[test]
    fn types_that_nothing_computes_in_are_skipped_with_the_reason() {
        for (arch, operation, dtype, word) in [
            (None, "matmul", "fp8", "verified"),
            (Some("gfx942"), "matmul", "fp8", "gfx942 has instructions for it"),
            (
                Some("gfx90a"),
                "matmul",
                "fp8",
                "gfx90a has no instructions for it; supported by: gfx942",
            ),
            (Some("gfx942:sramecc+:xnack-"), "matmul", "tf32", "no library or kernel"),
            (Some("gfx1030"), "layer-norm", "i4", "gfx1030 has instructions"),
            (Some("gfx1030"), "layer-norm", "fp8", "gfx1030 has no instructions"),
            (None, "convolution", "i8", "32-bit"),
        ] {
            let mut script = Script::default();
            script.info.arch = arch.map(str::to_owned);
            let device = ScriptedDevice::new(script);
            match Precision.prepare(&params(operation, dtype), &device).err() {
                Some(Failure::Skipped(reason)) => {
                    assert!(reason.what.contains(dtype) && !reason.cure.is_empty(), "{reason}");
                    assert!(reason.why.contains(word), "{reason}");
                }
                other => panic!("{dtype}: {other:?}"),
            }
        }
        assert!(Precision.operation(&params("matmul", "i8")).is_ok());
    }
}
