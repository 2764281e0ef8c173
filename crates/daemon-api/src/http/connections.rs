//! The open connections, and which of them is closed when a new one needs its place.
//!
//! A connection either waits for its peer to send, or its request is being handled. If no place is free, a new connection
//! replaces the one that has waited longest, so that idle peers cannot block active ones by reconnecting. Memory for bodies is
//! assigned in the same way.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The maximum size of a small body, in bytes.
pub(super) const SMALL: u64 = 1024 * 1024;
/// The maximum memory of all bodies, in bytes.
const BUFFERED: u64 = 256 * 1024 * 1024;
/// The maximum memory of bodies that are not small, in bytes; the rest is reserved for small ones.
// Parsing and storing a body takes several times its size for a while, and the host is to stay below 400 MiB.
const BUFFERED_LARGE: u64 = 192 * 1024 * 1024;
/// How long a peer must have sent nothing before its memory or its descriptor is given to another connection.
const STALLED: Duration = Duration::from_secs(1);

/// The connections of a listener.
#[derive(Debug)]
pub(super) struct Connections {
    places: usize,
    table: Mutex<Table>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct Table {
    last: u64,
    open: HashMap<u64, Entry>,
    /// The connections that wait for their peer, ordered by the start of the wait.
    waiting: BTreeSet<(Instant, u64)>,
    small: u64,
    large: u64,
}

#[derive(Debug)]
struct Entry {
    waits_since: Option<Instant>,
    /// The received bytes of its body.
    held: u64,
    closed: CancellationToken,
}

/// The error that no memory is left for a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Full;

impl Connections {
    /// Creates the table for a maximum number of connections.
    pub(super) fn new(places: usize) -> Arc<Self> {
        Arc::new(Self {
            places,
            table: Mutex::default(),
            freed: Notify::new(),
        })
    }

    /// Opens a connection, if necessary in the place of another; waits only while requests of all others are being handled.
    pub(super) async fn open(self: &Arc<Self>) -> Connection {
        loop {
            // `notify_one` stores a permit, so a place that is freed before the wait begins is not missed.
            let freed = self.freed.notified();
            if let Some(connection) = self.try_open() {
                return connection;
            }
            freed.await;
        }
    }

    fn try_open(self: &Arc<Self>) -> Option<Connection> {
        let mut table = self.table();
        if table.open.len() >= self.places && !table.close_longest(|_, _, _| true) {
            return None;
        }
        table.last += 1;
        let (number, now, closed) = (table.last, Instant::now(), CancellationToken::new());
        let entry = Entry {
            waits_since: Some(now),
            held: 0,
            closed: closed.clone(),
        };
        table.open.insert(number, entry);
        table.waiting.insert((now, number));
        Some(Connection {
            number,
            closed,
            all: Arc::clone(self),
        })
    }

    /// Closes up to `n_closed` stalled connections, those that have waited longest first.
    pub(super) fn close_stalled(&self, n_closed: usize) {
        let (mut table, now) = (self.table(), Instant::now());
        for _ in 0..n_closed {
            if !table.close_longest(|since, _, _| now.duration_since(since) >= STALLED) {
                return;
            }
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().expect("no holder panics")
    }
}

impl Table {
    /// Closes the connection that has waited longest among those that `is_meant` accepts; returns whether there was one.
    fn close_longest(&mut self, is_meant: impl Fn(Instant, u64, &Entry) -> bool) -> bool {
        let found = self.waiting.iter().find(|(since, number)| {
            let entry = self.open.get(number);
            entry.is_some_and(|entry| is_meant(*since, *number, entry))
        });
        let Some((_, number)) = found.copied() else {
            return false;
        };
        if let Some(entry) = self.remove(number) {
            entry.closed.cancel();
        }
        true
    }

    fn remove(&mut self, number: u64) -> Option<Entry> {
        self.wait(number, None);
        self.resize(number, 0);
        self.open.remove(&number)
    }

