//! Tests of NVIDIA's real runtime compilers, if installed; no GPU is needed. Each compiler builds
//! every kernel for one of two GPU generations, and the cubins are checked. With
//! `RSB_EVERY_ARCHITECTURE` in the environment, it builds for every architecture, which takes
//! seconds more. `RSB_CUDA_PATH` lists the installations, separated as in `PATH`: Python
//! environments with `nvidia-cuda-nvrtc`, or toolkits.
#![cfg(feature = "cuda")]

use rsb_device::compiler::{Job, KernelCompiler, Level};
use rsb_gpu::common::catalog::{KERNELS, Module};
use rsb_gpu::common::{Source, matrix_dtypes, sparse_dtypes};
use rsb_gpu::cuda::{CudaCompiler, target};
use rsb_model::architecture::{ARCHITECTURES, known_targets};

/// Loads all available compilers.
fn compilers() -> Vec<CudaCompiler> {
    let dirs = std::env::var_os("RSB_CUDA_PATH").unwrap_or_default();
    let found: Vec<CudaCompiler> =
        std::env::split_paths(&dirs).filter_map(|dir| CudaCompiler::load_in(&dir).ok()).collect();
    if found.is_empty() {
        test_needs::missing(
            "nvrtc",
            "no compiler found in the directories of RSB_CUDA_PATH (pip install nvidia-cuda-nvrtc)",
        );
    }
    found
}

/// Returns whether each compiler is to compile for every architecture.
fn every_architecture() -> bool {
    std::env::var_os("RSB_EVERY_ARCHITECTURE").is_some()
}

fn contains(code: &[u8], text: &str) -> bool {
    code.windows(text.len()).any(|window| window == text.as_bytes())
}

/// Returns the targets in the architecture table that `compiler` supports.
fn targets(compiler: &CudaCompiler) -> Vec<&'static str> {
    let release = compiler.release().unwrap_or_else(|| {
        panic!("the compiler does not report its release: {}", compiler.identity())
    });
    let mut known: Vec<&str> =
        known_targets().filter(|(_, has)| has.contain(release)).map(|(target, _)| target).collect();
    known.retain(|target| {
        ARCHITECTURES.iter().any(|row| row.target == *target && target.starts_with("sm_"))
    });
    known
}

/// The architectures that each compiler reports match the table's entries for its release.
#[test]
fn the_table_knows_which_release_knows_which_architecture() {
    let compilers = compilers();
    for compiler in &compilers {
        let (release, listed) = (compiler.release().unwrap(), compiler.architectures());
        for (target, has) in known_targets().filter(|(target, _)| target.starts_with("sm_")) {
            let number: i32 = target.trim_start_matches("sm_").parse().unwrap();
            assert_eq!(
                listed.contains(&number),
                has.contain(release),
                "{target} of {}",
                compiler.identity()
            );
            let source = Source { text: "", name: "empty.cu" };
            if !has.contain(release) {
                let reason = compiler.compile(source, target, &[]).unwrap_err();
                assert!(reason.why.contains(&format!(" {target}; CUDA ")), "{reason}");
                eprintln!("skipped: {}", reason.why);
            }
        }
    }
}

#[test]
fn every_kernel_compiles_for_every_generation() {
    const CUDA: [u8; 2] = [190, 0];
    let compilers = compilers();
    // To save time, the newest compiler builds for sm_80, and older compilers for sm_90, which
    // requires more of them.
    let work: Vec<(&CudaCompiler, &str)> = match &compilers[..] {
        [newest, older @ ..] if !older.is_empty() && !every_architecture() => {
            std::iter::once((newest, "sm_80"))
                .chain(older.iter().map(|compiler| (compiler, "sm_90")))
                .collect()
        }
        each => each
            .iter()
            .flat_map(|each| targets(each).into_iter().map(move |arch| (each, arch)))
            .collect(),
    };
    for (compiler, arch) in work {
        eprintln!("{arch} by {}", compiler.identity());
        for module in Module::ALL {
            let source = Source { text: module.source(), name: module.file() };
            let compiled =
                compiler.compile(source, arch, &[]).unwrap_or_else(|reason| panic!("{reason}"));
            let code = &compiled.code;
            assert_eq!(code.get(..4), Some(b"\x7fELF".as_slice()), "{arch} {}", module.file());
            assert_eq!(
                code.get(18..20),
                Some(CUDA.as_slice()),
                "{arch} {}: machine",
                module.file()
            );
            assert_eq!(
                target(code).as_deref(),
                Some(arch),
                "{} by {}",
                module.file(),
                compiler.identity()
            );
            for kernel in KERNELS.iter().filter(|kernel| kernel.module == module) {
                for symbol in kernel.symbols(arch) {
                    assert!(
                        contains(code, &format!(".text.{symbol}\0")),
                        "{symbol} is missing for {arch}"
                    );
                }
            }
        }
    }
}

