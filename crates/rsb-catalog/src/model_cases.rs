//! Planning of model cases from families, sizes and axes. Cases that cannot run have a reason.

use rsb_device::DeviceInfo;
use rsb_model::shape::rounded_bytes;
use rsb_model::{Case, DeviceRef, Dtype, Obstacle, Params, Reason};
use rsb_workloads::{AxisInfo, Breadth, CaseOrReason, UsageError};

use crate::frameworks::{self, Component, WORKLOAD, Workload};
use crate::models::{
    DEFINITION, Family, Footprint, GENERATE, LOAD, MODELS, ModelConfiguration, ModelRow, SizeClass,
    Unpublished, catalogue, find, refusal, representative, runtime, unknown, unpublished,
};

/// Selection of models.
#[derive(Debug, Clone, Copy)]
pub struct ModelSelection<'a> {
    /// How many points to plan.
    pub breadth: Breadth,
    /// Values of axes, as given by the user.
    pub axes: &'a [(String, Vec<String>)],
    /// Models that are not in the catalog.
    pub own: &'a [ModelRow],
}

/// Requested model that does not exist.
enum MissingModel<'a> {
    /// No model of the family has this size.
    Size(Family, SizeClass),
    /// No model has this name, or the model cannot be measured.
    Name(&'a str, Reason),
}

/// Model, or the reason why it is missing.
type RowOrGap<'a> = Result<&'a ModelRow, MissingModel<'a>>;

/// Returns all cases of `wish` on `device`. Memory limits are checked if `info` is given.
///
/// # Errors
/// If a value is invalid for its axis.
pub fn cases(
    component: &Component,
    device: DeviceRef,
    info: Option<&DeviceInfo>,
    wish: ModelSelection<'_>,
) -> Result<Vec<CaseOrReason>, UsageError> {
    let wish = SelectedAxes::of(component, wish)?;
    let mut found: Vec<CaseOrReason> = Vec::new();
    for row in wish.rows() {
        let row = match row {
            Ok(row) => row,
            Err(MissingModel::Size(family, size)) => {
                found.push(Err(absent(component, device, family, size)));
                continue;
            }
            Err(MissingModel::Name(name, reason)) => {
                found.push(Err((
                    case_without_work(
                        component,
                        device,
                        &[name],
                        Params::new().with("model", name),
                    ),
                    reason,
                )));
                continue;
            }
        };
        for point in wish.points(component, row) {
            let case = frameworks::case_of(component, point.workload, device, point.params(row));
            let is_known = found.iter().map(id).any(|known| known == &case.id);
            if is_known {
                continue;
            }
            let wanted = ModelConfiguration {
                row,
                workload: point.workload.name,
                runtime: &point.runtime,
                dtype: point.dtype,
                length: point.length,
                tokens: point.tokens(),
                device,
            };
            let refused = refusal(&wanted)
                .or_else(|| untunable(&point))
                .or_else(|| too_large(row, &point, info));
            found.push(match refused {
                None => Ok(case),
                Some(reason) => Err((case, reason)),
            });
        }
    }
    Ok(found)
}

/// Returns the reason why the size of `row` is unknown.
fn unknown_size(row: &ModelRow) -> Reason {
    let cure = format!("add `parameters` to its row, or choose --model {}", row.name);
    Reason::new(
        format!("size of {}", row.name),
        "its number of parameters is unknown until it is measured",
        cure,
    )
}

const fn id(case: &CaseOrReason) -> &rsb_model::CaseId {
    match case {
        Ok(case) | Err((case, _)) => &case.id,
    }
}

/// One point of a sweep over one model.
struct ModelPoint {
    workload: &'static Workload,
    runtime: String,
    dtype: Dtype,
    batch: u64,
    length: u64,
    /// Parameters of the workload in addition to the common axes.
    own: Params,
}

impl ModelPoint {
    /// Returns the number of tokens generated after the input.
    fn tokens(&self) -> u64 {
        self.own.text("output_length").and_then(|count| count.parse().ok()).unwrap_or_default()
    }

    fn params(&self, row: &ModelRow) -> Params {
        self.own
            .clone()
            .with(WORKLOAD, self.workload.name)
            .with("model", row.name.as_str())
            .with("dtype", self.dtype.as_str())
            .with("batch_size", self.batch.to_string())
            .with("sequence_length", self.length.to_string())
            .with("runtime", self.runtime.as_str())
            .with(DEFINITION, row.definition())
    }
}

/// Axes of a selection, by name, with values in the form used in ids.
struct SelectedAxes<'a> {
    axes: Vec<(&'static str, Vec<String>)>,
    wish: ModelSelection<'a>,
}

