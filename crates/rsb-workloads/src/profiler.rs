//! What AMD's profiler says of a kernel: rocprofv3 runs this program's own worker on the case, once for each hardware
//! counter, and its table is read. The profiler is a tool of its own: where it is not there, that is a reason.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rsb_model::protocol::{Request, WORKER_ARGUMENT};
use rsb_model::{Case, Reason};

/// The tool.
pub(crate) const NAME: &str = "rocprofv3";

/// Launches that are looked at; the profiler runs each alone.
const LAUNCHES: u64 = 5;

/// What of our kernels begins so, but is not what a case is about.
const BESIDE: &str = "rsb_flush";

/// The counters, each in a run of its own, but for two whose quotient is asked for: some GPUs count no more than one or two at
/// a time, and what one GPU lacks does not take the others away. Their definitions: ROCm documentation, MI200 and MI300
/// performance counters.
const COUNTERS: [&[&str]; 6] = [
    &["OccupancyPercent"],
    &["VALUUtilization"],
    &["MemUnitBusy"],
    &["FETCH_SIZE"],
    &["WRITE_SIZE"],
    &["GRBM_GUI_ACTIVE", "GRBM_COUNT"],
];

/// Means over the launches of a kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct KernelProfile {
    /// Blocks.
    pub(crate) grid_size: Option<u64>,
    /// Threads in a block.
    pub(crate) block_size: Option<u64>,
    /// Resident waves over the most that could be, on average while it ran.
    pub(crate) occupancy_percent: Option<f64>,
    /// Threads of a wave that worked.
    pub(crate) wave_efficiency_percent: Option<f64>,
    /// Share of the time in which the memory unit worked.
    pub(crate) memory_busy_percent: Option<f64>,
    /// KiB that came from memory, beyond the second-level cache.
    pub(crate) fetched_kib: Option<f64>,
    /// KiB that went there.
    pub(crate) written_kib: Option<f64>,
    /// Cycles in which the GPU had work.
    pub(crate) active_cycles: Option<f64>,
    /// Cycles that passed.
    pub(crate) cycles: Option<f64>,
}

/// Where the tool is: on the path, or in ROCm's directory.
pub(crate) fn find() -> Result<PathBuf, Reason> {
    let on_path = std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect::<Vec<_>>());
    let rocm = std::env::var_os("ROCM_PATH").map_or_else(|| PathBuf::from("/opt/rocm"), PathBuf::from);
    let dirs = on_path.unwrap_or_default().into_iter().chain([rocm.join("bin")]);
    dirs.map(|dir| dir.join(NAME)).find(|tool| tool.is_file()).ok_or_else(|| {
        Reason::new(
            NAME,
            "it is neither on PATH nor in ROCm's directory",
            "install rocprofiler-sdk of ROCm 6.2 or newer, set ROCM_PATH, or leave `profiler` at none",
        )
    })
}

