//! Parsers of argument values. Their errors describe the problem with a value; clap adds the name
//! of the argument.

use std::path::PathBuf;

use clap::builder::{OsStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use rsb_app::config::LogFormat;
use rsb_app::history::Since;
use rsb_app::report::{ReportForm, ReportFormat};
use rsb_engine::measure::PROFILERS;
use rsb_gate::gate::SideName;
use rsb_gate::harness::CountedMetric;
use rsb_model::{Profile, Suite};
use rsb_report::GateFormat;
use rsb_report::gate::UnknownFormat;
use rsb_store::import::Format;

/// Parses `NAME=V1,V2`.
pub(super) fn parse_axis(text: &str) -> Result<(String, Vec<String>), String> {
    let (name, values) =
        text.split_once('=').ok_or("write an axis as NAME=V1,V2, such as dtype=f32,f64")?;
    let values: Vec<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
    if name.is_empty() || values.iter().any(String::is_empty) {
        return Err("an axis needs a name and at least one value, such as dtype=f32,f64".to_owned());
    }
    Ok((name.trim().to_owned(), values))
}

/// Returns the parser for a verdict format.
pub(super) fn gate_format() -> impl TypedValueParser<Value = GateFormat> {
    PossibleValuesParser::new(GateFormat::ALL.map(GateFormat::as_str))
        .try_map(|name| name.parse::<GateFormat>())
}

/// Returns the parser for a report format.
pub(super) fn report_format() -> impl TypedValueParser<Value = ReportFormat> {
    PossibleValuesParser::new(ReportFormat::ALL.map(report_value))
        .try_map(|name| ReportFormat::find(&name).ok_or("unknown format"))
}

fn report_value(format: ReportFormat) -> PossibleValue {
    PossibleValue::new(format.as_str()).help(format.about())
}

/// Returns the parser for a report format or `all`.
pub(super) fn report_form() -> impl TypedValueParser<Value = ReportForm> {
    const ALL: &str = "all";
    let forms = ReportFormat::ALL.into_iter().map(report_value);
    let values = forms.chain([PossibleValue::new(ALL).help("All formats")]);
    PossibleValuesParser::new(values).try_map(|name| match name.as_str() {
        ALL => Ok(ReportForm::All),
        name => ReportFormat::find(name).map(ReportForm::One).ok_or("unknown format"),
    })
}

/// Returns the long help of `import --format`.
pub(super) fn import_format_help() -> String {
    let [names @ .., last] = Format::ALL.map(Format::as_str);
    format!("Name the format [default: detected]\n\n{} or {last}.", names.join(", "))
}

/// Returns the parser for the formats of other tools.
pub(super) fn import_format() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::as_str))
        .try_map(|name| name.parse::<Format>())
}

/// A file for the verdict, with its format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerdictFile {
    /// The format.
    pub format: GateFormat,
    /// The file.
    pub path: PathBuf,
}

/// Parses `FORM=FILE`.
pub(super) fn parse_verdict_file(text: &str) -> Result<VerdictFile, String> {
    const FORM: &str = "write FORM=FILE, such as junit=report.xml";
    let (form, file) = text.split_once('=').ok_or(FORM)?;
    match file {
        "" => Err(FORM.to_owned()),
        "-" => Err("--format sets the format of standard output; name a file".to_owned()),
        file => Ok(VerdictFile {
            format: form.parse().map_err(|error: UnknownFormat| error.to_string())?,
            path: PathBuf::from(file),
        }),
    }
}

/// Returns the parser for a profile.
pub(super) fn profile() -> impl TypedValueParser<Value = Profile> {
    let values =
        Profile::ALL.map(|profile| PossibleValue::new(profile.as_str()).help(profile.about()));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<Profile>())
}

/// Returns the parser for the name of a profiling tool.
pub(super) fn profiler() -> impl TypedValueParser<Value = String> {
    let values =
        PROFILERS.each_ref().map(|profiler| PossibleValue::new(profiler.name).help(profiler.about));
    PossibleValuesParser::new(values)
}

/// Returns the parser for the name of a suite.
pub(super) fn suite() -> impl TypedValueParser<Value = Suite> {
    let values = Suite::ALL.map(|suite| {
        let value = PossibleValue::new(suite.as_str()).help(suite.about());
        value.aliases(suite.aliases())
    });
    PossibleValuesParser::new(values).try_map(|name| name.parse::<Suite>())
}

