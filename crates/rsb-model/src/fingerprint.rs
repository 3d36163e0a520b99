//! What makes two runs comparable: the hardware must agree, and each named factor of the software too.
//!
//! Neither too coarse (two models of GPU differ) nor too fine (a kernel's patch level does not).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::environment::{Environment, Gpu};

/// The comparable part of an [`Environment`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fingerprint {
    /// Field and value, hardware only; decides the directory of a baseline.
    pub hardware: BTreeMap<String, String>,
    /// Field and value, software at major.minor; must agree unless asked `--across` it.
    pub factors: BTreeMap<String, String>,
}

/// A field in which two fingerprints differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// Its name, such as `cpu_model` or `rocm`.
    pub field: String,
    /// In the baseline.
    pub baseline: String,
    /// Here.
    pub current: String,
}

const UNKNOWN: &str = "none";

impl Fingerprint {
    /// The fingerprint of `environment`.
    pub fn of(environment: &Environment) -> Self {
        let mut hardware = BTreeMap::new();
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
        let mut factor = |name: &str, version: Option<&str>| {
            factors.insert(name.to_owned(), version.map_or_else(|| UNKNOWN.to_owned(), major_minor));
        };
        factor("driver", environment.gpus.iter().find_map(|gpu| gpu.driver.as_deref()));
        factor("rocm", environment.rocm.as_deref());
        factor("python", environment.python.as_deref());
        for (name, version) in &environment.frameworks {
            factor(name, Some(version));
        }
        Self { hardware, factors }
    }

    /// Every difference that forbids comparing, those in the factors `across` left out.
    pub fn differences(&self, current: &Self, across: &[String]) -> Vec<Difference> {
        let mut found = differing(&self.hardware, &current.hardware);
        found.extend(
            differing(&self.factors, &current.factors)
                .into_iter()
                .filter(|difference| !across.contains(&difference.field)),
        );
        found
    }

    /// A directory name for this hardware: readable, and unique by a hash over every hardware field.
    pub fn slug(&self) -> String {
        let model = self.hardware.get("cpu_model").map_or(UNKNOWN, String::as_str);
        let cores = self.hardware.get("usable_cores").map_or(UNKNOWN, String::as_str);
        let gpus = match self.hardware.get("gpu_count").map(String::as_str) {
            None | Some("0") => String::new(),
            Some(count) => format!("-{count}gpu"),
        };
        let mut hash = 0xcbf2_9ce4_8422_2325_u64; // FNV-1a: stable across versions of Rust, as a directory name must be.
        for byte in self.hardware.iter().flat_map(|(name, value)| [name, "=", value, "\n"].concat().into_bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        let mut slug = slugify(model);
        let _ = write!(slug, "-{cores}c{gpus}-{:08x}", hash >> 32);
        slug
    }
}

fn describe(gpu: &Gpu) -> String {
    let text = |value: Option<String>| value.unwrap_or_else(|| UNKNOWN.to_owned());
    format!(
        "{} {} CU {} GB {}",
        text(gpu.pci_id.clone()),
        text(gpu.compute_units.map(|units| units.to_string())),
        text(gpu.vram_gb.map(|gb| format!("{gb:.0}"))),
        text(gpu.partition.clone()),
    )
}

fn differing(baseline: &BTreeMap<String, String>, current: &BTreeMap<String, String>) -> Vec<Difference> {
    let fields: std::collections::BTreeSet<&String> = baseline.keys().chain(current.keys()).collect();
    let value =
        |map: &BTreeMap<String, String>, field: &str| map.get(field).cloned().unwrap_or_else(|| UNKNOWN.to_owned());
    fields
        .into_iter()
        .map(|field| Difference {
            field: field.clone(),
            baseline: value(baseline, field),
            current: value(current, field),
        })
        .filter(|difference| difference.baseline != difference.current)
        .collect()
}

/// `3.11` of `3.11.7`; any leading name (a driver's) is kept.
fn major_minor(version: &str) -> String {
    let (name, number) = version.rsplit_once(' ').map_or(("", version), |(name, number)| (name, number));
    let short = number.split('.').take(2).collect::<Vec<_>>().join(".");
    if name.is_empty() { short } else { format!("{name} {short}") }
}

fn slugify(text: &str) -> String {
    let mut slug = String::new();
    for part in text.to_ascii_lowercase().split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty()) {
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
    use crate::environment::Cpu;

    fn machine() -> Environment {
        Environment {
            kernel: Some("6.1.0-18".into()),
            cpu: Some(Cpu { model: Some("AMD EPYC 7763 64-Core Processor".into()), usable_cores: 2, ..Cpu::default() }),
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
            .differences(&Fingerprint::of(&other), &[])
            .into_iter()
            .map(|difference| difference.field)
            .collect()
    }

    #[test]
    fn hardware_and_minor_versions_decide_and_patch_levels_do_not() {
        assert_eq!(fields(|_| {}), Vec::<String>::new());
        assert_eq!(fields(|e| e.kernel = Some("6.1.0-19".into())), Vec::<String>::new());
        assert_eq!(fields(|e| e.rocm = Some("7.2.9".into())), Vec::<String>::new());
        assert_eq!(fields(|e| e.rocm = Some("7.3.0".into())), ["rocm"]);
        assert_eq!(fields(|e| e.rocm = None), ["rocm"]);
        assert_eq!(fields(|e| e.gpus[0].pci_id = Some("1002:744c".into())), ["gpu0"]);
        assert_eq!(fields(|e| e.gpus[0].driver = Some("amdgpu 6.12.1".into())), ["driver"]);
        assert_eq!(fields(|e| e.gpus.clear()), ["gpu0", "gpu_count", "driver"]);
        assert_eq!(fields(|e| e.cpu.as_mut().unwrap().usable_cores = 4), ["usable_cores"]);
        assert_eq!(fields(|e| drop(e.frameworks.insert("torch".into(), "2.9.1".into()))), ["torch"]);
    }

    #[test]
    fn a_factor_can_be_compared_across() {
        let mut after = machine();
        after.rocm = Some("8.0.0".into());
        let (before, after) = (Fingerprint::of(&machine()), Fingerprint::of(&after));
        assert!(before.differences(&after, &["rocm".into()]).is_empty());
        assert_eq!(before.slug(), after.slug(), "a baseline's directory is that of the hardware");
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
