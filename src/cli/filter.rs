//! The filter of cases that several subcommands share.

use clap::Args;
use rsb_app::CaseFilter;

/// Selection of cases.
#[derive(Debug, Clone, Default, Args)]
pub struct FilterArgs {
    /// Show only benchmarks whose name contains NAME
    #[arg(long, value_name = "NAME", alias = "component")]
    pub benchmark: Option<String>,
    /// Show only cases with PATTERN in their id (`*` matches anything)
    #[arg(long, value_name = "PATTERN")]
    pub case: Option<String>,
}

impl FilterArgs {
    /// Returns the filter.
    pub fn filter(&self) -> CaseFilter {
        CaseFilter { benchmark: self.benchmark.clone(), case: self.case.clone() }
    }
}
