use super::*;
use crate::host::fake::Tree;

const CPU: &str = "sys/devices/system/cpu";

fn two_cores_four_threads() -> Tree {
    let tree = Tree::new(&[
        (
            "proc/cpuinfo",
            "processor\t: 0\nmodel name\t: Intel(R) Xeon(R)   CPU @ 2.80GHz\ncpu MHz\t\t: \
             2800.123\nflags\t\t: fpu avx2 \
             fma hypervisor\n\nprocessor\t: 1\nmodel name\t: other\nflags\t\t: avx512f\n",
        ),
        (&format!("{CPU}/online"), "0-3\n"),
        (&format!("{CPU}/cpufreq/boost"), "1\n"),
        (&format!("{CPU}/cpu0/cpufreq/cpuinfo_max_freq"), "3900000\n"),
    ]);
    for (thread, siblings) in ["0,2", "1,3", "0,2", "1,3"].into_iter().enumerate() {
        tree.write(&format!("{CPU}/cpu{thread}/topology/thread_siblings_list"), siblings);
    }
    let caches = [
        ("index0", "1", "Data", "32K", "0,2"),
        ("index1", "1", "Instruction", "32K", "0,2"),
        ("index3", "3", "Unified", "32M", "0-3"),
        ("index2", "2", "Unified", "1024K", "0,2"),
        ("index4", "4", "Unified", "many", "0-3"),
    ];
    for (index, level, kind, size, shared) in caches {
        for (file, value) in
            [("level", level), ("type", kind), ("size", size), ("shared_cpu_list", shared)]
        {
            tree.write(&format!("{CPU}/cpu0/cache/{index}/{file}"), value);
        }
    }
    tree
}

#[test]
fn a_cpu_is_read_whole() {
    let cpu = read(&two_cores_four_threads().host());
    assert_eq!(cpu.model.as_deref(), Some("Intel(R) Xeon(R) CPU @ 2.80GHz"));
    assert_eq!(
        (cpu.logical_cores, cpu.physical_cores, cpu.max_mhz),
        (Some(4), Some(2), Some(3900.0))
    );
    let cache = |level, size_bytes, shared| Cache { level, size_bytes, shared_by: Some(shared) };
    assert_eq!(cpu.caches, [cache(1, 32 << 10, 2), cache(2, 1 << 20, 2), cache(3, 32 << 20, 4)]);
    assert_eq!(cpu.features, ["avx2", "fma"], "only the features of the first thread");
    assert_eq!(cpu.hypervisor.as_deref(), Some("unnamed"));
    assert_eq!(mhz_in_cpuinfo(&two_cores_four_threads().host()), Some(2800.123));
}

#[test]
fn other_architectures_name_themselves_otherwise() {
    let model = |cpuinfo| read(&Tree::new(&[("proc/cpuinfo", cpuinfo)]).host()).model;
    let arm = "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd\nCPU implementer\t: \
               0x41\nCPU part\t: 0xd40\n\n";
    assert_eq!(model(arm).as_deref(), Some("ARM Neoverse-V1"));
    assert_eq!(
        model("processor\t: 0\ncpu\t\t: POWER9, altivec supported\n").as_deref(),
        Some("POWER9, altivec supported")
    );
}

#[test]
fn what_is_missing_or_malformed_is_unknown() {
    let tree = Tree::new(&[
        ("proc/cpuinfo", "model name:\n\u{fffd}::\n"),
        (&format!("{CPU}/online"), "?\n"),
    ]);
    let cpu = read(&tree.host());
    assert_eq!(
        (cpu.model, cpu.logical_cores, cpu.physical_cores, cpu.max_mhz),
        (None, None, None, None)
    );
    assert_eq!((cpu.caches.len(), cpu.features.len(), cpu.hypervisor), (0, 0, None));
    assert_eq!(read(&Tree::new(&[]).host()).model, None);
}

#[test]
fn sizes_have_units() {
    for (text, bytes) in [
        ("512K", Some(512 << 10)),
        ("4M", Some(4 << 20)),
        ("100", Some(100)),
        ("0K", None),
        ("K", None),
        ("1T", None),
    ] {
        assert_eq!(size(text), bytes, "{text}");
    }
}
