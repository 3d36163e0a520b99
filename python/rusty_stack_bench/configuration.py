"""The configuration file of the program, `rusty-stack-bench.toml`: read, checked and written."""
from __future__ import annotations

import dataclasses
import json
import math
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .arguments import named_arguments
from .program import find_program
from .runner import FILE_NAME
from .sources import Path
from .tables import check_component, is_lower_better

# Metrics of a component that `rusty-stack-bench components` shows.
METRICS = ("throughput", "latency", "memory")
_SECONDS = 60.0
# Largest number of samples per round that the program accepts.
_MOST_RUNS = 1_000_000


@named_arguments
@dataclass
class ComponentBenchmarkConfig:
    """Settings of one component, the table `[components.NAME]`.

    Args:
        enabled: whether it is measured; otherwise it is skipped, with the reason.
        timeout_seconds: limit of one replicate of a case, in seconds.
        num_runs: samples per round, from 10 to 1000000.
        warmup_runs: iterations before the first round.
        metrics: metrics that `components` shows: throughput, latency, memory.
        thresholds: targets by field of docs/glossary.md, in its unit: a minimum if higher is better, else a
            maximum.
    """

    enabled: bool = True
    timeout_seconds: int = 300
    num_runs: int = 100
    warmup_runs: int = 10
    metrics: list[str] = field(default_factory=lambda: list(METRICS))
    thresholds: dict[str, float] = field(default_factory=dict[str, float])


@named_arguments
@dataclass
class GPUBenchmarkConfig:
    """Settings of the benchmarks on GPUs, the table `[gpu]`.

    Args:
        enabled: whether GPUs are measured.
        timeout_seconds: limit of one replicate of a case, in seconds.
        test_memory: whether bandwidth, latency, tiers, transfers, caches and allocation are measured.
        test_compute: whether peaks, products, convolutions, element-wise operations and inference are measured.
        test_scaling: whether operations across several GPUs are measured.
        gpu_indices: the GPUs to measure, by index; empty for all.
    """

    enabled: bool = True
    timeout_seconds: int = 600
    test_memory: bool = True
    test_compute: bool = True
    test_scaling: bool = True
    gpu_indices: list[int] = field(default_factory=lambda: [0])


@named_arguments
@dataclass
class GlobalBenchmarkConfig:
    """Settings of a project.

    Args:
        output_dir: the results directory.
        baseline_run_id: the run or saved baseline to compare a run with; by default the saved baseline of
            its machine and suite.
        compare_with_baseline: whether the comparison is shown after a run.
        generate_ascii_reports: whether a plain-text report is written after a run.
        generate_markdown_reports: whether a Markdown report is written after a run.
        generate_html_reports: whether an HTML report is written after a run.
        components: settings of components, by name.
        gpu: settings of the benchmarks on GPUs.
    """

    output_dir: str = "benchmark_results"
    baseline_run_id: str | None = None
    compare_with_baseline: bool = True
    generate_ascii_reports: bool = True
    generate_markdown_reports: bool = True
    generate_html_reports: bool = False
    components: dict[str, ComponentBenchmarkConfig] = field(default_factory=dict[str, ComponentBenchmarkConfig])
    gpu: GPUBenchmarkConfig = field(default_factory=GPUBenchmarkConfig)


# Table and key in the file for each field of the configuration.
_PLACES = {
    "output_dir": ("run", "results_dir"),
    "baseline_run_id": ("run", "baseline_run_id"),
    "compare_with_baseline": ("run", "compare_with_baseline"),
    "generate_ascii_reports": ("report", "generate_ascii"),
    "generate_markdown_reports": ("report", "generate_markdown"),
    "generate_html_reports": ("report", "generate_html"),
}
# Tables of the file that only the program reads, and the keys of the other tables that it reads.
_TABLES = ("time_limits", "thresholds", "custom", "tui", "charts")
_KEYS = {
    "run": (
        *("suite", "profile", "backend", "device", "runs", "warmup", "replicates", "results_dir", "baselines_dir", "policy"),
        *("baseline_run_id", "compare_with_baseline", "save_raw_results", "generate_reports", "verbose", "parallel"),
        *("max_workers", "timeout", "log_dir", "log_format"),
    ),
    "report": (
        *("title", "theme", "parts", "chart_width", "generate_ascii", "generate_markdown", "generate_html"),
        "generate_json",
    ),
}
# Aliases of keys, by table.
_ALIASES = {
    "run": {"output_dir": "results_dir", "num_runs": "runs", "warmup_runs": "warmup", "timeout_seconds": "timeout"},
    "report": {f"generate_{form}_reports": f"generate_{form}" for form in ("ascii", "markdown", "html", "json")},
}


