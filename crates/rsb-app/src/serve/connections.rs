//! Bounds on connections: their number, the number from one address, and the time for a write. When
//! a bound is reached, the connection without progress for the longest time is closed, so that
//! stalled readers make room for others.

use std::collections::HashMap;
use std::future::Future as _;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::AbortHandle;
use tokio::time::{Sleep, sleep};

/// Maximum number of concurrent connections.
pub(super) const CONNECTIONS: usize = 512;
/// Maximum number of concurrent connections from one address. A proxy makes all readers one address.
const FROM_ADDRESS: usize = 384;
/// Maximum time in which a reader must accept some bytes of an answer.
const WRITE_TIME: Duration = Duration::from_secs(10);

/// Waiting for a request, or for the reader to accept an answer.
const IDLE: u8 = 0;
/// An answer is being made.
const ANSWERING: u8 = 1;
/// Messages are sent when there are any.
const STREAMING: u8 = 2;

/// All open connections.
pub(super) struct Connections {
    began: Instant,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    last: u64,
    all: HashMap<u64, Arc<Connection>>,
}

/// State of one connection.
pub(super) struct Connection {
    address: IpAddr,
    /// Milliseconds since the server began at which bytes were last read or written.
    progress: AtomicU64,
    phase: AtomicU8,
    /// Ends its task.
    task: OnceLock<AbortHandle>,
}

/// An open connection, which is forgotten when this value is dropped.
pub(super) struct Place {
    number: u64,
    connections: Arc<Connections>,
    pub(super) connection: Arc<Connection>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.lock().all.remove(&self.number);
    }
}

impl Connections {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { began: Instant::now(), open: Mutex::default() })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a place for a new connection from `address`, for which another one is closed if a
    /// bound is reached. `None` if all of these are being answered.
    pub(super) fn admit(self: &Arc<Self>, address: IpAddr) -> Option<Place> {
        let mut open = self.lock();
        let from_address = open.all.values().filter(|one| one.address == address).count();
        let victim = if from_address >= FROM_ADDRESS {
            Some(most_stalled(&open, Some(address))?)
        } else if open.all.len() >= CONNECTIONS {
            Some(most_stalled(&open, None)?)
        } else {
            None
        };
        let closed = victim.and_then(|number| open.all.remove(&number));
        if let Some(task) = closed.as_ref().and_then(|closed| closed.task.get()) {
            task.abort();
        }
        open.last += 1;
        let number = open.last;
        let connection = Arc::new(Connection {
            address,
            progress: AtomicU64::new(self.now()),
            phase: AtomicU8::new(IDLE),
            task: OnceLock::new(),
        });
        open.all.insert(number, Arc::clone(&connection));
        Some(Place { number, connections: Arc::clone(self), connection })
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// Returns the connection that was without progress for the longest time, streams last; of
/// `address` only, if given.
fn most_stalled(open: &Open, address: Option<IpAddr>) -> Option<u64> {
    let candidates = open.all.iter().filter(|(_, one)| {
        one.phase.load(Ordering::Relaxed) != ANSWERING
            && address.is_none_or(|address| one.address == address)
    });
    let key = |(number, one): &(&u64, &Arc<Connection>)| {
        let is_stream = one.phase.load(Ordering::Relaxed) == STREAMING;
        (is_stream, one.progress.load(Ordering::Relaxed), **number)
    };
    candidates.min_by_key(key).map(|(number, _)| *number)
}

impl Connection {
    /// Marks that an answer is being made.
    pub(super) fn answers(&self) {
        self.phase.store(ANSWERING, Ordering::Relaxed);
    }

    /// Marks that the rest of the request is awaited.
    pub(super) fn waits(&self) {
        self.phase.store(IDLE, Ordering::Relaxed);
    }

    /// Marks that the answer is ready to be sent; `is_stream` if it has no end.
    pub(super) fn sends(&self, is_stream: bool) {
        self.phase.store(if is_stream { STREAMING } else { IDLE }, Ordering::Relaxed);
    }

    /// Names the task that is ended to make room for another connection.
    pub(super) fn runs_in(&self, task: AbortHandle) {
        // A connection has one task.
        let _ = self.task.set(task);
    }
}

/// The stream of a connection, which reports progress and fails if the reader accepts nothing for
/// too long.
pub(super) struct WatchedStream {
    stream: TcpStream,
    connections: Arc<Connections>,
    connection: Arc<Connection>,
    /// Runs while a write waits for the reader.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl WatchedStream {
    pub(super) fn new(stream: TcpStream, place: &Place) -> Self {
        let connections = Arc::clone(&place.connections);
        let connection = Arc::clone(&place.connection);
        Self { stream, connections, connection, deadline: None }
    }

    fn note_progress(&self) {
        self.connection.progress.store(self.connections.now(), Ordering::Relaxed);
    }

    /// Returns the result of a write, or an error if it waits for too long.
    fn watch<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.deadline = None;
            self.note_progress();
            return written;
        }
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(sleep(WRITE_TIME)));
        ready!(deadline.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the reader accepts nothing")))
    }
}

impl AsyncRead for WatchedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.note_progress();
        }
        read
    }
}

impl AsyncWrite for WatchedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.watch(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn address(number: u8) -> IpAddr {
        Ipv4Addr::new(192, 0, 2, number).into()
    }

    fn numbers(connections: &Connections) -> Vec<u64> {
        let mut all: Vec<u64> = connections.lock().all.keys().copied().collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn the_most_stalled_connection_makes_room_and_answers_are_finished() {
        let connections = Connections::new();
        let places: Vec<Place> = (0..FROM_ADDRESS)
            .map(|_| connections.admit(address(1)).unwrap())
            .chain((FROM_ADDRESS..CONNECTIONS).map(|_| connections.admit(address(2)).unwrap()))
            .collect();
        // The oldest is being answered, the next is a stream, and one of the others read last.
        places[0].connection.answers();
        places[1].connection.sends(true);
        places[2].connection.progress.store(u64::MAX, Ordering::Relaxed);
        let other = connections.admit(address(3)).unwrap();
        assert_eq!(connections.lock().all.len(), CONNECTIONS);
        let known = numbers(&connections);
        assert!([1, 2, 3].iter().all(|number| known.contains(number)) && !known.contains(&4));
        // One address takes its own places.
        drop(connections.admit(address(1)).unwrap());
        let known = numbers(&connections);
        assert!(!known.contains(&5) && known.contains(&other.number), "{known:?}");
        for place in &places {
            place.connection.answers();
        }
        other.connection.answers();
        drop(connections.admit(address(4)));
        assert!(connections.admit(address(4)).is_some(), "the last place is free again");
    }

    #[test]
    fn no_answer_is_cut_off_for_a_new_connection() {
        let connections = Connections::new();
        let places: Vec<Place> =
            (0..FROM_ADDRESS).map(|_| connections.admit(address(1)).unwrap()).collect();
        for place in &places {
            place.connection.answers();
        }
        assert!(connections.admit(address(1)).is_none());
        places[7].connection.sends(false);
        let place = connections.admit(address(1)).unwrap();
        assert!(!numbers(&connections).contains(&8) && place.number > 8);
    }
}
