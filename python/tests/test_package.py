"""The Python package: case ids, combinations of axis values, and failing processes."""

import importlib.util
import inspect
import json
import types
from unittest import mock

import pytest

import rusty_stack_bench
from rusty_stack_bench import Outcome, Reason
from rusty_stack_bench.cases import AXES, every
from rusty_stack_bench.measuring import Settings, measure
from rusty_stack_bench.results import InferenceResult, MatmulResult, Result, typed

FEW = Settings(replicates=2, runs=3, timeout=30)
# Values for parameters without a default.
NEEDED = {
    "sizes": [(8, 8, 8)],
    "inputs": [(1, 1, 8, 8)],
    "weights": [(1, 1, 3, 3)],
    "rows": [(8, 8)],
    "sequence_lengths": [16],
    "kernels": ["softmax"],
    "targets": ["gfx942"],
    "request_rates": [1.0],
    "model_name": "random",
    "size": 8,
}


def test_ids_name_what_is_unusual():
    plain, turned = every(
        "pytorch", "matmul", "cpu:0", dtype=["bf16"], shape=[(1024, 1024, 1024)], transpose=["nn", "tn"]
    )
    assert plain.id == "component_specific/pytorch/cpu:0/matmul/bf16/1024x1024x1024"
    assert turned.id == plain.id + "/transpose=tn"


def test_every_combination_is_a_case():
    found = every("pytorch", "attention", "cpu:0", dtype=["f32", "bf16"], sequence_length=[64], causal=[False, True])
    assert len({case.id for case in found}) == 4
    assert found[1].id.endswith("/64/causal=yes")


def skipped(kind, case):
    """Returns the result of a case that was not measured."""
    parameters = {"workload": case.workload, **case.params}
    reason = Reason("case", "it is a test", "do not measure")
    return typed(kind, Result(case.id, Outcome.SKIPPED, reason, None, parameters, [], {}, "2026-01-01T00:00:00Z"))


def test_every_workload_has_its_function():
    seen, cases = set(), []

    def collect(kind, planned, settings):
        cases.extend(planned)
        return [skipped(kind, case) for case in planned]

    modules = {component.replace("-", "_") for component, _ in AXES}
    measured = mock.patch("rusty_stack_bench.measuring.measure", collect)
    with measured, mock.patch("rusty_stack_bench.measuring.require_torch"):
        for module in modules:
            functions = inspect.getmembers(importlib.import_module(f"rusty_stack_bench.{module}"), inspect.isfunction)
            for name, function in functions:
                if name.startswith("benchmark_"):
                    parameters = inspect.signature(function).parameters
                    given = {needed: NEEDED[needed] for needed in parameters if needed in NEEDED}
                    if name == "benchmark_memory_transfer":
                        given["sizes"] = "1MiB"
                    cases.clear()
                    function(**given, **({"device": "cpu:0"} if "device" in parameters else {}))
                    assert cases, name
                    assert {(case.component.replace("-", "_"), case.device) for case in cases} == {(module, "cpu:0")}
                    seen |= {(case.component, case.workload) for case in cases}
    assert seen == set(AXES)


def test_words_that_mean_nothing_are_named():
    with pytest.raises(ValueError, match="color.*dtype, shape"):
        every("pytorch", "matmul", "cpu:0", dtype=["f32"], shape=[(1, 1, 1)], color=["red"])
    with pytest.raises(ValueError, match="needs shape"):
        every("pytorch", "matmul", "cpu:0", dtype=["f32"])


@pytest.fixture
def known_faults():
    """Registers the component of injected faults."""
    with mock.patch.dict(AXES, {("python-faults", "fault"): ("fault",)}):
        yield


def results_of(fault, settings=FEW):
    """Returns the result of a case with a fault and of a case without one."""
    return measure(Result, every("python-faults", "fault", "cpu:0", fault=[fault, "none"]), settings)


