//! Lookup of components.

use super::component::Component;
use super::components::{COMPONENTS, FAULTS, MODELS, OPENVINO, QNN};

/// Returns all frameworks, in display order.
pub fn all() -> &'static [Component] {
    COMPONENTS
}

/// Returns the frameworks and the component `models`.
pub fn all_and_models() -> impl Iterator<Item = &'static Component> {
    COMPONENTS.iter().chain([&MODELS])
}

/// Returns everything that `python setup` can install: the components and the runtimes of models.
pub fn installable() -> impl Iterator<Item = &'static Component> {
    all_and_models().chain([&OPENVINO, &QNN])
}

/// Returns the component called `name`. Builds with the feature `fault-injection` also contain a
/// component that fails on purpose.
pub fn find(name: &str) -> Option<&'static Component> {
    let mut found = all_and_models().chain(cfg!(feature = "fault-injection").then_some(&FAULTS));
    found.find(|component| component.name == name)
}
