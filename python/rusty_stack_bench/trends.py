"""Trends of the stored runs: regressions, improvements and a dashboard."""
from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .arguments import config_of, count, named_arguments, number
from .sources import HasResults, Path
from .tables import TIMES, Rows, check_metric


@named_arguments
@dataclass
class TrendAnalysisConfig:
    """Settings of a trend analysis.

    Args:
        lookback_days: changes older than this many days are reported as information only.
        min_data_points: smallest number of points for change points, alerts and a forecast, at least 3.
        significance_threshold: accepted share of false alerts over all series, above 0 and below 1.
        alert_threshold_percent: smallest change that raises an alert, in percent. Twice that is critical.
    """

    lookback_days: float = 30
    min_data_points: int = 5
    significance_threshold: float = 0.05
    alert_threshold_percent: float = 10.0

    def settings(self) -> dict[str, Any]:
        """Returns the settings of the native code.

        Raises:
            TypeError: if a value is not a number.
        """
        return {
            "lookback_days": number("lookback_days", self.lookback_days),
            "min_data_points": count("min_data_points", self.min_data_points, 3),
            "significance": number("significance_threshold", self.significance_threshold),
            "alert_threshold_percent": number("alert_threshold_percent", self.alert_threshold_percent),
        }


@dataclass(frozen=True)
class TrendAlert:
    """A change that needs attention. `direction` is better, worse or changed; `severity` info, warning or critical."""

    metric: str
    direction: str
    change_percent: float
    severity: str
    description: str
    recommendation: str


@named_arguments
class TrendAnalysisIntegration:
    """Trends of a results directory, as the program computes them.

    Args:
        config: the settings, or a dictionary with the same fields.

    Raises:
        ValueError: if the dictionary has an unknown key.
    """

    def __init__(self, config: TrendAnalysisConfig | Mapping[str, Any] | None = None) -> None:
        self.config = config_of(TrendAnalysisConfig, config)
        self.results_dir = "benchmark_results"

    def set_persistence(self, persistence: HasResults | Path) -> None:
        """Sets the results directory to read.

        Args:
            persistence: a `ResultsPersistence`, or the directory; `benchmark_results` until this is called.
        """
        known = getattr(persistence, "results_dir", None)
        self.results_dir = known if isinstance(known, str) else str(persistence)

    def _read(self, metric: str, component_id: str | None, form: str = "json") -> str:
        from . import _native

        check_metric(metric)
        case = None if component_id is None else f"/{component_id}/"
        return _native.stored_trends(self.results_dir, metric, case, json.dumps(self.config.settings()), form)

    def analyze_trends(self, metric: str, component_id: str | None = None) -> Rows:
        """Returns the trend of each stored series of a metric.

        Args:
            metric: a field of docs/glossary.md.
            component_id: only cases of this component or benchmark.

        Returns:
            One row per case: fitted line, change points, forecast and alerts, as schemas/trend.schema.json
            describes them.

        Raises:
            ValueError: if docs/glossary.md does not list the metric, the results directory does not exist, or a
                setting is out of range.
            OSError: if it cannot be read.
        """
        return Rows(json.loads(self._read(metric, component_id))["series"])

    def _times(self, component_id: str | None) -> Rows:
        """Returns the trend of the time of each case."""
        return times_of(lambda metric: self.analyze_trends(metric, component_id))

    def get_trend_summary(self, component_id: str | None = None) -> dict[str, int]:
        """Counts the time series by direction, and their change points and alerts.

        Args:
            component_id: only cases of this component or benchmark.

        Raises:
            ValueError: if the results directory does not exist, or a setting is out of range.
            OSError: if it cannot be read.
        """
        found = self._times(component_id)
        directions = [one["direction"] for one in found]
        return {
            "series": len(found),
            **{word: directions.count(word) for word in ("increasing", "decreasing", "stable")},
            "change_points": sum(len(one["change_points"]) for one in found),
            "alerts": sum(len(one["alerts"]) for one in found),
        }

    def _alerts(self, direction: str, component_id: str | None) -> list[TrendAlert]:
        alerts = (alert for one in self._times(component_id) for alert in one["alerts"])
        return [_alert(alert) for alert in alerts if alert["direction"] == direction]

    def detect_performance_regression(self, component_id: str | None = None) -> list[TrendAlert]:
        """Returns the cases whose time became longer.

        Args:
            component_id: only cases of this component or benchmark.

        Raises:
            ValueError: if the results directory does not exist, or a setting is out of range.
            OSError: if it cannot be read.
        """
        return self._alerts("worse", component_id)

    def detect_performance_improvement(self, component_id: str | None = None) -> list[TrendAlert]:
        """Returns the cases whose time became shorter.

        Args:
            component_id: only cases of this component or benchmark.

        Raises:
            ValueError: if the results directory does not exist, or a setting is out of range.
            OSError: if it cannot be read.
        """
        return self._alerts("better", component_id)

    def generate_trend_dashboard(self) -> str:
        """Returns the health of the stored runs and the trends of the times of cases, as text.

        Raises:
            ValueError: if the results directory does not exist, or a setting is out of range.
            OSError: if it cannot be read.
        """
        from . import _native

        found = [metric for metric in TIMES if self.analyze_trends(metric)] or TIMES[:1]
        return "\n".join([_native.health(self.results_dir, "text"), *(self._read(metric, None, "text") for metric in found)])

    def export_trend_data(self, metric: str, format: str = "json") -> str:
        """Returns the trends of a metric as text.

        Args:
            metric: a field of docs/glossary.md.
            format: json, csv, markdown or text.

        Raises:
            ValueError: if the format is unknown, or the results directory does not exist.
            OSError: if it cannot be read.
        """
        return self._read(metric, None, format)


def times_of(trends: Callable[[str], Sequence[dict[str, Any]]]) -> Rows:
    """Returns the trend of the time of each case, from the first of `TIMES` that the case has.

    Args:
        trends: returns the trends of a metric.
    """
    found = Rows()
    for metric in TIMES:
        known = {one["id"] for one in found}
        found += [one for one in trends(metric) if one["id"] not in known]
    return found


def _alert(alert: Mapping[str, Any]) -> TrendAlert:
    return TrendAlert(
        metric=alert["metric"],
        direction=alert["direction"],
        change_percent=alert["change_percent"],
        severity=alert["severity"],
        description=alert["description"],
        recommendation=alert["recommendation"],
    )
