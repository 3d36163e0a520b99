//! Inference with a decoder of transformer blocks and a key-value cache, using native kernels and
//! the device's BLAS: the performance of a GPU on language models without installing a framework.

use rsb_device::operation::{LaunchMode, MemoryStream, NormalizeOp, Stores, StreamPattern};
use rsb_device::{Device, DeviceInfo, Operation, Options};
use rsb_model::shape::format_shape;
use rsb_model::unit::gigabytes_per_second;
use rsb_model::{DeviceType, Dtype, Fields, Params, Reason};

use super::{
    axis, dtype, fixed_grid, grid, is_cpu, last_level_cache, newer, number, shape, stream_size,
    text_grid, threaded,
};
use crate::axis::{AxisInfo, AxisKind, DTYPE, THREADS};
use crate::benchmark::{
    Benchmark, BenchmarkGroup, BenchmarkInfo, Breadth, Failure, Grid, PrepareResult, Prepared,
};
use crate::plausibility::{
    are_beyond_caches, best_peak_note, check_compute, check_memory, set_note,
};
use crate::timed::{Timed, check_time};
use crate::transformer::{Decoder, GROUP, Mlp, Shape};

/// Prefill and decode.
pub(super) struct Inference;

const AXES: &[AxisInfo] = &[
    AxisInfo::value(
        "phase",
        "prefill: all tokens of a prompt at once; decode: one more token per sequence",
        AxisKind::Choice(&["prefill", "decode"]),
    ),
    DTYPE,
    AxisInfo::value("heads", "attention heads x head dimension", AxisKind::Shape(2, "12x64")),
    AxisInfo::with_default(
        "kv_heads",
        "key/value heads, each shared by an equal number of query heads; 0: one per query head",
        "0",
        AxisKind::CountOrZero,
    ),
    AxisInfo::with_default(
        "mlp",
        "gelu: hidden layer 4 times as wide; swiglu: gated hidden layer 3.5 times as wide",
        "gelu",
        AxisKind::Choice(&["gelu", "swiglu"]),
    ),
    AxisInfo::with_default(
        "norm",
        "normalization of rows before each half of a block",
        "layer",
        AxisKind::Choice(&["layer", "rms"]),
    ),
    AxisInfo::with_default(
        "positions",
        "rotary: queries and keys are rotated by their position",
        "none",
        AxisKind::Choice(&["none", "rotary"]),
    ),
    AxisInfo::with_default(
        "vocabulary",
        "size of the vocabulary, for an embedding before the blocks and a head after them; 0: \
         neither",
        "0",
        AxisKind::CountOrZero,
    ),
    AxisInfo::with_default("batch_size", "sequences", "1", AxisKind::Count),
    AxisInfo::with_default(
        "sequence_length",
        "tokens of a prompt, or positions that a token attends to",
        "128",
        AxisKind::Count,
    ),
    AxisInfo::with_default(
        "output_length",
        "tokens that decode generates per sequence; each attends to one more position",
        "1",
        AxisKind::Count,
    ),
    AxisInfo::with_default(
        "attention",
        "staged: products, mask and softmax store all scores; fused: one kernel stores none",
        "staged",
        AxisKind::Choice(&["staged", "fused"]),
    ),
    AxisInfo::with_default(
        "weights",
        "weights of products: as-inputs, or i8 or i4 integers with an f16 scale per 128 weights; \
         inputs are not quantized",
        "as-inputs",
        AxisKind::Choice(&["as-inputs", "i8", "i4"]),
    ),
    AxisInfo::with_default("layers", "number of blocks", "1", AxisKind::Count),
    AxisInfo::with_default(
        "launch_mode",
        "stream: one call per operation of a pass; graph: one call per pass, recorded in advance",
        "stream",
        AxisKind::Choice(&["stream", "graph"]),
    ),
    THREADS,
];

impl Benchmark for Inference {
    fn info(&self) -> BenchmarkInfo {
        BenchmarkInfo {
            name: "inference",
            about: "Transformer blocks with a KV cache: prefill and decode, in tokens per second",
            axes: AXES,
            group: Some(BenchmarkGroup::Compute),
            is_sized_by_caches: true,
            ..BenchmarkInfo::DEFAULT
        }
    }

