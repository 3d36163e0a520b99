"""Requests that arrive at random times: when each is sent, what is seen of its tokens, and what that amounts to."""
from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Sequence
from dataclasses import dataclass, field
from typing import Callable


@dataclass
class Served:
    """One request: seconds at which it was sent and at which tokens came; why it broke, where it did."""

    sent: float
    # The time of each token; several that come together have the same.
    tokens: list[float] = field(default_factory=list[float])
    # The times at which anything came.
    chunks: list[float] = field(default_factory=list[float])
    error: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether it was answered."""
        return self.error is None and bool(self.tokens)

    @property
    def first(self) -> float:
        """Seconds to the first token."""
        return self.tokens[0] - self.sent

    @property
    def latency(self) -> float:
        """Seconds to the last."""
        return self.tokens[-1] - self.sent

    @property
    def each(self) -> float:
        """Seconds for each token after the first; zero where there is no other."""
        return (self.latency - self.first) / (len(self.tokens) - 1) if len(self.tokens) > 1 else 0.0

    @property
    def between(self) -> list[float]:
        """Seconds between one arrival of tokens and the next."""
        return [later - earlier for earlier, later in zip(self.chunks, self.chunks[1:])]


@dataclass
class Limits:
    """What a good answer keeps to, in milliseconds."""

    ttft_ms: float
    tpot_ms: float

    def holds(self, served: Served) -> bool:
        """Whether the answer is good."""
        return served.is_whole and served.first * 1e3 <= self.ttft_ms and served.each * 1e3 <= self.tpot_ms


def arrivals(count: int, rate: float, seed: int) -> list[float]:
    """Seconds from the beginning at which requests are sent: a Poisson process of `rate` a second; all at once for zero."""
    draw, at, times = random.Random(seed), 0.0, list[float]()
    for _ in range(count):
        times.append(at)
        at += draw.expovariate(rate) if rate > 0 else 0.0
    return times


async def drive(
    stream: Callable[[int], AsyncIterator[int]],
    times: Sequence[float],
    clock: Callable[[], float],
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> list[Served]:
    """Sends request `n` at its time, whether or not earlier ones are answered. `stream(n)` gives how many tokens came."""
    begin = clock()

    async def request(number: int, at: float) -> Served:
        await pause(max(0.0, begin + at - clock()))
        served = Served(clock())
        try:
            async for count in stream(number):
                now = clock()
                served.tokens += [now] * count
                served.chunks += [now] if count else []
        except Exception as error:  # One broken request is a count, not the end of the others.
            served.error = f"{type(error).__name__}: {error}".splitlines()[0][:300]
        return served

    return list(await asyncio.gather(*(request(number, at) for number, at in enumerate(times))))


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` of a hundred stay below, with steps between neighbors made straight."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * share / 100
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def figures(served: Sequence[Served], seconds: float, limits: Limits) -> dict[str, float]:
    """The fields of requests that took `seconds` together. Latencies are those of the requests that were answered."""
    whole = [one for one in served if one.is_whole]
    found: dict[str, float] = {
        "failed_requests": len(served) - len(whole),
        "requests_per_second": len(whole) / seconds,
        "tokens_per_second": sum(len(one.tokens) for one in whole) / seconds,
        "goodput_requests_per_second": sum(limits.holds(one) for one in whole) / seconds,
        "ttft_limit_ms": limits.ttft_ms,
        "tpot_limit_ms": limits.tpot_ms,
    }
    kinds = {
        "ttft": [one.first for one in whole],
        "tpot": [one.each for one in whole if len(one.tokens) > 1],
        "itl": [gap for one in whole for gap in one.between],
        "latency": [one.latency for one in whole],
    }
    for kind, values in kinds.items():
        if not values:
            continue
        middle = "latency_p50_ms" if kind == "latency" else f"{kind}_ms"
        shares = {middle: 50, f"{kind}_p90_ms": 90, f"{kind}_p99_ms": 99}
        found |= {name: percentile(values, share) * 1e3 for name, share in shares.items()}
    return found
