//! The environment of the typesetter: its template, the values of the report, and the fonts. It has
//! no access to files, packages, the network or a clock.

use typst::diag::{FileError, FileResult};
use typst::foundations::{Bytes, Datetime, Dict, Duration};
use typst::syntax::{FileId, Source};
use typst::text::{Font, FontBook};
use typst::utils::LazyHash;
use typst::{Feature, Library, LibraryExt, World};

const TEMPLATE: &str = include_str!("report.typ");

pub(crate) struct ReportWorld {
    library: LazyHash<Library>,
    book: LazyHash<FontBook>,
    fonts: Vec<Font>,
    template: Source,
}

impl ReportWorld {
    /// Creates the environment; the template reads `report` from `sys.inputs`.
    pub(crate) fn new(report: Dict, fonts: Vec<Font>) -> Self {
        // Header cells of rows are an experimental feature.
        let features = [Feature::A11yExtras].into_iter().collect();
        Self {
            library: LazyHash::new(
                Library::builder().with_inputs(report).with_features(features).build(),
            ),
            book: LazyHash::new(FontBook::from_fonts(&fonts)),
            fonts,
            template: Source::detached(TEMPLATE),
        }
    }
}

impl World for ReportWorld {
    fn library(&self) -> &LazyHash<Library> {
        &self.library
    }

    fn book(&self) -> &LazyHash<FontBook> {
        &self.book
    }

    fn main(&self) -> FileId {
        self.template.id()
    }

    fn source(&self, id: FileId) -> FileResult<Source> {
        if id == self.template.id() {
            Ok(self.template.clone())
        } else {
            Err(FileError::AccessDenied)
        }
    }

    fn file(&self, _: FileId) -> FileResult<Bytes> {
        Err(FileError::AccessDenied)
    }

    fn font(&self, index: usize) -> Option<Font> {
        self.fonts.get(index).cloned()
    }

    fn today(&self, _: Option<Duration>) -> Option<Datetime> {
        None
    }
}
