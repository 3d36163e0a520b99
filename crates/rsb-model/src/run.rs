//! Run: the results of one invocation and the machine that they were measured on.

use itertools::Itertools as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::format::FORMAT_VERSION;
use crate::ids::RunId;
use crate::note::Note;
use crate::outcome::Outcome;
use crate::plan_selection::PlanSelection;
use crate::record::BenchmarkResult;
use crate::run_device::RunDevice;

/// Profile of runs under `cargo bench`.
pub const CRITERION_PROFILE: &str = "criterion";

/// Results of one invocation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Version of the document format; see [`crate::format`].
    pub format_version: u32,
    /// Unique id, and name of the file.
    pub run_id: RunId,
    /// Position among the runs measured into one results directory, from 1. The highest is the
    /// latest run, independent of the clock. Absent for imported runs and before format 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    /// Original id, if the store already contained another run with that id when this one was
    /// added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin_id: Option<RunId>,
    /// Whether another tool measured the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
    /// Time at which the run began.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub started: jiff::Timestamp,
    /// Time at which the run ended. Null while it is in progress and if it was cut off.
    #[serde(default)]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub finished: Option<jiff::Timestamp>,
    /// Requested measurement, such as the name of the suite.
    pub suite: String,
    /// Profile: `quick`, `standard`, `thorough`, or `criterion` under `cargo bench`.
    pub profile: String,
    /// Selection of cases within the suite. Absent if the whole suite was requested, and in runs of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "PlanSelection::is_empty")]
    pub selection: PlanSelection,
    /// Machine that the run was measured on.
    pub environment: Environment,
    /// Devices that cases were planned on, with their addresses and drivers. Devices with the same
    /// address are the same GPU.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<RunDevice>,
    /// Results, one per case, in the order in which the cases ended.
    pub benchmarks: Vec<BenchmarkResult>,
    /// Hash of the program that measured the run, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Notes for readers, for example that the run was interrupted.
    #[serde(default)]
    pub notes: Vec<Note>,
}

/// Returns the kind of a note on a case: its text before the first digit. Notes of one kind differ
/// in their numbers only.
pub fn kind_of_note(note: &str) -> &str {
    note.split(|c: char| c.is_ascii_digit()).next().unwrap_or_default()
}

/// Summary of one kind of note on the cases of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseNote {
    /// Text of the note; if notes differ in their numbers, the one with the highest number.
    pub worst: String,
    /// Number of cases with this note.
    pub cases: usize,
    /// Whether the notes differ in their numbers.
    pub varies: bool,
}

/// Number of replicates that a run has taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicateProgress {
    /// Replicates taken, over all cases.
    pub done: usize,
    /// Planned replicates, over all cases.
    pub total: usize,
}

/// Number of cases by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Measured cases.
    pub measured: usize,
    /// Skipped cases.
    pub skipped: usize,
    /// Failed cases.
    pub failed: usize,
    /// Simulated cases.
    pub simulated: usize,
}

impl Run {
    /// Returns a run without results that has just begun.
    pub fn begin(
        run_id: RunId,
        started: jiff::Timestamp,
        suite: &str,
        profile: &str,
        environment: Environment,
    ) -> Self {
        Self {
            format_version: FORMAT_VERSION,
            run_id,
            sequence: None,
            origin_id: None,
            imported: false,
            started,
            finished: None,
            suite: suite.to_owned(),
            profile: profile.to_owned(),
            selection: PlanSelection::default(),
            environment,
            devices: Vec::new(),
            benchmarks: Vec::new(),
            program: None,
            notes: Vec::new(),
        }
    }

    /// Adds `result`, replacing an earlier result of the same case.
    pub fn keep(&mut self, result: BenchmarkResult) {
        match self.benchmarks.iter_mut().find(|known| known.benchmark_id == result.benchmark_id) {
            Some(known) => *known = result,
            None => self.benchmarks.push(result),
        }
    }

    /// Returns the intentional slowdown of the run, if any.
    pub fn slowdown(&self) -> Option<&str> {
        self.notes.iter().find_map(|note| match note {
            Note::Slowed { slowdown } => Some(slowdown.as_str()),
            _ => None,
        })
    }

    /// Returns the distinct texts under the metadata key `key` of all cases, with the number of
    /// cases that contain each.
    pub fn texts_of_cases(&self, key: &str) -> Vec<(String, usize)> {
        let mut counts: Vec<(String, usize)> = Vec::new();
        for result in &self.benchmarks {
            let Some(value) = result.metadata.get(key) else { continue };
            let items = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
            let texts = items.iter().filter_map(serde_json::Value::as_str);
            for text in texts.sorted_unstable().dedup() {
                match counts.iter_mut().find(|(known, _)| known == text) {
                    Some((_, count)) => *count += 1,
                    None => counts.push((text.to_owned(), 1)),
                }
            }
        }
        counts
    }

    /// Returns one summary per kind of note on the cases.
    pub fn case_notes(&self) -> Vec<CaseNote> {
        let mut kinds: Vec<CaseNote> = Vec::new();
        for (text, cases) in self.texts_of_cases("notes") {
            match kinds.iter_mut().find(|known| kind_of_note(&known.worst) == kind_of_note(&text)) {
                Some(known) => {
                    if first_figure(&text) > first_figure(&known.worst) {
                        known.worst = text;
                    }
                    (known.cases, known.varies) = (known.cases + cases, true);
                }
                None => kinds.push(CaseNote { worst: text, cases, varies: false }),
            }
        }
        kinds
    }

    /// Returns whether the run was stopped or cut off, so that cases are missing.
    pub fn is_interrupted(&self) -> bool {
        self.finished.is_none() || self.notes.iter().any(Note::is_interruption)
    }

    /// Returns whether the same cases were requested in both runs: their suite, profile and
    /// selection agree. Returns `false` for runs under `cargo bench`, whose filter is not stored.
    pub fn is_of_plan_of(&self, other: &Self) -> bool {
        self.suite == other.suite
            && self.profile == other.profile
            && self.profile != CRITERION_PROFILE
            && self.selection == other.selection
    }

    /// Counts the cases by outcome.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for result in &self.benchmarks {
            match result.outcome {
                Outcome::Measured => counts.measured += 1,
                Outcome::Skipped => counts.skipped += 1,
                Outcome::Failed => counts.failed += 1,
                Outcome::Simulated => counts.simulated += 1,
            }
        }
        counts
    }
}

/// Returns the first number in `text`, or 0 if there is none.
fn first_figure(text: &str) -> f64 {
    let rest = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    rest.get(..end).and_then(|number| number.trim_end_matches('.').parse().ok()).unwrap_or(0.0)
}
