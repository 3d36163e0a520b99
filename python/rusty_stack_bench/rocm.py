"""ROCm: its installation, sensors of GPUs, kernel compilation, profiles, and a baseline of the machine."""
from __future__ import annotations

import dataclasses
import importlib.metadata
import math
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, Union

from .arguments import named_arguments
from .cases import listed, written
from .measuring import Default, Device, Settings, settings_of
from .native import place, run
from .program import MEASURED, answer, check_benchmarks
from .results import KernelResult, PerformanceBaseline, Result, ResultList, ROCmDriverInfo, ROCmSMIMetrics, from_record

Path = Union[str, "PathLike[str]"]

# Target of compilation on a machine without an AMD GPU.
_USUAL_TARGET = "gfx90a"
_LEVELS = (0, 1, 2, 3)


@dataclass(frozen=True)
class InstallationCheck:
    """Findings about the GPUs, drivers and software of a machine."""

    # Whether ROCm is installed, and no finding is an error.
    is_ok: bool
    driver_info: ROCmDriverInfo
    # The findings, each with `severity` (error, warning, note, ok), `what`, `why` and `cure`.
    findings: list[dict[str, Any]]

    def __bool__(self) -> bool:
        """Whether ROCm is installed, and no finding is an error."""
        return self.is_ok


@dataclass(frozen=True)
class RocmProfile:
    """A profiled run: its results, and the files that the profiler wrote."""

    results: list[Result]
    files: list[str]


@named_arguments
def get_rocm_driver_info() -> ROCmDriverInfo:
    """Returns the ROCm installation that programs on this machine would use.

    Returns:
        The installation; without one, all fields are None.

    Raises:
        RuntimeError: if the program is missing or fails.
    """
    installations: Sequence[Mapping[str, Any]] = answer(["probe"]).get("rocm_installations") or []
    if not installations:
        return ROCmDriverInfo()
    found = installations[0]
    components: Mapping[str, str] = found.get("components") or {}
    compilers: Sequence[Mapping[str, Any]] = found.get("compilers") or []
    targets: Sequence[str] = found.get("gpu_targets") or []
    used = found.get("platform")
    return ROCmDriverInfo(
        version=found.get("version"),
        installed_path=found["path"],
        build_date=found.get("build_date"),
        commit_hash=found.get("commit"),
        platforms=None if used is None else (used,),
        components=components,
        supported_gpus=tuple(targets) or None,
        compiler_version=next((one["version"] for one in compilers if one.get("version")), None),
        HSA_VERSION=components.get("hsa"),
        ROCM_SMI_VERSION=components.get("rocm-smi") or components.get("amd-smi"),
    )


@named_arguments
def get_rocm_smi_info(*, device: Device = "auto") -> ResultList[ROCmSMIMetrics]:
    """Reads the sensors of the GPUs once.

    Args:
        device: `rocm:0`, `cuda:0` …, or `auto` for every GPU.

    Returns:
        One result per GPU; without a GPU, one result with a `reason`.

    Raises:
        ValueError: if the device is invalid.
        RuntimeError: if the program is missing or fails, or there is no device of this index.
    """
    return collect_rocm_smi_metrics(0, 50, device=device)


@named_arguments
def collect_rocm_smi_metrics(
    duration_seconds: float = 60, sample_interval_ms: int = 1000, *, load: str = "idle", device: Device = "auto"
) -> ResultList[ROCmSMIMetrics]:
    """Reads the sensors of the GPUs for some time.

    Args:
        duration_seconds: how long, in seconds, at most 3600.
        sample_interval_ms: time between two readings, in ms.
        load: work of the GPU in this time: `idle`, `memory` or `compute`.
        device: `rocm:0`, `cuda:0` …, or `auto` for every GPU, one after another.

    Returns:
        One result per GPU with the values over the time, and in `snapshots` those of each reading; without a GPU,
        one result with a `reason`.

    Raises:
        ValueError: if a value or the device is invalid.
        RuntimeError: if the program is missing or fails, or there is no device of this index.
    """
    if duration_seconds < 0 or sample_interval_ms < 1:
        raise ValueError(f"cannot read for {duration_seconds} s every {sample_interval_ms} ms; use at least 0 and 1")
    axes = {"load": load, "duration_seconds": duration_seconds, "sample_interval_ms": int(sample_interval_ms)}
    settings = Settings(replicates=1, runs=1, timeout=Settings.timeout + 2 * duration_seconds, warmup=0)
    found = run(ROCmSMIMetrics, "smi-metrics", [axes], [] if device == "auto" else place(device, True), settings)
    count = sum(result.is_measured for result in found)
    return ResultList(dataclasses.replace(result, num_gpus=count) for result in found)


@named_arguments
def establish_performance_baseline(
    use_pytorch: bool = True,
    use_rocm_tools: bool = True,
    *,
    results_dir: Path | None = None,
    baselines_dir: Path | None = None,
) -> PerformanceBaseline:
    """Measures bandwidth and peak rates for less than a minute, and saves them as a baseline.

    The first GPU is measured, else the CPU, by the program's kernels and the vendor's libraries. Later
    calls compare their values with this baseline. A run on changed software replaces it if it passes the
    comparison.

    Args:
        use_pytorch: whether `device_info` also has the versions of PyTorch and Python.
        use_rocm_tools: whether `device_info` has the ROCm installation.
        results_dir: the results directory; by default `benchmark_results`.
        baselines_dir: the baselines directory; by default `baselines`.

    Returns:
        The values, in GB/s, TFLOP/s, bytes and MHz, and in `document` also the comparison.

    Raises:
        RuntimeError: if the program is missing or fails.
    """
    words = ["doctor", "--baseline"]
    for flag, directory in (("--results-dir", results_dir), ("--baselines-dir", baselines_dir)):
        words += [] if directory is None else [flag, str(directory)]
    document: Mapping[str, Any] = answer(words, MEASURED)
    info: dict[str, Any] = dict(document["device_info"]) if use_rocm_tools else {}
    if use_pytorch:
        info |= {"python_version": platform.python_version(), "pytorch_version": _version("torch")}
    names = [field.name for field in dataclasses.fields(PerformanceBaseline)]
    own: dict[str, Any] = {name: document.get(name) for name in names if name not in ("device_info", "document")}
    return PerformanceBaseline(device_info=info, document=document, **own)


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


