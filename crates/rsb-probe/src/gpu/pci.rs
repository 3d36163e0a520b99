//! What the PCI bus calls a function: its numbers and its address.

use std::fmt;

/// Numbers of vendor and model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PciId {
    pub(crate) vendor: u32,
    pub(crate) device: u32,
}

impl fmt::Display for PciId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:04x}:{:04x}", self.vendor, self.device)
    }
}

/// `0000:03:00.0`.
pub(super) fn is_address(name: &str) -> bool {
    name.len() >= 12
        && name.bytes().all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.'))
        && name.contains(':')
}
