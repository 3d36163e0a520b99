"""Checks that a case runs on the GPU in its id, even in engines that use the first visible GPU.

The tests run on a fake machine with eight GPUs.
"""

import json
import os
import subprocess
import sys
from types import SimpleNamespace
from unittest import mock

import pytest

from rusty_stack_bench.workloads import core, gpus

# A fake PyTorch that maps its devices to GPUs of the machine by the environment variables of its
# process, as a driver does.
TORCH = '''
import os
from types import SimpleNamespace

__version__ = "2.9.0"
version = SimpleNamespace(hip="7.0", cuda=None)
set_num_threads = lambda count: None


class _Cuda:
    chosen = 0

    @staticmethod
    def visible():
        listed = os.environ.get("HIP_VISIBLE_DEVICES") or os.environ.get("CUDA_VISIBLE_DEVICES")
        found = range(8) if not listed else [int(entry.removeprefix("GPU-")) for entry in listed.split(",")]
        return [gpu for gpu in found if gpu < 8]

    def get_device_properties(self, index):
        gpu = self.visible()[index]
        return SimpleNamespace(pci_domain_id=0, pci_bus_id=0x10 + gpu, pci_device_id=0, uuid=f"uuid-{gpu}")

    def device_count(self):
        return len(self.visible())

    def is_available(self):
        return True

    def set_device(self, index):
        self.chosen = index

    def current_device(self):
        return self.chosen

    def mem_get_info(self, index):
        return 1e9, 8e9


cuda = _Cuda()


def where():
    """The first visible GPU, which an engine uses by default."""
    return f"0000:{cuda.get_device_properties(0).pci_bus_id:02x}:00.0"


def device(name):
    raise ValueError("no models here")
'''

# Fake engines that fail with a message that names the GPU on which they were started.
ENGINES = {
    "torch.py": TORCH,
    "vllm/__init__.py": '''
import torch

__version__ = "0.32.0"


class LLM:
    def __init__(self, **settings):
        raise RuntimeError(f"the engine runs on {torch.where()}")


def AsyncEngineArgs(**settings):
    return settings
''',
    "vllm/sampling_params.py": "RequestOutputKind = None\n",
    "vllm/v1/__init__.py": "",
    "vllm/v1/engine/__init__.py": "",
    "vllm/v1/engine/async_llm.py": '''
import torch


class AsyncLLM:
    @staticmethod
    def from_engine_args(settings):
        raise RuntimeError(f"the engine runs on {torch.where()}")
''',
    "transformers.py": '''
class LlamaConfig:
    def __init__(self, **sizes):
        pass

    def save_pretrained(self, directory):
        pass


class AutoConfig:
    @staticmethod
    def from_pretrained(directory, local_files_only):
        raise ValueError("no models here")
''',
    "migraphx.py": '''
import torch


def get_target(name):
    raise RuntimeError(f"the engine runs on {torch.where()}")
''',
    "onnx.py": "",
    "numpy.py": "",
    "seats.py": '''
import os

from rusty_stack_bench.workloads import gpus


class Seat:
    """A rank that uses the GPU with the index of its local rank, as DeepSpeed does."""

    def __init__(self, case, rank):
        import torch

        self._torch = torch
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))

    def __call__(self, word):
        return gpus.seat(self._torch, self._torch.cuda.current_device())
''',
}
PREPARE = '''
import sys
from rusty_stack_bench.workloads.worker import Worker

print(Worker().answer(sys.stdin.read()))
'''
RANKS = '''
import json
import sys

if __name__ == "__main__":
    from rusty_stack_bench.workloads import core, gpus
    from rusty_stack_bench.workloads.ranks import Ranks
    from seats import Seat

    case = core.Case("deepspeed", "zero", sys.argv[1], {"num_ranks": sys.argv[2]})
    gpus.narrow(case)
    ranks = Ranks(case, Seat)
    found = ranks.ask("seat")
    ranks.close()
    gpus.check_ranks(case, found)
    print(json.dumps([seat["address"] for seat in found]))
'''
VLLM = {"model": "random", "execution": "auto", "prefix_cache": "off", "shared_prefix": "0", "prompt_length": "8"}
VLLM |= {"output_length": "4", "num_prompts": "2", "num_requests": "2", "request_rate": "1", "model_shape": "auto"}
GRAPH = {"network": "mlp", "dtype": "f32"}


