//! Occupancy: how many blocks of a kernel fit on a compute unit, from the resources of both. This
//! is computed without a GPU; the scheduler can place fewer blocks.

use crate::Reason;

/// Resources of a compute unit for resident waves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Unit {
    target: &'static str,
    /// Threads per wave, as chosen by compilers.
    wavefront: u32,
    /// Vector units, each with its own registers.
    simds: u32,
    /// Maximum number of waves per vector unit.
    waves: u32,
    /// Vector registers per lane.
    registers: u32,
    /// Allocation granularity of registers.
    granule: u32,
    /// Shared memory in bytes.
    shared_bytes: u32,
    /// Shared memory reserved per block in addition to its own, in bytes.
    reserved_bytes: u32,
    /// Maximum number of blocks with more than one wave.
    blocks: u32,
}

const KIB: u32 = 1024;

/// Barriers per AMD compute unit. A block of more than one wave needs one.
const BARRIERS: u32 = 16;

const fn gcn(
    target: &'static str,
    waves: u32,
    registers: u32,
    granule: u32,
    shared_bytes: u32,
) -> Unit {
    let (simds, reserved_bytes, blocks) = (4, 0, BARRIERS);
    Unit {
        target,
        wavefront: 64,
        simds,
        waves,
        registers,
        granule,
        shared_bytes,
        reserved_bytes,
        blocks,
    }
}

const fn rdna(target: &'static str, registers: u32, granule: u32) -> Unit {
    let (simds, waves, shared_bytes, reserved_bytes, blocks) = (2, 16, 64 * KIB, 0, BARRIERS);
    Unit {
        target,
        wavefront: 32,
        simds,
        waves,
        registers,
        granule,
        shared_bytes,
        reserved_bytes,
        blocks,
    }
}

/// Returns a streaming multiprocessor with 64 Ki registers in four partitions. Each block uses
/// `reserved_bytes` of shared memory in addition to its own.
const fn nvidia(
    target: &'static str,
    waves: u32,
    blocks: u32,
    kib: u32,
    reserved_bytes: u32,
) -> Unit {
    let (simds, registers, granule, shared_bytes) = (4, 512, 8, kib * KIB);
    Unit {
        target,
        wavefront: 32,
        simds,
        waves,
        registers,
        granule,
        shared_bytes,
        reserved_bytes,
        blocks,
    }
}

/// Sources: LLVM's AMDGPU back end for vector registers, their granularity, waves per vector unit
/// and shared memory; the table of compute capabilities in the CUDA programming guide for warps,
/// blocks and shared memory.
const UNITS: &[Unit] = &[
    gcn("gfx906", 10, 256, 4, 64 * KIB),
    gcn("gfx908", 10, 256, 4, 64 * KIB),
    gcn("gfx90a", 8, 512, 8, 64 * KIB),
    gcn("gfx942", 8, 512, 8, 64 * KIB),
    gcn("gfx950", 8, 512, 8, 160 * KIB),
    rdna("gfx1030", 1024, 16),
    rdna("gfx1031", 1024, 16),
    rdna("gfx1032", 1024, 16),
    rdna("gfx1100", 1536, 24),
    rdna("gfx1101", 1536, 24),
    rdna("gfx1102", 1024, 16),
    rdna("gfx1103", 1024, 16),
    rdna("gfx1150", 1024, 16),
    rdna("gfx1151", 1536, 24),
    rdna("gfx1200", 1536, 24),
    rdna("gfx1201", 1536, 24),
    nvidia("sm_75", 8, 16, 64, 0),
    nvidia("sm_80", 16, 32, 164, KIB),
    nvidia("sm_86", 12, 16, 100, KIB),
    nvidia("sm_89", 12, 24, 100, KIB),
    nvidia("sm_90", 16, 32, 228, KIB),
    nvidia("sm_100", 16, 32, 228, KIB),
    nvidia("sm_120", 12, 24, 100, KIB),
];

/// Resources that a kernel needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// Vector registers per thread.
    pub registers: u32,
    /// Shared memory per block, in bytes.
    pub shared_bytes: u32,
    /// Threads per wave.
    pub wavefront: u32,
    /// Threads per block.
    pub block_size: u32,
}

/// Blocks and waves that fit on a compute unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Residency {
    /// Number of blocks.
    pub blocks: u32,
    /// Number of waves of these blocks.
    pub waves: u32,
    /// Maximum number of waves on the unit.
    pub most_waves: u32,
}

