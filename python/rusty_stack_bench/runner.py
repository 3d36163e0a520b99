"""Runs suites by starting the program `rusty-stack-bench`, and returns their results."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .analysis import BenchmarkComparator
from .custom import Benchmark
from .keeping import store
from .measuring import Settings
from .results import Result
from .stored import FORMATS, ReportGenerator

# Environment variable with the program's file; by default it is searched on PATH.
VARIABLE = "RUSTY_STACK_BENCH"


class ProgramError(RuntimeError):
    """Raised if the program is not found, fails, or has not been run yet."""


@dataclass
class BenchmarkRunnerConfig:
    """Configuration of a run; the defaults are those of the program.

    `parallel` and `max_workers` apply to the compilation of kernels before measuring; functions
    under `@benchmark` ignore them.
    """

    suite: str = "quick"
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


class BenchmarkRunner:
    """Runs suites. `run` is the last run, as the program's document."""

    def __init__(self, config: BenchmarkRunnerConfig | None = None) -> None:
        self.config = config or BenchmarkRunnerConfig()
        self.run: dict[str, Any] | None = None
        self.path: str | None = None
        self._tell: Callable[[str], None] = lambda line: None

    def set_status_callback(self, callback: Callable[[str], None]) -> None:
        """Sets a function that receives each line of progress."""
        self._tell = callback

    def run_suite(self, suite: str | None = None, component_ids: Sequence[str] = ()) -> dict[str, Any]:
        """Runs a suite, or some components or benchmarks.

        Args:
            suite: the name of a suite; by default that of the configuration.
            component_ids: components or benchmarks to run instead of a suite.

        Returns:
            The run, as the program's document.

        Raises:
            ProgramError: if the program is not found or fails.
        """
        words = list(component_ids) or ["--suite", suite or self.config.suite]
        return self._measure(words)

    def run_pre_installation_benchmarks(self) -> dict[str, Any]:
        """Runs the suite `pre-installation`, which needs no framework.

        Returns:
            The run, as the program's document.
        """
        return self.run_suite("pre-installation")

    def run_component_benchmarks(self, component_ids: Sequence[str] = ()) -> dict[str, Any]:
        """Runs the benchmarks of frameworks, or of some components.

        Returns:
            The run, as the program's document.
        """
        return self.run_suite("component", component_ids)

    def run_gpu_benchmarks(self) -> dict[str, Any]:
        """Runs the suite `gpu-performance`: native kernels on GPUs.

        Returns:
            The run, as the program's document.
        """
        return self.run_suite("gpu-performance")

    def run_quick_benchmarks(self) -> dict[str, Any]:
        """Runs the suite `quick`.

        Returns:
            The run, as the program's document.
        """
        return self.run_suite("quick")

    def run_custom_benchmarks(
        self, benchmarks: Sequence[Benchmark | str], settings: Settings | None = None
    ) -> list[Result] | dict[str, Any] | list[dict[str, Any]]:
        """Measures decorated functions and stores them, or runs TOML files of commands by the program.

        Args:
            benchmarks: functions decorated by `@benchmark`, or paths of TOML files.
            settings: number of replicates and samples, and the time limit, for functions.

        Returns:
            The results of functions; or the run of a file, a list if there are several files.

        Raises:
            ValueError: if `benchmarks` is empty, or contains both kinds.
            TypeError: if an entry is neither a decorated function nor a path.
            ProgramError: if the program is not found or fails.
        """
        if not benchmarks:
            raise ValueError("no benchmark to run; pass functions decorated with @benchmark, or paths of TOML files")
        functions = [one for one in benchmarks if isinstance(one, Benchmark)]
        if len(functions) == len(benchmarks):
            return self._run_functions(functions, settings or self._settings())
        if functions:
            raise ValueError("functions and TOML files cannot be combined; pass only one kind")
        for one in benchmarks:
            if not isinstance(one, (str, os.PathLike)):
                raise TypeError(f"{one!r} is neither a decorated function nor the path of a TOML file; decorate it with @benchmark")
        runs = [self._measure(["--custom", str(named)]) for named in benchmarks]
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
            self.run = json.load(file)
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

    def compare_with_baseline(self, baseline: str) -> BenchmarkComparator:
        """Compares the last run with the file of another run.

        Args:
            baseline: the file of the baseline run.

        Raises:
            ProgramError: if nothing was measured yet.
        """
        return BenchmarkComparator(baseline, self._stored())

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

    def save_results(self, path: str) -> str:
        """Copies the last run to a file.

        Returns:
            The path.

        Raises:
            ProgramError: if nothing was measured yet.
        """
        return shutil.copyfile(self._stored(), path)

    def _stored(self) -> str:
        if self.path is None:
            raise ProgramError("nothing was measured yet; call one of the run_… functions first")
        return self.path

    def _measure(self, words: list[str]) -> dict[str, Any]:
        program = os.environ.get(VARIABLE) or shutil.which("rusty-stack-bench")
        if program is None:
            cure = f"install it with `cargo install --path .` from its repository, or set {VARIABLE} to its path"
            raise ProgramError(f"the program rusty-stack-bench is not on PATH; {cure}")
        with tempfile.TemporaryDirectory() as directory:
            settings, named = os.path.join(directory, "settings.toml"), os.path.join(directory, "id")
            with open(settings, "w", encoding="utf-8") as file:
                file.write(self.config.toml())
            command = [program, "run", *words, "--json", "--config", settings, "--id-file", named]
            command += ["--results-dir", self.config.output_dir]
            if self.config.timeout_seconds is not None:
                command += ["--timeout", str(self.config.timeout_seconds)]
            code, document, said = self._ask(command)
            # Exit code 1: a case failed. 5: no case could run here. The document contains both.
            if code not in (0, 1, 5) or not document:
                raise ProgramError(f"`{' '.join(command[1:])}` exited with code {code}: {said.strip()[-500:]}")
            with open(named, encoding="utf-8") as file:
                self.path = os.path.join(self.config.output_dir, "runs", f"{file.read().strip()}.json")
        self.run = run = json.loads(document)
        return run

    def _ask(self, command: list[str]) -> tuple[int, str, str]:
        said: list[str] = []
        # The document may exceed a pipe's buffer while progress is read line by line, so it goes to a file.
        with tempfile.TemporaryFile("w+", encoding="utf-8") as document:
            try:
                process = subprocess.Popen(command, stdout=document, stderr=subprocess.PIPE, text=True)
            except OSError as error:
                raise ProgramError(f"{command[0]} cannot be started: {error}") from None
            with process:
                assert process.stderr is not None, "it is a pipe"
                for line in process.stderr:
                    said.append(line)
                    self._tell(line.rstrip())
            document.seek(0)
            return process.returncode, document.read(), "".join(said)
