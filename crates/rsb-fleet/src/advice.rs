//! Suggested commands for slow nodes, to be run by a person. This program never runs them.

use crate::engine::FleetEngine;
use crate::submission::quote;
use crate::verdict::FleetReport;
use rsb_model::record::NodeState;

/// Returns one command per slow node that takes it out of service, with the evidence. If too many
/// nodes of a class look slow, none of them is called slow, so there is no command.
pub fn drain_advice(report: &FleetReport, engine: FleetEngine<'_>) -> Vec<String> {
    let slow = report.nodes.iter().filter(|node| node.state == NodeState::Slow);
    slow.map(|node| {
        let name = &node.name;
        let reason = format!("rusty-stack-bench: {}", rsb_model::shown::clean(&node.reason));
        match engine {
            FleetEngine::Slurm(_) => {
                format!("scontrol update nodename={name} state=drain reason={}", quote(&reason))
            }
            FleetEngine::Kubernetes(_) => format!("kubectl cordon {name}  # {reason}"),
            FleetEngine::Ssh(_) => format!("# remove {name} from `ssh.hosts`: {reason}"),
        }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::SlurmSection;
    use crate::verdict::NodeReport;

    #[test]
    fn only_slow_nodes_are_drained_and_the_reason_is_one_word() {
        let node = |name: &str, state| NodeReport {
            name: name.to_owned(),
            class: "c".to_owned(),
            state,
            reason: "it's 9.8 % slower\u{1b}[31m".to_owned(),
            deviations: Vec::new(),
        };
        let nodes = vec![node("n1", NodeState::Slow), node("n2", NodeState::Undecided)];
        let report = FleetReport { nodes, ..FleetReport::default() };
        let advice = drain_advice(&report, FleetEngine::Slurm(SlurmSection::DEFAULT));
        let expected = "scontrol update nodename=n1 state=drain reason='rusty-stack-bench: \
                        it'\\''s 9.8 % slower [31m'";
        assert_eq!(advice, [expected]);
    }
}
