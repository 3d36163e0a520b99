//! Fingerprint of a machine: its hardware, which must match for two runs to be comparable, and the
//! versions of its software.
//!
//! It is fine enough to distinguish two GPU models and coarse enough to ignore the patch level of
//! the kernel. Whether a software version matters depends on the case; see [`crate::factor`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use itertools::Itertools as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::environment::{Cpu, Environment, Gpu};

/// Part of an [`Environment`] that is compared between runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fingerprint {
    /// Hardware fields and their values. They determine the directory of a baseline.
    pub hardware: BTreeMap<String, String>,
    /// Software versions at major.minor, by name. They show changes of a machine; comparability is
    /// decided per case.
    pub factors: BTreeMap<String, String>,
}

/// Difference between two fingerprints in one field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// Name of the field, such as `cpu_model` or `rocm`.
    pub field: String,
    /// Value in the baseline.
    pub baseline: String,
    /// Value in the current run.
    pub current: String,
}

const UNKNOWN: &str = "none";

impl Fingerprint {
    /// Returns the fingerprint of `environment`.
    pub fn of(environment: &Environment) -> Self {
        let mut hardware = details(environment);
        let cpu = environment.cpu.as_ref();
        let model = cpu.and_then(|cpu| cpu.model.clone()).unwrap_or_else(|| UNKNOWN.to_owned());
        hardware.insert("cpu_model".to_owned(), model);
        hardware.insert(
            "usable_cores".to_owned(),
            cpu.map_or_else(|| UNKNOWN.to_owned(), |cpu| cpu.usable_cores.to_string()),
        );
        hardware.insert("gpu_count".to_owned(), environment.gpus.len().to_string());
        for (index, gpu) in environment.gpus.iter().enumerate() {
            hardware.insert(format!("gpu{index}"), describe(gpu));
        }
        let mut factors = BTreeMap::new();
        let driver = environment.gpus.iter().find_map(|gpu| gpu.driver.as_deref());
        factors.insert("driver".to_owned(), or_unknown(driver.map(major_minor)));
        let rocm = environment.rocm.as_deref();
        factors.insert("rocm".to_owned(), or_unknown(rocm.map(major_minor)));
        if let Some(cuda) = &environment.cuda {
            factors.insert("cuda".to_owned(), major_minor(cuda));
        }
        let mut drivers: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for (device, driver) in &environment.drivers {
            let backend = device.split(':').next().unwrap_or(device);
            drivers.entry(backend).or_default().insert(major_minor(driver));
        }
        for (backend, versions) in drivers {
            factors.insert(backend.to_owned(), versions.iter().join(", "));
        }
        let python = environment.python.as_deref();
        factors.insert("python".to_owned(), or_unknown(python.map(major_minor)));
        for (name, version) in &environment.frameworks {
            factors.insert(name.clone(), major_minor(version));
        }
        Self { hardware, factors }
    }

    /// Returns all differences in hardware; each makes two runs incomparable. A detail that one
    /// side lacks, as in files of earlier versions, does not count.
    pub fn differences(&self, current: &Self) -> Vec<Difference> {
        let mut found = differing(&self.hardware, &current.hardware);
        let is_known =
            |field: &str| [self, current].iter().all(|side| side.hardware.contains_key(field));
        found.retain(|difference| !is_detail(&difference.field) || is_known(&difference.field));
        found
    }

    /// Returns a directory name for this hardware. It is readable, and unique because of a hash
    /// over all hardware fields.
    pub fn slug(&self) -> String {
        self.named_by(self.hardware.iter())
    }

    /// Returns the directory name used before format 3, built from the CPU model, the cores and the
    /// GPUs only.
    pub fn former_slug(&self) -> String {
        self.named_by(self.hardware.iter().filter(|(field, _)| !is_detail(field)))
    }

    fn named_by<'a>(&self, fields: impl Iterator<Item = (&'a String, &'a String)>) -> String {
        let model = self.hardware.get("cpu_model").map_or(UNKNOWN, String::as_str);
        let cores = self.hardware.get("usable_cores").map_or(UNKNOWN, String::as_str);
        let gpus = match self.hardware.get("gpu_count").map(String::as_str) {
            None | Some("0") => String::new(),
            Some(count) => format!("-{count}gpu"),
        };
        let mut hash = 0xcbf2_9ce4_8422_2325_u64; // FNV-1a: stable across versions of Rust, as a directory name must be.
        for byte in fields.flat_map(|(name, value)| [name, "=", value, "\n"].concat().into_bytes())
        {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        let mut slug = slugify(model);
        let _ = write!(slug, "-{cores}c{gpus}-{:08x}", hash >> 32);
        slug
    }
}

