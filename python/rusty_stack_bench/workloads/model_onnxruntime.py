"""Models in ONNX Runtime."""
from __future__ import annotations

import json
import os
import tempfile
import time
from typing import Any

from . import onnxruntime as provider
from .core import Case, Failure, Skip, milliseconds, package
from .model_build import Subject
from .model_ready import Ready, quantized_onnx, to_onnx

# Largest number of reported nodes (longest first), and number of profiled passes.
NODES, WATCHED = 20, 3


class OnnxRuntime:
    """ONNX Runtime on the CPU."""

    name = "onnxruntime"

    @staticmethod
    def check(case: Case) -> None:
        """Checks that ONNX Runtime and the packages that export graphs are installed.

        Raises:
            Skip: if a package is missing, or the type or the device is not supported.
        """
        for name in ("onnxruntime", "onnx", "onnxscript"):
            package(name)
        if case.text("dtype") not in ("f32", "i8"):
            why = "its CPU provider only has kernels for f32 and integers"
            raise Skip(f"{case.text('dtype')} with ONNX Runtime", why, "choose --precision f32")
        if not case.on_cpu:
            cure = "choose only --backend onnxruntime, or pytorch on the GPU"
            raise Skip(f"models with ONNX Runtime on {case.device}", "only its CPU provider is supported", cure)

    @staticmethod
    def prepare(case: Case, torch: Any, model: tuple[Any, Subject], tensors: tuple[Any, ...]) -> Ready:
        """Exports the model and optimizes it at the highest level.

        The session uses as many threads as PyTorch, and inputs and outputs stay bound.
        """
        module, subject = model
        begin = time.perf_counter_ns()
        graph, about = _graph(case, torch, module, subject, tensors)
        session = provider.session(case, graph, "all", threads=torch.get_num_threads())
        made_ns = time.perf_counter_ns() - begin
        taken = {port.name for port in session.get_inputs()}  # Inputs that became constants of the graph are not its inputs.
        arrays = {name: one.contiguous().numpy() for name, one in zip(subject.inputs, tensors) if name in taken}
        if len(arrays) != len(taken):
            raise Skip("ONNX Runtime", "the exported graph takes other inputs than the model", "report it, with the name of the model")
        run, outputs = provider.bound(case, session, arrays)

        def result() -> Any:
            run()
            return torch.from_numpy(outputs()[0])

        fields = about | {
            "component_version": package("onnxruntime").__version__,
            "compile_time_ms": milliseconds(made_ns),
            "execution": "compiled",
        }
        return Ready(
            run,
            result,
            fields,
            lambda: _metrics(case, graph, arrays, torch.get_num_threads()),
            lambda count: [provider.bound(case, session, arrays)[0] for _ in range(count)],
        )


def _graph(case: Case, torch: Any, module: Any, subject: Subject, tensors: Any) -> tuple[bytes, dict[str, Any]]:
    """Returns the graph, and fields that describe it."""
    with tempfile.TemporaryDirectory(prefix="rsb-onnxruntime-") as directory:
        if case.text("dtype") == "i8":
            made = quantized_onnx(torch, module, subject, tensors, directory)
            about = {"model_size_gb": os.path.getsize(made) / 1e9}
        else:
            made, about = os.path.join(directory, "model.onnx"), {}
            to_onnx(torch, module, subject, tensors, made)
        with open(made, "rb") as file:
            return file.read(), about


def _metrics(case: Case, graph: bytes, arrays: dict[str, Any], threads: int) -> dict[str, Any]:
    """Returns the time per node of a pass, from a separate session because profiling slows it down.

    Raises:
        Failure: if a node ran on another provider.
    """
    with tempfile.TemporaryDirectory(prefix="rsb-onnxruntime-") as directory:
        watched = provider.session(case, graph, "all", profile_at=os.path.join(directory, "profile"), threads=threads)
        for _ in range(WATCHED):
            watched.run(None, arrays)
        with open(watched.end_profiling(), encoding="utf-8") as file:
            events = json.load(file)
    nodes = [one for one in events if one.get("cat") == "Node" and one["name"].endswith("_kernel_time")]
    providers = sorted({one["args"].get("provider", "") for one in nodes})
    if providers != ["CPUExecutionProvider"]:
        where = ", ".join(providers) or "an unknown provider"
        raise Failure("ONNX Runtime", f"its nodes ran on {where}", "report it, with the name of the model")
    times: dict[tuple[str, str], float] = {}
    for one in nodes:
        key = (one["name"].removesuffix("_kernel_time"), one["args"]["op_name"])
        times[key] = times.get(key, 0.0) + one["dur"] / WATCHED
    longest = sorted(times.items(), key=lambda one: -one[1])[:NODES]
    return {
        "backend": "onnxruntime",
        "execution_provider": providers[0],
        "num_threads": threads,
        "layer_count": len(times),
        "layers": [{"name": name, "kind": kind, "time_us": float(spent)} for (name, kind), spent in longest],
    }