/// Returns the parser for a metric that is counted.
pub(super) fn counted_metric() -> impl TypedValueParser<Value = CountedMetric> {
    let values =
        CountedMetric::ALL.map(|metric| PossibleValue::new(metric.as_str()).help(metric.about()));
    PossibleValuesParser::new(values).try_map(|name| {
        let metric = CountedMetric::ALL.into_iter().find(|metric| metric.as_str() == name);
        metric.ok_or("unknown metric")
    })
}

/// Returns the parser for the format of a log.
pub(super) fn log_format() -> impl TypedValueParser<Value = LogFormat> {
    let values = LogFormat::ALL.map(LogFormat::as_str);
    PossibleValuesParser::new(values).try_map(|name| LogFormat::find(&name).ok_or("unknown format"))
}

/// Parses a threshold in percent.
pub(super) fn parse_percent(text: &str) -> Result<f64, String> {
    let percent = text.parse().ok().filter(|percent: &f64| percent.is_finite() && *percent > 0.0);
    percent.ok_or_else(|| format!("`{text}` is not a finite percentage above 0; write 10 or 7.5"))
}

/// Returns a parser for text that may be a path. It rejects arguments that are not UTF-8, so that
/// clap names the argument.
pub(super) fn text() -> impl TypedValueParser<Value = String> {
    OsStringValueParser::new().try_map(|text| {
        text.into_string()
            .map_err(|_| "the text is not UTF-8; rename the file, or use a link with a UTF-8 name")
    })
}

/// Parses `baseline=FILE` or `current=FILE`.
pub(super) fn parse_side(text: &str) -> Result<(SideName, PathBuf), String> {
    let sides = [SideName::Baseline, SideName::Current];
    let parsed = text.split_once('=').and_then(|(name, path)| {
        let side = sides.into_iter().find(|side| side.as_str() == name)?;
        (!path.is_empty()).then(|| (side, PathBuf::from(path)))
    });
    parsed.ok_or_else(|| format!("`{text}` is not SIDE=FILE; write baseline=FILE or current=FILE"))
}

/// Parses a duration such as `90s` or `3m`.
pub(super) fn parse_time(text: &str) -> Result<std::time::Duration, String> {
    let parsed = text
        .parse::<jiff::SignedDuration>()
        .ok()
        .and_then(|time| std::time::Duration::try_from(time).ok());
    parsed.ok_or_else(|| format!("`{text}` is not a duration; write 90s, 3m or 1h30m"))
}

/// Parses a period between turns, from 1 minute to 366 days.
pub(super) fn parse_period(text: &str) -> Result<std::time::Duration, String> {
    const MOST: std::time::Duration = std::time::Duration::from_hours(366 * 24);
    let days = text.strip_suffix('d').and_then(|days| days.parse::<u32>().ok());
    let period = days.map_or_else(
        || parse_time(text),
        |days| Ok(std::time::Duration::from_hours(u64::from(days) * 24)),
    );
    let is_sensible =
        |period: &std::time::Duration| (std::time::Duration::from_mins(1)..=MOST).contains(period);
    period
        .ok()
        .filter(is_sensible)
        .ok_or_else(|| format!("`{text}` is not a duration from 1m to 366d; write 30m, 6h or 1d"))
}

