"""Compares our times of models and graphs with those of established tools, interleaved, median of five rounds.

    PYTHONPATH=python path/of/environment/bin/python3 python/checks/against_peers.py [timer] [benchmark_app] [loop]

- `timer`: models and networks in eager PyTorch against `torch.utils.benchmark.Timer`, in one
  process;
- `benchmark_app`: a model in OpenVINO against OpenVINO's own program, with the graph that our
  workload compiled. Each turn of both is a separate process with large pages;
- `loop`: graphs in ONNX Runtime against a plain loop with bound inputs and outputs, in a separate
  program.

All use the same library, model, inputs, precision and threads. Ratios are ours over theirs; each must be within 5 %
of 1. The machine must be idle, because other load may affect only one side.
"""

import functools
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import tomllib

# Both sides use one thread, because other load on the machine delays synchronized threads.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy
import torch

from rusty_stack_bench.workloads import core, models, onnx_graphs, onnxruntime, pytorch

ROUNDS = 5
# Number of turns of each side per round. Turns are short, so that other load affects both sides.
TURNS = 15
TURN_NS = 1e8
LIMIT_PERCENT = 5.0
CATALOGUE = Path(__file__).parents[2] / "crates/rsb-catalog/src/models/catalogue.toml"
OPENVINO_MODEL = "bert-tiny"
# Argument with which this program runs our side of the `benchmark_app` comparison.
OURS = "openvino-alone"
# Makes glibc's allocator request large pages on both sides. With small pages an inference takes up
# to a tenth longer, and how many pages are large otherwise varies at random and depends on whether
# the process has loaded PyTorch.
LARGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
NETWORKS = {"batch_size": "1", "num_layers": "2", "width": "256", "sequence_length": "128", "dtype": "f32"}

# A plain loop. Arguments: files of a graph and its inputs, and the provider. For each line with a
# number of iterations it prints their nanoseconds.
LOOP = """
import sys, time
import numpy, onnxruntime
model, inputs, provider = sys.argv[1:]
options = onnxruntime.SessionOptions()
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(model, options, providers=[provider])
binding = session.io_binding()
held = [(name, onnxruntime.OrtValue.ortvalue_from_numpy(array)) for name, array in numpy.load(inputs).items()]
for name, value in held:
    binding.bind_ortvalue_input(name, value)
for output in session.get_outputs():
    binding.bind_output(output.name)
session.run_with_iobinding(binding)
outputs = [onnxruntime.OrtValue.ortvalue_from_numpy(one.numpy()) for one in binding.get_outputs()]
binding.clear_binding_outputs()
for output, value in zip(session.get_outputs(), outputs):
    binding.bind_ortvalue_output(output.name, value)
for line in sys.stdin:
    begin = time.perf_counter_ns()
    for _ in range(int(line)):
        session.run_with_iobinding(binding)
    print(time.perf_counter_ns() - begin, flush=True)
"""


def compared(name: str, ours, theirs, turns: int = TURNS) -> float:
    """Returns how far the median ratio of both sides is from 1, in percent.

    Args:
        name: label of the comparison in the output.
        ours: measures our side; returns nanoseconds per iteration.
        theirs: measures the other side in the same unit.
        turns: measurements of each side per round; the sides alternate in going first.
    """
    ratios = []
    ours(), theirs()
    for _ in range(ROUNDS):
        own, other = [], []
        for turn in range(turns):
            for side, times in ((ours, own), (theirs, other))[:: 1 if turn % 2 else -1]:
                times.append(side())
        ratios.append(statistics.median(own) / statistics.median(other))
    off = 100 * (statistics.median(ratios) - 1)
    spread = ", ".join(f"{ratio:.3f}" for ratio in sorted(ratios))
    times = f"ours {statistics.median(own) / 1e6:.3f} ms, theirs {statistics.median(other) / 1e6:.3f} ms in the last round"
    print(f"{name}: {times}, {off:+.2f} % (rounds {spread})", flush=True)
    return off


def in_turn(work: core.Work) -> int:
    """Returns the number of iterations in one turn of our side."""
    return max(1, round(TURN_NS / core.fastest(work, 5)))


def sampled(work: core.Work):
    """Returns a function that measures `work` and returns nanoseconds per iteration."""
    iters = in_turn(work)
    return lambda: work.sample(iters) / iters


def catalogued(name: str, **params: str) -> core.Case:
    """Returns a case of a catalogue model on the CPU."""
    row = next(row for row in tomllib.loads(CATALOGUE.read_text(encoding="utf-8"))["model"] if row["name"] == name)
    own = {"model": name, "dtype": "f32", "batch_size": "1", "sequence_length": "64", "runtime": "pytorch"}
    return core.Case("models", "forward", "cpu:0", own | params | {"definition": json.dumps(row)})


