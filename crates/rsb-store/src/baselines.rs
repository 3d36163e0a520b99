//! Committed baselines: `<dir>/<fingerprint slug>/<name>.json`, small and stable enough to be
//! reviewed like code.
//!
//! The machine is written once, and each replicate keeps few samples (see [`crate::compact`]).

mod accepted;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use rsb_model::factor;
use rsb_model::fingerprint::Difference;
use rsb_model::format::FORMAT_VERSION;
use rsb_model::record::PAST_PROCESSES;
use rsb_model::{BenchmarkResult, CaseId, Environment, Fingerprint, Outcome, Run, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::compact::compact_run;
use crate::error::{ReadError, StoreError};
use crate::read::Document;
use crate::seal::sealed_text;
use crate::{files, input, read, temporary};

pub use accepted::{Accepted, OF_ANOTHER_PROGRAM};

/// A baseline, against which later runs are judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Baseline {
    /// See [`rsb_model::format`].
    pub format_version: u32,
    /// Name; by default that of the suite.
    pub name: String,
    /// Time of saving.
    pub created: Timestamp,
    /// Properties of the machine that decide comparability; computed from `environment`.
    pub fingerprint: Fingerprint,
    /// The machine.
    pub environment: Environment,
    /// Revision that was measured; `None` if the working tree was modified or the runs differ in
    /// it.
    pub commit: Option<String>,
    /// Regressions that a user accepted.
    pub accepted: Vec<Accepted>,
    /// The runs that the baseline was made from; each is a replicate. On disk they are stored
    /// without the machine.
    #[serde(serialize_with = "without_environment")]
    pub runs: Vec<Run>,
}

/// Contents of a file named as one side of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub enum RecordedFile {
    /// A run.
    Run(Box<Run>),
    /// A baseline.
    Baseline(Box<Baseline>),
}

/// Reads the run or baseline in `path`. A baseline has a list `runs`, a run has a list
/// `benchmarks`.
///
/// # Errors
/// As [`read::read_run`] and [`Baseline::read`].
pub fn read_recorded(path: &Path) -> Result<RecordedFile, ReadError> {
    let bytes = read::read_bytes(path)?;
    let document = Document::parse(path, &bytes)?;
    document.check_seal(path)?;
    if document.runs.is_some() {
        return Ok(RecordedFile::Baseline(Box::new(Baseline::from_document(path, document)?)));
    }
    Ok(RecordedFile::Run(Box::new(document.into_run(path)?)))
}

/// A baseline in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct BaselineInfo {
    /// Name.
    pub name: String,
    /// Directory of its machine.
    pub slug: String,
    /// File.
    pub path: PathBuf,
    /// Summary of the contents, or why the file cannot be read.
    pub contents: Result<BaselineContents, String>,
}

/// Summary of a baseline in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaselineContents {
    /// Time of saving.
    pub created: Timestamp,
    /// Revision that was measured, if there is exactly one.
    pub commit: Option<String>,
    /// Number of distinct cases measured.
    pub cases: usize,
    /// Number of replicates over all runs of the measured case with the fewest replicates.
    pub replicates: usize,
}

/// Number of earlier runs kept to estimate the noise of a case. More runs add little, and machines
/// change.
pub const PAST_RUNS: usize = 5;

/// Returns, for each measured case, the processes of earlier runs that its result contains,
/// followed by those of `run`. Each process is represented by its least disturbed sample, in
/// milliseconds.
fn past_of(run: &Run) -> BTreeMap<&CaseId, Vec<Vec<f64>>> {
    let mut past = BTreeMap::new();
    for result in run.benchmarks.iter().filter(|result| result.outcome == Outcome::Measured) {
        let mut runs = result.past_processes();
        let floors = result.samples.iter().filter_map(|samples| Some(samples.floor().ok()? / 1e6));
        runs.push(floors.collect());
        past.insert(&result.benchmark_id, runs);
    }
    past
}

