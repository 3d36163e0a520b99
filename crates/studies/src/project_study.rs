//! `cargo xtask gate-study project`: error rates of `gate --against` in a given project, and how
//! often it finds a slowdown there. Arguments name the project and the function to slow down.
//!
//! The project is copied into a scratch repository. For false alarms, the unchanged project is
//! judged against itself with `--measure-equal`. For slowdowns, a loop is inserted at the beginning
//! of the function; its length is calibrated in trials that are not counted.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use rsb_stats::distribution::share_at_most;
use rsb_stats::estimate::median;
use serde::Deserialize;

pub(crate) struct ProjectStudy<'a> {
    /// Directory of the project; `None` for the synthetic project, whose two sides have different
    /// code that does the same work.
    pub(crate) project: Option<&'a Path>,
    pub(crate) trials: usize,
    /// Number of processes that keep CPUs busy during the study.
    pub(crate) busy: usize,
    /// How the synthetic project is slowed.
    pub(crate) pattern: Option<Pattern>,
    pub(crate) budget: &'a str,
    /// Parts of the ids of the cases to measure; empty for all.
    pub(crate) cases: Vec<&'a str>,
    /// File and line, the first line of a function: the loop is inserted after it.
    pub(crate) slow: Option<(&'a str, usize)>,
    /// Part of the id of the case that runs the function.
    pub(crate) slow_case: &'a str,
    pub(crate) percent: f64,
    /// Seconds for which Criterion measures each case, to compare its verdict and a limit of 5 % on
    /// its means on unchanged code.
    pub(crate) criterion: Option<&'a str>,
    pub(crate) cargo: Vec<&'a str>,
}

/// Samples of the synthetic project that are slower, and by how much. The average of the slowed
/// samples is 20 %.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// Nine of ten samples, by 20 %.
    NineOfTen,
    /// Every other sample, by 20 %.
    Half,
    /// Each sample slower than the one before, by 0 to 40 %.
    Growing,
}

impl Pattern {
    pub(crate) fn parse(word: &str) -> Result<Self> {
        match word {
            "9-of-10" => Ok(Self::NineOfTen),
            "half" => Ok(Self::Half),
            "growing" => Ok(Self::Growing),
            other => bail!("unknown pattern `{other}`; the patterns are 9-of-10, half and growing"),
        }
    }

    /// Returns the extra rounds of successive samples, in percent of the normal number.
    fn extra_rounds(self) -> Vec<usize> {
        match self {
            Self::NineOfTen => (0..10).map(|sample| if sample == 0 { 0 } else { 20 }).collect(),
            Self::Half => vec![0, 20],
            Self::Growing => (0..10).map(|sample| 40 * sample / 9).collect(),
        }
    }
}

/// Processes that compute in a loop until this value is dropped.
pub(crate) struct BusyProcesses(Vec<Child>);

impl BusyProcesses {
    pub(crate) fn start(count: usize) -> Result<Self> {
        let mut started = Self(Vec::new());
        for _ in 0..count {
            let mut command = Command::new("sh");
            command.args(["-c", "while :; do :; done"]);
            started.0.push(command.spawn().context("cannot start sh")?);
        }
        Ok(started)
    }
}

