"""MIGraphX: inference and compile time, through its Python module if installed, else through ONNX Runtime."""
from __future__ import annotations

import math
import re
from typing import Any, Callable

from . import onnxruntime as runtime
from .core import Case, Skip, Work, milliseconds, package
from .onnx_graphs import Graph, graph

# Number of compilations; the reported compile time is their median.
COMPILED = 3
PROVIDER = "MIGraphXExecutionProvider"
# A line of a program's text: operation, and type and sizes of its result.
_LINE = re.compile(r" = ([@\w:]+).* -> (\w+)_type, \{([\d, ]*)\}")
_BYTES = {"double": 8, "int64": 8, "uint64": 8, "float": 4, "int32": 4, "uint32": 4, "half": 2, "bf16": 2, "int16": 2, "uint16": 2}
# Operations that only reinterpret or check an array, and occupy no memory.
_VIEWS = (
    *("broadcast", "multibroadcast", "transpose", "reshape", "reshape_lazy", "squeeze", "unsqueeze", "flatten", "slice", "step"),
    *("scalar", "identity", "load", "as_shape", "check_context", "@return"),
)
# Operations by which a GPU program allocates memory; its kernels write into that memory.
_ALLOCATES = ("@literal", "@param", "hip::hip_copy_literal", "hip::hip_allocate_memory", "hip::allocate", "allocate")


def _own() -> Any:
    """Returns MIGraphX's Python module, or None. It is part of ROCm and not in package registries."""
    try:
        import migraphx

        return migraphx
    except ImportError:
        return None


def check(case: Case) -> None:
    """Checks that MIGraphX is available, as a module or through ONNX Runtime.

    ONNX Runtime silently falls back to the CPU, so its provider is checked.

    Raises:
        Skip: if MIGraphX is not available for the device.
    """
    own = _own()
    if own is not None:
        runtime.needed(case)
        _target(own, case)
        return
    found = package("onnxruntime", "onnxruntime-migraphx")
    runtime.needed(case)
    if PROVIDER not in found.get_available_providers():
        why = f"ONNX Runtime {found.__version__} has no {PROVIDER}, only {', '.join(found.get_available_providers())}"
        raise Skip("MIGraphX", why, "install ROCm and `pip install onnxruntime-migraphx` instead of onnxruntime")
    if not case.device.startswith("rocm:"):
        raise Skip("MIGraphX", f"it only supports AMD GPUs, not {case.device}", "choose --backend rocm")


def version() -> str:
    """Returns the version of MIGraphX's module, or of ONNX Runtime if that is used."""
    own = _own()
    return getattr(own, "__version__", "unknown") if own is not None else package("onnxruntime").__version__


def _target(own: Any, case: Case) -> tuple[str, Any]:
    """Returns the name and the target to compile for: the GPU, or the reference implementation on a CPU."""
    name = "ref" if case.on_cpu else "gpu"
    if not case.on_cpu and not case.device.startswith("rocm:"):
        raise Skip("MIGraphX", f"it only supports AMD GPUs, not {case.device}", "choose --backend rocm")
    try:
        return name, own.get_target(name)
    except RuntimeError as error:
        cure = "choose --backend rocm" if case.on_cpu else "install ROCm's package migraphx with its GPU target"
        raise Skip(f"MIGraphX's target {name}", f"this build does not have it: {str(error).splitlines()[0]}", cure) from error


def inference(case: Case) -> Work:
    """Prepares inference of the graphs of `onnxruntime`, and reports the compile time."""
    own = _own()
    if own is not None:
        return _by_module(case, own)
    ready = runtime.prepared(case, graph(case), "all")

    def fields(time_ns: float) -> dict[str, Any]:
        found = runtime.inference_fields(case, ready, time_ns) | runtime.saved(case, ready)
        return found | {"compile_time_ms": found["compilation_time_ms"]}

    return Work(ready.run, fields)


def compilation(case: Case) -> Work:
    """Prepares the compilation of a graph to a program for the target."""
    own = _own()
    if own is None:
        whole = Case(case.component, case.workload, case.device, case.params | {"graph_optimization": "all"})
        return runtime.compilation(whole, saving=True)
    made = graph(case)
    program = Program(case, own, made)
    error = runtime.right(case, program.outputs(), made.exact)

    def fields(time_ns: float) -> dict[str, Any]:
        times = {name: milliseconds(time_ns) for name in ("compile_time_ms", "compilation_time_ms")}
        return runtime.shape_fields(case, made, error) | program.fields() | times

    return Work(lambda: Program(case, own, made), fields)