/// Fields that distinguish machines whose CPUs have the same name. Unknown values are omitted.
const DETAILS: [&str; 6] =
    ["architecture", "caches", "cpu_identity", "instruction_set", "memory_class", "physical_cores"];

fn is_detail(field: &str) -> bool {
    DETAILS.contains(&field)
}

fn details(environment: &Environment) -> BTreeMap<String, String> {
    let cpu = environment.cpu.as_ref();
    let known = [
        cpu.map(|cpu| cpu.architecture.clone()).filter(|name| !name.is_empty()),
        cpu.and_then(caches),
        cpu.and_then(identity),
        cpu.and_then(instruction_set),
        environment.memory_gb.filter(|gb| *gb > 0.0).map(memory_class),
        cpu.and_then(|cpu| cpu.physical_cores).map(|cores| cores.to_string()),
    ];
    let named = DETAILS.iter().map(|name| (*name).to_owned());
    named.zip(known).filter_map(|(name, value)| Some((name, value?))).collect::<BTreeMap<_, _>>()
}

/// Returns family, model number and stepping as reported by the CPU: `25.17.1`.
fn identity(cpu: &Cpu) -> Option<String> {
    Some(format!("{}.{}.{}", cpu.family?, cpu.model_number?, cpu.stepping?))
}

/// Lists the caches as seen by one thread: `L1 32 KiB, L2 1024 KiB`.
fn caches(cpu: &Cpu) -> Option<String> {
    let each =
        cpu.caches.iter().map(|cache| format!("L{} {} KiB", cache.level, cache.size_bytes >> 10));
    Some(each.collect::<Vec<_>>().join(", ")).filter(|all| !all.is_empty())
}

/// Returns the level of the vector extensions, by which programs choose their kernels.
fn instruction_set(cpu: &Cpu) -> Option<String> {
    for level in ["amx", "avx512", "avx2", "avx", "sse4", "sve", "neon", "asimd", "rvv"] {
        if cpu.features.iter().any(|feature| feature.starts_with(level)) {
            return Some(level.to_owned());
        }
    }
    None
}

/// Rounds a memory size to the nearest power of √2, such as `22.6 GB`, because the part reserved by
/// firmware and kernel varies.
fn memory_class(gb: f64) -> String {
    let halves = (gb.log2() * 2.0).round();
    format!("{:.1} GB", (halves / 2.0).exp2())
}

fn describe(gpu: &Gpu) -> String {
    format!(
        "{} {} CU {} GB {}",
        or_unknown(gpu.pci_id.clone()),
        or_unknown(gpu.compute_units.map(|units| units.to_string())),
        or_unknown(gpu.vram_gb.map(|gb| format!("{gb:.0}"))),
        or_unknown(gpu.partition.clone()),
    )
}

fn or_unknown(value: Option<String>) -> String {
    value.unwrap_or_else(|| UNKNOWN.to_owned())
}

/// Returns the differences in software between two machines, with full versions. Unlike factors,
/// they include the operating system, the kernel, and, if both machines list them, the components
/// of ROCm and the drivers of devices. Any other value that one side lacks is `none`.
pub fn software_differences(baseline: &Environment, current: &Environment) -> Vec<Difference> {
    let mut found = differing(&full_versions(baseline), &full_versions(current));
    let listed = [
        [baseline, current].map(|environment| environment.drivers.clone()),
        [baseline, current].map(rocm_components),
    ];
    // These lists depend on the devices that a run uses, so an empty list is not a difference.
    for [before, now] in listed {
        if !before.is_empty() && !now.is_empty() {
            found.extend(differing(&before, &now));
        }
    }
    found
}

