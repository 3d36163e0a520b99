//! Work on several GPUs in one process, and benchmarks composed of many operations, on software
//! GPUs.

use crate::common::{Bench, SMALL, words};
use serde_json::{Value, json};

use super::support::{RUNTIMES, assert_reason, assert_rest_stands, case, cases, fake_gpu, id, run};

fn number(case: &Value, field: &str) -> f64 {
    case["results"][0][field].as_f64().unwrap_or_else(|| panic!("no {field}: {case:#}"))
}

#[test]
fn a_task_is_shared_and_every_pair_of_gpus_can_copy() {
    let bench = fake_gpu().set("FAKE_GPU_DEVICES", "4");
    let arguments = words("multi-gpu --axis size=4MiB --axis operation=triad --axis num_gpus=2,4");
    let document = run(&bench, &[&arguments[..], &["--device", "0"]].concat()).expect(0).json();
    let shared: Vec<&Value> =
        cases(&document).iter().filter(|case| case["outcome"] == "simulated").collect();
    assert_eq!(
        shared.iter().map(|case| number(case, "num_gpus") as u32).collect::<Vec<_>>(),
        [2, 4]
    );
    for found in shared {
        assert!(number(found, "launch_time_us") > 0.0, "{found:#}");
        let (speedup, efficiency) = (number(found, "speedup"), number(found, "efficiency"));
        assert!(
            speedup > 1.0 && (efficiency - speedup / number(found, "num_gpus")).abs() < 1e-9,
            "{found:#}"
        );
    }
    let arguments =
        words("multi-gpu --axis size=64KiB --axis operation=peer-copy --axis peer=0,1,2,3");
    let document = run(&bench, &arguments).expect(0).json();
    let copied = cases(&document).iter().filter(|case| case["outcome"] == "simulated");
    let mut pairs: Vec<&str> = copied.map(id).collect();
    pairs.sort_unstable();
    pairs.dedup();
    assert_eq!(pairs.len(), 12, "each of four GPUs must copy to each other one: {pairs:?}");
}

#[test]
fn copies_both_ways_at_once_are_verified_at_both_ends() {
    let arguments = words(
        "multi-gpu --axis size=16MiB --axis operation=peer-copy,peer-exchange \
         --device 0",
    );
    let arguments = [&arguments[..], &["--axis", "peer=1"]].concat();
    let bench = fake_gpu().set("FAKE_GPU_DEVICES", "2");
    let document = run(&bench, &arguments).expect(0).json();
    assert_rest_stands(&document, "nothing");
    let [one_way, both] = ["/peer-copy/", "/peer-exchange/"]
        .map(|part| number(case(&document, part), "bandwidth_gb_s"));
    assert!(
        (1.8..2.05).contains(&(both / one_way)),
        "an exchange must have twice the bandwidth of a copy: {both} and {one_way}"
    );
}

#[test]
fn sums_over_gpus_are_right_for_any_number_of_them() {
    let bench = fake_gpu().set("FAKE_GPU_DEVICES", "8");
    let arguments =
        words("all-reduce --axis size=64KiB --axis num_gpus=2,3,8 --axis dtype=f32,f16");
    let own = words("--axis communication_backend=ring --axis operation=all-reduce --device 0");
    let document = run(&bench, &[&arguments[..], &own].concat()).expect(0).json();
    assert_eq!(cases(&document).len(), 6);
    assert_rest_stands(&document, "nothing");
    let all = case(&document, "/f32/64KiB/num_gpus=8");
    let ratio = number(all, "bandwidth_gb_s") / number(all, "throughput_gb_s");
    assert!((ratio - 1.75).abs() < 1e-6, "2 x 7 / 8: {ratio}");
}

const COLLECTIVES: &str =
    "operation=all-reduce,all-gather,reduce-scatter,broadcast,all-to-all,send-receive";

/// Returns the cases of `communication_backend` at 64 KiB on three GPUs.
fn collectives(backend: &str, more: &[&str]) -> Vec<String> {
    let backend = format!("communication_backend={backend}");
    let fixed = [
        "all-reduce",
        "--axis",
        "size=64KiB",
        "--axis",
        "num_gpus=3",
        "--device",
        "0",
        "--axis",
        &backend,
    ];
    fixed.iter().chain(more).map(|&argument| argument.to_owned()).collect()
}

