//! Memory streams, row copies, pointer chases, a cache flush and the empty kernel.

use super::{FakeKernel, twin};
use crate::element::Element;
use crate::launch::{KernelError, Launch, Work, by_float};

pub(super) const TWINS: &[FakeKernel] = &[
    twin("rsb_read", 5, read),
    twin("rsb_read_nt", 5, read),
    twin("rsb_copy", 3, copy),
    twin("rsb_copy_nt", 3, copy),
    twin("rsb_write", 3, |launch| by_float!(launch, write)),
    twin("rsb_write_nt", 3, |launch| by_float!(launch, write)),
    twin("rsb_read_write", 3, |launch| by_float!(launch, read_write)),
    twin("rsb_read_write_nt", 3, |launch| by_float!(launch, read_write)),
    twin("rsb_triad", 5, |launch| by_float!(launch, triad)),
    twin("rsb_triad_nt", 5, |launch| by_float!(launch, triad)),
    twin("rsb_rearrange", 8, |launch| by_float!(launch, rearrange)),
    twin("rsb_gather", 6, |launch| by_float!(launch, gather)),
    twin("rsb_rotate", 9, |launch| by_float!(launch, rotate)),
    twin("rsb_pointer_chase", 3, chase),
    twin("rsb_pointer_chase_scalar", 3, chase),
    twin("rsb_flush", 2, flush),
    twin("rsb_empty", 0, |_| Ok(Work::NONE)),
];

/// Computes the exclusive-or of all 8-byte words, after padding the last word with zeros.
fn read(launch: &mut Launch<'_>) -> Result<Work, KernelError> {
    let bytes: &[u8] = launch.input(0, launch.size(1))?;
    let (words, rest) = bytes.as_chunks::<8>();
    let whole = words.iter().fold(0, |sum, word| sum ^ u64::from_le_bytes(*word));
    let last =
        rest.iter().enumerate().fold(0, |word, (at, &byte)| word | u64::from(byte) << (8 * at));
    launch.output::<u64>(4, 1)?.fill(whole ^ last);
    Ok(Work::NONE)
}

fn copy(launch: &mut Launch<'_>) -> Result<Work, KernelError> {
    let bytes = launch.size(2);
    let from: &[u8] = launch.input(0, bytes)?;
    launch.output::<u8>(1, bytes)?.copy_from_slice(from);
    Ok(Work::NONE)
}

fn write<T: Element>(launch: &mut Launch<'_>) -> Result<Work, KernelError> {
    let value = T::put(launch.number(2));
    launch.output::<T>(0, launch.size(1))?.fill(value);
    Ok(Work::NONE)
}

fn read_write<T: Element>(launch: &mut Launch<'_>) -> Result<Work, KernelError> {
    let (count, factor) = (launch.size(1), launch.number(2));
    for element in launch.in_out::<T>(0, count)? {
        *element = T::put(factor * element.get());
    }
    Ok(Work::vector(launch.dtype(), count as f64))
}

fn triad<T: Element>(launch: &mut Launch<'_>) -> Result<Work, KernelError> {
    let (count, factor) = (launch.size(3), launch.number(4));
    let (a, b): (&[T], &[T]) = (launch.input(0, count)?, launch.input(1, count)?);
    for (c, (a, b)) in launch.output::<T>(2, count)?.iter_mut().zip(a.iter().zip(b)) {
        *c = T::put(a.get() + factor * b.get());
    }
    Ok(Work::vector(launch.dtype(), 2.0 * count as f64))
}

fn rearrange<T: Element>(launch: &mut Launch<'_>) -> Result<Work, KernelError> {
    by_row::<T>(launch, 1, |_, row, room| room.copy_from_slice(row))
}

