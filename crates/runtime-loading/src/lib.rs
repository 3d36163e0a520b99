//! Libraries loaded at run time. Nothing is linked: a missing library or function is an
//! [`Unavailable`] value with what, why and cure. The crates of the vendors' interfaces define the
//! libraries, their possible paths and their functions.
#![allow(unsafe_code)]

mod loaded;
mod table;
mod unavailable;

pub use loaded::Loaded;
pub use unavailable::{MissingPart, Unavailable};
