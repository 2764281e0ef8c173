//! Requests to the roster, its answers, and the effects that its driver performs.

use crate::authority::GatedAction;
use crate::gate::RosterGate;
use crate::id::{
    ActorRef, BridgeHandle, ClaimToken, DaemonName, DedupeKey, HandoffRef, Harness, Incarnation,
    Nonce, PlanId, ProcessRef, Project, ReasonText, RequestKey, ResetId, RowId, SessionRef,
    SignalId, TokenHash,
};
use crate::principal::Principal;
use crate::row::{Role, RowKind, WakeReason};
use crate::signal::SignalKind;
use crate::spawn::{AllowlistState, PacketHash, SpawnFacts};

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RosterRequest {
    /// Who makes it.
    pub by: Principal,
    /// What is requested.
    pub command: RosterCommand,
    /// Recognises a repetition, if the caller gave an id.
    pub idempotency: Option<Idempotency>,
    /// Random bits for the ids that the request may need.
    pub random: [u8; 10],
}

/// The id and the parameters, which recognise a repetition of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idempotency {
    /// The id that the caller gave.
    pub request: RequestKey,
    /// The SHA-256 of the parameters.
    pub params: [u8; 32],
}

/// What can be requested of the roster.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RosterCommand {
    /// An agent checks in.
    CheckIn(CheckInParams),
    /// A session that is linked to a row was active.
    Activity {
        /// The row.
        row: RowId,
        /// The incarnation whose session it is.
        incarnation: Incarnation,
    },
    /// The host evaluated a daemon file, a run or itself, or found why it cannot.
    Evaluate(Evaluation),
    /// A run ended, a daemon file was removed, or a host was gone for long: its row is retired.
    Depart {
        /// The row, which is not standing.
        row: RowId,
        /// Why.
        reason: ReasonText,
    },
    /// A gate is moved.
    SetGate {
        /// The row.
        row: RowId,
        /// How.
        change: GateChange,
        /// Why.
        reason: ReasonText,
    },
    /// A signal is queued.
    Enqueue(NewSignal),
    /// A line is queued for a daemon.
    Poke {
        /// The daemon.
        row: RowId,
        /// The line.
        line: String,
    },
    /// A signal is claimed.
    Claim(SignalId),
    /// A claimed signal is done.
    Complete {
        /// The signal.
        signal: SignalId,
        /// The token of the claim.
        token: ClaimToken,
        /// What it returned.
        result: Option<String>,
    },
    /// A claimed signal cannot be done.
    Fail {
        /// The signal.
        signal: SignalId,
        /// The token of the claim.
        token: ClaimToken,
        /// Why.
        error: String,
    },
    /// A signal is withdrawn.
    CancelSignal(SignalId),
    /// A tool was blocked by the harness.
    ReportBlocked {
        /// The tool.
        tool: String,
        /// The message of the harness.
        error: String,
    },
    /// A daemon asks whether it may act.
    Authorize(GatedAction),
    /// A daemon called something that would widen what it may do.
    Widen {
        /// The tool or the setting.
        what: String,
    },
    /// A page that is not one of the host's own sent a form.
    SendForeignForm {
        /// The path that it was sent to.
        path: String,
    },
    /// A daemon is to compact its context.
    RequestCompaction(RowId),
    /// A context was compacted; `None` is the caller's own.
    CompactionDone(Option<RowId>),
    /// A daemon is to be replaced.
    RequestReset {
        /// The predecessor.
        row: RowId,
        /// Why.
        reason: ReasonText,
    },
    /// The successor is to be started.
    StartReset {
        /// The reset.
        reset: ResetId,
        /// The token of the successor.
        token: TokenHash,
        /// The charter of its role, which it is to read.
        charter: Option<PacketHash>,
    },
    /// The successor is ready to take over.
    SuccessorReady(ResetId),
    /// The baton is handed over, or taken from a silent predecessor.
    HandOff {
        /// The reset.
        reset: ResetId,
        /// Where the handoff is.
        handoff_ref: Option<HandoffRef>,
        /// The gate that the successor gets.
        gate: HandOffGate,
    },
    /// The predecessor is closed and retired.
    RetirePredecessor(ResetId),
    /// A reset is given up before its hand-over.
    CancelReset(ResetId),
    /// A daemon is to wind down.
    RequestWindDown {
        /// The daemon.
        row: RowId,
        /// Why.
        reason: ReasonText,
    },
    /// The caller has wound down.
    WindDownReady(HandoffRef),
    /// A wind-down is withdrawn.
    CancelWindDown {
        /// The daemon.
        row: RowId,
        /// Why.
        reason: ReasonText,
    },
    /// Whether all daemons of a project but its orchestrator have wound down.
    SubordinatesReady(Project),
    /// A daemon is closed and retired.
    Retire {
        /// The daemon.
        row: RowId,
        /// Why.
        reason: ReasonText,
    },
    /// A spawn is planned. Nothing is started.
    PlanSpawn {
        /// What is to be started.
        wanted: WantedSpawn,
        /// What the host found out.
        facts: Box<SpawnFacts>,
    },
    /// A planned spawn is started.
    ConfirmSpawn {
        /// The plan.
        plan: PlanId,
        /// The packet that the operator saw.
        packet: PacketHash,
        /// Whether it is confirmed.
        confirmation: Confirmation,
        /// The token of the new daemon.
        token: TokenHash,
        /// What the host found out when it looked again.
        facts: Box<SpawnFacts>,
    },
    /// A daemon is interrupted.
    Interject(Interjection),
    /// The bridge started the process of a row.
    ProcessStarted {
        /// The row.
        row: RowId,
        /// What the bridge returned.
        handle: BridgeHandle,
    },
    /// The bridge could not start the process of a row.
    StartFailed {
        /// The row.
        row: RowId,
        /// Why.
        error: String,
    },
    /// The process of a row is closed, or it was found gone.
    ProcessClosed(RowId),
    /// The process of a row ended with its host, and the agent is woken again.
    Resume {
        /// The row.
        row: RowId,
        /// The token of the new incarnation.
        token: TokenHash,
        /// How often that happened within the last hour.
        n_lately: usize,
    },
    /// The permissions of a project compare otherwise with the allowlist than before.
    NoteAllowlist {
        /// The project.
        project: Project,
        /// How they compared before, if this host has compared them.
        before: Option<AllowlistState>,
        /// How they compare.
        state: AllowlistState,
    },
    /// Time passed: what is due is done.
    Lapse,
}

