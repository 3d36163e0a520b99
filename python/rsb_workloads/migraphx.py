"""MIGraphX: inference, and the time to compile a graph; through its own module where it is, else ONNX Runtime's provider."""

import time

from . import onnxruntime as runtime
from .core import Case, Skip, Work, milliseconds, package, within

PROVIDER = "MIGraphXExecutionProvider"


def _own():
    """MIGraphX's own module; it comes with ROCm and not from a registry of packages."""
    try:
        import migraphx

        return migraphx
    except ImportError:
        return None


def check(case: Case):
    """Whether MIGraphX is here in either form. ONNX Runtime falls back to the CPU without a word: it is asserted."""
    own = _own()
    if own is not None:
        package("onnx")
        package("numpy")
        _target(own, case)
        return
    found = package("onnxruntime", "onnxruntime-migraphx")
    package("onnx")
    if PROVIDER not in found.get_available_providers():
        why = f"ONNX Runtime {found.__version__} has no {PROVIDER}, only {', '.join(found.get_available_providers())}"
        raise Skip("MIGraphX", why, "install ROCm and `pip install onnxruntime-migraphx` in place of onnxruntime")
    if not case.device.startswith("rocm:"):
        raise Skip("MIGraphX", f"it works on GPUs of AMD, not on {case.device}", "choose --backend rocm")


def version() -> str:
    """That of the module, or of the ONNX Runtime that it came with."""
    own = _own()
    return getattr(own, "__version__", "unknown") if own is not None else package("onnxruntime").__version__


def _target(own, case: Case):
    """The GPU, or the reference implementation on a CPU."""
    name = "ref" if case.on_cpu else "gpu"
    if not case.on_cpu and not case.device.startswith("rocm:"):
        raise Skip("MIGraphX", f"it works on GPUs of AMD, not on {case.device}", "choose --backend rocm")
    try:
        return name, own.get_target(name)
    except RuntimeError as error:
        cure = "choose --backend rocm" if case.on_cpu else "install ROCm's package migraphx with its target for GPUs"
        raise Skip(f"MIGraphX's target {name}", f"this build does not have it: {str(error).splitlines()[0]}", cure) from error


def inference(case: Case) -> Work:
    """The same graph as ONNX Runtime's; the time to compile it beside it."""
    own = _own()
    return _by_provider(case) if own is None else _by_module(case, own)


def _by_provider(case: Case) -> Work:
    model, nodes, made_ns, run, x, error = runtime._prepared(case, "all")

    def fields(time_ns):
        return runtime._common(case, error) | runtime.latencies(run) | {
            "compile_time_ms": milliseconds(made_ns),
            "original_nodes": nodes,
            "throughput_samples_per_second": case.count("batch_size") * 1e9 / time_ns,
            "node_profile": runtime.profiled(case, model, x),
        }

    return Work(run, fields)


def _by_module(case: Case, own) -> Work:
    numpy = package("numpy")
    name, target = _target(own, case)
    model, nodes, weights = runtime._model(case)
    program = own.parse_onnx_buffer(model)
    begin = time.perf_counter_ns()
    program.compile(target, offload_copy=False)
    compiled_ns = time.perf_counter_ns() - begin
    x = runtime.inputs(case)
    shapes = program.get_parameter_shapes()
    if case.on_cpu:
        held = {one: own.argument(x) if one == "x" else own.generate_argument(shape) for one, shape in shapes.items()}
        read, finished = (lambda value: value), (lambda: None)
    else:
        held = {one: own.to_gpu(own.argument(x)) if one == "x" else own.allocate_gpu(shape) for one, shape in shapes.items()}
        read, finished = own.from_gpu, own.gpu_sync

    def run():
        made = program.run(held)
        finished()
        return made

    exact = runtime._exact(numpy, x, weights)
    result = numpy.array(read(run()[-1]).tolist(), dtype=numpy.float64).reshape(exact.shape)
    error = within(case, float(numpy.abs(result - exact).max()), float(numpy.abs(exact).max()))
    constants = 4 * sum(weight.size + bias.size for weight, bias in weights)

    def fields(time_ns):
        return runtime.shape_fields(case, error) | runtime.latencies(run) | {
            "provider": f"migraphx {name}",
            "compile_time_ms": milliseconds(compiled_ns),
            "original_nodes": nodes,
            "optimized_nodes": _nodes(program),
            "memory_used_mb": (constants + sum(shape.bytes() for shape in shapes.values())) / 1e6,
            "throughput_samples_per_second": case.count("batch_size") * 1e9 / time_ns,
        }

    return Work(run, fields)


def _nodes(program) -> int:
    """The instructions of a compiled program, which its text has one a line."""
    return sum(" = " in line for line in str(program).splitlines())
