"""What a sample takes beside the work, with the real worker: its wall time as the asking side sees it, less what it reports.

    python3 python/checks/overhead.py target/release/rsb-python-worker path/of/environment/bin/python3

The worker must be one of a release build, and the machine calm. The limit is 1 % of a sample of 10 ms or more.
"""

import json
import os
import statistics
import subprocess
import sys
import sysconfig
import time

SAMPLES = int(os.environ.get("SAMPLES", "200"))
SAMPLE_NS = 12e6
LIMIT_PERCENT = 1.0
CASE = {
    "id": "component_specific/pytorch/cpu:0/matmul/f32/128x128x128",
    "benchmark": "pytorch",
    "benchmark_type": "component_specific",
    "device": "cpu:0",
    "params": {"workload": "matmul", "dtype": "f32", "shape": "128x128x128", "transpose": "nn"},
}


def started(worker: str, python: str) -> subprocess.Popen:
    """The worker, as the program starts it."""
    ask = "import sysconfig; print(sysconfig.get_config_var('LIBDIR'))"
    folder = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.strip()
    libraries = os.pathsep.join(filter(None, [folder, os.environ.get("LD_LIBRARY_PATH", "")]))
    environment = {**os.environ, "LD_LIBRARY_PATH": libraries, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen([worker, python], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)


def main() -> int:
    """0 when it is within the limit."""
    worker, python = sys.argv[1:] if len(sys.argv) == 3 else sys.exit(__doc__)
    process = started(worker, python)

    def ask(question: dict) -> dict:
        process.stdin.write(json.dumps(question).encode() + b"\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        assert "reason" not in answer, answer
        return answer

    ask({"ask": "prepare", "case": CASE})
    once = min(ask({"ask": "sample", "iters": 10})["time_ns"] / 10 for _ in range(5))
    question = {"ask": "sample", "iters": max(1, round(SAMPLE_NS / once))}
    beside, walls = [], []
    for _ in range(SAMPLES):
        begin = time.perf_counter_ns()
        worked = ask(question)["time_ns"]
        wall = time.perf_counter_ns() - begin
        walls.append(wall / 1e6)
        beside.append((wall - worked) / wall * 100)
    process.kill()
    process.wait()
    share = statistics.median(beside)
    low, high = (sorted(beside)[len(beside) * part // 100] for part in (10, 90))
    print(
        f"{sysconfig.get_platform()}, {os.cpu_count()} processors: {SAMPLES} samples of {statistics.median(walls):.1f} ms, "
        f"beside the work {share:.2f} % (10th and 90th percentile {low:.2f} and {high:.2f} %)"
    )
    return int(share > LIMIT_PERCENT)


if __name__ == "__main__":
    sys.exit(main())
