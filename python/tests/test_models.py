"""Catalogue of models: numbers of weights, and verification and fields of a pass for each family."""

import importlib.util
import json
import os
import sys
from pathlib import Path
from unittest import mock

import pytest

try:
    import torch
    import transformers  # noqa: F401
except ImportError:
    torch = None

from rusty_stack_bench.workloads import core, memory, model_build, model_ready, model_runtimes, models

# Models whose weights are counted by default; with RSB_EVERY_MODEL=1 the whole catalogue is.
COUNTED = ("bert-base", "gpt2", "vit-base", "whisper-tiny", "mixtral-8x7b", "llava-1.5-7b", "rag-token-nq")

# This mark is also used by the tests of the runtimes.
needs_models = pytest.mark.skipif(
    torch is None or sys.version_info < (3, 11), reason="needs torch, transformers and a Python that reads TOML"
)
pytestmark = needs_models
CATALOGUE = Path(__file__).parents[2] / "crates/rsb-catalog/src/models/catalogue.toml"


def rows():
    """Returns the catalogue by name."""
    import tomllib

    return {row["name"]: row for row in tomllib.loads(CATALOGUE.read_text(encoding="utf-8"))["model"]}


def case(name: str, workload: str = "forward", **params):
    """Returns a case of the model on the CPU."""
    row = rows()[name]
    own = {"model": name, "dtype": "f32", "batch_size": "1", "sequence_length": "16", "runtime": "pytorch", "output_length": "3"}
    return core.Case("models", workload, "cpu:0", own | {"definition": json.dumps(row)} | params)


@pytest.mark.parametrize("name", rows() if os.environ.get("RSB_EVERY_MODEL") else COUNTED)
def test_counts_are_those_on_the_meta_device(name):
    row = rows()[name]
    plain = {key: value for key, value in row.items() if key != "parameters"}
    assert model_build.counted(torch, plain) == row["parameters"]


@pytest.mark.parametrize("name", ["bert-tiny", "stories-15m", "mamba-tiny", "vit-tiny"])
def test_work_is_what_a_pass_takes_on_the_meta_device(name):
    spec = importlib.util.spec_from_file_location("work", CATALOGUE.parents[4] / "python/checks/recommendation/work.py")
    work = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(work)
    row = rows()[name]
    found, told = work.work(row), row["work"]
    assert found["flops"] == told["flops"]
    # The number of kernel calls depends on PyTorch's version, and on earlier work of the process.
    for ours, theirs in zip(found["operations"], told["operations"]):
        assert ours == pytest.approx(theirs, rel=0.2)


def test_a_pass_is_verified_and_tokens_follow_it():
    with torch.random.fork_rng():
        made = models.forward(case("bert-tiny"))
        fields = made.fields(made.sample(1))
        assert fields["accuracy_error"] < 1e-5
        assert (fields["parameter_count"], fields["output_shape"]) == (4_416_698, "1x16x30522")
        written = models.generate(case("mamba-tiny"))
        assert written.run().shape == (1, 16 + 3)


def test_memory_on_a_cpu_is_that_of_weights_and_activations():
    with torch.random.fork_rng():
        made = models.forward(case("bert-tiny"))
        fields = made.fields(made.sample(1))
    # Activations peak at the end, with 16 rows of 30,522 logits in f32. Hidden states
    # have only 128 elements per row.
    activations_mb = 16 * 30_522 * 4 / 1e6
    assert fields["activations_memory_mb"] == pytest.approx(activations_mb, rel=0.1)
    assert fields["memory_used_mb"] == pytest.approx(4_416_698 * 4 / 1e6 + activations_mb, rel=0.1)


def test_activations_of_a_pass_are_those_computed_by_hand():
    rows, inner, outer = 256, 2048, 512
    layers = torch.nn.Sequential(torch.nn.Linear(outer, inner), torch.nn.GELU(), torch.nn.Linear(inner, outer))
    given = torch.ones(rows, outer)
    run = core.without_gradients(torch, lambda: layers(given))
    # GELU reads the first layer's result and writes a result of the same size; both are
    # larger than the last result.
    by_hand = 2 * rows * inner * 4
    assert memory.peak_of_pass(torch, None, run) == pytest.approx(by_hand, rel=0.1)


def test_a_directory_is_counted_by_its_configuration_before_anything_is_loaded(tmp_path):
    huge = {"hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80, "num_attention_heads": 64}
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 32000, **huge}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    row = {"name": "huge", "family": "decoder-only", "path": str(tmp_path), "parameters": 0}
    assert model_build.counted(torch, row) > 68_000_000_000
    with mock.patch("rusty_stack_bench.workloads.model_build.load") as loaded, pytest.raises(core.Skip) as skipped:
        models.forward(case("bert-tiny", model="huge", definition=json.dumps(row)))
    loaded.assert_not_called()
    assert skipped.value.obstacle == core.DOES_NOT_FIT
    (tmp_path / "config.json").unlink()
    with pytest.raises(core.Skip) as skipped:
        model_build.counted(torch, row)
    assert "config.json" in skipped.value.cure


