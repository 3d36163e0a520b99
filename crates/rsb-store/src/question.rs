//! Named questions about the history, as SQL that users can read, change and run.

use rsb_model::Timestamp;

use crate::index::schema::moment_of;
use crate::store::LATEST_FIRST;

/// A question about the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HistoryQuestion {
    /// Cases that stored comparisons since a time called Regressed; each case of a run is listed
    /// once.
    Regressed {
        /// Time of the earliest comparison to include.
        since: Timestamp,
    },
    /// The slowest cases of the latest run.
    Slowest {
        /// Number of cases.
        limit: u32,
    },
    /// Known cases that no run since a time has measured.
    Unmeasured {
        /// Time of the earliest measurement to include.
        since: Timestamp,
    },
    /// Means of each metric in the runs of two commits, for comparison.
    Between {
        /// Hash prefix of the first commit.
        before: String,
        /// Hash prefix of the second commit.
        after: String,
    },
}

impl HistoryQuestion {
    /// Returns the question as SQL.
    pub fn sql(&self) -> String {
        match self {
            Self::Regressed { since } => regressed_sql(since.as_microsecond()),
            Self::Slowest { limit } => slowest(*limit),
            Self::Unmeasured { since } => unmeasured_sql(since.as_microsecond()),
            Self::Between { before, after } => between(&quote(before), &quote(after)),
        }
    }
}

/// Quotes `text` as an SQL string.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn regressed_sql(since: i64) -> String {
    let time = moment_of("timestamp");
    // A run may be compared several times. Of its comparisons with the same baseline, only the
    // latest counts; of the remaining ones that found a regression, the latest is shown.
    format!(
        "SELECT {time} AS time, benchmark_id, metric, judged ->> 'baseline_value' AS before, judged ->> 'current_value' AS after,
       judged ->> 'unit' AS unit, round(judged ->> 'difference_percent', 1) AS difference_percent, comparison_id
FROM (
    SELECT *, row_number() OVER (PARTITION BY current_run_id, benchmark_id, metric
        ORDER BY timestamp DESC, comparison_id DESC) AS place
    FROM (
        SELECT k.timestamp, k.comparison_id, k.current_run_id, e.value AS judged,
            e.value ->> 'id' AS benchmark_id, e.value ->> 'metric' AS metric,
            row_number() OVER (PARTITION BY k.current_run_id, k.baseline_run_id, e.value ->> 'id', e.value ->> 'metric'
                ORDER BY k.timestamp DESC, k.comparison_id DESC) AS judgment
        FROM comparisons k, json_each(k.document, '$.comparisons') e
        WHERE k.timestamp >= {since})
    WHERE judgment = 1 AND judged ->> 'verdict' = 'Regressed')
WHERE place = 1
ORDER BY timestamp DESC, abs(judged ->> 'difference_percent') DESC"
    )
}

fn slowest(limit: u32) -> String {
    format!(
        "SELECT c.name AS benchmark_id, max(iif(m.name = 'time_us', p.value / 1000, p.value)) AS time_ms, r.run_id
FROM (SELECT id, run_id, started, machine FROM runs WHERE imported = 0 ORDER BY {LATEST_FIRST} LIMIT 1) r
JOIN results x ON x.run = r.id
JOIN variants v ON v.id = x.variant AND v.outcome = 'measured'
JOIN cases c ON c.id = v.case_id
JOIN metrics m ON m.name IN ('time_ms', 'time_us')
JOIN series s ON s.variant = v.id AND s.machine = r.machine AND s.metric = m.id
JOIN points p ON p.series = s.id AND p.started = r.started AND p.run = r.id AND p.position = x.position
GROUP BY c.id ORDER BY time_ms DESC LIMIT {limit}"
    )
}

fn unmeasured_sql(since: i64) -> String {
    let measured = moment_of("measured");
    // One index lookup per variant, independent of the number of its results.
    let last = "(SELECT max(x.started) FROM results x WHERE x.variant = v.id)";
    format!(
        "SELECT benchmark_id, {measured} AS last_measured, last_outcome
FROM (
    SELECT c.name AS benchmark_id,
        (SELECT max({last}) FROM variants v WHERE v.case_id = c.id AND v.outcome = 'measured') AS measured,
        (SELECT v.outcome FROM variants v WHERE v.case_id = c.id AND {last} IS NOT NULL
         ORDER BY {last} DESC LIMIT 1) AS last_outcome
    FROM cases c)
WHERE last_outcome IS NOT NULL AND (measured IS NULL OR measured < {since})
ORDER BY measured, benchmark_id"
    )
}

fn between(before: &str, after: &str) -> String {
    // CROSS JOIN fixes the join order of SQLite: the few runs of the two commits come first.
    let [is_before, is_after] = [before, after]
        .map(|commit| format!("substr(r.commit_hash, 1, length({commit})) = {commit}"));
    format!(
        "SELECT benchmark_id, metric, unit, before, after, round(100 * (after / before - 1), 2) AS difference_percent,
       runs_before, runs_after, (SELECT slug FROM machines WHERE id = machine) AS machine
FROM (
    SELECT c.name AS benchmark_id, m.name AS metric, m.unit, s.machine,
        avg(p.value) FILTER (WHERE {is_before}) AS before, avg(p.value) FILTER (WHERE {is_after}) AS after,
        count(p.value) FILTER (WHERE {is_before}) AS runs_before, count(p.value) FILTER (WHERE {is_after}) AS runs_after
    FROM runs r
    CROSS JOIN results x ON x.run = r.id
    CROSS JOIN variants v ON v.id = x.variant AND v.outcome = 'measured'
    CROSS JOIN cases c ON c.id = v.case_id
    CROSS JOIN series s ON s.variant = v.id AND s.machine = r.machine
    CROSS JOIN metrics m ON m.id = s.metric
    CROSS JOIN points p ON p.series = s.id AND p.started = r.started AND p.run = r.id AND p.position = x.position
    WHERE {is_before} OR {is_after}
    GROUP BY s.machine, c.id, m.id)
WHERE runs_before > 0 AND runs_after > 0
ORDER BY abs(after / before - 1) DESC, benchmark_id, metric"
    )
}
