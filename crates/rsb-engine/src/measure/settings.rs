//! How thoroughly to measure: the profiles, and the settings that override them.

use std::collections::BTreeMap;
use std::time::Duration;

use rsb_model::{BenchmarkType, Case, Profile, Samples};
use rsb_workloads::Iterations;

use super::profiling::InstalledProfiler;

/// Criterion's minimum number of samples.
pub(super) const MIN_SAMPLES: usize = 10;

/// How long one process continues a load that heats the device. The clock of an MI300X takes at
/// least 400 ms to settle, and turbo clocks may drop after seconds.
const SUSTAINED: Duration = Duration::from_secs(5);

/// How long a GPU works before its first sample in a run: clocks rise for 0.1 to 0.5 s.
const GPU_FROM_COLD: Duration = Duration::from_millis(500);

/// How long a GPU works before a later case, if it was idle for longer than [`GPU_STAYS_WARM`]. In
/// most profiles, Criterion's warm-up and the first iterations of a process already take longer.
const GPU_FROM_IDLE: Duration = Duration::from_millis(50);

/// How long an idle GPU keeps its clocks.
const GPU_STAYS_WARM: Duration = Duration::from_millis(100);

/// Returns how long a GPU works before its first sample in a process. `idle` is the time since it
/// last worked in this run; `None` if it has not.
pub(super) fn gpu_warm_up(idle: Option<Duration>) -> Duration {
    match idle {
        None => GPU_FROM_COLD,
        Some(idle) if idle > GPU_STAYS_WARM => GPU_FROM_IDLE,
        Some(_) => Duration::ZERO,
    }
}

/// Number of samples or replicates: usually lower for cases with long iterations, unless the user
/// set a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count<T> {
    /// Number for most cases.
    pub usual: T,
    /// Number for cases with long iterations.
    pub long: T,
}

impl<T: Copy + Ord> Count<T> {
    /// Creates a count that applies to every case, as set by the user, even if it equals the
    /// profile's usual number.
    pub const fn exactly(number: T) -> Self {
        Self { usual: number, long: number }
    }

    /// Returns the larger of the two numbers.
    pub fn most(self) -> T {
        self.usual.max(self.long)
    }

    fn of(self, case: &Case) -> T {
        if is_long(case) { self.long } else { self.usual }
    }
}

/// Settings of the measuring loop.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Profile that the settings are based on, for the record.
    pub profile: Profile,
    /// Samples per round.
    pub runs: Count<usize>,
    /// Iterations before the first round. A GPU also works for a minimum time before it; 0 disables
    /// both.
    pub warmup: u64,
    /// Fresh processes per case.
    pub replicates: Count<u32>,
    /// Number of the first replicate; above 0 if replicates were measured before. It determines the
    /// order of each round and which side of a pair is first.
    pub first_replicate: u32,
    /// Duration of Criterion's own warm-up, from which it sizes the samples.
    pub warm_up_time: Duration,
    /// Planned duration of a round.
    pub measurement_time: Duration,
    /// Rounds continue until the relative error of the median is at most this or `time_cap` is
    /// reached.
    pub relative_error: f64,
    /// Rounds end when another one would exceed this measuring time.
    pub time_cap: Duration,
    /// Whether the instructions of one iteration are counted after the samples.
    pub count_instructions: bool,
    /// Profiler that runs each case after the samples.
    pub profiler: Option<InstalledProfiler>,
    /// Time limits.
    pub limits: Limits,
    /// Overrides by component name.
    pub components: BTreeMap<String, ComponentSettings>,
    /// Number of workers that compile GPU kernels in parallel before measuring; 1 disables this
    /// step.
    pub prepare_workers: usize,
}

/// Overrides for one component; `None` keeps the general setting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ComponentSettings {
    /// Maximum duration of one replicate of a case.
    pub limit: Option<Duration>,
    /// Samples per round.
    pub runs: Option<usize>,
    /// Iterations before the first round.
    pub warmup: Option<u64>,
}

/// Maximum durations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// One replicate of a case on the CPU or of a component.
    pub component: Duration,
    /// One replicate of a case on a GPU.
    pub gpu: Duration,
    /// The whole run.
    pub suite: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            component: Duration::from_mins(5),
            gpu: Duration::from_mins(10),
            suite: Duration::from_hours(1),
        }
    }
}

