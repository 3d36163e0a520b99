"""Checks the installed package, from measuring a function to a verdict. Run it with the interpreter of its environment.

    python3 python/checks/package.py
"""

import dataclasses
import json
import os
import subprocess
import sys
import tempfile

from rusty_stack_bench import (
    ASCIIChartGenerator,
    BeforeAfterComparison,
    BenchmarkComparator,
    BenchmarkConfigLoader,
    BenchmarkResultsDB,
    BenchmarkRunner,
    BenchmarkRunnerConfig,
    ComparisonConfig,
    ComponentBenchmarkConfig,
    ComponentBenchmarkIntegration,
    DegradationDetector,
    GlobalBenchmarkConfig,
    ReportConfig,
    ReportGenerator,
    Result,
    ResultsPersistence,
    StatisticalAnalyzer,
    TrendAnalysisIntegration,
    TrendAnalyzer,
    TUIIntegration,
    Verdict,
    _native,
    detect_tensor_cores,
    gate,
    get_architecture_capabilities,
    store,
)
from rusty_stack_bench.custom import load
from rusty_stack_bench.measuring import Settings
from rusty_stack_bench.pytorch import benchmark_matmul


def slowed(result: Result, factor: float) -> Result:
    """Returns the result with all sample times multiplied by `factor`."""
    samples = [dataclasses.replace(one, times_ns=[factor * time for time in one.times_ns]) for one in result.samples]
    return dataclasses.replace(result, samples=samples)


def refused(told: str, function, *arguments) -> None:
    """Asserts that a call raises ValueError or OSError with this text."""
    try:
        function(*arguments)
    except (ValueError, OSError) as error:
        assert told in str(error), error
    else:
        raise AssertionError(f"{arguments} were taken; expected: {told}")


def follow_the_guide(directory: str) -> None:
    """Runs the Python example of docs/extending.md, and checks the runs that it stored."""
    guide = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "extending.md")
    with open(guide, encoding="utf-8") as file:
        listing = file.read().partition("```python\n")[2].partition("```")[0]
    mine = os.path.join(directory, "mine.py")
    with open(mine, "w", encoding="utf-8") as file:
        file.write(listing)
    program = [sys.executable, "-m", "rusty_stack_bench"]
    run = [*program, "run", mine, "--results-dir", directory, "--replicates", "3", "--runs", "5"]
    listed = subprocess.run([*program, "list", mine], check=True, capture_output=True, text=True).stdout
    assert "component_specific/add_up/cpu:0/n=1000  The sum of numbers." in listed, listed
    said = subprocess.run(run, check=True, capture_output=True, text=True).stdout
    before = said.rpartition("stored in ")[2].strip()
    runner = BenchmarkRunner(BenchmarkRunnerConfig(output_dir=directory))
    results = runner.run_custom_benchmarks(load(mine), Settings(replicates=3, runs=5))
    assert all(result.is_measured and result.fields["throughput_gb_s"] > 0 for result in results), results
    assert len(runner.generate_all_reports()) == 5
    assert runner.run["run_id"] and runner.run["benchmarks"][0]["samples"], "the run is at hand as that of a suite is"
    follow_settings(mine)
    after = store([slowed(result, 20.0) for result in results], directory, "mine")
    read_what_is_stored(directory, before, after)
    misnamed = dataclasses.replace(results[0], fields={**results[0].fields, "speediness": 1.0})
    refused("`speediness` is not a field", store, [misnamed], directory)


def follow_settings(mine: str) -> None:
    """Checks that runner settings apply to functions: no samples are stored, and the log explains a missing comparison."""
    with tempfile.TemporaryDirectory() as directory:
        told: list[str] = []
        config = BenchmarkRunnerConfig(output_dir=directory, save_raw_results=False, compare_with_baseline=True, verbose=True)
        runner = BenchmarkRunner(config)
        runner.set_status_callback(told.append)
        runner.run_custom_benchmarks(load(mine), Settings(replicates=2, runs=5))
        assert all(not one.get("samples") and one["results"][0]["time_ms"] > 0 for one in runner.run["benchmarks"]), runner.run
        assert any("is not compared" in line and "baseline save" in line for line in told), told
        assert any(" ms, 10 samples of 2 processes" in line for line in told), told


