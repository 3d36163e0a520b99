//! One measurement that stands for two: the same samples on both sides, or in two runs of one side.
//!
//! A tool that fails leaves its last result where it was, and that is then judged against itself:
//! it would always pass.

use std::collections::HashSet;

use rsb_model::{BenchmarkResult, Samples};

/// Fewer unlike times than this may agree by chance once they are rounded as a baseline keeps them.
const UNLIKE: usize = 5;

/// The sentence for a case of which two results hold the same samples.
pub(super) fn sentence(
    baseline: &[&BenchmarkResult],
    current: &[&BenchmarkResult],
) -> Option<String> {
    let sides = [baseline, current]
        .map(|results| results.iter().copied().map(ResultSamples::of).collect::<Vec<_>>());
    let [before, after] = &sides;
    let twice = |side: &[ResultSamples<'_>]| {
        side.iter()
            .enumerate()
            .any(|(at, one)| side.iter().skip(at + 1).any(|other| one.is_copy(other)))
    };
    let who = if before.iter().any(|one| after.iter().any(|other| one.is_copy(other))) {
        "both sides hold"
    } else if twice(before) {
        "two runs of the baseline hold"
    } else if twice(after) {
        "two of the runs that are judged hold"
    } else {
        return None;
    };
    Some(format!(
        "{who} the same samples of it, so one of them was not measured (Criterion leaves the last \
         result in `new/` after \
         --save-baseline, a filter or a panic): measure it again"
    ))
}

/// The samples of one result, each process with its shortest time of an iteration.
struct ResultSamples<'a>(Vec<(f64, &'a Samples)>);

impl<'a> ResultSamples<'a> {
    fn of(result: &'a BenchmarkResult) -> Self {
        let shortest = |samples: &Samples| {
            let each = samples
                .times_ns
                .iter()
                .zip(&samples.iters)
                .map(|(time, iters)| time / *iters as f64);
            each.fold(f64::INFINITY, f64::min)
        };
        Self(result.samples.iter().map(|samples| (shortest(samples), samples)).collect())
    }

    /// Whether a process of several samples is in both, or all processes are, where each has a
    /// single sample.
    fn is_copy(&self, other: &Self) -> bool {
        let process = |(least, one): &(f64, &Samples)| {
            one.len() > 1
                && other
                    .0
                    .iter()
                    .any(|(known, other)| is_near(*least, *known) && is_same(&[*one], &[*other]))
        };
        if self.0.iter().any(process) {
            return true;
        }
        let alike = self.0.iter().zip(&other.0).all(|((one, _), (other, _))| is_near(*one, *other));
        let all = |taken: &Self| taken.0.iter().map(|(_, samples)| *samples).collect::<Vec<_>>();
        self.0.len() > 1
            && self.0.len() == other.0.len()
            && alike
            && is_same(&all(self), &all(other))
    }
}

/// As near as the same time is that was rounded: most that is not the same is told by this alone.
fn is_near(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-3 * one
}

/// Whether these are the same samples, as they were taken or as a baseline keeps them.
fn is_same(one: &[&Samples], other: &[&Samples]) -> bool {
    let equal =
        |one: &Samples, other: &Samples| one.iters == other.iters && one.times_ns == other.times_ns;
    if one.iter().zip(other).all(|(one, other)| equal(one, other)) {
        return true;
    }
    let kept = |list: &[&Samples]| list.iter().map(|samples| samples.thinned()).collect::<Vec<_>>();
    let (one, other) = (kept(one), kept(other));
    let unlike: HashSet<u64> =
        one.iter().flat_map(|samples| &samples.times_ns).map(|time| time.to_bits()).collect();
    unlike.len() >= UNLIKE && one.iter().zip(&other).all(|(one, other)| equal(one, other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::testing::measured_case;

    fn result(processes: &[&[f64]]) -> BenchmarkResult {
        let process = |(replicate, times): (u32, &&[f64])| Samples {
            replicate,
            iters: vec![10; times.len()],
            times_ns: times.to_vec(),
        };
        measured_case("gemm", (0..).zip(processes).map(process).collect())
    }

    #[test]
    fn a_copy_is_known_on_either_side_and_as_a_baseline_keeps_it() {
        let long: Vec<f64> =
            (0..100).map(|at| 1_000.123_456_7 + f64::from(at * 37 % 100)).collect();
        let other: Vec<f64> = long.iter().map(|time| time * 1.000_1).collect();
        let mut kept = result(&[&long]);
        kept.samples[0] = kept.samples[0].thinned();
        let single: Vec<[f64; 1]> = (0..10).map(|at| [1_000.123_456_7 + f64::from(at)]).collect();
        let runs = |from: usize| {
            result(&single[from..from + 9].iter().map(<[f64; 1]>::as_slice).collect::<Vec<_>>())
        };
        let (a, b) =
            (result(&[&[10.0, 11.0], &[12.0, 13.0]]), result(&[&[10.0, 11.5], &[12.0, 13.5]]));
        let swapped = result(&[&[14.0, 15.0], &[10.0, 11.0]]);
        for (baseline, current, said) in [
            (vec![&a], vec![&a], Some("both sides")),
            (vec![&a], vec![&swapped], Some("both sides")),
            (vec![&a], vec![&b], None),
            (vec![&a, &swapped], vec![&b], Some("two runs of the baseline")),
            (vec![&a], vec![&b, &b], Some("two of the runs")),
            (vec![&kept], vec![&result(&[&long])], Some("both sides")),
            (vec![&kept], vec![&result(&[&other])], None),
            // Runs of a command: one sample a process.
            (vec![&runs(0)], vec![&runs(0)], Some("both sides")),
            (vec![&runs(0)], vec![&runs(1)], None),
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
}
