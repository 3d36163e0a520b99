//! Index rows of a run. They are computed on the thread that reads the run, and need much less
//! memory than the run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rsb_model::record::TIME;
use rsb_model::run::Counts;
use rsb_model::{
    BackendId, BenchmarkResult, BenchmarkType, CaseId, DeviceType, Dtype, Field, Fields,
    Fingerprint, Run,
};
use serde_json::{Map, Value};

use super::text::to_json;
use crate::files::StampedFile;

#[derive(Debug)]
pub(crate) struct RunRows {
    pub(super) run_id: String,
    /// Path of the run file; `file` is only the name.
    pub(super) path: PathBuf,
    pub(super) file: String,
    pub(super) stamp: String,
    pub(super) started: i64,
    pub(super) finished: Option<i64>,
    pub(super) suite: String,
    pub(super) profile: String,
    pub(super) commit: Option<String>,
    pub(super) branch: Option<String>,
    pub(super) slug: String,
    /// Hardware only, because software changes from run to run.
    pub(super) fingerprint: String,
    pub(super) notes: String,
    pub(super) counts: Counts,
    pub(super) sequence: Option<i64>,
    pub(super) imported: bool,
    pub(super) results: Vec<ResultRow>,
}

#[derive(Debug)]
pub(crate) struct ResultRow {
    pub(crate) case: CaseText,
    pub(crate) variant: VariantText,
    pub(crate) device_metrics: Option<String>,
    pub(crate) points: Vec<PointRow>,
}

/// Properties that all results of a case share.
#[derive(Debug)]
pub(crate) struct CaseText {
    pub(crate) name: String,
    pub(crate) model: String,
    pub(crate) device: String,
    pub(crate) batch_size: Option<i64>,
    pub(crate) sequence_length: Option<i64>,
    pub(crate) precision: Option<String>,
    /// Architecture of the model that ran, if the result records it.
    pub(crate) architecture_type: Option<String>,
    pub(crate) parameter_count: Option<i64>,
    /// Runtime of the model, or framework, or backend of the device.
    pub(crate) backend: Option<String>,
    /// Part of the id after the device, without the parts that other columns contain. Together with
    /// those columns, it identifies the case.
    pub(crate) workload: String,
}

/// Outcome and classification of a result. An unknown text is stored as empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VariantText {
    pub(crate) benchmark: String,
    pub(crate) benchmark_type: &'static str,
    pub(crate) outcome: &'static str,
    pub(crate) device_type: &'static str,
}

#[derive(Debug)]
pub(crate) struct PointRow {
    pub(crate) field: &'static Field,
    /// Value that the gate's history uses; `None` if the samples are invalid.
    pub(crate) value: Option<f64>,
    /// Value in the run file, if it differs from `value`.
    pub(crate) recorded: Option<f64>,
}

/// Fields with sensor readings of a device.
const DEVICE_METRICS: [&str; 11] = [
    "cpu_power_w",
    "gpu_temperature_c",
    "gpu_power_w",
    "gpu_utilization_percent",
    "gpu_memory_used_mb",
    "gpu_memory_total_mb",
    "gpu_clock_mhz",
    "gpu_memory_clock_mhz",
    "gpu_throttled",
    "throttle_reasons",
    "sensor_readings",
];

impl RunRows {
    pub(crate) fn of(file: &StampedFile, run: &Run) -> rusqlite::Result<Self> {
        let git = run.environment.git.as_ref();
        let fingerprint = Fingerprint::of(&run.environment);
        Ok(Self {
            run_id: run.run_id.0.clone(),
            path: file.path.clone(),
            file: file.name.clone(),
            stamp: file.stamp.clone(),
            started: run.started.as_microsecond(),
            finished: run.finished.map(rsb_model::Timestamp::as_microsecond),
            suite: run.suite.clone(),
            profile: run.profile.clone(),
            commit: git.map(|git| git.commit.clone()),
            branch: git.and_then(|git| git.branch.clone()),
            slug: fingerprint.slug(),
            fingerprint: to_json(&Fingerprint { factors: BTreeMap::new(), ..fingerprint })?,
            notes: to_json(&run.notes)?,
            counts: run.counts(),
            sequence: run.sequence.map(|sequence| i64::try_from(sequence).unwrap_or(i64::MAX)),
            imported: run.imported,
            results: run.benchmarks.iter().map(ResultRow::of).collect(),
        })
    }

