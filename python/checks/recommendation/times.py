"""Times models in each runtime with each number of threads: the data of docs/recommendation.md.

    python3 python/checks/recommendation/times.py --out times.csv bert-tiny vit-tiny   # without names: all of models.toml

Models are prepared, verified and timed by the code of `rusty-stack-bench models` (`workloads`), in
one process, so that a model is built and exported once for all runtimes and threads. Before timing,
and again after each period, the program waits for a line on standard input, so that the user can
make the machine idle (`yes "" |` if it is). A time is the median of samples, after a discarded
pass. Runtimes take turns, so that disturbances affect all of them.
"""
from __future__ import annotations

import argparse
import csv
import functools
import gc
import json
import math
import statistics
import sys
import time
from pathlib import Path

import tomllib

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

import torch

from rusty_stack_bench.workloads import core, model_build, model_onnxruntime, model_openvino, model_runtimes, models

RUNTIMES = ("pytorch", "onnxruntime", "openvino")
THREADS = (1, 2)
CATALOGUE = HERE.parents[2] / "crates/rsb-catalog/src/models/catalogue.toml"
# Seconds of all samples of a case, number of samples, and number of samples if a pass
# takes over 2 x SECONDS.
SECONDS, ROUNDS, FEW = 0.5, 5, 2
# Seconds of timing after which the program again waits for a line on standard input.
PIECE = 140
FIELDS = ("model", "batch", "length", "runtime", "threads", "ms", "low_ms", "high_ms", "samples")


def rows() -> dict:
    """Returns the models of the catalogue and the study, by name."""
    both = [tomllib.loads(path.read_text(encoding="utf-8")) for path in (CATALOGUE, HERE / "models.toml")]
    return {row["name"]: row for one in both for row in one["model"]}


def once(make):
    """Caches the result of `make` per module, because a graph does not depend on threads."""
    kept: dict = {}

    @functools.wraps(make)
    def of(*given):
        key = next(id(one) for one in given if isinstance(one, torch.nn.Module))
        if key not in kept:
            kept[key] = given, make(*given)  # The module is kept alive, so that its id stays unique.
        return kept[key][1]

    of.kept = kept
    return of


class Pass:
    """One pass of a model in a runtime with a number of threads.

    It is prepared again for each use, because keeping all of them would take too much memory.
    """

    def __init__(self, row: dict, shape: tuple, runtime: str, threads: int, model, tensors):
        self.key = {"model": row["name"], "batch": shape[0], "length": shape[1], "runtime": runtime, "threads": threads}
        self._case = case_of(row, *shape, runtime)
        self._model, self._tensors = model, tensors

    def ready(self):
        """Prepares the pass."""
        torch.set_num_threads(self.key["threads"])
        runtime = model_runtimes.of(self._case)
        runtime.check(self._case)
        return runtime.prepare(self._case, torch, self._model, self._tensors)

    def verified(self, wanted) -> bool:
        """Returns whether the result is correct. Failing runtimes are reported and skipped."""
        try:
            found = self.ready().result().detach().double()
            core.within(self._case, (found - wanted).abs().max().item(), wanted.abs().max().item(), models.TOLERANCES["f32"])
        except Exception as error:
            print(f"{self.key}: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr, flush=True)
            return False
        return True


def case_of(row: dict, batch: int, length: int, runtime: str) -> core.Case:
    """Returns the case of one pass in f32 on the CPU."""
    params = {"dtype": "f32", "batch_size": str(batch), "sequence_length": str(length), "runtime": runtime}
    return core.Case("models", "forward", "cpu:0", params | {"model": row["name"], "definition": json.dumps(row)})


def prepared(row: dict, batch: int, length: int) -> list:
    """Returns the verified passes of a shape. Results do not depend on the number of threads."""
    subject = models._subject(case_of(row, batch, length, RUNTIMES[0]), torch)
    module, tensors = model_build.forward_module(subject), tuple(subject.inputs.values())
    wanted = models._reference(torch, subject, module, tensors, "f32")
    tensors = models._as_type(torch, module, tensors, torch.float32)
    subject.said = models._in_type(torch, subject.said, torch.float32)
    one = functools.partial(Pass, row, (batch, length), model=(module, subject), tensors=tensors)
    right = [runtime for runtime in RUNTIMES if one(runtime, 1).verified(wanted)]
    torch._dynamo.reset()  # It would keep exported graphs in memory.
    gc.collect()
    return [one(runtime, threads) for threads in THREADS for runtime in right]


def timed(passes: list) -> list:
    """Times the passes of a shape in alternation, in several rounds, and returns one row per pass."""
    works = [(one.key, core.Work(one.ready().run, lambda _: {})) for one in passes]
    samples: list = [[] for _ in works]
    iters, slowest = [], 0.0
    for key, work in works:
        torch.set_num_threads(key["threads"])
        work.sample(1)
        once_s = work.sample(1) / 1e9
        slowest = max(slowest, once_s)
        iters.append(max(1, math.ceil(SECONDS / ROUNDS / once_s)))
    for _ in range(ROUNDS if slowest < 2 * SECONDS else FEW):
        for at, (key, work) in enumerate(works):
            torch.set_num_threads(key["threads"])
            samples[at].append(work.sample(iters[at]) / iters[at] / 1e6)
    rows_of = []
    for (key, _), seen in zip(works, samples):
        rows_of.append(key | {"ms": statistics.median(seen), "low_ms": min(seen), "high_ms": max(seen), "samples": len(seen)})
    return rows_of


def main():
    """Prepares the models, waits for input, and times them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--out", type=Path, required=True)
    said = parser.parse_args()
    shapes = tomllib.loads((HERE / "models.toml").read_text(encoding="utf-8"))["shapes"]
    model_openvino._converted = once(model_openvino._converted)
    model_onnxruntime._graph = once(model_onnxruntime._graph)
    with said.out.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if file.tell() == 0:
            writer.writeheader()
        until = 0.0
        for name in said.names or shapes:
            groups = []
            for shape in shapes[name]:
                began = time.monotonic()
                groups.append(list(prepared(rows()[name], *map(int, shape.split("x")))))
                print(f"{name} {shape}: {len(groups[-1])} prepared in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
            if time.monotonic() > until:
                print("waiting", file=sys.stderr, flush=True)
                sys.stdin.readline()
                until = time.monotonic() + PIECE
            for row in (row for passes in groups for row in timed(passes)):
                writer.writerow({name: f"{value:.5g}" if isinstance(value, float) else value for name, value in row.items()})
            file.flush()
            # All models together would take more than 20 GB.
            del groups
            for kept in (model_openvino._converted.kept, model_onnxruntime._graph.kept):
                kept.clear()
            gc.collect()
    print("done", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
