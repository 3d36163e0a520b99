//! The operating system, its kernel, and the size of memory.

use crate::cgroup;
use crate::host::Host;

/// Returns name and version of the operating system.
pub(crate) fn name(host: &Host) -> Option<String> {
    let release = host.text("/etc/os-release").or_else(|| host.text("/usr/lib/os-release"));
    let pretty = release.as_deref().and_then(|text| {
        value(text, "PRETTY_NAME").or_else(|| {
            let version =
                value(text, "VERSION_ID").map_or_else(String::new, |version| format!(" {version}"));
            value(text, "NAME").map(|name| name + &version)
        })
    });
    pretty.or_else(|| host.is_here().then(|| std::env::consts::OS.to_owned()))
}

/// Returns a value from a file in shell syntax: `NAME="value"`.
fn value(text: &str, name: &str) -> Option<String> {
    let raw =
        text.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix('='))?.trim();
    let bare = ['"', '\'']
        .iter()
        .find_map(|quote| raw.strip_prefix(*quote)?.strip_suffix(*quote))
        .unwrap_or(raw);
    let bare = bare.replace("\\\"", "\"");
    (!bare.is_empty()).then_some(bare)
}

/// Returns the release of the kernel.
pub(crate) fn kernel(host: &Host) -> Option<String> {
    host.line("/proc/sys/kernel/osrelease")
        .or_else(|| host.is_here().then(kernel_by_call).flatten())
}

#[cfg(unix)]
fn kernel_by_call() -> Option<String> {
    rustix::system::uname().release().to_str().ok().map(str::to_owned)
}

#[cfg(not(unix))]
fn kernel_by_call() -> Option<String> {
    None
}

/// Returns the memory in GB: that of the machine, or the limit of the control group if it is lower.
pub(crate) fn memory_gb(host: &Host) -> Option<f64> {
    let total = host.text("/proc/meminfo").as_deref().and_then(total_bytes);
    let limit = cgroup::memory_limit(host);
    let bytes = total.into_iter().chain(limit).min();
    // A limit alone may mean "no limit". So the result is unknown if the total of the machine is
    // unknown.
    total.and(bytes).map(|bytes| bytes as f64 / 1e9)
}

fn total_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fake::Tree;

    #[test]
    fn the_name_is_the_pretty_one_or_made_of_parts() {
        for (release, expected) in [
            (
                "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n",
                Some("Debian GNU/Linux 12 (bookworm)"),
            ),
            ("PRETTY_NAME='Arch Linux'\n", Some("Arch Linux")),
            ("NAME=Alpine\nVERSION_ID=3.20\n", Some("Alpine 3.20")),
            ("PRETTY_NAME=\"\"\nNAME=Void", Some("Void")),
            ("nonsense", None),
        ] {
            assert_eq!(
                name(&Tree::new(&[("etc/os-release", release)]).host()).as_deref(),
                expected,
                "{release}"
            );
        }
        let elsewhere = Tree::new(&[("usr/lib/os-release", "PRETTY_NAME=NixOS")]);
        assert_eq!(name(&elsewhere.host()).as_deref(), Some("NixOS"));
        assert_eq!(name(&Tree::new(&[]).host()), None);
    }

    #[test]
    fn the_kernel_is_its_release() {
        let tree = Tree::new(&[("proc/sys/kernel/osrelease", "6.8.0-31-generic\n")]);
        assert_eq!(kernel(&tree.host()).as_deref(), Some("6.8.0-31-generic"));
        assert_eq!(kernel(&Tree::new(&[]).host()), None);
    }

    #[test]
    fn memory_is_in_gb_and_unknown_when_malformed() {
        for (meminfo, expected) in [
            ("MemTotal:       16000000 kB\nMemFree: 1 kB\n", Some(16.384)),
            ("MemTotal: 0 kB\n", None),
            ("MemTotal: lots\n", None),
            ("", None),
        ] {
            assert_eq!(
                memory_gb(&Tree::new(&[("proc/meminfo", meminfo)]).host()),
                expected,
                "{meminfo}"
            );
        }
    }
}
