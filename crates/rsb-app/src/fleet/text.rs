//! Texts of the subcommand `fleet`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rsb_fleet::{FleetConfig, FleetReport, HardwareClass, SkippedNode, drain_advice};
use rsb_model::Verdict;
use rsb_model::record::{FleetComparison, FleetComparisonRow, SoftwareChange};
use rsb_report::campaign::{ProgressText, job_counts, state_word};
use rsb_report::number::{
    count_words, format_count, format_interval, format_percent, format_threshold,
};
use rsb_report::{Cell, Column, Style, Table, comparison};

use super::{BurnInReport, FleetDocument, NodesDocument, PlanDocument, StatusDocument};

/// Returns the nodes as a table, then the differences within each class.
pub fn nodes_text(document: &NodesDocument, style: Style) -> String {
    let columns = ["node", "class", "state", "features"].map(Column::left);
    let mut table = Table::new(columns.into_iter().chain([Column::right("GPUs")]));
    for class in &document.classes {
        for node in document.nodes.iter().filter(|node| class.nodes.contains(&node.name)) {
            let features: Vec<&str> = node.features.iter().map(String::as_str).collect();
            table.push([
                Cell::from(&node.name),
                Cell::from(&class.name),
                Cell::from(&node.state),
                Cell::from(features.join(",")),
                Cell::from(node.gpus.to_string()),
            ]);
        }
    }
    table.text(style) + &paragraph(&differences(&document.classes))
}

/// Joins lines to text, each with a line break.
fn paragraph(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}

/// Returns missing GPUs and differing software of the classes, one line each.
pub(super) fn differences(classes: &[HardwareClass]) -> Vec<String> {
    let mut lines = Vec::new();
    for class in classes {
        let mut short: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
        for node in &class.short {
            short.entry(node.gpus).or_default().push(&node.node);
        }
        for (gpus, nodes) in short {
            let (class, expected) = (&class.name, class.gpus);
            lines.push(format!("{gpus} of {expected} GPUs in {class}: {}", nodes.join(", ")));
        }
        for drift in &class.drift {
            let outliers: Vec<String> =
                drift.outliers.iter().map(|(node, value)| format!("{node} {value}")).collect();
            lines.push(format!(
                "{} in {}: {}, but {}",
                drift.key,
                class.name,
                drift.majority,
                outliers.join(", ")
            ));
        }
    }
    lines
}

/// Returns the tasks in their order, the skipped nodes, and the expected duration.
pub fn plan_text(document: &PlanDocument, style: Style) -> String {
    let plan = &document.plan;
    let mut table = Table::new([
        Column::left("node"),
        Column::left("class"),
        Column::left("suites"),
        Column::right("minutes"),
        Column::right("starts after"),
    ]);
    for task in &plan.tasks {
        let suites: Vec<&str> = task.suites.iter().map(|suite| suite.suite.as_str()).collect();
        table.push([
            Cell::from(&task.node),
            Cell::from(&task.class),
            Cell::from(suites.join(", ")),
            Cell::from(task.minutes.to_string()),
            Cell::from(format!("{} min", task.starts_after_seconds / 60)),
        ]);
    }
    let nodes = format_count(plan.tasks.len(), "node", "nodes");
    let minutes = plan.seconds.div_ceil(60);
    let skipped = paragraph(&skipped_lines(&plan.skipped));
    format!(
        "{}{skipped}{nodes}, {minutes} min if every node is free; nothing was submitted\n",
        table.text(style)
    )
}

pub(super) fn skipped_lines(skipped: &[SkippedNode]) -> Vec<String> {
    skipped.iter().map(|node| format!("skipped: {}", node.reason)).collect()
}

