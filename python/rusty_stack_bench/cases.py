"""Cases, with the ids that the program uses, so that results can be compared with its baselines."""
from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Union

Value = Union[str, int, float, tuple[int, ...]]

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
    ("deepspeed", "zero"): ("zero_stage", ("num_ranks", "2"), *_DECODER, ("optimizer", "torch")),
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


class Case(NamedTuple):
    """One point of one workload on a device."""

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
        """Returns the case as a worker's request contains it."""
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


def written(value: Value) -> str:
    """Formats a value as case ids contain it: sizes joined by `x`, booleans as `yes` and `no`."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return "x".join(str(size) for size in value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def every(component: str, workload: str, device: str, **values: Sequence[Value]) -> list[Case]:
    """Returns a case for every combination of the values of the axes; the last axis changes fastest.

    Args:
        component: the benchmark, such as `pytorch`.
        workload: one of its workloads.
        device: the device of the cases.
        values: the values of each axis; axes with a default may be left out.

    Raises:
        ValueError: if an axis is unknown, or one without a default is missing.
    """
    axes = list(_axes(component, workload))
    unknown = set(values) - {name for name, _ in axes}
    if unknown:
        known = ", ".join(name for name, _ in axes)
        raise ValueError(f"{component} {workload} has no axis {', '.join(sorted(unknown))}; its axes are {known}")
    missing = [name for name, default in axes if default is None and name not in values]
    if missing:
        raise ValueError(f"{component} {workload} needs {', '.join(missing)}")
    lists = [[written(one) for one in values[name]] if name in values else [default or ""] for name, default in axes]
    names = [name for name, _ in axes]
    return [Case(component, workload, device, dict(zip(names, point))) for point in itertools.product(*lists)]
