//! OpenCL on the installed platform: PoCL runs on any CPU.

use crate::common::backend::{absence, covers, is_here, measured, measured_rest};
use crate::common::{Bench, says, words};

#[test]
fn what_the_suite_of_backends_lacks_is_verified_too() {
    if is_here("opencl") {
        covers(
            &measured_rest("opencl"),
            &["memory-latency", "memory-transfer", "launch-latency", "inference"],
        );
    }
}

/// PoCL's device is the CPU and is never reported as a GPU.
#[test]
fn a_platform_on_the_cpu_is_a_cpu() {
    let document = Bench::new().run("run compute-peak --backend opencl --dry-run --json").json();
    if document["cases"].as_array().unwrap().is_empty() {
        return test_needs::missing(
            "opencl",
            "no OpenCL device is available; install pocl-opencl-icd",
        );
    }
    if std::path::Path::new("/dev/dri").exists() {
        return; // A GPU may be here, which is none.
    }
    let small = words("run compute-peak --backend opencl --replicates 1 --runs 10 --json");
    let document = Bench::new().run(&small).expect(0).json();
    assert_eq!(document["benchmarks"][0]["device_type"], "cpu");
}

/// Uses only Intel's platform, which `.ci/run` installs in addition to the system's drivers.
#[test]
fn oneapi_runs_on_intels_platform() {
    let Ok(vendors) = std::env::var("INTEL_OCL_ICD_VENDORS") else {
        test_needs::missing(
            "oneapi",
            "INTEL_OCL_ICD_VENDORS names no directory with Intel's driver; run .ci/run, which installs it",
        );
        return;
    };
    if !std::path::Path::new(&vendors).join("intel.icd").exists() {
        test_needs::missing("oneapi", &format!("{vendors} has no intel.icd"));
        return;
    }
    let bench = Bench::new().set("OCL_ICD_VENDORS", &vendors);
    let names = words("run memory-bandwidth gemm compute-peak --backend oneapi --json");
    let sizes = ["--axis", "size=64KiB", "--axis", "shape=64x48x32", "--axis", "dtype=f32"];
    let document = bench
        .run(&[names.as_slice(), &sizes, crate::common::SMALL.as_slice()].concat())
        .expect(0)
        .json();
    let results = document["benchmarks"].as_array().unwrap();
    covers(results, &["memory-bandwidth", "gemm", "compute-peak"]);
    assert!(
        measured(results)
            .iter()
            .all(|result| result["benchmark_id"].as_str().unwrap().contains("oneapi:0"))
    );
}

#[test]
fn without_intels_platform_oneapi_says_how_to_get_it() {
    if absence("oneapi").is_none() {
        return; // It is there.
    }
    let ended = Bench::new().run("run gemm --backend oneapi --json").expect(5);
    let result = &ended.json()["benchmarks"][0];
    assert_eq!(result["outcome"], "skipped");
    assert!(result["cure"].as_str().unwrap().contains("intel"), "{result}");
}

#[test]
fn a_library_that_is_missing_or_is_another_is_a_reason() {
    let missing = Bench::new().set("RSB_OPENCL_LIBRARY", "/nonexistent/libOpenCL.so.1");
    let result = missing.run("run gemm --backend opencl --json").expect(5).json();
    says(result["benchmarks"][0]["why"].as_str().unwrap(), &["RSB_OPENCL_LIBRARY"]);
    let other = Bench::new().set("RSB_OPENCL_LIBRARY", "libc.so.6");
    let result = other.run("run gemm --backend opencl --json").expect(5).json();
    says(result["benchmarks"][0]["what"].as_str().unwrap(), &["clGetPlatformIDs"]);
}

#[test]
fn an_installation_without_any_driver_is_a_reason() {
    if !is_here("opencl") {
        return;
    }
    let bench = Bench::new();
    std::fs::create_dir(bench.path("vendors")).unwrap();
    let vendors = format!("{}/", bench.path("vendors").display());
    let bench = bench.set("OCL_ICD_VENDORS", &vendors).set("OCL_ICD_FILENAMES", "");
    let result = bench.run("run gemm --backend opencl --json").expect(5).json();
    says(result["benchmarks"][0]["cure"].as_str().unwrap(), &["pocl-opencl-icd"]);
}

#[test]
fn auto_leaves_the_cpu_to_itself() {
    let plan = Bench::new().run("run compute-peak --dry-run --json").expect(0).json();
    let devices: Vec<&str> = plan["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| case["device"].as_str().unwrap())
        .collect();
    assert!(devices.contains(&"cpu:0"));
    if !std::path::Path::new("/dev/dri").exists()
        && !std::path::Path::new("/dev/nvidiactl").exists()
    {
        assert!(devices.iter().all(|device| *device == "cpu:0"), "{devices:?}");
    }
}

#[test]
fn runtimes_of_models_alone_are_listed_with_what_they_run() {
    let document = Bench::new().run("list --json").expect(0).json();
    for name in ["mps", "openvino", "qnn"] {
        let row = document["benchmarks"]
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["backend"] == name)
            .unwrap();
        assert!(
            row["runnable"] == false && row["why"].as_str().unwrap().contains("only runs models"),
            "{row}"
        );
        let wanted = format!("`models --backend {name}`");
        assert!(row["cure"].as_str().unwrap().contains(&wanted), "{row}");
        let ended = Bench::new().run(&["run", "gemm", "--backend", name]).expect(2);
        assert!(ended.stderr.contains(&wanted), "{}", ended.stderr);
    }
}
