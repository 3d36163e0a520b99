//! `baseline accept ID --because "…"`: accepts an intended regression into the baseline, with its
//! reason.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use itertools::Itertools as _;
use rsb_engine::Listener;
use rsb_gate::suggest::shell_quote;
use rsb_gate::{Directories, gate, revisions};
use rsb_model::record::Comparison;
use rsb_model::{ComparisonResult, Fingerprint, ReasonCode, Run, Timestamp, Verdict};
use rsb_stats::glob;
use rsb_store::{Accepted, Baseline, Baselines};

use crate::{AppError, ProjectContext, ProjectPaths};

/// A regression to accept.
#[derive(Debug, Clone, Copy)]
pub struct AcceptRequest<'a> {
    /// The id of the case, or a pattern.
    pub id: &'a str,
    /// Why it is accepted.
    pub because: &'a str,
    /// The run whose values are taken; `None` for the latest.
    pub from: Option<&'a str>,
    /// The name of the baseline; `None` for that of the suite.
    pub baseline: Option<&'a str>,
    /// The threshold in percent. Thresholds in the policy take precedence.
    pub threshold: Option<f64>,
}

/// Accepted regressions, and the file of the baseline.
#[derive(Debug)]
pub struct AcceptedRegressions {
    /// The newly accepted regressions.
    pub accepted: Vec<Accepted>,
    /// The file that was changed.
    pub path: PathBuf,
}

/// Replaces the values of regressed cases in their baseline with those of the run.
///
/// # Errors
/// If the case, the run or the baseline does not exist, or the case has not regressed.
pub fn accept(
    paths: &ProjectPaths,
    request: &AcceptRequest<'_>,
    listener: &mut Listener<'_>,
) -> Result<AcceptedRegressions, AppError> {
    let because = request.because.trim();
    if because.is_empty() {
        return Err(AppError::usage(anyhow!(
            "--because is empty; give the reason why the regression is accepted, for the reviewer"
        )));
    }
    let project = ProjectContext::open(paths)?;
    let policy = project.policy(request.threshold, listener)?;
    let store = project.store(listener)?;
    let directories = &project.directories;
    let run = match request.from {
        Some(text) => store.run(text).map_err(AppError::usage)?,
        None => gate::latest(&store)?,
    };
    let (path, mut baseline) = baseline_for(&run, request.baseline, directories)?;
    if baseline.runs.iter().any(|own| own.run_id == run.run_id) {
        let id = &run.run_id;
        return Err(AppError::no_verdict(anyhow!(
            "the run {id} is the baseline itself; name the run in which the case regressed with \
             --from"
        )));
    }
    let now = Timestamp::now();
    let result = rsb_stats::gate(&baseline.runs, std::slice::from_ref(&run), &policy, &[], now);
    let result = gate::as_gated(&store, result, [&path, directories.policy.path()]);
    let regressed = choose(request, &result, directories)?;
    let ids = regressed.iter().map(|row| &row.id).sorted_unstable().dedup().collect_vec();
    for id in ids {
        baseline.replace(id, &run).map_err(AppError::no_verdict)?;
    }
    let by = revisions::git(Path::new("."), &["config", "user.name"])
        .ok()
        .filter(|name| !name.is_empty());
    let mut accepted = Vec::new();
    for row in regressed {
        accepted.push(Accepted {
            id: row.id.to_string(),
            metric: Some(row.metric.clone()),
            because: because.to_owned(),
            when: now,
            by: by.clone(),
            from: Some(run.run_id.to_string()),
            commit: run.environment.git.as_ref().map(|git| git.commit.clone()),
            old_value: row.baseline_value,
            new_value: row.current_value,
            change_percent: row.difference_percent,
        });
    }
    baseline.accepted.extend(accepted.iter().cloned());
    baseline.write(&path)?;
    Ok(AcceptedRegressions { accepted, path })
}

/// Returns the baseline `name`, or that of the suite of `run`, and its file.
fn baseline_for(
    run: &Run,
    name: Option<&str>,
    directories: &Directories,
) -> Result<(PathBuf, Baseline), AppError> {
    let baselines = Baselines::new(&directories.baselines);
    let fingerprint = Fingerprint::of(&run.environment);
    let path = baselines.find(name.unwrap_or(&run.suite), Some(&fingerprint)).map_err(|error| {
        if name.is_some() { AppError::usage(error) } else { AppError::no_verdict(error) }
    })?;
    let baseline = Baseline::read(&path).map_err(AppError::usage)?;
    Ok((path, baseline))
}

/// Returns the regressed rows of the cases that `request` names by an id or a pattern.
fn choose<'a>(
    request: &AcceptRequest<'_>,
    result: &'a ComparisonResult,
    directories: &Directories,
) -> Result<Vec<&'a Comparison>, AppError> {
    let wanted = request.id;
    // Absolute targets come from the policy, so a changed baseline cannot fix a missed one.
    let mut named: Vec<&Comparison> = result
        .comparisons
        .iter()
        .filter(|row| row.reason_code != ReasonCode::TargetMissed)
        .collect();
    if named.iter().any(|row| row.id.as_str() == wanted) {
        named.retain(|row| row.id.as_str() == wanted);
    } else {
        named.retain(|row| glob::matches(wanted, row.id.as_str()));
    }
    let regressed: Vec<&Comparison> =
        named.iter().copied().filter(|row| row.verdict == Verdict::Regressed).collect();
    if !regressed.is_empty() {
        return Ok(regressed);
    }
    let Some(first) =
        named.iter().copied().find(|row| !row.verdict.is_decided()).or(named.first().copied())
    else {
        return Err(unknown(wanted, result));
    };
    let (id, reason) = (&first.id, &first.reason);
    Err(match first.verdict {
        Verdict::Inconclusive => {
            let from = request
                .from
                .map_or_else(String::new, |run| format!(" --current {}", shell_quote(run)));
            let name = request
                .baseline
                .map_or_else(String::new, |name| format!(" --baseline {}", shell_quote(name)));
            // Only a stored run can be measured again.
            let again = if request.from.is_some_and(gate::is_path) {
                "measure more replicates of both sides".to_owned()
            } else {
                let gate = directories.command(&format!("gate --budget 3m{from}{name}"));
                format!("`{gate}` measures it again")
            };
            AppError::no_verdict(anyhow!(
                "{id} has no verdict, so there is nothing to accept: {reason}; {again}"
            ))
        }
        Verdict::NotComparable => AppError::no_verdict(anyhow!(
            "{id} cannot be compared, so there is nothing to accept: {reason}; save a baseline of \
             that machine"
        )),
        _ => AppError::usage(anyhow!(
            "{id} has not regressed, so there is nothing to accept: {reason}"
        )),
    })
}

fn unknown(wanted: &str, result: &ComparisonResult) -> AppError {
    let missed = result.comparisons.iter().find(|row| glob::matches(wanted, row.id.as_str()));
    if let Some(row) = missed {
        let (id, reason) = (&row.id, &row.reason);
        return AppError::usage(anyhow!(
            "{id} misses a target, which does not depend on the baseline: {reason}; change the \
             target in policy.toml"
        ));
    }
    let nearest = result
        .comparisons
        .iter()
        .map(|row| (strsim::jaro_winkler(wanted, row.id.as_str()), row))
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    let near = nearest.map(|(_, row)| format!(", did you mean `{}`?", row.id)).unwrap_or_default();
    AppError::usage(anyhow!(
        "the baseline has no case `{wanted}`{near}; use `*` in a pattern to match any text"
    ))
}
