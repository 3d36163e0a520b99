"""Attention: operation counts, result fields, and verification against a double-precision reference."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .core import Case, room, within

# Allowed relative errors of gradients. In 16-bit types gradients accumulate more rounding than outputs.
TOLERANCE_OF_GRADIENTS = {"f32": 1e-4, "f16": 2e-2, "bf16": 1e-1}
# Largest number of scores for which every head is verified; beyond it, only the first and last group of heads.
SCORES_COMPARED = 2**26
# Number of query positions whose scores the reference computes at a time, to limit memory.
CHUNK = 1024


def fields(case: Case, time_ns: float, backward: bool = False) -> dict[str, Any]:
    """Returns the fields that every attention workload reports.

    Args:
        case: the case.
        time_ns: nanoseconds per iteration.
        backward: whether the backward pass was timed.
    """
    batch, heads, length, head = (case.count(name) for name in ("batch_size", "num_heads", "sequence_length", "head_dim"))
    causal = case.text("causal") == "yes"
    return {
        "batch_size": batch,
        "num_heads": heads,
        "sequence_length": length,
        "head_dim": head,
        "causal": causal,
        "tflops": operations(batch * heads, length, head, causal, backward) / time_ns / 1e3,
        "tokens_per_second": batch * length * 1e9 / time_ns,
    }


def operations(heads: int, length: int, head: int, causal: bool = False, backward: bool = False) -> float:
    """Returns the number of floating-point operations: two matrix products forward, five backward.

    A causal mask halves them.
    """
    return 4 * heads * length**2 * head * (2.5 if backward else 1) * (0.5 if causal else 1)


def verified(case: Case, torch: Any, inputs: Any, out: Any, ahead: Any = None, causal: bool | None = None) -> float:
    """Verifies the output against double precision, and with `ahead` also the gradients.

    Args:
        case: the case; its `accuracy_limit` is updated.
        torch: the module `torch`.
        inputs: q, k and v.
        out: the output to verify.
        ahead: gradient of the output, if gradients are verified too.
        causal: whether the mask is causal; by default that of the case.

    Returns:
        The largest relative error.

    Raises:
        Failure: if an error exceeds the tolerance.
    """
    causal = case.text("causal") == "yes" if causal is None else causal
    found: Sequence[Any] = torch.autograd.grad(out, inputs, ahead) if ahead is not None else []
    batch, heads, length, _ = out.shape
    shared = inputs[1].shape[1]
    groups = [(item, group) for item in range(batch) for group in range(shared)]
    if batch * heads * length**2 > SCORES_COMPARED:
        groups = [groups[0], groups[-1]]
    if case.on_cpu:
        room("reference result of attention", 5 * 8.0 * min(CHUNK, length) * length)

    def largest(one: Any) -> float:
        return one.abs().max().item()

    errors = [0.0]
    for item, group in groups:
        mine = slice(group * heads // shared, (group + 1) * heads // shared)
        parts = [inputs[0][item, mine], *(one[item, group : group + 1] for one in inputs[1:])]
        exact, wanted = written_out(torch, parts, None if ahead is None else ahead[item, mine], causal)
        errors.append(within(case, largest(out[item, mine].detach().double() - exact), largest(exact)))
        for part, one in zip(found, wanted):
            part = part[item, mine] if part.shape[1] == heads else part[item, group : group + 1]
            allowed = TOLERANCE_OF_GRADIENTS.get(case.text("dtype"), 1e-4)
            errors.append(within(case, largest(part.double() - one), max(map(largest, wanted)), allowed))
    return max(errors)


def written_out(torch: Any, parts: Any, ahead: Any, causal: bool) -> tuple[Any, list[Any]]:
    """Computes attention in double precision, `CHUNK` positions at a time to limit memory.

    Args:
        torch: the module `torch`.
        parts: queries, keys and values (heads, positions, head), with a single head of keys and values.
        ahead: gradient of the output, or None.
        causal: whether the mask is causal.

    Returns:
        The output, and the gradients of `parts` (empty if `ahead` is None).
    """
    q, k, v = (one.detach().double().requires_grad_(ahead is not None) for one in parts)
    length, outputs = q.shape[1], list[Any]()
    for first in range(0, length, CHUNK):
        rows = q[:, first : first + CHUNK]
        scores = rows @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        if causal:
            unseen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(first + 1)
            scores = scores.masked_fill(unseen, float("-inf"))
        result = scores.softmax(-1) @ v
        if ahead is not None:
            result.backward(ahead[:, first : first + CHUNK].double())
        outputs.append(result.detach())
    return torch.cat(outputs, 1), ([one.grad for one in (q, k, v)] if ahead is not None else [])
