use super::*;
use crate::ids::Dtype::{Bf8, Bf16, F16, F32, F64, Fp4, Fp6, Fp8, I4, I8, Tf32};

/// Peaks computed from the compute units and clocks of data sheets and product pages must match the
/// peaks listed there.
#[test]
fn peaks_agree_with_the_data_sheets() {
    for (target, units, mhz, dtype, engine, printed) in [
        ("gfx906", 64, 1800.0, F64, Engine::Vector, 7.4),
        ("gfx906", 64, 1800.0, F32, Engine::Vector, 14.7),
        ("gfx906", 64, 1800.0, F16, Engine::Vector, 29.5),
        ("gfx906", 64, 1800.0, I8, Engine::Vector, 58.9),
        ("gfx908", 120, 1502.0, F64, Engine::Vector, 11.5),
        ("gfx908", 120, 1502.0, F32, Engine::Vector, 23.1),
        ("gfx908", 120, 1502.0, F32, Engine::Matrix, 46.1),
        ("gfx908", 120, 1502.0, F16, Engine::Matrix, 184.6),
        ("gfx908", 120, 1502.0, Bf16, Engine::Matrix, 92.3),
        ("gfx90a", 104, 1700.0, F64, Engine::Vector, 22.6),
        ("gfx90a", 104, 1700.0, F64, Engine::Matrix, 45.3),
        ("gfx90a", 104, 1700.0, F16, Engine::Matrix, 181.0),
        ("gfx90a", 104, 1700.0, I8, Engine::Matrix, 181.0),
        ("gfx942", 304, 2100.0, F64, Engine::Vector, 81.7),
        ("gfx942", 304, 2100.0, F64, Engine::Matrix, 163.4),
        ("gfx942", 304, 2100.0, F32, Engine::Vector, 163.4),
        ("gfx942", 304, 2100.0, Tf32, Engine::Matrix, 653.7),
        ("gfx942", 304, 2100.0, Bf16, Engine::Matrix, 1307.4),
        ("gfx942", 304, 2100.0, Fp8, Engine::Matrix, 2614.9),
        ("gfx942", 304, 2100.0, Bf8, Engine::Matrix, 2614.9),
        ("gfx942", 304, 2100.0, Bf16, Engine::Sparse, 2614.9),
        ("gfx942", 304, 2100.0, I8, Engine::Sparse, 5229.8),
        ("gfx950", 256, 2400.0, F64, Engine::Matrix, 78.6),
        ("gfx950", 256, 2400.0, F32, Engine::Vector, 157.3),
        ("gfx950", 256, 2400.0, F16, Engine::Matrix, 2516.6),
        ("gfx950", 256, 2400.0, Fp8, Engine::Matrix, 5033.2),
        ("gfx950", 256, 2400.0, Fp6, Engine::Matrix, 10_066.3),
        ("gfx950", 256, 2400.0, Fp4, Engine::Matrix, 10_066.3),
        ("gfx950", 256, 2400.0, F16, Engine::Sparse, 5033.2),
        ("gfx1030", 80, 2250.0, F32, Engine::Vector, 23.04),
        ("gfx1030", 80, 2250.0, F16, Engine::Vector, 46.08),
        ("gfx1100", 96, 2500.0, F32, Engine::Vector, 61.4),
        ("gfx1100", 96, 2500.0, F64, Engine::Vector, 1.92),
        ("gfx1100", 96, 2500.0, F16, Engine::Matrix, 122.9),
        ("gfx1201", 64, 2970.0, F32, Engine::Vector, 48.7),
        ("gfx1201", 64, 2970.0, F16, Engine::Matrix, 194.6),
        ("gfx1201", 64, 2970.0, I4, Engine::Matrix, 778.6),
        ("gfx1201", 64, 2970.0, F16, Engine::Sparse, 389.0),
        ("gfx1201", 64, 2970.0, I4, Engine::Sparse, 1557.0),
        ("sm_75", 40, 1590.0, I8, Engine::Matrix, 130.0),
        ("sm_75", 40, 1590.0, F16, Engine::Matrix, 65.0),
        ("sm_80", 108, 1410.0, F64, Engine::Vector, 9.7),
        ("sm_80", 108, 1410.0, F64, Engine::Matrix, 19.5),
        ("sm_80", 108, 1410.0, Tf32, Engine::Matrix, 156.0),
        ("sm_80", 108, 1410.0, Bf16, Engine::Matrix, 312.0),
        ("sm_80", 108, 1410.0, I8, Engine::Matrix, 624.0),
        ("sm_80", 108, 1410.0, Tf32, Engine::Sparse, 312.0),
        ("sm_80", 108, 1410.0, I8, Engine::Sparse, 1248.0),
        ("sm_86", 84, 1740.0, F32, Engine::Vector, 37.4),
        ("sm_86", 84, 1740.0, F16, Engine::Matrix, 149.7),
        ("sm_89", 142, 2490.0, F16, Engine::Matrix, 362.05),
        ("sm_89", 142, 2490.0, Fp8, Engine::Matrix, 724.1),
        ("sm_90", 132, 1980.0, F64, Engine::Matrix, 66.9),
        ("sm_90", 132, 1980.0, F32, Engine::Vector, 66.9),
        ("sm_90", 132, 1830.0, Tf32, Engine::Matrix, 494.7),
        ("sm_90", 132, 1830.0, Bf16, Engine::Matrix, 989.4),
        ("sm_90", 132, 1830.0, Fp8, Engine::Matrix, 1978.9),
        ("sm_90", 132, 1830.0, F16, Engine::Sparse, 1978.9),
        ("sm_90", 132, 1830.0, Bf8, Engine::Sparse, 3957.8),
        ("sm_120", 170, 2407.0, F32, Engine::Vector, 104.8),
        ("sm_120", 170, 2407.0, I8, Engine::Matrix, 838.0),
        ("sm_120", 170, 2407.0, Fp4, Engine::Matrix, 1676.0),
    ] {
        let found = Architecture::find(target).unwrap().peak_tflops(dtype, engine, units, mhz);
        assert!(
            found.is_some_and(|tflops| (tflops / printed - 1.0).abs() < 5e-3),
            "{target} {dtype} {}: {found:?}, printed {printed}",
            engine.as_str()
        );
    }
}

