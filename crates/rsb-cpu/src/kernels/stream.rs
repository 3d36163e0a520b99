//! Memory traffic: read, write, copy, triad and read-write in place, with cached or non-temporal
//! stores.
//!
//! The loops contain a compiler fence. Without it the compiler turns them into `memcpy` and
//! `memset`, which choose between temporal and non-temporal stores themselves.

use std::sync::Mutex;

use rsb_model::Dtype;

use super::vector::{self, PlainNumber};
use crate::kernel::{Bound, CpuKernel, no_kernel, unsupported_error};
use crate::memory::Memory;
use crate::span::Span;
use crate::thread_pool::ThreadPool;
use rsb_device::convert::HalfFormat;
use rsb_device::device::DeviceError;
use rsb_device::operation::{MemoryStream, STREAM_SCALAR, Stores, StreamPattern};
use rsb_gemm::convert::{self, BLOCK};

/// Threads get whole cache lines, so that no two threads write to the same line.
const LINE: usize = 64;

pub(super) fn kernel(op: &MemoryStream, bound: Bound) -> Result<CpuKernel, DeviceError> {
    if op.stores == Stores::NonTemporal && !vector::HAS_NON_TEMPORAL {
        return Err(unsupported_error(
            "non-temporal stores",
            format!("no kernel uses them on {}", std::env::consts::ARCH),
            "choose stores=temporal",
        ));
    }
    let bytes = op.dtype.bytes(op.elements) as usize;
    let Some(pattern) = word_of_scalar(op.dtype) else {
        return Err(no_kernel("memory traffic", op.dtype, "f64, f32, f16 and bf16"));
    };
    let (first, second, third) = (bound.span(0), bound.span(1), bound.span(2));
    let stores = op.stores;
    Ok(match op.pattern {
        StreamPattern::Read => read(bound, bytes),
        StreamPattern::Write => CpuKernel::native(move || {
            each_share(&bound.pool, bytes, |share| {
                // SAFETY: `bound` keeps the buffer alive, and shares are disjoint.
                vector::write(pattern, unsafe { first.slice_mut(&share) }, stores);
            });
        }),
        StreamPattern::Copy => CpuKernel::native(move || {
            each_share(&bound.pool, bytes, |share| {
                // SAFETY: `bound` keeps both buffers alive; they are distinct, and shares are
                // disjoint.
                unsafe { vector::copy(first.slice(&share), second.slice_mut(&share), stores) };
            });
        }),
        StreamPattern::ReadWrite => {
            // Multiplying by -1 flips the sign, the highest bit of an element.
            let bits = 8 * op.dtype.bytes(1);
            let signs = (u64::MAX / (u64::MAX >> (64 - bits))) << (bits - 1);
            CpuKernel::native(move || {
                each_share(&bound.pool, bytes, |share| {
                    // SAFETY: `bound` keeps the buffer alive, and shares are disjoint.
                    turn(signs, unsafe { first.slice_mut(&share) }, stores);
                });
            })
        }
        StreamPattern::Triad => {
            let dtype = op.dtype;
            CpuKernel::native(move || {
                each_share(&bound.pool, bytes, |share| {
                    // SAFETY: `bound` keeps the three buffers alive; they are distinct, and shares
                    // are disjoint.
                    unsafe { triad(dtype, stores, [first, second, third], &share) };
                });
            })
        }
    })
}

fn each_share(pool: &ThreadPool, bytes: usize, work: impl Fn(std::ops::Range<usize>) + Sync) {
    pool.each(|index| work(pool.share(index, bytes, LINE)));
}

fn read(bound: Bound, bytes: usize) -> CpuKernel {
    let (source, result) = (bound.span(0), bound.span(1));
    let total = Mutex::new(0_u64);
    CpuKernel::native(move || {
        if let Ok(mut total) = total.lock() {
            *total = 0;
        }
        each_share(&bound.pool, bytes, |share| {
            // SAFETY: `bound` keeps the buffer alive, and nothing writes to it during a launch.
            let sum = vector::checksum(unsafe { source.slice(&share) });
            if let Ok(mut total) = total.lock() {
                *total ^= sum;
            }
        });
        let total = total.lock().map_or(0, |total| *total);
        // SAFETY: the second buffer is one word, kept by `bound`, and only this thread runs now.
        unsafe { result.slice_mut::<u8>(&(0..8)) }.copy_from_slice(&total.to_le_bytes());
    })
}

/// Returns a word filled with copies of the scalar in `dtype`.
fn word_of_scalar(dtype: Dtype) -> Option<u64> {
    Some(match dtype {
        Dtype::F64 => STREAM_SCALAR.to_bits(),
        Dtype::F32 => u64::from((STREAM_SCALAR as f32).to_bits()) * 0x0000_0001_0000_0001,
        Dtype::F16 => {
            u64::from(half::f16::from_f64(STREAM_SCALAR).to_bits()) * 0x0001_0001_0001_0001
        }
        Dtype::Bf16 => {
            u64::from(half::bf16::from_f64(STREAM_SCALAR).to_bits()) * 0x0001_0001_0001_0001
        }
        _ => return None,
    })
}

