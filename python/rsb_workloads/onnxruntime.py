"""ONNX Runtime: inference, and what each level of graph optimization is worth. The provider that ran is asserted."""

import json
import os
import tempfile
import time

from .core import Case, Failure, Skip, Work, fastest, milliseconds, package, within

# Which execution providers do the work on a device; the first that is there is taken.
PROVIDERS = {
    "cpu": ("CPUExecutionProvider",),
    "rocm": ("MIGraphXExecutionProvider", "ROCMExecutionProvider"),
    "cuda": ("CUDAExecutionProvider",),
}
SEED = 20_231
RUNS_BESIDE = 200


def check(case: Case):
    """Whether ONNX Runtime is here, and has a provider for the device."""
    runtime = package("onnxruntime")
    package("onnx")
    package("numpy")
    chosen(runtime, case)


def version() -> str:
    """ONNX Runtime's."""
    return package("onnxruntime").__version__


def chosen(runtime, case: Case) -> str:
    """The provider for the device, which must be in this build."""
    wanted = PROVIDERS[case.device.split(":")[0]]
    there = runtime.get_available_providers()
    for provider in wanted:
        if provider in there:
            return provider
    raise Skip(
        f"ONNX Runtime on {case.device}",
        f"version {runtime.__version__} has no {' or '.join(wanted)}, only {', '.join(there)}",
        "install the package of ONNX Runtime for this device, such as onnxruntime-migraphx or onnxruntime-gpu",
    )


def session(case: Case, model: bytes, level: str, optimized_at=None, profile_at=None):
    """A session that really uses the provider for the device: ONNX Runtime goes on without one and says little."""
    runtime = package("onnxruntime")
    provider = chosen(runtime, case)
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    levels = runtime.GraphOptimizationLevel
    options.graph_optimization_level = {
        "disabled": levels.ORT_DISABLE_ALL,
        "basic": levels.ORT_ENABLE_BASIC,
        "extended": levels.ORT_ENABLE_EXTENDED,
        "all": levels.ORT_ENABLE_ALL,
    }[level]
    if optimized_at is not None:
        options.optimized_model_filepath = optimized_at
    if profile_at is not None:
        options.enable_profiling = True
        options.profile_file_prefix = profile_at
    settings = {} if case.on_cpu else {"device_id": int(case.device.split(":")[1])}
    made = runtime.InferenceSession(model, options, providers=[(provider, settings)])
    if made.get_providers()[0] != provider:
        raise Failure(
            f"provider {provider}",
            f"ONNX Runtime fell back to {made.get_providers()[0]}",
            "look at what its library lacks: `ldd` of libonnxruntime_providers_*.so, and RSB_LOG=debug",
        )
    return made


def _model(case: Case):
    """Layers of multiply, add, GELU written out and normalize; with steps that an optimizer can fold or fuse."""
    onnx, numpy = package("onnx"), package("numpy")
    width, layers = case.count("width"), case.count("num_layers")
    draw = numpy.random.default_rng(SEED)
    helper, kinds = onnx.helper, onnx.TensorProto
    nodes, values, weights = [], [], []

    def constant(name, array):
        values.append(onnx.numpy_helper.from_array(array.astype(numpy.float32), name))

    for name, number in (("half", 0.5), ("one", 1.0), ("root", 2**0.5)):
        constant(name, numpy.array([number]))
    current = "x"
    for layer in range(layers):
        weight = draw.uniform(-1, 1, (width, width)) / width**0.5
        bias = draw.uniform(-1, 1, (width,))
        weights.append((weight.astype(numpy.float32), bias.astype(numpy.float32)))
        constant(f"w{layer}", weight)
        constant(f"b{layer}", bias)
        name = lambda step, layer=layer: f"{step}{layer}"
        nodes += [
            helper.make_node("MatMul", [current, name("w")], [name("product")]),
            helper.make_node("Add", [name("product"), name("b")], [name("sum")]),
            helper.make_node("Div", [name("sum"), "root"], [name("scaled")]),
            helper.make_node("Erf", [name("scaled")], [name("erf")]),
            helper.make_node("Add", [name("erf"), "one"], [name("plus")]),
            helper.make_node("Mul", [name("sum"), name("plus")], [name("times")]),
            helper.make_node("Mul", [name("times"), "half"], [name("gelu")]),
            helper.make_node("Identity", [name("gelu")], [name("out")]),
        ]
        current = f"out{layer}"
    shape = [case.count("batch_size"), width]
    x, y = (helper.make_tensor_value_info(name, kinds.FLOAT, shape) for name in ("x", current))
    graph = helper.make_graph(nodes, "layers", [x], [y], values)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model.SerializeToString(), len(nodes), weights


def _exact(numpy, x, weights):
    import math

    erf = numpy.vectorize(math.erf)
    x = x.astype(numpy.float64)
    for weight, bias in weights:
        x = x @ weight.astype(numpy.float64) + bias
        x = x * (erf(x / 2**0.5) + 1) * 0.5
    return x


