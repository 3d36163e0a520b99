//! Columns of the export, each with a function for its value, and buffered writing of rows.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::TypePtr;
use rsb_model::{BenchmarkResult, Better, Run, Samples, Verdict};

use crate::index::{PointRow, ResultRow};

/// Number of rows buffered before they are written.
const GROUP: usize = 20_000;

/// A row of the export: one process of a case.
pub(super) struct ExportedRow<'a> {
    pub(super) run: &'a Run,
    pub(super) result: &'a BenchmarkResult,
    pub(super) position: usize,
    pub(super) machine: &'a str,
    pub(super) shell: &'a str,
    pub(super) rest: &'a str,
    pub(super) verdict: Option<Verdict>,
    pub(super) indexed: &'a ResultRow,
    pub(super) part: usize,
    pub(super) samples: Option<&'a Samples>,
}

impl ExportedRow<'_> {
    /// Returns the metrics of the case; empty except for the first row of the case.
    fn points(&self) -> &[PointRow] {
        if self.part == 0 { &self.indexed.points } else { &[] }
    }
}

/// A column: its declaration, and the function that adds the value of a row to it.
type ExportColumn = (&'static str, fn(&ExportedRow<'_>, &mut Column));

/// Columns that are needed to restore runs; none may be removed.
pub(super) const RUN_COLUMNS: [ExportColumn; 15] = [
    ("required binary run_id (UTF8);", |row, to| to.push(text(&row.run.run_id.0))),
    ("required int64 started (TIMESTAMP(MICROS, true));", |row, to| {
        to.push(row.run.started.as_microsecond());
    }),
    ("required binary suite (UTF8);", |row, to| to.push(text(&row.run.suite))),
    ("required binary profile (UTF8);", |row, to| to.push(text(&row.run.profile))),
    ("optional binary commit (UTF8);", |row, to| {
        to.push_optional(row.run.environment.git.as_ref().map(|git| text(&git.commit)));
    }),
    ("required binary machine (UTF8);", |row, to| to.push(text(row.machine))),
    ("required binary id (UTF8);", |row, to| to.push(text(row.result.benchmark_id.as_str()))),
    ("required binary outcome (UTF8);", |row, to| to.push(text(row.result.outcome.as_str()))),
    ("optional binary verdict (UTF8);", |row, to| {
        to.push_optional(row.verdict.map(|verdict| text(verdict.as_str())));
    }),
    ("optional double time_ms;", |row, to| {
        to.push_optional(row.result.fields().and_then(|fields| fields.number("time_ms")));
    }),
    ("optional int32 replicate;", |row, to| {
        to.push_optional(row.samples.map(|samples| samples.replicate.cast_signed()));
    }),
    (
        "required group iters (LIST) { repeated group list { required int64 element; } }",
        |row, to| {
            let iters = row.samples.into_iter().flat_map(|samples| &samples.iters);
            to.push_list(iters.map(|count| count.cast_signed()));
        },
    ),
    (
        "required group times_ns (LIST) { repeated group list { required double element; } }",
        |row, to| {
            to.push_list(row.samples.into_iter().flat_map(|samples| &samples.times_ns).copied());
        },
    ),
    ("required binary result (JSON);", |row, to| to.push(text(row.rest))),
    ("required binary run (JSON);", |row, to| to.push(text(row.shell))),
];

