//! Resolves ids, id prefixes, branches and commits to stored runs.

use std::path::Path;

use rsb_model::{Fingerprint, Run};
use rusqlite::params;

use crate::error::StoreError;
use crate::index::FromJson;
use crate::input;
use crate::store::{RUN_ROWS, RunSummary, Store};

/// Fewest digits of an abbreviated commit.
const COMMIT_DIGITS: usize = 7;
/// Maximum number of choices that an error names.
const CHOICES: usize = 6;

/// Order of the runs of a branch or a commit.
const GROUP: &str = "ORDER BY measured + simulated = 0, imported, finished IS NULL, \
                     started DESC, run_id DESC";

/// Stored runs that a text refers to; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamedRuns {
    /// The run with this id, or the only one whose id begins with the text.
    One(Box<RunSummary>),
    /// The runs of a branch or of a commit, the newest first. Runs without values come last.
    Group(Vec<RunSummary>),
}

impl NamedRuns {
    /// Returns the only or the newest run.
    pub fn into_newest(self) -> Option<RunSummary> {
        match self {
            Self::One(run) => Some(*run),
            Self::Group(runs) => runs.into_iter().next(),
        }
    }

    fn into_runs(self) -> Vec<RunSummary> {
        match self {
            Self::One(run) => vec![*run],
            Self::Group(runs) => runs,
        }
    }
}

impl Store {
    /// Returns the stored runs that `text` refers to. A complete id takes precedence over
    /// everything else.
    ///
    /// # Errors
    /// If there is none, or `text` is the beginning of several ids or commits, or both of an id and
    /// of another kind of name.
    pub fn named(&self, text: &str) -> Result<NamedRuns, StoreError> {
        let by_id = self.summaries(
            "WHERE substr(run_id, 1, length(?1)) = ?1 ORDER BY run_id <> ?1, started DESC LIMIT 6",
            text,
        )?;
        if let Some(run) = by_id.iter().find(|run| run.run_id.0 == text) {
            return Ok(NamedRuns::One(Box::new(run.clone())));
        }
        let by_branch = self.summaries(&format!("WHERE branch = ?1 {GROUP}"), text)?;
        let is_commit =
            text.len() >= COMMIT_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let by_commit = if is_commit {
            let text = text.to_ascii_lowercase();
            self.summaries(
                &format!("WHERE substr(commit_hash, 1, length(?1)) = ?1 {GROUP}"),
                &text,
            )?
        } else {
            Vec::new()
        };
        let mut commits: Vec<String> =
            by_commit.iter().filter_map(|run| run.commit.clone()).collect();
        commits.sort_unstable();
        commits.dedup();
        let branch = (!by_branch.is_empty()).then(|| format!("the branch {text}"));
        let ids = by_id.iter().map(|run| run.run_id.0.clone());
        let choices: Vec<String> = ids
            .chain(branch)
            .chain(commits.iter().map(|commit| format!("commit {commit}")))
            .collect();
        match choices.as_slice() {
            [] => Err(self.unknown(text)?),
            [_] if !text.is_empty() => Ok(match by_id.into_iter().next() {
                Some(run) => NamedRuns::One(Box::new(run)),
                None if by_branch.is_empty() => NamedRuns::Group(by_commit),
                None => NamedRuns::Group(by_branch),
            }),
            several => Err(StoreError::AmbiguousRun {
                text: text.to_owned(),
                matches: several.iter().take(CHOICES).cloned().collect(),
            }),
        }
    }

    /// Returns the run that `text` refers to: a path, or a name as in [`Store::named`], of which
    /// the newest run is read.
    ///
    /// # Errors
    /// If no run or several runs match, or the file cannot be read.
    pub fn run(&self, text: &str) -> Result<Run, StoreError> {
        let path = Path::new(text);
        let is_document = path.extension().is_some_and(|end| end == "json");
        let is_branch = || matches!(self.named(text), Ok(NamedRuns::Group(_)));
        if input::names_file(path) || ((is_document || text.contains('/')) && !is_branch()) {
            return Ok(crate::read_run(path)?);
        }
        match self.named(text)?.into_newest() {
            Some(run) => Ok(crate::read_run(&run.path)?),
            None => Err(self.unknown(text)?),
        }
    }

