"""Cases, with the ids that the program uses, so that results can be compared with its baselines."""
from __future__ import annotations

import enum
import itertools
import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Union, cast

Value = Union[str, int, float, tuple[int, ...]]
# A number, or the sizes of a shape: a tuple, a list, or text such as `64x64`.
Size = Union[int, float, str, Sequence[int]]
# One or several; also arrays of NumPy.
Sizes = Union[Size, Sequence[Size]]
# Data types: names in any spelling, members of an enumeration, or types of PyTorch; one or several.
Dtypes = Union[str, enum.Enum, Sequence[Union[str, enum.Enum]], Any]

# Axes of each workload, in the order in which they appear in ids. An axis with a default appears
# only if its value differs from it.
_BATCH = ("batch_size", "1")
_HEADS = (("num_heads", "8"), ("head_dim", "64"))
_ATTENTION = ("sequence_length", ("causal", "no"), _BATCH, *_HEADS)
_MODEL = ("model", "random")
_GRAPH = (
    *(("batch_size", "8"), ("width", "256"), ("num_layers", "4"), ("network", "mlp"), ("dtype", "f32")),
    ("sequence_length", "128"),
)
_DECODER = (("width", "512"), ("num_layers", "2"), _BATCH, ("sequence_length", "64"), ("dtype", "f32"))
_PREFIX = (("prefix_cache", "off"), ("shared_prefix", "0"))
_PROMPT = (("prompt_length", "128"), ("output_length", "32"))
_EXECUTION = ("execution", "auto")
_SERVED = (_MODEL, ("model_shape", "small"), ("width", "512"), ("num_layers", "4"))

AXES: dict[tuple[str, str], Sequence[str | tuple[str, str]]] = {
    ("pytorch", "matmul"): ("dtype", "shape", ("transpose", "nn")),
    ("pytorch", "convolution"): (
        *("dtype", "input", "weight"),
        *(("stride", "1"), ("padding", "0"), ("dilation", "1"), ("groups", "1")),
    ),
    ("pytorch", "memory-transfer"): ("direction", "size", ("host_memory", "pinned")),
    ("pytorch", "autograd"): ("dtype", "operation", ("batch_size", "64"), ("width", "256"), ("num_layers", "4")),
    ("pytorch", "torch-compile"): ("dtype", "compilation", "rows"),
    ("pytorch", "execution"): (
        *("dtype", "execution", _BATCH, ("sequence_length", "64"), ("width", "256"), ("num_layers", "2")),
    ),
    ("pytorch", "training"): ("dtype", ("batch_size", "4"), ("sequence_length", "64"), ("width", "256"), ("num_layers", "2")),
    ("pytorch", "layer-norm"): ("dtype", "rows"),
    ("pytorch", "transformer"): (
        *("dtype", "operation", ("use_cache", "yes"), _BATCH),
        *(("prompt_length", "128"), ("output_length", "16"), ("width", "256"), ("num_layers", "4"), _MODEL),
    ),
    ("pytorch", "attention"): ("dtype", *_ATTENTION),
    ("triton", "compile"): ("kernel", "target", "dtype", ("num_warps", "4"), ("num_stages", "2"), ("compilation", "cold")),
    ("triton", "operation"): ("kernel", "dtype", ("size", "4096")),
    ("flash-attention", "flash"): ("dtype", "operation", *_ATTENTION, ("num_kv_heads", "0")),
    ("deepspeed", "zero"): ("zero_stage", ("num_ranks", "2"), *_DECODER, ("optimizer", "torch"), ("overlap_comm", "off")),
    ("deepspeed", "tensor-parallel"): (("num_ranks", "2"), *_DECODER),
    ("vllm", "generation"): (("num_prompts", "8"), *_PROMPT, _EXECUTION, *_SERVED, *_PREFIX),
    ("vllm", "serve"): (
        *("request_rate", ("num_requests", "8"), *_PROMPT),
        *(("ttft_limit", "1000"), ("tpot_limit", "100"), _EXECUTION, *_SERVED, *_PREFIX),
    ),
    ("onnxruntime", "inference"): _GRAPH,
    ("onnxruntime", "graph-optimization"): ("graph_optimization", *_GRAPH),
    ("onnxruntime", "compilation"): ("graph_optimization", *_GRAPH),
    ("migraphx", "inference"): _GRAPH,
    ("migraphx", "compilation"): _GRAPH,
}

