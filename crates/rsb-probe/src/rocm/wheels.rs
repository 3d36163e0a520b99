//! ROCm from Python packages: `rocm-sdk-core` and its companions, which frameworks depend on.

use std::path::{Path, PathBuf};

use rsb_model::rocm::{RocmInstallation, RocmSource};

use super::components::{self, LibraryContents};
use super::installation::{Release, compilers, date};
use super::library_dirs;
use crate::host::entries;

const CORE: &str = "_rocm_sdk_core";
/// Libraries are in separate packages, one for each family of GPUs:
/// `_rocm_sdk_libraries_gfx94X_dcgpu`.
const LIBRARIES: &str = "_rocm_sdk_libraries";

/// Returns the installations in Python's package directories.
pub(crate) fn wheels(search_path: &[PathBuf]) -> Vec<RocmInstallation> {
    search_path.iter().filter_map(|dir| wheel(dir)).collect()
}

fn wheel(dir: &Path) -> Option<RocmInstallation> {
    let root = dir.join(CORE);
    if !root.is_dir() {
        return None;
    }
    let names = entries(dir);
    let packaged = names
        .iter()
        .find_map(|name| name.strip_prefix("rocm_sdk_core-")?.strip_suffix(".dist-info"));
    let release = Release::read(&root);
    let mut found = LibraryContents::default();
    for part in std::iter::once(CORE)
        .chain(names.iter().map(String::as_str).filter(|name| name.starts_with(LIBRARIES)))
    {
        found.extend(components::read(&library_dirs(&dir.join(part))));
    }
    Some(RocmInstallation {
        version: packaged.map(str::to_owned).or(release.version),
        path: root.display().to_string(),
        source: RocmSource::Wheel,
        build: release.build,
        build_date: release.build_date.or_else(|| packaged.and_then(date)),
        commit: release.commit,
        platform: Some("amd".to_owned()),
        components: found.versions,
        compilers: compilers(&root.join("bin"), &root.join("lib/llvm")),
        gpu_targets: found.targets,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fake::Tree;

    #[test]
    fn a_wheel_is_found_beside_its_libraries() {
        let tree = Tree::new(&[
            ("site/rocm_sdk_core-7.10.0a20251107.dist-info/METADATA", ""),
            ("site/_rocm_sdk_core/lib/libamdhip64.so.7", ""),
            ("site/_rocm_sdk_core/bin/hipcc", ""),
            ("site/_rocm_sdk_libraries_gfx94X_dcgpu/lib/librocblas.so.5", ""),
            (
                "site/_rocm_sdk_libraries_gfx94X_dcgpu/lib/rocblas/library/TensileLibrary_lazy_gfx942.dat",
                "",
            ),
        ]);
        let found = wheels(&[tree.path("site"), tree.path("none")]);
        assert_eq!(found.len(), 1);
        let one = &found[0];
        assert_eq!(
            (one.version.as_deref(), one.build_date.as_deref()),
            (Some("7.10.0a20251107"), Some("2025-11-07"))
        );
        assert_eq!(
            (one.components["hip"].as_str(), one.components["rocblas"].as_str()),
            ("7", "5")
        );
        assert_eq!(
            (one.gpu_targets.as_slice(), one.compilers.len()),
            (["gfx942".to_owned()].as_slice(), 1)
        );
    }
}