class Program:
    """A graph compiled for the target, with its arguments in the memory of the device."""

    def __init__(self, case: Case, own: Any, made: Graph) -> None:
        self._own, self._made = own, made
        self._name, target = _target(own, case)
        self._program = own.parse_onnx_buffer(made.model)
        self._given = held_bytes(str(self._program), in_place=False)
        self._program.compile(target, offload_copy=False)
        self._shapes = self._program.get_parameter_shapes()
        self._held = {name: self._argument(case, name, shape) for name, shape in self._shapes.items()}
        self._read: Callable[[Any], Any] = (lambda value: value) if case.on_cpu else own.from_gpu
        self._finished: Callable[[], None] = (lambda: None) if case.on_cpu else own.gpu_sync

    def _argument(self, case: Case, name: str, shape: Any) -> Any:
        own, given = self._own, self._made.inputs.get(name)
        if given is None:
            return own.generate_argument(shape) if case.on_cpu else own.allocate_gpu(shape)
        return own.argument(given) if case.on_cpu else own.to_gpu(own.argument(given))

    def run(self) -> Any:
        """Runs one inference and waits until it is done."""
        found = self._program.run(self._held)
        self._finished()
        return found

    def outputs(self) -> list[Any]:
        """Returns the outputs as arrays with the shapes of the reference."""
        numpy, exact = package("numpy"), self._made.exact
        found = self.run()[-len(exact) :]
        # Read as buffers: the module's `tolist` does not support f16.
        return [numpy.array(self._read(value)).reshape(one.shape) for value, one in zip(found, exact)]

    def fields(self) -> dict[str, Any]:
        """Returns the fields that describe the compiled program."""
        nodes = _nodes(self._program)
        # The serialized graph includes the weights.
        held = len(self._made.model) + sum(shape.bytes() for shape in self._shapes.values())
        given, kept = self._given, held_bytes(str(self._program), in_place=self._name == "gpu")
        saved = {} if given is None or kept is None else {"memory_savings_mb": (given - kept) / 1e6}
        return saved | {
            "provider": f"migraphx {self._name}",
            "optimization_level": "migraphx",
            "optimized_nodes": nodes,
            "optimized_graph_nodes": nodes,
            "memory_used_mb": held / 1e6,
            "memory_footprint_mb": held / 1e6,
        }


def _by_module(case: Case, own: Any) -> Work:
    made = graph(case)
    program = Program(case, own, made)
    error = runtime.right(case, program.outputs(), made.exact)

    def fields(time_ns: float) -> dict[str, Any]:
        compiled = milliseconds(runtime.compiled_ns(lambda: Program(case, own, made), COMPILED))
        return runtime.shape_fields(case, made, error) | program.fields() | runtime.rates(case, program.run, time_ns) | {
            "compile_time_ms": compiled,
            "compilation_time_ms": compiled,
        }

    return Work(program.run, fields)


def _nodes(program: Any) -> int:
    """Returns the number of instructions of a compiled program: one per line of its text."""
    return sum(" = " in line for line in str(program).splitlines())


def held_bytes(text: str, in_place: bool) -> int | None:
    """Returns the memory that a program occupies in bytes, computed from its text.

    Args:
        text: the text of the program.
        in_place: whether kernels write into allocated memory; otherwise every result has its own memory.

    Returns:
        The bytes, or None if the text has an unknown form.
    """
    # Only the main module counts: the other modules in the text are fused kernels.
    main = text.partition('module: "main"\n')[2].partition("\nmodule: ")[0]
    held = 0
    for line in main.splitlines():
        found = _LINE.search(line)
        if found is None:
            if " = " in line and "@return" not in line:
                return None
            continue
        name, kind, sizes = found.groups()
        name = name.removesuffix(":").partition(":")[0] if name.startswith(("@", "check_context")) else name
        if name in _ALLOCATES or (not in_place and name not in _VIEWS):
            held += _BYTES.get(kind, 1) * math.prod(int(size) for size in sizes.replace(",", " ").split())
    return held or None


WORKLOADS = {"inference": inference, "compilation": compilation}
