"""Measures cases, each replicate in its own process, so that a crash affects only its own case."""
from __future__ import annotations

import json
import math
import os
import queue
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from .cases import Case, every
from .results import Kind, Outcome, Reason, Result, Samples, typed

# Shortest duration of a sample in nanoseconds, so that the overhead of clock and loop is negligible.
SAMPLE_NS = 10e6


@dataclass(frozen=True)
class Settings:
    """Number of replicates and samples, and the time limit."""

    # Fresh processes per case: most of the variance of short cases is between processes.
    replicates: int = 5
    # Samples per process.
    runs: int = 20
    # Time limit of each request to a replicate, in seconds.
    timeout: float = 300.0


class _Ended(Exception):
    """Raised when a replicate ends without results."""

    def __init__(self, outcome: Outcome, reason: Reason) -> None:
        super().__init__(str(reason))
        self.outcome, self.reason = outcome, reason


class _Replicate:
    """A process that prepares one case and takes samples on request."""

    def __init__(self, case: Case, timeout: float) -> None:
        self._case, self._timeout = case, timeout
        command = [sys.executable, "-m", "rusty_stack_bench._worker"]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._answers: queue.Queue[str | None] = queue.Queue()
        self._said: list[str] = []
        listeners = (self._read_answers, self._read_errors)
        self._listeners = [threading.Thread(target=listener, daemon=True) for listener in listeners]
        for listener in self._listeners:
            listener.start()

    def _read_answers(self) -> None:
        assert self._process.stdout is not None, "it is a pipe"
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put(None)

    def _read_errors(self) -> None:
        assert self._process.stderr is not None, "it is a pipe"
        for line in self._process.stderr:
            self._said = [*self._said[-11:], line.rstrip()]

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """Sends a request and returns the answer.

        Raises:
            _Ended: if the case is skipped or fails, or the process ends or exceeds the time limit.
        """
        assert self._process.stdin is not None, "it is a pipe"
        try:
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
            line = self._answers.get(timeout=self._timeout)
        except queue.Empty:
            why = f"it did not end within {self._timeout} s"
            raise self._ended(why, "choose a smaller size, or a longer timeout") from None
        except OSError:
            line = None
        if line is None:
            code = self._process.wait(10)
            ended = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
            self._listeners[1].join(1)
            raise self._ended(f"its process {ended}", "run only this case to see its output")
        answer = json.loads(line)
        if answer["answer"] in ("skipped", "failed"):
            raise _Ended(Outcome(answer["answer"]), Reason(**answer["reason"]))
        return answer

    def _ended(self, why: str, cure: str) -> _Ended:
        words = f"; its last lines: {' | '.join(self._said)}" if self._said else ""
        return _Ended(Outcome.FAILED, Reason(f"case {self._case.id}", why + words, cure))

    def close(self) -> None:
        """Kills the process and everything that it started."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # It has already ended.
        self._process.wait()
        for listener in self._listeners:
            listener.join()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            try:
                if stream is not None:
                    stream.close()
            except BrokenPipeError:
                pass  # It ended without reading the last request.


def _replicate(case: Case, number: int, settings: Settings) -> tuple[Samples, dict[str, Any], str]:
    replicate = _Replicate(case, settings.timeout)
    try:
        ready = replicate.ask({"ask": "prepare", "case": case.request()})
        first = replicate.ask({"ask": "sample", "iters": 1})["time_ns"]
        # The first iteration may include warm-up, so the shorter of two counts.
        once = min(first, replicate.ask({"ask": "sample", "iters": 1})["time_ns"])
        iters = max(1, math.ceil(SAMPLE_NS / max(once, 1.0)))
        sensors = _watch(ready.get("pci_address"))
        times = [replicate.ask({"ask": "sample", "iters": iters})["time_ns"] for _ in range(settings.runs)]
        middle = sorted(times)[len(times) // 2] / iters
        seen: dict[str, Any] = {} if sensors is None else json.loads(sensors.stop())
        fields = seen | replicate.ask({"ask": "finish", "time_ns": middle})["fields"]
        return Samples(number, [iters] * len(times), times), fields, ready["device_type"]
    finally:
        replicate.close()


def _watch(pci_address: str | None) -> Any:
    """Starts to read the sensors of the GPU at this PCI address.

    Returns:
        The watch, or None on a CPU, without the compiled extension, or if the GPU has no sensors.
    """
    if pci_address is None:
        return None
    try:
        from . import _native
    except ImportError:
        return None
    return _native.watch(pci_address)


def measure(kind: type[Kind], cases: list[Case], settings: Settings = Settings()) -> list[Kind]:
    """Measures cases, one after another.

    Args:
        kind: the type of the results.
        cases: the cases to measure.
        settings: number of replicates and samples, and the time limit.

    Returns:
        One result per case; a case that is skipped or fails has the reason.
    """
    return [typed(kind, _measured(case, settings)) for case in cases]


def benchmark(kind: type[Kind], workload: str, device: str, settings: Settings, /, **axes: Any) -> list[Kind]:
    """Measures a workload for every combination of its axis values.

    Args:
        kind: the type of the results.
        workload: a component and its workload, such as `pytorch/matmul`.
        device: a device, or `auto`.
        settings: number of replicates and samples, and the time limit.
        axes: the values of each axis.

    Raises:
        ValueError: if an axis is unknown, or one without a default is missing.
    """
    component, name = workload.split("/")
    return measure(kind, every(component, name, chosen(device), **axes), settings)


def _measured(case: Case, settings: Settings) -> Result:
    found: list[tuple[Samples, dict[str, Any], str]] = []
    outcome, reason = Outcome.MEASURED, None
    for number in range(settings.replicates):
        try:
            found.append(_replicate(case, number, settings))
        except _Ended as ended:
            outcome, reason = ended.outcome, ended.reason
            break
    # All fields come from the replicate with the median time.
    ordered = sorted(found, key=lambda one: one[1]["time_ms"])
    fields: dict[str, Any] = ordered[len(ordered) // 2][1] if found else {}
    general: dict[str, Any] = {name: fields.get(name) for name in ("time_ms", "dtype", "accuracy_error", "memory_used_mb")}
    return Result(
        benchmark_id=case.id,
        outcome=outcome,
        reason=reason,
        device_type=found[0][2] if found else None,
        parameters={"workload": case.workload, **case.params},
        samples=[samples for samples, _, _ in found],
        fields=fields,
        timestamp=datetime.now(timezone.utc).isoformat().replace("+00:00", "Z"),
        component_version=fields.get("component_version"),
        **general,
    )


def chosen(device: str) -> str:
    """Resolves `auto` to the first GPU that PyTorch can use, else the CPU; returns others unchanged."""
    if device != "auto":
        return device
    try:
        import torch
    except ImportError:
        return "cpu:0"
    if not torch.cuda.is_available():
        return "cpu:0"
    return "rocm:0" if torch.version.hip else "cuda:0"