/// Returns the differences in factors over the cases that both runs measured.
fn software_differences(first: &Run, other: &Run) -> Vec<Difference> {
    let known: HashMap<&CaseId, &BenchmarkResult> =
        first.benchmarks.iter().map(|result| (&result.benchmark_id, result)).collect();
    let mut found = Vec::new();
    for result in &other.benchmarks {
        if let Some(known) = known.get(&result.benchmark_id) {
            let (before, now) =
                (known.factors_in(&first.environment), result.factors_in(&other.environment));
            found.extend(factor::differences(&before, &now, &[]));
        }
    }
    found
}

impl Baseline {
    /// Creates a baseline from compacted copies of `runs`.
    ///
    /// # Errors
    /// If there is no run, the runs are from different machines, or `name` is not a valid file
    /// name.
    pub fn new(name: &str, created: Timestamp, runs: &[Run]) -> Result<Self, StoreError> {
        files::check_name(name)?;
        let first = runs.first().ok_or_else(|| StoreError::NotABaseline {
            problem: "no run was given; name at least one".to_owned(),
        })?;
        let fingerprint = Fingerprint::of(&first.environment);
        for run in runs {
            let differences = fingerprint.differences(&Fingerprint::of(&run.environment));
            if let Some(found) = differences.first().or(software_differences(first, run).first()) {
                let (old, new) = (&found.baseline, &found.current);
                let (id, field) = (&run.run_id, &found.field);
                let first = &first.run_id;
                let problem =
                    format!("{field} is {old} in {first} and {new} in {id}; leave one out");
                return Err(StoreError::NotABaseline { problem });
            }
        }
        let git = &first.environment.git;
        let is_other = runs.iter().any(|run| run.environment.git != *git);
        let git = if is_other { None } else { git.clone() };
        let environment = Environment { state: None, git, ..first.environment.clone() };
        Ok(Self {
            format_version: FORMAT_VERSION,
            name: name.to_owned(),
            created,
            fingerprint,
            commit: environment.revision().map(str::to_owned),
            environment,
            accepted: Vec::new(),
            runs: runs.iter().map(compact_run).collect(),
        })
    }

    /// Adds the process times of `earlier` runs, given oldest first, from which the noise of each
    /// case is estimated. At most the last [`PAST_RUNS`] runs are kept.
    #[must_use]
    pub fn with_past(mut self, earlier: &[Run]) -> Self {
        let known = earlier.iter().map(|run| past_of(run)).collect::<Vec<_>>();
        for result in self.runs.iter_mut().flat_map(|run| &mut run.benchmarks) {
            let own =
                |known: &BTreeMap<&CaseId, Vec<Vec<f64>>>| known.get(&result.benchmark_id).cloned();
            let past: Vec<Vec<f64>> =
                known.iter().flat_map(|known| own(known).unwrap_or(vec![Vec::new()])).collect();
            let past = past.get(past.len().saturating_sub(PAST_RUNS)..).unwrap_or_default();
            if past.iter().any(|run| !run.is_empty()) {
                result.metadata.insert(PAST_PROCESSES.to_owned(), past.into());
            }
        }
        self
    }

    /// Summarizes the baseline.
    pub fn contents(&self) -> BaselineContents {
        let mut replicates: BTreeMap<&CaseId, usize> = BTreeMap::new();
        let results = self.runs.iter().flat_map(|run| &run.benchmarks);
        for result in results.filter(|result| result.outcome == Outcome::Measured) {
            // A value from another tool without samples counts as one replicate.
            *replicates.entry(&result.benchmark_id).or_default() += result.samples.len().max(1);
        }
        BaselineContents {
            created: self.created,
            commit: self.commit.clone(),
            cases: replicates.len(),
            replicates: replicates.into_values().min().unwrap_or(0),
        }
    }

