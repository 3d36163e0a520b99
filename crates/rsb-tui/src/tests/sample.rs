//! A small machine, its runs, and their comparison.

use rsb_model::finding::{Finding, FindingSeverity};
use rsb_model::record::{
    BenchmarkResult, CampaignClass, CampaignDocument, CampaignNode, CaseDeviation, CaseSpread,
    ComparisonResult, ModelAdvice, ModelBasis, ModelCandidate, ModelChoice, ModelPlace,
    NodeProgress, NodeState, Percentiles, RecommendDocument, Statistics, TrendDocument,
};
use rsb_model::run::Counts;
use rsb_model::{
    Case, CaseId, DeviceRef, DeviceType, Environment, Event, Fields, Outcome, Params, Profile,
    Reason, Run, RunId, RunStatus, Samples, Timestamp,
};
use rsb_report::{BaselineRow, CaseRow, RunRow};
use serde_json::json;

use crate::{ComponentRow, HistoryPage, LoadedDocument, Message, Offer, OfferKind, Stage};

pub(super) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_790_000_000 + second).unwrap()
}

fn row(benchmark: &str, backend: &str) -> CaseRow {
    let is_here = backend == "cpu";
    CaseRow {
        benchmark: benchmark.to_owned(),
        about: "Products of matrices".to_owned(),
        is_own: false,
        backend: backend.to_owned(),
        devices: if is_here { vec!["AMD EPYC".to_owned()] } else { Vec::new() },
        cases: if is_here { 12 } else { 0 },
        missing: (!is_here).then(|| {
            Reason::new(format!("backend {backend}"), "libamdhip64.so is not here", "install ROCm")
        }),
    }
}

fn offer(stage: Stage, kind: OfferKind, name: &str, about: &str, rows: Vec<CaseRow>) -> Offer {
    let cases = rows.iter().map(|row| row.cases).sum();
    Offer {
        stage,
        kind,
        name: name.to_owned(),
        about: about.to_owned(),
        rows,
        cases,
        profile: Profile::Quick,
    }
}

pub(super) fn offers() -> Message {
    use OfferKind::{Benchmark, Suite};
    let both = |name: &str| vec![row(name, "rocm"), row(name, "cpu")];
    let torch = CaseRow {
        missing: Some(Reason::new("PyTorch", "it is not installed", "pip install torch")),
        ..row("pytorch", "any")
    };
    Message::Loaded(LoadedDocument::Offers(vec![
        offer(
            Stage::Measure,
            Suite,
            "quick",
            "A few points of every native benchmark on whatever is here",
            [both("gemm"), both("memory-bandwidth")].concat(),
        ),
        offer(Stage::Measure, Benchmark, "gemm", "Products of matrices", both("gemm")),
        offer(
            Stage::Measure,
            Benchmark,
            "memory-bandwidth",
            "Copies and triads",
            both("memory-bandwidth"),
        ),
        offer(Stage::Components, Benchmark, "pytorch", "Models and training steps", vec![torch]),
        offer(
            Stage::GpuPerformance,
            Suite,
            "gpu-performance",
            "Native kernels on GPUs",
            vec![row("gemm", "rocm")],
        ),
    ]))
}

pub(super) fn components() -> Message {
    Message::Loaded(LoadedDocument::Components(vec![ComponentRow {
        name: "pytorch".to_owned(),
        status: "not_run".to_owned(),
        text:
            "pytorch  not run\n  missing: PyTorch: it is not installed\n  cure: pip install torch"
                .to_owned(),
        checks: Vec::new(),
    }]))
}

pub(super) fn case(name: &str) -> Case {
    Case {
        id: CaseId::from_segments(&["cpu_performance", "gemm", "cpu:0", "f32", name]),
        benchmark: "gemm".to_owned(),
        benchmark_type: rsb_model::BenchmarkType::CpuPerformance,
        device: DeviceRef::CPU.into(),
        params: Params::new(),
    }
}

