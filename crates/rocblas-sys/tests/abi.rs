//! Checks the binary interface: values and argument counts, as in rocBLAS of ROCm 5.5 to 7.2.

use hip_runtime_sys::search::RocmPaths;
use rocblas_sys::{RocBlas, datatype, operation, pointer_mode, status};

#[test]
fn values_of_enumerations() {
    assert_eq!(
        [operation::NONE, operation::TRANSPOSE, operation::CONJUGATE_TRANSPOSE],
        [111, 112, 113]
    );
    let types = [
        datatype::F16_R,
        datatype::F32_R,
        datatype::F64_R,
        datatype::I8_R,
        datatype::I32_R,
        datatype::BF16_R,
    ];
    assert_eq!(types, [150, 151, 152, 160, 162, 168]);
    assert_eq!(
        [pointer_mode::HOST, pointer_mode::DEVICE, rocblas_sys::GEMM_ALGO_STANDARD],
        [0, 1, 0]
    );
    assert_eq!([status::SUCCESS, status::MEMORY_ERROR, status::INTERNAL_ERROR], [0, 5, 6]);
}

#[test]
fn numbers_of_arguments() {
    for (name, expected) in [("rocblas_gemm_strided_batched_ex", 29), ("rocblas_create_handle", 1)]
    {
        let found =
            RocBlas::FUNCTIONS.iter().find(|(known, _)| *known == name).map(|(_, count)| *count);
        assert_eq!(found, Some(expected), "{name}");
    }
}

#[test]
fn a_library_that_is_missing_or_another_is_a_value() {
    let places = |file: &str| RocmPaths { explicit: Some(file.into()), ..RocmPaths::default() };
    let error = RocBlas::load_from(&places("/nonexistent/librocblas.so")).unwrap_err();
    assert!(error.why.contains("RSB_ROCBLAS_LIBRARY"), "{error}");
    if cfg!(target_os = "linux") {
        let error = RocBlas::load_from(&places("libc.so.6")).unwrap_err();
        assert!(error.why.contains("does not have this function"), "{error}");
    }
}
