//! Compiles the libraries that are preloaded into benchmarks: a clock, and a counter of heap
//! allocations. Without a C compiler that can link shared libraries, the files are empty: Criterion
//! before 0.4 then measures in whole seconds, and nothing is counted.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let Some(out) = std::env::var_os("OUT_DIR").map(PathBuf::from) else { return };
    for name in ["preloaded_clock", "preloaded_heap"] {
        prepare(&format!("src/harness/{name}.c"), &out.join(format!("{name}.so")));
    }
}

fn prepare(source: &str, library: &Path) {
    println!("cargo::rerun-if-changed={source}");
    let is_linux = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux");
    let is_compiled = is_linux && compile(source, library);
    if !is_compiled {
        println!(
            "cargo::warning=cannot compile {source}; install a C compiler, or Criterion 0.3 has coarse times and `gate --metric` lacks counts"
        );
        if let Err(error) = std::fs::write(library, "") {
            println!("cargo::error=cannot write {}: {error}", library.display());
        }
    }
}

fn compile(source: &str, library: &Path) -> bool {
    let Ok(compiler) = cc::Build::new().opt_level(2).pic(true).try_get_compiler() else {
        return false;
    };
    let mut command: Command = compiler.to_command();
    command.args(["-shared", source, "-ldl", "-o"]).arg(library);
    command.status().is_ok_and(|status| status.success())
}
