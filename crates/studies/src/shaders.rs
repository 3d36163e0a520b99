//! SPIR-V of the Vulkan kernels, compiled from their WGSL sources and checked in, so that building
//! the program needs no shader compiler. A test checks that the files match the sources.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use naga::back::spv;
use naga::valid::{Capabilities, ShaderStages, SubgroupOperationSet, ValidationFlags, Validator};
use naga::{CooperativeRole, CooperativeSize, Expression, TypeInner};

use crate::workspace::root;

/// Files that are combined with a source, and its variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Needs {
    /// The prelude and a file for each type, whose name starts with this prefix.
    Types(&'static str),
    /// Like `Types`, with a file that combines values across a workgroup.
    Tree,
    /// Like `Tree`, compiled twice: without subgroups and with them.
    Groups,
    /// No other files; compiled once for each shape of [`MATRICES`].
    Matrices,
}

/// Supported shapes m × n × 16 of matrix units. The sources rely on a sum length of 16.
const MATRICES: [(&str, [CooperativeSize; 2]); 3] = [
    ("_16x16x16", [CooperativeSize::Sixteen, CooperativeSize::Sixteen]),
    ("_8x16x16", [CooperativeSize::Eight, CooperativeSize::Sixteen]),
    ("_8x8x16", [CooperativeSize::Eight, CooperativeSize::Eight]),
];

const FLOATS: &[&str] = &["f64", "f32", "f16", "bf16"];

/// Each source with its files and the types that it is compiled for.
const SOURCES: &[(&str, Needs, &[&str])] = &[
    ("memory", Needs::Types("type"), FLOATS),
    ("elementwise", Needs::Types("type"), FLOATS),
    ("exponential", Needs::Groups, &["f32", "f16", "bf16"]),
    ("reduce", Needs::Groups, FLOATS),
    ("normalize", Needs::Groups, FLOATS),
    ("blocks", Needs::Tree, &["f32", "f16", "bf16"]),
    ("convolution", Needs::Types("type"), FLOATS),
    ("gemm", Needs::Types("type"), &["f64", "f32", "f16", "bf16", "i8"]),
    ("quantized", Needs::Types("type"), &["f32", "f16", "bf16"]),
    // The kernels for peak rates do not load packed values; they have small type files of their
    // own.
    ("peak", Needs::Types("peak"), &["f64", "f32", "f16"]),
    ("peak_matrix", Needs::Matrices, &["f16"]),
];

impl Needs {
    /// Returns each variant of a source: the suffix of its file name, and the files that precede
    /// the source.
    fn forms(self, dtype: &str) -> Vec<(&'static str, Vec<String>)> {
        let parts =
            |names: &[&str]| names.iter().map(|name| format!("{name}.wgsl")).collect::<Vec<_>>();
        match self {
            Self::Types(prefix) => {
                vec![("", parts(&[&format!("{prefix}_{dtype}"), "prelude", "place"]))]
            }
            Self::Matrices => MATRICES.map(|(ending, _)| (ending, Vec::new())).to_vec(),
            Self::Tree => {
                vec![("", parts(&[&format!("type_{dtype}"), "prelude", "place", "across"]))]
            }
            Self::Groups => {
                let mut forms = Self::Tree.forms(dtype);
                forms.push((
                    "_subgroups",
                    parts(&[&format!("type_{dtype}"), "prelude", "across_subgroups"]),
                ));
                forms
            }
        }
    }
}

/// A compiled shader and the path of its file.
struct Shader {
    path: PathBuf,
    bytes: Vec<u8>,
}

pub(crate) fn write() -> Result<()> {
    let dir = dir();
    std::fs::create_dir_all(dir.join("spirv"))?;
    for shader in shaders(&dir)? {
        std::fs::write(&shader.path, &shader.bytes)
            .with_context(|| format!("cannot write {}", shader.path.display()))?;
    }
    Ok(())
}

fn dir() -> PathBuf {
    root().join("crates/rsb-portable/kernels/vulkan")
}

