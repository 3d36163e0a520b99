//! NVIDIA's Nsight Compute command line: a table with one row per metric and launch, after progress
//! messages.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{KernelProfile, Row, column_index, mean, share};

/// Metrics, grouped by run. If a GPU lacks a metric, all metrics of its run are missing. Those for
/// bytes of memory have other names since Blackwell. Definitions: Nsight Compute's profiling guide,
/// and its table of nvprof metric names.
pub(super) const COUNTERS: &[&[&str]] = &[
    &["sm__warps_active.avg.pct_of_peak_sustained_active"],
    &["smsp__thread_inst_executed_per_inst_executed.ratio"],
    &["dram__throughput.avg.pct_of_peak_sustained_elapsed"],
    &["dram__bytes_read.sum", "dram__bytes_write.sum"],
    &["dram__bytes_op_read.sum", "dram__bytes_op_write.sum"],
    &["sm__cycles_active.avg.pct_of_peak_sustained_elapsed"],
];

/// Threads per warp.
const WARP: f64 = 32.0;

const FILE: &str = "profile.csv";

/// Returns directories to search in addition to the path.
pub(super) fn dirs() -> Vec<PathBuf> {
    let named =
        ["CUDA_HOME", "CUDA_PATH"].into_iter().find_map(std::env::var_os).map(PathBuf::from);
    vec![named.unwrap_or_else(|| PathBuf::from("/usr/local/cuda")).join("bin")]
}

/// Returns a command that collects `metrics` of the program appended to it and writes to `dir`.
pub(super) fn command(tool: &Path, metrics: &[&str], dir: &Path) -> Command {
    let mut command = Command::new(tool);
    command
        .args(["--csv", "--page", "details", "--print-units", "base", "--metrics"])
        .arg(metrics.join(","));
    command.arg("--log-file").arg(dir.join(FILE));
    command
}

/// Reads the output in `dir`.
pub(super) fn read(dir: &Path) -> Vec<Row> {
    std::fs::read_to_string(dir.join(FILE)).map(|text| rows(&text)).unwrap_or_default()
}

/// Parses the table, which follows progress messages. A metric that the GPU lacks is `n/a`.
fn rows(text: &str) -> Vec<Row> {
    let Some(begin) = text.find("\"ID\",") else { return Vec::new() };
    let table = text.get(begin..).unwrap_or_default();
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(table.as_bytes());
    let Ok(names) = reader.headers().cloned() else { return Vec::new() };
    let columns = [
        column_index(&names, "Kernel Name"),
        column_index(&names, "Metric Name"),
        column_index(&names, "Metric Value"),
    ];
    let [Some(kernel), Some(metric), Some(value)] = columns else { return Vec::new() };
    let [grid, block] = [column_index(&names, "Grid Size"), column_index(&names, "Block Size")];
    reader
        .records()
        .filter_map(Result::ok)
        .filter_map(|record| {
            let block = size_in(&record, block);
            Some(Row {
                kernel: record.get(kernel)?.to_owned(),
                counter: record.get(metric)?.to_owned(),
                value: number(record.get(value)?)?,
                threads: size_in(&record, grid).saturating_mul(block),
                block,
            })
        })
        .collect()
}

/// Returns the number of threads in a size column, or 0 for versions before 2022, which lack the
/// column.
fn size_in(record: &csv::StringRecord, column: Option<usize>) -> u64 {
    column.and_then(|column| product(record.get(column)?)).unwrap_or(0)
}

/// Parses a number with separators, such as `53,261,312` in some locales.
fn number(text: &str) -> Option<f64> {
    text.replace(',', "").parse().ok().filter(|value: &f64| value.is_finite())
}

/// Returns the product of sizes such as `(64, 2, 1)`.
fn product(text: &str) -> Option<u64> {
    let inside = text.trim().strip_prefix('(')?.strip_suffix(')')?;
    inside
        .split(',')
        .map(|side| side.trim().parse::<u64>().ok())
        .try_fold(1_u64, |all, side| all.checked_mul(side?))
}

