//! The state of a store as metrics for Prometheus. All metrics are gauges without timestamps, for
//! which the Prometheus text format and `OpenMetrics` differ only in the last line.

use std::collections::{BTreeMap, HashSet};

use rsb_model::record::{AlertState, Severity, TrackedAlert};
use rsb_model::run::Counts;
use rsb_model::{Timestamp, Verdict};

/// Default limit of [`MetricsInput::max_series`].
pub const DEFAULT_MAX_SERIES: usize = 5_000;

/// Format of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricsFormat {
    /// Prometheus text format 0.0.4.
    Prometheus,
    /// `OpenMetrics` 1.0, which ends with `# EOF`.
    OpenMetrics,
}

impl MetricsFormat {
    /// Returns the format that an HTTP client requests in its `Accept` header.
    pub fn accepted_by(accept: &str) -> Self {
        let is_open = |media: &str| {
            let kind = media.split(';').next().unwrap_or_default().trim();
            kind.eq_ignore_ascii_case("application/openmetrics-text")
        };
        if accept.split(',').any(is_open) { Self::OpenMetrics } else { Self::Prometheus }
    }

    /// Returns the MIME type.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// Data from which the metrics are formatted.
#[derive(Debug, Clone)]
pub struct MetricsInput {
    /// Version of this program.
    pub version: &'static str,
    /// The machines with stored runs.
    pub machines: Vec<MachineMetrics>,
    /// The measured cases of all machines.
    pub cases: Vec<CaseMetrics>,
    /// The alerts that `trend` has reported.
    pub alerts: Vec<TrackedAlert>,
    /// The runs that are being measured now.
    pub running: RunningMetrics,
    /// The newest campaign, if the project has one.
    pub campaign: Option<CampaignMetrics>,
    /// Maximum number of time series that belong to single cases. Regressed cases are written
    /// first.
    pub max_series: usize,
}

/// Progress of the runs that are being measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunningMetrics {
    /// Number of the runs.
    pub runs: usize,
    /// Replicates that they have taken.
    pub done: usize,
    /// Replicates that they will take in all, if known.
    pub planned: usize,
}

/// States of a campaign over the nodes of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CampaignMetrics {
    /// Name.
    pub campaign: String,
    /// Number of jobs by state, states without a job included.
    pub jobs: BTreeMap<String, usize>,
    /// Number of nodes by state, states without a node included.
    pub nodes: BTreeMap<String, usize>,
    /// State of each node.
    pub node_states: BTreeMap<String, String>,
}

/// Runs of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineMetrics {
    /// Slug of the machine.
    pub machine: String,
    /// Number of its stored runs.
    pub runs: usize,
    /// Start time of its newest run.
    pub newest: Timestamp,
    /// Outcomes of the cases of this run.
    pub counts: Counts,
}

/// A case on a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseMetrics {
    /// Id of the case.
    pub case: String,
    /// Slug of the machine.
    pub machine: String,
    /// Time of an iteration when it was last measured, in seconds.
    pub seconds: f64,
    /// Start time of the run that last measured the case.
    pub measured: Timestamp,
    /// Last verdict; `None` if the case was never compared.
    pub verdict: Option<Verdict>,
}

impl CaseMetrics {
    /// Returns the number of time series of the case.
    const fn series(&self) -> usize {
        if self.verdict.is_some() { 2 + VERDICTS.len() } else { 2 }
    }
}

const VERDICTS: [Verdict; 5] = [
    Verdict::Improved,
    Verdict::Regressed,
    Verdict::Unchanged,
    Verdict::Inconclusive,
    Verdict::NotComparable,
];

const STATES: [AlertState; 5] = [
    AlertState::New,
    AlertState::Acknowledged,
    AlertState::Downstream,
    AlertState::Invalid,
    AlertState::Fixed,
];

const SEVERITIES: [Severity; 3] = [Severity::Info, Severity::Warning, Severity::Critical];

