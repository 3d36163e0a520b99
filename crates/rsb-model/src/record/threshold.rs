//! Absolute targets beside what was achieved, as figures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::unit::{Better, Unit};

/// An absolute target beside what was achieved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThresholdCheck {
    /// What is asked for, in words.
    pub name: String,
    /// The metric.
    pub metric: String,
    /// The case, or the pattern of a target that no case matches.
    pub id: String,
    /// Which way from `expected` the target lies: `higher` asks for more than it, `lower` for less.
    pub better: Better,
    /// The figure that is asked for, in `unit`.
    pub expected: f64,
    /// The figure that was achieved, in `unit`; null when there is none.
    pub actual: Option<f64>,
    /// The unit of both figures; absent where they are ratios or counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
    /// Whether the figure is of a simulated device: it meets no target and misses none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub simulated: bool,
    /// Whether it is met; null when there is no figure that counts.
    pub passed: Option<bool>,
    /// What was achieved elsewhere, to judge the target by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

impl ThresholdCheck {
    /// Whether there is a figure at all.
    pub const fn has_figure(&self) -> bool {
        self.actual.is_some()
    }

    /// For people, such as `> 100 GFLOP/s`.
    pub fn expected_text(&self) -> String {
        let sign = match self.better {
            Better::Higher => '>',
            Better::Lower => '<',
        };
        format!("{sign} {}", self.unit().quantity(self.expected))
    }

    /// For people, such as `104.2 GFLOP/s`.
    pub fn actual_text(&self) -> String {
        let Some(actual) = self.actual else { return "not measured".to_owned() };
        let simulated = if self.simulated { SIMULATED } else { "" };
        format!("{}{simulated}", self.unit().quantity(actual))
    }

    fn unit(&self) -> Unit {
        self.unit.unwrap_or(Unit::One)
    }
}

/// How a figure of a simulated device ends for people.
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