class Machine:
    """Provides the fake packages of a machine with eight GPUs, and starts processes that import them."""

    def __init__(self, directory):
        self._directory = directory
        for name, text in ENGINES.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def run(self, script, *arguments, given="", **variables):
        """Runs a script with no GPU variables except the given ones, and returns the JSON that it prints."""
        path = self._directory / "script.py"
        path.write_text(script, encoding="utf-8")
        own = {name: value for name, value in os.environ.items() if not name.endswith("VISIBLE_DEVICES")}
        packages = os.pathsep.join([str(self._directory), *sys.path])
        done = subprocess.run(
            [sys.executable, str(path), *arguments],
            env=own | {"PYTHONPATH": packages} | variables,
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise AssertionError(done.stderr)
        return json.loads(done.stdout.splitlines()[-1])

    def said(self, component, workload, params, device="rocm:3", **variables):
        """Returns the reason in the answer to a request to prepare a case."""
        case = {"benchmark": component, "device": device, "params": params | {"workload": workload}}
        asked = json.dumps({"ask": "prepare", "case": case})
        return self.run(PREPARE, given=asked, **variables)["reason"]["why"]


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """Returns a fake machine with eight GPUs."""
    return Machine(tmp_path_factory.mktemp("machine"))


@pytest.mark.parametrize(
    ("component", "workload", "params"),
    [
        ("vllm", "generation", VLLM),
        ("vllm", "serve", VLLM),
        ("migraphx", "inference", GRAPH),
        ("migraphx", "compilation", GRAPH),
    ],
    ids=["generation", "serve", "inference", "compilation"],
)
def test_rocm_3_is_gpu_3(machine, component, workload, params):
    assert "the engine runs on 0000:13:00.0" in machine.said(component, workload, params)


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        pytest.param({"HIP_VISIBLE_DEVICES": "7,6,5,4"}, "0000:14:00.0", id="indices"),
        pytest.param({"HIP_VISIBLE_DEVICES": "GPU-7,GPU-6,GPU-5,GPU-2"}, "0000:12:00.0", id="UUIDs"),
        pytest.param({"CUDA_VISIBLE_DEVICES": "0,2,4,6"}, "0000:16:00.0", id="list of CUDA"),
        pytest.param({"HIP_VISIBLE_DEVICES": "0,1"}, "HIP_VISIBLE_DEVICES=0,1 has no entry 3", id="too short"),
    ],
)
def test_a_list_of_the_user_is_an_order_of_gpus(machine, variables, said):
    assert said in machine.said("vllm", "generation", VLLM, **variables)


def test_another_gpu_than_the_planned_one_fails_the_case(machine):
    planned = {gpus.ADDRESS_VARIABLE: "0000:13:00.0"}
    assert "the engine runs on" in machine.said("vllm", "generation", VLLM, **planned)
    for device, address in (("rocm:3", "0000:14:00.0"), ("rocm:0", "0000:13:00.0")):
        why = machine.said("vllm", "generation", VLLM, device, **{gpus.ADDRESS_VARIABLE: address})
        assert f"{device} is the GPU at {address}" in why


def test_ranks_begin_at_the_gpu_of_their_case(machine):
    for device, count, expected in (("rocm:3", "2", ["0000:13:00.0", "0000:14:00.0"]), ("rocm:0", "1", ["0000:10:00.0"])):
        assert machine.run(RANKS, device, count) == expected
    with pytest.raises(AssertionError, match="rocm:3 is the GPU at 0000:15:00.0"):
        machine.run(RANKS, "rocm:3", "2", **{gpus.ADDRESS_VARIABLE: "0000:15:00.0"})


HIP = {"HIP_VISIBLE_DEVICES": "3", "CUDA_VISIBLE_DEVICES": "3"}


@pytest.mark.parametrize(
    ("device", "count", "environment", "expected"),
    [
        ("rocm:3", 1, {}, HIP),
        ("cuda:3", 1, {}, {"CUDA_VISIBLE_DEVICES": "3"}),
        ("rocm:2", 2, {}, {"HIP_VISIBLE_DEVICES": "2,3", "CUDA_VISIBLE_DEVICES": "2,3"}),
        # HIP reads CUDA's list only if its own is not set; HIP indices refer to the
        # GPUs that ROCr leaves visible.
        ("rocm:0", 1, {"HIP_VISIBLE_DEVICES": "3", "CUDA_VISIBLE_DEVICES": "5"}, HIP),
        ("rocm:0", 1, {"HIP_VISIBLE_DEVICES": "", "CUDA_VISIBLE_DEVICES": "3"}, HIP),
        ("rocm:3", 1, {"ROCR_VISIBLE_DEVICES": "4,5,6,7"}, HIP),
        # UUIDs and names of MIG instances are passed on unchanged.
        ("cuda:0", 1, {"CUDA_VISIBLE_DEVICES": "GPU-8932f937"}, {"CUDA_VISIBLE_DEVICES": "GPU-8932f937"}),
        ("cuda:1", 1, {"CUDA_VISIBLE_DEVICES": "GPU-89, MIG-GPU-5c/1/0"}, {"CUDA_VISIBLE_DEVICES": "MIG-GPU-5c/1/0"}),
        ("cuda:1", 4, {"CUDA_VISIBLE_DEVICES": "6,4,2"}, {"CUDA_VISIBLE_DEVICES": "4,2"}),
        ("cpu:0", 1, {"CUDA_VISIBLE_DEVICES": "6"}, {}),
    ],
)
def test_variables_of_each_backend(device, count, environment, expected):
    assert gpus.visible(device, count, environment) == expected


