#!/usr/bin/env python3
"""Writes a store of 30 made-up runs, one a day, to a directory: the cases of docs/gallery/cpu-before.json with
1 % of noise. From the 22nd run on, one of them is 19 % slower.

Usage: scripts/example_store.py DIRECTORY
"""

import copy
import datetime
import hashlib
import json
import pathlib
import random
import sys

HERE = pathlib.Path(__file__).resolve().parent.parent
SLOWED, STEP, FACTOR = "cpu_performance/gemm/cpu:0/f32/256x256x256", 21, 1.19
CASES = 6


def sealed(run: dict) -> str:
    """Returns the text of a run file with its checksum."""
    run = {key: value for key, value in run.items() if key != "checksum"}
    text = json.dumps(run, indent=1, ensure_ascii=False) + "\n"
    digest = hashlib.sha256(text.encode()).hexdigest()
    return text.replace("{", '{\n  "checksum": "sha256:' + digest + '",', 1)


def scale(result: dict, before: dict, factor: float, noise: random.Random) -> None:
    """Makes a calm result of the median of `before`, slower by `factor`."""
    time_ms = before["time"] * factor * noise.gauss(1, 0.008)
    fields = result["results"][0]
    for name, value in fields.items():
        if name in ("gflops", "tflops", "bandwidth_gb_s", "throughput_gb_s", "roofline_percent"):
            fields[name] = value * fields["time_ms"] / time_ms
    fields["time_ms"], fields["std_dev"], fields["cv"] = time_ms, time_ms * 0.008, 0.008
    for samples in result["samples"]:
        own = noise.gauss(1, 0.004)
        samples["times_ns"] = [
            count * time_ms * 1e6 * own * noise.gauss(1, 0.006) for count in samples["iters"]
        ]
    statistics = result["statistics"]
    for name in ("mean", "min", "max"):
        statistics[name] = time_ms
    statistics["std_dev"] = time_ms * 0.008
    statistics["percentiles"] = dict.fromkeys(statistics["percentiles"], time_ms)
    metadata = result["metadata"]
    result["metadata"] = {key: metadata[key] for key in ("parameters", "replicates") if key in metadata}


def main() -> None:
    """Writes the runs."""
    target = pathlib.Path(sys.argv[1]) / "runs"
    target.mkdir(parents=True)
    base = json.loads((HERE / "docs/gallery/cpu-before.json").read_text())
    base["benchmarks"] = [one for one in base["benchmarks"] if one["outcome"] == "measured"][:CASES]
    medians = {one["benchmark_id"]: {"time": one["results"][0]["time_ms"]} for one in base["benchmarks"]}
    noise = random.Random(52)
    day = datetime.datetime(2026, 10, 26, 4, 2, tzinfo=datetime.timezone.utc)
    for number in range(30):
        run, at = copy.deepcopy(base), day + datetime.timedelta(days=number)
        commit = hashlib.sha1(f"commit {number}".encode()).hexdigest()
        moment = at.strftime("%Y-%m-%dT%H:%M:%SZ")
        run["run_id"] = f"{at.strftime('%Y%m%dT%H%M%SZ')}_{commit[:7]}"
        run["started"], run["finished"], run["sequence"], run["notes"] = moment, moment, number + 1, []
        run["suite"], run["profile"] = "quick", "quick"
        environment = run["environment"]
        environment["git"] = {"commit": commit, "branch": "main", "dirty": False}
        environment["state"] = environment["rocm"] = None
        environment["rocm_installations"] = []
        for result in run["benchmarks"]:
            result["timestamp"] = moment
            is_slower = result["benchmark_id"] == SLOWED and number >= STEP
            scale(result, medians[result["benchmark_id"]], FACTOR if is_slower else 1, noise)
        (target / f"{run['run_id']}.json").write_text(sealed(run))


if __name__ == "__main__":
    main()
