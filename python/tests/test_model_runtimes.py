"""The runtimes of models: what QNN's session says and reads, what a process that dies is, whole numbers, and the schema."""

import importlib.util
import io
import json
import os
import sys
import tempfile
import threading
import unittest
from contextlib import redirect_stderr
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

try:
    import torch
    import transformers  # noqa: F401
except ImportError:
    torch = None

try:
    import onnxruntime
    import onnxscript  # noqa: F401
except ImportError:
    onnxruntime = None

from rusty_stack_bench.workloads import (
    core,
    memory,
    model_load,
    model_metrics,
    model_mps,
    model_onnxruntime,
    model_openvino,
    model_openvino_text,
    model_qnn,
    model_ready,
    models,
    powermetrics,
    qnn_session,
)

from .test_models import case, rows

SCHEMA = Path(__file__).parents[2] / "schemas/models.schema.json"
PROFILE = """Msg Timestamp,Message,Time,Unit of Measurement,Timing Source,Event Level,Event Identifier
0,BACKEND,21301,US,BACKEND,ROOT,Accelerator (load binary) time
0,BACKEND,1500,CYCLES,BACKEND,ROOT,Accelerator (execute) time (cycles)
0,NODE,30,CYCLES,BACKEND,SUB-EVENT,OpId_17 (cycles)
0,NODE,900,CYCLES,BACKEND,SUB-EVENT,/model/Gather:OpId_18 (cycles)
0,EXECUTE,1579089,US,BACKEND,ROOT,QNN (execute) time
"""
# Made up after Apple's manual: nobody here has a Mac.
POWERMETRICS = """*** Sampled system activity (Mon Nov 23 10:00:00 2026 +0000) (503.11ms elapsed) ***

**** GPU usage ****

GPU HW active frequency: 1104 MHz
GPU HW active residency:  86.25% (389 MHz:   2.1% 1104 MHz:  84.2%)
GPU idle residency:  13.75%
GPU Power: 2893 mW
"""


def shapes_of_metrics() -> dict:
    """The names that the metrics of each backend must and may have."""
    definitions = json.loads(SCHEMA.read_text(encoding="utf-8"))["definitions"]
    shapes = {}
    for shape in definitions["DeviceMetrics"]["oneOf"]:
        parts = [shape] + [definitions[one["$ref"].rsplit("/", 1)[-1]] for one in [shape, *shape.get("allOf", [])] if "$ref" in one]
        known = {name: value for part in parts for name, value in part.get("properties", {}).items()}
        tag = known["backend"]
        required = {name for part in parts for name in part.get("required", [])}
        shapes[tag.get("const") or tag["enum"][0]] = (required, set(known))
    return shapes


class OnGpu(unittest.TestCase):
    """What PyTorch tells of a GPU, by a double that has one."""

    def test_kernels_and_memory_are_told_by_the_schema(self):
        rows = [SimpleNamespace(key=name, count=1, self_device_time_total=time) for name, time in (("a", 1.0), ("gemm", 9.0), ("cpu", 0.0))]
        seen = mock.MagicMock()
        seen.__enter__.return_value.key_averages.return_value = rows
        double = mock.Mock(**{"profiler.profile.return_value": seen})
        held = {"allocated_bytes.all.current": 3e6, "allocated_bytes.all.peak": 5e6, "reserved_bytes.all.current": 4e6}
        double.cuda.memory_stats.return_value = held
        told = model_metrics.of_pytorch(core.Case("models", "forward", "rocm:1", {}, gpu=1), double, lambda: None)
        double.cuda.memory_stats.assert_called_with(1)
        self.assertEqual([layer["name"] for layer in told["layers"]], ["gemm", "a"])
        self.assertEqual((told["backend"], told["kernel_time_us"], told["fragmentation_percent"]), ("rocm", 10.0, 25.0))
        required, known = shapes_of_metrics()["rocm"]
        self.assertTrue(required <= set(told) <= known, told)


