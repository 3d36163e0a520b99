"""What is held, at the most and on the average, and copies that count once or twice."""

import types
import unittest
from unittest import mock

from rusty_stack_bench.workloads import core, memory, pytorch, vllm


class Peaks(unittest.TestCase):
    """A peak is the most that ever was, not what is left."""

    def test_what_is_freed_no_longer_counts(self):
        changes = [(3, -70), (1, 100), (2, 20), (4, 60), (5, -110)]
        self.assertEqual(memory.most_at_once(changes), 120)
        self.assertEqual(memory.most_at_once([]), 0)

    def test_the_allocator_is_asked_above_what_was_there(self):
        with mock.patch.object(memory, "handed_out", side_effect=[5_000_000, 9_000_000, 6_000_000]):
            held = memory.HostAllocator()
            held.look()
            held.look()
        self.assertEqual(held.fields(), {"memory_used_mb": 4.0, "memory_average_mb": 2.5})
        with mock.patch.object(memory, "handed_out", return_value=None):
            self.assertEqual(memory.HostAllocator().fields(), {})

    def test_an_array_is_seen_by_the_allocator(self):
        before = memory.handed_out()
        if before is None:
            self.skipTest("the C library does not tell")
        held = bytearray(50_000_000)
        self.assertGreaterEqual(memory.handed_out() - before, len(held))

    def test_a_gpu_that_was_fuller_once_has_that_peak(self):
        free = iter([900, 300, 800])
        torch = types.SimpleNamespace(cuda=types.SimpleNamespace(mem_get_info=lambda gpu: (next(free) * 10**6, 10**9)))
        with mock.patch("threading.Thread"):
            peak = memory.GpuPeak(torch, 0)
        peak._look()
        self.assertEqual(peak.fields(), {"gpu_memory_peak_mb": 700.0, "gpu_memory_total_mb": 1000.0})


class Copies(unittest.TestCase):
    """From where to where."""

    def test_a_link_is_passed_once_and_a_memory_is_read_and_written(self):
        counted = {direction: pytorch.moved(direction, 10) for direction in ("cpu_to_gpu", "gpu_to_peer", "gpu_to_gpu")}
        self.assertEqual(counted, {"cpu_to_gpu": 10, "gpu_to_peer": 10, "gpu_to_gpu": 20})

    def test_a_peer_is_another_gpu_that_can_be_reached(self):
        def torch(gpus, reaches):
            cuda = types.SimpleNamespace(device_count=lambda: gpus, can_device_access_peer=lambda one, other: reaches)
            return types.SimpleNamespace(cuda=cuda, device=lambda kind, index: types.SimpleNamespace(index=index))

        last = types.SimpleNamespace(index=1)
        self.assertEqual(pytorch._peer(torch(2, True), last).index, 0)
        for machine, words in ((torch(1, True), "there is 1"), (torch(2, False), "through the host")):
            with self.assertRaisesRegex(core.Skip, words):
                pytorch._peer(machine, last)


class Prompts(unittest.TestCase):
    """Beginnings that a cache may hold, and what it may not."""

    def test_all_begin_alike_and_no_turn_repeats_another(self):
        made = [one["prompt_token_ids"] for turn in range(3) for one in vllm.prompts(4, 12, 8, turn)]
        self.assertEqual(len({tuple(one[:8]) for one in made}), 1)
        self.assertEqual(len({one[8] for one in made}), 12, "they differ from the first token of their own on")
        self.assertEqual(len({one["prompt_token_ids"][0] for one in vllm.prompts(4, 12)}), 4)

    def test_hits_are_over_all_tokens(self):
        self.assertEqual(vllm._hits([(8, 10), (0, 10)]), {"prefix_cache_hit_percent": 40.0})
        self.assertEqual(vllm._hits([(None, 10)]), {})


if __name__ == "__main__":
    unittest.main()
