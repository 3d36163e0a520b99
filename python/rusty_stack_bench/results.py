"""Results of benchmarks: one per case, with a type per workload."""
from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, Union, cast


class Outcome(str, enum.Enum):
    """How a case ended."""

    MEASURED = "measured"
    SKIPPED = "skipped"
    FAILED = "failed"
    # Ran on an emulated GPU, whose times are meaningless.
    SIMULATED = "simulated"


@dataclass(frozen=True)
class Reason:
    """Why a case has no measurements."""

    what: str
    why: str
    cure: str
    # Kind of obstacle, such as `missing_package`, for programs that handle it.
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

    @property
    def device(self) -> str:
        """The device of the case, such as `cpu:0`; only the backend if this machine has no such device."""
        parts = self.benchmark_id.split("/")
        return parts[2] if len(parts) > 2 else "none"

    @property
    def precision(self) -> str | None:
        """The data type of the elements, such as `f16`; alias of `dtype`."""
        return self.dtype

    @property
    def num_runs(self) -> int:
        """Number of samples of all processes."""
        return sum(len(one.times_ns) for one in self.samples)

    @property
    def throughput_tflops(self) -> float | None:
        """Operations over time, in TFLOP/s; alias of `tflops`."""
        return self.fields.get("tflops")

    def record(self) -> dict[str, Any]:
        """Returns the result as a record of the run format."""
        fields = dataclasses.asdict(self.reason) if self.reason else {}
        reason = {name: value for name, value in fields.items() if value is not None}
        return {
            "benchmark_id": self.benchmark_id,
            "timestamp": self.timestamp,
            "benchmark_type": self.benchmark_id.split("/")[0],
            "category": self.benchmark_id.split("/")[1],
            "outcome": self.outcome.value,
            **reason,
            "device_type": self.device_type,
            "results": [dict(self.fields)] if self.fields else [],
            "samples": [dataclasses.asdict(one) for one in self.samples],
            "metadata": {"parameters": dict(self.parameters), "replicates": len(self.samples)},
        }


Kind = TypeVar("Kind", bound=Result)
Entry = TypeVar("Entry")


class ResultList(list[Entry]):
    """Results of a benchmark: a list, which notebooks show as a table."""

    def to_pandas(self) -> Any:
        """Returns one row per result as a `pandas.DataFrame`.

        Raises:
            ImportError: if pandas is not installed.
        """
        from .tables import to_pandas

        return to_pandas(self)

    def to_polars(self) -> Any:
        """Returns one row per result as a `polars.DataFrame`.

        Raises:
            ImportError: if Polars is not installed.
        """
        from .tables import to_polars

        return to_polars(self)

    def _repr_html_(self) -> str:
        """Returns an HTML table, for notebooks."""
        from .tables import rows

        return rows(self).html()


def typed(kind: type[Kind], result: Result) -> Kind:
    """Converts a result to `kind`, with fields as attributes; missing fields are None."""
    own: dict[str, Any] = {one.name: getattr(result, one.name) for one in dataclasses.fields(Result)}
    more = {one.name for one in dataclasses.fields(kind)} - set(own)
    own.update((name, result.fields.get(name)) for name in more)
    return kind(**own)


def from_record(kind: type[Kind], record: Mapping[str, Any]) -> Kind:
    """Converts a record of the run format to a result of type `kind`."""
    rows: Sequence[Mapping[str, Any]] = record.get("results") or [{}]
    metadata: Mapping[str, Any] = record.get("metadata") or {}
    taken: Sequence[Mapping[str, Any]] = record.get("samples") or []
    fields = rows[0]
    reason = None
    if record.get("what") is not None:
        reason = Reason(record["what"], record["why"], record["cure"], record.get("obstacle"))
    time_ms = fields.get("time_ms")
    if time_ms is None and fields.get("time_us") is not None:
        time_ms = fields["time_us"] / 1e3
    names = ("dtype", "accuracy_error", "memory_used_mb", "component_version")
    general: dict[str, Any] = {name: fields.get(name) for name in names}
    result = Result(
        benchmark_id=record["benchmark_id"],
        outcome=Outcome(record["outcome"]),
        reason=reason,
        device_type=record.get("device_type"),
        parameters=metadata.get("parameters") or {},
        samples=[Samples(one["replicate"], one["iters"], one["times_ns"]) for one in taken],
        fields=fields,
        timestamp=record["timestamp"],
        time_ms=time_ms,
        **general,
    )
    return typed(kind, result)


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
    stride: int | None = None
    padding: int | None = None
    dilation: int | None = None
    groups: int | None = None
    tflops: float | None = None
    throughput_samples_per_second: float | None = None


