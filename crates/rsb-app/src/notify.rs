//! Sends alerts to the receivers of `[[notify]]`: after `gate`, `trend`, `health` and `fleet`, and
//! on request. A failure is a warning and never changes an exit code; the messages wait in the outbox.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::anyhow;
use rsb_engine::{Event, Listener};
use rsb_gate::gate::{JudgedSides, Judgment};
use rsb_insight::health::HealthLimits;
use rsb_insight::trends::SeriesPlaces;
use rsb_model::record::{AlertState, TrackedAlert};
use rsb_model::{Fingerprint, Run, Timestamp};
use rsb_notify::outbox::SendFn;
use rsb_notify::policy::AnnouncedPhase;
use rsb_notify::{
    AnalysisContext, DeliveryReport, GateScope, LastMeasured, Notification, NotifyAlert,
    NotifyBook, NotifyClock, NotifyError, NotifySection, Outbox, SendError, Silence,
};
use rsb_report::number::format_count;
use rsb_store::{AlertBook, Series, Store};

use crate::next_step::VerdictRequest;
use crate::trend::{TrendHistory, TrendQuery};
use crate::{AppError, ProjectContext, ProjectPaths, next_step};

/// Maximum time that a subcommand spends on sending.
const BUDGET: Duration = Duration::from_secs(5);

/// Number of runs in a chart.
const CHART_RUNS: usize = 200;

/// Returns the alerts of `history` and those of earlier analyses, which `store` keeps. Without a
/// filter, also returns an alert about cases without a recent measurement and one about the newest
/// run. Returns none if no receiver is configured.
pub fn trend_alerts(
    project: &ProjectContext,
    store: &Store,
    history: &TrendHistory,
    query: &TrendQuery,
    paths: &ProjectPaths,
) -> Vec<NotifyAlert> {
    if project.config.notify.is_empty() {
        return Vec::new();
    }
    let is_whole = !query.filter.is_given() && query.metric.is_none();
    let measured = if is_whole { history.series.len() } else { 0 };
    let places = SeriesPlaces::new(&history.series);
    let book = AlertBook::read(store.results_dir()).unwrap_or_default();
    let convert = |alert: &TrackedAlert| {
        let analysis = AnalysisContext {
            measured,
            is_repeated: history.tracked.is_repeated(&alert.id, &places),
            critical_percent: 2.0 * query.settings.alert_threshold_percent,
        };
        let converted = with_hints(alert, NotifyAlert::from_tracked(alert, analysis), paths);
        NotifyAlert { chart: chart(alert, history), ..converted }
    };
    let mut alerts: Vec<NotifyAlert> = book.alerts.iter().map(convert).collect();
    if is_whole {
        let newest = store.latest().ok().flatten().filter(|run| !run.imported);
        alerts
            .extend(newest.map(|run| with_run(NotifyAlert::from_run(&slug_of(&run), &run), paths)));
        let cases = last_measured(&history.series);
        let days = HealthLimits::default().unmeasured_days;
        let unmeasured = NotifyAlert::from_unmeasured(&machine(store), &cases, history.now, days);
        alerts.push(with_run(unmeasured, paths));
    }
    alerts
}

/// Returns the alerts that `trend` keeps in `store`.
///
/// # Errors
/// If they cannot be read.
pub fn kept_alerts(store: &Store, paths: &ProjectPaths) -> Result<Vec<NotifyAlert>, AppError> {
    let book = AlertBook::read(store.results_dir()).map_err(AppError::usage)?;
    let convert = |alert: &TrackedAlert| {
        with_hints(alert, NotifyAlert::from_tracked(alert, AnalysisContext::NONE), paths)
    };
    Ok(book.alerts.iter().map(convert).collect())
}

/// Draws the last runs of the series that changed most in a new alert.
fn chart(alert: &TrackedAlert, history: &TrendHistory) -> Option<String> {
    let first = alert.moves.first().filter(|_| alert.state == AlertState::New)?;
    let mut all = history.document.series.iter();
    let series = all.find(|series| series.id == first.id && series.metric == first.metric)?;
    let end = series.values.len();
    let window = end.saturating_sub(CHART_RUNS)..end;
    rsb_report::svg(&rsb_report::charts::trend_window(series, window, CHART_RUNS)?)
}

