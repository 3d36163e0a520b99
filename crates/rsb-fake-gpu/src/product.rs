//! Matrix products, for the program's kernels and for vendor libraries. Products of integers
//! accumulate in i32, products of f64 in f64, and all others in f32. Floating-point products use
//! the crate `gemm`.

pub(crate) mod library;

use crate::element::Element;

/// Shape of a product: C is m × n, and each element is a sum of k terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
}

/// Factors of C ← alpha·A·B + beta·C. With beta 0, C is not read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    pub(crate) alpha: f64,
    pub(crate) beta: f64,
}

/// A matrix in memory: element (i, j) is `data[i * down + j * across]`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Matrix<'a, T> {
    data: &'a [T],
    rows: usize,
    columns: usize,
    down: usize,
    across: usize,
}

impl<'a, T: Element> Matrix<'a, T> {
    /// Creates a row-major matrix of `rows` × `columns`, or its transpose.
    pub(crate) fn row_major(data: &'a [T], rows: usize, columns: usize, transposed: bool) -> Self {
        let leading = if transposed { rows } else { columns };
        Self::with_leading(data, rows, columns, leading, transposed)
    }

    /// Like [`Matrix::row_major`], with `leading` elements between the starts of consecutive lines
    /// in memory.
    pub(crate) fn with_leading(
        data: &'a [T],
        rows: usize,
        columns: usize,
        leading: usize,
        transposed: bool,
    ) -> Self {
        let (down, across) = if transposed { (1, leading) } else { (leading, 1) };
        Self { data, rows, columns, down, across }
    }

    fn at(&self, i: usize, j: usize) -> f64 {
        self.data.get(i * self.down + j * self.across).map_or(f64::NAN, |x| x.get())
    }

    /// Converts the matrix to row-major elements of type `W`.
    fn to_row_major<W>(self, as_w: impl Fn(f64) -> W) -> Vec<W> {
        let rows = 0..self.rows;
        rows.flat_map(|i| (0..self.columns).map(move |j| (i, j)))
            .map(|(i, j)| as_w(self.at(i, j)))
            .collect()
    }
}

/// Multiplies two matrices. C is row-major, without gaps.
pub(crate) fn multiply<A: Element, C: Element>(
    shape: Shape,
    a: Matrix<'_, A>,
    b: Matrix<'_, A>,
    c: &mut [C],
    scale: Scale,
) {
    let sums = if size_of::<A>() == 8 {
        dense(shape, &a.to_row_major(|x| x), &b.to_row_major(|x| x))
    } else {
        dense(shape, &a.to_row_major(|x| x as f32), &b.to_row_major(|x| x as f32))
            .into_iter()
            .map(f64::from)
            .collect()
    };
    store(c, &sums, scale);
}

/// Like [`multiply`], but accumulates in 32-bit integers.
pub(crate) fn multiply_whole<A: Element, C: Element>(
    shape: Shape,
    a: Matrix<'_, A>,
    b: Matrix<'_, A>,
    c: &mut [C],
    scale: Scale,
) {
    let (a, b) = (a.to_row_major(|x| x as i32), b.to_row_major(|x| x as i32));
    let mut sums = vec![0.0; shape.m * shape.n];
    let mut row = vec![0_i32; shape.n];
    for (a, sums) in a.chunks(shape.k.max(1)).zip(sums.chunks_mut(shape.n.max(1))) {
        row.fill(0);
        for (&a, b) in a.iter().zip(b.chunks(shape.n.max(1))) {
            row.iter_mut().zip(b).for_each(|(sum, b)| *sum = sum.wrapping_add(a.wrapping_mul(*b)));
        }
        sums.iter_mut().zip(&row).for_each(|(to, &sum)| *to = f64::from(sum));
    }
    store(c, &sums, scale);
}

fn store<C: Element>(c: &mut [C], sums: &[f64], scale: Scale) {
    for (c, sum) in c.iter_mut().zip(sums) {
        let before = if scale.beta == 0.0 { 0.0 } else { scale.beta * c.get() };
        *c = C::put(scale.alpha * sum + before);
    }
}

/// Multiplies contiguous row-major matrices.
fn dense<W: Default + Copy + From<u8> + 'static>(shape: Shape, a: &[W], b: &[W]) -> Vec<W> {
    let Shape { m, n, k } = shape;
    let mut c = vec![W::default(); m * n];
    if a.len() < m * k || b.len() < k * n {
        return c;
    }
    // SAFETY: A has at least m × k elements and B at least k × n, as checked above; C was allocated
    // with m × n. All are row-major, and C is not read.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            c.as_mut_ptr(),
            1,
            to_stride(n),
            false,
            a.as_ptr(),
            1,
            to_stride(k),
            b.as_ptr(),
            1,
            to_stride(n),
            W::default(),
            W::from(1),
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
    c
}

/// Converts a row stride to `isize`. Slices have at most `isize::MAX` bytes, so this never
/// saturates.
fn to_stride(size: usize) -> isize {
    isize::try_from(size).unwrap_or(isize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<A: Element, C: Element>(
        multiply: fn(Shape, Matrix<'_, A>, Matrix<'_, A>, &mut [C], Scale),
    ) {
        let shape = Shape { m: 3, n: 5, k: 4 };
        let a: Vec<A> = (0..12).map(|at| A::put(number(at))).collect();
        let b: Vec<A> = (0..20).map(|at| A::put(number(at + 3))).collect();
        for (transpose_a, transpose_b) in
            [(false, false), (true, false), (false, true), (true, true)]
        {
            let mut c = vec![C::put(2.0); 15];
            let left = Matrix::row_major(&a, 3, 4, transpose_a);
            let right = Matrix::row_major(&b, 4, 5, transpose_b);
            multiply(shape, left, right, &mut c, Scale { alpha: 2.0, beta: 3.0 });
            for (at, c) in c.iter().enumerate() {
                let (i, j) = (at / 5, at % 5);
                let mut sum = 0.0;
                for p in 0..4 {
                    let a = number(if transpose_a { p * 3 + i } else { i * 4 + p });
                    let b = number(if transpose_b { j * 4 + p } else { p * 5 + j } + 3);
                    sum += a * b;
                }
                assert!((c.get() - (2.0 * sum + 6.0)).abs() < 1e-9, "{i} {j}");
            }
        }
    }

    fn number(at: usize) -> f64 {
        (at * 7 % 11) as f64 - 5.0
    }

    #[test]
    fn products_are_those_of_the_definition() {
        check::<f64, f64>(multiply);
        check::<f32, f32>(multiply);
        check::<half::f16, f32>(multiply);
        check::<i8, i32>(multiply_whole);
    }
}
