//! Machine prices per hour, from a file. Pure.

use rsb_model::record::ModelCandidate;
use toml::{Table, Value};

/// Prices from a file: `[[price]]` with `per_hour`, and the machine or device that it applies to.
#[derive(Debug, Clone, PartialEq)]
pub struct Prices {
    /// Currency of the prices.
    pub currency: String,
    price: Vec<Price>,
}

#[derive(Debug, Clone, PartialEq)]
struct Price {
    /// Part of the machine's name in `recommend`, in any case; empty for any machine.
    machine: String,
    /// Device such as `cuda:0`; empty for any device.
    device: String,
    /// Price per hour of the machine, or of the device if that is billed.
    per_hour: f64,
}

/// A price file that cannot be used; the message has the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PricesError(String);

impl Prices {
    /// Parses prices in TOML.
    ///
    /// # Errors
    /// If the text is not TOML, has unknown keys, contains no price, or has a price that is not a
    /// positive amount.
    pub fn parse(text: &str) -> Result<Self, PricesError> {
        let file: Table =
            text.parse().map_err(|error: toml::de::Error| PricesError(error.to_string()))?;
        check_keys(&file, &["currency", "price"])?;
        let currency = words(&file, "currency", "USD")?;
        let listed =
            file.get("price").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        if listed.is_empty() {
            return Err(PricesError(
                "it contains no price; write [[price]] with machine and per_hour".to_owned(),
            ));
        }
        let price = listed.iter().map(Price::of).collect::<Result<_, _>>()?;
        Ok(Self { currency, price })
    }

    /// Returns the cost of a million items at the place of `one`, from the first price that
    /// applies.
    pub(super) fn of_million(&self, one: &ModelCandidate) -> Option<f64> {
        let price = self.price.iter().find(|price| {
            one.place.machine.contains(&price.machine.to_lowercase())
                && [one.place.device.as_str(), ""].contains(&&*price.device)
        })?;
        Some(one.time_per_item_ms / 1e3 / 3600.0 * price.per_hour * 1e6)
    }
}

impl Price {
    fn of(row: &Value) -> Result<Self, PricesError> {
        let row = row
            .as_table()
            .ok_or_else(|| PricesError("`price` is not a table; write [[price]]".to_owned()))?;
        check_keys(row, &["machine", "device", "per_hour"])?;
        let amount = row
            .get("per_hour")
            .and_then(|value| value.as_float().or(value.as_integer().map(|whole| whole as f64)));
        let per_hour =
            amount.filter(|amount| amount.is_finite() && *amount > 0.0).ok_or_else(|| {
                let text =
                    row.get("per_hour").map_or_else(|| "missing".to_owned(), ToString::to_string);
                PricesError(format!(
                    "per_hour = {text} is not a price; give an amount per hour above zero"
                ))
            })?;
        Ok(Self {
            machine: words(row, "machine", "")?,
            device: words(row, "device", "")?,
            per_hour,
        })
    }
}

/// Rejects unknown keys.
fn check_keys(table: &Table, names: &[&str]) -> Result<(), PricesError> {
    match table.keys().find(|key| !names.contains(&key.as_str())) {
        Some(key) => {
            Err(PricesError(format!("unknown field `{key}`, expected one of {}", names.join(", "))))
        }
        None => Ok(()),
    }
}

fn words(table: &Table, name: &str, usual: &str) -> Result<String, PricesError> {
    match table.get(name) {
        None => Ok(usual.to_owned()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(other) => {
            Err(PricesError(format!("{name} = {other} is not text; write it in quotes")))
        }
    }
}
