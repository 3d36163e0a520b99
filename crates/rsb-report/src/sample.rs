//! Sample data for the tests and the gallery: a machine, a run with all kinds of results, a
//! comparison, trends.

use rsb_model::environment::{Cache, Cpu, Git};
use rsb_model::random::Generator;
use rsb_model::record::{
    Alert, AlertBasis, ChangePoint, ChangeStatus, Comparison, ComparisonNote, ComparisonNoteCode,
    ComparisonSummary, Direction, EnvironmentSummary, Forecast, MonotoneTest, Percentiles,
    SeriesTrend, Severity, Statistics, ThresholdCheck, TrendDocument, TrendShape,
};
use rsb_model::{
    BenchmarkResult, Better, CaseId, ComparisonResult, DeviceType, Environment, Fields,
    MachineState, Note, Outcome, Reason, ReasonCode, Run, RunId, Samples, Timestamp, Unit, Verdict,
};
use serde_json::json;

/// Returns the timestamp used for all events of the sample data.
pub(crate) fn moment() -> Timestamp {
    Timestamp::from_second(1_795_251_792).unwrap()
}

pub(crate) fn environment() -> Environment {
    Environment {
        os: Some("Debian GNU/Linux 12 (bookworm)".into()),
        kernel: Some("6.1.0-18-amd64".into()),
        cpu: Some(Cpu {
            family: Some(26),
            model_number: Some(2),
            stepping: Some(1),
            model: Some("AMD EPYC 7763 64-Core Processor".into()),
            architecture: "x86_64".into(),
            usable_cores: 2,
            logical_cores: Some(128),
            physical_cores: Some(64),
            max_mhz: Some(3529.0),
            caches: vec![
                Cache { level: 1, size_bytes: 32 << 10, shared_by: Some(1) },
                Cache { level: 2, size_bytes: 512 << 10, shared_by: Some(1) },
                Cache { level: 3, size_bytes: 32 << 20, shared_by: Some(16) },
            ],
            features: vec!["avx2".into(), "fma".into(), "f16c".into()],
            hypervisor: Some("KVM".into()),
        }),
        memory_gb: Some(8.15),
        python: Some("3.11.7".into()),
        frameworks: [("torch", "2.9.1"), ("numpy", "2.3.0")]
            .map(|(n, v)| (n.to_owned(), v.to_owned()))
            .into(),
        git: Some(Git {
            commit: "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d".into(),
            branch: Some("main".into()),
            dirty: true,
            changes: None,
        }),
        state: Some(MachineState {
            load_average: Some(3.1),
            governor: Some("performance".into()),
            mhz: Some(3480.0),
            steal_percent: Some(0.2),
            throttle_events: Some(0),
            temperature_c: None,
            warnings: vec![
                "the load average is 3.1 on 2 threads: other work runs and the figures will be \
                 noisy"
                    .into(),
            ],
        }),
        ..Environment::default()
    }
}

/// Returns a measured case whose iteration takes `time_ns`, with three replicates of samples around
/// it.
pub(crate) fn measured_case(id: &str, time_ns: f64, fields: &Fields) -> BenchmarkResult {
    let id: CaseId = id.parse().unwrap();
    let mut noise = Generator::new(id.as_str().bytes().map(u64::from).sum());
    let wide = 0.004 + 0.03 * noise.unit().powi(3);
    let mut samples = Vec::new();
    for replicate in 0..3 {
        let mut one = Samples::new(replicate);
        let shift = 1.0 + wide * noise.unit();
        for _ in 0..30 {
            // Timing noise is one-sided, with occasional outliers.
            let spike = if noise.unit() > 0.97 { 0.2 * noise.unit() } else { 0.0 };
            one.push(4, 4.0 * time_ns * (shift + wide * noise.unit().powi(2) + spike));
        }
        samples.push(one);
    }
    let statistics = statistics(&samples);
    let mut all = Fields::new().with("time_ms", time_ns / 1e6);
    all.extend(fields.clone());
    BenchmarkResult {
        category: id.benchmark().map(str::to_owned),
        device_type: Some(DeviceType::Cpu),
        environment: EnvironmentSummary::of(&environment()),
        results: vec![all],
        statistics: Some(statistics),
        samples,
        metadata: json!({"estimator": "median of the faster half of each replicate's samples"})
            .as_object()
            .cloned()
            .unwrap_or_default(),
        ..BenchmarkResult::new(id, moment(), Outcome::Measured)
    }
}