@dataclass(frozen=True)
class TransferResult(Result):
    """Result of a copy between the host and a GPU, within a GPU, or between GPUs."""

    operation: str | None = None
    size_bytes: int | None = None
    bandwidth_gb_s: float | None = None

    @property
    def direction(self) -> str | None:
        """The direction of the copy, such as `cpu_to_gpu`; alias of `operation`."""
        return self.operation


@dataclass(frozen=True)
class AutogradResult(Result):
    """Result of a forward or backward pass.

    `time_ms` is the time of `operation`. The times of both passes of the same layers are in
    `forward_time_ms` and `backward_time_ms` if both were measured.
    """

    operation: str | None = None
    input_shape: str | None = None
    forward_time_ms: float | None = None
    backward_time_ms: float | None = None
    tflops: float | None = None
    memory_allocated_mb: float | None = None
    gradient_norm: float | None = None

    @property
    def time_forward_ms(self) -> float | None:
        """Time of the forward pass; alias of `forward_time_ms`."""
        return self.forward_time_ms

    @property
    def time_backward_ms(self) -> float | None:
        """Time of the backward pass; alias of `backward_time_ms`."""
        return self.backward_time_ms


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

    batch_size: int | None = None
    num_heads: int | None = None
    head_dim: int | None = None
    sequence_length: int | None = None
    causal: bool | None = None
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

    num_prompts: int | None = None
    num_requests: int | None = None
    prompt_length: int | None = None
    output_length: int | None = None
    total_latency_ms: float | None = None
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

    @property
    def max_tokens(self) -> int | None:
        """Tokens generated per request; alias of `output_length`."""
        return self.output_length


@dataclass(frozen=True)
class KernelResult(Result):
    """Result of compiling or running a kernel."""

    operation: str | None = None
    gfx_target: str | None = None
    source_file: str | None = None
    input_shape: str | None = None
    output_shape: str | None = None
    num_stages: int | None = None
    num_warps: int | None = None
    code_object_bytes: float | None = None
    occupancy_percent: float | None = None
    compile_time_ms: float | None = None
    registers: int | None = None
    spills: int | None = None
    shared_mem_bytes: int | None = None
    comparison_to_pytorch: float | None = None
    comparison_to_compiled: float | None = None
    throughput_gb_s: float | None = None
    tflops: float | None = None

    @property
    def kernel_name(self) -> str | None:
        """The kernel, or the source file that was compiled; alias of `operation`."""
        return self.source_file or self.operation

    @property
    def input_shapes(self) -> str | None:
        """Sizes of the input; alias of `input_shape`."""
        return self.input_shape

    @property
    def output_shapes(self) -> str | None:
        """Sizes of the output; alias of `output_shape`."""
        return self.output_shape


@dataclass(frozen=True)
class TrainingResult(Result):
    """Result of training steps on several ranks."""

    zero_stage: int | None = None
    num_ranks: int | None = None
    batch_size: int | None = None
    forward_time_ms: float | None = None
    backward_time_ms: float | None = None
    optimizer_step_time_ms: float | None = None
    memory_saved_gb: float | None = None
    model_size_gb: float | None = None
    communication_overhead_ms: float | None = None
    communication_overhead_percent: float | None = None
    speedup: float | None = None
    efficiency: float | None = None

    @property
    def stage(self) -> int | None:
        """The stage of ZeRO; alias of `zero_stage`."""
        return self.zero_stage

    @property
    def num_gpus(self) -> int | None:
        """GPUs used, one for each rank; alias of `num_ranks`. On a CPU the number of processes."""
        return self.num_ranks


