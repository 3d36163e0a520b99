"""Runtimes of models: QNN sessions, processes that die, integer types, and the schema of device metrics."""

import importlib.util
import json
import os
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest

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

from .test_models import case, needs_models, rows

SCHEMA = Path(__file__).parents[2] / "schemas/models.schema.json"
PROFILE = """Msg Timestamp,Message,Time,Unit of Measurement,Timing Source,Event Level,Event Identifier
0,BACKEND,21301,US,BACKEND,ROOT,Accelerator (load binary) time
0,BACKEND,1500,CYCLES,BACKEND,ROOT,Accelerator (execute) time (cycles)
0,NODE,30,CYCLES,BACKEND,SUB-EVENT,OpId_17 (cycles)
0,NODE,900,CYCLES,BACKEND,SUB-EVENT,/model/Gather:OpId_18 (cycles)
0,EXECUTE,1579089,US,BACKEND,ROOT,QNN (execute) time
"""
# Written according to Apple's manual, not recorded on a Mac.
POWERMETRICS = """*** Sampled system activity (Mon Nov 23 10:00:00 2026 +0000) (503.11ms elapsed) ***

**** GPU usage ****

GPU HW active frequency: 1104 MHz
GPU HW active residency:  86.25% (389 MHz:   2.1% 1104 MHz:  84.2%)
GPU idle residency:  13.75%
GPU Power: 2893 mW
"""


def shapes_of_metrics() -> dict:
    """Returns the required and the allowed names of the metrics of each backend."""
    definitions = json.loads(SCHEMA.read_text(encoding="utf-8"))["definitions"]
    shapes = {}
    for shape in definitions["DeviceMetrics"]["oneOf"]:
        parts = [shape] + [definitions[one["$ref"].rsplit("/", 1)[-1]] for one in [shape, *shape.get("allOf", [])] if "$ref" in one]
        known = {name: value for part in parts for name, value in part.get("properties", {}).items()}
        tag = known["backend"]
        required = {name for part in parts for name in part.get("required", [])}
        shapes[tag.get("const") or tag["enum"][0]] = (required, set(known))
    return shapes


def test_kernels_and_memory_are_told_by_the_schema():
    rows = [SimpleNamespace(key=name, count=1, self_device_time_total=time) for name, time in (("a", 1.0), ("gemm", 9.0), ("cpu", 0.0))]
    seen = mock.MagicMock()
    seen.__enter__.return_value.key_averages.return_value = rows
    double = mock.Mock(**{"profiler.profile.return_value": seen})
    held = {"allocated_bytes.all.current": 3e6, "allocated_bytes.all.peak": 5e6, "reserved_bytes.all.current": 4e6}
    double.cuda.memory_stats.return_value = held
    told = model_metrics.of_pytorch(core.Case("models", "forward", "rocm:1", {}, gpu=1), double, lambda: None)
    double.cuda.memory_stats.assert_called_with(1)
    assert [layer["name"] for layer in told["layers"]] == ["gemm", "a"]
    assert (told["backend"], told["kernel_time_us"], told["fragmentation_percent"]) == ("rocm", 10.0, 25.0)
    required, known = shapes_of_metrics()["rocm"]
    assert required <= set(told) <= known, told


needs_openvino = pytest.mark.skipif(
    torch is None or importlib.util.find_spec("openvino") is None, reason="needs torch, transformers and openvino"
)


