//! Expansion of grids and overrides to cases with IDs.

use rsb_device::DeviceInfo;
use rsb_model::shape::rounded_bytes;
use rsb_model::{BenchmarkType, Case, CaseId, Params, Reason};

use crate::axis::{AxisInfo, IdForm};
use crate::benchmark::{Benchmark, Breadth, Grid};

/// A case, or a case that cannot run and the reason.
pub type CaseOrReason = Result<Case, (Case, Reason)>;

/// An invalid override of an axis.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UsageError {
    /// The benchmark has no axis with this name.
    #[error("{benchmark} has no axis `{axis}`; it has {valid}")]
    UnknownAxis {
        /// Name of the benchmark.
        benchmark: String,
        /// Requested axis.
        axis: String,
        /// Existing axes.
        valid: String,
    },
    /// The text is not a value of the axis.
    #[error("`{value}` is not a value of the axis `{axis}`: it takes {form}")]
    InvalidValue {
        /// Name of the axis.
        axis: String,
        /// Given value.
        value: String,
        /// Format of a value.
        form: String,
    },
    /// An axis without a value.
    #[error("the axis `{axis}` has no value: it takes {form}")]
    NoValue {
        /// Name of the axis.
        axis: String,
        /// Format of a value.
        form: String,
    },
}

/// Returns every case of `benchmark` on `device`, without duplicates. Each pair of `overrides`
/// (from `--axis name=v1,v2`) replaces the values of an axis in every grid.
///
/// An impossible combination (a size that exceeds the memory, more threads than available, a store
/// type for a read) is returned with its reason instead of being omitted, unless its operation
/// belongs to another grid. A device on which the benchmark does not run has no cases.
///
/// # Errors
/// If the benchmark lacks the axis, or if the text is not a value of the axis.
pub fn cases(
    benchmark: &dyn Benchmark,
    device: &DeviceInfo,
    breadth: Breadth,
    overrides: &[(String, Vec<String>)],
) -> Result<Vec<CaseOrReason>, UsageError> {
    let overrides = understand(benchmark, overrides)?;
    if !benchmark.info().runs_on.includes(device) {
        return Ok(Vec::new());
    }
    let mut found: Vec<CaseOrReason> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    let grids = benchmark.grids(breadth, device);
    for grid in &grids {
        for params in points(benchmark, grid, &overrides) {
            let case = case(benchmark, device, params);
            let refused = impossible(benchmark, device, &case.params);
            if (refused.is_some() && is_of_another(&case.params, grid, &grids))
                || !seen.insert(case.id.clone())
            {
                continue;
            }
            found.push(match refused {
                None => Ok(case),
                Some(reason) => Err((case, reason)),
            });
        }
    }
    Ok(found)
}

const OPERATION: &str = "operation";

/// Returns whether the operation of `params` belongs to a grid other than `grid`, so that only an
/// override could combine it with `grid`.
fn is_of_another(params: &Params, grid: &Grid, grids: &[Grid]) -> bool {
    let name = params.text(OPERATION);
    !has_operation(grid, name) && grids.iter().any(|grid| has_operation(grid, name))
}

fn has_operation(grid: &Grid, operation: Option<&str>) -> bool {
    grid.iter()
        .filter(|(name, _)| *name == OPERATION)
        .flat_map(|(_, values)| values)
        .any(|value| Some(value.as_str()) == operation)
}

/// Checks the names and values of `overrides`, independent of a device.
///
/// # Errors
/// As [`cases`].
pub fn check_axes(
    benchmark: &dyn Benchmark,
    overrides: &[(String, Vec<String>)],
) -> Result<(), UsageError> {
    understand(benchmark, overrides).map(drop)
}