    /// Writes the baseline to `path`, whole or not at all.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), StoreError> {
        let text = sealed_text(self).map_err(|error| StoreError::write(path, error.into()))?;
        temporary::remove_leftovers_of(path);
        files::write_atomically(path, &text).map_err(StoreError::of_baselines)
    }

    /// Returns the runs, as the gate takes them.
    pub fn into_runs(self) -> Vec<Run> {
        self.runs
    }

    /// Reads the baseline in `path`.
    ///
    /// # Errors
    /// If the file cannot be read, is not JSON, has a newer format, or is not a baseline. A single
    /// bad case is not an error.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        let bytes = read::read_bytes(path)?;
        Self::parse(path, &bytes)
    }

    fn parse(path: &Path, bytes: &[u8]) -> Result<Self, ReadError> {
        let document = Document::parse(path, bytes)?;
        document.check_seal(path)?;
        Self::from_document(path, document)
    }

    fn from_document(path: &Path, document: Document<'_>) -> Result<Self, ReadError> {
        let listed = document.runs.ok_or_else(|| {
            read::shape(path, "a baseline", &serde::de::Error::missing_field("runs"))
        })?;
        let wire: Wire = serde::Deserialize::deserialize(&document.fields)
            .map_err(|error| read::shape(path, "a baseline", &error))?;
        wire.check(path)?;
        let mut runs = Vec::new();
        for text in listed {
            let mut run: Document<'_> = serde_json::from_str(text.get())
                .map_err(|error| read::shape(path, "a baseline", &error))?;
            if let Value::Object(fields) = &mut run.fields {
                let state = fields
                    .remove("state")
                    .and_then(|state| serde::Deserialize::deserialize(&state).ok());
                let environment = Environment { state, ..wire.environment.clone() };
                let environment = serde_json::to_value(environment)
                    .map_err(|error| read::shape(path, "a baseline", &error))?;
                fields.insert("environment".to_owned(), environment);
                fields.insert("format_version".to_owned(), wire.format_version.into());
            }
            runs.push(run.into_run(path)?);
        }
        if let Some(other) =
            runs.iter().find(|run| runs.first().is_some_and(|first| first.suite != run.suite))
        {
            let problem = format!(
                "its runs are of different suites; the first that differs is {}",
                other.run_id
            );
            return Err(ReadError::Misplaced { path: path.to_owned(), problem });
        }
        Ok(Self {
            format_version: FORMAT_VERSION,
            name: wire.name,
            created: wire.created,
            fingerprint: Fingerprint::of(&wire.environment),
            environment: wire.environment,
            commit: wire.commit,
            accepted: wire.accepted,
            runs,
        })
    }
}

#[derive(Deserialize)]
struct Wire {
    format_version: u32,
    name: String,
    created: Timestamp,
    #[serde(default)]
    fingerprint: Option<Fingerprint>,
    environment: Environment,
    commit: Option<String>,
    #[serde(default)]
    accepted: Vec<Accepted>,
}

impl Wire {
    /// Checks that the fingerprint is that of the machine. A fingerprint written by an earlier
    /// version may lack properties.
    fn check(&self, path: &Path) -> Result<(), ReadError> {
        let Some(kept) = &self.fingerprint else { return Ok(()) };
        let own = Fingerprint::of(&self.environment);
        let fields = [(&kept.hardware, &own.hardware), (&kept.factors, &own.factors)];
        let mut all = fields
            .into_iter()
            .flat_map(|(kept, own)| kept.iter().map(move |(name, value)| (name, value, own)));
        match all.find(|(name, value, own)| own.get(*name) != Some(value)) {
            None => Ok(()),
            Some((name, value, _)) => Err(ReadError::Misplaced {
                path: path.to_owned(),
                problem: format!(
                    "its fingerprint has {name} {value}, but its environment does not"
                ),
            }),
        }
    }
}

/// Serializes runs without the machine, which the baseline stores once. Each run keeps only the
/// state of the machine at the time of the run.
fn without_environment<S: serde::Serializer>(
    runs: &[Run],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    use serde::ser::{Error as _, SerializeSeq as _};
    let mut list = serializer.serialize_seq(Some(runs.len()))?;
    for run in runs {
        list.serialize_element(&wire_run(run).map_err(S::Error::custom)?)?;
    }
    list.end()
}

fn wire_run(run: &Run) -> serde_json::Result<Value> {
    let mut document = serde_json::to_value(run)?;
    let Value::Object(fields) = &mut document else { return Ok(document) };
    fields.shift_remove("format_version");
    fields.shift_remove("environment");
    let mut cases = fields.shift_remove("benchmarks").unwrap_or_default();
    for case in cases.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        // Compacting has already emptied the environment of each case.
        case.shift_remove("environment");
    }
    if let Some(state) = &run.environment.state {
        fields.insert("state".to_owned(), serde_json::to_value(state)?);
    }
    fields.insert("benchmarks".to_owned(), cases);
    Ok(document)
}

