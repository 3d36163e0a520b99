//! hipBLASLt and cuBLASLt on the fake GPU: the records of their products, and faults.
//! `crates/rsb-fake-gpu/tests/light_products.rs` tests that products of each type and epilogue are
//! correct.

use serde_json::Value;

use super::support::{ROCM, RUNTIMES, Runtime, assert_reason, assert_rest_stands, case, outcome};
use crate::common::Bench;

/// Returns a bench with a fake GPU that has a matrix unit for every type.
fn with_every_type(runtime: Runtime) -> Bench {
    runtime.fake_gpu().set("FAKE_GPU_ARCH", "gfx942")
}

/// Runs a small product with B stored as in layers (`transpose=nt`), with these axes.
fn products(runtime: Runtime, bench: &Bench, axes: &[&str]) -> crate::common::ProgramOutput {
    let mut arguments = vec!["gemm", "--axis", "shape=64x48x32", "--axis", "transpose=nt"];
    for axis in axes {
        arguments.extend(["--axis", axis]);
    }
    runtime.run(bench, &arguments)
}

fn fields(case: &Value) -> &Value {
    assert_eq!(outcome(case), "simulated", "{case:#}");
    &case["results"][0]
}

#[test]
fn records_say_what_was_done_and_how() {
    for &runtime in RUNTIMES {
        let axes = ["dtype=bf16", "output=as-inputs", "epilogue=gelu", "algorithms=8"];
        let document = products(runtime, &runtime.fake_gpu(), &axes).expect(0).json();
        let found = fields(case(&document, "epilogue=gelu"));
        assert_eq!(
            (&found["provider"], &found["epilogue"]),
            (&runtime.light.into(), &"gelu".into()),
            "{found:#}"
        );
        assert_eq!(
            (&found["output_dtype"], &found["strides_b"]),
            (&"bf16".into(), &"1536x1x32".into()),
            "{found:#}"
        );
        let chosen = ["algorithm_index", "algorithms_tried"].map(|name| found[name].as_f64());
        assert_eq!(chosen, [Some(1.0), Some(3.0)], "{found:#}");
        assert!(
            found["memory_bandwidth_gb_s"].is_number() && found["utilization_percent"].is_number(),
            "{found:#}"
        );
    }
}

/// This fault only affects a product that was described with the attribute.
#[cfg(feature = "cuda")]
#[test]
fn fast_accumulation_reaches_cublaslt() {
    use super::support::CUDA;
    let axes = ["dtype=fp8", "accumulation=full,fast"];
    let document = products(CUDA, &CUDA.fake_gpu(), &axes).expect(0).json();
    for (case, accumulation) in
        [(case(&document, "accumulation=fast"), "fast"), (full(&document), "full")]
    {
        assert_eq!(fields(case)["accumulation"], accumulation, "{case:#}");
    }
    let document =
        products(CUDA, &CUDA.with_fault("wrong:cublaslt_gemm_fast"), &axes).expect(1).json();
    assert_eq!(outcome(case(&document, "accumulation=fast")), "failed", "{document:#}");
    fields(full(&document));
}

/// Returns the case without fast accumulation.
#[cfg(feature = "cuda")]
fn full(document: &Value) -> &Value {
    let mut others = super::support::cases(document)
        .iter()
        .filter(|case| !super::support::id(case).contains("fast"));
    others.next().unwrap()
}

#[test]
fn fast_accumulation_of_others_is_skipped_with_its_cure() {
    for (dtype, provider) in [("fp8", "auto"), ("f16", "hipblaslt")] {
        let axes = [
            format!("dtype={dtype}"),
            format!("provider={provider}"),
            "accumulation=fast".to_owned(),
        ];
        let axes = axes.each_ref().map(String::as_str);
        let document = products(ROCM, &with_every_type(ROCM), &axes).expect(5).json();
        assert_reason(
            case(&document, "accumulation=fast"),
            "skipped",
            "only cuBLASLt has this mode",
        );
    }
}

#[test]
fn xf32_is_a_mode_of_rocblas_where_the_gpu_has_it() {
    let axes = ["dtype=tf32", "provider=rocblas"];
    let document = products(ROCM, &with_every_type(ROCM), &axes).expect(0).json();
    assert_eq!(fields(case(&document, "/tf32/"))["output_dtype"], "f32");
    let document = products(ROCM, &ROCM.fake_gpu(), &axes).expect(5).json();
    assert_reason(case(&document, "/tf32/"), "skipped", "no matrix instructions of gfx90a");
}

#[test]
fn a_speed_up_from_one_type_to_another() {
    let axes = ["operation=matmul", "dtype=fp8", "n=64", "over=bf16"]
        .map(|axis| ["--axis", axis])
        .concat();
    let document =
        ROCM.run(&with_every_type(ROCM), &[&["precision"][..], &axes].concat()).expect(0).json();
    let found = fields(case(&document, "over=bf16"));
    assert_eq!(
        (&found["provider"], &found["speedup_over"]),
        (&"hipblaslt".into(), &"bf16".into()),
        "{found:#}"
    );
    assert!(found["reference_accuracy_error"].as_f64().unwrap() < 0.01, "{found:#}");
}

/// Checks that a product by the library ends as expected, and that a product by a native kernel
/// succeeds.
fn check(runtime: Runtime, bench: &Bench, expected: &str, word: &str) {
    let providers = format!("provider={},native", runtime.light);
    let document = products(runtime, bench, &["dtype=f16", &providers]).json();
    let own = format!("provider={}", runtime.light);
    assert_reason(case(&document, &own), expected, word);
    assert_rest_stands(&document, &own);
}

#[test]
fn what_is_not_there_is_told() {
    for &runtime in RUNTIMES {
        let absent = "/nonexistent/library.so";
        check(runtime, &runtime.fake_gpu().set(runtime.light_variable, absent), "skipped", absent);
        check(runtime, &runtime.with_fault("heuristic:none"), "skipped", "returns no algorithm");
        let name = if runtime.light == "hipblaslt" { "hipblasLtMatmul" } else { "cublasLtMatmul" };
        let (_dir, bench) = runtime.without(&[name]);
        check(runtime, &bench, "failed", name);
    }
}

#[test]
fn what_is_wrong_is_never_timed() {
    let faults = [("nan:", "NaN"), ("wrong:", "wrong result of gemm")];
    for (&runtime, (fault, word)) in RUNTIMES.iter().zip(faults) {
        check(runtime, &runtime.with_fault(&format!("{fault}{}", runtime.light)), "failed", word);
    }
    check(ROCM, &ROCM.with_fault("abort:hipblaslt"), "failed", "opening hipBLASLt");
}

#[cfg(feature = "cuda")]
#[test]
fn a_product_that_the_gpu_does_not_do_is_skipped() {
    let runtime = super::support::CUDA;
    let arguments = ["gemm", "--axis", "shape=64x48x32", "--axis", "dtype=fp8"];
    let document = runtime.run(&runtime.fake_gpu(), &arguments).expect(5).json();
    let found = case(&document, "/fp8/");
    assert_reason(found, "skipped", "product not supported");
    assert!(found["cure"].as_str().unwrap().contains("transpose=nt"), "{found:#}");
}
