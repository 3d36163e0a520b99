//! A recorder for the samples that Criterion requests.
//!
//! Criterion's files are not a stable interface, so samples are recorded as they are taken.
//! Criterion calls `zero` of its `Measurement` at the start of each phase (warm-up, then sampling),
//! which separates the phases.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use criterion::measurement::{Measurement, ValueFormatter, WallTime};

/// Iterations and nanoseconds of one call of Criterion's closure.
pub(super) type Call = (u64, f64);

/// Calls of Criterion's closure, by phase.
#[derive(Clone, Default)]
pub(super) struct SampleRecorder(Rc<RefCell<Vec<Vec<Call>>>>);

impl SampleRecorder {
    /// Removes all calls, for the next case.
    pub(super) fn clear(&self) {
        self.0.borrow_mut().clear();
    }

    /// Records one call.
    pub(super) fn push(&self, iters: u64, time_ns: f64) {
        if let Some(phase) = self.0.borrow_mut().last_mut() {
            phase.push((iters, time_ns));
        }
    }

    /// Returns the samples, and the number of warm-up iterations before them.
    ///
    /// In Criterion's quick mode each call is its own phase, and the first is the warm-up. A single
    /// call (test mode or profiling) is not a measurement.
    pub(super) fn samples(&self) -> (Vec<Call>, u64) {
        let phases = self.0.borrow();
        let iterations =
            |phases: &[Vec<Call>]| phases.iter().flatten().map(|&(iters, _)| iters).sum();
        match phases.as_slice() {
            [] | [_] => (Vec::new(), 0),
            [warm_up, quick @ ..] if phases.iter().all(|phase| phase.len() == 1) => {
                let samples: Vec<Call> = quick.iter().flatten().copied().collect();
                (
                    if samples.len() > 1 { samples } else { Vec::new() },
                    iterations(std::slice::from_ref(warm_up)),
                )
            }
            [warm_up @ .., samples] if samples.len() > 1 => (samples.clone(), iterations(warm_up)),
            _ => (Vec::new(), 0),
        }
    }
}

/// Wall-clock time in Criterion's output, with a recorder.
pub(super) struct DeviceTime {
    pub(super) tape: SampleRecorder,
    pub(super) shown: TimeFormatter,
}

/// Criterion's default time format.
pub(super) struct TimeFormatter(WallTime);

impl Default for TimeFormatter {
    fn default() -> Self {
        Self(WallTime)
    }
}

impl Measurement for DeviceTime {
    type Intermediate = ();
    type Value = Duration;

    fn start(&self) {}

    fn end(&self, (): ()) -> Duration {
        Duration::ZERO
    }

    fn add(&self, first: &Duration, second: &Duration) -> Duration {
        *first + *second
    }

    fn zero(&self) -> Duration {
        self.tape.0.borrow_mut().push(Vec::new());
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_nanos() as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        self.shown.0.formatter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use criterion::{BenchmarkId, Criterion, SamplingMode};

    fn criterion(dir: &std::path::Path, tape: &SampleRecorder) -> Criterion<DeviceTime> {
        Criterion::default()
            .without_plots()
            .output_directory(dir)
            .with_measurement(DeviceTime { tape: tape.clone(), shown: TimeFormatter::default() })
            .nresamples(100)
            .warm_up_time(Duration::from_millis(1))
            .measurement_time(Duration::from_millis(1))
    }

    #[test]
    fn exactly_the_samples_are_kept_and_the_warm_up_is_counted() {
        let dir = tempfile::tempdir().unwrap();
        let tape = SampleRecorder::default();
        let mut calls = 0_u64;
        let mut harness = criterion(dir.path(), &tape).sample_size(12);
        let mut group = harness.benchmark_group("group");
        group.sampling_mode(SamplingMode::Flat);
        group.bench_function(BenchmarkId::from_parameter("case"), |bencher| {
            bencher.iter_custom(|iters| {
                calls += 1;
                let time_ns = (iters * 1000 + calls) as f64; // Each call is told apart by its last digits.
                std::hint::black_box(
                    (0..iters * 2000).fold(0_u64, |sum, step| sum ^ std::hint::black_box(step)),
                );
                tape.push(iters, time_ns);
                Duration::from_nanos(time_ns as u64)
            });
        });
        group.finish();
        let (samples, warm_up) = tape.samples();
        assert_eq!(samples.len(), 12);
        assert!(warm_up > 0);
        let last: Vec<u64> =
            samples.iter().map(|&(iters, time)| time as u64 - iters * 1000).collect();
        assert_eq!(
            last,
            (calls - 11..=calls).collect::<Vec<_>>(),
            "the last twelve calls are the samples"
        );
    }

    #[test]
    fn a_single_call_is_no_measurement_and_quick_mode_drops_the_first() {
        let tape = SampleRecorder::default();
        let harness = DeviceTime { tape: tape.clone(), shown: TimeFormatter::default() };
        assert_eq!(tape.samples(), (vec![], 0));
        harness.zero();
        tape.push(1, 5.0);
        assert_eq!(tape.samples(), (vec![], 0));
        for iters in [2, 4] {
            harness.zero();
            tape.push(iters, 5.0);
        }
        assert_eq!(tape.samples(), (vec![(2, 5.0), (4, 5.0)], 1));
    }
}
