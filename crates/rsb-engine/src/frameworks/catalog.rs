//! Where components are looked up.

use super::component::Component;
use super::components::{COMPONENTS, FAULTS};

/// Every component, in the order of tables.
pub fn all() -> &'static [Component] {
    COMPONENTS
}

/// The component called `name`. Builds with the feature `fault-injection` also know the one that breaks on purpose.
pub fn find(name: &str) -> Option<&'static Component> {
    let mut known = COMPONENTS.iter().chain(cfg!(feature = "fault-injection").then_some(&FAULTS));
    known.find(|component| component.name == name)
}
