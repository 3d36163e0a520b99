"""Compares our results of vLLM with vLLM's own benchmark: same engine, same prompts, interleaved.

    PYTHONPATH=python path/of/vllm/python3 python/checks/against_vllm.py

Throughput: the time of a batch as measured by our workload, and by the function that `vllm bench
throughput` uses. Serving: statistics of the same requests, computed by our code and by that of
`vllm bench serve`.
"""

import asyncio
import os
import statistics
import sys
import time

from rusty_stack_bench.workloads import core, serving
from rusty_stack_bench.workloads import vllm as workload

# One thread by default: on a machine with other load, synchronized threads are delayed, and a batch
# of one side may take twice as long as the next batch of the other side.
os.environ.setdefault("OMP_NUM_THREADS", "1")
PAIRS = int(os.environ.get("PAIRS", "31"))
LIMIT_PERCENT = 5.0
PARAMS = {"model": "random", "execution": "auto", "num_prompts": "4", "prompt_length": "32", "output_length": "8"}
PARAMS |= {"prefix_cache": "off", "shared_prefix": "0"}


class _Quiet:
    """Wraps vLLM's engine to run without the progress bar, because our workload shows none either."""

    def __init__(self, engine):
        self._engine = engine

    def generate(self, prompts, sampling, **more):
        """Calls the engine without a progress bar."""
        return self._engine.generate(prompts, sampling, **{**more, "use_tqdm": False})

    def __getattr__(self, name):
        return getattr(self._engine, name)


def throughput() -> float:
    """Compares the time of a batch; returns the difference of the medians in percent."""
    from vllm.benchmarks.datasets import SampleRequest
    from vllm.benchmarks.throughput import _run_vllm_requests

    case = core.Case("vllm", "generation", "cpu:0", PARAMS)
    workload.check(case)
    made = []
    engine_of = workload.offline_engine
    # Both sides use the engine that our workload creates.
    workload.offline_engine = lambda case: made.append(engine_of(case)) or made[0]
    work = workload.generation(case)
    engine = made[0][0]
    length, asked = case.count("prompt_length"), case.count("output_length")
    prompts = workload.prompts(case.count("num_prompts"), length)
    requests = [
        SampleRequest(prompt=prompt, prompt_len=length, expected_output_len=asked, multi_modal_data=None) for prompt in prompts
    ]

    def theirs() -> float:
        seconds, _ = _run_vllm_requests(
            _Quiet(engine), requests, n=1, disable_detokenize=True, do_profile=False, prequeue_requests=False, enable_lora=False
        )
        return seconds

    theirs()
    ours_s, theirs_s = [], []
    for pair in range(PAIRS):
        for who in (0, 1) if pair % 2 else (1, 0):
            if who:
                ours_s.append(work.sample(1) / 1e9)
            else:
                theirs_s.append(theirs())
    a, b = statistics.median(ours_s), statistics.median(theirs_s)
    difference = 100 * (a / b - 1)
    paired = 100 * (statistics.median(one / other for one, other in zip(ours_s, theirs_s)) - 1)
    print(f"batch: ours {a * 1e3:.1f} ms, theirs {b * 1e3:.1f} ms, medians of {PAIRS}: {difference:+.2f} % (in pairs {paired:+.2f} %)")
    return difference


def summed_up() -> float:
    """Compares the serving statistics of the same requests; returns the largest difference in percent."""
    from vllm.benchmarks.lib.endpoint_request_func import RequestFuncOutput
    from vllm.benchmarks.serve import calculate_metrics

    async def stream(number):
        for token in range(4 + number % 3):
            await asyncio.sleep(0.002 * (1 + (number + token) % 4))
            yield 1

    begin = time.perf_counter()
    times = serving.arrivals(60, 200.0, 7)
    served = asyncio.run(serving.drive(stream, times, time.perf_counter))
    seconds = time.perf_counter() - begin
    limits = serving.Limits(6.0, 6.0)
    ours = serving.figures(served, seconds, limits)
    outputs = [
        RequestFuncOutput(
            success=True,
            latency=one.latency,
            ttft=one.first,
            itl=one.between,
            prompt_len=8,
            output_tokens=len(one.tokens),
            start_time=one.sent,
        )
        for one in served
    ]
    goal = {"ttft": limits.ttft_ms, "tpot": limits.tpot_ms}
    theirs, _ = calculate_metrics([], outputs, seconds, None, [50, 90, 99], goal)
    pairs = {
        "requests_per_second": theirs.request_throughput,
        "tokens_per_second": theirs.output_throughput,
        "goodput_requests_per_second": theirs.request_goodput,
        "latency_p50_ms": theirs.median_e2el_ms,
        "ttft_ms": theirs.median_ttft_ms,
        "tpot_ms": theirs.median_tpot_ms,
        "itl_ms": theirs.median_itl_ms,
    }
    for kind, found in (("ttft", theirs.percentiles_ttft_ms), ("tpot", theirs.percentiles_tpot_ms), ("itl", theirs.percentiles_itl_ms)):
        pairs |= {f"{kind}_p{share}_ms": value for share, value in found if share != 50}
    worst = 0.0
    for name, value in pairs.items():
        difference = 100 * (ours[name] / value - 1) if value else float(ours[name] != 0)
        worst = max(worst, abs(difference))
        print(f"{name}: ours {ours[name]:.4f}, theirs {value:.4f}")
    return worst


def main() -> int:
    """Returns 0 if everything is within the limit, else 1."""
    found = [summed_up(), throughput()]
    return int(any(abs(one) > LIMIT_PERCENT for one in found))


if __name__ == "__main__":
    sys.exit(main())
