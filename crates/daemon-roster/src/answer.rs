//! The answers of the roster, and the effects that its driver performs.

use jiff::Timestamp;

use crate::gate::RosterGate;
use crate::id::{
    ClaimToken, DaemonName, Generation, Harness, Incarnation, Nonce, PlanId, Project, ResetId,
    RowId, SignalId, TokenHash,
};
use crate::liveness::Liveness;
use crate::refusal::Blocker;
use crate::reset::ResetState;
use crate::row::{Role, WakeReason};
use crate::spawn::{PacketHash, PlanCheck, PlanStatus};
use crate::wind_down::WindDownState;

/// The answer to a request that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RosterAnswer {
    /// There is nothing to return.
    Done,
    /// A check-in was accepted.
    CheckedIn(Box<CheckedIn>),
    /// A signal was queued, or an equal one was pending.
    Queued {
        /// The signal.
        signal: SignalId,
        /// Whether it was there before.
        existing: bool,
    },
    /// A signal was claimed.
    Claimed {
        /// Proves the claim.
        token: ClaimToken,
        /// Without a check-in until then the claim expires.
        lease_until: Timestamp,
    },
    /// A signal was completed, failed or cancelled.
    Signal(SignalId),
    /// The gate after the change.
    Gate(RosterGate),
    /// The generation of the caller's baton, or of the new holder's.
    Generation(Generation),
    /// Whether the daemon is to compact its context.
    Compaction(bool),
    /// A reset, with the row of its successor once there is one.
    Reset {
        /// The reset.
        reset: ResetId,
        /// The successor.
        successor: Option<RowId>,
    },
    /// The state of a wind-down.
    WindDown(WindDownState),
    /// Whether all daemons of a project but its orchestrator have wound down.
    Subordinates {
        /// Those that have not; empty if all have.
        blockers: Vec<Blocker>,
    },
    /// The row that was retired.
    Retired(RowId),
    /// A spawn was planned.
    Planned {
        /// The plan.
        plan: PlanId,
        /// Whether it can be confirmed.
        status: PlanStatus,
        /// What was checked.
        checks: Vec<PlanCheck>,
        /// What the agent will read first; empty if its charter cannot be rendered.
        packet: String,
        /// Identifies the packet.
        hash: PacketHash,
    },
    /// A spawn began, under this row.
    Spawning(RowId),
    /// When an interjection is delivered.
    At(Timestamp),
}

/// What an agent learns when it checks in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedIn {
    /// Its row.
    pub row: RowId,
    /// Its incarnation.
    pub incarnation: Incarnation,
    /// Its gate.
    pub gate: RosterGate,
    /// The generation of its baton if it holds one.
    pub generation: Option<Generation>,
    /// Its wind-down.
    pub wind_down: WindDownState,
    /// The state of the open reset that it takes part in.
    pub reset: Option<ResetState>,
    /// Whether it is to compact its context.
    pub needs_compaction: bool,
    /// How many signals it may claim.
    pub pending_signals: usize,
    /// When it has to check in next.
    pub next_due_at: Timestamp,
}

/// What the driver does after the changes are committed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RosterEffect {
    /// Start a process, unless one with this nonce exists, and report it with
    /// [`RosterCommand::ProcessStarted`](crate::RosterCommand::ProcessStarted).
    Spawn(SpawnOrder),
    /// Close the process of a row and report it with
    /// [`RosterCommand::ProcessClosed`](crate::RosterCommand::ProcessClosed). One that is gone is closed.
    Close(RowId),
    /// Deliver a line to the agent of a row.
    Say {
        /// The row.
        row: RowId,
        /// The line.
        line: String,
        /// When.
        at: Timestamp,
    },
    /// Wake the agent of a row, which then checks in with this reason.
    Wake {
        /// The row.
        row: RowId,
        /// Why.
        wake: WakeReason,
    },
    /// Publish on the bus that a row is stale or dead.
    Notify {
        /// The row.
        row: RowId,
        /// What it is.
        liveness: Liveness,
    },
}

/// The process to start. It is a top-level one: it has no parent among the agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpawnOrder {
    /// The row that the agent will have.
    pub row: RowId,
    /// By which the process is found again.
    pub nonce: Nonce,
    /// The token by which the agent is known.
    pub token: TokenHash,
    /// In which project.
    pub project: Project,
    /// With which role.
    pub role: Role,
    /// In which program; `None` for the one that the project uses.
    pub harness: Option<Harness>,
    /// Under which name.
    pub name: DaemonName,
    /// The row that it replaces.
    pub predecessor: Option<RowId>,
}
