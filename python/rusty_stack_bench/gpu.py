"""GPUs: matrix units, occupancy and multi-GPU operations, measured with the program's own kernels."""
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .arguments import named_arguments
from .cases import Size, Sizes, dtype_of, is_integer, listed, shape_of, word_of, written
from .measuring import Default, Device, Settings, device_name, settings_of
from .native import bytes_of, dtypes_of, place, run, without_gpu
from .program import LISTING, answer
from .results import (
    CollectiveResult,
    ComputeUtilizationResult,
    GEMMResult,
    MultiGPUResult,
    Reason,
    ResultList,
    TensorCoreInfo,
)

# Kernels whose occupancy is known.
KERNELS = ("read", "write", "copy", "triad", "add", "relu", "gelu", "sum", "max", "softmax", "layer-norm", "gemm")
# More compute units than any GPU has.
_UNITS = 2048
# Bytes of an element of f32.
_ELEMENT_BYTES = 4
# Profilers that read the counters of a GPU.
_PROFILERS = {"rocm": "rocprofv3", "cuda": "ncu"}


@named_arguments
def detect_tensor_cores(
    gpu_name: str | None = None, architecture: str | None = None, *, device: Device = "auto"
) -> TensorCoreInfo:
    """Returns the capabilities of the matrix unit of a GPU.

    Args:
        gpu_name: the name of a product, such as `AMD Instinct MI300X`; the GPU need not be present.
        architecture: its instruction set, such as `gfx942` or `sm_90`; the GPU need not be present.
        device: without a name and an architecture, the GPU of this machine: `rocm:0`, `cuda:1` …, or
            `auto` for the first one.

    Returns:
        The matrix unit. Peaks are known for GPUs of this machine, and for products whose data sheet is
        in the table of the program. Without a GPU, `available` is False and `reason` explains why.

    Raises:
        ValueError: if the name or architecture is not in the table (the message lists known ones), if
            they contradict each other, or if the device is not a GPU.
        RuntimeError: if the program is missing or fails, or there is no device of this index.
        ImportError: if a name is given and this copy of the package has no compiled extension.
    """
    if gpu_name is not None or architecture is not None:
        found = _known(gpu_name, architecture)
        if gpu_name is not None and architecture is not None:
            _check_same(gpu_name, architecture)
        return _matrix_unit(found["fields"], found["supported_dtypes"])
    # Prefix of the backend's architecture names, and the index of the GPU among these.
    start, index = "", 0
    if device_name(device) != "auto":
        _, backend, _, position = place(device)
        if backend == "cpu":
            raise ValueError(f"device {device} has no matrix unit of a GPU; use auto, rocm:0 or cuda:0")
        start, index = {"rocm": "gfx", "cuda": "sm_"}.get(backend, ""), int(position)
    # Exit code 5: there is no GPU.
    records: Sequence[Mapping[str, Any]] = answer(["gpu-capability"], (0, 5))["benchmarks"]
    first = records[0]
    if first.get("what") is not None:
        return TensorCoreInfo(False, reason=Reason(first["what"], first["why"], first["cure"]))
    known = [record["results"] for record in records if record.get("results")]
    own = [rows for rows in known if str(rows[0].get("architecture")).startswith(start)]
    if index >= len(own):
        raise RuntimeError(f"there is no device {device}: this machine has {len(own)} GPUs of this kind; `{LISTING}` lists them")
    rows: Sequence[Mapping[str, Any]] = own[index]
    peaks = [row["dtype"] for row in rows[1:] if row.get("operation") == "matrix"]
    return _matrix_unit(rows[0], peaks)


def _check_same(gpu_name: str, architecture: str) -> None:
    """Raises ValueError if a product and an architecture contradict each other."""
    try:
        own = _known(gpu_name, None)["fields"]["architecture"]
    except ValueError:
        return  # The table does not contain the product.
    if own != architecture.strip().lower():
        raise ValueError(f"{gpu_name} is {own}, not {architecture}; pass only one of gpu_name and architecture")


def _known(gpu_name: str | None, architecture: str | None) -> dict[str, Any]:
    from . import _native

    return json.loads(_native.architecture(gpu_name, architecture))


