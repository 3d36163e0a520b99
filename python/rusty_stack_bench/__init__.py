"""Benchmarks of ML frameworks for people who live in Python: measured, verified, stored and gated as by the program.

    from rusty_stack_bench import gate, store
    from rusty_stack_bench.pytorch import benchmark_matmul

    results = benchmark_matmul(sizes=[(1024, 1024, 1024)], dtypes=["bf16"])
    path = store(results)
"""

from .keeping import Comparison, Verdict, gate, store
from .results import Outcome, Reason, Result, Samples

__all__ = ["Comparison", "Outcome", "Reason", "Result", "Samples", "Verdict", "gate", "store"]