fn statistics(samples: &[Samples]) -> Statistics {
    let mut times: Vec<f64> =
        samples.iter().flat_map(|one| one.per_iteration().unwrap()).map(|ns| ns / 1e6).collect();
    times.sort_by(f64::total_cmp);
    let n = times.len() as f64;
    let mean = times.iter().sum::<f64>() / n;
    let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / (n - 1.0);
    Statistics {
        unit: "ms".into(),
        mean,
        std_dev: variance.sqrt(),
        min: value_at(&times, 0.0),
        max: value_at(&times, 1.0),
        percentiles: Percentiles {
            p50: value_at(&times, 0.5),
            p90: value_at(&times, 0.9),
            p95: value_at(&times, 0.95),
            p99: value_at(&times, 0.99),
        },
    }
}

/// Returns the quantile `share`, from 0 to 1, of `sorted`.
fn value_at(sorted: &[f64], share: f64) -> f64 {
    sorted[(share * (sorted.len() as f64 - 1.0)) as usize]
}

pub(crate) fn unmeasured_case(id: &str, outcome: Outcome, reason: Reason) -> BenchmarkResult {
    let id: CaseId = id.parse().unwrap();
    BenchmarkResult {
        outcome,
        reason: Some(reason),
        results: Vec::new(),
        statistics: None,
        samples: Vec::new(),
        factors: None,
        metadata: serde_json::Map::new(),
        ..measured_case(id.as_str(), 1.0, &Fields::new())
    }
}

fn bandwidth_case(operation: &str, size: u64, stores: &str) -> BenchmarkResult {
    let base = match operation {
        "read" => 1.15,
        "copy" => 1.0,
        _ => 0.93,
    };
    let around = stores == "non-temporal";
    let rate = match size {
        _ if around && size < 32 << 20 => 17.0,
        s if s <= 32 << 10 => 131.0,
        s if s <= 512 << 10 => 78.0,
        s if s <= 16 << 20 => 39.0,
        _ if around => 22.4,
        _ => 15.8,
    } * base;
    let named = if around { "/stores=non-temporal" } else { "" };
    let text = rsb_model::shape::format_bytes(size);
    let fields = Fields::new()
        .with("operation", operation)
        .with("dtype", "f32")
        .with("size_bytes", size)
        .with("stores", stores)
        .with("threads", 1)
        .with("cache", "hot")
        .with("bandwidth_gb_s", rate)
        .with("accuracy_error", 0.0);
    measured_case(
        &format!("cpu_performance/memory-bandwidth/cpu:0/{operation}/f32/{text}{named}"),
        2.0 * size as f64 / rate,
        &fields,
    )
}

fn gemm(dtype: &str, shape: [u64; 3], gflops: f64, peak: f64) -> BenchmarkResult {
    let [m, n, k] = shape;
    let time_ns = 2.0 * (m * n * k) as f64 / gflops;
    let fields = Fields::new()
        .with("dtype", dtype)
        .with("m", m)
        .with("n", n)
        .with("k", k)
        .with("gflops", gflops)
        .with("tflops", gflops / 1e3)
        .with("peak_gflops", peak)
        .with("roofline_percent", 100.0 * gflops / peak)
        .with("accuracy_error", 3.1e-7);
    measured_case(&format!("cpu_performance/gemm/cpu:0/{dtype}/{m}x{n}x{k}"), time_ns, &fields)
}

fn tensor(operation: &str, throughput: f64) -> BenchmarkResult {
    let fields = Fields::new()
        .with("operation", operation)
        .with("dtype", "f32")
        .with("throughput_gb_s", throughput)
        .with("accuracy_error", 1.2e-7);
    let id = format!("cpu_performance/tensor-ops/cpu:0/{operation}/f32/64MiB");
    measured_case(&id, 134_217_728.0 / throughput, &fields)
}

