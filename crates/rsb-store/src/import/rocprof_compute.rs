//! `roofline.csv` of ROCm Compute Profiler (formerly Omniperf) and of its utility `roofline`: one
//! line per GPU, with GB/s and GFLOP/s and the limits of their confidence intervals. The peak
//! values of the GPU are derived from `sysinfo.csv` in the same directory.

use std::path::Path;

use rsb_model::architecture::{Architecture, Engine};
use rsb_model::{BenchmarkType, DeviceType, Dtype, Fields};

use super::error::Problem;
use super::sink::{ImportedCase, Sink};
use super::{Importer, Input};

/// Column names and values of a line.
type Row = Vec<(String, String)>;

/// Size limit of `sysinfo.csv`, in bytes.
const MOST: u64 = 1 << 20;

pub(super) const IMPORTER: Importer = Importer {
    name: "rocprof-compute",
    benchmark_type: BenchmarkType::GpuPerformance,
    device_type: Some(DeviceType::Gpu),
    is_document: |_| false,
    keys: &[],
    marks: &["device,", "hbmbw", "flops"],
    read,
};

/// Adds each value of each GPU.
fn read(input: &Input<'_>, sink: &mut Sink) -> Result<(), Problem> {
    let gpu = Gpu::beside(input.path);
    let rows = rows(input.text).map_err(Problem::shape)?;
    // The tool ends every line with a line break. Without one, the last value may lack digits.
    let cut = rows.last().and_then(|row| row.last()).filter(|_| !input.text.ends_with('\n'));
    for row in &rows {
        let device = text(row, "device").ok_or_else(|| Problem::shape("a line has no `device`"))?;
        for cell @ (column, value) in row {
            let Some(what) = Figure::of(column) else { continue };
            let name = format!("gpu={device}/{}", what.name());
            if cut.is_some_and(|cut| std::ptr::eq(cut, cell)) {
                sink.unreadable(&name, "the file ends within this value: it was cut off");
                continue;
            }
            // The utility writes zeros for columns that it did not measure.
            if value.parse() == Ok(0.0) {
                sink.put_skipped(
                    &name,
                    "the column is zero: the tool did not measure it on this GPU",
                );
                continue;
            }
            let found = what.case(value, gpu.as_ref()).map(|mut case| {
                for end in ["low", "high"] {
                    case.note(
                        end,
                        text(row, &format!("{column}{end}"))
                            .and_then(|end| end.parse::<f64>().ok()),
                    );
                }
                case
            });
            sink.put(&name, found);
        }
    }
    Ok(())
}

/// Parses the lines of `text`, with lowercase column names.
fn rows(text: &str) -> Result<Vec<Row>, String> {
    let mut lines = csv::Reader::from_reader(text.as_bytes());
    let columns: Vec<String> =
        lines.headers().map_err(|error| error.to_string())?.iter().map(lower).collect();
    let mut rows = Vec::new();
    for line in lines.records() {
        let line = line.map_err(|error| error.to_string())?;
        // A second file that was appended begins with its own column names.
        if line.iter().map(lower).eq(columns.iter().cloned()) {
            continue;
        }
        let cells = line.iter().map(|cell| cell.trim().to_owned());
        rows.push(columns.iter().cloned().zip(cells).collect());
    }
    Ok(rows)
}

fn lower(name: &str) -> String {
    name.trim().to_ascii_lowercase()
}

fn text<'a>(row: &'a Row, column: &str) -> Option<&'a str> {
    row.iter()
        .find(|(name, _)| name == column)
        .map(|(_, value)| value.as_str())
        .filter(|value| !value.is_empty())
}

/// Quantity in a column of the file.
#[derive(Debug, PartialEq, Eq)]
enum Figure {
    /// Bandwidth of a memory or cache, in GB/s.
    Bandwidth(String),
    /// Arithmetic rate of an engine for a data type, in GFLOP/s.
    Rate(Engine, String),
}

impl Figure {
    /// Parses a column name such as `hbmbw` or `mfmabf16flops`; returns `None` for the limits of
    /// intervals.
    fn of(column: &str) -> Option<Self> {
        if let Some(memory) = column.strip_suffix("bw") {
            return Some(Self::Bandwidth(memory.to_owned()));
        }
        let kind = column.strip_suffix("flops").or_else(|| column.strip_suffix("ops"))?;
        let (engine, kind) = match kind.strip_prefix("mfma") {
            Some(kind) => (Engine::Matrix, kind),
            None => (Engine::Vector, kind),
        };
        Some(Self::Rate(engine, kind.replacen("fp", "f", 1)))
    }

    fn name(&self) -> String {
        match self {
            Self::Bandwidth(memory) => memory.clone(),
            Self::Rate(engine, dtype) => format!("{}/{dtype}", engine.as_str()),
        }
    }

