//! Profiles of cases: a tool runs the worker of each case once more, after all measurements, so
//! that timings are never taken under the tool.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use itertools::Itertools as _;
use rsb_model::shown::short_hash;
use rsb_model::{BackendId, BenchmarkResult, Case, Outcome, Reason};
use serde_json::json;

use super::assemble;
use super::client::{Worker, WorkerError};
use super::instructions::is_own_work;
use super::settings::Settings;
use crate::worker_command::WorkerCommand;

/// Iterations under the tool, after one warm-up iteration.
const ITERATIONS: u64 = 5;

/// A profiling tool.
#[derive(Debug)]
pub struct Profiler {
    /// Name of the tool on the command line.
    pub name: &'static str,
    /// Output of the tool.
    pub about: &'static str,
    program: &'static str,
    cure: &'static str,
    /// Returns whether the tool can see the work of a result.
    sees: fn(&BenchmarkResult) -> bool,
    /// Returns the arguments that precede the worker's command line; the path is the prefix of the
    /// names of output files.
    arguments: fn(&Path) -> Vec<String>,
}

/// Every supported profiler.
pub static PROFILERS: [Profiler; 3] = [
    Profiler {
        name: "rocprofv3",
        about: "timeline of HIP calls, kernels and copies, for cases on ROCm (.pftrace for \
                Perfetto, .csv)",
        program: "rocprofv3",
        cure: "install rocprofiler-sdk of ROCm 6.2 or newer, or set ROCM_PATH",
        sees: |result| is_on(result, BackendId::Rocm),
        arguments: |stem| {
            let [directory, name] =
                [stem.parent(), stem.file_name().map(Path::new)].map(|path| path.unwrap_or(stem));
            let [directory, name] = [directory, name].map(|path| path.display().to_string());
            let traces = [
                "--hip-trace",
                "--kernel-trace",
                "--memory-copy-trace",
                "--output-format",
                "pftrace",
                "csv",
            ];
            let place = [
                "--output-directory".to_owned(),
                directory,
                "--output-file".to_owned(),
                name,
                "--".to_owned(),
            ];
            traces.map(str::to_owned).into_iter().chain(place).collect()
        },
    },
    Profiler {
        name: "nsys",
        about: "timeline of CUDA and cuBLAS calls, kernels and copies, for cases on CUDA \
                (.nsys-rep for Nsight Systems)",
        program: "nsys",
        cure: "install NVIDIA's Nsight Systems and put nsys on PATH",
        sees: |result| is_on(result, BackendId::Cuda),
        arguments: |stem| {
            let how = [
                "profile",
                "--force-overwrite=true",
                "--trace=cuda,cublas,nvtx",
                "--sample=none",
                "--cpuctxsw=none",
            ]
            .map(str::to_owned);
            how.into_iter().chain([format!("--output={}", stem.display())]).collect()
        },
    },
    Profiler {
        name: "callgrind",
        about: "instructions per function, for this program's own work on a CPU (.callgrind for \
                KCachegrind)",
        program: "valgrind",
        cure: "install valgrind",
        sees: is_own_work,
        arguments: |stem| {
            let how = ["--command-line-only=yes", "--tool=callgrind", "--instr-atstart=no"]
                .map(str::to_owned);
            how.into_iter()
                .chain([format!("--callgrind-out-file={}.callgrind", stem.display())])
                .collect()
        },
    },
];

fn is_on(result: &BenchmarkResult, backend: BackendId) -> bool {
    result.benchmark_id.device().device().is_some_and(|device| device.backend == backend)
}

/// An installed profiler and its output directory.
#[derive(Debug, Clone)]
pub struct InstalledProfiler {
    profiler: &'static Profiler,
    program: PathBuf,
    directory: PathBuf,
}

impl PartialEq for InstalledProfiler {
    fn eq(&self, other: &Self) -> bool {
        (self.profiler.name, &self.program, &self.directory)
            == (other.profiler.name, &other.program, &other.directory)
    }
}

