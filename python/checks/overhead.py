"""Measures the overhead of a sample in the real worker: wall time at the client minus reported time.

    python3 python/checks/overhead.py target/release/rsb-python-worker path/of/environment/bin/python3

Samples of the worker alternate with samples of a minimal process that only spins for the same time
and answers. The overhead of the minimal process comes from the pipe and from waking two processes;
the rest is the worker's own. The check limits the worker's total overhead to 1 % of a sample of
10 ms or more. The worker must be a release build, and the machine idle.
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
# Reads a number of nanoseconds, spins for that long, and writes the actual duration.
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
    """A child process that answers one line per request, over unbuffered pipes."""

    def __init__(self, command: list[str], **more: str):
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, bufsize=0, env={**os.environ, **more})

    def ask(self, question: bytes) -> tuple[bytes, int]:
        """Sends a request; returns the answer and the nanoseconds until it arrived."""
        begin = time.perf_counter_ns()
        self._process.stdin.write(question)
        answer = self._process.stdout.read(1 << 16)
        return answer, time.perf_counter_ns() - begin

    def end(self):
        """Kills the process."""
        self._process.kill()
        self._process.wait()


class Worker(Process):
    """The real worker, started the way the program starts it, with a prepared case."""

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
        """Takes a sample; returns its wall time and its reported time in nanoseconds."""
        answer, wall = self.ask(self._sample)
        return wall, json.loads(answer)["time_ns"]


class Bare(Process):
    """A process that only spins and answers."""

    def __init__(self):
        super().__init__([sys.executable, "-S", "-c", BARE])

    def sample(self) -> tuple[int, float]:
        """Takes a sample; returns the same values as the worker's `sample`."""
        answer, wall = self.ask(b"%d\n" % SAMPLE_NS)
        return wall, float(answer)


def _line(question: dict) -> bytes:
    return json.dumps(question).encode() + b"\n"


def told(name: str, seen: list[tuple[int, float]]) -> tuple[float, list[float]]:
    """Prints the overhead.

    Returns:
        The median overhead in percent of the wall time, and a list of its median and 10th percentile in
        microseconds.
    """
    shares = sorted((wall - worked) / wall * 100 for wall, worked in seen)
    beside = sorted((wall - worked) / 1e3 for wall, worked in seen)
    wall = statistics.median(wall for wall, _ in seen) / 1e6
    low, share, high = shares[len(seen) // 10], statistics.median(shares), shares[len(seen) * 9 // 10]
    middle, least = statistics.median(beside), beside[len(seen) // 10]
    spread = f"10th and 90th percentile {low:.2f} and {high:.2f} %"
    print(f"{name}: overhead {share:.2f} % of {wall:.1f} ms ({spread}), {middle:.0f} us, undisturbed {least:.0f} us")
    return share, [middle, least]


def main() -> int:
    """Returns 0 if the overhead is within the limit, else 1."""
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
    print(f"overhead of the worker: {own:.0f} us, undisturbed (10th percentiles) {undisturbed:.0f} us; the rest is due to the machine")
    return int(share > LIMIT_PERCENT)


if __name__ == "__main__":
    sys.exit(main())