/// Adds the commands that explain a new alert.
fn with_hints(tracked: &TrackedAlert, alert: NotifyAlert, paths: &ProjectPaths) -> NotifyAlert {
    if tracked.state != AlertState::New {
        return alert;
    }
    // Each hint has its command on the second line.
    let hints = next_step::after_changes(std::slice::from_ref(tracked), paths);
    let commands = hints.iter().filter_map(|hint| Some(hint.split_once('\n')?.1.trim().to_owned()));
    with_run(NotifyAlert { next: commands.collect(), ..alert }, paths)
}

/// Adds the command that measures the first case of an open alert again.
fn with_run(mut alert: NotifyAlert, paths: &ProjectPaths) -> NotifyAlert {
    let first = alert.series.first().filter(|_| !alert.state.is_closed());
    if let Some(run) = first.and_then(|case| next_step::measure_again(&case.id, paths)) {
        alert.next.insert(0, run);
    }
    alert
}

/// Returns when each case of `series` was last measured.
fn last_measured(series: &[Series]) -> Vec<LastMeasured> {
    let mut newest: BTreeMap<&str, Timestamp> = BTreeMap::new();
    for series in series {
        let Some(last) = series.points.last() else { continue };
        let time = newest.entry(&series.id).or_insert(last.timestamp);
        *time = last.timestamp.max(*time);
    }
    newest.into_iter().map(|(id, at)| LastMeasured { id: id.to_owned(), at }).collect()
}

/// Returns the machine of the latest run, as the directory name of its hardware; empty if unknown.
fn machine(store: &Store) -> String {
    let latest = store.latest().ok().flatten();
    latest.as_ref().map_or_else(String::new, slug_of)
}

fn slug_of(run: &Run) -> String {
    Fingerprint::of(&run.environment).slug()
}

/// Reports the verdict of `gate` to the receivers of `request`.
pub fn after_verdict(
    request: &VerdictRequest,
    store: &Store,
    judgment: &Judgment,
    listener: &mut Listener<'_>,
) {
    if request.notify.is_empty() {
        return;
    }
    let scope = scope(request, &judgment.sides);
    if let Some(mut alert) = NotifyAlert::from_comparison(&judgment.result, &scope) {
        if !alert.state.is_closed() {
            alert.next = gate_commands(request, judgment, &alert.key);
        }
        report(&request.notify, store.results_dir(), &[alert], listener);
    }
}

/// Returns the commands that reproduce, explain and acknowledge the alert `key` of a gate.
fn gate_commands(request: &VerdictRequest, judgment: &Judgment, key: &str) -> Vec<String> {
    let context = next_step::comment_context(&judgment.result, &judgment.sides, request);
    let places = request.paths.arguments();
    let acknowledge = format!("rusty-stack-bench notify ack {key} --because \"REASON\"{places}");
    [context.reproduce, context.bisect, Some(acknowledge)].into_iter().flatten().collect()
}

fn scope(request: &VerdictRequest, sides: &JudgedSides) -> GateScope {
    let suite = sides.suite.as_deref().unwrap_or_default();
    let reference = match request.reference.as_str() {
        "" => format!("the baseline {suite}"),
        named => named.to_owned(),
    };
    let machine = sides.machine.clone().unwrap_or_default();
    GateScope { machine, reference, branch: branch(sides) }
}

/// Returns the current branch; without one, as in CI, the branch of the CI job, else the judged
/// commit.
fn branch(sides: &JudgedSides) -> String {
    let variables = ["GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME"].into_iter();
    let mut values = variables.filter_map(|name| std::env::var(name).ok());
    rsb_probe::git(Path::new("."))
        .and_then(|git| git.branch)
        .or_else(|| values.find(|value| !value.is_empty()))
        .or_else(|| sides.current.clone())
        .unwrap_or_default()
}

