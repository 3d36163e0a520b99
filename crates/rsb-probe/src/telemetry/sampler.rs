//! A thread that samples a GPU during a measurement, once per period until it is stopped.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rsb_model::Timestamp;
use rsb_model::{GpuSample, GpuTelemetry};

use super::GpuDirectory;

/// Maximum number of samples. When it is reached, every second one is dropped.
const MAX_SAMPLES: usize = 100_000;

/// A running sampler of one GPU.
#[derive(Debug)]
pub struct Sampler {
    stop: Sender<()>,
    ended: Receiver<()>,
    samples: Arc<Mutex<Vec<GpuSample>>>,
    limit: Duration,
}

impl Sampler {
    /// Samples `gpu` immediately and then once per `period`. Each sample costs a few reads of small
    /// files.
    pub fn start(gpu: GpuDirectory, period: Duration) -> Self {
        Self::start_reading(move || super::sample(&gpu), period, super::SAMPLE_LIMIT)
    }

    fn start_reading(
        mut read: impl FnMut() -> GpuSample + Send + 'static,
        period: Duration,
        limit: Duration,
    ) -> Self {
        let (stop, stopped) = channel::<()>();
        let (ending, ended) = channel();
        let samples = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&samples);
        let thread = std::thread::Builder::new().name("telemetry".to_owned()).spawn(move || {
            loop {
                let sample =
                    GpuSample { timestamp_ms: Some(Timestamp::now().as_millisecond()), ..read() };
                keep(&mut kept.lock().unwrap_or_else(PoisonError::into_inner), sample);
                match stopped.recv_timeout(period) {
                    Err(RecvTimeoutError::Timeout) => {}
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
                }
            }
            // The receiver may have been dropped.
            let _ = ending.send(());
        });
        // If no thread can be started, there are no samples.
        drop(thread);
        Self { stop, ended, samples, limit }
    }

    /// Returns the current number of samples.
    pub fn sample_count(&self) -> usize {
        self.samples.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Stops sampling and returns the telemetry. If a sensor hangs, waiting stops, and the samples
    /// until then are kept.
    pub fn stop(self) -> GpuTelemetry {
        let _ = self.stop.send(());
        let deadline = Instant::now() + 2 * self.limit;
        let hung =
            self.ended.recv_timeout(deadline.saturating_duration_since(Instant::now())).is_err();
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let mut period = GpuTelemetry::of(&samples);
        if hung {
            period.notes.push("the sensors stopped responding before the end".to_owned());
        }
        let mut absent: Vec<&String> = samples.iter().flat_map(|sample| &sample.absent).collect();
        absent.sort();
        absent.dedup();
        period.notes.extend(absent.into_iter().map(|what| format!("unavailable: {what}")));
        period
    }
}

fn keep(samples: &mut Vec<GpuSample>, sample: GpuSample) {
    if samples.len() >= MAX_SAMPLES {
        let mut keeps = false;
        samples.retain(|_| {
            keeps = !keeps;
            keeps
        });
    }
    samples.push(sample);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watts(power: f64) -> GpuSample {
        GpuSample { power_w: Some(power), throttle_reasons: Some(vec![]), ..GpuSample::default() }
    }

    #[test]
    fn a_period_is_sampled_until_it_is_stopped() {
        let (taken, seen) = channel();
        let mut next = 0.0;
        let sampler = Sampler::start_reading(
            move || {
                next += 1.0;
                let _ = taken.send(());
                watts(next)
            },
            Duration::ZERO,
            Duration::from_secs(30),
        );
        for _ in 0..5 {
            seen.recv().unwrap();
        }
        let period = sampler.stop();
        let power = period.power_w.unwrap();
        assert!(
            period.samples >= 5 && power.min.total_cmp(&1.0).is_eq() && power.max >= 5.0,
            "{period:?}"
        );
        assert_eq!((period.throttled, period.notes), (Some(false), vec![]));
    }

    #[test]
    fn one_sample_is_taken_however_short_the_time() {
        let sampler =
            Sampler::start_reading(|| watts(7.0), Duration::from_hours(1), Duration::from_secs(30));
        assert_eq!(sampler.stop().samples, 1);
    }

    #[test]
    fn sensors_that_hang_are_left_behind() {
        let (entered, seen) = channel();
        let (release, blocked) = channel::<()>();
        let mut count = 0;
        let sampler = Sampler::start_reading(
            move || {
                count += 1;
                if count == 2 {
                    let _ = entered.send(());
                    let _ = blocked.recv();
                }
                watts(1.0)
            },
            Duration::ZERO,
            Duration::ZERO,
        );
        seen.recv().unwrap();
        let period = sampler.stop();
        assert_eq!((period.samples, period.notes.len()), (1, 1), "{period:?}");
        drop(release);
    }

    #[test]
    fn a_long_period_keeps_every_second_sample() {
        let mut samples = vec![GpuSample::default(); MAX_SAMPLES];
        keep(&mut samples, watts(1.0));
        assert_eq!(samples.len(), MAX_SAMPLES / 2 + 1);
        assert_eq!(samples.last(), Some(&watts(1.0)));
    }
}
