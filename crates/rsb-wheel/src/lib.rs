//! What the Python package needs of Rust: results are kept and judged by the code that the program uses.
//!
//! The measuring is done in Python, by the same workloads as the program's; see `python/rusty_stack_bench`.
//!
//! `python/checks` measures its quality.

mod keep;

use std::ffi::CString;
use std::path::PathBuf;

use pyo3::exceptions::{PyOSError, PyUserWarning, PyValueError};
use pyo3::prelude::*;

use keep::{GateRequest, KeepError};

impl From<KeepError> for PyErr {
    fn from(error: KeepError) -> Self {
        match error {
            KeepError::Store(_) => PyOSError::new_err(error.to_string()),
            _ => PyValueError::new_err(error.to_string()),
        }
    }
}

/// Keeps `results`, a JSON list of records, as a run of `suite`; the path of its file.
#[pyfunction]
fn store(py: Python<'_>, results: &str, results_dir: &str, suite: &str) -> PyResult<String> {
    let program: String = py.import("sys")?.getattr("executable")?.extract()?;
    // Nothing of this touches Python: its other threads may go on.
    Ok(py.detach(|| keep::store(results, results_dir, suite, program.into()))?)
}

/// Judges the runs in the files of `current` against those of `baseline`; the comparison as JSON. What the engine has
/// to say beside it (cases that the policy leaves out, say) becomes a warning.
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
    let (comparison, notices) = py.detach(|| keep::gate(request))?;
    let category = py.get_type::<PyUserWarning>();
    for notice in notices {
        let text = CString::new(notice.replace('\0', " "))?;
        PyErr::warn(py, &category, &text, 1)?;
    }
    Ok(comparison)
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(store, module)?)?;
    module.add_function(wrap_pyfunction!(gate, module)?)
}
