//! Conversions between texts in the index and Rust types.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ValueRef};

/// A value parsed from a text in the index. This program wrote all these texts, so an unknown one
/// is an error.
pub(crate) struct Parsed<T>(pub(crate) T);

impl<T> FromSql for Parsed<T>
where
    T: std::str::FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_str()?.parse().map(Self).map_err(FromSqlError::other)
    }
}

pub(crate) struct FromJson<T>(pub(crate) T);

impl<T: serde::de::DeserializeOwned> FromSql for FromJson<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        serde_json::from_str(value.as_str()?).map(Self).map_err(FromSqlError::other)
    }
}

pub(super) fn to_json(value: &impl serde::Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

pub(crate) fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
