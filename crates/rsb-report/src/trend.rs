//! Trends: one row per series with its slope, fit, last change and a sparkline; then changes of
//! level, confirmed and suspected, forecasts, and alerts.

use std::collections::BTreeSet;

use itertools::Itertools as _;
use rsb_model::record::{
    Alert, AlertBasis, ChangePoint, CommonChange, CommonMember, Direction, Forecast, LevelPart,
    Ramp, SeriesTrend, TrendDocument, TrendShape,
};
use rsb_model::{CaseId, Timestamp};

use crate::document::{CsvColumn, ReportError, csv_number, csv_of};
use crate::label::Shortener;
use crate::markdown::escape;
use crate::number::{format_count, format_percent, format_quantity};
use crate::spark::sparkline;
use crate::style::{Style, Tone};
use crate::table::{Cell, Column, Table};
use crate::tracked::severity;

const NAMED: usize = 4;

const SPARK_WIDTH: usize = 16;
/// Placeholder for a value that does not exist, such as a slope through two points.
const NONE: &str = "–";

/// Returns the benchmark and case of an id; an id of another form is unchanged.
pub fn short(id: &str) -> String {
    id.parse::<CaseId>().map_or_else(|_| id.to_owned(), |id| Shortener::default().full(&id))
}

/// Minimum number of runs whose values are drawn as a sparkline.
pub(crate) const FEWEST: usize = 3;

/// Returns the key that sorts series: first those with an alert, worst first, then those whose level
/// changed, most recently first, then by the size of the change since the first run.
pub(crate) fn moved_first(series: &SeriesTrend) -> impl Ord + use<> {
    let severity = series.alerts.iter().map(|alert| alert.severity).max();
    let newest = series.change_points.last().map(|point| point.timestamp);
    let change = since_first(series).map_or(0, |percent| (percent.abs() * 100.0) as u64);
    std::cmp::Reverse((severity, newest, change))
}

/// Returns the change from the first to the last value, in percent. `None` for one value.
fn since_first(series: &SeriesTrend) -> Option<f64> {
    let change = 100.0 * (series.last / series.first - 1.0);
    (series.n > 1 && change.is_finite()).then_some(change)
}

fn percent_or_none(percent: Option<f64>) -> Cell {
    percent.map_or_else(|| NONE.to_owned(), format_percent).into()
}

fn table(document: &TrendDocument) -> Table {
    let mut all: Vec<&SeriesTrend> = document.series.iter().collect();
    all.sort_by_key(|series| moved_first(series));
    let ids: Vec<CaseId> =
        document.series.iter().filter_map(|series| series.id.parse().ok()).collect();
    let names = Shortener::of(&ids);
    let name = |series: &SeriesTrend| {
        series.id.parse().map_or_else(|_| series.id.clone(), |id| names.full(&id))
    };
    let shifts = |series: &SeriesTrend| match series.change_points.len() {
        0 => Cell::default(),
        count => Cell::with_tone(count.to_string(), Tone::Caution),
    };
    Table::of(
        &all,
        &[
            (Column::elided("series"), &|series| name(series).into()),
            (Column::left("metric"), &|series| Cell::from(&series.metric)),
            (Column::right("n"), &|series| series.n.to_string().into()),
            (Column::right("last"), &|series| format_quantity(series.last, &series.unit).into()),
            (Column::right("last change").optional(), &|series| {
                percent_or_none(series.last_change_percent)
            }),
            (Column::right("since the first run"), &|series| percent_or_none(since_first(series))),
            (Column::right("slope/day").optional(), &|series| slope(series).into()),
            (Column::right("r²").optional(), &|series| {
                series.r_squared.map_or_else(|| NONE.to_owned(), |r| format!("{r:.2}")).into()
            }),
            (Column::left("direction").optional(), &|series| direction(series)),
            (Column::left("oldest to newest"), &|series| {
                let is_drawn = series.values.len() >= FEWEST;
                Cell::from(if is_drawn {
                    sparkline(&series.values, SPARK_WIDTH)
                } else {
                    String::new()
                })
            }),
            (Column::right("shifts").optional(), &|series| shifts(series)),
        ],
    )
}

fn slope(series: &SeriesTrend) -> String {
    series.slope_per_day.map_or_else(
        || NONE.to_owned(),
        |slope| {
            let sign = if slope > 0.0 { "+" } else { "" };
            format!("{sign}{}", format_quantity(slope, &series.unit))
        },
    )
}

/// Returns whether the series has fewer than two values, and therefore no trend, even if its
/// direction is `stable`.
const fn is_alone(series: &SeriesTrend) -> bool {
    series.n < 2
}

