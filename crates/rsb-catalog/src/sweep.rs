//! Scenarios from a sweep file: combinations of batch sizes, sequence lengths, precisions and other
//! axes. Parsing is strict, and errors name the line.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use rsb_workloads::AxisInfo;
use serde::Deserialize;
use toml::Spanned;

use crate::entry_file::{self, AxisValues, EntryFileError};
use crate::frameworks::{self, Component};
use crate::plan;
use crate::selection::CustomEntry;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    scenario: Vec<Scenario>,
}

/// `[[scenario]]` entry. `batch_size`, `sequence_length` and `precision` have the same name for
/// every benchmark, independent of the names of its axes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    benchmark: Spanned<String>,
    #[serde(default)]
    workload: Option<Spanned<AxisValues>>,
    #[serde(default)]
    batch_size: Option<Spanned<AxisValues>>,
    #[serde(default)]
    sequence_length: Option<Spanned<AxisValues>>,
    #[serde(default)]
    precision: Option<Spanned<AxisValues>>,
    #[serde(default)]
    axes: BTreeMap<String, Spanned<AxisValues>>,
}

/// Error in a scenario and its position in the file.
struct EntryError {
    at: Range<usize>,
    what: String,
}

/// Values that a scenario sets for an axis.
struct AxisOverride {
    /// General name of the axis.
    name: String,
    values: Vec<String>,
    /// Position of the values in the file.
    at: Range<usize>,
}

/// Reads the scenarios of the file at `path` as entries of the suite `custom`.
///
/// # Errors
/// If the file cannot be read, is not valid TOML, or contains an unknown name.
pub fn read(path: &Path) -> Result<Vec<CustomEntry>, EntryFileError> {
    entry_file::parse_file(path, "scenario", parse)
}

fn parse(text: &str) -> Result<Vec<CustomEntry>, String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
    if file.scenario.is_empty() {
        return Err(
            "it has no scenario; write [[scenario]] with a `benchmark` and values such as \
             `batch_size = [1, 8]`"
                .to_owned(),
        );
    }
    let entries = file.scenario.iter().map(entries_of).collect::<Result<Vec<_>, EntryError>>();
    entries.map(|entries| entries.into_iter().flatten().collect()).map_err(|mistake| {
        let before = text.get(..mistake.at.start).unwrap_or_default();
        format!("line {}: {}", before.matches('\n').count() + 1, mistake.what)
    })
}

fn entries_of(scenario: &Scenario) -> Result<Vec<CustomEntry>, EntryError> {
    let name = scenario.benchmark.get_ref();
    if let Some(component) = frameworks::find(name) {
        return of_component(scenario, component);
    }
    let benchmark = rsb_workloads::find(name).ok_or_else(|| {
        let near =
            plan::nearest(name).map(|near| format!(", did you mean `{near}`?")).unwrap_or_default();
        let what = format!(
            "there is no benchmark `{name}`{near}; `rusty-stack-bench list` shows them all"
        );
        EntryError { at: scenario.benchmark.span(), what }
    })?;
    if let Some(workload) = &scenario.workload {
        return Err(EntryError {
            at: workload.span(),
            what: format!("`{name}` has no workloads; leave `workload` out"),
        });
    }
    Ok(vec![CustomEntry {
        benchmark: name.clone(),
        axes: axes_of(scenario, name, benchmark.axes())?,
    }])
}

/// Returns one entry for each workload that has all axes of the scenario.
fn of_component(
    scenario: &Scenario,
    component: &Component,
) -> Result<Vec<CustomEntry>, EntryError> {
    let chosen = scenario.workload.as_ref().map(|values| (values.get_ref().texts(), values.span()));
    if let Some((names, at)) = &chosen
        && let Some(wrong) =
            names.iter().find(|name| component.workloads().iter().all(|known| known.name != **name))
    {
        let known: Vec<&str> = component.workloads().iter().map(|workload| workload.name).collect();
        let known = known.join(", ");
        let what = format!("`{}` has no workload `{wrong}`; it has {known}", component.name);
        return Err(EntryError { at: at.clone(), what });
    }
    let (mut found, mut mistake) = (Vec::new(), None);
    for workload in component.workloads() {
        if let Some((names, _)) = &chosen
            && !names.iter().any(|name| name == workload.name)
        {
            continue;
        }
        let whose = format!("{} {}", component.name, workload.name);
        match axes_of(scenario, &whose, workload.axes) {
            Ok(mut axes) => {
                axes.insert(0, ("workload".to_owned(), vec![workload.name.to_owned()]));
                found.push(CustomEntry { benchmark: component.name.to_owned(), axes });
            }
            // If workloads are named, each must have all axes. Otherwise, at least one must.
            Err(wrong) if chosen.is_some() => return Err(wrong),
            Err(wrong) => mistake = Some(wrong),
        }
    }
    match mistake {
        Some(mut wrong) if found.is_empty() => {
            wrong.what = format!(
                "no workload of `{}` has all of these axes; for example, {}",
                component.name, wrong.what
            );
            Err(wrong)
        }
        _ => Ok(found),
    }
}

/// Translates the axes of the scenario to their names in `known`. `whose` is the name of the
/// benchmark or workload in errors.
fn axes_of(
    scenario: &Scenario,
    whose: &str,
    known: &[AxisInfo],
) -> Result<Vec<(String, Vec<String>)>, EntryError> {
    axis_overrides(scenario).into_iter().map(|axis| resolve_axis(axis, whose, known)).collect()
}