def read_what_is_stored(directory: str, before: str, after: str) -> None:
    """Checks comparison, persistence, reports and trends of two runs, the second of which is slower."""
    compared = BenchmarkComparator(before, after)
    assert compared.is_significant() and compared.calculate_speedup() < 0.2, compared.to_dict()
    assert [row["metric"] for row in compared.compare_latency()] == ["time_ms"] * 2, compared.compare_latency()
    assert len(compared.compare_throughput()) == 2 and compared.compare_scalability() == []
    assert compared.get_overall_status() == "critical", compared.get_overall_status()
    assert "Regressed" in compared.generate_comparison_report("json")
    compared.save_to_db(directory)
    refused("pdf", compared.generate_comparison_report, "pdf")
    kept = ResultsPersistence(directory)
    runs = kept.get_runs()
    assert len(runs) == 3 and kept.get_latest_results()[0]["run_id"] == runs[0]["run_id"]
    assert len(kept.get_component_results("add_up")) == 6
    refused("no-such-run", kept.get_result, "no-such-run")
    kept.export_to_csv(os.path.join(directory, "all.csv"))
    kept.export_to_json(os.path.join(directory, "all.json"))
    assert kept.cleanup_old_results() == []
    report = ReportGenerator(after, before)
    assert "n=1000" in report.generate("text") and "<!doctype html>" in report.generate("html").lower()
    refused("pdf", report.generate, "pdf")
    assert len(TrendAnalyzer(directory).analyze(case="add_up")) == 2
    assert not DegradationDetector(directory).has_degraded(case="no such case")
    for read in (TrendAnalyzer("no-such-directory").analyze, ResultsPersistence("no-such-directory").get_runs):
        refused("results directory no-such-directory does not exist", read)


def read_sensors() -> None:
    """Checks the sensors of a GPU in a fake sysfs directory."""
    with tempfile.TemporaryDirectory() as root:
        device = os.path.join(root, "class", "drm", "card0", "device")
        os.makedirs(device)
        for name, text in (("uevent", "PCI_ID=1002:744C\nPCI_SLOT_NAME=0000:03:00.0\n"), ("gpu_busy_percent", "97\n")):
            with open(os.path.join(device, name), "w", encoding="ascii") as file:
                file.write(text)
        os.environ["RSB_SYSFS_ROOT"] = root
        watch = _native.watch("0000:03:00.0")
        assert json.loads(watch.stop()) == {"gpu_utilization_percent": 97.0}
        refused("start another", watch.stop)
        assert _native.watch("0000:99:00.0") is None
        del os.environ["RSB_SYSFS_ROOT"]


def read_architectures() -> None:
    """Checks the capabilities of GPUs that are not present."""
    assert "f16" in detect_tensor_cores(architecture="gfx942").supported_dtypes
    assert detect_tensor_cores("AMD Instinct MI300X OAM").architecture == "gfx942"
    assert detect_tensor_cores("NVIDIA GeForce RTX 4090").architecture == "sm_89"
    assert detect_tensor_cores("AMD Radeon RX 7900 XTX").peak_tflops_fp16 > 100
    assert get_architecture_capabilities("gfx1030")["matrix_unit"] is None
    refused("gfx90a", get_architecture_capabilities, "gfx1")
    assert _native.occupancy("gfx90a", 128, 0, 4) == 50.0


def read_figures() -> None:
    """Checks statistics, trends and charts of values that are not stored."""
    statistics = StatisticalAnalyzer()
    assert statistics.analyze([1.0, 2.0, 3.0])["mean"] == 2.0
    assert statistics.detect_outliers([1.0, 1.1, 0.9, 1.0, 50.0]) == [4]
    assert statistics.compare([1.0, 1.1, 0.9, 1.05, 0.95], [2.0, 2.1, 1.9, 2.05, 1.95])["is_significant"]
    refused("not a finite number", statistics.analyze, [float("nan")])
    refused("no values", statistics.analyze, [])
    refused("confidence", StatisticalAnalyzer(2.0).analyze, [1.0])
    points = [(f"2026-01-{day:02}T00:00:00Z", 1.0 if day < 15 else 2.0) for day in range(1, 29)]
    (change,) = TrendAnalyzer.analyze_points(points, "lower")["change_points"]
    assert change["index"] == 14, change
    charts = ASCIIChartGenerator(width=60, height=20)
    for drawn, told in (
        (charts.generate_bar_chart({"one": 1.0, "two": 2.0}, "times", "ms"), "2.00 ms"),
        (charts.generate_line_chart({"a": [1.0, 3.0, 2.0]}, title="line"), "line"),
        (charts.generate_gauge("memory", 42.0), "42"),
        (charts.generate_heatmap(["r1", "r2"], ["c1", "c2"], [[1.0, 2.0], [3.0, 4.0]]), "r2"),
        (charts.generate_speedup_chart(["a"], [2.0], [1.0]), "2"),
        (charts.generate_memory_timeline([10.0, 20.0, 15.0]), "MB"),
    ):
        lines = drawn.splitlines()
        assert told in drawn and len(lines) <= 20 and max(map(len, lines)) <= 60, drawn
    assert len(charts.generate_sparkline([1.0, 2.0, 3.0])) == 3
    refused("finite number", charts.generate_bar_chart, {"one": float("inf")})
    refused("same number", charts.generate_speedup_chart, ["a"], [2.0], [1.0, 2.0])


