//! Runs as Parquet, for programs that scan everything: a row for each process of each case, with its raw samples, the machine
//! and the verdict; and back again.
//!
//! Whoever reads only the columns needs no word of this project. Two columns hold what columns cannot: `result` the rest of
//! the record and `run` the run without its cases, both as JSON, so that a file comes back as the runs it was made of.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::record::{ListAccessor as _, Row, RowAccessor};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::TypePtr;
use rsb_model::{BenchmarkResult, CaseId, Fingerprint, Run, RunId, Samples, Verdict};

/// The columns; more may be added at the end, none goes.
const SCHEMA: &str = "
    message results {
        required binary run_id (UTF8);
        required int64 started (TIMESTAMP(MICROS, true));
        required binary suite (UTF8);
        required binary profile (UTF8);
        optional binary commit (UTF8);
        required binary machine (UTF8);
        required binary id (UTF8);
        required binary outcome (UTF8);
        optional binary verdict (UTF8);
        optional double time_ms;
        optional int32 replicate;
        required group iters (LIST) { repeated group list { required int64 element; } }
        required group times_ns (LIST) { repeated group list { required double element; } }
        required binary result (JSON);
        required binary run (JSON);
    }";

/// Rows that are held in memory before they are written.
const GROUP: usize = 20_000;

/// A file with more than this many rows is not read: it would not fit into memory.
const MOST_ROWS: i64 = 20_000_000;

/// Why a file of Parquet cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ParquetFileError {
    /// The system does not give or take it.
    #[error("`{}`: {source}; check the path, its permissions and the disk", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is no file of Parquet, damaged, or not one of ours.
    #[error("`{}` is no export of rusty-stack-bench that can be read: {problem}; export it again", path.display())]
    Unfit {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

/// The verdict of a case of a run, where a comparison was kept.
pub type Verdicts = HashMap<(RunId, CaseId), Verdict>;

/// Writes runs to `out` one after another, so that only some of them are in memory at once.
pub struct ParquetSink<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    rows: Rows,
}

impl<W: Write + Send> ParquetSink<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// When `out` does not take it.
    pub fn new(out: W) -> Result<Self, ParquetError> {
        let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
        let writer = SerializedFileWriter::new(out, schema()?, Arc::new(properties))?;
        Ok(Self { writer, rows: Rows::default() })
    }

    /// Adds every case of `run`.
    ///
    /// # Errors
    /// When the file does not take it.
    pub fn add(&mut self, run: &Run, verdicts: &Verdicts) -> Result<(), ParquetError> {
        let shell = to_json(&Run { benchmarks: Vec::new(), ..run.clone() })?;
        let machine = Fingerprint::of(&run.environment).slug();
        for result in &run.benchmarks {
            let key = (run.run_id.clone(), result.benchmark_id.clone());
            let verdict = verdicts.get(&key).copied();
            let rest = to_json(&BenchmarkResult { samples: Vec::new(), ..result.clone() })?;
            let case = CaseRow { run, result, machine: &machine, shell: &shell, rest: &rest, verdict };
            if result.samples.is_empty() {
                self.rows.push(&case, None);
            }
            for samples in &result.samples {
                self.rows.push(&case, Some(samples));
            }
        }
        if self.rows.count >= GROUP { self.flush() } else { Ok(()) }
    }

    /// Ends the file.
    ///
    /// # Errors
    /// When the file does not take it.
    pub fn finish(mut self) -> Result<W, ParquetError> {
        self.flush()?;
        self.writer.into_inner()
    }

    fn flush(&mut self) -> Result<(), ParquetError> {
        let rows = std::mem::take(&mut self.rows);
        if rows.count == 0 {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        rows.write(&mut group)?;
        group.close().map(drop)
    }
}

fn schema() -> Result<TypePtr, ParquetError> {
    Ok(Arc::new(parse_message_type(SCHEMA)?))
}

fn to_json(value: &impl serde::Serialize) -> Result<String, ParquetError> {
    serde_json::to_string(value).map_err(|error| ParquetError::External(Box::new(error)))
}

