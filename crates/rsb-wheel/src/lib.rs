//! Native part of the Python package: stores and compares results with the same code as the
//! program.
//!
//! Measuring is done in Python, with the same workloads as in the program; see
//! `python/rusty_stack_bench`.
//!
//! `python/checks` measures its quality.

mod architecture;
mod charts;
mod compared;
mod figures;
mod insight;
mod keep;
mod reports;
mod sensors;
mod stored;
mod trends;

use std::ffi::CString;
use std::path::PathBuf;

use pyo3::exceptions::{PyOSError, PyUserWarning, PyValueError};
use pyo3::prelude::*;

use rsb_report::{Color, Glyphs, Style};

use charts::Drawing;
use keep::{GateRequest, KeepError};
use reports::ReportOptions;

impl From<KeepError> for PyErr {
    fn from(error: KeepError) -> Self {
        match error {
            KeepError::Store(_) => PyOSError::new_err(error.to_string()),
            _ => PyValueError::new_err(error.to_string()),
        }
    }
}

/// Stores `results`, a JSON list of records, as a run of `suite`, and returns the path of its file.
#[pyfunction]
#[pyo3(signature = (results, results_dir, suite, save_samples=true))]
fn store(
    py: Python<'_>,
    results: &str,
    results_dir: &str,
    suite: &str,
    save_samples: bool,
) -> PyResult<String> {
    let program: String = py.import("sys")?.getattr("executable")?.extract()?;
    // Releases the interpreter, so that other Python threads can continue.
    let kept = keep::Keeping { directory: results_dir, suite, samples: save_samples };
    Ok(py.detach(|| keep::store(results, &kept, program.into()))?)
}

/// Compares the runs in the files of `current` with those of `baseline`, and returns the comparison
/// as JSON. Notices of the engine, such as cases that the policy excludes, become warnings.
#[pyfunction]
#[pyo3(signature = (baseline, current, threshold_percent=None, policy=None))]
fn gate(
    py: Python<'_>,
    baseline: Vec<String>,
    current: Vec<String>,
    threshold_percent: Option<f64>,
    policy: Option<PathBuf>,
) -> PyResult<String> {
    let request = GateRequest { baseline, current, threshold_percent, policy };
    let answer = py.detach(|| keep::judge_files(request))?;
    warn(py, &answer.notices)?;
    Ok(keep::text(&answer.result)?)
}

/// Issues the engine's notices as Python warnings.
fn warn(py: Python<'_>, notices: &[String]) -> PyResult<()> {
    let category = py.get_type::<PyUserWarning>();
    for notice in notices {
        let text = CString::new(notice.replace('\0', " "))?;
        PyErr::warn(py, &category, &text, 1)?;
    }
    Ok(())
}

/// Compares like [`gate`], and adds textbook statistics of each case and every metric of both
/// sides.
#[pyfunction]
#[pyo3(signature = (baseline, current, threshold_percent=None, policy=None, results_dir=None))]
fn compare(
    py: Python<'_>,
    baseline: Vec<String>,
    current: Vec<String>,
    threshold_percent: Option<f64>,
    policy: Option<PathBuf>,
    results_dir: Option<&str>,
) -> PyResult<String> {
    let request = GateRequest { baseline, current, threshold_percent, policy };
    let answer = py.detach(|| keep::judge_files(request))?;
    warn(py, &answer.notices)?;
    if let Some(results_dir) = results_dir {
        compared::save_comparison(&answer, results_dir)?;
    }
    Ok(compared::document(&answer)?)
}

/// Compares the run in the file `run` with the saved baseline of its machine and suite; returns the
/// comparison, or why there is none.
#[pyfunction]
#[pyo3(signature = (run, results_dir, full=false))]
fn against_saved(py: Python<'_>, run: &str, results_dir: &str, full: bool) -> PyResult<String> {
    let comparison = py.detach(|| keep::against_saved(run, results_dir, full))?;
    warn(py, &comparison.notices)?;
    Ok(comparison.text)
}

