//! Positions of the matrices of a product in their buffers: leading dimensions and strides.

use rsb_model::Reason;

use super::Operation;
use super::tensor::{Gemm, product};

/// The matrices of one operand as stored in its buffer: row-major, with equal distances between
/// rows and between matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatrixLayout {
    /// Rows of a matrix, as stored.
    pub rows: u64,
    /// Elements of a row.
    pub columns: u64,
    /// Elements from one row to the next, the leading dimension: at least `columns`.
    pub leading: u64,
    /// Elements from one matrix to the next: at least `rows · leading`.
    pub stride: u64,
}

impl MatrixLayout {
    fn new(sizes: [u64; 2], leading: Option<u64>, stride: Option<u64>) -> Self {
        let [rows, columns] = sizes;
        let leading = leading.unwrap_or(columns);
        let stride = stride.unwrap_or(product(&[rows, leading]));
        Self { rows, columns, leading, stride }
    }

    /// Returns the position of an element in the buffer.
    pub const fn position(&self, matrix: u64, row: u64, column: u64) -> u64 {
        matrix * self.stride + row * self.leading + column
    }

    /// Returns whether there are no gaps between rows and matrices.
    pub fn is_packed(&self) -> bool {
        self.leading == self.columns && self.stride == product(&[self.rows, self.columns])
    }

    /// Returns whether the element at `position` is in a gap.
    pub fn is_padding(&self, position: u64) -> bool {
        let within = position % self.stride.max(1);
        let leading = self.leading.max(1);
        within / leading >= self.rows || within % leading >= self.columns
    }
}

impl Operation {
    /// Returns the layout of the matrices in buffer `index`, or `None` if they have no gaps.
    pub(crate) fn padded_layout(&self, index: usize) -> Option<MatrixLayout> {
        let Self::Gemm(op) = self else { return None };
        let [a, b, c] = op.layouts();
        let layout = match index {
            0 => a,
            1 => b,
            _ if index == op.c_index() => c,
            _ => return None,
        };
        if layout.is_packed() { None } else { Some(layout) }
    }
}

impl Gemm {
    /// Returns the layouts of A, B and C.
    pub fn layouts(&self) -> [MatrixLayout; 3] {
        let sizes = |rows, columns, turned| if turned { [columns, rows] } else { [rows, columns] };
        [
            MatrixLayout::new(sizes(self.m, self.k, self.transpose_a), self.ld_a, self.stride_a),
            MatrixLayout::new(sizes(self.k, self.n, self.transpose_b), self.ld_b, self.stride_b),
            MatrixLayout::new([self.m, self.n], self.ld_c, self.stride_c),
        ]
    }

    /// Returns whether there are no gaps between rows and matrices.
    pub fn is_packed(&self) -> bool {
        self.layouts().iter().all(MatrixLayout::is_packed)
    }

    /// Returns the same product without gaps.
    #[must_use]
    pub const fn without_gaps(&self) -> Self {
        Self {
            ld_a: None,
            ld_b: None,
            ld_c: None,
            stride_a: None,
            stride_b: None,
            stride_c: None,
            ..*self
        }
    }

    /// Checks that no rows and no matrices overlap.
    ///
    /// # Errors
    /// If a leading dimension is smaller than a row, or a stride smaller than a matrix. The reason
    /// contains the smallest legal value.
    pub fn check_layouts(&self) -> Result<(), Reason> {
        for (name, layout) in ["a", "b", "c"].into_iter().zip(self.layouts()) {
            let MatrixLayout { rows, columns, leading, stride } = layout;
            let matrix = name.to_uppercase();
            if leading < columns {
                return Err(Reason::new(
                    format!("ld_{name}={leading}"),
                    format!("a row of {matrix}, as stored, has {columns} elements"),
                    format!("choose ld_{name}={columns} or more"),
                ));
            }
            let smallest = product(&[rows, leading]);
            if stride < smallest {
                return Err(Reason::new(
                    format!("stride_{name}={stride}"),
                    format!("a matrix of {matrix} has {rows} rows, {leading} elements apart"),
                    format!("choose stride_{name}={smallest} or more"),
                ));
            }
        }
        Ok(())
    }

    /// Rejects gaps, except between matrices of B, for a provider (`who`) that does not support
    /// them.
    ///
    /// # Errors
    /// If there are gaps between rows, or between matrices of A or C.
    pub fn check_packed(&self, who: &str) -> Result<(), Reason> {
        let [a, b, c] = self.layouts();
        if a.is_packed() && b.leading == b.columns && c.is_packed() {
            return Ok(());
        }
        Err(Reason::new(
            "gemm with ld_a, ld_b, ld_c, stride_a or stride_c",
            format!("{who} support no gaps between rows, or between matrices of A and C"),
            "omit these options, or use --backend cpu, or on ROCm or CUDA --axis provider=rocblas or cublas",
        ))
    }
}