/// Checks names and values, and converts values to the form used in IDs.
fn understand(
    benchmark: &dyn Benchmark,
    overrides: &[(String, Vec<String>)],
) -> Result<Vec<(&'static str, Vec<String>)>, UsageError> {
    let mut understood: Vec<(&'static str, Vec<String>)> = Vec::new();
    for (name, values) in overrides {
        let Some(axis) = benchmark.axes().iter().find(|axis| axis.name == name) else {
            return Err(UsageError::UnknownAxis {
                benchmark: benchmark.name().to_owned(),
                axis: name.clone(),
                valid: benchmark.axes().iter().map(|axis| axis.name).collect::<Vec<_>>().join(", "),
            });
        };
        if values.is_empty() {
            return Err(UsageError::NoValue { axis: name.clone(), form: axis.form_of_values() });
        }
        let canonical =
            values.iter().map(|value| canonical(axis, value)).collect::<Result<Vec<_>, _>>()?;
        match understood.iter_mut().find(|(known, _)| *known == axis.name) {
            Some((_, all)) => all.extend(canonical),
            None => understood.push((axis.name, canonical)),
        }
    }
    Ok(understood)
}

fn canonical(axis: &AxisInfo, value: &str) -> Result<String, UsageError> {
    axis.canonical(value).ok_or_else(|| UsageError::InvalidValue {
        axis: axis.name.to_owned(),
        value: value.to_owned(),
        form: axis.form_of_values(),
    })
}

/// Returns every combination; the last axis changes fastest.
fn points(
    benchmark: &dyn Benchmark,
    grid: &Grid,
    overrides: &[(&'static str, Vec<String>)],
) -> Vec<Params> {
    let mut points = vec![Params::new()];
    for axis in benchmark.axes() {
        let given = overrides.iter().find(|(name, _)| *name == axis.name);
        let given = given.or_else(|| grid.iter().find(|(name, _)| *name == axis.name));
        let default: Vec<String> = axis.default.iter().map(|&value| value.to_owned()).collect();
        let values = given.map_or(&default, |(_, values)| values);
        points = points
            .into_iter()
            .flat_map(|point| values.iter().map(move |value| point.clone().with(axis.name, value)))
            .collect();
    }
    points
}

fn case(benchmark: &dyn Benchmark, device: &DeviceInfo, params: Params) -> Case {
    let benchmark_type = if device.device.is_cpu() {
        BenchmarkType::CpuPerformance
    } else {
        BenchmarkType::GpuPerformance
    };
    let mut segments = vec![
        benchmark_type.as_str().to_owned(),
        benchmark.name().to_owned(),
        device.device.to_string(),
    ];
    for axis in benchmark.axes() {
        let Some(value) = params.text(axis.name) else { continue };
        match axis.form {
            IdForm::Value => segments.push(value.to_owned()),
            IdForm::Named if axis.default != Some(value) => {
                segments.push(format!("{}={value}", axis.name));
            }
            IdForm::Named => {}
        }
    }
    Case {
        id: CaseId::from_segments(&segments),
        benchmark: benchmark.name().to_owned(),
        benchmark_type,
        device: device.device.into(),
        params,
    }
}

/// Returns the reason why a case cannot run on this device, if it is known without accessing the
/// device.
fn impossible(benchmark: &dyn Benchmark, device: &DeviceInfo, params: &Params) -> Option<Reason> {
    let needed = match benchmark.footprint_bytes(params) {
        Ok(needed) => needed,
        Err(reason) => return Some(reason),
    };
    if needed > device.usable_memory_bytes {
        return Some(Reason::new(
            format!("{} of memory", rounded_bytes(needed)),
            format!(
                "a benchmark may use at most {} on {}",
                rounded_bytes(device.usable_memory_bytes),
                device.device
            ),
            "choose a smaller size, or free memory",
        ));
    }
    let threads = params.get::<u32>("threads").unwrap_or(1);
    if device.device.is_cpu() && threads > device.units {
        return Some(Reason::new(
            format!("{threads} threads"),
            format!("{} allows this process only {}", device.device, device.units),
            "choose fewer threads, or allow the process more CPUs (taskset, control group)",
        ));
    }
    None
}