/// What all rows of a case share.
struct CaseRow<'a> {
    run: &'a Run,
    result: &'a BenchmarkResult,
    machine: &'a str,
    shell: &'a str,
    rest: &'a str,
    verdict: Option<Verdict>,
}

/// A column in which a value may be missing.
struct Optional<T> {
    values: Vec<T>,
    levels: Vec<i16>,
}

impl<T> Default for Optional<T> {
    fn default() -> Self {
        Self { values: Vec::new(), levels: Vec::new() }
    }
}

impl<T> Optional<T> {
    fn push(&mut self, value: Option<T>) {
        self.levels.push(i16::from(value.is_some()));
        self.values.extend(value);
    }
}

/// A column of lists: which element begins one, and which stands for an empty one.
struct Lists<T> {
    values: Vec<T>,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
}

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Self { values: Vec::new(), definitions: Vec::new(), repetitions: Vec::new() }
    }
}

impl<T> Lists<T> {
    fn push(&mut self, list: impl Iterator<Item = T>) {
        let before = self.values.len();
        self.values.extend(list);
        let count = self.values.len() - before;
        self.definitions.extend(std::iter::repeat_n(i16::from(count > 0), count.max(1)));
        self.repetitions.push(0);
        self.repetitions.extend(std::iter::repeat_n(1, count.saturating_sub(1)));
    }
}

/// The columns of rows that are not written yet, in the order of [`SCHEMA`].
#[derive(Default)]
struct Rows {
    count: usize,
    run_id: Vec<ByteArray>,
    started: Vec<i64>,
    suite: Vec<ByteArray>,
    profile: Vec<ByteArray>,
    commit: Optional<ByteArray>,
    machine: Vec<ByteArray>,
    id: Vec<ByteArray>,
    outcome: Vec<ByteArray>,
    verdict: Optional<ByteArray>,
    time_ms: Optional<f64>,
    replicate: Optional<i32>,
    iters: Lists<i64>,
    times_ns: Lists<f64>,
    result: Vec<ByteArray>,
    run: Vec<ByteArray>,
}

impl Rows {
    fn push(&mut self, case: &CaseRow<'_>, samples: Option<&Samples>) {
        let CaseRow { run, result, machine, shell, rest, verdict } = *case;
        let git = run.environment.git.as_ref();
        self.count += 1;
        self.run_id.push(run.run_id.0.as_str().into());
        self.started.push(run.started.as_microsecond());
        self.suite.push(run.suite.as_str().into());
        self.profile.push(run.profile.as_str().into());
        self.commit.push(git.map(|git| git.commit.as_str().into()));
        self.machine.push(machine.into());
        self.id.push(result.benchmark_id.as_str().into());
        self.outcome.push(result.outcome.as_str().into());
        self.verdict.push(verdict.map(|verdict| verdict.as_str().into()));
        self.time_ms.push(result.fields().and_then(|fields| fields.number("time_ms")));
        self.replicate.push(samples.map(|samples| samples.replicate.cast_signed()));
        self.iters.push(samples.into_iter().flat_map(|samples| &samples.iters).map(|&count| count.cast_signed()));
        self.times_ns.push(samples.into_iter().flat_map(|samples| &samples.times_ns).copied());
        self.result.push(rest.into());
        self.run.push(shell.into());
    }

