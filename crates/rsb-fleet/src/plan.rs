//! Plans which node measures which suites, in which order, and how long that takes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use rsb_model::Reason;
use serde::{Deserialize, Serialize};

use crate::config::{FleetConfig, SuiteSection};
use crate::inventory::{Availability, FleetNode, hardware_classes};

/// Everything that a plan depends on.
#[derive(Debug, Clone, Copy)]
pub struct PlanInput<'a> {
    /// The configuration.
    pub config: &'a FleetConfig,
    /// The nodes.
    pub nodes: &'a [FleetNode],
    /// Days since the last measurement, by node; a node that is absent was never measured.
    pub days_since: &'a BTreeMap<String, f64>,
}

/// Task of one node: the suites that it measures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeTask {
    /// Name of the node.
    pub node: String,
    /// Its hardware class.
    pub class: String,
    /// Its GPUs.
    pub gpus: u32,
    /// Suites, highest priority first.
    pub suites: Vec<SuiteSection>,
    /// Expected duration.
    pub minutes: u64,
    /// Expected time from the start of the campaign to the start of this task, if every node is
    /// free.
    pub starts_after_seconds: u64,
    /// Whether it can take a job now; busy nodes come last, because a waiting job delays the jobs
    /// after it.
    pub availability: Availability,
    #[serde(skip)]
    is_stale: bool,
    #[serde(skip)]
    days_since: f64,
}

/// A node that measures nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedNode {
    /// Name of the node.
    pub node: String,
    /// Reason, and how to fix it.
    pub reason: Reason,
}

/// A campaign that can be submitted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CampaignPlan {
    /// Tasks in the order of submission.
    pub tasks: Vec<NodeTask>,
    /// Nodes without a task.
    pub skipped: Vec<SkippedNode>,
    /// Expected duration, if every node is free.
    pub seconds: u64,
}

/// Plans a campaign: idle nodes first, then suites of high priority, then nodes that were not
/// measured for long, then small nodes.
pub fn plan_campaign(input: &PlanInput<'_>) -> CampaignPlan {
    let mut classes: BTreeMap<String, String> = BTreeMap::new();
    for class in hardware_classes(input.nodes, &input.config.attributes) {
        classes.extend(class.nodes.into_iter().map(|node| (node, class.name.clone())));
    }
    let (mut tasks, mut skipped) = (Vec::new(), Vec::new());
    for node in input.nodes {
        let class = classes.get(&node.name).map_or("", String::as_str);
        match task_of(node, class, input) {
            Ok(task) => tasks.push(task),
            Err(reason) => skipped.push(SkippedNode { node: node.name.clone(), reason }),
        }
    }
    tasks.sort_by(|a, b| {
        let key = |task: &NodeTask| {
            (task.availability, Reverse(task.priority()), !task.is_stale, task.gpus)
        };
        key(a)
            .cmp(&key(b))
            .then(b.days_since.total_cmp(&a.days_since))
            .then_with(|| a.node.cmp(&b.node))
    });
    let seconds = schedule(&mut tasks, input.config);
    CampaignPlan { tasks, skipped, seconds }
}

impl NodeTask {
    fn priority(&self) -> i32 {
        self.suites.first().map_or(0, |suite| suite.priority)
    }
}

fn task_of(node: &FleetNode, class: &str, input: &PlanInput<'_>) -> Result<NodeTask, Reason> {
    if node.availability == Availability::Unavailable {
        return Err(Reason::new(
            format!("node {}", node.name),
            format!("its state is `{}`", node.state),
            "return it to service, then plan again",
        ));
    }
    let config = input.config;
    let mut suites: Vec<SuiteSection> =
        config.suite.iter().filter(|suite| suite.is_for(class)).cloned().collect();
    if suites.is_empty() {
        return Err(Reason::new(
            format!("node {}", node.name),
            format!("no suite is for its class `{class}`"),
            "add a pattern that matches it to `classes` of a `[[suite]]`",
        ));
    }
    suites.sort_by_key(|suite| Reverse(suite.priority));
    let minutes: u64 = suites.iter().map(|suite| u64::from(suite.minutes)).sum();
    if minutes > config.time_limit_minutes {
        return Err(Reason::new(
            format!("node {}", node.name),
            format!("its suites take {minutes} minutes, above the time limit of a job"),
            "raise `time_limit_minutes`, or give its class fewer suites",
        ));
    }
    let days_since = input.days_since.get(&node.name).copied().unwrap_or(f64::INFINITY);
    Ok(NodeTask {
        node: node.name.clone(),
        class: class.to_owned(),
        gpus: node.gpus,
        suites,
        minutes,
        starts_after_seconds: 0,
        availability: node.availability,
        is_stale: days_since >= config.stale_after_days,
        days_since,
    })
}

