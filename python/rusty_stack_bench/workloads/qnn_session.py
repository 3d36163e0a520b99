"""Quantizes and compiles a graph for Qualcomm's HTP and runs it on the emulator of QNN's package.

Started by `model_qnn` in a separate Python environment; reads one request and writes one answer per
line.
"""
from __future__ import annotations

import csv
import glob
import hashlib
import importlib
import json
import os
import sys
import tempfile
import time
import traceback
from typing import Any

# Only QNN's environment has these packages.
numpy: Any = None
onnxruntime: Any = None
onnxruntime_qnn: Any = None
missing: ImportError | None = None
try:
    numpy, onnxruntime, onnxruntime_qnn = map(importlib.import_module, ("numpy", "onnxruntime", "onnxruntime_qnn"))
except ImportError as error:
    missing = error

PROVIDER = "QNNExecutionProvider"
# The emulated HTP: v75 of the Snapdragon 8 Gen 3. The emulator has no memory unless
# both values are given.
ARCHITECTURE, CHIP = "75", "57"
# Number of compiled graphs to keep.
KEPT = 32


class Refused(Exception):
    """Raised if QNN does not support some nodes."""

    def __init__(self, nodes: list[dict[str, str]]) -> None:
        super().__init__(f"{len(nodes)} nodes")
        self.nodes = nodes


class Inputs:
    """Calibration inputs for a quantizer."""

    def __init__(self, arrays: list[dict[str, Any]]) -> None:
        self._left = iter(arrays)

    def get_next(self) -> Any:
        """Returns the next inputs, or None; the interface of `CalibrationDataReader`."""
        return next(self._left, None)


def quantized(directory: str) -> str:
    """Quantizes the graph to 8-bit weights and 16-bit activations, and returns its path.

    Constants are folded first, because QNN lacks some of their operations.
    """
    from onnxruntime.quantization import QuantType, quantize
    from onnxruntime.quantization.execution_providers.qnn import get_qnn_qdq_config, qnn_preprocess_model

    source, folded, ready, made = (os.path.join(directory, name + ".onnx") for name in ("model", "folded", "ready", "quantized"))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = folded
    plain = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    names = [one.name for one in plain.get_inputs()]
    others = [arrays(path, names) for path in sorted(glob.glob(os.path.join(directory, "calibration*.npz")))]
    if not qnn_preprocess_model(folded, ready):
        ready = folded
    kinds = {"activation_type": QuantType.QUInt16, "weight_type": QuantType.QUInt8}
    quantize(ready, made, get_qnn_qdq_config(ready, Inputs(others), **kinds))
    return made


def arrays(path: str, names: list[str]) -> dict[str, Any]:
    """Returns the arrays of a file that are inputs of the graph."""
    with numpy.load(path) as found:
        return {name: found[name] for name in names if name in found.files}


def opened(path: str, entries: dict[str, Any], level: int = 3, **provider: Any) -> Any:
    """Creates a session on QNN's emulator."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = level
    for name, value in {"session.record_ep_graph_assignment_info": "1", **entries}.items():
        options.add_session_config_entry(name, value)
    settings = {
        "backend_path": onnxruntime_qnn.get_qnn_htp_path(),
        "htp_arch": ARCHITECTURE,
        "soc_model": CHIP,
        "offload_graph_io_quantization": "0",
    }
    devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == PROVIDER]
    if not devices:
        raise RuntimeError("onnxruntime lists no QNN device")
    options.add_provider_for_devices(devices[:1], settings | provider)
    return onnxruntime.InferenceSession(path, options)


def assigned(session: Any) -> tuple[int, list[dict[str, str]]]:
    """Returns the number of nodes that run on QNN, and the nodes that other providers run."""
    taken, others = 0, list[dict[str, str]]()
    for part in session.get_provider_graph_assignment_info():
        nodes = part.get_nodes()
        if part.ep_name == PROVIDER:
            taken += len(nodes)
        else:
            others += [{"name": node.name, "op_type": node.op_type, "provider": part.ep_name} for node in nodes]
    return taken, others


def reasons(path: str, nodes: list[dict[str, str]]) -> list[dict[str, str]]:
    """Returns the nodes with the messages that QNN prints, only in verbose mode, to standard error."""
    with tempfile.TemporaryFile() as output:
        kept = os.dup(2)
        os.dup2(output.fileno(), 2)
        try:
            opened(path, {}, level=0)
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        output.seek(0)
        lines = output.read().decode("utf-8", "replace").splitlines()
    return [node | {"why": why(lines, node)} for node in nodes]


def why(lines: list[str], node: dict[str, str]) -> str:
    """Returns the message in QNN's log that explains why a node is not supported."""
    marks = ("not supported", "unsupported", "failed", "error", "invalid")
    own = [line for line in lines if node["name"] in line and any(mark in line.lower() for mark in marks)]
    return own[0].split("] ", 1)[-1].strip()[:300] if own else "QNN reports no reason"


