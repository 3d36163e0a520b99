//! Checks the binary interface against `nccl.h` of NCCL 2.32.3 and `nccl.h.in` of ROCm/rccl
//! 0023b9b, in which the values below are equal. The Python package nvidia-nccl-cu12 contains this
//! NCCL, and its library exports every function of the table.

use nccl_sys::{NCCL_SUM, Nccl, nccl_type};

#[test]
fn numbers_are_those_of_the_headers() {
    let numbers =
        [nccl_type::FLOAT16, nccl_type::FLOAT32, nccl_type::FLOAT64, nccl_type::BFLOAT16, NCCL_SUM];
    assert_eq!(numbers, [6, 7, 8, 9, 0]);
}

#[test]
fn functions_have_as_many_arguments_as_in_the_headers() {
    let functions = [
        ("ncclCommInitAll", 3),
        ("ncclCommDestroy", 1),
        ("ncclGroupStart", 0),
        ("ncclGroupEnd", 0),
        ("ncclAllReduce", 7),
        ("ncclAllGather", 6),
        ("ncclReduceScatter", 7),
        ("ncclBroadcast", 7),
        ("ncclSend", 6),
        ("ncclRecv", 6),
        ("ncclGetErrorString", 1),
    ];
    assert_eq!(Nccl::FUNCTIONS, functions);
}