/// Sets the start of each task, at most `max_parallel` at a time, and returns the end of the last.
fn schedule(tasks: &mut [NodeTask], config: &FleetConfig) -> u64 {
    let mut running: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
    let (mut next, mut end) = (0, 0);
    for task in tasks {
        let mut start = next;
        if running.len() >= config.max_parallel
            && let Some(Reverse(free)) = running.pop()
        {
            start = start.max(free);
        }
        task.starts_after_seconds = start;
        running.push(Reverse(start + task.minutes * 60));
        end = end.max(start + task.minutes * 60);
        next = start + config.stagger_seconds;
    }
    end
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CONFIG: &str = "results_dir = \"/shared\"\nmax_parallel = 2\nstagger_seconds = \
                          10\n[slurm]\n[[suite]]\nsuite = \"quick\"\nminutes = 5\n[[suite]]\nsuite = \
                          \"gpu-performance\"\nclasses = [\"big*\"]\npriority = 5\nminutes = 20\n";

    fn node(name: &str, feature: &str, gpus: u32) -> FleetNode {
        let mut node = FleetNode::new(name);
        node.features.insert(feature.to_owned());
        node.gpus = gpus;
        node
    }

    fn plan(config: &str, nodes: &[FleetNode], days: &[(&str, f64)]) -> CampaignPlan {
        let config = FleetConfig::parse(config).unwrap();
        let days_since = days.iter().map(|(name, days)| ((*name).to_owned(), *days)).collect();
        plan_campaign(&PlanInput { config: &config, nodes, days_since: &days_since })
    }

    fn order(plan: &CampaignPlan) -> Vec<&str> {
        plan.tasks.iter().map(|task| task.node.as_str()).collect()
    }

    #[test]
    fn priority_then_stale_then_small_nodes_come_first() {
        let nodes = [
            node("fresh-small", "small", 1),
            node("stale-large", "small-but-eight", 8),
            node("stale-small", "small", 1),
            node("never", "small", 1),
            node("big", "big", 8),
        ];
        let days =
            [("fresh-small", 1.0), ("stale-large", 90.0), ("stale-small", 90.0), ("big", 1.0)];
        let planned = plan(CONFIG, &nodes, &days);
        let expected = ["big", "never", "stale-small", "stale-large", "fresh-small"];
        assert_eq!(order(&planned), expected);
        let suites: Vec<u32> = planned.tasks[0].suites.iter().map(|suite| suite.minutes).collect();
        assert_eq!(suites, [20, 5], "the suite of higher priority is measured first");
    }

    #[test]
    fn starts_are_staggered_and_bounded() {
        let nodes = ["a", "b", "c"].map(|name| node(name, "small", 1));
        let planned = plan(CONFIG, &nodes, &[]);
        let starts: Vec<u64> = planned.tasks.iter().map(|task| task.starts_after_seconds).collect();
        assert_eq!(starts, [0, 10, 300]);
        assert_eq!(planned.seconds, 600);
    }

    #[test]
    fn a_node_without_a_task_has_a_reason() {
        let mut down = node("down", "small", 1);
        down.availability = Availability::Unavailable;
        down.state = "drained".to_owned();
        let only_big = CONFIG.replace("minutes = 5\n", "minutes = 5\nclasses = [\"big*\"]\n");
        let planned = plan(&only_big, &[down, node("other", "small", 1)], &[]);
        let reasons: Vec<String> =
            planned.skipped.iter().map(|skipped| skipped.reason.to_string()).collect();
        assert!(reasons[0].contains("drained") && reasons[1].contains("no suite"), "{reasons:?}");
        assert!(planned.tasks.is_empty() && planned.seconds == 0);
        let brief = format!("time_limit_minutes = 21\n{CONFIG}");
        let planned = plan(&brief, &[node("big", "big", 8)], &[]);
        assert!(planned.skipped[0].reason.why.contains("25 minutes"), "{planned:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

        #[test]
        fn each_node_is_planned_or_skipped_once_and_never_too_many_run(
            gpus in prop::collection::vec(0..9_u32, 0..30),
        ) {
            let nodes: Vec<FleetNode> =
                gpus.iter().enumerate().map(|(at, gpus)| node(&format!("n{at}"), "big", *gpus)).collect();
            let planned = plan(CONFIG, &nodes, &[]);
            prop_assert_eq!(planned.tasks.len() + planned.skipped.len(), nodes.len());
            for task in &planned.tasks {
                let at = task.starts_after_seconds;
                let running = planned.tasks.iter().filter(|other| {
                    other.starts_after_seconds <= at && at < other.starts_after_seconds + other.minutes * 60
                });
                prop_assert!(running.count() <= 2);
            }
        }
    }
}
