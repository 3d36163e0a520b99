//! Tables of the index, and views for user queries.
//!
//! Repeated values have their own table and an id: a point of a series is five numbers, and the
//! points of a series are stored next to each other, ordered by time.

use std::sync::LazyLock;

/// Schema version; [`super::migrate`] upgrades older ones.
pub(crate) const SCHEMA_VERSION: i64 = 6;

pub(crate) const TABLES: [&str; 10] = [
    "machines",
    "runs",
    "cases",
    "variants",
    "results",
    "metrics",
    "series",
    "points",
    "days",
    "comparisons",
];

/// Drops everything of an index of any version except its comparisons.
pub(super) const DROP_RUNS: &str = "
    DROP VIEW IF EXISTS benchmark_runs;
    DROP VIEW IF EXISTS benchmark_results;
    DROP VIEW IF EXISTS measurements;
    DROP VIEW IF EXISTS daily_means;
    DROP TABLE IF EXISTS days;
    DROP TABLE IF EXISTS points;
    DROP TABLE IF EXISTS series;
    DROP TABLE IF EXISTS metrics;
    DROP TABLE IF EXISTS results;
    DROP TABLE IF EXISTS variants;
    DROP TABLE IF EXISTS cases;
    DROP TABLE IF EXISTS runs;
    DROP TABLE IF EXISTS machines;
";

/// The comparisons table, unchanged since version 1.
pub(super) const COMPARISONS: &str = "
    CREATE TABLE IF NOT EXISTS comparisons (
        comparison_id TEXT PRIMARY KEY, file TEXT NOT NULL UNIQUE, stamp TEXT NOT NULL, timestamp INTEGER NOT NULL,
        baseline_run_id TEXT NOT NULL, current_run_id TEXT NOT NULL, verdict TEXT NOT NULL,
        improved INTEGER NOT NULL, degraded INTEGER NOT NULL, unchanged INTEGER NOT NULL, no_verdict INTEGER NOT NULL,
        document TEXT NOT NULL
    ) STRICT;
    CREATE INDEX IF NOT EXISTS comparisons_by_time ON comparisons (timestamp);
";

