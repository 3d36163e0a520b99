//! Device and compiler queries in a child process with a time limit. Loading a vendor library,
//! initializing it or running its compiler may crash or hang, which the parent process must
//! survive.
//!
//! The program starts itself with [`ARGUMENT`] and the backend's name, and then calls [`answer`],
//! which prints one line. With [`COMPILES_ARGUMENT`], the backend's name and an architecture, it
//! calls [`answer_compiles`], which checks whether the backend's compiler supports the
//! architecture.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use rsb_model::architecture::{self, ToolkitRelease};
use rsb_model::{BackendId, Reason};
use timed_child::Stderr;

use crate::compiler::{Job, KernelCompiler, Level};
use crate::device::{Absence, Backend, DeviceInfo};
use crate::registry::Registry;

/// First argument that makes the program list devices. The second argument is the backend's name.
pub const ARGUMENT: &str = "__devices";

/// First argument that makes the program check a compiler. The second argument is the backend's
/// name, the third an architecture; without an architecture, only the presence of a compiler is
/// checked.
pub const COMPILES_ARGUMENT: &str = "__compiles";

/// Time limit for starting a runtime. The first start after a boot loads some hundred megabytes
/// from disk.
pub const LIMIT: Duration = Duration::from_secs(20);

/// Prefix of the answer line. Libraries may print to standard output too.
const MARK: &str = "rsb-answer:";

/// Prints the devices of `backend`, queried in this process. Called only in the child.
///
/// # Errors
/// If standard output cannot be written.
pub fn answer(backends: &Registry, backend: &str) -> std::io::Result<()> {
    let known = backends.iter().find(|known| known.id().as_str() == backend);
    let devices = match known {
        Some(known) => devices_here(known),
        None => Err(Reason::new(
            format!("backend {backend}"),
            "this build does not include this backend",
            "choose another backend",
        )
        .into()),
    };
    say(&devices)
}

fn devices_here(backend: &dyn Backend) -> Result<Vec<DeviceInfo>, Absence> {
    backend
        .devices()
        .map_err(|reason| backend.defect().map_or(Absence::Missing(reason), Absence::Broken))
}

/// Prints whether `backend` has a compiler and, with `arch`, whether it supports that architecture.
/// Called only in the child.
///
/// # Errors
/// If standard output cannot be written.
pub fn answer_compiles(
    backends: &Registry,
    backend: &str,
    arch: Option<&str>,
) -> std::io::Result<()> {
    let opened = match backend.parse() {
        Ok(backend) => backends.compiler(backend),
        Err(_) => Err(Reason::new(
            format!("backend {backend}"),
            "unknown backend",
            "choose another backend",
        )),
    };
    let known = opened.and_then(|compiler| {
        let Some(arch) = arch else { return Ok(()) };
        // The source is small and not optimized, since only successful completion matters.
        let job = Job::cold("convolution", arch, Level::O0);
        compiler.compile(&job).map(drop)
    });
    say(&known)
}

fn say(answer: &impl serde::Serialize) -> std::io::Result<()> {
    let text = serde_json::to_string(answer)?;
    // Starts a new line, since a library may have printed a partial one.
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{MARK}{text}")?;
    out.flush()
}

/// Returns the devices of `backend`, queried in a child process: `program` with [`ARGUMENT`] and
/// the backend's name.
///
/// # Errors
/// The absence that the backend reports, or [`Absence::Broken`] if the child crashed (with its exit
/// status) or took longer than `limit`.
pub fn devices(
    program: &Path,
    backend: BackendId,
    limit: Duration,
) -> Result<Vec<DeviceInfo>, Absence> {
    let (text, ended) = run(program, &[ARGUMENT, backend.as_str()], limit)
        .map_err(|why| broken_backend(backend, why))?;
    let line = text.lines().rev().find_map(|line| line.strip_prefix(MARK));
    match line.map(serde_json::from_str::<Result<Vec<DeviceInfo>, Absence>>) {
        Some(Ok(answer)) => answer,
        Some(Err(error)) => {
            Err(broken_backend(backend, format!("its response cannot be parsed: {error}")))
        }
        None => Err(broken_backend(
            backend,
            format!("the probe process ended while it started the runtime ({ended})"),
        )),
    }
}

