//! `cargo xtask test reliability`: runs the tests that docs/reliability.md names, and no others.

use anyhow::{Context, Result, ensure};

use crate::steps;

/// Runs the tests in the last column of the table.
pub(crate) fn test() -> Result<()> {
    ensure!(
        steps::available("cargo-nextest"),
        "cargo-nextest is not installed, and `cargo test` cannot select these tests; run `cargo \
         install cargo-nextest`, or every test with `cargo xtask test`"
    );
    let path = steps::root().join("docs/reliability.md");
    let page = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    steps::test(&["-E".to_owned(), expression(&page)])
}

/// Returns the expression of nextest for the tests in the last cell of each row of `page`, which
/// are links such as ``[`name`](../tests/it/file.rs)``.
fn expression(page: &str) -> String {
    let rows = page.lines().filter(|line| line.starts_with("| "));
    let cells = rows.filter_map(|row| row.trim_end_matches(" |").rsplit(" | ").next());
    let links = cells.flat_map(|cell| cell.split("[`").skip(1));
    let tests = links.filter_map(|link| {
        let (name, file) = link.split_once(')')?.0.split_once("`](../")?;
        let package = file.strip_prefix("crates/").and_then(|rest| rest.split('/').next());
        let package = package.unwrap_or("rusty-stack-bench");
        Some(format!("(package(={package}) & test(/(^|::){name}$/))"))
    });
    tests.collect::<Vec<_>>().join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_test_in_the_last_column_is_selected_in_its_package() {
        let page = "Text with a [`link`](../a.rs).\n\n\
                    | fault | test |\n|---|---|\n\
                    | **Storage** | |\n\
                    | [`no`](../a.rs) | [`one`](../tests/it/a.rs), [`two`](../tests/it/b.rs) |\n\
                    | b | [`three`](../crates/rsb-store/src/journal.rs) |\n";
        assert_eq!(
            expression(page),
            "(package(=rusty-stack-bench) & test(/(^|::)one$/)) | (package(=rusty-stack-bench) & \
             test(/(^|::)two$/)) | (package(=rsb-store) & test(/(^|::)three$/))"
        );
    }
}
