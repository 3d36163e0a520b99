//! The first-day checks of a card: a table with each value next to its expected range.

use rsb_model::record::{
    CheckResult, CheckStatus, CheckValue, CheckedDevice, ExpectedRange, FirstDayDocument,
};
use rsb_model::{DeviceType, Unit};

use crate::number::{count_words, format_count, format_quantity};
use crate::style::{Style, Tone};
use crate::table::{Cell, Column, Table};

const MOST_ROWS: usize = 24;

/// Formats the checks for a terminal: the devices, a table of the checks, and a summary sentence.
pub fn text(document: &FirstDayDocument, style: Style) -> String {
    let mut out = String::new();
    for device in &document.devices {
        out.push_str(&style.hang(&format!("{}  ", device.device), &describe(device)));
    }
    if !document.devices.is_empty() {
        out.push('\n');
    }
    let names_devices = document.devices.len() > 1;
    out.push_str(&table(&document.checks, names_devices).text(style));
    out.push('\n');
    out.push_str(&style.wrap(&sentence(document), 0));
    if document.summary.look > 0 {
        let note = "look: outside the expected range of this card. It is not a failure; find the \
                    cause before you trust that value.";
        out.push_str(&style.wrap(note, 0));
    }
    out
}

fn describe(device: &CheckedDevice) -> String {
    let arch = device.arch.as_ref().map(|arch| format!(", {arch}")).unwrap_or_default();
    let ranges = match (&device.ranges_of, device.device_type) {
        (_, DeviceType::Simulated) => {
            "simulated: its times are meaningless, so none is expected".to_owned()
        }
        (Some(card), _) => format!("expected ranges: {card}"),
        (None, DeviceType::Cpu) => "runs on the CPU: no expected ranges".to_owned(),
        (None, _) => "no expected ranges: this card is not in the table".to_owned(),
    };
    let units = format_count(device.units as usize, "unit", "units");
    format!("{}{arch}, {units}; {ranges}", device.name)
}

fn table(checks: &[CheckResult], names_devices: bool) -> Table {
    let columns = [
        Column::right("#"),
        Column::elided("check"),
        Column::left("result"),
        Column::wrapped("found"),
        Column::left("expected"),
    ];
    let mut table = Table::new(columns);
    for check in checks {
        let number = Cell::with_tone(check.number.to_string(), Tone::Strong);
        table.push([number, Cell::with_tone(&check.name, Tone::Strong), status_cell(check.status)]);
        if let Some(reason) = &check.reason {
            table.note(reason.to_string());
            continue;
        }
        if check.status >= CheckStatus::Look {
            table.note(format!("likely cause: {}", check.meaning));
        }
        add_values(&mut table, check, names_devices);
    }
    table
}

/// Adds the values of `check`. Shows at most [`MOST_ROWS`] values that are as expected, but all
/// that are not; counts the omitted and the skipped ones.
fn add_values(table: &mut Table, check: &CheckResult, names_devices: bool) {
    let mut shown = 0;
    let mut left_out = 0;
    for value in &check.values {
        match value.status {
            CheckStatus::Skipped => continue,
            CheckStatus::Ok if shown >= MOST_ROWS => {
                left_out += 1;
                continue;
            }
            _ => shown += 1,
        }
        let what = match value.device.as_deref().filter(|_| names_devices) {
            Some(device) => format!("  {device} {}", value.what),
            None => format!("  {}", value.what),
        };
        let expected = expected_text(value);
        let cells = [what.into(), status_cell(value.status), found_cell(value), expected.into()];
        table.push(std::iter::once(Cell::default()).chain(cells));
        let is_noted = value.status >= CheckStatus::Look || value.measured.is_some();
        if let Some(note) = value.note.as_ref().filter(|_| is_noted) {
            table.note(note);
        }
    }
    let skipped = count_status(check, CheckStatus::Skipped);
    let counts = count_words(&[(left_out, "more as expected"), (skipped, "skipped")]);
    if !counts.is_empty() {
        table.push([Cell::default(), Cell::with_tone(format!("  {counts}"), Tone::Dim)]);
    }
}