@dataclass(frozen=True)
class InferenceResult(Result):
    """Result of running a model, or of running or compiling a graph."""

    model: str | None = None
    network: str | None = None
    batch_size: int | None = None
    sequence_length: int | None = None
    input_shape: str | None = None
    output_shape: str | None = None
    forward_time_ms: float | None = None
    total_time_ms: float | None = None
    ttft_ms: float | None = None
    tokens_per_second: float | None = None
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

    @property
    def model_name(self) -> str | None:
        """Name of the model, or type of the network."""
        return self.fields.get("model_name") or self.model or self.network


class MemoryOperation(str, enum.Enum):
    """How memory is accessed."""

    READ = "read"
    WRITE = "write"
    COPY = "copy"
    # Each element is read and overwritten.
    READ_WRITE = "read_write"


class PrecisionType(str, enum.Enum):
    """Data types of matrix products that are compared."""

    FP32 = "fp32"
    FP16 = "fp16"
    BF16 = "bf16"
    TF32 = "tf32"


class TensorPrecision(str, enum.Enum):
    """Data types of operations on tensors."""

    FP32 = "fp32"
    FP16 = "fp16"
    BF16 = "bf16"
    TF32 = "tf32"
    INT8 = "int8"
    INT4 = "int4"


@dataclass(frozen=True)
class MemoryBandwidthResult(Result):
    """Result of reading, writing or copying arrays. `std_dev` is the standard deviation of the time of a pass, in ms."""

    operation: str | None = None
    size_bytes: int | None = None
    bandwidth_gb_s: float | None = None
    memory_tier: str | None = None
    warmup_runs: float | None = None
    std_dev: float | None = None

    @property
    def latency_us(self) -> float | None:
        """Time of one pass over the array, or of one dependent read, in µs."""
        return self.fields.get("latency_us", self.fields.get("time_us"))


@dataclass(frozen=True)
class HBMBandwidthResult:
    """Bandwidth of one memory for one size of array, in GB/s, from the results in `results`.

    `latency_us` is the time of one dependent read, in µs. Values that were not measured are None;
    `reason` is why.
    """

    # `device`, the memory of a GPU, or `host`, that of the CPU.
    memory_tier: str
    device: str
    size_bytes: int | None
    read_bandwidth_gb_s: float | None
    write_bandwidth_gb_s: float | None
    copy_bandwidth_gb_s: float | None
    latency_us: float | None
    outcome: Outcome
    reason: Reason | None
    results: list[MemoryBandwidthResult]

    @property
    def is_measured(self) -> bool:
        """Whether all values were measured."""
        return self.outcome is Outcome.MEASURED


# What a benchmark returned: a result, its record in a run, a run, or several of them.
Results = Union[Result, HBMBandwidthResult, Mapping[str, Any], Sequence[Any]]


def records_of(results: Results) -> list[dict[str, Any]]:
    """Returns the records of results in any form.

    Args:
        results: a result, a record, a run, or several of them. An `HBMBandwidthResult` is replaced by
            the results that it was joined from.

    Raises:
        TypeError: if an entry has another type.
    """
    if isinstance(results, Result):
        return [results.record()]
    if isinstance(results, HBMBandwidthResult):
        return [one.record() for one in results.results]
    if isinstance(results, Mapping):
        found: Mapping[str, Any] = results
        return [dict(one) for one in found.get("benchmarks", [found])]
    if isinstance(results, str) or not _is_iterable(results):
        raise TypeError(f"{type(results).__name__} is not a result; pass what a benchmark or run_suite returned")
    return [record for one in results for record in records_of(cast(Results, one))]


def _is_iterable(value: object) -> bool:
    return isinstance(value, Iterable)


