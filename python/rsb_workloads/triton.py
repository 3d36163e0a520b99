"""Triton: compilation for GPUs that need not be here, and operations against PyTorch's own."""
from __future__ import annotations

import importlib
import os
import re
import subprocess
import tempfile

from .core import Case, Failure, Skip, Work, fastest, milliseconds, package, random, torch_device, torch_dtype, verified

SEED = 20_231
# Lanes of a wave or warp.
WARP = {"gfx90a": 64, "gfx942": 64, "gfx1100": 32, "gfx1201": 32}
KERNELS = {
    # Pointers and counts with their types, then what is known when compiling.
    "vector-add": ("vector_add", {"x": "*T", "y": "*T", "out": "*T", "count": "i32"}, {"BLOCK": 1024}),
    "softmax": ("softmax", {"x": "*T", "out": "*T", "width": "i32"}, {"BLOCK": 1024}),
    "layer-norm": ("layer_norm", {"x": "*T", "scale": "*T", "shift": "*T", "out": "*T", "width": "i32"}, {"BLOCK": 1024}),
    "matmul": ("matmul", {"a": "*T", "b": "*T", "out": "*T", "m": "i32", "n": "i32", "k": "i32"}, {"BLOCK": 64}),
    "attention": (
        "attention",
        {"q": "*T", "k": "*T", "v": "*T", "out": "*T", "length": "i32", "scale": "fp32"},
        {"HEAD": 64, "BLOCK": 64},
    ),
}
TYPES = {"f32": "fp32", "f16": "fp16", "bf16": "bf16"}


def check(case: Case):
    """Whether Triton is here. Its interpreter takes the place of a GPU where there is none."""
    if case.workload == "operation" and case.on_cpu:
        os.environ["TRITON_INTERPRET"] = "1"
    package("triton")


def version() -> str:
    """Triton's."""
    return package("triton").__version__


def _kernels():
    package("triton")
    return importlib.import_module(".triton_kernels", __package__)


def compile(case: Case) -> Work:
    """From a kernel's source to a program of the GPU named, with empty caches."""
    triton = package("triton")
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    name, kinds, constants = KERNELS[case.text("kernel")]
    target = case.text("target")
    if case.text("dtype") not in TYPES:
        raise Skip(f"type {case.text('dtype')}", "these kernels have none of it", "choose f32, f16 or bf16")
    kinds = {argument: kind.replace("T", TYPES[case.text("dtype")]) for argument, kind in kinds.items()}
    signature = kinds | {constant: "constexpr" for constant in constants}
    function = getattr(_kernels(), name)
    goal = GPUTarget("cuda", int(target[3:]), 32) if target.startswith("sm_") else GPUTarget("hip", target, WARP[target])
    options = {"num_warps": case.count("num_warps"), "num_stages": case.count("num_stages")}
    held = {}

    def before():
        if "directory" in held:
            held["directory"].cleanup()
        held["directory"] = tempfile.TemporaryDirectory(prefix="rsb-triton-")
        os.environ["TRITON_CACHE_DIR"] = held["directory"].name

    def run():
        source = ASTSource(function, signature, constexprs=constants)
        held["made"] = triton.compile(source, target=goal, options=options)

    before()
    run()
    counts = _counts(held["made"], target)

    def fields(time_ns):
        held["directory"].cleanup()
        # How full that leaves the GPU is counted on the other side, which knows the architectures.
        return options | counts | {
            "dtype": case.text("dtype"),
            "gfx_target": target,
            "operation": case.text("kernel"),
            "compile_time_ms": milliseconds(time_ns),
            "shared_mem_bytes": held["made"].metadata.shared,
        }

    return Work(run, fields, before, device_type="cpu")


def _counts(made, target: str) -> dict:
    """Registers and spills, from what the compiler left, which must be a program of the target."""
    binary = made.asm.get("cubin" if target.startswith("sm_") else "hsaco") or b""
    if not binary.startswith(b"\x7fELF"):
        raise Failure(f"Triton for {target}", "it made no program of the GPU", "report it to Triton with this kernel")
    size = {"code_object_bytes": len(binary)}
    if target.startswith("sm_"):
        return size | _by_ptxas(made.asm["ptx"])
    text = made.asm["amdgcn"]
    numbers = {name: re.search(rf"\.{name}:\s+(\d+)", text) for name in ("vgpr_count", "vgpr_spill_count")}
    known = {"vgpr_count": "registers", "vgpr_spill_count": "spills"}
    return size | {known[name]: int(found.group(1)) for name, found in numbers.items() if found}


