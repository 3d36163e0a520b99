//! Alerts about runs and nodes that failed, and nodes that are slow.

use rsb_model::record::Severity;
use rsb_model::shown::short_hash;
use rsb_model::{BenchmarkResult, Outcome, Run, Timestamp};

use super::{AlertKind, MAX_LINES, NotifyAlert, NotifyState, SeriesChange, tidy};

/// Nodes of a campaign that have the same problem.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeProblem {
    /// Name of the campaign.
    pub campaign: String,
    /// Problem, in words that follow "nodes": `slow` or `failed`.
    pub problem: &'static str,
    /// Nodes with the problem.
    pub nodes: Vec<ProblemNode>,
    /// Names of the nodes that were judged and do not have the problem.
    pub healthy: Vec<String>,
    /// Common causes, such as a rack.
    pub causes: Vec<String>,
}

/// A node with a problem.
#[derive(Debug, Clone, PartialEq)]
pub struct ProblemNode {
    /// Name.
    pub name: String,
    /// Additional time in percent, if measured.
    pub slower_percent: Option<f64>,
    /// Reason in one sentence.
    pub reason: String,
}

impl NotifyAlert {
    /// Returns the alert about the newest run of `machine`: open if a case failed or the run was cut
    /// off, otherwise recovered. It closes once a later run measures every failed case.
    pub fn from_run(machine: &str, run: &Run) -> Self {
        let of = |case: &BenchmarkResult| SeriesChange::new(case.benchmark_id.as_str(), "", None);
        let has = |outcome| run.benchmarks.iter().filter(move |case| case.outcome == outcome);
        let failed: Vec<&BenchmarkResult> = has(Outcome::Failed).collect();
        let is_open = run.is_interrupted() || !failed.is_empty();
        let reasons = failed.iter().filter_map(|case| case.reason.as_ref());
        let mut reasons = reasons.map(|reason| tidy(&format!("{}: {}", reason.what, reason.why)));
        let measured = has(Outcome::Measured).chain(failed.iter().copied());
        Self {
            key: format!("failed-{}", short_hash(machine)),
            kind: AlertKind::RunFailed,
            state: if is_open { NotifyState::New } else { NotifyState::Recovered },
            severity: Severity::Warning,
            machine: tidy(machine),
            run: Some(tidy(&run.run_id.0)),
            series: failed.iter().map(|case| of(case)).collect(),
            decided: measured.map(|case| (of(case).hash(), 0.0)).collect(),
            series_count: failed.len(),
            measured: run.benchmarks.len(),
            because: reasons.next(),
            ..Self::test(run.finished.unwrap_or(run.started))
        }
    }

    /// Returns the alert about a problem of nodes: open if a node has it, otherwise recovered. It
    /// closes once every reported node is healthy.
    pub fn from_nodes(problem: &NodeProblem, now: Timestamp) -> Self {
        let NodeProblem { campaign, problem: name, nodes, healthy, causes } = problem;
        let is_open = !nodes.is_empty() || !causes.is_empty();
        let of = |node: &ProblemNode| SeriesChange::new(&node.name, "", node.slower_percent);
        let healthy = healthy.iter().map(|name| SeriesChange::new(name, "", None));
        let decided = nodes.iter().map(of).chain(healthy);
        let reasons = nodes.iter().take(MAX_LINES);
        let reasons: Vec<String> =
            reasons.map(|node| format!("{} {}", node.name, node.reason)).collect();
        Self {
            key: format!("fleet-{}", short_hash(&[campaign, *name].join("\n"))),
            kind: AlertKind::Nodes,
            state: if is_open { NotifyState::New } else { NotifyState::Recovered },
            severity: Severity::Warning,
            run: Some(tidy(campaign)),
            reference: Some(tidy(name)),
            direction: "worse".to_owned(),
            decided: decided.map(|one| (one.hash(), 0.0)).collect(),
            series: nodes.iter().map(of).collect(),
            series_count: nodes.len(),
            causes: causes.iter().take(MAX_LINES).map(|line| tidy(line)).collect(),
            because: if reasons.is_empty() { None } else { Some(tidy(&reasons.join("; "))) },
            ..Self::test(now)
        }
    }

    pub(super) fn run_headline(&self, place: &str) -> String {
        let run = self.run.as_deref().unwrap_or("of unknown id");
        if self.state.is_closed() {
            return format!("run {run}{place} measured all cases that failed");
        }
        match self.series.as_slice() {
            [] => format!("run {run}{place} was cut off after {} cases", self.measured),
            [only] => format!("run {run}{place}: 1 case failed: {}", only.line()),
            [first, ..] => {
                let count = self.series_count;
                format!("run {run}{place}: {count} cases failed, the first {}", first.line())
            }
        }
    }

    pub(super) fn nodes_headline(&self) -> String {
        let [campaign, problem] =
            [&self.run, &self.reference].map(|text| text.as_deref().unwrap_or_default());
        if self.state.is_closed() {
            return format!("campaign {campaign}: no node is reported as {problem} any more");
        }
        match self.series.as_slice() {
            [] => format!("campaign {campaign}: a group of nodes is {problem}"),
            [only] => format!("campaign {campaign}: node {problem}: {}", only.line()),
            [first, ..] => {
                let count = self.series_count;
                format!("campaign {campaign}: {count} nodes {problem}, the first {}", first.line())
            }
        }
    }
}