def _matrix_unit(fields: Mapping[str, Any], dtypes: Sequence[str]) -> TensorCoreInfo:
    return TensorCoreInfo(
        available=fields.get("available"),
        architecture=fields.get("architecture"),
        supported_dtypes=tuple(dtypes),
        matrix_size=fields.get("matrix_size"),
        peak_tflops_fp16=fields.get("peak_tflops_fp16"),
        peak_tflops_bf16=fields.get("peak_tflops_bf16"),
        peak_tflops_tf32=fields.get("peak_tflops_tf32"),
        wmma_version=fields.get("wmma_version"),
    )


@named_arguments
def get_architecture_capabilities(arch: str) -> dict[str, Any]:
    """Returns the capabilities of an architecture of the program's table (docs/architectures.md).

    Args:
        arch: an instruction set, such as `gfx942` or `sm_90`; the GPU need not be present.

    Returns:
        `architecture`, `family`, `gpus` (products), `wavefront` (threads), `matrix_unit`, `available`
        (whether there is one), `supported_dtypes` of the matrix unit, `matrix_size` (tiles for f16),
        `wmma_version`, and `rates`: for each data type and engine the operations of a compute unit per
        clock and the tiles of the instructions.

    Raises:
        ValueError: if the table does not contain the architecture; the message lists known ones.
        ImportError: if this copy of the package has no compiled extension.
    """
    found = _known(None, arch)
    fields: Mapping[str, Any] = found.pop("fields")
    own = {name: fields.get(name) for name in ("architecture", "available", "matrix_size", "wmma_version")}
    return {**own, **found}


@named_arguments
def benchmark_tensor_core_op(
    dtype: Any,
    matrix_size: Size,
    num_iterations: int = Default(100),
    *,
    num_warmup: int = Default(10),
    warmup_runs: int | None = None,
    device: Device = "auto",
    settings: Settings | None = None,
) -> GEMMResult:
    """Benchmarks a matrix product, which uses the matrix unit if the device has one for the data type.

    Args:
        dtype: data type such as `float16`, `bf16` or `int8`.
        matrix_size: side of the matrices, or `(m, n, k)`.
        num_iterations: samples, in all processes; the program takes more if they disagree.
        num_warmup: iterations per process before the first sample.
        warmup_runs: alias of `num_warmup`.
        device: `cpu`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU, else the CPU.
        settings: replicates, samples and time limit, instead of the sample and warm-up counts.

    Returns:
        The result, in ms and TFLOP/s; if it cannot run, with a `reason`.

    Raises:
        TypeError: if a parameter is given under two names.
        ValueError: if the data type, size or device is invalid; the message names valid ones.
        RuntimeError: if the program is missing or fails, or there is no device of this index.
    """
    sizes = (matrix_size,) * 3 if is_integer(matrix_size) else matrix_size
    axes = {"dtype": dtype_of(dtype), "shape": shape_of("matrix_size", sizes, 3)}
    taken = settings_of(num_iterations, num_warmup, warmup_runs, settings)
    return run(GEMMResult, "gemm", [axes], place(device), taken)[0]


