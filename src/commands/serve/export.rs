//! The dashboard as files.

use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use rsb_report::number::format_count;
use rsb_store::output;
use rsb_web::{Medium, SiteExportError, export_site};

use super::source::StoreSource;
use super::stored::Stored;
use crate::exit::{CliError, CliResult, Exit, output_error};
use crate::{console, show};

/// Writes every page into `dir`.
pub(super) fn run(stored: &Arc<Stored>, dir: &Path) -> CliResult {
    let results = &stored.directories.results;
    if !results.is_dir() {
        let problem = "nothing to write pages of: `rusty-stack-bench run` measures, \
                       `--results-dir` names where results are";
        return Err(CliError::usage(anyhow!("{} is no directory; {problem}", results.display())));
    }
    let source = StoreSource::open(stored, &mut console::tell)?;
    output::create_dir(dir).map_err(output_error)?;
    output::create_dir(&dir.join("api")).map_err(output_error)?;
    let site = super::site(&source, Medium::Exported);
    let written = export_site(&site, |name, bytes| output::write_bytes(&dir.join(name), bytes));
    let count = written.map_err(|error| match error {
        SiteExportError::Write(error) => output_error(error),
        page @ SiteExportError::Page { .. } => CliError::from(anyhow!(page)),
    })?;
    show::text(&format!(
        "{} in {}: begin at index.html",
        format_count(count, "file", "files"),
        dir.display()
    ))?;
    Ok(Exit::Pass)
}
