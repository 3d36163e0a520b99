//! The modules of one file and the paths they name, outside tests. Macros are not expanded.

use std::collections::{BTreeMap, BTreeSet};

/// Names from the crate root to a module; empty for the root itself.
pub(super) type ModulePath = Vec<String>;

/// Definitions and paths of one module.
#[derive(Debug, Default)]
pub(super) struct SourceModule {
    /// File that contains the module.
    pub(super) file: String,
    /// Functions, types, constants and macros defined in the module itself.
    pub(super) items: BTreeSet<String>,
    /// Leaves of its `use` declarations.
    pub(super) imports: Vec<Import>,
    /// All other paths, including single words, with the first line of each.
    pub(super) paths: BTreeMap<Vec<String>, usize>,
}

/// One leaf of a `use` declaration.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Import {
    /// Path as written, without a final `self` or `*`.
    pub(super) path: Vec<String>,
    /// Name in this module; `*` for all names.
    pub(super) name: String,
    /// Whether other modules can use the name, too.
    pub(super) is_public: bool,
    pub(super) line: usize,
}

/// Modules of one file.
#[derive(Debug, Default)]
pub(super) struct SourceFile {
    /// Module of the file, and modules nested in it.
    pub(super) modules: BTreeMap<ModulePath, SourceModule>,
    /// Modules in separate files.
    pub(super) children: Vec<ModulePath>,
}

/// Parses `text`, the content of `file`, which is the module `path`.
pub(super) fn parse(text: &str, file: &str, path: &[String]) -> SourceFile {
    let mut parser = Parser {
        tokens: tokens(text),
        at: 0,
        depth: 0,
        open: Vec::new(),
        file,
        found: SourceFile::default(),
    };
    parser.enter(path.to_vec());
    parser.read();
    parser.found
}

#[derive(Debug, Clone, Copy)]
struct Token<'a> {
    text: &'a str,
    line: usize,
}

struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    /// Number of open braces.
    depth: usize,
    /// Modules around the current token, each with the depth of its items.
    open: Vec<(ModulePath, usize)>,
    file: &'a str,
    found: SourceFile,
}