def draw_other_forms() -> None:
    """Checks forms of arguments that examples.py does not use: the size, a text and the SVG of their charts."""
    charts = ASCIIChartGenerator()
    drawn = [
        (charts.generate_stacked_bar_chart({"a": {"x": 1.0, "y": 2.0}, "b": {"x": 3.0}}, "stacked", "MB"), "3.00 MB"),
        (charts.generate_line_chart({"a": [(1.0, 2.0), (3.0, 4.0)]}, "points", "size", "GB/s"), "points"),
        (charts.generate_delta_chart({"time_ms": 20.0, "tflops": 30.0, "memory_used_mb": 1.0}), "+20.0 %"),
        (BeforeAfterComparison({}, {}).generate_delta_chart(["time_ms"], [10.0], [8.0]), "-20.0 %"),
    ]
    for chart, told in drawn:
        lines = chart.splitlines()
        assert told in chart and len(lines) <= 20 and max(map(len, lines)) <= 60, chart
        assert "<svg" in chart.svg[:200], chart.svg[:200]
    refused("stacked-bar", _native.draw, "pie", "", "", [], [], [[1.0]], (60, 20), True)


def follow_the_specification(result: Result) -> None:
    """Checks the public classes on runs that differ only in their times."""
    history = [[dataclasses.replace(result, timestamp=f"2026-01-{day:02}T00:00:00Z")] for day in range(1, 13)]
    slow = dataclasses.replace(slowed(result, 3.0), timestamp="2026-01-13T00:00:00Z")
    with tempfile.TemporaryDirectory() as directory:
        kept = ResultsPersistence(directory)
        for results in history:
            first = kept.save_benchmark_run(results, {"operator": "nobody"})
        run = kept.get_result(first)
        assert run["benchmarks"][0]["metadata"]["operator"] == "nobody"
        assert run._repr_html_().startswith("<iframe") and run.rows()[0]["time_ms"] > 0
        compared = BenchmarkComparator(run, [slow], ComparisonConfig(compare_percentiles=[90]))
        assert compared.is_significant() and compared.compare_latency("matmul")[0]["speedup"] < 0.5
        assert compared.generate_comparison_report("text") and "<svg" in compared._repr_svg_()[:200]
        assert compared.is_significant([1.0, 1.1, 0.9, 1.05], [2.0, 2.1, 1.9, 2.05])
        read_history(directory, slow)
        database = BenchmarkResultsDB(directory)
        assert database.save_comparison(compared) and database.get_comparison_history(result.benchmark_id)
        assert len(database.get_benchmark_history("pytorch", limit=5)) == 5
        assert kept.export_to_csv([first], os.path.join(directory, "one.csv")).endswith("one.csv")
        reports = ReportGenerator(ReportConfig(title="Nightly", include_environment=False))
        assert reports.generate_html_report(run, compared).count("Nightly") >= 2
        assert "## Environment" not in reports.generate_markdown_report(run)
        assert "**" in reports.generate_summary_section(run) and reports.generate_results_section(run).startswith("## ")
        assert reports.generate_environment_section(run["environment"]).startswith("## Environment")
        assert reports.generate_comparison_section(compared)
        assert reports.generate_recommendations_section(run).startswith("## Recommendations")
        show_components(directory, run)
        follow_the_configuration(os.path.join(directory, "settings.toml"))


def read_history(directory: str, slow: Result) -> None:
    """Checks trends, degradations and statistics."""
    detector = DegradationDetector(directory)
    assert len(detector.detect_anomalies("time_ms", 1e6)) == 1 and detector.detect_trend_change("time_ms")
    assert isinstance(detector.detect_degradation([slow]), list)
    assert detector.generate_health_report().startswith("# Health")
    assert DegradationDetector([[slow]]).generate_health_report("json").startswith("{")
    trends = TrendAnalysisIntegration()
    trends.set_persistence(directory)
    assert trends.get_trend_summary("pytorch")["series"] == 1 and trends.detect_performance_regression() == []
    assert "series" in trends.generate_trend_dashboard() and trends.export_trend_data("time_ms", "csv").startswith("id,")
    days = [f"2026-01-{day:02}T00:00:00Z" for day in range(1, 29)]
    values = [1.0 + 0.001 * (day % 3) + (1.0 if day >= 14 else 0.0) for day in range(28)]
    analyzer = TrendAnalyzer(days, values, "lower")
    assert analyzer.analyze_trend().direction == "increasing" and len(analyzer.predict_future(days_ahead=3)) == 3
    assert analyzer.detect_change_points()[0]["index"] == 14 and len(analyzer.analyze_rolling_average()["mean"]) == 28
    assert analyzer.generate_trend_report().startswith("# Trends")
    refused("binary_segmentation", analyzer.detect_change_points, "magic")
    refused("confidence 2", analyzer.predict_future, 7, 2.0)
    found = StatisticalAnalyzer([1.0, 1.1, 0.9, 1.05, 0.95], [2.0, 2.1, 1.9, 2.05, 9.0])
    assert found.mann_whitney_test()["is_significant"] and found.t_test()["degrees_of_freedom"] > 1
    assert found.effect_size()["cliffs_delta"] == 1.0 and found.confidence_interval()[1] > 0
    assert found.detect_outliers() == {"baseline": [], "current": [4]}
    refused("use iqr or mad", found.detect_outliers, "magic")
    compared = BeforeAfterComparison([slow], [slowed(slow, 0.5)])
    assert compared.get_summary()["total"] >= 1 and "Performance Comparison" in compared.generate_comparison_view()


