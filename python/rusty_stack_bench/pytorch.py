"""PyTorch: one function per workload; every combination of the given values is a case."""

from collections.abc import Sequence

from .measuring import Settings, benchmark
from .results import (
    AttentionResult,
    AutogradResult,
    CompileResult,
    ConvolutionResult,
    GenerationResult,
    LayerNormResult,
    MatmulResult,
    StepResult,
    TransferResult,
)

Sizes = Sequence[tuple[int, ...]]
DEFAULT = Settings()


def benchmark_matmul(
    sizes: Sequence[tuple[int, int, int]],
    dtypes: Sequence[str] = ("f32",),
    transposes: Sequence[str] = ("nn",),
    device: str = "auto",
    settings: Settings = DEFAULT,
) -> list[MatmulResult]:
    """Benchmarks products of two matrices.

    Args:
        sizes: `(m, n, k)` of each product.
        dtypes: types such as `f32` and `bf16`.
        transposes: two letters, for each operand `n` as stored or `t` transposed.
        device: `cpu:0`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: number of replicates and samples, and the time limit.

    Returns:
        One result per case; a case that cannot run has the reason.
    """
    return benchmark(MatmulResult, "pytorch/matmul", device, settings, dtype=dtypes, shape=sizes, transpose=transposes)


def benchmark_convolution(
    inputs: Sizes,
    weights: Sizes,
    dtypes: Sequence[str] = ("f32",),
    device: str = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[int],
) -> list[ConvolutionResult]:
    """Benchmarks convolutions in two dimensions.

    Args:
        inputs: shapes of the input (batch, channels, height, width).
        weights: shapes of the weights (output channels, input channels per group, height, width).
        dtypes: types such as `f32` and `bf16`.
        device: `cpu:0`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: number of replicates and samples, and the time limit.
        more: values of `stride`, `padding`, `dilation` and `groups`.

    Returns:
        One result per case; a case that cannot run has the reason.

    Raises:
        ValueError: if `more` names an axis that the workload does not have.
    """
    axes = {"dtype": dtypes, "input": inputs, "weight": weights, **more}
    return benchmark(ConvolutionResult, "pytorch/convolution", device, settings, **axes)


def benchmark_memory_transfer(
    sizes: Sequence[str],
    directions: Sequence[str] = ("cpu_to_gpu", "gpu_to_cpu"),
    host_memory: Sequence[str] = ("pinned",),
    device: str = "auto",
    settings: Settings = DEFAULT,
) -> list[TransferResult]:
    """Benchmarks copies to, from, within and between GPUs.

    Args:
        sizes: sizes such as `64MiB`.
        directions: `cpu_to_gpu`, `gpu_to_cpu`, `gpu_to_gpu` within one GPU, or `gpu_to_peer` to another.
        host_memory: `pinned` or `pageable`.
        device: `cpu:0`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: number of replicates and samples, and the time limit.

    Returns:
        One result per case; a case that cannot run has the reason.
    """
    axes = {"direction": directions, "size": sizes, "host_memory": host_memory}
    return benchmark(TransferResult, "pytorch/memory-transfer", device, settings, **axes)


def benchmark_autograd(
    operations: Sequence[str] = ("forward", "backward"),
    dtypes: Sequence[str] = ("f32",),
    device: str = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[int],
) -> list[AutogradResult]:
    """Benchmarks passes through linear layers.

    Args:
        operations: `forward` or `backward`.
        dtypes: types such as `f32` and `bf16`.
        device: `cpu:0`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: number of replicates and samples, and the time limit.
        more: values of `batch_size`, `width` and `num_layers`.

    Returns:
        One result per case; a case that cannot run has the reason.

    Raises:
        ValueError: if `more` names an axis that the workload does not have.
    """
    return benchmark(AutogradResult, "pytorch/autograd", device, settings, dtype=dtypes, operation=operations, **more)


