"""Models in OpenVINO."""
from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from typing import Any, Callable

from . import model_openvino_text
from .core import Case, Skip, milliseconds, package
from .model_build import Subject
from .model_ready import Ready, exported, quantized_onnx

# Largest number of reported layers, longest first.
LAYERS = 20


class OpenVino:
    """OpenVINO on the CPU."""

    name = "openvino"

    @staticmethod
    def check(case: Case) -> None:
        """Checks that OpenVINO is installed and the case is on the CPU.

        Raises:
            Skip: if a package is missing, or the device is a GPU, because OpenVINO supports no
                AMD or NVIDIA GPUs.
        """
        package("openvino")
        if case.text("dtype") == "i8":
            package("onnxruntime")
            package("onnxscript")
        if not case.on_cpu:
            cure = "choose only --backend openvino, or pytorch on the GPU"
            raise Skip(f"OpenVINO on {case.device}", "it only supports Intel hardware and CPUs", cure)

    @staticmethod
    def prepare(case: Case, torch: Any, model: tuple[Any, Subject], tensors: tuple[Any, ...]) -> Ready:
        """Exports, converts and compiles the model.

        Inputs are f32 and integers, for every precision of the computation.
        """
        openvino = package("openvino")
        module, subject = model
        wanted = case.text("dtype")
        for weight in module.parameters():
            weight.data = weight.data.float()
        tensors = tuple(one.float() if one.is_floating_point() else one for one in tensors)
        if case.workload == "generate":
            ready, compiled = model_openvino_text.prepare(case, torch, subject, hints(case, torch))
            _check_precision(compiled, wanted)
            return ready
        begin = time.perf_counter_ns()
        graph, about = (_quantized if wanted == "i8" else _converted)(torch, module, subject, tensors)
        compiled = openvino.Core().compile_model(graph, "CPU", hints(case, torch))
        made_ns = time.perf_counter_ns() - begin
        _check_precision(compiled, wanted)
        # Inputs that became constants are no longer inputs of the compiled graph.
        wanted_tensors = [one.contiguous().numpy() for one in _wanted_tensors(compiled, subject, tensors)]

        def requests(count: int) -> list[Any]:
            made = [compiled.create_infer_request() for _ in range(count)]
            for one in made:
                for port, values in zip(compiled.inputs, wanted_tensors):
                    one.set_tensor(port, openvino.Tensor(values, shared_memory=True))
            return made

        request, *others = requests(_at_a_time(case, compiled))

        def passes(one: Any) -> Callable[[], Any]:
            # Outputs are shared, not copied: Python would make the copy, which is not part of the
            # latency that OpenVINO reports.
            return lambda: one.infer(share_outputs=True)

        def result() -> Any:
            passes(request)()
            return torch.from_numpy(request.get_output_tensor(0).data.copy())

        def all_at_once() -> None:
            for one in (request, *others):
                one.start_async()
            for one in (request, *others):
                one.wait()

        fields = about | {
            "component_version": openvino.__version__.split("-")[0],
            "compile_time_ms": milliseconds(made_ns),
            "optimized_nodes": len(compiled.get_runtime_model().get_ops()),
            "execution": "compiled",
        }
        return Ready(
            all_at_once if others else passes(request),
            result,
            fields,
            lambda: _metrics(compiled, graph, request),
            lambda count: [passes(one) for one in requests(count)],
            1 + len(others),
        )


def hints(case: Case, torch: Any) -> dict[str, Any]:
    """Returns the settings for OpenVINO, with the number of threads of PyTorch and the requested precision."""
    wanted, hint = case.text("dtype"), case.params.get("performance_hint", "latency")
    settings = {
        "INFERENCE_PRECISION_HINT": "f32" if wanted == "i8" else wanted,
        "INFERENCE_NUM_THREADS": torch.get_num_threads(),
        "PERFORMANCE_HINT": hint.upper(),
    }
    # When tuned for throughput, OpenVINO chooses the number of concurrent passes itself.
    return settings if hint == "throughput" else settings | {"NUM_STREAMS": int(case.params.get("concurrency", "1"))}


