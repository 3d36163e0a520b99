//! docs/reliability.md: every row has its cells, and every test that it names exists in the linked
//! file.

use std::path::PathBuf;

/// Minimum number of faults on the page.
const FAULTS: usize = 40;

/// A row of the table.
struct Row<'a> {
    cells: Vec<&'a str>,
}

impl<'a> Row<'a> {
    /// Parses a row; `None` for other lines, the head of the table and headings in it.
    fn of(line: &'a str) -> Option<Self> {
        let line = line.strip_prefix("| ")?.strip_suffix(" |")?;
        let is_head = line.starts_with("fault ") || line.starts_with("**");
        (!is_head).then(|| Self { cells: line.split(" | ").collect() })
    }

    /// Returns the names of its tests, and the files that they link to.
    fn tests(&self) -> Vec<(&'a str, &'a str)> {
        let links = self.cells.last().into_iter().flat_map(|cell| cell.split("[`").skip(1));
        let tests = links.filter_map(|link| link.split_once(')')?.0.split_once("`](../"));
        tests.collect()
    }
}

/// Returns whether `source` has a test with this name that is not ignored.
fn has_test(source: &str, name: &str) -> bool {
    let Some((before, _)) = source.split_once(&format!("fn {name}(")) else { return false };
    let attributes = before.rsplit("\n\n").next().unwrap_or_default();
    attributes.contains("#[test]") && !attributes.contains("#[ignore")
}

#[test]
fn the_page_of_faults_names_tests_that_exist() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/reliability.md")).unwrap();
    let rows: Vec<Row<'_>> = page.lines().filter_map(Row::of).collect();
    assert!(rows.len() >= FAULTS, "{} rows", rows.len());
    for row in rows {
        let fault = row.cells[0];
        assert_eq!(row.cells.len(), 5, "{fault}");
        let codes = row.cells[3].split(", ");
        let unknown: Vec<&str> = codes.filter(|code| !is_exit_code(code)).collect();
        assert!(unknown.is_empty(), "{fault}: {unknown:?}");
        let tests = row.tests();
        assert!(!tests.is_empty(), "{fault} names no test");
        for (name, file) in tests {
            let source = std::fs::read_to_string(root.join(file)).unwrap_or_default();
            assert!(has_test(&source, name), "{fault}: {file} has no test `{name}`");
        }
    }
}

/// Returns whether `text` is a documented exit code, or `–` for a test without a process.
fn is_exit_code(text: &str) -> bool {
    ["–", "0", "1", "2", "3", "4", "5", "130"].contains(&text)
}

#[test]
fn a_row_without_its_test_is_found() {
    let row = Row::of("| a | b | c | 0 | [`one`](../tests/it/a.rs), [`two`](../b.rs) |").unwrap();
    assert_eq!(row.tests(), [("one", "tests/it/a.rs"), ("two", "b.rs")]);
    for line in ["| fault | test |", "|---|---|", "| **Storage** | | |", "text"] {
        assert!(Row::of(line).is_none(), "{line}");
    }
    let source = "#[test]\nfn one() {}\n\n#[test]\n#[ignore]\nfn two() {}\n\nfn three() {}\n";
    assert!(has_test(source, "one"));
    for name in ["two", "three", "four"] {
        assert!(!has_test(source, name), "{name}");
    }
}