/// Returns a run on the CPU with all kinds of results.
pub(crate) fn run() -> Run {
    let id = RunId("20261121T090312Z_1a2b3c4".into());
    let mut run = Run::begin(id, moment(), "quick", "quick", environment());
    run.finished = Timestamp::from_second(moment().as_second() + 94).ok();
    for operation in ["read", "copy", "triad"] {
        for power in [14, 16, 18, 20, 22, 24, 26, 28] {
            run.benchmarks.push(bandwidth_case(operation, 1 << power, "temporal"));
            if operation != "read" && power > 16 {
                run.benchmarks.push(bandwidth_case(operation, 1 << power, "non-temporal"));
            }
        }
    }
    let gemms = [
        ("f32", [1024, 1024, 1024], 104.2, 112.8),
        ("f32", [512, 512, 512], 98.7, 112.8),
        ("f32", [32, 768, 768], 61.3, 112.8),
        ("f32", [128, 768, 3072], 88.9, 112.8),
        ("f64", [512, 512, 512], 49.5, 56.4),
        ("f16", [256, 256, 256], 34.1, 112.8),
    ];
    run.benchmarks.extend(gemms.map(|(dtype, shape, rate, peak)| gemm(dtype, shape, rate, peak)));
    let tensors = [
        ("add", 14.9),
        ("relu", 16.2),
        ("gelu", 11.8),
        ("sum", 13.7),
        ("softmax", 6.4),
        ("layer_norm", 7.7),
    ];
    run.benchmarks.extend(tensors.map(|(operation, rate)| tensor(operation, rate)));
    let overhead =
        Fields::new().with("allocation_overhead_percent", 0.31).with("size_bytes", 16 << 20);
    run.benchmarks.push(measured_case(
        "cpu_performance/memory-allocation/cpu:0/touch/16MiB",
        5.2e6,
        &overhead,
    ));
    run.benchmarks.extend(not_measured());
    run.notes.push(Note::Text(
        "the load average reached 4.2 on 2 threads, more than the benchmark makes: other work ran, \
         and results are noisy; stop it and measure again"
            .into(),
    ));
    run
}

fn not_measured() -> Vec<BenchmarkResult> {
    let counters = Reason::new(
        "hardware counters",
        "the kernel refuses them to this user (perf_event_paranoid is 4)",
        "run `sudo sysctl kernel.perf_event_paranoid=1`, then measure again",
    );
    let broken = Reason::new(
        "wrong result",
        "accuracy_error is 0.31, and 0.001 is the most that f16 allows",
        "please report this with the output of `rusty-stack-bench probe --json`",
    );
    let mut all = Vec::new();
    for size in ["32KiB", "512KiB", "8MiB", "64MiB"] {
        let id = format!("cpu_performance/cache-hit-rate/cpu:0/{size}");
        all.push(unmeasured_case(&id, Outcome::Skipped, counters.clone()));
    }
    let memory = Reason::new(
        "memory",
        "16 GiB are needed, but only 4.1 GB are available",
        "use a smaller `--axis size=…`",
    );
    all.push(unmeasured_case(
        "cpu_performance/memory-bandwidth/cpu:0/copy/f32/8GiB",
        Outcome::Skipped,
        memory,
    ));
    all.push(unmeasured_case(
        "cpu_performance/convolution/cpu:0/f16/1x64x56x56",
        Outcome::Failed,
        broken,
    ));
    all
}

pub(crate) fn checks() -> Vec<ThresholdCheck> {
    vec![
        check("GEMM f32 1024x1024x1024", 100.0, Some(104.0), Unit::Gigaflops),
        check("element-wise operations", 10.0, Some(11.8), Unit::GigabytesPerSecond),
        check("reductions", 5.0, Some(4.61), Unit::GigabytesPerSecond),
        check("hits of the L1 cache", 90.0, None, Unit::Percent),
    ]
}

fn check(name: &str, expected: f64, actual: Option<f64>, unit: Unit) -> ThresholdCheck {
    ThresholdCheck {
        name: name.into(),
        metric: name.into(),
        id: String::new(),
        better: Better::Higher,
        expected,
        actual,
        unit: Some(unit),
        simulated: false,
        passed: actual.map(|actual| actual > expected),
        reference: None,
    }
}

struct Change {
    id: &'static str,
    metric: &'static str,
    percent: f64,
    interval: [f64; 2],
    verdict: Verdict,
    reason: &'static str,
}

