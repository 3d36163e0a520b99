//! Where results, baselines and the policy are kept.

use std::path::{Path, PathBuf};

/// The directories of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directories {
    /// Results: the index, `runs/`, reports.
    pub results: PathBuf,
    /// Committed baselines, a directory for each machine.
    pub baselines: PathBuf,
    /// The policy of the gate.
    pub policy: PolicyPath,
}

/// The file of the policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyPath {
    /// Somebody named it: it must be there.
    Named(PathBuf),
    /// It is looked for; without it the defaults count.
    Default(PathBuf),
    /// It counts as a revision has it, since what is judged does not choose its judge.
    AtRevision {
        /// Where it lies.
        path: PathBuf,
        /// The revision.
        revision: String,
        /// What it says there; the defaults count where it is not there.
        text: Option<String>,
    },
}

impl PolicyPath {
    /// Where it is, or would be.
    pub fn path(&self) -> &Path {
        match self {
            Self::Named(path) | Self::Default(path) | Self::AtRevision { path, .. } => path,
        }
    }

    /// What it says; `None` where the defaults count.
    ///
    /// # Errors
    /// When it is wanted and cannot be read.
    pub fn read(&self) -> std::io::Result<Option<String>> {
        match self {
            Self::AtRevision { text, .. } => Ok(text.clone()),
            _ if self.is_wanted() => rsb_store::read_text(self.path()).map(Some),
            _ => Ok(None),
        }
    }

    /// Whether it is to be read.
    pub fn is_wanted(&self) -> bool {
        match self {
            Self::Named(_) => true,
            Self::AtRevision { text, .. } => text.is_some(),
            // A link that leads nowhere is there: somebody meant a policy to count.
            Self::Default(path) => {
                !matches!(path.symlink_metadata(), Err(error) if error.kind() == std::io::ErrorKind::NotFound)
            }
        }
    }
}

impl Directories {
    /// The usual ones; what is given replaces them.
    pub fn new(
        results: Option<PathBuf>,
        baselines: Option<PathBuf>,
        policy: Option<PathBuf>,
    ) -> Self {
        let baselines = baselines.unwrap_or_else(|| "baselines".into());
        let policy = policy
            .map_or_else(|| PolicyPath::Default(baselines.join("policy.toml")), PolicyPath::Named);
        Self { results: results.unwrap_or_else(|| "benchmark_results".into()), baselines, policy }
    }
}
