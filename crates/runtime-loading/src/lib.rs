//! Libraries loaded at run time. Nothing is linked: a library or a function that is missing is a
//! value, [`Unavailable`], with what, why and cure. The crates of the vendors' interfaces say which
//! libraries, where they may lie and what they hold.
#![allow(unsafe_code)]

mod loaded;
mod table;
mod unavailable;

pub use loaded::Loaded;
pub use unavailable::{MissingPart, Unavailable};
