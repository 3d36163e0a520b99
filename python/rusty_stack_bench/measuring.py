"""Measures cases, each replicate in its own process, so that a crash affects only its own case."""
from __future__ import annotations

import importlib
import importlib.util
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
from typing import Any, Union

from .arguments import count
from .cases import Case, axis_names, every
from .program import LISTING
from .results import Kind, Outcome, Reason, Result, ResultList, Samples, typed

# Shortest duration of a sample in nanoseconds, so that the overhead of clock and loop is negligible.
SAMPLE_NS = 10e6

# Components whose every workload needs PyTorch.
_NEED_TORCH = ("pytorch", "flash-attention", "deepspeed")

# A device by name, or a `torch.device`.
Device = Union[str, Any]


class Default(int):
    """A default number, which can be distinguished from the same number passed by the caller."""


@dataclass(frozen=True)
class Settings:
    """Number of replicates and samples, and the time limit."""

    # Fresh processes per case: most of the variance of short cases is between processes.
    replicates: int = 5
    # Samples per process.
    runs: int = 20
    # Time limit of each request to a replicate, in seconds.
    timeout: float = 300.0
    # Iterations per process before the first sample; at least 2, because they determine
    # the length of samples; fewer if they would take over a quarter of `timeout`.
    warmup: int = 2


def settings_of(num_runs: int, num_warmup: int, warmup_runs: int | None, settings: Settings | None) -> Settings:
    """Returns the settings for a number of samples and of warm-up iterations.

    Args:
        num_runs: samples of a case, in all processes; rounded up to the same number in each.
        num_warmup: iterations per process before the first sample.
        warmup_runs: alias of `num_warmup`.
        settings: settings to use instead of the counts.

    Raises:
        TypeError: if a number is given under two names or is not an integer, or `settings` are not `Settings`.
        ValueError: if a number is too small.
    """
    if settings is not None and not _is_settings(settings):
        raise TypeError(f"settings is {settings!r}; pass Settings(replicates=..., runs=...)")
    if warmup_runs is not None and not isinstance(num_warmup, Default):
        raise TypeError("num_warmup and warmup_runs are two names of the same number; give only one of them")
    numbers = {"num_runs": num_runs, "num_warmup": num_warmup}
    given = [name for name, number in numbers.items() if not isinstance(number, Default)]
    given += [] if warmup_runs is None else ["warmup_runs"]
    if settings is not None:
        if given:
            raise TypeError(f"settings and {given[0]} both say how often to measure; give only one of them")
        return settings
    warmup = count("num_warmup", num_warmup if warmup_runs is None else warmup_runs, 0)
    runs = count("num_runs", num_runs)
    replicates = min(Settings.replicates, runs)
    return Settings(replicates=replicates, runs=math.ceil(runs / replicates), warmup=warmup)


def _is_settings(value: object) -> bool:
    return isinstance(value, Settings)


def device_name(device: Device) -> str:
    """Returns the name of a device that is a text or a `torch.device`.

    Raises:
        TypeError: if it is neither.
    """
    if isinstance(device, str) or type(device).__name__ == "device":
        return str(device)
    raise TypeError(f"device is {device!r}; use auto, cpu, rocm:0, cuda:0, or a torch.device")


