//! `probe`, `doctor` and `gpu-capability` on trees that replace `/sys`, created here or captured
//! from real machines. The captured ones are outside of the repository: without them (`RSB_SHARED`,
//! or `../shared` next to it) the test prints that it was skipped.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Bench, says};
use serde_json::Value;

const DEVICE: &str = "class/drm/card0/device";
const NODE: &str = "class/kfd/kfd/topology/nodes/1";

/// Returns a tree with an MI300X in both the DRM and KFD, with uncorrected errors and a narrow
/// link.
fn accelerator() -> Bench {
    let bench = Bench::new();
    let event = "DRIVER=amdgpu\nPCI_CLASS=120000\nPCI_ID=1002:74A1\nPCI_SLOT_NAME=0000:05:00.0\n";
    let properties = "simd_count 1216\nsimd_per_cu 4\ngfx_target_version 90402\nvendor_id \
                      4098\ndevice_id 29857\n\
                      location_id 1280\ndomain 0\ndrm_render_minor 128\nmax_engine_clk_fcompute \
                      2100\n";
    for (file, content) in [
        ("uevent", event),
        ("mem_info_vram_total", "206141652992\n"),
        ("mem_info_vram_used", "1000000000\n"),
        ("gpu_busy_percent", "97\n"),
        ("current_compute_partition", "SPX\n"),
        ("current_memory_partition", "NPS1\n"),
        ("current_link_speed", "32.0 GT/s PCIe\n"),
        ("current_link_width", "8\n"),
        ("max_link_speed", "32.0 GT/s PCIe\n"),
        ("max_link_width", "16\n"),
        ("ras/umc_err_count", "ue: 2\nce: 7\nde: 0\n"),
    ] {
        bench.write(&format!("{DEVICE}/{file}"), content);
    }
    bench.write(&format!("{NODE}/properties"), properties);
    let bank = "heap_type 1\nsize_in_bytes 206141652992\nflags 0\nwidth 8192\nmem_clk_max 1300\n";
    bench.write(&format!("{NODE}/mem_banks/0/properties"), bank);
    bench
}

fn on_tree(bench: &Bench, tree: &Path, verb: &str) -> crate::common::ProgramOutput {
    bench.run(&[verb, "--sysfs-root", tree.to_str().unwrap()])
}

fn json_of(bench: &Bench, tree: &Path, verb: &str) -> (i32, Value) {
    let ended = bench.run(&[verb, "--json", "--sysfs-root", tree.to_str().unwrap()]);
    (ended.code, ended.json())
}

