//! Comparison of two campaigns, such as before and after a driver upgrade.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::anyhow;
use rsb_fleet::{FleetConfig, FleetNode, hardware_classes};
use rsb_gate::gate::Judge;
use rsb_model::format::FORMAT_VERSION;
use rsb_model::record::{
    Comparison, FleetComparison, FleetComparisonRow, FleetTotals, SoftwareChange, TIME,
    UncomparedNode,
};
use rsb_model::samples::Samples;
use rsb_model::{
    BenchmarkResult, CaseId, Environment, Fingerprint, Outcome, Run, Timestamp, Verdict,
};
use rsb_stats::{Policy, glob};

use super::campaign::CampaignDir;
use super::measured::{judged_runs, step_runs};
use super::report::add_probe;
use crate::AppError;

/// The nodes to compare.
#[derive(Debug, Clone, Default)]
pub struct NodeSelection {
    /// Only this node.
    pub node: Option<String>,
    /// Only classes whose name matches this pattern.
    pub class: Option<String>,
}

/// Compares the nodes of two campaigns, each node with itself, and each class over its nodes. The
/// effect of changed software is part of the comparison. Reports files that cannot be read to
/// `say`.
///
/// # Errors
/// If both campaigns are the same, no node of the baseline is selected, or the policy does not fit
/// the cases.
pub fn compare(
    [before, after]: [&CampaignDir; 2],
    config: &FleetConfig,
    judge: &Judge,
    selection: &NodeSelection,
    say: &mut dyn FnMut(&str),
) -> Result<FleetComparison, AppError> {
    let names = [before, after].map(|dir| dir.campaign.name.clone());
    if names[0] == names[1] {
        return Err(AppError::usage(anyhow!(
            "`{}` is compared with itself; name two campaigns",
            names[0]
        )));
    }
    let mut sides =
        [CampaignSide::read(before, config, say)?, CampaignSide::read(after, config, say)?];
    sides[0].select(selection, &sides[1].classes());
    let selected = sides[0].nodes.keys().cloned().collect::<BTreeSet<_>>();
    if selected.is_empty() {
        return Err(AppError::usage(anyhow!(
            "no node of campaign `{}` is selected; `fleet report --campaign {}` lists its nodes \
             and classes",
            names[0],
            names[0]
        )));
    }
    let [baseline, mut current] = sides;
    let is_whole = selection.node.is_none() && selection.class.is_none();
    let mut new: Vec<String> = current.nodes.keys().cloned().collect();
    new.retain(|node| is_whole && !selected.contains(node));
    let (mut pairs, mut not_compared) = (Vec::new(), Vec::new());
    for (node, before) in baseline.nodes {
        match pair_of(&node, before, current.nodes.remove(&node), &names) {
            Ok(pair) => pairs.push(pair),
            Err(why) => not_compared.push(UncomparedNode { node, why }),
        }
    }
    let runs = |side: fn(&NodePair) -> &Run| pairs.iter().map(side).cloned().collect::<Vec<_>>();
    judge.check(&runs(|pair| &pair.before), &runs(|pair| &pair.after))?;
    let mut compared = judge_pairs(&pairs, config.verdict.min_nodes, judge.policy());
    compared.rows.retain(|row| row.comparison.verdict != Verdict::Unchanged);
    if !not_compared.is_empty() && compared.verdict != Verdict::Regressed {
        compared.verdict = Verdict::Inconclusive;
    }
    let mut software = software_changes(&pairs);
    if before.campaign.version != after.campaign.version {
        software.push(SoftwareChange {
            name: "program".to_owned(),
            before: Some(before.campaign.version.clone()),
            after: Some(after.campaign.version.clone()),
            nodes: pairs.iter().map(|pair| pair.node.clone()).collect(),
        });
    }
    let [baseline, current] = names;
    Ok(FleetComparison { baseline, current, not_compared, new, software, ..compared })
}

/// A node with the complete results of a campaign.
struct NodeResults {
    class: String,
    /// The results; why there are none, otherwise.
    run: Result<Run, String>,
}

/// One of the compared campaigns.
struct CampaignSide {
    nodes: BTreeMap<String, NodeResults>,
}

