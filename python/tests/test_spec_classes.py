"""Names, parameters, defaults, enum values and behavior of the classes in the specification.

The lists were copied from the specification by hand. These tests replace the compiled extension;
`python/checks/package.py` runs the classes with it.
"""

import dataclasses
import importlib.util
import inspect
import json
import pathlib
import sys
import time
from datetime import datetime, timezone
from types import SimpleNamespace
from unittest import mock

import pytest

import rusty_stack_bench as package
from rusty_stack_bench import BenchmarkRunner, BenchmarkRunnerConfig, BenchmarkSuite, Outcome, Result
from rusty_stack_bench.sources import Sources

# Constructor and methods of each class, with their parameters and defaults in the specification.
METHODS = {
    "BenchmarkResultsDB": {
        "__init__": "db_path='benchmark_results.db'",
        "save_benchmark_result": "result",
        "save_component_result": "result",
        "save_comparison": "comparison",
        "get_benchmark_history": "benchmark_type=None, limit=100",
        "get_comparison_history": "benchmark_id, limit=10",
        "export_results": "format='json', output_path=None",
    },
    "ASCIIChartGenerator": {
        "__init__": "width=60, height=20",
        "generate_bar_chart": "data, title='', unit='', colorize=False",
        "generate_line_chart": "series, title='', x_label='', y_label='', colorize=False",
        "generate_sparkline": "data, width=40, character='▁▂▃▄▅▆▇█'",
        "generate_gauge": "value, min_val=0.0, max_val=100.0, label='', segments=10",
        "generate_heatmap": "data, row_labels=None, col_labels=None, title=''",
        "generate_speedup_chart": "baseline_data, comparison_data, title=''",
        "generate_memory_timeline": "timestamps, memory_usage, peak_value=None",
    },
    "BeforeAfterComparison": {
        "__init__": "baseline_results, current_results",
        "compare_metric": "metric_path, baseline_value, current_value, unit='', lower_is_better=None",
        "compare_all": "metrics, thresholds=None",
        "generate_comparison_view": "title='Performance Comparison', show_details=True",
        "generate_delta_chart": "metrics, baseline_values, current_values",
        "get_summary": "",
    },
    "DegradationDetector": {
        "__init__": "historical_results, window_size=10",
        "detect_degradation": "current_result, thresholds=None",
        "detect_anomalies": "metric_name, current_value, z_score_threshold=2.5",
        "detect_trend_change": "metric_name, recent_points=5",
        "generate_health_report": "",
    },
    "SpeedupChartGenerator": {
        "generate_speedup_bars": "data, baseline=1.0, title='Speedup vs Baseline', max_bars=20",
        "generate_scaling_chart": "gpu_counts, times, title='Scaling Efficiency'",
        "generate_roofline_chart": (
            "arithmetic_intensities, performances, peak_performance, peak_bandwidth, memory_bound"
        ),
    },
    "MemoryPatternVisualizer": {
        "generate_memory_timeline": "timestamps, allocations, deallocations=None, width=60",
        "generate_memory_breakdown": "breakdown, title='Memory Breakdown'",
        "generate_memory_heatmap": "time_points, memory_types, values, title='Memory Usage Over Time'",
        "generate_utilization_gauge": "used, total, label='Memory'",
    },
    "BenchmarkComparator": {
        "__init__": "baseline_run, current_run, config=None",
        "compare_throughput": "baseline_key, current_key",
        "compare_latency": "baseline_key, current_key",
        "compare_memory": "baseline_key, current_key",
        "compare_scalability": "baseline_key, current_key",
        "calculate_speedup": "baseline_time, current_time",
        "calculate_percentile_change": "baseline_data, current_data, percentile",
        "is_significant": "baseline_values, current_values, threshold_percent=5.0",
        "get_overall_status": "",
        "generate_comparison_report": "",
        "to_dict": "",
        "save_to_db": "db_path='benchmark_results.db'",
    },
    "StatisticalAnalyzer": {
        "__init__": "baseline_data, current_data",
        "compute_statistics": "",
        "t_test": "alpha=0.05",
        "mann_whitney_test": "alpha=0.05",
        "effect_size": "",
        "confidence_interval": "confidence=0.95",
        "detect_outliers": "method='iqr', threshold=1.5",
    },
    "TrendAnalyzer": {
        "__init__": "timestamps, values",
        "analyze_trend": "",
        "analyze_rolling_average": "window=5",
        "detect_change_points": "method='binary_segmentation', min_size=5",
        "predict_future": "days_ahead=7, confidence=0.95",
        "generate_trend_report": "",
    },
    "TUIIntegration": {
        "__init__": "config=None",
        "integrate_with_rusty_stack": "app_state",
        "on_benchmark_selected": "benchmark_type, component_id=None",
        "run_benchmark_for_component": "component_id, progress_callback=None",
        "get_benchmark_status": "",
        "generate_performance_panel": "results",
        "animate_progress": "stage, current, total, message=''",
        "update_component_status": "component_id, status, metrics=None",
    },
    "ResultsPersistence": {
        "__init__": "base_dir='benchmark_results'",
        "save_benchmark_run": "results, metadata=None",
        "save_component_result": "component_id, result",
        "save_comparison": "baseline_run_id, current_run_id, comparison",
        "get_result": "run_id",
        "get_component_results": "component_id, limit=10",
        "get_latest_results": "benchmark_type=None, limit=10",
        "export_to_json": "run_id, output_path=None",
        "export_to_csv": "run_ids, output_path=None",
        "cleanup_old_results": "days=30, keep_latest=5",
    },
    "ReportGenerator": {
        "__init__": "config=None",
        "generate_report": "results, comparison_results=None",
        "generate_markdown_report": "results, comparison_results=None",
        "generate_html_report": "results, comparison_results=None",
        "generate_ascii_report": "results, comparison_results=None",
        "generate_summary_section": "results",
        "generate_environment_section": "environment",
        "generate_results_section": "results",
        "generate_comparison_section": "comparison",
        "generate_recommendations_section": "results",
        "save_report": "content, format, output_path=None",
    },
    "TrendAnalysisIntegration": {
        "__init__": "config=None",
        "set_persistence": "persistence",
        "analyze_trends": "metric, component_id=None",
        "get_trend_summary": "component_id=None",
        "detect_performance_regression": "component_id=None",
        "detect_performance_improvement": "component_id=None",
        "generate_trend_dashboard": "",
        "export_trend_data": "metric, format='json'",
    },
    "ComponentBenchmarkIntegration": {
        "__init__": "benchmark_runner, results_persistence",
        "run_component_benchmark": "component_id, benchmark_type='standard'",
        "update_component_status": "component_id, status",
        "get_component_benchmark_status": "component_id",
        "verify_component_performance": "component_id, thresholds",
        "get_all_component_statuses": "",
    },
    "BenchmarkRunner": {
        "__init__": "config=None",
        "set_status_callback": "callback",
        "run_suite": "suite=None, component_ids=None",
        "run_pre_installation_benchmarks": "",
        "run_component_benchmarks": "component_ids=None",
        "run_gpu_benchmarks": "",
        "run_quick_benchmarks": "",
        "run_custom_benchmarks": "benchmark_list",
        "compare_with_baseline": "",
        "generate_all_reports": "",
        "save_results": "",
    },
    "BenchmarkConfigLoader": {
        "__init__": "config_path=None",
        "load_config": "",
        "save_config": "config=None",
        "validate_config": "",
        "get_component_config": "component_id",
    },
}

