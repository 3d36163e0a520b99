//! Isolation of untrusted code under test: its processes get no access to the CI system, and none
//! outlives the measurement.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// Environment variables that let a process influence a later step of GitHub Actions or the startup
/// of a shell, and those with tokens. `BENCHMARKS_TOKEN` belongs to the job that `init --ci gitlab`
/// writes. `RSB_STORE` may contain a password.
const CHANNELS: [&str; 13] = [
    "GITHUB_OUTPUT",
    "GITHUB_ENV",
    "GITHUB_PATH",
    "GITHUB_STATE",
    "GITHUB_STEP_SUMMARY",
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "GITLAB_TOKEN",
    "BENCHMARKS_TOKEN",
    "CI_REPOSITORY_URL",
    "RSB_STORE",
    "BASH_ENV",
    "ENV",
];

/// Variables that the configuration uses for secrets.
static HIDDEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Hides the environment variables `names` from all code under test that is started from now on.
pub fn hide(names: impl IntoIterator<Item = String>) {
    HIDDEN.lock().unwrap_or_else(PoisonError::into_inner).extend(names);
}

/// Removes from `command` the environment variables with access to the CI system, and those passed
/// to [`hide`].
pub fn isolate(command: &mut Command) {
    for name in CHANNELS {
        command.env_remove(name);
    }
    for name in HIDDEN.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        command.env_remove(name);
    }
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_ci(&name.to_string_lossy())) {
        command.env_remove(name);
    }
}

/// Returns whether a variable gives access to a run of GitHub Actions, or is a secret of a job of
/// GitLab, such as `CI_JOB_TOKEN`.
fn is_of_ci(name: &str) -> bool {
    let is_secret = |word: &str| ["TOKEN", "PASSWORD", "JWT"].contains(&word);
    name.starts_with("ACTIONS_")
        || name.strip_prefix("CI_").is_some_and(|rest| rest.split('_').any(is_secret))
}

/// Guard that kills all processes left behind by the code under test when it is dropped.
pub struct Descendants(());

impl Descendants {
    /// Makes this process the subreaper of its descendants, so that orphaned processes become its
    /// children.
    pub fn adopt() -> Self {
        #[cfg(target_os = "linux")]
        // If this fails, orphaned processes are adopted by another process and are not killed.
        let _ = rustix::process::set_child_subreaper(rustix::process::Pid::from_raw(1));
        Self(())
    }
}

impl Drop for Descendants {
    #[cfg(target_os = "linux")]
    fn drop(&mut self) {
        use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
        /// Repeat, because killing a process may orphan its children.
        const ROUNDS: usize = 100;
        for _ in 0..ROUNDS {
            let children = children();
            if children.is_empty() {
                return;
            }
            for pid in children.into_iter().filter_map(Pid::from_raw) {
                let _ = kill_process(pid, Signal::KILL);
                let _ = waitpid(Some(pid), WaitOptions::empty());
            }
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn drop(&mut self) {}
}

/// Returns the IDs of the processes whose parent is this one.
#[cfg(target_os = "linux")]
fn children() -> Vec<i32> {
    let own = std::process::id();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    numbers.filter(|pid| parent_of(*pid) == Some(own)).collect()
}

#[cfg(target_os = "linux")]
fn parent_of(pid: i32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command name, in parentheses, may contain any character.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hidden_variable_is_removed() {
        hide(["RSB_TEST_SECRET_URL".to_owned()]);
        let mut command = Command::new("true");
        isolate(&mut command);
        let removed: Vec<_> = command.get_envs().filter(|(_, value)| value.is_none()).collect();
        assert!(removed.iter().any(|(name, _)| *name == "RSB_TEST_SECRET_URL"), "{removed:?}");
    }

    #[test]
    fn variables_of_ci_systems_are_recognized() {
        for (name, expected) in [
            ("ACTIONS_RUNTIME_TOKEN", true),
            ("CI_JOB_TOKEN", true),
            ("CI_JOB_JWT_V2", true),
            ("CI_REGISTRY_PASSWORD", true),
            ("CI_PROJECT_DIR", false),
            ("CI", false),
            ("CARGO_REGISTRY_TOKEN", false),
        ] {
            assert_eq!(is_of_ci(name), expected, "{name}");
        }
    }
}
