//! Tests of the output of `run` and `list` for a new user on a machine without a GPU: on terminals
//! of 80 and 120 columns, and piped.

use rsb_model::{Outcome, Reason, Run};

use crate::comparison::Detail;
use crate::matrix::{self, CaseRow};
use crate::{Color, Style, run, sample};

const WIDTHS: [(&str, usize); 3] = [("80", 80), ("120", 120), ("piped", usize::MAX)];

fn missing() -> [(&'static str, Reason); 3] {
    [
        (
            "rocm",
            Reason::new(
                "the HIP runtime (libamdhip64)",
                "none of libamdhip64.so.7, libamdhip64.so.6, libamdhip64.so is in /opt/rocm*/lib \
                 or on the library path",
                "install ROCm (Debian and Ubuntu: libamdhip64), or set ROCM_PATH or \
                 RSB_HIP_LIBRARY",
            ),
        ),
        (
            "cuda",
            Reason::new(
                "NVIDIA's driver (libcuda)",
                "none of libcuda.so.1, libcuda.so is in /usr/lib/wsl or on the library path",
                "install NVIDIA's driver; in a container pass the GPU on (`--gpus all`)",
            ),
        ),
        (
            "vulkan",
            Reason::new(
                "Vulkan",
                "its loader cannot be loaded: libvulkan.so.1",
                "install libvulkan1",
            ),
        ),
    ]
}

fn first_run() -> Run {
    let mut run = sample::run();
    run.benchmarks.retain(|result| result.outcome == Outcome::Measured);
    for (backend, reason) in missing() {
        run.benchmarks.push(sample::unmeasured_case(
            &format!("gpu_performance/all/{backend}"),
            Outcome::Skipped,
            reason,
        ));
    }
    run
}

fn machine_without_gpu() -> Vec<CaseRow> {
    let mut rows = Vec::new();
    for (benchmark, about, on_cpu) in [
        (
            "memory-bandwidth",
            "Bandwidth of reads and writes, from the nearest cache to memory",
            None,
        ),
        ("gemm", "Matrix products: squares, shapes of transformers, batches, transposes", None),
        ("all-reduce", "Collectives over several GPUs", Some(gpu_only("all-reduce"))),
        ("launch-latency", "Cost of starting a kernel", Some(gpu_only("launch-latency"))),
    ] {
        rows.push(case_row(benchmark, about, "cpu", on_cpu.as_ref()));
        for (backend, reason) in missing() {
            rows.push(case_row(benchmark, about, backend, Some(&reason)));
        }
    }
    let torch = Reason::new("pytorch", "Python has no module torch", "pip install torch");
    rows.push(case_row("pytorch", "PyTorch: products, convolutions", "any", Some(&torch)));
    rows.push(case_row(
        "all",
        "every benchmark",
        "openvino",
        Some(&Reason::new("openvino", "runs only models", "")),
    ));
    rows
}

fn case_row(benchmark: &str, about: &str, backend: &str, missing: Option<&Reason>) -> CaseRow {
    CaseRow {
        benchmark: benchmark.to_owned(),
        about: about.to_owned(),
        is_own: false,
        backend: backend.to_owned(),
        devices: Vec::new(),
        cases: if missing.is_some() { 0 } else { 6 },
        missing: missing.cloned(),
    }
}

fn gpu_only(benchmark: &str) -> Reason {
    Reason::new(format!("{benchmark} on cpu"), "runs only on GPUs", "choose a GPU backend")
}

#[test]
fn a_first_run_and_list_at_80_and_120_columns_and_piped() {
    for (name, width) in WIDTHS {
        let style = Style { color: Color::Never, width };
        let run = run::brief(&first_run(), style);
        let list = matrix::text(&machine_without_gpu(), style, Detail::Brief);
        for line in run.lines().chain(list.lines()) {
            assert!(line.chars().count() <= width, "{line}");
        }
        insta::assert_snapshot!(format!("run_{name}"), run);
        insta::assert_snapshot!(format!("list_{name}"), list);
    }
}

#[test]
fn piped_lists_have_each_reason_in_one_line() {
    let piped = Style { color: Color::Never, width: usize::MAX };
    let list = matrix::text(&machine_without_gpu(), piped, Detail::Full);
    assert!(
        list.lines()
            .any(|line| line.contains("is in /opt/rocm*/lib") && line.contains("RSB_HIP_LIBRARY"))
    );
}

#[test]
fn results_have_a_line_each_while_others_are_measured() {
    let run = first_run();
    let style = Style { color: Color::Never, width: 80 };
    let lines: String =
        run.benchmarks.iter().map(|result| run::line(result, style) + "\n").collect();
    assert!(lines.lines().take(8).all(|line| line.chars().count() <= 80));
    insta::assert_snapshot!("result_lines", lines);
}
