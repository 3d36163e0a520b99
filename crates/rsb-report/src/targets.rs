//! Absolute targets beside what was achieved.

use rsb_model::record::ThresholdCheck;

use crate::number::format_count;
use crate::style::{Style, Tone};
use crate::table::{Cell, Column, Table};

fn table(checks: &[ThresholdCheck]) -> Table {
    let has_references = checks.iter().any(|check| check.reference.is_some());
    let columns =
        [Column::left(""), Column::elided("target"), Column::right("expected"), Column::left("achieved")].into_iter();
    let mut table = Table::new(columns.chain(has_references.then(|| Column::left("elsewhere").optional())));
    for check in checks {
        let (word, tone) = word(check);
        let cells =
            [Cell::toned(word, tone), Cell::from(&check.name), Cell::from(&check.expected), Cell::from(&check.actual)];
        let reference = has_references.then(|| Cell::from(check.reference.as_deref().unwrap_or_default()));
        table.push(cells.into_iter().chain(reference));
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
        let (name, expected, actual) = ("x".to_owned(), "> 1".to_owned(), "2".to_owned());
        let check = |&passed| ThresholdCheck {
            name: name.clone(),
            expected: expected.clone(),
            actual: actual.clone(),
            passed,
            reference: None,
        };
        passed.iter().map(check).collect()
    }

    #[test]
    fn what_others_achieved_stands_beside_a_target_that_has_it() {
        let mut all = checks(&[Some(true), Some(false)]);
        assert!(!markdown(&all).contains("elsewhere"), "no empty column");
        all[1].reference = Some("28.4 GB/s".to_owned());
        let page = markdown(&all);
        assert!(page.contains("elsewhere") && page.contains("28.4 GB/s"), "{page}");
        assert!(text(&all, Style::PLAIN).contains("28.4 GB/s"));
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
