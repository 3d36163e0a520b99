//! A decoder of transformer blocks, built from operations that every device supports: layer norm,
//! matrix products, softmax, GELU, sums, and reordering of rows for attention and its cache.
//! Attention consists of these operations, or is a single fused one.
//!
//! The blocks are those of GPT-2 without biases: x + attention(norm(x)), then x +
//! GELU(norm(x)·W₁)·W₂; or variants of later models: RMS norm, rotary positions, query heads that
//! share keys and values, and a gated hidden layer. A pass processes the last `queries` tokens of
//! `positions` in each sequence; keys and values of earlier positions are in the cache. Passes may
//! follow one another, each with the next token, which the cache then includes.

mod block;
mod check;
mod matrix;
mod reference;

use rsb_device::operation::{LaunchMode, NormalizeOp, Role};
use rsb_device::reference::mark_unwritten;
use rsb_device::{Buffer, Device, Kernel, Operation, Options, Stream};
use rsb_model::{Dtype, Reason};

use crate::accuracy::Accuracy;
use crate::benchmark::Failure;
use crate::timed::check_time;
use block::{Block, Words};
pub(crate) use matrix::GROUP;

/// Hidden layer of a block, after attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mlp {
    /// GELU(x·W₁)·W₂, four times as wide as the model.
    Gelu,
    /// (SiLU(x·V)·(x·W₁))·W₂, three and a half times as wide, as in Llama 3.
    SwiGlu,
}

/// Dimensions of consecutive passes; `queries` and `positions` are those of the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) dtype: Dtype,
    pub(crate) layers: u64,
    pub(crate) heads: u64,
    pub(crate) head_dim: u64,
    /// Heads of keys and values, each shared by the same number of query heads: a divisor of
    /// `heads`.
    pub(crate) kv_heads: u64,
    pub(crate) mlp: Mlp,
    /// Layer norm or RMS norm.
    pub(crate) norm: NormalizeOp,
    /// Whether queries and keys are rotated by their positions.
    pub(crate) rotary: bool,
    /// Vocabulary size: adds an embedding table before the first block and a head after the last.
    /// Neither exists if it is zero.
    pub(crate) vocabulary: u64,
    /// Sequences.
    pub(crate) batch: u64,
    /// Tokens per sequence in a pass.
    pub(crate) queries: u64,
    /// Positions per sequence; those of this pass are the last.
    pub(crate) positions: u64,
    /// Number of passes, each with one more position; several passes have a single query each.
    pub(crate) steps: u64,
    /// Whether attention is a fused kernel that writes no scores.
    pub(crate) fused: bool,
    /// Weight type of products, i8 or i4, if different from the type of all other data.
    pub(crate) narrow: Option<Dtype>,
}

impl Shape {
    /// Returns the dimensions of the remaining passes after `steps` passes.
    pub(crate) const fn after(&self, steps: u64) -> Self {
        Self { positions: self.positions + steps, steps: self.steps - steps, ..*self }
    }

    /// Returns the capacity of the cache in positions: those of the last pass.
    const fn capacity(&self) -> u64 {
        self.positions.saturating_add(self.steps - 1)
    }

    /// Returns the elements per token.
    pub(crate) const fn width(&self) -> u64 {
        self.heads.saturating_mul(self.head_dim)
    }

    /// Returns the elements of a token's keys, and of its values.
    pub(crate) const fn kv_width(&self) -> u64 {
        self.kv_heads.saturating_mul(self.head_dim)
    }

    /// Returns the elements per token in the hidden layer.
    const fn hidden(&self) -> u64 {
        match self.mlp {
            Mlp::Gelu => self.width().saturating_mul(4),
            Mlp::SwiGlu => self.width().saturating_mul(7) / 2,
        }
    }

    /// Returns the tokens per pass.
    pub(crate) const fn tokens(&self) -> u64 {
        self.batch.saturating_mul(self.queries)
    }

    /// Returns whether later tokens must be masked.
    const fn is_masked(&self) -> bool {
        self.queries > 1
    }

    /// Returns cosine and sine for pair `pair` of a head at `position`, as in Llama 3: the first
    /// pair rotates by one radian per position, later ones more slowly.
    fn turn(&self, position: u64, pair: u64) -> (f64, f64) {
        const BASE: f64 = 500_000.0;
        let angle = position as f64 * BASE.powf(-((2 * pair) as f64) / self.head_dim as f64);
        (angle.cos(), angle.sin())
    }

    /// Returns the number of weight rows of a norm: its inputs except the first, which is the
    /// normalized data.
    const fn norm_rows(&self) -> u64 {
        self.norm.inputs() as u64 - 1
    }

