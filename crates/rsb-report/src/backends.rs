//! Comparison of the backends of one hardware device: the same workload and shape through each
//! runtime, relative to the runtime of the hardware vendor.
//!
//! A run contains a comparison if at least two of its devices are the same GPU, or both are the
//! CPU. Simulated results are shown but never ranked. The CPU is shown next to a GPU as a reference
//! point and is not ranked with it.

mod show;
#[cfg(test)]
mod tests;

pub(crate) use show::{blocks, times};
pub use show::{markdown, text};

use itertools::Itertools as _;
use rsb_model::run_device::HardwareMatch;
use rsb_model::{
    BackendId, BenchmarkResult, Better, CaseId, DeviceRef, DeviceType, Field, Outcome, Reason, Run,
    RunDevice,
};

use crate::label::{benchmark_of, device_of, headline, is_better};

/// A GPU or the CPU, with all devices of the run that refer to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Hardware<'a> {
    /// Hardware name, with the PCI address if known.
    pub title: String,
    /// Device type.
    pub device_type: DeviceType,
    /// One column per device, native runtimes first. For a GPU, the CPU follows as the last column.
    pub columns: Vec<Column<'a>>,
    /// One row per workload and shape.
    pub rows: Vec<Row<'a>>,
}

/// A device in the comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Column<'a> {
    /// Backend and index.
    pub device: DeviceRef,
    /// Device name as reported by the driver.
    pub name: &'a str,
    /// Column heading: the backend, or the device if one backend lists the hardware more than once.
    pub heading: String,
    /// Role in the comparison.
    pub standing: ColumnRole,
}

/// Role of a column in the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnRole {
    /// Runtime of the hardware vendor: the reference.
    Native,
    /// Another runtime for the same hardware.
    Other,
    /// The CPU, shown next to a GPU.
    Aside,
}

/// One workload and shape.
#[derive(Debug, Clone, PartialEq)]
pub struct Row<'a> {
    /// Benchmark name.
    pub benchmark: &'a str,
    /// Rest of the case id without the device: `f32/256x256x256`.
    pub case: String,
    /// One entry per column.
    pub cells: Vec<Entry<'a>>,
}

/// Result of a workload on one device.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry<'a> {
    /// Not planned on this device.
    Nothing,
    /// A value.
    Figure {
        /// Result field that contains the value.
        field: &'static Field,
        /// The value.
        value: f64,
        /// Speed relative to the native runtime, or to the best value if there is none; above 1 is
        /// better. `None` if not ranked.
        speed: Option<f64>,
        /// Measured or simulated.
        outcome: Outcome,
    },
    /// No value.
    Absent {
        /// Why there is no value: usually skipped or failed.
        outcome: Outcome,
        /// The recorded reason.
        reason: Option<&'a Reason>,
    },
}

/// Returns the comparisons that `run` contains, GPUs first.
pub fn group_by_hardware(run: &Run) -> Vec<Hardware<'_>> {
    let mut groups: Vec<Vec<&RunDevice>> = Vec::new();
    for device in &run.devices {
        match groups.iter_mut().find(|group| belongs(device, group)) {
            Some(group) => group.push(device),
            None => groups.push(vec![device]),
        }
    }
    groups.sort_by_key(|group| {
        group.first().is_some_and(|device| device.device_type == DeviceType::Cpu)
    });
    let several = groups.iter().filter(|group| group.len() > 1);
    several.filter_map(|group| hardware(run, group)).collect()
}

/// Returns whether `device` belongs to the hardware in `group`. A device without a PCI address
/// belongs only if no other device of its backend is in the group, because two identical GPUs could
/// not be distinguished.
fn belongs(device: &RunDevice, group: &[&RunDevice]) -> bool {
    if group.iter().any(|known| device.alike(known) == HardwareMatch::SameGpu) {
        return true;
    }
    group.iter().all(|known| {
        device.alike(known) != HardwareMatch::Different && known.backend() != device.backend()
    })
}

