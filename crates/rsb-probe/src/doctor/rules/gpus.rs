//! Rules about single GPUs: driver, compute driver, link, errors, limits.

use rsb_model::architecture::Architecture;
use rsb_model::finding::{Finding, FindingSeverity};
use rsb_model::gpu::{Gpu, GpuKind, PcieLink};

use super::{GpuFinding, together};
use crate::doctor::facts::DoctorInput;

type Rule = fn(&DoctorInput, &Gpu) -> Option<GpuFinding>;

const RULES: [Rule; 12] = [
    driver,
    compute_driver,
    architecture,
    errors,
    link,
    power,
    clocks,
    asleep,
    share,
    partition,
    replays,
    identity,
];

pub(super) fn findings(facts: &DoctorInput) -> Vec<Finding> {
    let each = RULES
        .iter()
        .flat_map(|rule| facts.gpus.iter().filter_map(|gpu| Some((gpu, rule(facts, gpu)?))));
    together(each.collect())
}

/// Returns the problems that limited `gpus` when they were probed, as far as their records show
/// them.
pub(super) fn limits(gpus: &[Gpu]) -> Vec<Finding> {
    const LIMITS: [Rule; 6] = [driver, errors, slow_link, power, clocks, replays];
    let facts = DoctorInput { has_drm: true, ..DoctorInput::default() };
    let each = LIMITS
        .iter()
        .flat_map(|rule| gpus.iter().filter_map(|gpu| Some((gpu, rule(&facts, gpu)?))));
    together(each.filter(|(_, about)| about.severity > FindingSeverity::Ok).collect())
}

/// Reports a slow link, except if the driver slowed the link of an idle GPU to save power.
fn slow_link(facts: &DoctorInput, gpu: &Gpu) -> Option<GpuFinding> {
    link(facts, gpu).filter(|_| gpu.pcie.saves_power != Some(true))
}

fn driver(facts: &DoctorInput, gpu: &Gpu) -> Option<GpuFinding> {
    if let Some(reserved) = reserved_virtual_function(gpu) {
        return Some(reserved);
    }
    let Some(driver) = gpu.driver.as_deref() else {
        // A GPU that KFD lists has the driver amdgpu, of which KFD is part. A tree with only KFD
        // does not show its version.
        if gpu.kfd_node.is_some() || !facts.has_drm {
            return None;
        }
        let severity = if gpu.is_amd() { FindingSeverity::Error } else { FindingSeverity::Warning };
        return Some(GpuFinding::new(
            severity,
            "no driver is bound",
            "the GPU is on the PCI bus, but no kernel driver is bound to it",
            how_to_drive(gpu),
        ));
    };
    let why = "the GPU uses the kernel driver that compute needs";
    Some(match gpu.driver_name().unwrap_or_default() {
        "amdgpu" | "nvidia" | "i915" | "xe" => GpuFinding::ok(format!("{driver} is bound"), why),
        name if is_for_guests(name) => GpuFinding::new(
            FindingSeverity::Warning,
            format!("{driver} is bound"),
            "the GPU is reserved for a virtual machine and cannot be used here",
            "bind it to the vendor's driver again, or run this in the virtual machine",
        ),
        "radeon" => GpuFinding::new(
            FindingSeverity::Warning,
            format!("{driver} is bound"),
            "this old driver does not support compute",
            "boot the kernel with `radeon.si_support=0 amdgpu.si_support=1` for a Southern Islands \
             GPU (most of the HD 7000), or `radeon.cik_support=0 amdgpu.cik_support=1` for a Sea \
             Islands GPU (R7 260, R9 290); ROCm supports neither",
        ),
        "nouveau" => GpuFinding::new(
            FindingSeverity::Note,
            format!("{driver} is bound"),
            "CUDA needs NVIDIA's own driver",
            "install NVIDIA's driver",
        ),
        _ => {
            GpuFinding::ok(format!("{driver} is bound"), "this program has no rule for this driver")
        }
    })
}

/// Returns the finding about a virtual function that this host reserves for a guest: it has no
/// driver, or one that passes it to guests. This is not a problem.
fn reserved_virtual_function(gpu: &Gpu) -> Option<GpuFinding> {
    gpu.physical_function.as_ref()?;
    let what = match gpu.driver_name() {
        None => "no driver is bound".to_owned(),
        Some(name) if is_for_guests(name) => format!("{name} is bound"),
        Some(_) => return None,
    };
    Some(GpuFinding::ok(what, "a virtual function is for guests, which load the vendor's driver"))
}

