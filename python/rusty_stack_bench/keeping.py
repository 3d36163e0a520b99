"""Results are kept and judged as the program does: by the same code, in the same directory."""
from __future__ import annotations

import enum
import json
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Union

from .results import Result

Path = Union[str, "PathLike[str]"]


class Verdict(str, enum.Enum):
    """The conclusion on one case, or on all."""

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
    """What became of each case, and the worst of all."""

    verdict: Verdict
    rows: list[Row]
    missing: list[str]
    new: list[str]

    @property
    def regressed(self) -> list[Row]:
        """What got slower."""
        return [row for row in self.rows if row.verdict is Verdict.REGRESSED]


def store(
    results: Sequence[Result], results_dir: Path = "benchmark_results", suite: str = "python", save_samples: bool = True
) -> str:
    """Keeps `results` as one run; the path of its file, which the program's verbs take too. Without samples its figures and
    statistics are kept."""
    from . import _native

    return _native.store(json.dumps([result.record() for result in results]), str(results_dir), suite, save_samples)


def gate(
    baseline: Path | Sequence[Path],
    current: Path | Sequence[Path],
    threshold_percent: float | None = None,
    policy: Path | None = None,
) -> Comparison:
    """Judges stored runs against others; several files on a side are replicates of one another.

    The policy of the project counts, as for the program: the file named, else `baselines/policy.toml` where there is
    one. `threshold_percent` replaces its threshold. What it leaves out is said in a warning.
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
