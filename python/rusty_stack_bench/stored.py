"""Stores, finds, exports, reports and deletes runs, with the program's own code."""
from __future__ import annotations

import dataclasses
import enum
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, cast

from .analysis import BenchmarkComparator, results_dir_of
from .arguments import choice, config_of, count, moment, named_arguments, number
from .results import Result, Results, records_of
from .sources import Path, RunLike, Side, Sources
from .tables import Run, check_component, fields

# Number of runs that are searched for the results of one component, newest first.
_MOST_RUNS = 50


@named_arguments
class ResultsPersistence:
    """Access to a results directory.

    Args:
        base_dir: the results directory.
        baselines_dir: the baselines directory; `cleanup_old_results` keeps runs that it refers to.
    """

    def __init__(self, base_dir: Path = "benchmark_results", baselines_dir: Path = "baselines") -> None:
        self.results_dir, self.baselines_dir = str(base_dir), str(baselines_dir)

    @property
    def base_dir(self) -> str:
        """The results directory; alias of `results_dir`."""
        return self.results_dir

    def save_benchmark_run(self, results: Results, metadata: Mapping[str, Any] | None = None) -> str:
        """Stores a run.

        Args:
            results: what `run_suite` or a benchmark returned. A stored run with the same id is replaced.
            metadata: values to store in the `metadata` of each result; names defined by the format take precedence.

        Returns:
            The id of the run.

        Raises:
            TypeError: if `results` are not results, or a value cannot be written as JSON.
            ValueError: if there is no result, or one has a field that docs/glossary.md does not list.
            OSError: if the run cannot be written.
        """
        from . import _native

        extra = dict(metadata or {})
        if _is_mapping(results) and "benchmarks" in cast("Mapping[str, Any]", results):
            run = dict(cast("Mapping[str, Any]", results))
            run["benchmarks"] = [_with(record, extra) for record in run["benchmarks"]]
            path = _native.save_run(json.dumps(run), self.results_dir)
        else:
            records = [_with(record, extra) for record in records_of(results)]
            if not records:
                raise ValueError("there is no result; pass what a benchmark or run_suite returned")
            path = _native.store(json.dumps(records), self.results_dir, "python")
        return os.path.basename(path).rpartition(".")[0]

    def save_component_result(self, component_id: str, result: Result | Mapping[str, Any]) -> str:
        """Stores a result of a component as a run.

        Args:
            component_id: the component, such as `pytorch`.
            result: a result or a record of the component; or fields of docs/glossary.md, such as
                `{"time_ms": 1.2}`, of a case on `cpu:0` (or on the device in the field `device`). Strings and
                integers in fields without a direction, such as `dtype`, become part of the case id.

        Returns:
            The id of the run.

        Raises:
            TypeError: if a field that is better when higher or lower is not a number.
            ValueError: if the component is unknown, or the result is of another one or has a field that
                docs/glossary.md does not list.
            OSError: if the run cannot be written.
        """
        check_component(component_id)
        record = result.record() if isinstance(result, Result) else dict(result)
        if "benchmark_id" not in record:
            record = _record_of(component_id, record)
        if record.get("category", component_id) != component_id:
            raise ValueError(f"the result {record['benchmark_id']} is of {record['category']}, not of {component_id}")
        return self.save_benchmark_run([record])

    def save_comparison(
        self, baseline_run_id: str, current_run_id: str, comparison: BenchmarkComparator | Mapping[str, Any]
    ) -> str:
        """Stores a comparison, where the program lists it.

        Args:
            baseline_run_id: the id of the baseline.
            current_run_id: the id of the run that was judged.
            comparison: a comparator, or what its `to_dict` returned.

        Returns:
            The id of the comparison.

        Raises:
            ValueError: if `comparison` is not a comparison, or compares other runs.
            OSError: if it cannot be written.
        """
        from . import _native

        found = comparison.to_dict() if isinstance(comparison, BenchmarkComparator) else comparison
        document = {"baseline_run_id": baseline_run_id, "current_run_id": current_run_id, **found}
        for name, given in (("baseline_run_id", baseline_run_id), ("current_run_id", current_run_id)):
            if document[name] != given:
                raise ValueError(f"{name} is {given!r}, but the comparison is of {document[name]!r}; pass the ids of its runs")
        _native.save_comparison(json.dumps(document), self.results_dir)
        return str(document["comparison_id"])

    def get_runs(self) -> list[dict[str, Any]]:
        """Returns a summary of every stored run, newest first.

        Raises:
            ValueError: if the results directory does not exist.
            OSError: if it cannot be read.
        """
        from . import _native

        return json.loads(_native.stored_runs(self.results_dir))

    def get_comparisons(self) -> list[dict[str, Any]]:
        """Returns every stored comparison, newest first.

        Raises:
            ValueError: if the results directory does not exist.
            OSError: if it cannot be read.
        """
        from . import _native

        return json.loads(_native.stored_comparisons(self.results_dir))

    def get_result(self, run_id: str) -> Run:
        """Returns a stored run.

        Args:
            run_id: its id, or a prefix of it.

        Raises:
            ValueError: if the results directory does not exist.
            OSError: if no run or several runs match.
        """
        from . import _native

        return Run(json.loads(_native.stored_run(self.results_dir, run_id)))

    def get_component_results(self, component_id: str, limit: int = 10) -> list[dict[str, Any]]:
        """Returns the newest results of a component or benchmark, newest run first.

        Args:
            component_id: the component or benchmark.
            limit: the largest number of results.

        Raises:
            TypeError: if `limit` is not an integer.
            ValueError: if it is smaller than 1, or the results directory does not exist.
        """
        most, found = count("limit", limit), list[dict[str, Any]]()
        for run in self.get_runs()[:_MOST_RUNS]:
            if len(found) >= most:
                break
            records = self.get_result(run["run_id"])["benchmarks"]
            found += [record for record in records if record.get("category") == component_id]
        return found[:most]

    def get_latest_results(self, benchmark_type: str | int | None = None, limit: int = 10) -> list[Run]:
        """Returns the newest runs, newest first.

        Args:
            benchmark_type: only runs of this suite, or with a result of this type (`gpu_performance`) or
                benchmark (`gemm`). A number passed here is taken as `limit`.
            limit: the largest number of runs.

        Raises:
            TypeError: if `limit` is not an integer.
            ValueError: if it is smaller than 1, or the results directory does not exist.
        """
        if isinstance(benchmark_type, int):
            benchmark_type, limit = None, benchmark_type
        most, found = count("limit", limit), list[Run]()
        for row in self.get_runs():
            if len(found) >= most:
                break
            run = self.get_result(row["run_id"])
            if benchmark_type is None or benchmark_type in _types(run):
                found.append(run)
        return found

    def export_to_json(self, run_id: Path, output_path: Path | None = None) -> str:
        """Writes a run or all runs as JSON.

        Args:
            run_id: its id, or a prefix of it. A file path passed here is taken as
                `output_path`, and every run is exported.
            output_path: the file; by default `export_<run id>.json` in the results directory.

        Returns:
            The path.

        Raises:
            ValueError: if the results directory does not exist.
            OSError: if no run or several runs match, or the file cannot be written.
        """
        return self._export("json", [str(run_id)], output_path)

    def export_to_csv(self, run_ids: Path | Sequence[str], output_path: Path | None = None) -> str:
        """Writes a CSV file with one line per metric of each result.

        Args:
            run_ids: one or several run ids, or prefixes of them. A file path passed here is taken as
                `output_path`, and every run is exported.
            output_path: the file; by default `export_<first run id>.csv` in the results directory.

        Returns:
            The path.

        Raises:
            ValueError: if there is no id, or the results directory does not exist.
            OSError: if no run or several runs match, or the file cannot be written.
        """
        ids = [str(run_ids)] if isinstance(run_ids, (str, os.PathLike)) else list(run_ids)
        if not ids:
            raise ValueError("there is no run id; pass at least one, or the path of a file for every run")
        return self._export("csv", ids, output_path)

    def _export(self, form: str, run_ids: list[str], output_path: Path | None) -> str:
        from . import _native

        is_file = output_path is None and len(run_ids) == 1 and _is_file_name(run_ids[0])
        if is_file:
            path, chosen = run_ids[0], None
        else:
            path, chosen = str(output_path or os.path.join(self.results_dir, f"export_{run_ids[0]}.{form}")), run_ids
        _native.write_file(path, _native.export(self.results_dir, form, chosen))
        return path

    def cleanup_old_results(self, days: int = 30, keep_latest: int = 5) -> list[str]:
        """Deletes old runs, except the sources of baselines.

        Args:
            days: runs younger than this many days are kept.
            keep_latest: the number of newest runs of each machine and suite to keep.

        Returns:
            The ids of the deleted runs.

        Raises:
            TypeError: if a number is not an integer.
            ValueError: if a number is negative, or the results directory does not exist.
            OSError: if a run cannot be deleted.
        """
        from . import _native

        age, kept = count("days", days, 0), count("keep_latest", keep_latest, 0)
        return _native.prune(self.results_dir, self.baselines_dir, age, kept)


