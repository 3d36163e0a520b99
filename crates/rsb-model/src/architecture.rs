//! What each instruction set of AMD's and NVIDIA's GPUs can do in a clock: the one table behind peaks, kernels and docs.
//!
//! A peak is what the data sheet would say at the clock given. It is no promise: power and heat lower the clock, and
//! GPUs of the RDNA family may run above the highest clock that their driver lists.

use std::fmt;

use crate::field::Fields;
use crate::gpu::Gpu;
use crate::ids::Dtype;
use crate::outcome::Reason;

mod releases;
mod residency;
mod table;

pub use releases::{Releases, ToolkitRelease, known, releases, toolkit, unknown};
pub use residency::{Needs, Residency, residency};
pub use table::ARCHITECTURES;

/// One instruction set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Architecture {
    /// `gfx942`, `sm_90`.
    pub target: &'static str,
    /// The family by the vendor's name: `CDNA 3`.
    pub family: &'static str,
    /// GPUs that have it, for people.
    pub gpus: &'static str,
    /// Threads in a wavefront, in the mode that compilers choose by themselves.
    pub wavefront: u32,
    /// The matrix unit, where there is one.
    pub matrix: Option<MatrixUnit>,
    /// What it can do by data type and engine.
    pub rates: &'static [Rate],
    /// The first ROCm or CUDA whose runtime compiler knows it.
    pub since: ToolkitRelease,
    /// Where the figures come from.
    pub source: &'static str,
}

/// A matrix unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatrixUnit {
    /// Its kind of instruction.
    pub kind: MatrixKind,
    /// Its generation, counted within the kind.
    pub generation: u32,
}

impl fmt::Display for MatrixUnit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.kind.as_str(), self.generation)
    }
}

/// The kind of matrix instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatrixKind {
    /// Matrix fused multiply-add, of the CDNA family.
    Mfma,
    /// Wave matrix multiply-accumulate, of the RDNA family.
    Wmma,
    /// Matrix multiply-accumulate of NVIDIA's tensor cores.
    Mma,
}

impl MatrixKind {
    /// The word used in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mfma => "MFMA",
            Self::Wmma => "WMMA",
            Self::Mma => "MMA",
        }
    }
}

/// Which part of a compute unit does the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Engine {
    /// The matrix unit.
    Matrix,
    /// The vector unit, packed or dual-issued where that is possible; dot products for integers.
    Vector,
    /// The matrix unit, where two of every four elements of A are zero and not there. Counted as if they were.
    Sparse,
}

impl Engine {
    /// The word used in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Matrix => "matrix",
            Self::Vector => "vector",
            Self::Sparse => "sparse",
        }
    }
}

/// What one engine does with one data type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// The type of the operands.
    pub dtype: Dtype,
    /// The engine.
    pub engine: Engine,
    /// Operations of one compute unit in a clock; a multiply-add is two.
    pub per_clock_per_cu: u32,
    /// Tiles m × n × k of the matrix instructions, those of one block.
    pub tiles: &'static [[u32; 3]],
}

/// A peak of one GPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Peak {
    /// The type of the operands.
    pub dtype: Dtype,
    /// The engine.
    pub engine: Engine,
    /// 10¹² operations a second.
    pub tflops: f64,
}

impl Architecture {
    /// The architecture of `target`: `gfx90a`, also with features as in `gfx90a:sramecc+:xnack-`.
    ///
    /// # Errors
    /// When the table does not know it: what, why and cure.
    pub fn find(target: &str) -> Result<&'static Self, Reason> {
        let bare = target.split(':').next().unwrap_or_default();
        ARCHITECTURES.iter().find(|known| known.target == bare).ok_or_else(|| {
            Reason::new(
                format!("no peaks for {}", if bare.is_empty() { "an unknown architecture" } else { bare }),
                "the table of architectures does not hold it",
                "measure without a peak, or add a row with its source to crates/rsb-model/src/architecture/table.rs",
            )
        })
    }

    /// Operations of one compute unit in a clock, where the engine has the type.
    pub fn per_clock_per_cu(&self, dtype: Dtype, engine: Engine) -> Option<u32> {
        self.rate(dtype, engine).map(|rate| rate.per_clock_per_cu)
    }

    /// Tiles of the dense matrix instructions for `dtype`; empty where there are none.
    pub fn tiles(&self, dtype: Dtype) -> &'static [[u32; 3]] {
        self.tiles_of(dtype, Engine::Matrix)
    }

    /// Tiles of the engine's instructions for `dtype`; empty where there are none.
    pub fn tiles_of(&self, dtype: Dtype, engine: Engine) -> &'static [[u32; 3]] {
        self.rate(dtype, engine).map_or(&[], |rate| rate.tiles)
    }

    fn rate(&self, dtype: Dtype, engine: Engine) -> Option<&'static Rate> {
        self.rates.iter().find(|rate| rate.dtype == dtype && rate.engine == engine)
    }

    /// The peak of `compute_units` at `clock_mhz`, where the engine has the type.
    pub fn peak_tflops(&self, dtype: Dtype, engine: Engine, compute_units: u32, clock_mhz: f64) -> Option<f64> {
        let each = self.per_clock_per_cu(dtype, engine)?;
        Some(f64::from(each) * f64::from(compute_units) * clock_mhz / 1e6)
    }
}

