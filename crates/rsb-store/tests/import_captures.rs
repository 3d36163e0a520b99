//! Tests of the importers with real outputs of the tools from real machines. The captured outputs
//! are not in the repository: without them (in `RSB_SHARED`, or `../shared` next to it) these tests
//! report that they were skipped.

#![allow(clippy::unwrap_used)] // In a test a failed step is a failed test.

use rsb_model::{BenchmarkResult, Outcome, Run};
use rsb_store::import::{Format, import};

/// Imports a capture, whose format must be detected.
fn read(name: &str, format: Format) -> Option<Run> {
    let run = import(&test_needs::capture(name)?, None).unwrap();
    assert_eq!(run.suite, format.as_str(), "{name}");
    Some(run)
}

fn case<'a>(run: &'a Run, end: &str) -> &'a BenchmarkResult {
    let mut found = run.benchmarks.iter().filter(|case| case.benchmark_id.as_str().ends_with(end));
    let case = found.next().unwrap_or_else(|| panic!("no case ends with {end}"));
    assert!(found.next().is_none(), "several cases end with {end}");
    case
}

fn number(case: &BenchmarkResult, field: &str) -> f64 {
    case.fields().and_then(|fields| fields.number(field)).unwrap_or(f64::NAN)
}

fn assert_near(actual: f64, expected: f64) {
    assert!((actual / expected - 1.0).abs() < 1e-9, "{actual} is not {expected}");
}

#[test]
fn nvbench_seconds_and_skips() {
    for name in ["nvbench/test_ref.json", "nvbench/test_cmp.json"] {
        let Some(run) = read(name, Format::Nvbench) else { return };
        let counts = run.counts();
        assert_eq!((counts.measured, counts.skipped, counts.failed), (88, 38, 0), "{name}");
    }
    let run = read("nvbench/test_ref.json", Format::Nvbench).unwrap();
    let simple = case(&run, "nvbench/simple/Device=0");
    assert_near(number(simple, "time_ms"), 1.003_471_584_979_422_5);
    assert_near(number(simple, "num_runs"), 499.0);
    let copy = case(&run, "copy_sweep_grid_shape/Device=0,BlockSize=2^6,NumBlocks=2^6");
    assert_near(number(copy, "bandwidth_gb_s"), 82.777_765_606_266_3);
    let skipped = case(&run, "copy_type_conversion_sweep/Device=0,In=I8,Out=I8");
    assert!(
        skipped.outcome == Outcome::Skipped
            && skipped.reason.as_ref().unwrap().why.starts_with("Not a conversion")
    );
}

#[test]
fn rocblas_gflops_and_microseconds() {
    for (kind, gflops, time_us) in [
        ("BF16_X", 81_374.3, 12_667.3),
        ("FP16_X", 153_728.0, 6_705.3),
        ("FP32_X", 39_441.6, 32_705.2),
        ("FP64", 10_037.5, 102_694.0),
        ("INT8_X", 162_675.0, 6_336.5),
    ] {
        let name = format!("superbench/test_rocm_gemm_flops_performance.raw_output_{kind}.txt");
        let Some(run) = read(&name, Format::RocblasBench) else { return };
        let [gemm] = &run.benchmarks[..] else { panic!("{run:?}") };
        assert_eq!(gemm.outcome, Outcome::Measured, "{kind}: {:?}", gemm.reason);
        assert_near(number(gemm, "gflops"), gflops);
        assert_near(number(gemm, "time_us"), time_us);
    }
}

#[test]
fn hipblaslt_after_the_number_of_the_solution() {
    let Some(run) =
        read("superbench/test_hipblaslt_function.example_raw_output.txt", Format::HipblasltBench)
    else {
        return;
    };
    let [gemm] = &run.benchmarks[..] else { panic!("{run:?}") };
    // This version prints only the type of the result, not the types of the inputs.
    assert_eq!(gemm.fields().unwrap().text("dtype"), None);
    assert_near(number(gemm, "gflops"), 58_624.5);
    assert_near(number(gemm, "time_us"), 24.54);
    assert_near(number(gemm, "m"), 896.0);
}

