//! Kernel metrics from the vendor's profiler. It runs the worker of this program on the case, once
//! for each group of hardware counters, and its output table is read. A missing profiler is
//! reported as a reason.

mod ncu;
mod rocprofv3;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rsb_model::protocol::{Request, WORKER_ARGUMENT};
use rsb_model::{BackendId, Case, Reason};

/// Launches to profile; the profiler runs each separately.
const LAUNCHES: u64 = 5;

/// Name prefix of auxiliary kernels of this program, which the metrics exclude.
const BESIDE: &str = "rsb_flush";

/// A profiler of a vendor.
pub(crate) struct CounterTool {
    /// Name of the executable and value of the axis.
    pub(crate) name: &'static str,
    /// Backend whose GPUs it supports.
    pub(crate) backend: BackendId,
    /// Description of the metrics for users.
    pub(crate) about: &'static str,
    /// Counters of each run.
    counters: &'static [&'static [&'static str]],
    /// Directories to search in addition to `PATH`; `absent` contains the reason and the fix if the
    /// profiler is not found.
    dirs: fn() -> Vec<PathBuf>,
    absent: [&'static str; 2],
    /// How to fix a profiler that collects nothing.
    refused: &'static str,
    command: fn(&Path, &[&str], &Path) -> Command,
    read: fn(&Path) -> Vec<Row>,
    add: fn(&mut KernelProfile, &str, &[Row]),
}

/// All supported profilers.
static TOOLS: [CounterTool; 2] = [
    CounterTool {
        name: "rocprofv3",
        backend: BackendId::Rocm,
        about: "from rocprofv3: VALUUtilization, FETCH_SIZE, WRITE_SIZE, and GRBM_GUI_ACTIVE over \
                GRBM_COUNT; null values were not counted (`rocprofv3 -L` lists the counters), or \
                caches served more data than memory",
        counters: rocprofv3::COUNTERS,
        dirs: rocprofv3::dirs,
        absent: [
            "it is neither on PATH nor in the ROCm directory",
            "install rocprofiler-sdk of ROCm 6.2 or newer, set ROCM_PATH, or choose profiler=none",
        ],
        refused: "run `rocprofv3 -L` to list the counters of this GPU, and check that its driver \
                  allows this user to read them",
        command: rocprofv3::command,
        read: rocprofv3::read,
        add: rocprofv3::add,
    },
    CounterTool {
        name: "ncu",
        backend: BackendId::Cuda,
        about: "from ncu: sm__cycles_active, smsp__thread_inst_executed_per_inst_executed over 32, \
                and dram__bytes; null values were not counted (`ncu --query-metrics` lists the \
                counters), or caches served more data than memory",
        counters: ncu::COUNTERS,
        dirs: ncu::dirs,
        absent: [
            "it is neither on PATH nor in the CUDA directory",
            "install Nsight Compute (it comes with the CUDA toolkit), set CUDA_HOME, or choose \
             profiler=none",
        ],
        refused: "run `ncu --query-metrics` to list the counters of this GPU; if the driver allows \
                  only administrators to read them (ERR_NVGPUCTRPERM), run as root or load the \
                  driver with NVreg_RestrictProfilingToAdminUsers=0",
        command: ncu::command,
        read: ncu::read,
        add: ncu::add,
    },
];

/// Values of the axis, starting with none.
pub(crate) const NAMES: &[&str] = &["none", "rocprofv3", "ncu"];

/// Returns the profiler named `name`.
pub(crate) fn find_tool(name: &str) -> Option<&'static CounterTool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// Returns the profiler for the GPUs of `backend`.
pub(crate) fn for_backend(backend: BackendId) -> Option<&'static CounterTool> {
    TOOLS.iter().find(|tool| tool.backend == backend)
}

/// Means over the launches of a kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct KernelProfile {
    /// Number of blocks.
    pub(crate) grid_size: Option<u64>,
    /// Threads per block.
    pub(crate) block_size: Option<u64>,
    /// Average resident waves relative to the maximum while the kernel ran.
    pub(crate) occupancy_percent: Option<f64>,
    /// Active threads of a wave.
    pub(crate) wave_efficiency_percent: Option<f64>,
    /// Share of time in which the memory unit was busy.
    pub(crate) memory_busy_percent: Option<f64>,
    /// KiB read from memory, beyond the L2 cache.
    pub(crate) fetched_kib: Option<f64>,
    /// KiB written to memory.
    pub(crate) written_kib: Option<f64>,
    /// Cycles in which the GPU had work.
    pub(crate) active_cycles: Option<f64>,
    /// Elapsed cycles.
    pub(crate) cycles: Option<f64>,
}