    fn case(&self, value: &str, gpu: Option<&Gpu>) -> Result<ImportedCase, String> {
        let value: f64 = value.parse().map_err(|_| format!("`{value}` is not a number"))?;
        let mut fields = Fields::new();
        match self {
            Self::Bandwidth(memory) => {
                fields.set("bandwidth_gb_s", value);
                let peak = gpu.and_then(|gpu| gpu.bandwidth).filter(|_| memory == "hbm");
                if let Some(peak) = peak {
                    fields.set("peak_bandwidth_gb_s", peak);
                }
            }
            Self::Rate(engine, dtype) => {
                fields.set("gflops", value);
                // The column name does not determine the kind of 8-bit type, so the data type is
                // not set.
                if let Ok(dtype) = dtype.parse::<Dtype>() {
                    fields.set("dtype", dtype.as_str());
                    let peak = gpu.and_then(|gpu| gpu.peak_tflops(dtype, *engine));
                    if let Some(peak) = peak {
                        fields.set("peak_gflops", peak * 1e3);
                    }
                }
            }
        }
        Ok(ImportedCase::of(fields))
    }
}

/// Properties of the GPUs from `sysinfo.csv`.
struct Gpu {
    architecture: &'static Architecture,
    compute_units: u32,
    clock_mhz: f64,
    bandwidth: Option<f64>,
}

impl Gpu {
    fn beside(path: &Path) -> Option<Self> {
        let bytes = crate::input::read(&path.with_file_name("sysinfo.csv"), MOST).ok()?;
        let row = rows(std::str::from_utf8(&bytes).ok()?).ok()?.into_iter().next()?;
        Some(Self {
            architecture: Architecture::find(text(&row, "gpu_arch")?).ok()?,
            compute_units: text(&row, "cu_per_gpu")?.parse().ok()?,
            clock_mhz: text(&row, "max_sclk")?.parse().ok()?,
            bandwidth: text(&row, "hbm_bw").and_then(|rate| rate.parse().ok()),
        })
    }

    fn peak_tflops(&self, dtype: Dtype, engine: Engine) -> Option<f64> {
        self.architecture.peak_tflops(dtype, engine, self.compute_units, self.clock_mhz)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rsb_model::{Outcome, Timestamp};

    use crate::import::mutations::{read, sample};
    use crate::import::{Format, detect, import_text};

    #[test]
    fn a_column_is_a_case_and_its_interval_stands_beside_it() {
        let run = read(Format::RocprofCompute, sample(Format::RocprofCompute)).unwrap();
        let ids: Vec<&str> = run.benchmarks.iter().map(|case| case.benchmark_id.as_str()).collect();
        let own = ["hbm", "vector/f32", "matrix/bf16", "matrix/f8", "matrix/i8"];
        let all = (0..2).flat_map(|gpu| {
            own.map(|name| format!("gpu_performance/rocprof-compute/gpu={gpu}/{name}"))
        });
        assert_eq!(ids, all.collect::<Vec<_>>());
        let [memory, vector, matrix, eight, ..] = &run.benchmarks[..] else { panic!("{run:?}") };
        assert_eq!(memory.fields().unwrap().number("bandwidth_gb_s"), Some(1390.5));
        assert_eq!(
            (memory.metadata["low"].as_f64(), memory.metadata["high"].as_f64()),
            (Some(1389.0), Some(1391.0))
        );
        assert_eq!(vector.fields().unwrap().number("gflops"), Some(20_900.0));
        assert_eq!(matrix.fields().unwrap().text("dtype"), Some("bf16"));
        assert_eq!(
            (eight.outcome, eight.fields()),
            (Outcome::Skipped, None),
            "a zero means not measured"
        );
        assert_eq!(
            matrix.fields().unwrap().number("peak_gflops"),
            None,
            "without the GPU there is no peak"
        );
    }

    #[test]
    fn what_the_gpu_could_reach_is_told_by_the_file_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("roofline.csv");
        let known = "gpu_model,gpu_arch,cu_per_gpu,max_sclk,hbm_bw\nMI200,gfx90a,104,1700,1638.4\n";
        fs::write(dir.path().join("sysinfo.csv"), known).unwrap();
        let text = sample(Format::RocprofCompute);
        assert_eq!(detect(&file, text), Some(Format::RocprofCompute));
        let run = import_text(&file, text, None, Timestamp::UNIX_EPOCH).unwrap();
        let peak =
            |at: usize, name| run.benchmarks[at].fields().unwrap().number(name).unwrap().round();
        // Peak of the matrix units for bf16: 104 × 1024 × 1.7 GHz.
        assert_eq!((peak(0, "peak_bandwidth_gb_s"), peak(2, "peak_gflops")), (1638.0, 181_043.0));
    }

    #[test]
    fn what_is_no_number_costs_its_own_case() {
        let text = sample(Format::RocprofCompute).replace("20900", "n/a");
        let run = read(Format::RocprofCompute, &text).unwrap();
        assert_eq!((run.counts().failed, run.counts().measured, run.counts().skipped), (1, 7, 2));
        let error = read(Format::RocprofCompute, "HBMBw,L2Bw\n1,2\n").unwrap_err().to_string();
        assert!(error.contains("device"), "{error}");
    }
}
