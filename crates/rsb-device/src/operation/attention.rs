//! Attention as one operation, with no scores stored in memory.

use std::ops::Range;

use rsb_model::{Dtype, Reason};
use serde::{Deserialize, Serialize};

use super::tensor::product;
use super::{BufferSpec, Role};
use crate::error::DeviceError;

/// `y = softmax(q·kᵀ / √head_dim)·v` for each head. All buffers are stored head by head: `q` and
/// `y` are batch × heads × queries × `head_dim`, `k` and `v` are batch × `kv_heads` × capacity ×
/// `head_dim`, of which the first `positions` rows are filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attention {
    /// Type of an element.
    pub dtype: Dtype,
    /// Sequences.
    pub batch: u64,
    /// Query heads.
    pub heads: u64,
    /// Key/value heads, each shared by equally many adjacent query heads: a divisor of `heads`.
    pub kv_heads: u64,
    /// Elements of a query, a key and a value.
    pub head_dim: u64,
    /// Queries per head, which have the last positions.
    pub queries: u64,
    /// Filled keys and values per head.
    pub positions: u64,
    /// Keys and values that the buffers have space for.
    pub capacity: u64,
    /// Whether a query attends only to positions up to its own.
    pub causal: bool,
}

impl Attention {
    /// Returns the queries of all heads and sequences: rows of `y`.
    pub fn rows(&self) -> u64 {
        product(&[self.batch, self.heads, self.queries])
    }

    /// Returns the number of rows that share one key head; they are adjacent.
    pub const fn rows_of_keys(&self) -> u64 {
        (self.heads / self.kv_heads).saturating_mul(self.queries)
    }

    /// Returns the number of positions that row `row` of `y` attends to.
    pub const fn reach(&self, row: u64) -> u64 {
        if self.causal {
            self.positions - self.queries + row % self.queries + 1
        } else {
            self.positions
        }
    }

    /// Returns the range of elements of `k`, and of `v`, that row `row` of `y` depends on.
    pub const fn visible_elements(&self, row: u64) -> Range<u64> {
        let first = row / self.rows_of_keys() * self.capacity * self.head_dim;
        first..first + self.reach(row) * self.head_dim
    }

    /// Checks that the sizes are consistent.
    ///
    /// # Errors
    /// `Unsupported`, with the inconsistency.
    pub fn check(&self) -> Result<(), DeviceError> {
        let sizes = [self.batch, self.kv_heads, self.head_dim, self.queries];
        let fits = self.queries <= self.positions && self.positions <= self.capacity;
        if fits && !sizes.contains(&0) && self.heads.is_multiple_of(self.kv_heads) && self.heads > 0
        {
            return Ok(());
        }
        Err(DeviceError::Unsupported(Reason::new(
            "attention of these sizes",
            "a size is zero, the heads are not a multiple of the key heads, there are more queries \
             than positions, or the cache is too small",
            "choose a number of key heads that divides the number of heads, and a cache that holds \
             every position",
        )))
    }

    /// Returns the number of operations: for each visible position, a multiply-add per element for
    /// the score and another for the value.
    pub(super) fn flops(&self) -> f64 {
        let later = if self.causal { product(&[self.queries, self.queries - 1]) / 2 } else { 0 };
        let pairs = product(&[self.queries, self.positions]).saturating_sub(later);
        4.0 * pairs as f64 * product(&[self.batch, self.heads, self.head_dim]) as f64
    }

    /// Returns the bytes of the queries, the filled keys and values, and the result.
    pub(super) fn bytes_moved(&self) -> f64 {
        let filled = product(&[self.batch, self.kv_heads, self.positions]);
        2.0 * self.dtype.bytes(product(&[self.rows().saturating_add(filled), self.head_dim])) as f64
    }

    pub(super) fn buffers(&self) -> Vec<BufferSpec> {
        let rows = product(&[self.rows(), self.head_dim]);
        let cache = product(&[self.batch, self.kv_heads, self.capacity, self.head_dim]);
        let inputs =
            [rows, cache, cache].map(|elements| BufferSpec::new(Role::Input, self.dtype, elements));
        inputs.into_iter().chain([BufferSpec::new(Role::Output, self.dtype, rows)]).collect()
    }
}