@dataclass(frozen=True)
class TensorCoreInfo:
    """The matrix unit of a GPU. Unknown values are None; peaks are in TFLOP/s."""

    # Whether the GPU has a matrix unit; None if its architecture is unknown.
    available: bool | None
    # Instruction set, such as `gfx942` or `sm_90`.
    architecture: str | None = None
    # Data types of the matrix unit's instructions, such as `f16`.
    supported_dtypes: tuple[str, ...] = ()
    # Tiles m x n x k of the instructions for f16.
    matrix_size: str | None = None
    peak_tflops_fp16: float | None = None
    peak_tflops_bf16: float | None = None
    peak_tflops_tf32: float | None = None
    # Generation of the WMMA unit of an AMD Radeon GPU.
    wmma_version: int | None = None
    # Why the values are unknown.
    reason: Reason | None = None


@dataclass(frozen=True)
class PrecisionBenchmarkResult(Result):
    """Result of an operation in one data type, compared with the type in `speedup_over`."""

    operation: str | None = None
    tflops: float | None = None
    throughput_gb_s: float | None = None
    memory_bandwidth_gb_s: float | None = None
    utilization_percent: float | None = None
    # How many times faster than in the type `speedup_over`; both are measured in one process.
    speedup: float | None = None
    speedup_over: str | None = None
    reference_accuracy_error: float | None = None
    input_error: float | None = None

    @property
    def matrix_size(self) -> tuple[int, ...] | None:
        """The sizes m, n and k."""
        side = self.parameters.get("n")
        return None if side is None else (int(side),) * 3


@dataclass(frozen=True)
class Accuracy:
    """Error of a result, relative to the largest value of the reference."""

    precision: str
    accuracy_error: float
    # Largest error that verification accepts for the data type.
    accuracy_limit: float

    @property
    def is_within(self) -> bool:
        """Whether the error is at most the limit; False for NaN."""
        return self.accuracy_error <= self.accuracy_limit


@dataclass(frozen=True)
class TensorOpResult(Result):
    """Result of an element-wise, reducing or row-wise operation."""

    operation: str | None = None
    input_shape: str | None = None
    output_shape: str | None = None
    throughput_gb_s: float | None = None
    memory_bandwidth_gb_s: float | None = None
    utilization_percent: float | None = None

    @property
    def throughput(self) -> float | None:
        """Bytes of input and output over time, in GB/s; alias of `throughput_gb_s`."""
        return self.throughput_gb_s


@dataclass(frozen=True)
class GEMMResult(Result):
    """Result of alpha * A * B + beta * C, with m x k and k x n elements in A and B."""

    m: int | None = None
    n: int | None = None
    k: int | None = None
    transpose: str | None = None
    tflops: float | None = None
    arithmetic_intensity: float | None = None
    roofline_percent: float | None = None
    utilization_percent: float | None = None
    memory_bandwidth_gb_s: float | None = None
    strides_a: str | None = None
    strides_b: str | None = None
    strides_c: str | None = None

    @property
    def roofline_performance(self) -> float | None:
        """Highest rate of the device at this arithmetic intensity, in TFLOP/s."""
        if self.tflops is None or not self.roofline_percent:
            return None
        return 100.0 * self.tflops / self.roofline_percent


@dataclass(frozen=True)
class MultiGPUResult(Result):
    """Result of a training step on several GPUs."""

    num_gpus: int | None = None
    model_size_gb: float | None = None
    batch_size: int | None = None
    time_per_step_ms: float | None = None
    speedup: float | None = None
    efficiency: float | None = None
    communication_backend: str | None = None
    communication_overhead_ms: float | None = None
    memory_utilization_percent: float | None = None


@dataclass(frozen=True)
class CollectiveResult(Result):
    """Result of a collective operation of several GPUs."""

    operation: str | None = None
    size_bytes: int | None = None
    num_gpus: int | None = None
    algorithm: str | None = None
    communication_backend: str | None = None
    # Bandwidth of each link, which does not depend on the number of GPUs.
    bandwidth_gb_s: float | None = None
    # Size of the buffer divided by the time.
    throughput_gb_s: float | None = None


