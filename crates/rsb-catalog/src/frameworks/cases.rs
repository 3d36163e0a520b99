//! Cases of a component and their ids. No I/O.

use itertools::Itertools as _;
use rsb_model::{BenchmarkType, Case, CaseId, DeviceRef, Params};
use rsb_workloads::{AxisInfo, Breadth, IdForm, UsageError};

use super::component::{Component, Workload};

/// Axis of every component that selects its workload.
pub const WORKLOAD: &str = "workload";

/// Selection of the cases of a component.
#[derive(Debug, Clone, Copy)]
pub struct ComponentSelection<'a> {
    /// How many points to plan.
    pub breadth: Breadth,
    /// Values that replace the default values of an axis.
    pub axes: &'a [(String, Vec<String>)],
}

/// Returns whether any workload of `component` has the axis `name`.
pub fn has_axis(component: &Component, name: &str) -> bool {
    name == WORKLOAD || component.workloads().iter().any(|workload| axis(workload, name).is_some())
}

/// Returns the names of all axes of `component`.
pub fn axes(component: &Component) -> impl Iterator<Item = &'static str> {
    let own = component.workloads().iter().flat_map(|workload| workload.axes).map(|axis| axis.name);
    std::iter::once(WORKLOAD).chain(own)
}

/// Returns the workloads of `component` that have all of `axes`. A sweep entry without a workload
/// selects all of them.
///
/// # Errors
/// If no workload has one of the axes, or none has all of them. The error is a description.
pub fn workloads_with(
    component: &Component,
    axes: &[(String, Vec<String>)],
) -> Result<Vec<String>, String> {
    if let Some((wrong, _)) = axes.iter().find(|(name, _)| !has_axis(component, name)) {
        let known = self::axes(component).sorted_unstable().dedup().collect_vec();
        return Err(format!(
            "`{}` has no axis `{wrong}`; it has {}",
            component.name,
            known.join(", ")
        ));
    }
    let found: Vec<String> = component
        .workloads()
        .iter()
        .filter(|workload| {
            axes.iter().all(|(name, _)| name == WORKLOAD || axis(workload, name).is_some())
        })
        .map(|workload| workload.name.to_owned())
        .collect();
    if found.is_empty() {
        let names: Vec<&str> = axes.iter().map(|(name, _)| name.as_str()).collect();
        return Err(format!(
            "no workload of `{}` has the axes {} together",
            component.name,
            names.join(", ")
        ));
    }
    Ok(found)
}

/// Checks the values of `axes` in every selected workload, even if `component` cannot be measured
/// on this machine.
///
/// # Errors
/// If an axis has no values or an invalid one.
pub fn check_values(
    component: &Component,
    axes: &[(String, Vec<String>)],
) -> Result<(), UsageError> {
    let chosen = selected_workloads(component, axes)?;
    let workloads = component
        .workloads()
        .iter()
        .filter(|workload| chosen.is_empty() || chosen.contains(&workload.name));
    for axis in workloads.flat_map(|workload| workload.axes) {
        for (_, values) in axes.iter().filter(|(name, _)| name == axis.name) {
            if values.is_empty() {
                return Err(UsageError::NoValue {
                    axis: axis.name.to_owned(),
                    form: axis.form_of_values(),
                });
            }
            if let Some(wrong) = values.iter().find(|value| axis.canonical(value).is_none()) {
                return Err(invalid(axis.name, wrong, &axis.form_of_values()));
            }
        }
    }
    Ok(())
}

/// Returns the workloads named in `axes`.
fn selected_workloads<'a>(
    component: &Component,
    axes: &'a [(String, Vec<String>)],
) -> Result<Vec<&'a str>, UsageError> {
    let named = axes.iter().filter(|(name, _)| name == WORKLOAD).flat_map(|(_, values)| values);
    let named: Vec<&str> = named.map(String::as_str).collect();
    match named.iter().find(|name| component.workloads().iter().all(|known| known.name != **name)) {
        Some(unknown) => Err(invalid(WORKLOAD, unknown, &format!("one of {}", names(component)))),
        None => Ok(named),
    }
}

