//! Tests of trends on real, noisy histories: series of benchmarks on hosted runners, if the file is
//! available. `RSB_SERIES` names it: a CSV with `id,timestamp,value,unit`, the time in
//! milliseconds.

use std::collections::BTreeMap;

use rsb_model::Timestamp;
use rsb_stats::{SeriesInput, trend};

#[test]
fn real_histories_get_few_changes() {
    let Some(text) =
        std::env::var("RSB_SERIES").ok().and_then(|path| std::fs::read_to_string(path).ok())
    else {
        test_needs::missing("series", "set RSB_SERIES to a CSV of histories");
        return;
    };
    let mut histories: BTreeMap<&str, SeriesInput> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let mut cells = line.rsplitn(4, ',');
        let (Some(unit), Some(value), Some(time), Some(id)) =
            (cells.next(), cells.next(), cells.next(), cells.next())
        else {
            panic!("`{line}` has fewer than four cells")
        };
        let time = Timestamp::from_millisecond(time.parse().expect("a time")).expect("a time");
        let series = histories.entry(id).or_insert_with(|| SeriesInput {
            id: id.to_owned(),
            metric: "value".to_owned(),
            unit: unit.to_owned(),
            better: rsb_model::Unit::direction_of(unit),
            points: Vec::new(),
        });
        series.points.push((time, value.parse().expect("a value")));
    }
    let inputs: Vec<SeriesInput> = histories.into_values().collect();
    let document = trend(&inputs);
    assert_eq!(document.series.len(), inputs.len());
    let points: usize = document.series.iter().map(|series| series.n).sum();
    let changes: usize = document.series.iter().map(|series| series.change_points.len()).sum();
    for series in &document.series {
        let told: Vec<String> = series
            .change_points
            .iter()
            .map(|c| format!("{}: {:+.0} %", c.index, c.change_percent))
            .collect();
        println!("{} ({}) {:?} {}", series.id, series.n, series.direction, told.join(", "));
    }
    println!("{points} points, {changes} changes");
    assert!(changes * 20 < points, "{changes} changes in {points} points");
}
