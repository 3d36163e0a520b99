//! Alerts: a change of level, a failed gate, cases that are no longer measured, a failed run, or
//! slow and failed nodes.

mod problems;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rsb_model::record::{AlertState, Comparison, ComparisonNoteCode, Severity, TrackedAlert};
use rsb_model::shown::{clean, short_hash, shorten};
use rsb_model::{ComparisonResult, Timestamp, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use problems::{NodeProblem, ProblemNode};

/// Maximum number of series that a message names; [`NotifyAlert::series_count`] counts all.
pub(crate) const MAX_SERIES: usize = 20;

/// Maximum number of commits and causes that an alert names.
const MAX_LINES: usize = 10;

/// Maximum length of a name or line in characters.
const MAX_CHARS: usize = 200;

/// Days after which a case without a measurement counts as removed on purpose.
const RETIRED_DAYS: f64 = 60.0;

/// Origin of an alert. Alerts of different kinds neither fire nor close each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AlertKind {
    /// A change of level in the stored runs, tracked by `trend`.
    Change,
    /// A verdict of `gate`.
    Gate,
    /// Cases without a recent measurement.
    NotMeasured,
    /// The newest run has failed cases, or was cut off.
    RunFailed,
    /// Slow or failed nodes of a campaign.
    Nodes,
    /// A test message.
    Test,
}

impl AlertKind {
    /// Returns whether no later analysis finds the alert again.
    pub(crate) const fn is_found_once(self) -> bool {
        matches!(self, Self::Gate | Self::Nodes)
    }
}

/// State of an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotifyState {
    /// Open, and no user has commented on it.
    New,
    /// Open and known: acknowledged, or a consequence of another change.
    Acknowledged,
    /// Closed by a verdict: the old level is restored, or the gate passes.
    Recovered,
    /// Closed, because it was not a change.
    Withdrawn,
}

impl NotifyState {
    /// Returns whether the alert is closed.
    pub const fn is_closed(self) -> bool {
        matches!(self, Self::Recovered | Self::Withdrawn)
    }
}

impl From<AlertState> for NotifyState {
    fn from(state: AlertState) -> Self {
        match state {
            AlertState::New => Self::New,
            AlertState::Acknowledged | AlertState::Downstream => Self::Acknowledged,
            AlertState::Fixed => Self::Recovered,
            AlertState::Invalid => Self::Withdrawn,
        }
    }
}

/// Change of one series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesChange {
    /// Id of the case or series.
    pub id: String,
    /// Name of the metric; empty for the whole case.
    pub metric: String,
    /// Change in percent of the old level, if known.
    pub change_percent: Option<f64>,
}

impl SeriesChange {
    fn new(id: &str, metric: &str, change_percent: Option<f64>) -> Self {
        Self { id: tidy(id), metric: tidy(metric), change_percent }
    }

    /// Returns a hash of case and metric.
    pub(crate) fn hash(&self) -> String {
        short_hash(&[self.id.as_str(), &self.metric].join("\n"))
    }

    /// Formats the change as a line: `gemm/… time_ms +23.4 %`.
    pub fn line(&self) -> String {
        let mut line = self.id.clone();
        if !self.metric.is_empty() {
            line.extend([" ", &self.metric]);
        }
        if let Some(percent) = self.change_percent {
            line.extend([" ", &format_percent(percent)]);
        }
        line
    }
}

/// Subject of a verdict of `gate`. Verdicts with the same scope open and close the same alert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateScope {
    /// Machine, as the directory name of its hardware; empty if unknown.
    pub machine: String,
    /// Reference of the comparison: a baseline, a revision or the history.
    pub reference: String,
    /// Branch of the code, or its commit if no branch is checked out; empty if unknown.
    pub branch: String,
}

/// Time of the last measurement of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastMeasured {
    /// Id of the case.
    pub id: String,
    /// Time of its newest value.
    pub at: Timestamp,
}

