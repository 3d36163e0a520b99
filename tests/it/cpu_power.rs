//! CPU power during a measurement, from a tree that replaces `/sys`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::{Bench, words};

const COUNTER: &str = "sys/class/powercap/intel-rapl:0";
const WATTS: f64 = 40.0;

#[test]
fn the_power_of_cpus_is_read_beside_every_case_where_they_tell_it() {
    let bench = Bench::new();
    bench.write(&format!("{COUNTER}/name"), "package-0\n");
    bench.write(&format!("{COUNTER}/max_energy_range_uj"), "262143328850\n");
    bench.write(&format!("{COUNTER}/energy_uj"), "1000000\n");
    let root = bench.path("sys").display().to_string();
    let gemm = words("gemm --axis shape=512x512x512 --axis dtype=f32 --backend cpu --replicates 1");
    let words = [&gemm[..], &["--runs", "10", "--json"]].concat();
    let unread = bench.run(&words).expect(0).json();
    let bench = bench.set("RSB_SYSFS_ROOT", &root);
    let (begun, is_done) = (Instant::now(), AtomicBool::new(false));
    let document = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                let energy_uj = 1e6 + begun.elapsed().as_secs_f64() * WATTS * 1e6;
                // Like the kernel, never show a partial value to readers.
                bench.write("half", &format!("{energy_uj:.0}\n"));
                std::fs::rename(bench.path("half"), bench.path(&format!("{COUNTER}/energy_uj")))
                    .unwrap();
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let ended = bench.run(&words);
        is_done.store(true, Ordering::Relaxed);
        ended.expect(0).json()
    });
    let watts = document["benchmarks"][0]["results"][0]["cpu_power_w"]
        .as_f64()
        .unwrap_or_else(|| panic!("{document:#}"));
    // On a busy machine, the thread that writes the counter may be tens of milliseconds late. A
    // wrong unit would cause a larger error.
    assert!((WATTS / 3.0..WATTS * 3.0).contains(&watts), "{watts}");
    let has_rapl = std::fs::read("/sys/class/powercap/intel-rapl:0/energy_uj").is_ok();
    let fields = &unread["benchmarks"][0]["results"][0];
    assert_eq!(
        fields.get("cpu_power_w").is_some(),
        has_rapl,
        "a power that cannot be read must be absent, not zero: {fields}"
    );
}
