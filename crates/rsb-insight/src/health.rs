//! A health page for a machine's benchmarks: cases that became worse or better, are noisy, missing
//! or long unmeasured, and advice. Pure: the caller reads the store and the trends.

use std::collections::BTreeMap;

use itertools::Itertools as _;
use rsb_model::format::FORMAT_VERSION;
use rsb_model::record::{
    Alert, AlertBasis, AlertState, HealthDocument, HealthItem, OverallStatus, Recommendation,
    RunPoint, SeriesTrend, Severity, TrackedAlert,
};
use rsb_model::{Fingerprint, Outcome, Run, Timestamp};
use rsb_stats::estimate::{MAD_TO_SIGMA, median};
use rsb_store::Series;

use crate::advice;

/// Minimum number of points to estimate noise.
const FEWEST: usize = 5;

/// Input of a health page.
#[derive(Debug, Clone, Copy)]
pub struct HealthInput<'a> {
    /// Latest run of the machine.
    pub latest: Option<&'a Run>,
    /// Complete runs of the same suite and machine before it, oldest first.
    pub earlier: &'a [Run],
    /// Number of stored runs of the machine.
    pub runs: usize,
    /// Series with the time per iteration of every case.
    pub series: &'a [Series],
    /// Trends of these series.
    pub trends: &'a [SeriesTrend],
    /// Alerts that are still in effect.
    pub alerts: &'a [TrackedAlert],
    /// Limits for noise and age.
    pub limits: HealthLimits,
    /// Current time.
    pub now: Timestamp,
}

/// Limits for noise and age.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HealthLimits {
    /// Run-to-run noise, in percent, from which a case counts as noisy.
    pub noisy_percent: f64,
    /// Days without a measurement from which a case counts as unmeasured.
    pub unmeasured_days: f64,
}

impl Default for HealthLimits {
    fn default() -> Self {
        Self { noisy_percent: 10.0, unmeasured_days: 14.0 }
    }
}

/// Builds the health page for `input`.
pub fn health(input: &HealthInput<'_>) -> HealthDocument {
    let degraded = items_of_direction(input, "worse");
    let improving = items_of_direction(input, "better");
    let noisy = noisy(input.series, input.limits.noisy_percent);
    let missing = missing(input.latest, input.earlier);
    let unmeasured = unmeasured_items(input);
    let unseen: Vec<&HealthItem> = missing.iter().chain(&unmeasured).collect();
    let recommendations = recommendations(input, &noisy, &unseen);
    let worse = input
        .alerts
        .iter()
        .filter(|alert| alert.direction == "worse" && alert.state == AlertState::New);
    let drifts = drifts(input.trends).filter(|(_, alert)| alert.direction == "worse");
    let worst =
        worse.map(|alert| alert.severity).chain(drifts.map(|(_, alert)| alert.severity)).max();
    let is_unclear = [&noisy, &missing, &unmeasured].into_iter().any(|items| !items.is_empty());
    let status = match worst {
        Some(Severity::Critical) => OverallStatus::Critical,
        Some(Severity::Warning) => OverallStatus::Warning,
        // Without any run, nothing is known.
        _ if is_unclear || input.latest.is_none() => OverallStatus::Warning,
        _ => OverallStatus::Healthy,
    };
    HealthDocument {
        format_version: FORMAT_VERSION,
        status,
        machine: input.latest.map(|run| Fingerprint::of(&run.environment).slug()),
        latest: input.latest.map(|run| RunPoint {
            timestamp: run.started,
            run_id: Some(run.run_id.clone()),
            commit: run.environment.git.as_ref().map(|git| git.commit.clone()),
        }),
        runs: input.runs,
        degraded,
        improving,
        noisy,
        missing,
        unmeasured,
        recommendations,
    }
}

