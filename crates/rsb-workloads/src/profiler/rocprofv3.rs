//! AMD's rocprofv3: tables of counters by kernel, in files below a directory.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{KernelProfile, Row, column_index, mean, share};

/// Counters, each in a separate run except two that form a ratio. Some GPUs support only one or two
/// at a time, and a missing counter affects only its own run. Definitions: ROCm documentation,
/// MI200 and MI300 performance counters.
pub(super) const COUNTERS: &[&[&str]] = &[
    &["OccupancyPercent"],
    &["VALUUtilization"],
    &["MemUnitBusy"],
    &["FETCH_SIZE"],
    &["WRITE_SIZE"],
    &["GRBM_GUI_ACTIVE", "GRBM_COUNT"],
];

/// Returns directories to search in addition to the path.
pub(super) fn dirs() -> Vec<PathBuf> {
    let rocm =
        std::env::var_os("ROCM_PATH").map_or_else(|| PathBuf::from("/opt/rocm"), PathBuf::from);
    vec![rocm.join("bin")]
}

/// Returns a command that collects `counters` of the program appended to it and writes below `dir`.
pub(super) fn command(tool: &Path, counters: &[&str], dir: &Path) -> Command {
    let mut command = Command::new(tool);
    command
        .arg("--pmc")
        .args(counters)
        .args(["--output-format", "csv", "-o", "profile", "-d"])
        .arg(dir)
        .arg("--");
    command
}

/// Reads the output below `dir`.
pub(super) fn read(dir: &Path) -> Vec<Row> {
    tables(dir)
        .iter()
        .filter_map(|path| std::fs::read_to_string(path).ok())
        .flat_map(|text| rows(&text))
        .collect()
}

/// Returns the table files, which some versions store in subdirectories by pass or process.
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

/// Parses a table by column names, skipping rows that lack a column.
fn rows(text: &str) -> Vec<Row> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let Ok(names) = reader.headers().cloned() else { return Vec::new() };
    let columns = [
        column_index(&names, "Kernel_Name"),
        column_index(&names, "Counter_Name"),
        column_index(&names, "Counter_Value"),
        column_index(&names, "Grid_Size"),
        column_index(&names, "Workgroup_Size"),
    ];
    let [Some(kernel), Some(counter), Some(value), Some(threads), Some(block)] = columns else {
        return Vec::new();
    };
    reader
        .records()
        .filter_map(Result::ok)
        .filter_map(|record| {
            Some(Row {
                kernel: record.get(kernel)?.to_owned(),
                counter: record.get(counter)?.to_owned(),
                value: record.get(value)?.parse().ok().filter(|value: &f64| value.is_finite())?,
                threads: record.get(threads)?.parse().ok()?,
                block: record.get(block)?.parse().ok()?,
            })
        })
        .collect()
}

/// Stores the values of `counter` from the launches of a kernel.
pub(super) fn add(found: &mut KernelProfile, counter: &str, rows: &[Row]) {
    match counter {
        "OccupancyPercent" => found.occupancy_percent = share(rows),
        "VALUUtilization" => found.wave_efficiency_percent = share(rows),
        "FETCH_SIZE" => found.fetched_kib = mean(rows),
        "WRITE_SIZE" => found.written_kib = mean(rows),
        "GRBM_GUI_ACTIVE" => found.active_cycles = mean(rows),
        "GRBM_COUNT" => found.cycles = mean(rows),
        _ => found.memory_busy_percent = share(rows),
    }
}

#[cfg(test)]
mod tests {
    use super::super::of_the_case;
    use super::*;

    /// Format shown in AMD's guide to rocprofv3.
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
        profile.take("OccupancyPercent", &own, add);
        assert_eq!((profile.grid_size, profile.block_size), (Some(104), Some(256)));
        assert_eq!(profile.occupancy_percent, Some(70.0));
        assert_eq!(profile.wave_efficiency_percent, None);
        assert!(of_the_case(&rows(TABLE), "MemUnitBusy").is_empty());
    }

    #[test]
    fn what_is_no_such_table_has_no_rows() {
        for text in
            ["", "a,b\n1,2\n", "\"Kernel_Name\",\"Counter_Name\"\n\"rsb_triad_f32\",\"x\"\n"]
        {
            assert_eq!(rows(text), [], "{text}");
        }
        for cut in (0..TABLE.len()).step_by(7) {
            let _ = rows(&TABLE[..cut]);
        }
    }
}
