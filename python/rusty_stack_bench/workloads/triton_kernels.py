"""Triton kernels of these benchmarks, compiled for a GPU or interpreted on a CPU."""
# Triton evaluates the annotations of kernels, so no parameter has one except `constexpr`.
# pyright: reportMissingParameterType=false, reportUnknownParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

from collections.abc import Sequence
from typing import Any

import triton
import triton.language as tl


@triton.jit
def vector_add(x, y, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def softmax(x, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < width
    values = tl.load(x + row * width + at, mask=inside, other=-float("inf")).to(tl.float32)
    powers = tl.exp(values - tl.max(values, axis=0))
    result = powers / tl.sum(powers, axis=0)
    tl.store(out + row * width + at, result.to(out.dtype.element_ty), mask=inside)


@triton.jit
def layer_norm(x, scale, shift, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < width
    values = tl.load(x + row * width + at, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(values, axis=0) / width
    apart = tl.where(inside, values - mean, 0.0)
    spread = tl.sum(apart * apart, axis=0) / width
    factor = tl.load(scale + at, mask=inside, other=0.0).to(tl.float32)
    term = tl.load(shift + at, mask=inside, other=0.0).to(tl.float32)
    result = apart / tl.sqrt(spread + 1e-5) * factor + term
    tl.store(out + row * width + at, result.to(out.dtype.element_ty), mask=inside)


@triton.jit
def matmul(
    a,
    b,
    out,
    m,
    n,
    k,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP: tl.constexpr,
    PRECISION: tl.constexpr,
):
    # a is m x k, b is n x k (the weights of a layer, transposed). Blocks are numbered so that GROUP
    # rows of blocks share columns of b while these are in the cache.
    across = tl.cdiv(n, BLOCK_N)
    number = tl.program_id(0)
    first = number // (GROUP * across) * GROUP
    rows_here = min(tl.cdiv(m, BLOCK_M) - first, GROUP)
    rows = (first + number % (GROUP * across) % rows_here) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = number % (GROUP * across) // rows_here * BLOCK_N + tl.arange(0, BLOCK_N)
    steps = tl.arange(0, BLOCK_K)
    # Beyond the edge of a matrix, its first rows are read again; the results for them
    # are not stored.
    left = a + (rows % m).to(tl.int64)[:, None] * k + steps[None, :]
    right = b + (columns % n).to(tl.int64)[None, :] * k + steps[:, None]
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for done in range(0, k, BLOCK_K):
        there = steps < k - done
        of_a = tl.load(left, mask=there[None, :], other=0.0)
        of_b = tl.load(right, mask=there[:, None], other=0.0)
        total = tl.dot(of_a, of_b, total, input_precision=PRECISION)
        left += BLOCK_K
        right += BLOCK_K
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(out + rows.to(tl.int64)[:, None] * n + columns[None, :], total.to(out.dtype.element_ty), mask=inside)


@triton.jit
def attention(
    q,
    k,
    v,
    out,
    length,
    scale,
    HEAD: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    PRECISION: tl.constexpr,
):
    first = tl.program_id(1).to(tl.int64) * length * HEAD
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    lanes = tl.arange(0, HEAD)
    seen = rows[:, None] < length
    queries = tl.load(q + first + rows[:, None] * HEAD + lanes[None, :], mask=seen, other=0.0)
    largest = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    weights = tl.zeros((BLOCK_M,), dtype=tl.float32)
    total = tl.zeros((BLOCK_M, HEAD), dtype=tl.float32)
    # The hardware computes powers of two, so scores are scaled for exp2.
    by_two = scale * 1.4426950408889634
    for start in range(0, length, BLOCK_N):
        at = start + tl.arange(0, BLOCK_N)
        there = at[:, None] < length
        keys = tl.load(k + first + at[:, None] * HEAD + lanes[None, :], mask=there, other=0.0)
        values = tl.load(v + first + at[:, None] * HEAD + lanes[None, :], mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision=PRECISION) * by_two
        scores = tl.where(at[None, :] < length, scores, -float("inf"))
        now = tl.maximum(largest, tl.max(scores, axis=1))
        powers = tl.exp2(scores - now[:, None])
        fading = tl.exp2(largest - now)
        weights = weights * fading + tl.sum(powers, axis=1)
        total = total * fading[:, None]
        total = tl.dot(powers.to(values.dtype), values, total, input_precision=PRECISION)
        largest = now
    result = (total / weights[:, None]).to(out.dtype.element_ty)
    tl.store(out + first + rows[:, None] * HEAD + lanes[None, :], result, mask=seen)


def _tuned(kernel: Any, key: list[str], blocks: Sequence[tuple[dict[str, int], int, int]]) -> Any:
    """Returns the kernel with autotuning over block sizes, warps and stages."""
    configurations = [triton.Config(sizes, num_warps=warps, num_stages=stages) for sizes, warps, stages in blocks]
    return triton.autotune(configurations, key)(kernel)


def _sizes(m: int, n: int, k: int) -> dict[str, int]:
    return {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP": 8}


def tuned_matmul() -> Any:
    """Creates the autotuned matrix product, on demand because the tuner needs a GPU."""
    blocks = [
        (_sizes(m, n, k), warps, stages)
        for m, n, k, warps in ((128, 256, 64, 8), (256, 128, 64, 8), (128, 128, 64, 4), (128, 128, 32, 4), (64, 128, 64, 4))
        for stages in (2, 3, 4)
    ]
    return _tuned(matmul, ["m", "n", "k", "PRECISION"], blocks)


def tuned_attention() -> Any:
    """Creates the autotuned attention kernel, like `tuned_matmul`."""
    blocks = [
        ({"BLOCK_M": m, "BLOCK_N": n}, warps, stages)
        for m, n, warps in ((128, 64, 4), (128, 128, 8), (128, 64, 8), (64, 64, 4), (128, 32, 4))
        for stages in (2, 3)
    ]
    return _tuned(attention, ["length", "HEAD", "PRECISION"], blocks)
