//! The runs under way, and what reaches them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use daemon_provider::CancelReason;
use daemon_run_folder::{RunId, RunState};
use jiff::Timestamp;
use serde_json::{Map, Value};
use tokio::sync::{broadcast, mpsc, watch};
use tokio_util::task::TaskTracker;

use super::advisory::Repetitions;
use super::find::Name;
use super::publish::Publisher;
use super::shelf::Index;

/// What a host knows of the runs that it was asked for.
#[derive(Debug, Default)]
pub(crate) struct Emanations {
    memory: Mutex<Memory>,
    /// Held while a batch is checked and begun, so that two batches cannot take one slot.
    pub(super) dispatching: tokio::sync::Mutex<()>,
    /// What earlier lists read; none before the first.
    pub(super) known: tokio::sync::Mutex<Option<Index>>,
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
    stop: watch::Sender<Option<CancelReason>>,
    messages: mpsc::Sender<String>,
    pending: Pending,
    ended: watch::Sender<Option<RunState>>,
}

/// The message that a run was sent.
#[derive(Debug, PartialEq, Eq)]
enum Pending {
    None,
    Waiting(String),
    Answering,
}

/// Where a run hears of the outside.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) stopped: watch::Receiver<Option<CancelReason>>,
    pub(super) messages: mpsc::Receiver<String>,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Accepted {
    /// It waits for the end of the first turn.
    Queued,
    /// The run is gone; the message can be answered by itself.
    RunIsGone,
    /// Another one is pending.
    Busy,
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
    pub(crate) fn events(&self) -> broadcast::Sender<Arc<Value>> {
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

    /// Notes that a message to an ended run is answered; `None` while another one is.
    pub(super) fn begin_answer(&self, id: RunId, parent: &str, state: RunState) -> Option<Line> {
        let mut memory = self.memory();
        if memory.live.contains_key(&id) {
            return None;
        }
        let (mut live, line) = Live::new(parent, None);
        live.pending = Pending::Answering;
        live.ended.send_replace(Some(state));
        memory.live.insert(id, live);
        Some(line)
    }

    /// Notes the end of a run; messages can still be answered.
    pub(super) fn note_end(&self, id: RunId, state: RunState) {
        if let Some(live) = self.memory().live.get(&id) {
            live.ended.send_replace(Some(state));
        }
    }

    /// Returns the message to answer next; forgets the run where there is none.
    pub(super) fn next_message(&self, id: RunId) -> Option<String> {
        let mut memory = self.memory();
        let live = memory.live.get_mut(&id)?;
        let pending = std::mem::replace(&mut live.pending, Pending::Answering);
        let is_reclaimed = *live.stop.borrow() == Some(CancelReason::Reclaim);
        match pending {
            Pending::Waiting(message) if !is_reclaimed => Some(message),
            _ => {
                memory.live.remove(&id);
                None
            }
        }
    }

    /// Notes that a message was answered, before anybody can read so: the next one may come from then on.
    pub(super) fn note_reply(&self, id: RunId) {
        let mut memory = self.memory();
        let live = memory.live.get_mut(&id);
        if let Some(live) = live.filter(|live| live.pending == Pending::Answering) {
            live.pending = Pending::None;
        }
    }

    /// Forgets a run.
    pub(super) fn forget(&self, id: RunId) {
        self.memory().live.remove(&id);
    }

    /// Queues a message until the run's first turn has ended.
    pub(super) fn queue(&self, id: RunId, message: &str) -> Accepted {
        let mut memory = self.memory();
        match memory.live.get_mut(&id) {
            None => Accepted::RunIsGone,
            Some(live) if live.pending == Pending::None => {
                live.pending = Pending::Waiting(message.to_owned());
                Accepted::Queued
            }
            Some(_) => Accepted::Busy,
        }
    }

    /// Hands a message to the conversation of a run.
    pub(super) fn join(&self, id: RunId, message: &str) -> Accepted {
        let mut memory = self.memory();
        match memory.live.get_mut(&id).filter(|live| live.is_running()) {
            None => Accepted::RunIsGone,
            Some(live) if live.pending == Pending::None => {
                live.pending = Pending::Answering;
                // Only a run that ends this moment hears nothing more, and has room for nobody then.
                match live.messages.try_send(message.to_owned()) {
                    Ok(()) => Accepted::Queued,
                    Err(_) => Accepted::RunIsGone,
                }
            }
            Some(_) => Accepted::Busy,
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
    pub(super) fn stop(&self, id: RunId, why: CancelReason) -> Option<Stopping> {
        let memory = self.memory();
        let live = memory.live.get(&id)?;
        live.stop(why);
        Some(Stopping {
            ended: live.ended.subscribe(),
            had_ended: !live.is_running(),
        })
    }

    /// Tells every run to stop.
    pub(crate) fn stop_all(&self, why: CancelReason) {
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
            pending: Pending::None,
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

    fn stop(&self, why: CancelReason) {
        self.stop
            .send_if_modified(|reason| reason.is_none() && reason.replace(why).is_none());
    }
}
