//! `baseline refresh [NAME…]`: measures the cases of a baseline again, as thoroughly as before, and
//! replaces it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use itertools::Itertools as _;
use rsb_catalog::plan::{self, Plan};
use rsb_engine::measure::{self, Count, Settings};
use rsb_engine::run::FinishedRun;
use rsb_engine::{Event, Listener, machine};
use rsb_gate::Directories;
use rsb_gate::suggest::{measure_again, shell_quote};
use rsb_model::{
    BenchmarkResult, CaseId, Environment, Fingerprint, Note, Outcome, Profile, Run, RunStatus,
    Suite, Timestamp,
};
use rsb_report::comparison::Detail;
use rsb_report::number::format_count;
use rsb_report::{GateFormat, Style};
use rsb_stats::Policy;
use rsb_store::{Baseline, Baselines, Store};

use crate::config::Config;
use crate::log::LogPlace;
use crate::measure::{self as measuring, MeasureOptions};
use crate::{AppError, ProjectContext};

/// Returns the files of the baselines in `names`, or of all baselines of this machine.
///
/// # Errors
/// If one does not exist.
pub fn baseline_files(
    names: &[String],
    directories: &Directories,
    environment: &Environment,
) -> Result<Vec<PathBuf>, AppError> {
    let baselines = Baselines::new(&directories.baselines);
    let here = Fingerprint::of(environment);
    let slug = here.slug();
    if names.is_empty() {
        let own: Vec<PathBuf> = baselines
            .list()
            .into_iter()
            .filter(|info| info.slug == slug)
            .map(|info| info.path)
            .collect();
        if own.is_empty() {
            let save = directories.command("baseline save");
            return Err(AppError::usage(anyhow!(
                "no baseline was saved for this machine ({slug}); save one with `{save}`"
            )));
        }
        return Ok(own);
    }
    names.iter().map(|name| baselines.find(name, Some(&here)).map_err(AppError::usage)).collect()
}

/// A baseline to measure again, with plan and settings.
pub struct Refresh {
    path: PathBuf,
    old: Baseline,
    suite: String,
    settings: Settings,
    plan: Plan,
    /// Cases of benchmarks that this program no longer has.
    gone: Vec<CaseId>,
}

impl Refresh {
    /// Reads the baseline in `path`.
    ///
    /// # Errors
    /// If it cannot be read, or cannot be measured again here.
    pub fn new(path: &Path, environment: &Environment, config: &Config) -> Result<Self, AppError> {
        let old = Baseline::read(path).map_err(AppError::usage)?;
        let name = &old.name;
        let here = Fingerprint::of(environment);
        if old.fingerprint.slug() != here.slug() {
            let differences = old.fingerprint.differences(&here);
            let differs = differences.first().map_or_else(String::new, |found| {
                format!(" ({} is {} there and {} here)", found.field, found.baseline, found.current)
            });
            return Err(AppError::usage(anyhow!(
                "the baseline {name} belongs to another machine{differs}; refresh it there"
            )));
        }
        let Some(first) = old.runs.first() else {
            return Err(AppError::usage(anyhow!(
                "the baseline {name} contains no run; save it again"
            )));
        };
        let Ok(profile) = first.profile.parse::<Profile>() else {
            return Err(AppError::usage(anyhow!(
                "the baseline {name} was measured with the profile `{}`, not by `run`; measure it \
                 the same way again, then `baseline save` it",
                first.profile
            )));
        };
        let (_, configured) = measuring::resolve(&[], None, &MeasureOptions::default(), config)?;
        let (mut plan, gone) = plan_again(&old.runs);
        plan.selection = first.selection.clone();
        let count_instructions = old.runs.iter().flat_map(|run| &run.benchmarks).any(|result| {
            let count = result.fields().and_then(|fields| fields.number("instructions"));
            count.is_some() || result.not_counted("instructions").is_some()
        });
        let settings = Settings {
            replicates: replicates(&old.runs),
            limits: configured.limits,
            count_instructions,
            ..Settings::of(profile)
        };
        let suite = first.suite.clone();
        Ok(Self { path: path.to_owned(), old, suite, settings, plan, gone })
    }

