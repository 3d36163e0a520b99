"""Models prepared by a runtime, and functions that export models to the formats of runtimes."""
from __future__ import annotations

import contextlib
import os
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, Callable, Protocol

from .core import DOES_NOT_FIT, UNSUPPORTED_OPERATOR, Case, Skip, package
from .model_build import Subject

# Number of calibration inputs for a quantizer, in addition to the verified input.
CALIBRATION = 4
# Largest size of a single ONNX file, in bytes.
LARGEST_GRAPH = 2_000_000_000


@dataclass
class Ready:
    """A model prepared by a runtime."""

    # One pass. On a GPU it may return before the work is done; the timer waits for the GPU.
    run: Callable[[], Any]
    # One pass that returns its result, as a PyTorch tensor.
    result: Callable[[], Any]
    # Fields that describe the runtime.
    fields: dict[str, Any] = field(default_factory=dict[str, Any])
    # Returns device metrics by the schema of the backend. Called after the samples.
    metrics: Callable[[], dict[str, Any]] = dict[str, Any]
    # Returns a list of the given number of functions that can each run a pass concurrently.
    lanes: Callable[[int], list[Callable[[], Any]]] | None = None
    # Number of concurrent passes per run.
    passes: int = 1
    # Generates the given number of tokens after the input text and returns the whole text; None if
    # PyTorch does the generation.
    write: Callable[[int], Any] | None = None
    # Returns the logits of the last generated token.
    logits: Callable[[], Any] | None = None
    # "simulated" if the device is emulated.
    device_type: str | None = None


class Runtime(Protocol):
    """Software that runs models. The class is never instantiated."""

    name: str

    @staticmethod
    def check(case: Case) -> None:
        """Checks that `case` can run on this machine.

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
            model: the module that takes the tensors, and the `Subject` with the model and its inputs.
            tensors: inputs of the pass, on the device of the case.

        Raises:
            Skip: if the runtime does not support the model or the precision.
        """
        ...


@contextlib.contextmanager
def experts_as_products(subject: Subject) -> Generator[None, None, None]:
    """Makes a mixture of experts compute the selected experts as one product, because graphs cannot loop over them."""
    kept = getattr(subject.config, "_experts_implementation", None)
    if kept is not None:
        subject.config._experts_implementation = "batched_mm"
    try:
        yield
    finally:
        if kept is not None:
            subject.config._experts_implementation = kept


def exported(torch: Any, module: Any, subject: Subject, tensors: Any) -> Any:
    """Exports the module as a PyTorch graph."""
    with experts_as_products(subject), torch.no_grad():
        return torch.export.export(module, tensors, strict=False)


def to_onnx(torch: Any, module: Any, subject: Subject, tensors: Any, path: str) -> None:
    """Writes the module as one ONNX file; its inputs have the names of the model's inputs.

    Raises:
        Skip: if the model is too large for one file, or has an unsupported operation.
    """
    package("onnx")
    package("onnxscript")
    held = sum(weight.numel() * weight.element_size() for weight in module.parameters())
    if held > LARGEST_GRAPH:
        why = f"its weights are {held / 1e9:.1f} GB, but an ONNX file holds at most {LARGEST_GRAPH / 1e9:.0f} GB"
        raise Skip("ONNX graph", why, "choose a smaller model", DOES_NOT_FIT)
    names = {"input_names": list(subject.inputs), "output_names": ["out"]}
    with experts_as_products(subject), torch.no_grad():
        try:
            program = torch.onnx.export(module, tensors, dynamo=True, opset_version=18, verbose=False, **names)
        except torch.onnx.OnnxExporterError as error:
            raise unexported(error) from error
    program.save(path, external_data=False)


def unexported(error: Exception) -> Skip:
    """Returns the reason why a model cannot be exported to ONNX: the first line of the underlying error."""
    lines = str(error.__cause__ or error).strip().splitlines() or [type(error).__name__]
    why = f"PyTorch's exporter does not support an operation: {lines[0]}"
    return Skip("ONNX graph", why, "choose --backend cpu for PyTorch, or openvino, which needs ONNX only for i8", UNSUPPORTED_OPERATOR)


def quantized_onnx(torch: Any, module: Any, subject: Subject, tensors: Any, directory: str) -> str:
    """Writes the module to an ONNX file with integer products and convolutions, and returns its path."""
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
        extra_options={"MatMulConstBOnly": True},  # Quantizing products of two computed tensors loses too much accuracy.
    )
    return made


class _Inputs:
    """Calibration inputs for a quantizer."""

    def __init__(self, subject: Subject) -> None:
        names = list(subject.inputs)
        self._left = iter([dict(zip(names, (one.numpy() for one in each))) for each in subject.calibration(CALIBRATION)])

    def get_next(self) -> Any:
        """Returns the next inputs, or None; the interface of `CalibrationDataReader`."""
        return next(self._left, None)


def save_inputs(subject: Subject, path: str, tensors: Any) -> None:
    """Writes inputs as an .npz file, with arrays by name."""
    package("numpy").savez(path, **{name: one.numpy() for name, one in zip(subject.inputs, tensors)})


def cache_directory(name: str) -> str:
    """Returns a persistent cache directory, and creates it if needed."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    path = os.path.join(base, "rusty-stack-bench", name)
    os.makedirs(path, exist_ok=True)
    return path
