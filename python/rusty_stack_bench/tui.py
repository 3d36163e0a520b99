"""Interface for an installer that embeds the benchmarks: status, runs and a panel with the results."""
from __future__ import annotations

import dataclasses
import enum
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .arguments import choice, config_of, count, named_arguments, names_of
from .components import BenchmarkStatus, ComponentBenchmarkIntegration, ComponentBenchmarkStatus
from .runner import BenchmarkRunner, BenchmarkRunnerConfig, BenchmarkSuite
from .sources import Side, Sources
from .stored import ResultsPersistence
from .tables import Run

# Animations of a progress line.
ANIMATIONS = ("spinner", "bar", "none")
_SPINNER = "|/-\\"
_BAR = 20


class BenchmarkStage(str, enum.Enum):
    """Steps of an installation with benchmarks."""

    PRE_INSTALLATION = "pre_installation"
    COMPONENT_BENCHMARK = "component_benchmark"
    GPU_PERFORMANCE = "gpu_performance"
    COMPARISON = "comparison"


# The suite of each stage that measures.
_SUITES = {
    BenchmarkStage.PRE_INSTALLATION: BenchmarkSuite.PRE_INSTALLATION,
    BenchmarkStage.COMPONENT_BENCHMARK: BenchmarkSuite.COMPONENT,
    BenchmarkStage.GPU_PERFORMANCE: BenchmarkSuite.GPU_PERFORMANCE,
}


@named_arguments
@dataclass
class TUIIntegrationConfig:
    """Settings of the interface, with the names of `[tui]` in `rusty-stack-bench.toml`.

    Args:
        show_live_progress: whether callbacks receive progress during a run.
        auto_run_on_selection: whether `on_benchmark_selected` starts measuring immediately.
        save_results_automatically: whether runs are kept in the results directory; otherwise they are only
            returned.
        show_comparison_after_run: whether the panel of a run contains its comparison with the saved baseline.
        animation_style: spinner, bar or none.
    """

    show_live_progress: bool = True
    auto_run_on_selection: bool = False
    save_results_automatically: bool = True
    show_comparison_after_run: bool = True
    animation_style: str = "bar"