fn direction(series: &SeriesTrend) -> Cell {
    if is_alone(series) {
        return Cell::with_tone("one run, no trend yet", Tone::Dim);
    }
    let word = series.direction.as_str();
    match series.direction {
        Direction::Stable => Cell::with_tone(word, Tone::Dim),
        _ => Cell::with_tone(word, alert_tone(series)),
    }
}

/// Returns the color of a direction. Only alerts distinguish better from worse.
fn alert_tone(series: &SeriesTrend) -> Tone {
    if has_alert(series, "worse") {
        return Tone::Bad;
    }
    if has_alert(series, "better") { Tone::Good } else { Tone::Plain }
}

fn has_alert(series: &SeriesTrend, direction: &str) -> bool {
    series.alerts.iter().any(|alert| alert.direction == direction)
}

fn name(series: &SeriesTrend) -> String {
    format!("{} {}", short(&series.id), series.metric)
}

fn levels(series: &SeriesTrend, before: f64, after: f64) -> String {
    let [before, after] = [before, after].map(|level| format_quantity(level, &series.unit));
    format!("{before} → {after}")
}

fn day(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%d").to_string()
}

fn shift(series: &SeriesTrend, point: &ChangePoint) -> String {
    let part = match point.part {
        None => "",
        Some(LevelPart::Lower) => ", lower of two levels",
        Some(LevelPart::Upper) => ", upper of two levels",
        Some(LevelPart::Share) => ", mean of two levels whose proportions changed",
    };
    let (change, levels) =
        (format_percent(point.change_percent), levels(series, point.before, point.after));
    format!("{}{part}: {change} on {} ({levels})", name(series), day(point.timestamp))
}

/// Describes the levels of a series that alternates between two: `two levels (8.10 ms and 10.4 ms,
/// 30 % of the runs in the upper one): probably two machine types`.
pub fn two_levels(series: &SeriesTrend) -> Option<String> {
    let levels = series.two_levels.as_ref()?;
    let cause = match &levels.separated_by {
        Some(by) => {
            let (lower, upper) = (by.lower.join(", "), by.upper.join(", "));
            format!(
                "`{}` separates them ({lower} in the lower one, {upper} in the upper one)",
                by.field
            )
        }
        None => "probably two machine types".to_owned(),
    };
    let [lower, upper] =
        [levels.lower, levels.upper].map(|level| format_quantity(level, &series.unit));
    let share = 100.0 * levels.upper_share;
    Some(format!(
        "two levels ({lower} and {upper}, {share:.0} % of the runs in the upper one): {cause}"
    ))
}

