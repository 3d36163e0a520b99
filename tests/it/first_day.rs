//! `doctor --first-day` with the real binary: on the CPU, with its Vulkan and OpenCL drivers, and
//! on fake GPUs.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::Value;

use crate::common::Bench;
use crate::schemas::check;

/// Returns a bench that uses only the CPU.
fn on_cpu() -> Bench {
    let bench = Bench::new();
    bench.write("rusty-stack-bench.toml", "[run]\nbackend = \"cpu\"\n");
    bench
}

/// Runs one check and returns its document, which must match its schema.
fn one(bench: &Bench, number: u8, code: i32) -> Value {
    let ended = bench
        .run(&["doctor", "--first-day", "--check", &number.to_string(), "--json"])
        .expect(code);
    let document = ended.json();
    check("first-day", &document);
    let checks = document["checks"].as_array().unwrap();
    assert_eq!((checks.len(), &checks[0]["number"]), (1, &Value::from(number)), "{document:#}");
    for value in
        checks[0]["values"].as_array().unwrap().iter().filter(|value| value["status"] == "skipped")
    {
        assert!(value["note"].is_string(), "a skipped value must have a reason: {value}");
    }
    document
}

/// Returns the only folder that was written.
fn folder(bench: &Bench) -> PathBuf {
    let folders = std::fs::read_dir(bench.path("benchmark_results/first-day")).unwrap();
    let folders: Vec<PathBuf> = folders.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(folders.len(), 1, "{folders:?}");
    folders[0].clone()
}

#[test]
fn a_check_on_the_cpu_passes_and_leaves_a_folder_without_names() {
    let bench = on_cpu().set("USER", "ada").set("HOME", "/home/ada");
    let document = one(&bench, 3, 0);
    assert_eq!(document["devices"][0]["device"], "cpu:0");
    assert!(
        ["ok", "look"].contains(&document["checks"][0]["status"].as_str().unwrap()),
        "{document:#}"
    );
    let folder = folder(&bench);
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let [json, text, run] = ["first-day.json", "first-day.txt", "run.json"].map(read);
    check("first-day", &serde_json::from_str(&json).unwrap());
    let run_document: Value = serde_json::from_str(&run).unwrap();
    check("run", &run_document);
    assert!(
        run_document["benchmarks"]
            .as_array()
            .unwrap()
            .iter()
            .any(|case| case["outcome"] == "measured")
    );
    assert!(text.contains("control") && text.contains("1 check: "), "{text}");
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    for document in [json, text, run] {
        assert!(!document.contains("/home/ada"), "{document}");
        assert!(
            !document.contains(host.trim()),
            "the document must not contain the host name {}: {document}",
            host.trim()
        );
    }
    // The run can be read by `report` like any other.
    bench
        .run(&[
            "report",
            &folder.join("run.json").display().to_string(),
            "--format",
            "text",
            "--output",
            "x.txt",
        ])
        .expect(0);
    assert!(
        bench.run_files().is_empty(),
        "the run must not be stored with the runs that a gate judges"
    );
}

#[test]
fn what_only_a_gpu_can_be_checked_for_is_skipped_and_passes() {
    let bench = on_cpu();
    for number in [2, 6, 11, 13, 15] {
        let document = one(&bench, number, 0);
        assert_eq!(document["summary"]["skipped"], 1, "{document:#}");
        let reason = &document["checks"][0]["reason"];
        assert!(
            ["what", "why", "cure"].iter().all(|name| !reason[name].as_str().unwrap().is_empty()),
            "{reason}"
        );
    }
}

