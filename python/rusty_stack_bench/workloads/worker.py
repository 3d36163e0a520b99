"""Answers requests, one per line, and converts every exception of a framework to an answer."""
from __future__ import annotations

import faulthandler
import importlib
import json
import sys
import traceback
from typing import Any

from . import gpus, registry
from .core import DOES_NOT_FIT, UNSUPPORTED_OPERATOR, Case, Failure, Skip, Trouble, Work
from .memory import GpuMemory, HostMemory


class Worker:
    """Handles one case, from its preparation to the fields of its result."""

    # Set when a case is prepared, which is the first request.
    _component: registry.Component
    _work: Work
    _memory: HostMemory | GpuMemory

    def __init__(self) -> None:
        faulthandler.enable()  # Prints the Python stack to standard error if the process crashes.
        self._case: Case | None = None
        self._node: int | None = None

    def answer(self, line: str) -> str:
        """Answers a request of `rsb_model::protocol`."""
        try:
            return json.dumps(self._answer(json.loads(line)), allow_nan=False)
        except BaseException as error:  # Frameworks may call sys.exit.
            return self.explained(error)

    def sample(self, iters: int) -> float:
        """Runs `iters` iterations and returns their nanoseconds.

        This is the most frequent request, and its handling bypasses JSON: after 10 ms of other code, parsing and
        writing JSON would take longer than all other overhead.
        """
        return self._work.sample(iters)

    def look(self) -> None:
        """Records the memory of the case. Called after a sample."""
        self._memory.look()

    def explained(self, error: BaseException) -> str:
        """Returns the answer for a case that failed or is skipped."""
        return json.dumps(self._explained(error))

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["ask"] == "prepare":
            return self._prepare(request["case"])
        if request["ask"] == "sample":
            time_ns = self.sample(request["iters"])
            self.look()
            return {"answer": "sampled", "time_ns": time_ns}
        return {"answer": "finished", "fields": self._finished(request["time_ns"])}

    def _finished(self, time_ns: float) -> dict[str, Any]:
        assert self._case is not None, "a case is prepared before it is finished"
        fields = self._work.fields(time_ns)
        if "memory_used_mb" not in fields:  # Otherwise the workload has measured it more precisely.
            fields |= self._memory.fields()
        if "accuracy_error" in fields and self._case.accuracy_limit is not None:
            fields["accuracy_limit"] = self._case.accuracy_limit
        if self._node is not None:
            fields |= {"numa_node": self._node}
        _refuse_what_is_no_number(self._case, fields)
        first = {"workload": self._case.workload, "time_ms": time_ns / 1e6}
        return first | fields | {"component_version": fields.get("component_version") or self._component.version()}

    def _prepare(self, request: dict[str, Any]) -> dict[str, Any]:
        params = dict(request["params"])
        self._case = case = Case(request["benchmark"], params["workload"], request["device"], params)
        if "source" in request:  # User-defined functions choose their GPU by the index of the case.
            case.gpu = int(case.device.partition(":")[2] or 0)
        else:
            gpus.narrow(case)
        self._component = registry.component(case.component)
        self._component.check(case)
        torch = None if case.on_cpu else _torch()  # Imported first, so that it does not count as memory of the case.
        address = None if case.on_cpu else gpus.address_of(torch, case.gpu)
        gpus.check_address(case, address)
        self._node = gpus.bind_near(address)  # Before anything is allocated.
        self._memory = HostMemory()
        self._work = registry.workload(self._component, case)(case)
        if self._work.gpu is not None:
            self._memory = GpuMemory(torch, self._work.gpu)
        device_type = self._work.device_type or ("cpu" if case.on_cpu else "gpu")
        self._memory.begin()
        ready = {"answer": "ready", "device_type": device_type}
        # The GPU's address is returned for any software that uses the GPU: ONNX
        # Runtime, MIGraphX, or another process.
        return ready if address is None or device_type == "cpu" else ready | {"pci_address": address}

    def _explained(self, error: BaseException) -> dict[str, Any]:
        if isinstance(error, Trouble):
            kind = "skipped" if isinstance(error, Skip) else "failed"
            return {"answer": kind, "reason": reason(error.what, error.why, error.cure, error.obstacle)}
        traceback.print_exception(type(error), error, error.__traceback__, file=sys.stderr)
        message = f"{type(error).__name__}: {error}"
        message = " ".join(message.split())[:500]
        obstacle = None
        if isinstance(error, MemoryError) or "out of memory" in str(error).lower() or "can't allocate memory" in str(error):
            why, cure = f"memory ran out ({message})", "choose a smaller size, or free memory"
            obstacle = DOES_NOT_FIT
        elif isinstance(error, SystemExit):
            why, cure = f"the framework ended the program ({message})", "run only this case with RSB_LOG=debug for details"
        else:
            why, cure = message, "see the error output in `logs` of the results directory"
            # Frameworks have no common exception for unsupported operations, so the
            # message is searched.
            if any(word in message.lower() for word in ("unsupported", "not supported", "notimplemented", "not implemented")):
                obstacle = UNSUPPORTED_OPERATOR
        what = "Python worker" if self._case is None else f"{self._case.component} {self._case.workload}"
        return {"answer": "failed", "reason": reason(what, why, cure, obstacle)}


def _refuse_what_is_no_number(case: Case, fields: dict[str, Any]) -> None:
    for name, value in fields.items():
        if isinstance(value, float) and not abs(value) < float("inf"):
            raise Failure(
                f"{name} of {case.component} {case.workload}",
                f"it is {value}",
                "try another version of the framework, or report the wrong result to its developers",
            )


def _torch() -> Any:
    """Returns PyTorch, or None if it cannot be loaded."""
    try:
        return importlib.import_module("torch")
    except (ImportError, OSError):
        return None


def reason(what: str, why: str, cure: str, obstacle: str | None = None) -> dict[str, str]:
    """Returns a reason in the format of the program."""
    found = {"what": what, "why": why, "cure": cure}
    return found if obstacle is None else found | {"obstacle": obstacle}