# Fields of the data classes, in order.
FIELDS = {
    "MetricComparison": (
        "metric_name baseline_value current_value unit change_percent change_type threshold_percent"
    ),
    "DegradationAlert": (
        "metric baseline_mean current_value deviation_percent severity message recommendation"
    ),
    "ComparisonConfig": (
        "metric_thresholds significance_level ignore_metrics weight_metrics compare_percentiles"
    ),
    "TrendResult": "slope intercept r_squared p_value direction prediction",
    "TUIIntegrationConfig": (
        "show_live_progress auto_run_on_selection save_results_automatically show_comparison_after_run animation_style"
    ),
    "ReportConfig": (
        "title include_environment include_comparison include_recommendations chart_width theme"
    ),
    "TrendAnalysisConfig": "lookback_days min_data_points significance_threshold alert_threshold_percent",
    "TrendAlert": "metric direction change_percent severity description recommendation",
    "ComponentBenchmarkStatus": (
        "component_id status last_run metrics threshold_checks comparison_to_baseline"
    ),
    "BenchmarkRunnerConfig": (
        "suite output_dir save_raw_results generate_reports compare_with_baseline parallel max_workers timeout_seconds verbose"
    ),
    "ComponentBenchmarkConfig": "enabled timeout_seconds num_runs warmup_runs metrics thresholds",
    "GPUBenchmarkConfig": "enabled timeout_seconds test_memory test_compute test_scaling gpu_indices",
    "GlobalBenchmarkConfig": (
        "output_dir baseline_run_id compare_with_baseline generate_ascii_reports generate_markdown_reports"
        " generate_html_reports components gpu"
    ),
}

VALUES = {
    "ChartType": {
        "BAR": "bar",
        "LINE": "line",
        "SPARKLINE": "sparkline",
        "GAUGE": "gauge",
        "HEATMAP": "heatmap",
        "STACKED_BAR": "stacked_bar",
    },
    "ChangeType": {"IMPROVED": "improved", "DEGRADED": "degraded", "UNCHANGED": "unchanged"},
    "BenchmarkStage": {
        "PRE_INSTALLATION": "pre_installation",
        "COMPONENT_BENCHMARK": "component_benchmark",
        "GPU_PERFORMANCE": "gpu_performance",
        "COMPARISON": "comparison",
    },
    "ReportFormat": {"MARKDOWN": "markdown", "HTML": "html", "JSON": "json", "ASCII": "ascii"},
    "BenchmarkStatus": {
        "NOT_RUN": "not_run",
        "RUNNING": "running",
        "PASSED": "passed",
        "WARNING": "warning",
        "FAILED": "failed",
    },
    "BenchmarkSuite": {
        "PRE_INSTALLATION": "pre_installation",
        "FULL": "full",
        "COMPONENT": "component",
        "QUICK": "quick",
        "CUSTOM": "custom",
    },
}


def every_method():
    return [(kind, method, text) for kind, methods in METHODS.items() for method, text in methods.items()]


@pytest.mark.parametrize(("kind", "method", "text"), every_method())
def test_parameters_and_defaults_are_those_of_the_specification(kind, method, text):
    expected = inspect.signature(eval(f"lambda {text}: None")).parameters
    found = list(inspect.signature(getattr(getattr(package, kind), method)).parameters.values())[1:]
    assert [one.name for one in found[: len(expected)]] == list(expected)
    for one in found[: len(expected)]:
        default = expected[one.name].default
        assert default is inspect.Parameter.empty or one.default == default, one
    # Additional parameters must be optional.
    assert all(one.default is not inspect.Parameter.empty for one in found[len(expected) :])


@pytest.mark.parametrize(("kind", "method", "text"), every_method())
def test_an_unknown_keyword_of_a_method_is_a_type_error_with_the_accepted_ones(kind, method, text):
    called = getattr(getattr(package, kind), method)
    first = list(inspect.signature(called).parameters)[1:2]
    with pytest.raises(TypeError, match=f"'color'; {f'use {first[0]}' if first else 'it has no parameter'}"):
        called(None, color="red")


def test_an_unknown_keyword_of_a_configuration_is_a_type_error_with_its_fields():
    with pytest.raises(TypeError, match="'headline'; use title, include_environment"):
        package.ReportConfig(headline="Nightly")


@pytest.mark.parametrize(("kind", "text"), FIELDS.items())
def test_fields_are_those_of_the_specification(kind, text):
    found = [one.name for one in dataclasses.fields(getattr(package, kind))]
    assert found[: len(text.split())] == text.split()


@pytest.mark.parametrize(("kind", "values"), VALUES.items())
def test_enum_values_are_those_of_the_specification(kind, values):
    found = {member.name: member.value for member in getattr(package, kind)}
    assert {name: found.get(name) for name in values} == values


def test_defaults_of_the_configuration_are_those_of_the_specification():
    config = package.GlobalBenchmarkConfig()
    assert (config.output_dir, config.baseline_run_id, config.compare_with_baseline) == ("benchmark_results", None, True)
    assert (config.generate_ascii_reports, config.generate_markdown_reports, config.generate_html_reports) == (True, True, False)
    component = package.ComponentBenchmarkConfig()
    assert (component.enabled, component.timeout_seconds, component.num_runs, component.warmup_runs) == (True, 300, 100, 10)
    assert (component.metrics, component.thresholds) == (["throughput", "latency", "memory"], {})
    assert (config.gpu.enabled, config.gpu.timeout_seconds, config.gpu.gpu_indices) == (True, 600, [0])


def test_every_name_is_exported_and_documented():
    for kind in [*METHODS, *FIELDS, *VALUES]:
        assert kind in package.__all__
        assert inspect.getdoc(getattr(package, kind)), kind
    for kind, method, text in every_method():
        document = inspect.getdoc(getattr(getattr(package, kind), method))
        if method != "__init__":
            assert document, (kind, method)
            assert not text or "Args:" in document, (kind, method)


def result(time_ms=1.0, case="component_specific/pytorch/cpu:0/matmul"):
    """Returns a measured result."""
    fields = {"time_ms": time_ms, "tflops": 2.0}
    return Result(case, Outcome.MEASURED, None, "cpu", {"n": "64"}, [], fields, "2026-11-29T00:00:00Z", time_ms)


RUN = {
    "run_id": "20261129T000000Z_1",
    "suite": "quick",
    "environment": {},
    "benchmarks": [result().record(), {"benchmark_id": "a/b", "category": "b", "outcome": "skipped", "why": "no GPU"}],
}
FIELD_TABLE = [
    {"name": "time_ms", "unit": "ms", "better": "lower", "about": ""},
    {"name": "tflops", "unit": "TFLOP/s", "better": "higher", "about": ""},
    {"name": "time_us", "unit": "us", "better": "lower", "about": ""},
    {"name": "latency_ns", "unit": "ns", "better": "lower", "about": ""},
    {"name": "n", "unit": "1", "better": None, "about": ""},
]


def row(case, metric, before, after, group, better="lower"):
    change = 100.0 * (after - before) / before
    values = {"baseline_value": before, "current_value": after, "difference_percent": change, "speedup": before / after}
    return {"id": case, "metric": metric, "unit": "", "group": group, "better": better, **values}


