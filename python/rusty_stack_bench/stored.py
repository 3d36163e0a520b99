"""Finds, exports, reports and deletes stored runs, with the program's own code."""
from __future__ import annotations

import json
from os import PathLike
from typing import Any, Union

Path = Union[str, "PathLike[str]"]


class ResultsPersistence:
    """Access to a results directory.

    Args:
        results_dir: the results directory.
        baselines_dir: the baselines directory; `cleanup_old_results` keeps runs that it refers to.
    """

    def __init__(self, results_dir: Path = "benchmark_results", baselines_dir: Path = "baselines") -> None:
        self.results_dir, self.baselines_dir = str(results_dir), str(baselines_dir)

    def get_runs(self) -> list[dict[str, Any]]:
        """Returns a summary of every stored run, newest first.

        Raises:
            ValueError: if the results directory does not exist.
            OSError: if it cannot be read.
        """
        from . import _native

        return json.loads(_native.stored_runs(self.results_dir))

    def get_result(self, run_id: str) -> dict[str, Any]:
        """Returns a stored run.

        Args:
            run_id: its id, or a prefix of it.

        Raises:
            ValueError: if the results directory does not exist.
            OSError: if no run or several runs match.
        """
        from . import _native

        return json.loads(_native.stored_run(self.results_dir, run_id))

    def get_latest_results(self, limit: int = 1) -> list[dict[str, Any]]:
        """Returns the newest runs, newest first.

        Args:
            limit: the largest number of runs.
        """
        return [self.get_result(run["run_id"]) for run in self.get_runs()[:limit]]

    def get_component_results(self, component_id: str, limit: int = 50) -> list[dict[str, Any]]:
        """Returns the results of a component or benchmark in the newest runs, newest first.

        Args:
            component_id: the component or benchmark.
            limit: the largest number of runs to search.
        """
        runs = self.get_latest_results(limit)
        return [result for run in runs for result in run["benchmarks"] if result.get("category") == component_id]

    def export_to_json(self, path: Path) -> None:
        """Writes every run, complete, as JSON."""
        self._export("json", path)

    def export_to_csv(self, path: Path) -> None:
        """Writes a CSV file with one line per metric of each result."""
        self._export("csv", path)

    def _export(self, form: str, path: Path) -> None:
        from . import _native

        text = _native.export(self.results_dir, form)
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)

    def cleanup_old_results(self, days: int = 30, keep_latest: int = 5) -> list[str]:
        """Deletes old runs, except the sources of baselines.

        Args:
            days: runs younger than this many days are kept.
            keep_latest: the number of newest runs of each machine and suite to keep.

        Returns:
            The ids of the deleted runs.

        Raises:
            ValueError: if the results directory does not exist.
            OSError: if a run cannot be deleted.
        """
        from . import _native

        return _native.prune(self.results_dir, self.baselines_dir, days, keep_latest)


# File extension of each report format.
FORMATS = {"markdown": "md", "html": "html", "text": "txt", "csv": "csv", "json": "json"}


class ReportGenerator:
    """Reports on a stored run, optionally compared with a baseline.

    Args:
        run: the file of the run.
        baseline: the file of the baseline run.
    """

    def __init__(self, run: Path, baseline: Path | None = None) -> None:
        self.run, self.baseline = str(run), None if baseline is None else str(baseline)

    def generate(self, format: str = "markdown") -> str:
        """Returns the report.

        Args:
            format: markdown, html, text, csv or json.

        Raises:
            ValueError: if the format is unknown, or a file cannot be read as a run.
        """
        from . import _native

        return _native.report(self.run, format, self.baseline)

    def write(self, path: Path, format: str = "markdown") -> str:
        """Writes the report to a file.

        Args:
            path: the file.
            format: markdown, html, text, csv or json.

        Returns:
            The path.

        Raises:
            ValueError: if the format is unknown, or a file cannot be read as a run.
            OSError: if the report cannot be written.
        """
        text = self.generate(format)
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        return str(path)
