//! Plans shared by OpenCL and Vulkan. A plan lists the portable kernels of an operation with their
//! order and arguments. This module is pure and accesses no device.
//!
//! Portable kernels need no optional driver features. Parameters are f64 only if the data are, and
//! the groups of a launch run in any order; a step that needs the results of all groups is a
//! separate launch. Every buffer is padded to a multiple of 16 bytes, called a pack, so
//! element-wise kernels need no special case at the end.

mod checks;
mod tensor;

pub(crate) use checks::{
    Storage, check_buffers, check_patience, check_size, copy, defect, flush_bytes, on_cpu,
    unsupported_error, version_in,
};

use rsb_model::{DeviceType, Dtype};

use rsb_device::device::{DeviceError, Options};
use rsb_device::operation::{
    MemoryStream, Operation, PeakArithmetic, PointerChase, STREAM_SCALAR, Stores, StreamPattern,
};

/// Size of a pack in bytes. An element-wise work-item processes one pack.
pub(crate) const PACK: u64 = 16;

/// Work-items per group.
pub(crate) const GROUP: u32 = 256;

/// Packs per work-item of a reduction. The packs of a group must fit in L2, because a CPU traverses
/// them once for each work-item.
const PACKS_PER_ITEM: u64 = 8;

/// Operations per unit of work of the matrix peak kernels: 24 products of 16 × 16 × 16, or more
/// products of a smaller shape.
const MATRIX_PIECE: u64 = 24 * 2 * 16 * 16 * 16;

/// A source file, compiled once for each data type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Module {
    /// Memory streams, row copies, pointer chase, cache flush and the empty kernel.
    Memory,
    /// Element-wise operations.
    Elementwise,
    /// Reductions.
    Reduce,
    /// Row-wise normalization.
    Normalize,
    /// 2-D convolution.
    Convolution,
    /// GEMM.
    Gemm,
    /// Products with quantized weights.
    Quantized,
    /// Peak arithmetic rates.
    Peak,
}

/// A kernel argument.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Argument {
    /// Buffer `index` of the operation.
    Buffer(usize),
    /// Scratch buffer `index` of the plan.
    Scratch(usize),
    /// An integer.
    Count(u64),
    /// A number in the type that the kernel computes in.
    Number(f64),
}

/// Number of work-items or groups of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// Number of work-items, in groups of any size.
    Items(u64),
    /// Number of groups of [`GROUP`] work-items.
    Groups(u32),
    /// One work-item.
    One,
}

/// A kernel launch.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Step {
    /// Kernel name.
    pub(crate) kernel: &'static str,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) work: Work,
}

/// The kernel launches of an operation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plan {
    /// Source file that contains the kernels.
    pub(crate) module: Module,
    /// Data type for which the kernels are compiled.
    pub(crate) dtype: Dtype,
    /// Launches in order; each starts after the previous one.
    pub(crate) steps: Vec<Step>,
    /// Size of each scratch buffer in bytes.
    pub(crate) scratch: Vec<u64>,
    /// Provider name in records.
    pub(crate) provider: &'static str,
}

/// Device properties that affect a plan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    /// Device type. CPUs use other kernels than GPUs.
    pub(crate) device_type: DeviceType,
    /// Compute units.
    pub(crate) units: u32,
    /// Maximum groups per launch.
    pub(crate) most_groups: u32,
    /// Smallest number of bytes that a kernel can write without affecting adjacent ones.
    pub(crate) store_bytes: u64,
    /// Data types supported by the matrix units.
    pub(crate) matrix: &'static [Dtype],
}

const FLOATS: &[Dtype] = &[Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16];

impl Module {
    /// All modules.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 8] = [
        Self::Memory,
        Self::Elementwise,
        Self::Reduce,
        Self::Normalize,
        Self::Convolution,
        Self::Gemm,
        Self::Quantized,
        Self::Peak,
    ];

    /// Returns the file name without extension.
    pub(crate) const fn stem(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Elementwise => "elementwise",
            Self::Reduce => "reduce",
            Self::Normalize => "normalize",
            Self::Convolution => "convolution",
            Self::Gemm => "gemm",
            Self::Quantized => "quantized",
            Self::Peak => "peak",
        }
    }

    /// Returns the data types that the kernels support.
    pub(crate) const fn dtypes(self) -> &'static [Dtype] {
        match self {
            Self::Gemm => &[Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::I8],
            Self::Quantized => &[Dtype::F32, Dtype::F16, Dtype::Bf16],
            Self::Peak => &[Dtype::F64, Dtype::F32, Dtype::F16],
            _ => FLOATS,
        }
    }
}