pub(super) fn result(name: &str, milliseconds: f64) -> BenchmarkResult {
    let case = case(name);
    let times: Vec<f64> =
        (0..8).map(|at| milliseconds * 1e6 * (1.0 + f64::from(at % 3) / 100.0)).collect();
    BenchmarkResult {
        benchmark_id: case.id,
        timestamp: at(0),
        benchmark_type: case.benchmark_type,
        category: Some(case.benchmark),
        outcome: Outcome::Measured,
        reason: None,
        device_type: Some(DeviceType::Cpu),
        environment: rsb_model::record::EnvironmentSummary::default(),
        results: vec![
            Fields::new()
                .with("time_ms", milliseconds)
                .with("gflops", 100.0 / milliseconds)
                .with("roofline_percent", 80.0),
        ],
        statistics: Some(Statistics {
            unit: "ms".to_owned(),
            mean: milliseconds,
            std_dev: milliseconds / 100.0,
            min: milliseconds,
            max: milliseconds,
            percentiles: Percentiles {
                p50: milliseconds,
                p90: milliseconds,
                p95: milliseconds,
                p99: milliseconds,
            },
        }),
        samples: vec![Samples { replicate: 0, iters: vec![1; times.len()], times_ns: times }],
        factors: None,
        metadata: serde_json::Map::new(),
    }
}

pub(super) fn skipped(name: &str) -> BenchmarkResult {
    BenchmarkResult {
        outcome: Outcome::Skipped,
        reason: Some(Reason::new("backend rocm", "libamdhip64.so is not here", "install ROCm")),
        results: Vec::new(),
        statistics: None,
        samples: Vec::new(),
        ..result(name, 1.0)
    }
}

pub(super) fn run(id: &str) -> Run {
    let mut run = Run::begin(RunId(id.to_owned()), at(0), "quick", "quick", Environment::default());
    run.finished = Some(at(12));
    run.benchmarks = vec![result("256x256x256", 1.0), result("512x512x512", 9.0), skipped("rocm")];
    run
}

/// Returns the events of a run of two cases with two replicates each, as the engine sends them.
pub(super) fn events() -> Vec<(i64, Event)> {
    let mut events = vec![
        (0, Event::RunStarted { run_id: RunId("20260923T090000Z_new".to_owned()), cases: 2 }),
        (0, Event::CaseUpdated(Box::new(skipped("rocm")))),
    ];
    let names = ["256x256x256", "512x512x512"];
    for (step, name) in names.iter().chain(&names).enumerate() {
        let second = i64::try_from(step).unwrap() * 2;
        events.push((
            second,
            Event::ReplicateStarted { case: Box::new(case(name)), step: step + 1, steps: 4 },
        ));
        events.push((second + 2, Event::CaseUpdated(Box::new(result(name, 1.0 + step as f64)))));
    }
    events.push((8, Event::note("the machine was busy")));
    events.push((8, Event::RunEnded(RunStatus::Complete)));
    events
}

pub(super) fn happened((second, event): (i64, Event)) -> Message {
    Message::Happened { event, at: at(second) }
}

pub(super) fn stored(id: &str, second: i64) -> RunRow {
    let Counts { measured, skipped, failed, .. } = run(id).counts();
    RunRow {
        run_id: id.to_owned(),
        started: at(second),
        finished: Some(at(second)),
        suite: "quick".to_owned(),
        profile: "quick".to_owned(),
        commit: None,
        branch: None,
        machine: "amd-epyc-2c".to_owned(),
        measured,
        skipped,
        failed,
    }
}

pub(super) const OLD: &str = "20260922T080000Z_old";
pub(super) const NEW: &str = "20260923T090000Z_new";

pub(super) fn runs() -> Message {
    let baseline = BaselineRow {
        name: "quick".to_owned(),
        created: at(0),
        commit: None,
        machine: "amd-epyc-2c".to_owned(),
        cases: 2,
        replicates: 5,
    };
    Message::Loaded(LoadedDocument::Runs {
        runs: vec![stored(NEW, 0), stored(OLD, -90_000)],
        baselines: vec![baseline],
    })
}

