"""Benchmarks of your own: what is a benchmark, what becomes of mistakes, and what is asked of the program."""

import contextlib
import io
import json
import os
import stat
import tempfile
import unittest
from types import SimpleNamespace
from unittest import mock

import rusty_stack_bench
from rusty_stack_bench import BenchmarkRunner, BenchmarkRunnerConfig, Outcome, ProgramError, benchmark
from rusty_stack_bench.__main__ import main
from rusty_stack_bench.custom import Benchmark, load
from rusty_stack_bench.measuring import Settings

FEW = Settings(replicates=2, runs=3, timeout=30)
FILE = '''
from rusty_stack_bench import benchmark

@benchmark(
    axes={"n": [10, 1000], "kind": ["list", "tuple"]},
    set_up=lambda n, kind: {"list": list, "tuple": tuple}[kind](range(n)),
    verify=lambda numbers, total: total == len(numbers) * (len(numbers) - 1) // 2,
    figures={"gflops": lambda numbers, seconds: len(numbers) / seconds / 1e9},
    targets={"time_ms": ("below", 1000.0), "gflops": ("above", 1e6)},
)
def add_up(numbers):
    """The sum of numbers."""
    return sum(numbers)

@benchmark(verify=lambda values, result: result == 2)
def wrong():
    return 1

@benchmark(figures={"gflops": lambda state, seconds: float("nan")})
def no_number():
    return 1

@benchmark(axes={"divisor": [1, 0]})
def divide(divisor):
    return 1 / divisor
'''


