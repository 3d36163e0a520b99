"""The registry of components: which module prepares the cases of a benchmark."""
from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Protocol, cast

from .core import Case, Failure, Workload


class Component(Protocol):
    """The workloads of one benchmark: a module of this package, or an object for a user-defined benchmark."""

    @property
    def WORKLOADS(self) -> Mapping[str, Workload]:
        """The function that verifies and prepares a case, by the name of its workload."""
        ...

    def check(self, case: Case) -> None:
        """Checks that `case` can run on this machine.

        Raises:
            Skip: if a package, a model or the device is missing.
        """
        ...

    def version(self) -> str:
        """Returns the version of the software that is measured."""
        ...


# Components by benchmark name. A string is a module of this package, imported at the first case of
# the benchmark, because other modules need packages that this environment may lack.
COMPONENTS: dict[str, str | Component] = {
    "deepspeed": "deepspeed",
    "flash-attention": "flash_attention",
    "migraphx": "migraphx",
    "models": "models",
    "onnxruntime": "onnxruntime",
    "python-faults": "python_faults",
    "pytorch": "pytorch",
    "triton": "triton",
    "vllm": "vllm",
}


def register(name: str, component: Component) -> None:
    """Adds a user-defined benchmark; it replaces one with the same name."""
    COMPONENTS[name] = component


def component(name: str) -> Component:
    """Returns the component of the benchmark `name`.

    Raises:
        Failure: if no component has this name.
    """
    found = COMPONENTS.get(name)
    if found is None:
        known = ", ".join(sorted(COMPONENTS))
        raise Failure(f"benchmark {name}", "the worker has no component of this name", f"choose one of {known}")
    if isinstance(found, str):
        return cast(Component, importlib.import_module(f".{found}", __package__))
    return found


def workload(found: Component, case: Case) -> Workload:
    """Returns the function that prepares `case`.

    Raises:
        Failure: if the component has no such workload.
    """
    prepare = found.WORKLOADS.get(case.workload)
    if prepare is None:
        known = ", ".join(sorted(found.WORKLOADS))
        raise Failure(f"benchmark {case.component}", f"it has no workload {case.workload}", f"choose one of {known}")
    return prepare
