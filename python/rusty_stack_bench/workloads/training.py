"""PyTorch training step of a decoder (forward, backward, AdamW), and its memory by category."""

from __future__ import annotations

import copy
import time
from collections import deque
from typing import Any, Callable

from .core import Case, Skip, Work, milliseconds, model_fields, torch_device, torch_dtype, within

WORDS = 1024
HEAD = 64
# Errors of the layers and of their gradients accumulate.
TOLERANCES = {"f32": 1e-3, "bf16": 2e-1}
# Maximum number of points in the memory curve, and number of steps whose phase times are kept.
POINTS, STEPS = 96, 512
# Names of the categories of PyTorch's profiler; all others are `other`.
PARTS = {"PARAMETER": "model", "GRADIENT": "gradients", "OPTIMIZER_STATE": "optimizer", "ACTIVATION": "activations"}
NAMES = (*PARTS.values(), "other")


def measured(case: Case, work: Callable[..., Work]) -> Work:
    """Verifies the gradients and prepares the step. `work` creates the `Work` of the PyTorch component."""
    torch, device = torch_device(case)
    dtype = torch_dtype(case, torch)
    model, tokens = _decoder(case, torch, device)
    error = _verified(case, torch, model.to(dtype), tokens)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    phases = _Phases(torch, None if case.on_cpu else device)

    def step() -> None:
        phases.mark()
        optimizer.zero_grad(set_to_none=True)
        loss = _loss(torch, model, tokens)
        phases.mark()
        loss.backward()
        phases.mark()
        optimizer.step()
        phases.mark()

    step()  # The optimizer creates its state in the first step.

    def fields(time_ns: float) -> dict[str, Any]:
        forward, backward, update = phases.medians_ms()
        return {
            "init": "tokens drawn evenly, weights as PyTorch draws them",
            "batch_size": case.count("batch_size"),
            "sequence_length": case.count("sequence_length"),
            "num_layers": case.count("num_layers"),
            **model_fields("decoder", model),
            "forward_time_ms": forward,
            "backward_time_ms": backward,
            "optimizer_step_time_ms": update,
            "total_time_ms": milliseconds(time_ns),
            "tokens_per_second": tokens.numel() * 1e9 / time_ns,
            "accuracy_error": error,
            **memory_of_step(torch, device, step),
        }

    return work(case, step, fields)


def _decoder(case: Case, torch: Any, device: Any) -> tuple[Any, Any]:
    from .networks import Decoder

    width, length = case.count("width"), case.count("sequence_length")
    if width % HEAD:
        raise Skip(f"decoder of width {width}", f"heads have {HEAD} elements", f"choose a multiple of {HEAD}")
    model = Decoder(WORDS, width, HEAD, case.count("num_layers"), length).to(device)
    return model, torch.randint(0, WORDS, (case.count("batch_size"), length), device=device)


def _loss(torch: Any, model: Any, tokens: Any) -> Any:
    """Returns the cross-entropy of the prediction at each position against the next token."""
    logits = model(tokens)[:, :-1]
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten())


def _verified(case: Case, torch: Any, model: Any, tokens: Any) -> float:
    """Returns the largest gradient error against double precision, relative to the largest gradient.

    Raises:
        Failure: if the error exceeds the tolerance.
    """
    exact = copy.deepcopy(model).double()
    for one in (exact, model):
        _loss(torch, one, tokens).backward()
    pairs = [(ours.grad.double(), theirs.grad) for ours, theirs in zip(model.parameters(), exact.parameters())]
    difference = max((ours - theirs).abs().max().item() for ours, theirs in pairs)
    return within(case, difference, max(theirs.abs().max().item() for _, theirs in pairs), TOLERANCES.get(case.text("dtype")))


class _Phases:
    """Times at which the phases of steps start and end, by the device's clock."""

    def __init__(self, torch: Any, gpu: Any) -> None:
        self._torch, self._gpu = torch, gpu
        self._marks: deque[Any] = deque(maxlen=4 * STEPS)

    def mark(self) -> None:
        if self._gpu is None:
            self._marks.append(time.perf_counter_ns())
            return
        event = self._torch.cuda.Event(enable_timing=True)
        event.record()
        self._marks.append(event)

    def medians_ms(self) -> list[float]:
        """Returns the median times of the forward, backward and optimizer phases in milliseconds."""
        marks = list(self._marks)
        if self._gpu is None:
            between = [(after - before) / 1e6 for before, after in zip(marks, marks[1:])]
        else:
            self._torch.cuda.synchronize(self._gpu)
            between = [before.elapsed_time(after) for before, after in zip(marks, marks[1:])]
        return [sorted(times)[len(times) // 2] for times in (between[phase::4] for phase in range(3))]


def memory_of_step(torch: Any, device: Any, step: Callable[[], Any]) -> dict[str, Any]:
    """Returns the memory that `step` uses in MB, over time and at its peak, by category of PyTorch's profiler.

    Empty if this version of PyTorch does not report memory by category.
    """
    try:
        from torch.profiler._memory_profiler import _CATEGORY_TO_INDEX, MemoryProfileTimeline
    except ImportError:
        return {}
    with torch.profiler.profile(profile_memory=True, record_shapes=True, with_stack=True) as profile:
        step()
    # Rows of the profiler start with one additional column.
    places: dict[Any, int] = {getattr(category, "name", None): place + 1 for category, place in _CATEGORY_TO_INDEX.items()}
    times, sizes = MemoryProfileTimeline(profile._memory_profile())._coalesce_timeline(str(device))
    # The profiler adds memory that existed before row by row, at the time of the first event.
    first = max((at for at, time_us in enumerate(times) if time_us == times[0]), default=0)
    times, rows = times[first:], [by_part(row, places) for row in sizes[first:]]
    if not rows:
        return {}
    peak = max(rows, key=sum)
    kept = thinned([sum(row) for row in rows], POINTS)
    curve = {f"{name}_mb": [round(rows[at][place], 4) for at in kept] for place, name in enumerate(NAMES)}
    return {
        **{f"{name}_memory_mb": size for name, size in zip(NAMES, peak)},
        "memory_timeline": {"time_ms": [(times[at] - times[0]) / 1e3 for at in kept], **curve},
    }


def by_part(row: list[int], places: dict[str, int]) -> list[float]:
    """Returns the megabytes of each of `NAMES` in a row of the profiler."""
    own = [row[places[category]] / 1e6 for category in PARTS]
    return [*own, sum(row) / 1e6 - sum(own)]


def thinned(held: list[float], most: int) -> list[int]:
    """Returns at most `most` indices of `held` to keep: both ends, and the minimum and maximum of each section."""
    if len(held) <= most:
        return list(range(len(held)))
    # Two indices per section, in addition to both ends.
    size = -(-len(held) // (most // 2 - 1))
    kept = {0, len(held) - 1}
    for begin in range(0, len(held), size):
        stretch = range(begin, min(begin + size, len(held)))
        kept |= {min(stretch, key=held.__getitem__), max(stretch, key=held.__getitem__)}
    return sorted(kept)
