//! Revisions: builds them in a worktree, compares them with this tree, and searches for the one
//! that made a case slower. Supports this program and any other project with benchmarks.
//!
//! Every build aligns functions to cache lines: `.cargo/config.toml` sets this for builds of the
//! user, and `cargo` for both revisions.

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
