"""Code shared by all workloads: cases, reasons for missing results, timing, devices, and verification."""
from __future__ import annotations

import importlib
import math
import os
import time
from dataclasses import dataclass, field
from typing import Any, Callable

# Kinds of obstacles that programs handle differently.
DOES_NOT_FIT, MISSING_PACKAGE, UNSUPPORTED_OPERATOR = "does_not_fit", "missing_package", "unsupported_operator"


class Trouble(Exception):
    """Why a case has no measurements: what, why, cure, and the kind of obstacle if programs distinguish it."""

    def __init__(self, what: str, why: str, cure: str, obstacle: str | None = None) -> None:
        super().__init__(f"{what}: {why}; {cure}")
        self.what, self.why, self.cure, self.obstacle = what, why, cure, obstacle


class Skip(Trouble):
    """The case cannot run on this machine; nothing is broken."""


class Failure(Trouble):
    """The case failed while running, or gave an invalid result."""


@dataclass
class Case:
    """One combination of parameters of a workload of a component, on a device."""

    component: str
    workload: str
    device: str
    params: dict[str, Any]
    # Index of the GPU among those visible to this process: 0 unless the process sees
    # all GPUs (see `gpus.narrow`).
    gpu: int = 0
    # Largest relative error that verification allowed; None before verification.
    accuracy_limit: float | None = field(default=None, compare=False)

    def text(self, name: str) -> str:
        """Returns the value of a parameter as text."""
        return self.params[name]

    def count(self, name: str) -> int:
        """Returns the value of a parameter as an integer."""
        return int(self.params[name])

    def number(self, name: str) -> float:
        """Returns the value of a parameter as a float."""
        return float(self.params[name])

    def sizes(self, name: str) -> list[int]:
        """Returns the value of a parameter that is a list of sizes joined by `x`."""
        return [int(size) for size in self.params[name].split("x")]

    def size_bytes(self, name: str) -> int:
        """Returns the value of a size parameter, such as 64MiB, in bytes."""
        text = self.params[name]
        for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("GB", 10**9), ("MB", 10**6), ("kB", 1000), ("B", 1)):
            if text.endswith(unit):
                return int(float(text[: -len(unit)]) * factor)
        return int(text)

    @property
    def on_cpu(self) -> bool:
        """Whether the case runs on the CPU."""
        return self.device.startswith("cpu:")


@dataclass
class Work:
    """A verified case, ready to be timed."""

    # One iteration. On a GPU it may return before the work is done; the timer waits for the GPU.
    run: Callable[[], Any]
    # Computes the fields from the nanoseconds of one iteration.
    fields: Callable[[float], dict[str, Any]]
    # Preparation before each iteration, not timed.
    before: Callable[[], Any] | None = None
    # The PyTorch device of the GPU that runs the case, if PyTorch can time it.
    gpu: Any = None
    # "cpu" if the CPU does the work for every device, such as compilation for a GPU.
    device_type: str | None = None

    def sample(self, iters: int) -> float:
        """Runs exactly `iters` iterations and returns their total nanoseconds by the device's clock."""
        if self.gpu is not None:
            return self._sample_on_gpu(iters)
        clock, run = time.perf_counter_ns, self.run
        if self.before is None:
            begin = clock()
            for _ in range(iters):
                run()
            return float(clock() - begin)
        total = 0
        for _ in range(iters):
            self.before()
            begin = clock()
            run()
            total += clock() - begin
        return float(total)

    def _sample_on_gpu(self, iters: int) -> float:
        import torch

        total = 0.0
        with torch.cuda.device(self.gpu):
            for group in [iters] if self.before is None else [1] * iters:
                if self.before is not None:
                    self.before()
                torch.cuda.synchronize()
                begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                begin.record()
                for _ in range(group):
                    self.run()
                end.record()
                end.synchronize()
                total += begin.elapsed_time(end) * 1e6
        return total


def model_fields(architecture: str, model: Any) -> dict[str, Any]:
    """Returns the fields that describe a PyTorch model; shared weights count once."""
    return {"architecture_type": architecture, "parameter_count": sum(weight.numel() for weight in model.parameters())}


# Function that verifies a case and prepares it for timing.
Workload = Callable[[Case], Work]


def fastest(work: Work, times: int) -> float:
    """Returns the nanoseconds of the fastest of `times` iterations, because disturbances only add time."""
    return min(work.sample(1) for _ in range(times))


