//! Importing outputs of other benchmarking tools as runs, so that the gate can judge them.
//!
//! The machine is unknown, because these tools do not record it as this project does. Missing data
//! stays missing, an impossible value only fails its own case, and units are converted when a file
//! is read.

mod blas;
mod dates;
mod error;
mod google_benchmark;
mod hipblaslt_bench;
mod hyperfine;
mod json;
mod log_text;
mod nccl_log;
mod nccl_splice;
mod nccl_tests;
mod nearest;
mod not_imported;
mod nvbandwidth;
mod nvbandwidth_matrix;
mod nvbench;
mod pytest_benchmark;
mod rccl_table;
mod rocblas_bench;
mod rocprof_compute;
mod sink;
mod vllm;

#[cfg(test)]
mod mutations;

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use rsb_model::{BenchmarkType, DeviceType, Run, Timestamp};
use serde_json::Value;

use error::Problem;
pub use error::{ImportError, UnknownFormat};
use sink::Sink;

use crate::input;

/// Functions and names for one tool: how to recognize its output and read it. The module of each
/// tool defines one; the table below lists them.
struct Importer {
    /// Name used on the command line and in case ids.
    name: &'static str,
    /// Benchmark type of its cases.
    benchmark_type: BenchmarkType,
    /// Type of the devices that the tool measures, if all are of one type.
    device_type: Option<DeviceType>,
    /// Returns whether a JSON document looks like an output of the tool.
    is_document: fn(&Value) -> bool,
    /// JSON pointers that all exist in its documents, to explain why another document is not one.
    keys: &'static [&'static str],
    /// Words, in lower case, all of which occur in the tool's text output; empty if the output is
    /// always JSON.
    marks: &'static [&'static str],
    /// Adds the cases of an output to the run.
    read: fn(&Input<'_>, &mut Sink) -> Result<(), Problem>,
}

/// The table of importers, in the order in which they are tried.
macro_rules! formats {
    ($($(#[$doc:meta])* $format:ident = $module:ident;)*) => {
        /// A tool whose output can be read.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Format {
            $($(#[$doc])* $format,)*
        }

        impl Format {
            /// All formats, in the order in which they are tried.
            pub const ALL: [Self; [$(stringify!($format)),*].len()] = [$(Self::$format),*];

            const fn importer(self) -> &'static Importer {
                match self { $(Self::$format => &$module::IMPORTER),* }
            }
        }
    };
}

formats! {
    /// JSON of `nvbench --json` or `--jsonbin`, schema 1.
    Nvbench = nvbench;
    /// JSON of Google Benchmark, `--benchmark_format=json`.
    GoogleBenchmark = google_benchmark;
    /// JSON of `hyperfine --export-json`.
    Hyperfine = hyperfine;
    /// JSON of `pytest --benchmark-json`.
    PytestBenchmark = pytest_benchmark;
    /// Text printed by `rocblas-bench`.
    RocblasBench = rocblas_bench;
    /// Text printed by `hipblaslt-bench`.
    HipblasltBench = hipblaslt_bench;
    /// Text printed by nccl-tests and rccl-tests.
    NcclTests = nccl_tests;
    /// Text or JSON printed by `nvbandwidth`.
    Nvbandwidth = nvbandwidth;
    /// `roofline.csv` of ROCm Compute Profiler.
    RocprofCompute = rocprof_compute;
    /// JSON of `vllm bench serve --save-result`.
    Vllm = vllm;
}

impl Format {
    /// Returns the name used on the command line and in case ids.
    pub const fn as_str(self) -> &'static str {
        self.importer().name
    }

    /// Returns the benchmark type of its cases.
    pub const fn benchmark_type(self) -> BenchmarkType {
        self.importer().benchmark_type
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|format| format.as_str() == text);
        found.ok_or_else(|| UnknownFormat { text: text.to_owned() })
    }
}

/// Output of a tool and its path, because some tools store samples in files next to it.
struct Input<'a> {
    path: &'a Path,
    text: &'a str,
}

/// Detects the tool that wrote `text` by its content. If that fails, such as for a truncated
/// document, the tool is detected by the file name.
pub fn detect(path: &Path, text: &str) -> Option<Format> {
    let document = json::first(text);
    by_content(document.as_ref(), text).or_else(|| by_name(path))
}

fn by_content(document: Option<&Value>, text: &str) -> Option<Format> {
    if let Some(document) = document
        && let Some(format) =
            Format::ALL.into_iter().find(|format| (format.importer().is_document)(document))
    {
        return Some(format);
    }
    // The start of a log may look like a JSON document: `[1,0]<stdout>:`.
    let text = text.to_ascii_lowercase();
    Format::ALL.into_iter().find(|format| {
        let marks = format.importer().marks;
        !marks.is_empty() && marks.iter().all(|mark| text.contains(mark))
    })
}

fn by_name(path: &Path) -> Option<Format> {
    let name = path.file_name()?.to_string_lossy().to_ascii_lowercase().replace('_', "-");
    Format::ALL.into_iter().find(|format| name.contains(format.as_str()))
}