/// Returns the progress of each job.
pub fn status_text(document: &StatusDocument, style: Style) -> String {
    let columns = ["node", "job", "state", "details"].map(Column::left);
    let mut table = Table::new(columns);
    for node in &document.nodes {
        let state = ProgressText::of(node.progress.as_ref());
        let pair = node.pair.as_ref();
        let pair =
            pair.map(|pair| format!("turn {} of the pairs of {}. ", pair.turn, pair.suspect));
        table.push([
            Cell::from(&node.node),
            Cell::from(node.job.map(|job| job.to_string()).unwrap_or_default()),
            Cell::with_tone(state.word, state.tone),
            Cell::from(pair.unwrap_or_default() + &state.details),
        ]);
    }
    let counts = job_counts(document.nodes.iter().map(|node| node.progress.as_ref()));
    format!("{}{}: {counts}\n", table.text(style), document.campaign)
}

/// Returns the verdicts, common causes, classes with too many slow nodes, and the next step.
pub fn report_text(document: &FleetDocument, style: Style) -> String {
    let report = &document.report;
    let columns = ["node", "class", "state"].map(Column::left);
    let mut table = Table::new(columns.into_iter().chain([Column::wrapped("reason")]));
    let mut counts: Vec<(usize, &str)> = Vec::new();
    for node in &report.nodes {
        let (word, tone) = state_word(node.state);
        match counts.iter_mut().find(|(_, known)| *known == word) {
            Some((count, _)) => *count += 1,
            None => counts.push((1, word)),
        }
        table.push([
            Cell::from(&node.name),
            Cell::from(&node.class),
            Cell::with_tone(word, tone),
            Cell::from(&node.reason),
        ]);
    }
    let mut lines = skipped_lines(&document.skipped);
    lines.extend(differences(&document.hardware));
    lines.extend(group_lines(report));
    lines.push(format!("{}: {}", document.campaign, count_words(&counts)));
    lines.extend(document.burn_in.iter().flat_map(burn_in_lines));
    for suspect in &report.suspects {
        let next = match &suspect.reference {
            Some(reference) => format!("`fleet resume` measures it in pairs with {reference}"),
            None => "no node of its class passed, so it cannot be confirmed".to_owned(),
        };
        lines.push(format!("suspect: {}; {next}", suspect.node));
    }
    table.text(style) + &paragraph(&lines)
}

/// Returns the time and the state of the GPUs of each node in a burn-in, with the case that changed
/// most between the first and the last segments.
pub(super) fn burn_in_lines(report: &BurnInReport) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, node) in &report.nodes {
        let hours = node.measured_seconds as f64 / 3600.0;
        let segments = format_count(node.segments, "segment", "segments");
        let mut line = format!("burn-in of {name}: {segments} in {hours:.1} h");
        for (ends, unit) in [(node.temperature_c, "°C"), (node.power_w, "W")] {
            if let Some([first, last]) = ends {
                let _ = write!(line, ", {first:.0} to {last:.0} {unit}");
            }
        }
        if node.throttled_cases != [0, 0] {
            let [first, last] = node.throttled_cases;
            let _ = write!(line, ", {first} to {last} throttled cases");
        }
        let own = report.drift.iter().filter(|row| row.node.as_ref() == Some(name));
        let worst = own.filter_map(|row| Some((comparison::worsening(&row.comparison)?, row)));
        if let Some((_, row)) = worst.max_by(|a, b| a.0.abs().total_cmp(&b.0.abs())) {
            let row = &row.comparison;
            let change = row.difference_percent.map(format_percent).unwrap_or_default();
            let interval = row.confidence_interval.map(format_interval).unwrap_or_default();
            let verdict = row.verdict.as_str();
            let _ = write!(line, "; {} {change} {interval} {verdict}", row.id);
        }
        lines.push(line);
    }
    lines
}

/// Returns common causes, and classes of which too many nodes look slow.
pub(super) fn group_lines(report: &FleetReport) -> Vec<String> {
    let mut lines = Vec::new();
    for cause in &report.causes {
        let worst = cause.slower_percent.values().copied().fold(0.0, f64::max);
        lines.push(format!(
            "common cause: {}={} in {}: {} up to {worst:.1} % slower",
            cause.attribute,
            cause.value,
            cause.class,
            format_count(cause.nodes.len(), "node", "nodes")
        ));
    }
    for class in report.classes.iter().filter(|class| class.is_breaker_open) {
        lines.push(format!(
            "class {}: {} of {} judged nodes look slow, so none is reported as slow",
            class.name, class.suspects, class.judged
        ));
    }
    lines
}

