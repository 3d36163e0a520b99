//! Tests of the real runtime compiler of ROCm, if installed; no GPU is needed. It compiles every
//! kernel for one architecture of each family that the installed version supports, and the code
//! objects are checked. With `RSB_EVERY_ARCHITECTURE` in the environment, it compiles for every
//! architecture, which takes seconds each. For an unsupported architecture, the skip message must
//! name the first version that supports it.
#![cfg(feature = "rocm")]

use rsb_gpu::hip::catalog::{KERNELS, Module};
use rsb_gpu::hip::{HipCompiler, Source, target};
use rsb_model::architecture::{ARCHITECTURES, Architecture, ToolkitRelease, unknown};

/// One architecture of each family, by wavefront size and matrix instructions.
const FAMILIES: [&str; 6] = ["gfx90a", "gfx1030", "gfx942", "gfx1100", "gfx950", "gfx1201"];

/// Returns the compiler and its ROCm release, or `None` if there is none.
fn compiler() -> Option<(HipCompiler, ToolkitRelease)> {
    match HipCompiler::load() {
        Ok(compiler) => {
            let release = compiler.release().unwrap_or_else(|| {
                panic!("the compiler does not report its release: {}", compiler.identity())
            });
            Some((compiler, release))
        }
        Err(reason) => {
            test_needs::missing("hiprtc", &reason.to_string());
            None
        }
    }
}

fn contains(code: &[u8], text: &str) -> bool {
    code.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn every_kernel_compiles_for_every_family() {
    let Some((compiler, release)) = compiler() else { return };
    let every = std::env::var_os("RSB_EVERY_ARCHITECTURE").is_some();
    let wanted = |row: &&Architecture| {
        row.target.starts_with("gfx") && (every || FAMILIES.contains(&row.target))
    };
    let mut rows = Vec::new();
    for row in ARCHITECTURES.iter().filter(wanted) {
        // Kernels are not compiled for unsupported architectures, since compilers of ROCm 5 and 6
        // would end this process.
        match unknown("hiprtc", release, row.target) {
            Some(reason) => {
                let first = format!("ROCm {}.{} does", row.since.0, row.since.1);
                assert!(row.since > release && reason.why.ends_with(&first), "{reason}");
                eprintln!("skipped: {}", reason.why);
            }
            None => rows.push(row.target),
        }
    }
    eprintln!("hiprtc {}.{}: {}", release.0, release.1, rows.join(", "));
    for arch in rows {
        for module in Module::ALL {
            let source = Source { text: module.source(), name: module.file() };
            let compiled =
                compiler.compile(source, arch, &[]).unwrap_or_else(|reason| panic!("{reason}"));
            let code = &compiled.code;
            assert_eq!(target(code), Some(arch), "{}", module.file());
            for kernel in KERNELS.iter().filter(|kernel| kernel.module == module) {
                for symbol in kernel.symbols(arch) {
                    assert!(
                        contains(code, &format!("{symbol}.kd")),
                        "{symbol} is missing for {arch}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_mistake_in_a_source_is_a_reason_with_the_compilers_words() {
    let Some((compiler, _)) = compiler() else { return };
    let source =
        Source { text: "extern \"C\" __global__ void f() { wrong_name(); }", name: "wrong.cu" };
    let reason = compiler.compile(source, "gfx906", &[]).unwrap_err();
    assert!(reason.why.contains("wrong_name") && reason.what.contains("gfx906"), "{reason}");
}

#[test]
fn optimization_levels_are_passed_on() {
    let Some((compiler, _)) = compiler() else { return };
    let module = Module::Gemm;
    let source = Source { text: module.source(), name: module.file() };
    let size = |level| {
        compiler
            .compile(source, "gfx90a", &[level])
            .unwrap_or_else(|reason| panic!("{reason}"))
            .code
            .len()
    };
    assert_ne!(size("-O0"), size("-O3"));
}

/// The backend reports the missing part if there is no GPU, and otherwise the architecture of each
/// GPU.
#[test]
fn the_backend_finds_gpus_or_says_why_not() {
    use rsb_device::Backend as _;
    match rsb_gpu::hip::HipBackend.devices() {
        Ok(devices) => {
            let named = |info: &rsb_device::DeviceInfo| {
                info.arch.as_deref().is_some_and(|arch| arch.starts_with("gfx"))
            };
            assert!(devices.iter().all(named));
        }
        Err(reason) => assert!(!reason.why.is_empty() && !reason.cure.is_empty(), "{reason}"),
    }
}