# Data types by their name in ids, with alternative spellings of each.
DTYPES: dict[str, tuple[str, ...]] = {
    "f64": ("float64", "fp64", "double"),
    "f32": ("float32", "fp32", "float"),
    "tf32": ("tensorfloat32",),
    "f16": ("float16", "fp16", "half"),
    "bf16": ("bfloat16",),
    "fp8": ("float8", "f8", "e4m3"),
    "bf8": ("e5m2",),
    "i8": ("int8",),
    "fp6": ("e2m3",),
    "fp4": ("e2m1",),
    "i4": ("int4",),
}

# Accepted words of axes. The key is the axis, or component, workload and axis if the words of the
# workload differ. The words match the program's own table (workloads.toml).
CHOICES: dict[str, tuple[str, ...]] = {
    "operation": ("forward", "backward"),
    "pytorch/transformer/operation": ("prefill", "decode"),
    "execution": ("auto", "eager", "compiled"),
    "pytorch/execution/execution": ("eager", "compiled", "graph"),
    "transpose": ("nn", "tn", "nt", "tt"),
    "direction": ("cpu_to_gpu", "gpu_to_cpu", "gpu_to_gpu", "gpu_to_peer"),
    "host_memory": ("pinned", "pageable"),
    "compilation": ("cold", "warm"),
    "causal": ("no", "yes"),
    "use_cache": ("yes", "no"),
    "kernel": ("vector-add", "softmax", "layer-norm", "matmul", "attention"),
    "optimizer": ("torch", "deepspeed"),
    "overlap_comm": ("off", "on"),
    "prefix_cache": ("off", "on"),
    "model_shape": ("small", "auto", "llama-2-7b", "llama-3-8b"),
    "network": ("mlp", "encoder", "convolutional", "decoder-step"),
    "graph_optimization": ("disabled", "basic", "extended", "all"),
    "target": ("gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1200", "gfx1201", "sm_90", "sm_100"),
}

# Last stage of ZeRO.
_LAST_STAGE = 3

# Alternative spellings of the words in `CHOICES`.
_SPELLINGS = {
    "host_to_device": "cpu_to_gpu",
    "h2d": "cpu_to_gpu",
    "device_to_host": "gpu_to_cpu",
    "d2h": "gpu_to_cpu",
    "device_to_device": "gpu_to_gpu",
    "d2d": "gpu_to_gpu",
    "device_to_peer": "gpu_to_peer",
}

# Published models, by their name on huggingface.co, whose shapes are known here; their weights are random.
PUBLISHED = {"meta-llama/Llama-2-7b-hf": "llama-2-7b", "meta-llama/Meta-Llama-3-8B": "llama-3-8b"}

# Axes that give the shape of a sample, by network.
_INPUTS = {
    "mlp": ("width",),
    "encoder": ("sequence_length", "width"),
    "decoder-step": ("sequence_length", "width"),
    "convolutional": ("sequence_length",),
}

# Number of sizes in the value of each axis that takes a list of sizes.
RANKS = {"shape": 3, "input": 4, "weight": 4, "rows": 2}

# Axes that are integers of at least 1.
_COUNTS = frozenset(
    ("batch_size", "width", "num_layers", "sequence_length", "num_heads", "head_dim", "prompt_length", "output_length")
    + ("num_prompts", "num_requests", "num_ranks", "num_warps", "num_stages", "stride", "dilation", "groups")
)


