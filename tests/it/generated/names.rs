//! Names of types and fields that users of other benchmark suites know: each is a field, a property
//! of a schema, a key of the configuration, or another name of one, which the glossary lists.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use rsb_app::config::KEY_ALIASES;
use rsb_model::Suite;
use rsb_model::field::FIELDS;
use rsb_model::field_alias::{FIELD_ALIASES, NAMES_ELSEWHERE};
use serde_json::Value;

use super::{check_section, root};

/// A line for each type of the Python package, with the fields that it must have.
const TYPES: &str = include_str!("known_names.txt");

/// Returns the names of all properties in `schema`.
fn properties(schema: &Value, found: &mut BTreeSet<String>) {
    if let Some(named) = schema.get("properties").and_then(Value::as_object) {
        found.extend(named.keys().cloned());
    }
    match schema {
        Value::Object(parts) => parts.values().for_each(|part| properties(part, found)),
        Value::Array(parts) => parts.iter().for_each(|part| properties(part, found)),
        _ => {}
    }
}

/// Returns the tables and keys of the example configuration.
fn configuration_keys() -> BTreeSet<String> {
    let text = std::fs::read_to_string(root().join("docs/rusty-stack-bench.example.toml")).unwrap();
    let mut keys = BTreeSet::new();
    for line in text.lines() {
        let line = line.trim_start_matches(['#', ' ', '[']);
        let end = line.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        keys.insert(line[..end.unwrap_or(line.len())].to_owned());
    }
    keys
}

fn known_names() -> BTreeSet<String> {
    let mut names: BTreeSet<String> = configuration_keys();
    names.extend(FIELDS.iter().map(|field| field.name.to_owned()));
    names.extend(FIELD_ALIASES.iter().map(|alias| alias.name.to_owned()));
    names.extend(NAMES_ELSEWHERE.iter().map(|one| one.name.to_owned()));
    names.extend(KEY_ALIASES.iter().map(|alias| alias.name.to_owned()));
    for entry in std::fs::read_dir(root().join("schemas")).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        properties(&serde_json::from_str(&text).unwrap(), &mut names);
    }
    names
}

#[test]
fn every_known_type_and_field_exists_or_is_another_name() {
    let names = known_names();
    let init = root().join("python/rusty_stack_bench/__init__.py");
    let exported = std::fs::read_to_string(init).unwrap();
    let mut missing = Vec::new();
    let mut count = 0;
    for line in TYPES.lines().filter(|line| !line.starts_with('#')) {
        let (name, fields) = line.split_once(':').unwrap_or((line, ""));
        if !exported.contains(&format!("\"{name}\"")) {
            missing.push(name.to_owned());
        }
        for field in fields.split_whitespace().filter(|field| !names.contains(*field)) {
            missing.push(format!("{name}.{field}"));
        }
        count += 1 + fields.split_whitespace().count();
    }
    assert!(count > 300, "only {count} names were checked");
    assert_eq!(missing, [""; 0], "{} names are missing", missing.len());
}

#[test]
fn the_glossary_holds_every_other_name() {
    let mut rows = Vec::new();
    for alias in FIELD_ALIASES {
        rows.push((alias.name, format!("`{}`", alias.field)));
    }
    for alias in KEY_ALIASES {
        rows.push((alias.name, format!("`{}` in `[{}]`", alias.key, alias.section)));
    }
    for one in NAMES_ELSEWHERE {
        rows.push((one.name, one.here.to_owned()));
    }
    for suite in Suite::ALL {
        for alias in suite.aliases() {
            rows.push((alias, format!("`--suite {}`", suite.as_str())));
        }
    }
    rows.sort_unstable();
    let mut table = String::from("| name elsewhere | here |\n|---|---|\n");
    for (name, here) in rows {
        writeln!(table, "| `{name}` | {here} |").unwrap();
    }
    check_section(&root().join("docs/glossary.md"), "other names", &table);
}

#[test]
fn a_name_elsewhere_points_to_names_that_exist() {
    let names = known_names();
    let sources = ["crates/rsb-stats/src/policy_file.rs", "src/cli/trend.rs"];
    let sources = sources.map(|path| std::fs::read_to_string(root().join(path)).unwrap()).concat();
    for one in NAMES_ELSEWHERE {
        for quoted in one.here.split('`').skip(1).step_by(2) {
            let word = quoted.rsplit([' ', '.']).next().unwrap();
            let word = word.trim_matches(['[', ']', '-']).replace('-', "_");
            let is_known = names.contains(&word) || sources.contains(&word) || word == "json";
            assert!(is_known, "{}: `{quoted}`", one.name);
        }
    }
}
