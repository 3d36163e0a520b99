//! Monotonic counters: CPU time and the part stolen by the hypervisor, thermal throttling, and
//! throttling of the control group.

use crate::cgroup;
use crate::cpu::is_thread;
use crate::host::{Host, entries, read_number};

/// Counters at a moment, or their growth.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counters {
    /// Ticks of all threads, and those stolen by the hypervisor.
    ticks: Option<(u64, u64)>,
    /// Number of times that threads and packages were thermally throttled.
    pub(super) throttled: Option<u64>,
    /// Number of times that the control group was throttled.
    pub(super) held_back: Option<u64>,
}

impl Counters {
    pub(super) fn read(host: &Host) -> Self {
        let ticks = host.text("/proc/stat").as_deref().and_then(ticks);
        Self { ticks, throttled: throttle_count(host), held_back: cgroup::held_back(host) }
    }

    /// Returns the growth since `before`; `None` for a counter that decreased (the machine moved to
    /// another host).
    pub(super) fn since(&self, before: &Self) -> Self {
        let ticks = self.ticks.zip(before.ticks);
        Self {
            ticks: ticks.and_then(|(now, then)| {
                Some((now.0.checked_sub(then.0)?, now.1.checked_sub(then.1)?))
            }),
            throttled: growth(self.throttled, before.throttled),
            held_back: growth(self.held_back, before.held_back),
        }
    }

    pub(super) fn steal_percent(&self) -> Option<f64> {
        let (all, stolen) = self.ticks?;
        (all > 0 && stolen <= all).then(|| 100.0 * stolen as f64 / all as f64)
    }
}

fn growth(now: Option<u64>, before: Option<u64>) -> Option<u64> {
    now?.checked_sub(before?)
}

/// Parses the first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal;
/// guest time is included in user and nice.
fn ticks(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let fields: Vec<u64> =
        line.split_whitespace().take(8).map(|field| field.parse().ok()).collect::<Option<_>>()?;
    let stolen = *fields.get(7)?;
    Some((fields.iter().try_fold(0_u64, |sum, field| sum.checked_add(*field))?, stolen))
}

/// Returns the sum of the throttle counts. Each thread has the count of its core, so a core with
/// two threads counts twice; a package counts once. Only the growth of the sum is used.
fn throttle_count(host: &Host) -> Option<u64> {
    let dir = host.path("/sys/devices/system/cpu")?;
    let mut packages = std::collections::BTreeMap::new();
    let mut cores: Option<u64> = None;
    for thread in
        entries(&dir).into_iter().filter(|name| is_thread(name)).map(|name| dir.join(name))
    {
        let counts = thread.join("thermal_throttle");
        if let Some(count) = read_number::<u64>(&counts.join("core_throttle_count")) {
            cores = Some(cores.unwrap_or(0).saturating_add(count));
        }
        if let Some(count) = read_number::<u64>(&counts.join("package_throttle_count")) {
            let package =
                read_number::<i64>(&thread.join("topology/physical_package_id")).unwrap_or(0);
            let known = packages.entry(package).or_insert(0);
            *known = count.max(*known);
        }
    }
    let packages = packages.into_values().reduce(u64::saturating_add);
    [cores, packages].into_iter().flatten().reduce(u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fake::Tree;

    #[test]
    fn steal_is_a_share_of_all_ticks_and_old_kernels_lack_it() {
        let stat = "cpu  100 0 50 800 20 5 5 20 7 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
        assert_eq!(ticks(stat), Some((1000, 20)));
        for malformed in ["", "cpu  1 2 3", "cpu  1 2 3 4 5 6 7 x", "intr 5"] {
            assert_eq!(ticks(malformed), None, "{malformed}");
        }
    }

    #[test]
    fn growth_is_of_the_interval_and_a_step_back_is_unknown() {
        let before = Counters { ticks: Some((1000, 20)), throttled: Some(5), held_back: None };
        let after = Counters { ticks: Some((1200, 30)), throttled: Some(4), held_back: Some(2) };
        let passed = after.since(&before);
        assert_eq!(passed, Counters { ticks: Some((200, 10)), throttled: None, held_back: None });
        assert_eq!(passed.steal_percent(), Some(5.0));
        assert_eq!(
            before.since(&before).steal_percent(),
            None,
            "no percentage if no time has passed"
        );
    }

    #[test]
    fn a_package_counts_once_however_many_threads_tell_of_it() {
        let tree = Tree::new(&[("sys/devices/system/cpu/cpuidle/x", "")]);
        for (thread, core, package, id) in
            [(0, "1", "10", "0"), (1, "2", "11", "0"), (2, "4", "20", "1")]
        {
            let dir = format!("sys/devices/system/cpu/cpu{thread}");
            tree.write(&format!("{dir}/thermal_throttle/core_throttle_count"), core);
            tree.write(&format!("{dir}/thermal_throttle/package_throttle_count"), package);
            tree.write(&format!("{dir}/topology/physical_package_id"), id);
        }
        assert_eq!(throttle_count(&tree.host()), Some(1 + 2 + 4 + 11 + 20));
        assert_eq!(
            throttle_count(&Tree::new(&[]).host()),
            None,
            "without counters, the number of events is unknown"
        );
    }
}
