//! The GPUs: their number, names, PCI addresses and peer access.

use std::ffi::{CStr, CString, c_int};
use std::sync::OnceLock;

use crate::orders::Place;
use crate::state::{State, current};
use crate::status::{self, Status};

impl State {
    /// Aborts the process if an injected fault is set for `place`. `call` is the name in the
    /// message.
    pub(crate) fn abort_if_ordered(&self, place: Place, call: &str) {
        if self.orders.as_ref().is_ok_and(|orders| orders.aborts(place)) {
            eprintln!("rsb-fake-gpu: {call} aborts the process, as requested by FAKE_GPU_FAULT");
            std::process::abort();
        }
    }

    /// Returns the error message for an invalid environment variable; empty if all are valid. It is
    /// kept until the process ends.
    pub(crate) fn mistake(&self) -> &'static CStr {
        static MISTAKE: OnceLock<CString> = OnceLock::new();
        MISTAKE.get_or_init(|| {
            let mistake = self.orders.as_ref().err().cloned().unwrap_or_default();
            CString::new(mistake).unwrap_or_default()
        })
    }

    /// Returns the number of GPUs; 0 after a fault has removed them.
    pub(crate) fn gpu_count(&self) -> Result<usize, Status> {
        match &self.orders {
            Err(_) => Err(status::NOT_INITIALIZED),
            Ok(orders) if orders.has_vanished() => Ok(0),
            Ok(orders) => Ok(orders.gpus),
        }
    }

    /// Returns the index of the GPU with ordinal `device`.
    pub(crate) fn index(&self, device: c_int) -> Result<usize, Status> {
        let index = usize::try_from(device).ok().filter(|&index| index < self.gpus.len());
        index.ok_or(status::INVALID_DEVICE)
    }

    /// Returns the name of every GPU.
    pub(crate) fn name(&self) -> String {
        format!("fake GPU of {} (no hardware)", self.model.arch)
    }

    /// Returns whether a GPU can access the memory of another.
    pub(crate) fn reaches(&self, device: c_int, peer: c_int) -> Result<bool, Status> {
        Ok(self.index(device)? != self.index(peer)?)
    }

    /// Enables access of the current GPU to the memory of another.
    pub(crate) fn enable_peer(&mut self, peer: usize) -> Result<(), Status> {
        if peer == current() {
            return Err(status::INVALID_DEVICE);
        }
        let added = self.sound(current())?.peers.insert(peer);
        if added { Ok(()) } else { Err(status::PEER_ACCESS_ALREADY_ENABLED) }
    }
}

/// Returns the bus number of a GPU.
pub(crate) fn bus(index: usize) -> c_int {
    c_int::try_from(index + 1).unwrap_or(0)
}

/// Returns a GPU's PCI address as text.
pub(crate) fn place(index: usize) -> String {
    format!("0000:{:02x}:00.0", bus(index))
}
