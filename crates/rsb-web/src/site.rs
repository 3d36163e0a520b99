//! Everything that pages are made from, and how they link to each other.

use std::cell::RefCell;

use rsb_report::Theme;

use crate::address::Address;
use crate::source::PageSource;

/// How the pages reach their readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    /// By a server that answers.
    Served,
    /// As files, which answer nothing: what would ask is left out.
    Exported,
}

/// Makes a picture of a drawing; `None` where the build cannot.
pub type Draw<'d> = dyn Fn(&str) -> Option<Vec<u8>> + 'd;

/// Everything that pages are made from.
pub struct Site<'s> {
    source: &'s dyn PageSource,
    medium: Medium,
    theme: Theme,
    /// What makes PNG of SVG.
    draw: Option<&'s Draw<'s>>,
    /// What the pages that were made so far lead to.
    linked: RefCell<Vec<Address>>,
}

impl<'s> Site<'s> {
    /// What `source` tells, for `medium`.
    pub fn new(source: &'s dyn PageSource, medium: Medium) -> Self {
        Self { source, medium, theme: Theme::default(), draw: None, linked: RefCell::default() }
    }

    /// With pictures of charts as PNG.
    #[must_use]
    pub const fn with_pictures(mut self, draw: &'s Draw<'s>) -> Self {
        self.draw = Some(draw);
        self
    }

    pub(crate) const fn source(&self) -> &'s dyn PageSource {
        self.source
    }

    pub(crate) const fn theme(&self) -> &Theme {
        &self.theme
    }

    pub(crate) const fn draw(&self) -> Option<&'s Draw<'s>> {
        self.draw
    }

    /// Whether questions are answered: forms, filters, windows.
    pub(crate) fn answers(&self) -> bool {
        self.medium == Medium::Served
    }

    /// A link to `address`, as it is written in a page.
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

    /// What was linked since this was asked last.
    pub(crate) fn take_links(&self) -> Vec<Address> {
        self.linked.take()
    }
}
