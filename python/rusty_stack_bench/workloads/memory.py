"""Memory of a case during its samples: of the process on a CPU, or of the allocator on a GPU."""
from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Iterable
from typing import Any, Callable


class HostMemory:
    """Resident set size of this process, minus its size before the case."""

    def __init__(self) -> None:
        self._before = _status("VmRSS") or 0.0
        self._seen: list[int] = []
        self._page = os.sysconf("SC_PAGE_SIZE")
        try:
            # Kept open and read without decoding: work between samples must take only microseconds.
            self._file = os.open("/proc/self/statm", os.O_RDONLY)
        except OSError:
            self._file = None

    def begin(self) -> None:
        """Starts the peak measurement."""
        try:
            with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
                file.write("5")  # Resets the peak to the current resident size.
        except OSError:
            pass  # Without the reset, the peak includes preparation.

    def look(self) -> None:
        """Records the current size. Called between samples."""
        if self._file is not None:
            self._seen.append(int(os.pread(self._file, 128, 0).split()[1]) * self._page)

    def fields(self) -> dict[str, Any]:
        """Returns peak and mean in MB; empty if the system does not report them."""
        peak = _status("VmHWM")
        if peak is None or not self._seen:
            return {}
        mean = sum(self._seen) / len(self._seen)
        return {
            "memory_used_mb": max(peak - self._before, 0.0) / 1e6,
            "memory_average_mb": max(mean - self._before, 0.0) / 1e6,
        }


def of_children() -> dict[str, Any]:
    """Returns the sum of the peak memory of child processes, for workloads that run in them."""
    peak = 0.0
    for name in filter(str.isdigit, os.listdir("/proc")):
        if _status("PPid", name, scale=1) == os.getpid():
            peak += _status("VmHWM", name) or 0.0
    return {"memory_used_mb": peak / 1e6} if peak else {}


class HostAllocator:
    """Memory allocated through the C library, which PyTorch uses on a CPU, minus the amount before the case."""

    def __init__(self) -> None:
        self._before = handed_out()
        self._seen: list[int] = []

    def begin(self) -> None:
        """Discards earlier records."""
        self._seen = []

    def look(self) -> None:
        """Records the current size; takes some microseconds."""
        held = handed_out()
        if held is not None:
            self._seen.append(held)

    def fields(self) -> dict[str, Any]:
        """Returns maximum and mean of the records in MB; empty if the library does not report them."""
        if self._before is None or not self._seen:
            return {}
        above = [max(seen - self._before, 0) / 1e6 for seen in self._seen]
        return {"memory_used_mb": max(above), "memory_average_mb": sum(above) / len(above)}


def handed_out() -> int | None:
    """Returns the bytes allocated from the C library; None if it does not report them."""
    heap = _allocator()
    return heap and heap.uordblks + heap.hblkhd


def heap_unused_percent() -> dict[str, Any]:
    """Returns the share of the C library's heap that is not in use; empty if the library does not report it."""
    heap = _allocator()
    if heap is None:
        return {}
    held = heap.arena + heap.hblkhd
    return {"memory_fragmentation_percent": 100.0 * heap.fordblks / held} if held else {}


class _MallInfo(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")
    ]


def _allocator() -> _MallInfo | None:
    """Returns the result of `mallinfo2`, or None if it is missing (glibc before 2.33)."""
    try:
        ask = ctypes.CDLL(None).mallinfo2
    except (AttributeError, OSError):
        return None
    ask.restype = _MallInfo
    return ask()


class GpuMemory:
    """Memory of a GPU that PyTorch's allocator holds."""

    def __init__(self, torch: Any, gpu: Any) -> None:
        self._torch, self._gpu = torch, gpu
        self._seen: list[int] = []

    def begin(self) -> None:
        """Starts the peak measurement."""
        self._torch.cuda.reset_peak_memory_stats(self._gpu)

    def look(self) -> None:
        """Records the current size. Called between samples."""
        self._seen.append(self._torch.cuda.memory_allocated(self._gpu))

    def fields(self) -> dict[str, Any]:
        """Returns peak and mean in MB, and the percentage of reserved memory that is not allocated."""
        cuda = self._torch.cuda
        reserved, allocated = cuda.memory_reserved(self._gpu), cuda.memory_allocated(self._gpu)
        peak = cuda.max_memory_allocated(self._gpu)
        fields = {"memory_used_mb": peak / 1e6, "gpu_memory_peak_mb": peak / 1e6}
        if self._seen:
            fields["memory_average_mb"] = sum(self._seen) / len(self._seen) / 1e6
        if reserved:
            fields["memory_fragmentation_percent"] = 100.0 * (reserved - allocated) / reserved
        return fields


class GpuPeak:
    """Peak memory in use on a GPU by all processes, polled from the driver.

    Counts all processes because an engine may run in another process; polls because the use at the end is below the
    peak.
    """

    def __init__(self, torch: Any, gpu: Any, seconds: float = 0.1) -> None:
        self._ask, self._seconds = lambda: torch.cuda.mem_get_info(gpu), seconds
        free, self._total = self._ask()
        self._least = free
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            self._look()
            time.sleep(self._seconds)

    def _look(self) -> None:
        self._least = min(self._least, self._ask()[0])

    def fields(self) -> dict[str, Any]:
        """Returns the peak until now and the total memory of the GPU, in MB."""
        self._look()
        return {"gpu_memory_peak_mb": (self._total - self._least) / 1e6, "gpu_memory_total_mb": self._total / 1e6}


def peak_of_pass(torch: Any, gpu: Any, run: Callable[[], Any]) -> float | None:
    """Returns the peak of bytes that PyTorch allocates during `run`; None if the GPU runs out of memory."""
    if gpu is None:
        with torch.autograd.profiler.profile(profile_memory=True) as profile:
            run()
        found = [event for event in profile.kineto_results.events() if event.name() == "[memory]"]
        return float(most_at_once((event.start_ns(), event.nbytes()) for event in found))
    try:
        run()  # Workspaces that stay allocated do not count.
        torch.cuda.synchronize(gpu)
        before = torch.cuda.memory_allocated(gpu)
        torch.cuda.reset_peak_memory_stats(gpu)
        run()
        torch.cuda.synchronize(gpu)
    except torch.OutOfMemoryError:
        torch.cuda.empty_cache()
        return None
    return float(torch.cuda.max_memory_allocated(gpu) - before)


def most_at_once(changes: Iterable[tuple[int, int]]) -> int:
    """Returns the largest cumulative sum of (time, change) pairs, ordered by time; freed memory has negative changes."""
    held = most = 0
    for _, change in sorted(changes, key=lambda one: one[0]):
        held += change
        most = max(most, held)
    return most


def _status(name: str, process: str = "self", scale: int = 1024) -> float | None:
    """Returns a value from this process's /proc status file times `scale`; by default converts KiB to bytes."""
    try:
        with open(f"/proc/{process}/status", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith(name + ":"):
                    return float(line.split()[1]) * scale
    except OSError:
        pass
    return None
