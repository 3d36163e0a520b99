//! Factors: the software that a case depends on.
//!
//! Each benchmark declares the names of its factors, and a result stores them with their versions.
//! Two results of a case are comparable if the factors present on both sides agree. A ROCm release
//! that only one side has cannot have affected a case that ran without it.

use std::collections::BTreeMap;

use crate::environment::Environment;
use crate::fingerprint::{self, Difference};
use crate::ids::{BackendId, CaseDevice, Vendor};

/// Versions at major.minor by factor name: `rocm` is `7.2`, `driver` is `amdgpu 6.10`, `torch` is
/// `2.9`.
pub type Factors = BTreeMap<String, String>;

/// Version of the GPU's kernel driver.
pub const DRIVER: &str = "driver";
/// Version of ROCm.
pub const ROCM: &str = "rocm";
/// Version of the CUDA toolkit.
pub const CUDA: &str = "cuda";
/// Version of Python.
pub const PYTHON: &str = "python";
/// Version of the driver library of a Vulkan device: `radv 25.0`.
pub const VULKAN: &str = "vulkan";
/// Version of the driver library of an OpenCL device.
pub const OPENCL: &str = "opencl";
/// Version of the driver library of a device on Intel's OpenCL platform.
pub const ONEAPI: &str = "oneapi";
/// Names of the driver libraries, which are also the names of their backends.
pub const DRIVER_LIBRARIES: [&str; 3] = [VULKAN, OPENCL, ONEAPI];
/// Name that represents all installed ML frameworks in a declaration.
pub const ALL_FRAMEWORKS: &str = "frameworks";

/// Returns the factors that any case on `device` depends on. A native case on a CPU depends on
/// none.
pub const fn of_device(device: CaseDevice) -> &'static [&'static str] {
    match device.backend() {
        Some(BackendId::Rocm) => &[DRIVER, ROCM],
        Some(BackendId::Cuda) => &[DRIVER, CUDA],
        Some(BackendId::Vulkan) => &[DRIVER, VULKAN],
        Some(BackendId::Opencl) => &[DRIVER, OPENCL],
        Some(BackendId::Oneapi) => &[DRIVER, ONEAPI],
        Some(BackendId::Cpu) | None => &[],
    }
}

/// Returns the versions in `environment` of the factors `names`, for a case on `device`. Factors
/// that are not installed are omitted. If the machine has GPUs of several vendors, the driver is
/// that of the device's vendor.
pub fn versions<'a>(
    environment: &Environment,
    device: CaseDevice,
    names: impl IntoIterator<Item = &'a str>,
) -> Factors {
    let mut found = Factors::new();
    for name in names {
        let version = match name {
            DRIVER => driver(environment, device),
            ROCM => environment.rocm.as_deref(),
            CUDA => environment.cuda.as_deref(),
            VULKAN | OPENCL | ONEAPI => {
                environment.drivers.get(&device.to_string()).map(String::as_str)
            }
            PYTHON => environment.python.as_deref(),
            ALL_FRAMEWORKS => {
                let all = environment.frameworks.iter();
                found.extend(
                    all.map(|(name, version)| (name.clone(), fingerprint::major_minor(version))),
                );
                continue;
            }
            framework => environment.frameworks.get(framework).map(String::as_str),
        };
        if let Some(version) = version {
            found.insert(name.to_owned(), fingerprint::major_minor(version));
        }
    }
    found
}

fn driver(environment: &Environment, device: CaseDevice) -> Option<&str> {
    let kernel_module = match device.backend().and_then(BackendId::native_of) {
        Some(Vendor::Amd) => "amdgpu",
        Some(Vendor::Nvidia) => "nvidia",
        _ => "",
    };
    let mut drivers = environment.gpus.iter().filter_map(|gpu| gpu.driver.as_deref());
    let first = drivers.clone().next();
    drivers.find(|driver| driver.starts_with(kernel_module)).or(first)
}

/// Returns the factors in which two results of a case differ, except those in `across`; [`DRIVER`]
/// in `across` also covers the driver libraries. A factor that only one side has does not count.
pub fn differences(baseline: &Factors, current: &Factors, across: &[String]) -> Vec<Difference> {
    let mut found = Vec::new();
    for (name, before) in baseline {
        if let Some(now) = current.get(name)
            && before != now
            && !is_allowed(name, across)
        {
            found.push(Difference {
                field: name.clone(),
                baseline: before.clone(),
                current: now.clone(),
            });
        }
    }
    found
}

