//! Change points over the stored runs, tracked across analyses: which series moved together, the
//! origin of the change, and the user's decision about it.

mod book;
mod group;
mod levels;
mod origin;

use std::collections::HashMap;
use std::path::Path;

use rsb_model::record::{AlertDecision, TrackedAlert, TrendDocument};
use rsb_model::{Fingerprint, Timestamp};
use rsb_stats::TrendSettings;
use rsb_store::{AlertBook, NoSuchAlert, ReadError, Series, Store, StoreError};

pub use group::{LevelShift, SeriesPlaces};
pub use levels::name_levels;

use book::Trace;

/// Why alerts cannot be tracked.
#[derive(Debug, thiserror::Error)]
pub enum AlertError {
    /// The file of known alerts cannot be read.
    #[error(transparent)]
    Unreadable(#[from] ReadError),
    /// No alert, or more than one, has the name given.
    #[error(transparent)]
    Name(#[from] NoSuchAlert),
    /// The store cannot be read, or the file of alerts not written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another user decided in the meantime.
    #[error("another user decided in the meantime ({})", .0.text())]
    Decided(Box<AlertDecision>),
    /// No such alert can be the cause.
    #[error("`{0}` cannot be the cause; name another alert that `trend` lists, or use words")]
    Cause(String),
}

/// A user's decision about one alert.
#[derive(Debug, Clone)]
pub struct DecisionRequest<'a> {
    /// Id of the alert, or a unique prefix of it.
    pub alert: &'a str,
    /// The decision.
    pub decision: AlertDecision,
    /// Alerts of an analysis that saved nothing, such as [`track_read_only`]. The alert is saved
    /// from these if no earlier analysis saved it.
    pub found: &'a [TrackedAlert],
    /// Number of decisions that the user has seen; `None` if the order does not matter.
    pub seen: Option<usize>,
}

/// Input of an analysis.
#[derive(Debug, Clone, Copy)]
pub struct TrackRequest<'a> {
    /// Every series analyzed.
    pub series: &'a [Series],
    /// Trends of these series.
    pub trends: &'a TrendDocument,
    /// Settings with which the trends were computed.
    pub settings: &'a TrendSettings,
    /// Time of the analysis.
    pub now: Timestamp,
}

/// Alerts found by an analysis.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tracked {
    /// Alerts in the history now, worst first. For new ones, `first_seen` is the time of the
    /// analysis.
    pub alerts: Vec<TrackedAlert>,
    /// Alerts that were open before this analysis and were closed by it.
    pub closed: Vec<TrackedAlert>,
    /// Why the result could not be saved, if saving failed. The next analysis reports it as new
    /// again.
    pub not_kept: Option<String>,
}

impl Tracked {
    /// Returns whether this analysis, of the series in `places`, finds the alert called `id` in at
    /// least two runs. A single run may be an outlier.
    pub fn is_repeated(&self, id: &str, places: &SeriesPlaces) -> bool {
        let Some(alert) = self.alerts.iter().find(|alert| alert.id == id) else { return false };
        alert.moves.iter().any(|one| {
            let began = alert.range_of(one).first_after.timestamp;
            places.since(&one.id, &one.metric, began) >= Some(2)
        })
    }
}

/// Returns the level shifts in the trends of `series`.
pub fn shifts(
    series: &[Series],
    trends: &TrendDocument,
    settings: &TrendSettings,
) -> Vec<LevelShift> {
    let of: HashMap<[&str; 3], &Series> = series
        .iter()
        .map(|series| ([series.id.as_str(), &series.metric, &series.unit], series))
        .collect();
    let mut found = Vec::new();
    for trend in &trends.series {
        let key = [trend.id.as_str(), &trend.metric, &trend.unit];
        let Some(series) = of.get(&key) else { continue };
        found.extend(group::shifts_of(series, trend, settings));
    }
    found
}

/// Groups the level shifts in the trends of `request` and matches them with the alerts in `store`
/// from earlier analyses.
///
/// Only an analysis with the default settings updates the stored alerts, because others would close
/// alerts that they merely do not find. Alerts of series that are not part of the analysis are not
/// affected.
///
/// # Errors
/// If the file of known alerts, which includes users' decisions, cannot be read.
pub fn track(
    store: &Store,
    request: &TrackRequest<'_>,
    tree: &Path,
) -> Result<Tracked, AlertError> {
    let is_usual = *request.settings == TrendSettings::DEFAULT;
    let guard = if is_usual { AlertBook::lock(store.results_dir()) } else { None };
    let mut alert_book = AlertBook::read(store.results_dir())?;
    let before = alert_book.clone();
    let alerts = match_alerts(&mut alert_book, store, request, tree)?;
    if !is_usual {
        return Ok(Tracked { alerts, ..Tracked::default() });
    }
    let closed = alert_book
        .alerts
        .iter()
        .filter(|alert| {
            alert.state.is_closed()
                && before.alerts.iter().any(|old| old.id == alert.id && !old.state.is_closed())
        })
        .cloned()
        .collect();
    let not_kept = match (alert_book == before, guard.is_some()) {
        (true, _) => None,
        (false, true) => alert_book.write(store.results_dir()).err().map(|error| error.to_string()),
        (false, false) => Some(format!("{} cannot be written", store.results_dir().display())),
    };
    Ok(Tracked { alerts, closed, not_kept })
}

