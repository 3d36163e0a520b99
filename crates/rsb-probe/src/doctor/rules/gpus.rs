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

/// What held GPUs back when they were probed, as far as their own record shows it.
pub(super) fn limits(gpus: &[Gpu]) -> Vec<Finding> {
    const LIMITS: [Rule; 6] = [driver, errors, slow_link, power, clocks, replays];
    let facts = DoctorInput { has_drm: true, ..DoctorInput::default() };
    let each = LIMITS
        .iter()
        .flat_map(|rule| gpus.iter().filter_map(|gpu| Some((gpu, rule(&facts, gpu)?))));
    together(each.filter(|(_, about)| about.severity > FindingSeverity::Ok).collect())
}

/// A link that its driver has slowed while the GPU was idle says nothing about the work that came
/// after.
fn slow_link(facts: &DoctorInput, gpu: &Gpu) -> Option<GpuFinding> {
    link(facts, gpu).filter(|_| gpu.pcie.saves_power != Some(true))
}

fn driver(facts: &DoctorInput, gpu: &Gpu) -> Option<GpuFinding> {
    let Some(driver) = gpu.driver.as_deref() else {
        // The compute driver is a part of amdgpu: what it lists is driven. Its tree alone does not
        // tell the version.
        if gpu.kfd_node.is_some() || !facts.has_drm {
            return None;
        }
        let severity = if gpu.is_amd() { FindingSeverity::Error } else { FindingSeverity::Warning };
        return Some(GpuFinding::new(
            severity,
            "no driver is bound",
            "the GPU is on the PCI bus, and no kernel driver has taken it",
            how_to_drive(gpu),
        ));
    };
    let why = "the kernel driver that computing needs has taken the GPU";
    Some(match gpu.driver_name().unwrap_or_default() {
        "amdgpu" | "nvidia" | "i915" | "xe" => GpuFinding::ok(format!("{driver} is bound"), why),
        "vfio-pci" | "pci-stub" => GpuFinding::new(
            FindingSeverity::Warning,
            format!("{driver} is bound"),
            "the GPU is set aside for a virtual machine and cannot be used here",
            "give it back to the vendor's driver, or run this in the virtual machine",
        ),
        "radeon" => GpuFinding::new(
            FindingSeverity::Warning,
            format!("{driver} is bound"),
            "the old driver cannot compute",
            "start the kernel with `radeon.si_support=0 amdgpu.si_support=1` for a GPU of the \
             Southern Islands (most of the HD 7000), or \
             `radeon.cik_support=0 amdgpu.cik_support=1` for one of the Sea Islands (R7 260, R9 \
             290); ROCm knows neither",
        ),
        "nouveau" => GpuFinding::new(
            FindingSeverity::Note,
            format!("{driver} is bound"),
            "CUDA needs NVIDIA's own driver",
            "install NVIDIA's driver",
        ),
        _ => GpuFinding::ok(
            format!("{driver} is bound"),
            "a driver that this program has no rule for",
        ),
    })
}

/// What gives a GPU its driver.
fn how_to_drive(gpu: &Gpu) -> &'static str {
    let vendor = gpu.pci_id.as_deref().and_then(|id| id.split(':').next());
    match vendor {
        _ if gpu.is_amd() => {
            "load it with `sudo modprobe amdgpu` and look at `sudo dmesg`; install a kernel and a \
             package \
             linux-firmware that know this GPU"
        }
        Some("10de") => {
            "install NVIDIA's driver, load it with `sudo modprobe nvidia` and look at `sudo dmesg`"
        }
        Some("8086") => {
            "load it with `sudo modprobe xe` (`i915` for GPUs before 2023) and look at `sudo \
             dmesg`; install a kernel \
             that knows this GPU"
        }
        _ => "install the driver of the GPU's vendor, and look at `sudo dmesg`",
    }
}

