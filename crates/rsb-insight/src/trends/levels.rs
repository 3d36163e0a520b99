//! Finding the environment field that separates the two levels of a series that alternates between
//! them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rsb_model::RunId;
use rsb_model::environment::Environment;
use rsb_model::record::{LevelSeparation, SeriesTrend, TrendDocument};
use rsb_store::{Series, SeriesPoint, Store};
use serde_json::Value;

/// Maximum number of a series' newest runs whose environments are read.
const RUNS: usize = 60;

/// Maximum number of distinct values of a field; one per run would separate anything.
const VALUES: usize = 4;

/// Fields of an environment by name, limited to values that a machine type may have.
type Fields = BTreeMap<String, String>;

/// Names the field that separates the two levels of each alternating series in `trends`, if the
/// environments of the runs in `store` have one.
pub fn name_levels(store: &Store, series: &[Series], trends: &mut TrendDocument) {
    let mut known: HashMap<RunId, Option<Fields>> = HashMap::new();
    for trend in trends.series.iter_mut().filter(|trend| trend.two_levels.is_some()) {
        let series = series
            .iter()
            .find(|one| one.id == trend.id && one.metric == trend.metric && one.unit == trend.unit);
        let Some(series) = series else { continue };
        let separation = separation(trend, series, |id| {
            known
                .entry(id.clone())
                .or_insert_with(|| store.run(&id.0).ok().map(|run| fields(&run.environment)))
                .clone()
        });
        if let Some(levels) = &mut trend.two_levels {
            levels.separated_by = separation;
        }
    }
}

/// Returns the field whose values differ between the newest runs at the two levels. Of several
/// fields, the one with the fewest values is returned.
fn separation(
    trend: &SeriesTrend,
    series: &Series,
    mut environment: impl FnMut(&RunId) -> Option<Fields>,
) -> Option<LevelSeparation> {
    let levels = trend.two_levels.as_ref()?;
    let limit = f64::midpoint(levels.lower, levels.upper);
    // Use the same points as `trend`: finite ones, ordered by time.
    let mut points: Vec<&SeriesPoint> =
        series.points.iter().filter(|point| point.value.is_finite()).collect();
    points.sort_by_key(|point| point.timestamp);
    let level_from = trend.change_points.last().map_or(0, |change| change.index);
    let newest = points.get(level_from.max(points.len().saturating_sub(RUNS))..)?;
    let mut of_level: [Vec<Fields>; 2] = [Vec::new(), Vec::new()];
    for point in newest {
        let environment = environment(point.run_id.as_ref()?)?;
        of_level[usize::from(point.value > limit)].push(environment);
    }
    let [lower, upper] = &of_level;
    let candidates = lower.first()?.keys().filter_map(|field| {
        let (lower, upper) = (values_of(lower, field)?, values_of(upper, field)?);
        let separates =
            !upper.is_empty() && lower.is_disjoint(&upper) && lower.len() + upper.len() <= VALUES;
        separates.then_some((field, lower, upper))
    });
    let (field, lower, upper) =
        candidates.min_by_key(|(_, lower, upper)| lower.len() + upper.len())?;
    Some(LevelSeparation {
        field: field.clone(),
        lower: lower.into_iter().collect(),
        upper: upper.into_iter().collect(),
    })
}

fn values_of(level: &[Fields], field: &str) -> Option<BTreeSet<String>> {
    level.iter().map(|fields| fields.get(field).cloned()).collect()
}

/// Returns texts, whole numbers and flags of `environment`, except those that differ from run to
/// run: the source tree, and readings of the machine's state.
fn fields(environment: &Environment) -> Fields {
    let mut found = Fields::new();
    let Ok(Value::Object(object)) = serde_json::to_value(environment) else { return found };
    for (name, value) in object.iter().filter(|(name, _)| name.as_str() != "git") {
        collect(name, value, &mut found);
    }
    found.retain(|name, value| !name.starts_with("state.") || value.parse::<f64>().is_err());
    found
}

fn collect(name: &str, value: &Value, found: &mut Fields) {
    match value {
        Value::Object(object) => {
            object.iter().for_each(|(key, value)| collect(&format!("{name}.{key}"), value, found));
        }
        Value::Array(values) => {
            values
                .iter()
                .enumerate()
                .for_each(|(at, value)| collect(&format!("{name}.{at}"), value, found));
        }
        Value::String(text) => {
            found.insert(name.to_owned(), rsb_model::shown::clean(text));
        }
        Value::Bool(_) => {
            found.insert(name.to_owned(), value.to_string());
        }
        Value::Number(number) if !number.is_f64() => {
            found.insert(name.to_owned(), value.to_string());
        }
        Value::Number(_) | Value::Null => {}
    }
}

#[cfg(test)]
mod tests {
    use rsb_model::Timestamp;
    use rsb_stats::{SeriesInput, trend};

    use super::*;

    #[test]
    fn the_field_that_separates_two_levels_is_named() {
        let series = Series {
            id: "a".to_owned(),
            metric: "time_ms".to_owned(),
            unit: "ms".to_owned(),
            better: None,
            points: (0..60).map(point).collect(),
        };
        let input = SeriesInput {
            id: series.id.clone(),
            metric: series.metric.clone(),
            unit: series.unit.clone(),
            better: None,
            points: series.points.iter().map(|point| (point.timestamp, point.value)).collect(),
        };
        let trend = trend(&[input]).series.remove(0);
        let found = separation_by_kernels(&trend, &series, ["6.8", "6.12"]).unwrap();
        assert_eq!(
            (found.field.as_str(), found.lower, found.upper),
            ("kernel", vec!["6.8".to_owned()], vec!["6.12".to_owned()])
        );
        assert_eq!(
            separation_by_kernels(&trend, &series, ["6.8", "6.8"]),
            None,
            "neither an equal field nor one that differs in every run separates levels"
        );
    }

    fn is_slow(run: usize) -> bool {
        run * 7 % 10 < 3
    }

    fn point(run: usize) -> SeriesPoint {
        SeriesPoint {
            timestamp: Timestamp::from_second(1_700_000_000 + 86_400 * i64::try_from(run).unwrap())
                .unwrap(),
            value: if is_slow(run) { 130.0 } else { 100.0 } + (run * 37 % 11) as f64 / 10.0,
            run_id: Some(RunId(run.to_string())),
            commit: None,
        }
    }

    /// Returns the separation if fast and slow runs have these kernels.
    fn separation_by_kernels(
        trend: &SeriesTrend,
        series: &Series,
        kernels: [&str; 2],
    ) -> Option<LevelSeparation> {
        separation(trend, series, |id| {
            let run: usize = id.0.parse().unwrap();
            let kernel = kernels[usize::from(is_slow(run))].to_owned();
            let environment = Environment {
                kernel: Some(kernel),
                os: Some(run.to_string()),
                ..Environment::default()
            };
            Some(fields(&environment))
        })
    }
}