#[test]
fn every_type_of_the_matrix_units_has_its_kernel() {
    for (place, compiler) in compilers().into_iter().enumerate() {
        // Turing's units have no kernel, and sm_80 has all kernels of sm_86.
        let mut work = targets(&compiler);
        work.retain(|arch| {
            !matrix_dtypes(arch).is_empty() && (every_architecture() || *arch != "sm_86")
        });
        // Older compilers build only for the first and the last target.
        let step = if place == 0 || every_architecture() { 1 } else { work.len() - 1 };
        for arch in work.into_iter().step_by(step) {
            let job = Job::cold("peak", arch, Level::O3);
            let made = KernelCompiler::compile(&compiler, &job)
                .unwrap_or_else(|reason| panic!("{reason}"));
            for (unit, types) in [("matrix", matrix_dtypes(arch)), ("sparse", sparse_dtypes(arch))]
            {
                assert!(!types.is_empty());
                for dtype in types {
                    let symbol = format!(".text.rsb_peak_{unit}_{dtype}\0");
                    assert!(
                        contains(&made.bytes, &symbol),
                        "{unit} {dtype} on {arch} by {}",
                        compiler.identity()
                    );
                }
            }
        }
    }
}

#[test]
fn what_a_kernel_needs_is_read_from_its_cubin() {
    for compiler in compilers() {
        let needs = |source: &str, symbol: &str| {
            let job = Job::cold(source, "sm_90", Level::O3);
            let made = KernelCompiler::compile(&compiler, &job)
                .unwrap_or_else(|reason| panic!("{reason}"));
            compiler.needs(&made).into_iter().find(|kernel| kernel.symbol == symbol).unwrap()
        };
        // The threads of a block exchange 256 numbers of 4 bytes.
        let norm = needs("normalize", "rsb_layer_norm_f32");
        assert_eq!((norm.shared_bytes, norm.wavefront), (1024, 32), "{}", compiler.identity());
        assert!((16..=255).contains(&norm.registers), "{norm:?}");
        assert_eq!(needs("elementwise", "rsb_add_f32").shared_bytes, 0);
    }
}

#[test]
fn a_mistake_and_an_unknown_architecture_are_reasons() {
    for compiler in compilers() {
        let wrong =
            Source { text: "extern \"C\" __global__ void f() { wrong_name(); }", name: "wrong.cu" };
        let reason = compiler.compile(wrong, "sm_90", &[]).unwrap_err();
        assert!(reason.why.contains("wrong_name") && reason.what.contains("sm_90"), "{reason}");
        let right = Source { text: "", name: "empty.cu" };
        for arch in ["sm_20", "sm_999", "gfx90a"] {
            let reason = compiler.compile(right, arch, &[]).unwrap_err();
            assert!(reason.why.contains("sm_80, ") && reason.what.contains(arch), "{reason}");
        }
    }
}

#[test]
fn optimization_levels_are_passed_on() {
    if let Some(compiler) = compilers().into_iter().next() {
        let size = |level| {
            let job = Job::cold("convolution", "sm_90", level);
            KernelCompiler::compile(&compiler, &job)
                .unwrap_or_else(|reason| panic!("{reason}"))
                .bytes
                .len()
        };
        assert_ne!(size(Level::O0), size(Level::O3));
    }
}

/// The backend reports the missing part if there is no GPU, and otherwise the architecture of each
/// GPU.
#[test]
fn the_backend_finds_gpus_or_says_why_not() {
    use rsb_device::Backend as _;
    match rsb_gpu::cuda::CudaBackend.devices() {
        Ok(devices) => {
            let named = |info: &rsb_device::DeviceInfo| {
                info.arch.as_deref().is_some_and(|arch| arch.starts_with("sm_"))
            };
            assert!(devices.iter().all(named));
        }
        Err(reason) => assert!(!reason.why.is_empty() && !reason.cure.is_empty(), "{reason}"),
    }
}
