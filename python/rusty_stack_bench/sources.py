"""Converts runs, in any accepted form, to files for the native code."""
from __future__ import annotations

import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Protocol, Union, cast

from .results import HBMBandwidthResult, Result, records_of

Path = Union[str, "PathLike[str]"]
# A run: its file, its id, its document, a result, or the record of a result.
RunLike = Union[str, "PathLike[str]", Mapping[str, Any], Result, HBMBandwidthResult]
# One side of a comparison; several runs are replicates of each other.
Side = Union[RunLike, Sequence[RunLike]]


class HasResults(Protocol):
    """An object with a results directory."""

    @property
    def results_dir(self) -> str:
        """The results directory."""
        ...


# Runs over time: a results directory, an object that has one, or runs.
History = Union[Path, HasResults, Sequence[Side]]


class Sources:
    """Converts runs to files. Temporary files are deleted with this object.

    Args:
        results_dir: the results directory in which run ids are looked up.
    """

    def __init__(self, results_dir: Path = "benchmark_results") -> None:
        self.results_dir = str(results_dir)
        self._temporary: str | None = None

    def files(self, side: Side) -> list[str]:
        """Returns the files of the runs of one side, or names that the program's own code resolves.

        Args:
            side: a run or several; results and records are stored in a temporary run.

        Raises:
            TypeError: if an entry is not a run.
            ValueError: if `side` is empty, or a dictionary is neither a run nor a record.
        """
        return self._files(side, self._directory())

    def _files(self, side: Side, directory: str) -> list[str]:
        """Returns the files of a side; runs and results that are not files yet are stored in `directory` first."""
        from . import _native

        given = [cast(RunLike, side)] if _kind(side) != "sequence" else list(cast("Sequence[RunLike]", side))
        if not given:
            raise ValueError("there is no run; pass a file, a run id, what run_suite returned, or results")
        found: list[str] = []
        records: list[dict[str, Any]] = []
        for one in given:
            kind = _kind(one)
            if kind == "path":
                found.append(self._named(str(cast(Path, one))))
            elif kind in ("result", "record"):
                records += records_of(cast("Result | Mapping[str, Any]", one))
            elif kind == "run":
                found.append(_native.save_run(json.dumps(one), directory))
            else:
                raise TypeError("a list of runs contains another list; pass one list of runs or results")
        if records:
            found.append(_native.store(json.dumps(records), directory, "python"))
        return found

    def directory(self, history: History) -> str:
        """Returns a results directory with runs.

        Args:
            history: a results directory, an object with one, or runs, which are copied.

        Raises:
            TypeError: if an entry is not a run.
            ValueError: if there is no run.
        """
        known = getattr(history, "results_dir", None)
        if isinstance(known, str):
            return known
        if isinstance(history, (str, PathLike)):
            return str(history)
        from . import _native

        directory = self._directory()
        sides = list(cast("Sequence[Side]", history))
        if not sides:
            raise ValueError("the history is empty; pass runs, or the results directory")
        paths = [path for side in sides for path in self._files(side, directory)]
        for path in paths:
            if not path.startswith(directory):
                with open(path, encoding="utf-8") as file:
                    _native.save_run(file.read(), directory)
        return directory

    def _named(self, text: str) -> str:
        """Returns the file of a run id in the results directory; returns other names unchanged."""
        if os.path.exists(text) or os.path.basename(text) != text:
            return text
        path = os.path.join(self.results_dir, "runs", f"{text}.json")
        return path if os.path.exists(path) else text

    def _directory(self) -> str:
        """Creates a temporary directory."""
        if self._temporary is None:
            self._temporary = tempfile.mkdtemp(prefix="rsb-")
            weakref.finalize(self, _delete, self._temporary)
        return tempfile.mkdtemp(dir=self._temporary)


def _delete(directory: str) -> None:
    shutil.rmtree(directory, ignore_errors=True)


def _kind(one: object) -> str:
    """Returns the form in which a run is given: path, result, run, record or sequence."""
    if isinstance(one, (str, PathLike)):
        return "path"
    if isinstance(one, (Result, HBMBandwidthResult)):
        return "result"
    if isinstance(one, Mapping):
        if "benchmarks" in one:
            return "run"
        if "benchmark_id" in one:
            return "record"
        raise ValueError("a dictionary is neither a run nor a record: it has no key benchmarks or benchmark_id")
    if isinstance(one, Sequence):
        return "sequence"
    raise TypeError(f"{type(one).__name__} is not a run; pass a file, a run id, what run_suite returned, or results")
