//! Code objects, kernels and their launches.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Arc;

use hip_runtime_sys::func_attribute;

use crate::image::Image;
use crate::kernels;
use crate::state::{Function, Module, State, Task, current};
use crate::status::{self, Status};

/// Register and shared memory use reported for every kernel. A real compiler would determine it.
const REGISTERS: c_int = 40;
const SHARED_BYTES: c_int = 2048;

/// Grid and block sizes of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// Blocks along x, y and z.
    pub(crate) grid: [u32; 3],
    /// Threads along x, y and z.
    pub(crate) block: [u32; 3],
    /// Dynamic shared memory per block, in bytes.
    pub(crate) shared_bytes: u32,
}

/// Launch limits of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Blocks along x, y and z.
    pub(crate) grid: [u32; 3],
    /// Product of blocks and threads per block, along each axis.
    pub(crate) threads: u64,
    /// Threads along x, y and z.
    pub(crate) block: [u32; 3],
    /// Dynamic shared memory per block, in bytes.
    pub(crate) shared_bytes: u32,
}

impl Geometry {
    fn is_within(&self, limits: &Limits) -> bool {
        let threads =
            self.block.iter().fold(1_u64, |all, &size| all.saturating_mul(u64::from(size)));
        let along = self
            .grid
            .iter()
            .zip(&self.block)
            .map(|(&grid, &block)| u64::from(grid) * u64::from(block));
        threads <= 1024
            && along.into_iter().all(|threads| threads <= limits.threads)
            && self.shared_bytes <= limits.shared_bytes
            && are_within(&self.grid, &limits.grid)
            && are_within(&self.block, &limits.block)
    }
}

/// Returns whether each size is at least 1 and at most its limit.
fn are_within(sizes: &[u32; 3], limits: &[u32; 3]) -> bool {
    sizes.iter().zip(limits).all(|(size, most)| (1..=*most).contains(size))
}

impl State {
    /// Loads the code object at `image` on the current GPU.
    ///
    /// # Safety
    /// `image` must be null or point to a complete code object.
    pub(crate) unsafe fn load_image(&mut self, image: *const c_void) -> Result<usize, Status> {
        self.sound(current())?;
        // SAFETY: the caller guarantees a complete code object; the header of this compiler's code
        // objects specifies their length.
        let image = unsafe { Image::read(image.cast()) }.ok_or(status::INVALID_IMAGE)?;
        if image.arch != self.model.arch {
            return Err(status::NO_BINARY_FOR_GPU);
        }
        Ok(self.modules.add(Module { gpu: current(), image }))
    }

    /// Returns the kernel `name` of a module.
    ///
    /// # Safety
    /// `name` must be null or point to a zero-terminated text.
    pub(crate) unsafe fn kernel(
        &mut self,
        module: usize,
        name: *const c_char,
    ) -> Result<usize, Status> {
        if name.is_null() {
            return Err(status::INVALID_VALUE);
        }
        // SAFETY: guaranteed by the caller.
        let symbol = unsafe { CStr::from_ptr(name) }.to_str().map_err(|_| status::NOT_FOUND)?;
        let Module { gpu, image } = self.modules.get(module)?;
        let Some((twin, _)) = kernels::find(symbol) else {
            eprintln!(
                "rsb-fake-gpu: {symbol} has no implementation in crates/rsb-fake-gpu/src/kernels"
            );
            return Err(status::NOT_FOUND);
        };
        if !image.holds(symbol, twin.stem) {
            return Err(status::NOT_FOUND);
        }
        let function = Function { gpu: *gpu, symbol: Arc::from(symbol) };
        Ok(self.functions.add(function))
    }

    /// Launches a kernel in a stream of its GPU.
    ///
    /// # Safety
    /// `parameters` must be null or point to one pointer per kernel parameter, each to 8 bytes.
    pub(crate) unsafe fn launch_kernel(
        &mut self,
        function: usize,
        geometry: Geometry,
        limits: &Limits,
        stream: usize,
        parameters: *const *mut c_void,
    ) -> Result<(), Status> {
        let Function { gpu, symbol } = self.functions.get(function)?.clone();
        if self.stream(stream)?.gpu != gpu {
            return Err(status::INVALID_HANDLE);
        }
        let (twin, _) = kernels::find(&symbol).ok_or(status::NOT_FOUND)?;
        if !geometry.is_within(limits) {
            return Err(status::INVALID_CONFIGURATION);
        }
        if parameters.is_null() && twin.parameters > 0 {
            return Err(status::INVALID_VALUE);
        }
        // SAFETY: guaranteed by the caller.
        let argument =
            |index: usize| unsafe { (*parameters.add(index)).cast::<u64>().read_unaligned() };
        let arguments = (0..twin.parameters).map(argument).collect();
        self.hand_over(stream, Task::Kernel { symbol, arguments })
    }

    /// Returns how many blocks of a kernel a compute unit can hold at once. Registers are never the
    /// limit.
    pub(crate) fn resident_blocks(
        &mut self,
        function: usize,
        block_size: c_int,
        shared_bytes: usize,
    ) -> Result<c_int, Status> {
        self.functions.get(function)?;
        if !(1..=1024).contains(&block_size) {
            return Err(status::INVALID_VALUE);
        }
        let unit = self.model.unit;
        let wavefront = self.model.wavefront.cast_signed();
        let threads = (block_size + wavefront - 1) / wavefront * wavefront;
        let shared =
            c_int::try_from(shared_bytes).unwrap_or(c_int::MAX).saturating_add(SHARED_BYTES);
        Ok((unit.threads / threads).min(unit.shared_bytes / shared).min(unit.blocks))
    }

    /// Returns an attribute of a kernel.
    pub(crate) fn function_attribute(
        &mut self,
        function: usize,
        number: c_int,
    ) -> Result<c_int, Status> {
        self.functions.get(function)?;
        Ok(match number {
            func_attribute::MAX_THREADS_PER_BLOCK => 1024,
            func_attribute::SHARED_SIZE_BYTES => SHARED_BYTES,
            func_attribute::LOCAL_SIZE_BYTES => 0,
            func_attribute::NUM_REGS => REGISTERS,
            _ => return Err(status::INVALID_VALUE),
        })
    }
}
