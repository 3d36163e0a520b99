//! Small outputs of each tool, and tests that damaged outputs never cause a panic or an impossible
//! value.

use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::Config;
use rsb_model::field::FieldRole;
use rsb_model::{Field, Outcome, Run, Timestamp};

use super::sink::MAY_BE_ZERO;
use super::{Format, ImportError, import_text};

pub(super) const SAMPLES: &[(Format, &str)] = &[
    (
        Format::Nvbench,
        r#"{"meta": {"version": {"json": {"major": 1, "minor": 0}}}, "devices": [{"id": 0, "name": "GPU"}],
"benchmarks": [{"name": "copy", "devices": [0], "states": [
 {"name": "Device=0 Size=2^20", "device": 0, "is_skipped": false, "summaries": [
  {"tag": "nv/cold/sample_size", "data": [{"name": "value", "type": "int64", "value": "78"}]},
  {"tag": "nv/cold/time/cpu/mean", "data": [{"name": "value", "type": "float64", "value": "0.0003"}]},
  {"tag": "nv/cold/time/gpu/mean", "data": [{"name": "value", "type": "float64", "value": "0.00025"}]},
  {"tag": "nv/cold/time/gpu/stdev/relative", "data": [{"name": "value", "type": "float64", "value": "0.01"}]},
  {"tag": "nv/cold/bw/global/bytes_per_second", "data": [{"name": "value", "type": "float64", "value": "8.2e10"}]},
  {"tag": "nv/batch/time/gpu/mean", "data": [{"name": "value", "type": "float64", "value": "0.0002"}]},
  {"tag": "nv/json/bin:nv/cold/sample_times", "data": [
   {"name": "filename", "type": "string", "value": "out.json-bin/0.bin"},
   {"name": "size", "type": "int64", "value": "3"}]}]},
 {"name": "Device=0 Size=2^0", "device": 0, "is_skipped": true, "skip_reason": "not a conversion", "summaries": null}
]}]}"#,
    ),
    (
        Format::GoogleBenchmark,
        r#"{"context": {"date": "2026-01-02T03:04:05+01:00", "num_cpus": 2, "library_build_type": "release"},
"benchmarks": [
 {"name": "BM_Copy/1024", "run_name": "BM_Copy/1024", "run_type": "iteration", "repetition_index": 0, "threads": 1,
  "iterations": 1000, "real_time": 5.0e+01, "cpu_time": 4.9e+01, "time_unit": "us", "bytes_per_second": 2.2e+10},
 {"name": "BM_Copy/1024", "run_name": "BM_Copy/1024", "run_type": "iteration", "repetition_index": 1, "threads": 1,
  "iterations": 1000, "real_time": 5.2e+01, "cpu_time": 5.1e+01, "time_unit": "us", "bytes_per_second": 2.0e+10},
 {"name": "BM_Copy/1024_mean", "run_name": "BM_Copy/1024", "run_type": "aggregate", "aggregate_name": "mean",
  "iterations": 2, "real_time": 5.1e+01, "cpu_time": 5.0e+01, "time_unit": "us"},
 {"name": "BM_Sort_median", "run_name": "BM_Sort", "run_type": "aggregate", "aggregate_name": "median",
  "iterations": 2, "real_time": 3.0, "cpu_time": 3.0, "time_unit": "ms"},
 {"name": "BM_Sort_cv", "run_name": "BM_Sort", "run_type": "aggregate", "aggregate_name": "cv",
  "aggregate_unit": "percentage", "iterations": 2, "real_time": 0.01, "cpu_time": 0.01, "time_unit": "ms"}
]}"#,
    ),
    (
        Format::Hyperfine,
        r#"{"results": [
 {"command": "sleep 0.02", "mean": 0.022, "stddev": 0.001, "median": 0.022, "user": 0.0, "system": 0.0,
  "min": 0.021, "max": 0.023, "times": [0.021, 0.022, 0.023], "memory_usage_byte": [2400000, 2500000, 2400000],
  "exit_codes": [0, 0, 0]},
 {"command": "ls", "mean": 0.0016, "median": 0.0015, "exit_codes": []}
]}"#,
    ),
    (
        Format::PytestBenchmark,
        r#"{"machine_info": {"node": "host"}, "datetime": "2026-01-02T03:04:05.500000+00:00", "version": "5.0",
"benchmarks": [
 {"group": null, "name": "test_fib[10]", "fullname": "tests/test_fib.py::test_fib[10]", "params": {"n": 10},
  "stats": {"min": 2e-06, "median": 2.5e-06, "rounds": 2, "iterations": 5, "data": [2e-06, 3e-06]}},
 {"group": "sums", "name": "test_sum", "fullname": "tests/test_sum.py::test_sum",
  "stats": {"min": 0.0009, "median": 0.001, "rounds": 9, "iterations": 1}}
]}"#,
    ),
    (
        Format::RocblasBench,
        "Query device success: there are 1 devices\n\
         transA,transB,M,N,K,alpha,lda,beta,ldb,ldc,rocblas-Gflops,us\n\
         N,T,1000,1000,1000,1,1000,0,1000,1000, 20000, 100\n\n\
         N,alpha,incx,incy,rocblas-Gflops,rocblas-GB/s,us\n1000,1,1,1, 2, 12, 1\n",
    ),
    (
        Format::HipblasltBench,
        "hipBLASLt version: 600\nIs supported 1 / Total solutions: 2\n\
         [0]:transA,transB,grouped_gemm,batch_count,m,n,k,alpha,beta,a_type,b_type,d_type,compute_type,hipblaslt-Gflops,us\n\
         \x20   N,N,0,1,1000,1000,1000,1,0,f16_r,f16_r,f16_r,f32_r,20000,100\n\
         [1]:transA,transB,grouped_gemm,batch_count,m,n,k,alpha,beta,a_type,b_type,d_type,compute_type,hipblaslt-Gflops,us\n\
         \x20   N,N,0,1,1000,1000,1000,1,0,f16_r,f16_r,f16_r,f32_r,40000,50\n",
    ),
    (
        Format::NcclTests,
        "# Collective test starting: all_reduce_perf\n# nThread 1 nGpus 2 minBytes 8 maxBytes \
         1048576\n\
         # Using devices\n#  Rank  0 Group  0 Pid 7 on host device  0 [0x07] GPU\n\
         #  Rank  1 Group  0 Pid 7 on host device  1 [0x08] GPU\n#\n\
         #       size     count  type  redop  root     time   algbw   busbw #wrong     time   \
         algbw   busbw #wrong\n\
         #        (B) (elements)                       (us)  (GB/s)  (GB/s)            (us)  \
         (GB/s)  (GB/s)\n\
         host:7:7 [0] NCCL INFO comm ready\n\
         8         2  float    sum    -1    13.50    0.00    0.00      0    13.10    0.00    \
         0.00      0\n\
         1048576    262144  float    sum    -1    74.78   14.02   24.54      0      N/A     \
         N/A     N/A    N/A\n\
         # Out of bounds values : 0 OK\n# Avg bus bandwidth    : 12.27\n#\n",
    ),
    (
        Format::Nvbandwidth,
        "nvbandwidth Version: v0.8\nDriver Version: 572.83\n\nDevice 0: GPU (00000000:01:00)\n\n\
         Running host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth \
         (GB/s)\n           0         1\n\
         \x20 0     55.5     54.5\n\nSUM host_to_device_memcpy_ce 110.0\n\nWaived: \n\
         Running device_latency_sm.\nDevice to Device Latency SM GPU(row) <-> GPU(column) (ns)\n\
         \x20          0         1\n 0       N/A     700.0\n 1     800.0       N/A\n\nSUM \
         device_latency_sm 1500.0\n\n",
    ),
    (
        Format::Nvbandwidth,
        r#"{"nvbandwidth": {"version": "v0.8", "testcases": [{"name": "all_to_one_write_ce", "status": "Waived"},
 {"name": "device_to_device_bidirectional_memcpy_read_ce", "status": "Passed", "sum": 64.0,
  "bandwidth_description": "memcpy CE GPU(row) <-> GPU(column) Total bandwidth (GB/s)", "bandwidth_matrix":
  [["N/A", "10.5"], ["11.5", "N/A"], ["N/A", "20.5"], ["21.5", "N/A"], ["N/A", "31"], ["33", "N/A"]]}]}}"#,
    ),
    (
        Format::RocprofCompute,
        "device,HBMBw,HBMBwLow,hbmBwHigh,FP32Flops,MFMABF16Flops,MFMABF16FlopsLow,MFMAF8Flops,MFMAI8Ops\n\
         0,1390.5,1389,1391,20900,170500,170400,0,166400\n1,1390.1,1389,1391,20910,170600,170500,0,166500\n",
    ),
    (
        Format::Vllm,
        r#"{"date": "20260102-030405", "model_id": "org/model", "num_prompts": 40, "request_rate": "inf",
"burstiness": 1.0, "max_concurrency": 4, "duration": 80.0, "completed": 40, "good_completed": null,
"total_input_tokens": 40960, "total_output_tokens": 5120, "request_throughput": 0.5, "request_goodput": null,
"output_throughput": 64.0, "median_ttft": 1.5, "p99_ttft": 4.5, "std_ttft": 0.1, "median_tpot": 0.045,
"mean_e2el_ms": 7000.0, "mean_itl_ms": 0.0}"#,
    ),
];

