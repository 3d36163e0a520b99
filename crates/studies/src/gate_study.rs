//! `cargo xtask gate-study`: error rates of the gate, measured with processes of two builds.
//!
//! Rounds of pairs are recorded once by `examples/record_rounds.rs`, and suites of consecutive
//! rounds are judged. The gate itself gives every verdict; Criterion's rule judges samples of the
//! same processes for comparison.

mod criterion_rule;
mod recording;
mod replay;
mod table;

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::history_study;
use crate::project_study::{self, Pattern, ProjectStudy};
use crate::public_study::{self, PublicStudy};
use crate::workspace;
use recording::Recording;

const USAGE: &str = "usage: cargo xtask gate-study record DIR [--rounds N] [--busy THREADS]
       cargo xtask gate-study replay DIR
       cargo xtask gate-study project [--trials N] [--busy PROCESSES] [--pattern 9-of-10|half|growing] [--budget TIME]
                                      [--case PART]…
       cargo xtask gate-study project DIR [--trials N] [--busy PROCESSES] [--budget TIME] [--case PART]…
                                          [--slow FILE:LINE --slow-case PART] [--percent P] [--criterion SECONDS] [-- CARGO_ARGS]
       cargo xtask gate-study public first|unchanged|regressions|criterion|table [--record FILE] [--clones DIR] [--busy PROCESSES]
                                                                       [--suites N] [--only PROJECT]
       cargo xtask gate-study --history FILE";

/// Records rounds, or prints the study of recorded rounds or of a series of stored runs as
/// Markdown.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["--history", file] => history_study::run(Path::new(file)),
        ["record", dir, options @ ..] => {
            let [rounds, busy] = parse(options)?;
            recording::record(Path::new(dir), rounds, busy)
        }
        ["replay", dir] => {
            let recording = Recording::read(Path::new(dir))?;
            println!("{}", recording.heading());
            for table in [
                table::unchanged_table,
                table::slowed_table,
                table::multiplied_table,
                table::simple_rules,
                table::resolution,
            ] {
                println!("{}", table(&recording));
            }
            Ok(())
        }
        ["project", dir, options @ ..] if !dir.starts_with("--") => {
            project_study::run(&project(Some(dir), options)?)
        }
        ["project", options @ ..] => project_study::run(&project(None, options)?),
        ["public", mode, options @ ..] => public_study::run(&public(options)?, mode),
        _ => bail!("{USAGE}"),
    }
}

fn public<'a>(options: &[&'a str]) -> Result<PublicStudy<'a>> {
    let mut study = PublicStudy {
        record: Path::new("docs/results/gate-public.jsonl"),
        clones: workspace::target().join("public-study"),
        busy: 0,
        suites: 60,
        only: None,
    };
    for option in options.chunks(2) {
        let &[name, value] = option else { bail!("{} needs a value\n{USAGE}", option.join(" ")) };
        let wrong = || format!("{name} {value}");
        match name {
            "--record" => study.record = Path::new(value),
            "--clones" => study.clones = value.into(),
            "--busy" => study.busy = value.parse().with_context(wrong)?,
            "--suites" => study.suites = value.parse().with_context(wrong)?,
            "--only" => study.only = Some(value),
            other => bail!("unknown argument `{other}`\n{USAGE}"),
        }
    }
    Ok(study)
}

fn project<'a>(dir: Option<&'a str>, options: &[&'a str]) -> Result<ProjectStudy<'a>> {
    let end = options.iter().position(|option| *option == "--").unwrap_or(options.len());
    let mut study = ProjectStudy {
        project: dir.map(Path::new),
        trials: 5,
        busy: 0,
        pattern: None,
        budget: "5m",
        cases: Vec::new(),
        slow: None,
        slow_case: "",
        percent: 15.0,
        criterion: None,
        cargo: options.iter().skip(end + 1).copied().collect(),
    };
    for option in options[..end].chunks(2) {
        let [name, value] = option else { bail!("{} needs a value\n{USAGE}", option.join(" ")) };
        let wrong = || format!("{name} {value}");
        match *name {
            "--trials" => study.trials = value.parse().with_context(wrong)?,
            "--busy" => study.busy = value.parse().with_context(wrong)?,
            "--pattern" => study.pattern = Some(Pattern::parse(value).with_context(wrong)?),
            "--budget" => study.budget = value,
            "--case" => study.cases.push(value),
            "--slow" => {
                let (file, line) = value.rsplit_once(':').with_context(wrong)?;
                study.slow = Some((file, line.parse().with_context(wrong)?));
            }
            "--slow-case" => study.slow_case = value,
            "--criterion" => study.criterion = Some(value),
            "--percent" => study.percent = value.parse().with_context(wrong)?,
            other => bail!("unknown argument `{other}`\n{USAGE}"),
        }
    }
    if study.slow.is_some() && study.slow_case.is_empty() {
        bail!("--slow needs --slow-case, the case that runs the function");
    }
    if study.pattern.is_some() && study.project.is_some() {
        bail!("--pattern slows the synthetic project: omit {}", dir.unwrap_or_default());
    }
    Ok(study)
}

fn parse(options: &[&str]) -> Result<[usize; 2]> {
    let (mut rounds, mut busy) = (60, 1);
    for option in options.chunks(2) {
        let [name, value] = option else { bail!("{} needs a value\n{USAGE}", option.join(" ")) };
        let number = value.parse().with_context(|| format!("{name} {value}"))?;
        match *name {
            "--rounds" => rounds = number,
            "--busy" => busy = number,
            other => bail!("unknown argument `{other}`\n{USAGE}"),
        }
    }
    Ok([rounds, busy])
}
