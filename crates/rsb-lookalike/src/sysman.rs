//! What the sensors of an imitated card of Intel's say. Each reading of a counter is a tenth of a second after the one
//! before, whatever the host's clock says, so that the same calls always tell the same.

use std::sync::{LazyLock, Mutex, PoisonError};

use crate::orders::{Mood, Orders, Place};
use crate::state::hang;

/// `ze_result_t`.
pub(crate) type Status = std::ffi::c_int;

/// It did what it was asked.
pub(crate) const SUCCESS: Status = 0;
/// No driver has started.
pub(crate) const UNINITIALIZED: Status = 0x7800_0001;
/// A handle is none.
pub(crate) const INVALID_HANDLE: Status = 0x7800_0005;
/// There is no room for the answer.
pub(crate) const INVALID_POINTER: Status = 0x7800_0007;
/// A structure of another type than the function fills in.
pub(crate) const INVALID_STRUCTURE: Status = 0x7800_000c;

/// Memory of a card.
pub(crate) const MEMORY_BYTES: u64 = 16 << 30;

/// Between two readings, in microseconds.
const STEP: u64 = 100_000;

/// Every card's sensors.
#[derive(Debug)]
pub(crate) struct Sysman {
    orders: Result<Orders, String>,
    is_started: bool,
    cards: Vec<Counters>,
}

/// What has grown, and how often it was read.
#[derive(Debug, Clone, Copy)]
struct Counters {
    readings: u64,
    energy: u64,
    active: u64,
    at: u64,
}

static SYSMAN: LazyLock<Mutex<Sysman>> = LazyLock::new(|| Mutex::new(Sysman::new(Orders::here())));

/// Asks the sensors.
pub(crate) fn with<T>(call: impl FnOnce(&mut Sysman) -> T) -> T {
    call(&mut SYSMAN.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Sysman {
    fn new(orders: Result<Orders, String>) -> Self {
        let count = orders.as_ref().map_or(0, |orders| orders.cards);
        // A card that has been on for a while: there is room to go back.
        let counters = Counters { readings: 0, energy: 1 << 40, active: 1 << 40, at: 1 << 40 };
        Self { orders, is_started: false, cards: vec![counters; count] }
    }

    /// `zesInit`, where it is let.
    pub(crate) fn start(&mut self) -> Status {
        match &self.orders {
            Err(mistake) => {
                eprintln!("{mistake}");
                return UNINITIALIZED;
            }
            Ok(orders) if orders.aborts(Place::Sensors) => std::process::abort(),
            Ok(orders) if orders.hangs_in("zesInit") => hang(),
            Ok(orders) if orders.mood() == Some(Mood::Silent) => return UNINITIALIZED,
            Ok(_) => {}
        }
        self.is_started = true;
        SUCCESS
    }

    /// Whether `zesInit` came before, as it must.
    pub(crate) fn started(&self) -> Result<(), Status> {
        if self.is_started { Ok(()) } else { Err(UNINITIALIZED) }
    }

    /// How many cards there are.
    pub(crate) fn count(&self) -> usize {
        self.cards.len()
    }

    fn mood(&self) -> Option<Mood> {
        self.orders.as_ref().ok().and_then(Orders::mood)
    }

    /// A later moment.
    fn later(&mut self, card: usize) -> Result<Counters, Status> {
        let mood = self.mood();
        let counters = self.cards.get_mut(card).ok_or(INVALID_HANDLE)?;
        let turn = counters.readings % 3;
        counters.readings += 1;
        counters.at += STEP;
        // 120 to 140 W; 40 to 60 percent.
        let (energy, active) = match mood {
            Some(Mood::Wild) => (5000 * STEP, 3 * STEP),
            _ => ((120 + 10 * turn) * STEP, (40 + 10 * turn) * STEP / 100),
        };
        if mood == Some(Mood::Backwards) {
            counters.energy -= energy;
            counters.active -= active;
        } else {
            counters.energy += energy;
            counters.active += active;
        }
        Ok(*counters)
    }

    /// Microjoules, and microseconds.
    pub(crate) fn energy(&mut self, card: usize) -> Result<(u64, u64), Status> {
        self.later(card).map(|counters| (counters.energy, counters.at))
    }

    /// Time at work, and time.
    pub(crate) fn activity(&mut self, card: usize) -> Result<(u64, u64), Status> {
        self.later(card).map(|counters| (counters.active, counters.at))
    }

    /// °C of sensor `which`: the device, the chip, the memory.
    pub(crate) fn celsius(&mut self, card: usize, which: usize) -> Result<f64, Status> {
        let steps = self.later(card)?.readings % 5;
        let warm = [58.0, 52.0, 56.0].get(which).ok_or(INVALID_HANDLE)?;
        Ok(match self.mood() {
            Some(Mood::Cold) => -273.15,
            Some(Mood::Wild) => 6553.5,
            _ => warm + steps as f64,
        })
    }

    /// MHz of clock `which`, the chip's or the memory's, and what holds it back.
    pub(crate) fn clock(&mut self, card: usize, which: usize) -> Result<(f64, u32), Status> {
        /// Somebody chose a range.
        const SOFTWARE_RANGE: u32 = 1 << 5;
        /// The average power and the temperature are at their limits.
        const POWER_AND_HEAT: u32 = 1 | 1 << 3;
        let steps = self.later(card)?.readings % 5;
        let mhz = [2000.0, 1093.0].get(which).ok_or(INVALID_HANDLE)?;
        Ok(match self.mood() {
            Some(Mood::Wild) => (-1.0, 0),
            Some(Mood::Throttled) => (*mhz, SOFTWARE_RANGE | POWER_AND_HEAT),
            _ => (mhz + 50.0 * steps as f64, SOFTWARE_RANGE),
        })
    }

    /// Free bytes.
    pub(crate) fn free(&mut self, card: usize) -> Result<u64, Status> {
        let used = 1_000_000_000 + (self.later(card)?.readings << 20);
        let is_wild = self.mood() == Some(Mood::Wild);
        Ok(if is_wild { u64::MAX } else { MEMORY_BYTES.saturating_sub(used) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sensors_change_and_counters_grow() {
        let mut sysman = Sysman::new(Orders::here());
        assert_eq!(sysman.started(), Err(UNINITIALIZED));
        assert_eq!((sysman.start(), sysman.count()), (SUCCESS, 1));
        let (before, now) = (sysman.energy(0).unwrap(), sysman.energy(0).unwrap());
        assert_eq!((now.0 - before.0) / (now.1 - before.1), 130);
        assert_ne!(sysman.celsius(0, 1), sysman.celsius(0, 1));
        assert_eq!(sysman.energy(1), Err(INVALID_HANDLE));
    }
}
