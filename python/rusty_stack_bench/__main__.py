"""Lists or measures the benchmarks of a file.

`python3 -m rusty_stack_bench list FILE` prints the cases; `run FILE` measures them and stores the
run.
"""
from __future__ import annotations

import argparse
import os
import sys

from .custom import load
from .keeping import store
from .measuring import Settings
from .results import Outcome, Result


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line.

    Args:
        arguments: the arguments; by default those of the process.

    Returns:
        The exit code: 0 if at least one case was measured and none failed, 1 if a case failed, 2 if
        the file cannot be loaded, 5 if every case was skipped.
    """
    parser = argparse.ArgumentParser(prog="python3 -m rusty_stack_bench", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    listing = verbs.add_parser("list", help="list the cases of a file")
    listing.add_argument("file")
    running = verbs.add_parser("run", help="measure the cases of a file and store the run")
    running.add_argument("file")
    running.add_argument("--results-dir", default=os.environ.get("RSB_RESULTS_DIR", "benchmark_results"))
    running.add_argument("--replicates", type=int, default=Settings.replicates, help="number of fresh processes per case")
    running.add_argument("--runs", type=int, default=Settings.runs, help="number of samples per process")
    running.add_argument("--device", default="cpu:0")
    options = parser.parse_args(arguments)
    try:
        benchmarks = load(options.file)
    except Exception as error:
        print(f"error: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    if options.verb == "list":
        for one in benchmarks:
            for case in one.cases():
                print(f"{case.id}  {one.about}".rstrip())
        return 0
    settings = Settings(replicates=options.replicates, runs=options.runs)
    results: list[Result] = []
    for one in benchmarks:
        found = one.run(settings, options.device)
        results += found
        for result in found:
            outcome = f"{result.time_ms:.6g} ms" if result.is_measured else f"{result.outcome.value}: {result.reason}"
            print(f"{result.benchmark_id}: {outcome}")
        for miss in one.missed(found):
            print(f"target missed: {miss}")
    print(f"stored in {store(results, options.results_dir, os.path.basename(options.file).partition('.')[0])}")
    outcomes = {result.outcome for result in results}
    if Outcome.FAILED in outcomes:
        return 1
    return 0 if Outcome.MEASURED in outcomes else 5


if __name__ == "__main__":
    sys.exit(main())
