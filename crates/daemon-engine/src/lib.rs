//! Activations and outputs as state machines: admission, readiness, attempts, retries, the outbox.
//!
//! Every function is pure: it takes rows that a store read inside a transaction, and `now`. The store writes the result in the
//! same transaction. So all stores agree on the meaning of a claim, an end or a crash.
//!
//! ```
//! use daemon_engine::{DeliveryStep, OutputState, step};
//!
//! // An output that was being sent when the process died is looked up before it is sent again.
//! assert_eq!(step(OutputState::Sending), DeliveryStep::LookUp);
//! assert_eq!(step(OutputState::Confirmed), DeliveryStep::Rest);
//! ```
//!
//! An activation from its trigger to the end of an attempt:
//!
//! ```
//! use daemon_engine::{
//!     Activation, ActivationState, AttemptEnd, AttemptOutcome, ClaimRequest, ClaimState, Gate, HostEpoch, Joining, NewTrigger,
//!     Obstacle, Rates, Trigger, backoff, end_attempt, obstacle,
//! };
//! use daemon_event::{ActivationId, DaemonKey, TriggerKey};
//! use jiff::{SignedDuration, Timestamp};
//!
//! let now = Timestamp::UNIX_EPOCH;
//! let pending = Activation::pending(NewTrigger {
//!     daemon: DaemonKey { repo: "o/r".parse()?, id: "librarian".parse()? },
//!     rev: "rev-1".to_owned(),
//!     subject: None,
//!     trigger: Trigger {
//!         key: TriggerKey::Person("request-1".into()),
//!         conditions: vec![],
//!         by: Some("ann".to_owned()),
//!         occasion: None,
//!         recorded_at: now,
//!     },
//!     activation_id: ActivationId::new(0, [7; 10]),
//!     not_before: now,
//!     joining: Joining::Coalesce,
//!     link: None,
//! });
//! let request = ClaimRequest {
//!     owner: HostEpoch(1),
//!     now,
//!     lease_until: now + SignedDuration::from_secs(60),
//!     host_slots: 4,
//!     daemon_slots: 1,
//!     rates: Rates::default(),
//!     day_usd: None,
//! };
//! let with_gate = |daemon_gate| ClaimState {
//!     host_gate: Gate::Open,
//!     daemon_gate: Some(daemon_gate),
//!     unfinished: [&pending].into_iter(),
//!     all: [&pending].into_iter(),
//! };
//! assert_eq!(obstacle(&pending, &with_gate(Gate::Open), &request), None);
//! assert_eq!(obstacle(&pending, &with_gate(Gate::Held), &request), Some(Obstacle::DaemonHeld));
//!
//! // The claim leases it to an attempt. The attempt fails, and the activation waits for a retry.
//! let mut leased = pending.clone();
//! leased.lease(request.owner, request.lease_until, "rev-1");
//! let reason = "the provider timed out".to_owned();
//! let end = AttemptEnd::new(AttemptOutcome::Retryable { reason }, now, u32::MAX);
//! let next = end_attempt(&leased, &end, 0);
//! assert_eq!((next.state, next.not_before), (ActivationState::Pending, Some(now + backoff(1, u32::MAX))));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Main types
//! - [`Activation`] with its [`Trigger`]s; [`admit`] decides whether a [`NewTrigger`] makes one, joins one or is refused.
//! - [`obstacle`] decides whether an activation is ready for a [`ClaimRequest`].
//! - [`AttemptEnd`] is the result of an attempt; [`end_attempt`] decides the next state, and [`reclaim`] does so after the
//!   loss of a host or a lease.
//! - [`Output`] is an effect on a surface; [`step`], [`after_send`] and [`after_look_up`] decide how it gets there once.
//! - [`Surface`] and [`Facts`] are the traits of the services that outputs go to and facts come from.
//!
//! # What this crate does not do
//! It stores nothing (see `daemon-store`), starts nothing (see `daemon-provider`) and sends no request (see
//! `daemon-surface`).
//!
//! # Guarantees
//! - No function reads a clock or draws a random number: the same rows and the same `now` give the same result.
//! - A daemon and a trigger key name at most one activation.
//! - A lease number only rises, so that a write under an older one is recognised.
//! - A look-up precedes the next send of an output that may be on its surface.
//! - Every chain of daemons that wake each other ends.
//!
//! # Features and versions
//! The crate has no features. [`jiff::Timestamp`] and the types of `daemon-event` and `daemon-schedule` are part of its public
//! API. The minimum supported Rust version is the `rust-version` of its manifest.

mod activation;
mod admit;
mod attempt;
mod chain;
mod conduct;
mod crash;
mod delivery;
mod facts;
#[cfg(test)]
mod fixture;
mod output;
pub mod proposal;
mod readiness;
mod reconcile;
mod state;
mod surface;
mod transition;

pub use activation::{Activation, ActivationState, HostEpoch, Occasion, RunLease, Trigger};
pub use admit::{
    Admission, AdmissionState, Joining, MAX_PENDING, MAX_PENDING_PER_DAEMON, NewTrigger,
    PENDING_EXPIRY, QueueLimit, admit,
};
pub use attempt::{
    AttemptEnd, AttemptOutcome, Counting, Gate, MAX_ATTEMPTS, Missing, Next, TRIP_AFTER, TakenBack,
    backoff, end_attempt, reclaim,
};
pub use chain::{Chain, ChainEnd, Link, MAX_PER_ROOT, Notice, ROOT_PERIOD};
pub use conduct::Conduct;
pub use crash::{
    Blame, CRASH_LOOP, CRASH_LOOP_PAUSE, CRASH_LOOP_WINDOW, Departure, HostCrash, HostEnd,
    MAX_HOST_CRASHES, pause_of_claims,
};
pub use delivery::{DeliveryStep, OUTPUT_EXPIRY, Settlement, after_look_up, after_send, step};
pub use facts::{
    FACT_EXPIRY, Fact, FactError, FactErrorKind, FactOrigin, FactState, Facts, RetryAfter,
    WantedFact, next_look,
};
pub use output::{NewOutput, Output, OutputKey, OutputState, StateChange};
pub use proposal::{MAX_BODY_CHARS, MAX_PROPOSAL_BYTES, PROPOSAL_VERSION, Proposal, ProposalError};
pub use readiness::{
    ClaimRequest, ClaimState, DAY, Obstacle, RATE_PERIOD, Rates, is_over_rate, obstacle,
};
pub use reconcile::{Comparison, MissedEvent, ReconcilePlace, Reconciler};
pub use state::{
    DaemonState, MAX_KEY_BYTES, MAX_KEYS, MAX_STATE_BYTES, MAX_VALUE_BYTES, PastActivation,
    StateError, apply,
};
pub use surface::{
    Found, PlaceCondition, PlaceReport, RemoteId, Surface, SurfaceError, SurfaceErrorKind,
};
pub use transition::{DeliveryEnd, LEASE, SteppedBack};
