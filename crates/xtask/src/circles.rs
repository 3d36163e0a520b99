//! Check that dependency cycles between files do not span two top-level modules of a crate, for
//! `cargo xtask tidy`.
//!
//! A file uses the files that define the names in it. `mod` and `pub use` do not count as uses.

mod source;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use source::{ModulePath, SourceModule};

/// Maximum number of re-exports to follow in a row.
const MAX_REEXPORTS: usize = 12;

/// Returns the groups of mutually dependent files of every crate below `root`, each with its
/// shortest cycle.
pub(crate) fn breaches(root: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for crate_root in crate_roots(root)? {
        let modules = read_modules(root, &crate_root)?;
        found.extend(circles(&modules));
    }
    found.sort();
    Ok(found)
}

/// Returns the root files of every library and program below `root`.
fn crate_roots(root: &Path) -> Result<Vec<PathBuf>> {
    let mut packages = vec![root.to_path_buf()];
    packages.extend(entries(&root.join("crates"))?);
    let mut found = Vec::new();
    for package in packages {
        let source = package.join("src");
        let programs = source.join("bin");
        found.extend([source.join("lib.rs"), source.join("main.rs")]);
        if programs.is_dir() {
            found.extend(entries(&programs)?);
        }
    }
    found.retain(|path| path.is_file());
    Ok(found)
}

fn entries(dir: &Path) -> Result<Vec<PathBuf>> {
    let context = || format!("cannot read {}", dir.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).with_context(context)? {
        found.push(entry.with_context(context)?.path());
    }
    Ok(found)
}

/// Reads `crate_root` and the files of all its modules.
fn read_modules(root: &Path, crate_root: &Path) -> Result<BTreeMap<ModulePath, SourceModule>> {
    let dir = crate_root.parent().unwrap_or(root);
    let mut modules = BTreeMap::new();
    let mut waiting = vec![(ModulePath::new(), crate_root.to_path_buf())];
    while let Some((module, path)) = waiting.pop() {
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let shown = path.strip_prefix(root).unwrap_or(&path).to_string_lossy();
        let file = source::parse(&text, &shown, &module);
        modules.extend(file.modules);
        for child in file.children {
            let base = dir.join(child.join("/"));
            let nested = base.join("mod.rs");
            let path = if nested.is_file() { nested } else { base.with_extension("rs") };
            // A file that `#[path]` names is elsewhere, and not checked.
            if path.is_file() {
                waiting.push((child, path));
            }
        }
    }
    Ok(modules)
}

/// Target of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    Module(ModulePath),
    /// An item, by the file that defines it.
    File(String),
    /// Another crate, or something without a path.
    Elsewhere,
}

/// Files used by each file, with the first line of each use.
type Uses = BTreeMap<String, BTreeMap<String, usize>>;

/// Describes each group of mutually dependent files that spans two top-level modules.
fn circles(modules: &BTreeMap<ModulePath, SourceModule>) -> Vec<String> {
    let uses = uses(modules);
    let mut rooms: BTreeMap<&str, &str> = BTreeMap::new();
    for (path, module) in modules {
        rooms.entry(&module.file).or_insert(path.first().map_or("the root", String::as_str));
    }
    let mut waiting: BTreeSet<&str> = rooms.keys().copied().collect();
    let mut found = Vec::new();
    while let Some(file) = waiting.pop_first() {
        let circle: BTreeSet<&str> = reached(&uses, file)
            .into_iter()
            .filter(|other| reached(&uses, other).contains(file))
            .collect();
        waiting.retain(|other| !circle.contains(other));
        let spanned: BTreeSet<&str> = circle.iter().map(|file| rooms[file]).collect();
        if spanned.len() > 1 {
            let names: Vec<&str> = spanned.into_iter().collect();
            found.push(format!(
                "{} files in a circle span the modules {}: {}",
                circle.len(),
                names.join(", "),
                shortest(&uses, &circle, &rooms)
            ));
        }
    }
    found
}

fn uses(modules: &BTreeMap<ModulePath, SourceModule>) -> Uses {
    let mut found = Uses::new();
    for (at, module) in modules {
        let imports = module.imports.iter().filter(|import| !import.is_public);
        let imports = imports.map(|import| (&import.path, import.line));
        let paths = module.paths.iter().map(|(path, line)| (path, *line));
        for (path, line) in imports.chain(paths) {
            let Target::File(file) = resolve(modules, at, path, MAX_REEXPORTS) else { continue };
            if file != module.file {
                let lines = found.entry(module.file.clone()).or_default();
                let first = lines.entry(file).or_insert(line);
                *first = line.min(*first);
            }
        }
    }
    found
}