/// Returns the error for simultaneous transfers in both directions, which no portable backend
/// supports.
pub(crate) fn both_ways_at_once() -> DeviceError {
    unsupported_error(
        "simultaneous transfers in both directions",
        "this backend uses only one queue per device",
        "measure each direction separately, or use the vendor's runtime (--backend rocm or cuda)",
    )
}

/// Plans `operation` with portable kernels.
pub(crate) fn plan(
    operation: &Operation,
    options: &Options,
    target: Target,
) -> Result<Plan, DeviceError> {
    let planner = Planner { options, target };
    let plan = match operation {
        Operation::Stream(op) => planner.stream(op)?,
        Operation::PointerChase(op) => chase(op),
        Operation::PeakArithmetic(op) => planner.peak(*op)?,
        Operation::Elementwise(op) => tensor::elementwise(op),
        Operation::Reduce(op) => planner.reduce(*op),
        Operation::Normalize(op) => planner.normalize(op)?,
        Operation::Rearrange(op) => planner.rearrange(op)?,
        Operation::Gather(_) => {
            return Err(unsupported_error(
                "gather of table rows",
                "there is no portable kernel for it",
                "omit the vocabulary, or measure with --backend rocm, cuda or cpu",
            ));
        }
        Operation::Attention(_) => {
            return Err(unsupported_error(
                "fused attention",
                "there is no portable kernel for it",
                "choose attention=staged, or measure with --backend rocm, cuda or cpu",
            ));
        }
        Operation::Convolution(op) => tensor::convolution(op)?,
        Operation::Gemm(op) => planner.gemm(op)?,
        Operation::Quantized(op) => planner.quantized_product(op)?,
        _ => {
            return Err(unsupported_error(
                operation.name(),
                "it is not a device kernel",
                "measure it on the CPU, with --backend cpu",
            ));
        }
    };
    planner.check_provider(operation)?;
    if plan.module.dtypes().contains(&plan.dtype) {
        return Ok(plan);
    }
    let known =
        plan.module.dtypes().iter().map(|dtype| dtype.as_str()).collect::<Vec<_>>().join(", ");
    Err(unsupported_error(
        &format!("{} of {}", operation.name(), plan.dtype),
        format!("there are portable kernels for {known}"),
        "choose one of these data types",
    ))
}

/// Plans a cache flush: overwrites `packs` packs of buffer 0, then reads as many packs of buffer 1
/// and stores their exclusive-or in buffer 2. The reads leave clean data in the caches, so the
/// following kernel does not pay for write-backs.
pub(crate) fn flush(packs: u64, target: Target) -> Plan {
    let write = Step {
        kernel: "rsb_flush",
        arguments: vec![Argument::Buffer(0), Argument::Count(packs)],
        work: Work::Items(packs),
    };
    let mut plan = Planner { options: &Options::default(), target }.read(packs, [1, 2]);
    plan.steps.insert(0, write);
    plan
}

/// Plans the empty kernel.
pub(crate) fn empty() -> Plan {
    let step = Step { kernel: "rsb_empty", arguments: Vec::new(), work: Work::One };
    Plan::of(Module::Memory, Dtype::F32, vec![step])
}

/// Plans `accesses` dependent reads by one work-item. The number of work-items is passed as an
/// argument, so that the compiler cannot prove that all lanes read the same offset; AMD's compiler
/// would then use the scalar data cache.
pub(crate) fn chase(op: &PointerChase) -> Plan {
    let arguments = vec![
        Argument::Buffer(0),
        Argument::Buffer(1),
        Argument::Count(op.accesses),
        Argument::Count(1),
    ];
    Plan::of(
        Module::Memory,
        Dtype::F32,
        vec![Step { kernel: "rsb_pointer_chase", arguments, work: Work::One }],
    )
}

impl Plan {
    fn of(module: Module, dtype: Dtype, steps: Vec<Step>) -> Self {
        Self { module, dtype, steps, scratch: Vec::new(), provider: "native" }
    }
}

/// Inputs for planning an operation.
struct Planner<'a> {
    options: &'a Options,
    target: Target,
}

