//! The worker that embeds Python: finds it, checks that it matches the environment, and starts it.

use std::path::{Path, PathBuf};

use rsb_catalog::frameworks::{self, PythonEnvironment};
use rsb_catalog::models::MODELS;
use rsb_model::{Obstacle, Reason};

use crate::worker_command::{self, WorkerCommand};

/// File name of the worker program.
pub const WORKER_PROGRAM: &str = "rsb-python-worker";

/// Variable with the path of the interpreter that has QNN; default: the one installed by `python
/// setup qnn`.
const QNN_PYTHON: &str = "RSB_QNN_PYTHON";

/// Returns the command that starts the Python worker built together with `program`, for cases of
/// `component`.
///
/// # Errors
/// If there is no worker or no Python, or their versions do not match.
pub fn command(program: &Path, component: &str) -> Result<WorkerCommand, Reason> {
    let worker = beside(program)?;
    let python = python_of(component)?;
    fits(program, &python)?;
    let mut variables = Vec::new();
    // Two installations may have a library of the same name, so the environment's own library must
    // be found first.
    if python.has_library() {
        let path = prepend_to_path("LD_LIBRARY_PATH", &python.library_dir);
        variables.push(("LD_LIBRARY_PATH", path));
    }
    // Programs that a framework starts (ninja, a compiler) are searched first in its environment.
    if let Some(dir) = python.program.parent() {
        variables.push(("PATH", prepend_to_path("PATH", dir)));
    }
    if component == MODELS && std::env::var_os(QNN_PYTHON).is_none() {
        variables.push((
            QNN_PYTHON,
            frameworks::qnn_program().map(|path| path.to_string_lossy().into_owned()),
        ));
    }
    let args = vec![python.program.to_string_lossy().into_owned()];
    Ok(WorkerCommand {
        program: worker,
        args,
        environment: variables,
        directory: None,
        pci_addresses: Vec::new(),
    })
}

/// Checks whether the component `name` can run here, from files only.
///
/// # Errors
/// The first missing requirement, with reason and remedy.
pub fn readiness(name: &str) -> Result<(), Reason> {
    beside(&this_program()?)?; // Without a worker nobody need be asked.
    let environment = python_of(name)?;
    readiness_in(name, &environment)
}

/// Returns whether the worker that runs frameworks is installed with this program.
pub fn is_installed() -> bool {
    this_program().is_ok_and(|program| beside(&program).is_ok())
}

/// Does the same as [`readiness`] in the given environment.
///
/// # Errors
/// The first missing requirement, with reason and remedy.
pub fn readiness_in(name: &str, environment: &PythonEnvironment) -> Result<(), Reason> {
    fits(&this_program()?, environment)?;
    let Some(component) = frameworks::find(name) else { return Ok(()) };
    if component.is_in(environment) { Ok(()) } else { Err(component.missing(environment)) }
}

fn this_program() -> Result<PathBuf, Reason> {
    std::env::current_exe().map_err(|error| {
        let why = format!("cannot find the path of this program: {error}");
        Reason::new("framework benchmarks", why, "mount /proc")
    })
}

/// Returns the Python environment in which the component `name` is measured.
fn python_of(name: &str) -> Result<PythonEnvironment, Reason> {
    frameworks::find(name).map_or_else(frameworks::default_environment, frameworks::of_component)
}

/// Returns the list of directories in the variable `name`, with `first` before them.
fn prepend_to_path(name: &str, first: &Path) -> Option<String> {
    let old = std::env::var_os(name).unwrap_or_default();
    let parts = std::iter::once(first.to_owned())
        .chain(std::env::split_paths(&old).filter(|part| part != ""));
    std::env::join_paths(parts).ok()?.into_string().ok()
}

/// Returns the worker in the directory of `program`.
///
/// # Errors
/// If this build has none.
fn beside(program: &Path) -> Result<PathBuf, Reason> {
    worker_command::beside(program, WORKER_PROGRAM).ok_or_else(|| {
        Reason::new(
            "framework benchmarks",
            format!("`{WORKER_PROGRAM}` is not in the directory of this program"),
            "install python3-dev and build with `--features frameworks`",
        )
    })
}

/// Checks that the worker next to `program` was built for the Python version of `environment`.
///
/// # Errors
/// If it was built for another version.
fn fits(program: &Path, environment: &PythonEnvironment) -> Result<(), Reason> {
    let worker = beside(program)?;
    let Some(built_for) =
        std::fs::read(&worker).ok().and_then(|bytes| linked_python_version(&bytes))
    else {
        return Ok(());
    };
    if environment.major_minor() == built_for {
        return Ok(());
    }
    let program = environment.program.display();
    Err(Reason::new(
        format!("Python at {program}"),
        format!(
            "its version is {}, but `{WORKER_PROGRAM}` was built for {built_for}",
            environment.version
        ),
        format!(
            "choose an environment with Python {built_for}, or build with `PYO3_PYTHON={program}`"
        ),
    )
    .of(Obstacle::MissingPackage))
}

/// Returns the version of Python that a program is linked with, from the name of the library in the
/// program's file.
fn linked_python_version(bytes: &[u8]) -> Option<String> {
    const NAME: &[u8] = b"libpython3.";
    bytes
        .windows(NAME.len())
        .enumerate()
        .filter(|(_, window)| *window == NAME)
        .find_map(|(at, _)| library_version(bytes.get(at + NAME.len()..)?))
}

/// Returns the version of Python in `rest`, the bytes that follow `libpython3.` in a file.
fn library_version(rest: &[u8]) -> Option<String> {
    let digits: String = rest
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .map(|&byte| char::from(byte))
        .collect();
    let ending = rest.get(digits.len()..)?;
    let is_library = ending.starts_with(b".so") || ending.starts_with(b".dylib");
    (is_library && !digits.is_empty()).then(|| format!("3.{digits}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_tells_its_python() {
        assert_eq!(
            linked_python_version(b"..libpython3.11.so.1.0\0libc.so").as_deref(),
            Some("3.11")
        );
        assert_eq!(
            linked_python_version(b"libpython3. libpython3.x libpython3.12.so").as_deref(),
            Some("3.12")
        );
        assert_eq!(linked_python_version(b"libpython3.so"), None);
        assert_eq!(linked_python_version(b"nothing"), None);
    }

    #[test]
    fn a_build_without_a_worker_says_how_to_get_one() {
        let dir = tempfile::tempdir().unwrap();
        let reason = beside(&dir.path().join("deps/frameworks-1")).unwrap_err();
        assert!(reason.cure.contains("--features frameworks"));
        std::fs::write(dir.path().join(WORKER_PROGRAM), "").unwrap();
        assert!(beside(&dir.path().join("deps/frameworks-1")).is_ok());
        assert!(beside(&dir.path().join("rusty-stack-bench")).is_ok());
    }

    #[test]
    fn another_version_of_python_is_refused_with_the_cure() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(WORKER_PROGRAM), "libpython3.11.so.1.0").unwrap();
        let program = dir.path().join("rusty-stack-bench");
        assert_eq!(fits(&program, &python("3.11.9")), Ok(()));
        let reason = fits(&program, &python("3.12.1")).unwrap_err();
        assert!(reason.why.contains("3.12.1") && reason.cure.contains("PYO3_PYTHON"), "{reason}");
    }

    fn python(version: &str) -> PythonEnvironment {
        PythonEnvironment {
            program: "/opt/python".into(),
            version: version.to_owned(),
            prefix: "/opt".into(),
            library_dir: "/opt/lib".into(),
            library: "libpython.so".to_owned(),
            packages: Vec::new(),
        }
    }
}
