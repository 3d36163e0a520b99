//! GEMM: square shapes, shapes of transformers, batches, transposes.

use rsb_device::operation::{Accumulation, Epilogue, Gemm as GemmOperation, Init, OutputWidth};
use rsb_device::{Device, DeviceInfo, Operation};
use rsb_model::shape::format_shape;
use rsb_model::unit::gigabytes_per_second;
use rsb_model::{BackendId, DeviceType, Dtype, Fields, Params, Reason};

use super::{
    axis, dtype, fixed_grid, grid, is_cpu, last_level_cache, newer, number, shape, thread_counts,
};
use crate::axis::{AxisInfo, AxisKind, CACHE, DTYPE, PROVIDER, THREADS};
use crate::benchmark::{
    Benchmark, BenchmarkGroup, BenchmarkInfo, Breadth, Failure, Grid, PrepareResult,
};
use crate::plausibility::{Compute, lie_in};
use crate::timed::{PreparedCase, Timed};

/// GEMM benchmark: C = alpha·A·B + beta·C.
pub(super) struct GemmBenchmark;

const AXES: &[AxisInfo] = &[
    DTYPE,
    AxisInfo::value(
        "shape",
        "m x n x k: rows and columns of C, and the inner dimension",
        AxisKind::Shape(3, "1024x1024x1024"),
    ),
    AxisInfo::with_default("batch_size", "products per iteration", "1", AxisKind::Count),
    AxisInfo::with_default(
        "transpose",
        "for A and B: n, as stored, or t, transposed",
        "nn",
        AxisKind::Choice(&["nn", "tn", "nt", "tt"]),
    ),
    AxisInfo::with_default("alpha", "factor of the product", "1", AxisKind::Number),
    AxisInfo::with_default("beta", "factor of C", "0", AxisKind::Number),
    distance("ld_a", "elements from one row of A to the next, as stored; 0: no gap"),
    distance("ld_b", "elements from one row of B to the next, as stored; 0: no gap"),
    distance("ld_c", "elements from one row of C to the next; 0: no gap"),
    distance("stride_a", "elements from one matrix of A to the next; 0: no gap"),
    distance("stride_b", "elements from one matrix of B to the next; 0: no gap"),
    distance("stride_c", "elements from one matrix of C to the next; 0: no gap"),
    PROVIDER,
    AxisInfo::with_default(
        "epilogue",
        "operation applied to each element before it is stored (hipBLASLt, cuBLASLt)",
        "none",
        AxisKind::Choice(&["none", "bias", "gelu"]),
    ),
    AxisInfo::with_default(
        "output",
        "wide: bf16 is stored as f32, i8 as i32, fp8 as bf16; as-inputs: the data type of the \
         inputs",
        "wide",
        AxisKind::Choice(&["wide", "as-inputs"]),
    ),
    AxisInfo::with_default(
        "algorithms",
        "number of library algorithms to time in advance; the fastest is used (hipBLASLt, \
         cuBLASLt)",
        "1",
        AxisKind::Count,
    ),
    AxisInfo::with_default(
        "accumulation",
        "how cuBLASLt sums fp8 products: full promotes sums to f32 periodically, fast keeps them \
         in the matrix unit",
        "full",
        AxisKind::Choice(&["full", "fast"]),
    ),
    AxisInfo::with_default(
        "init",
        "contents of the matrices; GPUs run at higher clocks if fewer bits change",
        "random",
        AxisKind::Choice(&["random", "trigonometric", "constant"]),
    ),
    AxisInfo::with_default(
        "rotate",
        "number of matrix sets used in turn, so that inputs are not cached; 0: enough to exceed \
         the last-level cache",
        "1",
        AxisKind::CountOrZero,
    ),
    CACHE,
    THREADS,
];

/// Returns an axis for a leading dimension or a stride.
const fn distance(name: &'static str, about: &'static str) -> AxisInfo {
    AxisInfo::with_default(name, about, "0", AxisKind::CountOrZero)
}

/// Maximum number of matrix sets: enough for the smallest products, of a few KiB, to fill a cache
/// of 256 MiB.
const MOST_SETS: u32 = 1 << 16;

const CUBLASLT: &str = "cublaslt";

/// Returns the providers of products for a vendor's runtime: its libraries and the native kernels.
fn gpu_providers(device: &DeviceInfo) -> Option<[&'static str; 4]> {
    let [library, light] = match device.device.backend {
        BackendId::Rocm => ["rocblas", "hipblaslt"],
        BackendId::Cuda => ["cublas", CUBLASLT],
        _ => return None,
    };
    Some([library, light, "native", "native-naive"])
}

