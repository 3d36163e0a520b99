"""PyTorch: products, convolutions, transfers, gradients, compilation, normalization and attention."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterable
from typing import Any, Callable

from . import attention as dot_product
from .core import (
    Case,
    Failure,
    Skip,
    Work,
    fastest,
    local_model,
    milliseconds,
    model_fields,
    package,
    random,
    torch_device,
    torch_dtype,
    verified,
    within,
    without_gradients,
)

SEED = 20_231


def check(case: Case) -> None:
    """Checks that PyTorch can use the device, and that the named model exists.

    Raises:
        Skip: if PyTorch cannot use the device, or the model does not exist.
    """
    local_model(case)
    torch, _ = torch_device(case)
    torch.manual_seed(SEED)


def version() -> str:
    """Returns the version of PyTorch."""
    return package("torch").__version__


def _work(
    case: Case,
    run: Callable[[], Any],
    fields: Callable[[float], dict[str, Any]],
    before: Callable[[], Any] | None = None,
) -> Work:
    """Creates a `Work` whose fields include those that all workloads of this component report."""
    torch, device = torch_device(case)
    own = {"init": "uniform in [-1, 1)", "provider": "torch"}
    if case.on_cpu:
        own["threads"] = torch.get_num_threads()
    if "dtype" in case.params:
        own["dtype"] = case.text("dtype")
    gpu = None if case.on_cpu else device
    return Work(run, lambda time_ns: own | fields(time_ns), before, gpu)


def _shown(sizes: Iterable[int]) -> str:
    return "x".join(str(size) for size in sizes)


def matmul(case: Case) -> Work:
    """Prepares a matrix product. Of large products, 16 rows are verified."""
    torch, device = torch_device(case)
    dtype = torch_dtype(case, torch)
    m, n, k = case.sizes("shape")
    first, second = case.text("transpose")
    a = random(torch, device, dtype, *((m, k) if first == "n" else (k, m)))
    b = random(torch, device, dtype, *((k, n) if second == "n" else (n, k)))
    left, right = (a if first == "n" else a.t()), (b if second == "n" else b.t())
    out = torch.empty(m, n, dtype=dtype, device=device)

    def run() -> None:
        torch.matmul(left, right, out=out)

    with torch.no_grad():
        run()
        rows = torch.linspace(0, m - 1, min(m, m if m * n * k <= 2**24 else 16), device=device).long()
        reference = left[rows].double().cpu() @ right.double().cpu()
        error = verified(case, out[rows], reference)
    size = a.element_size()

    def fields(time_ns: float) -> dict[str, Any]:
        return {
            "m": m,
            "n": n,
            "k": k,
            "transpose": case.text("transpose"),
            "tflops": 2 * m * n * k / time_ns / 1e3,
            "memory_read_gb": (m * k + k * n) * size / 1e9,
            "memory_write_gb": m * n * size / 1e9,
            "arithmetic_intensity": 2 * m * n * k / ((m * k + k * n + m * n) * size),
            "accuracy_error": error,
        } | _utilization(case, torch, device, 2 * m * n * k / time_ns / 1e3)

    return _work(case, run, fields)


def _utilization(case: Case, torch: Any, device: Any, tflops: float) -> dict[str, Any]:
    """Returns the rate in percent of the rate of a large product, which is measured here.

    On a CPU the large product is in f32 even if the case has a 16-bit type.
    """
    size, dtype = (1024, torch.float64 if case.text("dtype") == "f64" else torch.float32)
    if not case.on_cpu:
        size, dtype = 8192, torch_dtype(case, torch)
    a, b = (torch.rand(size, size, dtype=dtype, device=device) for _ in range(2))
    out = torch.empty(size, size, dtype=dtype, device=device)
    beside = Work(lambda: torch.matmul(a, b, out=out), lambda _: {}, None, None if case.on_cpu else device)
    best = max(2 * size**3 / fastest(beside, 3) / 1e3, tflops)
    return {"gemm_tflops": best, "utilization_percent": 100.0 * tflops / best}


def convolution(case: Case) -> Work:
    """Prepares a 2-D convolution."""
    torch, device = torch_device(case)
    dtype = torch_dtype(case, torch)
    sizes, weights = case.sizes("input"), case.sizes("weight")
    groups = case.count("groups")
    if sizes[1] != weights[1] * groups or weights[0] % groups:
        why = (
            f"{sizes[1]} input channels are not {groups} groups of {weights[1]}, "
            f"or {weights[0]} output channels are not divisible by {groups}"
        )
        raise Skip(f"convolution of {case.text('input')} with {case.text('weight')}", why, "choose sizes that fit")
    x, w = random(torch, device, dtype, *sizes), random(torch, device, dtype, *weights)
    settings = {name: case.count(name) for name in ("stride", "padding", "dilation", "groups")}
    reach = [settings["dilation"] * (size - 1) + 1 for size in weights[2:]]
    if any(size + 2 * settings["padding"] < one for size, one in zip(sizes[2:], reach)):
        why = "the dilated kernel is larger than the padded input"
        raise Skip(f"convolution of {case.text('input')}", why, "choose a larger input")

    def run() -> Any:
        return torch.nn.functional.conv2d(x, w, **settings)

    with torch.no_grad():
        result = run()
        reference = torch.nn.functional.conv2d(x[:1].double().cpu(), w.double().cpu(), **settings)
        error = verified(case, result[:1], reference)
        operations = 2 * result.numel() * weights[1] * weights[2] * weights[3]

    def fields(time_ns: float) -> dict[str, Any]:
        return settings | {
            "input_shape": case.text("input"),
            "weight_shape": case.text("weight"),
            "output_shape": _shown(result.shape),
            "tflops": operations / time_ns / 1e3,
            "throughput_samples_per_second": sizes[0] * 1e9 / time_ns,
            "accuracy_error": error,
        }

    return _work(case, without_gradients(torch, run), fields)


def memory_transfer(case: Case) -> Work:
    """Prepares a copy between the host and a GPU, within the GPU, or to another GPU."""
    if case.on_cpu:
        raise Skip("memory transfer", "a CPU only has the host's memory", "run it on a GPU: --backend rocm or cuda")
    torch, gpu = torch_device(case)
    size, direction = case.size_bytes("size"), case.text("direction")
    pinned = case.text("host_memory") == "pinned"
    on_host = torch.randint(0, 256, (size,), dtype=torch.uint8)
    on_host = on_host.pin_memory() if pinned else on_host
    on_gpu = on_host.to(gpu)
    if direction == "cpu_to_gpu":
        source, sink = on_host, torch.empty_like(on_gpu)
    elif direction == "gpu_to_cpu":
        source, sink = on_gpu, torch.empty_like(on_host, pin_memory=pinned)
    else:
        source, sink = on_gpu, torch.empty_like(on_gpu, device=gpu if direction == "gpu_to_gpu" else _peer(torch, gpu))

    def run() -> None:
        sink.copy_(source, non_blocking=pinned)

    run()
    torch.cuda.synchronize(gpu)
    if not torch.equal(sink.cpu(), on_host):
        raise Failure(f"copy {direction}", "the destination differs from the source", "test the GPU's memory and the link")

    def fields(time_ns: float) -> dict[str, Any]:
        peer = {"peer": f"{case.device.split(':')[0]}:{sink.device.index}"} if direction == "gpu_to_peer" else {}
        return peer | {
            "operation": direction,
            "size_bytes": size,
            "host_memory": case.text("host_memory"),
            "bandwidth_gb_s": moved(direction, size) / time_ns,
            "accuracy_error": 0.0,
        }

    return _work(case, run, fields)


def moved(direction: str, size: int) -> int:
    """Returns the bytes moved by a copy. Within a GPU each byte counts twice (read and write), over a link once."""
    return 2 * size if direction == "gpu_to_gpu" else size


def _peer(torch: Any, gpu: Any) -> Any:
    """Returns the next GPU, as the target of a copy.

    Raises:
        Skip: if there is no other GPU, or no peer access, because the copy would then go through the host.
    """
    there = torch.cuda.device_count()
    if there < 2:
        raise Skip("copy to another GPU", f"only {there} GPU is visible", "run it on a machine with two, or choose gpu_to_gpu")
    peer = torch.device("cuda", (gpu.index + 1) % there)
    if not torch.cuda.can_device_access_peer(gpu.index, peer.index):
        why = f"GPU {gpu.index} cannot access the memory of GPU {peer.index}: the copy would go through the host"
        raise Skip("copy to another GPU", why, "run `doctor` and check the IOMMU, large BARs and how the GPUs are connected")
    return peer


def autograd(case: Case) -> Work:
    """Prepares the forward or backward pass of linear layers; gradients are verified in double precision."""
    torch, device = torch_device(case)
    dtype = torch_dtype(case, torch)
    batch, width, layers = (case.count(name) for name in ("batch_size", "width", "num_layers"))
    parts = [part for _ in range(layers) for part in (torch.nn.Linear(width, width), torch.nn.Tanh())]
    model = torch.nn.Sequential(*parts).to(device, dtype)
    x = random(torch, device, dtype, batch, width)
    exact = torch.nn.Sequential(*parts_in_double(torch, model))

    def forward() -> Any:
        return model(x).float().square().mean()

    exact_loss = exact(x.double().cpu()).square().mean()
    exact_loss.backward()
    loss = forward()
    loss.backward()
    gradient = next(model.parameters()).grad
    tolerance = None if case.text("dtype") != "f32" else 1e-4  # Errors of the layers accumulate.
    difference = (gradient.double().cpu() - next(exact.parameters()).grad).abs().max().item()
    error = within(case, difference, next(exact.parameters()).grad.abs().max().item(), tolerance)
    norm = sum(one.grad.double().square().sum().item() for one in model.parameters()) ** 0.5
    held = sum(one.numel() * one.element_size() * 2 for one in model.parameters())
    state: dict[str, Any] = {}

    def before() -> None:
        model.zero_grad(set_to_none=True)
        state["loss"] = forward()

    backward = case.text("operation") == "backward"

    def fields(time_ns: float) -> dict[str, Any]:
        # Each forward multiply-add has two counterparts in backward: for the gradients
        # of the input and of the weights.
        operations = 2 * batch * width * width * layers * (2 if backward else 1)
        return {
            "operation": case.text("operation"),
            "batch_size": batch,
            "num_layers": layers,
            **model_fields("mlp", model),
            "input_shape": _shown(x.shape),
            "tflops": operations / time_ns / 1e3,
            "memory_allocated_mb": held / 1e6 if case.on_cpu else torch.cuda.memory_allocated(device) / 1e6,
            "gradient_norm": norm,
            "accuracy_error": error,
        }

    if backward:
        return _work(case, lambda: state["loss"].backward(), fields, before)
    return _work(case, forward, fields)


def parts_in_double(torch: Any, model: Any) -> list[Any]:
    """Returns copies of the layers of `model` on the CPU in double precision."""
    import copy

    return [copy.deepcopy(part).cpu().double() for part in model]


def layer_norm(case: Case) -> Work:
    """Prepares layer normalization of rows."""
    torch, device = torch_device(case)
    dtype = torch_dtype(case, torch)
    rows, width = case.sizes("rows")
    x = random(torch, device, dtype, rows, width)
    scale, shift = random(torch, device, dtype, width), random(torch, device, dtype, width)

    def run() -> Any:
        return torch.nn.functional.layer_norm(x, (width,), scale, shift)

    exact = torch.nn.functional.layer_norm(x.double().cpu(), (width,), scale.double().cpu(), shift.double().cpu())
    error = verified(case, run(), exact)

    def fields(time_ns: float) -> dict[str, Any]:
        moved = 2 * rows * width * x.element_size()
        return {"input_shape": _shown(x.shape), "throughput_gb_s": moved / time_ns, "accuracy_error": error}

    return _work(case, run, fields)


def attention(case: Case) -> Work:
    """Prepares scaled dot-product attention with the kernel that PyTorch chooses."""
    torch, device = torch_device(case)
    dtype = torch_dtype(case, torch)
    shape = [case.count(name) for name in ("batch_size", "num_heads", "sequence_length", "head_dim")]
    causal = case.text("causal") == "yes"
    q, k, v = (random(torch, device, dtype, *shape) for _ in range(3))

    def run() -> Any:
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

    with torch.no_grad():
        error = dot_product.verified(case, torch, (q, k, v), run())

    def fields(time_ns: float) -> dict[str, Any]:
        return dot_product.fields(case, time_ns) | {"accuracy_error": error}

    return _work(case, without_gradients(torch, run), fields)


def transformer(case: Case) -> Work:
    """Prepares prefill or decode of a model of the package `transformers`."""
    from . import transformer as models

    return models.prefill(case) if case.text("operation") == "prefill" else models.decode(case)


def execution(case: Case) -> Work:
    """Prepares the forward pass of a decoder: eager, compiled, or captured as a GPU graph."""
    from . import execution as modes

    return modes.measured(case, _work)


def training(case: Case) -> Work:
    """Prepares a training step of a decoder: forward, backward and AdamW."""
    from . import training as steps

    return steps.measured(case, _work)


def torch_compile(case: Case) -> Work:
    """Prepares torch.compile of element-wise operations: either the compilation (cold) or the compiled function (warm)."""
    torch, device = torch_device(case)
    dtype = torch_dtype(case, torch)
    rows, width = case.sizes("rows")
    x = random(torch, device, dtype, rows, width)

    def steps(x: Any) -> Any:
        return (torch.nn.functional.gelu(x * 1.5 + 0.25) * torch.sigmoid(x)).sum(-1)

    def compiled() -> Any:
        return torch.compile(steps, dynamic=False)

    with torch.no_grad():
        try:
            made = compiled()
            result = made(x)
        except Exception as error:
            if "compiler" in str(error).lower() and case.on_cpu:
                raise Skip("torch.compile", "it does not find a C++ compiler", "install g++") from error
            raise
        error = verified(case, result, steps(x.double().cpu()))
    warm = case.text("compilation") == "warm"

    def fields(time_ns: float) -> dict[str, Any]:
        common = {"compilation": case.text("compilation"), "input_shape": _shown(x.shape), "accuracy_error": error}
        if not warm:
            return common | {"compile_time_ms": milliseconds(time_ns)}
        eager = Work(without_gradients(torch, lambda: steps(x)), lambda _: {}, None, None if case.on_cpu else device)
        return common | {"speedup": fastest(eager, 10) / time_ns}

    if warm:
        return _work(case, without_gradients(torch, lambda: made(x)), fields)
    return _cold(case, torch, compiled, x, fields)


def _cold(case: Case, torch: Any, compiled: Any, x: Any, fields: Callable[[float], dict[str, Any]]) -> Work:
    """Prepares compilation in which each iteration starts with empty caches, in memory and on disk."""
    held = contextlib.ExitStack()

    def before() -> None:
        import os

        held.close()
        directory = held.enter_context(tempfile.TemporaryDirectory(prefix="rsb-compile-", ignore_cleanup_errors=True))
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = directory
        os.environ["TRITON_CACHE_DIR"] = os.path.join(directory, "triton")
        torch.compiler.reset()
        torch._inductor.codecache.PyCodeCache.cache_clear()

    def finished(time_ns: float) -> dict[str, Any]:
        held.close()
        return fields(time_ns)

    torch._inductor.config.force_disable_caches = True
    return _work(case, without_gradients(torch, lambda: compiled()(x)), finished, before)


WORKLOADS = {
    "matmul": matmul,
    "convolution": convolution,
    "memory-transfer": memory_transfer,
    "autograd": autograd,
    "layer-norm": layer_norm,
    "attention": attention,
    "transformer": transformer,
    "execution": execution,
    "training": training,
    "torch-compile": torch_compile,
}