@unittest.skipIf(torch is None or importlib.util.find_spec("openvino") is None, "needs torch, transformers and openvino")
class TextByOpenVino(unittest.TestCase):
    """Tokens one after another from a graph with a state."""

    def setUp(self):
        # Two threads that wait for each other take long beside other work.
        self.addCleanup(torch.set_num_threads, torch.get_num_threads())
        torch.set_num_threads(1)

    def written(self, name: str, **params):
        """A case of eight tokens of two texts, and its fields."""
        wanted = case(name, "generate", **{"runtime": "openvino", "batch_size": "2", "output_length": "8"} | params)
        work = models.generate(wanted)
        return work.fields(work.sample(1))

    def test_first_and_later_tokens_are_those_of_pytorch(self):
        # With keys of their own for each head, with shared ones, and with experts.
        # Behind an encoder of text, and of speech.
        tried = ("stories-15m", "f32"), ("mixtral-tiny", "f32"), ("stories-15m", "f16"), ("t5-efficient-tiny", "f32"), ("whisper-tiny", "f32")
        for name, dtype in tried:
            few = {"batch_size": "1", "output_length": "3"} if name == "whisper-tiny" else {}
            with self.subTest(name=name, dtype=dtype):
                try:
                    fields = self.written(name, dtype=dtype, **few)
                except core.Skip as skip:
                    # On CPUs with bf16 units OpenVINO works in bf16 if f16 is requested.
                    if dtype != "f16":
                        raise
                    self.skipTest(str(skip))
                self.assertLess(fields["accuracy_error"], models.TOLERANCES[dtype], name)
                self.assertEqual((fields["provider"], fields["output_length"]), ("openvino", 3 if few else 8))
                # Both are null if the first token took longer than all of them, which happens on a busy machine.
                first, later = fields["ttft_ms"], fields["tpot_ms"]
                self.assertTrue(first is None and later is None or min(first, later) > 0, (first, later))

    def test_it_attends_over_its_state_and_keeps_it_in_the_precision_asked_for(self):
        compiled = []
        check = model_openvino._check_precision
        with mock.patch.object(model_openvino, "_check_precision", lambda *of: compiled.append(of[0]) or check(*of)):
            self.written("stories-15m")
        kinds = [node.get_rt_info()["layerType"].astype(str) for node in compiled[0].get_runtime_model().get_ops()]
        self.assertEqual((kinds.count("ScaledDotProductAttention"), kinds.count("MemoryInput")), (6, 12))
        self.assertIn("float", str(compiled[0].get_property("KV_CACHE_PRECISION")))

    def test_a_later_token_that_is_wrong_is_a_failure(self):
        plain = model_openvino_text.Text.write

        def wrong(self, count):
            text = plain(self, count)
            text[:, -1:] = (text[:, -1:] + 1) % 1000
            return text if count > 1 else plain(self, 1)

        with mock.patch.object(model_openvino_text.Text, "write", wrong), self.assertRaises(core.Failure) as failed:
            self.written("stories-15m")
        self.assertIn("token 8 of 8", failed.exception.why)

    def test_what_keeps_something_else_and_whole_numbers_say_what_to_choose(self):
        for name, dtype, told in (
            ("mamba-tiny", "f32", "only keys and values"),
            ("llava-tiny", "f32", "pixel_values"),
            ("stories-15m", "i8", "whole numbers"),
        ):
            with self.assertRaises(core.Skip) as skipped:
                self.written(name, dtype=dtype, sequence_length="64")
            self.assertIn(told, f"{skipped.exception.what} {skipped.exception.why}")
            self.assertIn("choose", skipped.exception.cure)

    def test_a_cache_that_lost_something_is_a_failure(self):
        plain = model_openvino_text.Text._step

        def forgetful(self, words):
            if self.steps == 8:  # At the last of eight tokens.
                self._request.reset_state()
            self.steps += 1
            return plain(self, words)

        begin = model_openvino_text.Text._begin

        def counting(self):
            self.steps = 1
            begin(self)

        changed = mock.patch.multiple(model_openvino_text.Text, _step=forgetful, _begin=counting)
        with changed, self.assertRaises(core.Failure) as failed:
            self.written("t5-efficient-tiny")
        self.assertRegex(failed.exception.why, "off by|not the likeliest")


class UnderLoad(unittest.TestCase):
    """Requests that queue, by a clock that jumps."""

    def test_a_request_waits_for_the_one_before_it(self):
        now = [0.0]

        def pause(seconds):
            now[0] += seconds

        served = model_load.Load([lambda: pause(2.0)], [0.0, 1.0, 10.0], lambda: now[0], pause)
        served.run()
        self.assertEqual((served.waits, served.latencies), ([0.0, 1.0, 0.0], [2.0, 3.0, 2.0]))
        fields = served.fields()
        self.assertEqual(fields["latency_p50_ms"], 2000.0)
        self.assertAlmostEqual(fields["queue_time_ms"], 1000.0 / 3)

    def test_lanes_share_the_requests_and_one_that_breaks_ends_them(self):
        done, meet = [], threading.Barrier(2, timeout=60)  # Either lane waits for the other: two work at the same time.
        served = model_load.Load([lambda: done.append(meet.wait())] * 2, [0.0, 0.0])
        served.run()
        self.assertEqual((len(done), len(served.latencies)), (2, 2))

        def broken():
            raise ValueError("it broke")

        with self.assertRaises(ValueError):
            model_load.Load([broken], [0.0]).run()


