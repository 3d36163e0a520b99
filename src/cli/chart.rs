//! Flags of `chart`.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use rsb_model::Field;
use rsb_report::charts::{CHART_KINDS, ChartKind};

use super::Places;
use super::values::text;

/// The form of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ChartFormat {
    /// For a terminal.
    Text,
    /// A picture; several go into a directory.
    Svg,
    /// As `svg`, in pixels; needs the feature `png`.
    Png,
    /// A page with every picture in it.
    Html,
}

/// Arguments of `chart`.
#[derive(Debug, Clone, Args)]
pub struct ChartArgs {
    /// What to draw; without it every kind is listed with what it needs
    #[arg(value_parser = kind(), hide_possible_values = true)]
    pub kind: Option<&'static ChartKind>,
    /// Run file or id [default: the latest run]
    #[arg(value_parser = text())]
    pub run: Option<String>,
    /// The figure, such as gflops [default: the one that says most]
    #[arg(long, value_name = "NAME", value_parser = metric)]
    pub metric: Option<&'static Field>,
    /// Only cases whose ids contain this text (`*` matches anything)
    #[arg(long, value_name = "PATTERN")]
    pub benchmark: Option<String>,
    /// What to compare with: run file, id, baseline, previous or latest~N [default: the saved baseline of this machine]
    #[arg(long, value_name = "RUN", value_parser = text())]
    pub against: Option<String>,
    /// For `trend` and `sparkline`: a CSV file with `timestamp,value` and optional `id,unit,better`, not the stored runs
    #[arg(long, value_name = "FILE", conflicts_with_all = ["run", "against"])]
    pub input: Option<PathBuf>,
    /// Format
    #[arg(long, value_enum, default_value_t = ChartFormat::Text)]
    pub format: ChartFormat,
    /// File to write, for several pictures a directory; `-` for standard output [default: standard output]
    #[arg(long, short, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Columns of the text [default: those of the terminal]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(20..=1000))]
    pub width: Option<u16>,
    /// Draw with plain characters
    #[arg(long)]
    pub ascii: bool,
    /// Where things are kept
    #[command(flatten, next_help_heading = "Places")]
    pub places: Places,
}

/// The name of a kind.
fn kind() -> impl TypedValueParser<Value = &'static ChartKind> {
    let values = CHART_KINDS.iter().map(|kind| PossibleValue::new(kind.name).help(kind.about));
    PossibleValuesParser::new(values).try_map(|name| ChartKind::find(&name).ok_or("no kind has that name"))
}

/// The name of a figure.
fn metric(name: &str) -> Result<&'static Field, String> {
    let known = Field::find(name).filter(|field| field.unit != rsb_model::Unit::One || field.better().is_some());
    known
        .ok_or_else(|| format!("`{name}` is no figure; docs/glossary.md lists them, such as bandwidth_gb_s or time_ms"))
}
