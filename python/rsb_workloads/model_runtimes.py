"""The runtimes that models run in: for each what it needs, how a model is prepared, and what it says of itself."""
from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Callable

from .core import Case, Skip, milliseconds, package


@dataclass
class Ready:
    """A model that a runtime has prepared."""

    # One pass. On a GPU it may return before the work is done: the clock waits.
    run: Callable[[], Any]
    # One pass whose result is read, as a tensor of PyTorch.
    result: Callable[[], Any]
    # What the runtime says of itself.
    fields: dict = field(default_factory=dict)


class PyTorch:
    """Eager PyTorch on any device that it drives."""

    name = "pytorch"

    @staticmethod
    def check(case: Case):
        """Nothing beside what every case needs."""

    @staticmethod
    def prepare(case: Case, torch, model, tensors) -> Ready:
        """The module as it is."""
        module, _ = model

        def run():
            with torch.no_grad():
                return module(*tensors)

        return Ready(run, run, {"component_version": package("torch").__version__})


class OpenVino:
    """OpenVINO on the CPU."""

    name = "openvino"

    @staticmethod
    def check(case: Case):
        """Whether it is here; it drives no GPU of AMD or NVIDIA."""
        package("openvino")
        if not case.on_cpu:
            cure = "choose --backend openvino alone, or pytorch on the GPU"
            raise Skip(f"OpenVINO on {case.device}", "it drives Intel's hardware and CPUs alone", cure)

    @staticmethod
    def prepare(case: Case, torch, model, tensors) -> Ready:
        """Exported, converted and compiled; the types of the inputs are f32 and whole numbers, whatever it works in."""
        openvino = package("openvino")
        module, subject = model
        wanted = case.text("dtype")
        for weight in module.parameters():
            weight.data = weight.data.float()
        tensors = tuple(one.float() if one.is_floating_point() else one for one in tensors)
        begin = time.perf_counter_ns()
        with torch.no_grad():
            graph = openvino.convert_model(_exported(torch, module, subject, tensors))
        hints = {
            "INFERENCE_PRECISION_HINT": wanted,
            "INFERENCE_NUM_THREADS": torch.get_num_threads(),
            "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY",
        }
        compiled = openvino.Core().compile_model(graph, "CPU", hints)
        made_ns = time.perf_counter_ns() - begin
        seen = str(compiled.get_property("INFERENCE_PRECISION_HINT")).split("'")[1]
        names = {"float32": "f32", "float": "f32", "bfloat16": "bf16", "float16": "f16"}
        if names.get(seen, seen) != wanted:
            why = f"its plug-in for this CPU works in {names.get(seen, seen)} where {wanted} is asked for"
            raise Skip(f"{wanted} by OpenVINO", why, f"choose --precision {names.get(seen, 'f32')}")
        request = compiled.create_infer_request()
        # What is a constant of the graph is no input of it.
        for port, one in zip(compiled.inputs, _wanted_tensors(compiled, tensors)):
            request.set_tensor(port, openvino.Tensor(one.contiguous().numpy(), shared_memory=True))

        def result():
            request.infer()
            return torch.from_numpy(request.get_output_tensor(0).data.copy())

        fields = {
            "component_version": openvino.__version__.split("-")[0],
            "compile_time_ms": milliseconds(made_ns),
            "optimized_nodes": len(compiled.get_runtime_model().get_ops()),
            "execution": "compiled",
        }
        return Ready(request.infer, result, fields)


def _exported(torch, module, subject, tensors):
    """The module as a graph of PyTorch."""
    experts = getattr(subject.config, "_experts_implementation", None)
    if experts is not None:
        subject.config._experts_implementation = "batched_mm"
    try:
        return torch.export.export(module, tensors, strict=False)
    finally:
        if experts is not None:
            subject.config._experts_implementation = experts


def _wanted_tensors(compiled, tensors):
    """The tensors that the graph still takes, by the order in which they were given."""
    if len(compiled.inputs) == len(tensors):
        return tensors
    shapes = [list(port.shape) for port in compiled.inputs]
    kept = [one for one in tensors if list(one.shape) in shapes]
    if len(kept) != len(shapes):
        raise Skip("OpenVINO", "the converted graph takes other inputs than the model", "report it, with the name of the model")
    return kept


RUNTIMES = {runtime.name: runtime for runtime in (PyTorch, OpenVino)}


def of(case: Case):
    """The runtime that the case names."""
    name = case.params.get("runtime", PyTorch.name)
    if name not in RUNTIMES:
        raise Skip(f"runtime {name}", "this program knows none of that name", f"choose one of {', '.join(RUNTIMES)}")
    return RUNTIMES[name]