/// Returns the metrics in `format`. The same input gives the same bytes.
pub fn metrics(input: &MetricsInput, format: MetricsFormat) -> String {
    let mut families = vec![build_info(input)];
    families.extend(machine_families(&input.machines));
    families.extend(case_families(input));
    families.push(alert_family(&input.alerts));
    families.extend(running_families(input.running));
    families.extend(input.campaign.iter().flat_map(campaign_families));
    let mut text: String = families.iter().map(GaugeFamily::text).collect();
    if format == MetricsFormat::OpenMetrics {
        text.push_str("# EOF\n");
    }
    text
}

fn build_info(input: &MetricsInput) -> GaugeFamily {
    let mut info = GaugeFamily::new("rsb_build_info", "Version of rusty-stack-bench.");
    info.set(&[label("version", input.version)], 1.0);
    info
}

fn machine_families(machines: &[MachineMetrics]) -> [GaugeFamily; 3] {
    let mut runs = GaugeFamily::new("rsb_runs", "Stored runs.");
    let mut newest = GaugeFamily::new(
        "rsb_newest_run_timestamp_seconds",
        "Start of the newest run, in seconds since 1970.",
    );
    let mut outcomes =
        GaugeFamily::new("rsb_newest_run_cases", "Cases of the newest run by outcome.");
    for machine in machines {
        let name = label("machine", &machine.machine);
        runs.set(std::slice::from_ref(&name), machine.runs as f64);
        newest.set(std::slice::from_ref(&name), seconds_since_1970(machine.newest));
        let Counts { measured, skipped, failed, simulated } = machine.counts;
        for (outcome, count) in [
            ("measured", measured),
            ("skipped", skipped),
            ("failed", failed),
            ("simulated", simulated),
        ] {
            outcomes.set(&[name.clone(), label("outcome", outcome)], count as f64);
        }
    }
    [runs, newest, outcomes]
}

fn case_families(input: &MetricsInput) -> [GaugeFamily; 5] {
    let mut by_verdict =
        GaugeFamily::new("rsb_cases", "Measured cases by last verdict, dropped cases included.");
    let machines: HashSet<&str> = input.cases.iter().map(|case| case.machine.as_str()).collect();
    for machine in machines {
        for verdict in VERDICTS.map(Some).into_iter().chain([None]) {
            let is_counted =
                |case: &&CaseMetrics| case.machine == machine && case.verdict == verdict;
            let count = input.cases.iter().filter(is_counted).count();
            let verdict = verdict.map_or("none", Verdict::as_str);
            by_verdict.set(&[label("machine", machine), label("verdict", verdict)], count as f64);
        }
    }
    let mut dropped =
        GaugeFamily::new("rsb_dropped_cases", "Cases without series because of the limit.");
    let mut time =
        GaugeFamily::new("rsb_case_time_seconds", "Time of an iteration when last measured.");
    let mut measured = GaugeFamily::new(
        "rsb_case_measured_timestamp_seconds",
        "Start of the last run that measured the case, in seconds since 1970.",
    );
    let mut verdicts = GaugeFamily::new("rsb_case_verdict", "1 for the last verdict on the case.");
    let kept = kept_cases(input);
    dropped.set(&[], (input.cases.len() - kept.len()) as f64);
    for case in kept {
        let labels = [label("case", &case.case), label("machine", &case.machine)];
        time.set(&labels, case.seconds);
        measured.set(&labels, seconds_since_1970(case.measured));
        for verdict in VERDICTS {
            let Some(last) = case.verdict else { break };
            let [case, machine] = labels.clone();
            let value = f64::from(u8::from(verdict == last));
            verdicts.set(&[case, machine, label("verdict", verdict.as_str())], value);
        }
    }
    [by_verdict, dropped, time, measured, verdicts]
}

