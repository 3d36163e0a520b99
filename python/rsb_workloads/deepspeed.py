"""DeepSpeed: training steps under the stages of ZeRO, and layers shared among ranks. Each rank is a process of its own."""

import multiprocessing
import os
import socket
import sys
import time
import traceback

from .core import Case, Failure, Skip, Work, milliseconds, model_fields, package, torch_device, within

SEED = 20_231
# How long a rank may take to start, or to answer; the case's own limit is usually over before.
START_SECONDS = 240
# How far the loss may be from that of one process that trains alone.
TOLERANCE = 1e-3


def check(case: Case):
    """Whether DeepSpeed is here, and as many devices as ranks."""
    torch, _ = torch_device(case)
    _quiet(case)
    package("deepspeed")
    if case.params.get("optimizer") == "deepspeed":
        _refuse_stale_locks()
    ranks = case.count("num_ranks")
    if not case.on_cpu and ranks > torch.cuda.device_count():
        why = f"there are {torch.cuda.device_count()} GPUs for {ranks} ranks"
        raise Skip(f"DeepSpeed on {case.device}", why, "ask for fewer: --axis num_ranks=1")


def version() -> str:
    """DeepSpeed's."""
    return package("deepspeed").__version__


def _quiet(case: Case):
    """Nothing is compiled at run time unless asked: the optimizer is PyTorch's, and no shared-memory operator is built."""
    os.environ["DS_SKIP_CUDA_CHECK"] = "1"
    os.environ.setdefault("DEEPSPEED_LOG_LEVEL", "error")
    if case.on_cpu:
        os.environ["DS_ACCELERATOR"] = "cpu"


# A build of one operator takes minutes; a lock that is older than this belongs to nobody.
STALE_SECONDS = 1800


def _refuse_stale_locks():
    """A build that was ended leaves its lock, and PyTorch's next build of the same waits for it for ever."""
    root = os.environ.get("TORCH_EXTENSIONS_DIR") or os.path.expanduser("~/.cache/torch_extensions")
    locks = [os.path.join(directory, "lock") for directory, _, files in os.walk(root) if "lock" in files]
    stale = [lock for lock in locks if time.time() - os.path.getmtime(lock) > STALE_SECONDS]
    if stale:
        why = f"the lock {stale[0]} was left by a build that ended, and a new one would wait for it for ever"
        raise Skip("DeepSpeed's own optimizer", why, f"end what still builds, then `rm {' '.join(stale)}`")


class Ranks:
    """Processes that do the same at the same time, told by this one."""

    def __init__(self, case: Case, role):
        context = multiprocessing.get_context("spawn")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.pipes, self._processes = [], []
        for rank in range(case.count("num_ranks")):
            ours, theirs = context.Pipe()
            process = context.Process(target=_rank, args=(role, case, rank, port, theirs), daemon=True)
            process.start()
            theirs.close()
            self.pipes.append(ours)
            self._processes.append(process)

    def ask(self, *words):
        """Every rank's answer to the same question."""
        for pipe in self.pipes:
            pipe.send(words)
        return [self._answer(rank) for rank in range(len(self.pipes))]

    def _answer(self, rank: int):
        pipe = self.pipes[rank]
        try:
            if pipe.poll(START_SECONDS):
                kind, answer = pipe.recv()
            else:
                kind, answer = "failed", f"it did not answer within {START_SECONDS} s"
        except EOFError:
            self._processes[rank].join(5)
            kind, answer = "failed", f"its process ended with {self._processes[rank].exitcode}"
        if kind == "failed":
            raise Failure(f"rank {rank}", answer, "run it with one rank: --axis num_ranks=1, and RSB_LOG=debug")
        return answer


def _rank(role, case: Case, rank: int, port: int, pipe):
    """The life of a rank: prepare, then answer until nobody asks."""
    try:
        # A rank must not outlive its master, whatever becomes of that.
        import ctypes
        import signal

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        ranks = case.count("num_ranks")
        os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "RANK": str(rank), "LOCAL_RANK": str(rank)}
        os.environ |= {"WORLD_SIZE": str(ranks), "LOCAL_SIZE": str(ranks)}
        _quiet(case)
        import torch

        torch.manual_seed(SEED)
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // ranks))
        answer = role(case, rank)
        while True:
            question = pipe.recv()
            pipe.send(("well", answer(*question)))
    except EOFError:
        pass  # Nobody asks any more.
    except BaseException as error:
        traceback.print_exc(file=sys.stderr)
        pipe.send(("failed", f"{type(error).__name__}: {error}".splitlines()[0][:500]))


