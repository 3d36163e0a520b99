"""What a runtime makes of a model, and the forms in which runtimes take one."""
from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field
from typing import Any, Callable

from .core import Skip, package

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
    fields: dict = field(default_factory=dict)
    # What it counted and saw, by its backend's schema, asked once the samples are taken.
    metrics: Callable[[], dict] = dict
    # What does a pass each at the same time, so many.
    lanes: Callable[[int], list] | None = None
    # Passes that one run does at the same time.
    passes: int = 1
    # "simulated" where what runs is no device that anybody has.
    device_type: str | None = None


@contextlib.contextmanager
def experts_as_products(subject):
    """The experts of a mixture as one product of all: graphs have no loop over those that were chosen."""
    kept = getattr(subject.config, "_experts_implementation", None)
    if kept is not None:
        subject.config._experts_implementation = "batched_mm"
    try:
        yield
    finally:
        if kept is not None:
            subject.config._experts_implementation = kept


def exported(torch, module, subject, tensors):
    """The module as a graph of PyTorch."""
    with experts_as_products(subject), torch.no_grad():
        return torch.export.export(module, tensors, strict=False)


def to_onnx(torch, module, subject, tensors, path: str):
    """Writes the module as one file of ONNX; its inputs have the names of the model's."""
    package("onnx")
    package("onnxscript")
    held = sum(weight.numel() * weight.element_size() for weight in module.parameters())
    if held > LARGEST_GRAPH:
        why = f"its weights are {held / 1e9:.1f} GB, and a file of ONNX holds at most {LARGEST_GRAPH / 1e9:.0f} GB"
        raise Skip("graph of ONNX", why, "choose a smaller model")
    with experts_as_products(subject), torch.no_grad():
        program = torch.onnx.export(
            module, tensors, dynamo=True, opset_version=18, input_names=list(subject.inputs), output_names=["out"], verbose=False
        )
    program.save(path, external_data=False)


def save_inputs(subject, path: str, tensors):
    """Writes inputs as arrays by name."""
    package("numpy").savez(path, **{name: one.numpy() for name, one in zip(subject.inputs, tensors)})


def cache_directory(name: str) -> str:
    """A directory of ours that outlives this process."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    path = os.path.join(base, "rusty-stack-bench", name)
    os.makedirs(path, exist_ok=True)
    return path
