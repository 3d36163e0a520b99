//! Tests reading a series file that was written by the continuous benchmarks of another project.

use std::path::Path;

#[test]
fn the_series_of_other_projects_can_be_read() {
    let places = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let path = places
        .map(|place| place.join("shared/series/github-runners.csv"))
        .find(|path| path.is_file());
    let Some(path) = path else {
        test_needs::missing("series", "the file of other projects' series is not here");
        return;
    };
    let series = rsb_store::read_series(&path).unwrap();
    let points: usize = series.iter().map(|one| one.points.len()).sum();
    assert_eq!(points, std::fs::read_to_string(&path).unwrap().lines().count() - 1);
    for one in &series {
        assert!(one.points.is_sorted_by_key(|point| point.timestamp), "{}", one.id);
        assert!(
            one.better.is_some() || one.unit == "unit" || one.unit == "auxMetricUnits",
            "{} {}",
            one.id,
            one.unit
        );
    }
}