impl CounterTool {
    /// Returns the path of the executable, found on `PATH` or in the vendor's directory.
    pub(crate) fn find(&self) -> Result<PathBuf, Reason> {
        let on_path =
            std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect::<Vec<_>>());
        let dirs = on_path.unwrap_or_default().into_iter().chain((self.dirs)());
        let [why, cure] = self.absent;
        dirs.map(|dir| dir.join(self.name))
            .find(|tool| tool.is_file())
            .ok_or_else(|| Reason::new(self.name, why, cure))
    }

    /// Profiles `case` with the profiler at `path`, using `program` as the worker.
    pub(crate) fn profile(
        &self,
        path: &Path,
        program: &Path,
        case: &Case,
    ) -> Result<KernelProfile, Reason> {
        let mut found = KernelProfile::default();
        let mut refused = None;
        for counters in self.counters {
            match self.collect_rows(path, program, case, counters) {
                Ok(rows) => {
                    for counter in *counters {
                        found.take(counter, &of_the_case(&rows, counter), self.add);
                    }
                }
                Err(reason) => refused = Some(reason),
            }
        }
        match refused {
            Some(reason) if found == KernelProfile::default() => Err(reason),
            _ => Ok(found),
        }
    }

    fn collect_rows(
        &self,
        path: &Path,
        program: &Path,
        case: &Case,
        counters: &[&str],
    ) -> Result<Vec<Row>, Reason> {
        let dir = tempfile::tempdir().map_err(|error| {
            self.failure(counters, format!("cannot create a directory for its output: {error}"))
        })?;
        let mut child = (self.command)(path, counters, dir.path())
            .arg(program)
            .arg(WORKER_ARGUMENT)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| self.failure(counters, format!("it cannot be started: {error}")))?;
        if let Some(mut input) = child.stdin.take() {
            // A worker that exits early reports the reason on standard error, so a failed write is
            // ignored.
            let _ = input.write_all(requests(case).as_bytes());
        }
        let mut output = String::new();
        if let Some(mut errors) = child.stderr.take() {
            let _ = errors.read_to_string(&mut output);
        }
        let ended = child
            .wait()
            .map_err(|error| self.failure(counters, format!("cannot wait for it: {error}")))?;
        let rows = (self.read)(dir.path());
        let last = output
            .lines()
            .rfind(|line| !line.trim().is_empty())
            .unwrap_or("it printed nothing")
            .to_owned();
        let has_any = counters.iter().any(|counter| !of_the_case(&rows, counter).is_empty());
        if has_any {
            Ok(rows)
        } else {
            Err(self.failure(counters, format!("it returned no counters ({ended}): {last}")))
        }
    }

    fn failure(&self, counters: &[&str], why: String) -> Reason {
        let what = format!("{} of {}", counters.join(" and "), self.name);
        Reason::new(what, why, self.refused)
    }
}

/// Returns the requests to the worker, one per line.
fn requests(case: &Case) -> String {
    let requests = [Request::Prepare { case: case.clone() }, Request::Sample { iters: LAUNCHES }];
    let lines = requests.iter().filter_map(|request| serde_json::to_string(request).ok());
    lines.map(|line| line + "\n").collect()
}

/// A counter value of one launch.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    kernel: String,
    counter: String,
    value: f64,
    threads: u64,
    block: u64,
}

/// Returns the rows of `counter` for the kernel of the case, which is the kernel of this program
/// launched most often.
fn of_the_case(rows: &[Row], counter: &str) -> Vec<Row> {
    let own: Vec<&Row> = rows
        .iter()
        .filter(|row| row.counter == counter)
        .filter(|row| row.kernel.starts_with("rsb_") && !row.kernel.starts_with(BESIDE))
        .collect();
    let Some(most) = own.iter().max_by_key(|row| launches_of(&own, &row.kernel)) else {
        return Vec::new();
    };
    own.iter().filter(|row| row.kernel == most.kernel).map(|&row| row.clone()).collect()
}

