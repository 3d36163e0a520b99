//! Alerts about the nodes of a campaign.

use rsb_fleet::{CommonCause, NodeReport, NodeState};
use rsb_model::Timestamp;
use rsb_notify::{NodeProblem, NotifyAlert, ProblemNode};

use super::FleetDocument;

/// Problems that are reported, each in its own alert.
const PROBLEMS: [(NodeState, &str); 3] = [
    (NodeState::Slow, "slow"),
    (NodeState::Failed, "failed"),
    (NodeState::Error, "without a result"),
];

/// Returns one alert per problem of the campaign's nodes, open or recovered.
pub fn alerts(document: &FleetDocument, now: Timestamp) -> Vec<NotifyAlert> {
    let nodes = document.report.nodes.iter();
    let healthy = nodes.filter(|node| node.state == NodeState::Ok);
    let healthy: Vec<String> = healthy.map(|node| node.name.clone()).collect();
    let mut alerts = Vec::new();
    for (state, problem) in PROBLEMS {
        let nodes = document.report.nodes.iter().filter(|node| node.state == state);
        let causes: &[CommonCause] =
            if state == NodeState::Slow { &document.report.causes } else { &[] };
        let problem = NodeProblem {
            campaign: document.campaign.clone(),
            problem,
            nodes: nodes.map(problem_node).collect(),
            healthy: healthy.clone(),
            causes: causes.iter().map(cause_line).collect(),
        };
        let mut alert = NotifyAlert::from_nodes(&problem, now);
        alert.next = vec![
            format!("rusty-stack-bench fleet report --campaign {}", document.campaign),
            format!("rusty-stack-bench fleet resume --campaign {}", document.campaign),
        ];
        alerts.push(alert);
    }
    alerts
}

fn problem_node(node: &NodeReport) -> ProblemNode {
    let slowest = node.deviations.iter().filter(|one| one.state == NodeState::Slow);
    let slower_percent = slowest.map(|one| one.slower_percent).max_by(f64::total_cmp);
    ProblemNode { name: node.name.clone(), slower_percent, reason: node.reason.clone() }
}

fn cause_line(cause: &CommonCause) -> String {
    let CommonCause { attribute, value, nodes, .. } = cause;
    let slower = cause.slower_percent.values().copied().fold(0.0, f64::max);
    format!("{} nodes with {attribute} {value} are up to {slower:.1} % slower", nodes.len())
}
