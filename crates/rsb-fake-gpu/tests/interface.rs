//! Tests the HIP interface of the fake GPU through the function tables that the program also uses
//! for the real libraries.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks, clippy::unwrap_used, missing_docs)]

use std::ffi::c_void;
use std::path::Path;
use std::ptr::null_mut;

use hip_runtime_sys::search::RocmPaths;
use hip_runtime_sys::{
    Hip, Hiprtc, PropertiesR0000, PropertiesR0600, attribute, error, memcpy, text,
};
use rocblas_sys::RocBlas;
use rsb_gpu::hip::catalog::KERNELS;

fn places(file: &Path) -> RocmPaths {
    RocmPaths { explicit: Some(file.into()), ..RocmPaths::default() }
}

fn hip() -> Hip {
    Hip::load_from(&places(&rsb_fake_gpu::file::library().unwrap())).unwrap()
}

/// Calls a function that must exist.
macro_rules! call {
    ($library:expr, $name:ident($($argument:expr),* $(,)?)) => { unsafe { $library.$name.unwrap()($($argument),*) } };
}

#[test]
fn every_function_that_the_program_uses_is_there() {
    let places = places(&rsb_fake_gpu::file::library().unwrap());
    assert_eq!(hip().missing(), Vec::<&str>::new());
    assert_eq!(Hiprtc::load_from(&places).unwrap().missing(), Vec::<&str>::new());
    assert_eq!(RocBlas::load_from(&places).unwrap().missing(), Vec::<&str>::new());
    assert!(hip().loaded().exports("rsb_fake_gpu"));
}

#[test]
fn a_copy_without_a_function_lacks_that_one_alone() {
    let dir = tempfile::tempdir().unwrap();
    let torn = dir.path().join("librsb_fake_gpu.so");
    rsb_fake_gpu::file::copy_without(&["hipGraphLaunch"], &torn).unwrap();
    assert_eq!(Hip::load_from(&places(&torn)).unwrap().missing(), ["hipGraphLaunch"]);
    assert!(rsb_fake_gpu::file::copy_without(&["hipNonsense"], &torn).is_err());
}

#[test]
fn every_kernel_of_the_catalog_has_a_twin_with_as_many_parameters() {
    for kernel in KERNELS {
        let twin = rsb_fake_gpu::kernels().find(|(stem, _)| *stem == kernel.stem);
        assert_eq!(
            twin,
            Some((kernel.stem, kernel.parameters.len())),
            "add it to crates/rsb-fake-gpu/src/kernels"
        );
    }
}

#[test]
fn both_layouts_of_properties_agree() {
    let hip = hip();
    let (mut new, mut old) = (PropertiesR0600::default(), PropertiesR0000::default());
    assert_eq!(call!(hip, hipGetDevicePropertiesR0600(&raw mut new, 0)), 0);
    assert_eq!(call!(hip, hipGetDeviceProperties(&raw mut old, 0)), 0);
    assert!(text(&new.name).contains("fake GPU") && text(&new.gcnArchName).starts_with("gfx90a:"));
    assert_eq!(
        (text(&new.name), text(&new.gcnArchName)),
        (text(&old.name), text(&old.gcnArchName))
    );
    assert_eq!(
        (new.multiProcessorCount, new.totalGlobalMem),
        (old.multiProcessorCount, old.totalGlobalMem)
    );
    let mut units = 0;
    assert_eq!(
        call!(hip, hipDeviceGetAttribute(&raw mut units, attribute::MULTIPROCESSOR_COUNT, 0)),
        0
    );
    assert_eq!(units, new.multiProcessorCount);
    assert_eq!(call!(hip, hipGetDeviceProperties(&raw mut old, 1)), error::INVALID_DEVICE);
}

#[test]
fn what_is_no_memory_and_no_handle_is_a_status() {
    let hip = hip();
    let mut block: *mut c_void = null_mut();
    assert_eq!(call!(hip, hipMalloc(&raw mut block, 64)), 0);
    let mut host = [7_u8; 100];
    let to_host = |from: *mut c_void, bytes| (from, bytes, memcpy::DEVICE_TO_HOST);
    for (from, bytes, kind) in [
        to_host(block, 65),
        to_host(block.wrapping_byte_add(60), 5),
        to_host(0x1000 as *mut c_void, 1),
        to_host(null_mut(), 1),
        (block, 1, 77),
    ] {
        let status = call!(hip, hipMemcpy(host.as_mut_ptr().cast(), from, bytes, kind));
        assert_eq!(status, error::INVALID_VALUE, "{bytes} bytes at {from:p}");
    }
    assert_eq!(host, [7; 100], "nothing was copied");
    assert_eq!(call!(hip, hipMemcpy(block, host.as_ptr().cast(), 64, memcpy::HOST_TO_DEVICE)), 0);
    assert_eq!(call!(hip, hipMalloc(null_mut(), 64)), error::INVALID_VALUE);
    assert_eq!(call!(hip, hipMalloc(&raw mut block, usize::MAX)), error::OUT_OF_MEMORY);
    assert_eq!(call!(hip, hipFree(block)), 0);
    assert_eq!(call!(hip, hipFree(block)), error::INVALID_VALUE, "freed twice");
    for stream in [0x10, 0x1234] {
        assert_ne!(call!(hip, hipStreamSynchronize(stream as *mut _)), 0);
        assert_ne!(call!(hip, hipStreamDestroy(stream as *mut _)), 0);
        assert_ne!(call!(hip, hipEventDestroy(stream as *mut _)), 0);
    }
}