/// Returns whether the driver of that name passes GPUs to guests: `vfio-pci`, its variants such as
/// `xe-vfio-pci`, and `pci-stub`.
fn is_for_guests(driver: &str) -> bool {
    driver == "pci-stub" || driver.ends_with("vfio-pci")
}

/// Returns instructions to install or load a driver for the GPU.
fn how_to_drive(gpu: &Gpu) -> &'static str {
    let vendor = gpu.pci_id.as_deref().and_then(|id| id.split(':').next());
    match vendor {
        _ if gpu.is_amd() => {
            "load it with `sudo modprobe amdgpu` and look at `sudo dmesg`; install a kernel and a \
             linux-firmware package that support this GPU"
        }
        Some("10de") => {
            "install NVIDIA's driver, load it with `sudo modprobe nvidia` and look at `sudo dmesg`"
        }
        Some("8086") => {
            "load it with `sudo modprobe xe` (`i915` for GPUs before 2023) and look at `sudo \
             dmesg`; install a kernel that supports this GPU"
        }
        _ => "install the driver of the GPU's vendor, and look at `sudo dmesg`",
    }
}

fn compute_driver(facts: &DoctorInput, gpu: &Gpu) -> Option<GpuFinding> {
    if gpu.kfd_node.is_some() {
        return Some(GpuFinding::ok(
            "the compute driver lists it",
            "KFD, the part of amdgpu that ROCm needs, manages it",
        ));
    }
    if gpu.driver_name() != Some("amdgpu") || gpu.physical_function.is_some() {
        return None;
    }
    // The unread node may be that of this GPU.
    if facts.has_kfd && !facts.unread_gpus.is_empty() {
        return None;
    }
    if facts.has_kfd {
        return Some(GpuFinding::new(
            FindingSeverity::Warning,
            "the compute driver does not list it",
            "KFD lists other nodes but not this GPU: its chip is not supported, or its slot lacks \
             PCIe atomics",
            "look at `sudo dmesg | grep -i kfd`; move the GPU to a slot that is wired to the CPU",
        ));
    }
    // A tree with only the DRM does not show whether the compute driver exists.
    facts.host.as_ref().map(|_| {
        GpuFinding::new(
            FindingSeverity::Error,
            "the compute driver is missing",
            "amdgpu is bound, but /sys/class/kfd lists no node: ROCm will find no device",
            "use a kernel built with CONFIG_HSA_AMD, and look at `sudo dmesg | grep -i kfd`",
        )
    })
}

fn architecture(_: &DoctorInput, gpu: &Gpu) -> Option<GpuFinding> {
    let target = gpu.gfx_target.as_deref().filter(|_| gpu.is_amd())?;
    let reason = Architecture::find(target).err()?;
    Some(GpuFinding::new(
        FindingSeverity::Note,
        format!("{target} is not in the table of architectures"),
        "its peaks are unknown, so results are not compared with them",
        reason.cure,
    ))
}

fn errors(_: &DoctorInput, gpu: &Gpu) -> Option<GpuFinding> {
    let ecc = gpu.ecc.as_ref()?;
    let blocks: Vec<&str> = ecc.blocks.keys().map(String::as_str).collect();
    let total = ecc.total;
    let watch = "note the count and check again after a day of load; if it grows, the GPU is \
                 failing: have it replaced";
    Some(if total.uncorrectable > 0 {
        GpuFinding::new(
            FindingSeverity::Error,
            format!("{} memory errors were not corrected", total.uncorrectable),
            format!("data was lost since the driver was loaded, in {}", blocks.join(", ")),
            "reset the GPU (`sudo amd-smi reset --gpureset`) or restart the machine; have the GPU \
             replaced if errors recur",
        )
    } else if total.correctable + total.deferred > 0 {
        GpuFinding::new(
            FindingSeverity::Note,
            format!(
                "{} memory errors were corrected or deferred",
                total.correctable + total.deferred
            ),
            format!("counted since the driver was loaded, in {}", blocks.join(", ")),
            watch,
        )
    } else {
        GpuFinding::ok("no memory errors", "every error counter of the driver is zero")
    })
}