def compiled(graph: str, context: str) -> int:
    """Compiles `graph` for the HTP into the file `context` and returns the number of nodes.

    Raises:
        Refused: if QNN does not support a node.
    """
    part = f"{context}.{os.getpid()}.onnx"
    try:
        entries = {"ep.context_enable": "1", "ep.context_file_path": part, "ep.context_embed_mode": "1"}
        taken, others = assigned(opened(graph, entries))
        if others or not taken:
            raise Refused(reasons(graph, others))
        os.replace(part, context)
    finally:
        if os.path.exists(part):
            os.unlink(part)
    return taken


def fingerprint(directory: str) -> str:
    """Returns a hash of everything that affects the compiled graph."""
    digest = hashlib.sha256(f"{onnxruntime.__version__} {version()} {ARCHITECTURE} {CHIP}".encode())
    for path in [os.path.join(directory, "model.onnx"), *sorted(glob.glob(os.path.join(directory, "calibration*.npz")))]:
        with open(path, "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()[:32]


def version() -> str:
    """Returns the version of QNN's package."""
    import importlib.metadata

    return importlib.metadata.version("onnxruntime-qnn")


def forget_oldest(cache: str) -> None:
    """Deletes the oldest compiled graphs, except the newest `KEPT`."""
    files = sorted(glob.glob(os.path.join(cache, "*.onnx")), key=os.path.getmtime)
    for path in files[:-KEPT]:
        for name in (path, path + ".json"):
            if os.path.exists(name):
                os.unlink(name)


class Session:
    """A graph that runs completely on QNN, with its inputs."""

    def __init__(self, directory: str, cache: str) -> None:
        onnxruntime.register_execution_provider_library(PROVIDER, onnxruntime_qnn.get_library_path())
        begin = time.perf_counter_ns()
        self._context = os.path.join(cache, fingerprint(directory) + ".onnx")
        self._session, taken = self._cached()
        is_cached = self._session is not None
        if not is_cached:
            taken = compiled(quantized(directory), self._context)
            with open(self._context + ".json", "w", encoding="ascii") as file:
                json.dump({"nodes": taken}, file)
            forget_oldest(cache)
            self._session = opened(self._context, {})
        self._inputs = arrays(os.path.join(directory, "inputs.npz"), [one.name for one in self._session.get_inputs()])
        self.about = {
            "version": version(),
            "nodes": taken,
            "is_cached": is_cached,
            "made_ns": time.perf_counter_ns() - begin,
            "context_bytes": os.path.getsize(self._context),
            "htp_arch": f"v{ARCHITECTURE}",
        }

    def _cached(self) -> tuple[Any, int]:
        """Opens the cached compiled graph.

        Returns:
            The session and its number of nodes; (None, 0) if the graph is missing or cannot be read.
        """
        try:
            with open(self._context + ".json", encoding="ascii") as file:
                return opened(self._context, {}), int(json.load(file)["nodes"])
        except FileNotFoundError:
            return None, 0
        except Exception as error:
            print(f"compiled graph {self._context} cannot be read and is compiled again: {error}", file=sys.stderr)
            return None, 0

    def run(self) -> Any:
        """Runs one pass and returns its result."""
        return self._session.run(None, self._inputs)[0]

    def profile(self) -> dict[str, Any]:
        """Returns the cycles of the emulated HTP in one pass: in total, and of the 20 longest nodes."""
        with tempfile.TemporaryDirectory(prefix="rsb-qnn-") as directory:
            path = os.path.join(directory, "profile.csv")
            session = opened(self._context, {}, profiling_level="detailed", profiling_file_path=path)
            session.run(None, self._inputs)
            del session  # The profile is complete when the session ends.
            return cycles(path)


def cycles(path: str) -> dict[str, Any]:
    """Parses the last pass of a QNN profile."""
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row.get("Unit of Measurement") == "CYCLES"]
    named = [(row["Event Identifier"].removesuffix(" (cycles)"), int(row["Time"]), row["Event Level"]) for row in rows]
    total = [count for name, count, level in named if level == "ROOT" and "execute" in name]
    layers: list[dict[str, Any]] = [
        {"name": name.rsplit(":OpId", 1)[0], "cycles": count} for name, count, level in named if level == "SUB-EVENT"
    ]
    return {
        "cycles": total[-1] if total else None,
        "layers": sorted(layers, key=lambda layer: -layer["cycles"])[:20],
    }


class Server:
    """Answers requests."""

    def __init__(self) -> None:
        self._session: Session | None = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Returns the answer to a request, or the error."""
        try:
            return self._answer(request)
        except Refused as refused:
            return {"refused": refused.nodes}
        except Exception as error:
            traceback.print_exc()
            return {"error": f"{type(error).__name__}: {error}".splitlines()[0][:500]}

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if missing is not None:
            raise missing
        if request["ask"] == "prepare":
            self._session = Session(request["directory"], request["cache"])
            return self._session.about
        assert self._session is not None, "a graph is prepared before it is run"
        if request["ask"] == "result":
            numpy.save(request["path"], self._session.run())
        elif request["ask"] == "run":
            self._session.run()
        else:
            return self._session.profile()
        return {}


def serve() -> None:
    """Answers requests until standard input ends.

    Libraries print to standard output, so their output is redirected and only answers are written there.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    server = Server()
    for line in sys.stdin:
        print(json.dumps(server.answer(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    serve()
