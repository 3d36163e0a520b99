"""PyTorch's `device_metrics`, reported in addition to times, by the schema of the device's backend."""
from __future__ import annotations

from typing import Any, Callable

from .core import Case

# Largest number of reported kernels, longest first.
KERNELS = 20


def of_pytorch(case: Case, torch: Any, run: Callable[[], Any]) -> dict[str, Any]:
    """Returns the metrics of the case's backend, from one profiled pass."""
    return _of_cpu(torch, run) if case.on_cpu else _of_gpu(case, torch, run)


def _of_cpu(torch: Any, run: Callable[[], Any]) -> dict[str, Any]:
    """Returns the number of threads, the instruction set, and the operations that take the most time."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as seen:
        run()
    rows = sorted(seen.key_averages(), key=lambda row: -row.self_cpu_time_total)
    return {
        "backend": "cpu",
        "num_threads": torch.get_num_threads(),
        "instruction_set": torch.backends.cpu.get_cpu_capability(),
        "has_onednn": torch.backends.mkldnn.is_available(),
        "layer_count": sum(row.count for row in rows),
        "layers": [_row(row, row.self_cpu_time_total) for row in rows[:KERNELS]],
    }


def _of_gpu(case: Case, torch: Any, run: Callable[[], Any]) -> dict[str, Any]:
    """Returns the kernels of a pass from the vendor's profiler, and the memory of the allocator."""
    activities, index = torch.profiler.ProfilerActivity, case.gpu
    with torch.profiler.profile(activities=[activities.CPU, activities.CUDA]) as seen:
        run()
        torch.cuda.synchronize(index)
    rows = [row for row in seen.key_averages() if row.self_device_time_total > 0]
    rows.sort(key=lambda row: -row.self_device_time_total)
    state = torch.cuda.memory_stats(index)
    allocated, reserved = state.get("allocated_bytes.all.current", 0), state.get("reserved_bytes.all.current", 0)
    return {
        "backend": case.device.split(":")[0],
        "kernel_time_us": sum(row.self_device_time_total for row in rows),
        "allocated_mb": allocated / 1e6,
        "allocated_peak_mb": state.get("allocated_bytes.all.peak", 0) / 1e6,
        "reserved_mb": reserved / 1e6,
        "fragmentation_percent": 100.0 * (reserved - allocated) / reserved if reserved else 0.0,
        "allocation_retries": state.get("num_alloc_retries", 0),
        "layer_count": sum(row.count for row in rows),
        "layers": [_row(row, row.self_device_time_total) for row in rows[:KERNELS]],
    }


def _row(row: Any, time_us: float) -> dict[str, Any]:
    return {"name": row.key, "count": row.count, "time_us": float(time_us)}