    fn grids(&self, breadth: Breadth, device: &DeviceInfo) -> Vec<Grid> {
        let of = |text: String| text_grid(AXES, &text);
        let is_gpu = device.device_type == DeviceType::Gpu;
        let is_fast = is_gpu || is_cpu(device);
        let usual = if is_gpu { "f16" } else { "f32" };
        let both = "phase=prefill,decode";
        // Software that emulates a GPU is slow.
        let heads = if is_fast { "heads=12x64" } else { "heads=4x32" };
        let small = format!("dtype={usual} {heads}");
        // On a CPU, a prompt of the usual length takes 0.1 s.
        let glance = if is_gpu { "sequence_length=128" } else { "sequence_length=32" };
        let mut grids = vec![of(format!("{both} {small} {glance}"))];
        if is_gpu {
            // The main use of a GPU: decoding with weights that exceed all caches.
            grids.push(from_memory(device, usual, &["decode"]));
        }
        if breadth >= Breadth::Standard {
            let other = if is_gpu { "f32" } else { "f16" };
            grids.push(of(format!("{both} dtype={usual},bf16,{other} {heads}")));
            grids.push(of(format!("{both} {small} batch_size=8")));
            if is_fast {
                // For comparison with staged attention.
                grids.push(of(format!("phase=prefill {small} attention=fused")));
                let blocks = from_memory(device, usual, &["prefill", "decode"]);
                // On a CPU, 16 tokens with weights in memory take 1 s.
                let growing = if is_gpu { blocks.clone() } else { of(small.clone()) };
                let mut tokens = fixed_grid("phase=decode output_length=16");
                tokens.extend(growing);
                if is_gpu {
                    // For comparison with one call per operation.
                    grids.push(of(format!("phase=decode {small} launch_mode=graph")));
                    grids.push(as_graph(tokens.clone()));
                }
                grids.extend([blocks, tokens]);
            }
            grids.extend(narrow(device, usual, of(small.clone())));
            if is_fast {
                // Complete GPT-2 from words to logits: the first token, and each later one.
                grids.push(of(format!("{both} {small} layers=12 vocabulary=50257 {glance}")));
            }
        }
        if breadth == Breadth::Full {
            // Cases of a tenth of a second on a GPU take minutes on other devices.
            let (models, batches, lengths) = if is_gpu {
                ("12x64,16x64,32x128", "1,8,32", "128,512,2048")
            } else {
                ("12x64,16x64", "1,8", "128,512")
            };
            let (types, lengths) = ("dtype=f32,f16,bf16", format!("sequence_length={lengths}"));
            if is_fast {
                grids.push(of(format!("{both} {small} {lengths} attention=fused")));
            }
            grids.push(of(format!("{both} {types} heads={models} batch_size={batches} {lengths}")));
            grids.push(of(format!("{both} {small} layers=12")));
            if is_fast {
                grids.push(of(format!("{both} {small} layers=12 vocabulary=50257")));
            }
            if is_gpu {
                grids.push(llama(usual, "32", fixed_grid("vocabulary=128256 sequence_length=512")));
                // A block of Llama 3 70B.
                let mut wide = llama(usual, "1", fixed_grid("sequence_length=512"));
                with(&mut wide, axis("heads", &["64x128"]));
                grids.push(wide);
            }
            if is_cpu(device) {
                grids.push(threaded(of(format!("{both} dtype=f32 {heads}")), device));
            }
        }
        grids
    }

    fn footprint_bytes(&self, params: &Params) -> Result<u64, Reason> {
        let shape = sizes(params)?;
        Ok(shape.bytes())
    }

    fn prepare<'d>(&self, params: &Params, device: &'d dyn Device) -> PrepareResult<'d> {
        let shape = sizes(params).map_err(Failure::Skipped)?;
        let threads: u32 = number(params, "threads").map_err(Failure::Skipped)?;
        let options = Options { threads: Some(threads), ..Options::default() };
        let is_graph = params.text("launch_mode") == Some("graph");
        let mode = if is_graph { LaunchMode::Graph } else { LaunchMode::Stream };
        let decoder = Decoder::prepare(device, shape, mode, &options)?;
        let phase = params.text("phase").unwrap_or_default().to_owned();
        Ok(Box::new(Case { device, shape, options, decoder, phase, launch_mode: mode }))
    }
}

fn as_graph(mut grid: Grid) -> Grid {
    grid.push(axis("launch_mode", &["graph"]));
    grid
}