impl<'a> SelectedAxes<'a> {
    fn of(component: &Component, wish: ModelSelection<'a>) -> Result<Self, UsageError> {
        let mut axes = Vec::new();
        for (name, values) in wish.axes {
            let name = name.as_str();
            let known = component
                .workloads()
                .iter()
                .flat_map(|one| one.axes)
                .find(|axis| axis.name == name);
            match (name, known) {
                (WORKLOAD, _) => axes.push((WORKLOAD, values.clone())),
                (_, Some(axis)) => axes.push((axis.name, canonical(axis, values)?)),
                (_, None) => {}
            }
        }
        let selection = Self { axes, wish };
        let wrong = selection
            .values(WORKLOAD)
            .into_iter()
            .find(|name| component.workloads().iter().all(|one| one.name != *name))
            .map(str::to_owned);
        match wrong {
            Some(wrong) => {
                let names: Vec<&str> = component.workloads().iter().map(|one| one.name).collect();
                Err(invalid(WORKLOAD, &wrong, format!("one of {}", names.join(", "))))
            }
            None => Ok(selection),
        }
    }

    fn values(&self, name: &str) -> Vec<&str> {
        let own = self.axes.iter().filter(|(known, _)| *known == name);
        own.flat_map(|(_, values)| values).map(String::as_str).collect()
    }

    /// Returns the numbers of an axis, or `usual` if the user gave none.
    fn numbers(&self, name: &str, usual: &[u64]) -> Vec<u64> {
        let given: Vec<u64> =
            self.values(name).iter().filter_map(|text| text.parse().ok()).collect();
        if given.is_empty() { usual.to_vec() } else { given }
    }

    /// Returns the named models, or one of each selected family and size.
    fn rows(&self) -> Vec<RowOrGap<'_>> {
        let named = self.values("model");
        if !named.is_empty() {
            return named.into_iter().map(|name| self.find_row(name)).collect();
        }
        let (families, sizes) = (self.families(), self.sizes());
        let usual = if sizes.is_empty() { &[SizeClass::Tiny][..] } else { &sizes };
        let families = if families.is_empty() { &Family::ALL[..] } else { &families };
        // User-defined models of these families. If no sizes are selected, models of all sizes are
        // included.
        let own = self
            .wish
            .own
            .iter()
            .filter(|row| families.contains(&row.family) && row.refused.is_none());
        let own = own.filter_map(|row| match row.parameters {
            _ if sizes.is_empty() => Some(Ok(row)),
            0 => Some(Err(MissingModel::Name(&row.name, unknown_size(row)))),
            _ => sizes.contains(&row.size()).then_some(Ok(row)),
        });
        let pairs = families.iter().flat_map(|family| usual.iter().map(|size| (*family, *size)));
        pairs
            .map(|(family, size)| {
                representative(family, size).ok_or(MissingModel::Size(family, size))
            })
            .chain(own)
            .collect()
    }

    fn families(&self) -> Vec<Family> {
        self.values("family").iter().filter_map(|name| name.parse().ok()).collect()
    }

    fn sizes(&self) -> Vec<SizeClass> {
        self.values("size").iter().filter_map(|name| name.parse().ok()).collect()
    }

    fn find_row<'n>(&self, name: &'n str) -> Result<&'a ModelRow, MissingModel<'n>> {
        let row = find(name, self.wish.own)
            .ok_or_else(|| MissingModel::Name(name, unknown(name, self.wish.own)))?;
        if let Some(reason) = row.refused.clone() {
            return Err(MissingModel::Name(name, reason));
        }
        let families = self.families();
        if families.is_empty() || families.contains(&row.family) {
            return Ok(row);
        }
        let why =
            format!("{} belongs to the family {}, which is not selected", row.name, row.family);
        Err(MissingModel::Name(
            name,
            Reason::new(format!("model {name}"), why, "omit the families, or include its family"),
        ))
    }

    fn points(&self, component: &Component, row: &ModelRow) -> Vec<ModelPoint> {
        let few = self.wish.breadth == Breadth::Quick;
        let batches = self.numbers("batch_size", if few { &[1] } else { &[1, 8] });
        let lengths = match row.shape.length {
            Some(own) => vec![own],
            None => self.numbers("sequence_length", &[row.usual_length()]),
        };
        let dtypes: Vec<Dtype> =
            self.values("dtype").iter().filter_map(|name| name.parse().ok()).collect();
        let runtimes = self.values("runtime");
        let runtimes = if runtimes.is_empty() { vec!["pytorch"] } else { runtimes };
        let mut points = Vec::new();
        for workload in
            component.workloads().iter().filter(|workload| self.is_chosen(workload, row))
        {
            for runtime_name in &runtimes {
                // Default: the first data type of the runtime.
                let usual = runtime(runtime_name).map_or(&[][..], |known| &known.dtypes[..1]);
                for &dtype in if dtypes.is_empty() { usual } else { &dtypes } {
                    for &batch in &batches {
                        for &length in &lengths {
                            for own in self.own_params(workload) {
                                points.push(ModelPoint {
                                    workload,
                                    runtime: (*runtime_name).to_owned(),
                                    dtype,
                                    batch,
                                    length,
                                    own,
                                });
                            }
                        }
                    }
                }
            }
        }
        points
    }

    fn is_chosen(&self, workload: &Workload, row: &ModelRow) -> bool {
        match self.values(WORKLOAD).as_slice() {
            // A quick run does a single pass only. Token generation is for models that generate
            // tokens, and the load workload must be requested.
            [] if workload.name == GENERATE => {
                self.wish.breadth != Breadth::Quick && row.generates()
            }
            [] => workload.name != LOAD,
            chosen => chosen.contains(&workload.name),
        }
    }

    /// Returns every combination of the axes of `workload` that are not common to all workloads.
    fn own_params(&self, workload: &Workload) -> Vec<Params> {
        let mut found = vec![Params::new()];
        for axis in workload.axes.iter().filter(|axis| !COMMON.contains(&axis.name)) {
            let given = self.values(axis.name);
            let values = if given.is_empty() { axis.default.into_iter().collect() } else { given };
            found = found
                .iter()
                .flat_map(|known| values.iter().map(|value| known.clone().with(axis.name, *value)))
                .collect();
        }
        found
    }
}

