//! Revisions: built in a worktree, compared with this tree, searched for the one that made a case
//! slower. Of this program, and of any other project with benchmarks.
//!
//! Functions begin at cache lines in every build: `.cargo/config.toml` says so for the user's own,
//! [`cargo`] for both revisions.

mod added_benches;
mod against;
mod baseline;
mod bench_targets;
pub mod bisect;
mod builds;
mod cargo;
mod inert;
mod opened;
mod project;
mod survey;
mod tree;
mod worktree;

pub use against::{AgainstRequest, InstructionUse, against};
pub use baseline::{BaselineRevisions, MergeBase};
pub use builds::{Repository, git};
pub use project::{CustomProject, ProjectOptions};
pub use survey::{SurveyedTarget, survey};
pub use tree::RevisionTree;
