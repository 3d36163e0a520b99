//! The `fleet.toml` to start from: what the scheduler reports, with comments on the other keys.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rsb_model::Suite;

use crate::config::FleetConfig;
use crate::inventory::{FleetNode, HardwareClass, Partition, hardware_classes};

/// Names of features that give the place of a node: `rack-7`, `switch3`.
const PLACES: &[&str] =
    &["rack", "switch", "leaf", "row", "pod", "chassis", "cabinet", "island", "block"];

/// Everything that the file depends on.
#[derive(Debug, Clone, Copy)]
pub struct StarterInput<'a> {
    /// Path of the program.
    pub program: &'a str,
    /// Directory of the campaigns.
    pub results_dir: &'a str,
    /// Partitions of the cluster.
    pub partitions: &'a [Partition],
    /// Nodes of the partition from [`starting_partition`].
    pub nodes: &'a [FleetNode],
}

/// Returns the default partition, or else the one with the most nodes.
pub fn starting_partition(partitions: &[Partition]) -> Option<&Partition> {
    partitions.iter().max_by_key(|partition| (partition.is_default, partition.nodes))
}

/// Returns the text of a `fleet.toml` that [`FleetConfig::parse`] accepts.
pub fn starter_file(input: &StarterInput<'_>) -> String {
    let partition = starting_partition(input.partitions);
    let limit = partition.and_then(|partition| partition.limit_minutes).unwrap_or(u64::MAX);
    let defaults = FleetConfig::default();
    let limit = limit.min(defaults.time_limit_minutes).max(1);
    let minutes = limit.min(20);
    let attributes = place_patterns(input.nodes);
    let mut text = format!(
        "# Campaigns of `rusty-stack-bench fleet`. `fleet plan` checks it and submits nothing.\n\
         program = {program}       # the same path on every node\n\
         results_dir = {results}   # a directory that every node shares under this path\n\
         # setup = [\"module load rocm\"]   # shell lines before measuring\n\
         processes = {processes}         # per case and node\n\
         max_parallel = {parallel}      # nodes that measure at the same time\n\
         stagger_seconds = {stagger}   # between the first jobs\n\
         time_limit_minutes = {limit}\n\
         deadline_minutes = {deadline}   # a job that has not started by then leaves the queue\n",
        program = toml_string(input.program),
        results = toml_string(input.results_dir),
        processes = defaults.processes,
        parallel = defaults.max_parallel,
        stagger = defaults.stagger_seconds,
        deadline = defaults.deadline_minutes,
    );
    if attributes.is_empty() {
        text +=
            "# attributes = { rack = \"rack-*\" }   # features that do not make another class\n";
    } else {
        let list: Vec<String> = attributes
            .iter()
            .map(|(name, value)| format!("{name} = {}", toml_string(value)))
            .collect();
        let list = list.join(", ");
        let _ =
            writeln!(text, "# Features that may explain slowness, but do not make another class.");
        let _ = writeln!(text, "attributes = {{ {list} }}");
    }
    text += "\n[slurm]\n";
    match partition {
        Some(partition) => {
            let _ = writeln!(text, "partition = {}", toml_string(&partition.name));
        }
        None => text += "# partition = \"gpu\"\n",
    }
    for other in input.partitions.iter().filter(|other| Some(*other) != partition) {
        let _ =
            writeln!(text, "# partition = {}   # nodes: {}", toml_string(&other.name), other.nodes);
    }
    text +=
        "# account = \"\"\n# qos = \"\"\n# constraint = \"\"   # only nodes with these features\n";
    text += "# gres = \"\"         # without it, all GPUs of the node\n# nice = 100\n";
    let classes = hardware_classes(input.nodes, &attributes);
    let (with_gpus, without): (Vec<_>, Vec<_>) = classes.iter().partition(|class| class.gpus > 0);
    for (suite, classes) in [(Suite::GpuPerformance, with_gpus), (Suite::CpuPerformance, without)] {
        if !classes.is_empty() {
            text += &suite_section(suite, &classes, minutes);
        }
    }
    text += "\n[verdict]\nminimum_effect_percent = 2.0   # smaller differences are ignored\n";
    text += "confirm_after_minutes = 30     # before a suspect is measured in pairs\n";
    text
}

