"""Runs the four examples of the package's documentation with the installed wheel and the program.

    python3 python/checks/examples.py                  # small sizes and the suite quick: minutes
    python3 python/checks/examples.py --as-written     # sizes as written and the suite full: hours
    python3 python/checks/examples.py --without-torch  # in an environment without PyTorch: ImportError

Each example lists the functions and methods that it must call; the check fails if one was not called.
`RUSTY_STACK_BENCH` names the program.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import sys
import tempfile
import time
from typing import Any

import rusty_stack_bench as package
from rusty_stack_bench import (
    ASCIIChartGenerator,
    BeforeAfterComparison,
    BenchmarkComparator,
    BenchmarkResultsDB,
    BenchmarkRunner,
    BenchmarkSuite,
    ComparisonConfig,
    DegradationDetector,
    MemoryPatternVisualizer,
    ReportConfig,
    ReportFormat,
    ReportGenerator,
    ResultsPersistence,
    SpeedupChartGenerator,
    StatisticalAnalyzer,
    TrendAnalysisIntegration,
    TrendAnalyzer,
    TUIIntegration,
    TUIIntegrationConfig,
    benchmark_matmul,
)

QUICK: dict[str, Any] = {"num_runs": 2, "num_warmup": 1, "device": "cpu"}
NATIVE: dict[str, Any] = {"num_runs": 2, "device": "cpu"}

# Functions of the first example with small arguments. The second value is the outcome on a CPU: None if
# it depends on what is installed, or the type of the result if there is no outcome.
FUNCTIONS: dict[str, tuple[dict[str, Any], str | None]] = {
    "analyze_compute_utilization": ({"workload": "softmax", "num_samples": 1}, None),
    "benchmark_all_reduce": ({"tensor_sizes": [1 << 16], "num_runs": 1}, None),
    "benchmark_attention": (
        {"batch_sizes": [1], "num_heads": [2], "head_dims": [16], "sequence_lengths": [32], **QUICK},
        "measured",
    ),
    "benchmark_autograd": ({"operations": ["forward"], "input_shapes": [(8, 16)], **QUICK}, "measured"),
    "benchmark_convolution": (
        {"input_shapes": [(1, 3, 16, 16)], "kernel_sizes": [3], "strides": [1], "dtypes": ["float32"], **QUICK},
        "measured",
    ),
    "benchmark_elementwise_ops": ({"size": 1024, "ops": ["add"], "dtype": "float32", **NATIVE}, "measured"),
    "benchmark_gemm": ({"sizes": [(64, 64, 64)], **NATIVE}, "measured"),
    "benchmark_gemm_strided": (
        {"m": 8, "n": 8, "k": 8, "strides_a": (16, 1), "strides_b": (8, 1), "strides_c": (8, 1), **NATIVE},
        "measured",
    ),
    "benchmark_hbm_bandwidth": ({"sizes_bytes": [1 << 20], "num_runs": 2}, None),
    "benchmark_hip_kernel_compilation": ({}, None),
    "benchmark_kernel_occupancy": (
        {"kernel_config": {"operation": "triad", "architecture": "gfx90a", "block_size": 256}},
        None,
    ),
    "benchmark_matmul": ({"sizes": [(64, 64, 64)], "dtypes": ["float32"], "num_runs": 2, "device": "cpu"}, "measured"),
    "benchmark_memory_bandwidth": (
        {"sizes_mb": [1], "dtypes": ["float32"], "warmup_runs": 1, **NATIVE},
        "measured",
    ),
    "benchmark_memory_savings": ({"batch_sizes": [1], "sequence_lengths": [64], "head_dims": [16], **QUICK}, "measured"),
    "benchmark_memory_transfers": ({"sizes_bytes": [1 << 20], **QUICK}, "skipped"),
    "benchmark_migraphx_compilation": ({"num_runs": 1}, None),
    "benchmark_migraphx_inference": ({"num_runs": 1, "batch_sizes": [1]}, None),
    "benchmark_model": (
        {
            "model_id": "bert-tiny",
            "device": "cpu",
            "batch_sizes": [1],
            "sequence_lengths": [16],
            "precision_modes": ["fp32"],
            "iterations": 2,
        },
        "dict",
    ),
    "benchmark_multi_gpu_scaling": ({"num_runs": 1}, None),
    "benchmark_onnx_inference": ({"models": ["mlp"], "batch_sizes": [1], **QUICK}, "measured"),
    "benchmark_onnx_optimization": ({"models": ["mlp"], "optimization_levels": ["basic"], **QUICK}, "measured"),
    "benchmark_precision": ({"precision": "fp32", "sizes": [64], **QUICK}, "measured"),
    "benchmark_simple_matmul": ({"size": 64, "dtype": "float32", **NATIVE}, "measured"),
    "benchmark_system_ram_bandwidth": ({"sizes_bytes": [1 << 20], "num_runs": 2}, "measured"),
    "benchmark_tensor_core_op": ({"dtype": "float16", "matrix_size": 64, "num_iterations": 2}, "measured"),
    "benchmark_tensor_ops": (
        {"operations": ["softmax"], "precisions": ["fp32"], "input_shapes": [(64, 64)], **NATIVE},
        "measured",
    ),
    "benchmark_tensor_parallel": ({"model_sizes": [0.001], "gpu_counts": [1], **QUICK}, "measured"),
    "benchmark_triton_compilation": (
        {"kernel_configs": {"kernel": "vector-add", "target": "gfx942"}, "num_runs": 1, "num_warmup": 0},
        "measured",
    ),
    "benchmark_triton_ops": ({"operations": ["vector-add"], "input_shapes": [(1024,)], **QUICK}, None),
    "benchmark_vllm_batching": ({"model_name": "random", "num_requests": [1], "max_tokens": 2, **QUICK}, None),
    "benchmark_vllm_latency": (
        {"model_name": "random", "batch_sizes": [1], "prompt_lengths": [8], "output_lengths": [2], **QUICK},
        None,
    ),
    "benchmark_vllm_throughput": ({"model_name": "random", "num_prompts": [1], "max_tokens": 2, **QUICK}, None),
    "benchmark_zero_overhead": ({"model_sizes": [0.001], "stages": [1], **QUICK}, "measured"),
    "collect_rocm_smi_metrics": ({"duration_seconds": 0.2, "sample_interval_ms": 100}, None),
    "compare_memory_tiers": ({"sizes_bytes": [1 << 20]}, None),
    "compare_precision": (
        {"precision_a": "fp32", "precision_b": "bf16", "size": (64, 64, 64), "device": "cpu"},
        "measured",
    ),
    "detect_tensor_cores": ({"architecture": "gfx942"}, "TensorCoreInfo"),
    "establish_performance_baseline": ({"use_pytorch": False}, "PerformanceBaseline"),
    "get_architecture_capabilities": ({"arch": "gfx942"}, "dict"),
    "get_rocm_driver_info": ({}, "ROCmDriverInfo"),
    "get_rocm_smi_info": ({}, None),
    "measure_accuracy": ({"precision": "fp16", "expected_output": [1.0], "actual_output": [1.0]}, "Accuracy"),
    "run_basic_inference_test": (
        {"model_name": "stories-15m", "batch_sizes": [1], "sequence_lengths": [16], **QUICK},
        "measured",
    ),
    "verify_rocm_installation": ({"verbose": False}, "InstallationCheck"),
}

# Functions that take tensors, or whose failure without a profiler is part of the example.
OTHERS = ("measure_memory_copy", "measure_sequential_read", "measure_sequential_write", "run_rocm_profile")

# Methods that each example must call, by class.
METHODS: dict[int, dict[str, str]] = {
    2: {"BenchmarkRunner": "run_suite generate_all_reports set_status_callback"},
    3: {
        "BenchmarkComparator": "compare_throughput compare_latency compare_memory compare_scalability calculate_speedup "
        "calculate_percentile_change is_significant get_overall_status generate_comparison_report to_dict save_to_db",
        "StatisticalAnalyzer": "compute_statistics t_test mann_whitney_test effect_size confidence_interval detect_outliers",
        "TrendAnalyzer": "analyze_trend analyze_rolling_average detect_change_points predict_future generate_trend_report",
        "DegradationDetector": "detect_degradation detect_anomalies detect_trend_change generate_health_report",
        "BeforeAfterComparison": "compare_metric compare_all generate_comparison_view generate_delta_chart get_summary",
        "ResultsPersistence": "save_benchmark_run save_component_result save_comparison get_result get_component_results "
        "get_latest_results export_to_json export_to_csv cleanup_old_results",
        "BenchmarkResultsDB": "save_benchmark_result save_component_result save_comparison get_benchmark_history "
        "get_comparison_history export_results",
        "ReportGenerator": "generate_report generate_markdown_report generate_html_report generate_ascii_report "
        "generate_summary_section generate_environment_section generate_results_section generate_comparison_section "
        "generate_recommendations_section save_report",
        "TrendAnalysisIntegration": "set_persistence analyze_trends get_trend_summary detect_performance_regression "
        "detect_performance_improvement generate_trend_dashboard export_trend_data",
    },
    4: {
        "ASCIIChartGenerator": "generate_bar_chart generate_line_chart generate_sparkline generate_gauge generate_heatmap "
        "generate_speedup_chart generate_memory_timeline generate_stacked_bar_chart generate_delta_chart generate_chart",
        "SpeedupChartGenerator": "generate_speedup_bars generate_scaling_chart generate_roofline_chart",
        "MemoryPatternVisualizer": "generate_memory_timeline generate_memory_breakdown generate_memory_heatmap "
        "generate_utilization_gauge",
        "TUIIntegration": "integrate_with_rusty_stack on_benchmark_selected run_benchmark_for_component get_benchmark_status "
        "generate_performance_panel animate_progress update_component_status",
    },
}

CALLED: set[str] = set()


def watch() -> list[str]:
    """Makes every named function and method record a call from this file; returns the names that do not exist."""
    missing: list[str] = []
    for name in (*FUNCTIONS, *OTHERS):
        if name in package.__all__:
            function = getattr(package, name)
            setattr(sys.modules[function.__module__], name, _recording(name, function))
        else:
            missing.append(name)
    for kind, text in (pair for methods in METHODS.values() for pair in methods.items()):
        owner: Any = getattr(package, kind) if kind in package.__all__ else None
        for name in text.split():
            if hasattr(owner, name):
                setattr(owner, name, _recording(f"{kind}.{name}", getattr(owner, name)))
            else:
                missing.append(f"{kind}.{name}")
    return missing


def _recording(name: str, called: Any) -> Any:
    @functools.wraps(called)
    def record(*arguments: Any, **named: Any) -> Any:
        if sys._getframe(1).f_code.co_filename == __file__:
            CALLED.add(name)
        return called(*arguments, **named)

    return record


def named(example: int) -> list[str]:
    """Returns the names that an example must call."""
    if example == 1:
        return [*FUNCTIONS, *OTHERS]
    return [f"{kind}.{name}" for kind, text in METHODS[example].items() for name in text.split()]


def measure(as_written: bool) -> None:
    """Example 1: products as written, and every other function with a small size."""
    sizes = [(1024, 1024, 1024), (2048, 2048, 2048)] if as_written else [(64, 64, 64), (96, 96, 96)]
    results = benchmark_matmul(sizes=sizes, dtypes=["float16", "bf16"], num_runs=100 if as_written else 5)
    assert [(one.m, one.dtype) for one in results] == [(m, dtype) for dtype in ("f16", "bf16") for m, _, _ in sizes], results
    for one in results:
        print(f"  {one.benchmark_id}: {one.tflops:.3g} TFLOP/s")
        assert one.tflops > 0
    for name, (arguments, expected) in sorted(FUNCTIONS.items()):
        began = time.monotonic()
        answer = getattr(package, name)(**arguments)
        rows = answer if isinstance(answer, list) else [answer]
        assert rows, name
        kinds = [one.outcome.value if hasattr(one, "outcome") else type(one).__name__ for one in rows]
        print(f"  {name}: {', '.join(sorted(set(kinds)))}, {time.monotonic() - began:.1f} s")
        reasons = [one.reason for one in rows if getattr(one, "reason", None) is not None]
        assert expected is None or set(kinds) == {expected}, (name, kinds, reasons)
        assert all(reason.why and reason.cure for reason in reasons), (name, reasons)
        assert "failed" not in kinds, (name, reasons)
    take_tensors()


def take_tensors() -> None:
    """Calls the functions that take tensors, and the profile of a benchmark."""
    import torch

    source, target = torch.rand(1 << 16), torch.zeros(1 << 16)
    bandwidth, latency = package.measure_sequential_read(source, num_iterations=10)
    assert bandwidth > 0 and latency > 0
    assert package.measure_memory_copy(source, target, num_iterations=10).bandwidth_gb_s > 0
    assert torch.equal(source, target)
    package.measure_sequential_write(target, num_iterations=10)
    try:
        package.run_rocm_profile("memory-bandwidth", duration_seconds=1)
    except package.ProgramError as error:
        assert "rocprofv3" in str(error), error


def run(directory: str, as_written: bool) -> tuple[BenchmarkRunner, Any]:
    """Example 2: a suite with its reports and progress; returns the runner and the run."""
    lines: list[str] = []
    runner = BenchmarkRunner({"output_dir": directory})
    runner.set_status_callback(lines.append)
    began = time.monotonic()
    results = runner.run_suite(BenchmarkSuite.FULL) if as_written else runner.run_suite(BenchmarkSuite.QUICK, ["gemm", "pytorch"])
    ids = measured(results)
    print(f"  {len(ids)} of {len(results['benchmarks'])} cases measured, {time.monotonic() - began:.0f} s")
    assert any("/gemm/" in one for one in ids) and any("/pytorch/" in one for one in ids) and lines, ids
    reports = runner.generate_all_reports()
    assert len(reports) == 5 and all(os.path.getsize(path) > 0 for path in reports), reports
    return runner, results


def measured(run: Any) -> list[str]:
    """Returns the ids of the measured cases of a run."""
    return [one["benchmark_id"] for one in run["benchmarks"] if one["outcome"] == "measured"]


def analyze(directory: str, runner: BenchmarkRunner, run: Any) -> None:
    """Example 3: comparisons, statistics, trends, degradations, storage and reports of runs."""
    again = runner.run_suite(BenchmarkSuite.QUICK, ["gemm"])
    before = measured(run)
    case = next(one for one in measured(again) if one in before)
    compared = BenchmarkComparator(run, again, ComparisonConfig(compare_percentiles=[90]))
    # Ids and files, in addition to dictionaries.
    assert BenchmarkComparator(run["run_id"], runner.path, results_dir=directory).to_dict()
    assert compared.compare_latency(case, case)[0]["metric"] == "time_ms"
    rates = compared.compare_throughput(case, case)
    assert any(row["unit"] == "TFLOP/s" for row in rates), rates
    assert isinstance(compared.compare_memory(), list) and compared.compare_scalability() == []
    assert compared.calculate_speedup(2.0, 1.0) == 2.0
    assert compared.calculate_percentile_change([1.0, 2.0], [2.0, 4.0], 50) == 100.0
    assert compared.is_significant([1.0, 1.1, 0.9, 1.05], [2.0, 2.1, 1.9, 2.05])
    assert compared.get_overall_status() and "gemm" in compared.generate_comparison_report()
    compared.save_to_db(directory)
    statistics = StatisticalAnalyzer([1.0, 1.1, 0.9, 1.05, 0.95], [2.0, 2.1, 1.9, 2.05, 9.0])
    assert statistics.compute_statistics() and statistics.t_test()["degrees_of_freedom"] > 1
    assert statistics.mann_whitney_test()["is_significant"] and statistics.effect_size()["cliffs_delta"] == 1.0
    assert statistics.confidence_interval()[1] > 0 and statistics.detect_outliers()["current"] == [4]
    follow_trends(directory, case, again)
    keep(directory, compared, run, again, case)


def follow_trends(directory: str, case: str, run: Any) -> None:
    """Trends of a series, and degradations of stored runs."""
    days = [f"2026-01-{day:02}T00:00:00Z" for day in range(1, 29)]
    trend = TrendAnalyzer(days, [1.0 + 0.001 * (day % 3) + (1.0 if day >= 14 else 0.0) for day in range(28)])
    assert trend.analyze_trend().direction == "increasing" and len(trend.predict_future(days_ahead=3)) == 3
    assert trend.detect_change_points()[0]["index"] == 14 and len(trend.analyze_rolling_average()["mean"]) == 28
    assert trend.generate_trend_report().startswith("# Trends")
    detector = DegradationDetector(directory)
    assert isinstance(detector.detect_degradation(run), list)
    assert detector.detect_trend_change("time_ms", case=case) is not None
    assert isinstance(detector.detect_anomalies("time_ms", 1e6, case=case), list)
    assert detector.generate_health_report().startswith("# Health")
    trends = TrendAnalysisIntegration()
    trends.set_persistence(ResultsPersistence(directory))
    assert trends.get_trend_summary()["series"] > 0 and isinstance(trends.analyze_trends("time_ms"), list), case
    assert trends.detect_performance_regression() == trends.detect_performance_improvement() == []
    assert "series" in trends.generate_trend_dashboard() and trends.export_trend_data("time_ms", "csv").startswith("id,")


def keep(directory: str, compared: BenchmarkComparator, run: Any, again: Any, case: str) -> None:
    """Storage of runs, results and comparisons, and reports with each section."""
    with tempfile.TemporaryDirectory() as other:
        (result,) = benchmark_matmul([(16, 16, 16)], ["float32"], num_runs=2, device="cpu")
        kept, database = ResultsPersistence(other), BenchmarkResultsDB(other)
        first = kept.save_benchmark_run([result], {"operator": "nobody"})
        second = kept.save_component_result("pytorch", result)
        assert kept.get_result(first)["benchmarks"][0]["metadata"]["operator"] == "nobody"
        assert kept.save_comparison(first, second, BenchmarkComparator(first, second, results_dir=other))
        assert len(kept.get_component_results("pytorch")) == 2 and len(kept.get_latest_results(limit=1)) == 1
        exported = kept.export_to_json(first, os.path.join(other, "one.json"))
        with open(exported, encoding="utf-8") as file:
            assert json.load(file)
        assert kept.export_to_csv([first], os.path.join(other, "one.csv")).endswith("one.csv")
        assert kept.cleanup_old_results(days=1, keep_latest=1) == []
        assert database.save_benchmark_result(result) and database.save_component_result(result)
        assert database.save_comparison(compared)
        assert len(database.get_benchmark_history("pytorch", limit=3)) == 3
        assert isinstance(database.get_comparison_history(result.benchmark_id), list)
        assert database.export_results("json")
    before_after = BeforeAfterComparison(run, again)
    assert before_after.compare_metric("time_ms", 2.0, 1.0, "ms", lower_is_better=True).change_type.value == "improved"
    (row,) = before_after.compare_all([f"{case}:time_ms"])
    assert row.unit == "ms" and before_after.get_summary()["total"] == 1, row
    assert "Performance Comparison" in before_after.generate_comparison_view()
    assert "%" in before_after.generate_delta_chart(["time_ms"], [10.0], [8.0])
    reports = ReportGenerator(ReportConfig(title="Nightly", include_environment=True))
    assert "Nightly" in reports.generate_report(run) and "# " in reports.generate_markdown_report(run, compared)
    assert "Nightly" in reports.generate_html_report(run, compared) and "Nightly" in reports.generate_ascii_report(run)
    assert reports.generate_summary_section(run) and reports.generate_results_section(run).startswith("## ")
    assert reports.generate_environment_section(run["environment"]).startswith("## Environment")
    assert reports.generate_comparison_section(compared)
    assert reports.generate_recommendations_section(run).startswith("## Recommendations")
    saved = reports.save_report("# Nightly", ReportFormat.MARKDOWN, os.path.join(directory, "nightly.md"))
    assert os.path.getsize(saved) > 0


def draw(directory: str, run: Any) -> None:
    """Example 4: each kind of chart, and the interface for installers."""
    charts, speedups, memory = ASCIIChartGenerator(), SpeedupChartGenerator(), MemoryPatternVisualizer()
    drawn = [
        (charts.generate_bar_chart({"one": 1.0, "two": 2.0}, "times", "ms"), "2.00 ms"),
        (charts.generate_line_chart({"a": [1.0, 3.0, 2.0]}, title="line"), "line"),
        (charts.generate_gauge(3.0, max_val=4.0, label="load"), "3 of 4"),
        (charts.generate_heatmap([[1.0, 2.0], [3.0, 4.0]], title="heat"), "heat"),
        (charts.generate_speedup_chart({"a": 2.0}, {"a": 1.0}), "2"),
        (charts.generate_memory_timeline([0.0, 1.0, 2.0], [5.0, 9.0, 4.0], 10.0), "limit 10.0 MB"),
        (charts.generate_stacked_bar_chart({"a": {"x": 1.0, "y": 2.0}}, "stacked", "MB"), "3.00 MB"),
        (charts.generate_delta_chart({"time_ms": 20.0}), "+20.0 %"),
        (charts.generate_chart("heat-map", [[1.0, 2.0], [3.0, 4.0]]), "4"),
        (speedups.generate_speedup_bars({"a": 3.0, "b": 1.0}), "3"),
        (speedups.generate_scaling_chart([1, 2, 4], [8.0, 4.5, 2.5]), "ideal"),
        (speedups.generate_roofline_chart([0.5, 50.0], [40.0, 900.0], 1000.0, 100.0), "compute roof"),
        (memory.generate_memory_timeline([0.0, 1.0, 2.0], [5.0, 4.0, 0.0], [0.0, 0.0, 6.0]), "in use"),
        (memory.generate_memory_breakdown({"model": 10.0, "activations": 5.0}), "activations"),
        (memory.generate_memory_heatmap([0, 1], ["held", "peak"], [[1.0, 2.0], [3.0, 4.0]]), "held"),
        (memory.generate_utilization_gauge(6.0, 8.0), "75 %"),
    ]
    for chart, told in drawn:
        lines = chart.splitlines()
        assert told in chart and len(lines) <= 20 and max(map(len, lines)) <= 60, (told, chart)
        assert "<svg" in chart.svg[:200], chart.svg[:200]
    assert charts.generate_sparkline([1.0, 2.0, 3.0]).endswith("█")
    progress: list[str] = []
    installer = TUIIntegration(TUIIntegrationConfig(auto_run_on_selection=False), results_dir=directory)
    assert installer.integrate_with_rusty_stack({})["benchmarks"]["components"]
    assert installer.on_benchmark_selected("component_benchmark", "pytorch")["run"] is None
    assert installer.run_benchmark_for_component("onnxruntime", progress.append)["benchmarks"] and progress
    components = installer.get_benchmark_status()["components"]
    assert components["pytorch"]["status"] == components["onnxruntime"]["status"] == "passed", components
    assert len(installer.generate_performance_panel(run).splitlines()) > 2
    assert installer.animate_progress("component_benchmark", 5, 10, "pytorch").endswith("pytorch")
    assert installer.update_component_status("pytorch", "warning", {"time_ms": 1.0}).metrics == {"time_ms": 1.0}


def refuse() -> None:
    """Without PyTorch, what needs it raises ImportError with the install command."""
    for name in ("benchmark_matmul", "benchmark_attention", "benchmark_autograd", "measure_accuracy", "run_basic_inference_test"):
        try:
            getattr(package, name)(**FUNCTIONS[name][0])
        except ImportError as error:
            assert "pip install torch" in str(error) and error.name == "torch", error
            print(f"  {name}: {error}")
        else:
            raise AssertionError(f"{name} ran without PyTorch")
    # What needs no PyTorch works.
    assert package.detect_tensor_cores(architecture="gfx942").available


def main() -> int:
    """Runs the examples; returns 0, or raises AssertionError."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--as-written", action="store_true", help="sizes as written and the suite full: hours")
    parser.add_argument("--without-torch", action="store_true", help="check the error without PyTorch")
    options = parser.parse_args()
    missing = watch()
    assert not missing, f"the package lacks {', '.join(missing)}"
    if options.without_torch:
        refuse()
        return 0
    with tempfile.TemporaryDirectory() as directory:
        # Baselines are saved below the working directory.
        os.chdir(directory)
        state: list[Any] = []
        examples = {
            1: lambda: measure(options.as_written),
            2: lambda: state.extend(run(directory, options.as_written)),
            3: lambda: analyze(directory, *state),
            4: lambda: draw(directory, state[1]),
        }
        for number, example in examples.items():
            print(f"example {number}", flush=True)
            began = time.monotonic()
            example()
            absent = [name for name in named(number) if name not in CALLED]
            assert not absent, f"example {number} does not call {', '.join(absent)}"
            print(f"example {number}: {len(named(number))} names, {time.monotonic() - began:.0f} s", flush=True)
        os.chdir(os.path.sep)
    return 0


if __name__ == "__main__":
    sys.exit(main())