fn is_allowed(factor: &str, across: &[String]) -> bool {
    let is_library = DRIVER_LIBRARIES.contains(&factor);
    across.iter().any(|name| name == factor || (is_library && name == DRIVER))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Gpu;
    use crate::ids::DeviceRef;

    fn on(backend: BackendId) -> CaseDevice {
        CaseDevice::Device(DeviceRef { backend, index: 0 })
    }

    fn machine() -> Environment {
        let drivers = ["amdgpu 6.10.5", "nvidia 570.86.15"];
        Environment {
            gpus: drivers
                .map(|driver| Gpu { driver: Some(driver.into()), ..Gpu::default() })
                .into(),
            rocm: Some("7.2.4".into()),
            cuda: Some("12.8.1".into()),
            python: Some("3.11.7".into()),
            drivers: [("vulkan:0".into(), "radv 25.0.3".into())].into(),
            frameworks: [
                ("torch".into(), "2.9.1+rocm7.2".into()),
                ("numpy".into(), "2.3.4".into()),
            ]
            .into(),
            ..Environment::default()
        }
    }

    fn format_factors(factors: &Factors) -> Vec<String> {
        factors.iter().map(|(name, version)| format!("{name} {version}")).collect()
    }

    #[test]
    fn a_device_decides_which_versions_matter() {
        struct Row {
            backend: BackendId,
            expected: &'static [&'static str],
        }
        for Row { backend, expected } in [
            Row { backend: BackendId::Cpu, expected: &[] },
            Row { backend: BackendId::Rocm, expected: &["driver amdgpu 6.10", "rocm 7.2"] },
            Row { backend: BackendId::Cuda, expected: &["cuda 12.8", "driver nvidia 570.86"] },
            Row {
                backend: BackendId::Vulkan,
                expected: &["driver amdgpu 6.10", "vulkan radv 25.0"],
            },
            Row { backend: BackendId::Opencl, expected: &["driver amdgpu 6.10"] },
        ] {
            let device = on(backend);
            assert_eq!(
                format_factors(&versions(&machine(), device, of_device(device).iter().copied())),
                expected,
                "{backend}"
            );
        }
    }

    #[test]
    fn what_is_not_installed_is_no_factor() {
        let none = Environment::default();
        assert_eq!(
            versions(&none, on(BackendId::Rocm), [DRIVER, ROCM, PYTHON, "torch", ALL_FRAMEWORKS]),
            Factors::new()
        );
        let all = versions(&machine(), on(BackendId::Cpu), [PYTHON, ALL_FRAMEWORKS]);
        assert_eq!(format_factors(&all), ["numpy 2.3", "python 3.11", "torch 2.9"]);
    }

    #[test]
    fn only_factors_of_both_sides_differ() {
        struct Row {
            now: Factors,
            across: Vec<String>,
            expected: &'static [&'static str],
        }
        let before = Factors::from([
            ("rocm".to_owned(), "7.1".to_owned()),
            ("driver".to_owned(), "amdgpu 6.10".to_owned()),
        ]);
        let newer = Factors::from([
            ("rocm".to_owned(), "7.2".to_owned()),
            ("driver".to_owned(), "amdgpu 6.12".to_owned()),
        ]);
        let same_driver = Factors::from([("driver".to_owned(), "amdgpu 6.10".to_owned())]);
        for Row { now, across, expected } in [
            Row { now: newer.clone(), across: vec![], expected: &["driver", "rocm"] },
            Row { now: newer, across: vec!["driver".to_owned()], expected: &["rocm"] },
            Row { now: same_driver, across: vec![], expected: &[] },
            Row { now: Factors::new(), across: vec![], expected: &[] },
        ] {
            let found = differences(&before, &now, &across);
            let fields: Vec<&str> = found.iter().map(|each| each.field.as_str()).collect();
            assert_eq!(fields, expected, "{now:?} across {across:?}");
        }
    }

    #[test]
    fn across_driver_includes_the_driver_library() {
        let of = |version: &str| Factors::from([("vulkan".to_owned(), version.to_owned())]);
        let count = |across: &[&str]| {
            let across: Vec<String> = across.iter().map(|&name| name.to_owned()).collect();
            differences(&of("radv 25.0"), &of("radv 25.1"), &across).len()
        };
        assert_eq!((count(&[]), count(&["rocm"]), count(&["opencl"])), (1, 1, 1));
        assert_eq!((count(&["vulkan"]), count(&["driver"])), (0, 0));
    }
}
