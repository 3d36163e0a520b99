"""Tokens one after another by OpenVINO: a graph that keeps keys and values from one step to the next."""
from __future__ import annotations

import inspect
import time

from .core import UNSUPPORTED_OPERATOR, Case, Skip, milliseconds, package
from .model_ready import Ready, experts_as_products

# Positions of the example that is traced: the new ones and those before them, which must not be alike.
NEW, BEFORE = 3, 5
CURE = "choose --backend cpu for pytorch, or --workload forward"


def prepare(case: Case, torch, subject, hints: dict) -> tuple:
    """The model as a step of a text, compiled: what writes tokens, and the compiled graph."""
    if case.text("dtype") == "i8":
        raise Skip("tokens in i8 by OpenVINO", "whole numbers are for single passes so far", "choose --precision bf16, or f32")
    if list(subject.inputs) != ["input_ids"]:
        why = f"its pass takes {', '.join(subject.inputs)}, and OpenVINO continues texts alone so far"
        raise Skip(f"tokens of {case.text('model')} by OpenVINO", why, CURE)
    begin = time.perf_counter_ns()
    graph = _graph(case, torch, subject)
    openvino = package("openvino")
    # Keys and values as they are: by itself the plug-in keeps them in 8 bits.
    compiled = openvino.Core().compile_model(graph, "CPU", hints | {"KV_CACHE_PRECISION": case.text("dtype")})
    fields = {
        "component_version": openvino.__version__.split("-")[0],
        "compile_time_ms": milliseconds(time.perf_counter_ns() - begin),
        "optimized_nodes": len(compiled.get_runtime_model().get_ops()),
        "execution": "compiled",
    }
    text = Text(torch, compiled, subject.inputs["input_ids"])
    return Ready(text.first, text.first, fields, write=text.write), compiled


class Text:
    """What goes on with a text, the likeliest token each time."""

    def __init__(self, torch, compiled, words):
        self._torch, self._numpy = torch, package("numpy")
        self._request, self._words = compiled.create_infer_request(), words.contiguous().numpy()
        # Every text goes on with itself: no search among several.
        self._same = self._numpy.arange(len(self._words), dtype="int32")

    def _step(self, words):
        """The logits of the last position."""
        self._request.infer({"input_ids": words, "beam_idx": self._same}, share_outputs=True)
        return self._request.get_tensor("logits").data

    def first(self):
        """The logits behind the text, which is read anew."""
        self._request.reset_state()
        return self._torch.from_numpy(self._step(self._words).copy())

    def write(self, count: int):
        """The text with so many more tokens."""
        self._request.reset_state()
        written = [self._words]
        for _ in range(count):
            logits = self._step(written[-1])
            written.append(logits[:, -1].argmax(-1)[:, None])
        return self._torch.from_numpy(self._numpy.concatenate(written, 1))


def _graph(case: Case, torch, subject):
    """The graph of a step, whose state are keys and values."""
    openvino = package("openvino")
    words = subject.inputs["input_ids"]
    with experts_as_products(subject), torch.no_grad():
        shapes = _cache_shapes(case, subject, words)
        batch = len(words)
        past = [torch.zeros(batch, heads, BEFORE, width) for heads, width in shapes]
        # What selects among texts, as the plug-in's attention over its state wants it.
        same = torch.arange(batch, dtype=torch.int32)
        step = _step_module(torch, subject.model)
        try:
            graph = openvino.convert_model(step, example_input=(words[:, :NEW], same, *past))
        except (openvino.frontend.OpConversionFailure, RuntimeError, TypeError, ValueError) as error:
            said = str(error).strip().splitlines() or [type(error).__name__]
            why = f"OpenVINO does not take a step of it with its cache: {said[0]}"
            raise Skip(f"tokens of {case.text('model')} by OpenVINO", why, CURE, UNSUPPORTED_OPERATOR) from error
    return _with_state(openvino, graph, shapes)