@pytest.fixture
def one_thread():
    """Uses one thread, because synchronized threads are slow on a machine with other load."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def written(name: str, **params):
    """Generates eight tokens for each of two texts, and returns the fields of the case."""
    wanted = case(name, "generate", **{"runtime": "openvino", "batch_size": "2", "output_length": "8"} | params)
    work = models.generate(wanted)
    return work.fields(work.sample(1))


@needs_openvino
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(
    ("name", "dtype", "params"),
    [
        # With separate keys per head, with shared keys, and with experts.
        pytest.param("stories-15m", "f32", {}, id="stories-15m"),
        pytest.param("mixtral-tiny", "f32", {}, id="mixtral-tiny"),
        pytest.param("stories-15m", "f16", {}, id="stories-15m in f16"),
        # Models with an encoder of text, and with an encoder of speech.
        pytest.param("t5-efficient-tiny", "f32", {}, id="t5-efficient-tiny"),
        pytest.param("whisper-tiny", "f32", {"batch_size": "1", "output_length": "3"}, id="whisper-tiny"),
    ],
)
def test_first_and_later_tokens_are_those_of_pytorch(name, dtype, params):
    try:
        fields = written(name, dtype=dtype, **params)
    except core.Skip as skip:
        # On CPUs with bf16 units, OpenVINO computes in bf16 if f16 is requested.
        if dtype != "f16":
            raise
        pytest.skip(str(skip))
    assert fields["accuracy_error"] < models.TOLERANCES[dtype]
    assert (fields["provider"], fields["output_length"]) == ("openvino", 3 if params else 8)
    # Both times are None if the first token took longer than the whole generation, as
    # may happen on a busy machine.
    first, later = fields["ttft_ms"], fields["tpot_ms"]
    assert (first is None and later is None) or min(first, later) > 0


@needs_openvino
@pytest.mark.usefixtures("one_thread")
def test_it_attends_over_its_state_and_keeps_it_in_the_precision_asked_for():
    compiled = []
    check = model_openvino._check_precision
    with mock.patch.object(model_openvino, "_check_precision", lambda *of: compiled.append(of[0]) or check(*of)):
        written("stories-15m")
    kinds = [node.get_rt_info()["layerType"].astype(str) for node in compiled[0].get_runtime_model().get_ops()]
    assert (kinds.count("ScaledDotProductAttention"), kinds.count("MemoryInput")) == (6, 12)
    assert "float" in str(compiled[0].get_property("KV_CACHE_PRECISION"))


@needs_openvino
@pytest.mark.usefixtures("one_thread")
def test_a_later_token_that_is_wrong_is_a_failure():
    plain = model_openvino_text.Text.write

    def wrong(self, count):
        text = plain(self, count)
        text[:, -1:] = (text[:, -1:] + 1) % 1000
        return text if count > 1 else plain(self, 1)

    with mock.patch.object(model_openvino_text.Text, "write", wrong), pytest.raises(core.Failure) as failed:
        written("stories-15m")
    assert "token 8 of 8" in failed.value.why


@needs_openvino
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(
    ("name", "dtype", "told"),
    [
        ("mamba-tiny", "f32", "only keys and values"),
        ("llava-tiny", "f32", "pixel_values"),
        ("stories-15m", "i8", "single passes"),
    ],
)
def test_what_keeps_something_else_and_whole_numbers_say_what_to_choose(name, dtype, told):
    with pytest.raises(core.Skip) as skipped:
        written(name, dtype=dtype, sequence_length="64")
    assert told in f"{skipped.value.what} {skipped.value.why}"
    assert "choose" in skipped.value.cure


@needs_openvino
@pytest.mark.usefixtures("one_thread")
def test_a_cache_that_lost_something_is_a_failure():
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
    with changed, pytest.raises(core.Failure) as failed:
        written("t5-efficient-tiny")
    assert "off by" in failed.value.why or "not the most likely" in failed.value.why


def test_a_request_waits_for_the_one_before_it():
    now = [0.0]

    def pause(seconds):
        now[0] += seconds

    served = model_load.Load([lambda: pause(2.0)], [0.0, 1.0, 10.0], lambda: now[0], pause)
    served.run()
    assert (served.waits, served.latencies) == ([0.0, 1.0, 0.0], [2.0, 3.0, 2.0])
    fields = served.fields()
    assert fields["latency_p50_ms"] == 2000.0
    assert fields["queue_time_ms"] == pytest.approx(1000.0 / 3, abs=5e-8)


def test_lanes_share_the_requests_and_one_that_breaks_ends_them():
    done, meet = [], threading.Barrier(2, timeout=60)  # Each lane waits for the other, so both must work at the same time.
    served = model_load.Load([lambda: done.append(meet.wait())] * 2, [0.0, 0.0])
    served.run()
    assert (len(done), len(served.latencies)) == (2, 2)

    def broken():
        raise ValueError("it broke")

    with pytest.raises(ValueError, match="it broke"):
        model_load.Load([broken], [0.0]).run()


def test_a_profile_is_read_and_its_longest_nodes_come_first(tmp_path):
    (tmp_path / "profile.csv").write_text(PROFILE, encoding="utf-8")
    found = qnn_session.cycles(str(tmp_path / "profile.csv"))
    assert found["cycles"] == 1500
    assert [layer["name"] for layer in found["layers"]] == ["/model/Gather", "OpId_17"]


def test_a_refused_node_says_what_the_log_says_of_it():
    node = {"name": "/model/GatherND", "op_type": "GatherND", "provider": "CPUExecutionProvider"}
    log = ["[V:x] /model/GatherND: opened", "[W:onnxruntime] Op /model/GatherND is not supported: rank 6", "[W:x] /other failed"]
    assert "rank 6" in qnn_session.why(log, node)
    assert "no reason" in qnn_session.why([], node)
    nodes = [node | {"name": f"/layer{at}/GatherND", "why": f"/layer{at}/GatherND has rank {6 + at // 4}"} for at in range(5)]
    refused = model_qnn.refusal("rag", nodes).why
    assert all(one["name"] in refused for one in nodes), refused
    assert (refused.count("has rank 6"), refused.count("has rank 7")) == (1, 1), refused


def test_a_graph_that_would_silently_run_elsewhere_is_refused():
    def part(provider, *names):
        nodes = [SimpleNamespace(name=name, op_type="Add") for name in names]
        return mock.Mock(ep_name=provider, get_nodes=lambda: nodes)

    session = mock.Mock()
    session.get_provider_graph_assignment_info.return_value = [part(qnn_session.PROVIDER, "a", "b"), part("CPUExecutionProvider", "c")]
    with mock.patch.object(qnn_session, "opened", return_value=session), pytest.raises(qnn_session.Refused) as refused:
        qnn_session.compiled("graph.onnx", "/nonexistent/context.onnx")
    assert [node["name"] for node in refused.value.nodes] == ["c"]


def test_what_is_not_there_or_dies_is_a_reason():
    with mock.patch.dict(os.environ, {model_qnn.VARIABLE: ""}), pytest.raises(core.Skip) as skipped:
        model_qnn.interpreter()
    assert "python setup qnn" in skipped.value.cure
    with pytest.raises(core.Failure) as died:
        model_qnn.Process([sys.executable, "-c", "import os; os._exit(7)"]).ask("prepare")
    assert "status 7" in died.value.why
    lacks = "import json; input(); print(json.dumps({'error': \"No module named 'onnxruntime_qnn'\"}))"
    with pytest.raises(core.Skip):
        model_qnn.Process([sys.executable, "-c", lacks]).ask("prepare")


def test_an_error_of_a_session_is_its_answer():
    with mock.patch.object(qnn_session, "missing", ImportError("No module named 'x'")):
        answer = qnn_session.Server().answer({"ask": "prepare"})
    assert "No module named 'x'" in answer["error"]


def test_a_node_that_ran_elsewhere_fails_the_case(tmp_path):
    events = [{"cat": "Node", "name": "a_kernel_time", "dur": 5, "args": {"op_name": "Add", "provider": "CUDAExecutionProvider"}}]
    profile = tmp_path / "profile.json"
    profile.write_text(json.dumps(events), encoding="utf-8")
    session = mock.Mock(**{"end_profiling.return_value": str(profile)})
    with mock.patch.object(model_onnxruntime.provider, "session", return_value=session), pytest.raises(core.Failure) as failed:
        model_onnxruntime._metrics(core.Case("models", "forward", "cpu:0", {}), b"", {}, 1)
    assert "CUDAExecutionProvider" in failed.value.why


def test_what_has_no_graph_says_which_operation():
    error = RuntimeError("Failed to convert")
    error.__cause__ = RuntimeError("No ONNX function found for aten.masked_scatter\nmore")
    assert model_ready.unexported(error).why.endswith("aten.masked_scatter")
    assert model_ready.unexported(RuntimeError("")).why.endswith("RuntimeError")


@pytest.mark.skipif(torch is None or onnxruntime is None, reason="needs torch, transformers, onnxruntime and onnxscript")
def test_a_pass_is_verified_on_the_threads_of_pytorch_and_its_nodes_are_told():
    row = rows()["bert-tiny"]
    row["config"] |= {"vocab_size": 64, "hidden_size": 16, "num_hidden_layers": 1, "intermediate_size": 32}
    small = case("bert-tiny", runtime="onnxruntime", definition=json.dumps(row | {"parameters": 0}))
    with torch.random.fork_rng():
        fields = models.forward(small).fields(1e6)
    told = fields["device_metrics"]
    assert 0 < fields["accuracy_error"] < 1e-4, fields["accuracy_error"]
    assert (told["execution_provider"], told["num_threads"]) == ("CPUExecutionProvider", torch.get_num_threads())
    required, known = shapes_of_metrics()["onnxruntime"]
    assert required <= set(told) <= known, told
    with pytest.raises(core.Skip) as skipped:
        models.check(case("bert-tiny", runtime="onnxruntime", dtype="bf16"))
    assert "--precision f32" in skipped.value.cure


@needs_models
def test_a_pass_is_waited_for_and_what_metal_counts_is_said():
    waits, events = [], mock.Mock()
    events.return_value.elapsed_time.return_value = -1.0  # Event times that contradict the clock.
    counts = {"current_allocated_memory": 3_000_000, "driver_allocated_memory": 4_000_000, "recommended_max_memory": 8_000_000}
    double = mock.patch.multiple(torch.mps, synchronize=lambda: waits.append(1), **{n: lambda v=v: v for n, v in counts.items()})
    on_cpu = mock.patch.object(model_mps.Mps, "device", "cpu")
    with torch.random.fork_rng(), double, on_cpu, mock.patch.object(torch.mps.event, "Event", events):
        made = models.forward(case("bert-tiny", runtime="mps"))
        before = len(waits)
        found = made.fields(made.sample(2))
    assert len(waits) - before >= 2
    assert made.device_type == "gpu"
    told = found["device_metrics"]
    assert (told["fragmentation_percent"], told["event_time_ms"], told["recommended_max_mb"]) == (25.0, None, 8.0)
    required, known = shapes_of_metrics()["mps"]
    assert required <= set(told) <= known, told


def test_what_powermetrics_prints_is_read_and_what_it_refuses_is_said():
    assert powermetrics.parsed(POWERMETRICS) == {"gpu_clock_mhz": 1104.0, "gpu_utilization_percent": 86.25, "gpu_power_w": 2.893}
    assert powermetrics.parsed("GPU Power: many mW") == {}
    passes = []
    told = powermetrics.watched(lambda: passes.append(1), [sys.executable, "-c", f"print({POWERMETRICS!r})"])
    assert (told["gpu_power_w"], bool(passes)) == (2.893, True)
    refusing = [sys.executable, "-c", "print('powermetrics must be invoked as the superuser'); raise SystemExit(1)"]
    assert "superuser" in powermetrics.watched(lambda: None, refusing)["counters_note"]
    assert "run it as root" in powermetrics.watched(lambda: None, refusing)["counters_note"]
    assert "on a Mac" in powermetrics.watched(lambda: None, ["/nonexistent/powermetrics"])["counters_note"]


@needs_models
def test_elsewhere_it_is_a_skip_that_says_what_it_needs():
    with mock.patch.object(torch.backends.mps, "is_available", lambda: False), pytest.raises(core.Skip) as skipped:
        models.check(case("bert-tiny", runtime="mps"))
    assert "Mac" in skipped.value.cure


@needs_models
def test_layers_in_whole_numbers_are_verified_and_counted_and_what_has_none_is_a_skip():
    with torch.random.fork_rng():
        made = models.forward(case("bert-tiny", dtype="i8"))
        fields = made.fields(made.sample(1))
        with pytest.raises(core.Skip) as skipped:
            models.forward(case("mamba-tiny", dtype="i8"))
    assert 1e-5 < fields["accuracy_error"] < 0.2, fields["accuracy_error"]
    assert (fields["parameter_count"], fields["quantized_layers"]) == (4_416_698, 14)
    assert fields["model_size_gb"] < 4 * 4_416_698 / 1e9 * 1.2
    assert "openvino" in skipped.value.cure
    if memory.heap_unused_percent():
        assert 0 <= fields["memory_fragmentation_percent"] < 100, fields
    required, known = shapes_of_metrics()["cpu"]
    assert required <= set(fields["device_metrics"]) <= known, fields["device_metrics"]
