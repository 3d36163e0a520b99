//! The list of possible faults of a GPU or its libraries. A test injects each of them into the fake
//! GPU and checks that the case has what, why and cure, and that the rest of the run succeeds.

const FAULTS: &str = include_str!("faults.rs");
const CLOCK: &str = include_str!("clock.rs");
const PRODUCTS: &str = include_str!("light_products.rs");
const CALLS: &str = include_str!("calls.rs");
const LIBRARIES: &str = include_str!("libraries.rs");

/// A fault, the value that injects it, and the file and the name of its test.
const ALL: [(&str, &str, &str, &str); 16] = [
    (
        "out of memory at the n-th allocation",
        "oom:3",
        FAULTS,
        "memory_that_is_used_up_at_the_third_allocation",
    ),
    ("launch failure", "launch:rsb_gelu", FAULTS, "a_launch_that_fails"),
    ("device lost", "lost:rsb_gelu", FAULTS, "a_gpu_that_is_lost"),
    (
        "device vanishes in the middle of a run",
        "vanish:rsb_gelu",
        FAULTS,
        "a_gpu_that_vanishes_in_the_middle_of_a_run",
    ),
    ("hang", "hang:rsb_gelu", FAULTS, "a_kernel_that_hangs_ends_at_the_time_limit"),
    (
        "launch never returns",
        "stuck:rsb_gelu",
        FAULTS,
        "a_launch_that_never_returns_ends_at_the_time_limit",
    ),
    ("wrong result", "wrong:rsb_gelu", FAULTS, "a_wrong_result_is_never_timed"),
    ("wrong result of a library", "wrong:", FAULTS, "a_wrong_product_of_a_library"),
    ("compiler ends the process", "abort:{}", FAULTS, "a_compiler_that_ends_the_process"),
    (
        "module does not compile",
        "compile:rsb_sum",
        FAULTS,
        "a_module_that_does_not_compile_costs_its_cases",
    ),
    ("library ends the process", "abort:", FAULTS, "a_library_that_ends_the_process"),
    (
        "runtime ends the process at start",
        "abort:init",
        FAULTS,
        "a_runtime_that_ends_the_process_when_it_starts",
    ),
    ("lying clock", "clock:fast", CLOCK, "too_fast_is_above_the_peak_of_the_compute_units"),
    (
        "missing symbol",
        "hipGraphInstantiate",
        LIBRARIES,
        "without_a_function_what_needs_it_fails_and_the_rest_stands",
    ),
    ("old layout", "hipGetDevicePropertiesR0600", LIBRARIES, "properties_in_the_layout_of_rocm_5"),
    ("8 devices", "\"FAKE_GPU_DEVICES\", \"8\"", LIBRARIES, "eight_gpus_are_eight_devices"),
];

#[test]
fn every_fault_has_its_test() {
    for (fault, order, source, test) in ALL {
        let body = source
            .split(&format!("#[test]\nfn {test}()"))
            .nth(1)
            .unwrap_or_else(|| panic!("{fault}: there is no test {test}"));
        let body = body.split("\n#[test]").next().unwrap();
        assert!(body.contains(order), "{fault}: {test} does not inject {order}");
    }
}

/// Every fault that the fake GPU supports is injected by a test.
#[test]
fn every_order_is_given_by_a_test() {
    let orders = include_str!("../../../crates/rsb-fake-gpu/src/orders.rs");
    let documented =
        orders.lines().filter_map(|line| line.trim().strip_prefix("/// `")?.split(':').next());
    let kinds: Vec<&str> =
        documented.filter(|kind| kind.chars().all(|letter| letter.is_ascii_lowercase())).collect();
    assert!(kinds.len() >= 8, "{kinds:?}");
    for kind in kinds {
        let order = format!("\"{kind}:");
        assert!(
            [FAULTS, CLOCK, PRODUCTS, CALLS].iter().any(|source| source.contains(&order)),
            "no test injects {kind}"
        );
    }
}
