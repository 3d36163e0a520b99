//! Buffers chunk by chunk, so many at a time as threads work on at once: read and written by one, made and looked at by all.

use rsb_model::Dtype;

use super::{CHUNK, Check, has_reference, unknown_type};
use crate::convert::{decode_into, encode_values};
use crate::device::DeviceError;
use crate::random::Values;
use crate::reference::parallel;

/// Elements from one on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) start: u64,
    pub(super) count: usize,
}

/// The chunks of a buffer.
pub(super) fn waves(elements: u64) -> impl Iterator<Item = Vec<Chunk>> {
    const WAVE: usize = 64 * CHUNK;
    (0..elements).step_by(WAVE).map(move |first| {
        let end = elements.min(first + WAVE as u64);
        let chunk = |start| Chunk { start, count: (end - start).min(CHUNK as u64) as usize };
        (first..end).step_by(CHUNK).map(chunk).collect()
    })
}

/// A chunk of `values` as a buffer of `dtype` keeps it.
pub(super) fn encoded(dtype: Dtype, values: &Values, chunk: Chunk) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_values(dtype, values, chunk.start, chunk.count, &mut bytes);
    bytes
}

impl Check<'_> {
    /// What `look` makes of each chunk of buffer `index`, by several threads, given to `take` in their order.
    pub(super) fn each_wave<T: Send>(
        &self,
        index: usize,
        look: &(impl Fn(u64, &[f64]) -> T + Sync),
        mut take: impl FnMut(T),
    ) -> Result<(), DeviceError> {
        let spec = self.spec(index)?;
        if !has_reference(self.operation, spec.dtype) {
            return Err(unknown_type(spec.dtype));
        }
        for wave in waves(spec.elements) {
            let looked = parallel::each(&self.read_wave(index, spec.dtype, &wave)?, |(chunk, bytes)| {
                let mut numbers = Vec::new();
                decode_into(spec.dtype, bytes, &mut numbers);
                numbers.truncate(chunk.count);
                look(chunk.start, &numbers)
            });
            looked.into_iter().for_each(&mut take);
        }
        Ok(())
    }

    /// The bytes of each chunk of `wave` in buffer `index`.
    pub(super) fn read_wave(
        &self,
        index: usize,
        dtype: Dtype,
        wave: &[Chunk],
    ) -> Result<Vec<(Chunk, Vec<u8>)>, DeviceError> {
        let buffer = self.buffer(index)?;
        let read = |&chunk: &Chunk| {
            let mut bytes = vec![0; dtype.bytes(chunk.count as u64) as usize];
            self.device.read(buffer, dtype.bytes(chunk.start), &mut bytes)?;
            Ok((chunk, bytes))
        };
        wave.iter().map(read).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_in_one_chunk() {
        for elements in [0, 1, CHUNK as u64, 64 * CHUNK as u64 + 5, 200 * CHUNK as u64 - 1] {
            let mut next = 0;
            for chunk in waves(elements).flatten() {
                assert_eq!(chunk.start, next, "{elements}");
                assert!((1..=CHUNK).contains(&chunk.count));
                next += chunk.count as u64;
            }
            assert_eq!(next, elements);
        }
    }
}
