"""Peak and mean memory of a case, and the number of bytes that copies count."""

import types
from unittest import mock

import pytest

from rusty_stack_bench.workloads import core, memory, pytorch, vllm


def test_what_is_freed_no_longer_counts():
    changes = [(3, -70), (1, 100), (2, 20), (4, 60), (5, -110)]
    assert memory.most_at_once(changes) == 120
    assert memory.most_at_once([]) == 0


def test_the_allocator_is_asked_above_what_was_there():
    with mock.patch.object(memory, "handed_out", side_effect=[5_000_000, 9_000_000, 6_000_000]):
        held = memory.HostAllocator()
        held.look()
        held.look()
    assert held.fields() == {"memory_used_mb": 4.0, "memory_average_mb": 2.5}
    with mock.patch.object(memory, "handed_out", return_value=None):
        assert memory.HostAllocator().fields() == {}


def test_an_array_is_seen_by_the_allocator():
    before = memory.handed_out()
    if before is None:
        pytest.skip("the C library does not tell")
    held = bytearray(50_000_000)
    assert memory.handed_out() - before >= len(held)


def test_a_gpu_that_was_fuller_once_has_that_peak():
    free = iter([900, 300, 800])
    torch = types.SimpleNamespace(cuda=types.SimpleNamespace(mem_get_info=lambda gpu: (next(free) * 10**6, 10**9)))
    with mock.patch("threading.Thread"):
        peak = memory.GpuPeak(torch, 0)
    peak._look()
    assert peak.fields() == {"gpu_memory_peak_mb": 700.0, "gpu_memory_total_mb": 1000.0}


def test_a_link_is_passed_once_and_a_memory_is_read_and_written():
    counted = {direction: pytorch.moved(direction, 10) for direction in ("cpu_to_gpu", "gpu_to_peer", "gpu_to_gpu")}
    assert counted == {"cpu_to_gpu": 10, "gpu_to_peer": 10, "gpu_to_gpu": 20}


def test_a_peer_is_another_gpu_that_can_be_reached():
    def torch(gpus, reaches):
        cuda = types.SimpleNamespace(device_count=lambda: gpus, can_device_access_peer=lambda one, other: reaches)
        return types.SimpleNamespace(cuda=cuda, device=lambda kind, index: types.SimpleNamespace(index=index))

    last = types.SimpleNamespace(index=1)
    assert pytorch._peer(torch(2, True), last).index == 0
    for machine, words in ((torch(1, True), "only 1 GPU"), (torch(2, False), "through the host")):
        with pytest.raises(core.Skip, match=words):
            pytorch._peer(machine, last)


def test_all_begin_alike_and_no_turn_repeats_another():
    made = [one["prompt_token_ids"] for turn in range(3) for one in vllm.prompts(4, 12, 8, turn)]
    assert len({tuple(one[:8]) for one in made}) == 1
    assert len({one[8] for one in made}) == 12, "they differ from the first token of their own on"
    assert len({one["prompt_token_ids"][0] for one in vllm.prompts(4, 12)}) == 4


def test_hits_are_over_all_tokens():
    assert vllm._hits([(8, 10), (0, 10)]) == {"prefix_cache_hit_percent": 40.0}
    assert vllm._hits([(None, 10)]) == {}
