//! A case: one point of one benchmark on one device.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{BenchmarkType, CaseDevice, CaseId, ParseIdError};
use crate::record::BenchmarkResult;

/// Parameters of a case in a fixed order, each written as on the command line: `dtype=f32`,
/// `shape=1024x1024x1024`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Params(Vec<(String, String)>);

impl Params {
    /// Returns an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds or replaces the parameter `name`.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.set(name, value);
        self
    }

    /// Adds or replaces the parameter `name`, as [`Params::with`], in place.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        let value = value.into();
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    /// Returns the text of the parameter `name`.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Parses the value of the parameter `name`.
    ///
    /// # Errors
    /// If the parameter is missing or not a `T`.
    pub fn get<T: std::str::FromStr>(&self, name: &str) -> Result<T, ParamError> {
        let text = self.text(name).ok_or_else(|| ParamError::Missing { name: name.to_owned() })?;
        text.parse()
            .map_err(|_| ParamError::Invalid { name: name.to_owned(), value: text.to_owned() })
    }

    /// Parses the value of the parameter `name` with `parse` (for sizes and shapes).
    ///
    /// # Errors
    /// If the parameter is missing or `parse` rejects it.
    pub fn get_with<T>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, ParseIdError>,
    ) -> Result<T, ParamError> {
        let text = self.text(name).ok_or_else(|| ParamError::Missing { name: name.to_owned() })?;
        parse(text)
            .map_err(|_| ParamError::Invalid { name: name.to_owned(), value: text.to_owned() })
    }

    /// Returns all names and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// Missing or invalid parameter of a workload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParamError {
    /// A required parameter is missing.
    #[error("`{name}` is missing")]
    Missing {
        /// Name of the parameter.
        name: String,
    },
    /// The value does not parse or is out of range.
    #[error("`{value}` is not a value of `{name}`")]
    Invalid {
        /// Name of the parameter.
        name: String,
        /// Text of the value.
        value: String,
    },
}

/// One point of one benchmark on one device.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Case {
    /// Id of the case, stable across runs and machines.
    pub id: CaseId,
    /// Name of the benchmark and of its subcommand, such as `gemm`.
    pub benchmark: String,
    /// Type of benchmark that the case belongs to.
    pub benchmark_type: BenchmarkType,
    /// Device, such as `cpu:0`. Only the backend, or `none`, if the case has no device on this
    /// machine.
    #[schemars(with = "String")]
    pub device: CaseDevice,
    /// Parameters of the case.
    pub params: Params,
}

impl BenchmarkResult {
    /// Returns the case that produced this result, so that it can be remeasured; `None` if another
    /// tool produced it.
    pub fn case(&self) -> Option<Case> {
        let parameters = self.metadata.get("parameters")?.as_object()?;
        let params = parameters.iter().fold(Params::new(), |params, (name, value)| {
            params.with(name, value.as_str().unwrap_or_default())
        });
        let benchmark = self.category.clone()?;
        Some(Case {
            id: self.benchmark_id.clone(),
            benchmark,
            benchmark_type: self.benchmark_type,
            device: self.benchmark_id.device(),
            params,
        })
    }
}