impl CampaignSide {
    fn read(
        dir: &CampaignDir,
        config: &FleetConfig,
        say: &mut dyn FnMut(&str),
    ) -> Result<Self, AppError> {
        let mut nodes = BTreeMap::new();
        let mut listed = Vec::new();
        let known: BTreeMap<&str, &FleetNode> =
            dir.campaign.nodes.iter().map(|node| (node.name.as_str(), node)).collect();
        for task in &dir.campaign.tasks {
            let scheduler = known.get(task.node.as_str()).copied();
            let mut node = scheduler.cloned().unwrap_or_else(|| FleetNode::new(&task.node));
            let runs = step_runs(dir, &dir.of_node(&task.node), say)?;
            let run = if runs.is_empty() {
                Err("has no results".to_owned())
            } else {
                judged_runs(dir, task, runs)
                    .and_then(|steps| whole_run(steps.into_values().map(|step| step.run)))
                    .ok_or_else(|| "is not complete; continue with `fleet resume`".to_owned())
            };
            if let Ok(run) = &run {
                add_probe(&mut node, &run.environment);
            }
            nodes.insert(task.node.clone(), NodeResults { class: String::new(), run });
            listed.push(node);
        }
        for class in hardware_classes(&listed, &config.attributes) {
            for node in &class.nodes {
                if let Some(results) = nodes.get_mut(node) {
                    results.class.clone_from(&class.name);
                }
            }
        }
        Ok(Self { nodes })
    }

    fn classes(&self) -> BTreeMap<String, String> {
        self.nodes.iter().map(|(node, results)| (node.clone(), results.class.clone())).collect()
    }

    /// Keeps the selected nodes. A class is selected by its name in either campaign, and `later`,
    /// the classes by node of the other campaign, replaces those of this one.
    fn select(&mut self, selection: &NodeSelection, later: &BTreeMap<String, String>) {
        self.nodes.retain(|name, results| {
            let class = later.get(name).cloned();
            let is_class = |pattern: &String| {
                glob::matches(pattern, &results.class)
                    || class.as_ref().is_some_and(|class| glob::matches(pattern, class))
            };
            let is_selected = selection.class.as_ref().is_none_or(is_class)
                && selection.node.as_ref().is_none_or(|node| node == name);
            if let Some(class) = class {
                results.class = class;
            }
            is_selected
        });
    }
}

/// Returns the results of all suites of a node as one run.
pub(super) fn whole_run(mut runs: impl Iterator<Item = Run>) -> Option<Run> {
    let mut whole = runs.next()?;
    for run in runs {
        for result in run.benchmarks {
            let is_known = |one: &BenchmarkResult| one.benchmark_id == result.benchmark_id;
            if !whole.benchmarks.iter().any(is_known) {
                whole.benchmarks.push(result);
            }
        }
    }
    Some(whole)
}

/// A node at two times.
pub(super) struct NodePair {
    pub(super) node: String,
    pub(super) class: String,
    pub(super) before: Run,
    pub(super) after: Run,
}

fn pair_of(
    node: &str,
    before: NodeResults,
    after: Option<NodeResults>,
    names: &[String; 2],
) -> Result<NodePair, String> {
    let lacks = |campaign: &String, why: &str| format!("{campaign}: {why}");
    let class = before.class;
    let before = before.run.map_err(|why| lacks(&names[0], &why))?;
    let after = after.ok_or_else(|| lacks(&names[1], "was not measured"))?;
    let after = after.run.map_err(|why| lacks(&names[1], &why))?;
    Ok(NodePair { node: node.to_owned(), class, before, after })
}

/// Judges the classes, then the nodes. The error rate of the policy is that of all comparisons
/// together.
pub(super) fn judge_pairs(
    pairs: &[NodePair],
    min_nodes: usize,
    policy: &Policy,
) -> FleetComparison {
    let mut members: BTreeMap<&str, Vec<&NodePair>> = BTreeMap::new();
    for pair in pairs {
        members.entry(&pair.class).or_default().push(pair);
    }
    members.retain(|_, members| members.len() >= min_nodes);
    let mut policy = policy.clone();
    let threshold_percent = policy.threshold_percent();
    policy.share_alpha(pairs.len() + members.len());
    let now = Timestamp::now();
    let mut all: Vec<FleetComparisonRow> = Vec::new();
    let mut notes: BTreeSet<String> = BTreeSet::new();
    for (class, members) in &members {
        let [before, after] = class_runs(members, min_nodes);
        let result = rsb_stats::gate_paired(&before, &after, &policy, now);
        // If the nodes of a class do not agree, their own rows decide.
        let is_common = |row: &Comparison| row.metric == TIME && row.verdict.is_decided();
        for comparison in result.comparisons.into_iter().filter(is_common) {
            all.push(FleetComparisonRow { class: (*class).to_owned(), node: None, comparison });
        }
    }
    for pair in pairs {
        let sides = [&pair.before, &pair.after].map(std::slice::from_ref);
        let across = factors_of(sides.into_iter().flatten());
        let result = rsb_stats::gate(sides[0], sides[1], &policy, &across, now);
        notes.extend(result.notes.into_iter().map(|note| note.text));
        for comparison in result.comparisons {
            let node = Some(pair.node.clone());
            all.push(FleetComparisonRow { class: pair.class.clone(), node, comparison });
        }
    }
    let comparisons: Vec<Comparison> = all.iter().map(|row| row.comparison.clone()).collect();
    let mut totals = FleetTotals::default();
    for row in &comparisons {
        *match row.verdict {
            Verdict::Improved => &mut totals.improved,
            Verdict::Regressed => &mut totals.regressed,
            Verdict::Unchanged => &mut totals.unchanged,
            Verdict::Inconclusive | Verdict::NotComparable => &mut totals.no_verdict,
        } += 1;
    }
    FleetComparison {
        format_version: FORMAT_VERSION,
        baseline: String::new(),
        current: String::new(),
        verdict: rsb_stats::gate::overall(&comparisons),
        threshold_percent,
        nodes: pairs.len(),
        rows: all,
        totals,
        software: Vec::new(),
        not_compared: Vec::new(),
        new: Vec::new(),
        notes: notes.into_iter().collect(),
    }
}

