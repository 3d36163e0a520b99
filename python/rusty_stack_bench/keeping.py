"""Stores and gates results with the program's own code, in the same results directory."""
from __future__ import annotations

import enum
import json
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Union

from .arguments import named_arguments
from .results import Results, records_of

Path = Union[str, "PathLike[str]"]


class Verdict(str, enum.Enum):
    """The verdict on one case, or on all of them."""

    IMPROVED = "Improved"
    REGRESSED = "Regressed"
    UNCHANGED = "Unchanged"
    INCONCLUSIVE = "Inconclusive"
    NOT_COMPARABLE = "NotComparable"


@dataclass(frozen=True)
class Row:
    """One metric of one case on both sides."""

    benchmark_id: str
    metric: str
    baseline_value: float | None
    current_value: float | None
    difference_percent: float | None
    verdict: Verdict
    reason: str


@dataclass(frozen=True)
class Comparison:
    """The verdict of each case, and the worst verdict of all cases."""

    verdict: Verdict
    rows: list[Row]
    missing: list[str]
    new: list[str]

    @property
    def regressed(self) -> list[Row]:
        """Returns the rows that regressed."""
        return [row for row in self.rows if row.verdict is Verdict.REGRESSED]


@named_arguments
def store(
    results: Results, results_dir: Path = "benchmark_results", suite: str = "python", save_samples: bool = True
) -> str:
    """Stores results as one run.

    Args:
        results: what one or more benchmarks returned.
        results_dir: the results directory; it is created if it does not exist.
        suite: the name of the run's suite. Only runs of the same suite are compared with a saved
            baseline.
        save_samples: whether to store the samples, or only metrics and statistics.

    Returns:
        The path of the run's file, which the subcommands of the program also accept.

    Raises:
        ValueError: if a result has a field that docs/glossary.md does not list.
        OSError: if the run cannot be written.
    """
    from . import _native

    return _native.store(json.dumps(records_of(results)), str(results_dir), suite, save_samples)


@named_arguments
def gate(
    baseline: Path | Sequence[Path],
    current: Path | Sequence[Path],
    threshold_percent: float | None = None,
    policy: Path | None = None,
) -> Comparison:
    """Compares stored runs with a baseline.

    Args:
        baseline: the file of a run; several files are replicates of each other.
        current: the same, for the runs to judge.
        threshold_percent: replaces the threshold of the policy, in percent.
        policy: a policy file; by default `baselines/policy.toml`, if it exists.

    Returns:
        The verdict of each case, and the worst of them. Cases that the policy excludes are reported as a
        warning.

    Raises:
        ValueError: if a file cannot be read as a run, or the policy is invalid.
    """
    from . import _native

    def files(side: Path | Sequence[Path]) -> list[str]:
        return [str(side)] if isinstance(side, (str, PathLike)) else [str(one) for one in side]

    found = json.loads(_native.gate(files(baseline), files(current), threshold_percent, None if policy is None else str(policy)))
    rows = [
        Row(
            benchmark_id=row["id"],
            metric=row["metric"],
            baseline_value=row["baseline_value"],
            current_value=row["current_value"],
            difference_percent=row["difference_percent"],
            verdict=Verdict(row["verdict"]),
            reason=row["reason"],
        )
        for row in found["comparisons"]
    ]
    return Comparison(Verdict(found["verdict"]), rows, found["missing"], found["new"])
