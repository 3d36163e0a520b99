//! Machine-readable documents: JSON and CSV.

use rsb_model::format::FORMAT_VERSION;
use rsb_model::shown::{is_disguise, to_cell};
use serde::Serialize;

/// An error while writing a document.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The data cannot be represented in JSON.
    #[error("the document cannot be written as JSON ({0}); please report this as a bug")]
    Json(#[from] serde_json::Error),
    /// The data cannot be represented in CSV.
    #[error("the table cannot be written as CSV ({0}); please report this as a bug")]
    Csv(#[from] csv::Error),
}

/// Formats `value` as indented JSON with a final newline, as `--json` prints types that contain
/// their own `format_version` (a run, a comparison, a trend).
///
/// # Errors
/// If `value` cannot be represented in JSON.
pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<String, ReportError> {
    let mut text =
        escape_control_chars(serde_json::to_string_pretty(&serde_json::to_value(value)?)?);
    text.push('\n');
    Ok(text)
}

/// Replaces characters that a terminal could interpret with `\uXXXX` escapes. They occur only in
/// strings, so the document has the same meaning.
fn escape_control_chars(text: String) -> String {
    if !text.contains(is_hidden) {
        return text;
    }
    let mut escaped = String::new();
    for c in text.chars() {
        if is_hidden(c) {
            escaped.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

fn is_hidden(c: char) -> bool {
    c != '\n' && is_disguise(c)
}

/// Formats `{format_version, <name>: value}`, for lists and other values without a version of their
/// own.
///
/// # Errors
/// If `value` cannot be represented in JSON.
pub fn document<T: Serialize + ?Sized>(name: &str, value: &T) -> Result<String, ReportError> {
    let mut map = serde_json::Map::new();
    map.insert("format_version".to_owned(), FORMAT_VERSION.into());
    map.insert(name.to_owned(), serde_json::to_value(value)?);
    json(&map)
}

/// A writer of the [`document()`] of a list, item by item: only one item is in memory at a time.
#[derive(Debug)]
pub struct ItemWriter {
    items: usize,
}

impl ItemWriter {
    /// Returns a writer for the list `name`, and the start of its document.
    pub fn begin(name: &str) -> (Self, String) {
        (Self { items: 0 }, format!("{{\n  \"format_version\": {FORMAT_VERSION},\n  \"{name}\": ["))
    }

    /// Returns the text of the next item.
    ///
    /// # Errors
    /// If `value` cannot be represented in JSON.
    pub fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<String, ReportError> {
        let comma = if self.items > 0 { "," } else { "" };
        self.items += 1;
        // Indenting cannot change strings, because they contain newlines as `\n`.
        Ok(format!("{comma}\n    {}", json(value)?.trim_end().replace('\n', "\n    ")))
    }

    /// Returns the end of the document.
    pub fn end(self) -> &'static str {
        if self.items > 0 { "\n  ]\n}\n" } else { "]\n}\n" }
    }
}

/// Formats rows under `header` as CSV, escaping text that a spreadsheet would run as a formula.
/// Every row must have as many cells as the header.
pub(crate) fn csv(
    header: &[&str],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> Result<String, ReportError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(header)?;
    for row in rows {
        writer.write_record(row.iter().map(|cell| to_cell(cell)))?;
    }
    let bytes = writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A CSV column: its name, and a function that returns its cell for a `T`.
pub(crate) type CsvColumn<T> = (&'static str, fn(&T) -> String);

pub(crate) fn csv_of<T>(columns: &[CsvColumn<T>], rows: &[T]) -> Result<String, ReportError> {
    let header: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    csv(&header, rows.iter().map(|row| columns.iter().map(|(_, cell)| cell(row)).collect()))
}

/// Formats a number for CSV with all digits; empty if unknown or not finite.
pub(crate) fn csv_number(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map_or_else(String::new, |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_carry_the_version() {
        assert_eq!(
            document("cases", &["a"]).unwrap(),
            "{\n  \"format_version\": 3,\n  \"cases\": [\n    \"a\"\n  ]\n}\n"
        );
    }

    #[test]
    fn json_means_the_same_and_hides_nothing() {
        let text = "a\u{1b}b\u{9b}c\u{202e}d\u{2028}e – ü\n";
        let document = json(text).unwrap();
        assert_eq!(document, "\"a\\u001bb\\u009bc\\u202ed\\u2028e – ü\\n\"\n");
        assert_eq!(serde_json::from_str::<String>(&document).unwrap(), text);
    }

    #[test]
    fn a_list_written_item_by_item_is_the_same_document() {
        for items in [vec![], vec!["a\n\u{9b}b"], vec!["one", "two", "three"]] {
            let items: Vec<_> = items
                .into_iter()
                .map(|text| serde_json::json!({ "text": [text], "n": 1 }))
                .collect();
            let (mut writer, mut text) = ItemWriter::begin("items");
            text.extend(items.iter().map(|item| writer.item(item).unwrap()));
            text.push_str(writer.end());
            assert_eq!(text, document("items", &items).unwrap());
        }
    }

    #[test]
    fn no_cell_of_csv_is_a_formula() {
        let text = csv(&["a", "b"], [vec!["=cmd()".to_owned(), "-1.5".to_owned()]]).unwrap();
        assert_eq!(text, "a,b\n'=cmd(),-1.5\n");
    }

    #[test]
    fn csv_quotes_what_needs_it_and_refuses_ragged_rows() {
        let text = csv(&["a", "b"], [vec!["x, y".to_owned(), "say \"no\"".to_owned()]]).unwrap();
        assert_eq!(text, "a,b\n\"x, y\",\"say \"\"no\"\"\"\n");
        assert!(matches!(csv(&["a", "b"], [vec![String::new()]]), Err(ReportError::Csv(_))));
    }

    #[test]
    fn an_unknown_number_is_nothing_not_zero() {
        assert_eq!(csv_number(None), "");
        assert_eq!(csv_number(Some(f64::NAN)), "");
        assert_eq!(csv_number(Some(0.1)), "0.1");
    }
}
