//! Finds, reads and judges both sides of a comparison.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use itertools::Itertools as _;
use rsb_engine::{EngineError, ErrorKind, Listener};
use rsb_model::record::{ComparisonNote, ComparisonNoteCode};
use rsb_model::{ComparisonResult, Environment, Event, Fingerprint, Run, Timestamp, Verdict};
use rsb_stats::Policy;
use rsb_store::import::{self, ImportError};
use rsb_store::{
    Baselines, NamedRuns, ReadError, RecordedFile, RunSummary, Store, StoreError,
    read_criterion_dir, read_recorded,
};

use super::latest::latest;
use super::named::{before_latest, criterion_dir, expand_pattern};
use super::notes;
use crate::Directories;
use crate::directories::PolicyPath;
use crate::policy::{self, ControlSet, Thresholds};
use crate::suggest::measure_again;

/// The loaded inputs of judging.
pub struct Judge {
    /// Directories of the project.
    pub directories: Directories,
    /// Store of the results.
    pub store: Store,
    policy: Policy,
    across: Vec<String>,
    /// Merge base whose baselines and policy apply, and the revision that it is the merge base
    /// with.
    base: Option<(String, String)>,
    environments: Vec<(SideName, Environment)>,
}

rsb_model::named_enum! {
    /// A side of a comparison.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum SideName {
        /// The reference side.
        Baseline = "baseline",
        /// The judged side.
        Current = "current",
    }
}

impl Judge {
    /// Loads the policy of `directories` (see [`policy::load`]) and opens the results. `across`
    /// names the factors whose effect is judged.
    ///
    /// # Errors
    /// If the policy or the results cannot be read.
    pub fn load(
        directories: Directories,
        thresholds: &Thresholds,
        percent: Option<f64>,
        across: Vec<String>,
        listener: &mut Listener<'_>,
    ) -> Result<Self, EngineError> {
        let policy = policy::load(&directories, thresholds, percent, listener)?;
        let store = open(&directories, listener)?;
        Ok(Self { directories, store, policy, across, base: None, environments: Vec::new() })
    }

    /// Sets the machines of sides whose files do not record one.
    pub fn set_environments(&mut self, environments: Vec<(SideName, Environment)>) {
        self.environments = environments;
    }

    /// Fills in the machine set for `side` in runs that do not record one.
    ///
    /// # Errors
    /// If a machine is set, and every run records its own.
    pub fn place(&self, side: SideName, mut runs: Vec<Run>) -> Result<Vec<Run>, EngineError> {
        let known = self.environments.iter().find(|(of, _)| *of == side);
        let Some((_, environment)) = known else { return Ok(runs) };
        if runs.iter().all(|run| run.environment.cpu.is_some()) {
            let side = side.as_str();
            return Err(EngineError::usage(anyhow!(
                "--environment {side}=FILE has no effect: it is for files of other tools named \
                 with --{side}, and the runs of this side record their machine; omit it"
            )));
        }
        for run in runs.iter_mut().filter(|run| run.environment.cpu.is_none()) {
            run.environment =
                Environment { git: run.environment.git.take(), ..environment.clone() };
        }
        Ok(runs)
    }

    /// Returns the runs in `named`, or the latest run if that is empty.
    ///
    /// # Errors
    /// If a run cannot be read, or there is none.
    pub fn current(&self, named: &[String]) -> Result<Vec<Run>, EngineError> {
        if named.is_empty() {
            return Ok(vec![latest(&self.store)?]);
        }
        self.sides(named)
    }

    /// Checks, before a run is measured, that `text` will not refer to the new run once it is
    /// stored.
    ///
    /// # Errors
    /// If it refers to nothing, cannot be read, or would refer to the new run itself.
    pub fn check_before_run(&self, text: &str) -> Result<(), EngineError> {
        match before_latest(text) {
            Some(0) => Err(EngineError::usage(anyhow!(
                "`{text}` will be the new run itself; use `previous`"
            ))),
            // Once the new run is stored, the run that is now the latest is the previous one.
            Some(1) => latest(&self.store).map(drop),
            Some(runs) => self.before_latest(runs - 1).map(drop),
            None => self.sides(&[text.to_owned()]).map(drop),
        }
    }

