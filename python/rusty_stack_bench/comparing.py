"""Comparison of values before and after a change, and the settings for comparing runs."""
from __future__ import annotations

import dataclasses
import enum
import html
import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union, cast

from .arguments import named_arguments, names_of, nearest, number, numbers_of
from .charts import ASCIIChartGenerator, Chart
from .results import Results, records_of
from .sources import Path
from .tables import Rows, is_lower_better, unit_of

# Values on one side: a dictionary, a run or its file, a result, or several results.
Values = Union[Path, Results]
# Endings of the names of times; lower times are better.
_TIMES = ("_ms", "_us", "_ns")

# Changes up to this many percent are no change, unless another limit is given.
UNCHANGED_PERCENT = 5.0


@named_arguments
@dataclass
class ComparisonConfig:
    """Settings for comparing runs; see docs/guide.md for the policy.

    Args:
        metric_thresholds: smallest change for the worse that is a regression, in percent by metric.
        significance_level: error rate of the intervals, from 0.0001 to 0.2.
        ignore_metrics: metrics that are not compared.
        weight_metrics: weights by metric, by default 1; the lists of the comparator start with the heaviest
            metrics. Weights do not affect verdicts.
        compare_percentiles: percentiles of the sample times to compare, too: 50, 90, 99; True for all three.
        threshold_percent: threshold in percent for metrics not in `metric_thresholds`; by default 10.
        policy: a policy file, instead of the fields above except `weight_metrics`.
    """

    metric_thresholds: Mapping[str, float] = field(default_factory=dict[str, float])
    significance_level: float = 0.05
    ignore_metrics: Sequence[str] = ()
    weight_metrics: Mapping[str, float] = field(default_factory=dict[str, float])
    compare_percentiles: bool | Sequence[float] = ()
    threshold_percent: float | None = None
    policy: Path | None = None

    def policy_in(self, directory: str) -> str | None:
        """Returns the policy file to use, which is written if any field differs from its default.

        Args:
            directory: the directory in which the file is written.

        Raises:
            ValueError: if a policy file is given together with fields that replace it.
        """
        lines = self._policy()
        if not lines:
            return None if self.policy is None else str(self.policy)
        if self.policy is not None:
            raise ValueError("policy and fields that replace it are both given; write the fields into the policy file")
        path = os.path.join(directory, "policy.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join([*lines, ""]))
        return path

    def _policy(self) -> list[str]:
        """Returns the fields that differ from their defaults, as lines of a policy file."""
        lines: list[str] = []
        if self.significance_level != ComparisonConfig.significance_level:
            lines.append(f"alpha = {number('significance_level', self.significance_level)!r}")
        chosen = self.compare_percentiles
        percentiles = ((50.0, 90.0, 99.0) if chosen else ()) if isinstance(chosen, bool) else chosen
        if percentiles:
            lines.append(f"percentiles = {numbers_of('a percentile', percentiles)!r}")
        if self.ignore_metrics:
            lines += ["[ignore]", f"metrics = {json.dumps(names_of('ignore_metrics', self.ignore_metrics), ensure_ascii=False)}"]
        for metric, percent in self.metric_thresholds.items():
            name = json.dumps(metric, ensure_ascii=False)
            lines += ["[[threshold]]", f"metric = {name}", f"percent = {number(metric, percent)!r}"]
        return lines


class ChangeType(str, enum.Enum):
    """Direction of a change."""

    IMPROVED = "improved"
    DEGRADED = "degraded"
    UNCHANGED = "unchanged"


@dataclass(frozen=True)
class MetricComparison:
    """One value before and after. `change_percent` is None if the value before is 0."""

    metric_name: str
    baseline_value: float
    current_value: float
    unit: str
    change_percent: float | None
    change_type: ChangeType
    threshold_percent: float


@named_arguments
class BeforeAfterComparison:
    """Compares values before and after a change, without samples: no verdict, only the size of each change.

    `BenchmarkComparator` judges runs by their samples.

    Args:
        baseline_results: the values before: a dictionary, whose nested values have paths such as
            `results.latency_ms`; or a run, its file, or results, whose values are called
            `CASE_ID:FIELD`.
        current_results: the values after, in the same form.

    Raises:
        OSError: if a file cannot be read.
        ValueError: if a file is not JSON.
    """

    def __init__(self, baseline_results: Values, current_results: Values) -> None:
        self._before, self._after = _flat(baseline_results), _flat(current_results)
        self.comparisons: list[MetricComparison] = []

    def compare_metric(
        self,
        metric_path: str,
        baseline_value: float,
        current_value: float,
        unit: str = "",
        lower_is_better: bool | None = None,
        *,
        threshold_percent: float = UNCHANGED_PERCENT,
    ) -> MetricComparison:
        """Compares two values.

        Args:
            metric_path: the name of the metric.
            baseline_value: the value before.
            current_value: the value after, in the same unit.
            unit: the unit; by default that of docs/glossary.md.
            lower_is_better: whether a lower value is an improvement; by default as docs/glossary.md defines;
                names that it does not list count as lower-is-better if they end in `_ms`, `_us` or `_ns` or
                contain `latency`.
            threshold_percent: changes up to this many percent count as no change.

        Raises:
            TypeError: if a value is not a number.
            ValueError: if a value is not finite, or the direction of the metric is unknown.
        """
        is_lower = _direction(metric_path) if lower_is_better is None else lower_is_better
        if is_lower is None:
            raise ValueError(f"whether {metric_path!r} is better when higher or lower is unknown; pass lower_is_better")
        before, after = number("baseline_value", baseline_value), number("current_value", current_value)
        limit = number("threshold_percent", threshold_percent)
        change = None if before == 0 else 100.0 * (after - before) / abs(before)
        kind = ChangeType.UNCHANGED
        if before != after and (change is None or abs(change) > limit):
            kind = ChangeType.IMPROVED if (after < before) == is_lower else ChangeType.DEGRADED
        return MetricComparison(metric_path, before, after, unit or unit_of(_field(metric_path)), change, kind, limit)

    def compare_all(
        self,
        metrics: Sequence[str] | None = None,
        thresholds: Mapping[str, float] | None = None,
        *,
        lower_is_better: Collection[str] | None = None,
    ) -> list[MetricComparison]:
        """Compares values of both sides, and keeps the result for the view and the summary.

        Args:
            metrics: paths of values; by default every value of both sides whose direction is known.
            thresholds: largest change in percent, by path or field, that counts as no change; by default 5.
            lower_is_better: paths or fields that are better when lower; all others are better when higher.
                By default the direction is that of `compare_metric`.

        Raises:
            TypeError: if `metrics` is a text.
            ValueError: if a side has no value with this path, or its direction is unknown.
        """
        if metrics is None:
            metrics = [path for path in self._before if path in self._after and _direction(path) is not None]
        limits = thresholds or {}
        self.comparisons = [self._compared(path, limits, lower_is_better) for path in names_of("metrics", metrics)]
        return self.comparisons

    def _compared(self, path: str, limits: Mapping[str, float], lower: Collection[str] | None) -> MetricComparison:
        for name, side in (("baseline_results", self._before), ("current_results", self._after)):
            if path not in side:
                cure = f"use one such as {nearest(path, side)}" if side else "it has no values at all"
                raise ValueError(f"{name} has no value {path!r}; {cure}")
        limit = limits.get(path, limits.get(_field(path), UNCHANGED_PERCENT))
        is_lower = None if lower is None else path in lower or _field(path) in lower
        before, after = self._before[path], self._after[path]
        return self.compare_metric(path, before, after, "", is_lower, threshold_percent=limit)

    def _found(self) -> list[MetricComparison]:
        return self.comparisons or self.compare_all()

    def generate_comparison_view(self, title: str = "Performance Comparison", show_details: bool = True) -> str:
        """Returns the last comparison as text; compares all values first if there is none.

        Args:
            title: the title.
            show_details: whether there is a line per value, or only the counts.
        """
        summary = self.get_summary()
        lines = [title, f"{summary['improved']} improved, {summary['degraded']} degraded, {summary['unchanged']} unchanged"]
        width = max((len(one.metric_name) for one in self._found()), default=0)
        for one in self._found() if show_details else []:
            change = "n/a" if one.change_percent is None else f"{one.change_percent:+.1f} %"
            values = f"{one.baseline_value:.6g} -> {one.current_value:.6g} {one.unit}".rstrip()
            lines.append(f"{one.metric_name:<{width}}  {values}  {change}  {one.change_type.value}")
        return "\n".join(lines) + "\n"

    def generate_delta_chart(
        self,
        metrics: Sequence[str],
        baseline_values: Sequence[float],
        current_values: Sequence[float],
        *,
        lower_is_better: Collection[str] | None = None,
    ) -> Chart:
        """Returns a chart with the signed change of each value.

        Args:
            metrics: the names.
            baseline_values: the values before, not 0.
            current_values: the values after, in the same units.
            lower_is_better: metrics that are better when lower; all others are better when higher. By default
                the direction is that of `compare_metric`.

        Raises:
            TypeError: if a value is not a number.
            ValueError: if the lists differ in length, a value before is 0, or a direction is unknown.
        """
        if not len(metrics) == len(baseline_values) == len(current_values):
            sizes = f"{len(metrics)} metrics, {len(baseline_values)} and {len(current_values)} values"
            raise ValueError(f"there are {sizes}; pass the same number of each")
        changes: dict[str, float] = {}
        lower: set[str] = set()
        for metric, before, after in zip(metrics, baseline_values, current_values):
            is_lower = _direction(metric) if lower_is_better is None else metric in lower_is_better
            one = self.compare_metric(metric, before, after, "", is_lower)
            if one.change_percent is None:
                raise ValueError(f"the value of {metric} before is 0, so there is no change in percent; leave it out")
            changes[metric] = one.change_percent
            if is_lower:
                lower.add(metric)
        return ASCIIChartGenerator().generate_delta_chart(changes, lower)

    def get_summary(self) -> dict[str, Any]:
        """Returns the number of values by kind of change, and those with the largest change in each direction."""
        found = self._found()
        sizes = {kind: [one for one in found if one.change_type is kind] for kind in ChangeType}
        most = {kind: max(every, key=_size, default=None) for kind, every in sizes.items()}
        best, worst = most[ChangeType.IMPROVED], most[ChangeType.DEGRADED]
        return {
            "total": len(found),
            **{kind.value: len(every) for kind, every in sizes.items()},
            "largest_improvement": None if best is None else best.metric_name,
            "largest_degradation": None if worst is None else worst.metric_name,
        }

    def rows(self) -> Rows:
        """Returns one row per value of the last comparison, for pandas and Polars."""
        return Rows({**dataclasses.asdict(one), "change_type": one.change_type.value} for one in self._found())

    def _repr_html_(self) -> str:
        """Returns the view, for notebooks."""
        return f"<pre>{html.escape(self.generate_comparison_view())}</pre>"


def _size(one: MetricComparison) -> float:
    """Returns the size of a change; a change from 0 is larger than any other."""
    return float("inf") if one.change_percent is None else abs(one.change_percent)


def _field(path: str) -> str:
    """Returns the field of a path: its last part."""
    return path.rpartition(":")[2].rpartition(".")[2]


def _direction(path: str) -> bool | None:
    """Returns whether lower values are better; None if that is unknown."""
    name = _field(path)
    known = is_lower_better(name)
    return True if known is None and (name.endswith(_TIMES) or "latency" in name) else known


def _flat(given: Values) -> dict[str, float]:
    """Returns every number of one side by its path."""
    if isinstance(given, (str, os.PathLike)):
        with open(str(given), encoding="utf-8") as file:
            return _of_document(json.load(file))
    if _is_mapping(given):
        return _of_document(cast("Mapping[str, Any]", given))
    return _of_records(records_of(given))


def _of_document(document: Mapping[str, Any]) -> dict[str, float]:
    if "benchmarks" in document:
        return _of_records(document["benchmarks"])
    if "benchmark_id" in document:
        return _of_records([document])
    return _nested(document, "")


def _of_records(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for record in records:
        for fields in record.get("results") or ():
            found.update(_nested(fields, f"{record['benchmark_id']}:"))
    return found


def _nested(values: Mapping[str, Any], start: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, value in values.items():
        if _is_mapping(value):
            found.update(_nested(value, f"{start}{name}."))
        elif _is_number(value):
            found[f"{start}{name}"] = float(value)
    return found


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
