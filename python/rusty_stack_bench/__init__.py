"""Benchmarks of ML frameworks: measured, verified, stored and gated as by `rusty-stack-bench`.

    from rusty_stack_bench import gate, store
    from rusty_stack_bench.pytorch import benchmark_matmul

    results = benchmark_matmul(sizes=[(1024, 1024, 1024)], dtypes=["bf16"])
    path = store(results)

`@benchmark` measures your own functions, and `BenchmarkRunner` runs suites; see docs/extending.md.
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .analysis import BenchmarkComparator, DegradationDetector, StatisticalAnalyzer, TrendAnalyzer
    from .charts import ASCIIChartGenerator
    from .custom import Benchmark, benchmark
    from .keeping import Comparison, Verdict, gate, store
    from .results import Outcome, Reason, Result, Samples
    from .runner import BenchmarkRunner, BenchmarkRunnerConfig, ProgramError
    from .stored import ReportGenerator, ResultsPersistence

__all__ = [
    "ASCIIChartGenerator",
    "Benchmark",
    "BenchmarkComparator",
    "BenchmarkRunner",
    "BenchmarkRunnerConfig",
    "Comparison",
    "DegradationDetector",
    "Outcome",
    "ProgramError",
    "Reason",
    "ReportGenerator",
    "Result",
    "ResultsPersistence",
    "Samples",
    "StatisticalAnalyzer",
    "TrendAnalyzer",
    "Verdict",
    "benchmark",
    "gate",
    "store",
]

# Public names of each module. A module is imported when one of its names is first used: the copy of
# this package that the program's worker uses contains only this file and `workloads`.
_NAMES = {
    "_native": (),
    "analysis": ("BenchmarkComparator", "DegradationDetector", "StatisticalAnalyzer", "TrendAnalyzer"),
    "cases": (),
    "charts": ("ASCIIChartGenerator",),
    "custom": ("Benchmark", "benchmark"),
    "keeping": ("Comparison", "Verdict", "gate", "store"),
    "measuring": (),
    "results": ("Outcome", "Reason", "Result", "Samples"),
    "runner": ("BenchmarkRunner", "BenchmarkRunnerConfig", "ProgramError"),
    "stored": ("ReportGenerator", "ResultsPersistence"),
}


def __getattr__(name: str) -> Any:
    """Imports a module of this package, or the module of a public name, on first use (PEP 562).

    Raises:
        AttributeError: if the package has no such name.
        ImportError: if this copy of the package lacks the module, such as the compiled extension
            `_native`.
    """
    for module, names in _NAMES.items():
        if name == module:
            return _module(module)
        if name in names:
            return getattr(_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _module(name: str) -> Any:
    full = f"{__name__}.{name}"
    try:
        return importlib.import_module(full)
    except ModuleNotFoundError as error:
        if error.name != full:
            raise
        what = "its compiled extension" if name == "_native" else f"its module {name}"
        why = f"this copy of rusty_stack_bench lacks {what}; run `pip install ./python` in the repository of rusty-stack-bench"
        raise ImportError(why, name=full) from error
