//! Peak rates of a GPU's matrix and vector units by type: the data sheet's peak, the rate of native
//! kernels, and the rate of a large matrix product.

use rsb_device::operation::{Gemm, PeakArithmetic};
use rsb_device::{Device, DeviceInfo, Operation, Options};
use rsb_model::architecture::{self, Architecture, Engine};
use rsb_model::unit::gigaflops;
use rsb_model::{DeviceType, Dtype, Fields, Params, Reason};

use super::{dtype, fixed_grid};
use crate::axis::{AxisInfo, AxisKind, DTYPE};
use crate::benchmark::{
    Benchmark, BenchmarkGroup, BenchmarkInfo, Breadth, Failure, Grid, Iterations, PrepareResult,
    RunsOn,
};
use crate::plausibility::gpu::{peak_note, rated_gpu};
use crate::plausibility::{check_core_rate, set_note};
use crate::timed::{PreparedCase, Timed};

/// Peaks of the matrix and vector units.
pub(super) struct TensorCore;

const AXES: &[AxisInfo] = &[
    DTYPE,
    AxisInfo::value(
        "engine",
        "matrix: MFMA or WMMA instructions; vector: multiply-adds in vector registers",
        AxisKind::Choice(&["matrix", "vector"]),
    ),
    AxisInfo::with_default(
        "sparsity",
        "2:4: two of every four elements of A are zero, and the matrix unit skips them",
        "dense",
        AxisKind::Choice(&["dense", "2:4"]),
    ),
];

/// Operations in one piece of work, for both matrix and vector kernels.
const PIECE: u64 = 8 * PeakArithmetic::UNIT;

/// Target duration of one launch in clock cycles: about a millisecond.
const CLOCKS: u64 = 2_000_000;

/// Waves per compute unit. All waves execute the same number of pieces.
const WAVES: u64 = 16;

/// Operations per compute unit and clock, assumed for an unknown architecture.
const USUAL_RATE: u32 = 128;

impl Benchmark for TensorCore {
    fn info(&self) -> BenchmarkInfo {
        BenchmarkInfo {
            name: "tensor-core",
            about: "Peak of a GPU's matrix and vector units by data type: data sheet and measured",
            axes: AXES,
            group: Some(BenchmarkGroup::Compute),
            runs_on: RunsOn::Gpus,
            iterations: Iterations::Sustained,
            ..BenchmarkInfo::DEFAULT
        }
    }

    fn grids(&self, breadth: Breadth, _: &DeviceInfo) -> Vec<Grid> {
        match breadth {
            Breadth::Quick => vec![
                fixed_grid("dtype=f16,bf16 engine=matrix"),
                fixed_grid("dtype=f32 engine=vector"),
            ],
            _ => vec![
                fixed_grid("dtype=f64,f32,tf32,f16,bf16,fp8,bf8,i8,fp6,fp4,i4 engine=matrix"),
                fixed_grid("dtype=tf32,f16,bf16,fp8,bf8,i8,i4 engine=matrix sparsity=2:4"),
                // Some vector units have a rate for integers, but no kernel measures it; these
                // cases are skipped with a reason.
                fixed_grid("dtype=f64,f32,f16,i8,i4 engine=vector"),
            ],
        }
    }

    fn operation(&self, params: &Params) -> Result<Operation, Reason> {
        engine(params)?;
        Ok(Operation::PeakArithmetic(PeakArithmetic { dtype: dtype(params)?, operations: PIECE }))
    }

    fn prepare<'d>(&self, params: &Params, device: &'d dyn Device) -> PrepareResult<'d> {
        let dtype = dtype(params).map_err(Failure::Skipped)?;
        let engine = engine(params).map_err(Failure::Skipped)?;
        let operation = Operation::PeakArithmetic(PeakArithmetic {
            dtype,
            operations: work(device.info(), dtype, engine),
        });
        let options = Options { provider: Some(engine.as_str().to_owned()), ..Options::default() };
        let timed = Timed::prepare(device, operation, options)?;
        Ok(PreparedCase::new_boxed(timed, move |timed, time_ns| {
            fields(timed, time_ns, dtype, engine)
        }))
    }
}

