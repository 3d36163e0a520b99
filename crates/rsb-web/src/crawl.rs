//! The site as files: from the overview along every link, so that no page leads to one that is not
//! there.

use std::collections::{BTreeSet, VecDeque};

use crate::address::{Address, PageView};
use crate::assets;
use crate::response::PageResponse;
use crate::router::answer;
use crate::site::Site;

/// Why a site was not exported.
#[derive(Debug, thiserror::Error)]
pub enum SiteExportError<E: std::error::Error + 'static> {
    /// A page that another leads to cannot be made.
    #[error("{file} cannot be made: {why}")]
    Page {
        /// Its file.
        file: String,
        /// Why.
        why: String,
    },
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] E),
}

/// Hands every file of `site`, which is one for [`crate::Medium::Exported`], to `write` with its
/// name, relative to the directory. Returns how many there were.
///
/// # Errors
/// When a page cannot be made, and those of `write`.
pub fn export_site<E: std::error::Error + 'static>(
    site: &Site<'_>,
    mut write: impl FnMut(&str, &[u8]) -> Result<(), E>,
) -> Result<usize, SiteExportError<E>> {
    let mut waiting = VecDeque::from([Address::page(PageView::Overview)]);
    let mut known: BTreeSet<String> = waiting.iter().map(Address::file).collect();
    for name in assets::NAMES {
        if let Some(PageResponse { body, .. }) = assets::find(site, name) {
            write(name, &body)?;
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
    Ok(known.len() + assets::NAMES.len())
}

/// Why there is no answer, in words: what the document of the same view would say.
fn why(site: &Site<'_>, address: &Address) -> String {
    let document = answer(site, &Address::json(address.view.clone()));
    String::from_utf8_lossy(&document.body).trim().to_owned()
}
