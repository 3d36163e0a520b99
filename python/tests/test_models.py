"""The catalogue of models: what each counts, and that one pass of a family is verified and said."""

import importlib.util
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

try:
    import torch
    import transformers  # noqa: F401
except ImportError:
    torch = None

from rusty_stack_bench.workloads import core, model_build, model_runtimes, models

# Counted each time; RSB_EVERY_MODEL=1 counts the whole catalogue.
COUNTED = ("bert-base", "gpt2", "vit-base", "whisper-tiny", "mixtral-8x7b", "llava-1.5-7b", "rag-token-nq")

CATALOGUE = Path(__file__).parents[2] / "crates/rsb-catalog/src/models/catalogue.toml"


def rows():
    """The catalogue by name."""
    import tomllib

    return {row["name"]: row for row in tomllib.loads(CATALOGUE.read_text(encoding="utf-8"))["model"]}


def case(name: str, workload: str = "forward", **params):
    """A case of the model on the CPU."""
    row = rows()[name]
    own = {"model": name, "dtype": "f32", "batch_size": "1", "sequence_length": "16", "runtime": "pytorch", "output_length": "3"}
    return core.Case("models", workload, "cpu:0", own | {"definition": json.dumps(row)} | params)


@unittest.skipIf(torch is None or sys.version_info < (3, 11), "needs torch, transformers and a Python that reads TOML")
class Catalogue(unittest.TestCase):
    """Rows against the packages."""

    def test_counts_are_those_on_the_meta_device(self):
        every = os.environ.get("RSB_EVERY_MODEL")
        for name, row in rows().items():
            if not every and name not in COUNTED:
                continue
            plain = {key: value for key, value in row.items() if key != "parameters"}
            self.assertEqual(model_build.counted(torch, plain), row["parameters"], name)

    def test_work_is_what_a_pass_takes_on_the_meta_device(self):
        spec = importlib.util.spec_from_file_location("work", CATALOGUE.parents[4] / "python/checks/recommendation/work.py")
        work = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(work)
        known = rows()
        for name in ("bert-tiny", "stories-15m", "mamba-tiny", "vit-tiny"):
            found, told = work.work(known[name]), known[name]["work"]
            self.assertEqual(found["flops"], told["flops"], name)
            # How many kernels PyTorch calls for it depends on its version, and on what the process did before.
            for ours, theirs in zip(found["operations"], told["operations"]):
                self.assertAlmostEqual(ours, theirs, delta=0.2 * theirs, msg=name)

    def test_a_pass_is_verified_and_tokens_follow_it(self):
        with torch.random.fork_rng():
            made = models.forward(case("bert-tiny"))
            fields = made.fields(made.sample(1))
            self.assertLess(fields["accuracy_error"], 1e-5)
            self.assertEqual((fields["parameter_count"], fields["output_shape"]), (4_416_698, "1x16x30522"))
            written = models.generate(case("mamba-tiny"))
            self.assertEqual(written.run().shape, (1, 16 + 3))

    def test_a_directory_is_counted_by_its_configuration_before_anything_is_loaded(self):
        huge = {"hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80, "num_attention_heads": 64}
        with tempfile.TemporaryDirectory() as directory:
            config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 32000, **huge}
            (Path(directory) / "config.json").write_text(json.dumps(config), encoding="utf-8")
            row = {"name": "huge", "family": "decoder-only", "path": directory, "parameters": 0}
            self.assertGreater(model_build.counted(torch, row), 68_000_000_000)
            with mock.patch("rusty_stack_bench.workloads.model_build.load") as loaded, self.assertRaises(core.Skip) as skipped:
                models.forward(case("bert-tiny", model="huge", definition=json.dumps(row)))
            loaded.assert_not_called()
        self.assertEqual(skipped.exception.obstacle, core.DOES_NOT_FIT)
        with self.assertRaises(core.Skip) as skipped:
            model_build.counted(torch, row)
        self.assertIn("config.json", skipped.exception.cure)

    def test_a_unet_of_a_directory_is_loaded_by_diffusers_and_needs_no_text_encoder(self):
        row = rows()["diffusion-tiny"]
        with tempfile.TemporaryDirectory() as directory, torch.random.fork_rng():
            model_build.build(row).save_pretrained(directory)
            own = {"name": "own", "family": "diffusion", "library": "diffusers", "class": row["class"], "path": directory}
            subject = model_build.Subject(torch, own, 1, 77)
            self.assertEqual(subject.inputs["encoder_hidden_states"].shape[:2], (1, 77))
            self.assertEqual(model_build.counted(torch, own), subject.parameters())
            with torch.no_grad():
                self.assertTrue(model_build.forward_module(subject)(*subject.inputs.values()).isfinite().all())

    def test_a_class_that_is_none_is_told_with_the_nearest(self):
        for name, library, told in (
            ("BertForMaskedLMs", "transformers", "did you mean `BertForMaskedLM`?"),
            ("GPT2LMHead", "transformers", "did you mean `GPT2LMHeadModel`?"),
            ("UNet2DConditionalModel", "diffusers", "did you mean `UNet2DConditionModel`?"),
            ("NoSuchClass", "transformers", "correct `class` in the catalogue"),
        ):
            with self.assertRaises(core.Skip) as refused:
                model_build.class_of({"class": name, "library": library})
            self.assertIn(told, refused.exception.cure)
            self.assertIn("none of that name", refused.exception.why)

    def test_a_key_that_no_configuration_has_is_refused(self):
        with self.assertRaises(core.Skip) as raised:
            model_build.build({"class": "LlamaForCausalLM", "config": {"vocab_sise": 100}})
        self.assertIn("did you mean `vocab_size`?", raised.exception.cure)

    def test_a_row_may_say_what_a_pass_is_given(self):
        row = rows()["bert-tiny"] | {"inputs": {
            "input_ids": {"kind": "tokens", "shape": ["batch", "length"], "below": 7},
            "attention_mask": {"kind": "ones", "shape": ["batch", "length"]},
        }}
        with torch.random.fork_rng():
            given = model_build.Subject(torch, row, 2, 9).inputs
        self.assertEqual({name: tuple(one.shape) for name, one in given.items()}, {"input_ids": (2, 9), "attention_mask": (2, 9)})
        self.assertLess(given["input_ids"].max().item(), 7)

    def test_a_model_that_computes_wrongly_is_never_timed(self):
        for value in (0.0, float("nan")):
            wrong = model_runtimes.Ready(lambda: None, lambda value=value: torch.full((1, 16, 30522), value), {})
            doing_wrong = mock.patch.object(model_runtimes.PyTorch, "prepare", lambda *_, wrong=wrong: wrong)
            with doing_wrong, self.assertRaises(core.Failure):
                models.forward(case("bert-tiny"))

    def test_what_cannot_be_is_a_skip_with_its_cure(self):
        for named, cure in (
            (case("bert-tiny", dtype="fp8"), "choose"),
            (case("bert-tiny", runtime="tensorrt"), "choose one of pytorch"),
        ):
            with self.assertRaises(core.Skip) as skipped:
                models.check(named)
                models.forward(named)
            self.assertIn(cure, skipped.exception.cure)
        with self.assertRaises(core.Skip) as skipped:
            model_build.class_of({"class": "BertOfAnotherVersion"})
        self.assertIn("install another version of transformers", skipped.exception.cure)
        too_little = core.Skip("memory", "too little", "free some")
        with mock.patch("rusty_stack_bench.workloads.models.room", side_effect=too_little) as asked, self.assertRaises(core.Skip):
            models.forward(case("bert-base"))
        self.assertEqual(asked.call_args.args[1], 12.0 * 109_514_298)