    fn write<W: Write + Send>(self, group: &mut SerializedRowGroupWriter<'_, W>) -> Result<(), ParquetError> {
        let mut group = Columns(group);
        group.write::<ByteArrayType>(&self.run_id, None, None)?;
        group.write::<Int64Type>(&self.started, None, None)?;
        group.write::<ByteArrayType>(&self.suite, None, None)?;
        group.write::<ByteArrayType>(&self.profile, None, None)?;
        group.write::<ByteArrayType>(&self.commit.values, Some(&self.commit.levels), None)?;
        group.write::<ByteArrayType>(&self.machine, None, None)?;
        group.write::<ByteArrayType>(&self.id, None, None)?;
        group.write::<ByteArrayType>(&self.outcome, None, None)?;
        group.write::<ByteArrayType>(&self.verdict.values, Some(&self.verdict.levels), None)?;
        group.write::<DoubleType>(&self.time_ms.values, Some(&self.time_ms.levels), None)?;
        group.write::<Int32Type>(&self.replicate.values, Some(&self.replicate.levels), None)?;
        let (iters, times) = (&self.iters, &self.times_ns);
        group.write::<Int64Type>(&iters.values, Some(&iters.definitions), Some(&iters.repetitions))?;
        group.write::<DoubleType>(&times.values, Some(&times.definitions), Some(&times.repetitions))?;
        group.write::<ByteArrayType>(&self.result, None, None)?;
        group.write::<ByteArrayType>(&self.run, None, None)
    }
}

/// The columns of a group of rows, one after another.
struct Columns<'g, 'f, W: Write>(&'g mut SerializedRowGroupWriter<'f, W>);

impl<W: Write + Send> Columns<'_, '_, W> {
    fn write<T: DataType>(
        &mut self,
        values: &[T::T],
        definitions: Option<&[i16]>,
        repetitions: Option<&[i16]>,
    ) -> Result<(), ParquetError> {
        let missing = || ParquetError::General("the schema has fewer columns than are written".to_owned());
        let mut column = self.0.next_column()?.ok_or_else(missing)?;
        column.typed::<T>().write_batch(values, definitions, repetitions)?;
        column.close()
    }
}

/// The runs in the file at `path`, in the order in which they stand there.
///
/// # Errors
/// When it cannot be read, or is not a file that [`ParquetSink`] wrote.
pub fn read_parquet(path: &Path) -> Result<Vec<Run>, ParquetFileError> {
    let unfit = |problem: String| ParquetFileError::Unfit { path: path.to_owned(), problem };
    let io = |source| ParquetFileError::Io { path: path.to_owned(), source };
    let file = File::open(path).map_err(io)?;
    if !file.metadata().map_err(io)?.is_file() {
        return Err(unfit("it is no regular file".to_owned()));
    }
    // A damaged file is an error of the library in most places, and a panic in some.
    let read = panic::catch_unwind(AssertUnwindSafe(|| read_runs(file)));
    read.unwrap_or_else(|_| Err("it is damaged".to_owned())).map_err(unfit)
}

fn read_runs(file: File) -> Result<Vec<Run>, String> {
    let words = |error: ParquetError| error.to_string();
    let reader = SerializedFileReader::new(file).map_err(words)?;
    let metadata = reader.metadata().file_metadata();
    if metadata.num_rows() > MOST_ROWS {
        return Err(format!("it has {} rows, and at most {MOST_ROWS} are read", metadata.num_rows()));
    }
    let ours = schema().map_err(words)?;
    let known = metadata.schema().get_fields();
    let is_same = |own: &TypePtr| known.iter().any(|field| field.name() == own.name());
    if let Some(lacking) = ours.get_fields().iter().find(|own| !is_same(own)) {
        return Err(format!("it has no column `{}`", lacking.name()));
    }
    let mut runs = Runs::default();
    for row in reader.get_row_iter(Some(ours.as_ref().clone())).map_err(words)? {
        runs.take(&row.map_err(words)?)?;
    }
    Ok(runs.all)
}

/// The runs of the rows so far. Rows of a run may stand apart.
#[derive(Default)]
struct Runs {
    all: Vec<Run>,
    places: HashMap<String, usize>,
    /// The text of the last case, so that its other processes need not be parsed again.
    last: Option<(usize, String)>,
}

