"""PyTorch: one function per workload; every combination of the given values is a case.

The measuring parameters have the same meaning in every function that has them. `num_runs` is the number
of samples of a case, in all processes (a sample lasts at least 10 ms), and `num_warmup`, or `warmup_runs`,
the number of iterations per process before the first one. `settings` sets replicates, samples and the
time limit instead. On a CPU, PyTorch uses all threads of its pool (`OMP_NUM_THREADS`).
"""
from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Callable, NamedTuple, Union

from .arguments import count, named_arguments
from .cases import Dtypes, Size, Sizes, dtype_of, is_integer, listed, shape_of, size_text, written
from .measuring import Default, Device, Settings, benchmark, chosen, loaded_torch, one_of, require_torch, settings_of
from .results import (
    AttentionResult,
    AutogradResult,
    CompileResult,
    ConvolutionResult,
    GenerationResult,
    InferenceResult,
    LayerNormResult,
    MatmulResult,
    ResultList,
    StepResult,
    TransferResult,
)

# One value of an axis, or several.
Words = Union[str, Sequence[str]]
DEFAULT = Settings()
# Shapes that are measured by default.
_SIZES = ((512, 512, 512), (1024, 1024, 1024), (2048, 2048, 2048))
_IMAGES = ((4, 32, 32, 32),)
_TRANSFERS = (1 << 20, 64 << 20, 256 << 20)


@named_arguments
def benchmark_matmul(
    sizes: Sizes | None = None,
    dtypes: Dtypes = ("float32", "float16", "bf16"),
    transposes: Any = None,
    num_warmup: int = Default(10),
    num_runs: int = Default(100),
    use_tensor_cores: bool = True,
    *,
    device: Device = "auto",
    settings: Settings | None = None,
    warmup_runs: int | None = None,
) -> ResultList[MatmulResult]:
    """Benchmarks products of two matrices.

    Args:
        sizes: `(m, n, k)` of each product; by default 512, 1024 and 2048 cubed.
        dtypes: types such as `float32`, `fp16`, `bf16` and `tf32`.
        transposes: two letters, for each operand `n` as stored or `t` transposed; by default `nn`.
        num_warmup: iterations per process before the first sample.
        num_runs: samples of a case, in all processes.
        use_tensor_cores: whether to measure types that PyTorch multiplies only on the matrix units of a
            GPU. If False, a GPU measures f32 and f64 only.
        device: `cpu`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: replicates, samples and time limit, instead of the sample and warm-up counts.
        warmup_runs: alias of `num_warmup`.

    Returns:
        One result per case, in ms and TFLOP/s; a case that cannot run has a `reason`.

    Raises:
        TypeError: if a parameter is given under two names.
        ValueError: if a size, type or transpose is invalid; the message names valid ones.
        ImportError: if PyTorch is not installed.
        RuntimeError: if no device has this index.
    """
    taken = settings_of(num_runs, num_warmup, warmup_runs, settings)
    types = [dtype_of(dtype) for dtype in listed(dtypes)]
    if not use_tensor_cores and chosen(device) != "cpu:0":
        types = [dtype for dtype in types if dtype in ("f32", "f64")]
        if not types:
            raise ValueError(f"a GPU multiplies {written(listed(dtypes)[0])} on its tensor cores; use float32 without them")
    shapes = _SIZES if sizes is None else sizes
    return benchmark(MatmulResult, "pytorch/matmul", device, taken, dtype=types, shape=shapes, transpose=transposes)


