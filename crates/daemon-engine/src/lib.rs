//! Activations and outputs as state machines: admission, attempts, retries, the outbox.
//!
//! Everything here is a pure function of what a store read inside a transaction and of `now`; the store writes the
//! decision in the same transaction.
//!
//! ```
//! use daemon_engine::{OutputState, Step, step};
//!
//! // An output that was being sent when the process died is looked up before it is sent again.
//! assert_eq!(step(OutputState::Sending), Step::LookUp);
//! assert_eq!(step(OutputState::Confirmed), Step::Rest);
//! ```
//!
//! # What this crate does not do
//! It stores nothing (see `daemon-store`), starts nothing (see `daemon-provider`) and speaks to no service (see
//! `daemon-surface`).
//!
//! # Guarantees
//! No function reads a clock or draws a random number. A daemon and a trigger key name at most one activation.

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
mod proposal;
mod readiness;
mod state;
mod surface;
mod transition;

pub use activation::{Activation, ActivationState, HostEpoch, Occasion, RunLease, Trigger};
pub use admit::{
    Admission, Joining, MAX_PENDING, MAX_PENDING_PER_DAEMON, NewTrigger, PENDING_EXPIRY,
    QueueLimit, Standing, admit,
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
pub use delivery::{OUTPUT_EXPIRY, Settlement, Step, after_look_up, after_send, step};
pub use facts::{
    FACT_EXPIRY, Fact, FactError, FactErrorKind, FactOrigin, FactState, Facts, Patience,
    WantedFact, next_look,
};
pub use output::{NewOutput, Output, OutputKey, OutputState, StateChange};
pub use proposal::{MAX_BODY_CHARS, MAX_PROPOSAL_BYTES, PROPOSAL_VERSION, Proposal, ProposalError};
pub use readiness::{
    ClaimRequest, ClaimState, DAY, Obstacle, RATE_PERIOD, Rates, is_over_rate, obstacle,
};
pub use state::{
    DaemonState, MAX_KEY_BYTES, MAX_KEYS, MAX_STATE_BYTES, MAX_VALUE_BYTES, PastActivation,
    StateError, apply,
};
pub use surface::{
    Found, PlaceCondition, PlaceReport, RemoteId, Surface, SurfaceError, SurfaceErrorKind,
};
pub use transition::{DeliveryEnd, LEASE, SteppedBack};