def _started(case: Case):
    """The group of this rank, and its device."""
    import deepspeed
    import torch

    # It would be compiled now, in the middle of a measurement.
    known = getattr(deepspeed.ops, "__compatible_ops__", {})
    known["deepspeed_shm_comm"] = False
    deepspeed.init_distributed(dist_backend="gloo" if case.on_cpu else "nccl", auto_mpi_discovery=False, verbose=False)
    return torch.device("cpu") if case.on_cpu else torch.device("cuda", int(os.environ["LOCAL_RANK"]))


def _layers(torch, case: Case):
    """The same layers on every rank and in the reference."""
    torch.manual_seed(SEED)
    width = case.count("width")
    parts = [part for _ in range(case.count("num_layers")) for part in (torch.nn.Linear(width, width), torch.nn.Tanh())]
    return torch.nn.Sequential(*parts)


def _batch(torch, case: Case, rank: int):
    """What a rank trains on: inputs and what should come out."""
    draw = torch.Generator().manual_seed(SEED + 1 + rank)
    return torch.rand(2, case.count("batch_size"), case.count("width"), generator=draw) * 2 - 1


RATE = 1e-3
STEPS_CHECKED = 3


def _zero_role(case: Case, rank: int):
    import deepspeed
    import torch

    device = _started(case)
    model = _layers(torch, case)
    own = case.text("optimizer") == "torch"
    settings = {
        "train_micro_batch_size_per_gpu": case.count("batch_size"),
        "optimizer": {"type": "Adam", "params": {"lr": RATE, "torch_adam": own, "adam_w_mode": False}},
        "zero_optimization": {"stage": case.count("zero_stage"), "overlap_comm": False, "stage3_param_persistence_threshold": 0},
        "steps_per_print": 1 << 30,
    }
    engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=settings)
    x, y = (one.to(device) for one in _batch(torch, case, rank))

    def step(times=None):
        begin = time.perf_counter_ns()
        loss = (engine(x) - y).square().mean()
        forward = time.perf_counter_ns()
        engine.backward(loss)
        backward = time.perf_counter_ns()
        engine.step()
        end = time.perf_counter_ns()
        if times is not None:
            for name, spent in (("forward", forward - begin), ("backward", backward - forward), ("step", end - backward)):
                times[name] = times.get(name, 0) + spent
        return loss

    def answer(word, count=0):
        if word == "check":
            return [step().item() for _ in range(count)]
        if word == "memory":
            return _held(torch, engine)
        times = {}
        torch.distributed.barrier()
        begin = time.perf_counter_ns()
        for _ in range(count):
            step(times)
        if not case.on_cpu:
            torch.cuda.synchronize(device)
        torch.distributed.barrier()
        return {"total": time.perf_counter_ns() - begin} | times

    return answer


def _held(torch, engine) -> int:
    """Bytes of this rank's weights and state of the optimizer after a step, as they stand in its tensors."""
    seen = {}

    def walk(value):
        if isinstance(value, torch.Tensor):
            storage = value.untyped_storage()
            seen[storage.data_ptr()] = storage.nbytes()
        elif isinstance(value, dict):
            for one in value.values():
                walk(one)
        elif isinstance(value, (list, tuple)):
            for one in value:
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


def zero(case: Case) -> Work:
    """Training steps; the losses of the first must be those of one process that trains on every batch alone."""
    torch, _ = torch_device(case)
    if case.count("zero_stage") > 3:
        raise Skip(f"ZeRO stage {case.text('zero_stage')}", "there are stages 0 to 3", "choose one of these")
    ranks = Ranks(case, _zero_role)
    found = ranks.ask("check", STEPS_CHECKED)
    losses = [sum(of_rank[step] for of_rank in found) / len(found) for step in range(STEPS_CHECKED)]
    exact = _alone(torch, case)
    error = within(case, max(abs(a - b) for a, b in zip(losses, exact)), max(exact), TOLERANCE)
    held = max(ranks.ask("memory"))
    last = {}

    class Trained(Work):
        def sample(self, iters: int) -> float:
            answers = ranks.ask("run", iters)
            last.update({name: max(one[name] for one in answers) / iters for name in answers[0]})
            return float(max(one["total"] for one in answers))

    def fields(time_ns):
        alone = _alone_ns(torch, case)
        model = model_fields("mlp", _layers(torch, case))
        # Weights and two moments of Adam, in f32, all on one rank.
        whole = 4 * 3 * model["parameter_count"]
        return {
            "zero_stage": case.count("zero_stage"),
            "num_ranks": case.count("num_ranks"),
            "batch_size": case.count("batch_size"),
            "num_layers": case.count("num_layers"),
            **model,
            "optimizer": case.text("optimizer"),
            "forward_time_ms": milliseconds(last["forward"]),
            "backward_time_ms": milliseconds(last["backward"]),
            "optimizer_step_time_ms": milliseconds(last["step"]),
            "memory_used_mb": held / 1e6,
            "memory_saved_gb": (whole - held) / 1e9,
            "communication_overhead_percent": max(0.0, 100.0 * (1 - alone / time_ns)),
            "throughput_samples_per_second": case.count("num_ranks") * case.count("batch_size") * 1e9 / time_ns,
            "accuracy_error": error,
        }

    return Trained(lambda: None, fields)