@pytest.fixture
def native(tmp_path):
    """Replaces the compiled extension; `calls` records the arguments of each call."""
    compared = {
        "speedup": 2.0,
        "metrics": [
            row("a/gemm/f32", "time_ms", 2.0, 1.0, "latency"),
            row("a/gemm/f16", "time_ms", 4.0, 1.0, "latency"),
            row("a/gemm/f16", "ttft_ms", 4.0, 2.0, "latency"),
            row("a/gemm/f32", "tflops", 1.0, 2.0, "throughput", "higher"),
            row("a/copy", "time_us", 3.0, 1.0, "latency"),
        ],
        "comparison": {
            "comparison_id": "c-1",
            "comparisons": [{"id": "a/gemm/f32", "verdict": "Improved"}, {"id": "a/gemm/f16", "verdict": "Unchanged"}],
            "summary": {"overall_status": "healthy"},
        },
    }
    calls = []
    answers = {
        "compare": json.dumps(compared),
        "save_run": str(tmp_path / "saved.json"),
        "store": str(tmp_path / "20261129T000001Z_2.json"),
        "save_comparison": str(tmp_path / "c-1.json"),
        "fields": json.dumps(FIELD_TABLE),
        "components": ["pytorch", "triton"],
        "against_saved": "no baseline is saved",
        "comparison_svg": "<svg/>",
        "draw": "drawn",
        "draw_svg": "<svg>",
        "export": "exported",
        "format_comparison": "formatted",
        "report": "# Title\n\n**Passed**\n\n## Key results\n\nbest\n\n## gemm\n\nvalues\n\n## Method\n\nhow\n",
        "sparkline": "▁▄█",
        "outliers": [False, True],
        "write_file": None,
    }
    (tmp_path / "saved.json").write_text(json.dumps(RUN), encoding="utf-8")

    def function(name):
        def called(*args, **kwargs):
            calls.append((name, args, kwargs))
            answer = answers[name]
            return answer(*args, **kwargs) if callable(answer) else answer

        return called

    found = SimpleNamespace(calls=calls, answers=answers)
    names = ("statistics", "difference", "trend", "stored_trends", "stored_series", "stored_runs", "stored_run", "health")
    names += ("prune", "percentile", "rolling", "component_records", "parse_toml", "stored_comparisons", "environment_report")
    for name in (*answers, *names):
        setattr(found, name, function(name))
    with mock.patch.dict(vars(package), _native=found):
        yield found


def called(native, name):
    """Returns the positional arguments of the last call of a function."""
    return [args for other, args, _ in native.calls if other == name][-1]


def test_runs_in_any_form_become_files(native, tmp_path):
    sources = Sources(tmp_path)
    assert sources.files("a/b.json") == ["a/b.json"]
    assert sources.files(RUN) == [str(tmp_path / "saved.json")]
    assert json.loads(called(native, "save_run")[0])["run_id"] == RUN["run_id"]
    assert sources.files([result(), result(2.0).record()]) == [str(tmp_path / "20261129T000001Z_2.json")]
    assert len(json.loads(called(native, "store")[0])) == 2
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "id.json").write_text("{}", encoding="utf-8")
    assert sources.files("id") == [str(tmp_path / "runs" / "id.json")]
    assert sources.files("quick") == ["quick"], "the name of a saved baseline"
    refused = [([], ValueError, "there is no run"), ({"x": 1}, ValueError, "neither a run"), ([3], TypeError, "int is not a run")]
    for wrong, kind, why in refused:
        with pytest.raises(kind, match=why):
            sources.files(wrong)


def test_a_comparator_compares_all_cases_or_two_that_are_named(native):
    compared = package.BenchmarkComparator(RUN, [result()], {"weight_metrics": {"ttft_ms": 3.0}})
    assert [one["metric"] for one in compared.compare_latency()] == ["ttft_ms", "time_ms", "time_ms", "time_us"]
    assert [one["id"] for one in compared.compare_throughput("f32")] == ["a/gemm/f32"]
    (crossed,) = compared.compare_latency("a/gemm/f32", "a/gemm/f16")
    assert (crossed["baseline_value"], crossed["current_value"], crossed["speedup"]) == (2.0, 1.0, 2.0)
    with pytest.raises(ValueError, match="no case of both runs contains 'conv'; use one such as a/copy"):
        compared.compare_memory("conv")
    assert compared.calculate_speedup(3.0, 1.5) == 2.0
    assert compared.calculate_speedup("gemm") == pytest.approx(8.0**0.5)
    assert compared.calculate_speedup() == pytest.approx(24 ** (1 / 3))
    assert [compared.calculate_speedup(case) for case in ("f16", "a/copy")] == pytest.approx([4.0, 3.0])
    for asked in (compared.calculate_speedup, compared.is_significant):
        with pytest.raises(ValueError, match="contains 'a/gem/f23'; use one such as a/gemm/f32"):
            asked("a/gem/f23")
    with pytest.raises(ValueError, match="above 0"):
        compared.calculate_speedup(0.0, 1.0)
    assert compared.is_significant("a/gemm/f32") and not compared.is_significant("a/gemm/f16")
    assert compared.get_overall_status() == "healthy"
    assert compared.generate_comparison_report() == "formatted"
    assert compared._repr_svg_() == "<svg/>"
    assert compared.save_to_db()["comparison_id"] == "c-1"
    assert called(native, "compare")[-1] == "benchmark_results", "the results directory of the default database"


def test_lists_differ_if_the_test_and_the_threshold_say_so(native):
    compared = package.BenchmarkComparator(RUN, RUN)
    native.answers["difference"] = json.dumps({"is_significant": True, "change_percent": 4.0})
    assert not compared.is_significant([1.0], [1.04])
    assert compared.is_significant([1.0], [1.04], threshold_percent=3.0)
    with pytest.raises(TypeError, match="pass current_values"):
        compared.is_significant([1.0])
    native.answers["percentile"] = lambda values, percent: max(values)
    assert compared.calculate_percentile_change([1.0, 2.0], [3.0], 99) == 50.0


def test_a_comparison_configuration_becomes_a_policy(native):
    read = []
    native.answers["compare"] = lambda *args: read.append(pathlib.Path(args[3]).read_text(encoding="utf-8")) or '{"metrics": []}'
    config = package.ComparisonConfig({"time_ms": 5.0}, 0.01, ["memory_used_mb"], compare_percentiles=[99])
    package.BenchmarkComparator(RUN, RUN, config)
    policy = (
        'alpha = 0.01\npercentiles = [99.0]\n[ignore]\nmetrics = ["memory_used_mb"]\n'
        '[[threshold]]\nmetric = "time_ms"\npercent = 5.0\n'
    )
    assert read == [policy]
    with pytest.raises(ValueError, match="unknown key in config: color; use metric_thresholds"):
        package.BenchmarkComparator(RUN, RUN, {"color": 1})
    with pytest.raises(ValueError, match="both given"):
        package.BenchmarkComparator(RUN, RUN, {"policy": "p.toml", "ignore_metrics": ["x"]})
    native.answers["compare"] = '{"metrics": []}'
    package.BenchmarkComparator(RUN, RUN, {"threshold_percent": 7.0, "policy": "p.toml"})
    assert called(native, "compare")[2:4] == (7.0, "p.toml")