    /// Returns the runs that `before` and `now` refer to. If one of them is a branch or a commit,
    /// both are of one suite and machine, and `now` is as new as possible.
    ///
    /// # Errors
    /// As for [`Store::named`], and if a branch or commit has no other run of the suite and machine.
    pub fn pair(&self, before: &str, now: &str) -> Result<[RunSummary; 2], StoreError> {
        let sides = [self.named(before)?, self.named(now)?];
        let is_fixed = |side: &NamedRuns| matches!(side, NamedRuns::One(_));
        let are_fixed = sides.iter().all(is_fixed);
        let [earlier, later] = sides.map(NamedRuns::into_runs);
        for now in &later {
            for before in &earlier {
                let is_pair = before.run_id != now.run_id
                    && before.suite == now.suite
                    && self.is_one_machine(&before.slug, &now.slug)?;
                if is_pair || are_fixed {
                    return Ok([before.clone(), now.clone()]);
                }
            }
        }
        Err(StoreError::NoPair {
            before: before.to_owned(),
            earlier_kinds: kinds(&earlier),
            now: now.to_owned(),
            later_kinds: kinds(&later),
        })
    }

    /// Returns the newest of `runs` of the suite and machine of `other`, except `other` itself.
    /// `text` is the name of `runs`.
    ///
    /// # Errors
    /// If there is none.
    pub fn run_like(
        &self,
        text: &str,
        runs: &[RunSummary],
        other: &Run,
    ) -> Result<RunSummary, StoreError> {
        let fingerprint = Fingerprint::of(&other.environment);
        let slugs = self.slugs_of(&fingerprint)?;
        let found = runs.iter().find(|run| {
            run.run_id != other.run_id && run.suite == other.suite && slugs.contains(&run.slug)
        });
        found.cloned().ok_or_else(|| StoreError::NoPair {
            before: text.to_owned(),
            earlier_kinds: kinds(runs),
            now: other.run_id.0.clone(),
            later_kinds: vec![kind(&other.suite, &fingerprint.slug())],
        })
    }

    /// Returns the branches of the stored runs, the one measured last first.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn branches(&self) -> Result<Vec<String>, StoreError> {
        self.query(|connection| {
            let sql = "SELECT branch FROM runs WHERE branch IS NOT NULL GROUP BY branch \
                       ORDER BY max(started) DESC";
            connection.prepare_cached(sql)?.query_map([], |row| row.get(0))?.collect()
        })
    }

    /// Returns the error for `text`, which refers to no run.
    fn unknown(&self, text: &str) -> Result<StoreError, StoreError> {
        let mut branches = self.branches()?;
        branches.truncate(CHOICES);
        Ok(StoreError::UnknownRun {
            text: text.to_owned(),
            dir: self.results_dir().to_owned(),
            branches,
        })
    }

    fn summaries(&self, condition: &str, text: &str) -> Result<Vec<RunSummary>, StoreError> {
        self.query(|connection| {
            connection
                .prepare_cached(&format!("{RUN_ROWS} {condition}"))?
                .query_map(params![text], |row| self.summary(row))?
                .collect()
        })
    }

    /// Returns whether two slugs are of the same hardware; an earlier version of this program may
    /// have given it another one.
    fn is_one_machine(&self, slug: &str, other: &str) -> Result<bool, StoreError> {
        if slug == other {
            return Ok(true);
        }
        let fingerprint = |slug: &str| {
            self.query(|connection| {
                let sql = "SELECT fingerprint FROM machines WHERE slug = ?1";
                connection.query_row(sql, [slug], |row| row.get::<_, FromJson<Fingerprint>>(0))
            })
        };
        Ok(fingerprint(slug)?.0.differences(&fingerprint(other)?.0).is_empty())
    }
}

