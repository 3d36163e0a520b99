"""Models by Qualcomm's QNN, in a Python environment of its own, on the HTP that its package emulates: what runs there and
how exactly, never how fast."""
from __future__ import annotations

import json
import os
import subprocess
import tempfile
from typing import Any

from .core import MISSING_PACKAGE, UNSUPPORTED_OPERATOR, Case, Failure, Skip, milliseconds, package
from .model_build import Subject
from .model_ready import CALIBRATION, Ready, cache_directory, save_inputs, to_onnx

# The interpreter that has QNN's packages.
VARIABLE = "RSB_QNN_PYTHON"
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "qnn_session.py")


class Qnn:
    """QNN's emulated HTP."""

    name = "qnn"

    @staticmethod
    def check(case: Case) -> None:
        """Whether an environment with it is here."""
        if case.workload == "load":
            raise Skip("load by QNN", "its emulator does one pass after another", "choose --workload forward")
        interpreter()
        package("onnx")
        package("onnxscript")
        if not case.on_cpu:
            raise Skip(f"QNN on {case.device}", "its emulator runs on the CPU", "choose only --backend qnn")

    @staticmethod
    def prepare(case: Case, torch: Any, model: tuple[Any, Subject], tensors: tuple[Any, ...]) -> Ready:
        """Exported here; quantized, compiled and run by a process of QNN's environment. Every node must be QNN's."""
        module, subject = model
        # Isolated: beside the script lie files that have the names of packages.
        process = Process([interpreter(), "-I", "-B", SCRIPT])
        # Graphs are large and workers are killed: nothing of it is left once the process has read it.
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
    """The Python that has QNN."""
    named = os.environ.get(VARIABLE)
    cure = f"`python setup qnn` makes an environment, or name an interpreter that has onnxruntime-qnn in {VARIABLE}"
    if not named:
        raise Skip("Python of QNN", "there is no environment with onnxruntime-qnn", cure, MISSING_PACKAGE)
    if not os.path.isfile(named):
        raise Skip("Python of QNN", f"{VARIABLE} names {named}, which is no file", cure, MISSING_PACKAGE)
    return named


def refusal(model: str, nodes: list[dict[str, str]]) -> Skip:
    """The reason of a graph that is not all QNN's: the nodes that are not, with what QNN says of them."""
    # Nodes of a kind are refused for the same reason, layer by layer: each is named, its reason once.
    alike: dict[tuple[str, str], list[str]] = {}
    for node in nodes:
        alike.setdefault((node["op_type"], node["why"].replace(node["name"], "it")), []).append(node["name"])
    said = "; ".join(f"{kind} {', '.join(names)}: {reason}" for (kind, reason), names in alike.items())
    why = f"QNN does not take {len(nodes)} of its nodes, which would run on the CPU: {said}" if nodes else "QNN takes no node of it"
    return Skip(f"{model} by QNN", why, "choose another model, or --backend openvino", UNSUPPORTED_OPERATOR)


class Process:
    """A process of QNN's environment, which ends with this one."""

    def __init__(self, command: list[str]) -> None:
        clean = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}  # It was for this Python.
        try:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=clean, text=True)
        except OSError as error:
            raise Skip("Python of QNN", f"it cannot be started: {error}", f"name another in {VARIABLE}", MISSING_PACKAGE) from error

    def ask(self, what: str, **more: Any) -> dict[str, Any]:
        """The answer to a question; a failure where there is none."""
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
            raise Failure("QNN", why, "run it alone with RSB_LOG=debug to see what it said")
        answer = json.loads(line)
        if "error" not in answer:
            return answer
        if "No module named" in answer["error"]:
            raise Skip("Python of QNN", answer["error"], "`python setup qnn` makes an environment that has it", MISSING_PACKAGE)
        raise Failure("QNN", answer["error"], "run it alone with RSB_LOG=debug to see what it said")
