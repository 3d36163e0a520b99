//! A GPU is watched while Python measures on it, by the sampler that the engine uses.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rsb_probe::ProbeOptions;
use rsb_probe::telemetry::{Sampler, gpu_at};

use crate::keep;

/// Between two readings, as in the engine.
const PERIOD: Duration = Duration::from_millis(100);

/// A GPU being watched. What is dropped stops.
#[pyclass]
pub(crate) struct GpuWatch(Mutex<Option<Sampler>>);

#[pymethods]
impl GpuWatch {
    /// How the GPU was since then: fields of a result, as JSON.
    fn stop(&self, py: Python<'_>) -> PyResult<String> {
        let sampler = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let sampler = sampler
            .ok_or_else(|| PyValueError::new_err("this watch was stopped before; start another"))?;
        Ok(keep::text(&py.detach(|| sampler.stop()).fields())?)
    }
}

/// Watches the GPU at this address on the bus; None where it has no sensors.
#[pyfunction]
pub(crate) fn watch(py: Python<'_>, pci_address: &str) -> Option<GpuWatch> {
    let sampler =
        py.detach(|| Some(Sampler::start(gpu_at(&ProbeOptions::here(), pci_address)?, PERIOD)));
    sampler.map(|sampler| GpuWatch(Mutex::new(Some(sampler))))
}
