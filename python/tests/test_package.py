"""The package for people who live in Python: ids, combinations, and processes that break."""

import importlib.util
import inspect
import json
import types
import unittest
from unittest import mock

import rusty_stack_bench
from rusty_stack_bench import Outcome
from rusty_stack_bench.cases import AXES, every
from rusty_stack_bench.measuring import Settings, measure
from rusty_stack_bench.results import InferenceResult, MatmulResult, Result

FEW = Settings(replicates=2, runs=3, timeout=30)
# A value of each parameter that a function has no default for.
NEEDED = {
    "sizes": [(8, 8, 8)],
    "inputs": [(1, 1, 8, 8)],
    "weights": [(1, 1, 3, 3)],
    "rows": [(8, 8)],
    "sequence_lengths": [16],
    "kernels": ["softmax"],
    "targets": ["gfx942"],
    "request_rates": [1.0],
}


class Cases(unittest.TestCase):
    """What is a case, and what it is called."""

    def test_ids_name_what_is_unusual(self):
        plain, turned = every(
            "pytorch", "matmul", "cpu:0", dtype=["bf16"], shape=[(1024, 1024, 1024)], transpose=["nn", "tn"]
        )
        self.assertEqual(plain.id, "component_specific/pytorch/cpu:0/matmul/bf16/1024x1024x1024")
        self.assertEqual(turned.id, plain.id + "/transpose=tn")

    def test_every_combination_is_a_case(self):
        found = every("pytorch", "attention", "cpu:0", dtype=["f32", "bf16"], sequence_length=[64], causal=[False, True])
        self.assertEqual(len({case.id for case in found}), 4)
        self.assertTrue(found[1].id.endswith("/64/causal=yes"))

    def test_every_workload_has_its_function(self):
        seen = set()
        modules = {component.replace("-", "_") for component, _ in AXES}
        with mock.patch("rusty_stack_bench.measuring.measure", lambda kind, cases, settings: cases):
            for module in modules:
                functions = inspect.getmembers(importlib.import_module(f"rusty_stack_bench.{module}"), inspect.isfunction)
                for name, function in functions:
                    if name.startswith("benchmark_"):
                        parameters = inspect.signature(function).parameters
                        given = {needed: NEEDED[needed] for needed in parameters if needed in NEEDED}
                        cases = function(**given, **({"device": "cpu:0"} if "device" in parameters else {}))
                        self.assertTrue(cases, name)
                        self.assertEqual({(case.component.replace("-", "_"), case.device) for case in cases}, {(module, "cpu:0")})
                        seen |= {(case.component, case.workload) for case in cases}
        self.assertEqual(seen, set(AXES))

    def test_words_that_mean_nothing_are_named(self):
        with self.assertRaisesRegex(ValueError, "color.*dtype, shape"):
            every("pytorch", "matmul", "cpu:0", dtype=["f32"], shape=[(1, 1, 1)], color=["red"])
        with self.assertRaisesRegex(ValueError, "needs shape"):
            every("pytorch", "matmul", "cpu:0", dtype=["f32"])


class Processes(unittest.TestCase):
    """Whatever happens to the process of a case, the others go on."""

    def setUp(self):
        known = mock.patch.dict(AXES, {("python-faults", "fault"): ("fault",)})
        known.start()
        self.addCleanup(known.stop)

    def of(self, fault, settings=FEW):
        """The results of a fault and of a case without one."""
        return measure(Result, every("python-faults", "fault", "cpu:0", fault=[fault, "none"]), settings)

    def test_what_is_measured_has_samples_of_every_process(self):
        _, plain = self.of("none")
        self.assertTrue(plain.is_measured)
        self.assertEqual([one.replicate for one in plain.samples], [0, 1])
        self.assertTrue(all(len(one.times_ns) == 3 for one in plain.samples))
        # An iteration sleeps for a millisecond.
        self.assertGreater(plain.time_ms, 1.0)
        self.assertEqual(plain.record()["category"], "python-faults")

    def test_each_way_to_die_is_named_and_the_rest_goes_on(self):
        for fault, expected in (
            ("kill", "SIGKILL"),
            ("segv", "SIGSEGV"),
            ("leave", "exit code 3"),
            ("raise", "ZeroDivisionError"),
            ("nan", "nan"),
        ):
            with self.subTest(fault):
                broken, plain = self.of(fault, Settings(replicates=1, runs=3, timeout=30))
                self.assertIs(broken.outcome, Outcome.FAILED)
                self.assertIn(expected, broken.reason.why)
                self.assertTrue(broken.reason.cure)
                self.assertTrue(plain.is_measured)

    def test_a_process_that_hangs_is_ended(self):
        broken, plain = self.of("sleep", Settings(replicates=1, runs=3, timeout=3))
        self.assertIn("within 3 s", broken.reason.why)
        self.assertTrue(plain.is_measured)

    def test_chatter_is_no_answer(self):
        chatty, _ = self.of("chatter", Settings(replicates=1, runs=3, timeout=30))
        self.assertTrue(chatty.is_measured)

    def test_sensors_are_read_beside_the_samples_of_a_gpu(self):
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
        self.assertEqual(result.gpu_utilization_percent, 97.0)
        self.assertEqual(result.fields["gpu_power_w"], 7.0, "what a case says itself goes first")
        self.assertEqual(asked, ["prepare", "sample", "sample", "0000:03:00.0", "sample", "sample", "stop", "finish"])

    def test_a_missing_package_or_gpu_is_a_skip(self):
        (result,) = measure(
            MatmulResult,
            every("pytorch", "matmul", "rocm:9", dtype=["f32"], shape=[(8, 8, 8)]),
            Settings(replicates=1, runs=3, timeout=120),
        )
        self.assertIs(result.outcome, Outcome.SKIPPED)
        self.assertIsNone(result.tflops)
        self.assertTrue(result.reason.cure)
        has_torch = importlib.util.find_spec("torch") is not None
        self.assertEqual(result.record().get("obstacle"), None if has_torch else "missing_package")

    def test_the_kind_of_what_stands_in_the_way_is_kept(self):
        told = {"what": "package x", "why": "it is not there", "cure": "install it", "obstacle": "missing_package"}
        answer = {"answer": "skipped", "reason": told}
        with mock.patch("rusty_stack_bench.measuring._Replicate._read_answers", lambda self: self._answers.put(json.dumps(answer))):
            (result,) = measure(Result, every("python-faults", "fault", "cpu:0", fault=["none"]), FEW)
        self.assertIs(result.outcome, Outcome.SKIPPED)
        self.assertEqual({name: result.record()[name] for name in told}, told)


if __name__ == "__main__":
    unittest.main()