@named_arguments
class TUIIntegration:
    """Benchmarks for an installer.

    Args:
        config: the settings, or a dictionary with the same fields.
        results_dir: the results directory.

    Raises:
        ValueError: if the animation is unknown, or the dictionary has another key.
    """

    def __init__(
        self, config: TUIIntegrationConfig | Mapping[str, Any] | None = None, results_dir: str = "benchmark_results"
    ) -> None:
        self.config = config_of(TUIIntegrationConfig, config)
        if self.config.animation_style not in ANIMATIONS:
            raise ValueError(f"unknown animation {self.config.animation_style!r}; use one of {', '.join(ANIMATIONS)}")
        self.results_dir = str(results_dir)
        self._runner = BenchmarkRunner(BenchmarkRunnerConfig(output_dir=self.results_dir))
        self._components = ComponentBenchmarkIntegration(self._runner, ResultsPersistence(self.results_dir))
        self._stage: BenchmarkStage | None = None
        self._last_line = ""
        self._last_run: Run | None = None
        # Metrics that the installer reported, by component.
        self._metrics: dict[str, Mapping[str, Any]] = {}

    def integrate_with_rusty_stack(self, app_state: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Adds the state of the benchmarks to the state of an installer.

        Args:
            app_state: the state of the installer. Its list `components` restricts which components are
                reported.

        Returns:
            `app_state` with the key `benchmarks`: the stages, the settings, and the status of each component.

        Raises:
            ValueError: if `components` names an unknown component.
            OSError: if the results cannot be read.
        """
        state = dict(app_state or {})
        chosen: Sequence[str] | None = state.get("components")
        status = self.get_benchmark_status(chosen)
        stages = [stage.value for stage in BenchmarkStage]
        return {**state, "benchmarks": {**status, "stages": stages, "config": dataclasses.asdict(self.config)}}

    def on_benchmark_selected(
        self, benchmark_type: BenchmarkStage | str, component_id: str | None = None
    ) -> dict[str, Any]:
        """Handles the selection of a benchmark.

        Args:
            benchmark_type: the stage.
            component_id: the component, for the stage `component_benchmark`; by default all.

        Returns:
            `stage`, `suite`, `component_id`, and `run`: the new run if `auto_run_on_selection` is set. For the
            stage `comparison`, `run` is None and `comparison` compares the last run with its saved baseline.

        Raises:
            ValueError: if the stage or the component is unknown, or nothing is stored to compare.
            ProgramError: if the program is not found or fails.
        """
        stage = choice(BenchmarkStage, benchmark_type, "stage")
        self._stage = stage
        if component_id is not None:
            self._components.get_component_benchmark_status(component_id)
        found: dict[str, Any] = {"stage": stage.value, "suite": None, "component_id": component_id, "run": None}
        if stage is BenchmarkStage.COMPARISON:
            return {**found, "comparison": self._comparison_of_latest()}
        found["suite"] = _SUITES[stage].program_name
        if self.config.auto_run_on_selection:
            names = None if component_id is None else [component_id]
            found["run"] = self._measure(stage, names, None)
        return found

    def _comparison_of_latest(self) -> str:
        from . import _native

        runs = ResultsPersistence(self.results_dir).get_runs()
        if not runs:
            raise ValueError(f"{self.results_dir} has no run to compare; measure one first")
        return _native.against_saved(runs[0]["path"], self.results_dir)

    def run_benchmark_for_component(
        self, component_id: str, progress_callback: Callable[[str], None] | None = None
    ) -> Run:
        """Measures a component.

        Args:
            component_id: the component, such as `pytorch`.
            progress_callback: takes each line of progress.

        Returns:
            The run, as the program's document.

        Raises:
            ValueError: if the component is unknown.
            ProgramError: if the program is not found or fails.
        """
        self._components.update_component_status(component_id, BenchmarkStatus.RUNNING)
        self._metrics.pop(component_id, None)
        try:
            run = self._measure(BenchmarkStage.COMPONENT_BENCHMARK, [component_id], progress_callback)
        except Exception:
            self._components.update_component_status(component_id, BenchmarkStatus.FAILED)
            raise
        status = None if self.config.save_results_automatically else _outcome(run, component_id)
        self._components.update_component_status(component_id, status)
        return run

    def _measure(
        self, stage: BenchmarkStage, names: Sequence[str] | None, progress_callback: Callable[[str], None] | None
    ) -> Run:
        def told(line: str) -> None:
            self._last_line = line
            if self.config.show_live_progress and progress_callback is not None:
                progress_callback(line)

        self._stage = stage
        self._runner.set_status_callback(told)
        if self.config.save_results_automatically:
            self._last_run = self._runner.run_suite(_SUITES[stage], names)
            return self._last_run
        with tempfile.TemporaryDirectory(prefix="rsb-") as directory:
            runner = BenchmarkRunner(dataclasses.replace(self._runner.config, output_dir=directory))
            runner.set_status_callback(told)
            self._last_run = runner.run_suite(_SUITES[stage], names)
        return self._last_run

    def get_benchmark_status(self, component_ids: Sequence[str] | None = None) -> dict[str, Any]:
        """Returns the state of the benchmarks.

        Args:
            component_ids: the components to report; by default all.

        Returns:
            `stage`, the last line of `progress`, the id of the `last_run`, and `components`: for each its `status`,
            `last_run`, `metrics`, `threshold_checks` and `comparison_to_baseline`.

        Raises:
            ValueError: if a component is unknown.
            OSError: if the results cannot be read.
        """
        every = self._components.get_all_component_statuses()
        chosen = list(every) if component_ids is None else names_of("component_ids", component_ids)
        unknown = [name for name in chosen if name not in every]
        if unknown:
            raise ValueError(f"unknown component {unknown[0]!r}; use some of {', '.join(every)}")
        return {
            "stage": None if self._stage is None else self._stage.value,
            "progress": self._last_line,
            "last_run": None if self._last_run is None else self._last_run.run_id,
            "components": {name: _plain(self._reported(every[name])) for name in chosen},
        }

    def _reported(self, found: ComponentBenchmarkStatus) -> ComponentBenchmarkStatus:
        metrics = self._metrics.get(found.component_id)
        return found if metrics is None else dataclasses.replace(found, metrics=metrics)

    def generate_performance_panel(self, results: Side) -> str:
        """Returns the results of a run as text, with its comparison if the settings enable it.

        Args:
            results: the run: its file, its id, its dictionary, or results.

        Raises:
            TypeError: if `results` are not a run.
            ValueError: if it cannot be read as one.
        """
        from . import _native

        sources = Sources(self.results_dir)
        path = sources.files(results)[0]
        if not os.path.exists(path):
            runs = ResultsPersistence(self.results_dir).get_runs()
            path = next((row["path"] for row in runs if row["run_id"].startswith(path)), path)
        panel = _native.report(path, "text")
        if not self.config.show_comparison_after_run:
            return panel
        return f"{panel}\n{_native.against_saved(path, self.results_dir)}\n"

    def animate_progress(self, stage: BenchmarkStage | str, current: int, total: int, message: str = "") -> str:
        """Returns the line that shows progress, in the style of the settings.

        Args:
            stage: the stage.
            current: number of finished steps.
            total: number of all steps.
            message: text at the end of the line.

        Raises:
            TypeError: if a number is not an integer.
            ValueError: if the stage is unknown, or `current` is not from 0 to `total`.
        """
        name = choice(BenchmarkStage, stage, "stage").value.replace("_", " ")
        steps, done = count("total", total), count("current", current, 0)
        if done > steps:
            raise ValueError(f"{done} of {steps} steps are finished; pass at most the total")
        text = f"{name} {done}/{steps}"
        if self.config.animation_style == "bar":
            filled = _BAR * done // steps
            text = f"{name} [{'#' * filled}{'-' * (_BAR - filled)}] {100 * done // steps} %"
        elif self.config.animation_style == "spinner":
            text = f"{_SPINNER[done % len(_SPINNER)]} {text}"
        return f"{text} {message}".rstrip()

    def update_component_status(
        self, component_id: str, status: BenchmarkStatus | str, metrics: Mapping[str, Any] | None = None
    ) -> ComponentBenchmarkStatus:
        """Sets the status of a component until it is measured again.

        Args:
            component_id: the component.
            status: the status, or its name.
            metrics: values to report instead of those of the last run.

        Returns:
            The status, with the last results.

        Raises:
            ValueError: if the component or the status is unknown.
        """
        found = self._components.update_component_status(component_id, status)
        if metrics is not None:
            self._metrics[component_id] = dict(metrics)
        return self._reported(found)


def _outcome(run: Run, component_id: str) -> BenchmarkStatus:
    """Returns the status of a component in a run that is not stored."""
    outcomes = {record["outcome"] for record in run["benchmarks"] if record.get("category") == component_id}
    if "failed" in outcomes:
        return BenchmarkStatus.FAILED
    return BenchmarkStatus.NOT_RUN if outcomes <= {"skipped"} else BenchmarkStatus.PASSED


def _plain(status: ComponentBenchmarkStatus) -> dict[str, Any]:
    return {**dataclasses.asdict(status), "status": status.status.value}