/// Stores the messages that are due for `alerts`, and sends these and the waiting ones; each attempt
/// takes at most 5 s. Failures are warnings.
pub fn report(
    sections: &[NotifySection],
    results: &Path,
    alerts: &[NotifyAlert],
    listener: &mut Listener<'_>,
) {
    report_by(&mut rsb_notify::send_briefly, sections, results, alerts, listener);
}

/// Like [`report`], but each attempt may take up to the time limit of the receiver.
pub fn report_patiently(
    sections: &[NotifySection],
    results: &Path,
    alerts: &[NotifyAlert],
    listener: &mut Listener<'_>,
) {
    report_by(&mut rsb_notify::send, sections, results, alerts, listener);
}

fn report_by(
    send: &mut SendFn<'_>,
    sections: &[NotifySection],
    results: &Path,
    alerts: &[NotifyAlert],
    listener: &mut Listener<'_>,
) {
    if sections.is_empty() {
        return;
    }
    match store_and_send(send, sections, results, alerts) {
        Ok(report) => tell(&report, listener),
        Err(error) => listener(&Event::warning(format!("no alert was sent: {error}"))),
    }
}

fn store_and_send(
    send: &mut SendFn<'_>,
    sections: &[NotifySection],
    results: &Path,
    alerts: &[NotifyAlert],
) -> Result<DeliveryReport, NotifyError> {
    let mut outbox = Outbox::open(results)?;
    outbox.add(sections, alerts, NotifyClock::read())?;
    outbox.deliver(sections, BUDGET, send)
}

fn tell(report: &DeliveryReport, listener: &mut Listener<'_>) {
    if report.accepted > 0 {
        let count = format_count(report.accepted, "alert message", "alert messages");
        listener(&Event::note(format!("{count} sent")));
    }
    for line in &report.given_up {
        listener(&Event::warning(line.clone()));
    }
    for line in &report.waiting {
        listener(&Event::warning(format!("{line}; `notify status` lists them")));
    }
}

/// Returns the messages that would be sent now, as text.
///
/// # Errors
/// If the alerts or the outbox cannot be read.
pub fn preview(
    project: &ProjectContext,
    store: &Store,
    paths: &ProjectPaths,
) -> Result<String, AppError> {
    let alerts = kept_alerts(store, paths)?;
    let book = read_book(project)?;
    let mut text = String::new();
    for preview in book.preview(&project.config.notify, &alerts, NotifyClock::read()) {
        let count = format_count(preview.notifications.len(), "message", "messages");
        let _ = writeln!(text, "{}: {count}", preview.receiver);
        for notification in &preview.notifications {
            for line in notification.text(None).lines() {
                let _ = writeln!(text, "  {line}");
            }
        }
        for held in &preview.held {
            let _ = writeln!(text, "  held back, {}: {}", held.why, held.headline);
        }
    }
    text.push_str(&waiting(&book));
    Ok(text)
}

/// Sends a test message to the receiver called `name`.
///
/// # Errors
/// If there is no such receiver, or it does not accept the message.
pub fn send_test(project: &ProjectContext, name: &str) -> Result<(), AppError> {
    let sections = configured(project)?;
    let Some(section) = sections.iter().find(|section| section.name == name) else {
        let names: Vec<&str> = sections.iter().map(|section| section.name.as_str()).collect();
        let names = names.join(", ");
        return Err(AppError::usage(anyhow!(
            "no receiver is called `{name}`; the receivers are {names}"
        )));
    };
    let test = Notification::test(name, Timestamp::now());
    rsb_notify::send(section, &test).map_err(|error| {
        let advice = match error {
            SendError::Later { .. } => "a real alert would be sent again later",
            SendError::Final { .. } => "check the address and the rights of the receiver",
        };
        AppError::from(anyhow!("`{name}` did not accept the message: {error}; {advice}"))
    })
}

/// Returns the receivers.
///
/// # Errors
/// If none is configured.
pub fn configured(project: &ProjectContext) -> Result<&[NotifySection], AppError> {
    match project.config.notify.as_slice() {
        [] => Err(AppError::usage(anyhow!(
            "no receiver is configured; add a table [[notify]] to the configuration file \
             (docs/how-to/alerts.md)"
        ))),
        sections => Ok(sections),
    }
}

