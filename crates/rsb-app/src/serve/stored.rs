//! State shared by all readers: the project, and answers that are valid until the stored files
//! change.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rsb_engine::{Event, Listener};
use rsb_gate::gate::Judge;
use rsb_model::record::{RecommendDocument, TrendDocument};
use rsb_report::metrics::{CampaignMetrics, MetricsInput};
use rsb_report::{BaselineRow, Forge, RunRow};
use rsb_store::{AlertBook, Series};
use rsb_web::NameBook;
use rsb_web::source::{
    CaseHistory, CaseLine, ComparedRuns, OverviewData, RunReportData, SourceResult, StoredCase,
    StoredMachine,
};

use super::campaigns::Campaigns;
use crate::{AppError, ProjectContext, ProjectPaths};

/// The project, and cached answers.
pub struct Stored {
    pub(super) project: ProjectContext,
    pub(super) answers: Answers,
    pub(super) campaigns: Campaigns,
    pub(super) names: NameBook,
    /// Arguments that name the same paths, for commands on pages.
    pub(super) arguments: String,
    /// Receives problems with the stored files.
    pub(super) tell: fn(&Event),
}

/// Answers by request.
#[derive(Default)]
pub(super) struct Answers {
    pub(super) runs: AnswerCache<(), Vec<RunRow>, 1>,
    pub(super) cases: AnswerCache<(), Vec<StoredCase>, 1>,
    pub(super) baselines: AnswerCache<(), Vec<BaselineRow>, 1>,
    pub(super) lines: AnswerCache<String, Vec<CaseLine>, 4>,
    pub(super) overview: AnswerCache<String, OverviewData, 4>,
    pub(super) analyzed: AnswerCache<String, AnalyzedSeries, 4>,
    pub(super) metrics: AnswerCache<(), MetricsInput, 1>,
    /// Key: the current period of [`super::source::CAMPAIGN_SECONDS`].
    pub(super) campaign: AnswerCache<i64, Option<CampaignMetrics>, 1>,
    pub(super) machines: AnswerCache<(), Vec<StoredMachine>, 1>,
    pub(super) advice: AnswerCache<(), RecommendDocument, 1>,
    pub(super) run: AnswerCache<String, RunReportData, 32>,
    pub(super) compare: AnswerCache<(String, String), ComparedRuns, 32>,
    pub(super) history: AnswerCache<(String, String, String), CaseHistory, 16>,
}

/// The time of each case over the newest runs, and the trends of all of them.
pub(super) struct AnalyzedSeries {
    pub(super) series: Vec<Series>,
    pub(super) document: TrendDocument,
}

impl Stored {
    /// Opens the project in `paths`; `tell` receives problems with the stored files.
    ///
    /// # Errors
    /// If the configuration cannot be used.
    pub fn new(paths: &ProjectPaths, tell: fn(&Event)) -> Result<Self, AppError> {
        let project = ProjectContext::open(paths)?;
        let origin = rsb_probe::origin(Path::new("."));
        let names = NameBook {
            machines: project.config.machines.clone(),
            forge: origin.and_then(|url| Forge::from_remote(&url)),
        };
        let arguments = paths.arguments_of_store();
        let (answers, campaigns) = (Answers::default(), Campaigns::default());
        Ok(Self { project, answers, campaigns, names, arguments, tell })
    }

    /// Draws simulated results, too, if `is_requested` or configured.
    #[must_use]
    pub const fn with_simulated(mut self, is_requested: bool) -> Self {
        self.project.config.charts.simulated |= is_requested;
        self
    }

    /// Opens a connection to the store, with the policy. Notes for the reader go to `listener`.
    pub(super) fn judge(&self, listener: &mut Listener<'_>) -> Result<Judge, AppError> {
        self.project.judge(Vec::new(), listener)
    }

    /// Returns a stamp of the stored files, which changes whenever something is added, changed or
    /// removed.
    pub(super) fn stamp(&self) -> Stamp {
        let results = &self.project.directories.results;
        let mut paths = vec![
            results.join("runs"),
            results.join("comparisons"),
            AlertBook::path(results),
            self.project.directories.policy.path().to_owned(),
            self.project.directories.baselines.clone(),
        ];
        let machines =
            fs::read_dir(&self.project.directories.baselines).into_iter().flatten().flatten();
        paths.extend(machines.map(|entry| entry.path()));
        Stamp::of(paths.iter().map(|path| modified_time(path)).collect())
    }
}

/// Returns the time of the last change of `path`; `None` if it does not exist.
fn modified_time(path: &Path) -> Option<Duration> {
    fs::metadata(path).ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok()
}

/// Two changes within this time may have the same timestamp.
const TICK: Duration = Duration::from_millis(50);

/// Times of the last changes of all stored files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp {
    times: Vec<Option<Duration>>,
    /// The current time, if the last change is so recent that another one could have the same
    /// timestamp.
    young: Option<Duration>,
}

impl Stamp {
    fn of(times: Vec<Option<Duration>>) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let newest = times.iter().flatten().max().copied().unwrap_or_default();
        Self { times, young: Some(now).filter(|now| now.saturating_sub(newest) < TICK) }
    }
}

/// Cache of the last `MOST` answers. A request for an answer that is being computed waits for it.
pub(super) struct AnswerCache<K, T, const MOST: usize>(Mutex<Vec<(K, Stamp, Arc<T>)>>);

impl<K, T, const MOST: usize> Default for AnswerCache<K, T, MOST> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<K: PartialEq, T, const MOST: usize> AnswerCache<K, T, MOST> {
    /// Returns the answer to `key` as of `stamp`: a cached one, or else the result of `make`.
    pub(super) fn get(
        &self,
        key: K,
        stamp: &Stamp,
        make: impl FnOnce() -> SourceResult<T>,
    ) -> SourceResult<Arc<T>> {
        // A panic while the lock was held leaves only complete answers.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|(_, made, _)| made == stamp);
        if let Some(at) = known.iter().position(|(other, ..)| *other == key) {
            let found = known.remove(at);
            let answer = Arc::clone(&found.2);
            known.push(found);
            return Ok(answer);
        }
        let made = Arc::new(make()?);
        if known.len() >= MOST {
            known.remove(0);
        }
        known.push((key, stamp.clone(), Arc::clone(&made)));
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_made_once_and_anew_when_something_is_stored() {
        let cache: AnswerCache<u32, u32, 2> = AnswerCache::default();
        let old = Stamp { times: vec![Some(Duration::from_secs(1))], young: None };
        let new = Stamp { times: vec![Some(Duration::from_secs(2))], young: None };
        let mut made = 0;
        let mut ask = |key, stamp: &Stamp| {
            let answer = cache.get(key, stamp, || {
                made += 1;
                Ok(made)
            });
            *answer.unwrap()
        };
        assert_eq!([ask(1, &old), ask(1, &old), ask(2, &old), ask(1, &old)], [1, 1, 2, 1]);
        assert_eq!(
            [ask(3, &old), ask(1, &old), ask(2, &old)],
            [3, 1, 4],
            "the least recently used entry must be evicted"
        );
        assert_eq!([ask(2, &new), ask(2, &new)], [5, 5]);
    }

    #[test]
    fn a_change_that_is_too_young_to_be_told_from_the_next_is_looked_at_again() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        assert_ne!(Stamp::of(vec![Some(now)]), Stamp::of(vec![Some(now)]));
        let long_ago = vec![Some(Duration::from_secs(1)), None];
        assert_eq!(Stamp::of(long_ago.clone()), Stamp::of(long_ago));
    }
}