fn compute_driver(facts: &DoctorInput, gpu: &Gpu) -> Option<GpuFinding> {
    if gpu.kfd_node.is_some() {
        return Some(GpuFinding::ok(
            "the compute driver lists it",
            "KFD, the part of amdgpu that ROCm needs, has taken it",
        ));
    }
    if gpu.driver_name() != Some("amdgpu") {
        return None;
    }
    // It may be the very node that does not answer.
    if facts.has_kfd && !facts.unread_gpus.is_empty() {
        return None;
    }
    if facts.has_kfd {
        return Some(GpuFinding::new(
            FindingSeverity::Warning,
            "the compute driver does not list it",
            "KFD knows other nodes and not this GPU: its chip is not supported, or its slot lacks \
             PCIe atomics",
            "look at `sudo dmesg | grep -i kfd`; put the GPU into a slot that is wired to the CPU",
        ));
    }
    // A tree that holds the DRM alone says nothing of the compute driver.
    facts.host.as_ref().map(|_| {
        GpuFinding::new(
            FindingSeverity::Error,
            "the compute driver is not there",
            "amdgpu is bound, and /sys/class/kfd lists no node: ROCm will find no device",
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
        "its peaks are not known, so that nothing is compared with them",
        reason.cure,
    ))
}

fn errors(_: &DoctorInput, gpu: &Gpu) -> Option<GpuFinding> {
    let ecc = gpu.ecc.as_ref()?;
    let blocks: Vec<&str> = ecc.blocks.keys().map(String::as_str).collect();
    let total = ecc.total;
    let watch = "note the figure and look again after a day of load; one that grows means a \
                 failing GPU: have it replaced";
    Some(if total.uncorrectable > 0 {
        GpuFinding::new(
            FindingSeverity::Error,
            format!("{} memory errors were not corrected", total.uncorrectable),
            format!("data were lost since the driver was loaded, in {}", blocks.join(", ")),
            "reset the GPU (`sudo amd-smi reset --gpureset`) or restart the machine; have the GPU \
             replaced when it comes again",
        )
    } else if total.correctable + total.deferred > 0 {
        GpuFinding::new(
            FindingSeverity::Note,
            format!(
                "{} memory errors were corrected or set aside",
                total.correctable + total.deferred
            ),
            format!("counted since the driver was loaded, in {}", blocks.join(", ")),
            watch,
        )
    } else {
        GpuFinding::ok("no memory errors", "every counter of the driver reads zero")
    })
}

fn link(_: &DoctorInput, gpu: &Gpu) -> Option<GpuFinding> {
    // Inside of a CPU there is no slot.
    if gpu.kind == Some(GpuKind::Integrated) {
        return None;
    }
    let (now, max) = gpu.pcie.now.zip(gpu.pcie.max)?;
    if now.gb_s >= max.gb_s {
        return Some(GpuFinding::ok(
            format!("its link runs at {}", format_link(now)),
            "as fast as GPU and slot allow",
        ));
    }
    let what = format!("its link runs at {} of {}", format_link(now), format_link(max));
    Some(if gpu.pcie.saves_power == Some(true) {
        GpuFinding::new(
            FindingSeverity::Note,
            what,
            "the driver has slowed the link of an idle GPU to save power",
            "look again under load; nothing is wrong when it is fast then",
        )
    } else {
        GpuFinding::new(
            FindingSeverity::Warning,
            what,
            "transfers between CPU and GPU are that much slower than they could be",
            "look again under load; when it stays, seat the GPU anew, use the slot next to the \
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
            "somebody has lowered it; results stay below those of a GPU as delivered",
            format!(
                "{}, or keep it and compare only with results of the same cap",
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
        format!("its clocks are set by hand ({level})"),
        "the driver does not choose the clocks by itself; results may be lower, or steadier, than \
         those of others",
        "`sudo rocm-smi --setperflevel auto` gives them back",
    ))
}

fn asleep(_: &DoctorInput, gpu: &Gpu) -> Option<GpuFinding> {
    (gpu.asleep == Some(true)).then(|| {
        GpuFinding::new(
            FindingSeverity::Note,
            "it sleeps",
            "its link, clocks and sensors were not asked, because that would wake it",
            "run something on it and look again",
        )
    })
}

fn share(_: &DoctorInput, gpu: &Gpu) -> Option<GpuFinding> {
    (gpu.virtual_function == Some(true)).then(|| {
        GpuFinding::new(
            FindingSeverity::Note,
            "it is a virtual function",
            "this guest has a share of a GPU, and others may load the rest of it",
            "compare only with results of the same kind of share",
        )
    })
}

fn partition(_: &DoctorInput, gpu: &Gpu) -> Option<GpuFinding> {
    let mode = gpu.partition.as_deref().filter(|mode| !mode.starts_with("SPX"))?;
    Some(GpuFinding::new(
        FindingSeverity::Note,
        format!("it is split ({mode})"),
        "each part is a device of its own, with its own compute units and memory",
        "`sudo amd-smi set --compute-partition SPX` joins them, where the whole GPU is wanted",
    ))
}

fn replays(_: &DoctorInput, gpu: &Gpu) -> Option<GpuFinding> {
    /// A few happen on every start.
    const MANY: u64 = 100;
    let count = gpu.pcie.replays.filter(|count| *count >= MANY)?;
    Some(GpuFinding::new(
        FindingSeverity::Warning,
        format!("{count} packets had to be sent again"),
        "the link between CPU and GPU is disturbed",
        "seat the GPU anew and check risers and cables",
    ))
}

fn identity(_: &DoctorInput, gpu: &Gpu) -> Option<GpuFinding> {
    (gpu.is_amd() && gpu.name.is_none() && gpu.gfx_target.is_none()).then(|| {
        GpuFinding::new(
            FindingSeverity::Note,
            "neither its name nor its instruction set is known",
            "the driver tells neither, and the table of PCI ids does not hold this GPU",
            "load AMD's compute driver, which tells the instruction set, or add a row to \
             crates/rsb-probe/src/gpu/known_gpus.txt",
        )
    })
}
