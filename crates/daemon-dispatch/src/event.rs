//! What a driver reports to a dispatcher.

use daemon_engine::{Activation, Found, Output, OutputKey, RemoteId, RunLease, SurfaceError};
use daemon_event::ActivationId;
use jiff::Timestamp;

use crate::disk::DiskSpace;
use crate::settings::Settings;
use crate::turn::Concern;

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum HostEvent {
    /// A deadline is reached.
    Time,
    /// More concerns begin.
    Began(Vec<Concern>),
    /// Something changed that a concern waits for.
    Nudged(Concern),
    /// The configuration was replaced.
    Configured(Box<Settings>),
    /// The host is to stop.
    StopRequested,
    /// The disk was examined.
    SpaceRead(DiskSpace),
    /// The store answered a claim.
    Claimed(Option<Box<Activation>>),
    /// When the next pending activation is ready, if one waits.
    NextClaim(Option<Timestamp>),
    /// An attempt ended or panicked; its end is stored, or its lease expires.
    AttemptEnded(ActivationId, RunLease),
    /// Leases were renewed, but for those that were lost.
    Renewed {
        /// The activations whose leases were lost.
        lost: Vec<ActivationId>,
    },
    /// Events were matched, and an activation was leased with them if that was asked for.
    Matched(MatchedBatch, Option<Box<Activation>>),
    /// The outputs that are due, oldest first.
    OutputsDue(Vec<Output>),
    /// When the next output is due, if one waits.
    NextOutput(Option<Timestamp>),
    /// Every unsettled output is due.
    OutputsHastened,
    /// The store has that an output is being sent.
    SendBegun(OutputKey),
    /// A surface answered a delivery; the number spreads a retry.
    Sent(OutputKey, Result<RemoteId, SurfaceError>, u32),
    /// A surface answered a look-up; the number spreads a retry.
    LookedUp(OutputKey, Result<Found, SurfaceError>, u32),
    /// An output was settled.
    Settled(Box<Output>),
    /// An output had been settled before, or has been cancelled.
    SettledBefore(OutputKey),
    /// The store failed at a step of an output, or the step panicked; nothing may have happened, or all of it.
    OutputFailed(OutputKey),
    /// Attempts were taken back, as many as this.
    TakenBack(usize),
    /// Work trees that no run uses were removed.
    StraysCleared,
    /// Activations that had waited too long were cancelled.
    Expired,
    /// Old rows were forgotten.
    Forgotten,
    /// The store failed at the effect of a concern; nothing may have happened, or all of it.
    StoreFailed(Concern),
    /// The store can never be written again.
    StoreBroken(Concern),
    /// The effect of a concern panicked.
    Panicked(Concern),
}

/// What came of one round of matching.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MatchedBatch {
    /// The driver's view of the repositories; another one than before makes every passed event due again.
    pub view: u64,
    /// The last event that was read, or `None` if none is left.
    pub last: Option<u64>,
    /// How many events were read.
    pub n_read: u64,
    /// How many of them were matched; the others wait for their repository.
    pub n_matched: u64,
    /// How many triggers were admitted.
    pub n_admitted: usize,
}
