//! Splits a log of nccl-tests or rccl-tests into sections: one per program that ran, with its ranks
//! and its table.
//!
//! Lines may have a tag from `mpirun --tag-output`, hydra or `srun --label`, and messages of NCCL
//! may be between the lines of a table, or split its rows.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;

use super::nccl_splice::{Messages, SplitRow, is_measured};

/// Collectives that the programs measure. A program's name is that of its collective plus `_perf`.
const COLLECTIVES: [&str; 11] = [
    "reduce_scatter",
    "all_reduce",
    "all_gather",
    "alltoallv",
    "broadcast",
    "hypercube",
    "alltoall",
    "sendrecv",
    "scatter",
    "gather",
    "reduce",
];

/// Columns of measured values after the time.
const FIGURES: [&str; 8] =
    ["algbw", "busbw", "#wrong", "error", "i_min", "i_max", "i_p99", "i_cv%"];

#[derive(Debug, Default)]
pub(super) struct Section<'a> {
    /// Program name, such as `all_reduce_perf`, if the log has it.
    pub(super) name: Option<&'a str>,
    /// Group and number of each rank, as listed in the log.
    ranks: Vec<(u64, u64)>,
    /// Number of ranks of one process.
    ranks_each: usize,
    pub(super) columns: Option<Columns<'a>>,
    /// Rows of the table, with their line numbers.
    pub(super) rows: Vec<(usize, Cow<'a, str>)>,
    /// Number of wrong values over all rows.
    pub(super) wrong: u64,
    /// Whether the average at the end was printed.
    pub(super) is_ended: bool,
    /// Line numbers of rows after the end, such as those that `grep` found in another log.
    pub(super) headless: Vec<usize>,
}

impl Section<'_> {
    /// Returns the number of ranks in one group. The list in the log may be incomplete, because a
    /// process prints at most 2048 characters of it.
    pub(super) fn ranks(&self) -> usize {
        let first = self.ranks.first().map(|(group, _)| *group);
        self.ranks.iter().filter(|(group, _)| Some(*group) == first).count().max(self.ranks_each)
    }

    /// Returns the number of rank groups that ran concurrently.
    pub(super) fn groups(&self) -> usize {
        self.ranks.iter().map(|(group, _)| group).collect::<HashSet<_>>().len()
    }

    /// Returns whether a rank is listed twice. This happens if programs were built without MPI, so
    /// that each one measures separately.
    pub(super) fn has_repeated_rank(&self) -> bool {
        self.ranks.iter().collect::<HashSet<_>>().len() < self.ranks.len()
    }
}

#[derive(Debug)]
pub(super) struct Columns<'a> {
    /// Line number of the column names.
    pub(super) line: usize,
    parameters: Vec<&'a str>,
    /// Placement (out of place, in place) and columns of each part.
    parts: Vec<(&'static str, Vec<&'a str>)>,
    /// Number of words in a row after the parts.
    rest: usize,
}

pub(super) struct Row<'a> {
    /// Names and values before the measured ones: size, count, type and, depending on the version,
    /// redop and root.
    pub(super) parameters: Vec<(&'a str, &'a str)>,
    pub(super) parts: Vec<Part<'a>>,
}

/// Values measured out of place or in place.
pub(super) struct Part<'a> {
    pub(super) place: &'static str,
    /// Columns and their values; the first is the time.
    pub(super) figures: Vec<(&'a str, &'a str)>,
}

impl<'a> Part<'a> {
    /// Returns the text in the column `name`.
    pub(super) fn figure(&self, name: &str) -> Option<&'a str> {
        self.figures.iter().find(|(own, _)| *own == name).map(|(_, text)| *text)
    }
}

