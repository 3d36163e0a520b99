"""Statistics of requests, tested with a scripted engine and a simulated clock."""

import asyncio

import pytest

from rusty_stack_bench.workloads import serving


class Jumping(asyncio.SelectorEventLoop):
    """An event loop that never waits: its clock jumps to the next scheduled event."""

    now = 0.0

    def time(self) -> float:
        """Returns the simulated seconds since the start."""
        return self.now

    def _run_once(self):
        if not self._ready and self._scheduled:
            self.now = max(self.now, self._scheduled[0]._when)
        super()._run_once()


def served_by(script, times):
    """Serves requests, whose tokens follow a script of pauses, token counts and errors."""

    async def stream(number):
        for pause, count in script[number]:
            await asyncio.sleep(pause)
            if isinstance(count, Exception):
                raise count
            yield count

    loop = Jumping()
    try:
        return loop.run_until_complete(serving.drive(stream, times, loop.time))
    finally:
        loop.close()


def test_each_request_is_sent_at_its_time_whether_or_not_others_are_answered():
    script = [[(5.0, 1), (1.0, 1)], [(0.5, 1)]]
    first, second = served_by(script, [0.0, 2.0])
    assert (first.sent, first.tokens) == (0.0, [5.0, 6.0])
    assert (second.sent, second.tokens) == (2.0, [2.5])


def test_the_time_of_a_token_leaves_out_the_first():
    (one,) = served_by([[(3.0, 1), (1.0, 1), (1.0, 2)]], [0.0])
    assert (one.first, one.latency) == (3.0, 5.0)
    assert one.each == pytest.approx(2.0 / 3, abs=5e-8)
    assert one.between == [1.0, 1.0]
    (single,) = served_by([[(3.0, 1)]], [0.0])
    assert single.each == 0.0


def test_figures_count_what_broke_and_what_was_good():
    script = [
        [(0.1, 1), (0.1, 1), (0.1, 1)],
        [(2.0, 1), (0.1, 1), (0.1, 1)],
        [(0.1, 1), (0.9, 1), (0.9, 1)],
        [(0.1, 1), (0.1, RuntimeError("the engine died"))],
        [],
    ]
    found = serving.figures(served_by(script, [0.0] * 5), 4.0, serving.Limits(1000, 500))
    assert found["failed_requests"] == 2
    assert found["requests_per_second"] == 0.75
    assert found["tokens_per_second"] == 2.25
    assert found["goodput_requests_per_second"] == 0.25
    assert found["ttft_ms"] == pytest.approx(100.0, abs=5e-8)
    assert found["ttft_p99_ms"] == pytest.approx(100 + 1900 * 0.98, abs=5e-8)
    assert found["tpot_ms"] == pytest.approx(100.0, abs=5e-8)
    assert found["latency_p50_ms"] == pytest.approx(1900.0, abs=5e-8)


def test_requests_that_all_break_have_no_latency():
    found = serving.figures(served_by([[(0.1, ValueError("no"))]], [0.0]), 1.0, serving.Limits(1, 1))
    assert found["failed_requests"] == 1
    assert "ttft_ms" not in found


def test_arrivals_are_a_poisson_process_of_the_rate():
    times = serving.arrivals(20_001, 4.0, 7)
    gaps = [later - earlier for earlier, later in zip(times, times[1:])]
    mean = sum(gaps) / len(gaps)
    assert mean == pytest.approx(0.25, abs=0.01)
    # The standard deviation of an exponential distribution equals its mean.
    spread = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    assert spread == pytest.approx(0.25, abs=0.01)
    assert times == serving.arrivals(20_001, 4.0, 7)
    assert serving.arrivals(3, 0.0, 7) == [0.0, 0.0, 0.0]


def test_percentiles_lie_between_neighbors():
    values = [4.0, 1.0, 3.0, 2.0]
    assert [serving.percentile(values, share) for share in (0, 50, 100)] == [1.0, 2.5, 4.0]
    assert serving.percentile([7.0], 99) == 7.0
