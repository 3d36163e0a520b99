//! The CPU of this machine as a device, and the share that this process may use, read from the
//! standard library, `/sys` and `/proc`.

use std::fs;
use std::path::Path;

use rsb_model::environment::Cache;
use rsb_model::shape::parse_bytes;
use rsb_model::{DeviceRef, DeviceType, Dtype};

use crate::device::DeviceInfo;

/// Reads the current properties of the CPU. Also used for drivers that run on the CPU, which has
/// the same caches and units.
pub fn read() -> DeviceInfo {
    DeviceInfo {
        units: usable_threads(),
        usable_memory_bytes: usable_memory(),
        caches: caches(Path::new("/sys/devices/system/cpu/cpu0/cache")),
        ..DeviceInfo::new(
            DeviceRef::CPU,
            model_name(&text("/proc/cpuinfo")).unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            DeviceType::Cpu,
        )
    }
}

/// Returns the number of threads that this process may run at once, limited by its affinity and
/// cgroup.
pub fn usable_threads() -> u32 {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    u32::try_from(threads).unwrap_or(u32::MAX)
}

/// Returns whether the CPU has matrix units (AMX) for `dtype`.
pub fn has_wider_units(dtype: Dtype) -> bool {
    has_flag(&text("/proc/cpuinfo"), flags_of(dtype))
}

/// Returns the names of the CPU flags in Linux for the matrix units of `dtype`.
const fn flags_of(dtype: Dtype) -> &'static [&'static str] {
    match dtype {
        Dtype::Bf16 => &["amx_bf16"],
        Dtype::F16 => &["amx_fp16"],
        Dtype::I8 => &["amx_int8"],
        _ => &[],
    }
}

fn has_flag(cpuinfo: &str, wanted: &[&str]) -> bool {
    let line = cpuinfo.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    line.split_whitespace().any(|flag| wanted.contains(&flag))
}

fn text(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn model_name(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    let name = line.split_once(':')?.1.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// Returns half of the free memory or of the memory left in the cgroup, whichever is less. The
/// other half is left to the rest of the system.
fn usable_memory() -> u64 {
    /// Free memory assumed if the system does not report it, small enough for any machine that runs
    /// benchmarks.
    const ASSUMED: u64 = 2 << 30;
    let free = available(&text("/proc/meminfo")).unwrap_or(ASSUMED);
    free.min(group_limit().unwrap_or(u64::MAX)) / 2
}

fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Returns the memory left in this process's cgroup, version 2 or 1.
fn group_limit() -> Option<u64> {
    let group = text("/proc/self/cgroup");
    let path =
        group.lines().find_map(|line| line.strip_prefix("0::"))?.trim().trim_start_matches('/');
    let root = Path::new("/sys/fs/cgroup");
    // Limits of every parent group apply too.
    let unified = root
        .join(path)
        .ancestors()
        .take_while(|dir| dir.starts_with(root))
        .filter_map(|dir| {
            let limit = read_number(&dir.join("memory.max"))?;
            Some(limit.saturating_sub(read_number(&dir.join("memory.current")).unwrap_or(0)))
        })
        .min();
    if unified.is_some() {
        return unified;
    }
    let limit = read_number(&root.join("memory/memory.limit_in_bytes"))?;
    let usage = read_number(&root.join("memory/memory.usage_in_bytes")).unwrap_or(0);
    Some(limit.saturating_sub(usage))
}

fn read_number(file: &Path) -> Option<u64> {
    text(file).trim().parse().ok()
}

/// Returns the data and unified caches in `dir`, nearest first.
fn caches(dir: &Path) -> Vec<Cache> {
    let entries = fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    let mut found: Vec<Cache> = entries.filter_map(|entry| cache(&entry.path())).collect();
    found.sort_by_key(|cache| cache.level);
    found
}

fn cache(dir: &Path) -> Option<Cache> {
    if field(dir, "type") == "Instruction" {
        return None;
    }
    // The kernel writes `32K` for 32 · 1024 bytes.
    let size = field(dir, "size");
    let size_bytes = match size.strip_suffix('K') {
        Some(kilobytes) => kilobytes.parse::<u64>().ok()?.checked_mul(1024)?,
        None => parse_bytes(&size).ok()?,
    };
    Some(Cache {
        level: field(dir, "level").parse().ok()?,
        size_bytes,
        shared_by: count_list(&field(dir, "shared_cpu_list")),
    })
}

fn field(dir: &Path, name: &str) -> String {
    text(dir.join(name)).trim().to_owned()
}

/// Counts the entries of a list such as `0-3,8`.
fn count_list(list: &str) -> Option<u32> {
    list.split(',')
        .map(|part| match part.split_once('-') {
            Some((first, last)) => {
                last.parse::<u32>().ok()?.checked_sub(first.parse().ok()?)?.checked_add(1)
            }
            None => part.parse::<u32>().ok().map(|_| 1),
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_for_tiles_are_found_by_name() {
        let cpuinfo = "processor\t: 0\nflags\t\t: fpu avx512_bf16 amx_tile amx_int8\nbugs\t\t:\n";
        assert!(has_flag(cpuinfo, flags_of(Dtype::I8)));
        for dtype in [Dtype::Bf16, Dtype::F16, Dtype::F32] {
            assert!(!has_flag(cpuinfo, flags_of(dtype)), "{dtype}");
        }
        assert!(!has_flag("", flags_of(Dtype::I8)));
    }

    #[test]
    fn this_machine_has_threads_memory_and_a_name() {
        let info = read();
        assert!(info.units >= 1 && info.usable_memory_bytes > 0 && !info.name.is_empty());
        assert!(info.caches.windows(2).all(|pair| pair[0].level <= pair[1].level));
    }

    #[test]
    fn proc_files_are_read_as_they_are_and_survive_nonsense() {
        assert_eq!(available("MemTotal: 9 kB\nMemAvailable:   24 kB\n"), Some(24 * 1024));
        assert_eq!(model_name("processor : 0\nmodel name\t: A 9000\n"), Some("A 9000".to_owned()));
        for nonsense in ["", "MemAvailable:", "MemAvailable: many kB", "model name"] {
            assert_eq!(available(nonsense), None);
            assert_eq!(model_name(nonsense), None);
        }
        assert_eq!(count_list("0-3,8"), Some(5));
        assert_eq!(count_list("3-0"), None);
        assert_eq!(count_list("x"), None);
    }

    #[test]
    fn a_machine_that_hides_its_caches_has_none() {
        assert_eq!(caches(Path::new("/nonexistent")), Vec::new());
    }
}
