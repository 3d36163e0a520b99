//! Rules about ROCm: whether it is installed, complete, of a single release, and supports the GPUs.

use std::path::Path;

use rsb_model::finding::{Finding, FindingSeverity};
use rsb_model::gpu::{Gpu, GpuKind};
use rsb_model::rocm::{RocmInstallation, RocmSource};

use super::{GpuFinding, together};
use crate::doctor::facts::{DoctorInput, HostFacts, Library};

const INSTALL: &str =
    "install ROCm from AMD's packages or the distribution's, or a framework that includes it";

pub(super) fn findings(facts: &DoctorInput) -> Vec<Finding> {
    let Some(host) = &facts.host else { return Vec::new() };
    let mut found = libraries(facts, host);
    found.extend(several(host));
    found.extend(host.installations.iter().filter_map(check_mixed_releases));
    found.extend(torn(host));
    found.extend(remnants(host));
    found.extend(stale(host));
    found.extend(kernels(facts, host));
    found
}

/// Returns whether there is a GPU that ROCm could use.
fn wants_rocm(facts: &DoctorInput) -> bool {
    facts.gpus.iter().any(Gpu::is_amd)
}

fn libraries(facts: &DoctorInput, host: &HostFacts) -> Vec<Finding> {
    let Some(hip) = host.library("libamdhip64") else {
        return without_hip(facts, host);
    };
    let mut found = vec![Finding::ok("the HIP runtime is installed", place_of(hip))];
    if !wants_rocm(facts) {
        found.push(Finding::new(
            FindingSeverity::Note,
            "ROCm is installed, but there is no AMD GPU",
            "GPU cases cannot run; hiprtc compiles without a GPU",
            "no action if this is intended",
        ));
    }
    match host.library("libhsa-runtime64") {
        Some(hsa) => found.push(Finding::ok("the HSA runtime is installed", place_of(hsa))),
        None => found.push(Finding::new(
            FindingSeverity::Error,
            "libhsa-runtime64 is missing",
            "HIP is installed but cannot start without it: the installation is incomplete",
            "install the package hsa-rocr (distributions: libhsa-runtime64-1)",
        )),
    }
    match host.library("libhiprtc") {
        Some(compiler) => {
            found.push(Finding::ok("the runtime compiler is installed", place_of(compiler)));
        }
        // Some builds of release 5 include it in the HIP library.
        None if hip.major.is_some_and(|major| major >= 6) => found.push(Finding::new(
            FindingSeverity::Error,
            "libhiprtc is missing",
            "this program and many others compile kernels with it at run time",
            "install the complete package hip-runtime-amd",
        )),
        None => {}
    }
    match host.library("librocblas") {
        Some(blas) => found.push(Finding::ok("rocBLAS is installed", place_of(blas))),
        None => found.push(Finding::new(
            if wants_rocm(facts) { FindingSeverity::Warning } else { FindingSeverity::Note },
            "librocblas is missing",
            "matrix products use this program's slower kernels, and most frameworks do not start",
            "install the package rocblas",
        )),
    }
    found
}

fn place_of(library: &Library) -> String {
    library.path.clone().unwrap_or_default()
}