def benchmark_compile(
    rows: Sequence[tuple[int, int]],
    compilations: Sequence[str] = ("cold", "warm"),
    dtypes: Sequence[str] = ("f32",),
    device: str = "auto",
    settings: Settings = DEFAULT,
) -> list[CompileResult]:
    """Benchmarks `torch.compile` of element-wise operations.

    Args:
        rows: number of rows, and length of each.
        compilations: `cold` for compilation with empty caches, `warm` for the compiled function.
        dtypes: types such as `f32` and `bf16`.
        device: `cpu:0`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: number of replicates and samples, and the time limit.

    Returns:
        One result per case; a case that cannot run has the reason.
    """
    return benchmark(CompileResult, "pytorch/torch-compile", device, settings, dtype=dtypes, compilation=compilations, rows=rows)


def benchmark_execution(
    executions: Sequence[str] = ("eager", "compiled", "graph"),
    dtypes: Sequence[str] = ("f32",),
    device: str = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[int],
) -> list[CompileResult]:
    """Benchmarks ways to run the forward pass of a decoder.

    Args:
        executions: `eager`, `compiled`, or `graph` for a graph that a GPU replays.
        dtypes: types such as `f32` and `bf16`.
        device: `cpu:0`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: number of replicates and samples, and the time limit.
        more: values of `batch_size`, `sequence_length`, `width` and `num_layers`.

    Returns:
        One result per case; a case that cannot run has the reason.

    Raises:
        ValueError: if `more` names an axis that the workload does not have.
    """
    return benchmark(CompileResult, "pytorch/execution", device, settings, dtype=dtypes, execution=executions, **more)


def benchmark_training(
    dtypes: Sequence[str] = ("f32",),
    device: str = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[int],
) -> list[StepResult]:
    """Benchmarks training steps of a decoder with AdamW.

    Args:
        dtypes: types such as `f32` and `bf16`.
        device: `cpu:0`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: number of replicates and samples, and the time limit.
        more: values of `batch_size`, `sequence_length`, `width` and `num_layers`.

    Returns:
        One result per case; a case that cannot run has the reason.

    Raises:
        ValueError: if `more` names an axis that the workload does not have.
    """
    return benchmark(StepResult, "pytorch/training", device, settings, dtype=dtypes, **more)


def benchmark_layer_norm(
    rows: Sequence[tuple[int, int]],
    dtypes: Sequence[str] = ("f32",),
    device: str = "auto",
    settings: Settings = DEFAULT,
) -> list[LayerNormResult]:
    """Benchmarks layer normalization.

    Args:
        rows: number of rows, and length of each.
        dtypes: types such as `f32` and `bf16`.
        device: `cpu:0`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: number of replicates and samples, and the time limit.

    Returns:
        One result per case; a case that cannot run has the reason.
    """
    return benchmark(LayerNormResult, "pytorch/layer-norm", device, settings, dtype=dtypes, rows=rows)


def benchmark_attention(
    sequence_lengths: Sequence[int],
    dtypes: Sequence[str] = ("f32",),
    causal: Sequence[bool] = (False,),
    device: str = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[int],
) -> list[AttentionResult]:
    """Benchmarks attention by the kernel that PyTorch chooses.

    Args:
        sequence_lengths: numbers of positions of queries and keys.
        dtypes: types such as `f32` and `bf16`.
        causal: whether each position attends only to itself and earlier ones.
        device: `cpu:0`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: number of replicates and samples, and the time limit.
        more: values of `batch_size`, `num_heads` and `head_dim`.

    Returns:
        One result per case; a case that cannot run has the reason.

    Raises:
        ValueError: if `more` names an axis that the workload does not have.
    """
    axes = {"dtype": dtypes, "sequence_length": sequence_lengths, "causal": causal, **more}
    return benchmark(AttentionResult, "pytorch/attention", device, settings, **axes)


def benchmark_transformer(
    operations: Sequence[str] = ("prefill", "decode"),
    dtypes: Sequence[str] = ("f32",),
    use_cache: Sequence[bool] = (True,),
    model: str = "random",
    device: str = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[int],
) -> list[GenerationResult]:
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
        One result per case; a case that cannot run has the reason.

    Raises:
        ValueError: if `more` names an axis that the workload does not have.
    """
    axes = {"dtype": dtypes, "operation": operations, "use_cache": use_cache, "model": [model], **more}
    return benchmark(GenerationResult, "pytorch/transformer", device, settings, **axes)
