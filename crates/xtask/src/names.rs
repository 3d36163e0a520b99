//! Check of public type names: each has one meaning. Run by `cargo xtask tidy`.

use std::path::Path;

use anyhow::Result;

use crate::steps;

/// Crates whose names mirror foreign ones: those of C, and of the imitated runtimes.
const MIRRORS: &[&str] = &["-sys/", "crates/rsb-fake-gpu/"];

/// Backends, whose types fill the same roles under the same names. Their crate-private names may
/// repeat.
const BACKENDS: &[&str] = &["crates/rsb-cpu/", "crates/rsb-gpu/", "crates/rsb-portable/"];

/// Separate programs, whose names no other crate can use.
const APART: &[&str] = &["/tests/", "/benches/", "/examples/", "tests/", "benches/", "examples/"];

/// Visibility of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Every crate: `pub`.
    Workspace,
    /// Other modules of its crate: `pub(crate)`, `pub(super)`.
    Crate,
}

/// A public type and its location.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Definition {
    name: String,
    owner: String,
    place: String,
    reach: Reach,
}

/// Returns the names below `root` that are defined more than once, if both definitions can be used
/// in one place.
pub(crate) fn breaches(root: &Path) -> Result<Vec<String>> {
    let mut definitions = Vec::new();
    for file in steps::tracked_files(&["*.rs"])? {
        // A deleted file is listed until the deletion is committed.
        if let Ok(text) = std::fs::read_to_string(root.join(&file)) {
            definitions.extend(self::definitions(&file, &text));
        }
    }
    Ok(defined_twice(&definitions))
}

/// Returns the public types that `file` defines outside its tests.
fn definitions(file: &str, text: &str) -> Vec<Definition> {
    let is_apart = APART.iter().any(|part| {
        if part.starts_with('/') { file.contains(part) } else { file.starts_with(part) }
    });
    if is_apart || file.ends_with("tests.rs") || MIRRORS.iter().any(|mirror| file.contains(mirror))
    {
        return Vec::new();
    }
    let product = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let owner =
        file.strip_prefix("crates/").and_then(|rest| rest.split('/').next()).unwrap_or_default();
    let in_backend = BACKENDS.iter().any(|backend| file.starts_with(backend));
    let mut found = Vec::new();
    for (at, line) in product.lines().enumerate() {
        let Some((visibility, kind, name)) = item(line) else { continue };
        let reach = if visibility == "pub" { Reach::Workspace } else { Reach::Crate };
        let counts = visibility.starts_with("pub")
            && kind != "mod"
            && !(in_backend && reach == Reach::Crate);
        if counts {
            found.push(Definition {
                name: name.to_owned(),
                owner: owner.to_owned(),
                place: format!("{file}:{}", at + 1),
                reach,
            });
        }
    }
    found
}

/// Returns the names that are defined more than once, if both definitions can be used in one place.
fn defined_twice(definitions: &[Definition]) -> Vec<String> {
    let mut sorted: Vec<&Definition> = definitions.iter().collect();
    sorted.sort_by(|a, b| (&a.name, &a.place).cmp(&(&b.name, &b.place)));
    let groups = sorted.chunk_by(|a, b| a.name == b.name);
    groups
        .filter(|group| group.len() > 1 && group.iter().any(|one| meets_another(one, group)))
        .map(describe)
        .collect()
}

fn meets_another(one: &Definition, group: &[&Definition]) -> bool {
    group.iter().any(|other| {
        other.place != one.place
            && (one.owner == other.owner || [one.reach, other.reach].contains(&Reach::Workspace))
    })
}

fn describe(group: &[&Definition]) -> String {
    let places: Vec<&str> = group.iter().map(|one| one.place.as_str()).collect();
    let name = group.first().map_or("", |one| one.name.as_str());
    format!(
        "`{name}` has {} definitions ({}): give each a different name",
        places.len(),
        places.join(", ")
    )
}

/// Returns visibility, kind and name of the type or module that `line` defines.
fn item(line: &str) -> Option<(&str, &str, &str)> {
    const KINDS: [&str; 6] = ["struct", "enum", "trait", "type", "union", "mod"];
    let line = line.trim_start();
    let (visibility, rest) = match line.strip_prefix("pub(") {
        Some(rest) => ("pub(", rest.split_once(") ")?.1),
        None => line.strip_prefix("pub ").map_or(("", line), |rest| ("pub", rest)),
    };
    let rest = rest.strip_prefix("unsafe ").unwrap_or(rest);
    let (kind, rest) =
        KINDS.iter().find_map(|kind| Some((*kind, rest.strip_prefix(kind)?.strip_prefix(' ')?)))?;
    let name = rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()?;
    (!name.is_empty()).then_some((visibility, kind, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_name_means_one_thing() {
        let check = |files: &[(&str, &str)], expected: usize| {
            let all: Vec<Definition> =
                files.iter().flat_map(|(file, text)| definitions(file, text)).collect();
            let found = defined_twice(&all);
            assert_eq!(found.len(), expected, "{files:?}: {found:?}");
        };
        let (one, two) = ("crates/rsb-stats/src/a.rs", "crates/rsb-store/src/b.rs");
        check(&[(one, "pub struct Case {"), (two, "pub enum Case {")], 1);
        check(&[(one, "pub struct Case {"), (two, "pub(crate) struct Case {")], 1);
        check(
            &[
                (one, "pub(super) struct Case {"),
                ("crates/rsb-stats/src/b.rs", "pub(super) type Case = ();"),
            ],
            1,
        );
        check(&[(one, "pub struct Case {"), ("src/main.rs", "pub trait Case {")], 1);
        // Allowed: private names, names in tests and mirrors of C, and the same roles in several
        // backends.
        check(&[(one, "pub(crate) struct Case {"), (two, "pub(crate) struct Case {")], 0);
        check(&[(one, "pub struct Case {"), (two, "struct Case {")], 0);
        check(&[(one, "pub struct Case {\n#[cfg(test)]\nmod tests {\npub struct Case;\n}")], 0);
        check(
            &[(one, "pub struct Device {"), ("crates/cuda-sys/src/a.rs", "pub struct Device;")],
            0,
        );
        let roles =
            ["crates/rsb-portable/src/opencl/core.rs", "crates/rsb-portable/src/vulkan/core.rs"];
        check(&[(roles[0], "pub(super) struct Core {"), (roles[1], "pub(super) struct Core {")], 0);
        check(&[(roles[0], "pub struct Core {"), (roles[1], "pub struct Core {")], 1);
    }
}
