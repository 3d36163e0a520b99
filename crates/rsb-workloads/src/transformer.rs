//! A decoder of transformer blocks made of operations that every device has: layer norm, matrix products, softmax, GELU,
//! sums, and rows put into another order for attention and its cache.
//!
//! The blocks are those of GPT-2 without biases: x + attention(norm(x)), then x + GELU(norm(x)·W₁)·W₂; or with what later
//! models changed: heads of queries that share keys and values, and a gated hidden layer. A pass handles `queries` tokens
//! of each sequence at the end of `positions`; keys and values of those before lie in the cache.

mod block;
mod check;
mod reference;

use rsb_device::{Buffer, Device, Kernel, Operation, Options, Stream};
use rsb_model::{Dtype, Reason};

use crate::benchmark::Failure;
use crate::timed::check_time;
use block::Block;

/// What comes after attention in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mlp {
    /// GELU(x·W₁)·W₂, four times as wide as the model.
    Gelu,
    /// (SiLU(x·V)·(x·W₁))·W₂, three and a half times as wide, as in Llama 3.
    SwiGlu,
}

/// Sizes of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) dtype: Dtype,
    pub(crate) layers: u64,
    pub(crate) heads: u64,
    pub(crate) head_dim: u64,
    /// Heads of keys and values, each of which serves as many of queries: a divisor of `heads`.
    pub(crate) kv_heads: u64,
    pub(crate) mlp: Mlp,
    /// Sequences.
    pub(crate) batch: u64,
    /// Tokens of each sequence that this pass handles.
    pub(crate) queries: u64,
    /// Positions of each sequence, those of this pass the last of them.
    pub(crate) positions: u64,
}

impl Shape {
    /// Numbers that stand for a token.
    pub(crate) const fn width(&self) -> u64 {
        self.heads.saturating_mul(self.head_dim)
    }

    /// Numbers of a token's keys, and of its values.
    pub(crate) const fn kv_width(&self) -> u64 {
        self.kv_heads.saturating_mul(self.head_dim)
    }

    /// Numbers of a token in the hidden layer.
    const fn hidden(&self) -> u64 {
        match self.mlp {
            Mlp::Gelu => self.width().saturating_mul(4),
            Mlp::SwiGlu => self.width().saturating_mul(7) / 2,
        }
    }

    /// Tokens handled in a pass.
    pub(crate) const fn tokens(&self) -> u64 {
        self.batch.saturating_mul(self.queries)
    }

    /// Whether a token must be kept from looking at later ones.
    const fn is_masked(&self) -> bool {
        self.queries > 1
    }

    /// Weights of all blocks.
    pub(crate) const fn weights(&self) -> u64 {
        let width = self.width();
        let to_hidden = if matches!(self.mlp, Mlp::SwiGlu) { 3 } else { 2 };
        let of_hidden = self.hidden().saturating_mul(to_hidden);
        let columns = width.saturating_add(self.kv_width()).saturating_mul(2).saturating_add(of_hidden);
        self.layers.saturating_mul(width.saturating_mul(columns.saturating_add(4)))
    }

    /// Keys and values that all blocks keep.
    pub(crate) const fn cached(&self) -> u64 {
        let of_block = self.batch.saturating_mul(self.positions).saturating_mul(self.kv_width()).saturating_mul(2);
        self.layers.saturating_mul(of_block)
    }

    /// Elements of everything that a pass keeps on the device.
    pub(crate) const fn elements(&self) -> u64 {
        let scores = self.batch.saturating_mul(self.heads).saturating_mul(self.queries).saturating_mul(self.positions);
        // The state before, between and after; then what a block calculates, see `block::Room`.
        let states = if self.layers > 1 { 3 } else { 2 };
        let of_token = self.width().saturating_mul(states + 9).saturating_add(self.kv_width().saturating_mul(2));
        let hidden = self.hidden().saturating_mul(if matches!(self.mlp, Mlp::SwiGlu) { 5 } else { 2 });
        let tables = if self.is_masked() { 4 } else { 2 };
        self.weights()
            .saturating_add(self.cached())
            .saturating_add(of_token.saturating_add(hidden).saturating_mul(self.tokens()))
            .saturating_add((tables as u64).saturating_mul(scores))
    }

    /// A small pass of the same kind: it shows whether everything is connected as it should be.
    const fn miniature(&self) -> Self {
        let positions = 6;
        let queries = if self.is_masked() { positions } else { 1 };
        let layers = if self.layers > 1 { 2 } else { 1 };
        let kv_heads = if self.kv_heads < self.heads { 2 } else { 4 };
        Self { layers, heads: 4, kv_heads, head_dim: 8, batch: 2, queries, positions, ..*self }
    }
}

/// One operation of a pass with the buffers that it works on.
struct Stage<'d> {
    operation: Operation,
    buffers: Vec<Buffer>,
    kernel: Box<dyn Kernel + 'd>,
}

/// All blocks on one device, ready.
struct Model<'d> {
    device: &'d dyn Device,
    shape: Shape,
    blocks: Vec<Block>,
    stages: Vec<Stage<'d>>,
    stream: Box<dyn Stream + 'd>,
    input: Buffer,
    output: Buffer,
    /// Elements of all its buffers.
    taken: u64,
}

