"""User-defined benchmarks: their cases, errors, and requests to the program."""

import json
import os
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest

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


@pytest.fixture
def mine(tmp_path):
    """Writes a file of benchmarks and returns its path."""
    path = tmp_path / "mine.py"
    path.write_text(FILE, encoding="utf-8")
    return str(path)


def test_every_point_is_a_case_and_is_measured_with_its_figures(mine):
    add_up = load(mine)[0]
    assert add_up([1, 2]) == 3
    cases = [case.id for case in add_up.cases()]
    assert len(cases) == 4
    assert cases[1] == "component_specific/add_up/cpu:0/n=10/kind=tuple"
    add_up.axes = {"n": [10], "kind": ["list", "tuple"]}
    results = add_up.run(FEW)
    assert [result.benchmark_id for result in results] == cases[:2]
    for result in results:
        assert result.is_measured, result.reason
        assert len(result.samples) == 2
        assert result.fields["gflops"] == pytest.approx(10 / result.time_ms / 1e6, abs=5e-8)
    assert len(add_up.missed(results)) == 2
    assert "gflops is" in add_up.missed(results)[0]


def test_what_breaks_is_a_failure_with_its_cure_and_the_rest_goes_on(mine):
    _, wrong, no_number, divide = load(mine)
    for one, told in ((wrong, "`verify` rejects"), (no_number, "gflops is nan")):
        (result,) = one.run(FEW)
        assert result.outcome is Outcome.FAILED
        assert told in result.reason.why
        assert result.reason.cure
    whole, broken = divide.run(FEW)
    assert whole.is_measured
    assert "ZeroDivisionError" in broken.reason.why


def test_a_file_that_breaks_in_the_process_is_named(mine):
    add_up = load(mine)[0]
    with open(mine, "a", encoding="utf-8") as file:
        file.write("\nraise RuntimeError('not twice')\n")
    for result in add_up.run(FEW):
        assert "not twice" in result.reason.why


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        pytest.param({"name": "a b"}, "not a valid name", id="name"),
        pytest.param({"axes": {"n": []}}, "at least one value", id="no value"),
        pytest.param({"axes": {"n": ["a/b"]}}, "cannot be used in a case id", id="value"),
        pytest.param({"targets": {"time_ms": 5.0}}, '"below", 5.0', id="target"),
    ],
)
def test_mistakes_are_told_at_once(settings, told):
    with pytest.raises(ValueError, match=told):
        benchmark(**{"name": "a"} | settings)(lambda: None)


@pytest.mark.parametrize(
    ("text", "told"),
    [("", "no benchmark"), ("raise KeyError('x')", "KeyError"), ("def (", "SyntaxError")],
    ids=["empty", "raises", "syntax"],
)
def test_a_file_that_cannot_be_loaded_is_an_error(tmp_path, capsys, text, told):
    path = tmp_path / "mine.py"
    path.write_text(text, encoding="utf-8")
    assert main(["list", str(path)]) == 2
    assert told in capsys.readouterr().err


def test_a_file_is_listed(mine, capsys):
    assert main(["list", mine]) == 0
    said = capsys.readouterr().out
    assert len(said.splitlines()) == 8
    assert "kind=tuple  The sum of numbers." in said


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Replaces the program with a script."""

    def replaced(text):
        path = tmp_path / "program"
        path.write_text("#!/bin/sh\n" + text, encoding="utf-8")
        path.chmod(0o755)
        monkeypatch.setenv("RUSTY_STACK_BENCH", str(path))

    return replaced


def test_a_suite_is_asked_for_with_the_configuration_and_followed(program):
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
    program(script)
    told: list[str] = []
    runner = BenchmarkRunner(BenchmarkRunnerConfig(save_raw_results=False, output_dir="kept"))
    runner.set_status_callback(told.append)
    assert runner.run_component_benchmarks()["run_id"] == "abc"
    assert told == ["measuring"]
    assert runner.path == os.path.join("kept", "runs", "abc.json")


def test_functions_keep_the_limit_tell_what_they_do_and_are_reported(mine, tmp_path):
    add_up = load(mine)[0]
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

    path = str(tmp_path / "abc.json")
    Path(path).write_text('{"run_id": "abc"}', encoding="utf-8")
    kept = mock.Mock(return_value=path)
    compared = mock.Mock(return_value="one\ntwo")
    native = mock.patch.dict(vars(rusty_stack_bench), _native=SimpleNamespace(against_saved=compared))
    stored = mock.patch("rusty_stack_bench.runner.store", kept)
    written_reports = mock.patch("rusty_stack_bench.runner.ReportGenerator.write", lambda self, path, format: path)
    with mock.patch.object(Benchmark, "run", run), stored, written_reports, native:
        (result,) = runner.run_custom_benchmarks([add_up])
    assert (limits, runner.path, runner.run) == ([7.0], path, {"run_id": "abc"})
    kept.assert_called_once_with([result], "kept", save_samples=False)
    compared.assert_called_once_with(path, "kept", True)
    assert told[-2:] == ["one", "two"], "the comparison is told"
    in_full = f"{result.benchmark_id}: measured, {result.time_ms:.6g} ms, 3 samples of 1 processes"
    assert in_full in told
    assert any("the target is" in line for line in told), told
    assert any(line.endswith("report_abc.html") for line in told), told


def test_each_file_of_several_is_run(program, mine):
    script = """while [ $# -gt 0 ]; do
    case $1 in
        --id-file) printf "id" > "$2" ;;
        --custom) named=$2 ;;
    esac
    shift
done
echo "{\\"run_id\\": \\"$named\\"}"
"""
    program(script)
    runner = BenchmarkRunner()
    assert [run["run_id"] for run in runner.run_custom_benchmarks(["a.toml", "b.toml"])] == ["a.toml", "b.toml"]
    assert runner.run_custom_benchmarks(["a.toml"])["run_id"] == "a.toml"
    with pytest.raises(ValueError, match="cannot be combined"):
        runner.run_custom_benchmarks(["a.toml", load(mine)[0]])
    with pytest.raises(TypeError, match="decorate it with @benchmark"):
        runner.run_custom_benchmarks([len])


def test_a_program_that_refuses_says_why(program):
    program("echo 'error: no such suite' >&2; exit 2\n")
    with pytest.raises(ValueError, match="no such suite"):
        BenchmarkRunner().run_quick_benchmarks()
    program("echo 'error: no space left' >&2; exit 1\n")
    with pytest.raises(ProgramError, match="no space left"):
        BenchmarkRunner().run_quick_benchmarks()


def test_a_program_that_is_not_here_says_the_cure(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("RUSTY_STACK_BENCH", raising=False)
    with pytest.raises(ProgramError, match="cargo install"):
        BenchmarkRunner().run_quick_benchmarks()


def test_what_was_never_measured_has_no_report():
    with pytest.raises(ProgramError, match="nothing was measured"):
        BenchmarkRunner().generate_all_reports()
