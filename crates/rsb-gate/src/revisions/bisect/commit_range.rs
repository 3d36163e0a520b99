//! The commits between a good and a bad revision, along the first parents of the bad one.

use anyhow::{Result, bail};

use crate::revisions::Repository;

/// A commit, with the data shown to users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its full hash.
    pub hash: String,
    /// The hash of its contents.
    pub tree: String,
    /// Author date.
    pub date: String,
    /// The first line of its message.
    pub subject: String,
}

impl Commit {
    /// Returns the first 10 digits of the hash.
    pub fn short(&self) -> &str {
        self.hash.get(..10).unwrap_or(&self.hash)
    }
}

/// The good commit, and at least one later commit up to the bad one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitRange {
    /// The good commit.
    pub good: Commit,
    /// Later commits, oldest first, up to the bad one.
    pub after: Vec<Commit>,
}

/// Output format of `git rev-list`: `hash, tree, date, subject`, after a line `commit …`.
const FORMAT: &str = "--format=%H%x09%T%x09%aI%x09%s";

impl CommitRange {
    /// Returns the range from `good` to `bad`.
    ///
    /// # Errors
    /// If git cannot find one of them, or `good` is not an ancestor of `bad`.
    pub fn between(repository: &Repository, good: &str, bad: &str) -> Result<Self> {
        let [first, last] = [repository.commit(good)?, repository.commit(bad)?];
        if first == last {
            bail!(
                "`{good}` and `{bad}` are the same commit: name one that is still fast and one \
                 that is slow"
            );
        }
        check_order(repository, [good, bad], [&first, &last])?;
        let range = format!("{first}..{last}");
        let after = commits(&repository.git(&[
            "rev-list",
            "--first-parent",
            "--reverse",
            FORMAT,
            &range,
        ])?);
        let own = commits(&repository.git(&["rev-list", "--max-count=1", FORMAT, &first])?);
        match own.into_iter().next() {
            Some(good) if !after.is_empty() => Ok(Self { good, after }),
            _ => bail!("git lists no commits between `{good}` and `{bad}`"),
        }
    }
}

/// Checks that `good` is an ancestor of `bad`.
fn check_order(
    repository: &Repository,
    [good, bad]: [&str; 2],
    [first, last]: [&str; 2],
) -> Result<()> {
    match repository.git(&["merge-base", first, last]).ok() {
        Some(base) if base == first => Ok(()),
        Some(base) if base == last => {
            bail!("`{bad}` comes before `{good}`: name the good one first, then the bad one")
        }
        Some(base) => bail!(
            "`{good}` is not an ancestor of `{bad}`; their merge base is {}: use it as the good \
             commit if it is fast",
            base.get(..10).unwrap_or(&base)
        ),
        None => {
            bail!("`{good}` and `{bad}` have no common ancestor: there are no commits between them")
        }
    }
}

fn commits(listed: &str) -> Vec<Commit> {
    listed.lines().filter_map(commit).collect()
}

/// Parses the commit in `line`. The tab before an empty subject may have been trimmed.
fn commit(line: &str) -> Option<Commit> {
    let mut parts = line.splitn(4, '\t').map(str::to_owned);
    Some(Commit {
        hash: parts.next()?,
        tree: parts.next()?,
        date: parts.next()?,
        subject: parts.next().unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_read_whatever_their_subject() {
        let listed = "commit aaa\naaa\tt1\t2026-01-01T00:00:00Z\tone\ttab\ncommit \
                      bbb\nbbb\tt2\t2026-01-02T00:00:00Z";
        let found = commits(listed);
        let read: Vec<(&str, &str, &str)> = found
            .iter()
            .map(|each| (each.hash.as_str(), each.tree.as_str(), each.subject.as_str()))
            .collect();
        assert_eq!(read, [("aaa", "t1", "one\ttab"), ("bbb", "t2", "")]);
    }
}
