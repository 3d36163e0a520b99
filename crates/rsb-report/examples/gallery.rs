//! Writes every chart and the reports for the sample data to a directory, for visual inspection:
//! `cargo run -p rsb-report --example gallery -- DIR`.

#[path = "../src/sample.rs"]
#[allow(
    dead_code,
    clippy::unwrap_used,
    reason = "written for tests; the gallery is for visual inspection"
)]
mod sample;
#[path = "../src/sample_backends.rs"]
#[allow(dead_code, clippy::unwrap_used, reason = "as above")]
mod sample_backends;

use std::path::Path;

use rsb_report::{ChartLink, PageLook, Report, charts, html, report};

fn main() -> std::io::Result<()> {
    let dir = std::env::args().nth(1).unwrap_or_else(|| "gallery".to_owned());
    let dir = Path::new(&dir);
    std::fs::create_dir_all(dir.join("charts"))?;
    let (run, comparison, trends) = (sample::run(), sample::comparison(), sample::trends());
    let report = Report::new(&run).with_comparison(&comparison);
    let mut all = charts::all(&report);
    all.extend(trends.series.iter().filter_map(charts::trend_chart));
    let mut one = run.benchmarks[0].clone();
    one.samples.truncate(1);
    one.benchmark_id = "parser/one replicate".parse().map_err(std::io::Error::other)?;
    all.extend(charts::distribution(&one));
    all.extend(charts::backends(&sample_backends::gpu_run()));
    for chart in &all {
        let picture = rsb_report::svg(chart).unwrap_or_default();
        std::fs::write(dir.join("charts").join(chart.file_name()), picture)?;
    }
    let links: Vec<ChartLink> = all.iter().map(|chart| chart.link("charts")).collect();
    std::fs::write(dir.join("report.md"), report::markdown(&report, &links))?;
    std::fs::write(dir.join("report.html"), html::page(&report, &PageLook::default()))
}
