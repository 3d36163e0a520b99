"""User-defined benchmarks: decorated functions are verified, measured in fresh processes, and gated.

    from rusty_stack_bench import benchmark

    @benchmark(
        axes={"n": [1000, 100000]},
        set_up=lambda n: list(range(n)),
        verify=lambda numbers, total: total == len(numbers) * (len(numbers) - 1) // 2,
        targets={"time_ms": ("below", 50.0)},
    )
    def add_up(numbers):
        return sum(numbers)

`python3 -m rusty_stack_bench run FILE.py` measures the benchmarks of a file; `add_up.run()` returns
the results of one.
"""
from __future__ import annotations

import importlib.util
import inspect
import itertools
import math
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Callable, cast, overload

from .cases import Case, Value, written
from .measuring import Settings, measure
from .results import Result
from .workloads import core
from .workloads.core import Failure, Work
from .workloads.registry import Component

# Every benchmark of this process. `load` selects those of a file by their source.
_KNOWN: list[Benchmark] = []


class OwnCase(Case):
    """One combination of axis values of a user-defined benchmark; its id contains every axis."""

    @property
    def id(self) -> str:
        """Returns the id, formatted as by the program."""
        axes = [f"{name}={value}" for name, value in self.params.items()]
        return "/".join(["component_specific", self.component, self.device, *axes])


class Benchmark:
    """A function to measure, with its axes, setup, verification, fields and targets."""

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        axes: Mapping[str, Sequence[Value]],
        set_up: Callable[..., Any] | None,
        verify: Callable[[Any, Any], Any] | None,
        figures: Mapping[str, Callable[[Any, float], float]],
        targets: Mapping[str, tuple[str, float]],
    ) -> None:
        self.function, self.name, self.axes = function, name, {axis: list(values) for axis, values in axes.items()}
        self.set_up, self.verify, self.figures, self.targets = set_up, verify, dict(figures), dict(targets)
        self.source = os.path.abspath(inspect.getfile(function))
        self.about = (inspect.getdoc(function) or "").partition("\n")[0]
        self._check()

    def _check(self) -> None:
        if not _is_name(self.name):
            cure = "start with a letter and use only letters, digits, dashes and underscores"
            raise ValueError(f"`{self.name}` is not a valid name; {cure}")
        for axis, values in self.axes.items():
            if not _is_name(axis) or not values:
                needs = "a valid name (letters, digits, dashes, underscores) and at least one value"
                raise ValueError(f"axis `{axis}` of {self.name} needs {needs}")
            for value in values:
                text = written(value)
                if not text or any(letter in text for letter in "/= \t\n"):
                    why = "it must not be empty or contain spaces, `/` or `=`"
                    raise ValueError(f"value `{text}` of axis `{axis}` cannot be used in a case id; {why}")
        for metric, target in self.targets.items():
            # Callers without a type checker may pass anything.
            if not (isinstance(cast(object, target), tuple) and len(target) == 2 and target[0] in ("above", "below")):
                raise ValueError(f'invalid target for {metric} of {self.name}; write it as ("below", 5.0) or ("above", 5.0)')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function without measuring it."""
        return self.function(*args, **kwargs)

    def cases(self, device: str = "cpu:0") -> list[OwnCase]:
        """Returns one case per combination of the axis values; the last axis changes fastest.

        Args:
            device: the device of the cases.
        """
        texts = [[written(value) for value in values] for values in self.axes.values()]
        return [OwnCase(self.name, "run", device, dict(zip(self.axes, point))) for point in itertools.product(*texts)]

    def run(self, settings: Settings | None = None, device: str = "cpu:0") -> list[Result]:
        """Measures every case in fresh processes.

        Args:
            settings: number of replicates and samples, and the time limit.
            device: the device whose clock is used; `cpu:0` stands for the clock of the host.

        Returns:
            One result per case; a case that fails has a `reason`.
        """
        return measure(Result, [_Sourced.at(self.source, case) for case in self.cases(device)], settings or Settings())

    def missed(self, results: Sequence[Result]) -> list[str]:
        """Returns a sentence for each target that a result misses.

        Args:
            results: results that `run` returned.
        """
        misses: list[str] = []
        for result, (metric, (side, limit)) in itertools.product(results, self.targets.items()):
            value = result.fields.get(metric)
            if result.is_measured and not (value is not None and (value < limit if side == "below" else value > limit)):
                misses.append(f"{result.benchmark_id}: {metric} is {value}, but the target is {side} {limit}")
        return misses

    def work(self, params: Mapping[str, str], device: str) -> Work:
        """Sets up and verifies one case, in the process that measures it.

        Args:
            params: the axis values, as text.
            device: the device of the case.

        Raises:
            Failure: if the first result is wrong, or PyTorch cannot use a GPU for the device.
        """
        values = {axis: next(one for one in self.axes[axis] if written(one) == text) for axis, text in params.items()}
        gpu = _gpu(device)
        state = self.set_up(**values) if self.set_up else None
        run = (lambda: self.function(state)) if self.set_up else (lambda: self.function(**values))
        first = run()
        if self.verify is not None and not self.verify(state if self.set_up else values, first):
            why = f"`verify` rejects the first result: {str(first)[:200]}"
            raise Failure(f"benchmark {self.name}", why, "fix the function or `verify`")
        return Work(run, lambda time_ns: self._figures(state, time_ns), gpu=gpu)

    def _figures(self, state: Any, time_ns: float) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, figure in self.figures.items():
            found[name] = float(figure(state, time_ns / 1e9))
            if not math.isfinite(found[name]):
                why = f"its field {name} is {found[name]}"
                raise Failure(f"benchmark {self.name}", why, "fix the function of this field in `figures`")
        return found


class _Sourced(OwnCase):
    """A case with the file from which the measuring process loads the benchmark."""

    source: str

    @classmethod
    def at(cls, source: str, case: OwnCase) -> _Sourced:
        """Returns `case` with its file."""
        made = cls(*case)
        made.source = source
        return made

    def request(self) -> dict[str, object]:
        """Returns the case in the format of a worker's request, with its source file."""
        return {**super().request(), "source": self.source}


