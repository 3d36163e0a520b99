"""Comparisons of runs, statistics and trends, all computed by the program's own code."""
from __future__ import annotations

import json
from collections.abc import Sequence
from os import PathLike
from typing import Any, Union

from .keeping import Verdict

Path = Union[str, "PathLike[str]"]


def files(side: Path | Sequence[Path]) -> list[str]:
    """Returns the files of a side; several files are replicates of each other."""
    return [str(side)] if isinstance(side, (str, PathLike)) else [str(one) for one in side]


class BenchmarkComparator:
    """Compares a stored run with a baseline.

    Args:
        baseline: the file of a run; several files are replicates of each other.
        current: the same, for the run to judge.
        config: may contain `threshold_percent` (percent) and `policy` (a policy file).

    Raises:
        ValueError: if `config` has another key, a file cannot be read as a run, or the policy is
            invalid.
    """

    def __init__(
        self, baseline: Path | Sequence[Path], current: Path | Sequence[Path], config: dict[str, Any] | None = None
    ) -> None:
        from . import _native

        unknown = set(config or {}) - {"threshold_percent", "policy"}
        if unknown:
            raise ValueError(f"unknown key in config: {', '.join(sorted(unknown))}; use threshold_percent or policy")
        self._asked = (files(baseline), files(current))
        policy = (config or {}).get("policy")
        self._rules: dict[str, Any] = {
            "threshold_percent": (config or {}).get("threshold_percent"),
            "policy": None if policy is None else str(policy),
        }
        self._native = _native
        self._found = json.loads(_native.compare(*self._asked, **self._rules))

    def _group(self, name: str) -> list[dict[str, Any]]:
        return [row for row in self._found["metrics"] if row["group"] == name]

    def compare_throughput(self) -> list[dict[str, Any]]:
        """Returns the rates of every case on both sides, with their change in percent and the speedup."""
        return self._group("throughput")

    def compare_latency(self) -> list[dict[str, Any]]:
        """Returns the times of every case on both sides, as `compare_throughput` does for rates."""
        return self._group("latency")

    def compare_memory(self) -> list[dict[str, Any]]:
        """Returns the memory use of every case on both sides, as `compare_throughput` does for rates."""
        return self._group("memory")

    def compare_scalability(self) -> list[dict[str, Any]]:
        """Returns efficiency, speedup and communication overhead, as `compare_throughput` does for rates."""
        return self._group("scalability")

    def calculate_speedup(self, benchmark_id: str | None = None) -> float | None:
        """Returns how many times faster the run is than the baseline.

        Args:
            benchmark_id: a case; by default the result is the geometric mean of all cases.

        Returns:
            The speedup, or None if there are no times.
        """
        if benchmark_id is None:
            return self._found["speedup"]
        times = (row for row in self._found["metrics"] if row["id"] == benchmark_id and row["metric"] == "time_ms")
        return next((row["speedup"] for row in times), None)

    def is_significant(self, benchmark_id: str | None = None) -> bool:
        """Returns whether the gate judges a case faster or slower.

        Args:
            benchmark_id: a case; by default any case counts.
        """
        rows = self._found["comparison"]["comparisons"]
        changed = (Verdict.IMPROVED.value, Verdict.REGRESSED.value)
        return any(row["verdict"] in changed for row in rows if benchmark_id in (None, row["id"]))

    def get_overall_status(self) -> str:
        """Returns `healthy`, `warning` or `critical`."""
        return self._found["comparison"]["summary"]["overall_status"]

    def generate_comparison_report(self, format: str = "markdown") -> str:
        """Formats the verdict.

        Args:
            format: text, json, markdown, junit, sarif or github.

        Raises:
            ValueError: if the format is unknown.
        """
        return self._native.comparison_report(*self._asked, format, **self._rules)

    def to_dict(self) -> dict[str, Any]:
        """Returns the comparison as schemas/comparison-result.schema.json describes it."""
        return self._found["comparison"]

    def save_to_db(self, results_dir: Path = "benchmark_results") -> dict[str, Any]:
        """Stores the comparison in a results directory, where the program lists it.

        Returns:
            The comparison as stored.

        Raises:
            OSError: if it cannot be written.
        """
        self._found = json.loads(self._native.compare(*self._asked, **self._rules, results_dir=str(results_dir)))
        return self.to_dict()


