//! Which agents are alive, which may work, and how one replaces another: the state machines of the roster, without IO.
//!
//! ```
//! use daemon_roster::{
//!     CheckInParams, Liveness, Principal, Roster, RosterAnswer, RosterCommand, RosterRequest,
//!     RosterSettings, RosterTables, WakeReason,
//! };
//! use jiff::{SignedDuration, Timestamp};
//!
//! let settings = RosterSettings {
//!     projects: ["garden".parse()?].into(),
//!     ..RosterSettings::default()
//! };
//! let mut roster = Roster::new(settings, RosterTables::default());
//! let now: Timestamp = "2026-11-28T09:00:00Z".parse()?;
//!
//! // An agent without a token registers itself, on hold.
//! let check_in = RosterRequest {
//!     by: Principal::Unregistered,
//!     command: RosterCommand::CheckIn(CheckInParams {
//!         project: Some("garden".parse()?),
//!         actor_ref: Some("digger".parse()?),
//!         ..CheckInParams::new(WakeReason::Start)
//!     }),
//!     idempotency: None,
//!     random: [0; 10],
//! };
//! let decision = roster.decide(check_in, now);
//! let Ok(RosterAnswer::CheckedIn(answer)) = &decision.answer else {
//!     panic!("the check-in is refused");
//! };
//! let row = answer.row.clone();
//!
//! // A driver commits `decision.changes` here, and performs `decision.effects` after it has applied the decision.
//! roster.apply(decision);
//!
//! // Liveness is derived whenever it is read.
//! let minutes_later = |n| now + SignedDuration::from_mins(n);
//! let state = |at| roster.liveness(&row, at).map(|report| report.state);
//! assert_eq!(state(minutes_later(20)), Some(Liveness::Live));
//! assert_eq!(state(minutes_later(40)), Some(Liveness::Stale));
//! assert_eq!(state(minutes_later(41)), Some(Liveness::Dead));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Overview
//! - [`Roster`] contains the rows. [`Roster::decide`] turns a [`RosterRequest`] and the time into a [`RosterDecision`]: the answer or
//!   the [`RosterRefusal`], the [`RosterChanges`] for one transaction, and the [`RosterEffect`]s to perform after it.
//! - [`liveness`] derives whether a row is live, stale or dead.
//! - [`RosterGate`] says whether a daemon may work; [`GatedAction`] lists what a gate on hold refuses.
//! - [`CoordinationSignal`] is queued work, claimed under a lease.
//! - [`WindDownState`], [`ResetState`] and [`PlanStatus`] are the states of a stop, a replacement and a start.
//! - [`Bridge`] is the seam to what starts and wakes the processes of agents.
//! - [`AuditEntry`] records each transition and each refusal.
//!
//! # What this crate does not do
//! It reads no clock, draws no random bytes, stores nothing and starts no process: times and random bits are arguments, changes
//! and effects are results. It implements no `serde` traits, because a row or a message has a version and these types have
//! none.
//!
//! # Guarantees
//! - No row is live before its own first check-in. Liveness is derived in constant time and never stored.
//! - A refused request changes no row.
//! - During a reset the baton has exactly one holder, and the predecessor is not closed before the baton has moved.
//! - A request of an old incarnation, or an act of an old holder of a baton, is refused as fenced.
//! - No daemon opens its own gate or acts in another project.

mod answer;
mod audit;
mod authority;
mod bridge;
mod charter;
mod check_in;
mod command;
mod compaction;
mod gate;
mod id;
mod interjection;
mod lapse;
mod liveness;
mod principal;
mod process;
mod refusal;
mod reset;
mod roster;
mod row;
mod settings;
mod signal;
mod spawn;
mod transition;
mod wind_down;
mod word;
mod work;

pub use answer::{CheckedIn, RosterAnswer, RosterEffect, SpawnOrder};
pub use audit::AuditEntry;
pub use authority::GatedAction;
pub use bridge::{AgentActivity, Bridge, BridgeError, ClosedAgent, Destination, ExistingAgent};
pub use charter::{
    CharterValues, UnfilledCharter, kickoff_packet, render_charter, successor_packet,
};
pub use command::{
    CheckInParams, Confirmation, Evaluation, GateChange, HandOffGate, Idempotency, Interjection,
    InterjectionTarget, NewSignal, RosterCommand, RosterRequest, WantedSpawn,
};
pub use gate::RosterGate;
pub use id::{
    ActorRef, BridgeHandle, ClaimToken, DaemonName, DedupeKey, Generation, HandoffRef, Harness,
    Incarnation, Nonce, PlanId, ProcessRef, Project, ReasonText, RequestKey, ResetId, RowId,
    SessionRef, SignalId, TokenHash,
};
pub use liveness::{Liveness, LivenessBadge, LivenessReason, LivenessReport, liveness};
pub use principal::Principal;
pub use process::RESUMED;
pub use refusal::{
    Blocker, ConflictReason, ForbiddenRule, IllegalTransition, InvalidParams, RosterRefusal,
};
pub use reset::{Reset, ResetState};
pub use roster::{
    REPLY_RETENTION, Roster, RosterChanges, RosterDecision, RosterTables, StoredReply,
};
pub use row::{
    Baton, Cadence, CheckInRecord, Credential, LastActivity, ProcessState, Role, RosterRow,
    RowKind, SpawnRecord, WakeReason,
};
pub use settings::{LivenessWindow, RosterSettings};
pub use signal::{CoordinationSignal, SignalClaim, SignalKind, SignalStatus};
pub use spawn::{
    AllowlistState, PacketHash, PlanCheck, PlanCheckName, PlanCheckOutcome, PlanStatus, SpawnFacts,
    SpawnPlan, spawned_name,
};
pub use wind_down::WindDownState;
