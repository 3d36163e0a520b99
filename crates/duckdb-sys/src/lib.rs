//! DuckDB (`libduckdb`), loaded at run time. Nothing is linked: if the library is missing or too
//! old, an [`Unavailable`] value with a description, a reason and a fix is returned. Supports
//! DuckDB 1.2 and newer.
//!
//! [`DuckdbLibrary`] opens in-memory databases; a [`DuckdbConnection`] returns query results as
//! plain values. The crate duckdb is not used, since it either links a fixed version of the library
//! or compiles one, which takes 15 minutes, and depends on Arrow.
#![allow(unsafe_code)]

mod connection;
mod raw;
mod search;

pub use connection::{DuckdbConnection, DuckdbError, DuckdbValue, Interrupter, StatementKind};
pub use runtime_loading::Unavailable;
pub use search::{DuckdbLibrary, DuckdbPlaces};