/// One alert. Texts are sanitized and limited in length, but not escaped for any format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NotifyAlert {
    /// Identity, of letters, digits and `-`. It stays the same while the alert is open.
    pub key: String,
    /// Origin.
    pub kind: AlertKind,
    /// State.
    pub state: NotifyState,
    /// Severity.
    pub severity: Severity,
    /// Machine, as the directory name of its hardware; empty if unknown.
    pub machine: String,
    /// Time since which the alert holds: the first run at the new level, or the last measurement.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub since: Timestamp,
    /// Time at which an analysis first found it.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub first_seen: Timestamp,
    /// First run at the new level, the judged run, or the campaign.
    pub run: Option<String>,
    /// Reference with which `gate` compared the run; for nodes, their problem.
    pub reference: Option<String>,
    /// `worse`, `better`, or `changed` if the direction is unknown.
    pub direction: String,
    /// Whether too few runs confirm the change.
    pub is_suspected: bool,
    /// Whether only one run shows the change, or it is suspected and not shown any more.
    #[serde(skip)]
    pub is_tentative: bool,
    /// The series that changed most, largest change first.
    pub series: Vec<SeriesChange>,
    /// Values that decide whether the alert may close, by hash of the case. For a gate: the
    /// threshold in percent of each decided case. For cases that are not measured: the time of each
    /// last measurement, in seconds. Not included in messages.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(skip)]
    pub decided: BTreeMap<String, f64>,
    /// Number of all series that changed.
    pub series_count: usize,
    /// Number of series measured on the machine; 0 if unknown.
    pub measured: usize,
    /// Differences of the machine that may explain the change. Check these before the code.
    pub causes: Vec<String>,
    /// Commits between the old and the new level, oldest first.
    pub commits: Vec<String>,
    /// Explanation of the state.
    pub because: Option<String>,
    /// Commands that explain or acknowledge the alert.
    pub next: Vec<String>,
    /// Chart of the series that changed most, as SVG. Only mails contain it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub chart: Option<String>,
}

/// Result of the current analysis for a tracked change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AnalysisContext {
    /// Number of series of the machine; 0 if unknown.
    pub measured: usize,
    /// Whether the analysis finds the change in at least two runs.
    pub is_repeated: bool,
    /// Size in percent from which a change for the worse is critical.
    pub critical_percent: f64,
}

impl AnalysisContext {
    /// Context if there is no analysis.
    pub const NONE: Self =
        Self { measured: 0, is_repeated: false, critical_percent: f64::INFINITY };
}

/// Part of the details of an alert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DetailSection {
    /// Heading.
    pub heading: &'static str,
    /// Lines below the heading.
    pub lines: Vec<String>,
}

impl NotifyAlert {
    /// Converts a change that `trend` tracks.
    pub fn from_tracked(alert: &TrackedAlert, analysis: AnalysisContext) -> Self {
        let AnalysisContext { measured, is_repeated, critical_percent } = analysis;
        let is_suspected = !alert.moves.iter().any(|one| one.confirmed);
        // `trend` reports a critical change as a warning until more runs confirm it. The severity
        // of an alert should not change then.
        let is_critical = is_repeated
            && alert.severity == Severity::Warning
            && alert.direction == "worse"
            && alert.moves.iter().any(|one| one.change_percent.abs() >= critical_percent);
        let first = &alert.range.first_after;
        let moves = alert.moves.iter();
        let causes = alert.environment_changes.iter().map(|difference| {
            format!("{} {} → {}", difference.field, difference.baseline, difference.current)
        });
        Self {
            key: safe_key(&alert.id),
            kind: AlertKind::Change,
            state: alert.state.into(),
            severity: if is_critical { Severity::Critical } else { alert.severity },
            machine: tidy(&alert.machine),
            since: first.timestamp,
            run: first.run_id.as_ref().map(|id| tidy(&id.0)),
            direction: tidy(&alert.direction),
            is_suspected,
            is_tentative: is_suspected && !is_repeated,
            series: moves
                .map(|one| SeriesChange::new(&one.id, &one.metric, Some(one.change_percent)))
                .collect(),
            series_count: alert.moves.len(),
            measured,
            causes: causes.take(MAX_LINES).map(|line| tidy(&line)).collect(),
            commits: alert.commits.iter().take(MAX_LINES).map(|line| tidy(line)).collect(),
            because: alert.because.as_deref().map(tidy),
            ..Self::test(alert.first_seen)
        }
    }

