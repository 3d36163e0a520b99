"""DeepSpeed: training steps of a decoder under the stages of ZeRO, or with layers split by AutoTP."""
from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any, Callable, cast

from . import gpus
from .core import Case, Failure, Skip, Work, milliseconds, model_fields, package, torch_device
from .memory import GpuMemory, HostAllocator
from .ranks import Ranks

SEED = 20_231
WORDS = 1024
HEAD = 64
RATE = 1e-3
STEPS_CHECKED = 3
# Number of steps in which PyTorch's profiler records collectives. They are not used as samples.
STEPS_WATCHED = 3
# Allowed relative errors of gradients and losses, compared with training in a single process.
TOLERANCES = {"f32": 1e-3, "bf16": 1e-1}
LOSS_TOLERANCES = {"f32": 1e-3, "bf16": 3e-2}
CURE = "try another version of DeepSpeed, or report the wrong result to its developers"
PHASES = ("forward", "backward", "step")
# How AutoTP splits layers: by outputs if each rank computes its own heads or units, by inputs if
# the results of the ranks are summed.
PARTITION = {
    "use_default_specs": False,
    "layer_specs": [
        {"patterns": [r".*\.(query|key|value|up)\.weight$"], "partition_type": "column"},
        {"patterns": [r".*\.(out|down)\.weight$"], "partition_type": "row"},
        {"patterns": [r".*(words|places|logits)\.weight$"], "partition_type": "skip"},
    ],
}


def check(case: Case) -> None:
    """Checks that DeepSpeed is installed and that there are enough devices for all ranks.

    Raises:
        Skip: if a package is missing, or the case is not supported here.
    """
    torch, _ = torch_device(case)
    _quiet(case)
    package("deepspeed")
    if case.params.get("optimizer") == "deepspeed":
        _refuse_stale_locks()
    ranks = case.count("num_ranks")
    if case.text("dtype") not in TOLERANCES:
        raise Skip(f"type {case.text('dtype')}", "this benchmark trains only in f32 or bf16", "choose one of these")
    if not case.on_cpu and ranks > torch.cuda.device_count():
        why = f"{ranks} ranks need {ranks} GPUs, but only {torch.cuda.device_count()} are visible starting at {case.device}"
        raise Skip(f"DeepSpeed on {case.device}", why, "choose fewer ranks (--axis num_ranks=1), or start at --device 0")
    parts = HEAD * (ranks if case.workload == "tensor-parallel" else 1)
    if case.count("width") % parts:
        why = f"the width is not a multiple of {parts}: each rank needs whole heads of {HEAD}"
        raise Skip(f"decoder of width {case.text('width')} on {ranks} ranks", why, "choose another width or number of ranks")


def version() -> str:
    """Returns the version of DeepSpeed."""
    return package("deepspeed").__version__


def _quiet(case: Case) -> None:
    """Configures DeepSpeed to skip its CUDA version check, to log only errors, and on a CPU to use its CPU accelerator."""
    os.environ["DS_SKIP_CUDA_CHECK"] = "1"
    os.environ.setdefault("DEEPSPEED_LOG_LEVEL", "error")
    if case.on_cpu:
        os.environ["DS_ACCELERATOR"] = "cpu"


# Age in seconds from which a lock is stale. Building one operator takes minutes, so an
# older lock is left over.
STALE_SECONDS = 1800


def _refuse_stale_locks() -> None:
    """Checks for locks left by killed builds, because the next build of the same operator would wait for them forever.

    Raises:
        Skip: if there is a stale lock.
    """
    root = os.environ.get("TORCH_EXTENSIONS_DIR") or os.path.expanduser("~/.cache/torch_extensions")
    locks = [os.path.join(directory, "lock") for directory, _, files in os.walk(root) if "lock" in files]
    stale = [lock for lock in locks if time.time() - os.path.getmtime(lock) > STALE_SECONDS]
    if stale:
        why = f"the lock {stale[0]} was left by a killed build, and a new build would wait for it forever"
        raise Skip("DeepSpeed's own optimizer", why, f"stop all running builds, then `rm {' '.join(stale)}`")


