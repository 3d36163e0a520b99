//! Power of CPUs and their memory, from the kernel's RAPL energy counters (Intel, and AMD since
//! Zen). The counters include all processes of the machine.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rsb_model::Reason;

use crate::ProbeOptions;
use crate::host::{Host, read_line, read_number};

const POWERCAP: &str = "/sys/class/powercap";

/// Maximum plausible power of a package. If, at this power, a counter may have wrapped more than
/// once since the last reading, its value is ambiguous.
const MOST_WATTS: f64 = 1000.0;

/// Minimum duration of a measurement. Counters are updated every millisecond, an error of 5 % over
/// this duration.
const SHORTEST: Duration = Duration::from_millis(20);

/// Interval between readings. A counter wraps after a minute or more.
const LOOK: Duration = Duration::from_secs(10);

/// An energy counter of a package or of its memory.
#[derive(Debug)]
struct Counter {
    file: PathBuf,
    /// Value at which the counter wraps, in µJ.
    range_uj: u64,
    last_uj: u64,
}

impl Counter {
    /// Reads the counter in `dir`.
    fn read(dir: &Path) -> Option<Self> {
        let (file, range) = (dir.join("energy_uj"), dir.join("max_energy_range_uj"));
        Some(Self { last_uj: read_number(&file)?, range_uj: read_number(&range)?, file })
    }
}

/// Returns whether the counter in `dir` is that of a package or of memory. All other counters
/// overlap with these: those of the whole platform and of parts of a package.
fn is_wanted(dir: &Path) -> bool {
    read_line(&dir.join("name")).is_some_and(|name| name.starts_with("package-") || name == "dram")
}

/// A power measurement of the CPUs of a machine.
#[derive(Debug)]
pub struct CpuPowerWatch {
    counters: Vec<Counter>,
    begun: Instant,
    looked: Instant,
    /// Energy since the start; `None` if a counter was unreadable or ambiguous.
    energy_uj: Option<u64>,
}

impl CpuPowerWatch {
    /// Starts to measure the CPUs of this machine, or of the given tree.
    ///
    /// # Errors
    /// The reason why no counter can be read.
    pub fn begin(options: &ProbeOptions) -> Result<Self, Reason> {
        let host = Host::of(options);
        let dirs =
            host.entries(POWERCAP).into_iter().filter(|name| name.starts_with("intel-rapl:"));
        let dirs: Vec<PathBuf> =
            dirs.filter_map(|name| host.path(&format!("{POWERCAP}/{name}"))).collect();
        let wanted: Vec<PathBuf> = dirs.into_iter().filter(|dir| is_wanted(dir)).collect();
        if wanted.is_empty() {
            let why =
                format!("there is no RAPL counter in {POWERCAP}; most virtual machines have none");
            return Err(Reason::new(
                WHAT,
                why,
                "measure on the physical machine, with the module intel_rapl_msr loaded",
            ));
        }
        let counters: Option<Vec<Counter>> = wanted.iter().map(|dir| Counter::read(dir)).collect();
        let counters = counters.ok_or_else(|| {
            let why =
                format!("cannot read {POWERCAP}/intel-rapl:*/energy_uj; by default, only root can");
            Reason::new(
                WHAT,
                why,
                format!("let your user read it: sudo chmod a+r {POWERCAP}/intel-rapl:*/energy_uj"),
            )
        })?;
        let now = Instant::now();
        Ok(Self { counters, begun: now, looked: now, energy_uj: Some(0) })
    }

    /// Reads the counters if the last reading is at least 10 s ago, so that no counter wraps
    /// unnoticed. Otherwise does nothing.
    pub fn glance(&mut self) {
        if self.looked.elapsed() >= LOOK {
            self.look(self.looked.elapsed());
        }
    }

    /// Returns the mean power in W since the start. `None` if a counter was unreadable, ambiguous
    /// or unchanged, or the time was too short.
    pub fn end(mut self) -> Option<f64> {
        self.look(self.looked.elapsed());
        let lasted = self.begun.elapsed();
        let energy_uj = self.energy_uj.filter(|energy| *energy > 0 && lasted >= SHORTEST)?;
        Some(energy_uj as f64 / 1e6 / lasted.as_secs_f64())
    }

