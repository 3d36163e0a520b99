//! Kernels live once: HIP and CUDA compile from the same files.
#![cfg(all(feature = "rocm", feature = "cuda"))]

use std::collections::BTreeSet;
use std::path::Path;

use rsb_device::Backend;
use rsb_device::compiler::{Job, KernelCompiler, Level, SOURCES};
use rsb_gpu::common::catalog::{KERNELS, Module};
use rsb_gpu::cuda::CudaBackend;
use rsb_gpu::hip::HipBackend;
use rsb_model::Dtype;

#[test]
fn the_directory_holds_what_the_table_lists_and_nothing_else() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let files: BTreeSet<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| [".cu", ".cuh", ".hip", ".h"].iter().any(|end| name.ends_with(end)))
        .collect();
    let listed = Module::ALL.iter().map(|module| module.file()).chain(["prelude.h"]).map(str::to_owned).collect();
    assert_eq!(files, listed);
    assert!(Module::ALL.iter().all(|module| !module.source().contains("#include")), "no source pulls in another");
}

/// What HIP's compiler and CUDA's make of each source holds the same kernels, but for the types of the matrix units,
/// which differ between GPUs.
#[test]
fn both_compilers_make_every_kernel_from_the_same_source() {
    let both = [("hiprtc", &HipBackend as &dyn Backend, "gfx90a"), ("nvrtc", &CudaBackend, "sm_90")];
    let compilers = both.map(|(need, backend, arch)| {
        let compiler = backend.compiler().map(|compiler| (compiler, arch));
        compiler.inspect_err(|reason| test_needs::missing(need, &reason.to_string()))
    });
    let [Ok(hip), Ok(cuda)] = compilers else { return };
    for source in SOURCES {
        let [of_hip, of_cuda] = [&hip, &cuda].map(|(compiler, arch)| symbols(&**compiler, arch, source));
        assert_eq!(of_hip, of_cuda, "{source}");
        assert!(!of_hip.is_empty(), "{source}");
    }
}

/// The kernels of the table that are in what `compiler` makes of `source`, without those of the matrix units.
fn symbols(compiler: &dyn KernelCompiler, arch: &str, source: &str) -> BTreeSet<String> {
    let job = Job { source: source.to_owned(), arch: arch.to_owned(), level: Level::O3 };
    let made = compiler.compile(&job).unwrap_or_else(|reason| panic!("{reason}"));
    let is_in = |symbol: &String| {
        let whole = [b"\0".as_slice(), symbol.as_bytes(), b"\0"].concat();
        made.bytes.windows(whole.len()).any(|window| window == whole)
    };
    let kernels = KERNELS.iter().filter(|kernel| kernel.module.stem() == source && !kernel.matrix);
    let every = kernels.flat_map(|kernel| match kernel.dtypes {
        [] => vec![kernel.symbol(None)],
        dtypes => dtypes.iter().map(|dtype: &Dtype| kernel.symbol(Some(*dtype))).collect(),
    });
    every.filter(is_in).collect()
}

#[test]
fn every_source_has_its_name_in_the_contract() {
    assert_eq!(SOURCES, Module::ALL.map(Module::stem));
}
