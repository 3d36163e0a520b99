//! What a component and a workload of it are, and where they are looked up.

use rsb_model::Reason;
use rsb_workloads::{AxisInfo, Breadth};

use super::components::COMPONENTS;
use super::environment::{Environment, packages_of};

/// A framework, which is also a verb.
#[derive(Debug)]
pub struct Component {
    /// Also its verb: `pytorch`.
    pub name: &'static str,
    /// One line for `--help`.
    pub about: &'static str,
    /// The packages of which one must be installed, by normalised name; none where Python itself is enough.
    pub packages: &'static [&'static str],
    /// What `python setup` installs for it.
    pub install: &'static [&'static str],
    /// Where `python setup` installs it.
    pub place: Place,
    /// What is measured of it.
    pub workloads: &'static [Workload],
}

/// Where a component is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Together with the others.
    Shared,
    /// Apart: it wants other versions than they do.
    Apart,
}

/// Something that is measured of a component: a function of its Python file.
#[derive(Debug)]
pub struct Workload {
    /// The function's name, with dashes.
    pub name: &'static str,
    /// Its parameters, in the order in which they show in an id.
    pub axes: &'static [AxisInfo],
    /// The points for a glance: `dtype=f32,bf16 shape=512x512x512`, every combination.
    pub quick: &'static [&'static str],
    /// The points beside them for a thorough look.
    pub more: &'static [&'static str],
}

impl Component {
    /// Whether `environment` has it, as far as the names of its packages tell.
    pub fn is_in(&self, environment: &Environment) -> bool {
        let installed = packages_of(environment);
        self.packages.is_empty() || self.packages.iter().any(|package| installed.contains_key(*package))
    }

    /// Why it cannot be measured in `environment`: its package is not there.
    pub fn missing(&self, environment: &Environment) -> Reason {
        let package = self.packages.first().copied().unwrap_or(self.name);
        Reason::new(
            format!("package {package}"),
            format!("the Python at {} does not have it", environment.program.display()),
            format!("`python setup {}` makes an environment with it, or `pip install {package}` in yours", self.name),
        )
    }
}

impl Workload {
    /// The points of `breadth`.
    pub fn grids(&self, breadth: Breadth) -> impl Iterator<Item = &'static str> {
        let more: &[&str] = if breadth == Breadth::Quick { &[] } else { self.more };
        self.quick.iter().chain(more).copied()
    }
}

/// Every component, in the order of tables.
pub fn all() -> &'static [Component] {
    COMPONENTS
}

/// The component called `name`. Builds with the feature `fault-injection` also know the one that breaks on purpose.
pub fn find(name: &str) -> Option<&'static Component> {
    let mut known = COMPONENTS.iter().chain(cfg!(feature = "fault-injection").then_some(&super::components::FAULTS));
    known.find(|component| component.name == name)
}
