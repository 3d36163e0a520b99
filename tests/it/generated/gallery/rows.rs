//! Rows of the gallery.

use super::{Row, shown};

pub(super) const HEAD: &str = "\
# Gallery

Every kind of `rusty-stack-bench chart`. Each thumbnail links to its picture, and the command next to it draws that picture.

Most are drawn of real runs of 2026-11-23 to 25 in [gallery](gallery): virtual machines with two CPUs, of an AMD EPYC that others
used too and of an Intel Xeon (frameworks, training, models), and PoCL and lavapipe, which drive the CPU as a device. The ceilings of an Instinct
MI210 under ROCm 6.0.2 are AMD's own, published with ROCm/rocprofiler-compute (95b600e, MIT) and taken in by `import`. Comparisons and series over
time are of made-up runs with 1 % of noise and one slowdown of 19 %, written by `scripts/example_store.py`.

| | |
| --- | --- |
";

pub(super) const ROWS: &[Row] = &[
    shown(
        "Device memory and system memory by size",
        "line docs/gallery/tiers.json --benchmark memory-tiers",
        "throughput",
    ),
    shown("Matrix products by size", "line docs/gallery/cpu.json --case /gemm/", "by-m"),
    shown(
        "All-reduce: bus bandwidth by size",
        "line docs/gallery/a100x8-nccl-tests.json --metric bandwidth_gb_s",
        "throughput",
    ),
    shown(
        "Models under load: 90th percentile of the latency",
        "line docs/gallery/load.json --metric latency_p90_ms",
        "by-request-rate",
    ),
    shown(
        "Throughput by batch size, with error bars",
        "error-bars docs/gallery/vllm.json --benchmark vllm",
        "by-batch-size",
    ),
    shown(
        "Throughput by batch size, every sample",
        "scatter docs/gallery/tokens.json --metric tokens_per_second",
        "by-batch-size",
    ),
    shown(
        "Matrix units and vector units, with their peaks",
        "bar docs/gallery/mi210-ceilings.json --metric gflops",
        "bars",
    ),
    shown("Tensor operations", "bar docs/gallery/cpu.json --benchmark tensor-ops", "bars"),
    shown("Inference time by runtime for each model", "models docs/gallery/models.json", "models"),
    shown(
        "Speed of a kernel relative to the standard one",
        "speedup docs/gallery/frameworks.json --benchmark flash-attention",
        "speedup",
    ),
    shown("Scaling, with the ideal", "scaling docs/gallery/cpu.json --case /gemm/", "scaling"),
    shown("Backends of one device", "backends docs/gallery/backends.json", "backends"),
    shown("Share of the roofline: gauges", "gauge docs/gallery/cpu.json --case /gemm/", "gauge"),
    shown("Roofline", "roofline docs/gallery/cpu.json", "roofline-cpu-0"),
    shown("Heat map", "heat-map docs/gallery/load.json", "heat-map"),
    shown(
        "Time of a training step",
        "stacked-bar docs/gallery/frameworks.json --benchmark deepspeed",
        "step",
    ),
    shown(
        "Memory of a rank by ZeRO stage",
        "stacked-bar docs/gallery/frameworks.json --benchmark deepspeed",
        "zero",
    ),
    shown(
        "Memory of a training step by purpose",
        "memory-breakdown docs/gallery/training.json",
        "training",
    ),
    shown(
        "Memory of a training step over time",
        "memory-timeline docs/gallery/training.json",
        "memory-timeline-",
    ),
    shown("Memory by kind over the run", "memory-heat-map docs/gallery/frameworks.json", "memory"),
    shown(
        "Every sample of a case",
        "distribution docs/gallery/models.json --case t5-efficient-tiny/f32",
        "samples",
    ),
    shown(
        "Two runs: change of each value",
        "delta docs/gallery/example-after.json --against docs/gallery/example-before.json",
        "delta",
    ),
    shown(
        "Two runs: before and after",
        "before-after docs/gallery/example-after.json --against docs/gallery/example-before.json",
        "before-after",
    ),
    shown(
        "Two runs: verdicts",
        "verdicts docs/gallery/example-after.json --against docs/gallery/example-before.json",
        "comparison",
    ),
    shown(
        "A series over its runs",
        "trend --input docs/gallery/series.csv --case f32/256",
        "trend",
    ),
    shown("Many series", "sparkline --input docs/gallery/series.csv", "sparklines"),
];