impl<'d> Model<'d> {
    fn pass(&mut self) -> Result<(), Failure> {
        for stage in &mut self.stages {
            stage.kernel.launch()?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Failure> {
        Ok(self.stream.synchronize()?)
    }

    /// The stages of the last block: what they worked on is still there.
    fn last_block(&self) -> &[Stage<'d>] {
        let of_block = self.stages.len() / self.blocks.len().max(1);
        self.stages.get(self.stages.len() - of_block..).unwrap_or_default()
    }
}

/// A decoder that is verified and can be timed.
pub(crate) struct Decoder<'d> {
    model: Model<'d>,
    /// The largest error that verifying found.
    pub(crate) accuracy_error: f64,
}

impl<'d> Decoder<'d> {
    /// Verifies a small decoder from end to end, then makes the real one and verifies samples of each of its stages.
    pub(crate) fn prepare(device: &'d dyn Device, shape: Shape, options: &Options) -> Result<Self, Failure> {
        if !matches!(shape.dtype, Dtype::F64 | Dtype::F32 | Dtype::F16 | Dtype::Bf16) {
            return Err(Failure::Skipped(Reason::new(
                format!("inference in {}", shape.dtype),
                "layer norm, softmax and GELU of it would lose what they are for, and no operation here widens it for them",
                "choose bf16, f16, f32 or f64",
            )));
        }
        let end_to_end = {
            let mut small = block::model(device, shape.miniature(), options)?;
            small.pass()?;
            small.finish()?;
            check::end_to_end(&small)?
        };
        let mut model = block::model(device, shape, options)?;
        model.pass()?;
        model.finish()?;
        let by_stage = check::stages(&model)?;
        Ok(Self { model, accuracy_error: end_to_end.max(by_stage) })
    }

    /// Exactly `iters` passes; their nanoseconds together.
    pub(crate) fn sample(&mut self, iters: u64) -> Result<f64, Failure> {
        let start = self.model.stream.record()?;
        for _ in 0..iters {
            self.model.pass()?;
        }
        let end = self.model.stream.record()?;
        self.model.finish()?;
        let time = self.model.stream.elapsed_ns(start, end)?;
        check_time(time)?;
        Ok(time)
    }

    /// Bytes of weights, caches and everything between.
    pub(crate) fn bytes(&self) -> u64 {
        self.model.shape.dtype.bytes(self.model.taken)
    }

    /// Operations of one pass.
    pub(crate) fn flops(&self) -> f64 {
        self.model.stages.iter().map(|stage| stage.operation.flops()).sum()
    }

    /// Who makes the matrix products, which take most of the time.
    pub(crate) fn provider(&self) -> String {
        let product = self.model.stages.iter().find(|stage| matches!(stage.operation, Operation::Gemm(_)));
        product.map(|stage| stage.kernel.provider()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_device::scripted::{Fault, Script, ScriptedDevice};

    fn shape(dtype: Dtype, queries: u64, positions: u64) -> Shape {
        let (heads, kv_heads, mlp) = (2, 2, Mlp::Gelu);
        Shape { dtype, layers: 1, heads, head_dim: 4, kv_heads, mlp, batch: 3, queries, positions }
    }

    #[test]
    fn every_kind_of_pass_is_right_from_end_to_end() {
        let device = ScriptedDevice::new(Script::default());
        for dtype in [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16] {
            for (queries, positions, layers) in [(7, 7, 1), (1, 9, 1), (3, 5, 1), (4, 4, 3), (1, 1, 2)] {
                for (heads, kv_heads, mlp) in [(2, 2, Mlp::Gelu), (6, 2, Mlp::SwiGlu), (4, 1, Mlp::SwiGlu)] {
                    let shape = Shape { layers, heads, kv_heads, mlp, ..shape(dtype, queries, positions) };
                    let decoder = Decoder::prepare(&device, shape, &Options::default());
                    assert!(decoder.is_ok(), "{shape:?}: {:?}", decoder.err());
                    let mut model = block::model(&device, shape, &Options::default()).unwrap();
                    model.pass().unwrap();
                    let error = check::end_to_end(&model);
                    assert!(error.is_ok(), "{shape:?}: {error:?}");
                }
            }
        }
    }

    #[test]
    fn what_a_pass_takes_is_what_it_says() {
        for (queries, positions, layers) in [(7, 7, 1), (1, 9, 1), (4, 6, 3)] {
            for (heads, kv_heads, mlp) in [(2, 2, Mlp::Gelu), (6, 2, Mlp::SwiGlu)] {
                let shape = Shape { layers, heads, kv_heads, mlp, ..shape(Dtype::F64, queries, positions) };
                let device = ScriptedDevice::new(Script::default());
                let model = block::model(&device, shape, &Options::default()).unwrap();
                assert_eq!(model.taken, shape.elements(), "{shape:?}");
            }
        }
    }

    #[test]
    fn a_wrong_stage_is_found_wherever_it_is() {
        // A small pass has a stage for each launch; the real one is verified after it.
        let launches = {
            let device = ScriptedDevice::new(Script::default());
            Decoder::prepare(&device, shape(Dtype::F32, 5, 5), &Options::default()).unwrap();
            device.counts().launches
        };
        for launch in 0..launches {
            let device = ScriptedDevice::new(Script::with_fault(Fault::WrongResult { launch }));
            match Decoder::prepare(&device, shape(Dtype::F32, 5, 5), &Options::default()).err() {
                Some(Failure::Failed(reason)) => assert!(reason.what.contains("wrong result"), "{reason}"),
                other => panic!("launch {launch}: {other:?}"),
            }
        }
    }

    #[test]
    fn whole_numbers_are_skipped_with_the_reason() {
        let device = ScriptedDevice::new(Script::default());
        match Decoder::prepare(&device, shape(Dtype::I8, 1, 4), &Options::default()).err() {
            Some(Failure::Skipped(reason)) => assert!(reason.cure.contains("f16"), "{reason}"),
            other => panic!("{other:?}"),
        }
    }
}