def test_a_unet_of_a_directory_is_loaded_by_diffusers_and_needs_no_text_encoder(tmp_path):
    row = rows()["diffusion-tiny"]
    with torch.random.fork_rng():
        model_build.build(row).save_pretrained(tmp_path)
        own = {"name": "own", "family": "diffusion", "library": "diffusers", "class": row["class"], "path": str(tmp_path)}
        subject = model_build.Subject(torch, own, 1, 77)
        assert subject.inputs["encoder_hidden_states"].shape[:2] == (1, 77)
        assert model_build.counted(torch, own) == subject.parameters()
        with torch.no_grad():
            assert model_build.forward_module(subject)(*subject.inputs.values()).isfinite().all()


@pytest.mark.parametrize(
    ("name", "library", "told"),
    [
        ("BertForMaskedLMs", "transformers", "did you mean `BertForMaskedLM`?"),
        ("GPT2LMHead", "transformers", "did you mean `GPT2LMHeadModel`?"),
        ("UNet2DConditionalModel", "diffusers", "did you mean `UNet2DConditionModel`?"),
        ("NoSuchClass", "transformers", "correct `class` in the catalogue"),
    ],
    ids=["letter too much", "part missing", "of diffusers", "like none"],
)
def test_a_class_that_is_none_is_told_with_the_nearest(name, library, told):
    with pytest.raises(core.Skip) as refused:
        model_build.class_of({"class": name, "library": library})
    assert told in refused.value.cure
    assert "no class of this name" in refused.value.why


def test_a_key_that_no_configuration_has_is_refused():
    with pytest.raises(core.Skip) as raised:
        model_build.build({"class": "LlamaForCausalLM", "config": {"vocab_sise": 100}})
    assert "did you mean `vocab_size`?" in raised.value.cure


def test_a_row_may_say_what_a_pass_is_given():
    row = rows()["bert-tiny"] | {"inputs": {
        "input_ids": {"kind": "tokens", "shape": ["batch", "length"], "below": 7},
        "attention_mask": {"kind": "ones", "shape": ["batch", "length"]},
    }}
    with torch.random.fork_rng():
        given = model_build.Subject(torch, row, 2, 9).inputs
    assert {name: tuple(one.shape) for name, one in given.items()} == {"input_ids": (2, 9), "attention_mask": (2, 9)}
    assert given["input_ids"].max().item() < 7


# Sizes of small versions of large models; other keys keep their values.
SMALL = {
    **dict.fromkeys(("hidden_size", "d_model", "mamba_d_ssm"), 64),
    **dict.fromkeys(("intermediate_size", "encoder_ffn_dim"), 256),
    **dict.fromkeys(("num_hidden_layers", "encoder_layers", "num_key_value_heads"), 2),
    **dict.fromkeys(("num_attention_heads", "encoder_attention_heads", "mamba_n_heads"), 4),
    **dict.fromkeys(("head_dim", "mamba_d_head", "mamba_d_state"), 16),
}


def shrunk(config):
    """Returns a configuration of the same architecture with few and narrow layers."""
    return {key: shrunk(value) if isinstance(value, dict) else SMALL.get(key, value) for key, value in config.items()}


@pytest.mark.parametrize("name", ["qwen2-audio-7b", "voxtral-small-24b", "falcon-h1-34b"])
def test_a_small_version_of_a_large_model_runs_and_writes(name):
    row = rows()[name] | {"config": shrunk(rows()[name]["config"])}
    with torch.random.fork_rng():
        subject = model_build.Subject(torch, row, 2, row["shape"].get("length", 16))
        with torch.no_grad():
            found = model_build.forward_module(subject)(*subject.inputs.values())
        assert found.isfinite().all() and found.shape[:2] == (2, subject.length)
        write = models._writer(torch, subject, subject.inputs)
        assert write(3).shape == (2, subject.length + 3)


@pytest.mark.parametrize("value", [0.0, float("nan")])
def test_a_model_that_computes_wrongly_is_never_timed(value):
    wrong = model_ready.Ready(lambda: None, lambda: torch.full((1, 16, 30522), value), {})
    with mock.patch.object(model_runtimes.PyTorch, "prepare", lambda *_: wrong), pytest.raises(core.Failure):
        models.forward(case("bert-tiny"))


@pytest.mark.parametrize(
    ("params", "cure"),
    [({"dtype": "fp8"}, "choose"), ({"runtime": "tensorrt"}, "choose one of pytorch")],
    ids=["type", "runtime"],
)
def test_what_cannot_be_is_a_skip_with_its_cure(params, cure):
    named = case("bert-tiny", **params)
    with pytest.raises(core.Skip) as skipped:
        models.check(named)
        models.forward(named)
    assert cure in skipped.value.cure


def test_a_class_of_another_version_is_a_skip():
    with pytest.raises(core.Skip) as skipped:
        model_build.class_of({"class": "BertOfAnotherVersion"})
    assert "install another version of transformers" in skipped.value.cure


def test_a_model_that_needs_more_memory_is_a_skip():
    too_little = core.Skip("memory", "too little", "free some")
    with mock.patch("rusty_stack_bench.workloads.models.room", side_effect=too_little) as asked, pytest.raises(core.Skip):
        models.forward(case("bert-base"))
    assert asked.call_args.args[1] == 12.0 * 109_514_298
