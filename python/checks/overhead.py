"""What a sample takes beside the work, with the real worker: its wall time as the asking side sees it, less what it reports.

    python3 python/checks/overhead.py target/release/rsb-python-worker path/of/environment/bin/python3

Interleaved with it a bare process is asked, which only spins for as long and answers: what that takes beside its work is the
machine's pipe and the waking of two processes. The difference is the worker's own. The verdict is on all that the worker takes.
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
# Reads a number of nanoseconds, spins for so long, and says how long it really was.
BARE = """
import os, time
clock = time.perf_counter_ns
while line := os.read(0, 99):
    begin = clock()
    until = begin + int(line)
    while clock() < until:
        pass
    os.write(1, b"%d\\n" % (clock() - begin))
"""


class Process:
    """One that is asked a line and answers a line, with nothing between it and the pipe."""

    def __init__(self, command: list[str], **more: str):
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, bufsize=0, env={**os.environ, **more})

    def ask(self, question: bytes) -> tuple[bytes, int]:
        """The answer, and the nanoseconds until it was there."""
        begin = time.perf_counter_ns()
        self._process.stdin.write(question)
        answer = self._process.stdout.read(1 << 16)
        return answer, time.perf_counter_ns() - begin

    def end(self):
        """It has no more to say."""
        self._process.kill()
        self._process.wait()


class Worker(Process):
    """The real one, as the program starts it, with the case prepared."""

    def __init__(self, program: str, python: str):
        ask = "import sysconfig; print(sysconfig.get_config_var('LIBDIR'))"
        directory = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.strip()
        libraries = os.pathsep.join(filter(None, [directory, os.environ.get("LD_LIBRARY_PATH", "")]))
        super().__init__([program, python], LD_LIBRARY_PATH=libraries, OMP_NUM_THREADS="1")
        self._heard({"ask": "prepare", "case": CASE})
        once = min(self._heard({"ask": "sample", "iters": 10})["time_ns"] / 10 for _ in range(5))
        self._sample = _line({"ask": "sample", "iters": max(1, round(SAMPLE_NS / once))})

    def _heard(self, question: dict) -> dict:
        answer = json.loads(self.ask(_line(question))[0])
        assert "reason" not in answer, answer
        return answer

    def sample(self) -> tuple[int, float]:
        """Nanoseconds as seen from here, and as reported."""
        answer, wall = self.ask(self._sample)
        return wall, json.loads(answer)["time_ns"]


class Bare(Process):
    """One that spins and answers, and nothing else."""

    def __init__(self):
        super().__init__([sys.executable, "-S", "-c", BARE])

    def sample(self) -> tuple[int, float]:
        """As the worker's."""
        answer, wall = self.ask(b"%d\n" % SAMPLE_NS)
        return wall, float(answer)


def _line(question: dict) -> bytes:
    return json.dumps(question).encode() + b"\n"


def told(name: str, seen: list[tuple[int, float]]) -> tuple[float, list[float]]:
    """The share in percent beside the work, and the microseconds: in the middle, and undisturbed. They are printed."""
    shares = sorted((wall - worked) / wall * 100 for wall, worked in seen)
    beside = sorted((wall - worked) / 1e3 for wall, worked in seen)
    wall = statistics.median(wall for wall, _ in seen) / 1e6
    low, share, high = shares[len(seen) // 10], statistics.median(shares), shares[len(seen) * 9 // 10]
    middle, least = statistics.median(beside), beside[len(seen) // 10]
    spread = f"10th and 90th percentile {low:.2f} and {high:.2f} %"
    print(f"{name}: of {wall:.1f} ms, beside the work {share:.2f} % ({spread}), {middle:.0f} us, undisturbed {least:.0f} us")
    return share, [middle, least]


def main() -> int:
    """0 when it is within the limit."""
    program, python = sys.argv[1:] if len(sys.argv) == 3 else sys.exit(__doc__)
    both = worker, bare = Worker(program, python), Bare()
    bare.sample()
    seen = [], []
    for number in range(SAMPLES):
        for which in (0, 1) if number % 2 else (1, 0):
            seen[which].append(both[which].sample())
    worker.end()
    bare.end()
    print(f"{sysconfig.get_platform()}, {os.cpu_count()} CPUs, {SAMPLES} samples of each, interleaved")
    share, ours = told("the worker", seen[0])
    _, machine = told("a bare process", seen[1])
    own, undisturbed = (of_worker - of_bare for of_worker, of_bare in zip(ours, machine))
    print(f"the worker's own: {own:.0f} us, undisturbed (10th percentiles) {undisturbed:.0f} us; the rest is the machine's")
    return int(share > LIMIT_PERCENT)


if __name__ == "__main__":
    sys.exit(main())