/// Returns a shape large enough for the matrix units of a GPU.
fn large_product(device: &DeviceInfo) -> &'static str {
    if device.device_type == DeviceType::Gpu { "4096x4096x4096" } else { "256x256x256" }
}

/// Returns the cases for the matrix units of GPUs: every type, fused epilogues as used in models,
/// and the library's default algorithm compared with the best of several. Products of fp8 store B
/// as n×k, like the weights of model layers; most GPUs support no other layout.
fn matrix_units(device: &DeviceInfo, [_, light, ..]: [&str; 4]) -> Vec<Grid> {
    let large = axis("shape", &[large_product(device)]);
    let by_light = axis("provider", &[light]);
    let mut grids = vec![
        grid([axis("dtype", &["f16", "tf32"]), large.clone()]),
        grid([axis("dtype", &["bf16"]), large.clone(), axis("output", &["as-inputs"])]),
        grid([axis("dtype", &["fp8"]), large.clone(), axis("transpose", &["nt"])]),
        grid([axis("dtype", &["i8"]), large.clone(), axis("transpose", &["nt"]), by_light.clone()]),
        grid([axis("dtype", &["f16"]), large.clone(), by_light, axis("algorithms", &["1", "8"])]),
        grid([
            axis("dtype", &["bf16"]),
            large.clone(),
            axis("output", &["as-inputs"]),
            axis("epilogue", &["bias", "gelu"]),
        ]),
    ];
    if light == CUBLASLT {
        // Published results for fp8 on Hopper use this mode.
        let fast = axis("accumulation", &["fast"]);
        grids.push(grid([axis("dtype", &["fp8"]), large, axis("transpose", &["nt"]), fast]));
    }
    grids
}

/// Rejects fast accumulation if `device` or the selected provider does not support it.
fn check_accumulation(
    operation: &Operation,
    params: &Params,
    device: &DeviceInfo,
) -> Result<(), Failure> {
    let Operation::Gemm(op) = operation else { return Ok(()) };
    let is_library = matches!(params.text("provider"), None | Some("auto" | CUBLASLT));
    let has_mode = device.device.backend == BackendId::Cuda && op.dtype == Dtype::Fp8 && is_library;
    if has_mode || op.accumulation == Accumulation::Full {
        return Ok(());
    }
    let cure = "choose --backend cuda --axis dtype=fp8, or accumulation=full";
    Err(Failure::Skipped(Reason::new(
        "accumulation=fast",
        "only cuBLASLt has this mode, for fp8",
        cure,
    )))
}

impl Benchmark for GemmBenchmark {
    fn info(&self) -> BenchmarkInfo {
        BenchmarkInfo {
            name: "gemm",
            about: "Matrix products: squares, shapes of transformers, batches, transposes",
            axes: AXES,
            group: Some(BenchmarkGroup::Compute),
            ..BenchmarkInfo::DEFAULT
        }
    }