fn hardware<'a>(run: &'a Run, group: &[&'a RunDevice]) -> Option<Hardware<'a>> {
    let device_type = group.first()?.device_type;
    let mut devices: Vec<&RunDevice> = group.to_vec();
    let native = native(&devices);
    devices.sort_by_key(|device| (Some(device.backend()) != native, device.backend()));
    let mut columns: Vec<Column<'a>> = Vec::new();
    for &device in &devices {
        let backend = device.backend();
        let count = devices.iter().filter(|other| other.backend() == backend).count();
        columns.push(Column {
            device: device.device,
            name: &device.name,
            heading: if count == 1 {
                backend.as_str().to_owned()
            } else {
                device.device.to_string()
            },
            standing: if Some(backend) == native { ColumnRole::Native } else { ColumnRole::Other },
        });
    }
    let beside = run.devices.iter().filter(|device| device.backend() == BackendId::Cpu);
    columns.extend(beside.filter(|_| device_type != DeviceType::Cpu).map(|device| Column {
        device: device.device,
        name: &device.name,
        heading: "cpu".to_owned(),
        standing: ColumnRole::Aside,
    }));
    let rows = rows(run, &columns);
    let has_figure = |column: &usize| {
        rows.iter().any(|row| matches!(row.cells.get(*column), Some(Entry::Figure { .. })))
    };
    let ways = (0..devices.len()).filter(has_figure).count();
    (ways > 1).then(|| Hardware { title: title(&devices, device_type), device_type, columns, rows })
}

/// Returns the reference backend: the CPU backend, or the native runtime of the GPU's vendor.
/// `None` if the run has no device of that backend.
fn native(devices: &[&RunDevice]) -> Option<BackendId> {
    let wanted = match devices.first()?.device_type {
        DeviceType::Cpu => Some(BackendId::Cpu),
        _ => devices.iter().find_map(|device| device.vendor().native()),
    };
    wanted.filter(|wanted| devices.iter().any(|device| device.backend() == *wanted))
}

fn title(devices: &[&RunDevice], device_type: DeviceType) -> String {
    let name = devices.first().map_or("", |device| device.name.as_str());
    let address = devices.iter().find_map(|device| device.pci_address.as_deref());
    let kind = if device_type == DeviceType::Cpu { "the CPU, " } else { "" };
    address.map_or_else(|| format!("{kind}{name}"), |address| format!("{name} at {address}"))
}

/// Returns the case id without the parts that differ between devices: the device and the CPU thread
/// count.
fn case_of(id: &CaseId) -> String {
    let point = id.parts().map_or("", |parts| parts.point);
    point.split('/').filter(|part| !part.starts_with("threads=")).join("/")
}

fn rows<'a>(run: &'a Run, columns: &[Column<'a>]) -> Vec<Row<'a>> {
    let mut rows: Vec<Row<'a>> = Vec::new();
    // Skipped cases are recorded before measured ones, so order the rows by the measured ones.
    let (with, without): (Vec<_>, Vec<_>) =
        run.benchmarks.iter().partition(|result| !result.results.is_empty());
    for result in with.into_iter().chain(without) {
        let Some(column) = columns
            .iter()
            .position(|column| device_of(&result.benchmark_id) == Some(column.device))
        else {
            continue;
        };
        let (benchmark, case) = (benchmark_of(result), case_of(&result.benchmark_id));
        let index = rows
            .iter()
            .position(|row| row.benchmark == benchmark && row.case == case)
            .unwrap_or_else(|| {
                let last = rows.iter().rposition(|row| row.benchmark == benchmark);
                let after = last.map_or(rows.len(), |last| last + 1);
                let cells = vec![Entry::Nothing; columns.len()];
                rows.insert(after, Row { benchmark, case, cells });
                after
            });
        if let Some(cell) = rows.get_mut(index).and_then(|row| row.cells.get_mut(column)) {
            *cell = entry(result);
        }
    }
    for row in &mut rows {
        rank(row, columns);
    }
    rows
}

fn entry(result: &BenchmarkResult) -> Entry<'_> {
    match (result.outcome, headline(result)) {
        (Outcome::Measured | Outcome::Simulated, Some((field, value))) => {
            Entry::Figure { field, value, speed: None, outcome: result.outcome }
        }
        (outcome, _) => Entry::Absent { outcome, reason: result.reason.as_ref() },
    }
}

/// Sets the speeds of the values that may be ranked: measured, of the same field, on this hardware.
fn rank(row: &mut Row<'_>, columns: &[Column<'_>]) {
    let figures: Vec<Option<(&'static Field, f64)>> =
        row.cells.iter().zip(columns).map(|(cell, column)| ranked_figure(cell, column)).collect();
    let native = columns.iter().position(|column| column.standing == ColumnRole::Native);
    let of_native = native.and_then(|index| figures.get(index).copied().flatten());
    let Some((field, reference)) = of_native.or_else(|| best(figures.iter().flatten())) else {
        return;
    };
    for (cell, figure) in row.cells.iter_mut().zip(&figures) {
        let Some((_, value)) = figure.filter(|(own, _)| own.name == field.name) else { continue };
        if let Entry::Figure { speed, .. } = cell {
            let is_low = field.better() == Some(Better::Lower);
            *speed = Some(if is_low { reference / value } else { value / reference });
        }
    }
}

/// Returns the field and value of `cell` if it may be ranked.
fn ranked_figure(cell: &Entry<'_>, column: &Column<'_>) -> Option<(&'static Field, f64)> {
    match cell {
        Entry::Figure { field, value, outcome: Outcome::Measured, .. }
            if column.standing != ColumnRole::Aside && *value > 0.0 && value.is_finite() =>
        {
            Some((*field, *value))
        }
        _ => None,
    }
}

fn best<'f>(
    figures: impl Iterator<Item = &'f (&'static Field, f64)>,
) -> Option<(&'static Field, f64)> {
    figures.copied().reduce(|best, other| {
        let wins = other.0.name == best.0.name && is_better(best.0, other.1, best.1);
        if wins { other } else { best }
    })
}

impl Hardware<'_> {
    /// Returns the name of the reference, which has a speed of 1.
    pub fn reference(&self) -> String {
        let native = self.columns.iter().find(|column| column.standing == ColumnRole::Native);
        native.map_or_else(|| "the best backend".to_owned(), |column| column.heading.clone())
    }
}