impl Planner<'_> {
    fn check_provider(&self, operation: &Operation) -> Result<(), DeviceError> {
        let chooses: &[&str] = match operation {
            Operation::Gemm(_) => &["native", "native-naive", "native-tiled"],
            Operation::PeakArithmetic(_) => &["native", "vector", "matrix"],
            _ => &["native"],
        };
        let Some(name) = self.options.provider.as_deref().filter(|name| !chooses.contains(name))
        else {
            return Ok(());
        };
        let cure = match name {
            "mkl" | "onednn" | "openblas" | "gemm" => {
                "this provider uses host memory: measure it with --backend cpu"
            }
            _ => "choose one of these providers, or auto",
        };
        let why = format!("this backend has the providers {}", chooses.join(" and "));
        Err(unsupported_error(&format!("{} by {name}", operation.name()), why, cure))
    }

    /// Rejects rows that do not end at a multiple of the smallest store.
    fn check_rows(&self, what: &str, dtype: Dtype, columns: u64) -> Result<(), DeviceError> {
        if dtype.bytes(columns).is_multiple_of(self.target.store_bytes) {
            return Ok(());
        }
        Err(unsupported_error(
            &format!("{what} of {dtype} in rows of {columns}"),
            format!(
                "this backend writes {} bytes at a time, and the row size is not a multiple of \
                 that",
                self.target.store_bytes
            ),
            "choose rows of even length",
        ))
    }

    fn stream(&self, op: &MemoryStream) -> Result<Plan, DeviceError> {
        if op.stores == Stores::NonTemporal {
            return Err(unsupported_error(
                "non-temporal stores",
                "the kernel language of this backend has no non-temporal stores",
                "choose stores=temporal, or measure on the CPU, with --backend cpu",
            ));
        }
        let packs = op.dtype.bytes(op.elements).div_ceil(PACK);
        let (buffer, scalar) = (Argument::Buffer, Argument::Number(STREAM_SCALAR));
        let (kernel, arguments) = match op.pattern {
            StreamPattern::Read => return Ok(self.read(packs, [0, 1])),
            StreamPattern::Write => ("rsb_write", vec![buffer(0), Argument::Count(packs), scalar]),
            StreamPattern::ReadWrite => {
                ("rsb_read_write", vec![buffer(0), Argument::Count(packs), Argument::Number(-1.0)])
            }
            StreamPattern::Copy => ("rsb_copy", vec![buffer(0), buffer(1), Argument::Count(packs)]),
            StreamPattern::Triad => {
                ("rsb_triad", vec![buffer(0), buffer(1), buffer(2), Argument::Count(packs), scalar])
            }
        };
        let dtype = if op.pattern == StreamPattern::Copy { Dtype::F32 } else { op.dtype };
        Ok(Plan::of(
            Module::Memory,
            dtype,
            vec![Step { kernel, arguments, work: Work::Items(packs) }],
        ))
    }

    /// Plans reads of a whole buffer, whose exclusive-or is stored in another buffer. `from` and
    /// `to` are buffer indices.
    fn read(&self, packs: u64, [from, to]: [usize; 2]) -> Plan {
        let (share, groups) = self.shares(packs);
        let (count, scratch) = (Argument::Count, Argument::Scratch(0));
        let steps = vec![
            Step {
                kernel: "rsb_read",
                arguments: vec![Argument::Buffer(from), scratch, count(packs), count(share)],
                work: Work::Groups(groups),
            },
            Step {
                kernel: "rsb_read_end",
                arguments: vec![scratch, Argument::Buffer(to), count(u64::from(groups))],
                work: Work::Groups(1),
            },
        ];
        Plan { scratch: vec![u64::from(groups) * 8], ..Plan::of(Module::Memory, Dtype::F32, steps) }
    }

    /// Divides `packs` packs between groups. Returns the number of packs per group and the number
    /// of groups.
    fn shares(&self, packs: u64) -> (u64, u32) {
        let share = (u64::from(GROUP) * PACKS_PER_ITEM)
            .max(packs.div_ceil(u64::from(self.target.most_groups.max(1))));
        (share, u32::try_from(packs.div_ceil(share).max(1)).unwrap_or(u32::MAX))
    }

    fn peak(&self, op: PeakArithmetic) -> Result<Plan, DeviceError> {
        let (kernel, piece, provider) = match self.options.provider.as_deref() {
            Some("matrix") if self.target.matrix.contains(&op.dtype) => {
                ("rsb_peak_matrix", MATRIX_PIECE, "native-matrix")
            }
            Some("matrix") => {
                return Err(unsupported_error(
                    &format!("matrix units for {}", op.dtype),
                    "this backend does not expose the device's matrix units (on vulkan: \
                     VK_KHR_cooperative_matrix for f16)",
                    "choose engine=vector, or use the GPU's native runtime or a newer driver",
                ));
            }
            _ => ("rsb_peak_vector", PeakArithmetic::UNIT, "native-vector"),
        };
        if !op.operations.is_multiple_of(piece) {
            return Err(unsupported_error(
                &format!("{} operations", op.operations),
                format!("the number of operations must be a multiple of {piece}"),
                "choose a multiple of it",
            ));
        }
        let arguments = vec![Argument::Buffer(0), Argument::Count(op.operations / piece)];
        let groups = (4 * self.target.units.max(1)).min(self.target.most_groups);
        let step = Step { kernel, arguments, work: Work::Groups(groups) };
        Ok(Plan { provider, ..Plan::of(Module::Peak, op.dtype, vec![step]) })
    }
}

#[cfg(test)]
mod tests;