@named_arguments
class BenchmarkConfigLoader:
    """Reads, checks and writes a configuration file.

    Args:
        config_path: the file; by default `rusty-stack-bench.toml` in the current directory.
    """

    def __init__(self, config_path: Path | None = None) -> None:
        self.config_path = str(config_path or FILE_NAME)

    @cached_property
    def config(self) -> GlobalBenchmarkConfig:
        """The configuration that was read or written last. The first use reads the file."""
        return self.load_config()

    def load_config(self) -> GlobalBenchmarkConfig:
        """Reads the file. The defaults of the classes apply to missing keys and to a missing file.

        Returns:
            The configuration, which is also kept as `config`.

        Raises:
            OSError: if the file cannot be read.
            ValueError: if it is not TOML, a table has an unknown key, or a value has another type.
        """
        document = self._document()
        config = GlobalBenchmarkConfig()
        _check_keys("the file", document, ("components", "gpu", *_KEYS, *_TABLES))
        for table, keys in _KEYS.items():
            _check_keys(table, _table(document, table), keys)
        for name, (table, key) in _PLACES.items():
            section = _table(document, table)
            if key in section:
                setattr(config, name, section[key])
        config.gpu = _filled(GPUBenchmarkConfig, _table(document, "gpu"), "gpu")
        components = _table(document, "components")
        config.components = {
            name: _filled(ComponentBenchmarkConfig, _table(components, name), f"components.{name}") for name in components
        }
        problems = _problems(config)
        if problems:
            raise ValueError(f"{self.config_path}: {'; '.join(problems)}")
        self.config = config
        return config

    def _document(self) -> dict[str, Any]:
        from . import _native

        if not os.path.exists(self.config_path):
            return {}
        with open(self.config_path, encoding="utf-8") as file:
            text = file.read()
        try:
            return _canonical(json.loads(_native.parse_toml(text)))
        except ValueError as error:
            raise ValueError(f"{self.config_path}: {error}") from None

    def save_config(self, config: GlobalBenchmarkConfig | None = None) -> str:
        """Writes the file.

        Args:
            config: the configuration; by default `config`.

        Returns:
            The path.

        Raises:
            ValueError: if a value is invalid, or the existing file has keys that would be lost.
            OSError: if it cannot be written.
        """
        from . import _native

        chosen = config or self.config
        problems = _problems(chosen)
        if problems:
            raise ValueError(f"the configuration is wrong: {'; '.join(problems)}")
        lost = sorted(_others(self._document()))
        if lost:
            raise ValueError(f"{self.config_path} has {', '.join(lost)}, which would be lost; edit it, or name another file")
        _native.write_file(self.config_path, _written(chosen))
        self.config = chosen
        return self.config_path

    def validate_config(self) -> list[str]:
        """Checks the file, with the program as well if it is found.

        Returns:
            The errors found, each with its position or key; empty if the file is valid.
        """
        try:
            self.load_config()
        except (OSError, ValueError) as error:
            return [str(error)]
        program = find_program()
        if program is None or not os.path.exists(self.config_path):
            return []
        try:
            command = [program, "config", "check", self.config_path]
            checked = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
        except (OSError, subprocess.SubprocessError) as error:
            return [f"{program} cannot check the file: {error}"]
        return [] if checked.returncode == 0 else [checked.stderr.strip()]

    def get_component_config(self, component_id: str) -> ComponentBenchmarkConfig:
        """Returns the settings of a component; the defaults if the file has none.

        Args:
            component_id: the component, such as `pytorch`.

        Raises:
            ValueError: if the component is unknown.
        """
        return self.config.components.get(check_component(component_id), ComponentBenchmarkConfig())


def _canonical(document: dict[str, Any]) -> dict[str, Any]:
    """Returns the content of a file with aliases replaced by the program's own keys."""
    for name, aliases in _ALIASES.items():
        table = _table(document, name)
        both = [other for other, key in aliases.items() if other in table and key in table]
        if both:
            raise ValueError(f"{name} has {both[0]} and {aliases[both[0]]}, which mean the same; keep one")
        if table:
            document[name] = {aliases.get(key, key): value for key, value in table.items()}
    return document