/// Detects the tool as [`detect`] does, with an error if that fails.
fn detect_or_error(path: &Path, text: &str) -> Result<Format, ImportError> {
    let document = json::first(text).or_else(|| json::cut_document(text));
    if let Some(format) = by_content(document.as_ref(), text) {
        return Ok(format);
    }
    if let Some((problem, cure)) = not_imported::refusal_reason(document.as_ref(), text) {
        return Err(ImportError::Refused { path: path.to_owned(), problem, cure });
    }
    by_name(path).ok_or_else(|| ImportError::Undetected {
        path: path.to_owned(),
        syntax: json::cut_off(text),
        nearest: nearest::guess(document.as_ref(), text),
    })
}

/// Imports the run in `path`, written by the tool `format`, or by the one that [`detect`] finds.
///
/// # Errors
/// If the file cannot be read, is empty, is from an unknown tool, or is not output of that tool. A
/// single bad case is not an error; it becomes a failed case.
pub fn import(path: &Path, format: Option<Format>) -> Result<Run, ImportError> {
    let bytes = input::read(path, input::MOST_OF_OTHERS).map_err(|problem| problem.at(path))?;
    let bytes = input::decode_text(bytes);
    import_text(path, &String::from_utf8_lossy(&bytes), format, input::written(path))
}

