//! Runs the real binary in a temporary directory, as users do.
#![allow(dead_code)] // Each test uses its own part.

pub mod backend;
pub mod browser;
#[cfg(feature = "postgres")]
pub mod campaign;
pub mod jobs;
pub mod kubernetes;
pub mod made_up;
pub mod other_project;
pub mod preload;
pub mod revisions;
pub mod slurm;
pub mod sshd;
pub mod steps;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// Arguments of a program: a text that is split at spaces, or a list.
pub trait Arguments {
    fn words(&self) -> Vec<&str>;
}

impl Arguments for str {
    fn words(&self) -> Vec<&str> {
        words(self)
    }
}

impl Arguments for String {
    fn words(&self) -> Vec<&str> {
        words(self)
    }
}

impl Arguments for [&str] {
    fn words(&self) -> Vec<&str> {
        self.to_vec()
    }
}

impl<const N: usize> Arguments for [&str; N] {
    fn words(&self) -> Vec<&str> {
        self.to_vec()
    }
}

impl Arguments for Vec<&str> {
    fn words(&self) -> Vec<&str> {
        self.clone()
    }
}

/// Splits `text` at white space.
pub fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

/// Checks that `text` contains each of `parts`.
#[track_caller]
pub fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in:\n{text}");
    }
}

/// A temporary directory in which the program runs.
pub struct Bench {
    /// The directory.
    pub dir: tempfile::TempDir,
    /// The directory for caches; outside `dir`, which may be a repository under test.
    pub cache: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

/// Output of a run of the program.
pub struct ProgramOutput {
    /// Exit code.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl ProgramOutput {
    pub fn of(output: &Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Parses standard output, which must be one JSON document.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}\n{}\n{}", self.stdout, self.stderr))
    }

    /// Returns the failed cases of a run's JSON with their reasons, which are easily lost in the
    /// long document.
    fn failed(&self) -> Vec<String> {
        let document: Value = serde_json::from_str(&self.stdout).unwrap_or_default();
        let benchmarks = document["benchmarks"].as_array().into_iter().flatten();
        let failed = benchmarks.filter(|one| one["outcome"] == "failed");
        failed
            .map(|one| format!("{}: {}, {}", one["benchmark_id"], one["what"], one["why"]))
            .collect()
    }

    /// Panics with the failed cases and both streams if the exit code is not `code`.
    pub fn expect(self, code: i32) -> Self {
        let failed = self.failed();
        assert_eq!(
            self.code, code,
            "failed: {failed:#?}\nstderr:\n{}\nstdout:\n{}",
            self.stderr, self.stdout
        );
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }
}

impl Bench {
    pub fn new() -> Self {
        let [dir, cache] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        Self { dir, cache, variables: Vec::new() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Writes a run or a baseline with a correct checksum, as the program does.
    pub fn write_sealed(&self, name: &str, document: &serde_json::Value) -> PathBuf {
        let mut document = document.clone();
        document.as_object_mut().unwrap().shift_remove("checksum");
        self.write(name, &rsb_store::sealed_text(&document).unwrap())
    }

    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    pub fn command(&self, arguments: &(impl Arguments + ?Sized)) -> Command {
        self.command_of(Path::new(env!("CARGO_BIN_EXE_rusty-stack-bench")), arguments)
    }

    /// Returns a command like [`Bench::command`] for another program built with this one.
    pub fn command_of(&self, program: &Path, arguments: &(impl Arguments + ?Sized)) -> Command {
        let mut command = Command::new(program);
        command.args(arguments.words()).current_dir(self.dir.path()).stdin(Stdio::null());
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("RSB_"))
        {
            command.env_remove(name);
        }
        // Never use the user's cache or configuration.
        command.env("RSB_CACHE_DIR", self.cache.path());
        command.env("XDG_CONFIG_HOME", self.cache.path().join("config"));
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    pub fn run(&self, arguments: &(impl Arguments + ?Sized)) -> ProgramOutput {
        self.run_of(Path::new(env!("CARGO_BIN_EXE_rusty-stack-bench")), arguments)
    }

    /// Runs another program built with this one, like [`Bench::run`].
    pub fn run_of(&self, program: &Path, arguments: &(impl Arguments + ?Sized)) -> ProgramOutput {
        ProgramOutput::of(&self.command_of(program, arguments).output().unwrap())
    }

    /// Returns the stored run files.
    pub fn run_files(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.path("benchmark_results/runs")) else {
            return Vec::new();
        };
        let mut files: Vec<PathBuf> =
            entries.map(|entry| entry.unwrap().path()).filter(|path| is_json(path)).collect();
        files.sort();
        files
    }
}

fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}

/// Arguments that make any benchmark small, for tests that ignore its results.
pub const SMALL: [&str; 6] = ["--replicates", "1", "--runs", "10", "--warmup", "1"];