    /// Returns the number of weights in all blocks and, with a vocabulary, in the embedding table,
    /// the last norm and the head.
    pub(crate) const fn weights(&self) -> u64 {
        let width = self.width();
        let words = if self.vocabulary > 0 {
            self.vocabulary.saturating_mul(2).saturating_add(self.norm_rows())
        } else {
            0
        };
        let rows = 2 * self.norm_rows();
        let to_hidden = if matches!(self.mlp, Mlp::SwiGlu) { 3 } else { 2 };
        let of_hidden = self.hidden().saturating_mul(to_hidden);
        let columns =
            width.saturating_add(self.kv_width()).saturating_mul(2).saturating_add(of_hidden);
        self.layers
            .saturating_mul(columns.saturating_add(rows))
            .saturating_add(words)
            .saturating_mul(width)
    }

    /// Returns the number of weights that a pass reads, counting one row of the embedding table per
    /// token.
    pub(crate) const fn weights_read(&self) -> u64 {
        let rows = if self.vocabulary > 0 { self.tokens() } else { 0 };
        let table = self.vocabulary.saturating_mul(self.width());
        self.weights().saturating_sub(table).saturating_add(rows.saturating_mul(self.width()))
    }

    /// Returns rows and columns of the weight matrices: those of all blocks, and of the head.
    fn matrices(&self) -> impl Iterator<Item = (u64, u64)> {
        let (width, kv_width, hidden) = (self.width(), self.kv_width(), self.hidden());
        let gate = if self.mlp == Mlp::SwiGlu { hidden } else { 0 };
        let of_block = [(width, width), (kv_width, width), (kv_width, width), (width, width)];
        let of_hidden = [(hidden, width), (width, hidden), (gate, width)];
        let all = of_block
            .into_iter()
            .chain(of_hidden)
            .map(|(rows, columns)| (rows.saturating_mul(self.layers), columns));
        all.chain([(self.vocabulary, width)])
    }

    /// Returns the bytes that quantized weights, including their scales, save compared with weights
    /// in the type of all other data.
    fn bytes_saved(&self) -> u64 {
        let mut saved = 0_u64;
        for (rows, columns) in self.matrices() {
            let narrow = matrix::quantized_product(*self, 1, rows, columns)
                .map_or(0, |op| op.weight_bytes());
            if narrow != 0 {
                let elements = rows.saturating_mul(columns);
                saved = saved.saturating_add(self.bytes_of(elements, narrow));
            }
        }
        saved
    }

    /// Returns the bytes of `elements` elements, less the bytes `saved` by quantized weights.
    /// Saturates if the size exceeds any memory.
    fn bytes_of(&self, elements: u64, saved: u64) -> u64 {
        const MOST: u64 = u64::MAX / 64;
        let all = self.dtype.bytes(elements.min(MOST));
        if elements > MOST { all } else { all.saturating_sub(saved) }
    }

    /// Returns the bytes of all weights.
    pub(crate) fn weight_bytes(&self) -> u64 {
        self.bytes_of(self.weights(), self.bytes_saved())
    }

