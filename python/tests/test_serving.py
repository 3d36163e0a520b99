"""The statistics of requests, with an engine that is scripted and a clock that jumps."""

import asyncio
import unittest

from rusty_stack_bench.workloads import serving


class Jumping(asyncio.SelectorEventLoop):
    """Waits for nothing: its time is that of the next thing to do."""

    now = 0.0

    def time(self) -> float:
        """Seconds since it was made."""
        return self.now

    def _run_once(self):
        if not self._ready and self._scheduled:
            self.now = max(self.now, self._scheduled[0]._when)
        super()._run_once()


def served_by(script, times):
    """What is seen of requests whose tokens come as the script says: pauses and counts, or an error."""

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


class Serving(unittest.TestCase):
    """What is sent when, and what is made of the answers."""

    def test_each_request_is_sent_at_its_time_whether_or_not_others_are_answered(self):
        script = [[(5.0, 1), (1.0, 1)], [(0.5, 1)]]
        first, second = served_by(script, [0.0, 2.0])
        self.assertEqual((first.sent, first.tokens), (0.0, [5.0, 6.0]))
        self.assertEqual((second.sent, second.tokens), (2.0, [2.5]))

    def test_the_time_of_a_token_leaves_out_the_first(self):
        (one,) = served_by([[(3.0, 1), (1.0, 1), (1.0, 2)]], [0.0])
        self.assertEqual((one.first, one.latency), (3.0, 5.0))
        self.assertAlmostEqual(one.each, 2.0 / 3)
        self.assertEqual(one.between, [1.0, 1.0])
        (single,) = served_by([[(3.0, 1)]], [0.0])
        self.assertEqual(single.each, 0.0)

    def test_figures_count_what_broke_and_what_was_good(self):
        script = [
            [(0.1, 1), (0.1, 1), (0.1, 1)],
            [(2.0, 1), (0.1, 1), (0.1, 1)],
            [(0.1, 1), (0.9, 1), (0.9, 1)],
            [(0.1, 1), (0.1, RuntimeError("the engine died"))],
            [],
        ]
        found = serving.figures(served_by(script, [0.0] * 5), 4.0, serving.Limits(1000, 500))
        self.assertEqual(found["failed_requests"], 2)
        self.assertEqual(found["requests_per_second"], 0.75)
        self.assertEqual(found["tokens_per_second"], 2.25)
        self.assertEqual(found["goodput_requests_per_second"], 0.25)
        self.assertAlmostEqual(found["ttft_ms"], 100.0)
        self.assertAlmostEqual(found["ttft_p99_ms"], 100 + 1900 * 0.98)
        self.assertAlmostEqual(found["tpot_ms"], 100.0)
        self.assertAlmostEqual(found["latency_p50_ms"], 1900.0)

    def test_requests_that_all_break_have_no_latency(self):
        found = serving.figures(served_by([[(0.1, ValueError("no"))]], [0.0]), 1.0, serving.Limits(1, 1))
        self.assertEqual(found["failed_requests"], 1)
        self.assertNotIn("ttft_ms", found)

    def test_arrivals_are_a_poisson_process_of_the_rate(self):
        times = serving.arrivals(20_001, 4.0, 7)
        gaps = [later - earlier for earlier, later in zip(times, times[1:])]
        mean = sum(gaps) / len(gaps)
        self.assertAlmostEqual(mean, 0.25, delta=0.01)
        # The spread of an exponential distribution is its mean.
        spread = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5
        self.assertAlmostEqual(spread, 0.25, delta=0.01)
        self.assertEqual(times, serving.arrivals(20_001, 4.0, 7))
        self.assertEqual(serving.arrivals(3, 0.0, 7), [0.0, 0.0, 0.0])

    def test_percentiles_lie_between_neighbors(self):
        values = [4.0, 1.0, 3.0, 2.0]
        self.assertEqual([serving.percentile(values, share) for share in (0, 50, 100)], [1.0, 2.5, 4.0])
        self.assertEqual(serving.percentile([7.0], 99), 7.0)


if __name__ == "__main__":
    unittest.main()