/// Returns all axes that the scenario sets, by their general names.
fn axis_overrides(scenario: &Scenario) -> Vec<AxisOverride> {
    let general = [
        ("batch_size", &scenario.batch_size),
        ("sequence_length", &scenario.sequence_length),
        ("precision", &scenario.precision),
    ];
    let general = general.into_iter().filter_map(|(name, values)| Some((name, values.as_ref()?)));
    let own = scenario.axes.iter().map(|(name, values)| (name.as_str(), values));
    general
        .chain(own)
        .map(|(name, values)| AxisOverride {
            name: name.to_owned(),
            values: values.get_ref().texts(),
            at: values.span(),
        })
        .collect()
}

/// Returns other names that benchmarks use for the axis `name`.
fn other_names(name: &str) -> &'static [&'static str] {
    match name {
        "batch_size" => &["num_prompts", "num_requests"],
        "sequence_length" => &["prompt_length"],
        "precision" => &["dtype"],
        _ => &[],
    }
}

fn resolve_axis(
    axis: AxisOverride,
    whose: &str,
    known: &[AxisInfo],
) -> Result<(String, Vec<String>), EntryError> {
    let AxisOverride { name, values, at } = axis;
    let names = std::iter::once(name.as_str()).chain(other_names(&name).iter().copied());
    let axis = names
        .into_iter()
        .find_map(|name| known.iter().find(|axis| axis.name == name))
        .ok_or_else(|| {
            let there = known.iter().map(|axis| axis.name).collect::<Vec<_>>().join(", ");
            EntryError {
                at: at.clone(),
                what: format!("`{whose}` has no axis `{name}`; it has {there}"),
            }
        })?;
    let wrong = values.iter().find(|value| axis.canonical(value).is_none());
    match wrong {
        Some(value) => {
            let what =
                format!("`{value}` is not a value of `{name}`; write {}", axis.form_of_values());
            Err(EntryError { at, what })
        }
        None if values.is_empty() => Err(EntryError {
            at,
            what: format!("`{name}` has no values; write one or more, or leave it out"),
        }),
        None => Ok((axis.name.to_owned(), values)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_take_the_names_that_each_benchmark_has() {
        let text = "
[[scenario]]
benchmark = \"pytorch\"
workload = \"transformer\"
batch_size = [1, 4]
sequence_length = [64, 128]
precision = [\"f32\", \"bf16\"]
axes = { operation = \"prefill\" }

[[scenario]]
benchmark = \"gemm\"
precision = \"f32\"
axes = { shape = [\"64x64x64\"] }
";
        let entries = parse(text).unwrap();
        assert_eq!(entries.len(), 2);
        assert_eq!(values_of(&entries[0], "workload").as_deref(), Some("transformer"));
        assert_eq!(values_of(&entries[0], "prompt_length").as_deref(), Some("64,128"));
        assert_eq!(values_of(&entries[0], "dtype").as_deref(), Some("f32,bf16"));
        assert_eq!(values_of(&entries[1], "dtype").as_deref(), Some("f32"));
    }

    fn values_of(entry: &CustomEntry, axis: &str) -> Option<String> {
        let (_, values) = entry.axes.iter().find(|(known, _)| known == axis)?;
        Some(values.join(","))
    }

    #[test]
    fn the_example_in_the_documentation_is_valid() {
        let entries = parse(include_str!("../../../docs/sweep.example.toml")).unwrap();
        let names: Vec<&str> = entries.iter().map(|entry| entry.benchmark.as_str()).collect();
        assert_eq!(names, ["pytorch", "flash-attention", "gemm"]);
    }

    #[test]
    fn without_a_workload_every_one_that_has_the_axes_is_meant() {
        let entries = parse(
            "[[scenario]]\nbenchmark = \"pytorch\"\nsequence_length = 128\nprecision = \"f32\"\n",
        )
        .unwrap();
        let names: Vec<&str> = entries.iter().map(|entry| entry.axes[0].1[0].as_str()).collect();
        assert_eq!(names, ["execution", "training", "transformer", "attention"]);
    }

    #[test]
    fn each_mistake_says_where_and_what_is_valid() {
        for (text, line, expected) in [
            ("", "no scenario", "[[scenario]]"),
            ("[[scenario]]\nbenchmark = \"gem\"\n", "line 2", "did you mean `gemm`?"),
            ("[[scenario]]\nbatch_size = 1\n", "line 1", "benchmark"),
            ("[[scenario]]\nbenchmark = \"gemm\"\nbatch = 1\n", "line 3", "unknown field"),
            ("[[scenario]\n", "line 1", "expected"),
            (
                "[[scenario]]\nbenchmark = \"pytorch\"\n\nworkload = \"matmull\"\n",
                "line 4",
                "attention",
            ),
            (
                "[[scenario]]\nbenchmark = \"pytorch\"\nworkload = \"matmul\"\nbatch_size = 4\n",
                "line 4",
                "shape",
            ),
            (
                "[[scenario]]\nbenchmark = \"pytorch\"\nprecision = [\"f32\", \"f33\"]\n",
                "line 3",
                "f33",
            ),
            ("[[scenario]]\nbenchmark = \"gemm\"\nworkload = \"x\"\n", "line 3", "no workloads"),
            ("[[scenario]]\nbenchmark = \"gemm\"\nprecision = []\n", "line 3", "no values"),
            ("[[scenario]]\nbenchmark = \"gemm\"\naxes = { color = \"red\" }\n", "line 3", "shape"),
        ] {
            let message = parse(text).unwrap_err();
            assert!(message.contains(line) && message.contains(expected), "{text}\n{message}");
        }
    }
}
