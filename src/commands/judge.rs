//! What `gate` and `compare` share: find both sides, judge, keep the comparison, show it.

use std::path::Path;

use anyhow::{Context, anyhow};
use rsb_model::record::ThresholdCheck;
use rsb_model::{ComparisonResult, Fingerprint, Run, Timestamp, Verdict};
use rsb_report::comparison::Detail;
use rsb_report::{GateFormat, Style};
use rsb_stats::{Policy, PolicyError, PolicyFile};
use rsb_store::criterion_folder::LATEST;
use rsb_store::import::{self, ImportError};
use rsb_store::{Baselines, Recorded, Store, read_criterion_folder, read_recorded};

use super::settings::{self, Folders, Named};
use crate::cli::JudgeArgs;
use crate::config::Config;
use crate::exit::{Exit, Trouble};
use crate::show;

/// Everything that judging needs, loaded.
pub(super) struct Judge<'a> {
    args: &'a JudgeArgs,
    pub(super) folders: Folders,
    pub(super) store: Store,
    policy: Policy,
}

impl<'a> Judge<'a> {
    pub(super) fn load(args: &'a JudgeArgs) -> Result<Self, Trouble> {
        let (config, folders) = settings::load(&args.places)?;
        let policy = policy(&config, &folders, args.threshold)?;
        let store = open(&folders)?;
        Ok(Self { args, folders, store, policy })
    }

    /// The run that `text` names, or the latest.
    pub(super) fn current(&self, named: &[String]) -> Result<Vec<Run>, Trouble> {
        if named.is_empty() {
            return Ok(vec![latest(&self.store)?]);
        }
        self.sides(named)
    }

    /// The runs that each of `named` stands for.
    pub(super) fn sides(&self, named: &[String]) -> Result<Vec<Run>, Trouble> {
        let sides: Result<Vec<Vec<Run>>, Trouble> = named.iter().map(|text| self.side(text)).collect();
        let runs: Vec<Run> = sides?.into_iter().flatten().collect();
        let repeated =
            runs.iter().enumerate().find(|(index, run)| runs[..*index].iter().any(|other| other.run_id == run.run_id));
        match repeated {
            // Once more the same samples would pass for further replicates.
            Some((_, run)) => {
                Err(Trouble::usage(anyhow!("the run {} is given twice on one side; each may count once", run.run_id)))
            }
            None => Ok(runs),
        }
    }

    /// An output folder of Criterion, a run's file, a baseline's file, the name of a saved baseline, or the id of a stored run.
    fn side(&self, text: &str) -> Result<Vec<Run>, Trouble> {
        let baselines = Baselines::new(&self.folders.baselines);
        let here = latest(&self.store).ok().map(|run| Fingerprint::of(&run.environment));
        let is_name =
            !text.contains(['/', '@']) && Path::new(text).extension().is_none_or(|extension| extension != "json");
        let saved = is_name.then(|| baselines.load(text, here.as_ref()));
        if let Some(Ok(baseline)) = saved {
            return Ok(baseline.into_runs());
        }
        if let Some((folder, name)) = criterion_folder(text) {
            return Ok(vec![read_criterion_folder(folder, name).map_err(Trouble::usage)?]);
        }
        if settings::is_path(text) {
            return read_file(Path::new(text));
        }
        self.store.run(text).map(|run| vec![run]).map_err(|no_run| {
            let no_baseline = saved
                .and_then(Result::err)
                .map(|error| format!(", nor a saved baseline ({error})"))
                .unwrap_or_default();
            Trouble::usage(anyhow!("`{text}` is neither a file{no_baseline}, nor a stored run ({no_run})"))
        })
    }

    /// The verdicts.
    pub(super) fn judge(&self, baseline: &[Run], current: &[Run]) -> ComparisonResult {
        rsb_stats::gate(baseline, current, &self.policy, &self.args.across, Timestamp::now())
    }

    /// Whether the question is what a change of the software did.
    pub(super) fn asks_across(&self) -> bool {
        !self.args.across.is_empty()
    }

    /// The policy.
    pub(super) fn policy(&self) -> &Policy {
        &self.policy
    }

    /// A verdict that needs no table: the sentence for people, the document for programs.
    pub(super) fn say(&self, result: &ComparisonResult, sentence: &str) -> Result<(), Trouble> {
        let format = self.format();
        if format == GateFormat::Text {
            return Ok(show::text(sentence)?);
        }
        eprintln!("{sentence}");
        Ok(show::text(&rsb_report::gate::write(result, format, Style::PLAIN, Detail::Brief)?)?)
    }

