//! Selection of the Python interpreter that framework workloads start.
//!
//! Order: `MLSTACK_BENCHMARK_PYTHON`, `MLSTACK_PYTHON_BIN`, the active virtual environment, conda,
//! `UV_PYTHON` if it is a path, the environment made by `python setup`, and `PATH`. The shims of
//! pyenv are shell scripts that take 0.1 s, so their target is read from pyenv's files instead.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::host::{Host, PYTHON, entries, read_start, read_text};

/// A program that runs Python.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PythonCandidate {
    /// An interpreter whose surrounding files identify it.
    Program(PathBuf),
    /// A script or a version manager that selects and starts an interpreter.
    Launcher(PathBuf),
}

/// Returns the interpreter, if there is one. If an environment variable names a missing
/// interpreter, no other interpreter is used, because the user requested that one.
pub(crate) fn interpreter(host: &Host) -> Option<PythonCandidate> {
    if let Some(value) = configured_program(host) {
        let path = Path::new(value);
        return if path.components().count() > 1 {
            resolve(host, path, value)
        } else {
            on_path(host, value)
        };
    }
    let active = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().find_map(|name| {
        let bin = Path::new(host.variable(name)?).join("bin");
        NAMES.iter().find_map(|name| resolve(host, &bin.join(name), OsStr::new(name)))
    });
    active
        .or_else(|| in_uv_variable(host))
        .or_else(|| in_own_environment(host))
        .or_else(|| NAMES.iter().find_map(|name| on_path(host, OsStr::new(name))))
}

/// Returns the interpreter that `UV_PYTHON` names, if it is a path.
fn in_uv_variable(host: &Host) -> Option<PythonCandidate> {
    let path = Path::new(host.variable("UV_PYTHON")?);
    if path.components().count() <= 1 {
        return None;
    }
    resolve(host, path, path.as_os_str())
}

/// Returns the interpreter of the environment made by `python setup`.
fn in_own_environment(host: &Host) -> Option<PythonCandidate> {
    resolve(host, &own_environment(host)?.join("bin/python3"), OsStr::new("python3"))
}

/// Returns the interpreter that a flag or a variable of this project names, even if there is no
/// such interpreter.
pub(crate) fn configured_program(host: &Host) -> Option<&OsStr> {
    [PYTHON, "MLSTACK_PYTHON_BIN"].into_iter().find_map(|name| host.variable(name))
}

/// Returns the directory of the environment that `python setup` makes.
pub(crate) fn own_environment(host: &Host) -> Option<PathBuf> {
    let data = variable_dir(host, "XDG_DATA_HOME")
        .or_else(|| variable_dir(host, "HOME").map(|home| home.join(".local/share")));
    Some(data?.join("rusty-stack-bench/python"))
}

/// Returns the directory in an environment variable.
fn variable_dir(host: &Host, name: &str) -> Option<PathBuf> {
    host.variable(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

const NAMES: [&str; 2] = ["python3", "python"];

fn on_path(host: &Host, name: &OsStr) -> Option<PythonCandidate> {
    std::env::split_paths(host.variable("PATH")?)
        .find_map(|dir| resolve(host, &dir.join(name), name))
}

/// Returns the program that `path` starts when it is called `name`.
fn resolve(host: &Host, path: &Path, name: &OsStr) -> Option<PythonCandidate> {
    if !is_program(path) {
        return None;
    }
    let Some(script) = script(path) else {
        // Version managers written in Rust or Go are a single program with many names.
        let real = std::fs::canonicalize(path).ok()?;
        let is_python = real.file_name()?.to_str()?.starts_with("py");
        return Some(if is_python {
            PythonCandidate::Program(path.to_owned())
        } else {
            PythonCandidate::Launcher(path.to_owned())
        });
    };
    if script.contains("/libexec/pyenv") || script.contains("pyenv exec") {
        let versions = Pyenv::of(host, path)?;
        // With "system", or a version without such a program, the shim continues along PATH, so
        // this search does as well.
        return versions.program(name).map(PythonCandidate::Program);
    }
    Some(PythonCandidate::Launcher(path.to_owned()))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

/// Returns the beginning of a script; `None` if the file is an executable.
fn script(path: &Path) -> Option<String> {
    read_start(path, 4096).filter(|text| text.starts_with("#!"))
}

/// The versions of Python that pyenv has selected.
struct Pyenv {
    root: PathBuf,
    selected: Vec<String>,
}

impl Pyenv {
    /// Reads the selection: `PYENV_VERSION`, the nearest `.python-version`, or the global one.
    fn of(host: &Host, shim: &Path) -> Option<Self> {
        let root = match host.variable("PYENV_ROOT") {
            Some(root) => PathBuf::from(root),
            None => shim.parent()?.parent()?.to_owned(),
        };
        let by_variable =
            host.variable("PYENV_VERSION").map(|value| value.to_string_lossy().replace(':', "\n"));
        let chosen = by_variable
            .or_else(|| {
                host.dir().ancestors().find_map(|dir| read_text(&dir.join(".python-version")))
            })
            .or_else(|| read_text(&root.join("version")))
            .unwrap_or_default();
        let words = chosen
            .lines()
            .filter(|line| !line.trim_start().starts_with('#'))
            .flat_map(str::split_whitespace);
        let selected = words.map(str::to_owned).collect();
        Some(Self { root, selected })
    }

    fn program(&self, name: &OsStr) -> Option<PathBuf> {
        self.selected.iter().find_map(|version| {
            let program = self
                .root
                .join("versions")
                .join(self.resolve_version(version)?)
                .join("bin")
                .join(name);
            is_program(&program).then_some(program)
        })
    }

    /// Returns the directory of a version. `3.11` selects the newest installed 3.11.
    fn resolve_version(&self, version: &str) -> Option<String> {
        let version = version.strip_prefix("python-").unwrap_or(version);
        let all = entries(&self.root.join("versions"));
        if all.iter().any(|name| name == version) {
            return Some(version.to_owned());
        }
        all.into_iter()
            .filter(|name| patch_number(name, version).is_some())
            .max_by_key(|name| patch_number(name, version))
    }
}

/// Returns the patch number: 7 for `3.11.7` if `version` is `3.11`.
fn patch_number(name: &str, version: &str) -> Option<u32> {
    name.strip_prefix(version)?.strip_prefix('.')?.parse().ok()
}