/// Returns the open alerts and the drifts of one direction.
fn items_of_direction(input: &HealthInput<'_>, direction: &str) -> Vec<HealthItem> {
    let open = input
        .alerts
        .iter()
        .filter(|alert| alert.direction == direction && !alert.state.is_closed());
    let drifts = drifts(input.trends).filter(|(_, alert)| alert.direction == direction);
    let drifts = drifts.map(|(trend, alert)| drift_item(trend, alert));
    open.flat_map(alert_items).chain(drifts).collect()
}

fn alert_items(alert: &TrackedAlert) -> Vec<HealthItem> {
    let note = match (alert.state, &alert.because) {
        (AlertState::New, _) => String::new(),
        (state, Some(because)) => format!(", {}: {because}", state.as_str()),
        (state, None) => format!(", {}", state.as_str()),
    };
    let mut items = Vec::new();
    for one in &alert.moves {
        let run = &alert.range_of(one).first_after;
        let at = run.run_id.as_ref().map_or_else(|| run.timestamp.to_string(), ToString::to_string);
        let commit = run.commit.as_deref().map_or_else(String::new, |hash| {
            format!(" (commit {})", hash.get(..10).unwrap_or(hash))
        });
        let suspected = if one.confirmed { "" } else { ", suspected: too few runs to be sure" };
        items.push(HealthItem {
            id: one.id.clone(),
            metric: Some(one.metric.clone()),
            percent: Some(one.change_percent),
            alert: Some(alert.id.clone()),
            evidence: format!("since run {at}{commit}{suspected}{note}"),
        });
    }
    items
}

/// Returns the drifts that need attention. Alerts do not track them, because they have no first
/// run.
fn drifts(trends: &[SeriesTrend]) -> impl Iterator<Item = (&SeriesTrend, &Alert)> {
    let alerts =
        trends.iter().flat_map(|trend| trend.alerts.iter().map(move |alert| (trend, alert)));
    alerts.filter(|(_, alert)| alert.basis == AlertBasis::Drift)
}

fn drift_item(trend: &SeriesTrend, alert: &Alert) -> HealthItem {
    // The item already names the metric.
    let evidence =
        alert.description.strip_prefix(&trend.metric).unwrap_or(&alert.description).trim_start();
    HealthItem {
        id: trend.id.clone(),
        metric: Some(trend.metric.clone()),
        percent: Some(alert.change_percent),
        alert: None,
        evidence: evidence.to_owned(),
    }
}

/// Returns the run-to-run noise of the median series, in percent; `None` if none has enough points.
pub fn median_noise(series: &[Series]) -> Option<f64> {
    let mut all = Vec::new();
    for one in series {
        let values: Vec<f64> = one.points.iter().map(|point| point.value).collect();
        all.extend(noise(&values));
    }
    median(&all).map(|noise| 100.0 * noise)
}

/// Returns the run-to-run noise relative to the level. It is estimated from differences of
/// neighbors, so that steps and drifts do not affect it.
fn noise(values: &[f64]) -> Option<f64> {
    let steps: Vec<f64> = values.iter().zip(values.get(1..)?).map(|(a, b)| (b - a).abs()).collect();
    let level = median(values)?.abs();
    let noise = MAD_TO_SIGMA * median(&steps)? / std::f64::consts::SQRT_2 / level;
    (values.len() >= FEWEST && noise.is_finite()).then_some(noise)
}

fn noisy(series: &[Series], limit: f64) -> Vec<HealthItem> {
    let mut found: Vec<HealthItem> = Vec::new();
    for series in series {
        let values: Vec<f64> = series.points.iter().map(|point| point.value).collect();
        let Some(noise) = noise(&values) else { continue };
        let percent = 100.0 * noise;
        if percent >= limit {
            found.push(HealthItem {
                id: series.id.clone(),
                metric: Some(series.metric.clone()),
                percent: Some(percent),
                alert: None,
                evidence: format!(
                    "robust standard deviation from run to run, over {} runs",
                    values.len()
                ),
            });
        }
    }
    found.sort_by(|a, b| b.percent.unwrap_or_default().total_cmp(&a.percent.unwrap_or_default()));
    found
}