    /// Returns the bytes of weights, keys and values that all passes read.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.bytes_of(self.elements_read(), self.bytes_saved().saturating_mul(self.steps))
    }

    /// Returns the bytes of all buffers of the passes on the device.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes_of(self.elements(), self.bytes_saved())
    }

    /// Returns the number of elements that take as many bytes as `count` 64-bit indices.
    const fn of_indices(&self, count: u64) -> u64 {
        count.saturating_mul(64 / self.dtype.bits())
    }

    /// Returns the elements used before the first block and after the last: embeddings, indices of
    /// the last tokens, the last tokens before and after the norm, logits.
    const fn of_words(&self) -> u64 {
        if self.vocabulary == 0 {
            return 0;
        }
        let picked =
            if self.is_masked() { self.of_indices(1).saturating_add(self.width()) } else { 0 };
        let last = picked.saturating_add(self.width()).saturating_add(self.vocabulary);
        self.tokens().saturating_mul(self.width()).saturating_add(self.batch.saturating_mul(last))
    }

    /// Returns the elements of the input of a pass: tokens, or indices of their words.
    const fn of_input(&self) -> u64 {
        let tokens = self.tokens();
        if self.vocabulary > 0 {
            self.of_indices(tokens)
        } else {
            tokens.saturating_mul(self.width())
        }
    }

    /// Returns the elements of keys and values for `positions` in all blocks.
    const fn cached_elements(&self, positions: u64) -> u64 {
        let of_block =
            self.batch.saturating_mul(positions).saturating_mul(self.kv_width()).saturating_mul(2);
        self.layers.saturating_mul(of_block)
    }

    /// Returns the weights, keys and values that all passes read, in elements.
    fn elements_read(&self) -> u64 {
        (0..self.steps)
            .map(|step| self.weights_read() + self.cached_elements(self.positions + step))
            .sum()
    }

    /// Returns the elements of all buffers of the passes on the device.
    const fn elements(&self) -> u64 {
        let capacity = self.capacity();
        let scores = self
            .batch
            .saturating_mul(self.heads)
            .saturating_mul(self.queries)
            .saturating_mul(capacity);
        // States between and after the blocks, then the buffers of a block; see `block::Scratch`.
        let states = if self.layers > 1 { 2 } else { 1 };
        let of_token = self
            .width()
            .saturating_mul(states + 9)
            .saturating_add(self.kv_width().saturating_mul(2));
        let hidden =
            self.hidden().saturating_mul(if matches!(self.mlp, Mlp::SwiGlu) { 5 } else { 2 });
        let tables = if self.fused {
            0
        } else if self.is_masked() {
            4
        } else {
            2
        };
        let angles = if self.rotary { self.queries.saturating_mul(self.head_dim) } else { 0 };
        self.weights()
            .saturating_add(self.cached_elements(capacity))
            .saturating_add(angles.saturating_add(self.of_input()).saturating_mul(self.steps))
            .saturating_add(self.of_words())
            .saturating_add(of_token.saturating_add(hidden).saturating_mul(self.tokens()))
            .saturating_add((tables as u64).saturating_mul(scores))
    }

    /// Returns small passes of the same kind, which show whether all stages are connected
    /// correctly.
    const fn miniature(&self) -> Self {
        let positions = 6;
        let queries = if self.is_masked() { positions } else { 1 };
        let layers = if self.layers > 1 { 2 } else { 1 };
        let kv_heads = if self.kv_heads < self.heads { 2 } else { 4 };
        let vocabulary = if self.vocabulary > 0 { 20 } else { 0 };
        let steps = if self.steps > 3 { 3 } else { self.steps };
        // Rows of quantized weights must consist of whole vectors.
        let head_dim = if self.narrow.is_some() { 16 } else { 8 };
        Self {
            layers,
            heads: 4,
            kv_heads,
            head_dim,
            vocabulary,
            batch: 2,
            queries,
            positions,
            steps,
            ..*self
        }
    }
}

/// One operation of a pass with its buffers.
struct Stage {
    operation: Operation,
    buffers: Vec<Buffer>,
    /// See [`Kernel::sums_in`].
    sums_in: Option<Dtype>,
}

impl Stage {
    /// Overwrites its outputs with NaN until the next launch.
    fn spoil(&self, device: &dyn Device) -> Result<(), Failure> {
        let written = self.operation.buffers().into_iter().zip(&self.buffers);
        for (_, buffer) in written.filter(|(spec, _)| spec.role == Role::Output) {
            mark_unwritten(device, buffer)?;
        }
        Ok(())
    }
}

/// A pass of tokens through all blocks.
struct Pass<'d> {
    /// Dimensions of the remaining passes, of which this is the first.
    shape: Shape,
    /// Tokens or, with a vocabulary, word indices.
    input: Buffer,
    output: Buffer,
    stages: Vec<Stage>,
    /// One kernel per stage, or one graph of all stages.
    kernels: Vec<Box<dyn Kernel + 'd>>,
    /// The first stage of the last block.
    last_block: usize,
}

impl Pass<'_> {
    fn launch(&mut self) -> Result<(), Failure> {
        for kernel in &mut self.kernels {
            kernel.launch()?;
        }
        Ok(())
    }

    /// Returns the stages whose buffers are still intact after the pass: the embedding lookup, the
    /// last block and the stages after it.
    fn retained_stages(&self) -> impl Iterator<Item = &Stage> {
        let before = usize::from(self.shape.vocabulary > 0);
        self.stages
            .iter()
            .take(before)
            .chain(self.stages.get(self.last_block..).unwrap_or_default())
    }
}

/// All blocks on one device and the prepared passes through them.
struct Model<'d> {
    device: &'d dyn Device,
    shape: Shape,
    blocks: Vec<Block>,
    words: Option<Words>,
    passes: Vec<Pass<'d>>,
    stream: Box<dyn Stream + 'd>,
    /// Bytes of all buffers.
    taken: u64,
}