def _started(case: Case) -> Any:
    """Joins the process group and returns the device of this rank."""
    import deepspeed
    import torch

    # Prevents DeepSpeed from compiling its shared-memory operator during a measurement.
    known = getattr(deepspeed.ops, "__compatible_ops__", {})
    known["deepspeed_shm_comm"] = False
    deepspeed.init_distributed(dist_backend="gloo" if case.on_cpu else "nccl", auto_mpi_discovery=False, verbose=False)
    return torch.device("cpu") if case.on_cpu else torch.device("cuda", int(os.environ["LOCAL_RANK"]))


def _decoder(torch: Any, case: Case) -> Any:
    """Creates the model of a rank. All ranks and the reference have the same weights, exact in the case's type."""
    from .networks import Decoder

    torch.manual_seed(SEED)
    model = Decoder(WORDS, case.count("width"), HEAD, case.count("num_layers"), case.count("sequence_length"))
    return model.bfloat16().float() if case.text("dtype") == "bf16" else model


def _batch(torch: Any, case: Case, rank: int) -> tuple[Any, Any]:
    """Returns the batch of a rank: tokens, and the token that follows each of them."""
    draw = torch.Generator().manual_seed(SEED + 1 + rank)
    made = torch.randint(0, WORDS, (case.count("batch_size"), case.count("sequence_length") + 1), generator=draw)
    return made[:, :-1], made[:, 1:]


def _loss(torch: Any, logits: Any, wanted: Any) -> Any:
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), wanted.flatten())


def _settings(case: Case, weights: int) -> dict[str, Any]:
    """Returns the configuration of DeepSpeed for a model with `weights` weights."""
    is_parallel = case.workload == "tensor-parallel"
    own = case.params.get("optimizer", "torch") == "torch"
    settings: dict[str, Any] = {
        "train_micro_batch_size_per_gpu": case.count("batch_size"),
        "optimizer": {"type": "Adam", "params": {"lr": RATE, "torch_adam": own, "adam_w_mode": False}},
        "zero_optimization": {
            "stage": 0 if is_parallel else case.count("zero_stage"),
            "overlap_comm": case.params.get("overlap_comm") == "on",
            # By default DeepSpeed reserves 2 GB for this bucket, even for small models.
            "reduce_bucket_size": min(int(5e8), weights),
            "stage3_param_persistence_threshold": 0,
        },
        "bf16": {"enabled": case.text("dtype") == "bf16"},
        "steps_per_print": 1 << 30,
    }
    if is_parallel:
        settings["tensor_parallel"] = {"autotp_size": case.count("num_ranks"), "partition_config": PARTITION}
    return settings