pub(super) fn sample(format: Format) -> &'static str {
    SAMPLES.iter().find(|(own, _)| *own == format).map_or("", |(_, text)| text)
}

/// Reads `text` as an output of `format`.
pub(super) fn read(format: Format, text: &str) -> Result<Run, ImportError> {
    import_text(Path::new("dir/out.json"), text, Some(format), Timestamp::UNIX_EPOCH)
}

/// Panics if a measured case has an impossible value, an id is not unique, or a reason is missing.
fn check(run: &Run) {
    let mut ids: Vec<&str> = run.benchmarks.iter().map(|case| case.benchmark_id.as_str()).collect();
    ids.sort_unstable();
    assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "{ids:?}");
    assert!(!run.benchmarks.is_empty());
    for case in &run.benchmarks {
        assert_eq!(case.outcome == Outcome::Measured, case.reason.is_none());
        assert!(case.benchmark_id.as_str().parse::<rsb_model::CaseId>().is_ok());
        if case.outcome != Outcome::Measured {
            assert!(case.samples.is_empty() && case.results.is_empty());
            continue;
        }
        let fields = case.fields().unwrap();
        assert!(fields.metrics().next().is_some());
        for (name, value) in fields.iter() {
            if matches!(Field::find(name).unwrap().role, FieldRole::Metric(_)) {
                let fits = value.as_f64().is_some_and(|value| {
                    (value.is_normal() && value > 0.0) || (name == MAY_BE_ZERO && value == 0.0)
                });
                assert!(fits, "{name} {value}");
            }
        }
        assert!(case.samples.iter().all(|samples| samples.per_iteration().is_ok()));
    }
}

