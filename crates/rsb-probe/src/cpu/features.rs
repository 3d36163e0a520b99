//! Vector extensions that affect results, named as in the Rust compiler.

use crate::host::Host;

/// Names in `/proc/cpuinfo` and the corresponding names here. Sources: the kernel's
/// `arch/*/include/asm/cpufeatures.h` and `hwcap` lists.
const NAMES: [(&str, &str); 34] = [
    ("sse4_2", "sse4.2"),
    ("avx", "avx"),
    ("avx2", "avx2"),
    ("fma", "fma"),
    ("f16c", "f16c"),
    ("avx_vnni", "avxvnni"),
    ("avx512f", "avx512f"),
    ("avx512bw", "avx512bw"),
    ("avx512cd", "avx512cd"),
    ("avx512dq", "avx512dq"),
    ("avx512vl", "avx512vl"),
    ("avx512_vnni", "avx512vnni"),
    ("avx512_bf16", "avx512bf16"),
    ("avx512_fp16", "avx512fp16"),
    ("amx_tile", "amx-tile"),
    ("amx_int8", "amx-int8"),
    ("amx_bf16", "amx-bf16"),
    ("amx_fp16", "amx-fp16"),
    ("asimd", "neon"),
    ("neon", "neon"),
    ("asimdhp", "fp16"),
    ("asimddp", "dotprod"),
    ("asimdfhm", "fhm"),
    ("bf16", "bf16"),
    ("i8mm", "i8mm"),
    ("sve", "sve"),
    ("sve2", "sve2"),
    ("svebf16", "sve-bf16"),
    ("svei8mm", "sve-i8mm"),
    ("sme", "sme"),
    ("sme2", "sme2"),
    ("altivec", "altivec"),
    ("vsx", "vsx"),
    ("vx", "vx"),
];

/// Returns the known extensions in the kernel's `flags`, in the order of the table.
pub(crate) fn of(flags: &str) -> Vec<String> {
    let present: std::collections::HashSet<&str> = flags.split_whitespace().collect();
    let mut found: Vec<String> = Vec::new();
    for (kernel, ours) in NAMES {
        if present.contains(kernel) && found.iter().all(|name| name != ours) {
            found.push(ours.to_owned());
        }
    }
    found
}

/// Returns the extensions that the standard library detects, for systems without `/proc`.
pub(crate) fn by_call(host: &Host) -> Vec<String> {
    if host.is_here() { detect().into_iter().map(str::to_owned).collect() } else { Vec::new() }
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Vec<&'static str> {
    use std::arch::is_x86_feature_detected as has;
    let all = [
        ("sse4.2", has!("sse4.2")),
        ("avx", has!("avx")),
        ("avx2", has!("avx2")),
        ("fma", has!("fma")),
        ("f16c", has!("f16c")),
        ("avx512f", has!("avx512f")),
        ("avx512bw", has!("avx512bw")),
        ("avx512vnni", has!("avx512vnni")),
        ("avx512bf16", has!("avx512bf16")),
    ];
    all.into_iter().filter(|(_, present)| *present).map(|(name, _)| name).collect()
}

#[cfg(target_arch = "aarch64")]
fn detect() -> Vec<&'static str> {
    use std::arch::is_aarch64_feature_detected as has;
    let all = [
        ("neon", has!("neon")),
        ("fp16", has!("fp16")),
        ("dotprod", has!("dotprod")),
        ("bf16", has!("bf16")),
        ("i8mm", has!("i8mm")),
        ("sve", has!("sve")),
    ];
    all.into_iter().filter(|(_, present)| *present).map(|(name, _)| name).collect()
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn detect() -> Vec<&'static str> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_become_the_compilers_names_each_once() {
        let cascade = "fpu vme sse4_2 avx avx2 fma f16c avx512f avx512_vnni hypervisor";
        assert_eq!(of(cascade), ["sse4.2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512vnni"]);
        assert_eq!(of("fp asimd neon asimdhp sve2 i8mm"), ["neon", "fp16", "i8mm", "sve2"]);
        assert_eq!(of(""), Vec::<String>::new());
    }

    #[test]
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    fn the_kernel_and_the_cpu_agree() {
        let here = Host::here();
        let by_kernel = of(&here.text("/proc/cpuinfo").unwrap());
        for name in by_call(&here) {
            assert!(by_kernel.contains(&name), "{name} is missing in {by_kernel:?}");
        }
    }
}
