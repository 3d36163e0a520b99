//! The terminal interface: a [`State`], what changes it ([`update()`]), and how it looks
//! ([`view()`]).
//!
//! It shows what the verbs print, by the same view models. Whoever drives it owns the terminal, the
//! engine and the store: keys, clicks and the engine's events go in as [`Message`]s, [`Command`]s
//! come out.
//!
//! **Invariant:** no terminal, no file, no clock, no process: the same messages give the same
//! pictures.

mod action;
mod ascii;
mod bindings;
mod command;
mod drawn_page;
mod message;
mod painted;
mod palette;
mod pick;
mod run_page;
mod settings;
mod stage;
mod state;
mod update;
mod view;

#[cfg(test)]
mod tests;

pub use action::Action;
pub use bindings::{Binding, bindings};
pub use command::{Command, RunSelection, Subject};
pub use drawn_page::DrawnPage;
pub use message::{
    ComponentRow, HistoryPage, Key, LoadedDocument, Message, PlanSummary, RunEnd, StoredRun,
};
pub use palette::Palette;
pub use settings::{AnimationStyle, InterfaceSettings};
pub use stage::{Offer, OfferKind, Stage};
pub use state::State;
pub use update::update;
pub use view::view;