def _by_ptxas(ptx: str) -> dict:
    """What NVIDIA's assembler, which comes with Triton, says of its registers: the one of two that knows this PTX."""
    directory = os.path.join(os.path.dirname(package("triton").__file__), "backends", "nvidia", "bin")
    for name in ("ptxas-blackwell", "ptxas"):
        said = _assembled(os.path.join(directory, name), ptx)
        if said is not None:
            registers, spills = re.search(r"Used (\d+) registers", said), re.search(r"(\d+) bytes spill stores", said)
            found = {"registers": int(registers.group(1))} if registers else {}
            return found | ({"spills": int(spills.group(1)) // 4} if spills else {})
    return {}  # Unknown, not zero.


def _assembled(program: str, ptx: str) -> str | None:
    """What the assembler says of `ptx`; nothing where it does not take it."""
    with tempfile.TemporaryDirectory(prefix="rsb-ptxas-") as directory:
        source = os.path.join(directory, "kernel.ptx")
        with open(source, "w", encoding="utf-8") as file:
            file.write(ptx)
        chip = re.search(r"\.target\s+(\w+)", ptx).group(1)
        command = [program, "-v", f"--gpu-name={chip}", source, "-o", os.path.join(directory, "kernel.cubin")]
        try:
            return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stderr
        except (OSError, subprocess.SubprocessError):
            return None


def operation(case: Case) -> Work:
    """A kernel against PyTorch's own. On a CPU the interpreter checks it, and is never timed."""
    torch, device = torch_device(case)
    dtype = torch_dtype(case, torch)
    torch.manual_seed(SEED)
    run, standard, exact = OPERATIONS[case.text("kernel")](case, torch, device, dtype)
    error = verified(case, run(), exact)
    if case.on_cpu:
        raise Skip(
            f"Triton's {case.text('kernel')}",
            f"the interpreter computes it rightly (error {error:.2g}), and its time says nothing of a GPU",
            "measure it on a GPU: --backend rocm or cuda",
        )

    def fields(time_ns):
        other = Work(standard, lambda _: {}, None, device)
        return {
            "operation": case.text("kernel"),
            "dtype": case.text("dtype"),
            "comparison_to_pytorch": fastest(other, 20) / time_ns,
            "accuracy_error": error,
        }

    return Work(run, fields, None, device)


def _double(*tensors):
    return [one.double().cpu() for one in tensors]


def _small(case: Case, on_gpu: int, interpreted: int) -> int:
    """The interpreter takes milliseconds for each block."""
    return interpreted if case.on_cpu else on_gpu


def _vector_add(case, torch, device, dtype):
    count = _small(case, 1 << 24, 5_000)
    x, y = (random(torch, device, dtype, count) for _ in range(2))
    out, kernel = torch.empty_like(x), _kernels().vector_add

    def run():
        kernel[(-(-count // 1024),)](x, y, out, count, BLOCK=1024)
        return out

    left, right = _double(x, y)
    return run, lambda: torch.add(x, y, out=out), left + right


def _softmax(case, torch, device, dtype):
    rows, width = _small(case, 4096, 4), 1000
    x = random(torch, device, dtype, rows, width)
    out, kernel = torch.empty_like(x), _kernels().softmax

    def run():
        kernel[(rows,)](x, out, width, BLOCK=1024)
        return out

    return run, lambda: torch.softmax(x, -1), _double(x)[0].softmax(-1)


def _layer_norm(case, torch, device, dtype):
    rows, width = _small(case, 4096, 4), 1000
    x, scale, shift = random(torch, device, dtype, rows, width), *(random(torch, device, dtype, width) for _ in range(2))
    out, kernel = torch.empty_like(x), _kernels().layer_norm

    def run():
        kernel[(rows,)](x, scale, shift, out, width, BLOCK=1024)
        return out

    norm = torch.nn.functional.layer_norm
    exact_x, exact_scale, exact_shift = _double(x, scale, shift)
    return run, lambda: norm(x, (width,), scale, shift), norm(exact_x, (width,), exact_scale, exact_shift)


def _matmul(case, torch, device, dtype):
    size = _small(case, 2048, 96)
    a, b = (random(torch, device, dtype, size, size) for _ in range(2))
    out, kernel = torch.empty_like(a), _kernels().matmul
    block = 64 if not case.on_cpu else 32

    def run():
        blocks = -(-size // block)
        kernel[(blocks, blocks)](a, b, out, size, size, size, BLOCK=block)
        return out

    left, right = _double(a, b)
    return run, lambda: torch.matmul(a, b, out=out), left @ right


def _attention(case, torch, device, dtype):
    heads, length, head = _small(case, 16, 2), _small(case, 2048, 48), 64
    q, k, v = (random(torch, device, dtype, 1, heads, length, head) for _ in range(3))
    out, kernel = torch.empty_like(q), _kernels().attention
    block = 64 if not case.on_cpu else 16

    def run():
        kernel[(-(-length // block), heads)](q, k, v, out, length, head**-0.5, HEAD=head, BLOCK=block)
        return out

    from .pytorch import exact_attention

    standard = torch.nn.functional.scaled_dot_product_attention
    return run, lambda: standard(q, k, v), exact_attention(torch, q, k, v, False)


OPERATIONS = {
    "vector-add": _vector_add,
    "softmax": _softmax,
    "layer-norm": _layer_norm,
    "matmul": _matmul,
    "attention": _attention,
}