/// Columns for queries, with the same values as in the index: the position of the case in the run,
/// the number of this row within the case, the properties of the case and, only in its first row,
/// its metrics. Columns may be appended, but none may be removed.
pub(super) const INDEX_COLUMNS: [ExportColumn; 18] = [
    ("required int32 position;", |row, to| to.push(to_i32(row.position))),
    ("required int32 part;", |row, to| to.push(to_i32(row.part))),
    ("required binary model_id (UTF8);", |row, to| to.push(text(&row.indexed.case.model))),
    ("required binary device (UTF8);", |row, to| to.push(text(&row.indexed.case.device))),
    ("optional int64 batch_size;", |row, to| to.push_optional(row.indexed.case.batch_size)),
    ("optional int64 sequence_length;", |row, to| {
        to.push_optional(row.indexed.case.sequence_length);
    }),
    ("optional binary precision (UTF8);", |row, to| {
        to.push_optional(row.indexed.case.precision.as_deref().map(text));
    }),
    ("optional binary architecture_type (UTF8);", |row, to| {
        to.push_optional(row.indexed.case.architecture_type.as_deref().map(text));
    }),
    ("optional int64 parameter_count;", |row, to| {
        to.push_optional(row.indexed.case.parameter_count);
    }),
    ("required binary benchmark_type (UTF8);", |row, to| {
        to.push(text(row.indexed.variant.benchmark_type));
    }),
    ("optional binary device_type (UTF8);", |row, to| {
        let name = row.indexed.variant.device_type;
        to.push_optional(Some(name).filter(|name| !name.is_empty()).map(text));
    }),
    ("optional binary device_metrics (UTF8);", |row, to| {
        to.push_optional(row.indexed.device_metrics.as_deref().map(text));
    }),
    (
        "required group metrics (LIST) { repeated group list { required binary element (UTF8); } }",
        |row, to| to.push_list(row.points().iter().map(|point| text(point.field.name))),
    ),
    (
        "required group units (LIST) { repeated group list { required binary element (UTF8); } }",
        |row, to| to.push_list(row.points().iter().map(|point| text(point.field.unit.symbol()))),
    ),
    (
        "required group directions (LIST) { repeated group list { required binary element (UTF8); } }",
        |row, to| {
            let directions = row.points().iter().map(|point| point.field.better());
            to.push_list(directions.map(|better| text(better.map_or("", Better::as_str))));
        },
    ),
    (
        "required group values (LIST) { repeated group list { optional double element; } }",
        |row, to| to.push_optional_list(row.points().iter().map(|point| point.value)),
    ),
    ("optional binary backend (UTF8);", |row, to| {
        to.push_optional(row.indexed.case.backend.as_deref().map(text));
    }),
    ("required binary workload (UTF8);", |row, to| to.push(text(&row.indexed.case.workload))),
];

pub(super) fn text(text: &str) -> ByteArray {
    text.into()
}

fn to_i32(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// Returns a schema with these columns.
pub(super) fn schema<'a>(
    declarations: impl IntoIterator<Item = &'a str>,
) -> Result<TypePtr, ParquetError> {
    let columns: String = declarations.into_iter().collect();
    Ok(Arc::new(parse_message_type(&format!("message results {{ {columns} }}"))?))
}

/// Values of a column that are not written yet. Only the list for the column's type is used.
#[derive(Default)]
pub(super) struct Column {
    texts: Vec<ByteArray>,
    longs: Vec<i64>,
    ints: Vec<i32>,
    doubles: Vec<f64>,
    /// Definition levels, for a column with missing values.
    definitions: Vec<i16>,
    /// Repetition levels, for a column of lists: 0 for the first element of a list and for an empty
    /// list.
    repetitions: Vec<i16>,
}

/// A value of a column.
pub(super) trait ColumnValue: Sized {
    /// Returns the list for this type.
    fn list(column: &mut Column) -> &mut Vec<Self>;
}

impl ColumnValue for ByteArray {
    fn list(column: &mut Column) -> &mut Vec<Self> {
        &mut column.texts
    }
}

impl ColumnValue for i64 {
    fn list(column: &mut Column) -> &mut Vec<Self> {
        &mut column.longs
    }
}

impl ColumnValue for i32 {
    fn list(column: &mut Column) -> &mut Vec<Self> {
        &mut column.ints
    }
}

impl ColumnValue for f64 {
    fn list(column: &mut Column) -> &mut Vec<Self> {
        &mut column.doubles
    }
}

impl Column {
    pub(super) fn push<T: ColumnValue>(&mut self, value: T) {
        T::list(self).push(value);
    }

