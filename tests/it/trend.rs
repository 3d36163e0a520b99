//! What `trend` shows of a file: confirmed and suspected changes apart, what is expected, and the flags that set it.

use crate::common::Bench;

/// Daily rows of `count` runs of ± 1 % around what `level` says.
fn rows(count: u32, level: impl Fn(u32) -> f64) -> String {
    let noise = |day: u32| 1.0 + 0.01 * (f64::from(day * 37 % 11) / 5.0 - 1.0);
    let row = |day: u32| format!("{},{},ms,lower\n", 1_700_000_000 + 86_400 * u64::from(day), level(day) * noise(day));
    format!("timestamp,value,unit,better\n{}", (0..count).map(row).collect::<String>())
}

#[test]
fn a_trend_tells_what_is_confirmed_what_is_suspected_and_what_is_expected() {
    let bench = Bench::new();
    bench.write("step.csv", &rows(50, |day| if day < 35 { 100.0 } else { 117.0 }));
    bench.write("spike.csv", &rows(50, |day| if day < 49 { 100.0 } else { 180.0 }));
    bench.write("drift.csv", &rows(50, |day| 100.0 + f64::from(day)));
    let page = |file: &str| bench.run(&["trend", "--input", file]).expect(0).stdout;
    let (step, spike, drift) = (page("step.csv"), page("spike.csv"), page("drift.csv"));
    assert!(step.contains("Changes of level") && step.contains("warning") && !step.contains("Suspected"), "{step}");
    assert!(spike.contains("Suspected changes") && spike.contains("so far in 1 point"), "{spike}");
    assert!(spike.contains("0 changes of level, 1 suspected"), "{spike}");
    assert!(drift.contains("Expected") && drift.contains("in 7 days") && drift.contains("with 95 %"), "{drift}");
    let document = bench.run(&["trend", "--input", "spike.csv", "--json"]).expect(0).json();
    let series = &document["series"][0];
    assert!(series["change_points"].as_array().unwrap().is_empty());
    assert_eq!(series["suspected"][0]["points"], 1);
    for key in ["baseline_mean", "current_value", "deviation_percent", "message", "basis"] {
        assert!(!series["alerts"][0][key].is_null(), "{key}: {series}");
    }
}

#[test]
fn a_trend_has_flags_for_its_settings() {
    let bench = Bench::new();
    bench.write("step.csv", &rows(50, |day| if day < 44 { 100.0 } else { 106.0 }));
    let series = |flags: &[&str]| {
        let asked = [&["trend", "--input", "step.csv", "--json"], flags].concat();
        bench.run(&asked).expect(0).json()["series"][0].clone()
    };
    let count = |series: &serde_json::Value, key: &str| series[key].as_array().unwrap().len();
    let usual = series(&[]);
    assert_eq!((count(&usual, "change_points"), count(&usual, "alerts"), count(&usual, "predicted")), (1, 0, 7));
    assert_eq!(count(&series(&["--threshold", "5"]), "alerts"), 1);
    let strict = series(&["--min-size", "10"]);
    assert_eq!((count(&strict, "change_points"), count(&strict, "suspected")), (0, 1));
    let off = series(&["--method", "off"]);
    assert_eq!((count(&off, "change_points"), count(&off, "suspected")), (0, 0));
    let width = |flags: &[&str]| {
        let last = series(flags)["predicted"].as_array().unwrap().last().unwrap().clone();
        last["high"].as_f64().unwrap() - last["low"].as_f64().unwrap()
    };
    assert!(width(&["--confidence", "0.99"]) > width(&["--confidence", "0.5"]));
    assert_eq!(count(&series(&["--days-ahead", "14"]), "predicted"), 14);
    for (flags, named) in [
        (["--min-size", "1"], "--min-size"),
        (["--confidence", "1"], "--confidence"),
        (["--significance", "0"], "--significance"),
        (["--threshold", "-3"], "--threshold"),
        (["--method", "magic"], "--method"),
    ] {
        let refused = bench.run(&["trend", "--input", "step.csv", &format!("{}={}", flags[0], flags[1])]).expect(2);
        assert!(refused.stderr.contains(named), "{}", refused.stderr);
    }
}