class Trainer:
    """The engine and batch of one rank."""

    def __init__(self, case: Case, rank: int) -> None:
        import torch

        _quiet(case)
        self.torch, self.case, self.device = torch, case, _started(case)
        import deepspeed

        # Created after the import of DeepSpeed, so that the memory of the import does not count.
        self.memory = HostAllocator() if case.on_cpu else GpuMemory(torch, self.device)
        model = _decoder(torch, case)
        settings = _settings(case, sum(weight.numel() for weight in model.parameters()))
        self.engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=settings)
        # Ranks that share layers train on the same batch; otherwise each rank has its own.
        share = [0] if case.workload == "tensor-parallel" else range(case.count("num_ranks"))
        self.batches = [_batch(torch, case, one) for one in share]
        self.tokens, self.wanted = (one.to(self.device) for one in self.batches[rank % len(self.batches)])
        self.watches: list[Watch] = []
        self.cut = 0

    def __call__(self, word: str, *more: Any) -> Any:
        """Calls the method that the parent process requests."""
        return getattr(self, word)(*more)

    def step(self, looking: Callable[[str], object] = lambda phase: None) -> Any:
        """Runs one training step and returns its loss. Calls `looking` at the end of each phase."""
        watch = Watch(self.torch, None if self.device.type == "cpu" else self.device)
        loss = _loss(self.torch, self.engine(self.tokens), self.wanted)
        watch.lap()
        looking("forward")
        self.engine.backward(loss)
        watch.lap()
        looking("backward")
        self.engine.step()
        watch.lap()
        looking("step")
        self.watches.append(watch)
        return loss

    def check(self) -> dict[str, Any]:
        """Runs the first steps; returns the loss of each step and the relative error of the gradient of each weight."""
        errors: dict[str, float] = {}

        def looking(phase: str) -> None:
            if phase == "backward" and not errors:
                errors.update(self._gradient_errors())

        losses = [self.step(looking).item() for _ in range(STEPS_CHECKED)]
        self.memory.begin()
        return {"losses": losses, "errors": errors, "cut": self.cut}

    def _gradient_errors(self) -> dict[str, float]:
        exact = _decoder(self.torch, self.case).double().to(self.device)
        for tokens, wanted in self.batches:
            logits, wanted = exact(tokens.to(self.device)).flatten(0, 1), wanted.flatten().to(self.device)
            (self.torch.nn.functional.cross_entropy(logits, wanted) / len(self.batches)).backward()
        found = dict(self.engine.module.named_parameters())
        return {name: self._error(found[name], weight.grad) for name, weight in exact.named_parameters()}

    def _error(self, weight: Any, exact: Any) -> float:
        gradient = self._whole(weight, exact.shape)
        if gradient is None:
            return float("inf")  # No gradient was computed.
        return ((gradient.double() - exact).abs().max() / exact.abs().max()).item()

    def _whole(self, weight: Any, shape: Any) -> Any:
        """Returns the gradient of a weight, gathered from all ranks if it is split, or None."""
        from deepspeed.utils import safe_get_full_grad

        part = safe_get_full_grad(weight)
        if part is None or part.shape == shape:
            return part
        self.cut += 1
        cut = next(place for place, (own, whole) in enumerate(zip(part.shape, shape)) if own != whole)
        parts = [self.torch.empty_like(part) for _ in range(self.case.count("num_ranks"))]
        self.torch.distributed.all_gather(parts, part.contiguous())
        return self.torch.cat(parts, cut)

    def seat(self) -> dict[str, str | None]:
        """Returns which GPU of the machine this rank uses."""
        return gpus.seat(self.torch, self.torch.cuda.current_device())

    def run(self, count: int) -> dict[str, Any]:
        """Runs `count` steps and returns nanoseconds in total and per phase."""
        self.watches = []
        self.torch.distributed.barrier()
        begin = time.perf_counter_ns()
        for _ in range(count):
            self.step()
        if self.device.type != "cpu":
            self.torch.cuda.synchronize(self.device)
        self.torch.distributed.barrier()
        total = time.perf_counter_ns() - begin
        laps = zip(*(watch.laps() for watch in self.watches))
        return {"total": total} | {name: sum(spent) for name, spent in zip(PHASES, laps)}

    def held(self) -> dict[str, Any]:
        """Runs a step; returns the bytes of weights and optimizer state, and the memory allocated during the step."""
        self.step(lambda _: self.memory.look())
        return {"state": _held(self.torch, self.engine)} | self.memory.fields()

    def talk(self) -> float:
        """Returns the nanoseconds per step spent in collectives, including waiting, according to PyTorch's profiler."""
        profiler = self.torch.profiler
        on_cpu = self.device.type == "cpu"
        kind = profiler.ProfilerActivity.CPU if on_cpu else profiler.ProfilerActivity.CUDA
        self.torch.distributed.barrier()
        with profiler.profile(activities=[kind]) as profile:
            for _ in range(STEPS_WATCHED):
                self.step()
            if not on_cpu:
                self.torch.cuda.synchronize(self.device)
        return spoken_us(profile.events(), on_cpu) * 1e3 / STEPS_WATCHED


def spoken_us(events: Any, on_cpu: bool) -> float:
    """Returns the total microseconds of collectives among profiler events (gloo, or NCCL and RCCL kernels)."""
    if on_cpu:
        return sum(event.time_range.elapsed_us() for event in events if event.name.startswith("gloo:"))
    kernels = (event for event in events if event.name.startswith(("nccl", "rccl")) and "Kernel" in event.name)
    return sum(event.device_time_total for event in kernels)


class Watch:
    """A lap timer with GPU events or the host clock. It does not synchronize with the GPU between phases."""

    def __init__(self, torch: Any, gpu: Any) -> None:
        self._torch, self._gpu = torch, gpu
        self._marks: list[Any] = []
        self.lap()

    def lap(self) -> None:
        """Marks the end of a phase."""
        if self._gpu is None:
            self._marks.append(time.perf_counter_ns())
        else:
            event = self._torch.cuda.Event(enable_timing=True)
            event.record()
            self._marks.append(event)

    def laps(self) -> list[float]:
        """Returns the nanoseconds of each phase. Must be called after the GPU has finished."""
        pairs = list(zip(self._marks, self._marks[1:]))
        if self._gpu is None:
            return [float(end - begin) for begin, end in pairs]
        return [begin.elapsed_time(end) * 1e6 for begin, end in pairs]


