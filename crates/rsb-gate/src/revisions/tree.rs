//! The files of a revision, read from git's objects. The working tree, which is under test, is
//! never read, and links are followed only within the revision.

use std::io::Write as _;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::builds::{Repository, without_repository_variables};

/// The tree of a commit.
#[derive(Debug, Clone)]
pub struct RevisionTree {
    repository: Repository,
    commit: String,
}

/// A git object.
struct Object {
    kind: String,
    content: Vec<u8>,
}

impl RevisionTree {
    /// Opens the tree of `revision` in the repository around the current directory; `flag` is the
    /// option that needs it.
    ///
    /// # Errors
    /// If there is no repository, or git cannot find the revision.
    pub fn open(revision: &str, flag: &str) -> Result<Self> {
        let repository = Repository::here(flag)?;
        let commit = repository.commit(revision)?;
        Ok(Self { repository, commit })
    }

    /// Returns the path of `path` from the top of the repository; `None` outside it. Links outside
    /// the repository are followed: the change under test does not contain them.
    ///
    /// # Errors
    /// If the current directory or the repository cannot be read.
    pub fn name_of(&self, path: &Path) -> Result<Option<PathBuf>> {
        let top = self
            .repository
            .top()
            .canonicalize()
            .context("cannot read the top of the repository")?;
        let here = Path::new(".").canonicalize().context("cannot read the current directory")?;
        let mut resolved = PathBuf::new();
        for component in here.join(path).components() {
            match component {
                Component::ParentDir => drop(resolved.pop()),
                Component::CurDir => {}
                part => resolved.push(part),
            }
            if !resolved.starts_with(&top) {
                resolved = resolved.canonicalize().unwrap_or(resolved);
            }
        }
        Ok(resolved.strip_prefix(&top).ok().map(Path::to_owned))
    }

    /// Reads the file `path`; `None` if the revision has no such file.
    ///
    /// # Errors
    /// If it is outside the repository, is a link out of it or not a file, or is not UTF-8.
    pub fn read(&self, path: &Path) -> Result<Option<String>> {
        let Some(name) = self.name_of(path)? else {
            bail!("{} is outside this repository", path.display())
        };
        let Some(object) = self.object(&name)? else { return Ok(None) };
        if object.kind != "blob" {
            bail!("{} is a {} at {}, not a file", path.display(), object.kind, self.commit_name());
        }
        String::from_utf8(object.content)
            .map(Some)
            .with_context(|| format!("{} is not UTF-8", path.display()))
    }

    /// Returns whether git tracks `path`, or a symbolic link that leads to it, in the working tree.
    pub fn is_tracked(&self, path: &Path) -> bool {
        let is_candidate = |part: &&Path| *part == path || part.is_symlink();
        path.ancestors().filter(is_candidate).any(|part| {
            let Ok(Some(name)) = self.name_of(part.parent().unwrap_or(part)) else { return false };
            let name = name.join(part.file_name().unwrap_or_default());
            let listed = self.repository.git(&[
                "--literal-pathspecs",
                "ls-files",
                "--",
                &name.to_string_lossy(),
            ]);
            listed.is_ok_and(|files| !files.is_empty())
        })
    }

    /// Writes the files below the directory `name` into `into`; nothing if the revision has no such
    /// directory. Links are replaced by their targets.
    ///
    /// # Errors
    /// If a link leads out of the repository or to a directory, git fails, or there is no space.
    pub(super) fn export(&self, name: &Path, into: &Path) -> Result<()> {
        match self.object(name)? {
            None => return Ok(()),
            Some(object) if object.kind == "tree" => {}
            Some(_) => bail!("{} is not a directory at {}", name.display(), self.commit_name()),
        }
        // A directory reached through links is listed at its real path.
        let tree = self.resolved_tree(name)?;
        let listing = self.repository.git(&["ls-tree", "-r", "-z", "--name-only", &tree])?;
        for file in listing.split('\0').filter(|file| !file.is_empty()) {
            let Some(object) = self.object(&name.join(file))? else { continue };
            if object.kind != "blob" {
                bail!(
                    "{} at {} is a symbolic link to a directory; commit the directory instead",
                    name.join(file).display(),
                    self.commit_name()
                );
            }
            let place = into.join(file);
            std::fs::create_dir_all(place.parent().unwrap_or(into))
                .and_then(|()| std::fs::write(&place, &object.content))
                .with_context(|| format!("cannot write {}", place.display()))?;
        }
        Ok(())
    }

    fn resolved_tree(&self, name: &Path) -> Result<String> {
        let output = self.cat_file("--batch-check", name)?;
        let output = String::from_utf8_lossy(&output);
        Ok(output.split(' ').next().unwrap_or_default().to_owned())
    }

    /// Reads the object `name`, following links within the revision; `None` if there is none.
    fn object(&self, name: &Path) -> Result<Option<Object>> {
        let output = self.cat_file("--batch", name)?;
        let end = output.iter().position(|byte| *byte == b'\n').unwrap_or(output.len());
        let head = String::from_utf8_lossy(&output[..end]).into_owned();
        let words: Vec<&str> = head.split(' ').collect();
        let content = output.get(end + 1..).unwrap_or_default();
        match words.as_slice() {
            [.., "missing"] => Ok(None),
            ["symlink", _] => {
                let target = String::from_utf8_lossy(content).trim().to_owned();
                bail!(
                    "{} at {} is a symbolic link to {target}, outside the repository; commit the \
                     file instead of a link",
                    name.display(),
                    self.commit_name()
                )
            }
            ["dangling" | "loop" | "notdir", _] => {
                bail!(
                    "the symbolic link {} at {} cannot be resolved (it dangles, is a loop, or \
                     leads through a file)",
                    name.display(),
                    self.commit_name()
                )
            }
            [_, kind @ ("blob" | "tree"), size] => {
                let size: usize = size.parse().context("unexpected output of `git cat-file`")?;
                let content = content.get(..size).context("incomplete output of `git cat-file`")?;
                Ok(Some(Object { kind: (*kind).to_owned(), content: content.to_owned() }))
            }
            _ => bail!(
                "{} cannot be read at {}: git printed `{head}`",
                name.display(),
                self.commit_name()
            ),
        }
    }

    fn cat_file(&self, form: &str, name: &Path) -> Result<Vec<u8>> {
        let Some(name) = name.to_str().filter(|name| !name.contains('\n')) else {
            bail!(
                "the path {} is not UTF-8 or contains a line break; rename the file",
                name.display()
            );
        };
        let mut command = Command::new("git");
        command.current_dir(self.repository.top()).args(["cat-file", form, "--follow-symlinks"]);
        without_repository_variables(&mut command);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start git")?;
        if let Some(mut stdin) = child.stdin.take() {
            writeln!(stdin, "{}:{name}", self.commit).context("cannot write to `git cat-file`")?;
        }
        let output =
            child.wait_with_output().context("cannot read the output of `git cat-file`")?;
        if !output.status.success() {
            bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(output.stdout)
    }

    fn commit_name(&self) -> &str {
        self.commit.get(..12).unwrap_or(&self.commit)
    }
}

#[cfg(test)]
mod tests;
