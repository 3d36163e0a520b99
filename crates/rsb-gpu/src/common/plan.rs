//! Selection of the kernel, arguments and grid for an operation. Pure: no device is accessed.

mod tensor;

use rsb_model::architecture::{ARCHITECTURES, Architecture, Engine};
use rsb_model::{Dtype, Reason};

use super::catalog::{self, ANY_BLOCK, KernelInfo, SHARING_BLOCK};
use rsb_device::device::{DeviceError, Options};
use rsb_device::operation::{
    MemoryStream, Operation, PeakArithmetic, PointerChase, STREAM_SCALAR, Stores, StreamPattern,
};

/// Value of a parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Argument {
    /// Buffer `index` of the operation.
    Buffer(usize),
    /// Zeroed workspace of the launch, sized per block.
    Scratch {
        /// Bytes per block. The workspace has at least eight bytes in total.
        bytes_per_block: u64,
    },
    /// A zeroed 64-bit word of the launch.
    Counter,
    /// An integer.
    Count(u64),
    /// A floating-point number.
    Number(f64),
}

/// A planned launch.
#[derive(Debug, Clone)]
pub(super) struct LaunchPlan {
    pub(super) kernel: &'static KernelInfo,
    pub(super) symbol: String,
    pub(super) arguments: Vec<Argument>,
    /// Number of blocks.
    pub(super) grid: u32,
    /// Threads in a block.
    pub(super) block: u32,
}

/// Properties of the GPU that a plan depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gpu<'a> {
    /// Architecture, such as `gfx90a` or `sm_90`.
    pub(super) arch: &'a str,
    pub(super) units: u32,
}

/// Blocks per compute unit for kernels with grid-stride loops: enough to fill every unit several
/// times.
const BLOCKS_PER_UNIT: u32 = 16;

/// Blocks per compute unit for kernels that reduce in two steps: each block stores a partial
/// result, and the last block reads all of them.
const SHARING_BLOCKS_PER_UNIT: u32 = 8;

/// Operations of one wavefront in one work item on the matrix units.
pub(super) const MATRIX_PIECE: u64 = 8 * PeakArithmetic::UNIT;

/// Plans `operation` with a native kernel.
pub(super) fn plan(
    operation: &Operation,
    options: &Options,
    gpu: Gpu<'_>,
) -> Result<LaunchPlan, DeviceError> {
    let planner = Planner { options, gpu };
    match operation {
        Operation::Stream(op) => planner.stream(op),
        Operation::PointerChase(op) => planner.chase(op),
        Operation::PeakArithmetic(op) => planner.peak(*op),
        Operation::Elementwise(op) => planner.elementwise(op),
        Operation::Reduce(op) => planner.reduce(*op),
        Operation::Normalize(op) => planner.normalize(op),
        Operation::Attention(op) => planner.attention(op),
        Operation::Rearrange(op) => planner.rearrange(op),
        Operation::Gather(op) => {
            let arguments = (0..3)
                .map(Argument::Buffer)
                .chain([op.of, op.rows, op.width].map(Argument::Count))
                .collect();
            planner.plan_strided("rsb_gather", Some(op.dtype), arguments, op.elements())
        }
        Operation::Convolution(op) => planner.convolution(op),
        Operation::Gemm(op) => planner.gemm(op),
        Operation::Quantized(op) => planner.quantized_product(op),
        Operation::Allocate(_)
        | Operation::Churn(_)
        | Operation::Transfer(_)
        | Operation::Launch(_) => Err(unsupported_error(
            operation.name(),
            "it is not a GPU kernel",
            "measure it on the CPU, with --backend cpu",
        )),
    }
}

/// Context in which one operation is planned.
struct Planner<'a> {
    options: &'a Options,
    gpu: Gpu<'a>,
}

