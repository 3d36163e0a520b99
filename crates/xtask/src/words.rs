//! The field's words, kept: what text says in public, how types and modules are called, and that a public name means one
//! thing. `cargo xtask tidy` runs this.

mod names;
mod text;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// A word that text does not use, and what it says instead.
pub(crate) struct Word {
    /// Letters that begin the word; what follows may be a plural's `s`.
    pub(crate) old: &'static str,
    /// The field's word.
    pub(crate) new: &'static str,
}

const fn word(old: &'static str, new: &'static str) -> Word {
    Word { old, new }
}

/// Words of text: documents, comments, messages and help.
pub(crate) const TEXT: &[Word] = &[
    word("card", "GPU"),
    word("processor", "CPU"),
    word("maker", "vendor"),
    word("folder", "directory"),
    word("workshop", "worktree"),
    word("gang", "device group"),
    word("lookalike", "fake GPU"),
    word("look-alike", "fake GPU"),
];

/// Words of types and modules, beside those of [`TEXT`].
pub(crate) const NAMES: &[Word] = &[
    word("in_turn", "interleaved"),
    word("beside", "paired"),
    word("doubt", "remeasure"),
    word("alone", "machine_lock"),
    word("trial", "step"),
    word("least", "minimum"),
    word("team", "thread_pool"),
    word("trouble", "an error's name"),
    word("ended", "a status's name"),
    word("lazily", "a noun"),
    word("again", "a noun"),
    word("kept", "a noun"),
    word("more", "a noun"),
    word("has", "a noun"),
    word("found", "a noun"),
];

/// Where old words stand because somebody else wrote them, or because this is about them.
const LEFT_OUT: &[&str] = &[
    // The table of old names, and this rule.
    "crates/rsb-model/src/renamed.rs",
    "crates/xtask/src/words",
    // What was recorded, and what others license.
    "tests/fixtures/",
    "baselines/",
    "docs/gallery/",
    "LICENSE",
    "Cargo.lock",
    // What earlier versions were called.
    "CHANGELOG.md",
];

/// Every breach in the tracked files below `root`.
pub(crate) fn breaches(root: &Path) -> Result<Vec<String>> {
    let mut breaches = Vec::new();
    let mut definitions = Vec::new();
    for file in tracked(root)?.iter().filter(|file| LEFT_OUT.iter().all(|left| !file.contains(left))) {
        // What is no text, such as SPIR-V, says nothing; what is deleted and not yet committed is gone.
        let Ok(text) = std::fs::read_to_string(root.join(file)) else { continue };
        breaches.extend(text::breaches(file, &text));
        if Path::new(file).extension().is_some_and(|extension| extension == "rs") {
            breaches.extend(names::breaches(file, &text));
            definitions.extend(names::definitions(file, &text));
        }
    }
    breaches.extend(names::defined_twice(&definitions));
    Ok(breaches)
}

fn tracked(root: &Path) -> Result<Vec<String>> {
    let mut git = Command::new("git");
    let output = git.args(["ls-files", "-z"]).current_dir(root).output().context("cannot start git")?;
    ensure!(output.status.success(), "git cannot list the files of {}", root.display());
    let list = String::from_utf8(output.stdout).context("a file's name is not UTF-8")?;
    Ok(list.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}
