//! Tests that software determines comparability case by case.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::slice::from_ref;

use common::{now, run, steady};
use rsb_model::{BenchmarkResult, ReasonCode, Verdict};
use rsb_stats::{Policy, exit_code, gate};

/// Builds a case with stored factors or, as written by earlier versions, without any.
fn with_factors(id: &str, factors: Option<&[(&str, &str)]>) -> BenchmarkResult {
    let owned = |factors: &[(&str, &str)]| -> rsb_model::Factors {
        factors.iter().map(|(name, version)| ((*name).to_owned(), (*version).to_owned())).collect()
    };
    let benchmark_type = id.split('/').next().unwrap().parse().unwrap();
    BenchmarkResult {
        benchmark_id: id.parse().unwrap(),
        benchmark_type,
        factors: factors.map(owned),
        ..steady("gemm", &[1000.0, 1010.0, 990.0])
    }
}

#[test]
fn a_factor_matters_only_to_the_cases_that_have_it_on_both_sides() {
    struct Row {
        id: &'static str,
        before: Option<&'static [(&'static str, &'static str)]>,
        after: Option<&'static [(&'static str, &'static str)]>,
        across: &'static [&'static str],
        differs: Option<&'static str>,
    }
    let (cpu, gpu, vulkan, torch) = (
        "cpu_performance/gemm/cpu:0/f32",
        "gpu_performance/gemm/rocm:0/f32",
        "gpu_performance/gemm/vulkan:0/f32",
        "component_specific/pytorch/cpu:0/matmul/f32",
    );
    for Row { id, before, after, across, differs } in [
        Row { id: cpu, before: Some(&[]), after: Some(&[]), across: &[], differs: None },
        Row { id: cpu, before: None, after: None, across: &[], differs: None },
        Row {
            id: gpu,
            before: Some(&[("rocm", "7.1")]),
            after: Some(&[("rocm", "7.2")]),
            across: &[],
            differs: Some(
                "rocm (7.1 before, 7.2 now) differs; save a new baseline, or compare --across rocm",
            ),
        },
        Row {
            id: gpu,
            before: Some(&[("rocm", "7.1")]),
            after: Some(&[("rocm", "7.2")]),
            across: &["rocm"],
            differs: None,
        },
        Row {
            id: gpu,
            before: Some(&[("rocm", "7.1")]),
            after: Some(&[]),
            across: &[],
            differs: None,
        },
        // Without stored factors, those of the device are used, with the versions of the run's
        // environment.
        Row {
            id: gpu,
            before: Some(&[("rocm", "7.1")]),
            after: None,
            across: &[],
            differs: Some("rocm (7.1 before, 7.2 now)"),
        },
        Row {
            id: vulkan,
            before: Some(&[("driver", "amdgpu 6.10"), ("vulkan", "radv 25.0")]),
            after: Some(&[("driver", "amdgpu 6.10"), ("vulkan", "radv 25.1")]),
            across: &[],
            differs: Some("vulkan (radv 25.0 before, radv 25.1 now) differs"),
        },
        Row {
            id: vulkan,
            before: Some(&[("driver", "amdgpu 6.10"), ("vulkan", "radv 25.0")]),
            after: Some(&[("driver", "amdgpu 6.12"), ("vulkan", "radv 25.1")]),
            across: &["driver"],
            differs: None,
        },
        Row {
            id: torch,
            before: Some(&[("python", "3.11"), ("torch", "2.8")]),
            after: None,
            across: &[],
            differs: Some("torch (2.8 before, 2.9 now) differs"),
        },
    ] {
        let before = run("before", vec![with_factors(id, before)]);
        let mut after = run("after", vec![with_factors(id, after)]);
        after.environment.rocm = Some("7.2.4".into());
        after.environment.python = Some("3.11.7".into());
        after.environment.frameworks.insert("torch".into(), "2.9.1".into());
        let across: Vec<String> = across.iter().map(|name| (*name).to_owned()).collect();
        let result = gate(from_ref(&before), from_ref(&after), &Policy::default(), &across, now());
        let row = &result.comparisons[0];
        match differs {
            Some(sentence) => {
                assert_eq!(
                    (row.verdict, row.reason_code),
                    (Verdict::NotComparable, ReasonCode::UnlikeMachine),
                    "{id}"
                );
                assert!(row.reason.contains(sentence), "{id}: {}", row.reason);
            }
            None => assert_eq!(
                (row.verdict, exit_code(&result)),
                (Verdict::Unchanged, 0),
                "{id}: {}",
                row.reason
            ),
        }
    }
}

#[test]
fn a_baseline_with_frameworks_judges_a_run_without_them() {
    let (cpu, torch) =
        ("cpu_performance/gemm/cpu:0/f32", "component_specific/pytorch/cpu:0/matmul/f32");
    let mut before = run("before", vec![with_factors(cpu, None), with_factors(torch, None)]);
    before.environment.rocm = Some("5.2.0".into());
    before.environment.frameworks.insert("torch".into(), "2.9.1".into());
    before.environment.frameworks.insert("openvino".into(), "2026.1.0".into());
    let after = run("after", vec![with_factors(cpu, None)]);
    let result = gate(from_ref(&before), from_ref(&after), &Policy::default(), &[], now());
    let verdicts: Vec<_> = result
        .comparisons
        .iter()
        .map(|row| (row.id.as_str(), row.verdict, row.reason_code))
        .collect();
    assert_eq!(
        verdicts,
        [
            (cpu, Verdict::Unchanged, ReasonCode::WithinNoise),
            (torch, Verdict::Inconclusive, ReasonCode::Missing)
        ]
    );
    assert_eq!(result.missing.iter().map(rsb_model::CaseId::as_str).collect::<Vec<_>>(), [torch]);
    assert_eq!(
        exit_code(&result),
        4,
        "a case of the baseline that was not measured has no verdict"
    );
}
