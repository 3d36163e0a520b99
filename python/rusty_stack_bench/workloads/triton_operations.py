"""Operations of the Triton kernels: inputs, PyTorch's equivalent, and verification."""
from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Callable

from . import attention as dot_product
from . import triton_kernels as kernels
from .core import Case, Skip, differences, random, torch_dtype, within

# fp8 means e4m3, with three mantissa bits; sums are in f32.
TOLERANCES = {"fp8": 2e-2}
ROWS = 4096
HEADS = 16
# Maximum number of multiply-adds for which all rows are verified; of larger products, 16 rows are.
PRODUCTS_COMPARED = 2**24


@dataclass
class Operation:
    """A kernel with its inputs."""

    # Launches the kernel once and returns its result.
    run: Callable[[], Any]
    # PyTorch's equivalent of the kernel, which torch.compile accepts, and its arguments.
    standard: Callable[..., Any]
    inputs: tuple[Any, ...]
    # Returns the relative error of a result.
    error: Callable[[Any], float]
    # Floating-point operations and bytes per launch.
    operations: float
    moved: int
    # Fields that describe the shape.
    shape: dict[str, Any]
    # Returns the configuration that the tuner chose, once it has run.
    chosen: Callable[[], str | None] = lambda: None


def made(case: Case, torch: Any, device: Any) -> Operation:
    """Returns the operation of the case."""
    return OPERATIONS[case.text("kernel")](case, torch, device)


def is_interpreted(case: Case) -> bool:
    """Returns whether kernels run in the interpreter, because the installed Triton does not compile for CPUs."""
    return case.on_cpu and os.environ.get("TRITON_INTERPRET") == "1"


def _power(width: int) -> int:
    return 1 << (width - 1).bit_length()


def _size(case: Case, interpreted: int) -> int:
    """Returns the size of the case, or a small size for the interpreter, which takes milliseconds per block."""
    return interpreted if is_interpreted(case) else case.count("size")


def _compared(case: Case, result: Any, reference: Any) -> float:
    return within(case, *differences(result, reference), TOLERANCES.get(case.text("dtype")))


def _in_double(*tensors: Any) -> list[Any]:
    return [one.double() for one in tensors]


