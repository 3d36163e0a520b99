//! Adding runs to the tables, and removing them.

use std::collections::{BTreeSet, HashMap, HashSet};

use rsb_model::{Better, Field, Outcome};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::rows::{CaseText, PointRow, ResultRow, RunRows, VariantText};
use super::text::count;

const DAY: i64 = 86_400_000_000;

/// Adds runs within a transaction. Ids of texts are queried once, and points are inserted in
/// storage order, so that adding a hundred runs visits each page once instead of a hundred times.
pub(super) struct RunWriter<'c> {
    connection: &'c Connection,
    machines: HashMap<String, i64>,
    /// Variants of each case, with their ids.
    cases: HashMap<String, Vec<(VariantText, i64)>>,
    metrics: HashMap<&'static str, i64>,
    series: HashMap<(i64, i64, i64), i64>,
    points: Vec<PointNumbers>,
    added: HashSet<i64>,
    /// Number and total of the measured values, by metric, machine and day.
    days: HashMap<(i64, i64, i64), (i64, f64)>,
    /// Machines and days from which a run was removed.
    stale: BTreeSet<(i64, i64)>,
}

/// A row of `points`.
struct PointNumbers {
    series: i64,
    started: i64,
    run: i64,
    position: i64,
    value: Option<f64>,
    recorded: Option<f64>,
}

impl<'c> RunWriter<'c> {
    pub(super) fn new(connection: &'c Connection) -> Self {
        Self {
            connection,
            machines: HashMap::new(),
            cases: HashMap::new(),
            metrics: HashMap::new(),
            series: HashMap::new(),
            points: Vec::new(),
            added: HashSet::new(),
            days: HashMap::new(),
            stale: BTreeSet::new(),
        }
    }

    /// Adds `rows`, replacing the run with the same id and the run that was indexed from the same
    /// file.
    pub(super) fn add(&mut self, rows: &RunRows) -> rusqlite::Result<()> {
        self.remove("run_id", &rows.run_id)?;
        self.remove("file", &rows.file)?;
        let machine = self.machine(rows)?;
        let run = self.insert_run(rows, machine)?;
        self.added.insert(run);
        for (position, result) in rows.results.iter().enumerate() {
            self.add_result(run, rows.started, machine, count(position), result)?;
        }
        Ok(())
    }