/// Returns enough blocks of Llama 3 8B to exceed all caches, so that decoding is limited by memory.
fn from_memory(device: &DeviceInfo, dtype: &str, phases: &[&str]) -> Grid {
    let is_gpu = device.device_type == DeviceType::Gpu;
    let of_layer = LLAMA_3_8B.weights() * if is_gpu { 2 } else { 4 };
    let layers = layers_beyond(device, of_layer);
    let mut blocks = llama(
        dtype,
        &layers,
        grid([axis("sequence_length", &[if is_gpu { "512" } else { "32" }])]),
    );
    with(&mut blocks, axis("phase", phases));
    blocks
}

/// Adds an axis, or replaces its values.
fn with(grid: &mut Grid, axis: (&'static str, Vec<String>)) {
    grid.retain(|(name, _)| *name != axis.0);
    grid.push(axis);
}

/// Returns the number of layers that take four times the last-level cache.
fn layers_beyond(device: &DeviceInfo, bytes_of_layer: u64) -> String {
    (4 * last_level_cache(device)).div_ceil(bytes_of_layer).max(1).to_string()
}

/// Returns decode cases with quantized weights. On a GPU they use enough blocks of Llama 3 8B to
/// exceed all caches even with 4-bit weights, and include weights in the full type for comparison.
/// On a CPU they use the blocks of [`from_memory`], since more would take minutes to fill.
fn narrow(device: &DeviceInfo, dtype: &str, small: Grid) -> Vec<Grid> {
    if is_cpu(device) {
        return vec![decode_with_weights(from_memory(device, dtype, &["decode"]), &["i8", "i4"])];
    }
    if device.device_type != DeviceType::Gpu {
        return vec![decode_with_weights(small, &["i8", "i4"])];
    }
    let of_layer = Shape { narrow: Some(Dtype::I4), ..LLAMA_3_8B }.weight_bytes();
    let blocks = llama(dtype, &layers_beyond(device, of_layer), fixed_grid("sequence_length=512"));
    vec![decode_with_weights(blocks, &["as-inputs", "i8", "i4"])]
}

fn decode_with_weights(mut grid: Grid, weights: &[&str]) -> Grid {
    with(&mut grid, axis("phase", &["decode"]));
    with(&mut grid, axis("weights", weights));
    grid
}

/// Returns both phases of `layers` blocks of Llama 3 8B.
fn llama(dtype: &str, layers: &str, more: Grid) -> Grid {
    let mut all = grid([
        axis("phase", &["prefill", "decode"]),
        axis("dtype", &[dtype]),
        axis("heads", &["32x128"]),
        axis("kv_heads", &["8"]),
        axis("mlp", &["swiglu"]),
        axis("norm", &["rms"]),
        axis("positions", &["rotary"]),
        axis("layers", &[layers]),
    ]);
    all.extend(more);
    all
}

const ONE_TOKEN: Shape = Shape {
    dtype: Dtype::F32,
    layers: 1,
    heads: 1,
    head_dim: 1,
    kv_heads: 1,
    mlp: Mlp::Gelu,
    norm: NormalizeOp::LayerNorm,
    rotary: false,
    vocabulary: 0,
    batch: 1,
    queries: 1,
    positions: 1,
    steps: 1,
    fused: false,
    narrow: None,
};

const LLAMA_3_8B: Shape = Shape {
    heads: 32,
    head_dim: 128,
    kv_heads: 8,
    mlp: Mlp::SwiGlu,
    norm: NormalizeOp::RmsNorm,
    rotary: true,
    ..ONE_TOKEN
};

fn sizes(params: &Params) -> Result<Shape, Reason> {
    let [heads, head_dim] = shape(params, "heads")?;
    let positions: u64 = number(params, "sequence_length")?;
    let steps: u64 = newer(params, "output_length", 1)?;
    let is_decode = params.text("phase") == Some("decode");
    let queries = if is_decode { 1 } else { positions };
    if !is_decode && steps > 1 {
        return Err(Reason::new(
            format!("{steps} tokens generated by prefill"),
            "prefill processes the whole prompt in one step",
            "choose phase=decode",
        ));
    }
    if heads == 0 || head_dim == 0 {
        return Err(Reason::new(
            "a decoder without heads",
            "a size is zero",
            "choose heads such as 12x64",
        ));
    }
    let (batch, layers) = (number(params, "batch_size")?, number(params, "layers")?);
    let kv_heads =
        Some(number(params, "kv_heads")?).filter(|&count: &u64| count > 0).unwrap_or(heads);
    if !heads.is_multiple_of(kv_heads) {
        return Err(Reason::new(
            format!("{kv_heads} key heads for {heads} query heads"),
            "each key head must serve the same number of query heads",
            "choose a divisor of the number of heads",
        ));
    }
    let mlp = if params.text("mlp") == Some("swiglu") { Mlp::SwiGlu } else { Mlp::Gelu };
    let norm = if params.text("norm") == Some("rms") {
        NormalizeOp::RmsNorm
    } else {
        NormalizeOp::LayerNorm
    };
    let rotary = params.text("positions") == Some("rotary");
    if rotary && !head_dim.is_multiple_of(2) {
        return Err(Reason::new(
            format!("rotary positions with head dimension {head_dim}"),
            "they rotate pairs of elements, and the dimension is odd",
            "choose an even head dimension",
        ));
    }
    let (dtype, vocabulary) = (dtype(params)?, newer(params, "vocabulary", 0)?);
    Ok(Shape {
        dtype,
        layers,
        heads,
        head_dim,
        kv_heads,
        mlp,
        norm,
        rotary,
        vocabulary,
        batch,
        queries,
        positions,
        steps,
        fused: params.text("attention") == Some("fused"),
        narrow: params
            .text("weights")
            .filter(|&name| name != "as-inputs")
            .and_then(|name| name.parse().ok()),
    })
}

struct Case<'d> {
    device: &'d dyn Device,
    shape: Shape,
    options: Options,
    decoder: Decoder<'d>,
    phase: String,
    launch_mode: LaunchMode,
}

