//! Rules about all GPUs together, and about the user's access to them.

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
            "only a sysfs tree was examined",
            "it does not contain permissions, libraries and ROCm",
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
        "no action if this machine has none: everything else runs on the CPU; in a virtual machine \
         or container, pass the GPU through (for containers: --device /dev/kfd --device /dev/dri)"
    } else {
        "name a copy of /sys from a machine with a GPU"
    };
    // A GPU that does not answer still counts; another rule reports it.
    (facts.gpus.is_empty() && facts.unread_gpus.is_empty()).then(|| {
        Finding::new(
            FindingSeverity::Note,
            "no GPU was found",
            "neither the DRM nor AMD's compute driver nor the PCI bus lists an AMD, NVIDIA or \
             Intel GPU",
            cure,
        )
    })
}

/// Checks whether integrated graphics come before a GPU. HIP numbers its devices in the order of
/// the compute driver, and programs use the first one.
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
            "the CPU has integrated graphics in addition to a GPU, but the devices to use are set",
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
        "the CPU has integrated graphics in addition to a GPU",
        if is_first {
            "HIP numbers the integrated graphics before the GPU, so programs use the slow device; \
             some fail on it"
        } else {
            "HIP also lists the integrated graphics; programs that use every device, or need \
             kernels for each, slow down or fail"
        },
        format!(
            "export HIP_VISIBLE_DEVICES={}, or disable the integrated graphics in the firmware",
            gpus.join(",")
        ),
    ))
}

fn has_kind(devices: &[&Gpu], kind: GpuKind) -> bool {
    devices.iter().any(|gpu| gpu.kind == Some(kind))
}

/// Reports GPUs behind a translating IOMMU, which affects transfers between GPUs and host memory.
fn memory_behind_iommu(facts: &DoctorInput) -> Option<Finding> {
    let gpus = facts.gpus.iter().filter(|gpu| gpu.is_amd() && gpu.kind == Some(GpuKind::Discrete));
    let behind: Vec<u32> = gpus
        .filter(|gpu| gpu.physical_function.is_none())
        .filter(|gpu| gpu.iommu.as_deref().is_some_and(|kind| kind.starts_with("DMA")))
        .map(|gpu| gpu.index)
        .collect();
    (behind.len() > 1).then(|| {
        Finding::new(
            FindingSeverity::Note,
            format!("{} are behind a translating IOMMU", numbers(&behind)),
            "their IOMMU groups have the type DMA, so transfers between GPUs may be slow or hang",
            "boot the kernel with `iommu=pt`, as AMD recommends for machines with several GPUs",
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
            "they are readable and writable",
        ));
    }
    found
}

/// Returns the device file at `path`; a file that `host` does not list is missing.
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
            format!("{path} does not exist"),
            "programs access the GPU through it; a container has only the devices passed to it",
            "in a container, start it with --device /dev/kfd --device /dev/dri; else load amdgpu \
             and look at `sudo dmesg`",
        );
    }
    let group = file.group.as_deref().unwrap_or("render");
    let cure = if file.is_listed {
        format!("log out and log in again: {user} was added to the group {group} after login")
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
        format!("its group is {group}, and this process may not read and write it"),
        cure,
    )
}

/// Checks `HSA_OVERRIDE_GFX_VERSION`, which makes ROCm treat a GPU as a different one.
fn disguise(facts: &DoctorInput, host: &HostFacts) -> Option<Finding> {
    let set = host.variable("HSA_OVERRIDE_GFX_VERSION")?;
    let parts: Vec<u32> = set.split('.').map_while(|part| part.parse().ok()).collect();
    let claimed = match parts.as_slice() {
        [major, minor, step] => format!("gfx{major}{minor:x}{step:x}"),
        _ => {
            return Some(Finding::new(
                FindingSeverity::Error,
                format!("HSA_OVERRIDE_GFX_VERSION is {set}"),
                "it is not a version with three numbers; ROCm will reject it or find no device",
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
            "ROCm treats every GPU as {claimed}, but this machine has {}: kernels may fail, hang \
             or give wrong results",
            real.join(", ")
        ),
        "unset HSA_OVERRIDE_GFX_VERSION if ROCm supports the GPU; results with it do not represent \
         the GPU",
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
            (FindingSeverity::Note, "HIP lists only these GPUs, and renumbers them")
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
