"""Requests with random arrival times: their schedule, recorded tokens, and statistics."""
from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Sequence
from dataclasses import dataclass, field
from typing import Callable


@dataclass
class Served:
    """One request: when it was sent and when tokens arrived, in seconds, and its error if it failed."""

    sent: float
    # Arrival time of each token; tokens of one message have the same time.
    tokens: list[float] = field(default_factory=list[float])
    # Arrival times of messages with tokens.
    chunks: list[float] = field(default_factory=list[float])
    error: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the request was answered without an error."""
        return self.error is None and bool(self.tokens)

    @property
    def first(self) -> float:
        """Seconds from sending to the first token."""
        return self.tokens[0] - self.sent

    @property
    def latency(self) -> float:
        """Seconds from sending to the last token."""
        return self.tokens[-1] - self.sent

    @property
    def each(self) -> float:
        """Seconds per token after the first; 0 if there is only one."""
        return (self.latency - self.first) / (len(self.tokens) - 1) if len(self.tokens) > 1 else 0.0

    @property
    def between(self) -> list[float]:
        """Seconds between consecutive messages with tokens."""
        return [later - earlier for earlier, later in zip(self.chunks, self.chunks[1:])]


@dataclass
class Limits:
    """Latency limits that a good answer must meet, in milliseconds."""

    ttft_ms: float
    tpot_ms: float

    def holds(self, served: Served) -> bool:
        """Returns whether the answer is within the limits."""
        return served.is_whole and served.first * 1e3 <= self.ttft_ms and served.each * 1e3 <= self.tpot_ms


def arrivals(count: int, rate: float, seed: int) -> list[float]:
    """Returns arrival times of a Poisson process.

    Args:
        count: number of requests.
        rate: requests per second; 0 sends all at once.
        seed: seed of the random numbers.

    Returns:
        Seconds since the start; the first is 0.
    """
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
    """Sends each request at its scheduled time, even if earlier ones are not yet answered.

    Args:
        stream: sends the request with the given index and yields the number of tokens in each message.
        times: seconds since the start.
        clock: the clock, in seconds.
        pause: function that sleeps for a number of seconds.
    """
    begin = clock()

    async def request(number: int, at: float) -> Served:
        await pause(max(0.0, begin + at - clock()))
        served = Served(clock())
        try:
            async for count in stream(number):
                now = clock()
                served.tokens += [now] * count
                served.chunks += [now] if count else []
        except Exception as error:  # A failed request is counted and does not end the others.
            served.error = f"{type(error).__name__}: {error}".splitlines()[0][:300]
        return served

    return list(await asyncio.gather(*(request(number, at) for number, at in enumerate(times))))


def percentile(values: Sequence[float], share: float) -> float:
    """Returns a percentile by linear interpolation.

    Args:
        values: the values.
        share: the percentile, 0 to 100.
    """
    ordered = sorted(values)
    place = (len(ordered) - 1) * share / 100
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def figures(served: Sequence[Served], seconds: float, limits: Limits) -> dict[str, float]:
    """Returns the fields of a set of requests that took `seconds` in total. Only answered requests count for latencies."""
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
