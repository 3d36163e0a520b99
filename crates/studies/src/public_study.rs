//! `cargo xtask gate-study public`: `gate --against` in public repositories.
//!
//! `public_projects.toml` lists the projects, their commits and the regressions documented in their
//! histories. Each trial is appended as a line to a record, so an interrupted study can be
//! continued, and the tables in docs/gate-study.md are printed from the record alone.

mod table;
mod trial;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::project_study::{run_git, run_quietly};
use trial::{Trial, TrialKind};

/// Arguments of the study.
pub(crate) struct PublicStudy<'a> {
    /// File of the trials, one JSON object per line.
    pub(crate) record: &'a Path,
    /// Directory in which the repositories are cloned and built. Existing clones are reused.
    pub(crate) clones: PathBuf,
    /// Number of processes that keep CPUs busy during the study.
    pub(crate) busy: usize,
    /// Required number of suites of unchanged code with this number of busy processes, over all
    /// projects.
    pub(crate) suites: usize,
    /// The only project to study; `None` studies all.
    pub(crate) only: Option<&'a str>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    project: Vec<Project>,
    #[serde(default)]
    regression: Vec<Regression>,
}

/// A public repository with benchmarks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Project {
    name: String,
    url: String,
    commit: String,
    harness: String,
    /// Whether the gate was changed because of failures in this project.
    #[serde(default)]
    tuning: bool,
    /// Whether the project is used for trials of unchanged code.
    #[serde(default = "yes")]
    unchanged: bool,
    #[serde(default)]
    cargo: Vec<String>,
    #[serde(default)]
    benchmarks: Vec<String>,
}

fn yes() -> bool {
    true
}

/// Two commits, of which the second is slower according to the project's history.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Regression {
    project: String,
    url: String,
    good: String,
    bad: String,
    /// Directory in which the gate is started, relative to the repository.
    #[serde(default)]
    dir: String,
    #[serde(default)]
    cargo: Vec<String>,
    #[serde(default)]
    benchmarks: Vec<String>,
    /// Parts of the ids of the cases that the change affects.
    cases: Vec<String>,
    /// Where the regression is documented, with the documented values.
    documented: String,
}

impl List {
    fn read() -> Result<Self> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("public_projects.toml");
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        toml::from_str(&text).with_context(|| format!("{} is no list", path.display()))
    }
}

/// Runs the `mode`: `first`, `unchanged`, `regressions`, `criterion` or `table`.
///
/// # Errors
/// If a project cannot be cloned, or the record cannot be read or written.
pub(crate) fn run(study: &PublicStudy<'_>, mode: &str) -> Result<()> {
    let list = List::read()?;
    match mode {
        "first" => study.try_first(&list),
        "unchanged" => study.judge_unchanged(&list),
        "regressions" => study.judge_regressions(&list, TrialKind::Regression),
        "criterion" => study.judge_regressions(&list, TrialKind::Criterion),
        "table" => {
            println!("{}", table::render(&list, &study.trials()?));
            Ok(())
        }
        other => bail!(
            "unknown mode `{other}`; expected first, unchanged, regressions, criterion or table"
        ),
    }
}

