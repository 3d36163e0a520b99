//! Parameters that distinguish the lines of a chart.

use serde_json::Value as Json;

use rsb_model::shape::format_bytes;

/// Parameters that distinguish lines, in the order of their description. Add the field of every new
/// benchmark axis here; otherwise two cases become points of the same line.
#[rustfmt::skip]
pub const KEYS: &[&str] = &[
    "model", "workload", "operation", "dtype", "output_dtype", "engine", "sparsity", "stores", "threads", "cache",
    "numa", "provider", "algorithms_tried", "host_memory", "memory_tier", "num_gpus", "num_ranks", "scaling",
    "overlap", "placement", "communication_backend", "algorithm", "launcher", "zero_stage", "peer", "block_size", "batch_size",
    "sequence_length", "output_length", "attention", "launch_mode", "mlp", "norm", "positions", "weight_dtype",
    "num_heads", "head_dim", "num_kv_heads", "num_layers", "vocabulary_size", "size_bytes", "m", "n", "k", "input_shape",
    "weight_shape", "stride", "padding", "dilation", "groups", "transpose", "alpha", "beta", "ld_a", "ld_b", "ld_c",
    "stride_a", "stride_b", "stride_c", "epilogue", "accumulation", "init",
    "rotating_buffers", "speedup_over", "source_file", "optimization", "gfx_target", "compilation", "profiler", "execution",
    "request_rate", "concurrency", "performance_hint", "load", "kernels", "device",
];

/// Value for a single set of buffers: iterations find their data in the caches.
const ONE_SET: &str = "one set";

/// Returns the value of field `key` as text. The number of rotating buffer sets is omitted: it
/// depends on the buffer size, because the sets together exceed a cache.
pub(super) fn value(key: &str, json: &Json) -> String {
    match key {
        "rotating_buffers" if json.as_u64() == Some(1) => ONE_SET.to_owned(),
        "rotating_buffers" => "rotating buffers".to_owned(),
        _ => json.as_str().map_or_else(|| json.to_string(), str::to_owned),
    }
}

/// Returns whether `key` is the axis `x` or grows with it.
pub(super) fn follows(key: &str, x: &str) -> bool {
    match key {
        "size_bytes" | "input_shape" => {
            matches!(x, "size_bytes" | "m" | "batch_size" | "sequence_length")
        }
        "m" | "n" | "k" => matches!(x, "size_bytes" | "m"),
        key => key == x,
    }
}

pub(super) fn describe(key: &str, value: &str) -> String {
    match key {
        "batch_size" => format!("batch {value}"),
        "sequence_length" | "positions" => format!("{value} positions"),
        "zero_stage" => format!("ZeRO {value}"),
        "num_ranks" => format!("{value} ranks"),
        "kernels" => format!("{value} kernels"),
        "m" => format!("{value} rows"),
        "n" => format!("{value} columns"),
        "k" => format!("sums of {value}"),
        "request_rate" => format!("{value} requests/s"),
        "concurrency" => format!("{value} at a time"),
        "performance_hint" => format!("tuned for {value}"),
        "size_bytes" => value.parse().map_or_else(|_| value.to_owned(), format_bytes),
        "threads" if value == "1" => "1 thread".to_owned(),
        "threads" => format!("{value} threads"),
        "num_heads" => format!("{value} heads"),
        "num_kv_heads" => format!("{value} heads of keys"),
        "head_dim" => format!("heads of {value}"),
        "num_layers" => format!("{value} layers"),
        "vocabulary_size" => format!("{value} words"),
        "output_length" => format!("{value} tokens"),
        "stride" | "padding" | "dilation" | "groups" | "alpha" | "beta" | "ld_a" | "ld_b"
        | "ld_c" | "stride_a" | "stride_b" | "stride_c" => format!("{key} {value}"),
        "algorithms_tried" => format!("best of {value} algorithms"),
        "output_dtype" => format!("to {value}"),
        "weight_dtype" if value.is_empty() => "whole weights".to_owned(),
        "weight_dtype" => format!("{value} weights"),
        "norm" => format!("{value} norm"),
        "speedup_over" => format!("over {value}"),
        "cache" => format!("{value} cache"),
        "num_gpus" => format!("{value} GPUs"),
        "block_size" => format!("blocks of {value}"),
        _ if value.is_empty() => format!("any {key}"),
        _ => value.to_owned(),
    }
}

/// Returns whether `value` is the default of `key`, which line names omit.
pub(super) fn is_usual(key: &str, value: &str) -> bool {
    matches!(
        (key, value),
        ("stores", "temporal")
            | ("cache", "hot")
            | (
                "threads"
                    | "concurrency"
                    | "num_layers"
                    | "alpha"
                    | "stride"
                    | "dilation"
                    | "groups"
                    | "algorithms_tried",
                "1"
            )
            | ("beta" | "padding", "0")
            | ("attention", "staged")
            | ("performance_hint", "latency")
            | ("launch_mode", "stream")
            | ("mlp", "gelu")
            | ("norm", "layer")
            | ("positions" | "epilogue" | "profiler", "none")
            | ("sparsity", "dense")
            | ("numa", "near")
            | ("speedup_over", "f32")
            | ("rotating_buffers", ONE_SET)
    )
}
