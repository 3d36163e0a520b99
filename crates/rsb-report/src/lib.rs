//! Reports as Markdown, HTML, text, CSV, JSON, SVG and PNG. Returns strings and bytes, and accesses
//! no files.
//!
//! Every module formats one kind of document, with the functions `text`, `markdown` and `csv` if
//! applicable; [`json`] and [`document()`] write any of them as JSON. [`Table`] and [`Chart`] are
//! view models: data built by pure functions, which this crate draws as text, Markdown and SVG, and
//! a terminal interface or a page can draw as well.
//!
//! **Invariant:** no input or output, no clock, no random numbers: the same data gives the same
//! bytes.

#![allow(
    clippy::format_push_string,
    clippy::format_collect,
    reason = "reports are small; the shape of a line is easier to see in `format!` than in `write!`"
)]

pub mod architectures;
pub mod backends;
pub mod campaign;
pub mod capability;
pub mod chart;
mod chart_data;
mod chart_page;
pub mod charts;
mod compared;
pub mod comparison;
mod devices;
pub mod doctor;
pub mod document;
pub mod environment;
pub mod first_day;
mod forge;
pub mod gate;
mod gpus;
pub mod health;
pub mod html;
pub mod installation;
pub mod label;
pub mod list;
pub mod markdown;
pub mod matrix;
pub mod metrics;
pub mod names;
pub mod number;
pub mod paged;
pub mod picture;
#[cfg(feature = "png")]
mod png;
pub mod recommended;
pub mod report;
pub mod run;
pub mod spark;
mod spread;
pub mod style;
mod svg;
pub mod table;
pub mod targets;
pub mod theme;
pub mod tracked;
pub mod trend;
pub mod unmeasured;

pub use chart::{Chart, ChartLink};
pub use chart_data::{chart_csv, chart_places, chart_table};
pub use chart_page::chart_page;
pub use comparison::Detail;
pub use document::{ItemWriter, ReportError, document, json};
pub use forge::Forge;
pub use gate::GateFormat;
pub use html::{PageLook, PageTheme};
pub use list::{BaselineRow, ComparisonRow, HistoryTableRow, RunRow};
pub use matrix::CaseRow;
pub use metrics::{
    CaseMetrics, MachineMetrics, MetricsFormat, MetricsInput, RunningMetrics, metrics,
};
pub use number::{format_percent, format_quantity, format_time};
pub use picture::{
    CharacterSet, Glyphs, Picture, StyledText, UnusableCharacter, picture, pictures,
};
#[cfg(feature = "png")]
pub use png::{PngError, png};
pub use report::{Report, ReportInput, ReportPart};
pub use style::{Color, Style, Tone, clean, presentable};
pub use svg::{ChartFrame, frame, svg, svg_in};
pub use table::{Align, Cell, Column, Fit, Table, TableRow};
pub use theme::{Pigment, Theme, ThemeName};

#[cfg(test)]
mod first_screen;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod sample_backends;
#[cfg(test)]
mod snapshots;
