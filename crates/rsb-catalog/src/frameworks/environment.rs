//! Python environment for frameworks: how it is found, and its properties.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use rsb_model::{Obstacle, Reason};
use serde::Deserialize;
use timed_child::Stderr;

use super::component::{Component, InstallPlace};
use super::components::QNN;

/// Time limit for an answer of the interpreter.
const LIMIT: Duration = Duration::from_secs(20);

/// Script run by the interpreter. It imports no framework.
const QUESTION: &str = "
import importlib.metadata, json, re, sys, sysconfig
known = {}
for package in importlib.metadata.distributions():
    name = package.metadata['Name']
    if name:
        known.setdefault(re.sub('[-_.]+', '-', name).lower(), package.version)
print('rsb-answer:' + json.dumps({
    'program': sys.executable,
    'version': '.'.join(str(part) for part in sys.version_info[:3]),
    'prefix': sys.prefix,
    'library_dir': sysconfig.get_config_var('LIBDIR') or '',
    'library': sysconfig.get_config_var('INSTSONAME') or sysconfig.get_config_var('LDLIBRARY') or '',
    'packages': sorted(known.items()),
}))
";

/// Python environment that works.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PythonEnvironment {
    /// Path of the interpreter, as reported by itself.
    pub program: PathBuf,
    /// Version, such as `3.11.7`.
    pub version: String,
    /// Directory of the environment.
    pub prefix: PathBuf,
    /// Directory of the Python library.
    pub library_dir: PathBuf,
    /// File name of the Python library.
    pub library: String,
    /// Installed packages and their versions, by normalized name.
    pub packages: Vec<(String, String)>,
}

impl PythonEnvironment {
    /// Returns major and minor version, such as `3.11`.
    pub fn major_minor(&self) -> &str {
        let second = self.version.match_indices('.').nth(1).map(|(at, _)| at);
        &self.version[..second.unwrap_or(self.version.len())]
    }

    /// Returns whether the Python library exists at the reported path.
    pub fn has_library(&self) -> bool {
        !self.library.is_empty() && self.library_dir.join(&self.library).is_file()
    }
}

/// Returns the versions of the packages in `environment` by name.
pub fn packages_of(environment: &PythonEnvironment) -> BTreeMap<&str, &str> {
    environment.packages.iter().map(|(name, version)| (name.as_str(), version.as_str())).collect()
}

/// Returns the environment in which frameworks are measured. The interpreter is queried once per
/// process.
///
/// # Errors
/// If there is no Python, or it does not respond.
pub fn default_environment() -> Result<PythonEnvironment, Reason> {
    match (rsb_probe::python_program(), rsb_probe::named_python()) {
        (Some(program), _) => ask_once(&program),
        (None, Some(named)) => Err(Reason::new(
            format!("Python at {}", named.display()),
            "it does not exist; if a Python is named, no other one is used",
            "name another with --python or MLSTACK_BENCHMARK_PYTHON, or create one with `python \
             setup pytorch`",
        )
        .of(Obstacle::MissingPackage)),
        (None, None) => Err(Reason::new(
            "Python",
            "not found in the environment variables, an active environment or PATH",
            "create an environment with `python setup pytorch`, or name one with --python",
        )
        .of(Obstacle::MissingPackage)),
    }
}

/// Returns the environment in which `component` is measured: the chosen one or, for a component
/// with a separate environment that the chosen one lacks, the environment made by `python setup`.
///
/// # Errors
/// As for [`default_environment`].
pub fn of_component(component: &Component) -> Result<PythonEnvironment, Reason> {
    let chosen = default_environment();
    if component.place == InstallPlace::Shared
        || chosen.as_ref().is_ok_and(|environment| component.is_in(environment))
    {
        return chosen;
    }
    program_apart(component).map_or(chosen, |program| ask_once(&program))
}

/// Returns the interpreter that `python setup` made for a component with a separate environment.
fn program_apart(component: &Component) -> Option<PathBuf> {
    apart(component).map(|dir| dir.join("bin/python3")).filter(|program| program.is_file())
}

/// Returns the interpreter of the environment that `python setup qnn` made, if there is one.
pub fn qnn_program() -> Option<PathBuf> {
    program_apart(&QNN)
}