fn status_cell(status: CheckStatus) -> Cell {
    let tone = match status {
        CheckStatus::Ok => Tone::Good,
        CheckStatus::Look => Tone::Caution,
        CheckStatus::Failed => Tone::Bad,
        CheckStatus::Skipped => Tone::Dim,
    };
    Cell::with_tone(status.as_str(), tone)
}

fn found_cell(value: &CheckValue) -> Cell {
    match (value.measured, value.unit) {
        (Some(measured), Some(unit)) => Cell::from(quantity(measured, unit)),
        (Some(measured), None) => Cell::from(quantity(measured, Unit::One)),
        (None, _) => Cell::from(value.found.as_deref().unwrap_or_default()),
    }
}

fn quantity(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Percent => format!("{value:.1} %"),
        unit => format_quantity(value, unit.symbol()),
    }
}

fn expected_text(value: &CheckValue) -> String {
    let unit = value.unit.unwrap_or(Unit::One);
    match &value.expected {
        Some(ExpectedRange { low: Some(low), high: Some(high), .. }) => {
            let (low, high) = (quantity(*low, unit), quantity(*high, unit));
            // Shorten to `5 to 20 µs` if both values have the same unit.
            match (low.split_once(' '), high.split_once(' ')) {
                (Some((number, first)), Some((_, second))) if first == second => {
                    format!("{number} to {high}")
                }
                _ => format!("{low} to {high}"),
            }
        }
        Some(ExpectedRange { low: Some(low), .. }) => format!("at least {}", quantity(*low, unit)),
        Some(ExpectedRange { high: Some(high), .. }) => {
            format!("at most {}", quantity(*high, unit))
        }
        None | Some(ExpectedRange { low: None, high: None, .. }) => String::new(),
    }
}

/// Summarizes a finished check in one line: `ok, 2 values`, `look: 2 of 9 values`.
pub fn summary_of(check: &CheckResult) -> String {
    let word = check.status.as_str();
    let known = check.values.len() - count_status(check, CheckStatus::Skipped);
    match (check.status, &check.reason) {
        (CheckStatus::Skipped, Some(reason)) => format!("{word}: {}", reason.why),
        (CheckStatus::Failed | CheckStatus::Look, _) => {
            let count = count_status(check, check.status);
            format!("{word}: {count} of {}", format_count(known, "value", "values"))
        }
        _ => format!("{word}, {}", format_count(known, "value", "values")),
    }
}

fn count_status(check: &CheckResult, status: CheckStatus) -> usize {
    check.values.iter().filter(|value| value.status == status).count()
}

/// Summarizes all checks in one sentence: `16 checks: 2 to look at, 11 ok, 3 skipped.`
pub fn sentence(document: &FirstDayDocument) -> String {
    let summary = document.summary;
    let parts = [
        (summary.failed, "failed"),
        (summary.look, "to look at"),
        (summary.ok, "ok"),
        (summary.skipped, "skipped"),
    ];
    let checks = format_count(document.checks.len(), "check", "checks");
    format!("{checks}: {}.", count_words(&parts))
}

#[cfg(test)]
mod tests {
    use rsb_model::record::CheckCounts;
    use rsb_model::{Reason, Timestamp};

    use super::*;
    use crate::style::Color;

    fn value(
        what: &str,
        status: CheckStatus,
        measured: f64,
        unit: Unit,
        range: [f64; 2],
    ) -> CheckValue {
        CheckValue {
            device: Some("rocm:0".into()),
            what: what.into(),
            status,
            measured: Some(measured),
            unit: Some(unit),
            found: None,
            expected: Some(ExpectedRange {
                low: Some(range[0]),
                high: Some(range[1]),
                source: "x".into(),
            }),
            note: None,
        }
    }

    fn words(what: &str, status: CheckStatus, found: &str, note: Option<&str>) -> CheckValue {
        CheckValue {
            measured: None,
            unit: None,
            found: Some(found.into()),
            expected: None,
            note: note.map(str::to_owned),
            ..value(what, status, 0.0, Unit::One, [0.0, 0.0])
        }
    }

