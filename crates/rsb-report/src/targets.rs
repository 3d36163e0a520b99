//! Absolute targets with the achieved values.

use rsb_model::record::ThresholdCheck;

use crate::number::format_count;
use crate::style::{Style, Tone};
use crate::table::{Cell, Column, Table};

/// Returns a table with one row per target, with a column of reference values from elsewhere if
/// `has_references`.
pub(crate) fn table(checks: &[ThresholdCheck], has_references: bool) -> Table {
    let columns = [
        Column::left(""),
        Column::elided("target"),
        Column::right("expected"),
        Column::left("median"),
    ]
    .into_iter();
    let mut table = Table::new(columns.chain(has_references.then(|| Column::left("elsewhere"))));
    for check in checks {
        let (word, tone) = word(check);
        let name = short(&check.name);
        let cells = [
            Cell::with_tone(word, tone),
            Cell::from(&name),
            check.expected_text().into(),
            check.actual_text().into(),
        ];
        let reference =
            has_references.then(|| Cell::from(check.reference.as_deref().unwrap_or_default()));
        table.push(cells.into_iter().chain(reference));
    }
    table
}

/// Formats the reference values from elsewhere, which do not fit in the table on a terminal: one
/// line for each target that also has a value here.
fn elsewhere(checks: &[ThresholdCheck], style: Style) -> String {
    let mut out = String::new();
    for check in checks.iter().filter(|check| check.has_figure()) {
        if let Some(reference) = &check.reference {
            out.push_str(
                &style.wrap(&format!("{}, elsewhere: {reference}", short(&check.name)), 2),
            );
        }
    }
    out
}

/// Shortens the name of a target: `roofline_percent of tensor-core rocm:0/f16/matrix`, without the
/// benchmark type.
pub(crate) fn short(name: &str) -> String {
    match name.split_once(" of ") {
        Some((metric, id)) if !id.contains('*') => {
            format!("{metric} of {}", crate::trend::short(id))
        }
        _ => name.to_owned(),
    }
}

fn word(check: &ThresholdCheck) -> (&'static str, Tone) {
    match check.passed {
        Some(true) => ("met", Tone::Good),
        Some(false) => ("missed", Tone::Bad),
        None if check.simulated => ("simulated", Tone::Dim),
        None => ("no value", Tone::Caution),
    }
}

/// Returns whether any target has a value. If none has, the summary sentence is enough: the policy
/// is for another project, or its benchmarks were not selected.
pub(crate) fn is_any_known(checks: &[ThresholdCheck]) -> bool {
    checks.iter().any(ThresholdCheck::has_figure)
}

/// Summarizes the targets: `4 of 6 targets are met, 1 is missed, 1 has no value.` Empty if there
/// are none.
pub fn sentence(checks: &[ThresholdCheck]) -> String {
    let simulated = checks.iter().filter(|check| check.simulated).count();
    let met = count_passed(checks, Some(true));
    let missed = count_passed(checks, Some(false));
    let unknown = count_passed(checks, None) - simulated;
    let total = format_count(checks.len(), "target", "targets");
    let mut sentence = match checks.len() {
        0 => return String::new(),
        1 if met == 1 => return "The one target is met.".to_owned(),
        all if all == unknown => return format!("No value for any of {total}."),
        all if all == met => return format!("All {total} are met."),
        _ => format!("{met} of {total} {} met", verb(met, "is", "are")),
    };
    if missed > 0 {
        sentence.push_str(&format!(", {missed} {} missed", verb(missed, "is", "are")));
    }
    if simulated > 0 {
        let verb = verb(simulated, "is", "are");
        sentence.push_str(&format!(", {simulated} {verb} simulated, which does not count"));
    }
    if unknown > 0 {
        sentence.push_str(&format!(", {unknown} {} no value", verb(unknown, "has", "have")));
    }
    sentence + "."
}

fn count_passed(checks: &[ThresholdCheck], passed: Option<bool>) -> usize {
    checks.iter().filter(|check| check.passed == passed).count()
}

const fn verb(count: usize, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
}

/// Formats the targets for a terminal. Empty if there are none.
pub fn text(checks: &[ThresholdCheck], style: Style) -> String {
    if checks.is_empty() {
        return String::new();
    }
    if !is_any_known(checks) {
        return format!("Targets: {}\n\n", sentence(checks));
    }
    let (title, table) = (style.paint(Tone::Strong, "Targets"), table(checks, false).text(style));
    format!("{title}\n{table}{}{}\n\n", elsewhere(checks, style), sentence(checks))
}

/// Formats the targets as a section of a Markdown document. Empty if there are none.
pub fn markdown(checks: &[ThresholdCheck]) -> String {
    if checks.is_empty() {
        return String::new();
    }
    if !is_any_known(checks) {
        return format!("## Targets\n\n{}\n", sentence(checks));
    }
    let has_references = checks.iter().any(|check| check.reference.is_some());
    format!("## Targets\n\n{}\n\n{}\n", sentence(checks), table(checks, has_references).markdown())
}

#[cfg(test)]
mod tests {
    use rsb_model::{Better, Unit};

    use super::*;

    fn checks(passed: &[Option<bool>]) -> Vec<ThresholdCheck> {
        passed
            .iter()
            .map(|&passed| ThresholdCheck {
                name: "x".to_owned(),
                metric: "x".to_owned(),
                id: String::new(),
                better: Better::Higher,
                expected: 1.0,
                actual: passed.map(|_| 2.0),
                unit: None,
                simulated: false,
                passed,
                reference: None,
            })
            .collect()
    }

    #[test]
    fn a_table_without_a_figure_is_a_sentence() {
        assert_eq!(
            text(&checks(&[None; 9]), Style::PLAIN),
            "Targets: No value for any of 9 targets.\n\n"
        );
        assert!(!markdown(&checks(&[None; 9])).contains("expected"));
    }

    #[test]
    fn what_others_achieved_stands_beside_a_target_that_has_it() {
        let mut all = checks(&[Some(true), Some(false)]);
        assert!(!markdown(&all).contains("elsewhere"), "an empty column must be left out");
        all[1].reference = Some("28.4 GB/s".to_owned());
        let page = markdown(&all);
        assert!(page.contains("elsewhere") && page.contains("28.4 GB/s"), "{page}");
        assert!(text(&all, Style::PLAIN).contains("28.4 GB/s"));
    }

    #[test]
    fn what_a_look_alike_achieved_is_shown_and_counts_for_nothing() {
        let mut all = checks(&[Some(true), None]);
        (all[1].actual, all[1].unit, all[1].simulated) = (Some(95.0), Some(Unit::Percent), true);
        let page = text(&all, Style::PLAIN);
        assert!(
            page.contains("simulated") && page.contains("95 %") && !page.contains("no value"),
            "{page}"
        );
        assert_eq!(sentence(&all), "1 of 2 targets is met, 1 is simulated, which does not count.");
    }

    #[test]
    fn the_sentence_counts_in_plain_words() {
        let (met, missed, unknown) = (Some(true), Some(false), None);
        for (passed, expected) in [
            (&[][..], ""),
            (&[met][..], "The one target is met."),
            (&[met, met], "All 2 targets are met."),
            (&[missed], "0 of 1 target are met, 1 is missed."),
            (
                &[met, missed, unknown, unknown],
                "1 of 4 targets is met, 1 is missed, 2 have no value.",
            ),
        ] {
            assert_eq!(sentence(&checks(passed)), expected);
        }
    }
}