@named_arguments
def benchmark_multi_gpu_scaling(
    model_sizes: Sizes | None = None,
    gpu_counts: Sizes | None = None,
    batch_sizes: Sizes | None = None,
    communication_backend: str = "nccl",
    num_runs: int = Default(10),
    *,
    dtype: str = "float32",
    num_warmup: int = Default(10),
    warmup_runs: int | None = None,
    device: Device = "auto",
    settings: Settings | None = None,
) -> ResultList[MultiGPUResult]:
    """Benchmarks a data-parallel training step, with the batch split across GPUs.

    Args:
        model_sizes: sizes of the weights, in GB; by default 0.067.
        gpu_counts: numbers of GPUs; by default 2.
        batch_sizes: rows of the batch on all GPUs; by default 1024.
        communication_backend: `nccl` or `rccl`, the library of the GPU's vendor. Without this library the
            program sums the gradients with its own ring; the field of this name in the results is then `ring`.
        num_runs: samples of a case, in all processes; the program takes more if they disagree.
        dtype: data type of the weights, such as `float32` or `bf16`.
        num_warmup: iterations per process before the first sample.
        warmup_runs: alias of `num_warmup`.
        device: `rocm`, `cuda`, or `auto` for the first GPU; the other GPUs are the next ones by index.
        settings: replicates, samples and time limit, instead of the sample and warm-up counts.

    Returns:
        One result per case, in ms, with the speedup over one GPU; a case that cannot run has a `reason`.

    Raises:
        TypeError: if a parameter is given under two names.
        ValueError: if a size, data type, library or device is invalid; the message names valid ones.
        RuntimeError: if the program is missing or fails, or there is no device of this index.
    """
    word_of("communication_backend", communication_backend, ("nccl", "rccl"))
    axes = {
        "operation": "data-parallel",
        "dtype": dtypes_of(dtype),
        "size": bytes_of(model_sizes, 1e9),
        "scaling": "strong",
        "num_gpus": gpu_counts,
        "peer": "none",
        "batch_size": batch_sizes,
        "overlap": "off",
    }
    taken = settings_of(num_runs, num_warmup, warmup_runs, settings)
    return run(MultiGPUResult, "multi-gpu", [axes], place(device, True), taken)


@named_arguments
def benchmark_all_reduce(
    tensor_sizes: Sizes | None = None,
    gpu_counts: Sizes | None = None,
    algorithms: Any = None,
    num_runs: int = Default(100),
    *,
    dtype: str = "float32",
    num_warmup: int = Default(10),
    warmup_runs: int | None = None,
    device: Device = "auto",
    settings: Settings | None = None,
) -> ResultList[CollectiveResult]:
    """Benchmarks the sum of a buffer over several GPUs, by the library of their vendor (RCCL, NCCL).

    Args:
        tensor_sizes: bytes of the buffer of each GPU; by default the program's sizes.
        gpu_counts: numbers of GPUs; by default 2.
        algorithms: `auto` (the library's choice), `ring` or `tree`; by default `auto`.
        num_runs: samples of a case, in all processes; the program takes more if they disagree.
        dtype: data type of the elements, such as `float32` or `bf16`.
        num_warmup: iterations per process before the first sample.
        warmup_runs: alias of `num_warmup`.
        device: `rocm`, `cuda`, or `auto` for the first GPU; the other GPUs are the next ones by index.
        settings: replicates, samples and time limit, instead of the sample and warm-up counts.

    Returns:
        One result per case, in GB/s; a case that cannot run has a `reason`.

    Raises:
        TypeError: if a parameter is given under two names.
        ValueError: if a size, algorithm, data type or device is invalid; the message names valid ones.
        RuntimeError: if the program is missing or fails, or there is no device of this index.
    """
    taken = settings_of(num_runs, num_warmup, warmup_runs, settings)
    selection = place(device, True)
    chosen = listed("auto" if algorithms is None else algorithms)
    axes = {
        "dtype": dtypes_of(dtype),
        "size": bytes_of(tensor_sizes),
        "num_gpus": gpu_counts,
        "communication_backend": "rccl" if "rocm" in selection else "nccl",
        "operation": "all-reduce",
        "placement": "out-of-place",
        "algorithm": [word_of("algorithm", one, ("auto", "ring", "tree")) for one in chosen],
        "launcher": "one-thread",
    }
    return run(CollectiveResult, "all-reduce", [axes], selection, taken)


