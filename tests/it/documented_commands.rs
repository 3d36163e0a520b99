//! Checks that every subcommand and flag of this program in the code of the documentation exists.

use std::path::{Path, PathBuf};

use clap::Command;

const PROGRAM: &str = "rusty-stack-bench";

/// Returns the README, the pages of docs and of its how-to guides, and the list of commands.
fn documents() -> Vec<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let dirs = ["docs", "docs/how-to"].map(|dir| std::fs::read_dir(root.join(dir)).unwrap());
    let pages = dirs.into_iter().flatten().map(|entry| entry.unwrap().path());
    let pages = pages.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    pages.chain([root.join("README.md"), root.join("AGENTS.md")]).collect()
}

/// Returns the lines of code blocks, with continued lines joined, and the code within prose.
fn code(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_block = false;
    for line in text.replace("\\\n", " ").lines() {
        if line.trim_start().starts_with("```") {
            is_block = !is_block;
        } else if is_block {
            found.push(line.to_owned());
        } else {
            found.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    found
}

/// Returns `line` with each quoted argument replaced by one word.
fn unquoted(line: &str) -> String {
    let (mut text, mut rest) = (String::new(), line);
    while let Some(start) = rest.find(['\'', '"']) {
        let Some(length) = rest[start + 1..].find(&rest[start..=start]) else { break };
        text.push_str(&rest[..start]);
        text.push_str("QUOTED");
        rest = &rest[start + length + 2..];
    }
    text + rest
}

/// Returns the arguments of each call of the program in a line of shell code.
fn calls(line: &str) -> Vec<Vec<String>> {
    let line = unquoted(line);
    let line = line.split(" #").next().unwrap_or_default();
    let parts = line.split(['|', ';', '&', '`', '(']);
    let of_part = |part: &str| {
        let mut words = part
            .split_whitespace()
            .map(|word| word.trim_matches(['"', '\'', ')', ',', ':']).to_owned());
        words.find(|word| Path::new(word).file_name().is_some_and(|name| name == PROGRAM))?;
        Some(words.collect::<Vec<_>>())
    };
    parts.filter_map(of_part).collect()
}

/// Returns the first subcommand or flag of a call that does not exist.
fn unknown(command: &Command, call: &[String]) -> Option<String> {
    let mut command = command;
    let mut words = call.iter().peekable();
    while let Some(next) = words.peek().and_then(|word| command.find_subcommand(word.as_str())) {
        command = next;
        words.next();
    }
    let is_word = |word: &str| word.starts_with(|first: char| first.is_ascii_lowercase());
    if command.get_name() == PROGRAM && words.peek().is_some_and(|word| is_word(word)) {
        return Some(format!("no subcommand `{}`", words.peek()?));
    }
    let flags = words.take_while(|word| *word != "--").filter(|word| word.starts_with("--"));
    let names = flags.filter_map(|flag| flag.trim_start_matches('-').split('=').next());
    let mut names =
        names.map(|name| name.trim_end_matches(|end: char| !end.is_ascii_alphanumeric()));
    let is_known = |name: &str| {
        command.get_arguments().any(|argument| {
            argument.get_long_and_visible_aliases().is_some_and(|longs| longs.contains(&name))
        })
    };
    names
        .find(|name| !is_known(name))
        .map(|name| format!("`{}` has no flag `--{name}`", command.get_name()))
}

fn built() -> Command {
    let mut command = rusty_stack_bench::cli::command();
    command.build();
    command
}

#[test]
fn every_documented_subcommand_and_flag_exists() {
    let command = built();
    let mut checked = 0;
    let mut wrong = Vec::new();
    for path in documents() {
        let text = std::fs::read_to_string(&path).unwrap();
        for call in code(&text).iter().flat_map(|line| calls(line)) {
            checked += 1;
            wrong.extend(
                unknown(&command, &call)
                    .map(|what| format!("{}: {what}: {}", path.display(), call.join(" "))),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 100, "{checked}");
}

#[test]
fn a_call_that_does_not_exist_is_found() {
    let command = built();
    let of = |line: &str| {
        calls(line).iter().filter_map(|call| unknown(&command, call)).collect::<Vec<_>>()
    };
    for (line, expected) in [
        ("$ rusty-stack-bench gate --against REV  # --nothing", None),
        (
            "cat x | target/release/rusty-stack-bench gate --metric=instructions && \
             rusty-stack-bench runs",
            Some("no subcommand `runs`"),
        ),
        ("rusty-stack-bench baseline save --for", Some("`save` has no flag `--for`")),
        ("rusty-stack-bench gate --against main -- --features simd", None),
        ("rusty-stack-bench gate --build 'make --quick' --bench './x --json'", None),
        ("rusty-stack-bench run --help", None),
    ] {
        assert_eq!(of(line).first().map(String::as_str), expected, "{line}");
    }
    assert_eq!(code("a `b` c\n```\nd \\\ne\n```\nf"), ["b", "d  e"]);
}