/// Returns the names of the factors of all results, so that none prevents a comparison.
fn factors_of<'r>(runs: impl IntoIterator<Item = &'r Run>) -> Vec<String> {
    let mut names = BTreeSet::new();
    for run in runs {
        for result in &run.benchmarks {
            names.extend(result.factors_in(&run.environment).keys().cloned());
        }
    }
    names.into_iter().collect()
}

/// Returns two runs of a class in which each node is a process: the n-th of one side is the same
/// node as the n-th of the other. Nodes whose hardware changed, and cases that fewer than
/// `min_nodes` nodes measured on both sides, are left out.
fn class_runs(members: &[&NodePair], min_nodes: usize) -> [Run; 2] {
    let mut cases: BTreeMap<&CaseId, Vec<[f64; 2]>> = BTreeMap::new();
    let mut empty: Option<Run> = None;
    for pair in members {
        let [before, after] =
            [&pair.before, &pair.after].map(|run| Fingerprint::of(&run.environment));
        if !before.differences(&after).is_empty() {
            continue;
        }
        empty.get_or_insert_with(|| Run { benchmarks: Vec::new(), ..pair.after.clone() });
        let levels = levels_of(&pair.before);
        for (case, after) in levels_of(&pair.after) {
            if let Some(before) = levels.get(case) {
                cases.entry(case).or_default().push([*before, after]);
            }
        }
    }
    cases.retain(|_, nodes| nodes.len() >= min_nodes);
    [0, 1].map(|side| {
        let now = Timestamp::UNIX_EPOCH;
        let empty = empty.clone();
        let mut run = empty.unwrap_or_else(|| {
            Run::begin(rsb_model::ids::RunId(String::new()), now, "", "", Environment::default())
        });
        for (case, nodes) in &cases {
            let mut result = BenchmarkResult::new((*case).clone(), now, Outcome::Measured);
            for (number, levels) in (0..).zip(nodes) {
                let (iters, times_ns) = (vec![1], vec![levels[side]]);
                result.samples.push(Samples { replicate: number, iters, times_ns });
            }
            run.benchmarks.push(result);
        }
        run
    })
}

/// Returns the time of each measured case in nanoseconds, by case.
fn levels_of(run: &Run) -> BTreeMap<&CaseId, f64> {
    let mut levels = BTreeMap::new();
    for result in run.benchmarks.iter().filter(|result| result.outcome == Outcome::Measured) {
        if let Some(time) = result.figure(TIME).filter(|_| !result.samples.is_empty()) {
            levels.insert(&result.benchmark_id, time * 1e6);
        }
    }
    levels
}

/// Returns the components whose version changed on at least one node, each with the nodes.
fn software_changes(pairs: &[NodePair]) -> Vec<SoftwareChange> {
    let mut changes: Vec<SoftwareChange> = Vec::new();
    for pair in pairs {
        let [before, after] = [&pair.before, &pair.after].map(|run| software_of(&run.environment));
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for name in names {
            let (was, is) = (before.get(name).cloned(), after.get(name).cloned());
            if was == is {
                continue;
            }
            let known = changes
                .iter_mut()
                .find(|one| one.name == *name && one.before == was && one.after == is);
            match known {
                Some(change) => change.nodes.push(pair.node.clone()),
                None => changes.push(SoftwareChange {
                    name: name.clone(),
                    before: was,
                    after: is,
                    nodes: vec![pair.node.clone()],
                }),
            }
        }
    }
    changes.sort_by(|a, b| a.name.cmp(&b.name));
    changes
}

/// Returns the versions of the software of a machine by component.
fn software_of(environment: &Environment) -> BTreeMap<String, String> {
    let mut node = FleetNode::new("");
    add_probe(&mut node, environment);
    let mut software = node.attributes;
    software.extend(environment.frameworks.clone());
    software.extend(environment.os.clone().map(|os| ("os".to_owned(), os)));
    software.extend(environment.python.clone().map(|python| ("python".to_owned(), python)));
    software
}

