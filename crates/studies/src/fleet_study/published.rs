//! Published results of nodes with 8 × MI355X (github.com/AMD-AGI/Primus, pull request 712): the
//! median over the GPUs of each node. Contains fourteen of the fifteen passing nodes; the last row
//! of the published table is illegible.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rsb_fleet::{FleetInput, MeasuredNode, MetricValues, NodeState, VerdictRule, judge_fleet};
use rsb_model::Better;

use super::simulation::beyond;

/// GEMM in TFLOP/s; HBM and RCCL in GB/s.
const NODES: [[f64; 3]; 14] = [
    [760.0, 4421.6, 268.6],
    [762.7, 4437.2, 271.1],
    [757.9, 4417.6, 269.9],
    [764.6, 4425.3, 269.2],
    [756.4, 4419.7, 269.2],
    [764.6, 4419.5, 268.8],
    [763.7, 4411.7, 270.0],
    [762.5, 4424.3, 268.8],
    [765.8, 4417.2, 268.8],
    [762.8, 4418.7, 270.3],
    [761.9, 4419.0, 267.6],
    [762.3, 4428.4, 270.4],
    [762.5, 4422.0, 269.9],
    [759.0, 4414.6, 270.1],
];
const METRICS: [&str; 3] = ["GEMM", "HBM", "RCCL"];

/// Returns the nodes with rates converted to times, and node `slow` slowed by `factor` in one
/// metric. The table has one value per node, used here for two equal processes, because the noise
/// between processes is unknown.
fn nodes(slow: usize, metric: usize, factor: f64) -> Vec<MeasuredNode> {
    let mut nodes = Vec::new();
    for (at, rates) in NODES.iter().enumerate() {
        let mut values = BTreeMap::new();
        for (which, rate) in rates.iter().enumerate() {
            let factor = if at == slow && which == metric { factor } else { 1.0 };
            let processes = vec![factor / rate; 2];
            let name = METRICS[which].to_owned();
            values.insert(name, MetricValues { better: Better::Lower, processes });
        }
        nodes.push(MeasuredNode {
            name: format!("n{at}"),
            class: "8 × MI355X".to_owned(),
            attributes: BTreeMap::new(),
            values,
            trouble: None,
        });
    }
    nodes
}

/// Returns for each node whether it is called slow before any pairs are measured.
fn called_nodes(nodes: &[MeasuredNode]) -> Vec<bool> {
    let rule = VerdictRule { confirm: false, ..VerdictRule::default() };
    let (history, confirmations) = (BTreeMap::new(), BTreeMap::new());
    let input = FleetInput { nodes, history: &history, confirmations: &confirmations };
    judge_fleet(&input, &rule).nodes.iter().map(|node| node.state == NodeState::Slow).collect()
}

/// Returns the table of results with each node made slower in each metric in turn.
pub(super) fn table() -> String {
    let mut text = "Each of 14 nodes is made slower in each of three metrics in turn.\n\n| slower \
                    by | found | other nodes called | ±5 % of the mean: found |\n|---|---|---|---|\n"
        .to_owned();
    for percent in [0.0, 2.0, 3.0, 5.0, 10.0] {
        let (mut found, mut others, mut by_mean) = (0, 0, 0);
        for slow in 0..NODES.len() {
            for metric in 0..METRICS.len() {
                let nodes = nodes(slow, metric, 1.0 + percent / 100.0);
                let mean = |levels: &[f64]| levels.iter().sum::<f64>() / levels.len() as f64;
                by_mean += usize::from(beyond(&nodes, 1.05, mean)[slow]);
                for (at, is_called) in called_nodes(&nodes).into_iter().enumerate() {
                    found += usize::from(is_called && at == slow);
                    others += usize::from(is_called && at != slow);
                }
            }
        }
        let trials = NODES.len() * METRICS.len();
        let _ = writeln!(
            text,
            "| {percent} % | {found} of {trials} | {others} of {} | {by_mean} of {trials} |",
            trials * (NODES.len() - 1)
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_published_node_is_slow_and_one_made_slower_is() {
        assert!(called_nodes(&nodes(0, 0, 1.0)).iter().all(|is_called| !is_called));
        let slower = called_nodes(&nodes(3, 1, 1.05));
        assert_eq!(slower.iter().filter(|is_called| **is_called).count(), 1);
        assert!(slower[3]);
    }
}