impl Drop for BusyProcesses {
    fn drop(&mut self) {
        for child in &mut self.0 {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

/// The gate's JSON output of a trial.
#[derive(Deserialize)]
struct GateDocument {
    verdict: String,
    comparisons: Vec<GateRow>,
}

#[derive(Deserialize)]
struct GateRow {
    id: String,
    verdict: String,
    reason: String,
    difference_percent: Option<f64>,
    confidence_interval: Option<[f64; 2]>,
}

/// Judges the project against itself and, if requested, slowed, and prints the results of each.
pub(crate) fn run(study: &ProjectStudy<'_>) -> Result<()> {
    let scratch = Scratch::of(study)?;
    if study.project.is_none() {
        // Build dependencies before the busy processes start.
        scratch.gate(study, &["--measure-equal", "--case", "integers/1", "--budget", "1s"])?;
    }
    let _busy = BusyProcesses::start(study.busy)?;
    if let Some(pattern) = study.pattern {
        println!("{}", run_pattern(study, &scratch, pattern)?);
        return Ok(());
    }
    println!("{}", run_unchanged(study, &scratch)?);
    if let Some(seconds) = study.criterion {
        println!("{}", by_criterion(study, &scratch, seconds)?);
    }
    if study.slow.is_some() {
        println!("{}", run_slowed(study, &scratch)?);
    }
    Ok(())
}

fn run_unchanged(study: &ProjectStudy<'_>, scratch: &Scratch) -> Result<String> {
    let [mut rows, mut regressed, mut undecided, mut suites, mut open] = [0; 5];
    let mut seconds = Vec::new();
    let mut widths = Vec::new();
    for trial in 0..study.trials {
        let began = std::time::Instant::now();
        if study.project.is_none() {
            scratch.make(trial + 1, &[0])?;
        }
        let judged = scratch.gate(study, &["--measure-equal"])?;
        seconds.push(began.elapsed().as_secs_f64());
        rows += judged.comparisons.len();
        let trial_regressed = count_verdicts(&judged.comparisons, "Regressed");
        regressed += trial_regressed;
        undecided += count_verdicts(&judged.comparisons, "Inconclusive")
            + count_verdicts(&judged.comparisons, "NotComparable");
        suites += usize::from(trial_regressed > 0);
        open += usize::from(judged.verdict == "Inconclusive");
        let intervals = judged.comparisons.iter().filter_map(|row| row.confidence_interval);
        widths.extend(intervals.map(|[low, high]| (high - low) / 2.0));
        for row in judged.comparisons.iter().filter(|row| row.verdict != "Unchanged") {
            eprintln!("trial {trial}: {} {}: {}", row.id, row.verdict, row.reason);
        }
        eprintln!("trial {trial}: {} in {:.0} s", judged.verdict, seconds[trial]);
    }
    let mut text = String::new();
    let _ = writeln!(
        text,
        "project {}, unchanged, {} busy processes, budget {}:",
        scratch.name, study.busy, study.budget
    );
    let _ = writeln!(
        text,
        "- cases judged {rows}, Regressed {regressed} (at most {})",
        bound(regressed, rows)
    );
    let _ = writeln!(
        text,
        "- suites {}, with a Regressed one {suites}, without a verdict {open}",
        study.trials
    );
    let _ = writeln!(text, "- cases undecided {undecided}");
    let _ = writeln!(
        text,
        "- median time {:.0} s, median half-width of the intervals ±{:.1} %",
        median(&seconds).unwrap_or_default(),
        median(&widths).unwrap_or_default()
    );
    Ok(text)
}

fn count_verdicts(rows: &[GateRow], wanted: &str) -> usize {
    rows.iter().filter(|row| row.verdict == wanted).count()
}

/// Returns the gate's verdicts on the synthetic project, slowed by `pattern`.
fn run_pattern(study: &ProjectStudy<'_>, scratch: &Scratch, pattern: Pattern) -> Result<String> {
    let mut rows: Vec<GateRow> = Vec::new();
    for trial in 0..study.trials {
        scratch.make(trial + 1, &pattern.extra_rounds())?;
        let judged = scratch.gate(study, &[])?;
        for row in judged.comparisons.iter().filter(|row| row.verdict != "Regressed") {
            eprintln!("trial {trial}: {} {}: {}", row.id, row.verdict, row.reason);
        }
        eprintln!("trial {trial}: {}", judged.verdict);
        rows.extend(judged.comparisons);
    }
    let regressed = count_verdicts(&rows, "Regressed");
    let passed = count_verdicts(&rows, "Unchanged") + count_verdicts(&rows, "Improved");
    let changes: Vec<f64> = rows.iter().filter_map(|row| row.difference_percent).collect();
    let all = rows.len();
    Ok(format!(
        "project {}, slowed {pattern:?}, {} busy processes, budget {}:\n- cases judged {all}, \
         Regressed {regressed} ({:.1} %), \
         Unchanged {passed} (at most {}), undecided {}\n- median change {:+.1} %\n",
        scratch.name,
        study.busy,
        study.budget,
        100.0 * regressed as f64 / all.max(1) as f64,
        bound(passed, all),
        all - regressed - passed,
        median(&changes).unwrap_or_default(),
    ))
}

/// Returns how often Criterion, and the rule of `critcmp --threshold 5` on its means, report a
/// regression if the same executable runs twice.
fn by_criterion(study: &ProjectStudy<'_>, scratch: &Scratch, seconds: &str) -> Result<String> {
    let (mut all, mut regressed, mut five) = (0, 0, 0);
    for _ in 0..study.trials {
        scratch.bench(study, "--save-baseline", seconds)?;
        let counts = count_of_criterion(&scratch.bench(study, "--baseline", seconds)?);
        all += counts[0];
        regressed += counts[1];
        five += counts[2];
    }
    Ok(format!(
        "project {}, unchanged, by Criterion: of {all} cases {regressed} \"regressed\", {five} \
         with a mean over 5 % higher\n",
        scratch.name
    ))
}

/// Returns the number of cases that Criterion's output compares, how many of them it calls
/// regressed, and how many have a mean more than 5 % higher.
pub(crate) fn count_of_criterion(text: &str) -> [usize; 3] {
    let mut counts = [0; 3];
    for (line, next) in with_next(text) {
        let Some(change) = middle_of(line) else { continue };
        counts[0] += 1;
        counts[1] += usize::from(next.contains("Performance has regressed"));
        counts[2] += usize::from(change > 5.0);
    }
    counts
}

/// Returns the lines of `text` with a change and its p-value, each with the next three lines.
fn with_next(text: &str) -> Vec<(&str, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let reports = lines.iter().enumerate().filter(|(_, line)| line.contains("(p = "));
    reports
        .map(|(at, line)| (*line, lines[at..].iter().take(4).copied().collect::<String>()))
        .collect()
}

/// Returns the estimate in `[low estimate high]`, in percent.
fn middle_of(line: &str) -> Option<f64> {
    let inside = line.split_once('[')?.1.split_once(']')?.0;
    inside.split_whitespace().nth(1)?.trim_end_matches('%').replace('\u{2212}', "-").parse().ok()
}

fn bound(part: usize, whole: usize) -> String {
    format!("{:.1} %", 100.0 * share_at_most(part, whole, 0.95))
}

/// Initial number of loop turns of a calibration, and the maximum number of its trials.
const FIRST_LOOP: u64 = 20;
const LOOKS: usize = 5;

fn run_slowed(study: &ProjectStudy<'_>, scratch: &Scratch) -> Result<String> {
    let only = format!("--benchmark={}", study.slow_case);
    let mut turns = FIRST_LOOP;
    for _ in 0..LOOKS {
        scratch.slow(study, turns)?;
        let judged = scratch.gate(study, &[&only])?;
        let change =
            judged.comparisons.iter().find_map(|row| row.difference_percent).unwrap_or_default();
        eprintln!("{turns} turns of the loop make it {change:+.1} % slower");
        if (change / study.percent - 1.0).abs() < 0.1 {
            break;
        }
        let factor = if change > 0.5 { study.percent / change } else { 8.0 };
        turns = ((turns as f64 * factor).round() as u64).max(1);
    }
    let (mut found, mut alone) = (0, 0);
    let mut changes = Vec::new();
    for trial in 0..study.trials {
        scratch.slow(study, turns)?;
        let judged = scratch.gate(study, &[])?;
        let (of_it, others): (Vec<&GateRow>, Vec<&GateRow>) =
            judged.comparisons.iter().partition(|row| row.id.contains(study.slow_case));
        let is_found = of_it.iter().any(|row| row.verdict == "Regressed");
        found += usize::from(is_found);
        let others = others.iter().filter(|row| row.verdict == "Regressed").count();
        alone += usize::from(is_found && others == 0);
        changes.extend(of_it.iter().filter_map(|row| row.difference_percent));
        eprintln!(
            "trial {trial}: {}, {others} others Regressed",
            if is_found { "found" } else { "missed" }
        );
    }
    let change = median(&changes).unwrap_or_default();
    Ok(format!(
        "project {}, {} slowed by {change:.1} % in its source: found {found} of {} tries, without \
         another case {alone}\n",
        scratch.name, study.slow_case, study.trials
    ))
}

/// A copy of the project in a separate repository.
struct Scratch {
    dir: tempfile::TempDir,
    /// Directory in which both sides are built.
    cache: tempfile::TempDir,
    name: String,
    program: PathBuf,
    /// Path and original text of the file that is slowed.
    source: Option<(PathBuf, String)>,
}

impl Scratch {
    fn of(study: &ProjectStudy<'_>) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("made_project");
        let project = study.project.unwrap_or(&made);
        let project =
            project.canonicalize().with_context(|| format!("cannot find {}", project.display()))?;
        let name = project.file_name().unwrap_or_default().to_string_lossy().into_owned();
        run_quietly(
            Command::new("cp").arg("-r").arg(format!("{}/.", project.display())).arg(dir.path()),
        )?;
        // Remove the repository, if the project has one, and build outputs.
        drop(std::fs::remove_dir_all(dir.path().join(".git")));
        drop(std::fs::remove_dir_all(dir.path().join("target")));
        let ignore = dir.path().join(".gitignore");
        let ignored = std::fs::read_to_string(&ignore).unwrap_or_default();
        std::fs::write(&ignore, format!("{ignored}\n/target\n"))?;
        // Commit the copy, which otherwise could belong to a workspace in a parent directory.
        run_git(dir.path(), &["init", "--quiet"])?;
        run_git(dir.path(), &["add", "--all"])?;
        run_git(dir.path(), &["commit", "--quiet", "-m", "as shipped"])?;
        let program = program()?;
        let source = match study.slow {
            Some((file, _)) => {
                let path = dir.path().join(file);
                let text = std::fs::read_to_string(&path)
                    .with_context(|| format!("cannot read {file}"))?;
                Some((path, text))
            }
            None => None,
        };
        Ok(Self { dir, cache: tempfile::tempdir()?, name, program, source })
    }

    /// Runs `gate --against HEAD` with the arguments `more`, and returns its output.
    fn gate(&self, study: &ProjectStudy<'_>, more: &[&str]) -> Result<GateDocument> {
        let mut command = Command::new(&self.program);
        command.current_dir(self.dir.path()).args(["gate", "--against", "HEAD", "--json"]);
        if !more.contains(&"--budget") {
            command.args(["--budget", study.budget]);
        }
        command
            .env("RSB_CACHE_DIR", self.cache.path())
            .env_remove("CARGO_TARGET_DIR")
            .stderr(Stdio::null());
        command.args(study.cases.iter().flat_map(|case| ["--benchmark", case])).args(more);
        command.arg("--").args(&study.cargo);
        let output = command.output().context("cannot start the program")?;
        serde_json::from_slice(&output.stdout)
            .with_context(|| format!("{command:?} ended with {}", output.status))
    }

    /// Runs Criterion with `verb`, which saves a baseline or compares with it, and returns its
    /// output.
    fn bench(&self, study: &ProjectStudy<'_>, verb: &str, seconds: &str) -> Result<String> {
        let mut command = Command::new("cargo");
        command
            .current_dir(self.dir.path())
            .env("CARGO_TARGET_DIR", "target")
            .stderr(Stdio::null());
        command.arg("bench").args(&study.cargo).args(["--", verb, "study", "--noplot"]);
        command.args(["--warm-up-time", "1", "--measurement-time", seconds]);
        command.args((!study.cases.is_empty()).then(|| study.cases.join("|")));
        let output = command.output().context("cannot start cargo")?;
        if !output.status.success() {
            bail!("{command:?} ended with {}", output.status);
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Writes the synthetic project with `padding` and `extra` rounds.
    fn make(&self, padding: usize, extra: &[usize]) -> Result<()> {
        let path = self.dir.path().join("src/lib.rs");
        let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("made_project/src/lib.rs");
        let text = std::fs::read_to_string(&made)
            .with_context(|| format!("cannot read {}", made.display()))?;
        let text = text.replace("PADDING: usize = 0;", &format!("PADDING: usize = {padding};"));
        let text = text.replace(
            "EXTRA_ROUNDS: &[usize] = &[0];",
            &format!("EXTRA_ROUNDS: &[usize] = &{extra:?};"),
        );
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Inserts a loop of `turns` turns into the function.
    fn slow(&self, study: &ProjectStudy<'_>, turns: u64) -> Result<()> {
        let (Some((path, text)), Some((_, line))) = (&self.source, study.slow) else {
            return Ok(());
        };
        let mut lines: Vec<&str> = text.lines().collect();
        if line == 0 || line > lines.len() {
            bail!("{} has no line {line}", path.display());
        }
        let spin = format!("for turn in 0..{turns}_u64 {{ core::hint::black_box(turn); }}");
        lines.insert(line, &spin);
        std::fs::write(path, lines.join("\n") + "\n")
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

/// Returns the path of the program, built for release.
pub(crate) fn program() -> Result<PathBuf> {
    let program = crate::workspace::target().join("release/rusty-stack-bench");
    if !program.exists() {
        bail!("{} is missing: `cargo build --release` builds it", program.display());
    }
    Ok(program)
}

pub(crate) fn run_quietly(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    if status.success() { Ok(()) } else { bail!("{command:?} ended with {status}") }
}

pub(crate) fn run_git(dir: &Path, words: &[&str]) -> Result<()> {
    let author = ["-c", "user.name=study", "-c", "user.email=study@localhost"];
    run_quietly(Command::new("git").current_dir(dir).args(author).args(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_criterion_says_of_a_change_is_read() {
        let text = "mul  time:   [1.01 ns 1.02 ns 1.03 ns]\n\
            change: [-0.5012% +0.2345% +1.0123%] (p = 0.61 > 0.05)\nNo change in performance \
            detected.\n\
            add  time:   [2.01 ns 2.02 ns 2.03 ns]\n  thrpt:  [1 2 3]\n change:\n\
            time:   [+5.1% +6.25% +7.0%] (p = 0.00 < 0.05)\n thrpt:  [-7% -6% -5%]\n Performance \
            has regressed.\n";
        let found: Vec<_> =
            with_next(text).into_iter().map(|(line, next)| (middle_of(line), next)).collect();
        assert_eq!(
            found.iter().map(|(change, _)| *change).collect::<Vec<_>>(),
            [Some(0.2345), Some(6.25)]
        );
        let regressed: Vec<bool> =
            found.iter().map(|(_, next)| next.contains("has regressed")).collect();
        assert_eq!(regressed, [false, true]);
    }
}