/// Resolves `path` in the module `from`.
fn resolve(
    modules: &BTreeMap<ModulePath, SourceModule>,
    from: &[String],
    path: &[String],
    reexports: usize,
) -> Target {
    let mut at = from.to_vec();
    let mut is_ours = false;
    for (index, segment) in path.iter().enumerate() {
        match segment.as_str() {
            "crate" if index == 0 => at.clear(),
            "self" if index == 0 => {}
            "super" if index == 0 || is_ours => _ = at.pop(),
            name => match member(modules, &at, name, index + 1 == path.len(), reexports) {
                Some(Target::Module(module)) => at = module,
                Some(target) => return target,
                None if is_ours => return defined_in(modules, &at, name),
                None => return Target::Elsewhere,
            },
        }
        is_ours = true;
    }
    Target::Module(at)
}

/// Returns the file of a name that is defined by a macro, or that is a crate-wide macro.
fn defined_in(modules: &BTreeMap<ModulePath, SourceModule>, at: &[String], name: &str) -> Target {
    let mut definers = modules.values().filter(|module| module.items.contains(name));
    let definer = if at.is_empty() { definers.next() } else { None };
    definer
        .or_else(|| modules.get(at))
        .map_or(Target::Elsewhere, |module| Target::File(module.file.clone()))
}

/// Resolves `name` in the module `at`. At the end of a path, items have precedence over modules.
fn member(
    modules: &BTreeMap<ModulePath, SourceModule>,
    at: &[String],
    name: &str,
    is_end: bool,
    reexports: usize,
) -> Option<Target> {
    let module = modules.get(at)?;
    let child = [at, &[name.to_owned()]].concat();
    let is_child = modules.contains_key(&child);
    if is_child && !is_end {
        return Some(Target::Module(child));
    }
    if module.items.contains(name) {
        return Some(Target::File(module.file.clone()));
    }
    let reexports = reexports.checked_sub(1)?;
    for import in module.imports.iter().filter(|import| import.name == name) {
        let target = resolve(modules, at, &import.path, reexports);
        // A function may have the same name as its module.
        if !is_child || matches!(target, Target::File(_)) {
            return Some(target);
        }
    }
    if is_child {
        return Some(Target::Module(child));
    }
    for import in module.imports.iter().filter(|import| import.name == "*") {
        if let Target::Module(all) = resolve(modules, at, &import.path, reexports)
            && let Some(target) = member(modules, &all, name, is_end, reexports)
        {
            return Some(target);
        }
    }
    None
}

/// Returns the files that `file` uses directly or indirectly, including `file` itself.
fn reached<'a>(uses: &'a Uses, file: &'a str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::from([file]);
    let mut waiting = vec![file];
    while let Some(file) = waiting.pop() {
        for other in uses.get(file).into_iter().flat_map(BTreeMap::keys) {
            if found.insert(other) {
                waiting.push(other);
            }
        }
    }
    found
}

/// Describes the shortest cycle in the group `circle` that leaves a top-level module.
fn shortest(uses: &Uses, circle: &BTreeSet<&str>, rooms: &BTreeMap<&str, &str>) -> String {
    let mut best: Option<Vec<&str>> = None;
    for from in circle {
        for to in uses.get(*from).into_iter().flat_map(BTreeMap::keys) {
            if !circle.contains(to.as_str()) || rooms[from] == rooms[to.as_str()] {
                continue;
            }
            let way = way(uses, to, from);
            if best.as_ref().is_none_or(|best| way.len() < best.len()) {
                best = Some(way);
            }
        }
    }
    let mut way = best.unwrap_or_default();
    if let Some(last) = way.last().copied() {
        way.insert(0, last);
    }
    let mut places = Vec::new();
    for pair in way.windows(2) {
        let line = uses.get(pair[0]).and_then(|lines| lines.get(pair[1])).copied();
        places.push(format!("{}:{}", pair[0], line.unwrap_or_default()));
    }
    places.extend(way.last().map(|last| (*last).to_owned()));
    places.join(" → ")
}

/// Returns the shortest chain of uses from one file to another.
fn way<'a>(uses: &'a Uses, from: &'a str, to: &str) -> Vec<&'a str> {
    let mut waiting = VecDeque::from([vec![from]]);
    let mut seen = BTreeSet::from([from]);
    while let Some(way) = waiting.pop_front() {
        let last = way.last().copied().unwrap_or_default();
        if last == to {
            return way;
        }
        for other in uses.get(last).into_iter().flat_map(BTreeMap::keys) {
            if seen.insert(other) {
                waiting.push_back([&way[..], &[other.as_str()]].concat());
            }
        }
    }
    Vec::new()
}
