"""vLLM: throughput and latency of generation, and of requests at a given rate."""

from collections.abc import Sequence
from typing import Any

from .measuring import Settings, benchmark
from .results import GenerationResult

DEFAULT = Settings()


def benchmark_generation(
    num_prompts: Sequence[int] = (8,),
    model: str = "random",
    device: str = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[Any],
) -> list[GenerationResult]:
    """Benchmarks generation for prompts that are sent at the same time.

    Args:
        num_prompts: prompts per batch.
        model: a directory with `config.json` and weights, or `random` for random weights.
        device: `cpu:0`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: number of replicates and samples, and the time limit.
        more: values of `prompt_length`, `output_length`, `execution` and other axes of docs/methods/vllm.md.

    Returns:
        One result per case; a case that cannot run has the reason.

    Raises:
        ValueError: if `more` names an axis that the workload does not have.
    """
    return benchmark(GenerationResult, "vllm/generation", device, settings, num_prompts=num_prompts, model=[model], **more)


def benchmark_serving(
    request_rates: Sequence[float],
    model: str = "random",
    device: str = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[Any],
) -> list[GenerationResult]:
    """Benchmarks serving of requests that arrive at random times.

    Args:
        request_rates: requests per second.
        model: a directory with `config.json` and weights, or `random` for random weights.
        device: `cpu:0`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: number of replicates and samples, and the time limit.
        more: values of `num_requests`, `ttft_limit`, `tpot_limit` and other axes of docs/methods/vllm.md.

    Returns:
        One result per case; a case that cannot run has the reason.

    Raises:
        ValueError: if `more` names an axis that the workload does not have.
    """
    return benchmark(GenerationResult, "vllm/serve", device, settings, request_rate=request_rates, model=[model], **more)
