//! Finding the loader, starting sysman, and listing devices: by sysman, whose handles the sensors need, or by the core
//! interface where sysman shows none.

use std::ffi::CStr;
use std::path::{Path, PathBuf};

use runtime_loading::{Lack, Loaded, Unavailable};

use crate::structures::{Structure, zes_pci_address_t};
use crate::table::{Functions, ze_result_t, zes_device_handle_t};
use crate::{CURE, SUCCESS, VARIABLE};

const FILES: [&str; 2] = ["libze_loader.so.1", "libze_loader.so"];

/// Intel's number among makers of PCI devices.
pub const VENDOR_INTEL: u32 = 0x8086;

/// More of a kind than any device has: a count beyond it is a lie.
const MOST: u32 = 4096;

/// Of `zeInit`: GPUs alone.
const GPU_ONLY: u32 = 1;
/// `ZE_DEVICE_TYPE_GPU`.
const GPU: u32 = 1;

/// The interface, loaded, with sysman started where it can be.
#[derive(Debug)]
pub struct LevelZero {
    pub(crate) functions: Functions,
    sysman: Result<(), Unavailable>,
}

/// A GPU that Level Zero shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Marketing name.
    pub name: String,
    /// Address on the bus, such as `0000:03:00.0`, where it tells.
    pub address: Option<String>,
    /// Number of the maker on the PCI bus.
    pub vendor: u32,
}

impl LevelZero {
    /// Loads the library and starts sysman. A broken driver may hang or crash here.
    ///
    /// # Errors
    /// When there is no loader. A driver that does not start is no error yet: see [`Self::sensors_work`].
    pub fn open() -> Result<Self, Unavailable> {
        Self::open_from(std::env::var_os(VARIABLE).filter(|file| !file.is_empty()).map(PathBuf::from))
    }

    /// The same from the file that is named, if any.
    ///
    /// # Errors
    /// When it cannot be loaded.
    pub fn open_from(named: Option<PathBuf>) -> Result<Self, Unavailable> {
        let functions = Functions::load_from(named)?;
        let sysman = start(&functions);
        Ok(Self { functions, sysman })
    }

    /// The loader's file.
    pub fn path(&self) -> &Path {
        self.functions.loaded().path()
    }

    /// Whether sysman has started.
    ///
    /// # Errors
    /// Why it has not.
    pub fn sensors_work(&self) -> Result<(), Unavailable> {
        self.sysman.clone()
    }

    /// The GPUs that it shows, in its own order.
    pub fn devices(&self) -> Vec<Device> {
        let by_sysman: Vec<Device> = self.handles().into_iter().filter_map(|device| self.described(device)).collect();
        if by_sysman.is_empty() { self.by_core() } else { by_sysman }
    }

    /// Every device of sysman's.
    pub(crate) fn handles(&self) -> Vec<zes_device_handle_t> {
        let functions = &self.functions;
        let (Ok(()), Some(drivers), Some(devices)) = (&self.sysman, functions.zesDriverGet, functions.zesDeviceGet)
        else {
            return Vec::new();
        };
        // SAFETY: `list` gives a live count, and null or room for as many handles as the count says.
        let drivers = list(|count, to| unsafe { drivers(count, to) });
        // SAFETY: as above; the driver is one that was just listed.
        drivers.into_iter().flat_map(|driver| list(|count, to| unsafe { devices(driver, count, to) })).collect()
    }

    /// The place of `device` on the bus.
    pub(crate) fn address(&self, device: zes_device_handle_t) -> Option<zes_pci_address_t> {
        Some(ask(self.functions.zesDevicePciGetProperties, device)?.address)
    }

