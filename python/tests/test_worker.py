"""The worker process, tested with requests in the format of the program."""

import json
import os
import shutil
import subprocess
import sys
from types import SimpleNamespace
from unittest import mock

import pytest

import rusty_stack_bench
from rusty_stack_bench.cases import AXES
from rusty_stack_bench.workloads import core, registry
from rusty_stack_bench.workloads.worker import Worker


def asked(worker, **request):
    """Sends a request and returns the answer."""
    return json.loads(worker.answer(json.dumps(request)))


def prepared():
    """Returns a worker that has prepared a case without a framework."""
    case = {"benchmark": "python-faults", "device": "cpu:0", "params": {"workload": "fault", "fault": "none"}}
    worker = Worker()
    ready = asked(worker, ask="prepare", case=case)
    assert ready == {"answer": "ready", "device_type": "cpu"}, ready
    return worker


def test_a_sample_is_the_same_with_and_without_words_around_it():
    worker = prepared()
    asks = []
    with mock.patch.object(worker._work, "sample", lambda iters: asks.append(iters) or 2.5 * iters):
        assert worker.sample(4) == 10.0
        assert asked(worker, ask="sample", iters=4) == {"answer": "sampled", "time_ns": 10.0}
    assert asks == [4, 4]


def test_every_look_counts_and_a_sample_in_words_looks_too():
    worker = prepared()
    with mock.patch.object(worker._memory, "look", mock.Mock()) as look:
        worker.sample(1)
        assert look.call_count == 0, "whoever asks without words looks when he has answered"
        worker.look()
        asked(worker, ask="sample", iters=1)
        assert look.call_count == 2


def test_a_gpu_is_named_by_its_address_whoever_drives_it():
    case = {"benchmark": "onnxruntime", "device": "rocm:1", "params": {"workload": "inference"}}
    seat = SimpleNamespace(pci_domain_id=0, pci_bus_id=0xC3, pci_device_id=0)
    seen = mock.Mock(side_effect=[seat, seat, RuntimeError("no HIP GPUs"), SimpleNamespace()])
    torch = SimpleNamespace(cuda=SimpleNamespace(get_device_properties=seen))
    addresses = []
    # The cases: ONNX Runtime; work only on the CPU; a PyTorch built for other GPUs; a PyTorch that
    # does not report addresses; no PyTorch.
    for torch_here, device_type in ((torch, None), (torch, "cpu"), (torch, None), (torch, None), (None, None)):
        work = core.Work(lambda: None, lambda _: {}, device_type=device_type)
        runtime = SimpleNamespace(check=lambda _: None, WORKLOADS={"inference": lambda _, work=work: work})
        here = mock.patch("importlib.import_module", side_effect=[torch_here or ImportError("torch")])
        # The worker changes the environment variables that determine which GPUs it sees.
        with here, mock.patch.dict(registry.COMPONENTS, onnxruntime=runtime), mock.patch.dict(os.environ):
            ready = asked(Worker(), ask="prepare", case=case)
        assert (ready["answer"], ready["device_type"]) == ("ready", device_type or "gpu")
        addresses.append(ready.get("pci_address"))
        if len(addresses) == 1:
            seen.assert_called_once_with(0)
    assert addresses == ["0000:c3:00.0", None, None, None, None]
    assert seen.call_count == 4


@pytest.mark.parametrize(
    ("error", "answer", "why", "obstacle"),
    [
        (core.Skip("a GPU", "there is none", "plug one in"), "skipped", "there is none", None),
        (core.Skip("package x", "it is absent", "install it", core.MISSING_PACKAGE), "skipped", "it is absent", "missing_package"),
        (core.Failure("a result", "it is wrong", "report it"), "failed", "it is wrong", None),
        (SystemExit("enough"), "failed", "the framework ended the program (SystemExit: enough)", None),
        (MemoryError(), "failed", "memory ran out (MemoryError:)", "does_not_fit"),
        (ValueError("wrong:\n  this"), "failed", "ValueError: wrong: this", None),
        (NotImplementedError("f16"), "failed", "NotImplementedError: f16", "unsupported_operator"),
    ],
    ids=["skip", "missing package", "failure", "exit", "memory", "any other", "not implemented"],
)
@mock.patch("traceback.print_exception", mock.Mock())
def test_what_is_raised_is_explained(error, answer, why, obstacle):
    worker = prepared()
    explained = json.loads(worker.explained(error))
    said = explained["reason"]
    assert (explained["answer"], said["why"], said.get("obstacle")) == (answer, why, obstacle)
    with mock.patch.object(worker._work, "sample", mock.Mock(side_effect=error)):
        assert asked(worker, ask="sample", iters=1) == explained


def test_a_time_that_is_no_number_is_no_answer():
    worker = prepared()
    with mock.patch.object(worker._work, "sample", lambda _: float("nan")), mock.patch("traceback.print_exception"):
        assert asked(worker, ask="sample", iters=1)["answer"] == "failed"


def test_every_component_serves_its_workloads():
    served = set()
    for name in registry.COMPONENTS:
        component = registry.component(name)
        assert callable(component.check) and callable(component.version), name
        for workload in component.WORKLOADS:
            prepare = registry.workload(component, core.Case(name, workload, "cpu:0", {}))
            assert callable(prepare), (name, workload)
            served.add((name, workload))
    assert served - set(AXES) == {("models", "forward"), ("models", "load"), ("models", "generate"), ("python-faults", "fault")}
    assert set(AXES) - served == set()


def test_the_worker_needs_no_other_part_of_the_package(tmp_path):
    script = (
        "import sys, rusty_stack_bench.workloads.worker\n"
        "names = (name for name in sys.modules if name.startswith('rusty_stack_bench.'))\n"
        "print([name for name in names if not name.startswith('rusty_stack_bench.workloads')], 'torch' in sys.modules)\n"
        "for name in ('gate', '_native'):\n"
        "    try:\n"
        "        getattr(rusty_stack_bench, name)\n"
        "    except ImportError as error:\n"
        "        print(error)\n"
    )
    package = os.path.dirname(rusty_stack_bench.__file__)
    copy = tmp_path / "rusty_stack_bench"
    shutil.copytree(os.path.join(package, "workloads"), copy / "workloads")
    shutil.copy(os.path.join(package, "__init__.py"), copy)
    command = [sys.executable, "-B", "-c", script]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    said = subprocess.run(command, check=True, cwd=tmp_path, env=environment, capture_output=True, text=True)
    first, *errors = said.stdout.splitlines()
    assert first == "[] False", said.stderr
    assert "module keeping" in errors[0]
    assert "compiled extension" in errors[1]


@pytest.mark.parametrize(
    ("benchmark", "workload", "known"),
    [("pytorhc", "matmul", "pytorch"), ("python-faults", "faults", "choose one of fault")],
    ids=["benchmark", "workload"],
)
def test_an_unknown_name_fails_with_the_known_ones(benchmark, workload, known):
    case = {"benchmark": benchmark, "device": "cpu:0", "params": {"workload": workload}}
    answer = asked(Worker(), ask="prepare", case=case)
    assert answer["answer"] == "failed"
    assert known in answer["reason"]["cure"]


def test_a_registered_component_replaces_one_of_the_same_name():
    own = SimpleNamespace(check=lambda _: None, version=lambda: "1", WORKLOADS={})
    with mock.patch.dict(registry.COMPONENTS):
        registry.register("pytorch", own)
        assert registry.component("pytorch") is own