class StatisticalAnalyzer:
    """Statistics of lists of numbers.

    Args:
        confidence: confidence level, between 0 and 1.
    """

    def __init__(self, confidence: float = 0.95) -> None:
        self.confidence = confidence

    def analyze(self, values: Sequence[float]) -> dict[str, Any]:
        """Returns mean, median, spread, percentiles, confidence interval of the mean, and outliers.

        Raises:
            ValueError: if `values` is empty, a value is not finite, or the confidence level is not
                between 0 and 1.
        """
        from . import _native

        return json.loads(_native.statistics([float(value) for value in values], self.confidence))

    def compare(self, before: Sequence[float], after: Sequence[float]) -> dict[str, Any]:
        """Compares two lists: Welch's t, Mann-Whitney, effect sizes, interval of the difference.

        Raises:
            ValueError: under the same conditions as `analyze`.
        """
        from . import _native

        first, second = ([float(value) for value in side] for side in (before, after))
        return json.loads(_native.difference(first, second, self.confidence))

    def detect_outliers(self, values: Sequence[float]) -> list[int]:
        """Returns the indices of the outliers.

        Raises:
            ValueError: under the same conditions as `analyze`.
        """
        return [at for at, is_one in enumerate(self.analyze(values)["outliers"]) if is_one]


class TrendAnalyzer:
    """Trends of stored metrics.

    Args:
        results_dir: the results directory.
    """

    def __init__(self, results_dir: Path = "benchmark_results") -> None:
        self.results_dir = str(results_dir)

    def analyze(self, metric: str = "time_ms", case: str | None = None) -> list[dict[str, Any]]:
        """Returns the trend of each stored series: fitted line, change points, forecast and alerts.

        Args:
            metric: a field of docs/glossary.md.
            case: a substring of case ids; by default all cases count.

        Raises:
            ValueError: if the results directory does not exist.
            OSError: if it cannot be read.
        """
        from . import _native

        return json.loads(_native.stored_trends(self.results_dir, metric, case))["series"]

    @staticmethod
    def analyze_points(
        points: Sequence[tuple[str, float]], better: str | None = None, name: str = "series"
    ) -> dict[str, Any] | None:
        """Returns the trend of values that are not stored.

        Args:
            points: times (RFC 3339) and values.
            better: `higher` or `lower`, if a change can be a regression.
            name: the name of the series.

        Returns:
            The trend, or None if no value is finite.

        Raises:
            ValueError: if a time or `better` is invalid.
        """
        from . import _native

        found = json.loads(_native.trend(name, [(time, float(value)) for time, value in points], better))["series"]
        return found[0] if found else None


class DegradationDetector:
    """Degradations in the stored runs.

    Args:
        results_dir: the results directory.
    """

    def __init__(self, results_dir: Path = "benchmark_results") -> None:
        self._trends = TrendAnalyzer(results_dir)

    def detect(self, metric: str = "time_ms", case: str | None = None) -> list[dict[str, Any]]:
        """Returns every alert of the trends of a metric, each with the id of its case.

        Args:
            metric: a field of docs/glossary.md.
            case: a substring of case ids; by default all cases count.

        Raises:
            ValueError: if the results directory does not exist.
            OSError: if it cannot be read.
        """
        return [
            {"id": series["id"], **alert} for series in self._trends.analyze(metric, case) for alert in series["alerts"]
        ]

    def has_degraded(self, metric: str = "time_ms", case: str | None = None) -> bool:
        """Returns whether `detect` finds any alert."""
        return bool(self.detect(metric, case))
