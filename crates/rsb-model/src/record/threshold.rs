//! Absolute targets beside what was achieved, as figures. Format 1 had them as text with a sign and a unit.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::unit::{Better, Unit};

/// An absolute target beside what was achieved.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
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
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
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

/// How a figure of a simulated device ends for people, and ended in format 1.
const SIMULATED: &str = " (simulated)";

impl<'de> Deserialize<'de> for ThresholdCheck {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Stored::deserialize(deserializer)?.check().map_err(de::Error::custom)
    }
}

/// A check as a file may hold it.
#[derive(Deserialize)]
struct Stored {
    name: String,
    metric: Option<String>,
    id: Option<String>,
    better: Option<Better>,
    expected: Figure,
    actual: Option<Figure>,
    unit: Option<Unit>,
    #[serde(default)]
    simulated: bool,
    passed: Option<bool>,
    reference: Option<String>,
}

/// A figure, or the text that it was in format 1.
#[derive(Deserialize)]
#[serde(untagged)]
enum Figure {
    Number(f64),
    Text(String),
}

impl Stored {
    fn check(self) -> Result<ThresholdCheck, String> {
        let wrong = |text: &str| format!("`expected` is `{text}`, not a figure");
        let (better, expected, unit) = match &self.expected {
            Figure::Number(value) => (None, *value, None),
            Figure::Text(text) => {
                let (better, quantity) = directed(text).ok_or_else(|| wrong(text))?;
                let (value, unit) = quantity_of(quantity).ok_or_else(|| wrong(text))?;
                (Some(better), value, unit)
            }
        };
        let (actual, simulated) = match &self.actual {
            None => (None, false),
            Some(Figure::Number(value)) => (Some(*value), false),
            // Other text says why there is no figure.
            Some(Figure::Text(text)) => {
                let figure = text.strip_suffix(SIMULATED);
                (quantity_of(figure.unwrap_or(text)).map(|(value, _)| value), figure.is_some())
            }
        };
        let (metric, id) = self.name.split_once(" of ").unwrap_or((&self.name, ""));
        Ok(ThresholdCheck {
            metric: self.metric.unwrap_or_else(|| metric.to_owned()),
            id: self.id.unwrap_or_else(|| id.to_owned()),
            better: self.better.or(better).ok_or("`better` is missing")?,
            expected,
            actual,
            unit: self.unit.or(unit),
            simulated: self.simulated || simulated,
            passed: self.passed,
            reference: self.reference,
            name: self.name,
        })
    }
}

fn directed(text: &str) -> Option<(Better, &str)> {
    let higher = text.strip_prefix("> ").map(|rest| (Better::Higher, rest));
    higher.or_else(|| text.strip_prefix("< ").map(|rest| (Better::Lower, rest)))
}

fn quantity_of(text: &str) -> Option<(f64, Option<Unit>)> {
    let (number, symbol) = text.split_once(' ').unwrap_or((text, ""));
    let value: f64 = number.parse().ok().filter(|value: &f64| value.is_finite())?;
    let unit = Unit::ALL.into_iter().find(|unit| unit.symbol() == symbol);
    (symbol.is_empty() || unit.is_some()).then_some((value, unit))
}

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

    #[test]
    fn text_of_format_1_is_read() {
        let name = "gflops of cpu_performance/gemm/cpu:0";
        let read = |expected: &str, actual: &str| {
            let document = json!({"name": name, "expected": expected, "actual": actual, "passed": true});
            serde_json::from_value::<ThresholdCheck>(document)
        };
        assert_eq!(read("> 100 GFLOP/s", "104.2 GFLOP/s").unwrap(), check());
        let simulated = read("> 90 %", "95 % (simulated)").unwrap();
        assert_eq!((simulated.actual, simulated.simulated, simulated.unit), (Some(95.0), true, Some(Unit::Percent)));
        let bare = read("< 0.5", "not measured").unwrap();
        assert_eq!((bare.better, bare.expected, bare.actual, bare.unit), (Better::Lower, 0.5, None, None));
        for wrong in ["100 GFLOP/s", "> fast", "> 1 parsec", "> inf"] {
            assert!(read(wrong, "1").unwrap_err().to_string().contains(wrong), "{wrong}");
        }
    }
}