    /// Returns the names of both sides, in which a branch or a commit is replaced by the id of its
    /// newest run of the suite and machine of the other side. An empty `current` is the latest run.
    ///
    /// # Errors
    /// If a name is ambiguous, or the other side has no such run.
    pub fn name_sides(
        &self,
        baseline: &[String],
        current: &[String],
    ) -> Result<[Vec<String>; 2], EngineError> {
        let mut sides = [baseline.to_vec(), current.to_vec()];
        let [older, newer] = [self.group(baseline)?, self.group(current)?];
        match (older, newer) {
            (Some(_), Some(_)) => {
                let pair = self.store.pair(&baseline[0], &current[0]);
                let [older, newer] = pair.map_err(EngineError::usage)?;
                sides = [vec![older.run_id.0], vec![newer.run_id.0]];
            }
            (Some(runs), None) => {
                let current = match self.current(current) {
                    Err(error) if error.kind == ErrorKind::NoVerdict => return Ok(sides),
                    found => found?,
                };
                sides[0] = self.run_like(&baseline[0], &runs, current.first())?;
            }
            (None, Some(runs)) => {
                let baseline = self.sides(baseline)?;
                sides[1] = self.run_like(&current[0], &runs, baseline.first())?;
            }
            (None, None) => {}
        }
        Ok(sides)
    }

    /// Returns the id of the newest of `runs`, the runs of the branch or commit `text`, that is
    /// comparable with `other`.
    fn run_like(
        &self,
        text: &str,
        runs: &[RunSummary],
        other: Option<&Run>,
    ) -> Result<Vec<String>, EngineError> {
        let run = match other {
            Some(other) => self.store.run_like(text, runs, other).map_err(EngineError::usage)?,
            None => return Ok(vec![text.to_owned()]),
        };
        Ok(vec![run.run_id.0])
    }

    /// Returns the runs of the branch or commit that is the only name in `named`; `None` if it is
    /// anything else.
    fn group(&self, named: &[String]) -> Result<Option<Vec<RunSummary>>, EngineError> {
        let [text] = named else { return Ok(None) };
        let is_saved = Baselines::new(&self.directories.baselines)
            .list()
            .iter()
            .any(|info| info.name == *text);
        if is_saved || before_latest(text).is_some() || Path::new(text).exists() {
            return Ok(None);
        }
        match self.store.named(text) {
            Ok(NamedRuns::Group(runs)) => Ok(Some(runs)),
            Ok(NamedRuns::One(_)) | Err(StoreError::UnknownRun { .. }) => Ok(None),
            Err(error) => Err(EngineError::usage(error)),
        }
    }

    /// Returns the runs that `named` refers to; of a branch or a commit, the newest run.
    ///
    /// # Errors
    /// If one cannot be read or is named twice.
    pub fn sides(&self, named: &[String]) -> Result<Vec<Run>, EngineError> {
        let named: &[String] =
            &named.iter().flat_map(|text| self.expand_side(text)).collect::<Vec<_>>();
        let sides: Result<Vec<Vec<Run>>, EngineError> =
            named.iter().map(|text| self.side(text)).collect();
        let runs: Vec<Run> = sides?.into_iter().flatten().collect();
        // The same source has several spellings: `x`, `./x`, a link to it.
        if let Some((again, first)) = self.same_source(named, named) {
            return Err(EngineError::usage(anyhow!(
                "`{again}` and `{first}` are the same source on one side; name it once"
            )));
        }
        let repeated = runs
            .iter()
            .enumerate()
            .find(|(index, run)| runs[..*index].iter().any(|other| other.run_id == run.run_id));
        match repeated {
            // The same samples would count as further replicates.
            Some((_, run)) => Err(EngineError::usage(anyhow!(
                "the run {} is given twice on one side; name it once",
                run.run_id
            ))),
            None => Ok(runs),
        }
    }

    /// Returns whether `text` is the id of a stored run. It then names the run, even if a directory
    /// has the same name; `./ID` is the directory.
    fn names_run(&self, text: &str) -> bool {
        Path::new(text).is_dir()
            && !text.contains('/')
            && self.store.run(text).is_ok_and(|run| run.run_id.0 == text)
    }

