"""Attention without its matrix of scores: flash_attn where it is installed, else PyTorch's flash kernel, against the plain one."""

from .core import Case, Failure, Skip, Work, fastest, package, random, room, torch_device, torch_dtype, within
from .pytorch import SEED, attention_fields

# Gradients of 16-bit types add up more roundings than outputs.
TOLERANCE_OF_GRADIENTS = {"f32": 1e-4, "f16": 2e-2, "bf16": 1e-1}


def check(case: Case):
    """Whether PyTorch is here and drives the device."""
    torch, _ = torch_device(case)
    torch.manual_seed(SEED)


def version() -> str:
    """That of what provides the kernel."""
    found = _own_package()
    return f"flash-attn {found.__version__}" if found else f"torch {package('torch').__version__}"


def _own_package():
    try:
        import flash_attn

        return flash_attn
    except ImportError:
        return None


def _flash(case: Case, torch, causal: bool):
    """The flash kernel alone, as a function of q, k, v (batch, heads, positions, head) and its provider."""
    found = None if case.on_cpu or case.text("dtype") not in ("f16", "bf16") else _own_package()
    if found is not None:

        def by_package(q, k, v):
            # It has positions before heads.
            swapped = (one.transpose(1, 2) for one in (q, k, v))
            return found.flash_attn_func(*swapped, causal=causal).transpose(1, 2)

        return by_package, "flash-attn"
    return _with_kernel(torch, torch.nn.attention.SDPBackend.FLASH_ATTENTION, causal), "torch"


def _with_kernel(torch, kernel, causal: bool):
    def attend(q, k, v):
        with torch.nn.attention.sdpa_kernel([kernel]):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

    return attend


def _seen(torch, case: Case, run):
    """What the profiler saw: names of operations and kernels, and the most memory of a single operation in bytes."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    if not case.on_cpu:
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=activities, profile_memory=True) as profile:
        run()
    events = profile.key_averages()
    held = lambda event: getattr(event, "cpu_memory_usage" if case.on_cpu else "device_memory_usage", 0)
    return [event.key for event in events], max((held(event) for event in events), default=0)


def _proved(names, case: Case) -> str:
    """The flash kernel among `names`; without one, or beside the plain one, something else ran."""
    flash = [name for name in names if "flash" in name.lower() or "fmha" in name.lower() or "attn_fwd" in name.lower()]
    plain = [name for name in names if "attention_math" in name.lower()]
    if not flash or plain:
        raise Failure(
            f"flash attention on {case.device}",
            f"the profiler saw {', '.join(plain or names[:5])} and no flash kernel",
            "this PyTorch has no flash kernel for the type, the head length or the GPU: choose others, or another wheel",
        )
    return max(flash, key=len)


def flash(case: Case) -> Work:
    """Forward or backward of flash attention."""
    torch, device = torch_device(case)
    dtype = torch_dtype(case, torch)
    causal, backward = case.text("causal") == "yes", case.text("operation") == "backward"
    shape = [case.count(name) for name in ("batch_size", "num_heads", "sequence_length", "head_dim")]
    q, k, v = (random(torch, device, dtype, *shape).requires_grad_() for _ in range(3))
    attend, provider = _flash(case, torch, causal)
    plain = _with_kernel(torch, torch.nn.attention.SDPBackend.MATH, causal)
    try:
        out = attend(q, k, v)
    except RuntimeError as error:
        why = f"PyTorch {torch.__version__} has no flash kernel for {case.text('dtype')} there: {str(error).splitlines()[0]}"
        raise Skip(f"flash attention on {case.device}", why, "choose f16 or bf16 and a head of 64 or 128") from error
    error = _verified(case, torch, (q, k, v), out, causal)
    with torch.no_grad():
        names, held = _seen(torch, case, lambda: attend(q, k, v))
        _, held_plain = _seen(torch, case, lambda: plain(q, k, v))
    kernel = _proved(names, case)
    ahead = random(torch, device, dtype, *shape)
    state = {}

    def of(function):
        def forward():
            with torch.no_grad():
                return function(q, k, v)

        def before():
            state["out"] = function(q, k, v)

        def back():
            torch.autograd.grad(state["out"], (q, k, v), ahead)

        gpu = None if case.on_cpu else device
        return Work(back, lambda _: {}, before, gpu) if backward else Work(forward, lambda _: {}, None, gpu)

    own, standard = of(attend), of(plain)

    def fields(time_ns):
        return attention_fields(case, time_ns, backward) | {
            "operation": case.text("operation"),
            "dtype": case.text("dtype"),
            "provider": provider,
            "kernel_used": kernel,
            "speedup": fastest(standard, 5) / time_ns,
            "memory_used_mb": held / 1e6,
            "savings_percent": 100.0 * (1 - held / held_plain) if held_plain else None,
            "accuracy_error": error,
        }

    own.fields = fields
    return own


def _verified(case: Case, torch, inputs, out, causal: bool) -> float:
    """Output and gradients against attention written out in double precision."""
    room("the reference of attention", 5 * 8.0 * case.count("batch_size") * case.count("num_heads") * out.shape[-2] ** 2)
    exact_inputs = [one.detach().double().cpu().requires_grad_() for one in inputs]
    q, k, v = exact_inputs
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), float("-inf"))
    exact = scores.softmax(-1) @ v
    largest = lambda one: one.detach().abs().max().item()
    error = within(case, largest(out.detach().double().cpu() - exact), largest(exact))
    if case.text("operation") == "backward":
        ahead = torch.ones_like(exact)
        wanted = torch.autograd.grad(exact, exact_inputs, ahead)
        found = torch.autograd.grad(out, inputs, torch.ones_like(out))
        off = max(largest(own.double().cpu() - one) for own, one in zip(found, wanted))
        error = max(error, within(case, off, max(map(largest, wanted)), TOLERANCE_OF_GRADIENTS.get(case.text("dtype"), 1e-4)))
    return error
