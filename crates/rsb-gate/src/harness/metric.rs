//! Metrics that are counted, not timed.

rsb_model::named_enum! {
    /// A metric that is counted, not timed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum CountedMetric {
        /// Instructions of an iteration.
        Instructions = "instructions",
        /// Cycles of an iteration, estimated from simulated cache misses.
        EstimatedCycles = "estimated-cycles",
        /// Heap allocations of an iteration, and their bytes.
        Allocations = "allocations",
        /// Bytes by which an iteration makes the heap grow.
        PeakMemory = "peak-memory",
        /// Machine code of each executable.
        CodeSize = "code-size",
    }
}

/// Fields of a result.
pub(super) const INSTRUCTIONS: &str = "instructions";
pub(super) const ESTIMATED_CYCLES: &str = "estimated_cycles";
pub(super) const ALLOCATIONS: &str = "allocations_per_iteration";
pub(super) const ALLOCATED_BYTES: &str = "allocated_bytes_per_iteration";
pub(super) const PEAK_HEAP: &str = "peak_heap_bytes";
pub(crate) const CODE_SIZE: &str = "code_size_bytes";

/// Groups of metrics that the same process can count.
pub(crate) const COUNTED_TOGETHER: [&[CountedMetric]; 2] = [
    &[CountedMetric::Allocations, CountedMetric::PeakMemory],
    &[CountedMetric::Instructions, CountedMetric::EstimatedCycles],
];

impl CountedMetric {
    /// Returns a description of a few words.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Instructions => "Instructions per iteration; needs Valgrind for other projects",
            Self::EstimatedCycles => "Instructions and simulated cache misses; needs Valgrind",
            Self::Allocations => "Heap allocations per iteration, and their bytes",
            Self::PeakMemory => "Bytes by which an iteration makes the heap grow",
            Self::CodeSize => "Machine code of each bench executable",
        }
    }

    /// Returns the fields of a result that contain this metric.
    pub const fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Instructions => &[INSTRUCTIONS],
            Self::EstimatedCycles => &[ESTIMATED_CYCLES],
            Self::Allocations => &[ALLOCATIONS, ALLOCATED_BYTES],
            Self::PeakMemory => &[PEAK_HEAP],
            Self::CodeSize => &[CODE_SIZE],
        }
    }

    /// Returns whether Valgrind is needed to count this metric.
    pub(crate) const fn needs_valgrind(self) -> bool {
        matches!(self, Self::Instructions | Self::EstimatedCycles)
    }
}
