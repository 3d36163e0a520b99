use super::*;
use crate::ids::Dtype::{Bf16, F16, F32, F64, Fp8, I4, I8, Tf32};

const MATRIX: Engine = Engine::Matrix;
const SPARSE: Engine = Engine::Sparse;
const VECTOR: Engine = Engine::Vector;

#[test]
fn peaks_are_those_of_the_data_sheets() {
    let lines = include_str!("data_sheets.txt").lines();
    let rows: Vec<&str> = lines.filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    assert!(rows.len() >= 20);
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [name, target, units, listed_mhz, peaks] = cells[..] else { panic!("{row}") };
        let gpu = RatedGpu {
            target: Some(target),
            name: Some(name),
            compute_units: Some(units.parse().unwrap()),
            listed_mhz: listed_mhz.parse().ok(),
            level_mhz: None,
        };
        for peak in peaks.split(' ') {
            let (place, printed) = peak.split_once('=').unwrap();
            let (dtype, engine) = place.split_once('/').unwrap();
            let engine = [VECTOR, MATRIX, SPARSE].into_iter().find(|one| one.as_str() == engine);
            let found = gpu.peak_tflops(dtype.parse().unwrap(), engine.unwrap()).unwrap();
            let printed: f64 = printed.parse().unwrap();
            assert!((found / printed - 1.0).abs() < 0.015, "{name}: {peak}, found {found}");
        }
    }
}

fn radeon(name: &str, units: u32) -> RatedGpu<'_> {
    RatedGpu {
        target: Some("gfx1201"),
        name: Some(name),
        compute_units: Some(units),
        listed_mhz: Some(2400.0),
        level_mhz: None,
    }
}

#[test]
fn the_clock_of_a_radeon_is_the_highest_that_any_source_gives() {
    let board = radeon("AMD Radeon RX 9070 XT", 64);
    let clock = |gpu: RatedGpu<'_>| gpu.clock().map(|clock| (clock.mhz, clock.source));
    assert_eq!(clock(board), Some((2970.0, ClockSource::DataSheet)));
    let overclocked = RatedGpu { level_mhz: Some(3320.0), ..board };
    assert_eq!(clock(overclocked), Some((3320.0, ClockSource::PowerLevels)));
    let listed = RatedGpu { listed_mhz: Some(3500.0), ..overclocked };
    assert_eq!(clock(listed), Some((3500.0, ClockSource::Driver)));
    let instinct = RatedGpu {
        target: Some("gfx942"),
        name: Some("AMD Instinct MI300X"),
        compute_units: Some(304),
        listed_mhz: Some(2100.0),
        level_mhz: Some(2500.0),
    };
    assert_eq!(
        clock(instinct),
        Some((2100.0, ClockSource::Driver)),
        "only RDNA exceeds its listed clock"
    );
    assert_eq!(clock(RatedGpu { listed_mhz: None, ..instinct }), None);
}

#[test]
fn boards_are_found_by_name_and_without_a_model_number_by_units() {
    let boost = |gpu: RatedGpu<'_>| gpu.clock().map(|clock| clock.mhz);
    assert_eq!(boost(radeon("AMD Radeon RX 9070", 56)), Some(2520.0), "not the clock of the XT");
    assert_eq!(boost(radeon("AMD Radeon AI PRO R9700", 64)), Some(2920.0));
    assert_eq!(
        boost(radeon("AMD Radeon Graphics", 64)),
        Some(2970.0),
        "the fastest board with 64 units must be chosen"
    );
    assert_eq!(boost(radeon("gfx1201", 56)), Some(2520.0));
    assert_eq!(
        boost(radeon("AMD Radeon RX 9070M XT", 64)),
        Some(2400.0),
        "a different board must use its listed clock"
    );
    assert_eq!(
        boost(radeon("AMD Radeon RX 9070 XT", 32)),
        Some(2400.0),
        "a partition of the board must use its listed clock"
    );
    let combined = RatedGpu {
        target: Some("gfx1100"),
        name: Some("AMD Radeon RX 7900 XT / 7900 XTX"),
        compute_units: Some(96),
        listed_mhz: Some(2371.0),
        level_mhz: None,
    };
    assert_eq!(
        boost(combined),
        Some(2500.0),
        "a name shared by several boards must be resolved by the number of units"
    );
}

#[test]
fn sources_of_a_clock_that_contradict_each_other_are_named() {
    let board = RatedGpu { level_mhz: Some(3320.0), ..radeon("AMD Radeon RX 9070 XT", 64) };
    let note = board.clock_note().unwrap();
    for part in [
        "driver 2400 MHz",
        "data sheet 2970 MHz",
        "pp_dpm_sclk 3320 MHz",
        "the peak is at 3320 MHz",
    ] {
        assert!(note.contains(part), "{note}");
    }
    let agreeing = RatedGpu { listed_mhz: Some(2960.0), ..radeon("AMD Radeon RX 9070 XT", 64) };
    assert_eq!(
        agreeing.clock_note(),
        None,
        "clocks within 1 % of each other must not cause a note"
    );
}

#[test]
fn a_geforce_sums_in_f32_at_half_rate_and_its_note_says_so() {
    let gpu = |name| RatedGpu {
        target: Some("sm_89"),
        name: Some(name),
        compute_units: Some(128),
        listed_mhz: Some(2520.0),
        level_mhz: None,
    };
    let (geforce, professional) =
        (gpu("NVIDIA GeForce RTX 4090"), gpu("NVIDIA RTX 6000 Ada Generation"));
    for dtype in [F16, Bf16, Tf32, Fp8, Dtype::Bf8] {
        for engine in [MATRIX, SPARSE] {
            let [half, full] =
                [geforce, professional].map(|gpu| gpu.peak_tflops(dtype, engine).unwrap());
            assert!((2.0 * half - full).abs() < 1e-9, "{dtype}");
            assert!(geforce.notes(dtype, engine)[0].contains("half"), "{dtype}");
            assert!(professional.notes(dtype, engine).is_empty(), "{dtype}");
        }
    }
    for (dtype, engine) in [(I8, MATRIX), (I4, SPARSE), (F32, VECTOR), (F16, VECTOR)] {
        assert_eq!(
            geforce.peak_tflops(dtype, engine),
            professional.peak_tflops(dtype, engine),
            "{dtype}"
        );
        assert!(geforce.notes(dtype, engine).is_empty(), "{dtype}");
    }
    assert_eq!(
        gpu("NVIDIA TITAN RTX").peak_tflops(F16, MATRIX),
        professional.peak_tflops(F16, MATRIX)
    );
}

#[test]
fn an_arc_is_found_by_its_name() {
    let arc = Gpu { name: Some("Intel Arc B580".into()), ..Gpu::default() };
    let found = super::super::peaks(&arc).unwrap();
    let f32 = found.iter().find(|peak| peak.dtype == F32).unwrap();
    assert!((f32.tflops - 13.67).abs() < 0.01, "{f32:?}");
    let unknown = Gpu { name: Some("Intel Arc A380".into()), ..Gpu::default() };
    assert!(super::super::peaks(&unknown).unwrap_err().why.contains("architecture"));
}

#[test]
fn data_center_blackwell_is_out_of_reach_of_mma() {
    use super::super::unreached_by_mma;
    for target in ["sm_100", "sm_103"] {
        assert!(unreached_by_mma(target, F16).unwrap().contains("tcgen05"));
        assert_eq!(unreached_by_mma(target, F64), None);
    }
    assert_eq!(unreached_by_mma("sm_90", F16), None);
    assert_eq!(unreached_by_mma("sm_120", Fp8), None);
}
