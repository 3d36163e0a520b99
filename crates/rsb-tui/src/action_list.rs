//! The list of all actions of a page, filtered by typed text.

use crate::action::Action;

/// Typed text and selection of the list of actions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ActionList {
    pub(crate) typed: String,
    pub(crate) selected: usize,
}

/// An action, its first key, and its description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ActionChoice {
    pub(crate) action: Action,
    pub(crate) key: &'static str,
    pub(crate) about: &'static str,
}