def _held(torch: Any, engine: Any) -> int:
    """Returns the bytes of this rank's weights, gradients and optimizer state, as stored in tensors."""
    seen: dict[int, int] = {}

    def walk(value: Any) -> None:
        if isinstance(value, torch.Tensor):
            storage = value.untyped_storage()
            seen[storage.data_ptr()] = storage.nbytes()
        elif isinstance(value, dict):
            for one in cast("dict[Any, Any]", value).values():
                walk(one)
        elif isinstance(value, (list, tuple)):
            for one in cast("Sequence[Any]", value):
                walk(one)

    for weight in engine.module.parameters():
        walk([weight, weight.grad, getattr(weight, "ds_tensor", None)])
    inner = engine.optimizer
    while inner is not None:
        walk(list(getattr(inner, "state", {}).values()))
        walk([group["params"] for group in getattr(inner, "param_groups", [])])
        following = getattr(inner, "optimizer", None)
        inner = following if following is not inner else None
    return sum(seen.values())


def verified(case: Case, found: Any, exact: Any) -> float:
    """Verifies the losses and gradients of all ranks.

    Args:
        case: the case.
        found: what `Trainer.check` returned on each rank.
        exact: losses of a single process that trains on all batches.

    Returns:
        The largest relative error of any gradient on any rank.

    Raises:
        Failure: if a gradient or loss is wrong, or a layer was not split.
    """
    allowed, dtype = TOLERANCES[case.text("dtype")], case.text("dtype")
    errors = [(error, name, rank) for rank, one in enumerate(found) for name, error in one["errors"].items()]
    worst, name, rank = max(errors, key=lambda one: one[0] if one[0] == one[0] else float("inf"))
    if not worst <= allowed:
        why = f"that of {name} on rank {rank} is off by {worst:.3g} of its largest value; at most {allowed:.3g} is allowed"
        raise Failure(f"gradients of {case.workload}", why, CURE)
    if case.workload == "tensor-parallel" and len(found) > 1 and not all(one["cut"] for one in found):
        why = "a rank holds all weights, so no layer was split"
        raise Failure(f"{case.workload} on {len(found)} ranks", why, "report it to DeepSpeed")
    losses = [sum(one["losses"][step] for one in found) / len(found) for step in range(STEPS_CHECKED)]
    off = max(abs(own - one) / one for own, one in zip(losses, exact))
    if not off <= LOSS_TOLERANCES[dtype]:
        why = f"one of {STEPS_CHECKED} steps is off by {off:.3g}; at most {LOSS_TOLERANCES[dtype]:.3g} is allowed"
        raise Failure(f"losses of {case.workload}", why, CURE)
    return worst


def _alone(torch: Any, case: Case, batches: list[tuple[Any, Any]]) -> list[float]:
    """Returns the losses of a single process that trains on all batches, in f32 on the case's device."""
    _, device = torch_device(case)
    model = _decoder(torch, case).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    losses: list[float] = []
    if case.text("dtype") == "bf16" and (case.workload == "tensor-parallel" or case.count("zero_stage") == 0):
        # In these cases DeepSpeed creates the optimizer state with a step without gradients. The
        # optimizer counts that step, so later steps are shorter.
        for weight in model.parameters():
            weight.grad = torch.zeros_like(weight)
        optimizer.step()
    for _ in range(STEPS_CHECKED):
        optimizer.zero_grad()
        loss: Any = sum(_loss(torch, model(tokens.to(device)), wanted.to(device)) for tokens, wanted in batches) / len(batches)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


class Trained(Work):
    """Runs training steps on all ranks, and accumulates the times of the phases over all samples."""

    def __init__(self, ranks: Ranks, fields: Callable[[float], dict[str, Any]]) -> None:
        super().__init__(lambda: None, fields)
        self._ranks, self._count, self._spent = ranks, 0, dict.fromkeys(PHASES, 0.0)

    def sample(self, iters: int) -> float:
        """Runs `iters` steps and returns the nanoseconds that the slowest rank took."""
        answers = self._ranks.ask("run", iters)
        self._count += iters
        for name in PHASES:
            self._spent[name] += max(one[name] for one in answers)
        return float(max(one["total"] for one in answers))

    def phases(self) -> dict[str, float]:
        """Returns the mean time of each phase over all steps, in milliseconds."""
        names = dict(zip(PHASES, ("forward_time_ms", "backward_time_ms", "optimizer_step_time_ms")))
        return {names[name]: milliseconds(spent / max(self._count, 1)) for name, spent in self._spent.items()}


