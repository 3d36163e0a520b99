//! Error rates of verdicts on sides that were measured separately, on synthetic machines with known
//! changes.
//!
//! `cargo run --release -p rsb-stats --example blind_spots` prints Markdown. Each simulated process
//! takes the undisturbed time of its case plus a disturbance that lasts for its whole life; the
//! tables differ in the distribution of the disturbance. The rates are only as realistic as this
//! model; docs/gate-study.md has rates from recorded measurements.
#![allow(clippy::print_stdout)] // It is there to print.

use rsb_model::{Better, ReasonCode, Unit, Verdict};
use rsb_stats::CaseConclusion;
use rsb_stats::compare::{ErrorRates, Pair, Side, compare};
use rsb_stats::rng::Rng;

const CASES: usize = 30;
const SUITES: usize = 400;

/// Noise of a simulated machine: returns the logarithm of the time of one process of case `case`,
/// relative to the undisturbed time of the case.
type Machine = fn(&mut Rng, &mut SideState, usize) -> f64;

/// State shared by all processes of one side.
#[derive(Default)]
struct SideState {
    /// Offset added to the time of every case, as a logarithm.
    offset: f64,
}

fn main() {
    println!(
        "# Blind spots of verdicts on sides measured separately\n\n{CASES} cases, {SUITES} suites; \
         three cases are slower by 20 % in the second half of each table.\n"
    );
    println!(
        "| machine | processes | unchanged cases Regressed | suites with one | undecided | +20 %: \
         found | found if separate | missed |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let machines: [(&str, Machine); 7] = [
        ("quiet: normal, 1 %", |rng, _, _| 0.01 * rng.normal()),
        ("busy: excess of 3 % on average", |rng, _, _| excess(rng, 0.03)),
        ("mixed cases: excess of 0.3 to 30 %, by case", |rng, _, case| excess(rng, unlike(case))),
        ("mixed cases: normal, 0.3 to 10 %, by case", |rng, _, case| {
            unlike(case) / 3.0 * rng.normal()
        }),
        ("one process in eight disturbed for life by 10 to 80 %", |rng, _, _| {
            0.003 * rng.normal()
                + if rng.uniform() < 0.125 { (1.1 + 0.7 * rng.uniform()).ln() } else { 0.0 }
        }),
        ("an offset of 5 % common to a side, and 1 %", |rng, side, _| {
            side.offset + 0.01 * rng.normal()
        }),
        ("bimodal: three in ten take 1.3 times as long", |rng, _, _| {
            0.005 * rng.normal() + if rng.uniform() < 0.3 { 1.3_f64.ln() } else { 0.0 }
        }),
    ];
    for (name, machine) in machines {
        for (processes, past) in [([3, 3], 0), ([3, 3], 4), ([9, 3], 0), ([10, 5], 0), ([10, 5], 4)]
        {
            let with = if past > 0 {
                format!(", with the noise of {past} earlier runs")
            } else {
                String::new()
            };
            println!(
                "| {name} | {} and {}{with} | {} |",
                processes[0],
                processes[1],
                row(machine, processes, past)
            );
        }
    }
    println!(
        "\n| cases | processes | 95 % interval misses the truth: quiet | busy |\n|---|---|---|---|"
    );
    for cases in [1, 2, 4, 10, 30] {
        for processes in [[3, 3], [5, 5]] {
            let quiet = noncoverage_percent(cases, processes, |rng, _, _| 0.02 * rng.normal());
            let busy = noncoverage_percent(cases, processes, |rng, _, _| excess(rng, 0.05));
            println!(
                "| {cases} | {} and {} | {quiet:.1} % | {busy:.1} % |",
                processes[0], processes[1]
            );
        }
    }
    println!(
        "\n| pairs, judged after every second one, at most 40 | Regressed at 0 % | at +8 % \
         |\n|---|---|---|"
    );
    for (name, spread) in [("1 % per pair", 0.01), ("5 % per pair", 0.05), ("15 % per pair", 0.15)]
    {
        println!(
            "| {name} | {:.2} % | {:.2} % |",
            ever_regressed_percent(spread, 0.0),
            ever_regressed_percent(spread, 0.08)
        );
    }
}

/// Returns an exponentially distributed excess over the undisturbed time, as a logarithm.
fn excess(rng: &mut Rng, mean: f64) -> f64 {
    -mean * rng.uniform().max(1e-12).ln()
}

/// Returns a value from 0.3 to 30 % that depends on the case, with equal steps on a logarithmic
/// scale.
fn unlike(case: usize) -> f64 {
    0.003 * 100_f64.powf(case as f64 / (CASES - 1) as f64)
}

fn side(
    rng: &mut Rng,
    machine: Machine,
    cases: usize,
    processes: usize,
    slower: &[usize],
) -> Vec<Vec<f64>> {
    let mut state = SideState { offset: 0.05 * rng.normal() };
    let mut times = Vec::with_capacity(cases);
    for case in 0..cases {
        let floor = if slower.contains(&case) { 1.2_f64.ln() } else { 0.0 };
        let processes = (0..processes).map(|_| (floor + machine(rng, &mut state, case)).exp());
        times.push(processes.collect());
    }
    times
}

