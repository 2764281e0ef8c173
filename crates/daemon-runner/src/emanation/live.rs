//! The runs that have not ended, and the channels to them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use daemon_provider::{Grants, StopReason};
use daemon_run_folder::{RunId, RunState};
use jiff::Timestamp;
use serde_json::{Map, Value};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::advisory::Repetitions;
use super::find::Name;
use super::publish::Publisher;
use crate::runs::{Receipt, RunIndex, RunMessage};

/// The state of a host's one-off runs.
#[derive(Debug, Default)]
pub struct Emanations {
    memory: Mutex<Memory>,
    /// Held while a batch is validated and started, so that two batches cannot take one slot.
    pub(super) dispatching: tokio::sync::Mutex<()>,
    /// The index of ended runs; `None` before the first listing.
    pub(super) known: tokio::sync::Mutex<Option<RunIndex>>,
    pub(super) tasks: TaskTracker,
    pub(super) publisher: Publisher,
    /// The tools of standing daemons, by the parent of their runs.
    standing: Mutex<BTreeMap<String, Arc<dyn Grants>>>,
    /// Cancelled once the runs of earlier hosts are ended.
    pub(super) recovered: CancellationToken,
}

#[derive(Debug, Default)]
struct Memory {
    live: BTreeMap<RunId, LiveRun>,
    repetitions: Repetitions,
}

/// A run that has not ended, or whose message is being answered.
#[derive(Debug)]
struct LiveRun {
    parent: String,
    group: Option<String>,
    stop: watch::Sender<Option<StopReason>>,
    messages: mpsc::Sender<RunMessage>,
    /// Held by a message until its reply is recorded.
    turn: Arc<Semaphore>,
    ended: watch::Sender<Option<RunState>>,
}

/// The receivers of a run for stops and messages.
#[derive(Debug)]
pub(super) struct RunChannels {
    pub(super) stopped: watch::Receiver<Option<StopReason>>,
    pub(super) messages: mpsc::Receiver<RunMessage>,
}

/// The result of sending a message.
#[derive(Debug)]
pub(super) enum Sent {
    /// The run has the message. The receipt reports whether it was stored; it is dropped if the run takes none.
    Handed(oneshot::Receiver<Receipt>),
    /// The run has ended. A provider that resumes sessions can still answer.
    RunIsGone,
    /// Another message has no reply yet.
    Busy,
    /// The run is being reclaimed.
    Reclaimed,
}

/// A run that is being stopped.
pub(super) struct Stopping {
    /// Contains the final state once the run has ended; closed when no process of it is left.
    pub(super) ended: watch::Receiver<Option<RunState>>,
    /// Whether it had ended before, so that only the answer to a message is stopped.
    pub(super) had_ended: bool,
}

impl Emanations {
    /// Returns the channel of published events.
    pub fn events(&self) -> broadcast::Sender<Arc<Value>> {
        self.publisher.events()
    }

    /// Waits until the runs of earlier hosts are ended.
    pub async fn recovered(&self) {
        self.recovered.cancelled().await;
    }

    /// Gives the runs of a parent tools.
    pub(super) fn grant(&self, parent: String, tools: Arc<dyn Grants>) {
        self.standing().insert(parent, tools);
    }

    /// Takes the tools of a parent's runs back.
    pub(super) fn revoke(&self, parent: &str) {
        self.standing().remove(parent);
    }

    /// Returns the tools of a parent's runs; `None` for a parent that is no standing daemon.
    pub(super) fn granted(&self, parent: &str) -> Option<Arc<dyn Grants>> {
        self.standing().get(parent).cloned()
    }