/// What an agent says when it checks in. Absent ids never erase known ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckInParams {
    /// Why it is awake.
    pub wake: WakeReason,
    /// Its cadence, in its own words: an unknown one refuses the check-in.
    pub cadence: Option<String>,
    /// The size of its context.
    pub context_tokens: Option<u64>,
    /// The limit of its context.
    pub context_limit: Option<u64>,
    /// Its process.
    pub process: Option<ProcessRef>,
    /// Its session.
    pub session: Option<SessionRef>,
    /// The nonce of its spawn.
    pub nonce: Option<Nonce>,
    /// Its project, for an agent without a token.
    pub project: Option<Project>,
    /// Its role, for an agent that registers.
    pub role: Option<Role>,
    /// What identifies it, for an agent without a token.
    pub actor_ref: Option<ActorRef>,
    /// The token by which the agent is to be known from now on, for one that has none yet. The host sets it.
    pub token: Option<TokenHash>,
}

/// What the host found about a row for which it checks in itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluation {
    /// A repository daemon, a run or a host.
    pub kind: RowKind,
    /// Its project, if it has one.
    pub project: Option<Project>,
    /// What identifies it.
    pub actor_ref: ActorRef,
    /// Its name in lists.
    pub name: DaemonName,
    /// The gate that the engine has for it.
    pub gate: RosterGate,
    /// Why it could not be evaluated. Without one the row is checked in.
    pub trouble: Option<String>,
}

/// How a gate is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateChange {
    /// Opened, by the operator or the orchestrator.
    Go,
    /// Held, by the operator or the orchestrator.
    Hold,
    /// Tripped after failures, by the engine.
    Trip,
    /// Opened because the daemon file has a new revision, by the engine.
    NewRevision,
}

/// The gate that a successor gets with the baton.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandOffGate {
    /// It stays as it is.
    Keep,
    /// It is opened, which only a predecessor on `go` can do.
    Go,
}

/// Whether a spawn is confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// Explicitly.
    Confirmed,
    /// Not.
    Unconfirmed,
}

/// A signal to queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSignal {
    /// What it is about.
    pub kind: SignalKind,
    /// The project; the caller's own or that of the target if absent.
    pub project: Option<Project>,
    /// The row it is for; `None` for the orchestrator.
    pub target: Option<RowId>,
    /// Recognises an equal pending signal.
    pub dedupe_key: Option<DedupeKey>,
    /// 0 is drained first.
    pub priority: u8,
    /// What is requested, at most 16 KiB.
    pub payload: String,
    /// What it touches, such as a brief.
    pub reference: Option<String>,
}

impl CheckInParams {
    /// Returns a check-in that says only why the agent is awake.
    pub fn new(wake: WakeReason) -> Self {
        Self {
            wake,
            cadence: None,
            context_tokens: None,
            context_limit: None,
            process: None,
            session: None,
            nonce: None,
            project: None,
            role: None,
            actor_ref: None,
            token: None,
        }
    }
}

