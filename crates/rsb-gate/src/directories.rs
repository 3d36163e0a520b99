//! Directories of results and baselines, and the path of the policy.

use std::path::{Path, PathBuf};

/// The directories of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directories {
    /// Results: the index, `runs/`, reports.
    pub results: PathBuf,
    /// Committed baselines, one directory per machine.
    pub baselines: PathBuf,
    /// The policy of the gate.
    pub policy: PolicyPath,
    /// Arguments with which suggested commands repeat the files and directories of the current
    /// call, such as ` --results-dir runs --custom mine.toml`; empty if none were given.
    pub arguments: String,
}

/// File of the policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyPath {
    /// Given by the user, so the file must exist.
    Named(PathBuf),
    /// The default path; if there is no file, the defaults apply.
    Default(PathBuf),
    /// The file in a revision, because a change under test must not choose its own policy.
    AtRevision {
        /// Path of the file.
        path: PathBuf,
        /// The revision.
        revision: String,
        /// Content of the file in that revision; if `None`, the defaults apply.
        text: Option<String>,
    },
}

impl PolicyPath {
    /// Returns the path, even if there is no file.
    pub fn path(&self) -> &Path {
        match self {
            Self::Named(path) | Self::Default(path) | Self::AtRevision { path, .. } => path,
        }
    }

    /// Describes the policy for messages: its file, or the built-in policy if there is none.
    pub fn describe(&self) -> String {
        let path = self.path().display();
        if self.is_wanted() {
            path.to_string()
        } else {
            format!("the built-in policy (there is no {path})")
        }
    }

    /// Reads the file; `None` if the defaults apply.
    ///
    /// # Errors
    /// If the file exists or was given by the user, but cannot be read.
    pub fn read(&self) -> std::io::Result<Option<String>> {
        match self {
            Self::AtRevision { text, .. } => Ok(text.clone()),
            _ if self.is_wanted() => rsb_store::read_text(self.path()).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns whether there is a file to read.
    pub fn is_wanted(&self) -> bool {
        match self {
            Self::Named(_) => true,
            Self::AtRevision { text, .. } => text.is_some(),
            // A dangling link counts as a file: the user meant a policy to apply, so report the
            // error.
            Self::Default(path) => {
                !matches!(path.symlink_metadata(), Err(error) if error.kind() == std::io::ErrorKind::NotFound)
            }
        }
    }
}

impl Directories {
    /// Returns the given directories, with defaults for the missing ones.
    pub fn new(
        results: Option<PathBuf>,
        baselines: Option<PathBuf>,
        policy: Option<PathBuf>,
    ) -> Self {
        let baselines = baselines.unwrap_or_else(|| "baselines".into());
        let policy = policy
            .map_or_else(|| PolicyPath::Default(baselines.join("policy.toml")), PolicyPath::Named);
        Self {
            results: results.unwrap_or_else(|| "benchmark_results".into()),
            baselines,
            policy,
            arguments: String::new(),
        }
    }
}
