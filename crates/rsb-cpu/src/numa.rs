//! NUMA placement of threads and memory.
#![cfg_attr(target_os = "linux", allow(unsafe_code))]

use std::fs;
use std::path::Path;

use rsb_device::device::{DeviceError, NumaMemory};
use rsb_model::Reason;
use rsb_model::shape::rounded_bytes;

const NODES: &str = "/sys/devices/system/node";

/// A NUMA node of the kernel: CPUs, memory, or both.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Node {
    number: u32,
    cpus: Vec<usize>,
    /// Distances to the online nodes, in order of their numbers; 10 is the distance to itself.
    distances: Vec<u32>,
    has_memory: bool,
}

/// NUMA placement of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// CPUs of the node on which threads run.
    cpus: Vec<usize>,
    /// Node of the memory.
    node: u32,
    /// Distance between both nodes, as reported by the firmware; 10 means the same node.
    pub(super) distance: u32,
}

/// Binds this process to the CPUs of the first node that it may use, and its future allocations to
/// the node that `memory` selects.
pub(super) fn place(memory: NumaMemory) -> Result<Place, DeviceError> {
    let found = choose(&nodes(Path::new(NODES)), &allowed_cpus(), memory)?;
    bind(&found).map_err(|error| {
        DeviceError::Unsupported(Reason::new(
            format!("memory of NUMA node {}", found.node),
            error.to_string(),
            "allow the process to bind memory (in a container: --cap-add SYS_NICE, or its seccomp \
             profile), or choose numa=any",
        ))
    })?;
    Ok(found)
}

/// CPUs and NUMA node near a PCI device, as reported by the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Vicinity {
    /// CPUs nearest to the device that the process may use; empty if it may use none of them.
    cpus: Vec<usize>,
    /// NUMA node of the device, if the kernel reports one.
    node: Option<u32>,
}

/// Binds this thread, and threads that it starts later, to the CPUs nearest to the PCI device whose
/// sysfs directory is `device`, so that pinned memory for the device is allocated on its NUMA node.
/// Never adds CPUs to those that the process may use.
///
/// Returns the node of the device, or `None` if the kernel reports none or if the thread may not
/// use its CPUs.
pub fn bind_near(device: &Path) -> Option<u32> {
    let allowed = allowed_cpus();
    let found = vicinity(device, &allowed);
    if found.cpus.is_empty() {
        return None;
    }
    if found.cpus.len() < allowed.len() {
        set_affinity(&found.cpus).ok()?;
    }
    found.node
}

fn vicinity(device: &Path, allowed: &[usize]) -> Vicinity {
    let near = list(&read_text(&device.join("local_cpulist")));
    let cpus = allowed.iter().copied().filter(|cpu| near.contains(cpu)).collect();
    // -1 if the firmware does not report the node.
    Vicinity { cpus, node: read_text(&device.join("numa_node")).trim().parse().ok() }
}

fn read_text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

impl Place {
    /// Checks that the node has `bytes` of free memory, since the kernel could kill a process that
    /// needs more.
    ///
    /// # Errors
    /// If the node has less free memory.
    pub(super) fn has_room(&self, bytes: u64) -> Result<(), DeviceError> {
        let text = fs::read_to_string(Path::new(NODES).join(format!("node{}/meminfo", self.node)))
            .unwrap_or_default();
        match free(&text).filter(|&free| bytes > free) {
            None => Ok(()),
            Some(free) => Err(DeviceError::Failed(Reason::new(
                format!("{} of memory", rounded_bytes(bytes)),
                format!("NUMA node {} has {} left", self.node, rounded_bytes(free)),
                "choose a smaller size, or stop other programs that use the memory",
            ))),
        }
    }
}

