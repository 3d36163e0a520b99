//! Tests of the rules of the verdict, on synthetic nodes.

use proptest::prelude::*;
use rsb_stats::distribution::normal_exceeded_with;
use rsb_stats::rng::Rng;

use super::class::Peers;
use super::*;
use crate::advice::drain_advice;
use crate::engine::{FleetEngine, SlurmSection};

/// Levels of a class with little spread, in percent.
const QUIET: [f64; 7] = [0.0, 0.1, -0.1, 0.05, -0.05, 0.15, -0.15];

fn values(processes: Vec<f64>) -> MetricValues {
    MetricValues { better: Better::Lower, processes }
}

/// Nodes of one class that are slower than 100 ms by `levels` percent.
fn nodes(levels: &[f64]) -> Vec<MeasuredNode> {
    let mut rng = Rng::new(3);
    let mut all = Vec::new();
    for (at, level) in levels.iter().enumerate() {
        let times =
            (0..5).map(|_| 100.0 * (1.0 + level / 100.0) * (1.0 + 0.0005 * rng.normal())).collect();
        all.push(MeasuredNode {
            name: format!("n{at}"),
            class: "c".to_owned(),
            attributes: BTreeMap::new(),
            values: BTreeMap::from([("gemm".to_owned(), values(times))]),
            trouble: None,
        });
    }
    all
}

fn judge(nodes: &[MeasuredNode], rule: &VerdictRule) -> FleetReport {
    let (history, confirmations) = (BTreeMap::new(), BTreeMap::new());
    judge_fleet(&FleetInput { nodes, history: &history, confirmations: &confirmations }, rule)
}

fn states(report: &FleetReport) -> Vec<NodeState> {
    report.nodes.iter().map(|node| node.state).collect()
}

fn without_pairs() -> VerdictRule {
    VerdictRule { confirm: false, ..VerdictRule::default() }
}

#[test]
fn one_of_six_is_suspect_and_slow_once_pairs_confirm_it() {
    let rule = VerdictRule::default();
    let fleet = nodes(&[0.0, 0.1, -0.1, 0.05, -0.05, 10.0]);
    let report = judge(&fleet, &rule);
    assert_eq!(states(&report)[..5], [NodeState::Ok; 5], "{report:#?}");
    assert_eq!((report.nodes[5].state, report.exit_code()), (NodeState::Undecided, 4));
    assert_eq!((report.suspects.len(), report.suspects[0].node.as_str()), (1, "n5"));
    assert!(report.suspects[0].reference.is_some());
    let confirmed = Confirmation::Confirmed { slower_percent: 10.0, interval_percent: [9.0, 11.0] };
    let refuted = Confirmation::Refuted { slower_percent: 0.0, interval_percent: [-1.0, 1.0] };
    for (result, state, exit) in [
        (confirmed, NodeState::Slow, 3),
        (refuted, NodeState::Ok, 0),
        (Confirmation::Open { pairs: 2 }, NodeState::Undecided, 4),
    ] {
        let confirmations = BTreeMap::from([("n5".to_owned(), result)]);
        let history = BTreeMap::new();
        let input = FleetInput { nodes: &fleet, history: &history, confirmations: &confirmations };
        let report = judge_fleet(&input, &rule);
        assert_eq!((report.nodes[5].state, report.exit_code()), (state, exit), "{result:?}");
        let advised = drain_advice(&report, FleetEngine::Slurm(SlurmSection::DEFAULT)).len();
        assert_eq!(advised, usize::from(state == NodeState::Slow));
    }
    assert_eq!(states(&judge(&fleet, &without_pairs()))[5], NodeState::Slow);
}

#[test]
fn a_healthy_class_passes_whatever_its_spread() {
    let wide: Vec<f64> =
        (0..30).map(|at| 8.0 * normal_exceeded_with((f64::from(at) + 0.5) / 30.0)).collect();
    assert!(wide.iter().filter(|level| **level > 5.0).count() > 5, "±5 % would drain these");
    let small_effect = [1.5, 0.0, 0.05, -0.05, 0.1, -0.1];
    for levels in [&QUIET[..6], &QUIET[..], &wide[..], &small_effect[..]] {
        let report = judge(&nodes(levels), &without_pairs());
        assert_eq!(report.exit_code(), 0, "{levels:?}: {report:#?}");
    }
}

