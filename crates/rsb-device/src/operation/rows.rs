//! Operations that move rows: into the order of attention and its cache, or from a table selected
//! by indices.

use rsb_model::Dtype;
use rsb_model::random::mix64;
use serde::{Deserialize, Serialize};

use super::tensor::product;
use super::{BufferSpec, Role};

/// `y[b][j][position + i] = x[b][i][j]`, each a row of `width` elements: from token-major to
/// head-major order and back, and into a cache of `capacity` rows. Other rows of `y` are unchanged.
/// If `rotary`, each pair of adjacent elements of a row is a complex number, multiplied by the
/// corresponding complex number in row i of a second input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rearrange {
    /// Type of an element.
    pub dtype: Dtype,
    /// Outermost dimension of `x` and `y`.
    pub batch: u64,
    /// Second dimension of `x`, third of `y`.
    pub rows: u64,
    /// Third dimension of `x`, second of `y`.
    pub columns: u64,
    /// Elements of a row.
    pub width: u64,
    /// Rows that `y` has space for.
    pub capacity: u64,
    /// First of these rows that an operation writes.
    pub position: u64,
    /// Whether rows are rotated by a second input of `rows` by `width`: cosines and sines of their
    /// positions.
    pub rotary: bool,
}

impl Rearrange {
    /// Returns the number of elements of `x`.
    pub fn elements(&self) -> u64 {
        product(&[self.batch, self.rows, self.columns, self.width])
    }

    /// Returns whether every row fits, and has an even number of elements if rotated.
    pub const fn fits(&self) -> bool {
        self.position.saturating_add(self.rows) <= self.capacity
            && (!self.rotary || self.width.is_multiple_of(2))
    }

    /// Returns the index of `y`, which is the last buffer.
    pub fn y_index(&self) -> usize {
        1 + usize::from(self.rotary)
    }

    /// Returns the number of elements of the second input, by which rows are rotated.
    pub fn angles(&self) -> u64 {
        if self.rotary { product(&[self.rows, self.width]) } else { 0 }
    }

    /// Returns the source of element `at` of `y`, or `None` if it is unchanged.
    pub const fn source(&self, at: u64) -> Option<u64> {
        let (rest, within) = (at / self.width, at % self.width);
        let (rest, place) = (rest / self.capacity, rest % self.capacity);
        let (batch, column) = (rest / self.columns, rest % self.columns);
        match place.checked_sub(self.position) {
            Some(row) if row < self.rows => {
                Some(((batch * self.rows + row) * self.columns + column) * self.width + within)
            }
            _ => None,
        }
    }

    pub(super) fn buffers(&self) -> Vec<BufferSpec> {
        let role = if self.capacity > self.rows { Role::InOut } else { Role::Output };
        let mut all = vec![BufferSpec::new(Role::Input, self.dtype, self.elements())];
        if self.rotary {
            all.push(BufferSpec::new(Role::Input, self.dtype, self.angles()));
        }
        all.push(BufferSpec::new(
            role,
            self.dtype,
            product(&[self.batch, self.columns, self.capacity, self.width]),
        ));
        all
    }
}

/// `y[i] = x[index[i]]`, each a row of `width` elements, such as an embedding lookup. The indices
/// are 64-bit words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gather {
    /// Type of an element.
    pub dtype: Dtype,
    /// Rows of `x`.
    pub of: u64,
    /// Rows of `y`.
    pub rows: u64,
    /// Elements of a row.
    pub width: u64,
}

impl Gather {
    /// Returns the number of elements of `y`.
    pub const fn elements(&self) -> u64 {
        self.rows.saturating_mul(self.width)
    }

    /// Returns the row of `x` that fills row `row` of `y`, for inputs generated from `seed`.
    pub const fn index(&self, seed: u64, row: u64) -> u64 {
        mix64(seed.wrapping_add(row)) % self.of
    }

    pub(super) fn buffers(&self) -> Vec<BufferSpec> {
        vec![
            BufferSpec::new(Role::Input, self.dtype, product(&[self.of, self.width])),
            BufferSpec::new(Role::Input, Dtype::I8, self.rows.saturating_mul(8)),
            BufferSpec::new(Role::Output, self.dtype, self.elements()),
        ]
    }
}