@pytest.mark.parametrize(
    ("device", "environment"),
    [
        pytest.param("cuda:0", {"CUDA_VISIBLE_DEVICES": ""}, id="empty list of CUDA"),
        pytest.param("cuda:1", {"CUDA_VISIBLE_DEVICES": "0,-1,1"}, id="list that ends"),
        pytest.param("rocm:0", {"HIP_VISIBLE_DEVICES": "-1"}, id="HIP"),
    ],
)
def test_what_the_user_hid_stays_hidden(device, environment):
    with pytest.raises(core.Skip):
        gpus.visible(device, 1, environment)


@pytest.mark.parametrize(
    ("params", "count"),
    [({}, 1), ({"num_ranks": "4"}, 4), ({"direction": "gpu_to_gpu"}, 1), ({"direction": "gpu_to_peer"}, None)],
    ids=["one", "ranks", "within one", "to any peer"],
)
def test_a_case_sees_as_many_gpus_as_it_works_on(params, count):
    assert gpus.gpus_of(core.Case("pytorch", "x", "cuda:1", params)) == count


def test_a_copy_to_a_peer_sees_every_gpu():
    with mock.patch.dict(os.environ, clear=True):
        copy = core.Case("pytorch", "memory-transfer", "cuda:1", {"direction": "gpu_to_peer"})
        gpus.narrow(copy)
        assert (copy.gpu, dict(os.environ)) == (1, {}), "it chooses its peer among all"


def test_ranks_on_one_gpu_are_refused():
    case = core.Case("deepspeed", "zero", "rocm:0", {"num_ranks": "2"})
    seat = {"address": "0000:10:00.0", "uuid": "a"}
    with mock.patch.dict(os.environ, clear=True):
        gpus.check_ranks(case, [seat, seat | {"uuid": "b"}])  # Two partitions of one GPU.
        gpus.check_ranks(case, [seat | {"uuid": None}] * 2)  # Unknown.
        with pytest.raises(core.Failure, match="2 ranks use only 1 of them"):
            gpus.check_ranks(case, [seat, seat])


def test_hip_is_asked_where_it_is_loaded():
    def answer(text, size, index):
        text.value = f"0000:C{index}:00.1".encode()
        return 0

    library = SimpleNamespace(hipDeviceGetPCIBusId=answer)
    with mock.patch.object(gpus, "_loaded", return_value="/opt/rocm/lib/libamdhip64.so.7"):
        with mock.patch("ctypes.CDLL", return_value=library):
            assert gpus.address_of(None, 3) == "0000:c3:00.0"
        with mock.patch("ctypes.CDLL", return_value=SimpleNamespace(hipDeviceGetPCIBusId=lambda *_: 101)):
            assert gpus.address_of(None, 3) is None
        with mock.patch("ctypes.CDLL", side_effect=OSError("gone")):
            assert gpus.address_of(None, 3) is None
    assert gpus.address_of(None, 3) is None, "no process of these tests has loaded it"


only_linux = pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="only Linux binds processes to CPUs")


@only_linux
@pytest.mark.parametrize(
    ("cpulist", "node", "allowed", "expected", "tied_to"),
    [
        pytest.param("4-7", "1", {0, 1, 4, 5, 6, 7}, 1, {4, 5, 6, 7}, id="of two nodes"),
        pytest.param("4-5,8", "1", {5, 8, 9}, 1, {5, 8}, id="some of a node"),
        pytest.param("0-3", "0", {0, 1}, 0, None, id="tied already"),
        pytest.param("0-3", "-1", {0, 1}, None, None, id="unknown node"),
        pytest.param("4-7", "1", {0, 1}, None, None, id="never widened"),
        pytest.param("nonsense", "x", {0, 1}, None, None, id="nonsense"),
    ],
)
def test_a_process_is_tied_to_those_of_the_node_that_it_may_use(tmp_path, cpulist, node, allowed, expected, tied_to):
    directory = tmp_path / "bus/pci/devices/0000:c3:00.0"
    directory.mkdir(parents=True)
    (directory / "local_cpulist").write_text(cpulist + "\n", encoding="ascii")
    (directory / "numa_node").write_text(node + "\n", encoding="ascii")
    tied = mock.Mock()
    affinity = mock.patch.multiple(os, sched_getaffinity=lambda _: allowed, sched_setaffinity=tied)
    with affinity, mock.patch.dict(os.environ, RSB_SYSFS_ROOT=str(tmp_path)):
        assert gpus.bind_near("0000:c3:00.0") == expected
    assert (tied.call_args and tied.call_args.args[1]) == tied_to


@only_linux
def test_a_gpu_without_an_entry_binds_nothing():
    before = os.sched_getaffinity(0)
    with mock.patch.dict(os.environ, RSB_SYSFS_ROOT="/nonexistent"):
        assert gpus.bind_near("0000:c3:00.0") is None
    assert gpus.bind_near(None) is None
    assert os.sched_getaffinity(0) == before