/// Returns statistics of a list of numbers.
#[pyfunction]
fn statistics(values: Vec<f64>, confidence: f64) -> PyResult<String> {
    Ok(figures::statistics(&values, confidence)?)
}

/// Tests whether two lists of numbers differ.
#[pyfunction]
fn difference(before: Vec<f64>, after: Vec<f64>, confidence: f64) -> PyResult<String> {
    Ok(figures::difference(&before, &after, confidence)?)
}

/// Returns for each number whether it is an outlier, by the rule `iqr` or `mad`.
#[pyfunction]
fn outliers(values: Vec<f64>, method: &str, threshold: f64) -> PyResult<Vec<bool>> {
    Ok(figures::find_outliers(&values, method, threshold)?)
}

/// Returns a percentile of a list of numbers.
#[pyfunction]
fn percentile(values: Vec<f64>, percent: f64) -> PyResult<f64> {
    Ok(figures::percentile(&values, percent)?)
}

/// Returns the rolling mean and median of a list of numbers.
#[pyfunction]
fn rolling(values: Vec<f64>, window: usize) -> PyResult<String> {
    Ok(figures::rolling(&values, window)?)
}

/// Returns the trends of a JSON list of series as `json`, `text`, `markdown` or `csv`.
#[pyfunction]
#[pyo3(signature = (series, settings=None, format="json"))]
fn trend(py: Python<'_>, series: &str, settings: Option<&str>, format: &str) -> PyResult<String> {
    Ok(py.detach(|| trends::given(series, settings, format))?)
}

/// Returns the trends of stored series in the formats of `trend`.
#[pyfunction]
#[pyo3(signature = (results_dir, metric, case=None, settings=None, format="json"))]
fn stored_trends(
    py: Python<'_>,
    results_dir: &str,
    metric: &str,
    case: Option<&str>,
    settings: Option<&str>,
    format: &str,
) -> PyResult<String> {
    let filter = trends::filter(Some(metric), case);
    Ok(py.detach(|| trends::stored(results_dir, &filter, settings, format))?)
}

/// Returns stored series as JSON, in the format that `trend` reads.
#[pyfunction]
#[pyo3(signature = (results_dir, metric=None, case=None))]
fn stored_series(
    py: Python<'_>,
    results_dir: &str,
    metric: Option<&str>,
    case: Option<&str>,
) -> PyResult<String> {
    let filter = trends::filter(metric, case);
    Ok(py.detach(|| trends::series(results_dir, &filter))?)
}

/// Returns the health of the stored runs as `json`, `text` or `markdown`.
#[pyfunction]
#[pyo3(signature = (results_dir, format="json"))]
fn health(py: Python<'_>, results_dir: &str, format: &str) -> PyResult<String> {
    Ok(py.detach(|| insight::health_page(results_dir, format))?)
}

/// Returns the names of all components.
#[pyfunction]
fn components() -> Vec<String> {
    insight::components()
}

/// Returns the record of each component in the run file `run`, and its comparison with the saved
/// baseline.
#[pyfunction]
#[pyo3(signature = (run, results_dir, policy=None))]
fn component_records(
    py: Python<'_>,
    run: &str,
    results_dir: &str,
    policy: Option<PathBuf>,
) -> PyResult<String> {
    Ok(py.detach(|| insight::component_records(run, results_dir, policy))?)
}

/// Returns every field of a result: name, unit, direction and meaning.
#[pyfunction]
fn fields() -> PyResult<String> {
    Ok(insight::fields()?)
}

/// Parses TOML and returns it as JSON.
#[pyfunction]
fn parse_toml(text: &str) -> PyResult<String> {
    let table: toml::Table =
        toml::from_str(text).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(keep::text(&table)?)
}

/// Returns the stored run with this ID, or the one whose ID begins with it.
#[pyfunction]
fn stored_run(py: Python<'_>, results_dir: &str, id: &str) -> PyResult<String> {
    Ok(py.detach(|| stored::run(results_dir, id))?)
}

