"""Status of the framework components, from their stored results."""
from __future__ import annotations

import dataclasses
import enum
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .arguments import choice, named_arguments, number
from .runner import BenchmarkRunner
from .stored import ResultsPersistence
from .tables import check_component, is_lower_better

# Number of runs that are searched for the results of a component, newest first.
_MOST_RUNS = 50


class BenchmarkStatus(str, enum.Enum):
    """Status of a component."""

    NOT_RUN = "not_run"
    RUNNING = "running"
    # Every case was measured and every target is met.
    PASSED = "passed"
    # Every case was measured, but a target is missed.
    WARNING = "warning"
    # A case failed.
    FAILED = "failed"


@dataclass(frozen=True)
class ComponentBenchmarkStatus:
    """Status of a component and its last results. `last_run` is the start of the run, in RFC 3339.

    `metrics` has throughput, latency, memory and scaling as schemas/component-benchmark-result.schema.json
    describes them; `comparison_to_baseline` is None without a saved baseline.
    """

    component_id: str
    status: BenchmarkStatus
    last_run: str | None = None
    metrics: Mapping[str, Any] | None = None
    threshold_checks: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    comparison_to_baseline: Mapping[str, Any] | None = None


@named_arguments
class ComponentBenchmarkIntegration:
    """Measures components, and reports their status.

    Args:
        benchmark_runner: measures the components.
        results_persistence: the results directory to read. It should be the output directory of the runner.
    """

    def __init__(self, benchmark_runner: BenchmarkRunner, results_persistence: ResultsPersistence) -> None:
        self.benchmark_runner = benchmark_runner
        self.results_persistence = results_persistence
        # Set by `update_component_status`, until the next run.
        self._set: dict[str, BenchmarkStatus] = {}

    def run_component_benchmark(self, component_id: str, benchmark_type: str = "standard") -> ComponentBenchmarkStatus:
        """Measures a component.

        Args:
            component_id: the component, such as `pytorch`.
            benchmark_type: how thoroughly to measure: quick, standard or thorough.

        Returns:
            The status after the run.

        Raises:
            ValueError: if the component or `benchmark_type` is unknown.
            ProgramError: if the program is not found or fails.
        """
        check_component(component_id)
        self._set[component_id] = BenchmarkStatus.RUNNING
        try:
            self.benchmark_runner.run_suite(component_ids=[component_id], profile=benchmark_type)
        finally:
            self._set.pop(component_id, None)
        path = self.benchmark_runner.path
        found = {} if path is None else self._records(path)
        return _status(component_id, found.get(component_id))

    def update_component_status(
        self, component_id: str, status: BenchmarkStatus | str | None
    ) -> ComponentBenchmarkStatus:
        """Sets the status of a component until it is measured again, such as `running` by another program.

        Args:
            component_id: the component.
            status: the status, or its name; None for the status of the last results.

        Returns:
            The status, with the last results.

        Raises:
            ValueError: if the component or the status is unknown.
        """
        check_component(component_id)
        if status is None:
            self._set.pop(component_id, None)
        else:
            self._set[component_id] = choice(BenchmarkStatus, status, "status")
        return self.get_component_benchmark_status(component_id)

    def get_component_benchmark_status(self, component_id: str) -> ComponentBenchmarkStatus:
        """Returns the status of a component and its last results.

        Args:
            component_id: the component.

        Raises:
            ValueError: if the component is unknown.
            OSError: if the results cannot be read.
        """
        check_component(component_id)
        return self._current(component_id, self._latest([component_id]))

    def verify_component_performance(self, component_id: str, thresholds: Mapping[str, float]) -> dict[str, Any]:
        """Compares the last results of a component with targets.

        Args:
            component_id: the component.
            thresholds: limits by field of docs/glossary.md, in its unit: a minimum if higher is better, else a
                maximum.

        Returns:
            `component_id`, `passed` (whether every limit has a measured value that meets it) and `checks` with
            the expected and the measured value for each limit.

        Raises:
            TypeError: if a limit is not a number.
            ValueError: if the component is unknown or was not measured yet, or a field has no direction.
        """
        check_component(component_id)
        lines: list[str] = []
        for metric, limit in thresholds.items():
            is_lower = is_lower_better(metric)
            if is_lower is None:
                raise ValueError(f"{metric!r} is not a metric; use one of docs/glossary.md, such as tflops or time_ms")
            side = "below" if is_lower else "above"
            name = json.dumps(metric, ensure_ascii=False)
            lines += ["[[target]]", f'id = "component_specific/{component_id}/*"', f"metric = {name}"]
            lines.append(f"{side} = {number(metric, limit)!r}")
        last = self._latest([component_id]).get(component_id)
        if last is None:
            raise ValueError(f"{component_id} was not measured yet; call run_component_benchmark first")
        with tempfile.TemporaryDirectory(prefix="rsb-") as directory:
            policy = os.path.join(directory, "policy.toml")
            with open(policy, "w", encoding="utf-8") as file:
                file.write("\n".join([*lines, ""]))
            record = self._records(last["path"], policy)[component_id]["record"]
        checks: list[dict[str, Any]] = record["threshold_checks"]
        measured = {check["metric"] for check in checks if check["passed"] is not None}
        passed = all(check["passed"] is not False for check in checks) and measured >= set(thresholds)
        return {"component_id": component_id, "passed": passed, "checks": checks}

    def get_all_component_statuses(self) -> dict[str, ComponentBenchmarkStatus]:
        """Returns the status of every component by its id.

        Raises:
            OSError: if the results cannot be read.
        """
        from . import _native

        names = _native.components()
        latest = self._latest(names)
        return {name: self._current(name, latest) for name in names}

    def _current(self, component_id: str, latest: Mapping[str, Mapping[str, Any]]) -> ComponentBenchmarkStatus:
        found = _status(component_id, latest.get(component_id))
        kept = self._set.get(component_id)
        return found if kept is None else dataclasses.replace(found, status=kept)

    def _records(self, path: str, policy: str | None = None) -> dict[str, dict[str, Any]]:
        """Returns the record of each component in a run, with its file and its start."""
        from . import _native

        found = json.loads(_native.component_records(path, self.results_persistence.results_dir, policy))
        known: dict[str, dict[str, Any]] = found["components"]
        return {name: {**one, "path": path, "started": found["started"]} for name, one in known.items()}

    def _latest(self, names: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Returns the record of each component in the last run that has it."""
        latest: dict[str, dict[str, Any]] = {}
        if not os.path.exists(self.results_persistence.results_dir):
            return latest
        for row in self.results_persistence.get_runs()[:_MOST_RUNS]:
            if all(name in latest for name in names):
                break
            latest = {**self._records(row["path"]), **latest}
        return latest


def _status(component_id: str, found: Mapping[str, Any] | None) -> ComponentBenchmarkStatus:
    if found is None:
        return ComponentBenchmarkStatus(component_id, BenchmarkStatus.NOT_RUN)
    record = found["record"]
    return ComponentBenchmarkStatus(
        component_id=component_id,
        status=BenchmarkStatus(record["status"]),
        last_run=found["started"],
        metrics=record["results"],
        threshold_checks=record["threshold_checks"],
        comparison_to_baseline=found["comparison_to_baseline"],
    )