fn suite_section(suite: Suite, classes: &[&HardwareClass], minutes: u64) -> String {
    let mut text = String::from("\n[[suite]]\n");
    let _ = writeln!(text, "suite = {}", toml_string(suite.as_str()));
    text += "classes = [   # patterns; without this key, every class\n";
    for class in classes {
        let _ =
            writeln!(text, "    {},   # nodes: {}", toml_string(&class.name), class.nodes.len());
    }
    text += "]\n# benchmarks = [\"gemm\"]   # without it, all of the suite\n# priority = 10\n";
    let _ = writeln!(text, "minutes = {minutes}   # as measured by hand on one node");
    text
}

/// Returns a pattern for each kind of place in the features of `nodes`, such as `rack = "rack-*"`.
fn place_patterns(nodes: &[FleetNode]) -> BTreeMap<String, String> {
    let mut patterns = BTreeMap::new();
    for feature in nodes.iter().flat_map(|node| &node.features) {
        for place in PLACES {
            let Some(rest) = feature.strip_prefix(place) else { continue };
            let number = rest.trim_start_matches(['-', '_']);
            if number.starts_with(|first: char| first.is_ascii_digit()) {
                let between = &rest[..rest.len() - number.len()];
                patterns.insert((*place).to_owned(), format!("{place}{between}*"));
            }
        }
    }
    patterns
}

/// Quotes `text` as a TOML string.
fn toml_string(text: &str) -> String {
    toml::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{FleetEngine, SlurmSection};
    use crate::inventory::{parse_partitions, parse_sinfo};
    use crate::plan::{PlanInput, plan_campaign};

    fn starter(partitions: &str, sinfo: &str) -> (String, Vec<FleetNode>) {
        let partitions = parse_partitions(partitions).unwrap();
        let nodes = parse_sinfo(sinfo).unwrap();
        let text = starter_file(&StarterInput {
            program: "/opt/it's \"here\"/rusty-stack-bench",
            results_dir: "/shared/fleet",
            partitions: &partitions,
            nodes: &nodes,
        });
        (text, nodes)
    }

    #[test]
    fn every_node_has_a_task_in_the_plan_of_the_file() {
        let sinfo = "n1|idle|gfx942,rack-1|gpu:mi300x:8|96\nn2|idle|gfx942,rack-2|gpu:mi300x:8|96\n\
                     c1|idle|(null)|(null)|64\n";
        let (text, nodes) = starter("gpu*|2|30:00\ncpu|1|infinite\n", sinfo);
        let config = FleetConfig::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let days_since = BTreeMap::new();
        let plan =
            plan_campaign(&PlanInput { config: &config, nodes: &nodes, days_since: &days_since });
        assert_eq!((plan.tasks.len(), plan.skipped.len()), (3, 0), "{text}\n{plan:#?}");
        assert_eq!(config.time_limit_minutes, 30);
        let expected = SlurmSection { partition: Some("gpu".to_owned()), ..Default::default() };
        assert_eq!(config.engine(), FleetEngine::Slurm(&expected));
        assert!(text.contains("# partition = \"cpu\"   # nodes: 1"), "{text}");
        assert_eq!(config.attributes["rack"], "rack-*");
        assert!(text.contains("\"gfx942,mi300x:8gpu\",   # nodes: 2"), "{text}");
    }

    #[test]
    fn places_are_recognized_by_name_and_number() {
        for (feature, expected) in [
            ("rack-7", Some("rack-*")),
            ("switch12", Some("switch*")),
            ("row_1", Some("row_*")),
            ("rocket", None),
            ("racked", None),
        ] {
            let mut node = FleetNode::new("n");
            node.features.insert(feature.to_owned());
            let found = place_patterns(&[node]).into_values().next();
            assert_eq!(found.as_deref(), expected, "{feature}");
        }
    }
}