impl Model<'_> {
    /// Returns the provider of the matrix products; must be called before passes are captured as
    /// graphs.
    fn provider(&self) -> String {
        for pass in &self.passes {
            for (stage, kernel) in pass.stages.iter().zip(&pass.kernels) {
                if matches!(stage.operation, Operation::Gemm(_) | Operation::Quantized(_)) {
                    return kernel.provider();
                }
            }
        }
        String::new()
    }

    /// Converts each pass to a graph. All are launched once before, since the initialization of a
    /// library at its first call cannot be recorded.
    fn capture(&mut self) -> Result<(), Failure> {
        self.passes.iter_mut().try_for_each(Pass::launch)?;
        self.stream.synchronize()?;
        for pass in &mut self.passes {
            pass.kernels = vec![self.device.record(std::mem::take(&mut pass.kernels))?];
        }
        Ok(())
    }

    /// Overwrites all outputs of the passes with NaN, so that earlier results cannot pass
    /// verification.
    fn spoil(&self) -> Result<(), Failure> {
        let mut stages = self.passes.iter().flat_map(|pass| &pass.stages);
        stages.try_for_each(|stage| stage.spoil(self.device))
    }

    /// Runs each pass, waits for it, and calls `check` on it.
    fn check_passes(
        &mut self,
        check: &mut dyn FnMut(&Self, &Pass<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        for step in 0..self.passes.len() {
            if let Some(pass) = self.passes.get_mut(step) {
                pass.launch()?;
            }
            self.stream.synchronize()?;
            if let Some(pass) = self.passes.get(step) {
                check(self, pass)?;
            }
        }
        Ok(())
    }
}

/// A verified decoder, ready to be timed.
pub(crate) struct Decoder<'d> {
    model: Model<'d>,
    /// Largest error found in verification relative to its limit.
    pub(crate) accuracy: Accuracy,
    /// Provider of the matrix products, which take most of the time.
    pub(crate) provider: String,
}

impl<'d> Decoder<'d> {
    /// Verifies a small decoder end to end, then prepares the real one and verifies samples of each
    /// of its stages. Both are launched in the mode to be timed.
    pub(crate) fn prepare(
        device: &'d dyn Device,
        shape: Shape,
        mode: LaunchMode,
        options: &Options,
    ) -> Result<Self, Failure> {
        if !matches!(shape.dtype, Dtype::F64 | Dtype::F32 | Dtype::F16 | Dtype::Bf16) {
            return Err(Failure::Skipped(Reason::new(
                format!("inference in {}", shape.dtype),
                "layer norm, softmax and GELU lose too much precision in it, and no operation of \
                 this program widens it",
                "choose bf16, f16, f32 or f64",
            )));
        }
        let (mut small, _) = spoiled_model(device, shape.miniature(), mode, options)?;
        let end_to_end = check::end_to_end(&mut small)?;
        drop(small);
        let (mut model, provider) = spoiled_model(device, shape, mode, options)?;
        let by_stage = check::stages(&mut model)?;
        Ok(Self { model, accuracy: end_to_end.worst(by_stage), provider })
    }

    /// Runs all passes exactly `iters` times and returns the total time in nanoseconds.
    pub(crate) fn sample(&mut self, iters: u64) -> Result<f64, Failure> {
        let start = self.model.stream.record()?;
        for _ in 0..iters {
            self.model.passes.iter_mut().try_for_each(Pass::launch)?;
        }
        let end = self.model.stream.record()?;
        self.model.stream.synchronize()?;
        let time = self.model.stream.elapsed_ns(start, end)?;
        check_time(time)?;
        Ok(time)
    }

    /// Returns the bytes of weights, caches and all other buffers.
    pub(crate) fn bytes(&self) -> u64 {
        self.model.taken
    }

    /// Returns the number of operations of all passes.
    pub(crate) fn flops(&self) -> f64 {
        self.model
            .passes
            .iter()
            .flat_map(|pass| &pass.stages)
            .map(|stage| stage.operation.flops())
            .sum()
    }
}

/// Returns a model with outputs set to NaN, and the provider of its products.
fn spoiled_model<'d>(
    device: &'d dyn Device,
    shape: Shape,
    mode: LaunchMode,
    options: &Options,
) -> Result<(Model<'d>, String), Failure> {
    let mut model = block::model(device, shape, options)?;
    let provider = model.provider();
    if mode == LaunchMode::Graph {
        model.capture()?;
    }
    model.spoil()?;
    Ok((model, provider))
}

#[cfg(test)]
mod tests;