impl Prepared for Case<'_> {
    fn sample(&mut self, iters: u64) -> Result<f64, Failure> {
        self.decoder.sample(iters)
    }

    fn fields(&mut self, time_ns: f64) -> Result<Fields, Failure> {
        check_time(time_ns)?;
        let Shape { dtype, layers, heads, head_dim, batch, positions, steps, .. } = self.shape;
        let pass_ms = time_ns / 1e6 / steps as f64;
        let gflops = self.decoder.flops() / time_ns;
        let peak = check_compute(gflops, self.device, dtype, &self.options)?;
        let mut fields =
            Fields::new().with("operation", self.phase.clone()).with("dtype", dtype.as_str());
        fields.set("provider", self.decoder.provider.clone());
        if is_cpu(self.device.info()) {
            fields.set("threads", self.options.threads.unwrap_or(1));
        }
        for (name, size) in [
            ("batch_size", batch),
            ("sequence_length", positions),
            ("output_length", if self.phase == "decode" { steps } else { 0 }),
            ("num_heads", heads),
            ("num_kv_heads", self.shape.kv_heads),
            ("head_dim", head_dim),
            ("num_layers", layers),
            ("vocabulary_size", self.shape.vocabulary),
            ("parameter_count", self.shape.weights()),
        ] {
            if size > 0 {
                fields.set(name, size);
            }
        }
        fields.extend(self.form());
        fields.set("architecture_type", "transformer-decoder");
        fields.set("model_size_gb", self.shape.weight_bytes() as f64 / 1e9);
        if let Some(narrow) = self.shape.narrow {
            fields.set("weight_dtype", narrow.as_str());
            fields.set("group_size", GROUP);
        }
        fields.set(
            "init",
            "random uniform, scaled so that every stage keeps the size of its numbers",
        );
        self.decoder.accuracy.set(&mut fields);
        fields.set("time_ms", time_ns / 1e6);
        fields.set("forward_time_ms", pass_ms);
        fields.set("tokens_per_second", self.shape.tokens() as f64 / (pass_ms / 1e3));
        fields.set("gflops", gflops);
        fields.set("tflops", gflops / 1e3);
        fields.set("memory_used_mb", self.decoder.bytes() as f64 / 1e6);
        fields.set("use_cache", true);
        let Shape { queries, vocabulary, .. } = self.shape;
        let (rows, columns) =
            if vocabulary > 0 { (1, vocabulary) } else { (queries, self.shape.width()) };
        fields.set("output_shape", format_shape(&[batch, rows * steps, columns]));
        if vocabulary > 0 {
            fields.set(if self.phase == "decode" { "tpot_ms" } else { "ttft_ms" }, pass_ms);
        }
        if let Some(name) = model_name(&self.shape) {
            fields.set("model_name", name);
        }
        if let (Some(peak), "prefill") = (peak, self.phase.as_str()) {
            fields.set("peak_gflops", peak.max(gflops));
            fields.set("roofline_percent", 100.0 * gflops / peak.max(gflops));
            set_note(&mut fields, best_peak_note(self.device.info(), dtype, gflops).as_deref());
        }
        if self.phase == "decode" {
            fields.extend(self.memory(time_ns)?);
        }
        Ok(fields)
    }
}