class Case(NamedTuple):
    """One combination of axis values of a workload, on a device."""

    component: str
    workload: str
    device: str
    params: Mapping[str, str]

    @property
    def id(self) -> str:
        """Returns the id, formatted as by the program."""
        segments = ["component_specific", self.component, self.device, self.workload]
        for name, default in _axes(self.component, self.workload):
            value = self.params[name]
            if default is None:
                segments.append(value)
            elif value != default:
                segments.append(f"{name}={value.replace('/', '_')}")
        return "/".join(segments)

    def request(self) -> dict[str, object]:
        """Returns the case in the format of a worker's request."""
        return {
            "id": self.id,
            "benchmark": self.component,
            "benchmark_type": "component_specific",
            "device": self.device,
            "params": {"workload": self.workload, **self.params},
        }


def _axes(component: str, workload: str) -> Iterable[tuple[str, str | None]]:
    for axis in AXES[component, workload]:
        yield (axis, None) if isinstance(axis, str) else axis


def axis_names(component: str, workload: str) -> list[str]:
    """Returns the names of the axes of a workload."""
    return [name for name, _ in _axes(component, workload)]


def plain(value: Any) -> Any:
    """Converts NumPy arrays and scalars to Python lists and numbers; returns other values unchanged."""
    return value.tolist() if hasattr(value, "tolist") else value


def is_integer(value: object) -> bool:
    """Returns whether a value is a single integer, of Python or NumPy."""
    return isinstance(value, numbers.Integral)


def written(value: Any) -> str:
    """Formats a value as case ids contain it: sizes joined by `x`, booleans as `yes` and `no`."""
    value = plain(value)
    if isinstance(value, enum.Enum):
        return written(value.value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (tuple, list)):
        return "x".join(str(size) for size in cast("Sequence[Any]", value))
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def dtype_of(value: Any) -> str:
    """Returns the name of a data type as case ids contain it: `f16` for `float16`, `fp16` or `torch.float16`.

    Raises:
        ValueError: if the data type is unknown.
    """
    text = written(value).lower()
    text = text.removeprefix("torch.")
    for name, spellings in DTYPES.items():
        if text == name or text in spellings:
            return name
    known = ", ".join(f"{name} ({', '.join(spellings)})" for name, spellings in DTYPES.items())
    raise ValueError(f"unknown data type {written(value)!r}; use one of {known}")


def word_of(what: str, value: Any, words: Sequence[str]) -> str:
    """Returns the word of `words` that `value` names; `-` and `_` are the same.

    Args:
        what: name of the setting, for error messages.
        value: the word, in any spelling.
        words: the accepted words.

    Raises:
        ValueError: if `value` is none of them.
    """
    text = written(value).lower()
    text = _SPELLINGS.get(text, text)
    for word in words:
        if text.replace("_", "-") == word.replace("_", "-"):
            return word
    raise ValueError(f"unknown {what} {written(value)!r}; use one of {', '.join(words)}")


def shape_of(what: str, value: Any, rank: int) -> str:
    """Returns sizes joined by `x`.

    Args:
        what: name of the setting, for error messages.
        value: the sizes, as a tuple or joined by `x`.
        rank: the number of sizes.

    Raises:
        ValueError: if `value` is not `rank` integers of at least 1.
    """
    text = written(value)
    sizes = text.split("x")
    if len(sizes) != rank or not all(size.isdecimal() and int(size) > 0 for size in sizes):
        example = "(" + ", ".join(["64"] * rank) + ("," if rank == 1 else "") + ")"
        raise ValueError(f"invalid {what} {text!r}; use {rank} integers of at least 1, such as {example}")
    return text


def size_text(size: Any) -> str:
    """Returns a number of bytes as case ids contain it, such as `64MiB`; text is returned as it is.

    Raises:
        ValueError: if the number is not an integer above zero.
    """
    if isinstance(size, str):
        return size
    size = plain(size)
    if isinstance(size, bool) or not isinstance(size, (int, float)) or int(size) != size or size <= 0:
        raise ValueError(f"invalid size {size!r}; use an integer above zero, in bytes, or text such as 64MiB")
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size % factor == 0:
            return f"{int(size) // factor}{unit}"
    return f"{int(size)}B"


