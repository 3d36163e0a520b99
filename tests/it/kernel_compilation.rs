//! Measures the real compiler of ROCm, if it is installed, with the real program. No GPU is needed.

use crate::common::{Bench, SMALL, words};
use crate::schemas::check;
use serde_json::Value;

/// Returns whether `list` reports ROCm's compiler. If not, prints a message.
fn is_here() -> bool {
    let document = Bench::new().run("list --json").expect(0).json();
    let rows = document["benchmarks"].as_array().unwrap();
    let row = rows
        .iter()
        .find(|row| row["benchmark"] == "kernel-compilation" && row["backend"] == "cpu")
        .unwrap();
    if row["runnable"] == false {
        test_needs::missing("hiprtc", &format!("{} ({})", row["why"], row["cure"]));
        assert!(
            ["what", "why", "cure"].iter().all(|field| !row[*field].as_str().unwrap().is_empty())
        );
    }
    row["runnable"] == true
}

fn cases(arguments: &[&str], code: i32) -> Vec<Value> {
    let arguments =
        [&["kernel-compilation", "--axis", "compilation=cold", "--json"], arguments, &SMALL]
            .concat();
    let document = Bench::new().run(&arguments).expect(code).json();
    check("run", &document);
    document["benchmarks"].as_array().unwrap().clone()
}

#[test]
fn the_compiler_is_measured_for_the_architecture_asked_for() {
    if !is_here() {
        for case in cases(&[], 5) {
            assert_eq!(case["outcome"], "skipped", "{case}");
            assert!(!case["cure"].as_str().unwrap().is_empty());
        }
        return;
    }
    let axes = ["--axis", "arch=gfx1030", "--axis", "source=normalize", "--axis", "opt=O1"];
    let [case] = &cases(&axes, 0)[..] else { panic!("expected exactly one case") };
    check("benchmark-result", case);
    let result = &case["results"][0];
    assert_eq!(case["outcome"], "measured", "{case}");
    assert_eq!(case["device_type"], "cpu", "{case}");
    assert!(case["benchmark_id"].as_str().unwrap().contains("gfx1030"), "{case}");
    assert_eq!(result["gfx_target"], "gfx1030", "{case}");
    assert!(
        result["compile_time_ms"].as_f64().unwrap() > 1.0,
        "a compilation below 1 ms came from a cache: {result}"
    );
    assert!(result["code_object_bytes"].as_f64().unwrap() > 1000.0);
    assert_eq!((&result["optimization"], &result["compilation"]), (&"O1".into(), &"cold".into()));
}

#[test]
fn occupancy_is_calculated_from_what_the_compiler_says_without_a_gpu() {
    if !is_here() {
        return;
    }
    let axes =
        words("occupancy --axis operation=triad,gemm --axis block_size=256 --axis arch=gfx90a");
    let arguments =
        [&axes[..], &["--axis", "dtype=f32", "--backend", "cpu", "--json"], &SMALL].concat();
    let document = Bench::new().run(&arguments).expect(0).json();
    let found = document["benchmarks"].as_array().unwrap();
    assert_eq!(found.len(), 2);
    for case in found {
        let result = &case["results"][0];
        assert_eq!(
            (&case["outcome"], &result["provider"]),
            (&"measured".into(), &"calculator".into()),
            "{case}"
        );
        let percent = result["occupancy_percent"].as_f64().unwrap();
        assert!((10.0..=100.0).contains(&percent), "{result}");
        assert!((1.0..=512.0).contains(&result["registers"].as_f64().unwrap()), "{result}");
        let shares = case["benchmark_id"].as_str().unwrap().contains("/gemm/");
        assert_eq!(
            result["shared_bytes"].as_f64().unwrap() > 0.0,
            shares,
            "only the tiled product uses shared memory"
        );
    }
}

/// The compilers of ROCm 5 and 6 terminate their process on unknown architectures: the case is
/// skipped, and the run continues.
#[test]
fn an_architecture_that_the_compiler_does_not_know_is_skipped_with_the_cure() {
    if !is_here() {
        return;
    }
    let [case] = &cases(&["--axis", "arch=gfxfff", "--axis", "source=elementwise"], 5)[..] else {
        panic!("expected exactly one case")
    };
    assert_eq!(case["outcome"], "skipped", "{case}");
    assert!(case["what"].as_str().unwrap().contains("gfxfff"), "{case}");
    assert!(case["cure"].as_str().unwrap().contains("architecture"), "{case}");
}
