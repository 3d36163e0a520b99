//! `man`: the manual page, with a section for each subcommand and its flags.

use clap::Command;

use crate::exit::{CliResult, Exit};
use crate::{cli, show};

/// Prints the manual page, for `man -l -`.
///
/// # Errors
/// If standard output cannot be written.
pub fn run() -> CliResult {
    show::text(&page()?)?;
    Ok(Exit::Pass)
}

fn page() -> std::io::Result<String> {
    let mut command = cli::command();
    command.build();
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    let mut page = String::from_utf8_lossy(&page).into_owned();
    verbs(&command, "", &mut page)?;
    Ok(page)
}

/// Appends a section for each subcommand of `command`, and for their subcommands.
fn verbs(command: &Command, above: &str, page: &mut String) -> std::io::Result<()> {
    for verb in command.get_subcommands() {
        if verb.is_hide_set() || verb.get_name() == "help" {
            continue;
        }
        let name = format!("{above}{}", verb.get_name());
        let man = clap_mangen::Man::new(verb.clone());
        let mut part = Vec::new();
        man.render_synopsis_section(&mut part)?;
        man.render_description_section(&mut part)?;
        if verb.get_arguments().any(|argument| !argument.is_hide_set()) {
            man.render_options_section(&mut part)?;
        }
        // Sections of a separate page become subsections here.
        let part = String::from_utf8_lossy(&part).replace(".SH ", ".SS ");
        page.extend([".SH \"COMMAND ", &name.to_uppercase(), "\"\n", &part]);
        verbs(verb, &format!("{name} "), page)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_stands_with_its_flags() {
        let page = page().unwrap();
        for (verb, flag) in
            [("RUN", "replicates"), ("GATE", "against"), ("TREND", "input"), ("BASELINE SAVE", "")]
        {
            let section = page
                .split(&format!(".SH \"COMMAND {verb}\""))
                .nth(1)
                .unwrap_or_else(|| panic!("the page has no section for {verb}"));
            let own = section.split(".SH ").next().unwrap();
            assert!(own.contains(flag) && own.contains(".SS SYNOPSIS"), "{verb}: {own}");
        }
    }
}
