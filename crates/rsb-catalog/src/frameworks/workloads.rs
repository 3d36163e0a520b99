//! Workloads of the components, read from `workloads.toml`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use rsb_workloads::{AxisInfo, AxisKind, IdForm};
use serde::Deserialize;

use super::component::{Grids, Workload};
use crate::models::{self, Family, SizeClass};

/// Workloads by component. The file is embedded, and a test checks all of it.
pub(super) static WORKLOADS: LazyLock<BTreeMap<String, Vec<Workload>>> =
    LazyLock::new(|| read(include_str!("workloads.toml")).unwrap_or_default());

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    axes: BTreeMap<String, String>,
    workloads: BTreeMap<String, Vec<WorkloadRow>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkloadRow {
    name: String,
    /// Labels of shared axes, or definitions of other axes.
    axes: Vec<String>,
    #[serde(default)]
    cpu: GridRow,
    #[serde(default)]
    gpu: GridRow,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct GridRow {
    quick: Vec<String>,
    more: Vec<String>,
}

fn read(text: &str) -> Result<BTreeMap<String, Vec<Workload>>, String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
    let workload = |row: WorkloadRow| {
        let definitions = row.axes.iter().map(|axis| file.axes.get(axis).unwrap_or(axis));
        let axes: Result<Vec<AxisInfo>, String> = definitions
            .map(|text| axis(text.clone().leak()).ok_or_else(|| format!("no axis: {text}")))
            .collect();
        let (name, axes) = (row.name.leak(), axes?.leak());
        Ok(Workload { name, axes, cpu: row.cpu.grids(), gpu: row.gpu.grids() })
    };
    let component = |(name, rows): (String, Vec<WorkloadRow>)| {
        Ok((name, rows.into_iter().map(workload).collect::<Result<_, String>>()?))
    };
    file.workloads.into_iter().map(component).collect()
}

impl GridRow {
    fn grids(self) -> Grids {
        let [quick, more] = [self.quick, self.more].map(|points| {
            let points: Vec<&'static str> =
                points.into_iter().map(|point| &*point.leak()).collect();
            &*points.leak()
        });
        Grids { quick, more }
    }
}

/// Parses `name: kind = default | about`.
fn axis(text: &'static str) -> Option<AxisInfo> {
    let (head, about) = text.split_once(" | ")?;
    let (name, kind) = head.split_once(": ")?;
    Some(match kind.split_once(" = ") {
        Some((kind, default)) => AxisInfo {
            name,
            about,
            default: Some(default),
            form: IdForm::Named,
            kind: axis_kind(kind)?,
        },
        None => {
            AxisInfo { name, about, default: None, form: IdForm::Value, kind: axis_kind(kind)? }
        }
    })
}

fn axis_kind(text: &'static str) -> Option<AxisKind> {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    Some(match word {
        "choice" => AxisKind::Choice(match rest {
            "$families" => &Family::NAMES,
            "$sizes" => &SizeClass::NAMES,
            "$runtimes" => models::RUNTIME_NAMES,
            words => words.split(' ').collect::<Vec<_>>().leak(),
        }),
        "dtype" => AxisKind::Dtype,
        "bytes" => AxisKind::Bytes,
        "count" => AxisKind::Count,
        "count-or-zero" => AxisKind::CountOrZero,
        "number-or-zero" => AxisKind::NumberOrZero,
        "path" => AxisKind::Path(rest),
        "name" => AxisKind::Name(rest),
        "shape" => {
            let (rank, example) = rest.split_once(' ')?;
            AxisKind::Shape(rank.parse().ok()?, example)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frameworks::find;

    #[test]
    fn every_workload_is_read_and_belongs_to_a_component() {
        for name in read(include_str!("workloads.toml")).unwrap().keys() {
            assert!(find(name).is_some() || name == "python-faults", "{name}");
        }
    }
}
