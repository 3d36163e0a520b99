//! Operations per clock of each instruction set of AMD's, NVIDIA's and Intel's GPUs: the one table
//! behind peaks, kernels and docs.
//!
//! A peak is the rate of the data sheet at the clock given. Power and heat keep real clocks below
//! it. GPUs of the RDNA family run above the clock that their driver lists, so their peaks are at
//! the highest clock known ([`RatedGpu::clock`]).

use std::fmt;

use crate::field::Fields;
use crate::gpu::Gpu;
use crate::ids::Dtype;
use crate::outcome::Reason;

mod rated;
mod releases;
mod residency;
mod table;

pub use rated::{ClockSource, PeakClock, RatedGpu};
pub use releases::{Releases, ToolkitRelease, known_targets, releases, toolkit, unknown};
pub use residency::{Needs, Residency, residency};
pub use table::{ARCHITECTURES, INTEL};

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
    /// Boards whose driver may list less than the clock that they reach; empty where the listed
    /// clock is the highest.
    pub boards: &'static [Board],
    /// The first ROCm or CUDA whose runtime compiler knows it; (0, 0) for Intel's, which neither
    /// compiles for.
    pub since: ToolkitRelease,
    /// Where the figures come from.
    pub source: &'static str,
}

/// A board, or a GPU in a CPU, by its data sheet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Board {
    /// The part of the marketing name that identifies the board: `RX 9070 XT`.
    pub name: &'static str,
    /// Compute units; Xe cores of Intel's GPUs.
    pub compute_units: u32,
    /// Boost clock of the data sheet, in MHz.
    pub boost_mhz: u32,
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
    /// Xe Matrix Extensions of Intel's GPUs.
    Xmx,
}

impl MatrixKind {
    /// The word used in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mfma => "MFMA",
            Self::Wmma => "WMMA",
            Self::Mma => "MMA",
            Self::Xmx => "XMX",
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
    /// The matrix unit, where two of every four elements of A are zero and not there. Counted as if
    /// they were.
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
    /// Every architecture of the table.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        ARCHITECTURES.iter().chain(INTEL)
    }

    /// The architecture of `target`: `gfx90a`, also with features as in `gfx90a:sramecc+:xnack-`.
    ///
    /// # Errors
    /// When the table does not know it: what, why and cure.
    pub fn find(target: &str) -> Result<&'static Self, Reason> {
        let bare = target.split(':').next().unwrap_or_default();
        Self::all().find(|known| known.target == bare).ok_or_else(|| {
            Reason::new(
                format!(
                    "no peaks for {}",
                    if bare.is_empty() { "an unknown architecture" } else { bare }
                ),
                "the table of architectures does not hold it",
                "measure without a peak, or add a row with its source to \
                 crates/rsb-model/src/architecture/table.rs",
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
    pub fn peak_tflops(
        &self,
        dtype: Dtype,
        engine: Engine,
        compute_units: u32,
        clock_mhz: f64,
    ) -> Option<f64> {
        let each = self.per_clock_per_cu(dtype, engine)?;
        Some(f64::from(each) * f64::from(compute_units) * clock_mhz / 1e6)
    }
}

/// Why no kernel here reaches the matrix unit's full rate for `dtype`, on data-center Blackwell.
/// `mma`, by which one warp multiplies, reaches a part of it; `tcgen05`, by which a whole block
/// does, is not used here. f64 runs at its full rate (NVIDIA PTX ISA, tcgen05: no kind for f64).
pub fn unreached_by_mma(target: &str, dtype: Dtype) -> Option<String> {
    let bare = target.split(':').next().unwrap_or_default();
    let is_out_of_reach = matches!(bare, "sm_100" | "sm_103") && dtype != Dtype::F64;
    is_out_of_reach.then(|| {
        format!(
            "measured by mma, which reaches a part of the {dtype} rate of {bare}; the full \
                 rate needs tcgen05"
        )
    })
}

/// What is known of a GPU's matrix unit by the names that its users look for; what is not is null.
pub fn matrix_fields(gpu: &RatedGpu<'_>) -> Fields {
    let known = gpu.target.and_then(|target| Architecture::find(target).ok());
    let unit = known.and_then(|known| known.matrix);
    let clock = gpu.clock();
    let tiles = known.map(|known| known.tiles(Dtype::F16)).filter(|tiles| !tiles.is_empty());
    Fields::new()
        .with("available", known.map(|known| known.matrix.is_some()))
        .with("architecture", gpu.target.and_then(|target| target.split(':').next()))
        .with("matrix_size", tiles.map(tiles_text))
        .with(
            "wmma_version",
            unit.filter(|unit| unit.kind == MatrixKind::Wmma).map(|unit| unit.generation),
        )
        .with("peak_tflops_fp16", gpu.peak_tflops(Dtype::F16, Engine::Matrix))
        .with("peak_tflops_bf16", gpu.peak_tflops(Dtype::Bf16, Engine::Matrix))
        .with("peak_tflops_tf32", gpu.peak_tflops(Dtype::Tf32, Engine::Matrix))
        .with("peak_clock_mhz", clock.map(|clock| clock.mhz))
        .with("peak_clock_source", clock.map(|clock| clock.source.as_str()))
}

/// `32x32x8, 16x16x16`.
pub fn tiles_text(tiles: &[[u32; 3]]) -> String {
    tiles.iter().map(|[m, n, k]| format!("{m}x{n}x{k}")).collect::<Vec<_>>().join(", ")
}

/// Every dense peak of `gpu` at its highest known clock, matrix unit first, widest type first.
///
/// # Errors
/// When the architecture, the number of compute units or the clock is not known: what, why and
/// cure.
pub fn peaks(gpu: &Gpu) -> Result<Vec<Peak>, Reason> {
    let rated = RatedGpu::of(gpu);
    Architecture::find(rated.target.ok_or_else(|| no_peaks(gpu, "the architecture"))?)?;
    rated.compute_units.ok_or_else(|| no_peaks(gpu, "the number of compute units"))?;
    rated.clock().ok_or_else(|| no_peaks(gpu, "the highest clock"))?;
    let mut found = Vec::new();
    for engine in [Engine::Matrix, Engine::Vector] {
        for dtype in Dtype::ALL {
            found.extend(rated.peak_tflops(dtype, engine).map(|tflops| Peak {
                dtype,
                engine,
                tflops,
            }));
        }
    }
    Ok(found)
}

/// Why there are no peaks of `gpu`: `what` is not known.
fn no_peaks(gpu: &Gpu, what: &str) -> Reason {
    Reason::new(
        format!("no peaks for {}", gpu.label()),
        format!("{what} is not known"),
        if gpu.is_amd() {
            "load AMD's compute driver (amdgpu with KFD), which tells it, and probe again"
        } else {
            "measure it: `compute-peak` and `gemm` show what the GPU reaches through its own driver"
        },
    )
}

#[cfg(test)]
mod tests;