/// Returns all cases of `component` on `device`. A value in `wish.axes` replaces the default values
/// in the workloads that have the axis.
///
/// # Errors
/// If a value is invalid for its axis.
pub fn cases(
    component: &Component,
    device: DeviceRef,
    wish: ComponentSelection<'_>,
) -> Result<Vec<Case>, UsageError> {
    let chosen = selected_workloads(component, wish.axes)?;
    let mut found: Vec<Case> = Vec::new();
    for workload in component.workloads() {
        if !chosen.is_empty() && !chosen.contains(&workload.name) {
            continue;
        }
        // A workload selected by name is planned even if it has no quick points.
        let grids = workload.grids(device);
        let few = grids.quick.is_empty() && !chosen.is_empty();
        let breadth = if few { Breadth::Standard } else { wish.breadth };
        for grid in grids.of(breadth) {
            for params in points(workload, grid, wish.axes)? {
                let case = case(component, workload, device, params);
                if found.iter().all(|known| known.id != case.id) {
                    found.push(case);
                }
            }
        }
    }
    Ok(found)
}

fn names(component: &Component) -> String {
    component.workloads().iter().map(|workload| workload.name).collect::<Vec<_>>().join(", ")
}

fn axis<'w>(workload: &'w Workload, name: &str) -> Option<&'w AxisInfo> {
    workload.axes.iter().find(|axis| axis.name == name)
}

fn invalid(axis: &str, value: &str, form: &str) -> UsageError {
    UsageError::InvalidValue {
        axis: axis.to_owned(),
        value: value.to_owned(),
        form: form.to_owned(),
    }
}

/// Returns every combination of the values in `grid`, or of the requested values. The last axis
/// changes fastest.
fn points(
    workload: &Workload,
    grid: &str,
    requested: &[(String, Vec<String>)],
) -> Result<Vec<Params>, UsageError> {
    let mut points = vec![Params::new().with(WORKLOAD, workload.name)];
    for axis in workload.axes {
        let wished: Vec<String> = requested
            .iter()
            .filter(|(name, _)| name == axis.name)
            .flat_map(|(_, values)| values.clone())
            .collect();
        let wished = if wished.is_empty() {
            grid_values(grid, axis.name)
                .unwrap_or_else(|| axis.default.iter().map(|&value| value.to_owned()).collect())
        } else {
            wished
        };
        let mut values = Vec::new();
        for value in &wished {
            let canonical = axis.canonical(value);
            values
                .push(canonical.ok_or_else(|| invalid(axis.name, value, &axis.form_of_values()))?);
        }
        points = points
            .into_iter()
            .flat_map(|point| values.iter().map(move |value| point.clone().with(axis.name, value)))
            .collect();
    }
    Ok(points)
}

/// Returns the values of the axis `name` in a grid such as `width=1,2 depth=3`.
fn grid_values(grid: &str, name: &str) -> Option<Vec<String>> {
    let (_, values) = grid
        .split(' ')
        .filter_map(|part| part.split_once('='))
        .find(|(known, _)| *known == name)?;
    Some(values.split(',').map(str::to_owned).collect())
}

/// Returns the case of `workload` with `params`. Its id contains the parameters that are axes of
/// the workload.
pub fn case(component: &Component, workload: &Workload, device: DeviceRef, params: Params) -> Case {
    let benchmark_type = BenchmarkType::ComponentSpecific;
    let first = [benchmark_type.as_str(), component.name, &device.to_string(), workload.name];
    let mut segments: Vec<String> = first.iter().map(|&text| text.to_owned()).collect();
    for axis in workload.axes {
        let Some(value) = params.text(axis.name) else { continue };
        match axis.form {
            IdForm::Value => segments.push(value.to_owned()),
            // Slashes in a path must not split the id.
            IdForm::Named if axis.default != Some(value) => {
                segments.push(format!("{}={}", axis.name, value.replace('/', "_")));
            }
            IdForm::Named => {}
        }
    }
    Case {
        id: CaseId::from_segments(&segments),
        benchmark: component.name.to_owned(),
        benchmark_type,
        device: device.into(),
        params,
    }
}

#[cfg(test)]
mod tests {
    use rsb_model::BackendId;

    use super::*;
    use crate::frameworks::{all, find};

