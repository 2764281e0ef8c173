//! Rows, batons and check-ins.

use std::fmt;
use std::str::FromStr;

use daemon_event::InvalidId;
use jiff::Timestamp;

use crate::gate::RosterGate;
use crate::id::{
    ActorRef, BridgeHandle, DaemonName, Generation, HandoffRef, Harness, Incarnation, Nonce,
    ProcessRef, Project, RowId, SessionRef, TokenHash,
};
use crate::liveness::Liveness;
use crate::roster::REPLY_RETENTION;
use crate::spawn::PacketHash;
use crate::wind_down::WindDownState;
use crate::word::words;

/// What a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RowKind {
    /// An agent that checks in itself.
    Standing,
    /// A registered daemon file, for which the host checks in.
    Repository,
    /// A run, for which the host checks in.
    Run,
    /// A host.
    Host,
}

words!(RowKind, "a kind of row", {
    Standing => "standing",
    Repository => "repository",
    Run => "run",
    Host => "host",
});

/// What a standing daemon does in its project.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Owns the merge point and dispatches work.
    Orchestrator,
    /// Keeps the machine healthy.
    Ops,
    /// Refines briefs.
    Refine,
    /// A role of an agent that registered itself.
    Other(DaemonName),
}

/// How much work a daemon does at each wake. It does not change the heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cadence {
    /// Works at each wake.
    Fast,
    /// Works at some wakes.
    Slow,
    /// Does little; its row becomes stale later.
    Dormant,
}

words!(Cadence, "a cadence (`fast`, `slow` or `dormant`)", {
    Fast => "fast",
    Slow => "slow",
    Dormant => "dormant",
});

/// Why a daemon is awake when it checks in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WakeReason {
    /// It was started.
    Start,
    /// Its heartbeat is due.
    Tick,
    /// It was poked.
    Poke,
    /// Its gate was opened.
    Go,
}

words!(WakeReason, "a wake (`start`, `tick`, `poke` or `go`)", {
    Start => "start",
    Tick => "tick",
    Poke => "poke",
    Go => "go",
});

/// One entry of the roster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RosterRow {
    /// Identifies it.
    pub id: RowId,
    /// What it is about.
    pub kind: RowKind,
    /// `None` for a host.
    pub project: Option<Project>,
    /// `None` for rows that are not standing, and for agents that registered without one.
    pub role: Option<Role>,
    /// The name in lists.
    pub name: DaemonName,
    /// Unique in its project among rows that are not retired.
    pub actor_ref: ActorRef,
    /// The program that the agent runs in, if known.
    pub harness: Option<Harness>,
    /// Rises with each start in a new process or session.
    pub incarnation: Incarnation,
    /// The process that checked in last with an id.
    pub process: Option<ProcessRef>,
    /// The session that checked in last with an id.
    pub session: Option<SessionRef>,
    /// When the row was made.
    pub expected_at: Timestamp,
    /// `None` until the first check-in: until then the row is `spawning`.
    pub first_checkin_at: Option<Timestamp>,
    /// The newest accepted check-in.
    pub last_checkin_at: Option<Timestamp>,
    /// The newest activity of a session that is linked to the row.
    pub last_activity: Option<LastActivity>,
    /// Whether its work loop may run.
    pub gate: RosterGate,
    /// The cadence that an accepted check-in named last.
    pub cadence: Option<Cadence>,
    /// The size of its context, as it reported it.
    pub context_tokens: Option<u64>,
    /// The limit of its context, as it reported it.
    pub context_limit: Option<u64>,
    /// Whether it was requested to compact its context.
    pub needs_compaction: bool,
    /// How far its wind-down is.
    pub wind_down: WindDownState,
    /// Where its handoff is.
    pub handoff_ref: Option<HandoffRef>,
    /// The charter that its agent was started with; for a successor, the one that it is to read. `None` if the host did not start it.
    pub charter: Option<PacketHash>,
    /// The row that it replaces.
    pub predecessor: Option<RowId>,
    /// The row that replaces it.
    pub successor: Option<RowId>,
    /// The generation with which it held the baton of its role last.
    pub generation: Option<Generation>,
    /// Why the host does not check in for it, such as an invalid file.
    pub trouble: Option<String>,
    /// What the host knows if it started the agent.
    pub spawn: Option<SpawnRecord>,
    /// When it is to be woken next.
    pub due_at: Option<Timestamp>,
    /// The state for which the bus was notified last; `None` while the row is live.
    pub notified: Option<Liveness>,
    /// When it was retired. The row stays.
    pub retired_at: Option<Timestamp>,
}

/// The newest activity of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastActivity {
    /// When it was.
    pub at: Timestamp,
    /// The incarnation whose session was active.
    pub incarnation: Incarnation,
}

/// What the host knows about an agent that it started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpawnRecord {
    /// Identifies the spawn.
    pub nonce: Nonce,
    /// What the bridge returned; `None` until the process is started.
    pub handle: Option<BridgeHandle>,
    /// Whether the process is to be closed.
    pub process: ProcessState,
}

