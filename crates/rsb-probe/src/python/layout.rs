//! Files around an interpreter, which contain its version and the locations of its packages.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::child::{self, ChildEnd};
use crate::host::{Host, entries, read_text};

/// An interpreter and its directories.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Version, such as `3.11.7`.
    pub(crate) version: String,
    /// Directory of the installation or of the virtual environment.
    prefix: PathBuf,
    /// Installation on which a virtual environment is based.
    base: PathBuf,
    /// Whether packages outside the virtual environment are visible.
    sees_system: bool,
}

impl Layout {
    pub(crate) fn of(program: &Path, limit: Duration) -> Option<Self> {
        // A virtual environment is identified by the path of the called program, an installation by
        // the target of its links.
        let prefix = program.parent()?.parent()?;
        if let Some(config) = read_text(&prefix.join("pyvenv.cfg")) {
            return Self::of_environment(prefix, program, &config, limit);
        }
        let real = std::fs::canonicalize(program).ok()?;
        let prefix = real.parent()?.parent()?.to_owned();
        let version = by_files(&prefix, &real).or_else(|| by_option(program, limit))?;
        Some(Self { version, base: prefix.clone(), prefix, sees_system: true })
    }

    /// Reads `pyvenv.cfg`, written by venv (`version`), virtualenv and uv (`version_info`).
    fn of_environment(
        prefix: &Path,
        program: &Path,
        config: &str,
        limit: Duration,
    ) -> Option<Self> {
        let recorded = ["version", "version_info"]
            .into_iter()
            .find_map(|name| whole(config_value(config, name)?));
        let version = recorded.or_else(|| by_option(program, limit))?;
        let bin = config_value(config, "home");
        let base = bin.and_then(|bin| Path::new(bin).parent()).unwrap_or(prefix).to_owned();
        let sees_system = config_value(config, "include-system-site-packages")
            .is_some_and(|yes| yes.eq_ignore_ascii_case("true"));
        Some(Self { version, prefix: prefix.to_owned(), base, sees_system })
    }

    /// Runs a program that cannot be identified by files.
    pub(crate) fn by_asking(program: &Path, limit: Duration) -> Option<Self> {
        const SCRIPT: &str =
            "import sys; v = sys.version_info; print('%d.%d.%d' % v[:3]); print(sys.executable)";
        let mut command = Command::new(program);
        command.args(["-I", "-S", "-c", SCRIPT]);
        let ChildEnd::Well(answer) = child::run(command, limit) else { return None };
        let mut lines = answer.lines();
        let version = whole(lines.next()?)?;
        let found = Self::of(Path::new(lines.next()?), limit)?;
        Some(Self { version, ..found })
    }

    /// Returns the directories that are searched for packages, in Python's order.
    pub(crate) fn search_path(&self, host: &Host) -> Vec<PathBuf> {
        let short = self.version.splitn(3, '.').take(2).collect::<Vec<_>>().join(".");
        let mut dirs: Vec<PathBuf> = host
            .variable("PYTHONPATH")
            .map(|path| std::env::split_paths(path).collect())
            .unwrap_or_default();
        let is_environment = self.prefix != self.base;
        if is_environment {
            dirs.extend(["lib", "lib64"].map(|lib| site_packages(&self.prefix.join(lib), &short)));
        }
        if !self.sees_system {
            return dirs;
        }
        if host.variable("PYTHONNOUSERSITE").is_none()
            && let Some(home) = host.variable("HOME")
        {
            dirs.push(site_packages(&Path::new(home).join(".local/lib"), &short));
        }
        // Debian's layout: packages installed by pip are in /usr/local, those of the distribution
        // in a directory without a minor version.
        let debian = self.base == Path::new("/usr");
        if debian {
            dirs.push(PathBuf::from(format!("/usr/local/lib/python{short}/dist-packages")));
        }
        dirs.extend(["lib", "lib64"].map(|lib| site_packages(&self.base.join(lib), &short)));
        if debian {
            dirs.push(self.base.join("lib/python3/dist-packages"));
        }
        dirs
    }
}

/// Returns the value of a line `name = value` of `pyvenv.cfg`.
fn config_value<'a>(config: &'a str, name: &str) -> Option<&'a str> {
    let line =
        config.lines().find_map(|line| line.split_once('=').filter(|row| row.0.trim() == name));
    line.map(|row| row.1.trim())
}

/// Returns the directory of packages for Python `short`, such as `3.11`, below `library`.
fn site_packages(library: &Path, short: &str) -> PathBuf {
    library.join(format!("python{short}")).join("site-packages")
}

/// Returns the version of an installation from C headers, conda's records, or the name of its
/// directory (pyenv).
fn by_files(prefix: &Path, program: &Path) -> Option<String> {
    let short = program.file_name()?.to_str()?.strip_prefix("python")?;
    let header = read_text(&prefix.join(format!("include/python{short}/patchlevel.h")));
    let by_header = header.as_deref().and_then(|text| {
        let define =
            text.lines().find_map(|line| line.trim().strip_prefix("#define PY_VERSION "))?;
        whole(define.trim().trim_matches('"'))
    });
    let version =
        by_header.or_else(|| by_conda(prefix)).or_else(|| whole(prefix.file_name()?.to_str()?))?;
    version.starts_with(&format!("{short}.")).then_some(version)
}

fn by_conda(prefix: &Path) -> Option<String> {
    entries(&prefix.join("conda-meta"))
        .iter()
        .find_map(|name| whole(name.strip_prefix("python-")?.split('-').next()?))
}

/// Runs `python3 -V`, which takes a few milliseconds and imports nothing.
fn by_option(program: &Path, limit: Duration) -> Option<String> {
    let mut command = Command::new(program);
    command.arg("-V");
    let ChildEnd::Well(answer) = child::run(command, limit) else { return None };
    whole(answer.trim().strip_prefix("Python ")?)
}

/// Returns the three numbers of a version: `3.11.7` for `3.11.7.final.0` or `3.11.7+`, and `3.14.0`
/// for `3.14.0rc1`.
fn whole(text: &str) -> Option<String> {
    let mut parts = text.trim().splitn(3, '.');
    let (major, minor) = (parts.next()?, parts.next()?);
    let patch = parts.next()?;
    let digits = patch.find(|c: char| !c.is_ascii_digit()).map_or(patch, |end| &patch[..end]);
    let numbers = [major, minor, digits];
    numbers.iter().all(|number| number.parse::<u32>().is_ok()).then(|| numbers.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_three_numbers() {
        for (text, expected) in [
            ("3.11.7", Some("3.11.7")),
            ("3.11.7.final.0", Some("3.11.7")),
            ("3.14.0rc1", Some("3.14.0")),
            ("3.12.1+", Some("3.12.1")),
            ("3.11", None),
            ("pypy3.10", None),
            ("3.x.1", None),
            ("", None),
        ] {
            assert_eq!(whole(text).as_deref(), expected, "{text}");
        }
    }
}
