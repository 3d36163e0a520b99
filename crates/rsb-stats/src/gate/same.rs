//! Detection of a measurement that was used twice: the same samples on both sides, or in two runs
//! of one side.
//!
//! A tool that fails may leave its last result in place. That result would then be compared with
//! itself and always pass.

use std::collections::HashSet;

use rsb_model::{BenchmarkResult, Samples};

/// Minimum number of distinct times for equal lists to count as a copy. A baseline stores rounded
/// times, of which fewer may agree by chance.
const UNLIKE: usize = 5;

/// Returns the sentence for a case if two of its results have the same samples.
pub(super) fn sentence(
    baseline: &[&BenchmarkResult],
    current: &[&BenchmarkResult],
) -> Option<String> {
    let sides = [baseline, current]
        .map(|results| results.iter().copied().map(ResultSamples::of).collect::<Vec<_>>());
    let [before, after] = &sides;
    let who = if before.iter().any(|one| after.iter().any(|other| one.is_copy(other))) {
        "both sides have"
    } else if has_copies(before) {
        "two runs of the baseline have"
    } else if has_copies(after) {
        "two of the judged runs have"
    } else {
        return None;
    };
    Some(format!(
        "{who} the same samples, so one of them was not measured (Criterion leaves the last result \
         in `new/` after --save-baseline, a filter or a panic): measure it again"
    ))
}

/// Returns whether two of the results on one side have the same samples.
fn has_copies(side: &[ResultSamples<'_>]) -> bool {
    side.iter()
        .enumerate()
        .any(|(at, one)| side.iter().skip(at + 1).any(|other| one.is_copy(other)))
}

/// The samples of one result: each process with its shortest time of one iteration.
struct ResultSamples<'a>(Vec<(f64, &'a Samples)>);

impl<'a> ResultSamples<'a> {
    fn of(result: &'a BenchmarkResult) -> Self {
        Self(result.samples.iter().map(|samples| (shortest_time(samples), samples)).collect())
    }

    /// Returns whether the results have a process with several samples in common or, if each
    /// process has a single sample, all processes.
    fn is_copy(&self, other: &Self) -> bool {
        let is_in_both = self.0.iter().any(|(least, one)| {
            one.len() > 1
                && other
                    .0
                    .iter()
                    .any(|(known, other)| is_near(*least, *known) && is_same(&[*one], &[*other]))
        });
        if is_in_both {
            return true;
        }
        let alike = self.0.iter().zip(&other.0).all(|((one, _), (other, _))| is_near(*one, *other));
        self.0.len() > 1
            && self.0.len() == other.0.len()
            && alike
            && is_same(&self.samples(), &other.samples())
    }

    fn samples(&self) -> Vec<&'a Samples> {
        self.0.iter().map(|(_, samples)| *samples).collect()
    }
}

/// Returns the shortest time of one iteration, in nanoseconds.
fn shortest_time(samples: &Samples) -> f64 {
    let each =
        samples.times_ns.iter().zip(&samples.iters).map(|(time, iters)| time / *iters as f64);
    each.fold(f64::INFINITY, f64::min)
}

/// Returns whether two times are equal up to rounding. This cheap check rules out most pairs of
/// different processes.
fn is_near(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-3 * one
}

/// Returns whether these are the same samples, as measured or as thinned for a baseline.
fn is_same(one: &[&Samples], other: &[&Samples]) -> bool {
    if one.iter().zip(other).all(|(one, other)| has_equal_times(one, other)) {
        return true;
    }
    let [one, other] =
        [one, other].map(|list| list.iter().map(|samples| samples.thinned()).collect::<Vec<_>>());
    let unlike: HashSet<u64> =
        one.iter().flat_map(|samples| &samples.times_ns).map(|time| time.to_bits()).collect();
    unlike.len() >= UNLIKE && one.iter().zip(&other).all(|(one, other)| has_equal_times(one, other))
}

fn has_equal_times(one: &Samples, other: &Samples) -> bool {
    one.iters == other.iters && one.times_ns == other.times_ns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::testing::measured_case;

    fn result(processes: &[&[f64]]) -> BenchmarkResult {
        let samples = (0..).zip(processes).map(|(replicate, times)| Samples {
            replicate,
            iters: vec![10; times.len()],
            times_ns: times.to_vec(),
        });
        measured_case("gemm", samples.collect())
    }

    #[test]
    fn a_copy_is_known_on_either_side_and_as_a_baseline_keeps_it() {
        let long: Vec<f64> =
            (0..100).map(|at| 1_000.123_456_7 + f64::from(at * 37 % 100)).collect();
        let other: Vec<f64> = long.iter().map(|time| time * 1.000_1).collect();
        let mut kept = result(&[&long]);
        kept.samples[0] = kept.samples[0].thinned();
        let single: Vec<[f64; 1]> = (0..10).map(|at| [1_000.123_456_7 + f64::from(at)]).collect();
        let first = result_of_single(&single[..9]);
        let second = result_of_single(&single[1..]);
        let (a, b) =
            (result(&[&[10.0, 11.0], &[12.0, 13.0]]), result(&[&[10.0, 11.5], &[12.0, 13.5]]));
        let swapped = result(&[&[14.0, 15.0], &[10.0, 11.0]]);
        for (baseline, current, said) in [
            (vec![&a], vec![&a], Some("both sides")),
            (vec![&a], vec![&swapped], Some("both sides")),
            (vec![&a], vec![&b], None),
            (vec![&a, &swapped], vec![&b], Some("two runs of the baseline")),
            (vec![&a], vec![&b, &b], Some("two of the judged")),
            (vec![&kept], vec![&result(&[&long])], Some("both sides")),
            (vec![&kept], vec![&result(&[&other])], None),
            // Runs of a command: one sample per process.
            (vec![&first], vec![&first], Some("both sides")),
            (vec![&first], vec![&second], None),
            (vec![&result(&[&[10.0]])], vec![&result(&[&[10.0]])], None),
        ] {
            let found = sentence(&baseline, &current);
            assert_eq!(found.is_some(), said.is_some(), "{baseline:?} {current:?}: {found:?}");
            assert!(
                said.is_none_or(|said| found.is_some_and(|found| found.starts_with(said))),
                "{said:?}"
            );
        }
    }

    /// Builds a result with one sample per process.
    fn result_of_single(times: &[[f64; 1]]) -> BenchmarkResult {
        result(&times.iter().map(<[f64; 1]>::as_slice).collect::<Vec<_>>())
    }
}
