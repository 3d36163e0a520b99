//! ML frameworks: what is measured of them, and the Python environment that they run in.
//!
//! The work itself is in `python/rusty_stack_bench/workloads`, run by the worker
//! `rsb-python-worker`. This program only plans the cases and finds the worker and the environment;
//! it never links Python.

mod cases;
mod catalog;
mod component;
mod components;
mod environment;
mod networks;
mod status;
mod worker;
mod workloads;

pub use cases::{
    ComponentSelection, WORKLOAD, axes, case as case_of, cases, check_values, has_axis,
    workloads_with,
};
pub use catalog::{all, all_and_models, find, installable};
pub use component::{Component, Grids, InstallPlace, Workload};
pub use environment::{
    PythonEnvironment, apart, ask, default_environment, of_component, packages_of,
};
pub use status::{against_baseline, rate_change, record};
pub use worker::{WORKER_PROGRAM, command};

use rsb_model::{Case, DeviceRef, Reason};
use rsb_workloads::Breadth;

use crate::models;

/// How many points a component has on a device, for `list`.
pub fn count(component: &Component) -> usize {
    if component.name == models::MODELS {
        return models::catalogue().len();
    }
    cases(component, DeviceRef::CPU, ComponentSelection { breadth: Breadth::Full, axes: &[] })
        .map_or(0, |cases| cases.len())
}

/// Whether one iteration of `case` takes up to seconds, or a process of it takes seconds to start:
/// fewer samples and processes must do.
pub fn is_long(case: &Case) -> bool {
    find(&case.benchmark).is_some()
}

/// What stands in the way of the component called `name` here, as far as files tell.
///
/// # Errors
/// What is missing, why, and its cure.
pub fn readiness(name: &str) -> Result<(), Reason> {
    worker::beside(&this_program()?)?; // Without a worker nobody need be asked.
    let environment = find(name).map_or_else(default_environment, of_component)?;
    readiness_in(name, &environment)
}

/// As [`readiness`], in an environment of one's choice.
///
/// # Errors
/// What is missing, why, and its cure.
pub fn readiness_in(name: &str, environment: &PythonEnvironment) -> Result<(), Reason> {
    worker::fits(&this_program()?, environment)?;
    let Some(component) = find(name) else { return Ok(()) };
    if component.is_in(environment) { Ok(()) } else { Err(component.missing(environment)) }
}

fn this_program() -> Result<std::path::PathBuf, Reason> {
    std::env::current_exe().map_err(|error| {
        let why = format!("the system does not tell which program this is: {error}");
        Reason::new("framework benchmarks", why, "mount /proc")
    })
}
