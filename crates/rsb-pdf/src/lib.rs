//! A report as PDF/UA-1: the document that `rusty-stack-bench` writes in JSON on standard input,
//! the file on standard output.
//!
//! A program of its own, since typesetting brings 300 crates along. What a page looks like stands
//! in `report.typ`; no text of the report is ever read as markup. The one who starts it bounds its
//! time and its memory. Without the feature `pdf` there is nothing here, so that whoever builds the
//! whole workspace need not wait.
#![cfg(feature = "pdf")]

mod glyphs;
mod typeset;
mod world;

use std::io::{IsTerminal, Read, Write};
use std::process::ExitCode;

pub use typeset::{TypesetError, pdf};

/// More than any report: the one who writes it leaves rows out long before.
const MOST_BYTES: u64 = 64 << 20;

/// Typesets what is on standard input. Exit codes: 0 done, 1 it failed, 2 nothing to do. What
/// failed is a line on standard error.
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

/// Where nobody can be told, the exit code says it.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
