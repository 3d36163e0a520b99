//! Initialisation, and what the devices are.

use std::ffi::c_int;

use level_zero_sys::{
    VENDOR_INTEL, ze_device_handle_t, ze_device_properties_t, ze_driver_handle_t, ze_pci_ext_properties_t,
    zes_device_handle_t, zes_device_properties_t, zes_driver_handle_t, zes_pci_address_t, zes_pci_properties_t,
};

use super::{Kind, answer, fill, handle_of, parts, tell};
use crate::ops::bus;
use crate::sysman::{SUCCESS, Status, with};

/// `ZE_DEVICE_TYPE_GPU`.
const GPU: u32 = 1;
/// The number of an Arc A770, so that a finding about it reads as in life.
const MODEL: u32 = 0x56a0;

const NAME: &[u8] = b"software look-alike of a card of Intel's (no hardware)";

fn describe(to: &mut ze_device_properties_t) {
    to.r#type = GPU;
    to.vendorId = VENDOR_INTEL;
    to.deviceId = MODEL;
    for (to, letter) in to.name.iter_mut().zip(NAME.iter().chain([&0])) {
        *to = *letter;
    }
}

fn place(card: usize) -> zes_pci_address_t {
    zes_pci_address_t { bus: u32::try_from(bus(card)).unwrap_or(0), ..zes_pci_address_t::default() }
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn zesInit(_flags: u32) -> c_int {
    with(crate::sysman::Sysman::start)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn zesDriverGet(count: *mut u32, drivers: *mut zes_driver_handle_t) -> c_int {
    // SAFETY: the caller gives a count, and room for so many, or null.
    answer(|_| unsafe { tell(count, drivers, &[handle_of(Kind::Driver, 0, 0)]) })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn zesDeviceGet(
    driver: zes_driver_handle_t,
    count: *mut u32,
    devices: *mut zes_device_handle_t,
) -> c_int {
    answer(|sysman| {
        parts(sysman, Kind::Driver, driver)?;
        let all: Vec<zes_device_handle_t> = (0..sysman.count()).map(|card| handle_of(Kind::Device, card, 0)).collect();
        // SAFETY: the caller gives a count, and room for so many, or null.
        unsafe { tell(count, devices, &all) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn zesDeviceGetProperties(
    device: zes_device_handle_t,
    to: *mut zes_device_properties_t,
) -> c_int {
    answer(|sysman| {
        parts(sysman, Kind::Device, device)?;
        // SAFETY: the caller gives one, or null.
        unsafe { fill(to, |to| describe(&mut to.core)) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn zesDevicePciGetProperties(
    device: zes_device_handle_t,
    to: *mut zes_pci_properties_t,
) -> c_int {
    answer(|sysman| {
        let (card, _) = parts(sysman, Kind::Device, device)?;
        // SAFETY: the caller gives one, or null.
        unsafe { fill(to, |to| to.address = place(card)) }
    })
}

/// Answers a call of the core interface, which starts whatever becomes of sysman.
fn by_core(call: impl FnOnce(&mut crate::sysman::Sysman) -> Result<(), Status>) -> c_int {
    with(call).err().unwrap_or(SUCCESS)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn zeInit(_flags: u32) -> c_int {
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn zeDriverGet(count: *mut u32, drivers: *mut ze_driver_handle_t) -> c_int {
    // SAFETY: the caller gives a count, and room for so many, or null.
    by_core(|_| unsafe { tell(count, drivers, &[handle_of(Kind::Driver, 0, 0)]) })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn zeDeviceGet(
    driver: ze_driver_handle_t,
    count: *mut u32,
    devices: *mut ze_device_handle_t,
) -> c_int {
    by_core(|sysman| {
        parts(sysman, Kind::Driver, driver)?;
        let all: Vec<ze_device_handle_t> = (0..sysman.count()).map(|card| handle_of(Kind::Device, card, 0)).collect();
        // SAFETY: the caller gives a count, and room for so many, or null.
        unsafe { tell(count, devices, &all) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn zeDeviceGetProperties(
    device: ze_device_handle_t,
    to: *mut ze_device_properties_t,
) -> c_int {
    by_core(|sysman| {
        parts(sysman, Kind::Device, device)?;
        // SAFETY: the caller gives one, or null.
        unsafe { fill(to, describe) }
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn zeDevicePciGetPropertiesExt(
    device: ze_device_handle_t,
    to: *mut ze_pci_ext_properties_t,
) -> c_int {
    by_core(|sysman| {
        let (card, _) = parts(sysman, Kind::Device, device)?;
        // SAFETY: the caller gives one, or null.
        unsafe { fill(to, |to| to.address = place(card)) }
    })
}
