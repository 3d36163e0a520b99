"""Comparisons of runs, statistics and trends, all computed by the program's own code."""
from __future__ import annotations

import html
import json
import math
import os
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from os import PathLike
from typing import Any, overload

from .arguments import Moment, config_of, count, moment, named_arguments, nearest, number, numbers_of
from .comparing import ComparisonConfig
from .keeping import Verdict
from .program import TEMPORARY, without_paths
from .sources import History, Path, Side, Sources
from .tables import Rows, check_metric
from .trends import times_of

# Changes from this many percent raise an alert, unless another limit is given.
ALERT_PERCENT = 10.0


@named_arguments
class BenchmarkComparator:
    """Compares a run with a baseline.

    Pass a run as its file, its id, the dictionary that `run_suite` returned, or results. Several runs of
    one side are replicates of each other.

    Args:
        baseline_run: the run or runs to compare with, or the name of a saved baseline.
        current_run: the run or runs to judge.
        config: thresholds and selection of metrics, or a dictionary with the same fields.
        results_dir: the results directory in which run ids are looked up.

    Raises:
        TypeError: if a side is not a run.
        ValueError: if `config` has an unknown key, a side cannot be read as a run, or the policy is
            invalid.
    """

    def __init__(
        self,
        baseline_run: Side,
        current_run: Side,
        config: ComparisonConfig | Mapping[str, Any] | None = None,
        results_dir: Path = "benchmark_results",
    ) -> None:
        self.config = config_of(ComparisonConfig, config)
        self.results_dir = str(results_dir)
        self._sources = Sources(results_dir)
        self._sides = (self._sources.files(baseline_run), self._sources.files(current_run))
        self._found = self._compared(None)

    def _compared(self, results_dir: str | None) -> dict[str, Any]:
        """Compares both sides, and stores the comparison in a results directory, if one is given."""
        from . import _native

        with tempfile.TemporaryDirectory(prefix=TEMPORARY) as directory:
            policy = self.config.policy_in(directory)
            percent = self.config.threshold_percent
            try:
                return json.loads(_native.compare(*self._sides, percent, policy, results_dir))
            except ValueError as error:
                raise ValueError(without_paths(str(error))) from None

    def _rows(self, group: str, baseline_key: str | None, current_key: str | None) -> list[dict[str, Any]]:
        weights = self.config.weight_metrics
        rows: list[dict[str, Any]] = [row for row in self._found["metrics"] if row["group"] == group]
        rows.sort(key=lambda row: -weights.get(row["metric"], 1.0))
        before, after = baseline_key or current_key, current_key or baseline_key
        if before is None or after is None:
            return rows
        ids = (self._matching(before), self._matching(after))
        if ids[0] == ids[1]:
            return [row for row in rows if row["id"] in ids[0]]
        if len(ids[0]) != 1 or len(ids[1]) != 1:
            raise ValueError(f"{before!r} and {after!r} must each match one case: {', '.join(ids[0] + ids[1])}")
        known = {row["metric"]: row for row in rows if row["id"] == ids[0][0]}
        return [_crossed(known[row["metric"]], row) for row in rows if row["id"] == ids[1][0] and row["metric"] in known]

    def _matching(self, key: str) -> list[str]:
        """Returns the ids of the cases of both sides that equal `key` or, if none does, contain it."""
        rows = self._found["metrics"] + self._found["comparison"]["comparisons"]
        ids: list[str] = list(dict.fromkeys(row["id"] for row in rows))
        found = [key] if key in ids else [one for one in ids if key in one]
        if not found:
            cure = f"use one such as {nearest(key, ids)}" if ids else "none is in both"
            raise ValueError(f"no case of both runs contains {key!r}; {cure}")
        return found

    def compare_throughput(self, baseline_key: str | None = None, current_key: str | None = None) -> list[dict[str, Any]]:
        """Returns the rates of every case on both sides, with their change in percent and the speedup.

        Args:
            baseline_key: the id of a case, or a part of it; by default every case.
            current_key: the same for the run to judge, to compare different cases.

        Returns:
            One row per metric: `id`, `metric`, `unit`, `better`, `baseline_value`, `current_value`,
            `difference_percent` and `speedup`, above 1 for an improvement.

        Raises:
            ValueError: if no case matches, or the two keys do not each select exactly one case.
        """
        return self._rows("throughput", baseline_key, current_key)

    def compare_latency(self, baseline_key: str | None = None, current_key: str | None = None) -> list[dict[str, Any]]:
        """Returns the times of every case on both sides, as `compare_throughput` does for rates.

        Args:
            baseline_key: the id of a case, or a part of it; by default every case.
            current_key: the same for the run to judge, to compare different cases.

        Raises:
            ValueError: if no case matches, or the two keys do not each select exactly one case.
        """
        return self._rows("latency", baseline_key, current_key)

    def compare_memory(self, baseline_key: str | None = None, current_key: str | None = None) -> list[dict[str, Any]]:
        """Returns the memory use of every case on both sides, as `compare_throughput` does for rates.

        Args:
            baseline_key: the id of a case, or a part of it; by default every case.
            current_key: the same for the run to judge, to compare different cases.

        Raises:
            ValueError: if no case matches, or the two keys do not each select exactly one case.
        """
        return self._rows("memory", baseline_key, current_key)

    def compare_scalability(self, baseline_key: str | None = None, current_key: str | None = None) -> list[dict[str, Any]]:
        """Returns efficiency, speedup and communication overhead, as `compare_throughput` does for rates.

        Args:
            baseline_key: the id of a case, or a part of it; by default every case.
            current_key: the same for the run to judge, to compare different cases.

        Raises:
            ValueError: if no case matches, or the two keys do not each select exactly one case.
        """
        return self._rows("scalability", baseline_key, current_key)

    def calculate_speedup(
        self, baseline_time: float | str | None = None, current_time: float | None = None
    ) -> float | None:
        """Returns how many times faster the run is than the baseline.

        Args:
            baseline_time: the id of a case or a part of it, by default all cases; or a time.
            current_time: a time of the run to judge, in the same unit as the first.

        Returns:
            The speedup of the two times, or the geometric mean of those of the cases. None if there are no
            times.

        Raises:
            TypeError: if only one time is given.
            ValueError: if a time is not above 0, or no case matches.
        """
        if isinstance(baseline_time, str) or (baseline_time is None and current_time is None):
            ids = None if baseline_time is None else self._matching(baseline_time)
            times = times_of(lambda metric: [row for row in self._found["metrics"] if row["metric"] == metric])
            found = [row["speedup"] for row in times if row["speedup"] and (ids is None or row["id"] in ids)]
            return statistics.geometric_mean(found) if found else None
        before, after = number("baseline_time", baseline_time), number("current_time", current_time)
        if before <= 0 or after <= 0:
            raise ValueError(f"times {before:g} and {after:g} have no ratio; pass times above 0")
        return before / after

    def calculate_percentile_change(
        self, baseline_data: Sequence[float], current_data: Sequence[float], percentile: float
    ) -> float | None:
        """Returns the change of a percentile of two lists of values, in percent.

        Args:
            baseline_data: values of the baseline.
            current_data: values of the run to judge, in the same unit.
            percentile: from 0 to 100.

        Returns:
            The change; None if the percentile of the baseline is 0.

        Raises:
            TypeError: if a value is not a number.
            ValueError: if a list is empty, a value is not finite, or `percentile` is out of range.
        """
        from . import _native

        at = number("percentile", percentile)
        before, after = (_native.percentile(numbers_of("a value", side), at) for side in (baseline_data, current_data))
        return None if before == 0 else 100.0 * (after - before) / abs(before)

    def is_significant(
        self,
        baseline_values: Sequence[float] | str | None = None,
        current_values: Sequence[float] | None = None,
        threshold_percent: float = 5.0,
    ) -> bool:
        """Returns whether the gate judges any selected case faster or slower, or whether two lists of values differ.

        Args:
            baseline_values: the id of a case or a part of it, by default every case; or values of the baseline.
            current_values: values of the run to judge. The lists differ if the Mann-Whitney test is significant
                at 95 % and the means differ by at least `threshold_percent`.
            threshold_percent: for lists, smallest difference of the means in percent.

        Raises:
            TypeError: if only one list is given, or a value is not a number.
            ValueError: if a list is empty, a value is not finite, or no case matches.
        """
        if baseline_values is None or isinstance(baseline_values, str):
            ids = None if baseline_values is None else self._matching(baseline_values)
            rows = self._found["comparison"]["comparisons"]
            changed = (Verdict.IMPROVED.value, Verdict.REGRESSED.value)
            return any(row["verdict"] in changed for row in rows if ids is None or row["id"] in ids)
        if current_values is None:
            raise TypeError("there are no values of the run to judge; pass current_values, too")
        found = StatisticalAnalyzer(baseline_values, current_values).difference()
        change = found["change_percent"]
        is_large = change is None or abs(change) >= number("threshold_percent", threshold_percent)
        return bool(found["is_significant"]) and is_large

    def get_overall_status(self) -> str:
        """Returns the overall status of the comparison: `healthy`, `warning` or `critical`."""
        return self._found["comparison"]["summary"]["overall_status"]

    def generate_comparison_report(self, format: str = "markdown") -> str:
        """Formats the verdict.

        Args:
            format: text, json, markdown, junit, sarif or github.

        Raises:
            ValueError: if the format is unknown.
        """
        from . import _native

        return _native.format_comparison(json.dumps(self.to_dict()), format)

    def to_dict(self) -> dict[str, Any]:
        """Returns the comparison as schemas/comparison-result.schema.json describes it."""
        return self._found["comparison"]

    def save_to_db(self, db_path: Path = "benchmark_results.db") -> dict[str, Any]:
        """Stores the comparison in a results directory, where the program lists it.

        Args:
            db_path: the results directory; its index is the database. A name that ends in `.db` stands
                for the directory without this ending. The default is `benchmark_results`.

        Returns:
            The comparison as stored.

        Raises:
            OSError: if it cannot be written.
        """
        self._found = self._compared(results_dir_of(db_path))
        return self.to_dict()

    def _repr_html_(self) -> str:
        """Returns the verdict and the chart of changes, for notebooks."""
        text = f"<pre>{html.escape(self.generate_comparison_report('text'))}</pre>"
        return text + (self._repr_svg_() or "")

    def _repr_svg_(self) -> str | None:
        """Returns the chart of changes, for notebooks; None if no value can be compared."""
        from . import _native

        return _native.comparison_svg(json.dumps(self.to_dict()))


