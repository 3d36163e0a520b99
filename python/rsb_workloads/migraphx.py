"""MIGraphX through the provider of ONNX Runtime: inference, and the time to compile a graph."""

from . import onnxruntime as runtime
from .core import Case, Skip, Work, milliseconds, package

PROVIDER = "MIGraphXExecutionProvider"


def check(case: Case):
    """Whether this ONNX Runtime has the provider. It falls back to the processor without a word: it is asserted."""
    found = package("onnxruntime", "onnxruntime-migraphx")
    package("onnx")
    if PROVIDER not in found.get_available_providers():
        why = f"ONNX Runtime {found.__version__} has no {PROVIDER}, only {', '.join(found.get_available_providers())}"
        raise Skip("MIGraphX", why, "install ROCm and `pip install onnxruntime-migraphx` in place of onnxruntime")
    if not case.device.startswith("rocm:"):
        raise Skip("MIGraphX", f"it works on cards of AMD, not on {case.device}", "choose --backend rocm")


def version() -> str:
    """That of the ONNX Runtime that it came with."""
    return package("onnxruntime").__version__


def inference(case: Case) -> Work:
    """The same graph as ONNX Runtime's; the time to make a session is MIGraphX's to compile it."""
    model, nodes, made_ns, run, x, error = runtime._prepared(case, "all")

    def fields(time_ns):
        return runtime._common(case, error) | {
            "compile_time_ms": milliseconds(made_ns),
            "original_nodes": nodes,
            "throughput_samples_per_second": case.count("batch_size") * 1e9 / time_ns,
            "node_profile": runtime.profiled(case, model, x),
        }

    return Work(run, fields)