    fn grids(&self, breadth: Breadth, device: &DeviceInfo) -> Vec<Grid> {
        let mut grids = vec![
            fixed_grid("dtype=f32 shape=512x512x512,1024x1024x1024"),
            fixed_grid("dtype=f64 shape=512x512x512"),
            fixed_grid("dtype=f16 shape=256x256x256"),
            fixed_grid("dtype=f32 shape=32x768x768,128x768x3072"),
        ];
        if gpu_providers(device).is_some() {
            // The data type of most models. No other axis is set, so that overrides of axes create
            // no duplicate cases.
            grids.push(grid([axis("dtype", &["bf16"]), axis("shape", &[large_product(device)])]));
        }
        if breadth == Breadth::Quick {
            return grids;
        }
        grids.extend([
            fixed_grid("dtype=f32 shape=64x64x64,128x128x128,256x256x256,2048x2048x2048"),
            fixed_grid("dtype=f64,f16,bf16 shape=256x256x256,1024x1024x1024"),
            fixed_grid("dtype=f32 shape=128x3072x768,512x768x768,512x768x3072"),
            fixed_grid("dtype=f32 shape=512x512x512 transpose=tn,nt,tt"),
            fixed_grid("dtype=f32 shape=512x512x512 alpha=0.5 beta=0.5"),
            fixed_grid("dtype=f32 shape=128x128x64 batch_size=12,96"),
        ]);
        if is_cpu(device) {
            let large = axis("shape", &["1024x1024x1024"]);
            let providers = &["gemm", "native", "openblas", "mkl", "onednn"];
            grids.push(grid([axis("dtype", &["f32"]), large.clone(), axis("provider", providers)]));
            grids.push(grid([
                axis("dtype", &["bf16", "i8"]),
                large.clone(),
                axis("provider", &["native", "onednn"]),
            ]));
            grids.push(grid([axis("dtype", &["i8"]), large.clone()]));
            grids.push(grid([
                axis("dtype", &["f32", "bf16", "i8"]),
                large,
                ("threads", thread_counts(device)),
            ]));
        }
        if let Some(providers) = gpu_providers(device) {
            let large = axis("shape", &["1024x1024x1024"]);
            grids.push(grid([
                axis("dtype", &["f32", "f16"]),
                large.clone(),
                axis("provider", &providers),
            ]));
            grids.push(grid([axis("dtype", &["tf32", "i8"]), large]));
            grids.extend(matrix_units(device, providers));
        }
        if !is_cpu(device) {
            let large = axis("shape", &["1024x1024x1024"]);
            grids.push(grid([
                axis("dtype", &["f16"]),
                large.clone(),
                axis("init", &["trigonometric", "constant"]),
            ]));
            grids.push(grid([axis("dtype", &["f16"]), large, axis("rotate", &["0"])]));
        }
        if breadth == Breadth::Full {
            grids.extend(full(device));
        }
        grids
    }

    fn operation(&self, params: &Params) -> Result<Operation, Reason> {
        let [m, n, k] = shape(params, "shape")?;
        let transpose = params.text("transpose").unwrap_or("nn");
        let given =
            |name| newer(params, name, 0).map(|value| Some(value).filter(|&value| value > 0));
        let gemm = GemmOperation {
            dtype: dtype(params)?,
            m,
            n,
            k,
            batch: number(params, "batch_size")?,
            ld_a: given("ld_a")?,
            ld_b: given("ld_b")?,
            ld_c: given("ld_c")?,
            stride_a: given("stride_a")?,
            stride_b: given("stride_b")?,
            stride_c: given("stride_c")?,
            transpose_a: transpose.starts_with('t'),
            transpose_b: transpose.ends_with('t'),
            alpha: number(params, "alpha")?,
            beta: number(params, "beta")?,
            stored: newer(params, "output", OutputWidth::Wide)?,
            epilogue: newer(params, "epilogue", Epilogue::None)?,
            accumulation: newer(params, "accumulation", Accumulation::Full)?,
            init: newer(params, "init", Init::Random)?,
        };
        gemm.check_layouts()?;
        Ok(Operation::Gemm(gemm))
    }

    fn footprint_bytes(&self, params: &Params) -> Result<u64, Reason> {
        Ok(self
            .operation(params)?
            .footprint_bytes()
            .saturating_mul(u64::from(sets(params)?.max(1))))
    }

    fn prepare<'d>(&self, params: &Params, device: &'d dyn Device) -> PrepareResult<'d> {
        let operation = self.operation(params).map_err(Failure::Skipped)?;
        check_accumulation(&operation, params, device.info())?;
        let transpose = params.text("transpose").unwrap_or("nn").to_owned();
        let sets = match sets(params).map_err(Failure::Skipped)? {
            0 => beyond_cache(&operation, device.info()),
            some => some,
        };
        let timed = Timed::from_params(device, operation, params)?.rotating(sets)?;
        Ok(PreparedCase::new_boxed(timed, move |timed, time_ns| {
            let Operation::Gemm(op) = timed.operation.clone() else { return Ok(Fields::new()) };
            let mut fields = timed.common_fields();
            fields.set("m", op.m);
            fields.set("n", op.n);
            fields.set("k", op.k);
            fields.set("batch_size", op.batch);
            fields.set("transpose", transpose.clone());
            fields.set("alpha", op.alpha);
            fields.set("beta", op.beta);
            fields.set("epilogue", op.epilogue.as_str());
            fields.set("output_dtype", op.output_dtype().as_str());
            if op.dtype == Dtype::Fp8 && fields.text("provider") == Some(CUBLASLT) {
                fields.set("accumulation", op.accumulation.as_str());
            }
            fields.set("rotating_buffers", sets);
            set_distances(&op, &mut fields);
            fields.set(
                "memory_bandwidth_gb_s",
                gigabytes_per_second(timed.operation.bytes_moved(), time_ns),
            );
            // All sets count: without rotation, the data of one set may stay in a cache.
            let bytes = used_bytes(&timed.operation).saturating_mul(u64::from(sets));
            lie_in(bytes, timed, &mut fields);
            let compute = Compute::measure(timed, time_ns)?;
            if let Some(share) = compute.utilization_percent() {
                fields.set("utilization_percent", share);
            }
            fields.extend(compute.fields());
            Ok(fields)
        }))
    }
}