impl<'a> Columns<'a> {
    /// Parses the column names in `words`; `title` is the line above them.
    fn of(words: &[&'a str], title: &str, line: usize) -> Option<Self> {
        let is_header = words.first() == Some(&"size")
            && ["type", "algbw", "busbw"].iter().all(|name| words.contains(name));
        if !is_header {
            return None;
        }
        let first = words.iter().position(|name| is_time(name))?;
        // Some versions and options add columns between the known ones.
        let last = words.iter().rposition(|name| is_figure(name))?;
        let (parameters, figures) = (words.get(..first)?, words.get(first..=last)?);
        let rest = words.len() - parameters.len() - figures.len();
        // The timestamp after a row is two words, a date and a time.
        let rest = rest + words.iter().filter(|name| **name == "timestamp").count();
        let mut parts: Vec<(&'static str, Vec<&'a str>)> = Vec::new();
        let mut places =
            places(title, figures.iter().filter(|name| is_time(name)).count())?.into_iter();
        for name in figures {
            match parts.last_mut().filter(|_| !is_time(name)) {
                Some((_, names)) => names.push(name),
                None => parts.push((places.next()?, vec![name])),
            }
        }
        Some(Self { line, parameters: parameters.to_vec(), parts, rest })
    }

    /// Parses a row; returns `None` if it does not match the columns.
    pub(super) fn row<'r>(&'r self, line: &'r str) -> Option<Row<'r>> {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        let parameters = words.len().checked_sub(self.figures() + self.rest)?;
        let mut names = self.parameters.clone();
        if parameters + 1 == names.len() {
            // For collectives without a reduction, some versions leave `redop` blank.
            names.retain(|name| *name != "redop");
        }
        if parameters != names.len() {
            return None;
        }
        let mut behind = words.split_off(parameters).into_iter();
        let parts = self
            .parts
            .iter()
            .map(|(place, names)| Part {
                place,
                figures: names.iter().copied().zip(behind.by_ref()).collect(),
            })
            .collect();
        Some(Row { parameters: names.into_iter().zip(words).collect(), parts })
    }

    /// Returns the number of words in a complete row.
    pub(super) fn len(&self) -> usize {
        self.parameters.len() + self.figures() + self.rest
    }

    fn figures(&self) -> usize {
        self.parts.iter().map(|(_, names)| names.len()).sum()
    }

    /// Returns whether a row whose pieces end after these numbers of words is complete, and split
    /// only between its parameters and its parts.
    pub(super) fn have_pieces_at(&self, ends: &[usize]) -> bool {
        // `redop` may be blank.
        [self.parameters.len(), self.parameters.len().saturating_sub(1)].iter().any(|parameters| {
            let mut end = *parameters;
            let mut allowed = vec![end];
            for (_, names) in &self.parts {
                end += names.len();
                allowed.push(end);
            }
            allowed.push(end + self.rest);
            ends.last() == allowed.last() && ends.iter().all(|end| allowed.contains(end))
        })
    }
}

fn is_figure(name: &str) -> bool {
    is_time(name) || FIGURES.contains(&name)
}

fn is_time(name: &str) -> bool {
    ["time", "cputime"].contains(&name)
}

/// Returns the placement of each of `parts`, from the line above the column names. If there is only
/// one part, no other line names its placement.
fn places(title: &str, parts: usize) -> Option<Vec<&'static str>> {
    let words: Vec<&str> = title.split_whitespace().collect();
    let out_of_place = words.iter().position(|word| *word == "out-of-place");
    let in_place = words.iter().position(|word| *word == "in-place");
    match (parts, out_of_place, in_place) {
        (1, Some(_), None) => Some(vec!["out-of-place"]),
        (1, None, Some(_)) => Some(vec!["in-place"]),
        (2, out, inside) if inside < out && inside.is_some() => {
            Some(vec!["in-place", "out-of-place"])
        }
        (2, ..) => Some(vec!["out-of-place", "in-place"]),
        _ => None,
    }
}

/// Returns whether `text` has a table in the format of nccl-tests from 2017 and 2018.
pub(super) fn is_before_2019(text: &str) -> bool {
    text.lines().any(|line| {
        let Some(names) = strip_tag(line).strip_prefix('#') else { return false };
        let mut names = names.split_whitespace();
        (names.next(), names.next()) == (Some("bytes"), Some("N"))
    })
}

