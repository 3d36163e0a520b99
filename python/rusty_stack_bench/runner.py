"""Runs suites by starting the program `rusty-stack-bench`, and returns their results."""
from __future__ import annotations

import enum
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .analysis import BenchmarkComparator
from .arguments import choice, config_of, count, named_arguments, names_of
from .custom import Benchmark
from .keeping import store
from .measuring import Settings
from .program import MEASURED, TEMPORARY, ProgramError, answer, check_benchmarks
from .results import Result
from .sources import Path, Side
from .stored import FORMATS, ReportGenerator
from .tables import Run

# Configuration file of a project, in the current directory.
FILE_NAME = "rusty-stack-bench.toml"


class BenchmarkSuite(str, enum.Enum):
    """Suites of the program."""

    PRE_INSTALLATION = "pre_installation"
    FULL = "full"
    COMPONENT = "component"
    QUICK = "quick"
    CUSTOM = "custom"
    GPU_PERFORMANCE = "gpu_performance"
    CPU_PERFORMANCE = "cpu_performance"
    HARDWARE_ACCELERATION = "hardware_acceleration"

    @property
    def program_name(self) -> str:
        """The name of the suite on the command line of the program."""
        return self.value.replace("_", "-")

    @classmethod
    def of(cls, suite: BenchmarkSuite | str) -> BenchmarkSuite:
        """Returns a suite by name; `-` and `_` are the same, and `component_specific` is `component`.

        Args:
            suite: a suite, or its name.

        Raises:
            TypeError: if `suite` is not a text.
            ValueError: if there is no such suite.
        """
        return cls.COMPONENT if str(suite).replace("-", "_") == "component_specific" else choice(cls, suite, "suite")


# How thoroughly a run measures.
PROFILES = ("quick", "standard", "thorough")


@named_arguments
@dataclass
class BenchmarkRunnerConfig:
    """Configuration of a run; the defaults are those of the program.

    Args:
        suite: the suite that `run_suite` runs, a `BenchmarkSuite` or its name.
        output_dir: the results directory, where reports are written, too.
        save_raw_results: whether the samples are stored; without them a comparison has one value per case.
        generate_reports: whether a report in each format is written after a run.
        compare_with_baseline: whether a run is compared with the saved baseline of its machine and suite.
        parallel: whether kernels are compiled in parallel before measuring; measurements never run in
            parallel. Functions under `@benchmark` ignore it.
        max_workers: number of parallel compilations; by default one per CPU.
        timeout_seconds: limit of one replicate of a case, in seconds; by default that of the program.
        verbose: whether a line of progress is reported for each case.
    """

    suite: str = BenchmarkSuite.QUICK
    output_dir: str = "benchmark_results"
    save_raw_results: bool = True
    generate_reports: bool = False
    compare_with_baseline: bool = False
    parallel: bool = False
    max_workers: int | None = None
    timeout_seconds: int | None = None
    verbose: bool = False

    def toml(self) -> str:
        """Returns the configuration as TOML for the program."""
        flags = ("save_raw_results", "generate_reports", "compare_with_baseline", "parallel", "verbose")
        lines = [f"{name} = {str(getattr(self, name)).lower()}" for name in flags]
        if self.max_workers is not None:
            lines.append(f"max_workers = {int(self.max_workers)}")
        return "\n".join(["[run]", *lines, ""])