/// Stores the requested leading dimensions and strides, and for each operand the distances between
/// matrices, between rows and between columns. The last two are swapped if the matrix is stored
/// transposed.
fn set_distances(op: &GemmOperation, fields: &mut Fields) {
    for (name, value) in [
        ("ld_a", op.ld_a),
        ("ld_b", op.ld_b),
        ("ld_c", op.ld_c),
        ("stride_a", op.stride_a),
        ("stride_b", op.stride_b),
        ("stride_c", op.stride_c),
    ] {
        if let Some(value) = value {
            fields.set(name, value);
        }
    }
    let names = ["strides_a", "strides_b", "strides_c"];
    let transposed = [op.transpose_a, op.transpose_b, false];
    for ((name, layout), transposed) in names.into_iter().zip(op.layouts()).zip(transposed) {
        let [row, column] = if transposed { [1, layout.leading] } else { [layout.leading, 1] };
        fields.set(name, format_shape(&[layout.stride, row, column]));
    }
}

/// Returns the bytes of the matrices of `operation` without gaps.
fn used_bytes(operation: &Operation) -> u64 {
    let Operation::Gemm(op) = operation else { return operation.footprint_bytes() };
    Operation::Gemm(op.without_gaps()).footprint_bytes()
}

/// Returns how many sets of matrices exceed the last-level cache by at least one set, limited to
/// half of the memory.
fn beyond_cache(operation: &Operation, info: &DeviceInfo) -> u32 {
    let wanted = last_level_cache(info) / used_bytes(operation).max(1) + 2;
    let most = info.usable_memory_bytes / 2 / operation.footprint_bytes().max(1);
    u32::try_from(wanted.min(most.clamp(1, u64::from(MOST_SETS)))).unwrap_or(MOST_SETS)
}

fn sets(params: &Params) -> Result<u32, Reason> {
    let sets = newer(params, "rotate", 1)?;
    if sets > MOST_SETS {
        let why = format!("{MOST_SETS} sets already exceed any cache");
        return Err(Reason::new(format!("{sets} sets of matrices"), why, "choose fewer sets"));
    }
    Ok(sets)
}

/// Returns the full suite: every type, square and transformer shape, transposes of each, batches,
/// providers and threads.
fn full(device: &DeviceInfo) -> Vec<Grid> {
    let mut grids = vec![
        grid([types(), squares()]),
        grid([types(), transformer()]),
        fixed_grid("dtype=f32,f64,f16 shape=1000x1000x1000 transpose=nn,tn,nt,tt"),
        grid([
            types(),
            axis("shape", &["512x512x512"]),
            axis("alpha", &["1", "0.5"]),
            axis("beta", &["0", "0.5"]),
        ]),
        grid([
            types(),
            axis("shape", &["128x128x64", "64x64x64"]),
            axis("batch_size", &["8", "12", "32", "96"]),
        ]),
        grid([types(), axis("shape", &["512x512x512"]), axis("cache", &["cold"])]),
    ];
    if is_cpu(device) {
        let providers = axis("provider", &["gemm", "native", "openblas", "mkl", "onednn"]);
        grids.push(grid([types(), squares(), providers.clone()]));
        grids.push(grid([types(), transformer(), providers]));
        grids.push(grid([types(), squares(), ("threads", thread_counts(device))]));
        for shapes in [squares(), transformer()] {
            grids.push(grid([
                axis("dtype", &["i8"]),
                shapes,
                axis("provider", &["auto", "native", "onednn"]),
            ]));
        }
        grids.push(grid([axis("dtype", &["i8"]), squares(), ("threads", thread_counts(device))]));
    }
    if let Some(names) = gpu_providers(device) {
        let providers = axis("provider", &names);
        grids.push(grid([types(), squares(), providers.clone()]));
        grids.push(grid([types(), transformer(), providers.clone()]));
        grids.push(grid([axis("dtype", &["i8"]), squares()]));
        grids.push(grid([axis("dtype", &["i8"]), squares(), providers]));
        grids.push(grid([axis("dtype", &["tf32"]), squares(), axis("provider", &names[..2])]));
        grids.push(grid([axis("dtype", &["fp8"]), squares(), axis("transpose", &["nt"])]));
        grids.push(grid([
            axis("dtype", &["bf16"]),
            squares(),
            axis("output", &["as-inputs"]),
            axis("provider", &names[..2]),
        ]));
        let rest = [
            axis("epilogue", &["none", "bias", "gelu"]),
            axis("algorithms", &["1", "8"]),
            axis("provider", &names[1..2]),
        ];
        let [epilogues, algorithms, light] = rest;
        grids.push(grid([axis("dtype", &["f16"]), squares(), epilogues, algorithms, light]));
        grids.push(grid([
            types(),
            axis("shape", &["4096x4096x4096"]),
            axis("init", &["random", "trigonometric", "constant"]),
            axis("rotate", &["1", "0"]),
        ]));
    }
    grids
}

