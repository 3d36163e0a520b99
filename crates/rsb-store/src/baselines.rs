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
use crate::{files, read};

pub use accepted::{Accepted, OF_ANOTHER_PROGRAM};

/// What later runs are judged against.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Baseline {
    /// See [`rsb_model::format`].
    pub format_version: u32,
    /// Its name; by default that of the suite.
    pub name: String,
    /// When it was saved.
    pub created: Timestamp,
    /// The machine, as far as it decides comparability; computed from `environment`.
    pub fingerprint: Fingerprint,
    /// The machine.
    pub environment: Environment,
    /// The revision that made it; none where the tree was changed, or the runs are of several.
    pub commit: Option<String>,
    /// Regressions that a person has accepted.
    pub accepted: Vec<Accepted>,
    /// One for each run that it was made of; each is a replicate. On disk they are without the
    /// machine.
    #[serde(serialize_with = "without_environment")]
    pub runs: Vec<Run>,
}

/// What a file that one side of a comparison names may be.
#[derive(Debug, Clone, PartialEq)]
pub enum RecordedFile {
    /// A run.
    Run(Box<Run>),
    /// A baseline.
    Baseline(Box<Baseline>),
}

/// The run or baseline in `path`: a baseline has a list `runs`, a run has a list `benchmarks`.
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
    /// Its name.
    pub name: String,
    /// The directory of its machine.
    pub slug: String,
    /// Its file.
    pub path: PathBuf,
    /// What it holds, or why it cannot be read.
    pub contents: Result<BaselineContents, String>,
}

/// What a baseline in a list holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaselineContents {
    /// When it was saved.
    pub created: Timestamp,
    /// The revision that made it, where it is one.
    pub commit: Option<String>,
    /// Cases that were measured, each counted once.
    pub cases: usize,
    /// Replicates of the measured case with the fewest, those of all runs together.
    pub replicates: usize,
}

/// How many earlier runs tell the noise of a case: more say little more, and machines change.
pub const PAST_RUNS: usize = 5;

/// The least disturbed sample of each process of each measured case, in milliseconds, behind what
/// its own past holds.
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