/// Adds a silence of `period` for the alerts that match `pattern`.
///
/// # Errors
/// If the outbox cannot be written.
pub fn silence(
    project: &ProjectContext,
    pattern: &str,
    period: Duration,
    because: Option<String>,
) -> Result<Timestamp, AppError> {
    let until = Timestamp::now() + period;
    let silence = Silence { pattern: pattern.to_owned(), until, because };
    let mut outbox = Outbox::open(&project.directories.results).map_err(notify_error)?;
    outbox.silence(silence).map_err(notify_error)?;
    Ok(until)
}

/// Ends the silences of `pattern`.
///
/// # Errors
/// If there is none, or the outbox cannot be written.
pub fn end_silence(project: &ProjectContext, pattern: &str) -> Result<(), AppError> {
    let mut outbox = Outbox::open(&project.directories.results).map_err(notify_error)?;
    if outbox.end_silence(pattern).map_err(notify_error)? {
        return Ok(());
    }
    Err(AppError::usage(anyhow!("there is no silence of `{pattern}`; `notify status` lists all")))
}

/// Returns the receivers with their open alerts, the waiting and failed messages and the silences.
///
/// # Errors
/// If no receiver is configured, or the outbox cannot be read.
pub fn status(project: &ProjectContext) -> Result<String, AppError> {
    let sections = configured(project)?;
    let book = read_book(project)?;
    let mut text = String::new();
    for section in sections {
        let kind = section.receiver().map_or("unknown", |receiver| receiver.kind());
        let known = book.receivers.get(&section.name);
        let open = known.into_iter().flat_map(|state| &state.alerts);
        let open: Vec<_> = open.filter(|(_, alert)| alert.phase == AnnouncedPhase::Open).collect();
        let count = format_count(open.len(), "open alert", "open alerts");
        let _ = writeln!(text, "{} ({kind}): {count}", section.name);
        for (key, alert) in open {
            let (line, last) = (&alert.headline, alert.last.strftime("%Y-%m-%d %H:%M UTC"));
            let known = alert.acknowledged.as_deref();
            let known = known.map_or_else(String::new, |why| format!("; acknowledged: {why}"));
            let _ = writeln!(text, "  {key}: {line}; last sent {last}{known}");
        }
    }
    text.push_str(&waiting(&book));
    for entry in &book.failed {
        let error = entry.error.as_deref().unwrap_or("unknown error");
        let (title, receiver) = (entry.notification.title(), &entry.receiver);
        let _ = writeln!(text, "given up, for {receiver}: {title}: {error}");
    }
    for silence in book.silences.iter().filter(|silence| silence.until > Timestamp::now()) {
        let until = silence.until.strftime("%Y-%m-%d %H:%M UTC");
        let because = silence.because.as_deref().map_or_else(String::new, |why| format!(": {why}"));
        let _ = writeln!(text, "silenced until {until}: {}{because}", silence.pattern);
    }
    Ok(text)
}

/// Returns one line per message that waits in the outbox.
fn waiting(book: &NotifyBook) -> String {
    let mut text = String::new();
    for entry in &book.pending {
        let error = entry.error.as_deref().unwrap_or("not tried yet");
        let (title, receiver) = (entry.notification.title(), &entry.receiver);
        let next = entry.next_try.strftime("%H:%M:%S UTC");
        let _ = writeln!(text, "waits until {next}, for {receiver}: {title}: {error}");
    }
    text
}

fn read_book(project: &ProjectContext) -> Result<NotifyBook, AppError> {
    NotifyBook::read(&project.directories.results).map_err(notify_error)
}

/// Converts an error of the outbox.
pub(crate) fn notify_error(error: NotifyError) -> AppError {
    match error {
        NotifyError::Unreadable { .. } => AppError::usage(error),
        NotifyError::Io { .. } | NotifyError::Busy { .. } => {
            AppError::from(anyhow::Error::new(error))
        }
    }
}
