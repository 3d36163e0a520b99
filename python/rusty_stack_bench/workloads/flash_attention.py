"""Attention without a materialized score matrix: flash_attn if installed, else PyTorch's flash kernel."""
from __future__ import annotations

from typing import Any, Callable

from . import attention
from .core import Case, Failure, Skip, Work, package, random, side_by_side, torch_device, torch_dtype
from .memory import peak_of_pass
from .pytorch import SEED


def check(case: Case) -> None:
    """Checks that PyTorch is installed and can use the device."""
    torch, _ = torch_device(case)
    torch.manual_seed(SEED)


def version() -> str:
    """Returns the name and version of the package that provides the kernel."""
    found = _own_package()
    return f"flash-attn {found.__version__}" if found else f"torch {package('torch').__version__}"


def _own_package() -> Any:
    try:
        import flash_attn

        return flash_attn
    except ImportError:
        return None


def _flash(case: Case, torch: Any, causal: bool) -> tuple[Callable[..., Any], str]:
    """Returns the flash kernel as a function of q, k, v (batch, heads, positions, head), and its provider."""
    found = None if case.on_cpu or case.text("dtype") not in ("f16", "bf16") else _own_package()
    if found is not None:

        def by_package(q: Any, k: Any, v: Any) -> Any:
            # flash_attn expects the dimension of positions before the one of heads.
            swapped = (one.transpose(1, 2) for one in (q, k, v))
            return found.flash_attn_func(*swapped, causal=causal).transpose(1, 2)

        return by_package, "flash-attn"
    return _with_kernel(torch, "FLASH_ATTENTION", causal), "torch"


def _with_kernel(torch: Any, name: str, causal: bool) -> Callable[..., Any]:
    kernel = getattr(torch.nn.attention.SDPBackend, name)

    def attend(q: Any, k: Any, v: Any) -> Any:
        with torch.nn.attention.sdpa_kernel([kernel]):
            shared = q.shape[1] != k.shape[1]
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=shared)

    return attend


def _others(torch: Any, provider: str, causal: bool) -> dict[str, Any]:
    """Returns the attention kernels of PyTorch by name, except the measured one."""
    names = {"standard": "MATH", "efficient": "EFFICIENT_ATTENTION", "cudnn": "CUDNN_ATTENTION"}
    if provider != "torch":
        names["torch flash"] = "FLASH_ATTENTION"
    known = {name: kernel for name, kernel in names.items() if hasattr(torch.nn.attention.SDPBackend, kernel)}
    return {name: _with_kernel(torch, kernel, causal) for name, kernel in known.items()}


