//! Compiles the clock that is preloaded into benchmarks. Without a C compiler that can link shared
//! libraries, the file is empty: Criterion before 0.4 then measures in whole seconds, and
//! instructions are not counted.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    const SOURCE: &str = "src/harness/preloaded_clock.c";
    println!("cargo::rerun-if-changed={SOURCE}");
    let Some(out) = std::env::var_os("OUT_DIR").map(PathBuf::from) else { return };
    let library = out.join("preloaded_clock.so");
    let is_linux = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux");
    let is_compiled = is_linux && compile(SOURCE, &library);
    if !is_compiled {
        println!(
            "cargo::warning=no preloadable clock: Criterion 0.3 is measured in whole seconds, and no instructions are counted"
        );
        if let Err(error) = std::fs::write(&library, "") {
            println!("cargo::error=cannot write {}: {error}", library.display());
        }
    }
}

fn compile(source: &str, library: &std::path::Path) -> bool {
    let Ok(compiler) = cc::Build::new().opt_level(2).pic(true).try_get_compiler() else {
        return false;
    };
    let mut command: Command = compiler.to_command();
    command.args(["-shared", source, "-ldl", "-o"]).arg(library);
    command.status().is_ok_and(|status| status.success())
}