def test_statistics_of_two_lists_come_from_the_native_code(native):
    tests = {"welch_t": {"statistic": -3.0, "degrees_of_freedom": 7.5, "p_value": 0.02}, "mann_whitney": None}
    more = {"difference_interval": [0.5, 1.5], "cohens_d": 1.0, "cliffs_delta": 0.8}
    native.answers["difference"] = json.dumps({**tests, **more})
    native.answers["statistics"] = '{"mean": 1.0}'
    found = package.StatisticalAnalyzer([1, 2], [2, 3])
    assert found.t_test()["is_significant"] and not found.t_test(alpha=0.01)["is_significant"]
    assert found.mann_whitney_test() == {
        "statistic": None, "degrees_of_freedom": None, "p_value": None, "alpha": 0.05, "is_significant": False
    }
    assert found.effect_size() == {"cohens_d": 1.0, "cliffs_delta": 0.8}
    assert found.confidence_interval(0.9) == (0.5, 1.5)
    assert called(native, "difference") == ([1.0, 2.0], [2.0, 3.0], 0.9)
    assert found.compute_statistics() == {"baseline": {"mean": 1.0}, "current": {"mean": 1.0}}
    assert found.detect_outliers() == {"baseline": [1], "current": [1]}
    assert found.detect_outliers([1.0, 9.0]) == [1]
    assert called(native, "outliers") == ([1.0, 9.0], "mad", 3.5)
    assert package.StatisticalAnalyzer(0.9).confidence == 0.9
    with pytest.raises(ValueError, match="construct the analyzer"):
        package.StatisticalAnalyzer().t_test()
    with pytest.raises(TypeError, match="only one list"):
        package.StatisticalAnalyzer([1.0])
    with pytest.raises(ValueError, match="alpha 2 is out of range"):
        found.t_test(2.0)


TREND = {
    "id": "a",
    "slope_per_day": 1.0,
    "intercept": 2.0,
    "r_squared": 0.9,
    "p_value": 0.01,
    "direction": "increasing",
    "predicted": [{"days": 1, "value": 5.0, "low": 4.0, "high": 6.0}],
    "change_points": [],
    "anomalies": [{"index": 2, "value": 9.0}],
    "recent": {"points": 2},
    "alerts": [],
}


def test_trends_of_values_take_any_kind_of_time(native):
    native.answers["trend"] = json.dumps({"series": [TREND]})
    times = [datetime(2026, 1, 1), datetime(2026, 1, 2, tzinfo=timezone.utc), "2026-01-03T00:00:00Z", 0]
    found = package.TrendAnalyzer(times, [1.0, 2.0, 3.0, 4.0])
    assert found.analyze_trend() == package.TrendResult(1.0, 2.0, 0.9, 0.01, "increasing", 5.0)
    (series,) = json.loads(called(native, "trend")[0])
    assert series["points"] == [
        ["2026-01-01T00:00:00Z", 1.0],
        ["2026-01-02T00:00:00Z", 2.0],
        ["2026-01-03T00:00:00Z", 3.0],
        ["1970-01-01T00:00:00Z", 4.0],
    ]
    assert found.detect_change_points(min_size=3) == []
    assert json.loads(called(native, "trend")[1]) == {"method": "binary_segmentation", "min_size": 3}
    assert found.predict_future()[0]["high"] == 6.0
    native.answers["rolling"] = '{"mean": [1.0], "median": [1.0]}'
    assert found.analyze_rolling_average(2)["mean"] == [1.0]
    refused = [((times, [1.0]), ValueError), ((times,), TypeError), (([None], [1.0]), TypeError), ((["x"], ["y"]), TypeError)]
    for wrong, kind in refused:
        with pytest.raises(kind):
            package.TrendAnalyzer(*wrong)
    with pytest.raises(ValueError, match="construct the analyzer"):
        package.TrendAnalyzer().analyze_trend()
    with pytest.raises(ValueError, match="window is 0"):
        found.analyze_rolling_average(0)


def test_a_detector_adds_the_run_to_the_history_before_it_asks_for_alerts(native, tmp_path):
    def series(results_dir, metric=None, case=None):
        points = [["2026-01-03T00:00:00Z", 2.0]]
        if results_dir == str(tmp_path):
            points = [["2026-01-01T00:00:00.5Z", 1.0], ["2026-01-02T00:00:00Z", 1.0]]
        return json.dumps([{"id": "a", "metric": "time_ms", "unit": "ms", "better": "lower", "points": points}])

    alert = {name: name for name in ("metric", "baseline_mean", "current_value", "severity", "message", "recommendation")}
    alerts = [{**alert, "deviation_percent": 100.0, "direction": "worse"}, {"direction": "better"}]
    native.answers.update(stored_series=series, trend=json.dumps({"series": [{**TREND, "alerts": alerts}]}))
    detector = package.DegradationDetector(tmp_path, window_size=8)
    (found,) = detector.detect_degradation(RUN, {"time_ms": 20.0})
    assert found.deviation_percent == 100.0
    (asked,) = json.loads(called(native, "trend")[0])
    assert [value for _, value in asked["points"]] == [1.0, 1.0, 2.0]
    assert json.loads(called(native, "trend")[1]) == {"alert_threshold_percent": 20.0, "window_size": 8}
    assert detector.detect_anomalies("time_ms", 9.0) == [{"index": 2, "value": 9.0}]
    assert json.loads(called(native, "trend")[0])[0]["points"][-1] == ["2026-01-02T00:00:01Z", 9.0]
    assert detector.detect_trend_change("time_ms", 2) == {"points": 2}
    native.answers["health"] = "# Health: healthy\n"
    assert detector.generate_health_report().startswith("# Health")
    native.answers["stored_series"] = json.dumps([{"id": "a"}, {"id": "b"}])
    with pytest.raises(ValueError, match="2 cases have the metric time_ms; pass case, such as a, b"):
        detector.detect_anomalies("time_ms", 1.0)
    with pytest.raises(ValueError, match="window_size is 3"):
        package.DegradationDetector(tmp_path, 3)


def test_values_before_and_after_are_compared_by_path(native):
    before = {"results": {"time_ms": 10.0, "tflops": 1.0}, "name": "x"}
    after = {"results": {"time_ms": 12.0, "tflops": 1.5}}
    found = package.BeforeAfterComparison(before, after)
    kinds = {one.metric_name: one.change_type.value for one in found.compare_all()}
    assert kinds == {"results.time_ms": "degraded", "results.tflops": "improved"}
    (only,) = found.compare_all(["results.time_ms"], {"time_ms": 25.0})
    assert (only.change_type, only.unit, only.change_percent) == (package.ChangeType.UNCHANGED, "ms", 20.0)
    assert "results.time_ms  10 -> 12 ms  +20.0 %  unchanged" in found.generate_comparison_view()
    assert found.get_summary()["unchanged"] == 1
    assert found.compare_metric("x", 2.0, 1.0, lower_is_better=True).change_type is package.ChangeType.IMPROVED
    assert found.compare_metric("x", 0.0, 1.0, lower_is_better=True).change_percent is None
    for metric in ("time_ms", "own_us", "a.latency_p50"):
        assert found.compare_metric(metric, 2.0, 1.0).change_type is package.ChangeType.IMPROVED, metric
    with pytest.raises(ValueError, match="'x' is better when higher or lower is unknown; pass lower_is_better"):
        found.compare_metric("x", 2.0, 1.0)
    own = package.BeforeAfterComparison({"x": 2.0}, {"x": 1.0})
    assert own.compare_all() == []
    kinds = [own.compare_all(["x"], lower_is_better=names)[0].change_type.value for names in (["x"], [])]
    assert kinds == ["improved", "degraded"]
    with pytest.raises(TypeError, match="metrics is the text 'time_ms'; pass a list"):
        own.compare_all("time_ms")
    with pytest.raises(ValueError, match="has no value 'results.time'; use one such as results.time_ms"):
        found.compare_all(["results.time"])
    assert found.generate_delta_chart(["time_ms"], [10.0], [12.0]) == "drawn"
    assert called(native, "draw")[4:6] == (["worse"], [[20.0]])
    with pytest.raises(ValueError, match="before is 0"):
        found.generate_delta_chart(["x"], [0.0], [1.0], lower_is_better=["x"])
    runs = package.BeforeAfterComparison(RUN, [result(3.0)])
    assert runs.compare_all()[0].metric_name == "component_specific/pytorch/cpu:0/matmul:time_ms"


