//! Benchmarks of ML frameworks, and the Python environment that they run in.
//!
//! The benchmark code is in `python/rusty_stack_bench/workloads` and is run by the worker
//! `rsb-python-worker`. This crate only plans the cases and finds the environment; it never links
//! Python.

mod cases;
mod catalog;
mod component;
mod components;
mod environment;
mod workloads;

pub use cases::{
    ComponentSelection, WORKLOAD, axes, case as case_of, cases, check_values, has_axis,
    workloads_with,
};
pub use catalog::{all, all_and_models, find, installable};
pub use component::{Component, Grids, InstallPlace, Workload};
pub use environment::{
    PythonEnvironment, apart, ask, default_environment, of_component, packages_of, qnn_program,
};

use rsb_model::{Case, DeviceRef};
use rsb_workloads::Breadth;

use crate::models;

/// Returns the number of points of a component on a device, for `list`.
pub fn count(component: &Component) -> usize {
    if component.name == models::MODELS {
        return models::catalogue().len();
    }
    cases(component, DeviceRef::CPU, ComponentSelection { breadth: Breadth::Full, axes: &[] })
        .map_or(0, |cases| cases.len())
}

/// Returns whether one iteration of `case`, or the start of its process, can take seconds, so that
/// fewer samples and processes must be taken.
pub fn is_long(case: &Case) -> bool {
    find(&case.benchmark).is_some()
}
