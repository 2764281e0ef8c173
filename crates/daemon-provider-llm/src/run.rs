//! A run: drives the loop of turns while its events are read.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::Mutex;

use async_trait::async_trait;
use daemon_provider::tool_loop::StopSignal;
use daemon_provider::{Asked, Outcome, ProviderError, Run, RunEvent, StopReason};
use tokio::sync::{mpsc, watch};

/// The most unread events before the loop waits.
const WAITING: usize = 64;

/// Follow-up messages, delivered after the next reply that calls no tool.
///
/// The queue closes when the run decides to end, so that no message is accepted and never answered.
#[derive(Debug, Clone, Default)]
pub(crate) struct FollowUpQueue(Arc<Mutex<QueueState>>);

#[derive(Debug, Default)]
struct QueueState {
    messages: Vec<String>,
    is_over: bool,
}

impl FollowUpQueue {
    /// Reports whether the run is ending and accepts no message.
    fn is_over(&self) -> bool {
        self.0.lock().expect("no holder panics").is_over
    }

    /// Adds a message. One task polls the loop and sends messages, so nothing runs between [`FollowUpQueue::is_over`] and this.
    fn add(&self, message: &str) {
        let mut waiting = self.0.lock().expect("no holder panics");
        waiting.messages.push(message.to_owned());
    }

    /// Returns the waiting messages; closes the queue if it is empty.
    pub(crate) fn take_or_close(&self) -> Vec<String> {
        let mut waiting = self.0.lock().expect("no holder panics");
        waiting.is_over = waiting.messages.is_empty();
        std::mem::take(&mut waiting.messages)
    }

    /// Closes the queue.
    pub(crate) fn close(&self) {
        self.0.lock().expect("no holder panics").is_over = true;
    }
}

/// Channels between a run and its loop.
pub(crate) struct LoopChannels {
    pub(crate) events: mpsc::Sender<RunEvent>,
    pub(crate) stopped: StopSignal,
    pub(crate) follow_ups: FollowUpQueue,
}

/// A run of a model.
///
/// It owns the loop as a future and polls it while a caller waits for an event. The loop needs no task of its own, and ends when
/// the run is dropped.
pub(crate) struct LlmRun {
    work: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    events: mpsc::Receiver<RunEvent>,
    stop: watch::Sender<bool>,
    follow_ups: FollowUpQueue,
    cancelled: Option<StopReason>,
    has_ended: bool,
}

impl fmt::Debug for LlmRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LlmRun")
            .field("cancelled", &self.cancelled)
            .finish_non_exhaustive()
    }
}

impl LlmRun {
    /// Makes a run of the loop that `work` returns; the last event of the loop must be a terminal one.
    pub(crate) fn new<F>(work: impl FnOnce(LoopChannels) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (sender, events) = mpsc::channel(WAITING);
        let (stop, stopped) = watch::channel(false);
        let follow_ups = FollowUpQueue::default();
        let work = work(LoopChannels {
            events: sender,
            stopped: StopSignal::new(stopped),
            follow_ups: follow_ups.clone(),
        });
        Self {
            work: Some(Box::pin(work)),
            events,
            stop,
            follow_ups,
            cancelled: None,
            has_ended: false,
        }
    }

    /// Records the end; a reason to stop has precedence over the loop's outcome.
    fn settle(&mut self, event: RunEvent) -> RunEvent {
        match event {
            RunEvent::Terminal { outcome, text } => {
                self.has_ended = true;
                let outcome = self.cancelled.map_or(outcome, Outcome::Stopped);
                RunEvent::terminal(outcome, text)
            }
            event => event,
        }
    }
}

#[async_trait]
impl Run for LlmRun {
    async fn next(&mut self) -> Result<Option<RunEvent>, ProviderError> {
        if self.has_ended {
            return Ok(None);
        }
        loop {
            let event = match &mut self.work {
                None => self.events.recv().await,
                Some(work) => tokio::select! {
                    biased;
                    event = self.events.recv() => event,
                    () = work.as_mut() => {
                        self.work = None;
                        continue;
                    }
                },
            };
            let event = event.expect("the loop ends with a terminal event");
            return Ok(Some(self.settle(event)));
        }
    }

    fn would_take(&self) -> Asked {
        if self.has_ended || self.cancelled.is_some() || self.follow_ups.is_over() {
            return Asked::Unsupported;
        }
        Asked::Joined
    }

    async fn ask(&mut self, message: &str) -> Result<Asked, ProviderError> {
        let taken = self.would_take();
        if taken == Asked::Joined {
            self.follow_ups.add(message);
        }
        Ok(taken)
    }

    async fn cancel(&mut self, why: StopReason) -> Result<(), ProviderError> {
        if !self.has_ended {
            self.cancelled.get_or_insert(why);
            self.stop.send_replace(true);
        }
        Ok(())
    }
}