def results_dir_of(db_path: Path) -> str:
    """Returns the results directory whose index is the database `db_path`.

    Args:
        db_path: the directory, its name with the ending `.db`, or the path of the index `benchmarks.db` in it.
    """
    text = str(db_path)
    if os.path.isdir(text):
        return text
    if os.path.basename(text) == "benchmarks.db":
        return os.path.dirname(text) or "."
    return text.removesuffix(".db")


def _crossed(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the row of a metric that compares two different cases."""
    first, second = before["baseline_value"], after["current_value"]
    ratio = None if not first or not second else (second / first if after["better"] == "higher" else first / second)
    change = None if not first else 100.0 * (second - first) / first
    sides = {"baseline_value": first, "current_value": second, "difference_percent": change, "speedup": ratio}
    return {**after, "id": f"{before['id']} -> {after['id']}", **sides}


@named_arguments
class StatisticalAnalyzer:
    """Statistics of lists of numbers.

    Args:
        baseline_data: values before. A number passed here is taken as `confidence`.
        current_data: values after, in the same unit.
        confidence: confidence level, from 0.5 to below 1.

    Raises:
        TypeError: if only one list is given, or a value is not a number.
        ValueError: if a value is not finite.
    """

    def __init__(
        self,
        baseline_data: Sequence[float] | float | None = None,
        current_data: Sequence[float] | None = None,
        confidence: float = 0.95,
    ) -> None:
        if isinstance(baseline_data, (int, float)):
            baseline_data, confidence = None, float(baseline_data)
        if (baseline_data is None) != (current_data is None):
            raise TypeError("only one list is given; pass baseline_data and current_data, or neither")
        self.confidence = confidence
        self._sides = [numbers_of("a value", side) for side in (baseline_data, current_data) if side is not None]

    def _both(self) -> list[list[float]]:
        if not self._sides:
            raise ValueError("there are no values; construct the analyzer with baseline_data and current_data")
        return self._sides

    def analyze(self, values: Sequence[float]) -> dict[str, Any]:
        """Returns mean, median, spread, percentiles, confidence interval of the mean, and outliers.

        Raises:
            ValueError: if `values` is empty, a value is not finite, or the confidence level is not
                from 0.5 to below 1.
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

    def difference(self) -> dict[str, Any]:
        """Compares `baseline_data` with `current_data`, as `compare` does.

        Raises:
            ValueError: if there are no values.
        """
        return self.compare(*self._both())

    def compute_statistics(self) -> dict[str, Any]:
        """Returns the statistics of both lists, as `analyze` does, under `baseline` and `current`.

        Raises:
            ValueError: if there are no values.
        """
        return dict(zip(("baseline", "current"), map(self.analyze, self._both())))

    def t_test(self, alpha: float = 0.05) -> dict[str, Any]:
        """Runs Welch's t test, which allows different variances.

        Args:
            alpha: error rate, above 0 and up to 0.5.

        Returns:
            `statistic`, positive if the values before are higher, `degrees_of_freedom`, `p_value`, `alpha` and
            `is_significant`. The first three are None if neither list varies.

        Raises:
            ValueError: if there are no values, or `alpha` is out of range.
        """
        return self._tested("welch_t", alpha)

    def mann_whitney_test(self, alpha: float = 0.05) -> dict[str, Any]:
        """Runs the Mann-Whitney U test, which compares ranks.

        Args:
            alpha: error rate, above 0 and up to 0.5.

        Returns:
            `statistic` (U of the values before), `p_value`, `alpha` and `is_significant`; `degrees_of_freedom`
            is None.

        Raises:
            ValueError: if there are no values, or `alpha` is out of range.
        """
        return self._tested("mann_whitney", alpha)

    def _tested(self, name: str, alpha: float) -> dict[str, Any]:
        from . import _native

        rate = number("alpha", alpha)
        if not 0 < rate <= 0.5:
            raise ValueError(f"alpha {rate:g} is out of range; use a number above 0 and up to 0.5, such as 0.05")
        before, after = self._both()
        test: dict[str, Any] | None = json.loads(_native.difference(before, after, 0.95))[name]
        found = test or {"statistic": None, "degrees_of_freedom": None, "p_value": None}
        p_value = found["p_value"]
        return {**found, "alpha": rate, "is_significant": p_value is not None and p_value < rate}

    def effect_size(self) -> dict[str, Any]:
        """Returns how large the difference is, regardless of its significance.

        Returns:
            `cohens_d`: the difference of the means, after minus before, over the pooled standard deviation;
            `cliffs_delta`: from -1 to 1, positive if the values after are higher.

        Raises:
            ValueError: if there are no values.
        """
        found = self.difference()
        return {name: found[name] for name in ("cohens_d", "cliffs_delta")}

    def confidence_interval(self, confidence: float = 0.95) -> tuple[float, float] | None:
        """Returns the interval of the difference of the means, after minus before.

        Args:
            confidence: confidence level, from 0.5 to below 1.

        Returns:
            Lower and upper end in the unit of the values; None if a list has one value, or no value varies.

        Raises:
            ValueError: if there are no values, or `confidence` is out of range.
        """
        from . import _native

        before, after = self._both()
        ends = json.loads(_native.difference(before, after, number("confidence", confidence)))["difference_interval"]
        return None if ends is None else (ends[0], ends[1])

    @overload
    def detect_outliers(self, method: Sequence[float]) -> list[int]: ...
    @overload
    def detect_outliers(self, method: str = "iqr", threshold: float = 1.5) -> dict[str, list[int]]: ...
    def detect_outliers(self, method: Any = "iqr", threshold: float = 1.5) -> Any:
        """Returns the indices of the outliers.

        `detect_outliers(values)` checks a single list, by default with the rule `mad` and the threshold 3.5.

        Args:
            method: `iqr`, outside the quartiles by more than `threshold` interquartile ranges; or `mad`, further
                from the median than `threshold` scaled median absolute deviations.
            threshold: number of interquartile ranges or deviations; 3.5 is usual for `mad`.

        Returns:
            The indices in each list, under `baseline` and `current`; only a list of indices if `values` was passed.

        Raises:
            ValueError: if there are no values, the rule is unknown, or `threshold` is not above 0.
        """
        from . import _native

        if not isinstance(method, str):
            return _marked(_native.outliers(numbers_of("a value", method), "mad", 3.5))
        reach = number("threshold", threshold)
        lists = zip(("baseline", "current"), self._both())
        return {name: _marked(_native.outliers(values, method, reach)) for name, values in lists}


def _marked(flags: Sequence[bool]) -> list[int]:
    return [at for at, is_one in enumerate(flags) if is_one]


@dataclass(frozen=True)
class TrendResult:
    """The line fitted to a series. Values are None if there are too few points, or all are equal.

    `slope` is per day, in the unit of the values, and None if the points span less than a day;
    `intercept` is the value of the line at the first point; `direction` is increasing, decreasing or
    stable; `prediction` is the value expected in 7 days.
    """

    slope: float | None
    intercept: float | None
    r_squared: float | None
    p_value: float | None
    direction: str
    prediction: float | None


@named_arguments
class TrendAnalyzer:
    """Trends of values over time, or of stored metrics.

    Args:
        timestamps: the time of each value: `datetime`, RFC 3339, or seconds since 1970. Without `values`,
            this is the results directory whose stored series `analyze` reads.
        values: the values.
        better: `higher` or `lower`: which values are better; None if neither.

    Raises:
        TypeError: if a time or a value has another type.
        ValueError: if both lists differ in length, or `better` is invalid.
    """

    def __init__(
        self,
        timestamps: Path | Sequence[Moment] = "benchmark_results",
        values: Sequence[float] | None = None,
        better: str | None = None,
    ) -> None:
        self.results_dir = "benchmark_results"
        self._points: list[tuple[str, float]] | None = None
        self._better = better
        if values is None:
            if not isinstance(timestamps, (str, PathLike)):
                raise TypeError("there are no values; pass as many values as timestamps")
            self.results_dir = str(timestamps)
            return
        if isinstance(timestamps, (str, PathLike)):
            raise TypeError(f"{timestamps!r} is no list of times; pass as many timestamps as values")
        if len(timestamps) != len(values):
            raise ValueError(f"there are {len(timestamps)} timestamps but {len(values)} values; pass the same number of both")
        self._points = list(zip((moment(time) for time in timestamps), numbers_of("a value", values)))

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

        return Rows(json.loads(_native.stored_trends(self.results_dir, check_metric(metric), case))["series"])

    @staticmethod
    def analyze_points(
        points: Sequence[tuple[str, float]], better: str | None = None, name: str = "series"
    ) -> dict[str, Any] | None:
        """Returns the trend of values that are not stored.

        Args:
            points: times (RFC 3339) and values.
            better: `higher` or `lower`: which values are better; None if neither.
            name: the name of the series.

        Returns:
            The trend, or None if no value is finite.

        Raises:
            ValueError: if a time or `better` is invalid.
        """
        from . import _native

        found = json.loads(_native.trend(_series(name, points, better)))["series"]
        return found[0] if found else None

    def _trend(self, **settings: Any) -> dict[str, Any]:
        """Returns the trend of the values passed to the constructor."""
        from . import _native

        return json.loads(_native.trend(self._given(), json.dumps(settings)))["series"][0]

    def _given(self) -> str:
        if not self._points:
            raise ValueError("there are no values; construct the analyzer with timestamps and values")
        return _series("series", self._points, self._better)

    def analyze_trend(self) -> TrendResult:
        """Returns the line fitted to the values, and the value expected in 7 days.

        Raises:
            ValueError: if there are no values, or a time is invalid.
        """
        found = self._trend()
        last = found["predicted"][-1]["value"] if found["predicted"] else None
        return TrendResult(
            slope=found["slope_per_day"],
            intercept=found["intercept"],
            r_squared=found["r_squared"],
            p_value=found["p_value"],
            direction=found["direction"],
            prediction=last,
        )

    def analyze_rolling_average(self, window: int = 5) -> dict[str, list[Any]]:
        """Returns the rolling mean and median of the values.

        Args:
            window: number of values up to and including each one; the first windows are shorter.

        Returns:
            `timestamps`, `mean` and `median`, in the order of the values.

        Raises:
            TypeError: if `window` is not an integer.
            ValueError: if there are no values, or `window` is smaller than 1.
        """
        from . import _native

        if not self._points:
            raise ValueError("there are no values; construct the analyzer with timestamps and values")
        rolled = json.loads(_native.rolling([value for _, value in self._points], count("window", window)))
        return {"timestamps": [time for time, _ in self._points], **rolled}

    def detect_change_points(self, method: str = "binary_segmentation", min_size: int = 5) -> list[dict[str, Any]]:
        """Returns the points at which the level changed.

        Args:
            method: `exact` for the best of all segmentations, `screened` for a faster approximation, `auto`
                (or `binary_segmentation`) for `exact` up to 5000 points and else `screened`, or `off`.
            min_size: number of points at a new level, at least 2.

        Returns:
            For each change `index`, `timestamp`, the levels `before` and `after`, `change_percent` and `p_value`.

        Raises:
            TypeError: if `min_size` is not an integer.
            ValueError: if there are no values, the method is unknown, or `min_size` is too small.
        """
        return Rows(self._trend(method=method, min_size=count("min_size", min_size, 2))["change_points"])

    def predict_future(self, days_ahead: int = 7, confidence: float = 0.95) -> list[dict[str, Any]]:
        """Returns the value expected on each of the next days.

        Args:
            days_ahead: number of days.
            confidence: coverage of the prediction intervals, above 0 and below 1.

        Returns:
            For each day `days`, `value`, `low` and `high`. Empty if there are fewer than 5 values, or they span
            less than a day.

        Raises:
            TypeError: if `days_ahead` is not an integer.
            ValueError: if there are no values, or an argument is out of range.
        """
        days = count("days_ahead", days_ahead)
        return Rows(self._trend(days_ahead=days, confidence=number("confidence", confidence))["predicted"])

    def generate_trend_report(self, format: str = "markdown") -> str:
        """Returns the trend of the values, or of the stored times, as a report.

        Args:
            format: markdown, text, csv or json.

        Raises:
            ValueError: if the format is unknown, or the results directory does not exist.
        """
        from . import _native

        if self._points is None:
            return _native.stored_trends(self.results_dir, "time_ms", None, None, format)
        return _native.trend(self._given(), None, format)


def _series(name: str, points: Sequence[tuple[str, float]], better: str | None) -> str:
    """Returns a series for the native code; values that are not finite are left out."""
    if better not in (None, "higher", "lower"):
        raise ValueError(f"{better!r} is not a direction; use higher or lower")
    finite = [(time, float(value)) for time, value in points if math.isfinite(value)]
    return json.dumps([{"id": name, "metric": "value", "better": better, "points": finite}])


@dataclass(frozen=True)
class DegradationAlert:
    """A metric that became worse. `severity` is info, warning or critical."""

    metric: str
    baseline_mean: float
    current_value: float
    deviation_percent: float | None
    severity: str
    message: str
    recommendation: str


@named_arguments
class DegradationDetector:
    """Degradations in stored runs, or in runs that are passed.

    Args:
        historical_results: the results directory, an object that has one, or runs: files, ids, the dictionaries
            that `run_suite` returned, or the results of each run.
        window_size: number of preceding points that a value is compared with for anomalies, at least 4.

    Raises:
        TypeError: if an entry is not a run, or `window_size` not an integer.
        ValueError: if there is no run, or `window_size` is too small.
    """

    def __init__(self, historical_results: History = "benchmark_results", window_size: int = 10) -> None:
        self.window_size = count("window_size", window_size, 4)
        self._sources = Sources()
        self.results_dir = self._sources.directory(historical_results)
        self._trends = TrendAnalyzer(self.results_dir)

    def detect(self, metric: str | None = None, case: str | None = None) -> list[dict[str, Any]]:
        """Returns every alert of the trends of a metric, each with the id of its case.

        Args:
            metric: a field of docs/glossary.md; by default the time of each case, in its unit.
            case: a substring of case ids; by default all cases count.

        Raises:
            ValueError: if the results directory does not exist, or docs/glossary.md does not list the metric.
            OSError: if it cannot be read.
        """
        found = times_of(lambda time: self._trends.analyze(time, case)) if metric is None else self._trends.analyze(metric, case)
        return [{"id": series["id"], **alert} for series in found for alert in series["alerts"]]

    def has_degraded(self, metric: str | None = None, case: str | None = None) -> bool:
        """Returns whether `detect` finds a change for the worse."""
        return any(alert["direction"] == "worse" for alert in self.detect(metric, case))

    def detect_degradation(
        self, current_result: Side, thresholds: Mapping[str, float] | None = None
    ) -> list[DegradationAlert]:
        """Returns alerts for the metrics of a run that are worse than in the stored history.

        Args:
            current_result: a run: its file, its dictionary, or results.
            thresholds: smallest change that raises an alert, in percent by metric; by default 10. Twice that is
                critical.

        Returns:
            The alerts. A series of fewer than 5 points raises none.

        Raises:
            TypeError: if `current_result` is not a run.
            ValueError: if it cannot be read as one, or a threshold is not above 0.
        """
        from . import _native

        sources = Sources(self.results_dir)
        current = json.loads(_native.stored_series(sources.directory([current_result])))
        known = {(one["id"], one["metric"]): one for one in json.loads(_native.stored_series(self.results_dir))}
        groups: dict[float, list[dict[str, Any]]] = {}
        for one in current:
            before = known.get((one["id"], one["metric"]))
            if before is None:
                continue
            added = [point for point in one["points"] if point not in before["points"]]
            percent = (thresholds or {}).get(one["metric"], ALERT_PERCENT)
            groups.setdefault(percent, []).append({**before, "points": before["points"] + added})
        alerts: list[DegradationAlert] = []
        for percent, series in groups.items():
            settings = {"alert_threshold_percent": number("a threshold", percent), "window_size": self.window_size}
            document = json.loads(_native.trend(json.dumps(series), json.dumps(settings)))
            found = (alert for trend in document["series"] for alert in trend["alerts"])
            alerts += [_alert(alert) for alert in found if alert["direction"] == "worse"]
        return alerts

    def _one(self, metric: str, case: str | None) -> dict[str, Any]:
        """Returns the series of a metric, which must be the only one."""
        from . import _native

        found: list[dict[str, Any]] = json.loads(_native.stored_series(self.results_dir, metric, case))
        if len(found) == 1:
            return found[0]
        if not found:
            raise ValueError(f"the history has no series of {metric}; docs/glossary.md lists the metrics, such as time_ms")
        ids = [one["id"] for one in found]
        raise ValueError(f"{len(ids)} cases have the metric {metric}; pass case, such as {', '.join(ids[:3])}")

    def detect_anomalies(
        self, metric_name: str, current_value: float, z_score_threshold: float = 2.5, *, case: str | None = None
    ) -> list[dict[str, Any]]:
        """Checks whether a value is an anomaly compared with the stored values before it.

        Args:
            metric_name: a field of docs/glossary.md.
            current_value: the value, in the unit of the field.
            z_score_threshold: smallest distance of an anomaly, in standard deviations and in scaled median
                absolute deviations.
            case: the id of a case or a part of it; required if several cases have the metric.

        Returns:
            A list with one entry (`value`, `z_score` and `robust_z_score`) for an anomaly, else an empty list.
            It is empty if fewer than 4 values are stored.

        Raises:
            TypeError: if a numeric argument is not a number.
            ValueError: if no series or more than one has the metric.
        """
        from . import _native

        one = self._one(metric_name, case)
        points = [*one["points"], _next(one["points"], number("current_value", current_value))]
        settings = {"anomaly_z": number("z_score_threshold", z_score_threshold), "window_size": self.window_size}
        document = json.loads(_native.trend(json.dumps([{**one, "points": points}]), json.dumps(settings)))
        return [found for found in document["series"][0]["anomalies"] if found["index"] == len(points) - 1]

    def detect_trend_change(
        self, metric_name: str, recent_points: int = 5, *, case: str | None = None
    ) -> dict[str, Any] | None:
        """Compares the last values of a metric with those before them.

        Args:
            metric_name: a field of docs/glossary.md.
            recent_points: number of last values.
            case: the id of a case or a part of it; required if several cases have the metric.

        Returns:
            `points`, `change_percent` of the medians, `slope_per_day` of the last values, and `p_value` of the
            Mann-Whitney test. None if there is only one value.

        Raises:
            TypeError: if `recent_points` is not an integer.
            ValueError: if no series or more than one has the metric, or `recent_points` is smaller than 1.
        """
        from . import _native

        settings = json.dumps({"recent_points": count("recent_points", recent_points)})
        document = json.loads(_native.trend(json.dumps([self._one(metric_name, case)]), settings))
        return document["series"][0]["recent"]

    def generate_health_report(self, format: str = "markdown") -> str:
        """Returns what needs attention: worse, better, noisy, missing and outdated cases, and advice.

        Args:
            format: markdown, text or json.

        Raises:
            ValueError: if the format is unknown, or the results directory does not exist.
            OSError: if it cannot be read.
        """
        from . import _native

        return _native.health(self.results_dir, format)


def _alert(alert: Mapping[str, Any]) -> DegradationAlert:
    return DegradationAlert(
        metric=alert["metric"],
        baseline_mean=alert["baseline_mean"],
        current_value=alert["current_value"],
        deviation_percent=alert["deviation_percent"],
        severity=alert["severity"],
        message=alert["message"],
        recommendation=alert["recommendation"],
    )


def _next(points: Sequence[Sequence[Any]], value: float) -> tuple[str, float]:
    """Returns a point one second after the last one."""
    last = datetime.fromisoformat(points[-1][0].partition(".")[0].rstrip("Z") + "+00:00")
    return moment(last + timedelta(seconds=1)), value