    /// Removes the run whose `column` is `value`, if there is one.
    pub(super) fn remove(&mut self, column: &str, value: &str) -> rusqlite::Result<()> {
        let sql = format!("SELECT id, started, machine FROM runs WHERE {column} = ?1");
        let found = self.connection.prepare_cached(&sql)?.query_row([value], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
        });
        let Some((run, started, machine)) = found.optional()? else { return Ok(()) };
        if self.added.contains(&run) {
            // The points of the run may not be inserted yet.
            self.flush()?;
        }
        let points = "DELETE FROM points WHERE started = ?2 AND run = ?1 AND series IN (
            SELECT s.id FROM results x JOIN series s ON s.variant = x.variant AND s.machine = ?3 WHERE x.run = ?1)";
        self.connection.prepare_cached(points)?.execute(params![run, started, machine])?;
        self.connection.prepare_cached("DELETE FROM results WHERE run = ?1")?.execute([run])?;
        self.connection.prepare_cached("DELETE FROM runs WHERE id = ?1")?.execute([run])?;
        self.stale.insert((machine, started.div_euclid(DAY)));
        Ok(())
    }

    pub(super) fn waiting(&self) -> usize {
        self.points.len()
    }

    /// Inserts all pending rows; without this call they are lost.
    pub(super) fn finish(mut self) -> rusqlite::Result<()> {
        self.flush()?;
        for (machine, day) in std::mem::take(&mut self.stale) {
            self.sum_again(machine, day)?;
        }
        Ok(())
    }

    pub(super) fn flush(&mut self) -> rusqlite::Result<()> {
        self.points
            .sort_unstable_by_key(|point| (point.series, point.started, point.run, point.position));
        let mut insert =
            self.connection.prepare_cached("INSERT INTO points VALUES (?1,?2,?3,?4,?5,?6)")?;
        for point in self.points.drain(..) {
            let PointNumbers { series, started, run, position, value, recorded } = point;
            insert.execute(params![series, started, run, position, value, recorded])?;
        }
        let mut add = self.connection.prepare_cached(
            "INSERT INTO days VALUES (?1,?2,?3,?4,?5)
             ON CONFLICT DO UPDATE SET results = results + excluded.results, total = total + excluded.total",
        )?;
        for ((metric, machine, day), (results, total)) in self.days.drain() {
            add.execute(params![metric, machine, day, results, total])?;
        }
        Ok(())
    }

    /// Recomputes the daily totals of a machine from its points, because subtracting would
    /// accumulate rounding errors.
    fn sum_again(&self, machine: i64, day: i64) -> rusqlite::Result<()> {
        let remove = "DELETE FROM days WHERE machine = ?1 AND day = ?2";
        self.connection.prepare_cached(remove)?.execute([machine, day])?;
        let sql = "INSERT INTO days SELECT s.metric, ?1, ?2, count(*), total(p.value)
            FROM series s JOIN variants v ON v.id = s.variant AND v.outcome = 'measured'
            JOIN points p ON p.series = s.id AND p.started >= ?3 AND p.started < ?4
            WHERE s.machine = ?1 AND p.value IS NOT NULL GROUP BY s.metric";
        self.connection.prepare_cached(sql)?.execute([machine, day, day * DAY, (day + 1) * DAY])?;
        Ok(())
    }

    fn insert_run(&self, rows: &RunRows, machine: i64) -> rusqlite::Result<i64> {
        let sql = "INSERT INTO runs VALUES \
                   (NULL,?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17)";
        self.connection.prepare_cached(sql)?.insert(params![
            rows.run_id,
            rows.file,
            rows.stamp,
            rows.started,
            rows.finished,
            rows.suite,
            rows.profile,
            rows.commit,
            rows.branch,
            machine,
            rows.notes,
            count(rows.counts.measured),
            count(rows.counts.skipped),
            count(rows.counts.failed),
            count(rows.counts.simulated),
            rows.sequence,
            rows.imported,
        ])
    }

    fn add_result(
        &mut self,
        run: i64,
        started: i64,
        machine: i64,
        position: i64,
        result: &ResultRow,
    ) -> rusqlite::Result<()> {
        let variant = self.variant(&result.case, &result.variant)?;
        let insert = "INSERT INTO results VALUES (?1,?2,?3,?4,?5)";
        let values = params![run, position, variant, started, result.device_metrics];
        self.connection.prepare_cached(insert)?.execute(values)?;
        let is_measured = result.variant.outcome == Outcome::Measured.as_str();
        for PointRow { field, value, recorded } in &result.points {
            let metric = self.metric(field)?;
            let series = self.series(variant, machine, metric)?;
            self.points.push(PointNumbers {
                series,
                started,
                run,
                position,
                value: *value,
                recorded: *recorded,
            });
            if let Some(value) = value.filter(|_| is_measured) {
                let day = self.days.entry((metric, machine, started.div_euclid(DAY))).or_default();
                *day = (day.0 + 1, day.1 + value);
            }
        }
        Ok(())
    }

    fn machine(&mut self, rows: &RunRows) -> rusqlite::Result<i64> {
        if let Some(known) = self.machines.get(&rows.slug) {
            return Ok(*known);
        }
        let found = self.number("SELECT id FROM machines WHERE slug = ?1", [&rows.slug])?;
        let id = match found {
            Some(id) => id,
            None => self
                .connection
                .prepare_cached("INSERT INTO machines VALUES (NULL,?1,?2)")?
                .insert([&rows.slug, &rows.fingerprint])?,
        };
        self.machines.insert(rows.slug.clone(), id);
        Ok(id)
    }

    fn variant(&mut self, case: &CaseText, variant: &VariantText) -> rusqlite::Result<i64> {
        if let Some(known) = self.cases.get(&case.name)
            && let Some((_, id)) = known.iter().find(|(text, _)| text == variant)
        {
            return Ok(*id);
        }
        let case_id = self.case(case)?;
        let VariantText { benchmark, benchmark_type, outcome, device_type } = variant;
        let values = params![case_id, benchmark, benchmark_type, outcome, device_type];
        let find =
            "SELECT id FROM variants WHERE case_id = ?1 AND benchmark = ?2 AND benchmark_type = ?3
                    AND outcome = ?4 AND device_type = ?5";
        let id = match self.number(find, values)? {
            Some(id) => id,
            None => self
                .connection
                .prepare_cached("INSERT INTO variants VALUES (NULL,?1,?2,?3,?4,?5)")?
                .insert(values)?,
        };
        self.cases.entry(case.name.clone()).or_default().push((variant.clone(), id));
        Ok(id)
    }

    /// Returns the id of a case. Properties that are still unknown, because earlier results such as
    /// skipped ones lacked them, are filled in.
    fn case(&self, case: &CaseText) -> rusqlite::Result<i64> {
        let CaseText {
            name,
            model,
            device,
            batch_size,
            sequence_length,
            precision,
            architecture_type,
            parameter_count,
            backend,
            workload,
        } = case;
        let values = params![
            name,
            model,
            device,
            batch_size,
            sequence_length,
            precision,
            architecture_type,
            parameter_count,
            backend,
            workload
        ];
        let add = "INSERT INTO cases VALUES (NULL,?1,?2,?3,?4,?5,?6,?7,?8,?9,?10) ON CONFLICT DO UPDATE SET
                   batch_size = coalesce(batch_size, excluded.batch_size), precision = coalesce(precision, excluded.precision),
                   sequence_length = coalesce(sequence_length, excluded.sequence_length),
                   architecture_type = coalesce(architecture_type, excluded.architecture_type),
                   parameter_count = coalesce(parameter_count, excluded.parameter_count) RETURNING id";
        self.connection.prepare_cached(add)?.query_row(values, |row| row.get(0))
    }

    fn metric(&mut self, field: &'static Field) -> rusqlite::Result<i64> {
        if let Some(known) = self.metrics.get(field.name) {
            return Ok(*known);
        }
        let better = field.better().map_or("", Better::as_str);
        let id = match self.number("SELECT id FROM metrics WHERE name = ?1", [field.name])? {
            Some(id) => id,
            None => self
                .connection
                .prepare_cached("INSERT INTO metrics VALUES (NULL,?1,?2,?3)")?
                .insert([field.name, field.unit.symbol(), better])?,
        };
        self.metrics.insert(field.name, id);
        Ok(id)
    }

    fn series(&mut self, variant: i64, machine: i64, metric: i64) -> rusqlite::Result<i64> {
        if let Some(known) = self.series.get(&(variant, machine, metric)) {
            return Ok(*known);
        }
        let values = [variant, machine, metric];
        let found = self.number(
            "SELECT id FROM series WHERE variant = ?1 AND machine = ?2 AND metric = ?3",
            values,
        )?;
        let id = match found {
            Some(id) => id,
            None => self
                .connection
                .prepare_cached("INSERT INTO series VALUES (NULL,?1,?2,?3)")?
                .insert(values)?,
        };
        self.series.insert((variant, machine, metric), id);
        Ok(id)
    }

    fn number(&self, sql: &str, values: impl rusqlite::Params) -> rusqlite::Result<Option<i64>> {
        self.connection.prepare_cached(sql)?.query_row(values, |row| row.get(0)).optional()
    }
}