fn borrowed(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

#[test]
fn collectives_by_rccl_are_right_and_a_wrong_element_is_named() {
    let library = rsb_fake_gpu::file::library().unwrap().display().to_string();
    let with_rccl = || fake_gpu().set("FAKE_GPU_DEVICES", "4").set("RSB_RCCL_LIBRARY", &library);
    let both =
        ["--axis", COLLECTIVES, "--axis", "placement=out-of-place,in-place", "--axis", "dtype=f32"];
    let arguments = collectives("rccl", &[&both[..], &["--axis", "algorithm=auto"]].concat());
    let document = run(&with_rccl(), &borrowed(&arguments)).expect(0).json();
    let measured: Vec<&Value> =
        cases(&document).iter().filter(|case| case["outcome"] == "simulated").collect();
    assert_eq!(measured.len(), 10, "all-to-all and send-receive must not run in place");
    for found in measured {
        let name = found["results"][0]["operation"].as_str().unwrap();
        let factor = match name {
            "all-reduce" => 4.0 / 3.0,
            "broadcast" | "send-receive" => 1.0,
            _ => 2.0 / 3.0,
        };
        let ratio = number(found, "bandwidth_gb_s") / number(found, "throughput_gb_s");
        assert!((ratio - factor).abs() < 1e-6, "{name}: {ratio}");
        // 16,384 elements are not divisible by three.
        let parts = ["all-gather", "reduce-scatter", "all-to-all"].contains(&name);
        assert_eq!(
            found["results"][0]["size_bytes"].as_u64(),
            Some(if parts { 65_532 } else { 65_536 }),
            "{name}"
        );
        assert_eq!(found["results"][0]["communication_backend"], "rccl");
    }
    assert_reason(
        case(&document, "operation=all-to-all/placement=in-place"),
        "skipped",
        "overwritten",
    );
    let by_threads = ["--axis", COLLECTIVES, "--axis", "dtype=f32", "--axis", "launcher=threads"];
    let document = run(&with_rccl(), &borrowed(&collectives("rccl", &by_threads))).expect(0).json();
    assert_eq!(cases(&document).len(), 6, "launcher=threads must support all collectives");
    assert_rest_stands(&document, "nothing");
    let launchers = cases(&document).iter().map(|found| &found["results"][0]["launcher"]);
    assert!(launchers.into_iter().all(|launcher| launcher == "threads"));
    let wrong = with_rccl().set("FAKE_GPU_FAULT", "wrong:rccl_all_gather,wrong:rccl_send");
    let arguments = collectives("rccl", &["--axis", COLLECTIVES, "--axis", "dtype=f32"]);
    let document = run(&wrong, &borrowed(&arguments)).expect(1).json();
    for (operation, element) in
        [("all-gather", 16_382), ("send-receive", 16_383), ("all-to-all", 16_382)]
    {
        let found = case(&document, &format!("operation={operation}"));
        assert_reason(found, "failed", &format!("element {element} on rocm:2 is "));
    }
    assert_eq!(case(&document, "operation=broadcast")["outcome"], "simulated");
    let nowhere =
        fake_gpu().set("FAKE_GPU_DEVICES", "3").set("RSB_RCCL_LIBRARY", "/nonexistent/librccl.so");
    let arguments = collectives("rccl", &["--axis", "operation=broadcast", "--axis", "dtype=f32"]);
    let document = run(&nowhere, &borrowed(&arguments)).expect(5).json();
    assert_reason(case(&document, "operation=broadcast"), "skipped", "cannot be loaded");
}

#[test]
fn a_step_sums_its_gradients_beside_the_backward_pass_or_after_it() {
    let library = rsb_fake_gpu::file::library().unwrap().display().to_string();
    let bench = || fake_gpu().set("FAKE_GPU_DEVICES", "4").set("RSB_RCCL_LIBRARY", &library);
    let axes = |overlap| {
        format!(
            "multi-gpu --device 0 --axis operation=data-parallel --axis size=1MiB --axis num_gpus=4 \
             --axis scaling=strong,weak --axis batch_size=64 --axis peer=none --axis {overlap}"
        )
    };
    let document = run(&bench(), &axes("overlap=off,on")).expect(0).json();
    assert_eq!(cases(&document).len(), 4);
    assert_rest_stands(&document, "nothing");
    for scaling in ["strong", "weak"] {
        let of = |overlap: &str| {
            let found = cases(&document).iter().map(|case| &case["results"][0]);
            found
                .into_iter()
                .find(|found| found["scaling"] == scaling && found["overlap"] == overlap)
                .unwrap()
        };
        let number = |overlap: &str, field: &str| {
            of(overlap)[field].as_f64().unwrap_or_else(|| panic!("{:#}", of(overlap)))
        };
        assert_eq!(
            of("off")["batch_size"].as_u64(),
            Some(if scaling == "strong" { 64 } else { 256 })
        );
        assert!((number("off", "model_size_gb") * 1e9 - 1_048_576.0).abs() < 1.0);
        assert!(
            number("on", "time_per_step_ms") < number("off", "time_per_step_ms"),
            "{scaling}: overlap must shorten the step"
        );
        let overheads = ["on", "off"].map(|overlap| number(overlap, "communication_overhead_ms"));
        assert!(0.0 < overheads[0] && overheads[0] < overheads[1], "{scaling}: {overheads:?}");
        assert!(number("on", "memory_utilization_percent") > 0.0);
    }
    let wrong = bench().set("FAKE_GPU_FAULT", "wrong:rccl_all_reduce");
    let document = run(&wrong, &axes("overlap=on")).expect(1).json();
    for found in cases(&document) {
        assert_reason(found, "failed", "element 65535 on rocm:3 is ");
    }
}

#[test]
fn both_ways_over_the_link_at_once_and_arrays_in_place_are_verified() {
    let arguments =
        words("memory-transfer --axis direction=host-to-device,bidirectional --axis size=4MiB");
    let document = run(&fake_gpu(), &[&arguments[..], &["--axis", "host_memory=pinned"]].concat())
        .expect(0)
        .json();
    assert_rest_stands(&document, "nothing");
    let rate = |part: &str| number(case(&document, part), "bandwidth_gb_s");
    let ratio = rate("/bidirectional/") / rate("/host-to-device/");
    assert!(
        (1.8..2.05).contains(&ratio),
        "an exchange must have twice the bandwidth of a copy: {ratio}"
    );
    let arguments =
        words("memory-tiers --axis tier=device,bidirectional --axis operation=copy,read_write");
    let document = run(
        &fake_gpu(),
        &[&arguments[..], &["--axis", "size=1MiB", "--axis", "dtype=f32"]].concat(),
    );
    let document = document.expect(0).json();
    assert_eq!(
        case(&document, "/device/1MiB/operation=read_write")["results"][0]["accuracy_error"],
        0.0
    );
    assert_reason(
        case(&document, "bidirectional/1MiB/operation=read_write"),
        "skipped",
        "links support only copies",
    );
}

#[test]
fn a_wrong_sum_fails_its_case() {
    let bench = fake_gpu().set("FAKE_GPU_DEVICES", "2").set("FAKE_GPU_FAULT", "wrong:rsb_add");
    let arguments = ["all-reduce", "--axis", "size=64KiB", "--axis", "communication_backend=ring"];
    let document = run(
        &bench,
        &[&arguments[..], &["--device", "0", "--axis", "operation=all-reduce"]].concat(),
    );
    assert_reason(
        case(&document.expect(1).json(), "/all-reduce/"),
        "failed",
        "wrong result of all-reduce",
    );
}

#[test]
fn one_gpu_is_skipped_and_says_what_would_help() {
    let document = run(&fake_gpu(), &["multi-gpu", "--axis", "size=64KiB"]).expect(5).json();
    for found in cases(&document) {
        let word = if id(found).contains("/peer-") { "only device" } else { "1 device here" };
        assert_reason(found, "skipped", word);
    }
    let arguments = ["all-reduce", "--axis", "size=64KiB", "--axis", "communication_backend=ring"];
    let arguments = [&arguments[..], &["--axis", "operation=all-reduce"]].concat();
    let document = run(&fake_gpu(), &arguments).expect(5).json();
    assert_reason(case(&document, "/all-reduce/"), "skipped", "1 device here");
}

#[test]
fn a_decoder_is_verified_from_end_to_end_and_stage_by_stage() {
    let arguments = "inference --axis heads=4x8 --axis kv_heads=2 --axis mlp=swiglu --axis norm=rms --axis \
         positions=rotary --axis vocabulary=50 --axis sequence_length=16 --axis dtype=f32,f16 \
         --axis batch_size=2 --axis attention=staged,fused";
    let document = run(&fake_gpu(), arguments).expect(0).json();
    for phase in ["prefill", "decode"] {
        for dtype in ["f32", "f16"] {
            let of_kind = format!("/{phase}/{dtype}/");
            for found in cases(&document).iter().filter(|case| id(case).contains(&of_kind)) {
                let tokens = if phase == "prefill" { 32.0 } else { 2.0 };
                let rate = tokens / (number(found, "forward_time_ms") / 1e3);
                assert!(
                    (number(found, "tokens_per_second") / rate - 1.0).abs() < 1e-6,
                    "{found:#}"
                );
                assert!(
                    number(found, "accuracy_error") > 0.0,
                    "sums in 16 or 32 bits must have a rounding error"
                );
            }
        }
    }
    let broken = fake_gpu().set("FAKE_GPU_FAULT", "wrong:rsb_rotate");
    let document = run(&broken, arguments).expect(1).json();
    for found in cases(&document) {
        assert_reason(found, "failed", "wrong result of");
    }
}

/// Decoding a token uses the kernel for few rows, and a prompt uses the tiled kernel, on both
/// runtimes.
#[test]
fn weights_of_few_bits_are_verified_and_take_less_memory() {
    let arguments = "inference --axis heads=4x32 --axis kv_heads=2 --axis mlp=swiglu --axis \
         sequence_length=20 --axis dtype=f16 --axis weights=as-inputs,i8,i4";
    for runtime in RUNTIMES {
        let document = runtime.run(&runtime.fake_gpu(), arguments).expect(0).json();
        for phase in ["prefill", "decode"] {
            let of = |weights: &str| {
                let is_it = |name: &str| name.contains(phase) && name.ends_with(weights);
                let found = cases(&document).iter().find(|case| is_it(id(case)));
                found.unwrap_or_else(|| panic!("{phase} {weights}: {document:#}"))
            };
            let [whole, eight, four] = ["sequence_length=20", "weights=i8", "weights=i4"].map(of);
            let megabytes = [whole, eight, four].map(|case| number(case, "memory_used_mb"));
            assert!(megabytes[0] > megabytes[1] && megabytes[1] > megabytes[2], "{megabytes:?}");
            let result = &four["results"][0];
            assert_eq!(
                (&result["weight_dtype"], &result["group_size"]),
                (&json!("i4"), &json!(128))
            );
            assert_eq!(result["provider"], "native", "no library supports these products");
            assert!(number(four, "accuracy_error") > 0.0, "{four:#}");
        }
    }
    for (kernel, phase) in
        [("rsb_quantized_rows", "/decode/"), ("rsb_quantized_tiled", "/prefill/")]
    {
        let broken = fake_gpu().set("FAKE_GPU_FAULT", &format!("wrong:{kernel}"));
        let document = run(&broken, arguments).expect(1).json();
        for found in cases(&document)
            .iter()
            .filter(|case| id(case).contains("weights=") && id(case).contains(phase))
        {
            assert_reason(found, "failed", "wrong result of");
        }
    }
}

/// The result of each pass is verified when replayed as a graph. A device without graphs is skipped
/// with a reason.
#[test]
fn a_pass_is_recorded_as_a_graph() {
    let arguments = "inference --axis phase=decode --axis heads=2x8 --axis sequence_length=8 \
                     --axis output_length=2 --axis launch_mode=stream,graph";
    for runtime in RUNTIMES {
        let document = runtime.run(&runtime.fake_gpu(), arguments).expect(0).json();
        let graph = case(&document, "/launch_mode=graph");
        let stream =
            cases(&document).iter().find(|case| !id(case).contains("launch_mode")).unwrap();
        for field in ["provider", "accuracy_error", "tokens_per_second"] {
            assert!(!graph["results"][0][field].is_null(), "{field}: {graph:#}");
        }
        for field in ["provider", "accuracy_error"] {
            assert_eq!(graph["results"][0][field], stream["results"][0][field], "{field}");
        }
        let broken = runtime.with_fault("wrong:rsb_rearrange");
        let document = runtime.run(&broken, arguments).expect(1).json();
        assert_reason(case(&document, "/launch_mode=graph"), "failed", "wrong result of");
    }
    let on_the_cpu = format!("run --backend cpu --json {arguments}");
    let on_the_cpu = Bench::new().run(&[&words(&on_the_cpu)[..], &SMALL].concat());
    let document = on_the_cpu.json();
    assert_reason(case(&document, "/launch_mode=graph"), "skipped", "does not support graphs");
}

#[test]
fn peak_and_measurement_stand_side_by_side_on_every_architecture() {
    for (arch, unit, tiles) in
        [("gfx942", "MFMA 3", true), ("gfx1100", "WMMA 1", true), ("gfx1030", "none", false)]
    {
        let bench = fake_gpu().set("FAKE_GPU_ARCH", arch);
        let arguments = ["tensor-core", "--axis", "dtype=f16", "--axis", "engine=matrix,vector"];
        let document = run(&bench, &arguments).json();
        let matrix = case(&document, "/f16/matrix");
        if tiles {
            assert!((1.0..=100.0).contains(&number(matrix, "roofline_percent")), "{matrix:#}");
            assert!(number(matrix, "gemm_tflops") > 0.0);
            assert_eq!(matrix["results"][0]["matrix_unit"], unit);
        } else {
            assert_reason(matrix, "skipped", "has no unit that supports it");
            assert_eq!(case(&document, "/f16/vector")["results"][0]["matrix_unit"], unit);
        }
    }
}
