//! PCI address of a device, from the common extension or from the older extensions of AMD and
//! NVIDIA.

use super::api::{Object, ask};
use super::runtime::{Runtime, call};

/// Type of [`ask::DEVICE_TOPOLOGY_AMD`] that contains a PCI address.
const PCI_EXPRESS: u8 = 1;

/// A PCI address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    domain: u32,
    bus: u32,
    slot: u32,
    function: u32,
}

/// Returns the PCI address of the device in sysfs notation, if the driver reports one.
pub(super) fn address(runtime: &Runtime, device: Object) -> Option<String> {
    let place = common(runtime, device)
        .or_else(|| nvidia(runtime, device))
        .or_else(|| amd(runtime, device))?;
    Some(format!("{:04x}:{:02x}:{:02x}.{:x}", place.domain, place.bus, place.slot, place.function))
}

/// Returns the device property `name`, if its size is `N` bytes.
fn query_info<const N: usize>(runtime: &Runtime, device: Object, name: u32) -> Option<[u8; N]> {
    let mut value = [0_u8; N];
    let mut written = 0_usize;
    let room = value.as_mut_ptr().cast();
    // SAFETY: the device is live and there is room for `N` bytes; a driver without the extension
    // returns an error.
    unsafe { call!(runtime, clGetDeviceInfo(device, name, N, room, &raw mut written)) }.ok()?;
    (written == N).then_some(value)
}

fn number(runtime: &Runtime, device: Object, name: u32) -> Option<u32> {
    query_info(runtime, device, name).map(u32::from_ne_bytes)
}

fn common(runtime: &Runtime, device: Object) -> Option<Place> {
    let bytes = query_info::<16>(runtime, device, ask::DEVICE_PCI_BUS_INFO)?;
    let [domain, bus, slot, function]: [u32; 4] = bytes
        .as_chunks::<4>()
        .0
        .iter()
        .map(|part| u32::from_ne_bytes(*part))
        .collect::<Vec<_>>()
        .try_into()
        .ok()?;
    Some(Place { domain, bus, slot, function })
}

fn nvidia(runtime: &Runtime, device: Object) -> Option<Place> {
    let bus = number(runtime, device, ask::DEVICE_PCI_BUS_ID_NV)?;
    let place = number(runtime, device, ask::DEVICE_PCI_SLOT_ID_NV)?;
    // Older drivers do not report the domain, which is zero except on large servers.
    let domain = number(runtime, device, ask::DEVICE_PCI_DOMAIN_ID_NV).unwrap_or(0);
    Some(of_nvidia(domain, bus, place))
}

/// Decodes the slot number: five bits of device, three of function.
const fn of_nvidia(domain: u32, bus: u32, place: u32) -> Place {
    Place { domain, bus, slot: place >> 3, function: place & 7 }
}

fn amd(runtime: &Runtime, device: Object) -> Option<Place> {
    of_amd(&query_info(runtime, device, ask::DEVICE_TOPOLOGY_AMD)?)
}

/// Decodes the topology, which has the type in the first four bytes and bus, device and function in
/// the last three. It contains no domain.
fn of_amd(topology: &[u8; 24]) -> Option<Place> {
    let [PCI_EXPRESS, 0, 0, 0, .., bus, slot, function] = *topology else { return None };
    Some(Place { domain: 0, bus: bus.into(), slot: slot.into(), function: function.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vendors_words_for_a_place_are_understood() {
        assert_eq!(of_nvidia(1, 0xc1, 0x09), Place { domain: 1, bus: 0xc1, slot: 1, function: 1 });
        let mut topology = [0_u8; 24];
        assert_eq!(
            of_amd(&topology),
            None,
            "a topology of unknown type must not be decoded as an address"
        );
        topology[0] = PCI_EXPRESS;
        topology[21..].copy_from_slice(&[0xc3, 0, 1]);
        assert_eq!(of_amd(&topology), Some(Place { domain: 0, bus: 0xc3, slot: 0, function: 1 }));
    }
}