/// Tables for runs. Times are microseconds since 1970, in UTC. A variant is a case with one
/// benchmark, type, outcome and device type, so that all points of a series have the same outcome.
/// `value` of a point is the value that the gate's history uses; `recorded` is the value in the run
/// file if it differs. A day is in UTC, and its total covers measured values. `started` of a result
/// is copied from its run, so that an index finds the last result of a variant.
const RUNS: &str = "
    CREATE TABLE machines (id INTEGER PRIMARY KEY, slug TEXT NOT NULL UNIQUE, fingerprint TEXT NOT NULL) STRICT;
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY, run_id TEXT NOT NULL UNIQUE, file TEXT NOT NULL UNIQUE, stamp TEXT NOT NULL,
        started INTEGER NOT NULL, finished INTEGER, suite TEXT NOT NULL, profile TEXT NOT NULL,
        commit_hash TEXT, branch TEXT, machine INTEGER NOT NULL REFERENCES machines, notes TEXT NOT NULL,
        measured INTEGER NOT NULL, skipped INTEGER NOT NULL, failed INTEGER NOT NULL, simulated INTEGER NOT NULL,
        sequence INTEGER, imported INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX runs_by_time ON runs (started, run_id);
    CREATE INDEX runs_by_sequence ON runs (sequence);
    CREATE INDEX runs_by_latest ON runs (imported, started DESC, run_id DESC);
    CREATE TABLE cases (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, model TEXT NOT NULL, device TEXT NOT NULL,
        batch_size INTEGER, sequence_length INTEGER, precision TEXT, architecture_type TEXT, parameter_count INTEGER,
        backend TEXT, workload TEXT NOT NULL
    ) STRICT;
    CREATE TABLE variants (
        id INTEGER PRIMARY KEY, case_id INTEGER NOT NULL REFERENCES cases, benchmark TEXT NOT NULL,
        benchmark_type TEXT NOT NULL, outcome TEXT NOT NULL, device_type TEXT NOT NULL,
        UNIQUE (case_id, benchmark, benchmark_type, outcome, device_type)
    ) STRICT;
    CREATE TABLE results (
        run INTEGER NOT NULL REFERENCES runs, position INTEGER NOT NULL, variant INTEGER NOT NULL REFERENCES variants,
        started INTEGER NOT NULL, device_metrics TEXT, PRIMARY KEY (run, position)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX results_by_variant ON results (variant, started);
    CREATE TABLE metrics (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, unit TEXT NOT NULL, better TEXT NOT NULL
    ) STRICT;
    CREATE TABLE series (
        id INTEGER PRIMARY KEY, variant INTEGER NOT NULL REFERENCES variants,
        machine INTEGER NOT NULL REFERENCES machines, metric INTEGER NOT NULL REFERENCES metrics,
        UNIQUE (variant, machine, metric)
    ) STRICT;
    CREATE TABLE points (
        series INTEGER NOT NULL REFERENCES series, started INTEGER NOT NULL, run INTEGER NOT NULL,
        position INTEGER NOT NULL, value REAL, recorded REAL, PRIMARY KEY (series, started, run, position)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE days (
        metric INTEGER NOT NULL REFERENCES metrics, machine INTEGER NOT NULL REFERENCES machines, day INTEGER NOT NULL,
        results INTEGER NOT NULL, total REAL NOT NULL, PRIMARY KEY (metric, machine, day)
    ) STRICT, WITHOUT ROWID;
";

/// Returns SQL for the point of the metric `name` of a result `x` of a run `r`.
fn point_of(name: &str) -> String {
    format!(
        "(SELECT p.value FROM metrics m JOIN series s ON s.variant = x.variant AND s.machine = r.machine AND s.metric = m.id
          JOIN points p ON p.series = s.id AND p.started = r.started AND p.run = r.id AND p.position = x.position
          WHERE m.name = '{name}')"
    )
}

/// Metrics that may provide `latency_ms`, in order of preference. The time of an iteration comes
/// last, because an iteration may consist of many requests.
pub(crate) const LATENCY_MS: &[&str] = &["latency_p50_ms", "p50_latency_ms", "time_ms", "time_us"];

/// Metrics that may provide `peak_memory_mb`: the GPU's memory, or else the host's.
pub(crate) const PEAK_MEMORY_MB: &[&str] = &["gpu_memory_peak_mb", "memory_used_mb"];

/// Returns SQL for the value of the first of `metrics` that a result has, with microseconds
/// converted to milliseconds; `value_of` returns the SQL for one metric.
pub(crate) fn first_of(metrics: &[&str], value_of: fn(&str) -> String) -> String {
    let in_unit = |name: &&str| {
        let value = value_of(name);
        if name.ends_with("_us") { format!("{value} / 1000") } else { value }
    };
    format!("coalesce({})", metrics.iter().map(in_unit).collect::<Vec<_>>().join(", "))
}

/// Returns SQL that formats microseconds in `column` as an RFC 3339 time.
pub(crate) fn moment_of(column: &str) -> String {
    format!("strftime('%Y-%m-%dT%H:%M:%SZ', {column} / 1000000, 'unixepoch')")
}

/// All tables and views except the comparisons.
pub(super) static RUN_TABLES: LazyLock<String> = LazyLock::new(|| format!("{RUNS}{}", views()));

fn views() -> String {
    let started = moment_of("r.started");
    let of_variants = "FROM runs r JOIN results x ON x.run = r.id JOIN variants v ON v.id = \
                       x.variant \
                       JOIN cases c ON c.id = v.case_id";
    let id = "r.run_id || '/' || c.model || '/' || c.device";
    // If the models of a case differ in a property, its value is NULL.
    let [one_architecture, one_count] = ["c.architecture_type", "c.parameter_count"]
        .map(|column| format!("iif(min({column}) = max({column}), min({column}), NULL)"));
    let [throughput, memory, first_token] =
        ["throughput_samples_per_second", "memory_used_mb", "ttft_ms"].map(point_of);
    let [latency, peak] = [LATENCY_MS, PEAK_MEMORY_MB].map(|metrics| first_of(metrics, point_of));
    format!(
        "CREATE VIEW benchmark_runs AS
            SELECT {id} AS id, {started} AS timestamp, c.model AS model_id, c.device AS device,
                {one_architecture} AS architecture_type, {one_count} AS parameter_count,
                'suite ' || r.suite || ', profile ' || r.profile || coalesce(', commit ' || r.commit_hash, '') AS description
            {of_variants} WHERE v.outcome <> 'skipped' GROUP BY r.id, c.model, c.device;
        CREATE VIEW benchmark_results AS
            SELECT {id} AS run_id, c.batch_size, c.sequence_length, c.precision,
                {latency} AS latency_ms, {throughput} AS throughput_samples_per_sec, {memory} AS memory_usage_mb,
                {first_token} AS first_token_latency_ms, {peak} AS peak_memory_mb, x.device_metrics,
                c.name AS benchmark_id, c.architecture_type, c.parameter_count, c.model AS model_id, c.device,
                c.backend, c.workload
            {of_variants} WHERE v.outcome = 'measured';
        CREATE VIEW measurements AS
            SELECT r.run_id, {started} AS timestamp, r.commit_hash AS \"commit\", c.name AS benchmark_id, v.benchmark_type,
                v.outcome, nullif(v.device_type, '') AS device_type, m.name AS metric, m.unit, nullif(m.better, '') AS better,
                p.value, h.slug AS machine
            FROM points p JOIN series s ON s.id = p.series JOIN metrics m ON m.id = s.metric
                JOIN variants v ON v.id = s.variant JOIN cases c ON c.id = v.case_id
                JOIN machines h ON h.id = s.machine JOIN runs r ON r.id = p.run;
        CREATE VIEW daily_means AS
            SELECT date(d.day * 86400, 'unixepoch') AS day, m.name AS metric, m.unit, h.slug AS machine, d.results,
                d.total / d.results AS mean
            FROM days d JOIN metrics m ON m.id = d.metric JOIN machines h ON h.id = d.machine WHERE d.results > 0;"
    )
}