/// Returns the directory in which `python setup` installs a component with a separate environment;
/// `None` if there is no home directory.
pub fn apart(component: &Component) -> Option<PathBuf> {
    let mut dir = rsb_probe::own_python_environment()?.into_os_string();
    dir.push("-");
    dir.push(component.name);
    Some(dir.into())
}

/// Queries an interpreter as [`ask`] does, but only once per process.
fn ask_once(program: &Path) -> Result<PythonEnvironment, Reason> {
    static KNOWN: Mutex<BTreeMap<PathBuf, Result<PythonEnvironment, Reason>>> =
        Mutex::new(BTreeMap::new());
    // A panic of another thread cannot leave the map incomplete.
    let mut known = KNOWN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    known.entry(program.to_owned()).or_insert_with(|| ask(program)).clone()
}

/// Queries the properties of the interpreter `program`.
///
/// # Errors
/// If it cannot be started, fails, takes too long, or prints an invalid answer.
pub fn ask(program: &Path) -> Result<PythonEnvironment, Reason> {
    let mut command = Command::new(program);
    command.args(["-c", QUESTION]);
    let output = timed_child::run(&mut command, Stderr::Keep, LIMIT)
        .map_err(|error| broken_python(program, format!("it cannot be started: {error}")))?;
    let answer = output.stdout.lines().find_map(|line| line.strip_prefix("rsb-answer:"));
    let answer = answer.and_then(|line| serde_json::from_str(line).ok());
    answer.ok_or_else(|| match output.status {
        None => broken_python(program, format!("it did not answer within {} s", LIMIT.as_secs())),
        Some(status) => {
            let last = output
                .stderr
                .lines()
                .rev()
                .find(|line| !line.trim().is_empty())
                .unwrap_or("no error message");
            broken_python(program, format!("it failed ({status}): {last}"))
        }
    })
}

fn broken_python(program: &Path, why: String) -> Reason {
    let cure = "recreate the environment with `python setup`, or name another with \
                MLSTACK_BENCHMARK_PYTHON";
    Reason::new(format!("Python at {}", program.display()), why, cure).of(Obstacle::MissingPackage)
}

impl Component {
    /// Returns whether `environment` contains the component, judged by the names of its packages.
    pub fn is_in(&self, environment: &PythonEnvironment) -> bool {
        let installed = packages_of(environment);
        self.packages.is_empty()
            || self.packages.iter().any(|package| installed.contains_key(*package))
    }

    /// Returns the reason why the component cannot be measured in `environment`: its package is
    /// missing.
    pub fn missing(&self, environment: &PythonEnvironment) -> Reason {
        let package = self.packages.first().copied().unwrap_or(self.name);
        Reason::new(
            format!("package {package}"),
            format!("it is not installed for the Python at {}", environment.program.display()),
            format!(
                "create an environment with `python setup {}`, or run `pip install {package}` in \
                 yours",
                self.name
            ),
        )
        .of(Obstacle::MissingPackage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn script(text: &str) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("python3");
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        (dir, path)
    }

    #[test]
    fn an_environment_says_what_it_is() {
        let answer = r#"{"program": "/opt/bin/python", "version": "3.11.7", "prefix": "/opt", "library_dir": "", "library": "", "packages": [["torch", "2.9"]]}"#;
        let (_dir, path) = script(&format!("echo noise\necho 'rsb-answer:{answer}'"));
        let found = ask(&path).unwrap();
        assert_eq!((found.major_minor(), packages_of(&found)["torch"]), ("3.11", "2.9"));
        assert!(!found.has_library());
    }

    #[test]
    fn a_broken_environment_is_named_with_what_it_said() {
        let (_dir, path) = script("echo 'ModuleNotFoundError: encodings' >&2; exit 1");
        let reason = ask(&path).unwrap_err();
        assert!(
            reason.why.contains("encodings") && reason.cure.contains("python setup"),
            "{reason}"
        );
        let missing = ask(Path::new("/nonexistent/python")).unwrap_err();
        assert!(
            missing.why.contains("cannot be started")
                && missing.what.contains("/nonexistent/python")
        );
    }
}
