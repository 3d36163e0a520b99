"""Forward pass of a decoder in each execution mode of PyTorch: eager, compiled, or as a captured GPU graph."""
from __future__ import annotations

import time
from typing import Any, Callable

from .core import Case, Skip, Work, milliseconds, model_fields, side_by_side, torch_device, torch_dtype, within, without_gradients

SEED = 20_231
WORDS = 1024
HEAD = 64
# The tolerance is larger than for one operation because errors accumulate over the layers.
TOLERANCES = {"f32": 1e-4, "tf32": 2e-2, "f16": 3e-2, "bf16": 1e-1}


def measured(case: Case, work: Callable[..., Work]) -> Work:
    """Verifies and prepares the forward pass. `work` creates the `Work` of the PyTorch component."""
    torch, device = torch_device(case)
    dtype = torch_dtype(case, torch)
    model, tokens = _decoder(case, torch, device)
    exact = model.double()(tokens[:1]).detach()
    model = model.to(dtype)
    eager = without_gradients(torch, lambda: model(tokens))
    begin = time.perf_counter_ns()
    run = _WAYS[case.text("execution")](case, torch, device, model, tokens, eager)
    result = run()[:1].double()
    made_ns = time.perf_counter_ns() - begin
    error = within(case, (result - exact).abs().max().item(), exact.abs().max().item(), TOLERANCES.get(case.text("dtype")))

    def fields(time_ns: float) -> dict[str, Any]:
        gpu = None if case.on_cpu else device
        times = side_by_side({"own": Work(run, lambda _: {}, None, gpu), "eager": Work(eager, lambda _: {}, None, gpu)}, time_ns)
        return {
            "execution": case.text("execution"),
            "batch_size": case.count("batch_size"),
            "sequence_length": case.count("sequence_length"),
            "num_layers": case.count("num_layers"),
            **model_fields("decoder", model),
            "forward_time_ms": milliseconds(time_ns),
            "tokens_per_second": tokens.numel() * 1e9 / time_ns,
            # Time of the first pass, including compilation or capture.
            "compile_time_ms": None if case.text("execution") == "eager" else milliseconds(made_ns),
            "speedup": times["eager"] / times["own"],
            "accuracy_error": error,
        }

    return work(case, run, fields)


def _decoder(case: Case, torch: Any, device: Any) -> tuple[Any, Any]:
    from .networks import Decoder

    width, length = case.count("width"), case.count("sequence_length")
    if width % HEAD:
        raise Skip(f"decoder of width {width}", f"heads have {HEAD} elements", f"choose a multiple of {HEAD}")
    model = Decoder(WORDS, width, HEAD, case.count("num_layers"), length).to(device).eval().requires_grad_(False)
    return model, torch.randint(0, WORDS, (case.count("batch_size"), length), device=device)


def _eager(case: Case, torch: Any, device: Any, model: Any, tokens: Any, eager: Callable[[], Any]) -> Callable[[], Any]:
    return eager


def _compiled(case: Case, torch: Any, device: Any, model: Any, tokens: Any, eager: Callable[[], Any]) -> Callable[[], Any]:
    compiled = torch.compile(model, dynamic=False)
    run = without_gradients(torch, lambda: compiled(tokens))
    try:
        run()
    except Exception as error:
        if "compiler" in str(error).lower() and case.on_cpu:
            raise Skip("torch.compile", "it does not find a C++ compiler", "install g++") from error
        raise
    return run


def _graph(case: Case, torch: Any, device: Any, model: Any, tokens: Any, eager: Callable[[], Any]) -> Callable[[], Any]:
    if case.on_cpu:
        why = "only GPUs can replay captured graphs"
        raise Skip("captured graph", why, "run it on a GPU: --backend rocm or cuda")
    # The first calls run before the capture, so that their one-time work is not
    # captured. Capturing requires a side stream.
    aside = torch.cuda.Stream(device)
    aside.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(aside):
        for _ in range(3):
            eager()
    torch.cuda.current_stream(device).wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.device(device), torch.cuda.graph(graph):
        out = eager()

    def run() -> Any:
        graph.replay()
        return out

    return run


_WAYS = {"eager": _eager, "compiled": _compiled, "graph": _graph}
