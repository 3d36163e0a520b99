//! Inference by a decoder of transformer blocks with a cache of keys and values, in operations of our own and of the
//! device's BLAS: what a GPU does for language models before any framework is installed.

use rsb_device::{Device, DeviceInfo, Options};
use rsb_model::{DeviceType, Fields, Params, Reason};

use super::{axis, dtype, grid, is_cpu, number, shape, thread_counts};
use crate::axis::{AxisInfo, AxisKind, DTYPE, THREADS};
use crate::benchmark::{Benchmark, Breadth, Failure, Grid, Prepared};
use crate::plausibility::check_compute;
use crate::timed::check_time;
use crate::transformer::{Decoder, Shape};

/// Prefill and decode.
pub(super) struct Inference;

const AXES: &[AxisInfo] = &[
    AxisInfo::value(
        "phase",
        "prefill: every token of a prompt at once; decode: one more token for each sequence",
        AxisKind::Choice(&["prefill", "decode"]),
    ),
    DTYPE,
    AxisInfo::value("heads", "attention heads x length of a head", AxisKind::Shape(2, "12x64")),
    AxisInfo::named("batch_size", "sequences", "1", AxisKind::Count),
    AxisInfo::named(
        "sequence_length",
        "tokens of a prompt, or positions that a token looks at",
        "128",
        AxisKind::Count,
    ),
    AxisInfo::named("layers", "blocks, one after another", "1", AxisKind::Count),
    THREADS,
];

impl Benchmark for Inference {
    fn name(&self) -> &'static str {
        "inference"
    }

    fn about(&self) -> &'static str {
        "Transformer blocks with a cache of keys and values: prefill and decode, tokens a second"
    }

    fn axes(&self) -> &'static [AxisInfo] {
        AXES
    }

    fn grids(&self, breadth: Breadth, device: &DeviceInfo) -> Vec<Grid> {
        let both = || axis("phase", &["prefill", "decode"]);
        let is_gpu = device.device_type == DeviceType::Gpu;
        let usual = if is_gpu { "f16" } else { "f32" };
        // Software that stands for a GPU is slow.
        let small = || axis("heads", &[if is_gpu || is_cpu(device) { "12x64" } else { "4x32" }]);
        // A prompt of the usual length takes a CPU a tenth of a second.
        let glance = axis("sequence_length", &[if is_gpu { "128" } else { "32" }]);
        let mut grids = vec![grid([both(), axis("dtype", &[usual]), small(), glance])];
        if breadth >= Breadth::Standard {
            let other = if is_gpu { "f32" } else { "f16" };
            let types: &[&str] = if is_gpu { &[usual, "bf16", other] } else { &[usual, other] };
            grids.push(grid([both(), axis("dtype", types), small()]));
            grids.push(grid([both(), axis("dtype", &[usual]), small(), axis("batch_size", &["8"])]));
        }
        if breadth == Breadth::Full {
            // What takes a GPU a tenth of a second takes anything else minutes.
            let first = |all: &'static [&'static str]| if is_gpu { all } else { all.get(..2).unwrap_or(all) };
            let lengths = axis("sequence_length", first(&["128", "512", "2048"]));
            let batches = axis("batch_size", first(&["1", "8", "32"]));
            let models = axis("heads", first(&["12x64", "16x64", "32x128"]));
            let types: &[&str] = if is_gpu { &["f32", "f16", "bf16"] } else { &["f32", "f16"] };
            grids.push(grid([both(), axis("dtype", types), models, batches, lengths]));
            grids.push(grid([both(), axis("dtype", &[usual]), small(), axis("layers", &["12"])]));
            if is_cpu(device) {
                grids.push(grid([both(), axis("dtype", &["f32"]), small(), ("threads", thread_counts(device))]));
            }
        }
        grids
    }

    fn footprint_bytes(&self, params: &Params) -> Result<u64, Reason> {
        let shape = sizes(params)?;
        Ok(shape.dtype.bytes(shape.elements().min(u64::MAX / 64)))
    }

    fn prepare<'d>(&self, params: &Params, device: &'d dyn Device) -> Result<Box<dyn Prepared + 'd>, Failure> {
        let shape = sizes(params).map_err(Failure::Skipped)?;
        let threads: u32 = number(params, "threads").map_err(Failure::Skipped)?;
        let options = Options { threads: Some(threads), ..Options::default() };
        let decoder = Decoder::prepare(device, shape, &options)?;
        let phase = params.text("phase").unwrap_or_default().to_owned();
        Ok(Box::new(Case { device, shape, options, decoder, phase }))
    }
}

