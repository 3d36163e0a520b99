//! Names that a project configures.

use std::collections::BTreeMap;

use rsb_report::Forge;

/// Configured names, and the forge that hosts the commits.
#[derive(Debug, Clone, Default)]
pub struct NameBook {
    /// Label of each machine, by its slug.
    pub machines: BTreeMap<String, String>,
    /// Forge of the repository.
    pub forge: Option<Forge>,
}