fn launches_of(rows: &[&Row], kernel: &str) -> usize {
    rows.iter().filter(|row| row.kernel == kernel).count()
}

/// Returns the index of the column `name` of a table.
fn column_index(names: &csv::StringRecord, name: &str) -> Option<usize> {
    names.iter().position(|known| known == name)
}

/// Returns the mean over the launches in `rows`.
fn mean(rows: &[Row]) -> Option<f64> {
    (!rows.is_empty()).then(|| rows.iter().map(|row| row.value).sum::<f64>() / rows.len() as f64)
}

/// Returns the mean of percentages, or `None` if it is out of range.
fn share(rows: &[Row]) -> Option<f64> {
    mean(rows).filter(|share| (0.0..=100.0).contains(share))
}

impl KernelProfile {
    /// Returns `bytes`, the bytes that a launch requests, as a percentage of the bytes it moved, or
    /// `None` above 100 %, when caches served repeated reads.
    pub(crate) fn memory_efficiency_percent(&self, bytes: f64) -> Option<f64> {
        let moved = 1024.0 * (self.fetched_kib? + self.written_kib?);
        Some(100.0 * bytes / moved).filter(|share| (0.0..=100.0).contains(share))
    }

    /// Returns cycles with work as a percentage of cycles elapsed while the kernel ran.
    pub(crate) fn active_percent(&self) -> Option<f64> {
        let share = 100.0 * self.active_cycles? / self.cycles.filter(|cycles| *cycles > 0.0)?;
        Some(share).filter(|share| (0.0..=100.0).contains(share))
    }

    /// Stores the launch sizes, and the values of `counter` from `rows` by calling `add`, the
    /// function of the profiler.
    fn take(&mut self, counter: &str, rows: &[Row], add: fn(&mut Self, &str, &[Row])) {
        let Some(first) = rows.first() else { return };
        self.block_size = Some(first.block).filter(|&block| block > 0).or(self.block_size);
        self.grid_size = first.threads.checked_div(first.block).or(self.grid_size);
        add(self, counter, rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_above_the_whole_is_no_share() {
        let mut profile = KernelProfile::default();
        profile.take("MemUnitBusy", &[row(130.0)], rocprofv3::add);
        assert_eq!((profile.memory_busy_percent, profile.grid_size), (None, None));
        assert_eq!(
            profile.memory_efficiency_percent(4096.0),
            None,
            "the value is unknown without counters"
        );
        profile.take("FETCH_SIZE", &[row(3.0)], rocprofv3::add);
        profile.take("WRITE_SIZE", &[row(2.0)], rocprofv3::add);
        assert_eq!(profile.memory_efficiency_percent(4096.0), Some(80.0));
        assert_eq!(
            profile.memory_efficiency_percent(8192.0),
            None,
            "a share above 100 % is unknown: the caches held part of the data"
        );
        assert_eq!(profile.active_percent(), None, "the value is unknown without counters");
        profile.take("GRBM_GUI_ACTIVE", &[row(930.0), row(950.0)], rocprofv3::add);
        profile.take("GRBM_COUNT", &[row(1000.0)], rocprofv3::add);
        assert_eq!(profile.active_percent(), Some(94.0));
    }

    fn row(value: f64) -> Row {
        Row { kernel: "rsb_x".into(), counter: "MemUnitBusy".into(), value, threads: 512, block: 0 }
    }

    #[test]
    fn every_tool_has_a_name_of_the_axis_and_gpus_of_its_own() {
        for (tool, name) in TOOLS.iter().zip(&NAMES[1..]) {
            assert_eq!(tool.name, *name);
            assert_eq!(for_backend(tool.backend).map(|found| found.name), Some(tool.name));
            assert!(find_tool(name).is_some_and(|found| found.backend == tool.backend));
        }
        assert!(find_tool("none").is_none() && for_backend(BackendId::Opencl).is_none());
    }
}
