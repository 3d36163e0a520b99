//! What machines cost by the hour, from a file. Pure.

use rsb_model::record::ModelCandidate;
use serde::Deserialize;

/// The prices of a file: `[[price]]` with `per_hour`, and the machine or device that it is for.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// What they are told in.
    #[serde(default = "dollars")]
    pub currency: String,
    #[serde(default)]
    price: Vec<Price>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Price {
    /// A part of the machine's name in `recommend`; any machine where there is none.
    #[serde(default)]
    machine: String,
    /// Such as `cuda:0`; any device where there is none.
    #[serde(default)]
    device: String,
    /// Of the machine, or of the device where that is paid for.
    per_hour: f64,
}

/// A file of prices that cannot be used; the text says why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PricesError(String);

fn dollars() -> String {
    "USD".to_owned()
}

impl Prices {
    /// The prices of a text in TOML.
    ///
    /// # Errors
    /// When it is no TOML, says what no price has, holds none, or one that is no amount of money.
    pub fn parse(text: &str) -> Result<Self, PricesError> {
        let prices: Self = toml::from_str(text).map_err(|error| PricesError(error.to_string()))?;
        if prices.price.is_empty() {
            return Err(PricesError("it holds no price; write [[price]] with machine and per_hour".to_owned()));
        }
        if let Some(wrong) = prices.price.iter().find(|one| !one.per_hour.is_finite() || one.per_hour < 0.0) {
            return Err(PricesError(format!("per_hour = {} is no price; give an amount for an hour", wrong.per_hour)));
        }
        Ok(prices)
    }

    /// What a million items cost there: by the first price that is for it.
    pub(super) fn of_million(&self, one: &ModelCandidate) -> Option<f64> {
        let is_for = |price: &&Price| {
            one.place.machine.contains(&price.machine) && [one.place.device.as_str(), ""].contains(&&*price.device)
        };
        let per_hour = self.price.iter().find(is_for)?.per_hour;
        Some(one.time_per_item_ms / 1e3 / 3600.0 * per_hour * 1e6)
    }
}