impl Profiler {
    /// Finds the profiler `name` on PATH or in ROCm's directory.
    ///
    /// # Errors
    /// If there is no profiler of that name, or it is not installed: what, why, and how to fix it.
    pub fn here(name: &str) -> Result<InstalledProfiler, Reason> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let rocm =
            std::env::var_os("ROCM_PATH").map_or_else(|| PathBuf::from("/opt/rocm"), PathBuf::from);
        Self::among(name, std::env::split_paths(&path).chain([rocm.join("bin")]))
    }

    fn among(
        name: &str,
        mut dirs: impl Iterator<Item = PathBuf>,
    ) -> Result<InstalledProfiler, Reason> {
        let profiler = PROFILERS.iter().find(|profiler| profiler.name == name);
        let profiler = profiler.ok_or_else(|| {
            let names = PROFILERS.each_ref().map(|profiler| profiler.name).join(", ");
            Reason::new(name, "unknown profiler", names)
        })?;
        let program = dirs
            .find_map(|dir| Some(dir.join(profiler.program)).filter(|program| program.is_file()));
        let program = program.ok_or_else(|| {
            let why = format!("`{}` is neither on PATH nor in ROCm's directory", profiler.program);
            Reason::new(format!("profiler {name}"), why, profiler.cure)
        })?;
        Ok(InstalledProfiler { profiler, program, directory: PathBuf::new() })
    }
}

impl InstalledProfiler {
    /// Sets the directory for the profiler's files, which is created with the first file.
    #[must_use]
    pub fn keeping_in(&self, directory: PathBuf) -> Self {
        Self { directory, ..self.clone() }
    }

    /// Runs the worker of `case` under the tool, and returns the names of the files that it
    /// created.
    fn profile(
        &self,
        command: &WorkerCommand,
        case: &Case,
        limit: Duration,
    ) -> Result<Vec<String>, WorkerError> {
        std::fs::create_dir_all(&self.directory).map_err(|error| self.not_writable(&error))?;
        let directory = self.directory.canonicalize().map_err(|error| self.not_writable(&error))?;
        let name = file_name(case.id.as_str());
        let args = (self.profiler.arguments)(&directory.join(&name));
        let (mut worker, _) = Worker::start_under(&self.program, args, command, case, limit)?;
        worker.sample(1)?;
        if self.profiler.name == "callgrind" {
            worker.count(ITERATIONS)?; // Its counting is off outside.
        } else {
            worker.sample(ITERATIONS)?;
        }
        worker.leave()?;
        let files = names(&directory, &name);
        if files.is_empty() {
            Err(self.failure(format!("it wrote no file to {}", directory.display())))
        } else {
            Ok(files)
        }
    }

    fn failure(&self, why: String) -> WorkerError {
        WorkerError::Failed(Reason::new(
            self.profiler.name,
            why,
            "run the tool by hand to see its output",
        ))
    }

    fn not_writable(&self, error: &std::io::Error) -> WorkerError {
        self.failure(format!("cannot write to {}: {error}", self.directory.display()))
    }
}

/// Converts a case ID to a prefix for the names of its files. It contains no dot or underscore, so
/// it is not a prefix of another case's files.
fn file_name(id: &str) -> String {
    let mut name: String =
        id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    if name.len() > 160 {
        name.truncate(150);
        name = format!("{name}-{}", short_hash(id));
    }
    name
}

/// Returns the names of the files in `directory` that belong to the case with this prefix.
fn names(directory: &Path, case: &str) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let is_own =
        |name: &String| name.strip_prefix(case).is_some_and(|rest| rest.starts_with(['.', '_']));
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(is_own)
        .sorted_unstable()
        .dedup()
        .collect_vec()
}

/// A pass that takes profiles, within a time limit.
pub(super) struct ProfilingPass<'a> {
    tool: &'a InstalledProfiler,
    settings: &'a Settings,
    until: Instant,
    taken: usize,
    unseen: usize,
    failed: usize,
}

impl<'a> ProfilingPass<'a> {
    /// Starts a pass with `tool` that may take up to `left`.
    pub(super) fn begin(
        tool: &'a InstalledProfiler,
        settings: &'a Settings,
        left: Duration,
    ) -> Self {
        Self { tool, settings, until: Instant::now() + left, taken: 0, unseen: 0, failed: 0 }
    }

    /// Adds the paths of the profile of `case` to `result`, or a note with the reason if that
    /// fails. Returns `false` if the tool does not see the work of the case.
    ///
    /// # Errors
    /// If the user requests a stop.
    pub(super) fn add(
        &mut self,
        command: &WorkerCommand,
        case: &Case,
        result: &mut BenchmarkResult,
    ) -> Result<bool, WorkerError> {
        let has_figures = matches!(result.outcome, Outcome::Measured | Outcome::Simulated);
        if !has_figures || !(self.tool.profiler.sees)(result) {
            self.unseen += 1;
            return Ok(false);
        }
        let left = self.until.saturating_duration_since(Instant::now());
        match self.tool.profile(command, case, self.settings.limit_of(case).min(left)) {
            Ok(files) => {
                self.taken += 1;
                let files: Vec<PathBuf> =
                    files.iter().map(|file| self.tool.directory.join(file)).collect();
                result.metadata.insert(
                    "profile".into(),
                    json!({"tool": self.tool.profiler.name, "files": files}),
                );
            }
            Err(WorkerError::Interrupted) => return Err(WorkerError::Interrupted),
            Err(
                WorkerError::Skipped(reason)
                | WorkerError::Failed(reason)
                | WorkerError::Gone(reason),
            ) => {
                self.failed += 1;
                assemble::note(
                    &mut result.metadata,
                    &format!("its profile was not taken: {reason}"),
                );
            }
        }
        Ok(true)
    }

