//! The optional parts of this build, and how to add the missing ones.

use rsb_catalog::backends::has_backend;
use rsb_engine::python_worker;
use rsb_model::BackendId;
use rsb_report::doctor::BuildPart;

use crate::report;

/// Returns every optional part, those of this build and the others.
pub fn parts() -> Vec<BuildPart> {
    let backend = |backend: BackendId| (backend.as_str(), has_backend(backend));
    [
        backend(BackendId::Rocm),
        backend(BackendId::Cuda),
        backend(BackendId::Vulkan),
        backend(BackendId::Opencl),
        ("tui", cfg!(feature = "tui")),
        ("serve", cfg!(feature = "serve")),
        ("frameworks", python_worker::is_installed()),
        ("pdf", report::check_pdf().is_ok()),
        ("png", cfg!(feature = "png")),
        ("parquet", cfg!(feature = "parquet")),
        ("duckdb", cfg!(feature = "duckdb")),
        ("postgres", cfg!(feature = "postgres")),
    ]
    .into_iter()
    .map(|(name, is_present)| BuildPart {
        name,
        is_present,
        cure: (!is_present).then(|| format!("cargo install --path . --features {name}")),
    })
    .collect()
}
