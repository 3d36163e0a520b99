"""vLLM: throughput and latency of generation, and of requests at a given rate."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from .arguments import named_arguments
from .cases import PUBLISHED, Sizes
from .measuring import Default, Device, Settings, benchmark, one_of, settings_of
from .results import GenerationResult, ResultList

DEFAULT = Settings()


def benchmark_generation(
    num_prompts: Sequence[int] = (8,),
    model: str = "random",
    device: Device = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[Any],
) -> ResultList[GenerationResult]:
    """Benchmarks generation for prompts that are sent at the same time.

    Args:
        num_prompts: prompts per batch.
        model: a directory with `config.json` and weights, or `random` for random weights.
        device: `cpu:0`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: number of replicates and samples, and the time limit.
        more: values of `prompt_length`, `output_length`, `execution` and other axes of docs/methods/vllm.md.

    Returns:
        One result per case; a case that cannot run has a `reason`.

    Raises:
        TypeError: if `more` names an axis that the workload does not have.
        ValueError: if a value is invalid; the message names valid ones.
        RuntimeError: if no device has this index.
    """
    return benchmark(GenerationResult, "vllm/generation", device, settings, num_prompts=num_prompts, model=[model], **more)


def benchmark_serving(
    request_rates: Sequence[float],
    model: str = "random",
    device: Device = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[Any],
) -> ResultList[GenerationResult]:
    """Benchmarks serving of requests that arrive at random times.

    Args:
        request_rates: requests per second.
        model: a directory with `config.json` and weights, or `random` for random weights.
        device: `cpu:0`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: number of replicates and samples, and the time limit.
        more: values of `num_requests`, `ttft_limit`, `tpot_limit` and other axes of docs/methods/vllm.md.

    Returns:
        One result per case; a case that cannot run has a `reason`.

    Raises:
        TypeError: if `more` names an axis that the workload does not have.
        ValueError: if a value is invalid; the message names valid ones.
        RuntimeError: if no device has this index.
    """
    return benchmark(GenerationResult, "vllm/serve", device, settings, request_rate=request_rates, model=[model], **more)


def _model(model_name: str) -> dict[str, Any]:
    """Returns the axes of a model: its directory, or its shape if the weights are random."""
    shape = PUBLISHED.get(model_name, model_name)
    return {"model_shape": shape} if shape in PUBLISHED.values() else {"model": [model_name]}


@named_arguments
def benchmark_vllm_throughput(
    model_name: str,
    batch_sizes: Sizes | None = None,
    num_prompts: Sizes | None = None,
    max_tokens: Any = 256,
    num_warmup: int = Default(3),
    num_runs: int = Default(5),
    *,
    device: Device = "auto",
    settings: Settings | None = None,
    warmup_runs: int | None = None,
    **more: Any,
) -> ResultList[GenerationResult]:
    """Benchmarks generation for prompts that are sent at the same time.

    Args:
        model_name: a directory with `config.json` and weights, `random` for a small model with random weights, or
            `llama-2-7b`, `llama-3-8b` or their names on huggingface.co for their shapes with random weights.
        batch_sizes: prompts sent together; by default 8.
        num_prompts: alias of `batch_sizes`.
        max_tokens: tokens generated for each prompt.
        num_warmup: iterations per process before the first sample.
        num_runs: samples of a case, in all processes, each of which starts an engine.
        device: `cpu`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: replicates, samples and time limit, instead of the sample and warm-up counts.
        warmup_runs: alias of `num_warmup`.
        more: values of `execution`, `prefix_cache` and other axes of docs/methods/vllm.md.

    Returns:
        One result per case, in tokens and requests per second; a case that cannot run has a `reason`.

    Raises:
        TypeError: if a parameter is given under two names, or `more` names an unknown axis.
        ValueError: if a value is invalid; the message names valid ones.
        RuntimeError: if no device has this index.
    """
    taken = settings_of(num_runs, num_warmup, warmup_runs, settings)
    counts = one_of(batch_sizes=batch_sizes, num_prompts=num_prompts)
    axes = {"num_prompts": counts, "output_length": max_tokens, **_model(model_name), **more}
    return benchmark(GenerationResult, "vllm/generation", device, taken, **axes)


@named_arguments
def benchmark_vllm_latency(
    model_name: str,
    batch_sizes: Sizes | None = None,
    prompt_lengths: Sizes | None = None,
    output_lengths: Sizes | None = None,
    num_warmup: int = Default(10),
    num_runs: int = Default(100),
    *,
    device: Device = "auto",
    settings: Settings | None = None,
    warmup_runs: int | None = None,
    **more: Any,
) -> ResultList[GenerationResult]:
    """Benchmarks the latency of the first token, of each later token, and of whole requests.

    Args:
        model_name: a directory with `config.json` and weights, `random` for a small model with random weights, or
            `llama-2-7b`, `llama-3-8b` or their names on huggingface.co for their shapes with random weights.
        batch_sizes: prompts sent together; by default 1.
        prompt_lengths: tokens of a prompt; by default 128.
        output_lengths: tokens generated for each prompt; by default 32.
        num_warmup: iterations per process before the first sample.
        num_runs: samples of a case, in all processes, each of which starts an engine.
        device: `cpu`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: replicates, samples and time limit, instead of the sample and warm-up counts.
        warmup_runs: alias of `num_warmup`.
        more: values of `execution`, `prefix_cache` and other axes of docs/methods/vllm.md.

    Returns:
        One result per case, in ms; a case that cannot run has a `reason`.

    Raises:
        TypeError: if a parameter is given under two names, or `more` names an unknown axis.
        ValueError: if a value is invalid; the message names valid ones.
        RuntimeError: if no device has this index.
    """
    taken = settings_of(num_runs, num_warmup, warmup_runs, settings)
    axes = {
        "num_prompts": 1 if batch_sizes is None else batch_sizes,
        "prompt_length": prompt_lengths,
        "output_length": output_lengths,
        **_model(model_name),
        **more,
    }
    return benchmark(GenerationResult, "vllm/generation", device, taken, **axes)


@named_arguments
def benchmark_vllm_batching(
    model_name: str,
    batch_sizes: Sizes | None = None,
    num_requests: Sizes | None = None,
    max_tokens: Any = 128,
    num_warmup: int = Default(3),
    num_runs: int = Default(5),
    *,
    device: Device = "auto",
    settings: Settings | None = None,
    warmup_runs: int | None = None,
    **more: Any,
) -> ResultList[GenerationResult]:
    """Benchmarks requests that are sent at once and that the engine batches continuously.

    Args:
        model_name: a directory with `config.json` and weights, `random` for a small model with random weights, or
            `llama-2-7b`, `llama-3-8b` or their names on huggingface.co for their shapes with random weights.
        batch_sizes: requests sent at once; by default 8.
        num_requests: alias of `batch_sizes`.
        max_tokens: tokens generated for each request.
        num_warmup: iterations per process before the first sample.
        num_runs: samples of a case, in all processes, each of which starts an engine.
        device: `cpu`, `rocm:0`, `cuda:0` …, or `auto` for the first GPU that PyTorch can use, else the CPU.
        settings: replicates, samples and time limit, instead of the sample and warm-up counts.
        warmup_runs: alias of `num_warmup`.
        more: values of `execution`, `prefix_cache` and other axes of docs/methods/vllm.md.

    Returns:
        One result per case, in tokens per second and ms; a case that cannot run has a `reason`.

    Raises:
        TypeError: if a parameter is given under two names, or `more` names an unknown axis.
        ValueError: if a value is invalid; the message names valid ones.
        RuntimeError: if no device has this index.
    """
    taken = settings_of(num_runs, num_warmup, warmup_runs, settings)
    counts = one_of(batch_sizes=batch_sizes, num_requests=num_requests)
    axes = {"request_rate": 0, "num_requests": counts, "output_length": max_tokens, **_model(model_name), **more}
    found = benchmark(GenerationResult, "vllm/serve", device, taken, **axes)
    return ResultList(dataclasses.replace(result, batch_size=result.num_requests) for result in found)