fn shaders(dir: &Path) -> Result<Vec<Shader>> {
    let mut made = Vec::new();
    let named = SOURCES
        .iter()
        .flat_map(|(source, needs, types)| types.iter().map(move |name| (source, needs, name)));
    for (source, needs, name) in named {
        for (ending, mut parts) in needs.forms(name) {
            parts.push(format!("{source}.wgsl"));
            let text = parts
                .into_iter()
                .map(|file| read_source(&dir.join(file)))
                .collect::<Result<String>>()?;
            let shape =
                MATRICES.iter().find(|(known, _)| *known == ending).map(|(_, shape)| *shape);
            let bytes =
                compile(&text, shape).with_context(|| format!("{source}{ending} for {name}"))?;
            made.push(Shader {
                path: dir.join("spirv").join(format!("{source}{ending}_{name}.spv")),
                bytes,
            });
        }
    }
    Ok(made)
}

fn read_source(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Returns the source with matrices of `rows` × `columns` instead of 16 × 16.
fn set_matrix_size(text: &str, [rows, columns]: [CooperativeSize; 2]) -> String {
    set_size(&set_size(text, "M", rows), "N", columns)
}

fn set_size(text: &str, name: &str, size: CooperativeSize) -> String {
    text.replacen(
        &format!("const {name}: u32 = 16u;"),
        &format!("const {name}: u32 = {}u;", size as u32),
        1,
    )
}

/// Sets the size of every cooperative matrix in `module` by its role in a product of rows × columns
/// × 16. WGSL supports only square matrices; SPIR-V and naga's IR support any size.
fn reshape(module: &mut naga::Module, product: [CooperativeSize; 2]) {
    let handles: Vec<_> = module.types.iter().map(|(handle, _)| handle).collect();
    for handle in handles {
        let mut known = module.types[handle].clone();
        let TypeInner::CooperativeMatrix { columns, rows, role, .. } = &mut known.inner else {
            continue;
        };
        let size = matrix_size(*role, product);
        if (*rows, *columns) != size {
            (*rows, *columns) = size;
            module.types.replace(handle, known);
        }
    }
    for function in module.entry_points.iter_mut().map(|entry| &mut entry.function) {
        for (_, expression) in function.expressions.iter_mut() {
            if let Expression::CooperativeLoad { columns, rows, role, .. } = expression {
                (*rows, *columns) = matrix_size(*role, product);
            }
        }
    }
}

/// Returns rows and columns of a matrix with this role in a product of `rows` × `columns` × 16.
fn matrix_size(
    role: CooperativeRole,
    [rows, columns]: [CooperativeSize; 2],
) -> (CooperativeSize, CooperativeSize) {
    const LENGTH: CooperativeSize = CooperativeSize::Sixteen;
    match role {
        CooperativeRole::A => (rows, LENGTH),
        CooperativeRole::B => (LENGTH, columns),
        CooperativeRole::C => (rows, columns),
    }
}

/// Compiles to SPIR-V 1.3, which every Vulkan 1.1 driver accepts; with a shape of [`MATRICES`] for
/// the matrix sources.
fn compile(text: &str, shape: Option<[CooperativeSize; 2]>) -> Result<Vec<u8>> {
    let sized = shape.map(|shape| set_matrix_size(text, shape));
    let text = sized.as_deref().unwrap_or(text);
    let mut module =
        naga::front::wgsl::parse_str(text).map_err(|error| anyhow!(error.emit_to_string(text)))?;
    if let Some(shape) = shape {
        reshape(&mut module, shape);
    }
    // Each kernel uses only some of the buffers, which are declared for all kernels.
    naga::compact::compact(&mut module, naga::compact::KeepUnused::No);
    let info = Validator::new(ValidationFlags::all(), Capabilities::all())
        .subgroup_stages(ShaderStages::COMPUTE)
        .subgroup_operations(SubgroupOperationSet::all())
        .validate(&module)
        .map_err(|error| anyhow!(error.emit_to_string(text)))?;
    let options = spv::Options {
        lang_version: (1, 3),
        flags: spv::WriterFlags::empty(),
        // The host guarantees that there are no accesses out of bounds and no divisions by zero;
        // each kernel writes its workgroup memory before reading it.
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

/// Removes the capabilities for f16 in memory and between stages. naga adds them for f16
/// arithmetic, but no kernel uses them and fewer drivers support them.
fn without_small_storage(words: &[u32]) -> Vec<u32> {
    const HEADER: usize = 5;
    const CAPABILITY: u32 = 0x0002_0011;
    /// `StorageBuffer16BitAccess`, `UniformAndStorageBuffer16BitAccess` and `StorageInputOutput16`.
    const SMALL: [u32; 3] = [4433, 4434, 4436];
    let (header, body) = words.split_at(HEADER.min(words.len()));
    let mut kept = header.to_vec();
    // Capabilities are the first instructions; each has two words.
    let capabilities = body.chunks_exact(2).take_while(|pair| pair.first() == Some(&CAPABILITY));
    let count = capabilities.clone().count();
    kept.extend(
        capabilities.filter(|pair| !SMALL.iter().any(|small| pair.get(1) == Some(small))).flatten(),
    );
    kept.extend(body.iter().skip(2 * count));
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checked_in_shaders_are_those_of_the_sources() {
        let made = shaders(&dir()).unwrap();
        for shader in &made {
            let found = std::fs::read(&shader.path).unwrap_or_default();
            assert!(
                found == shader.bytes,
                "{} has drifted; run `cargo xtask codegen`",
                shader.path.display()
            );
        }
        let kept = std::fs::read_dir(dir().join("spirv")).unwrap().count();
        assert_eq!(kept, made.len(), "the spirv folder must contain only generated files");
    }

    /// Returns rows, columns and use of each matrix type: 0 for A, 1 for B, 2 for C.
    fn matrices(words: &[u32]) -> Vec<[u32; 3]> {
        const CONSTANT: u32 = 43;
        const COOPERATIVE_MATRIX: u32 = 4456;
        let mut at = 5;
        let mut instructions = Vec::new();
        while let Some(&first) = words.get(at) {
            let length = (first >> 16).max(1) as usize;
            instructions.push((first & 0xffff, words.get(at + 1..at + length).unwrap_or_default()));
            at += length;
        }
        let types = instructions.iter().filter(|(code, _)| *code == COOPERATIVE_MATRIX);
        let sizes = types.map(|(_, operands)| {
            [operands[3], operands[4], operands[5]].map(|id| {
                let constant = instructions
                    .iter()
                    .find(|(code, operands)| *code == CONSTANT && operands.get(1) == Some(&id));
                constant.unwrap().1[2]
            })
        });
        sizes.collect()
    }

    #[test]
    fn matrices_have_the_sizes_of_their_shape() {
        for shader in shaders(&dir())
            .unwrap()
            .iter()
            .filter(|shader| shader.path.to_string_lossy().contains("matrix"))
        {
            let name = shader.path.file_name().unwrap().to_string_lossy().into_owned();
            let [m, n] = match name.as_str() {
                "peak_matrix_16x16x16_f16.spv" => [16, 16],
                "peak_matrix_8x16x16_f16.spv" => [8, 16],
                "peak_matrix_8x8x16_f16.spv" => [8, 8],
                other => panic!("{other}"),
            };
            let words: Vec<u32> = shader
                .bytes
                .chunks_exact(4)
                .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
                .collect();
            let mut found = matrices(&words);
            found.sort_by_key(|[_, _, role]| *role);
            assert_eq!(found, [[m, 16, 0], [16, n, 1], [m, n, 2]], "{name}");
        }
    }

    #[test]
    fn a_mistake_in_a_source_is_told_with_its_line() {
        let error = compile("fn f() -> f32 { return wrong_name; }", None).unwrap_err();
        assert!(format!("{error:#}").contains("wrong_name"), "{error:#}");
    }
}