/// Returns the factors in which a case that both runs measured differs.
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
    /// A baseline of `runs`, made compact.
    ///
    /// # Errors
    /// When there is no run, the runs are of unlike machines, or `name` cannot be the name of a
    /// file.
    pub fn new(name: &str, created: Timestamp, runs: &[Run]) -> Result<Self, StoreError> {
        files::check_name(name)?;
        let first = runs.first().ok_or_else(|| StoreError::NotABaseline {
            problem: "there is none; name at least one".to_owned(),
        })?;
        let fingerprint = Fingerprint::of(&first.environment);
        for run in runs {
            let differences = fingerprint.differences(&Fingerprint::of(&run.environment));
            if let Some(found) = differences.first().or(software_differences(first, run).first()) {
                let (old, new) = (&found.baseline, &found.current);
                let (id, field) = (&run.run_id, &found.field);
                let first = &first.run_id;
                let problem = format!("{field} is {old} in {first}, {new} in {id}; leave one out");
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

    /// With what `earlier` runs, oldest first, tell of the noise of each case: so many of the last
    /// ones as [`PAST_RUNS`].
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

    /// What it holds.
    pub fn contents(&self) -> BaselineContents {
        let mut replicates: BTreeMap<&CaseId, usize> = BTreeMap::new();
        let results = self.runs.iter().flat_map(|run| &run.benchmarks);
        for result in results.filter(|result| result.outcome == Outcome::Measured) {
            // A figure of another tool, which kept no samples, is one look at the case.
            *replicates.entry(&result.benchmark_id).or_default() += result.samples.len().max(1);
        }
        BaselineContents {
            created: self.created,
            commit: self.commit.clone(),
            cases: replicates.len(),
            replicates: replicates.into_values().min().unwrap_or(0),
        }
    }

    /// Writes it to `path`, whole or not at all.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), StoreError> {
        let text = sealed_text(self).map_err(|error| StoreError::write(path, error.into()))?;
        files::write_atomically(path, &text).map_err(StoreError::of_baselines)
    }

    /// Its runs, as the gate takes them.
    pub fn into_runs(self) -> Vec<Run> {
        self.runs
    }

    /// The baseline in `path`.
    ///
    /// # Errors
    /// When it cannot be read, is not JSON, is of a newer format, or is not a baseline. Never
    /// because of one case in it.
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
            let problem =
                format!("its runs are of unlike suites, such as that of {}", other.run_id);
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
    /// Checks that the fingerprint is that of the machine. A version that knew less of machines
    /// wrote less of it.
    fn check(&self, path: &Path) -> Result<(), ReadError> {
        let Some(told) = &self.fingerprint else { return Ok(()) };
        let own = Fingerprint::of(&self.environment);
        let fields = [(&told.hardware, &own.hardware), (&told.factors, &own.factors)];
        let mut all = fields
            .into_iter()
            .flat_map(|(told, own)| told.iter().map(move |(name, value)| (name, value, own)));
        match all.find(|(name, value, own)| own.get(*name) != Some(value)) {
            None => Ok(()),
            Some((name, value, _)) => Err(ReadError::Misplaced {
                path: path.to_owned(),
                problem: format!(
                    "its fingerprint says that {name} is {value}, and its environment does not"
                ),
            }),
        }
    }
}

/// The machine is written once. What differs between runs is only how it was at the time.
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
        // Compacting left nothing in it.
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
    /// The baselines in `dir`, which may be missing until one is saved.
    pub fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    /// Where a baseline called `name` of the machine `fingerprint` is or would be. One that a
    /// version before format 3 saved lies under the name which that gave the machine.
    pub fn path_of(&self, fingerprint: &Fingerprint, name: &str) -> PathBuf {
        let [today, former] = [fingerprint.slug(), fingerprint.former_slug()]
            .map(|slug| self.dir.join(slug).join(format!("{name}.json")));
        if !today.exists() && former.exists() { former } else { today }
    }

    /// Saves `baseline`, over the one of that name and machine, which is moved where it lies under
    /// a former name.
    ///
    /// # Errors
    /// When it cannot be written, or its name cannot be the name of a file.
    pub fn save(&self, baseline: &Baseline) -> Result<PathBuf, StoreError> {
        files::check_name(&baseline.name)?;
        let before = self.path_of(&baseline.fingerprint, &baseline.name);
        let path =
            self.dir.join(baseline.fingerprint.slug()).join(format!("{}.json", baseline.name));
        baseline.write(&path)?;
        let is_its_own =
            |known: Baseline| known.fingerprint.differences(&baseline.fingerprint).is_empty();
        if before != path && Baseline::read(&before).is_ok_and(is_its_own) {
            // One that stays is not found any more: there is one of today's name.
            let _ = std::fs::remove_file(&before);
        }
        Ok(path)
    }

    /// The baseline in `path`, which lies among these: its name and machine must be those of its
    /// place.
    ///
    /// # Errors
    /// As [`Baseline::read`], and when it belongs elsewhere.
    pub fn read(&self, path: &Path) -> Result<Baseline, ReadError> {
        let baseline = Baseline::read(path)?;
        let dir = path.parent().unwrap_or(Path::new(""));
        if dir.parent() != Some(self.dir.as_path()) {
            return Ok(baseline); // Somebody named a file elsewhere.
        }
        let slugs = [baseline.fingerprint.slug(), baseline.fingerprint.former_slug()];
        if path.file_stem().is_none_or(|stem| stem != baseline.name.as_str()) {
            let problem = format!("it is the baseline `{}`", baseline.name);
            return Err(ReadError::Misplaced { path: path.to_owned(), problem });
        }
        if !slugs.iter().any(|slug| dir.file_name().is_some_and(|name| name == slug.as_str())) {
            let problem = format!("its machine is {}", slugs[0]);
            return Err(ReadError::Misplaced { path: path.to_owned(), problem });
        }
        Ok(baseline)
    }

    /// The baseline that `name` means: a path, `slug/name`, or a name. Of several machines'
    /// baselines of one name, that of `fingerprint`; where that machine has none, the only one
    /// there is, so that the gate can say in what the machines differ.
    ///
    /// # Errors
    /// When there is none, there are several, or it cannot be read.
    pub fn load(
        &self,
        name: &str,
        fingerprint: Option<&Fingerprint>,
    ) -> Result<Baseline, StoreError> {
        Ok(self.read(&self.find(name, fingerprint)?)?)
    }

    /// The file of the baseline that `name` means, as in [`Baselines::load`].
    ///
    /// # Errors
    /// When there is none, or there are several.
    pub fn find(
        &self,
        name: &str,
        fingerprint: Option<&Fingerprint>,
    ) -> Result<PathBuf, StoreError> {
        let path = Path::new(name);
        if path.is_file() {
            return Ok(path.to_owned());
        }
        let unknown =
            || StoreError::UnknownBaseline { name: name.to_owned(), dir: self.dir.clone() };
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

    /// Every baseline, by machine and name. One that cannot be read is listed with the reason.
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

    /// That the directory, where there is one, and those in it can be listed: what cannot be seen
    /// is not absent.
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
