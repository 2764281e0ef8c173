//! The bounded queue between the supervising thread and the owner of a child.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use super::ChildEvent;

/// The size of the queue above which pipes are not read until the owner has caught up, in bytes.
const MOST_QUEUED: usize = 64 << 10;
/// The size counted for an event in addition to its text, in bytes.
const EVENT_OVERHEAD: usize = 64;

/// Wakes the supervising thread.
#[derive(Debug)]
pub(crate) struct Bell(OwnedFd);

impl Bell {
    pub(crate) fn new() -> std::io::Result<Self> {
        use rustix::event::{EventfdFlags, eventfd};
        Ok(Self(eventfd(
            0,
            EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK,
        )?))
    }

    pub(crate) fn ring(&self) {
        // A full counter means that a wake-up is pending already, and nothing else can fail.
        rustix::io::write(&self.0, &1_u64.to_ne_bytes()).unwrap_or(0);
    }

    pub(crate) fn silence(&self) {
        // Without a wake-up there is nothing to read, and nothing else can fail.
        rustix::io::read(&self.0, &mut [0; 8]).unwrap_or(0);
    }

    pub(crate) fn descriptor(&self) -> &OwnedFd {
        &self.0
    }
}

#[derive(Debug)]
pub(crate) struct Channel {
    state: Mutex<State>,
    changed: Condvar,
    bell: Arc<Bell>,
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<ChildEvent>,
    queued: usize,
    waker: Option<Waker>,
    is_finished: bool,
    is_stop_wanted: bool,
    is_abandoned: bool,
}

impl Channel {
    pub(crate) fn new(bell: Arc<Bell>) -> Self {
        Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            bell,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No operation under the lock can panic half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether more output may be queued.
    pub(crate) fn has_room(&self) -> bool {
        let state = self.state();
        state.queued < MOST_QUEUED || state.is_abandoned
    }

    pub(crate) fn push(&self, event: ChildEvent) {
        let mut state = self.state();
        if state.is_abandoned {
            return;
        }
        state.queued += weight(&event);
        state.is_finished |= matches!(event, ChildEvent::Exited { .. });
        state.events.push_back(event);
        self.changed.notify_one();
        if let Some(waker) = state.waker.take() {
            drop(state);
            waker.wake();
        }
    }

    pub(crate) fn poll(&self, context: &mut Context<'_>) -> Poll<Option<ChildEvent>> {
        let mut state = self.state();
        match self.pop(&mut state) {
            Some(event) => Poll::Ready(Some(event)),
            None if state.is_finished => Poll::Ready(None),
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    pub(crate) fn wait(&self) -> Option<ChildEvent> {
        let mut state = self.state();
        loop {
            match self.pop(&mut state) {
                None if !state.is_finished => {
                    state = self
                        .changed
                        .wait(state)
                        .unwrap_or_else(PoisonError::into_inner);
                }
                event => return event,
            }
        }
    }

    fn pop(&self, state: &mut State) -> Option<ChildEvent> {
        let event = state.events.pop_front()?;
        let was_full = state.queued >= MOST_QUEUED;
        state.queued -= weight(&event);
        if was_full && state.queued < MOST_QUEUED {
            self.bell.ring();
        }
        Some(event)
    }

    pub(crate) fn want_stop(&self) {
        self.state().is_stop_wanted = true;
        self.bell.ring();
    }

    pub(crate) fn is_stop_wanted(&self) -> bool {
        self.state().is_stop_wanted
    }

    /// The owner has gone: discards the events and has the child stopped.
    pub(crate) fn abandon(&self) {
        let mut state = self.state();
        state.is_abandoned = true;
        state.is_stop_wanted = true;
        state.events.clear();
        state.queued = 0;
        self.bell.ring();
    }
}

fn weight(event: &ChildEvent) -> usize {
    EVENT_OVERHEAD
        + match event {
            ChildEvent::Line { line, .. } => {
                line.text.len() + line.bytes.as_ref().map_or(0, |bytes| bytes.len())
            }
            ChildEvent::LimitReached(_) | ChildEvent::Exited { .. } => 0,
        }
}
