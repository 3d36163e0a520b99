//! Exports the dashboard as files.

use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use rsb_store::output;
use rsb_web::{Medium, SiteExportError, export_site};

use super::source::StoreSource;
use super::stored::Stored;
use crate::{AppError, output_error};

/// Writes every page to `dir`, and returns the number of files.
///
/// # Errors
/// If the results cannot be read, or a file cannot be written.
pub fn export(stored: &Arc<Stored>, dir: &Path) -> Result<usize, AppError> {
    let results = &stored.project.directories.results;
    if !results.is_dir() {
        let problem = "measure with `rusty-stack-bench run`, or name the directory of the results \
                       with `--results-dir`";
        return Err(AppError::usage(anyhow!(
            "{} is not a directory; {problem}",
            results.display()
        )));
    }
    let source =
        StoreSource::open(stored, &mut |event| (stored.tell)(event))?.with_complete_campaigns();
    output::create_dir(dir).map_err(output_error)?;
    output::create_dir(&dir.join("api")).map_err(output_error)?;
    let site = super::site(&source, Medium::Exported);
    let written = export_site(&site, |name, bytes| output::write_bytes(&dir.join(name), bytes));
    written.map_err(|error| match error {
        SiteExportError::Write(error) => output_error(error),
        page @ SiteExportError::Page { .. } => AppError::from(anyhow!(page)),
    })
}