fn broken_backend(backend: BackendId, why: String) -> Absence {
    Absence::Broken(Reason::new(
        format!("devices of {backend}"),
        why,
        "run the vendor's tool (rocminfo, nvidia-smi, vulkaninfo, clinfo); if it fails too, \
         reinstall the driver or its runtime",
    ))
}

/// Checks that `backend` has a compiler, in a child process: `program` with [`COMPILES_ARGUMENT`]
/// and the backend's name.
///
/// # Errors
/// If there is no compiler, or it cannot be loaded.
pub fn compiler(program: &Path, backend: BackendId, limit: Duration) -> Result<(), Reason> {
    parse_answer(
        run(program, &[COMPILES_ARGUMENT, backend.as_str()], limit),
        |why| {
            let cure = "reinstall the package that contains the compiler";
            Reason::new(format!("compiler of {backend}"), why, cure)
        },
        "the probe process ended while it loaded the compiler",
    )
}

/// A compiler to query: its backend, its name and the ROCm or CUDA release it belongs to.
#[derive(Debug, Clone, Copy)]
pub struct CompilerQuery {
    backend: BackendId,
    name: &'static str,
    release: Option<ToolkitRelease>,
}

impl CompilerQuery {
    /// Describes the loaded `compiler` of `backend`.
    pub fn of(backend: BackendId, compiler: &dyn KernelCompiler) -> Self {
        Self { backend, name: compiler.name(), release: compiler.release() }
    }
}

/// Checks that the compiler of a backend supports `arch`, in a child process: `program` with
/// [`COMPILES_ARGUMENT`], the backend's name and the architecture.
///
/// # Errors
/// If there is no compiler, or if it rejects the architecture or crashes on it. The error names the
/// first release that supports the architecture, if known.
pub fn compiles(
    program: &Path,
    query: CompilerQuery,
    arch: &str,
    limit: Duration,
) -> Result<(), Reason> {
    let CompilerQuery { backend, name, release } = query;
    let ended =
        format!("the compiler of {backend} does not support {arch}: its process ended early");
    let answered = parse_answer(
        run(program, &[COMPILES_ARGUMENT, backend.as_str(), arch], limit),
        |why| {
            let cure = "install a newer version of the compiler, or choose an architecture that it \
                        supports";
            Reason::new(format!("compilation for {arch}"), why, cure)
        },
        &ended,
    );
    // The compiler is queried even if the release table lacks the GPU: a vendor may support a GPU
    // before documenting it.
    answered.map_err(|reason| {
        release.and_then(|release| architecture::unknown(name, release, arch)).unwrap_or(reason)
    })
}

/// Parses a child's answer about a compiler.
fn parse_answer(
    answered: Result<(String, ExitStatus), String>,
    failed: impl Fn(String) -> Reason,
    died: &str,
) -> Result<(), Reason> {
    let (text, ended) = answered.map_err(&failed)?;
    let line = text.lines().rev().find_map(|line| line.strip_prefix(MARK));
    match line.map(serde_json::from_str::<Result<(), Reason>>) {
        Some(Ok(answer)) => answer,
        Some(Err(error)) => Err(failed(format!("its response cannot be parsed: {error}"))),
        None => Err(failed(format!("{died} ({ended})"))),
    }
}