class QnnSession(unittest.TestCase):
    """What needs no QNN."""

    def test_a_profile_is_read_and_its_longest_nodes_come_first(self):
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
            file.write(PROFILE)
            file.flush()
            found = qnn_session.cycles(file.name)
        self.assertEqual(found["cycles"], 1500)
        self.assertEqual([layer["name"] for layer in found["layers"]], ["/model/Gather", "OpId_17"])

    def test_a_refused_node_says_what_the_log_says_of_it(self):
        node = {"name": "/model/GatherND", "op_type": "GatherND", "provider": "CPUExecutionProvider"}
        log = ["[V:x] /model/GatherND: opened", "[W:onnxruntime] Op /model/GatherND is not supported: rank 6", "[W:x] /other failed"]
        self.assertIn("rank 6", qnn_session.why(log, node))
        self.assertIn("does not say", qnn_session.why([], node))
        nodes = [node | {"name": f"/layer{at}/GatherND", "why": f"/layer{at}/GatherND has rank {6 + at // 4}"} for at in range(5)]
        refused = model_qnn.refusal("rag", nodes).why
        self.assertTrue(all(one["name"] in refused for one in nodes), refused)
        self.assertEqual((refused.count("has rank 6"), refused.count("has rank 7")), (1, 1), refused)

    def test_a_graph_that_would_silently_run_elsewhere_is_refused(self):
        def part(provider, *names):
            nodes = [SimpleNamespace(name=name, op_type="Add") for name in names]
            return mock.Mock(ep_name=provider, get_nodes=lambda: nodes)

        session = mock.Mock()
        session.get_provider_graph_assignment_info.return_value = [part(qnn_session.PROVIDER, "a", "b"), part("CPUExecutionProvider", "c")]
        with mock.patch.object(qnn_session, "opened", return_value=session), self.assertRaises(qnn_session.Refused) as refused:
            qnn_session.compiled("graph.onnx", "/nonexistent/context.onnx")
        self.assertEqual([node["name"] for node in refused.exception.nodes], ["c"])

    def test_what_is_not_there_or_dies_is_a_reason(self):
        with mock.patch.dict(os.environ, {model_qnn.VARIABLE: ""}), self.assertRaises(core.Skip) as skipped:
            model_qnn.interpreter()
        self.assertIn("python setup qnn", skipped.exception.cure)
        with self.assertRaises(core.Failure) as died:
            model_qnn.Process([sys.executable, "-c", "import os; os._exit(7)"]).ask("prepare")
        self.assertIn("status 7", died.exception.why)
        lacks = "import json; input(); print(json.dumps({'error': \"No module named 'onnxruntime_qnn'\"}))"
        with self.assertRaises(core.Skip):
            model_qnn.Process([sys.executable, "-c", lacks]).ask("prepare")

    def test_an_error_of_a_session_is_its_answer(self):
        with mock.patch.object(qnn_session, "missing", ImportError("No module named 'x'")), redirect_stderr(io.StringIO()):
            answer = qnn_session.Server().answer({"ask": "prepare"})
        self.assertIn("No module named 'x'", answer["error"])


class OnOnnxRuntime(unittest.TestCase):
    """ONNX Runtime, whose provider does every node."""

    def test_a_node_that_ran_elsewhere_fails_the_case(self):
        events = [{"cat": "Node", "name": "a_kernel_time", "dur": 5, "args": {"op_name": "Add", "provider": "CUDAExecutionProvider"}}]
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(events, file)
            file.flush()
            session = mock.Mock(**{"end_profiling.return_value": file.name})
            with mock.patch.object(model_onnxruntime.provider, "session", return_value=session), self.assertRaises(core.Failure) as failed:
                model_onnxruntime._metrics(core.Case("models", "forward", "cpu:0", {}), b"", {}, 1)
        self.assertIn("CUDAExecutionProvider", failed.exception.why)

    def test_what_has_no_graph_says_which_operation(self):
        error = RuntimeError("Failed to convert")
        error.__cause__ = RuntimeError("No ONNX function found for aten.masked_scatter\nmore")
        self.assertTrue(model_ready.unexported(error).why.endswith("aten.masked_scatter"))
        self.assertTrue(model_ready.unexported(RuntimeError("")).why.endswith("RuntimeError"))

    @unittest.skipIf(torch is None or onnxruntime is None, "needs torch, transformers, onnxruntime and onnxscript")
    def test_a_pass_is_verified_on_the_threads_of_pytorch_and_its_nodes_are_told(self):
        row = rows()["bert-tiny"]
        row["config"] |= {"vocab_size": 64, "hidden_size": 16, "num_hidden_layers": 1, "intermediate_size": 32}
        small = case("bert-tiny", runtime="onnxruntime", definition=json.dumps(row | {"parameters": 0}))
        with torch.random.fork_rng():
            fields = models.forward(small).fields(1e6)
        told = fields["device_metrics"]
        self.assertTrue(0 < fields["accuracy_error"] < 1e-4, fields["accuracy_error"])
        self.assertEqual((told["execution_provider"], told["num_threads"]), ("CPUExecutionProvider", torch.get_num_threads()))
        required, known = shapes_of_metrics()["onnxruntime"]
        self.assertTrue(required <= set(told) <= known, told)
        with self.assertRaises(core.Skip) as skipped:
            models.check(case("bert-tiny", runtime="onnxruntime", dtype="bf16"))
        self.assertIn("--precision f32", skipped.exception.cure)


