//! Tests of code that is slow most of the time, but not always: its fastest samples never make it
//! pass, and interleaved pairs decide.

#![allow(clippy::unwrap_used)]

mod common;

use common::{bare, now, run};
use rsb_model::record::{Comparison, ComparisonNoteCode};
use rsb_model::{BenchmarkResult, Outcome, ReasonCode, Samples, Verdict};
use rsb_stats::remeasure::AGAINST_BASELINE;
use rsb_stats::{Policy, exit_code, gate, gate_paired, suspects, undecided_cases, with_paired};

/// Number of slow samples in a process, and the factor by which they are slower.
type Slow = (usize, f64);

/// Builds one case with a process of `samples` samples for each item of `slow`.
fn case(name: &str, seed: usize, samples: usize, slow: &[Slow]) -> BenchmarkResult {
    let process = |(replicate, &(count, factor)): (usize, &Slow)| {
        let wobble = |at: usize| {
            1.0 + 0.004 * ((at * 7 + replicate * 5 + seed * 3) % 11) as f64 / 11.0
                + 1e-4 * seed as f64
        };
        let time = |at: usize| 1000.0 * wobble(at) * if at < count { factor } else { 1.0 };
        let replicate = u32::try_from(replicate).unwrap();
        Samples { replicate, iters: vec![1; samples], times_ns: (0..samples).map(time).collect() }
    };
    BenchmarkResult {
        samples: slow.iter().enumerate().map(process).collect(),
        ..bare(name, Outcome::Measured)
    }
}

/// Builds a suite of twelve cases, the first of which is slow; `seed` selects the noise.
fn suite(seed: usize, samples: usize, slow: &[Slow]) -> Vec<BenchmarkResult> {
    let plain = vec![(0, 1.0); slow.len()];
    let others = (1..12).map(|at| case(&format!("case{at}"), seed + at, samples, &plain));
    std::iter::once(case("case0", seed, samples, slow)).chain(others).collect()
}

fn first(samples: usize, before: &[Slow], slow: &[Slow]) -> (Comparison, u8) {
    let [baseline, current] =
        [run("before", suite(1, samples, before)), run("after", suite(4, samples, slow))];
    let result = gate(&[baseline], std::slice::from_ref(&current), &Policy::default(), &[], now());
    let doubted = result.comparisons[0].verdict == Verdict::Inconclusive;
    assert_eq!(
        suspects(&result, &current).contains(&result.comparisons[0].id),
        doubted,
        "only an undecided case must be a suspect"
    );
    assert_eq!(
        undecided_cases(&result, &current, AGAINST_BASELINE).contains(&result.comparisons[0].id),
        doubted
    );
    for other in &result.comparisons[1..] {
        assert_eq!(other.verdict, Verdict::Unchanged, "{other:#?}");
    }
    (result.comparisons[0].clone(), exit_code(&result))
}

#[test]
fn most_processes_or_most_samples_are_never_green() {
    const FAST: Slow = (0, 1.0);
    for (name, samples, slow, verdict) in [
        ("two of three processes", 30, vec![FAST, (30, 2.0), (30, 2.0)], Verdict::Inconclusive),
        ("98 of 100 samples", 100, vec![(98, 2.0); 3], Verdict::Inconclusive),
        ("97 of 100 samples of one process a side", 100, vec![(97, 2.0)], Verdict::Inconclusive),
        (
            "nine of ten runs of a command",
            1,
            [vec![FAST], vec![(1, 3.0); 9]].concat(),
            Verdict::Inconclusive,
        ),
        ("one of three processes", 30, vec![FAST, FAST, (30, 2.0)], Verdict::Unchanged),
        ("40 of 100 samples", 100, vec![(40, 2.0); 3], Verdict::Unchanged),
    ] {
        let (row, exit) = first(samples, &vec![FAST; slow.len()], &slow);
        assert_eq!(
            (row.verdict, exit),
            (verdict, if verdict == Verdict::Unchanged { 0 } else { 4 }),
            "{name}: {row:#?}"
        );
    }
    let (row, _) = first(100, &[FAST; 3], &[(98, 2.0); 3]);
    assert_eq!(row.reason_code, ReasonCode::MedianWorse);
    assert!(
        row.reason.contains("100 % slower by the median") && row.reason.contains("gate --against"),
        "{}",
        row.reason
    );
}

#[test]
fn pairs_decide_what_the_median_doubts() {
    let [baseline, current] = [
        run("before", suite(1, 100, &[(0, 1.0); 3])),
        run("after", suite(4, 100, &[(98, 2.0); 3])),
    ];
    let policy = Policy::default();
    let record =
        gate(std::slice::from_ref(&baseline), std::slice::from_ref(&current), &policy, &[], now());
    for (beside, verdict) in [
        (&current, Verdict::Regressed),
        (&run("again", suite(7, 100, &[(0, 1.0); 3])), Verdict::Unchanged),
    ] {
        let paired = gate_paired(&baseline, beside, &policy, now());
        assert_eq!(with_paired(record.clone(), &paired, &policy).comparisons[0].verdict, verdict);
    }
}

#[test]
fn a_pass_on_one_process_a_side_says_so() {
    for (processes, told) in [(1, true), (3, false)] {
        let side = |seed: usize| [run("side", suite(seed, 30, &vec![(0, 1.0); processes]))];
        let result = gate(&side(1), &side(4), &Policy::default(), &[], now());
        assert_eq!(exit_code(&result), 0, "{processes}: {result:#?}");
        assert_eq!(
            result.comparisons[0].reason.contains("one process per side"),
            told,
            "{}",
            result.comparisons[0].reason
        );
        let notes: Vec<_> =
            result.notes.iter().filter(|note| note.code == ComparisonNoteCode::Evidence).collect();
        assert_eq!(notes.len(), usize::from(told), "{notes:?}");
        assert!(notes.iter().all(|note| note.text.contains("12 of 12")), "{notes:?}");
    }
}