def without_gradients(torch: Any, run: Callable[[], Any]) -> Callable[[], Any]:
    """Wraps `run` in no_grad, so that modules with parameters do not record gradients."""

    def plain() -> Any:
        with torch.no_grad():
            return run()

    return plain


def side_by_side(works: dict[str, Work], time_ns: float, rounds: int = 5) -> dict[str, float]:
    """Times several prepared workloads in one process, to compare them.

    Each round times all works with the same number of iterations, in alternating order, so that
    launch overhead and disturbances affect all equally.

    Args:
        works: the works, by name.
        time_ns: approximate nanoseconds of one iteration.
        rounds: number of rounds.

    Returns:
        Nanoseconds of one iteration of each work, from its fastest round.
    """
    iters = max(1, min(1000, round(5e6 / time_ns)))
    best = dict.fromkeys(works, math.inf)
    for work in works.values():
        work.sample(1)
    for turn in range(rounds):
        for name in list(works) if turn % 2 else reversed(list(works)):
            best[name] = min(best[name], works[name].sample(iters) / iters)
    return best


def token_times(first: Work, whole: Work, count: int, time_ns: float, rounds: int = 5) -> dict[str, float | None]:
    """Splits the time of `count` tokens into the time to the first token and the time of each later token.

    The first token is timed here, in alternation with whole generations. Comparing it with the samples,
    which were taken earlier, could mistake a disturbance for a slow first token. If the first token
    appears to take as long as the whole generation, up to four times as many rounds are measured.

    Args:
        first: generates one token.
        whole: generates all tokens.
        count: number of tokens.
        time_ns: nanoseconds of a whole generation, from the samples.
        rounds: number of rounds.

    Returns:
        `ttft_ms` and `tpot_ms`; both None if the machine is too busy to separate them.
    """
    if count == 1:
        return {"ttft_ms": milliseconds(time_ns), "tpot_ms": None}
    of_first = of_whole = math.inf
    for turn in range(4 * rounds):
        of_first, of_whole = min(of_first, first.sample(1)), min(of_whole, whole.sample(1))
        if turn + 1 >= rounds and of_first < of_whole:
            break
    if of_first >= of_whole:  # The machine is too busy to separate them.
        return {"ttft_ms": None, "tpot_ms": None}
    first_ns = time_ns * of_first / of_whole
    return {"ttft_ms": milliseconds(first_ns), "tpot_ms": milliseconds((time_ns - first_ns) / (count - 1))}