def _cache_shapes(case: Case, subject, words) -> list:
    """Heads and width of the keys and of the values of each layer."""
    kept = getattr(subject.model(input_ids=words[:, :NEW], use_cache=True), "past_key_values", None)
    layers = getattr(kept, "layers", [])
    if not layers or any(type(layer).__name__ != "DynamicLayer" for layer in layers):
        kind = ", ".join(sorted({type(layer).__name__ for layer in layers})) or type(kept).__name__
        why = f"it keeps {kind}, and only keys and values of every position can be a state of the graph so far"
        raise Skip(f"tokens of {case.text('model')} by OpenVINO", why, CURE)
    return [(one.shape[1], one.shape[3]) for layer in layers for one in (layer.keys, layer.values)]


def _step_module(torch, model):
    """A module that reads new words behind those whose keys and values are given, and gives the last logits with all of these."""
    cache_utils = package("transformers.cache_utils")
    known = inspect.signature(model.forward).parameters

    class Step(torch.nn.Module):
        """One step of a text."""

        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, input_ids, beam_idx, *past):
            """All are tensors: a graph takes nothing else."""
            cache = cache_utils.DynamicCache()
            cache.layers.clear()
            for keys, values in zip(past[::2], past[1::2]):
                layer = cache_utils.DynamicLayer()
                layer.keys, layer.values = keys.index_select(0, beam_idx), values.index_select(0, beam_idx)
                layer.dtype, layer.device, layer.is_initialized = keys.dtype, keys.device, True
                cache.layers.append(layer)
            before, new = past[0].shape[2], input_ids.shape[1]
            at = torch.arange(new) + before
            # Written out, since what a model makes of a mask by itself depends on sizes that a trace takes for constants.
            is_seen = torch.arange(before + new)[None, :] <= at[:, None]
            mask = torch.zeros(1, 1, 1, 1).masked_fill(~is_seen[None, None], torch.finfo(torch.float32).min)
            more = {"position_ids": at[None].expand(input_ids.shape[0], -1), "logits_to_keep": 1}
            found = self.model(
                input_ids=input_ids,
                attention_mask=mask.expand(input_ids.shape[0], 1, -1, -1),
                past_key_values=cache,
                use_cache=True,
                **{name: value for name, value in more.items() if name in known},
            )
            kept = (one for layer in found.past_key_values.layers for one in (layer.keys, layer.values))
            return (found.logits[:, -1:], *kept)

    return Step().eval()


def _with_state(openvino, graph, shapes: list):
    """The graph with keys and values as its state, in place of inputs and outputs, and empty at first."""
    make_stateful = package("openvino._offline_transformations").apply_make_stateful_transformation
    names = ["input_ids", "beam_idx", *(f"past.{at}" for at in range(len(shapes)))]
    sizes = [[-1, -1], [-1], *([-1, heads, -1, width] for heads, width in shapes)]
    for port, name in zip(graph.inputs, names, strict=True):
        port.get_tensor().set_names({name})
    for port, name in zip(graph.outputs, ["logits", *(f"present.{at}" for at in range(len(shapes)))], strict=True):
        port.get_tensor().set_names({name})
    graph.reshape({name: openvino.PartialShape(size) for name, size in zip(names, sizes)})
    graph.validate_nodes_and_infer_types()
    make_stateful(graph, {f"past.{at}": f"present.{at}" for at in range(len(shapes))})
    return _empty_at_first(graph)


def _empty_at_first(graph):
    """The state of as many texts as are read, with no position yet: what OpenVINO's attention over a state asks for."""
    operations, numpy = package("openvino.opset13"), package("numpy")
    constant = operations.constant
    sizes = operations.shape_of(graph.input("input_ids"), output_type="i64")
    batch = operations.gather(sizes, constant([0]), constant(0))
    for state in [node for node in graph.get_ops() if node.get_type_name() == "ReadValue"]:
        _, heads, _, width = state.get_output_partial_shape(0)
        of_state = [batch, *(constant(numpy.array([size], dtype="int64")) for size in (heads.get_length(), 0, width.get_length()))]
        zero = constant(0.0, dtype=state.get_output_element_type(0))
        state.set_arguments([operations.broadcast(zero, operations.concat(of_state, axis=0))])
    graph.validate_nodes_and_infer_types()
    return graph
