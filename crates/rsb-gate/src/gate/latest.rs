//! Selects the run if the user names none: the latest by time, unless it is uncertain which run is
//! the latest.

use std::path::Path;

use anyhow::anyhow;
use rsb_model::environment::Git;
use rsb_model::{Event, Run};
use rsb_store::Store;

use rsb_engine::{EngineError, Listener};

use crate::Directories;
use crate::suggest::measure_again;

/// Returns the run that was measured last.
///
/// # Errors
/// If there is none (no verdict), or another may be the latest: one that is being measured, whose
/// file cannot be read, or that has a higher number in the sequence of runs.
pub fn latest(store: &Store) -> Result<Run, EngineError> {
    let run = known_latest(store)?;
    match doubt(store, &run) {
        Some(doubt) => Err(EngineError::no_verdict(anyhow!("{doubt}"))),
        None => Ok(run),
    }
}

/// Returns the same run as [`latest`], but only notes if another may be the latest.
///
/// # Errors
/// If there is none, or the index cannot be read.
pub fn latest_lenient(store: &Store, listener: &mut Listener<'_>) -> Result<Run, EngineError> {
    let run = known_latest(store)?;
    if let Some(doubt) = doubt(store, &run) {
        listener(&Event::note(doubt));
    }
    Ok(run)
}

fn known_latest(store: &Store) -> Result<Run, EngineError> {
    store.refresh().map_err(EngineError::usage)?;
    store.latest().map_err(EngineError::usage)?.ok_or_else(|| {
        let dir = store.results_dir().display();
        if let Some(newest) = store.runs().ok().and_then(|runs| runs.into_iter().next()) {
            return EngineError::no_verdict(anyhow!(
                "the runs in {dir} were all imported, and none was measured here; name the run to \
                 use, such as {}",
                newest.run_id
            ));
        }
        let broken = store.left_out_after(None);
        let why = broken.first().map_or_else(String::new, |(path, problem)| {
            format!("; `{}`: {problem}", path.display())
        });
        EngineError::no_verdict(anyhow!(
            "no run is stored in {dir} yet{why}; measure one with `rusty-stack-bench run`, or name \
             the directory with --results-dir"
        ))
    })
}

/// Returns why another run may be later than `run`.
fn doubt(store: &Store, run: &Run) -> Option<String> {
    if let Some(living) = store.being_measured().first() {
        return Some(format!(
            "the run {} is being measured now, and {} is older: wait until it has ended, or name \
             the run to use",
            living.run_id, run.run_id
        ));
    }
    if let Some((path, problem)) = store.left_out_after(Some(&run.run_id)).into_iter().next() {
        return Some(format!(
            "`{}` may be a later run than {}: {problem}. Restore or remove it, or name the run to \
             use",
            path.display(),
            run.run_id
        ));
    }
    // If the latest run by time is not the last in the sequence, a clock was set back, or a file
    // has the wrong number.
    let last = store.last_in_sequence().ok().flatten().filter(|last| *last != run.run_id)?;
    Some(format!(
        "the run {} is the latest by time, and {last} by sequence number: name the run to use, or \
         remove the other one",
        run.run_id
    ))
}

/// Returns why the user probably does not mean `run`, which was selected automatically: the source
/// tree has changed since. `more` contains the other arguments with which `gate` judges it.
pub(super) fn of_another_tree(run: &Run, directories: &Directories, more: &str) -> Option<String> {
    let measured = run.environment.git.as_ref()?;
    let here = rsb_probe::git(Path::new("."))?;
    let here_is = if here.commit != measured.commit {
        if !rsb_probe::knows_commit(Path::new("."), &measured.commit) {
            return None;
        }
        format!("the repository is at {}", shorten(&here.commit))
    } else if is_same_tree(measured, &here) {
        return None;
    } else if here.changes.is_none() {
        "the files here have no changes".to_owned()
    } else if measured.changes.is_none() {
        "tracked files here have uncommitted changes, which it did not measure".to_owned()
    } else {
        "tracked files here have other changes".to_owned()
    };
    let changed = if measured.dirty { " with uncommitted changes" } else { "" };
    let (id, commit) = (&run.run_id, shorten(&measured.commit));
    let measure = directories.command(&measure_again(run));
    let gate = directories.command(&format!("gate --current {id}{more}"));
    Some(format!(
        "the latest run {id} is of the commit {commit}{changed}, and {here_is}: measure first with \
         `{measure}`, or judge that run with `{gate}`"
    ))
}

fn shorten(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}

/// Returns whether `measured` and `here`, both at the same commit, are the same source tree. New
/// untracked files, such as a report, are allowed. Older versions of this program did not record
/// the changes.
fn is_same_tree(measured: &Git, here: &Git) -> bool {
    measured.changes == here.changes && (here.dirty || !measured.dirty)
}