    fn check(number: u8, name: &str, values: Vec<CheckValue>) -> CheckResult {
        let status = values.iter().map(|value| value.status).max().unwrap_or(CheckStatus::Skipped);
        CheckResult {
            number,
            name: name.into(),
            status,
            meaning: "clocks or power are limited".into(),
            reason: values
                .is_empty()
                .then(|| Reason::new("all-reduce", "one GPU is here", "check several")),
            values,
            seconds: 1.0,
        }
    }

    fn document() -> FirstDayDocument {
        use CheckStatus::{Failed, Look, Skipped};
        const OK: CheckStatus = CheckStatus::Ok;
        let failed = words("gemm f16", Failed, "", Some("wrong result: 0.5 off (report it)"));
        let checks = vec![
            check(
                1,
                "inventory",
                vec![words("GPUs by rocminfo", OK, "1 listed, 1 reached by rocm", None)],
            ),
            check(
                4,
                "every quick case",
                vec![words("cases", OK, "61 verified, 9 skipped, 1 failed", None), failed],
            ),
            check(
                6,
                "launch latency",
                vec![
                    value("single", Look, 31.25, Unit::Microseconds, [5.0, 20.0]),
                    value("graph", OK, 2.5, Unit::Microseconds, [1.0, 6.0]),
                ],
            ),
            check(
                7,
                "memory bandwidth",
                vec![
                    value("copy", OK, 4123.0, Unit::GigabytesPerSecond, [3900.0, 4500.0]),
                    CheckValue {
                        expected: None,
                        ..value("read", OK, 4000.0, Unit::GigabytesPerSecond, [0.0; 2])
                    },
                    words("memory-bandwidth over BabelStream", Skipped, "", Some("not installed")),
                ],
            ),
            check(15, "all-reduce", Vec::new()),
        ];
        FirstDayDocument {
            format_version: 3,
            program_version: "1.0.0".into(),
            started: Timestamp::UNIX_EPOCH,
            finished: Timestamp::UNIX_EPOCH,
            devices: vec![CheckedDevice {
                device: "rocm:0".into(),
                name: "AMD Instinct MI300X".into(),
                device_type: DeviceType::Gpu,
                arch: Some("gfx942".into()),
                units: 304,
                ranges_of: Some("AMD Instinct MI300X".into()),
            }],
            summary: CheckCounts::of(&checks),
            checks,
            findings: Vec::new(),
        }
    }

    #[test]
    fn the_table_fits_terminals_and_a_pipe() {
        for (name, width) in
            [("first_day_80", 80), ("first_day_120", 120), ("first_day_piped", usize::MAX)]
        {
            let page = text(&document(), Style { color: Color::Never, width });
            assert!(page.lines().all(|line| line.chars().count() <= width), "{page}");
            insta::assert_snapshot!(name, page);
        }
    }

    #[test]
    fn an_unknown_card_says_that_nothing_is_expected() {
        for (device_type, words) in [
            (DeviceType::Gpu, "no expected ranges: this card is not in the table"),
            (DeviceType::Cpu, "runs on the CPU"),
            (DeviceType::Simulated, "its times are meaningless"),
        ] {
            let mut unknown = document();
            unknown.devices[0].ranges_of = None;
            unknown.devices[0].device_type = device_type;
            assert!(text(&unknown, Style::PLAIN).contains(words), "{words}");
        }
    }

    #[test]
    fn a_check_that_ended_has_one_line() {
        let lines: Vec<String> = document().checks.iter().map(summary_of).collect();
        assert_eq!(
            lines,
            [
                "ok, 1 value",
                "failed: 1 of 2 values",
                "look: 1 of 2 values",
                "ok, 2 values",
                "skipped: one GPU is here"
            ]
        );
        assert_eq!(sentence(&document()), "5 checks: 1 failed, 1 to look at, 2 ok, 1 skipped.");
    }
}
