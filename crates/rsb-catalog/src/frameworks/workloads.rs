//! What is measured of operations: names, axes and points. GPUs have points of their own size.

use rsb_workloads::{AxisInfo, AxisKind, IdForm};

use super::component::{Grids, Workload};

pub(super) const fn value(name: &'static str, about: &'static str, kind: AxisKind) -> AxisInfo {
    AxisInfo { name, about, default: None, form: IdForm::Value, kind }
}

pub(super) const fn named_axis(
    name: &'static str,
    about: &'static str,
    default: &'static str,
    kind: AxisKind,
) -> AxisInfo {
    AxisInfo { name, about, default: Some(default), form: IdForm::Named, kind }
}

pub(super) const DTYPE: AxisInfo = value("dtype", "type of an element", AxisKind::Dtype);
pub(super) const BATCH: AxisInfo =
    named_axis("batch_size", "items handled together", "1", AxisKind::Count);
const HEADS: AxisInfo = named_axis("num_heads", "attention heads", "8", AxisKind::Count);
const KV_HEADS: AxisInfo = named_axis(
    "num_kv_heads",
    "heads of keys and values; 0 for as many as of queries",
    "0",
    AxisKind::CountOrZero,
);
const HEAD_DIM: AxisInfo = named_axis("head_dim", "length of one head", "64", AxisKind::Count);
const LENGTH: AxisInfo = value("sequence_length", "positions in a sequence", AxisKind::Count);
const CAUSAL: AxisInfo = named_axis(
    "causal",
    "whether a position sees only those before it",
    "no",
    AxisKind::Choice(&["no", "yes"]),
);
const ROWS: AxisInfo = value("rows", "rows x length of each", AxisKind::Shape(2, "512x1024"));
pub(super) const MODEL: AxisInfo = named_axis(
    "model",
    "random weights, or the directory of a model",
    "random",
    AxisKind::Path("random"),
);
const PASS: &[&str] = &["forward", "backward"];

