"""What every workload uses: a case, reasons, the clock, the device, and the comparison with a reference."""
from __future__ import annotations

import importlib
import math
import os
import time
from dataclasses import dataclass, field
from typing import Any, Callable

# Kinds of what stands in the way, which programs tell apart.
DOES_NOT_FIT, MISSING_PACKAGE, UNSUPPORTED_OPERATOR = "does_not_fit", "missing_package", "unsupported_operator"


class Trouble(Exception):
    """Why a case has no figures: what, why, cure, and the kind of obstacle where it is one that programs tell apart."""

    def __init__(self, what: str, why: str, cure: str, obstacle: str | None = None) -> None:
        super().__init__(f"{what}: {why}; {cure}")
        self.what, self.why, self.cure, self.obstacle = what, why, cure, obstacle


class Skip(Trouble):
    """It cannot run here; nothing is wrong with it."""


class Failure(Trouble):
    """It ran and broke, or gave what cannot be."""


@dataclass
class Case:
    """One point of one workload of a component on a device."""

    component: str
    workload: str
    device: str
    params: dict[str, Any]
    # Position of its GPU among those that this process sees: the first, unless it sees all of them (`gpus.narrow`).
    gpu: int = 0
    # The largest error that verification allowed, once it has run.
    accuracy_limit: float | None = field(default=None, compare=False)

    def text(self, name: str) -> str:
        """The value of a parameter, as it is written."""
        return self.params[name]

    def count(self, name: str) -> int:
        """The value of a parameter that is a whole number."""
        return int(self.params[name])

    def number(self, name: str) -> float:
        """The value of a parameter that is any number."""
        return float(self.params[name])

    def sizes(self, name: str) -> list[int]:
        """The value of a parameter that is sizes with an `x` between them."""
        return [int(size) for size in self.params[name].split("x")]

    def size_bytes(self, name: str) -> int:
        """The value of a parameter that is a size in bytes, such as 64MiB."""
        text = self.params[name]
        for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("GB", 10**9), ("MB", 10**6), ("kB", 1000), ("B", 1)):
            if text.endswith(unit):
                return int(float(text[: -len(unit)]) * factor)
        return int(text)

    @property
    def on_cpu(self) -> bool:
        """Whether the CPU runs it."""
        return self.device.startswith("cpu:")


@dataclass
class Work:
    """A case that is verified and ready to be timed."""

    # One iteration. On a GPU it may return before the work is done: the clock waits.
    run: Callable[[], Any]
    # The fields, given the nanoseconds of one iteration.
    fields: Callable[[float], dict[str, Any]]
    # What must be done before each iteration and is not timed.
    before: Callable[[], Any] | None = None
    # The GPU that runs it, where it is one that PyTorch drives.
    gpu: Any = None
    # "cpu" where the CPU does it whatever the case's device, such as compilation for a GPU.
    device_type: str | None = None

    def sample(self, iters: int) -> float:
        """Exactly `iters` iterations; nanoseconds by the device's clock."""
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
    """What a model of PyTorch is; a weight that stands in two places counts once."""
    return {"architecture_type": architecture, "parameter_count": sum(weight.numel() for weight in model.parameters())}


# Verifies a case and prepares it to be timed.
Workload = Callable[[Case], Work]


def fastest(work: Work, times: int) -> float:
    """Nanoseconds of the fastest of some iterations: what disturbs a machine only ever adds time."""
    return min(work.sample(1) for _ in range(times))


def without_gradients(torch: Any, run: Callable[[], Any]) -> Callable[[], Any]:
    """`run` under no_grad, which costs nothing where no input asks for a gradient; parameters of modules do."""

    def plain() -> Any:
        with torch.no_grad():
            return run()

    return plain


def side_by_side(works: dict[str, Work], time_ns: float, rounds: int = 5) -> dict[str, float]:
    """Nanoseconds of one iteration of each, the fastest of some rounds: as many in a row of each, who begins takes turns,
    so that neither a launch nor what disturbs the machine is one side's alone. `time_ns` is about how long one takes."""
    iters = max(1, min(1000, round(5e6 / time_ns)))
    best = dict.fromkeys(works, math.inf)
    for work in works.values():
        work.sample(1)
    for turn in range(rounds):
        for name in list(works) if turn % 2 else reversed(list(works)):
            best[name] = min(best[name], works[name].sample(iters) / iters)
    return best


def token_times(first: Work, whole: Work, count: int, time_ns: float, rounds: int = 5) -> dict[str, float | None]:
    """Time to the first of `count` tokens that take `time_ns`, and for each after it. What the first takes of the whole is
    timed here, interleaved: the samples were taken at other times, and a busy moment would pass for a slow first token. Four
    times as many rounds where the first seems to take all of it."""
    if count == 1:
        return {"ttft_ms": milliseconds(time_ns), "tpot_ms": None}
    of_first = of_whole = math.inf
    for turn in range(4 * rounds):
        of_first, of_whole = min(of_first, first.sample(1)), min(of_whole, whole.sample(1))
        if turn + 1 >= rounds and of_first < of_whole:
            break
    if of_first >= of_whole:  # The machine is too busy to tell them apart.
        return {"ttft_ms": None, "tpot_ms": None}
    first_ns = time_ns * of_first / of_whole
    return {"ttft_ms": milliseconds(first_ns), "tpot_ms": milliseconds((time_ns - first_ns) / (count - 1))}


