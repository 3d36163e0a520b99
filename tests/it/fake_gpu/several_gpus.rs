//! Work for several GPUs in one process, and what is made of many operations, on GPUs of software.

use serde_json::Value;

use super::support::{assert_reason, assert_rest_stands, case, cases, fake_gpu, id, run};

fn number(case: &Value, field: &str) -> f64 {
    case["results"][0][field].as_f64().unwrap_or_else(|| panic!("no {field}: {case:#}"))
}

#[test]
fn a_task_is_shared_and_every_pair_of_gpus_can_copy() {
    let bench = fake_gpu().set("FAKE_GPU_DEVICES", "4");
    let arguments = ["multi-gpu", "--axis", "size=4MiB", "--axis", "operation=triad", "--axis", "num_gpus=2,4"];
    let document = run(&bench, &[&arguments[..], &["--device", "0"]].concat()).expect(0).json();
    let shared: Vec<&Value> = cases(&document).iter().filter(|case| case["outcome"] == "simulated").collect();
    assert_eq!(shared.iter().map(|case| number(case, "num_gpus") as u32).collect::<Vec<_>>(), [2, 4]);
    for found in shared {
        let (speedup, efficiency) = (number(found, "speedup"), number(found, "efficiency"));
        assert!(speedup > 1.0 && (efficiency - speedup / number(found, "num_gpus")).abs() < 1e-9, "{found:#}");
    }
    let arguments = ["multi-gpu", "--axis", "size=64KiB", "--axis", "operation=peer-copy", "--axis", "peer=0,1,2,3"];
    let document = run(&bench, &arguments).expect(0).json();
    let copied = cases(&document).iter().filter(|case| case["outcome"] == "simulated");
    let mut pairs: Vec<&str> = copied.map(id).collect();
    pairs.sort_unstable();
    pairs.dedup();
    assert_eq!(pairs.len(), 12, "each of four GPUs to each other: {pairs:?}");
}

#[test]
fn sums_over_gpus_are_right_for_any_number_of_them() {
    let bench = fake_gpu().set("FAKE_GPU_DEVICES", "8");
    let arguments = ["all-reduce", "--axis", "size=64KiB", "--axis", "num_gpus=2,3,8", "--axis", "dtype=f32,f16"];
    let own = ["--axis", "provider=ring", "--device", "0"];
    let document = run(&bench, &[&arguments[..], &own].concat()).expect(0).json();
    assert_eq!(cases(&document).len(), 6);
    assert_rest_stands(&document, "nothing");
    let all = case(&document, "/f32/64KiB/num_gpus=8");
    let ratio = number(all, "bandwidth_gb_s") / number(all, "throughput_gb_s");
    assert!((ratio - 1.75).abs() < 1e-6, "2 x 7 / 8: {ratio}");
}

#[test]
fn sums_by_rccl_are_right_and_skipped_where_it_is_not() {
    let library = rsb_fake_gpu::file::library().unwrap().display().to_string();
    let with_rccl = || fake_gpu().set("FAKE_GPU_DEVICES", "4").set("RSB_RCCL_LIBRARY", &library);
    let axes = ["all-reduce", "--axis", "size=64KiB", "--axis", "provider=rccl,ring", "--device", "0", "--axis"];
    let document = run(&with_rccl(), &[&axes[..], &["dtype=f32,bf16"]].concat()).expect(0).json();
    assert_eq!(cases(&document).len(), 4);
    assert_rest_stands(&document, "nothing");
    assert_eq!(case(&document, "/f32/64KiB/provider=rccl")["results"][0]["provider"], "rccl");
    let wrong = with_rccl().set("FAKE_GPU_FAULT", "wrong:rccl");
    let document = run(&wrong, &[&axes[..], &["dtype=f32"]].concat()).expect(1).json();
    assert_reason(case(&document, "provider=rccl"), "failed", "wrong result of all-reduce");
    assert_rest_stands(&document, "provider=rccl");
    let nowhere = fake_gpu().set("FAKE_GPU_DEVICES", "2").set("RSB_RCCL_LIBRARY", "/nonexistent/librccl.so");
    let document = run(&nowhere, &[&axes[..], &["dtype=f32"]].concat()).expect(0).json();
    assert_reason(case(&document, "provider=rccl"), "skipped", "cannot be loaded");
}

#[test]
fn a_wrong_sum_fails_its_case() {
    let bench = fake_gpu().set("FAKE_GPU_DEVICES", "2").set("FAKE_GPU_FAULT", "wrong:rsb_add");
    let arguments = ["all-reduce", "--axis", "size=64KiB", "--axis", "provider=ring", "--device", "0"];
    let document = run(&bench, &arguments).expect(1).json();
    assert_reason(case(&document, "/all-reduce/"), "failed", "wrong result of all-reduce");
}

#[test]
fn one_gpu_is_skipped_and_says_what_would_help() {
    let document = run(&fake_gpu(), &["multi-gpu", "--axis", "size=64KiB"]).expect(5).json();
    for found in cases(&document) {
        let word = if id(found).contains("peer-copy") { "only device" } else { "1 device here" };
        assert_reason(found, "skipped", word);
    }
    let arguments = ["all-reduce", "--axis", "size=64KiB", "--axis", "provider=ring"];
    let document = run(&fake_gpu(), &arguments).expect(5).json();
    assert_reason(case(&document, "/all-reduce/"), "skipped", "1 device here");
}

#[test]
fn a_decoder_is_verified_from_end_to_end_and_stage_by_stage() {
    let arguments = [
        "inference",
        "--axis",
        "heads=2x8",
        "--axis",
        "sequence_length=16",
        "--axis",
        "dtype=f32,f16",
        "--axis",
        "batch_size=2",
    ];
    let document = run(&fake_gpu(), &arguments).expect(0).json();
    for phase in ["prefill", "decode"] {
        for dtype in ["f32", "f16"] {
            let found = case(&document, &format!("/{phase}/{dtype}/"));
            let tokens = if phase == "prefill" { 32.0 } else { 2.0 };
            let rate = tokens / (number(found, "forward_time_ms") / 1e3);
            assert!((number(found, "tokens_per_second") / rate - 1.0).abs() < 1e-6, "{found:#}");
            assert!(number(found, "accuracy_error") > 0.0, "16-bit or 32-bit sums are never exact");
        }
    }
    let broken = fake_gpu().set("FAKE_GPU_FAULT", "wrong:rsb_rearrange");
    let document = run(&broken, &arguments).expect(1).json();
    for found in cases(&document) {
        assert_reason(found, "failed", "wrong result of");
    }
}

#[test]
fn peak_and_measurement_stand_side_by_side_on_every_architecture() {
    for (arch, unit, tiles) in [("gfx942", "MFMA 3", true), ("gfx1100", "WMMA 1", true), ("gfx1030", "none", false)] {
        let bench = fake_gpu().set("FAKE_GPU_ARCH", arch);
        let arguments = ["tensor-core", "--axis", "dtype=f16", "--axis", "engine=matrix,vector"];
        let document = run(&bench, &arguments).json();
        let matrix = case(&document, "/f16/matrix");
        if tiles {
            assert!((1.0..=100.0).contains(&number(matrix, "roofline_percent")), "{matrix:#}");
            assert!(number(matrix, "gemm_tflops") > 0.0);
            assert_eq!(matrix["results"][0]["matrix_unit"], unit);
        } else {
            assert_reason(matrix, "skipped", "has no unit for it");
            assert_eq!(case(&document, "/f16/vector")["results"][0]["matrix_unit"], unit);
        }
    }
}