    fn described(&self, device: zes_device_handle_t) -> Option<Device> {
        let mut to = crate::zes_device_properties_t::empty();
        to.core = crate::ze_device_properties_t::empty();
        let properties = ask_into(self.functions.zesDeviceGetProperties, device, to)?;
        if properties.core.r#type != GPU {
            return None;
        }
        let names = [text(&properties.core.name), text(&properties.modelName)];
        Some(Device {
            name: names.into_iter().find(|name| !name.is_empty()).unwrap_or_else(unnamed),
            address: self.address(device).map(|address| address.to_string()),
            vendor: properties.core.vendorId,
        })
    }

    fn by_core(&self) -> Vec<Device> {
        let functions = &self.functions;
        let (Some(init), Some(drivers), Some(devices)) =
            (functions.zeInit, functions.zeDriverGet, functions.zeDeviceGet)
        else {
            return Vec::new();
        };
        // SAFETY: it takes a flag, and may be called more than once.
        if unsafe { init(GPU_ONLY) } != SUCCESS {
            return Vec::new();
        }
        // SAFETY: `list` gives a live count, and null or room for as many handles as the count says.
        let drivers = list(|count, to| unsafe { drivers(count, to) });
        // SAFETY: as above; the driver is one that was just listed.
        let devices = drivers.into_iter().flat_map(|driver| list(|count, to| unsafe { devices(driver, count, to) }));
        let described = devices.filter_map(|device| {
            let properties = ask(functions.zeDeviceGetProperties, device).filter(|found| found.r#type == GPU)?;
            let place = ask(functions.zeDevicePciGetPropertiesExt, device);
            let name = Some(text(&properties.name)).filter(|name| !name.is_empty()).unwrap_or_else(unnamed);
            Some(Device { name, address: place.map(|place| place.address.to_string()), vendor: properties.vendorId })
        });
        described.collect()
    }
}

impl Functions {
    /// The functions of the file that is named, or of the loader that is found.
    ///
    /// # Errors
    /// When none can be loaded.
    pub fn load_from(named: Option<PathBuf>) -> Result<Self, Unavailable> {
        find(named).map(Self::of)
    }
}

fn unnamed() -> String {
    "a GPU without a name".to_owned()
}

fn find(named: Option<PathBuf>) -> Result<Loaded, Unavailable> {
    let failed = |why: String| Unavailable::new("Level Zero's loader (libze_loader)", why, CURE);
    if let Some(file) = named {
        return Loaded::first(std::slice::from_ref(&file)).map_err(|refusal| {
            let said = refusal.map(|said| format!(": {said}")).unwrap_or_default();
            failed(format!("{VARIABLE} names {}, which cannot be loaded{said}", file.display()))
        });
    }
    // Conda brings the loader along in the active environment.
    let conda = std::env::var_os("CONDA_PREFIX").map(|root| PathBuf::from(root).join("lib"));
    let beside = conda.iter().flat_map(|folder| FILES.map(|file| folder.join(file))).filter(|file| file.exists());
    let candidates: Vec<PathBuf> = beside.chain(FILES.map(PathBuf::from)).collect();
    Loaded::first(&candidates).map_err(|refusal| {
        failed(refusal.unwrap_or_else(|| format!("none of {} is on the library path", FILES.join(", "))))
    })
}

fn start(functions: &Functions) -> Result<(), Unavailable> {
    let init = functions.zesInit.ok_or_else(|| lacking("zesInit", functions))?;
    // SAFETY: it takes no flags, and may be called more than once.
    match unsafe { init(0) } {
        SUCCESS => Ok(()),
        status => Err(Unavailable::new("Level Zero's sensors (zesInit)", meaning(status), cure(status))),
    }
}

/// A function that the loader does not have.
pub(crate) fn lacking(name: &str, functions: &Functions) -> Unavailable {
    let cure =
        "install a newer loader of Level Zero, from Intel's packages or a newer release of the distribution: 1.9 was \
                the first with zesInit, and Debian 12 has 1.8"
            .to_owned();
    Unavailable { cure, lack: Lack::Function, ..Unavailable::symbol(name, functions.loaded().path()) }
}

/// A status in words: `ze_result_t`.
pub(crate) fn meaning(status: ze_result_t) -> String {
    let words = match status {
        0x7000_0001 => "the device is lost",
        0x7001_0000 => "this user may not",
        0x7002_0000 => "something that the driver needs is missing",
        0x7800_0001 => "no driver of a device has started",
        0x7800_0002 => "the driver is of another version than the loader",
        0x7800_0003 => "the driver cannot do this",
        _ => return format!("status {status:#x}"),
    };
    format!("{words} (status {status:#x})")
}

