//! Arguments of `gate --against` and `bisect` for the benchmarks of another project.

use anyhow::{Result, bail};
use clap::Args;
use rsb_app::project::ProjectAtRevision;
use rsb_gate::harness::BenchCommand;
use rsb_gate::revisions::{CustomProject, ProjectOptions};
use rsb_store::import::Format;

use super::values::{import_format, text};

/// How the benchmarks of another project are built and run.
#[derive(Debug, Clone, Default, Args)]
pub struct ProjectArgs {
    /// Build each revision with this command, for --bench or --custom
    #[arg(long, value_name = "CMD", value_parser = text())]
    pub build: Option<String>,
    /// Measure each revision with this command; it may write to {output}
    #[arg(long, value_name = "CMD", value_parser = text())]
    pub bench: Option<String>,
    /// Name the format that --bench prints, such as google-benchmark
    #[arg(long, value_name = "NAME", value_parser = import_format(), requires = "bench")]
    pub bench_format: Option<Format>,
    /// Pass arguments to cargo bench, such as --package or --features
    #[arg(last = true, value_name = "CARGO_ARGS", conflicts_with = "bench")]
    pub cargo: Vec<String>,
}

impl ProjectArgs {
    /// Returns whether any of these arguments is given.
    pub const fn is_given(&self) -> bool {
        self.build.is_some() || self.bench.is_some() || !self.cargo.is_empty()
    }

    /// Returns the project options, with the configuration and the file of `--custom` of
    /// `settings`.
    ///
    /// # Errors
    /// If the arguments contradict each other.
    pub fn options(&self, settings: &ProjectAtRevision) -> Result<ProjectOptions> {
        let (build, custom) = (self.build.clone(), rsb_catalog::custom::file());
        if custom.is_some() && (self.bench.is_some() || !self.cargo.is_empty()) {
            bail!(
                "--custom (or RSB_CUSTOM) cannot be combined with --bench or arguments for cargo; \
                 leave one of them out"
            );
        }
        if build.is_some() && custom.is_none() && self.bench.is_none() {
            bail!(
                "--build needs a command to measure; add --bench CMD --bench-format NAME, or \
                 --custom FILE"
            );
        }
        if self.bench.is_some() && self.bench_format.is_none() {
            bail!(
                "--bench needs the format that its command prints: add --bench-format NAME, one of \
                 {}; example: rusty-stack-bench gate --against HEAD --bench './bench \
                 --benchmark_format=json' --bench-format google-benchmark",
                Format::ALL.map(Format::as_str).join(", ")
            );
        }
        let custom = custom.map(|file| CustomProject {
            file,
            in_repository: settings.custom.as_ref().map(|known| known.name.clone()),
            build: build.clone(),
        });
        let command = self.bench.clone().zip(self.bench_format);
        let command = command.map(|(bench, format)| BenchCommand { build, bench, format });
        let config = Some(settings.config_file.path().to_owned());
        Ok(ProjectOptions { cargo: self.cargo.clone(), command, custom, config })
    }
}
