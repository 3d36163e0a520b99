//! From grids and overrides to cases with ids.

use rsb_device::DeviceInfo;
use rsb_model::shape::rounded_bytes;
use rsb_model::{BenchmarkType, Case, CaseId, Params, Reason};

use crate::axis::{AxisInfo, IdForm};
use crate::benchmark::{Benchmark, Breadth, Grid};

/// A case, or one that cannot be and why.
pub type CaseOrReason = Result<Case, (Case, Reason)>;

/// A wish that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UsageError {
    /// The benchmark has no such axis.
    #[error("{benchmark} has no axis `{axis}`; it has {valid}")]
    UnknownAxis {
        /// The benchmark.
        benchmark: String,
        /// What was asked for.
        axis: String,
        /// What there is.
        valid: String,
    },
    /// The text is not a value of the axis.
    #[error("`{value}` is not a value of the axis `{axis}`: it takes {form}")]
    InvalidValue {
        /// The axis.
        axis: String,
        /// What was given.
        value: String,
        /// What a value looks like.
        form: String,
    },
    /// An axis without any value.
    #[error("the axis `{axis}` has no value: it takes {form}")]
    NoValue {
        /// The axis.
        axis: String,
        /// What a value looks like.
        form: String,
    },
}

/// Every case of `benchmark` on `device`. Each pair of `overrides` (from `--axis name=v1,v2`)
/// replaces the values of an axis in every grid; cases that then coincide are given once. An
/// impossible combination (a size that does not fit in memory, more threads than there are, stores
/// of a read) comes with its reason instead of being left out; those of an operation that another
/// grid has do not. A device that the benchmark does not run on has no cases.
///
/// # Errors
/// For an axis that the benchmark does not have, and for text that is not a value of its axis.
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

/// Whether what `params` do is of another grid than `grid`, and here only because it was asked for.
fn is_of_another(params: &Params, grid: &Grid, grids: &[Grid]) -> bool {
    let asked = params.text(OPERATION);
    !has_operation(grid, asked) && grids.iter().any(|grid| has_operation(grid, asked))
}

fn has_operation(grid: &Grid, operation: Option<&str>) -> bool {
    grid.iter()
        .filter(|(name, _)| *name == OPERATION)
        .flat_map(|(_, values)| values)
        .any(|value| Some(value.as_str()) == operation)
}

/// Checks the names and values of `overrides`, on whatever device they may be meant for.
///
/// # Errors
/// As [`cases`].
pub fn check_axes(
    benchmark: &dyn Benchmark,
    overrides: &[(String, Vec<String>)],
) -> Result<(), UsageError> {
    understand(benchmark, overrides).map(drop)
}

/// Checks names and values, and writes values as ids do.
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

/// Every combination: the last axis changes fastest.
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

/// Why a case cannot be on this device, as far as that can be told without touching it.
fn impossible(benchmark: &dyn Benchmark, device: &DeviceInfo, params: &Params) -> Option<Reason> {
    let needed = match benchmark.footprint_bytes(params) {
        Ok(needed) => needed,
        Err(reason) => return Some(reason),
    };
    if needed > device.usable_memory_bytes {
        return Some(Reason::new(
            format!("{} of memory", rounded_bytes(needed)),
            format!(
                "a benchmark may take {} on {}",
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
            format!("{} lets this process use {}", device.device, device.units),
            "ask for fewer, or allow the process more (taskset, control group)",
        ));
    }
    None
}
