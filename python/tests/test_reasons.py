"""Reasons why cases cannot be measured (what, why, cure), with fake frameworks."""

import os
import sys
import types
from unittest import mock

import pytest

from rusty_stack_bench.workloads import core, deepspeed, migraphx, onnx_graphs, triton


def case(device="cpu:0", **params):
    """Returns a case of a component."""
    return core.Case("pytorch", "matmul", device, {"dtype": "f32", **params})


def fake_torch(hip=None, cuda=None, gpus=0):
    """Returns a fake PyTorch with only the parts that identify its build."""
    torch = types.ModuleType("torch")
    torch.__version__ = "2.15.0"
    torch.version = types.SimpleNamespace(hip=hip, cuda=cuda)
    torch.cuda = types.SimpleNamespace(is_available=lambda: gpus > 0, device_count=lambda: gpus)
    torch.device = lambda *words: words
    return torch


def skip(call, *words):
    """Asserts that `call` raises Skip with a complete reason that contains these words."""
    with pytest.raises(core.Skip) as caught:
        call()
    for word in words:
        assert word in str(caught.value)
    assert all((caught.value.what, caught.value.why, caught.value.cure))


def test_a_wheel_for_cuda_on_a_machine_of_rocm():
    with mock.patch.dict(sys.modules, torch=fake_torch(cuda="13.2")):
        skip(lambda: core.torch_device(case("rocm:0")), "built for cuda, not for rocm", "PyTorch wheel for rocm")


def test_a_wheel_that_sees_no_gpu():
    with mock.patch.dict(sys.modules, torch=fake_torch(hip="7.0")):
        skip(lambda: core.torch_device(case("rocm:0")), "sees 0 GPUs", "doctor")
    with mock.patch.dict(sys.modules, torch=fake_torch(hip="7.0", gpus=1)):
        apart = case("rocm:3")
        apart.gpu = 3  # As in a process that sees all GPUs.
        skip(lambda: core.torch_device(apart), "sees 1 GPUs")
        assert core.torch_device(case("rocm:0"))[1] == ("cuda", 0)


def test_a_package_that_is_missing_or_broken(tmp_path, monkeypatch):
    skip(lambda: core.package("no_such_package_here"), "has no such package", "pip install")
    (tmp_path / "broken_package_here.py").write_text("import another_that_is_missing\n", encoding="ascii")
    monkeypatch.syspath_prepend(tmp_path)
    skip(lambda: core.package("broken_package_here"), "cannot be imported", "pip install another_that_is_missing")


def test_a_model_that_is_not_there(tmp_path):
    assert core.local_model(case(model="random")) is None
    skip(lambda: core.local_model(case(model="/no/such/model")), "no such directory", "--axis model=")
    skip(lambda: core.local_model(case(model=str(tmp_path))), "no config.json")


def test_inputs_that_do_not_fit_are_not_tried():
    core.room("a small thing", 1000.0)
    skip(lambda: core.room("a large thing", 1e18), "GB are free", "smaller")


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), 1.0])
def test_a_result_that_is_no_number_is_refused(wrong):
    with pytest.raises(core.Failure) as caught:
        core.within(case(), wrong, 1.0)
    assert caught.value.cure.startswith("try another version of the framework")


def test_a_coarse_type_may_be_what_is_wrong():
    with pytest.raises(core.Failure) as caught:
        core.within(case(dtype="bf16"), 1.0, 1.0)
    assert "bf16 may be too coarse" in caught.value.cure
    assert core.within(case(), 0.0, 1.0) == 0.0


def test_the_widest_limit_of_a_case_is_kept():
    verified = case(dtype="f16")
    assert verified.accuracy_limit is None
    core.within(verified, 0.0, 1.0)
    assert verified.accuracy_limit == core.TOLERANCES["f16"]
    core.within(verified, 0.0, 1.0, 0.5)
    core.within(verified, 0.0, 1.0, 0.1)
    assert verified.accuracy_limit == 0.5


def test_tokens_are_told_apart_where_the_machine_lets_them():
    def timed(*times):
        work = core.Work(lambda: None, lambda _: {})
        work.sample = mock.Mock(side_effect=times)
        return work

    slow_start = timed(9e6, 2e6, 3e6), timed(11e6, 5e6, 4e6)
    assert core.token_times(*slow_start, 5, 8e6, rounds=3) == {"ttft_ms": 4.0, "tpot_ms": 1.0}
    assert core.token_times(timed(*[5e6] * 4), timed(*[4e6] * 4), 5, 8e6, rounds=1) == {"ttft_ms": None, "tpot_ms": None}
    assert core.token_times(timed(), timed(), 1, 8e6) == {"ttft_ms": 8.0, "tpot_ms": None}, "the one is all"


def test_a_lock_that_a_build_left_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    deepspeed._refuse_stale_locks()
    lock = tmp_path / "fused_adam" / "lock"
    lock.parent.mkdir()
    lock.touch()
    deepspeed._refuse_stale_locks()  # A recent lock may belong to a running build.
    os.utime(lock, (0, 0))
    skip(deepspeed._refuse_stale_locks, str(lock), "rm ")


