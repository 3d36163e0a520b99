"""Triton: compilation for GPUs that need not be present, and kernels compared with PyTorch's own."""
from __future__ import annotations

import importlib
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, Any

from .core import Case, Failure, Skip, Work, milliseconds, package, side_by_side, torch_device, without_gradients

if TYPE_CHECKING:  # Importing it requires Triton.
    from .triton_operations import Operation

SEED = 20_231
# Number of lanes of a wavefront, by architecture.
WARP = {"gfx90a": 64, "gfx942": 64, "gfx950": 64, "gfx1030": 32, "gfx1100": 32, "gfx1200": 32, "gfx1201": 32}
# Architectures that only some versions of Triton support; other versions fail without
# giving a reason.
OF_SOME_VERSIONS = {"gfx1030"}
KERNELS = {
    # Kernel function, types of its pointers and counts, and its compile-time constants.
    "vector-add": ("vector_add", {"x": "*T", "y": "*T", "out": "*T", "count": "i32"}, {"BLOCK": 1024}),
    "softmax": ("softmax", {"x": "*T", "out": "*T", "width": "i32"}, {"BLOCK": 1024}),
    "layer-norm": ("layer_norm", {"x": "*T", "scale": "*T", "shift": "*T", "out": "*T", "width": "i32"}, {"BLOCK": 1024}),
    "matmul": (
        "matmul",
        {"a": "*T", "b": "*T", "out": "*T", "m": "i32", "n": "i32", "k": "i32"},
        {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64, "GROUP": 8, "PRECISION": "ieee"},
    ),
    "attention": (
        "attention",
        {"q": "*T", "k": "*T", "v": "*T", "out": "*T", "length": "i32", "scale": "fp32"},
        {"HEAD": 64, "BLOCK_M": 64, "BLOCK_N": 64, "PRECISION": "ieee"},
    ),
}
TYPES = {"f32": "fp32", "f16": "fp16", "bf16": "bf16"}


def check(case: Case) -> None:
    """Checks that Triton is installed. On a CPU, triton-cpu compiles kernels; other versions run them in the interpreter."""
    if case.workload == "operation" and case.on_cpu:
        os.environ["TRITON_CPU_BACKEND" if _compiles_for_cpus() else "TRITON_INTERPRET"] = "1"
    package("triton")


def _compiles_for_cpus() -> bool:
    """Returns whether the installed Triton is triton-cpu, without importing it: the interpreter is selected before the import."""
    found = importlib.util.find_spec("triton")
    roots = found.submodule_search_locations if found is not None else None
    return any(os.path.isdir(os.path.join(root, "backends", "cpu")) for root in roots or ())


def version() -> str:
    """Returns the version of Triton."""
    return package("triton").__version__


def _kernels() -> Any:
    package("triton")
    return importlib.import_module(".triton_kernels", __package__)


def compilation(case: Case) -> Work:
    """Prepares compilation of a kernel for the named GPU, with empty caches or with Triton's disk cache."""
    triton = package("triton")
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    name, kinds, constants = KERNELS[case.text("kernel")]
    target = case.text("target")
    if case.text("dtype") not in TYPES:
        raise Skip(f"type {case.text('dtype')}", "these kernels do not support it", "choose f32, f16 or bf16")
    kinds = {argument: kind.replace("T", TYPES[case.text("dtype")]) for argument, kind in kinds.items()}
    signature = kinds | {constant: "constexpr" for constant in constants}
    function = getattr(_kernels(), name)
    goal = GPUTarget("cuda", int(target[3:]), 32) if target.startswith("sm_") else GPUTarget("hip", target, WARP[target])
    options = {"num_warps": case.count("num_warps"), "num_stages": case.count("num_stages")}
    cold = case.text("compilation") == "cold"
    held: dict[str, Any] = {}

    def before() -> None:
        if "directory" in held:
            held["directory"].cleanup()
        held["directory"] = tempfile.TemporaryDirectory(prefix="rsb-triton-")
        os.environ["TRITON_CACHE_DIR"] = held["directory"].name

    def run() -> None:
        source = ASTSource(function, signature, constexprs=constants)
        held["made"] = triton.compile(source, target=goal, options=options)

    before()
    try:
        run()
    except RuntimeError as error:
        if target in OF_SOME_VERSIONS:
            why = f"Triton {version()} does not compile for it ({error})"
            raise Skip(f"target {target}", why, "choose another target, or install a version of Triton that supports it") from error
        raise
    counts = _counts(held["made"], target)

    def fields(time_ns: float) -> dict[str, Any]:
        held["directory"].cleanup()
        # The occupancy is computed by the program, which has the limits of each architecture.
        return options | counts | {
            "dtype": case.text("dtype"),
            "gfx_target": target,
            "operation": case.text("kernel"),
            "compilation": case.text("compilation"),
            "compile_time_ms": milliseconds(time_ns),
            "shared_mem_bytes": held["made"].metadata.shared,
        }

    return Work(run, fields, before if cold else None, device_type="cpu")