fn comparison_of(change: &Change, baseline: f64) -> Comparison {
    let better = if change.metric == "time_ms" { Better::Lower } else { Better::Higher };
    let worse = if better == Better::Lower { change.percent } else { -change.percent };
    let (status, code) = match change.verdict {
        Verdict::Regressed => (ChangeStatus::Degraded, ReasonCode::AboveThreshold),
        Verdict::Improved => (ChangeStatus::Improved, ReasonCode::BetterThanThreshold),
        _ if worse > 5.0 => (ChangeStatus::Degraded, ReasonCode::BelowThreshold),
        _ => (ChangeStatus::Unchanged, ReasonCode::WithinNoise),
    };
    Comparison {
        id: change.id.parse().unwrap(),
        metric: change.metric.into(),
        unit: rsb_model::record::unit_symbol(change.metric).into(),
        better,
        baseline_value: Some(baseline),
        current_value: Some(baseline * (1.0 + change.percent / 100.0)),
        difference_percent: Some(change.percent),
        confidence_interval: Some(change.interval),
        detectable_percent: Some(11.5),
        statistics: None,
        change_status: change.verdict.is_decided().then_some(status),
        verdict: change.verdict,
        reason: change.reason.into(),
        reason_code: if change.verdict.is_decided() { code } else { ReasonCode::TooNoisy },
        threshold_percent: 10.0,
    }
}

pub(crate) fn comparison() -> ComparisonResult {
    let unchanged = "no clear change";
    let changes = [
        change(
            "cpu_performance/tensor-ops/cpu:0/add/f32/64MiB",
            "time_ms",
            0.4,
            [-1.1, 1.9],
            Verdict::Unchanged,
            unchanged,
        ),
        change(
            "cpu_performance/tensor-ops/cpu:0/gelu/f32/64MiB",
            "time_ms",
            -21.4,
            [-23.9, -18.6],
            Verdict::Improved,
            "21.4 % faster (95 % interval 18.6 to 23.9 %), beyond the threshold of 10 %",
        ),
        change(
            "cpu_performance/gemm/cpu:0/f32/1024x1024x1024",
            "time_ms",
            15.9,
            [12.1, 19.8],
            Verdict::Regressed,
            "15.9 % slower (95 % interval 12.1 to 19.8 %), above the threshold of 10 %",
        ),
        change(
            "cpu_performance/gemm/cpu:0/f32/512x512x512",
            "time_ms",
            6.2,
            [4.9, 7.4],
            Verdict::Unchanged,
            "6.2 % slower (95 % interval 4.9 to 7.4 %), within 10 %",
        ),
        change(
            "cpu_performance/cache-hit-rate/cpu:0/32KiB",
            "cache_hit_percent",
            -2.1,
            [-2.6, -1.4],
            Verdict::Unchanged,
            unchanged,
        ),
        change(
            "cpu_performance/memory-bandwidth/cpu:0/copy/f32/64MiB",
            "time_ms",
            9.8,
            [-14.0, 61.0],
            Verdict::Inconclusive,
            "9.8 % slower (95 % interval -14 to 61 %), too noisy to exclude a change above the \
             threshold of 10 %: measure more replicates",
        ),
    ];
    let mut comparisons: Vec<Comparison> = changes
        .iter()
        .zip([9.01, 11.4, 20.6, 2.72, 97.3, 8.49])
        .map(|(c, v)| comparison_of(c, v))
        .collect();
    let skipped = change("x", "cache_hit_percent", 0.0, [0.0, 0.0], Verdict::Unchanged, unchanged);
    for size in ["512KiB", "1MiB", "8MiB", "64MiB"] {
        comparisons.push(Comparison {
            id: format!("cpu_performance/cache-hit-rate/cpu:0/{size}").parse().unwrap(),
            difference_percent: None,
            confidence_interval: None,
            current_value: None,
            detectable_percent: None,
            statistics: None,
            change_status: None,
            verdict: Verdict::NotComparable,
            reason: "the case was skipped in the current run: hardware counters".into(),
            reason_code: ReasonCode::CaseSkipped,
            ..comparison_of(&skipped, 97.0)
        });
    }
    ComparisonResult {
        format_version: 1,
        comparison_id: "20261121T090312Z_1a2b3c4-vs-main-1795251800".into(),
        baseline_run_id: "main".into(),
        current_run_id: "20261121T090312Z_1a2b3c4".into(),
        timestamp: moment(),
        verdict: Verdict::Regressed,
        threshold_percent: 10.0,
        comparisons,
        missing: vec!["cpu_performance/tensor-ops/cpu:0/argmax/f32/64MiB".parse().unwrap()],
        new: vec!["cpu_performance/tensor-ops/cpu:0/sigmoid/f32/64MiB".parse().unwrap()],
        threshold_checks: checks(),
        notes: vec![ComparisonNote::new(
            ComparisonNoteCode::JudgedRun,
            "the run 20261121T090312Z_1a2b3c4 was measured 2 h ago on the commit 1a2b3c4",
        )],
        summary: ComparisonSummary {
            total_improved: 1,
            total_degraded: 1,
            total_unchanged: 3,
            total_no_verdict: 5,
            weighted_change_percent: Some(1.4),
            ..ComparisonSummary::default()
        },
    }
}

