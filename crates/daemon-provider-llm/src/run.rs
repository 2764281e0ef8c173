//! A run: the loop of turns, driven by the task that reads its events.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::Mutex;

use async_trait::async_trait;
use daemon_provider::{Asked, Outcome, ProviderError, Run, RunEvent, StopReason};
use tokio::sync::{mpsc, watch};

/// How many events may wait to be read before the run waits.
const WAITING: usize = 64;

/// Messages that wait for the next reply that uses no tool.
///
/// Once the run has decided to end it takes no more, so that no message is taken and never answered.
#[derive(Debug, Clone, Default)]
pub(crate) struct FollowUps(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    messages: Vec<String>,
    is_over: bool,
}

impl FollowUps {
    /// Reports whether the run is ending, so that it takes no message.
    fn is_over(&self) -> bool {
        self.0.lock().expect("no holder panics").is_over
    }

    /// Takes a message. One task polls the loop and sends messages, so nothing runs between [`FollowUps::is_over`] and this.
    fn add(&self, message: &str) {
        let mut waiting = self.0.lock().expect("no holder panics");
        waiting.messages.push(message.to_owned());
    }

    /// Returns what waits; if nothing does, no more is taken.
    pub(crate) fn take_or_close(&self) -> Vec<String> {
        let mut waiting = self.0.lock().expect("no holder panics");
        waiting.is_over = waiting.messages.is_empty();
        std::mem::take(&mut waiting.messages)
    }

    /// Takes no more.
    pub(crate) fn close(&self) {
        self.0.lock().expect("no holder panics").is_over = true;
    }
}

/// Tells the loop to stop.
#[derive(Debug, Clone)]
pub(crate) struct Stopped(watch::Receiver<bool>);

impl Stopped {
    /// Waits until the run is to stop; for ever, if the sender is gone.
    pub(crate) async fn wait(&mut self) {
        if self.0.wait_for(|is_stopped| *is_stopped).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Returns whether the run is to stop.
    pub(crate) fn is_stopped(&self) -> bool {
        *self.0.borrow()
    }
}

/// What the loop of a run is handed.
pub(crate) struct Wires {
    pub(crate) events: mpsc::Sender<RunEvent>,
    pub(crate) stopped: Stopped,
    pub(crate) follow_ups: FollowUps,
}

/// A run of a model.
///
/// The loop is a future that this owns and polls while it is waited for an event: it needs no task of its own, and ends when
/// the run is dropped.
pub(crate) struct LlmRun {
    work: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    events: mpsc::Receiver<RunEvent>,
    stop: watch::Sender<bool>,
    follow_ups: FollowUps,
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
    /// Begins a run whose loop is made from its wires; the loop's last event is a terminal one.
    pub(crate) fn new<F>(work: impl FnOnce(Wires) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (sender, events) = mpsc::channel(WAITING);
        let (stop, stopped) = watch::channel(false);
        let follow_ups = FollowUps::default();
        let work = work(Wires {
            events: sender,
            stopped: Stopped(stopped),
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

    /// Notes the end, and lets a reason to stop win over it.
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
