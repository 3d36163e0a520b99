//! A worker that converts a report to PDF/UA-1: it reads the JSON document from `rusty-stack-bench`
//! on standard input, and writes the file to standard output.
//!
//! It is a separate program because typesetting adds 300 crates. The layout is in `report.typ`;
//! texts of the report are never interpreted as markup. The parent process limits its time and
//! memory. Without the feature `pdf` the crate is empty, so that building the whole workspace stays
//! fast.
#![cfg(feature = "pdf")]

mod glyphs;
mod typeset;
mod world;

use std::io::{IsTerminal, Read, Write};
use std::process::ExitCode;

pub use typeset::{TypesetError, pdf};

/// Maximum size of the document in bytes; the writer omits rows long before.
const MOST_BYTES: u64 = 64 << 20;

/// Typesets the document on standard input. Exit codes: 0 success, 1 failure (with a line on
/// standard error), 2 wrong usage.
pub fn serve() -> ExitCode {
    if std::env::args_os().len() > 1 || std::io::stdin().is_terminal() {
        say("usage: rsb-pdf-worker <REPORT.json >REPORT.pdf; it is started by rusty-stack-bench");
        return ExitCode::from(2);
    }
    match answer() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

fn answer() -> Result<(), TypesetError> {
    let mut document = Vec::new();
    std::io::stdin().lock().take(MOST_BYTES + 1).read_to_end(&mut document)?;
    if document.len() as u64 > MOST_BYTES {
        return Err(TypesetError::TooLarge { most: MOST_BYTES });
    }
    let file = pdf(&document)?;
    let mut out = std::io::stdout().lock();
    out.write_all(&file)?;
    Ok(out.flush()?)
}

/// Writes to standard error. If that fails, only the exit code reports the error.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
