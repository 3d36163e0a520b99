//! Selection of a run's cases within its suite, by which runs of one plan are recognized.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::BackendId;

/// Selection of cases within a suite. Empty if nothing was selected: the whole suite, on the
/// devices that are chosen automatically.
///
/// Lists are sorted, so that selections of the same cases are equal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanSelection {
    /// Requested backends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub backends: Vec<BackendId>,
    /// Indices of the requested devices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<u32>,
    /// Requested values of axes, such as the names of models.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub axes: BTreeMap<String, Vec<String>>,
    /// Names of the models that are not in the catalog.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// Entries of the suite `custom` or of a sweep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<SelectedEntry>,
}

/// Entry of the suite `custom` or of a sweep.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct SelectedEntry {
    /// Name of the benchmark.
    pub benchmark: String,
    /// Requested values of its axes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub axes: BTreeMap<String, Vec<String>>,
}

impl PlanSelection {
    /// Returns whether nothing was selected within the suite.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Returns the requested values by axis, each once and sorted.
pub fn sorted_axes(axes: &[(String, Vec<String>)]) -> BTreeMap<String, Vec<String>> {
    let mut sorted: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, values) in axes {
        sorted.entry(name.clone()).or_default().extend(values.iter().cloned());
    }
    for values in sorted.values_mut() {
        values.sort_unstable();
        values.dedup();
    }
    sorted
}