impl Residency {
    /// Returns the resident waves in percent of the maximum.
    pub fn percent(self) -> f64 {
        100.0 * f64::from(self.waves) / f64::from(self.most_waves.max(1))
    }
}

/// Returns the blocks and waves that fit on a compute unit of `target`, such as `gfx90a`.
///
/// # Errors
/// If the table does not contain the architecture, or contains it with a different wave size.
pub fn residency(target: &str, needs: Needs) -> Result<Residency, Reason> {
    let unit = UNITS
        .iter()
        .find(|unit| unit.target == target && unit.wavefront == needs.wavefront)
        .ok_or_else(|| {
            let known = UNITS.iter().map(|unit| unit.target).collect::<Vec<_>>().join(", ");
            let why = format!(
                "the table does not contain this target with waves of {} threads; it contains {known}",
                needs.wavefront
            );
            Reason::new(
                format!("occupancy on {target}"),
                why,
                "choose one of these targets, or measure the occupancy on the GPU itself",
            )
        })?;
    let given = needs.registers.max(1).next_multiple_of(unit.granule);
    let by_registers = (unit.registers / given).min(unit.waves) * unit.simds;
    let in_a_block = needs.block_size.div_ceil(unit.wavefront).max(1);
    let by_blocks = if in_a_block > 1 { unit.blocks } else { u32::MAX };
    let taken = needs.shared_bytes.saturating_add(unit.reserved_bytes);
    let by_shared = unit.shared_bytes.checked_div(taken).unwrap_or(u32::MAX);
    let blocks = (by_registers / in_a_block).min(by_blocks).min(by_shared);
    Ok(Residency { blocks, waves: blocks * in_a_block, most_waves: unit.waves * unit.simds })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waves(
        target: &str,
        wavefront: u32,
        [registers, shared_bytes, block_size]: [u32; 3],
    ) -> (u32, u32) {
        let found =
            residency(target, Needs { registers, shared_bytes, wavefront, block_size }).unwrap();
        (found.blocks, found.waves)
    }

    #[test]
    fn whatever_runs_out_first_decides() {
        for (target, wavefront, needs, expected) in [
            ("gfx906", 64, [24, 0, 256], (10, 40)),
            ("gfx906", 64, [25, 0, 256], (9, 36)),
            ("gfx90a", 64, [64, 0, 256], (8, 32)),
            ("gfx90a", 64, [65, 0, 256], (7, 28)),
            ("gfx90a", 64, [512, 0, 256], (1, 4)),
            ("gfx90a", 64, [16, 0, 64], (32, 32)),
            ("gfx90a", 64, [16, 33_000, 256], (1, 4)),
            ("gfx1030", 32, [64, 0, 64], (16, 32)),
            ("gfx1030", 32, [200, 0, 256], (1, 8)),
            ("gfx1100", 32, [96, 0, 256], (4, 32)),
            ("sm_90", 32, [32, 0, 128], (16, 64)),
            ("sm_90", 32, [255, 0, 128], (2, 8)),
            ("sm_90", 32, [32, 100_000, 128], (2, 8)),
        ] {
            assert_eq!(waves(target, wavefront, needs), expected, "{target} {needs:?}");
        }
    }

    #[test]
    fn what_does_not_fit_is_none_and_what_is_unknown_says_so() {
        assert_eq!(waves("gfx90a", 64, [16, 70_000, 256]), (0, 0));
        assert_eq!(waves("gfx90a", 64, [512, 0, 1024]), (0, 0));
        let needs = Needs { registers: 1, shared_bytes: 0, wavefront: 64, block_size: 64 };
        assert!(residency("gfx1999", needs).unwrap_err().why.contains("gfx90a"));
        assert!(residency("gfx1030", needs).unwrap_err().why.contains("64 threads"));
        let full = residency("gfx90a", Needs { block_size: 256, ..needs }).unwrap();
        assert!((full.percent() - 100.0).abs() < 1e-9);
    }

    #[test]
    fn every_architecture_with_rates_has_units_too() {
        for architecture in super::super::ARCHITECTURES {
            assert!(
                UNITS.iter().any(|unit| unit.target == architecture.target),
                "{}",
                architecture.target
            );
        }
    }
}