fn change(
    id: &'static str,
    metric: &'static str,
    percent: f64,
    interval: [f64; 2],
    verdict: Verdict,
    reason: &'static str,
) -> Change {
    Change { id, metric, percent, interval, verdict, reason }
}

/// Returns the alert of a series that got slower.
fn slower_alert(current_value: f64) -> Alert {
    Alert {
        metric: "time_ms".into(),
        direction: "worse".into(),
        change_percent: 12.6,
        severity: Severity::Warning,
        description: "time_ms is 12.6 % slower since 2026-11-21".into(),
        recommendation: "Find the commit with `rusty-stack-bench bisect`.".into(),
        basis: AlertBasis::Confirmed,
        baseline_mean: 18.2,
        current_value,
        deviation_percent: Some(13.7),
        message: "gemm: worse: time_ms is 12.6 % slower since 2026-11-21".into(),
    }
}

/// Returns a series that got slower, a stable one, and one that is too short to evaluate.
pub(crate) fn trends() -> TrendDocument {
    let mut noise = Generator::new(7);
    let slower: Vec<f64> = (0..48)
        .map(|i| (if i < 31 { 18.1 } else { 20.4 }) * (1.0 + 0.02 * noise.unit().powi(2)))
        .collect();
    let stable: Vec<f64> = (0..48).map(|_| 26.2 * (1.0 + 0.02 * (noise.unit() - 0.5))).collect();
    let base = SeriesTrend {
        id: "cpu_performance/gemm/cpu:0/f32/1024x1024x1024".into(),
        metric: "time_ms".into(),
        unit: "ms".into(),
        n: 48,
        first: slower[0],
        last: slower[47],
        last_change_percent: Some(0.8),
        slope_per_day: Some(0.0612),
        intercept: Some(17.6),
        r_squared: Some(0.74),
        p_value: Some(3.1e-9),
        direction: Direction::Increasing,
        change_points: vec![ChangePoint {
            index: 31,
            timestamp: moment(),
            before: 18.2,
            after: 20.5,
            change_percent: 12.6,
            p_value: 0.001,
            q_value: Some(0.003),
            points: 17,
            part: None,
        }],
        shape: TrendShape::Step,
        theil_sen_per_day: Some(0.0598),
        mann_kendall: Some(MonotoneTest { tau: 0.62, p_value: 2.0e-7 }),
        autocorrelation: 0.1,
        rolling_mean: Some(20.6),
        rolling_median: Some(20.5),
        rolling: None,
        recent: None,
        suspected: Vec::new(),
        two_levels: None,
        ramp: None,
        predicted: Vec::new(),
        anomalies: Vec::new(),
        forecast: Some(Forecast {
            days: 7.0,
            value: 21.0,
            low: Some(20.2),
            high: Some(21.8),
            confidence: Some(0.95),
        }),
        alerts: vec![slower_alert(slower[47])],
        values: slower,
    };
    let second = SeriesTrend {
        id: "cpu_performance/memory-bandwidth/cpu:0/copy/f32/64MiB/stores=non-temporal".into(),
        metric: "bandwidth_gb_s".into(),
        unit: "GB/s".into(),
        first: stable[0],
        last: stable[47],
        last_change_percent: Some(-0.3),
        slope_per_day: Some(-0.000_12),
        r_squared: Some(0.01),
        p_value: Some(0.61),
        direction: Direction::Stable,
        shape: TrendShape::Stable,
        change_points: Vec::new(),
        suspected: vec![ChangePoint {
            index: 46,
            timestamp: moment(),
            before: 26.2,
            after: 23.1,
            change_percent: -11.8,
            p_value: 0.002,
            q_value: Some(0.006),
            points: 2,
            part: None,
        }],
        forecast: None,
        alerts: Vec::new(),
        values: stable,
        ..base.clone()
    };
    let short = SeriesTrend {
        id: "nightly build".into(),
        metric: "value".into(),
        unit: "widgets".into(),
        n: 1,
        last: 12.0,
        last_change_percent: None,
        slope_per_day: None,
        r_squared: None,
        suspected: Vec::new(),
        values: vec![12.0],
        ..second.clone()
    };
    TrendDocument {
        format_version: 1,
        series: vec![base, second, short],
        changes: Vec::new(),
        common_changes: Vec::new(),
    }
}
