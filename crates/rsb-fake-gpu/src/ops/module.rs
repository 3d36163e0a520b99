//! Code objects, kernels and their launches.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Arc;

use hip_runtime_sys::func_attribute;

use crate::image::Image;
use crate::kernels;
use crate::state::{Function, Module, State, Task, current};
use crate::status::{self, Status};

/// What every kernel is said to need. A real compiler would tell.
const REGISTERS: c_int = 40;
const SHARED_BYTES: c_int = 2048;

/// Blocks of a launch and threads of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// Along x, y and z.
    pub(crate) grid: [u32; 3],
    /// Along x, y and z.
    pub(crate) block: [u32; 3],
    /// Shared memory beside the kernel's own.
    pub(crate) shared_bytes: u32,
}

/// The largest launch that an interface lets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Blocks along x, y and z.
    pub(crate) grid: [u32; 3],
    /// Threads of all blocks along an axis.
    pub(crate) threads: u64,
    /// Threads along x, y and z.
    pub(crate) block: [u32; 3],
    /// Shared memory beside the kernel's own.
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

/// Whether each size is at least 1 and at most its limit.
fn are_within(sizes: &[u32; 3], limits: &[u32; 3]) -> bool {
    sizes.iter().zip(limits).all(|(size, most)| (1..=*most).contains(size))
}

impl State {
    /// Loads the code object at `image` for the current GPU.
    ///
    /// # Safety
    /// It must be null or a whole code object.
    pub(crate) unsafe fn load_image(&mut self, image: *const c_void) -> Result<usize, Status> {
        self.sound(current())?;
        // SAFETY: by the promise of the caller; those of this fake GPU say how long they are.
        let image = unsafe { Image::read(image.cast()) }.ok_or(status::INVALID_IMAGE)?;
        if image.arch != self.model.arch {
            return Err(status::NO_BINARY_FOR_GPU);
        }
        Ok(self.modules.add(Module { gpu: current(), image }))
    }

    /// A kernel of a module by its name.
    ///
    /// # Safety
    /// `name` must be null or point to a text that ends with a zero.
    pub(crate) unsafe fn kernel(
        &mut self,
        module: usize,
        name: *const c_char,
    ) -> Result<usize, Status> {
        if name.is_null() {
            return Err(status::INVALID_VALUE);
        }
        // SAFETY: by the promise of the caller.
        let symbol = unsafe { CStr::from_ptr(name) }.to_str().map_err(|_| status::NOT_FOUND)?;
        let Module { gpu, image } = self.modules.get(module)?;
        let Some((twin, _)) = kernels::find(symbol) else {
            eprintln!("rsb-fake-gpu: {symbol} has no twin in crates/rsb-fake-gpu/src/kernels");
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
    /// `parameters` must be null or point to one pointer for each parameter of the kernel, each to
    /// its 8 bytes.
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
        // SAFETY: by the promise of the caller.
        let argument =
            |index: usize| unsafe { (*parameters.add(index)).cast::<u64>().read_unaligned() };
        let arguments = (0..twin.parameters).map(argument).collect();
        self.hand_over(stream, Task::Kernel { symbol, arguments })
    }

    /// Blocks of a kernel that a compute unit holds at once. So few registers never limit.
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

    /// One number about a kernel.
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