def package(name: str, install: str | None = None) -> Any:
    """The module called `name`, or a skip that says how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        absent = (error.name or "").split(".")[0] if isinstance(error, ModuleNotFoundError) else ""
        own = name.split(".")[0]
        why = "this Python has no such package" if absent == own else f"it cannot be imported: {error}"
        wanted = absent if absent not in ("", own) else install or own  # What it needs may be absent, too.
        cure = f"run `pip install {wanted}` in the environment that `python doctor` shows"
        raise Skip(f"package {own}", why, cure, MISSING_PACKAGE) from error


def torch_device(case: Case) -> tuple[Any, Any]:
    """PyTorch and the device of the case, which must be one that this PyTorch was made for."""
    torch = package("torch")
    if case.on_cpu:
        return torch, torch.device("cpu")
    backend = case.device.split(":")[0]
    built = "rocm" if torch.version.hip else "cuda" if torch.version.cuda else "cpu"
    if backend != built:
        raise Skip(
            f"PyTorch on {case.device}",
            f"PyTorch {torch.__version__} was made for {built}, not for {backend}",
            f"install the wheel of PyTorch for {backend}",
        )
    if not torch.cuda.is_available() or case.gpu >= torch.cuda.device_count():
        raise Skip(
            f"PyTorch on {case.device}",
            f"PyTorch {torch.__version__} sees {torch.cuda.device_count()} GPUs",
            "look at `doctor`: the driver, "
            + ("the permissions of /dev/kfd and /dev/dri, or the version of ROCm" if built == "rocm" else "or the version of CUDA"),
        )
    return torch, torch.device("cuda", case.gpu)


def local_model(case: Case) -> str | None:
    """The directory of the model that the case names; nothing for random weights."""
    named = case.params.get("model", "random")
    if named == "random":
        return None
    os.environ["HF_HUB_OFFLINE"] = "1"  # What is not in the directory is missing, not downloaded.
    if not os.path.isdir(named):
        raise Skip(f"model {named}", "there is no such directory", "name one with a config.json: --axis model=/path/to/model")
    if not os.path.isfile(os.path.join(named, "config.json")):
        raise Skip(f"model {named}", "the directory has no config.json", "name the directory that holds config.json and the weights")
    return named


DTYPES = {"f64": "float64", "f32": "float32", "tf32": "float32", "f16": "float16", "bf16": "bfloat16"}

# How far a result may be from the reference, over the largest of the reference: some roundings of each type.
TOLERANCES = {"f64": 1e-12, "f32": 2e-5, "tf32": 5e-3, "f16": 5e-3, "bf16": 3e-2}


def torch_dtype(case: Case, torch: Any) -> Any:
    """The type of the case's elements."""
    name = case.text("dtype")
    if name not in DTYPES or (name == "tf32" and case.on_cpu):
        cure = "choose f32, f16 or bf16"
        raise Skip(f"type {name}", f"{case.workload} has none of it on {case.device}", cure)
    if not case.on_cpu:
        torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
        torch.backends.cudnn.allow_tf32 = name == "tf32"
    return getattr(torch, DTYPES[name])


def room(what: str, size_bytes: float) -> None:
    """Skips what needs more memory than the host has free: the system would end the process, and perhaps others."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            lines = dict(line.split(":", 1) for line in file)
        free = float(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return  # Nobody knows.
    if size_bytes > free:
        why = f"it needs {size_bytes / 1e9:.1f} GB of the host's memory, where {free / 1e9:.1f} GB are free"
        raise Skip(what, why, "choose smaller sizes, or free memory", DOES_NOT_FIT)


def random(torch: Any, device: Any, dtype: Any, *sizes: int) -> Any:
    """Uniform in [-1, 1) from the fixed seed that was set before."""
    room("inputs of " + "x".join(str(size) for size in sizes), 8.0 * math.prod(sizes))
    return (torch.rand(*sizes, dtype=torch.float32) * 2 - 1).to(dtype).to(device)


def verified(case: Case, result: Any, reference: Any) -> float:
    """max|x - ref| / max|ref|, when it is within what the type allows; tensors of PyTorch."""
    return within(case, *differences(result, reference))


def differences(result: Any, reference: Any) -> tuple[float, float]:
    """The largest difference and the largest of the reference, both in double precision on the CPU."""
    result, reference = result.detach().double().cpu(), reference.detach().double().cpu()
    return (result - reference).abs().max().item(), reference.abs().max().item()


def within(case: Case, difference: float, largest: float, tolerance: float | None = None) -> float:
    """The relative error, or a failure that says how wrong it is. What is no number is wrong."""
    allowed = TOLERANCES[case.params.get("dtype", "f32")] if tolerance is None else tolerance
    error = difference / largest if largest else difference
    case.accuracy_limit = max(allowed, case.accuracy_limit or 0.0)
    if not error <= allowed:
        dtype = case.params.get("dtype", "f32")
        lossy = f"{dtype} may be too coarse for it: choose another precision; if not, "
        cure = "the framework computes wrongly here: try another version of it, or report it there"
        raise Failure(
            f"result of {case.component} {case.workload}",
            f"it is off by {error:.3g} of the largest value, where {allowed:.3g} is allowed",
            cure if dtype in ("f32", "f64") else lossy + cure,
        )
    return error


def milliseconds(time_ns: float) -> float:
    """For fields."""
    return time_ns / 1e6