/// Returns the cases measured in the last earlier run of the latest run's plan but not in the
/// latest, with the latest run's reason if there is one.
fn missing(latest: Option<&Run>, earlier: &[Run]) -> Vec<HealthItem> {
    let Some(latest) = latest else { return Vec::new() };
    let Some(before) = earlier.iter().rev().find(|run| run.is_of_plan_of(latest)) else {
        return Vec::new();
    };
    let now = latest
        .benchmarks
        .iter()
        .map(|result| (&result.benchmark_id, result))
        .collect::<BTreeMap<_, _>>();
    let measured = before.benchmarks.iter().filter(|result| is_measured(result.outcome));
    let ids = measured.map(|result| &result.benchmark_id).sorted_unstable().dedup().collect_vec();
    let mut items = Vec::new();
    for id in ids {
        let evidence = match now.get(id) {
            Some(result) if is_measured(result.outcome) => continue,
            Some(result) => {
                let reason = result.reason.as_ref();
                let words = reason.map_or_else(String::new, |reason| {
                    format!(": {}: {}; {}", reason.what, reason.why, reason.cure)
                });
                format!("{} in {}{words}", result.outcome.as_str(), latest.run_id)
            }
            None => format!("measured in {}, absent from {}", before.run_id, latest.run_id),
        };
        let id = id.to_string();
        items.push(HealthItem { id, metric: None, percent: None, alert: None, evidence });
    }
    items
}

const fn is_measured(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Measured | Outcome::Simulated)
}

fn unmeasured_items(input: &HealthInput<'_>) -> Vec<HealthItem> {
    let mut items = Vec::new();
    for series in input.series {
        let Some(last) = series.points.last() else { continue };
        let days = input.now.duration_since(last.timestamp).as_secs_f64() / 86_400.0;
        if days >= input.limits.unmeasured_days {
            items.push(HealthItem {
                id: series.id.clone(),
                metric: Some(series.metric.clone()),
                percent: None,
                alert: None,
                evidence: format!(
                    "last measured {days:.0} days ago, on {}",
                    last.timestamp.strftime("%Y-%m-%d")
                ),
            });
        }
    }
    items
}