#[test]
fn an_accelerator_is_described_whole() {
    let bench = accelerator();
    let tree = bench.path("");
    let (code, document) = json_of(&bench, &tree, "probe");
    let gpu = &document["gpus"][0];
    assert_eq!(
        (code, &gpu["name"], &gpu["gfx_target"]),
        (0, &"AMD Instinct MI300X".into(), &"gfx942".into())
    );
    assert_eq!((&gpu["compute_units"], &gpu["max_mhz"]), (&304.into(), &2100.0.into()));
    assert_eq!(
        (&gpu["vram_gb"], &gpu["memory_bandwidth_gb_s"]),
        (&206.141_652_992.into(), &5324.8.into())
    );
    assert_eq!((&gpu["partition"], &gpu["memory"]["kind"]), (&"SPX/NPS1".into(), &"HBM3".into()));
    assert_eq!(
        (&gpu["pcie"]["now"]["width"], &gpu["ecc"]["total"]["uncorrectable"]),
        (&8.into(), &2.into())
    );
    assert!(
        document["os"].is_null() && document["rocm"].is_null(),
        "host properties must be left out"
    );
    let page = on_tree(&bench, &tree, "probe").expect(0).stdout;
    for words in [
        "304 compute units, up to 2100 MHz",
        "206 GB HBM3, 8192 bits",
        "5.32 TB/s",
        "2 not corrected",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(!page.contains("Software") && !page.contains("not found"), "{page}");
}

#[test]
fn an_error_is_exit_1_and_comes_first_with_its_cure() {
    let bench = accelerator();
    let (code, document) = json_of(&bench, &bench.path(""), "doctor");
    let first = &document["findings"][0];
    assert_eq!(
        (code, &document["format_version"], &first["severity"]),
        (1, &3.into(), &"error".into())
    );
    assert!(
        first["what"].as_str().unwrap().contains("2 memory errors") && first["cure"].is_string(),
        "{first}"
    );
    assert_eq!(
        (&document["summary"]["error"], &document["summary"]["warning"]),
        (&1.into(), &1.into()),
        "{document}"
    );
    let page = on_tree(&bench, &bench.path(""), "doctor").expect(1).stdout;
    assert!(
        page.starts_with("error ") && page.contains("of 32 GT/s x16") && page.contains("cure: "),
        "{page}"
    );
    assert!(page.contains("built with ") && page.trim_end().ends_with("ok."), "{page}");
    let parts = document["build"].as_array().unwrap();
    assert!(parts.iter().any(|part| part["name"] == "pdf" && part["is_present"].is_boolean()));
}

/// The peaks in AMD's data sheet for the MI300X.
#[test]
fn a_gpu_tells_its_peaks() {
    let bench = accelerator();
    let (code, document) = json_of(&bench, &bench.path(""), "gpu-capability");
    let case = &document["benchmarks"][0];
    assert_eq!(
        (code, &case["outcome"], document["run_id"].is_string()),
        (0, &"measured".into(), true)
    );
    let facts = &case["results"][0];
    assert_eq!(
        (&facts["matrix_unit"], &facts["gpu_utilization_percent"]),
        (&"MFMA 3".into(), &97.0.into())
    );
    for (dtype, engine, printed) in
        [("fp8", "matrix", 2614.9), ("f16", "matrix", 1307.4), ("f64", "vector", 81.7)]
    {
        let peaks = case["results"].as_array().unwrap();
        let peak = peaks
            .iter()
            .find(|peak| peak["dtype"] == dtype && peak["operation"] == engine)
            .unwrap();
        assert!((peak["peak_tflops"].as_f64().unwrap() / printed - 1.0).abs() < 1e-3, "{peak}");
    }
    let page = on_tree(&bench, &bench.path(""), "gpu-capability").expect(0).stdout;
    assert!(page.contains("2615") && page.contains("97 %") && page.contains("5.32 TB/s"), "{page}");
    assert!(!bench.path("benchmark_results").exists(), "nothing may be stored");
}

#[test]
fn a_tree_without_a_gpu_is_no_error_and_nothing_to_describe() {
    let bench = Bench::new();
    bench.write("class/drm/version", "drm 1.1.0 20060810\n");
    let tree = bench.path("");
    says(&on_tree(&bench, &tree, "probe").expect(0).stdout, &["no AMD, NVIDIA or Intel GPU"]);
    assert!(on_tree(&bench, &tree, "doctor").expect(0).stdout.contains("no GPU was found"));
    let (code, document) = json_of(&bench, &tree, "gpu-capability");
    let case = &document["benchmarks"][0];
    assert_eq!((code, &case["outcome"]), (5, &"skipped".into()));
    for field in ["what", "why", "cure"] {
        assert!(case[field].as_str().is_some_and(|text| !text.is_empty()), "{field}");
    }
    for verb in ["probe", "doctor", "gpu-capability"] {
        says(&on_tree(&bench, Path::new("/nonexistent"), verb).expect(2).stderr, &["/nonexistent"]);
    }
}

/// A pipe without a writer simulates a read that hangs.
#[cfg(unix)]
#[test]
fn a_gpu_that_does_not_answer_is_an_error_and_a_line() {
    let hang = |bench: &Bench, file: &str| {
        let pipe = bench.path(file);
        drop(std::fs::remove_file(&pipe));
        assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
    };
    let said = |bench: &Bench, words: &[&str]| {
        let tree = bench.path("");
        // Both subcommands wait for the GPU until their timeout, so run them in parallel.
        let (doctor, probe) = std::thread::scope(|scope| {
            let doctor = scope.spawn(|| on_tree(bench, &tree, "doctor").expect(1).stdout);
            let probe = on_tree(bench, &tree, "probe").expect(0).stdout;
            (doctor.join().unwrap(), probe)
        });
        assert!(doctor.starts_with("error ") && !doctor.contains("no GPU was found"), "{doctor}");
        assert!(!doctor.contains("No error"), "{doctor}");
        assert!(!probe.contains("no AMD, NVIDIA or Intel GPU"), "{probe}");
        for word in words {
            assert!(doctor.contains(word) && probe.contains(word), "{word}:\n{doctor}\n{probe}");
        }
    };
    let part = accelerator();
    hang(&part, &format!("{DEVICE}/pp_dpm_sclk"));
    said(&part, &["card0 does not answer", "its clocks"]);
    let (_, document) = json_of(&part, &part.path(""), "probe");
    assert_eq!(
        (&document["gpus"][0]["name"], &document["unread_gpus"][0]["answer"]),
        (&"AMD Instinct MI300X".into(), &"late".into())
    );

    let whole = Bench::new();
    whole.write(&format!("{DEVICE}/vendor"), "0x1002\n");
    hang(&whole, &format!("{DEVICE}/uevent"));
    whole.write(&format!("{NODE}/name"), "aldebaran\n");
    hang(&whole, &format!("{NODE}/properties"));
    said(&whole, &["card0", "node 1 of the compute driver", "its identity"]);
}

/// Directories of an archive, and their paths in `/sys`.
type Layout<'a> = &'a [(&'a str, &'a str)];

/// Unpacks a capture in the layout of `/sys`.
fn captured(bench: &Bench, archive: &str, layout: Layout<'_>) -> Option<PathBuf> {
    let shared = std::env::var_os("RSB_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let archive = shared.join("captures").join(archive);
    if !archive.is_file() {
        test_needs::missing("captures", &format!("{} is not here", archive.display()));
        return None;
    }
    let (unpacked, tree) = (bench.path("unpacked"), bench.path("sys"));
    std::fs::create_dir_all(&unpacked).unwrap();
    let tar = Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(&unpacked).status();
    if !tar.is_ok_and(|status| status.success()) {
        test_needs::missing("tar", "it is not installed");
        return None;
    }
    for (from, to) in layout {
        std::fs::create_dir_all(tree.join(to).parent().unwrap()).unwrap();
        std::fs::rename(unpacked.join(from), tree.join(to)).unwrap();
    }
    Some(tree)
}

#[test]
fn captured_trees_are_readable_pages() {
    let mi210 = [("testdata/topo-mi210-xgmi-pcie", "class/kfd/kfd/topology")];
    let strix = [("strixpoint/card1", "class/drm/card1"), ("strixpoint/kfd", "class/kfd/kfd")];
    let cases: [(&str, Layout<'_>, &[&str]); 4] = [
        (
            "kfd/kfd-topo-mi210-xgmi-pcie.tgz",
            &mi210,
            &[
                "GPUs 0 to 7",
                "AMD Instinct MI210, gfx90a",
                "104 compute units",
                "joins GPUs 0 to 3, and GPUs 4 to 7",
                "45.3",
            ],
        ),
        (
            "sysfs/rx7900xtx.tar.gz",
            &[("rx7900xtx/card0", "class/drm/card0")],
            &[
                "AMD Radeon RX 7900 XTX, gfx1100",
                "GDDR6, up to 1249 MHz, size unknown",
                "31.5 GB/s",
                "WMMA 1",
            ],
        ),
        (
            "sysfs/rx9070.tar.gz",
            &[("rx9070/card1", "class/drm/card1")],
            &["gfx1201", "lowered from 220 W", "set manually (manual)", "25 %"],
        ),
        (
            "sysfs/strixpoint.tar.gz",
            &strix,
            &["Radeon 880M", "integrated", "16.4 GB shared with the machine", "8.91"],
        ),
    ];
    for (archive, layout, words) in cases {
        let bench = Bench::new();
        let Some(tree) = captured(&bench, archive, layout) else { return };
        let pages: String = ["probe", "doctor", "gpu-capability"]
            .map(|verb| on_tree(&bench, &tree, verb).expect(0).stdout)
            .concat();
        for word in words {
            assert!(pages.contains(word), "{archive}: `{word}` is not in\n{pages}");
        }
        assert!(!pages.contains("not found"), "{archive}: the host must not be searched:\n{pages}");
        let (_, document) = json_of(&bench, &tree, "probe");
        assert_eq!(document["format_version"], 3);
        assert!(!document["gpus"].as_array().unwrap().is_empty(), "{archive}");
    }
}