impl Planner<'_> {
    fn kernel(
        &self,
        stem: &str,
        dtype: Option<Dtype>,
    ) -> Result<(&'static KernelInfo, String), DeviceError> {
        let kernel = catalog::find(stem).ok_or_else(|| {
            unsupported_error(
                stem,
                "the kernel is missing from the kernel table",
                "report this as a bug",
            )
        })?;
        if let Some(dtype) = dtype.filter(|dtype| !kernel.exists(*dtype, self.gpu.arch)) {
            let known = kernel.dtypes.iter().filter(|dtype| kernel.exists(**dtype, self.gpu.arch));
            let known = known.map(|dtype| dtype.as_str()).collect::<Vec<_>>().join(", ");
            let arch = self.gpu.arch;
            let is_listed = kernel.module == catalog::Module::Peak
                && Architecture::find(arch)
                    .is_ok_and(|row| row.per_clock_per_cu(dtype, kernel.unit).is_some());
            let mut why = match known.as_str() {
                _ if is_listed => {
                    let unit = if kernel.unit == Engine::Vector { "vector" } else { "matrix" };
                    format!(
                        "the {unit} unit of {arch} supports it, with instructions that this \
                         program does not use"
                    )
                }
                "" => format!("{arch} has no unit that supports it"),
                known => format!("{arch} has kernels for {known}"),
            };
            if kernel.unit != Engine::Vector {
                why += &where_it_is(kernel, dtype);
            }
            if kernel.module == catalog::Module::Gemm {
                why += &by_libraries(arch, dtype);
            }
            let what = stem.trim_start_matches("rsb_").replace('_', "-");
            return Err(unsupported_error(
                &format!("{what} of {dtype}"),
                why,
                "choose one of these data types",
            ));
        }
        Ok((kernel, kernel.symbol(dtype)))
    }

    /// Plans a grid-stride loop over the work of `threads` threads.
    fn plan_strided(
        &self,
        stem: &str,
        dtype: Option<Dtype>,
        arguments: Vec<Argument>,
        threads: u64,
    ) -> Result<LaunchPlan, DeviceError> {
        let (kernel, symbol) = self.kernel(stem, dtype)?;
        let block = self.block(kernel)?;
        let most = self.gpu.units.max(1)
            * if kernel.block == ANY_BLOCK { BLOCKS_PER_UNIT } else { SHARING_BLOCKS_PER_UNIT };
        Ok(LaunchPlan {
            kernel,
            symbol,
            arguments,
            grid: launchable(blocks(threads, block).min(most), block),
            block,
        })
    }

    /// Plans `grid` blocks of the kernel's block size, or as many as one launch allows; kernels
    /// loop over the rest.
    fn exactly(
        &self,
        stem: &str,
        dtype: Option<Dtype>,
        arguments: Vec<Argument>,
        grid: u32,
    ) -> Result<LaunchPlan, DeviceError> {
        let (kernel, symbol) = self.kernel(stem, dtype)?;
        let block = self.block(kernel)?;
        Ok(LaunchPlan { kernel, symbol, arguments, grid: launchable(grid, block), block })
    }

    /// Returns the threads per block: the requested number, if the kernel supports it.
    fn block(&self, kernel: &KernelInfo) -> Result<u32, DeviceError> {
        let own = kernel.block.min(SHARING_BLOCK);
        match self.options.block_size {
            None => Ok(own),
            Some(size) if size == own => Ok(own),
            Some(size) if kernel.block == ANY_BLOCK && (1..=ANY_BLOCK).contains(&size) => Ok(size),
            Some(size) => Err(unsupported_error(
                &format!("blocks of {size} threads"),
                if kernel.block == ANY_BLOCK {
                    format!("a block has 1 to {ANY_BLOCK} threads")
                } else {
                    format!("{} uses blocks of {own} threads", kernel.stem)
                },
                "choose another block size, or an operation with a variable block size, such as \
                 triad",
            )),
        }
    }

    fn stream(&self, op: &MemoryStream) -> Result<LaunchPlan, DeviceError> {
        let bytes = op.dtype.bytes(op.elements);
        let packs = bytes.div_ceil(16);
        let is_around = op.stores == Stores::NonTemporal;
        let buffer = Argument::Buffer;
        match op.pattern {
            StreamPattern::Read => {
                let arguments = vec![
                    buffer(0),
                    Argument::Count(bytes),
                    Argument::Scratch { bytes_per_block: 8 },
                    Argument::Counter,
                    buffer(1),
                ];
                self.plan_strided(
                    if is_around { "rsb_read_nt" } else { "rsb_read" },
                    None,
                    arguments,
                    packs,
                )
            }
            StreamPattern::Write => {
                let arguments =
                    vec![buffer(0), Argument::Count(op.elements), Argument::Number(STREAM_SCALAR)];
                self.plan_strided(
                    if is_around { "rsb_write_nt" } else { "rsb_write" },
                    Some(op.dtype),
                    arguments,
                    packs,
                )
            }
            StreamPattern::Copy => {
                let arguments = vec![buffer(0), buffer(1), Argument::Count(bytes)];
                self.plan_strided(
                    if is_around { "rsb_copy_nt" } else { "rsb_copy" },
                    None,
                    arguments,
                    packs,
                )
            }
            StreamPattern::ReadWrite => {
                let arguments =
                    vec![buffer(0), Argument::Count(op.elements), Argument::Number(-1.0)];
                self.plan_strided(
                    if is_around { "rsb_read_write_nt" } else { "rsb_read_write" },
                    Some(op.dtype),
                    arguments,
                    packs,
                )
            }
            StreamPattern::Triad => {
                let (n, s) = (Argument::Count(op.elements), Argument::Number(STREAM_SCALAR));
                let arguments = vec![buffer(0), buffer(1), buffer(2), n, s];
                self.plan_strided(
                    if is_around { "rsb_triad_nt" } else { "rsb_triad" },
                    Some(op.dtype),
                    arguments,
                    packs,
                )
            }
        }
    }

    /// Plans a pointer chase through the vector data cache, or with the provider `scalar` through
    /// the scalar one, which only AMD GPUs have.
    fn chase(&self, op: &PointerChase) -> Result<LaunchPlan, DeviceError> {
        let stem = match self.options.provider.as_deref() {
            None | Some("native") => "rsb_pointer_chase",
            Some("scalar") if self.gpu.arch.starts_with("gfx") => "rsb_pointer_chase_scalar",
            Some("scalar") => {
                return Err(unsupported_error(
                    "reads through a scalar data cache",
                    format!("{} has none", self.gpu.arch),
                    "choose path=vector, or measure an AMD GPU with --backend rocm",
                ));
            }
            Some(other) => return Err(provider(other, "memory-latency", "native and scalar")),
        };
        let arguments =
            vec![Argument::Buffer(0), Argument::Buffer(1), Argument::Count(op.accesses)];
        self.exactly(stem, None, arguments, 1)
    }

    /// Plans a peak kernel on the matrix units if they support the type, unless another unit is
    /// requested.
    fn peak(&self, op: PeakArithmetic) -> Result<LaunchPlan, DeviceError> {
        let has = super::matrix_dtypes(self.gpu.arch).contains(&op.dtype);
        let matrix = ("rsb_peak_matrix", MATRIX_PIECE);
        let (stem, piece) = match self.options.provider.as_deref() {
            Some("matrix") => matrix,
            Some("sparse") => ("rsb_peak_sparse", MATRIX_PIECE),
            None if has && op.operations.is_multiple_of(MATRIX_PIECE) => matrix,
            None | Some("vector") => ("rsb_peak_vector", PeakArithmetic::UNIT),
            Some(other) => {
                return Err(provider(other, "compute-peak", "vector, matrix and sparse"));
            }
        };
        if !op.operations.is_multiple_of(piece) {
            return Err(unsupported_error(
                &format!("{} operations", op.operations),
                format!("the number of operations must be a multiple of {piece}"),
                "choose a multiple of it",
            ));
        }
        // Four blocks per compute unit are 16 wavefronts of 64 threads, four on each vector unit.
        let arguments = vec![Argument::Buffer(0), Argument::Count(op.operations / piece)];
        self.exactly(stem, Some(op.dtype), arguments, 4 * self.gpu.units.max(1))
    }
}