fn pairs(before: &[Vec<f64>], after: &[Vec<f64>], earlier: &[Vec<Vec<f64>>]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (case, (before, after)) in before.iter().zip(after).enumerate() {
        let past = earlier.iter().filter_map(|run| run.get(case).cloned()).collect();
        let (Some(baseline), Some(current)) = (Side::new(before.clone()), Side::new(after.clone()))
        else {
            continue;
        };
        pairs.push(Pair {
            baseline: baseline.with_past(past),
            current,
            ratios: None,
            unit: Unit::Milliseconds,
            better: Better::Lower,
            threshold: 0.1,
        });
    }
    pairs
}

fn row(machine: Machine, [before, after]: [usize; 2], earlier: usize) -> String {
    let mut rng = Rng::new(14);
    let (mut wrong, mut suites, mut undecided, mut unchanged) = (0, 0, 0, 0);
    let (mut slowed, mut found, mut missed, mut separate, mut found_separate) = (0, 0, 0, 0, 0);
    for suite in 0..SUITES {
        // Three cases with different noise.
        let slower: Vec<usize> = (0..3).map(|n| (suite + n * CASES / 3) % CASES).collect();
        let baseline = side(&mut rng, machine, CASES, before, &[]);
        let past: Vec<Vec<Vec<f64>>> =
            (0..earlier).map(|_| side(&mut rng, machine, CASES, before, &[])).collect();
        for slower in [&[][..], &slower] {
            let current = side(&mut rng, machine, CASES, after, slower);
            let found_pairs = compare(&pairs(&baseline, &current, &past), ErrorRates::USUAL);
            if slower.is_empty() {
                unchanged += CASES;
                let regressed = (0..CASES)
                    .filter(|&case| has_verdict(&found_pairs, case, Verdict::Regressed))
                    .count();
                wrong += regressed;
                suites += usize::from(regressed > 0);
                let open = found_pairs.iter().filter(|one| {
                    one.verdict == Verdict::Inconclusive && one.reason != ReasonCode::MedianWorse
                });
                undecided += open.count();
            }
            for &case in slower {
                let slowest = baseline[case].iter().copied().fold(0.0, f64::max);
                let is_separate = current[case].iter().all(|&time| time > slowest);
                let is_found = has_verdict(&found_pairs, case, Verdict::Regressed);
                slowed += 1;
                found += usize::from(is_found);
                missed += usize::from(has_verdict(&found_pairs, case, Verdict::Unchanged));
                separate += usize::from(is_separate);
                found_separate += usize::from(is_separate && is_found);
            }
        }
    }
    [
        format_share(wrong, unchanged),
        format_share(suites, SUITES),
        format_share(undecided, unchanged),
        format_share(found, slowed),
        format_share(found_separate, separate),
        format_share(missed, slowed),
    ]
    .join(" | ")
}

fn has_verdict(found: &[CaseConclusion], case: usize, verdict: Verdict) -> bool {
    found.get(case).is_some_and(|one| one.verdict == verdict)
}

fn format_share(part: usize, whole: usize) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

/// Returns the percentage of confidence intervals that do not contain the true change, which is
/// zero.
fn noncoverage_percent(cases: usize, [before, after]: [usize; 2], machine: Machine) -> f64 {
    let mut rng = Rng::new(15);
    let (mut outside, mut all) = (0_u32, 0_u32);
    while all < 6000 {
        let sides = [before, after].map(|processes| side(&mut rng, machine, cases, processes, &[]));
        for one in compare(&pairs(&sides[0], &sides[1], &[]), ErrorRates::USUAL) {
            all += 1;
            outside +=
                u32::from(!one.interval.is_some_and(|[low, high]| low <= 0.0 && 0.0 <= high));
        }
    }
    100.0 * f64::from(outside) / f64::from(all)
}

/// Returns how often, in percent, the first of ten cases is called Regressed at some point while
/// pairs are added.
fn ever_regressed_percent(spread: f64, change: f64) -> f64 {
    let mut rng = Rng::new(16);
    let tries = 1000;
    let mut regressed = 0_u32;
    for _ in 0..tries {
        let mut ratios: Vec<Vec<f64>> = vec![Vec::new(); 10];
        let mut is_regressed = false;
        for pairs_so_far in (3..=40).step_by(2) {
            for (case, ratios) in ratios.iter_mut().enumerate() {
                let truth = if case == 0 { change.ln_1p() } else { 0.0 };
                let spread = if case == 0 { spread } else { 0.02 };
                while ratios.len() < pairs_so_far {
                    ratios.push(truth + spread * rng.normal());
                }
            }
            let each = ratios.iter().filter_map(|ratios| {
                let flat = Side::new(vec![1.0; ratios.len()])?;
                let [baseline, current] = [flat.clone(), flat];
                Some(Pair {
                    baseline,
                    current,
                    ratios: Some(ratios.clone()),
                    unit: Unit::Milliseconds,
                    better: Better::Lower,
                    threshold: 0.1,
                })
            });
            let conclusions = compare(&each.collect::<Vec<_>>(), ErrorRates::USUAL);
            let Some(first) = conclusions.first() else { continue };
            is_regressed = first.verdict == Verdict::Regressed;
            // Condition under which the program continues to measure: see `remeasure`.
            let is_open = first.verdict == Verdict::Inconclusive
                || first.interval.is_some_and(|[low, high]| low < 0.1 && 0.1 < high);
            if !is_open {
                break;
            }
        }
        regressed += u32::from(is_regressed);
    }
    100.0 * f64::from(regressed) / f64::from(tries)
}
