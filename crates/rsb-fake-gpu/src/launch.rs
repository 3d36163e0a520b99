//! A kernel launch. Memory is checked when a kernel accesses a parameter; accesses to memory that
//! the GPU cannot reach fail, as on a real GPU.

use rsb_model::Dtype;
use rsb_model::architecture::Engine;

use crate::element::Element;
use crate::heap::{Heap, Home};

/// Amount of work of a kernel, from which its duration is computed. Traffic is counted separately,
/// by the launch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Work {
    /// Arithmetic operations.
    pub(crate) flops: f64,
    /// Engine that did the operations.
    pub(crate) engine: Engine,
    /// Type of the operations.
    pub(crate) dtype: Dtype,
    /// Number of reads that each depend on the previous one.
    pub(crate) dependent_reads: u64,
    /// Size of the memory that these reads access, in bytes.
    pub(crate) reach: u64,
}

impl Work {
    /// No work except traffic.
    pub(crate) const NONE: Self = Self {
        flops: 0.0,
        engine: Engine::Vector,
        dtype: Dtype::F32,
        dependent_reads: 0,
        reach: 0,
    };

    /// Returns work of `flops` operations on the vector unit.
    pub(crate) fn vector(dtype: Dtype, flops: f64) -> Self {
        Self { flops, dtype, ..Self::NONE }
    }
}

/// Reason why a kernel could not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KernelError(pub(crate) String);

impl KernelError {
    /// Returns the error for a type that the kernel does not support.
    pub(crate) fn no_type(dtype: Dtype) -> Self {
        Self(format!("there is no such kernel for {dtype}"))
    }
}

/// Calls a generic function with the floating-point type in the kernel's name.
macro_rules! by_float {
    ($launch:expr, $function:ident) => {
        match $launch.dtype() {
            rsb_model::Dtype::F64 => $function::<f64>($launch),
            rsb_model::Dtype::F32 => $function::<f32>($launch),
            rsb_model::Dtype::F16 => $function::<half::f16>($launch),
            rsb_model::Dtype::Bf16 => $function::<half::bf16>($launch),
            other => Err($crate::launch::KernelError::no_type(other)),
        }
    };
}
pub(crate) use by_float;

/// A range of a block that a launch uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Touched {
    /// Start of the block.
    pub(crate) block: usize,
    /// Its id.
    pub(crate) id: u64,
    /// Bytes read and written.
    pub(crate) traffic: u64,
    /// Start and end of the range.
    range: (usize, usize),
    /// Whether the range is written.
    pub(crate) written: bool,
}

impl Touched {
    /// Returns the start address and the end address.
    pub(crate) fn range(&self) -> (usize, usize) {
        self.range
    }
}

/// A launch in progress. Blocks are not freed during `'m`.
pub(crate) struct Launch<'m> {
    heap: &'m Heap,
    gpu: usize,
    dtype: Dtype,
    arguments: &'m [u64],
    pub(crate) touched: Vec<Touched>,
    /// Whether a second launch gives the same result: false if the launch reads data that it also
    /// writes.
    pub(crate) repeatable: bool,
}

impl<'m> Launch<'m> {
    /// Creates a launch with these arguments on `gpu`.
    pub(crate) fn new(heap: &'m Heap, gpu: usize, dtype: Dtype, arguments: &'m [u64]) -> Self {
        Self { heap, gpu, dtype, arguments, touched: Vec::new(), repeatable: true }
    }

    /// Returns the type in the kernel's name; f32 if it has none.
    pub(crate) fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Returns parameter `index` as an integer.
    pub(crate) fn count(&self, index: usize) -> u64 {
        self.arguments.get(index).copied().unwrap_or(0)
    }

    /// Returns parameter `index` as a size.
    pub(crate) fn size(&self, index: usize) -> usize {
        usize::try_from(self.count(index)).unwrap_or(usize::MAX)
    }

    /// Returns parameter `index` as an f64.
    pub(crate) fn number(&self, index: usize) -> f64 {
        f64::from_bits(self.count(index))
    }

