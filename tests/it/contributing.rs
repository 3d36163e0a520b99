//! CONTRIBUTING.md lists the files to change for frequent additions. Checks that these files exist
//! and are few, and that no other source file mentions the given examples. Also checks the paths in
//! ARCHITECTURE.md.

use std::fs;
use std::path::{Path, PathBuf};

const ADDITIONS: [&str; 6] = [
    "Add a benchmark on an existing operation",
    "Add a chart kind",
    "Add an importer",
    "Add a flag of `gate`",
    "Add a flag of `gate` and `compare`",
    "Add a verdict reason",
];

/// Maximum number of files to change for an addition, excluding tests, documents and generated
/// files.
const MAX_FILES: usize = 4;

/// Directories whose sources may mention an example.
const SOURCE_DIRS: [&str; 5] = ["src", "crates", "python", "benches", "examples"];

/// Start of the unit tests at the end of a source file.
const UNIT_TESTS: &str = "#[cfg(test)]\nmod tests {";

/// A section of CONTRIBUTING.md about one addition.
struct Section {
    paths: Vec<String>,
    examples: Vec<String>,
}

impl Section {
    fn of(document: &str, heading: &str) -> Self {
        let (_, rest) = document
            .split_once(&format!("\n## {heading}\n"))
            .unwrap_or_else(|| panic!("the document has no section `{heading}`"));
        let text = rest.split("\n## ").next().unwrap();
        // `Example: `word`, `word`.` or `Example of an option: `word`. More text.`
        let examples = text.lines().filter(|line| line.starts_with("Example"));
        let examples = examples.flat_map(|line| line.split(". ").take(1).flat_map(code_spans));
        Self {
            paths: code_spans(text).filter(|span| is_path(span)).collect(),
            examples: examples.collect(),
        }
    }

    /// Returns the paths of files that are not tests, documents or generated files.
    fn sources(&self) -> Vec<&str> {
        let paths = self.paths.iter().map(String::as_str);
        paths.filter(|path| is_source(path)).collect()
    }

    /// Returns the source files that mention an example but are not listed in the section.
    fn unnamed(&self, sources: &[Source]) -> Vec<String> {
        let mentioning = sources.iter().filter(|source| source.mentions(&self.examples));
        let unnamed = mentioning.filter(|source| !self.paths.contains(&source.path));
        unnamed.map(|source| source.path.clone()).collect()
    }
}

/// A source file without its unit tests.
struct Source {
    path: String,
    text: String,
}

impl Source {
    fn mentions(&self, words: &[String]) -> bool {
        words.iter().any(|word| self.text.contains(word))
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn code_spans(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split('`').skip(1).step_by(2).map(str::to_owned)
}

fn has_extension(path: &str, extensions: &[&str]) -> bool {
    let extension = Path::new(path).extension();
    extension.is_some_and(|extension| extensions.iter().any(|known| extension == *known))
}

fn is_path(span: &str) -> bool {
    has_extension(span, &["rs", "md", "py", "toml"]) && !span.contains(' ')
}

fn is_source(path: &str) -> bool {
    let is_document = has_extension(path, &["md"]) || path.starts_with("schemas/");
    !is_document && !is_test(path)
}

/// Returns whether `path` is a test file, by its name or because its parent compiles it only for
/// tests.
fn is_test(path: &str) -> bool {
    if format!("/{path}").contains("/tests/") || path.ends_with("tests.rs") {
        return true;
    }
    let (Some(dir), Some(stem)) = (Path::new(path).parent(), Path::new(path).file_stem()) else {
        return false;
    };
    let declaration = format!("mod {};", stem.to_string_lossy());
    [dir.join("mod.rs"), dir.with_extension("rs"), dir.join("lib.rs")].iter().any(|parent| {
        let text = fs::read_to_string(root().join(parent)).unwrap_or_default();
        let mut attribute = "";
        text.lines().any(|line| {
            let is_declared = line.ends_with(&declaration) && attribute == "#[cfg(test)]";
            attribute = line;
            is_declared
        })
    })
}

fn sources() -> Vec<Source> {
    let mut sources = Vec::new();
    let mut dirs: Vec<PathBuf> = SOURCE_DIRS.iter().map(|dir| root().join(dir)).collect();
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let entry = entry.unwrap();
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                if !entry.file_name().to_string_lossy().starts_with('.')
                    && entry.file_name() != "target"
                {
                    dirs.push(path);
                }
                continue;
            }
            let name = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
            if !has_extension(&name, &["rs", "py"]) || is_test(&name) {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let text = text.split(UNIT_TESTS).next().unwrap_or_default().to_owned();
            sources.push(Source { path: name, text });
        }
    }
    sources
}

#[test]
fn contributing_names_the_few_files_of_each_addition() {
    let document = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let sources = sources();
    assert!(sources.len() > 500, "{}", sources.len());
    for heading in ADDITIONS {
        let section = Section::of(&document, heading);
        let Section { paths, examples } = &section;
        for path in paths {
            assert!(root().join(path).is_file(), "{heading}: {path} does not exist");
        }
        let named = section.sources();
        assert!(
            (1..=MAX_FILES).contains(&named.len()),
            "{heading} names {} files; at most {MAX_FILES}: {named:?}",
            named.len()
        );
        assert!(!examples.is_empty(), "{heading}: no example found");
        for example in examples {
            let one = std::slice::from_ref(example);
            assert!(
                sources.iter().any(|source| paths.contains(&source.path) && source.mentions(one)),
                "{heading}: none of the listed files mentions `{example}`"
            );
        }
        let unnamed = section.unnamed(&sources);
        assert!(
            unnamed.is_empty(),
            "{heading}: {examples:?} is mentioned by {unnamed:?}, which the section does not name: \
             derive it there from the table, or name the file"
        );
    }
}

#[test]
fn a_mention_outside_the_named_files_is_found() {
    let document = "\n## Add a thing\n\nExample: `thing`.\n\n1. `src/named.rs`: a row.\n\n\
                    Example of an option: `Options {`. A field of `Options`.\n";
    let section = Section::of(document, "Add a thing");
    assert_eq!(section.examples, ["thing", "Options {"]);
    let source = |path: &str| Source { path: path.to_owned(), text: "a thing".to_owned() };
    let unnamed = section.unnamed(&[source("src/named.rs"), source("src/other.rs")]);
    assert_eq!(unnamed, ["src/other.rs"]);
    assert!(is_test("crates/rsb-store/src/import/mutations.rs"));
    assert!(!is_test("crates/rsb-store/src/import/hyperfine.rs"));
}

#[test]
fn architecture_names_paths_that_exist() {
    let document = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let is_in_source_dir = |span: &String| {
        SOURCE_DIRS.iter().any(|dir| span.starts_with(&format!("{dir}/"))) && !span.contains('<')
    };
    let paths: Vec<String> = code_spans(&document).filter(is_in_source_dir).collect();
    assert!(paths.len() > 80, "{}", paths.len());
    for path in paths {
        assert!(root().join(&path).exists(), "{path} does not exist");
    }
}