#[test]
fn without_a_card_the_drivers_for_the_cpu_are_checked_too() {
    let bench = Bench::new();
    let document = one(&bench, 8, 0);
    let names: Vec<&str> = document["devices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|device| device["device"].as_str().unwrap())
        .collect();
    if !names.contains(&"cpu:0") {
        return; // A card is here.
    }
    for backend in ["vulkan", "opencl"] {
        if crate::common::backend::is_here(backend) {
            assert!(names.contains(&format!("{backend}:0").as_str()), "{names:?}");
        }
    }
    let page = std::fs::read_to_string(folder(&bench).join("first-day.txt")).unwrap();
    assert!(page.contains("runs on the CPU: no expected ranges"), "{page}");
}

#[test]
fn a_check_that_does_not_exist_is_a_usage_error_that_lists_them() {
    for wrong in ["17", "0", "x", "-1"] {
        let ended =
            Bench::new().run(&["doctor", "--first-day", &format!("--check={wrong}")]).expect(2);
        for word in ["1 inventory", "16 repeatability", wrong] {
            assert!(ended.stderr.contains(word), "{word}: {}", ended.stderr);
        }
    }
    for arguments in [
        &["doctor", "--check", "3"][..],
        &["doctor", "--first-day", "--baseline"],
        &["doctor", "--first-day", "--sysfs-root", "/sys"],
    ] {
        Bench::new().run(arguments).expect(2);
    }
    let bench = Bench::new();
    bench.write("rusty-stack-bench.toml", "[run]\nbackend = \"cpu\"\ndevice = [7]\n");
    let ended = bench.run("doctor --first-day --check 3").expect(2);
    assert!(ended.stderr.contains("there is no device 7"), "{}", ended.stderr);
}

#[test]
fn results_that_cannot_be_kept_are_a_usage_error_before_anything_is_measured() {
    let bench = on_cpu();
    bench.write("benchmark_results", "a file");
    let ended = bench.run("doctor --first-day --check 3").expect(2);
    assert!(ended.stderr.contains("--results-dir"), "{}", ended.stderr);
}

/// Returns a bench with the program `name`, a shell script, first on PATH.
#[cfg(feature = "rocm")]
fn with_program(bench: Bench, name: &str, script: &str) -> Bench {
    let program = bench.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path =
        format!("{}:{}", bench.path("bin").display(), std::env::var("PATH").unwrap_or_default());
    bench.set("PATH", &path)
}

#[cfg(feature = "rocm")]
fn fake_mi300x() -> Bench {
    crate::fake_gpu::support::ROCM.fake_gpu().set("FAKE_GPU_ARCH", "gfx942")
}

#[cfg(feature = "rocm")]
#[test]
fn the_inventory_is_held_against_rocminfo() {
    let agent = |arch: &str, units: u32| {
        format!(
            "printf 'HSA Agents\\nAgent 1\\n  Name: CPU\\n  Device Type: CPU\\nAgent 2\\n  Name: \
             {arch}\\n  \
             Marketing Name: AMD Instinct MI300X\\n  Device Type: GPU\\n  Max Clock Freq. (MHz): \
             2100\\n  \
             Compute Unit: {units}\\n'"
        )
    };
    for (script, code, status) in [
        (agent("gfx942", 304), 0, "ok"),
        (agent("gfx90a", 304), 1, "failed"),
        (agent("gfx942", 38), 1, "failed"),
        ("echo ROCk module is NOT loaded; exit 0".to_owned(), 1, "failed"),
        ("exit 3".to_owned(), 0, "look"),
    ] {
        let bench = with_program(fake_mi300x(), "rocminfo", &script);
        let document = one(&bench, 1, code);
        // `doctor` may find a problem of this machine, reported as worth a look.
        let values = document["checks"][0]["values"].as_array().unwrap();
        let own: Vec<&Value> = values.iter().filter(|value| value["what"] != "doctor").collect();
        assert!(own.iter().any(|value| value["status"] == status), "{status}: {document:#}");
    }
}

#[cfg(feature = "rocm")]
#[test]
fn modules_compile_and_the_chase_is_disassembled() {
    let code = |load: &str| {
        format!(
            "printf '0000000000001000 <rsb_pointer_chase>:\\n\\ts_load_dwordx4 s[0:3] \
             // 000000001000: C0\\n\\t{load} v[0:1] // 000000001008: DC\\n\\ts_cbranch_scc1 \
             65532 // 000000001010: BF <rsb_pointer_chase+0x8>\\n'"
        )
    };
    for (load, exit, status, found) in [
        ("global_load_dwordx2", 0, "ok", "vector loads"),
        ("s_load_dwordx2", 1, "failed", "scalar loads"),
    ] {
        let bench = fake_mi300x();
        let objdump =
            bench.write("rocm/llvm/bin/llvm-objdump", &format!("#!/bin/sh\n{}\n", code(load)));
        std::fs::set_permissions(&objdump, std::fs::Permissions::from_mode(0o755)).unwrap();
        let root = bench.path("rocm").display().to_string();
        let document = one(&bench.set("ROCM_PATH", &root), 2, exit);
        let values = document["checks"][0]["values"].as_array().unwrap();
        assert_eq!(values[0]["found"], "10 of 10 compile", "{document:#}");
        let chase = values.iter().find(|value| value["what"] == "pointer chase").unwrap();
        assert_eq!(
            (&chase["status"], &chase["found"]),
            (&Value::from(status), &Value::from(found))
        );
    }
}

#[cfg(feature = "rocm")]
#[test]
fn a_compiler_that_ends_its_process_fails_each_module() {
    let bench =
        crate::fake_gpu::support::ROCM.with_fault("abort:hiprtc").set("ROCM_PATH", "/nonexistent");
    let document = one(&bench, 2, 1);
    let values = document["checks"][0]["values"].as_array().unwrap();
    assert_eq!(values[0]["found"], "0 of 10 compile", "{document:#}");
    let failed =
        values.iter().filter(|value| value["status"] == "failed" && value["note"].is_string());
    assert_eq!(failed.count(), 10, "{document:#}");
}

#[cfg(feature = "rocm")]
#[test]
fn a_simulated_card_has_values_and_no_expectation() {
    let bench = fake_mi300x();
    for (number, what) in [(6, "single"), (14, "graph over stream")] {
        let document = one(&bench, number, 0);
        assert_eq!(document["devices"][0]["device_type"], "simulated");
        let values = document["checks"][0]["values"].as_array().unwrap();
        let value = values
            .iter()
            .find(|value| value["what"] == what)
            .unwrap_or_else(|| panic!("{document:#}"));
        assert!(
            value["measured"].as_f64().unwrap() > 0.0 && value["expected"].is_null(),
            "{value}"
        );
    }
    let page = std::fs::read_dir(bench.path("benchmark_results/first-day"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let page = std::fs::read_to_string(page.join("first-day.txt")).unwrap();
    assert!(page.contains("its times are meaningless"), "{page}");
}

/// Runs all checks, as a user does on the day that a card arrives.
#[cfg(feature = "rocm")]
fn whole_day(bench: &Bench) {
    let document = bench.run("doctor --first-day --json").expect(0).json();
    check("first-day", &document);
    let checks = document["checks"].as_array().unwrap();
    let numbers: Vec<u64> = checks.iter().map(|check| check["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=16).collect::<Vec<_>>());
    for check in checks {
        match check["status"].as_str().unwrap() {
            "ok" | "look" => assert!(!check["values"].as_array().unwrap().is_empty(), "{check:#}"),
            "skipped" => assert!(check["reason"]["cure"].is_string(), "{check:#}"),
            other => panic!("{other}: {check:#}"),
        }
    }
    // These checks need no other programs or libraries.
    for number in [2, 3, 4, 5, 6, 8, 9, 10, 14] {
        assert_ne!(checks[number - 1]["status"], "skipped", "{:#}", checks[number - 1]);
    }
    let page = std::fs::read_to_string(folder(bench).join("first-day.txt")).unwrap();
    assert!(page.contains("16 checks: "), "{page}");
}

#[cfg(feature = "rocm")]
#[test]
fn the_whole_day_of_a_simulated_mi300x_ends_without_a_failure() {
    whole_day(&fake_mi300x());
}

#[cfg(all(feature = "rocm", feature = "cuda"))]
#[test]
fn the_whole_day_of_a_simulated_nvidia_gpu_ends_without_a_failure() {
    whole_day(&crate::fake_gpu::support::CUDA.fake_gpu());
}

#[cfg(feature = "rocm")]
#[test]
fn a_wrong_result_fails_the_day() {
    let bench = crate::fake_gpu::support::ROCM.with_fault("wrong:rsb_copy");
    let document = one(&bench, 7, 1);
    assert_eq!(document["checks"][0]["status"], "failed", "{document:#}");
}
