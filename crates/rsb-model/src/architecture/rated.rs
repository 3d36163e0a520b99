//! Clock and rates behind the peaks of one GPU, from its driver and its data sheet.

use super::{Architecture, Board, Engine};
use crate::gpu::Gpu;
use crate::ids::Dtype;

/// Largest relative difference between two clock sources that is not reported.
const SAME_CLOCK: f64 = 0.01;

/// Properties of a GPU that determine its peaks. Unknown values are `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RatedGpu<'a> {
    /// Instruction set, such as `gfx1201` or `sm_89`.
    pub target: Option<&'a str>,
    /// Product name.
    pub name: Option<&'a str>,
    /// Number of compute units or streaming multiprocessors.
    pub compute_units: Option<u32>,
    /// Highest clock listed by the driver, in MHz. On RDNA this is often the game clock, which
    /// boards exceed.
    pub listed_mhz: Option<f64>,
    /// Highest level of `pp_dpm_sclk`, in MHz. Used on RDNA only.
    pub level_mhz: Option<f64>,
}

named_enum! {
    /// Source of the clock of a peak.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum ClockSource {
        /// Attribute of the runtime, or topology of the compute driver.
        Driver = "driver",
        /// Boost clock of the data sheet.
        DataSheet = "data sheet",
        /// Highest level of `pp_dpm_sclk`.
        PowerLevels = "pp_dpm_sclk",
    }
}

/// Clock and its source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PeakClock {
    /// Clock in MHz.
    pub mhz: f64,
    /// Source of the clock.
    pub source: ClockSource,
}

impl<'a> RatedGpu<'a> {
    /// Returns the properties of `gpu` as described by its machine. Intel GPUs are looked up by
    /// name, because no file reports their target or compute units.
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

    /// Returns whether boards can run above the clock that the driver lists, which is true for
    /// RDNA.
    fn is_rdna(&self) -> bool {
        self.target.is_some_and(|target| target.starts_with("gfx1"))
    }

    /// Returns whether the tensor cores accumulate in f32 at half their rate, which is true for
    /// `GeForce` GPUs. TITAN and professional GPUs with the same chips have the full rate (NVIDIA
    /// Ada GPU architecture, appendix; data sheets of L40S and RTX 6000 Ada).
    fn has_half_rate_sums(&self) -> bool {
        self.name.is_some_and(|name| name.contains("GeForce"))
    }

    /// Returns whether `dtype` runs at half the rate of the table on `engine`. This applies to
    /// floating-point products accumulated in f32; integers and fp4 keep their rate.
    pub fn is_halved(&self, dtype: Dtype, engine: Engine) -> bool {
        let is_summed_in_f32 =
            matches!(dtype, Dtype::F16 | Dtype::Bf16 | Dtype::Tf32 | Dtype::Fp8 | Dtype::Bf8);
        self.has_half_rate_sums() && engine != Engine::Vector && is_summed_in_f32
    }

    /// Returns all known clocks of this GPU, the driver's first.
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

    /// Returns the highest known clock, from which peaks are computed.
    pub fn clock(&self) -> Option<PeakClock> {
        self.clocks()
            .into_iter()
            .reduce(|best, other| if other.mhz > best.mhz { other } else { best })
    }

    /// Returns the rate of `engine` for `dtype` at `mhz`, in TFLOP/s.
    pub fn tflops_at(&self, dtype: Dtype, engine: Engine, mhz: f64) -> Option<f64> {
        let full = self.architecture()?.peak_tflops(dtype, engine, self.compute_units?, mhz)?;
        Some(if self.is_halved(dtype, engine) { full / 2.0 } else { full })
    }

    /// Returns the peak of `engine` for `dtype` at the highest known clock, in TFLOP/s.
    pub fn peak_tflops(&self, dtype: Dtype, engine: Engine) -> Option<f64> {
        self.tflops_at(dtype, engine, self.clock()?.mhz)
    }

    /// Returns the engine that computes dense `dtype` fastest, and its peak in TFLOP/s.
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

    /// Returns notes on the peak of `dtype` on `engine`: a halved rate, and clock sources that
    /// differ.
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

    /// Returns a note that lists the clock sources if they differ.
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
            "clock sources differ ({}); the peak is at {:.0} MHz",
            each.join(", "),
            highest.mhz
        ))
    }
}

impl Architecture {
    /// Returns the board named `name`. If the name contains no model number (`AMD Radeon Graphics`)
    /// or several (`8050S / 8060S`), returns the fastest board with the same number of units.
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

    /// Returns the board that `name` identifies, of any architecture.
    fn of_board(name: &str) -> Option<(&'static Self, &'static Board)> {
        Self::all().find_map(|known| Some((known, known.board(Some(name), None)?)))
    }
}

/// Returns whether `name` contains exactly one model number.
fn is_of_one_board(name: &str) -> bool {
    !name.starts_with("gfx")
        && !name.contains(" / ")
        && name.contains(|letter: char| letter.is_ascii_digit())
}

impl Board {
    /// Returns whether `name` contains the name of this board as whole words: `RX 7600` is not in
    /// `RX 7600M`.
    fn is_named_in(&self, name: &str) -> bool {
        let Some(start) = name.find(self.name) else { return false };
        let before = name.get(..start).and_then(|text| text.chars().next_back());
        let after = name.get(start + self.name.len()..).and_then(|text| text.chars().next());
        ![before, after].into_iter().flatten().any(|letter| letter.is_ascii_alphanumeric())
    }
}

#[cfg(test)]
mod tests;