/// Matches alerts as [`track`] does, without saving the result.
///
/// # Errors
/// As [`track`].
pub fn track_read_only(
    store: &Store,
    request: &TrackRequest<'_>,
    tree: &Path,
) -> Result<Vec<TrackedAlert>, AlertError> {
    let mut alert_book = AlertBook::read(store.results_dir())?;
    match_alerts(&mut alert_book, store, request, tree)
}

/// Returns the alerts found for `request`, and adds them to `alert_book`.
fn match_alerts(
    alert_book: &mut AlertBook,
    store: &Store,
    request: &TrackRequest<'_>,
    tree: &Path,
) -> Result<Vec<TrackedAlert>, AlertError> {
    let machine = machine(store)?;
    let places = SeriesPlaces::new(request.series);
    let shifts = shifts(request.series, request.trends, request.settings);
    let traces = traces(request.trends);
    let groups = group::together(shifts.clone(), &places);
    let look = book::HistoryScan {
        machine: &machine,
        now: request.now,
        places: &places,
        shifts: &shifts,
        traces: &traces,
        min_size: request.settings.min_size,
    };
    let found = book::update(&mut alert_book.alerts, groups, &look);
    for at in &found {
        if let Some(alert) = alert_book.alerts.get_mut(*at) {
            origin::fill(alert, store, tree);
        }
    }
    Ok(found.iter().filter_map(|at| alert_book.alerts.get(*at).cloned()).collect())
}

/// Returns every change in the trends, however small or doubtful. An alert stays open as long as
/// such a change is near it.
fn traces(trends: &TrendDocument) -> Vec<Trace<'_>> {
    let mut found = Vec::new();
    for series in &trends.series {
        let points =
            series.change_points.iter().chain(&series.suspected).map(|change| change.timestamp);
        for moment in points.chain(series.ramp.iter().map(|ramp| ramp.to_timestamp)) {
            found.push(Trace { id: &series.id, metric: &series.metric, moment });
        }
    }
    found
}

/// Records a user's decision in the alert book of `results`. A decision that repeats the last one
/// changes nothing.
///
/// # Errors
/// If no alert or several alerts match, another user decided in the meantime, the cause is unknown,
/// or the file cannot be read or written.
pub fn decide(results: &Path, request: &DecisionRequest<'_>) -> Result<TrackedAlert, AlertError> {
    let DecisionRequest { alert: name, decision, found, seen } = request;
    let _guard = AlertBook::lock(results);
    let mut alert_book = AlertBook::read(results)?;
    let is_saved = alert_book.alerts.iter().any(|alert| alert.id == *name);
    if let (false, Some(new)) = (is_saved, found.iter().find(|alert| alert.id == *name)) {
        alert_book.alerts.push(new.clone());
    }
    let known: Vec<String> = alert_book.alerts.iter().map(|alert| alert.id.clone()).collect();
    let alert = alert_book.find(name)?;
    if let Some(cause) = decision.caused_by.as_ref().filter(|cause| is_alert_id(cause)) {
        let is_found = known.contains(cause) || found.iter().any(|other| other.id == *cause);
        if *cause == alert.id || !is_found {
            return Err(AlertError::Cause(cause.clone()));
        }
    }
    if alert.decision().is_some_and(|last| last.repeats(decision)) {
        return Ok(alert.clone());
    }
    if let Some(last) = alert.decisions.last()
        && seen.is_some_and(|seen| seen != alert.decisions.len())
    {
        return Err(AlertError::Decided(Box::new(last.clone())));
    }
    alert.state = decision.state;
    alert.because = Some(decision.because.clone());
    alert.decisions.push(decision.clone());
    let decided = alert.clone();
    alert_book.write(results)?;
    Ok(decided)
}

/// Returns whether `text` looks like the id of an alert.
fn is_alert_id(text: &str) -> bool {
    let digits = text.strip_prefix("a-").unwrap_or_default();
    digits.len() == 8 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the machine whose runs are tracked: that of the latest run.
fn machine(store: &Store) -> Result<String, AlertError> {
    if let Some(run) = store.latest()? {
        return Ok(Fingerprint::of(&run.environment).slug());
    }
    // The store contains only imported runs, so use the machine of one of them.
    Ok(store.runs()?.into_iter().next().map(|run| run.slug).unwrap_or_default())
}
