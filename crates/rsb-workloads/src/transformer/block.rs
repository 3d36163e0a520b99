//! Structure of a block: its buffers, its stages and its initial data.

use rsb_device::operation::{
    Attention, Elementwise, ElementwiseOp, Gather, Gemm, Normalize, NormalizeOp, OutputWidth,
    QuantizedProduct, Rearrange,
};
use rsb_device::random::{Distribution, Values};
use rsb_device::{Buffer, Device, Kernel, Operation, Options, convert};
use rsb_model::Dtype;

use super::matrix::{Matrix, quantize};
use super::{Mlp, Model, Pass, Shape, Stage};
use crate::benchmark::Failure;
use crate::timed::SEED;

/// Value added to scores of masked positions: far below any score, but finite in f16.
const MASKED: f64 = -30_000.0;

/// Elements written at once.
const CHUNK: u64 = 1 << 15;

/// Weights of a block, and its cache.
pub(super) struct Block {
    /// Gain and, for layer norm, bias of both norms.
    pub(super) norms: [Vec<Buffer>; 2],
    /// Matrices for queries, keys, values, and the output of attention.
    pub(super) attention: [Matrix; 4],
    pub(super) hidden: [Matrix; 2],
    /// Matrix of the gate, if the hidden layer has one.
    pub(super) gate: Option<Matrix>,
    pub(super) keys: Buffer,
    pub(super) values: Buffer,
}

/// Embedding table and output head.
pub(super) struct Words {
    pub(super) table: Buffer,
    /// Weights of the norm after the last block.
    pub(super) norm: Vec<Buffer>,
    /// One row per word.
    pub(super) head: Matrix,
    /// Embedded tokens.
    tokens: Buffer,
    /// Indices of the last tokens and the tokens themselves, if sequences have several.
    last: Option<[Buffer; 2]>,
    /// Last tokens after the norm.
    normed: Buffer,
    logits: Buffer,
}

/// Buffers for intermediate results, shared by all blocks. Within a block no buffer is reused, so
/// that each stage can be verified after the pass.
struct Scratch {
    normed: Buffer,
    /// Queries, keys and values by token, then the queries by head.
    projected: [Buffer; 3],
    queries: Buffer,
    /// Cosines and sines for the positions of a pass, if queries and keys are rotated.
    angles: Option<Buffer>,
    /// Buffers of staged attention.
    staged: Option<Staged>,
    /// Attention output by head and by token.
    attended: [Buffer; 2],
    /// Results of attention's last product and of the residual sum.
    between: [Buffer; 2],
    normed_again: Buffer,
    hidden: [Buffer; 2],
    /// Projected gate, its sigmoid, and the product of both.
    gate: Option<[Buffer; 3]>,
    narrowed: Buffer,
}

/// Scores of every query and position in staged attention.
struct Staged {
    scores: Buffer,
    /// Mask and masked scores, if later positions must be masked.
    masked: Option<[Buffer; 2]>,
    shares: Buffer,
}

/// Builds a model with all its weights, filled from the seed.
pub(super) fn model<'d>(
    device: &'d dyn Device,
    shape: Shape,
    options: &Options,
) -> Result<Model<'d>, Failure> {
    let mut builder = Builder {
        device,
        shape,
        options,
        stages: Vec::new(),
        kernels: Vec::new(),
        filled: 0,
        taken: 0,
    };
    let words = if shape.vocabulary > 0 { Some(builder.words()?) } else { None };
    let inputs = (0..shape.steps).map(|step| builder.input(step)).collect::<Result<Vec<_>, _>>()?;
    let mut room = builder.room()?;
    let rows = shape.tokens() * shape.width();
    let states =
        (0..shape.layers.min(2)).map(|_| builder.empty(rows)).collect::<Result<Vec<_>, _>>()?;
    let blocks = (0..shape.layers).map(|_| builder.block()).collect::<Result<Vec<_>, _>>()?;
    let mut passes = Vec::new();
    for (step, input) in (0..).zip(inputs) {
        builder.shape = shape.after(step);
        room.angles = if shape.rotary { Some(builder.angles()?) } else { None };
        passes.push(builder.pass(input, &blocks, words.as_ref(), &room, &states)?);
    }
    let taken = builder.taken;
    Ok(Model { device, shape, blocks, words, passes, stream: device.stream()?, taken })
}