    pub(super) fn push_optional<T: ColumnValue>(&mut self, value: Option<T>) {
        self.definitions.push(i16::from(value.is_some()));
        T::list(self).extend(value);
    }

    fn push_list<T: ColumnValue>(&mut self, list: impl Iterator<Item = T>) {
        self.push_levels(list.map(|value| (1, Some(value))));
    }

    /// Adds a list in which values may be missing.
    fn push_optional_list<T: ColumnValue>(&mut self, list: impl Iterator<Item = Option<T>>) {
        self.push_levels(list.map(|value| (1 + i16::from(value.is_some()), value)));
    }

    fn push_levels<T: ColumnValue>(&mut self, list: impl Iterator<Item = (i16, Option<T>)>) {
        let before = self.definitions.len();
        for (definition, value) in list {
            self.repetitions.push(i16::from(self.definitions.len() > before));
            self.definitions.push(definition);
            T::list(self).extend(value);
        }
        if self.definitions.len() == before {
            self.repetitions.push(0);
            self.definitions.push(0);
        }
    }

    fn write(&self, writer: &mut ColumnWriter<'_>) -> Result<usize, ParquetError> {
        let definitions = Some(&*self.definitions).filter(|levels| !levels.is_empty());
        let repetitions = Some(&*self.repetitions).filter(|levels| !levels.is_empty());
        match writer {
            ColumnWriter::ByteArrayColumnWriter(writer) => {
                writer.write_batch(&self.texts, definitions, repetitions)
            }
            ColumnWriter::Int64ColumnWriter(writer) => {
                writer.write_batch(&self.longs, definitions, repetitions)
            }
            ColumnWriter::Int32ColumnWriter(writer) => {
                writer.write_batch(&self.ints, definitions, repetitions)
            }
            ColumnWriter::DoubleColumnWriter(writer) => {
                writer.write_batch(&self.doubles, definitions, repetitions)
            }
            _ => Err(ParquetError::General("columns of this type are not supported".to_owned())),
        }
    }
}

/// Writes rows to a file in groups, column by column.
pub(super) struct RowWriter<W: Write + Send> {
    pub(super) file: SerializedFileWriter<W>,
    columns: Vec<Column>,
    rows: usize,
}

impl<W: Write + Send> RowWriter<W> {
    pub(super) fn new<'a>(
        out: W,
        declarations: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, ParquetError> {
        // Compression takes less time than writing a larger file to disk.
        let compression = Compression::ZSTD(ZstdLevel::default());
        let properties = WriterProperties::builder().set_compression(compression).build();
        let file = SerializedFileWriter::new(out, schema(declarations)?, Arc::new(properties))?;
        Ok(Self { file, columns: Vec::new(), rows: 0 })
    }

    /// Adds a row. Each item of `values` is a function that adds a value to the column at the same
    /// position.
    pub(super) fn push(&mut self, values: impl Iterator<Item = impl FnOnce(&mut Column)>) {
        for (at, add) in values.enumerate() {
            if at == self.columns.len() {
                self.columns.push(Column::default());
            }
            add(&mut self.columns[at]);
        }
        self.rows += 1;
    }

    /// Writes the buffered rows if they fill a group.
    pub(super) fn write_group(&mut self) -> Result<(), ParquetError> {
        if self.rows >= GROUP { self.flush() } else { Ok(()) }
    }

    pub(super) fn finish(mut self) -> Result<W, ParquetError> {
        self.flush()?;
        self.file.into_inner()
    }

    fn flush(&mut self) -> Result<(), ParquetError> {
        if std::mem::take(&mut self.rows) == 0 {
            return Ok(());
        }
        let mut columns = std::mem::take(&mut self.columns).into_iter();
        let mut group = self.file.next_row_group()?;
        while let Some(mut writer) = group.next_column()? {
            columns.next().unwrap_or_default().write(writer.untyped())?;
            writer.close()?;
        }
        group.close().map(drop)
    }
}