    /// Converts a verdict of `gate`: open if something regressed, recovered if it passes and decides
    /// all reported cases. `None` without a verdict, which neither opens nor closes an alert.
    pub fn from_comparison(result: &ComparisonResult, scope: &GateScope) -> Option<Self> {
        let state = match result.verdict {
            Verdict::Regressed => NotifyState::New,
            Verdict::Improved | Verdict::Unchanged => NotifyState::Recovered,
            Verdict::Inconclusive | Verdict::NotComparable => return None,
        };
        let mut rows: Vec<&Comparison> =
            result.comparisons.iter().filter(|row| row.verdict == Verdict::Regressed).collect();
        rows.sort_by(|a, b| size_of(b).total_cmp(&size_of(a)));
        let is_critical = rows.iter().any(|row| size_of(row) >= 2.0 * row.threshold_percent);
        let of = |row: &Comparison| {
            SeriesChange::new(row.id.as_str(), &row.metric, row.difference_percent)
        };
        let is_decided = |row: &&Comparison| {
            matches!(row.verdict, Verdict::Regressed | Verdict::Improved | Verdict::Unchanged)
        };
        let decided = result.comparisons.iter().filter(is_decided);
        let causes = result.notes.iter().filter(|note| {
            matches!(
                note.code,
                ComparisonNoteCode::MachineState | ComparisonNoteCode::MachineDiffers
            )
        });
        let GateScope { machine, reference, branch } = scope;
        let identity = [machine.as_str(), reference, branch].join("\n");
        Some(Self {
            key: format!("gate-{}", short_hash(&identity)),
            kind: AlertKind::Gate,
            state,
            severity: if is_critical { Severity::Critical } else { Severity::Warning },
            machine: tidy(machine),
            run: Some(tidy(&result.current_run_id)),
            reference: Some(tidy(reference)),
            direction: "worse".to_owned(),
            series: rows.iter().map(|row| of(row)).collect(),
            decided: decided.map(|row| (of(row).hash(), row.threshold_percent)).collect(),
            series_count: rows.len(),
            measured: result.comparisons.len(),
            causes: causes.take(MAX_LINES).map(|note| tidy(&note.text)).collect(),
            ..Self::test(result.timestamp)
        })
    }

    /// Returns the alert about cases that were not measured for more than `days`: open if there are
    /// any, otherwise recovered. Ignores cases without a value for two months.
    pub fn from_unmeasured(
        machine: &str,
        cases: &[LastMeasured],
        now: Timestamp,
        days: f64,
    ) -> Self {
        let current: Vec<&LastMeasured> =
            cases.iter().filter(|case| age_days(case, now) <= RETIRED_DAYS).collect();
        let old: Vec<&LastMeasured> =
            current.iter().copied().filter(|case| age_days(case, now) > days).collect();
        let of = |case: &LastMeasured| SeriesChange::new(&case.id, "", None);
        Self {
            key: format!("unmeasured-{}", short_hash(machine)),
            kind: AlertKind::NotMeasured,
            state: if old.is_empty() { NotifyState::Recovered } else { NotifyState::New },
            severity: Severity::Warning,
            machine: tidy(machine),
            since: old.iter().map(|case| case.at).max().unwrap_or(now),
            series: old.iter().map(|case| of(case)).collect(),
            decided: current
                .iter()
                .map(|case| (of(case).hash(), case.at.as_second() as f64))
                .collect(),
            series_count: old.len(),
            measured: current.len(),
            ..Self::test(now)
        }
    }

    /// Returns the alert of a test message.
    pub fn test(now: Timestamp) -> Self {
        Self {
            key: format!("test-{}", now.as_second()),
            kind: AlertKind::Test,
            state: NotifyState::New,
            severity: Severity::Info,
            machine: String::new(),
            since: now,
            first_seen: now,
            run: None,
            reference: None,
            direction: "changed".to_owned(),
            is_suspected: false,
            is_tentative: false,
            series: Vec::new(),
            decided: BTreeMap::new(),
            series_count: 0,
            measured: 0,
            causes: Vec::new(),
            commits: Vec::new(),
            because: None,
            next: Vec::new(),
            chart: None,
        }
    }

    /// Returns the alert for a message: with only the largest series, and without `decided`.
    pub(crate) fn for_message(mut self) -> Self {
        self.series.truncate(MAX_SERIES);
        self.decided.clear();
        self
    }

    /// Returns the size of the largest change in percent.
    pub fn largest_percent(&self) -> f64 {
        let sizes = self.series.iter().filter_map(|one| one.change_percent);
        sizes.map(f64::abs).fold(0.0, f64::max)
    }

    /// Returns whether so many series changed together that the machine is a likely cause.
    pub fn is_machine_wide(&self) -> bool {
        self.kind == AlertKind::Change
            && self.series_count >= 3
            && self.measured > 0
            && 2 * self.series_count >= self.measured
    }

    /// Returns the address of the case that changed most in the dashboard at `base`, or that of the
    /// dashboard if the alert is not about cases.
    pub(crate) fn link(&self, base: &str) -> String {
        let base = base.trim_end_matches('/');
        let case = match self.kind {
            AlertKind::Nodes | AlertKind::Test => None,
            _ => self.series.first(),
        };
        let Some(case) = case else { return base.to_owned() };
        let mut link = format!("{base}/case?id={}", encode(&case.id));
        // A gate may compare a run that is not stored.
        if self.kind == AlertKind::Change {
            link.extend(["&machine=", &encode(&self.machine)]);
        }
        link
    }