#[cfg(test)]
mod tests {
    use rsb_model::ids::RunId;

    use super::*;

    /// Returns a run of one case with five processes of `time_ms`, each with other noise.
    fn run(time_ms: f64, seed: u32, kernel: &str) -> Run {
        let environment = Environment { kernel: Some(kernel.to_owned()), ..Environment::default() };
        let id = RunId(format!("{kernel}-{seed}"));
        let mut run = Run::begin(id, Timestamp::UNIX_EPOCH, "custom", "quick", environment);
        let case = "cpu_performance/gemm/cpu:0/f32/512x512x512".parse().unwrap();
        let mut result = BenchmarkResult::new(case, Timestamp::UNIX_EPOCH, Outcome::Measured);
        for replicate in 0..5 {
            let noise = f64::from((seed * 31 + replicate * 17) % 23) / 1e4;
            let times_ns = vec![time_ms * 1e6 * (1.0 + noise); 10];
            result.samples.push(Samples { replicate, iters: vec![1; 10], times_ns });
        }
        run.benchmarks.push(result);
        run
    }

    /// Returns `count` nodes whose time changed by the factor that `change` returns for its number.
    fn nodes(count: u32, change: impl Fn(u32) -> f64) -> Vec<NodePair> {
        let pair = |number| NodePair {
            node: format!("n{number}"),
            class: "mi300x:8gpu".to_owned(),
            before: run(10.0, number, "6.1"),
            after: run(10.0 * change(number), number + 50, "6.2"),
        };
        (0..count).map(pair).collect()
    }

    fn compare_pairs(pairs: &[NodePair]) -> FleetComparison {
        judge_pairs(pairs, 5, &Policy::default())
    }

    #[test]
    fn a_change_of_one_node_is_not_one_of_its_class() {
        let document = compare_pairs(&nodes(6, |number| if number == 3 { 1.25 } else { 1.0 }));
        let regressed =
            document.rows.iter().filter(|row| row.comparison.verdict == Verdict::Regressed);
        let moved: Vec<Option<&str>> = regressed.map(|row| row.node.as_deref()).collect();
        assert_eq!(document.verdict, Verdict::Regressed, "{document:#?}");
        assert_eq!(document.totals.regressed, 1, "{document:#?}");
        assert!(moved.contains(&Some("n3")), "{moved:?}");
    }

    #[test]
    fn a_change_of_all_nodes_is_one_of_their_class_and_of_each() {
        let document = compare_pairs(&nodes(6, |_| 1.25));
        assert_eq!(document.rows[0].node, None, "{document:#?}");
        assert_eq!(document.rows[0].comparison.verdict, Verdict::Regressed, "{document:#?}");
        assert_eq!(document.totals.regressed, 7, "{document:#?}");
        let text = super::super::comparison_text(&document, rsb_report::Style::PLAIN);
        assert!(text.contains("6 rows of nodes with the verdict of the class"), "{text}");
        assert!(!text.contains("n3 "), "{text}");
    }

    #[test]
    fn unchanged_nodes_pass_and_small_classes_have_no_row() {
        let document = compare_pairs(&nodes(4, |_| 1.0));
        assert_eq!(document.verdict, Verdict::Unchanged, "{document:#?}");
        let unchanged = FleetTotals { unchanged: 4, ..FleetTotals::default() };
        assert_eq!(document.totals, unchanged, "a class of four has no row of its own");
        assert_eq!(compare_pairs(&nodes(5, |_| 1.0)).totals.unchanged, 6);
    }

    #[test]
    fn changed_software_is_listed_once_with_its_nodes() {
        let changes = software_changes(&nodes(3, |_| 1.0));
        let expected = SoftwareChange {
            name: "kernel".to_owned(),
            before: Some("6.1".to_owned()),
            after: Some("6.2".to_owned()),
            nodes: vec!["n0".to_owned(), "n1".to_owned(), "n2".to_owned()],
        };
        assert_eq!(changes, [expected]);
    }

    #[test]
    fn a_node_without_results_on_a_side_has_the_reason() {
        let results = |run| NodeResults { class: String::new(), run };
        let names = ["may".to_owned(), "june".to_owned()];
        let why = |before, after: Option<Result<Run, String>>| {
            pair_of("n0", results(before), after.map(results), &names).err()
        };
        let whole = || Ok(run(1.0, 0, "6.1"));
        assert_eq!(why(whole(), None).as_deref(), Some("june: was not measured"));
        assert_eq!(why(Err("x".to_owned()), None).as_deref(), Some("may: x"));
        assert_eq!(why(whole(), Some(whole())), None);
    }
}