    fn ids(
        component: &str,
        breadth: Breadth,
        axes: &[(&str, &str)],
    ) -> Result<Vec<String>, UsageError> {
        let axes: Vec<(String, Vec<String>)> = axes
            .iter()
            .map(|(name, value)| ((*name).to_owned(), vec![(*value).to_owned()]))
            .collect();
        let cases = cases(
            find(component).unwrap(),
            DeviceRef::CPU,
            ComponentSelection { breadth, axes: &axes },
        )?;
        Ok(cases.into_iter().map(|case| case.id.to_string()).collect())
    }

    #[test]
    fn every_point_of_every_component_is_a_case_of_its_own() {
        for component in all() {
            for workload in component.workloads() {
                for grid in [&workload.cpu, &workload.gpu]
                    .into_iter()
                    .flat_map(|grids| grids.of(Breadth::Full))
                {
                    let points = points(workload, grid, &[]).unwrap();
                    assert!(!points.is_empty(), "{} {}: {grid}", component.name, workload.name);
                    for (name, _) in grid.split(' ').filter_map(|part| part.split_once('=')) {
                        assert!(
                            axis(workload, name).is_some(),
                            "{} {}: {name}",
                            component.name,
                            workload.name
                        );
                    }
                    for params in points {
                        assert_eq!(
                            params.iter().count(),
                            workload.axes.len() + 1,
                            "every axis has a value"
                        );
                    }
                }
            }
            assert!(
                !ids(component.name, Breadth::Quick, &[]).unwrap().is_empty(),
                "{}",
                component.name
            );
        }
    }

    #[test]
    fn a_gpu_has_work_of_its_size_at_a_glance_too() {
        let gpu = DeviceRef { backend: BackendId::Rocm, index: 0 };
        for component in all() {
            let wish = ComponentSelection { breadth: Breadth::Quick, axes: &[] };
            let cases = cases(component, gpu, wish).unwrap();
            assert!(!cases.is_empty(), "{}", component.name);
            for (axis, least) in [("sequence_length", 512), ("width", 768), ("prompt_length", 512)]
            {
                // A width applies to the small model only; named shapes have their own.
                let sizes = cases.iter().filter(|case| axis != "width" || has_small_shape(case));
                let sizes = sizes.filter_map(|case| case.params.text(axis)?.parse::<u32>().ok());
                assert!(sizes.min().is_none_or(|size| size >= least), "{} {axis}", component.name);
            }
        }
        assert_eq!(largest_size("pytorch", "shape", gpu), Some(8192));
        assert_eq!(largest_size("flash-attention", "sequence_length", gpu), Some(16_384));
    }

    fn has_small_shape(case: &Case) -> bool {
        case.params.text("model_shape").is_none_or(|shape| shape == "small")
    }

    fn largest_size(name: &str, axis: &str, gpu: DeviceRef) -> Option<u32> {
        let wish = ComponentSelection { breadth: Breadth::Full, axes: &[] };
        let cases = cases(find(name).unwrap(), gpu, wish).unwrap();
        cases
            .iter()
            .filter_map(|case| case.params.text(axis)?.split('x').next()?.parse::<u32>().ok())
            .max()
    }

    #[test]
    fn ids_name_the_workload_and_what_is_unusual() {
        let matmul =
            ids("pytorch", Breadth::Quick, &[("workload", "matmul"), ("shape", "64x64x64")])
                .unwrap();
        assert!(
            matmul.contains(&"component_specific/pytorch/cpu:0/matmul/f32/64x64x64".to_owned()),
            "{matmul:?}"
        );
        let transposed =
            ids("pytorch", Breadth::Quick, &[("workload", "matmul"), ("transpose", "tn")]).unwrap();
        assert!(transposed.iter().all(|id| id.ends_with("transpose=tn")), "{transposed:?}");
    }

    #[test]
    fn words_that_mean_nothing_are_named() {
        for (axis, value, word) in [
            ("workload", "matmull", "matmul"),
            ("dtype", "f33", "f32"),
            ("shape", "1x2", "3 sizes"),
        ] {
            let error = ids("pytorch", Breadth::Quick, &[(axis, value)]).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