def inputs(case: Case):
    """What goes into the graph."""
    numpy = package("numpy")
    x = numpy.random.default_rng(SEED + 1).uniform(-1, 1, (case.count("batch_size"), case.count("width")))
    return x.astype(numpy.float32)


def _prepared(case: Case, level: str):
    numpy = package("numpy")
    model, nodes, weights = _model(case)
    begin = time.perf_counter_ns()
    made = session(case, model, level)
    made_ns = time.perf_counter_ns() - begin
    x = inputs(case)
    run = _bound(case, made, x)
    run()
    result, exact = made.run(None, {"x": x})[0], _exact(numpy, x, weights)
    difference = float(numpy.abs(result.astype(numpy.float64) - exact).max())
    error = within(case, difference, float(numpy.abs(exact).max()))
    return model, nodes, made_ns, run, x, error


def _bound(case: Case, made, x):
    """One inference. On a GPU inputs and outputs stay there, and the call returns when the work is done."""
    name = made.get_outputs()[0].name
    if case.on_cpu:
        return lambda: made.run([name], {"x": x})
    runtime = package("onnxruntime")
    binding, index = made.io_binding(), int(case.device.split(":")[1])
    kind = "cuda"  # What ONNX Runtime calls the memory of any GPU.
    binding.bind_ortvalue_input("x", runtime.OrtValue.ortvalue_from_numpy(x, kind, index))
    binding.bind_output(name, kind, index)

    def run():
        made.run_with_iobinding(binding)
        binding.synchronize_outputs()

    return run


def _common(case: Case, error: float) -> dict:
    return {"provider": chosen(package("onnxruntime"), case)} | shape_fields(case, error)


def shape_fields(case: Case, error: float) -> dict:
    """What any runtime says of this graph."""
    return {
        "dtype": "f32",
        "batch_size": case.count("batch_size"),
        "num_layers": case.count("num_layers"),
        "architecture_type": "mlp",
        "parameter_count": case.count("num_layers") * (case.count("width") ** 2 + case.count("width")),
        "input_shape": f"{case.text('batch_size')}x{case.text('width')}",
        "accuracy_error": error,
    }


def latencies(run) -> dict:
    """Of runs one by one."""
    times = sorted(Work(run, lambda _: {}).sample(1) for _ in range(RUNS_BESIDE))
    return {
        "latency_p50_ms": milliseconds(times[len(times) // 2]),
        "latency_p99_ms": milliseconds(times[len(times) * 99 // 100]),
    }


def inference(case: Case) -> Work:
    """Inference at the highest level of optimization; its latencies one by one, and which nodes take the time."""
    model, _, _, run, x, error = _prepared(case, "all")

    def fields(time_ns):
        return _common(case, error) | latencies(run) | {
            "throughput_samples_per_second": case.count("batch_size") * 1e9 / time_ns,
            "node_profile": profiled(case, model, x),
        }

    return Work(run, fields)


def profiled(case: Case, model: bytes, x) -> str:
    """The nodes that take longest, in one run of a session that is profiled; each must have run where it should."""
    with tempfile.TemporaryDirectory(prefix="rsb-onnx-") as directory:
        made = session(case, model, "all", profile_at=os.path.join(directory, "profile"))
        for _ in range(3):
            made.run(None, {"x": x})
        with open(made.end_profiling(), encoding="utf-8") as file:
            events = json.load(file)
    nodes = [event for event in events if event.get("cat") == "Node" and event["name"].endswith("_kernel_time")]
    wanted = chosen(package("onnxruntime"), case)
    elsewhere = sorted({event["args"].get("provider", "") for event in nodes} - {wanted})
    if elsewhere or not nodes:
        where = ", ".join(elsewhere) or "nowhere that its profile tells"
        raise Failure(f"provider {wanted}", f"nodes ran on {where} instead", "choose operations that the provider has")
    total = {}
    for event in nodes:
        total[event["args"]["op_name"]] = total.get(event["args"]["op_name"], 0) + event["dur"]
    slowest = sorted(total.items(), key=lambda one: -one[1])[:5]
    return ", ".join(f"{name} {duration / 3:.0f} us" for name, duration in slowest)


def graph_optimization(case: Case) -> Work:
    """Inference at one level of graph optimization, against the graph as it was given."""
    level = case.text("graph_optimization")
    model, nodes, made_ns, run, x, error = _prepared(case, level)
    optimized = _optimized_nodes(case, model, level)

    def fields(time_ns):
        plain = Work(_bound(case, session(case, model, "disabled"), x), lambda _: {})
        return _common(case, error) | {
            "graph_optimization": level,
            "original_nodes": nodes,
            "optimized_nodes": optimized,
            "optimization_time_ms": milliseconds(made_ns),
            "speedup": fastest(plain, 50) / time_ns,
        }

    return Work(run, fields)


def _optimized_nodes(case: Case, model: bytes, level: str) -> int:
    onnx = package("onnx")
    with tempfile.TemporaryDirectory(prefix="rsb-onnx-") as directory:
        path = os.path.join(directory, "optimized.onnx")
        session(case, model, level, optimized_at=path)
        return len(onnx.load(path).graph.node)