impl NewSignal {
    /// The priority of a signal that names none.
    pub const DEFAULT_PRIORITY: u8 = 5;
}

/// A line that reaches a daemon at once and is not stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interjection {
    /// For which daemon.
    pub target: InterjectionTarget,
    /// At most 240 characters on one line.
    pub line: String,
    /// From 1 to 60,000; 1,000 if absent.
    pub delay_ms: Option<i64>,
}

/// The daemon that a line is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InterjectionTarget {
    /// The agent of a row.
    Row(RowId),
    /// The agent that holds the orchestrator's baton; of the caller's project if absent.
    Orchestrator(Option<Project>),
}

/// What is to be spawned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedSpawn {
    /// In which project.
    pub project: Project,
    /// With which role.
    pub role: Role,
    /// In which program.
    pub harness: Harness,
    /// Under which name; `<project>-<role>` if absent.
    pub name: Option<DaemonName>,
}

impl RosterCommand {
    /// Returns the name of the tool, or for the host's own commands a name of the same form.
    pub fn name(&self) -> &'static str {
        match self {
            Self::CheckIn(_) => "daemon_checkin",
            Self::Activity { .. } => "activity",
            Self::Evaluate(_) => "evaluate",
            Self::Depart { .. } => "depart",
            Self::SetGate { change, .. } => match change {
                GateChange::Go => "daemon_go",
                GateChange::Hold => "daemon_hold",
                GateChange::Trip => "trip",
                GateChange::NewRevision => "new_revision",
            },
            Self::Enqueue(_) => "signal_enqueue",
            Self::Poke { .. } => "daemon_poke",
            Self::Claim(_) => "signal_claim",
            Self::Complete { .. } => "signal_complete",
            Self::Fail { .. } => "signal_fail",
            Self::CancelSignal(_) => "signal_cancel",
            Self::ReportBlocked { .. } => "daemon_report_blocked",
            Self::Authorize(_) => "daemon_authorize",
            Self::Widen { .. } => "widen",
            Self::SendForeignForm { .. } => "form",
            Self::RequestCompaction(_) => "daemon_request_compaction",
            Self::CompactionDone(_) => "daemon_compaction_done",
            Self::RequestReset { .. } => "daemon_request_reset",
            Self::StartReset { .. } => "daemon_start_reset",
            Self::SuccessorReady(_) => "daemon_successor_ready",
            Self::HandOff { .. } => "daemon_reset_handoff",
            Self::RetirePredecessor(_) => "daemon_retire_predecessor",
            Self::CancelReset(_) => "daemon_cancel_reset",
            Self::RequestWindDown { .. } => "daemon_request_winddown",
            Self::WindDownReady(_) => "daemon_winddown_ready",
            Self::CancelWindDown { .. } => "daemon_cancel_winddown",
            Self::SubordinatesReady(_) => "daemon_subordinates_ready",
            Self::Retire { .. } => "daemon_retire",
            Self::PlanSpawn { .. } => "spawn_plan",
            Self::ConfirmSpawn { .. } => "spawn_confirm",
            Self::Interject(_) => "interject",
            Self::ProcessStarted { .. } => "process_started",
            Self::StartFailed { .. } => "start_failed",
            Self::ProcessClosed(_) => "process_closed",
            Self::Resume { .. } => "resume",
            Self::NoteAllowlist { .. } => "note_allowlist",
            Self::Lapse => "lapse",
        }
    }

    /// Returns what a request that is always refused was about, for the audit log.
    pub(crate) fn refused_subject(&self) -> Option<&str> {
        match self {
            Self::Widen { what } => Some(what),
            Self::SendForeignForm { path } => Some(path),
            _ => None,
        }
    }

    /// Returns the row that the request names, for the audit log.
    pub fn row(&self) -> Option<&RowId> {
        match self {
            Self::Activity { row, .. }
            | Self::Depart { row, .. }
            | Self::SetGate { row, .. }
            | Self::Poke { row, .. }
            | Self::RequestCompaction(row)
            | Self::CompactionDone(Some(row))
            | Self::RequestReset { row, .. }
            | Self::RequestWindDown { row, .. }
            | Self::CancelWindDown { row, .. }
            | Self::Retire { row, .. }
            | Self::ProcessStarted { row, .. }
            | Self::StartFailed { row, .. }
            | Self::Resume { row, .. }
            | Self::ProcessClosed(row) => Some(row),
            Self::Enqueue(signal) => signal.target.as_ref(),
            Self::Interject(Interjection {
                target: InterjectionTarget::Row(row),
                ..
            }) => Some(row),
            _ => None,
        }
    }
}
