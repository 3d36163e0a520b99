//! Small tables: aligned for terminals, or in Markdown. Widths are counted in characters.

use crate::markdown::escape;
use crate::style::{Style, Tone, clean};

/// Where text stands in its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// What a column does when the table is wider than the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    Keep,
    Elide,
    Drop,
}

/// A column.
#[derive(Debug, Clone)]
pub struct Column {
    title: String,
    align: Align,
    fit: Fit,
}

impl Column {
    /// Words, kept whole.
    pub fn left(title: &str) -> Self {
        Self { title: title.to_owned(), align: Align::Left, fit: Fit::Keep }
    }

    /// Numbers.
    pub fn right(title: &str) -> Self {
        Self { title: title.to_owned(), align: Align::Right, fit: Fit::Keep }
    }

    /// Words that may lose their middle when room is short, such as ids.
    pub fn elided(title: &str) -> Self {
        Self { title: title.to_owned(), align: Align::Left, fit: Fit::Elide }
    }
}

impl Column {
    /// The same, but left out of a terminal that has no room for it; the last such column goes first.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.fit = Fit::Drop;
        self
    }
}

/// A cell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    /// `text` in the colour of `tone`.
    pub fn toned(text: impl AsRef<str>, tone: Tone) -> Self {
        Self { text: clean(text.as_ref()), tone }
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::toned(text, Tone::Plain)
    }
}

#[derive(Debug, Clone)]
struct Row {
    cells: Vec<Cell>,
    note: Option<String>,
}

/// A table. A column without a single value is left out.
#[derive(Debug, Clone)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Row>,
}

/// Columns that stand side by side.
#[derive(Debug, Default)]
struct Band {
    used: Vec<usize>,
    widths: Vec<usize>,
    indent: usize,
}

impl Band {
    /// What its columns may take.
    fn room(&self, limit: usize) -> usize {
        limit.saturating_sub(self.indent).max(1)
    }
}

/// How far the later bands of a row stand behind its first.
const INDENT: usize = 2;
const GAP: usize = 2;
/// Before a column is cut below this, those that can be spared are left out.
const COMFORTABLE: usize = 32;
/// No column is made narrower than this.
const NARROWEST: usize = 16;

impl Table {
    /// A table without rows.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// Adds a row, cut or filled up to the number of columns.
    pub fn push(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let mut cells: Vec<Cell> = cells.into_iter().collect();
        cells.resize(self.columns.len(), Cell::default());
        self.rows.push(Row { cells, note: None });
    }

