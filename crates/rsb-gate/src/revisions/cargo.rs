//! Runs cargo to build revisions: aligns functions to cache lines, and distinguishes a killed build
//! from a failed one.

use std::io::{self, BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rsb_engine::{Listener, judged};
use rsb_model::Event;

use super::worktree::BuildTarget;
use crate::build_place::cargo_home;

/// Name of the package and program of this project.
pub(super) const PROGRAM: &str = "rusty-stack-bench";

/// Settings of the current release profile, for older revisions that lack it, so that both programs
/// are built alike, without 70 MB of unused debug information.
const SMALL: [&str; 2] = ["profile.release.debug=false", "profile.release.strip=\"debuginfo\""];

/// Error if cargo cannot be started.
const NO_CARGO: &str = "cannot start cargo; revisions are built here, which needs a Rust toolchain";

/// Time between two messages on the progress of a build.
const PROGRESS: Duration = Duration::from_secs(20);

/// Profile with which this program is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CargoProfile {
    /// As released.
    Release,
    /// For debugging.
    Dev,
}

impl CargoProfile {
    /// Profile of the running program.
    pub(super) const OWN: Self = if cfg!(debug_assertions) { Self::Dev } else { Self::Release };

    /// Returns the directory that cargo builds into.
    pub(super) const fn directory(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Dev => "debug",
        }
    }
}

/// Returns a cargo command in `directory`.
pub(super) fn cargo(directory: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(directory);
    judged::isolate(&mut command);
    command
}

/// Runs `command`, which is cargo, and returns its output. Its messages go to standard error.
///
/// # Errors
/// If it cannot be started or was killed.
pub(super) fn run_cargo(command: &mut Command) -> Result<Output> {
    let output =
        command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().context(NO_CARGO)?;
    check_signal(output)
}

/// Runs `command`, a build of cargo with JSON messages, and returns its output. Its other messages
/// go to standard error, and its progress to `listener`.
///
/// # Errors
/// If it cannot be started or was killed.
pub(super) fn run_cargo_build(
    command: &mut Command,
    listener: &mut Listener<'_>,
) -> Result<Output> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut child = command.spawn().context(NO_CARGO)?;
    let stdout = match child.stdout.take() {
        Some(pipe) => read_messages(BufReader::new(pipe), PROGRESS, listener),
        None => Ok(Vec::new()),
    };
    let status = child.wait().context(NO_CARGO)?;
    let stdout = stdout.context("cannot read the messages of cargo")?;
    check_signal(Output { status, stdout, stderr: Vec::new() })
}

/// Reads the `messages` of cargo to the end. Sends the number of built crates to `listener`, if
/// one was built at least `interval` after the previous report.
fn read_messages(
    mut messages: impl BufRead,
    interval: Duration,
    listener: &mut Listener<'_>,
) -> io::Result<Vec<u8>> {
    let (mut all, mut crates, mut reported) = (Vec::new(), 0_u32, Instant::now());
    loop {
        let begin = all.len();
        if messages.read_until(b'\n', &mut all)? == 0 {
            return Ok(all);
        }
        if !all[begin..].starts_with(br#"{"reason":"compiler-artifact""#) {
            continue;
        }
        crates += 1;
        if reported.elapsed() >= interval {
            listener(&Event::note(format!("still building: {crates} crates are done")));
            reported = Instant::now();
        }
    }
}

fn check_signal(output: Output) -> Result<Output> {
    if let Some(signal) = output.status.signal() {
        bail!("cargo was killed by signal {signal}; run it again");
    }
    Ok(output)
}

/// Builds this program in `place` and copies it to `program`. Returns whether it was built.
///
/// # Errors
/// If cargo cannot be run, or the program cannot be copied.
pub(super) fn build_this_program(
    place: BuildTarget<'_>,
    profile: CargoProfile,
    program: &Path,
) -> Result<bool> {
    let BuildTarget { tree, target } = place;
    let mut command = cargo(tree);
    command
        .args(["build", "--locked", "--quiet", "--bin", PROGRAM, "--target-dir"])
        .arg(target)
        .args(SMALL.iter().flat_map(|setting| ["--config", setting]));
    if profile == CargoProfile::Release {
        command.arg("--release");
    }
    align_functions(&mut command, |name| std::env::var(name).ok());
    if !run_cargo(&mut command)?.status.success() {
        return Ok(false);
    }
    let built: PathBuf = target.join(profile.directory()).join(PROGRAM);
    std::fs::copy(&built, program).with_context(|| format!("cannot copy {}", built.display()))?;
    Ok(true)
}

/// Links this program, which was just built in `place`, again with its functions in an order given
/// by `seed`, and copies it to `program`. Returns whether it was linked.
///
/// # Errors
/// If cargo cannot be run, or the program cannot be copied.
pub(super) fn relink_this_program(
    place: BuildTarget<'_>,
    seed: u64,
    program: &Path,
) -> Result<bool> {
    let BuildTarget { tree, target } = place;
    let mut command = cargo(tree);
    command
        .args(["rustc", "--release", "--locked", "--quiet", "--bin", PROGRAM, "--target-dir"])
        .arg(target)
        .args(SMALL.iter().flat_map(|setting| ["--config", setting]));
    align_functions(&mut command, |name| std::env::var(name).ok());
    command.arg("--").arg(format!("-Clink-arg=-Wl,--shuffle-sections=.text*={seed}"));
    if !run_cargo(&mut command)?.status.success() {
        return Ok(false);
    }
    let built: PathBuf = target.join(CargoProfile::Release.directory()).join(PROGRAM);
    std::fs::copy(&built, program).with_context(|| format!("cannot copy {}", built.display()))?;
    Ok(true)
}