fn without_hip(facts: &DoctorInput, host: &HostFacts) -> Vec<Finding> {
    let others: Vec<&str> = host
        .libraries
        .iter()
        .filter(|library| library.path.is_some())
        .map(|library| library.name.as_str())
        .collect();
    let in_python = host.installations.iter().find(|one| one.source == RocmSource::Wheel);
    if let Some(wheel) = in_python.filter(|_| others.is_empty()) {
        return vec![Finding::new(
            FindingSeverity::Note,
            format!(
                "ROCm {} is only installed for Python",
                wheel.version.as_deref().unwrap_or("of an unknown version")
            ),
            format!("it is a Python package in {}, where native programs do not look", wheel.path),
            format!("export ROCM_PATH={} to use it for native programs too", wheel.path),
        )];
    }
    if !others.is_empty() {
        let severity =
            if wants_rocm(facts) { FindingSeverity::Error } else { FindingSeverity::Warning };
        return vec![Finding::new(
            severity,
            "libamdhip64 is missing",
            format!(
                "{} {} installed: ROCm was partly installed or partly removed",
                others.join(", "),
                if others.len() == 1 { "is" } else { "are" }
            ),
            "install the package hip-runtime-amd (distributions: libamdhip64), or remove the rest",
        )];
    }
    if !wants_rocm(facts) {
        return Vec::new();
    }
    vec![Finding::new(
        FindingSeverity::Note,
        "ROCm is not installed",
        "there is an AMD GPU, but no ROCm library was found; cases that do not need ROCm run \
         without it",
        INSTALL,
    )]
}

/// Reports more than one installation for native programs.
fn several(host: &HostFacts) -> Option<Finding> {
    let native: Vec<&RocmInstallation> = host
        .installations
        .iter()
        .filter(|one| one.source != RocmSource::Wheel && one.components.contains_key("hip"))
        .collect();
    let [first, ..] = native.as_slice() else { return None };
    if native.len() < 2 {
        let version = first.version.as_deref().unwrap_or("of an unknown version");
        return Some(Finding::ok(
            format!("ROCm {version} is the only installation"),
            first.path.clone(),
        ));
    }
    let each: Vec<String> = native
        .iter()
        .map(|one| format!("{} in {}", one.version.as_deref().unwrap_or("unknown"), one.path))
        .collect();
    Some(Finding::new(
        FindingSeverity::Warning,
        format!("{} ROCm installations: {}", native.len(), each.join("; ")),
        format!(
            "programs use {} by default; a process that loads libraries of several installations crashes",
            first.path
        ),
        "export ROCM_PATH to choose one, or remove the others",
    ))
}

/// Reports components of one installation that come from another release.
fn check_mixed_releases(one: &RocmInstallation) -> Option<Finding> {
    let release = release(one.version.as_deref()?)?;
    let strangers: Vec<String> = one
        .components
        .iter()
        .filter(|(name, version)| {
            component_release(name, version, release).is_some_and(|own| own != release)
        })
        .map(|(name, version)| format!("{name} {version}"))
        .collect();
    if strangers.is_empty() {
        return None;
    }
    Some(Finding::new(
        FindingSeverity::Warning,
        format!("{} contains libraries of another release: {}", one.path, strangers.join(", ")),
        format!(
            "its version is ROCm {}.{}; libraries of different ROCm releases are incompatible",
            release.0, release.1
        ),
        format!("reinstall these packages from the release {}.{}", release.0, release.1),
    ))
}

