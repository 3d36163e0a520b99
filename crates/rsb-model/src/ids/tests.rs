//! Tests that names survive formatting and parsing.

use super::*;

#[test]
fn names_survive_a_round_trip() {
    for backend in BackendId::ALL {
        assert_eq!(backend.as_str().parse(), Ok(backend));
        assert_eq!(serde_json::to_value(backend).unwrap(), backend.as_str());
        let wrong = "toaster".parse::<BackendId>().unwrap_err().to_string();
        assert!(wrong.contains(backend.as_str()), "{wrong}");
    }
    for dtype in Dtype::ALL {
        assert_eq!(dtype.as_str().parse(), Ok(dtype));
        assert_eq!(serde_json::to_value(dtype).unwrap(), dtype.as_str());
    }
    for kind in BenchmarkType::ALL {
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
    }
}

#[test]
fn common_spellings_of_data_types_are_accepted() {
    for (text, dtype) in [
        ("float32", Dtype::F32),
        ("FP32", Dtype::F32),
        ("bfloat16", Dtype::Bf16),
        ("int4", Dtype::I4),
        ("e5m2", Dtype::Bf8),
    ] {
        assert_eq!(text.parse(), Ok(dtype));
    }
    assert!("f33".parse::<Dtype>().is_err());
}

#[test]
fn devices_are_written_backend_colon_index() {
    let device: DeviceRef = "rocm:3".parse().unwrap();
    assert_eq!((device.backend, device.index), (BackendId::Rocm, 3));
    assert_eq!(device.to_string(), "rocm:3");
    for wrong in ["rocm", "rocm:", "rocm:x", "gpu:0", "rocm:-1"] {
        assert!(wrong.parse::<DeviceRef>().is_err(), "{wrong}");
    }
}

#[test]
fn where_a_case_runs_is_one_text_in_documents() {
    for (text, device) in [
        ("cpu:0", CaseDevice::Device(DeviceRef::CPU)),
        ("rocm", CaseDevice::Backend(BackendId::Rocm)),
        ("none", CaseDevice::None),
    ] {
        assert_eq!((text.parse(), device.to_string().as_str()), (Ok(device), text));
        assert_eq!(serde_json::to_value(device).unwrap(), text);
        assert_eq!(serde_json::from_value::<CaseDevice>(text.into()).unwrap(), device);
    }
    let error = serde_json::from_value::<CaseDevice>("gpu:0".into()).unwrap_err().to_string();
    assert!(error.contains("`gpu:0` is not a device"), "{error}");
}

#[test]
fn ids_are_taken_apart_by_their_form() {
    let parts = |text: &str| {
        text.parse::<CaseId>().unwrap().parts().map(|parts| {
            (parts.benchmark.to_owned(), parts.device.to_string(), parts.point.to_owned())
        })
    };
    for (id, benchmark, device, point) in [
        ("cpu_performance/gemm/cpu:0/f32/8x8x8", "gemm", "cpu:0", "f32/8x8x8"),
        ("gpu_performance/all/rocm", "all", "rocm", ""),
        ("component_specific/pytorch", "pytorch", "none", ""),
        ("gpu_performance/nvbench/copy/Device=0", "nvbench", "none", "copy/Device=0"),
    ] {
        assert_eq!(
            parts(id),
            Some((benchmark.to_owned(), device.to_owned(), point.to_owned())),
            "{id}"
        );
    }
    assert_eq!((parts("criterion/group/f"), parts("x")), (None, None));
}

#[test]
fn four_bit_elements_round_up_to_bytes() {
    assert_eq!(Dtype::I4.bytes(3), 2);
    assert_eq!(Dtype::F16.bytes(3), 6);
}