def test_charts_take_the_arguments_of_the_specification_and_those_before(native):
    charts = package.ASCIIChartGenerator(50, 10)
    chart = charts.generate_bar_chart({"a": 1, "b": 2}, "times", "ms", colorize=True)
    assert (chart, chart.svg, chart._repr_svg_()) == ("drawn", "<svg>", "<svg>")
    drawn = ("bar", "times", "ms", ["a", "b"], [], [[1.0, 2.0]])
    assert called(native, "draw") == (*drawn, (50, 10), True, True) and called(native, "draw_svg") == drawn
    charts.generate_stacked_bar_chart({"x": {"a": 1}, "y": {"b": 2}})
    assert called(native, "draw")[4:6] == (["a", "b"], [[1.0, 0.0], [0.0, 2.0]])
    for options in (("t", "x", "ms"), (["0", "1"], "t", "ms")):
        charts.generate_line_chart({"a": [1, 2]}, *options)
        assert called(native, "draw")[:6] == ("line", "t", "ms", ["0", "1"], ["a"], [[1.0, 2.0]])
    charts.generate_bar_chart([1, 2])
    assert called(native, "draw")[3:6] == (["0", "1"], [], [[1.0, 2.0]])
    charts.generate_line_chart([1, 2])
    assert called(native, "draw")[4:6] == ([""], [[1.0, 2.0]])
    with pytest.raises(TypeError, match="parts by name"):
        charts.generate_stacked_bar_chart([1, 2])
    for kind in ("heat-map", "heatmap", "HeatMap"):
        charts.generate_chart(kind, [[1, 2]])
        assert called(native, "draw")[0] == "heat-map"
    for kind in ("stackedbar", "stacked_bar"):
        charts.generate_chart(kind, {"a": {"b": 1}})
        assert called(native, "draw")[0] == "stacked-bar"
    assert charts.generate_chart("memory-timeline", [1, 2]) == "drawn"
    charts.generate_line_chart({"a": [(1, 2), (3, 4)]}, "t", "MB", "GB/s")
    assert called(native, "draw")[:6] == ("scatter", "t", "", ["MB", "GB/s"], ["a"], [[1.0, 3.0], [2.0, 4.0]])
    charts.generate_gauge(42, label="load", max_val=84)
    assert called(native, "draw")[3:6] == (["load"], ["42 of 84"], [[50.0]])
    charts.generate_gauge("memory", 42.0, "of the GPU")
    assert called(native, "draw")[:6] == ("gauge", "of the GPU", "%", ["memory"], [], [[42.0]])
    for options in (([[1, 2]], ["r"], ["c", "d"]), (["r"], ["c", "d"], [[1, 2]])):
        charts.generate_heatmap(*options)
        assert called(native, "draw")[3:6] == (["r"], ["c", "d"], [[1.0, 2.0]])
    for options in (({"a": 2}, {"a": 1}), (["a"], [2], [1])):
        charts.generate_speedup_chart(*options)
        assert called(native, "draw")[3:6] == (["a"], [], [[2.0], [1.0]])
    charts.generate_memory_timeline([0, 1], [5, 6], peak_value=8)
    assert called(native, "draw")[0:1] + called(native, "draw")[5:6] == ("timeline", [[0.0, 1.0], [5.0, 6.0], [8.0]])
    assert charts.generate_memory_timeline([5, 6]) == "drawn" and called(native, "draw")[0] == "line"
    assert charts.generate_sparkline([1, 2, 3], character=".#") == "..#"
    for kind, data in (("bar", {"a": 1}), ("sparkline", [1]), (package.ChartType.GAUGE, 5), ("stacked-bar", {"a": {"b": 1}})):
        assert charts.generate_chart(kind, data)
    with pytest.raises(ValueError, match="unknown chart type 'pie'; use one of bar, line"):
        charts.generate_chart("pie", {})
    with pytest.raises(ValueError, match="not in the range"):
        charts.generate_gauge(101)
    with pytest.raises(TypeError, match="pass a number"):
        charts.generate_bar_chart({"a": "1"})
    with pytest.raises(ValueError, match="finite"):
        charts.generate_bar_chart({"a": float("nan")})


def test_charts_of_speedups_and_memory_prepare_their_values(native):
    charts, memory = package.SpeedupChartGenerator(), package.MemoryPatternVisualizer()
    charts.generate_speedup_bars({"a": 3, "b": 4, "c": 5}, baseline=2.0, max_bars=2)
    assert called(native, "draw")[3:6] == (["a", "b"], [], [[3.0, 4.0], [2.0, 2.0]])
    charts.generate_scaling_chart([1, 2], [10, 6])
    assert called(native, "draw")[0] == "scaling"
    charts.generate_roofline_chart([1, 100], [10, 50], 60, 20, [True, False])
    assert called(native, "draw")[5] == [[1.0, 100.0], [10.0, 50.0], [60.0, 20.0], [1.0, 0.0]]
    memory.generate_memory_timeline([0, 1, 2], [5, 5, 0], [0, 2, 3], width=40)
    assert called(native, "draw")[5:7] == ([[0.0, 1.0, 2.0], [5.0, 8.0, 5.0]], (40, 20))
    memory.generate_memory_breakdown({"model": 1, "activations": 2})
    assert called(native, "draw")[3:6] == (["memory"], ["model", "activations"], [[1.0], [2.0]])
    memory.generate_memory_heatmap([0, 1], ["held"], [[1, 2]])
    assert called(native, "draw")[3:5] == (["held"], ["0", "1"])
    memory.generate_utilization_gauge(1, 4)
    assert called(native, "draw")[4:6] == (["25 % of 4 MB"], [[25.0]])
    with pytest.raises(ValueError, match="not a share"):
        memory.generate_utilization_gauge(5, 4)
    with pytest.raises(ValueError, match="same number"):
        memory.generate_memory_timeline([0, 1], [1, 2], [1])