@dataclass(frozen=True)
class ComputeUtilizationResult(Result):
    """Occupancy of a kernel, and counters that a profiler read while the kernel ran."""

    operation: str | None = None
    grid_size: int | None = None
    block_size: int | None = None
    occupancy_percent: float | None = None
    sm_efficiency_percent: float | None = None
    warp_efficiency_percent: float | None = None
    global_memory_efficiency_percent: float | None = None
    # Source of the counters, and why some of them are None.
    counters_note: str | None = None
    registers: float | None = None
    recommended_block_size: int | None = None


@dataclass(frozen=True)
class ROCmDriverInfo:
    """The ROCm installation that programs on this machine would use. Unknown values are None."""

    version: str | None = None
    installed_path: str | None = None
    build_date: str | None = None
    commit_hash: str | None = None
    platforms: tuple[str, ...] | None = None
    # Versions by name of the component.
    components: Mapping[str, str] | None = None
    # Instruction sets for which its libraries have kernels.
    supported_gpus: tuple[str, ...] | None = None
    compiler_version: str | None = None
    HSA_VERSION: str | None = None
    ROCM_SMI_VERSION: str | None = None

    @property
    def is_installed(self) -> bool:
        """Whether there is an installation."""
        return self.installed_path is not None


@dataclass(frozen=True)
class ROCmSMIMetrics(Result):
    """Sensor readings of a GPU over a period: the highest temperature and memory, and means of the other values.

    Temperatures are in °C, power in W, memory in MB. `snapshots` has the values of each reading.
    """

    gpu_temperature_c: float | None = None
    gpu_power_w: float | None = None
    gpu_memory_used_mb: float | None = None
    gpu_memory_total_mb: float | None = None
    gpu_utilization_percent: float | None = None
    gpu_clock_mhz: float | None = None
    gpu_throttled: bool | None = None
    duration_seconds: float | None = None
    sample_interval_ms: float | None = None
    # Number of GPUs that were read at the same time.
    num_gpus: int | None = None
    snapshots: list[dict[str, Any]] | None = None

    @property
    def compute_utilization_percent(self) -> float | None:
        """Share of time that the compute units were busy; alias of `gpu_utilization_percent`."""
        return self.gpu_utilization_percent


@dataclass(frozen=True)
class PerformanceBaseline:
    """Best values of a short run, which is saved as the baseline `installation`. Unknown values are None."""

    # The ROCm installation and the versions of PyTorch and Python.
    device_info: Mapping[str, Any]
    # Device on which the values were measured, such as `rocm:0`.
    device: str | None
    peak_memory_bandwidth_gb_s: float | None
    peak_compute_tflops_fp32: float | None
    peak_compute_tflops_fp16: float | None
    # Sizes in bytes of one L1 cache, of one L2 cache, and of the memory of the GPU.
    cache_size_l1: int | None
    cache_size_l2: int | None
    cache_size_hbm: int | None
    clock_rate_mhz: float | None
    num_compute_units: int | None
    timestamp: str
    run_id: str
    # Reasons for values that are None, by name.
    unknown: Mapping[str, str]
    # The whole document, as schemas/performance-baseline.schema.json describes it.
    document: Mapping[str, Any]


# Other names of these types.
MemoryTransferResult = TransferResult
TritonCompilationResult = KernelResult
TritonOpResult = KernelResult
ZeROResult = TrainingResult
TensorParallelResult = TrainingResult
MemorySavingsResult = AttentionResult
vLLMThroughputResult = GenerationResult
vLLMLatencyResult = GenerationResult
vLLMBatchResult = GenerationResult
ONNXOptimizationResult = InferenceResult
ONNXInferenceResult = InferenceResult
MIGraphXCompilationResult = InferenceResult
MIGraphXInferenceResult = InferenceResult