@named_arguments
def benchmark_simple_matmul(
    size: Size,
    dtype: str = "float16",
    num_runs: int = Default(100),
    *,
    num_warmup: int = Default(10),
    device: Device = "auto",
    settings: Settings | None = None,
    warmup_runs: int | None = None,
) -> MatmulResult:
    """Benchmarks one product of two matrices.

    Args:
        size: side of the matrices, or `(m, n, k)`.
        dtype: type such as `float16`.
        num_runs: samples, in all processes.
        num_warmup: iterations per process before the first sample.
        device: `cpu`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: replicates, samples and time limit, instead of the sample and warm-up counts.
        warmup_runs: alias of `num_warmup`.

    Returns:
        The result, in ms and TFLOP/s; if it cannot run, with a `reason`.

    Raises:
        TypeError: if a parameter is given under two names.
        ValueError: if the size or type is invalid; the message names valid ones.
        ImportError: if PyTorch is not installed.
        RuntimeError: if no device has this index.
    """
    taken = settings_of(num_runs, num_warmup, warmup_runs, settings)
    sizes: Any = (size,) * 3 if is_integer(size) else size
    return benchmark_matmul([sizes], [dtype], device=device, settings=taken)[0]


@named_arguments
def benchmark_convolution(
    input_shapes: Sizes | None = None,
    kernel_sizes: Sizes | None = None,
    strides: Sizes | None = None,
    paddings: Sizes | None = None,
    dtypes: Dtypes = ("float32", "float16"),
    num_warmup: int = Default(10),
    num_runs: int = Default(100),
    *,
    inputs: Sizes | None = None,
    weights: Sizes | None = None,
    device: Device = "auto",
    settings: Settings | None = None,
    warmup_runs: int | None = None,
    **more: Any,
) -> ResultList[ConvolutionResult]:
    """Benchmarks convolutions in two dimensions.

    Args:
        input_shapes: shapes of the input (batch, channels, height, width); by default 4 x 32 x 32 x 32.
        kernel_sizes: `(height, width)` of each kernel, or one number for both, with as many output
            channels as input channels; by default 3.
        strides: steps between output points; by default 1.
        paddings: zeros around the input; by default 0.
        dtypes: types such as `float32` and `bf16`.
        num_warmup: iterations per process before the first sample.
        num_runs: samples of a case, in all processes.
        inputs: alias of `input_shapes`.
        weights: shapes of the weights (output channels, input channels per group, height, width) instead
            of `kernel_sizes`.
        device: `cpu`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: replicates, samples and time limit, instead of the sample and warm-up counts.
        warmup_runs: alias of `num_warmup`.
        more: values of `dilation` and `groups`; `stride` and `padding` are names of `strides` and
            `paddings`.

    Returns:
        One result per case, in ms and TFLOP/s; a case that cannot run has a `reason`.

    Raises:
        TypeError: if a parameter is given under two names, or `more` names an unknown axis.
        ValueError: if a shape or type is invalid; the message names valid ones.
        ImportError: if PyTorch is not installed.
        RuntimeError: if no device has this index.
    """
    taken = settings_of(num_runs, num_warmup, warmup_runs, settings)
    shapes = one_of(input_shapes=input_shapes, inputs=inputs)
    axes: dict[str, Any] = {
        "dtype": dtypes,
        "stride": one_of(strides=strides, stride=more.pop("stride", None)),
        "padding": one_of(paddings=paddings, padding=more.pop("padding", None)),
        **more,
    }
    shapes = _IMAGES if shapes is None else shapes
    one_of(kernel_sizes=kernel_sizes, weights=weights)
    if weights is not None:
        return benchmark(ConvolutionResult, "pytorch/convolution", device, taken, input=shapes, weight=weights, **axes)
    # The weights depend on the channels of the input.
    kernels = [_kernel(size) for size in listed(3 if kernel_sizes is None else kernel_sizes, isinstance(kernel_sizes, tuple))]
    every_groups = [int(groups) for groups in listed(axes.pop("groups", 1))]
    results: ResultList[ConvolutionResult] = ResultList()
    for shape, groups in itertools.product(listed(shapes, True), every_groups):
        channels = int(shape_of("input", shape, 4).split("x")[1])
        own = [(channels, channels // max(groups, 1), *kernel) for kernel in kernels]
        points = {**axes, "input": [shape], "weight": own, "groups": groups}
        results += benchmark(ConvolutionResult, "pytorch/convolution", device, taken, **points)
    return results


def _kernel(size: Any) -> tuple[int, int]:
    height, width = shape_of("kernel size", (size, size) if is_integer(size) else size, 2).split("x")
    return int(height), int(width)


def benchmark_memory_transfer(
    sizes: Sizes,
    directions: Words = ("cpu_to_gpu", "gpu_to_cpu"),
    host_memory: Words = ("pinned",),
    device: Device = "auto",
    settings: Settings = DEFAULT,
) -> ResultList[TransferResult]:
    """Benchmarks copies to, from, within and between GPUs.

    Args:
        sizes: sizes such as `64MiB`, or in bytes.
        directions: `cpu_to_gpu`, `gpu_to_cpu`, `gpu_to_gpu` within one GPU, or `gpu_to_peer` to another.
        host_memory: `pinned` or `pageable`.
        device: `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: number of replicates and samples, and the time limit.

    Returns:
        One result per case, in ms and GB/s; a case that cannot run has a `reason`.

    Raises:
        ValueError: if a size, direction or kind of memory is invalid; the message names valid ones.
        ImportError: if PyTorch is not installed.
        RuntimeError: if no device has this index.
    """
    axes = {"direction": directions, "size": [size_text(size) for size in listed(sizes)], "host_memory": host_memory}
    return benchmark(TransferResult, "pytorch/memory-transfer", device, settings, **axes)


@named_arguments
def benchmark_memory_transfers(
    sizes_bytes: Sizes | None = None,
    directions: Any = None,
    num_warmup: int = Default(10),
    num_runs: int = Default(100),
    *,
    host_memory: Words = ("pinned",),
    device: Device = "auto",
    settings: Settings | None = None,
    warmup_runs: int | None = None,
) -> ResultList[TransferResult]:
    """Benchmarks copies to, from, within and between GPUs.

    Args:
        sizes_bytes: sizes in bytes; by default 1, 64 and 256 MiB.
        directions: `cpu_to_gpu` (`h2d`), `gpu_to_cpu` (`d2h`), `gpu_to_gpu` (`d2d`) within one GPU, or
            `gpu_to_peer` to another; by default the first two.
        num_warmup: iterations per process before the first sample.
        num_runs: samples of a case, in all processes.
        host_memory: `pinned` or `pageable`.
        device: `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: replicates, samples and time limit, instead of the sample and warm-up counts.
        warmup_runs: alias of `num_warmup`.

    Returns:
        One result per case, in ms and GB/s; a case that cannot run, such as any on a CPU, has a `reason`.

    Raises:
        TypeError: if a parameter is given under two names.
        ValueError: if a size, direction or kind of memory is invalid; the message names valid ones.
        ImportError: if PyTorch is not installed.
        RuntimeError: if no device has this index.
    """
    taken = settings_of(num_runs, num_warmup, warmup_runs, settings)
    words = ("cpu_to_gpu", "gpu_to_cpu") if directions is None else directions
    return benchmark_memory_transfer(_TRANSFERS if sizes_bytes is None else sizes_bytes, words, host_memory, device, taken)


class Access(NamedTuple):
    """Bandwidth in GB/s, and the time of one pass in µs."""

    bandwidth_gb_s: float
    latency_us: float


@named_arguments
def measure_sequential_read(tensor: Any, num_iterations: int = 1000) -> Access:
    """Measures reading a tensor, by summing its elements, on the device that holds it.

    Args:
        tensor: a PyTorch tensor.
        num_iterations: number of passes, after one that is not timed.

    Returns:
        Bytes read over time in GB/s, and the time of one pass in µs.

    Raises:
        TypeError: if `tensor` is not a tensor.
        ValueError: if the tensor is empty or cannot be timed on its device, or `num_iterations` is below 1.
        ImportError: if PyTorch is not installed.
    """
    return _access([tensor], lambda: tensor.sum(), num_iterations)


@named_arguments
def measure_sequential_write(tensor: Any, num_iterations: int = 1000) -> Access:
    """Measures writing a tensor, by setting its elements to 0, on the device that holds it.

    Args:
        tensor: a PyTorch tensor, whose values are lost.
        num_iterations: number of passes, after one that is not timed.

    Returns:
        Bytes written over time in GB/s, and the time of one pass in µs.

    Raises:
        TypeError: if `tensor` is not a tensor.
        ValueError: if the tensor is empty or cannot be timed on its device, or `num_iterations` is below 1.
        ImportError: if PyTorch is not installed.
    """
    return _access([tensor], lambda: tensor.fill_(0), num_iterations)


@named_arguments
def measure_memory_copy(src: Any, dst: Any, num_iterations: int = 1000) -> Access:
    """Measures copying a tensor to another of the same shape and type.

    Args:
        src: a PyTorch tensor.
        dst: the tensor that is overwritten; it may be on another device.
        num_iterations: number of copies, after one that is not timed.

    Returns:
        Bytes over time in GB/s, and the time of one copy in µs. Within one device each byte counts twice,
        as read and written; between two devices once.

    Raises:
        TypeError: if an argument is not a tensor.
        ValueError: if the tensors differ in shape or type, share memory, are empty, repeat elements or cannot
            be timed on their device, or `num_iterations` is below 1.
        ImportError: if PyTorch is not installed.
    """
    return _access([src, dst], lambda: dst.copy_(src), num_iterations)


def _is_whole(tensor: Any) -> bool:
    """Returns whether a tensor is dense and stores each of its elements."""
    return str(tensor.layout) == "torch.strided" and all(
        stride != 0 or size == 1 for stride, size in zip(tensor.stride(), tensor.shape)
    )


def _access(tensors: Sequence[Any], run: Callable[[], Any], num_iterations: int) -> Access:
    """Times passes over one tensor, or copies of the first tensor to the second."""
    from .workloads.core import Work, without_gradients

    torch, first = loaded_torch(), tensors[0]
    for one in tensors:
        if not isinstance(one, torch.Tensor):
            raise TypeError(f"{type(one).__name__} is not a tensor of PyTorch; pass one, such as torch.rand(1 << 24)")
        if one.device.type not in ("cpu", "cuda") or not one.numel():
            raise ValueError(f"a tensor of {one.numel()} elements on {one.device} cannot be timed; use cpu or cuda")
        if not _is_whole(one):
            raise ValueError("a tensor that is sparse or repeats its elements (stride 0) cannot be timed; pass x.contiguous()")
        if one.shape != first.shape or one.dtype != first.dtype:
            raise ValueError(f"a {first.dtype} of {tuple(first.shape)} cannot be copied to a {one.dtype} of {tuple(one.shape)}")
    count("num_iterations", num_iterations)
    if len(tensors) > 1 and tensors[1].data_ptr() == first.data_ptr():
        raise ValueError("src and dst are the same memory; pass another tensor as dst, such as torch.empty_like(src)")
    gpu = next((one.device for one in tensors if one.device.type == "cuda"), None)
    work = Work(without_gradients(torch, run), lambda _: {}, None, gpu)
    work.sample(1)
    time_ns = work.sample(num_iterations) / num_iterations
    is_within = len(tensors) > 1 and tensors[1].device == first.device
    moved = first.numel() * first.element_size() * (2 if is_within else 1)
    return Access(moved / time_ns, time_ns / 1e3)


@named_arguments
def benchmark_autograd(
    operations: Any = None,
    input_shapes: Sizes | None = None,
    num_warmup: int = Default(10),
    num_runs: int = Default(100),
    *,
    dtypes: Dtypes = ("f32",),
    device: Device = "auto",
    settings: Settings | None = None,
    warmup_runs: int | None = None,
    **more: Any,
) -> ResultList[AutogradResult]:
    """Benchmarks passes through linear layers.

    Args:
        operations: `forward` or `backward`; by default both.
        input_shapes: `(batch, width)` of each input; by default 64 x 256.
        num_warmup: iterations per process before the first sample.
        num_runs: samples of a case, in all processes.
        dtypes: types such as `f32` and `bf16`.
        device: `cpu`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: replicates, samples and time limit, instead of the sample and warm-up counts.
        warmup_runs: alias of `num_warmup`.
        more: values of `batch_size`, `width` and `num_layers`.

    Returns:
        One result per case, in ms; a case that cannot run has a `reason`. If both passes of the same
        layers were measured, both results have the times of both.

    Raises:
        TypeError: if a parameter is given under two names, or `more` names an unknown axis.
        ValueError: if an operation, shape or type is invalid; the message names valid ones.
        ImportError: if PyTorch is not installed.
        RuntimeError: if no device has this index.
    """
    taken = settings_of(num_runs, num_warmup, warmup_runs, settings)
    both = ("forward", "backward")
    axes: dict[str, Any] = {"dtype": dtypes, "operation": both if operations is None else operations, **more}
    if input_shapes is None:
        return _with_both_passes(benchmark(AutogradResult, "pytorch/autograd", device, taken, **axes))
    one_of(input_shapes=input_shapes, batch_size=more.get("batch_size"))
    one_of(input_shapes=input_shapes, width=more.get("width"))
    results: ResultList[AutogradResult] = ResultList()
    for shape in listed(input_shapes, True):
        batch, width = shape_of("input shape", shape, 2).split("x")
        points = {**axes, "batch_size": batch, "width": width}
        results += benchmark(AutogradResult, "pytorch/autograd", device, taken, **points)
    return _with_both_passes(results)


def _with_both_passes(results: Sequence[AutogradResult]) -> ResultList[AutogradResult]:
    """Returns the results; each also gets the time of the other pass of the same layers, if it was measured."""
    times = {(_layers(one.parameters), one.parameters.get("operation")): one.time_ms for one in results}
    found: ResultList[AutogradResult] = ResultList()
    for one in results:
        forward, backward = (times.get((_layers(one.parameters), name)) for name in ("forward", "backward"))
        own = {"forward_time_ms": forward or one.forward_time_ms, "backward_time_ms": backward or one.backward_time_ms}
        found.append(dataclasses.replace(one, **own))
    return found


def _layers(parameters: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in parameters.items() if name != "operation")


def benchmark_compile(
    rows: Sequence[tuple[int, int]],
    compilations: Sequence[str] = ("cold", "warm"),
    dtypes: Dtypes = ("f32",),
    device: Device = "auto",
    settings: Settings = DEFAULT,
) -> ResultList[CompileResult]:
    """Benchmarks `torch.compile` of element-wise operations.

    Args:
        rows: number of rows, and the length of a row.
        compilations: `cold` for compilation with empty caches, `warm` for the compiled function.
        dtypes: types such as `f32` and `bf16`.
        device: `cpu:0`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: number of replicates and samples, and the time limit.

    Returns:
        One result per case; a case that cannot run has a `reason`.
    """
    return benchmark(CompileResult, "pytorch/torch-compile", device, settings, dtype=dtypes, compilation=compilations, rows=rows)


def benchmark_execution(
    executions: Sequence[str] = ("eager", "compiled", "graph"),
    dtypes: Dtypes = ("f32",),
    device: Device = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[int],
) -> ResultList[CompileResult]:
    """Benchmarks the forward pass of a decoder in several execution modes.

    Args:
        executions: `eager`, `compiled`, or `graph` for a graph that a GPU replays.
        dtypes: types such as `f32` and `bf16`.
        device: `cpu:0`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: number of replicates and samples, and the time limit.
        more: values of `batch_size`, `sequence_length`, `width` and `num_layers`.

    Returns:
        One result per case; a case that cannot run has a `reason`.

    Raises:
        TypeError: if `more` names an axis that the workload does not have.
        ValueError: if a value is invalid; the message names valid ones.
        ImportError: if PyTorch is not installed.
        RuntimeError: if no device has this index.
    """
    return benchmark(CompileResult, "pytorch/execution", device, settings, dtype=dtypes, execution=executions, **more)


def benchmark_training(
    dtypes: Dtypes = ("f32",),
    device: Device = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[int],
) -> ResultList[StepResult]:
    """Benchmarks training steps of a decoder with AdamW.

    Args:
        dtypes: types such as `f32` and `bf16`.
        device: `cpu:0`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: number of replicates and samples, and the time limit.
        more: values of `batch_size`, `sequence_length`, `width` and `num_layers`.

    Returns:
        One result per case; a case that cannot run has a `reason`.

    Raises:
        TypeError: if `more` names an axis that the workload does not have.
        ValueError: if a value is invalid; the message names valid ones.
        ImportError: if PyTorch is not installed.
        RuntimeError: if no device has this index.
    """
    return benchmark(StepResult, "pytorch/training", device, settings, dtype=dtypes, **more)


def benchmark_layer_norm(
    rows: Sequence[tuple[int, int]],
    dtypes: Dtypes = ("f32",),
    device: Device = "auto",
    settings: Settings = DEFAULT,
) -> ResultList[LayerNormResult]:
    """Benchmarks layer normalization.

    Args:
        rows: number of rows, and the length of a row.
        dtypes: types such as `f32` and `bf16`.
        device: `cpu:0`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: number of replicates and samples, and the time limit.

    Returns:
        One result per case; a case that cannot run has a `reason`.
    """
    return benchmark(LayerNormResult, "pytorch/layer-norm", device, settings, dtype=dtypes, rows=rows)


@named_arguments
def benchmark_attention(
    batch_sizes: Sizes | None = None,
    num_heads: Sizes | None = None,
    head_dims: Sizes | None = None,
    sequence_lengths: Sizes | None = None,
    causal: bool | Sequence[bool] = True,
    num_warmup: int = Default(10),
    num_runs: int = Default(100),
    *,
    dtypes: Dtypes = ("f32",),
    batch_size: Sizes | None = None,
    head_dim: Sizes | None = None,
    device: Device = "auto",
    settings: Settings | None = None,
    warmup_runs: int | None = None,
) -> ResultList[AttentionResult]:
    """Benchmarks attention by the kernel that PyTorch chooses.

    Args:
        batch_sizes: numbers of sequences; by default 1.
        num_heads: numbers of heads; by default 8.
        head_dims: numbers of elements of a head; by default 64.
        sequence_lengths: numbers of positions of queries and keys; by default 512.
        causal: whether each position attends only to itself and earlier ones.
        num_warmup: iterations per process before the first sample.
        num_runs: samples of a case, in all processes.
        dtypes: types such as `f32` and `bf16`.
        batch_size: alias of `batch_sizes`.
        head_dim: alias of `head_dims`.
        device: `cpu`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: replicates, samples and time limit, instead of the sample and warm-up counts.
        warmup_runs: alias of `num_warmup`.

    Returns:
        One result per case, in ms and tokens per second; a case that cannot run has a `reason`.

    Raises:
        TypeError: if a parameter is given under two names.
        ValueError: if a size or type is invalid; the message names valid ones.
        ImportError: if PyTorch is not installed.
        RuntimeError: if no device has this index.
    """
    axes = {
        "dtype": dtypes,
        "sequence_length": 512 if sequence_lengths is None else sequence_lengths,
        "causal": causal,
        "batch_size": one_of(batch_sizes=batch_sizes, batch_size=batch_size),
        "num_heads": num_heads,
        "head_dim": one_of(head_dims=head_dims, head_dim=head_dim),
    }
    taken = settings_of(num_runs, num_warmup, warmup_runs, settings)
    return benchmark(AttentionResult, "pytorch/attention", device, taken, **axes)


def benchmark_transformer(
    operations: Sequence[str] = ("prefill", "decode"),
    dtypes: Dtypes = ("f32",),
    use_cache: Sequence[bool] = (True,),
    model: str = "random",
    device: Device = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[int],
) -> ResultList[GenerationResult]:
    """Benchmarks a transformer of the package `transformers`.

    Args:
        operations: `prefill` for one pass over the prompt, `decode` for the tokens after it.
        dtypes: types such as `f32` and `bf16`.
        use_cache: whether keys and values are cached between tokens.
        model: a directory with `config.json` and weights, or `random` for random weights.
        device: `cpu:0`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: number of replicates and samples, and the time limit.
        more: values of `batch_size`, `prompt_length`, `output_length`, `width` and `num_layers`.

    Returns:
        One result per case; a case that cannot run has a `reason`.

    Raises:
        TypeError: if `more` names an axis that the workload does not have.
        ValueError: if a value is invalid; the message names valid ones.
        ImportError: if PyTorch is not installed.
        RuntimeError: if no device has this index.
    """
    axes = {"dtype": dtypes, "operation": operations, "use_cache": use_cache, "model": [model], **more}
    return benchmark(GenerationResult, "pytorch/transformer", device, settings, **axes)


@named_arguments
def run_basic_inference_test(
    model_name: str = "meta-llama/Llama-2-7b-hf",
    batch_sizes: Sizes = (1, 2, 4),
    sequence_lengths: Sizes = (128, 512, 2048),
    num_warmup: int = Default(3),
    num_runs: int = Default(10),
    use_cache: bool = True,
    *,
    dtype: str = "float32",
    device: Device = "auto",
    settings: Settings | None = None,
    warmup_runs: int | None = None,
) -> ResultList[InferenceResult]:
    """Runs one pass of a model, and generation of tokens, with the program and this Python.

    Args:
        model_name: a model of `rusty-stack-bench models list`, a directory with `config.json` and weights, or
            a downloaded model of the hub. `meta-llama/Llama-2-7b-hf` and `meta-llama/Meta-Llama-3-8B` have
            their published shapes with random weights, as the models of the list.
        batch_sizes: numbers of texts.
        sequence_lengths: tokens of each text.
        num_warmup: iterations per process before the first sample.
        num_runs: samples of a case, in all processes; the program takes at least 10 per process.
        use_cache: whether to generate tokens with a cache of keys and values; else only one pass runs.
        dtype: type such as `float32` and `bf16`.
        device: `cpu`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: replicates, samples and time limit, instead of the sample and warm-up counts.
        warmup_runs: alias of `num_warmup`.

    Returns:
        One result per batch size and length, in ms and tokens per second: `forward_time_ms` is that of one
        pass, `total_time_ms` that of the generation. A case that cannot run, such as one that does not fit
        into the memory, has the reason.

    Raises:
        TypeError: if a parameter is given under two names.
        ValueError: if the model, a size, the type or the device is invalid; the message names valid ones.
        ImportError: if PyTorch is not installed.
        RuntimeError: if the program is missing or fails, or there is no device of this index.
    """
    from .native import measured, model_words, results_of

    taken = settings_of(num_runs, num_warmup, warmup_runs, settings)
    require_torch()
    words, selection = model_words(model_name, dtype, batch_sizes, sequence_lengths, device)
    words += ["--workload", "forward,generate" if use_cache else "forward"]
    document = measured(words, selection, taken)
    return _with_passes(results_of(InferenceResult, document, "models"))


def _with_passes(results: Iterable[InferenceResult]) -> ResultList[InferenceResult]:
    """Joins the results of one pass and of generation for the same inputs."""
    passes: list[InferenceResult] = []
    others: ResultList[InferenceResult] = ResultList()
    for result in results:
        (passes if result.parameters.get("workload") == "forward" else others).append(result)
    generated = {_inputs(result): result for result in others if result.is_measured}
    found: ResultList[InferenceResult] = ResultList()
    for one in passes:
        whole = generated.get(_inputs(one), one)
        shape = one.input_shape or "x".join(size for size in _inputs(one) if size is not None)
        found.append(
            dataclasses.replace(
                whole,
                input_shape=shape,
                output_shape=one.output_shape,
                forward_time_ms=one.forward_time_ms,
                total_time_ms=whole.time_ms,
            )
        )
    return found or others


def _inputs(result: InferenceResult) -> tuple[str | None, str | None]:
    return result.parameters.get("batch_size"), result.parameters.get("sequence_length")
