"""A model under load: requests with random arrival times, served by several lanes, and their latencies."""
from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any, Callable

from .serving import percentile


class Load:
    """Serves each request with the first free lane.

    Args:
        lanes: functions that serve one request, each used by one thread.
        arrivals: arrival times in seconds since the start.
        clock: the clock, in seconds.
        pause: function that sleeps for a number of seconds.
    """

    def __init__(
        self,
        lanes: Sequence[Callable[[], object]],
        arrivals: Sequence[float],
        clock: Callable[[], float] = time.perf_counter,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._lanes, self._arrivals, self._clock, self._pause = lanes, arrivals, clock, pause
        # Two durations of every request in seconds: from arrival to end, and from arrival to start.
        self.latencies: list[float] = []
        self.waits: list[float] = []

    def run(self) -> None:
        """Serves every request once.

        Raises:
            Exception: the first exception raised in a lane.
        """
        begin, left, lock = self._clock(), iter(self._arrivals), threading.Lock()
        broken: list[Exception] = []

        def serve(lane: Callable[[], object]) -> None:
            while not broken:
                with lock:
                    arrival = next(left, None)
                if arrival is None:
                    return
                self._pause(max(0.0, begin + arrival - self._clock()))
                began = self._clock()
                try:
                    lane()
                except Exception as error:
                    broken.append(error)
                    return
                with lock:
                    self.waits.append(began - begin - arrival)
                    self.latencies.append(self._clock() - begin - arrival)

        others = [threading.Thread(target=serve, args=(lane,)) for lane in self._lanes[1:]]
        for one in others:
            one.start()
        serve(self._lanes[0])
        for one in others:
            one.join()
        if broken:
            raise broken[0]

    def fields(self) -> dict[str, Any]:
        """Returns the latencies of the requests of all samples in milliseconds, including waiting."""
        shares = {"latency_p50_ms": 50, "latency_p90_ms": 90, "latency_p99_ms": 99}
        found = {name: percentile(self.latencies, share) * 1e3 for name, share in shares.items()}
        return found | {"queue_time_ms": sum(self.waits) / len(self.waits) * 1e3}
