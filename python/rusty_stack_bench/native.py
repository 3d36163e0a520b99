"""The program's own kernels: memory, matrix products, precision and element-wise operations.

Functions of this module, `gpu` and `rocm` start the program `rusty-stack-bench` (`PATH`, or the file in
`RUSTY_STACK_BENCH`) and convert its results. Nothing is stored; `store` keeps results as a run.

On a CPU, benchmarks use one thread, with two exceptions: `benchmark_system_ram_bandwidth` uses every thread
that the process may use, except for dependent reads, and `benchmark_memory_bandwidth` has the parameter `threads`.
"""
from __future__ import annotations

import dataclasses
import json
import math
import numbers
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from .arguments import moment, named_arguments
from .cases import PUBLISHED, Dtypes, Size, Sizes, dtype_of, is_integer, listed, plain, shape_of, written
from .measuring import Default, Device, Settings, chosen, device_name, loaded_torch, settings_of
from .program import LISTING, MEASURED, TEMPORARY, answer
from .results import (
    Accuracy,
    GEMMResult,
    HBMBandwidthResult,
    Kind,
    MemoryBandwidthResult,
    Outcome,
    PrecisionBenchmarkResult,
    Result,
    ResultList,
    TensorOpResult,
    from_record,
)

# Values of the axes of a benchmark; None leaves an axis out.
Axes = Mapping[str, Any]
# Bytes of an array by default: more than the caches of most CPUs.
RAM_BYTES = 512 << 20

_BACKENDS = ("cpu", "rocm", "cuda", "vulkan", "opencl", "oneapi")
# Smallest number of samples that the program takes per process.
_FEWEST_RUNS = 10


def place(device: Device, only_gpus: bool = False) -> list[str]:
    """Returns the arguments that select a device.

    Args:
        device: `cpu`, `rocm:0`, `cuda:1`, `vulkan:0` …; without an index the first one. `auto` is the
            first GPU that the program can use, else the CPU.
        only_gpus: whether the benchmark runs only on GPUs. If there is no GPU, `auto` then selects no device,
            so that the result is skipped because of the missing GPU.

    Raises:
        TypeError: if `device` is neither a text nor a device of PyTorch.
        ValueError: if this is not the name of a device.
        RuntimeError: if no device has this index.
    """
    device = device_name(device)
    if device == "auto":
        device = _first_gpu() or ("" if only_gpus else "cpu:0")
        if not device:
            return []
    backend, _, index = device.partition(":")
    if backend not in _BACKENDS or (index and not index.isdecimal()):
        raise ValueError(f"unknown device {device!r}; use auto, or one of {', '.join(_BACKENDS)}, also with an index: cuda:0")
    if backend in ("cpu", "cuda", "rocm"):
        backend, _, index = chosen(device).partition(":")
    return ["--backend", backend, "--device", index or "0"]


def _first_gpu() -> str | None:
    gpus: Sequence[Mapping[str, Any]] = answer(["probe"]).get("gpus") or []
    for gpu in gpus:
        for backend in _BACKENDS[1:]:
            if backend in (gpu.get("backends") or ()):
                return f"{backend}:0"
    return None


def run(
    kind: type[Kind], benchmark: str, cases: Sequence[Axes], selection: Sequence[str], settings: Settings
) -> ResultList[Kind]:
    """Measures every combination of axis values of one benchmark.

    Args:
        kind: the type of the results.
        benchmark: a benchmark of the program, such as `gemm`.
        cases: groups of axis values; each axis has one or several values; None leaves out the axis.
        selection: arguments that select the device, from `place`.
        settings: number of replicates and samples, and the time limit.

    Returns:
        One result per case. Without a device that can run the benchmark, one skipped result with the
        reason.
    """
    with tempfile.TemporaryDirectory(prefix=TEMPORARY) as directory:
        sweep = os.path.join(directory, "sweep.toml")
        with open(sweep, "w", encoding="utf-8") as file:
            file.write("\n".join(_scenario(benchmark, axes) for axes in cases))
        found = results_of(kind, measured(["run", "--sweep", sweep], selection, settings), benchmark)
    if issubclass(kind, MemoryBandwidthResult):
        found = ResultList(dataclasses.replace(one, warmup_runs=settings.warmup) for one in found)
    # Some benchmarks also have a case on the host, in addition to the one on the GPU.
    return ResultList([result for result in found if result.device.partition(":")[0] in selection] or found)


