"""Runs and rows of results, as tables of pandas and Polars and in notebooks."""
from __future__ import annotations

import html
import importlib
import json
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from .arguments import named_arguments, nearest
from .results import Results, records_of

# Fields that contain the time of a case; crates/rsb-wheel/src/insight.rs has the same list.
TIMES = ("time_ms", "time_us", "latency_ns")


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

    def html(self) -> str:
        """Returns an HTML table."""
        names = list(dict.fromkeys(name for row in self for name in row))
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        lines = [f"<tr>{head}</tr>"]
        for row in self:
            cells = "".join(f"<td>{html.escape(_cell(row.get(name)))}</td>" for name in names)
            lines.append(f"<tr>{cells}</tr>")
        return f"<table>{''.join(lines)}</table>"

    def _repr_html_(self) -> str:
        """Returns the table, for notebooks."""
        return self.html()


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


def rows(results: Results) -> Rows:
    """Returns one row per result: id, outcome, parameters and fields.

    Args:
        results: what a benchmark returned, a run, or records of one.
    """
    found = Rows()
    for record in records_of(results):
        metadata: Mapping[str, Any] = record.get("metadata") or {}
        parameters: Mapping[str, Any] = metadata.get("parameters") or {}
        points: Sequence[Mapping[str, Any]] = record.get("results") or [{}]
        for fields in points:
            row: dict[str, Any] = {"benchmark_id": record["benchmark_id"], "outcome": record.get("outcome")}
            if record.get("why") is not None:
                row["reason"] = record["why"]
            found.append({**row, **parameters, **fields})
    return found


@named_arguments
def to_pandas(results: Results) -> Any:
    """Returns results as a `pandas.DataFrame`, one row each.

    Args:
        results: what a benchmark returned, a run, or records of one.

    Raises:
        ImportError: if pandas is not installed.
    """
    return rows(results).to_pandas()


@named_arguments
def to_polars(results: Results) -> Any:
    """Returns results as a `polars.DataFrame`, one row each.

    Args:
        results: what a benchmark returned, a run, or records of one.

    Raises:
        ImportError: if Polars is not installed.
    """
    return rows(results).to_polars()


def unit_of(metric: str) -> str:
    """Returns the unit of a field of docs/glossary.md; an empty string for a ratio, a count or an unknown name."""
    unit: str = _field(metric).get("unit", "")
    return "" if unit == "1" else unit


def is_lower_better(metric: str) -> bool | None:
    """Returns whether lower values of a field of docs/glossary.md are better; None if it has no direction."""
    better = _field(metric).get("better")
    return None if better is None else better == "lower"


def fields() -> dict[str, dict[str, Any]]:
    """Returns the fields of docs/glossary.md by name, each with `name`, `unit` and `better`."""
    from . import _native

    return {field["name"]: field for field in json.loads(_native.fields())}


def check_metric(metric: str) -> str:
    """Checks that a name is a field of docs/glossary.md, and returns it.

    Raises:
        ValueError: if it is not; the message lists the most similar fields.
    """
    known = fields()
    if metric not in known:
        raise ValueError(f"{metric!r} is not a field of docs/glossary.md; use one such as {nearest(metric, known)}")
    return metric


def check_component(component_id: str) -> str:
    """Checks that a component exists, and returns its name.

    Raises:
        ValueError: if it is unknown.
    """
    from . import _native

    known = _native.components()
    if component_id not in known:
        raise ValueError(f"unknown component {component_id!r}; use one of {', '.join(known)}")
    return component_id


def _field(metric: str) -> dict[str, Any]:
    return fields().get(metric, {})


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ImportError(f"{name} is not installed in this environment; run `pip install {name}`", name=name) from None


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