/// Returns the full versions of the software of a machine, by name.
fn full_versions(environment: &Environment) -> BTreeMap<String, String> {
    let drivers = environment.gpus.iter().filter_map(|gpu| gpu.driver.as_deref());
    let drivers = drivers.sorted_unstable().dedup().join(", ");
    let known = [
        ("os", environment.os.clone()),
        ("kernel", environment.kernel.clone()),
        ("driver", Some(drivers).filter(|drivers| !drivers.is_empty())),
        ("rocm", environment.rocm.clone()),
        ("cuda", environment.cuda.clone()),
        ("python", environment.python.clone()),
    ];
    let mut versions = environment.frameworks.clone();
    for (name, version) in known {
        if let Some(version) = version {
            versions.insert(name.to_owned(), version);
        }
    }
    versions
}

/// Returns the versions of the components of the ROCm installation that programs would use, as
/// `rocm hip`.
fn rocm_components(environment: &Environment) -> BTreeMap<String, String> {
    let components = environment.rocm_installations.first().map(|rocm| &rocm.components);
    components
        .into_iter()
        .flatten()
        .map(|(name, version)| (format!("rocm {name}"), version.clone()))
        .collect()
}

fn differing(
    baseline: &BTreeMap<String, String>,
    current: &BTreeMap<String, String>,
) -> Vec<Difference> {
    let fields = baseline.keys().chain(current.keys()).sorted_unstable().dedup().collect_vec();
    fields
        .into_iter()
        .map(|field| Difference {
            field: field.clone(),
            baseline: or_unknown(baseline.get(field).cloned()),
            current: or_unknown(current.get(field).cloned()),
        })
        .filter(|difference| difference.baseline != difference.current)
        .collect()
}

/// Returns `3.11` for `3.11.7`. A leading name, as of a driver, is kept.
pub(crate) fn major_minor(version: &str) -> String {
    let (name, number) =
        version.rsplit_once(' ').map_or(("", version), |(name, number)| (name, number));
    let short = number.split('.').take(2).collect::<Vec<_>>().join(".");
    if name.is_empty() { short } else { format!("{name} {short}") }
}

