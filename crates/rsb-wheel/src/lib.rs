//! Native part of the Python package: results are stored and judged by the same code as in the
//! program.
//!
//! Measuring is done in Python, by the same workloads as the program's; see
//! `python/rusty_stack_bench`.
//!
//! `python/checks` measures its quality.

mod compared;
mod figures;
mod keep;
mod sensors;
mod stored;

use std::ffi::CString;
use std::path::PathBuf;

use pyo3::exceptions::{PyOSError, PyUserWarning, PyValueError};
use pyo3::prelude::*;

use rsb_report::Glyphs;

use figures::Drawing;
use keep::{GateRequest, KeepError};

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
    // Python is not used here, so its other threads can continue.
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

/// Does the same as [`gate`], and adds textbook statistics of each case, every metric of both sides
/// and the overall speedup.
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

/// Returns the comparison as `text`, `json`, `markdown`, `junit`, `sarif` or `github`.
#[pyfunction]
#[pyo3(signature = (baseline, current, format, threshold_percent=None, policy=None))]
fn comparison_report(
    py: Python<'_>,
    baseline: Vec<String>,
    current: Vec<String>,
    format: &str,
    threshold_percent: Option<f64>,
    policy: Option<PathBuf>,
) -> PyResult<String> {
    let request = GateRequest { baseline, current, threshold_percent, policy };
    let answer = py.detach(|| keep::judge_files(request))?;
    Ok(compared::format_comparison(&answer, format)?)
}

/// Compares the run in the file `run` with the saved baseline of its machine and suite; returns the
/// comparison, or why there is none.
#[pyfunction]
#[pyo3(signature = (run, results_dir, full=false))]
fn against_saved(py: Python<'_>, run: &str, results_dir: &str, full: bool) -> PyResult<String> {
    let told = py.detach(|| keep::against_saved(run, results_dir, full))?;
    warn(py, &told.notices)?;
    Ok(told.text)
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

/// Returns the trend of numbers over time.
#[pyfunction]
#[pyo3(signature = (name, points, better=None))]
fn trend(name: &str, points: Vec<(String, f64)>, better: Option<&str>) -> PyResult<String> {
    Ok(figures::trend(name, better, &points)?)
}

/// Returns the trends of stored series.
#[pyfunction]
#[pyo3(signature = (results_dir, metric, case=None))]
fn stored_trends(
    py: Python<'_>,
    results_dir: &str,
    metric: &str,
    case: Option<&str>,
) -> PyResult<String> {
    Ok(py.detach(|| stored::trends(results_dir, metric, case))?)
}

/// Returns the stored run with this ID, or whose ID begins with it.
#[pyfunction]
fn stored_run(py: Python<'_>, results_dir: &str, id: &str) -> PyResult<String> {
    Ok(py.detach(|| stored::run(results_dir, id))?)
}

/// Returns every stored run, newest first.
#[pyfunction]
fn stored_runs(py: Python<'_>, results_dir: &str) -> PyResult<String> {
    Ok(py.detach(|| stored::runs(results_dir))?)
}

/// Exports every stored result as `csv` or `json`.
#[pyfunction]
fn export(py: Python<'_>, results_dir: &str, format: &str) -> PyResult<String> {
    Ok(py.detach(|| stored::export_results(results_dir, format))?)
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
#[pyo3(signature = (current, format, baseline=None))]
fn report(py: Python<'_>, current: &str, format: &str, baseline: Option<&str>) -> PyResult<String> {
    Ok(py.detach(|| stored::report(current, baseline, format))?)
}

/// Draws a text chart: `bar`, `line`, `gauge`, `heatmap` or `speedup`.
#[pyfunction]
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
) -> PyResult<String> {
    let glyphs = if ascii { Glyphs::Ascii } else { Glyphs::Unicode };
    let drawing = Drawing { kind, title, unit, labels, names, figures };
    let (width, height) = size;
    Ok(figures::draw(&drawing, width, height, glyphs)?)
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
    module.add_function(wrap_pyfunction!(comparison_report, module)?)?;
    module.add_function(wrap_pyfunction!(against_saved, module)?)?;
    module.add_function(wrap_pyfunction!(statistics, module)?)?;
    module.add_function(wrap_pyfunction!(difference, module)?)?;
    module.add_function(wrap_pyfunction!(trend, module)?)?;
    module.add_function(wrap_pyfunction!(stored_trends, module)?)?;
    module.add_function(wrap_pyfunction!(stored_run, module)?)?;
    module.add_function(wrap_pyfunction!(stored_runs, module)?)?;
    module.add_function(wrap_pyfunction!(export, module)?)?;
    module.add_function(wrap_pyfunction!(prune, module)?)?;
    module.add_function(wrap_pyfunction!(report, module)?)?;
    module.add_function(wrap_pyfunction!(draw, module)?)?;
    module.add_function(wrap_pyfunction!(sparkline, module)?)?;
    module.add_class::<sensors::GpuWatch>()?;
    module.add_function(wrap_pyfunction!(sensors::watch, module)?)
}