fn check_all(format: Format, text: &str) {
    match read(format, text) {
        Ok(run) => check(&run),
        Err(error) => assert!(error.to_string().contains("dir/out.json"), "{error}"),
    }
}

#[test]
fn each_small_output_is_sound() {
    for (format, text) in SAMPLES {
        let run = read(*format, text).unwrap();
        check(&run);
        assert!(run.counts().measured > 0 && run.counts().failed == 0, "{format}: {run:?}");
    }
}

#[test]
fn a_sample_twice_or_with_carriage_returns_is_read_as_well() {
    for (format, text) in SAMPLES {
        let once = read(*format, text).unwrap();
        let returns = read(*format, &text.replace('\n', "\r\n")).unwrap();
        assert_eq!(returns.benchmarks, once.benchmarks, "{format}");
        let twice = read(*format, &format!("{text}\n{text}")).unwrap();
        let (once, twice) = (once.counts(), twice.counts());
        assert_eq!((twice.measured, twice.failed), (2 * once.measured, 0), "{format}");
    }
}

#[test]
fn decimal_commas_never_become_other_figures() {
    for (format, text) in SAMPLES {
        let whole = read(*format, text).unwrap();
        for (at, _) in text.match_indices('.') {
            let changed = format!("{},{}", &text[..at], &text[at + 1..]);
            let Ok(run) = read(*format, &changed) else { continue };
            for case in run.benchmarks.iter().filter(|case| case.outcome == Outcome::Measured) {
                let is_same = whole.benchmarks.iter().any(|own| own.fields() == case.fields());
                assert!(is_same, "{format} at {at}: {case:?}");
            }
        }
    }
}

