//! The clock and the rates behind the peaks of one GPU: what its driver lists and what its data
//! sheet promises.

use super::{Architecture, Board, Engine};
use crate::gpu::Gpu;
use crate::ids::Dtype;

/// How far two sources of a clock may differ before both are named.
const SAME_CLOCK: f64 = 0.01;

/// The properties of a GPU that decide its peaks. Unknown is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RatedGpu<'a> {
    /// Instruction set: `gfx1201`, `sm_89`.
    pub target: Option<&'a str>,
    /// Marketing name.
    pub name: Option<&'a str>,
    /// Compute units or streaming multiprocessors.
    pub compute_units: Option<u32>,
    /// Highest clock that the driver lists, in MHz. On RDNA often the game clock, which boards
    /// exceed.
    pub listed_mhz: Option<f64>,
    /// Highest level of `pp_dpm_sclk`, in MHz. Used on RDNA only.
    pub level_mhz: Option<f64>,
}

/// Where the clock of a peak comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockSource {
    /// The attribute of the runtime, or the topology of the compute driver.
    Driver,
    /// The boost clock of the data sheet.
    DataSheet,
    /// The highest level of `pp_dpm_sclk`.
    PowerLevels,
}

impl ClockSource {
    /// The word used in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Driver => "driver",
            Self::DataSheet => "data sheet",
            Self::PowerLevels => "pp_dpm_sclk",
        }
    }
}

/// A clock and its source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PeakClock {
    /// In MHz.
    pub mhz: f64,
    /// Where it comes from.
    pub source: ClockSource,
}

impl<'a> RatedGpu<'a> {
    /// A GPU as its machine describes it. Intel's are found by their names: no file reports target
    /// or units of those.
    pub fn of(gpu: &'a Gpu) -> Self {
        let name = gpu.name.as_deref();
        let known = name.filter(|_| gpu.gfx_target.is_none()).and_then(Architecture::of_board);
        Self {
            target: gpu
                .gfx_target
                .as_deref()
                .or_else(|| known.map(|(architecture, _)| architecture.target)),
            name,
            compute_units: gpu
                .compute_units
                .or_else(|| known.map(|(_, board)| board.compute_units)),
            listed_mhz: gpu.max_mhz,
            level_mhz: None,
        }
    }

