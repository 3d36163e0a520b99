//! The GPU calls of the program, and their order.

use std::path::Path;

use crate::common::Bench;

use super::support::{ROCM, RUNTIMES, Runtime, assert_reason, assert_rest_stands, case};

/// Returns a bench with the fake GPU, which appends each call on a stream to a file.
fn listing(runtime: Runtime) -> (Bench, std::path::PathBuf) {
    let bench = runtime.fake_gpu();
    let file = bench.path("calls");
    let bench = bench.set("FAKE_GPU_CALLS", &file.display().to_string());
    (bench, file)
}

fn calls(file: &Path) -> Vec<String> {
    std::fs::read_to_string(file).unwrap().lines().map(str::to_owned).collect()
}

/// The host submits the events and the kernel while the flush runs: a wait after the flush would
/// add the launch of the kernel to each cold sample. The flush ends with reads, so that it leaves
/// no dirty lines.
#[test]
fn a_cold_sample_is_queued_behind_its_flush_without_a_wait() {
    for &runtime in RUNTIMES {
        let (bench, file) = listing(runtime);
        let axes = ["operation=copy", "dtype=f32", "size=64KiB", "cache=cold"]
            .iter()
            .flat_map(|axis| ["--axis", axis]);
        let arguments: Vec<&str> = std::iter::once("memory-bandwidth").chain(axes).collect();
        assert_rest_stands(&runtime.run(&bench, &arguments).expect(0).json(), "nothing");
        let calls = calls(&file);
        let flushes = calls
            .iter()
            .enumerate()
            .filter(|(_, call)| *call == "launch rsb_flush")
            .map(|(place, _)| place);
        let flushes: Vec<usize> = flushes.collect();
        assert!(!flushes.is_empty(), "{calls:?}");
        for place in flushes {
            let sample = [
                "launch rsb_flush",
                "launch rsb_read",
                "record",
                "launch rsb_copy",
                "record",
                "synchronize",
            ];
            assert_eq!(
                calls.get(place..place + sample.len()).unwrap(),
                sample,
                "{}",
                runtime.backend
            );
        }
    }
}

/// An open group would capture every later call of its thread.
#[test]
fn a_group_of_collectives_is_closed_when_one_of_its_calls_is_refused() {
    let library = rsb_fake_gpu::file::library().unwrap().display().to_string();
    for (launcher, operation) in
        [("one-thread", "broadcast"), ("one-thread", "all-to-all"), ("threads", "all-to-all")]
    {
        let (bench, file) = listing(ROCM);
        let bench = bench.set("FAKE_GPU_DEVICES", "3").set("RSB_RCCL_LIBRARY", &library);
        let bench = bench.set("FAKE_GPU_FAULT", "nccl:2");
        let (operation, launcher) =
            (format!("operation={operation}"), format!("launcher={launcher}"));
        let fixed = [
            "size=64KiB",
            "num_gpus=3",
            "dtype=f32",
            "communication_backend=rccl",
            &operation,
            &launcher,
        ];
        let axes = fixed.iter().flat_map(|axis| ["--axis", axis]);
        let arguments: Vec<&str> =
            ["all-reduce", "--device", "0"].into_iter().chain(axes).collect();
        let document = ROCM.run(&bench, &arguments).expect(1).json();
        // With several threads, a different one may fail first, because their calls do not match.
        assert_reason(case(&document, &operation), "failed", "nccl");
        let calls = calls(&file);
        let count = |name: &str| calls.iter().filter(|call| *call == name).count();
        assert!(count("group start") > 0, "{launcher} {operation}");
        assert_eq!(count("group start"), count("group end"), "{launcher} {operation}");
    }
}
