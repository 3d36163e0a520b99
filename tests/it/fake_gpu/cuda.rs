//! CUDA on the fake GPU: data types, work on several GPUs, use next to ROCm, and the name of the
//! device.

use super::support::{CUDA, assert_reason, assert_rest_stands, case, cases, fake_gpu, id, outcome};
use crate::common::{SMALL, words};

#[test]
fn eight_gpus_know_one_another() {
    let bench = CUDA.fake_gpu().set("FAKE_GPU_DEVICES", "8");
    let arguments = words("all-reduce --axis size=64KiB --axis num_gpus=2,8 --device 0");
    let own = ["--axis", "communication_backend=ring", "--axis", "operation=all-reduce"];
    let document = CUDA.run(&bench, &[&arguments[..], &own].concat()).expect(0).json();
    assert_eq!(
        cases(&document).iter().filter(|case| outcome(case) == "simulated").count(),
        2,
        "{document:#}"
    );
    let arguments = words("multi-gpu --axis size=64KiB --axis operation=peer-copy --axis peer=0,3");
    let document =
        CUDA.run(&bench, &[&arguments[..], &["--device", "0"]].concat()).expect(0).json();
    assert!(cases(&document).iter().any(|case| outcome(case) == "simulated"), "{document:#}");
}

#[test]
fn nccl_is_told_its_algorithm_in_the_process_of_the_case() {
    let bench = CUDA.fake_gpu().set("FAKE_GPU_DEVICES", "3");
    let arguments = "all-reduce --device 0 --axis size=64KiB --axis num_gpus=3 --axis dtype=bf16 \
                     --axis communication_backend=nccl --axis operation=all-reduce,reduce-scatter \
                     --axis algorithm=auto,ring,tree";
    let document = CUDA.run(&bench, arguments).expect(0).json();
    for (id, algorithm) in [
        ("communication_backend=nccl/algorithm=tree", "tree"),
        ("operation=reduce-scatter/algorithm=ring", "ring"),
        ("communication_backend=nccl/operation=reduce-scatter", "auto"),
    ] {
        let found = cases(&document)
            .iter()
            .find(|case| case["benchmark_id"].as_str().unwrap().ends_with(id))
            .unwrap();
        assert_eq!(
            (outcome(found), &found["results"][0]["algorithm"]),
            ("simulated", &algorithm.into()),
            "{found:#}"
        );
    }
    assert_reason(
        case(&document, "operation=reduce-scatter/algorithm=tree"),
        "skipped",
        "a tree only for all-reduce",
    );
}

#[test]
fn products_of_every_type_are_verified() {
    let arguments = words("gemm --axis shape=64x48x32 --axis dtype=f64,f32,tf32,f16,bf16,i8");
    let document = CUDA
        .run(&CUDA.fake_gpu(), &[&arguments[..], &["--axis", "provider=cublas"]].concat())
        .expect(0)
        .json();
    for dtype in ["f64", "f32", "tf32", "f16", "bf16", "i8"] {
        let found = case(&document, &format!("/{dtype}/"));
        assert_eq!(outcome(found), "simulated", "{found:#}");
        let error = found["results"][0]["accuracy_error"].as_f64().unwrap();
        assert!((0.0..0.01).contains(&error), "{found:#}");
    }
}

/// The fake GPU reports the same addresses for ROCm and CUDA, so `auto` measures each GPU once.
#[test]
fn one_gpu_seen_by_rocm_and_cuda_is_one_gpu() {
    let library = rsb_fake_gpu::file::library().unwrap();
    let bench = CUDA.loaded(fake_gpu(), &library).set("FAKE_GPU_DEVICES", "2");
    let arguments = ["run", "--json", "--axis", "shape=64x48x32", "--axis", "dtype=f32", "gemm"];
    let document = bench.run(&[&arguments[..], &SMALL].concat()).json();
    let ran = |backend: &str| {
        let at = format!("/{backend}:");
        let ran = cases(&document)
            .iter()
            .filter(|case| id(case).contains(&at) && outcome(case) == "simulated");
        ran.count()
    };
    assert_eq!([ran("rocm"), ran("cuda")].map(|count| count > 0), [true, false], "{document:#}");
    let asked =
        bench.run(&[&["run", "--backend", "rocm"], &arguments[1..], &SMALL].concat()).json();
    assert_rest_stands(&asked, "nothing");
}

/// The fake GPU must not be mistaken for a real one.
#[test]
fn its_name_says_that_it_is_none() {
    let bench = CUDA.fake_gpu();
    let document = CUDA.run(&bench, "gemm --axis shape=64x48x32 --axis dtype=f32").expect(0).json();
    assert!(document.to_string().contains("fake GPU of sm_90 (no hardware)"), "{document:#}");
    let listed = bench.run("list --json").expect(0).json();
    let row = listed["benchmarks"].as_array().unwrap().iter();
    let row =
        row.clone().find(|row| row["backend"] == "cuda" && row["benchmark"] == "gemm").unwrap();
    assert_eq!(row["runnable"], true, "{row:#}");
    assert_eq!(row["devices"][0], "fake GPU of sm_90 (no hardware)", "{row:#}");
    let probed = bench.run("probe --json").expect(0).json();
    assert!(
        !probed["gpus"].to_string().contains("fake GPU"),
        "the probe must read the system, not the runtime: {probed:#}"
    );
}