/// A directory of baselines.
#[derive(Debug, Clone)]
pub struct Baselines {
    dir: PathBuf,
}

impl Baselines {
    /// Creates a handle for the baselines in `dir`, which may be missing until one is saved.
    pub fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    /// Returns the path of the baseline `name` of the machine `fingerprint`. Before format 3, a
    /// machine had another name; a baseline saved then keeps its old path.
    pub fn path_of(&self, fingerprint: &Fingerprint, name: &str) -> PathBuf {
        let [today, former] = [fingerprint.slug(), fingerprint.former_slug()]
            .map(|slug| self.dir.join(slug).join(format!("{name}.json")));
        if !today.exists() && former.exists() { former } else { today }
    }

    /// Saves `baseline`, replacing the one with the same name and machine. A file under the old
    /// name of the machine is removed.
    ///
    /// # Errors
    /// If the file cannot be written, or its name is not a valid file name.
    pub fn save(&self, baseline: &Baseline) -> Result<PathBuf, StoreError> {
        files::check_name(&baseline.name)?;
        let before = self.path_of(&baseline.fingerprint, &baseline.name);
        let path =
            self.dir.join(baseline.fingerprint.slug()).join(format!("{}.json", baseline.name));
        baseline.write(&path)?;
        let is_its_own =
            |known: Baseline| known.fingerprint.differences(&baseline.fingerprint).is_empty();
        if before != path && Baseline::read(&before).is_ok_and(is_its_own) {
            // If the old file cannot be removed, it is ignored from now on, because the current
            // name takes precedence.
            let _ = std::fs::remove_file(&before);
        }
        Ok(path)
    }

    /// Reads the baseline in `path`. If the file is in this directory, its name and machine must
    /// match its location.
    ///
    /// # Errors
    /// As [`Baseline::read`], and if the name or machine does not match.
    pub fn read(&self, path: &Path) -> Result<Baseline, ReadError> {
        let baseline = Baseline::read(path)?;
        let dir = path.parent().unwrap_or(Path::new(""));
        if dir.parent() != Some(self.dir.as_path()) {
            return Ok(baseline); // Somebody named a file elsewhere.
        }
        let slugs = [baseline.fingerprint.slug(), baseline.fingerprint.former_slug()];
        if path.file_stem().is_none_or(|stem| stem != baseline.name.as_str()) {
            let problem = format!("it contains the baseline `{}`", baseline.name);
            return Err(ReadError::Misplaced { path: path.to_owned(), problem });
        }
        if !slugs.iter().any(|slug| dir.file_name().is_some_and(|name| name == slug.as_str())) {
            let problem = format!("its machine is {}", slugs[0]);
            return Err(ReadError::Misplaced { path: path.to_owned(), problem });
        }
        Ok(baseline)
    }

    /// Reads the baseline `name` that was saved on the machine `fingerprint`; `None` if there is
    /// none. Unlike [`Baselines::load`], never reads another file of that name.
    ///
    /// # Errors
    /// As [`Baselines::read`].
    pub fn saved(
        &self,
        fingerprint: &Fingerprint,
        name: &str,
    ) -> Result<Option<Baseline>, ReadError> {
        let path = self.path_of(fingerprint, name);
        if path.exists() { self.read(&path).map(Some) } else { Ok(None) }
    }

    /// Loads the baseline that `name` refers to: a path, `slug/name`, or a name, each with or
    /// without `.json`. If several machines have a baseline with this name, the one of
    /// `fingerprint` is loaded. If that machine has none but exactly one other does, that one is
    /// loaded, so that the gate can report how the machines differ.
    ///
    /// # Errors
    /// If no baseline or several baselines match, or the file cannot be read.
    pub fn load(
        &self,
        name: &str,
        fingerprint: Option<&Fingerprint>,
    ) -> Result<Baseline, StoreError> {
        Ok(self.read(&self.find(name, fingerprint)?)?)
    }

