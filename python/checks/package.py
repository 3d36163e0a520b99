"""The installed package, from a function to a verdict; run it with the interpreter that it is installed for.

    python3 python/checks/package.py
"""

import dataclasses
import os
import sys
import tempfile

from rusty_stack_bench import Result, Verdict, gate, store
from rusty_stack_bench.measuring import Settings
from rusty_stack_bench.pytorch import benchmark_matmul


def slowed(result: Result, factor: float) -> Result:
    """As if every sample had taken longer."""
    samples = [dataclasses.replace(one, times_ns=[factor * time for time in one.times_ns]) for one in result.samples]
    return dataclasses.replace(result, samples=samples)


def main() -> int:
    """0 when it does what it says."""
    # One thread, so that neighbors disturb less.
    os.environ["OMP_NUM_THREADS"] = "1"
    settings = Settings(replicates=5, runs=10)
    sizes = [(64, 64, 64), (128, 128, 128)]
    results = benchmark_matmul(sizes=sizes, dtypes=["f32"], device="cpu:0", settings=settings)
    for result in results:
        print(f"{result.benchmark_id}: {result.outcome.value}, {result.time_ms} ms, {result.tflops} TFLOP/s, {result.reason}")
        assert result.is_measured and result.tflops > 0 and result.accuracy_error < 0.03, result
    with tempfile.TemporaryDirectory() as directory:
        before = store(results, directory)
        after = store([slowed(result, 20.0) for result in results], directory)
        found = gate(before, after)
        print(found.verdict.value, [row.benchmark_id for row in found.regressed])
        assert found.verdict is Verdict.REGRESSED and len(found.regressed) == len(results), found
        same = gate(before, store(results, directory))
        assert same.verdict is not Verdict.REGRESSED, same
        policy = os.path.join(directory, "policy.toml")
        with open(policy, "w", encoding="utf-8") as file:
            file.write("threshold_percent = 5000.0\n")
        lenient = gate(before, after, policy=policy)
        assert lenient.verdict is not Verdict.REGRESSED, lenient
        with open(policy, "w", encoding="utf-8") as file:
            file.write("threshold_percentage = 10.0\n")
        try:
            gate(before, after, policy=policy)
        except ValueError as error:
            assert "threshold_percentage" in str(error), error
        else:
            raise AssertionError("a policy with an unknown key was read")
        for wrong in ("/no/such/file.json", __file__):
            try:
                gate(wrong, after)
            except ValueError as error:
                assert wrong in str(error), error
            else:
                raise AssertionError(f"{wrong} was read")
    return 0


if __name__ == "__main__":
    sys.exit(main())