/// Returns every stored run, newest first.
#[pyfunction]
fn stored_runs(py: Python<'_>, results_dir: &str) -> PyResult<String> {
    Ok(py.detach(|| stored::runs(results_dir))?)
}

/// Stores a run in JSON and returns the path of its file.
#[pyfunction]
fn save_run(py: Python<'_>, run: &str, results_dir: &str) -> PyResult<String> {
    Ok(py.detach(|| stored::save_run(run, results_dir))?)
}

/// Stores a comparison in JSON and returns the path of its file.
#[pyfunction]
fn save_comparison(py: Python<'_>, comparison: &str, results_dir: &str) -> PyResult<String> {
    Ok(py.detach(|| stored::save_comparison(comparison, results_dir))?)
}

/// Returns every stored comparison, newest first.
#[pyfunction]
fn stored_comparisons(py: Python<'_>, results_dir: &str) -> PyResult<String> {
    Ok(py.detach(|| stored::comparisons(results_dir))?)
}

/// Exports the results of some stored runs, or of all, as `csv` or `json`.
#[pyfunction]
#[pyo3(signature = (results_dir, format, run_ids=None))]
fn export(
    py: Python<'_>,
    results_dir: &str,
    format: &str,
    run_ids: Option<Vec<String>>,
) -> PyResult<String> {
    Ok(py.detach(|| stored::export_results(results_dir, format, run_ids.as_deref()))?)
}

/// Deletes old runs and returns their IDs.
#[pyfunction]
fn prune(
    py: Python<'_>,
    results_dir: &str,
    baselines_dir: &str,
    days: u32,
    keep: usize,
) -> PyResult<Vec<String>> {
    Ok(py.detach(|| stored::prune(results_dir, baselines_dir, days, keep))?)
}

/// Returns a report on a run as `markdown`, `html`, `text`, `csv` or `json`.
#[pyfunction]
#[pyo3(signature = (current, format, baseline=None, *, comparison=None, title=None, parts=None,
                    theme=None, chart_width=None))]
#[allow(clippy::too_many_arguments)] // Python names them.
fn report(
    py: Python<'_>,
    current: &str,
    format: &str,
    baseline: Option<String>,
    comparison: Option<String>,
    title: Option<String>,
    parts: Option<Vec<String>>,
    theme: Option<String>,
    chart_width: Option<u32>,
) -> PyResult<String> {
    let options = ReportOptions { baseline, comparison, title, parts, theme, chart_width };
    Ok(py.detach(|| reports::report(current, format, &options))?)
}

/// Formats an environment in JSON as Markdown.
#[pyfunction]
fn environment_report(environment: &str) -> PyResult<String> {
    Ok(reports::environment(environment)?)
}

/// Formats a comparison in JSON as `text`, `json`, `markdown`, `junit`, `sarif` or `github`.
#[pyfunction]
fn format_comparison(comparison: &str, format: &str) -> PyResult<String> {
    Ok(reports::comparison(comparison, format)?)
}

/// Draws the changes of a comparison in JSON as SVG; None if no value can be compared.
#[pyfunction]
fn comparison_svg(comparison: &str) -> PyResult<Option<String>> {
    Ok(reports::comparison_svg(comparison)?)
}

/// Writes `text` to the file `path` atomically.
#[pyfunction]
fn write_file(py: Python<'_>, path: PathBuf, text: &str) -> PyResult<()> {
    let written = py.detach(|| rsb_store::output::write_bytes(&path, text.as_bytes()));
    written.map_err(|error| PyOSError::new_err(error.to_string()))
}