@pytest.mark.usefixtures("known_faults")
def test_what_is_measured_has_samples_of_every_process():
    _, plain = results_of("none")
    assert plain.is_measured
    assert [one.replicate for one in plain.samples] == [0, 1]
    assert all(len(one.times_ns) == 3 for one in plain.samples)
    # An iteration without a fault sleeps for a millisecond.
    assert plain.time_ms > 1.0
    assert plain.record()["category"] == "python-faults"


@pytest.mark.usefixtures("known_faults")
@pytest.mark.parametrize(
    ("fault", "expected"),
    [("kill", "SIGKILL"), ("segv", "SIGSEGV"), ("leave", "exit code 3"), ("raise", "ZeroDivisionError"), ("nan", "nan")],
)
def test_each_way_to_die_is_named_and_the_rest_goes_on(fault, expected):
    broken, plain = results_of(fault, Settings(replicates=1, runs=3, timeout=30))
    assert broken.outcome is Outcome.FAILED
    assert expected in broken.reason.why
    assert broken.reason.cure
    assert plain.is_measured


@pytest.mark.usefixtures("known_faults")
def test_a_process_that_hangs_is_ended():
    broken, plain = results_of("sleep", Settings(replicates=1, runs=3, timeout=3))
    assert "within 3 s" in broken.reason.why
    assert plain.is_measured


@pytest.mark.usefixtures("known_faults")
def test_chatter_is_no_answer():
    chatty, _ = results_of("chatter", Settings(replicates=1, runs=3, timeout=30))
    assert chatty.is_measured


def test_sensors_are_read_beside_the_samples_of_a_gpu():
    asked = []

    def ask(self, question):
        asked.append(question["ask"])
        fields = {"time_ms": 1.0, "memory_used_mb": 5.0, "gpu_power_w": 7.0}
        return {"device_type": "gpu", "pci_address": "0000:03:00.0", "time_ns": 20e6, "fields": fields}

    def stop():
        asked.append("stop")
        return json.dumps({"gpu_utilization_percent": 97.0, "gpu_power_w": 90.0})

    native = types.SimpleNamespace(watch=lambda address: asked.append(address) or types.SimpleNamespace(stop=stop))
    here = mock.patch.dict(vars(rusty_stack_bench), _native=native)
    cases = every("migraphx", "inference", "rocm:0")
    with here, mock.patch("rusty_stack_bench.measuring._Replicate.ask", ask):
        (result,) = measure(InferenceResult, cases, Settings(replicates=1, runs=2, timeout=30))
    assert result.gpu_utilization_percent == 97.0
    assert result.fields["gpu_power_w"] == 7.0, "what a case says itself goes first"
    assert asked == ["prepare", "sample", "sample", "0000:03:00.0", "sample", "sample", "stop", "finish"]


def test_a_missing_package_or_gpu_is_a_skip():
    (result,) = measure(
        MatmulResult,
        every("pytorch", "matmul", "rocm:9", dtype=["f32"], shape=[(8, 8, 8)]),
        Settings(replicates=1, runs=3, timeout=120),
    )
    assert result.outcome is Outcome.SKIPPED
    assert result.tflops is None
    assert result.reason.cure
    has_torch = importlib.util.find_spec("torch") is not None
    assert result.record().get("obstacle") == (None if has_torch else "missing_package")


@pytest.mark.usefixtures("known_faults")
def test_the_kind_of_what_stands_in_the_way_is_kept():
    told = {"what": "package x", "why": "it is not there", "cure": "install it", "obstacle": "missing_package"}
    answer = {"answer": "skipped", "reason": told}
    with mock.patch("rusty_stack_bench.measuring._Replicate._read_answers", lambda self: self._answers.put(json.dumps(answer))):
        (result,) = measure(Result, every("python-faults", "fault", "cpu:0", fault=["none"]), FEW)
    assert result.outcome is Outcome.SKIPPED
    assert {name: result.record()[name] for name in told} == told
