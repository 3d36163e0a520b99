"""Networks as ONNX graphs with reference outputs. Linear layers are built here; PyTorch exports the other networks."""
from __future__ import annotations

import contextlib
import io
import math
import os
import tempfile
import warnings
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, cast

from .core import Case, Skip, package

SEED = 20_231
WORDS = 1024
CLASSES = 100
HEAD = 64
OPSET = 17
DTYPES = ("f32", "f16", "i8")
# Allowed errors of outputs, relative to their largest value in double precision.
TOLERANCES = {"f32": 1e-4, "f16": 2e-2, "i8": 5e-2}


@dataclass
class Graph:
    """A network with its inputs and reference outputs."""

    model: bytes
    # Number of nodes of the graph before optimization.
    nodes: int
    inputs: dict[str, Any]
    # Reference outputs in double precision, in order.
    exact: list[Any]
    # Number of weights; shared ones count once.
    weights: int
    architecture: str


def graph(case: Case) -> Graph:
    """Returns the network of the case in its type.

    Raises:
        Skip: if the type or size is not supported.
    """
    if case.text("dtype") not in DTYPES:
        raise Skip(f"type {case.text('dtype')}", "graphs are only available in f32, f16 and i8", "choose one of these")
    made = _linear(case) if case.text("network") == "mlp" else _exported(case)
    if case.text("dtype") == "i8":
        made.model = _quantized(case, made)
        made.nodes = len(package("onnx").load_from_string(made.model).graph.node)
    return made


def _linear(case: Case) -> Graph:
    """Builds linear layers with GELU as separate basic operations, which an optimizer can fold or fuse."""
    onnx, numpy = package("onnx"), package("numpy")
    width, layers = case.count("width"), case.count("num_layers")
    half = case.text("dtype") == "f16"
    kind = numpy.float16 if half else numpy.float32
    draw = numpy.random.default_rng(SEED)
    helper, kinds = onnx.helper, onnx.TensorProto
    nodes, values, weights = list[Any](), list[Any](), list[tuple[Any, Any]]()

    def constant(name: str, array: Any) -> None:
        values.append(onnx.numpy_helper.from_array(array.astype(kind), name))

    for name, number in (("half", 0.5), ("one", 1.0), ("root", 2**0.5)):
        constant(name, numpy.array([number]))
    current = "x"
    for layer in range(layers):
        weight = draw.uniform(-1, 1, (width, width)) / width**0.5
        bias = draw.uniform(-1, 1, (width,))
        weights.append((weight.astype(numpy.float32), bias.astype(numpy.float32)))
        constant(f"w{layer}", weight)
        constant(f"b{layer}", bias)

        def of(step: str, layer: int = layer) -> str:
            return f"{step}{layer}"

        nodes += [
            helper.make_node("MatMul", [current, of("w")], [of("product")]),
            helper.make_node("Add", [of("product"), of("b")], [of("sum")]),
            helper.make_node("Div", [of("sum"), "root"], [of("scaled")]),
            helper.make_node("Erf", [of("scaled")], [of("erf")]),
            helper.make_node("Add", [of("erf"), "one"], [of("plus")]),
            helper.make_node("Mul", [of("sum"), of("plus")], [of("times")]),
            helper.make_node("Mul", [of("times"), "half"], [of("gelu")]),
            helper.make_node("Identity", [of("gelu")], [of("out")]),
        ]
        current = f"out{layer}"
    shape = [case.count("batch_size"), width]
    x, y = (helper.make_tensor_value_info(name, kinds.FLOAT16 if half else kinds.FLOAT, shape) for name in ("x", current))
    graph = helper.make_graph(nodes, "layers", [x], [y], values)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    given = numpy.random.default_rng(SEED + 1).uniform(-1, 1, shape).astype(kind)
    count = layers * (width**2 + width)
    return Graph(model.SerializeToString(), len(nodes), {"x": given}, [_exact(numpy, given, weights)], count, "mlp")


def _exact(numpy: Any, x: Any, weights: list[tuple[Any, Any]]) -> Any:
    erf = numpy.vectorize(math.erf)
    x = x.astype(numpy.float64)
    for weight, bias in weights:
        x = x @ weight.astype(numpy.float64) + bias
        x = x * (erf(x / 2**0.5) + 1) * 0.5
    return x