@named_arguments
def analyze_compute_utilization(
    workload: str,
    num_samples: int = Default(100),
    *,
    dtype: str = "float32",
    block_size: int = 256,
    num_warmup: int = Default(10),
    warmup_runs: int | None = None,
    device: Device = "auto",
    settings: Settings | None = None,
) -> ComputeUtilizationResult:
    """Measures how much of a GPU a kernel uses, with the vendor's profiler (rocprofv3, ncu).

    Args:
        workload: a kernel of `KERNELS`, such as `triad`, `softmax` or `gemm`.
        num_samples: samples, in all processes; the program takes more if they disagree.
        dtype: data type of the elements, such as `float32`.
        block_size: threads per block.
        num_warmup: iterations per process before the first sample.
        warmup_runs: alias of `num_warmup`.
        device: `rocm:0`, `cuda:0` …, or `auto` for the first GPU.
        settings: replicates, samples and time limit, instead of the sample and warm-up counts.

    Returns:
        Occupancy and profiler counters, in percent; if it cannot run, with a `reason`.

    Raises:
        TypeError: if a parameter is given under two names.
        ValueError: if the workload, data type or device is invalid; the message names valid ones.
        RuntimeError: if the program is missing or fails, or there is no device of this index.
    """
    taken = settings_of(num_samples, num_warmup, warmup_runs, settings)
    operation, selection = word_of("workload", workload, KERNELS), place(device, True)
    if not selection:
        return without_gpu(ComputeUtilizationResult, "occupancy")
    profiler = next((tool for backend, tool in _PROFILERS.items() if backend in selection), "none")
    axes = {
        "operation": operation,
        "dtype": dtype_of(dtype),
        "block_size": block_size,
        "arch": "here",
        "profiler": profiler,
    }
    return run(ComputeUtilizationResult, "occupancy", [axes], selection, taken)[0]


@named_arguments
def benchmark_kernel_occupancy(
    kernel_config: Mapping[str, Any],
    max_threads_per_block: int = 1024,
    num_blocks_per_sm: int = 32,
    *,
    num_runs: int = Default(100),
    num_warmup: int = Default(10),
    warmup_runs: int | None = None,
    device: Device = "auto",
    settings: Settings | None = None,
) -> ResultList[ComputeUtilizationResult]:
    """Computes the occupancy of a kernel, and measures the kernel if the GPU is here.

    Args:
        kernel_config: `operation`, a kernel of `KERNELS`; optionally `dtype` (f32), `block_size` (256), one
            or several, `size_bytes` of one array, and `architecture`, such as `gfx942` (the GPU need not be
            present).
        max_threads_per_block: largest accepted `block_size`.
        num_blocks_per_sm: determines the size if `size_bytes` is not given: this many blocks for each of 2048
            compute units (more than any GPU has), with one f32 element per thread.
        num_runs: samples of a case, in all processes; the program takes more if they disagree.
        num_warmup: iterations per process before the first sample.
        warmup_runs: alias of `num_warmup`.
        device: `rocm:0`, `cuda:0` …, or `auto` for the first GPU.
        settings: replicates, samples and time limit, instead of the sample and warm-up counts.

    Returns:
        One result per block size, with the occupancy in percent; a case that cannot run has a `reason`.

    Raises:
        TypeError: if a parameter is given under two names.
        ValueError: if the configuration has an unknown key or an invalid value, or a block has too many
            threads.
        RuntimeError: if the program is missing or fails, or there is no device of this index.
    """
    known = ("operation", "dtype", "block_size", "size_bytes", "architecture")
    unknown = [name for name in kernel_config if name not in known]
    if unknown or "operation" not in kernel_config:
        raise ValueError(f"kernel_config {dict(kernel_config)} must have operation, and of others only {', '.join(known[1:])}")
    blocks = [int(written(one)) for one in listed(kernel_config.get("block_size", 256))]
    if not blocks or not 0 < max(blocks) <= max_threads_per_block or min(blocks) < 1 or num_blocks_per_sm < 1:
        raise ValueError(f"block_size {blocks} must be 1 to {max_threads_per_block}, and num_blocks_per_sm at least 1")
    size = kernel_config.get("size_bytes")
    architecture = kernel_config.get("architecture", "here")
    axes = [
        {
            "operation": word_of("operation", kernel_config["operation"], KERNELS),
            "dtype": dtype_of(kernel_config.get("dtype", "f32")),
            "block_size": block,
            "size": bytes_of(block * num_blocks_per_sm * _UNITS * _ELEMENT_BYTES if size is None else size),
            "arch": architecture,
            "profiler": "none",
        }
        for block in blocks
    ]
    # For an architecture that is not present, the occupancy is calculated on the CPU.
    taken = settings_of(num_runs, num_warmup, warmup_runs, settings)
    selection = place(device, True) if architecture == "here" else ["--backend", "cpu"]
    return run(ComputeUtilizationResult, "occupancy", axes, selection, taken)
