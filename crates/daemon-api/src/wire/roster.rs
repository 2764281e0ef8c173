//! The objects of the roster.

use daemon_roster::{
    Baton, Cadence, CheckInRecord, CoordinationSignal, LivenessBadge, LivenessReport, Principal,
    Project, Reset, Role, RosterRow,
};
use daemon_store::StoredAudit;
use schemars::JsonSchema;
use serde::Serialize;

use super::instant;

/// A row of a listing of the roster. It has few members, because agents read listings of many rows.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ListedRowObject {
    /// The id.
    pub id: String,
    /// `standing`, `repository`, `run` or `host`.
    pub kind: &'static str,
    /// The project.
    pub project: Option<String>,
    /// The role of a standing daemon.
    pub role: Option<String>,
    /// The name.
    pub name: String,
    /// `spawning`, `live`, `stale` or `dead`.
    pub liveness: &'static str,
    /// What the liveness was derived from, or why the host does not check in for the row.
    pub reason: String,
    /// How long ago the newest sign was, in seconds; null without a check-in.
    pub age: Option<i64>,
    /// `overdue` or `spawn-overdue`.
    pub badge: Option<&'static str>,
    /// `hold`, `go` or `tripped`.
    pub gate: &'static str,
    /// The newest check-in.
    pub last_checkin_at: Option<String>,
    /// The size of its context, as it reported it.
    pub context_tokens: Option<u64>,
    /// Whether it is to compact its context.
    pub needs_compaction: bool,
    /// `none`, `requested`, `preparing`, `ready` or `closed`.
    pub winddown_state: &'static str,
}

/// One row of the roster with everything that is known.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RosterRowObject {
    /// What listings have, too.
    #[serde(flatten)]
    pub listed: ListedRowObject,
    /// Until when it is live if nothing more happens.
    pub stale_at: Option<String>,
    /// Until when it is not dead if nothing more happens.
    pub dead_at: Option<String>,
    /// What identifies it within its project.
    pub actor_ref: String,
    /// The program that the agent runs in.
    pub harness: Option<String>,
    /// Rises with each start in a new process or session.
    pub incarnation: u32,
    /// The process that checked in last with an id.
    pub process: Option<String>,
    /// The session that checked in last with an id.
    pub session: Option<String>,
    /// When the row was made.
    pub expected_at: String,
    /// The first check-in; null while it is spawning.
    pub first_checkin_at: Option<String>,
    /// The newest activity of a session that is linked to it.
    pub last_activity_at: Option<String>,
    /// What its check-ins said.
    pub meta: RosterMetaObject,
    /// The limit of its context, as it reported it.
    pub context_limit: Option<u64>,
    /// The version of the charter that it was started with, or that it reads as a successor; null for one that the host did not start.
    pub charter_version: Option<String>,
    /// The row that it replaces.
    pub predecessor: Option<String>,
    /// The row that replaces it.
    pub successor: Option<String>,
    /// When it was retired.
    pub retired_at: Option<String>,
}

/// What the check-ins of a row said.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RosterMetaObject {
    /// `fast`, `slow` or `dormant`, as an accepted check-in named it last.
    pub current_cadence: Option<&'static str>,
}

/// The right to act for a role of a project.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BatonObject {
    /// The project.
    pub project: String,
    /// The role.
    pub role: String,
    /// The row that holds it.
    pub holder: Option<String>,
    /// Rises each time that the baton is given.
    pub generation: u64,
}

/// What an operator should know of a roster before its rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RosterWarningObject {
    /// `drift`, `override` or `no-baton`.
    pub kind: &'static str,
    /// The project; null for all.
    pub project: Option<String>,
    /// For people.
    pub message: String,
}

/// The charter that a daemon was started with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CharterObject {
    /// The role.
    pub role: String,
    /// Its SHA-256.
    pub version: String,
    /// The version that a new daemon of the role gets.
    pub current: Option<String>,
    /// The template.
    pub body: String,
}