@named_arguments
class BenchmarkResultsDB:
    """Results and comparisons as a database: a results directory, whose index is a SQLite file.

    Args:
        db_path: the results directory. A name that ends in `.db` stands for the directory without this ending.
            The default is `benchmark_results`. The index is the file `benchmarks.db` in this directory.
    """

    def __init__(self, db_path: Path = "benchmark_results.db") -> None:
        self.persistence = ResultsPersistence(results_dir_of(db_path))

    @property
    def results_dir(self) -> str:
        """The results directory."""
        return self.persistence.results_dir

    def save_benchmark_result(self, result: Results) -> str:
        """Stores one or several results, or a run.

        Args:
            result: what a benchmark or `run_suite` returned.

        Returns:
            The id of the run.

        Raises:
            TypeError: if `result` is not a result.
            ValueError: if it has a field that docs/glossary.md does not list.
            OSError: if it cannot be written.
        """
        return self.persistence.save_benchmark_run(result)

    def save_component_result(self, result: Result | Mapping[str, Any]) -> str:
        """Stores a result of a component.

        Args:
            result: a result or its record, which names the component.

        Returns:
            The id of the run.

        Raises:
            ValueError: if it names no component, or has a field that docs/glossary.md does not list.
            OSError: if it cannot be written.
        """
        record = result.record() if isinstance(result, Result) else dict(result)
        component = record.get("category") or record.get("component_id")
        if component is None:
            raise ValueError("the result names no component; pass a result, a record, or a dictionary with component_id")
        record.pop("component_id", None)
        return self.persistence.save_component_result(str(component), record)

    def save_comparison(self, comparison: BenchmarkComparator | Mapping[str, Any]) -> str:
        """Stores a comparison.

        Args:
            comparison: a comparator, or what its `to_dict` returned.

        Returns:
            The id of the comparison.

        Raises:
            ValueError: if `comparison` is not a comparison.
            OSError: if it cannot be written.
        """
        found = comparison.to_dict() if isinstance(comparison, BenchmarkComparator) else dict(comparison)
        sides = [str(found.get(name, "")) for name in ("baseline_run_id", "current_run_id")]
        return self.persistence.save_comparison(sides[0], sides[1], found)

    def get_benchmark_history(self, benchmark_type: str | None = None, limit: int = 100) -> list[dict[str, Any]]:
        """Returns the newest results, newest run first.

        Args:
            benchmark_type: only results of this type (`gpu_performance`) or benchmark (`gemm`).
            limit: the largest number of results.

        Raises:
            TypeError: if `limit` is not an integer.
            ValueError: if it is smaller than 1, or the results directory does not exist.
        """
        most, found = count("limit", limit), list[dict[str, Any]]()
        for row in self.persistence.get_runs():
            if len(found) >= most:
                break
            for record in self.persistence.get_result(row["run_id"])["benchmarks"]:
                if benchmark_type in (None, record.get("benchmark_type"), record.get("category")):
                    found.append(record)
        return found[:most]

    def get_comparison_history(self, benchmark_id: str, limit: int = 10) -> list[dict[str, Any]]:
        """Returns the rows of a case in the newest comparisons, newest first.

        Args:
            benchmark_id: the id of the case.
            limit: the largest number of comparisons.

        Returns:
            One entry per metric, with `comparison_id`, `timestamp`, `baseline_run_id` and `current_run_id`.

        Raises:
            TypeError: if `limit` is not an integer.
            ValueError: if it is smaller than 1, or the results directory does not exist.
        """
        most, found = count("limit", limit), list[list[dict[str, Any]]]()
        names = ("comparison_id", "timestamp", "baseline_run_id", "current_run_id")
        for one in self.persistence.get_comparisons():
            head = {name: one[name] for name in names}
            rows = [{**head, **row} for row in one["comparisons"] if row["id"] == benchmark_id]
            if rows and len(found) < most:
                found.append(rows)
        return [row for rows in found for row in rows]

    def export_results(self, format: str = "json", output_path: Path | None = None) -> str:
        """Exports every result.

        Args:
            format: json or csv.
            output_path: the file to write.

        Returns:
            The exported text, or the path if one is given.

        Raises:
            ValueError: if the format is unknown, or the results directory does not exist.
            OSError: if the file cannot be written.
        """
        from . import _native

        text = _native.export(self.results_dir, format)
        if output_path is None:
            return text
        _native.write_file(str(output_path), text)
        return str(output_path)