def _table(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Returns a table; empty if it is missing."""
    found = document.get(name, {})
    if not _is_dict(found):
        raise ValueError(f"{name} is {found!r}; write a table, [{name}]")
    return found


def _filled(kind: Any, table: Mapping[str, Any], name: str) -> Any:
    """Creates the settings class `kind` from the values of a table."""
    _check_keys(name, table, [one.name for one in dataclasses.fields(kind)])
    return kind(**table)


def _check_keys(name: str, table: Mapping[str, Any], known: Sequence[str]) -> None:
    """Raises ValueError if a table has a key that is not in `known`."""
    unknown = sorted(set(table) - set(known))
    if unknown:
        raise ValueError(f"{name} has the unknown key {unknown[0]}; use {', '.join(known)}")


def _others(document: Mapping[str, Any]) -> set[str]:
    """Returns the keys of a file that the configuration does not have."""
    found: set[str] = set()
    for name, table in document.items():
        if name in ("components", "gpu"):
            continue
        # `generate_reports` is derived from the three report settings.
        known = {key for section, key in _PLACES.values() if section == name} | {"generate_reports"}
        if name not in _KEYS or not _is_dict(table):
            found.add(name)
        else:
            found |= {f"{name}.{key}" for key in table if key not in known}
    return found


def _written(config: GlobalBenchmarkConfig) -> str:
    """Returns the configuration as the TOML text of its file."""
    has_reports = config.generate_ascii_reports or config.generate_markdown_reports or config.generate_html_reports
    lines: list[str] = []
    for table in ("run", "report"):
        lines += ["", f"[{table}]"]
        for name, (section, key) in _PLACES.items():
            value = getattr(config, name)
            if section == table and value is not None:
                lines.append(f"{key} = {_toml(value)}")
        if table == "run":
            lines.append(f"generate_reports = {_toml(has_reports)}")
    lines += ["", "[gpu]", *_keys(config.gpu)]
    for name, component in config.components.items():
        lines += ["", f"[components.{_key(name)}]", *_keys(component)]
        if component.thresholds:
            lines += ["", f"[components.{_key(name)}.thresholds]"]
            lines += [f"{_key(metric)} = {_toml(float(limit))}" for metric, limit in component.thresholds.items()]
    return "\n".join(lines[1:]) + "\n"


def _keys(settings: Any) -> list[str]:
    values = {one.name: getattr(settings, one.name) for one in dataclasses.fields(settings) if one.name != "thresholds"}
    return [f"{name} = {_toml(value)}" for name, value in values.items()]


def _key(name: str) -> str:
    is_bare = name.isascii() and all(letter.isalnum() or letter in "-_" for letter in name)
    return name if name and is_bare else json.dumps(name, ensure_ascii=False)


def _toml(value: Any) -> str:
    """Returns a value as TOML, which writes strings, lists and booleans as JSON does."""
    return json.dumps(value, ensure_ascii=False)


def _problems(config: GlobalBenchmarkConfig) -> list[str]:
    """Returns the errors in the values of a configuration."""
    found = _wrong_types(config, "", {"baseline_run_id", "components", "gpu"})
    if not _is_text_or_none(config.baseline_run_id):
        found.append(f"baseline_run_id is {config.baseline_run_id!r}; write a text")
    wrong = _wrong_types(config.gpu, "gpu.", set())
    found += wrong or _too_small(config.gpu, "gpu.", {"timeout_seconds": 1})
    if not wrong and not all(_is_index(one) for one in config.gpu.gpu_indices):
        found.append(f"gpu.gpu_indices is {config.gpu.gpu_indices!r}; use integers of at least 0")
    for name, component in config.components.items():
        where = f"components.{name}."
        try:
            check_component(name)
        except ValueError as error:
            found.append(str(error))
        wrong_types = _wrong_types(component, where, set())
        if wrong_types:
            found += wrong_types
            continue
        found += _too_small(component, where, {"timeout_seconds": 1, "num_runs": 10, "warmup_runs": 0})
        if component.num_runs > _MOST_RUNS:
            found.append(f"{where}num_runs is {component.num_runs}; use at most {_MOST_RUNS}")
        unknown = [metric for metric in component.metrics if metric not in METRICS]
        if unknown:
            found.append(f"{where}metrics has {unknown[0]!r}; use some of {', '.join(METRICS)}")
        for metric, limit in component.thresholds.items():
            if not _is_finite(limit):
                found.append(f"{where}thresholds.{metric} is not a finite number")
            if is_lower_better(metric) is None:
                found.append(f"{where}thresholds.{metric} is no target; use a metric of docs/glossary.md, such as tflops")
    return found


def _wrong_types(settings: Any, where: str, others: set[str]) -> list[str]:
    """Returns the values whose type is not that of the default."""
    usual: Any = type(settings)()
    found: list[str] = []
    for one in dataclasses.fields(settings):
        value: object = getattr(settings, one.name)
        default: object = getattr(usual, one.name)
        if one.name not in others and type(value) is not type(default):
            found.append(f"{where}{one.name} is {value!r}; write a value such as {_toml(default)}")
    return found


def _too_small(settings: Any, where: str, least: Mapping[str, int]) -> list[str]:
    values = {name: getattr(settings, name) for name in least}
    return [
        f"{where}{name} is {value}; use at least {least[name]}"
        for name, value in values.items()
        if isinstance(value, int) and value < least[name]
    ]


def _is_index(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_finite(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_text_or_none(value: object) -> bool:
    return value is None or isinstance(value, str)


def _is_dict(value: object) -> bool:
    return isinstance(value, dict)
