//! What is measured of whole networks: training, serving, graphs. GPUs have points of their own
//! size.

use rsb_workloads::{AxisInfo, AxisKind};

use super::component::{Grids, Workload};
use super::workloads::{MODEL, named_axis, value};

const DTYPE_F32: AxisInfo = named_axis("dtype", "type of an element", "f32", AxisKind::Dtype);
const WIDTH: AxisInfo =
    named_axis("width", "length of what stands for a word; heads have 64", "512", AxisKind::Count);
const BLOCKS: AxisInfo = named_axis("num_layers", "blocks of the decoder", "2", AxisKind::Count);
const ITEMS: AxisInfo =
    named_axis("batch_size", "texts of a rank handled together", "1", AxisKind::Count);
const POSITIONS: AxisInfo =
    named_axis("sequence_length", "tokens of a text", "64", AxisKind::Count);

pub(super) const DEEPSPEED: &[Workload] = &[
    Workload {
        name: "zero",
        axes: &[
            value(
                "zero_stage",
                "what is shared: 1 optimizer, 2 gradients too, 3 weights too",
                AxisKind::CountOrZero,
            ),
            named_axis("num_ranks", "processes that work together", "2", AxisKind::Count),
            WIDTH,
            BLOCKS,
            ITEMS,
            POSITIONS,
            DTYPE_F32,
            named_axis(
                "optimizer",
                "PyTorch's, or DeepSpeed's own, which is compiled when it is first asked for",
                "torch",
                AxisKind::Choice(&["torch", "deepspeed"]),
            ),
        ],
        cpu: Grids { quick: &["zero_stage=2"], more: &["zero_stage=0,1,2,3"] },
        gpu: Grids {
            quick: &[
                "zero_stage=2 dtype=bf16 width=2048 num_layers=4 batch_size=4 sequence_length=1024",
            ],
            more: &["zero_stage=0,1,2,3 dtype=bf16,f32 width=2048 num_layers=4 batch_size=4 \
                 sequence_length=1024"],
        },
    },
    Workload {
        name: "tensor-parallel",
        axes: &[
            named_axis("num_ranks", "processes that share each layer", "2", AxisKind::Count),
            WIDTH,
            BLOCKS,
            ITEMS,
            POSITIONS,
            DTYPE_F32,
        ],
        cpu: Grids { quick: &[], more: &["num_ranks=1,2"] },
        gpu: Grids {
            quick: &[],
            more: &["num_ranks=1,2,4,8 dtype=bf16 width=4096 num_layers=2 batch_size=4 \
                 sequence_length=1024"],
        },
    },
];

const PROMPT: AxisInfo = named_axis("prompt_length", "tokens in a prompt", "128", AxisKind::Count);
const OUTPUT: AxisInfo = named_axis("output_length", "tokens generated", "32", AxisKind::Count);
const EXECUTION: AxisInfo = named_axis(
    "execution",
    "operation by operation (eager) or compiled; auto: eager on a CPU",
    "auto",
    AxisKind::Choice(&["auto", "eager", "compiled"]),
);
const PREFIX_CACHE: AxisInfo = named_axis(
    "prefix_cache",
    "whether keys and values of a beginning seen before are taken again",
    "off",
    AxisKind::Choice(&["off", "on"]),
);
const SHARED_PREFIX: AxisInfo =
    named_axis("shared_prefix", "tokens with which all prompts begin", "0", AxisKind::CountOrZero);

const MODEL_SHAPE: AxisInfo = named_axis(
    "model_shape",
    "shape of the model with random weights; auto: on a GPU the largest that its memory holds, \
     else small",
    "small",
    AxisKind::Choice(&["small", "auto", "llama-2-7b", "llama-3-8b"]),
);
const MODEL_WIDTH: AxisInfo =
    named_axis("width", "width of the small model; heads have 64", "512", AxisKind::Count);
const MODEL_LAYERS: AxisInfo =
    named_axis("num_layers", "layers of the small model", "4", AxisKind::Count);

pub(super) const VLLM: &[Workload] = &[
    Workload {
        name: "generation",
        axes: &[
            named_axis("num_prompts", "prompts sent together", "8", AxisKind::Count),
            PROMPT,
            OUTPUT,
            EXECUTION,
            MODEL,
            MODEL_SHAPE,
            MODEL_WIDTH,
            MODEL_LAYERS,
            PREFIX_CACHE,
            SHARED_PREFIX,
        ],
        cpu: Grids {
            quick: &["num_prompts=4 prompt_length=32 output_length=8"],
            more: &[
                "num_prompts=1,8,32 output_length=32,128",
                "num_prompts=8 output_length=8 prefix_cache=off,on shared_prefix=96",
            ],
        },
        gpu: Grids {
            quick: &["model_shape=auto num_prompts=32 prompt_length=1024 output_length=128"],
            more: &[
                "model_shape=auto num_prompts=1,32,256 prompt_length=1024 output_length=256",
                "model_shape=small,llama-2-7b,llama-3-8b num_prompts=32 prompt_length=1024 \
                 output_length=128",
                "model_shape=auto num_prompts=32 prompt_length=1024 output_length=32 \
                 prefix_cache=off,on shared_prefix=896",
            ],
        },
    },
    Workload {
        name: "serve",
        axes: &[
            value(
                "request_rate",
                "requests sent in a second at random times; 0 for all at once",
                AxisKind::NumberOrZero,
            ),
            named_axis("num_requests", "requests sent", "8", AxisKind::Count),
            PROMPT,
            OUTPUT,
            named_axis(
                "ttft_limit",
                "longest time to the first token of a good answer in ms",
                "1000",
                AxisKind::NumberOrZero,
            ),
            named_axis(
                "tpot_limit",
                "longest time for each further token of a good answer in ms",
                "100",
                AxisKind::NumberOrZero,
            ),
            EXECUTION,
            MODEL,
            MODEL_SHAPE,
            MODEL_WIDTH,
            MODEL_LAYERS,
            PREFIX_CACHE,
            SHARED_PREFIX,
        ],
        cpu: Grids {
            quick: &["request_rate=8 num_requests=4 prompt_length=32 output_length=8"],
            more: &[
                "request_rate=1,2,4,8,0 num_requests=16",
                "request_rate=8 num_requests=16 prefix_cache=off,on shared_prefix=96",
            ],
        },
        gpu: Grids {
            quick: &["model_shape=auto request_rate=16 num_requests=64 prompt_length=1024 \
                 output_length=128"],
            more: &[
                "model_shape=auto request_rate=4,16,64,0 num_requests=256 prompt_length=1024 \
                 output_length=128",
                "model_shape=auto request_rate=16 num_requests=256 prompt_length=1024 \
                 prefix_cache=off,on shared_prefix=896",
            ],
        },
    },
];

