"""Attention of any kernel: its operations, and what is right, written out in double precision."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .core import Case, room, within

# Gradients of 16-bit types add up more roundings than outputs.
TOLERANCE_OF_GRADIENTS = {"f32": 1e-4, "f16": 2e-2, "bf16": 1e-1}
# Scores up to which every head is compared with the reference; beyond, the first and the last.
SCORES_COMPARED = 2**26
# Positions whose scores the reference holds at once.
CHUNK = 1024


def fields(case: Case, time_ns: float, backward: bool = False) -> dict[str, Any]:
    """What any attention says of itself."""
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
    """Two products forward, five backward; a causal mask leaves half of each."""
    return 4 * heads * length**2 * head * (2.5 if backward else 1) * (0.5 if causal else 1)


def verified(case: Case, torch: Any, inputs: Any, out: Any, ahead: Any = None, causal: bool | None = None) -> float:
    """Output, and gradients for the one `ahead`, against attention written out in double precision on the case's device."""
    causal = case.text("causal") == "yes" if causal is None else causal
    found: Sequence[Any] = torch.autograd.grad(out, inputs, ahead) if ahead is not None else []
    batch, heads, length, _ = out.shape
    shared = inputs[1].shape[1]
    groups = [(item, group) for item in range(batch) for group in range(shared)]
    if batch * heads * length**2 > SCORES_COMPARED:
        groups = [groups[0], groups[-1]]
    if case.on_cpu:
        room("the reference of attention", 5 * 8.0 * min(CHUNK, length) * length)

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
    """The output of some heads of queries on one of keys and values (heads, positions, head), and its gradients, in double
    precision. Some positions at a time, as all scores of a long sequence would not fit."""
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