@pytest.mark.parametrize(("backend", "variable"), [("cpu", "TRITON_CPU_BACKEND"), ("amd", "TRITON_INTERPRET")])
def test_triton_cpu_compiles_and_another_triton_interprets(tmp_path, monkeypatch, backend, variable):
    directory = tmp_path / "triton" / "backends" / backend
    directory.mkdir(parents=True)
    (tmp_path / "triton" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    wanted = core.Case("triton", "operation", "cpu:0", {"kernel": "softmax", "dtype": "f32", "size": "64"})
    with mock.patch.dict(sys.modules), mock.patch.dict(os.environ):
        sys.modules.pop("triton", None)
        for name in ("TRITON_CPU_BACKEND", "TRITON_INTERPRET"):
            os.environ.pop(name, None)
        triton.check(wanted)
        assert [name for name in ("TRITON_CPU_BACKEND", "TRITON_INTERPRET") if name in os.environ] == [variable]


# MIGraphX programs as text: as parsed, compiled for its reference target, and for a GPU.
GIVEN = """module: "main"
main:@0 = @literal{0.5, ...} -> float_type, {16, 16}, {16, 1}
x = @param:x -> float_type, {2, 16}, {16, 1}
main:@2 = transpose[permutation={1, 0}](main:@0) -> float_type, {16, 16}, {1, 16} # weights
main:@3 = dot(x,main:@2) -> float_type, {2, 16}, {16, 1}
main:@4 = identity(main:@3) -> float_type, {2, 16}, {16, 1}
main:@5 = erf(main:@4) -> float_type, {2, 16}, {16, 1}
main:@6 = @return(main:@5)
"""
COMPILED = """module: "main"
main:@0 = @literal{0.5, ...} -> float_type, {16, 16}, {16, 1}
x = @param:x -> float_type, {2, 16}, {16, 1}
main:@2 = ref::dot(x,main:@0) -> float_type, {2, 16}, {16, 1}
main:@3 = @return(main:@2)
"""
ON_GPU = """module: "main"
@0 = check_context::migraphx::gpu::context -> float_type, {}, {}
@1 = hip::hip_allocate_memory[shape=int8_type, {128}, {1},id=main:scratch] -> int8_type, {128}, {1}
@2 = hip::hip_copy_literal[id=main:@literal:0] -> half_type, {16, 16}, {16, 1} # weights
x = @param:x -> half_type, {2, 16}, {16, 1}
main:#output_0 = @param:main:#output_0 -> half_type, {2, 16}, {16, 1}
@5 = load[offset=0,end=64](@1) -> half_type, {2, 16}, {16, 1}
@6 = gpu::gemm[alpha=1,beta=0](x,@2,@5) -> half_type, {2, 16}, {16, 1}
@7 = gpu::code_object[code_object=9000](@6,main:#output_0) -> half_type, {2, 16}, {16, 1}
@8 = @return(@7)

module: "main:pointwise0"
main:pointwise0:x0 = @param:x0 -> half_type, {1}, {0}
main:pointwise0:@1 = erf(main:pointwise0:x0) -> half_type, {1}, {0}
"""


class Argument:
    """An array of the fake MIGraphX, in the memory of the host or of the GPU."""

    def __init__(self, array, on_gpu=False):
        self.array, self.on_gpu = array, on_gpu

    def __array__(self, dtype=None, copy=None):
        """Replaces the buffer protocol, which can read only memory of the host."""
        assert not self.on_gpu, "the host cannot read the memory of the GPU"
        return self.array.copy()

    def tolist(self):
        """Returns the elements, except for f16, which the binding does not convert."""
        if self.array.dtype.itemsize == 2:
            raise TypeError("Unregistered type : half_float::half")
        return self.array.ravel().tolist()


class Program:
    """A program of the fake MIGraphX, which computes the graph of `case` in double precision."""

    case, factor = None, 1.0

    def __init__(self):
        self.text, self.target = GIVEN, None

    def compile(self, t, offload_copy=True, fast_math=True, exhaustive_tune=False):
        """Compiles for a target. Without `offload_copy`, all arguments must be in the target's memory."""
        assert not offload_copy
        self.target, self.text = t, {"ref": COMPILED, "gpu": ON_GPU}[t]

    def get_parameter_shapes(self):
        """Returns the shapes of the input and, on a GPU, of the memory for the result."""
        shape = types.SimpleNamespace(bytes=lambda: 64)
        return {"x": shape} if self.target == "ref" else {"x": shape, "main:#output_0": shape}

    def run(self, params):
        """Returns a list with the result, in the target's memory."""
        on_gpu = self.target == "gpu"
        assert isinstance(params, dict) and set(params) == set(self.get_parameter_shapes())
        assert all(isinstance(value, Argument) and value.on_gpu == on_gpu for value in params.values())
        kind = "float16" if Program.case.text("dtype") == "f16" else "float32"
        exact = onnx_graphs.graph(Program.case).exact
        return [Argument((one * Program.factor).astype(kind), on_gpu) for one in exact]

    def __str__(self):
        return self.text


def fake_migraphx(case=None, factor=1.0, targets=("ref",)):
    """Returns a fake MIGraphX with the names, parameters and defaults of the binding (AMDMIGraphX, migraphx_py.cpp)."""
    module = types.ModuleType("migraphx")
    module.__version__ = "dev"
    Program.case, Program.factor = case, factor

    def get_target(name):
        if name not in targets:
            raise RuntimeError(f"unknown target {name}")
        return name

    def parse_onnx_buffer(
        filename, default_dim_value=1, map_input_dims=None, skip_unknown_operators=False, print_program_on_error=False
    ):
        assert isinstance(filename, bytes)
        return Program()

    module.program, module.get_target, module.parse_onnx_buffer = Program, get_target, parse_onnx_buffer
    module.argument = lambda b: Argument(b)
    module.generate_argument = lambda s, seed=0: Argument(None)
    if "gpu" in targets:
        module.allocate_gpu = lambda s, host=False: Argument(None, True)
        module.to_gpu = lambda arg, host=False: Argument(arg.array, True)
        module.from_gpu = lambda arg: Argument(arg.array)
        module.gpu_sync = lambda: None
    return module


@pytest.fixture
def onnx():
    """Skips a test if onnx is missing."""
    return pytest.importorskip("onnx")


def wanted(device, dtype="f32"):
    """Returns a case of MIGraphX."""
    params = {"batch_size": "2", "width": "16", "num_layers": "1", "network": "mlp", "dtype": dtype}
    return core.Case("migraphx", "inference", device, params)


@pytest.mark.usefixtures("onnx")
def test_the_reference_target_is_verified_and_described():
    made = wanted("cpu:0")
    with mock.patch.dict(sys.modules, migraphx=fake_migraphx(made)):
        migraphx.check(made)
        fields = migraphx.inference(made).fields(1e6)
        compiled = migraphx.compilation(made).fields(1e6)
    assert (fields["provider"], fields["optimized_nodes"]) == ("migraphx ref", 4)
    for told in (fields, compiled):
        # Compilation removes one result of 2 x 16 elements.
        assert told["memory_savings_mb"] == 2 * 16 * 4 / 1e6
    assert fields["accuracy_error"] < 1e-5
    assert fields["memory_used_mb"] > 0


@pytest.mark.usefixtures("onnx")
def test_f16_and_the_memory_of_a_gpu_are_used_as_the_module_defines():
    for device, provider in (("cpu:0", "migraphx ref"), ("rocm:0", "migraphx gpu")):
        made = wanted(device, "f16")
        graph = onnx_graphs.graph(made)
        program = migraphx.Program(made, fake_migraphx(made, targets=("ref", "gpu")), graph)
        (found,) = program.outputs()
        assert found.dtype == "float16" and abs(found - graph.exact[0]).max() < 1e-2
        assert program.fields()["provider"] == provider


def test_what_a_program_holds_is_read_from_its_text():
    assert migraphx.held_bytes(GIVEN, in_place=False) == 4 * (256 + 32 + 32 + 32)
    # Scratch memory, weights, input and output. Kernels write only into this memory.
    assert migraphx.held_bytes(ON_GPU, in_place=True) == 128 + 2 * (256 + 32 + 32)
    for text in ("", "@1 = dot(x)\n", 'module: "main"\n@1 = topk(x) -> [float_type, {2}, {1}, int64_type, {2}, {1}]\n'):
        assert migraphx.held_bytes(text, in_place=True) is None, "another form is unknown, and not nothing"


@pytest.mark.usefixtures("onnx")
def test_its_provider_saves_against_the_graph_as_it_was_given():
    pytest.importorskip("onnxruntime")
    with mock.patch.dict(sys.modules, migraphx=None):
        for make in (migraphx.inference, migraphx.compilation):
            # ONNX Runtime's CPU provider stands in for the one of MIGraphX.
            fields = make(wanted("cpu:0")).fields(1e6)
            assert ("memory_savings_mb" in fields) == ("memory_footprint_mb" in fields)
            assert "memory_footprint_mb" in fields


@pytest.mark.usefixtures("onnx")
def test_a_wrong_result_is_refused():
    made = wanted("cpu:0")
    with mock.patch.dict(sys.modules, migraphx=fake_migraphx(made, 1.1)), pytest.raises(core.Failure):
        migraphx.inference(made)


@pytest.mark.usefixtures("onnx")
def test_a_target_that_was_not_built_is_a_skip():
    with mock.patch.dict(sys.modules, migraphx=fake_migraphx()), pytest.raises(core.Skip) as caught:
        migraphx.check(wanted("rocm:0"))
    assert "target gpu" in caught.value.what