/// Returns what a person can do, most urgent first: a changed machine, drifts, noise, missing
/// measurements, then the state of the machine.
fn recommendations(
    input: &HealthInput<'_>,
    noisy: &[HealthItem],
    unseen: &[&HealthItem],
) -> Vec<Recommendation> {
    let mut found = Vec::new();
    let Some(latest) = input.latest else { return found };
    let is_new =
        |alert: &&TrackedAlert| alert.direction == "worse" && alert.state == AlertState::New;
    for alert in input.alerts.iter().filter(is_new) {
        let changed: Vec<String> = alert
            .environment_changes
            .iter()
            .map(|change| format!("{} {} → {}", change.field, change.baseline, change.current))
            .collect();
        if !changed.is_empty() {
            found.push(Recommendation {
                action: format!("check the machine before the code for alert {}", alert.id),
                evidence: format!("changed between the runs around it: {}", changed.join(", ")),
            });
        }
    }
    let drifting: Vec<_> =
        drifts(input.trends).filter(|(_, alert)| alert.direction == "worse").collect();
    let worst = drifting
        .iter()
        .max_by(|(_, a), (_, b)| a.change_percent.abs().total_cmp(&b.change_percent.abs()));
    if let Some((trend, alert)) = worst {
        let (count, id, what) = (drifting.len(), &trend.id, &alert.description);
        let evidence = format!("{count} drifting; the worst is {id}: {what}");
        found.push(Recommendation { action: alert.recommendation.clone(), evidence });
    }
    if let Some(worst) = noisy.first() {
        let count = noisy.len();
        found.push(Recommendation {
            action: "find the source of the noise: stop other programs and fix the CPU clock \
                     (`rusty-stack-bench doctor`), or judge with `gate --against`, whose \
                     interleaved pairs cancel it"
                .to_owned(),
            evidence: format!(
                "{count} noisy; the worst is {} with {:.0} % from run to run",
                worst.id,
                worst.percent.unwrap_or_default()
            ),
        });
    }
    if let Some(first) = unseen.first() {
        let suite = &latest.suite;
        found.push(Recommendation {
            action: format!("measure again: `rusty-stack-bench run --suite {suite}`"),
            evidence: format!("{} without a recent value; the first is {}", unseen.len(), first.id),
        });
    }
    found.extend(advice::of_machine(latest, input.earlier));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_model::environment::MachineState;
    use rsb_model::plan_selection::sorted_axes;
    use rsb_model::{BenchmarkResult, Environment, RunId};
    use rsb_store::SeriesPoint;

    fn run(name: &str, rocm: &str, warnings: &[&str]) -> Run {
        let state = MachineState {
            warnings: warnings.iter().map(|&text| text.to_owned()).collect(),
            ..MachineState::default()
        };
        let environment = Environment {
            rocm: Some(rocm.to_owned()),
            state: Some(state),
            ..Environment::default()
        };
        Run::begin(RunId(name.to_owned()), Timestamp::UNIX_EPOCH, "quick", "quick", environment)
    }

    fn series(id: &str, values: &[f64]) -> Series {
        let mut points = Vec::new();
        for (at, &value) in values.iter().enumerate() {
            points.push(SeriesPoint {
                timestamp: Timestamp::from_second(86_400 * i64::try_from(at).unwrap()).unwrap(),
                value,
                run_id: None,
                commit: None,
            });
        }
        Series {
            id: id.to_owned(),
            metric: "time_ms".to_owned(),
            unit: "ms".to_owned(),
            better: None,
            points,
        }
    }

    fn page(latest: Option<&Run>, earlier: &[Run], series: &[Series], day: i64) -> HealthDocument {
        let now = Timestamp::from_second(86_400 * day).unwrap();
        health(&HealthInput {
            latest,
            earlier,
            runs: 1,
            series,
            trends: &[],
            alerts: &[],
            limits: HealthLimits::default(),
            now,
        })
    }

    #[test]
    fn of_nothing_stored_nobody_can_say_that_it_is_healthy() {
        let page = page(None, &[], &[], 0);
        assert_eq!(
            (page.status, page.machine, page.recommendations.len()),
            (OverallStatus::Warning, None, 0)
        );
    }

    #[test]
    fn a_step_is_no_noise_and_noise_is_told_with_its_size() {
        let step: Vec<f64> =
            (0..20).map(|at| if at < 10 { 100.0 } else { 200.0 } + f64::from(at % 3)).collect();
        let noise: Vec<f64> = (0..20).map(|at| 100.0 + 30.0 * f64::from(at * 7 % 5)).collect();
        let page = page(
            Some(&run("r", "6.2.0", &[])),
            &[],
            &[series("step", &step), series("noise", &noise)],
            20,
        );
        assert_eq!(page.noisy.iter().map(|item| item.id.as_str()).collect::<Vec<_>>(), ["noise"]);
        assert!(page.noisy[0].percent.unwrap() > 20.0);
        assert_eq!(page.status, OverallStatus::Warning);
        assert!(page.recommendations[0].evidence.contains("the worst is noise"));
    }

    #[test]
    fn a_drift_is_degraded_or_improving_by_its_direction_and_size() {
        let mut all = [
            series("slower", &line(0.3)),
            series("faster", &line(-0.3)),
            series("steady", &line(0.0)),
        ];
        for series in &mut all {
            series.better = Some(rsb_model::Better::Lower);
        }
        let inputs = all.iter().map(|series| rsb_stats::SeriesInput {
            id: series.id.clone(),
            metric: series.metric.clone(),
            unit: series.unit.clone(),
            better: series.better,
            points: series.points.iter().map(|point| (point.timestamp, point.value)).collect(),
        });
        let trends =
            rsb_stats::trend_with(&inputs.collect::<Vec<_>>(), &rsb_stats::TrendSettings::DEFAULT);
        let latest = run("r", "6.2.0", &[]);
        let page = health(&HealthInput {
            latest: Some(&latest),
            earlier: &[],
            runs: 60,
            series: &all,
            trends: &trends.series,
            alerts: &[],
            limits: HealthLimits::default(),
            now: Timestamp::from_second(86_400 * 60).unwrap(),
        });
        assert_eq!((ids(&page.degraded), ids(&page.improving)), (vec!["slower"], vec!["faster"]));
        assert_eq!(page.status, OverallStatus::Warning);
        assert!(page.degraded[0].evidence.starts_with("drifts by +0.300"), "{:?}", page.degraded);
        assert!(page.recommendations[0].evidence.starts_with("1 drifting; the worst is slower: "));
    }

    fn line(slope: f64) -> Vec<f64> {
        (0..60).map(|at| 100.0 + slope * f64::from(at) + f64::from(at * 7 % 5) / 10.0).collect()
    }

    fn ids(items: &[HealthItem]) -> Vec<&str> {
        items.iter().map(|item| item.id.as_str()).collect()
    }

    #[test]
    fn what_was_not_measured_for_two_weeks_is_named() {
        let old = [series("old", &[1.0, 1.0, 1.0])];
        assert_eq!(page(Some(&run("r", "6.2.0", &[])), &[], &old, 15).unmeasured.len(), 0);
        let found = page(Some(&run("r", "6.2.0", &[])), &[], &old, 17).unmeasured;
        assert!(found[0].evidence.contains("15 days ago, on 1970-01-03"), "{found:?}");
    }

    #[test]
    fn missing_names_cases_of_the_last_run_of_the_same_plan_only() {
        let requested = |name: &str, axes: &[(String, Vec<String>)], cases: &[&str]| {
            let mut run = run(name, "6.2.0", &[]);
            run.selection.axes = sorted_axes(axes);
            run.benchmarks = cases.iter().map(|case| measured(case)).collect();
            run
        };
        let small = [("m".to_owned(), vec!["64".to_owned()])];
        let whole = requested("whole", &[], &["gemm/cpu:0/f32", "gemm/cpu:0/f64"]);
        let one = requested("one", &small, &["gemm/cpu:0/f32/64"]);
        let latest = requested("latest", &[], &["gemm/cpu:0/f32"]);
        let missing_of = |latest: &Run, earlier: &[Run]| {
            let page = page(Some(latest), earlier, &[], 0);
            page.missing.into_iter().map(|item| item.id).collect::<Vec<_>>()
        };
        assert_eq!(missing_of(&one, std::slice::from_ref(&whole)), [""; 0]);
        let found = missing_of(&latest, &[whole.clone(), one]);
        assert_eq!(found, ["cpu_performance/gemm/cpu:0/f64"]);
        let mut thorough = whole;
        thorough.profile = "thorough".to_owned();
        assert_eq!(missing_of(&latest, &[thorough]), [""; 0]);
    }

    fn measured(case: &str) -> BenchmarkResult {
        let document = serde_json::json!({
            "benchmark_id": format!("cpu_performance/{case}"),
            "timestamp": "2026-01-01T00:00:00Z",
            "benchmark_type": "cpu_performance",
            "results": [],
            "outcome": "measured",
        });
        serde_json::from_value(document).unwrap()
    }

    #[test]
    fn advice_rests_on_what_was_seen() {
        let latest = run(
            "now",
            "6.2.1",
            &["the machine runs on its battery, which lowers its clocks; plug it in"],
        );
        let earlier = [run("first", "6.1.0", &[]), run("then", "6.10.0", &[])];
        let advice = page(Some(&latest), &earlier, &[], 0).recommendations;
        assert_eq!(advice[0].action, "plug it in");
        assert_eq!(advice[1].evidence, "rocm is 6.2 in now and was 6.10 in then");
        assert_eq!(advice.len(), 2);
    }
}