/// Imports `text`, the contents of the file `path`, which was last modified at `written`.
fn import_text(
    path: &Path,
    text: &str,
    format: Option<Format>,
    written: Timestamp,
) -> Result<Run, ImportError> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Err(ImportError::Empty { path: path.to_owned() });
    }
    let text = &*log_text::clean(text, &|document| {
        Format::ALL.into_iter().any(|format| (format.importer().is_document)(document))
            || not_imported::refusal_reason(Some(document), "").is_some()
    });
    let format = format.map_or_else(|| detect_or_error(path, text), Ok)?;
    let mut sink = Sink::new(format, path, written);
    (format.importer().read)(&Input { path, text }, &mut sink)
        .map_err(|problem| problem.at(path, format))?;
    let run = sink.finish();
    if run.benchmarks.is_empty() {
        return Err(Problem::shape("it contains no results").at(path, format));
    }
    Ok(run)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn names_survive_a_round_trip_and_unknown_ones_list_the_known() {
        for format in Format::ALL {
            assert_eq!(format.as_str().parse::<Format>().unwrap(), format);
        }
        let error = "jmh".parse::<Format>().unwrap_err().to_string();
        assert!(
            error.contains("`jmh`")
                && Format::ALL.iter().all(|format| error.contains(format.as_str())),
            "{error}"
        );
    }

    #[test]
    fn every_format_is_found_by_its_content() {
        for (format, text) in mutations::SAMPLES {
            assert_eq!(detect(Path::new("out.txt"), text), Some(*format));
        }
    }

    #[test]
    fn a_sample_is_read_as_well_from_utf_16_and_from_a_log() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.txt");
        let read = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            import(&path, None).unwrap().benchmarks
        };
        for (format, text) in mutations::SAMPLES {
            let plain = read(text.as_bytes());
            let units: Vec<u16> = format!("\u{feff}{text}").encode_utf16().collect();
            let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
            let big: Vec<u8> = units.iter().skip(1).flat_map(|unit| unit.to_be_bytes()).collect();
            let mut log = String::new();
            for line in text.lines() {
                log.extend(["2026-08-06T16:30:28.12Z ", line, "\r\n"]);
            }
            let between = format!("warming up\n{text}\ndone\n");
            let between = if text.starts_with('{') { between } else { log.clone() };
            for bytes in [little, big, log.into_bytes(), between.into_bytes()] {
                let other = read(&bytes);
                // Names are not compared: those of unreadable cases contain line numbers, which
                // differ.
                assert_eq!(other.len(), plain.len(), "{format}");
                for (one, other) in plain.iter().zip(&other) {
                    assert_eq!(one.fields(), other.fields(), "{format}");
                }
            }
        }
    }

    #[test]
    fn a_value_that_is_not_a_number_costs_that_value_alone() {
        let google = mutations::sample(Format::GoogleBenchmark).replace(
            "\"bytes_per_second\": 2.2e+10",
            "\"bytes_per_second\": NaN, \"ratio\": -Infinity",
        );
        let run = mutations::read(Format::GoogleBenchmark, &google).unwrap();
        assert_eq!(run.counts().measured, 2);
        assert_eq!(run.benchmarks[0].fields().unwrap().number("bandwidth_gb_s"), None);
        let vllm = mutations::sample(Format::Vllm)
            .replace("\"median_tpot\": 0.045", "\"median_tpot\": NaN");
        let run = mutations::read(Format::Vllm, &vllm).unwrap();
        assert_eq!((run.counts().measured, run.counts().failed), (6, 0), "{run:?}");
    }

    #[test]
    fn what_cannot_be_an_output_is_refused_with_the_file_and_a_cure() {
        let dir = tempfile::tempdir().unwrap();
        for (name, text, parts) in [
            ("empty.json", "", &["empty", "again"][..]),
            ("blank.txt", " \n\t ", &["empty", "again"]),
            ("any.txt", "hello", &["nvbench", "vllm", "--format"]),
            ("cut.json", "{\n\"results\": [", &["line 2", "cut off", "hyperfine"]),
            ("hyperfine.json", "{\n\"results\": [", &["hyperfine", "line 2", "cut off"]),
            (
                "rows.json",
                "{\"context\": {},\n\"benchmarks\": [{\"name\": \"a\"},\n{\"name\": \"",
                &["output of google-benchmark", "line 3", "cut off"],
            ),
            ("near.json", "{\"benchmarks\": [{\"time_unit\": \"ns\"}]}", &["lacks `context`"]),
            ("vllm.json", "{\n\"duration\": 1e}", &["vllm", "line 2", "correct the file"]),
            ("nvbench.json", "{\"meta\": {}}", &["nvbench", "benchmarks"]),
            ("nccl-tests.log", "nothing to see", &["nccl-tests", "no result"]),
        ] {
            let path = dir.path().join(name);
            fs::write(&path, text).unwrap();
            let error = import(&path, None).unwrap_err().to_string();
            for part in parts.iter().chain(&[name]) {
                assert!(error.contains(part), "`{error}` lacks `{part}`");
            }
        }
        let missing = import(Path::new("/nowhere/x.json"), None).unwrap_err().to_string();
        assert!(
            missing.contains("/nowhere/x.json") && missing.contains("check the path"),
            "{missing}"
        );
    }

    #[test]
    fn keys_twice_numbers_that_vanish_and_times_that_never_were_are_refused_by_name() {
        let sample = mutations::sample;
        let google = sample(Format::GoogleBenchmark);
        for (format, text, parts) in [
            (
                Format::Hyperfine,
                sample(Format::Hyperfine).replacen("\"min\"", "\"median\"", 1),
                ["`median` appears twice", "line 3"],
            ),
            (
                Format::Hyperfine,
                sample(Format::Hyperfine).replace("0.0015", "1.5e-500"),
                ["1.5e-500", "too small"],
            ),
            (
                Format::Vllm,
                sample(Format::Vllm).replacen("\"burstiness\": 1.0", "\"duration\": 8", 1),
                ["`duration`", "twice"],
            ),
            (
                Format::Vllm,
                sample(Format::Vllm).replace("20260102-", "20260230-"),
                ["`date`", "20260230-030405"],
            ),
            (
                Format::PytestBenchmark,
                sample(Format::PytestBenchmark).replace("2026-01-02T", "10000-01-02T"),
                ["`datetime`", "10000-"],
            ),
            (
                Format::GoogleBenchmark,
                google.replace("03:04:05+01", "03:04:60+01"),
                ["`date`", "03:04:60"],
            ),
            (
                Format::GoogleBenchmark,
                google.replace("\"2026-01-02T03:04:05+01:00\"", "20260102"),
                ["`date`", "is 20260102"],
            ),
        ] {
            let error = mutations::read(format, &text).unwrap_err().to_string();
            assert!(parts.iter().all(|part| error.contains(part)), "{format}: {error}");
        }
    }

    #[test]
    fn what_is_no_file_of_results_is_refused_in_no_time() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        mknodat(CWD, dir.join("fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        fs::File::create(dir.join("sparse.json")).unwrap().set_len(3_000_000_000).unwrap();
        fs::create_dir(dir.join("results")).unwrap();
        let begun = std::time::Instant::now();
        for (path, what, cure) in [
            (dir.join("fifo"), "a pipe", "save its contents"),
            (dir.join("sparse.json"), "2862 MiB, and the limit is 64 MiB", "fewer cases"),
            (dir.join("results"), "a directory", "name a file"),
            ("/dev/zero".into(), "a device", "save its contents"),
        ] {
            let error = import(&path, None).unwrap_err().to_string();
            let parts = [&*path.to_string_lossy(), "cannot read", what, cure];
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        }
        assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
    }

    #[test]
    fn a_hundred_thousand_cases_are_read() {
        let row = "8 2 float sum -1 9.00 1.00 1.50 0 8.00 2.00 3.00 0\n";
        let table = mutations::sample(Format::NcclTests)
            .replace("host:7:7 [0] NCCL INFO comm ready\n", &row.repeat(50_000));
        let run = import_text(Path::new("f"), &table, None, Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(run.counts().measured, 100_003, "rows of equal size must have different ids");
    }

    #[test]
    fn a_format_that_is_not_the_files_is_an_error() {
        for (own, text) in mutations::SAMPLES {
            for other in Format::ALL.into_iter().filter(|other| other != own) {
                let read = import_text(Path::new("f"), text, Some(other), Timestamp::UNIX_EPOCH);
                let measured = read.as_ref().map_or(0, |run| run.counts().measured);
                assert_eq!(measured, 0, "a {own} file read as {other} must give no results");
            }
        }
    }
}
