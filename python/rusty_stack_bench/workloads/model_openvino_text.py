"""Token-by-token generation in OpenVINO, with graphs that keep keys and values between steps."""
from __future__ import annotations

import time
from typing import Any

from . import model_openvino_steps as steps
from .core import Case, Skip, milliseconds, package
from .model_build import Subject
from .model_ready import Ready


def prepare(case: Case, torch: Any, subject: Subject, hints: dict[str, Any]) -> tuple[Ready, Any]:
    """Compiles the model as a step of text generation, and its encoder if it has one.

    Returns:
        The prepared model, and the compiled step.

    Raises:
        Skip: if the type or the model's inputs are not supported.
    """
    if case.text("dtype") == "i8":
        raise Skip("tokens in i8 with OpenVINO", "i8 is only supported for single passes", "choose --precision bf16, or f32")
    reads = len(subject.inputs) == 2 and list(subject.inputs)[1] == "decoder_input_ids"
    if not reads and list(subject.inputs) != ["input_ids"]:
        known = "only input_ids, or one encoder input and decoder_input_ids, are supported"
        why = f"its inputs are {', '.join(subject.inputs)}; {known}"
        raise Skip(f"tokens of {case.text('model')} with OpenVINO", why, steps.CURE)
    begin = time.perf_counter_ns()
    graphs = steps.behind_an_encoder(case, torch, subject) if reads else [steps.of_text(case, torch, subject)]
    openvino = package("openvino")
    # By default the plug-in would store keys and values in 8 bits.
    settings = hints | {"KV_CACHE_PRECISION": case.text("dtype")}
    compiled = [openvino.Core().compile_model(graph, "CPU", settings) for graph in graphs]
    fields = {
        "component_version": openvino.__version__.split("-")[0],
        "compile_time_ms": milliseconds(time.perf_counter_ns() - begin),
        "optimized_nodes": sum(len(one.get_runtime_model().get_ops()) for one in compiled),
        "execution": "compiled",
    }
    *source, words = subject.inputs.values()
    text = TextBehind(torch, compiled, (source[0], words)) if reads else Text(torch, compiled[-1], words)
    return Ready(text.first, text.first, fields, write=text.write, logits=text.logits), compiled[-1]


class Text:
    """Greedy generation of text."""

    def __init__(self, torch: Any, compiled: Any, words: Any) -> None:
        self._torch, self._numpy = torch, package("numpy")
        self._request, self._words = compiled.create_infer_request(), words.contiguous().numpy()
        # Sequences are never exchanged, because there is no beam search.
        self._same = self._numpy.arange(len(self._words), dtype="int32")

    def _begin(self) -> None:
        """Clears the state."""
        self._request.reset_state()

    def _step(self, words: Any) -> Any:
        """Runs one step and returns the logits of the last position."""
        self._request.infer({"input_ids": words, "beam_idx": self._same}, share_outputs=True)
        return self._request.get_tensor("logits").data

    def first(self) -> Any:
        """Reads the whole text from an empty state and returns the logits of its last position."""
        self._begin()
        self._step(self._words)
        return self.logits()

    def write(self, count: int) -> Any:
        """Returns the text with `count` more tokens."""
        self._begin()
        written = [self._words]
        for _ in range(count):
            logits = self._step(written[-1])
            written.append(logits[:, -1].argmax(-1)[:, None])
        return self._torch.from_numpy(self._numpy.concatenate(written, 1))

    def logits(self) -> Any:
        """Returns the logits of the last step."""
        return self._torch.from_numpy(self._request.get_tensor("logits").data.copy())


class TextBehind(Text):
    """Greedy generation after an encoder, whose keys and values are computed once per text."""

    def __init__(self, torch: Any, compiled: Any, inputs: Any) -> None:
        encoder, step = compiled
        source, words = inputs
        super().__init__(torch, step, words)
        self._encoder = encoder.create_infer_request()
        self._encoder.set_input_tensor(package("openvino").Tensor(source.contiguous().numpy(), shared_memory=True))
        self._made = [f"cross.{at}" for at in range(len(encoder.outputs))]

    def _begin(self) -> None:
        super()._begin()
        self._encoder.infer(share_outputs=True)
        for at, name in enumerate(self._made):
            self._request.set_tensor(name, self._encoder.get_output_tensor(at))