    fn architecture(&self) -> Option<&'static Architecture> {
        Architecture::find(self.target?).ok()
    }

    /// Whether boards may run above the clock that the driver lists: the RDNA family.
    fn is_rdna(&self) -> bool {
        self.target.is_some_and(|target| target.starts_with("gfx1"))
    }

    /// Whether the tensor cores sum in f32 at half their rate: NVIDIA's GPUs for games. TITAN and
    /// professional GPUs of the same chips have the full rate (NVIDIA Ada GPU architecture,
    /// appendix; data sheets of L40S and RTX 6000 Ada).
    fn has_half_rate_sums(&self) -> bool {
        self.name.is_some_and(|name| name.contains("GeForce"))
    }

    /// Whether `dtype` runs at half the rate of the table on `engine`: products of floating-point
    /// types that are summed in f32. Whole numbers and fp4 keep their rate.
    pub fn is_halved(&self, dtype: Dtype, engine: Engine) -> bool {
        let is_summed_in_f32 =
            matches!(dtype, Dtype::F16 | Dtype::Bf16 | Dtype::Tf32 | Dtype::Fp8 | Dtype::Bf8);
        self.has_half_rate_sums() && engine != Engine::Vector && is_summed_in_f32
    }

    /// Every clock that is known of this GPU, the driver's first.
    pub fn clocks(&self) -> Vec<PeakClock> {
        let board =
            self.architecture().and_then(|known| known.board(self.name, self.compute_units));
        let boost = board.map(|board| f64::from(board.boost_mhz));
        let level = self.level_mhz.filter(|_| self.is_rdna());
        let all = [
            (self.listed_mhz, ClockSource::Driver),
            (boost, ClockSource::DataSheet),
            (level, ClockSource::PowerLevels),
        ];
        all.into_iter().filter_map(|(mhz, source)| Some(PeakClock { mhz: mhz?, source })).collect()
    }

    /// The highest of them, which peaks are computed from.
    pub fn clock(&self) -> Option<PeakClock> {
        self.clocks()
            .into_iter()
            .reduce(|best, other| if other.mhz > best.mhz { other } else { best })
    }

    /// The rate of `engine` for `dtype` at `mhz`, in TFLOP/s.
    pub fn tflops_at(&self, dtype: Dtype, engine: Engine, mhz: f64) -> Option<f64> {
        let full = self.architecture()?.peak_tflops(dtype, engine, self.compute_units?, mhz)?;
        Some(if self.is_halved(dtype, engine) { full / 2.0 } else { full })
    }

    /// The peak of `engine` for `dtype` at the highest known clock, in TFLOP/s.
    pub fn peak_tflops(&self, dtype: Dtype, engine: Engine) -> Option<f64> {
        self.tflops_at(dtype, engine, self.clock()?.mhz)
    }

    /// The engine that computes dense `dtype` fastest, and its peak in TFLOP/s.
    pub fn best(&self, dtype: Dtype) -> Option<(Engine, f64)> {
        let mut best: Option<(Engine, f64)> = None;
        for engine in [Engine::Matrix, Engine::Vector] {
            let Some(peak) = self.peak_tflops(dtype, engine) else { continue };
            if best.is_none_or(|(_, highest)| peak > highest) {
                best = Some((engine, peak));
            }
        }
        best
    }

    /// What a reader of the peak of `dtype` on `engine` must know: a rate that was halved, and
    /// clocks that differ.
    pub fn notes(&self, dtype: Dtype, engine: Engine) -> Vec<String> {
        let mut notes = Vec::new();
        if self.is_halved(dtype, engine) {
            notes.push(format!(
                "GeForce GPUs sum products of {dtype} in f32 at half the rate of their chip"
            ));
        }
        notes.extend(self.clock_note());
        notes
    }

    /// Names the sources of the clock if they contradict each other.
    pub fn clock_note(&self) -> Option<String> {
        let (clocks, highest) = (self.clocks(), self.clock()?);
        let lowest = clocks.iter().map(|clock| clock.mhz).fold(highest.mhz, f64::min);
        if highest.mhz <= lowest * (1.0 + SAME_CLOCK) {
            return None;
        }
        let each: Vec<String> = clocks
            .iter()
            .map(|clock| format!("{} {:.0} MHz", clock.source.as_str(), clock.mhz))
            .collect();
        Some(format!(
            "sources of the clock differ ({}); the peak is at {:.0} MHz",
            each.join(", "),
            highest.mhz
        ))
    }
}

impl Architecture {
    /// The board named `name`. If the name has no model number (`AMD Radeon Graphics`) or several
    /// (`8050S / 8060S`), the fastest with as many units.
    fn board(&self, name: Option<&str>, compute_units: Option<u32>) -> Option<&'static Board> {
        let boards = self
            .boards
            .iter()
            .filter(|board| compute_units.is_none_or(|units| units == board.compute_units));
        match name.filter(|name| is_of_one_board(name)) {
            Some(name) => {
                boards.filter(|board| board.is_named_in(name)).max_by_key(|board| board.name.len())
            }
            None => boards.filter(|_| compute_units.is_some()).max_by_key(|board| board.boost_mhz),
        }
    }

    /// The board of any architecture that `name` names.
    fn of_board(name: &str) -> Option<(&'static Self, &'static Board)> {
        Self::all().find_map(|known| Some((known, known.board(Some(name), None)?)))
    }
}

/// Whether `name` has a model number, and not several.
fn is_of_one_board(name: &str) -> bool {
    !name.starts_with("gfx")
        && !name.contains(" / ")
        && name.contains(|letter: char| letter.is_ascii_digit())
}

impl Board {
    /// Whether `name` contains this board's as whole words: `RX 7600` is not in `RX 7600M`.
    fn is_named_in(&self, name: &str) -> bool {
        let Some(start) = name.find(self.name) else { return false };
        let before = name.get(..start).and_then(|text| text.chars().next_back());
        let after = name.get(start + self.name.len()..).and_then(|text| text.chars().next());
        ![before, after].into_iter().flatten().any(|letter| letter.is_ascii_alphanumeric())
    }
}

#[cfg(test)]
mod tests;