/// Makes `cargo` align every function to a cache line, in addition to the flags in the user's
/// environment. Otherwise any change shifts later functions within their cache lines, and a
/// function with the same bytes in both programs can be up to 10 % slower in one of them. Also
/// applies to revisions whose `.cargo/config.toml` does not set this.
pub(super) fn align_functions(cargo: &mut Command, variable: impl Fn(&str) -> Option<String>) {
    const FLAG: &str = "-Cllvm-args=-align-all-functions=6";
    // Cargo uses the first of these variables that is set, and then ignores the flags in its
    // configuration.
    for (name, separator) in [("CARGO_ENCODED_RUSTFLAGS", '\x1f'), ("RUSTFLAGS", ' ')] {
        if let Some(flags) = variable(name) {
            let flags = if flags.is_empty() {
                FLAG.to_owned()
            } else {
                format!("{flags}{separator}{FLAG}")
            };
            cargo.env(name, flags);
            return;
        }
    }
    // Flags for a target replace flags for all builds, but are joined with other flags for that
    // target.
    let directory = cargo.get_current_dir().unwrap_or(Path::new("."));
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let above = directory.ancestors().map(|directory| directory.join(".cargo"));
    let is_for_target = has_target_flags(above.chain(cargo_home()));
    let table = if is_for_target { "target.'cfg(all())'" } else { "build" };
    cargo.arg("--config").arg(format!("{table}.rustflags=[\"{FLAG}\"]"));
}

/// Returns whether a cargo configuration in one of `directories` has `rustflags` for a target.
fn has_target_flags(directories: impl Iterator<Item = PathBuf>) -> bool {
    let files = directories
        .flat_map(|directory| ["config.toml", "config"].map(|name| directory.join(name)));
    files.filter_map(|file| std::fs::read_to_string(file).ok()?.parse::<toml::Table>().ok()).any(
        |config| {
            let targets = config.get("target").and_then(toml::Value::as_table);
            targets.is_some_and(|all| all.values().any(|one| one.get("rustflags").is_some()))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_aligned_beside_the_flags_that_the_user_wants() {
        let flag = "-Cllvm-args=-align-all-functions=6";
        assert!(aligned_command(&[]).contains("--config") && aligned_command(&[]).contains(flag));
        assert!(
            aligned_command(&[("RUSTFLAGS", "-Dwarnings")])
                .contains(&format!("RUSTFLAGS=\"-Dwarnings {flag}\""))
        );
        assert!(aligned_command(&[("RUSTFLAGS", "")]).contains(&format!("RUSTFLAGS=\"{flag}\"")));
        let both = aligned_command(&[
            ("RUSTFLAGS", "-Dwarnings"),
            ("CARGO_ENCODED_RUSTFLAGS", "-Ca\x1f-Cb"),
        ]);
        assert!(
            both.contains("CARGO_ENCODED_RUSTFLAGS")
                && !both.contains("-Dwarnings")
                && !both.contains("--config")
        );
    }

    #[test]
    fn functions_are_aligned_beside_flags_for_a_target() {
        let project = tempfile::tempdir().unwrap();
        let config = project.path().join("config.toml");
        for (text, expected) in [
            ("[build]\nrustflags = ['-Ca']", false),
            ("[target.x86_64-unknown-linux-gnu]\nlinker = 'lld'", false),
            ("[target.x86_64-unknown-linux-gnu]\nrustflags = ['-Ca']", true),
            ("[target.'cfg(unix)']\nrustflags = '-Ca'", true),
            ("not TOML", false),
        ] {
            std::fs::write(&config, text).unwrap();
            let directories = [project.path().to_owned()].into_iter();
            assert_eq!(has_target_flags(directories), expected, "{text}");
        }
    }

    #[test]
    fn crates_that_were_built_are_counted_and_every_message_is_kept() {
        let messages = "{\"reason\":\"compiler-artifact\",\"fresh\":true}\nplain text\n\
                        {\"reason\":\"build-script-executed\"}\n\
                        {\"reason\":\"compiler-artifact\"}\nno newline";
        for (interval, expected) in [(Duration::ZERO, 2), (Duration::MAX, 0)] {
            let mut notes = Vec::new();
            let mut listener = |event: &Event| notes.push(format!("{event:?}"));
            let all = read_messages(messages.as_bytes(), interval, &mut listener).unwrap();
            assert_eq!(all, messages.as_bytes());
            assert_eq!(notes.len(), expected, "{notes:?}");
            assert!(notes.last().is_none_or(|last| last.contains("2 crates")), "{notes:?}");
        }
    }

    /// Returns the command line of cargo with these variables set.
    fn aligned_command(variables: &[(&str, &str)]) -> String {
        let mut cargo = Command::new("cargo");
        align_functions(&mut cargo, |name| {
            let (_, flags) = variables.iter().find(|(known, _)| *known == name)?;
            Some((*flags).to_owned())
        });
        format!("{cargo:?}")
    }
}
