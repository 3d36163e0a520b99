//! Export of the site as files. It follows every link from the overview, so that every linked page
//! exists.

use std::collections::{BTreeSet, VecDeque};

use crate::address::{Address, PageView};
use crate::response::PageResponse;
use crate::router::answer;
use crate::site::Site;
use crate::{assets, feeds};

/// An error of an export.
#[derive(Debug, thiserror::Error)]
pub enum SiteExportError<E: std::error::Error + 'static> {
    /// A linked page cannot be rendered.
    #[error("cannot render {file}: {why}")]
    Page {
        /// Its file.
        file: String,
        /// Reason.
        why: String,
    },
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] E),
}

/// Passes every file of `site`, which must be for [`crate::Medium::Exported`], to `write` with its
/// name, relative to the directory. Returns the number of files.
///
/// # Errors
/// If a page cannot be rendered, or `write` fails.
pub fn export_site<E: std::error::Error + 'static>(
    site: &Site<'_>,
    mut write: impl FnMut(&str, &[u8]) -> Result<(), E>,
) -> Result<usize, SiteExportError<E>> {
    let mut waiting = VecDeque::from([Address::page(PageView::Overview { branch: String::new() })]);
    let mut known: BTreeSet<String> = waiting.iter().map(Address::file).collect();
    for name in assets::NAMES {
        if let Some(PageResponse { body, .. }) = assets::find(site, name) {
            write(name, &body)?;
        }
    }
    for name in feeds::NAMES {
        match feeds::find(site, name) {
            Some(Ok(PageResponse { body, .. })) => write(name, &body)?,
            Some(Err(error)) => {
                return Err(SiteExportError::Page { file: name.into(), why: error.to_string() });
            }
            None => {}
        }
    }
    while let Some(address) = waiting.pop_front() {
        let file = address.file();
        let response = answer(site, &address);
        if response.status != 200 {
            return Err(SiteExportError::Page { file, why: why(site, &address) });
        }
        write(&file, &response.body)?;
        waiting.extend(site.take_links().into_iter().filter(|linked| known.insert(linked.file())));
    }
    Ok(known.len() + assets::NAMES.len() + feeds::NAMES.len())
}

/// Returns the reason for a missing answer as text, from the JSON document of the same view.
fn why(site: &Site<'_>, address: &Address) -> String {
    let document = answer(site, &Address::json(address.view.clone()));
    String::from_utf8_lossy(&document.body).trim().to_owned()
}
