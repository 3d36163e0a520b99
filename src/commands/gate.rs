//! Judges a run against a baseline, this tree against a revision, or a run against the stored ones.

use std::path::Path;
use std::time::Duration;

use anyhow::anyhow;
use rsb_gate::gate::{self, Basis, StoredRequest};
use rsb_gate::revisions::{self, AgainstRequest, BaselineRevisions, MergeBase, RevisionTree};
use rsb_report::Style;
use rsb_stats::accept::AcceptList;

use super::judge;
use super::next_step::{VerdictRequest, shell_quote};
use crate::cli::{ExtraMetric, GateArgs};
use crate::console;
use crate::exit::{CliError, CliResult, Exit};

/// The verb `gate`.
///
/// # Errors
/// When a side cannot be read or there is nothing to compare.
pub fn run(args: &GateArgs, style: Style) -> CliResult {
    let base = args.base.as_deref().map(MergeBase::of).transpose()?;
    let judged_by = match (&args.against, &base) {
        (Some(revision), _) => Some((revision.as_str(), "gate --against")),
        (None, Some(base)) => Some((base.commit(), "gate --base")),
        (None, None) => None,
    };
    let (mut judge, settings) = match judged_by {
        Some((revision, flag)) => {
            let (judge, settings) = judge::load_at(&args.judge, revision, flag)?;
            (judge, Some(settings))
        }
        None => (judge::load(&args.judge)?, None),
    };
    let at_base = base.as_ref().map(|base| base.files(&judge.directories.baselines)).transpose()?;
    if let (Some(files), Some(base), Some(revision)) = (&at_base, &base, &args.base) {
        judge.take_base(files.path(), base.commit(), revision);
    }
    super::interrupt::listen();
    let without = if args.baseline_optional { Exit::Pass } else { Exit::NoVerdict };
    if let (Some(revision), Some(settings)) = (&args.against, &settings) {
        let mut project = args
            .project
            .options(rsb_catalog::custom::file().as_deref())
            .map_err(CliError::usage)?;
        project.config = Some(settings.config_file.path().to_owned());
        if let (Some(custom), Some(known)) = (&mut project.custom, &settings.custom) {
            custom.in_repository = Some(known.name.clone());
        }
        let request = AgainstRequest {
            revision,
            project: &project,
            measure_equal: args.measure_equal,
            layouts: args.layouts.unwrap_or(0),
            benchmarks: &args.benchmark,
            cases: &args.case,
            suite: args.suite,
            budget: args.budget,
            count_instructions: args.metric == Some(ExtraMetric::Instructions),
        };
        let accepted =
            args.accept.as_deref().map(|path| accept_list(path, revision)).transpose()?;
        let mut judgment = revisions::against(&judge, &request, &mut console::tell)?;
        if let (Some(list), Basis::Figures { .. }) = (accepted, &judgment.basis) {
            judgment.result = list.apply(judgment.result, judge.policy());
        }
        let again = Some(format!("gate --against {}", shell_quote(revision)));
        // No baseline was saved that could hold an accepted regression.
        let request = VerdictRequest {
            again,
            is_remeasured: true,
            accept: None,
            ..judge::request(&judge, &args.judge, &[], &[])
        };
        return Ok(judge::conclude(&judge, &args.judge, &judgment, &request, style, without));
    }
    if args.project.is_given() {
        return Err(CliError::usage(anyhow!(
            "--build, --bench and arguments for cargo belong to `gate --against REV`, which builds \
             both sides"
        )));
    }
    if let Some(runs) = args.against_history {
        let judgment =
            gate::against_history(&judge, &args.current, runs as usize, &mut console::tell)?;
        let request = judge::request(&judge, &args.judge, &[], &args.current);
        return Ok(judge::conclude(&judge, &args.judge, &judgment, &request, style, without));
    }
    let revisions = BaselineRevisions::new(base);
    let request = StoredRequest {
        baseline: args.baseline.clone(),
        current: args.current.clone(),
        budget: args.budget,
        revisions: Some(&revisions),
    };
    let judgment = gate::judge_stored(&judge, &request, &mut console::tell)?;
    let named = judge::request(&judge, &args.judge, &args.baseline, &args.current);
    let request = VerdictRequest {
        again: again(args),
        is_remeasured: judgment.basis == Basis::Figures { remeasured: true }
            && args.budget != Some(Duration::ZERO),
        more_runs: gate::more_runs(&args.baseline, &args.current),
        // A pull request does not accept its own regressions.
        accept: named.accept.clone().filter(|_| args.base.is_none()),
        ..named
    };
    Ok(judge::conclude(&judge, &args.judge, &judgment, &request, style, without))
}

/// Reads the file of `--accept`.
fn accept_list(path: &Path, revision: &str) -> Result<AcceptList, CliError> {
    let tree = RevisionTree::open(revision, "gate --against").map_err(CliError::usage)?;
    let path_shown = path.display();
    if tree.name_of(path).map_err(CliError::usage)?.is_some() {
        return Err(CliError::usage(anyhow!(
            "--accept: {path_shown} is inside the repository, where the change under test could \
             edit it; use a file outside \
             the repository"
        )));
    }
    let bytes = rsb_store::read_bytes(path).map_err(CliError::usage)?;
    toml::from_str(&String::from_utf8_lossy(&bytes))
        .map_err(|error| CliError::usage(anyhow!("--accept: {path_shown}: {error}")))
}

/// Returns the subcommand that measures the run again; `None` for files and several runs, which
/// cannot be.
fn again(args: &GateArgs) -> Option<String> {
    match (args.baseline.as_slice(), args.current.as_slice()) {
        ([], []) => Some("gate".to_owned()),
        ([], [run]) if !gate::is_path(run) => Some(format!("gate --current {}", shell_quote(run))),
        _ => None,
    }
}
