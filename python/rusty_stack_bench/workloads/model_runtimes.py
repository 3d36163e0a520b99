"""Runtimes of models, by name: their requirements, and how they prepare a model."""
from __future__ import annotations

from typing import Any, Callable

from . import model_metrics
from .core import Case, Skip, package
from .model_build import Subject
from .model_mps import Mps
from .model_onnxruntime import OnnxRuntime
from .model_openvino import OpenVino
from .model_qnn import Qnn
from .model_ready import Ready, Runtime


class PyTorch:
    """Eager PyTorch on any device that it supports."""

    name = "pytorch"

    @staticmethod
    def check(case: Case) -> None:
        """Checks the type: PyTorch quantizes only on CPUs.

        Raises:
            Skip: if the type is i8 and the device is a GPU.
        """
        if case.text("dtype") == "i8" and not case.on_cpu:
            raise Skip(f"i8 with PyTorch on {case.device}", "it only quantizes for CPUs", "choose --precision f16")

    @staticmethod
    def prepare(case: Case, torch: Any, model: tuple[Any, Subject], tensors: tuple[Any, ...]) -> Ready:
        """Prepares the module unchanged; for i8, converts the weights of its linear layers to integers."""
        module, _ = model
        fields = {"component_version": package("torch").__version__}
        if case.text("dtype") == "i8":
            fields |= _quantized(torch, module, case.text("model"))

        def run() -> Any:
            with torch.no_grad():
                return module(*tensors)

        if case.text("dtype") == "i8":
            _try(run, case.text("model"))
        def one() -> None:
            run()
            if not case.on_cpu:
                torch.cuda.synchronize(case.gpu)

        return Ready(run, run, fields, lambda: model_metrics.of_pytorch(case, torch, run), lambda count: [one] * count)


def _try(run: Callable[[], Any], name: str) -> None:
    """Runs one pass to check that the model works with quantized layers.

    Raises:
        Skip: if the model accesses the weights of its linear layers directly.
    """
    try:
        run()
    except (AttributeError, TypeError) as error:
        why = f"the model accesses the weights of its layers directly, which quantized layers do not have: {error}"
        raise Skip(f"{name} in i8 with PyTorch", why, "choose --backend openvino, or --precision bf16") from error


def _quantized(torch: Any, module: Any, name: str) -> dict[str, Any]:
    """Quantizes the linear layers of the module to i8 in place, with dynamic activations.

    Returns:
        Fields that describe the quantized model.

    Raises:
        Skip: if the module has no linear layers.
    """
    torch.ao.quantization.quantize_dynamic(module, {torch.nn.Linear}, dtype=torch.qint8, inplace=True)
    layers = [one for one in module.modules() if isinstance(one, torch.ao.nn.quantized.dynamic.Linear)]
    if not layers:
        why = "PyTorch only quantizes linear layers, and the model has none"
        raise Skip(f"{name} in i8 with PyTorch", why, "choose --backend openvino, or --precision bf16")
    held = sum(weight.numel() * weight.element_size() for weight in module.parameters())
    held += sum(layer.weight().numel() for layer in layers)
    return {"quantized_layers": len(layers), "model_size_gb": held / 1e9}


_ALL: tuple[type[Runtime], ...] = (PyTorch, OpenVino, OnnxRuntime, Qnn, Mps)
RUNTIMES: dict[str, type[Runtime]] = {runtime.name: runtime for runtime in _ALL}


def of(case: Case) -> type[Runtime]:
    """Returns the runtime of the case.

    Raises:
        Skip: if the runtime is unknown.
    """
    name = case.params.get("runtime", PyTorch.name)
    if name not in RUNTIMES:
        raise Skip(f"runtime {name}", "there is no runtime of this name", f"choose one of {', '.join(RUNTIMES)}")
    return RUNTIMES[name]
