"""Verification of attention against double precision, and comparison with other kernels."""

import types
from unittest import mock

import pytest

try:
    import torch
except ImportError:
    torch = None

from rusty_stack_bench.workloads import attention, core, flash_attention

needs_torch = pytest.mark.skipif(torch is None, reason="needs torch")
SHAPE = {"batch_size": "2", "num_heads": "4", "sequence_length": "24", "head_dim": "8", "num_kv_heads": "2", "dtype": "f32"}


def case(**params):
    """Returns a case of causal attention with grouped heads."""
    return core.Case("flash-attention", "flash", "cpu:0", SHAPE | {"causal": "yes", "operation": "backward"} | params)


def made():
    """Returns inputs, a kernel, and the gradient of its output."""
    torch.manual_seed(1)
    inputs = flash_attention._inputs(case(), torch, torch.device("cpu"), torch.float32)
    attend = flash_attention._with_kernel(torch, "MATH", True)
    return inputs, attend, torch.rand(2, 4, 24, 8)


@needs_torch
def test_pieces_of_a_long_sequence_are_the_whole():
    inputs, attend, ahead = made()
    for chunk in (24, 10):
        with mock.patch.object(attention, "CHUNK", chunk):
            assert attention.verified(case(), torch, inputs, attend(*inputs), ahead) < 1e-6


@needs_torch
def test_a_wrong_head_and_a_wrong_gradient_are_seen():
    inputs, attend, ahead = made()
    wrong = attend(*inputs).clone()
    wrong[1, 3, 23] += 1
    with pytest.raises(core.Failure):
        attention.verified(case(), torch, inputs, wrong)

    class Lost(torch.autograd.Function):
        @staticmethod
        def forward(context, value):
            return value.clone()

        @staticmethod
        def backward(context, gradient):
            return gradient * 0.5

    inputs[2] = inputs[2].detach().requires_grad_()
    halved = attend(inputs[0], inputs[1], Lost.apply(inputs[2]))
    assert attention.verified(case(), torch, inputs, halved) < 1e-6, "forward it is right"
    with pytest.raises(core.Failure):
        attention.verified(case(), torch, inputs, halved, ahead)


@needs_torch
def test_of_many_scores_the_first_and_the_last_head_are_compared():
    inputs, attend, _ = made()
    with mock.patch.object(attention, "SCORES_COMPARED", 1), mock.patch.object(
        attention, "written_out", wraps=attention.written_out
    ) as asked:
        attention.verified(case(), torch, inputs, attend(*inputs))
    assert asked.call_count == 2
    assert asked.call_args.args[1][0].shape == (2, 24, 8), "both heads of queries that it serves"


@needs_torch
def test_operations_are_those_that_papers_count():
    assert attention.operations(2 * 16, 8192, 128) == 4 * 32 * 8192**2 * 128
    assert attention.operations(1, 10, 10, causal=True, backward=True) == 4 * 1000 * 2.5 / 2


def compared(times):
    """Returns the fields of a comparison of kernels that take the given times; None stands for a kernel that fails."""

    def work(attend):
        made = core.Work(lambda: None, lambda _: {})
        time = times[attend]
        made.sample = mock.Mock(side_effect=RuntimeError("no kernel") if time is None else lambda n: n * time)
        return made

    others = {name: name for name in times if name != "own"}
    with mock.patch.object(flash_attention, "_others", lambda *_: others):
        return flash_attention._compared(None, case(), types.SimpleNamespace(work=work), "own", 1e6, "torch")


def test_the_fastest_is_named_and_one_that_cannot_is_left_out():
    found = compared({"own": 1e6, "standard": 8e6, "efficient": 3e6, "cudnn": 2e6})
    assert found == {"speedup": 8.0, "alternative": "cudnn", "alternative_time_ms": 2.0, "speedup_over_alternative": 2.0}
    assert compared({"own": 1e6, "standard": 4e6, "efficient": None, "cudnn": None}) == {"speedup": 4.0}
    assert compared({"own": 1e6, "standard": None, "efficient": 3e6})["alternative"] == "efficient"


def test_both_sides_have_as_many_in_a_row():
    asked = {name: [] for name in ("own", "other")}
    works = {name: types.SimpleNamespace(sample=lambda n, name=name: asked[name].append(n) or 1e3 * n) for name in asked}
    assert core.side_by_side(works, 1e4, rounds=2) == {"own": 1e3, "other": 1e3}
    assert asked == {"own": [1, 500, 500], "other": [1, 500, 500]}