    /// Puts a sentence under the last row (in Markdown: into a last column).
    pub fn note(&mut self, note: impl AsRef<str>) {
        if let Some(row) = self.rows.last_mut() {
            row.note = Some(clean(note.as_ref())).filter(|note| !note.is_empty());
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Columns that hold something, by position.
    fn used(&self) -> Vec<usize> {
        let filled =
            |index: &usize| self.rows.iter().any(|row| row.cells.get(*index).is_some_and(|cell| !cell.text.is_empty()));
        (0..self.columns.len()).filter(filled).collect()
    }

    /// For a terminal: a heading, a rule, the rows, a line end each. Nothing when there are no rows.
    pub fn text(&self, style: Style) -> String {
        let (used, widths) = self.layout(style.width);
        if used.is_empty() {
            return String::new();
        }
        let bands = self.bands(&used, &widths, style.width);
        let heading: Vec<Cell> = self.columns.iter().map(|column| Cell::toned(&column.title, Tone::Strong)).collect();
        let mut out = self.lines(&heading, &bands, style);
        let width = bands.iter().map(|band| band.indent + total(&band.widths)).max().unwrap_or(0);
        out.push_str(&style.paint(Tone::Dim, &"─".repeat(width)));
        out.push('\n');
        for row in &self.rows {
            out.push_str(&self.lines(&row.cells, &bands, style));
            if let Some(note) = &row.note {
                out.extend(style.wrap(note, 4).lines().map(|line| style.paint(Tone::Dim, line) + "\n"));
            }
        }
        out
    }

    /// Whether its columns stand side by side within `limit`.
    pub fn fits(&self, limit: usize) -> bool {
        total(&self.layout(limit).1) <= limit
    }

    /// The columns to show within `limit`, and their widths.
    fn layout(&self, limit: usize) -> (Vec<usize>, Vec<usize>) {
        let mut used = self.used();
        loop {
            let widths = self.widths(&used, limit, COMFORTABLE);
            let spare = used.iter().rposition(|&index| self.fit(index) == Some(Fit::Drop));
            match spare {
                Some(position) if total(&widths) > limit => drop(used.remove(position)),
                _ if total(&widths) > limit => break (used.clone(), self.widths(&used, limit, NARROWEST)),
                _ => break (used, widths),
            }
        }
    }

    fn fit(&self, index: usize) -> Option<Fit> {
        self.columns.get(index).map(|column| column.fit)
    }

    /// Widths that stay within `limit` where cutting columns down to `least` allows it.
    fn widths(&self, used: &[usize], limit: usize, least: usize) -> Vec<usize> {
        let natural = |&index: &usize| {
            let cells = self.rows.iter().filter_map(|row| row.cells.get(index)).map(|cell| length(&cell.text));
            let title = self.columns.get(index).map_or(0, |column| length(&column.title));
            cells.max().unwrap_or(0).max(title)
        };
        let mut widths: Vec<usize> = used.iter().map(natural).collect();
        let mut excess = total(&widths).saturating_sub(limit);
        for (width, &index) in widths.iter_mut().zip(used) {
            if self.fit(index) == Some(Fit::Elide) {
                let narrow = width.saturating_sub(excess).max(least).min(*width);
                excess -= *width - narrow;
                *width = narrow;
            }
        }
        widths
    }

    /// The columns in as many bands as it takes to stay within `limit`: one, where they fit side by side.
    fn bands(&self, used: &[usize], widths: &[usize], limit: usize) -> Vec<Band> {
        let mut bands = vec![Band::default()];
        for (&index, &width) in used.iter().zip(widths) {
            let full = |band: &Band| !band.used.is_empty() && total(&band.widths) + GAP + width > band.room(limit);
            if bands.last().is_some_and(full) {
                bands.push(Band { indent: INDENT, ..Band::default() });
            }
            if let Some(band) = bands.last_mut() {
                band.used.push(index);
                band.widths.push(width.min(band.room(limit)));
            }
        }
        if bands.len() > 1 {
            // Beside fewer neighbours there is room again for what was cut.
            for band in &mut bands {
                band.widths = self.widths(&band.used, band.room(limit), NARROWEST);
                let room = band.room(limit);
                band.widths.iter_mut().for_each(|width| *width = room.min(*width));
            }
        }
        bands
    }

    /// A row, a line for each band. A band in which it has nothing is left out, but for the first.
    fn lines(&self, cells: &[Cell], bands: &[Band], style: Style) -> String {
        let line = |band: &Band| (band.indent, self.line(cells, (&band.used, &band.widths), style));
        let said = bands.iter().map(line).filter(|(indent, line)| *indent == 0 || line != "\n");
        said.map(|(indent, line)| " ".repeat(indent) + &line).collect()
    }

    fn line(&self, cells: &[Cell], (used, widths): (&[usize], &[usize]), style: Style) -> String {
        let mut out = String::new();
        let mut owed = 0; // Padding is written only when text follows, so that no line ends in spaces.
        for (&index, &width) in used.iter().zip(widths) {
            let (Some(cell), Some(column)) = (cells.get(index), self.columns.get(index)) else { continue };
            let text = elide(&cell.text, width);
            let room = width.saturating_sub(length(&text));
            let (before, after) = match column.align {
                Align::Left => (0, room),
                Align::Right => (room, 0),
            };
            if text.is_empty() {
                owed += width + GAP;
                continue;
            }
            out.push_str(&" ".repeat(owed + before));
            out.push_str(&style.paint(cell.tone, &text));
            owed = after + GAP;
        }
        out.push('\n');
        out
    }

    /// As a table in Markdown, everything escaped. Nothing when there are no rows.
    pub fn markdown(&self) -> String {
        let used = self.used();
        if used.is_empty() {
            return String::new();
        }
        let noted = self.rows.iter().any(|row| row.note.is_some());
        let columns: Vec<&Column> = used.iter().filter_map(|&index| self.columns.get(index)).collect();
        let mut out = columns.iter().map(|column| format!("| {} ", escape(&column.title))).collect::<String>();
        out.push_str(if noted { "| why |\n" } else { "|\n" });
        out.extend(columns.iter().map(|column| match column.align {
            Align::Left => "| :-- ",
            Align::Right => "| --: ",
        }));
        out.push_str(if noted { "| :-- |\n" } else { "|\n" });
        for row in &self.rows {
            out.extend(used.iter().filter_map(|&index| row.cells.get(index)).map(markdown_cell));
            if noted {
                out.push_str(&format!("| {} ", escape(row.note.as_deref().unwrap_or_default())));
            }
            out.push_str("|\n");
        }
        out
    }
}

fn markdown_cell(cell: &Cell) -> String {
    let text = escape(&cell.text);
    match cell.tone {
        Tone::Bad | Tone::Strong if !text.is_empty() => format!("| **{text}** "),
        _ => format!("| {text} "),
    }
}

fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// `text` in at most `width` characters; its middle gives way, since ids differ at their ends.
fn elide(text: &str, width: usize) -> String {
    let count = length(text);
    if count <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    let head = kept * 2 / 5;
    text.chars().take(head).chain(['…']).chain(text.chars().skip(count - (kept - head))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::Color;

    fn table() -> Table {
        let mut table = Table::new([Column::elided("case"), Column::right("time"), Column::left("empty")]);
        table.push([Cell::from("a|b"), Cell::toned("5.12 ms", Tone::Bad)]);
        table.push([Cell::from("benchmark/with/a/long/id/1024x1024x1024"), Cell::from("70 ms")]);
        table
    }

    #[test]
    fn columns_align_and_empty_ones_vanish() {
        insta::assert_snapshot!(table().text(Style::PLAIN), @r"
        case                                        time
        ────────────────────────────────────────────────
        a|b                                      5.12 ms
        benchmark/with/a/long/id/1024x1024x1024    70 ms
        ");
    }

    #[test]
    fn a_narrow_terminal_takes_the_middle_of_ids() {
        let text = table().text(Style { color: Color::Never, width: 30 });
        insta::assert_snapshot!(text, @r"
        case                      time
        ──────────────────────────────
        a|b                    5.12 ms
        benchmar…24x1024x1024    70 ms
        ");
        assert!(text.lines().all(|line| line.chars().count() <= 30 && !line.ends_with(' ')));
    }

    #[test]
    fn what_can_be_spared_goes_before_ids_are_cut_short() {
        let mut table = Table::new([
            Column::elided("case"),
            Column::left("a").optional(),
            Column::right("b").optional(),
            Column::right("c"),
        ]);
        table.push(["benchmark/with/a/long/id/1024x1024x1024", "aaaaaaaa", "bbbbbbbb", "c"].map(Cell::from));
        let titles = |width| {
            let text = table.text(Style { color: Color::Never, width });
            text.lines().next().unwrap_or_default().split_whitespace().collect::<String>()
        };
        assert_eq!([80, 55, 45, 35, 20].map(titles), ["caseabc", "caseabc", "caseac", "casec", "casec"]);
    }

    #[test]
    fn what_does_not_fit_side_by_side_goes_below() {
        let mut table = Table::new([
            Column::left("benchmark"),
            Column::left("rocm"),
            Column::left("cuda"),
            Column::right("cpu"),
            Column::elided("measures"),
        ]);
        table.push(
            ["memory-bandwidth", "no [1]", "no [2]", "yes", "what every kind of memory can carry"].map(Cell::from),
        );
        table.push(["gemm", "no [1]", "no [2]"].map(Cell::from));
        table.note("why");
        insta::assert_snapshot!(table.text(Style { color: Color::Never, width: 34 }), @r"
        benchmark         rocm    cuda
          cpu  measures
        ──────────────────────────────────
        memory-bandwidth  no [1]  no [2]
          yes  what every…memory can carry
        gemm              no [1]  no [2]
            why
        ");
        for width in 1..120 {
            let text = table.text(Style { color: Color::Never, width });
            let fits = |line: &str| line.chars().count() <= width.max(24);
            assert!(text.lines().all(fits), "{width}\n{text}");
        }
    }

    #[test]
    fn colour_does_not_move_columns() {
        let text = table().text(Style { color: Color::Always, width: 100 });
        assert!(text.contains("a|b                                      \x1b[1;31m5.12 ms\x1b[0m\n"), "{text:?}");
        let mut plain = String::new();
        let mut inside = false;
        for c in text.chars() {
            match c {
                '\x1b' => inside = true,
                'm' if inside => inside = false,
                _ if !inside => plain.push(c),
                _ => {}
            }
        }
        assert_eq!(plain, table().text(Style::PLAIN));
    }

    #[test]
    fn markdown_escapes_and_keeps_notes() {
        let mut table = table();
        table.note("<b> `x`");
        insta::assert_snapshot!(table.markdown(), @r"
        | case | time | why |
        | :-- | --: | :-- |
        | a\|b | **5.12 ms** |  |
        | benchmark/with/a/long/id/1024x1024x1024 | 70 ms | &lt;b&gt; \`x\` |
        ");
    }

    #[test]
    fn nothing_gives_nothing() {
        let table = Table::new([Column::left("x")]);
        assert_eq!((table.text(Style::PLAIN), table.markdown()), (String::new(), String::new()));
    }
}
