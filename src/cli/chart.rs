//! Arguments of `chart`.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use rsb_model::Field;
use rsb_report::charts::{CHART_KINDS, ChartKind, ChartOptions};

use super::values::text;
use super::{FilterArgs, Places};

/// The form of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ChartFormat {
    /// Text for a terminal
    Text,
    /// A picture; a directory for several
    Svg,
    /// As `svg`, but a bitmap; needs the feature `png`
    Png,
    /// A page with all pictures
    Html,
}

/// Arguments of `chart`.
#[derive(Debug, Clone, Args)]
pub struct ChartArgs {
    /// Draw this kind of chart [default: list those of the latest run]
    #[arg(value_parser = kind(), hide_possible_values = true)]
    pub kind: Option<&'static ChartKind>,
    /// Draw this run, by file, id, branch or commit [default: latest]
    #[arg(value_parser = text())]
    pub run: Option<String>,
    /// Draw this metric, such as gflops [default: the main metric]
    #[arg(long, value_name = "NAME", value_parser = metric)]
    pub metric: Option<&'static Field>,
    /// Which cases to draw
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Compare with this run, branch, baseline or latest~N [default: the baseline]
    #[arg(long, value_name = "RUN", value_parser = text())]
    pub against: Option<String>,
    /// Draw a CSV file with `timestamp,value[,id,unit,better]` as trend or sparkline
    #[arg(long, value_name = "FILE", conflicts_with_all = ["run", "against"])]
    pub input: Option<PathBuf>,
    /// Add the results that only other runs of the machine have
    #[arg(long, conflicts_with_all = ["against", "input"])]
    pub across_runs: bool,
    /// Choose the format [default: by the ending of PATH, or text]
    #[arg(long, value_enum)]
    pub format: Option<ChartFormat>,
    /// Write to PATH, a directory for several pictures [default: standard output]
    #[arg(long, short, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Draw N columns wide [default: width of the terminal]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(20..=1000))]
    pub width: Option<u16>,
    /// Draw with ASCII characters only
    #[arg(long)]
    pub ascii: bool,
    /// Draw simulated results, too, marked as such
    #[arg(long)]
    pub simulated: bool,
    /// Paths of the project's files and directories
    #[command(flatten, next_help_heading = "Paths")]
    pub places: Places,
}

impl ChartArgs {
    /// Returns the format: the requested one, or that of the file to write.
    pub fn format(&self) -> ChartFormat {
        let ending = self.output.as_deref().and_then(Path::extension);
        let of_file = ending.and_then(|ending| ChartFormat::from_str(ending.to_str()?, true).ok());
        self.format.or(of_file).unwrap_or(ChartFormat::Text)
    }

    /// Returns the options of the chart.
    pub const fn options(&self) -> ChartOptions {
        ChartOptions { metric: self.metric, simulated: self.simulated }
    }
}

/// Returns the parser for a chart kind.
fn kind() -> impl TypedValueParser<Value = &'static ChartKind> {
    let values = CHART_KINDS.iter().map(|kind| {
        let aliases = ["_", ""].map(|dash| kind.name.replace('-', dash));
        let aliases = aliases.into_iter().filter(|alias| alias != kind.name);
        PossibleValue::new(kind.name).help(kind.about).aliases(aliases)
    });
    PossibleValuesParser::new(values)
        .try_map(|name| ChartKind::find(&name).ok_or("unknown kind of chart"))
}

/// Parses the name of a metric.
fn metric(name: &str) -> Result<&'static Field, String> {
    let known = Field::resolve(name)
        .filter(|field| field.unit != rsb_model::Unit::One || field.better().is_some());
    known.ok_or_else(|| {
        format!(
            "unknown metric `{name}`; docs/glossary.md lists the metrics, such as bandwidth_gb_s \
             or time_ms"
        )
    })
}