    fn look(&mut self, since: Duration) {
        for counter in &mut self.counters {
            let now = read_number::<u64>(&counter.file);
            let is_followed = MOST_WATTS * since.as_secs_f64() * 1e6 < counter.range_uj as f64;
            let Some(now) = now.filter(|_| is_followed) else {
                self.energy_uj = None;
                return;
            };
            let spent = now.checked_sub(counter.last_uj);
            let spent = spent.unwrap_or_else(|| {
                counter.range_uj.saturating_sub(counter.last_uj).saturating_add(now)
            });
            self.energy_uj = self.energy_uj.map(|energy| energy.saturating_add(spent));
            counter.last_uj = now;
        }
        self.looked += since;
    }
}

const WHAT: &str = "power of the CPU";

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir_all, write};

    fn counter(root: &Path, at: &str, name: &str, energy_uj: u64) {
        let dir = root.join("class/powercap").join(at);
        create_dir_all(&dir).unwrap();
        for (file, text) in [
            ("name", name.to_owned()),
            ("energy_uj", energy_uj.to_string()),
            ("max_energy_range_uj", "1000000000".into()),
        ] {
            write(dir.join(file), text + "\n").unwrap();
        }
    }

    fn options(root: &Path) -> ProbeOptions {
        ProbeOptions { sysfs_root: Some(root.to_owned()) }
    }

    fn begin(root: &Path) -> CpuPowerWatch {
        CpuPowerWatch::begin(&options(root)).unwrap()
    }

    /// Writes counters of two packages, memory, a part of a package, and the platform, after some
    /// joules.
    fn after(root: &Path, joules: u64) {
        counter(root, "intel-rapl:0", "package-0", 999_000_000 + joules * 1_000_000);
        counter(root, "intel-rapl:0:0", "core", 700_000_000);
        counter(root, "intel-rapl:0:1", "dram", 5_000_000 + joules * 500_000);
        counter(root, "intel-rapl:1", "package-1", 1);
        counter(root, "intel-rapl:2", "psys", 300_000_000 * (joules + 1));
        counter(root, "intel-rapl-mmio:0", "package-0", 300_000_000 * (joules + 1));
    }

    #[test]
    fn power_is_energy_of_packages_and_memory_over_time_also_where_a_counter_goes_round() {
        let root = tempfile::tempdir().unwrap();
        after(root.path(), 0);
        let mut watch = begin(root.path());
        assert_eq!(watch.counters.len(), 3, "{watch:?}");
        after(root.path(), 8);
        counter(root.path(), "intel-rapl:0", "package-0", 7_000_000); // 1 J to its end, and 7 J from there.
        watch.look(Duration::ZERO);
        assert_eq!(watch.energy_uj, Some(8_000_000 + 4_000_000));
        watch.begun = Instant::now().checked_sub(Duration::from_secs(2)).unwrap();
        let watts = watch.end().unwrap();
        assert!((watts - 6.0).abs() < 0.1, "{watts}");
    }

    #[test]
    fn what_cannot_be_followed_is_unknown() {
        let root = tempfile::tempdir().unwrap();
        after(root.path(), 0);
        let ago = Instant::now().checked_sub(Duration::from_secs(2)).unwrap();
        let still = CpuPowerWatch { begun: ago, ..begin(root.path()) };
        assert_eq!(still.end(), None, "no power if no counter moved");
        let mut late = begin(root.path());
        after(root.path(), 1);
        late.look(Duration::from_secs(1));
        assert_eq!(late.energy_uj, None, "the counter may have wrapped at a kilowatt");
        let gone = CpuPowerWatch { begun: ago, ..begin(root.path()) };
        std::fs::remove_file(root.path().join("class/powercap/intel-rapl:0/energy_uj")).unwrap();
        assert_eq!(gone.end(), None);
    }

    #[test]
    fn a_machine_that_tells_nothing_says_what_to_do() {
        let root = tempfile::tempdir().unwrap();
        let why = CpuPowerWatch::begin(&options(root.path())).unwrap_err();
        assert!(why.why.contains("virtual machines"), "{why}");
        after(root.path(), 0);
        write(root.path().join("class/powercap/intel-rapl:0:1/energy_uj"), "").unwrap();
        let why = CpuPowerWatch::begin(&options(root.path())).unwrap_err();
        assert!(why.cure.contains("chmod a+r"), "{why}");
    }
}
