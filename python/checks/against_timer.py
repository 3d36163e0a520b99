"""Compares our timing of a matrix product with `torch.utils.benchmark.Timer`.

Both run interleaved, in one process and on one thread.

    PYTHONPATH=python path/of/environment/bin/python3 python/checks/against_timer.py

The medians must agree within 2 %.
"""

import os
import statistics
import sys

import torch
from torch.utils.benchmark import Timer

from rusty_stack_bench.workloads import core, pytorch

PAIRS = int(os.environ.get("PAIRS", "300"))
LIMIT_PERCENT = 2.0


def difference(shape: str, device: str) -> float:
    """Returns the difference of the medians in percent."""
    case = core.Case("pytorch", "matmul", device, {"workload": "matmul", "dtype": "f32", "shape": shape, "transpose": "nn"})
    pytorch.check(case)
    work = pytorch.matmul(case)
    timer = Timer("run()", globals={"run": work.run}, num_threads=torch.get_num_threads())
    iters = max(1, round(2e6 / core.fastest(work, 20)))
    ours, theirs = [], []
    for pair in range(PAIRS):
        for who in (0, 1) if pair % 2 else (1, 0):
            if who:
                ours.append(work.sample(iters) / iters)
            else:
                theirs.append(timer.timeit(iters).median * 1e9)
    a, b = statistics.median(ours), statistics.median(theirs)
    paired = 100 * (statistics.median(one / other for one, other in zip(ours, theirs)) - 1)
    print(
        f"{shape} on {device}: ours {a / 1e3:.2f} us, theirs {b / 1e3:.2f} us, {PAIRS} pairs: "
        f"{100 * (a / b - 1):+.2f} % (in pairs {paired:+.2f} %)"
    )
    return 100 * (a / b - 1)


def main() -> int:
    """Returns 0 if every shape is within the limit, else 1."""
    torch.set_num_threads(1)
    device = "cpu:0"
    if torch.cuda.is_available():
        device = "rocm:0" if torch.version.hip else "cuda:0"
    shapes = ("128x128x128", "256x256x256") if device == "cpu:0" else ("1024x1024x1024", "4096x4096x4096")
    found = [difference(shape, device) for shape in shapes]
    return int(any(abs(one) > LIMIT_PERCENT for one in found))


if __name__ == "__main__":
    sys.exit(main())