def test_runs_and_results_are_stored_with_their_metadata(native, tmp_path):
    kept = package.ResultsPersistence(tmp_path)
    assert kept.base_dir == str(tmp_path)
    assert kept.save_benchmark_run(RUN, {"operator": "Ann"}) == "saved"
    assert [one["metadata"]["operator"] for one in json.loads(called(native, "save_run")[0])["benchmarks"]] == ["Ann", "Ann"]
    assert kept.save_benchmark_run([result()], {"parameters": "lost"}) == "20261129T000001Z_2"
    assert json.loads(called(native, "store")[0])[0]["metadata"]["parameters"] == {"n": "64"}
    kept.save_component_result("triton", {"time_ms": 1.5, "device": "rocm:0"})
    (record,) = json.loads(called(native, "store")[0])
    assert (record["benchmark_id"], record["device_type"]) == ("component_specific/triton/rocm:0", "gpu")
    with pytest.raises(ValueError, match="is of pytorch, not of triton"):
        kept.save_component_result("triton", result())
    with pytest.raises(ValueError, match="there is no result"):
        kept.save_benchmark_run([])
    assert kept.save_comparison("a", "b", {"comparison_id": "c-1"}) == "c-1"
    assert json.loads(called(native, "save_comparison")[0])["baseline_run_id"] == "a"
    with pytest.raises(ValueError, match="baseline_run_id is 'x', but the comparison is of 'a'"):
        kept.save_comparison("x", "b", {"comparison_id": "c-1", "baseline_run_id": "a", "current_run_id": "b"})
    kept.save_component_result("triton", {"time_ms": 1.5, "dtype": "f16", "n": 64})
    (record,) = json.loads(called(native, "store")[0])
    assert record["benchmark_id"] == "component_specific/triton/cpu:0/dtype=f16/n=64"
    with pytest.raises(TypeError, match="time_ms is 'x'; pass a number"):
        kept.save_component_result("triton", {"time_ms": "x"})
    with pytest.raises(ValueError, match="unknown component 'nonsense'; use one of pytorch, triton"):
        kept.save_component_result("nonsense", {"time_ms": 1.0})
    with pytest.raises(ValueError, match="days is -1"):
        kept.cleanup_old_results(-1)


def test_a_bandwidth_of_a_memory_is_stored_as_its_results(native, tmp_path):
    one = package.MemoryBandwidthResult("c/memory-tiers/rocm:0/a", Outcome.MEASURED, None, "gpu", {}, [], {"time_ms": 2.0}, "t")
    whole = package.HBMBandwidthResult("device", "rocm:0", 1, 1.0, 2.0, 3.0, 0.5, Outcome.MEASURED, None, [one, one])
    package.ResultsPersistence(tmp_path).save_benchmark_run([whole, one])
    assert len(json.loads(called(native, "store")[0])) == 3
    assert [row["time_ms"] for row in package.tables.rows([whole])] == [2.0, 2.0]
    Sources(tmp_path).files(whole)
    assert len(json.loads(called(native, "store")[0])) == 2
    package.store([whole], tmp_path)
    assert len(json.loads(called(native, "store")[0])) == 2
    assert package.BeforeAfterComparison(whole, [whole]).compare_all()[0].change_type is package.ChangeType.UNCHANGED
    with pytest.raises(TypeError, match="int is not a result"):
        package.store([3])


@pytest.mark.parametrize(
    "made", [package.ReportGenerator, package.BenchmarkRunner, package.TUIIntegration, package.TrendAnalysisIntegration]
)
def test_a_configuration_may_be_a_dictionary(native, made):
    with pytest.raises(ValueError, match="unknown key in config: color; use "):
        made({"color": 1})
    known = {"title": "T"} if made is package.ReportGenerator else {}
    assert made(known).config is not None
    with pytest.raises(TypeError, match="the configuration is 3; pass a "):
        made(3)


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Replaces the program with a script that records its arguments."""
    path, log = tmp_path / "program", tmp_path / "log"

    def replaced(script):
        path.write_text(f'#!/bin/sh\necho "$@" >> {log}\n{script}', encoding="utf-8")
        path.chmod(0o755)
        monkeypatch.setenv("RUSTY_STACK_BENCH", str(path))
        return lambda: log.read_text(encoding="utf-8")

    return replaced


def test_a_runner_measures_this_python_and_names_what_it_can_measure(program, tmp_path):
    answers = """if [ "$1" = list ]; then echo '{"benchmarks": [{"benchmark": "gemm"}]}'; exit 0; fi
