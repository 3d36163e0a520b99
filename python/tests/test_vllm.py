"""vLLM, without vLLM: what its engine is told, which prompts its cache could find again, and which models fit."""

import unittest
from unittest import mock

from rusty_stack_bench.workloads import core, vllm

AXES = {"execution": "auto", "prefix_cache": "on", "shared_prefix": "96", "prompt_length": "128", "model": "random"}


def case(device="cpu:0", **params):
    """A batch of prompts that begin alike."""
    return core.Case("vllm", "generation", device, AXES | params)


class PrefixCache(unittest.TestCase):
    """A cache that finds something, or a reason why it could not."""

    def settings(self, asked):
        """What an engine for the case is started with."""
        model = vllm.Model.__new__(vllm.Model)
        model.own, model._made = "/models/mine", None
        return model.settings(asked)

    def test_a_beginning_is_longer_than_a_block_of_the_cache(self):
        for cache in ("on", "off"):
            told = self.settings(case(prefix_cache=cache))
            self.assertEqual((told["block_size"], told["enable_prefix_caching"]), (32, cache == "on"))
        self.assertNotIn("block_size", self.settings(case(shared_prefix="0")), "else vLLM's own")
        self.assertNotIn("block_size", self.settings(case("cuda:0")), "else vLLM's own")

    def test_a_cache_that_could_find_nothing_is_a_skip_with_its_cure(self):
        for device, shared, least in (("cpu:0", "16", "32"), ("cuda:0", "15", "16")):
            with self.assertRaises(core.Skip) as skipped:
                vllm._shared(case(device, shared_prefix=shared))
            self.assertIn(f"shared_prefix of {least}", skipped.exception.cure)
        for params, shared in (({}, 96), ({"shared_prefix": "0"}, 0), ({"shared_prefix": "16", "prefix_cache": "off"}, 16)):
            self.assertEqual(vllm._shared(case(**params)), shared)

    def test_each_turn_begins_as_the_one_before_it_and_then_differs(self):
        first, later = (vllm.prompts(2, 40, 32, turn) for turn in (0, 1))
        everyone = [one["prompt_token_ids"] for one in first + later]
        self.assertEqual(len({tuple(one[:32]) for one in everyone}), 1)
        self.assertEqual(len({tuple(one[32:]) for one in everyone}), 4)


class Shapes(unittest.TestCase):
    """Models of vLLM, by the memory of a GPU."""

    def test_weights_are_those_of_the_public_models(self):
        # As their pages at huggingface.co count them.
        for shape, count in (("llama-2-7b", 6_738_415_616), ("llama-3-8b", 8_030_261_248)):
            self.assertEqual(vllm.weights_of(vllm.SHAPES[shape]), count)

    def test_the_largest_that_fits_is_taken(self):
        gib = 1 << 30
        for memory_gib, shape in (
            (8, "small"),
            (16, "small"),
            (20, "llama-2-7b"),
            (24, "llama-3-8b"),
            (80, "llama-3-8b"),
            (192, "llama-3-8b"),
        ):
            self.assertEqual(vllm.shape_for(memory_gib * gib), shape, memory_gib)

    def sized(self, device="cuda:0", memory_gib=80, **params):
        """What is made of a case."""
        case = core.Case("vllm", "generation", device, {"model": "random"} | params)
        with mock.patch.object(vllm, "_memory_bytes", lambda _: memory_gib << 30):
            return vllm.sizes(case)

    def test_a_case_has_the_sizes_that_it_names(self):
        self.assertEqual(self.sized(model_shape="auto")[0], "random llama-3-8b")
        self.assertEqual(self.sized(model_shape="auto", memory_gib=20)[0], "random llama-2-7b")
        small = {"model_shape": "small"}, {"model_shape": "auto", "memory_gib": 8}, {"model_shape": "auto", "device": "cpu:0"}
        for params in ({}, *small):
            name, config = self.sized(**params)
            self.assertEqual((name, config["hidden_size"], config["num_hidden_layers"]), ("random llama", 512, 4), params)
        name, wide = self.sized(model_shape="auto", width="4096", num_layers="8")
        self.assertEqual((name, wide["intermediate_size"], wide["num_attention_heads"]), ("random llama", 12_288, 64))

    def test_what_does_not_fit_or_contradicts_is_skipped_with_its_cure(self):
        for params, words in (
            ({"model_shape": "llama-3-8b", "memory_gib": 16}, "needs a GPU with 21.8 GB, and cuda:0 has 17.2"),
            ({"model_shape": "llama-2-7b", "width": "1024"}, "width and layers are fixed"),
            ({"width": "100"}, "heads have 64 elements"),
        ):
            with self.assertRaisesRegex(core.Skip, words):
                self.sized(**params)


if __name__ == "__main__":
    unittest.main()
