//! Where components are looked up.

use super::component::Component;
use super::components::{COMPONENTS, FAULTS, MODELS, OPENVINO, QNN};

/// Every framework, in the order of tables.
pub fn all() -> &'static [Component] {
    COMPONENTS
}

/// The frameworks, and the models that run in them.
pub fn all_and_models() -> impl Iterator<Item = &'static Component> {
    COMPONENTS.iter().chain([&MODELS])
}

/// Everything that `python setup` installs: the components, and what models run in.
pub fn installable() -> impl Iterator<Item = &'static Component> {
    all_and_models().chain([&OPENVINO, &QNN])
}

/// The component called `name`. Builds with the feature `fault-injection` also know the one that
/// breaks on purpose.
pub fn find(name: &str) -> Option<&'static Component> {
    let mut found = all_and_models().chain(cfg!(feature = "fault-injection").then_some(&FAULTS));
    found.find(|component| component.name == name)
}