impl<'a> Parser<'a> {
    fn read(&mut self) {
        const ITEMS: &[&str] =
            &["fn", "struct", "enum", "union", "trait", "type", "const", "static"];
        while self.at < self.tokens.len() {
            let is_name_next = self.token(1).chars().next().is_some_and(is_word);
            match self.token(0) {
                "#" if self.is_test_attribute() => {
                    self.skip_item();
                    continue;
                }
                "{" => self.depth += 1,
                "}" => self.close(),
                "mod" if is_name_next => {
                    self.read_module();
                    continue;
                }
                "use" if self.token(1) != "<" => {
                    self.read_use();
                    continue;
                }
                "macro_rules" => self.define(self.token(2)),
                word if ITEMS.contains(&word) && is_name_next => self.define(self.token(1)),
                word if word.chars().next().is_some_and(is_word) => {
                    self.read_path();
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Returns the token `ahead` of the current one, empty past the end.
    fn token(&self, ahead: usize) -> &'a str {
        self.tokens.get(self.at + ahead).map_or("", |token| token.text)
    }

    fn before(&self, back: usize) -> &'a str {
        self.at.checked_sub(back).map_or("", |at| self.tokens[at].text)
    }

    fn line(&self) -> usize {
        self.tokens.get(self.at).map_or(0, |token| token.line)
    }

    fn enter(&mut self, path: ModulePath) {
        let module = SourceModule { file: self.file.to_owned(), ..SourceModule::default() };
        self.found.modules.insert(path.clone(), module);
        self.open.push((path, self.depth));
    }

    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if self.open.len() > 1 && self.open.last().is_some_and(|(_, depth)| *depth > self.depth) {
            self.open.pop();
        }
    }

    fn path(&self) -> ModulePath {
        self.open.last().map(|(path, _)| path.clone()).unwrap_or_default()
    }

    fn module(&mut self) -> &mut SourceModule {
        let path = self.path();
        self.found.modules.entry(path).or_default()
    }

    /// Records an item of the current module; items in a function or an `impl` are ignored.
    fn define(&mut self, name: &str) {
        if self.open.last().is_some_and(|(_, depth)| *depth == self.depth) {
            self.module().items.insert(name.to_owned());
        }
    }

    /// Reads `mod name;` or `mod name {`.
    fn read_module(&mut self) {
        let name = self.token(1);
        let mut path = self.path();
        path.push(name.to_owned());
        match self.token(2) {
            ";" if name == "tests" || name.ends_with("_tests") => {}
            ";" => self.found.children.push(path),
            "{" => {
                self.depth += 1;
                self.enter(path);
            }
            _ => {}
        }
        self.at += 3;
    }

    fn read_use(&mut self) {
        let is_public = ["pub", ")"].contains(&self.before(1));
        self.at += 1;
        self.read_tree(&[], is_public);
    }

    /// Reads one branch of a `use` declaration; `prefix` is the path before it.
    fn read_tree(&mut self, prefix: &[String], is_public: bool) {
        let mut path = prefix.to_vec();
        let mut name = None;
        let line = self.line();
        loop {
            match self.token(0) {
                "" | "," | "}" | ";" => break,
                "{" => {
                    self.at += 1;
                    while !["", "}"].contains(&self.token(0)) {
                        self.read_tree(&path, is_public);
                        if self.token(0) == "," {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return;
                }
                "::" => {}
                "*" => name = Some("*"),
                "as" => {
                    name = Some(self.token(1));
                    self.at += 1;
                }
                segment => path.push(segment.to_owned()),
            }
            self.at += 1;
        }
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        let Some(last) = path.last() else { return };
        let name = name.unwrap_or(last).to_owned();
        self.module().imports.push(Import { path, name, is_public, line });
    }

    /// Reads `a::b::c`, or a single word. Ignores fields, methods, names of fields and parameters,
    /// and members of a type in angle brackets.
    fn read_path(&mut self) {
        let is_visibility = self.before(1) == "in" && self.before(3) == "pub";
        let is_member = [".", "::"].contains(&self.before(1));
        let line = self.line();
        let mut path = vec![self.token(0).to_owned()];
        self.at += 1;
        while self.token(0) == "::" && self.token(1).chars().next().is_some_and(is_word) {
            path.push(self.token(1).to_owned());
            self.at += 2;
        }
        let is_label = path.len() == 1 && self.token(0) == ":";
        if !is_visibility && !is_member && !is_label {
            self.module().paths.entry(path).or_insert(line);
        }
    }

    /// Returns whether `#[cfg(test)]` or `#[cfg(all(test, …))]` begins here.
    fn is_test_attribute(&self) -> bool {
        let ahead: Vec<&str> = (1..7).map(|ahead| self.token(ahead)).collect();
        matches!(
            ahead[..],
            ["[", "cfg", "(", "test", ")", _] | ["[", "cfg", "(", "all", "(", "test"]
        )
    }

    /// Skips an attribute and the item, field or statement it belongs to.
    fn skip_item(&mut self) {
        const KEYWORDS: &[&str] =
            &["async", "const", "extern", "fn", "impl", "let", "mod", "static", "trait", "unsafe"];
        while self.token(0) == "#" {
            self.at += 1;
            self.skip_group();
        }
        if self.token(0) == "pub" {
            self.at += 1;
            if self.token(0) == "(" {
                self.skip_group();
            }
        }
        // A comma ends a field, but not the generics of an item.
        let is_item = KEYWORDS.contains(&self.token(0));
        loop {
            match self.token(0) {
                "" | "}" => return,
                "{" => {
                    self.skip_group();
                    return;
                }
                "(" | "[" => self.skip_group(),
                ";" => {
                    self.at += 1;
                    return;
                }
                "," if !is_item => {
                    self.at += 1;
                    return;
                }
                _ => self.at += 1,
            }
        }
    }

    /// Skips the brackets that begin here, and their content.
    fn skip_group(&mut self) {
        let mut depth = 0_usize;
        while self.at < self.tokens.len() {
            match self.token(0) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return;
            }
        }
    }
}

/// Returns the words and punctuation of `text`, without comments, strings and characters.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        let literal = literal_length(rest);
        let length = literal.unwrap_or_else(|| match rest.find(|letter| !is_word(letter)) {
            _ if rest.starts_with("::") => 2,
            Some(0) => first.len_utf8(),
            Some(length) => length,
            None => rest.len(),
        });
        let (piece, after) = rest.split_at(length);
        if literal.is_none() && !first.is_whitespace() {
            found.push(Token { text: piece, line });
        }
        line += piece.matches('\n').count();
        rest = after;
    }
    found
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Returns the length of the comment, string or character literal at the beginning of `text`.
fn literal_length(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if text.starts_with("/*") {
        return Some(block_comment_length(text));
    }
    if let Some(rest) = text.strip_prefix('\'') {
        let mut letters = rest.chars();
        let first = letters.next()?;
        if first == '\\' {
            // The escaped character may itself be a quote.
            return Some(rest.get(2..)?.find('\'')? + 4);
        }
        return (letters.next() == Some('\'')).then(|| first.len_utf8() + 2);
    }
    let letters = ["br", "cr", "r", "b", "c"];
    let after = letters.iter().find_map(|letters| text.strip_prefix(letters)).unwrap_or(text);
    let is_raw = text[..text.len() - after.len()].ends_with('r');
    let hashes = if is_raw { after.len() - after.trim_start_matches('#').len() } else { 0 };
    let content = after.get(hashes..)?.strip_prefix('"')?;
    let start = text.len() - content.len();
    let length = if is_raw {
        content.find(&format!("\"{}", "#".repeat(hashes))).map(|length| length + 1 + hashes)
    } else {
        string_length(content)
    };
    Some(length.map_or(text.len(), |length| start + length))
}

/// Returns the length of a string's `content`, including the closing quote.
fn string_length(content: &str) -> Option<usize> {
    let mut letters = content.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => _ = letters.next(),
            '"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

fn block_comment_length(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let step = match rest.get(..2) {
            Some("/*") => {
                depth += 1;
                2
            }
            Some("*/") => {
                depth -= 1;
                2
            }
            _ => rest.chars().next().map_or(1, char::len_utf8),
        };
        at += step;
        if depth == 0 {
            break;
        }
    }
    at
}
