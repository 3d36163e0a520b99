//! Changes of level over the stored runs, followed from one look to the next: which series moved
//! together, where that comes from, and what a person said of it.

mod book;
mod group;
mod levels;
mod origin;

use std::collections::HashMap;
use std::path::Path;

use rsb_model::record::{AlertState, TrackedAlert, TrendDocument};
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
}

/// What is looked at.
#[derive(Debug, Clone, Copy)]
pub struct TrackRequest<'a> {
    /// Every series that was looked at.
    pub series: &'a [Series],
    /// Their trends.
    pub trends: &'a TrendDocument,
    /// What the trends were asked for.
    pub settings: &'a TrendSettings,
    /// The time of the look.
    pub now: Timestamp,
}

/// The changes of level that a look shows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tracked {
    /// What the history shows now, the worst first; those that are new have `first_seen` at the
    /// time of the look.
    pub alerts: Vec<TrackedAlert>,
    /// Those that were open before this look and were closed by it.
    pub closed: Vec<TrackedAlert>,
    /// Why what was found could not be kept, where it could not: the next look takes it for new.
    pub not_kept: Option<String>,
}

/// The changes of level in the trends of `series`.
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

/// What the trends of `request` show, grouped and matched with what `store` knows of earlier looks.
///
/// What is known is brought up to date by looks with the usual settings alone: others would close
/// what they merely do not show. A look at some of the series says nothing of the others.
///
/// # Errors
/// When the file of known alerts cannot be read: what people said is in it.
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

/// As [`track`], for a reader who leaves no trace: nothing is kept of the look.
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

/// The alerts that `request` shows, which `alert_book` knows from then on.
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

/// Every change that the trends show, however small or doubtful: where there is one, an alert has
/// not gone away.
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

/// Notes of the alert that `name` names what a person decided.
///
/// # Errors
/// When no alert, or more than one, is called so, or the file cannot be read or written.
pub fn decide(
    store: &Store,
    name: &str,
    state: AlertState,
    because: &str,
) -> Result<TrackedAlert, AlertError> {
    let _guard = AlertBook::lock(store.results_dir());
    let mut alert_book = AlertBook::read(store.results_dir())?;
    let alert = alert_book.find(name)?;
    alert.state = state;
    alert.because = Some(because.to_owned());
    let decided = alert.clone();
    alert_book.write(store.results_dir())?;
    Ok(decided)
}

/// The machine whose runs are followed: that of the last run.
fn machine(store: &Store) -> Result<String, AlertError> {
    if let Some(run) = store.latest()? {
        return Ok(Fingerprint::of(&run.environment).slug());
    }
    // Only imported runs.
    Ok(store.runs()?.into_iter().next().map(|run| run.slug).unwrap_or_default())
}