@named_arguments
class BenchmarkRunner:
    """Runs suites. `run` is the last run, as the program's document, and `path` its file.

    Args:
        config: the configuration, or a dictionary with its fields.

    Raises:
        ValueError: if the dictionary has an unknown key.
    """

    def __init__(self, config: BenchmarkRunnerConfig | Mapping[str, Any] | None = None) -> None:
        self.config = config_of(BenchmarkRunnerConfig, config)
        self.run: Run | None = None
        self.path: str | None = None
        self._tell: Callable[[str], None] = lambda line: None

    def set_status_callback(self, callback: Callable[[str], None]) -> None:
        """Sets a function that receives each line of progress.

        Args:
            callback: called with a line of text, never during a sample. If it raises, the run is stopped and the
                exception is passed on to the caller.
        """
        self._tell = callback

    def run_suite(
        self,
        suite: BenchmarkSuite | str | None = None,
        component_ids: Sequence[str] | None = None,
        profile: str | None = None,
    ) -> Run:
        """Runs a suite, or some components or benchmarks.

        Args:
            suite: the suite or its name; by default that of the configuration. The suite `custom` runs the
                `[[custom]]` entries of `rusty-stack-bench.toml` with the settings of that file.
            component_ids: components or benchmarks to run instead of a suite.
            profile: how thoroughly to measure: quick, standard or thorough; by default that of the suite.

        Returns:
            The run, as the program's document: a dictionary.

        Raises:
            TypeError: if `component_ids` is a text.
            ValueError: if the suite, the profile or a component is unknown, or `custom` has no file.
            ProgramError: if the program is not found or fails.
        """
        if profile is not None and profile not in PROFILES:
            raise ValueError(f"unknown profile {profile!r}; use one of {', '.join(PROFILES)}")
        chosen = BenchmarkSuite.of(self.config.suite if suite is None else suite)
        names = names_of("component_ids", component_ids or ())
        check_benchmarks(names)
        words = names or ["--suite", chosen.program_name]
        words += [] if profile is None else ["--profile", profile]
        if chosen is not BenchmarkSuite.CUSTOM or names:
            return self._measure(words)
        if not os.path.exists(FILE_NAME):
            raise ValueError(f"the suite custom needs [[custom]] entries in {FILE_NAME}; use run_custom_benchmarks for functions")
        return self._measure(words, FILE_NAME)

    def run_pre_installation_benchmarks(self) -> Run:
        """Runs the suite `pre-installation`, which needs no framework.

        Returns:
            The run, as the program's document.

        Raises:
            ProgramError: if the program is not found or fails.
        """
        return self.run_suite(BenchmarkSuite.PRE_INSTALLATION)

    def run_component_benchmarks(self, component_ids: Sequence[str] | None = None) -> Run:
        """Runs the benchmarks of frameworks, or of some components.

        Args:
            component_ids: components; by default all.

        Returns:
            The run, as the program's document.

        Raises:
            ProgramError: if the program is not found or fails.
        """
        return self.run_suite(BenchmarkSuite.COMPONENT, component_ids)

    def run_gpu_benchmarks(self) -> Run:
        """Runs the suite `gpu-performance`: native kernels on GPUs.

        Returns:
            The run, as the program's document.

        Raises:
            ProgramError: if the program is not found or fails.
        """
        return self.run_suite(BenchmarkSuite.GPU_PERFORMANCE)

    def run_quick_benchmarks(self) -> Run:
        """Runs the suite `quick`.

        Returns:
            The run, as the program's document.

        Raises:
            ProgramError: if the program is not found or fails.
        """
        return self.run_suite(BenchmarkSuite.QUICK)

    def run_custom_benchmarks(
        self, benchmark_list: Sequence[Benchmark | str], settings: Settings | None = None
    ) -> list[Result] | Run | list[Run]:
        """Measures decorated functions and stores them, or runs TOML files of commands by the program.

        Args:
            benchmark_list: functions decorated by `@benchmark`, or paths of TOML files.
            settings: number of replicates and samples, and the time limit, for functions.

        Returns:
            The results of the functions; or the run of the file, or a list of runs for several files.

        Raises:
            ValueError: if `benchmark_list` is empty, or contains both kinds.
            TypeError: if an entry is neither a decorated function nor a path.
            ProgramError: if the program is not found or fails.
        """
        if isinstance(benchmark_list, str):
            raise TypeError(f"benchmark_list is the text {benchmark_list!r}; pass a list")
        if not benchmark_list:
            raise ValueError("no benchmark to run; pass functions decorated with @benchmark, or paths of TOML files")
        functions = [one for one in benchmark_list if isinstance(one, Benchmark)]
        if len(functions) == len(benchmark_list):
            return self._run_functions(functions, settings or self._settings())
        if functions:
            raise ValueError("functions and TOML files cannot be combined; pass only one kind")
        for one in benchmark_list:
            if not isinstance(one, (str, os.PathLike)):
                raise TypeError(f"{one!r} is neither a decorated function nor the path of a TOML file; decorate it with @benchmark")
        runs = [self._measure(["--custom", str(named)]) for named in benchmark_list]
        return runs[0] if len(runs) == 1 else runs

    def _settings(self) -> Settings:
        limit = self.config.timeout_seconds
        return Settings() if limit is None else Settings(timeout=float(limit))

    def _run_functions(self, benchmarks: Sequence[Benchmark], settings: Settings) -> list[Result]:
        results: list[Result] = []
        for one in benchmarks:
            self._tell(f"{one.name}: {len(one.cases())} cases")
            measured = one.run(settings)
            for result in measured:
                why = "" if result.reason is None else f": {result.reason.why}; {result.reason.cure}"
                self._tell(f"{result.benchmark_id}: {result.outcome.value}{why}{self._in_full(result)}")
            for missed in one.missed(measured):
                self._tell(missed)
            results += measured
        self.path = store(results, self.config.output_dir, save_samples=self.config.save_raw_results)
        with open(self.path, encoding="utf-8") as file:
            self.run = Run(json.load(file))
        if self.config.generate_reports:
            for path in self.generate_all_reports():
                self._tell(f"report {path}")
        if self.config.compare_with_baseline:
            from . import _native

            for line in _native.against_saved(self.path, self.config.output_dir, self.config.verbose).splitlines():
                self._tell(line)
        return results

    def _in_full(self, result: Result) -> str:
        """Returns time and sample counts of a case if the configuration is verbose, else an empty string."""
        if not (self.config.verbose and result.is_measured):
            return ""
        taken = sum(len(one.times_ns) for one in result.samples)
        return f", {result.time_ms:.6g} ms, {taken} samples of {len(result.samples)} processes"

    def compare_with_baseline(self, baseline: Side | None = None) -> BenchmarkComparator:
        """Compares the last run with a baseline.

        Args:
            baseline: a run: its file, its id or its dictionary; by default the saved baseline of the suite, as
                `rusty-stack-bench baseline save` saves it.

        Raises:
            ProgramError: if nothing was measured yet.
            ValueError: if there is no such baseline.
        """
        stored = self._stored()
        # A baseline is saved under the name of its suite.
        saved: str = "" if self.run is None else self.run["suite"]
        before: Side = saved if baseline is None else baseline
        return BenchmarkComparator(before, stored, results_dir=self.config.output_dir)

    def generate_all_reports(self) -> list[str]:
        """Writes reports on the last run into the output directory, one per format.

        Returns:
            The paths of the reports.

        Raises:
            ProgramError: if nothing was measured yet.
        """
        reports = ReportGenerator(self._stored())
        stem = os.path.join(self.config.output_dir, f"report_{os.path.basename(self._stored()).rpartition('.')[0]}")
        return [reports.write(f"{stem}.{ending}", form) for form, ending in FORMATS.items()]

    def save_results(self, path: Path | None = None) -> str:
        """Copies the last run to a file.

        Args:
            path: the file; by default `results_<run id>.json` in the output directory.

        Returns:
            The path.

        Raises:
            ProgramError: if nothing was measured yet.
            OSError: if the file cannot be written.
        """
        stored = self._stored()
        named = path or os.path.join(self.config.output_dir, f"results_{os.path.basename(stored)}")
        return shutil.copyfile(stored, str(named))

    def _stored(self) -> str:
        if self.path is None:
            raise ProgramError("nothing was measured yet; call one of the run_… functions first")
        return self.path

    def _measure(self, words: list[str], config: str | None = None) -> Run:
        with tempfile.TemporaryDirectory(prefix=TEMPORARY) as directory:
            settings, named = os.path.join(directory, "settings.toml"), os.path.join(directory, "id")
            with open(settings, "w", encoding="utf-8") as file:
                file.write(self.config.toml())
            command = ["run", *words, "--config", config or settings, "--id-file", named, "--python", sys.executable]
            command += ["--results-dir", str(self.config.output_dir)]
            if self.config.timeout_seconds is not None:
                command += ["--timeout", str(count("timeout_seconds", self.config.timeout_seconds))]
            document = answer(command, MEASURED, self._tell, is_shared=True)
            with open(named, encoding="utf-8") as file:
                self.path = os.path.join(self.config.output_dir, "runs", f"{file.read().strip()}.json")
        self.run = run = Run(document)
        return run