/// Parses `30d`, `6mo`, `1y` or a date.
pub(super) fn parse_since(text: &str) -> Result<Since, String> {
    if let Ok(day) = text.parse() {
        return Ok(Since::Day(day));
    }
    let span = text.parse::<jiff::Span>().ok().filter(|span| !span.is_negative());
    span.map(Since::Ago).ok_or_else(|| {
        format!("`{text}` is not a time; write 30d, 2w, 6mo, 1y or a date such as 2026-01-31")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command;

    #[test]
    fn periods_may_be_days_and_are_never_less_than_a_minute() {
        assert_eq!(parse_period("6h"), Ok(std::time::Duration::from_hours(6)));
        assert_eq!(parse_period("2d"), Ok(std::time::Duration::from_hours(48)));
        for wrong in ["", "0d", "30s", "-1d", "9999999999d", "400d", "1.5d", "often"] {
            assert!(parse_period(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_are_written_as_people_do() {
        assert_eq!(parse_time("3m"), Ok(std::time::Duration::from_mins(3)));
        assert_eq!(parse_time("90s"), Ok(std::time::Duration::from_secs(90)));
        assert_eq!(parse_time("0s"), Ok(std::time::Duration::ZERO));
        for wrong in ["", "3", "-3m", "soon"] {
            assert!(parse_time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_past_are_spans_or_dates() {
        for (text, expected) in [("30d", "P30D"), ("1y", "P1Y"), ("6mo", "P6M"), ("2w", "P2W")] {
            let Ok(Since::Ago(span)) = parse_since(text) else { panic!("{text}") };
            assert_eq!(span.to_string(), expected);
        }
        assert!(
            matches!(parse_since("2026-01-31"), Ok(Since::Day(day)) if day.to_string() == "2026-01-31")
        );
        for wrong in ["", "-3d", "soon", "2026-13-01", "30"] {
            assert!(parse_since(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_threshold_is_a_finite_percentage_above_zero() {
        assert_eq!(parse_percent("7.5"), Ok(7.5));
        for wrong in ["nan", "0", "-1", "1e999", "ten", ""] {
            let Err(error) =
                command().try_get_matches_from(["x", "gate", &format!("--threshold={wrong}")])
            else {
                panic!("{wrong}")
            };
            assert!(error.to_string().contains("--threshold"), "{error}");
        }
    }

    #[test]
    fn what_is_not_utf_8_is_said_with_its_argument() {
        use std::os::unix::ffi::OsStrExt;
        let odd = std::ffi::OsStr::from_bytes(b"caf\xe9.json");
        for words in
            [&["gate", "--baseline"][..], &["gate", "--current"], &["baseline", "save", "--run"]]
        {
            let words = ["x"].iter().chain(words).map(std::ffi::OsStr::new).chain([odd]);
            let Err(error) = command().try_get_matches_from(words) else {
                panic!("an argument that is not UTF-8 must be refused")
            };
            let text = error.to_string();
            assert!(text.contains("UTF-8") && text.contains("--"), "{text}");
        }
    }

    #[test]
    fn a_file_for_the_verdict_has_a_form_and_a_name() {
        let expected = VerdictFile { format: GateFormat::Junit, path: "a=b.xml".into() };
        assert_eq!(parse_verdict_file("junit=a=b.xml"), Ok(expected));
        for (wrong, cure) in [
            ("a.xml", "FORM=FILE"),
            ("junit=", "FORM=FILE"),
            ("html=a", "sarif"),
            ("json=-", "--format"),
        ] {
            let error = parse_verdict_file(wrong).unwrap_err();
            assert!(error.contains(cure), "{wrong}: {error}");
        }
    }

    #[test]
    fn reports_are_named_once_or_all_together() {
        use ReportFormat::{Csv, Html, Markdown};
        assert_eq!(formats_of(&[]).unwrap(), []);
        assert_eq!(
            formats_of(&["--reports", "html,markdown,html", "--reports=csv"]).unwrap(),
            [Markdown, Html, Csv]
        );
        assert_eq!(formats_of(&["--reports", "all"]).unwrap(), ReportFormat::ALL);
        for wrong in ["docx", "html;csv", ""] {
            let error = formats_of(&["--reports", wrong]).unwrap_err().to_string();
            assert!(
                error.contains("--reports") && (wrong.is_empty() || error.contains("html")),
                "{error}"
            );
        }
    }

    fn formats_of(words: &[&str]) -> Result<Vec<ReportFormat>, clap::Error> {
        let words = ["x", "run"].iter().chain(words).copied();
        let matches = command().try_get_matches_from(words)?;
        let run = matches.subcommand_matches("run").unwrap();
        let asked: Vec<ReportForm> =
            run.get_many("reports").into_iter().flatten().copied().collect();
        Ok(ReportForm::expand(&asked))
    }

    #[test]
    fn a_suite_may_have_its_other_name() {
        for (name, suite) in
            [("gpu_performance", Suite::GpuPerformance), ("component_specific", Suite::Component)]
        {
            let matches = command().try_get_matches_from(["x", "run", "--suite", name]).unwrap();
            let run = matches.subcommand_matches("run").unwrap();
            assert_eq!(run.get_one("suite"), Some(&suite), "{name}");
        }
    }

    #[test]
    fn axes_are_a_name_and_values() {
        assert_eq!(
            parse_axis("dtype=f32, f64"),
            Ok(("dtype".into(), vec!["f32".into(), "f64".into()]))
        );
        for wrong in ["dtype", "=f32", "dtype=", "dtype=f32,,f64"] {
            assert!(parse_axis(wrong).is_err(), "{wrong}");
        }
    }
}