    fn standing(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Arc<dyn Grants>>> {
        self.standing.lock().expect("no holder panics")
    }

    /// Reports whether a run has not ended, or answers a message.
    pub(super) fn is_live(&self, id: RunId) -> bool {
        self.memory().live.contains_key(&id)
    }

    /// Counts the runs that have not ended.
    pub(super) fn running(&self) -> usize {
        self.memory()
            .live
            .values()
            .filter(|live| live.is_running())
            .count()
    }

    /// Adds a run that starts.
    pub(super) fn begin(&self, id: RunId, parent: &str, group: &str) -> RunChannels {
        let (live, channels) = LiveRun::new(parent, Some(group.to_owned()));
        self.memory().live.insert(id, live);
        channels
    }

    /// Adds an ended run whose message is being answered, and returns the turn; `None` if another message is being answered.
    pub(super) fn begin_answer(
        &self,
        id: RunId,
        parent: &str,
        state: RunState,
    ) -> Option<(RunChannels, OwnedSemaphorePermit)> {
        let mut memory = self.memory();
        if memory.live.contains_key(&id) {
            return None;
        }
        let (live, channels) = LiveRun::new(parent, None);
        let turn = Arc::clone(&live.turn).try_acquire_owned().ok()?;
        live.ended.send_replace(Some(state));
        memory.live.insert(id, live);
        Some((channels, turn))
    }

    /// Records the end of a run. Messages that wait can still be answered.
    pub(super) fn note_end(&self, id: RunId, state: RunState) {
        if let Some(live) = self.memory().live.get(&id) {
            live.ended.send_replace(Some(state));
        }
    }

    /// Returns the receiver of the end of a run; `None` if it has ended.
    pub(super) fn end_of(&self, id: RunId) -> Option<watch::Receiver<Option<RunState>>> {
        let memory = self.memory();
        let live = memory.live.get(&id).filter(|live| live.is_running());
        live.map(|live| live.ended.subscribe())
    }

    /// Returns a message that waits. Without one, the run is removed under the same lock, so that no message is sent to it later.
    pub(super) fn next_message(&self, id: RunId, channels: &mut RunChannels) -> Option<RunMessage> {
        let mut memory = self.memory();
        let message = channels.messages.try_recv().ok();
        if message.is_none() {
            memory.live.remove(&id);
        }
        message
    }

    /// Removes a run.
    pub(super) fn forget(&self, id: RunId) {
        self.memory().live.remove(&id);
    }

    /// Sends a message to a run, or to the task that answers its messages.
    pub(super) fn send(&self, id: RunId, text: &str) -> Sent {
        let memory = self.memory();
        let Some(live) = memory.live.get(&id) else {
            return Sent::RunIsGone;
        };
        // The reclaim may take seconds. A message in this time would be answered by a run that was given up.
        if *live.stop.borrow() == Some(StopReason::Reclaim) {
            return Sent::Reclaimed;
        }
        let Ok(turn) = Arc::clone(&live.turn).try_acquire_owned() else {
            return Sent::Busy;
        };
        let (receipt, received) = oneshot::channel();
        let message = RunMessage {
            text: text.to_owned(),
            turn,
            receipt,
        };
        // The channel has room for one message, and only the holder of the turn sends. It is full only if the run is ending.
        match live.messages.try_send(message) {
            Ok(()) => Sent::Handed(received),
            Err(_) => Sent::Busy,
        }
    }

    /// Returns the id of a run that has not ended.
    pub(super) fn find(&self, parent: &str, name: Name) -> Option<RunId> {
        let memory = self.memory();
        let mut running = memory.live.iter().filter(|(_, live)| live.is_running());
        let found = running.find(|(id, live)| match name {
            Name::Run(run) => **id == run,
            Name::Handle(handle) => live.parent == parent && id.handle() == handle,
        });
        found.map(|(id, _)| *id)
    }

    /// Returns the parent of a run that has not ended or whose message is being answered.
    pub(super) fn parent(&self, id: RunId) -> Option<String> {
        self.memory().live.get(&id).map(|live| live.parent.clone())
    }

    /// Returns whether a parent has a run that has not ended.
    pub(super) fn has_running(&self, parent: &str) -> bool {
        let memory = self.memory();
        let mut live = memory.live.values();
        live.any(|live| live.parent == parent && live.is_running())
    }

    /// Lists all runs, including ended ones whose message is being answered.
    pub fn ids(&self) -> Vec<RunId> {
        self.those(|_| true)
    }

    /// Lists the runs of a parent, including ended ones whose message is being answered.
    pub(super) fn of_parent(&self, parent: &str) -> Vec<RunId> {
        self.those(|live| live.parent == parent)
    }

    /// Lists the runs of a group.
    pub(super) fn of_group(&self, group: &str) -> Vec<RunId> {
        self.those(|live| live.group.as_deref() == Some(group))
    }

    fn those(&self, wanted: impl Fn(&LiveRun) -> bool) -> Vec<RunId> {
        let memory = self.memory();
        let live = memory.live.iter().filter(|(_, live)| wanted(live));
        live.map(|(id, _)| *id).collect()
    }

    /// Stops a run. The first reason counts.
    pub(super) fn stop(&self, id: RunId, why: StopReason) -> Option<Stopping> {
        let memory = self.memory();
        let live = memory.live.get(&id)?;
        live.stop(why);
        Some(Stopping {
            ended: live.ended.subscribe(),
            had_ended: !live.is_running(),
        })
    }

    /// Stops every run.
    pub fn stop_all(&self, why: StopReason) {
        for live in self.memory().live.values() {
            live.stop(why);
        }
    }

    /// Notes a call, and returns an advisory if its caller repeats it.
    pub(super) fn note_call(
        &self,
        parent: &str,
        call: &Map<String, Value>,
        now: Timestamp,
    ) -> Option<Value> {
        self.memory().repetitions.note(parent, call, now)
    }

    fn memory(&self) -> std::sync::MutexGuard<'_, Memory> {
        self.memory.lock().expect("no holder panics")
    }
}

impl LiveRun {
    fn new(parent: &str, group: Option<String>) -> (Self, RunChannels) {
        let (stop, stopped) = watch::channel(None);
        let (messages, received) = mpsc::channel(1);
        let live = Self {
            parent: parent.to_owned(),
            group,
            stop,
            messages,
            turn: Arc::new(Semaphore::new(1)),
            ended: watch::channel(None).0,
        };
        let channels = RunChannels {
            stopped,
            messages: received,
        };
        (live, channels)
    }

    fn is_running(&self) -> bool {
        self.ended.borrow().is_none()
    }

    fn stop(&self, why: StopReason) {
        self.stop
            .send_if_modified(|reason| reason.is_none() && reason.replace(why).is_none());
    }
}