#[test]
fn rates_are_slow_when_they_are_low() {
    let mut fleet = nodes(&[0.0, 0.1, -0.1, 0.05, -0.05, -10.0]);
    for node in &mut fleet {
        node.values.get_mut("gemm").unwrap().better = Better::Higher;
    }
    let report = judge(&fleet, &without_pairs());
    assert_eq!(report.nodes[5].state, NodeState::Slow);
    let slower = report.nodes[5].deviations[0].slower_percent;
    assert!((slower - 100.0 / 9.0).abs() < 0.5, "{slower}");
}

#[test]
fn small_classes_need_history_or_a_reference() {
    let fleet = nodes(&[0.0, 0.05, 10.0]);
    let report = judge(&fleet, &without_pairs());
    assert_eq!((states(&report), report.exit_code()), (vec![NodeState::Undecided; 3], 4));
    assert!(report.nodes[0].reason.contains("5 are needed"), "{}", report.nodes[0].reason);

    let earlier = vec![100.0, 100.1, 99.9, 100.05, 99.95, 100.0];
    let metrics = BTreeMap::from([("gemm".to_owned(), earlier)]);
    let history = BTreeMap::from([("c".to_owned(), metrics)]);
    let confirmations = BTreeMap::new();
    let input = FleetInput { nodes: &fleet, history: &history, confirmations: &confirmations };
    let report = judge_fleet(&input, &without_pairs());
    assert_eq!(states(&report), [NodeState::Ok, NodeState::Ok, NodeState::Slow]);

    let rule = VerdictRule { reference_nodes: vec!["n0".to_owned()], ..without_pairs() };
    let report = judge(&fleet, &rule);
    assert_eq!(states(&report), [NodeState::Ok, NodeState::Ok, NodeState::Slow]);
    assert_eq!(report.nodes[0].reason, "named as reference");
}

#[test]
fn many_slow_nodes_open_the_breaker() {
    let levels = [&QUIET[..], &[10.0, 10.1, 9.9]].concat();
    let report = judge(&nodes(&levels), &without_pairs());
    assert!(report.classes[0].is_breaker_open, "{report:#?}");
    assert_eq!((report.classes[0].judged, report.classes[0].suspects), (10, 3));
    assert_eq!(states(&report)[7..], [NodeState::Undecided; 3]);
    assert_eq!(report.exit_code(), 4);
    assert!(drain_advice(&report, FleetEngine::Slurm(SlurmSection::DEFAULT)).is_empty());
}

#[test]
fn a_slow_rack_is_reported_once() {
    let mut levels = [QUIET, QUIET, QUIET].concat();
    levels.extend([5.0, 5.1, 4.9, 5.05, 4.95, 5.15]);
    let mut fleet = nodes(&levels);
    for (at, node) in fleet.iter_mut().enumerate() {
        let image = if at < 21 { "old" } else { "new" };
        node.attributes.insert("rack".to_owned(), format!("r{}", at / 7));
        node.attributes.insert("image".to_owned(), image.to_owned());
    }
    let report = judge(&fleet, &without_pairs());
    let [cause] = report.causes.as_slice() else { panic!("{report:#?}") };
    assert_eq!((cause.attribute.as_str(), cause.value.as_str()), ("image", "new"));
    assert_eq!(cause.also, ["rack=r3"], "both may be the cause");
    assert_eq!(cause.nodes.len(), 6);
    assert!((cause.slower_percent["gemm"] - 5.0).abs() < 0.3, "{cause:?}");
    assert!(states(&report)[..21].iter().all(|state| *state == NodeState::Ok), "{report:#?}");
    assert!(states(&report)[21..].iter().all(|state| *state == NodeState::Undecided));
    assert_eq!(report.exit_code(), 3);
}

#[test]
fn what_was_not_judged_is_never_ok() {
    let mut fleet = nodes(&[&QUIET[..], &QUIET[..3]].concat());
    fleet[0].values.clear();
    fleet[1].trouble = Some(NodeTrouble { state: NodeState::Failed, why: "wrong result".into() });
    fleet[2].values.get_mut("gemm").unwrap().processes = vec![f64::NAN, 0.0];
    for node in &mut fleet[2..9] {
        node.values.insert("copy".to_owned(), values(vec![1.0, 1.001]));
    }
    let report = judge(&fleet, &without_pairs());
    let found = states(&report);
    assert_eq!(found[..2], [NodeState::NotMeasured, NodeState::Failed]);
    assert_eq!(found[3..9], [NodeState::Ok; 6], "{report:#?}");
    for (at, metric) in [(2, "gemm"), (9, "copy")] {
        let node = &report.nodes[at];
        assert_eq!(node.state, NodeState::Undecided);
        assert!(node.reason.contains(metric) && node.reason.contains("missing"), "{node:?}");
    }
    let single = [100.0, 100.1].map(|time| {
        let mut node = nodes(&[0.0]).remove(0);
        node.values.insert("gemm".to_owned(), values(vec![time]));
        node
    });
    let report = judge(&single, &without_pairs());
    assert!(report.nodes[0].reason.contains("at least two"), "{}", report.nodes[0].reason);
}