def package(name: str, install: str | None = None) -> Any:
    """Imports a package.

    Args:
        name: name of the module.
        install: name for `pip install`, if it differs.

    Raises:
        Skip: if the package is missing or cannot be imported; the reason names the package to install.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        absent = (error.name or "").split(".")[0] if isinstance(error, ModuleNotFoundError) else ""
        own = name.split(".")[0]
        why = "this Python has no such package" if absent == own else f"it cannot be imported: {error}"
        wanted = absent if absent not in ("", own) else install or own  # A dependency of the package may be missing instead.
        cure = f"run `pip install {wanted}` in the environment that `python doctor` shows"
        raise Skip(f"package {own}", why, cure, MISSING_PACKAGE) from error


def torch_device(case: Case) -> tuple[Any, Any]:
    """Returns the module `torch` and the PyTorch device of the case.

    Raises:
        Skip: if PyTorch is missing, was built for another backend, or does not see the GPU.
    """
    torch = package("torch")
    if case.on_cpu:
        return torch, torch.device("cpu")
    backend = case.device.split(":")[0]
    built = "rocm" if torch.version.hip else "cuda" if torch.version.cuda else "cpu"
    if backend != built:
        raise Skip(
            f"PyTorch on {case.device}",
            f"PyTorch {torch.__version__} was built for {built}, not for {backend}",
            f"install the PyTorch wheel for {backend}",
        )
    if not torch.cuda.is_available() or case.gpu >= torch.cuda.device_count():
        raise Skip(
            f"PyTorch on {case.device}",
            f"PyTorch {torch.__version__} sees {torch.cuda.device_count()} GPUs",
            "run `doctor` and check the driver"
            + (", the permissions of /dev/kfd and /dev/dri, and the ROCm version" if built == "rocm" else " and the CUDA version"),
        )
    return torch, torch.device("cuda", case.gpu)


def local_model(case: Case) -> str | None:
    """Returns the model directory that the case names, or None for random weights.

    Raises:
        Skip: if the directory or its config.json does not exist.
    """
    named = case.params.get("model", "random")
    if named == "random":
        return None
    os.environ["HF_HUB_OFFLINE"] = "1"  # Missing files are reported instead of downloaded.
    if not os.path.isdir(named):
        raise Skip(f"model {named}", "there is no such directory", "name one with a config.json: --axis model=/path/to/model")
    if not os.path.isfile(os.path.join(named, "config.json")):
        raise Skip(f"model {named}", "the directory has no config.json", "name the directory with config.json and the weights")
    return named


DTYPES = {"f64": "float64", "f32": "float32", "tf32": "float32", "f16": "float16", "bf16": "bfloat16"}

# Allowed errors, relative to the largest value of the reference: a few roundings of each type.
TOLERANCES = {"f64": 1e-12, "f32": 2e-5, "tf32": 5e-3, "f16": 5e-3, "bf16": 3e-2}


def torch_dtype(case: Case, torch: Any) -> Any:
    """Returns the PyTorch type of the case's elements, and enables tf32 on GPUs only if requested.

    Raises:
        Skip: if the device does not support the type.
    """
    name = case.text("dtype")
    if name not in DTYPES or (name == "tf32" and case.on_cpu):
        cure = "choose f32, f16 or bf16"
        raise Skip(f"type {name}", f"{case.workload} does not support it on {case.device}", cure)
    if not case.on_cpu:
        torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
        torch.backends.cudnn.allow_tf32 = name == "tf32"
    return getattr(torch, DTYPES[name])


def room(what: str, size_bytes: float) -> None:
    """Checks that the host has `size_bytes` of memory available, so that the process is not killed.

    Raises:
        Skip: if less memory is available.
    """
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            lines = dict(line.split(":", 1) for line in file)
        free = float(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return  # The available memory is unknown.
    if size_bytes > free:
        why = f"it needs {size_bytes / 1e9:.1f} GB of host memory, but only {free / 1e9:.1f} GB are free"
        raise Skip(what, why, "choose smaller sizes, or free memory", DOES_NOT_FIT)


def random(torch: Any, device: Any, dtype: Any, *sizes: int) -> Any:
    """Returns random numbers, uniform in [-1, 1). The caller sets the seed beforehand."""
    room("inputs of " + "x".join(str(size) for size in sizes), 8.0 * math.prod(sizes))
    return (torch.rand(*sizes, dtype=torch.float32) * 2 - 1).to(dtype).to(device)


def verified(case: Case, result: Any, reference: Any) -> float:
    """Verifies a PyTorch tensor and returns max|x - ref| / max|ref|.

    Raises:
        Failure: if this error exceeds the tolerance of the case's type.
    """
    return within(case, *differences(result, reference))


def differences(result: Any, reference: Any) -> tuple[float, float]:
    """Returns the largest difference and the largest reference value, computed in double precision on the CPU."""
    result, reference = result.detach().double().cpu(), reference.detach().double().cpu()
    return (result - reference).abs().max().item(), reference.abs().max().item()


def within(case: Case, difference: float, largest: float, tolerance: float | None = None) -> float:
    """Checks an error against the tolerance. NaN always fails.

    Args:
        case: the case; its `accuracy_limit` is updated.
        difference: the largest absolute difference.
        largest: the largest absolute value of the reference.
        tolerance: the allowed relative error; by default that of the case's type.

    Returns:
        The relative error.

    Raises:
        Failure: if the relative error exceeds the tolerance.
    """
    allowed = TOLERANCES[case.params.get("dtype", "f32")] if tolerance is None else tolerance
    error = difference / largest if largest else difference
    case.accuracy_limit = max(allowed, case.accuracy_limit or 0.0)
    if not error <= allowed:
        dtype = case.params.get("dtype", "f32")
        lossy = f"choose another precision, because {dtype} may be too coarse; otherwise "
        cure = "try another version of the framework, or report the wrong result to its developers"
        raise Failure(
            f"result of {case.component} {case.workload}",
            f"it is off by {error:.3g} of the largest value; at most {allowed:.3g} is allowed",
            cure if dtype in ("f32", "f64") else lossy + cure,
        )
    return error


def milliseconds(time_ns: float) -> float:
    """Converts nanoseconds to milliseconds."""
    return time_ns / 1e6
