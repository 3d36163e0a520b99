"""Which GPUs a worker process sees: the GPU of its case first, so that every engine that takes the first GPU takes this one."""
from __future__ import annotations

import ctypes
import itertools
import os
from collections.abc import Mapping
from typing import Any

from .core import Case, Failure, Skip

# Names the address on the bus of the GPU that the case was planned on, where the program knows it.
ADDRESS_VARIABLE = "RSB_PCI_ADDRESS"

# The variables that list the GPUs of a runtime, the one that wins first. HIP only reads CUDA's without its own (rocdevice.cpp of
# ROCm's clr), and vLLM stops if the two differ (vllm/platforms/rocm.py). ROCR_VISIBLE_DEVICES stays as it is: HIP counts what
# it leaves.
VARIABLES = {"rocm": ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"), "cuda": ("CUDA_VISIBLE_DEVICES",)}

def gpus_of(case: Case) -> int | None:
    """How many GPUs the case needs, its own and those after it; nothing where it chooses among all of them itself."""
    if case.params.get("direction") == "gpu_to_peer":
        return None
    return case.count("num_ranks") if "num_ranks" in case.params else 1


def visible(device: str, count: int, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables with which a process sees `count` GPUs from `device` on and no other.

    Args:
        device: as cases name it, such as `rocm:3`: an index among the GPUs that `environment` leaves visible.
        count: how many GPUs; fewer are visible if the machine has not as many.
        environment: the variables so far. Entries of the user's list are passed on as they are: indices, UUIDs, MIG names.

    Raises:
        Skip: if the user's list has no entry for `device`.
    """
    backend, _, index = device.partition(":")
    names = VARIABLES.get(backend, ())
    if not names:
        return {}
    first = int(index or 0)
    # An empty list hides every GPU of CUDA; HIP takes it for none.
    is_set = [name for name in names if environment.get(name) or (backend == "cuda" and name in environment)]
    if not is_set:
        chosen = [str(one) for one in range(first, first + count)]
    else:
        name = is_set[0]
        chosen = _listed(environment[name])[first : first + count]
        if not chosen:
            why = f"{name}={environment[name]} has no entry {first}"
            raise Skip(f"GPU {device}", why, f"add the GPU to {name}, or unset it")
    return dict.fromkeys(names, ",".join(chosen))


def _listed(text: str) -> list[str]:
    """The entries of a list of GPUs up to the first that names none, where the runtimes stop reading."""
    entries = [entry.strip() for entry in text.split(",")]
    return list(itertools.takewhile(lambda entry: entry and not entry.startswith("-"), entries))


def narrow(case: Case) -> None:
    """Makes the GPU of `case` the first that this process and its children see. Call it before a framework is loaded.

    Raises:
        Skip: if the user hid the GPU.
    """
    count = gpus_of(case)
    if count is None:
        case.gpu = int(case.device.partition(":")[2] or 0)
    elif not case.on_cpu:
        os.environ |= visible(case.device, count, os.environ)


def address_of(torch: Any, index: int) -> str | None:
    """The address on the bus, such as `0000:c3:00.0`, of a GPU of this process: by PyTorch, else by HIP if something has loaded
    it; nothing if neither reports it."""
    if torch is not None:
        try:
            properties = torch.cuda.get_device_properties(index)
            return f"{properties.pci_domain_id:04x}:{properties.pci_bus_id:02x}:{properties.pci_device_id:02x}.0"
        except (AssertionError, AttributeError, IndexError, RuntimeError, ValueError):
            pass  # A PyTorch for other GPUs, or one that does not report it.
    return _by_hip(index)


def _by_hip(index: int) -> str | None:
    """As HIP reports it, in the library that this process has loaded already: MIGraphX brings no PyTorch."""
    path = _loaded("libamdhip64.so")
    if path is None:
        return None
    text = ctypes.create_string_buffer(64)
    try:
        failed = ctypes.CDLL(path).hipDeviceGetPCIBusId(text, len(text), index)
    except (OSError, AttributeError):
        return None
    slot = text.value.decode("ascii", "replace").lower().rpartition(".")[0]
    # As PyTorch and the program write it: without the function, which parts of one GPU may differ in.
    return f"{slot}.0" if slot and not failed else None


def _loaded(name: str) -> str | None:
    """The file of a library that this process has mapped."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            return next((line.split(maxsplit=5)[5].strip() for line in maps if f"/{name}" in line), None)
    except OSError:
        return None


def uuid_of(torch: Any, index: int) -> str | None:
    """The UUID of a GPU of this process: devices that are parts of one GPU share its address, and not this."""
    try:
        return str(torch.cuda.get_device_properties(index).uuid)
    except (AssertionError, AttributeError, IndexError, RuntimeError, ValueError):
        return None


def check_address(case: Case, address: str | None) -> None:
    """Holds the GPU that this process works on against the one that the case was planned on, if both are known.

    Raises:
        Failure: if they differ: the figures would be those of another GPU.
    """
    planned = os.environ.get(ADDRESS_VARIABLE, "").lower()
    if planned and address and address.lower() != planned:
        names = VARIABLES.get(case.device.partition(":")[0], ())
        shown = ", ".join(f"{name}={os.environ.get(name, '')}" for name in names)
        why = f"the framework works on the GPU at {address}, and {case.device} is the GPU at {planned} ({shown})"
        cure = f"list that GPU alone in {names[0] if names else 'its variable'}, by its UUID, and choose --device 0"
        raise Failure(f"GPU {case.device}", why, cure)


def seat(torch: Any, index: int) -> dict[str, str | None]:
    """Which GPU of the machine a GPU of this process is."""
    return {"address": address_of(torch, index), "uuid": uuid_of(torch, index)}


def check_ranks(case: Case, ranks: list[dict[str, str | None]]) -> None:
    """Holds the GPUs of ranks, each a `seat`, against the case: the first is its own, and no two are one.

    Raises:
        Failure: if the first is another GPU, or if ranks share one.
    """
    check_address(case, ranks[0]["address"])
    uuids = [rank["uuid"] for rank in ranks]
    if None not in uuids and len(set(uuids)) < len(uuids):
        why = f"{len(uuids)} ranks work on {len(set(uuids))} of them: {', '.join(map(str, uuids))}"
        raise Failure(f"GPUs of {case.device} and after", why, "report it to the framework: it ignores LOCAL_RANK")


def bind_near(address: str | None) -> int | None:
    """Ties this process to those of its CPUs that are nearest to the GPU at `address`, so that memory pinned for it lies on its
    NUMA node. Only takes CPUs away. `RSB_SYSFS_ROOT` stands for /sys, as in the program.

    Returns:
        The NUMA node of the GPU; nothing if the system does not report it, or if the process may not use its CPUs.
    """
    if address is None:
        return None
    directory = os.path.join(os.environ.get("RSB_SYSFS_ROOT") or "/sys", "bus/pci/devices", address)
    allowed = os.sched_getaffinity(0)
    near = allowed & _cpus(_text(os.path.join(directory, "local_cpulist")))
    if near and near != allowed:
        try:
            os.sched_setaffinity(0, near)
        except OSError:
            return None  # It may run anywhere, so the node says nothing about it.
    node = _text(os.path.join(directory, "numa_node"))
    return int(node) if near and node.isdecimal() else None


def _cpus(text: str) -> set[int]:
    """The numbers in a list such as `0-3,8`."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            found |= set(range(int(first), min(int(last or first), int(first) + 65_535) + 1))
    return found


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""
