//! Occupancy of a compiled kernel, computed from the compiler's output without access to a GPU.

use rsb_model::Fields;
use rsb_model::architecture::{Needs, residency};

/// Possible numbers of threads in a wave or warp; the table of the target determines which one
/// applies.
const WAVES: [u32; 2] = [64, 32];

/// Adds `occupancy_percent` if the fields contain the target, registers, shared memory and warps of
/// a kernel.
pub(crate) fn add(fields: &mut Fields) {
    if let Some(percent) = percent(fields) {
        fields.set("occupancy_percent", percent);
    }
}

fn percent(fields: &Fields) -> Option<f64> {
    let target = fields.text("gfx_target")?;
    let registers = fields.number("registers")? as u32;
    let shared_bytes = fields.number("shared_mem_bytes")? as u32;
    let warps = fields.number("num_warps")? as u32;
    for wavefront in WAVES {
        let needs = Needs { registers, shared_bytes, wavefront, block_size: warps * wavefront };
        if let Ok(found) = residency(target, needs) {
            return Some(found.percent());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the occupancy of a kernel of four warps.
    fn occupancy(target: &str, registers: u32, shared_bytes: u32) -> Option<f64> {
        let mut fields = Fields::new().with("gfx_target", target).with("registers", registers);
        fields.set("shared_mem_bytes", shared_bytes);
        fields.set("num_warps", 4);
        add(&mut fields);
        fields.number("occupancy_percent")
    }

    #[test]
    fn a_kernel_s_needs_are_held_against_its_target() {
        assert_eq!(occupancy("gfx90a", 64, 0), Some(100.0));
        assert_eq!(occupancy("gfx90a", 128, 0), Some(50.0));
        assert_eq!(occupancy("gfx1100", 96, 0), Some(100.0));
        assert_eq!(occupancy("sm_90", 64, 0), Some(50.0));
        assert_eq!(occupancy("gfx90a", 64, 40_000), Some(12.5));
        assert_eq!(occupancy("gfx0000", 64, 0), None);
        let mut others = Fields::new().with("tflops", 1.0);
        add(&mut others);
        assert_eq!(others.get("occupancy_percent"), None);
    }
}