/// Returns the suites and machines of `runs`, each once, the newest first.
fn kinds(runs: &[RunSummary]) -> Vec<String> {
    let mut kinds: Vec<String> = Vec::new();
    for run in runs {
        let own = kind(&run.suite, &run.slug);
        if !kinds.contains(&own) && kinds.len() < CHOICES {
            kinds.push(own);
        }
    }
    kinds
}

fn kind(suite: &str, slug: &str) -> String {
    format!("{suite} on {slug}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{keep, machine, measured_case, moment, run};

    const MAIN: &str = "aaaaaaa1bbbb";
    const WORK: &str = "aaaaaaa2bbbb";

    struct Row {
        id: &'static str,
        hour: i64,
        branch: &'static str,
        commit: &'static str,
        suite: &'static str,
        cores: u32,
    }

    /// Stores runs of two branches, of two suites and on two machines.
    fn stored() -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_for_writing(dir.path()).unwrap();
        for row in [
            Row { id: "m1", hour: 1, branch: "main", commit: MAIN, suite: "quick", cores: 2 },
            Row { id: "m2", hour: 2, branch: "main", commit: MAIN, suite: "quick", cores: 2 },
            Row { id: "f1", hour: 3, branch: "feature/x", commit: WORK, suite: "quick", cores: 2 },
            Row { id: "m3", hour: 4, branch: "main", commit: MAIN, suite: "quick", cores: 8 },
            Row { id: "f2", hour: 5, branch: "feature/x", commit: WORK, suite: "full", cores: 2 },
        ] {
            let mut environment = machine(row.cores);
            let git = environment.git.as_mut().unwrap();
            (git.branch, git.commit) = (Some(row.branch.to_owned()), row.commit.to_owned());
            let run = Run {
                suite: row.suite.to_owned(),
                environment,
                benchmarks: vec![measured_case("fast", 1.0)],
                finished: Some(moment(row.hour * 3600 + 60)),
                ..run(row.id, row.hour * 3600)
            };
            keep(&store, &run);
        }
        // A branch resolves to its newest run with values.
        keep(&store, &run("m4", 6 * 3600));
        (dir, store)
    }

    #[test]
    fn a_branch_and_a_commit_name_their_newest_run_with_values() {
        let (_dir, store) = stored();
        for (text, expected) in [
            ("main", "m3"),
            ("feature/x", "f2"),
            ("aaaaaaa1", "m3"),
            ("AAAAAAA2B", "f2"),
            ("m1", "m1"),
        ] {
            assert_eq!(store.run(text).unwrap().run_id.0, expected, "{text}");
        }
        assert_eq!(store.branches().unwrap(), ["main", "feature/x"]);
        let ambiguous = store.run("aaaaaaa").unwrap_err().to_string();
        assert!(ambiguous.contains(MAIN) && ambiguous.contains(WORK), "{ambiguous}");
        let unknown = store.run("dev").unwrap_err().to_string();
        assert!(unknown.contains("branches: main, feature/x"), "{unknown}");
        assert!(store.run("aaaaaa").is_err(), "six digits are too few");
    }

    #[test]
    fn a_pair_is_of_one_suite_and_machine_unless_both_runs_are_named_by_id() {
        let (_dir, store) = stored();
        let pair = |before, now| {
            store
                .pair(before, now)
                .map(|pair| pair.map(|run| run.run_id.0))
                .map_err(|e| e.to_string())
        };
        let found = |ids: [&str; 2]| Ok(ids.map(str::to_owned));
        assert_eq!(pair("main", "feature/x"), found(["m2", "f1"]));
        assert_eq!(pair("aaaaaaa1", "f1"), found(["m2", "f1"]));
        assert_eq!(pair("m1", "main"), found(["m1", "m2"]));
        assert_eq!(pair("m1", "f2"), found(["m1", "f2"]));
        let nothing = pair("main", "f2").unwrap_err();
        for part in ["`main` has quick on", "`f2` has full on"] {
            assert!(nothing.contains(part), "{nothing}");
        }
    }
}
