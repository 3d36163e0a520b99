//! Operations per clock of each GPU instruction set of AMD, NVIDIA and Intel: the single table from
//! which peaks, kernels and documentation are derived.
//!
//! A peak is the rate of the data sheet at the given clock. Power and heat limits keep actual
//! clocks below it. RDNA GPUs run above the clock that their driver lists, so their peaks refer to
//! the highest known clock ([`RatedGpu::clock`]).

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
pub use releases::{Releases, ToolkitRelease, known_targets, releases, unknown};
pub use residency::{Needs, Residency, residency};
pub use table::{ARCHITECTURES, INTEL};

/// GPU instruction set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Architecture {
    /// Name of the compile target: `gfx942`, `sm_90`.
    pub target: &'static str,
    /// Vendor's name of the family: `CDNA 3`.
    pub family: &'static str,
    /// Products with this instruction set, as text.
    pub gpus: &'static str,
    /// Threads per wavefront, in the default mode of the compilers.
    pub wavefront: u32,
    /// Matrix unit, if there is one.
    pub matrix: Option<MatrixUnit>,
    /// Rates by data type and engine.
    pub rates: &'static [Rate],
    /// Boards whose driver may list less than the reachable clock. Empty if the listed clock is the
    /// highest.
    pub boards: &'static [Board],
    /// First release of ROCm or CUDA whose runtime compiler supports the target; (0, 0) for Intel
    /// targets, which neither toolkit supports.
    pub since: ToolkitRelease,
    /// Source of the rates.
    pub source: &'static str,
}

/// Board, or integrated GPU, as described by its data sheet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Board {
    /// Part of the product name that identifies the board: `RX 9070 XT`.
    pub name: &'static str,
    /// Number of compute units, or of Xe cores for Intel GPUs.
    pub compute_units: u32,
    /// Boost clock from the data sheet, in MHz.
    pub boost_mhz: u32,
}

/// Matrix unit of a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatrixUnit {
    /// Type of its instructions.
    pub kind: MatrixKind,
    /// Generation within the type.
    pub generation: u32,
}

impl fmt::Display for MatrixUnit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.kind.as_str(), self.generation)
    }
}

named_enum! {
    /// Type of matrix instructions.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum MatrixKind {
        /// Matrix fused multiply-add of AMD's CDNA family.
        Mfma = "MFMA",
        /// Wave matrix multiply-accumulate of AMD's RDNA family.
        Wmma = "WMMA",
        /// Matrix multiply-accumulate of NVIDIA's tensor cores.
        Mma = "MMA",
        /// Xe Matrix Extensions of Intel GPUs.
        Xmx = "XMX",
    }
}

named_enum! {
    /// Unit within a compute unit that executes the operations.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Engine {
        /// Matrix unit.
        Matrix = "matrix",
        /// Vector unit, with packed or dual-issued instructions if available, and dot products for
        /// integers.
        Vector = "vector",
        /// Matrix unit with structured sparsity: two of every four elements of A are zero and not
        /// stored. The zeros count as operations.
        Sparse = "sparse",
    }
}

/// Rate of one engine for one data type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Data type of the operands.
    pub dtype: Dtype,
    /// Engine.
    pub engine: Engine,
    /// Operations per clock of one compute unit; a multiply-add counts as two.
    pub per_clock_per_cu: u32,
    /// Tiles m × n × k of the matrix instructions with a single block.
    pub tiles: &'static [[u32; 3]],
}

/// Peak rate of one GPU for one engine and data type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Peak {
    /// Data type of the operands.
    pub dtype: Dtype,
    /// Engine.
    pub engine: Engine,
    /// Peak in TFLOP/s (10¹² operations per second).
    pub tflops: f64,
}

impl Architecture {
    /// Returns all architectures of the table.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        ARCHITECTURES.iter().chain(INTEL)
    }

    /// Returns the architecture of `target`: `gfx90a`, optionally with features, as in
    /// `gfx90a:sramecc+:xnack-`.
    ///
    /// # Errors
    /// If the table does not contain the target.
    pub fn find(target: &str) -> Result<&'static Self, Reason> {
        let bare = target.split(':').next().unwrap_or_default();
        Self::all().find(|known| known.target == bare).ok_or_else(|| {
            Reason::new(
                format!(
                    "no peaks for {}",
                    if bare.is_empty() { "an unknown architecture" } else { bare }
                ),
                "it is not in the table of architectures",
                "measure without a peak, or add a row with its source to \
                 crates/rsb-model/src/architecture/table.rs",
            )
        })
    }

    /// Returns the operations per clock of one compute unit, if the engine supports the type.
    pub fn per_clock_per_cu(&self, dtype: Dtype, engine: Engine) -> Option<u32> {
        self.rate(dtype, engine).map(|rate| rate.per_clock_per_cu)
    }

    /// Returns the tiles of the dense matrix instructions for `dtype`; empty if there are none.
    pub fn tiles(&self, dtype: Dtype) -> &'static [[u32; 3]] {
        self.tiles_of(dtype, Engine::Matrix)
    }

    /// Returns the tiles of the engine's instructions for `dtype`; empty if there are none.
    pub fn tiles_of(&self, dtype: Dtype, engine: Engine) -> &'static [[u32; 3]] {
        self.rate(dtype, engine).map_or(&[], |rate| rate.tiles)
    }

    fn rate(&self, dtype: Dtype, engine: Engine) -> Option<&'static Rate> {
        self.rates.iter().find(|rate| rate.dtype == dtype && rate.engine == engine)
    }

    /// Returns the peak of `compute_units` at `clock_mhz` in TFLOP/s, if the engine supports the
    /// type.
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

/// Returns why this program's kernels cannot reach the full rate of the matrix unit for `dtype` on
/// data-center Blackwell. They use `mma` (one warp per multiplication), which reaches only a part
/// of the rate; the full rate needs `tcgen05` (a whole block per multiplication). f64 is not
/// affected, because `tcgen05` has no f64 kind (NVIDIA PTX ISA).
pub fn unreached_by_mma(target: &str, dtype: Dtype) -> Option<String> {
    let bare = target.split(':').next().unwrap_or_default();
    let is_out_of_reach = matches!(bare, "sm_100" | "sm_103") && dtype != Dtype::F64;
    is_out_of_reach.then(|| {
        format!(
            "measured with mma, which reaches only a part of the {dtype} rate of {bare}; the full \
             rate needs tcgen05"
        )
    })
}

/// Returns the properties of a GPU's matrix unit as fields of a result. Unknown values are null.
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

/// Formats tiles as text: `32x32x8, 16x16x16`.
pub fn tiles_text(tiles: &[[u32; 3]]) -> String {
    tiles.iter().map(|[m, n, k]| format!("{m}x{n}x{k}")).collect::<Vec<_>>().join(", ")
}

/// Returns all dense peaks of `gpu` at its highest known clock, matrix unit first, widest type
/// first.
///
/// # Errors
/// If the architecture, the number of compute units or the clock is unknown.
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

/// Returns the reason why `gpu` has no peaks: the property `what` is unknown.
fn no_peaks(gpu: &Gpu, what: &str) -> Reason {
    Reason::new(
        format!("no peaks for {}", gpu.label()),
        format!("{what} is unknown"),
        if gpu.is_amd() {
            "load AMD's compute driver (amdgpu with KFD), which reports it, and probe again"
        } else {
            "run `compute-peak` and `gemm` to measure the rates that the GPU reaches"
        },
    )
}

#[cfg(test)]
mod tests;
