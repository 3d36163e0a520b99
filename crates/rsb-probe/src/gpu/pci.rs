//! IDs and addresses of PCI functions.

use std::fmt;

/// IDs of vendor and model.
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

/// Returns whether `name` is a PCI address such as `0000:03:00.0`.
pub(super) fn is_address(name: &str) -> bool {
    name.len() >= 12
        && name.bytes().all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.'))
        && name.contains(':')
}