    /// Measures the new run, which is stored even if the baseline is not replaced; `None` if the
    /// user interrupted.
    ///
    /// # Errors
    /// If the run cannot be stored.
    pub fn measure(
        &self,
        store: &Store,
        log: &LogPlace,
        listener: &mut Listener<'_>,
    ) -> Result<Option<FinishedRun>, AppError> {
        let cases = &self.plan.cases;
        let mut devices = machine::here().devices;
        devices.retain(|here| cases.iter().any(|case| case.device.device() == Some(here.device)));
        let plan = Plan { devices, ..self.plan.clone() };
        let mut new = measuring::measure(&plan, &self.suite, &self.settings, store, log, listener)?;
        std::mem::replace(&mut new.stored, Ok(PathBuf::new()))?;
        Ok((new.status != RunStatus::Interrupted).then_some(new))
    }

    /// Returns why `new` should not replace the baseline without confirmation.
    pub fn objection(&self, new: &FinishedRun) -> Option<String> {
        let mut lines = Vec::new();
        for id in self.plan.cases.iter().map(|case| &case.id).chain(&self.gone) {
            let result = new.run.benchmarks.iter().find(|result| result.benchmark_id == *id);
            let outcome = result.map(|result| result.outcome);
            if matches!(outcome, Some(Outcome::Measured | Outcome::Simulated)) {
                continue;
            }
            lines.push(match result.and_then(|result| result.reason.as_ref()) {
                Some(reason) => format!("no values for {id}: {reason}"),
                None => format!("no values for {id}: this program no longer has the case"),
            });
        }
        if new.run.counts().measured == 0 {
            lines.push(
                "nothing was measured, and a baseline needs at least one measured case".to_owned(),
            );
        } else if !lines.is_empty() {
            lines.push(
                "the gate would no longer report these cases as missing: fix them, or drop them \
                 with --force"
                    .to_owned(),
            );
        }
        if new.status == RunStatus::OutOfTime {
            lines.push(format!(
                "{}: allow more time (suite_seconds in the settings), or save it with --force",
                Note::OutOfTime
            ));
        }
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// Notes the cases that the suite has gained since the baseline was saved. They are not part of
    /// a refresh, which measures the same cases again.
    ///
    /// # Errors
    /// If the configuration cannot be used.
    pub fn note_new_cases(
        &self,
        project: &ProjectContext,
        listener: &mut Listener<'_>,
    ) -> Result<(), AppError> {
        let Ok(suite) = self.suite.parse::<Suite>() else { return Ok(()) };
        let (mut selection, _) =
            measuring::resolve(&[], Some(suite), &MeasureOptions::default(), &project.config)?;
        selection.profile = self.settings.profile;
        let Ok(today) = plan::plan(&selection, &machine::here()) else { return Ok(()) };
        let new = today
            .cases
            .iter()
            .filter(|case| self.plan.cases.iter().all(|known| known.id != case.id))
            .count();
        if new > 0 {
            let name = &self.suite;
            let measure = self.old.runs.last().map_or_else(|| "run".to_owned(), measure_again);
            let save = format!("baseline save {}", shell_quote(&self.old.name));
            let [measure, save] = [measure, save].map(|next| project.directories.command(&next));
            listener(&Event::note(format!(
                "the suite {name} has {} that this baseline lacks; `{measure}`, then `{save}` adds \
                 them",
                format_count(new, "case", "cases")
            )));
        }
        Ok(())
    }

    /// Compares the old baseline with the new run, as text. Differences in the software do not
    /// prevent the comparison.
    ///
    /// # Errors
    /// If the text cannot be created.
    pub fn change_text(&self, new: &Run, policy: &Policy, style: Style) -> anyhow::Result<String> {
        let here = Fingerprint::of(&new.environment);
        let factors = self.old.fingerprint.factors.keys().chain(here.factors.keys()).cloned();
        let across = factors.into_iter().sorted_unstable().dedup().collect_vec();
        let (old, new) = (&self.old.runs, std::slice::from_ref(new));
        let result = rsb_stats::gate(old, new, policy, &across, Timestamp::now());
        Ok(rsb_report::gate::write(&result, GateFormat::Text, style, Detail::Full)?)
    }

    /// Replaces the baseline. The record of accepted regressions is kept, although the new values
    /// include them.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn replace(&self, new: &Run) -> Result<(), AppError> {
        let old = &self.old;
        let baseline = Baseline::new(&old.name, Timestamp::now(), std::slice::from_ref(new))
            .map_err(AppError::usage)?;
        let baseline = baseline.with_past(&old.runs);
        Ok(Baseline { accepted: old.accepted.clone(), ..baseline }.write(&self.path)?)
    }
}

