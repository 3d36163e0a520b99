//! Components of ROCm by the names of their libraries, and the GPUs that rocBLAS has kernels for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::numbers;
use crate::host::entries;

/// Library and short name of each reported component.
const COMPONENTS: [(&str, &str); 17] = [
    ("amd_comgr", "comgr"),
    ("amd_smi", "amd-smi"),
    ("amdhip64", "hip"),
    ("hipblas", "hipblas"),
    ("hipblaslt", "hipblaslt"),
    ("hipfft", "hipfft"),
    ("hiprtc", "hiprtc"),
    ("hsa-runtime64", "hsa"),
    ("MIOpen", "miopen"),
    ("migraphx_c", "migraphx"),
    ("rccl", "rccl"),
    ("rocblas", "rocblas"),
    ("rocfft", "rocfft"),
    ("rocm_smi64", "rocm-smi"),
    ("rocrand", "rocrand"),
    ("rocsolver", "rocsolver"),
    ("rocsparse", "rocsparse"),
];

/// Contents of library directories.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LibraryContents {
    /// Versions by short name.
    pub(crate) versions: BTreeMap<String, String>,
    pub(crate) targets: Vec<String>,
}

/// Reads the contents of `dirs`.
pub(super) fn read(dirs: &[PathBuf]) -> LibraryContents {
    let mut found = LibraryContents::default();
    for dir in dirs {
        let mut versions: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
        for file in entries(dir) {
            let Some((name, version)) = component_of(&file) else { continue };
            let version = numbers(version);
            // `librocblas.so.4` links to `librocblas.so.4.4.60402`: prefer the version with the
            // most parts, then the highest.
            let known = versions.entry(name).or_default();
            if (version.len(), &version) > (known.len(), known) {
                *known = version;
            }
        }
        let text =
            |version: Vec<u32>| version.iter().map(u32::to_string).collect::<Vec<_>>().join(".");
        let versions = versions.into_iter().filter(|(_, version)| !version.is_empty());
        let versions = versions.map(|(name, version)| (name.to_owned(), text(version))).collect();
        found.extend(LibraryContents { versions, targets: targets(dir) });
    }
    found
}

/// Parses a file name such as `librocblas.so.4.4.60402` into short name and version. The version of
/// a plain `librocblas.so` is empty.
pub(crate) fn component_of(file: &str) -> Option<(&'static str, &str)> {
    let (stem, rest) = file.strip_prefix("lib")?.split_once(".so")?;
    let (_, name) = COMPONENTS.iter().find(|(library, _)| *library == stem)?;
    let version = if rest.is_empty() { rest } else { rest.strip_prefix('.')? };
    Some((name, version))
}

/// Returns the GPUs for which the rocBLAS in a library directory has kernels. A generic target,
/// such as `gfx11-generic`, covers a family.
pub(crate) fn targets(dir: &Path) -> Vec<String> {
    // Debian inserts a directory with the version; later AMD builds keep the kernels in archives
    // next to the library.
    let own = dir.join("rocblas");
    let versioned = entries(&own).into_iter().map(|version| own.join(version).join("library"));
    let places: Vec<PathBuf> =
        [own.join("library"), dir.join("../.kpack")].into_iter().chain(versioned).collect();
    let mut found: Vec<String> = places
        .iter()
        .flat_map(|place| entries(place))
        .filter_map(|file| target_in(&file))
        .collect();
    found.sort();
    found.dedup();
    found
}

/// Returns the target in a file name: `gfx90a` for `TensileLibrary_lazy_gfx90a.dat`. Files for all
/// targets contain none.
fn target_in(file: &str) -> Option<String> {
    let start = file.find("gfx")?;
    let name = file.get(start..)?;
    let end = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
    let bare = name.get(..end)?;
    if !bare.get(3..)?.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let family =
        name.find("-generic").and_then(|end| name.get(..end)).filter(|family| family.len() <= 10);
    Some(family.map_or_else(|| bare.to_owned(), |family| format!("{family}-generic")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fake::Tree;

    #[test]
    fn the_longest_name_of_a_library_tells_its_version() {
        let tree = Tree::new(&[
            ("lib/librocblas.so", ""),
            ("lib/librocblas.so.4", ""),
            ("lib/librocblas.so.4.4.60402", ""),
            ("lib/libamdhip64.so.6", ""),
            ("lib/libamdhip64.so.6.4.43483-a187df25c", ""),
            ("lib/libhsa-runtime64.so.1.15.60402", ""),
            ("lib/librocblas-bench.so.9", ""),
            ("lib/libhipblas.so", ""),
            ("lib/libm.so.6", ""),
        ]);
        let found = read(&[tree.path("lib"), tree.path("lib64")]).versions;
        let expected = [("hip", "6.4.43483"), ("hsa", "1.15.60402"), ("rocblas", "4.4.60402")];
        assert_eq!(
            found,
            expected.map(|(name, version)| (name.to_owned(), version.to_owned())).into()
        );
    }

    #[test]
    fn targets_are_those_in_the_names_of_kernel_files() {
        let tree = Tree::new(&[
            ("lib/rocblas/library/TensileLibrary_lazy_gfx90a.dat", ""),
            ("lib/rocblas/library/Kernels.so-000-gfx90a-xnack+.hsaco", ""),
            (
                "lib/rocblas/library/TensileLibrary_Type_HH_Contraction_l_Ailk_Bjlk_Cijk_Dijk_gfx1100.co",
                "",
            ),
            ("lib/rocblas/library/TensileLibrary_fallback_gfx11-generic.dat", ""),
            ("lib/rocblas/library/TensileManifest.txt", ""),
            ("lib/rocblas/library/gfx", ""),
            (".kpack/blas_lib_gfx942.kpack", ""),
        ]);
        assert_eq!(targets(&tree.path("lib")), ["gfx11-generic", "gfx1100", "gfx90a", "gfx942"]);
        let debian = Tree::new(&[(
            "usr/lib/x86_64-linux-gnu/rocblas/5/library/Kernels.so-000-gfx1030.hsaco",
            "",
        )]);
        assert_eq!(targets(&debian.path("usr/lib/x86_64-linux-gnu")), ["gfx1030"]);
        assert_eq!(targets(&tree.path("none")), Vec::<String>::new());
    }
}