    /// Keeps the comparison and shows it.
    pub(super) fn show(&self, result: &ComparisonResult, style: Style) -> Result<(), Trouble> {
        self.keep(result);
        self.print(result, style)
    }

    /// Keeps the comparison, where results are kept.
    pub(super) fn keep(&self, result: &ComparisonResult) {
        if self.store.results_dir().is_dir()
            && let Err(error) = self.store.save_comparison(result)
        {
            eprintln!("warning: the comparison is not kept: {error}");
        }
    }

    /// Shows the comparison in the form that was asked for.
    pub(super) fn print(&self, result: &ComparisonResult, style: Style) -> Result<(), Trouble> {
        let detail = if self.args.verbose { Detail::Full } else { Detail::Brief };
        show::text(&rsb_report::gate::write(result, self.format(), style, detail)?)?;
        Ok(())
    }

    /// The form that was asked for.
    fn format(&self) -> GateFormat {
        if self.args.json { GateFormat::Json } else { self.args.format }
    }
}

/// Why `current` cannot be judged against `baseline`, when a run is on both sides.
pub(super) fn is_itself(baseline: &[Run], current: &[Run]) -> Option<String> {
    let run = current.iter().find(|run| baseline.iter().any(|other| other.run_id == run.run_id))?;
    Some(format!("the run {} is the baseline itself; measure another with `rusty-stack-bench run`", run.run_id))
}

/// `run` against the baseline saved for its machine and suite, where there is one: the verdict of the `gate` that measured
/// them last, else what the stored figures say. An error is why there is none to be had from it.
pub(super) fn against_saved(
    store: &Store,
    folders: &Folders,
    run: &Run,
    policy: &Policy,
) -> Result<Option<ComparisonResult>, String> {
    let fingerprint = Fingerprint::of(&run.environment);
    let baselines = Baselines::new(&folders.baselines);
    let path = baselines.path_of(&fingerprint, &run.suite);
    if !path.exists() {
        return Ok(None);
    }
    let baseline = baselines.load(&run.suite, Some(&fingerprint)).map_err(|error| error.to_string())?;
    let (before, current) = (baseline.into_runs(), std::slice::from_ref(run));
    if let Some(why) = is_itself(&before, current) {
        return Err(why);
    }
    let result = rsb_stats::gate(&before, current, policy, &[], Timestamp::now());
    Ok(Some(as_gated(store, result, [&path, &folders.policy.0])))
}

/// The verdict that `gate` came to about the same runs by measuring again, where nothing has changed since then, else
/// `result`, which is what the stored figures say. `files` are those of the baseline and the policy.
pub(super) fn as_gated(store: &Store, result: ComparisonResult, files: [&Path; 2]) -> ComparisonResult {
    let changed = |path: &Path| Timestamp::try_from(std::fs::metadata(path).ok()?.modified().ok()?).ok();
    let stored = store.results_dir().join("runs").join(format!("{}.json", result.current_run_id));
    // A verdict may have been asked for across what differs: that is another question.
    let (Some(stored), true) = (changed(&stored), result.verdict != Verdict::NotComparable) else { return result };
    let newest = files.into_iter().filter_map(changed).fold(stored, Timestamp::max);
    let is_same = |kept: &rsb_store::ComparisonSummaryRow| {
        kept.baseline_run_id == result.baseline_run_id
            && kept.current_run_id == result.current_run_id
            && kept.timestamp >= newest
    };
    let kept = store.comparisons().unwrap_or_default().into_iter().find(is_same);
    let kept = kept.and_then(|row| store.comparison(&row.comparison_id).ok().flatten());
    kept.filter(|kept| (kept.threshold_percent - result.threshold_percent).abs() < 1e-9).unwrap_or(result)
}

/// The exit code of `result` under `gate`.
pub(super) fn exit_of(result: &ComparisonResult) -> Exit {
    match rsb_stats::exit_code(result) {
        0 => Exit::Pass,
        3 => Exit::Regression,
        _ => Exit::NoVerdict,
    }
}

