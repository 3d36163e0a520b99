//! Check of the relative links in documents: each must point to a file of the repository, and to an
//! existing heading if it names one.

use std::path::Path;

use anyhow::{Context, Result};

use crate::steps;

/// Returns the broken links of every tracked document.
pub(crate) fn broken(root: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for document in steps::tracked_files(&["*.md"])? {
        let path = root.join(&document);
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let directory = path.parent().unwrap_or(root);
        let broken = links(&text).into_iter().filter(|link| !resolves(directory, &text, link));
        found
            .extend(broken.map(|link| format!("{document} links to {link}, which does not exist")));
    }
    Ok(found)
}

/// Returns the relative targets of `[text](target)` and `![text](target)`, outside code.
fn links(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in prose(text) {
        // Text between backticks is code, too.
        for piece in line.split('`').step_by(2) {
            let targets = piece.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
            found.extend(targets.map(|(target, _)| target));
        }
    }
    found.retain(|target| !target.contains("://") && !target.starts_with("mailto:"));
    found
}

/// Returns the lines outside code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

fn resolves(directory: &Path, text: &str, link: &str) -> bool {
    let (file, heading) =
        link.split_once('#').map_or((link, None), |(file, heading)| (file, Some(heading)));
    let path = directory.join(file);
    if !file.is_empty() && !path.exists() {
        return false;
    }
    match heading {
        None => true,
        Some(heading) if file.is_empty() => has_heading(text, heading),
        Some(heading) => {
            std::fs::read_to_string(&path).is_ok_and(|text| has_heading(&text, heading))
        }
    }
}

/// Returns whether a heading of `text` has this anchor on GitHub.
fn has_heading(text: &str, anchor: &str) -> bool {
    prose(text).filter(|line| line.starts_with('#')).any(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept =
            title.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
        kept.map(|letter| if letter == ' ' { '-' } else { letter }).eq(anchor.chars())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_code_and_followed() {
        let text = "# The `front` door\n[a](b.md) ![c](d.svg) `[x](y)` [e](https://e.org) \
                    [f](#the-front-door)\n\
                    ```\n[g](h)\n# no heading\n```\n[i](#no-heading)\n";
        assert_eq!(links(text), ["b.md", "d.svg", "#the-front-door", "#no-heading"]);
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("b.md"), "## Two words\n").unwrap();
        let broken: Vec<&str> = links(text)
            .into_iter()
            .filter(|link| !resolves(directory.path(), text, link))
            .collect();
        assert_eq!(broken, ["d.svg", "#no-heading"]);
        assert!(
            resolves(directory.path(), text, "b.md#two-words")
                && !resolves(directory.path(), text, "b.md#three")
        );
    }
}
