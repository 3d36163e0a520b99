"""Models in PyTorch on an Apple GPU.

Apple GPUs share the host's memory, so these cases have the host as their device. This code has not yet
run on such a machine; the tests use the CPU instead.
"""
from __future__ import annotations

import time
from typing import Any, Callable

from . import powermetrics
from .core import Case, Skip, package
from .model_build import Subject
from .model_ready import Ready


class Mps:
    """PyTorch on Apple's Metal."""

    name = "mps"
    # PyTorch's name of the device.
    device = "mps"

    @staticmethod
    def check(case: Case) -> None:
        """Checks that PyTorch can use an Apple GPU.

        Raises:
            Skip: if PyTorch cannot use one.
        """
        torch = package("torch")
        if not torch.backends.mps.is_available():
            built_without = f"PyTorch {torch.__version__} was built without it"
            why = "Metal is not available here" if torch.backends.mps.is_built() else built_without
            raise Skip("MPS", why, "run it on a Mac with Apple's GPU, or choose --backend cpu")

    @classmethod
    def prepare(cls, case: Case, torch: Any, model: tuple[Any, Subject], tensors: tuple[Any, ...]) -> Ready:
        """Moves the module and its inputs to the GPU.

        Each pass is synchronized and timed by the host, because event times of short passes may be negative
        (pytorch #162872).
        """
        module, subject = model
        module.to(cls.device)
        tensors = tuple(one.to(cls.device) for one in tensors)
        subject.said = {name: one.to(cls.device) if torch.is_tensor(one) else one for name, one in subject.said.items()}

        def run() -> Any:
            with torch.no_grad():
                made = module(*tensors)
            torch.mps.synchronize()
            return made

        fields = {"component_version": torch.__version__}
        return Ready(run, lambda: run().cpu(), fields, lambda: metrics(torch, run), lambda count: [run] * count, device_type="gpu")


def metrics(torch: Any, run: Callable[[], Any]) -> dict[str, Any]:
    """Returns the memory of the allocator, and the event time of a pass unless it contradicts the host's clock."""
    begin, end = (torch.mps.event.Event(enable_timing=True) for _ in range(2))
    began = time.perf_counter_ns()
    begin.record()
    run()
    end.record()
    end.synchronize()
    clock_ms, event_ms = (time.perf_counter_ns() - began) / 1e6, begin.elapsed_time(end)
    allocated, reserved = torch.mps.current_allocated_memory(), torch.mps.driver_allocated_memory()
    return {
        "backend": "mps",
        "allocated_mb": allocated / 1e6,
        "reserved_mb": reserved / 1e6,
        "fragmentation_percent": 100.0 * (reserved - allocated) / reserved if reserved else 0.0,
        "recommended_max_mb": torch.mps.recommended_max_memory() / 1e6,
        "event_time_ms": event_ms if 0.0 < event_ms <= clock_ms else None,
    } | powermetrics.watched(run)