while [ $# -gt 0 ]; do case $1 in --id-file) echo 1 > "$2" ;; esac; shift; done
echo measuring >&2; echo '{"benchmarks": []}'
"""
    log = program(answers)
    runner, lines = BenchmarkRunner({"output_dir": str(tmp_path)}), []
    runner.set_status_callback(lines.append)
    assert runner.run_suite(component_ids=["gemm"]) == {"benchmarks": []} and lines == ["measuring"]
    assert f"--python {sys.executable}" in log() and runner.path == str(tmp_path / "runs/1.json")
    with pytest.raises(ValueError, match="^unknown benchmark 'nope'; use one of gemm$"):
        runner.run_suite(component_ids=["nope"])
    with pytest.raises(ValueError, match="timeout_seconds is 0; pass an integer of at least 1"):
        BenchmarkRunner({"timeout_seconds": 0}).run_suite()


def test_a_program_stops_if_the_callback_raises(program):
    program("echo one >&2\nexec sleep 30\n")
    runner = BenchmarkRunner()

    def interrupted(line):
        raise ZeroDivisionError(line)

    runner.set_status_callback(interrupted)
    started = time.monotonic()
    with pytest.raises(ZeroDivisionError):
        runner.run_suite()
    assert time.monotonic() - started < 10


def test_exports_are_of_runs_or_of_everything(native, tmp_path):
    kept = package.ResultsPersistence(tmp_path)
    assert kept.export_to_json("id").endswith("export_id.json") and called(native, "export")[2] == ["id"]
    assert kept.export_to_csv(["a", "b"], "x.csv") == "x.csv" and called(native, "export")[1:] == ("csv", ["a", "b"])
    assert kept.export_to_csv("all.csv") == "all.csv" and called(native, "export")[2] is None
    database = package.BenchmarkResultsDB()
    assert database.results_dir == "benchmark_results"
    assert database.export_results("csv") == "exported"
    assert database.export_results(output_path=tmp_path / "x.json") == str(tmp_path / "x.json")


def test_a_database_finds_results_and_comparisons(native, tmp_path):
    native.answers["stored_runs"] = json.dumps([{"run_id": "1"}, {"run_id": "2"}])
    native.answers["stored_run"] = json.dumps(RUN)
    head = {"comparison_id": "c", "timestamp": "t", "baseline_run_id": "x", "current_run_id": "y"}
    native.answers["stored_comparisons"] = json.dumps([{**head, "comparisons": [{"id": "a", "metric": "time_ms"}, {"id": "b"}]}])
    database = package.BenchmarkResultsDB(tmp_path / "results.db")
    assert database.results_dir == str(tmp_path / "results")
    assert len(database.get_benchmark_history(limit=3)) == 3
    assert len(database.get_benchmark_history("pytorch")) == 2
    assert database.get_comparison_history("a") == [{**head, "id": "a", "metric": "time_ms"}]
    kept = database.persistence
    assert len(kept.get_component_results("pytorch", limit=1)) == 1
    assert [run.run_id for run in kept.get_latest_results(1)] == [RUN["run_id"]]
    assert kept.get_latest_results("gemm") == []
    with pytest.raises(ValueError, match="limit is 0"):
        database.get_benchmark_history(limit=0)


def test_reports_have_the_parts_of_the_configuration(native):
    reports = package.ReportGenerator(package.ReportConfig("Nightly", include_environment=False, theme="dark"))
    assert reports.generate_ascii_report(RUN).startswith("Nightly\n\n")
    name, args, options = native.calls[-1]
    assert (name, args[1], options["title"], options["theme"]) == ("report", "text", "Nightly", "dark")
    assert options["parts"] == ["comparison", "recommendations", "charts"]
    reports.generate_report(RUN, {"comparisons": []}, "html")
    assert native.calls[-1][2]["comparison"] == '{"comparisons": []}'
    reports.generate_markdown_report(RUN, "baseline.json")
    assert native.calls[-1][1][2] == "baseline.json"
    assert reports.generate_summary_section(RUN) == "# Title\n\n**Passed**\n\n## Key results\n\nbest\n"
    assert reports.generate_results_section(RUN) == "## gemm\n\nvalues\n"
    assert "None." in reports.generate_recommendations_section(RUN)
    native.answers["environment_report"] = "a CPU\n"
    with pytest.raises(ValueError, match="describes no machine"):
        reports.generate_environment_section({})
    assert reports.generate_environment_section({"os": "Linux"}) == "## Environment\n\na CPU\n"
    assert reports.generate_comparison_section({"comparisons": []}) == "formatted"
    assert reports.save_report("text", "ascii", "r.txt") == "r.txt" and called(native, "write_file") == ("r.txt", "text")
    with pytest.raises(ValueError, match="unknown report format 'pdf'; use one of markdown, html, json, ascii"):
        reports.generate_report(RUN, None, "pdf")
    with pytest.raises(ValueError, match="there is no run"):
        reports.generate()


def test_trend_alerts_are_of_one_direction_and_component(native, tmp_path):
    alert = {"metric": "time_ms", "change_percent": 20.0, "severity": "warning", "description": "d", "recommendation": "r"}
    series = {**TREND, "alerts": [{**alert, "direction": "worse"}, {**alert, "direction": "better"}]}
    native.answers["stored_trends"] = json.dumps({"series": [series]})
    trends = package.TrendAnalysisIntegration(package.TrendAnalysisConfig(lookback_days=7))
    trends.set_persistence(package.ResultsPersistence(tmp_path))
    with pytest.raises(ValueError, match="'time' is not a field of docs/glossary.md; use one such as time_"):
        trends.analyze_trends("time")
    (worse,) = trends.detect_performance_regression("pytorch")
    assert worse == package.TrendAlert("time_ms", "worse", 20.0, "warning", "d", "r")
    asked = [args[:3] for name, args, _ in native.calls if name == "stored_trends"]
    # The time of a case is in one of these units.
    assert asked == [(str(tmp_path), metric, "/pytorch/") for metric in ("time_ms", "time_us", "latency_ns")]
    assert json.loads(called(native, "stored_trends")[3])["lookback_days"] == 7
    assert len(trends.detect_performance_improvement()) == 1
    assert trends.get_trend_summary() == {
        "series": 1, "increasing": 1, "decreasing": 0, "stable": 0, "change_points": 0, "alerts": 2
    }
    native.answers["health"] = "healthy"
    assert trends.generate_trend_dashboard().startswith("healthy\n")
    trends.export_trend_data("tflops", "csv")
    assert called(native, "stored_trends")[4] == "csv"
    assert package.DegradationDetector(tmp_path).has_degraded()
    series["alerts"].pop(0)
    native.answers["stored_trends"] = json.dumps({"series": [series]})
    assert not package.DegradationDetector(tmp_path).has_degraded(), "an improvement"


@pytest.fixture
def measured(native, tmp_path):
    """Replaces runs of the program; afterwards the store has a run of PyTorch."""
    (tmp_path / "runs").mkdir()
    native.answers["stored_runs"] = json.dumps([{"run_id": "1", "path": "1.json"}])
    checks = [{"metric": "tflops", "passed": False}]
    record = {"status": "warning", "results": {"latency": 1}, "threshold_checks": checks}
    components = {"pytorch": {"record": record, "comparison_to_baseline": None}}
    native.answers["component_records"] = json.dumps({"started": "2026-11-29T00:00:00Z", "components": components})
    asked = []

    def run_suite(self, suite=None, component_ids=None, profile=None):
        asked.append((suite, component_ids, profile))
        self._tell("measuring")
        self.path = "1.json"
        return package.Run(RUN)

    with mock.patch.object(BenchmarkRunner, "run_suite", run_suite):
        yield SimpleNamespace(asked=asked, results_dir=str(tmp_path), native=native)


def test_components_have_the_status_of_their_last_run_or_the_one_that_was_set(measured):
    runner = BenchmarkRunner(BenchmarkRunnerConfig(output_dir=measured.results_dir))
    found = package.ComponentBenchmarkIntegration(runner, package.ResultsPersistence(measured.results_dir))
    status = found.run_component_benchmark("pytorch", "quick")
    assert (status.status, status.metrics) == (package.BenchmarkStatus.WARNING, {"latency": 1})
    assert measured.asked == [(None, ["pytorch"], "quick")]
    assert found.update_component_status("triton", "running").status is package.BenchmarkStatus.RUNNING
    every = found.get_all_component_statuses()
    assert {name: one.status.value for name, one in every.items()} == {"pytorch": "warning", "triton": "running"}
    assert found.update_component_status("triton", None).status is package.BenchmarkStatus.NOT_RUN
    policies = []
    answer = measured.native.answers["component_records"]
    measured.native.answers["component_records"] = lambda path, results_dir, policy: (
        policies.append(policy and pathlib.Path(policy).read_text(encoding="utf-8")) or answer
    )
    verified = found.verify_component_performance("pytorch", {"tflops": 2, "time_ms": 5.0})
    assert verified["passed"] is False and verified["checks"][0]["metric"] == "tflops"
    assert "above = 2.0" in policies[-1] and "below = 5.0" in policies[-1]
    with pytest.raises(ValueError, match="unknown component 'torch'; use one of pytorch, triton"):
        found.get_component_benchmark_status("torch")
    with pytest.raises(ValueError, match="unknown status 'fine'"):
        found.update_component_status("pytorch", "fine")
    with pytest.raises(ValueError, match="'color' is not a metric"):
        found.verify_component_performance("pytorch", {"color": 1.0})
    with pytest.raises(ValueError, match="triton was not measured yet"):
        found.verify_component_performance("triton", {"tflops": 1.0})


def test_an_installer_selects_runs_and_shows_benchmarks(measured):
    lines = []
    tui = package.TUIIntegration(results_dir=measured.results_dir)
    state = tui.integrate_with_rusty_stack({"theme": "dark", "components": ["triton"]})
    assert state["theme"] == "dark" and list(state["benchmarks"]["components"]) == ["triton"]
    assert tui.on_benchmark_selected("gpu-performance")["suite"] == "gpu-performance" and not measured.asked
    assert tui.run_benchmark_for_component("pytorch", lines.append)["run_id"] == RUN["run_id"]
    assert lines == ["measuring"]
    status = tui.get_benchmark_status()
    assert (status["stage"], status["last_run"], status["progress"]) == ("component_benchmark", RUN["run_id"], "measuring")
    assert status["components"]["pytorch"]["status"] == "warning"
    assert tui.update_component_status("triton", "failed", {"speed": 1}).metrics == {"speed": 1}
    assert tui.generate_performance_panel(RUN).endswith("no baseline is saved\n")
    assert tui.on_benchmark_selected("comparison")["comparison"] == "no baseline is saved"
    assert tui.animate_progress("gpu_performance", 1, 4, "gemm") == "gpu performance [#####---------------] 25 % gemm"
    with pytest.raises(ValueError, match="5 of 4 steps"):
        tui.animate_progress("gpu_performance", 5, 4)
    with pytest.raises(ValueError, match="unknown stage 'gpu'"):
        tui.on_benchmark_selected("gpu")
    with pytest.raises(ValueError, match="unknown animation 'dots'; use one of spinner, bar, none"):
        package.TUIIntegration(package.TUIIntegrationConfig(animation_style="dots"))


def test_settings_of_an_installer_decide_about_runs_and_progress(measured):
    lines = []
    config = package.TUIIntegrationConfig(False, True, False, False, "spinner")
    tui = package.TUIIntegration(config, measured.results_dir)
    assert tui.on_benchmark_selected("component_benchmark", "pytorch")["run"]["run_id"] == RUN["run_id"]
    tui.run_benchmark_for_component("pytorch", lines.append)
    assert lines == []
    assert tui.get_benchmark_status(["pytorch"])["components"]["pytorch"]["status"] == "passed"
    assert "no baseline" not in tui.generate_performance_panel(RUN)
    assert tui.animate_progress("comparison", 1, 2).startswith("/ comparison 1/2")


def test_suites_have_names_in_both_spellings():
    assert BenchmarkSuite.of("pre-installation") is BenchmarkSuite.PRE_INSTALLATION
    assert BenchmarkSuite.of("component_specific") is BenchmarkSuite.COMPONENT
    assert BenchmarkSuite.GPU_PERFORMANCE.program_name == "gpu-performance"
    runner = BenchmarkRunner()
    with pytest.raises(ValueError, match="unknown suite 'slow'; use one of pre_installation, full"):
        runner.run_suite("slow")
    with pytest.raises(ValueError, match="unknown profile 'fast'; use one of quick, standard, thorough"):
        runner.run_suite(profile="fast")
    with pytest.raises(TypeError, match="pass a list of names"):
        runner.run_suite(component_ids="pytorch")


def test_the_suite_custom_runs_the_entries_of_the_project(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    runner = BenchmarkRunner()
    with pytest.raises(ValueError, match=r"\[\[custom\]\] entries in rusty-stack-bench.toml"):
        runner.run_suite(BenchmarkSuite.CUSTOM)
    (tmp_path / "rusty-stack-bench.toml").write_text("", encoding="utf-8")
    with mock.patch.object(BenchmarkRunner, "_measure", lambda self, *words: words):
        assert runner.run_suite("custom") == (["--suite", "custom"], "rusty-stack-bench.toml")
        assert runner.run_suite("full", profile="quick") == (["--suite", "full", "--profile", "quick"],)


def test_a_runner_compares_with_the_saved_baseline_and_copies_its_run(native, tmp_path):
    runner = BenchmarkRunner(BenchmarkRunnerConfig(output_dir=str(tmp_path)))
    runner.run, runner.path = package.Run(RUN), str(tmp_path / "saved.json")
    runner.compare_with_baseline()
    assert called(native, "compare")[:2] == (["quick"], [runner.path])
    assert json.loads(pathlib.Path(runner.save_results()).read_text(encoding="utf-8")) == RUN


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python reads TOML from 3.11 on")
def test_a_configuration_is_written_as_it_is_read(native, tmp_path, monkeypatch):
    import tomllib

    native.answers["parse_toml"] = lambda text: json.dumps(tomllib.loads(text))
    native.answers["write_file"] = lambda path, text: pathlib.Path(path).write_text(text, encoding="utf-8")
    monkeypatch.setattr("rusty_stack_bench.configuration.find_program", lambda: None)
    path = tmp_path / "rusty-stack-bench.toml"
    loader = package.BenchmarkConfigLoader(path)
    assert loader.load_config() == package.GlobalBenchmarkConfig() and loader.validate_config() == []
    config = package.GlobalBenchmarkConfig(output_dir="results", generate_html_reports=True)
    config.components["pytorch"] = package.ComponentBenchmarkConfig(num_runs=20, thresholds={"tflops": 0.5})
    assert loader.save_config(config) == str(path)
    assert package.BenchmarkConfigLoader(path).load_config() == config
    assert loader.get_component_config("pytorch").num_runs == 20
    assert loader.get_component_config("triton").num_runs == 100
    with pytest.raises(ValueError, match="unknown component 'torch'"):
        loader.get_component_config("torch")
    path.write_text("[run]\nresults_dir = 'x'\n[components.pytorch]\nnum_runs = 5\n", encoding="utf-8")
    assert loader.validate_config() == [f"{path}: components.pytorch.num_runs is 5; use at least 10"]
    path.write_text("[gpu]\nfast = true\n", encoding="utf-8")
    assert "unknown key fast; use enabled" in loader.validate_config()[0]
    path.write_text("[charts]\ntheme = 'dark'\n", encoding="utf-8")
    with pytest.raises(ValueError, match="charts, which would be lost"):
        loader.save_config()
    path.write_text("[run]\nrunz = 20\n", encoding="utf-8")
    assert "run has the unknown key runz; use suite" in loader.validate_config()[0]
    path.write_text("[components.pytorch]\nruns = 20\nnum_runs = 30\n", encoding="utf-8")
    assert "unknown key runs" in loader.validate_config()[0]
    path.write_text("[run]\nresults_dir = 'kept'\n", encoding="utf-8")
    package.BenchmarkConfigLoader(path).save_config()
    assert package.BenchmarkConfigLoader(path).config.output_dir == "kept", "what was never loaded is not lost"
    wrong = package.GlobalBenchmarkConfig(components={"torch": package.ComponentBenchmarkConfig(thresholds={"color": 1.0})})
    wrong.gpu.gpu_indices = [-1]
    for why in ("unknown component 'torch'", "thresholds.color is no target", r"gpu_indices is \[-1\]"):
        with pytest.raises(ValueError, match=why):
            loader.save_config(wrong)
    config.gpu.gpu_indices = 0
    with pytest.raises(ValueError, match="gpu.gpu_indices is 0"):
        loader.save_config(config)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python reads TOML from 3.11 on")
def test_a_key_may_have_its_other_name_but_not_both(native, tmp_path: pathlib.Path) -> None:
    import tomllib

    native.answers["parse_toml"] = lambda text: json.dumps(tomllib.loads(text))
    path = tmp_path / "rusty-stack-bench.toml"
    path.write_text('[run]\noutput_dir = "kept"\n[report]\ngenerate_html_reports = false\n', encoding="utf-8")
    config = package.BenchmarkConfigLoader(path).load_config()
    assert (config.output_dir, config.generate_html_reports) == ("kept", False)
    path.write_text('[run]\noutput_dir = "a"\nresults_dir = "b"\n', encoding="utf-8")
    with pytest.raises(ValueError, match="keep one"):
        package.BenchmarkConfigLoader(path).load_config()


def test_runs_are_tables_if_a_package_for_them_is_installed():
    run = package.Run(RUN)
    rows = run.rows()
    assert rows[0] == {
        "benchmark_id": "component_specific/pytorch/cpu:0/matmul", "outcome": "measured", "n": "64", "time_ms": 1.0, "tflops": 2.0
    }
    assert rows[1]["reason"] == "no GPU"
    assert "<th>time_ms</th>" in rows._repr_html_() and rows._repr_html_() == package.tables.rows(run)._repr_html_()
    assert "<th>time_ms</th>" in package.ResultList([result()])._repr_html_()
    for name, convert in (("pandas", package.to_pandas), ("polars", package.to_polars)):
        if importlib.util.find_spec(name) is not None:
            assert convert([result()]).shape == (1, 5)
        with mock.patch.dict(sys.modules, {name: None}), pytest.raises(ImportError, match=f"pip install {name}"):
            convert([result()])
