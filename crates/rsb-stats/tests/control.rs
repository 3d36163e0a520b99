//! Tests of the control set: a change of the machine is not mistaken for a change of the code, and
//! vice versa.

#![allow(clippy::unwrap_used)]

mod common;

use common::{now, run, steady};
use rsb_model::record::{Comparison, ComparisonNoteCode, ComparisonResult};
use rsb_model::{BenchmarkResult, Fields, ReasonCode, Run, Verdict};
use rsb_stats::policy::{Control, WhenMoved};
use rsb_stats::{Policy, exit_code, gate, gate_paired};

const BASE: [f64; 3] = [1000.0, 1010.0, 990.0];

/// Returns the comparison of a control case and another case that are slower than in the baseline
/// by the factors `control` and `case`.
fn judged(control: f64, case: f64, when_moved: WhenMoved) -> ComparisonResult {
    let side = |name: &str, control: f64, case: f64| {
        let times = |factor: f64| BASE.map(|time| time * factor);
        run(name, vec![steady("control", &times(control)), steady("gemm", &times(case))])
    };
    let mut policy = Policy::default();
    policy.set_control("control", Control { when_moved, ..Control::default() }).unwrap();
    gate(&[side("before", 1.0, 1.0)], &[side("after", control, case)], &policy, &[], now())
}

fn of<'a>(result: &'a ComparisonResult, name: &str) -> &'a Comparison {
    result.comparisons.iter().find(|comparison| comparison.id.as_str().contains(name)).unwrap()
}

#[test]
fn what_a_moved_machine_explains_or_hides_has_no_verdict() {
    use Verdict::{Improved, Inconclusive, Regressed, Unchanged};
    for (control, case, verdict, exit) in [
        (1.0, 1.0, Unchanged, 0),
        (1.0, 1.2, Regressed, 3),
        (1.02, 1.2, Regressed, 3),
        (1.15, 1.2, Inconclusive, 4),
        (1.15, 1.0, Unchanged, 4),
        (0.85, 1.0, Inconclusive, 4),
        (0.85, 0.8, Inconclusive, 4),
        (0.85, 1.2, Regressed, 3),
        (1.0, 0.8, Improved, 0),
        // A control case that changes means a change of the machine, however large.
        (2.0, 1.0, Unchanged, 4),
    ] {
        let result = judged(control, case, WhenMoved::Refuse);
        assert_eq!(of(&result, "gemm").verdict, verdict, "{control} {case}: {result:#?}");
        assert_eq!(exit_code(&result), exit, "{control} {case}");
    }
    let result = judged(1.15, 1.2, WhenMoved::Refuse);
    let refused = of(&result, "gemm");
    assert_eq!(refused.reason_code, ReasonCode::MachineMoved);
    assert!(
        refused.reason.contains("the machine changed")
            && refused.reason.contains("control/cpu:0 +15 %")
    );
    assert_eq!(of(&result, "control").reason_code, ReasonCode::MachineMoved);
}

#[test]
fn the_move_is_taken_out_where_the_policy_says_so() {
    for (control, case, verdict) in [
        (1.15, 1.15, Verdict::Unchanged),
        (1.15, 1.4, Verdict::Regressed),
        (0.85, 1.0, Verdict::Regressed),
    ] {
        let result = judged(control, case, WhenMoved::Correct);
        let found = of(&result, "gemm");
        assert_eq!(found.verdict, verdict, "{control} {case}: {found:#?}");
        assert!(found.reason.contains("of the control set subtracted"), "{}", found.reason);
    }
}

#[test]
fn an_ignored_control_set_is_none_and_the_result_says_so() {
    for (control, case, verdicts) in [
        (1.15, 1.15, [Verdict::Regressed, Verdict::Regressed]),
        (1.0, 1.15, [Verdict::Unchanged, Verdict::Regressed]),
        (1.15, 1.0, [Verdict::Regressed, Verdict::Unchanged]),
    ] {
        let result = judged(control, case, WhenMoved::Ignore);
        assert_eq!(
            [of(&result, "control").verdict, of(&result, "gemm").verdict],
            verdicts,
            "{control} {case}"
        );
        assert!(
            result.notes.iter().any(|note| note.code == ComparisonNoteCode::Control),
            "{:?}",
            result.notes
        );
    }
    assert!(
        judged(1.0, 1.0, WhenMoved::Refuse)
            .notes
            .iter()
            .all(|note| note.code != ComparisonNoteCode::Control)
    );
}

