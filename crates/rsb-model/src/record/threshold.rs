//! Absolute targets and the values that were measured for them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::unit::{Better, Unit};

/// Absolute target and the measured value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThresholdCheck {
    /// Description of the target.
    pub name: String,
    /// Name of the metric.
    pub metric: String,
    /// Id of the case, or the pattern of the target if no case matches it.
    pub id: String,
    /// Direction of the target: `higher` requires a value above `expected`, `lower` one below.
    pub better: Better,
    /// Required value, in `unit`.
    pub expected: f64,
    /// Measured value, in `unit`. Null if there is none.
    pub actual: Option<f64>,
    /// Unit of both values. Absent for ratios and counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
    /// Whether the value comes from a simulated device. Such a value neither meets nor misses a
    /// target.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub simulated: bool,
    /// Whether the target is met. Null if there is no value that counts.
    pub passed: Option<bool>,
    /// Value achieved elsewhere, for comparison with the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

impl ThresholdCheck {
    /// Returns whether there is a measured value.
    pub const fn has_figure(&self) -> bool {
        self.actual.is_some()
    }

    /// Formats the required value, such as `> 100 GFLOP/s`.
    pub fn expected_text(&self) -> String {
        let sign = match self.better {
            Better::Higher => '>',
            Better::Lower => '<',
        };
        format!("{sign} {}", self.unit().quantity(self.expected))
    }

    /// Formats the measured value, such as `104.2 GFLOP/s`.
    pub fn actual_text(&self) -> String {
        let Some(actual) = self.actual else { return "not measured".to_owned() };
        let simulated = if self.simulated { SIMULATED } else { "" };
        format!("{}{simulated}", self.unit().quantity(actual))
    }

    fn unit(&self) -> Unit {
        self.unit.unwrap_or(Unit::One)
    }
}

/// Suffix of values from a simulated device.
const SIMULATED: &str = " (simulated)";

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check() -> ThresholdCheck {
        ThresholdCheck {
            name: "gflops of cpu_performance/gemm/cpu:0".to_owned(),
            metric: "gflops".to_owned(),
            id: "cpu_performance/gemm/cpu:0".to_owned(),
            better: Better::Higher,
            expected: 100.0,
            actual: Some(104.2),
            unit: Some(Unit::Gigaflops),
            simulated: false,
            passed: Some(true),
            reference: None,
        }
    }

    #[test]
    fn figures_are_numbers_with_their_unit_beside_them() {
        let document = serde_json::to_value(check()).unwrap();
        assert_eq!(
            document,
            json!({
                "name": "gflops of cpu_performance/gemm/cpu:0", "metric": "gflops", "id": "cpu_performance/gemm/cpu:0",
                "better": "higher", "expected": 100.0, "actual": 104.2, "unit": "GFLOP/s", "passed": true
            })
        );
        assert_eq!(serde_json::from_value::<ThresholdCheck>(document).unwrap(), check());
        assert_eq!(
            (check().expected_text().as_str(), check().actual_text().as_str()),
            ("> 100 GFLOP/s", "104.2 GFLOP/s")
        );
    }
}
