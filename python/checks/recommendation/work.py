"""Counts the floating-point operations and kernel calls of one pass of each model, on PyTorch's meta device.

The meta device allocates no memory; `rag` is counted on the CPU.

    python3 python/checks/recommendation/work.py                 # every model of the catalogue and of the study, as TOML

`flops` contains the coefficients a, c and d of b (a + c s + d s^2), the operations for b sequences of
s positions; a multiply-add counts as two. `operations` contains p and q of p + q s, the number of
PyTorch kernel calls. For models of fixed length the other coefficients are 0. The output is the
value of `work` for the rows of the catalogue. The largest
models take minutes.
"""
from __future__ import annotations

import os
import sys
from pathlib import Path

import tomllib

# Skips a check in transformers that compares numbers of image tokens, which the meta
# device does not have.
os.environ["TRANSFORMERS_DISABLE_TORCH_CHECK"] = "1"

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from rusty_stack_bench.workloads import model_build, model_ready

CATALOGUE = HERE.parents[2] / "crates/rsb-catalog/src/models/catalogue.toml"


class Operations(TorchDispatchMode):
    """Counts kernel calls; views are not kernels."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += not function.is_view
        return function(*args, **(kwargs or {}))


def counted(row: dict, batch: int, length: int) -> tuple[int, int]:
    """Returns the floating-point operations and kernel calls of one pass."""
    # Retrieval depends on values, so rag models need a real device.
    with torch.device("cpu" if row["family"] == "rag" else "meta"), torch.no_grad():
        subject = model_build.Subject(torch, row, batch, length)
        # With `use_cache=False`, transformers reads the values of position tensors,
        # which the meta device does not store.
        subject.said.pop("use_cache", None)
        module, tensors = model_build.forward_module(subject), tuple(subject.inputs.values())
        with model_ready.experts_as_products(subject), FlopCounterMode(display=False) as flops, Operations() as calls:
            module(*tensors)
    return flops.get_total_flops(), calls.count


def work(row: dict) -> dict:
    """Returns `flops` and `operations` of a row, fitted to passes of three lengths."""
    shape = row.get("shape", {})
    if "length" in shape:
        flops, calls = counted(row, 1, shape["length"])
        return {"flops": [flops, 0, 0], "operations": [calls, 0]}
    first = 32 if "image_tokens" not in shape else shape["image_tokens"] + 15
    lengths = (first, first + 32, first + 64)
    (f0, n0), (f1, n1), (f2, _) = (counted(row, 1, length) for length in lengths)
    d = (f2 - 2 * f1 + f0) / (2 * 32**2)
    c = (f1 - f0) / 32 - d * (lengths[0] + lengths[1])
    q = (n1 - n0) / 32
    return {"flops": [round(f0 - c * first - d * first**2), round(c), round(d)], "operations": [round(n0 - q * first), round(q)]}


def main():
    """Prints the value of `work` for every row, or for the named ones."""
    for path in (CATALOGUE, HERE / "models.toml"):
        for row in tomllib.loads(path.read_text(encoding="utf-8"))["model"]:
            if len(sys.argv) > 1 and row["name"] not in sys.argv[1:]:
                continue
            try:
                found = work(row)
                parameters = model_build.counted(torch, {key: value for key, value in row.items() if key != "parameters"})
            except Exception as error:
                print(f"# {row['name']}: {type(error).__name__}: {str(error).splitlines()[0]}", flush=True)
                continue
            said = ", ".join(f"{name} = {value}" for name, value in found.items())
            print(f'"{row["name"]}" = {{ parameters = {parameters}, {said} }}', flush=True)


if __name__ == "__main__":
    main()