#[test]
fn the_table_holds_no_contradiction() {
    for (index, row) in ARCHITECTURES.iter().enumerate() {
        assert!(
            ARCHITECTURES[index + 1..].iter().all(|other| other.target != row.target),
            "{} twice",
            row.target
        );
        let has = |engine| row.rates.iter().any(|rate| rate.engine == engine);
        assert_eq!(row.matrix.is_some(), has(Engine::Matrix), "{}", row.target);
        let dense = |rate: &Rate| {
            rate.per_clock_per_cu == 2 * row.per_clock_per_cu(rate.dtype, Engine::Matrix).unwrap()
        };
        assert!(
            row.rates.iter().filter(|rate| rate.engine == Engine::Sparse).all(dense),
            "{}",
            row.target
        );
        assert!(has(Engine::Vector));
        assert!(row.boards.iter().all(|board| board.boost_mhz > 1000), "{}", row.target);
        assert_eq!(
            row.wavefront,
            if row.target.starts_with("gfx9") { 64 } else { 32 },
            "{}",
            row.target
        );
        for (place, rate) in row.rates.iter().enumerate() {
            assert!(rate.per_clock_per_cu.is_power_of_two(), "{} {}", row.target, rate.dtype);
            assert_eq!(
                rate.engine != Engine::Vector,
                !rate.tiles.is_empty(),
                "{} {}",
                row.target,
                rate.dtype
            );
            let same = |other: &&Rate| other.dtype == rate.dtype && other.engine == rate.engine;
            assert!(
                row.rates[place + 1..].iter().find(same).is_none(),
                "{} {} twice",
                row.target,
                rate.dtype
            );
        }
    }
}

#[test]
fn features_after_the_target_are_passed_over_and_unknown_ones_degrade_with_a_message() {
    assert_eq!(
        Architecture::find("gfx90a:sramecc+:xnack-").map(|found| found.family),
        Ok("CDNA 2")
    );
    for target in ["gfx1999", "sm_999", "", ":"] {
        let reason = Architecture::find(target).unwrap_err();
        assert!(
            reason.what.contains(if target.len() > 1 { target } else { "unknown" })
                && !reason.cure.is_empty()
        );
    }
    let rated = |target, compute_units, mhz| RatedGpu {
        target: Some(target),
        compute_units: Some(compute_units),
        listed_mhz: Some(mhz),
        ..RatedGpu::default()
    };
    assert_eq!(rated("gfx1030", 80, 2250.0).best(Fp8), None);
    assert_eq!(
        rated("gfx90a", 100, 1000.0).best(F64),
        Some((Engine::Matrix, 25.6)),
        "the faster engine"
    );
}

#[test]
fn a_gpus_peaks_need_its_units_and_its_clock() {
    let whole = Gpu {
        gfx_target: Some("gfx1100".into()),
        compute_units: Some(96),
        max_mhz: Some(2500.0),
        ..Gpu::default()
    };
    let found = peaks(&whole).unwrap();
    assert_eq!(found.len(), 7);
    assert_eq!((found[0].dtype, found[0].engine, found[0].tflops), (F16, Engine::Matrix, 122.88));
    for (gpu, word) in [
        (Gpu { gfx_target: None, ..whole.clone() }, "architecture"),
        (Gpu { compute_units: None, ..whole.clone() }, "compute units"),
        (Gpu { max_mhz: None, gfx_target: Some("gfx90a".into()), ..whole.clone() }, "clock"),
        (Gpu { gfx_target: Some("gfx803".into()), ..whole }, "table"),
    ] {
        let reason = peaks(&gpu).unwrap_err();
        assert!(reason.why.contains(word), "{reason}");
    }
}
