//! Reference pass in f64, written as simply as possible: token by token and head by head, with the
//! numbers stored on the device.

use rsb_device::operation::ElementwiseOp;
use rsb_device::reference::{attended_row, elementwise, normalized_row};

use super::Shape;

/// Weights of a block as numbers.
pub(super) struct Weights {
    pub(super) norms: [[Vec<f64>; 2]; 2],
    pub(super) attention: [Vec<f64>; 4],
    pub(super) hidden: [Vec<f64>; 2],
    pub(super) gate: Option<Vec<f64>>,
    /// Keys and values in the order batch, head, position, element. A pass stores its own here.
    pub(super) keys: Vec<f64>,
    pub(super) values: Vec<f64>,
}

/// Returns the embedded tokens of `words`.
pub(super) fn embed_words(shape: Shape, table: &[f64], words: &[u64]) -> Vec<f64> {
    words
        .iter()
        .flat_map(|word| part(table, word * shape.width(), shape.width()))
        .copied()
        .collect()
}

/// Returns the logits of the last token of each sequence.
pub(super) fn last_token_logits(
    shape: Shape,
    [gain, bias]: &[Vec<f64>; 2],
    head: &[f64],
    x: &[f64],
) -> Vec<f64> {
    let mut logits = Vec::new();
    for sequence in 0..shape.batch {
        let token = (sequence + 1) * shape.queries - 1;
        let last = part(x, token * shape.width(), shape.width());
        logits.extend(times(&normalized_row(shape.norm, last, gain, bias), head));
    }
    logits
}

/// Returns the output of the block for `x`, which has one row per token.
#[inline(never)]
pub(super) fn block(shape: Shape, weights: &mut Weights, x: &[f64]) -> Vec<f64> {
    let width = shape.width() as usize;
    let attended = attention(shape, weights, x);
    let summed: Vec<f64> = x.iter().zip(&attended).map(|(x, attended)| x + attended).collect();
    let [gain, bias] = &weights.norms[1];
    let mut result = summed.clone();
    for (row, to) in summed.chunks_exact(width).zip(result.chunks_exact_mut(width)) {
        let normed = normalized_row(shape.norm, row, gain, bias);
        let hidden = times(&normed, &weights.hidden[0]);
        let active: Vec<f64> = match &weights.gate {
            Some(gate) => times(&normed, gate)
                .iter()
                .zip(&hidden)
                .map(|(&gate, up)| silu(gate) * up)
                .collect(),
            None => {
                hidden.iter().map(|&value| elementwise(ElementwiseOp::Gelu, value, 0.0)).collect()
            }
        };
        to.iter_mut().zip(times(&active, &weights.hidden[1])).for_each(|(to, value)| *to += value);
    }
    result
}

fn silu(x: f64) -> f64 {
    x * elementwise(ElementwiseOp::Sigmoid, x, 0.0)
}

fn attention(shape: Shape, weights: &mut Weights, x: &[f64]) -> Vec<f64> {
    let width = shape.width() as usize;
    let [gain, bias] = &weights.norms[0];
    let normed: Vec<Vec<f64>> =
        x.chunks_exact(width).map(|row| normalized_row(shape.norm, row, gain, bias)).collect();
    let [query, key, value, _] = &weights.attention;
    let projected =
        |matrix: &[f64]| normed.iter().map(|row| times(row, matrix)).collect::<Vec<_>>();
    let queries = rotate_if_rotary(shape, projected(query));
    keep(shape, &mut weights.keys, &rotate_if_rotary(shape, projected(key)));
    keep(shape, &mut weights.values, &projected(value));
    let mut attended = Vec::with_capacity(x.len());
    for (token, query) in queries.iter().enumerate() {
        let sequence = token as u64 / shape.queries;
        let place = position_of(shape, token as u64);
        let mut row = Vec::with_capacity(width);
        for head in 0..shape.heads {
            // The key and value head that this query head shares with its neighbors.
            let shared = head / (shape.heads / shape.kv_heads);
            let first = first_of(shape, sequence, shared, 0);
            let seen = (place + 1) * shape.head_dim;
            let keys = part(&weights.keys, first, seen);
            let values = part(&weights.values, first, seen);
            let query = part(query, head * shape.head_dim, shape.head_dim);
            row.extend(attended_row(query, keys, values));
        }
        attended.extend(times(&row, &weights.attention[3]));
    }
    attended
}

/// Returns the position of a token of this pass in its sequence.
fn position_of(shape: Shape, token: u64) -> u64 {
    shape.positions - shape.queries + token % shape.queries
}

/// Rotates the row of each token by its position, if the model uses rotary positions.
fn rotate_if_rotary(shape: Shape, mut rows: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    if shape.rotary {
        for (token, row) in (0..).zip(&mut rows) {
            *row = rotate_row(shape, row, position_of(shape, token));
        }
    }
    rows
}

/// Returns a row with all heads rotated by its position.
pub(super) fn rotate_row(shape: Shape, row: &[f64], position: u64) -> Vec<f64> {
    let mut rotated = Vec::with_capacity(row.len());
    for (index, &[x, z]) in (0_u64..).zip(row.as_chunks::<2>().0) {
        let (cosine, sine) = shape.turn(position, index % (shape.head_dim / 2));
        rotated.extend([x * cosine - z * sine, x * sine + z * cosine]);
    }
    rotated
}

/// Stores the rows of a pass, one per token, in the cache.
fn keep(shape: Shape, cache: &mut [f64], rows: &[Vec<f64>]) {
    for (token, row) in (0..).zip(rows) {
        let position = position_of(shape, token);
        for (head, numbers) in (0..).zip(row.chunks_exact(shape.head_dim as usize)) {
            let first = first_of(shape, token / shape.queries, head, position) as usize;
            cache.iter_mut().skip(first).zip(numbers).for_each(|(kept, &number)| *kept = number);
        }
    }
}

/// Returns the index of the first element of a head in the cache.
fn first_of(shape: Shape, sequence: u64, head: u64, position: u64) -> u64 {
    ((sequence * shape.kv_heads + head) * shape.capacity() + position) * shape.head_dim
}

fn part(row: &[f64], first: u64, count: u64) -> &[f64] {
    row.get(first as usize..(first + count) as usize).unwrap_or_default()
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// Returns `row` times a matrix with one row per output element.
fn times(row: &[f64], matrix: &[f64]) -> Vec<f64> {
    matrix.chunks_exact(row.len().max(1)).map(|weights| dot(row, weights)).collect()
}
