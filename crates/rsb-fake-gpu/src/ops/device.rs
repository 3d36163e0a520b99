//! What there is: GPUs, their names and places, and which reach one another.

use std::ffi::{CStr, CString, c_int};
use std::sync::OnceLock;

use crate::orders::Place;
use crate::state::{State, current};
use crate::status::{self, Status};

impl State {
    /// Ends the process when that is ordered of `place`; `call` is what is said to do so.
    pub(crate) fn abort_if_ordered(&self, place: Place, call: &str) {
        if self.orders.as_ref().is_ok_and(|orders| orders.aborts(place)) {
            eprintln!("rsb-fake-gpu: {call} ends the process, as ordered");
            std::process::abort();
        }
    }

    /// What was not understood of the orders; the text lives as long as the process.
    pub(crate) fn mistake(&self) -> &'static CStr {
        static MISTAKE: OnceLock<CString> = OnceLock::new();
        MISTAKE.get_or_init(|| {
            let mistake = self.orders.as_ref().err().cloned().unwrap_or_default();
            CString::new(mistake).unwrap_or_default()
        })
    }

    /// How many GPUs there are now.
    pub(crate) fn gpu_count(&self) -> Result<usize, Status> {
        match &self.orders {
            Err(_) => Err(status::NOT_INITIALIZED),
            Ok(orders) if orders.has_vanished() => Ok(0),
            Ok(orders) => Ok(orders.gpus),
        }
    }

    /// The GPU with the ordinal `device`.
    pub(crate) fn index(&self, device: c_int) -> Result<usize, Status> {
        let index = usize::try_from(device).ok().filter(|&index| index < self.gpus.len());
        index.ok_or(status::INVALID_DEVICE)
    }

    /// What every GPU is called.
    pub(crate) fn name(&self) -> String {
        format!("fake GPU of {} (no hardware)", self.model.arch)
    }

    /// Whether a GPU can reach the memory of another.
    pub(crate) fn reaches(&self, device: c_int, peer: c_int) -> Result<bool, Status> {
        Ok(self.index(device)? != self.index(peer)?)
    }

    /// Lets the current GPU reach the memory of another.
    pub(crate) fn enable_peer(&mut self, peer: usize) -> Result<(), Status> {
        if peer == current() {
            return Err(status::INVALID_DEVICE);
        }
        let added = self.sound(current())?.peers.insert(peer);
        if added { Ok(()) } else { Err(status::PEER_ACCESS_ALREADY_ENABLED) }
    }
}

/// Bus number of a GPU.
pub(crate) fn bus(index: usize) -> c_int {
    c_int::try_from(index + 1).unwrap_or(0)
}

/// A GPU's place on the bus, as text.
pub(crate) fn place(index: usize) -> String {
    format!("0000:{:02x}:00.0", bus(index))
}
