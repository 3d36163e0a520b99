use super::*;
use crate::ids::Dtype::{Bf16, F16, F32, F64, Fp4, Fp8, I4, I8, Tf32};

/// A GPU and the peaks that its vendor prints, in TFLOP/s or TOP/s.
struct DataSheet {
    name: &'static str,
    target: &'static str,
    units: u32,
    /// The clock that the driver lists, where the peaks are of another one than the board's.
    listed_mhz: Option<f64>,
    printed: &'static [(Dtype, Engine, f64)],
    source: &'static str,
}

const MATRIX: Engine = Engine::Matrix;
const SPARSE: Engine = Engine::Sparse;
const VECTOR: Engine = Engine::Vector;

const AMD_INSTINCT: &str = "amd.com, AMD Instinct accelerators, specifications";
const AMD_RADEON: &str = "amd.com, AMD Radeon graphics cards, specifications";
const ADA: &str =
    "NVIDIA Ada GPU architecture (white paper), appendix A: tensor rates with FP32 accumulate";
const GA102: &str = "NVIDIA Ampere GA102 GPU architecture (white paper), appendix A: tensor rates \
                     with FP32 accumulate";
const RTX_BLACKWELL: &str = "NVIDIA RTX Blackwell GPU architecture (white paper), appendix A";

