//! The manual page.

use crate::exit::{Ended, Exit};
use crate::{cli, show};

/// Prints it, for `man -l -`.
///
/// # Errors
/// When standard output cannot be written.
pub fn run() -> Ended {
    let mut page = Vec::new();
    clap_mangen::Man::new(cli::command()).render(&mut page)?;
    show::text(&String::from_utf8_lossy(&page))?;
    Ok(Exit::Pass)
}
