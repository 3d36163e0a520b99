//! The look-alike's Level Zero through the crate that the program reads the real one with, and call by call: what is
//! right works, and what a driver refuses is refused.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks, clippy::unwrap_used, missing_docs)]

use std::ptr::null_mut;

use level_zero_sys::{
    Functions, LevelZero, SUCCESS, Structure, VENDOR_INTEL, zes_device_handle_t, zes_driver_handle_t,
    zes_pci_properties_t, zes_temp_properties_t,
};

const UNINITIALIZED: i32 = 0x7800_0001;
const INVALID_NULL_HANDLE: i32 = 0x7800_0005;
const INVALID_NULL_POINTER: i32 = 0x7800_0007;
const INVALID_ENUMERATION: i32 = 0x7800_000c;

fn functions() -> Functions {
    Functions::load_from(Some(rsb_lookalike::file::library().unwrap())).unwrap()
}

/// Calls a function that must be there.
macro_rules! call {
    ($library:expr, $name:ident($($argument:expr),* $(,)?)) => { unsafe { $library.$name.unwrap()($($argument),*) } };
}

#[test]
fn a_card_is_found_by_its_place_and_tells_how_it_is() {
    let open = LevelZero::open_from(Some(rsb_lookalike::file::library().unwrap())).unwrap();
    assert_eq!(open.sensors_work(), Ok(()));
    let devices = open.devices();
    assert_eq!((devices.len(), devices[0].vendor), (1, VENDOR_INTEL));
    assert!(devices[0].name.contains("no hardware"), "{devices:?}");
    let address = devices[0].address.clone().unwrap();
    let (before, now) = (open.read(&address).unwrap(), open.read(&address.to_uppercase()).unwrap());
    let watts = |all: &level_zero_sys::Readings| all.energy.unwrap();
    let spent = watts(&now).amount - watts(&before).amount;
    let during = watts(&now).at - watts(&before).at;
    assert!((120..=140).contains(&(spent / during)), "{spent} in {during}");
    let (active, at) = (before.activity.unwrap(), now.activity.unwrap());
    assert!(at.amount > active.amount, "the group of all engines counts, not the first one");
    assert_ne!(before.chip_celsius, now.chip_celsius, "they change");
    assert!(now.device_celsius > now.chip_celsius && now.memory_celsius.is_some());
    assert!(now.chip_mhz > now.memory_mhz && now.memory_mhz.is_some());
    let (used, size) = now.memory_bytes.unwrap();
    assert!(used > 1_000_000_000 && size == 16 << 30);
    assert!(level_zero_sys::reasons(now.held_back.unwrap()).is_empty());
    let unknown = open.read("0000:77:00.0").unwrap_err();
    assert!(unknown.what.contains("0000:77:00.0"), "{unknown}");
}

#[test]
fn nothing_of_sysmans_goes_before_its_start() {
    let library = functions();
    let (mut count, mut driver): (u32, zes_driver_handle_t) = (0, null_mut());
    assert_eq!(call!(library, zesDriverGet(&raw mut count, null_mut())), UNINITIALIZED);
    assert_eq!(call!(library, zeInit(0)), SUCCESS);
    assert_eq!(call!(library, zesDriverGet(&raw mut count, null_mut())), UNINITIALIZED, "it has a start of its own");
    assert_eq!(call!(library, zesInit(0)), SUCCESS);
    assert_eq!(call!(library, zesDriverGet(&raw mut count, null_mut())), SUCCESS);
    assert_eq!((count, driver.is_null()), (1, true));
    assert_eq!(call!(library, zesDriverGet(&raw mut count, &raw mut driver)), SUCCESS);
    assert!(!driver.is_null());
}

#[test]
fn what_is_no_handle_and_no_structure_is_a_status() {
    let library = functions();
    assert_eq!(call!(library, zesInit(0)), SUCCESS);
    let (mut count, mut driver): (u32, zes_driver_handle_t) = (1, null_mut());
    assert_eq!(call!(library, zesDriverGet(&raw mut count, &raw mut driver)), SUCCESS);
    let mut devices: [zes_device_handle_t; 4] = [null_mut(); 4];
    count = 4;
    assert_eq!(call!(library, zesDeviceGet(driver, &raw mut count, devices.as_mut_ptr())), SUCCESS);
    assert_eq!((count, devices[1].is_null()), (1, true), "there is one, whatever the room");
    assert_eq!(
        call!(library, zesDeviceGet(driver.wrapping_byte_add(1), &raw mut count, null_mut())),
        INVALID_NULL_HANDLE
    );
    assert_eq!(call!(library, zesDeviceGet(driver, null_mut(), null_mut())), INVALID_NULL_POINTER);
    let mut place = zes_pci_properties_t::empty();
    assert_eq!(call!(library, zesDevicePciGetProperties(devices[0], &raw mut place)), SUCCESS);
    assert_eq!(place.address.to_string(), "0000:01:00.0");
    place.stype = zes_temp_properties_t::empty().stype;
    assert_eq!(call!(library, zesDevicePciGetProperties(devices[0], &raw mut place)), INVALID_ENUMERATION);
    for wrong in [null_mut(), driver.cast(), devices[0].wrapping_byte_add(1 << 12)] {
        assert_eq!(call!(library, zesDevicePciGetProperties(wrong, &raw mut place)), INVALID_NULL_HANDLE, "{wrong:p}");
    }
    assert_eq!(call!(library, zesDevicePciGetProperties(devices[0], null_mut())), INVALID_NULL_POINTER);
}