fn engine(params: &Params) -> Result<Engine, Reason> {
    match (params.text("engine"), params.text("sparsity")) {
        (Some("vector"), Some("2:4")) => Err(Reason::new(
            "sparse products in vector registers",
            "the vector unit has no instructions that skip zeros",
            "choose engine=matrix",
        )),
        (Some("vector"), _) => Ok(Engine::Vector),
        (_, Some("2:4")) => Ok(Engine::Sparse),
        _ => Ok(Engine::Matrix),
    }
}

fn find_architecture(info: &DeviceInfo) -> Result<&'static Architecture, Reason> {
    Architecture::find(info.arch.as_deref().unwrap_or_default())
}

/// Returns the operations of one launch: as many as the GPU executes in [`CLOCKS`] cycles at the
/// rate in the table, rounded so that every wave gets whole pieces.
fn work(info: &DeviceInfo, dtype: Dtype, engine: Engine) -> u64 {
    let known =
        find_architecture(info).ok().and_then(|known| known.per_clock_per_cu(dtype, engine));
    let of_unit = u64::from(known.unwrap_or(USUAL_RATE)) * CLOCKS;
    let rounds = (of_unit / (PIECE * WAVES)).max(1);
    u64::from(info.units.max(1)) * WAVES * rounds * PIECE
}

fn fields(
    timed: &mut Timed<'_>,
    time_ns: f64,
    dtype: Dtype,
    engine: Engine,
) -> Result<Fields, Failure> {
    let rate = gigaflops(timed.operation.flops(), time_ns);
    check_core_rate(rate, timed)?;
    let (unit, sparsity) = match engine {
        Engine::Sparse => ("matrix", "2:4"),
        dense => (dense.as_str(), "dense"),
    };
    let mut fields = timed
        .common_fields()
        .with("engine", unit)
        .with("sparsity", sparsity)
        .with("time_ms", time_ns / 1e6);
    fields.set("gflops", rate);
    fields.set("tflops", rate / 1e3);
    fields.extend(capability(timed.device.info(), dtype, engine, rate / 1e3));
    if let Some(tflops) = product_beside(timed.device, dtype, engine)? {
        fields.set("gemm_tflops", tflops);
    }
    Ok(fields)
}

/// Returns the table entry of this GPU and `tflops` as a percentage of its peak. For an unknown
/// architecture, returns a note instead. Adds a note if the instructions used here cannot reach the
/// peak.
fn capability(info: &DeviceInfo, dtype: Dtype, engine: Engine, tflops: f64) -> Fields {
    let mut fields = architecture::matrix_fields(&rated_gpu(info)).without_nulls();
    fields.set("compute_units", info.units);
    if let Some(arch) = &info.arch {
        fields.set("gfx_target", arch.as_str());
    }
    if let Some(clock) = info.max_clock_mhz {
        fields.set("gpu_max_clock_mhz", clock);
    }
    let by_block = architecture::unreached_by_mma(info.arch.as_deref().unwrap_or_default(), dtype)
        .filter(|_| engine != Engine::Vector);
    let known = match find_architecture(info) {
        Ok(known) => known,
        Err(reason) => {
            let notes = [Some(reason.to_string()), by_block];
            return fields
                .with("peak_note", notes.into_iter().flatten().collect::<Vec<_>>().join("; "));
        }
    };
    let unit = known.matrix.map_or_else(|| "none".to_owned(), |unit| unit.to_string());
    fields.set("matrix_unit", unit);
    let types =
        known.rates.iter().filter(|rate| rate.engine == engine).map(|rate| rate.dtype.as_str());
    fields.set("supported_dtypes", types.collect::<Vec<_>>().join(", "));
    if engine != Engine::Vector {
        fields.set("tile_sizes", architecture::tiles_text(known.tiles_of(dtype, engine)));
    }
    let peak = match peak(known, info, dtype, engine) {
        Ok(peak) => peak,
        Err(note) => return fields.with("peak_note", note),
    };
    fields.set("peak_tflops", peak);
    if let Some(note) = by_block {
        return fields.with("peak_note", note);
    }
    fields.set("roofline_percent", 100.0 * tflops / peak);
    set_note(&mut fields, peak_note(info, dtype, engine, 1e3 * tflops).as_deref());
    fields
}

