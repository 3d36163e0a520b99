//! Checks the binary interface: sizes, offsets, values and argument counts, as in the headers of
//! ROCm 5.2, 6.4 and 7.2.
#![allow(non_snake_case)]

use std::mem::{offset_of, size_of};

use hip_runtime_sys::{
    Hip, Hiprtc, PropertiesR0000, PropertiesR0600, attribute, error, memcpy, result, text,
};

#[test]
fn the_layout_of_rocm_6_and_7() {
    assert_eq!(size_of::<PropertiesR0600>(), 1472);
    let offsets = [
        (offset_of!(PropertiesR0600, name), 0),
        (offset_of!(PropertiesR0600, totalGlobalMem), 288),
        (offset_of!(PropertiesR0600, warpSize), 308),
        (offset_of!(PropertiesR0600, clockRate), 348),
        (offset_of!(PropertiesR0600, major), 360),
        (offset_of!(PropertiesR0600, multiProcessorCount), 388),
        (offset_of!(PropertiesR0600, integrated), 396),
        (offset_of!(PropertiesR0600, pciBusID), 584),
        (offset_of!(PropertiesR0600, memoryClockRate), 608),
        (offset_of!(PropertiesR0600, memoryBusWidth), 612),
        (offset_of!(PropertiesR0600, l2CacheSize), 616),
        (offset_of!(PropertiesR0600, gcnArchName), 1160),
    ];
    for (found, expected) in offsets {
        assert_eq!(found, expected);
    }
}

#[test]
fn the_layout_of_rocm_5() {
    assert_eq!(size_of::<PropertiesR0000>(), 792);
    let offsets = [
        (offset_of!(PropertiesR0000, totalGlobalMem), 256),
        (offset_of!(PropertiesR0000, warpSize), 276),
        (offset_of!(PropertiesR0000, clockRate), 308),
        (offset_of!(PropertiesR0000, memoryClockRate), 312),
        (offset_of!(PropertiesR0000, memoryBusWidth), 316),
        (offset_of!(PropertiesR0000, major), 328),
        (offset_of!(PropertiesR0000, multiProcessorCount), 336),
        (offset_of!(PropertiesR0000, l2CacheSize), 340),
        (offset_of!(PropertiesR0000, pciBusID), 368),
        (offset_of!(PropertiesR0000, gcnArchName), 396),
        (offset_of!(PropertiesR0000, integrated), 652),
    ];
    for (found, expected) in offsets {
        assert_eq!(found, expected);
    }
}

#[test]
fn values_of_enumerations() {
    assert_eq!(
        [
            attribute::CLOCK_RATE,
            attribute::INTEGRATED,
            attribute::L2_CACHE_SIZE,
            attribute::MEMORY_BUS_WIDTH,
            attribute::MEMORY_CLOCK_RATE,
            attribute::MULTIPROCESSOR_COUNT,
            attribute::USES_HOST_PAGE_TABLES,
            attribute::PCI_BUS_ID,
            attribute::WARP_SIZE
        ],
        [5, 16, 19, 59, 60, 63, 66, 67, 87]
    );
    assert_eq!(
        [error::OUT_OF_MEMORY, error::NO_DEVICE, error::INVALID_DEVICE, error::LAUNCH_FAILURE],
        [2, 100, 101, 719]
    );
    assert_eq!(
        [memcpy::HOST_TO_DEVICE, memcpy::DEVICE_TO_HOST, memcpy::DEVICE_TO_DEVICE],
        [1, 2, 3]
    );
    assert_eq!([result::SUCCESS, result::INVALID_OPTION, result::COMPILATION], [0, 5, 6]);
}

#[test]
fn numbers_of_arguments() {
    for (name, expected) in [
        ("hipInit", 1),
        ("hipMalloc", 2),
        ("hipMemcpyAsync", 5),
        ("hipMemcpyPeerAsync", 6),
        ("hipGraphInstantiate", 5),
        ("hipModuleLaunchKernel", 11),
        ("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", 4),
    ] {
        let found =
            Hip::FUNCTIONS.iter().find(|(known, _)| *known == name).map(|(_, count)| *count);
        assert_eq!(found, Some(expected), "{name}");
    }
    let found = Hiprtc::FUNCTIONS
        .iter()
        .find(|(known, _)| *known == "hiprtcCreateProgram")
        .map(|(_, count)| *count);
    assert_eq!(found, Some(6));
}

#[test]
fn text_ends_at_its_zero_or_with_its_array() {
    let array = |bytes: &[u8]| {
        bytes.iter().map(|&byte| byte.cast_signed()).collect::<Vec<std::ffi::c_char>>()
    };
    assert_eq!(text(&array(b"gfx90a\0rubbish")), "gfx90a");
    assert_eq!(text(&array(b"gfx1100")), "gfx1100");
    assert_eq!(text(&[]), "");
}
