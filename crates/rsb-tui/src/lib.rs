//! The terminal interface: a [`State`], the function that changes it ([`update()`]), and the one
//! that draws it ([`view()`]).
//!
//! It shows the output of the subcommands, from the same view models. The driver owns the terminal,
//! the engine and the store: keys, clicks and engine events go in as [`Message`]s, and [`Command`]s
//! come out.
//!
//! **Invariant:** no terminal, no files, no clock, no processes: the same messages give the same
//! output.

mod action;
mod action_list;
mod ascii;
mod bindings;
mod command;
mod drawn_page;
mod history;
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