/// Draws a text chart: `bar`, `stacked-bar`, `line`, `scatter`, `gauge`, `heat-map`, `speedup`,
/// `scaling`, `roofline`, `timeline` or `delta`.
#[pyfunction]
#[pyo3(signature = (kind, title, unit, labels, names, figures, size, ascii, color=false))]
#[allow(clippy::too_many_arguments)] // As many as a chart is made of; Python names them.
fn draw(
    kind: String,
    title: String,
    unit: String,
    labels: Vec<String>,
    names: Vec<String>,
    figures: Vec<Vec<f64>>,
    size: (usize, usize),
    ascii: bool,
    color: bool,
) -> PyResult<String> {
    let glyphs = if ascii { Glyphs::Ascii } else { Glyphs::Unicode };
    let color = if color { Color::Always } else { Color::Never };
    let drawing = Drawing { kind, title, unit, labels, names, figures };
    let (width, height) = size;
    Ok(charts::draw(&drawing, width, height, glyphs, Style { color, ..Style::PLAIN })?)
}

/// Draws the same chart as `draw`, as SVG.
#[pyfunction]
fn draw_svg(
    kind: String,
    title: String,
    unit: String,
    labels: Vec<String>,
    names: Vec<String>,
    figures: Vec<Vec<f64>>,
) -> PyResult<String> {
    Ok(charts::draw_svg(&Drawing { kind, title, unit, labels, names, figures })?)
}

/// Draws numbers as one line of block characters.
#[pyfunction]
fn sparkline(values: Vec<f64>, width: usize) -> String {
    rsb_report::spark::sparkline(&values, width)
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(store, module)?)?;
    module.add_function(wrap_pyfunction!(gate, module)?)?;
    module.add_function(wrap_pyfunction!(compare, module)?)?;
    module.add_function(wrap_pyfunction!(against_saved, module)?)?;
    module.add_function(wrap_pyfunction!(statistics, module)?)?;
    module.add_function(wrap_pyfunction!(difference, module)?)?;
    module.add_function(wrap_pyfunction!(outliers, module)?)?;
    module.add_function(wrap_pyfunction!(percentile, module)?)?;
    module.add_function(wrap_pyfunction!(rolling, module)?)?;
    module.add_function(wrap_pyfunction!(trend, module)?)?;
    module.add_function(wrap_pyfunction!(stored_trends, module)?)?;
    module.add_function(wrap_pyfunction!(stored_series, module)?)?;
    module.add_function(wrap_pyfunction!(health, module)?)?;
    module.add_function(wrap_pyfunction!(components, module)?)?;
    module.add_function(wrap_pyfunction!(component_records, module)?)?;
    module.add_function(wrap_pyfunction!(fields, module)?)?;
    module.add_function(wrap_pyfunction!(parse_toml, module)?)?;
    module.add_function(wrap_pyfunction!(stored_run, module)?)?;
    module.add_function(wrap_pyfunction!(stored_runs, module)?)?;
    module.add_function(wrap_pyfunction!(save_run, module)?)?;
    module.add_function(wrap_pyfunction!(save_comparison, module)?)?;
    module.add_function(wrap_pyfunction!(stored_comparisons, module)?)?;
    module.add_function(wrap_pyfunction!(export, module)?)?;
    module.add_function(wrap_pyfunction!(prune, module)?)?;
    module.add_function(wrap_pyfunction!(report, module)?)?;
    module.add_function(wrap_pyfunction!(environment_report, module)?)?;
    module.add_function(wrap_pyfunction!(format_comparison, module)?)?;
    module.add_function(wrap_pyfunction!(comparison_svg, module)?)?;
    module.add_function(wrap_pyfunction!(write_file, module)?)?;
    module.add_function(wrap_pyfunction!(draw, module)?)?;
    module.add_function(wrap_pyfunction!(draw_svg, module)?)?;
    module.add_function(wrap_pyfunction!(sparkline, module)?)?;
    module.add_class::<sensors::GpuWatch>()?;
    module.add_function(wrap_pyfunction!(architecture::architecture, module)?)?;
    module.add_function(wrap_pyfunction!(architecture::occupancy, module)?)?;
    module.add_function(wrap_pyfunction!(sensors::watch, module)?)
}
