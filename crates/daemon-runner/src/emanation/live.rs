//! The runs under way, and what reaches them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use daemon_provider::StopReason;
use daemon_run_folder::{RunId, RunState};
use jiff::Timestamp;
use serde_json::{Map, Value};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast, mpsc, oneshot, watch};
use tokio_util::task::TaskTracker;

use super::advisory::Repetitions;
use super::find::Name;
use super::publish::Publisher;
use crate::runs::{Receipt, RunIndex, RunMessage};

/// What a host knows of the runs that it was asked for.
#[derive(Debug, Default)]
pub struct Emanations {
    memory: Mutex<Memory>,
    /// Held while a batch is checked and begun, so that two batches cannot take one slot.
    pub(super) dispatching: tokio::sync::Mutex<()>,
    /// What earlier lists read; none before the first.
    pub(super) known: tokio::sync::Mutex<Option<RunIndex>>,
    pub(super) tasks: TaskTracker,
    pub(super) publisher: Publisher,
}

#[derive(Debug, Default)]
struct Memory {
    live: BTreeMap<RunId, Live>,
    repetitions: Repetitions,
}

/// One run under way, or one whose message is being answered.
#[derive(Debug)]
struct Live {
    parent: String,
    group: Option<String>,
    stop: watch::Sender<Option<StopReason>>,
    messages: mpsc::Sender<RunMessage>,
    /// Held by the message that the run was sent, until that is answered.
    turn: Arc<Semaphore>,
    ended: watch::Sender<Option<RunState>>,
}

/// Where a run hears of the outside.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) stopped: watch::Receiver<Option<StopReason>>,
    pub(super) messages: mpsc::Receiver<RunMessage>,
}

/// What became of a message.
#[derive(Debug)]
pub(super) enum Sent {
    /// The run has it; the receipt says whether it is on the disk, and is dropped where the run takes none.
    Handed(oneshot::Receiver<Receipt>),
    /// Nothing runs for it; the message can be answered by itself.
    RunIsGone,
    /// Another one is pending.
    Busy,
    /// The run is being reclaimed.
    Reclaimed,
}

/// A run that is being stopped.
pub(super) struct Stopping {
    /// Tells the state it ended in; closes once nothing runs for it.
    pub(super) ended: watch::Receiver<Option<RunState>>,
    /// Whether it had ended before, so that only the answer to a message is stopped.
    pub(super) had_ended: bool,
}

impl Emanations {
    /// Returns where everything that is published can be heard.
    pub fn events(&self) -> broadcast::Sender<Arc<Value>> {
        self.publisher.events()
    }

    /// Counts the runs that have not ended.
    pub(super) fn running(&self) -> usize {
        self.memory()
            .live
            .values()
            .filter(|live| live.is_running())
            .count()
    }

    /// Notes a run that begins.
    pub(super) fn begin(&self, id: RunId, parent: &str, group: &str) -> Line {
        let (live, line) = Live::new(parent, Some(group.to_owned()));
        self.memory().live.insert(id, live);
        line
    }

    /// Notes that a message to an ended run is answered, and returns its turn; `None` while another one is.
    pub(super) fn begin_answer(
        &self,
        id: RunId,
        parent: &str,
        state: RunState,
    ) -> Option<(Line, OwnedSemaphorePermit)> {
        let mut memory = self.memory();
        if memory.live.contains_key(&id) {
            return None;
        }
        let (live, line) = Live::new(parent, None);
        let turn = Arc::clone(&live.turn).try_acquire_owned().ok()?;
        live.ended.send_replace(Some(state));
        memory.live.insert(id, live);
        Some((line, turn))
    }

    /// Notes the end of a run; messages can still be answered.
    pub(super) fn note_end(&self, id: RunId, state: RunState) {
        if let Some(live) = self.memory().live.get(&id) {
            live.ended.send_replace(Some(state));
        }
    }

    /// Returns the message that was sent last; forgets the run where there is none, so that none is sent to it any more.
    pub(super) fn next_message(&self, id: RunId, line: &mut Line) -> Option<RunMessage> {
        let mut memory = self.memory();
        let message = line.messages.try_recv().ok();
        if message.is_none() {
            memory.live.remove(&id);
        }
        message
    }

    /// Forgets a run.
    pub(super) fn forget(&self, id: RunId) {
        self.memory().live.remove(&id);
    }

    /// Sends a message to a run, or to what answers the one before.
    pub(super) fn send(&self, id: RunId, text: &str) -> Sent {
        let memory = self.memory();
        let Some(live) = memory.live.get(&id) else {
            return Sent::RunIsGone;
        };
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
        // Who has the turn is the only one to send.
        match live.messages.try_send(message) {
            Ok(()) => Sent::Handed(received),
            Err(_) => Sent::Busy,
        }
    }

    /// Finds a run that has not ended.
    pub(super) fn find(&self, parent: &str, name: Name) -> Option<RunId> {
        let memory = self.memory();
        let mut running = memory.live.iter().filter(|(_, live)| live.is_running());
        let found = running.find(|(id, live)| match name {
            Name::Run(run) => **id == run,
            Name::Handle(handle) => live.parent == parent && id.handle() == handle,
        });
        found.map(|(id, _)| *id)
    }

    /// Returns the parent of a run under way, or of one whose message is being answered.
    pub(super) fn parent(&self, id: RunId) -> Option<String> {
        self.memory().live.get(&id).map(|live| live.parent.clone())
    }

    /// Reports whether a run of a parent has not ended.
    pub(super) fn has_running(&self, parent: &str) -> bool {
        let memory = self.memory();
        let mut live = memory.live.values();
        live.any(|live| live.parent == parent && live.is_running())
    }

    /// Lists the runs of a parent, answers to messages included.
    pub(super) fn of_parent(&self, parent: &str) -> Vec<RunId> {
        self.those(|live| live.parent == parent)
    }

    /// Lists the runs of a group.
    pub(super) fn of_group(&self, group: &str) -> Vec<RunId> {
        self.those(|live| live.group.as_deref() == Some(group))
    }

    fn those(&self, wanted: impl Fn(&Live) -> bool) -> Vec<RunId> {
        let memory = self.memory();
        let live = memory.live.iter().filter(|(_, live)| wanted(live));
        live.map(|(id, _)| *id).collect()
    }

    /// Tells a run to stop; the first reason counts.
    pub(super) fn stop(&self, id: RunId, why: StopReason) -> Option<Stopping> {
        let memory = self.memory();
        let live = memory.live.get(&id)?;
        live.stop(why);
        Some(Stopping {
            ended: live.ended.subscribe(),
            had_ended: !live.is_running(),
        })
    }

    /// Tells every run to stop.
    pub fn stop_all(&self, why: StopReason) {
        for live in self.memory().live.values() {
            live.stop(why);
        }
    }

    /// Notes a call; returns an advisory where its caller repeats itself.
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

impl Live {
    fn new(parent: &str, group: Option<String>) -> (Self, Line) {
        let (stop, stopped) = watch::channel(None);
        let (messages, heard) = mpsc::channel(1);
        let live = Self {
            parent: parent.to_owned(),
            group,
            stop,
            messages,
            turn: Arc::new(Semaphore::new(1)),
            ended: watch::channel(None).0,
        };
        let line = Line {
            stopped,
            messages: heard,
        };
        (live, line)
    }

    fn is_running(&self) -> bool {
        self.ended.borrow().is_none()
    }

    fn stop(&self, why: StopReason) {
        self.stop
            .send_if_modified(|reason| reason.is_none() && reason.replace(why).is_none());
    }
}