# File extension of each report format.
FORMATS = {"markdown": "md", "html": "html", "text": "txt", "csv": "csv", "json": "json"}


class ReportFormat(str, enum.Enum):
    """Formats of reports."""

    MARKDOWN = "markdown"
    HTML = "html"
    JSON = "json"
    ASCII = "ascii"


@named_arguments
@dataclass
class ReportConfig:
    """Content and look of reports.

    Args:
        title: the title; by default the name of the machine.
        include_environment: whether human-readable reports describe the machine.
        include_comparison: whether they list each case next to its baseline.
        include_recommendations: whether they contain recommendations.
        chart_width: largest width of a chart of the HTML page in pixels.
        theme: color scheme of the HTML page: auto (that of the reader's system), light or dark.
    """

    title: str | None = None
    include_environment: bool = True
    include_comparison: bool = True
    include_recommendations: bool = True
    chart_width: int = 900
    theme: str = "auto"

    def parts(self) -> list[str]:
        """Returns the names of the optional parts to include."""
        names = ("environment", "comparison", "recommendations")
        return [name for name in names if getattr(self, f"include_{name}")] + ["charts"]


@named_arguments
class ReportGenerator:
    """Reports on runs, optionally compared with a baseline.

    Args:
        config: content and look, or a dictionary with its fields. A file path passed here is taken
            as the run that `generate` and `write` report on.
        baseline: the file of the baseline run, for `generate` and `write`.

    Raises:
        ValueError: if the dictionary has an unknown key.
    """

    def __init__(
        self, config: ReportConfig | Mapping[str, Any] | Path | None = None, baseline: Path | None = None
    ) -> None:
        is_file = isinstance(config, (str, os.PathLike))
        self.run = str(config) if is_file else None
        self.config = ReportConfig() if is_file else config_of(ReportConfig, config)
        self.baseline = None if baseline is None else str(baseline)

    def generate(self, format: str = "markdown") -> str:
        """Returns the report on the run that was passed to the constructor.

        Args:
            format: markdown, html, text (or ascii), csv or json.

        Raises:
            ValueError: if there is no run, the format is unknown, or a file cannot be read as a run.
        """
        if self.run is None:
            raise ValueError("there is no run; use generate_report(results), or construct the generator with a file")
        return self._written(self.run, format, self.baseline, None)

    def write(self, path: Path, format: str = "markdown") -> str:
        """Writes the report of `generate` to a file.

        Args:
            path: the file.
            format: markdown, html, text (or ascii), csv or json.

        Returns:
            The path.

        Raises:
            ValueError: if there is no run, the format is unknown, or a file cannot be read as a run.
            OSError: if the report cannot be written.
        """
        from . import _native

        _native.write_file(str(path), self.generate(format))
        return str(path)

    def _written(self, path: str, form: str, baseline: str | None, comparison: str | None) -> str:
        from . import _native

        title, name = self.config.title, "text" if form == ReportFormat.ASCII.value else form
        report = _native.report(
            path,
            name,
            baseline,
            comparison=comparison,
            title=title,
            parts=self.config.parts(),
            theme=self.config.theme,
            chart_width=count("chart_width", self.config.chart_width),
        )
        # The program's text report has no heading.
        return f"{title}\n\n{report}" if title is not None and name == "text" else report

    def generate_report(
        self,
        results: Side,
        comparison_results: BenchmarkComparator | RunLike | None = None,
        format: ReportFormat | str = ReportFormat.MARKDOWN,
    ) -> str:
        """Returns a report.

        Args:
            results: the run: its file, its id, its dictionary, or results.
            comparison_results: a comparator, what its `to_dict` returned, or the baseline run.
            format: markdown, html, json or ascii.

        Raises:
            TypeError: if `results` are not a run.
            ValueError: if the format or the theme is unknown, or the run cannot be read.
        """
        form = choice(ReportFormat, format, "report format")
        sources = Sources()
        path = sources.files(results)[0]
        if comparison_results is None:
            return self._written(path, form.value, None, None)
        if isinstance(comparison_results, BenchmarkComparator):
            return self._written(path, form.value, None, json.dumps(comparison_results.to_dict()))
        if _is_comparison(comparison_results):
            return self._written(path, form.value, None, json.dumps(comparison_results))
        return self._written(path, form.value, sources.files(comparison_results)[0], None)

    def generate_markdown_report(
        self, results: Side, comparison_results: BenchmarkComparator | RunLike | None = None
    ) -> str:
        """Returns the report as Markdown; see `generate_report`.

        Args:
            results: the run: its file, its id, its dictionary, or results.
            comparison_results: a comparator, what its `to_dict` returned, or the baseline run.

        Raises:
            ValueError: if the run cannot be read.
        """
        return self.generate_report(results, comparison_results, ReportFormat.MARKDOWN)

    def generate_html_report(self, results: Side, comparison_results: BenchmarkComparator | RunLike | None = None) -> str:
        """Returns the report as a page with its charts; see `generate_report`.

        Args:
            results: the run: its file, its id, its dictionary, or results.
            comparison_results: a comparator, what its `to_dict` returned, or the baseline run.

        Raises:
            ValueError: if the run cannot be read, or the theme is unknown.
        """
        return self.generate_report(results, comparison_results, ReportFormat.HTML)

    def generate_ascii_report(self, results: Side, comparison_results: BenchmarkComparator | RunLike | None = None) -> str:
        """Returns the report as plain text; see `generate_report`.

        Args:
            results: the run: its file, its id, its dictionary, or results.
            comparison_results: a comparator, what its `to_dict` returned, or the baseline run.

        Raises:
            ValueError: if the run cannot be read.
        """
        return self.generate_report(results, comparison_results, ReportFormat.ASCII)

    def generate_summary_section(self, results: Side) -> str:
        """Returns the verdict, the number of cases and the key results, as Markdown.

        Args:
            results: the run: its file, its id, its dictionary, or results.

        Raises:
            ValueError: if the run cannot be read.
        """
        sections = self._sections(results)
        return "\n\n".join(sections[name] for name in ("", "Key results") if name in sections) + "\n"

    def generate_environment_section(self, environment: Mapping[str, Any]) -> str:
        """Returns the description of a machine, as Markdown.

        Args:
            environment: the `environment` of a run.

        Raises:
            ValueError: if `environment` is not an environment.
        """
        from . import _native

        if not environment.keys() & {"os", "kernel", "cpu", "memory_gb", "gpus"}:
            raise ValueError("the dictionary describes no machine; pass the `environment` of a run")
        return "## Environment\n\n" + _native.environment_report(json.dumps(environment))

    def generate_results_section(self, results: Side) -> str:
        """Returns the values of every case, as Markdown.

        Args:
            results: the run: its file, its id, its dictionary, or results.

        Raises:
            ValueError: if the run cannot be read.
        """
        other = ("", "Key results", "Comparison", "Recommendations", "Method", "Environment")
        return "\n\n".join(text for name, text in self._sections(results).items() if name not in other) + "\n"

    def generate_comparison_section(self, comparison: BenchmarkComparator | Mapping[str, Any]) -> str:
        """Returns the verdict of each case, as Markdown.

        Args:
            comparison: a comparator, or what its `to_dict` returned.

        Raises:
            ValueError: if `comparison` is not a comparison.
        """
        from . import _native

        found = comparison.to_dict() if isinstance(comparison, BenchmarkComparator) else comparison
        return _native.format_comparison(json.dumps(found), "markdown")

    def generate_recommendations_section(self, results: Side) -> str:
        """Returns recommended actions and the values that they are based on, as Markdown.

        Args:
            results: the run: its file, its id, its dictionary, or results.

        Raises:
            ValueError: if the run cannot be read.
        """
        return self._sections(results).get("Recommendations", "## Recommendations\n\nNone.") + "\n"

    def _sections(self, results: Side) -> dict[str, str]:
        """Returns the sections of the Markdown report by heading; the text before the first has none."""
        everything = ReportGenerator(dataclasses.replace(self.config, include_recommendations=True))
        sections: dict[str, str] = {}
        heading = ""
        for line in everything.generate_markdown_report(results).splitlines(keepends=True):
            if line.startswith("## "):
                heading = line[3:].strip()
            sections[heading] = sections.get(heading, "") + line
        return {name: text.strip() for name, text in sections.items()}

    def save_report(self, content: str, format: ReportFormat | str, output_path: Path | None = None) -> str:
        """Writes a report to a file.

        Args:
            content: the report.
            format: its format, which determines the file extension.
            output_path: the file; by default `benchmark_report` followed by the time, in the current directory.

        Returns:
            The path.

        Raises:
            ValueError: if the format is unknown.
            OSError: if the report cannot be written.
        """
        from . import _native

        form = choice(ReportFormat, format, "report format")
        ending = FORMATS["text" if form is ReportFormat.ASCII else form.value]
        now = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        path = str(output_path or f"benchmark_report_{now}.{ending}")
        _native.write_file(path, content)
        return path


