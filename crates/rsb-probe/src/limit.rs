//! Work with a time limit, in a separate thread that reports its progress and is abandoned at the
//! deadline.
//!
//! A read of `/sys` can hang in the kernel (a GPU that fell off the bus, a driver that waits), and
//! no system call cancels it. The thread then remains asleep, and the program continues.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Work in progress.
pub(crate) struct Pending<T> {
    last: Arc<Mutex<Option<T>>>,
    end: End,
}

/// Closed when the work has ended; never carries a message.
type End = Receiver<()>;

impl<T: Send + 'static> Pending<T> {
    /// Starts `job`, which may report several times; the last report counts.
    pub(crate) fn start(job: impl FnOnce(&dyn Fn(T)) + Send + 'static) -> Self {
        let last = Arc::new(Mutex::new(None));
        let kept = Arc::clone(&last);
        let keep =
            move |report| *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(report);
        Self { last, end: spawn(Box::new(move || job(&keep))) }
    }

    /// Returns the last report, once the work has ended or `deadline` is reached.
    pub(crate) fn latest(self, deadline: Instant) -> Option<T> {
        self.outcome(deadline).0
    }

    /// Returns the last report as [`Self::latest`] does, and whether the work has ended.
    pub(crate) fn outcome(self, deadline: Instant) -> (Option<T>, Completion) {
        let completion = wait(&self.end, deadline);
        (self.last.lock().unwrap_or_else(PoisonError::into_inner).take(), completion)
    }
}

// Not generic, so that the compiler generates these functions only once.

fn spawn(job: Box<dyn FnOnce() + Send>) -> End {
    let (open, end) = channel();
    let thread = std::thread::Builder::new().name("probe".to_owned()).spawn(move || {
        job();
        drop(open);
    });
    // If no thread can be started, there are no reports: the channel closes.
    drop(thread);
    end
}

fn wait(end: &End, deadline: Instant) -> Completion {
    match end.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        Err(RecvTimeoutError::Timeout) => Completion::Late,
        Ok(()) | Err(RecvTimeoutError::Disconnected) => Completion::InTime,
    }
}

/// Whether work ended by the deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Completion {
    /// The work ended.
    InTime,
    /// The work was abandoned.
    Late,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_last_report_counts() {
        let far = Instant::now() + Duration::from_mins(1);
        let twice = Pending::start(|report| {
            report(1);
            report(2);
        });
        assert_eq!(twice.outcome(far), (Some(2), Completion::InTime));
        assert_eq!(Pending::<u8>::start(|_| ()).latest(far), None);
    }

    #[test]
    fn work_that_hangs_is_left_behind_with_what_it_reported() {
        let (reported, ready) = channel();
        let (release, blocked) = channel::<()>();
        let hung = Pending::start(move |report| {
            report(1);
            let _ = reported.send(());
            let _ = blocked.recv();
            report(2);
        });
        ready.recv().unwrap();
        assert_eq!(hung.outcome(Instant::now()), (Some(1), Completion::Late));
        drop(release);
    }
}