impl Case<'_> {
    /// Returns the structure of the blocks and the launch mode, by axis name.
    fn form(&self) -> Fields {
        let Shape { mlp, norm, rotary, fused, .. } = self.shape;
        Fields::new()
            .with("attention", if fused { "fused" } else { "staged" })
            .with(
                "launch_mode",
                if self.launch_mode == LaunchMode::Graph { "graph" } else { "stream" },
            )
            .with("mlp", if mlp == Mlp::SwiGlu { "swiglu" } else { "gelu" })
            .with("norm", if norm == NormalizeOp::RmsNorm { "rms" } else { "layer" })
            .with("positions", if rotary { "rotary" } else { "none" })
    }

    /// Returns the memory bandwidth, counting each weight, key and value once per token. If the
    /// data exceeds the caches, also returns the percentage of the memory's peak: the listed peak,
    /// or on a CPU without one the measured bandwidth of reading an array.
    fn memory(&self, time_ns: f64) -> Result<Fields, Failure> {
        let info = self.device.info();
        let bytes = self.shape.bytes_read();
        let rate = gigabytes_per_second(bytes as f64, time_ns);
        let mut fields = Fields::new().with("bandwidth_gb_s", rate);
        if !are_beyond_caches(bytes / self.shape.steps, info) {
            return Ok(fields);
        }
        let roof = match info.peak_bandwidth_gb_s {
            Some(peak) => {
                set_note(&mut fields, check_memory(rate, peak)?.as_deref());
                peak
            }
            None if is_cpu(info) => read_beside(self.device, &self.options)?.max(rate),
            None => return Ok(fields),
        };
        Ok(fields.with("memory_roof_gb_s", roof).with("roofline_percent", 100.0 * rate / roof))
    }
}

/// Returns the bandwidth in GB/s of the fastest of several reads of an array that exceeds all
/// caches.
fn read_beside(device: &dyn Device, options: &Options) -> Result<f64, Failure> {
    const TRIES: u32 = 5;
    let info = device.info();
    let elements = stream_size(info, last_level_cache(info)) / 4;
    let read = MemoryStream {
        pattern: StreamPattern::Read,
        dtype: Dtype::F32,
        elements,
        stores: Stores::Temporal,
    };
    let mut timed = Timed::prepare(device, Operation::Stream(read), options.clone())?;
    let mut best = f64::INFINITY;
    for _ in 0..TRIES {
        best = best.min(timed.sample(1)?);
    }
    Ok(gigabytes_per_second(timed.operation.bytes_moved(), best))
}

/// Returns the name of the model with these blocks, or a note that only the sizes of the blocks
/// match: GPT-2 also has biases.
fn model_name(shape: &Shape) -> Option<&'static str> {
    let like_llama = shape.rotary && shape.norm == NormalizeOp::RmsNorm;
    let is_whole = (shape.layers, shape.vocabulary) == (32, 128_256);
    match (shape.heads, shape.head_dim, shape.kv_heads, shape.mlp, like_llama) {
        (12, 64, 12, Mlp::Gelu, _) => Some("blocks of the sizes of GPT-2"),
        (32, 128, 8, Mlp::SwiGlu, true) if is_whole => Some("Llama 3 8B, its weights at random"),
        (32, 128, 8, Mlp::SwiGlu, true) => Some("blocks of Llama 3 8B"),
        (32, 128, 8, Mlp::SwiGlu, false) => Some("blocks of the sizes of Llama 3 8B"),
        (64, 128, 8, Mlp::SwiGlu, true) => Some("blocks of Llama 3 70B"),
        (64, 128, 8, Mlp::SwiGlu, false) => Some("blocks of the sizes of Llama 3 70B"),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