def written(text: str, test: unittest.TestCase, name: str = "mine.py") -> str:
    """A file with this text, until the end of the test."""
    directory = tempfile.TemporaryDirectory()
    test.addCleanup(directory.cleanup)
    path = os.path.join(directory.name, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


class Functions(unittest.TestCase):
    """Functions under @benchmark."""

    def test_every_point_is_a_case_and_is_measured_with_its_figures(self):
        add_up = load(written(FILE, self))[0]
        self.assertEqual(add_up([1, 2]), 3)
        cases = [case.id for case in add_up.cases()]
        self.assertEqual(len(cases), 4)
        self.assertEqual(cases[1], "component_specific/add_up/cpu:0/n=10/kind=tuple")
        add_up.axes = {"n": [10], "kind": ["list", "tuple"]}
        results = add_up.run(FEW)
        self.assertEqual([result.benchmark_id for result in results], cases[:2])
        for result in results:
            self.assertTrue(result.is_measured, result.reason)
            self.assertEqual(len(result.samples), 2)
            self.assertAlmostEqual(result.fields["gflops"], 10 / result.time_ms / 1e6)
        self.assertEqual(len(add_up.missed(results)), 2)
        self.assertIn("gflops is", add_up.missed(results)[0])

    def test_what_breaks_is_a_failure_with_its_cure_and_the_rest_goes_on(self):
        _, wrong, no_number, divide = load(written(FILE, self))
        for one, told in ((wrong, "verification refuses"), (no_number, "gflops is nan")):
            (result,) = one.run(FEW)
            self.assertIs(result.outcome, Outcome.FAILED)
            self.assertIn(told, result.reason.why)
            self.assertTrue(result.reason.cure)
        whole, broken = divide.run(FEW)
        self.assertTrue(whole.is_measured)
        self.assertIn("ZeroDivisionError", broken.reason.why)

    def test_a_file_that_breaks_in_the_process_is_named(self):
        path = written(FILE, self)
        add_up = load(path)[0]
        with open(path, "a", encoding="utf-8") as file:
            file.write("\nraise RuntimeError('not twice')\n")
        for result in add_up.run(FEW):
            self.assertIn("not twice", result.reason.why)

    def test_mistakes_are_told_at_once(self):
        for settings, told in (
            ({"name": "a b"}, "no name"),
            ({"axes": {"n": []}}, "one value or more"),
            ({"axes": {"n": ["a/b"]}}, "cannot stand in an id"),
            ({"targets": {"time_ms": 5.0}}, '"below", 5.0'),
        ):
            with self.assertRaisesRegex(ValueError, told):
                benchmark(**settings)(lambda: None) if "name" in settings else benchmark(name="a", **settings)(lambda: None)
        for text, told in (("", "no benchmark"), ("raise KeyError('x')", "KeyError"), ("def (", "SyntaxError")):
            said = io.StringIO()
            with contextlib.redirect_stderr(said):
                self.assertEqual(main(["list", written(text, self)]), 2)
            self.assertIn(told, said.getvalue())

    def test_a_file_is_listed(self):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            self.assertEqual(main(["list", written(FILE, self)]), 0)
        self.assertEqual(len(said.getvalue().splitlines()), 8)
        self.assertIn("kind=tuple  The sum of numbers.", said.getvalue())


class Suites(unittest.TestCase):
    """What is asked of the program."""

    def program(self, text: str) -> mock._patch_dict:
        path = written("#!/bin/sh\n" + text, self, "program")
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
        return mock.patch.dict(os.environ, {"RUSTY_STACK_BENCH": path})

    def test_a_suite_is_asked_for_with_the_configuration_and_followed(self):
        answer = json.dumps({"run_id": "abc", "benchmarks": []})
        script = f"""echo measuring >&2
while [ $# -gt 0 ]; do
    case $1 in
        --id-file) printf abc > "$2" ;;
        --config) grep -q 'save_raw_results = false' "$2" || exit 9 ;;
        --suite) [ "$2" = component ] || exit 9 ;;
    esac
    shift
done
echo '{answer}'
"""
        told: list[str] = []
        with self.program(script):
            runner = BenchmarkRunner(BenchmarkRunnerConfig(save_raw_results=False, output_dir="kept"))
            runner.set_status_callback(told.append)
            self.assertEqual(runner.run_component_benchmarks()["run_id"], "abc")
        self.assertEqual(told, ["measuring"])
        self.assertEqual(runner.path, os.path.join("kept", "runs", "abc.json"))

    def test_functions_keep_the_limit_tell_what_they_do_and_are_reported(self):
        add_up = load(written(FILE, self))[0]
        add_up.axes = {"n": [10], "kind": ["list"]}
        told, limits = [], []
        config = BenchmarkRunnerConfig(timeout_seconds=7, generate_reports=True, output_dir="kept", save_raw_results=False)
        config.compare_with_baseline = config.verbose = True
        runner = BenchmarkRunner(config)
        runner.set_status_callback(told.append)
        plain = Benchmark.run

        def run(self, settings):
            limits.append(settings.timeout)
            return plain(self, Settings(replicates=1, runs=3, timeout=30))

        path = written('{"run_id": "abc"}', self, "abc.json")
        kept = mock.Mock(return_value=path)
        compared = mock.Mock(return_value="one\ntwo")
        native = mock.patch.dict(vars(rusty_stack_bench), _native=SimpleNamespace(against_saved=compared))
        stored = mock.patch("rusty_stack_bench.runner.store", kept)
        written_reports = mock.patch("rusty_stack_bench.runner.ReportGenerator.write", lambda self, path, format: path)
        with mock.patch.object(Benchmark, "run", run), stored, written_reports, native:
            (result,) = runner.run_custom_benchmarks([add_up])
        self.assertEqual((limits, runner.path, runner.run), ([7.0], path, {"run_id": "abc"}))
        kept.assert_called_once_with([result], "kept", save_samples=False)
        compared.assert_called_once_with(path, "kept", True)
        self.assertEqual(told[-2:], ["one", "two"], "the comparison is told")
        in_full = f"{result.benchmark_id}: measured, {result.time_ms:.6g} ms, 3 samples of 1 processes"
        self.assertIn(in_full, told)
        self.assertTrue(any("is aimed at" in line for line in told), told)
        self.assertTrue(any(line.endswith("report_abc.html") for line in told), told)

    def test_each_file_of_several_is_run(self):
        script = """while [ $# -gt 0 ]; do
    case $1 in
        --id-file) printf "id" > "$2" ;;
        --custom) named=$2 ;;
    esac
    shift
done
echo "{\\"run_id\\": \\"$named\\"}"
"""
        with self.program(script):
            runner = BenchmarkRunner()
            self.assertEqual([run["run_id"] for run in runner.run_custom_benchmarks(["a.toml", "b.toml"])], ["a.toml", "b.toml"])
            self.assertEqual(runner.run_custom_benchmarks(["a.toml"])["run_id"], "a.toml")
            with self.assertRaisesRegex(ValueError, "name either"):
                runner.run_custom_benchmarks(["a.toml", load(written(FILE, self))[0]])
            with self.assertRaisesRegex(TypeError, "put @benchmark above it"):
                runner.run_custom_benchmarks([len])

    def test_a_program_that_is_not_here_or_refuses_says_the_cure(self):
        with self.program("echo 'error: no such suite' >&2; exit 2\n"), self.assertRaisesRegex(ProgramError, "no such suite"):
            BenchmarkRunner().run_quick_benchmarks()
        with mock.patch.dict(os.environ, {"PATH": "/nonexistent"}):
            os.environ.pop("RUSTY_STACK_BENCH", None)
            with self.assertRaisesRegex(ProgramError, "cargo install"):
                BenchmarkRunner().run_quick_benchmarks()
        with self.assertRaisesRegex(ProgramError, "nothing was measured"):
            BenchmarkRunner().generate_all_reports()


if __name__ == "__main__":
    unittest.main()
