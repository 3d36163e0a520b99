//! Runs cargo to build revisions: aligns functions to cache lines, and distinguishes a killed build
//! from a failed one.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};
use rsb_engine::judged;

use super::worktree::BuildTarget;
use crate::build_place::cargo_home;

/// Name of the package and program of this project.
pub(super) const PROGRAM: &str = "rusty-stack-bench";

/// Settings of the current release profile, for revisions from before it: both programs are built
/// alike, without the 70 MB of unused debug information.
const SMALL: [&str; 2] = ["profile.release.debug=false", "profile.release.strip=\"debuginfo\""];

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
        command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().context(
            "cannot start cargo; revisions are built here, which needs a Rust toolchain",
        )?;
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

/// Makes `cargo` start every function at a cache line, in addition to the flags in the user's
/// environment. Otherwise any change moves the functions behind it within their cache lines, and a
/// function with the same bytes in both programs is up to 10 % slower in one of them. This also
/// applies to revisions whose `.cargo/config.toml` does not do it.
pub(super) fn align_functions(cargo: &mut Command, variable: impl Fn(&str) -> Option<String>) {
    const FLAG: &str = "-Cllvm-args=-align-all-functions=6";
    // Cargo reads the first variable that is set, and then no flags of its configuration.
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
    // Flags for a target override those for all builds, and are joined with others for it.
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
