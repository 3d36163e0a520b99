//! The tables of docs/gate-study.md, printed from the recorded trials.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use rsb_stats::distribution::share_at_most;
use rsb_stats::estimate::median;

use super::trial::{ByCriterion, Trial, TrialKind};
use super::{List, Regression};

pub(super) fn render(list: &List, trials: &[Trial]) -> String {
    let tables = [machines(trials), first(list, trials), unchanged(list, trials)];
    let mut text = tables.concat();
    text.push_str(&regressions(list, trials));
    text
}

fn machines(trials: &[Trial]) -> String {
    let of = |field: fn(&Trial) -> &str| {
        let values: BTreeSet<&str> = trials.iter().map(field).collect();
        values.into_iter().collect::<Vec<_>>().join(", ")
    };
    format!(
        "{}; {}; program at {}.\n",
        of(|trial| &trial.cpu),
        of(|trial| &trial.date),
        of(|trial| &trial.program)
    )
}

fn first(list: &List, trials: &[Trial]) -> String {
    let mut text = String::from(
        "\n| project, commit | harness | role | cases | Unchanged | Improved | Regressed | undecided | \
         exit | building | in all |\n|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for project in &list.project {
        let tried = trials
            .iter()
            .find(|trial| trial.kind == TrialKind::First && trial.project == project.name);
        let Some(trial) = tried else { continue };
        let set = if project.tuning { "tuned on" } else { "not tuned on" };
        let _ = write!(
            text,
            "| {} {} | {} | {set} | ",
            project.url.trim_start_matches("https://github.com/"),
            &project.commit[..8],
            project.harness
        );
        let _ = match &trial.message {
            Some(message) => write!(text, "{} | | | | ", message.replace('|', "\\|")),
            None if trial.cases == 0 => write!(text, "same machine code | | | | "),
            None => write!(
                text,
                "{} | {} | {} | {} | {}",
                trial.cases,
                trial.unchanged,
                trial.improved,
                trial.regressed.len(),
                trial.undecided
            ),
        };
        let building = trial.building_seconds.map(|seconds| format!("{seconds:.0} s"));
        let _ = writeln!(
            text,
            " | {} | {} | {:.0} s |",
            trial.exit,
            building.unwrap_or_default(),
            trial.seconds
        );
    }
    text
}

/// Returns the table of trials of unchanged code at each load: projects not tuned on, projects
/// tuned on, and all.
fn unchanged(list: &List, trials: &[Trial]) -> String {
    let mut text = String::from(
        "\n| busy processes | projects | suites | without a verdict | with a false call | cases | \
         Regressed | Improved | undecided | median time after the builds |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    let of_kind = || trials.iter().filter(|trial| trial.kind == TrialKind::Unchanged);
    let loads: BTreeSet<usize> = of_kind().map(|trial| trial.busy).collect();
    for load in loads {
        for (label, is_tuned) in
            [("not tuned on", Some(false)), ("tuned on", Some(true)), ("all", None)]
        {
            let group: Vec<&Trial> = of_kind()
                .filter(|trial| trial.busy == load)
                .filter(|trial| {
                    is_tuned.is_none_or(|is_tuned| {
                        list.project.iter().any(|project| {
                            project.name == trial.project && project.tuning == is_tuned
                        })
                    })
                })
                .collect();
            unchanged_row(&mut text, load, label, &group);
        }
    }
    text
}

fn unchanged_row(text: &mut String, load: usize, label: &str, group: &[&Trial]) {
    let suites = group.len();
    let sum = |of: fn(&Trial) -> usize| group.iter().map(|trial| of(trial)).sum::<usize>();
    let cases = sum(|trial| trial.cases);
    let open = group.iter().filter(|trial| !matches!(trial.exit, 0 | 3)).count();
    let called = group.iter().filter(|trial| !trial.regressed.is_empty()).count();
    let measuring: Vec<f64> =
        group.iter().filter_map(|trial| Some(trial.seconds - trial.building_seconds?)).collect();
    let _ = writeln!(
        text,
        "| {load} | {label} | {suites} | {} | {} | {cases} | {} | {} | {} | {:.0} s |",
        share(open, suites),
        share(called, suites),
        share(sum(|trial| trial.regressed.len()), cases),
        sum(|trial| trial.improved),
        sum(|trial| trial.undecided),
        median(&measuring).unwrap_or_default()
    );
}

/// Formats a count with its share and the 95 % upper bound of the share.
fn share(part: usize, whole: usize) -> String {
    let percent = 100.0 * part as f64 / whole.max(1) as f64;
    format!("{part} ({percent:.1} %, at most {:.1} %)", 100.0 * share_at_most(part, whole, 0.95))
}

fn regressions(list: &List, trials: &[Trial]) -> String {
    let mut text = String::from(
        "\n| documented regression | busy processes | the cases it reaches, Regressed | others \
         Regressed | undecided | exit | after the builds | Criterion: regressed | mean over 5 % \
         higher |\n|---|---|---|---|---|---|---|---|---|\n",
    );
    for regression in &list.regression {
        let of_kind =
            |kind| trials.iter().filter(move |trial| trial.kind == kind && trial.is_of(regression));
        for trial in of_kind(TrialKind::Regression) {
            let beside = of_kind(TrialKind::Criterion)
                .chain([trial])
                .filter(|other| other.busy == trial.busy)
                .find_map(|other| other.criterion.as_ref());
            regression_row(&mut text, regression, trial, beside);
        }
    }
    text
}

fn regression_row(
    text: &mut String,
    regression: &Regression,
    trial: &Trial,
    criterion: Option<&ByCriterion>,
) {
    let (reached, others): (Vec<_>, Vec<_>) = trial
        .regressed
        .iter()
        .partition(|case| regression.cases.iter().any(|part| case.id.contains(part)));
    let largest = reached.iter().map(|case| case.percent).fold(0.0, f64::max);
    let found = if reached.is_empty() {
        "none".to_owned()
    } else {
        format!("{}, up to {largest:+.0} %", reached.len())
    };
    let others: Vec<String> =
        others.iter().map(|case| format!("{} {:+.0} %", case.id, case.percent)).collect();
    let after = trial.building_seconds.map(|built| format!("{:.0} s", trial.seconds - built));
    let criterion = criterion.map_or_else(
        || "| ".to_owned(),
        |by| format!("{} of {} | {}", by.regressed, by.cases, by.over_five_percent),
    );
    let _ = writeln!(
        text,
        "| {} {} → {}: {} | {} | {found} | {} | {} | {} | {} | {criterion} |",
        regression.project,
        &regression.good[..8],
        &regression.bad[..8],
        regression.documented,
        trial.busy,
        others.join(", "),
        trial.undecided,
        trial.exit,
        after.unwrap_or_default()
    );
}
