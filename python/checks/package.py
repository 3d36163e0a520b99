"""Checks the installed package, from a function to a verdict. Run it with the interpreter of its environment.

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
    BenchmarkComparator,
    BenchmarkRunner,
    BenchmarkRunnerConfig,
    DegradationDetector,
    ReportGenerator,
    Result,
    ResultsPersistence,
    StatisticalAnalyzer,
    TrendAnalyzer,
    Verdict,
    _native,
    gate,
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
    """Runs the Python example of docs/extending.md, and reads what it stored."""
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
    """Checks settings for functions: no stored samples, and a comparison or why there is none."""
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
    refused("not a finite number", charts.generate_bar_chart, {"one": float("inf")})
    refused("same number", charts.generate_speedup_chart, ["a"], [2.0], [1.0, 2.0])


def main() -> int:
    """Runs all checks; returns 0, or raises AssertionError."""
    # One thread, so that other load disturbs less.
    os.environ["OMP_NUM_THREADS"] = "1"
    settings = Settings(replicates=5, runs=10)
    sizes = [(64, 64, 64), (128, 128, 128)]
    results = benchmark_matmul(sizes=sizes, dtypes=["f32"], device="cpu:0", settings=settings)
    for result in results:
        print(f"{result.benchmark_id}: {result.outcome.value}, {result.time_ms} ms, {result.tflops} TFLOP/s, {result.reason}")
        assert result.is_measured and result.tflops > 0 and result.accuracy_error < 0.03, result
    read_figures()
    read_sensors()
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
