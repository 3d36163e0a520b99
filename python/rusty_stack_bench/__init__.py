"""Benchmarks of ML frameworks for people who live in Python: measured, verified, stored and gated as by the program.

    from rusty_stack_bench import gate, store
    from rusty_stack_bench.pytorch import benchmark_matmul

    results = benchmark_matmul(sizes=[(1024, 1024, 1024)], dtypes=["bf16"])
    path = store(results)

Functions of your own are measured with `@benchmark`, and suites with `BenchmarkRunner`: docs/extending.md.
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

# The names of each module, which is imported when one of them is first used. The worker of the program has no file of this
# package but this one and `workloads`.
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
    """Imports a module of this package, or the module that has a public name, at its first use (PEP 562).

    Raises:
        AttributeError: if the package has no such name.
        ImportError: if this copy of the package lacks the module, such as the compiled extension `_native`.
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
