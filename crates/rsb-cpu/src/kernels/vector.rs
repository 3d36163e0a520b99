//! Wide loads and stores. On `x86_64` the non-temporal loops use intrinsics, since plain Rust
//! cannot bypass the caches; other loops are plain Rust.

use std::sync::atomic::{Ordering, compiler_fence};

use rsb_device::operation::Stores;

/// Whether non-temporal stores are available.
pub(super) const HAS_NON_TEMPORAL: bool = cfg!(target_arch = "x86_64");

/// A value aligned to a cache line.
#[repr(align(64))]
pub(super) struct Aligned<T>(pub(super) T);

/// Numbers that can be viewed as bytes.
pub(super) trait PlainNumber: Sized {
    const ZERO: Self;
    fn bytes(of: &[Self]) -> &[u8];
    fn bytes_mut(of: &mut [Self]) -> &mut [u8];
}

macro_rules! line {
    ($($number:ty),*) => {$(
        impl PlainNumber for $number {
            const ZERO: Self = 0 as $number;
            fn bytes(of: &[Self]) -> &[u8] {
                // SAFETY: numbers have no padding, and bytes need no alignment.
                unsafe { std::slice::from_raw_parts(of.as_ptr().cast(), size_of_val(of)) }
            }
            fn bytes_mut(of: &mut [Self]) -> &mut [u8] {
                // SAFETY: as above, and all bit patterns are valid numbers.
                unsafe { std::slice::from_raw_parts_mut(of.as_mut_ptr().cast(), size_of_val(of)) }
            }
        }
    )*};
}
line!(f32, f64, u16);

/// Fills `to` with repetitions of `word`.
pub(super) fn write(word: u64, to: &mut [u8], stores: Stores) {
    let rest = match stores {
        #[cfg(target_arch = "x86_64")]
        Stores::NonTemporal => x86::write_around(word, to),
        _ => wide::write(word, to),
    };
    let from = to.len() - rest;
    let bytes = word.to_le_bytes().into_iter().cycle().skip(from % 8);
    to.iter_mut().skip(from).zip(bytes).for_each(|(to, byte)| *to = byte);
}

/// Copies `from` to `to`, which have the same length.
pub(super) fn copy(from: &[u8], to: &mut [u8], stores: Stores) {
    let length = from.len().min(to.len());
    let rest = match stores {
        #[cfg(target_arch = "x86_64")]
        Stores::NonTemporal => x86::copy_around(from, to),
        _ => wide::copy(from, to),
    };
    let done = length - rest;
    if let (Some(to), Some(from)) = (to.get_mut(done..length), from.get(done..length)) {
        to.copy_from_slice(from);
    }
}

/// XORs every word of `all` with `word`.
pub(super) fn turn(word: u64, all: &mut [u8]) {
    let from = all.len() - wide::turn(word, all);
    let bytes = word.to_le_bytes().into_iter().cycle().skip(from % 8);
    all.iter_mut().skip(from).zip(bytes).for_each(|(to, byte)| *to ^= byte);
}

/// Returns the XOR of all words of `from`, the last one padded with zeros.
pub(super) fn checksum(from: &[u8]) -> u64 {
    let (blocks, rest) = from.as_chunks::<256>();
    let (words, rest) = rest.as_chunks::<8>();
    let mut last = [0; 8];
    last.iter_mut().zip(rest).for_each(|(to, &from)| *to = from);
    let tail =
        words.iter().fold(u64::from_le_bytes(last), |sum, &word| sum ^ u64::from_le_bytes(word));
    tail ^ checksum_blocks(blocks)
}

#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma",
    "x86_64+avx2+fma"
))]
fn checksum_blocks(blocks: &[[u8; 256]]) -> u64 {
    let mut sums = [0_u64; 32];
    for block in blocks {
        for (sum, word) in sums.iter_mut().zip(block.as_chunks::<8>().0) {
            *sum ^= u64::from_ne_bytes(*word);
        }
        // Without the fence, LLVM processes eight blocks at once with gathers on AVX-512, which is
        // 13 times slower.
        compiler_fence(Ordering::SeqCst);
    }
    u64::from_le(sums.iter().fold(0, |all, sum| all ^ sum))
}

/// Cached stores with the widest moves of the compiler.
mod wide {
    use super::{Ordering, compiler_fence};