/// The highest rate of `compute_units` of `target` at `clock_mhz`, by whichever engine is faster.
///
/// # Errors
/// When the architecture is not known or has no fast way for the type: what, why and cure.
pub fn peak_tflops(target: &str, dtype: Dtype, compute_units: u32, clock_mhz: f64) -> Result<f64, Reason> {
    let architecture = Architecture::find(target)?;
    let peak = |engine| architecture.peak_tflops(dtype, engine, compute_units, clock_mhz);
    [Engine::Matrix, Engine::Vector].into_iter().filter_map(peak).reduce(f64::max).ok_or_else(|| {
        Reason::new(
            format!("{} has no peak for {dtype}", architecture.target),
            "neither its matrix unit nor its vector unit has instructions for this type",
            "choose a data type of docs/architectures.md",
        )
    })
}

/// What is known of a GPU's matrix unit by the names that its users look for; what is not is null.
pub fn matrix_fields(target: Option<&str>, compute_units: Option<u32>, clock_mhz: Option<f64>) -> Fields {
    let known = target.and_then(|target| Architecture::find(target).ok());
    let unit = known.and_then(|known| known.matrix);
    let peak = |dtype| known?.peak_tflops(dtype, Engine::Matrix, compute_units?, clock_mhz?);
    let tiles = known.map(|known| known.tiles(Dtype::F16)).filter(|tiles| !tiles.is_empty());
    Fields::new()
        .with("available", known.map(|known| known.matrix.is_some()))
        .with("architecture", target.and_then(|target| target.split(':').next()))
        .with("matrix_size", tiles.map(tiles_text))
        .with("wmma_version", unit.filter(|unit| unit.kind == MatrixKind::Wmma).map(|unit| unit.generation))
        .with("peak_tflops_fp16", peak(Dtype::F16))
        .with("peak_tflops_bf16", peak(Dtype::Bf16))
        .with("peak_tflops_tf32", peak(Dtype::Tf32))
}

/// `32x32x8, 16x16x16`.
pub fn tiles_text(tiles: &[[u32; 3]]) -> String {
    tiles.iter().map(|[m, n, k]| format!("{m}x{n}x{k}")).collect::<Vec<_>>().join(", ")
}

/// Every dense peak of `gpu` at its highest clock, matrix unit first, widest type first.
///
/// # Errors
/// When the architecture, the number of compute units or the clock is not known: what, why and cure.
pub fn peaks(gpu: &Gpu) -> Result<Vec<Peak>, Reason> {
    let unknown = |what: &str| {
        Reason::new(
            format!("no peaks for {}", gpu.label()),
            format!("{what} is not known"),
            if gpu.is_amd() {
                "load AMD's compute driver (amdgpu with KFD), which tells it, and probe again"
            } else {
                "measure it: `compute-peak` and `gemm` show what the GPU reaches through its own driver"
            },
        )
    };
    let target = gpu.gfx_target.as_deref().ok_or_else(|| unknown("the architecture"))?;
    let architecture = Architecture::find(target)?;
    let units = gpu.compute_units.ok_or_else(|| unknown("the number of compute units"))?;
    let clock = gpu.max_mhz.ok_or_else(|| unknown("the highest clock"))?;
    let mut found = Vec::new();
    for engine in [Engine::Matrix, Engine::Vector] {
        for dtype in Dtype::ALL {
            let tflops = architecture.peak_tflops(dtype, engine, units, clock);
            found.extend(tflops.map(|tflops| Peak { dtype, engine, tflops }));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