const DATA_SHEETS: &[DataSheet] = &[
    DataSheet {
        name: "AMD Instinct MI210",
        target: "gfx90a:sramecc+:xnack-",
        units: 104,
        listed_mhz: Some(1700.0),
        printed: &[
            (F64, VECTOR, 22.6),
            (F64, MATRIX, 45.3),
            (F16, MATRIX, 181.0),
            (I8, MATRIX, 181.0),
        ],
        source: AMD_INSTINCT,
    },
    DataSheet {
        name: "AMD Instinct MI300X",
        target: "gfx942",
        units: 304,
        listed_mhz: Some(2100.0),
        printed: &[
            (F64, MATRIX, 163.4),
            (Tf32, MATRIX, 653.7),
            (F16, MATRIX, 1307.4),
            (Fp8, MATRIX, 2614.9),
        ],
        source: AMD_INSTINCT,
    },
    DataSheet {
        name: "AMD Instinct MI300A",
        target: "gfx942",
        units: 228,
        listed_mhz: Some(2100.0),
        printed: &[(F64, MATRIX, 122.6), (F16, MATRIX, 980.6), (Fp8, MATRIX, 1961.2)],
        source: AMD_INSTINCT,
    },
    DataSheet {
        name: "AMD Instinct MI350X",
        target: "gfx950",
        units: 256,
        listed_mhz: Some(2200.0),
        printed: &[(F16, MATRIX, 2306.9)],
        source: AMD_INSTINCT,
    },
    DataSheet {
        name: "AMD Instinct MI355X",
        target: "gfx950",
        units: 256,
        listed_mhz: Some(2400.0),
        printed: &[
            (F64, MATRIX, 78.6),
            (F16, MATRIX, 2516.6),
            (Fp8, MATRIX, 5033.2),
            (Fp4, MATRIX, 10_066.3),
        ],
        source: AMD_INSTINCT,
    },
    DataSheet {
        name: "AMD Radeon RX 6900 XT",
        target: "gfx1030",
        units: 80,
        listed_mhz: None,
        printed: &[(F32, VECTOR, 23.04), (F16, VECTOR, 46.08)],
        source: AMD_RADEON,
    },
    DataSheet {
        name: "AMD Radeon RX 6950 XT",
        target: "gfx1030",
        units: 80,
        listed_mhz: None,
        printed: &[(F32, VECTOR, 23.65), (F16, VECTOR, 47.31)],
        source: AMD_RADEON,
    },
    DataSheet {
        name: "AMD Radeon RX 6700 XT",
        target: "gfx1031",
        units: 40,
        listed_mhz: None,
        printed: &[(F32, VECTOR, 13.21), (F16, VECTOR, 26.43)],
        source: AMD_RADEON,
    },
    DataSheet {
        name: "AMD Radeon RX 7900 XTX",
        target: "gfx1100",
        units: 96,
        listed_mhz: Some(2371.0),
        printed: &[(F32, VECTOR, 61.4), (F16, MATRIX, 122.8)],
        source: AMD_RADEON,
    },
    DataSheet {
        name: "AMD Radeon RX 7900 XT",
        target: "gfx1100",
        units: 84,
        listed_mhz: None,
        printed: &[(F32, VECTOR, 51.6), (F16, MATRIX, 103.2)],
        source: AMD_RADEON,
    },
    DataSheet {
        name: "AMD Radeon PRO W7900",
        target: "gfx1100",
        units: 96,
        listed_mhz: Some(1760.0),
        printed: &[(F32, VECTOR, 61.3), (F16, MATRIX, 122.6)],
        source: "amd.com, AMD Radeon PRO W7900, specifications",
    },
    DataSheet {
        name: "AMD Radeon RX 7800 XT",
        target: "gfx1101",
        units: 60,
        listed_mhz: None,
        printed: &[(F32, VECTOR, 37.3), (F16, MATRIX, 74.6)],
        source: AMD_RADEON,
    },
    DataSheet {
        name: "AMD Radeon RX 7600",
        target: "gfx1102",
        units: 32,
        listed_mhz: None,
        printed: &[(F32, VECTOR, 21.75), (F16, MATRIX, 43.5)],
        source: AMD_RADEON,
    },
    DataSheet {
        name: "AMD Radeon RX 9060 XT",
        target: "gfx1200",
        units: 32,
        listed_mhz: None,
        printed: &[(F32, VECTOR, 25.6), (I4, SPARSE, 821.0)],
        source: AMD_RADEON,
    },
    DataSheet {
        name: "AMD Radeon RX 9070",
        target: "gfx1201",
        units: 56,
        listed_mhz: None,
        printed: &[(F32, VECTOR, 36.1), (I4, SPARSE, 1156.0)],
        source: AMD_RADEON,
    },
    DataSheet {
        name: "AMD Radeon RX 9070 XT",
        target: "gfx1201",
        units: 64,
        listed_mhz: Some(2400.0),
        printed: &[
            (F32, VECTOR, 48.7),
            (F16, MATRIX, 194.6),
            (F16, SPARSE, 389.0),
            (I4, SPARSE, 1557.0),
        ],
        source: AMD_RADEON,
    },
    DataSheet {
        name: "NVIDIA A100-SXM4-80GB",
        target: "sm_80",
        units: 108,
        listed_mhz: Some(1410.0),
        printed: &[
            (F64, MATRIX, 19.5),
            (Tf32, MATRIX, 156.0),
            (Bf16, MATRIX, 312.0),
            (I8, SPARSE, 1248.0),
        ],
        source: "NVIDIA A100 data sheet",
    },
    DataSheet {
        name: "NVIDIA A40",
        target: "sm_86",
        units: 84,
        listed_mhz: Some(1740.0),
        printed: &[
            (F32, VECTOR, 37.4),
            (Tf32, MATRIX, 74.8),
            (F16, MATRIX, 149.7),
            (I8, MATRIX, 299.3),
        ],
        source: "NVIDIA A40 data sheet",
    },
    DataSheet {
        name: "NVIDIA GeForce RTX 3090",
        target: "sm_86",
        units: 82,
        listed_mhz: Some(1695.0),
        printed: &[
            (F32, VECTOR, 35.6),
            (Tf32, MATRIX, 35.6),
            (F16, MATRIX, 71.0),
            (Bf16, SPARSE, 142.0),
            (I8, MATRIX, 284.0),
        ],
        source: GA102,
    },
    DataSheet {
        name: "NVIDIA L40S",
        target: "sm_89",
        units: 142,
        listed_mhz: Some(2520.0),
        printed: &[(Tf32, MATRIX, 183.0), (F16, MATRIX, 362.05), (Fp8, MATRIX, 733.0)],
        source: "NVIDIA L40S data sheet",
    },
    DataSheet {
        name: "NVIDIA GeForce RTX 4090",
        target: "sm_89",
        units: 128,
        listed_mhz: Some(2520.0),
        printed: &[
            (F32, VECTOR, 82.6),
            (Tf32, MATRIX, 82.6),
            (F16, MATRIX, 165.2),
            (Bf16, MATRIX, 165.2),
            (Fp8, MATRIX, 330.3),
            (F16, SPARSE, 330.4),
            (I8, MATRIX, 660.6),
            (I4, MATRIX, 1321.2),
        ],
        source: ADA,
    },
    DataSheet {
        name: "NVIDIA H100 80GB HBM3",
        target: "sm_90",
        units: 132,
        listed_mhz: Some(1830.0),
        printed: &[
            (Tf32, MATRIX, 494.7),
            (Bf16, MATRIX, 989.4),
            (Fp8, MATRIX, 1978.9),
            (F16, SPARSE, 1978.9),
        ],
        source: "NVIDIA H100 Tensor Core GPU architecture (white paper)",
    },
    // NVIDIA prints no clock for B200, so its rates cannot be computed from the data sheet.
    DataSheet {
        name: "NVIDIA GeForce RTX 5090",
        target: "sm_120",
        units: 170,
        listed_mhz: Some(2407.0),
        printed: &[
            (F32, VECTOR, 104.8),
            (F16, MATRIX, 209.5),
            (Fp8, MATRIX, 419.0),
            (I8, MATRIX, 838.0),
            (Fp4, MATRIX, 1676.0),
        ],
        source: RTX_BLACKWELL,
    },
    DataSheet {
        name: "Intel(R) Arc(TM) A770 Graphics",
        target: "acm-g10",
        units: 32,
        listed_mhz: Some(2100.0),
        printed: &[(F32, VECTOR, 17.2), (F16, VECTOR, 34.4)],
        source: "Intel product specifications, Arc A770: 32 Xe cores, 2100 MHz graphics clock",
    },
    DataSheet {
        name: "Intel(R) Arc(TM) B580 Graphics",
        target: "bmg-g21",
        units: 20,
        listed_mhz: Some(2670.0),
        printed: &[(F32, VECTOR, 13.67), (F16, VECTOR, 27.34)],
        source: "Intel product specifications, Arc B580: 20 Xe cores, 2670 MHz graphics clock",
    },
];