fn slugify(text: &str) -> String {
    let mut slug = String::new();
    for part in text
        .to_ascii_lowercase()
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|part| !part.is_empty())
    {
        if matches!(part, "r" | "tm" | "cpu" | "processor") {
            continue;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.push_str(part);
        if slug.len() >= 32 {
            break;
        }
    }
    if slug.is_empty() { UNKNOWN.to_owned() } else { slug }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{Cache, RocmInstallation};

    fn machine() -> Environment {
        Environment {
            kernel: Some("6.1.0-18".into()),
            cpu: Some(Cpu {
                model: Some("AMD EPYC 7763 64-Core Processor".into()),
                usable_cores: 2,
                ..Cpu::default()
            }),
            gpus: vec![Gpu {
                pci_id: Some("1002:74a1".into()),
                compute_units: Some(304),
                vram_gb: Some(206.1),
                driver: Some("amdgpu 6.10.5".into()),
                ..Gpu::default()
            }],
            rocm: Some("7.2.4".into()),
            python: Some("3.11.7".into()),
            ..Environment::default()
        }
    }

    fn fields(change: impl Fn(&mut Environment)) -> Vec<String> {
        let mut other = machine();
        change(&mut other);
        Fingerprint::of(&machine())
            .differences(&Fingerprint::of(&other))
            .into_iter()
            .map(|difference| difference.field)
            .collect()
    }

    #[test]
    fn hardware_decides_and_software_does_not() {
        assert_eq!(fields(|_| {}), Vec::<String>::new());
        assert_eq!(fields(|e| e.kernel = Some("6.1.0-19".into())), Vec::<String>::new());
        assert_eq!(fields(|e| e.rocm = Some("7.3.0".into())), Vec::<String>::new());
        assert_eq!(
            fields(|e| e.gpus[0].driver = Some("amdgpu 6.12.1".into())),
            Vec::<String>::new()
        );
        assert_eq!(fields(|e| e.gpus[0].pci_id = Some("1002:744c".into())), ["gpu0"]);
        assert_eq!(fields(|e| e.gpus.clear()), ["gpu0", "gpu_count"]);
        assert_eq!(fields(|e| e.cpu.as_mut().unwrap().usable_cores = 4), ["usable_cores"]);
    }

    #[test]
    fn software_leaves_the_directory_of_a_baseline() {
        let mut after = machine();
        after.rocm = Some("8.0.0".into());
        after.drivers.insert("vulkan:0".into(), "radv 25.0.3".into());
        assert_eq!(Fingerprint::of(&machine()).slug(), Fingerprint::of(&after).slug());
        assert_eq!(Fingerprint::of(&after).factors["vulkan"], "radv 25.0");
    }

    #[test]
    fn software_differences_have_full_versions() {
        let before = machine();
        assert!(software_differences(&before, &before).is_empty());
        let mut after = machine();
        after.kernel = Some("6.1.0-19".into());
        after.gpus[0].driver = Some("amdgpu 6.10.6".into());
        after.python = None;
        after.frameworks.insert("torch".into(), "2.9.1+rocm7.2".into());
        assert_eq!(
            described(&before, &after),
            [
                "driver amdgpu 6.10.5 → amdgpu 6.10.6",
                "kernel 6.1.0-18 → 6.1.0-19",
                "python 3.11.7 → none",
                "torch none → 2.9.1+rocm7.2",
            ]
        );
    }

    #[test]
    fn components_of_rocm_differ_only_between_two_installations() {
        let with = |hip: &str| Environment {
            rocm_installations: vec![RocmInstallation {
                components: [("hip".to_owned(), hip.to_owned())].into(),
                ..RocmInstallation::default()
            }],
            ..machine()
        };
        assert_eq!(described(&with("7.2.1"), &with("7.2.2")), ["rocm hip 7.2.1 → 7.2.2"]);
        assert_eq!(described(&machine(), &with("7.2.1")), Vec::<String>::new());
    }

    fn described(before: &Environment, after: &Environment) -> Vec<String> {
        software_differences(before, after)
            .iter()
            .map(|each| format!("{} {} → {}", each.field, each.baseline, each.current))
            .collect()
    }

    type Change = fn(&mut Environment);

    /// Returns the fingerprint of a machine with more known details, after `change`.
    fn detailed(change: Change) -> Fingerprint {
        let mut environment = machine();
        environment.memory_gb = Some(25.3);
        let cpu = environment.cpu.as_mut().unwrap();
        (cpu.family, cpu.model_number, cpu.stepping) = (Some(6), Some(85), Some(7));
        (cpu.architecture, cpu.physical_cores) = ("x86_64".into(), Some(1));
        cpu.features = vec!["avx2".into(), "avx512f".into()];
        cpu.caches = vec![Cache { level: 1, size_bytes: 32 << 10, shared_by: Some(2) }];
        change(&mut environment);
        Fingerprint::of(&environment)
    }

    #[test]
    fn two_clouds_with_one_name_of_a_cpu_are_told_apart_by_what_they_know() {
        let one = detailed(|_| {});
        let cases: [(Change, &[&str]); 8] = [
            (|e| e.memory_gb = Some(24.9), &[]),
            (|e| e.memory_gb = Some(33.0), &["memory_class"]),
            (|e| e.memory_gb = None, &[]),
            (|e| e.cpu.as_mut().unwrap().stepping = Some(8), &["cpu_identity"]),
            (|e| e.cpu.as_mut().unwrap().family = None, &[]),
            (|e| e.cpu.as_mut().unwrap().features = vec!["avx2".into()], &["instruction_set"]),
            (|e| e.cpu.as_mut().unwrap().caches[0].size_bytes = 48 << 10, &["caches"]),
            (|e| e.cpu.as_mut().unwrap().physical_cores = Some(2), &["physical_cores"]),
        ];
        for (change, expected) in cases {
            let other = detailed(change);
            for differences in [one.differences(&other), other.differences(&one)] {
                assert_eq!(
                    differences.iter().map(|each| each.field.as_str()).collect::<Vec<_>>(),
                    expected
                );
            }
            assert_eq!(one.former_slug(), other.former_slug());
        }
        // A file of an earlier version has fewer details and is in the directory named by that
        // version.
        let former = Fingerprint::of(&machine());
        assert!(former.differences(&one).is_empty() && former.slug() == one.former_slug());
        assert_ne!(former.slug(), one.slug());
    }

    #[test]
    fn slugs_are_readable_and_unique() {
        let slug = Fingerprint::of(&machine()).slug();
        assert!(slug.starts_with("amd-epyc-7763-64-core-2c-1gpu-"), "{slug}");
        let mut other = machine();
        other.gpus[0].compute_units = Some(228);
        assert_ne!(slug, Fingerprint::of(&other).slug());
        assert!(Fingerprint::default().slug().starts_with("none-nonec-"));
    }
}