/// Returns a comparison in which the 512 product is 30 % slower and the other one is unchanged.
pub(super) fn comparison() -> ComparisonResult {
    let row = |name: &str, percent: f64, verdict: &str, code: &str, reason: &str| {
        json!({
            "id": case(name).id, "metric": "time_ms", "unit": "ms", "better": "lower",
            "baseline_value": 10.0, "current_value": 10.0 + percent / 10.0, "difference_percent": percent,
            "confidence_interval": [percent - 2.0, percent + 2.0], "verdict": verdict, "reason": reason,
            "reason_code": code, "threshold_percent": 10.0
        })
    };
    serde_json::from_value(json!({
        "format_version": 3, "comparison_id": "c", "baseline_run_id": OLD, "current_run_id": NEW,
        "timestamp": "2026-09-23T09:01:00Z", "verdict": "Regressed", "threshold_percent": 10.0,
        "comparisons": [
            row("256x256x256", 1.0, "Unchanged", "within_noise", "no clear change"),
            row("512x512x512", 30.0, "Regressed", "above_threshold", "30 % slower, and the interval agrees"),
        ],
        "missing": [], "new": [],
        "summary": {
            "total_improved": 0, "total_degraded": 1, "total_unchanged": 1, "total_no_verdict": 0, "overall_status": "critical",
            "significant_changes": []
        }
    }))
    .unwrap()
}

pub(super) fn compared() -> Message {
    Message::Loaded(LoadedDocument::Comparison(Box::new(comparison())))
}

pub(super) fn history() -> Message {
    let series = |name: &str, last: f64| {
        json!({
            "id": case(name).id, "metric": "time_ms", "unit": "ms", "n": 6, "first": 1.0, "last": last,
            "last_change_percent": 20.0, "slope_per_day": null, "intercept": null, "r_squared": null, "p_value": null,
            "direction": "stable", "change_points": [], "forecast": null, "alerts": []
        })
    };
    let mut trends: TrendDocument = serde_json::from_value(json!({
        "format_version": 3,
        "series": [
            series("256x256x256", 1.01), series("512x512x512", 9.0), series("64x64x64", 0.1)
        ]
    }))
    .unwrap();
    for series in &mut trends.series {
        // Deserialized documents do not contain the values.
        series.values = vec![1.0, 1.01, 1.0, 0.99, 1.0, series.last];
    }
    (trends.series[2].n, trends.series[2].values) = (1, vec![0.1]);
    trends.series[1].values = vec![7.5, 7.51, 7.49, 9.0, 9.02, 9.0];
    let point = |run: &str, second: i64| json!({ "timestamp": at(second), "run_id": run, "commit": "a72b200c5d4e3f2a1b0c" });
    let alert = serde_json::from_value(json!({
        "id": "a-ac88c1da", "state": "new", "machine": "amd-epyc-2c", "direction": "worse",
        "severity": "warning",
        "range": { "last_before": point(OLD, -90_000), "first_after": point(NEW, 0) },
        "moves": [{
            "id": case("512x512x512").id, "metric": "time_ms", "change_percent": 20.0,
            "confirmed": true
        }],
        "first_seen": at(0)
    }))
    .unwrap();
    let health = serde_json::from_value(json!({
        "format_version": 3, "status": "healthy", "machine": "amd-epyc-2c", "latest": null, "runs": 6, "degraded": [],
        "improving": [], "noisy": [], "missing": [], "unmeasured": [], "recommendations": []
    }))
    .unwrap();
    Message::Loaded(LoadedDocument::History(Box::new(HistoryPage {
        trends,
        alerts: vec![alert],
        health,
        models: RecommendDocument {
            format_version: 1,
            goal: "latency".to_owned(),
            currency: None,
            models: Vec::new(),
        },
        now: at(60),
    })))
}

