use super::*;
use crate::host::fake::Tree;

const LONG: Duration = Duration::from_secs(30);

fn quiet() -> Tree {
    Tree::new(&[
        ("proc/loadavg", "0.10 0.20 0.30 1/91 18546\n"),
        ("proc/stat", "cpu  100 0 50 850 0 0 0 0 0 0\n"),
        ("sys/devices/system/cpu/online", "0-3\n"),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "3400000\n"),
        ("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "3\n"),
        ("sys/class/thermal/thermal_zone0/temp", "41000\n"),
        ("sys/class/thermal/cooling_device0/temp", "99000\n"),
        ("sys/class/hwmon/hwmon1/temp1_input", "52500\n"),
        ("sys/class/hwmon/hwmon1/temp1_crit", "105000\n"),
        ("sys/class/hwmon/hwmon2/temp1_input", "65261850\n"),
        ("sys/class/hwmon/hwmon3/temp1_input", "88000\n"),
        ("sys/class/hwmon/hwmon3/device/power/runtime_status", "suspended\n"),
        ("sys/class/power_supply/AC/type", "Mains\n"),
        ("sys/class/power_supply/AC/online", "1\n"),
    ])
}

fn sampled(tree: &Tree) -> StateSample {
    sample_of(&Arc::new(tree.host()), LONG)
}

/// Returns the warnings of a quiet machine after `files` changed.
fn warned(files: &[(&str, &str)]) -> Vec<String> {
    let tree = quiet();
    for (path, content) in files {
        tree.write(path, content);
    }
    let sample = sampled(&tree);
    warnings::now(&sample.moment, &sample.seen)
}

#[test]
fn a_quiet_machine_is_read_whole_and_warns_of_nothing() {
    let sample = sampled(&quiet());
    let expected = MachineState {
        load_average: Some(0.1),
        governor: Some("performance".into()),
        mhz: Some(3400.0),
        steal_percent: Some(0.0),
        throttle_events: Some(3),
        temperature_c: Some(52.5),
        warnings: vec![],
    };
    assert_eq!(sample.moment, expected, "faulty and sleeping sensors must be left out");
    assert_eq!(warned(&[]), Vec::<String>::new());
    let nothing = sampled(&Tree::new(&[]));
    assert_eq!(nothing.moment, MachineState::default(), "values that cannot be read are unknown");
}

#[test]
fn each_disturbance_is_a_sentence_with_its_cure() {
    for (path, content, begins, cure) in [
        ("proc/loadavg", "3.14 1 1 1/1 1", "the load average is 3.1 on 4 threads", "stop it"),
        (
            "proc/stat",
            "cpu  900 0 0 0 0 0 0 100 0 0\n",
            "the hypervisor gave 10.0 %",
            "more replicates",
        ),
        (
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
            "powersave",
            "the frequency governor is powersave",
            "cpupower",
        ),
        ("sys/class/hwmon/hwmon1/temp1_input", "95000", "the hottest sensor reads 95 °C", "cool"),
        ("sys/class/power_supply/AC/online", "0", "the machine runs on its battery", "plug it in"),
    ] {
        let found = warned(&[(path, content)]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(begins) && found[0].contains(cure), "{found:?}");
    }
}

#[test]
fn an_interval_tells_what_happened_in_it() {
    let tree = quiet();
    tree.write("proc/self/cgroup", "0::/\n");
    tree.write("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    tree.write("sys/fs/cgroup/cpu.stat", "nr_throttled 7\n");
    tree.write("sys/class/hwmon/hwmon1/temp1_input", "80000\n");
    let before = sampled(&tree);
    let calm = state_between(&before, &sampled(&tree));
    assert_eq!((calm.throttle_events, calm.warnings), (Some(0), vec![]));

    tree.write("proc/loadavg", "7.00 1 1 1/1 1\n");
    tree.write("proc/stat", "cpu  190 0 50 850 0 0 0 10 0 0\n");
    tree.write("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "4\n");
    tree.write("sys/fs/cgroup/cpu.stat", "nr_throttled 9\n");
    tree.write("sys/class/hwmon/hwmon1/temp1_input", "60000\n");
    let state = state_between(&before, &sampled(&tree));
    assert_eq!((state.steal_percent, state.throttle_events), (Some(10.0), Some(1)));
    assert_eq!(state.temperature_c, Some(80.0), "the higher of the two temperatures");
    let starts = [
        "the load average reached 7.0",
        "the hypervisor gave 10.0 %",
        "heat throttled the CPU 1 time ",
        "the control group used up its CPU quota 2 times",
    ];
    assert_eq!(state.warnings.len(), starts.len(), "{:?}", state.warnings);
    for (warning, start) in state.warnings.iter().zip(starts) {
        assert!(warning.starts_with(start), "{warning}");
    }
}

#[test]
fn the_own_load_of_a_benchmark_is_no_warning() {
    let tree = quiet();
    let before = sampled(&tree);
    tree.write("proc/loadavg", "4.60 1 1 1/1 1\n");
    assert_eq!(state_between(&before, &sampled(&tree)).warnings, Vec::<String>::new());
}

#[test]
fn malformed_files_are_unknown() {
    let tree = Tree::new(&[
        ("proc/loadavg", "nan\n"),
        ("proc/stat", "cpu\n"),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "0\n"),
        ("sys/class/thermal/thermal_zone0/temp", "-274000\n"),
    ]);
    assert_eq!(sampled(&tree).moment, MachineState::default());
}

#[test]
#[cfg(target_os = "linux")]
fn this_machine_has_a_load() {
    assert!(state().load_average.is_some());
    let (one, other) = (sample(), sample());
    assert!(state_between(&one, &other).load_average.is_some());
}