/// Returns a clause for the end of a message that names the first architectures with matrix
/// instructions for `dtype` in `kernel`.
fn where_it_is(kernel: &KernelInfo, dtype: Dtype) -> String {
    let mut names = Vec::new();
    for vendor in ["gfx", "sm_"] {
        let mut of_vendor =
            ARCHITECTURES.iter().map(|known| known.target).filter(|name| name.starts_with(vendor));
        names.extend(of_vendor.find(|target| kernel.exists(dtype, target)));
    }
    if names.is_empty() {
        String::new()
    } else {
        format!("; the first with a kernel is {}", names.join(" or "))
    }
}

/// Explains products that only libraries support: whether this GPU has instructions for them, and
/// the first architecture of its vendor that has.
fn by_libraries(arch: &str, dtype: Dtype) -> String {
    let first = ARCHITECTURES
        .iter()
        .filter(|known| known.target.get(..2) == arch.get(..2))
        .find(|known| has_matrix_unit(known, dtype));
    match first {
        Some(_) if Architecture::find(arch).is_ok_and(|own| has_matrix_unit(own, dtype)) => {
            "; its matrix units support it, and libraries provide such products if they are \
             installed"
                .to_owned()
        }
        Some(first) => {
            format!(
                "; libraries provide such products if the matrix units support the data type, from \
                 {} on",
                first.target
            )
        }
        None => String::new(),
    }
}

fn has_matrix_unit(known: &Architecture, dtype: Dtype) -> bool {
    known.per_clock_per_cu(dtype, Engine::Matrix).is_some()
}

/// Limits the blocks of a launch to fewer than 2³² threads. HIP rejects more
/// (`hipErrorInvalidConfiguration` if `grid × block` exceeds `UINT32_MAX`; `ihipModuleLaunchKernel`
/// in clr's `hip_module.cpp`).
fn launchable(grid: u32, block: u32) -> u32 {
    grid.clamp(1, u32::MAX / block.max(1))
}

/// Returns the number of blocks with at least `threads` threads.
fn blocks(threads: u64, block: u32) -> u32 {
    u32::try_from(threads.div_ceil(u64::from(block.max(1))).max(1)).unwrap_or(u32::MAX)
}

pub(super) fn provider(name: &str, what: &str, there_are: &str) -> DeviceError {
    unsupported_error(
        &format!("{what} by {name}"),
        format!("GPUs have the providers {there_are}"),
        "choose one of these providers, or auto",
    )
}

pub(super) fn unsupported_error(what: &str, why: impl Into<String>, cure: &str) -> DeviceError {
    DeviceError::Unsupported(Reason::new(what, why, cure))
}

#[cfg(test)]
mod tests;
