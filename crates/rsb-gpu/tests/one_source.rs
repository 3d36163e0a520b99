//! HIP and CUDA compile kernels from the same files. The tests of each compiler check that it
//! builds every kernel of the table.
#![cfg(any(feature = "rocm", feature = "cuda"))]

use std::collections::BTreeSet;
use std::path::Path;

use rsb_device::compiler::{SOURCES, VECTOR_ADD};
use rsb_gpu::common::catalog::Module;

#[test]
fn the_directory_holds_what_the_table_lists_and_nothing_else() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let files: BTreeSet<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| [".cu", ".cuh", ".hip", ".h"].iter().any(|end| name.ends_with(end)))
        .collect();
    let listed = Module::ALL
        .iter()
        .map(|module| module.file())
        .chain(["prelude.h", "vector_add.cu", "matrix.cu", "matrix_units.cu"])
        .map(str::to_owned)
        .collect();
    assert_eq!(files, listed);
    assert!(
        Module::ALL.iter().all(|module| !module.source().contains("#include")),
        "no source may include another file"
    );
}

#[test]
fn every_source_has_its_name_in_the_contract() {
    assert_eq!((SOURCES[0], &SOURCES[1..]), (VECTOR_ADD, &Module::ALL.map(Module::stem)[..]));
}