/// Plans the cases of `runs` to measure again. Also returns the ids of cases that this program can
/// no longer measure. Skipped cases keep their old reason.
fn plan_again(runs: &[Run]) -> (Plan, Vec<CaseId>) {
    let (mut plan, mut gone, mut seen) = (Plan::default(), Vec::new(), BTreeSet::new());
    let mut results: Vec<&BenchmarkResult> = runs.iter().flat_map(|run| &run.benchmarks).collect();
    // A case that one run skipped and another measured counts as measured.
    results.sort_by_key(|result| result.outcome == Outcome::Skipped);
    for result in results.into_iter().filter(|result| seen.insert(&result.benchmark_id)) {
        match (result.case(), &result.reason) {
            // A skipped case needs no new value.
            (Some(case), Some(reason)) if result.outcome == Outcome::Skipped => {
                plan.skipped.push((case, reason.clone()));
            }
            (Some(case), _) if plan::has_benchmark(&case.benchmark) => plan.cases.push(case),
            _ if result.outcome == Outcome::Skipped => {}
            _ => gone.push(result.benchmark_id.clone()),
        }
    }
    (plan, gone)
}

/// Returns the usual number of fresh processes per case over all runs, for long cases and for other
/// cases. A few undecided cases may have been measured more often.
fn replicates(runs: &[Run]) -> Count<u32> {
    let mut counts: BTreeMap<&CaseId, (bool, usize)> = BTreeMap::new();
    for result in
        runs.iter().flat_map(|run| &run.benchmarks).filter(|result| !result.samples.is_empty())
    {
        let known = counts
            .entry(&result.benchmark_id)
            .or_insert_with(|| (result.case().is_some_and(|case| measure::is_long(&case)), 0));
        known.1 += result.samples.len();
    }
    Count { usual: median_count(&counts, false), long: median_count(&counts, true) }
}

/// Returns the median process count of the long cases, or of the other cases.
fn median_count(counts: &BTreeMap<&CaseId, (bool, usize)>, is_long: bool) -> u32 {
    let mut counts: Vec<usize> =
        counts.values().filter(|known| known.0 == is_long).map(|known| known.1).collect();
    counts.sort_unstable();
    counts.get(counts.len() / 2).and_then(|&count| u32::try_from(count).ok()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_model::RunId;
    use serde_json::json;

    /// Creates a run of cases with the given numbers of processes.
    fn run(cases: &[(&str, &str, u32)]) -> Run {
        let mut run = Run::begin(
            RunId("x".into()),
            Timestamp::UNIX_EPOCH,
            "x",
            "standard",
            Environment::default(),
        );
        for (name, benchmark, replicates) in cases {
            let sample =
                |replicate: u32| json!({"replicate": replicate, "iters": [1], "times_ns": [1.0]});
            let result = json!({
                "benchmark_id": format!("cpu_performance/{benchmark}/cpu:0/{name}"),
                "timestamp": Timestamp::UNIX_EPOCH,
                "benchmark_type": "cpu_performance",
                "category": benchmark,
                "outcome": "measured",
                "environment": {},
                "results": [],
                "samples": (0..*replicates).map(sample).collect::<Vec<_>>(),
                "metadata": {"parameters": {}},
            });
            run.benchmarks.push(serde_json::from_value(result).unwrap());
        }
        run
    }

    #[test]
    fn each_kind_of_case_is_measured_as_often_as_before() {
        let first = run(&[
            ("a", "gemm", 5),
            ("b", "gemm", 5),
            ("c", "gemm", 9),
            ("d", "kernel-compilation", 2),
        ]);
        assert_eq!(replicates(std::slice::from_ref(&first)), Count { usual: 5, long: 2 });
        assert_eq!(
            replicates(&[first.clone(), first]),
            Count { usual: 10, long: 4 },
            "the counts of all runs must be added"
        );
        assert_eq!(
            replicates(&[run(&[("a", "pytorch", 5)])]),
            Count { usual: 1, long: 5 },
            "a kind without cases must get one replicate"
        );
    }
}
