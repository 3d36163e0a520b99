//! The SPIR-V of the Vulkan kernels, made from their sources in WGSL and checked in, so that nobody who builds the
//! program needs a shader compiler. A test finds drift.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use naga::back::spv;
use naga::valid::{Capabilities, ValidationFlags, Validator};

use crate::steps::root;

/// Each source with the types that it is compiled for.
const SOURCES: &[(&str, &[&str])] = &[
    ("memory", &["f64", "f32", "f16", "bf16"]),
    ("elementwise", &["f64", "f32", "f16", "bf16"]),
    ("exponential", &["f32", "f16", "bf16"]),
    ("reduce", &["f64", "f32", "f16", "bf16"]),
    ("normalize", &["f64", "f32", "f16", "bf16"]),
    ("convolution", &["f64", "f32", "f16", "bf16"]),
    ("gemm", &["f64", "f32", "f16", "bf16", "i8"]),
    ("peak", &["f64", "f32", "f16"]),
];

/// One file to be.
struct Shader {
    path: PathBuf,
    bytes: Vec<u8>,
}

/// Writes every file anew.
pub(crate) fn write() -> Result<()> {
    let folder = folder();
    std::fs::create_dir_all(folder.join("spirv"))?;
    for shader in shaders(&folder)? {
        std::fs::write(&shader.path, &shader.bytes)
            .with_context(|| format!("cannot write {}", shader.path.display()))?;
    }
    Ok(())
}

fn folder() -> PathBuf {
    root().join("crates/rsb-device/kernels/vulkan")
}

fn shaders(folder: &Path) -> Result<Vec<Shader>> {
    let read = |file: String| {
        let path = folder.join(file);
        std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    let mut made = Vec::new();
    for (source, types) in SOURCES {
        for name in *types {
            // Peak rates need no packs; they have small files of their own for each type.
            let prefix = if *source == "peak" { "peak" } else { "type" };
            let parts = [format!("{prefix}_{name}.wgsl"), "prelude.wgsl".to_owned(), format!("{source}.wgsl")];
            let text = parts.into_iter().map(read).collect::<Result<String>>()?;
            let bytes = compile(&text).with_context(|| format!("{source}.wgsl for {name}"))?;
            made.push(Shader { path: folder.join("spirv").join(format!("{source}_{name}.spv")), bytes });
        }
    }
    Ok(made)
}

/// SPIR-V 1.3, which every driver of Vulkan 1.1 takes.
fn compile(text: &str) -> Result<Vec<u8>> {
    let mut module = naga::front::wgsl::parse_str(text).map_err(|error| anyhow!(error.emit_to_string(text)))?;
    // Every kernel takes a few of the buffers that are declared for all.
    naga::compact::compact(&mut module, naga::compact::KeepUnused::No);
    let info = Validator::new(ValidationFlags::all(), Capabilities::all())
        .validate(&module)
        .map_err(|error| anyhow!(error.emit_to_string(text)))?;
    let options = spv::Options {
        lang_version: (1, 3),
        flags: spv::WriterFlags::empty(),
        // The host sees to it that nothing is read or written outside, that nothing is divided by zero, and that each
        // kernel writes the memory of its group before it reads it.
        bounds_check_policies: naga::proc::BoundsCheckPolicies::default(),
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
        force_loop_bounding: false,
        emit_int_div_checks: false,
        ..spv::Options::default()
    };
    let words = spv::write_vec(&module, &info, &options, None)?;
    let words = without_small_storage(&words);
    if words.is_empty() {
        bail!("it is empty");
    }
    Ok(words.iter().flat_map(|word| word.to_le_bytes()).collect())
}

/// Arithmetic in f16 comes with the demand for f16 in memory and between stages, which no kernel has: fewer drivers take
/// that.
fn without_small_storage(words: &[u32]) -> Vec<u32> {
    const HEADER: usize = 5;
    const CAPABILITY: u32 = 0x0002_0011;
    /// `StorageBuffer16BitAccess`, `UniformAndStorageBuffer16BitAccess` and `StorageInputOutput16`.
    const SMALL: [u32; 3] = [4433, 4434, 4436];
    let (header, body) = words.split_at(HEADER.min(words.len()));
    let mut kept = header.to_vec();
    // Capabilities are the first instructions, of two words each.
    let capabilities = body.chunks_exact(2).take_while(|pair| pair.first() == Some(&CAPABILITY));
    let count = capabilities.clone().count();
    kept.extend(capabilities.filter(|pair| !SMALL.iter().any(|small| pair.get(1) == Some(small))).flatten());
    kept.extend(body.iter().skip(2 * count));
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checked_in_shaders_are_those_of_the_sources() {
        let made = shaders(&folder()).unwrap();
        for shader in &made {
            let found = std::fs::read(&shader.path).unwrap_or_default();
            assert!(found == shader.bytes, "{} has drifted; run `cargo xtask codegen`", shader.path.display());
        }
        let kept = std::fs::read_dir(folder().join("spirv")).unwrap().count();
        assert_eq!(kept, made.len(), "files that no source makes");
    }

    #[test]
    fn a_mistake_in_a_source_is_told_with_its_line() {
        let error = compile("fn f() -> f32 { return wrong_name; }").unwrap_err();
        assert!(format!("{error:#}").contains("wrong_name"), "{error:#}");
    }
}