/// Describes a simultaneous step of many series in one line.
fn common(change: &CommonChange) -> String {
    let ids: BTreeSet<String> = change.series.iter().map(|one| short(&one.id)).collect();
    let named = ids.iter().take(NAMED).join(", ");
    let more = match ids.len().saturating_sub(NAMED) {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    let (from, to) = (day(change.from_timestamp), day(change.to_timestamp));
    let time = if from == to { format!("on {from}") } else { format!("from {from} to {to}") };
    let changes = || change.series.iter().map(|one| one.change_percent);
    let (low, high) =
        (changes().fold(f64::INFINITY, f64::min), changes().fold(f64::NEG_INFINITY, f64::max));
    format!(
        "{} {} together {time} ({} to {}): {named}{more}; one cause is likely, such as the \
         machine, the toolchain or shared code",
        format_count(change.series.len(), "series", "series"),
        change.direction,
        format_percent(low),
        format_percent(high),
    )
}

/// Returns whether a change of `series` for which `matches` holds is part of a common change.
fn is_common(
    document: &TrendDocument,
    series: &SeriesTrend,
    matches: impl Fn(&CommonMember) -> bool,
) -> bool {
    let mut members = document.common_changes.iter().flat_map(|change| &change.series);
    members.any(|one| one.id == series.id && one.metric == series.metric && matches(one))
}

fn climb(series: &SeriesTrend, ramp: &Ramp) -> String {
    let (name, change) = (name(series), format_percent(ramp.change_percent));
    let (from, to) = (day(ramp.from_timestamp), day(ramp.to_timestamp));
    let levels = levels(series, ramp.before, ramp.after);
    format!("{name}: {change} between {from} and {to}, step by step ({levels})")
}

fn suspicion(series: &SeriesTrend, point: &ChangePoint) -> String {
    format!("{}, seen in {}", shift(series, point), format_count(point.points, "point", "points"))
}

fn outlook(series: &SeriesTrend, forecast: &Forecast) -> String {
    let unit = &series.unit;
    let interval = forecast.low.zip(forecast.high).zip(forecast.confidence).map(
        |((low, high), confidence)| {
            // Rounded to tenths of a percent.
            let percent = (1000.0 * confidence).round() / 10.0;
            let (low, high) = (format_quantity(low, unit), format_quantity(high, unit));
            format!(", {low} to {high} with {percent} %")
        },
    );
    let (value, interval) = (format_quantity(forecast.value, unit), interval.unwrap_or_default());
    format!("{}: {value} in {} days{interval}", name(series), forecast.days)
}

/// Heading of the forecasts.
const EXPECTED: &str = "Expected";

const TWO_LEVELS: &str = "Two levels";

/// Returns the headings with their lines: changes, suspected changes, alternating levels, and
/// forecasts.
fn sections(document: &TrendDocument) -> [(&'static str, Vec<String>); 4] {
    let mut changes: Vec<String> = document.common_changes.iter().map(common).collect();
    let mut suspected: Vec<String> = Vec::new();
    let mut alternating: Vec<String> = Vec::new();
    let mut expected: Vec<String> = Vec::new();
    for series in &document.series {
        for point in &series.change_points {
            if !is_common(document, series, |one| one.index == point.index) {
                changes.push(shift(series, point));
            }
        }
        changes.extend(series.ramp.iter().map(|ramp| climb(series, ramp)));
        suspected.extend(series.suspected.iter().map(|point| suspicion(series, point)));
        if let Some(text) = two_levels(series) {
            alternating.push(format!("{}: {text}", name(series)));
        }
        // After a step, the forecast equals the last level, which the table already shows.
        if matches!(series.shape, TrendShape::Drift | TrendShape::Ramp) {
            expected.extend(series.forecast.iter().map(|forecast| outlook(series, forecast)));
        }
    }
    [
        ("Change points", changes),
        ("Suspected changes, not confirmed yet", suspected),
        (TWO_LEVELS, alternating),
        (EXPECTED, expected),
    ]
}

/// Returns all alerts with their series, worst first, except those of common changes.
fn alerts(document: &TrendDocument) -> Vec<(&SeriesTrend, &Alert)> {
    let mut alerts: Vec<(&SeriesTrend, &Alert)> = document
        .series
        .iter()
        .flat_map(|series| series.alerts.iter().map(move |alert| (series, alert)))
        .collect();
    // Common changes are listed once, among the changes.
    alerts.retain(|(series, alert)| {
        alert.basis != AlertBasis::Confirmed
            || !is_common(document, series, |one| {
                one.change_percent.to_bits() == alert.change_percent.to_bits()
            })
    });
    alerts.sort_by_key(|(_, alert)| std::cmp::Reverse(alert.severity));
    alerts
}

/// Formats the trends for a terminal. `changes` is the output of [`crate::tracked::text`] if
/// changes of level are tracked; it replaces the changes and alerts of the individual series.
pub fn text(document: &TrendDocument, changes: Option<&str>, style: Style) -> String {
    if document.series.is_empty() {
        return "No series: no stored result has a value over time.\n".to_owned();
    }
    format!("{}{}", table(document).text(style), detail_text(document, changes, style))
}

/// Formats as [`text`] does, without the table.
pub fn summary(document: &TrendDocument, changes: Option<&str>, style: Style) -> String {
    detail_text(document, changes, style).trim_start_matches('\n').to_owned()
}

fn detail_text(document: &TrendDocument, changes: Option<&str>, style: Style) -> String {
    let mut out = String::new();
    for (heading, lines) in sections(document) {
        let is_included = changes.is_none() || [EXPECTED, TWO_LEVELS].contains(&heading);
        if !is_included || lines.is_empty() {
            continue;
        }
        out.push_str(&format!("\n{}\n", style.paint(Tone::Strong, heading)));
        // Do not wrap: such a line contains a unit up to three times, and wrapping could separate
        // it from its number.
        let unbroken = Style { width: usize::MAX, ..style };
        out.extend(lines.iter().map(|line| unbroken.wrap(line, 2)));
    }
    if let Some(changes) = changes.filter(|text| !text.is_empty()) {
        out.push_str(&format!("\n{changes}"));
    }
    let mut alerts = alerts(document);
    alerts.retain(|(_, alert)| changes.is_none() || alert.basis == AlertBasis::Drift);
    if !alerts.is_empty() {
        out.push_str(&format!("\n{}\n", style.paint(Tone::Strong, "Alerts")));
    }
    for (series, alert) in alerts {
        let (word, tone) = severity(alert.severity);
        let line = style.wrap(&format!("{word}: {}: {}", short(&series.id), alert.description), 2);
        out.push_str(&line.replacen(word, &style.paint(tone, word), 1));
        out.push_str(&style.wrap(&alert.recommendation, 4));
    }
    out.push_str(&format!("\n{}\n", sentence(document)));
    out.extend(no_slope(document).map(|line| style.wrap(&line, 0)));
    out
}

/// Explains why series with a trend have no slope.
fn no_slope(document: &TrendDocument) -> Option<String> {
    let count = document
        .series
        .iter()
        .filter(|series| series.slope_per_day.is_none() && series.r_squared.is_some())
        .count();
    let series = format_count(count, "series spans", "series span");
    (count > 0)
        .then(|| format!("{series} less than a day, which is too short for a slope per day."))
}

/// Summarizes the trends: `12 series: 1 increasing, 2 decreasing, 9 stable; no changes of level.`
/// Series with one run are counted separately.
pub fn sentence(document: &TrendDocument) -> String {
    let alone = document.series.iter().filter(|series| is_alone(series)).count();
    let shifts: usize = document.series.iter().map(|series| series.change_points.len()).sum();
    let suspected: usize = document.series.iter().map(|series| series.suspected.len()).sum();
    format!(
        "{}: {} increasing, {} decreasing, {} stable{}; {}{}.",
        format_count(document.series.len(), "series", "series"),
        count_direction(document, Direction::Increasing),
        count_direction(document, Direction::Decreasing),
        count_direction(document, Direction::Stable),
        if alone > 0 { format!(", {alone} with one run and no trend yet") } else { String::new() },
        format_count(shifts, "change point", "change points"),
        if suspected > 0 { format!(", {suspected} suspected") } else { String::new() },
    )
}

fn count_direction(document: &TrendDocument, direction: Direction) -> usize {
    document
        .series
        .iter()
        .filter(|series| !is_alone(series) && series.direction == direction)
        .count()
}

/// Formats the trends as a Markdown document.
pub fn markdown(document: &TrendDocument) -> String {
    let mut out = format!("# Trends\n\n{}\n\n", sentence(document));
    out.extend(no_slope(document).map(|line| line + "\n\n"));
    out.push_str(&table(document).markdown());
    for (heading, lines) in sections(document).into_iter().filter(|(_, lines)| !lines.is_empty()) {
        out.push_str(&format!("\n## {heading}\n\n"));
        out.extend(lines.iter().map(|line| format!("- {}\n", escape(line))));
    }
    let alerts = alerts(document);
    if !alerts.is_empty() {
        out.push_str("\n## Alerts\n\n");
    }
    for (series, alert) in alerts {
        let (word, _) = severity(alert.severity);
        let (id, what, advice) =
            (escape(&short(&series.id)), escape(&alert.description), escape(&alert.recommendation));
        out.push_str(&format!("- **{word}**: {id}: {what}\\\n  {advice}\n"));
    }
    out
}

const COLUMNS: [CsvColumn<SeriesTrend>; 19] = [
    ("id", |series| series.id.clone()),
    ("metric", |series| series.metric.clone()),
    ("unit", |series| series.unit.clone()),
    ("n", |series| series.n.to_string()),
    ("first", |series| csv_number(Some(series.first))),
    ("last", |series| csv_number(Some(series.last))),
    ("last_change_percent", |series| csv_number(series.last_change_percent)),
    ("slope_per_day", |series| csv_number(series.slope_per_day)),
    ("intercept", |series| csv_number(series.intercept)),
    ("r_squared", |series| csv_number(series.r_squared)),
    ("p_value", |series| csv_number(series.p_value)),
    ("direction", |series| series.direction.to_string()),
    ("change_points", |series| series.change_points.len().to_string()),
    ("suspected", |series| series.suspected.len().to_string()),
    ("shape", |series| series.shape.to_string()),
    ("forecast_days", |series| csv_number(series.forecast.as_ref().map(|ahead| ahead.days))),
    ("forecast", |series| csv_number(series.forecast.as_ref().map(|ahead| ahead.value))),
    ("forecast_low", |series| csv_number(series.forecast.as_ref().and_then(|ahead| ahead.low))),
    ("forecast_high", |series| csv_number(series.forecast.as_ref().and_then(|ahead| ahead.high))),
];

/// Formats the trends as CSV, one row per series.
///
/// # Errors
/// If the CSV writer fails, which the data of a trend cannot cause.
pub fn csv_rows(document: &TrendDocument) -> Result<String, ReportError> {
    csv_of(&COLUMNS, &document.series)
}