fn choose(nodes: &[Node], allowed: &[usize], memory: NumaMemory) -> Result<Place, DeviceError> {
    let home = nodes
        .iter()
        .find(|node| node.cpus.iter().any(|cpu| allowed.contains(cpu)))
        .ok_or_else(|| no_place_error(memory, "the kernel reports no NUMA nodes here"))?;
    let with_memory = nodes.iter().filter(|node| node.has_memory);
    let found = match memory {
        NumaMemory::Near => {
            with_memory.min_by_key(|node| (distance(nodes, home, node), node.number))
        }
        NumaMemory::Far => with_memory
            .filter(|node| node.number != home.number)
            .max_by_key(|node| (distance(nodes, home, node), std::cmp::Reverse(node.number))),
    };
    let node = found.ok_or_else(|| no_place_error(memory, "only one NUMA node has memory here"))?;
    let distance = distance(nodes, home, node)
        .ok_or_else(|| no_place_error(memory, "the firmware reports no distances"))?;
    let cpus = home.cpus.iter().filter(|cpu| allowed.contains(cpu)).copied().collect();
    Ok(Place { cpus, node: node.number, distance })
}

/// Returns the distance between two nodes, as reported by the firmware.
fn distance(nodes: &[Node], from: &Node, to: &Node) -> Option<u32> {
    let column = nodes.iter().position(|node| node.number == to.number)?;
    from.distances.get(column).copied()
}

fn no_place_error(memory: NumaMemory, why: &str) -> DeviceError {
    DeviceError::Unsupported(Reason::new(
        format!("numa={memory}"),
        why,
        "measure on a host where `numactl --hardware` lists several nodes with memory, or choose \
         numa=any",
    ))
}

/// Returns the nodes in order of their numbers; empty if the kernel has no NUMA support.
fn nodes(root: &Path) -> Vec<Node> {
    list(&read_text(&root.join("online")))
        .into_iter()
        .filter_map(|number| read_node(root, number))
        .collect()
}

fn read_node(root: &Path, number: usize) -> Option<Node> {
    let dir = root.join(format!("node{number}"));
    let distances = read_text(&dir.join("distance"))
        .split_whitespace()
        .filter_map(|one| one.parse().ok())
        .collect();
    let has_memory = list(&read_text(&root.join("has_memory"))).contains(&number);
    Some(Node {
        number: u32::try_from(number).ok()?,
        cpus: list(&read_text(&dir.join("cpulist"))),
        distances,
        has_memory,
    })
}

/// Parses a list of numbers such as `0-3,8`.
fn list(text: &str) -> Vec<usize> {
    let mut numbers = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>()) {
            numbers.extend((first..=last).take(MAX_CPUS));
        }
    }
    numbers
}

/// Upper bound on the CPU numbers of a range.
const MAX_CPUS: usize = 1 << 16;

/// Returns the free memory in a node's `meminfo` in bytes, including file pages that the kernel can
/// reclaim.
fn free(meminfo: &str) -> Option<u64> {
    let files = kilobytes(meminfo, "Active(file):")
        .unwrap_or(0)
        .saturating_add(kilobytes(meminfo, "Inactive(file):").unwrap_or(0));
    kilobytes(meminfo, "MemFree:")?.saturating_add(files).checked_mul(1024)
}