    /// Writes whole blocks. Returns the number of bytes left at the end.
    #[multiversion::multiversion(targets(
        "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma",
        "x86_64+avx2+fma"
    ))]
    pub(super) fn write(word: u64, to: &mut [u8]) -> usize {
        let (blocks, rest) = to.as_chunks_mut::<256>();
        let mut block = [0_u8; 256];
        block.as_chunks_mut::<8>().0.iter_mut().for_each(|slot| *slot = word.to_le_bytes());
        for to in blocks {
            *to = block;
            compiler_fence(Ordering::SeqCst);
        }
        rest.len()
    }

    /// XORs whole blocks. Returns the number of bytes left at the end.
    #[multiversion::multiversion(targets(
        "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma",
        "x86_64+avx2+fma"
    ))]
    pub(super) fn turn(word: u64, all: &mut [u8]) -> usize {
        let (blocks, rest) = all.as_chunks_mut::<256>();
        for block in blocks {
            for slot in block.as_chunks_mut::<8>().0 {
                *slot = (u64::from_le_bytes(*slot) ^ word).to_le_bytes();
            }
            compiler_fence(Ordering::SeqCst);
        }
        rest.len()
    }

    /// Copies whole blocks. Returns the number of bytes left at the end.
    #[multiversion::multiversion(targets(
        "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma",
        "x86_64+avx2+fma"
    ))]
    pub(super) fn copy(from: &[u8], to: &mut [u8]) -> usize {
        let (from, _) = from.as_chunks::<128>();
        let (to, rest) = to.as_chunks_mut::<128>();
        for (to, from) in to.iter_mut().zip(from) {
            *to = *from;
            compiler_fence(Ordering::SeqCst);
        }
        rest.len()
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        _mm_loadu_si128, _mm_set1_epi64x, _mm_sfence, _mm_stream_si128, _mm256_loadu_si256,
        _mm256_set1_epi64x, _mm256_stream_si256,
    };

    /// Bytes per loop iteration: two cache lines.
    const TURN: usize = 128;

    /// Returns the number of bytes before the first cache line boundary in `to`, at most its
    /// length.
    fn to_alignment(to: &[u8]) -> usize {
        to.as_ptr().align_offset(64).min(to.len())
    }

    /// Writes with non-temporal stores. Returns the number of bytes left at the end.
    pub(super) fn write_around(word: u64, to: &mut [u8]) -> usize {
        let head = to_alignment(to);
        let (start, body) = to.split_at_mut(head);
        start.iter_mut().zip(word.to_le_bytes().iter().cycle()).for_each(|(to, &byte)| *to = byte);
        // If the head is not a multiple of eight bytes, the remaining words start in the middle of
        // `word`.
        let word = word.rotate_right((head % 8 * 8) as u32);
        let (blocks, rest) = body.as_chunks_mut::<TURN>();
        if std::arch::is_x86_feature_detected!("avx") {
            // SAFETY: AVX was detected.
            unsafe { write_avx(word, blocks) };
        } else {
            // SAFETY: SSE2 is part of x86_64.
            unsafe { write_sse(word, blocks) };
        }
        rest.len()
    }

    #[target_feature(enable = "avx")]
    fn write_avx(word: u64, blocks: &mut [[u8; TURN]]) {
        let value = _mm256_set1_epi64x(word.cast_signed());
        for block in blocks {
            let to = block.as_mut_ptr();
            for part in 0..4 {
                // SAFETY: four vectors of 32 bytes fill one block; blocks are aligned to cache
                // lines.
                unsafe { _mm256_stream_si256(to.add(32 * part).cast(), value) };
            }
        }
        // Streaming stores are unordered until a fence.
        _mm_sfence();
    }

    #[target_feature(enable = "sse2")]
    fn write_sse(word: u64, blocks: &mut [[u8; TURN]]) {
        let value = _mm_set1_epi64x(word.cast_signed());
        for block in blocks {
            let to = block.as_mut_ptr();
            for part in 0..8 {
                // SAFETY: eight vectors of 16 bytes fill one block; blocks are aligned to cache
                // lines.
                unsafe { _mm_stream_si128(to.add(16 * part).cast(), value) };
            }
        }
        _mm_sfence();
    }

    /// Copies with non-temporal stores. Returns the number of bytes left at the end.
    pub(super) fn copy_around(from: &[u8], to: &mut [u8]) -> usize {
        let length = from.len().min(to.len());
        let head = to_alignment(to).min(length);
        let (Some((first, body)), Some((first_to, body_to))) =
            (from.split_at_checked(head), to.split_at_mut_checked(head))
        else {
            return length;
        };
        first_to.copy_from_slice(first);
        let (source, _) = body.as_chunks::<TURN>();
        let (target, rest) = body_to.as_chunks_mut::<TURN>();
        if std::arch::is_x86_feature_detected!("avx") {
            // SAFETY: AVX was detected.
            unsafe { copy_avx(source, target) };
        } else {
            // SAFETY: SSE2 is part of x86_64.
            unsafe { copy_sse(source, target) };
        }
        rest.len()
    }

    /// Copies blocks with AVX. Reads rely on the hardware prefetcher: non-temporal reads occupy its
    /// few line fill buffers and make the copy take twice as long (a Xeon with AMX) or a tenth
    /// longer (Zen 5).
    #[target_feature(enable = "avx")]
    fn copy_avx(source: &[[u8; TURN]], target: &mut [[u8; TURN]]) {
        for (from, to) in source.iter().zip(target) {
            let (from, to) = (from.as_ptr(), to.as_mut_ptr());
            for part in 0..4 {
                // SAFETY: four vectors of 32 bytes are one block on both sides; targets are aligned
                // to cache lines.
                unsafe {
                    let value = _mm256_loadu_si256(from.add(32 * part).cast());
                    _mm256_stream_si256(to.add(32 * part).cast(), value);
                }
            }
        }
        _mm_sfence();
    }

    #[target_feature(enable = "sse2")]
    fn copy_sse(source: &[[u8; TURN]], target: &mut [[u8; TURN]]) {
        for (from, to) in source.iter().zip(target) {
            let (from, to) = (from.as_ptr(), to.as_mut_ptr());
            for part in 0..8 {
                // SAFETY: eight vectors of 16 bytes are one block on both sides; targets are
                // aligned to cache lines.
                unsafe {
                    let value = _mm_loadu_si128(from.add(16 * part).cast());
                    _mm_stream_si128(to.add(16 * part).cast(), value);
                }
            }
        }
        _mm_sfence();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_and_alignment_is_done_to_the_last_byte() {
        let source: Vec<u8> = (0..1500_usize).map(|index| (index * 31 % 251) as u8).collect();
        for stores in [Stores::Temporal, Stores::NonTemporal] {
            if stores == Stores::NonTemporal && !HAS_NON_TEMPORAL {
                continue;
            }
            for start in [0, 1, 8, 63, 64] {
                for length in [0, 1, 7, 64, 127, 128, 129, 700, 1400] {
                    let mut target = vec![0; start + length + 3];
                    copy(
                        &source[start..start + length],
                        &mut target[start..start + length],
                        stores,
                    );
                    assert_eq!(
                        target[start..start + length],
                        source[start..start + length],
                        "{start} {length}"
                    );
                    assert!(
                        target[..start]
                            .iter()
                            .chain(&target[start + length..])
                            .all(|&byte| byte == 0)
                    );
                    let word = 0x0102_0304_0506_0708_u64;
                    let mut target = vec![0; start + length + 3];
                    write(word, &mut target[start..start + length], stores);
                    let expected: Vec<u8> =
                        word.to_le_bytes().into_iter().cycle().take(length).collect();
                    assert_eq!(
                        target[start..start + length],
                        expected,
                        "{start} {length} {stores}"
                    );
                    assert!(
                        target[..start]
                            .iter()
                            .chain(&target[start + length..])
                            .all(|&byte| byte == 0)
                    );
                }
            }
        }
    }

    #[test]
    fn a_checksum_is_the_exclusive_or_of_words() {
        let bytes: Vec<u8> = (0..1003_usize).map(|index| (index * 7 % 256) as u8).collect();
        let mut expected = 0;
        for word in bytes.chunks(8) {
            let mut padded = [0; 8];
            padded[..word.len()].copy_from_slice(word);
            expected ^= u64::from_le_bytes(padded);
        }
        assert_eq!(checksum(&bytes), expected);
    }
}