/// Returns the cases whose series are written, the regressed ones first.
fn kept_cases(input: &MetricsInput) -> Vec<&CaseMetrics> {
    let mut cases: Vec<&CaseMetrics> = input.cases.iter().collect();
    cases.sort_by_key(|case| (case.verdict != Some(Verdict::Regressed), &case.case, &case.machine));
    let mut series = 0;
    let mut kept = Vec::new();
    for case in cases {
        series += case.series();
        if series > input.max_series {
            break;
        }
        kept.push(case);
    }
    kept
}

fn alert_family(tracked: &[TrackedAlert]) -> GaugeFamily {
    let mut alerts = GaugeFamily::new("rsb_alerts", "Alerts by state and severity.");
    for state in STATES {
        for severity in SEVERITIES {
            let is_counted =
                |alert: &&TrackedAlert| alert.state == state && alert.severity == severity;
            let count = tracked.iter().filter(is_counted).count();
            let severity = match severity {
                Severity::Info => "info",
                Severity::Warning => "warning",
                Severity::Critical => "critical",
            };
            alerts
                .set(&[label("severity", severity), label("state", state.as_str())], count as f64);
        }
    }
    alerts
}

fn running_families(running: RunningMetrics) -> [GaugeFamily; 2] {
    let mut runs = GaugeFamily::new("rsb_running_runs", "Runs that are being measured.");
    runs.set(&[], running.runs as f64);
    let mut replicates =
        GaugeFamily::new("rsb_running_replicates", "Replicates of the runs being measured.");
    for (state, count) in [("done", running.done), ("planned", running.planned)] {
        replicates.set(&[label("state", state)], count as f64);
    }
    [runs, replicates]
}

fn campaign_families(campaign: &CampaignMetrics) -> [GaugeFamily; 3] {
    let name = label("campaign", &campaign.campaign);
    let mut jobs =
        GaugeFamily::new("rsb_campaign_jobs", "Jobs of the newest campaign by progress.");
    let mut nodes =
        GaugeFamily::new("rsb_campaign_nodes", "Nodes of the newest campaign by conclusion.");
    for (family, counts) in [(&mut jobs, &campaign.jobs), (&mut nodes, &campaign.nodes)] {
        for (state, count) in counts {
            family.set(&[name.clone(), label("state", state)], *count as f64);
        }
    }
    let mut states = GaugeFamily::new("rsb_node_state", "1 for the conclusion on the node.");
    for (node, state) in &campaign.node_states {
        states.set(&[name.clone(), label("node", node), label("state", state)], 1.0);
    }
    [jobs, nodes, states]
}

fn seconds_since_1970(time: Timestamp) -> f64 {
    time.as_second() as f64
}

/// A gauge with all its samples, in the order of their labels.
struct GaugeFamily {
    name: &'static str,
    help: &'static str,
    /// Values by labels. A second value of the same labels would make the whole text invalid.
    samples: BTreeMap<String, f64>,
}

impl GaugeFamily {
    const fn new(name: &'static str, help: &'static str) -> Self {
        Self { name, help, samples: BTreeMap::new() }
    }

    /// Sets the value of the sample with `labels`, each from [`label`].
    fn set(&mut self, labels: &[String], value: f64) {
        self.samples.insert(labels.join(","), value);
    }

    fn text(&self) -> String {
        if self.samples.is_empty() {
            return String::new();
        }
        let Self { name, help, .. } = self;
        let mut text = format!("# HELP {name} {help}\n# TYPE {name} gauge\n");
        for (labels, value) in &self.samples {
            let braces = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
            text.push_str(&format!("{name}{braces} {value}\n"));
        }
        text
    }
}

/// Returns a label. Characters that the formats or a terminal could misread become escape
/// sequences, so that different values stay different.
fn label(name: &str, value: &str) -> String {
    let mut text = format!("{name}=\"");
    for character in value.chars() {
        match character {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            other if other.is_control() || crate::style::is_disguise(other) => {
                text.push_str(&format!("\\\\u{{{:x}}}", u32::from(other)));
            }
            other => text.push(other),
        }
    }
    text + "\""
}

#[cfg(test)]
mod tests;