/// Whether the process of a spawn is to be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProcessState {
    /// It may run.
    Open,
    /// It is to be closed, which was not confirmed yet.
    Closing,
    /// It is closed, or it was found gone.
    Closed,
}

words!(ProcessState, "the state of a process", {
    Open => "open",
    Closing => "closing",
    Closed => "closed",
});

/// The right to act for a role in a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Baton {
    /// The project; there is no baton across projects.
    pub project: Project,
    /// The role.
    pub role: Role,
    /// The row that holds it.
    pub holder: Option<RowId>,
    /// Rises each time that the baton is given.
    pub generation: Generation,
}

/// A token of an agent, by its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// The SHA-256 of the token.
    pub hash: TokenHash,
    /// The row whose agent has it.
    pub row: RowId,
    /// The incarnation that it acts for.
    pub incarnation: Incarnation,
}

/// A check-in that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckInRecord {
    /// The row.
    pub row: RowId,
    /// The incarnation that checked in.
    pub incarnation: Incarnation,
    /// When it was accepted.
    pub at: Timestamp,
    /// Why the agent was awake.
    pub wake: WakeReason,
    /// The cadence that it named.
    pub cadence: Option<Cadence>,
    /// The size of its context that it named.
    pub context_tokens: Option<u64>,
}

impl RosterRow {
    /// Creates the row of a standing daemon that has never checked in, on hold, with its name as its actor reference.
    pub(crate) fn expected(id: RowId, name: DaemonName, now: Timestamp) -> Self {
        let actor_ref = name.as_str().parse();
        Self {
            id,
            kind: RowKind::Standing,
            project: None,
            role: None,
            actor_ref: actor_ref.expect("a name is a reference"),
            name,
            harness: None,
            incarnation: Incarnation::FIRST,
            process: None,
            session: None,
            expected_at: now,
            first_checkin_at: None,
            last_checkin_at: None,
            last_activity: None,
            gate: RosterGate::Hold,
            cadence: None,
            context_tokens: None,
            context_limit: None,
            needs_compaction: false,
            wind_down: WindDownState::None,
            handoff_ref: None,
            charter: None,
            predecessor: None,
            successor: None,
            generation: None,
            trouble: None,
            spawn: None,
            due_at: None,
            notified: None,
            retired_at: None,
        }
    }

    /// Reports whether it was retired.
    pub fn is_retired(&self) -> bool {
        self.retired_at.is_some()
    }

    /// Reports whether it is that of a run, a daemon file or a host that was retired more than [`REPLY_RETENTION`] ago. Such rows are
    /// removed; those of standing daemons stay.
    pub fn has_left(&self, now: Timestamp) -> bool {
        let retired = self.retired_at.filter(|_| self.kind != RowKind::Standing);
        retired.is_some_and(|at| now.duration_since(at) > REPLY_RETENTION)
    }

    /// Requests that its process is closed, if it has one, and reports whether it has.
    pub(crate) fn begin_closing(&mut self) -> bool {
        match &mut self.spawn {
            Some(spawn) if spawn.process != ProcessState::Closed => {
                spawn.process = ProcessState::Closing;
                true
            }
            _ => false,
        }
    }

    /// Returns the handle of its process, once it was started.
    pub fn handle(&self) -> Option<&BridgeHandle> {
        let spawn = self.spawn.as_ref();
        spawn.and_then(|spawn| spawn.handle.as_ref())
    }

    /// Reports whether the host has ordered a process for it that is not closed.
    pub fn has_process(&self) -> bool {
        let spawn = self.spawn.as_ref();
        spawn.is_some_and(|spawn| spawn.process != ProcessState::Closed)
    }

    /// Reports whether it has a process that the host started and can wake.
    pub(crate) fn can_be_woken(&self) -> bool {
        let spawn = self.spawn.as_ref();
        let is_open = spawn
            .is_some_and(|spawn| spawn.process == ProcessState::Open && spawn.handle.is_some());
        is_open && !self.is_retired()
    }

    /// Reports whether its process is to be closed.
    pub(crate) fn is_closing(&self) -> bool {
        let spawn = self.spawn.as_ref();
        spawn.is_some_and(|spawn| spawn.process == ProcessState::Closing)
    }

    /// Retires it; flags and the times of later wakes are cleared.
    pub(crate) fn retire(&mut self, now: Timestamp) {
        self.retired_at = Some(now);
        self.needs_compaction = false;
        self.due_at = None;
        self.notified = None;
    }
}

impl Role {
    /// The roles that can be spawned.
    pub const SPAWNABLE: [Self; 3] = [Self::Orchestrator, Self::Ops, Self::Refine];

    /// Returns the word for it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Orchestrator => "orchestrator",
            Self::Ops => "ops",
            Self::Refine => "refine",
            Self::Other(name) => name.as_str(),
        }
    }

    /// Reports whether the roster has a charter for it.
    pub fn is_spawnable(&self) -> bool {
        !matches!(self, Self::Other(_))
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        match Self::SPAWNABLE
            .into_iter()
            .find(|role| role.as_str() == text)
        {
            Some(role) => Ok(role),
            None => text.parse().map(Self::Other),
        }
    }
}