fn kilobytes(meminfo: &str, name: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.split_once(name))?.1;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(target_os = "linux")]
fn allowed_cpus() -> Vec<usize> {
    use rustix::thread::{CpuSet, sched_getaffinity};
    let set = sched_getaffinity(None).ok();
    set.map_or_else(Vec::new, |set| (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
}

#[cfg(not(target_os = "linux"))]
fn allowed_cpus() -> Vec<usize> {
    Vec::new()
}

#[cfg(target_os = "linux")]
fn set_affinity(cpus: &[usize]) -> std::io::Result<()> {
    use rustix::thread::{CpuSet, sched_setaffinity};
    let mut set = CpuSet::new();
    for &cpu in cpus.iter().filter(|&&cpu| cpu < CpuSet::MAX_CPU) {
        set.set(cpu);
    }
    Ok(sched_setaffinity(None, &set)?)
}

#[cfg(not(target_os = "linux"))]
fn set_affinity(_: &[usize]) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

#[cfg(target_os = "linux")]
fn bind(place: &Place) -> std::io::Result<()> {
    set_affinity(&place.cpus)?;
    let mut mask = [0_u64; 16];
    let word = mask.get_mut(place.node as usize / 64).ok_or(std::io::ErrorKind::Unsupported)?;
    *word = 1 << (place.node % 64);
    // The kernel uses one bit fewer than the given count.
    let bits = mask.len() * 64 + 1;
    // SAFETY: the mask is as long as the given count, and the kernel only reads it.
    let failed =
        unsafe { libc::syscall(libc::SYS_set_mempolicy, libc::MPOL_BIND, mask.as_ptr(), bits) };
    if failed == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

#[cfg(not(target_os = "linux"))]
fn bind(_: &Place) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(
        number: u32,
        cpus: std::ops::Range<usize>,
        distances: &[u32],
        has_memory: bool,
    ) -> Node {
        Node { number, cpus: cpus.collect(), distances: distances.to_vec(), has_memory }
    }

    /// Builds two sockets, and a memory-only node that is farther away than either.
    fn three() -> Vec<Node> {
        vec![
            node(0, 0..4, &[10, 21, 30], true),
            node(1, 4..8, &[21, 10, 40], true),
            node(3, 0..0, &[30, 40, 10], true),
        ]
    }

    #[test]
    fn near_is_the_own_node_and_far_the_farthest_other() {
        let all: Vec<usize> = (0..8).collect();
        for (allowed, memory, expected) in [
            (&all[..], NumaMemory::Near, (0, 10, 0..4)),
            (&all[..], NumaMemory::Far, (3, 30, 0..4)),
            (&all[5..], NumaMemory::Near, (1, 10, 5..8)),
            (&all[5..], NumaMemory::Far, (3, 40, 5..8)),
        ] {
            let place = choose(&three(), allowed, memory).unwrap();
            assert_eq!(
                (place.node, place.distance, place.cpus),
                (expected.0, expected.1, expected.2.collect())
            );
        }
        // A node without memory modules uses the memory of the nearest node.
        let mut without = three();
        without[1].has_memory = false;
        assert_eq!(choose(&without, &all[5..], NumaMemory::Near).unwrap().node, 0);
    }

    #[test]
    fn where_there_is_no_other_node_the_reason_says_so() {
        let one = [node(0, 0..2, &[10], true)];
        assert_eq!(choose(&one, &[0, 1], NumaMemory::Near).unwrap().distance, 10);
        for (nodes, why) in [(&one[..], "only one NUMA node"), (&[], "no NUMA nodes")] {
            let Err(DeviceError::Unsupported(reason)) = choose(nodes, &[0, 1], NumaMemory::Far)
            else {
                panic!()
            };
            assert!(reason.why.contains(why) && reason.cure.contains("numactl"), "{reason}");
        }
    }

    #[test]
    fn nodes_are_read_as_the_kernel_tells_them() {
        let root = tempfile::tempdir().unwrap();
        for (file, content) in [
            ("online", "0,2\n"),
            ("has_memory", "2\n"),
            ("node0/cpulist", "0-1,4\n"),
            ("node0/distance", "10 21\n"),
            ("node2/cpulist", "\n"),
            ("node2/distance", "21 10\n"),
        ] {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let found = nodes(root.path());
        assert_eq!((&found[0].cpus[..], found[0].has_memory), (&[0, 1, 4][..], false));
        assert_eq!((found[1].number, found[1].has_memory, found[1].cpus.len()), (2, true, 0));
        assert_eq!(nodes(Path::new("/nonexistent")), []);
        assert_eq!(
            free("Node 0 MemTotal: 9 kB\nNode 0 MemFree: 4 kB\nNode 0 Active(file): 2 kB\n"),
            Some(6 * 1024)
        );
        assert_eq!(free(""), None);
    }

    /// Creates the sysfs directory of a GPU with these files.
    fn gpu(files: &[(&str, &str)]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (name, content) in files {
            fs::write(directory.path().join(name), content).unwrap();
        }
        directory
    }

    #[test]
    fn the_cpus_near_a_gpu_are_those_that_the_process_may_use() {
        struct Row {
            cpulist: &'static str,
            node: &'static str,
            allowed: &'static [usize],
            expected: (&'static [usize], Option<u32>),
        }
        for row in [
            Row {
                cpulist: "4-7\n",
                node: "1\n",
                allowed: &[0, 1, 4, 5, 6, 7],
                expected: (&[4, 5, 6, 7], Some(1)),
            },
            Row {
                cpulist: "4-5,8\n",
                node: "1\n",
                allowed: &[5, 6, 8],
                expected: (&[5, 8], Some(1)),
            },
            // A container that may use none of these CPUs must not get access to them.
            Row { cpulist: "4-7\n", node: "1\n", allowed: &[0, 1], expected: (&[], Some(1)) },
            // A single socket, or firmware that does not report the node.
            Row {
                cpulist: "0-3\n",
                node: "-1\n",
                allowed: &[0, 1, 2, 3],
                expected: (&[0, 1, 2, 3], None),
            },
            Row { cpulist: "nonsense\n", node: "x\n", allowed: &[0, 1], expected: (&[], None) },
        ] {
            let directory = gpu(&[("local_cpulist", row.cpulist), ("numa_node", row.node)]);
            let found = vicinity(directory.path(), row.allowed);
            assert_eq!((&found.cpus[..], found.node), row.expected, "{}", row.cpulist);
        }
        let absent = vicinity(Path::new("/nonexistent"), &[0]);
        assert_eq!(absent, Vicinity { cpus: vec![], node: None });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_is_bound_near_a_gpu_and_never_to_more() {
        std::thread::spawn(|| {
            let before = allowed_cpus();
            let last = *before.last().unwrap();
            // The last CPU of this process, and one that exists on no host.
            let near = gpu(&[("local_cpulist", &format!("{last},65000\n")), ("numa_node", "2\n")]);
            assert_eq!(bind_near(near.path()), Some(2));
            assert_eq!(allowed_cpus(), [last]);
            let all = gpu(&[("local_cpulist", "0-1023\n"), ("numa_node", "0\n")]);
            assert_eq!(
                (bind_near(all.path()), allowed_cpus()),
                (Some(0), vec![last]),
                "CPUs removed earlier must not come back"
            );
            let elsewhere = gpu(&[("local_cpulist", "65000\n"), ("numa_node", "3\n")]);
            assert_eq!((bind_near(elsewhere.path()), allowed_cpus()), (None, vec![last]));
        })
        .join()
        .unwrap();
    }

    /// Runs on this host, whatever its topology: memory must come from the chosen node.
    #[cfg(target_os = "linux")]
    #[test]
    fn memory_lies_on_the_node_that_was_chosen() {
        // The memory policy belongs to the thread.
        let asked = std::thread::spawn(|| {
            let place = match place(NumaMemory::Near) {
                Ok(place) => place,
                Err(DeviceError::Unsupported(reason)) => return Err(reason.to_string()),
                Err(failed) => panic!("{failed}"),
            };
            let memory = crate::memory::Memory::new_zeroed(1 << 22).unwrap();
            let mut node: libc::c_int = -1;
            // SAFETY: the flags request the node of an address, which belongs to a live block.
            let failed = unsafe {
                libc::syscall(
                    libc::SYS_get_mempolicy,
                    &raw mut node,
                    0,
                    0,
                    memory.start(),
                    MPOL_F_NODE | MPOL_F_ADDR,
                )
            };
            assert_eq!(failed, 0, "{}", std::io::Error::last_os_error());
            assert_eq!(u32::try_from(node), Ok(place.node));
            assert!(place.has_room(1).is_ok() && place.has_room(u64::MAX).is_err());
            Ok(())
        });
        if let Err(reason) = asked.join().unwrap() {
            test_needs::missing("numa", &reason);
        }
    }

    const MPOL_F_NODE: libc::c_ulong = 1;
    const MPOL_F_ADDR: libc::c_ulong = 2;
}