fn sizes(params: &Params) -> Result<Shape, Reason> {
    let [heads, head_dim] = shape(params, "heads")?;
    let positions: u64 = number(params, "sequence_length")?;
    let queries = if params.text("phase") == Some("decode") { 1 } else { positions };
    if heads == 0 || head_dim == 0 {
        return Err(Reason::new("a decoder without heads", "a size is zero", "choose heads such as 12x64"));
    }
    let (batch, layers) = (number(params, "batch_size")?, number(params, "layers")?);
    Ok(Shape { dtype: dtype(params)?, layers, heads, head_dim, batch, queries, positions })
}

struct Case<'d> {
    device: &'d dyn Device,
    shape: Shape,
    options: Options,
    decoder: Decoder<'d>,
    phase: String,
}

impl Prepared for Case<'_> {
    fn sample(&mut self, iters: u64) -> Result<f64, Failure> {
        self.decoder.sample(iters)
    }

    fn fields(&mut self, time_ns: f64) -> Result<Fields, Failure> {
        check_time(time_ns)?;
        let Shape { dtype, layers, heads, head_dim, batch, positions, .. } = self.shape;
        let gflops = self.decoder.flops() / time_ns;
        check_compute(gflops, self.device, dtype, &self.options)?;
        let mut fields = Fields::new().with("operation", self.phase.clone()).with("dtype", dtype.as_str());
        fields.set("provider", self.decoder.provider());
        if is_cpu(self.device.info()) {
            fields.set("threads", self.options.threads.unwrap_or(1));
        }
        for (name, size) in [
            ("batch_size", batch),
            ("sequence_length", positions),
            ("num_heads", heads),
            ("head_dim", head_dim),
            ("num_layers", layers),
            ("parameter_count", self.shape.weights()),
        ] {
            fields.set(name, size);
        }
        // Of GPT-2 without biases, and without what turns words into numbers.
        fields.set("architecture_type", "transformer-decoder");
        fields.set("model_size_gb", dtype.bytes(self.shape.weights()) as f64 / 1e9);
        fields.set("init", "random uniform, scaled so that every stage keeps the size of its numbers");
        fields.set("accuracy_error", self.decoder.accuracy_error);
        fields.set("time_ms", time_ns / 1e6);
        fields.set("forward_time_ms", time_ns / 1e6);
        fields.set("tokens_per_second", self.shape.tokens() as f64 / (time_ns / 1e9));
        fields.set("gflops", gflops);
        fields.set("tflops", gflops / 1e3);
        fields.set("memory_used_mb", self.decoder.bytes() as f64 / 1e6);
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_device::scripted::{Script, ScriptedDevice};

    fn params(phase: &str) -> Params {
        let params = Params::new().with("phase", phase).with("dtype", "f32").with("heads", "2x8");
        params.with("batch_size", "3").with("sequence_length", "10").with("layers", "1").with("threads", "1")
    }

    #[test]
    fn prefill_handles_the_whole_prompt_and_decode_one_token_of_each_sequence() {
        let device = ScriptedDevice::new(Script::default());
        for (phase, tokens) in [("prefill", 30.0), ("decode", 3.0)] {
            let mut prepared = Inference.prepare(&params(phase), &device).unwrap();
            let fields = prepared.fields(1e6).unwrap();
            assert!((fields.number("tokens_per_second").unwrap() - tokens * 1e3).abs() < 1e-6);
            assert_eq!((fields.text("operation"), fields.number("sequence_length")), (Some(phase), Some(10.0)));
            // 12 squares of the width, and four rows of it.
            assert_eq!(fields.number("parameter_count"), Some(12.0 * 256.0 + 64.0));
            let bytes = Inference.footprint_bytes(&params(phase)).unwrap() as f64;
            assert!((fields.number("memory_used_mb").unwrap() - bytes / 1e6).abs() < 1e-9);
        }
    }

    #[test]
    fn absurd_sizes_are_refused_for_want_of_memory_and_do_not_overflow() {
        let huge = params("prefill").with("heads", "4294967295x4294967295").with("sequence_length", "4000000000");
        assert!(Inference.footprint_bytes(&huge).unwrap() > 1 << 50);
    }
}
