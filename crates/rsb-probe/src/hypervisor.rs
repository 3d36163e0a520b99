//! The hypervisor: reported by the CPU, or else by the firmware or Xen.

use crate::host::Host;

/// Returns the name of the hypervisor. `flagged` is whether the CPU reports that it is virtual;
/// `None` if the CPU has no such flag.
pub(crate) fn name(host: &Host, flagged: Option<bool>) -> Option<String> {
    if flagged == Some(false) {
        // Bare-metal machines of a cloud provider have its name in their firmware, but no
        // hypervisor.
        return None;
    }
    let known = if flagged == Some(true) && host.is_here() { by_cpu() } else { None };
    let found = known.or_else(|| by_xen(host)).or_else(|| by_firmware(host));
    found.or_else(|| flagged.map(|_| "unnamed")).map(str::to_owned)
}

#[cfg(target_arch = "x86_64")]
fn by_cpu() -> Option<&'static str> {
    let leaf = std::arch::x86_64::__cpuid(0x4000_0000);
    let signature: Vec<u8> =
        [leaf.ebx, leaf.ecx, leaf.edx].into_iter().flat_map(u32::to_le_bytes).collect();
    by_signature(&signature)
}

#[cfg(not(target_arch = "x86_64"))]
fn by_cpu() -> Option<&'static str> {
    None
}

/// Returns the hypervisor with this signature. Sources: each hypervisor's documentation of CPUID
/// leaf `0x4000_0000`.
#[cfg(any(target_arch = "x86_64", test))]
fn by_signature(signature: &[u8]) -> Option<&'static str> {
    Some(match signature {
        b"KVMKVMKVM\0\0\0" | b"Linux KVM Hv" => "KVM",
        b"Microsoft Hv" => "Hyper-V",
        b"VMwareVMware" => "VMware",
        b"XenVMMXenVMM" => "Xen",
        b"TCGTCGTCGTCG" => "QEMU",
        b"bhyve bhyve " => "bhyve",
        b"VBoxVBoxVBox" => "VirtualBox",
        b" lrpepyh  vr" | b" prl hyperv " => "Parallels",
        b"ACRNACRNACRN" => "ACRN",
        _ => return None,
    })
}

fn by_xen(host: &Host) -> Option<&'static str> {
    (host.line("/sys/hypervisor/type")? == "xen").then_some("Xen")
}

fn by_firmware(host: &Host) -> Option<&'static str> {
    let vendor = host.line("/sys/class/dmi/id/sys_vendor").unwrap_or_default();
    let product = host.line("/sys/class/dmi/id/product_name").unwrap_or_default();
    let marks = [
        ("QEMU", "KVM"),
        ("KVM", "KVM"),
        ("Google Compute Engine", "KVM"),
        ("OpenStack", "KVM"),
        ("VMware", "VMware"),
        ("VirtualBox", "VirtualBox"),
        ("Virtual Machine", "Hyper-V"),
        ("Parallels", "Parallels"),
        ("HVM domU", "Xen"),
    ];
    let known = marks.iter().find(|(mark, _)| vendor.contains(mark) || product.contains(mark));
    // Guests on Nitro report their instance type; that of bare-metal machines ends in `.metal`.
    let nitro = vendor == "Amazon EC2" && !product.contains("metal");
    known.map(|(_, name)| *name).or_else(|| nitro.then_some("KVM"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fake::Tree;

    #[test]
    fn the_firmware_and_xen_tell_where_the_cpu_does_not() {
        for (vendor, product, expected) in [
            ("QEMU", "Standard PC (Q35 + ICH9, 2009)", Some("KVM")),
            ("VMware, Inc.", "VMware20,1", Some("VMware")),
            ("Microsoft Corporation", "Virtual Machine", Some("Hyper-V")),
            ("Amazon EC2", "c7g.large", Some("KVM")),
            ("Amazon EC2", "c7g.metal", None),
            ("Dell Inc.", "PowerEdge R7525", None),
        ] {
            let machine = Tree::new(&[
                ("sys/class/dmi/id/sys_vendor", vendor),
                ("sys/class/dmi/id/product_name", product),
            ]);
            let found = name(&machine.host(), None);
            assert_eq!(found.as_deref(), expected, "{vendor} {product}");
        }
        assert_eq!(
            name(&Tree::new(&[("sys/hypervisor/type", "xen\n")]).host(), None).as_deref(),
            Some("Xen")
        );
    }

    #[test]
    fn the_flag_of_the_cpu_decides_whether_there_is_one() {
        let cloud = Tree::new(&[
            ("sys/class/dmi/id/sys_vendor", "Google"),
            ("sys/class/dmi/id/product_name", "KVM"),
        ]);
        assert_eq!(name(&cloud.host(), Some(false)), None);
        assert_eq!(name(&cloud.host(), Some(true)).as_deref(), Some("KVM"));
        assert_eq!(name(&Tree::new(&[]).host(), Some(true)).as_deref(), Some("unnamed"));
    }

    #[test]
    fn signatures_are_known() {
        assert_eq!(by_signature(b"KVMKVMKVM\0\0\0"), Some("KVM"));
        assert_eq!(by_signature(b"Microsoft Hv"), Some("Hyper-V"));
        assert_eq!(by_signature(b"GenuineIntel"), None);
    }
}