fn range(start: u64, count: usize) -> std::ops::Range<u64> {
    start..start + count as u64
}

struct Builder<'b, 'd> {
    device: &'d dyn Device,
    /// Dimensions at the pass being built.
    shape: Shape,
    options: &'b Options,
    stages: Vec<Stage>,
    kernels: Vec<Box<dyn Kernel + 'd>>,
    /// Number of buffers filled so far, used to give each different numbers.
    filled: usize,
    /// Bytes allocated.
    taken: u64,
}

impl<'d> Builder<'_, 'd> {
    #[inline(never)] // Called in two dozen places.
    fn empty(&mut self, elements: u64) -> Result<Buffer, Failure> {
        self.allocate(self.shape.dtype.bytes(elements))
    }

    fn allocate(&mut self, bytes: u64) -> Result<Buffer, Failure> {
        self.taken += bytes;
        Ok(self.device.allocate(bytes)?)
    }

    /// Allocates a buffer of random numbers within `scale` of `middle`.
    #[inline(never)] // Called in a dozen places.
    fn fill_random(&mut self, elements: u64, middle: f64, scale: f64) -> Result<Buffer, Failure> {
        let mut numbers = self.numbers(middle, scale);
        self.fill_with(elements, &mut numbers)
    }

    /// Returns a generator of random numbers in f32 or f64, which are rounded only when written.
    /// Each call of this function yields different numbers.
    fn numbers(&mut self, middle: f64, scale: f64) -> impl FnMut(u64, usize) -> Vec<f64> + use<> {
        let values = Values::new(SEED, self.filled, Distribution::Signed);
        self.filled += 1;
        let source = if self.shape.dtype == Dtype::F64 { Dtype::F64 } else { Dtype::F32 };
        let mut numbers = Vec::new();
        move |start, count| {
            numbers.resize(count, 0.0);
            convert::rounded_values(source, &values, start, &mut numbers);
            numbers.iter().map(|&value| middle + value * scale).collect()
        }
    }

    /// Allocates a buffer filled by `numbers`, which receives a start and a count.
    fn fill_with(
        &mut self,
        elements: u64,
        numbers: &mut dyn FnMut(u64, usize) -> Vec<f64>,
    ) -> Result<Buffer, Failure> {
        let (buffer, dtype) = (self.empty(elements)?, self.shape.dtype);
        for start in (0..elements).step_by(CHUNK as usize) {
            let part = numbers(start, (elements - start).min(CHUNK) as usize);
            self.device.write(&buffer, dtype.bytes(start), &convert::encode(dtype, &part))?;
        }
        Ok(buffer)
    }

    /// Allocates a matrix that preserves the magnitude of its input: variance 1 stays 1.
    fn matrix(&mut self, rows: u64, columns: u64) -> Result<Matrix, Failure> {
        let scale = (3.0 / columns as f64).sqrt();
        let Some(op) = super::matrix::quantized_product(self.shape, 1, rows, columns) else {
            let weights = self.fill_random(rows * columns, 0.0, scale)?;
            return Ok(Matrix { weights, scales: None, rows, columns });
        };
        op.check()?;
        let mut numbers = self.numbers(0.0, scale);
        let (bytes, groups) = (op.row_bytes(), QuantizedProduct::SCALE.bytes(op.groups()));
        let (weights, scales) = (self.allocate(rows * bytes)?, self.allocate(rows * groups)?);
        // Processes whole rows, so that no group is split.
        let at_once = CHUNK.div_ceil(columns);
        for first in (0..rows).step_by(at_once as usize) {
            let count = at_once.min(rows - first);
            let part = numbers(first * columns, (count * columns) as usize);
            let (packed, of_groups) = quantize(op.weights, columns, &part);
            self.device.write(&weights, first * bytes, &packed)?;
            self.device.write(
                &scales,
                first * groups,
                &convert::encode(QuantizedProduct::SCALE, &of_groups),
            )?;
        }
        Ok(Matrix { weights, scales: Some(scales), rows, columns })
    }

    fn block(&mut self) -> Result<Block, Failure> {
        let shape = self.shape;
        let (width, kv_width, hidden) = (shape.width(), shape.kv_width(), shape.hidden());
        let cache = shape.batch * shape.capacity() * kv_width;
        Ok(Block {
            norms: [self.norm()?, self.norm()?],
            attention: [
                self.matrix(width, width)?,
                self.matrix(kv_width, width)?,
                self.matrix(kv_width, width)?,
                self.matrix(width, width)?,
            ],
            hidden: [self.matrix(hidden, width)?, self.matrix(width, hidden)?],
            gate: if shape.mlp == Mlp::SwiGlu { Some(self.matrix(hidden, width)?) } else { None },
            keys: self.fill_random(cache, 0.0, 3.0_f64.sqrt())?,
            values: self.fill_random(cache, 0.0, 3.0_f64.sqrt())?,
        })
    }

    fn norm(&mut self) -> Result<Vec<Buffer>, Failure> {
        let width = self.shape.width();
        let mut all = vec![self.fill_random(width, 1.0, 0.25)?];
        if self.shape.norm == NormalizeOp::LayerNorm {
            all.push(self.fill_random(width, 0.0, 0.125)?);
        }
        Ok(all)
    }

    fn words(&mut self) -> Result<Words, Failure> {
        let Shape { batch, queries, vocabulary, .. } = self.shape;
        let (width, several) = (self.shape.width(), self.shape.is_masked());
        Ok(Words {
            table: self.fill_random(vocabulary * width, 0.0, 1.0)?,
            norm: self.norm()?,
            head: self.matrix(vocabulary, width)?,
            tokens: self.empty(self.shape.tokens() * width)?,
            last: if several {
                let last = self.indices(batch, |sequence| (sequence + 1) * queries - 1)?;
                Some([last, self.empty(batch * width)?])
            } else {
                None
            },
            normed: self.empty(batch * width)?,
            logits: self.empty(batch * vocabulary)?,
        })
    }

    /// Allocates the tokens of pass `step`, or the indices of their words. They are random, so that
    /// no pass depends on previous output.
    fn input(&mut self, step: u64) -> Result<Buffer, Failure> {
        let Shape { dtype, vocabulary: of, .. } = self.shape;
        let (width, rows) = (self.shape.width(), self.shape.tokens());
        let words = Gather { dtype, of, rows, width };
        if of == 0 {
            return self.fill_random(rows * width, 0.0, 1.0);
        }
        self.indices(rows, |token| words.index(SEED, step * rows + token))
    }

    fn indices(&mut self, count: u64, of: impl Fn(u64) -> u64) -> Result<Buffer, Failure> {
        let buffer = self.allocate(8 * count)?;
        let bytes: Vec<u8> = (0..count).flat_map(|index| of(index).to_le_bytes()).collect();
        self.device.write(&buffer, 0, &bytes)?;
        Ok(buffer)
    }

    /// Builds a pass through all blocks, including embedding and head if there is a vocabulary.
    fn pass(
        &mut self,
        input: Buffer,
        blocks: &[Block],
        words: Option<&Words>,
        room: &Scratch,
        states: &[Buffer],
    ) -> Result<Pass<'d>, Failure> {
        let (shape, mut last_block, mut output) = (self.shape, 0, input.clone());
        if let Some(words) = words {
            self.gather(shape.vocabulary, shape.tokens(), [&words.table, &input, &words.tokens])?;
            output = words.tokens.clone();
        }
        // The input is not overwritten, so that each iteration does the same work; the other
        // buffers alternate.
        for (block, next) in blocks.iter().zip(states.iter().cycle()) {
            last_block = self.stages.len();
            self.wire(block, room, &output, next)?;
            output = next.clone();
        }
        if let Some(words) = words {
            self.tell(words, &output)?;
            output = words.logits.clone();
        }
        let (stages, kernels) =
            (std::mem::take(&mut self.stages), std::mem::take(&mut self.kernels));
        Ok(Pass { shape, input, output, stages, kernels, last_block })
    }

    /// Adds a stage that gathers `rows` rows by index from x, which has `of` rows.
    fn gather(&mut self, of: u64, rows: u64, buffers: [&Buffer; 3]) -> Result<(), Failure> {
        let (dtype, width) = (self.shape.dtype, self.shape.width());
        self.stage(Operation::Gather(Gather { dtype, of, rows, width }), &buffers)
    }

    /// Adds stages for the logits of the last token of each sequence, the only ones needed for the
    /// next token.
    fn tell(&mut self, words: &Words, states: &Buffer) -> Result<(), Failure> {
        let batch = self.shape.batch;
        let mut tokens = states;
        if let Some([indices, last]) = &words.last {
            self.gather(self.shape.tokens(), batch, [states, indices, last])?;
            tokens = last;
        }
        self.normalize(batch, &words.norm, tokens, &words.normed)?;
        self.project(batch, &words.head, &words.normed, &words.logits)
    }

    fn room(&mut self) -> Result<Scratch, Failure> {
        let shape = self.shape;
        let rows = shape.tokens() * shape.width();
        let (kv_rows, hidden) =
            (shape.tokens() * shape.kv_width(), shape.tokens() * shape.hidden());
        let gated = shape.mlp == Mlp::SwiGlu;
        Ok(Scratch {
            normed: self.empty(rows)?,
            projected: [self.empty(rows)?, self.empty(kv_rows)?, self.empty(kv_rows)?],
            queries: self.empty(rows)?,
            angles: None,
            staged: if shape.fused { None } else { Some(self.attention_scores()?) },
            attended: [self.empty(rows)?, self.empty(rows)?],
            between: [self.empty(rows)?, self.empty(rows)?],
            normed_again: self.empty(rows)?,
            hidden: [self.empty(hidden)?, self.empty(hidden)?],
            gate: if gated {
                Some([self.empty(hidden)?, self.empty(hidden)?, self.empty(hidden)?])
            } else {
                None
            },
            narrowed: self.empty(rows)?,
        })
    }

    fn attention_scores(&mut self) -> Result<Staged, Failure> {
        let scores =
            self.shape.batch * self.shape.heads * self.shape.queries * self.shape.capacity();
        let masked = if self.shape.is_masked() {
            Some([self.mask(scores)?, self.empty(scores)?])
        } else {
            None
        };
        Ok(Staged { masked, scores: self.empty(scores)?, shares: self.empty(scores)? })
    }

    /// Allocates the table with cosine and sine for each pair of a head, one row per position of
    /// this pass.
    fn angles(&mut self) -> Result<Buffer, Failure> {
        let shape = self.shape;
        self.fill_with(shape.queries * shape.head_dim, &mut |start, count| {
            let mut numbers = Vec::with_capacity(count);
            for index in range(start, count) {
                let position = shape.positions - shape.queries + index / shape.head_dim;
                let (cosine, sine) = shape.turn(position, index % shape.head_dim / 2);
                numbers.push(if index.is_multiple_of(2) { cosine } else { sine });
            }
            numbers
        })
    }

    /// Allocates the mask: zero for visible positions, a large negative value for positions after
    /// the token.
    fn mask(&mut self, scores: u64) -> Result<Buffer, Failure> {
        let Shape { queries, positions, .. } = self.shape;
        self.fill_with(scores, &mut |start, count| {
            let mut numbers = Vec::with_capacity(count);
            for index in range(start, count) {
                let (query, position) = (index / positions % queries, index % positions);
                numbers.push(if position > positions - queries + query { MASKED } else { 0.0 });
            }
            numbers
        })
    }

    fn stage(&mut self, operation: Operation, buffers: &[&Buffer]) -> Result<(), Failure> {
        let buffers: Vec<Buffer> = buffers.iter().map(|&buffer| buffer.clone()).collect();
        let kernel = self.device.prepare(&operation, self.options, &buffers)?;
        self.stages.push(Stage { operation, buffers, sums_in: kernel.sums_in() });
        self.kernels.push(kernel);
        Ok(())
    }

    /// Adds a stage for y = x · matrixᵀ with `rows` rows.
    fn project(
        &mut self,
        rows: u64,
        matrix: &Matrix,
        x: &Buffer,
        y: &Buffer,
    ) -> Result<(), Failure> {
        let (operation, buffers) = matrix.product(self.shape, rows, x, y);
        self.stage(operation, &buffers)
    }

    /// Returns a product whose output has the input type of the next stage.
    fn product(&self, m: u64, n: u64, k: u64) -> Gemm {
        Gemm { stored: OutputWidth::AsInputs, ..Gemm::new(self.shape.dtype, m, n, k) }
    }

    fn normalize(
        &mut self,
        rows: u64,
        weights: &[Buffer],
        x: &Buffer,
        y: &Buffer,
    ) -> Result<(), Failure> {
        let (dtype, columns) = (self.shape.dtype, self.shape.width());
        let operation = Normalize { op: self.shape.norm, dtype, rows, columns };
        let buffers: Vec<&Buffer> = std::iter::once(x).chain(weights).chain([y]).collect();
        self.stage(Operation::Normalize(operation), &buffers)
    }

    fn elementwise(
        &mut self,
        op: ElementwiseOp,
        elements: u64,
        buffers: &[&Buffer],
    ) -> Result<(), Failure> {
        self.stage(
            Operation::Elementwise(Elementwise { op, dtype: self.shape.dtype, elements }),
            buffers,
        )
    }

    /// Adds a stage that reorders rows of `columns` heads from token order in `x` to head order in
    /// `y`, which has room for `capacity` tokens and receives these starting at `position`. Rows
    /// are rotated if `angles` are given.
    fn by_head(
        &mut self,
        columns: u64,
        capacity: u64,
        position: u64,
        angles: Option<&Buffer>,
        x: &Buffer,
        y: &Buffer,
    ) -> Result<(), Failure> {
        let Shape { dtype, head_dim: width, batch, queries: rows, .. } = self.shape;
        let rotary = angles.is_some();
        let order = Rearrange { dtype, batch, rows, columns, width, capacity, position, rotary };
        let buffers: Vec<&Buffer> = std::iter::once(x).chain(angles).chain([y]).collect();
        self.stage(Operation::Rearrange(order), &buffers)
    }

    fn wire(
        &mut self,
        block: &Block,
        room: &Scratch,
        from: &Buffer,
        to: &Buffer,
    ) -> Result<(), Failure> {
        let Shape { heads, kv_heads, queries, positions, .. } = self.shape;
        let (tokens, rows) = (self.shape.tokens(), self.shape.tokens() * self.shape.width());
        self.normalize(tokens, &block.norms[0], from, &room.normed)?;
        for (matrix, projected) in block.attention.iter().zip(&room.projected) {
            self.project(tokens, matrix, &room.normed, projected)?;
        }
        let [query, key, value] = &room.projected;
        let angles = room.angles.as_ref();
        let (capacity, position) = (self.shape.capacity(), positions - queries);
        self.by_head(heads, queries, 0, angles, query, &room.queries)?;
        self.by_head(kv_heads, capacity, position, angles, key, &block.keys)?;
        self.by_head(kv_heads, capacity, position, None, value, &block.values)?;
        self.attend(block, room)?;
        let [attended, summed] = &room.between;
        self.project(tokens, &block.attention[3], &room.attended[1], attended)?;
        self.elementwise(ElementwiseOp::Add, rows, &[from, attended, summed])?;
        self.normalize(tokens, &block.norms[1], summed, &room.normed_again)?;
        self.widen_and_narrow(block, room)?;
        self.elementwise(ElementwiseOp::Add, rows, &[summed, &room.narrowed, to])
    }

    fn widen_and_narrow(&mut self, block: &Block, room: &Scratch) -> Result<(), Failure> {
        let tokens = self.shape.tokens();
        let elements = tokens * self.shape.hidden();
        let [hidden, active] = &room.hidden;
        self.project(tokens, &block.hidden[0], &room.normed_again, hidden)?;
        match (&block.gate, &room.gate) {
            (Some(weights), Some([gate, sigmoid, open])) => {
                self.project(tokens, weights, &room.normed_again, gate)?;
                self.elementwise(ElementwiseOp::Sigmoid, elements, &[gate, sigmoid])?;
                self.elementwise(ElementwiseOp::Multiply, elements, &[gate, sigmoid, open])?;
                self.elementwise(ElementwiseOp::Multiply, elements, &[open, hidden, active])?;
            }
            _ => self.elementwise(ElementwiseOp::Gelu, elements, &[hidden, active])?,
        }
        self.project(tokens, &block.hidden[1], active, &room.narrowed)
    }

    fn attend(&mut self, block: &Block, room: &Scratch) -> Result<(), Failure> {
        let Shape { dtype, heads, kv_heads, head_dim, batch, queries, positions, .. } = self.shape;
        let [by_head, by_token] = &room.attended;
        if let Some(staged) = &room.staged {
            self.attend_in_stages(block, &room.queries, staged, by_head)?;
        } else {
            let (capacity, causal) = (self.shape.capacity(), self.shape.is_masked());
            let fused = Attention {
                dtype,
                batch,
                heads,
                kv_heads,
                head_dim,
                queries,
                positions,
                capacity,
                causal,
            };
            self.stage(
                Operation::Attention(fused),
                &[&room.queries, &block.keys, &block.values, by_head],
            )?;
        }
        // Converts head order back to token order by swapping the two middle dimensions.
        let (rows, columns, width, capacity) = (heads, queries, head_dim, heads);
        let order =
            Rearrange { dtype, batch, rows, columns, width, capacity, position: 0, rotary: false };
        self.stage(Operation::Rearrange(order), &[by_head, by_token])
    }

    /// Adds stages for attention with explicit scores.
    fn attend_in_stages(
        &mut self,
        block: &Block,
        queries_by_head: &Buffer,
        staged: &Staged,
        by_head: &Buffer,
    ) -> Result<(), Failure> {
        let Shape { dtype, heads, kv_heads, head_dim, batch, queries, positions, .. } = self.shape;
        // Heads that share keys and values are adjacent, so their queries are rows of one product.
        // In the cache, unused capacity separates the heads.
        let stride_b = Some(self.shape.capacity() * head_dim).filter(|_| self.shape.steps > 1);
        let rows = queries * (heads / kv_heads.max(1));
        let scores = Gemm {
            batch: batch * kv_heads,
            stride_b,
            transpose_b: true,
            alpha: 1.0 / (head_dim as f64).sqrt(),
            ..self.product(rows, positions, head_dim)
        };
        self.stage(Operation::Gemm(scores), &[queries_by_head, &block.keys, &staged.scores])?;
        let mut visible = &staged.scores;
        if let Some([mask, masked]) = &staged.masked {
            let scores = batch * heads * queries * positions;
            self.elementwise(ElementwiseOp::Add, scores, &[&staged.scores, mask, masked])?;
            visible = masked;
        }
        let every = batch * heads * queries;
        let softmax =
            Normalize { op: NormalizeOp::Softmax, dtype, rows: every, columns: positions };
        self.stage(Operation::Normalize(softmax), &[visible, &staged.shares])?;
        let weighted =
            Gemm { batch: batch * kv_heads, stride_b, ..self.product(rows, head_dim, positions) };
        self.stage(Operation::Gemm(weighted), &[&staged.shares, &block.values, by_head])
    }
}