#[test]
fn a_cut_anywhere_before_the_last_figure_is_told() {
    for (format, text) in SAMPLES {
        let whole = read(*format, text).unwrap().counts();
        let end = text.find("# Avg bus").unwrap_or(text.trim_end().len());
        for at in 0..end {
            let Ok(run) = read(*format, &text[..at]) else { continue };
            check(&run);
            // If the output does not contain the number of calls, complete calls that are missing
            // at its end cannot be detected.
            let is_open_ended = matches!(
                format,
                Format::RocblasBench
                    | Format::HipblasltBench
                    | Format::Nvbandwidth
                    | Format::RocprofCompute
            );
            let is_told = run.counts().failed > 0;
            assert!(
                is_told || is_open_ended && run.counts().measured <= whole.measured,
                "{format} cut at {at}"
            );
        }
    }
}

fn numbers(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, byte) in text.bytes().enumerate() {
        match (byte.is_ascii_digit() || byte == b'.', start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                found.push((from, at));
                start = None;
            }
            _ => {}
        }
    }
    found
}

fn one_of() -> impl Strategy<Value = (Format, &'static str)> {
    (0..SAMPLES.len()).prop_map(|index| SAMPLES[index])
}

fn junk() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("NaN"),
        Just("nan"),
        Just("-1"),
        Just("0"),
        Just("1e400"),
        Just("1e308"),
        Just("inf"),
        Just("null"),
        Just("\"x\""),
        Just("[]"),
        Just("{}"),
        Just(""),
        Just("18446744073709551616"),
        Just("1e-320"),
        Just("N/A"),
    ]
    .prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(Config { failure_persistence: None, cases: 2000, ..Config::default() })]

    #[test]
    fn no_number_becomes_an_impossible_figure(
        (format, text) in one_of(), which in any::<prop::sample::Index>(), with in junk(),
    ) {
        let places = numbers(text);
        let (from, to) = places[which.index(places.len())];
        check_all(format, &format!("{}{with}{}", &text[..from], &text[to..]));
    }

    #[test]
    fn no_bytes_panic(
        (format, text) in one_of(), at in any::<prop::sample::Index>(), with in prop::collection::vec(any::<u8>(), 0..8),
    ) {
        let mut bytes = text.as_bytes().to_vec();
        let at = at.index(bytes.len());
        let end = (at + with.len()).min(bytes.len());
        bytes.splice(at..end, with);
        check_all(format, &String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn no_missing_or_repeated_line_panics(
        (format, text) in one_of(), keep in prop::collection::vec(0_usize..3, 40),
    ) {
        let lines = text.lines().zip(keep.iter().chain(std::iter::repeat(&1)));
        let kept: Vec<&str> = lines.flat_map(|(line, times)| std::iter::repeat_n(line, *times)).collect();
        check_all(format, &kept.join("\n"));
    }

    #[test]
    fn no_text_panics_whatever_it_is_read_as(text in "[\\[\\]{}#,:\"0-9a-z. \n]{0,200}", which in 0..Format::ALL.len()) {
        check_all(Format::ALL[which], &text);
    }
}