/// The results folder, for reading; what it wants to say goes to standard error.
pub(super) fn open(folders: &Folders) -> Result<Store, Trouble> {
    let store = Store::open_existing(&folders.results).map_err(Trouble::usage)?;
    for notice in store.notices().iter() {
        eprintln!("note: {notice}");
    }
    Ok(store)
}

/// The latest run of the store.
pub(super) fn latest(store: &Store) -> Result<Run, Trouble> {
    let run = store.latest(None).map_err(Trouble::usage)?;
    run.ok_or_else(|| {
        let folder = store.results_dir().display();
        Trouble::no_verdict(anyhow!("there is no run in {folder} yet; measure one with `rusty-stack-bench run`, or name the folder with --results-dir"))
    })
}

/// A run, a baseline, or what another tool has measured.
fn read_file(path: &Path) -> Result<Vec<Run>, Trouble> {
    match read_recorded(path) {
        Ok(Recorded::Run(run)) => Ok(vec![*run]),
        Ok(Recorded::Baseline(baseline)) => Ok(baseline.into_runs()),
        Err(not_ours) => match import::import(path, None) {
            Ok(run) => Ok(vec![run]),
            Err(ImportError::Undetected { .. } | ImportError::Io { .. } | ImportError::Empty { .. }) => {
                Err(Trouble::usage(not_ours))
            }
            Err(theirs) => Err(Trouble::usage(theirs)),
        },
    }
}

/// `DIR` or `DIR@NAME`: an output folder of Criterion, its latest result or a saved one.
fn criterion_folder(text: &str) -> Option<(&Path, &str)> {
    if Path::new(text).is_dir() {
        return Some((Path::new(text), LATEST));
    }
    text.rsplit_once('@').map(|(folder, name)| (Path::new(folder), name)).filter(|(folder, _)| folder.is_dir())
}

/// The targets that `run` has figures of: those of the policy's file, else those that come with the program.
pub(super) fn targets_met(config: &Config, folders: &Folders, run: &Run) -> Result<Vec<ThresholdCheck>, Trouble> {
    let mut checks = targets(config, folders, run)?;
    checks.retain(ThresholdCheck::has_figure);
    Ok(checks)
}

/// Every target that concerns `run`, by the policy's file, else by those that come with the program.
pub(super) fn targets(config: &Config, folders: &Folders, run: &Run) -> Result<Vec<ThresholdCheck>, Trouble> {
    const OWN: &str = include_str!("../../baselines/policy.toml");
    let has_file = folders.policy.1 == Named::Yes || folders.policy.0.exists();
    let policy = if has_file { policy(config, folders, None)? } else { own(OWN)? };
    Ok(rsb_stats::threshold_checks(std::slice::from_ref(run), &policy))
}

fn own(text: &str) -> Result<Policy, Trouble> {
    let broken = |error: String| Trouble::usage(anyhow!("the policy that comes with the program: {error}"));
    let file: PolicyFile = toml::from_str(text).map_err(|error| broken(error.to_string()))?;
    Policy::try_from(file).map_err(|error| broken(error.to_string()))
}

/// The policy's file under the thresholds of the configuration, under the flag.
pub(super) fn policy(config: &Config, folders: &Folders, threshold: Option<f64>) -> Result<Policy, Trouble> {
    let (path, named) = &folders.policy;
    let mut file = if *named == Named::Yes || path.exists() {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))
            .map_err(Trouble::usage)?;
        toml::from_str::<PolicyFile>(&text).map_err(|error| Trouble::usage(anyhow!("{}: {error}", path.display())))?
    } else {
        PolicyFile::default()
    };
    if let Some(percent) = threshold {
        file.threshold_percent = Some(percent);
    }
    if file.ignore.metrics.iter().any(|metric| metric == "time_ms") {
        // A case would pass by its accuracy alone.
        return Err(Trouble::usage(anyhow!(
            "{}: `time_ms` cannot be ignored, it is what a case is judged by; ignore the case instead",
            path.display()
        )));
    }
    if !file.ignore.cases.is_empty() {
        eprintln!("note: {} leaves out the cases {}", path.display(), file.ignore.cases.join(", "));
    }
    let invalid = |error: PolicyError| Trouble::usage(anyhow!("{}: {error}", path.display()));
    let mut policy = Policy::try_from(file).map_err(invalid)?;
    for (benchmark, percent) in &config.thresholds {
        policy = policy.or_benchmark_threshold(benchmark, *percent).map_err(invalid)?;
    }
    Ok(policy)
}