#[test]
fn exit_codes_rank_slow_above_unjudged_above_failed() {
    use NodeState::{Error, Failed, NotMeasured, Ok, Slow, Undecided};
    for (states, exit) in [
        (&[][..], 4),
        (&[Ok, Ok], 0),
        (&[Ok, Failed], 1),
        (&[Ok, Failed, Error], 4),
        (&[Ok, NotMeasured], 4),
        (&[Undecided, Failed], 4),
        (&[Failed, Undecided, Slow], 3),
    ] {
        let node = |state: &NodeState| NodeReport {
            name: String::new(),
            class: String::new(),
            state: *state,
            reason: String::new(),
            deviations: Vec::new(),
        };
        let nodes = states.iter().map(node).collect();
        let report = FleetReport { nodes, ..FleetReport::default() };
        assert_eq!(report.exit_code(), exit, "{states:?}");
    }
}

#[test]
fn pairs_confirm_refute_or_stay_open() {
    use PairSide::{Reference, Suspect};
    assert_eq!(pair_order(1), [Reference, Suspect, Suspect, Reference]);
    let pairs = |suspects: &[f64]| -> Vec<JobPair> {
        let pair = |time: &f64| JobPair {
            reference: values(vec![100.0, 100.1]),
            suspect: values(vec![*time, time + 0.1]),
        };
        suspects.iter().map(pair).collect()
    };
    let rule = VerdictRule::default();
    let result = |suspects: &[f64]| confirm(&pairs(suspects), 5.0, &rule);
    assert!(matches!(result(&[105.0, 105.1, 104.9, 105.0]), Confirmation::Confirmed { .. }));
    assert!(matches!(result(&[100.0, 100.1, 99.9, 100.0]), Confirmation::Refuted { .. }));
    assert!(matches!(
        confirm(&pairs(&[103.0, 103.1, 102.9, 103.0]), 12.0, &rule),
        Confirmation::Refuted { .. }
    ));
    assert_eq!(result(&[105.0]), Confirmation::Open { pairs: 1 });
    assert_eq!(result(&[90.0, 120.0]), Confirmation::Open { pairs: 2 });
    assert_eq!(confirm(&[], 5.0, &rule), Confirmation::Open { pairs: 0 });
}

#[test]
fn trimmed_statistics_estimate_the_spread_of_a_normal_class() {
    let quantiles: Vec<f64> =
        (0..1000).map(|at| -normal_exceeded_with((f64::from(at) + 0.5) / 1000.0)).collect();
    for trimmed in [0, 50, 200, 300] {
        let peers = Peers::of(&quantiles, trimmed).unwrap();
        assert!((peers.spread - 1.0).abs() < 0.02 && peers.center.abs() < 1e-9, "{peers:?}");
    }
    assert!(Peers::of(&[1.0], 0).is_none() && Peers::of(&[1.0, 2.0], 1).is_none());
}

fn odd_number() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => 1.0..2.0_f64,
        1 => any::<f64>(),
        1 => prop::sample::select(vec![0.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE, -1.0]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn any_values_get_a_state_and_invalid_ones_never_pass(
        fleet in prop::collection::vec(prop::collection::vec(odd_number(), 0..4), 0..14),
    ) {
        let mut measured = nodes(&vec![0.0; fleet.len()]);
        for (node, times) in measured.iter_mut().zip(&fleet) {
            node.values.insert("gemm".to_owned(), values(times.clone()));
        }
        let report = judge(&measured, &without_pairs());
        prop_assert_eq!(report.nodes.len(), fleet.len());
        for (node, times) in report.nodes.iter().zip(&fleet) {
            let is_valid = times.iter().any(|time| time.is_finite() && *time > 0.0);
            prop_assert!(is_valid || node.state == NodeState::Undecided, "{:?}", node);
        }
    }
}
