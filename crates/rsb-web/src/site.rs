//! Source, medium and theme of the pages, and their links.

use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

use rsb_report::{RunRow, Theme};

use crate::address::Address;
use crate::name_book::NameBook;
use crate::source::{PageSource, SourceResult, StoredCampaign};

/// Distribution of the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    /// By a server that responds to requests.
    Served,
    /// As files, without interaction: forms and filters are left out.
    Exported,
}

/// Converts an SVG drawing to an image; `None` if the build cannot.
pub type Draw<'d> = dyn Fn(&str) -> Option<Vec<u8>> + 'd;

/// Everything that pages are rendered from.
pub struct Site<'s> {
    source: &'s dyn PageSource,
    medium: Medium,
    /// Whether users can record decisions about changes.
    records_decisions: bool,
    /// Arguments of every command on a page, each after a space.
    arguments: &'s str,
    theme: Theme,
    /// Converts SVG to PNG.
    draw: Option<&'s Draw<'s>>,
    /// Targets of the links in the pages rendered since the last call of `take_links`.
    linked: RefCell<Vec<Address>>,
    names: NameBook,
    /// The runs, which most names need.
    runs: OnceCell<Arc<Vec<RunRow>>>,
    /// The campaigns, which every page may link to.
    campaigns: OnceCell<SourceResult<Arc<Vec<StoredCampaign>>>>,
}

impl<'s> Site<'s> {
    /// Creates a site of the data of `source`, for `medium`.
    pub fn new(source: &'s dyn PageSource, medium: Medium) -> Self {
        Self {
            source,
            medium,
            records_decisions: false,
            arguments: "",
            theme: Theme::default(),
            draw: None,
            linked: RefCell::default(),
            names: NameBook::default(),
            runs: OnceCell::new(),
            campaigns: OnceCell::new(),
        }
    }

    /// Uses the configured names and links commits to their forge.
    #[must_use]
    pub fn with_names(mut self, names: NameBook) -> Self {
        self.names = names;
        self
    }

    /// Adds PNG images of charts.
    #[must_use]
    pub const fn with_pictures(mut self, draw: &'s Draw<'s>) -> Self {
        self.draw = Some(draw);
        self
    }

    /// Links each change of level to the form for a decision, if `is_enabled`.
    #[must_use]
    pub const fn with_decisions(mut self, is_enabled: bool) -> Self {
        self.records_decisions = is_enabled;
        self
    }

    /// Adds `arguments`, each after a space, to the commands on served pages, so that they read the
    /// same store.
    #[must_use]
    pub const fn with_arguments(mut self, arguments: &'s str) -> Self {
        self.arguments = arguments;
        self
    }

    /// Returns `command` with the paths of this store.
    pub(crate) fn command(&self, command: String) -> String {
        if self.answers() { command + self.arguments } else { command }
    }

    pub(crate) fn records_decisions(&self) -> bool {
        self.records_decisions && self.answers()
    }

    pub(crate) const fn source(&self) -> &'s dyn PageSource {
        self.source
    }

    pub(crate) const fn names(&self) -> &NameBook {
        &self.names
    }

    /// Returns the stored runs, the newest first; none if the store cannot be queried.
    pub(crate) fn runs(&self) -> &[RunRow] {
        self.runs.get_or_init(|| self.source.runs().unwrap_or_default())
    }

    /// Returns the campaigns, the newest first.
    pub(crate) fn campaigns(&self) -> &SourceResult<Arc<Vec<StoredCampaign>>> {
        self.campaigns.get_or_init(|| self.source.campaigns())
    }

    pub(crate) const fn theme(&self) -> &Theme {
        &self.theme
    }

    pub(crate) const fn draw(&self) -> Option<&'s Draw<'s>> {
        self.draw
    }

    /// Returns whether the pages may have forms, filters and windows, which need a server.
    pub(crate) fn answers(&self) -> bool {
        self.medium == Medium::Served
    }

    /// Returns a link to `address`, in the form for a page.
    pub(crate) fn link(&self, address: Address) -> String {
        match self.medium {
            Medium::Served => address.link(),
            Medium::Exported => {
                let file = address.file();
                self.linked.borrow_mut().push(address);
                file
            }
        }
    }

    /// Returns the targets linked since the last call.
    pub(crate) fn take_links(&self) -> Vec<Address> {
        self.linked.take()
    }
}
