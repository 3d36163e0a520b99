//! Questions asked in a child process with a time limit: loading and initializing a vendor's
//! library may crash or hang, and so may its compiler; who asks must survive it.
//!
//! The program starts itself with [`ARGUMENT`] and the backend's name; there it calls [`answer`],
//! which prints one line. With an architecture behind them the question is whether the backend's
//! compiler knows it: [`answer_compiles`].

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

/// The first argument that makes a program tell devices; the second is the backend's name.
pub const ARGUMENT: &str = "__devices";

/// The first argument that makes a program tell what a compiler knows; the second is the backend's
/// name, the third an architecture. Without one the question is whether there is a compiler.
pub const COMPILES_ARGUMENT: &str = "__compiles";

/// How long a runtime may take to start. The first start after a boot loads some hundred megabytes
/// from disk.
pub const LIMIT: Duration = Duration::from_secs(20);

/// Libraries may print to standard output too; the answer is the line that starts so.
const MARK: &str = "rsb-answer:";

/// The devices of `backend` here, asked in this process; for the child alone.
///
/// # Errors
/// When standard output cannot be written.
pub fn answer(backends: &Registry, backend: &str) -> std::io::Result<()> {
    let known = backends.iter().find(|known| known.id().as_str() == backend);
    let devices = match known {
        Some(known) => devices_here(known),
        None => Err(Reason::new(
            format!("backend {backend}"),
            "this build lacks it",
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

/// Whether there is a compiler of `backend`, and it knows `arch`, found out in this process; for
/// the child alone.
///
/// # Errors
/// When standard output cannot be written.
pub fn answer_compiles(
    backends: &Registry,
    backend: &str,
    arch: Option<&str>,
) -> std::io::Result<()> {
    let opened = match backend.parse() {
        Ok(backend) => backends.compiler(backend),
        Err(_) => Err(Reason::new(
            format!("backend {backend}"),
            "there is none of this name",
            "choose another",
        )),
    };
    let known = opened.and_then(|compiler| {
        let Some(arch) = arch else { return Ok(()) };
        // A small source, not optimized: only whether it comes to an end counts.
        let job = Job::cold("convolution", arch, Level::O0);
        compiler.compile(&job).map(drop)
    });
    say(&known)
}

fn say(answer: &impl serde::Serialize) -> std::io::Result<()> {
    let text = serde_json::to_string(answer)?;
    // On a line of its own, whatever a library has printed before.
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{MARK}{text}")?;
    out.flush()
}

/// The devices of `backend` here, asked in a child: `program` with [`ARGUMENT`] and the backend's
/// name.
///
/// # Errors
/// What the backend says; or how the child ended, when it crashed or took longer than `limit`: it
/// is broken then.
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
            Err(broken_backend(backend, format!("its answer cannot be read: {error}")))
        }
        None => Err(broken_backend(
            backend,
            format!("starting its runtime ended the process that asked ({ended})"),
        )),
    }
}

fn broken_backend(backend: BackendId, why: String) -> Absence {
    Absence::Broken(Reason::new(
        format!("devices of {backend}"),
        why,
        "look whether the vendor's own tool (rocminfo, nvidia-smi, vulkaninfo, clinfo) works; \
         reinstall the driver or its runtime if not",
    ))
}

/// Whether there is a compiler of `backend`, asked in a child: `program` with [`COMPILES`] and the
/// backend's name.
///
/// # Errors
/// When there is none, or it does not load.
pub fn compiler(program: &Path, backend: BackendId, limit: Duration) -> Result<(), Reason> {
    parse_answer(
        run(program, &[COMPILES_ARGUMENT, backend.as_str()], limit),
        |why| {
            let cure = "reinstall the package that it came with";
            Reason::new(format!("compiler of {backend}"), why, cure)
        },
        "loading it ended the process that asked",
    )
}

/// A compiler that is asked about: its backend, its name and the ROCm or CUDA that it is of.
#[derive(Debug, Clone, Copy)]
pub struct CompilerQuery {
    backend: BackendId,
    name: &'static str,
    release: Option<ToolkitRelease>,
}

impl CompilerQuery {
    /// That of `backend`, which is loaded.
    pub fn of(backend: BackendId, compiler: &dyn KernelCompiler) -> Self {
        Self { backend, name: compiler.name(), release: compiler.release() }
    }
}

/// Whether the compiler of a backend knows `arch`, asked in a child: `program` with [`COMPILES`],
/// the backend's name and the architecture.
///
/// # Errors
/// When there is no compiler, or it does not know the architecture, be it that it ends the process
/// over it: which release does, where that is known.
pub fn compiles(
    program: &Path,
    asked: CompilerQuery,
    arch: &str,
    limit: Duration,
) -> Result<(), Reason> {
    let CompilerQuery { backend, name, release } = asked;
    let ended = format!("the compiler of {backend} does not know {arch}: it ended its process");
    let answered = parse_answer(
        run(program, &[COMPILES_ARGUMENT, backend.as_str(), arch], limit),
        |why| {
            let cure =
                "install a newer version of the compiler, or choose an architecture that it knows";
            Reason::new(format!("compilation for {arch}"), why, cure)
        },
        &ended,
    );
    // Asked all the same: a vendor may know a GPU before it says so.
    answered.map_err(|reason| {
        release.and_then(|release| architecture::unknown(name, release, arch)).unwrap_or(reason)
    })
}

/// The answer of a child about a compiler.
fn parse_answer(
    answered: Result<(String, ExitStatus), String>,
    failed: impl Fn(String) -> Reason,
    died: &str,
) -> Result<(), Reason> {
    let (text, ended) = answered.map_err(&failed)?;
    let line = text.lines().rev().find_map(|line| line.strip_prefix(MARK));
    match line.map(serde_json::from_str::<Result<(), Reason>>) {
        Some(Ok(answer)) => answer,
        Some(Err(error)) => Err(failed(format!("its answer cannot be read: {error}"))),
        None => Err(failed(format!("{died} ({ended})"))),
    }
}

/// What the child wrote and how it ended.
fn run(
    program: &Path,
    arguments: &[&str],
    limit: Duration,
) -> Result<(String, ExitStatus), String> {
    let answer = timed_child::run(Command::new(program).args(arguments), Stderr::Discard, limit)
        .map_err(|error| format!("cannot start {}: {error}", program.display()))?;
    match answer.status {
        Some(status) => Ok((answer.stdout, status)),
        // An answer stands, even when the runtime then hangs while it is taken down.
        None if answer.stdout.contains(MARK) => Ok((answer.stdout, ExitStatus::default())),
        None => Err(format!("it did not answer within {} s", limit.as_secs_f64())),
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
            [("kill -ABRT $$", "does not know gfx9000"), ("echo no", "does not know gfx9000")]
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
            (Some((5, 2)), "hiprtc 5.2 does not know gfx950; ROCm 7.0 does"),
            (Some((7, 2)), "the compiler of rocm does not know gfx950: it ended its process"),
            (None, "the compiler of rocm does not know gfx950: it ended its process"),
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
        assert_eq!(answered, Ok(()), "it knows it early");
    }

    #[test]
    fn each_way_to_die_is_a_reason() {
        for (script, limit, word) in [
            ("kill -ABRT $$", LONG, "signal"),
            ("exit 3", LONG, "exit"),
            ("exec sleep 600", Duration::from_millis(50), "did not answer within"),
            ("printf rsb-ans; exec sleep 600", Duration::from_millis(50), "did not answer within"),
            ("echo 'rsb-answer:nonsense'", LONG, "cannot be read"),
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
