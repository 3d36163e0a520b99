//! What OpenCL and Vulkan share: which of the portable kernels do an operation, in which order,
//! with which arguments. Pure: no device is asked.
//!
//! Portable kernels rely on nothing that a driver may lack: no number in f64 among the parameters
//! unless the data are, no order between the groups of one launch. What needs the results of all
//! groups is a launch of its own. Every buffer is padded with room to whole packs of 16 bytes, so
//! that kernels that go element by element need no special end.

mod checks;
mod tensor;

pub(crate) use checks::{
    Storage, check_buffers, check_patience, check_size, copy, defect, flush_bytes, on_cpu,
    unsupported_error,
};

use rsb_model::{DeviceType, Dtype};

use rsb_device::device::{DeviceError, Options};
use rsb_device::operation::{
    MemoryStream, Operation, PeakArithmetic, PointerChase, STREAM_SCALAR, Stores, StreamPattern,
};

/// Bytes that a work-item moves at once.
pub(crate) const PACK: u64 = 16;

/// Work-items of a group.
pub(crate) const GROUP: u32 = 256;

/// Packs that each work-item of a reduction takes: its group's share fits in a second-level cache,
/// as a CPU goes through the share once for each work-item.
const PACKS_PER_ITEM: u64 = 8;

/// Operations in a piece of work of the matrix units: 24 products of 16 x 16 x 16, or as many more
/// of a smaller shape.
const MATRIX_PIECE: u64 = 24 * 2 * 16 * 16 * 16;

/// A file of sources, compiled once for each data type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Module {
    /// Streams, pointer chase, flush, the empty kernel.
    Memory,
    /// Element by element.
    Elementwise,
    /// All to one.
    Reduce,
    /// Along rows.
    Normalize,
    /// 2-D convolution.
    Convolution,
    /// Matrix products.
    Gemm,
    /// Products with weights of few bits.
    Quantized,
    /// Peak rates of arithmetic.
    Peak,
}

/// A value for a parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Argument {
    /// Buffer `index` of the operation.
    Buffer(usize),
    /// Room `index` of the plan.
    Scratch(usize),
    /// A whole number.
    Count(u64),
    /// A number, in the type that the kernel computes in.
    Number(f64),
}

/// How much a launch does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// So many work-items, in groups of any size.
    Items(u64),
    /// So many groups of [`GROUP`] work-items.
    Groups(u32),
    /// One work-item.
    One,
}

/// One launch.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Step {
    /// The kernel's name.
    pub(crate) kernel: &'static str,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) work: Work,
}

/// What does an operation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plan {
    /// Where its kernels are.
    pub(crate) module: Module,
    /// The data type that they are compiled for.
    pub(crate) dtype: Dtype,
    /// Launches, each after the one before.
    pub(crate) steps: Vec<Step>,
    /// Bytes of each room for partial results.
    pub(crate) scratch: Vec<u64>,
    /// What it is called in records.
    pub(crate) provider: &'static str,
}

/// What a plan depends on beside the operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    /// Of a CPU other kernels are fast.
    pub(crate) device_type: DeviceType,
    /// Compute units.
    pub(crate) units: u32,
    /// Most groups of one launch.
    pub(crate) most_groups: u32,
    /// Bytes that a kernel can write by themselves, without those beside them.
    pub(crate) store_bytes: u64,
    /// The data types that its matrix units multiply.
    pub(crate) matrix: &'static [Dtype],
}

const FLOATS: &[Dtype] = &[Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16];

impl Module {
    /// Every one.
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

    /// The file's name without its ending.
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

    /// The data types that its kernels are written for.
    pub(crate) const fn dtypes(self) -> &'static [Dtype] {
        match self {
            Self::Gemm => &[Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::I8],
            Self::Quantized => &[Dtype::F32, Dtype::F16, Dtype::Bf16],
            Self::Peak => &[Dtype::F64, Dtype::F32, Dtype::F16],
            _ => FLOATS,
        }
    }
}

/// Why there are no transfers both ways at once.
pub(crate) fn both_ways_at_once() -> DeviceError {
    unsupported_error(
        "transfers both ways at once",
        "a device has one queue on this backend here",
        "measure each direction alone, or the GPU through its vendor's runtime (--backend rocm or \
         cuda)",
    )
}

/// Plans `operation` by portable kernels.
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
                "rows of a table by their indices",
                "the portable kernels have no such lookup",
                "leave the vocabulary out, or measure with --backend rocm, cuda or cpu",
            ));
        }
        Operation::Attention(_) => {
            return Err(unsupported_error(
                "attention in one kernel",
                "the portable kernels have none",
                "choose attention=staged, or measure with --backend rocm, cuda or cpu",
            ));
        }
        Operation::Convolution(op) => tensor::convolution(op)?,
        Operation::Gemm(op) => planner.gemm(op)?,
        Operation::Quantized(op) => planner.quantized_product(op)?,
        _ => {
            return Err(unsupported_error(
                operation.name(),
                "it is no kernel of a device",
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

/// Writes over `packs` packs of buffer 0, so that nothing else stays in a cache; then reads as many
/// of buffer 1 into the word of buffer 2, so that what stays is clean and its eviction costs the
/// kernel that follows nothing.
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

/// The empty kernel.
pub(crate) fn empty() -> Plan {
    let step = Step { kernel: "rsb_empty", arguments: Vec::new(), work: Work::One };
    Plan::of(Module::Memory, Dtype::F32, vec![step])
}

/// One after the other, `accesses` times, by one lane. How many lanes walk is an argument, so that
/// no compiler knows that the offset is the same for all of them: AMD's would read it through the
/// scalar data cache.
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

/// One plan in the making.
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
                "it works on the host's memory: measure it with --backend cpu"
            }
            _ => "choose one of these, or auto",
        };
        let why = format!("on this backend there are {}", chooses.join(" and "));
        Err(unsupported_error(&format!("{} by {name}", operation.name()), why, cure))
    }

    /// Refuses rows that do not end where a kernel can stop writing.
    fn check_rows(&self, what: &str, dtype: Dtype, columns: u64) -> Result<(), DeviceError> {
        if dtype.bytes(columns).is_multiple_of(self.target.store_bytes) {
            return Ok(());
        }
        Err(unsupported_error(
            &format!("{what} of {dtype} in rows of {columns}"),
            format!(
                "this backend writes {} bytes at once, and rows end between",
                self.target.store_bytes
            ),
            "choose rows of even length",
        ))
    }

    fn stream(&self, op: &MemoryStream) -> Result<Plan, DeviceError> {
        if op.stores == Stores::NonTemporal {
            return Err(unsupported_error(
                "stores around the caches",
                "this backend's language has none",
                "leave `stores` at temporal, or measure on the CPU, with --backend cpu",
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

    /// From one buffer to the word of another.
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

    /// Packs for each group, and groups.
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
                    "this backend shows none of the device's (on vulkan: VK_KHR_cooperative_matrix \
                     for f16)",
                    "measure the engine `vector`, or use the GPU's native runtime or a newer \
                     driver",
                ));
            }
            _ => ("rsb_peak_vector", PeakArithmetic::UNIT, "native-vector"),
        };
        if !op.operations.is_multiple_of(piece) {
            return Err(unsupported_error(
                &format!("{} operations", op.operations),
                format!("a piece of work has {piece}"),
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
