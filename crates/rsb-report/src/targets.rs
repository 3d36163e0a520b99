//! Absolute targets beside what was achieved.

use rsb_model::record::ThresholdCheck;

use crate::number::format_count;
use crate::style::{Style, Tone};
use crate::table::{Cell, Column, Table};

fn table(checks: &[ThresholdCheck]) -> Table {
    let mut table =
        Table::new([Column::left(""), Column::elided("target"), Column::right("expected"), Column::left("achieved")]);
    for check in checks {
        let (word, tone) = word(check);
        table.push([
            Cell::toned(word, tone),
            Cell::from(&check.name),
            Cell::from(&check.expected),
            Cell::from(&check.actual),
        ]);
    }
    table
}

const fn word(check: &ThresholdCheck) -> (&'static str, Tone) {
    match check.passed {
        Some(true) => ("met", Tone::Good),
        Some(false) => ("missed", Tone::Bad),
        None => ("no figure", Tone::Caution),
    }
}

/// One sentence: `4 of 6 targets are met, 1 is missed, 1 has no figure.` Nothing when there are none.
pub fn sentence(checks: &[ThresholdCheck]) -> String {
    let count = |passed| checks.iter().filter(|check| check.passed == passed).count();
    let (met, missed, unknown) = (count(Some(true)), count(Some(false)), count(None));
    let total = format_count(checks.len(), "target", "targets");
    let verb = |count: usize, one: &'static str, many: &'static str| if count == 1 { one } else { many };
    let mut sentence = match checks.len() {
        0 => return String::new(),
        1 if met == 1 => return "The one target is met.".to_owned(),
        all if all == met => return format!("All {total} are met."),
        _ => format!("{met} of {total} {} met", verb(met, "is", "are")),
    };
    if missed > 0 {
        sentence.push_str(&format!(", {missed} {} missed", verb(missed, "is", "are")));
    }
    if unknown > 0 {
        sentence.push_str(&format!(", {unknown} {} no figure", verb(unknown, "has", "have")));
    }
    sentence + "."
}

/// For a terminal. Nothing when there are none.
pub fn text(checks: &[ThresholdCheck], style: Style) -> String {
    if checks.is_empty() {
        return String::new();
    }
    format!("{}\n{}{}\n\n", style.paint(Tone::Strong, "Targets"), table(checks).text(style), sentence(checks))
}

/// As a section of a Markdown document. Nothing when there are none.
pub fn markdown(checks: &[ThresholdCheck]) -> String {
    if checks.is_empty() {
        return String::new();
    }
    format!("## Targets\n\n{}\n\n{}\n", sentence(checks), table(checks).markdown())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks(passed: &[Option<bool>]) -> Vec<ThresholdCheck> {
        let check = |&passed| ThresholdCheck { name: "x".into(), expected: "> 1".into(), actual: "2".into(), passed };
        passed.iter().map(check).collect()
    }

    #[test]
    fn the_sentence_counts_in_plain_words() {
        let (met, missed, unknown) = (Some(true), Some(false), None);
        for (passed, expected) in [
            (&[][..], ""),
            (&[met][..], "The one target is met."),
            (&[met, met], "All 2 targets are met."),
            (&[missed], "0 of 1 target are met, 1 is missed."),
            (&[met, missed, unknown, unknown], "1 of 4 targets is met, 1 is missed, 2 have no figure."),
        ] {
            assert_eq!(sentence(&checks(passed)), expected);
        }
    }
}
