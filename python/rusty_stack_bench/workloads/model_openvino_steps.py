"""Steps of text generation as OpenVINO graphs, with keys and values as their state."""
from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Callable

from .core import UNSUPPORTED_OPERATOR, Case, Skip, package
from .model_build import Subject
from .model_ready import experts_as_products

# Numbers of new and earlier positions in the traced example. They differ so that the trace does
# not confuse them.
NEW, BEFORE = 3, 5
CURE = "choose --backend cpu for pytorch, or --workload forward"


def of_text(case: Case, torch: Any, subject: Subject) -> Any:
    """Returns the graph of one step, which reads new tokens and keeps earlier keys and values as its state."""
    words = subject.inputs["input_ids"]
    with experts_as_products(subject), torch.no_grad():
        kept = getattr(subject.model(input_ids=words[:, :NEW], use_cache=True), "past_key_values", None)
        shapes = _shapes(case, kept)
        graph = _converted(case, _step(torch, subject.model), (words[:, :NEW], *_example(torch, len(words), shapes)))
    return _with_state(graph, shapes, -1)


def behind_an_encoder(case: Case, torch: Any, subject: Subject) -> list[Any]:
    """Returns two graphs: the encoder, which returns keys and values, and one decoder step for one token."""
    source, words = subject.inputs.values()
    with experts_as_products(subject), torch.no_grad():
        kept: Any = getattr(_tried(case, lambda: subject.model(**subject.inputs, use_cache=True)), "past_key_values", None)
        own = _shapes(case, getattr(kept, "self_attention_cache", None))
        other = _shapes(case, getattr(kept, "cross_attention_cache", None))
        encoder = _converted(case, _encoder(torch, subject), (source,))
        cross = [one for layer in kept.cross_attention_cache.layers for one in (layer.keys, layer.values)]
        same, *past = _example(torch, len(words), own)
        step = _converted(case, _step_behind(torch, subject.model, len(cross)), (words, same, *cross, *past))
    return [encoder, _with_state(step, own, 1, other)]


def _shapes(case: Case, kept: Any) -> list[tuple[int, int]]:
    """Returns the number of heads and the width of the keys and values of each layer.

    Raises:
        Skip: if the model has another kind of state.
    """
    layers = getattr(kept, "layers", [])
    if not layers or any(type(layer).__name__ != "DynamicLayer" for layer in layers):
        kind = ", ".join(sorted({type(layer).__name__ for layer in layers})) or type(kept).__name__
        why = f"its cache contains {kind}, but only keys and values of all positions are supported"
        raise Skip(f"tokens of {case.text('model')} with OpenVINO", why, CURE)
    return [(one.shape[1], one.shape[3]) for layer in layers for one in (layer.keys, layer.values)]


def _example(torch: Any, batch: int, shapes: list[tuple[int, int]]) -> list[Any]:
    """Returns example inputs: the sequence index that the plug-in requires, and keys and values."""
    return [torch.arange(batch, dtype=torch.int32), *(torch.zeros(batch, heads, BEFORE, width) for heads, width in shapes)]


def _tried(case: Case, make: Callable[[], Any]) -> Any:
    """Returns the result of `make`.

    Raises:
        Skip: if the model cannot be traced or converted in this form.
    """
    try:
        return make()
    except (package("openvino").frontend.OpConversionFailure, RuntimeError, TypeError, ValueError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        why = f"a step with its cache cannot be converted to a graph: {lines[0]}"
        raise Skip(f"tokens of {case.text('model')} with OpenVINO", why, CURE, UNSUPPORTED_OPERATOR) from error


def _converted(case: Case, module: Any, example: tuple[Any, ...]) -> Any:
    return _tried(case, lambda: package("openvino").convert_model(module.eval(), example_input=example))


def _cache(given: Sequence[Any]) -> Any:
    """Creates a cache from a list that alternates keys and values."""
    kinds = package("transformers.cache_utils")
    cache = kinds.DynamicCache()
    cache.layers.clear()
    for keys, values in zip(given[::2], given[1::2]):
        layer = kinds.DynamicLayer()
        layer.keys, layer.values, layer.is_initialized = keys, values, True
        layer.dtype, layer.device = keys.dtype, keys.device
        cache.layers.append(layer)
    return cache


def _kept(cache: Any) -> tuple[Any, ...]:
    return tuple(one for layer in cache.layers for one in (layer.keys, layer.values))


def _step(torch: Any, model: Any) -> Any:
    """Returns a module that reads new tokens, given the keys and values of earlier ones.

    The module returns the last logits and all keys and values.
    """
    from torch import nn

    known = inspect.signature(model.forward).parameters

    class Step(nn.Module):
        """One step of text generation."""

        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: Any, beam_idx: Any, *past: Any) -> tuple[Any, ...]:
            """Runs one step. All arguments are tensors, because graphs take nothing else."""
            before, new = past[0].shape[2], input_ids.shape[1]
            at = torch.arange(new) + before
            # An explicit mask, because the model's own mask depends on sizes that tracing turns into constants.
            is_seen = torch.arange(before + new)[None, :] <= at[:, None]
            mask = torch.zeros(1, 1, 1, 1).masked_fill(~is_seen[None, None], torch.finfo(torch.float32).min)
            more = {"position_ids": at[None].expand(input_ids.shape[0], -1), "logits_to_keep": 1}
            found = self.model(
                input_ids=input_ids,
                attention_mask=mask.expand(input_ids.shape[0], 1, -1, -1),
                past_key_values=_cache([one.index_select(0, beam_idx) for one in past]),
                use_cache=True,
                **{name: value for name, value in more.items() if name in known},
            )
            return (found.logits[:, -1:], *_kept(found.past_key_values))

    return Step()