/// Returns the recommendation for a model that was measured on one device only.
pub(super) fn model() -> ModelAdvice {
    ModelAdvice {
        model_id: "bert-tiny".to_owned(),
        architecture_type: "encoder-only".to_owned(),
        parameter_count: Some(4_400_000),
        size: Some("tiny".to_owned()),
        sequence_length: 128,
        choice: ModelChoice::OnlyOne,
        candidates: vec![ModelCandidate {
            place: ModelPlace {
                machine: "amd-epyc-2c".to_owned(),
                device: "cpu:0".to_owned(),
                backend: "pytorch".to_owned(),
                dtype: "f32".to_owned(),
                threads: None,
            },
            basis: ModelBasis::Measured,
            batch_size: 1,
            time_per_item_ms: 1.0,
            time_per_item_interval_ms: [0.9, 1.1],
            cost_per_million_items: None,
            energy_per_item_j: None,
            accuracy_error: None,
            run_id: Some(NEW.to_owned()),
            rests_on: Vec::new(),
        }],
        unknown: Vec::new(),
    }
}

fn node(name: &str, state: NodeState) -> CampaignNode {
    let percent = if state == NodeState::Slow { 9.8 } else { 0.1 };
    CampaignNode {
        name: name.to_owned(),
        class: "mi300x:8gpu".to_owned(),
        state,
        reason: format!("gemm {percent:+} % time against 5 nodes of its class"),
        progress: Some(NodeProgress::Done),
        evidence: Some(CaseDeviation {
            case: case("512x512x512").id.to_string(),
            slower_percent: percent,
            interval_percent: [percent - 0.7, percent + 0.7],
            spread_percent: 0.15,
            peers: 5,
            state,
        }),
        advice: None,
        next: None,
    }
}

/// Returns a campaign of twelve nodes: one is slow, one without a result, one is being measured.
pub(super) fn campaign() -> Message {
    let slow = CampaignNode {
        advice: Some(
            "scontrol update nodename=n8 state=drain reason='rusty-stack-bench: gemm +9.8 %'"
                .to_owned(),
        ),
        ..node("n8", NodeState::Slow)
    };
    let why = "the scheduler reports NODE_FAIL".to_owned();
    let lost = CampaignNode {
        reason: why.clone(),
        progress: Some(NodeProgress::NotReachable { why }),
        evidence: None,
        next: Some("`rusty-stack-bench fleet resume` measures what is missing".to_owned()),
        ..node("n5", NodeState::Error)
    };
    let running = NodeProgress::Running {
        case: Some(case("256x256x256").id.to_string()),
        done: 3,
        total: 12,
        eta_seconds: Some(130),
    };
    let busy = CampaignNode {
        progress: Some(running),
        evidence: None,
        ..node("n12", NodeState::NotMeasured)
    };
    let mut nodes = vec![slow, lost, busy];
    for number in [1, 2, 3, 4, 6, 7, 9, 10, 11] {
        nodes.push(node(&format!("n{number}"), NodeState::Ok));
    }
    Message::Loaded(LoadedDocument::Fleet(Box::new(CampaignDocument {
        format_version: 3,
        campaign: "first".to_owned(),
        planned: Some(at(0)),
        read: at(60),
        is_active: true,
        nodes,
        pairs: Vec::new(),
        classes: vec![CampaignClass {
            name: "mi300x:8gpu".to_owned(),
            nodes: 12,
            judged: 10,
            suspects: 1,
            is_breaker_open: false,
            spread_percent: Some(0.154),
            widest: Some(CaseSpread {
                case: case("512x512x512").id.to_string(),
                spread_percent: 0.3,
            }),
        }],
        notes: vec!["driver in mi300x:8gpu: 6.1, but n2 6.0".to_owned()],
        problems: Vec::new(),
    })))
}

pub(super) fn machine() -> Message {
    Message::Loaded(LoadedDocument::Machine {
        findings: vec![
            Finding::new(
                FindingSeverity::Error,
                "ada may not use /dev/kfd",
                "its group is render, and this process may not read and write it",
                "sudo usermod -aG render ada, and log in again",
            ),
            Finding::ok(
                "GPU 0: amdgpu is bound",
                "the GPU uses the kernel driver that compute needs",
            ),
        ],
        environment: Box::default(),
    })
}
