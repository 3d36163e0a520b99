//! Revisions of this program: built in a worktree, compared with this tree, searched for the one that made it slower.
//!
//! Functions begin at cache lines in every build: `.cargo/config.toml` says so for the user's own, `worktree` for both
//! revisions.

mod against;
pub mod bisect;
mod builds;
mod worktree;

pub use against::{AgainstRequest, against};
pub use builds::{Repository, git};
