//! Campaign states, read in the background so that pages load fast for large fleets and slow
//! disks.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rsb_model::record::{CampaignDocument, CampaignNodeDocument};
use rsb_web::source::{CampaignData, SourceError, SourceResult, StoredCampaign};

use super::source::source_error;
use crate::fleet::{self, CampaignState};

/// Time for which a page waits for a new state before it shows the previous one.
pub(super) const PATIENCE: Duration = Duration::from_millis(100);
/// Minimum time between two reads.
const PAUSE: Duration = Duration::from_secs(1);
/// Minimum time between two reads, as a multiple of the time of a read.
const PAUSE_FACTOR: u32 = 10;
/// Maximum number of campaigns whose state is kept.
const MAX_KEPT: usize = 4;

/// A value that is read in the background while the previous one is used.
struct Refreshed<T> {
    slot: Mutex<Slot<T>>,
    changed: Condvar,
}

struct Slot<T> {
    value: Option<SourceResult<Arc<T>>>,
    is_reading: bool,
    /// Time from which it may be read again.
    due: Instant,
}

impl<T: Send + Sync + 'static> Refreshed<T> {
    fn new() -> Self {
        let slot = Slot { value: None, is_reading: false, due: Instant::now() };
        Self { slot: Mutex::new(slot), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Slot<T>> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the value. If it is due, starts to `read` it and waits up to `patience`; then
    /// returns the previous value, or `None` if there is none.
    fn get(
        self: &Arc<Self>,
        patience: Duration,
        read: impl FnOnce() -> SourceResult<T> + Send + 'static,
    ) -> Option<SourceResult<Arc<T>>> {
        let mut slot = self.lock();
        if !slot.is_reading && Instant::now() >= slot.due {
            slot.is_reading = true;
            let owner = Arc::clone(self);
            let started =
                thread::Builder::new().name("campaigns".to_owned()).spawn(move || owner.read(read));
            if let Err(error) = started {
                slot.is_reading = false;
                return Some(Err(SourceError::Unreadable(format!("cannot read: {error}"))));
            }
        }
        let waited = self.changed.wait_timeout_while(slot, patience, |slot| slot.is_reading);
        let (slot, _) = waited.unwrap_or_else(PoisonError::into_inner);
        slot.value.clone()
    }

    fn read(&self, read: impl FnOnce() -> SourceResult<T>) {
        let begun = Instant::now();
        let value = catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| {
            Err(SourceError::Unreadable("reading it failed; report this as a bug".to_owned()))
        });
        let mut slot = self.lock();
        slot.value = Some(value.map(Arc::new));
        slot.is_reading = false;
        slot.due = Instant::now() + PAUSE.max(begun.elapsed() * PAUSE_FACTOR);
        drop(slot);
        self.changed.notify_all();
    }
}

/// The campaigns, and the states of those that were requested last.
pub(super) struct Campaigns {
    list: Arc<Refreshed<Vec<StoredCampaign>>>,
    states: Mutex<Vec<(String, Arc<Refreshed<CampaignState>>)>>,
}

impl Default for Campaigns {
    fn default() -> Self {
        Self { list: Arc::new(Refreshed::new()), states: Mutex::default() }
    }
}

impl Campaigns {
    /// Returns the campaigns, newest first.
    pub(super) fn list(&self, patience: Duration) -> SourceResult<Arc<Vec<StoredCampaign>>> {
        let list = self.list.get(patience, || {
            let mut campaigns = Vec::new();
            for entry in fleet::campaigns().map_err(|error| source_error(&error))? {
                campaigns.push(StoredCampaign { campaign: entry.name, planned: entry.planned });
            }
            Ok(campaigns)
        });
        list.unwrap_or_else(|| Err(SourceError::NotReady("The campaigns are being listed".into())))
    }

    /// Returns the state of a listed campaign.
    pub(super) fn state(
        &self,
        name: &str,
        patience: Duration,
    ) -> SourceResult<Arc<dyn CampaignData>> {
        if !self.list(patience)?.iter().any(|one| one.campaign == name) {
            return Err(SourceError::NotThere(format!("no campaign is called `{name}`")));
        }
        let owned = name.to_owned();
        let state = self.kept(name).get(patience, move || {
            CampaignState::read(&owned).map_err(|error| source_error(&error))
        });
        let state = state.unwrap_or_else(|| {
            Err(SourceError::NotReady(format!("The campaign {name} is being read")))
        })?;
        Ok(state)
    }

    /// Returns the slot of a campaign. The one that was not requested for the longest time makes
    /// room for a new one.
    fn kept(&self, name: &str) -> Arc<Refreshed<CampaignState>> {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = match states.iter().position(|(known, _)| known == name) {
            Some(at) => states.remove(at),
            None => (name.to_owned(), Arc::new(Refreshed::new())),
        };
        states.truncate(MAX_KEPT - 1);
        let state = Arc::clone(&kept.1);
        states.insert(0, kept);
        state
    }
}

impl CampaignData for CampaignState {
    fn document(&self) -> &CampaignDocument {
        Self::document(self)
    }

    fn node(&self, name: &str) -> Option<CampaignNodeDocument> {
        Self::node(self, name)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_slow_reading_delays_no_page_and_a_panic_is_an_error() {
        let value = Arc::new(Refreshed::<u32>::new());
        let (release, released) = channel::<()>();
        let slow = move || {
            released.recv().unwrap();
            Ok(7)
        };
        assert_eq!(value.get(Duration::from_millis(1), slow), None, "nothing is known yet");
        assert_eq!(value.get(Duration::ZERO, || Ok(8)), None, "it is read once at a time");
        release.send(()).unwrap();
        assert_eq!(value.get(Duration::from_mins(1), || Ok(9)), Some(Ok(Arc::new(7))));
        value.lock().due = Instant::now();
        let error = value.get(Duration::from_mins(1), || panic!("on purpose")).unwrap();
        assert!(error.unwrap_err().to_string().contains("report this as a bug"));
    }

    #[test]
    fn the_campaign_that_was_requested_last_is_kept() {
        let campaigns = Campaigns::default();
        let first = campaigns.kept("a");
        for name in ["b", "c", "d", "a", "e"] {
            campaigns.kept(name);
        }
        assert!(Arc::ptr_eq(&first, &campaigns.kept("a")));
        let states = campaigns.states.lock().unwrap();
        let names: Vec<&str> = states.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "e", "d", "c"]);
    }
}
