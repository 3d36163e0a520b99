//! Partition of C among threads.

use std::ops::Range;

use rsb_device::operation::Gemm;

/// A block of C of one product in the batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OutputBlock {
    pub(super) batch: usize,
    pub(super) rows: Range<usize>,
    pub(super) columns: Range<usize>,
}

/// Returns the blocks assigned to each of `threads` threads: whole products if the batch is a
/// multiple of `threads`, otherwise blocks of whole tiles (`mr` × `nr`) of each product. Every
/// thread packs the rows and columns of its own blocks, so the blocks are as square as possible.
pub(super) fn partition(op: &Gemm, threads: usize, mr: usize, nr: usize) -> Vec<Vec<OutputBlock>> {
    let (batch, m, n) = (op.batch as usize, op.m as usize, op.n as usize);
    let threads = threads.max(1);
    if batch >= threads && batch.is_multiple_of(threads) {
        let each = batch / threads;
        return (0..threads)
            .map(|thread| {
                (thread * each..(thread + 1) * each)
                    .map(|batch| OutputBlock { batch, rows: 0..m, columns: 0..n })
                    .collect()
            })
            .collect();
    }
    let (down, across) = grid(m, n, threads, mr, nr);
    let mut all = Vec::with_capacity(threads);
    for thread in 0..threads {
        let mut own = Vec::new();
        for batch in 0..batch {
            let block = OutputBlock {
                batch,
                rows: cut(m, thread / across, down, mr),
                columns: cut(n, thread % across, across, nr),
            };
            if !block.is_empty() {
                own.push(block);
            }
        }
        all.push(own);
    }
    all
}

impl OutputBlock {
    fn is_empty(&self) -> bool {
        self.rows.is_empty() || self.columns.is_empty()
    }
}

/// Returns the number of blocks of C down and across that minimizes the time of the largest block.
/// Packing a row or a column takes about as long as 48 sums of the same depth. If two grids cost
/// the same, the one with more blocks down is chosen: rows of B are packed by whole lines, while
/// those of A must be transposed.
fn grid(m: usize, n: usize, threads: usize, mr: usize, nr: usize) -> (usize, usize) {
    let grids = (1..=threads)
        .rev()
        .filter(|down| threads.is_multiple_of(*down))
        .map(|down| (down, threads / down));
    let best = grids.min_by_key(|&(down, across)| {
        let rows = m.div_ceil(mr).div_ceil(down) * mr;
        let columns = n.div_ceil(nr).div_ceil(across) * nr;
        rows * columns + 48 * (rows + columns)
    });
    best.unwrap_or((threads, 1))
}

/// Returns the `index`-th of `count` ranges of whole tiles that cover `rows` rows.
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
    fn every_element_of_c_is_computed_by_one_thread() {
        for threads in [1, 2, 3, 8, 12] {
            for (m, n, batch) in
                [(1, 1, 1), (100, 70, 1), (2048, 2048, 1), (8, 5000, 3), (33, 49, 24)]
            {
                let op = Gemm { batch, ..Gemm::new(Dtype::Bf16, m, n, 4) };
                let all = partition(&op, threads, 6, 64);
                assert_eq!(all.len(), threads);
                let mut seen = vec![0; (batch * m * n) as usize];
                for block in all.iter().flatten() {
                    for row in block.rows.clone() {
                        for column in block.columns.clone() {
                            seen[(block.batch * m as usize + row) * n as usize + column] += 1;
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
    fn blocks_are_as_square_as_possible() {
        assert_eq!(grid(2048, 2048, 4, 6, 64), (2, 2));
        assert_eq!(grid(8, 4096, 4, 6, 64), (1, 4));
        assert_eq!(grid(4096, 48, 4, 6, 64), (4, 1));
    }
}