/// Returns the sections of `text`.
pub(super) fn sections(text: &str) -> Vec<Section<'_>> {
    let mut reader = Reader::default();
    for (index, line) in text.lines().enumerate() {
        let line = strip_tag(line);
        match line.strip_prefix('#').or_else(|| Some(line).filter(|line| is_unmarked(line))) {
            Some(comment) => reader.comment(comment.trim(), index + 1),
            None => reader.other(line, index + 1),
        }
    }
    reader.close();
    reader.closed
}

/// A program named in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Program<'a> {
    name: &'a str,
    /// Whether an option such as `-b` follows the name.
    has_options: bool,
}

/// Returns whether `line` is a comment whose `#` was lost, as in a copy from a web page.
fn is_unmarked(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().take(4).collect();
    match words.as_slice() {
        ["nThread" | "nThreads" | "nThread:" | "nThreads:", ..]
        | ["Out", "of", "bounds", ..]
        | ["Avg", "bus", "bandwidth", ..] => true,
        ["Rank", rank, "Pid" | "Group", ..] => rank.parse::<u64>().is_ok(),
        ["size", "count", ..] => line.contains("algbw"),
        ["out-of-place" | "in-place", ..] => words.len() <= 2,
        _ => false,
    }
}

#[derive(Default)]
struct Reader<'a> {
    closed: Vec<Section<'a>>,
    section: Section<'a>,
    /// Programs named in lines before the table, in the order of their last mention.
    programs: Vec<Program<'a>>,
    /// Text of the previous comment line.
    title: &'a str,
    messages: Messages<'a>,
    /// The row that a message split, until its last piece is read.
    split: Option<SplitRow<'a>>,
}

impl<'a> Reader<'a> {
    fn close(&mut self) {
        self.close_row();
        let section = std::mem::take(&mut self.section);
        if section.name.is_some() || section.columns.is_some() {
            self.closed.push(section);
        }
    }

    /// Adds the row that a message split.
    fn close_row(&mut self) {
        if let (Some(row), Some(columns)) = (self.split.take(), &self.section.columns) {
            self.section.rows.push((row.line, row.join(columns)));
        }
    }

    fn comment(&mut self, comment: &'a str, line: usize) {
        self.close_row();
        let words: Vec<&str> = comment.split_whitespace().collect();
        if let Some((_, name)) = comment.split_once("Collective test starting:") {
            let is_another = self.section.name.is_some_and(|own| own != name.trim());
            if is_another || self.section.columns.is_some() || !self.section.ranks.is_empty() {
                self.close();
            }
            self.section.name = Some(name.trim()).filter(|name| !name.is_empty());
        } else if words.first().is_some_and(|word| is_named(word, "nThread")) {
            if self.section.columns.is_some() || self.section.ranks_each > 0 {
                self.close();
            }
            self.section.ranks_each = ranks_each(&words);
        } else if let ["Rank", rank, rest @ ..] = words.as_slice() {
            if self.section.is_ended {
                self.close();
            }
            let group =
                if let ["Group", group, ..] = rest { group.parse().unwrap_or_default() } else { 0 };
            self.section.ranks.extend(rank.parse().ok().map(|rank: u64| (group, rank)));
        } else if let Some(columns) = Columns::of(&words, self.title, line) {
            self.header(columns);
        } else if let Some((_, count)) = comment.split_once("Out of bounds values") {
            let count = count.trim_start().trim_start_matches(':').split_whitespace().next();
            self.section.wrong = count.and_then(|count| count.parse().ok()).unwrap_or_default();
        } else if comment.contains("Avg bus bandwidth") {
            self.section.is_ended = true;
            self.programs.clear();
        } else if let Some((_, name)) = comment.split_once("Collective test concluded:") {
            let name = Some(name.trim()).filter(|name| self.section.is_ended && !name.is_empty());
            self.section.name = self.section.name.or(name);
        }
        self.title = comment;
    }