def _at_a_time(case: Case, compiled: Any) -> int:
    """Returns the number of concurrent passes per run: OpenVINO's recommendation if tuned for throughput, else 1."""
    is_throughput = case.params.get("performance_hint") == "throughput"
    return int(compiled.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS")) if is_throughput else 1


def _converted(torch: Any, module: Any, subject: Subject, tensors: Any) -> tuple[Any, dict[str, Any]]:
    """Returns the graph with weights in their own precision, and an empty set of additional fields."""
    with torch.no_grad():
        return package("openvino").convert_model(exported(torch, module, subject, tensors)), {}


def _quantized(torch: Any, module: Any, subject: Subject, tensors: Any) -> tuple[Any, dict[str, Any]]:
    """Returns the graph with integer products and convolutions, and its size.

    Quantizes with ONNX Runtime, whose format OpenVINO reads.
    """
    with tempfile.TemporaryDirectory(prefix="rsb-openvino-") as directory:
        made = quantized_onnx(torch, module, subject, tensors, directory)
        return package("openvino").Core().read_model(made), {"model_size_gb": os.path.getsize(made) / 1e9}


def _check_precision(compiled: Any, wanted: str) -> None:
    """Checks that the plug-in computes in the requested precision.

    Raises:
        Skip: if it uses another precision.
    """
    if wanted == "i8":
        if not any(_precision(node) in ("i8", "u8") for node in compiled.get_runtime_model().get_ops()):
            why = "its plug-in for this CPU runs no layer of the model in integers"
            raise Skip("i8 with OpenVINO", why, "choose --precision f32")
        return
    seen = str(compiled.get_property("INFERENCE_PRECISION_HINT")).split("'")[1]
    names = {"float32": "f32", "float": "f32", "bfloat16": "bf16", "float16": "f16"}
    if names.get(seen, seen) != wanted:
        why = f"its plug-in for this CPU computes in {names.get(seen, seen)}, but {wanted} was requested"
        raise Skip(f"{wanted} with OpenVINO", why, f"choose --precision {names.get(seen, 'f32')}")


def _precision(node: Any) -> str:
    """Returns the precision of a layer of a compiled graph."""
    info = node.get_rt_info()
    return info["runtimePrecision"].astype(str) if "runtimePrecision" in info else ""


def _metrics(compiled: Any, graph: Any, request: Any) -> dict[str, Any]:
    """Returns the settings in effect, and the time per layer of a pass.

    The times are from a separate compilation, because profiling slows down inference.
    """
    openvino = package("openvino")
    watched = openvino.Core().compile_model(graph, "CPU", _settings(compiled) | {"PERF_COUNT": True}).create_infer_request()
    for index, port in enumerate(compiled.inputs):
        watched.set_input_tensor(index, request.get_tensor(port))
    watched.infer()
    watched.infer()  # The first pass includes one-time work.
    seen = [one for one in watched.profiling_info if str(one.status).endswith("EXECUTED")]
    layers = [
        {
            "name": one.node_name,
            "kind": one.node_type,
            "kernel": one.exec_type,
            "time_us": one.real_time.total_seconds() * 1e6,
        }
        for one in sorted(seen, key=lambda one: -one.real_time)
    ]
    return {
        "backend": "openvino",
        "execution_devices": ", ".join(compiled.get_property("EXECUTION_DEVICES")),
        "performance_hint": str(compiled.get_property("PERFORMANCE_HINT")).rsplit(".", 1)[-1].lower(),
        "num_streams": int(compiled.get_property("NUM_STREAMS")),
        "num_threads": int(compiled.get_property("INFERENCE_NUM_THREADS")),
        "num_requests": int(compiled.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS")),
        "whole_number_layers": sum(_precision(node) in ("i8", "u8") for node in compiled.get_runtime_model().get_ops()),
        "layer_count": len(layers),
        "layers": layers[:LAYERS],
    }


def _settings(compiled: Any) -> dict[str, Any]:
    """Returns the settings with which a graph was compiled."""
    names = ("INFERENCE_PRECISION_HINT", "INFERENCE_NUM_THREADS", "NUM_STREAMS", "PERFORMANCE_HINT")
    return {name: compiled.get_property(name) for name in names}


def _wanted_tensors(compiled: Any, subject: Subject, tensors: Any) -> Sequence[Any]:
    """Returns the tensors that the graph takes: by name if the graph kept the names, else by order or shape.

    Raises:
        Skip: if tensors and inputs cannot be matched.
    """
    named = dict(zip(subject.inputs, tensors))
    names = [next(iter(port.get_names()), "") for port in compiled.inputs]
    if all(name in named for name in names):
        return [named[name] for name in names]
    if len(compiled.inputs) == len(tensors):
        return tensors
    shapes = [list(port.shape) for port in compiled.inputs]
    kept = [one for one in tensors if list(one.shape) in shapes]
    if len(kept) != len(shapes):
        raise Skip("OpenVINO", "the converted graph takes other inputs than the model", "report it, with the name of the model")
    return kept