@named_arguments
def verify_rocm_installation(verbose: bool = True) -> InstallationCheck:
    """Diagnoses GPUs, drivers, permissions and ROCm.

    Checks that ROCm is installed and that no installed driver or software is broken. A machine without a
    GPU passes; `get_rocm_smi_info` and `detect_tensor_cores` report whether there is a GPU.

    Args:
        verbose: whether to print the findings.

    Returns:
        The findings, which evaluate to True if ROCm is installed and no finding is an error.

    Raises:
        RuntimeError: if the program is missing or fails.
    """
    # Exit code 1: a finding is an error.
    findings: list[dict[str, Any]] = answer(["doctor"], (0, 1))["findings"]
    info = get_rocm_driver_info()
    if verbose:
        print(f"ROCm {info.version} in {info.installed_path}" if info.is_installed else "ROCm is not installed")
        for finding in findings:
            cure = f"; {finding['cure']}" if finding.get("cure") else ""
            print(f"{finding['severity']}: {finding['what']}: {finding['why']}{cure}")
    is_ok = info.is_installed and all(finding["severity"] != "error" for finding in findings)
    return InstallationCheck(is_ok, info, findings)


@named_arguments
def benchmark_hip_kernel_compilation(
    kernel_type: Any = "vector_add",
    optimization_level: Any = 3,
    *,
    architecture: Any = None,
    num_runs: int = Default(10),
    num_warmup: int = Default(3),
    warmup_runs: int | None = None,
    device: Device = "auto",
    settings: Settings | None = None,
) -> ResultList[KernelResult]:
    """Benchmarks the compilation of a kernel source with hiprtc, or with NVRTC for NVIDIA GPUs.

    Args:
        kernel_type: one or several sources of the program, such as `vector_add`, `elementwise` and `gemm`.
        optimization_level: one or several levels, 0 to 3.
        architecture: one or several targets, such as `gfx942` (the GPU need not be present); by default that
            of the first AMD GPU, else `gfx90a`.
        num_runs: samples of a case, in all processes.
        num_warmup: compilations per process before the first sample.
        warmup_runs: alias of `num_warmup`.
        device: `auto`; the CPU compiles for every target.
        settings: replicates, samples and time limit, instead of the sample and warm-up counts.

    Returns:
        One result per case, in ms; without the compiler, with a `reason`.

    Raises:
        TypeError: if a parameter is given under two names.
        ValueError: if a source, level, target or the device is invalid; the message names valid ones.
        RuntimeError: if the program is missing or fails.
    """
    taken, levels = settings_of(num_runs, num_warmup, warmup_runs, settings), listed(optimization_level)
    if not levels or any(level not in _LEVELS for level in levels):
        raise ValueError(f"invalid optimization_level {optimization_level!r}; use one of 0, 1, 2, 3")
    if device != "auto":
        place(device)
    axes = {
        "arch": _target_here() if architecture is None else architecture,
        "source": [written(one).replace("-", "_") for one in listed(kernel_type)],
        "opt": [f"O{level}" for level in levels],
        "compilation": "cold",
    }
    return run(KernelResult, "kernel-compilation", [axes], [], taken)


def _target_here() -> str:
    gpus: Sequence[Mapping[str, Any]] = answer(["probe"]).get("gpus") or []
    targets = [str(gpu.get("gfx_target") or "") for gpu in gpus]
    return next((target for target in targets if target.startswith("gfx")), _USUAL_TARGET)


@named_arguments
def run_rocm_profile(
    workload: str, duration_seconds: float = 30, *, device: Device = "auto", output_dir: Path = "benchmark_results"
) -> RocmProfile:
    """Runs a benchmark, and each of its cases once more under rocprofv3.

    Args:
        workload: a benchmark of the program, such as `gemm`, or a framework, such as `pytorch`.
        duration_seconds: time limit of one replicate of a case, in seconds.
        device: `rocm:0`, or `auto` for the first GPU.
        output_dir: the results directory, where the run and the files of the profiler are stored.

    Returns:
        The results, and the paths of the timelines (.pftrace for Perfetto, .csv); without an AMD GPU, the
        results have a `reason`.

    Raises:
        ValueError: if there is no such benchmark, or the device is invalid.
        RuntimeError: if the program or rocprofv3 is missing or fails, or there is no device of this index.
    """
    if duration_seconds <= 0:
        raise ValueError(f"invalid duration_seconds {duration_seconds}; use a number above zero")
    check_benchmarks([workload])
    words = ["run", workload, "--profiler", "rocprofv3", "--timeout", str(math.ceil(duration_seconds))]
    words += ["--python", sys.executable, "--results-dir", str(output_dir)]
    document = answer([*words, *place(device, True)], MEASURED)
    records: Sequence[Mapping[str, Any]] = document["benchmarks"]
    metadata: list[Mapping[str, Any]] = [record.get("metadata") or {} for record in records]
    profiles: list[Mapping[str, Any]] = [one.get("profile") or {} for one in metadata]
    files = [str(file) for profile in profiles for file in profile.get("files") or ()]
    return RocmProfile([from_record(Result, record) for record in records], files)