const NETWORK: AxisInfo = named_axis(
    "network",
    "linear layers (mlp), a transformer's encoder, a convolutional net, or one token of a decoder \
     with its cache",
    "mlp",
    AxisKind::Choice(&["mlp", "encoder", "convolutional", "decoder-step"]),
);
const GRAPH: [AxisInfo; 6] = [
    named_axis("batch_size", "items handled together", "8", AxisKind::Count),
    named_axis("width", "inputs and outputs of a layer", "256", AxisKind::Count),
    named_axis("num_layers", "layers", "4", AxisKind::Count),
    NETWORK,
    DTYPE_F32,
    named_axis(
        "sequence_length",
        "positions in a sequence or in the cache, or the edge of an image",
        "128",
        AxisKind::Count,
    ),
];
const LEVEL: AxisInfo = value(
    "graph_optimization",
    "how far the graph is optimized",
    AxisKind::Choice(&["disabled", "basic", "extended", "all"]),
);
const OPTIMIZED: [AxisInfo; 7] =
    [LEVEL, GRAPH[0], GRAPH[1], GRAPH[2], GRAPH[3], GRAPH[4], GRAPH[5]];
/// Networks of the size of BERT base, of ResNet-18, and of a decoder with 0.4 billion weights.
const NETWORKS_ON_GPU: &[&str] = &[
    "network=encoder dtype=f16,f32,i8 batch_size=32 width=768 num_layers=12 sequence_length=512",
    "network=convolutional dtype=f16,f32,i8 batch_size=64 width=256 sequence_length=224",
    "network=decoder-step dtype=f16,f32 batch_size=8 width=2048 num_layers=8 sequence_length=2048",
];
const ENCODER_ON_GPU: &str =
    "network=encoder dtype=f16 batch_size=32 width=768 num_layers=12 sequence_length=512";

pub(super) const ONNXRUNTIME: &[Workload] = &[
    Workload {
        name: "inference",
        axes: &GRAPH,
        cpu: Grids {
            quick: &["batch_size=8", "network=encoder batch_size=1 num_layers=2"],
            more: &[
                "batch_size=1,8,32 width=256,512",
                "network=encoder,convolutional,decoder-step dtype=f32,i8 batch_size=1",
                "network=encoder dtype=f16 batch_size=1",
            ],
        },
        gpu: Grids { quick: &[ENCODER_ON_GPU], more: NETWORKS_ON_GPU },
    },
    Workload {
        name: "graph-optimization",
        axes: &OPTIMIZED,
        cpu: Grids {
            quick: &["graph_optimization=disabled,all"],
            more: &[
                "graph_optimization=disabled,basic,extended,all width=256,512",
                "graph_optimization=disabled,basic,extended,all network=encoder,convolutional \
                 batch_size=1",
            ],
        },
        gpu: Grids {
            quick: &[],
            more: &[
                "graph_optimization=disabled,all network=encoder dtype=f16 batch_size=32 width=768 \
                 num_layers=12 sequence_length=512",
            ],
        },
    },
    Workload {
        name: "compilation",
        axes: &OPTIMIZED,
        cpu: Grids {
            quick: &[],
            more: &["graph_optimization=disabled,all network=encoder batch_size=1"],
        },
        gpu: Grids {
            quick: &[],
            more: &["graph_optimization=all network=encoder dtype=f16 batch_size=32 width=768 \
                 num_layers=12 sequence_length=512"],
        },
    },
];

pub(super) const MIGRAPHX: &[Workload] = &[
    Workload {
        name: "inference",
        axes: &GRAPH,
        cpu: Grids {
            quick: &["batch_size=8"],
            more: &["batch_size=1,8,32", "network=encoder batch_size=1"],
        },
        gpu: Grids { quick: &[ENCODER_ON_GPU], more: NETWORKS_ON_GPU },
    },
    Workload {
        name: "compilation",
        axes: &GRAPH,
        cpu: Grids { quick: &[], more: &["batch_size=8"] },
        gpu: Grids { quick: &[], more: &[ENCODER_ON_GPU] },
    },
];
