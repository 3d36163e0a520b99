//! The CPU: name, threads, clock, caches and vector extensions, from `/proc/cpuinfo` and `/sys`.

use rsb_model::environment::{Cache, Cpu};

use crate::host::{Host, count_list, entries, read_line, read_number, read_start};
use crate::{hypervisor, plausible};

mod features;
mod parts;

/// Reads the CPU that this process runs on.
pub(crate) fn read(host: &Host) -> Cpu {
    let first = FirstThread::read(host);
    let online = host.line("/sys/devices/system/cpu/online");
    let usable = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Cpu {
        model: first.model(),
        family: first.number("cpu family"),
        model_number: first.number("model"),
        stepping: first.number("stepping"),
        architecture: std::env::consts::ARCH.to_owned(),
        usable_cores: u32::try_from(usable).unwrap_or(u32::MAX),
        logical_cores: online.as_deref().and_then(count_list),
        physical_cores: physical_cores(host),
        max_mhz: max_mhz(host),
        caches: caches(host),
        features: first.flags().map_or_else(|| features::by_call(host), features::of),
        hypervisor: hypervisor::name(host, first.virtual_machine()),
    }
}

/// Returns the number of the first thread that this process may run on. In heterogeneous CPUs,
/// threads differ.
pub(crate) fn first_usable(host: &Host) -> u32 {
    if host.is_here() { first_in_affinity() } else { 0 }
}

#[cfg(target_os = "linux")]
fn first_in_affinity() -> u32 {
    let set = rustix::thread::sched_getaffinity(None).ok();
    let first =
        set.and_then(|set| (0..rustix::thread::CpuSet::MAX_CPU).find(|thread| set.is_set(*thread)));
    first.and_then(|thread| u32::try_from(thread).ok()).unwrap_or(0)
}

#[cfg(not(target_os = "linux"))]
fn first_in_affinity() -> u32 {
    0
}

/// Returns the clock of the first thread in `/proc/cpuinfo`, in MHz.
pub(crate) fn mhz_in_cpuinfo(host: &Host) -> Option<f64> {
    FirstThread::read(host).field("cpu MHz")?.parse().ok().and_then(plausible::megahertz)
}

/// The first block of `/proc/cpuinfo`.
struct FirstThread(String);

impl FirstThread {
    /// Reads only the beginning of the file. The kernel generates it on reading and queries the
    /// clock of each thread, which takes tens of milliseconds on a large machine.
    fn read(host: &Host) -> Self {
        const BEGINNING: u64 = 16 << 10;
        let text = host
            .path("/proc/cpuinfo")
            .and_then(|path| read_start(&path, BEGINNING))
            .unwrap_or_default();
        Self(text.split("\n\n").next().unwrap_or_default().to_owned())
    }

    fn field(&self, name: &str) -> Option<&str> {
        let value = self.0.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == name).then_some(value.trim())
        });
        value.filter(|value| !value.is_empty())
    }

    /// Returns the model name: `model name` on x86, `cpu` on POWER, `cpu 0` on s390. On ARM, looks
    /// up part numbers in a table.
    fn model(&self) -> Option<String> {
        let named = self
            .field("model name")
            .or_else(|| self.field("cpu"))
            .or_else(|| self.field("Processor"));
        match named {
            Some(name) => Some(name.split_whitespace().collect::<Vec<_>>().join(" ")),
            None => parts::name(self.field("CPU implementer")?, self.field("CPU part")?),
        }
    }

    fn number(&self, name: &str) -> Option<u32> {
        self.field(name)?.parse().ok()
    }

    fn flags(&self) -> Option<&str> {
        self.field("flags").or_else(|| self.field("Features"))
    }

    /// Returns whether this is a virtual machine; `None` except on x86, where the CPU has a flag
    /// for it.
    fn virtual_machine(&self) -> Option<bool> {
        Some(self.field("flags")?.split_whitespace().any(|flag| flag == "hypervisor"))
    }
}

fn physical_cores(host: &Host) -> Option<u32> {
    let dir = host.path("/sys/devices/system/cpu")?;
    let threads = entries(&dir).into_iter().filter(|name| is_thread(name));
    // A core is a set of sibling threads. Offline threads have no topology.
    let cores: std::collections::BTreeSet<String> = threads
        .filter_map(|name| read_line(&dir.join(name).join("topology/thread_siblings_list")))
        .collect();
    u32::try_from(cores.len()).ok().filter(|count| *count > 0)
}

/// Returns whether a name in `/sys/devices/system/cpu` is that of a thread: `cpu0`, not `cpufreq`.
pub(crate) fn is_thread(name: &str) -> bool {
    name.strip_prefix("cpu")
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

fn max_mhz(host: &Host) -> Option<f64> {
    let first = first_usable(host);
    let khz: f64 =
        host.number(&format!("/sys/devices/system/cpu/cpu{first}/cpufreq/cpuinfo_max_freq"))?;
    plausible::megahertz(khz / 1e3)
}

fn caches(host: &Host) -> Vec<Cache> {
    let first = first_usable(host);
    let Some(dir) = host.path(&format!("/sys/devices/system/cpu/cpu{first}/cache")) else {
        return Vec::new();
    };
    let mut found: Vec<Cache> = entries(&dir)
        .into_iter()
        .filter(|name| name.starts_with("index"))
        .filter_map(|name| {
            let cache = dir.join(name);
            (read_line(&cache.join("type"))? != "Instruction").then_some(())?;
            Some(Cache {
                level: read_number(&cache.join("level"))?,
                size_bytes: size(&read_line(&cache.join("size"))?)?,
                shared_by: read_line(&cache.join("shared_cpu_list"))
                    .as_deref()
                    .and_then(count_list),
            })
        })
        .collect();
    found.sort_by_key(|cache| cache.level);
    found
}

/// Parses a size such as `512K` into bytes.
fn size(text: &str) -> Option<u64> {
    let (number, unit) =
        text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let factor: u64 = match unit.trim() {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests;