    /// Returns the file of the baseline that `name` refers to, as in [`Baselines::load`].
    ///
    /// # Errors
    /// If no baseline or several baselines match.
    pub fn find(
        &self,
        name: &str,
        fingerprint: Option<&Fingerprint>,
    ) -> Result<PathBuf, StoreError> {
        let found = self.find_as_written(name, fingerprint);
        let is_unknown = matches!(found, Err(StoreError::UnknownBaseline { .. }));
        match name.strip_suffix(".json") {
            // A name may itself end in `.json`, so the whole text is tried first.
            Some(bare) if is_unknown => self.find_as_written(bare, fingerprint),
            _ => found,
        }
    }

    fn find_as_written(
        &self,
        name: &str,
        fingerprint: Option<&Fingerprint>,
    ) -> Result<PathBuf, StoreError> {
        if input::names_file(Path::new(name)) {
            return Ok(name.into());
        }
        let with_ending = PathBuf::from(format!("{name}.json"));
        if name.contains('/') && with_ending.is_file() {
            return Ok(with_ending);
        }
        let unknown = || StoreError::UnknownBaseline {
            name: name.to_owned(),
            dir: self.dir.clone(),
            nearest: self.nearest(name),
        };
        let (slug, stem) =
            name.split_once('/').map_or((None, name), |(slug, stem)| (Some(slug), stem));
        files::check_name(stem).map_err(|_| unknown())?;
        if let Some(own) = fingerprint.filter(|_| slug.is_none()).map(|own| self.path_of(own, stem))
            && own.is_file()
        {
            return Ok(own);
        }
        let mut found = self.files();
        found.retain(|(dir, file, _)| file == stem && slug.is_none_or(|slug| slug == dir));
        match found.as_slice() {
            [(_, _, path)] => Ok(path.clone()),
            [] => Err(unknown()),
            several => Err(StoreError::AmbiguousBaseline {
                name: name.to_owned(),
                choices: several.iter().map(|(slug, name, _)| format!("{slug}/{name}")).collect(),
            }),
        }
    }

    /// Returns the names of at most three baselines, the most similar to `name` first. They include
    /// the slug if `name` does.
    fn nearest(&self, name: &str) -> Vec<String> {
        let has_slug = name.contains('/');
        let mut known: Vec<String> = self
            .files()
            .into_iter()
            .map(|(slug, file, _)| if has_slug { format!("{slug}/{file}") } else { file })
            .collect();
        known.sort_unstable();
        known.dedup();
        known.sort_by(|a, b| {
            strsim::jaro_winkler(name, b).total_cmp(&strsim::jaro_winkler(name, a))
        });
        known.truncate(3);
        known
    }

    /// Lists all baselines by machine and name. An unreadable one is listed with the reason.
    pub fn list(&self) -> Vec<BaselineInfo> {
        let mut infos = Vec::new();
        for (slug, name, path) in self.files() {
            let read = files::check_ending(&path).and_then(|()| self.read(&path));
            let contents =
                read.map(|baseline| baseline.contents()).map_err(|error| error.to_string());
            infos.push(BaselineInfo { name, slug, path, contents });
        }
        infos
    }

    /// Checks that the directory, if it exists, and its subdirectories can be listed. A directory
    /// that cannot be listed must not count as empty.
    pub(crate) fn check_readable(&self) -> Result<(), ReadError> {
        let entries = match std::fs::read_dir(&self.dir) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(|source| io_error(&self.dir, source))?,
        };
        for entry in entries {
            let path = entry.map_err(|source| io_error(&self.dir, source))?.path();
            if path.is_dir() {
                std::fs::read_dir(&path).map_err(|source| io_error(&path, source))?;
            }
        }
        Ok(())
    }

    fn files(&self) -> Vec<(String, String, PathBuf)> {
        let Ok(entries) = std::fs::read_dir(&self.dir) else { return Vec::new() };
        let mut dirs: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        dirs.sort();
        let mut found = Vec::new();
        for path in dirs.iter().flat_map(|dir| files::documents_in(dir)) {
            let slug = file_text(path.parent().and_then(Path::file_name));
            let name = file_text(path.file_stem());
            found.push((slug, name, path));
        }
        found
    }
}

fn io_error(path: &Path, source: std::io::Error) -> ReadError {
    ReadError::Io { path: path.to_owned(), source }
}

fn file_text(part: Option<&std::ffi::OsStr>) -> String {
    part.unwrap_or_default().to_string_lossy().into_owned()
}
