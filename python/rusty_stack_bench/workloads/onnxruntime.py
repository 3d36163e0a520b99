"""ONNX Runtime: inference, and the effect of each level of graph optimization; checks the provider."""
from __future__ import annotations

import json
import os
import statistics
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Callable

from .core import Case, Failure, Skip, Work, milliseconds, package, side_by_side, within
from .memory import handed_out
from .onnx_graphs import TOLERANCES, Graph, graph

# Execution providers of each device; the first available one is used.
PROVIDERS = {
    "cpu": ("CPUExecutionProvider",),
    "rocm": ("MIGraphXExecutionProvider", "ROCMExecutionProvider"),
    "cuda": ("CUDAExecutionProvider",),
}
LEVELS = {"disabled": "DISABLE_ALL", "basic": "ENABLE_BASIC", "extended": "ENABLE_EXTENDED", "all": "ENABLE_ALL"}
RUNS_BESIDE = 200
# Number of sessions to create; the reported creation time is their median.
SESSIONS = 5
# Pairs of provider and device for which this process has already created a session.
_BEGUN: set[tuple[str, str]] = set()


def check(case: Case) -> None:
    """Checks that ONNX Runtime is installed and has a provider for the device.

    Raises:
        Skip: if ONNX Runtime or the provider is missing.
    """
    runtime = package("onnxruntime")
    needed(case)
    chosen(runtime, case)


def needed(case: Case) -> None:
    """Imports the packages that build graphs, so that the import is not part of measured memory."""
    for name in ("onnx", "numpy") if case.text("network") == "mlp" else ("onnx", "numpy", "torch"):
        package(name)


def version() -> str:
    """Returns the version of ONNX Runtime."""
    return package("onnxruntime").__version__


def chosen(runtime: Any, case: Case) -> str:
    """Returns the execution provider for the device.

    Raises:
        Skip: if this build of ONNX Runtime does not have the provider.
    """
    wanted = PROVIDERS[case.device.split(":")[0]]
    there = runtime.get_available_providers()
    for provider in wanted:
        if provider in there:
            return provider
    raise Skip(
        f"ONNX Runtime on {case.device}",
        f"version {runtime.__version__} has no {' or '.join(wanted)}, only {', '.join(there)}",
        "install the package of ONNX Runtime for this device, such as onnxruntime-migraphx or onnxruntime-gpu",
    )


def session(
    case: Case, model: bytes, level: str, optimized_at: str | None = None, profile_at: str | None = None, threads: int = 0
) -> Any:
    """Creates a session and checks its provider: ONNX Runtime falls back to another provider almost silently.

    Raises:
        Failure: if another provider was used.
    """
    runtime = package("onnxruntime")
    provider = chosen(runtime, case)
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads  # 0: ONNX Runtime chooses.
    options.graph_optimization_level = getattr(runtime.GraphOptimizationLevel, f"ORT_{LEVELS[level]}")
    if optimized_at is not None:
        options.optimized_model_filepath = optimized_at
    if profile_at is not None:
        options.enable_profiling = True
        options.profile_file_prefix = profile_at
    settings = {} if case.on_cpu else {"device_id": case.gpu}
    made = runtime.InferenceSession(model, options, providers=[(provider, settings)])
    if made.get_providers()[0] != provider:
        raise Failure(
            f"provider {provider}",
            f"ONNX Runtime fell back to {made.get_providers()[0]}",
            "run `ldd` on libonnxruntime_providers_*.so to find missing libraries, and set RSB_LOG=debug for details",
        )
    return made


@dataclass
class Prepared:
    """A session whose outputs were verified."""

    graph: Graph
    session: Any
    run: Callable[[], Any]
    error: float
    # Bytes that the session and its first run allocated.
    footprint: float | None


def prepared(case: Case, graph: Graph, level: str) -> Prepared:
    """Creates and verifies a session of `graph` at a level of optimization."""
    first_session(case, graph)
    before = _taken(case)
    made = session(case, graph.model, level)
    run, outputs = bound(case, made, graph.inputs)
    run()
    after = _taken(case)
    footprint = max(after - before, 0.0) if before is not None and after is not None else None
    return Prepared(graph, made, run, right(case, outputs(), graph.exact), footprint)


def first_session(case: Case, graph: Graph) -> None:
    """Creates and runs a first session in this process, so that one-time allocations are not measured later."""
    key = (chosen(package("onnxruntime"), case), case.device)
    if key not in _BEGUN:
        bound(case, session(case, graph.model, "all"), graph.inputs)  # `bound` runs it.
        _BEGUN.add(key)


