//! Revisions: builds them in a worktree, compares them with this tree, and searches for the one
//! that made a case slower. For this program, and for any other project with benchmarks.
//!
//! Functions start at cache lines in every build: set by `.cargo/config.toml` for builds of the
//! user, and by `cargo` for both revisions.

mod added_benches;
mod against;
mod baseline;
mod bench_targets;
pub mod bisect;
mod builds;
mod cargo;
mod inert;
mod lfs;
mod opened;
mod project;
mod survey;
mod tree;
mod worktree;

pub use against::{AgainstRequest, Counting, against};
pub use baseline::{BaselineRevisions, MergeBase};
pub use builds::{Repository, git};
pub use project::{CustomProject, ProjectOptions};
pub use survey::{SurveyedTarget, survey};
pub use tree::RevisionTree;
