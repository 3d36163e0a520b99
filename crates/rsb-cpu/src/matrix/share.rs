//! Which thread computes which part of C.

use std::ops::Range;

use rsb_device::operation::Gemm;

/// A rectangle of one product of the batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) batch: usize,
    pub(super) rows: Range<usize>,
    pub(super) columns: Range<usize>,
}

/// What each of `threads` threads computes. Whole products where there are enough of them, else
/// rectangles of whole tiles of each: every thread packs the rows and columns of its own, so they
/// are as square as can be.
pub(super) fn parts(op: &Gemm, threads: usize, tile: (usize, usize)) -> Vec<Vec<Part>> {
    let (batch, m, n) = (op.batch as usize, op.m as usize, op.n as usize);
    let threads = threads.max(1);
    if batch >= threads && batch.is_multiple_of(threads) {
        let each = batch / threads;
        return (0..threads)
            .map(|thread| {
                (thread * each..(thread + 1) * each)
                    .map(|batch| Part { batch, rows: 0..m, columns: 0..n })
                    .collect()
            })
            .collect();
    }
    let (down, across) = grid(m, n, threads, tile);
    let mut all = Vec::with_capacity(threads);
    for thread in 0..threads {
        let mut own = Vec::new();
        for batch in 0..batch {
            let part = Part {
                batch,
                rows: cut(m, thread / across, down, tile.0),
                columns: cut(n, thread % across, across, tile.1),
            };
            if !part.is_empty() {
                own.push(part);
            }
        }
        all.push(own);
    }
    all
}

impl Part {
    fn is_empty(&self) -> bool {
        self.rows.is_empty() || self.columns.is_empty()
    }
}

/// How many parts C has down and across: those whose largest takes the least time. Packing a row or
/// a column takes about as long as 48 sums of the same depth. Of two that are alike, the one with
/// more parts down: rows of B are packed by whole lines, those of A are turned.
fn grid(m: usize, n: usize, threads: usize, tile: (usize, usize)) -> (usize, usize) {
    let grids = (1..=threads)
        .rev()
        .filter(|down| threads.is_multiple_of(*down))
        .map(|down| (down, threads / down));
    let best = grids.min_by_key(|&(down, across)| {
        let rows = m.div_ceil(tile.0).div_ceil(down) * tile.0;
        let columns = n.div_ceil(tile.1).div_ceil(across) * tile.1;
        rows * columns + 48 * (rows + columns)
    });
    best.unwrap_or((threads, 1))
}

/// Part `index` of `count` of so many rows, in whole tiles.
fn cut(rows: usize, index: usize, count: usize, tile: usize) -> Range<usize> {
    let tiles = rows.div_ceil(tile);
    let first = (tiles * index / count * tile).min(rows);
    let end = (tiles * (index + 1) / count * tile).min(rows);
    first..end
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_model::Dtype;

    #[test]
    fn every_element_of_c_is_one_threads() {
        for threads in [1, 2, 3, 8, 12] {
            for (m, n, batch) in
                [(1, 1, 1), (100, 70, 1), (2048, 2048, 1), (8, 5000, 3), (33, 49, 24)]
            {
                let op = Gemm { batch, ..Gemm::new(Dtype::Bf16, m, n, 4) };
                let all = parts(&op, threads, (6, 64));
                assert_eq!(all.len(), threads);
                let mut seen = vec![0; (batch * m * n) as usize];
                for part in all.iter().flatten() {
                    for row in part.rows.clone() {
                        for column in part.columns.clone() {
                            seen[(part.batch * m as usize + row) * n as usize + column] += 1;
                        }
                    }
                }
                assert!(
                    seen.iter().all(|&count| count == 1),
                    "{threads} threads, {m}x{n}, {batch}"
                );
            }
        }
    }

    #[test]
    fn parts_are_as_square_as_can_be() {
        assert_eq!(grid(2048, 2048, 4, (6, 64)), (2, 2));
        assert_eq!(grid(8, 4096, 4, (6, 64)), (1, 4));
        assert_eq!(grid(4096, 48, 4, (6, 64)), (4, 1));
    }
}