/// Returns the data sheet's peak at the highest known clock.
fn peak(
    known: &Architecture,
    info: &DeviceInfo,
    dtype: Dtype,
    engine: Engine,
) -> Result<f64, String> {
    let rated = rated_gpu(info);
    rated.clock().ok_or("the driver reports no clock of the compute units")?;
    rated.peak_tflops(dtype, engine).ok_or_else(|| {
        format!(
            "the architecture table has no rate of {dtype} on the {} unit of {}",
            engine.as_str(),
            known.target
        )
    })
}

/// Returns the rate of a large product of the same type in TFLOP/s, if products use this engine.
fn product_beside(
    device: &dyn Device,
    dtype: Dtype,
    engine: Engine,
) -> Result<Option<f64>, Failure> {
    const TRIES: u32 = 5;
    let by_matrix =
        find_architecture(device.info()).is_ok_and(|known| !known.tiles(dtype).is_empty());
    if engine == Engine::Sparse || by_matrix != (engine == Engine::Matrix) {
        return Ok(None);
    }
    // An emulated device would take minutes.
    let side = if device.info().device_type == DeviceType::Gpu { 4096 } else { 64 };
    // Most GPUs support products of fp8 only with B stored by columns.
    let transpose_b = dtype == Dtype::Fp8;
    let operation = Operation::Gemm(Gemm { transpose_b, ..Gemm::new(dtype, side, side, side) });
    let flops = operation.flops();
    let mut timed = match Timed::prepare(device, operation, Options::default()) {
        Ok(timed) => timed,
        Err(Failure::Skipped(_)) => return Ok(None),
        Err(failed) => return Err(failed),
    };
    let mut best = f64::INFINITY;
    for _ in 0..TRIES {
        best = best.min(timed.sample(1)?);
    }
    Ok(Some(gigaflops(flops, best) / 1e3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_device::scripted::{Script, ScriptedDevice};

    fn gpu(arch: &str) -> Script {
        let mut script = Script::default();
        script.info.arch = Some(arch.to_owned());
        script.info.units = 104;
        script.info.max_clock_mhz = Some(1700.0);
        script
    }

    fn fields_by_engine(script: Script, engine: &str) -> Fields {
        measure_fields(script, &Params::new().with("dtype", "f16").with("engine", engine))
    }

    fn measure_fields(script: Script, params: &Params) -> Fields {
        let device = ScriptedDevice::new(script);
        let mut prepared = TensorCore.prepare(params, &device).unwrap();
        let time = prepared.sample(1).unwrap();
        prepared.fields(time).unwrap()
    }

    #[test]
    fn peak_and_measurement_stand_side_by_side() {
        let fields = fields_by_engine(gpu("gfx90a:sramecc+:xnack-"), "matrix");
        let peak = fields.number("peak_tflops").unwrap();
        assert!((peak - 181.04).abs() < 0.01, "{peak}");
        assert_eq!(fields.text("matrix_unit"), Some("MFMA 2"));
        assert_eq!(fields.text("tile_sizes"), Some("32x32x8, 16x16x16"));
        assert_eq!(fields.text("supported_dtypes"), Some("f64, f32, f16, bf16, i8"));
        assert_eq!(
            (fields.text("architecture"), fields.text("matrix_size")),
            (Some("gfx90a"), fields.text("tile_sizes"))
        );
        assert_eq!(
            (fields.get("available"), fields.number("wmma_version")),
            (Some(&true.into()), None)
        );
        assert_eq!(
            (fields.number("peak_tflops_fp16"), fields.number("peak_tflops_tf32")),
            (Some(peak), None)
        );
        // The scripted device runs every operation at 10 GFLOP/s.
        assert!((fields.number("tflops").unwrap() - 0.01).abs() < 1e-6);
        assert!((fields.number("roofline_percent").unwrap() - 100.0 * 0.01 / peak).abs() < 1e-9);
        assert!(fields.number("gemm_tflops").is_some());
        let vector = fields_by_engine(gpu("gfx90a"), "vector");
        assert_eq!((vector.get("tile_sizes"), vector.get("gemm_tflops")), (None, None));
    }

    #[test]
    fn sparse_products_have_a_peak_and_types_of_their_own() {
        let params = Params::new().with("dtype", "f16").with("sparsity", "2:4");
        let mut script = gpu("gfx942");
        (script.info.units, script.info.max_clock_mhz) = (304, Some(2100.0));
        let fields = measure_fields(script, &params.clone().with("engine", "matrix"));
        assert!((fields.number("peak_tflops").unwrap() - 2614.9).abs() < 0.1);
        assert_eq!(fields.text("supported_dtypes"), Some("f16, bf16, fp8, bf8, i8"));
        assert_eq!((fields.text("engine"), fields.text("sparsity")), (Some("matrix"), Some("2:4")));
        assert_eq!(fields.text("tile_sizes"), Some("32x32x16, 16x16x32"));
        assert_eq!(fields.get("gemm_tflops"), None);
        let refused = TensorCore.operation(&params.with("engine", "vector")).unwrap_err();
        assert!(refused.why.contains("zeros"));
    }

    #[test]
    fn an_unknown_architecture_is_measured_and_says_why_there_is_no_peak() {
        let fields = fields_by_engine(gpu("gfx1999"), "matrix");
        assert!(fields.number("tflops").is_some() && fields.get("peak_tflops").is_none());
        assert!(fields.text("peak_note").unwrap().contains("gfx1999"));
        let mut script = gpu("gfx90a");
        script.info.max_clock_mhz = None;
        assert!(fields_by_engine(script, "matrix").text("peak_note").unwrap().contains("clock"));
        assert!(
            fields_by_engine(gpu("gfx90a"), "vector")
                .text("peak_note")
                .unwrap()
                .contains("no rate of f16")
        );
    }

    #[test]
    fn data_center_blackwell_has_a_peak_without_a_share() {
        let params = Params::new().with("engine", "matrix");
        let half = measure_fields(gpu("sm_100"), &params.clone().with("dtype", "f16"));
        assert!(half.number("peak_tflops").is_some() && half.get("roofline_percent").is_none());
        assert!(half.text("peak_note").unwrap().contains("mma"), "{:?}", half.text("peak_note"));
        let double = measure_fields(gpu("sm_100"), &params.clone().with("dtype", "f64"));
        assert!(double.number("roofline_percent").is_some() && double.get("peak_note").is_none());
        let ultra = measure_fields(gpu("sm_103"), &params.with("dtype", "f16"));
        let note = ultra.text("peak_note").unwrap();
        assert!(
            note.contains("sm_103")
                && note.contains("mma")
                && ultra.get("roofline_percent").is_none(),
            "{note}"
        );
    }

    #[test]
    fn a_radeon_records_the_clock_of_its_peak() {
        let mut script = gpu("gfx1201");
        script.info.name = "AMD Radeon RX 9070 XT".to_owned();
        (script.info.units, script.info.max_clock_mhz) = (64, Some(2400.0));
        let fields = fields_by_engine(script, "matrix");
        assert!((fields.number("peak_tflops").unwrap() - 194.6).abs() < 0.1);
        assert_eq!(
            (fields.number("peak_clock_mhz"), fields.text("peak_clock_source")),
            (Some(2970.0), Some("data sheet"))
        );
        assert_eq!(fields.number("gpu_max_clock_mhz"), Some(2400.0));
        assert!(fields.text("peak_note").unwrap().contains("driver 2400 MHz, data sheet 2970 MHz"));
    }

    #[test]
    fn a_launch_lasts_as_many_clocks_on_any_gpu() {
        let info = gpu("gfx90a").info;
        for (dtype, engine, rate) in
            [(Dtype::F16, Engine::Matrix, 1024), (Dtype::F64, Engine::Vector, 128)]
        {
            let operations = work(&info, dtype, engine);
            assert!(operations.is_multiple_of(104 * WAVES * PIECE));
            let clocks = operations / 104 / rate;
            assert!((CLOCKS / 2..=CLOCKS).contains(&clocks), "{clocks}");
        }
        assert!(work(&gpu("gfx1100").info, Dtype::F64, Engine::Vector) >= 104 * WAVES * PIECE);
    }
}
