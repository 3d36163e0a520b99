"""Kernels in Triton, written for these benchmarks. Compiled on a GPU, interpreted on a CPU."""

import triton
import triton.language as tl


@triton.jit
def vector_add(x, y, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def softmax(x, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < width
    values = tl.load(x + row * width + at, mask=inside, other=-float("inf")).to(tl.float32)
    powers = tl.exp(values - tl.max(values, axis=0))
    result = powers / tl.sum(powers, axis=0)
    tl.store(out + row * width + at, result.to(out.dtype.element_ty), mask=inside)


@triton.jit
def layer_norm(x, scale, shift, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
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
def matmul(a, b, out, m, n, k, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for first in range(0, k, BLOCK):
        steps = first + tl.arange(0, BLOCK)
        left = tl.load(a + rows[:, None] * k + steps[None, :], mask=(rows[:, None] < m) & (steps[None, :] < k), other=0.0)
        right = tl.load(b + steps[:, None] * n + columns[None, :], mask=(steps[:, None] < k) & (columns[None, :] < n), other=0.0)
        total += tl.dot(left, right)
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(out + rows[:, None] * n + columns[None, :], total.to(out.dtype.element_ty), mask=inside)


@triton.jit
def attention(q, k, v, out, length, scale, HEAD: tl.constexpr, BLOCK: tl.constexpr):
    head = tl.program_id(1)
    first = head * length * HEAD
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    lanes = tl.arange(0, HEAD)
    seen = rows[:, None] < length
    queries = tl.load(q + first + rows[:, None] * HEAD + lanes[None, :], mask=seen, other=0.0)
    largest = tl.full((BLOCK,), -float("inf"), dtype=tl.float32)
    weights = tl.zeros((BLOCK,), dtype=tl.float32)
    total = tl.zeros((BLOCK, HEAD), dtype=tl.float32)
    for start in range(0, length, BLOCK):
        at = start + tl.arange(0, BLOCK)
        there = at[:, None] < length
        keys = tl.load(k + first + at[:, None] * HEAD + lanes[None, :], mask=there, other=0.0)
        values = tl.load(v + first + at[:, None] * HEAD + lanes[None, :], mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys)) * scale
        scores = tl.where(at[None, :] < length, scores, -float("inf"))
        now = tl.maximum(largest, tl.max(scores, axis=1))
        powers = tl.exp(scores - now[:, None])
        fading = tl.exp(largest - now)
        weights = weights * fading + tl.sum(powers, axis=1)
        total = total * fading[:, None] + tl.dot(powers.to(values.dtype), values)
        largest = now
    result = (total / weights[:, None]).to(out.dtype.element_ty)
    tl.store(out + first + rows[:, None] * HEAD + lanes[None, :], result, mask=seen)
