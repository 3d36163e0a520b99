"""What a case holds of memory while it is sampled: the process's on a CPU, the allocator's on a GPU."""

import ctypes
import os


class HostMemory:
    """The resident set of this process, above what it was before the case."""

    def __init__(self):
        self._before = _status("VmRSS") or 0.0
        self._seen = []
        self._page = os.sysconf("SC_PAGE_SIZE")
        try:
            # Kept open and read without decoding: what is done between two samples must take microseconds.
            self._file = os.open("/proc/self/statm", os.O_RDONLY)
        except OSError:
            self._file = None

    def begin(self):
        """From here on the peak counts."""
        try:
            with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
                file.write("5")  # Sets the peak back to what is resident now.
        except OSError:
            pass  # Then the peak holds the preparation too.

    def look(self):
        """Between two samples."""
        if self._file is not None:
            self._seen.append(int(os.pread(self._file, 128, 0).split()[1]) * self._page)

    def fields(self) -> dict:
        """Peak and mean; nothing where the system does not tell."""
        peak = _status("VmHWM")
        if peak is None or not self._seen:
            return {}
        mean = sum(self._seen) / len(self._seen)
        return {
            "memory_used_mb": max(peak - self._before, 0.0) / 1e6,
            "memory_average_mb": max(mean - self._before, 0.0) / 1e6,
        }


def of_children() -> dict:
    """The most that processes started by this one ever held, for work that is done there."""
    peak = 0.0
    for name in filter(str.isdigit, os.listdir("/proc")):
        if _status("PPid", name, scale=1) == os.getpid():
            peak += _status("VmHWM", name) or 0.0
    return {"memory_used_mb": peak / 1e6} if peak else {}


def heap_unused_percent() -> dict:
    """The share of what the C library's allocator holds of the system that is not in use; nothing where it does not tell."""
    names = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")
    tell = getattr(ctypes.CDLL(None), "mallinfo2", None)  # glibc's, from 2.33 on.
    if tell is None:
        return {}
    tell.restype = type("Mallinfo2", (ctypes.Structure,), {"_fields_": [(name, ctypes.c_size_t) for name in names]})
    found = tell()
    held = found.arena + found.hblkhd
    return {"memory_fragmentation_percent": 100.0 * found.fordblks / held} if held else {}


class GpuMemory:
    """What PyTorch's allocator holds of a GPU."""

    def __init__(self, torch, gpu):
        self._torch, self._gpu, self._seen = torch, gpu, []

    def begin(self):
        """From here on the peak counts."""
        self._torch.cuda.reset_peak_memory_stats(self._gpu)

    def look(self):
        """Between two samples."""
        self._seen.append(self._torch.cuda.memory_allocated(self._gpu))

    def fields(self) -> dict:
        """Peak, mean, and the share of what is reserved that nobody uses."""
        cuda = self._torch.cuda
        reserved, allocated = cuda.memory_reserved(self._gpu), cuda.memory_allocated(self._gpu)
        peak = cuda.max_memory_allocated(self._gpu)
        fields = {"memory_used_mb": peak / 1e6, "gpu_memory_peak_mb": peak / 1e6}
        if self._seen:
            fields["memory_average_mb"] = sum(self._seen) / len(self._seen) / 1e6
        if reserved:
            fields["memory_fragmentation_percent"] = 100.0 * (reserved - allocated) / reserved
        return fields


def _status(name: str, process: str = "self", scale: int = 1024):
    """A line of a process's status, in bytes unless it is of something else."""
    try:
        with open(f"/proc/{process}/status", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith(name + ":"):
                    return float(line.split()[1]) * scale
    except OSError:
        pass
    return None
