"""Models in Qualcomm's QNN, in a separate Python environment, on the emulated HTP of its package.

Reports the supported operations and their accuracy, but no speed.
"""
from __future__ import annotations

import json
import os
import subprocess
import tempfile
from typing import Any

from .core import MISSING_PACKAGE, UNSUPPORTED_OPERATOR, Case, Failure, Skip, milliseconds, package
from .model_build import Subject
from .model_ready import CALIBRATION, Ready, cache_directory, save_inputs, to_onnx

# Environment variable with the interpreter that has QNN's packages.
VARIABLE = "RSB_QNN_PYTHON"
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "qnn_session.py")


class Qnn:
    """QNN's emulated HTP."""

    name = "qnn"

    @staticmethod
    def check(case: Case) -> None:
        """Checks that an environment with QNN exists.

        Raises:
            Skip: if the environment or a package is missing, or the case is not supported.
        """
        if case.workload == "load":
            raise Skip("load with QNN", "its emulator runs one pass at a time", "choose --workload forward")
        interpreter()
        package("onnx")
        package("onnxscript")
        if not case.on_cpu:
            raise Skip(f"QNN on {case.device}", "its emulator runs on the CPU", "choose only --backend qnn")

    @staticmethod
    def prepare(case: Case, torch: Any, model: tuple[Any, Subject], tensors: tuple[Any, ...]) -> Ready:
        """Exports the model, and quantizes and compiles it in a process in QNN's environment.

        Raises:
            Skip: if a node is not supported by QNN.
        """
        module, subject = model
        # Isolated (-I), because files next to the script have the same names as packages.
        process = Process([interpreter(), "-I", "-B", SCRIPT])
        # Workers may be killed, so the directory with the large graph is deleted once
        # the process has read it.
        with tempfile.TemporaryDirectory(prefix="rsb-qnn-") as directory:
            to_onnx(torch, module, subject, tensors, os.path.join(directory, "model.onnx"))
            save_inputs(subject, os.path.join(directory, "inputs.npz"), tensors)
            for index, other in enumerate(subject.calibration(CALIBRATION)):
                save_inputs(subject, os.path.join(directory, f"calibration{index}.npz"), other)
            about = process.ask("prepare", directory=directory, cache=cache_directory("qnn-contexts"))
        if "refused" in about:
            raise refusal(case.text("model"), about["refused"])

        def result() -> Any:
            with tempfile.TemporaryDirectory(prefix="rsb-qnn-") as own:
                path = os.path.join(own, "result.npy")
                process.ask("result", path=path)
                return torch.from_numpy(package("numpy").load(path))

        def metrics() -> dict[str, Any]:
            known = {name: about[name] for name in ("nodes", "is_cached", "context_bytes", "htp_arch")}
            return {"backend": "qnn", "is_emulated": True} | known | process.ask("profile")

        fields = {"component_version": about["version"], "execution": "emulated", "optimized_nodes": about["nodes"]}
        if not about["is_cached"]:
            fields["compile_time_ms"] = milliseconds(about["made_ns"])
        return Ready(lambda: process.ask("run"), result, fields, metrics, device_type="simulated")


def interpreter() -> str:
    """Returns the interpreter that has QNN.

    Raises:
        Skip: if the environment variable is not set, or the file does not exist.
    """
    named = os.environ.get(VARIABLE)
    cure = f"run `python setup qnn`, or set {VARIABLE} to an interpreter that has onnxruntime-qnn"
    if not named:
        raise Skip("Python environment of QNN", "there is no environment with onnxruntime-qnn", cure, MISSING_PACKAGE)
    if not os.path.isfile(named):
        raise Skip("Python environment of QNN", f"{VARIABLE} names {named}, which is not a file", cure, MISSING_PACKAGE)
    return named


def refusal(model: str, nodes: list[dict[str, str]]) -> Skip:
    """Returns the reason for refusing a graph: its unsupported nodes, with QNN's messages."""
    # QNN often refuses nodes of one type in each layer for the same reason: list each node,
    # but the reason only once.
    alike: dict[tuple[str, str], list[str]] = {}
    for node in nodes:
        alike.setdefault((node["op_type"], node["why"].replace(node["name"], "it")), []).append(node["name"])
    reasons = "; ".join(f"{kind} {', '.join(names)}: {reason}" for (kind, reason), names in alike.items())
    why = "QNN supports none of its nodes"
    if nodes:
        why = f"QNN does not support {len(nodes)} of its nodes, which would run on the CPU: {reasons}"
    return Skip(f"{model} with QNN", why, "choose another model, or --backend openvino", UNSUPPORTED_OPERATOR)


class Process:
    """A process in QNN's environment, which ends with this one."""

    def __init__(self, command: list[str]) -> None:
        clean = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}  # For this Python.
        try:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=clean, text=True)
        except OSError as error:
            why, cure = f"it cannot be started: {error}", f"set {VARIABLE} to another interpreter"
            raise Skip("Python environment of QNN", why, cure, MISSING_PACKAGE) from error

    def ask(self, what: str, **more: Any) -> dict[str, Any]:
        """Sends a request and returns the answer.

        Raises:
            Failure: if the process ended or reports an error.
            Skip: if a package is missing in that environment.
        """
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None, "both are pipes"
        try:
            stdin.write(json.dumps({"ask": what, **more}) + "\n")
            stdin.flush()
            line = stdout.readline()
        except OSError:
            line = ""
        if not line:
            self._process.wait()
            why = f"its process ended with status {self._process.returncode}"
            raise Failure("QNN", why, "run only this case with RSB_LOG=debug for details")
        answer = json.loads(line)
        if "error" not in answer:
            return answer
        if "No module named" in answer["error"]:
            cure = "run `python setup qnn` to create an environment that has it"
            raise Skip("Python environment of QNN", answer["error"], cure, MISSING_PACKAGE)
        raise Failure("QNN", answer["error"], "run only this case with RSB_LOG=debug for details")