def listed(values: Any, of_sizes: bool = False) -> list[Any]:
    """Returns values as a list: a single one is a list of one.

    Args:
        values: one value, or several.
        of_sizes: whether each value is a list of sizes.
    """
    values = plain(values)
    if isinstance(values, str) or not isinstance(values, Iterable):
        return [values]
    several: list[Any] = list(cast("Iterable[Any]", values))
    if of_sizes and several and all(is_integer(one) for one in several):
        return [tuple(several)]
    return several


def input_axes(models: Any, input_shapes: Any, more: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the axes of graphs for each network and shape of its input.

    Args:
        models: one or several networks, or None for the default one.
        input_shapes: one or several shapes of a sample: `(width,)`, `(edge,)` of an image, or `(positions,
            width)`; None for the axes in `more`.
        more: values of other axes.

    Raises:
        TypeError: if a size is given under two names.
        ValueError: if a network is unknown, or has inputs of another rank.
    """
    networks = [word_of("model", one, CHOICES["network"]) for one in listed("mlp" if models is None else models)]
    if input_shapes is None:
        return [{"network": networks, **more}]
    points: list[dict[str, Any]] = []
    for network, shape in itertools.product(networks, listed(input_shapes, True)):
        names = _INPUTS[network]
        sizes = shape_of(f"input shape of {network}", (shape,) if is_integer(shape) else shape, len(names))
        twice = [name for name in names if name in more]
        if twice:
            raise TypeError(f"input_shapes and {twice[0]} are names of the same parameter; give only one of them")
        points.append({"network": network, **dict(zip(names, sizes.split("x"))), **more})
    return points


def _canonical(component: str, workload: str, axis: str, value: Any) -> str:
    """Returns the value of an axis as case ids contain it.

    Raises:
        ValueError: if the axis does not accept the value.
    """
    if axis == "dtype":
        return dtype_of(value)
    choices = CHOICES.get(f"{component}/{workload}/{axis}", CHOICES.get(axis))
    if choices is not None:
        return word_of(axis, value, choices)
    if axis in RANKS:
        return shape_of(axis, value, RANKS[axis])
    text = written(value)
    if axis == "zero_stage" and not (text.isdecimal() and int(text) <= _LAST_STAGE):
        raise ValueError(f"invalid zero_stage {text!r}; use an integer from 0 to {_LAST_STAGE}")
    if axis in _COUNTS and not (text.isdecimal() and int(text) > 0):
        raise ValueError(f"invalid {axis} {text!r}; use an integer of at least 1")
    return text


def every(component: str, workload: str, device: str, **values: Any) -> list[Case]:
    """Returns a case for every combination of the values of the axes; the last axis changes fastest.

    Args:
        component: the benchmark, such as `pytorch`.
        workload: one of its workloads.
        device: the device of the cases.
        values: one or several values of each axis; axes with a default may be left out.

    Raises:
        ValueError: if an axis is unknown, has no value or does not accept a value, or an axis without a
            default is missing.
    """
    axes = list(_axes(component, workload))
    unknown = set(values) - {name for name, _ in axes}
    if unknown:
        known = ", ".join(name for name, _ in axes)
        raise ValueError(f"{component} {workload} has no axis {', '.join(sorted(unknown))}; its axes are {known}")
    missing = [name for name, default in axes if default is None and name not in values]
    if missing:
        raise ValueError(f"{component} {workload} needs {', '.join(missing)}")
    lists: list[list[str]] = []
    for name, default in axes:
        given = listed(values[name], name in RANKS) if name in values else [default or ""]
        if not given:
            raise ValueError(f"{component} {workload} has no value for {name}; give at least one")
        lists.append([_canonical(component, workload, name, one) for one in given])
    names = [name for name, _ in axes]
    return [Case(component, workload, device, dict(zip(names, point))) for point in itertools.product(*lists)]
