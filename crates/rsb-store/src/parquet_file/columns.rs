//! The columns of rows that are written together.

use std::io::Write;

use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedRowGroupWriter;
use rsb_model::{BenchmarkResult, Run, Samples, Verdict};

use crate::index::{ResultRow, better_text};

/// What all rows of a case share.
pub(super) struct ExportedCase<'a> {
    pub(super) run: &'a Run,
    pub(super) result: &'a BenchmarkResult,
    /// Its place in the run.
    pub(super) position: usize,
    pub(super) machine: &'a str,
    pub(super) shell: &'a str,
    pub(super) rest: &'a str,
    pub(super) verdict: Option<Verdict>,
    /// What the index keeps of it.
    pub(super) indexed: &'a ResultRow,
}

/// A column in which a value may be missing.
pub(super) struct Optional<T> {
    values: Vec<T>,
    levels: Vec<i16>,
}

impl<T> Default for Optional<T> {
    fn default() -> Self {
        Self { values: Vec::new(), levels: Vec::new() }
    }
}

impl<T> Optional<T> {
    pub(super) fn push(&mut self, value: Option<T>) {
        self.levels.push(i16::from(value.is_some()));
        self.values.extend(value);
    }
}

/// A column of lists: which element begins one, and which stands for an empty one.
struct Lists<T> {
    values: Vec<T>,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
}

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Self { values: Vec::new(), definitions: Vec::new(), repetitions: Vec::new() }
    }
}

impl<T> Lists<T> {
    fn push(&mut self, list: impl Iterator<Item = T>) {
        self.push_levels(list.map(|value| (1, Some(value))));
    }

    /// A list in which values may be missing.
    fn push_optional(&mut self, list: impl Iterator<Item = Option<T>>) {
        self.push_levels(list.map(|value| (1 + i16::from(value.is_some()), value)));
    }

    /// Values with how much of each is there.
    fn push_levels(&mut self, list: impl Iterator<Item = (i16, Option<T>)>) {
        let before = self.definitions.len();
        for (definition, value) in list {
            self.repetitions.push(i16::from(self.definitions.len() > before));
            self.definitions.push(definition);
            self.values.extend(value);
        }
        if self.definitions.len() == before {
            self.repetitions.push(0);
            self.definitions.push(0);
        }
    }
}

/// The columns of rows that are not written yet, in the order of [`super::SCHEMA`].
#[derive(Default)]
pub(super) struct Rows {
    pub(super) count: usize,
    run_id: Vec<ByteArray>,
    started: Vec<i64>,
    suite: Vec<ByteArray>,
    profile: Vec<ByteArray>,
    commit: Optional<ByteArray>,
    machine: Vec<ByteArray>,
    id: Vec<ByteArray>,
    outcome: Vec<ByteArray>,
    verdict: Optional<ByteArray>,
    time_ms: Optional<f64>,
    replicate: Optional<i32>,
    iters: Lists<i64>,
    times_ns: Lists<f64>,
    result: Vec<ByteArray>,
    run: Vec<ByteArray>,
    position: Vec<i32>,
    part: Vec<i32>,
    model_id: Vec<ByteArray>,
    device: Vec<ByteArray>,
    batch_size: Optional<i64>,
    sequence_length: Optional<i64>,
    precision: Optional<ByteArray>,
    architecture_type: Optional<ByteArray>,
    parameter_count: Optional<i64>,
    benchmark_type: Vec<ByteArray>,
    device_type: Optional<ByteArray>,
    device_metrics: Optional<ByteArray>,
    metrics: Lists<ByteArray>,
    units: Lists<ByteArray>,
    directions: Lists<ByteArray>,
    values: Lists<f64>,
}

impl Rows {
    pub(super) fn push(&mut self, case: &ExportedCase<'_>, part: usize, samples: Option<&Samples>) {
        let ExportedCase { run, result, position, machine, shell, rest, verdict, indexed } = *case;
        let git = run.environment.git.as_ref();
        self.count += 1;
        self.run_id.push(run.run_id.0.as_str().into());
        self.started.push(run.started.as_microsecond());
        self.suite.push(run.suite.as_str().into());
        self.profile.push(run.profile.as_str().into());
        self.commit.push(git.map(|git| git.commit.as_str().into()));
        self.machine.push(machine.into());
        self.id.push(result.benchmark_id.as_str().into());
        self.outcome.push(result.outcome.as_str().into());
        self.verdict.push(verdict.map(|verdict| verdict.as_str().into()));
        self.time_ms.push(result.fields().and_then(|fields| fields.number("time_ms")));
        self.replicate.push(samples.map(|samples| samples.replicate.cast_signed()));
        self.iters.push(
            samples
                .into_iter()
                .flat_map(|samples| &samples.iters)
                .map(|&count| count.cast_signed()),
        );
        self.times_ns.push(samples.into_iter().flat_map(|samples| &samples.times_ns).copied());
        self.result.push(rest.into());
        self.run.push(shell.into());
        self.push_indexed(indexed, position, part);
    }