fn link(_: &DoctorInput, gpu: &Gpu) -> Option<GpuFinding> {
    // An integrated GPU has no slot.
    if gpu.kind == Some(GpuKind::Integrated) {
        return None;
    }
    let (now, max) = gpu.pcie.now.zip(gpu.pcie.max)?;
    if now.gb_s >= max.gb_s {
        return Some(GpuFinding::ok(
            format!("its link runs at {}", format_link(now)),
            "the maximum speed of GPU and slot",
        ));
    }
    let what = format!("its link runs at {} of {}", format_link(now), format_link(max));
    Some(if gpu.pcie.saves_power == Some(true) {
        GpuFinding::new(
            FindingSeverity::Note,
            what,
            "the driver has slowed the link of an idle GPU to save power",
            "check again under load; if the link is fast then, nothing is wrong",
        )
    } else {
        GpuFinding::new(
            FindingSeverity::Warning,
            what,
            "transfers between CPU and GPU are slower by the same factor",
            "check again under load; if it stays slow, reseat the GPU, use the slot next to the \
             CPU, check risers, and set the slot's generation in the firmware",
        )
    })
}

fn format_link(link: PcieLink) -> String {
    format!("{} GT/s x{} ({:.1} GB/s)", link.gt_s, link.width, link.gb_s)
}

fn power(_: &DoctorInput, gpu: &Gpu) -> Option<GpuFinding> {
    let (cap, default) = gpu.power_cap_w.zip(gpu.power_cap_default_w)?;
    (cap < default).then(|| {
        GpuFinding::new(
            FindingSeverity::Note,
            format!("its power is capped at {cap:.0} W of {default:.0} W"),
            "it is below the default, so results are lower than those of a GPU with default \
             settings",
            format!(
                "{}, or keep it and compare only with results at the same cap",
                how_to_raise(gpu)
            ),
        )
    })
}

fn how_to_raise(gpu: &Gpu) -> &'static str {
    match gpu.driver_name() {
        Some("i915" | "xe") => {
            "write the power in µW to `power1_max` (or `power2_max`) of its hwmon directory"
        }
        Some("nvidia") => "raise it with `sudo nvidia-smi --power-limit`",
        _ => "raise it with `sudo rocm-smi --setpoweroverdrive`",
    }
}

fn clocks(_: &DoctorInput, gpu: &Gpu) -> Option<GpuFinding> {
    let level = gpu.performance_level.as_deref().filter(|level| *level != "auto")?;
    Some(GpuFinding::new(
        FindingSeverity::Note,
        format!("its clocks are set manually ({level})"),
        "the driver does not control the clocks; results may be lower or steadier than with \
         automatic clocks",
        "restore automatic clocks with `sudo rocm-smi --setperflevel auto`",
    ))
}

fn asleep(_: &DoctorInput, gpu: &Gpu) -> Option<GpuFinding> {
    (gpu.asleep == Some(true)).then(|| {
        GpuFinding::new(
            FindingSeverity::Note,
            "it is asleep",
            "its link, clocks and sensors were not read, because that would wake it",
            "run a workload on it and check again",
        )
    })
}

fn share(facts: &DoctorInput, gpu: &Gpu) -> Option<GpuFinding> {
    let share = gpu.describe_virtual_function(&facts.gpus)?;
    let why = if gpu.physical_function.is_some() {
        "it has a share of that GPU; this host and its guests may use the rest"
    } else {
        "this guest has a share of a GPU; other guests may use the rest"
    };
    Some(GpuFinding::new(
        FindingSeverity::Note,
        format!("it is {share}"),
        why,
        "compare only with results of the same kind of share",
    ))
}

fn partition(_: &DoctorInput, gpu: &Gpu) -> Option<GpuFinding> {
    let mode = gpu.partition.as_deref().filter(|mode| !mode.starts_with("SPX"))?;
    Some(GpuFinding::new(
        FindingSeverity::Note,
        format!("it is partitioned ({mode})"),
        "each partition is a separate device with its own compute units and memory",
        "to use the whole GPU, run `sudo amd-smi set --compute-partition SPX`",
    ))
}

fn replays(_: &DoctorInput, gpu: &Gpu) -> Option<GpuFinding> {
    /// A few retransmissions occur at every start.
    const MANY: u64 = 100;
    let count = gpu.pcie.replays.filter(|count| *count >= MANY)?;
    Some(GpuFinding::new(
        FindingSeverity::Warning,
        format!("{count} packets were retransmitted"),
        "the link between CPU and GPU has errors",
        "reseat the GPU, and check risers and cables",
    ))
}

fn identity(_: &DoctorInput, gpu: &Gpu) -> Option<GpuFinding> {
    (gpu.is_amd() && gpu.name.is_none() && gpu.gfx_target.is_none()).then(|| {
        GpuFinding::new(
            FindingSeverity::Note,
            "neither its name nor its instruction set is known",
            "the driver reports neither, and the table of PCI IDs does not contain this GPU",
            "load AMD's compute driver, which reports the instruction set, or add a row to \
             crates/rsb-probe/src/gpu/known_gpus.txt",
        )
    })
}
