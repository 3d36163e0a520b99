"""Results of benchmarks: one per case, with a type per workload."""
from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar


class Outcome(str, enum.Enum):
    """How a case ended."""

    MEASURED = "measured"
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(frozen=True)
class Reason:
    """Why a case has no measurements."""

    what: str
    why: str
    cure: str
    # Kind of the obstacle if programs distinguish it, such as `missing_package`.
    obstacle: str | None = None


@dataclass(frozen=True)
class Samples:
    """Samples of one process: for each, the number of iterations and their total time in nanoseconds."""

    replicate: int
    iters: list[int]
    times_ns: list[float]

    @property
    def per_iteration_ns(self) -> list[float]:
        """Returns the time per iteration of each sample, in nanoseconds."""
        return [time_ns / iters for time_ns, iters in zip(self.times_ns, self.iters)]


@dataclass(frozen=True)
class Result:
    """The result of one case: its id, outcome, and every field of its workload."""

    benchmark_id: str
    outcome: Outcome
    reason: Reason | None
    device_type: str | None
    parameters: Mapping[str, str]
    samples: list[Samples]
    fields: Mapping[str, Any]
    timestamp: str
    time_ms: float | None = None
    dtype: str | None = None
    accuracy_error: float | None = None
    memory_used_mb: float | None = None
    component_version: str | None = None

    @property
    def is_measured(self) -> bool:
        """Whether the case was measured."""
        return self.outcome is Outcome.MEASURED

    def record(self) -> dict[str, Any]:
        """Returns the result as a record of the run format."""
        told = dataclasses.asdict(self.reason) if self.reason else {}
        reason = {name: value for name, value in told.items() if value is not None}
        return {
            "benchmark_id": self.benchmark_id,
            "timestamp": self.timestamp,
            "benchmark_type": "component_specific",
            "category": self.benchmark_id.split("/")[1],
            "outcome": self.outcome.value,
            **reason,
            "device_type": self.device_type,
            "results": [dict(self.fields)] if self.fields else [],
            "samples": [dataclasses.asdict(one) for one in self.samples],
            "metadata": {"parameters": dict(self.parameters), "replicates": len(self.samples)},
        }


Kind = TypeVar("Kind", bound=Result)


def typed(kind: type[Kind], result: Result) -> Kind:
    """Converts a result to `kind`, with fields as attributes; missing fields are None."""
    own: dict[str, Any] = {one.name: getattr(result, one.name) for one in dataclasses.fields(Result)}
    more = {one.name for one in dataclasses.fields(kind)} - set(own)
    own.update((name, result.fields.get(name)) for name in more)
    return kind(**own)


@dataclass(frozen=True)
class MatmulResult(Result):
    """Result of a matrix product."""

    m: int | None = None
    n: int | None = None
    k: int | None = None
    transpose: str | None = None
    tflops: float | None = None
    utilization_percent: float | None = None
    memory_read_gb: float | None = None
    memory_write_gb: float | None = None


@dataclass(frozen=True)
class ConvolutionResult(Result):
    """Result of a 2-D convolution."""

    input_shape: str | None = None
    weight_shape: str | None = None
    output_shape: str | None = None
    tflops: float | None = None
    throughput_samples_per_second: float | None = None


@dataclass(frozen=True)
class TransferResult(Result):
    """Result of a copy between the host and a GPU, within a GPU, or between GPUs."""

    operation: str | None = None
    size_bytes: int | None = None
    bandwidth_gb_s: float | None = None


@dataclass(frozen=True)
class AutogradResult(Result):
    """Result of a forward or backward pass."""

    operation: str | None = None
    tflops: float | None = None
    memory_allocated_mb: float | None = None
    gradient_norm: float | None = None


@dataclass(frozen=True)
class StepResult(Result):
    """Result of a training step: its phases, and its memory at the peak by category."""

    forward_time_ms: float | None = None
    backward_time_ms: float | None = None
    optimizer_step_time_ms: float | None = None
    tokens_per_second: float | None = None
    model_memory_mb: float | None = None
    gradients_memory_mb: float | None = None
    optimizer_memory_mb: float | None = None
    activations_memory_mb: float | None = None
    other_memory_mb: float | None = None
    memory_timeline: dict[str, Any] | None = None


@dataclass(frozen=True)
class CompileResult(Result):
    """Result of a compilation, or of running compiled code."""

    compile_time_ms: float | None = None
    speedup: float | None = None


@dataclass(frozen=True)
class LayerNormResult(Result):
    """Result of layer normalization."""

    input_shape: str | None = None
    throughput_gb_s: float | None = None


@dataclass(frozen=True)
class AttentionResult(Result):
    """Result of attention by any kernel."""

    tflops: float | None = None
    tokens_per_second: float | None = None
    speedup: float | None = None
    alternative: str | None = None
    speedup_over_alternative: float | None = None
    flash_memory_mb: float | None = None
    standard_memory_mb: float | None = None
    savings_percent: float | None = None
    kernel_used: str | None = None


@dataclass(frozen=True)
class GenerationResult(Result):
    """Result of token generation by a model."""

    tokens_per_second: float | None = None
    requests_per_second: float | None = None
    ttft_ms: float | None = None
    tpot_ms: float | None = None
    total_time_ms: float | None = None
    forward_time_ms: float | None = None
    goodput_requests_per_second: float | None = None
    failed_requests: int | None = None
    model_name: str | None = None
    batch_size: int | None = None
    total_tokens: int | None = None
    time_total_seconds: float | None = None
    p50_latency_ms: float | None = None
    p99_latency_ms: float | None = None
    prefix_cache_hit_percent: float | None = None
    gpu_memory_peak_mb: float | None = None


@dataclass(frozen=True)
class KernelResult(Result):
    """Result of compiling or running a kernel."""

    compile_time_ms: float | None = None
    registers: int | None = None
    spills: int | None = None
    shared_mem_bytes: int | None = None
    comparison_to_pytorch: float | None = None
    comparison_to_compiled: float | None = None
    throughput_gb_s: float | None = None
    tflops: float | None = None


@dataclass(frozen=True)
class TrainingResult(Result):
    """Result of training steps on several ranks."""

    forward_time_ms: float | None = None
    backward_time_ms: float | None = None
    optimizer_step_time_ms: float | None = None
    memory_saved_gb: float | None = None
    model_size_gb: float | None = None
    communication_overhead_ms: float | None = None
    communication_overhead_percent: float | None = None
    speedup: float | None = None
    efficiency: float | None = None


@dataclass(frozen=True)
class InferenceResult(Result):
    """Result of running or compiling a graph."""

    provider: str | None = None
    latency_p50_ms: float | None = None
    latency_p99_ms: float | None = None
    throughput_samples_per_second: float | None = None
    original_nodes: int | None = None
    optimized_nodes: int | None = None
    optimized_graph_nodes: int | None = None
    optimization_level: str | None = None
    optimization_time_ms: float | None = None
    compile_time_ms: float | None = None
    compilation_time_ms: float | None = None
    inference_time_ms: float | None = None
    execution_time_ms: float | None = None
    memory_footprint_mb: float | None = None
    memory_savings_mb: float | None = None
    # Only from GPUs with sensors; None on a CPU.
    gpu_utilization_percent: float | None = None
    speedup: float | None = None