#[test]
fn peaks_are_those_of_the_data_sheets() {
    assert!(DATA_SHEETS.len() >= 20);
    for sheet in DATA_SHEETS {
        assert!(!sheet.source.is_empty(), "{}", sheet.name);
        let gpu = RatedGpu {
            target: Some(sheet.target),
            name: Some(sheet.name),
            compute_units: Some(sheet.units),
            listed_mhz: sheet.listed_mhz,
            level_mhz: None,
        };
        for &(dtype, engine, printed) in sheet.printed {
            let found = gpu.peak_tflops(dtype, engine);
            assert!(
                found.is_some_and(|tflops| (tflops / printed - 1.0).abs() < 0.015),
                "{} {dtype} {}: {found:?}, printed {printed} ({})",
                sheet.name,
                engine.as_str(),
                sheet.source
            );
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
    assert_eq!(boost(radeon("AMD Radeon RX 9070", 56)), Some(2520.0), "not that of the XT");
    assert_eq!(boost(radeon("AMD Radeon AI PRO R9700", 64)), Some(2920.0));
    assert_eq!(boost(radeon("AMD Radeon Graphics", 64)), Some(2970.0), "the fastest with 64 units");
    assert_eq!(boost(radeon("gfx1201", 56)), Some(2520.0));
    assert_eq!(
        boost(radeon("AMD Radeon RX 9070M XT", 64)),
        Some(2400.0),
        "another board: the listed clock"
    );
    assert_eq!(boost(radeon("AMD Radeon RX 9070 XT", 32)), Some(2400.0), "a partition of it");
    let combined = RatedGpu {
        target: Some("gfx1100"),
        name: Some("AMD Radeon RX 7900 XT / 7900 XTX"),
        compute_units: Some(96),
        listed_mhz: Some(2371.0),
        level_mhz: None,
    };
    assert_eq!(boost(combined), Some(2500.0), "a name of several boards: by units");
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
    assert_eq!(agreeing.clock_note(), None, "within 1 %");
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