pub(super) const PYTORCH: &[Workload] = &[
    Workload {
        name: "matmul",
        axes: &[
            DTYPE,
            value("shape", "m x n x k", AxisKind::Shape(3, "1024x1024x1024")),
            named_axis(
                "transpose",
                "n as stored, t transposed",
                "nn",
                AxisKind::Choice(&["nn", "tn", "nt", "tt"]),
            ),
        ],
        cpu: Grids {
            quick: &["dtype=f32 shape=512x512x512"],
            more: &[
                "dtype=f32,bf16 shape=256x256x256,512x512x512 transpose=nn,nt",
                "dtype=f32 shape=1024x1024x1024,4096x64x512 transpose=nn,tn",
            ],
        },
        gpu: Grids {
            quick: &["dtype=bf16 shape=4096x4096x4096,8192x8192x8192"],
            more: &[
                "dtype=bf16,f16,tf32,f32 shape=1024x1024x1024,4096x4096x4096,8192x8192x8192",
                "dtype=bf16 shape=4096x4096x4096,16x8192x8192 transpose=nt,tn",
            ],
        },
    },
    Workload {
        name: "convolution",
        axes: &[
            DTYPE,
            value("input", "batch x channels x height x width", AxisKind::Shape(4, "4x32x32x32")),
            value(
                "weight",
                "channels out x channels in x height x width",
                AxisKind::Shape(4, "32x32x3x3"),
            ),
            named_axis("stride", "step between output points", "1", AxisKind::Count),
            named_axis("padding", "zeros around the input", "0", AxisKind::CountOrZero),
            named_axis("dilation", "step between taps", "1", AxisKind::Count),
            named_axis("groups", "independent groups of channels", "1", AxisKind::Count),
        ],
        cpu: Grids {
            quick: &["dtype=f32 input=4x32x32x32 weight=32x32x3x3 padding=1"],
            more: &[
                "dtype=f32,bf16 input=4x64x56x56 weight=64x64x3x3 padding=1 stride=1,2",
                "dtype=f32 input=4x64x56x56 weight=64x1x3x3 padding=1 groups=64",
                "dtype=f32 input=4x32x64x64 weight=32x32x3x3 padding=2 dilation=2",
            ],
        },
        gpu: Grids {
            quick: &["dtype=bf16 input=256x64x56x56 weight=64x64x3x3 padding=1"],
            more: &[
                "dtype=bf16,f16,f32 input=256x256x14x14 weight=256x256x3x3 padding=1",
                "dtype=bf16 input=256x64x56x56 weight=256x64x1x1",
                "dtype=bf16 input=256x64x56x56 weight=64x1x3x3 padding=1 groups=64",
            ],
        },
    },
    Workload {
        name: "memory-transfer",
        axes: &[
            value(
                "direction",
                "from where to where; gpu_to_peer: to another GPU",
                AxisKind::Choice(&["cpu_to_gpu", "gpu_to_cpu", "gpu_to_gpu", "gpu_to_peer"]),
            ),
            value("size", "bytes", AxisKind::Bytes),
            named_axis(
                "host_memory",
                "pinned in place or pageable",
                "pinned",
                AxisKind::Choice(&["pinned", "pageable"]),
            ),
        ],
        cpu: Grids { quick: &["direction=cpu_to_gpu size=64MiB"], more: &[] },
        gpu: Grids {
            quick: &["direction=cpu_to_gpu,gpu_to_cpu size=256MiB"],
            more: &[
                "direction=cpu_to_gpu,gpu_to_cpu size=1MiB,256MiB host_memory=pinned,pageable",
                "direction=gpu_to_gpu,gpu_to_peer size=1GiB",
            ],
        },
    },
    Workload {
        name: "autograd",
        axes: &[
            DTYPE,
            value("operation", "which pass", AxisKind::Choice(PASS)),
            named_axis("batch_size", "items handled together", "64", AxisKind::Count),
            named_axis("width", "inputs and outputs of a layer", "256", AxisKind::Count),
            named_axis("num_layers", "layers", "4", AxisKind::Count),
        ],
        cpu: Grids {
            quick: &["dtype=f32 operation=backward"],
            more: &["dtype=f32 operation=forward,backward width=256,512"],
        },
        gpu: Grids {
            quick: &["dtype=bf16 operation=backward batch_size=4096 width=4096"],
            more: &["dtype=bf16,f32 operation=forward,backward batch_size=4096 width=4096"],
        },
    },
    Workload {
        name: "torch-compile",
        axes: &[
            DTYPE,
            value(
                "compilation",
                "cold: from nothing; warm: what was made",
                AxisKind::Choice(&["cold", "warm"]),
            ),
            ROWS,
        ],
        cpu: Grids { quick: &[], more: &["dtype=f32 compilation=warm,cold rows=512x1024"] },
        gpu: Grids { quick: &[], more: &["dtype=bf16 compilation=warm,cold rows=8192x8192"] },
    },
    Workload {
        name: "execution",
        axes: &[
            DTYPE,
            value(
                "execution",
                "operation by operation (eager), by torch.compile (compiled), or a captured graph \
                 of a GPU (graph)",
                AxisKind::Choice(&["eager", "compiled", "graph"]),
            ),
            BATCH,
            named_axis("sequence_length", "positions in a sequence", "64", AxisKind::Count),
            named_axis("width", "length of what stands for a word", "256", AxisKind::Count),
            named_axis("num_layers", "blocks of the decoder", "2", AxisKind::Count),
        ],
        cpu: Grids {
            quick: &["dtype=f32 execution=eager"],
            more: &["dtype=f32 execution=eager,compiled"],
        },
        gpu: Grids {
            quick: &[
                "dtype=bf16 execution=eager,graph sequence_length=512 width=1024 num_layers=4",
            ],
            more: &[
                "dtype=bf16 execution=eager,compiled,graph sequence_length=512 width=1024 \
                 num_layers=4",
                "dtype=bf16 execution=eager,compiled,graph batch_size=8 sequence_length=2048 \
                 width=4096 num_layers=4",
            ],
        },
    },
    Workload {
        name: "training",
        axes: &[
            DTYPE,
            named_axis("batch_size", "sequences handled together", "4", AxisKind::Count),
            named_axis("sequence_length", "positions in a sequence", "64", AxisKind::Count),
            named_axis("width", "length of what stands for a word", "256", AxisKind::Count),
            named_axis("num_layers", "blocks of the decoder", "2", AxisKind::Count),
        ],
        cpu: Grids { quick: &["dtype=f32"], more: &["dtype=f32 batch_size=4,16 width=256,512"] },
        gpu: Grids {
            quick: &["dtype=bf16 batch_size=8 sequence_length=1024 width=2048 num_layers=4"],
            more: &["dtype=bf16,f32 batch_size=8 sequence_length=1024 width=2048 num_layers=4"],
        },
    },
    Workload {
        name: "layer-norm",
        axes: &[DTYPE, ROWS],
        cpu: Grids {
            quick: &["dtype=f32 rows=512x1024"],
            more: &["dtype=f32,bf16 rows=512x1024,2048x4096"],
        },
        gpu: Grids {
            quick: &["dtype=bf16 rows=8192x8192"],
            more: &["dtype=bf16,f16,f32 rows=8192x1024,8192x8192"],
        },
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
            named_axis(
                "use_cache",
                "whether keys and values are kept",
                "yes",
                AxisKind::Choice(&["yes", "no"]),
            ),
            BATCH,
            named_axis("prompt_length", "tokens in a prompt", "128", AxisKind::Count),
            named_axis("output_length", "tokens generated", "16", AxisKind::Count),
            named_axis("width", "length of what stands for a word", "256", AxisKind::Count),
            named_axis("num_layers", "layers", "4", AxisKind::Count),
            MODEL,
        ],
        cpu: Grids {
            quick: &[],
            more: &[
                "dtype=f32 operation=prefill batch_size=1,4",
                "dtype=f32 operation=decode use_cache=yes,no",
            ],
        },
        gpu: Grids {
            quick: &[],
            more: &[
                "dtype=bf16 operation=prefill batch_size=1,8 prompt_length=2048 width=4096",
                "dtype=bf16 operation=decode batch_size=1,8,32 prompt_length=2048 output_length=64 \
                 width=4096",
            ],
        },
    },
    Workload {
        name: "attention",
        axes: &[DTYPE, LENGTH, CAUSAL, BATCH, HEADS, HEAD_DIM],
        cpu: Grids {
            quick: &["dtype=f32 sequence_length=256"],
            more: &["dtype=f32,bf16 sequence_length=256,512 causal=no,yes batch_size=1,2"],
        },
        gpu: Grids {
            quick: &["dtype=bf16 sequence_length=8192 num_heads=32 head_dim=128"],
            more: &["dtype=bf16,f16 sequence_length=2048,8192 causal=no,yes batch_size=1,4 \
                 num_heads=32 head_dim=64,128"],
        },
    },
];

