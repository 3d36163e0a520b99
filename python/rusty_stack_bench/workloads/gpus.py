"""Visibility of GPUs: many engines use the first visible GPU, so a worker makes the case's GPU the first."""
from __future__ import annotations

import ctypes
import itertools
import os
from collections.abc import Mapping
from typing import Any

from .core import Case, Failure, Skip

# Environment variable with the PCI address of the GPU for which the case was planned, if known.
ADDRESS_VARIABLE = "RSB_PCI_ADDRESS"

# Variables that list the visible GPUs of a runtime, highest precedence first. HIP reads CUDA's
# variable only if its own is not set (rocdevice.cpp of ROCm's clr), and vLLM exits if the two
# differ (vllm/platforms/rocm.py). ROCR_VISIBLE_DEVICES is not changed, because HIP indices refer to
# the GPUs that it leaves visible.
VARIABLES = {"rocm": ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"), "cuda": ("CUDA_VISIBLE_DEVICES",)}

def gpus_of(case: Case) -> int | None:
    """Returns how many GPUs the case needs, including its own; None if it selects among all GPUs itself."""
    if case.params.get("direction") == "gpu_to_peer":
        return None
    return case.count("num_ranks") if "num_ranks" in case.params else 1


def visible(device: str, count: int, environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment variables that make only `count` GPUs visible to a process, starting with `device`.

    Args:
        device: the device of a case, such as `rocm:3`: an index among the GPUs that `environment`
            leaves visible.
        count: number of GPUs; fewer are visible if the machine has fewer.
        environment: the current variables. Entries of the user's list (indices, UUIDs, MIG names) are
            passed on unchanged.

    Raises:
        Skip: if the user's list has no entry for `device`.
    """
    backend, _, index = device.partition(":")
    names = VARIABLES.get(backend, ())
    if not names:
        return {}
    first = int(index or 0)
    # An empty list hides all GPUs from CUDA; HIP treats it as unset.
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
    """Returns the entries of a GPU list up to the first invalid one, where the runtimes stop reading."""
    entries = [entry.strip() for entry in text.split(",")]
    return list(itertools.takewhile(lambda entry: entry and not entry.startswith("-"), entries))


def narrow(case: Case) -> None:
    """Makes the GPU of `case` the first one visible to this process and its children.

    Must be called before a framework is loaded.

    Raises:
        Skip: if the user's list of visible GPUs does not contain the GPU.
    """
    count = gpus_of(case)
    if count is None:
        case.gpu = int(case.device.partition(":")[2] or 0)
    elif not case.on_cpu:
        os.environ |= visible(case.device, count, os.environ)


def address_of(torch: Any, index: int) -> str | None:
    """Returns the PCI address, such as `0000:c3:00.0`, of a GPU of this process.

    Queries PyTorch, and then HIP if its library is loaded. Returns None if neither reports the address.
    """
    if torch is not None:
        try:
            properties = torch.cuda.get_device_properties(index)
            return f"{properties.pci_domain_id:04x}:{properties.pci_bus_id:02x}:{properties.pci_device_id:02x}.0"
        except (AssertionError, AttributeError, IndexError, RuntimeError, ValueError):
            pass  # PyTorch was built for other GPUs, or does not report the address.
    return _by_hip(index)


def _by_hip(index: int) -> str | None:
    """Queries HIP if its library is loaded in this process, for software that does not use PyTorch, such as MIGraphX."""
    path = _loaded("libamdhip64.so")
    if path is None:
        return None
    text = ctypes.create_string_buffer(64)
    try:
        failed = ctypes.CDLL(path).hipDeviceGetPCIBusId(text, len(text), index)
    except (OSError, AttributeError):
        return None
    slot = text.value.decode("ascii", "replace").lower().rpartition(".")[0]
    # Same format as in PyTorch and the program: function 0, because parts of one GPU may differ in
    # the function.
    return f"{slot}.0" if slot and not failed else None


def _loaded(name: str) -> str | None:
    """Returns the path of a library that is loaded in this process."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            return next((line.split(maxsplit=5)[5].strip() for line in maps if f"/{name}" in line), None)
    except OSError:
        return None


def uuid_of(torch: Any, index: int) -> str | None:
    """Returns the UUID of a GPU of this process. Partitions of one GPU have the same address but different UUIDs."""
    try:
        return str(torch.cuda.get_device_properties(index).uuid)
    except (AssertionError, AttributeError, IndexError, RuntimeError, ValueError):
        return None


def check_address(case: Case, address: str | None) -> None:
    """Checks that this process uses the GPU for which the case was planned, if both addresses are known.

    Raises:
        Failure: if the GPUs differ, because the results would belong to another GPU.
    """
    planned = os.environ.get(ADDRESS_VARIABLE, "").lower()
    if planned and address and address.lower() != planned:
        names = VARIABLES.get(case.device.partition(":")[0], ())
        shown = ", ".join(f"{name}={os.environ.get(name, '')}" for name in names)
        why = f"the framework uses the GPU at {address}, but {case.device} is the GPU at {planned} ({shown})"
        cure = f"list only that GPU in {names[0] if names else 'its variable'}, by its UUID, and choose --device 0"
        raise Failure(f"GPU {case.device}", why, cure)


def seat(torch: Any, index: int) -> dict[str, str | None]:
    """Returns the PCI address and UUID of a GPU of this process."""
    return {"address": address_of(torch, index), "uuid": uuid_of(torch, index)}


def check_ranks(case: Case, ranks: list[dict[str, str | None]]) -> None:
    """Checks that the first rank uses the GPU of the case, and that no two ranks share a GPU.

    Args:
        case: the case.
        ranks: the PCI address and UUID of the GPU of each rank, from `seat`.

    Raises:
        Failure: if the first rank uses another GPU, or ranks share one.
    """
    check_address(case, ranks[0]["address"])
    uuids = [rank["uuid"] for rank in ranks]
    if None not in uuids and len(set(uuids)) < len(uuids):
        why = f"{len(uuids)} ranks use only {len(set(uuids))} of them: {', '.join(map(str, uuids))}"
        raise Failure(f"GPUs from {case.device} on", why, "report to the framework that it ignores LOCAL_RANK")


def bind_near(address: str | None) -> int | None:
    """Restricts this process to the CPUs nearest to the GPU, so that pinned memory is allocated on the same NUMA node.

    CPUs that the process may not use are never added. `RSB_SYSFS_ROOT` replaces /sys, as in the program.

    Args:
        address: PCI address of the GPU.

    Returns:
        The NUMA node of the GPU; None if the system does not report it, or the process may not
            use the CPUs of this node.
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
            return None  # The process may run on any CPU, so the node would mean nothing.
    node = _text(os.path.join(directory, "numa_node"))
    return int(node) if near and node.isdecimal() else None


def _cpus(text: str) -> set[int]:
    """Returns the numbers in a list such as `0-3,8`."""
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