#[test]
fn code_excuses_neither_itself_nor_others_by_a_name_of_the_control_set() {
    use Verdict::{Inconclusive, Regressed, Unchanged};
    let side = |name: &str, own: f64, other: f64| {
        let of = |id: &str, factor: f64| BenchmarkResult {
            benchmark_id: id.parse().unwrap(),
            ..steady("any", &BASE.map(|time| time * factor))
        };
        run(name, vec![of("flight/control/step1", own), of("flight/plan/step1", other)])
    };
    let verdicts = |own: f64, other: f64, named: bool| {
        let mut policy = Policy::default();
        if named {
            policy
                .set_control(
                    "control",
                    Control { cases: vec!["flight/control/*".into()], ..Control::default() },
                )
                .unwrap();
        }
        let result =
            gate(&[side("before", 1.0, 1.0)], &[side("after", own, other)], &policy, &[], now());
        ([of(&result, "control").verdict, of(&result, "plan").verdict], exit_code(&result))
    };
    for (own, other, named, expected) in [
        // A `control` benchmark of another project is no control set unless the policy makes it
        // one.
        (1.3, 1.0, false, ([Regressed, Unchanged], 3)),
        (1.3, 1.3, false, ([Regressed, Regressed], 3)),
        // A user-defined control case is still judged.
        (1.3, 1.0, true, ([Regressed, Unchanged], 3)),
        (1.3, 1.3, true, ([Regressed, Inconclusive], 3)),
        (1.0, 1.3, true, ([Unchanged, Regressed], 3)),
        (1.0, 1.0, true, ([Unchanged, Unchanged], 0)),
    ] {
        assert_eq!(verdicts(own, other, named), expected, "{own} {other} {named}");
    }
}

#[test]
fn pairs_share_their_machine_and_need_no_control_set() {
    let side = |name: &str, factor: f64| {
        run(name, vec![steady("control", &BASE.map(|time| time * factor))])
    };
    let result = gate_paired(&side("before", 1.0), &side("after", 1.2), &Policy::default(), now());
    assert_eq!(of(&result, "control").verdict, Verdict::Regressed);
}

/// Builds a GPU case from its times and its sensor readings: a clock, and throttle reasons.
fn watched(name: &str, factor: f64, (clock, held_back): (f64, &[&str])) -> Run {
    let mut case = steady("gemm", &BASE.map(|time| time * factor));
    let clock = serde_json::json!({ "mean": clock, "min": clock, "max": clock });
    let told = serde_json::json!({ "sclk_mhz": clock, "throttled": !held_back.is_empty(), "throttle_reasons": held_back });
    case.metadata.insert("telemetry".to_owned(), serde_json::json!([told, null]));
    run(name, vec![case])
}

#[test]
fn a_regression_beside_a_slower_gpu_says_machine_first_and_stays_one() {
    let check = |factor: f64, after: (f64, &[&str]), first: Option<&str>| {
        let sides = [watched("before", 1.0, (2100.0, &[])), watched("after", factor, after)];
        let result = gate(&sides[..1], &sides[1..], &Policy::default(), &[], now());
        let row = of(&result, "gemm");
        assert_eq!(
            (row.verdict, exit_code(&result)),
            (Verdict::Regressed, 3),
            "the verdict must stay: {row:?}"
        );
        let noted =
            result.notes.first().is_some_and(|note| note.code == ComparisonNoteCode::MachineState);
        match first {
            Some(first) => {
                assert!(noted && row.reason.starts_with(first), "{}", row.reason);
                assert_eq!(row.why(), format!("{first}above the threshold of 10 %"));
            }
            None => assert!(!noted && !row.reason.contains("machine"), "{}", row.reason),
        }
    };
    let halved = "machine, not code: the GPU's clock was 1050 MHz, 2100 MHz in the baseline; ";
    check(2.0, (1050.0, &[]), Some(halved));
    check(
        1.3,
        (2090.0, &["heat"]),
        Some("machine, not code: the GPU was held back by heat, and not in the baseline; "),
    );
    check(2.0, (2100.0, &[]), None);
    // The drop of the clock is so small that most of the slowdown has another cause.
    check(2.0, (1800.0, &[]), None);
}

#[test]
fn a_slower_clock_of_memory_is_the_machine_too() {
    let side = |name: &str, factor: f64, clock: f64| {
        let mut case = steady("triad", &BASE.map(|time| time * factor));
        let clock = serde_json::json!({ "mean": clock, "min": clock, "max": clock });
        case.metadata
            .insert("telemetry".to_owned(), serde_json::json!([{ "mclk_mhz": clock }, null]));
        run(name, vec![case])
    };
    let sides = [side("before", 1.0, 1300.0), side("after", 2.0, 650.0)];
    let result = gate(&sides[..1], &sides[1..], &Policy::default(), &[], now());
    let row = of(&result, "triad");
    let first =
        "machine, not code: the clock of the GPU's memory was 650 MHz, 1300 MHz in the baseline; ";
    assert!(row.verdict == Verdict::Regressed && row.reason.starts_with(first), "{}", row.reason);
}

#[test]
fn how_long_an_idle_gpu_s_sensors_are_read_is_not_judged() {
    let side = |name: &str, load: &str, factor: f64| {
        let fields = Fields::new().with("load", load);
        let times = BASE.map(|time| time * factor);
        run(name, vec![BenchmarkResult { results: vec![fields], ..steady("smi-metrics", &times) }])
    };
    let rows = |load: &str| {
        let sides = [side("before", load, 1.0), side("after", load, 2.0)];
        gate(&sides[..1], &sides[1..], &Policy::default(), &[], now()).comparisons.len()
    };
    assert_eq!((rows("idle"), rows("compute")), (0, 1));
}