const KERNEL: AxisInfo = value(
    "kernel",
    "which",
    AxisKind::Choice(&["vector-add", "softmax", "layer-norm", "matmul", "attention"]),
);
const KERNELS: &str = "kernel=softmax target=gfx90a,gfx1100 dtype=f16";
const TARGETS: &[&str] = &[
    "kernel=softmax,matmul target=gfx90a,gfx942,gfx1100,gfx1201,sm_90 dtype=f16",
    "kernel=attention target=gfx942 dtype=f16 num_warps=4,8 num_stages=1,2",
    "kernel=matmul target=gfx942 dtype=bf16 compilation=warm",
];

pub(super) const TRITON: &[Workload] = &[
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
            named_axis("num_warps", "warps or waves of a block", "4", AxisKind::Count),
            named_axis("num_stages", "stages of a software pipeline", "2", AxisKind::Count),
            named_axis(
                "compilation",
                "cold: from nothing; warm: from Triton's cache on disk",
                "cold",
                AxisKind::Choice(&["cold", "warm"]),
            ),
        ],
        cpu: Grids { quick: &[KERNELS], more: TARGETS },
        gpu: Grids { quick: &[KERNELS], more: TARGETS },
    },
    Workload {
        name: "operation",
        axes: &[
            KERNEL,
            DTYPE,
            named_axis(
                "size",
                "m, n and k of a product, positions of an attention, length of a row, root of the \
                 elements",
                "4096",
                AxisKind::Count,
            ),
        ],
        cpu: Grids {
            quick: &["kernel=softmax dtype=f32"],
            more: &[
                "kernel=vector-add,softmax,layer-norm,matmul,attention dtype=f32",
                "kernel=matmul,attention dtype=f16",
            ],
        },
        gpu: Grids {
            quick: &["kernel=softmax,matmul,attention dtype=bf16 size=8192"],
            more: &[
                "kernel=vector-add,softmax,layer-norm dtype=bf16,f16,f32 size=8192",
                "kernel=matmul dtype=bf16,f16,fp8,tf32 size=2048,8192",
                "kernel=attention dtype=bf16,f16 size=2048,8192,16384",
            ],
        },
    },
];

pub(super) const FLASH_ATTENTION: &[Workload] = &[Workload {
    name: "flash",
    axes: &[
        DTYPE,
        value("operation", "which pass", AxisKind::Choice(PASS)),
        LENGTH,
        CAUSAL,
        BATCH,
        HEADS,
        HEAD_DIM,
        KV_HEADS,
    ],
    cpu: Grids {
        quick: &["dtype=f32 operation=forward sequence_length=512 causal=no,yes"],
        more: &[
            "dtype=f32,bf16 operation=forward,backward sequence_length=256,1024 causal=no,yes",
            "dtype=f32 operation=forward sequence_length=512 causal=yes head_dim=128,256 \
             num_kv_heads=2",
        ],
    },
    gpu: Grids {
        quick: &[
            "dtype=bf16 operation=forward,backward sequence_length=8192 causal=yes batch_size=2 \
             num_heads=16 head_dim=128",
        ],
        more: &[
            "dtype=bf16 operation=forward,backward sequence_length=2048,8192,16384 causal=no,yes \
             num_heads=16 head_dim=128",
            "dtype=bf16,f16 operation=forward,backward sequence_length=4096 causal=yes \
             batch_size=4 num_heads=16 head_dim=64,256",
            "dtype=bf16 operation=forward,backward sequence_length=8192 causal=yes num_heads=32 \
             head_dim=128 num_kv_heads=8",
        ],
    },
}];
