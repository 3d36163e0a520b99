"""vLLM workloads tested without vLLM: engine arguments, prompts with a reusable prefix, and model sizes."""

from unittest import mock

import pytest

from rusty_stack_bench.workloads import core, vllm

AXES = {"execution": "auto", "prefix_cache": "on", "shared_prefix": "96", "prompt_length": "128", "model": "random"}


def case(device="cpu:0", **params):
    """Returns a batch of prompts with a common prefix."""
    return core.Case("vllm", "generation", device, AXES | params)


def settings(asked):
    """Returns the arguments of the engine for the case."""
    model = vllm.Model.__new__(vllm.Model)
    model.own, model._made = "/models/mine", None
    return model.settings(asked)


def test_a_beginning_is_longer_than_a_block_of_the_cache():
    for cache in ("on", "off"):
        told = settings(case(prefix_cache=cache))
        assert (told["block_size"], told["enable_prefix_caching"]) == (32, cache == "on")
    assert "block_size" not in settings(case(shared_prefix="0")), "else vLLM's own"
    assert "block_size" not in settings(case("cuda:0")), "else vLLM's own"


@pytest.mark.parametrize(("device", "shared", "least"), [("cpu:0", "16", "32"), ("cuda:0", "15", "16")], ids=["cpu", "gpu"])
def test_a_cache_that_could_find_nothing_is_a_skip_with_its_cure(device, shared, least):
    with pytest.raises(core.Skip) as skipped:
        vllm._shared(case(device, shared_prefix=shared))
    assert f"shared_prefix of {least}" in skipped.value.cure


def test_a_cache_that_could_find_something_has_its_beginning():
    for params, shared in (({}, 96), ({"shared_prefix": "0"}, 0), ({"shared_prefix": "16", "prefix_cache": "off"}, 16)):
        assert vllm._shared(case(**params)) == shared


def test_each_turn_begins_as_the_one_before_it_and_then_differs():
    first, later = (vllm.prompts(2, 40, 32, turn) for turn in (0, 1))
    everyone = [one["prompt_token_ids"] for one in first + later]
    assert len({tuple(one[:32]) for one in everyone}) == 1
    assert len({tuple(one[32:]) for one in everyone}) == 4


# Numbers of weights, as given on the pages of the models at huggingface.co.
@pytest.mark.parametrize(("shape", "count"), [("llama-2-7b", 6_738_415_616), ("llama-3-8b", 8_030_261_248)])
def test_weights_are_those_of_the_public_models(shape, count):
    assert vllm.weights_of(vllm.SHAPES[shape]) == count


@pytest.mark.parametrize(
    ("memory_gib", "shape"),
    [(8, "small"), (16, "small"), (20, "llama-2-7b"), (24, "llama-3-8b"), (80, "llama-3-8b"), (192, "llama-3-8b")],
)
def test_the_largest_that_fits_is_taken(memory_gib, shape):
    assert vllm.shape_for(memory_gib << 30) == shape


def sized(device="cuda:0", memory_gib=80, **params):
    """Returns the name and sizes of the model of a case."""
    case = core.Case("vllm", "generation", device, {"model": "random"} | params)
    with mock.patch.object(vllm, "_memory_bytes", lambda _: memory_gib << 30):
        return vllm.sizes(case)


def test_a_case_has_the_sizes_that_it_names():
    assert sized(model_shape="auto")[0] == "random llama-3-8b"
    assert sized(model_shape="auto", memory_gib=20)[0] == "random llama-2-7b"
    small = {"model_shape": "small"}, {"model_shape": "auto", "memory_gib": 8}, {"model_shape": "auto", "device": "cpu:0"}
    for params in ({}, *small):
        name, config = sized(**params)
        assert (name, config["hidden_size"], config["num_hidden_layers"]) == ("random llama", 512, 4), params
    name, wide = sized(model_shape="auto", width="4096", num_layers="8")
    assert (name, wide["intermediate_size"], wide["num_attention_heads"]) == ("random llama", 12_288, 64)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"model_shape": "llama-3-8b", "memory_gib": 16}, "needs a GPU with 21.8 GB, and cuda:0 has 17.2"),
        ({"model_shape": "llama-2-7b", "width": "1024"}, "width and layers are fixed"),
        ({"width": "100"}, "heads have 64 elements"),
    ],
    ids=["too little memory", "a width of its own", "no whole heads"],
)
def test_what_does_not_fit_or_contradicts_is_skipped_with_its_cure(params, words):
    with pytest.raises(core.Skip, match=words):
        sized(**params)