    /// Returns `count` elements at parameter `index`, for reading.
    pub(crate) fn input<T: Element>(
        &mut self,
        index: usize,
        count: usize,
    ) -> Result<&'m [T], KernelError> {
        let address = self.stretch::<T>(index, count, Use::Read)?;
        // SAFETY: `stretch` has checked that the elements are aligned, are in a block of the GPU,
        // and overlap nothing that this launch writes. Any bytes are a valid `Element`, and the
        // heap is borrowed for `'m`, so the block is not freed.
        Ok(unsafe { std::slice::from_raw_parts(address as *const T, count) })
    }

    /// Returns `count` elements at parameter `index`, for writing only.
    pub(crate) fn output<T: Element>(
        &mut self,
        index: usize,
        count: usize,
    ) -> Result<&'m mut [T], KernelError> {
        self.writable(index, count, Use::Write)
    }

    /// Returns `count` elements at parameter `index`, for reading and writing.
    pub(crate) fn in_out<T: Element>(
        &mut self,
        index: usize,
        count: usize,
    ) -> Result<&'m mut [T], KernelError> {
        self.repeatable = false;
        self.writable(index, count, Use::Both)
    }

    /// Returns the memory from the address in parameter `index` to the end of its block, for reads
    /// at offsets that only the kernel knows. These reads do not count as traffic.
    pub(crate) fn rest_of_block(&mut self, index: usize) -> Result<&'m [u8], KernelError> {
        let address = self.size(index);
        let left =
            self.heap.around(address).map_or(1, |block| block.address + block.bytes - address);
        let bytes = self.input(index, left)?;
        if let Some(last) = self.touched.last_mut() {
            last.traffic = 0;
        }
        Ok(bytes)
    }

    fn writable<T: Element>(
        &mut self,
        index: usize,
        count: usize,
        how: Use,
    ) -> Result<&'m mut [T], KernelError> {
        let address = self.stretch::<T>(index, count, how)?;
        // SAFETY: as in `input`; `stretch` has also checked that the elements overlap nothing else
        // that this launch uses, and the fake GPU is locked while a kernel runs.
        Ok(unsafe { std::slice::from_raw_parts_mut(address as *mut T, count) })
    }

    fn stretch<T>(&mut self, index: usize, count: usize, how: Use) -> Result<usize, KernelError> {
        let address = self.size(index);
        let bytes = count
            .checked_mul(size_of::<T>())
            .ok_or_else(|| KernelError(format!("{count} elements")))?;
        if bytes == 0 {
            return Ok(align_of::<T>());
        }
        let block = self.heap.find(address, bytes);
        let block = block.filter(|block| match block.home {
            Home::Gpu(gpu) => gpu == self.gpu,
            Home::Pinned | Home::Managed(_) => true,
        });
        let Some(block) = block.filter(|_| address.is_multiple_of(align_of::<T>())) else {
            return Err(KernelError(format!(
                "parameter {index}: {bytes} bytes at {address:#x} are not memory of GPU {}",
                self.gpu
            )));
        };
        let range = (address, address + bytes);
        let is_shared = self.touched.iter().any(|other| {
            let overlaps = range.0 < other.range.1 && other.range.0 < range.1;
            overlaps && (other.written || how != Use::Read)
        });
        if is_shared {
            return Err(KernelError(format!(
                "parameter {index} overlaps another parameter, and one of them is written"
            )));
        }
        let traffic = bytes as u64 * if how == Use::Both { 2 } else { 1 };
        self.touched.push(Touched {
            block: block.address,
            id: block.id,
            traffic,
            range,
            written: how != Use::Read,
        });
        Ok(address)
    }
}

/// Access to a parameter's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Read,
    Write,
    Both,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_memory_of_the_gpu_is_refused() {
        let mut heap = Heap::default();
        let here = heap.give(64, Home::Gpu(0)).unwrap() as u64;
        let elsewhere = heap.give(64, Home::Gpu(1)).unwrap() as u64;
        let arguments = [here, elsewhere, here + 32, here + 1, 0x10];
        let launch = || Launch::new(&heap, 0, Dtype::F32, &arguments);
        assert!(launch().input::<f32>(0, 16).is_ok());
        assert!(launch().input::<f32>(0, 17).is_err(), "beyond the block");
        assert!(launch().input::<f32>(1, 1).is_err(), "on another GPU");
        assert!(launch().input::<f32>(3, 1).is_err(), "not aligned");
        assert!(launch().output::<f32>(4, 1).is_err(), "an address outside any allocation");
        let mut overlapping = launch();
        overlapping.input::<f32>(0, 16).unwrap();
        assert!(overlapping.output::<f32>(2, 8).is_err());
        let mut apart = launch();
        apart.input::<f32>(0, 8).unwrap();
        assert!(apart.output::<f32>(2, 8).is_ok() && apart.repeatable);
    }
}