/// Rotates rows: multiplies each pair of elements, as a complex number, by its angle's cosine and
/// sine.
fn rotate<T: Element>(launch: &mut Launch<'_>) -> Result<Work, KernelError> {
    let (rows, width) = (launch.size(4), launch.size(6));
    let angles: &[T] = launch.input(1, rows.saturating_mul(width))?;
    by_row::<T>(launch, 2, |place, row, room| {
        let angles = angles.chunks_exact(width.max(1)).nth(place).unwrap_or_default();
        for ((to, x), angle) in
            room.chunks_exact_mut(2).zip(row.chunks_exact(2)).zip(angles.chunks_exact(2))
        {
            let ([to, too], [x, z], [cosine, sine]) = (to, x, angle) else { continue };
            *to = T::put(x.get() * cosine.get() - z.get() * sine.get());
            *too = T::put(x.get() * sine.get() + z.get() * cosine.get());
        }
    })
}

/// Calls `put` with the index of each row, the row, and its destination in parameter `output`. The
/// sizes are the parameters after `output`.
fn by_row<T: Element>(
    launch: &mut Launch<'_>,
    output: usize,
    put: impl Fn(usize, &[T], &mut [T]),
) -> Result<Work, KernelError> {
    let [batch, rows, columns, width, capacity, position] =
        [1, 2, 3, 4, 5, 6].map(|next| launch.size(output + next));
    let product =
        |sizes: &[usize]| sizes.iter().fold(1_usize, |all, &size| all.saturating_mul(size));
    let x: &[T] = launch.input(0, product(&[batch, rows, columns, width]))?;
    let y = launch.in_out::<T>(output, product(&[batch, columns, capacity, width]))?;
    // Only the rows of `y` that are written count as traffic.
    if let Some(room) = launch.touched.last_mut() {
        room.traffic = size_of_val(x) as u64;
    }
    for (at, row) in x.chunks_exact(width.max(1)).enumerate() {
        let (outer, within) = (at / (rows * columns), at % (rows * columns));
        let (from_row, column) = (within / columns, within % columns);
        let to = ((outer * columns + column) * capacity + position + from_row) * width;
        let room = y
            .get_mut(to..to + width)
            .ok_or_else(|| KernelError(format!("row {from_row} does not fit in the output")))?;
        put(from_row, row, room);
    }
    Ok(Work::NONE)
}

/// Copies rows of a table, selected by indices.
fn gather<T: Element>(launch: &mut Launch<'_>) -> Result<Work, KernelError> {
    let [of, rows, width] = [3, 4, 5].map(|index| launch.size(index));
    let x: &[T] = launch.input(0, of.saturating_mul(width))?;
    // Only the rows of the table that are read count as traffic.
    if let Some(table) = launch.touched.last_mut() {
        table.traffic = (rows * width * size_of::<T>()) as u64;
    }
    let indices: &[u64] = launch.input(1, rows)?;
    let y: &mut [T] = launch.output(2, rows.saturating_mul(width))?;
    for (to, &index) in y.chunks_exact_mut(width.max(1)).zip(indices) {
        let row = x.chunks_exact(width.max(1)).nth(index as usize);
        to.copy_from_slice(row.ok_or_else(|| {
            KernelError(format!("row {index} is out of range: the table has {of} rows"))
        })?);
    }
    Ok(Work::NONE)
}

/// Follows the pointers from the position that the previous launch stored. Each offset is checked,
/// since the memory size is not a parameter.
fn chase(launch: &mut Launch<'_>) -> Result<Work, KernelError> {
    let accesses = launch.count(2);
    let position: &mut [u64] = launch.in_out(1, 1)?;
    let nodes = launch.rest_of_block(0)?;
    let Some(at) = position.first_mut() else { return Ok(Work::NONE) };
    for _ in 0..accesses {
        let node = usize::try_from(*at).ok().and_then(|from| nodes.get(from..)?.first_chunk());
        *at = u64::from_le_bytes(*node.ok_or_else(|| {
            KernelError(format!("offset {at:#x} is outside the pointer chase buffer"))
        })?);
    }
    Ok(Work { dependent_reads: accesses, reach: nodes.len() as u64, ..Work::NONE })
}

fn flush(launch: &mut Launch<'_>) -> Result<Work, KernelError> {
    for word in launch.in_out::<u64>(0, launch.size(1))? {
        *word = word.wrapping_add(1);
    }
    Ok(Work::NONE)
}
