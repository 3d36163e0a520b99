//! `trend` for a file: confirmed and suspected changes, predictions, and the flags for them.

use std::fmt::Write as _;

use crate::common::{Bench, says};

/// Returns `count` daily rows with noise of ± 1 % around `level`.
fn rows(count: u32, level: impl Fn(u32) -> f64) -> String {
    let noise = |day: u32| 1.0 + 0.01 * (f64::from(day * 37 % 11) / 5.0 - 1.0);
    let row = |day: u32| {
        format!(
            "{},{},ms,lower\n",
            1_700_000_000 + 86_400 * u64::from(day),
            level(day) * noise(day)
        )
    };
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
    assert!(
        step.contains("Change points") && step.contains("warning") && !step.contains("Suspected"),
        "{step}"
    );
    assert!(spike.contains("Suspected changes") && spike.contains("seen in 1 point"), "{spike}");
    assert!(spike.contains("0 change points, 1 suspected"), "{spike}");
    says(&drift, &["Expected", "in 7 days", "with 95 %"]);
    let document = bench.run("trend --input spike.csv --json").expect(0).json();
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
    assert_eq!(
        (count(&usual, "change_points"), count(&usual, "alerts"), count(&usual, "predicted")),
        (1, 0, 7)
    );
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
        let refused = bench
            .run(&["trend", "--input", "step.csv", &format!("{}={}", flags[0], flags[1])])
            .expect(2);
        assert!(refused.stderr.contains(named), "{}", refused.stderr);
    }
}

/// Returns rows of 130 daily runs, of which three in ten ran on a machine that is 1.3 times as
/// slow.
fn two_machine_types() -> String {
    let value = |day: u32| {
        let mixed = day.wrapping_mul(2_654_435_761) >> 16;
        let level = if mixed % 10 < 3 { 130.0 } else { 100.0 };
        level * (1.0 + 0.01 * (f64::from(mixed % 23) / 11.0 - 1.0))
    };
    let row = |day: u32| {
        format!("{},{:.2},ms,lower\n", 1_767_261_600 + 86_400 * u64::from(day), value(day))
    };
    format!("timestamp,value,unit,better\n{}", (0..130).map(row).collect::<String>())
}

#[test]
fn runs_of_two_machine_types_are_named_and_raise_no_alert() {
    let bench = Bench::new();
    bench.write("runners.csv", &two_machine_types());
    let document = bench.run("trend --input runners.csv --json").expect(0).json();
    let series = &document["series"][0];
    for key in ["change_points", "suspected", "alerts"] {
        assert!(series[key].as_array().unwrap().is_empty(), "{key}: {series}");
    }
    let levels = &series["two_levels"];
    assert!((levels["lower"].as_f64().unwrap() - 100.0).abs() < 1.0, "{levels}");
    assert!((levels["upper"].as_f64().unwrap() - 130.0).abs() < 1.0, "{levels}");
    let page = bench.run("trend --input runners.csv").expect(0).stdout;
    assert!(page.contains("Two levels") && page.contains("probably two machine types"), "{page}");
    assert!(!page.contains("Alerts") && page.contains("0 change points"), "{page}");
}

#[test]
fn samples_of_one_run_are_one_point() {
    let bench = Bench::new();
    let mut rows = "timestamp,value,id,unit,better\n".to_owned();
    for run in 0..20_u32 {
        let level = if run == 19 { 130.0 } else { 98.0 + f64::from(run * 37 % 11) / 3.0 };
        for sample in 0..6_u32 {
            let value = level + f64::from(sample * 5 % 7) / 10.0;
            writeln!(rows, "{},{value},case,ms,lower", 1_767_261_600 + 86_400 * run).unwrap();
        }
    }
    bench.write("repeats.csv", &rows);
    let document = bench.run("trend --input repeats.csv --json").expect(0).json();
    let series = &document["series"][0];
    assert_eq!(
        (series["n"].as_u64(), series["change_points"].as_array().unwrap().len()),
        (Some(20), 0),
        "{series}"
    );
    let is_certain = |alert: &serde_json::Value| alert["basis"] != "suspected";
    assert!(!series["alerts"].as_array().unwrap().iter().any(is_certain), "{series}");
}

#[test]
fn files_of_git_and_of_spreadsheets_are_read() {
    let bench = Bench::new();
    let value = |day: u32| {
        let level = if day < 20 { 100.0 } else { 120.0 };
        level + f64::from(day * 37 % 11) / 10.0
    };
    let git = |day: u32| {
        format!("2026-{:02}-{:02} 10:00:00 +0100,{}\n", 1 + day / 28, 1 + day % 28, value(day))
    };
    let sheet = |day: u32| {
        let value = value(day).to_string().replace('.', ",");
        format!("{:02}.{:02}.2026 10:00;{value}\r\n", 1 + day % 28, 1 + day / 28)
    };
    bench.write("git.csv", &format!("timestamp,value\n{}", (0..40).map(git).collect::<String>()));
    bench.write(
        "sheet.csv",
        &format!("\u{feff}timestamp;value\r\n{}", (0..40).map(sheet).collect::<String>()),
    );
    for file in ["git.csv", "sheet.csv"] {
        let document = bench.run(&["trend", "--input", file, "--json"]).expect(0).json();
        let series = &document["series"][0];
        assert_eq!(
            (series["n"].as_u64(), series["change_points"][0]["index"].as_u64()),
            (Some(40), Some(20)),
            "{series}"
        );
    }
}

#[test]
fn a_step_of_many_series_is_listed_once() {
    let bench = Bench::new();
    let mut rows = "timestamp,value,id,unit\n".to_owned();
    for day in 0..60_u32 {
        for (at, id) in ["alpha", "beta", "gamma", "delta"].into_iter().enumerate() {
            let slower = if day < 40 { 1.0 } else { 1.3 };
            let noise = f64::from((day * 37 + 5 * at as u32) % 11) / 10.0;
            writeln!(rows, "{},{},{id},ms", 1_767_261_600 + 86_400 * day, (100.0 + noise) * slower)
                .unwrap();
        }
    }
    bench.write("machine.csv", &rows);
    let page = bench.run("trend --input machine.csv --summary").expect(0).stdout;
    assert!(page.contains("4 series worse together on 2026-02-10"), "{page}");
    assert!(!page.contains("Alerts") && page.matches("alpha").count() == 1, "{page}");
    let document = bench.run("trend --input machine.csv --json").expect(0).json();
    assert_eq!(document["common_changes"][0]["series"].as_array().unwrap().len(), 4);
}

#[test]
fn a_requested_rolling_average_is_a_series_with_a_value_for_each_point() {
    let bench = Bench::new();
    let days = [1, 2, 3, 4, 5, 6].map(|day| format!("2026-01-0{day}T00:00:00Z,{day}"));
    bench.write("line.csv", &format!("timestamp,value\n{}\n", days.join("\n")));
    let trend = |more: &str| {
        let document = bench.run(&format!("trend --input line.csv --json{more}")).expect(0).json();
        document["series"][0].clone()
    };
    assert!(trend("")["rolling"].is_null() && trend("")["rolling_mean"] == 4.0);
    let rolled = &trend(" --rolling-window 3")["rolling"];
    assert_eq!(rolled["window"], 3);
    assert_eq!(rolled["mean"], serde_json::json!([1.0, 1.5, 2.0, 3.0, 4.0, 5.0]));
    assert_eq!(rolled["median"], serde_json::json!([1.0, 1.5, 2.0, 3.0, 4.0, 5.0]));
    assert_eq!(rolled["timestamps"].as_array().unwrap().len(), 6);
}
