"""What a runtime makes of a model, and the forms in which runtimes take one."""
from __future__ import annotations

import contextlib
import os
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, Callable, Protocol

from .core import DOES_NOT_FIT, UNSUPPORTED_OPERATOR, Case, Skip, package
from .model_build import Subject

# Inputs that a quantizer looks at, beside those that results are compared on.
CALIBRATION = 4
# What one file of ONNX may hold.
LARGEST_GRAPH = 2_000_000_000


@dataclass
class Ready:
    """A model that a runtime has prepared."""

    # One pass. On a GPU it may return before the work is done: the clock waits.
    run: Callable[[], Any]
    # One pass whose result is read, as a tensor of PyTorch.
    result: Callable[[], Any]
    # What the runtime says of itself.
    fields: dict[str, Any] = field(default_factory=dict[str, Any])
    # What it counted and saw, by its backend's schema, asked once the samples are taken.
    metrics: Callable[[], dict[str, Any]] = dict[str, Any]
    # What does a pass each at the same time, so many.
    lanes: Callable[[int], list[Callable[[], Any]]] | None = None
    # Passes that one run does at the same time.
    passes: int = 1
    # Writes so many tokens behind the text of the inputs, and gives all of it; none where PyTorch does that.
    write: Callable[[int], Any] | None = None
    # The logits of the last step that it took.
    logits: Callable[[], Any] | None = None
    # "simulated" where what runs is no device that anybody has.
    device_type: str | None = None


class Runtime(Protocol):
    """Software that runs models. Its class is used without an instance."""

    name: str

    @staticmethod
    def check(case: Case) -> None:
        """Returns if `case` can run here.

        Raises:
            Skip: if a package, a precision or the device is missing.
        """
        ...

    @staticmethod
    def prepare(case: Case, torch: Any, model: tuple[Any, Subject], tensors: tuple[Any, ...]) -> Ready:
        """Prepares one pass.

        Args:
            case: the case.
            torch: the module `torch`.
            model: the module that takes the tensors, and the model with its inputs.
            tensors: inputs of the pass, on the device of the case.

        Raises:
            Skip: if the runtime does not support the model or the precision.
        """
        ...


@contextlib.contextmanager
def experts_as_products(subject: Subject) -> Generator[None, None, None]:
    """The experts of a mixture as one product of all: graphs have no loop over those that were chosen."""
    kept = getattr(subject.config, "_experts_implementation", None)
    if kept is not None:
        subject.config._experts_implementation = "batched_mm"
    try:
        yield
    finally:
        if kept is not None:
            subject.config._experts_implementation = kept


def exported(torch: Any, module: Any, subject: Subject, tensors: Any) -> Any:
    """The module as a graph of PyTorch."""
    with experts_as_products(subject), torch.no_grad():
        return torch.export.export(module, tensors, strict=False)


def to_onnx(torch: Any, module: Any, subject: Subject, tensors: Any, path: str) -> None:
    """Writes the module as one file of ONNX; its inputs have the names of the model's."""
    package("onnx")
    package("onnxscript")
    held = sum(weight.numel() * weight.element_size() for weight in module.parameters())
    if held > LARGEST_GRAPH:
        why = f"its weights are {held / 1e9:.1f} GB, and a file of ONNX holds at most {LARGEST_GRAPH / 1e9:.0f} GB"
        raise Skip("graph of ONNX", why, "choose a smaller model", DOES_NOT_FIT)
    names = {"input_names": list(subject.inputs), "output_names": ["out"]}
    with experts_as_products(subject), torch.no_grad():
        try:
            program = torch.onnx.export(module, tensors, dynamo=True, opset_version=18, verbose=False, **names)
        except torch.onnx.OnnxExporterError as error:
            raise unexported(error) from error
    program.save(path, external_data=False)


def unexported(error: Exception) -> Skip:
    """Why a model is no graph of ONNX: the first line of what is said of an operation, else of the whole."""
    said = str(error.__cause__ or error).strip().splitlines() or [type(error).__name__]
    why = f"PyTorch's exporter does not take it, an unsupported operation: {said[0]}"
    return Skip("graph of ONNX", why, "choose --backend cpu for PyTorch, or openvino, which needs no ONNX but for i8", UNSUPPORTED_OPERATOR)


def quantized_onnx(torch: Any, module: Any, subject: Subject, tensors: Any, directory: str) -> str:
    """The path of the module as a file of ONNX in `directory`, with products and convolutions of whole numbers."""
    quantization = package("onnxruntime.quantization")
    source, made = (os.path.join(directory, name) for name in ("model.onnx", "quantized.onnx"))
    to_onnx(torch, module, subject, tensors, source)
    quantization.quantize_static(
        source,
        made,
        _Inputs(subject),
        quant_format=quantization.QuantFormat.QDQ,
        activation_type=quantization.QuantType.QUInt8,
        weight_type=quantization.QuantType.QInt8,
        op_types_to_quantize=["MatMul", "Gemm", "Conv"],
        per_channel=True,
        extra_options={"MatMulConstBOnly": True},  # Products of two computed tensors lose too much.
    )
    return made


class _Inputs:
    """The inputs that a quantizer looks at, one after another."""

    def __init__(self, subject: Subject) -> None:
        names = list(subject.inputs)
        self._left = iter([dict(zip(names, (one.numpy() for one in each))) for each in subject.calibration(CALIBRATION)])

    def get_next(self) -> Any:
        """As `CalibrationDataReader` has it."""
        return next(self._left, None)


def save_inputs(subject: Subject, path: str, tensors: Any) -> None:
    """Writes inputs as arrays by name."""
    package("numpy").savez(path, **{name: one.numpy() for name, one in zip(subject.inputs, tensors)})


def cache_directory(name: str) -> str:
    """A directory of ours that outlives this process."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    path = os.path.join(base, "rusty-stack-bench", name)
    os.makedirs(path, exist_ok=True)
    return path