impl Settings {
    /// Returns the settings of `profile`.
    pub fn of(profile: Profile) -> Self {
        let (runs, warmup, [usual, long], measurement_ms, relative_error, cap_ms) = match profile {
            Profile::Quick => (20, 3, [5, 1], 120, 0.02, 360),
            Profile::Standard => (100, 10, [5, 2], 1_000, 0.01, 4_000),
            Profile::Thorough => (200, 20, [10, 2], 3_000, 0.005, 12_000),
        };
        Self {
            profile,
            runs: Count { usual: runs, long: MIN_SAMPLES },
            warmup,
            replicates: Count { usual, long },
            first_replicate: 0,
            warm_up_time: Duration::from_millis(measurement_ms / 10),
            measurement_time: Duration::from_millis(measurement_ms),
            relative_error,
            time_cap: Duration::from_millis(cap_ms),
            count_instructions: false,
            profiler: None,
            limits: Limits::default(),
            components: BTreeMap::new(),
            prepare_workers: 1,
        }
    }

    /// Returns the overrides for the component of `case`.
    fn component(&self, case: &Case) -> ComponentSettings {
        let own = self.components.get(&case.benchmark);
        own.copied()
            .filter(|_| case.benchmark_type == BenchmarkType::ComponentSpecific)
            .unwrap_or_default()
    }

    /// Returns the maximum duration of one replicate of `case`.
    pub fn limit_of(&self, case: &Case) -> Duration {
        self.component(case).limit.unwrap_or_else(|| self.case_limit(case.benchmark_type))
    }

    /// Returns the number of iterations of `case` before the first round.
    pub fn warmup_of(&self, case: &Case) -> u64 {
        self.component(case).warmup.unwrap_or(self.warmup)
    }

    /// Returns the maximum duration of one replicate of a case of this type.
    pub fn case_limit(&self, benchmark_type: BenchmarkType) -> Duration {
        match benchmark_type {
            BenchmarkType::GpuPerformance => self.limits.gpu,
            BenchmarkType::PreInstallation
            | BenchmarkType::ComponentSpecific
            | BenchmarkType::CpuPerformance => self.limits.component,
        }
    }

    /// Returns the number of fresh processes for `case`.
    pub fn replicates_of(&self, case: &Case) -> u32 {
        self.replicates.of(case)
    }

    /// Returns the number of samples per round of `case`.
    pub fn runs_of(&self, case: &Case) -> usize {
        self.component(case).runs.unwrap_or_else(|| self.runs.of(case))
    }

    /// Applies the stopping rule: returns `true` if the samples agree, or if another round would
    /// exceed the time cap given the time `spent`. Except in the quick profile, sustained loads
    /// continue for at least `SUSTAINED`.
    pub fn is_enough(&self, case: &Case, samples: &Samples, spent: Duration) -> bool {
        if self.profile != Profile::Quick
            && iterations(case) == Some(Iterations::Sustained)
            && spent < SUSTAINED
        {
            return false;
        }
        spent + self.measurement_time > self.time_cap
            || relative_error(samples).is_some_and(|error| error <= self.relative_error)
    }
}

/// Returns whether one iteration of `case` may take seconds.
pub fn is_long(case: &Case) -> bool {
    rsb_catalog::frameworks::is_long(case) || iterations(case) == Some(Iterations::Long)
}

fn iterations(case: &Case) -> Option<Iterations> {
    rsb_workloads::find(&case.benchmark).map(|benchmark| benchmark.info().iterations)
}

