//! The Turing Change Point Dataset (github.com/alan-turing-institute/TCPD): series with change
//! points marked by five people each.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::agreement::{covering, f1};
use super::trend_of;

/// Names of the series on which constants were tuned.
const TUNING: &str = include_str!("tuning.txt");

#[derive(Deserialize)]
struct Recorded {
    n_obs: usize,
    n_dim: usize,
    series: Vec<Dimension>,
}

#[derive(Deserialize)]
struct Dimension {
    raw: Vec<Option<f64>>,
}

/// Covering and F1 of a series, for our change points and for none.
#[derive(Clone, Copy, Default)]
struct Scores {
    ours: [f64; 2],
    nothing: [f64; 2],
}

/// Returns the table of scores on the series of `directory`, separately for tuning and for
/// reporting.
pub(super) fn table(directory: Option<&Path>) -> Result<String> {
    let Some(directory) = directory else {
        return Ok(
            "skipped: no `--tcpd DIR`, a checkout of github.com/alan-turing-institute/TCPD\n"
                .to_owned(),
        );
    };
    let file = directory.join("annotations.json");
    let text = std::fs::read_to_string(&file)
        .with_context(|| format!("cannot read {}", file.display()))?;
    let marked: BTreeMap<String, BTreeMap<String, Vec<usize>>> = serde_json::from_str(&text)?;
    let (mut rows, mut missing) = (Vec::new(), Vec::new());
    for (name, annotations) in marked {
        let file = directory.join("datasets").join(&name).join(format!("{name}.json"));
        let Ok(text) = std::fs::read_to_string(&file) else {
            missing.push(name);
            continue;
        };
        let recorded: Recorded = serde_json::from_str(&text)
            .with_context(|| format!("cannot read {}", file.display()))?;
        if recorded.n_dim == 1 {
            rows.push((scores(&recorded, &annotations.into_values().collect::<Vec<_>>()), name));
        }
    }
    Ok(format_scores(&rows, &missing))
}

fn scores(recorded: &Recorded, annotations: &[Vec<usize>]) -> Scores {
    let points = recorded.series.iter().flat_map(|dimension| dimension.raw.iter().enumerate());
    let (places, values): (Vec<usize>, Vec<f64>) =
        points.filter_map(|(at, value)| Some((at, (*value)?))).unzip();
    let found = trend_of(&values).change_points;
    let found: Vec<usize> =
        found.iter().filter_map(|change| places.get(change.index).copied()).collect();
    let both =
        |found: &[usize]| [covering(annotations, found, recorded.n_obs), f1(annotations, found)];
    Scores { ours: both(&found), nothing: both(&[]) }
}

fn format_scores(rows: &[(Scores, String)], missing: &[String]) -> String {
    let mut text = "| series | number | covering | F1 | no change points at all: covering | F1 \
                    |\n|---|---|---|---|---|---|\n"
        .to_owned();
    for (title, wanted) in
        [("for tuning", Some(true)), ("for reporting", Some(false)), ("all", None)]
    {
        let all: Vec<Scores> = rows
            .iter()
            .filter(|(_, name)| wanted.is_none_or(|wanted| is_tuned(name) == wanted))
            .map(|(scores, _)| *scores)
            .collect();
        let count = all.len() as f64;
        let [a, b] = [0, 1].map(|at| all.iter().map(|one| one.ours[at]).sum::<f64>() / count);
        let [c, d] = [0, 1].map(|at| all.iter().map(|one| one.nothing[at]).sum::<f64>() / count);
        let _ = writeln!(text, "| {title} | {} | {a:.3} | {b:.3} | {c:.3} | {d:.3} |", all.len());
    }
    text.push('\n');
    for (scores, name) in rows {
        let ([covering, f1], [c, f]) = (scores.ours, scores.nothing);
        let _ =
            writeln!(text, "    {name:20} {covering:.3} {f1:.3}   no change points {c:.3} {f:.3}");
    }
    let _ = writeln!(text, "\nMissing, or with several dimensions: {}.", missing.join(", "));
    text
}

fn is_tuned(name: &str) -> bool {
    TUNING.lines().any(|line| line == name)
}
