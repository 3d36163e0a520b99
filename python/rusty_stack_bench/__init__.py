"""Benchmarks of ML frameworks for people who live in Python: measured, verified, stored and gated as by the program.

    from rusty_stack_bench import gate, store
    from rusty_stack_bench.pytorch import benchmark_matmul

    results = benchmark_matmul(sizes=[(1024, 1024, 1024)], dtypes=["bf16"])
    path = store(results)

Functions of your own are measured with `@benchmark`, and suites with `BenchmarkRunner`: docs/extending.md.
"""

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