/// Flips signs in place. With non-temporal stores, results pass through a block that stays in L1.
fn turn(signs: u64, all: &mut [u8], stores: Stores) {
    if stores == Stores::Temporal {
        return vector::turn(signs, all);
    }
    let mut block = vector::Aligned([0_u8; 4096]);
    for part in all.chunks_mut(block.0.len()) {
        let Some(block) = block.0.get_mut(..part.len()) else { return };
        block.copy_from_slice(part);
        vector::turn(signs, block);
        vector::copy(block, part, stores);
    }
}

/// Computes c ← a + s·b over the bytes `share`.
///
/// # Safety
/// The three spans are distinct buffers that outlive the call, and nothing else accesses this share
/// of the third.
unsafe fn triad(
    dtype: Dtype,
    stores: Stores,
    [a, b, c]: [Span; 3],
    share: &std::ops::Range<usize>,
) {
    let size = dtype.bytes(1) as usize;
    let elements = share.start / size..share.end / size;
    match dtype {
        // SAFETY: guaranteed by the caller.
        Dtype::F64 => unsafe {
            blocks(
                stores,
                a.slice(&elements),
                b.slice(&elements),
                c.slice_mut(&elements),
                triad_f64,
            );
        },
        // SAFETY: guaranteed by the caller.
        Dtype::F32 => unsafe {
            blocks(
                stores,
                a.slice(&elements),
                b.slice(&elements),
                c.slice_mut(&elements),
                triad_f32,
            );
        },
        _ => {
            let format = if dtype == Dtype::F16 { HalfFormat::F16 } else { HalfFormat::Bf16 };
            // SAFETY: guaranteed by the caller.
            let (a, b, c) =
                unsafe { (a.slice(&elements), b.slice(&elements), c.slice_mut(&elements)) };
            blocks(stores, a, b, c, |a: &[u16], b: &[u16], c: &mut [u16]| {
                triad_sixteen(format, a, b, c);
            });
        }
    }
}

/// Writes directly to c. With non-temporal stores, results pass through a block that stays in L1.
fn blocks<T: Copy + PlainNumber>(
    stores: Stores,
    a: &[T],
    b: &[T],
    c: &mut [T],
    work: impl Fn(&[T], &[T], &mut [T]),
) {
    let mut block = vector::Aligned([T::ZERO; BLOCK]);
    for ((a, b), c) in a.chunks(BLOCK).zip(b.chunks(BLOCK)).zip(c.chunks_mut(BLOCK)) {
        match (stores, block.0.get_mut(..c.len())) {
            (Stores::NonTemporal, Some(block)) => {
                work(a, b, block);
                vector::copy(T::bytes(block), T::bytes_mut(c), stores);
            }
            _ => work(a, b, c),
        }
    }
}

#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma",
    "x86_64+avx2+fma"
))]
fn triad_f32(a: &[f32], b: &[f32], c: &mut [f32]) {
    let scalar = STREAM_SCALAR as f32;
    for ((c, &a), &b) in c.iter_mut().zip(a).zip(b) {
        *c = a + scalar * b;
    }
}

#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma",
    "x86_64+avx2+fma"
))]
fn triad_f64(a: &[f64], b: &[f64], c: &mut [f64]) {
    for ((c, &a), &b) in c.iter_mut().zip(a).zip(b) {
        *c = a + STREAM_SCALAR * b;
    }
}

fn triad_sixteen(format: HalfFormat, a: &[u16], b: &[u16], c: &mut [u16]) {
    let (mut wide_a, mut wide_b, mut wide_c) = ([0.0; BLOCK], [0.0; BLOCK], [0.0; BLOCK]);
    let length = c.len();
    let (Some(wide_a), Some(wide_b), Some(wide_c)) =
        (wide_a.get_mut(..length), wide_b.get_mut(..length), wide_c.get_mut(..length))
    else {
        return;
    };
    convert::widen(format, a, wide_a);
    convert::widen(format, b, wide_b);
    triad_f32(wide_a, wide_b, wide_c);
    convert::narrow(format, wide_c, c);
}

/// Reads and rewrites all of `memory`, which evicts previous data from the caches.
pub(crate) fn evict(memory: &Memory) {
    // SAFETY: the memory is borrowed for the call, and only this thread uses it.
    let bytes = unsafe { Span::of(memory).slice_mut::<u8>(&(0..memory.bytes())) };
    let word = vector::checksum(bytes).rotate_left(1) | 1;
    vector::write(word, bytes, Stores::Temporal);
}
