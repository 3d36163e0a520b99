//! Packs the shaders, which are most of what this crate adds to a program.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let out = std::env::var_os("OUT_DIR").ok_or_else(|| std::io::Error::other("cargo sets OUT_DIR"))?;
    packed_files::pack(Path::new("kernels/vulkan/spirv"), ".spv", &Path::new(&out).join("shaders.pack"))
}
