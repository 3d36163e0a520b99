"""vLLM, without vLLM: what its engine is told, and which prompts its cache could find again."""

import unittest

from rsb_workloads import core, vllm

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


if __name__ == "__main__":
    unittest.main()