    /// Reads `text` in a table, before a message if the row `is_split`. Other lines than rows are
    /// log lines.
    fn row(&mut self, text: &'a str, is_split: bool, number: usize) {
        let begins = begins_with_size(text);
        match &mut self.split {
            Some(row) if !begins || is_measured(text) => row.push(text),
            _ => {
                self.close_row();
                if begins && is_split {
                    self.split = Some(SplitRow::new(number, text));
                } else if begins {
                    self.section.rows.push((number, Cow::Borrowed(text)));
                }
            }
        }
        if let (Some(row), Some(columns)) = (&self.split, &self.section.columns)
            && row.is_complete(columns)
        {
            self.close_row();
        }
    }

    fn header(&mut self, columns: Columns<'a>) {
        if self.section.is_ended {
            self.close();
        }
        if self.section.name.is_none() {
            self.section.name = self.only_program();
        }
        self.programs.clear();
        self.section.columns = Some(columns);
    }

    /// Returns the program that was named before the table, or the only one that was named with
    /// options, as in a command, if it was also the last: output of a build may name all programs.
    fn only_program(&self) -> Option<&'a str> {
        if let [only] = self.programs.as_slice() {
            return Some(only.name);
        }
        let last = self.programs.last().filter(|last| last.has_options)?;
        let commands = self.programs.iter().filter(|program| program.has_options);
        (commands.count() == 1).then_some(last.name)
    }

    fn other(&mut self, line: &'a str, number: usize) {
        let message = self.messages.text_before(line);
        let is_open = self.section.columns.is_some() && !self.section.is_ended;
        let is_row = |columns: &Columns<'_>| begins_with_size(line) && columns.row(line).is_some();
        if is_open {
            self.row(message.unwrap_or(line), message.is_some(), number);
        } else if self.section.columns.as_ref().is_some_and(is_row) {
            self.section.headless.push(number);
        } else {
            for program in programs(line) {
                let known = self.programs.iter().position(|own| own.name == program.name);
                let before = known.map(|at| self.programs.remove(at));
                let had_options = before.is_some_and(|before| before.has_options);
                let has_options = program.has_options || had_options;
                self.programs.push(Program { has_options, ..program });
            }
        }
    }
}

/// Returns whether `text` begins like a row, with the size in bytes.
fn begins_with_size(text: &str) -> bool {
    text.split_whitespace().next().is_some_and(|first| first.parse::<u64>().is_ok())
}

/// Returns the number of ranks per process, from the words of `nThread 1 nGpus 8 …`, or of
/// `nThreads: 1 nGpus: 8 nRanks: 1 …` in rccl-tests, where `nRanks` are those of a GPU.
fn ranks_each(words: &[&str]) -> usize {
    let numbers = ["nThread", "nGpus", "nRanks"].map(|name| number_after(words, name).unwrap_or(1));
    numbers.into_iter().fold(1, usize::saturating_mul)
}

fn number_after(words: &[&str], name: &str) -> Option<usize> {
    let at = words.iter().position(|word| is_named(word, name))?;
    words.get(at + 1)?.parse().ok()
}

/// Returns whether `word` is `name`, or its plural, optionally with a colon.
fn is_named(word: &str, name: &str) -> bool {
    let word = word.strip_suffix(':').unwrap_or(word);
    word == name || word.strip_suffix('s') == Some(name)
}

/// Removes the launcher's tag from `line`: `[1,0]<stdout>:`, `[host:123]`, `[0]`, `0:`.
fn strip_tag(line: &str) -> &str {
    let line = line.trim();
    if let Some((tag, rest)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        if tag.contains(char::is_whitespace) {
            return line;
        }
        let rest = ["<stdout>", "<stderr>"]
            .iter()
            .find_map(|stream| rest.strip_prefix(stream))
            .unwrap_or(rest);
        return rest.trim_start_matches(':').trim();
    }
    match line.split_once(':') {
        Some((label, rest))
            if !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            rest.trim()
        }
        _ => line,
    }
}

