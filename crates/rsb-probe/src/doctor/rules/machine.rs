//! Rules about the GPUs together, and about what the user may do with them.

use rsb_model::finding::{Finding, FindingSeverity};
use rsb_model::gpu::{Gpu, GpuKind};

use super::numbers;
use crate::doctor::facts::{Access, DeviceFile, DoctorInput, HostFacts};

pub(super) fn findings(facts: &DoctorInput) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(no_gpu(facts));
    found.extend(check_device_order(facts));
    found.extend(memory_behind_iommu(facts));
    if facts.host.is_none() && !facts.gpus.is_empty() {
        found.push(Finding::new(
            FindingSeverity::Note,
            "only a tree was examined",
            "it tells nothing of permissions, libraries and ROCm",
            "run `rusty-stack-bench doctor` on the machine itself",
        ));
    }
    if let Some(host) = &facts.host {
        found.extend(devices(facts, host));
        found.extend(disguise(facts, host));
        found.extend(visibility(facts, host));
    }
    found
}

fn no_gpu(facts: &DoctorInput) -> Option<Finding> {
    let cure = if facts.host.is_some() {
        "nothing, if this machine has none: everything else runs on the CPU; in a virtual machine \
         or container, \
         pass the GPU through (for containers: --device /dev/kfd --device /dev/dri)"
    } else {
        "give the directory that stands for /sys of a machine with a GPU"
    };
    // A GPU that does not answer is one, and is spoken of elsewhere.
    (facts.gpus.is_empty() && facts.unread_gpus.is_empty()).then(|| {
        Finding::new(
            FindingSeverity::Note,
            "no GPU was found",
            "neither the DRM nor AMD's compute driver nor the PCI bus shows one of AMD, NVIDIA or \
             Intel",
            cure,
        )
    })
}

/// HIP numbers its devices as the compute driver does. A part of the CPU that comes first is what
/// programs take.
fn check_device_order(facts: &DoctorInput) -> Option<Finding> {
    let mut devices: Vec<&Gpu> = facts.gpus.iter().filter(|gpu| gpu.kfd_node.is_some()).collect();
    devices.sort_by_key(|gpu| gpu.kfd_node);
    if !has_kind(&devices, GpuKind::Integrated) || !has_kind(&devices, GpuKind::Discrete) {
        return None;
    }
    let chosen = ["HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"]
        .into_iter()
        .find_map(|name| facts.host.as_ref()?.variable(name));
    if let Some(set) = chosen {
        return Some(Finding::ok(
            "graphics of the CPU beside a GPU: the devices to use are chosen",
            format!("HIP_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES is set to {set}"),
        ));
    }
    let places = (0_u32..).zip(&devices);
    let gpus: Vec<String> = places
        .filter(|(_, gpu)| gpu.kind == Some(GpuKind::Discrete))
        .map(|(place, _)| place.to_string())
        .collect();
    let is_first = devices.first().is_some_and(|gpu| gpu.kind == Some(GpuKind::Integrated));
    Some(Finding::new(
        if is_first { FindingSeverity::Warning } else { FindingSeverity::Note },
        "the CPU's own graphics stand beside a GPU",
        if is_first {
            "HIP numbers them before the GPU, so that programs take the slow one; some fail on it"
        } else {
            "HIP lists them too; programs that use every device, or ask each for its kernels, slow \
             down or fail on them"
        },
        format!(
            "export HIP_VISIBLE_DEVICES={}, or switch the CPU's graphics off in the firmware",
            gpus.join(",")
        ),
    ))
}

fn has_kind(devices: &[&Gpu], kind: GpuKind) -> bool {
    devices.iter().any(|gpu| gpu.kind == Some(kind))
}

/// GPUs reach each other and the memory of the machine through the IOMMU, where it translates.
fn memory_behind_iommu(facts: &DoctorInput) -> Option<Finding> {
    let gpus = facts.gpus.iter().filter(|gpu| gpu.is_amd() && gpu.kind == Some(GpuKind::Discrete));
    let behind: Vec<u32> = gpus
        .filter(|gpu| gpu.iommu.as_deref().is_some_and(|kind| kind.starts_with("DMA")))
        .map(|gpu| gpu.index)
        .collect();
    (behind.len() > 1).then(|| {
        Finding::new(
            FindingSeverity::Note,
            format!("{} are behind a translating IOMMU", numbers(&behind)),
            "their IOMMU groups are of the type DMA: transfers between GPUs may be slow or hang",
            "start the kernel with `iommu=pt`, as AMD advises for machines with several GPUs",
        )
    })
}