def _training(torch, case: Case, batches):
    model = _layers(torch, case)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)

    def step():
        optimizer.zero_grad()
        loss = sum((model(x) - y).square().mean() for x, y in batches) / len(batches)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def _alone(torch, case: Case):
    step = _training(torch, case, [_batch(torch, case, rank) for rank in range(case.count("num_ranks"))])
    return [step() for _ in range(STEPS_CHECKED)]


def _alone_ns(torch, case: Case) -> float:
    """A step of one rank's batch without DeepSpeed and without any other rank, with as many threads as a rank has."""
    threads = torch.get_num_threads()
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // case.count("num_ranks")))
    step, times = _training(torch, case, [_batch(torch, case, 0)]), []
    for _ in range(12):
        begin = time.perf_counter_ns()
        step()
        times.append(time.perf_counter_ns() - begin)
    torch.set_num_threads(threads)
    return float(sorted(times)[len(times) // 2])


def _parallel_role(case: Case, rank: int):
    import torch

    device = _started(case)
    ranks, width = case.count("num_ranks"), case.count("width")
    share = width // ranks
    torch.manual_seed(SEED)
    layers = []
    for _ in range(case.count("num_layers")):
        first, second = (torch.rand(width, width) * 2 - 1 for _ in range(2))
        mine = slice(rank * share, (rank + 1) * share)
        # The first is cut by its outputs, the second by its inputs: one sum over the ranks a pair.
        layers.append([(part / width**0.5).contiguous().to(device).requires_grad_() for part in (first[:, mine], second[mine])])
    x = _batch(torch, case, 0)[0].to(device)

    class Summed(torch.autograd.Function):
        @staticmethod
        def forward(context, value):
            value = value.clone()
            torch.distributed.all_reduce(value)
            return value

        @staticmethod
        def backward(context, gradient):
            return gradient

    def forward():
        value = x
        for first, second in layers:
            value = Summed.apply(torch.tanh(value @ first) @ second)
        return value

    def answer(word, count=0):
        if word == "check":
            return forward().detach().cpu().tolist()
        spent = [0, 0]
        torch.distributed.barrier()
        for _ in range(count):
            begin = time.perf_counter_ns()
            value = forward()
            middle = time.perf_counter_ns()
            value.square().mean().backward()
            if not case.on_cpu:
                torch.cuda.synchronize(device)
            spent[0] += middle - begin
            spent[1] += time.perf_counter_ns() - middle
        return spent

    return answer


def tensor_parallel(case: Case) -> Work:
    """Pairs of layers cut among ranks; the result must be that of the whole layers in double precision."""
    torch, _ = torch_device(case)
    width, ranks = case.count("width"), case.count("num_ranks")
    if width % ranks:
        raise Skip(f"{width} wide layers on {ranks} ranks", "the width is no multiple of the ranks", "choose others")
    torch.manual_seed(SEED)
    pairs = [[(torch.rand(width, width) * 2 - 1) / width**0.5 for _ in range(2)] for _ in range(case.count("num_layers"))]
    exact = _batch(torch, case, 0)[0].double()
    for first, second in pairs:
        exact = torch.tanh(exact @ first.double()) @ second.double()
    group = Ranks(case, _parallel_role)
    result = torch.tensor(group.ask("check")[0], dtype=torch.float64)
    error = within(case, (result - exact).abs().max().item(), exact.abs().max().item(), 1e-4)
    last = {}

    class Shared(Work):
        def sample(self, iters: int) -> float:
            answers = group.ask("run", iters)
            last["forward"], last["backward"] = (max(one[part] for one in answers) / iters for part in (0, 1))
            return float(max(sum(one) for one in answers))

    def fields(time_ns):
        alone = time_ns
        if ranks > 1:
            single = Ranks(Case(case.component, case.workload, case.device, case.params | {"num_ranks": "1"}), _parallel_role)
            single.ask("run", 2)
            alone = min(sum(single.ask("run", 1)[0]) for _ in range(10))
        speedup = alone / time_ns
        return {
            "num_ranks": ranks,
            "batch_size": case.count("batch_size"),
            "num_layers": case.count("num_layers"),
            "forward_time_ms": milliseconds(last["forward"]),
            "backward_time_ms": milliseconds(last["backward"]),
            "speedup": speedup,
            "efficiency": speedup / ranks,
            "accuracy_error": error,
        }

    return Shared(lambda: None, fields)
