//! One page on the state of the results: regressions and improvements, noisy, missing or outdated
//! cases, and recommended actions.

use rsb_insight::health::{HealthInput, HealthLimits, health};
use rsb_model::record::HealthDocument;
use rsb_model::{Fingerprint, Timestamp};
use rsb_store::Store;

use crate::AppError;
use crate::trend::TrendHistory;

/// Number of earlier runs whose cases and software are compared with those of the latest run.
const EARLIER: usize = 20;

/// Returns the page for `look`, the analyzed history of `store`.
///
/// # Errors
/// If the results cannot be read.
pub fn page(
    store: &Store,
    look: &TrendHistory,
    limits: HealthLimits,
) -> Result<HealthDocument, AppError> {
    let latest = store.latest()?;
    let earlier =
        latest.as_ref().map_or_else(|| Ok(Vec::new()), |run| store.runs_before(run, EARLIER))?;
    let slugs = latest
        .as_ref()
        .map(|run| store.slugs_of(&Fingerprint::of(&run.environment)))
        .transpose()?;
    let runs = store
        .runs()?
        .iter()
        .filter(|run| slugs.iter().flatten().any(|slug| *slug == run.slug))
        .count();
    Ok(health(&HealthInput {
        latest: latest.as_ref(),
        earlier: &earlier,
        runs,
        series: &look.series,
        trends: &look.document.series,
        alerts: &look.tracked.alerts,
        limits,
        now: Timestamp::now(),
    }))
}
