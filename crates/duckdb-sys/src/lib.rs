//! DuckDB (`libduckdb`), loaded at run time. Nothing is linked: a library that is missing or too
//! old is an [`Unavailable`] value with what, why and cure. Supports DuckDB 1.2 and newer.
//!
//! [`DuckdbLibrary`] opens in-memory databases; a [`DuckdbConnection`] returns query results as
//! plain values. The crate duckdb is not used: it links a library of a fixed version, or compiles
//! one for a quarter of an hour, and depends on Arrow.
#![allow(unsafe_code)]

mod connection;
mod raw;
mod search;

pub use connection::{DuckdbConnection, DuckdbError, DuckdbValue, Interrupter, StatementKind};
pub use runtime_loading::Unavailable;
pub use search::{DuckdbLibrary, DuckdbPlaces};