/// A signal. The token of its claim is known to the claimer alone.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SignalObject {
    /// The id.
    pub id: String,
    /// What it is about, such as `feedback`.
    pub kind: &'static str,
    /// The project.
    pub project: String,
    /// The row it is for; null for the orchestrator.
    pub target: Option<String>,
    /// By which an equal pending signal is recognised.
    pub dedupe_key: Option<String>,
    /// 0 is drained first.
    pub priority: u8,
    /// What is requested.
    pub payload: String,
    /// What it touches, such as a brief.
    #[serde(rename = "ref")]
    pub reference: Option<String>,
    /// `pending`, `claimed`, `completed`, `failed` or `cancelled`.
    pub status: &'static str,
    /// Who queued it.
    pub requested_by: String,
    /// The row that claimed it last.
    pub claimed_by: Option<String>,
    /// The end of its claim without a check-in.
    pub lease_until: Option<String>,
    /// From 1; a claim that expires adds 1.
    pub attempts: u32,
    /// What the claimer returned.
    pub result: Option<String>,
    /// Why it failed or was cancelled.
    pub error: Option<String>,
}

/// A reset.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ResetObject {
    /// The id.
    pub id: String,
    /// The project of the baton.
    pub project: String,
    /// The role of the baton.
    pub role: String,
    /// The row that is replaced.
    pub predecessor: String,
    /// The row that replaces it.
    pub successor: Option<String>,
    /// How far it is, such as `handed_off`.
    pub state: &'static str,
    /// Who requested it.
    pub requested_by: String,
    /// Why.
    pub reason: String,
    /// When it was requested.
    pub requested_at: String,
    /// When the process of the successor was started.
    pub spawned_at: Option<String>,
    /// When the successor was ready.
    pub ready_at: Option<String>,
    /// When it was retired, cancelled or failed.
    pub ended_at: Option<String>,
}

/// How far the wind-down of a row is.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WindDownObject {
    /// The state.
    pub state: &'static str,
    /// Where the handoff is.
    pub handoff_ref: Option<String>,
}

/// A check-in that was accepted.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CheckInObject {
    /// When.
    pub at: String,
    /// Which incarnation.
    pub incarnation: u32,
    /// Why the agent was awake.
    pub wake: &'static str,
    /// The cadence that it named.
    pub cadence: Option<&'static str>,
    /// The size of its context that it named.
    pub context_tokens: Option<u64>,
}

/// An entry of the audit log.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AuditObject {
    /// Its number; later entries have greater ones.
    pub number: u64,
    /// When it was.
    pub at: String,
    /// Who caused it.
    pub actor: String,
    /// The machine of a transition, or the request that was refused.
    pub kind: String,
    /// The row that it is about.
    pub row: Option<String>,
    /// The state before.
    pub from: Option<String>,
    /// The state after a transition.
    pub to: Option<String>,
    /// By which rule a request was refused.
    pub rule: Option<String>,
    /// The reason or the message.
    pub reason: String,
    /// The request id of the caller.
    pub request_id: Option<String>,
    /// How often it happened.
    pub count: u32,
}

impl ListedRowObject {
    /// Builds the object from a row and its liveness.
    pub fn new(row: &RosterRow, report: &LivenessReport) -> Self {
        let reason = match &row.trouble {
            Some(trouble) => trouble.clone(),
            None => report.reason.to_string(),
        };
        Self {
            id: row.id.to_string(),
            kind: row.kind.as_str(),
            project: text(row.project.as_ref()),
            role: text(row.role.as_ref()),
            name: row.name.to_string(),
            liveness: report.state.as_str(),
            reason,
            age: report.age.map(|age| age.as_secs()),
            badge: report.badge.map(LivenessBadge::as_str),
            gate: row.gate.as_str(),
            last_checkin_at: row.last_checkin_at.map(instant),
            context_tokens: row.context_tokens,
            needs_compaction: row.needs_compaction,
            winddown_state: row.wind_down.as_str(),
        }
    }
}