fn devices(facts: &DoctorInput, host: &HostFacts) -> Vec<Finding> {
    let driven: Vec<&Gpu> =
        facts.gpus.iter().filter(|gpu| gpu.driver_name() == Some("amdgpu")).collect();
    if driven.is_empty() {
        return Vec::new();
    }
    let nodes: Vec<String> = driven
        .iter()
        .filter_map(|gpu| gpu.render_node.as_ref())
        .map(|node| format!("/dev/dri/{node}"))
        .collect();
    let wanted = std::iter::once("/dev/kfd".to_owned()).chain(nodes);
    let (good, bad): (Vec<DeviceFile>, Vec<DeviceFile>) =
        wanted.map(|path| device_file(host, path)).partition(|file| file.access == Access::Granted);
    let mut found: Vec<Finding> = bad.iter().map(|file| no_access(file, &host.user)).collect();
    if !good.is_empty() {
        let paths: Vec<&str> = good.iter().map(|file| file.path.as_str()).collect();
        found.push(Finding::ok(
            format!("{} may use {}", host.user, paths.join(", ")),
            "they can be read and written",
        ));
    }
    found
}

/// The device file at `path`; one that `host` does not list is missing.
fn device_file(host: &HostFacts, path: String) -> DeviceFile {
    match host.devices.iter().find(|file| file.path == path) {
        Some(known) => known.clone(),
        None => DeviceFile { path, access: Access::Missing, group: None, is_listed: false },
    }
}

fn no_access(file: &DeviceFile, user: &str) -> Finding {
    let path = &file.path;
    if file.access == Access::Missing {
        return Finding::new(
            FindingSeverity::Error,
            format!("{path} is not there"),
            "programs reach the GPU through it; a container shows only the devices it was given",
            "in a container, start it with --device /dev/kfd --device /dev/dri; else load amdgpu \
             and look at `sudo dmesg`",
        );
    }
    let group = file.group.as_deref().unwrap_or("render");
    let cure = if file.is_listed {
        format!(
            "log out and in again: {user} is in the group {group} already, but was not at login"
        )
    } else if group.bytes().all(|byte| byte.is_ascii_digit()) {
        format!("start the container with --group-add {group}")
    } else if group == "root" {
        "install AMD's udev rules (package amdgpu-core or rocm-core), so that the group render \
         owns it"
            .to_owned()
    } else {
        format!("sudo usermod -aG {group} {user}, and log in again")
    };
    Finding::new(
        FindingSeverity::Error,
        format!("{user} may not use {path}"),
        format!("it is of the group {group}, and this process may not read and write it"),
        cure,
    )
}

/// `HSA_OVERRIDE_GFX_VERSION` makes ROCm take a GPU for another.
fn disguise(facts: &DoctorInput, host: &HostFacts) -> Option<Finding> {
    let set = host.variable("HSA_OVERRIDE_GFX_VERSION")?;
    let parts: Vec<u32> = set.split('.').map_while(|part| part.parse().ok()).collect();
    let claimed = match parts.as_slice() {
        [major, minor, step] => format!("gfx{major}{minor:x}{step:x}"),
        _ => {
            return Some(Finding::new(
                FindingSeverity::Error,
                format!("HSA_OVERRIDE_GFX_VERSION is {set}"),
                "it is no version of three numbers, and ROCm will refuse it or see no device",
                "unset HSA_OVERRIDE_GFX_VERSION, or write it as 10.3.0",
            ));
        }
    };
    let real: Vec<&str> = facts
        .gpus
        .iter()
        .filter(|gpu| gpu.is_amd())
        .filter_map(|gpu| gpu.gfx_target.as_deref())
        .collect();
    if real.iter().all(|target| *target == claimed) {
        return Some(Finding::new(
            FindingSeverity::Note,
            format!("HSA_OVERRIDE_GFX_VERSION is {set}"),
            format!("every GPU here is {claimed} anyway"),
            "unset HSA_OVERRIDE_GFX_VERSION: it changes nothing",
        ));
    }
    Some(Finding::new(
        FindingSeverity::Warning,
        format!("HSA_OVERRIDE_GFX_VERSION is {set}"),
        format!(
            "ROCm takes every GPU for {claimed}, and here is {}: kernels for the other may fail, \
             hang or be wrong",
            real.join(", ")
        ),
        "unset HSA_OVERRIDE_GFX_VERSION where ROCm supports the GPU; results with it are no \
         results of the GPU",
    ))
}

fn visibility(facts: &DoctorInput, host: &HostFacts) -> Vec<Finding> {
    if !facts.gpus.iter().any(Gpu::is_amd) {
        return Vec::new();
    }
    let set = ["HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"]
        .into_iter()
        .filter_map(|name| Some((name, host.variable(name)?)));
    set.map(|(name, value)| {
        let (severity, why) = if value.trim().starts_with('-') {
            (FindingSeverity::Warning, "it hides every GPU from HIP")
        } else {
            (FindingSeverity::Note, "HIP shows only these GPUs, and numbers them anew")
        };
        Finding::new(
            severity,
            format!("{name} is {value}"),
            why,
            format!("unset {name} to see every GPU"),
        )
    })
    .collect()
}