/// Returns the standard error of the median divided by the median, estimated from the median
/// absolute deviation; `None` with fewer than five samples.
fn relative_error(samples: &Samples) -> Option<f64> {
    let times = samples.per_iteration().ok().filter(|times| times.len() >= 5)?;
    let spread = rsb_stats::median_absolute_deviation(&times)?; // Scaled to a standard deviation.
    let median_over_mean = 1.2533; // √(π/2): what the median's error is over the mean's, for a normal distribution.
    Some(median_over_mean * spread / (times.len() as f64).sqrt() / rsb_stats::median(&times)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_model::{CaseId, Params};

    fn samples(times: &[f64]) -> Samples {
        Samples { replicate: 0, iters: vec![1; times.len()], times_ns: times.to_vec() }
    }

    fn case(benchmark: &str) -> Case {
        Case {
            id: CaseId::from_segments(&["cpu_performance", benchmark]),
            benchmark: benchmark.to_owned(),
            benchmark_type: BenchmarkType::CpuPerformance,
            device: rsb_model::DeviceRef::CPU.into(),
            params: Params::new(),
        }
    }

    #[test]
    fn rounds_end_when_samples_agree_or_time_is_up() {
        let settings = Settings::of(Profile::Quick);
        let steady = samples(&[100.0, 101.0, 100.0, 99.0, 100.0, 100.5, 99.5]);
        let wild = samples(&[100.0, 160.0, 80.0, 140.0, 120.0, 90.0]);
        let long = settings.time_cap;
        for (samples, spent, enough) in
            [(&steady, Duration::ZERO, true), (&wild, Duration::ZERO, false), (&wild, long, true)]
        {
            assert_eq!(settings.is_enough(&case("gemm"), samples, spent), enough);
        }
        let one = self::samples(&[100.0]);
        assert!(
            !settings.is_enough(&case("gemm"), &one, Duration::ZERO),
            "one sample does not give its error"
        );
    }

    #[test]
    fn a_gpu_works_before_its_first_sample_and_again_after_it_was_idle() {
        let ms = Duration::from_millis;
        for (idle, work) in [
            (None, ms(500)),
            (Some(ms(0)), ms(0)),
            (Some(ms(100)), ms(0)),
            (Some(ms(101)), ms(50)),
            (Some(Duration::from_hours(1)), ms(50)),
        ] {
            assert_eq!(gpu_warm_up(idle), work, "{idle:?}");
        }
        let quick = Settings::of(Profile::Quick);
        assert!(
            gpu_warm_up(Some(ms(101))) < quick.time_cap / 4,
            "later processes of the quick profile must stay within the time cap"
        );
    }

    #[test]
    fn a_peak_is_kept_up_for_five_seconds() {
        let steady = samples(&[100.0, 101.0, 100.0, 99.0, 100.0, 100.5, 99.5]);
        let (four, five) = (Duration::from_secs(4), Duration::from_secs(5));
        let enough =
            |profile, name, spent| Settings::of(profile).is_enough(&case(name), &steady, spent);
        for peak in ["compute-peak", "tensor-core"] {
            assert!(
                !enough(Profile::Standard, peak, four) && enough(Profile::Standard, peak, five)
            );
            assert!(
                enough(Profile::Quick, peak, Duration::ZERO),
                "the quick profile must end within half a minute"
            );
        }
        assert!(enough(Profile::Standard, "gemm", Duration::ZERO));
    }

    #[test]
    fn long_iterations_are_taken_less_often_unless_a_number_is_asked_for() {
        let (usual, long) = (case("gemm"), case("kernel-compilation"));
        let standard = Settings::of(Profile::Standard);
        assert_eq!((standard.replicates_of(&usual), standard.runs_of(&usual)), (5, 100));
        assert_eq!((standard.replicates_of(&long), standard.runs_of(&long)), (2, 10));
        assert_eq!(
            Settings::of(Profile::Quick).replicates_of(&long),
            1,
            "the quick profile must end within half a minute"
        );
        let asked =
            Settings { replicates: Count::exactly(7), runs: Count::exactly(30), ..standard };
        assert_eq!((asked.replicates_of(&long), asked.runs_of(&long)), (7, 30));
        let once = Settings { replicates: Count::exactly(1), ..asked };
        assert_eq!(once.replicates_of(&long), 1);
    }

    #[test]
    fn a_component_is_measured_as_its_own_settings_say() {
        let own =
            ComponentSettings { limit: Some(Duration::from_secs(7)), runs: Some(30), warmup: None };
        let mut settings = Settings::of(Profile::Standard);
        settings.components.insert("pytorch".to_owned(), own);
        let pytorch = case_of_type("pytorch", BenchmarkType::ComponentSpecific);
        let triton = case_of_type("triton", BenchmarkType::ComponentSpecific);
        assert_eq!(
            (settings.limit_of(&pytorch), settings.runs_of(&pytorch)),
            (Duration::from_secs(7), 30)
        );
        assert_eq!(settings.warmup_of(&pytorch), 10);
        assert_eq!(
            (settings.limit_of(&triton), settings.runs_of(&triton)),
            (Duration::from_mins(5), MIN_SAMPLES)
        );
        let native = case_of_type("pytorch", BenchmarkType::CpuPerformance);
        assert_eq!(
            settings.limit_of(&native),
            Duration::from_mins(5),
            "a native benchmark with the name of a component is not a component"
        );
    }

    fn case_of_type(name: &str, benchmark_type: BenchmarkType) -> Case {
        Case {
            id: "component_specific/x/cpu:0".parse().unwrap(),
            benchmark: name.to_owned(),
            benchmark_type,
            device: rsb_model::DeviceRef::CPU.into(),
            params: rsb_model::Params::new(),
        }
    }

    #[test]
    fn the_documented_defaults_hold() {
        let standard = Settings::of(Profile::Standard);
        assert_eq!((standard.runs.usual, standard.warmup), (100, 10));
        assert_eq!(standard.case_limit(BenchmarkType::ComponentSpecific), Duration::from_mins(5));
        assert_eq!(standard.case_limit(BenchmarkType::GpuPerformance), Duration::from_mins(10));
        assert_eq!(standard.limits.suite, Duration::from_hours(1));
    }
}
