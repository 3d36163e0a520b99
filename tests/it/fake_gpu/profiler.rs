//! AMD's profiler beside a case, by a script that stands for the tool: it runs what it is given and writes a table in the
//! tool's form.

use std::os::unix::fs::PermissionsExt;

use crate::common::Bench;
use serde_json::Value;

use super::support::{assert_reason, cases, fake_gpu, id, outcome, run};

const TOOL: &str = r#"#!/bin/sh
counter=$2
while [ "$1" != "--" ]; do
    if [ "$1" = "-d" ]; then directory=$2; fi
    shift
done
shift
"$@" > answers || exit 1
grep -q '"ready"' answers || exit 1
case $counter in
    OccupancyPercent) value=70.5 ;;
    VALUUtilization) value=100 ;;
    FETCH_SIZE) value=160 ;;
    WRITE_SIZE) value=80 ;;
    GRBM_GUI_ACTIVE) value=940 ;;
    *) echo "counter $counter is not known here" >&2; exit 1 ;;
esac
mkdir "$directory/pass_1"
{
    echo '"Grid_Size","Kernel_Name","Workgroup_Size","Counter_Name","Counter_Value"'
    echo "26624,\"rsb_triad_f32\",256,\"$counter\",$value"
    if [ "$counter" = GRBM_GUI_ACTIVE ]; then echo '26624,"rsb_triad_f32",256,"GRBM_COUNT",1000'; fi
} > "$directory/pass_1/profile_counter_collection.csv"
"#;

const CASES: [&str; 9] = [
    "occupancy",
    "--axis",
    "operation=triad",
    "--axis",
    "size=64KiB",
    "--axis",
    "block_size=256",
    "--axis",
    "profiler=rocprofv3,none",
];

/// The two cases on the GPU: with the tool, and without.
fn both(document: &Value) -> [&Value; 2] {
    let find = |end: &str| cases(document).iter().find(|case| id(case).ends_with(end)).unwrap();
    [find("/rocm:0/triad/f32/256/size=64KiB/profiler=rocprofv3"), find("/rocm:0/triad/f32/256/size=64KiB")]
}

fn with_path(bench: Bench) -> Bench {
    let path = format!("{}:/usr/bin:/bin", bench.path("tools").display());
    bench.set("PATH", &path).set("ROCM_PATH", "/nonexistent")
}

#[test]
fn what_the_counters_say_stands_beside_the_case() {
    let bench = with_path(fake_gpu());
    let tool = bench.write("tools/rocprofv3", TOOL);
    std::fs::set_permissions(tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    let document = run(&bench, &CASES).expect(0).json();
    let [counted, plain] = both(&document);
    assert_eq!((outcome(counted), outcome(plain)), ("simulated", "simulated"), "{counted:#}");
    let counted = &counted["results"][0];
    assert_eq!((&counted["measured_occupancy_percent"], &counted["grid_size"]), (&70.5.into(), &104.into()));
    assert_eq!(counted["wave_efficiency_percent"], 100.0, "{counted:#}");
    // Three arrays of 64 KiB were asked for, and 240 KiB moved.
    let shares = ["warp_efficiency_percent", "global_memory_efficiency_percent"].map(|name| counted[name].as_f64());
    assert_eq!((shares, counted["sm_efficiency_percent"].as_f64()), ([Some(100.0), Some(80.0)], Some(94.0)));
    assert!(counted["memory_busy_percent"].is_null(), "a counter that the GPU lacks takes no other away: {counted:#}");
}

#[test]
fn without_the_tool_the_case_is_skipped_with_the_cure() {
    let document = run(&with_path(fake_gpu()), &CASES).expect(0).json();
    let [counted, plain] = both(&document);
    assert_reason(counted, "skipped", "neither on PATH nor in ROCm's directory");
    assert_eq!(outcome(plain), "simulated");
}