def measured(words: Sequence[str], selection: Sequence[str], settings: Settings, is_run: bool = True) -> Any:
    """Runs a measuring subcommand, and returns the run as a JSON document.

    The program takes at least 10 samples per process, so small sample counts use fewer processes.

    Args:
        words: the subcommand and its arguments.
        selection: arguments that select the device, from `place`.
        settings: number of replicates and samples, and the time limit.
        is_run: whether to return the run itself, not the document that the subcommand derives from it.
    """
    total = settings.replicates * settings.runs
    replicates = max(1, min(settings.replicates, total // _FEWEST_RUNS))
    runs = max(_FEWEST_RUNS, math.ceil(total / replicates))
    with tempfile.TemporaryDirectory(prefix=TEMPORARY) as directory:
        config = os.path.join(directory, "settings.toml")
        with open(config, "w", encoding="utf-8") as file:
            file.write("[run]\nsave_raw_results = true\n")
        results = os.path.join(directory, "results")
        places = ["--config", config, "--results-dir", results]
        counts = ["--replicates", str(replicates), "--runs", str(runs)]
        limits = ["--warmup", str(settings.warmup), "--timeout", str(math.ceil(settings.timeout))]
        document = answer([*words, *places, *counts, *limits, *selection], MEASURED)
        return _run_of(document, results) if is_run and "benchmarks" not in document else document


def _run_of(document: Mapping[str, Any], results_dir: str) -> Any:
    """Returns the run that the document of `models` was made from; only the skipped cases if no run was stored."""
    path = os.path.join(results_dir, "runs", f"{document['run_id']}.json")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    started = moment(datetime.now(timezone.utc))
    skipped: Sequence[Mapping[str, Any]] = document["skipped"]
    records = [{"category": one["benchmark_id"].split("/")[1], "timestamp": started, **one} for one in skipped]
    return {"started": started, "benchmarks": records}


def without_gpu(kind: type[Kind], benchmark: str) -> Kind:
    """Returns the skipped result of a GPU benchmark on a machine without a GPU."""
    return from_record(kind, _unfit(benchmark, moment(datetime.now(timezone.utc)), "no GPU of this machine can be used"))


def _unfit(benchmark: str, timestamp: str, why: str) -> dict[str, Any]:
    return {
        "benchmark_id": f"gpu_performance/{benchmark}/none",
        "outcome": Outcome.SKIPPED.value,
        "timestamp": timestamp,
        "what": f"benchmark {benchmark}",
        "why": why,
        "cure": f"choose a GPU; `{LISTING}` lists the devices",
    }


def results_of(kind: type[Kind], document: Mapping[str, Any], benchmark: str) -> ResultList[Kind]:
    """Returns the results of a benchmark in a run; if it has none, one skipped result with the reason."""
    records: Sequence[Mapping[str, Any]] = document["benchmarks"]
    own = [record for record in records if record.get("category") == benchmark]
    absent = [record for record in records if record.get("category") == "all"]
    unfit = _unfit(benchmark, document["started"], "it does not run on this device")
    return ResultList(from_record(kind, record) for record in own or absent[:1] or [unfit])


def _scenario(benchmark: str, axes: Axes) -> str:
    """Returns a scenario of a sweep file. Strings are written as JSON, which is also valid TOML."""
    empty = [name for name, several in axes.items() if several is not None and not listed(several)]
    if empty:
        raise ValueError(f"{benchmark} has no value for {empty[0]}; give at least one")
    values = {name: [written(one) for one in listed(several)] for name, several in axes.items() if several is not None}
    pairs = ", ".join(f"{name} = {json.dumps(texts)}" for name, texts in values.items())
    return f"[[scenario]]\nbenchmark = {json.dumps(benchmark)}\naxes = {{ {pairs} }}\n"


def dtypes_of(dtypes: Any) -> list[str]:
    """Returns data types as the program names them.

    Raises:
        ValueError: if one is unknown.
    """
    return [dtype_of(one) for one in listed(dtypes)]


def bytes_of(sizes: Any, unit: float = 1.0) -> list[str] | None:
    """Returns sizes in bytes as the program reads them; None stays None.

    Args:
        sizes: one size or several.
        unit: number of bytes in the unit of `sizes`.

    Raises:
        ValueError: if a size is not above zero.
    """
    if sizes is None:
        return None
    found: list[str] = []
    for size in listed(sizes):
        if isinstance(size, bool) or not isinstance(size, numbers.Real) or not 0 < float(size) * unit < 2**63:
            raise ValueError(f"invalid size {size!r}; use a number above zero")
        found.append(str(int(float(size) * unit)))
    return found


def side_of(size: Any) -> int:
    """Returns the side of a square product.

    Raises:
        ValueError: if the sizes differ, or are not integers of at least 1.
    """
    sizes = shape_of("size", size, 1 if is_integer(size) else 3)
    sides = set(sizes.split("x"))
    if len(sides) > 1:
        raise ValueError(f"sizes {sizes} differ; use one integer, or three equal ones, or benchmark_gemm for other products")
    return int(sides.pop())


@named_arguments
def benchmark_memory_bandwidth(
    sizes_mb: Sizes,
    dtypes: Dtypes = ("float32", "float16"),
    operations: Any = None,
    num_runs: int = Default(100),
    warmup_runs: int = Default(10),
    device: Device = "cuda",
    *,
    num_warmup: int | None = None,
    threads: int = 1,
    settings: Settings | None = None,
) -> ResultList[MemoryBandwidthResult]:
    """Benchmarks reading, writing and copying arrays with the program's kernels.

    Args:
        sizes_mb: sizes of one array, in MiB.
        dtypes: data types such as `float32` and `f16`.
        operations: `read`, `write`, `copy`, `triad` or `read_write`, or members of `MemoryOperation`; by
            default read, write and copy.
        num_runs: samples of a case, in all processes; the program takes more if they disagree.
        warmup_runs: iterations per process before the first sample.
        device: `cpu`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU, else the CPU.
        num_warmup: alias of `warmup_runs`.
        threads: CPU threads.
        settings: replicates, samples and time limit, instead of the sample and warm-up counts.

    Returns:
        One result per case, with bytes read and written over time in GB/s; a case that cannot run has a `reason`.

    Raises:
        TypeError: if a parameter is given under two names.
        ValueError: if a size, data type, operation or device is invalid; the message names valid ones.
        RuntimeError: if the program is missing or fails, or there is no device of this index.
    """
    axes = {
        "operation": ("read", "write", "copy") if operations is None else operations,
        "dtype": dtypes_of(dtypes),
        "size": bytes_of(sizes_mb, 1 << 20),
        "stores": "temporal",
        "cache": "hot",
        "threads": threads,
    }
    taken = settings_of(num_runs, warmup_runs, num_warmup, settings)
    return run(MemoryBandwidthResult, "memory-bandwidth", [axes], place(device), taken)


@named_arguments
def benchmark_hbm_bandwidth(
    sizes_bytes: Sizes | None = None,
    num_runs: int = Default(100),
    *,
    num_warmup: int = Default(10),
    warmup_runs: int | None = None,
    device: Device = "auto",
    settings: Settings | None = None,
) -> ResultList[HBMBandwidthResult]:
    """Benchmarks the memory of a GPU: reading, writing, copying, and dependent reads.

    Args:
        sizes_bytes: sizes of one array, in bytes; by default several, the largest of which exceeds the caches.
        num_runs: samples of a case, in all processes; the program takes more if they disagree.
        num_warmup: iterations per process before the first sample.
        warmup_runs: alias of `num_warmup`.
        device: `rocm:0`, `cuda:0` …, or `auto` for the first GPU.
        settings: replicates, samples and time limit, instead of the sample and warm-up counts.

    Returns:
        One record per size, in GB/s and µs; without a GPU, one record with a `reason`.

    Raises:
        TypeError: if a parameter is given under two names.
        ValueError: if a size or the device is invalid.
        RuntimeError: if the program is missing or fails, or there is no device of this index.
    """
    operations = ("read", "write", "copy", "latency")
    axes = {"tier": "device", "operation": operations, "dtype": "f32", "size": bytes_of(sizes_bytes)}
    taken = settings_of(num_runs, num_warmup, warmup_runs, settings)
    return _by_size("device", run(MemoryBandwidthResult, "memory-tiers", [axes], place(device, True), taken))


@named_arguments
def benchmark_system_ram_bandwidth(
    sizes_bytes: Sizes | None = None,
    num_runs: int = Default(100),
    *,
    num_warmup: int = Default(10),
    warmup_runs: int | None = None,
    device: Device = "cpu",
    settings: Settings | None = None,
) -> ResultList[HBMBandwidthResult]:
    """Benchmarks the memory of the host: reading, writing and copying by all threads, and dependent reads.

    Args:
        sizes_bytes: sizes of one array, in bytes; by default 512 MiB, more than the caches of most CPUs.
        num_runs: samples of a case, in all processes; the program takes more if they disagree.
        num_warmup: iterations per process before the first sample.
        warmup_runs: alias of `num_warmup`.
        device: `cpu`.
        settings: replicates, samples and time limit, instead of the sample and warm-up counts.

    Returns:
        One record per size, in GB/s and µs. Writes and copies use non-temporal stores, which bypass the caches.

    Raises:
        TypeError: if a parameter is given under two names.
        ValueError: if a size is invalid, or the device is not the CPU.
        RuntimeError: if the program is missing or fails, or there is no device of this index.
    """
    if device.partition(":")[0] not in ("cpu", "auto"):
        raise ValueError(f"the memory of {device} is not that of the system; use cpu, or benchmark_hbm_bandwidth for a GPU")
    sizes = bytes_of(RAM_BYTES if sizes_bytes is None else sizes_bytes)
    common = {"dtype": "f32", "size": sizes, "cache": "hot", "threads": _threads()}
    reads = {"operation": "read", "stores": "temporal", **common}
    stores = {"operation": ("write", "copy"), "stores": "non-temporal", **common}
    taken, cpu = settings_of(num_runs, num_warmup, warmup_runs, settings), place("cpu" if device == "auto" else device)
    found = run(MemoryBandwidthResult, "memory-bandwidth", [reads, stores], cpu, taken)
    return _by_size("host", found + run(MemoryBandwidthResult, "memory-latency", [{"size": sizes}], cpu, taken))


@named_arguments
def compare_memory_tiers(
    sizes_bytes: Sizes | None = None,
    *,
    num_runs: int = Default(100),
    num_warmup: int = Default(10),
    warmup_runs: int | None = None,
    device: Device = "auto",
    settings: Settings | None = None,
) -> ResultList[HBMBandwidthResult]:
    """Benchmarks the memory of a GPU and that of the host.

    Args:
        sizes_bytes: sizes of one array, in bytes.
        num_runs: samples of a case, in all processes; the program takes more if they disagree.
        num_warmup: iterations per process before the first sample.
        warmup_runs: alias of `num_warmup`.
        device: `rocm:0`, `cuda:0` …, or `auto` for the first GPU.
        settings: replicates, samples and time limit, instead of the sample and warm-up counts.

    Returns:
        The records of `benchmark_hbm_bandwidth`, then those of `benchmark_system_ram_bandwidth`; their
        `memory_tier` is `device` and `host`. Without a GPU, the first record has a `reason`.

    Raises:
        TypeError: if a parameter is given under two names.
        ValueError: if a size or the device is invalid.
        RuntimeError: if the program is missing or fails, or there is no device of this index.
    """
    taken = settings_of(num_runs, num_warmup, warmup_runs, settings)
    of_gpu = benchmark_hbm_bandwidth(sizes_bytes, device=device, settings=taken)
    return ResultList(of_gpu + benchmark_system_ram_bandwidth(sizes_bytes, settings=taken))


def _threads() -> int:
    """Returns the number of threads that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _by_size(tier: str, results: Sequence[MemoryBandwidthResult]) -> ResultList[HBMBandwidthResult]:
    """Joins the results of one memory tier into one record per size."""
    groups: dict[int | None, list[MemoryBandwidthResult]] = {}
    for result in results:
        groups.setdefault(_size_of(result), []).append(result)
    return ResultList(_joined(tier, size, group) for size, group in groups.items())


def _size_of(result: Result) -> int | None:
    """Returns the bytes of one array: from the parameter, which skipped results also have, else from the field."""
    text = result.parameters.get("size", "")
    for unit, factor in (("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("B", 1)):
        if text.endswith(unit):
            return int(text[: -len(unit)]) * factor
    return result.fields.get("size_bytes")


def _joined(tier: str, size: int | None, group: Sequence[MemoryBandwidthResult]) -> HBMBandwidthResult:
    rates = {result.operation: result.bandwidth_gb_s for result in group}
    latency = next((result for result in group if "latency_ns" in result.fields), None)
    missing = next((result for result in group if not result.is_measured), None)
    return HBMBandwidthResult(
        memory_tier=tier,
        device=group[0].device,
        size_bytes=size,
        read_bandwidth_gb_s=rates.get("read"),
        write_bandwidth_gb_s=rates.get("write"),
        copy_bandwidth_gb_s=rates.get("copy"),
        latency_us=None if latency is None else latency.fields["latency_ns"] / 1e3,
        outcome=Outcome.MEASURED if missing is None else missing.outcome,
        reason=None if missing is None else missing.reason,
        results=list(group),
    )


@named_arguments
def benchmark_gemm(
    sizes: Sizes | None = None,
    transa: bool = False,
    transb: bool = False,
    alpha: float = 1.0,
    beta: float = 0.0,
    num_runs: int = Default(100),
    *,
    dtypes: Dtypes = "float32",
    num_warmup: int = Default(10),
    warmup_runs: int | None = None,
    device: Device = "auto",
    settings: Settings | None = None,
) -> ResultList[GEMMResult]:
    """Benchmarks alpha * A * B + beta * C with the program's kernels or the vendor's library. On a CPU it uses one thread.

    Args:
        sizes: `(m, n, k)` of each product; by default 512, 1024 and 2048 cubed.
        transa: whether A is stored transposed.
        transb: whether B is stored transposed.
        alpha: factor of the product.
        beta: factor of C.
        num_runs: samples of a case, in all processes; the program takes more if they disagree.
        dtypes: data types such as `float32`, `bf16` and `int8`.
        num_warmup: iterations per process before the first sample.
        warmup_runs: alias of `num_warmup`.
        device: `cpu`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU, else the CPU.
        settings: replicates, samples and time limit, instead of the sample and warm-up counts.

    Returns:
        One result per case, in ms and TFLOP/s; a case that cannot run has a `reason`.

    Raises:
        TypeError: if a parameter is given under two names.
        ValueError: if a size, data type or device is invalid; the message names valid ones.
        RuntimeError: if the program is missing or fails, or there is no device of this index.
    """
    shapes = [(512, 512, 512), (1024, 1024, 1024), (2048, 2048, 2048)] if sizes is None else listed(sizes, True)
    axes = {
        "dtype": dtypes_of(dtypes),
        "shape": [shape_of("size", shape, 3) for shape in shapes],
        "transpose": ("t" if transa else "n") + ("t" if transb else "n"),
        "alpha": float(alpha),
        "beta": float(beta),
    }
    taken = settings_of(num_runs, num_warmup, warmup_runs, settings)
    return run(GEMMResult, "gemm", [axes], place(device), taken)


@named_arguments
def benchmark_gemm_strided(
    m: int,
    n: int,
    k: int,
    strides_a: Sequence[int],
    strides_b: Sequence[int],
    strides_c: Sequence[int],
    num_runs: int = Default(100),
    *,
    batch_size: int = 1,
    dtype: str = "float32",
    num_warmup: int = Default(10),
    warmup_runs: int | None = None,
    device: Device = "auto",
    settings: Settings | None = None,
) -> GEMMResult:
    """Benchmarks a matrix product with the given strides. On a CPU it uses one thread.

    Args:
        m: rows of A and C.
        n: columns of B and C.
        k: columns of A and rows of B.
        strides_a: strides of A in elements: between rows and between columns, one of which is 1. For several
            products they are preceded by the stride between matrices.
        strides_b: the same for B.
        strides_c: the same for C, whose columns are 1 apart.
        num_runs: samples of the case, in all processes; the program takes more if they disagree.
        batch_size: number of products.
        dtype: data type such as `float32`.
        num_warmup: iterations per process before the first sample.
        warmup_runs: alias of `num_warmup`.
        device: `cpu`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU, else the CPU.
        settings: replicates, samples and time limit, instead of the sample and warm-up counts.

    Returns:
        The result, in ms and TFLOP/s; if it cannot run, with a `reason`.

    Raises:
        TypeError: if a parameter is given under two names.
        ValueError: if elements would overlap, or neither stride of a matrix is 1.
        RuntimeError: if the program is missing or fails, or there is no device of this index.
    """
    shape = shape_of("size", (m, n, k), 3)
    matrices = (("a", m, k, strides_a), ("b", k, n, strides_b), ("c", m, n, strides_c))
    layouts = [_layout(*matrix) for matrix in matrices]
    letters = "".join(letter for letter, _ in layouts)
    if letters[2] != "n":
        raise ValueError(f"strides_c {tuple(strides_c)} store C transposed; its columns must be 1 apart")
    axes = {"dtype": dtypes_of(dtype), "shape": shape, "transpose": letters[:2], "batch_size": batch_size}
    for _, gaps in layouts:
        axes.update(gaps)
    taken = settings_of(num_runs, num_warmup, warmup_runs, settings)
    return run(GEMMResult, "gemm", [axes], place(device), taken)[0]


def _layout(name: str, rows: int, columns: int, strides: Sequence[int]) -> tuple[str, dict[str, int]]:
    """Returns `n` for a matrix stored as is or `t` for a transposed one, and the axes that describe its padding."""
    own = [int(stride) for stride in strides]
    if len(own) not in (2, 3):
        raise ValueError(f"strides_{name} {tuple(strides)} has {len(own)} numbers; give those of rows and columns")
    row, column = own[-2:]
    if column == 1 and row >= columns:
        letter, leading, natural, lines = "n", row, columns, rows
    elif row == 1 and column >= rows:
        letter, leading, natural, lines = "t", column, rows, columns
    else:
        why = f"for {rows} x {columns} elements, the stride of rows or columns must be 1, and the other at least as long"
        raise ValueError(f"strides_{name} {tuple(strides)} do not describe a matrix: {why} as one line of the matrix")
    gaps = {} if leading == natural else {f"ld_{name}": leading}
    smallest = leading * lines
    if own[0] != smallest and len(own) == 3:
        if own[0] < smallest:
            raise ValueError(f"strides_{name} {tuple(strides)} let matrices overlap; the first is at least {smallest}")
        gaps[f"stride_{name}"] = own[0]
    return letter, gaps


@named_arguments
def benchmark_precision(
    precision: Dtypes,
    operation: str = "matmul",
    sizes: Sizes | None = None,
    num_warmup: int = Default(10),
    num_runs: int = Default(100),
    *,
    over: Dtypes = "float32",
    warmup_runs: int | None = None,
    device: Device = "auto",
    settings: Settings | None = None,
) -> ResultList[PrecisionBenchmarkResult]:
    """Benchmarks an operation in a data type, compared with another type. On a CPU it uses one thread.

    Args:
        precision: one or several data types such as `fp16`, or members of `PrecisionType`.
        operation: `matmul`, `convolution` or `layer-norm`.
        sizes: sides of the matrices: a list of integers, or of `(m, n, k)` with three equal ones; by
            default 1024.
        num_warmup: iterations per process before the first sample.
        num_runs: samples of a case, in all processes; the program takes more if they disagree.
        over: data type to compare with.
        warmup_runs: alias of `num_warmup`.
        device: `cpu`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU, else the CPU.
        settings: replicates, samples and time limit, instead of the sample and warm-up counts.

    Returns:
        One result per case, in ms and TFLOP/s, with the error of the result; a case that cannot run has a `reason`.

    Raises:
        TypeError: if a parameter is given under two names.
        ValueError: if a data type, operation, size or device is invalid; the message names valid ones.
        RuntimeError: if the program is missing or fails, or there is no device of this index.
    """
    axes = {
        "operation": operation.replace("_", "-"),
        "dtype": dtypes_of(precision),
        "n": [side_of(size) for size in _several(1024 if sizes is None else sizes)],
        "over": dtype_of(over),
        "provider": "auto",
    }
    taken = settings_of(num_runs, num_warmup, warmup_runs, settings)
    return run(PrecisionBenchmarkResult, "precision", [axes], place(device), taken)


def _several(sizes: Any) -> list[Any]:
    """Returns the sizes as a list; a tuple of integers is a single size."""
    return listed(sizes, isinstance(sizes, tuple))


@named_arguments
def compare_precision(
    precision_a: Dtypes,
    precision_b: Dtypes,
    operation: str = "matmul",
    size: Size = (4096, 4096, 4096),
    *,
    num_runs: int = Default(100),
    num_warmup: int = Default(10),
    warmup_runs: int | None = None,
    device: Device = "auto",
    settings: Settings | None = None,
) -> PrecisionBenchmarkResult:
    """Compares an operation in two data types, measured in the same processes. On a CPU it uses one thread.

    Args:
        precision_a: a data type such as `fp16`, or a member of `PrecisionType`.
        precision_b: the type to compare with.
        operation: `matmul`, `convolution` or `layer-norm`.
        size: side of the matrices: an integer, or `(m, n, k)` with three equal ones.
        num_runs: samples, in all processes; the program takes more if they disagree.
        num_warmup: iterations per process before the first sample.
        warmup_runs: alias of `num_warmup`.
        device: `cpu`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU, else the CPU.
        settings: replicates, samples and time limit, instead of the sample and warm-up counts.

    Returns:
        The result in `precision_a`: `speedup` is how many times faster it is than `precision_b`, and
        `accuracy_error` and `reference_accuracy_error` are the errors of both.

    Raises:
        TypeError: if a parameter is given under two names.
        ValueError: if a data type, operation, size or device is invalid; the message names valid ones.
        RuntimeError: if the program is missing or fails, or there is no device of this index.
    """
    taken = settings_of(num_runs, num_warmup, warmup_runs, settings)
    return benchmark_precision(precision_a, operation, [side_of(size)], over=precision_b, device=device, settings=taken)[0]


@named_arguments
def measure_accuracy(precision: Any, expected_output: Any, actual_output: Any) -> Accuracy:
    """Returns the error of a result: the largest difference over the largest value of the reference.

    Args:
        precision: data type of the result, such as `fp16`, which determines the accepted error.
        expected_output: the reference: a tensor, an array or a list of numbers.
        actual_output: the result, with the same shape.

    Raises:
        ValueError: if the data type has no limit, or the shapes differ.
        ImportError: if PyTorch is not installed.
    """
    from .workloads import core

    dtype = dtype_of(precision)
    if dtype not in core.TOLERANCES:
        raise ValueError(f"no error limit is known for {dtype}; use one of {', '.join(core.TOLERANCES)}")
    torch = loaded_torch()
    expected, actual = torch.as_tensor(expected_output), torch.as_tensor(actual_output)
    if expected.shape != actual.shape or not expected.numel():
        raise ValueError(f"shapes {tuple(expected.shape)} and {tuple(actual.shape)} must be equal and not empty")
    difference, largest = core.differences(actual, expected)
    return Accuracy(dtype, difference / largest if largest else difference, core.TOLERANCES[dtype])


@named_arguments
def benchmark_tensor_ops(
    operations: Any = None,
    precisions: Dtypes | None = None,
    input_shapes: Sizes | None = None,
    num_runs: int = Default(100),
    *,
    num_warmup: int = Default(10),
    warmup_runs: int | None = None,
    device: Device = "auto",
    settings: Settings | None = None,
) -> ResultList[TensorOpResult]:
    """Benchmarks element-wise operations, reductions, softmax and layer normalization. On a CPU it uses one thread.

    Args:
        operations: `add`, `multiply`, `relu`, `gelu`, `sigmoid`, `sum`, `max`, `mean`, `argmax`, `softmax`
            or `layer-norm`; by default the usual ones.
        precisions: data types such as `fp16`, or members of `TensorPrecision`; by default `fp32`.
        input_shapes: `(rows, columns)` of each input; by default 8192 x 1024.
        num_runs: samples of a case, in all processes; the program takes more if they disagree.
        num_warmup: iterations per process before the first sample.
        warmup_runs: alias of `num_warmup`.
        device: `cpu`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU, else the CPU.
        settings: replicates, samples and time limit, instead of the sample and warm-up counts.

    Returns:
        One result per case, in ms and GB/s; a case that cannot run has a `reason`.

    Raises:
        TypeError: if a parameter is given under two names.
        ValueError: if an operation, data type, shape or device is invalid; the message names valid ones.
        RuntimeError: if the program is missing or fails, or there is no device of this index.
    """
    shapes = None if input_shapes is None else [_rows_of(shape) for shape in listed(input_shapes, True)]
    axes = {
        "operation": None if operations is None else [written(one).replace("_", "-") for one in listed(operations)],
        "dtype": dtypes_of("f32" if precisions is None else precisions),
        "shape": shapes,
        "cache": "hot",
        "threads": 1,
    }
    taken = settings_of(num_runs, num_warmup, warmup_runs, settings)
    return run(TensorOpResult, "tensor-ops", [axes], place(device), taken)


def _rows_of(shape: Any) -> str:
    """Returns rows and columns; dimensions before the last one are rows."""
    shape = plain(shape)
    sizes = (int(shape),) if isinstance(shape, int) else tuple(int(size) for size in shape)
    return shape_of("shape", (math.prod(sizes[:-1]), *sizes[-1:]), 2)


@named_arguments
def benchmark_elementwise_ops(
    size: Size,
    ops: Any = ("add", "multiply", "relu", "gelu"),
    dtype: str = "float16",
    num_runs: int = Default(100),
    *,
    num_warmup: int = Default(10),
    warmup_runs: int | None = None,
    device: Device = "auto",
    settings: Settings | None = None,
) -> ResultList[TensorOpResult]:
    """Benchmarks element-wise operations. On a CPU it uses one thread.

    Args:
        size: number of elements, or `(rows, columns)`.
        ops: operations of `benchmark_tensor_ops`.
        dtype: data type such as `float16`.
        num_runs: samples of a case, in all processes; the program takes more if they disagree.
        num_warmup: iterations per process before the first sample.
        warmup_runs: alias of `num_warmup`.
        device: `cpu`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU, else the CPU.
        settings: replicates, samples and time limit, instead of the sample and warm-up counts.

    Returns:
        One result per operation, in ms and GB/s; a case that cannot run has a `reason`.

    Raises:
        TypeError: if a parameter is given under two names.
        ValueError: if an operation, the data type, size or device is invalid; the message names valid
            ones.
        RuntimeError: if the program is missing or fails, or there is no device of this index.
    """
    taken = settings_of(num_runs, num_warmup, warmup_runs, settings)
    return benchmark_tensor_ops(ops, dtype, [size], device=device, settings=taken)


@named_arguments
def benchmark_model(
    model_id: str,
    device: Device,
    batch_sizes: Sizes,
    sequence_lengths: Sizes,
    precision_modes: Dtypes,
    iterations: int = 10,
) -> dict[str, Any]:
    """Benchmarks a model for each batch size, length and precision, with the program and this Python.

    Args:
        model_id: a model of `rusty-stack-bench models list`, a directory with `config.json` and weights, or a
            downloaded model of the hub.
        device: `cpu`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        batch_sizes: one or several numbers of samples.
        sequence_lengths: one or several numbers of tokens.
        precision_modes: `float32`, `fp16`, `bf16` or `int8`; one or several.
        iterations: samples of a case, in all processes; the program takes at least 10 per process.

    Returns:
        `model_id`, `device`, `architecture_type`, `batch_results` by key such as `b1_s128_fp16`, `summary`,
        `hardware_details` and other keys of schemas/models.schema.json, and `skipped`: the cases that cannot
        run, with the reason. Times are in ms, memory in MB.

    Raises:
        TypeError: if `iterations` is not an integer.
        ValueError: if the model, a size, a type or the device is invalid; the message names valid ones.
        RuntimeError: if the program is missing or fails, or there is no device of this index.
    """
    words, selection = model_words(model_id, precision_modes, batch_sizes, sequence_lengths, device)
    document = measured(words, selection, settings_of(iterations, Settings.warmup, None, None), False)
    none: dict[str, Any] = {"architecture_type": None, "batch_results": {}, "summary": {}, "hardware_details": {}}
    models: list[dict[str, Any]] = document["models"]
    found = models[0] if models else {"model_id": model_id, "device": chosen(device), **none}
    return {**found, "skipped": document["skipped"]}


def model_words(name: str, dtypes: Any, batch_sizes: Any, lengths: Any, device: Device) -> tuple[list[str], list[str]]:
    """Returns the arguments of `models` for a model, and those that select the device."""
    backend, _, index = chosen(device).partition(":")
    words = ["models", "--model", PUBLISHED.get(name, name), "--precision", ",".join(map(dtype_of, listed(dtypes)))]
    words += ["--batch", _comma_separated(batch_sizes), "--sequence", _comma_separated(lengths), "--python", sys.executable]
    return words, ["--backend", backend, "--device", index]


def _comma_separated(values: Any) -> str:
    return ",".join(written(value) for value in listed(values))