impl Runs {
    fn take(&mut self, row: &Row) -> Result<(), String> {
        let words = |error: ParquetError| error.to_string();
        let text = |at: usize| row.get_string(at).map_err(words);
        let id = text(0)?;
        let place = if let Some(place) = self.places.get(id) {
            *place
        } else {
            let run: Run = serde_json::from_str(text(14)?).map_err(|error| format!("run `{id}`: {error}"))?;
            if run.run_id.0 != *id || !run.benchmarks.is_empty() {
                return Err(format!("the rows of run `{id}` do not hold that run"));
            }
            self.all.push(run);
            self.places.insert(id.clone(), self.all.len() - 1);
            self.all.len() - 1
        };
        let run = self.all.get_mut(place).ok_or("a run is missing")?;
        let rest = text(13)?;
        let samples = samples(row)?;
        let is_same_case = self.last.as_ref().is_some_and(|(at, known)| *at == place && known == rest);
        if !(is_same_case && samples.as_ref().is_some_and(|samples| follows(run, samples))) {
            let case: BenchmarkResult = serde_json::from_str(rest).map_err(|error| format!("run `{id}`: {error}"))?;
            run.benchmarks.push(case);
            self.last = Some((place, rest.clone()));
        }
        if let (Some(case), Some(samples)) = (run.benchmarks.last_mut(), samples) {
            case.samples.push(samples);
        }
        Ok(())
    }
}

/// Whether `samples` are of another process of the last case of `run`, and not of an equal case measured again.
fn follows(run: &Run, samples: &Samples) -> bool {
    let known = run.benchmarks.last().map_or(&[][..], |case| &case.samples);
    !known.iter().any(|own| own.replicate == samples.replicate)
}

fn samples(row: &Row) -> Result<Option<Samples>, String> {
    let words = |error: ParquetError| error.to_string();
    let Ok(replicate) = row.get_int(10) else { return Ok(None) };
    let (iters, times) = (row.get_list(11).map_err(words)?, row.get_list(12).map_err(words)?);
    let mut samples = Samples { replicate: replicate.cast_unsigned(), iters: Vec::new(), times_ns: Vec::new() };
    for at in 0..iters.len() {
        samples.iters.push(iters.get_long(at).map_err(words)?.cast_unsigned());
    }
    for at in 0..times.len() {
        samples.times_ns.push(times.get_double(at).map_err(words)?);
    }
    Ok(Some(samples))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use std::fs;

    fn written(runs: &[Run], verdicts: &Verdicts) -> Vec<u8> {
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
            let mut case = testing::measured("gemm", 5.0);
            case.samples = (0..processes)
                .map(|replicate| Samples {
                    replicate,
                    iters: vec![1, 2, u64::from(replicate)],
                    times_ns: vec![1.5, 3.25, 1e9],
                })
                .collect();
            run.benchmarks = vec![case, testing::skipped("triad")];
        }
        runs
    }

    #[test]
    fn what_is_written_comes_back_as_it_was() {
        let runs = runs();
        assert_eq!(read(&written(&runs, &Verdicts::new())).unwrap(), runs);
        assert_eq!(read(&written(&[], &Verdicts::new())).unwrap(), []);
    }

    #[test]
    fn a_case_that_a_run_has_twice_stays_two() {
        let mut runs = runs();
        let again = runs[1].benchmarks[0].clone();
        runs[1].benchmarks.insert(1, again);
        assert_eq!(read(&written(&runs, &Verdicts::new())).unwrap(), runs);
    }

    #[test]
    fn a_cut_or_changed_file_is_refused_and_named() {
        let whole = written(&runs(), &Verdicts::new());
        for cut in [0, 3, 100, whole.len() / 2, whole.len() - 1] {
            let error = read(&whole[..cut]).unwrap_err().to_string();
            assert!(error.contains("runs.parquet` is no export"), "{error}");
        }
        for at in (0..whole.len()).step_by(31) {
            let mut changed = whole.clone();
            changed[at] ^= 0x55;
            // Anything but a panic; what still reads as runs has their names.
            if let Ok(read) = read(&changed) {
                assert!(read.len() <= 3);
            }
        }
        assert!(matches!(read_parquet(Path::new("/nowhere.parquet")), Err(ParquetFileError::Io { .. })));
    }
}