def show_components(directory: str, run: dict) -> None:
    """Checks the status of components and the performance panel for installers."""
    runner = BenchmarkRunner(BenchmarkRunnerConfig(output_dir=directory))
    integration = ComponentBenchmarkIntegration(runner, ResultsPersistence(directory))
    assert integration.get_component_benchmark_status("pytorch").status.value == "passed"
    verified = integration.verify_component_performance("pytorch", {"time_ms": 1e-9, "tflops": 1e-9})
    assert not verified["passed"] and {check["metric"]: check["passed"] for check in verified["checks"]} == {
        "time_ms": False,
        "tflops": True,
    }
    installer = TUIIntegration(results_dir=directory)
    assert installer.integrate_with_rusty_stack({})["benchmarks"]["components"]["pytorch"]["status"] == "passed"
    assert len(installer.generate_performance_panel(run).splitlines()) > 2


def follow_the_configuration(path: str) -> None:
    """Checks that a configuration is read back as it was written."""
    config = GlobalBenchmarkConfig(generate_html_reports=True)
    config.components["pytorch"] = ComponentBenchmarkConfig(num_runs=20, thresholds={"tflops": 0.5})
    BenchmarkConfigLoader(path).save_config(config)
    loader = BenchmarkConfigLoader(path)
    assert loader.load_config() == config and loader.validate_config() == []
    with open(path, "a", encoding="utf-8") as file:
        file.write("[gpu\n")
    refused("TOML", loader.load_config)


def main() -> int:
    """Runs all checks; returns 0, or raises AssertionError."""
    # One thread, because other load disturbs it less.
    os.environ["OMP_NUM_THREADS"] = "1"
    settings = Settings(replicates=5, runs=10)
    sizes = [(64, 64, 64), (128, 128, 128)]
    results = benchmark_matmul(sizes=sizes, dtypes=["f32"], device="cpu:0", settings=settings)
    for result in results:
        print(f"{result.benchmark_id}: {result.outcome.value}, {result.time_ms} ms, {result.tflops} TFLOP/s, {result.reason}")
        assert result.is_measured and result.tflops > 0 and result.accuracy_error < 0.03, result
    read_figures()
    draw_other_forms()
    follow_the_specification(results[0])
    read_sensors()
    read_architectures()
    with tempfile.TemporaryDirectory() as directory:
        follow_the_guide(directory)
    with tempfile.TemporaryDirectory() as directory:
        before = store(results, directory)
        after = store([slowed(result, 20.0) for result in results], directory)
        found = gate(before, after)
        print(found.verdict.value, [row.benchmark_id for row in found.regressed])
        assert found.verdict is Verdict.REGRESSED and len(found.regressed) == len(results), found
        same = gate(before, store(results, directory))
        assert same.verdict is not Verdict.REGRESSED, same
        policy = os.path.join(directory, "policy.toml")
        with open(policy, "w", encoding="utf-8") as file:
            file.write("threshold_percent = 5000.0\n")
        lenient = gate(before, after, policy=policy)
        assert lenient.verdict is not Verdict.REGRESSED, lenient
        with open(policy, "w", encoding="utf-8") as file:
            file.write("threshold_percentage = 10.0\n")
        try:
            gate(before, after, policy=policy)
        except ValueError as error:
            assert "threshold_percentage" in str(error), error
        else:
            raise AssertionError("a policy with an unknown key was read")
        for wrong in ("/no/such/file.json", __file__):
            try:
                gate(wrong, after)
            except ValueError as error:
                assert wrong in str(error), error
            else:
                raise AssertionError(f"{wrong} was read")
    return 0


if __name__ == "__main__":
    sys.exit(main())