impl PublicStudy<'_> {
    fn trials(&self) -> Result<Vec<Trial>> {
        if !self.record.exists() {
            return Ok(Vec::new());
        }
        let text = fs::read_to_string(self.record)
            .with_context(|| format!("cannot read {}", self.record.display()))?;
        text.lines()
            .enumerate()
            .map(|(at, line)| {
                serde_json::from_str(line)
                    .with_context(|| format!("{}:{}", self.record.display(), at + 1))
            })
            .collect()
    }

    fn keep(&self, trial: &Trial) -> Result<()> {
        eprintln!("{}", trial.summary());
        let mut file = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.record)
            .with_context(|| format!("cannot write {}", self.record.display()))?;
        writeln!(file, "{}", serde_json::to_string(trial)?)
            .with_context(|| format!("cannot write {}", self.record.display()))
    }

    fn wants(&self, name: &str) -> bool {
        self.only.is_none_or(|only| only == name)
    }

    /// Runs `gate --against HEAD~1` without other options in a fresh clone of each project.
    fn try_first(&self, list: &List) -> Result<()> {
        let done = self.trials()?;
        for project in list.project.iter().filter(|project| self.wants(&project.name)) {
            let is_done = done.iter().any(|trial| {
                trial.kind == TrialKind::First
                    && trial.busy == self.busy
                    && trial.project == project.name
            });
            if is_done {
                continue;
            }
            let clone = self.clone_of(&project.name, &project.url)?;
            check_out(&clone, &project.commit)?;
            let mut trial = Trial::new(TrialKind::First, &project.name, &project.commit, self.busy);
            trial.gate(self, &clone, &["--against", "HEAD~1"], &[])?;
            self.keep(&trial)?;
        }
        Ok(())
    }

    /// Judges each project against itself, in turns, until the record has the required number of
    /// suites. The judged side has an additional function of a different size in each trial, so all
    /// other code has different addresses but does the same.
    fn judge_unchanged(&self, list: &List) -> Result<()> {
        let mut done: BTreeMap<String, usize> = BTreeMap::new();
        for trial in self.trials()? {
            if trial.kind == TrialKind::Unchanged && trial.busy == self.busy {
                *done.entry(trial.project).or_default() += 1;
            }
        }
        let projects: Vec<&Project> = list
            .project
            .iter()
            .filter(|project| project.unchanged && self.wants(&project.name))
            .collect();
        let count = |done: &BTreeMap<String, usize>, project: &Project| {
            done.get(&project.name).copied().unwrap_or_default()
        };
        while done.values().sum::<usize>() < self.suites {
            let Some(project) = projects.iter().min_by_key(|project| count(&done, project)) else {
                bail!("no project is chosen");
            };
            let turn = count(&done, project);
            let clone = self.clone_of(&project.name, &project.url)?;
            check_out(&clone, &project.commit)?;
            move_code(&clone, turn + 1)?;
            run_git(&clone, &["commit", "--quiet", "--all", "-m", "code lies elsewhere"])?;
            let mut trial =
                Trial::new(TrialKind::Unchanged, &project.name, &project.commit, self.busy);
            let mut arguments = vec!["--against", "HEAD~1", "--measure-equal"];
            for benchmark in &project.benchmarks {
                arguments.extend(["--benchmark", benchmark]);
            }
            trial.gate(self, &clone, &arguments, &project.cargo)?;
            self.keep(&trial)?;
            *done.entry(project.name.clone()).or_default() += 1;
        }
        Ok(())
    }

    /// Judges the slower of two commits against the faster one, by the gate or by Criterion.
    fn judge_regressions(&self, list: &List, kind: TrialKind) -> Result<()> {
        let done = self.trials()?;
        for regression in list.regression.iter().filter(|one| self.wants(&one.project)) {
            let is_done = done.iter().any(|trial| {
                trial.kind == kind && trial.busy == self.busy && trial.is_of(regression)
            });
            if is_done {
                continue;
            }
            let clone = self.clone_of(&regression.project, &regression.url)?;
            let mut trial = Trial::new(kind, &regression.project, &regression.bad, self.busy);
            trial.base = Some(regression.good.clone());
            if kind == TrialKind::Criterion {
                trial.criterion(self, &clone, regression)?;
            } else {
                check_out(&clone, &regression.bad)?;
                let mut arguments = vec!["--against", &regression.good];
                for benchmark in &regression.benchmarks {
                    arguments.extend(["--benchmark", benchmark]);
                }
                trial.gate(self, &clone.join(&regression.dir), &arguments, &regression.cargo)?;
            }
            self.keep(&trial)?;
        }
        Ok(())
    }

    fn clone_of(&self, name: &str, url: &str) -> Result<PathBuf> {
        let path = self.clones.join(name);
        if !path.exists() {
            fs::create_dir_all(&self.clones)
                .with_context(|| format!("cannot create {}", self.clones.display()))?;
            run_quietly(Command::new("git").args(["clone", "--quiet", url]).arg(&path))?;
        }
        Ok(path)
    }
}

/// Checks out the commit and removes files left by an earlier trial.
fn check_out(clone: &Path, commit: &str) -> Result<()> {
    run_git(clone, &["checkout", "--quiet", "--force", "--detach", commit])?;
    run_git(clone, &["clean", "--quiet", "--force", "-d"])
}

/// Adds a function to each bench executable, which runs once at start. Its size is proportional to
/// `steps`.
///
/// The linker keeps functions that `.init_array` points to.
fn move_code(clone: &Path, steps: usize) -> Result<()> {
    let listed = Command::new("git")
        .current_dir(clone)
        .args(["grep", "--name-only", "-E", MAIN, "--", "*.rs"])
        .output()
        .context("cannot start git")?;
    let files = String::from_utf8_lossy(&listed.stdout).into_owned();
    if files.is_empty() {
        bail!("no bench target is known by its main function in {}", clone.display());
    }
    let function = function_of(steps);
    for file in files.lines() {
        let path = clone.join(file);
        let mut text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        text.push_str(&function);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn function_of(steps: usize) -> String {
    let calls = "black_box(black_box(1_u64).wrapping_mul(3));".repeat(5 * steps);
    format!(
        "\nextern \"C\" fn moves_code() {{ use std::hint::black_box; {calls} }}\n#[used]\n\
         #[unsafe(link_section = \".init_array\")]\nstatic MOVES_CODE: extern \"C\" fn() = \
         moves_code;\n"
    )
}

/// Patterns of the main functions of Criterion, bencher and Divan, and of the last call in a
/// hand-written one.
const MAIN: &str = "criterion_main!|benchmark_main!|divan::main\\(|\\.final_summary\\(";

#[cfg(test)]
mod tests;
