//! Rows of the gallery.

use super::{Row, shown};

pub(super) const HEAD: &str = "\
# Gallery

Every kind of `rusty-stack-bench chart`, in text and as SVG. Each is drawn of real runs of 2026-11-23 to 25 that lie in
[gallery](gallery), cut down to the cases shown: virtual machines with two CPUs, of an AMD EPYC that others used too, so that its
figures are noisy, and of an Intel Xeon (frameworks, training and models), and two runtimes that drive the CPU as a device (PoCL for
OpenCL, lavapipe for Vulkan); the eight devices of the grid are PoCL's, on one CPU. No GPU was at hand, so four charts are of GPUs of others: the facts of eight Instinct MI210
and of a Radeon 880M, as `gpu-capability` reads them from the files of sysfs that ROCm/k8s-device-plugin (ed76468, Apache-2.0) and
ilya-zlobintsev/LACT (238e315, MIT) publish for their tests, and the ceilings of an Instinct MI210 under ROCm 6.0.2, measured by
AMD's own tool on 2024-03-21 and published with ROCm/rocprofiler-compute (95b600e, MIT), taken in by `import`. The command over a
chart draws it. `cargo xtask codegen` draws all of them again; a test fails where they differ. Nothing is made up; what lies there of
the fake GPU is drawn nowhere.

";

pub(super) const ROWS: &[Row] = &[
    shown(
        "Bandwidth by size: lines",
        "line docs/gallery/cpu.json --benchmark memory-bandwidth",
        "throughput by size",
    ),
    shown(
        "Bandwidth by size: every sample",
        "scatter docs/gallery/cpu.json --case memory-bandwidth/cpu:0/copy",
        "throughput by size",
    ),
    shown(
        "Device memory and system memory by transfer size",
        "line docs/gallery/tiers.json --benchmark memory-tiers",
        "throughput by size",
    ),
    shown("Matrix products by size", "line docs/gallery/cpu.json --case /gemm/", "by size"),
    shown(
        "Throughput by batch size, with error bars",
        "error-bars docs/gallery/cpu.json --benchmark inference",
        "by batch size",
    ),
    shown(
        "Inference time",
        "bar docs/gallery/cpu.json --benchmark inference --metric time_ms",
        "inference",
    ),
    shown("Tensor operations", "bar docs/gallery/cpu.json --benchmark tensor-ops", "tensor-ops"),
    shown(
        "Flash Attention",
        "bar docs/gallery/frameworks.json --benchmark flash-attention --metric time_ms",
        "flash-attention",
    ),
    shown(
        "Flash Attention: speedup over the standard kernel",
        "speedup docs/gallery/frameworks.json --benchmark flash-attention",
        "speedup",
    ),
    shown("Speedup by type", "speedup docs/gallery/cpu.json --benchmark precision", "speedup"),
    shown(
        "DeepSpeed: memory of a rank by ZeRO stage",
        "stacked-bar docs/gallery/frameworks.json --benchmark deepspeed",
        "optimizer of one rank",
    ),
    shown(
        "DeepSpeed: time of a training step",
        "stacked-bar docs/gallery/frameworks.json --benchmark deepspeed",
        "training step",
    ),
    shown(
        "DeepSpeed: computing and communication",
        "stacked-bar docs/gallery/frameworks.json --benchmark deepspeed",
        "computing and communication",
    ),
    shown(
        "All-reduce: bus bandwidth by size, in place and not",
        "line docs/gallery/a100x8-nccl-tests.json --metric bandwidth_gb_s",
        "by size",
    ),
    shown("Share of the roofline: gauges", "gauge docs/gallery/cpu.json --case /gemm/", "gemm"),
    shown("Roofline", "roofline docs/gallery/cpu.json", "Roofline"),
    shown("Scaling, with the ideal", "scaling docs/gallery/cpu.json --case /gemm/", "scaling"),
    shown("Backends of one device", "backends docs/gallery/backends.json", "Backends"),
    shown("Benchmarks by device", "matrix docs/gallery/backends.json", "device"),
    shown("Heat map", "heat-map docs/gallery/cpu.json --benchmark memory-bandwidth", "bandwidth"),
    shown("Memory over the run", "memory-timeline docs/gallery/frameworks.json", "Memory"),
    shown("Memory by kind over the run", "memory-heat-map docs/gallery/frameworks.json", "Memory"),
    shown(
        "Memory by what holds it",
        "memory-breakdown docs/gallery/cpu.json --benchmark inference",
        "memory",
    ),
    shown(
        "Every sample of a case",
        "distribution docs/gallery/cpu.json --case relu/f32",
        "time of one iteration",
    ),
    shown(
        "Comparison: change of each value",
        "delta docs/gallery/cpu.json --against docs/gallery/cpu-before.json --case /gemm/",
        "Change",
    ),
    shown(
        "Comparison: before and after",
        "before-after docs/gallery/cpu.json --against docs/gallery/cpu-before.json --case \
         /gemm/cpu:0/f32",
        "Before and after",
    ),
    shown(
        "Comparison: verdicts",
        "verdicts docs/gallery/cpu.json --against docs/gallery/cpu-before.json --case /gemm/",
        "Change",
    ),
    shown("Trend", "trend --input docs/gallery/series.csv --benchmark gemm", "gemm"),
    shown("Many series at a glance", "sparkline --input docs/gallery/series.csv", "glance"),
    shown("Inference time by runtime for each model", "models docs/gallery/models.json", "models"),
    shown(
        "Hardware recommendation matrix",
        "recommendation docs/gallery/models.json",
        "Hardware for models",
    ),
    shown(
        "GPU capability: compute units and peak bandwidth",
        "gpus docs/gallery/mi210x8.json",
        "GPUs of this machine",
    ),
    shown("GPU capability: memory in use", "gauge docs/gallery/radeon-880m.json", "memory in use"),
    shown(
        "Many devices as a grid",
        "devices docs/gallery/devices.json --case copy/f32/16MiB/cache=cold",
        "bandwidth of 8 devices",
    ),
    shown(
        "Matrix units and vector units: data sheet and measured peak by type",
        "bar docs/gallery/mi210-ceilings.json --metric gflops",
        "arithmetic rate",
    ),
    shown(
        "vLLM: throughput by batch size, with error bars",
        "error-bars docs/gallery/vllm.json --benchmark vllm",
        "vllm",
    ),
    shown(
        "Models: tokens a second by batch size",
        "error-bars docs/gallery/tokens.json --metric tokens_per_second",
        "tokens per second by batch size",
    ),
    shown(
        "Models under load: 90th percentile of the latency",
        "line docs/gallery/load.json --metric latency_p90_ms",
        "by request rate",
    ),
    shown(
        "Memory of a training step, from allocation to allocation",
        "memory-timeline docs/gallery/training.json",
        "Memory within a step",
    ),
    shown(
        "Memory of a training step by purpose",
        "memory-breakdown docs/gallery/training.json",
        "training step",
    ),
];