/// Runs `case` under the tool, by the worker that `program` is.
pub(crate) fn profile(tool: &Path, program: &Path, case: &Case) -> Result<KernelProfile, Reason> {
    let mut found = KernelProfile::default();
    let mut refused = None;
    for counters in COUNTERS {
        match counted(tool, program, case, counters) {
            Ok(rows) => {
                for counter in counters {
                    found.add(counter, &of_the_case(&rows, counter));
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

fn counted(tool: &Path, program: &Path, case: &Case, counters: &[&str]) -> Result<Vec<Row>, Reason> {
    let failed = |why: String| {
        let cure =
            format!("run `{NAME} -L` to see what this GPU counts, and check that its driver lets this user count");
        Reason::new(format!("{NAME} --pmc {}", counters.join(" ")), why, cure)
    };
    let dir = tempfile::tempdir().map_err(|error| failed(format!("there is no room for its table: {error}")))?;
    let mut child = Command::new(tool)
        .arg("--pmc")
        .args(counters)
        .args(["--output-format", "csv", "-o", "profile", "-d"])
        .arg(dir.path())
        .arg("--")
        .arg(program)
        .arg(WORKER_ARGUMENT)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(format!("it cannot be started: {error}")))?;
    if let Some(mut input) = child.stdin.take() {
        // A worker that ends early says why; that nobody reads on is no news then.
        let _ = input.write_all(requests(case).as_bytes());
    }
    let mut said = String::new();
    if let Some(mut errors) = child.stderr.take() {
        let _ = errors.read_to_string(&mut said);
    }
    let ended = child.wait().map_err(|error| failed(format!("it is lost: {error}")))?;
    let tables = tables(dir.path());
    let rows: Vec<Row> =
        tables.iter().filter_map(|path| std::fs::read_to_string(path).ok()).flat_map(|text| rows(&text)).collect();
    let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing").to_owned();
    let has_any = counters.iter().any(|counter| !of_the_case(&rows, counter).is_empty());
    if has_any { Ok(rows) } else { Err(failed(format!("it counted nothing ({ended}): {last}"))) }
}

/// What the worker is asked, a line each.
fn requests(case: &Case) -> String {
    let asked = [Request::Prepare { case: case.clone() }, Request::Sample { iters: LAUNCHES }];
    let lines = asked.iter().filter_map(|request| serde_json::to_string(request).ok());
    lines.map(|line| line + "\n").collect()
}

/// Its tables, which some versions put into directories by pass or process.
fn tables(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.path()) {
        if path.is_dir() {
            found.extend(tables(&path));
        } else if path.to_string_lossy().ends_with("counter_collection.csv") {
            found.push(path);
        }
    }
    found
}

/// A counter of one launch.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    kernel: String,
    counter: String,
    value: f64,
    threads: u64,
    block: u64,
}

/// The rows of a table; columns are found by their names, and a row that lacks one is left out.
fn rows(text: &str) -> Vec<Row> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let Ok(names) = reader.headers().cloned() else { return Vec::new() };
    let at = |name: &str| names.iter().position(|known| known == name);
    let columns = [at("Kernel_Name"), at("Counter_Name"), at("Counter_Value"), at("Grid_Size"), at("Workgroup_Size")];
    let [Some(kernel), Some(counter), Some(value), Some(threads), Some(block)] = columns else { return Vec::new() };
    let read = |record: csv::StringRecord| {
        Some(Row {
            kernel: record.get(kernel)?.to_owned(),
            counter: record.get(counter)?.to_owned(),
            value: record.get(value)?.parse().ok().filter(|value: &f64| value.is_finite())?,
            threads: record.get(threads)?.parse().ok()?,
            block: record.get(block)?.parse().ok()?,
        })
    };
    reader.records().filter_map(Result::ok).filter_map(read).collect()
}

/// Those of `counter` whose kernel is the case's: the one of ours that was launched most often.
fn of_the_case(rows: &[Row], counter: &str) -> Vec<Row> {
    let own = |row: &&Row| row.counter == counter && row.kernel.starts_with("rsb_") && !row.kernel.starts_with(BESIDE);
    let own: Vec<&Row> = rows.iter().filter(own).collect();
    let launches = |name: &str| own.iter().filter(|row| row.kernel == name).count();
    let Some(most) = own.iter().max_by_key(|row| launches(&row.kernel)) else { return Vec::new() };
    own.iter().filter(|row| row.kernel == most.kernel).map(|&row| row.clone()).collect()
}

impl KernelProfile {
    /// `bytes`, which a launch asks for, over what it moved. Where the caches gave more than they cost, that is no share.
    pub(crate) fn memory_efficiency_percent(&self, bytes: f64) -> Option<f64> {
        let moved = 1024.0 * (self.fetched_kib? + self.written_kib?);
        Some(100.0 * bytes / moved).filter(|share| (0.0..=100.0).contains(share))
    }

    /// Cycles with work over all that passed while the kernel ran.
    pub(crate) fn active_percent(&self) -> Option<f64> {
        let share = 100.0 * self.active_cycles? / self.cycles.filter(|cycles| *cycles > 0.0)?;
        Some(share).filter(|share| (0.0..=100.0).contains(share))
    }

    fn add(&mut self, counter: &str, rows: &[Row]) {
        let Some(first) = rows.first() else { return };
        self.block_size = Some(first.block);
        self.grid_size = first.threads.checked_div(first.block);
        let mean = rows.iter().map(|row| row.value).sum::<f64>() / rows.len() as f64;
        let share = Some(mean).filter(|share| (0.0..=100.0).contains(share));
        match counter {
            "OccupancyPercent" => self.occupancy_percent = share,
            "VALUUtilization" => self.wave_efficiency_percent = share,
            "FETCH_SIZE" => self.fetched_kib = Some(mean),
            "WRITE_SIZE" => self.written_kib = Some(mean),
            "GRBM_GUI_ACTIVE" => self.active_cycles = Some(mean),
            "GRBM_COUNT" => self.cycles = Some(mean),
            _ => self.memory_busy_percent = share,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In the form that AMD's guide to rocprofv3 shows.
    const TABLE: &str = r#""Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size","Kernel_Id","Kernel_Name","Workgroup_Size","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Counter_Name","Counter_Value","Start_Timestamp","End_Timestamp"
1,1,"Agent 1",1,7,7,65536,3,"__amd_rocclr_fillBufferAligned",256,0,0,8,0,16,"OccupancyPercent",3.5,1,2
2,2,"Agent 1",1,7,7,26624,9,"rsb_triad_f32",256,0,0,12,4,32,"OccupancyPercent",60.0,3,4
3,3,"Agent 1",1,7,7,26624,9,"rsb_triad_f32",256,0,0,12,4,32,"OccupancyPercent",8.00e+01,5,6
4,4,"Agent 1",1,7,7,1048576,4,"rsb_flush",256,0,0,12,4,32,"OccupancyPercent",99.0,7,8
5,5,"Agent 1",1,7,7,26624,9,"rsb_triad_f32",256,0,0,12,4,32,"OccupancyPercent",nan,9,10
"#;

    #[test]
    fn the_kernel_of_the_case_is_found_in_the_table() {
        let own = of_the_case(&rows(TABLE), "OccupancyPercent");
        assert_eq!(own.len(), 2, "{own:?}");
        let mut profile = KernelProfile::default();
        profile.add("OccupancyPercent", &own);
        assert_eq!((profile.grid_size, profile.block_size), (Some(104), Some(256)));
        assert_eq!(profile.occupancy_percent, Some(70.0));
        assert_eq!(profile.wave_efficiency_percent, None);
        assert!(of_the_case(&rows(TABLE), "MemUnitBusy").is_empty());
    }

    #[test]
    fn what_is_no_such_table_has_no_rows() {
        for text in ["", "a,b\n1,2\n", "\"Kernel_Name\",\"Counter_Name\"\n\"rsb_triad_f32\",\"x\"\n"] {
            assert_eq!(rows(text), [], "{text}");
        }
        for cut in (0..TABLE.len()).step_by(7) {
            let _ = rows(&TABLE[..cut]);
        }
    }

    #[test]
    fn a_share_above_the_whole_is_no_share() {
        let row = |value| Row { kernel: "rsb_x".into(), counter: "MemUnitBusy".into(), value, threads: 512, block: 0 };
        let mut profile = KernelProfile::default();
        profile.add("MemUnitBusy", &[row(130.0)]);
        assert_eq!((profile.memory_busy_percent, profile.grid_size), (None, None));
        assert_eq!(profile.memory_efficiency_percent(4096.0), None, "nothing was counted");
        profile.add("FETCH_SIZE", &[row(3.0)]);
        profile.add("WRITE_SIZE", &[row(2.0)]);
        assert_eq!(profile.memory_efficiency_percent(4096.0), Some(80.0));
        assert_eq!(profile.memory_efficiency_percent(8192.0), None, "the caches held a part");
        assert_eq!(profile.active_percent(), None, "nothing was counted");
        profile.add("GRBM_GUI_ACTIVE", &[row(930.0), row(950.0)]);
        profile.add("GRBM_COUNT", &[row(1000.0)]);
        assert_eq!(profile.active_percent(), Some(94.0));
    }
}
