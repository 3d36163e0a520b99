"""Training on several ranks: each gradient must equal that of a single process, else the error names the weight."""

import os
import sys
import types
from unittest import mock

import pytest

from rusty_stack_bench.workloads import core, deepspeed

TINY = {"num_ranks": "2", "width": "128", "num_layers": "2", "batch_size": "1", "sequence_length": "8", "dtype": "f32"}


def case(**params):
    """Returns a case with layers split across ranks."""
    return core.Case("deepspeed", "tensor-parallel", "cpu:0", TINY | params)


class Forgetful(deepspeed.Trainer):
    """A rank that can be made to omit the reduction of the gradient of a layer's input."""

    def forget(self):
        """Omits this reduction from now on."""
        from deepspeed.module_inject.layers import ColumnParallel

        ColumnParallel.backward = staticmethod(lambda context, gradient: (None, gradient))


def test_the_sum_over_ranks_that_is_missing_is_seen():
    pytest.importorskip("deepspeed")
    with mock.patch.dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)):
        ranks = deepspeed.Ranks(case(), Forgetful)
        right = ranks.ask("check")
        assert max(right[0]["errors"].values()) < 1e-5
        assert len(right[0]["errors"]) == 25, "ten a block, two tables, two of the last norm, the logits"
        ranks.ask("forget")
        wrong = ranks.ask("check")
        ranks.close()
    assert wrong[0]["errors"]["blocks.0.attention.query.weight"] > 0.1
    with pytest.raises(core.Failure, match="gradients of tensor-parallel: that of .* on rank . is off"):
        deepspeed.verified(case(), wrong, right[0]["losses"])


GOOD = {"losses": [3.0, 2.0, 1.0], "errors": {"weight": 1e-6}, "cut": 1}


def test_ranks_that_agree_with_one_process_are_verified():
    assert deepspeed.verified(case(), [GOOD, GOOD], GOOD["losses"]) == 1e-6


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        pytest.param({"cut": 0}, "holds all weights", id="not cut"),
        pytest.param({"losses": [3.0, 2.0, 1.1]}, "one of 3 steps is off", id="another loss"),
        pytest.param({"errors": {"weight": float("nan")}}, "of weight on rank 1 is off by nan", id="another gradient"),
    ],
)
def test_what_was_not_cut_or_learns_another_thing_is_refused(changed, words):
    with pytest.raises(core.Failure, match=words):
        deepspeed.verified(case(), [GOOD, GOOD | changed], GOOD["losses"])


@pytest.mark.parametrize(
    ("params", "words"),
    [
        pytest.param({"num_ranks": "3"}, "not a multiple of 192", id="three ranks"),
        pytest.param({"dtype": "f16"}, "f32 or bf16", id="f16"),
    ],
)
@mock.patch.object(deepspeed, "package", mock.Mock())
@mock.patch.object(deepspeed, "torch_device", lambda _: (None, "cpu"))
def test_layers_that_cannot_be_shared_are_not_tried(params, words):
    with pytest.raises(core.Skip, match=words):
        deepspeed.check(case(**params))


@pytest.mark.parametrize(
    ("device", "stage", "why"), [("cpu:0", "2", "no second stream"), ("rocm:0", "0", "stage 0 sums after")]
)
def test_sums_that_cannot_overlap_are_a_skip(device, stage, why):
    wanted = core.Case("deepspeed", "zero", device, TINY | {"zero_stage": stage, "overlap_comm": "on"})
    with pytest.raises(core.Skip, match=why):
        deepspeed.zero(wanted)


def test_overlap_is_a_setting_of_deepspeed():
    for params, expected in (({}, False), ({"overlap_comm": "off"}, False), ({"overlap_comm": "on"}, True)):
        wanted = core.Case("deepspeed", "zero", "rocm:0", TINY | {"zero_stage": "2", "optimizer": "torch"} | params)
        assert deepspeed._settings(wanted, 100)["zero_optimization"]["overlap_comm"] is expected


def test_collectives_are_told_from_the_rest():
    def event(name, us):
        return types.SimpleNamespace(
            name=name, device_time_total=us, time_range=types.SimpleNamespace(elapsed_us=lambda: us)
        )

    named = [event("gloo:all_reduce", 5.0), event("aten::mm", 7.0), event("gloo:broadcast", 1.0)]
    assert deepspeed.spoken_us(named, True) == 6.0
    named[0].name, named[1].name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "ncclAllReduce"
    assert deepspeed.spoken_us(named, False) == 5.0


def test_the_speedup_is_over_one_rank_with_the_threads_of_each():
    with mock.patch.object(deepspeed, "Ranks") as ranks:
        ranks.return_value.ask.return_value = [{"total": 3e6}]
        found = deepspeed._scaled(case(), 2, 2e6)
    assert found == {"speedup": 1.5, "efficiency": 0.75}
    assert ranks.call_args.args[0].params["num_ranks"] == "1"
    assert ranks.call_args.kwargs == {"thread_shares": 2}