    pub(super) fn points(&self) -> usize {
        self.results.iter().map(|result| result.points.len()).sum()
    }
}

impl ResultRow {
    pub(crate) fn of(result: &BenchmarkResult) -> Self {
        let fields = result.fields();
        Self {
            case: CaseText::of(result, fields),
            variant: VariantText {
                benchmark: benchmark(result).to_owned(),
                benchmark_type: result.benchmark_type.as_str(),
                outcome: result.outcome.as_str(),
                device_type: result.device_type.map_or("", DeviceType::as_str),
            },
            device_metrics: fields.and_then(device_metrics),
            points: fields
                .into_iter()
                .flat_map(Fields::metrics)
                .map(|(field, recorded)| point(result, field, recorded))
                .collect(),
        }
    }
}

fn point(result: &BenchmarkResult, field: &'static Field, recorded: f64) -> PointRow {
    let value = match field.name {
        TIME => result.figure(TIME),
        // Same time in microseconds, for a benchmark that reports it in this unit.
        "time_us" if !result.samples.is_empty() => {
            result.figure(TIME).map(|milliseconds| milliseconds * 1e3)
        }
        _ => Some(recorded),
    };
    PointRow { field, value, recorded: Some(recorded).filter(|_| value != Some(recorded)) }
}

fn benchmark(result: &BenchmarkResult) -> &str {
    result.category.as_deref().or_else(|| result.benchmark_id.benchmark()).unwrap_or_default()
}

impl CaseText {
    fn of(result: &BenchmarkResult, fields: Option<&Fields>) -> Self {
        let parameters = result.metadata.get("parameters").and_then(Value::as_object);
        let parameter =
            |name: &str| parameters.and_then(|all| all.get(name)).and_then(Value::as_str);
        let number = |name: &str| {
            let field = fields.and_then(|fields| fields.number(name)).map(|number| number as i64);
            field.or_else(|| parameter(name)?.parse().ok())
        };
        let text =
            |name: &str| fields.and_then(|fields| fields.text(name)).or_else(|| parameter(name));
        let mut case = Self {
            name: result.benchmark_id.to_string(),
            model: parameter("model")
                .filter(|name| *name != "random")
                .unwrap_or(benchmark(result))
                .to_owned(),
            device: result.benchmark_id.device().to_string(),
            batch_size: number("batch_size"),
            sequence_length: number("sequence_length"),
            precision: text("dtype").map(precision),
            architecture_type: text("architecture_type").map(str::to_owned),
            parameter_count: number("parameter_count"),
            backend: parameter("runtime").or_else(|| backend(result)).map(str::to_owned),
            workload: String::new(),
        };
        case.workload = case.workload_of(&result.benchmark_id);
        case
    }

    fn workload_of(&self, id: &CaseId) -> String {
        let Some(parts) = id.parts() else { return id.to_string() };
        let axis = |name: &str, value: Option<String>| Some(format!("{name}={}", value?));
        let columns = [
            Some(self.model.clone()),
            self.precision.clone(),
            axis("runtime", self.backend.clone()),
            axis("batch_size", self.batch_size.map(|size| size.to_string())),
            axis("sequence_length", self.sequence_length.map(|length| length.to_string())),
        ];
        let is_own = |segment: &&str| columns.iter().flatten().all(|column| column != segment);
        parts.point.split('/').filter(is_own).collect::<Vec<_>>().join("/")
    }
}

/// Returns the canonical spelling of a data type.
fn precision(name: &str) -> String {
    name.parse::<Dtype>().map_or_else(|_| name.to_owned(), |dtype| dtype.to_string())
}

/// Returns the framework that ran the case, or the backend of its device.
fn backend(result: &BenchmarkResult) -> Option<&str> {
    if result.benchmark_type == BenchmarkType::ComponentSpecific {
        return Some(benchmark(result));
    }
    result.benchmark_id.device().backend().map(BackendId::as_str)
}

/// Returns the sensor readings as JSON; `None` if there are none.
fn device_metrics(fields: &Fields) -> Option<String> {
    let mut metrics = Map::new();
    for name in DEVICE_METRICS {
        if let Some(value) = fields.get(name).filter(|value| !value.is_null()) {
            metrics.insert(name.to_owned(), value.clone());
        }
    }
    (!metrics.is_empty()).then(|| Value::from(metrics).to_string())
}
