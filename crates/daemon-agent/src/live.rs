//! A turn as its clients see it: events while it runs, one result at the end.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use tokio::sync::{broadcast, watch};

use crate::conversations::Conversations;
use crate::error::AgentError;
use crate::event::{AgentEvent, NumberedEvent};
use crate::feed::{Feed, FeedEvent};
use crate::host::OnDisconnect;
use crate::name::Pair;
use crate::transcript::TurnResult;

/// How many events a client may be behind.
const BEHIND: usize = 512;

/// How a turn ended for its clients.
pub type TurnConclusion = Result<TurnResult, AgentError>;

/// A turn that waits or runs.
#[derive(Debug)]
pub(crate) struct LiveTurn {
    events: broadcast::Sender<Arc<NumberedEvent>>,
    seq: AtomicU64,
    end: watch::Sender<Option<TurnConclusion>>,
    stop: watch::Sender<bool>,
    why: OnceLock<StopWhy>,
    /// Where the clients of the host follow all conversations.
    feed: (Pair, Arc<Feed>),
    /// The number of the turn, 0 until its message is on disk.
    turn: AtomicU64,
}

/// Why a turn is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopWhy {
    /// A client asked for it.
    Killed,
    /// The host stops.
    Stopping,
    /// It took too long.
    Timeout,
}

impl LiveTurn {
    pub(crate) fn new(pair: &Pair, feed: &Arc<Feed>) -> Arc<Self> {
        Arc::new(Self {
            events: broadcast::Sender::new(BEHIND),
            seq: AtomicU64::new(0),
            end: watch::Sender::new(None),
            stop: watch::Sender::new(false),
            why: OnceLock::new(),
            feed: (pair.clone(), Arc::clone(feed)),
            turn: AtomicU64::new(0),
        })
    }

    /// Sends an event to the clients that follow.
    pub(crate) fn emit(&self, event: AgentEvent) {
        let (pair, feed) = &self.feed;
        feed.add(FeedEvent::Turn(pair.clone(), event.clone()));
        let seq = self.seq.fetch_add(1, Ordering::Relaxed) + 1;
        // Without a client there is no receiver, which is no error: the turn continues.
        drop(self.events.send(Arc::new(NumberedEvent { seq, event })));
    }

    /// Ends the turn for its clients; the first end counts.
    pub(crate) fn finish(&self, end: TurnConclusion) {
        self.end
            .send_if_modified(|known| known.is_none() && known.replace(end).is_none());
    }

    /// Asks the turn to stop; the first reason counts.
    pub(crate) fn stop(&self, why: StopWhy) {
        self.why.get_or_init(|| why);
        self.stop.send_replace(true);
    }

    /// Returns why the turn was asked to stop.
    pub(crate) fn why(&self) -> Option<StopWhy> {
        self.why.get().copied()
    }

    /// Notes the number of the turn.
    pub(crate) fn begin(&self, turn: u64) {
        self.turn.store(turn, Ordering::Relaxed);
    }

    /// Returns the number of the turn once its message is on disk.
    pub(crate) fn turn(&self) -> Option<u64> {
        Some(self.turn.load(Ordering::Relaxed)).filter(|turn| *turn > 0)
    }

    /// Returns the signal to stop.
    pub(crate) fn stopped(&self) -> watch::Receiver<bool> {
        self.stop.subscribe()
    }

    /// Follows the turn from here on.
    pub(crate) fn follow(self: &Arc<Self>) -> TurnStream {
        TurnStream {
            turn: Arc::downgrade(self),
            events: self.events.subscribe(),
            end: self.end.subscribe(),
        }
    }
}

/// The events and the result of a turn. Dropping it ends nothing: the turn continues.
#[derive(Debug)]
pub struct TurnStream {
    /// Not a strong reference, so that a turn that is dropped without an end ends its streams.
    turn: Weak<LiveTurn>,
    events: broadcast::Receiver<Arc<NumberedEvent>>,
    end: watch::Receiver<Option<TurnConclusion>>,
}

/// The next of a turn.
#[derive(Clone, Debug)]
pub enum Followed {
    /// An event.
    Event(Arc<NumberedEvent>),
    /// The end; nothing follows.
    End(TurnConclusion),
}

impl TurnStream {
    /// Waits for the next event, or for the end after the last one.
    pub async fn next(&mut self) -> Followed {
        loop {
            tokio::select! {
                biased;
                event = self.events.recv() => match event {
                    Ok(event) => return Followed::Event(event),
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return Followed::End(self.end().await),
                },
                end = ended(&mut self.end) => return Followed::End(end),
            }
        }
    }

    /// Stops the turn if nothing else follows it.
    pub(crate) fn stop_if_last(self) {
        if let Some(turn) = self.turn.upgrade()
            && turn.end.receiver_count() == 1
        {
            turn.stop(StopWhy::Killed);
        }
    }

    /// Waits for the end.
    pub async fn end(&mut self) -> TurnConclusion {
        ended(&mut self.end).await
    }
}

impl Conversations {
    /// Reports whether a turn ends when its client disconnects.
    pub fn ends_with_client(&self) -> bool {
        self.host.bounds().on_disconnect == OnDisconnect::Cancel
    }

    /// Notes that the client of a stream has disconnected, which ends the turn if [`OnDisconnect::Cancel`] is configured and
    /// nothing else follows it.
    pub fn disconnected(&self, stream: TurnStream) {
        if self.ends_with_client() {
            stream.stop_if_last();
        }
    }
}

async fn ended(end: &mut watch::Receiver<Option<TurnConclusion>>) -> TurnConclusion {
    match end.wait_for(Option::is_some).await {
        Ok(end) => end.clone().expect("it was waited for"),
        Err(_) => Err(AgentError::Defect("it was dropped")),
    }
}