    fn wait(&mut self, number: u64, since: Option<Instant>) {
        let Some(entry) = self.open.get_mut(&number) else {
            return;
        };
        if let Some(before) = std::mem::replace(&mut entry.waits_since, since) {
            self.waiting.remove(&(before, number));
        }
        if let Some(since) = since {
            self.waiting.insert((since, number));
        }
    }

    /// Sets the memory of a connection without checking the limits.
    fn resize(&mut self, number: u64, bytes: u64) {
        let Some(entry) = self.open.get_mut(&number) else {
            return;
        };
        let before = std::mem::replace(&mut entry.held, bytes);
        *self.sum_with(before) -= before;
        *self.sum_with(bytes) += bytes;
    }

    /// Returns the sum that counts a body of this size.
    fn sum_with(&mut self, bytes: u64) -> &mut u64 {
        match bytes > SMALL {
            true => &mut self.large,
            false => &mut self.small,
        }
    }

    fn has_room(&self) -> bool {
        self.large <= BUFFERED_LARGE && self.small + self.large <= BUFFERED
    }

    /// Adds memory to a connection, if necessary by closing stalled ones.
    fn grow(&mut self, number: u64, bytes: u64, now: Instant) -> Result<(), Full> {
        let before = match self.open.get(&number) {
            Some(entry) => entry.held,
            None => return Err(Full),
        };
        let after = before + bytes;
        self.resize(number, after);
        // A small body takes memory from any stalled body, a large one only from other large ones.
        while !self.has_room() {
            let is_closed = self.close_longest(|since, other, entry| {
                let counts = entry.held > 0 && (after <= SMALL || entry.held > SMALL);
                other != number && counts && now.duration_since(since) >= STALLED
            });
            if !is_closed {
                self.resize(number, before);
                return Err(Full);
            }
        }
        Ok(())
    }
}

/// One open connection; dropping it frees its place.
#[derive(Debug)]
pub(super) struct Connection {
    number: u64,
    closed: CancellationToken,
    all: Arc<Connections>,
}

impl Connection {
    /// Returns the token that is cancelled when the connection has to be closed at once.
    pub(super) fn closed(&self) -> CancellationToken {
        self.closed.clone()
    }

    /// Records that the connection has waited for its peer since an instant.
    pub(super) fn waits(&self, since: Instant) {
        self.all.table().wait(self.number, Some(since));
        // A new connection may replace this one from here on.
        self.all.freed.notify_one();
    }

    /// Records that a request is being handled: such a connection is not closed for another one.
    pub(super) fn works(&self) {
        self.all.table().wait(self.number, None);
    }

    /// Reserves memory for more bytes of a body.
    ///
    /// # Errors
    /// If no memory is left, and no other connection with a body has stalled.
    pub(super) fn hold(&self, bytes: u64) -> Result<(), Full> {
        self.all.table().grow(self.number, bytes, Instant::now())
    }

    /// Releases the memory of the body.
    pub(super) fn release(&self) {
        self.all.table().resize(self.number, 0);
    }

    /// Counts the memory of the body separately from the connection, which may be closed before the body is stored.
    pub(super) fn keep(&self) -> Kept {
        let mut table = self.all.table();
        let bytes = table.open.get(&self.number).map_or(0, |entry| entry.held);
        table.resize(self.number, 0);
        *table.sum_with(bytes) += bytes;
        drop(table);
        Kept {
            bytes,
            all: Arc::clone(&self.all),
        }
    }
}

/// The memory of a body that may outlive its connection, which is released when this is dropped.
#[derive(Debug)]
pub(super) struct Kept {
    bytes: u64,
    all: Arc<Connections>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        *self.all.table().sum_with(self.bytes) -= self.bytes;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.all.table().remove(self.number);
        self.all.freed.notify_one();
    }
}

#[cfg(test)]
mod tests;
