"""vLLM: throughput and latency of generation, and requests at a rate."""

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
    """Prompts sent together; `prompt_length`, `output_length` and `execution` are lists of values."""
    return benchmark(GenerationResult, "vllm/generation", device, settings, num_prompts=num_prompts, model=[model], **more)


def benchmark_serving(
    request_rates: Sequence[float],
    model: str = "random",
    device: str = "auto",
    settings: Settings = DEFAULT,
    **more: Sequence[Any],
) -> list[GenerationResult]:
    """Requests at random times, so many a second; `num_requests`, `ttft_limit`, `tpot_limit` … are lists of values."""
    return benchmark(GenerationResult, "vllm/serve", device, settings, request_rate=request_rates, model=[model], **more)