/// Runs the child and returns its standard output and exit status.
fn run(
    program: &Path,
    arguments: &[&str],
    limit: Duration,
) -> Result<(String, ExitStatus), String> {
    let answer = timed_child::run(Command::new(program).args(arguments), Stderr::Discard, limit)
        .map_err(|error| format!("cannot start {}: {error}", program.display()))?;
    match answer.status {
        Some(status) => Ok((answer.stdout, status)),
        // An answer is valid even if the runtime hangs afterwards during teardown.
        None if answer.stdout.contains(MARK) => Ok((answer.stdout, ExitStatus::default())),
        None => Err(format!("no response within {} s", limit.as_secs_f64())),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn with_program<T>(script: &str, ask: impl Fn(&Path) -> T) -> T {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("program");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        ask(&program)
    }

    fn query_devices(script: &str, limit: Duration) -> Result<Vec<DeviceInfo>, Absence> {
        with_program(script, |program| devices(program, BackendId::Rocm, limit))
    }

    fn asked_to_compile(script: &str) -> Result<(), Reason> {
        let asked =
            CompilerQuery { backend: BackendId::Rocm, name: "hiprtc", release: Some((5, 2)) };
        with_program(script, |program| compiles(program, asked, "gfx9000", LONG))
    }

    const LONG: Duration = Duration::from_mins(1);

    #[test]
    fn an_answer_comes_through_whatever_else_is_printed() {
        let answer = query_devices(r#"echo noise; echo 'rsb-answer:{"Ok":[]}'; echo more"#, LONG);
        assert_eq!(answer, Ok(Vec::new()));
        for (said, meant) in [
            ("Missing", Absence::Missing(Reason::new("a", "b", "c"))),
            ("Broken", Absence::Broken(Reason::new("a", "b", "c"))),
        ] {
            let line = format!(
                r#"echo 'rsb-answer:{{"Err":{{"{said}":{{"what":"a","why":"b","cure":"c"}}}}}}'"#
            );
            assert_eq!(query_devices(&line, LONG), Err(meant));
        }
    }

    #[test]
    fn an_answer_stands_though_the_child_then_hangs() {
        let answer =
            query_devices(r#"echo 'rsb-answer:{"Ok":[]}'; exec sleep 600"#, Duration::from_secs(1));
        assert_eq!(answer, Ok(Vec::new()));
    }

    #[test]
    fn a_compiler_that_ends_its_process_does_not_know_the_architecture() {
        for (script, word) in
            [("kill -ABRT $$", "does not support gfx9000"), ("echo no", "does not support gfx9000")]
        {
            let reason = asked_to_compile(script).unwrap_err();
            assert!(
                reason.what.contains("gfx9000") && reason.why.contains(word),
                "{script}: {reason}"
            );
        }
        assert_eq!(
            asked_to_compile(
                r#"echo "$@" | grep -q '__compiles rocm gfx9000' && echo 'rsb-answer:{"Ok":null}'"#
            ),
            Ok(())
        );
    }

    #[test]
    fn what_a_compiler_does_not_know_names_the_first_release_that_does() {
        for (release, said) in [
            (Some((5, 2)), "hiprtc 5.2 does not support gfx950; ROCm 7.0 does"),
            (Some((7, 2)), "the compiler of rocm does not support gfx950: its process ended early"),
            (None, "the compiler of rocm does not support gfx950: its process ended early"),
        ] {
            let asked = CompilerQuery { backend: BackendId::Rocm, name: "hiprtc", release };
            let reason =
                with_program("kill -ABRT $$", |program| compiles(program, asked, "gfx950", LONG))
                    .unwrap_err();
            assert!(reason.why.starts_with(said), "{reason}");
        }
        let early =
            CompilerQuery { backend: BackendId::Rocm, name: "hiprtc", release: Some((6, 4)) };
        let answered = with_program(r#"echo 'rsb-answer:{"Ok":null}'"#, |program| {
            compiles(program, early, "gfx950", LONG)
        });
        assert_eq!(
            answered,
            Ok(()),
            "an earlier release whose compiler accepts the target must pass"
        );
    }

    #[test]
    fn each_way_to_die_is_a_reason() {
        for (script, limit, word) in [
            ("kill -ABRT $$", LONG, "signal"),
            ("exit 3", LONG, "exit"),
            ("exec sleep 600", Duration::from_millis(50), "no response within"),
            ("printf rsb-ans; exec sleep 600", Duration::from_millis(50), "no response within"),
            ("echo 'rsb-answer:nonsense'", LONG, "cannot be parsed"),
        ] {
            match query_devices(script, limit).unwrap_err() {
                Absence::Broken(reason) => {
                    assert!(
                        reason.why.contains(word) && reason.what.contains("rocm"),
                        "{script}: {reason}"
                    );
                }
                missing @ Absence::Missing(_) => panic!("{script}: {missing}"),
            }
        }
        let nowhere = devices(Path::new("/nonexistent"), BackendId::Rocm, LONG).unwrap_err();
        assert!(nowhere.to_string().contains("cannot start"), "{nowhere}");
    }
}