    /// Expands `text` to the sides it refers to. The name of a saved baseline takes precedence over
    /// that of a Criterion result.
    fn expand_side(&self, text: &str) -> Vec<String> {
        let is_saved =
            Baselines::new(&self.directories.baselines).list().iter().any(|info| info.name == text);
        if is_saved || before_latest(text).is_some() || self.names_run(text) {
            vec![text.to_owned()]
        } else {
            expand_pattern(text)
        }
    }

    /// Returns the run stored `runs` runs before the latest one.
    fn before_latest(&self, runs: u32) -> Result<Vec<Run>, EngineError> {
        let run = self.store.before_latest(runs).map_err(EngineError::usage)?;
        run.map(|run| vec![run]).ok_or_else(|| {
            EngineError::usage(anyhow!(
                "{} has no run {runs} before the latest one; `{}` lists them",
                self.store.results_dir().display(),
                self.directories.command("history")
            ))
        })
    }

    /// Reads an output directory of Criterion, a run file, a baseline file, a saved baseline by
    /// name (see [`Baselines::find`]), a stored run by id, branch or commit, or `latest~N`.
    fn side(&self, text: &str) -> Result<Vec<Run>, EngineError> {
        let baselines = Baselines::new(&self.directories.baselines);
        let here = self.store.latest().ok().flatten().map(|run| Fingerprint::of(&run.environment));
        let path = Path::new(text);
        // A saved baseline has priority over a directory with its name.
        let is_elsewhere =
            text.contains('@') || (path.exists() && (text.contains('/') || !path.is_dir()));
        let saved = (!is_elsewhere).then(|| baselines.load(text, here.as_ref()));
        if let Some(Ok(baseline)) = saved {
            return Ok(baseline.into_runs());
        }
        if let Some(runs) = before_latest(text) {
            return self.before_latest(runs);
        }
        if self.names_run(text) || self.group(&[text.to_owned()])?.is_some() {
            return self.store.run(text).map(|run| vec![run]).map_err(EngineError::usage);
        }
        if let Some((dir, name)) = criterion_dir(text) {
            return Ok(vec![read_criterion_dir(dir, name).map_err(EngineError::usage)?]);
        }
        let no_baseline = saved.and_then(Result::err);
        if is_path(text) {
            return match no_baseline {
                None => read_file(path),
                Some(error) => Err(EngineError::usage(anyhow!(
                    "`{text}` is neither a file nor a saved baseline ({error})"
                ))),
            };
        }
        self.store.run(text).map(|run| vec![run]).map_err(|no_run| {
            let no_baseline = no_baseline
                .map(|error| format!(", nor a saved baseline ({error})"))
                .unwrap_or_default();
            EngineError::usage(anyhow!(
                "`{text}` is neither a file{no_baseline}, nor a stored run ({no_run})"
            ))
        })
    }

