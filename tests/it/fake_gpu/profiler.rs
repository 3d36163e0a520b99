//! The vendors' profilers next to a case, with scripts that replace the tools: each runs its
//! command and writes a table in the format of its tool.

use std::os::unix::fs::PermissionsExt;

use crate::common::Bench;
use serde_json::Value;

use super::support::{Runtime, assert_reason, cases, each, id, outcome};

const ROCPROFV3: &str = r#"#!/bin/sh
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

const NCU: &str = r#"#!/bin/sh
while [ "$1" != "--log-file" ]; do
    if [ "$1" = "--metrics" ]; then metrics=$2; fi
    shift
done
file=$2
shift 2
"$@" > answers || exit 1
grep -q '"ready"' answers || exit 1
case $metrics in
    sm__warps_active.*) values=70.5 ;;
    smsp__thread_inst*) values=32 ;;
    dram__bytes_read*) values='163,840 81,920' ;;
    sm__cycles_active.*) values=94 ;;
    *) echo "==ERROR== Failed to find metric $metrics" >&2; exit 1 ;;
esac
{
    echo '==PROF== Profiling "rsb_triad_f32"'
    echo '"ID","Kernel Name","Block Size","Grid Size","Metric Name","Metric Unit","Metric Value"'
    for value in $values; do
        echo "\"0\",\"rsb_triad_f32\",\"(256, 1, 1)\",\"(104, 1, 1)\",\"${metrics%%,*}\",\"\",\"$value\""
        metrics=${metrics#*,}
    done
} > "$file"
"#;

const CASES: &str = "occupancy --axis operation=triad --axis size=64KiB --axis block_size=256";

/// Returns the results of the GPU case with the profiler and of the same case without.
fn both<'d>(document: &'d Value, device: &str, tool: &str) -> [&'d Value; 2] {
    let find = |end: &str| cases(document).iter().find(|case| id(case).ends_with(end)).unwrap();
    let plain = format!("/{device}/triad/f32/256/size=64KiB");
    [find(&format!("{plain}/profiler={tool}")), find(&plain)]
}

fn with_path(bench: Bench) -> Bench {
    let path = format!("{}:/usr/bin:/bin", bench.path("tools").display());
    bench.set("PATH", &path).set("ROCM_PATH", "/nonexistent").set("CUDA_HOME", "/nonexistent")
}

#[test]
fn what_the_counters_say_stands_beside_the_case() {
    for (runtime, (name, script)) in each([("rocprofv3", ROCPROFV3), ("ncu", NCU)]) {
        let bench = with_path(runtime.fake_gpu());
        let tool = bench.write(&format!("tools/{name}"), script);
        std::fs::set_permissions(tool, std::fs::Permissions::from_mode(0o755)).unwrap();
        let document = document(runtime, &bench, name);
        let [counted, plain] = both(&document, &format!("{}:0", runtime.backend), name);
        assert_eq!((outcome(counted), outcome(plain)), ("simulated", "simulated"), "{counted:#}");
        let counted = &counted["results"][0];
        assert_eq!(
            (&counted["measured_occupancy_percent"], &counted["grid_size"]),
            (&70.5.into(), &104.into())
        );
        assert_eq!(
            (&counted["wave_efficiency_percent"], &counted["profiler"]),
            (&100.0.into(), &name.into())
        );
        // The kernel requests three arrays of 64 KiB and transfers 240 KiB, an efficiency of 80 %.
        let shares = ["warp_efficiency_percent", "global_memory_efficiency_percent"]
            .map(|name| counted[name].as_f64());
        assert_eq!(
            (shares, counted["sm_efficiency_percent"].as_f64()),
            ([Some(100.0), Some(80.0)], Some(94.0))
        );
        assert!(
            counted["memory_busy_percent"].is_null(),
            "a missing counter must be null and must not affect others: {counted:#}"
        );
    }
}

#[test]
fn without_the_tool_the_case_is_skipped_with_the_cure() {
    for (runtime, name) in each(["rocprofv3", "ncu"]) {
        let bench = with_path(runtime.fake_gpu());
        let document = document(runtime, &bench, name);
        let [counted, plain] = both(&document, &format!("{}:0", runtime.backend), name);
        assert_reason(counted, "skipped", "it is neither on PATH nor in ");
        assert_eq!(outcome(plain), "simulated");
    }
}

/// Runs the cases with a tool and without.
fn document(runtime: Runtime, bench: &Bench, tool: &str) -> Value {
    let profilers = format!("profiler={tool},none");
    runtime.run(bench, &format!("{CASES} --axis {profilers}")).expect(0).json()
}