def _vector_add(case: Case, torch: Any, device: Any) -> Operation:
    count, dtype = _size(case, 70) ** 2, torch_dtype(case, torch)
    x, y = (random(torch, device, dtype, count) for _ in range(2))
    out = torch.empty_like(x)

    def run() -> Any:
        kernels.vector_add[(-(-count // 1024),)](x, y, out, count, BLOCK=1024)
        return out

    def error(result: Any) -> float:
        left, right = _in_double(x, y)
        return _compared(case, result, left + right)

    return Operation(run, torch.add, (x, y), error, count, 3 * count * x.element_size(), {"input_shape": str(count)})


def _by_rows(case: Case, torch: Any, device: Any, kernel: Any, standard: Callable[..., Any], weights: int) -> Operation:
    rows, width, dtype = 4 if is_interpreted(case) else ROWS, _size(case, 1000), torch_dtype(case, torch)
    inputs = (random(torch, device, dtype, rows, width), *(random(torch, device, dtype, width) for _ in range(weights)))
    out, block = torch.empty_like(inputs[0]), _power(width)
    warps = min(max(block // 512, 4), 16)

    def run() -> Any:
        kernel[(rows,)](*inputs, out, width, BLOCK=block, num_warps=warps)
        return out

    moved = 2 * rows * width * out.element_size()

    def error(result: Any) -> float:
        return _compared(case, result, standard(*_in_double(*inputs)))

    return Operation(run, standard, inputs, error, 0.0, moved, {"input_shape": f"{rows}x{width}"})


def _softmax(case: Case, torch: Any, device: Any) -> Operation:
    def standard(x: Any) -> Any:
        return torch.softmax(x, -1)

    return _by_rows(case, torch, device, kernels.softmax, standard, 0)


def _layer_norm(case: Case, torch: Any, device: Any) -> Operation:
    def standard(x: Any, scale: Any, shift: Any) -> Any:
        return torch.nn.functional.layer_norm(x, x.shape[-1:], scale, shift)

    return _by_rows(case, torch, device, kernels.layer_norm, standard, 2)


def _fp8(torch: Any, device: Any) -> Any:
    """Returns the 8-bit type that the GPU can multiply; the type of gfx942 has no negative zero."""
    if torch.version.hip and "gfx94" in torch.cuda.get_device_properties(device).gcnArchName:
        return torch.float8_e4m3fnuz
    return torch.float8_e4m3fn


def _product_dtypes(case: Case, torch: Any, device: Any) -> tuple[Any, Any]:
    """Returns the types of the operands and of the result."""
    cure = "measure it on a GPU: --backend rocm or cuda"
    if case.on_cpu and case.text("dtype") == "fp8":
        raise Skip("type fp8", "PyTorch and Triton multiply it only on GPUs", cure)
    if is_interpreted(case) and case.text("dtype") == "bf16":
        raise Skip("type bf16", "Triton's interpreter multiplies this type incorrectly", cure)
    if case.text("dtype") != "fp8" or case.text("kernel") != "matmul":
        dtype = torch_dtype(case, torch)
        return dtype, dtype
    return _fp8(torch, device), torch.bfloat16


def _precision(case: Case) -> str:
    """Returns the precision for products: f32 is not reduced; tf32 is rounded as in PyTorch."""
    return "tf32" if case.text("dtype") == "tf32" else "ieee"


def _matmul(case: Case, torch: Any, device: Any) -> Operation:
    size = _size(case, 96)
    dtype, result_dtype = _product_dtypes(case, torch, device)
    a, b = (random(torch, device, dtype, size, size) for _ in range(2))
    out = torch.empty(size, size, dtype=result_dtype, device=device)
    fixed = {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32, "GROUP": 2}
    kernel, more = (kernels.matmul, fixed) if case.on_cpu else (kernels.tuned_matmul(), {})

    def blocks(meta: Mapping[str, int]) -> tuple[int, ...]:
        return (-(-size // meta["BLOCK_M"]) * -(-size // meta["BLOCK_N"]),)

    def run() -> Any:
        kernel[blocks](a, b, out, size, size, size, PRECISION=_precision(case), **more)
        return out

    def error(result: Any) -> float:
        every = size**3 <= PRODUCTS_COMPARED
        rows = torch.linspace(0, size - 1, size if every else 16, device=device).long()
        left, right = _in_double(a, b)
        return _compared(case, result[rows], left[rows] @ right.t())

    moved = 2 * size**2 * a.element_size() + out.numel() * out.element_size()
    shape = {"m": size, "n": size, "k": size, "input_shape": f"{size}x{size}"}
    standard = _scaled(torch, device) if case.text("dtype") == "fp8" else _by_transposed
    return Operation(run, standard, (a, b), error, 2.0 * size**3, moved, shape, _choice(kernel))


def _by_transposed(a: Any, b: Any) -> Any:
    return a @ b.t()


def _scaled(torch: Any, device: Any) -> Callable[..., Any]:
    """Returns PyTorch's product of 8-bit types."""
    one = torch.ones((), device=device)

    def standard(a: Any, b: Any) -> Any:
        return torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)

    return standard


def _attention(case: Case, torch: Any, device: Any) -> Operation:
    dtype, _ = _product_dtypes(case, torch, device)
    heads, head = (2, 64) if is_interpreted(case) else (HEADS, 128)
    length = _size(case, 48)
    q, k, v = (random(torch, device, dtype, 1, heads, length, head) for _ in range(3))
    out = torch.empty_like(q)
    kernel, more = (kernels.attention, {"BLOCK_M": 16, "BLOCK_N": 16}) if case.on_cpu else (kernels.tuned_attention(), {})

    def blocks(meta: Mapping[str, int]) -> tuple[int, ...]:
        return (-(-length // meta["BLOCK_M"]), heads)

    def run() -> Any:
        kernel[blocks](q, k, v, out, length, head**-0.5, HEAD=head, PRECISION=_precision(case), **more)
        return out

    def error(result: Any) -> float:
        return dot_product.verified(case, torch, (q, k, v), result, None, False)

    shape = {"input_shape": f"1x{heads}x{length}x{head}", "num_heads": heads, "sequence_length": length, "head_dim": head}
    standard = torch.nn.functional.scaled_dot_product_attention
    operations, moved = dot_product.operations(heads, length, head), 4 * q.numel() * q.element_size()
    return Operation(run, standard, (q, k, v), error, operations, moved, shape, _choice(kernel))


def _choice(kernel: Any) -> Callable[[], str | None]:
    return lambda: str(kernel.best_config) if hasattr(kernel, "best_config") else None


OPERATIONS = {
    "vector-add": _vector_add,
    "softmax": _softmax,
    "layer-norm": _layer_norm,
    "matmul": _matmul,
    "attention": _attention,
}
