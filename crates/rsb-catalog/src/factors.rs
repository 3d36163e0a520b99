//! Software that a case depends on, as declared by its benchmark.

use rsb_model::factor::{self, Factors};
use rsb_model::{Case, Environment};

use crate::frameworks;

/// Returns the versions in `environment` of the software that `case` depends on: the factors of its
/// device and those that its benchmark adds. A native case on a CPU depends on none.
pub fn of(case: &Case, environment: &Environment) -> Factors {
    let own = match frameworks::find(&case.benchmark) {
        Some(component) => component.factors(&case.params),
        None => rsb_workloads::find(&case.benchmark)
            .map_or(&[][..], |benchmark| benchmark.factors(&case.params))
            .to_vec(),
    };
    factor::versions(
        environment,
        case.device,
        factor::of_device(case.device).iter().copied().chain(own),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_model::environment::Gpu;
    use rsb_model::{BenchmarkType, CaseDevice, CaseId, Params};

    fn machine() -> Environment {
        let frameworks = [
            ("torch", "2.9.1"),
            ("openvino", "2026.1.0"),
            ("triton", "3.5.0"),
            ("transformers", "4.57.1"),
        ];
        Environment {
            gpus: vec![Gpu { driver: Some("amdgpu 6.10.5".into()), ..Gpu::default() }],
            drivers: [("vulkan:0".to_owned(), "radv 25.0.3".to_owned())].into(),
            rocm: Some("7.2.4".into()),
            cuda: Some("12.8.1".into()),
            python: Some("3.11.7".into()),
            frameworks: frameworks
                .map(|(name, version)| (name.to_owned(), version.to_owned()))
                .into(),
            ..Environment::default()
        }
    }

    #[test]
    fn each_benchmark_declares_its_factors() {
        struct Row {
            benchmark: &'static str,
            device: &'static str,
            params: &'static [(&'static str, &'static str)],
            expected: &'static [&'static str],
        }
        for Row { benchmark, device, params, expected } in [
            Row { benchmark: "gemm", device: "cpu:0", params: &[], expected: &[] },
            Row { benchmark: "gemm", device: "rocm:0", params: &[], expected: &["driver", "rocm"] },
            Row { benchmark: "gemm", device: "cuda:0", params: &[], expected: &["cuda", "driver"] },
            Row {
                benchmark: "memory-bandwidth",
                device: "vulkan:0",
                params: &[],
                expected: &["driver", "vulkan"],
            },
            Row {
                benchmark: "kernel-compilation",
                device: "cpu:0",
                params: &[("arch", "gfx90a")],
                expected: &["rocm"],
            },
            Row {
                benchmark: "kernel-compilation",
                device: "cpu:0",
                params: &[("arch", "sm_90")],
                expected: &["cuda"],
            },
            Row {
                benchmark: "pytorch",
                device: "cpu:0",
                params: &[],
                expected: &["python", "torch"],
            },
            Row {
                benchmark: "pytorch",
                device: "rocm:0",
                params: &[],
                expected: &["driver", "python", "rocm", "torch"],
            },
            Row {
                benchmark: "triton",
                device: "cpu:0",
                params: &[],
                expected: &["python", "torch", "triton"],
            },
            Row {
                benchmark: "models",
                device: "cpu:0",
                params: &[("runtime", "openvino")],
                expected: &["openvino", "python"],
            },
            Row {
                benchmark: "models",
                device: "cpu:0",
                params: &[("runtime", "pytorch")],
                expected: &["python", "torch", "transformers"],
            },
            Row { benchmark: "of-another-project", device: "cpu:0", params: &[], expected: &[] },
        ] {
            let case = Case {
                id: CaseId::from_segments(&["x", benchmark, device]),
                benchmark: benchmark.to_owned(),
                benchmark_type: BenchmarkType::GpuPerformance,
                device: device.parse::<CaseDevice>().unwrap(),
                params: params
                    .iter()
                    .fold(Params::new(), |all, (name, value)| all.with(name, *value)),
            };
            let found: Vec<String> = of(&case, &machine()).into_keys().collect();
            assert_eq!(found, expected, "{benchmark} on {device}");
        }
    }
}