    /// Returns a summary for the user. The reason why a case has no profile is in its result.
    pub(super) fn summary(&self) -> String {
        let Self { taken, failed, unseen, .. } = self;
        let Profiler { name, about, .. } = self.tool.profiler;
        let directory = self.tool.directory.display();
        format!(
            "profiles by {name} in {directory}: {taken}; failed: {failed}; cases it cannot \
             profile: {unseen} ({name}: {about})"
        )
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use rsb_model::{BenchmarkType, CaseId, Params};

    use super::*;

    /// A tool that prints a line, runs the worker, and writes the file named by its last argument.
    const TOOL: &str = r#"#!/bin/sh
        echo "Collecting data..."
        while :; do case $1 in --callgrind-out-file=*) file=${1#*=};; --*) ;; *) break;; esac; shift; done
        "$@"; code=$?
        case "$*" in *lazy*) ;; *) echo "fn=(1) work" > "$file";; esac
        exit $code
    "#;

    fn command(marker: &str) -> WorkerCommand {
        let script = format!(
            r#": {marker}; while read line; do case $line in
            *prepare*) echo '{{"answer":"ready","device_type":"cpu"}}';;
            *sample*) echo '{{"answer":"sampled","time_ns":1.0}}';;
            *count*) echo '{{"answer":"counted"}}';;
            esac; done"#
        );
        let args = vec!["-c".into(), script];
        WorkerCommand { program: "/bin/sh".into(), args, ..WorkerCommand::of("".into()) }
    }

    fn case() -> Case {
        Case {
            id: CaseId::from_segments(&["cpu_performance", "tensor-ops", "cpu:0", "add"]),
            benchmark: "tensor-ops".into(),
            benchmark_type: BenchmarkType::CpuPerformance,
            device: rsb_model::DeviceRef::CPU.into(),
            params: Params::new(),
        }
    }

    #[test]
    fn a_tool_runs_the_worker_once_more_and_its_file_stays() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("valgrind");
        std::fs::write(&program, TOOL).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let here = [dir.path().to_owned()];
        let tool = Profiler::among("callgrind", here.iter().cloned())
            .unwrap()
            .keeping_in(dir.path().join("profiles"));
        let limit = Duration::from_mins(1);
        let files = tool.profile(&command("works"), &case(), limit).unwrap();
        assert_eq!(files, ["cpu-performance-tensor-ops-cpu-0-add.callgrind"]);
        assert!(tool.directory.join(&files[0]).is_file());
        std::fs::remove_file(tool.directory.join(&files[0])).unwrap();
        let lazy = tool.profile(&command("lazy"), &case(), limit).unwrap_err();
        assert!(
            matches!(&lazy, WorkerError::Failed(reason) if reason.why.contains("wrote no file")),
            "{lazy:?}"
        );

        let absent = Profiler::among("nsys", here.iter().cloned()).unwrap_err().to_string();
        assert!(
            absent.contains("`nsys` is neither") && absent.contains("Nsight Systems"),
            "{absent}"
        );
        assert!(
            Profiler::among("gprof", here.iter().cloned())
                .unwrap_err()
                .to_string()
                .contains("rocprofv3, nsys, callgrind")
        );
    }

    #[test]
    fn arguments_end_where_the_worker_begins() {
        assert!(
            arguments_of("rocprofv3")
                .ends_with("pftrace csv --output-directory /p/run --output-file gemm --")
        );
        let nsys = arguments_of("nsys");
        assert!(nsys.starts_with("profile ") && nsys.ends_with("--output=/p/run/gemm"));
    }

    fn arguments_of(name: &str) -> String {
        let profiler = PROFILERS.iter().find(|profiler| profiler.name == name).unwrap();
        (profiler.arguments)(Path::new("/p/run/gemm")).join(" ")
    }
}