    /// Returns the alert in one line, without its state.
    pub fn headline(&self) -> String {
        let place =
            if self.machine.is_empty() { String::new() } else { format!(" on {}", self.machine) };
        match self.kind {
            AlertKind::Change => self.change_headline(&place),
            AlertKind::Gate => self.gate_headline(&place),
            AlertKind::RunFailed => self.run_headline(&place),
            AlertKind::Nodes => self.nodes_headline(),
            AlertKind::NotMeasured if self.state == NotifyState::Withdrawn => {
                format!("cases{place} not measured for {RETIRED_DAYS} days; no longer expected")
            }
            AlertKind::NotMeasured if self.state.is_closed() => {
                format!("all {} cases{place} are measured again", self.measured)
            }
            AlertKind::NotMeasured => format!(
                "{} of {} cases{place} not measured since {}",
                self.series_count,
                self.measured,
                self.since.strftime("%Y-%m-%d %H:%M UTC")
            ),
            AlertKind::Test => "test message from rusty-stack-bench; there is no alert".to_owned(),
        }
    }

    fn change_headline(&self, place: &str) -> String {
        let since = match &self.run {
            Some(run) => format!("since run {run}"),
            None => format!("since {}", self.since.strftime("%Y-%m-%d %H:%M UTC")),
        };
        let suspected = if self.is_suspected { "suspected: " } else { "" };
        match self.series.as_slice() {
            [only] if self.series_count == 1 => {
                format!("{suspected}{}{place} {since}", only.line())
            }
            series => {
                let of = if self.measured >= self.series_count {
                    format!(" of {}", self.measured)
                } else {
                    String::new()
                };
                let worst = series.iter().filter_map(|one| one.change_percent);
                let worst = worst.max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or_default();
                let (count, direction) = (self.series_count, &self.direction);
                let worst = format_percent(worst);
                format!("{suspected}{count}{of} series{place} {direction}, up to {worst}, {since}")
            }
        }
    }

    fn gate_headline(&self, place: &str) -> String {
        let against = self.reference.as_deref().unwrap_or("the baseline");
        if self.state.is_closed() {
            return format!("gate passes{place} against {against}");
        }
        let worst = self.series.first().map_or_else(String::new, |one| format!(": {}", one.line()));
        let count = self.series_count;
        let cases = if count == 1 { "case" } else { "cases" };
        format!("gate: {count} {cases} regressed{place} against {against}{worst}")
    }

    /// Returns the details, causes first.
    pub fn sections(&self) -> Vec<DetailSection> {
        let mut causes = self.causes.clone();
        if self.is_machine_wide() {
            let (count, all) = (self.series_count, self.measured);
            causes.insert(
                0,
                format!("{count} of {all} series changed together; the machine may be the cause"),
            );
        }
        let named = self.series.iter().take(MAX_SERIES);
        let mut series: Vec<String> = named.map(SeriesChange::line).collect();
        if let Some(more) = self.series_count.checked_sub(series.len()).filter(|n| *n > 0) {
            series.push(format!("and {more} more"));
        }
        let all = [
            ("Check the machine first", causes),
            ("Cases", series),
            ("Commits", self.commits.clone()),
            ("Why", self.because.iter().cloned().collect()),
            ("Next", self.next.clone()),
        ];
        let filled = all.into_iter().filter(|(_, lines)| !lines.is_empty());
        filled.map(|(heading, lines)| DetailSection { heading, lines }).collect()
    }
}

fn age_days(case: &LastMeasured, now: Timestamp) -> f64 {
    now.duration_since(case.at).as_secs_f64() / 86_400.0
}

fn size_of(row: &Comparison) -> f64 {
    row.difference_percent.unwrap_or_default().abs()
}

fn format_percent(percent: f64) -> String {
    format!("{percent:+.1} %")
}

/// Encodes `text` for a query, as the addresses of the dashboard.
fn encode(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~/:,@!*".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// Removes control characters from `text` and limits its length.
fn tidy(text: &str) -> String {
    shorten(&clean(text), MAX_CHARS)
}

/// Returns `id` if it is safe in a header, label or comment, else a hash of it.
fn safe_key(id: &str) -> String {
    let is_safe = (1..=64).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if is_safe { id.to_owned() } else { format!("a-{}", short_hash(id)) }
}

#[cfg(test)]
pub(crate) mod tests;