    /// Returns the first of `named` that has the same source as another text in `others`, and that
    /// text. Sources are the same if they are one result in one Criterion directory, or files with
    /// the same bytes. Stored runs have no source: [`is_itself`] compares them by id.
    pub(super) fn same_source<'n>(
        &self,
        named: &'n [String],
        others: &'n [String],
    ) -> Option<(&'n str, &'n str)> {
        let source = |text: &String| if self.names_run(text) { None } else { Source::of(text) };
        let others_sources: Vec<Option<Source>> = others.iter().map(source).collect();
        named.iter().enumerate().find_map(|(index, text)| {
            let own = source(text)?;
            let is_one_list = std::ptr::eq(named, others);
            let mut all = others.iter().zip(&others_sources).enumerate();
            let same = all.find(|(at, (_, source))| {
                (!is_one_list || *at < index) && source.as_ref() == Some(&own)
            });
            same.map(|(_, (other, _))| (text.as_str(), other.as_str()))
        })
    }

    /// Checks the policy against the runs that it applies to.
    ///
    /// # Errors
    /// Same as [`policy::check`].
    pub fn check(&self, baseline: &[Run], current: &[Run]) -> Result<(), EngineError> {
        let each = baseline.iter().chain(current).flat_map(|run| &run.benchmarks);
        let ids =
            each.map(|result| result.benchmark_id.as_str()).sorted_unstable().dedup().collect_vec();
        self.check_ids(&ids, ControlSet::Heard)
    }

    /// Checks the policy like [`Judge::check`], for cases given by id.
    ///
    /// # Errors
    /// Same as [`policy::check`].
    pub fn check_ids(&self, ids: &[&str], control: ControlSet) -> Result<(), EngineError> {
        policy::check(&self.policy, ids, control, &self.directories)
    }

    /// Judges `current` against `baseline`, and adds notes on both sides.
    pub fn judge(&self, baseline: &[Run], current: &[Run]) -> ComparisonResult {
        let now = Timestamp::now();
        let mut result = rsb_stats::gate(baseline, current, &self.policy, &self.across, now);
        result.notes.splice(0..0, notes::of(baseline, current, now));
        result
    }

    /// Returns whether the effect of a software change is judged.
    pub fn asks_across(&self) -> bool {
        !self.across.is_empty()
    }

    /// Returns the policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Uses the baselines in `files`, which come from `commit`, the merge base with `revision`.
    pub fn take_base(&mut self, files: &Path, commit: &str, revision: &str) {
        files.clone_into(&mut self.directories.baselines);
        self.base = Some((commit.to_owned(), revision.to_owned()));
    }

    /// Returns a note on the origin of the baseline, unless it is the one in the tree.
    pub(super) fn base_note(&self) -> Option<ComparisonNote> {
        let (commit, revision) = self.base.as_ref()?;
        let text = format!("the baseline is that of {commit}, the merge base with {revision}");
        Some(ComparisonNote::new(ComparisonNoteCode::MergeBase, text))
    }

    /// Returns a note on the origin of the policy, unless it is the one in the tree.
    pub fn policy_note(&self) -> Option<ComparisonNote> {
        let PolicyPath::AtRevision { path, revision, text } = &self.directories.policy else {
            return None;
        };
        let path = path.display();
        let origin = match text {
            Some(_) => {
                format!("the policy is that of {revision} ({path}), not the one in this tree")
            }
            None => format!("{revision} has no {path}: the built-in policy decides"),
        };
        Some(ComparisonNote::new(
            ComparisonNoteCode::Policy,
            format!("{origin}; choose another one with --policy"),
        ))
    }

    /// Returns the factors whose effect is judged.
    pub fn across(&self) -> &[String] {
        &self.across
    }
}

/// Source that a text on the command line refers to, independent of its spelling.
#[derive(PartialEq)]
enum Source {
    Criterion { dir: PathBuf, result: String },
    File { bytes: Vec<u8> },
}

impl Source {
    fn of(text: &str) -> Option<Self> {
        if let Some((dir, result)) = criterion_dir(text) {
            return Some(Self::Criterion {
                dir: dir.canonicalize().ok()?,
                result: result.to_owned(),
            });
        }
        let path = Path::new(text);
        rsb_store::read_bytes(path).ok().map(|bytes| Self::File { bytes })
    }
}

/// Returns why `current` cannot be judged against `baseline`; `None` unless a run is on both sides.
pub fn is_itself(baseline: &[Run], current: &[Run], directories: &Directories) -> Option<String> {
    let run = current.iter().find(|run| baseline.iter().any(|other| other.run_id == run.run_id))?;
    Some(format!(
        "the run {} is the baseline itself; measure another with `{}`",
        run.run_id,
        directories.command(&measure_again(run))
    ))
}

/// A comparison with a saved baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct SavedComparison {
    /// Result of the comparison.
    pub result: ComparisonResult,
    /// The runs of the baseline.
    pub baseline: Vec<Run>,
}

/// Compares `run` with the baseline saved for its machine and suite, if there is one. Returns the
/// verdict of the last `gate` call that remeasured these runs if it is still valid, else the
/// verdict on the stored values.
///
/// # Errors
/// If the baseline cannot be read or contains the run itself.
pub fn against_saved(
    store: &Store,
    directories: &Directories,
    run: &Run,
    policy: &Policy,
) -> Result<Option<SavedComparison>, String> {
    let fingerprint = Fingerprint::of(&run.environment);
    let baselines = Baselines::new(&directories.baselines);
    let path = baselines.path_of(&fingerprint, &run.suite);
    let saved = baselines.saved(&fingerprint, &run.suite).map_err(|error| error.to_string())?;
    let Some(baseline) = saved else { return Ok(None) };
    let (before, current) = (baseline.into_runs(), std::slice::from_ref(run));
    if let Some(why) = is_itself(&before, current, directories) {
        return Err(why);
    }
    let result = rsb_stats::gate(&before, current, policy, &[], Timestamp::now());
    let result = as_gated(store, result, [&path, directories.policy.path()]);
    Ok(Some(SavedComparison { result, baseline: before }))
}

