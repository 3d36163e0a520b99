//! The report as a Markdown document.

use rsb_model::record::Recommendation;

use super::{Report, ReportPart, content};
use crate::chart::{ChartLink, ChartPlace};
use crate::comparison::{self, Detail};
use crate::markdown::{escape, image};
use crate::{backends, environment, targets, unmeasured};

/// Formats the report as a Markdown document, with `charts` next to the related results.
pub fn markdown(report: &Report<'_>, charts: &[ChartLink]) -> String {
    let run = report.run;
    let mut out = format!("# {}\n\n", escape(&content::title(report)));
    out.push_str(&format!("{}\n\n{}\n\n", escape(&content::subtitle(run)), verdict(report)));
    out.extend(
        run.notes.iter().map(|note| format!("> **Note:** {}\n\n", escape(&note.to_string()))),
    );
    let key_figures = content::key_figures(run);
    if !key_figures.is_empty() {
        out.push_str(&format!("## Key results\n\n{}\n", key_figures.markdown()));
    }
    out.push_str(&targets::markdown(report.threshold_checks));
    if report.has(ReportPart::Comparison) {
        out.push_str(&comparison_section(report, charts));
    }
    out.push_str(&backends::markdown(run, &images(charts, &ChartPlace::Backends)));
    for family in content::families(run, usize::MAX).0 {
        out.push_str(&format!("## {}\n\n{}\n", escape(family.title()), family.table.markdown()));
        out.push_str(&images(charts, &ChartPlace::Benchmark(family.benchmark.to_owned())));
    }
    out.push_str(&images(charts, &ChartPlace::Other));
    out.push_str(&unmeasured::markdown(run));
    if report.has(ReportPart::Recommendations) {
        out.push_str(&recommendations(report.recommendations));
    }
    let method: String =
        content::method(run).iter().map(|line| format!("- {}\n", escape(line))).collect();
    out.push_str(&format!("## Method\n\n{method}\n"));
    if report.has(ReportPart::Environment) {
        out.push_str("## Environment\n\n");
        out.push_str(environment::markdown(&run.environment).trim_end());
    }
    out.truncate(out.trim_end().len());
    out + "\n"
}

fn verdict(report: &Report<'_>) -> String {
    format!("**{}** {}", escape(&content::verdict(report).1), content::counts(report))
}

fn comparison_section(report: &Report<'_>, charts: &[ChartLink]) -> String {
    let Some(comparison) = report.comparison else { return String::new() };
    let mut out =
        format!("## Comparison\n\n{}\n", comparison::markdown_body(comparison, Detail::Brief));
    out.push_str(&images(charts, &ChartPlace::Comparison));
    if let Some(table) = content::differences(report) {
        out.push_str(&format!("### Differences of the machine\n\n{}\n", table.markdown()));
    }
    out
}

fn recommendations(all: &[Recommendation]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let mut items = String::new();
    for advice in all {
        let (action, evidence) = (escape(&advice.action), escape(&advice.evidence));
        items.push_str(&format!("- {action}\\\n  {evidence}\n"));
    }
    format!("## Recommendations\n\n{items}\n")
}

fn images(charts: &[ChartLink], place: &ChartPlace) -> String {
    charts
        .iter()
        .filter(|chart| chart.place == *place)
        .map(|chart| format!("{}\n\n", image(&chart.title, &chart.path)))
        .collect()
}
