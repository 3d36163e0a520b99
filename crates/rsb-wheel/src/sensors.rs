//! Telemetry of a GPU during a measurement in Python, with the engine's sampler.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rsb_probe::ProbeOptions;
use rsb_probe::telemetry::{Sampler, gpu_at};

use crate::keep;

/// Interval between two readings, as in the engine.
const PERIOD: Duration = Duration::from_millis(100);

/// A running sampler of a GPU, stopped when dropped.
#[pyclass]
pub(crate) struct GpuWatch(Mutex<Option<Sampler>>);

#[pymethods]
impl GpuWatch {
    /// Stops sampling and returns the telemetry as fields of a result, in JSON.
    fn stop(&self, py: Python<'_>) -> PyResult<String> {
        let sampler = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let sampler = sampler
            .ok_or_else(|| PyValueError::new_err("this watch is already stopped; start another"))?;
        Ok(keep::text(&py.detach(|| sampler.stop()).fields())?)
    }
}

/// Starts sampling the GPU at this PCI address. Returns None if it has no sensors.
#[pyfunction]
pub(crate) fn watch(py: Python<'_>, pci_address: &str) -> Option<GpuWatch> {
    let sampler =
        py.detach(|| Some(Sampler::start(gpu_at(&ProbeOptions::here(), pci_address)?, PERIOD)));
    sampler.map(|sampler| GpuWatch(Mutex::new(Some(sampler))))
}