# Computes workload-specific fields from nanoseconds per step, the memory of each rank, and the
# number of weights.
_More = Callable[[float, list[dict[str, Any]], int], dict[str, Any]]


def _training(case: Case, role: Callable[[Case, int], Callable[..., Any]], more: _More) -> Work:
    """Prepares verified training steps. `more` computes the workload-specific fields."""
    torch, _ = torch_device(case)
    ranks = Ranks(case, role)
    if not case.on_cpu:
        gpus.check_ranks(case, ranks.ask("seat"))
    found = ranks.ask("check")
    share = [0] if case.workload == "tensor-parallel" else range(case.count("num_ranks"))
    error = verified(case, found, _alone(torch, case, [_batch(torch, case, one) for one in share]))

    def fields(time_ns: float) -> dict[str, Any]:
        held = ranks.ask("held")
        talk = min(ranks.ask("talk"))  # The last rank to arrive waits for no other.
        with torch.device("meta"):
            model = _decoder(torch, case)
        described = model_fields("decoder", model)
        size = 2 if case.text("dtype") == "bf16" else 4
        samples = case.count("batch_size") * len(share)
        peaks = {name: max(one[name] for one in held) for name in held[0] if name != "state"}
        return {
            "num_ranks": case.count("num_ranks"),
            "dtype": case.text("dtype"),
            "batch_size": case.count("batch_size"),
            "sequence_length": case.count("sequence_length"),
            "num_layers": case.count("num_layers"),
            **described,
            "model_size_gb": size * described["parameter_count"] / 1e9,
            **work.phases(),
            **peaks,
            "communication_overhead_ms": milliseconds(talk),
            "communication_overhead_percent": 100.0 * talk / time_ns,
            "throughput_samples_per_second": samples * 1e9 / time_ns,
            "tokens_per_second": samples * case.count("sequence_length") * 1e9 / time_ns,
            "accuracy_error": error,
        } | more(time_ns, held, described["parameter_count"])

    work = Trained(ranks, fields)
    return work


def zero(case: Case) -> Work:
    """Prepares training steps under a stage of ZeRO."""
    stage, overlap = case.count("zero_stage"), case.params.get("overlap_comm", "off")
    if stage > 3:
        raise Skip(f"ZeRO stage {stage}", "ZeRO only has stages 0 to 3", "choose one of these")
    if overlap == "on" and (case.on_cpu or stage == 0):
        why = "a CPU has no second stream for the sums" if case.on_cpu else "stage 0 sums after the backward pass"
        raise Skip("overlap_comm=on", why, "choose overlap_comm=off, or stages 1 to 3 on GPUs")

    def more(_: float, held: list[dict[str, Any]], parameters: int) -> dict[str, Any]:
        # Weights, and in f32 the two moments of Adam and, for bf16, a copy of the weights.
        whole = (14 if case.text("dtype") == "bf16" else 12) * parameters
        return {
            "zero_stage": stage,
            "optimizer": case.text("optimizer"),
            "overlap": overlap,
            "memory_saved_gb": (whole - max(one["state"] for one in held)) / 1e9,
        }

    return _training(case, Trainer, more)


def tensor_parallel(case: Case) -> Work:
    """Prepares training steps with layers split by AutoTP, compared with a single rank that holds whole layers."""
    ranks = case.count("num_ranks")

    def more(time_ns: float, _: object, __: object) -> dict[str, Any]:
        return {"provider": "deepspeed AutoTP"} | _scaled(case, ranks, time_ns)

    return _training(case, Trainer, more)


def _scaled(case: Case, ranks: int, time_ns: float) -> dict[str, Any]:
    """Returns the speedup over one rank with the same resources as each rank: one GPU, or its share of the CPU's threads."""
    alone = time_ns
    if ranks > 1:
        one = Case(case.component, case.workload, case.device, case.params | {"num_ranks": "1"})
        single = Ranks(one, Trainer, thread_shares=ranks)
        single.ask("run", 2)
        alone = min(single.ask("run", 1)[0]["total"] for _ in range(10))
        single.close()
    return {"speedup": alone / time_ns, "efficiency": alone / time_ns / ranks}


WORKLOADS = {"zero": zero, "tensor-parallel": tensor_parallel}