/// Returns the nccl-tests programs named in `line`, such as `all_reduce_perf` in a command.
fn programs(line: &str) -> Vec<Program<'_>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = Vec::new();
    for (at, _) in line.match_indices("_perf") {
        let (head, tail) = line.split_at(at);
        let start = head.trim_end_matches(is_part).len();
        let end = line.len() - tail.trim_start_matches(is_part).len();
        let (Some(collective), Some(name)) = (line.get(start..at), line.get(start..end)) else {
            continue;
        };
        if COLLECTIVES.contains(&collective) {
            let next = line.get(end..).and_then(|rest| rest.split_whitespace().next());
            found.push(Program { name, has_options: next.is_some_and(is_option) });
        }
    }
    found
}

/// Returns whether `word` is an option of the programs, such as `-b` or `--minbytes`. An option of
/// a compiler, such as `-L/usr/lib`, is not.
fn is_option(word: &str) -> bool {
    word.starts_with("--") || (word.len() == 2 && word.starts_with('-'))
}

/// Returns the program that the file name indicates, if there is exactly one: `all_reduce_perf` for
/// `nccl-allreduce-8.log`.
pub(super) fn program_of(path: &Path) -> Option<String> {
    let mut name = lowercase_letters(&path.file_stem()?.to_string_lossy());
    // Longer names are tried first, because `reduce` is part of `all_reduce`.
    let mut found = COLLECTIVES.iter().filter(|collective| {
        let rest = name.replace(&lowercase_letters(collective), " ");
        let is_in = rest != name;
        name = rest;
        is_in
    });
    let only = found.next().copied();
    only.filter(|_| found.next().is_none()).map(|collective| format!("{collective}_perf"))
}

fn lowercase_letters(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphabetic).collect::<String>().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_of_launchers_are_taken_off_and_nothing_else() {
        for (line, rest) in [
            ("[1,0]<stdout>:# nThread 1", "# nThread 1"),
            ("[1,12]<stderr>:host:7:9 [0] NCCL INFO x", "host:7:9 [0] NCCL INFO x"),
            ("[prterun-host-7@1,0]<stdout>:   8  2", "8  2"),
            ("[host:4711] # Rank", "# Rank"),
            ("[0] #  size", "#  size"),
            ("[1,0]<stdout>:", ""),
            ("0: # nThread", "# nThread"),
            ("   8     2   float", "8     2   float"),
            ("host:7:7 [0] NCCL INFO", "host:7:7 [0] NCCL INFO"),
            ("[a b] c", "[a b] c"),
            ("# Rank 0: [x]", "# Rank 0: [x]"),
        ] {
            assert_eq!(strip_tag(line), rest, "{line}");
        }
    }

    #[test]
    fn a_file_name_tells_one_collective_or_none() {
        for (name, program) in [
            ("all_reduce_perf.log", Some("all_reduce_perf")),
            ("nccl_allreduce.log", Some("all_reduce_perf")),
            ("RCCL-ReduceScatter-8.txt", Some("reduce_scatter_perf")),
            ("reduce.dat", Some("reduce_perf")),
            ("alltoallv.log", Some("alltoallv_perf")),
            ("allreduce_allgather.log", None),
            ("output.log", None),
        ] {
            assert_eq!(program_of(Path::new(name)).as_deref(), program, "{name}");
        }
    }

    #[test]
    fn commands_name_programs() {
        let line = "mpirun -np 8 -x A=1 /opt/nccl-tests/build/all_reduce_perf -b 8; \
                    ./alltoall_perf_mpi my_all_reduce_perf";
        let found: Vec<(&str, bool)> =
            programs(line).iter().map(|program| (program.name, program.has_options)).collect();
        assert_eq!(found, [("all_reduce_perf", true), ("alltoall_perf_mpi", false)]);
        assert!(programs("all_reduce.cu reduce perf").is_empty());
        let linked = programs("g++ -o build/all_reduce_perf -L/usr/lib");
        assert!(matches!(&linked[..], [program] if !program.has_options), "{linked:?}");
    }
}