def _counts(made: Any, target: str) -> dict[str, Any]:
    """Returns code size, registers and spills from the compiler's output.

    Raises:
        Failure: if the output is not a program for the target.
    """
    binary = made.asm.get("cubin" if target.startswith("sm_") else "hsaco") or b""
    if not binary.startswith(b"\x7fELF"):
        raise Failure(f"Triton for {target}", "the compiler produced no GPU binary", "report it to Triton with this kernel")
    size = {"code_object_bytes": len(binary)}
    if target.startswith("sm_"):
        return size | _by_ptxas(made.asm["ptx"])
    text = made.asm["amdgcn"]
    numbers = {name: re.search(rf"\.{name}:\s+(\d+)", text) for name in ("vgpr_count", "vgpr_spill_count")}
    known = {"vgpr_count": "registers", "vgpr_spill_count": "spills"}
    return size | {known[name]: int(found.group(1)) for name, found in numbers.items() if found}


def _by_ptxas(ptx: str) -> dict[str, Any]:
    """Returns registers and spills from NVIDIA's assembler in Triton.

    Triton contains two assemblers; the first that accepts the PTX is used.
    """
    directory = os.path.join(os.path.dirname(package("triton").__file__), "backends", "nvidia", "bin")
    for name in ("ptxas-blackwell", "ptxas"):
        output = _assembled(os.path.join(directory, name), ptx)
        if output is not None:
            registers, spills = re.search(r"Used (\d+) registers", output), re.search(r"(\d+) bytes spill stores", output)
            found = {"registers": int(registers.group(1))} if registers else {}
            return found | ({"spills": int(spills.group(1)) // 4} if spills else {})
    return {}  # Unknown, not zero.


def _assembled(program: str, ptx: str) -> str | None:
    """Returns the assembler's output for `ptx`; None if it fails."""
    with tempfile.TemporaryDirectory(prefix="rsb-ptxas-") as directory:
        source = os.path.join(directory, "kernel.ptx")
        with open(source, "w", encoding="utf-8") as file:
            file.write(ptx)
        chip = re.search(r"\.target\s+(\w+)", ptx)
        assert chip is not None, "every program in PTX names its target"
        command = [program, "-v", f"--gpu-name={chip.group(1)}", source, "-o", os.path.join(directory, "kernel.cubin")]
        try:
            return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stderr
        except (OSError, subprocess.SubprocessError):
            return None


def operation(case: Case) -> Work:
    """Prepares a kernel to compare with PyTorch's own. Interpreted kernels are only verified.

    Raises:
        Skip: on a CPU without triton-cpu, after verification.
    """
    torch, device = torch_device(case)
    package("triton")
    torch.manual_seed(SEED)
    operations = importlib.import_module(".triton_operations", __package__)
    made = operations.made(case, torch, device)
    error = made.error(made.run())
    if operations.is_interpreted(case):
        raise Skip(
            f"Triton's {case.text('kernel')}",
            f"the interpreter computes it correctly (error {error:.2g}), but its time is not that of a compiled kernel",
            "measure it on a GPU (--backend rocm or cuda), or install triton-cpu, which compiles for CPUs",
        )
    gpu = None if case.on_cpu else device

    def fields(time_ns: float) -> dict[str, Any]:
        return made.shape | _rates(made, time_ns) | _compared(torch, gpu, made, time_ns) | {
            "operation": case.text("kernel"),
            "dtype": case.text("dtype"),
            "output_shape": "x".join(str(size) for size in made.run().shape),
            "kernel_used": made.chosen(),
            "accuracy_error": error,
        }

    return Work(made.run, fields, None, gpu)


def _rates(made: Operation, time_ns: float) -> dict[str, Any]:
    """Returns the bandwidth, and TFLOP/s if the arithmetic intensity is above 16 operations per byte."""
    found = {"throughput_gb_s": made.moved / time_ns, "size_bytes": made.moved}
    return found | ({"tflops": made.operations / time_ns / 1e3} if made.operations > 16 * made.moved else {})


def _compared(torch: Any, gpu: Any, made: Operation, time_ns: float) -> dict[str, Any]:
    """Compares the kernel with PyTorch's own and with torch.compile, in alternating rounds."""
    compiled = torch.compile(made.standard, dynamic=False)
    ways = {"own": made.run, "pytorch": lambda: made.standard(*made.inputs), "compiled": lambda: compiled(*made.inputs)}
    works: dict[str, Work] = {}
    for name, run in ways.items():
        try:
            run()
        except Exception as error:  # PyTorch does not support the type, or its compiler lacks something on this machine.
            print(f"the comparison with `{name}` is omitted: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        works[name] = Work(without_gradients(torch, run), lambda _: {}, None, gpu)
    times = side_by_side(works, time_ns)
    fields = {"comparison_to_pytorch": "pytorch", "comparison_to_compiled": "compiled"}
    return {field: times[name] / times["own"] for field, name in fields.items() if name in times}


WORKLOADS = {"compile": compilation, "operation": operation}