def timer() -> list[float]:
    """Compares eager PyTorch with `Timer`; returns differences in percent."""
    from torch.utils.benchmark import Timer

    block = core.Case("pytorch", "execution", "cpu:0", NETWORKS | {"workload": "execution", "execution": "eager"})
    works = {f"{name} in PyTorch": models.forward(catalogued(name)) for name in ("bert-tiny", "vit-tiny", "mamba-tiny")}
    works["a decoder in PyTorch"] = pytorch.execution(block)
    found = []
    for name, work in works.items():
        other, iters = Timer("run()", globals={"run": work.run}), in_turn(work)
        theirs = lambda other=other, iters=iters: other.timeit(iters).median * 1e9
        found.append(compared(f"{name} against Timer", sampled(work), theirs))
    return found


def benchmark_app() -> list[float]:
    """Compares OpenVINO with its `benchmark_app`, with the same graph and inputs.

    Returns the difference in percent.
    """
    import openvino

    from rusty_stack_bench.workloads import model_openvino

    case, seen = catalogued(OPENVINO_MODEL, runtime="openvino"), {}
    models.check(case)
    convert, wanted = openvino.convert_model, model_openvino._wanted_tensors
    openvino.convert_model = lambda *given, **more: seen.setdefault("graph", convert(*given, **more))
    model_openvino._wanted_tensors = lambda *given: seen.setdefault("tensors", wanted(*given))
    work = models.forward(case)
    # Each turn starts one process per side, which takes time, so turns are fewer and
    # longer than for the other tools.
    iters, turns = 8 * in_turn(work), TURNS // 3
    with tempfile.TemporaryDirectory(prefix="rsb-peers-") as directory:
        graph, files = os.path.join(directory, "graph.xml"), []
        openvino.save_model(seen["graph"], graph, compress_to_fp16=False)
        for place, (port, tensor) in enumerate(zip(seen["graph"].inputs, seen["tensors"])):
            numpy.save(os.path.join(directory, f"{place}.npy"), tensor.numpy())
            files.append(f"{port.any_name}:{directory}/{place}.npy")
        program = os.path.join(os.path.dirname(sys.executable), "benchmark_app")
        settings = os.path.join(directory, "settings.json")
        one_thread = {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}
        Path(settings).write_text(json.dumps({"CPU": one_thread}), encoding="utf-8")
        # `-api sync` selects the latency hint, which our side also uses.
        command = [program, "-m", graph, "-i", ",".join(files), "-d", "CPU", "-api", "sync", "-load_config", settings]
        command += ["-niter", str(iters)]

        def median_ns(words: list[str]) -> float:
            said = subprocess.run(words, capture_output=True, text=True, check=True, env=os.environ | LARGE_PAGES).stdout
            return float(re.search(r"Median:\s+([\d.]+) ms", said).group(1)) * 1e6

        ours = lambda: median_ns([sys.executable, __file__, OURS, str(iters)])
        theirs = lambda: median_ns(command)
        return [compared(f"{OPENVINO_MODEL} in OpenVINO against benchmark_app", ours, theirs, turns)]


def openvino_alone(iters: int):
    """Runs our side of the `benchmark_app` comparison in its own process; prints the median time of an inference."""
    case = catalogued(OPENVINO_MODEL, runtime="openvino")
    models.check(case)
    work = models.forward(case)
    work.sample(1)
    print(f"Median: {statistics.median(work.sample(1) for _ in range(iters)) / 1e6} ms")


def loop() -> list[float]:
    """Compares ONNX Runtime with a plain loop; returns differences in percent."""
    found = []
    onnxruntime.session = functools.partial(onnxruntime.session, threads=1)
    for network in ("encoder", "convolutional", "decoder-step"):
        case = core.Case("onnxruntime", "inference", "cpu:0", NETWORKS | {"workload": "inference", "network": network})
        onnxruntime.check(case)
        work, made = onnxruntime.inference(case), onnx_graphs.graph(case)
        with tempfile.TemporaryDirectory(prefix="rsb-peers-") as directory:
            graph, inputs = os.path.join(directory, "graph.onnx"), os.path.join(directory, "inputs.npz")
            Path(graph).write_bytes(made.model)
            numpy.savez(inputs, **made.inputs)
            words = [sys.executable, "-c", LOOP, graph, inputs, onnxruntime.PROVIDERS["cpu"][0]]
            iters = in_turn(work)
            with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as program:

                def asked(program=program, iters=iters) -> float:
                    print(iters, file=program.stdin)
                    return int(program.stdout.readline()) / iters

                found.append(compared(f"{network} in ONNX Runtime against a plain loop", sampled(work), asked))
                program.stdin.close()
    return found


def main() -> int:
    """Returns 0 if every ratio is within the limit, else 1."""
    torch.set_num_threads(1)
    if sys.argv[1:2] == [OURS]:
        openvino_alone(int(sys.argv[2]))
        return 0
    kinds = {"timer": timer, "benchmark_app": benchmark_app, "loop": loop}
    found = [off for name in sys.argv[1:] or kinds for off in kinds[name]()]
    return int(any(abs(off) > LIMIT_PERCENT for off in found))


if __name__ == "__main__":
    sys.exit(main())