def _exported(case: Case) -> Graph:
    """Exports a PyTorch network with random weights."""
    torch, onnx = package("torch"), package("onnx")
    torch.manual_seed(SEED)
    made, given = _network(torch, case)
    made = made.eval().requires_grad_(False)
    weights = sum(one.numel() for one in made.parameters())
    exact: Any = made.double()(*(one.double() if one.is_floating_point() else one for one in given))
    kind = torch.float16 if case.text("dtype") == "f16" else torch.float32
    made, given = made.to(kind), [one.to(kind) if one.is_floating_point() else one for one in given]
    names, file = [f"in{place}" for place in range(len(given))], io.BytesIO()
    # The newer exporter needs an additional package. The one used here prints progress
    # to standard output.
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        torch.onnx.export(made, tuple(given), file, input_names=names, opset_version=OPSET, dynamo=False)
    outputs = cast("tuple[Any, ...]", exact) if isinstance(exact, tuple) else (exact,)
    arrays = {name: one.numpy() for name, one in zip(names, given)}
    nodes = len(onnx.load_from_string(file.getvalue()).graph.node)
    return Graph(file.getvalue(), nodes, arrays, [one.numpy() for one in outputs], weights, case.text("network"))


def _network(torch: Any, case: Case) -> tuple[Any, list[Any]]:
    """Returns a PyTorch network and its inputs."""
    from . import networks

    batch, width, layers, length = (case.count(name) for name in ("batch_size", "width", "num_layers", "sequence_length"))
    if width % HEAD:
        raise Skip(f"{case.text('network')} of width {width}", f"heads have {HEAD} elements", f"choose a multiple of {HEAD}")
    if case.text("network") == "convolutional":
        net = networks.Convolutional(width // 4, layers, CLASSES)
        return net, [torch.rand(batch, 3, length, length) * 2 - 1]
    if case.text("network") == "encoder":
        return networks.Encoder(WORDS, width, HEAD, layers, length), [torch.randint(0, WORDS, (batch, length))]
    cache = (torch.rand(layers, batch, width // HEAD, length, HEAD) * 2 - 1 for _ in range(2))
    step = networks.Step(networks.Decoder(WORDS, width, HEAD, layers, length + 1))
    return step, [torch.randint(0, WORDS, (batch, 1)), *cache]


def _quantized(case: Case, made: Graph) -> bytes:
    """Quantizes the model to 8 bits.

    On a CPU, activations are quantized dynamically; convolutions and GPUs need static scales, which
    are calibrated with the input. CPU weights have 7 bits: without VNNI, sums of two 8-bit products
    overflow 16 bits, which made results wrong by half.
    """
    package("onnxruntime")
    from onnxruntime import quantization

    proto = package("onnx").load_from_string(made.model)
    with tempfile.TemporaryDirectory(prefix="rsb-onnx-") as directory:
        path = os.path.join(directory, "quantized.onnx")
        with contextlib.redirect_stdout(io.StringIO()), _quiet_log():
            if case.on_cpu and case.text("network") != "convolutional":
                kind = quantization.QuantType.QInt8
                quantization.quantize_dynamic(proto, path, per_channel=True, reduce_range=True, weight_type=kind)
            else:
                quantization.quantize_static(proto, path, _Once(made.inputs), per_channel=True, reduce_range=case.on_cpu)
        with open(path, "rb") as file:
            return file.read()


@contextlib.contextmanager
def _quiet_log() -> Generator[None, None, None]:
    """Suppresses the quantizer's advice on how to prepare a model."""
    import logging

    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


class _Once:
    """Provides the inputs once, as a calibration data reader."""

    def __init__(self, inputs: dict[str, Any]) -> None:
        self._left = [inputs]

    def get_next(self) -> Any:
        """Returns the inputs on the first call, then None."""
        return self._left.pop() if self._left else None

    def set_range(self, start_index: int, end_index: int) -> None:
        """Does nothing: there is only one set of inputs."""
