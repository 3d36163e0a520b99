//! Strict parsing of the `--custom` file, with one command per `[[benchmark]]` entry.

use std::collections::BTreeMap;
use std::path::Path;

use rsb_model::{Better, Params};
use rsb_stats::policy_file::TargetFile;
use serde::Deserialize;

use super::OwnBenchmark;
use super::command::{CommandCase, CommandLine, Expected, FigureReader, FigureUnit};
use crate::entry_file::{self, AxisValues, EntryFileError};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    benchmark: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    #[serde(default)]
    about: String,
    command: Line,
    set_up: Option<Line>,
    #[serde(default)]
    axes: BTreeMap<String, AxisValues>,
    figure: Option<FigureEntry>,
    #[serde(default)]
    exit_code: i32,
    output: Option<String>,
    contains: Option<String>,
    #[serde(default)]
    target: Vec<TargetEntry>,
}

/// Shell line, or program and its arguments.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Shell(String),
    Program(Vec<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FigureEntry {
    after: Option<String>,
    unit: String,
    field: Option<String>,
    better: Option<Better>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TargetEntry {
    #[serde(default)]
    case: String,
    metric: String,
    above: Option<f64>,
    below: Option<f64>,
    #[serde(default)]
    fail: bool,
}

/// Reads the benchmarks in the file at `path`.
pub(super) fn read(path: &Path) -> Result<Vec<OwnBenchmark>, EntryFileError> {
    entry_file::parse_file(path, "benchmark", parse)
}

/// Returns the names of benchmarks that both files define, but differently. A file that cannot be
/// read counts as empty.
pub(super) fn differing(before: &Path, after: &Path) -> Vec<String> {
    let after = read_entries(after);
    let mut names = Vec::new();
    for (name, entry) in read_entries(before) {
        if after.get(&name).is_some_and(|other| *other != entry) {
            names.push(name);
        }
    }
    names
}

/// Returns the entries of a file by name; empty if it cannot be read.
fn read_entries(path: &Path) -> BTreeMap<String, toml::Value> {
    let text = rsb_store::read_text(path).unwrap_or_default();
    let file: toml::Table = toml::from_str(&text).unwrap_or_default();
    let entries =
        file.get("benchmark").and_then(toml::Value::as_array).cloned().unwrap_or_default();
    entries
        .into_iter()
        .filter_map(|entry| Some((entry.get("name")?.as_str()?.to_owned(), entry)))
        .collect()
}

fn parse(text: &str) -> Result<Vec<OwnBenchmark>, String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
    if file.benchmark.is_empty() {
        return Err(
            "it has no benchmark; write [[benchmark]] with a `name` and a `command`".to_owned()
        );
    }
    let mut benchmarks = Vec::new();
    for entry in file.benchmark {
        let name = entry.name.clone();
        let own = benchmark(entry).map_err(|why| format!("benchmark `{name}`: {why}"))?;
        benchmarks.push(own);
    }
    Ok(benchmarks)
}

fn benchmark(entry: Entry) -> Result<OwnBenchmark, String> {
    let (command, set_up) = (line(entry.command)?, entry.set_up.map(line).transpose()?);
    for axis in entry.axes.keys() {
        let is_used =
            command.mentions(axis) || set_up.as_ref().is_some_and(|line| line.mentions(axis));
        if !is_used {
            return Err(format!(
                "the axis `{axis}` is not used; write {{{axis}}} in `command` or `set_up`"
            ));
        }
    }
    for line in set_up.iter().chain([&command]) {
        if let Some(name) =
            line.placeholders().into_iter().find(|name| !entry.axes.contains_key(*name))
        {
            return Err(unknown_placeholder(name, &entry.axes));
        }
    }
    let figure = entry.figure.map(figure_reader).transpose()?;
    let expected =
        Expected { exit_code: entry.exit_code, output: entry.output, contains: entry.contains };
    // Registered names live as long as the process.
    let [name, about]: [&'static str; 2] = [entry.name, entry.about].map(|text| &*text.leak());
    let prepare = move |params: &Params| {
        let case = CommandCase {
            what: format!("benchmark {name}"),
            line: command.substitute(params),
            expected: expected.clone(),
            figure: figure.clone(),
        };
        let set_up = set_up.as_ref().map(|line| line.substitute(params));
        Ok(Box::new(case.prepare(set_up.as_ref())?) as Box<dyn rsb_workloads::Prepared>)
    };
    let mut own = OwnBenchmark::new(name, about, Box::new(prepare));
    for (axis, values) in entry.axes {
        own = own.axis(axis.leak(), values.texts());
    }
    for TargetEntry { case, metric, above, below, fail } in entry.target {
        let id = format!("*{case}");
        own = own.target(TargetFile { id, metric, above, below, fail, reference: None });
    }
    Ok(own)
}

fn figure_reader(figure: FigureEntry) -> Result<FigureReader, String> {
    let unit = FigureUnit::of(&figure.unit, figure.field.as_deref(), figure.better)?;
    Ok(FigureReader { after: figure.after, unit })
}

/// Returns the error message for a name in braces that is not an axis.
fn unknown_placeholder(name: &str, axes: &BTreeMap<String, AxisValues>) -> String {
    let near = axes
        .keys()
        .map(|axis| (strsim::jaro_winkler(name, axis), axis))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    let near = near.map(|(_, axis)| format!(", did you mean `{{{axis}}}`?")).unwrap_or_default();
    format!(
        "`{{{name}}}` has no value: there is no axis `{name}`{near}; give it values, as in `axes = \
         {{ {name} = [1, 2] }}`, or write `{{ {name} }}` if the braces belong to the command"
    )
}

fn line(line: Line) -> Result<CommandLine, String> {
    let line = match line {
        Line::Shell(line) => CommandLine::Shell(line),
        Line::Program(words) => CommandLine::Program(words),
    };
    let first = match &line {
        CommandLine::Shell(line) => line.trim(),
        CommandLine::Program(words) => words.first().map(String::as_str).unwrap_or_default(),
    };
    if first.is_empty() {
        Err("a command is empty; write the command to run".to_owned())
    } else {
        Ok(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_in_the_documentation_is_valid() {
        let benchmarks = parse(include_str!("../../../../docs/custom.example.toml")).unwrap();
        assert_eq!(benchmarks.len(), 3);
    }

    #[test]
    fn each_mistake_says_where_and_what_is_valid() {
        for (text, expected) in [
            (String::new(), "[[benchmark]]"),
            ("[[benchmark]\n".to_owned(), "line 1"),
            ("[[benchmark]]\nname = \"a\"\n".to_owned(), "missing field `command`"),
            (entry_with("comand = 1"), "line 4"),
            (entry_with("comand = 1"), "expected one of `name`, `about`, `command`"),
            (entry_with("axes = { n = [1] }"), "write {n}"),
            (
                "[[benchmark]]\nname = \"a\"\ncommand = \"seq {n}\"\n".to_owned(),
                "no axis `n`; give it values",
            ),
            (
                "[[benchmark]]\nname = \"a\"\ncommand = \"seq {lines} {line}\"\naxes = \
                 { lines = [1] }\n"
                    .to_owned(),
                "did you mean `{lines}`?",
            ),
            (entry_with("set_up = [\"touch\", \"{file}\"]"), "no axis `file`"),
            (entry_with("figure = { unit = \"MB\" }"), "one of ns"),
            (entry_with("figure = { after = \"x\" }"), "missing field `unit`"),
            (entry_with("figure = { unit = \"ms\", better = \"faster\" }"), "higher"),
            ("[[benchmark]]\nname = \"a\"\ncommand = []\n".to_owned(), "empty"),
            (entry_with("[[benchmark.target]]\nmetrics = \"x\""), "metric"),
        ] {
            let Err(message) = parse(&text) else { panic!("{text}") };
            assert!(message.contains(expected), "{text}\n{message}");
        }
    }

    fn entry_with(more: &str) -> String {
        format!("[[benchmark]]\nname = \"a\"\ncommand = \"true\"\n{more}\n")
    }
}
