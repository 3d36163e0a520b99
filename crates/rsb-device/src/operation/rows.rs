//! Operations that bring rows to other places: into the order of attention and its cache, and out
//! of a table.

use rsb_model::Dtype;
use rsb_model::random::mix64;
use serde::{Deserialize, Serialize};

use super::tensor::product;
use super::{BufferSpec, Role};

/// `y[b][j][position + i] = x[b][i][j]`, each a row of `width` elements: from token by token to
/// head by head and back, and into a cache that has room for `capacity` rows. What `y` holds beside
/// these rows stays. Where positions are `rotary`, each two neighbors of a row are a complex
/// number, multiplied by that of their place in row i of a second input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rearrange {
    /// Type of an element.
    pub dtype: Dtype,
    /// Outermost, in both.
    pub batch: u64,
    /// What comes second in `x`, and third in `y`.
    pub rows: u64,
    /// What comes third in `x`, and second in `y`.
    pub columns: u64,
    /// Elements that stay together.
    pub width: u64,
    /// Rows that `y` has room for.
    pub capacity: u64,
    /// The first of them that is written.
    pub position: u64,
    /// Whether rows are turned by a second input of `rows` by `width`: cosines and sines of their
    /// positions.
    pub rotary: bool,
}

impl Rearrange {
    /// Elements of `x`.
    pub fn elements(&self) -> u64 {
        product(&[self.batch, self.rows, self.columns, self.width])
    }

    /// Whether every row finds room, and is made of pairs where it is turned.
    pub const fn fits(&self) -> bool {
        self.position.saturating_add(self.rows) <= self.capacity
            && (!self.rotary || self.width.is_multiple_of(2))
    }

    /// Which of its buffers is `y`, the last.
    pub fn y_index(&self) -> usize {
        1 + usize::from(self.rotary)
    }

    /// Elements of what rows are turned by.
    pub fn angles(&self) -> u64 {
        if self.rotary { product(&[self.rows, self.width]) } else { 0 }
    }

    /// Where element `at` of `y` comes from; nothing where it stays as it was.
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

/// `y[i] = x[index[i]]`, each a row of `width` elements: what turns words into numbers. The indices
/// are words of 64 bits.
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
    /// Elements of `y`.
    pub const fn elements(&self) -> u64 {
        self.rows.saturating_mul(self.width)
    }

    /// Which row of `x` row `row` of `y` is filled from, where inputs are made from `seed`.
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