/// Axes common to all workloads.
const COMMON: [&str; 7] =
    ["family", "size", "model", "dtype", "batch_size", "sequence_length", "runtime"];

fn canonical(axis: &AxisInfo, values: &[String]) -> Result<Vec<String>, UsageError> {
    let mut found = Vec::new();
    for value in values {
        let canonical = axis.canonical(value);
        found.push(canonical.ok_or_else(|| invalid(axis.name, value, axis.form_of_values()))?);
    }
    Ok(found)
}

fn invalid(axis: &str, value: &str, form: String) -> UsageError {
    UsageError::InvalidValue { axis: axis.to_owned(), value: value.to_owned(), form }
}

/// Returns the reason if the runtime does not support the requested performance hint.
fn untunable(point: &ModelPoint) -> Option<Reason> {
    let hint = point
        .own
        .text("performance_hint")
        .filter(|hint| *hint != "latency" && point.runtime != "openvino")?;
    let why = format!("{} has no performance hint", point.runtime);
    Some(Reason::new(
        format!("{hint} by {}", point.runtime),
        why,
        "choose --backend openvino, or --hint latency",
    ))
}

/// Returns the entry for a family that has no model of the requested size.
fn absent(
    component: &Component,
    device: DeviceRef,
    family: Family,
    size: SizeClass,
) -> (Case, Reason) {
    let known = SizeClass::ALL.into_iter().filter(|size| representative(family, *size).is_some());
    let known: Vec<&str> = known.map(SizeClass::as_str).collect();
    let what = format!("{family} of size {size}");
    let why = match unpublished(family, size) {
        Some(cell) => format!("{}: {}", Unpublished::WORDS, cell.searched),
        None => "the catalogue has no such model".to_owned(),
    };
    let reason = Reason::new(
        what,
        why,
        format!("choose --sizes {}, or define your own model with --catalogue", known.join(",")),
    );
    (case_without_work(component, device, &[family.as_str(), size.as_str()], Params::new()), reason)
}

/// Returns the entry for a model that cannot be planned.
fn case_without_work(
    component: &Component,
    device: DeviceRef,
    names: &[&str],
    params: Params,
) -> Case {
    let device_name = device.to_string();
    let segments = [&["component_specific", component.name, &device_name], names].concat();
    Case {
        id: rsb_model::CaseId::from_segments(&segments),
        benchmark: component.name.to_owned(),
        benchmark_type: rsb_model::BenchmarkType::ComponentSpecific,
        device: device.into(),
        params,
    }
}

/// Returns the model name of `case` if the case is the entry of an unknown model.
pub(crate) fn wrong_name(case: &Case) -> Option<&str> {
    let is_planned = case.benchmark != MODELS || case.params.text(WORKLOAD).is_some();
    case.params.text("model").filter(|_| !is_planned)
}

/// Returns the reason if a model does not fit in memory, with the largest model of its family that
/// does.
fn too_large(row: &ModelRow, point: &ModelPoint, info: Option<&DeviceInfo>) -> Option<Reason> {
    let info = info?;
    let here = info.usable_memory_bytes;
    if needed_bytes(row, point, info) <= here {
        return None;
    }
    let family = catalogue()
        .iter()
        .filter(|other| other.family == row.family && needed_bytes(other, point, info) <= here);
    let nearest = family.max_by_key(|other| other.parameters);
    let cure = nearest.map_or_else(
        || "choose a smaller batch or a shorter sequence".to_owned(),
        |near| format!("choose --model {}, the largest of its family that fits", near.name),
    );
    let why = format!("a benchmark may use at most {} on {}", rounded_bytes(here), info.device);
    let needed = rounded_bytes(needed_bytes(row, point, info));
    let what = format!("{needed} of memory for {}", row.name);
    Some(Reason::new(what, why, cure).of(Obstacle::DoesNotFit))
}

/// Returns the memory in bytes that `point` of `row` needs on a device.
fn needed_bytes(row: &ModelRow, point: &ModelPoint, info: &DeviceInfo) -> u64 {
    if info.device.is_cpu() {
        Footprint::on_host(row, point.dtype, point.batch, point.length)
    } else {
        Footprint::of(row, point.dtype, point.batch, point.length).total_bytes()
    }
}

#[cfg(test)]
mod tests;