#[test]
fn nccl_rows_of_an_old_version() {
    let Some(run) = read("superbench/nccl_allreduce.log", Format::NcclTests) else { return };
    let counts = run.counts();
    assert_eq!((counts.measured, counts.skipped, counts.failed), (68, 0, 0), "{run:?}");
    let largest = case(&run, "size=8589934592/out-of-place");
    assert_near(number(largest, "time_us"), 63_896.0);
    assert_near(number(largest, "throughput_gb_s"), 134.44);
    assert_near(number(largest, "bandwidth_gb_s"), 235.26);
    assert_near(number(largest, "num_gpus"), 8.0);
    let small = case(&run, "size=4/in-place");
    assert!(small.outcome == Outcome::Measured && number(small, "bandwidth_gb_s").is_nan());
    // Two rows have size 0; neither replaces the other.
    assert_near(number(case(&run, "size=0/out-of-place"), "time_us"), 35.20);
    assert_near(number(case(&run, "size=0/out-of-place#2"), "time_us"), 34.18);
}

#[test]
fn ceilings_of_rocm_compute_profiler_are_below_what_the_gpu_could_reach() {
    let Some(run) = read("roofline/roofline.csv", Format::RocprofCompute) else { return };
    let counts = run.counts();
    assert_eq!((counts.measured % 11, counts.skipped, counts.failed), (0, 0, 0), "{run:?}");
    let matrix = case(&run, "gpu=0/matrix/f16");
    assert_near(number(matrix, "gflops"), 164_933.34);
    assert_near(number(matrix, "peak_gflops"), 181_043.2);
    let shares =
        run.benchmarks.iter().map(|case| number(case, "gflops") / number(case, "peak_gflops"));
    // The measured f32 rate may be half of the peak: the tool does not pack two f32 values into one
    // vector operation, as the peak assumes.
    assert!(shares.filter(|share| share.is_finite()).all(|share| (0.4..1.0).contains(&share)));
}

#[test]
fn an_empty_capture_is_an_error() {
    let Some(path) = test_needs::capture("superbench/test_nvbandwidth.raw_output.txt") else {
        return;
    };
    for format in [None, Some(Format::Nvbandwidth)] {
        let error = import(&path, format).unwrap_err().to_string();
        assert!(error.contains("is empty"), "{error}");
    }
}

#[test]
fn what_no_importer_knows_is_refused() {
    for name in [
        "superbench/gpu_copy_bw_performance.log",
        "superbench/gpu_stream.log",
        "rocm-smi/mi100_rocm571.json",
    ] {
        let Some(path) = test_needs::capture(name) else { return };
        let error = import(&path, None).unwrap_err().to_string();
        assert!(
            error.contains("not the output of a supported tool") && error.contains("nvbandwidth"),
            "{error}"
        );
    }
}

#[test]
fn vllm_seconds_and_milliseconds_are_not_mixed() {
    let Some(run) = read("vllm/glm5_fp8_vllm_tp8_isl10240_osl128_conc16.json", Format::Vllm) else {
        return;
    };
    assert_eq!(run.counts().failed, 0, "{run:?}");
    assert_near(number(case(&run, "ttft/median"), "ttft_ms"), 3_138.244_704_343_378_5);
    assert_near(number(case(&run, "tpot/p99"), "tpot_ms"), 196.229_197_233_622);
    assert_near(number(case(&run, "e2el/p99"), "total_latency_ms"), 30_149.846_625_011_413);
    assert_near(
        number(case(&run, "/goodput"), "requests_per_second"),
        160.0 / 214.639_105_599_373_58,
    );
    assert_near(number(case(&run, "/goodput"), "prompt_length"), 10_240.0);
    let run = read("vllm/vllm_results_sample.json", Format::Vllm).unwrap();
    assert_eq!(run.counts().failed, 0, "{run:?}");
    assert_near(number(case(&run, "ttft/median"), "ttft_ms"), 639.235_239_941_626_8);
    assert_near(number(case(&run, "itl/p99"), "itl_ms"), 32.199_626_545_353_05);
    assert_near(number(case(&run, "/output_tokens"), "tokens_per_second"), 9_748.245_232_004_41);
}