def _with(record: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    own: Mapping[str, Any] = record.get("metadata") or {}
    return {**record, "metadata": {**metadata, **own}}


def _record_of(component: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the record of a case with these fields."""
    known, values = fields(), dict(given)
    device = str(values.pop("device", "cpu:0"))
    case = ["component_specific", component, device]
    for name, value in values.items():
        if known.get(name, {}).get("better") is not None:
            number(name, value)
        elif isinstance(value, (str, int)):
            case.append(f"{name}={value}".replace("/", "_"))
    return {
        "benchmark_id": "/".join(case),
        "timestamp": moment(datetime.now(timezone.utc)),
        "benchmark_type": "component_specific",
        "category": component,
        "outcome": "measured",
        "device_type": "cpu" if device.startswith("cpu") else "gpu",
        "results": [values],
        "metadata": {},
    }


def _types(run: Mapping[str, Any]) -> set[Any]:
    """Returns the suite of a run, and the types and benchmarks of its results."""
    records: Sequence[Mapping[str, Any]] = run["benchmarks"]
    names = ("benchmark_type", "category")
    return {run.get("suite"), *(record.get(name) for record in records for name in names)}


def _is_file_name(text: str) -> bool:
    return os.path.basename(text) != text or text.endswith((".json", ".csv"))


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping)


def _is_comparison(value: object) -> bool:
    return isinstance(value, Mapping) and "comparisons" in value
