//! Vulkan on the installed driver: Mesa's lavapipe runs on any CPU.

use crate::common::backend::{covers, is_here, measured_rest};
use crate::common::{Bench, says, words};

#[test]
fn what_the_suite_of_backends_lacks_is_verified_too() {
    if is_here("vulkan") {
        covers(
            &measured_rest("vulkan"),
            &["memory-latency", "memory-transfer", "launch-latency", "inference"],
        );
    }
}

/// Lavapipe's device is the CPU and is never reported as a GPU. Cases that would take it seconds
/// are skipped.
#[test]
fn lavapipe_is_a_cpu_and_is_spared_large_products() {
    let drivers = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json";
    if !std::path::Path::new(drivers).exists() {
        test_needs::missing(
            "vulkan",
            &format!("{drivers} is missing; install mesa-vulkan-drivers"),
        );
        return;
    }
    let bench = Bench::new().set("VK_ICD_FILENAMES", drivers).set("VK_DRIVER_FILES", drivers);
    let arguments = words(
        "run gemm --backend vulkan --axis shape=128x128x128,1024x1024x1024 --axis \
         dtype=f32 --replicates 1 --runs 10 --json",
    );
    let document = bench.run(&arguments).expect(0).json();
    let of = |size: &str| {
        let results = document["benchmarks"].as_array().unwrap();
        results
            .iter()
            .find(|result| result["benchmark_id"].as_str().unwrap().contains(size))
            .unwrap()
    };
    assert_eq!(of("128x128x128")["outcome"], "measured");
    assert_eq!(of("128x128x128")["device_type"], "cpu");
    let driver = of("128x128x128")["factors"]["vulkan"].as_str().unwrap();
    assert!(driver.starts_with("llvmpipe ") && driver.contains('.'), "{driver}");
    assert_eq!(of("1024x1024x1024")["outcome"], "skipped");
    assert!(
        of("1024x1024x1024")["why"].as_str().unwrap().contains("llvmpipe"),
        "the reason must name the driver"
    );
    let small = ["--axis", "shape=1x8x12x12", "--axis", "kernel=8x3x3", "--axis", "dtype=f32"];
    let run = words("run convolution --backend vulkan --replicates 1 --runs 10 --json");
    let document = bench.run(&[run.as_slice(), small.as_slice()].concat()).expect(0).json();
    covers(document["benchmarks"].as_array().unwrap(), &["convolution"]);
}

#[test]
fn a_loader_that_is_missing_or_finds_no_driver_is_a_reason() {
    let missing = Bench::new().set("RSB_VULKAN_LIBRARY", "/nonexistent/libvulkan.so.1");
    let result = missing.run("run gemm --backend vulkan --json").expect(5).json();
    says(result["benchmarks"][0]["why"].as_str().unwrap(), &["RSB_VULKAN_LIBRARY"]);
    let other = Bench::new().set("RSB_VULKAN_LIBRARY", "libc.so.6");
    let result = other.run("run gemm --backend vulkan --json").expect(5).json();
    assert!(!result["benchmarks"][0]["cure"].as_str().unwrap().is_empty(), "{result}");
    if is_here("vulkan") {
        let none = Bench::new()
            .set("VK_ICD_FILENAMES", "/nonexistent.json")
            .set("VK_DRIVER_FILES", "/nonexistent.json");
        let result = none.run("run gemm --backend vulkan --json").expect(5).json();
        says(result["benchmarks"][0]["cure"].as_str().unwrap(), &["mesa-vulkan-drivers"]);
    }
}