impl RosterWarningObject {
    /// Builds the object.
    pub(crate) fn new(kind: &'static str, project: Option<&Project>, message: String) -> Self {
        Self {
            kind,
            project: text(project),
            message,
        }
    }
}

impl RosterRowObject {
    /// Builds the object from a row and its liveness.
    pub fn new(row: &RosterRow, report: &LivenessReport) -> Self {
        Self {
            listed: ListedRowObject::new(row, report),
            stale_at: report.stale_at.map(instant),
            dead_at: report.dead_at.map(instant),
            actor_ref: row.actor_ref.to_string(),
            harness: text(row.harness.as_ref()),
            incarnation: row.incarnation.0,
            process: text(row.process.as_ref()),
            session: text(row.session.as_ref()),
            expected_at: instant(row.expected_at),
            first_checkin_at: row.first_checkin_at.map(instant),
            last_activity_at: row.last_activity.map(|activity| instant(activity.at)),
            meta: RosterMetaObject {
                current_cadence: row.cadence.map(Cadence::as_str),
            },
            context_limit: row.context_limit,
            charter_version: text(row.charter.as_ref()),
            predecessor: text(row.predecessor.as_ref()),
            successor: text(row.successor.as_ref()),
            retired_at: row.retired_at.map(instant),
        }
    }
}

impl From<&Baton> for BatonObject {
    fn from(baton: &Baton) -> Self {
        Self {
            project: baton.project.to_string(),
            role: Role::as_str(&baton.role).to_owned(),
            holder: text(baton.holder.as_ref()),
            generation: baton.generation.0,
        }
    }
}

impl From<&CoordinationSignal> for SignalObject {
    fn from(signal: &CoordinationSignal) -> Self {
        let claim = signal.claim.as_ref();
        Self {
            id: signal.id.to_string(),
            kind: signal.kind.as_str(),
            project: signal.project.to_string(),
            target: text(signal.target.as_ref()),
            dedupe_key: text(signal.dedupe_key.as_ref()),
            priority: signal.priority,
            payload: signal.payload.clone(),
            reference: signal.reference.clone(),
            status: signal.status.as_str(),
            requested_by: Principal::to_string(&signal.requested_by),
            claimed_by: claim.map(|claim| claim.by.to_string()),
            lease_until: claim.map(|claim| instant(claim.lease_until)),
            attempts: signal.attempts,
            result: signal.result.clone(),
            error: signal.error.clone(),
        }
    }
}

impl From<&Reset> for ResetObject {
    fn from(reset: &Reset) -> Self {
        Self {
            id: reset.id.to_string(),
            project: reset.project.to_string(),
            role: reset.role.to_string(),
            predecessor: reset.predecessor.to_string(),
            successor: text(reset.successor.as_ref()),
            state: reset.state.as_str(),
            requested_by: reset.requested_by.to_string(),
            reason: reset.reason.to_string(),
            requested_at: instant(reset.requested_at),
            spawned_at: reset.spawned_at.map(instant),
            ready_at: reset.ready_at.map(instant),
            ended_at: reset.ended_at.map(instant),
        }
    }
}

impl From<&CheckInRecord> for CheckInObject {
    fn from(record: &CheckInRecord) -> Self {
        Self {
            at: instant(record.at),
            incarnation: record.incarnation.0,
            wake: record.wake.as_str(),
            cadence: record.cadence.map(Cadence::as_str),
            context_tokens: record.context_tokens,
        }
    }
}

impl From<StoredAudit> for AuditObject {
    fn from(entry: StoredAudit) -> Self {
        Self {
            number: entry.number,
            at: instant(entry.at),
            actor: entry.actor.to_string(),
            kind: entry.kind,
            row: text(entry.row.as_ref()),
            from: entry.from,
            to: entry.to,
            rule: entry.rule,
            reason: entry.reason,
            request_id: text(entry.request.as_ref()),
            count: entry.count,
        }
    }
}

fn text<T: std::fmt::Display>(value: Option<&T>) -> Option<String> {
    value.map(T::to_string)
}
