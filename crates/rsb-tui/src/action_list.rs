//! The list of all actions of a page, filtered by typed text.

use crate::action::Action;
use crate::bindings;
use crate::state::State;

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

/// Returns the actions of the page whose description contains every typed word.
pub(crate) fn choices(state: &State, typed: &str) -> Vec<ActionChoice> {
    let typed = typed.to_lowercase();
    let mut choices = Vec::new();
    for binding in bindings::of_page(state) {
        let is_listed = !binding.action.is_move() && binding.action != Action::OpenActions;
        let about = binding.about.to_lowercase();
        if is_listed && typed.split_whitespace().all(|word| about.contains(word)) {
            let (action, key) = (binding.action, binding.key);
            choices.push(ActionChoice { action, key, about: binding.about });
        }
    }
    choices
}