/// Parses the major and minor version.
fn release(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.').map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

/// Returns the release that a component was built for, if its version shows that. Up to 7.2, the
/// version of the HIP library begins with the release. Versions of other components end in the
/// release as one number: 60402 for 6.4.2.
fn component_release(name: &str, version: &str, release: (u32, u32)) -> Option<(u32, u32)> {
    const PARTED: (u32, u32) = (7, 3);
    if name == "hip" || name == "hiprtc" {
        let has_all = version.split('.').count() >= 3;
        return self::release(version).filter(|_| has_all && release < PARTED);
    }
    let last: u32 = version.rsplit('.').next()?.parse().ok()?;
    (10_000..1_000_000).contains(&last).then_some((last / 10_000, last / 100 % 100))
}

/// Reports libraries that a program would load from several installations.
fn torn(host: &HostFacts) -> Option<Finding> {
    let mut found: Vec<(&str, String)> = Vec::new();
    for name in ["libamdhip64", "libhsa-runtime64", "librocblas"] {
        let path = host.library(name).and_then(|library| library.path.as_deref());
        if let Some(dir) = path.and_then(|path| Path::new(path).parent()) {
            found.push((name, dir.display().to_string()));
        }
    }
    let (_, first) = found.first()?;
    if found.iter().all(|(_, dir)| dir == first) {
        return None;
    }
    let each: Vec<String> = found.iter().map(|(name, dir)| format!("{name} from {dir}")).collect();
    Some(Finding::new(
        FindingSeverity::Warning,
        "ROCm libraries come from several directories",
        each.join(", "),
        "remove the other directory from LD_LIBRARY_PATH, or install all of one release",
    ))
}

fn remnants(host: &HostFacts) -> Vec<Finding> {
    let each = host.remnants.iter().map(|left| {
        let is_named = left.why.starts_with("ROCM_PATH");
        let cure = if is_named {
            "unset ROCM_PATH, or set it to the directory of an installation".to_owned()
        } else {
            format!(
                "remove its packages with the package manager, then run `sudo rm -r {}`; or \
                 reinstall ROCm",
                left.path
            )
        };
        Finding::new(
            if is_named { FindingSeverity::Error } else { FindingSeverity::Warning },
            format!("{} is not a complete installation", left.path),
            left.why.clone(),
            cure,
        )
    });
    each.collect()
}

fn stale(host: &HostFacts) -> Option<Finding> {
    let first = host.stale.first()?;
    Some(Finding::new(
        FindingSeverity::Warning,
        format!(
            "the linker's cache lists {} that {} missing",
            count(host.stale.len()),
            if host.stale.len() == 1 { "is" } else { "are" }
        ),
        format!(
            "{} should be {}, but this file was removed without an update of the cache",
            first.name, first.path
        ),
        "sudo ldconfig",
    ))
}

fn count(libraries: usize) -> String {
    if libraries == 1 { "a ROCm library".to_owned() } else { format!("{libraries} ROCm libraries") }
}

/// Reports missing rocBLAS kernels: rocBLAS aborts the process if it has none for the GPU.
fn kernels(facts: &DoctorInput, host: &HostFacts) -> Vec<Finding> {
    let Some(blas) = host.library("librocblas") else { return Vec::new() };
    let mut found = Vec::new();
    for gpu in facts.gpus.iter().filter(|gpu| gpu.is_amd()) {
        if let Some(target) = &gpu.gfx_target {
            found.push((gpu, check_kernels(blas, gpu, target)));
        }
    }
    together(found)
}

/// Returns whether `blas` has kernels for `gpu` with the instruction set `target`.
fn check_kernels(blas: &Library, gpu: &Gpu, target: &str) -> GpuFinding {
    if blas.targets.iter().any(|known| covers(known, target)) {
        return GpuFinding::ok(format!("rocBLAS has kernels for {target}"), place_of(blas));
    }
    let severity = if gpu.kind == Some(GpuKind::Integrated) {
        FindingSeverity::Warning
    } else {
        FindingSeverity::Error
    };
    let known = if blas.targets.is_empty() {
        "no kernel files were found next to the library".to_owned()
    } else {
        format!("it has kernels for {}", blas.targets.join(", "))
    };
    GpuFinding::new(
        severity,
        format!("rocBLAS has no kernels for {target}"),
        format!("{known}; a program that calls it on this GPU aborts"),
        "install a build of rocBLAS for this GPU, or hide the GPU with HIP_VISIBLE_DEVICES",
    )
}

/// Returns whether files for `known` also work on `target`. Families of generic targets as in
/// LLVM's AMDGPU usage guide.
fn covers(known: &str, target: &str) -> bool {
    match known {
        "gfx9-generic" => {
            ["gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"].contains(&target)
        }
        "gfx9-4-generic" => target.starts_with("gfx94") || target == "gfx950",
        "gfx10-1-generic" => target.starts_with("gfx101"),
        "gfx10-3-generic" => target.starts_with("gfx103"),
        "gfx11-generic" => target.starts_with("gfx11"),
        "gfx12-generic" => target.starts_with("gfx120"),
        _ => known == target,
    }
}
