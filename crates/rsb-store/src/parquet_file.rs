//! Runs as Parquet, for programs that read the whole history: one row per process of each case,
//! with its raw samples, the machine and the verdict. The file can also be read back.
//!
//! The columns are usable without knowledge of this project. Two JSON columns contain the data that
//! other columns cannot represent: `result` has the rest of the record, and `run` has the run
//! without its cases. With them the original runs can be restored.

mod cached;
mod columns;
mod read;
mod trends;

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;

use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use rsb_model::{BenchmarkResult, CaseId, Fingerprint, Run, RunId, Verdict};

use crate::error::StoreError;
use crate::index::ResultRow;
use crate::store::Store;
pub use cached::cached_export;
use columns::{ExportedRow, INDEX_COLUMNS, RUN_COLUMNS, RowWriter};
pub use read::read_parquet;
pub use trends::write_trends;

/// Error from writing or reading a Parquet file.
#[derive(Debug, thiserror::Error)]
pub enum ParquetFileError {
    /// The system reported an error.
    #[error("`{}`: {source}; check the path, its permissions and the disk", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Error from the system.
        source: std::io::Error,
    },
    /// The file is not a Parquet file, is damaged, or was not exported by this program.
    #[error(
        "`{}` is not a readable export of rusty-stack-bench: {problem}; export it again",
        path.display()
    )]
    Unfit {
        /// The file.
        path: PathBuf,
        /// Problem of the file.
        problem: String,
    },
}

/// Verdicts of the cases of runs, from stored comparisons.
pub type Verdicts = HashMap<(RunId, CaseId), Verdict>;

/// Writes runs to `out` one after another, so that only a few of them are in memory at once.
pub struct ParquetSink<W: Write + Send> {
    rows: RowWriter<W>,
}

impl<W: Write + Send> ParquetSink<W> {
    /// Starts a file.
    ///
    /// # Errors
    /// If writing to `out` fails.
    pub fn new(out: W) -> Result<Self, ParquetError> {
        let columns = RUN_COLUMNS.iter().chain(&INDEX_COLUMNS);
        Ok(Self { rows: RowWriter::new(out, columns.map(|(declaration, _)| *declaration))? })
    }

    /// Stores `text` in the file's metadata under `key`.
    pub fn note(&mut self, key: &str, text: String) {
        self.rows.file.append_key_value_metadata(KeyValue::new(key.to_owned(), text));
    }

    /// Adds every case of `run`.
    ///
    /// # Errors
    /// If writing fails.
    pub fn add(&mut self, run: &Run, verdicts: &Verdicts) -> Result<(), ParquetError> {
        let shell = to_json(&Run { benchmarks: Vec::new(), ..run.clone() })?;
        let machine = Fingerprint::of(&run.environment).slug();
        for (position, result) in run.benchmarks.iter().enumerate() {
            let key = (run.run_id.clone(), result.benchmark_id.clone());
            let verdict = verdicts.get(&key).copied();
            let rest = to_json(&BenchmarkResult { samples: Vec::new(), ..result.clone() })?;
            let (machine, shell, rest) = (machine.as_str(), shell.as_str(), rest.as_str());
            let indexed = &ResultRow::of(result);
            for part in 0..result.samples.len().max(1) {
                let samples = result.samples.get(part);
                let row = &ExportedRow {
                    run,
                    result,
                    position,
                    machine,
                    shell,
                    rest,
                    verdict,
                    indexed,
                    part,
                    samples,
                };
                let columns = RUN_COLUMNS.iter().chain(&INDEX_COLUMNS);
                self.rows.push(columns.map(|(_, add)| move |column: &mut _| add(row, column)));
            }
        }
        self.rows.write_group()
    }

    /// Finishes the file and returns the output.
    ///
    /// # Errors
    /// If writing fails.
    pub fn finish(self) -> Result<W, ParquetError> {
        self.rows.finish()
    }
}

fn to_json(value: &impl serde::Serialize) -> Result<String, ParquetError> {
    serde_json::to_string(value).map_err(|error| ParquetError::External(Box::new(error)))
}