def _names(torch: Any, case: Case, run: Callable[[], Any]) -> list[str]:
    """Returns the operations and kernels that the profiler recorded."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    if not case.on_cpu:
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=activities) as profile:
        run()
    return [event.key for event in profile.key_averages()]


def _proved(names: list[str], case: Case) -> str:
    """Returns the flash kernel among `names`.

    Raises:
        Failure: if there is none, or the standard kernel ran as well.
    """
    flash = [name for name in names if "flash" in name.lower() or "fmha" in name.lower() or "attn_fwd" in name.lower()]
    plain = [name for name in names if "attention_math" in name.lower()]
    if not flash or plain:
        raise Failure(
            f"flash attention on {case.device}",
            f"the profiler recorded {', '.join(plain or names[:5])}; expected only a flash kernel",
            "choose a type, head size and GPU for which this PyTorch has a flash kernel, or install another wheel",
        )
    return max(flash, key=len)


def _inputs(case: Case, torch: Any, device: Any, dtype: Any) -> list[Any]:
    """Returns q, k and v; k and v may have fewer heads."""
    batch, heads, length, head = (case.count(name) for name in ("batch_size", "num_heads", "sequence_length", "head_dim"))
    shared = int(case.params.get("num_kv_heads", "0")) or heads
    if heads % shared:
        why = "each key head must serve the same number"
        raise Skip(f"{heads} query heads on {shared} key heads", why, "choose a divisor of num_heads")
    return [random(torch, device, dtype, batch, count, length, head).requires_grad_() for count in (heads, shared, shared)]


class Passes:
    """The timed passes of a kernel: the forward pass, or the backward pass after it."""

    def __init__(self, torch: Any, gpu: Any, inputs: Any, ahead: Any, backward: bool) -> None:
        self._torch, self._gpu, self._inputs, self._ahead, self._backward = torch, gpu, inputs, ahead, backward

    def work(self, attend: Callable[..., Any]) -> Work:
        """Returns the timed pass of `attend`."""
        state: dict[str, Any] = {}

        def before() -> None:
            state["out"] = attend(*self._inputs)

        def back() -> None:
            self._torch.autograd.grad(state.pop("out"), self._inputs, self._ahead)

        if self._backward:
            return Work(back, lambda _: {}, before, self._gpu)
        return Work(lambda: self._forward(attend), lambda _: {}, None, self._gpu)

    def peak(self, attend: Callable[..., Any]) -> float | None:
        """Returns the peak of allocated bytes in a pass; for the backward pass including tensors saved by the forward pass."""

        def both() -> None:
            self._torch.autograd.grad(attend(*self._inputs), self._inputs, self._ahead)

        return peak_of_pass(self._torch, self._gpu, both if self._backward else lambda: self._forward(attend))

    def _forward(self, attend: Callable[..., Any]) -> Any:
        with self._torch.no_grad():
            return attend(*self._inputs)


def flash(case: Case) -> Work:
    """Prepares the forward or backward pass of flash attention."""
    torch, device = torch_device(case)
    dtype = torch_dtype(case, torch)
    causal, backward = case.text("causal") == "yes", case.text("operation") == "backward"
    inputs = _inputs(case, torch, device, dtype)
    attend, provider = _flash(case, torch, causal)
    ahead = random(torch, device, dtype, *inputs[0].shape)
    try:
        out = attend(*inputs)
    except RuntimeError as error:
        why = f"PyTorch {torch.__version__} has no flash kernel for {case.text('dtype')} here: {str(error).splitlines()[0]}"
        raise Skip(f"flash attention on {case.device}", why, "choose f16 or bf16 and a head of 64 or 128") from error
    error = attention.verified(case, torch, inputs, out, ahead if backward else None)
    kernel = _proved(_names(torch, case, lambda: attend(*inputs)), case)
    passes = Passes(torch, None if case.on_cpu else device, inputs, ahead, backward)
    own = passes.work(attend)

    def fields(time_ns: float) -> dict[str, Any]:
        plain = _with_kernel(torch, "MATH", causal)
        compared = _memory(passes, attend, plain) | _compared(torch, case, passes, attend, time_ns, provider)
        return attention.fields(case, time_ns, backward) | compared | {
            "operation": case.text("operation"),
            "num_kv_heads": inputs[1].shape[1],
            "dtype": case.text("dtype"),
            "provider": provider,
            "kernel_used": kernel,
            "accuracy_error": error,
        }

    own.fields = fields
    return own


def _memory(passes: Passes, attend: Callable[..., Any], standard: Callable[..., Any]) -> dict[str, Any]:
    held, plain = passes.peak(attend), passes.peak(standard)
    fields = {name: one / 1e6 for name, one in (("flash_memory_mb", held), ("standard_memory_mb", plain)) if one is not None}
    if held is not None and plain:
        fields["savings_percent"] = 100.0 * (1 - held / plain)
    return fields | {"memory_used_mb": fields.get("flash_memory_mb")}


def _compared(
    torch: Any, case: Case, passes: Passes, attend: Callable[..., Any], time_ns: float, provider: str
) -> dict[str, Any]:
    """Compares the kernel with the standard one, and with the fastest of the other kernels that run on this device."""
    works = {"own": passes.work(attend)}
    for name, other in _others(torch, provider, case.text("causal") == "yes").items():
        work = passes.work(other)
        try:
            work.sample(1)
        except RuntimeError:  # It does not support the type, shape or device, or memory does not suffice.
            continue
        works[name] = work
    times = side_by_side(works, time_ns)
    own, standard = times.pop("own"), times.pop("standard", None)
    found = {"speedup": standard / own} if standard else {}
    if times:
        best = min(times, key=times.__getitem__)
        found |= {"alternative": best, "alternative_time_ms": times[best] / 1e6, "speedup_over_alternative": times[best] / own}
    return found


WORKLOADS = {"flash": flash}
