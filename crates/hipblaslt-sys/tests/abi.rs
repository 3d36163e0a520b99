//! Checks the binary interface: values and argument counts, as in hipBLASLt 0.6 to 1.5.

use hip_runtime_sys::search::RocmPaths;
use hipblaslt_sys::{
    ALGORITHM_WORDS, HipblasLt, compute, datatype, descriptor, epilogue,
    hipblasLtMatmulHeuristicResult_t, layout, operation, status,
};

#[test]
fn values_of_enumerations() {
    let types = [datatype::F32, datatype::F16, datatype::I8, datatype::I32, datatype::BF16];
    assert_eq!(types, [0, 2, 3, 10, 14]);
    assert_eq!([datatype::F8_E4M3, datatype::F8_E4M3_FNUZ], [28, 1000]);
    assert_eq!([compute::F32, compute::F32_FAST_TF32, compute::I32], [2, 6, 9]);
    assert_eq!([operation::NONE, operation::TRANSPOSE], [111, 112]);
    assert_eq!([epilogue::NONE, epilogue::BIAS, epilogue::GELU_BIAS], [1, 4, 36]);
    let attributes = [descriptor::TRANSPOSE_A, descriptor::TRANSPOSE_B, descriptor::EPILOGUE];
    assert_eq!(
        (attributes, [descriptor::BIAS_POINTER, descriptor::BIAS_TYPE]),
        ([0, 1, 2], [3, 4])
    );
    assert_eq!(
        [layout::BATCH_COUNT, layout::BATCH_STRIDE, hipblaslt_sys::PREFERENCE_WORKSPACE_BYTES],
        [0, 1, 1]
    );
    assert_eq!(
        [status::ALLOC_FAILED, status::INVALID_VALUE, status::NOT_SUPPORTED, status::ARCH_MISMATCH],
        [2, 3, 7, 8]
    );
}

/// The C struct contains the algorithm `{uint8_t[16], size_t}`, then `size_t`, an enumeration,
/// `float` and `int[4]`.
#[test]
fn sizes_of_structures() {
    assert_eq!(
        (ALGORITHM_WORDS * 8, size_of::<hipblasLtMatmulHeuristicResult_t>()),
        (24, 24 + 8 + 4 + 4 + 16)
    );
}

#[test]
fn numbers_of_arguments() {
    for (name, expected) in [
        ("hipblasLtMatmul", 16),
        ("hipblasLtMatmulAlgoGetHeuristic", 10),
        ("hipblasLtMatrixLayoutCreate", 5),
    ] {
        let found =
            HipblasLt::FUNCTIONS.iter().find(|(known, _)| *known == name).map(|(_, count)| *count);
        assert_eq!(found, Some(expected), "{name}");
    }
}

#[test]
fn a_library_that_is_missing_or_another_is_a_value() {
    let places = |file: &str| RocmPaths { explicit: Some(file.into()), ..RocmPaths::default() };
    let error = HipblasLt::load_from(&places("/nonexistent/libhipblaslt.so")).unwrap_err();
    assert!(error.why.contains("RSB_HIPBLASLT_LIBRARY"), "{error}");
    if cfg!(target_os = "linux") {
        let error = HipblasLt::load_from(&places("libc.so.6")).unwrap_err();
        assert!(error.why.contains("does not have this function"), "{error}");
    }
}
