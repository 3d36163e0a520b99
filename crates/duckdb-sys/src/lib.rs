//! DuckDB (`libduckdb`), loaded at run time. Nothing is linked: a library that is missing, or too old, is a value,
//! [`Unavailable`], with what, why and cure. DuckDB 1.2 and newer.
//!
//! [`Library`] opens databases in memory, a [`Connection`] answers in plain values. The crate duckdb is not used: it links a
//! library of a fixed version, or compiles one for a quarter of an hour, and brings Arrow along.
#![allow(unsafe_code)]

mod connection;
mod raw;
mod search;

pub use connection::{Connection, DuckdbError, DuckdbValue, Interrupter, StatementKind};
pub use runtime_loading::Unavailable;
pub use search::{DuckdbPlaces, Library};