    fn push_indexed(&mut self, indexed: &ResultRow, position: usize, part: usize) {
        let (case, variant) = (&indexed.case, &indexed.variant);
        self.position.push(i32::try_from(position).unwrap_or(i32::MAX));
        self.part.push(i32::try_from(part).unwrap_or(i32::MAX));
        self.model_id.push(to_bytes(&case.model));
        self.device.push(to_bytes(&case.device));
        self.batch_size.push(case.batch_size);
        self.sequence_length.push(case.sequence_length);
        self.precision.push(case.precision.as_deref().map(to_bytes));
        self.architecture_type.push(case.architecture_type.as_deref().map(to_bytes));
        self.parameter_count.push(case.parameter_count);
        self.benchmark_type.push(variant.benchmark_type.into());
        self.device_type
            .push(Some(variant.device_type).filter(|name| !name.is_empty()).map(Into::into));
        self.device_metrics.push(indexed.device_metrics.as_deref().map(to_bytes));
        // Of a case the figures stand once, however many processes it has.
        let points = if part == 0 { indexed.points.as_slice() } else { &[] };
        self.metrics.push(points.iter().map(|point| point.field.name.into()));
        self.units.push(points.iter().map(|point| point.field.unit.symbol().into()));
        self.directions
            .push(points.iter().map(|point| point.field.better().map_or("", better_text).into()));
        self.values.push_optional(points.iter().map(|point| point.value));
    }

    pub(super) fn write<W: Write + Send>(
        self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        let mut group = ColumnWriter(group);
        group.write::<ByteArrayType>(&self.run_id, None, None)?;
        group.write::<Int64Type>(&self.started, None, None)?;
        group.write::<ByteArrayType>(&self.suite, None, None)?;
        group.write::<ByteArrayType>(&self.profile, None, None)?;
        group.optional::<ByteArrayType>(&self.commit)?;
        group.write::<ByteArrayType>(&self.machine, None, None)?;
        group.write::<ByteArrayType>(&self.id, None, None)?;
        group.write::<ByteArrayType>(&self.outcome, None, None)?;
        group.optional::<ByteArrayType>(&self.verdict)?;
        group.optional::<DoubleType>(&self.time_ms)?;
        group.optional::<Int32Type>(&self.replicate)?;
        group.lists::<Int64Type>(&self.iters)?;
        group.lists::<DoubleType>(&self.times_ns)?;
        group.write::<ByteArrayType>(&self.result, None, None)?;
        group.write::<ByteArrayType>(&self.run, None, None)?;
        group.write::<Int32Type>(&self.position, None, None)?;
        group.write::<Int32Type>(&self.part, None, None)?;
        group.write::<ByteArrayType>(&self.model_id, None, None)?;
        group.write::<ByteArrayType>(&self.device, None, None)?;
        group.optional::<Int64Type>(&self.batch_size)?;
        group.optional::<Int64Type>(&self.sequence_length)?;
        group.optional::<ByteArrayType>(&self.precision)?;
        group.optional::<ByteArrayType>(&self.architecture_type)?;
        group.optional::<Int64Type>(&self.parameter_count)?;
        group.write::<ByteArrayType>(&self.benchmark_type, None, None)?;
        group.optional::<ByteArrayType>(&self.device_type)?;
        group.optional::<ByteArrayType>(&self.device_metrics)?;
        group.lists::<ByteArrayType>(&self.metrics)?;
        group.lists::<ByteArrayType>(&self.units)?;
        group.lists::<ByteArrayType>(&self.directions)?;
        group.lists::<DoubleType>(&self.values)
    }
}

fn to_bytes(text: &str) -> ByteArray {
    text.into()
}

/// The columns of a group of rows, one after another.
pub(super) struct ColumnWriter<'g, 'f, W: Write>(
    pub(super) &'g mut SerializedRowGroupWriter<'f, W>,
);

impl<W: Write + Send> ColumnWriter<'_, '_, W> {
    pub(super) fn write<T: DataType>(
        &mut self,
        values: &[T::T],
        definitions: Option<&[i16]>,
        repetitions: Option<&[i16]>,
    ) -> Result<(), ParquetError> {
        let missing =
            || ParquetError::General("the schema has fewer columns than are written".to_owned());
        let mut column = self.0.next_column()?.ok_or_else(missing)?;
        column.typed::<T>().write_batch(values, definitions, repetitions)?;
        column.close()
    }

    pub(super) fn optional<T: DataType>(
        &mut self,
        column: &Optional<T::T>,
    ) -> Result<(), ParquetError> {
        self.write::<T>(&column.values, Some(&column.levels), None)
    }

    fn lists<T: DataType>(&mut self, column: &Lists<T::T>) -> Result<(), ParquetError> {
        self.write::<T>(&column.values, Some(&column.definitions), Some(&column.repetitions))
    }
}
