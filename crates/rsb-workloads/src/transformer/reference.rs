//! The same pass in f64, as plainly as it can be written: token by token, head by head, on the numbers that the device
//! holds.

use rsb_device::operation::ElementwiseOp;
use rsb_device::reference::{elementwise, normalized_row, softmax_row};

use super::Shape;

/// The weights of a block as numbers.
pub(super) struct Weights {
    pub(super) norms: [[Vec<f64>; 2]; 2],
    pub(super) attention: [Vec<f64>; 4],
    pub(super) hidden: [Vec<f64>; 2],
    pub(super) gate: Option<Vec<f64>>,
    /// Keys and values of the positions before this pass, head by head: batch, head, position, number.
    pub(super) keys: Vec<f64>,
    pub(super) values: Vec<f64>,
}

/// The tokens that words are turned into.
pub(super) fn embedded(shape: Shape, table: &[f64], words: &[u64]) -> Vec<f64> {
    words.iter().flat_map(|word| part(table, word * shape.width(), shape.width())).copied().collect()
}

/// The logits of the last token of each sequence.
pub(super) fn told(shape: Shape, [gain, bias]: &[Vec<f64>; 2], head: &[f64], x: &[f64]) -> Vec<f64> {
    let last = |sequence: u64| part(x, ((sequence + 1) * shape.queries - 1) * shape.width(), shape.width());
    let logits = |sequence| times(&normalized_row(shape.norm, last(sequence), gain, bias), head);
    (0..shape.batch).flat_map(logits).collect()
}

/// What the block makes of `x`, which has a row for each token.
#[inline(never)]
pub(super) fn block(shape: Shape, weights: &Weights, x: &[f64]) -> Vec<f64> {
    let width = shape.width() as usize;
    let attended = attention(shape, weights, x);
    let summed: Vec<f64> = x.iter().zip(&attended).map(|(x, attended)| x + attended).collect();
    let [gain, bias] = &weights.norms[1];
    let mut result = summed.clone();
    for (row, to) in summed.chunks_exact(width).zip(result.chunks_exact_mut(width)) {
        let normed = normalized_row(shape.norm, row, gain, bias);
        let hidden = times(&normed, &weights.hidden[0]);
        let active: Vec<f64> = match &weights.gate {
            Some(gate) => times(&normed, gate).iter().zip(&hidden).map(|(&gate, up)| silu(gate) * up).collect(),
            None => hidden.iter().map(|&value| elementwise(ElementwiseOp::Gelu, value, 0.0)).collect(),
        };
        to.iter_mut().zip(times(&active, &weights.hidden[1])).for_each(|(to, value)| *to += value);
    }
    result
}

fn silu(x: f64) -> f64 {
    x * elementwise(ElementwiseOp::Sigmoid, x, 0.0)
}

fn attention(shape: Shape, weights: &Weights, x: &[f64]) -> Vec<f64> {
    let width = shape.width() as usize;
    let [gain, bias] = &weights.norms[0];
    let normed: Vec<Vec<f64>> = x.chunks_exact(width).map(|row| normalized_row(shape.norm, row, gain, bias)).collect();
    let [query, key, value, out] = &weights.attention;
    let projected = |matrix: &[f64]| normed.iter().map(|row| times(row, matrix)).collect::<Vec<_>>();
    let place_of = |token: u64| shape.positions - shape.queries + token % shape.queries;
    let placed = |mut rows: Vec<Vec<f64>>| {
        for (token, row) in (0..).zip(&mut rows).filter(|_| shape.rotary) {
            *row = turned(shape, row, place_of(token));
        }
        rows
    };
    let (queries, keys, values) = (placed(projected(query)), placed(projected(key)), projected(value));
    let mut attended = Vec::with_capacity(x.len());
    for (token, query) in queries.iter().enumerate() {
        let sequence = token as u64 / shape.queries;
        let place = place_of(token as u64);
        let mut row = Vec::with_capacity(width);
        for head in 0..shape.heads {
            let look = Look { shape, sequence, head };
            let query = part(query, head * shape.head_dim, shape.head_dim);
            let seen = |position: u64| look.at(position, &keys, &weights.keys);
            let scores: Vec<f64> =
                (0..=place).map(|position| dot(query, seen(position)) / (shape.head_dim as f64).sqrt()).collect();
            let shares = softmax_row(&scores);
            for number in 0..shape.head_dim as usize {
                let of = |position: u64| look.at(position, &values, &weights.values).get(number).copied();
                let weighted =
                    (0..=place).zip(&shares).map(|(position, share)| share * of(position).unwrap_or(f64::NAN));
                row.push(weighted.sum::<f64>());
            }
        }
        attended.extend(times(&row, out));
    }
    attended
}

/// All heads of a row turned by its position.
pub(super) fn turned(shape: Shape, row: &[f64], position: u64) -> Vec<f64> {
    let pairs = (0..).zip(row.as_chunks::<2>().0);
    let turn = |(index, &[x, z]): (u64, &[f64; 2])| {
        let (cosine, sine) = shape.turn(position, index % (shape.head_dim / 2));
        [x * cosine - z * sine, x * sine + z * cosine]
    };
    pairs.flat_map(turn).collect()
}

/// One head of one sequence.
struct Look {
    shape: Shape,
    sequence: u64,
    head: u64,
}

impl Look {
    /// The head of keys and values that it shares with its neighbors.
    fn shared(&self) -> u64 {
        self.head / (self.shape.heads / self.shape.kv_heads)
    }

    /// Its numbers at `position`: of this pass, or from the cache.
    fn at<'r>(&self, position: u64, fresh: &'r [Vec<f64>], cache: &'r [f64]) -> &'r [f64] {
        let Shape { kv_heads, head_dim, queries, positions, .. } = self.shape;
        let head = self.shared();
        match position.checked_sub(positions - queries) {
            Some(token) => part(row(fresh, self.sequence * queries + token), head * head_dim, head_dim),
            None => part(cache, ((self.sequence * kv_heads + head) * positions + position) * head_dim, head_dim),
        }
    }
}

fn row(rows: &[Vec<f64>], index: u64) -> &[f64] {
    rows.get(index as usize).map_or(&[][..], Vec::as_slice)
}

fn part(row: &[f64], first: u64, count: u64) -> &[f64] {
    row.get(first as usize..(first + count) as usize).unwrap_or_default()
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// `row` times a matrix that has a row for each number of the result.
fn times(row: &[f64], matrix: &[f64]) -> Vec<f64> {
    matrix.chunks_exact(row.len().max(1)).map(|weights| dot(row, weights)).collect()
}