/// Returns a command for each slow node.
pub fn advice_text(document: &FleetDocument, config: &FleetConfig) -> String {
    let commands = drain_advice(&document.report, config.engine());
    if commands.is_empty() {
        return format!("no node of campaign {} is slow\n", document.campaign);
    }
    format!("# commands to drain the slow nodes; nothing was run\n{}\n", commands.join("\n"))
}

/// Returns the cases that moved or have no verdict, the changed software, and the totals. A row of
/// a node that repeats the verdict on its class is counted instead of listed.
pub fn comparison_text(document: &FleetComparison, style: Style) -> String {
    let mut table = Table::new([
        Column::left("class or node"),
        Column::elided("case"),
        Column::left("verdict"),
        Column::right("change"),
        Column::right("interval"),
        Column::wrapped("reason"),
    ]);
    let mut folded = 0;
    for row in &document.rows {
        if repeats_class(row, &document.rows) {
            folded += 1;
            continue;
        }
        let comparison = &row.comparison;
        let change = comparison.difference_percent.map(format_percent).unwrap_or_default();
        let interval = comparison.confidence_interval.map(format_interval).unwrap_or_default();
        let reason = if comparison.verdict.is_decided() { "" } else { &comparison.reason };
        table.push([
            Cell::from(row.node.as_ref().unwrap_or(&row.class)),
            Cell::from(format!("{} {}", comparison.id, comparison.metric)),
            Cell::with_tone(comparison.verdict.as_str(), comparison::tone(comparison.verdict)),
            Cell::from(change),
            Cell::from(interval),
            Cell::from(reason),
        ]);
    }
    let mut lines = Vec::new();
    if folded > 0 {
        let rows = format_count(folded, "row of a node", "rows of nodes");
        lines.push(format!("{rows} with the verdict of the class, not listed"));
    }
    lines.extend(document.software.iter().map(software_line));
    for node in &document.not_compared {
        lines.push(format!("not compared: {}: {}", node.node, node.why));
    }
    if !document.new.is_empty() {
        lines.push(format!("only in {}: {}", document.current, document.new.join(", ")));
    }
    lines.extend(document.notes.iter().map(|note| format!("note: {note}")));
    let totals = &document.totals;
    let word = match document.verdict {
        Verdict::Regressed => "REGRESSED",
        Verdict::Improved | Verdict::Unchanged => "PASS",
        Verdict::Inconclusive | Verdict::NotComparable => "NO VERDICT",
    };
    lines.push(format!(
        "{word}: {} against {}, {}, threshold {}: {} regressed, {} improved, {} unchanged, {} \
         without a verdict",
        document.current,
        document.baseline,
        format_count(document.nodes, "node", "nodes"),
        format_threshold(document.threshold_percent),
        totals.regressed,
        totals.improved,
        totals.unchanged,
        totals.no_verdict
    ));
    let table = if table.is_empty() { String::new() } else { table.text(style) };
    table + &paragraph(&lines)
}

/// Returns whether the row of a node has the verdict that the case has over the whole class.
fn repeats_class(row: &FleetComparisonRow, rows: &[FleetComparisonRow]) -> bool {
    row.node.is_some()
        && rows.iter().take_while(|other| other.node.is_none()).any(|other| {
            let (own, class) = (&row.comparison, &other.comparison);
            other.class == row.class
                && class.id == own.id
                && class.metric == own.metric
                && class.verdict == own.verdict
        })
}

fn software_line(change: &SoftwareChange) -> String {
    let [before, after] =
        [&change.before, &change.after].map(|version| version.as_deref().unwrap_or("none"));
    let nodes = format_count(change.nodes.len(), "node", "nodes");
    format!("{}: {before} before, {after} now, on {nodes}", change.name)
}