@unittest.skipIf(torch is None or sys.version_info < (3, 11), "needs torch, transformers and a Python that reads TOML")
class OnApple(unittest.TestCase):
    """MPS on a double: the CPU takes the place of the GPU, and what Metal would count is scripted."""

    def test_a_pass_is_waited_for_and_what_metal_counts_is_said(self):
        waits, events = [], mock.Mock()
        events.return_value.elapsed_time.return_value = -1.0  # Events that contradict the clock.
        counts = {"current_allocated_memory": 3_000_000, "driver_allocated_memory": 4_000_000, "recommended_max_memory": 8_000_000}
        double = mock.patch.multiple(torch.mps, synchronize=lambda: waits.append(1), **{n: lambda v=v: v for n, v in counts.items()})
        on_cpu = mock.patch.object(model_mps.Mps, "device", "cpu")
        with torch.random.fork_rng(), double, on_cpu, mock.patch.object(torch.mps.event, "Event", events):
            made = models.forward(case("bert-tiny", runtime="mps"))
            before = len(waits)
            found = made.fields(made.sample(2))
        self.assertGreaterEqual(len(waits) - before, 2)
        self.assertEqual(made.device_type, "gpu")
        told = found["device_metrics"]
        self.assertEqual((told["fragmentation_percent"], told["event_time_ms"], told["recommended_max_mb"]), (25.0, None, 8.0))
        required, known = shapes_of_metrics()["mps"]
        self.assertTrue(required <= set(told) <= known, told)

    def test_what_powermetrics_prints_is_read_and_what_it_refuses_is_said(self):
        self.assertEqual(powermetrics.parsed(POWERMETRICS), {"gpu_clock_mhz": 1104.0, "gpu_utilization_percent": 86.25, "gpu_power_w": 2.893})
        self.assertEqual(powermetrics.parsed("GPU Power: many mW"), {})
        passes = []
        told = powermetrics.watched(lambda: passes.append(1), [sys.executable, "-c", f"print({POWERMETRICS!r})"])
        self.assertEqual((told["gpu_power_w"], bool(passes)), (2.893, True))
        refusing = [sys.executable, "-c", "print('powermetrics must be invoked as the superuser'); raise SystemExit(1)"]
        self.assertIn("superuser", powermetrics.watched(lambda: None, refusing)["counters_note"])
        self.assertIn("run it as root", powermetrics.watched(lambda: None, refusing)["counters_note"])
        self.assertIn("on a Mac", powermetrics.watched(lambda: None, ["/nonexistent/powermetrics"])["counters_note"])

    def test_elsewhere_it_is_a_skip_that_says_what_it_needs(self):
        with mock.patch.object(torch.backends.mps, "is_available", lambda: False), self.assertRaises(core.Skip) as skipped:
            models.check(case("bert-tiny", runtime="mps"))
        self.assertIn("Mac", skipped.exception.cure)


@unittest.skipIf(torch is None or sys.version_info < (3, 11), "needs torch, transformers and a Python that reads TOML")
class WholeNumbers(unittest.TestCase):
    """PyTorch's, which needs nothing more."""

    def test_layers_in_whole_numbers_are_verified_and_counted_and_what_has_none_is_a_skip(self):
        with torch.random.fork_rng():
            made = models.forward(case("bert-tiny", dtype="i8"))
            fields = made.fields(made.sample(1))
            with self.assertRaises(core.Skip) as skipped:
                models.forward(case("mamba-tiny", dtype="i8"))
        self.assertTrue(1e-5 < fields["accuracy_error"] < 0.2, fields["accuracy_error"])
        self.assertEqual((fields["parameter_count"], fields["quantized_layers"]), (4_416_698, 14))
        self.assertLess(fields["model_size_gb"], 4 * 4_416_698 / 1e9 * 1.2)
        self.assertIn("openvino", skipped.exception.cure)
        if memory.heap_unused_percent():
            self.assertTrue(0 <= fields["memory_fragmentation_percent"] < 100, fields)
        required, known = shapes_of_metrics()["cpu"]
        self.assertTrue(required <= set(fields["device_metrics"]) <= known, fields["device_metrics"])
