"""ONNX graphs of networks: each type is correct, wrong results are refused, and a decoder step equals the decoder."""

import subprocess
import sys
from pathlib import Path

import pytest

from rusty_stack_bench.workloads import core, onnxruntime

SMALL = {"batch_size": "1", "width": "64", "num_layers": "2", "sequence_length": "32", "network": "mlp", "dtype": "f32"}


def case(**params):
    """Returns a small graph on the CPU."""
    return core.Case("onnxruntime", "inference", "cpu:0", SMALL | params)


@pytest.fixture(autouse=True)
def frameworks():
    for name in ("onnx", "onnxruntime", "torch"):
        pytest.importorskip(name)


@pytest.mark.parametrize("network", ["mlp", "encoder", "convolutional", "decoder-step"])
def test_every_network_is_right_in_every_type(network):
    errors = {}
    for dtype in ("f32", "f16", "i8"):
        wanted = case(network=network, dtype=dtype)
        ready = onnxruntime.prepared(wanted, onnxruntime.graph(wanted), "all")
        errors[dtype] = ready.error
        fields = onnxruntime.shape_fields(wanted, ready.graph, ready.error) | onnxruntime._optimized(wanted, ready, "all")
        assert fields["optimization_level"] == "ORT_ENABLE_ALL"
        assert fields["model_size_gb"] > 0
    assert errors["f32"] < 1e-5
    assert errors["f32"] < errors["f16"], "nothing was rounded to 16 bits"
    assert errors["f16"] < errors["i8"], "nothing was rounded to 8 bits"


def test_the_first_session_of_a_process_takes_as_much_as_the_next():
    code = (
        "from tests.test_graphs import case, onnxruntime; wanted = case(); graph = onnxruntime.graph(wanted);"
        "print(*(onnxruntime.prepared(wanted, graph, 'disabled').footprint for _ in range(2)))"
    )
    here = Path(__file__).parents[1]
    said = subprocess.run([sys.executable, "-B", "-c", code], cwd=here, check=True, capture_output=True, text=True).stdout
    if "None" not in said:  # The C library does not report its memory.
        first, second = (float(size) for size in said.split())
        assert first == pytest.approx(second, abs=2e5), "the process's own beginning is 1.3 MB"


def test_an_output_that_is_wrong_is_refused():
    wanted = case()
    graph = onnxruntime.graph(wanted)
    graph.exact[0] = graph.exact[0] * 1.01
    with pytest.raises(core.Failure):
        onnxruntime.prepared(wanted, graph, "disabled")


def test_a_step_gives_what_the_decoder_gives_at_the_end_of_the_text():
    import torch

    from rusty_stack_bench.workloads import networks

    torch.manual_seed(1)
    decoder = networks.Decoder(50, 16, 8, 2, 6).double().eval()
    tokens, kept = torch.randint(0, 50, (3, 6)), torch.zeros(2, 2, 3, 2, 0, 8).double()
    for place in range(6):
        logits, *new = networks.Step(decoder)(tokens[:, place : place + 1], *kept)
        kept = torch.cat((kept, torch.stack(new)), 4)
    assert (logits[:, 0] - decoder(tokens)[:, 5]).abs().max().item() < 1e-12