@overload
def benchmark(function: Callable[..., Any], /) -> Benchmark: ...


@overload
def benchmark(
    *,
    name: str | None = None,
    axes: Mapping[str, Sequence[Value]] | None = None,
    set_up: Callable[..., Any] | None = None,
    verify: Callable[[Any, Any], Any] | None = None,
    figures: Mapping[str, Callable[[Any, float], float]] | None = None,
    targets: Mapping[str, tuple[str, float]] | None = None,
) -> Callable[[Callable[..., Any]], Benchmark]: ...


def benchmark(
    function: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    axes: Mapping[str, Sequence[Value]] | None = None,
    set_up: Callable[..., Any] | None = None,
    verify: Callable[[Any, Any], Any] | None = None,
    figures: Mapping[str, Callable[[Any, float], float]] | None = None,
    targets: Mapping[str, tuple[str, float]] | None = None,
) -> Benchmark | Callable[[Callable[..., Any]], Benchmark]:
    """Decorates a module-level function as a benchmark.

    Args:
        function: the function, if the decorator is used without parentheses.
        name: the name in case ids; by default that of the function.
        axes: the values of each axis; every combination is a case.
        set_up: takes one value of each axis as keyword arguments, and returns the argument of the
            function. By default the function takes these keyword arguments itself.
        verify: takes the argument and the first result, and returns whether the result is correct.
            A wrong result is never timed.
        figures: fields of docs/glossary.md to report in addition to the time; each is a function of
            the argument and the seconds per call.
        targets: `("below", limit)` or `("above", limit)` by field.

    Returns:
        A `Benchmark`, or a decorator that creates one.

    Raises:
        ValueError: if a name, an axis value or a target is invalid.
    """

    def decorated(function: Callable[..., Any]) -> Benchmark:
        made = Benchmark(function, name or function.__name__, axes or {}, set_up, verify, figures or {}, targets or {})
        _KNOWN.append(made)
        return made

    return decorated if function is None else decorated(function)


def load(path: str) -> list[Benchmark]:
    """Imports a file and returns its benchmarks.

    Args:
        path: a Python file with functions decorated by `@benchmark`.

    Raises:
        ValueError: if it is not a Python file, or has no benchmark.
        Exception: any exception that the file raises.
    """
    path = os.path.abspath(path)
    loader = importlib.util.spec_from_file_location(f"_rsb_{os.path.basename(path).partition('.')[0]}", path)
    if loader is None or loader.loader is None or not os.path.isfile(path):
        raise ValueError(f"{path} is not a Python file; name a file with functions decorated with @benchmark")
    module = importlib.util.module_from_spec(loader)
    sys.modules[loader.name] = module
    executor: Any = loader.loader
    executor.exec_module(module)
    found = [known for known in _KNOWN if known.source == path]
    latest = {known.name: known for known in found}
    if not latest:
        raise ValueError(f"{path} has no benchmark; decorate a function with @benchmark")
    return list(latest.values())


class _UserComponent:
    """A user-defined benchmark as a component of the worker, with one workload."""

    def __init__(self, chosen: Benchmark) -> None:
        self._chosen = chosen
        self.WORKLOADS = {"run": self._run}

    def check(self, case: core.Case) -> None:
        """Accepts every case: the requirements of the function are unknown."""

    def version(self) -> str:
        """Returns the version of Python."""
        return platform.python_version()

    def _run(self, case: core.Case) -> Work:
        return self._chosen.work({axis: case.params[axis] for axis in self._chosen.axes}, case.device)


def as_component(name: str, source: str) -> Component:
    """Returns the benchmark `name` of a file as a component that the worker can register."""
    return _UserComponent(next(known for known in load(source) if known.name == name))


def _is_name(text: str) -> bool:
    return text[:1].isalpha() and text.isascii() and all(letter.isalnum() or letter in "-_" for letter in text)


def _gpu(device: str) -> Any:
    """Returns the GPU whose clock is used, or None on the CPU."""
    backend, _, index = device.partition(":")
    if backend == "cpu":
        return None
    import torch

    if not torch.cuda.is_available():
        raise Failure(f"device {device}", "PyTorch cannot use a GPU here", "choose cpu:0, or install PyTorch for this GPU")
    return torch.device("cuda", int(index or 0))