/// Writes every run of `store` with the last verdict of each case, oldest first. Only a few runs
/// are in memory at once.
///
/// # Errors
/// If a run cannot be read, or writing fails.
pub fn write_all<W: Write + Send>(
    store: &Store,
    sink: &mut ParquetSink<W>,
) -> Result<(), ExportError> {
    let mut verdicts = Verdicts::new();
    // From the oldest to the newest, so that the last verdict of a case overwrites earlier ones.
    for row in store.comparisons()?.into_iter().rev() {
        let Ok(comparison) = crate::read_comparison(&row.path) else { continue };
        let of_time = comparison.comparisons.into_iter().filter(|row| row.metric == "time_ms");
        let run = RunId(comparison.current_run_id);
        verdicts.extend(of_time.map(|row| ((run.clone(), row.id), row.verdict)));
    }
    for run in store.runs()?.into_iter().rev() {
        sink.add(&store.run(&run.run_id.0)?, &verdicts)?;
    }
    Ok(())
}

/// Error from exporting the runs of a store.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The runs cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Writing the file failed.
    #[error("{0}; check the disk")]
    Parquet(#[from] ParquetError),
    /// The system reported an error.
    #[error("`{}`: {source}; check the path, its permissions and the disk", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Error from the system.
        source: std::io::Error,
    },
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use rsb_model::Samples;

    use super::*;
    use crate::testing;

    fn encode_runs(runs: &[Run], verdicts: &Verdicts) -> Vec<u8> {
        let mut sink = ParquetSink::new(Vec::new()).unwrap();
        for run in runs {
            sink.add(run, verdicts).unwrap();
        }
        sink.finish().unwrap()
    }

    fn read(bytes: &[u8]) -> Result<Vec<Run>, ParquetFileError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("runs.parquet");
        fs::write(&path, bytes).unwrap();
        read_parquet(&path)
    }

    fn runs() -> Vec<Run> {
        let mut runs: Vec<Run> = (0..3).map(|at| testing::run(&format!("run-{at}"), at)).collect();
        for (run, processes) in runs.iter_mut().zip([1_u32, 3, 2]) {
            let mut case = testing::measured_case("gemm", 5.0);
            case.samples = (0..processes)
                .map(|replicate| Samples {
                    replicate,
                    iters: vec![1, 2, u64::from(replicate)],
                    times_ns: vec![1.5, 3.25, 1e9],
                })
                .collect();
            run.benchmarks = vec![case, testing::skipped_case("triad")];
        }
        runs
    }

    #[test]
    fn what_is_written_comes_back_as_it_was() {
        let runs = runs();
        assert_eq!(read(&encode_runs(&runs, &Verdicts::new())).unwrap(), runs);
        assert_eq!(read(&encode_runs(&[], &Verdicts::new())).unwrap(), []);
    }

    #[test]
    fn a_case_that_a_run_has_twice_stays_two() {
        let mut runs = runs();
        let again = runs[1].benchmarks[0].clone();
        runs[1].benchmarks.insert(1, again);
        assert_eq!(read(&encode_runs(&runs, &Verdicts::new())).unwrap(), runs);
    }

    #[test]
    fn a_cut_or_changed_file_is_refused_and_named() {
        let whole = encode_runs(&runs(), &Verdicts::new());
        for cut in [0, 3, 100, whole.len() / 2, whole.len() - 1] {
            let error = read(&whole[..cut]).unwrap_err().to_string();
            assert!(error.contains("runs.parquet` is not a readable export"), "{error}");
        }
        for at in (0..whole.len()).step_by(31) {
            let mut changed = whole.clone();
            changed[at] ^= 0x55;
            // A damaged file may give an error or some of the original runs, but never a panic.
            if let Ok(read) = read(&changed) {
                assert!(read.len() <= 3);
            }
        }
        assert!(matches!(
            read_parquet(Path::new("/nowhere.parquet")),
            Err(ParquetFileError::Io { .. })
        ));
    }
}