def _taken(case: Case) -> float | None:
    """Returns the bytes allocated through the C library, or the GPU's memory in use; None if unknown."""
    if case.on_cpu:
        return handed_out()
    try:
        torch = package("torch")
        free, total = torch.cuda.mem_get_info(case.gpu)
    except (RuntimeError, AssertionError, Skip):  # PyTorch is missing or does not support this GPU.
        return None
    return float(total - free)


def right(case: Case, outputs: Any, exact: Any) -> float:
    """Verifies NumPy outputs and returns the largest relative error.

    Raises:
        Failure: if an output is wrong.
    """
    numpy, allowed = package("numpy"), TOLERANCES[case.text("dtype")]
    errors: list[float] = []
    for output, one in zip(outputs, exact):
        difference = float(numpy.abs(output.astype(numpy.float64) - one).max())
        errors.append(within(case, difference, float(numpy.abs(one).max()), allowed))
    return max(errors)


def bound(case: Case, made: Any, inputs: Mapping[str, Any]) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Returns two functions: one runs an inference, the other reads its outputs.

    Inputs and outputs are bound in the device's memory, so a run allocates and copies nothing. On a
    GPU, a run returns after the work is done.
    """
    runtime, binding = package("onnxruntime"), made.io_binding()
    # ONNX Runtime uses the name "cuda" for the memory of any GPU.
    kind, index = ("cpu", 0) if case.on_cpu else ("cuda", case.gpu)
    held = {name: runtime.OrtValue.ortvalue_from_numpy(array, kind, index) for name, array in inputs.items()}
    for name, value in held.items():
        binding.bind_ortvalue_input(name, value)
    for output in made.get_outputs():
        binding.bind_output(output.name, kind, index)
    made.run_with_iobinding(binding)
    # Later runs write into the outputs that the first run allocated.
    outputs = binding.get_outputs()
    binding.clear_binding_outputs()
    for output, value in zip(made.get_outputs(), outputs):
        binding.bind_ortvalue_output(output.name, value)

    def run() -> Any:
        made.run_with_iobinding(binding)
        if kind != "cpu":
            binding.synchronize_outputs()
        return held

    return run, binding.copy_outputs_to_cpu


def _common(case: Case, ready: Prepared) -> dict[str, Any]:
    return {"provider": chosen(package("onnxruntime"), case)} | shape_fields(case, ready.graph, ready.error)


def shape_fields(case: Case, graph: Graph, error: float) -> dict[str, Any]:
    """Returns the fields that describe the graph, for any runtime."""
    size = {"f32": 4, "f16": 2, "i8": 1}[case.text("dtype")]
    return {
        "network": case.text("network"),
        "dtype": case.text("dtype"),
        "batch_size": case.count("batch_size"),
        "num_layers": case.count("num_layers"),
        "architecture_type": graph.architecture,
        "parameter_count": graph.weights,
        "model_size_gb": size * graph.weights / 1e9,
        "original_nodes": graph.nodes,
        "input_shape": ", ".join("x".join(str(size) for size in array.shape) for array in graph.inputs.values()),
        "output_shape": "x".join(str(size) for size in graph.exact[0].shape),
        "accuracy_error": error,
    }


def rates(case: Case, run: Callable[[], Any], time_ns: float) -> dict[str, Any]:
    """Returns rates from the time of a run, and latency percentiles of individually timed runs."""
    times = sorted(Work(run, lambda _: {}).sample(1) for _ in range(max(20, min(RUNS_BESIDE, round(2e9 / time_ns)))))
    return {
        "inference_time_ms": milliseconds(time_ns),
        "execution_time_ms": milliseconds(time_ns),
        "latency_p50_ms": milliseconds(times[len(times) // 2]),
        "latency_p99_ms": milliseconds(times[len(times) * 99 // 100]),
        "throughput_samples_per_second": case.count("batch_size") * 1e9 / time_ns,
    }


def compiled_ns(make: Callable[[], Any], times: int = SESSIONS) -> float:
    """Returns the median nanoseconds to compile a graph."""
    return statistics.median(Work(make, lambda _: {}).sample(1) for _ in range(times))


def inference(case: Case) -> Work:
    """Prepares inference at the highest level of optimization."""
    ready = prepared(case, graph(case), "all")
    return Work(ready.run, lambda time_ns: inference_fields(case, ready, time_ns))


def inference_fields(case: Case, ready: Prepared, time_ns: float) -> dict[str, Any]:
    """Returns the fields of inference by a provider of ONNX Runtime."""
    return _common(case, ready) | rates(case, ready.run, time_ns) | _optimized(case, ready, "all") | {
        "node_profile": profiled(case, ready.graph),
        "compilation_time_ms": milliseconds(compiled_ns(lambda: session(case, ready.graph.model, "all"))),
    }


def profiled(case: Case, graph: Graph) -> str:
    """Returns the five operator types that take the most time, with their time per run, from a profiled session.

    Raises:
        Failure: if a node ran on another provider.
    """
    with tempfile.TemporaryDirectory(prefix="rsb-onnx-") as directory:
        made = session(case, graph.model, "all", profile_at=os.path.join(directory, "profile"))
        for _ in range(3):
            made.run(None, graph.inputs)
        with open(made.end_profiling(), encoding="utf-8") as file:
            events = json.load(file)
    nodes = [event for event in events if event.get("cat") == "Node" and event["name"].endswith("_kernel_time")]
    wanted = chosen(package("onnxruntime"), case)
    elsewhere = sorted({event["args"].get("provider", "") for event in nodes} - {wanted})
    if elsewhere or not nodes:
        where = ", ".join(elsewhere) or "an unknown provider"
        raise Failure(f"provider {wanted}", f"nodes ran on {where} instead", "choose operations that the provider supports")
    total: dict[str, float] = {}
    for event in nodes:
        total[event["args"]["op_name"]] = total.get(event["args"]["op_name"], 0) + event["dur"]
    slowest = sorted(total.items(), key=lambda one: -one[1])[:5]
    return ", ".join(f"{name} {duration / 3:.0f} us" for name, duration in slowest)


def graph_optimization(case: Case) -> Work:
    """Prepares inference at one level of graph optimization, compared with the unoptimized graph."""
    level = case.text("graph_optimization")
    ready = prepared(case, graph(case), level)

    def fields(time_ns: float) -> dict[str, Any]:
        plain = prepared(case, ready.graph, "disabled")
        times = side_by_side({"own": Work(ready.run, lambda _: {}), "plain": Work(plain.run, lambda _: {})}, time_ns)
        found = _common(case, ready) | rates(case, ready.run, time_ns) | _optimized(case, ready, level) | _saved(plain, ready)
        return found | {
            "optimization_time_ms": milliseconds(compiled_ns(lambda: session(case, ready.graph.model, level))),
            "speedup": times["plain"] / times["own"],
        }

    return Work(ready.run, fields)


def saved(case: Case, ready: Prepared) -> dict[str, Any]:
    """Returns the memory saved compared with an unoptimized session; empty if it cannot be measured."""
    return _saved(prepared(case, ready.graph, "disabled"), ready)


def _saved(plain: Prepared, ready: Prepared) -> dict[str, Any]:
    if plain.footprint is None or ready.footprint is None:
        return {}
    return {"memory_savings_mb": (plain.footprint - ready.footprint) / 1e6}


def compilation(case: Case, saving: bool = False) -> Work:
    """Prepares the creation of a session: reading, optimizing, and the provider's compilation.

    Args:
        case: the case.
        saving: whether to report the memory saved compared with an unoptimized session.
    """
    level = case.text("graph_optimization")
    ready = prepared(case, graph(case), level)

    def fields(time_ns: float) -> dict[str, Any]:
        found = {name: milliseconds(time_ns) for name in ("compile_time_ms", "compilation_time_ms", "optimization_time_ms")}
        return _common(case, ready) | _optimized(case, ready, level) | found | (saved(case, ready) if saving else {})

    return Work(lambda: session(case, ready.graph.model, level), fields)


def _optimized(case: Case, ready: Prepared, level: str) -> dict[str, Any]:
    onnx = package("onnx")
    with tempfile.TemporaryDirectory(prefix="rsb-onnx-") as directory:
        path = os.path.join(directory, "optimized.onnx")
        session(case, ready.graph.model, level, optimized_at=path)
        nodes = len(onnx.load(path).graph.node)
    footprint = {} if ready.footprint is None else {"memory_footprint_mb": ready.footprint / 1e6}
    return footprint | {
        "graph_optimization": level,
        "optimization_level": f"ORT_{LEVELS[level]}",
        "optimized_nodes": nodes,
        "optimized_graph_nodes": nodes,
    }


WORKLOADS = {"inference": inference, "graph-optimization": graph_optimization, "compilation": compilation}
