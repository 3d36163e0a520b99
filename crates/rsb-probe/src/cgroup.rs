//! Limits of the control group of this process, for cgroup versions 1 and 2.
//!
//! The effective limit is the smallest one from the group up to the visible root.
//! (`std::thread::available_parallelism` covers the CPU quota; this module reads everything else.)

use std::path::{Path, PathBuf};

use crate::host::{Host, read_line, read_text};

/// Layout of the control group files.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// Returns the memory limit in bytes; `None` without a limit.
pub(crate) fn memory_limit(host: &Host) -> Option<u64> {
    // Version 1 writes "no limit" as a number near 2⁶³.
    const NO_LIMIT: u64 = 1 << 60;
    let limits = dirs(host, "memory").into_iter().filter_map(|(version, dir)| {
        let file = if version == Version::Two { "memory.max" } else { "memory.limit_in_bytes" };
        read_line(&dir.join(file))?.parse::<u64>().ok()
    });
    limits.filter(|bytes| (1..NO_LIMIT).contains(bytes)).min()
}

/// Returns how often the group was throttled since its creation because its CPU quota was used up.
pub(crate) fn held_back(host: &Host) -> Option<u64> {
    let counts = dirs(host, "cpu").into_iter().filter_map(|(_, dir)| {
        let text = read_text(&dir.join("cpu.stat"))?;
        text.lines().find_map(|line| line.strip_prefix("nr_throttled "))?.trim().parse::<u64>().ok()
    });
    counts.max()
}

/// Returns the directories that limit this process for `controller`, from its own group up to the
/// mount.
fn dirs(host: &Host, controller: &str) -> Vec<(Version, PathBuf)> {
    let (Some(groups), Some(mounts)) =
        (host.text("/proc/self/cgroup"), host.text("/proc/self/mountinfo"))
    else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for mount in mounts.lines().filter_map(|line| Mount::parse(line, controller)) {
        let Some(group) = group_of(&groups, mount.version, controller) else { continue };
        let Some(top) = host.path(mount.point) else { continue };
        // In a container the group's path may start above the mount; then the mount itself is the
        // group.
        let below = group
            .strip_prefix(mount.root.trim_end_matches('/'))
            .unwrap_or("")
            .trim_start_matches('/');
        let stays_inside = !below.split('/').any(|part| part == "..");
        let group = if stays_inside { top.join(below) } else { top.clone() };
        found.extend(up_to(&group, &top).map(|dir| (mount.version, dir.to_owned())));
    }
    found
}

fn up_to<'a>(dir: &'a Path, top: &'a Path) -> impl Iterator<Item = &'a Path> {
    dir.ancestors().take_while(move |parent| parent.starts_with(top))
}

struct Mount<'a> {
    version: Version,
    root: &'a str,
    point: &'a str,
}

impl<'a> Mount<'a> {
    /// Parses a line of `mountinfo`: `31 23 0:28 ROOT POINT options - TYPE source options`.
    fn parse(line: &'a str, controller: &str) -> Option<Self> {
        let (place, kind) = line.split_once(" - ")?;
        let mut kind = kind.split(' ');
        let version = match (kind.next()?, kind.nth(1).unwrap_or("")) {
            ("cgroup2", _) => Version::Two,
            ("cgroup", options) if options.split(',').any(|option| option == controller) => {
                Version::One
            }
            _ => return None,
        };
        let mut place = place.split(' ').skip(3);
        Some(Self { version, root: place.next()?, point: place.next()? })
    }
}

/// Parses a line of `/proc/self/cgroup` and returns the path of the group: `4:memory:/path`, or
/// `0::/path` in version 2.
fn group_of<'a>(groups: &'a str, version: Version, controller: &str) -> Option<&'a str> {
    groups.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let matches = match version {
            Version::Two => controllers.is_empty(),
            Version::One => controllers.split(',').any(|name| name == controller),
        };
        matches.then_some(path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fake::Tree;

    const V2: &str = "31 23 0:28 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n";
    const V1: &str = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n";

    fn limit(files: &[(&str, &str)]) -> Option<u64> {
        memory_limit(&Tree::new(files).host())
    }

    #[test]
    fn the_least_limit_on_the_way_up_counts() {
        let two = [
            ("proc/self/cgroup", "0::/a/b\n"),
            ("proc/self/mountinfo", V2),
            ("sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("sys/fs/cgroup/a/memory.max", "4000\n"),
            ("sys/fs/cgroup/memory.max", "9000\n"),
        ];
        assert_eq!(limit(&two), Some(4000));
        let one = [
            ("proc/self/cgroup", "4:memory:/a\n3:cpu,cpuacct:/z\n0::/\n"),
            ("proc/self/mountinfo", V1),
            ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "7000\n"),
        ];
        assert_eq!(limit(&one), Some(7000));
    }

    #[test]
    fn in_a_container_the_mount_is_the_group() {
        let mount = "31 23 0:28 /docker/x /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        for group in ["0::/docker/x\n", "0::/../../elsewhere\n", "0::/\n"] {
            let files = [
                ("proc/self/cgroup", group),
                ("proc/self/mountinfo", mount),
                ("sys/fs/cgroup/memory.max", "5000\n"),
            ];
            assert_eq!(limit(&files), Some(5000), "{group}");
        }
    }

    #[test]
    fn no_limit_and_nonsense_are_none() {
        for content in ["max\n", "0\n", "-1\n", "", "many"] {
            let files = [
                ("proc/self/cgroup", "0::/\n"),
                ("proc/self/mountinfo", V2),
                ("sys/fs/cgroup/memory.max", content),
            ];
            assert_eq!(limit(&files), None, "{content:?}");
        }
        assert_eq!(
            limit(&[("proc/self/cgroup", "0::/\n"), ("proc/self/mountinfo", "x - cgroup2")]),
            None
        );
        assert_eq!(limit(&[]), None);
    }

    #[test]
    fn a_share_used_up_is_counted() {
        let files = [
            ("proc/self/cgroup", "0::/a\n"),
            ("proc/self/mountinfo", V2),
            (
                "sys/fs/cgroup/a/cpu.stat",
                "usage_usec 5\nnr_periods 9\nnr_throttled 3\nthrottled_usec 1\n",
            ),
        ];
        assert_eq!(held_back(&Tree::new(&files).host()), Some(3));
    }
}
