"""The far end of the conversation: a line that asks, a line that answers. Nothing that a framework raises gets past it."""
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
    """One case, from its preparation to its fields."""

    # Set when a case is prepared, which is the first request.
    _component: registry.Component
    _work: Work
    _memory: HostMemory | GpuMemory

    def __init__(self) -> None:
        faulthandler.enable()  # The last lines of a crash then say where it was.
        self._case: Case | None = None
        self._node: int | None = None

    def answer(self, line: str) -> str:
        """Answers a request of `rsb_model::protocol`."""
        try:
            return json.dumps(self._answer(json.loads(line)), allow_nan=False)
        except BaseException as error:  # A framework may well call sys.exit.
            return self.explained(error)

    def sample(self, iters: int) -> float:
        """Nanoseconds of `iters` iterations. The request made most often goes past JSON: after ten milliseconds of other
        code its parser and its writer take longer than everything else beside the work."""
        return self._work.sample(iters)

    def look(self) -> None:
        """What the case holds of memory, once a sample is over."""
        self._memory.look()

    def explained(self, error: BaseException) -> str:
        """The answer where there is no figure."""
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
        if "memory_used_mb" not in fields:  # Else the workload knows better.
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
        if "source" in request:  # A function of the user chooses its GPU by the index of the case.
            case.gpu = int(case.device.partition(":")[2] or 0)
        else:
            gpus.narrow(case)
        self._component = registry.component(case.component)
        self._component.check(case)
        torch = None if case.on_cpu else _torch()  # Its import is no memory of the case.
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
        # Sensors are watched whoever drives the GPU: ONNX Runtime, MIGraphX, or another process.
        return ready if address is None or device_type == "cpu" else ready | {"pci_address": address}

    def _explained(self, error: BaseException) -> dict[str, Any]:
        if isinstance(error, Trouble):
            kind = "skipped" if isinstance(error, Skip) else "failed"
            return {"answer": kind, "reason": reason(error.what, error.why, error.cure, error.obstacle)}
        traceback.print_exception(type(error), error, error.__traceback__, file=sys.stderr)
        said = f"{type(error).__name__}: {error}"
        said = " ".join(said.split())[:500]
        obstacle = None
        if isinstance(error, MemoryError) or "out of memory" in str(error).lower() or "can't allocate memory" in str(error):
            why, cure = f"memory ran out ({said})", "choose a smaller size, or free memory"
            obstacle = DOES_NOT_FIT
        elif isinstance(error, SystemExit):
            why, cure = f"the framework ended the program ({said})", "run it alone with RSB_LOG=debug to see what it said"
        else:
            why, cure = said, "look where, in the error output that is kept in `logs` of the results directory"
            # Frameworks have no common class for it.
            if any(word in said.lower() for word in ("unsupported", "not supported", "notimplemented", "not implemented")):
                obstacle = UNSUPPORTED_OPERATOR
        what = "worker in Python" if self._case is None else f"{self._case.component} {self._case.workload}"
        return {"answer": "failed", "reason": reason(what, why, cure, obstacle)}


def _refuse_what_is_no_number(case: Case, fields: dict[str, Any]) -> None:
    for name, value in fields.items():
        if isinstance(value, float) and not abs(value) < float("inf"):
            raise Failure(
                f"{name} of {case.component} {case.workload}",
                f"it is {value}",
                "the framework computes wrongly here: try another version of it, or report it there",
            )


def _torch() -> Any:
    """PyTorch, where there is one that can be loaded."""
    try:
        return importlib.import_module("torch")
    except (ImportError, OSError):
        return None


def reason(what: str, why: str, cure: str, obstacle: str | None = None) -> dict[str, str]:
    """A reason as it is told to the program."""
    told = {"what": what, "why": why, "cure": cure}
    return told if obstacle is None else told | {"obstacle": obstacle}