def _encoder(torch: Any, subject: Subject) -> Any:
    """Returns a module that reads the source, and returns its keys and values for each layer of the decoder."""
    from torch import nn

    kinds = package("transformers.cache_utils")
    name, begin = next(iter(subject.inputs)), subject.inputs["decoder_input_ids"]

    class Held(kinds.DynamicLayer):
        """A cache layer that stores its first keys and values.

        The standard layer starts with an empty tensor, which graphs do not support.
        """

        def update(self, key_states: Any, value_states: Any, *_args: Any, **_kwargs: Any) -> tuple[Any, Any]:
            """Stores the keys and values as they are, instead of appending them to an empty tensor."""
            self.keys, self.values, self.is_initialized = key_states, value_states, True
            self.dtype, self.device = key_states.dtype, key_states.device
            return key_states, value_states

    class Encoder(nn.Module):
        """The encoder, and the keys and values that the decoder computes from its result."""

        def __init__(self) -> None:
            super().__init__()
            self.model, self.layers = subject.model, subject.model.get_decoder().config.num_hidden_layers

        def forward(self, source: Any) -> tuple[Any, ...]:
            """Runs the encoder. The decoder's own result is unused, so it does not become part of the graph."""
            caches = [kinds.DynamicCache() for _ in range(2)]
            for cache in caches:
                cache.layers.clear()
                cache.layers.extend(Held() for _ in range(self.layers))
            both = kinds.EncoderDecoderCache(*caches)
            self.model(**{name: source}, decoder_input_ids=begin, past_key_values=both, use_cache=True)
            return _kept(both.cross_attention_cache)

    return Encoder()


def _step_behind(torch: Any, model: Any, count: int) -> Any:
    """Returns a module that reads one token, given the keys and values of the encoder and of earlier tokens."""
    from torch import nn

    kinds = package("transformers.cache_utils")

    class StepBehind(nn.Module):
        """One step of text generation after an encoder."""

        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: Any, beam_idx: Any, *given: Any) -> tuple[Any, ...]:
            """Runs one step. Keys and values of the encoder come before those of the text."""
            cross, past = given[:count], [one.index_select(0, beam_idx) for one in given[count:]]
            # Only the length of the encoder's result is used, because its keys and
            # values are passed separately.
            read = torch.zeros(input_ids.shape[0], cross[0].shape[2], self.model.config.d_model)
            both = kinds.EncoderDecoderCache(_cache(past), _cache(cross))
            found = self.model(encoder_outputs=(read,), decoder_input_ids=input_ids, past_key_values=both, use_cache=True)
            return (found.logits[:, -1:], *_kept(found.past_key_values.self_attention_cache))

    return StepBehind()


def _with_state(graph: Any, shapes: list[tuple[int, int]], new: int, cross: Sequence[tuple[int, int]] = ()) -> Any:
    """Converts the key and value inputs and outputs of a graph to its internal state, which is initially empty.

    Args:
        graph: the graph.
        shapes: heads and width of each key and value tensor of the state.
        new: tokens per step; -1 for any number.
        cross: the same as `shapes`, for keys and values of the encoder, which stay inputs.
    """
    openvino = package("openvino")
    make_stateful = package("openvino._offline_transformations").apply_make_stateful_transformation
    names = ["input_ids", "beam_idx", *(f"cross.{at}" for at in range(len(cross))), *(f"past.{at}" for at in range(len(shapes)))]
    sizes = [[-1, new], [-1], *([-1, heads, -1, width] for heads, width in (*cross, *shapes))]
    for port, name in zip(graph.inputs, names, strict=True):
        port.get_tensor().set_names({name})
    for port, name in zip(graph.outputs, ["logits", *(f"present.{at}" for at in range(len(shapes)))], strict=True):
        port.get_tensor().set_names({name})
    graph.reshape({name: openvino.PartialShape(size) for name, size in zip(names, sizes)})
    graph.validate_nodes_and_infer_types()
    make_stateful(graph, {f"past.{at}": f"present.{at}" for at in range(len(shapes))})
    return _empty_at_first(graph)


def _empty_at_first(graph: Any) -> Any:
    """Sets the initial state: as many sequences as the input has, with zero positions.

    OpenVINO's attention with state requires this shape.
    """
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