/// Stores the values of `metric` from the launches of a kernel.
pub(super) fn add(found: &mut KernelProfile, metric: &str, rows: &[Row]) {
    match metric {
        "sm__warps_active.avg.pct_of_peak_sustained_active" => {
            found.occupancy_percent = share(rows);
        }
        "smsp__thread_inst_executed_per_inst_executed.ratio" => {
            let share = mean(rows).map(|threads| 100.0 * threads / WARP);
            found.wave_efficiency_percent = share.filter(|share| (0.0..=100.0).contains(share));
        }
        "dram__bytes_read.sum" | "dram__bytes_op_read.sum" => {
            found.fetched_kib = found.fetched_kib.or_else(|| mean_kib(rows));
        }
        "dram__bytes_write.sum" | "dram__bytes_op_write.sum" => {
            found.written_kib = found.written_kib.or_else(|| mean_kib(rows));
        }
        "sm__cycles_active.avg.pct_of_peak_sustained_elapsed" => {
            (found.active_cycles, found.cycles) = (share(rows), Some(100.0));
        }
        _ => found.memory_busy_percent = share(rows),
    }
}

/// Returns the mean of rows in bytes as KiB.
fn mean_kib(rows: &[Row]) -> Option<f64> {
    mean(rows).map(|bytes| bytes / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::super::of_the_case;
    use super::*;

    /// Format of Nsight Compute 2022 and later, with its progress messages.
    const TABLE: &str = r#"==PROF== Connected to process 4711 (/opt/rusty-stack-bench)
==PROF== Profiling "rsb_triad_f32" - 0: 0%....50%....100% - 1 pass
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"
"0","4711","rusty-stack-bench","127.0.0.1","rsb_triad_f32","1","13","(256, 1, 1)","(104, 1, 1)","0","9.0","Command line profiler metrics","dram__bytes_read.sum","byte","4,194,304"
"0","4711","rusty-stack-bench","127.0.0.1","rsb_triad_f32","1","13","(256, 1, 1)","(104, 1, 1)","0","9.0","Command line profiler metrics","dram__bytes_write.sum","byte","2,097,152"
"1","4711","rusty-stack-bench","127.0.0.1","rsb_flush","1","13","(256, 1, 1)","(104, 1, 1)","0","9.0","Command line profiler metrics","dram__bytes_read.sum","byte","7"
"2","4711","rusty-stack-bench","127.0.0.1","rsb_triad_f32","1","13","(256, 1, 1)","(104, 1, 1)","0","9.0","Command line profiler metrics","dram__throughput.avg.pct_of_peak_sustained_elapsed","%","n/a"
"#;

    #[test]
    fn the_kernel_of_the_case_is_found_under_what_the_tool_says() {
        let rows = rows(TABLE);
        assert_eq!(rows.len(), 3, "rows with n/a must be left out: {rows:?}");
        let mut profile = KernelProfile::default();
        for metric in ["dram__bytes_read.sum", "dram__bytes_write.sum", "dram__bytes_op_read.sum"] {
            profile.take(metric, &of_the_case(&rows, metric), add);
        }
        assert_eq!((profile.grid_size, profile.block_size), (Some(104), Some(256)));
        assert_eq!((profile.fetched_kib, profile.written_kib), (Some(4096.0), Some(2048.0)));
        assert_eq!(profile.memory_busy_percent, None);
    }

    #[test]
    fn an_older_table_tells_no_sizes() {
        let older = "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n\
                     \"0\",\"rsb_triad_f32\",\"smsp__thread_inst_executed_per_inst_executed.ratio\",\"\",\"24\"\n";
        let rows = rows(older);
        let mut profile = KernelProfile::default();
        let metric = "smsp__thread_inst_executed_per_inst_executed.ratio";
        profile.take(metric, &of_the_case(&rows, metric), add);
        assert_eq!((profile.grid_size, profile.block_size), (None, None));
        assert_eq!(profile.wave_efficiency_percent, Some(75.0));
    }

    #[test]
    fn what_is_cut_off_has_fewer_rows_and_breaks_nothing() {
        for cut in (0..TABLE.len()).step_by(7) {
            assert!(rows(&TABLE[..cut]).len() <= 3);
        }
        assert_eq!(product("(64, 2, 1)"), Some(128));
        assert_eq!([product("64"), product("(64, x)")], [None, None]);
    }
}