fn cure(status: ze_result_t) -> &'static str {
    match status {
        0x7001_0000 => "add the user to the groups render and video, and log in again",
        0x7000_0001 => "look into the kernel's log (dmesg) for i915 or xe; restart the machine",
        _ => {
            "install Intel's driver for Level Zero (Debian: libze-intel-gpu1; Intel's packages: intel-level-zero-gpu), of \
             the same year as the loader"
        }
    }
}

/// The text up to its zero, or its end.
fn text(bytes: &[u8]) -> String {
    let text = CStr::from_bytes_until_nul(bytes).map_or(bytes, CStr::to_bytes);
    String::from_utf8_lossy(text).trim().to_owned()
}

/// Every handle that `call` lists: it is asked how many there are, then to write them.
pub(crate) fn list<T>(call: impl Fn(*mut u32, *mut *mut T) -> ze_result_t) -> Vec<*mut T> {
    let mut count = 0;
    if call(&raw mut count, std::ptr::null_mut()) != SUCCESS || count == 0 || count > MOST {
        return Vec::new();
    }
    let mut found = vec![std::ptr::null_mut(); count as usize];
    if call(&raw mut count, found.as_mut_ptr()) != SUCCESS {
        return Vec::new();
    }
    // There may be fewer by now.
    found.truncate(count as usize);
    found.retain(|handle| !handle.is_null());
    found
}

/// What `function` says of `handle`, where it is there and does.
pub(crate) fn ask<H, S: Structure>(
    function: Option<unsafe extern "C" fn(H, *mut S) -> ze_result_t>,
    handle: H,
) -> Option<S> {
    ask_into(function, handle, S::empty())
}

fn ask_into<H, S: Structure>(
    function: Option<unsafe extern "C" fn(H, *mut S) -> ze_result_t>,
    handle: H,
    mut to: S,
) -> Option<S> {
    // SAFETY: the handle is one that was just listed; the pointer is to a live structure of the type that it fills in.
    (unsafe { function?(handle, &raw mut to) } == SUCCESS).then_some(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_the_loader_says_how_to_get_it() {
        let error = LevelZero::open_from(Some("/nowhere.so".into())).unwrap_err();
        assert!(error.why.contains("/nowhere.so") && error.cure.contains("libze1"), "{error}");
        assert_eq!(error.lack, Lack::Library);
    }

    #[test]
    fn a_library_without_its_functions_names_the_first() {
        // Any library that every machine has.
        let open = LevelZero::open_from(Some("libm.so.6".into())).unwrap();
        let error = open.sensors_work().unwrap_err();
        assert!(error.what == "zesInit" && error.lack == Lack::Function && error.cure.contains("1.9"), "{error}");
        assert_eq!(open.devices(), []);
    }

    #[test]
    fn statuses_are_told_in_words_and_by_number() {
        assert_eq!(meaning(0x7800_0001), "no driver of a device has started (status 0x78000001)");
        assert_eq!(meaning(0x7fff_fffe), "status 0x7ffffffe");
        assert!(cure(0x7001_0000).contains("render"));
    }

    #[test]
    fn a_count_that_lies_lists_nothing_and_one_that_shrinks_lists_what_is_left() {
        let lying = |count: *mut u32, _: *mut *mut u8| {
            // SAFETY: `list` hands a live count over.
            unsafe { count.write(u32::MAX) };
            SUCCESS
        };
        assert!(list(lying).is_empty());
        let shrinking = |count: *mut u32, to: *mut *mut u8| {
            // SAFETY: as above; where there is room, it is for as many as were announced.
            unsafe {
                if to.is_null() {
                    count.write(3);
                } else {
                    to.write(std::ptr::dangling_mut());
                    count.write(1);
                }
            }
            SUCCESS
        };
        assert_eq!(list(shrinking).len(), 1);
    }

    #[test]
    fn text_ends_at_its_zero_or_with_the_array() {
        assert_eq!((text(b"Arc\0x"), text(b" Arc "), text(b"\0")), ("Arc".into(), "Arc".into(), String::new()));
    }
}