def one_of(**names: Any) -> Any:
    """Returns the value of a parameter that has several names.

    Args:
        names: the value passed under each name; None if not given.

    Returns:
        The value, or None.

    Raises:
        TypeError: if it is given under more than one name.
    """
    given = {name: value for name, value in names.items() if value is not None}
    if len(given) > 1:
        raise TypeError(f"{' and '.join(given)} are names of the same parameter; give only one of them")
    return next(iter(given.values()), None)


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
        self._last_lines: list[str] = []
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
            self._last_lines = [*self._last_lines[-11:], line.rstrip()]

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
        words = f"; its last lines: {' | '.join(self._last_lines)}" if self._last_lines else ""
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
        # The first iteration may include warm-up, so the shorter of it and the mean of
        # the other iterations is used. They take at most about a quarter of the time limit.
        allowed = int(settings.timeout * 1e9 / 4 / max(first, 1.0))
        others = max(1, min(settings.warmup - 1, allowed))
        once = min(first, replicate.ask({"ask": "sample", "iters": others})["time_ns"] / others)
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
    """Starts reading the sensors of the GPU at this PCI address.

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


def measure(kind: type[Kind], cases: list[Case], settings: Settings = Settings()) -> ResultList[Kind]:
    """Measures cases, one after another.

    Args:
        kind: the type of the results.
        cases: the cases to measure.
        settings: number of replicates and samples, and the time limit.

    Returns:
        One result per case; a case that is skipped or fails has a `reason`.
    """
    return ResultList(typed(kind, _measured(case, settings)) for case in cases)


def benchmark(kind: type[Kind], workload: str, device: Device, settings: Settings, /, **axes: Any) -> ResultList[Kind]:
    """Measures a workload for every combination of its axis values.

    Args:
        kind: the type of the results.
        workload: a component and its workload, such as `pytorch/matmul`.
        device: a device, or `auto`.
        settings: number of replicates and samples, and the time limit.
        axes: one or several values of each axis; None leaves out an axis that has a default.

    Raises:
        TypeError: if the workload has no such axis.
        ValueError: if an axis does not accept a value, or one without a default is missing.
        ImportError: if the component needs PyTorch, which is not installed.
        RuntimeError: if no device has this index.
    """
    component, name = workload.split("/")
    known = axis_names(component, name)
    unknown = [axis for axis in axes if axis not in known]
    if unknown:
        raise TypeError(f"unexpected keyword argument {unknown[0]!r}; {component} {name} has the axes {', '.join(known)}")
    given = {axis: values for axis, values in axes.items() if values is not None}
    if component in _NEED_TORCH:
        require_torch()
    return measure(kind, every(component, name, chosen(device), **given), settings)


def require_torch() -> None:
    """Checks that PyTorch is installed, without loading it.

    Raises:
        ImportError: if it is not.
    """
    if importlib.util.find_spec("torch") is None:
        raise ImportError("PyTorch is not installed in this environment; run `pip install torch`", name="torch")


def loaded_torch() -> Any:
    """Returns the module `torch`.

    Raises:
        ImportError: if it is not installed, or cannot be imported.
    """
    require_torch()
    return importlib.import_module("torch")


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


def chosen(device: Device) -> str:
    """Returns the full name of a device of PyTorch.

    Args:
        device: `cpu`, `rocm:0`, `cuda:1` …; without an index the first one. `auto` is the first GPU that
            PyTorch can use, else the CPU. `cuda` is also an AMD GPU if PyTorch was built for ROCm, as in
            PyTorch itself.

    Returns:
        The name, such as `cpu:0`. A device of an unavailable backend is also accepted; its cases
        are skipped with a reason.

    Raises:
        TypeError: if `device` is neither a text nor a device of PyTorch.
        ValueError: if this is not the name of a device.
        RuntimeError: if the backend has fewer devices.
    """
    device = device_name(device)
    backend, _, index = device.partition(":")
    if backend not in ("auto", "cpu", "cuda", "rocm") or (index and not index.isdecimal()) or (index and backend == "auto"):
        raise ValueError(f"unknown device {device!r}; use auto, cpu, or rocm or cuda with an index, such as cuda:0")
    if backend == "cpu":
        if int(index or 0) > 0:
            raise RuntimeError(f"there is no device {device}: all CPUs are cpu:0; `{LISTING}` lists the devices")
        return "cpu:0"
    built, count = _gpus_of_torch()
    if backend == "auto":
        return f"{built}:0" if count else "cpu:0"
    if built == "rocm":
        backend = built
    if backend == built and 0 < count <= int(index or 0):
        raise RuntimeError(f"there is no device {device}: PyTorch sees {count} GPUs; `{LISTING}` lists the devices")
    return f"{backend}:{int(index or 0)}"


def _gpus_of_torch() -> tuple[str, int]:
    """Returns the GPU backend that PyTorch was built for, and how many of its GPUs it sees; 0 without PyTorch."""
    try:
        torch: Any = importlib.import_module("torch")
    except (ImportError, OSError):
        return "", 0
    built = "rocm" if torch.version.hip else "cuda"
    return built, int(torch.cuda.device_count()) if torch.cuda.is_available() else 0
