//! A case: one point of one benchmark on one device.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{BenchmarkType, CaseDevice, CaseId, ParseIdError};
use crate::record::BenchmarkResult;

/// The parameters of a case in a fixed order, each as a person would write it: `dtype=f32`,
/// `shape=1024x1024x1024`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Params(Vec<(String, String)>);

impl Params {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds or replaces one.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.set(name, value);
        self
    }

    /// As [`Params::with`], in place.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        let value = value.into();
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    /// The text of `name`.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The value of `name`, parsed.
    ///
    /// # Errors
    /// When there is none, or it is not a `T`.
    pub fn get<T: std::str::FromStr>(&self, name: &str) -> Result<T, ParamError> {
        let text = self.text(name).ok_or_else(|| ParamError::Missing { name: name.to_owned() })?;
        text.parse()
            .map_err(|_| ParamError::Invalid { name: name.to_owned(), value: text.to_owned() })
    }

    /// The value of `name`, read with `parse` (sizes, shapes).
    ///
    /// # Errors
    /// When there is none, or `parse` refuses it.
    pub fn get_with<T>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, ParseIdError>,
    ) -> Result<T, ParamError> {
        let text = self.text(name).ok_or_else(|| ParamError::Missing { name: name.to_owned() })?;
        parse(text)
            .map_err(|_| ParamError::Invalid { name: name.to_owned(), value: text.to_owned() })
    }

    /// Every name and value.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// A parameter that a workload cannot use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParamError {
    /// The workload needs it.
    #[error("`{name}` is not given")]
    Missing {
        /// Which.
        name: String,
    },
    /// It does not parse, or is out of range.
    #[error("`{value}` is not a value of `{name}`")]
    Invalid {
        /// Which.
        name: String,
        /// Its text.
        value: String,
    },
}

/// One point of one benchmark on one device.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Case {
    /// Stable across runs and machines.
    pub id: CaseId,
    /// The benchmark's name, such as `gemm`; also its verb.
    pub benchmark: String,
    /// The kind it is counted under.
    pub benchmark_type: BenchmarkType,
    /// The device, such as `cpu:0`; the backend alone, or `none`, of a case that has no device
    /// here.
    #[schemars(with = "String")]
    pub device: CaseDevice,
    /// Its parameters.
    pub params: Params,
}

impl BenchmarkResult {
    /// The case that this is a result of, so that it can be remeasured; `None` where a foreign tool
    /// made it.
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
