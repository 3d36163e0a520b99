//! A run: what one invocation measured, with the machine it was measured on.

use itertools::Itertools as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::format::FORMAT_VERSION;
use crate::ids::RunId;
use crate::note::Note;
use crate::outcome::Outcome;
use crate::record::BenchmarkResult;
use crate::run_device::RunDevice;

/// What one invocation measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// See [`crate::format`].
    pub format_version: u32,
    /// Unique; also the name of the file.
    pub run_id: RunId,
    /// Its place among the runs measured into one results directory, from 1: the highest is the
    /// latest one, whatever the clock said. None of what was imported, nor before format 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    /// The id under which it was measured, where another run had that id already in the store that
    /// took it in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin_id: Option<RunId>,
    /// Whether another tool measured it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
    /// When it began.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub started: jiff::Timestamp,
    /// When it ended; null while it runs or when it was cut off.
    #[serde(default)]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub finished: Option<jiff::Timestamp>,
    /// What was asked for, such as the suite's name.
    pub suite: String,
    /// How thoroughly: `quick`, `standard`, `thorough`, or `criterion` under `cargo bench`.
    pub profile: String,
    /// The machine.
    pub environment: Environment,
    /// The devices that cases were planned on: which of them are one GPU, and through which driver
    /// each was reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<RunDevice>,
    /// One for each case, in the order in which they ended.
    pub benchmarks: Vec<BenchmarkResult>,
    /// A hash of the program that measured, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// What a reader should know: interrupted, noisy …
    #[serde(default)]
    pub notes: Vec<Note>,
}

/// What a note on a case is about: its words before the first figure. Notes of one kind differ in
/// their figures.
pub fn kind_of_note(note: &str) -> &str {
    note.split(|c: char| c.is_ascii_digit()).next().unwrap_or_default()
}

/// What disturbed cases, said once for all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseNote {
    /// The sentence; of those that differ in their figures alone the one with the highest.
    pub worst: String,
    /// How many cases say so.
    pub cases: usize,
    /// Whether they differ in their figures.
    pub varies: bool,
}

/// How many replicates of its cases a run has taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicateProgress {
    /// Replicates taken, over all cases.
    pub done: usize,
    /// Replicates that the run takes, over all cases.
    pub total: usize,
}

/// How many cases ended how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Measured.
    pub measured: usize,
    /// Skipped.
    pub skipped: usize,
    /// Failed.
    pub failed: usize,
    /// Simulated.
    pub simulated: usize,
}

impl Run {
    /// A run that has just begun.
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
            environment,
            devices: Vec::new(),
            benchmarks: Vec::new(),
            program: None,
            notes: Vec::new(),
        }
    }

    /// Takes over `result`, in place of what was known of its case before.
    pub fn keep(&mut self, result: BenchmarkResult) {
        match self.benchmarks.iter_mut().find(|known| known.benchmark_id == result.benchmark_id) {
            Some(known) => *known = result,
            None => self.benchmarks.push(result),
        }
    }

    /// How its cases were made slower on purpose, if they were.
    pub fn slowdown(&self) -> Option<&str> {
        self.notes.iter().find_map(|note| match note {
            Note::Slowed { slowdown } => Some(slowdown.as_str()),
            _ => None,
        })
    }

    /// What its cases say under `key` of their metadata, each thing once, with the number of cases
    /// that say it.
    pub fn said_of_cases(&self, key: &str) -> Vec<(String, usize)> {
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

    /// What disturbed its cases, each kind once: that with the highest figure stands for the
    /// others.
    pub fn case_notes(&self) -> Vec<CaseNote> {
        let mut kinds: Vec<CaseNote> = Vec::new();
        for (text, cases) in self.said_of_cases("notes") {
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

    /// Whether it was stopped or cut off, so that cases are missing from it.
    pub fn is_interrupted(&self) -> bool {
        self.finished.is_none() || self.notes.iter().any(Note::is_interruption)
    }

    /// How many cases ended how.
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

/// The first figure in `text`.
fn first_figure(text: &str) -> f64 {
    let rest = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    rest.get(..end).and_then(|number| number.trim_end_matches('.').parse().ok()).unwrap_or(0.0)
}
