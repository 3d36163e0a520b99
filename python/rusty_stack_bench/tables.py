"""Runs and rows of results, as tables of pandas and Polars and in notebooks."""
from __future__ import annotations

import html
import importlib
import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Union

from .results import Result

# A result, or its record in a run.
Record = Union[Result, Mapping[str, Any]]


class Rows(list[dict[str, Any]]):
    """Rows of a table: a list of dictionaries."""

    def to_pandas(self) -> Any:
        """Returns the rows as a `pandas.DataFrame`.

        Raises:
            ImportError: if pandas is not installed.
        """
        return _package("pandas").DataFrame(list(self))

    def to_polars(self) -> Any:
        """Returns the rows as a `polars.DataFrame`.

        Raises:
            ImportError: if Polars is not installed.
        """
        return _package("polars").from_dicts(list(self), infer_schema_length=None)

    def _repr_html_(self) -> str:
        """Returns an HTML table, for notebooks."""
        names = list(dict.fromkeys(name for row in self for name in row))
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        lines = [f"<tr>{head}</tr>"]
        for row in self:
            cells = "".join(f"<td>{html.escape(_cell(row.get(name)))}</td>" for name in names)
            lines.append(f"<tr>{cells}</tr>")
        return f"<table>{''.join(lines)}</table>"


class Run(dict[str, Any]):
    """A run as schemas/run.schema.json describes it: a dictionary. Notebooks show its report."""

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return self["run_id"]

    def rows(self) -> Rows:
        """Returns one row per case: id, outcome, parameters and fields."""
        return rows(self["benchmarks"])

    def to_pandas(self) -> Any:
        """Returns one row per case as a `pandas.DataFrame`.

        Raises:
            ImportError: if pandas is not installed.
        """
        return self.rows().to_pandas()

    def to_polars(self) -> Any:
        """Returns one row per case as a `polars.DataFrame`.

        Raises:
            ImportError: if Polars is not installed.
        """
        return self.rows().to_polars()

    def _repr_html_(self) -> str:
        """Returns the report with its charts, for notebooks."""
        from . import _native

        with tempfile.TemporaryDirectory(prefix="rsb-") as directory:
            page = _native.report(_native.save_run(json.dumps(self), directory), "html")
        return f'<iframe srcdoc="{html.escape(page)}" style="width: 100%; height: 640px; border: 0"></iframe>'


def rows(results: Iterable[Record]) -> Rows:
    """Returns one row per result: id, outcome, parameters and fields.

    Args:
        results: results that a benchmark returned, or records of a run.
    """
    found = Rows()
    for one in results:
        record: Mapping[str, Any] = one.record() if isinstance(one, Result) else one
        metadata: Mapping[str, Any] = record.get("metadata") or {}
        parameters: Mapping[str, Any] = metadata.get("parameters") or {}
        points: Sequence[Mapping[str, Any]] = record.get("results") or [{}]
        for fields in points:
            row: dict[str, Any] = {"benchmark_id": record["benchmark_id"], "outcome": record.get("outcome")}
            if record.get("why") is not None:
                row["reason"] = record["why"]
            found.append({**row, **parameters, **fields})
    return found


def to_pandas(results: Iterable[Record]) -> Any:
    """Returns results as a `pandas.DataFrame`, one row each.

    Args:
        results: results that a benchmark returned, or records of a run.

    Raises:
        ImportError: if pandas is not installed.
    """
    return rows(results).to_pandas()


def to_polars(results: Iterable[Record]) -> Any:
    """Returns results as a `polars.DataFrame`, one row each.

    Args:
        results: results that a benchmark returned, or records of a run.

    Raises:
        ImportError: if Polars is not installed.
    """
    return rows(results).to_polars()


def unit_of(metric: str) -> str:
    """Returns the unit of a field of docs/glossary.md; an empty text for a ratio, a count or another name."""
    unit: str = _field(metric).get("unit", "")
    return "" if unit == "1" else unit


def is_lower_better(metric: str) -> bool | None:
    """Returns whether lower values of a field of docs/glossary.md are better; None if neither direction is."""
    better = _field(metric).get("better")
    return None if better is None else better == "lower"


def _field(metric: str) -> dict[str, Any]:
    from . import _native

    known: list[dict[str, Any]] = json.loads(_native.fields())
    for field in known:
        if field["name"] == metric:
            return field
    return {}


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ImportError(f"{name} is not installed in this environment; run `pip install {name}`", name=name) from None


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