/// Returns the data types of [`full`].
fn types() -> (&'static str, Vec<String>) {
    axis("dtype", &["f64", "f32", "f16", "bf16"])
}

/// Returns the square shapes of [`full`].
fn squares() -> (&'static str, Vec<String>) {
    axis(
        "shape",
        &[
            "64x64x64",
            "128x128x128",
            "256x256x256",
            "512x512x512",
            "1024x1024x1024",
            "2048x2048x2048",
            "4096x4096x4096",
        ],
    )
}

/// Returns the transformer shapes of [`full`].
fn transformer() -> (&'static str, Vec<String>) {
    axis(
        "shape",
        &[
            "32x768x768",
            "32x3072x768",
            "32x768x3072",
            "128x768x768",
            "128x3072x768",
            "128x768x3072",
            "512x1024x1024",
            "512x4096x1024",
            "512x1024x4096",
            "1x4096x4096",
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_device::scripted::{Script, ScriptedDevice};
    use rsb_model::environment::Cache;

    #[test]
    fn no_cache_holds_the_matrices_that_take_turns() {
        const MIB: u64 = 1 << 20;
        let mut info = ScriptedDevice::new(Script::default()).info().clone();
        info.usable_memory_bytes = 64 << 30;
        info.caches = vec![Cache { level: 3, size_bytes: 256 * MIB, shared_by: None }];
        let square = |dtype, side| GemmOperation::new(dtype, side, side, side);
        for gemm in [square(Dtype::F16, 64), square(Dtype::F16, 256), square(Dtype::F32, 4096)] {
            for gemm in [gemm, GemmOperation { ld_a: Some(gemm.k * 3), ..gemm }] {
                let operation = Operation::Gemm(gemm);
                let sets = u64::from(beyond_cache(&operation, &info));
                assert!(sets * used_bytes(&operation) > 256 * MIB && sets > 1, "{gemm:?}: {sets}");
            }
        }
        info.usable_memory_bytes = 128 * MIB;
        assert_eq!(
            // Each set of matrices has 12 MiB.
            beyond_cache(&Operation::Gemm(square(Dtype::F32, 1024)), &info),
            5,
            "the number of sets must be limited by the memory"
        );
    }

    #[test]
    fn a_distance_that_is_too_small_is_refused_with_the_smallest_legal_one() {
        let of = |name: &'static str, value: &str| {
            let params = Params::new()
                .with("dtype", "f32")
                .with("shape", "4x6x8")
                .with("batch_size", "2")
                .with("transpose", "tn")
                .with("alpha", "1")
                .with("beta", "0");
            GemmBenchmark.operation(&params.with(name, value))
        };
        for (name, smallest) in
            [("ld_a", 4), ("ld_b", 6), ("ld_c", 6), ("stride_a", 32), ("stride_b", 48)]
        {
            let refused = of(name, &(smallest - 1).to_string()).unwrap_err();
            assert!(refused.cure.contains(&format!("{name}={smallest} ")), "{refused}");
            assert!(of(name, &smallest.to_string()).is_ok(), "{name}");
        }
        let [packed, padded] = ["0", "9"].map(|value| of("ld_c", value).unwrap());
        // Three elements after each of the four rows of two matrices.
        assert_eq!(padded.footprint_bytes(), packed.footprint_bytes() + 4 * 3 * 4 * 2);
        assert_eq!(padded.bytes_moved().to_bits(), packed.bytes_moved().to_bits());
    }
}