/// Returns the verdict that `gate` reached on the same runs by remeasuring, if nothing has changed
/// since then, else `result`, which is based on stored values. `files` are the files of the
/// baseline and the policy.
pub fn as_gated(store: &Store, result: ComparisonResult, files: [&Path; 2]) -> ComparisonResult {
    find_remeasured(store, &result, files).unwrap_or(result)
}

/// Returns the verdict that `gate` reached on the runs of `result` by remeasuring, if nothing has
/// changed since then.
pub(super) fn find_remeasured(
    store: &Store,
    result: &ComparisonResult,
    files: [&Path; 2],
) -> Option<ComparisonResult> {
    let run_file = format!("{}.json", result.current_run_id);
    let stored = modified_at(&store.results_dir().join("runs").join(run_file))?;
    let newest = files.into_iter().filter_map(modified_at).fold(stored, Timestamp::max);
    for row in store.comparisons().unwrap_or_default() {
        let is_later = row.baseline_run_id == result.baseline_run_id
            && row.current_run_id == result.current_run_id
            && row.timestamp >= newest;
        if !is_later {
            continue;
        }
        let Ok(Some(kept)) = store.comparison(&row.comparison_id) else { continue };
        if was_remeasured(&kept) && is_same_question(&kept, result) {
            return Some(kept);
        }
    }
    None
}

fn modified_at(path: &Path) -> Option<Timestamp> {
    Timestamp::try_from(std::fs::metadata(path).ok()?.modified().ok()?).ok()
}

fn was_remeasured(result: &ComparisonResult) -> bool {
    result.notes.iter().any(|note| note.code == ComparisonNoteCode::Remeasured)
}

/// Returns whether both comparisons cover the same cases and metrics with the same thresholds, and
/// `current` is comparable.
fn is_same_question(kept: &ComparisonResult, current: &ComparisonResult) -> bool {
    current.verdict != Verdict::NotComparable
        && is_same_threshold(kept.threshold_percent, current.threshold_percent)
        && kept.comparisons.len() == current.comparisons.len()
        && kept.comparisons.iter().zip(&current.comparisons).all(|(a, b)| {
            a.id == b.id
                && a.metric == b.metric
                && is_same_threshold(a.threshold_percent, b.threshold_percent)
        })
}

fn is_same_threshold(a_percent: f64, b_percent: f64) -> bool {
    (a_percent - b_percent).abs() < 1e-9
}

/// Opens the results directory for reading and reports its notices.
///
/// # Errors
/// If it cannot be read.
pub fn open(directories: &Directories, listener: &mut Listener<'_>) -> Result<Store, EngineError> {
    let store = Store::open_existing(&directories.results).map_err(EngineError::usage)?;
    for note in rsb_store::notes(&store.notices()) {
        listener(&Event::note(note));
    }
    Ok(store)
}

/// Reads a run, a baseline, or a result file of another tool.
fn read_file(path: &Path) -> Result<Vec<Run>, EngineError> {
    match read_recorded(path) {
        Ok(RecordedFile::Run(run)) => Ok(vec![*run]),
        Ok(RecordedFile::Baseline(baseline)) => Ok(baseline.into_runs()),
        Err(unfit @ ReadError::Unfit { .. }) => Err(EngineError::usage(unfit)),
        Err(not_ours) => match import::import(path, None) {
            Ok(run) => Ok(vec![run]),
            Err(
                ImportError::Undetected { .. }
                | ImportError::Read(ReadError::Io { .. })
                | ImportError::Empty { .. },
            ) => Err(EngineError::usage(not_ours)),
            Err(theirs) => Err(EngineError::usage(theirs)),
        },
    }
}

/// Returns whether `text` names a file rather than an id.
pub fn is_path(text: &str) -> bool {
    Path::new(text).exists() || text.contains('/') || Path::new(text).extension().is_some()
}
